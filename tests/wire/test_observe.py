"""A route in observe mode serves its callers as a passing one does, byte for byte, and
notes on the side what an enforced route would have done; the report sums that up and
proposes the lines of configuration.
"""

import hashlib
import os
import re
import sqlite3
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Background, Guarded, now_text  # noqa: E402
from harness import (ROOT, Client, Gateway, answer, fin, free_port, main, orders,  # noqa: E402
                     rest, wait, wait_until)
from test_passthrough import (LARGE, MEMORY_MAX_KIB, PIECE, Pour, Swallow,  # noqa: E402
                              digest_of)

MIB = 1 << 20
OWN_FIELDS = re.compile(r"idempot", re.IGNORECASE)


def until_closed(action):
    """The action, or as much of it as the other side takes."""
    def act(exchange):
        try:
            return action(exchange)
        except OSError:
            return False
    return act


def observed(**changes):
    return orders(mode="observe", **changes)


class Observing(Guarded):
    """start_observing() makes self.gateway with one observed route."""

    def start_observing(self, default=None, **route):
        return self.start(default, routes=[observed(**route), rest()])

    def report(self, exchanges=0, lost=0, query=""):
        """The report once it tells of so many exchanges and losses."""
        seen = {}

        def told():
            status, _, value = self.gateway.admin("GET", "/v1/report" + query)
            self.assertEqual(status, 200, value)
            seen.update(value)
            return value if (value["exchanges"], value["lost"]) >= (exchanges, lost) else None
        return wait_until(told, text=lambda: "no %d exchanges: %r" % (exchanges, seen))

    def route(self, exchanges, name="create-order"):
        """The route's part of the report; all of it was put on record, nothing lost."""
        report = self.report(exchanges)
        self.assertEqual((report["exchanges"], report["lost"]), (exchanges, 0), report)
        found = [route for route in report["routes"] if route["route"] == name]
        self.assertEqual(len(found), 1, report)
        self.assertFalse(found[0]["cut"])
        return found[0]

    def reasons(self, exchanges):
        """{code: count} of what would be refused."""
        counts = {}
        refused = self.route(exchanges)["would_refuse"]
        for item in refused["reasons"]:
            code = item["reason"].split(":")[0]
            counts[code] = counts.get(code, 0) + item["count"]
        self.assertEqual(sum(counts.values()), refused["count"])
        return counts

    def suggestion(self, exchanges):
        return self.report(exchanges)["suggestion"]


class Transparent(Observing):
    """What callers and the upstream see."""

    def exchange(self, mode, **answered):
        self.start(answer(**answered), routes=[orders(
            mode=mode, match={"methods": ["POST"], "path": "/orders"})])
        told = self.gateway.post("k1", b'{ "order" : 7 }', path="/orders?x=%2F", headers=[
            ("Content-Type", "application/json"), ("X-HTTP-Method-Override", "PUT"),
            ("Accept-Encoding", "gzip"), ("idempotency_key", "x"), ("Authorization", "Bearer t")])
        request = self.upstream.last
        lines = [line for line in request.raw_head.split(b"\r\n")
                 if not line.lower().startswith((b"host:", b"traceparent:", b"x-forwarded-host:"))]
        fields = [(name, value) for name, value in told.headers if name != "Date"]
        return lines, request.raw_body, told.status, fields, told.body

    def test_the_bytes_are_those_of_a_passing_route(self):
        """Neither the request nor the answer differs from what a passing route makes of them."""
        for answered in ({"status": 201, "body": {"ticket": 1}, "headers": [("X-A", "b")]},
                         {"status": 500, "body": b"broken"}, {"status": 204}):
            with self.subTest(answered=answered):
                passed = self.exchange("pass", **answered)
                seen = self.exchange("observe", **answered)
                self.assertEqual(seen, passed)
                self.assertFalse([name for name, _ in seen[3] if OWN_FIELDS.search(name)])

    def test_the_field_of_the_operation_id_is_the_callers(self):
        """Nothing is told to the API that has no operation, so nothing is taken away for it."""
        self.start_observing(add_operation_id={"header": "X-Operation-Id"})
        self.gateway.post("k1", {"order": 7}, headers=[("X-Operation-Id", "theirs")])
        self.assertEqual(self.upstream.last.all("X-Operation-Id"), ["theirs"])

    def test_every_repeat_is_carried_out(self):
        """It promises nothing: the same key and body go upstream each time, without a receipt."""
        self.start_observing()
        for index in range(3):
            self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
            self.assertEqual(self.upstream.sends, index + 1)
        self.assertEqual(self.gateway.operations(), [])

    def test_large_bodies_stream_both_ways(self):
        """Bodies far over request_body_max and replay_body_max pass whole, in bounded memory."""
        size = LARGE
        swallow = Swallow(then=Pour(size, in_chunks=True))
        self.start_observing(request_body_max="64KiB", replay_body_max="64KiB")
        self.upstream.on_head = lambda request: swallow
        with Client(self.gateway.port, timeout=60.0) as client:
            client.send_raw(b"POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n"
                            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size // len(PIECE)):
                client.send_raw(PIECE)
            told = client.read_response("POST")
        self.assertEqual((told.status, len(told.body)), (200, size))
        self.assertEqual(hashlib.sha256(told.body).hexdigest(), digest_of(size))
        self.assertEqual((swallow.count, swallow.digest.hexdigest()), (size, digest_of(size)))
        route = self.route(1)
        self.assertEqual((route["largest_request_bytes"], route["largest_answer_bytes"]),
                         (size, size))
        self.assertEqual(self.reasons(1), {"content-too-large": 1})
        with open("/proc/%d/status" % self.gateway.process.pid, encoding="ascii") as file:
            peak_kib = int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1))
        self.assertLess(peak_kib, MEMORY_MAX_KIB)

    def test_an_upstream_that_is_down_is_told_as_a_passing_route_tells_it(self):
        """No connection: the same problem as on a passing route, and it is noted as not sent."""
        self.start(url="http://127.0.0.1:%d" % free_port(), routes=[
            observed(), orders(name="passes", mode="pass", match={"path": "/passed"})])
        seen, passed = self.gateway.post("k", ORDER), self.gateway.post("k", ORDER, path="/passed")
        codes = [self.assert_problem(told, 502, "upstream-unreachable")["detail"]
                 for told in (seen, passed)]
        self.assertEqual(codes[0], codes[1])
        route = self.route(1)
        self.assertEqual(route["answers"], [{"end": "connect_refused", "status": None, "count": 1}])
        self.assertEqual(route["would_be_unknown"]["count"], 0)

    def test_a_store_that_cannot_be_written(self):
        """Callers are served on; what could not be put on record is counted as lost."""
        self.start_observing()
        other = sqlite3.connect(self.gateway.store_path, timeout=0.1, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            for index in range(4):
                self.assertEqual(self.gateway.post("k%d" % index, ORDER).status, 201)
            self.assertEqual(self.upstream.sends, 4)
            wait_until(lambda: re.search("store.failing", self.gateway.log()))
        finally:
            other.execute("ROLLBACK")
            other.close()
        wait_until(lambda: sum((self.report()["exchanges"], self.report()["lost"])) == 4)
        self.assertGreater(self.report()["lost"], 0)

    def test_credentials_turn_nobody_away(self):
        """An observed route with an owner serves strangers; the report tells of them."""
        digest = hashlib.sha256(b"secret").hexdigest()
        owners = {"partners": {"kind": "api_key", "header": "X-Api-Key",
                               "keys": [{"owner": "acme", "sha256": digest}]}}
        self.start(routes=[observed(owner="partners", credentials="strip"), rest()], owners=owners)
        known = [("X-Api-Key", "secret")]
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.assertEqual(self.gateway.post("k1", ORDER, headers=known).status, 201)
        self.assertEqual(self.upstream.last.get("X-Api-Key"), "secret")
        self.assertEqual(self.reasons(2), {"unauthenticated": 1})
        self.assertEqual(self.route(2)["keys"], 1)

    def test_a_caller_who_leaves(self):
        """He ends the call as on a passing route; it is counted by itself and is no unknown."""
        gone = threading.Event()
        self.start_observing(wait(gone, until_closed(Pour(64 * MIB))))
        client = Client(self.gateway.port)
        client.send("POST", "/orders", [("Idempotency-Key", "k")], ORDER)
        self.upstream.wait_for(1)
        client.reset()
        gone.set()
        route = self.route(1)
        self.assertEqual(route["callers_left"], 1)
        self.assertEqual(route["would_be_unknown"]["count"], 0)

    def test_nothing_secret_is_kept(self):
        """The store holds neither key, owner, credential, query nor body of an observed request."""
        self.start(routes=[observed(name="by-path", match={"methods": ["PUT"], "path": "/o/{id}"},
                                    key={"from": "path", "name": "id", "required": None}),
                           observed()])
        self.gateway.post("sekretkey1", {"card": "sekretbody"}, path="/orders?q=sekretquery",
                          headers=[("Authorization", "sekretauth")])
        self.gateway.request("PUT", "/o/sekretpath", [("Content-Type", "application/json")], {})
        self.report(2)
        self.gateway.stop()
        for name in os.listdir(self.gateway.directory):
            if name.startswith("recibo.db"):
                with open(os.path.join(self.gateway.directory, name), "rb") as file:
                    self.assertNotIn(b"sekret", file.read(), name)

    def test_a_stop_keeps_what_was_seen(self):
        """What waits for its batch when the process is stopped is on record afterwards."""
        self.start_observing()
        for index in range(5):
            self.gateway.post("k%d" % index, ORDER)
        self.gateway.restart()
        self.assertEqual(self.report(5)["exchanges"], 5)


class Seen(Observing):
    """What the report makes of it."""

    def test_a_repeat_would_have_been_replayed(self):
        """The same key and content again: a replay, and the upstream ran it twice."""
        self.start_observing()
        for body in (b'{"order":7,"b":1}', b'{ "b" : 1, "order" : 7 }', b'{"order":7,"b":1}'):
            self.gateway.post("k1", body, headers=[("Content-Type", "application/json")])
        self.gateway.post("k2", ORDER)
        route = self.route(4)
        self.assertEqual((route["keys"], route["repeated_keys"], route["would_send"],
                          route["would_replay"]), (2, 1, 2, 2))
        twice = route["ran_twice"]
        self.assertEqual((twice["count"], twice["perhaps"]), (2, 0))
        example = twice["examples"][0]
        self.assertEqual((example["method"], example["target"], example["first_status"],
                          example["again_status"]), ("POST", "/orders", 201, 201))
        self.assertLess(example["first_at"], example["again_at"])

    def test_another_content_would_have_been_refused(self):
        """The same key for another request: refused, and the members that differ are named."""
        self.start_observing()
        for index in range(3):
            self.gateway.post("k1", {"order": 7, "at": index, "in": {"a": 1, "b": index}})
        route = self.route(3)
        self.assertEqual((route["would_mismatch"]["count"], route["would_replay"]), (2, 0))
        self.assertEqual({item["member"]: item["count"]
                          for item in route["would_mismatch"]["changed"]}, {"/at": 2, "/in/b": 2})
        self.assertEqual(route["ran_twice"]["count"], 0)

    def test_an_overlapping_repeat_would_have_been_pending(self):
        """A repeat that comes while the first is under way."""
        go = threading.Event()
        self.start_observing()
        self.upstream.script(wait(go, answer(201)))
        first = Background(lambda: self.gateway.post("k1", ORDER))
        self.upstream.wait_for(1)
        began = now_text()
        wait_until(lambda: now_text() > began)
        self.gateway.post("k1", ORDER)
        go.set()
        first.result()
        route = self.route(2)
        self.assertEqual((route["would_be_pending"], route["would_send"]), (1, 1))
        self.assertEqual(route["ran_twice"]["count"], 1)

    def test_what_would_have_been_unknown(self):
        """Lost answers and uncertain statuses, by end and status; their repeats are held."""
        self.start_observing()
        self.upstream.script(answer(500), answer(201), fin(), answer(503))
        for key in ("k1", "k1", "k2", "k3"):
            self.gateway.post(key, ORDER)
        route = self.route(4)
        self.assertEqual({(item["end"], item["status"]): item["count"]
                          for item in route["would_be_unknown"]["by"]},
                         {("answered", 500): 1, ("answered", 503): 1,
                          ("closed_no_answer", None): 1})
        self.assertEqual((route["would_hold"], route["would_replay"]), (1, 0))
        self.assertEqual(route["ran_twice"]["count"], 1)

    def test_a_refusal_is_no_run(self):
        """After a declared refusal the key is free: the repeat would be sent, nothing ran twice."""
        rules = [{"status": 200, "json": {"/ok": False}, "means": "refused"}]
        self.start_observing(outcome={"rules": rules})
        self.upstream.script(answer(429), answer(200, body={"ok": False}),
                             answer(200, body={"ok": 1}))
        for _ in range(3):
            self.gateway.post("k1", ORDER)
        route = self.route(3)
        self.assertEqual((route["would_send"], route["would_replay"]), (3, 0))
        self.assertEqual((route["ran_twice"]["count"], route["would_be_unknown"]["count"]), (0, 0))

    def test_requests_that_would_be_refused(self):
        """What the key room would not take passes, and the report gives the reasons."""
        self.start_observing(request_body_max="1KiB")
        json_type = [("Content-Type", "application/json")]
        for told in (self.gateway.post(None, ORDER),
                     self.gateway.post("a,b", ORDER),
                     self.gateway.post("k", b'{"a":1,"a":2}', headers=json_type),
                     self.gateway.post("k", b"a=b", headers=[
                         ("Content-Type", "application/x-www-form-urlencoded")]),
                     self.gateway.post("k", {"a": "b" * 2000}),
                     self.gateway.post("k", ORDER, path="/%6frders"),
                     self.gateway.post("k", ORDER, headers=[("Idempotency-Key", "l")])):
            self.assertIn(told.status, (201, 404, 405), told)
        reasons = self.reasons(6)
        self.assertEqual(reasons, {"key-missing": 1, "key-invalid": 2, "body-invalid": 1,
                                   "unsupported-media-type": 1, "content-too-large": 1})
        self.assertEqual(self.route(6)["keys"], 0)

    def test_long_reasons_are_cut(self):
        """A media type of many bytes costs nobody else his place in the report."""
        self.start_observing()
        for kind in ("text/plain", "x/" + "y" * 8000):
            self.gateway.post("k", b"a", headers=[("Content-Type", kind)])
        reasons = self.route(2)["would_refuse"]["reasons"]
        self.assertEqual(len(reasons), 2)
        self.assertLess(max(len(item["reason"]) for item in reasons), 300)

    def test_spellings_that_would_be_ambiguous(self):
        """A target that another reading puts on the route: noted where it passes today."""
        self.start(routes=[observed(), rest(match={"path": "/*", "methods": ["POST"]})])
        self.assertEqual(self.gateway.post("k", ORDER, path="/%6frders").status, 201)
        self.assertEqual(self.gateway.post("k", ORDER, path="/other").status, 201)
        route = self.route(1, "everything-else")
        self.assertEqual([item["reason"] for item in route["would_refuse"]["reasons"]],
                         ["ambiguous-target"])

    def test_what_no_mode_can_read_is_counted(self):
        """A request that is no HTTP is refused as ever; the report counts it."""
        self.start_observing()
        with Client(self.gateway.port) as client:
            client.send_raw(b"POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                            b"Content-Length: 2\r\n\r\nxx")
            self.assertEqual(client.read_response("POST").status, 400)
        self.assertEqual(self.report()["unreadable"], 1)

    def test_routes_and_times_can_be_chosen(self):
        """route= and since= cut the report; a parameter that is not known is refused."""
        self.start(routes=[observed(), observed(name="second", match={"path": "/second"})])
        self.gateway.post("k", ORDER)
        self.gateway.post("k", ORDER, path="/second")
        self.report(2)
        second = self.report(1, query="?route=second")["routes"]
        self.assertEqual([route["route"] for route in second], ["second"])
        self.assertEqual(self.report(2, query="?since=1h")["exchanges"], 2)
        self.assertEqual(self.report(query="?since=2200-01-01T00:00:00Z")["exchanges"], 0)
        self.assertEqual(self.gateway.admin("GET", "/v1/report?route=third")[0], 404)
        for query in ("?since=soon", "?x=1", "?route="):
            self.assertEqual(self.gateway.admin("GET", "/v1/report" + query)[0], 400, query)

    def test_many_pages(self):
        """More exchanges than a page of the store holds: all of them are counted, by key."""
        self.start_observing()
        with self.gateway.client() as client:
            for index in range(620):
                key = [("Idempotency-Key", "k%d" % (index % 310))]
                told = client.request("POST", "/orders", key, ORDER)
                self.assertEqual(told.status, 201)
        route = self.route(620)
        self.assertEqual((route["keys"], route["repeated_keys"], route["would_replay"]),
                         (310, 310, 310))

    def test_the_key_may_stand_in_the_content(self):
        """Keys from JSON, form and path are read as an enforced route reads them."""
        self.start(routes=[
            observed(name="json", match={"path": "/json"},
                     key={"from": "json", "pointer": "/id", "name": None}),
            observed(name="form", match={"path": "/form"}, fingerprint={"mode": "form"},
                     labels={"order": {"form": "id", "json": None}},
                     key={"from": "form", "name": "id"}),
            observed(name="path", match={"path": "/path/{id}"},
                     key={"from": "path", "name": "id"})])
        form = [("Content-Type", "application/x-www-form-urlencoded")]
        for _ in range(2):
            self.gateway.post(None, {"id": "a"}, path="/json")
            self.gateway.post(None, b"id=a", path="/form", headers=form)
            self.gateway.post(None, ORDER, path="/path/7")
        for name in ("json", "form", "path"):
            self.assertEqual(self.route(6, name)["would_replay"], 1, name)


class Suggested(Observing):
    """The lines of configuration."""

    def enforce(self, suggestion, route):
        """A gateway of the suggested lines, put in place of what the file had."""
        match = "    match: {methods: [POST], path: /orders}\n    labels: {order: {json: /order}}\n"
        text = suggestion.replace("    mode: enforce", match + "    mode: enforce", 1)
        text = text.replace("  legacy:\n", "  legacy:\n    url: \"@UPSTREAM@\"\n", 1)
        head = ("version: 1\nlisten: [{address: \"@LISTEN@\"}]\nadmin:\n  address: \"@ADMIN@\"\n"
                "  tokens: [{name: t, rights: [read, evidence, settle, control], "
                "sha256: \"@TOKEN_SHA256@\"}]\nowners: {everyone: {kind: static}}\n")
        return self.use(Gateway(self.upstream, text=head + text))

    def test_volatile_members_are_left_out(self):
        """A member that changes in every repeat is proposed for `ignore`, and it works."""
        self.start_observing()
        for key in ("k1", "k2"):
            for index in range(3):
                self.gateway.post(key, {"order": key, "client_time": index})
        suggestion = self.suggestion(6)
        self.assertRegex(suggestion,
                         r'(?m)^    fingerprint: \{mode: json, ignore: \["/client_time"\]\}')
        self.assertRegex(suggestion, r"(?m)^    key: \{.*required: true\}")
        gateway = self.enforce(suggestion, "create-order")
        told = [gateway.post("n1", {"order": "n", "client_time": index}) for index in range(2)]
        self.assertEqual([one.get("Idempotency-Status") for one in told], ["executed", "replayed"])

    def test_one_repeat_proves_nothing(self):
        """A single changed repeat is only shown, as a comment."""
        self.start_observing()
        for index in range(2):
            self.gateway.post("k1", {"order": 1, "quantity": index})
        self.assertRegex(self.suggestion(2), r'(?m)^    # fingerprint: .*"/quantity"')

    def test_limits_above_what_was_seen(self):
        """Bodies over half of a limit raise it; answers set the timeouts."""
        self.start_observing(answer(201, body=b"a" * 100000), request_body_max="64KiB",
                             replay_body_max="64KiB")
        self.gateway.post("k1", {"order": "b" * 100000})
        suggestion = self.suggestion(1)
        for name in ("request_body_max", "replay_body_max"):
            self.assertRegex(suggestion, r"(?m)^    %s: 256KiB" % name)
        self.assertRegex(suggestion, r"(?m)^  legacy:\n    timeouts: \{.*answer: 30s, late: 10m\}")

    def test_redirects_want_a_rule(self):
        """A 3xx that no rule speaks of is proposed as one, and the whole is valid."""
        self.start_observing(answer(302, headers=[("Location", "/login")]))
        self.gateway.post("k1", ORDER)
        suggestion = self.suggestion(1)
        self.assertRegex(suggestion, r"(?m)^        - \{status: 302, means: unknown\}")
        self.enforce(suggestion, "create-order")

    def test_another_place_for_the_key(self):
        """Without keys: another header that has one, or a member that tells operations apart."""
        self.start_observing()
        for index in range(4):
            self.gateway.post(None, {"order": "o%d" % index, "kind": "x"})
        suggestion = self.suggestion(4)
        self.assertRegex(suggestion, r'(?m)^    key: \{from: json, pointer: "/order"\}')
        self.assertNotIn("/kind", suggestion)
        self.gateway.post(None, ORDER, headers=[("X-Idempotency-Key", "k")])
        self.assertRegex(self.suggestion(5),
                         r'(?m)^    key: \{from: header, name: "X-Idempotency-Key", required')

    def test_what_enforce_needs_besides(self):
        """A bare observed route gets what the check of an enforced one would ask for."""
        self.start(default=None, routes=[observed()])
        self.gateway.stop()
        self.gateway = self.use(Gateway(self.upstream, {
            "routes": [observed(labels=None)], "owners": None, "defaults": {"owner": None}}))
        self.gateway.post("k1", ORDER)
        suggestion = self.suggestion(1)
        self.assertRegex(suggestion, r"(?m)^    evidence: \{body: true\}")
        self.assertRegex(suggestion, r"(?m)^owners:\n  everyone: \{kind: static\}")


class Told(Observing):
    """The commands."""

    def test_report(self):
        """`recibo report` for people, for programs, and as configuration alone."""
        self.start_observing()
        for _ in range(2):
            self.gateway.post("k1", ORDER)
        self.report(2)
        told = self.gateway.cli("report")
        self.assertEqual(told.returncode, 0, told)
        self.assertRegex(told.stdout, r"(?m)^create-order   2 exchanges from \S+ to \S+, 0 lost")
        self.assertRegex(told.stdout, r"(?m)^  would be replayed +1 ")
        self.assertRegex(told.stdout, r"(?m)^    POST /orders  \S+ \(201\), again \S+ \(201\)$")
        self.assertIn("    mode: enforce", told.stdout)
        self.assertRegex(self.gateway.cli("report", "--json").stdout, r'"would_replay":1,')
        lines = self.gateway.cli("report", "--yaml", "--route", "create-order").stdout
        self.assertTrue(lines.startswith("# "), lines)
        self.assertEqual(self.gateway.cli("report", "--since", "soon").returncode, 2)

    def test_nothing_yet(self):
        """Before the first exchange a route has zeros; without a route it says what to do."""
        self.start_observing()
        self.assertEqual(self.route(0)["exchanges"], 0)
        self.assertRegex(self.gateway.cli("report").stdout, r"(?m)^create-order   0 exchanges")
        self.gateway.stop()
        self.start()
        self.assertIn("No route observes", self.gateway.cli("report").stdout)
        told = self.gateway.cli("report", "--route", "create-order")
        self.assertEqual(told.returncode, 0, told)
        self.assertIn("The route create-order does not observe", told.stdout)
        self.assertEqual(self.gateway.cli("report", "--route", "no-such").returncode, 3)

    def test_check_and_explain(self):
        """They say that an observed route promises nothing yet, and what enforce would do."""
        self.start_observing()
        checked = self.gateway.cli("check", "-c", self.gateway.path).stdout
        self.assertRegex(checked, r"create-order   observed   POST /orders -> legacy   not "
                                  r"protected\n  It promises nothing yet")
        told = self.gateway.cli("explain", "POST", "/orders", "-c", self.gateway.path).stdout
        for text in ("not protected", "promises nothing", "SITUATION"):
            self.assertIn(text, told)

    def test_the_documented_file(self):
        """The configuration of docs/observe.md is valid, and warns of nothing but the owner."""
        with open(os.path.join(ROOT, "docs", "observe.md"), encoding="utf-8") as file:
            text, = re.findall(r"(?s)```yaml\n(.*?)```", file.read())
        self.start_observing()
        path = os.path.join(self.gateway.directory, "documented.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        told = self.gateway.cli("check", "-c", path, env={"RECIBO_TOKEN_SHA256": "0" * 64})
        self.assertEqual((told.returncode, told.stderr), (0, ""), told)


if __name__ == "__main__":
    main()
