"""Reports about request framing: two lengths, odd numbers, and what hides behind them."""

from bugs_lib import Reports, guarded, raw_answer, routes
from harness import Gateway, Upstream, answer, main, rest

HIDDEN = b"GET /admin HTTP/1.1\r\nHost: h\r\n\r\n"
BODY = b'{"a":1}'
LIMIT = 4096


def post(fields, body, path=b"/orders", version=b"HTTP/1.1", method=b"POST", key=b"k"):
    """A request whose framing fields are given as bytes, one line each."""
    lines = [b"%s %s %s" % (method, path, version), b"Host: h", b"Idempotency-Key: " + key,
             b"Content-Type: application/json", *fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunk(data):
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


CHUNKED = b"Transfer-Encoding: chunked"
BOTH = {
    "length first": [b"Content-Length: 5", CHUNKED],
    "chunked first": [CHUNKED, b"Content-Length: 5"],
    "a right length": [b"Content-Length: 17", CHUNKED],
    "length zero": [b"Content-Length: 0", CHUNKED],
    "other case": [b"content-length: 5", b"TRANSFER-ENCODING: Chunked"],
    "far apart": [b"Content-Length: 5", *[b"X-%d: 1" % i for i in range(30)], CHUNKED],
}
CODINGS = {
    "identity too": [b"Transfer-Encoding: identity, chunked"],
    "gzip too": [b"Transfer-Encoding: gzip, chunked"],
    "chunked twice": [b"Transfer-Encoding: chunked, chunked"],
    "two lines": [CHUNKED, CHUNKED],
    "two lines with identity": [CHUNKED, b"Transfer-Encoding: identity"],
    "not last": [b"Transfer-Encoding: chunked, gzip"],
    "another word": [b"Transfer-Encoding: xchunked"],
    "with a parameter": [b"Transfer-Encoding: chunked;q=1"],
    "empty": [b"Transfer-Encoding:"],
    "a space before the colon": [b"Transfer-Encoding : chunked"],
    "a tab in the name": [b"Transfer-Encoding\t: chunked"],
    "a control before the value": [b"Transfer-Encoding: \x0bchunked"],
    "quoted": [b'Transfer-Encoding: "chunked"'],
    "folded": [b"Transfer-Encoding:\r\n chunked"],
    "hidden behind a bare LF": [b"X: y\nTransfer-Encoding: chunked"],
    "hidden behind a bare CR": [b"X: y\rTransfer-Encoding: chunked"],
}
LENGTHS = [b"+7", b"-7", b"0x7", b"7 7", b"7,7", b"7, 7", b"7;", b"7;x=1", b"", b" ", b"7.0",
           b"7e0", b"\x0b7", b"7\x0c", b"7\x00", b"\xb27", b"0b111", b"0o7", b"7_0", b"%37",
           b"seven", b"'7'", b'"7"', b"7\r\n 7"]
HUGE = [b"4294967303", b"18446744073709551623", b"9223372036854775808", b"18446744073709551615",
        b"99999999999999999999999999999999", b"2147483655", b"1" * 500]
CHUNK_LINES = {
    "a sign": b"+7\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a minus": b"-7\r\n" + BODY + b"\r\n0\r\n\r\n",
    "0x": b"0x7\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a space before": b" 7\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a space after": b"7 \r\n" + BODY + b"\r\n0\r\n\r\n",
    "no size": b"\r\n" + BODY + b"\r\n0\r\n\r\n",
    "an extension without a size": b";x\r\n" + BODY + b"\r\n0\r\n\r\n",
    "bare LF": b"7\n" + BODY + b"\r\n0\r\n\r\n",
    "bare LF after the data": b"7\r\n" + BODY + b"\n0\r\n\r\n",
    "too little data": b"6\r\n" + BODY + b"\r\n0\r\n\r\n",
    "64 bits over": b"10000000000000007\r\n" + BODY + b"\r\n0\r\n\r\n",
    "17 digits": b"00000000000000007\r\n" + BODY + b"\r\n0\r\n\r\n",
    "no digits": b"g\r\n" + BODY + b"\r\n0\r\n\r\n",
    "a negative wrap": b"ffffffffffffffff\r\n" + BODY + b"\r\n0\r\n\r\n",
}


class FramingReports(Reports):
    """Every broken framing: refused, connection closed, nothing sent, nothing read as a request."""

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body=b"done")))
        unsafe = rest(name="unsafe", match={"methods": ["POST"], "path": "/unsafe"})
        self.gateway = self.use(Gateway(self.upstream, routes(
            guarded(request_body_max="4KiB"), unsafe)))

    def assert_refused(self, data, statuses=(400,)):
        response, after = raw_answer(self.gateway, data)
        self.assertIn(response.status, statuses, response)
        self.assertEqual(response.get("Content-Type"), "application/problem+json")
        self.assertEqual(response.get("Connection"), "close")
        self.assertIsNotNone(after, "the connection stayed open")
        self.assertEqual(after, b"", "something was answered after the refusal")
        self.assertEqual(len(self.upstream.heads), 0)

    def on_both_routes(self, name, fields, body, statuses=(400,)):
        for path in (b"/orders", b"/unsafe"):
            with self.subTest(case=name, path=path):
                self.assert_refused(post(fields, body + HIDDEN, path), statuses)

    def tearDown(self):
        self.assertEqual(self.gateway.operations(), [])
        response = self.gateway.post("alive", {"order": 1})
        self.assertEqual(response.status, 201, response)

    def test_length_and_chunked_together(self):
        """Content-Length with Transfer-Encoding is refused in every order and spelling."""
        for name, fields in BOTH.items():
            self.on_both_routes(name, fields, chunk(BODY))

    def test_a_second_length(self):
        """Two lengths, equal or not, in one line or two, are refused."""
        for first, second in ((b"7", b"8"), (b"8", b"7"), (b"0", b"7"), (b"7", b"0"), (b"7", b"7"),
                              (b"7", b"07"), (b"7", b""), (b"", b"7")):
            fields = [b"Content-Length: " + first, b"Content-Length: " + second]
            self.on_both_routes((first, second), fields, BODY)
            self.on_both_routes((first, second), [fields[0], b"X: 1", fields[1].lower()], BODY)
        for value in (b"7, 7", b"7,7", b"7, 8", b"7,", b",7"):
            self.on_both_routes(value, [b"Content-Length: " + value], BODY)

    def test_other_codings(self):
        """Only a single `chunked` is a framing; everything else is 400 or 501 and a close."""
        for name, fields in CODINGS.items():
            self.on_both_routes(name, fields, chunk(BODY), (400, 501))

    def test_odd_numbers(self):
        """A length is plain digits: signs, bases, blanks, lists and other bytes are refused."""
        for value in LENGTHS:
            self.on_both_routes(value, [b"Content-Length: " + value], BODY)
        for field in (b"Content-Length : 7", b"Content-Length\t: 7", b" Content-Length: 7",
                      b"Content-Length: 7\n", b"Content_Length: 7\r\nContent-Length: +7"):
            self.on_both_routes(field, [field], BODY)

    def test_numbers_too_large(self):
        """A length over the limit, or over 64 bits, is refused at once, never wrapped."""
        for value in HUGE:
            with self.subTest(value=value):
                self.assert_refused(post([b"Content-Length: " + value], BODY + HIDDEN), (400, 413))

    def test_a_length_just_over_the_limit(self):
        """A body one byte too long gets 413; its bytes are dropped and never read as a request."""
        body = HIDDEN + b"x" * (LIMIT + 1 - len(HIDDEN))
        with self.gateway.client() as client:
            client.send_raw(post([b"Content-Length: %d" % len(body)], body))
            response = client.read_response("POST")
            self.assert_problem(response, 413, "content-too-large")
            if response.get("Connection") == "close":
                self.assertTrue(client.is_closed())
            else:
                client.send_raw(b"GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
                self.assertEqual(client.read_response().status, 201)
        self.assertEqual([r.target for r in self.upstream.heads if r.target != "/next"], [])

    def test_broken_chunks(self):
        """A chunk line is 1 to 16 hex digits and CRLF; anything else is refused."""
        for name, body in CHUNK_LINES.items():
            with self.subTest(case=name):
                self.assert_refused(post([CHUNKED], body + HIDDEN), (400, 413))

    def test_chunked_in_http_1_0(self):
        """HTTP/1.0 has no transfer coding: refused, not guessed."""
        self.assert_refused(post([CHUNKED], chunk(BODY) + HIDDEN, version=b"HTTP/1.0"))
        self.assert_refused(post([CHUNKED, b"Content-Length: 7"], chunk(BODY) + HIDDEN,
                                 version=b"HTTP/1.0"))

    def test_chunks_beyond_the_limit(self):
        """A chunked body that grows over the limit gets 413, and its rest is no request."""
        body = b"".join(b"400\r\n" + b"x" * 1024 + b"\r\n" for _ in range(5))
        response, after = raw_answer(self.gateway, post([CHUNKED], body + b"0\r\n\r\n" + HIDDEN))
        self.assert_problem(response, 413, "content-too-large")
        self.assertNotIn(b"/admin", [r.target.encode() for r in self.upstream.requests])
        if response.get("Connection") == "close":
            self.assertEqual(after, b"")


class LegalReports(Reports):
    """What is legal, though unusual, arrives re-framed; what follows it is the next request."""

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body=b"done")))
        self.gateway = self.use(Gateway(self.upstream, routes(guarded())))

    def send(self, data):
        with self.gateway.client() as client:
            client.send_raw(data)
            return client.read_response("POST")

    def test_the_upstream_sees_a_length_made_anew(self):
        """Leading zeros, tabs around the value, and chunks arrive as one plain Content-Length."""
        for number, (fields, body) in enumerate((
                ([b"Content-Length: 07"], BODY), ([b"Content-Length: 0000000000000000000000007"],
                                                  BODY),
                ([b"Content-Length:\t7"], BODY), ([b"Content-Length: 7 \t "], BODY),
                ([b"Content-Length:7"], BODY), ([b"transfer-encoding: CHUNKED"], chunk(BODY)),
                ([CHUNKED], b'1\r\n{\r\n06;x="y\r"\r\n"a":1}\r\n0\r\n\r\n'.replace(b"\r\"", b"\"")),
                ([CHUNKED], b"7\r\n" + BODY + b"\r\n000\r\nX-Trailer: 1\r\n\r\n"))):
            with self.subTest(fields=fields, body=body):
                response = self.send(post(fields, body, key=b"k%d" % number))
                if response.status == 400:  # a padded length may be refused as well
                    self.assertIn(b"Content-Length: 0", fields[0][:17])
                    continue
                self.assertEqual(response.status, 201, response)
                request = self.upstream.last
                self.assertEqual(request.body, BODY)
                self.assertEqual(request.headers.all("Content-Length"), ["7"])
                self.assertNotIn("Transfer-Encoding", request.headers)
                self.assertNotIn("X-Trailer", request.headers)

    def test_framing_does_not_make_another_request(self):
        """The same bytes with a length and in other chunks are one operation, sent once."""
        first = self.send(post([b"Content-Length: 7"], BODY))
        for body in (chunk(BODY), b"1\r\n{\r\n6\r\n\"a\":1}\r\n0\r\n\r\n"):
            self.assert_replay(self.send(post([CHUNKED], body)), first)
        self.assertEqual(self.upstream.sends, 1)

    def test_a_body_on_get_is_never_the_next_request(self):
        """A body hidden in GET, HEAD or DELETE is consumed or refused, never run as a request."""
        for method in (b"GET", b"HEAD", b"OPTIONS", b"DELETE"):
            with self.subTest(method=method):
                head = b"%s /other HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (
                    method, len(HIDDEN))
                with self.gateway.client() as client:
                    client.send_raw(head + HIDDEN)
                    client.half_close()
                    client.read_response(method.decode())
                    client.read_to_end()
                self.assertEqual([r.target for r in self.upstream.heads if r.target == "/admin"],
                                 [])

    def test_pipelined_requests_are_answered_in_their_order(self):
        """Three requests in one segment get three answers in order, each sent once."""
        self.upstream.on_request = lambda request: answer(201, body=request.body)
        bodies = [b'{"n":%d}' % n for n in range(3)]
        data = b"".join(post([b"Content-Length: %d" % len(body)], body, key=b"p%d" % n)
                        for n, body in enumerate(bodies))
        with self.gateway.client() as client:
            client.send_raw(data + data)
            for _ in range(2):
                for body in bodies:
                    self.assertEqual(client.read_response("POST").body, body)
        self.assertEqual([r.body for r in self.upstream.requests], bodies)


if __name__ == "__main__":
    main()
