"""Whose request it is decides whose receipts it meets. Each way to tell owners apart is
asked with right, wrong, missing and malformed credentials; a wrong one leaves nothing
behind, and no owner learns of another's keys.
"""

import base64
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import main, orders, rest  # noqa: E402

ANA, ANA_NEW, BEN = "secret-of-ana", "new-secret-of-ana", "secret-of-ben"
# Made with crypt(3): of "sesame", and of a password that is not ASCII.
HASH = "$5$saltsalt$Arv3XkXcPR5LHLrzVCBdKV5hwRocYIyFvUvGa9tbc06"
HASH_UTF8 = ("$6$saltsalt$rVIyJtXnL0mXUCLepstXWqeOv9JVyd7nOH8wn0BvOU5lCiAviUJLxXZ5CkPgq6XNTHV"
             "22yG4mV0IO9gqPL5WQ.")


def sha(text):
    return hashlib.sha256(text.encode()).hexdigest()


def basic(user, password):
    token = base64.b64encode(("%s:%s" % (user, password)).encode()).decode()
    return [("Authorization", "Basic " + token)]


KEYS = [{"owner": "ana", "sha256": sha(ANA)}, {"owner": "ana", "sha256": sha(ANA_NEW)},
        {"owner": "ben", "sha256": sha(BEN)}]
OWNERS = {
    "everyone": None,
    "keyed": {"kind": "api_key", "keys": KEYS},
    "bearer": {"kind": "api_key", "header": "Authorization", "scheme": "Bearer",
               "keys": [{"owner": "cem", "sha256": sha("token-of-cem")}]},
    "login": {"kind": "basic", "realm": "the shop", "users": [
        {"name": "dora", "hash": HASH}, {"name": "emil", "owner": "emil", "hash": HASH_UTF8}]},
    "proxy": {"kind": "header", "header": "X-Owner", "trusted": ["127.0.0.1"]},
    "net": {"kind": "network", "networks": [{"cidr": "127.0.0.0/24", "owner": "near"},
                                            {"cidr": "127.0.0.9", "owner": "nine"}]},
    "one": {"kind": "static", "owner": "everybody"},
}
NAMES = [name for name in OWNERS if name != "everyone"]


class Owners(Guarded):
    def setUp(self):
        routes = [orders(name=name, owner=name, request_body_max="64KiB",
                         replay_body_max="64KiB", match={"path": "/" + name}) for name in NAMES]
        self.start(routes=routes + [rest()], owners=OWNERS, defaults={"owner": None})

    def ask(self, name, headers=(), key="k1", **options):
        return self.gateway.post(key, ORDER, path="/" + name, headers=headers, **options)

    def assert_refused(self, response, status, code, challenge=None):
        self.assert_told(response, status, code, retry_after=False)
        self.assertEqual("WWW-Authenticate" in response.headers, status == 401, response)
        if challenge is not None:
            self.assertEqual(response.all("WWW-Authenticate"), [challenge])
        self.assert_no_receipt()

    def assert_owner(self, response, owner):
        self.assert_passed_on(response, 201, "executed")
        self.assertEqual(self.operation_of(response)["owner"], owner)

    def test_api_keys(self):
        """A secret in a header: 401 without it; its owner outlives a change of the secret."""
        challenge = 'ApiKey realm="recibo", header="X-Api-Key"'
        for headers in ((), [("X-Api-Key", "guess")], [("X-Api-Key", "")],
                        [("X-Api-Key", sha(ANA))]):
            self.assert_refused(self.ask("keyed", headers), 401, "unauthenticated", challenge)
        self.assert_refused(self.ask("keyed", [("X-Api-Key", ANA), ("X-Api-Key", ANA)]), 400,
                            "bad-request")
        first = self.ask("keyed", [("X-Api-Key", ANA)])
        self.assert_owner(first, "ana")
        self.assert_replay(first, self.ask("keyed", [("x-api-key", ANA_NEW)]))
        self.assertEqual(self.upstream.last.get("X-Api-Key"), ANA)

    def test_bearer_tokens(self):
        """The scheme's word has no case; a broken token is 400, an unknown one 401."""
        for headers in ((), [("Authorization", "Basic dG9rZW4=")],
                        [("Authorization", "Bearers x")]):
            self.assert_refused(self.ask("bearer", headers), 401, "unauthenticated",
                                'Bearer realm="recibo"')
        self.assert_refused(self.ask("bearer", [("Authorization", "Bearer guess")]), 401,
                            "unauthenticated", 'Bearer realm="recibo", error="invalid_token"')
        for value in ("Bearer", "Bearer a b", "Bearer \"x\""):
            self.assert_refused(self.ask("bearer", [("Authorization", value)]), 400, "bad-request")
        self.assert_owner(self.ask("bearer", [("Authorization", "bEARER token-of-cem")]), "cem")

    def test_user_and_password(self):
        """Unknown user and wrong password look the same; UTF-8 is welcome."""
        challenge = 'Basic realm="the shop", charset="UTF-8"'
        answers = []
        for headers in ((), basic("dora", "guess"), basic("nobody", "sesame"), basic("", "")):
            answers.append(self.ask("login", headers))
            self.assert_refused(answers[-1], 401, "unauthenticated", challenge)
        wrong, unknown = answers[1].json(), answers[2].json()
        self.assertEqual({**wrong, "instance": ""}, {**unknown, "instance": ""})
        for value in ("Basic !!!!", "Basic", "Basic " + base64.b64encode(b"dora").decode(),
                      "Basic " + base64.b64encode(b"do\0ra:x").decode()):
            self.assert_refused(self.ask("login", [("Authorization", value)]), 400, "bad-request")
        self.assert_refused(self.ask("login", basic("dora", "sesame") * 2), 400, "bad-request")
        self.assert_owner(self.ask("login", basic("dora", "sesame")), "dora")
        self.assert_owner(self.ask("login", basic("emil", "p\xe4ssword")), "emil")
        self.assertEqual(self.upstream.sends, 2)

    def test_a_header_of_a_proxy(self):
        """Only the listed address may name the owner; from another it is 403."""
        self.assert_refused(self.ask("proxy"), 401, "unauthenticated")
        self.assert_refused(self.ask("proxy", [("X-Owner", "root")], source="127.0.0.2"), 403,
                            "forbidden")
        self.assert_refused(self.ask("proxy", [("X-Owner", "a"), ("X-Owner", "b")]), 400,
                            "bad-request")
        for owner in ("fay", "gil"):
            self.assert_owner(self.ask("proxy", [("X-Owner", owner)]), owner)

    def test_networks(self):
        """The longest range decides; no range is 403; forwarding headers mean nothing."""
        self.assert_refused(self.ask("net", source="127.0.1.1"), 403, "forbidden")
        claims = [("X-Forwarded-For", "127.0.0.9"), ("Forwarded", "for=127.0.0.9")]
        self.assert_owner(self.ask("net", claims, source="127.0.0.2"), "near")
        self.assert_owner(self.ask("net", source="127.0.0.9"), "nine")
        self.assertEqual(self.ask("net", source="127.0.0.3").get("Idempotency-Status"), "replayed")
        self.assertEqual(self.upstream.sends, 2)

    def test_everybody_is_one(self):
        """A static owner is the same for every caller."""
        first = self.ask("one")
        self.assert_owner(first, "everybody")
        self.assert_replay(first, self.ask("one", source="127.0.0.2"))

    def test_owners_do_not_meet(self):
        """The same key of two owners is two operations; neither sees the other's."""
        first = self.ask("keyed", [("X-Api-Key", ANA)])
        other = self.gateway.post("k1", {"order": 8}, path="/keyed", headers=[("X-Api-Key", BEN)])
        self.assert_owner(other, "ben")
        self.assertNotEqual(first.get("Idempotency-Operation"), other.get("Idempotency-Operation"))
        path = "/.recibo/operations/" + first.get("Idempotency-Operation")
        self.assertEqual(self.gateway.request("GET", path, [("X-Api-Key", ANA)]).status, 200)
        absent = self.gateway.request("GET", "/.recibo/operations/op_" + "a" * 26,
                                      [("X-Api-Key", BEN)])
        for headers in ([("X-Api-Key", BEN)], [], [("X-Api-Key", "guess")]):
            hidden = self.gateway.request("GET", path, headers)
            self.assert_told(hidden, 404, "not-found", retry_after=False)
            self.assertEqual({**hidden.json(), "instance": ""}, {**absent.json(), "instance": ""})

    def test_a_replay_needs_the_credentials_too(self):
        """Who has lost the right gets 401 and not the record."""
        self.ask("keyed", [("X-Api-Key", ANA)])
        self.assertEqual(self.ask("keyed", [("X-Api-Key", "guess")]).status, 401)
        self.assertEqual(self.ask("keyed").status, 401)

    def test_credentials_are_never_kept(self):
        """What a caller proves itself with stands in no evidence and in no log."""
        self.upstream.script(lambda exchange: False, lambda exchange: False)
        for name, headers, secret in (
                ("keyed", [("X-Api-Key", ANA), ("Cookie", "session=hush")], ANA),
                ("login", basic("dora", "sesame"), basic("dora", "sesame")[0][1])):
            operation = self.operation_of(self.ask(name, headers + [("X-Kept", "yes")]))
            seen = {pair[0].lower(): pair[1] for pair in operation["request"]["headers"]}
            self.assertEqual(seen["x-kept"], "yes")
            for hidden in ("x-api-key", "authorization", "cookie"):
                self.assertNotIn(hidden, seen)
            self.assertNotIn(secret, repr(operation))
            self.assertNotIn(secret, self.gateway.log())


class Strip(Guarded):
    def test_credentials_stay_here(self):
        """credentials: strip keeps the owner's header, in every spelling, from the upstream."""
        self.start(owners={"everyone": None, "keyed": OWNERS["keyed"]},
                   route={"credentials": "strip", "owner": "keyed"}, defaults={"owner": None})
        self.assert_passed_on(self.gateway.post("k1", ORDER, headers=[
            ("X-Api-Key", ANA), ("X_Api_Key", "look-alike"), ("X-Other", "1")]), 201, "executed")
        self.assertNotIn("X-Api-Key", self.upstream.last.headers)
        self.assertNotIn("X_Api_Key", self.upstream.last.headers)
        self.assertEqual(self.upstream.last.get("X-Other"), "1")


if __name__ == "__main__":
    main()
