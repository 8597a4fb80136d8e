"""Verdicts: what each does to the receipt and to the caller, and when it is refused."""

import base64

from admin_lib import AdminCase, Client, json, wait_until
from harness import main, parallel


class Verdicts(AdminCase):
    quiet = "0s"

    def test_executed_with_a_response_is_replayed_as_given(self):
        """Status, headers and body reach the caller byte for byte, numbers as written."""
        odd = '{"n": 9007199254740993.0, "e": 1e400, "big": 123456789012345678901234567890}'
        cases = [("json", {"status": 201, "body": "@"}, odd.encode(), "application/json"),
                 ("text", {"status": 200, "headers": {"Content-Type": "text/plain", "X-A": ["1", "2"]},
                           "body": "h\u00e4llo\n\u0000"}, "h\u00e4llo\n\0".encode(), "text/plain"),
                 ("bytes", {"status": 299, "body_base64": base64.b64encode(bytes(range(256))).decode()},
                  bytes(range(256)), None),
                 ("empty", {"status": 204}, b"", None), ("null", {"status": 200, "body": None}, b"", None),
                 ("error", {"status": 503, "headers": {"Content-Type": "a/b"}, "body": "no"}, b"no", "a/b")]
        for key, response, body, kind in cases:
            with self.subTest(key=key):
                operation = self.lose(key)
                text = json.dumps({"verdict": "executed", "version": operation["version"],
                                   "note": "found", "response": response}).replace('"@"', odd)
                got = self.raw("POST", "/v1/operations/%s/settle" % operation["id"],
                               [self.bearer(), ("Content-Type", "application/json")], text)
                self.assertEqual(got.status, 200, got)
                self.assertEqual(got.json()["state"], "completed")
                sends = self.upstream.sends
                repeat = self.gateway.post(key, {"order": "o-" + key})
                self.assertEqual((repeat.status, repeat.body, repeat.get("Content-Type")),
                                 (response["status"], body, kind))
                self.assertEqual(repeat.get("Idempotent-Replayed"), "true")
                if key == "text":
                    self.assertEqual(repeat.all("X-A"), ["1", "2"])
                self.assertEqual(self.upstream.sends, sends)
                recorded = self.gateway.operation(operation["id"])["response"]
                self.assertEqual(recorded["status"], response["status"])

    def test_executed_without_a_response_is_told_and_never_made_up(self):
        """Repeats get result-unavailable with executed: true; nothing is sent."""
        for members in ({"response": None}, {}):
            operation = self.lose("k%d" % len(members))
            value = self.settle(operation, "executed", **members)
            self.assertEqual((value["state"], value["answer_kept"]), ("completed", False))
            sends = self.upstream.sends
            repeat = self.gateway.post("k%d" % len(members), {"order": "o-k%d" % len(members)})
            problem = self.assert_problem(repeat, 409, "result-unavailable")
            self.assertIs(problem["executed"], True)
            self.assertEqual(self.upstream.sends, sends)

    def test_not_executed_frees_the_key(self):
        """The next repeat is sent, as the same operation; the basis is asserted."""
        operation = self.lose("k1")
        value = self.settle(operation, "not_executed")
        self.assertEqual((value["state"], value["attempts"][-1]["basis"]), ("released", "asserted"))
        sends = self.upstream.sends
        repeat = self.gateway.post("k1", {"order": "o-k1"})
        self.assertEqual((repeat.status, self.upstream.sends), (201, sends + 1))
        self.assertEqual(repeat.get("Idempotency-Operation"), operation["id"])

    def test_abandoned_is_off_the_backlog_and_may_still_be_found(self):
        """Never sent again; later evidence may still settle it as executed."""
        operation = self.lose("k1")
        value = self.settle(operation, "abandoned")
        self.assertEqual((value["state"], self.gateway.operations(state="unknown")), ("abandoned", []))
        self.assert_problem(self.gateway.post("k1", {"order": "o-k1"}), 409, "operation-abandoned")
        later = self.settle(value, "executed", response={"status": 201, "body": {"id": 1}})
        self.assertEqual(later["state"], "completed")
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).json(), {"id": 1})

    def test_a_verdict_is_taken_back_only_while_nobody_has_been_told(self):
        """reopen brings every verdict back; after a replay or a new claim it is refused."""
        for verdict, members in (("executed", {"response": {"status": 200, "body": "x"}}),
                                 ("executed", {}), ("not_executed", {}), ("abandoned", {})):
            with self.subTest(verdict=verdict, members=members):
                key = "%s-%d" % (verdict, len(members))
                value = self.settle(self.lose(key), verdict, **members)
                value = self.settle(value, "reopen")
                self.assertEqual((value["state"], value["settled"], value["answer_kept"]),
                                 ("unknown", False, False))
                self.assertNotIn("asserted", [a["basis"] for a in value["attempts"]])
                self.assert_problem(self.gateway.post(key, {"order": "o-" + key}), 409,
                                    "outcome-unknown")
                value = self.settle(self.gateway.operation(value["id"]), verdict, **members)
                if verdict == "abandoned":
                    continue
                self.gateway.post(key, {"order": "o-" + key})
                now = self.gateway.operation(value["id"])
                refused = self.settle(now, "reopen", 409)
                self.assertEqual(refused["code"], "verdict-consumed", refused)
                self.assertRegex(refused["consumed_at"], r"^20\d\d-.*Z$")
                self.assertEqual(self.gateway.operation(value["id"])["version"], now["version"])

    def test_a_verdict_that_does_not_go_with_the_state_is_refused(self):
        """What an upstream answered is no operator's to settle; the operation is shown."""
        done = self.gateway.operation(self.gateway.post("k1", {"order": 1}).get("Idempotency-Operation"))
        for verdict in ("executed", "not_executed", "abandoned", "reopen"):
            refused = self.settle(done, verdict, 409)
            self.assertEqual((refused["code"], refused["operation"]["id"]),
                             ("not-settleable", done["id"]))
        operation = self.lose("k2")
        self.assertEqual(self.settle(operation, "reopen", 409)["code"], "not-settleable")

    def test_it_is_a_compare_and_set(self):
        """Of two people one wins; the other is shown what the operation is now."""
        operation = self.lose("k1")

        def both(index):
            body = {"verdict": ("abandoned", "executed")[index % 2], "version": operation["version"],
                    "note": "person %d" % index}
            return self.gateway.admin("POST", "/v1/operations/%s/settle" % operation["id"], body)

        results = parallel(6, both)
        self.assertEqual(sorted(status for status, _, _ in results), [200] + [409] * 5)
        winner = [value for status, _, value in results if status == 200][0]
        for status, _, value in results:
            if status == 409:
                self.assertEqual((value["code"], value["operation"]["version"]),
                                 ("changed-meanwhile", winner["version"]))
        audit = self.gateway.operation(operation["id"])["audit"]
        self.assertEqual([(e["actor"], e["action"]) for e in audit], [("token:tester", "settle")])
        self.assertIn("verdict=%s" % {"abandoned": "abandoned", "completed": "executed"}
                      [winner["state"]], audit[0]["detail"])

    def test_what_is_asked_must_be_whole(self):
        """No verdict without a version, a note and sense; nothing is changed by a bad one."""
        operation = self.lose("k1")
        bad = [{"verdict": ...}, {"verdict": "done"}, {"verdict": 1}, {"version": ...},
               {"version": "3"}, {"version": -1}, {"version": 1.0}, {"version": 1 << 40},
               {"note": ...}, {"note": " "}, {"note": None}, {"force": "yes"}, {"response": []},
               {"response": "x"}, {"response": {}}, {"response": {"status": 100}},
               {"response": {"status": 600}}, {"response": {"status": "200"}},
               {"response": {"status": 200.0}}, {"response": {"status": 200, "more": 1}},
               {"response": {"status": 204, "body": "x"}}, {"response": {"status": 304, "body": "x"}},
               {"response": {"status": 200, "body": "x", "body_base64": "eA=="}},
               {"response": {"status": 200, "body_base64": "eA"}},
               {"response": {"status": 200, "body_base64": 1}},
               {"response": {"status": 200, "headers": []}}]
        for name, value in (("A B", "x"), ("", "x"), ("X-A", "a\r\nB: c"), ("X-A", "a\n"), ("X-A", " a"),
                            ("X-A", "\u0000"), ("X-A", 1), ("X-A", ["a", None]), ("Content-Length", "1"),
                            ("Transfer-Encoding", "chunked"), ("connection", "close"),
                            ("Idempotent-Replayed", "true"), ("Set-Cookie", "a=b"), ("TE", "x"),
                            ("X-A", "x" * 9000)):
            bad.append({"response": {"status": 200, "headers": {name: value}}})
        bad.append({"response": {"status": 200, "headers": {"X-%d" % i: "1" for i in range(65)}}})
        for members in bad:
            with self.subTest(members=str(members)[:90]):
                self.assertEqual(self.settle(operation, **dict({"verdict": "executed", "status": 400},
                                                              **members)) ["code"], "body-invalid")
        for verdict in ("not_executed", "abandoned", "reopen"):
            self.settle(operation, verdict, 400, response={"status": 200})
        large = self.settle(operation, "executed", 413,
                            response={"status": 200, "body": "x" * ((1 << 20) + 1)})
        self.assertEqual(large["code"], "content-too-large")
        self.assertEqual(self.gateway.operation(operation["id"])["version"], operation["version"])
        self.settle(operation, "executed", response={"status": 200, "body": "x" * (1 << 20)})
        self.assertEqual(len(self.gateway.post("k1", {"order": "o-k1"}).body), 1 << 20)

    def test_what_is_not_there_is_not_settled(self):
        """A well-formed id that nobody has is 404."""
        body = {"verdict": "abandoned", "version": 1, "note": "x"}
        status, _, value = self.gateway.admin("POST", "/v1/operations/op_%s/settle" % ("0" * 26), body)
        self.assertEqual((status, value["code"]), (404, "not-found"))


class QuietTime(AdminCase):
    quiet = "1h"

    def test_not_executed_waits_for_the_quiet_time(self):
        """Bytes may still land: refused with the moment, unless forced; others are free."""
        operation = self.lose("k1")
        refused = self.settle(operation, "not_executed", 409)
        self.assertEqual(refused["code"], "quiet-time")
        self.assertEqual(refused["quiet_until"], operation["quiet_until"])
        self.assertGreater(refused["quiet_until"], operation["attempts"][0]["ended_at"])
        self.assertEqual(self.gateway.operation(operation["id"])["state"], "unknown")
        value = self.settle(operation, "not_executed", force=True, note="the host was down")
        self.assertEqual(value["state"], "released")
        audit = self.gateway.operation(operation["id"])["audit"]
        self.assertIn("force", audit[0]["detail"])
        self.settle(self.lose("k2"), "abandoned")


class Waiting(AdminCase):
    route = {"on_pending": {"wait": "20s"}}

    def test_an_audit_and_the_verdict_survive_a_kill(self):
        """The verdict is durable with its audit when the call is answered."""
        operation = self.lose("k1")
        self.settle(operation, "executed", response={"status": 201, "body": {"id": 9}}, note="row 9")
        self.gateway.restart(kill=True)
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).json(), {"id": 9})
        audit = self.gateway.operation(operation["id"])["audit"]
        self.assertEqual([(e["note"], e["actor"]) for e in audit], [("row 9", "token:tester")])

    def test_callers_that_leave_early_do_no_harm(self):
        """A hundred calls whose callers reset at once leave a plane that still answers."""
        operation = self.lose("k1")
        head = [self.bearer()]
        for i in range(100):
            client = Client(self.gateway.admin_port)
            client.send("GET", ("/v1/operations", "/v1/operations/" + operation["id"],
                                "/v1/summary", "/metrics")[i % 4], head)
            client.reset()
        wait_until(lambda: self.gateway.admin("GET", "/v1/operations")[0] == 200)
        calls = parallel(4, lambda _: self.gateway.admin("GET", "/v1/operations")[0])
        self.assertEqual(calls, [200] * 4)
        self.assertTrue(self.gateway.is_running())

    def test_calls_on_one_connection_come_in_order(self):
        """Pipelined calls that wait for the store are answered one after another."""
        operation = self.lose("k1")
        with Client(self.gateway.admin_port) as client:
            paths = ["/v1/operations/" + operation["id"], "/healthz", "/v1/summary", "/metrics"] * 5
            for path in paths:
                client.send("GET", path, [self.bearer()])
            kinds = [client.read_response().get("Content-Type").split(";")[0] for _ in paths]
        self.assertEqual(kinds, ["application/json", "application/json", "application/json",
                                 "text/plain"] * 5)


if __name__ == "__main__":
    main()
