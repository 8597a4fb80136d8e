"""Reports about Expect: 100-continue and interim answers: stalls, doubles, early ends."""

import subprocess
import tempfile

from bugs_lib import PATIENT, Reports, guarded, routes
from harness import (Gateway, Upstream, answer, chunked, encode_answer, interim, main, raw, reset,
                     rest)

BIG = 2 << 20
QUICK_S = 20  # a stall waits for the caller's own second or for ever; this is neither


class ExpectReports(Reports):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body=b"done")))
        unsafe = rest(name="unsafe", match={"methods": ["POST"], "path": "/unsafe"})
        self.gateway = self.use(Gateway(self.upstream, routes(
            guarded(request_body_max="4MiB"), unsafe, timeouts=PATIENT)))

    def head(self, key="k", length=7, expect="100-continue", path="/orders", extra=b""):
        return (b"POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\nIdempotency-Key: %s\r\nExpect: %s\r\n%s\r\n"
                % (path.encode(), length, key.encode(), expect.encode(), extra))

    def test_exactly_one_100_then_the_answer(self):
        """The caller that waits is told to go on once, on guarded and on pass routes."""
        for number, path in enumerate(("/orders", "/unsafe")):
            for spelling in ("100-continue", "100-Continue"):
                with self.subTest(path=path, spelling=spelling):
                    with self.gateway.client(timeout=QUICK_S) as client:
                        key = "one-%d-%s" % (number, spelling)
                        client.send_raw(self.head(key, path=path, expect=spelling))
                        first = client.reader.until(b"\r\n\r\n")
                        self.assertTrue(first.startswith(b"HTTP/1.1 100 "), first)
                        client.send_raw(b'{"a":1}')
                        response = client.read_response("POST")
                        self.assertEqual(response.status, 201, response)
                        self.assertEqual(response.interim, [])
                    request = self.upstream.last
                    self.assertEqual(request.body, b'{"a":1}')
                    if path == "/orders":
                        self.assertNotIn("Expect", request.headers)
        self.assertEqual(self.upstream.sends, 4)

    def test_a_caller_that_does_not_wait_is_served_as_well(self):
        """A body sent along with the expectation is taken; at most one 100 precedes the answer."""
        with self.gateway.client(timeout=QUICK_S) as client:
            for number in range(3):
                client.send_raw(self.head("eager-%d" % number) + b'{"a":1}')
                response = client.read_response("POST")
                self.assertEqual(response.status, 201)
                self.assertLessEqual(len(response.interim), 1)
        self.assertEqual(self.upstream.sends, 3)

    def test_a_refusal_comes_before_the_body_is_asked_for(self):
        """Key, length, type and route are judged first: the final answer instead of a 100."""
        cases = [(self.head("bad key"), 400), (self.head("k", length=8 << 20), 413),
                 (self.head("k", path="/nowhere"), 405),
                 (self.head("k", extra=b"Content-Encoding: gzip\r\n"), 415),
                 (self.head("k", extra=b"Idempotency-Key: k\r\n"), 400)]
        for data, status in cases:
            with self.subTest(status=status, data=data):
                with self.gateway.client(timeout=QUICK_S) as client:
                    client.send_raw(data)
                    response = client.read_response("POST")
                    self.assertEqual(response.status, status, response)
                    self.assertEqual(response.interim, [])
        self.assertEqual(self.upstream.sends, 0)

    def test_a_repeat_is_answered_like_any_other(self):
        """A completed key repeated with an expectation: 100, body, replay; nothing is sent."""
        first = self.gateway.post("again", b'{"a":1}', headers=[("Content-Type",
                                                                 "application/json")])
        with self.gateway.client(timeout=QUICK_S) as client:
            client.send_raw(self.head("again"))
            client.reader.until(b"\r\n\r\n")
            client.send_raw(b'{"a":1}')
            self.assert_replay(client.read_response("POST"), first)
        self.assertEqual(self.upstream.sends, 1)

    def test_other_expectations_fail(self):
        """Anything but 100-continue is 417, alone or in a list; nothing is sent."""
        for expect in ("something-else", "100-continue, x", "200-ok", "100-continues", "x=100"):
            with self.subTest(expect=expect):
                with self.gateway.client(timeout=QUICK_S) as client:
                    client.send_raw(self.head("k", expect=expect) + b'{"a":1}')
                    self.assert_problem(client.read_response("POST"), 417, "expectation-failed")
        self.assertEqual(self.upstream.sends, 0)

    def test_http_1_0_gets_no_interim_answer(self):
        """An expectation in HTTP/1.0 is ignored: the answer alone."""
        with self.gateway.client(timeout=QUICK_S) as client:
            client.send_raw(self.head("old").replace(b"HTTP/1.1", b"HTTP/1.0") + b'{"a":1}')
            response = client.read_response("POST")
        self.assertEqual((response.status, response.interim), (201, []))

    def test_a_caller_that_never_sends_its_body(self):
        """It was told to go on and left: nothing was sent, and no receipt is there."""
        client = self.gateway.client(timeout=QUICK_S)
        client.send_raw(self.head("left"))
        client.reader.until(b"\r\n\r\n")
        client.close()
        self.assertEqual(self.gateway.post("after", {"a": 1}).status, 201)
        self.assertEqual(self.gateway.operations(key="left"), [])
        self.assertEqual(self.upstream.sends, 1)

    def test_curl_sends_two_megabytes_without_a_stall(self):
        """curl, which waits for a 100 before a large body, is told at once and sent on once."""
        body = b'{"order":"' + b"x" * BIG + b'"}'
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            command = ["curl", "-sS", "-v", "--expect100-timeout", "60", "--max-time", "30",
                       "-H", "Idempotency-Key: curl-big", "-H", "Content-Type: application/json",
                       "-H", "Expect: 100-continue", "--data-binary", "@" + file.name,
                       "http://127.0.0.1:%d/orders" % self.gateway.port]
            for _ in range(2):
                done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                      check=False)
                self.assertEqual((done.returncode, done.stdout), (0, "done"), done.stderr[-2000:])
                self.assertEqual(done.stderr.count("HTTP/1.1 100 "), 1, done.stderr[-2000:])
        self.assertEqual(self.upstream.sends, 1)
        self.assertEqual(self.upstream.last.body, body)


class InterimReports(Reports):
    """Interim answers of an upstream are read and dropped; early final ones count."""

    def setUp(self):
        self.upstream = self.use(Upstream(answer(200, body=b"second")))
        self.gateway = self.use(Gateway(self.upstream, routes(
            guarded(request_body_max="8MiB"), timeouts=PATIENT)))

    def test_an_interim_answer_is_never_the_outcome(self):
        """100, 102, 103, several of them, in one segment or apart: the final answer is kept."""
        final = answer(201, [("X-Final", "1")], b"final")
        hints = [("Link", "</style.css>; rel=preload"), ("Content-Length", "99")]
        whole = (encode_answer(103, hints) + encode_answer(100) + encode_answer(102)
                 + encode_answer(201, [("X-Final", "1")], b"final"))
        cases = [interim(100, then=final), interim(102, then=final), interim(103, hints, final),
                 interim(100, then=interim(103, hints, interim(199, then=final))),
                 raw(whole), interim(103, then=chunked([b"fi", b"nal"], 201, [("X-Final", "1")]))]
        for number, action in enumerate(cases):
            with self.subTest(number=number):
                sends = self.upstream.sends
                self.upstream.script(action)
                key = "interim-%d" % number
                first = self.gateway.post(key, {"order": number})
                self.assertEqual((first.status, first.body), (201, b"final"), first)
                self.assertEqual(first.interim, [])
                self.assertEqual(first.get("X-Final"), "1")
                replay = self.gateway.post(key, {"order": number})
                self.assert_replay(replay, first)
                self.assertNotIn("Link", replay.headers)
                self.assertEqual(self.upstream.sends, sends + 1)

    def test_interim_answers_without_end_are_an_unknown(self):
        """An upstream that sends nothing but interim answers is cut off, and kept as unknown."""
        self.upstream.script(raw(encode_answer(102) * 500))
        response = self.gateway.post("endless", {"order": 1})
        self.assert_problem(response, 502, "upstream-bad-response")
        self.assert_unknown(self.gateway, "endless", "bad_answer")
        self.assert_refused_unknown(self.gateway.post("endless", {"order": 1}))
        self.assertEqual(self.upstream.sends, 1)

    def test_an_early_final_answer_is_passed_on_and_kept(self):
        """413 before the body was read: handed over, recorded by the table, not repeated."""
        early = answer(413, [("Connection", "close")], b"too much for me", close=True)
        self.upstream.on_head = lambda request: early
        body = {"order": "x" * (4 << 20)}
        first = self.gateway.post("early", body)
        if first.status == 413:
            self.assertEqual(first.body, b"too much for me")
            self.upstream.on_head = None
            self.assert_replay(self.gateway.post("early", body), first)
        else:  # the upstream's close may reset the answer away: then nobody knows
            self.assert_problem(first, 502, "upstream-bad-response")
            self.upstream.on_head = None
            self.assert_refused_unknown(self.gateway.post("early", body))
        self.assertEqual(len(self.upstream.heads), 1)
        self.assertEqual(self.upstream.sends, 0)

    def test_an_early_final_answer_of_an_upstream_that_goes_on_reading(self):
        """A final answer before the body, from one who still reads: passed on and kept for sure."""
        def act(exchange):
            exchange.send(encode_answer(413, [], b"too much"))
            try:
                exchange.reader.to_end()
            except AssertionError:
                pass
            return False
        self.upstream.on_head = lambda request: act
        body = {"order": "x" * (4 << 20)}
        first = self.gateway.post("polite", body)
        self.assertEqual((first.status, first.body), (413, b"too much"), first)
        self.upstream.on_head = None
        self.assert_replay(self.gateway.post("polite", body), first)
        self.assertEqual(len(self.upstream.heads), 1)

    def test_a_reset_while_the_body_goes_out_is_an_unknown(self):
        """Bytes had left when the upstream reset: unknown, not released, not sent again."""
        self.upstream.on_head = lambda request: reset()
        body = {"order": "x" * (4 << 20)}
        self.assert_problem(self.gateway.post("cut", body), 502, "upstream-bad-response")
        self.upstream.on_head = None
        self.assert_unknown(self.gateway, "cut")
        self.assert_refused_unknown(self.gateway.post("cut", body))
        self.assertEqual((len(self.upstream.heads), self.upstream.sends), (1, 0))


if __name__ == "__main__":
    main()
