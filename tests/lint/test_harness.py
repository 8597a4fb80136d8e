"""The test harness tells the truth: what the scripted upstream counts, what the raw
client sees, and how a gateway process is started, stopped and judged.

A harness that reports a reset as a close, or counts half a request, would make
every wire test worthless; so its parts are run against each other here.
"""

import os
import signal
import sys
import tempfile
import textwrap
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import gateway_process  # noqa: E402
from harness import (Case, Client, Closed, Gateway, Upstream, WireError, answer,  # noqa: E402
                     chunked, close_delimited, cut, delay, dribble, encode_answer, fetch, fin, hang,
                     interim, main, merge, orders, parallel, raw, reset, wait, wait_until)

# A stand-in for the gateway: it knows serve, /readyz, and how to misbehave.
STAND_IN = """\
    #!%s
    import http.server, json, os, signal, sys, threading
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    if sys.argv[1] != "serve":
        print(json.dumps([sys.argv[1:], os.environ["RECIBO_ADMIN"], os.environ["RECIBO_TOKEN"]]))
        sys.exit(4)
    conf = json.load(open(sys.argv[3]))
    print(os.environ.get("SAY", "started"), file=sys.stderr, flush=True)
    if os.environ.get("FAIL"):
        sys.exit(2)
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def log_message(self, *_): pass
        def do_GET(self):
            body = json.dumps({"path": self.path, "pid": os.getpid(),
                               "auth": self.headers["Authorization"]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
    for address in (conf["listen"][0]["address"], conf["admin"]["address"]):
        host, port = address.rsplit(":", 1)
        server = http.server.ThreadingHTTPServer((host, int(port)), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.sigwait([signal.SIGTERM])
"""


class UpstreamAndClient(Case):
    def setUp(self):
        self.upstream = self.use(Upstream())

    def client(self):
        client = Client(self.upstream.port)
        self.addCleanup(client.close)
        return client

    def test_bytes_are_kept_as_they_came(self):
        """The order and case of fields and every body byte are on record on both sides."""
        body = bytes(range(256))
        self.upstream.script(answer(201, [("X-b", "1"), ("x-A", "2"), ("X-b", "3")], b"\0\r\n\xff"))
        client = self.client()
        response = client.request("POST", "/orders?a=1", [("idempotency-KEY", "k"), ("X-y", "ü")],
                                  body)
        self.assertEqual((response.status, response.reason, response.body),
                         (201, "Created", b"\0\r\n\xff"))
        self.assertEqual(list(response.headers)[:3], [("X-b", "1"), ("x-A", "2"), ("X-b", "3")])
        self.assertEqual((response.get("X-B"), response.all("x-b")), ("1", ["1", "3"]))
        request = self.upstream.last
        self.assertEqual((request.method, request.path, request.target, request.key, request.body),
                         ("POST", "/orders", "/orders?a=1", "k", body))
        self.assertIn(b"\r\nidempotency-KEY: k\r\n", request.raw_head)
        self.assertIn(b"\xfc", request.raw_head)
        self.assertEqual(request.raw[-256:], body)

    def test_only_whole_requests_are_sends(self):
        """A request that stops in its head or its body counts as no send."""
        for data in (b"POST / HTTP/1.1\r\nHost: a\r\n",
                     b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcd",
                     b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n"):
            client = self.client()
            client.send_raw(data)
            client.half_close()
            self.assertEqual(client.read_to_end(), (b"", False))
        self.assertEqual((self.upstream.sends, len(self.upstream.heads)), (0, 2))

    def test_connections_are_kept_and_pipelined(self):
        """Requests share a connection; several in one write are answered in order."""
        client = self.client()
        self.upstream.on_request = lambda request: answer(200, body=request.path)
        client.send_raw(b"".join(client.encode("GET", "/%d" % number) for number in range(5)))
        bodies = [client.read_response().body for _ in range(5)]
        self.assertEqual(bodies, [b"/0", b"/1", b"/2", b"/3", b"/4"])
        self.assertEqual((self.upstream.connections, self.upstream.sends), (1, 5))
        client.request("GET", "/", [("Connection", "close")])
        self.assertTrue(client.is_closed())

    def test_sends_are_counted_by_key_and_path(self):
        """select() and the counters tell requests apart."""
        for key, path in (("a", "/x"), ("a", "/y"), ("b", "/x")):
            self.client().request("POST", path, [("Idempotency-Key", key)], b"1")
        counts = (self.upstream.sends_by_key("a"), self.upstream.sends_by_key("b"),
                  self.upstream.sends_by_path("/x"), self.upstream.sends_by_key("c"))
        self.assertEqual(counts, (2, 1, 2, 0))
        self.upstream.forget()
        self.assertEqual(self.upstream.sends, 0)

    def test_a_reset_is_told_from_a_close(self):
        """reset() is seen as a reset, fin() as an orderly close, with what came before."""
        self.upstream.script(reset(), fin())
        for expected in (True, False):
            client = self.client()
            client.send("GET", "/")
            self.assertEqual(client.read_to_end(), (b"", expected))
        self.upstream.script(fin(after=b"HTTP/1.1 2"))
        client = self.client()
        client.send("GET", "/")
        self.assertEqual(client.read_to_end(), (b"HTTP/1.1 2", False))

    def test_cut_answers_raise(self):
        """A cut answer is no answer: the client raises and shows what came."""
        self.upstream.script(cut(3, body=b"abcdef"), cut(-2, body=b"abcdef"))
        for expected in (b"abc", b"abcd"):
            client = self.client()
            client.send("GET", "/")
            with self.assertRaises(Closed) as raised:
                client.read_response()
            self.assertTrue(raised.exception.partial.endswith(b"\r\n\r\n" + expected))
        self.upstream.script(chunked([b"abc"], end=False))
        with self.assertRaises(Closed):
            self.client().request("GET", "/")

    def test_every_framing_is_read(self):
        """Length, chunks, close, small writes, interim answers and HEAD are all read rightly."""
        self.upstream.script(chunked([b"ab", b"c"], trailer=b"X: y\r\n"),
                             close_delimited(body=b"abc"),
                             dribble(encode_answer(200, body=b"abc")),
                             interim(103, [("Link", "a")], then=answer(body=b"abc")),
                             raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", close=False))
        for number in range(5):
            response = self.client().request("GET", "/")
            self.assertEqual((response.status, response.body), (200, b"abc"), number)
            self.assertEqual([one.status for one in response.interim], [103] * (number == 3))
        client = self.client()
        self.upstream.script(answer(200, [("Content-Length", "3")]))
        self.assertEqual(client.request("HEAD", "/").body, b"")
        self.assertEqual(client.request("GET", "/").body, b"ok")

    def test_chunked_requests_are_read_whole(self):
        """A chunked request's body is joined, its raw bytes kept."""
        client = self.client()
        client.send_raw(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: u\r\n\r\n")
        client.read_response()
        self.assertEqual(self.upstream.last.body, b"abc")
        self.assertIn(b"2;x=y\r\n", self.upstream.last.raw_body)
        client.send("POST", "/", [("Expect", "100-continue")], b"abc")
        self.assertEqual(client.read_response().interim[0].status, 100)

    def test_answers_wait_for_their_event(self):
        """wait() holds the answer until the test says so; sends are known before."""
        event, closed = threading.Event(), threading.Event()
        self.upstream.script(wait(event, answer(body=b"late")), hang(closed), delay(0.01))
        client = self.client()
        client.send("GET", "/")
        self.upstream.wait_for(1)
        self.assertFalse(client.is_closed(within_s=0.01))
        event.set()
        self.assertEqual(client.read_response().body, b"late")
        client.send("GET", "/")
        self.upstream.wait_for(2)
        client.reset()
        self.assertTrue(closed.wait(10))
        self.assertEqual(self.client().request("GET", "/").status, 200)

    def test_early_and_refusing_upstreams(self):
        """on_head answers before the body, on_connect refuses, refuse() closes the port."""
        self.upstream.on_head = lambda request: answer(413, close=True)
        client = self.client()
        client.send_raw(b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n")
        self.assertEqual(client.read_response().status, 413)
        self.assertEqual(self.upstream.sends, 0)
        self.upstream.on_head = None
        self.upstream.on_connect = lambda number: "reset"
        try:
            self.assertEqual(self.client().read_to_end(), (b"", True))
        except ConnectionResetError:
            pass  # the reset was faster than the end of connect()
        self.upstream.on_connect = None
        self.upstream.refuse()
        with self.assertRaises(ConnectionRefusedError):
            Client(self.upstream.port)
        self.upstream.listen_again()
        client = self.client()
        self.assertEqual(client.request("GET", "/").status, 200)
        self.upstream.drop_connections()
        self.assertTrue(client.is_closed())
        self.upstream.wait_open(0)

    def test_parallel_calls_run_at_once_and_raise(self):
        """parallel() keeps the order, really overlaps, and does not swallow an error."""
        barrier = threading.Barrier(8)
        self.assertEqual(parallel(8, lambda index: (barrier.wait(10), index)[1]), list(range(8)))
        with self.assertRaises(ZeroDivisionError):
            parallel(2, lambda index: 1 // index)

    def test_deadlines_hold(self):
        """Nothing waits for ever: a silent peer is an error of the test."""
        self.upstream.script(hang())
        client = Client(self.upstream.port, timeout=0.05)
        self.addCleanup(client.close)
        with self.assertRaises(WireError):
            client.request("GET", "/")
        with self.assertRaises(WireError):
            self.upstream.wait_for(99, deadline_s=0.01)
        with self.assertRaises(WireError):
            wait_until(lambda: False, deadline_s=0.01)


class Process(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = os.path.join(folder.name, "build")
        os.makedirs(self.build)
        self.binary = os.path.join(self.build, "stand-in")
        with open(self.binary, "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(STAND_IN % sys.executable))
        os.chmod(self.binary, 0o755)
        before, gateway_process.BUILD = gateway_process.BUILD, self.build
        self.addCleanup(setattr, gateway_process, "BUILD", before)

    def gateway(self, **options):
        return Gateway("http://127.0.0.1:9", binary=self.binary, **options)

    def test_a_gateway_starts_restarts_and_ends(self):
        """The process is ready when made, keeps its ports, and ends as it is told to."""
        gateway = self.use(self.gateway())
        first = gateway.request("GET", "/x").json()["pid"]
        ports = gateway.port, gateway.admin_port
        gateway.restart(kill=True)
        self.assertNotEqual(gateway.request("GET", "/x").json()["pid"], first)
        self.assertEqual((gateway.port, gateway.admin_port), ports)
        status, _, value = gateway.admin("GET", "/v1/summary")
        self.assertEqual((status, value["auth"]), (200, "Bearer " + gateway.token))
        self.assertEqual(gateway.stop(), 0)
        self.assertFalse(gateway.is_running())
        gateway.start()
        gateway.kill9()
        self.assertEqual(gateway.process.returncode, -signal.SIGKILL)

    def test_the_files_of_a_test_go_with_it(self):
        """A test that held leaves nothing behind."""
        gateway = self.gateway()
        gateway.close()
        self.assertFalse(os.path.exists(gateway.directory))

    def test_a_start_that_fails_says_why(self):
        """An early end is seen at once, with what the process said."""
        gateway = self.gateway(env={"FAIL": "1", "SAY": "line 7 is wrong"}, start=False)
        with self.assertRaisesRegex(WireError, "ended with 2.*\n.*line 7 is wrong"):
            gateway.start()
        gateway.close()

    def test_a_sanitizer_report_fails_the_test(self):
        """A gateway that ends well but whose sanitizer spoke is a failure."""
        for words in ("==1==ERROR: AddressSanitizer: heap-use-after-free",
                      "WARNING: ThreadSanitizer:", "a.c:1:2: runtime error: shift",
                      "recibo: assertion failed: x"):
            gateway = self.gateway(env={"SAY": words})
            with self.assertRaisesRegex(AssertionError, "a sanitizer or"):
                gateway.stop()
            with self.assertRaises(AssertionError):
                gateway.close()

    def test_the_command_line_is_run_against_it(self):
        """cli() passes arguments, address and token, and returns the exit code."""
        gateway = self.use(self.gateway())
        done = gateway.cli("backlog", "list")
        self.assertEqual(done.returncode, 4)
        self.assertIn('[["backlog", "list"], "http://127.0.0.1:%d", "%s"]'
                      % (gateway.admin_port, gateway.token), done.stdout)

    def test_configurations_are_laid_over_the_default(self):
        """Changes reach deep, None removes, lists replace, and the default stays as it is."""
        gateway = self.use(self.gateway(changes={
            "upstreams": {"legacy": {"timeouts": {"answer": "1s"}}},
            "routes": [orders(retention="1h", labels=None, evidence={"body": True})],
            "admin": {"actor_header": "X-Actor"}, "listen": [{"proxy": 1}]}))
        conf = gateway.configuration()
        self.assertEqual(conf["upstreams"]["legacy"]["timeouts"], {"answer": "1s"})
        self.assertEqual(conf["upstreams"]["legacy"]["url"], "http://127.0.0.1:9")
        self.assertNotIn("labels", conf["routes"][0])
        self.assertEqual(conf["routes"][0]["match"]["path"], "/orders")
        self.assertEqual(conf["listen"], [{"address": "127.0.0.1:%d" % gateway.port, "proxy": 1}])
        self.assertIn("labels", orders())
        base = {"a": {"b": 1}}
        merge(base, {"a": {"b": None}})
        self.assertEqual(base, {"a": {"b": 1}})

    def test_a_text_is_taken_as_the_file(self):
        """A whole file as text gets its ports and its token's hash."""
        text = ('{"listen": [{"address": "@LISTEN@"}], "admin": {"address": "@ADMIN@"},'
                ' "hash": "@TOKEN_SHA256@", "up": "@UPSTREAM@"}')
        gateway = self.use(self.gateway(text=text))
        with open(gateway.path, encoding="utf-8") as file:
            written = file.read()
        self.assertNotIn("@", written)
        self.assertEqual(fetch(gateway.port, "GET", "/").status, 200)


if __name__ == "__main__":
    main()
