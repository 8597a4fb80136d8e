"""Reports about replays: what is kept, how it is framed, how it is marked, what is too large."""

import os
import threading

from bugs_lib import PATIENT, Reports, guarded, memory_peak_bytes, routes
from harness import Gateway, Upstream, answer, chunked, close_delimited, main, raw

KEPT = [("Location", "/orders/17"), ("ETag", 'W/"odd, tag"'), ("X-Request-Id", "req-1"),
        ("Last-Modified", "Tue, 01 Dec 2026 00:00:00 GMT"), ("Link", "</a>; rel=next"),
        ("Content-Type", "application/vnd.order+json"), ("Content-Language", "es"),
        ("X-Odd", "  two  blanks "), ("Vary", "Accept")]
ONCE = [("Set-Cookie", "sid=c00kie-one; HttpOnly"), ("Set-Cookie", "theme=c00kie-two"),
        ("WWW-Authenticate", 'Basic realm="c00kie-realm"'), ("Age", "3"), ("Retry-After", "9"),
        ("Alt-Svc", "h2=:1"), ("RateLimit", "c00kie-limit"), ("Clear-Site-Data", '"cookies"')]
MARK = "Idempotent-Replayed"
BIG_MEMORY_BYTES = 24 << 20  # what a 50 MiB answer may add to the process


def has_sanitizer(binary):
    """A sanitizer's shadow memory is no memory of the product."""
    with open(binary, "rb") as file:
        data = file.read()
    return any(name in data for name in (b"__asan_init", b"__tsan_init"))


class HeaderReports(Reports):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, KEPT + ONCE, b'{"id":17}')))

    def database_bytes(self, gateway):
        data = b""
        for name in os.listdir(gateway.directory):
            if name.startswith("recibo.db"):
                with open(os.path.join(gateway.directory, name), "rb") as file:
                    data += file.read()
        return data

    def test_secrets_of_the_first_answer_are_not_replayed(self):
        """The first caller gets all; the replay has no cookie, no challenge, no old quota."""
        gateway = self.use(Gateway(self.upstream, routes(guarded())))
        first = gateway.post("k", {"order": 1})
        self.assertEqual(first.all("Set-Cookie"), [v for n, v in ONCE if n == "Set-Cookie"])
        for name, _ in ONCE:
            self.assertIn(name, first.headers, first)
        replay = gateway.post("k", {"order": 1})
        self.assert_replay(replay, first)
        for name, value in KEPT:
            self.assertEqual(replay.all(name), [value.strip()], name)
        for name, _ in ONCE:
            self.assertNotIn(name, replay.headers, replay)
        self.assertEqual(self.upstream.sends, 1)

    def test_no_cookie_reaches_the_file(self):
        """Neither an upstream's cookie nor the caller's own lies in the database files."""
        gateway = self.use(Gateway(self.upstream, routes(guarded(
            evidence={"headers": True, "body": True}))))
        gateway.post("k", {"order": "visible-mark"},
                     headers=[("Cookie", "c00kie-three"), ("Authorization", "Bearer c00kie-four")])
        gateway.stop()
        data = self.database_bytes(gateway)
        self.assertIn(b"/orders/17", data)  # the search can find something
        self.assertNotIn(b"c00kie", data)
        self.assertNotIn("c00kie", gateway.log())

    def test_cookies_are_replayed_only_where_the_route_says_so(self):
        """With `set_cookie: true` both cookie lines are part of the replay, in their order."""
        gateway = self.use(Gateway(self.upstream, routes(guarded(replay={"set_cookie": True}))))
        first = gateway.post("k", {"order": 1})
        replay = gateway.post("k", {"order": 1})
        self.assertEqual(replay.all("Set-Cookie"), first.all("Set-Cookie"))
        self.assertEqual(len(replay.all("Set-Cookie")), 2)

    def test_an_allow_list_keeps_only_what_it_names(self):
        """With a list of headers, others are left away; content headers and the body stay."""
        gateway = self.use(Gateway(self.upstream, routes(guarded(replay={"headers": ["etag"]}))))
        first = gateway.post("k", {"order": 1})
        replay = gateway.post("k", {"order": 1})
        self.assert_replay(replay, first)
        for name in ("ETag", "Content-Type", "Content-Language"):
            self.assertEqual(replay.get(name), first.get(name))
        for name in ("Location", "X-Request-Id", "Vary", "Set-Cookie"):
            self.assertNotIn(name, replay.headers)


class FramingReports(Reports):
    """After each replay one more request goes over the same connection."""

    TRAILER = b"X-Checksum: 1\r\nIdempotent-Replayed: true\r\n"
    CASES = {
        "chunked with a trailer": (chunked([b"abc", b"defg"], 201, [("Trailer", "X-Checksum")],
                                           TRAILER), 201, b"abcdefg"),
        "one empty chunk": (chunked([], 200), 200, b""),
        "length and close": (answer(201, [("Connection", "close"), ("Keep-Alive", "timeout=5")],
                                    b"abc", close=True), 201, b"abc"),
        "close-delimited": (close_delimited(200, body=b"to the end"), 200, b"to the end"),
        "named by connection": (answer(201, [("Connection", "X-Hop, keep-alive"),
                                             ("X-Hop", "1")], b"abc"), 201, b"abc"),
        "no content": (answer(204), 204, b""),
        "empty with a length": (answer(200, body=b""), 200, b""),
        "not modified": (raw(b"HTTP/1.1 304 Not Modified\r\nETag: \"1\"\r\n\r\n"), 304, b""),
        "not modified with a length": (raw(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n"
                                           b"\r\n"), 304, b""),
        "HTTP/1.0": (raw(b"HTTP/1.0 201 Created\r\nContent-Length: 3\r\n\r\nabc"), 201, b"abc"),
        "without a reason": (raw(b"HTTP/1.1 201\r\nContent-Length: 3\r\n\r\nabc"), 201, b"abc"),
    }
    HOP = ("Transfer-Encoding", "Trailer", "Keep-Alive", "X-Checksum", "X-Hop", "TE", "Upgrade")

    def test_each_replay_is_framed_anew(self):
        """Whatever framed the first answer, the replay is whole, the connection in step."""
        upstream = self.use(Upstream(answer(201, body=b"the next one")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        for number, (name, (action, status, body)) in enumerate(self.CASES.items()):
            with self.subTest(case=name):
                upstream.script(action)
                key, request = "frame-%d" % number, {"order": number}
                with gateway.client() as client:
                    def post(key, request, client=client):
                        return client.request("POST", "/orders", [("Idempotency-Key", key)],
                                              request)
                    first = post(key, request)
                    self.assertEqual((first.status, first.body), (status, body), first)
                    for _ in range(2):
                        replay = post(key, request)
                        self.assert_replay(replay, first)
                        for hop in self.HOP:
                            self.assertNotIn(hop, replay.headers, replay)
                        wanted = [] if status in (204, 304) else [str(len(body))]
                        self.assertEqual(replay.all("Content-Length"), wanted, replay)
                    after = post("after-" + key, {"order": "after"})
                    self.assertEqual((after.status, after.body), (201, b"the next one"))
        self.assertEqual(upstream.sends, 2 * len(self.CASES))

    def test_a_repeat_over_http_1_0_gets_what_it_can_read(self):
        """A chunked first answer is replayed to an HTTP/1.0 caller with a plain length."""
        upstream = self.use(Upstream(chunked([b"abc", b"def"], 201)))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        gateway.post("old", {})
        with gateway.client() as client:
            client.send_raw(b"POST /orders HTTP/1.0\r\nIdempotency-Key: old\r\nContent-Type: "
                            b"application/json\r\nContent-Length: 2\r\n\r\n{}")
            replay = client.read_response()
            self.assertEqual((replay.status, replay.body), (201, b"abcdef"))
            self.assertNotIn("Transfer-Encoding", replay.headers)
            self.assertTrue(client.is_closed())
        self.assertEqual(upstream.sends, 1)

    def test_conditions_and_ranges_of_a_repeat_are_not_evaluated(self):
        """A repeat with If-None-Match by another client, Range or other Accept gets the replay."""
        upstream = self.use(Upstream(answer(201, [("ETag", '"1"')], b"0123456789")))
        gateway = self.use(Gateway(upstream, routes(guarded(fingerprint={"headers": []}))))
        first = gateway.post("k", {})
        for headers in ([("Range", "bytes=4-")], [("If-None-Match", '"1"')], [("If-Match", '"2"')],
                        [("Accept", "text/none")], [("Prefer", "return=minimal")],
                        [("User-Agent", "other"), ("X-Stainless-Retry-Count", "2")]):
            with self.subTest(headers=headers):
                self.assert_replay(gateway.post("k", {}, headers=headers), first)
        self.assertEqual(upstream.sends, 1)


class MarkReports(Reports):
    def test_only_what_comes_from_a_receipt_is_marked(self):
        """The first answer, even a failure, is unmarked; each repeat is marked and identical."""
        upstream = self.use(Upstream(answer(402, [("Content-Type", "text/plain")], b"pay \xff!")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        first = gateway.post("k", {})
        self.assertEqual((first.status, first.body), (402, b"pay \xff!"))
        self.assertNotIn(MARK, first.headers)
        self.assertEqual(first.get("Idempotency-Status"), "executed")
        for _ in range(2):
            self.assert_replay(gateway.post("k", {}), first)
        self.assertEqual(upstream.sends, 1)

    def test_a_mark_of_others_is_dropped(self):
        """An upstream's and a client's own mark changes nothing, in any spelling, on any route."""
        forged = [(MARK, "true"), (MARK.lower(), "yes"), ("Idempotency-Status", "replayed"),
                  ("Idempotency-Operation", "op_forged"), ("Idempotency-Expires", "never")]
        upstream = self.use(Upstream(answer(200, forged + [("X-Kept", "1")], b"x")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        for _ in range(2):
            first = gateway.post("k", {}, headers=[(MARK, "true")])
        self.assert_replay(first, first)
        fresh = gateway.post("k2", {}, headers=[(MARK, "true")])
        self.assertNotIn(MARK, fresh.headers)
        self.assertEqual(fresh.all("Idempotency-Status"), ["executed"])
        self.assertEqual(len(fresh.all("Idempotency-Operation")), 1)
        self.assertNotIn("op_forged", str(fresh.headers))
        self.assertEqual(fresh.get("X-Kept"), "1")
        passed = gateway.request("GET", "/other")
        self.assertNotIn(MARK, passed.headers, passed)
        self.assertNotIn("op_forged", str(passed.headers))

    def test_refusals_are_not_marked(self):
        """A problem about a receipt is Recibo's word, not a replay."""
        upstream = self.use(Upstream(lambda exchange: False))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        for response in (gateway.post("k", {}), gateway.post("k", {}),
                         gateway.post("k", {"x": 1}), gateway.post(None, {})):
            self.assertNotIn(MARK, response.headers, response)
            self.assertGreaterEqual(response.status, 400)
            problem = response.json()  # some libraries look for `error`, not at the status
            self.assertEqual(problem["error"]["code"], problem["code"])
            self.assertEqual(problem["error"]["message"], problem["detail"])
            self.assertTrue(problem["error"]["type"].endswith("_error"), problem)


class SizeReports(Reports):
    LIMIT = 64 << 10

    def gateway_with(self, upstream):
        return self.use(Gateway(upstream, routes(
            guarded(replay_body_max="64KiB"), timeouts=PATIENT)))

    def assert_not_kept(self, response, status):
        problem = self.assert_problem(response, 409, "result-unavailable")
        self.assertTrue(problem["executed"])
        self.assertFalse(problem["safe_new_key"])
        self.assertEqual(problem["answer_status"], status)

    def test_the_limit_of_what_is_kept(self):
        """At the limit it is replayed; a byte over it, it is told but never sent again."""
        upstream = self.use(Upstream())
        gateway = self.gateway_with(upstream)
        for extra in (-1, 0, 1):
            for name, make in (("length", lambda body: answer(201, body=body)),
                               ("chunked", lambda body: chunked([body[:9], body[9:]], 201)),
                               ("close", lambda body: close_delimited(201, body=body))):
                with self.subTest(extra=extra, framing=name):
                    body = os.urandom(self.LIMIT + extra)
                    sends = upstream.sends
                    upstream.script(make(body))
                    key = "size%d-%s" % (extra, name)
                    first = gateway.post(key, {"order": key})
                    self.assertEqual(first.status, 201)
                    self.assertEqual(first.body, body)
                    for _ in range(2):
                        repeat = gateway.post(key, {"order": key})
                        if extra <= 0:
                            self.assert_replay(repeat, first)
                        else:
                            self.assert_not_kept(repeat, 201)
                    self.assertEqual(upstream.sends, sends + 1)
                    operation = self.operation_of(gateway, key)
                    self.assertEqual(operation["state"], "completed")

    def test_a_huge_answer_does_not_grow_the_process(self):
        """50 MiB in chunks: the caller gets all of it, memory stays flat, nothing is re-sent."""
        piece = os.urandom(256 << 10)
        upstream = self.use(Upstream(chunked([piece] * 200, 200)))
        gateway = self.gateway_with(upstream)
        before = memory_peak_bytes(gateway.process.pid)
        first = gateway.post("huge", {"order": 1}, timeout=60)
        self.assertEqual(first.body, piece * 200)
        grown = memory_peak_bytes(gateway.process.pid) - before
        if not has_sanitizer(gateway.binary):
            self.assertLess(grown, BIG_MEMORY_BYTES)
        self.assert_not_kept(gateway.post("huge", {"order": 1}), 200)
        self.assertEqual(upstream.sends, 1)

    def test_an_answer_over_the_hard_limit_is_an_unknown(self):
        """Beyond answer_body_max the call is cut off, told, kept as unknown, and never re-sent."""
        upstream = self.use(Upstream(chunked([b"x" * 65536] * 64, 200)))
        gateway = self.use(Gateway(upstream, routes(
            guarded(), timeouts=PATIENT, limits={"answer_body_max": "1MiB"})))
        self.assert_problem(gateway.post("over", {"order": 1}), 502, "upstream-bad-response")
        self.assert_unknown(gateway, "over", "answer_too_large")
        self.assert_refused_unknown(gateway.post("over", {"order": 1}))
        self.assertEqual(upstream.sends, 1)

    def test_a_large_answer_to_a_caller_that_went_is_on_record(self):
        """The caller leaves before a large answer is through: completed, and not sent again."""
        release = threading.Event()
        upstream = self.use(Upstream())

        def act(exchange):
            release.wait(30)
            return chunked([b"y" * 65536] * 32, 200)(exchange)
        upstream.default = act
        gateway = self.gateway_with(upstream)
        client = self.start_post(gateway, "gone", {"order": 1})
        upstream.wait_for(1)
        client.reset()
        release.set()
        self.wait_key_state(gateway, "gone", "completed")
        self.assert_not_kept(gateway.post("gone", {"order": 1}), 200)
        self.assertEqual(upstream.sends, 1)


if __name__ == "__main__":
    main()
