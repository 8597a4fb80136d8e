"""Every limit holds at its value and not beyond: what is exactly at it passes, one more
is refused with the limit's own status, before any receipt. Times are the gateway's own:
the tests only wait for its answer.
"""

import os
import re
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, SOON, Guarded, send_post  # noqa: E402
from harness import ROOT, Client, answer, fetch, hang, main, pause, rest, wait_until  # noqa: E402

BODY_MAX = 2048
JSON = ("Content-Type", "application/json")


def padded(size):
    """A JSON body of exactly so many bytes."""
    return b'{"order": 7, "pad": "' + b"x" * (size - 23) + b'"}'


class Heads(Guarded):
    def setUp(self):
        self.start(limits={"target_bytes": "1KiB", "head_bytes": "4KiB", "headers": 20})

    def get(self, target="/x", headers=()):
        with self.gateway.client() as client:
            client.send_raw(client.encode("GET", target, headers))
            return client.read_response()

    def assert_refused(self, response, status, code):
        self.assert_told(response, status, code, retry_after=False)
        self.assertEqual(response.get("Connection"), "close")
        self.assertEqual(len(self.upstream.heads), self.sends)

    def test_the_target(self):
        """414 over limits.target_bytes."""
        self.assertEqual(self.get("/" + "a" * 1023).status, 201)
        self.assertEqual(self.get("/a?" + "b" * 1021).status, 201)
        self.sends = 2
        self.assert_refused(self.get("/" + "a" * 1024), 414, "uri-too-long")
        self.assert_refused(self.get("/a?" + "b" * 1022), 414, "uri-too-long")

    def test_the_number_of_fields(self):
        """431 over limits.headers; Host is one of them."""
        self.assertEqual(self.get(headers=[("X-N", "1")] * 19).status, 201)
        self.sends = 1
        self.assert_refused(self.get(headers=[("X-N", "1")] * 20), 431, "headers-too-large")

    def test_the_size_of_the_head(self):
        """431 over limits.head_bytes, in one field or in many."""
        self.sends = 0
        for count in (1, 10):
            with self.gateway.client() as client:
                fixed = len(client.encode("GET", "/x", [("X-N", "")] * count))
                fill = 4096 - fixed
                fields = [("X-N", "a" * (fill // count))] * (count - 1)
                fields.append(("X-N", "a" * (fill - fill // count * (count - 1))))
                data = client.encode("GET", "/x", fields)
                self.assertEqual(len(data), 4096)
                client.send_raw(data)
                self.assertEqual(client.read_response().status, 201)
                self.sends += 1
            over = fields[:-1] + [(fields[-1][0], fields[-1][1] + "a")]
            self.assert_refused(self.get(headers=over), 431, "headers-too-large")

    def test_a_head_without_end(self):
        """It is not collected until it ends: the answer comes while it is still growing."""
        self.sends = 0
        for piece, status in ((b"a" * 512, (414, 400)), (b"X-N: 1\r\n" * 64, (431,))):
            with self.gateway.client() as client:
                client.send_raw(b"GET /" if status[0] == 414 else b"GET / HTTP/1.1\r\nHost: a\r\n")
                for _ in range(64):
                    try:
                        client.send_raw(piece)
                    except OSError:
                        break
                self.assertIn(client.read_response().status, status)
        self.assertEqual(len(self.upstream.heads), 0)


class RequiredSizes(Guarded):
    def test_the_defaults_are_wide_enough(self):
        """8000 bytes of request line pass with the defaults."""
        self.start()
        self.assertEqual(self.gateway.request("GET", "/" + "a" * 8000).status, 201)
        self.assertEqual(self.gateway.request("GET", "/", [("X-Long", "b" * 30000)]).status, 201)
        self.assertEqual(self.gateway.request("GET", "/" + "a" * 8192).status, 414)


class Bodies(Guarded):
    def setUp(self):
        self.start(route={"request_body_max": BODY_MAX})

    def chunked(self, key, body, size):
        """A chunked POST in chunks of `size`; what is refused early is not sent on."""
        with self.gateway.client() as client:
            client.send_raw(client.encode("POST", "/orders", [
                ("Idempotency-Key", key), JSON, ("Transfer-Encoding", "chunked")]))
            try:
                for at in range(0, len(body), size):
                    piece = body[at:at + size]
                    client.send_raw(b"%x\r\n%s\r\n" % (len(piece), piece))
                client.send_raw(b"0\r\n\r\n")
            except OSError:
                pass
            return client.read_response()

    def test_the_size_of_a_body(self):
        """413 over request_body_max, declared or growing; at it the body passes whole."""
        body = padded(BODY_MAX)
        self.assertEqual(self.gateway.post("k1", body, headers=[JSON]).status, 201)
        self.assertEqual(self.upstream.last.body, body)
        for size in (1, 100, BODY_MAX):
            response = self.chunked("k1", body, size)
            self.assertEqual((response.status, response.get("Idempotency-Status")),
                             (201, "replayed"))
        over = padded(BODY_MAX + 1)
        self.assert_told(self.gateway.post("k2", over, headers=[JSON]), 413, "content-too-large",
                         retry_after=False)
        for size in (1, 100, BODY_MAX + 1):
            self.assert_told(self.chunked("k2", over, size), 413, "content-too-large",
                             retry_after=False)
        self.assertEqual((self.upstream.sends, len(self.gateway.operations())), (1, 1))

    def test_a_refused_body_is_never_read_as_a_request(self):
        """After a 413 the connection is in step or closed."""
        inner = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
        for length in (BODY_MAX + 1, 1 << 40):
            with self.gateway.client() as client:
                client.send("POST", "/orders", [("Idempotency-Key", "k"), JSON,
                                                ("Content-Length", str(length))])
                try:
                    client.send_raw((inner * 100)[:BODY_MAX + 1])
                except OSError:
                    pass
                self.assertEqual(client.read_response().status, 413)
                if length == BODY_MAX + 1:
                    client.send("GET", "/after", [("Connection", "close")])
                    self.assertIn(client.read_to_end()[0][:12], (b"", b"HTTP/1.1 201"))
        self.assertEqual(self.upstream.sends_by_path("/smuggled"), 0)


class Times(Guarded):
    def assert_timed_out(self, client):
        response = client.read_response()
        self.assert_told(response, 408, "request-timeout", retry_after=False)
        self.assertEqual(response.get("Connection"), "close")
        self.assertEqual(client.read_to_end(), (b"", False))
        self.assert_no_receipt()

    def trickle(self, client, data):
        """One byte a tick until the gateway has had enough (or the data ends)."""
        client.sock.setblocking(True)
        for at in range(len(data)):
            try:
                client.sock.sendall(data[at:at + 1])
            except OSError:
                break
            client.sock.settimeout(0.0)
            try:
                if client.sock.recv(1, 2):  # MSG_PEEK: the answer has come
                    return at
            except (BlockingIOError, OSError):
                pass
            pause()
        return None

    def test_a_head_that_does_not_come(self):
        """408 once a head has begun and head_time is over."""
        self.start(limits={"head_time": "300ms"})
        for data in (b"G", b"GET / HTTP/1.1\r\nHost: a\r\n"):
            with self.gateway.client() as client:
                client.send_raw(data)
                self.assert_timed_out(client)

    def test_a_head_that_trickles(self):
        """The time is for the whole head: a byte now and then does not lengthen it."""
        self.start(limits={"head_time": "500ms"})
        with self.gateway.client() as client:
            sent = self.trickle(client, b"GET /" + b"a" * 4000 + b" HTTP/1.1\r\nHost: a\r\n\r\n")
            self.assertIsNotNone(sent)
            self.assert_timed_out(client)

    def test_a_body_that_does_not_come(self):
        """408 after body_time, whole or in part missing; the same for chunks."""
        self.start(limits={"body_time": "300ms"})
        for framing, data in (("Content-Length", b""), ("Content-Length", b"{"),
                              ("Transfer-Encoding", b"2\r\n{")):
            with self.gateway.client() as client:
                value = "10" if framing == "Content-Length" else "chunked"
                client.send_raw(client.encode("POST", "/orders", [
                    ("Idempotency-Key", "k1"), JSON, (framing, value)]) + data)
                self.assert_timed_out(client)

    def test_a_body_that_trickles(self):
        """Slower than body_rate_min is 408, long before body_time."""
        self.start(limits={"body_time": "10m", "body_rate_min": "1000/s"})
        with self.gateway.client() as client:
            client.send("POST", "/orders", [("Idempotency-Key", "k1"), JSON,
                                            ("Content-Length", "100000")])
            self.assertIsNotNone(self.trickle(client, b"{" + b" " * 20000))
            self.assert_timed_out(client)

    def test_a_streamed_body_that_stops(self):
        """On a passing route a body that stands still is given up, too."""
        everything = rest(match={"path": "/*", "methods": ["GET", "POST"]})
        self.start(routes=[everything], limits={"idle_time": "400ms"})
        with self.gateway.client() as client:
            client.send("POST", "/upload", [("Content-Length", "10")], b"abc")
            response = client.read_response()
            self.assert_told(response, 408, "request-timeout", retry_after=False)
            self.assertEqual(client.read_to_end(), (b"", False))
        self.assertEqual(self.upstream.sends, 0)
        self.upstream.wait_open(0)

    def test_idle_connections(self):
        """Between requests a connection is closed without a word."""
        self.start(limits={"idle_time": "300ms"})
        with self.gateway.client() as client:
            self.assertTrue(client.is_closed())
        with self.gateway.client() as client:
            self.assertEqual(client.request("GET", "/x").status, 201)
            self.assertTrue(client.is_closed())
        with self.gateway.client() as client:
            client.send_raw(b"\r\n")
            self.assertTrue(client.is_closed())

    def test_waiting_for_an_answer_is_not_idle(self):
        """idle_time and head_time do not cut a caller off that waits for its answer."""
        self.start(limits={"idle_time": "100ms", "head_time": "100ms"},
                   upstream={"timeouts": {"first_byte": "600ms", "answer": "600ms"}})
        self.upstream.script(hang())
        self.assertEqual(self.gateway.post("k1", ORDER).status, 504)

    def test_a_caller_that_does_not_take_its_answer(self):
        """An answer that nobody reads is given up after idle_time; the record stands."""
        body = os.urandom(1 << 20) * 12
        self.start(answer(200, body=body), limits={"idle_time": "400ms"})
        with send_post(self.gateway, "k1") as client:
            wait_until(lambda: self.gateway.operations(state="completed"))
            wait_until(lambda: self.gateway.metrics()["recibo_connections"] == 0)
            self.assertLess(len(client.read_to_end()[0]), len(body))
        self.assertEqual(self.gateway.post("k1", ORDER).status, 409)
        self.assertEqual(self.upstream.sends, 1)


class Counts(Guarded):
    def test_connections(self):
        """Over limits.connections: 503 at once, closed; when one goes the next is served."""
        self.start(limits={"connections": 4})
        clients = [self.use(Client(self.gateway.port)) for _ in range(4)]
        for client in clients:
            self.assertEqual(client.request("GET", "/x").status, 201)
        with self.gateway.client() as one_more:
            response = one_more.read_response()
            problem = self.assert_problem(response, 503, "overloaded")
            self.assertIs(problem["retry_may_help"], True)
            self.assertEqual((response.get("Connection"), response.get("Retry-After")),
                             ("close", "1"))
            self.assertEqual(one_more.read_to_end(), (b"", False))
        self.assertEqual(self.upstream.sends, 4)
        clients.pop().close()
        wait_until(lambda: self.gateway.metrics()["recibo_connections"] == 3)
        self.assertEqual(self.gateway.request("GET", "/x").status, 201)
        self.assertEqual(clients[0].request("GET", "/x").status, 201)

    def test_late_listening(self):
        """At most limits.late_max lost calls are listened to; more are lost, not kept."""
        self.start(hang(), upstream=SOON, route={"breaker": "none"}, limits={"late_max": 1})
        for number in range(3):
            self.assertEqual(self.gateway.post("k%d" % number, ORDER).status, 504)
        self.assertEqual(self.gateway.metrics()["recibo_late_listening"], 1)
        self.upstream.wait_open(1)


class OperatorPlane(Guarded):
    def test_connections(self):
        """Over the cap the next one waits, and is served when another one goes."""
        with open(os.path.join(ROOT, "gateway", "admin", "connections.h"), encoding="utf-8") as file:
            most = int(re.search(r"ADMIN_CONNECTIONS_MAX (\d+)", file.read()).group(1))
        self.start()
        held = [self.use(Client(self.gateway.admin_port)) for _ in range(most)]
        for client in held:
            self.assertEqual(client.request("GET", "/healthz").status, 200)
        late = self.use(Client(self.gateway.admin_port))
        late.send("GET", "/healthz")
        self.assertFalse(select.select([late.sock], [], [], 0.2)[0])
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        held.pop().close()
        self.assertEqual(late.read_response().status, 200)

    def test_a_body_in_an_entry(self):
        """64 KiB are shown in it; one byte more is a download, and its length is told."""
        self.start(route={"evidence": {"headers": True, "body": True}})
        for size in (65536, 65537):
            told = self.make_unknown("k%d" % size, padded(size), headers=[JSON])
            operation = self.operation_of(told)
            request = operation["request"]
            self.assertEqual((request["body_bytes"], request["body_kept"]), (size, True))
            self.assertEqual(request["body"], padded(size).decode() if size == 65536 else None)
            path = "/v1/operations/%s/request" % operation["id"]
            pairs = [("Authorization", "Bearer " + self.gateway.token)]
            self.assertEqual(fetch(self.gateway.admin_port, "GET", path, pairs).body, padded(size))


if __name__ == "__main__":
    main()
