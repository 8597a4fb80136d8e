"""TLS towards callers: versions, protocols, names, client certificates, and that what is
promised without TLS is promised with it."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from certificates import Authority, run  # noqa: E402
from guarded import ORDER, Guarded  # noqa: E402
from harness import (Client, Closed, Gateway, Upstream, answer, chunked, fetch,  # noqa: E402
                     main, orders, parallel, rest, scratch, wait, wait_until)

BIG = 3 << 20
LARGE = 600 << 10
PEM = "-----BEGIN CERTIFICATE-----"


def tls_request(key):
    return (b"POST /orders HTTP/1.1\r\nHost: h\r\nIdempotency-Key: %s\r\nConnection: close\r\n"
            b"Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"order\":7}"
            % key.encode())


class Tls(Guarded):
    def setUp(self):
        self.folder = scratch("tls-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.authority = Authority(self.folder)
        self.pair = self.authority.issue()

    def start_tls(self, default=None, tls=None, **top):
        pair = dict(self.pair.conf(), **(tls or {}))
        return self.start(default, listen=[{"tls": pair}], **top)

    def client(self, trust=None, **options):
        return self.use(Client(self.gateway.port, tls=trust or self.authority.trust(), **options))

    def post(self, key, body=ORDER, client=None):
        return (client or self.client()).request("POST", "/orders", [("Idempotency-Key", key)],
                                                 body)

    def s_client(self, *words):
        """What `openssl s_client` says of the listener."""
        result = subprocess.run(["openssl", "s_client", "-connect",
                                 "127.0.0.1:%d" % self.gateway.port, "-CAfile",
                                 self.authority.path, *words], input="", capture_output=True,
                                text=True, timeout=60, check=False)
        return result.stdout + result.stderr

    def raw(self):
        sock = socket.create_connection(("127.0.0.1", self.gateway.port), 30)
        self.addCleanup(sock.close)
        return sock


class Promises(Tls):
    def test_a_repeat_is_replayed(self):
        """A repeat over another TLS connection gets the recorded answer; one call was sent."""
        self.start_tls()
        first = self.post("k1")
        self.assertEqual(first.status, 201)
        self.assert_replay(first, self.post("k1"))
        self.assertEqual(self.upstream.sends, 1)

    def test_a_kept_connection_carries_many(self):
        """Requests one after the other on one connection, guarded and passed."""
        self.start_tls()
        client = self.client()
        for number in range(20):
            self.assertEqual(self.post("k%d" % number, client=client).status, 201)
            self.assertEqual(client.request("GET", "/any").status, 201)
        self.assertEqual(self.upstream.sends, 40)

    def test_big_bodies_both_ways(self):
        """Megabytes in and out come as they were sent, on guarded and on passed routes."""
        body = os.urandom(BIG)
        self.start_tls(lambda exchange: answer(200, body=exchange.request.body)(exchange),
                       routes=[orders(), rest(match={"methods": ["PUT"], "path": "/*"})])
        client = self.client()
        back = client.request("PUT", "/any", [("Content-Type", "application/octet-stream")], body)
        self.assertEqual((back.status, back.body == body), (200, True))
        order = {"order": 7, "text": "x" * LARGE}
        first = self.post("k1", order, client)
        self.assertEqual(first.json(), order)
        self.assert_replay(first, self.post("k1", order, client))

    def test_a_reader_who_waits(self):
        """An answer that does not fit into the sockets comes whole to who reads late."""
        body = os.urandom(BIG * 4)
        self.start_tls(answer(200, body=body))
        client = self.client()
        client.send("GET", "/any")
        self.upstream.wait_for(1)
        other = self.client()
        other.send("GET", "/any")
        for one in (client, other):
            self.assertTrue(one.read_response().body == body)

    def test_a_byte_at_a_time(self):
        """A caller whose every byte is a packet of its own, in the handshake and after."""
        self.start_tls()
        trust = self.authority.trust()
        inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trust.wrap_bio(inside, outside, server_hostname="localhost")
        sock = self.raw()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def pump():
            for byte in outside.read():
                sock.sendall(bytes([byte]))
            inside.write(sock.recv(1))

        def until_done(call):
            while True:
                try:
                    return call()
                except ssl.SSLWantReadError:
                    pump()

        until_done(tls.do_handshake)
        tls.write(tls_request("k1"))
        got = b""
        while b'{"ticket": 1}' not in got:
            got += until_done(lambda: tls.read(1))
        self.assertTrue(got.startswith(b"HTTP/1.1 201 "), got)

    def test_streams_of_passed_routes(self):
        """A chunked answer comes through in pieces, and the connection is used again."""
        pieces = [b"a" * 70000, b"b", b"c" * 20000]
        self.start_tls(chunked(pieces))
        client = self.client()
        for _ in range(3):
            self.assertEqual(client.request("GET", "/any").body, b"".join(pieces))

    def test_the_upstream_hears_of_it(self):
        """The scheme of the caller goes on to the upstream."""
        self.start_tls()
        self.client().request("GET", "/any", [("X-Forwarded-Proto", "http")])
        self.assertEqual(self.upstream.last.all("X-Forwarded-Proto"), ["https"])
        self.assertEqual(self.upstream.last.all("Forwarded"), ["for=127.0.0.1;proto=https"])

    def test_half_closed(self):
        """A caller who has said goodbye still gets the answer to what he asked before."""
        released = threading.Event()
        self.start_tls(wait(released, answer(201, body=b"late")))
        inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.authority.trust().wrap_bio(inside, outside, server_hostname="localhost")
        sock = self.raw()

        def until_done(call):
            while True:
                try:
                    result = call()
                    sock.sendall(outside.read())
                    return result
                except ssl.SSLWantReadError:
                    sock.sendall(outside.read())
                    inside.write(sock.recv(65536))

        until_done(tls.do_handshake)
        tls.write(tls_request("k1"))
        with self.assertRaises(ssl.SSLWantReadError):
            tls.unwrap()
        sock.sendall(outside.read())
        self.upstream.wait_for(1)
        released.set()
        got = b""
        while not got.endswith(b"late"):
            got += until_done(lambda: tls.read(65536))
        self.assertTrue(got.startswith(b"HTTP/1.1 201 "), got)

    def test_close_is_told(self):
        """Where the connection ends, TLS ends before it: no caller sees a cut."""
        self.start_tls()
        client = self.client()
        response = client.request("GET", "/any", [("Connection", "close")])
        self.assertEqual(response.status, 201)
        self.assertEqual(client.sock.recv(1), b"")  # an SSLError without close_notify


class Handshake(Tls):
    def test_versions(self):
        """1.2 and 1.3 are spoken, nothing older."""
        self.start_tls()
        for version, name in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
            self.assertIn("New, %s" % name, self.s_client(version))
        for version in ("-tls1", "-tls1_1"):
            said = self.s_client(version, "-cipher", "DEFAULT@SECLEVEL=0")
            self.assertNotIn(PEM, said)

    def test_protocols(self):
        """http/1.1 is chosen from any list; a list without it is refused in the handshake."""
        self.start_tls()
        self.assertIn("ALPN protocol: http/1.1", self.s_client("-alpn", "h2,http/1.1"))
        said = self.s_client("-alpn", "h2")
        self.assertIn("no application protocol", said)
        self.assertIn("No ALPN negotiated", self.s_client())

    def test_no_early_data(self):
        """A ticket allows no early data."""
        self.start_tls()
        session = os.path.join(self.folder, "session")
        client = self.client()
        self.assertEqual(client.request("GET", "/any").status, 201)
        said = subprocess.run(
            ["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.gateway.port, "-CAfile",
             self.authority.path, "-tls1_3", "-sess_out", session, "-ign_eof"],
            input="GET /any HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
            capture_output=True, text=True, timeout=60, check=False).stdout
        self.assertIn("Max Early Data: 0", said)
        self.assertIn("Reused, TLSv1.3", self.s_client("-tls1_3", "-sess_in", session))

    def test_renegotiation_is_refused(self):
        """TLS 1.2 callers cannot begin another handshake."""
        self.start_tls()
        result = subprocess.run(
            ["openssl", "s_client", "-connect", "127.0.0.1:%d" % self.gateway.port, "-CAfile",
             self.authority.path, "-tls1_2"], input="R\n", capture_output=True, text=True,
            timeout=60, check=False)
        self.assertIn("no renegotiation", result.stdout + result.stderr)

    def test_names(self):
        """The certificate of the name that is asked for; else the first one."""
        other = self.authority.issue("other.test", "DNS:other.test,DNS:*.wild.test")
        self.start_tls(tls={"certificates": [other.conf()]})
        for name, shown in (("localhost", "CN = localhost"), ("other.test", "CN = other.test"),
                            ("a.wild.test", "CN = other.test"), ("nobody.test", "CN = localhost")):
            said = self.s_client("-servername", name)
            self.assertRegex(said, r"subject=%s\n" % shown)

    def test_nonsense(self):
        """Plain HTTP, silence and cuts on a TLS port hurt nobody else."""
        self.start_tls(limits={"head_time": "300ms"})
        plain = self.raw()
        plain.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        silent, cut = self.raw(), self.raw()
        cut.sendall(b"\x16\x03\x01\x02\x00\x01")
        cut.shutdown(socket.SHUT_WR)
        for sock in (plain, cut, silent):
            sock.settimeout(30)
            while True:
                try:
                    got = sock.recv(4096)
                except ConnectionResetError:
                    break
                self.assertFalse(got.startswith(b"HTTP/"), got)
                if not got:
                    break
        self.assertEqual(self.post("k1").status, 201)
        self.assertEqual(self.upstream.sends, 1)


class Certificates(Tls):
    def test_optional(self):
        """Without one, and with one of the authority; never with another's."""
        other = Authority(self.folder, "other")
        mine = self.authority.issue("caller", "URI:spiffe://test/caller")
        self.start_tls(tls={"client_ca": self.authority.path})
        self.assertEqual(self.post("k1").status, 201)
        self.assertEqual(
            self.post("k2", client=self.client(self.authority.trust(mine))).status, 201)
        with self.assertRaises((ssl.SSLError, OSError, Closed)):
            self.post("k3", client=self.client(self.authority.trust(other.issue("caller"))))
        expired = self.authority.expired(name="caller")
        with self.assertRaises((ssl.SSLError, OSError, Closed)):
            self.post("k4", client=self.client(self.authority.trust(expired)))
        self.assertEqual(self.upstream.sends, 2)

    def test_required(self):
        """Who has none cannot ask anything."""
        mine = self.authority.issue("caller", None)
        self.start_tls(tls={"client_ca": self.authority.path, "client_certificate": "required"})
        with self.assertRaises((ssl.SSLError, OSError, Closed)):
            self.post("k1")
        self.assertEqual(
            self.post("k2", client=self.client(self.authority.trust(mine))).status, 201)
        self.assertEqual(self.upstream.sends, 1)

    def test_curl(self):
        """curl with a client certificate."""
        mine = self.authority.issue("caller", None)
        self.start_tls(tls={"client_ca": self.authority.path, "client_certificate": "required"})
        result = subprocess.run(
            ["curl", "-s", "-S", "--cacert", self.authority.path, "--cert", mine.certificate,
             "--key", mine.key, "-H", "Idempotency-Key: k1", "-H",
             "Content-Type: application/json", "--data", '{"order": 7}', "-w", "%{http_code}",
             "https://localhost:%d/orders" % self.gateway.port],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(result.stdout, '{"ticket": 1}201', result.stderr)

    def test_resumption_keeps_the_certificate(self):
        """A resumed session is let in by what the first one showed."""
        mine = self.authority.issue("caller", None)
        self.start_tls(tls={"client_ca": self.authority.path, "client_certificate": "required"})
        trust = self.authority.trust(mine)
        first = self.client(trust)
        self.assertEqual(self.post("k1", client=first).status, 201)
        sock = trust.wrap_socket(self.raw(), server_hostname="localhost",
                                 session=first.sock.session)
        self.addCleanup(sock.close)
        sock.sendall(b"GET /any HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        self.assertTrue(sock.recv(64).startswith(b"HTTP/1.1 201 "))
        self.assertTrue(sock.session_reused)


class Change(Tls):
    def shown(self):
        pem = ssl.get_server_certificate(("127.0.0.1", self.gateway.port))
        return run(self.folder, "x509", "-noout", "-serial", "-in", self.save(pem))

    def save(self, text):
        path = os.path.join(self.folder, "shown.pem")
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        return path

    def test_a_new_certificate_under_load(self):
        """New files are taken up by themselves; no request fails, no connection is lost."""
        self.start_tls(workers=3)
        before = self.shown()
        stop, failures, done = threading.Event(), [], []

        def load(number):
            kept = Client(self.gateway.port, tls=self.authority.trust())
            while not stop.is_set():
                try:
                    one = kept.request("GET", "/any").status
                    other = fetch(self.gateway.port, "GET", "/any",
                                  tls=self.authority.trust()).status
                    if (one, other) != (201, 201):
                        failures.append((one, other))
                    done.append(number)
                except Exception as error:  # noqa: B902 - counted
                    failures.append(error)
            kept.close()

        threads = [threading.Thread(target=load, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(done) > 10)
        self.authority.issue().copy_to(self.pair)
        wait_until(lambda: self.shown() != before)
        more = len(done) + 10
        wait_until(lambda: len(done) > more)
        stop.set()
        for thread in threads:
            thread.join(60)
        self.assertEqual(failures, [])

    def test_sighup(self):
        """SIGHUP has the files read at once."""
        self.start_tls()
        before = self.shown()
        self.authority.issue().copy_to(self.pair)
        self.gateway.signal(signal.SIGHUP)
        wait_until(lambda: self.shown() != before)

    def test_what_cannot_be_used_changes_nothing(self):
        """A key of another certificate: the earlier pair stays, and the log says why."""
        self.start_tls()
        before = self.shown()
        shutil.copy(self.authority.issue().key, self.pair.key)
        self.gateway.signal(signal.SIGHUP)
        self.gateway.wait_log(r"tls\.not_reloaded")
        self.assertEqual(self.shown(), before)
        self.assertEqual(self.post("k1").status, 201)


class Operators(Tls):
    def test_the_plane(self):
        """The operator's plane over TLS, many calls at once, each answered whole."""
        upstream = self.use(Upstream())
        gateway = Gateway(upstream, {"admin": {"tls": self.pair.conf()}}, start=False)
        gateway.wait_ready = lambda *_: gateway.wait_log(r"recibo\.ready")
        self.gateway = self.use(gateway)
        gateway.start()

        def ask(number):
            return fetch(gateway.admin_port, "GET", "/v1/summary",
                         [("Authorization", "Bearer " + gateway.token)],
                         tls=self.authority.trust()).status

        self.assertEqual(parallel(8, ask), [200] * 8)
        kept = self.use(Client(gateway.admin_port, tls=self.authority.trust()))
        for _ in range(50):
            self.assertEqual(kept.request("GET", "/healthz").status, 200)
        last = kept.request("GET", "/healthz", [("Connection", "close")])
        self.assertEqual((last.status, kept.sock.recv(1)), (200, b""))
        named = kept.encode("GET", "/healthz", [("Host", "admin.test:8081")])
        again = self.use(Client(gateway.admin_port, tls=self.authority.trust()))
        again.send_raw(named)
        self.assertEqual(again.read_response().status, 200)  # the certificate is what protects
        with self.assertRaises((OSError, Closed)):
            fetch(gateway.admin_port, "GET", "/healthz", timeout=10)
        self.ask_by_command(gateway)

    def ask_by_command(self, gateway):
        """The command line, with the authority and without it."""
        where = {"RECIBO_ADMIN": "https://127.0.0.1:%d" % gateway.admin_port}
        done = gateway.cli("backlog", "--admin-ca", self.authority.path, env=where)
        self.assertEqual(done.returncode, 0, done)
        done = gateway.cli("backlog", "-c", gateway.path, env={
            "RECIBO_ADMIN": "", "RECIBO_ADMIN_CA": self.authority.path})
        self.assertEqual(done.returncode, 0, done)
        done = gateway.cli("backlog", env=where)
        self.assertEqual(done.returncode, 5, done)
        self.assertIn("TLS: unable to get local issuer certificate", done.stderr)
        self.assertIn("Nothing was asked.", done.stderr)


if __name__ == "__main__":
    main()
