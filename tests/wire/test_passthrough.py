"""A passing route is a plain streaming proxy: bodies of any size flow both ways in
bounded memory, whoever is slow holds the other back, and what breaks on one side is
seen as broken on the other.
"""

import hashlib
import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Background, Guarded  # noqa: E402
from harness import (Closed, answer, chunked, close_delimited, cut, encode_head,  # noqa: E402
                     fin, main, orders, pause, raw, reset, rest, stall, wait)

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
MIB = 1 << 20
LARGE = 100 * MIB
PIECE = bytes(range(256)) * 256
MEMORY_MAX_KIB = 64 * 1024
HELD_BACK = 40 * MIB  # what buffers of two connections may hold is far less
STILL_TICKS = 25


class Swallow:
    """Reads a request's body without keeping it; counts, and digests what was framed."""

    def __init__(self, then=None, before=None):
        self.count, self.digest = 0, hashlib.sha256()
        self.then, self.before = then or answer(200, body=b"read"), before

    def __call__(self, exchange):
        if self.before is not None:
            self.before.wait(60.0)
        length = exchange.request.get("Content-Length")
        left = int(length) if length is not None else None
        while left is None or left > 0:
            size = left
            if left is None:
                size = int(exchange.reader.until(b"\r\n").split(b";")[0], 16)
                if size == 0:
                    exchange.reader.until(b"\r\n")
                    break
            self.take(exchange, size)
            if left is None:
                exchange.reader.exactly(2)
            else:
                left = 0
        return self.then(exchange)

    def take(self, exchange, size):
        while size > 0:
            if not exchange.reader.buffer:
                exchange.reader.buffer += exchange.reader.some()
            piece = bytes(exchange.reader.buffer[:size])
            del exchange.reader.buffer[:size]
            self.digest.update(piece)
            self.count += len(piece)
            size -= len(piece)


class Pour:
    """An answer of `size` bytes, with a length or in chunks; counts what was taken."""

    def __init__(self, size, in_chunks=False):
        self.size, self.in_chunks, self.count = size, in_chunks, 0

    def __call__(self, exchange):
        framing = ("Transfer-Encoding", "chunked") if self.in_chunks else (
            "Content-Length", str(self.size))
        exchange.send(encode_head("HTTP/1.1 200 OK", [framing]))
        exchange.sock.settimeout(60.0)
        while self.count < self.size:
            if self.in_chunks:
                exchange.sock.sendall(b"%x\r\n%s\r\n" % (len(PIECE), PIECE))
            else:
                exchange.sock.sendall(PIECE)
            self.count += len(PIECE)
        if self.in_chunks:
            exchange.send(b"0\r\n\r\n")
        return True


def wait_still(count):
    """Polls until the count has stood still for a while; -> the count."""
    last, still, until = count(), 0, time.monotonic() + 30.0
    while still < STILL_TICKS:
        pause()
        seen = count()
        still = still + 1 if seen == last and seen > 0 else 0
        last = seen
        if time.monotonic() > until:
            raise AssertionError("it never stood still: %d" % last)
    return last


def digest_of(size):
    digest = hashlib.sha256()
    for _ in range(size // len(PIECE)):
        digest.update(PIECE)
    return digest.hexdigest()


class Passing(Guarded):
    def setUp(self):
        self.start(answer(200, body=b"ok"),
                   routes=[orders(), rest(match={"path": "/*", "methods": METHODS})])

    def peak_kib(self):
        with open("/proc/%d/status" % self.gateway.process.pid, encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1))

    def read_counted(self, client, size=None):
        """Reads a body piece by piece; -> hex digest."""
        digest, left = hashlib.sha256(), size
        while left:
            piece = client.reader.some()
            self.assertLessEqual(len(piece), left)
            digest.update(piece)
            left -= len(piece)
        return digest.hexdigest()

    def read_chunks(self, client):
        digest = hashlib.sha256()
        while True:
            size = int(client.reader.until(b"\r\n"), 16)
            digest.update(client.reader.exactly(size))
            self.assertEqual(client.reader.exactly(2), b"\r\n")
            if size == 0:
                return digest.hexdigest()

    def read_head(self, client):
        return client.reader.until(b"\r\n\r\n")


class Large(Passing):
    def test_a_large_upload(self):
        """100 MiB up, with a length and in chunks: every byte arrives, memory stays flat."""
        for in_chunks in (False, True):
            with self.subTest(in_chunks=in_chunks), self.gateway.client(timeout=60.0) as client:
                swallow = Swallow()
                self.upstream.on_head = lambda request, swallow=swallow: swallow
                framing = ("Transfer-Encoding", "chunked") if in_chunks else (
                    "Content-Length", str(LARGE))
                client.send("PUT", "/large", [framing])
                for _ in range(LARGE // len(PIECE)):
                    client.send_raw(b"%x\r\n%s\r\n" % (len(PIECE), PIECE) if in_chunks else PIECE)
                if in_chunks:
                    client.send_raw(b"0\r\n\r\n")
                response = client.read_response()
                self.assertEqual((response.status, response.body), (200, b"read"))
                self.assertEqual((swallow.count, swallow.digest.hexdigest()),
                                 (LARGE, digest_of(LARGE)))
        self.assertLess(self.peak_kib(), MEMORY_MAX_KIB)

    def test_a_large_download(self):
        """100 MiB down, with a length and in chunks: likewise."""
        for in_chunks in (False, True):
            with self.subTest(in_chunks=in_chunks), self.gateway.client(timeout=60.0) as client:
                pour = Pour(LARGE, in_chunks)
                self.upstream.script(pour)
                client.send("GET", "/large")
                head = self.read_head(client)
                if in_chunks:
                    self.assertIn(b"\r\nTransfer-Encoding: chunked\r\n", head)
                    seen = self.read_chunks(client)
                else:
                    self.assertIn(b"\r\nContent-Length: %d\r\n" % LARGE, head)
                    seen = self.read_counted(client, LARGE)
                self.assertEqual(seen, digest_of(LARGE))
                self.assertEqual(client.request("GET", "/x").body, b"ok")
        self.assertLess(self.peak_kib(), MEMORY_MAX_KIB)

    def test_a_slow_reader_holds_the_upstream_back(self):
        """What the caller does not read is not read from the upstream either."""
        pour = Pour(LARGE)
        self.upstream.script(pour)
        with self.gateway.client(timeout=60.0) as client:
            client.send("GET", "/large")
            held = wait_still(lambda: pour.count)
            self.assertLess(held, HELD_BACK)
            self.read_head(client)
            self.assertEqual(self.read_counted(client, LARGE), digest_of(LARGE))
        self.assertLess(self.peak_kib(), MEMORY_MAX_KIB)

    def test_a_slow_upstream_holds_the_caller_back(self):
        """What the upstream does not read is not read from the caller either."""
        go = threading.Event()
        self.addCleanup(go.set)
        swallow = Swallow(before=go)
        self.upstream.on_head = lambda request: swallow
        sent = [0]
        with self.gateway.client(timeout=60.0) as client:
            client.send("PUT", "/large", [("Content-Length", str(LARGE))])

            def pour():
                for _ in range(LARGE // len(PIECE)):
                    client.sock.sendall(PIECE)
                    sent[0] += len(PIECE)

            client.sock.settimeout(60.0)
            pouring = Background(pour)
            self.assertLess(wait_still(lambda: sent[0]), HELD_BACK)
            go.set()
            pouring.result()
            self.assertEqual(client.read_response().status, 200)
        self.assertEqual(swallow.digest.hexdigest(), digest_of(LARGE))
        self.assertLess(self.peak_kib(), MEMORY_MAX_KIB)

    def test_others_are_served_meanwhile(self):
        """A stalled stream does not keep anybody else waiting."""
        self.upstream.script(Pour(LARGE))
        with self.gateway.client(timeout=60.0) as client:
            client.send("GET", "/large")
            self.upstream.wait_for(1)
            for _ in range(10):
                self.assertEqual(self.gateway.request("GET", "/x").body, b"ok")


class Framing(Passing):
    def test_chunks_stay_chunks(self):
        """A chunked request and answer are framed anew, the content is the same."""
        self.upstream.script(chunked([b"ab", b"c" * 5000, b"d"], trailer=b"X-T: 1\r\n"))
        with self.gateway.client() as client:
            client.send_raw(client.encode("POST", "/x", [("Transfer-Encoding", "chunked")]) +
                            b"3;ext=1\r\nabc\r\n1\r\nd\r\n0\r\nX-T: 1\r\n\r\n")
            response = client.read_response()
            self.assertEqual(response.body, b"ab" + b"c" * 5000 + b"d")
            self.assertEqual(response.all("Transfer-Encoding"), ["chunked"])
            self.assertNotIn("X-T", response.headers)
            self.assertTrue(response.raw_body.endswith(b"\r\n0\r\n\r\n"))
            self.assertEqual(client.request("GET", "/y").body, b"ok")
        first = self.upstream.requests[0]
        self.assertEqual((first.body, first.all("Transfer-Encoding")), (b"abcd", ["chunked"]))
        self.assertTrue(first.raw_body.endswith(b"\r\n0\r\n\r\n"))

    def test_an_answer_until_the_close(self):
        """An answer without a length reaches a 1.1 caller in chunks, and keeps its connection."""
        self.upstream.script(close_delimited(200, (), b"until the end"))
        with self.gateway.client() as client:
            response = client.request("GET", "/x")
            self.assertEqual((response.body, response.all("Transfer-Encoding")),
                             (b"until the end", ["chunked"]))
            self.assertEqual(client.request("GET", "/y").body, b"ok")

    def test_an_old_caller(self):
        """HTTP/1.0: no chunks, the close is the end; with a length it may keep its connection."""
        self.upstream.script(chunked([b"abc", b"def"]), answer(200, body=b"ghi"))
        with self.gateway.client() as client:
            client.send_raw(b"GET /x HTTP/1.0\r\n\r\n")
            data, reset = client.read_to_end()
            self.assertFalse(reset)
            head, _, body = data.partition(b"\r\n\r\n")
            self.assertEqual(body, b"abcdef")
            self.assertNotIn(b"chunked", head.lower())
        with self.gateway.client() as client:
            client.send_raw(b"GET /y HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            response = client.read_response()
            self.assertEqual((response.body, response.get("Content-Length")), (b"ghi", "3"))
            self.assertEqual(response.get("Connection"), "keep-alive")
            client.send_raw(b"GET /z HTTP/1.0\r\n\r\n")
            self.assertEqual(client.read_response().body, b"ok")
            self.assertTrue(client.is_closed())

    def test_answers_without_a_body(self):
        """HEAD, 204 and 304 carry none, and the connection goes on in step."""
        with self.gateway.client() as client:
            self.upstream.script(answer(200, [("Content-Length", "9")]),
                                 answer(204), answer(304, [("ETag", "\"1\"")]), answer(205),
                                 raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                                     close=False))
            head = client.request("HEAD", "/x")
            self.assertEqual((head.status, head.body, head.get("Content-Length")), (200, b"", "9"))
            none = client.request("DELETE", "/x")
            self.assertEqual((none.status, none.body), (204, b""))
            self.assertNotIn("Content-Length", none.headers)
            self.assertNotIn("Transfer-Encoding", none.headers)
            same = client.request("GET", "/x", [("If-None-Match", "\"1\"")])
            self.assertEqual((same.status, same.body, same.get("ETag")), (304, b"", "\"1\""))
            self.assertEqual(client.request("POST", "/x").status, 205)
            self.assertEqual(client.request("HEAD", "/x").status, 200)
            self.assertEqual(client.request("GET", "/y").body, b"ok")
        self.assertEqual(self.upstream.sends, 6)

    def test_fields_pass_as_they_are(self):
        """End-to-end fields pass byte for byte, those of one hop do not; Via is added."""
        self.upstream.script(answer(200, [("X-One", "a"), ("x-one", "b"), ("Keep-Alive", "x"),
                                          ("Connection", "X-Hop"), ("X-Hop", "1"),
                                          ("Set-Cookie", "a=1"), ("Server", "legacy")], b"x"))
        with self.gateway.client() as client:
            response = client.request("GET", "/x?a=%20&b", [
                ("X-Two", "1"), ("x-two", "\xe9"), ("Connection", "X-Gone"), ("X-Gone", "1"),
                ("TE", "trailers"), ("Via", "1.0 fred"), ("X-Forwarded-For", "1.2.3.4"),
                ("Idempotency-Key", "k1"), ("Authorization", "Basic eA=="), ("Upgrade", "h2c"),
                ("Proxy-Authorization", "x")])
        request = self.upstream.last
        self.assertEqual(request.target, "/x?a=%20&b")
        self.assertEqual(request.all("X-Two"), ["1", "\xe9"])
        for name in ("X-Gone", "TE", "Upgrade", "Proxy-Authorization", "Keep-Alive"):
            self.assertNotIn(name, request.headers)
        self.assertEqual(", ".join(request.headers.all("Via")), "1.0 fred, 1.1 recibo")
        self.assertEqual(request.get("X-Forwarded-For"), "127.0.0.1")
        self.assertEqual(request.get("Idempotency-Key"), "k1")
        self.assertEqual(request.get("Authorization"), "Basic eA==")
        self.assertEqual(request.get("Host"), "127.0.0.1:%d" % self.gateway.port)
        self.assertEqual(response.all("X-One"), ["a", "b"])
        self.assertEqual((response.get("Set-Cookie"), response.get("Server")), ("a=1", "legacy"))
        for name in ("X-Hop", "Keep-Alive", "Idempotency-Status"):
            self.assertNotIn(name, response.headers)
        self.assertEqual(self.gateway.operations(), [])

    def test_a_trace_goes_on_or_begins(self):
        """A valid traceparent keeps its trace and state; any other is replaced, without them."""
        trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
        whole = "00-%s-%s-01" % (trace, parent)
        cases = [([whole], True), (["cc-%s-%s-01-what" % (trace, parent)], True), ([], False),
                 ([whole, whole], False), ([whole.upper()], False), ([whole + "-x"], False),
                 (["ff" + whole[2:]], False), ([whole.replace(trace, "0" * 32)], False),
                 ([whole.replace(parent, "0" * 16)], False)]
        for sent, is_kept in cases:
            with self.subTest(sent=sent), self.gateway.client() as client:
                client.request("GET", "/x", [("traceparent", value) for value in sent] +
                               [("tracestate", "a=1,b=2")])
                got = self.upstream.last.get("traceparent")
                self.assertRegex(got, "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")
                self.assertEqual((got[3:35] == trace, got[53:]), (is_kept, "01" if is_kept else "00"))
                self.assertNotEqual(got[36:52], parent)
                self.assertEqual(self.upstream.last.all("tracestate"), ["a=1,b=2"] * is_kept)

    def test_hops_are_counted(self):
        """Max-Forwards of OPTIONS counts down and ends here at 0; elsewhere it means nothing."""
        with self.gateway.client() as client:
            for method, sent, got in (("OPTIONS", "9", "8"), ("OPTIONS", "1", "0"), ("GET", "3", "3"),
                                      ("GET", "0", "0")):
                with self.subTest(method=method, sent=sent):
                    client.request(method, "/x", [("Max-Forwards", sent)])
                    self.assertEqual(self.upstream.last.all("Max-Forwards"), [got])
            sends = self.upstream.sends
            self.assertLess(client.request("OPTIONS", "/x", [("Max-Forwards", "0")]).status, 300)
        self.assertEqual(self.upstream.sends, sends)


class Talking(Passing):
    def test_expect_continue(self):
        """A caller that waits for 100 gets it once, and its body goes on."""
        with self.gateway.client() as client:
            client.send("PUT", "/x", [("Expect", "100-continue"), ("Content-Length", "3")])
            self.assertEqual(self.read_head(client), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.send_raw(b"abc")
            response = client.read_response()
            self.assertEqual((response.body, response.interim), (b"ok", []))
        self.assertEqual(self.upstream.last.body, b"abc")
        self.assertNotIn("Expect", self.upstream.last.headers)

    def test_an_early_answer(self):
        """An answer before the body is read reaches a caller that is still sending."""
        early = answer(413, body=b"too much")
        self.upstream.on_head = lambda request: lambda ex: early(ex) and stall()(ex)
        with self.gateway.client() as client:
            client.send("PUT", "/x", [("Content-Length", str(LARGE))], b"begun")
            response = client.read_response()
            self.assertEqual((response.status, response.body), (413, b"too much"))

    def test_a_cut_answer_is_seen_as_cut(self):
        """Whatever breaks off in the middle: the caller never takes it for whole."""
        cases = [cut(4, body=b"0123456789"), cut(4, body=b"0123456789", with_reset=True),
                 chunked([b"0123"], end=False),
                 raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n0123\r\nzz\r\n")]
        for number, action in enumerate(cases):
            with self.subTest(number=number), self.gateway.client() as client:
                self.upstream.script(action)
                with self.assertRaises(Closed) as raised:
                    client.request("GET", "/x")
                self.assertIn(b"HTTP/1.1 200", raised.exception.partial)
                # Some clients take an orderly end for the end of the answer.
                self.assertTrue(raised.exception.reset)
        self.assertEqual(self.gateway.request("GET", "/y").body, b"ok")

    def test_no_answer_is_a_502(self):
        """A close before the head of an answer is told as what it is."""
        for action in (fin(), reset(), raw(b"x\r\n\r\n")):
            self.upstream.script(action)
            response = self.gateway.request("POST", "/x", (), b"abc")
            self.assert_told(response, 502, "upstream-bad-response", retry_after=False)
        self.assertEqual(self.upstream.sends, 3)

    def test_a_caller_that_leaves_ends_the_stream(self):
        """Nobody reads any more: the upstream's connection is closed."""
        self.upstream.script(Pour(LARGE))
        client = self.gateway.client()
        client.send("GET", "/large")
        self.upstream.wait_for(1)
        self.read_head(client)
        client.reset()
        self.upstream.wait_open(0)
        self.upstream.errors.clear()

    def test_half_a_body_is_no_request(self):
        """A caller that leaves in its body: the upstream never sees a whole request."""
        for framing, data in ((("Content-Length", "10"), b"abc"),
                              (("Transfer-Encoding", "chunked"), b"3\r\nabc\r\n")):
            for leave in ("half_close", "reset"):
                with self.gateway.client() as client:
                    client.send_raw(client.encode("PUT", "/x", [framing]) + data)
                    getattr(client, leave)()
                    self.upstream.wait_open(0)
        self.assertEqual(self.upstream.sends, 0)

    def test_pipelined_requests(self):
        """Several in one write are answered in order, passed and guarded ones mixed."""
        self.upstream.on_request = lambda request: answer(200, body=request.target)
        with self.gateway.client() as client:
            pieces = []
            for number in range(10):
                pieces.append(client.encode("GET", "/p%d" % number))
                pieces.append(client.encode("POST", "/orders", [
                    ("Idempotency-Key", "k%d" % (number // 2))], ORDER))
                pieces.append(client.encode("PUT", "/q%d" % number, (),
                                            b"GET /no HTTP/1.1\r\n\r\n"))
            client.send_raw(b"".join(pieces))
            for number in range(10):
                self.assertEqual(client.read_response().body, b"/p%d" % number)
                response = client.read_response()
                self.assertEqual(response.get("Idempotency-Status"),
                                 "replayed" if number % 2 else "executed")
                self.assertEqual(client.read_response().body, b"/q%d" % number)
        self.assertEqual((self.upstream.sends, self.upstream.sends_by_path("/orders")), (25, 5))
        self.assertEqual([r.path for r in self.upstream.select(method="GET")],
                         ["/p%d" % number for number in range(10)])

    def test_a_pipelined_request_waits(self):
        """The second request is not sent on before the first is answered."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event))
        with self.gateway.client() as client:
            client.send_raw(client.encode("POST", "/orders", [("Idempotency-Key", "k1")], ORDER) +
                            client.encode("POST", "/orders", [("Idempotency-Key", "k2")], ORDER))
            self.upstream.wait_for(1)
            with self.gateway.client() as other:
                self.assertEqual(other.request("GET", "/x").status, 200)
            self.assertEqual(self.upstream.sends_by_path("/orders"), 1)
            event.set()
            self.assertEqual([client.read_response().status for _ in range(2)], [200, 200])
        self.assertEqual(self.upstream.sends_by_path("/orders"), 2)

    def test_connections_are_kept(self):
        """Calls one after the other share both connections."""
        with self.gateway.client() as client:
            for _ in range(20):
                self.assertEqual(client.request("POST", "/x", (), b"abc").body, b"ok")
            response = client.request("GET", "/x", [("Connection", "close")])
            self.assertEqual(response.get("Connection"), "close")
            self.assertTrue(client.is_closed())
        self.assertEqual((self.upstream.sends, self.upstream.connections), (21, 1))


if __name__ == "__main__":
    main()
