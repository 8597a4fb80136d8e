"""Who calls: tokens, pages with a one-time code, peers of a Unix socket, people behind a proxy."""

import os
import shutil
import subprocess
import urllib.parse

from admin_lib import AdminCase, Case, Gateway, Upstream, answer, fetch, fin, orders, rest, token
from harness import BINARY, Client, main, parallel, scratch

ANA, ANA_ENTRY = token("ana", "read", "settle")
PROXY, PROXY_ENTRY = token("proxy", "read", "settle")
CONTROLLER, CONTROLLER_ENTRY = token("controller", "control")


class CallerCase(AdminCase):
    admin = {}

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"id": 7})))
        self.gateway = self.use(Gateway(self.upstream, changes=self.changes(), start=False))
        self.gateway.token, full = token("tester", "read", "evidence", "settle", "control")
        self.gateway.changes["admin"] = {
            "tokens": [ANA_ENTRY, PROXY_ENTRY, CONTROLLER_ENTRY, full], **self.admin}
        self.gateway.start()

    def whoami(self, headers):
        response = self.raw("GET", "/v1/whoami", headers)
        self.assertEqual(response.status, 200, response)
        return response.json()


class WhoAmI(CallerCase):
    def test_a_token_is_told_what_it_is(self):
        """Name, actor and rights, whatever the rights are; without a token 401."""
        self.assertEqual(self.whoami([self.bearer(ANA)]),
                         {"name": "ana", "actor": "token:ana", "rights": ["read", "settle"]})
        self.assertEqual(self.whoami([self.bearer(CONTROLLER)])["rights"], ["control"])
        self.assert_problem(self.raw("GET", "/v1/whoami"), 401, "unauthenticated")


class Pages(CallerCase):
    def code(self, text=ANA, headers=()):
        response = self.raw("POST", "/v1/page", [self.bearer(text), *headers], {})
        self.assertEqual(response.status, 200, response)
        return response.json()

    def redeem(self, code, headers=()):
        return self.raw("POST", "/v1/page/session", headers, {"code": code})

    def test_a_link_opens_one_page(self):
        """The code of the link is good once; the page's token has the asker's rights and actor."""
        link = self.code()
        parts = urllib.parse.urlsplit(link["url"])
        self.assertEqual((parts.scheme, parts.netloc, parts.path, parts.fragment),
                         ("http", "127.0.0.1:%d" % self.gateway.admin_port, "/",
                          "code=" + link["code"]))
        response = self.redeem(link["code"])
        self.assertEqual(response.status, 200, response)
        session = response.json()
        self.assertEqual(response.get("Cache-Control"), "no-store")
        self.assertEqual((session["name"], session["rights"]), ("ana", ["read", "settle"]))
        self.assertEqual(self.whoami([self.bearer(session["token"])]),
                         {"name": "ana", "actor": "token:ana", "rights": ["read", "settle"]})
        self.assert_problem(self.redeem(link["code"]), 401, "unauthenticated")
        operation = self.lose("k1")
        self.gateway.admin("POST", "/v1/operations/%s/claim" % operation["id"], {},
                           token=session["token"])
        self.assertEqual(self.gateway.operation(operation["id"])["audit"][0]["actor"], "token:ana")
        refused = self.raw("POST", "/v1/routes/create-order/pause",
                           [self.bearer(session["token"])], {"note": "x"})
        self.assert_problem(refused, 403, "forbidden")

    def test_the_link_follows_the_way_that_was_taken(self):
        """Asked through a tunnel, the link names the tunnel's port; a strange Host none of it."""
        link = self.code(headers=[("Host", "localhost:4711")])
        self.assertTrue(link["url"].startswith("http://localhost:4711/#code="), link)

    def test_of_many_at_once_one_gets_the_page(self):
        """Twenty who show the same code: one token is given."""
        code = self.code()["code"]
        answers = parallel(20, lambda _: self.redeem(code).status)
        self.assertEqual(sorted(answers), [200] + [401] * 19)

    def test_what_is_not_a_code_opens_nothing(self):
        """Wrong, empty, cut and foreign codes are refused, and so are bodies that are none."""
        code = self.code()["code"]
        for wrong in ("", "x", code[:-1], code + "x", code.upper(), ANA, "a" * 100000):
            with self.subTest(wrong=wrong[:40]):
                self.assert_problem(self.redeem(wrong), 401, "unauthenticated")
        for body in ({}, {"code": 1}, {"code": None}, {"code": code, "more": 1}):
            with self.subTest(body=body):
                response = self.raw("POST", "/v1/page/session", (), body)
                self.assert_problem(response, 400, "body-invalid")
        for headers, status, name in (
                ([("Origin", "http://evil.example")], 403, "foreign-origin"),
                ([("Host", "evil.example")], 421, "misdirected-request")):
            self.assert_problem(self.redeem(code, headers), status, name)
        typed = self.raw("POST", "/v1/page/session", [("Content-Type", "text/plain")],
                         '{"code": "%s"}' % code)
        self.assert_problem(typed, 415, "unsupported-media-type")
        self.assertEqual(self.redeem(code).status, 200)

    def test_a_code_is_no_token_and_a_page_asks_for_none(self):
        """A code is not taken as a token; a page cannot live on by asking for another page."""
        code = self.code()["code"]
        self.assert_problem(self.raw("GET", "/v1/whoami", [self.bearer(code)]), 401,
                            "unauthenticated")
        page = self.redeem(code).json()["token"]
        self.assert_problem(self.raw("POST", "/v1/page", [self.bearer(page)], {}), 403,
                            "forbidden")
        self.assert_problem(self.raw("POST", "/v1/page", [self.bearer(CONTROLLER)], {}), 403,
                            "forbidden")

    def test_pages_end_with_the_process(self):
        """Nothing of them is kept: after a restart code and token are good for nothing."""
        page = self.redeem(self.code()["code"]).json()["token"]
        other = self.code()["code"]
        self.gateway.restart()
        self.assert_problem(self.raw("GET", "/v1/whoami", [self.bearer(page)]), 401,
                            "unauthenticated")
        self.assert_problem(self.redeem(other), 401, "unauthenticated")

    def test_nobody_takes_the_place_of_others(self):
        """A new link ends the asker's last one, his ninth page his first; others keep theirs."""
        kept = self.redeem(self.code(self.gateway.token)["code"]).json()["token"]
        theirs = self.code(self.gateway.token)["code"]
        codes = [self.code()["code"] for _ in range(17)]
        self.assert_problem(self.redeem(codes[-2]), 401, "unauthenticated")
        self.assertEqual(self.redeem(codes[-1]).status, 200)
        pages = [self.redeem(self.code()["code"]).json()["token"] for _ in range(65)]
        for page in (pages[0], pages[-9]):
            self.assert_problem(self.raw("GET", "/v1/whoami", [self.bearer(page)]), 401,
                                "unauthenticated")
        for page in pages[-8:]:
            self.assertEqual(self.whoami([self.bearer(page)])["name"], "ana")
        self.assertEqual(self.whoami([self.bearer(kept)])["name"], "tester")
        self.assertEqual(self.redeem(theirs).status, 200)

    def test_no_secret_is_logged_or_kept(self):
        """Neither the code nor the token is in the log or in a file of the store."""
        code = self.code()["code"]
        page = self.redeem(code).json()["token"]
        self.lose("k1")
        self.gateway.stop()
        files = [os.path.join(self.gateway.directory, name)
                 for name in os.listdir(self.gateway.directory)]
        for path in files:
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    content = file.read()
                self.assertNotIn(code.encode(), content, path)
                self.assertNotIn(page.encode(), content, path)


class UnixPeers(Case):
    """The user id of the peer is the caller; a token is still taken."""

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"id": 7})))
        self.gateway = self.use(Gateway(self.upstream, changes={
            "routes": [orders(breaker="none"), rest()]}, start=False))
        self.path = os.path.join(self.gateway.directory, "admin.sock")
        _, full = token("tester", "read")
        self.gateway.changes["admin"] = {"address": "unix:" + self.path, "tokens": [full]}
        self.gateway.port = self.gateway.admin_port = 0
        self.gateway.write_configuration()
        self.gateway.launch()
        self.gateway.port = int(self.gateway.wait_log(r'listener\.opened.*?\bport"?[=:](\d+)')
                                .group(1))
        self.gateway.wait_log(r"admin\.opened")

    def test_the_owner_needs_no_token(self):
        """The user that Recibo runs as has all rights, and his id is the actor."""
        seen = fetch(self.path, "GET", "/v1/whoami")
        self.assertEqual(seen.json(), {
            "name": "uid:%d" % os.getuid(), "actor": "uid:%d" % os.getuid(),
            "rights": ["read", "evidence", "settle", "control"]})
        self.upstream.script(fin())
        told = self.gateway.post("k1", {"order": "1"})
        base = "/v1/operations/" + told.get("Idempotency-Operation")
        operation = fetch(self.path, "GET", base).json()
        settled = fetch(self.path, "POST", base + "/settle", (), {
            "verdict": "abandoned", "version": operation["version"], "note": "x"})
        self.assertEqual(settled.status, 200, settled)
        audit = fetch(self.path, "GET", base).json()["audit"]
        self.assertEqual(audit[0]["actor"], "uid:%d" % os.getuid())

    def test_a_token_goes_before_the_user(self):
        """Who shows a token is its holder, with its rights; a wrong one is no user."""
        text, _ = token("tester", "read")
        headers = [("Authorization", "Bearer " + text)]
        self.assertEqual(fetch(self.path, "GET", "/v1/whoami", headers).json()["rights"], ["read"])
        wrong = fetch(self.path, "GET", "/v1/whoami", [("Authorization", "Bearer wrong")])
        self.assert_problem(wrong, 401, "unauthenticated")

    def test_a_page_by_way_of_the_socket(self):
        """The link of a socket's caller names the Host that he used; the page acts as his user."""
        link = fetch(self.path, "POST", "/v1/page", [("Host", "localhost:9999")], {}).json()
        self.assertTrue(link["url"].startswith("http://localhost:9999/#code="))
        session = fetch(self.path, "POST", "/v1/page/session", (), {"code": link["code"]}).json()
        seen = fetch(self.path, "GET", "/v1/whoami",
                     [("Authorization", "Bearer " + session["token"])]).json()
        self.assertEqual(seen["actor"], "uid:%d" % os.getuid())
        odd = fetch(self.path, "POST", "/v1/page", [("Host", 'x"><script>')], {}).json()
        self.assertTrue(odd["url"].startswith("http://localhost/#code="), odd)

    def test_somebody_else_has_no_rights(self):
        """Another user who got hold of the socket is nobody without a token."""
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        os.chmod(self.path, 0o666)
        for path in (self.gateway.directory, os.path.dirname(self.gateway.directory)):
            mode = os.stat(path).st_mode
            os.chmod(path, mode | 0o011)
        text, _ = token("tester", "read")
        script = (
            "import os, socket, sys\n"
            "os.chdir(sys.argv[1]); os.setgid(65534); os.setuid(65534)\n"
            "for line in sys.stdin.read().split('|'):\n"
            "    s = socket.socket(socket.AF_UNIX); s.connect('admin.sock')\n"
            "    s.sendall(b'GET /v1/whoami HTTP/1.1\\r\\nConnection: close\\r\\n'\n"
            "              + line.encode() + b'\\r\\n')\n"
            "    print(s.makefile('rb').read().split(b' ')[1].decode())\n")
        lines = "|".join(["", "Authorization: Bearer %s\r\n" % text])
        done = subprocess.run(["python3", "-c", script, self.gateway.directory], input=lines,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout.split(), ["401", "200"], done.stderr)


class Proxies(CallerCase):
    admin = {"actor_header": {"name": "X-Actor", "from": ["127.0.0.2/32", "::1"]}}

    def ask(self, source, headers):
        with Client(("127.0.0.1", self.gateway.admin_port), source=source) as client:
            return client.request("GET", "/v1/whoami", headers)

    def test_a_listed_proxy_names_the_person(self):
        """From a listed address the header names the person; from others it is only a header."""
        headers = [self.bearer(PROXY), ("X-Actor", "anna müller".encode())]
        seen = self.ask("127.0.0.2", headers).json()
        self.assertEqual(seen, {"name": "anna müller", "actor": "token:proxy/anna müller",
                                "rights": ["read", "settle"]})
        self.assertEqual(self.ask("127.0.0.1", headers).json()["actor"], "token:proxy")
        self.assertEqual(self.ask("127.0.0.3", headers).json()["actor"], "token:proxy")
        self.assertEqual(self.ask("127.0.0.2", headers[:1]).json()["actor"], "token:proxy")

    def test_the_header_is_no_token(self):
        """A name alone opens nothing, and gives no right that the token has not."""
        self.assert_problem(self.ask("127.0.0.2", [("X-Actor", "anna")]), 401, "unauthenticated")
        self.assert_problem(self.ask("127.0.0.2", [("X-Actor", "anna"), self.bearer("wrong")]),
                            401, "unauthenticated")

    def test_a_name_that_is_none_is_refused(self):
        """Empty, doubled, long and broken names are not put on record; nothing is done."""
        for lines in ([("X-Actor", "")], [("X-Actor", "a"), ("X-Actor", "b")],
                      [("X-Actor", "x" * 129)], [("X-Actor", b"an\xffna")],
                      [("X-Actor", b"an\x01na")], [("X-Actor", b"an\x7fna")]):
            with self.subTest(lines=lines):
                response = self.ask("127.0.0.2", [self.bearer(PROXY), *lines])
                self.assertEqual(response.status, 400, response)
        self.assertEqual(self.ask("127.0.0.2", [self.bearer(PROXY), ("X-Actor", "x" * 128)]).status,
                         200)

    def test_the_audit_names_the_person(self):
        """What the person does through the proxy stands in the audit under both names."""
        operation = self.lose("k1")
        with Client(("127.0.0.1", self.gateway.admin_port), source="127.0.0.2") as client:
            told = client.request("POST", "/v1/operations/%s/claim" % operation["id"],
                                  [self.bearer(PROXY), ("X-Actor", "anna")], {})
        self.assertEqual(told.json()["claimed_by"], "token:proxy/anna")
        self.assertEqual(self.gateway.operation(operation["id"])["audit"][0]["actor"],
                         "token:proxy/anna")


class Configuration(Case):
    """What is said of callers in the file is judged before the start."""

    def check(self, admin, **more):
        gateway = Gateway("http://127.0.0.1:1", changes={"admin": admin, **more}, start=False,
                          directory=self.directory)
        gateway.port, gateway.admin_port = 2, 3  # nothing is bound
        gateway.write_configuration()
        return subprocess.run([BINARY, "check", "-c", gateway.path], capture_output=True, text=True,
                              timeout=60, check=False)

    def setUp(self):
        self.directory = scratch()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.assertEqual(self.check({}).returncode, 0)

    def assert_refused(self, done, path):
        """An error at that path, and no other."""
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual((done.returncode, len(errors)), (2, 1), done)
        self.assertIn(path, errors[0])

    def test_an_actor_header_needs_addresses(self):
        """Without the proxies' addresses anybody could be anybody: refused, unless trusted_proxies
        says them."""
        for header in ({"name": "X-Actor"}, {"name": "X-Actor", "from": []}):
            self.assert_refused(self.check({"actor_header": header}), "admin.actor_header.from")
        for admin, more in (({"name": "X-Actor", "from": ["127.0.0.1"]}, {}),
                            ({"name": "X-Actor"}, {"trusted_proxies": ["127.0.0.1"]})):
            done = self.check({"actor_header": admin}, **more)
            self.assertEqual(done.returncode, 0, done)

    def test_what_cannot_be_is_refused(self):
        """No name, a name that is no header, addresses that are none; peers of a socket have none."""
        for header in ({"from": ["127.0.0.1"]}, {"name": "X Actor", "from": ["127.0.0.1"]},
                       {"name": "X-Actor", "from": ["example.org"]},
                       {"name": "X-Actor", "from": ["127.0.0.1"], "more": 1}, "X-Actor"):
            with self.subTest(header=header):
                self.assert_refused(self.check({"actor_header": header}), "admin.actor_header")
        done = self.check({"address": "unix:/tmp/x.sock", "actor_header": {
            "name": "X-Actor", "from": ["127.0.0.1"]}})
        self.assert_refused(done, "admin.actor_header")

    def test_on_a_socket_somebody_can_settle(self):
        """The owner of the process may settle over the socket: no warning that nobody can."""
        done = self.check({"address": "unix:%s/x.sock" % self.directory, "tokens": None})
        self.assertEqual(done.returncode, 0, done)
        self.assertNotIn("nobody can settle", done.stdout + done.stderr)


if __name__ == "__main__":
    main()
