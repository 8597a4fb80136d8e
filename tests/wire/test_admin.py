"""The operator plane: who may call, what is listed and shown, health and metrics."""

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import unittest

from admin_lib import (ALPHABET, AdminCase, Case, Client, Gateway, Upstream, answer, fetch, json,
                       orders, rest, token, wait_until)
from harness import free_port, main, wait

READER, READER_ENTRY = token("reader", "read")
SETTLER, SETTLER_ENTRY = token("settler", "read", "settle")


class Access(AdminCase):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"id": 7})))
        self.gateway = self.use(Gateway(self.upstream, changes=self.changes(), start=False))
        self.gateway.token, full = token("tester", "read", "evidence", "settle", "control")
        self.gateway.changes["admin"] = {"tokens": [READER_ENTRY, SETTLER_ENTRY, full]}
        self.gateway.start()

    def test_every_call_but_the_open_ones_needs_a_token(self):
        """Without a valid token: 401 with a challenge, whether the address exists or not."""
        for path in ("/v1/operations", "/v1/summary", "/v1/nothing", "/nothing", "/v1/routes"):
            for headers in ([], [("Authorization", "Bearer wrong")],
                            [("Authorization", "Basic " + self.gateway.token)],
                            [("Authorization", "Bearer ")], [self.bearer(), self.bearer()]):
                with self.subTest(path=path, headers=headers):
                    response = self.raw("GET", path, headers)
                    self.assert_problem(response, 401, "unauthenticated")
                    self.assertTrue(response.get("WWW-Authenticate").startswith("Bearer"))
        for path in ("/healthz", "/readyz", "/metrics"):
            self.assertEqual(self.raw("GET", path).status, 200, path)

    def test_a_token_may_do_what_its_rights_say(self):
        """A missing right is 403 and changes nothing; evidence hides headers and bodies."""
        operation = self.lose("k1", {"order": "secret-body"})
        base = "/v1/operations/" + operation["id"]
        cases = [(READER, "POST", base + "/settle"), (READER, "GET", base + "/request"),
                 (SETTLER, "GET", base + "/response"),
                 (SETTLER, "POST", "/v1/routes/create-order/pause")]
        for text, method, path in cases:
            with self.subTest(path=path):
                response = self.raw(method, path, [self.bearer(text)],
                                    {"note": "x"} if method == "POST" else None)
                self.assert_problem(response, 403, "forbidden")
        seen = self.raw("GET", base, [self.bearer(READER)])
        self.assertEqual(seen.status, 200)
        self.assertNotIn("request", seen.json())
        self.assertEqual(seen.json()["labels"], {"order": "secret-body"})
        self.assertIn("secret-body", self.gateway.operation(operation["id"])["request"]["body"])
        self.assertEqual(self.gateway.operation(operation["id"])["version"], operation["version"])

    def test_a_foreign_host_or_origin_is_refused(self):
        """A name that somebody else can point here is no name of ours, nor is his page ours."""
        port = self.gateway.admin_port
        for host in ("evil.example:%d" % port, "evil.example", "127.0.0.1.evil.example",
                     "localhost.evil.example:%d" % port, "10.0.0.1:%d" % port, "[::2]", "a b", "",
                     "localhost:80x", "[::1"):
            for path in ("/v1/summary", "/healthz", "/metrics"):
                with self.subTest(host=host, path=path):
                    response = self.raw("GET", path, [("Host", host), self.bearer()])
                    self.assert_problem(response, 421, "misdirected-request")
        for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "127.1.2.3", "[::1]:%d" % port):
            with self.subTest(host=host):
                self.assertEqual(self.raw("GET", "/v1/summary", [("Host", host), self.bearer()])
                                 .status, 200)
        own = "127.0.0.1:%d" % port
        for origin in ("http://evil.example", "null", "http://localhost:%d" % port, "http://",
                       "https://127.0.0.1:1", "file://" + own):
            with self.subTest(origin=origin):
                response = self.raw("GET", "/v1/summary", [self.bearer(), ("Origin", origin)])
                self.assert_problem(response, 403, "foreign-origin")
        response = self.raw("GET", "/v1/summary", [self.bearer(), ("Origin", "http://" + own)])
        self.assertEqual(response.status, 200)
        self.assertIsNone(response.get("Access-Control-Allow-Origin"))

    def test_changing_calls_insist_on_json(self):
        """A form or plain text is 415, so that no page can send one without asking first."""
        operation = self.lose("k1")
        path = "/v1/operations/%s/settle" % operation["id"]
        body = json.dumps({"verdict": "abandoned", "version": operation["version"], "note": "x"})
        for types in ([], ["text/plain"], ["application/x-www-form-urlencoded"],
                      ["application/jsonp"], ["text/json"], ["application/json", "text/plain"],
                      ["text/plain; application/json"]):
            with self.subTest(types=types):
                response = self.raw("POST", path, [self.bearer()]
                                    + [("Content-Type", each) for each in types], body)
                self.assert_problem(response, 415, "unsupported-media-type")
                self.assertEqual(response.get("Accept"), "application/json")
        self.assertEqual(self.gateway.operation(operation["id"])["state"], "unknown")
        done = self.raw("POST", path, [self.bearer(), ("Content-Type",
                                                       "application/json; charset=utf-8")], body)
        self.assertEqual(done.status, 200, done)

    def test_methods_and_addresses(self):
        """GET changes nothing: 405 with Allow; what is not there is 404; HEAD has no body."""
        for method, path, allow in (("GET", "/v1/routes/create-order/pause", "POST"),
                                    ("DELETE", "/v1/operations", "GET, HEAD"),
                                    ("PUT", "/v1/summary", "GET, HEAD"),
                                    ("POST", "/v1/audit", "GET, HEAD")):
            response = self.raw(method, path, [self.bearer()])
            self.assert_problem(response, 405, "method-not-allowed")
            self.assertEqual(response.get("Allow"), allow)
        self.assertFalse(self.gateway.admin("GET", "/v1/routes")[2]["routes"][0]["paused"])
        for path in ("/v1/nothing", "/v1/operations/", "/v1/operations/op_x", "/v1",
                     "/v1/operations/op_" + "u" * 26, "/v1/operations/op_" + "a" * 27,
                     "/v1/operations/op_" + "a" * 26, "/v1/operations/op_%61" + "a" * 25 + "/x",
                     "//v1/operations", "/v1/operations/../summary"):
            with self.subTest(path=path):
                self.assert_problem(self.raw("GET", path, [self.bearer()]), 404, "not-found")
        self.assert_problem(self.raw("GET", "/v1/operations/op_%zz", [self.bearer()]), 400,
                            "bad-request")
        head = self.raw("HEAD", "/v1/summary", [self.bearer()])
        self.assertEqual((head.status, head.body), (200, b""))

    def test_answers_cannot_be_run_by_a_browser(self):
        """What a caller stored is JSON text or a download, never a page."""
        evil = "<img src=x onerror=alert(1)></script><script>"
        operation = self.lose("k1", {"order": evil}, path="/orders?q=" + "%3Cscript%3E")
        for path in ("/v1/operations", "/v1/operations/%s" % operation["id"],
                     "/v1/operations/%s/why" % operation["id"], "/v1/x?<script>"):
            response = self.raw("GET", path, [self.bearer()])
            self.assertIn(response.get("Content-Type"),
                          ("application/json", "application/problem+json"))
            self.assertEqual(response.get("X-Content-Type-Options"), "nosniff")
            self.assertIn("default-src 'none'", response.get("Content-Security-Policy"))
            self.assertEqual(response.get("Cache-Control"), "no-store")
        response = self.raw("GET", "/v1/operations/%s/request" % operation["id"], [self.bearer()])
        self.assertEqual(response.json(), {"order": evil})
        self.assertEqual(response.get("Content-Type"), "application/octet-stream")
        self.assertEqual(response.get("X-Content-Type-Options"), "nosniff")
        self.assertTrue(response.get("Content-Disposition").startswith("attachment"))
        none = self.raw("GET", "/v1/operations/%s/response" % operation["id"], [self.bearer()])
        self.assert_problem(none, 404, "not-found")

    def test_bodies_are_read_strictly(self):
        """Broken, doubled, deep, unknown and large bodies are refused with their place."""
        operation = self.lose("k1")
        path = "/v1/operations/%s/settle" % operation["id"]
        good = '"verdict":"abandoned","version":%d,"note":"x"' % operation["version"]
        bad = ["", "{", "[]", "null", "{%s,}" % good, "{%s}x" % good, "{%s,\"note\":\"y\"}" % good,
               "{%s,\"n\\u006fte\":\"y\"}" % good, "{%s,\"extra\":1}" % good,
               "{%s,\"response\":%s}" % (good, "[" * 40 + "]" * 40), b"{\"note\":\"\xff\"}",
               "[" * 100000, "{%s,\"force\":1}" % good, "{%s,\"response\":{\"status\":200}}" % good]
        for body in bad:
            with self.subTest(body=body[:60]):
                response = self.raw("POST", path, [self.bearer(), ("Content-Type",
                                                                   "application/json")], body)
                self.assert_problem(response, 400, "body-invalid")
        response = self.raw("POST", path, [self.bearer(), ("Content-Type", "application/json")],
                            "{\n  \"verdict\": oops}")
        self.assertIn("line 2, column 14", response.json()["detail"])
        large = "{%s,\"x\":\"%s\"}" % (good, "y" * (3 << 20))
        response = self.raw("POST", path, [self.bearer(), ("Content-Type", "application/json")],
                            large)
        self.assert_problem(response, 413, "content-too-large")
        self.assertEqual(self.gateway.operation(operation["id"])["state"], "unknown")


class Lists(AdminCase):
    def test_an_operation_has_its_members(self):
        """The members that programs rely on, with their types."""
        operation = self.lose("k1", {"order": 41})
        self.assertEqual(self.gateway.post("k1", {"order": 41}).status, 409)
        listed = self.gateway.operations(state="unknown")[0]
        want = {"id": operation["id"], "state": "unknown", "phase": None,
                "reason": "needs_reconciliation", "route": "create-order", "owner": "tester",
                "key": "k1", "method": "POST", "target": "/orders", "labels": {"order": "41"},
                "end": "closed_no_answer", "attempts": 1, "next_attempt_at": None, "repeats": 1,
                "cancel_requested": False, "promised": False, "contradicted": False,
                "compensates": None}
        self.assertEqual({name: listed[name] for name in want}, want)
        self.assertTrue(set(listed["id"][3:]) <= ALPHABET and len(listed["id"]) == 29)
        for name in ("created_at", "updated_at"):
            self.assertRegex(listed[name], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        one = self.gateway.operation(operation["id"])
        attempt = one["attempts"][0]
        self.assertEqual((attempt["number"], attempt["end"], attempt["basis"]),
                         (1, "closed_no_answer", "none"))
        self.assertEqual(attempt["upstream"], "127.0.0.1:%d" % self.upstream.port)
        self.assertGreater(attempt["bytes_out"], 0)
        self.assertEqual(one["audit"], [])
        self.assertEqual(one["client_sees"]["now"]["code"], "outcome-unknown")
        self.assertTrue(one["client_sees"]["not_executed"]["sent_upstream"])
        self.assertEqual(one["client_sees"]["abandoned"]["code"], "operation-abandoned")
        self.assertIsNone(one["client_sees"]["reopen"])

    def test_filters_choose(self):
        """Every filter finds what it names and nothing else; a wrong one is refused."""
        first, second = self.lose("k1", {"order": "a b"}), self.lose("k2")
        self.gateway.post("k3", {"order": "done"})
        self.settle(second, "abandoned")
        every = {"k1", "k2", "k3"}
        cases = [({}, every), ({"state": "unknown"}, {"k1"}), ({"state": "completed"}, {"k3"}),
                 ({"state": "unknown,abandoned"}, {"k1", "k2"}), ({"key": "k2"}, {"k2"}),
                 ({"route": "create-order"}, every), ({"route": "nobody"}, set()),
                 ({"owner": "tester"}, every), ({"owner": "x"}, set()), ({"end": "answered"}, {"k3"}),
                 ({"label.order": "a b"}, {"k1"}), ({"label.order": "a"}, set()),
                 ({"label.none": "a"}, set()), ({"older_than": "1h"}, set()),
                 ({"newer_than": "1h"}, every), ({"created_after": "2020-01-01T00:00:00Z"}, every),
                 ({"created_before": "2020-01-01T00:00:00.500Z"}, set()),
                 ({"created_before": first["created_at"], "key": "k3"}, set()),
                 ({"contradicted": "true"}, set()), ({"state": "unknown", "key": "k2"}, set())]
        for query, keys in cases:
            with self.subTest(query=query):
                found = {each["key"] for each in self.gateway.operations(**query)}
                self.assertEqual(found, keys)
        for query in ("state=unknwon", "state=", "stat=unknown", "limit=0", "limit=501", "limit=x",
                      "cursor=0", "cursor=-1", "cursor=x", "older_than=5", "older_than=-5m",
                      "created_after=yesterday", "end=lost", "contradicted=false", "key=a&key=b",
                      "order=up", "label.a=1&label.b=2", "route=%zz", "a=1", "label.=x"):
            with self.subTest(query=query):
                response = self.raw("GET", "/v1/operations?" + query, [self.bearer()])
                self.assert_problem(response, 400, "parameter-invalid")

    def test_pages_are_whole(self):
        """Page by page every operation comes once, in both orders, while more arrive."""
        keys = ["k%d" % i for i in range(7)]
        for key in keys:
            self.gateway.post(key, {"order": key})
        for order in ("oldest", "newest"):
            seen, cursor = [], None
            for number in range(20):
                query = "?limit=2&order=%s%s" % (order, "&cursor=" + cursor if cursor else "")
                _, _, page = self.gateway.admin("GET", "/v1/operations" + query)
                seen += [each["key"] for each in page["operations"]]
                self.assertLessEqual(len(page["operations"]), 2)
                cursor = page["next"]
                if number == 1 and order == "newest":
                    self.gateway.post("late", {"order": "late"})
                if cursor is None:
                    break
            self.assertIsNone(cursor)
            self.assertEqual(seen, keys if order == "oldest" else keys[::-1])

    def test_why_tells_the_story(self):
        """The timeline is in order and names the rule, its line and the basis."""
        operation = self.lose("k1")
        self.settle(operation, "abandoned", note="nobody knows")
        status, _, why = self.gateway.admin("GET", "/v1/operations/%s/why" % operation["id"])
        self.assertEqual((status, why["state"]), (200, "abandoned"))
        events = [step["event"] for step in why["timeline"]]
        self.assertEqual(events, ["received", "attempt.started", "attempt.ended", "operator"])
        self.assertIn("closed_no_answer", why["timeline"][2]["text"])
        self.assertIn("nobody knows", why["timeline"][3]["text"])
        self.assertEqual(why["timeline"][3]["basis"], "asserted")
        self.assertEqual(sorted(step["at"] for step in why["timeline"]),
                         [step["at"] for step in why["timeline"]])

    def test_summary_routes_refused_audit(self):
        """The sums agree with what happened."""
        operation = self.lose("k1")
        self.gateway.post(None, {"order": 1})
        _, _, summary = self.gateway.admin("GET", "/v1/summary")
        self.assertEqual((summary["unknown"], summary["in_flight"]), (1, 0))
        self.assertEqual(summary["oldest_unknown_at"], operation["created_at"])
        _, _, routes = self.gateway.admin("GET", "/v1/routes")
        self.assertEqual([(r["name"], r["mode"], r["unknown"]) for r in routes["routes"]],
                         [("create-order", "enforce", 1), ("everything-else", "pass", 0)])
        _, _, refused = self.gateway.admin("GET", "/v1/refused")
        self.assertEqual(refused["refused"]["key-missing"], 1)
        for query in ("", "?operation=op_x", "?a=b", "?operation=%s&subject=x" % operation["id"]):
            self.assertEqual(self.gateway.admin("GET", "/v1/audit" + query)[0], 400, query)


class Pauses(AdminCase):
    def test_a_pause_stops_what_is_new_and_survives(self):
        """Paused: nothing new is sent, repeats are answered; over a restart; until resumed."""
        self.gateway.post("k1", {"order": 1})
        for what, name in (("routes", "create-order"), ("upstreams", "legacy")):
            with self.subTest(what=what):
                path = "/v1/%s/%s/" % (what, name)
                status, _, value = self.gateway.admin("POST", path + "pause", {"note": "look"})
                self.assertEqual((status, value["paused"], value["actor"]),
                                 (200, True, "token:tester"))
                self.assert_problem(self.gateway.post("new-" + what, {"order": 2}), 503,
                                    "route-paused")
                self.assertEqual(self.gateway.post("k1", {"order": 1}).status, 201)
                self.gateway.restart()
                sends = self.upstream.sends
                self.assertEqual(self.gateway.post("new-" + what, {"order": 2}).status, 503)
                self.assertEqual(self.upstream.sends, sends)
                route = self.gateway.admin("GET", "/v1/routes")[2]["routes"][0]
                self.assertEqual((route["paused"], route["pause"]["note"]), (True, "look"))
                metric = 'recibo_route_paused{route="create-order",why="%s"}' % what[:-1]
                self.assertEqual(self.gateway.metrics()[metric], 1)
                self.assertEqual(self.gateway.admin("POST", path + "resume", {"note": "ok"})[0], 200)
                self.assertEqual(self.gateway.post("new-" + what, {"order": 2}).status, 201)
                subject = "%s:%s" % (what[:-1], name)
                _, _, audit = self.gateway.admin("GET", "/v1/audit?subject=" + subject)
                self.assertEqual(sorted((e["action"], e["note"]) for e in audit["audit"]),
                                 [("pause", "look"), ("resume", "ok")])

    def test_a_pause_needs_a_name_and_a_note(self):
        """What is not there is 404, a change without a reason is 400."""
        for path in ("/v1/routes/nobody/pause", "/v1/upstreams/nobody/resume"):
            self.assertEqual(self.gateway.admin("POST", path, {"note": "x"})[0], 404)
        for body in ({}, {"note": ""}, {"note": " \t\n"}, {"note": 1}, {"note": "x" * 1001},
                     {"note": "x", "more": 1}):
            self.assertEqual(self.gateway.admin("POST", "/v1/routes/create-order/pause", body)[0],
                             400, body)
        self.assertEqual(self.gateway.post("k1", {"order": 1}).status, 201)


SAMPLE = re.compile(r'^([a-z_]+)(\{[a-z]+="(?:[^"\\\n]|\\.)*"(?:,[a-z]+="(?:[^"\\\n]|\\.)*")*\})? '
                    r'([0-9.]+)$')


class Metrics(AdminCase):
    def families(self, text):
        """{family: (type, {sample: value})}; fails when families are interleaved or doubled."""
        found, name = {}, None
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ")[2]
                self.assertNotIn(name, found)
            elif line.startswith("# TYPE "):
                self.assertEqual(line.split(" ")[2], name)
                found[name] = (line.split(" ")[3], {})
            elif not line.startswith("#"):
                match = SAMPLE.match(line)
                self.assertTrue(match and match.group(1).startswith(name), line)
                self.assertNotIn(line.rsplit(" ", 1)[0], found[name][1])
                found[name][1][line.rsplit(" ", 1)[0]] = float(match.group(3))
        return found

    def test_the_page_is_well_formed_in_both_formats(self):
        """Types, suffixes, units, histograms and the end are as the formats want them."""
        self.lose("k1")
        plain = self.raw("GET", "/metrics")
        self.assertEqual(plain.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        families = self.families(plain.text)
        for name, (kind, samples) in families.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
            self.assertTrue(samples, name)
            if kind == "histogram":
                buckets = [(key, value) for key, value in samples.items() if "_bucket" in key]
                for group in {re.sub(r',?le="[^"]*"', "", key) for key, _ in buckets}:
                    counts = [v for k, v in buckets if re.sub(r',?le="[^"]*"', "", k) == group]
                    self.assertEqual(counts, sorted(counts), group)
        open_text = self.raw("GET", "/metrics", [("Accept", "application/openmetrics-text")])
        self.assertEqual(open_text.get("Content-Type"),
                         "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.assertTrue(open_text.text.endswith("# EOF\n"))
        self.assertNotIn("\r", open_text.text)
        for name, unit in re.findall(r"# UNIT (\S+) (\S+)", open_text.text):
            self.assertTrue(name.endswith("_" + unit))
        for kind, name in re.findall(r"# TYPE (\S+) counter()", open_text.text):
            self.assertFalse(kind.endswith("_total"), name)

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_promtool_finds_nothing(self):
        """promtool check metrics has nothing to say."""
        self.lose("k1")
        done = subprocess.run(["promtool", "check", "metrics"], input=self.raw("GET", "/metrics").text,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_counters_count(self):
        """What happened stands in the metrics, under its route and its word."""
        operation = self.lose("k1")
        self.gateway.post("k2", {"order": 1})
        self.gateway.post("k2", {"order": 1})
        seen = self.gateway.metrics()
        route = 'route="create-order"'
        self.assertEqual(seen['recibo_operations_total{%s,outcome="executed"}' % route], 1)
        self.assertEqual(seen['recibo_operations_total{%s,outcome="replayed"}' % route], 1)
        self.assertEqual(seen['recibo_attempts_total{%s,end="closed_no_answer"}' % route], 1)
        self.assertEqual(seen['recibo_unknown{%s}' % route], 1)
        self.settle(operation, "abandoned")
        seen = self.gateway.metrics()
        self.assertEqual(seen['recibo_unknown{%s}' % route], 0)
        self.assertEqual(seen['recibo_unknown_oldest_seconds{%s}' % route], 0)
        self.assertEqual(seen['recibo_settled_total{%s,verdict="abandoned",by="operator"}' % route], 1)
        self.assertGreater(seen["recibo_commit_seconds_count"], 0)
        self.assertGreater(seen["process_open_fds"], 0)
        self.assertGreater(seen["process_start_time_seconds"], 1.7e9)

    def test_the_page_does_not_grow_with_what_callers_send(self):
        """No key, path, method or owner of a caller becomes a label."""
        self.lose("k1")
        names = set(self.gateway.metrics())
        for i in range(40):
            self.gateway.post("other-%d" % i, {"order": i})
            self.gateway.request("GET", "/path/%d" % i, [("Host", "h%d" % i)])
            self.gateway.request("FOO%d" % i, "/orders")
        self.assertEqual(set(self.gateway.metrics()), names)


class Sockets(Case):
    def test_a_unix_socket_is_for_its_owner_alone(self):
        """0600, reached by curl-like and odd clients alike, and removed at the end."""
        upstream = self.use(Upstream(answer(201)))
        gateway = self.use(Gateway(upstream, start=False, changes={"routes": [orders(), rest()]}))
        path = os.path.join(gateway.directory, "admin.sock")
        gateway.port = gateway.admin_port = free_port()
        gateway.changes["admin"] = {"address": "unix:" + path}
        gateway.write_configuration()
        gateway.admin_port = path
        gateway.launch()
        gateway.wait_ready()
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(gateway.admin("GET", "/v1/summary")[0], 200)
        self.assertEqual(fetch(path, "GET", "/healthz", [("Host", "whatever")]).status, 200)
        with socket.socket(socket.AF_UNIX) as odd:
            odd.bind(os.path.join(gateway.directory, "x" * 40))
            odd.connect(path)
            odd.settimeout(30)
            odd.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertIn(b"200", odd.recv(4096))
        done = subprocess.run([gateway.binary, "backlog"], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, RECIBO_ADMIN="unix:" + path,
                                       RECIBO_TOKEN=gateway.token), check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "0 unknown, 0 in flight\n"), done)
        gateway.kill9()
        gateway.launch()
        gateway.wait_ready()
        self.assertEqual(gateway.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_idle_connections_have_a_bound_and_callers_get_through(self):
        """More connections than the bound wait; they are served when others leave."""
        gateway = self.use(Gateway(None))
        idle = [Client(gateway.admin_port) for _ in range(70)]
        for client in idle[:40]:
            client.close()
        wait_until(lambda: fetch(gateway.admin_port, "GET", "/healthz").status == 200)
        for client in idle[40:]:
            self.assertEqual(client.request("GET", "/healthz").status, 200)
            client.close()

    def test_readiness_ends_with_the_drain(self):
        """While the last operation is still out: not ready, with the reason, but alive."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        upstream = self.use(Upstream(wait(go_on, answer(201))))
        gateway = self.use(Gateway(upstream))
        with gateway.client() as client:
            client.send("POST", "/orders", [("Idempotency-Key", "k1")], {"order": 1})
            wait_until(lambda: upstream.sends == 1)
            gateway.signal(signal.SIGTERM)
            port = gateway.admin_port
            wait_until(lambda: fetch(port, "GET", "/readyz").status == 503)
            self.assertIn("shutting down",
                          self.assert_problem(fetch(port, "GET", "/readyz"), 503,
                                              "not-ready")["detail"])
            self.assertEqual(fetch(port, "GET", "/healthz").status, 200)
            go_on.set()
            self.assertEqual(client.read_response("POST").status, 201)
        self.assertEqual(gateway.wait_exit(), 0)

    def test_a_stop_lets_calls_end(self):
        """SIGTERM while calls come in: each gets a whole answer or none, and the exit code is 0."""
        gateway = self.use(Gateway(None))
        clients = [Client(gateway.admin_port) for _ in range(8)]
        for client in clients:
            client.send("GET", "/v1/summary", [("Authorization", "Bearer " + gateway.token)])
        self.assertEqual(gateway.stop(), 0)
        for client in clients:
            data, _ = client.read_to_end()
            if data:
                head, _, body = data.partition(b"\r\n\r\n")
                length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
                self.assertEqual(len(body), length)
            client.close()


if __name__ == "__main__":
    main()
