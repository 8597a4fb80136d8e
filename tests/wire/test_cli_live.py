"""recibo check --live: the upstreams as they answer now, asked with GETs and nothing else."""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from certificates import Authority, server  # noqa: E402
from harness import (BINARY, Case, Upstream, answer, configuration, free_port, main,  # noqa: E402
                     orders, raw, rest, scratch)

PLAIN = {"rules": [{"status": 302, "header": {"Location": "*"}, "means": "refused"}]}


class Live(Case):
    def setUp(self):
        self.folder = scratch("live-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def check(self, url, **changes):
        changes = {"routes": [orders(outcome=PLAIN), rest()], **changes}
        with open(os.path.join(self.folder, "recibo.yaml"), "w", encoding="utf-8") as file:
            json.dump(configuration(url, changes), file)
        return subprocess.run([BINARY, "check", "--live"], cwd=self.folder, capture_output=True,
                              text=True, check=False, timeout=60)

    def look(self, act, **changes):
        """-> (exit code, what was told) of an upstream that answers so."""
        self.upstream = self.use(Upstream(act))
        done = self.check(self.upstream.url, **changes)
        methods = {received.method for received in self.upstream.requests}
        self.assertLessEqual(methods, {"GET"})
        for received in self.upstream.requests:
            self.assertIsNone(received.get("Authorization"))
            self.assertIsNone(received.get("Cookie"))
        return done.returncode, done.stdout

    def test_all_is_well(self):
        """It is reached, connections are kept, / and the plain paths were asked for; exit 0."""
        code, text = self.look(answer(200, body=b"hello"))
        self.assertEqual(code, 0, text)
        self.assertIn("it keeps connections", text)
        self.assertNotRegex(text, "PROBLEM|warning")
        self.assertEqual([r.target for r in self.upstream.requests], ["/", "/", "/orders"])
        self.assertEqual({r.get("Host") for r in self.upstream.requests},
                         {self.upstream.url.split("//")[1]})

    def test_over_tls(self):
        """https is verified as it is for callers: a known authority, and the name of the url."""
        authority = Authority(self.folder)
        self.upstream = self.use(Upstream(answer(200, body=b"hello"),
                                          tls=server(authority.issue("localhost"))))
        url = self.upstream.url
        self.assertTrue(url.startswith("https://"), url)
        known = {"legacy": {"url": url, "tls": {"ca": authority.path}}}
        done = self.check(url, upstreams=known)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("it keeps connections", done.stdout)
        self.assertEqual({r.method for r in self.upstream.requests}, {"GET"})
        for changes in ({"legacy": {"url": url}},
                        {"legacy": {"url": url, "tls": {"ca": authority.path,
                                                        "name": "other.example"}}}):
            done = self.check(url, upstreams=changes)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("TLS: ", done.stdout)

    def test_a_prefix(self):
        """The path of the upstream's url stands before each path."""
        self.upstream = self.use(Upstream(answer(404)))
        done = self.check(self.upstream.url + "/v1")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual({r.target for r in self.upstream.requests}, {"/v1/", "/v1/orders"})

    def test_it_is_not_reached(self):
        """Nobody listens, no such name, no HTTP, no answer at all: a problem, exit 1."""
        cases = ("http://127.0.0.1:%d" % free_port(), "http://nowhere.invalid:1")
        for url in cases:
            done = self.check(url)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("PROBLEM   it cannot be reached", done.stdout)
        for act in (raw(b"SSH-2.0-OpenSSH\r\n"), raw(b""), raw(b"HTTP/1.1 200 OK\r\nContent-Le")):
            code, text = self.look(act)
            self.assertEqual(code, 1, text)
            self.assertIn("PROBLEM   it gives no answer that can be used", text)

    def test_connections_are_closed(self):
        """By its word or by its deed: a warning, exit 0."""
        code, text = self.look(answer(200, [("Connection", "close")], b"x", close=True))
        self.assertEqual(code, 0, text)
        self.assertIn("warning   it closes each connection", text)
        code, text = self.look(raw(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx"))
        self.assertIn("warning   it closes each connection", text)
        code, text = self.look(raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"))
        self.assertEqual(code, 0, text)
        self.assertIn("warning   it says that it keeps the connection, and does not", text)

    def test_a_login_of_a_connection(self):
        """NTLM and Negotiate are a problem while connections are shared."""
        for scheme in ("NTLM", "Negotiate", "Basic realm=x, negotiate"):
            code, text = self.look(answer(401, [("WWW-Authenticate", scheme)]))
            self.assertEqual((code, text.count("PROBLEM")), (1, 1), text)
            self.assertIn("reuse: never", text)
        code, text = self.look(answer(401, [("WWW-Authenticate", "Basic realm=x")]))
        self.assertEqual((code, "PROBLEM" in text), (0, False), text)

    def test_it_redirects_to_https(self):
        """Told once."""
        code, text = self.look(answer(301, [("Location", "https://api.example/")]))
        self.assertEqual((code, text.count("PROBLEM")), (1, 1), text)
        self.assertIn("https://api.example/", text)
        code, text = self.look(answer(301, [("Location", "/login")]))
        self.assertEqual((code, "PROBLEM" in text), (0, False), text)

    def test_addresses_that_lead_round(self):
        """Its own address in a field or a body is a warning; another one is not."""
        def at(where):
            def act(exchange):
                own = exchange.request.get("Host")
                address = ("http://%s/x" % own).encode()
                if where == "Location":
                    return answer(201, [("Location", address.decode())])(exchange)
                if where == "body":
                    return answer(200, body=b'{"self": "' + address + b'"}')(exchange)
                return answer(200, body=b'{"self": "http://' + own.encode() + b'0/x"}')(exchange)
            return act
        for where in ("Location", "body"):
            code, text = self.look(at(where))
            self.assertEqual((code, text.count("leads callers round Recibo")), (0, 1), text)
        code, text = self.look(at("elsewhere"))
        self.assertNotIn("leads callers", text)

    def test_hostile_answers(self):
        """Nothing of an answer reaches the terminal as an order."""
        value = "https://x/\x1b[2J".encode().decode("latin-1")
        _, text = self.look(answer(301, [("Location", value.replace("\x1b", "\x9b"))]))
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")

    def test_one_thing_at_a_time(self):
        """--live, --expect and --json exclude each other: exit 2, nothing is asked."""
        self.upstream = self.use(Upstream(answer(200)))
        self.check(self.upstream.url)
        asked = self.upstream.sends
        for options in (("--live", "--json"), ("--live", "--expect", "x"), ("--json", "--expect", "x")):
            done = subprocess.run([BINARY, "check", *options], cwd=self.folder,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
        self.assertEqual(self.upstream.sends, asked)


if __name__ == "__main__":
    main()
