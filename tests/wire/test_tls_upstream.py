"""TLS towards an upstream. What fails before the request is handed to TLS is proved not
sent; what fails after it is in doubt, and TLS's own messages are never taken for the
upstream's.
"""

import os
import re
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from certificates import Authority, server  # noqa: E402
from guarded import ANY, ORDER, Background, Guarded  # noqa: E402
from harness import (answer, close_delimited, cut, main, orders, parallel, rest,  # noqa: E402
                     scratch)

BIG = 3 << 20
ANY_METHOD = [orders(), rest(match={"methods": ["GET", "PUT"], "path": "/*"})]


class Tls(Guarded):
    def setUp(self):
        self.folder = scratch("tls-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.authority = Authority(self.folder)

    def start_tls(self, context=None, default=None, tls=None, url=None, **options):
        """A gateway before an upstream that uses `context`."""
        self.context = context or server(self.authority.issue())
        settings = {"tls": dict({"ca": self.authority.path}, **(tls or {}))}
        if settings["tls"]["ca"] is None:
            del settings["tls"]
        settings.update(options.pop("upstream", {}))
        self.start(default, upstream=settings, url=url or "https://127.0.0.1:1", **options)
        self.upstream.tls = self.context
        settings["url"] = url or self.upstream.url
        self.gateway.restart({"upstreams": {"legacy": settings}})
        return self.gateway

    def assert_proved(self, response, end="tls_failed"):
        self.assert_told(response, 502, "upstream-unreachable", "released", state="released",
                         retry=True, new_key=True, retry_after=ANY)
        operation = self.assert_state(response, "released", end, "proved")
        last = operation["attempts"][-1]
        self.assertEqual((last["bytes_out"], last["sent_at"], last["status"]), (0, None, None))
        self.assertEqual(self.upstream.heads, [])
        return operation

    def refused(self, context=None, **options):
        """The handshake fails: proved, and the log says why; -> its reason."""
        self.start_tls(context, **options)
        self.assert_proved(self.gateway.post("k1", ORDER))
        said = self.gateway.wait_log(r'upstream\.tls_failed.*reason="?([^"\n]*)')
        self.upstream.errors.clear()  # a refused handshake is the upstream's error, too
        return said.group(1)


class Works(Tls):
    def test_guarded_and_passed(self):
        """Answers come, replays come from the record, one call was sent."""
        self.start_tls(default=answer(201, body={"ticket": 1}))
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.status, 201)
        self.assert_replay(first, self.gateway.post("k1", ORDER))
        self.assertEqual(self.gateway.request("GET", "/any").status, 201)
        self.assertEqual(self.upstream.sends, 2)

    def test_connections_are_kept(self):
        """Many calls, one connection: the tickets that came meanwhile do not count."""
        self.start_tls()
        for number in range(20):
            self.assertEqual(self.gateway.post("k%d" % number, ORDER).status, 201)
        self.assertEqual((self.upstream.sends, self.upstream.connections), (20, 1))

    def test_tls_1_2(self):
        """The older version is spoken, too."""
        self.start_tls(server(self.authority.issue(), version=ssl.TLSVersion.TLSv1_2))
        for number in range(3):
            self.assertEqual(self.gateway.post("k%d" % number, ORDER).status, 201)
        self.assertEqual(self.upstream.connections, 1)

    def test_sessions_are_resumed(self):
        """The next connection to the same upstream makes a short handshake."""
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with self.subTest(version=version):
                seen = []

                def note(exchange):
                    seen.append(exchange.sock.session_reused)
                    return answer(201, close=True)(exchange)

                self.start_tls(server(self.authority.issue(), version=version), default=note,
                               upstream={"connections": {"reuse": "never"}})
                for number in range(3):
                    self.assertEqual(self.gateway.post("k%d" % number, ORDER).status, 201)
                self.assertEqual(seen, [False, True, True])

    def test_bodies(self):
        """Megabytes both ways, streamed."""
        body = os.urandom(BIG)
        self.start_tls(default=lambda e: answer(200, body=e.request.body)(e), routes=ANY_METHOD)
        back = self.gateway.request("PUT", "/any", [("Content-Type", "x/y")], body)
        self.assertEqual((back.status, back.body == body), (200, True))

    def test_the_certificate_of_recibo(self):
        """An upstream that asks for one gets it."""
        mine = self.authority.issue("recibo", None)
        self.start_tls(server(self.authority.issue(), clients=self.authority), tls=mine.conf())
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)

    def test_name(self):
        """tls.name is what the certificate must be for, and what is asked for."""
        asked = []
        context = server(self.authority.issue("api.test", "DNS:api.test"))
        context.sni_callback = lambda sock, name, _: asked.append(name)
        self.start_tls(context, tls={"name": "api.test"})
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.assertEqual(asked, ["api.test"])

    def test_exact_bytes(self):
        """bytes_out is the length of the request as the upstream read it."""
        self.start_tls()
        response = self.gateway.post("k1", {"order": 7, "text": "x" * 100000})
        operation = self.operation_of(response)
        self.assertEqual(operation["attempts"][-1]["bytes_out"], len(self.upstream.last.raw))


class NotSent(Tls):
    def test_untrusted(self):
        """A certificate of another authority."""
        other = Authority(self.folder, "other")
        self.assertIn("unable to get local issuer", self.refused(server(other.issue())))

    def test_untrusted_by_this_system(self):
        """Without `ca` the authorities of the system are asked, and no others."""
        self.assertIn("unable to get local issuer", self.refused(tls={"ca": None}))

    def test_wrong_name(self):
        """A certificate for another host."""
        pair = self.authority.issue("other.test", "DNS:other.test")
        self.assertIn("mismatch", self.refused(server(pair)))

    def test_a_common_name_is_no_name(self):
        """A certificate without alternative names is for nobody."""
        self.assertIn("mismatch", self.refused(server(self.authority.issue("localhost", None)),
                                               tls={"name": "localhost"}))

    def test_expired(self):
        """A certificate of yesterday."""
        self.assertIn("expired", self.refused(server(self.authority.expired())))

    def test_version(self):
        """An upstream that speaks nothing newer than TLS 1.1."""
        context = server(self.authority.issue())
        context.set_ciphers("DEFAULT@SECLEVEL=0")
        context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
        self.refused(context)

    def test_client_certificate_refused_in_the_handshake(self):
        """TLS 1.2 says before its end that it wants one."""
        self.refused(server(self.authority.issue(), clients=self.authority,
                            version=ssl.TLSVersion.TLSv1_2))

    def test_plain(self):
        """An upstream that answers in the clear."""
        self.start_tls()
        self.upstream.tls = None
        self.upstream.on_connect = None
        self.upstream.stop()
        plain = self.use(_Scripted(self.upstream.port, lambda sock: sock.sendall(
            b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")))
        self.assert_proved(self.gateway.post("k1", ORDER))
        self.assertEqual(plain.count, 1)

    def test_cut_in_the_handshake(self):
        """Closes and resets before and after the first bytes of the handshake."""
        self.start_tls()
        self.upstream.stop()
        for number, act in enumerate((
                lambda sock: None,
                lambda sock: (sock.recv(1), sock.setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")),
                lambda sock: (sock.recv(4096), sock.sendall(b"\x16\x03\x03\x00\x7a\x02")))):
            with self.subTest(number), _Scripted(self.upstream.port, act):
                self.assert_proved(self.gateway.post("k%d" % number, ORDER))

    def test_timeout(self):
        """A handshake that does not go on, within timeouts.tls."""
        self.start_tls(upstream={"timeouts": {"tls": "300ms"}})
        self.upstream.stop()
        over = threading.Event()
        self.addCleanup(over.set)
        with _Scripted(self.upstream.port, lambda sock: over.wait(60)):
            self.assert_proved(self.gateway.post("k1", ORDER))
            over.set()
        self.gateway.wait_log("longer than timeouts.tls")

    def test_retried(self):
        """What was proved not sent is tried again by a route that retries."""
        self.start_tls(route={"retry": {"when": ["not_sent"], "backoff": {"base": "50ms"}}})
        good = self.upstream.tls
        self.upstream.tls = server(self.authority.expired())
        call = Background(lambda: self.gateway.post("k1", ORDER))
        self.gateway.wait_log(r"upstream\.tls_failed")
        self.upstream.tls = good
        response = call.result()
        self.assertEqual(response.status, 201)
        operation = self.operation_of(response)
        self.assertEqual({a["end"] for a in operation["attempts"][:-1]}, {"tls_failed"})
        self.assertEqual(self.upstream.sends, 1)
        self.upstream.errors.clear()


class _Scripted:
    """A listener that does one thing to whoever connects, and closes."""

    def __init__(self, port, act):
        self.count = 0
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(16)
        self._act = act
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.count += 1
            with sock:
                try:
                    self._act(sock)
                except OSError:
                    pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class Doubt(Tls):
    def test_client_certificate_refused_after_the_request(self):
        """TLS 1.3 tells it only after the request has left: that is in doubt."""
        self.start_tls(server(self.authority.issue(), clients=self.authority,
                              version=ssl.TLSVersion.TLSv1_3))
        self.upstream.stop()
        with _Scripted(self.upstream.port, self._refuse_late):
            response = self.gateway.post("k1", {"order": 7, "text": "x" * 50000})
        operation = self.assert_state(response, "unknown", "reset_no_answer")
        self.assertGreater(operation["attempts"][-1]["bytes_out"], 10000)

    def _refuse_late(self, sock):
        """A TLS 1.3 server that looks at the caller's certificate once the request is there."""
        inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context.wrap_bio(inside, outside, server_side=True)
        inside.write(sock.recv(65536))
        with self.assertRaises(ssl.SSLWantReadError):
            tls.do_handshake()
        sock.sendall(outside.read())
        got = b""
        while len(got) < 20000:
            got += sock.recv(65536)
        inside.write(got)
        with self.assertRaises(ssl.SSLError):
            tls.do_handshake()
        sock.sendall(outside.read())  # the alert
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass

    def test_an_answer_without_an_end(self):
        """Delimited by the close: whole with close_notify, cut without it."""
        def with_notify(exchange):
            close_delimited(200, body=b"whole")(exchange)
            exchange.sock.settimeout(10)
            exchange.sock.unwrap()
            return False

        self.start_tls()
        self.upstream.script(with_notify, close_delimited(200, body=b"a part"))
        first = self.gateway.post("k1", ORDER)
        self.assertEqual((first.status, first.body), (200, b"whole"))
        second = self.gateway.post("k2", ORDER)
        self.assert_state(second, "unknown", "cut_answer")

    def test_cuts_and_closes(self):
        """After the request: no answer, a part of one."""
        self.start_tls()
        self.upstream.script(cut(2, body=b"12345"), lambda exchange: False)
        self.assert_state(self.gateway.post("k1", ORDER), "unknown", "cut_answer")
        operation = self.assert_state(self.gateway.post("k2", ORDER), "unknown")
        self.assertIn(operation["end"], ("closed_no_answer", "reset_no_answer"))

    def test_a_kept_connection_that_was_closed(self):
        """Found out before a byte is handed over: another connection carries the call."""
        self.start_tls(upstream={"connections": {"idle": "60s"}})
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.upstream.drop_connections()
        self.upstream.wait_open(0)
        self.assertEqual(self.gateway.post("k2", ORDER).status, 201)
        self.assertEqual((self.upstream.sends, self.upstream.connections), (2, 2))

    def test_bytes_that_nobody_asked_for(self):
        """An answer too many on a kept connection is never the next call's."""
        def twice(exchange):
            answer(200, body=b"one")(exchange)
            answer(200, body=b"stray")(exchange)
            return True

        self.start_tls()
        self.upstream.script(twice)
        self.assertEqual(self.gateway.post("k1", ORDER).body, b"one")
        self.assertEqual(self.gateway.post("k2", ORDER).json(), {"ticket": 1})

    def test_stalled_request(self):
        """An upstream that reads nothing of a large request: what has left is counted."""
        self.start_tls(upstream={"timeouts": {"send": "400ms"}}, routes=ANY_METHOD)
        self.upstream.on_head = lambda request: hang_without_reading
        response = self.gateway.request("PUT", "/any", [("Content-Type", "x/y")],
                                        b"x" * (24 << 20))
        self.assertIn(response.status, (502, 504))


def hang_without_reading(exchange):
    exchange.upstream.stopping.wait()
    return False


class Scripted(Tls):
    """An upstream in the hands of `openssl s_server`, which says K for a key update."""

    def start_server(self):
        pair = self.authority.issue()
        self.server = subprocess.Popen(
            ["stdbuf", "-oL", "openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", pair.certificate, "-key",
             pair.key, "-tls1_3", "-crlf"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, bufsize=0)
        self.addCleanup(self._end)
        self.said = b""
        port = int(self.wait_said(rb"ACCEPT 127\.0\.0\.1:(\d+)\n").group(1))
        self.start(url="https://127.0.0.1:%d" % port,
                   upstream={"tls": {"ca": self.authority.path}, "connections": {"idle": "60s"}})

    def _end(self):
        self.server.kill()
        self.server.wait(30)
        self.server.stdin.close()
        self.server.stdout.close()

    def wait_said(self, pattern):
        while True:
            found = re.search(pattern, self.said)
            if found:
                self.said = self.said[found.end():]
                return found
            ready, _, _ = select.select([self.server.stdout], [], [], 30)
            self.assertTrue(ready, self.said)
            piece = os.read(self.server.stdout.fileno(), 65536)
            self.assertTrue(piece, self.said)
            self.said += piece

    def update_keys(self):
        self.server.stdin.write(b"K\n")
        self.wait_said(rb"SSL_do_handshake -> 1")

    def test_key_updates(self):
        """Before the answer, and on a kept connection, they are nothing but TLS's own."""
        self.start_server()
        for number in range(3):
            call = Background(lambda: self.gateway.post("k%d" % number, ORDER))
            self.wait_said(rb'"order": ?7')
            self.update_keys()
            self.server.stdin.write(b"HTTP/1.1 201 Created\nContent-Length: 4\n\nok\n")
            response = call.result()
            self.assertEqual((response.status, response.body), (201, b"ok\r\n"))
            self.assert_state(response, "completed", "answered", attempts=1)
            self.update_keys()
        self.assertNotIn(b"CONNECTION CLOSED", self.said)


class Change(Tls):
    def test_many_workers(self):
        """Files change while several workers open connections; every call is answered."""
        self.start_tls(workers=3, upstream={"connections": {"reuse": "never"}})
        for round_ in range(3):
            self.gateway.signal(signal.SIGHUP)
            statuses = parallel(12, lambda i, r=round_: self.gateway.post(
                "k%d-%d" % (r, i), ORDER).status)
            self.assertEqual(statuses, [201] * 12)

    def test_new_files(self):
        """SIGHUP takes up another authority; what is no file of certificates changes nothing."""
        self.start_tls()
        path = self.authority.path
        other = Authority(self.folder, "other")
        self.upstream.tls = server(other.issue())
        self.upstream.drop_connections()
        self.assert_proved(self.gateway.post("k1", ORDER))
        self.upstream.errors.clear()
        with open(path, encoding="ascii") as file:
            before = file.read()
        with open(path, "w", encoding="ascii") as file:
            file.write("nothing")
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_log(r"tls\.not_reloaded")
        with open(other.path, encoding="ascii") as source, open(path, "w",
                                                                encoding="ascii") as file:
            file.write(before + source.read())
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_log(r"tls\.reloaded")
        self.assertEqual(self.gateway.post("k2", ORDER).status, 201)


if __name__ == "__main__":
    main()
