"""Owners by signed tokens: whose operation it is follows from issuer and subject, and nothing
that is not signed as the configuration says reaches a receipt or the upstream.
"""

import base64
import hmac
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import main, merge, orders, rest, scratch  # noqa: E402

SECRET = b"a secret of thirty-two bytes....and more"
ISSUER, AUDIENCE = "https://idp.example", "orders-api"
REALM = 'Bearer realm="recibo"'


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def part(value):
    return b64(value if isinstance(value, bytes) else json.dumps(value).encode())


def claims(**changes):
    """What a good token says; None leaves a claim out."""
    return {name: value for name, value in merge({
        "iss": ISSUER, "sub": "ana", "aud": AUDIENCE, "exp": int(time.time()) + 600},
        changes).items()}


def signed(header, payload, signer):
    text = "%s.%s" % (part(header), part(payload))
    return "%s.%s" % (text, b64(signer(text.encode())))


def by_secret(secret=SECRET, name="sha256"):
    return lambda text: hmac.new(secret, text, name).digest()


def token(header=None, secret=SECRET, **changes):
    return signed(header or {"alg": "HS256", "kid": "one"}, claims(**changes), by_secret(secret))


class KeyPair:
    """A key of openssl's making, as the issuer has it and as the set shows it."""

    def __init__(self, kind):
        self.path = os.path.join(scratch(), "key.pem")
        made = {"RSA": ["genrsa", "-out", self.path, "2048"],
                "EC": ["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path]}
        subprocess.run(["openssl", *made[kind]], check=True, capture_output=True)
        self.kind = kind
        self.public = self.run("pkey", "-in", self.path, "-pubout")

    def run(self, *words, data=None):
        return subprocess.run(["openssl", *words], input=data, check=True,
                              capture_output=True).stdout

    def jwk(self, **members):
        der = self.run("pkey", "-in", self.path, "-pubout", "-outform", "DER")
        if self.kind == "EC":
            point = der[-64:]
            return dict({"kty": "EC", "crv": "P-256", "x": b64(point[:32]), "y": b64(point[32:])},
                        **members)
        modulus = self.run("rsa", "-in", self.path, "-modulus", "-noout").decode()
        return dict({"kty": "RSA", "n": b64(bytes.fromhex(modulus.split("=")[1].strip())),
                     "e": "AQAB"}, **members)

    def sign(self, text):
        der = self.run("dgst", "-sha256", "-sign", self.path, data=text)
        return der if self.kind == "RSA" else raw_of(der)


def raw_of(der):
    """r and s side by side, of a DER signature."""
    first = der[4:4 + der[3]]
    second = der[6 + der[3]:]
    return b"".join(each.lstrip(b"\0").rjust(32, b"\0") for each in (first, second))


class Tokens(Guarded):
    def start_tokens(self, keys, algorithms, **entry):
        self.directory = scratch()
        self.keys_path = os.path.join(self.directory, "keys.json")
        self.write_keys(keys)
        entry = merge({"kind": "jwt", "issuer": ISSUER, "audience": AUDIENCE,
                       "algorithms": algorithms, "jwks_file": self.keys_path}, entry)
        return self.start(routes=[orders(owner="people"), rest()], owners={"people": entry})

    def write_keys(self, keys):
        with open(self.keys_path, "w", encoding="ascii") as file:
            json.dump({"keys": keys}, file)

    def start_secret(self, **entry):
        return self.start_tokens([{"kty": "oct", "kid": "one", "k": b64(SECRET)}], ["HS256"],
                                 **entry)

    def post(self, text, key="k1", body=None):
        headers = [] if text is None else [("Authorization", "Bearer " + text)]
        return self.gateway.post(key, body or ORDER, headers=headers)

    def assert_refused(self, text):
        """One answer for every reason."""
        response = self.post(text)
        self.assert_problem(response, 401, "unauthenticated")
        self.assertEqual(response.all("WWW-Authenticate"), [REALM + ', error="invalid_token"'])
        self.told.add(response.json()["detail"])

    def setUp(self):
        super().setUp()
        self.told = set()


class Subjects(Tokens):
    def test_owner_is_issuer_and_subject(self):
        """Two subjects do not meet; another token of the same subject is the same owner."""
        self.start_secret()
        ana = self.post(token())
        self.assert_passed_on(ana, 201, "executed")
        self.assertEqual(self.operation_of(ana)["owner"], ISSUER + " ana")
        self.assert_replay(ana, self.post(token(exp=int(time.time()) + 60, jti="other")))
        bob = self.post(token(sub="bob"))
        self.assert_passed_on(bob, 201, "executed")
        self.assertNotEqual(self.operation_of(bob)["owner"], self.operation_of(ana)["owner"])

    def test_every_claim(self):
        """Expired, too early, for somebody else, by somebody else, or not well-formed: one 401,
        no receipt, nothing sent."""
        self.start_secret()
        now = int(time.time())
        for changes in (
                {"exp": None}, {"exp": now - 61}, {"exp": "soon"}, {"exp": 1e300}, {"exp": -1},
                {"exp": True}, {"nbf": now + 120}, {"nbf": "x"}, {"iat": now + 120}, {"iat": []},
                {"iss": None}, {"iss": ISSUER + "/"}, {"iss": ISSUER.upper()}, {"iss": [ISSUER]},
                {"aud": None}, {"aud": "other"}, {"aud": []}, {"aud": ["x", "y"]},
                {"aud": {"a": AUDIENCE}}, {"aud": ["x", 1, AUDIENCE]}, {"sub": None}, {"sub": ""},
                {"sub": 7}, {"sub": "a\nb"}, {"sub": "x" * 256}, {"cnf": {"x5t#S256": "a"}}):
            with self.subTest(changes=changes):
                self.assert_refused(token(**changes))
        self.assertEqual(len(self.told), 1)
        self.assert_no_receipt()
        for changes in ({"exp": now - 30}, {"nbf": now + 30}, {"iat": now + 30},
                        {"aud": ["x", AUDIENCE]}, {"exp": now + 600.5}, {"more": {"a": [1]}}):
            with self.subTest(changes=changes):
                self.assertEqual(self.post(token(**changes), key="k2").status, 201)

    def test_leeway(self):
        """Without leeway a second is a second."""
        self.start_secret(leeway="0s")
        self.assert_refused(token(exp=int(time.time()) - 1))

    def test_type(self):
        """A token for another purpose is none."""
        self.start_secret(typ="at+jwt")
        self.assert_refused(token())
        good = token({"alg": "HS256", "kid": "one", "typ": "at+JWT"})
        self.assert_passed_on(self.post(good), 201, "executed")


class Forms(Tokens):
    def test_every_form(self):
        """What is not three parts of canonical base64url with JSON in them is refused alike."""
        self.start_secret()
        good = token()
        head, payload, mark = good.split(".")
        unsigned = [part({"alg": word}) + "." + part(claims()) + "."
                    for word in ("none", "None", "NONE", "nOnE")]
        for text in (*unsigned, part({}) + "." + payload + "." + mark, head + "." + payload,
                     good + ".", good + "." + mark, head + ".." + mark, head + "." + payload + ".",
                     "." + payload + "." + mark, good[:-1], good + "A", good + "==",
                     head + "." + payload + "." + mark[:-1] + chr(ord(mark[-1]) ^ 1),
                     signed(b'{"alg":"none","alg":"HS256","kid":"one"}', claims(), by_secret()),
                     signed({"alg": "HS256", "kid": "one"}, b"[]", by_secret()),
                     signed({"alg": "HS256", "kid": "one"}, b"{", by_secret()),
                     signed({"alg": "HS256", "kid": "one"},
                            json.dumps(claims()).encode()[:-1] + b',"sub":"bob"}', by_secret()),
                     token({"alg": "HS512", "kid": "one"}), token({"alg": "HS256", "kid": "two"}),
                     token({"alg": "HS256", "kid": "../one"}), token(secret=b"x" * 40),
                     token({"alg": "HS256", "kid": "one' OR '1'='1"}), "A" * 7000, "x"):
            with self.subTest(text=text[:80]):
                self.assert_refused(text)
        self.assertEqual(len(self.told), 1)
        self.assert_no_receipt()
        self.assert_passed_on(self.post(good), 201, "executed")

    def test_headers(self):
        """No credential is a bare challenge; two, or none behind the word, are malformed."""
        self.start_secret()
        for headers, status, challenge in (
                ([], 401, REALM), ([("Authorization", "Basic YTpi")], 401, REALM),
                ([("Authorization", "Bearer")], 400, None),
                ([("Authorization", "Bearer a b")], 400, None),
                ([("Authorization", "Bearer " + token())] * 2, 400, None)):
            response = self.gateway.post("k1", ORDER, headers=headers)
            self.assertEqual(response.status, status, (headers, response))
            if challenge:
                self.assertEqual(response.all("WWW-Authenticate"), [challenge])
        self.assert_no_receipt()
        for word in ("bearer", "BEARER"):
            response = self.gateway.post(word, ORDER,
                                         headers=[("Authorization", word + " " + token())])
            self.assertEqual(response.status, 201)


class PublicKeys(Tokens):
    def test_a_public_key_is_no_secret(self):
        """A token signed with what everybody may read, as if it were a shared secret."""
        pair = KeyPair("RSA")
        self.start_tokens([pair.jwk(kid="one", alg="RS256")], ["RS256"])
        der = pair.run("pkey", "-in", pair.path, "-pubout", "-outform", "DER")
        for secret in (pair.public, pair.public.strip(), der, pair.jwk()["n"].encode()):
            for header in ({"alg": "HS256", "kid": "one"}, {"alg": "RS256", "kid": "one"}):
                self.assert_refused(token(header, secret=secret))
        self.assert_no_receipt()
        good = signed({"alg": "RS256", "kid": "one"}, claims(), pair.sign)
        self.assert_passed_on(self.post(good), 201, "executed")

    def test_algorithms_of_the_configuration(self):
        """A key of the set serves what the entry lists and what it was made for, alone."""
        rsa, curve = KeyPair("RSA"), KeyPair("EC")
        self.start_tokens([rsa.jwk(kid="r"), curve.jwk(kid="e", use="sig")], ["ES256"])
        good = signed({"alg": "ES256", "kid": "e"}, claims(), curve.sign)
        self.assert_passed_on(self.post(good), 201, "executed")
        self.assert_refused(signed({"alg": "RS256", "kid": "r"}, claims(), rsa.sign))
        self.assert_refused(signed({"alg": "ES256", "kid": "r"}, claims(), rsa.sign))
        der = signed({"alg": "ES256", "kid": "e"}, claims(),
                     lambda text: curve.run("dgst", "-sha256", "-sign", curve.path, data=text))
        self.assert_refused(der)
        self.assert_passed_on(self.post(signed({"alg": "ES256"}, claims(), curve.sign), key="k2"),
                              201, "executed")

    def test_another_issuer_key(self):
        """A good signature by a key that is not in the set."""
        mine, other = KeyPair("EC"), KeyPair("EC")
        self.start_tokens([mine.jwk(kid="e")], ["ES256"])
        for header in ({"alg": "ES256", "kid": "e"}, {"alg": "ES256"},
                       {"alg": "ES256", "jwk": other.jwk()},
                       {"alg": "ES256", "kid": "e", "jwk": other.jwk(), "jku": "http://x/"}):
            self.assert_refused(signed(header, claims(), other.sign))


class Credentials(Tokens):
    def test_nowhere_in_store_or_log(self):
        """A token is in neither, good or bad; and it is passed on, since the route says nothing."""
        self.start_secret()
        good, bad = token(), token(secret=b"x" * 40)
        self.assertEqual(self.post(good).status, 201)
        self.post(bad)
        self.assertEqual(self.upstream.last.get("Authorization"), "Bearer " + good)
        self.gateway.stop()
        for name in os.listdir(self.gateway.directory):
            with open(os.path.join(self.gateway.directory, name), "rb") as file:
                held = file.read()
            for text in (good, bad):
                for piece in text.split(".")[1:]:
                    self.assertNotIn(piece.encode(), held, name)


class Files(Tokens):
    def refused(self, keys=None, text=None, **entry):
        """-> what the start says of a set that is no good."""
        self.start_secret()
        self.gateway.stop()
        if keys is not None:
            self.write_keys(keys)
        if text is not None:
            with open(self.keys_path, "w", encoding="ascii") as file:
                file.write(text)
        self.gateway.write_configuration({"owners": {"people": entry}})
        checked = self.gateway.cli("check", "-c", self.gateway.path)
        self.assertEqual(checked.returncode, 2, checked)
        return checked.stderr

    def test_what_is_wrong_with_a_set(self):
        """The place in both files, and never a key."""
        for options, told in (
                ({"text": "{"}, "keys.json:1: "), ({"text": "{\n \"keys\": 1}"}, "no set of keys"),
                ({"keys": [{"kty": "oct", "k": b64(b"short")}]}, "too short"),
                ({"keys": [{"kty": "RSA", "n": "AQAB"}]}, "lacks one of its numbers"),
                ({"keys": []}, "holds no key for any of the algorithms"),
                ({"jwks_file": "none.json"}, "cannot be opened"),
                ({"algorithms": ["HS256", "RS256"]}, "cannot stand beside the others"),
                ({"algorithms": ["none"]}, "algorithms[0]"), ({"issuer": None}, "issuer"),
                ({"audience": None}, "audience"), ({"keys": None, "header": "X-A"}, "header")):
            with self.subTest(options=options):
                said = self.refused(**options)
                self.assertRegex(said, r"recibo\.yaml:\d+:\d+: owners\.people")
                self.assertIn(told, said)
                self.assertNotIn(b64(SECRET), said)

    def test_a_new_set(self):
        """A key that is new in the file counts from the next start on, and the old one goes."""
        self.start_secret()
        first = self.post(token())
        self.write_keys([{"kty": "oct", "kid": "two", "k": b64(b"y" * 32)}])
        self.gateway.restart()
        self.assert_refused(token())
        again = self.post(token({"alg": "HS256", "kid": "two"}, secret=b"y" * 32))
        self.assert_replay(first, again)


if __name__ == "__main__":
    main()
