"""What a repeat gets: the recorded answer byte for byte, or one sentence that says why
not. Comparison, retention, release and an operator's verdict are all judged by the
answer to the next request with the same key.
"""

import email.utils
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ANY, AT_ONCE, ORDER, SOON, Guarded  # noqa: E402
from harness import answer, chunked, close_delimited, hang, main, merge, wait_until  # noqa: E402

JSON = [("Content-Type", "application/json")]
ODD = bytes(range(256)) * 3
DROPPED = [("Set-Cookie", "session=1"), ("Retry-After", "7"), ("Via", "1.1 legacy"), ("Age", "3"),
           ("WWW-Authenticate", "Basic realm=x"), ("Server-Timing", "db;dur=1"),
           ("RateLimit-Remaining", "3"), ("Alt-Svc", "h2=\":1\""), ("X-Hop", "1"),
           ("Connection", "X-Hop"), ("Clear-Site-Data", "\"cookies\""),
           ("Expires", "Tue, 01 Jan 2030 00:00:00 GMT"), ("traceresponse", "00-1-1-1")]
KEPT = [("Location", "/orders/1"), ("ETag", "\"v1\""), ("X-Its-Own", "a"), ("X-Its-Own", "b"),
        ("Content-Type", "application/x-odd"), ("Link", "</x>; rel=up"),
        ("Content-Digest", "sha-256=:x:")]
SHORT = merge(AT_ONCE, {"retention": "400ms"})


class Replay(Guarded):
    def test_the_same_bytes(self):
        """Status, body and kept headers are the first answer's; what was of its moment is gone."""
        self.start(answer(201, KEPT + DROPPED + [("Date", "Mon, 01 Jan 2024 00:00:00 GMT")], ODD))
        first = self.gateway.post("k1", ORDER)
        self.assert_passed_on(first, 201, "executed", ODD)
        self.assertEqual(first.get("Retry-After"), "7")
        self.assertNotIn("X-Hop", first.headers)
        repeat = self.gateway.post("k1", ORDER)
        self.assert_replay(first, repeat)
        for name, _ in KEPT:
            self.assertEqual(repeat.all(name), [v for n, v in KEPT if n == name], name)
        for name, _ in DROPPED:
            if name != "Connection":
                self.assertNotIn(name, repeat.headers)
        self.assertEqual(repeat.get("Content-Length"), str(len(ODD)))
        self.assertNotIn("Transfer-Encoding", repeat.headers)
        dated = email.utils.parsedate_to_datetime(repeat.get("Date")).timestamp()
        self.assertGreater(dated, time.time() - 3600)
        self.assertEqual(self.upstream.sends, 1)

    def test_cookies_where_the_route_says_so(self):
        """replay.set_cookie: a caller that lost the first answer gets its session all the same."""
        self.start(answer(201, [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")], b"x"),
                   {"replay": {"set_cookie": True}})
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(self.gateway.post("k1", ORDER).all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(self.upstream.sends, 1)

    def test_every_framing_is_replayed_with_a_length(self):
        """Chunked and close-delimited answers are kept whole; trailers are not."""
        self.start()
        self.upstream.script(chunked([b"ab", b"c" * 70000], trailer=b"X-T: 1\r\n"),
                             close_delimited(200, (), b"until the end"), answer(204),
                             answer(200, body=b""))
        for key, body in (("k1", b"ab" + b"c" * 70000), ("k2", b"until the end"), ("k3", b""),
                          ("k4", b"")):
            first = self.gateway.post(key, ORDER)
            self.assertEqual(first.body, body)
            repeat = self.gateway.post(key, ORDER)
            self.assert_replay(first, repeat)
            self.assertNotIn("X-T", repeat.headers)
            self.assertEqual(repeat.get("Content-Length"),
                             None if first.status == 204 else str(len(body)))

    def test_with_the_upstream_down_and_after_a_restart(self):
        """The record alone is enough, also after a kill."""
        self.start()
        first = self.gateway.post("k1", ORDER)
        self.upstream.refuse()
        self.assert_replay(first, self.gateway.post("k1", ORDER))
        self.gateway.restart(kill=True)
        self.assert_replay(first, self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 1)

    def test_an_upstream_cannot_pretend(self):
        """Recibo's own words in an upstream's answer are taken out."""
        self.start(answer(200, [("Idempotent-Replayed", "true"), ("Idempotency-Status", "replayed"),
                                ("Idempotency-Operation", "op_x"), ("Idempotency-Expires", "x")]))
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.all("Idempotency-Status"), ["executed"])
        self.assertEqual(len(first.all("Idempotency-Operation")), 1)
        self.assertEqual(len(first.all("Idempotency-Expires")), 1)
        self.assertNotIn("Idempotent-Replayed", first.headers)
        self.assert_replay(first, self.gateway.post("k1", ORDER))

    def test_how_long_is_said(self):
        """Idempotency-Expires tells the end of the retention, the same on every answer."""
        self.start(route=merge(AT_ONCE, {"retention": "2h"}))
        first, repeat = self.gateway.post("k1", ORDER), self.gateway.post("k1", ORDER)
        until = email.utils.parsedate_to_datetime(first.get("Idempotency-Expires")).timestamp()
        self.assertAlmostEqual(until, time.time() + 7200, delta=120)
        self.assertEqual(first.get("Idempotency-Expires"), repeat.get("Idempotency-Expires"))

    def test_cookies_only_where_the_route_says_so(self):
        """replay.set_cookie gives the cookies again."""
        cookies = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
        self.start(answer(200, cookies), route={"replay": {"set_cookie": True}})
        first, repeat = self.gateway.post("k1", ORDER), self.gateway.post("k1", ORDER)
        self.assertEqual(first.all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(repeat.all("Set-Cookie"), ["a=1", "b=2"])

    def test_only_listed_headers(self):
        """replay.headers is an allow-list; the body's own description always goes with it."""
        self.start(answer(200, KEPT, b"x"), route={"replay": {"headers": ["Location"]}})
        self.gateway.post("k1", ORDER)
        repeat = self.gateway.post("k1", ORDER)
        self.assertEqual((repeat.get("Location"), repeat.get("Content-Type")),
                         ("/orders/1", "application/x-odd"))
        self.assertNotIn("ETag", repeat.headers)
        self.assertNotIn("X-Its-Own", repeat.headers)

    def test_an_answer_too_large_to_keep(self):
        """It is passed on whole; a repeat is told that it ran and never runs again."""
        body = os.urandom(5000)
        self.start(answer(201, body=body), route={"replay_body_max": "4KiB"})
        first = self.gateway.post("k1", ORDER)
        self.assert_passed_on(first, 201, "executed", body)
        self.assert_state(first, "completed", sends=1)
        problem = self.assert_told(self.gateway.post("k1", ORDER), 409, "result-unavailable",
                                   "replayed", state="completed", new_key=False)
        self.assertIs(problem["executed"], True)
        self.assertEqual(self.upstream.sends, 1)

    def test_an_old_caller(self):
        """A repeat over HTTP/1.0 gets a length and a connection that closes."""
        self.start(chunked([b"abc"]))
        first = self.gateway.post("k1", ORDER)
        with self.gateway.client() as client:
            client.send_raw(client.encode("POST", "/orders", JSON + [("Idempotency-Key", "k1")],
                                          b'{"order": 7}').replace(b"HTTP/1.1", b"HTTP/1.0", 1))
            repeat = client.read_response()
            self.assert_replay(first, repeat)
            self.assertEqual(repeat.get("Content-Length"), "3")
            self.assertTrue(client.is_closed())

    def test_conditions_and_preferences_change_nothing(self):
        """Accept, Prefer, Range and Accept-Language are not evaluated against the record."""
        self.start(answer(200, [("ETag", "\"1\"")], b"0123456789"))
        first = self.gateway.post("k1", ORDER)
        repeat = self.gateway.post("k1", ORDER, headers=[
            ("Accept", "text/plain"), ("Prefer", "respond-async"), ("Range", "bytes=0-3"),
            ("Accept-Language", "is"), ("Accept-Encoding", "gzip"), ("User-Agent", "other")])
        self.assert_replay(first, repeat)

    def test_the_owner_may_ask_for_the_state(self):
        """/.recibo/operations/ID shows the operation to its owner; another id is 404."""
        self.start()
        operation_id = self.gateway.post("k1", ORDER).get("Idempotency-Operation")
        seen = self.gateway.request("GET", "/.recibo/operations/" + operation_id)
        self.assertEqual((seen.status, seen.json()["state"]), (200, "completed"))
        self.assertEqual(seen.get("Cache-Control"), "no-store")
        other = self.gateway.request("GET", "/.recibo/operations/op_" + "a" * 26)
        self.assert_told(other, 404, "not-found", retry_after=False)


class Compare(Guarded):
    def test_the_same_json_in_another_spelling(self):
        """Order of members, space and escapes make no difference; the key may be quoted."""
        self.start()
        first = self.gateway.post("k1", b'{"a":1,"b":[1,2],"c":"A/"}', headers=JSON)
        for key, body in (("k1", b' { "c" : "\\u0041\\/" , "b":[ 1,\n2 ], "a":1 } '),
                          ('"k1"', b'{"b":[1,2],"a":1,"c":"A/"}'),
                          ('"k1";v=1', b'{"a":1,"b":[1,2],"c":"A/"}')):
            with self.subTest(key=key, body=body):
                self.assert_replay(first, self.gateway.post(key, body, headers=JSON))
        self.assertEqual(self.upstream.sends, 1)
        self.assertEqual(self.upstream.last.body, b'{"a":1,"b":[1,2],"c":"A/"}')

    def refuse(self, changed, body, **options):
        response = self.gateway.post("k1", body, **options)
        problem = self.assert_told(response, 422, "key-reused", "mismatch", state=ANY_STATE(self),
                                   retry_after=False)
        if changed is not ANY:
            self.assertEqual(problem["changed"], changed)
            for name in changed:
                self.assertIn(name, problem["detail"])
        return problem

    def test_what_changed_is_named(self):
        """422 names the members; nothing is sent; nothing is said of a new key."""
        self.start()
        self.gateway.post("k1", {"qty": 1, "who": {"name": "a", "zip": 1}, "at": 5})
        base = {"qty": 1, "who": {"name": "a", "zip": 1}, "at": 5}
        for changes, names in (({"qty": 2}, ["/qty"]), ({"qty": 1.0}, ["/qty"]),
                               ({"qty": "1"}, ["/qty"]), ({"qty": None, "at": 6}, None),
                               ({"more": 1}, ["/more"])):
            with self.subTest(changes=changes):
                self.refuse(ANY if names is None else names, {**base, **changes})
        self.refuse(ANY, {"qty": 1, "at": 5})
        problem = self.refuse(ANY, merge(base, {"who": {"zip": 2}}))
        self.assertTrue(any(name.startswith("/who") for name in problem["changed"]), problem)
        self.assertEqual(self.upstream.sends, 1)

    def test_target_and_headers_take_part(self):
        """Another query or another content type is another request."""
        self.start(route={"fingerprint": {"mode": "raw"}, "labels": {
            "order": {"json": None, "header": "X-O"}}})
        first = self.gateway.post("k1", b"x", path="/orders?a=1", headers=[("Content-Type", "a/b")])
        self.refuse(ANY, b"x", path="/orders?a=2", headers=[("Content-Type", "a/b")])
        self.refuse(ANY, b"x", path="/orders?a=1", headers=[("Content-Type", "a/c")])
        self.refuse(ANY, b"x ", path="/orders?a=1", headers=[("Content-Type", "a/b")])
        self.assert_replay(first, self.gateway.post("k1", b"x", path="/orders?a=1",
                                                    headers=[("Content-Type", "a/b")]))
        with self.gateway.client() as client:
            client.send_raw(client.encode("POST", "/orders?a=1", [
                ("Content-Type", "a/b"), ("Idempotency-Key", "k1"),
                ("Transfer-Encoding", "chunked")]) + b"1\r\nx\r\n0\r\n\r\n")
            self.assert_replay(first, client.read_response())

    def test_ignored_members(self):
        """What the route ignores may change; what it does not may not."""
        self.start(route={"fingerprint": {"ignore": ["/client_time"]}})
        first = self.gateway.post("k1", {"order": 1, "client_time": 1})
        self.assert_replay(first, self.gateway.post("k1", {"order": 1, "client_time": 2}))
        self.assert_replay(first, self.gateway.post("k1", {"order": 1}))
        self.refuse(["/order"], {"order": 2, "client_time": 1})

    def test_keys_are_opaque(self):
        """Case and every byte count: neighbours are operations of their own."""
        self.start()
        for key in ("A1", "a1", "a1.", "\"'\"", '"%n"', '"../x"', '"a b"', "a" * 255):
            self.assert_passed_on(self.gateway.post(key, ORDER), 201, "executed")
        self.assertEqual(self.upstream.sends, 8)
        for key in ("A1", "a1", "a1.", "\"'\"", '"%n"', '"../x"', '"a b"', "a" * 255):
            self.assertEqual(self.gateway.post(key, ORDER).get("Idempotency-Status"), "replayed")

    def test_mismatch_comes_before_every_state(self):
        """A changed body is 422 while pending, when unknown, released, settled and abandoned."""
        self.start(upstream=SOON)
        self.upstream.script(hang())
        self.assertEqual(self.gateway.post("k1", ORDER).status, 504)
        self.refuse(["/order"], {"order": 8})
        self.settle(self.gateway.post("k1", ORDER), "abandoned")
        self.refuse(["/order"], {"order": 8})
        self.upstream.script(answer(429))
        self.assertEqual(self.gateway.post("k2", ORDER).status, 429)
        self.assertEqual(self.gateway.post("k2", {"order": 8}).status, 422)
        self.assertEqual(self.upstream.sends, 2)


def ANY_STATE(case):
    """The state that an operator sees, which the answer must name, too."""
    return case.gateway.operations()[0]["state"]


class Expiry(Guarded):
    def run_out(self, **route):
        self.start(route=merge(SHORT, route))
        first = self.gateway.post("k1", ORDER)
        self.assert_passed_on(first, 201, "executed")
        self.wait_expired(first)
        return first

    def test_after_retention(self):
        """A repeat after the retention is told so, and not sent."""
        first = self.run_out()
        for _ in range(2):
            response = self.gateway.post("k1", ORDER)
            self.assert_told(response, 409, "result-expired", "expired", state="expired",
                             new_key=False)
            self.assertEqual(response.get("Idempotency-Operation"),
                             first.get("Idempotency-Operation"))
        self.assertEqual(self.gateway.post("k1", {"order": 8}).status, 422)
        self.assertEqual(self.upstream.sends, 1)

    def test_the_sweeper_keeps_the_tombstone(self):
        """Swept or not, the answer is the same; the recorded bytes are gone."""
        first = self.run_out()
        operation_id = first.get("Idempotency-Operation")
        operation = self.gateway.wait_state(operation_id, "expired")
        self.assertIsNone(operation.get("response"))
        self.assertEqual(operation["attempts"], [])
        self.assert_told(self.gateway.post("k1", ORDER), 409, "result-expired", "expired",
                         state="expired", new_key=False)
        self.assertEqual(self.gateway.post("k1", {"order": 8}).status, 422)
        self.assertEqual(self.upstream.sends, 1)

    def test_run_again_where_the_route_says_so(self):
        """on_expiry: rerun makes a new operation of it, also with another body."""
        first = self.run_out(on_expiry="rerun")
        again = self.gateway.post("k1", {"order": 8})
        self.assert_passed_on(again, 201, "executed")
        self.assertNotEqual(again.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 2)

    def test_the_tombstone_goes_too(self):
        """When its time is over the key is as good as new."""
        first = self.run_out(tombstone="400ms")
        again = wait_until(lambda: self.not_refused("k1"))
        self.assert_passed_on(again, 201, "executed")
        self.assertNotEqual(again.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 2)

    def not_refused(self, key):
        response = self.gateway.post(key, ORDER)
        if response.status == 201:
            return response
        self.assert_told(response, 409, "result-expired", "expired", state="expired",
                         new_key=False)
        return None

    def test_doubt_does_not_expire(self):
        """An unknown outlives its route's retention."""
        self.start(route=merge(SHORT, {"tombstone": "400ms"}))
        done = self.gateway.post("k0", ORDER)
        unknown = self.make_unknown("k1")
        self.wait_expired(done)
        wait_until(lambda: self.not_refused("k0"))
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertIsNone(self.operation_of(unknown)["expires_at"])


class Released(Guarded):
    def release(self, **options):
        self.upstream.script(answer(429, body=b"later"))
        response = self.gateway.post("k1", {"order": 1}, **options)
        self.assert_passed_on(response, 429, "released", b"later")
        return response

    def test_a_changed_body_is_refused_for_header_keys(self):
        """By default a key in a header belongs to one body."""
        self.start()
        self.release()
        self.assert_told(self.gateway.post("k1", {"order": 2}), 422, "key-reused", "mismatch",
                         state="released", retry_after=False)
        self.assert_passed_on(self.gateway.post("k1", {"order": 1}), 201, "executed")

    def test_or_it_takes_the_place_of_the_first(self):
        """on_changed_after_release: replace compares with the new body from then on."""
        self.start(route={"on_changed_after_release": "replace"})
        first = self.release()
        second = self.gateway.post("k1", {"order": 2})
        self.assert_passed_on(second, 201, "executed")
        self.assertEqual(self.upstream.last.body, b'{"order": 2}')
        self.assertEqual(second.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assert_replay(second, self.gateway.post("k1", {"order": 2}))
        self.assertEqual(self.gateway.post("k1", {"order": 1}).status, 422)
        self.assertEqual(self.upstream.sends, 2)

    def test_keys_from_the_content_replace_by_default(self):
        """A key that is part of the body or path goes on with the corrected body."""
        self.start(route={"key": {"from": "json", "pointer": "/id", "name": None,
                                  "required": None}})
        self.upstream.script(answer(401))
        self.assertEqual(self.gateway.post(None, {"id": "a", "order": 1}).status, 401)
        second = self.gateway.post(None, {"id": "a", "order": 2})
        self.assert_passed_on(second, 201, "executed")
        self.assertEqual(self.gateway.post(None, {"id": "a", "order": 1}).status, 422)


class Verdicts(Guarded):
    def setUp(self):
        self.start(route=AT_ONCE)
        self.first = self.make_unknown()

    def repeat(self):
        return self.gateway.post("k1", ORDER)

    def test_executed_with_a_response(self):
        """The response that the operator gives is replayed."""
        self.settle(self.first, "executed", response={
            "status": 201, "headers": {"Location": "/orders/4711"}, "body": {"ticket": 4711}})
        for _ in range(2):
            repeat = self.repeat()
            self.assertEqual((repeat.status, repeat.get("Location")), (201, "/orders/4711"))
            self.assertEqual(repeat.json(), {"ticket": 4711})
            self.assertEqual(repeat.get("Idempotency-Status"), "replayed")
            self.assertEqual(repeat.get("Idempotent-Replayed"), "true")
        self.assertEqual(self.upstream.sends, 1)

    def test_executed_without_a_response(self):
        """Nobody knows the answer: 409 with executed: true, never an invented success."""
        self.settle(self.first, "executed")
        problem = self.assert_told(self.repeat(), 409, "result-unavailable", state="completed",
                                   new_key=False)
        self.assertIs(problem["executed"], True)
        self.assertEqual(self.upstream.sends, 1)

    def test_not_executed(self):
        """The key is free: the repeat runs as the same operation."""
        self.settle(self.first, "not_executed")
        operation = self.assert_state(self.first, "released")
        self.assertEqual(operation["attempts"][-1]["basis"], "asserted")
        again = self.repeat()
        self.assert_passed_on(again, 201, "executed")
        self.assertEqual(again.get("Idempotency-Operation"),
                         self.first.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 2)
        self.assert_replay(again, self.repeat())

    def test_abandoned(self):
        """Nobody could find out: never run again."""
        self.settle(self.first, "abandoned")
        self.assert_told(self.repeat(), 409, "operation-abandoned", "abandoned",
                         state="abandoned", new_key=False)
        self.assertEqual(self.upstream.sends, 1)

    def test_reopened_before_anybody_was_told(self):
        """A verdict that nobody has acted on can be taken back."""
        for verdict in ("executed", "not_executed", "abandoned"):
            self.settle(self.first, verdict)
            self.settle(self.first, "reopen")
            self.assert_state(self.first, "unknown")
            self.assertEqual(self.operation_of(self.first)["settled"], False)
        self.assert_unknown_repeat(self.repeat())

    def test_not_reopened_after_a_replay(self):
        """Once a caller was answered on it, a verdict stands."""
        self.settle(self.first, "executed", response={"status": 200, "body": "done"})
        self.assertEqual(self.repeat().body, b"done")
        value = self.settle(self.first, "reopen", status=409)
        self.assertEqual(value["code"], "verdict-consumed")
        self.assertTrue(value["consumed_at"])
        self.assert_state(self.first, "completed")

    def test_not_reopened_after_the_key_was_used(self):
        """A key that was claimed again has consumed the verdict."""
        self.settle(self.first, "not_executed")
        self.assert_passed_on(self.repeat(), 201, "executed")
        value = self.settle(self.first, "reopen", status=409)
        self.assertIn(value["code"], ("verdict-consumed", "not-settleable"))
        self.assert_state(self.first, "completed")

    def test_a_verdict_on_an_old_version(self):
        """Compare-and-set: who looked at another version changes nothing."""
        version = self.operation_of(self.first)["version"]
        self.settle(self.first, "abandoned")
        value = self.settle(self.first, "executed", status=409, version=version)
        self.assertEqual(value["code"], "changed-meanwhile")
        self.assert_state(self.first, "abandoned")


class QuietTime(Guarded):
    def test_not_executed_has_to_wait(self):
        """While bytes may still land nobody may say that it did not run, unless he insists."""
        self.start()
        first = self.make_unknown()
        value = self.settle(first, "not_executed", status=409)
        self.assertEqual(value["code"], "quiet-time")
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.settle(first, "not_executed", force=True)
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")


if __name__ == "__main__":
    main()
