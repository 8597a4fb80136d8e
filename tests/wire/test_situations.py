"""Each situation a call can get into has one answer, one state and one count of sends:
the table "Situations and answers", a test a row.

What a repeat gets is part of every row: that is where a wrong state would show.
"""

import os
import sqlite3
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ANY, ORDER, SOON, Guarded, send_post  # noqa: E402
from harness import (Upstream, answer, cut, fin, free_port, hang, main,  # noqa: E402
                     orders, plain, raw, reset, wait)

JSON = [("Content-Type", "application/json")]
RULES = [
    {"status": 200, "json": {"/ok": False}, "means": "refused"},
    {"status": 302, "header": {"Location": "*/login*"}, "means": "refused"},
    {"status": 200, "media_type": "text/html", "means": "unknown"},
    {"status": "5xx", "text": "never started", "means": "refused"},
    {"status": 500, "json": {"/error/code": "duplicate"}, "means": "completed"},
    {"json": {"/pending": plain("exists")}, "means": "unknown"},
]


class Malformed(Guarded):
    """Row 1: what is badly built gets a 4xx, leaves no receipt and is not sent."""

    def setUp(self):
        self.start(route={"request_body_max": "64KiB"})

    def refuse(self, status, code, key="k1", body=None, **options):
        response = self.gateway.post(key, ORDER if body is None else body, **options)
        self.assert_told(response, status, code, retry_after=False)
        self.assert_no_receipt()
        return response

    def test_a_missing_key(self):
        """A required key that is not there is 400 key-missing."""
        self.refuse(400, "key-missing", key=None)
        for value in ("", "   "):
            self.refuse(400, "key-missing", key=value)

    def test_keys_that_are_not_valid(self):
        """Grammar, quoting and length: each 400 key-invalid."""
        for value in ('"abc', 'a b', 'a,b', '"a\\n"', '"abc" x', '""', '" a"', '"a "', "a" * 256,
                      'ab"c', "k\xe9", "a;b", '"' + "a" * 256 + '"', "@a"):
            with self.subTest(value=value):
                self.refuse(400, "key-invalid", key=value)

    def test_two_key_lines(self):
        """Two lines are one too many, even if they are equal."""
        for other in ("k1", "k2"):
            self.refuse(400, "key-invalid", headers=[("idempotency-key", other)])

    def test_bodies_that_are_not_json(self):
        """What parsers read differently is not compared at all."""
        for body in (b"{", b"", b"[1,]", b"{'a':1}", b"\xef\xbb\xbf{}", b'{"a":1,"\\u0061":2}',
                     b'{"a":"\xff"}', b'{"a":01}', b"NaN", b'"\\ud800"', b"[" * 100, b"{} {}"):
            with self.subTest(body=body):
                self.refuse(400, "body-invalid", body=body, headers=JSON)

    def test_a_body_of_another_kind(self):
        """415 names the type that is taken, and never an encoding."""
        response = self.refuse(415, "unsupported-media-type", body=b"a=1",
                               headers=[("Content-Type", "application/x-www-form-urlencoded")])
        self.assertIn("application/json", response.get("Accept"))
        self.assertNotIn("Accept-Encoding", response.headers)

    def test_a_coded_body(self):
        """415 for a coding names the coding, and never a type."""
        response = self.refuse(415, "unsupported-media-type", body=b"\x1f\x8b",
                               headers=JSON + [("Content-Encoding", "gzip")])
        self.assertEqual(response.get("Accept-Encoding"), "identity")
        self.assertNotIn("Accept", response.headers)

    def test_a_body_that_is_too_large(self):
        """413 before a byte of the body is read, or as soon as it grows over the limit."""
        self.refuse(413, "content-too-large", body=b" " * 65537, headers=JSON)
        with self.gateway.client() as client:
            client.send_raw(client.encode(
                "POST", "/orders", JSON + [("Idempotency-Key", "k1"),
                                           ("Transfer-Encoding", "chunked")]))
            client.send_raw(b"10001\r\n" + b" " * 0x10001)
            self.assert_told(client.read_response(), 413, "content-too-large", retry_after=False)
        self.assert_no_receipt()

    def test_another_expectation(self):
        """Only 100-continue can be expected."""
        self.refuse(417, "expectation-failed", headers=[("Expect", "a-miracle")])

    def test_a_target_that_can_be_read_in_two_ways(self):
        """A spelling that meets the guarded route in one reading only is refused."""
        for path in ("/%6frders", "/x/../orders", "//orders", "/orders;x=1", "/./orders"):
            with self.subTest(path=path):
                self.refuse(400, "ambiguous-target", path=path)

    def test_a_method_that_the_route_does_not_take(self):
        """405 with Allow."""
        response = self.gateway.request("DELETE", "/orders", [("Idempotency-Key", "k1")])
        self.assert_told(response, 405, "method-not-allowed", retry_after=False)
        self.assertEqual(set(response.get("Allow").split(", ")), {"POST", "GET", "HEAD", "OPTIONS"})
        self.assert_no_receipt()

    def test_a_method_that_nobody_knows(self):
        """501 for a method outside HTTP's own; methods know case."""
        for method in ("BREW", "post"):
            response = self.gateway.request(method, "/orders", [("Idempotency-Key", "k1")])
            self.assert_told(response, 501, "not-implemented", retry_after=False)
        self.assert_no_receipt()

    def test_the_key_named_by_connection(self):
        """Connection cannot be used to strip the key on the way."""
        self.refuse(400, "bad-request", headers=[("Connection", "close, Idempotency-Key")])

    def test_broken_framing(self):
        """A body whose framing breaks leaves nothing behind."""
        with self.gateway.client() as client:
            client.send_raw(client.encode(
                "POST", "/orders", JSON + [("Idempotency-Key", "k1"),
                                           ("Transfer-Encoding", "chunked")]) + b"zz\r\n{}\r\n")
            self.assert_told(client.read_response(), 400, "bad-request", retry_after=False)
            self.assertTrue(client.is_closed())
        self.assert_no_receipt()

    def test_a_request_that_came_round_in_a_circle(self):
        """Our own name in Via is a loop."""
        self.refuse(508, "loop-detected", headers=[("Via", "1.0 fred, 1.1 recibo")])


class NoRoute(Guarded):
    def test_a_target_without_a_route(self):
        """Where nothing matches, nothing passes."""
        self.start(routes=[orders()])
        response = self.gateway.post("k1", ORDER, path="/elsewhere")
        self.assert_told(response, 404, "no-route", retry_after=False)
        self.assert_no_receipt()


class NotSent(Guarded):
    """Row 3: not one byte left, so the key is released and a new key is safe."""

    def check(self, end):
        response = self.gateway.post("k1", ORDER)
        self.assert_told(response, 502, "upstream-unreachable", "released", state="released",
                         retry=True, new_key=True, retry_after=ANY)
        operation = self.assert_state(response, "released", end, "proved", attempts=1)
        self.assertEqual(operation["attempts"][0]["bytes_out"], 0)
        return response

    def test_a_refused_connection(self):
        """connect_refused is a proof; the same key then runs, as the same operation."""
        self.start()
        self.upstream.refuse()
        first = self.check("connect_refused")
        self.assertEqual(self.gateway.post("k1", {"order": 8}).status, 422)
        self.upstream.listen_again()
        second = self.gateway.post("k1", ORDER)
        self.assert_passed_on(second, 201, "executed")
        self.assertEqual(second.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assert_state(second, "completed", "answered", sends=1, attempts=2)
        self.assert_replay(second, self.gateway.post("k1", ORDER))

    def test_a_name_that_does_not_resolve(self):
        """dns_failed is a proof."""
        self.start(url="http://no-such-host.invalid:9")
        self.check("dns_failed")
        self.assertEqual(self.upstream.sends, 0)


class Refused(Guarded):
    """Row 4: the status says that nothing ran; it is passed on, the key is free."""

    def test_each_refused_status(self):
        """401 403 421 425 429 are passed on and released; the repeat is sent."""
        self.start()
        for number, status in enumerate((401, 403, 421, 425, 429)):
            with self.subTest(status=status):
                self.upstream.forget()
                key = "k%d" % number
                self.upstream.script(answer(status, [("Retry-After", "9"), ("X-Its-Own", "1"),
                                                     ("WWW-Authenticate", "Basic realm=x")],
                                            b"go away"))
                first = self.gateway.post(key, ORDER)
                self.assert_passed_on(first, status, "released", b"go away")
                self.assertEqual((first.get("Retry-After"), first.get("X-Its-Own"),
                                  first.get("WWW-Authenticate")), ("9", "1", "Basic realm=x"))
                self.assert_state(first, "released", "answered", "declared", sends=1)
                second = self.gateway.post(key, ORDER)
                self.assert_passed_on(second, 201, "executed")
                self.assert_state(second, "completed", "answered", sends=2, attempts=2)

    def test_the_list_is_the_routes_own(self):
        """A route may call another status refused, and then only that."""
        self.start(route={"outcome": {"refused": [409]}})
        self.upstream.script(answer(409, body=b"busy"), answer(401, body=b"who"))
        self.assert_state(self.gateway.post("k1", ORDER), "released", "answered", "declared")
        first = self.gateway.post("k2", ORDER)
        self.assert_state(first, "completed", sends=2)
        self.assert_replay(first, self.gateway.post("k2", ORDER))


class Uncertain(Guarded):
    """Row 5: the upstream's own answer is passed on, and the outcome is unknown."""

    def test_each_unknown_status(self):
        """408 and 5xx are passed on; the repeat is told that nobody knows, and not sent."""
        self.start(route={"breaker": "none"})
        for number, status in enumerate((408, 500, 502, 503, 504, 507, 599)):
            with self.subTest(status=status):
                self.upstream.forget()
                key = "k%d" % number
                self.upstream.script(answer(status, [("Retry-After", "3")], b"oops"))
                first = self.gateway.post(key, ORDER)
                self.assert_passed_on(first, status, "unknown", b"oops")
                self.assertEqual(first.get("Retry-After"), "3")
                operation = self.assert_state(first, "unknown", "answered", sends=1)
                self.assertEqual(operation["attempts"][0]["status"], status)
                self.assert_unknown_repeat(self.gateway.post(key, ORDER))
                self.assertEqual(self.upstream.sends, 1)


class Known(Guarded):
    """Row 6: whatever else is whole is recorded, passed on and replayed."""

    def test_each_kind_of_answer(self):
        """2xx, 3xx, 4xx, 501 and 505 are outcomes; a repeat gets them and is not sent."""
        self.start()
        for number, status in enumerate((200, 201, 202, 204, 205, 299, 300, 301, 302, 303, 307,
                                         400, 404, 409, 410, 412, 422, 499, 501, 505)):
            with self.subTest(status=status):
                self.upstream.forget()
                key = "k%d" % number
                body = b"" if status in (204, 205) else b"\x00 answer %d \xff" % status
                self.upstream.script(answer(status, [("Location", "/elsewhere")], body))
                first = self.gateway.post(key, ORDER)
                self.assert_passed_on(first, status, "executed", body)
                self.assertIsNotNone(first.get("Idempotency-Expires"))
                self.assert_state(first, "completed", "answered", sends=1, attempts=1)
                repeat = self.gateway.post(key, ORDER)
                self.assert_replay(first, repeat)
                self.assertEqual(repeat.get("Location"), "/elsewhere")
                self.assertEqual(self.upstream.sends, 1)


class Rules(Guarded):
    """Row 7: a rule of the route says what an answer means, before the lists do."""

    def test_each_kind_of_rule(self):
        """Status, JSON member, header glob, media type and text each decide."""
        self.start(route={"outcome": {"rules": RULES}, "breaker": "none"})
        text = [("Content-Type", "text/html; charset=utf-8")]
        cases = [
            (answer(200, body={"ok": False}), 200, "released", "released"),
            (answer(200, body={"ok": True}), 200, "executed", "completed"),
            (answer(200, body=b'{"ok":false'), 200, "executed", "completed"),
            (answer(302, [("Location", "/login?next=1")]), 302, "released", "released"),
            (answer(302, [("Location", "/orders/7")]), 302, "executed", "completed"),
            (answer(200, text, b"<p>"), 200, "unknown", "unknown"),
            (answer(503, body=b"the job never started, sorry"), 503, "released", "released"),
            (answer(503, body=b"the job started"), 503, "unknown", "unknown"),
            (answer(500, body={"error": {"code": "duplicate"}}), 500, "executed", "completed"),
            (answer(500, body={"error": {"code": "other"}}), 500, "unknown", "unknown"),
            (answer(202, body={"pending": None}), 202, "unknown", "unknown"),
        ]
        for number, (action, status, outcome, state) in enumerate(cases):
            with self.subTest(number=number):
                self.upstream.script(action)
                response = self.gateway.post("k%d" % number, ORDER)
                self.assert_passed_on(response, status, outcome)
                basis = "declared" if state == "released" else ANY
                operation = self.assert_state(response, state, "answered", basis,
                                              sends=number + 1)
                if number == 0:
                    self.assertIsNotNone(operation["attempts"][0]["line"])


class Lost(Guarded):
    """Row 8: after bytes have left, everything short of a whole answer is in doubt."""

    def check(self, action, status, code, end):
        self.upstream.script(action)
        first = self.gateway.post("k1", ORDER)
        self.assert_told(first, status, code, "unknown", state="unknown", new_key=False,
                         retry_after=False)
        operation = self.assert_state(first, "unknown", end, sends=1)
        self.assertGreater(operation["attempts"][0]["bytes_out"], 0)
        for _ in range(2):
            repeat = self.gateway.post("k1", ORDER)
            self.assert_unknown_repeat(repeat)
            self.assertEqual(repeat.get("Idempotency-Operation"),
                             first.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 1)
        self.assertEqual(self.operation_of(first)["repeats"], 2)

    def test_a_timeout(self):
        """No answer in time is 504."""
        self.start(upstream=SOON)
        self.check(hang(), 504, "upstream-timeout", "answer_timeout")

    def test_a_close(self):
        """A close without an answer is 502."""
        self.start()
        self.check(fin(), 502, "upstream-bad-response", "closed_no_answer")

    def test_a_reset(self):
        """A reset without an answer is 502."""
        self.start()
        self.check(reset(), 502, "upstream-bad-response", "reset_no_answer")

    def test_a_cut_answer(self):
        """Half an answer is no answer, and not a byte of it reaches the caller."""
        self.start()
        self.check(cut(3, 201, body=b"0123456789"), 502, "upstream-bad-response", "cut_answer")

    def test_a_malformed_answer(self):
        """What is not HTTP is 502."""
        self.start()
        self.check(raw(b"hello world\r\n\r\n"), 502, "upstream-bad-response", "bad_answer")


class StoreFails(Guarded):
    """Rule 7: a store that cannot be written means 503 before anything is sent."""

    def test_a_store_that_somebody_else_holds(self):
        """A foreign writer on the file: 503, nothing sent; when it is gone the key runs."""
        self.start()
        done = self.gateway.post("k0", ORDER)
        self.assertEqual(done.status, 201)
        holder = self.hold_the_file()
        response = self.gateway.post("k1", ORDER, timeout=60.0)
        # Nothing was looked up, so nothing is said of a new key.
        self.assert_told(response, 503, "store-unavailable", retry=True, new_key=None)
        self.assertEqual(self.upstream.sends, 1)
        holder.execute("ROLLBACK")
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.assert_replay(done, self.gateway.post("k0", ORDER))
        self.assertEqual(self.upstream.sends, 2)

    def hold_the_file(self):
        holder = sqlite3.connect(self.gateway.store_path, isolation_level=None)
        self.addCleanup(holder.close)
        holder.execute("BEGIN IMMEDIATE")
        return holder

    def test_a_store_that_fails_behind_the_send(self):
        """The answer cannot be put on record: the caller is told so, and it is caught up."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.start(wait(event, answer(201, body=b"made")))
        client = self.use(send_post(self.gateway, "k1", timeout=60.0))
        self.upstream.wait_for(1)
        holder = self.hold_the_file()
        event.set()
        response = client.read_response()
        self.assert_problem(response, 504, "outcome-unknown")
        self.assertEqual(response.get("Idempotency-Status"), "unknown")
        self.assertNotIn("Retry-After", response.headers)
        holder.execute("ROLLBACK")
        self.gateway.wait_state(response.get("Idempotency-Operation"), "completed")
        repeat = self.gateway.post("k1", ORDER)
        self.assertEqual((repeat.status, repeat.body), (201, b"made"))
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed")
        self.assertEqual(self.upstream.sends, 1)


class Unprotected(Guarded):
    def test_an_optional_key(self):
        """required: false: without a key it passes, marked, each time anew."""
        self.start(route={"key": {"required": False}})
        for number in (1, 2):
            response = self.gateway.post(None, ORDER)
            self.assert_passed_on(response, 201, "unprotected")
            self.assertNotIn("Idempotency-Operation", response.headers)
            self.assertEqual(self.upstream.sends, number)
        self.assertEqual(self.gateway.operations(), [])
        first = self.gateway.post("k1", ORDER)
        self.assert_passed_on(first, 201, "executed")
        self.assert_replay(first, self.gateway.post("k1", ORDER))
        self.assertEqual(self.gateway.post("a b", ORDER).status, 400)
        self.assertEqual(self.upstream.sends, 3)


class WithoutUpstream(Guarded):
    def test_the_port_of_nobody(self):
        """A gateway whose upstream never was there still says so properly."""
        self.start(url="http://127.0.0.1:%d" % free_port())
        response = self.gateway.request("GET", "/anything")
        self.assert_told(response, 502, "upstream-unreachable", retry=True, retry_after=ANY)
        self.assertIsInstance(self.upstream, Upstream)


if __name__ == "__main__":
    main()
