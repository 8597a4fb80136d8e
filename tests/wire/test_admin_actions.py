"""What people do with an unknown operation before its verdict: find, claim, comment, ask."""

import contextlib
import sqlite3
import threading
import urllib.parse

from admin_lib import AdminCase, Gateway, Upstream, answer, orders, rest, token, wait_until
from harness import main, parallel, wait

ANA, ANA_ENTRY = token("ana", "read", "settle")
BEN, BEN_ENTRY = token("ben", "read", "settle")
READER, READER_ENTRY = token("reader", "read")
CONTROLLER, CONTROLLER_ENTRY = token("controller", "control")


class ActionCase(AdminCase):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"id": 7})))
        self.gateway = self.use(Gateway(self.upstream, changes=self.changes(), start=False))
        self.gateway.token, full = token("tester", "read", "evidence", "settle", "control")
        self.gateway.changes["admin"] = {
            "tokens": [ANA_ENTRY, BEN_ENTRY, READER_ENTRY, CONTROLLER_ENTRY, full]}
        self.gateway.start()

    def act(self, operation, word, body=None, status=200, code=None, as_=ANA):
        """POST .../WORD; -> the answer's JSON."""
        got, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/%s" % (operation["id"], word), {} if body is None else body,
            token=as_)
        self.assertEqual(got, status, value)
        if code is not None:
            self.assertEqual(value["code"], code, value)
        return value

    def audit_of(self, operation):
        return [(each["action"], each["actor"], each["note"])
                for each in self.gateway.operation(operation["id"])["audit"]]

    def get(self, path, status=200, as_=None):
        got, _, value = self.gateway.admin("GET", path, token=as_)
        self.assertEqual(got, status, value)
        return value


class Claims(ActionCase):
    def test_one_is_on_it(self):
        """A claim names its actor and is on record; another needs to take it over."""
        operation = self.lose("k1")
        self.assertIsNone(operation["claimed_by"])
        self.assertIsNone(operation["claimed_at"])
        claimed = self.act(operation, "claim", {"note": "calling the warehouse"})
        self.assertEqual(claimed["claimed_by"], "token:ana")
        self.assertIsNotNone(claimed["claimed_at"])
        self.assertEqual(claimed["state"], "unknown")
        self.assertIn("now", claimed["client_sees"])
        refused = self.act(operation, "claim", status=409, code="claimed", as_=BEN)
        self.assertEqual(refused["claimed_by"], "token:ana")
        self.assertEqual(refused["operation"]["claimed_by"], "token:ana")
        refused = self.act(operation, "claim", {"release": True}, 409, "claimed", as_=BEN)
        self.assertEqual(self.gateway.operation(operation["id"])["claimed_by"], "token:ana")
        taken = self.act(operation, "claim", {"take_over": True}, as_=BEN)
        self.assertEqual(taken["claimed_by"], "token:ben")
        freed = self.act(operation, "claim", {"release": True}, as_=BEN)
        self.assertIsNone(freed["claimed_by"])
        self.assertIsNone(freed["claimed_at"])
        self.assertEqual(self.audit_of(operation),
                         [("claim", "token:ana", "calling the warehouse"),
                          ("claim", "token:ben", ""), ("release", "token:ben", "")])

    def test_a_second_time_changes_nothing(self):
        """Claiming what is one's own, or freeing what is free, is done already: no new version."""
        operation = self.lose("k1")
        first = self.act(operation, "claim")
        again = self.act(operation, "claim")
        self.assertEqual((again["version"], again["claimed_at"]),
                         (first["version"], first["claimed_at"]))
        freed = self.act(operation, "claim", {"release": True})
        again = self.act(operation, "claim", {"release": True})
        self.assertEqual(again["version"], freed["version"])
        self.assertEqual(len(self.audit_of(operation)), 2)

    def test_a_claim_is_a_change_that_others_see(self):
        """Who looked before the claim cannot settle past it: the version tells."""
        operation = self.lose("k1")
        claimed = self.act(operation, "claim")
        self.assertGreater(claimed["version"], operation["version"])
        self.settle(operation, "abandoned", status=409)
        settled = self.settle(claimed, "abandoned")
        self.assertEqual(settled["state"], "abandoned")

    def test_of_many_at_once_one_gets_it(self):
        """Twenty claims by two people: one holds it, the other's were refused, nothing is lost."""
        operation = self.lose("k1")
        path = "/v1/operations/%s/claim" % operation["id"]
        tokens = (ANA, BEN) * 10
        answers = parallel(len(tokens), lambda i: self.gateway.admin("POST", path, {},
                                                                     token=tokens[i]))
        holder = self.gateway.operation(operation["id"])["claimed_by"]
        winner = ANA if holder == "token:ana" else BEN
        for (status, _, _), text in zip(answers, tokens):
            self.assertEqual(status, 200 if text == winner else 409)
        self.assertEqual(len(self.audit_of(operation)), 1)

    def test_only_what_needs_somebody_is_claimed(self):
        """What is completed is not claimed, unless it is contradicted; freeing is always possible."""
        done = self.gateway.post("done", {"order": "d"})
        operation = self.gateway.operation(done.get("Idempotency-Operation"))
        self.act(operation, "claim", status=409, code="not-open")
        self.act(operation, "claim", {"release": True})
        self.act(operation, "contradiction", {"version": operation["version"], "note": "odd"})
        self.assertEqual(self.act(operation, "claim")["claimed_by"], "token:ana")
        lost = self.lose("k1")
        claimed = self.act(lost, "claim")
        self.settle(claimed, "abandoned")
        self.assertIsNone(self.act(lost, "claim", {"release": True})["claimed_by"])

    def test_it_survives_a_kill(self):
        """A claim that was answered is durable."""
        operation = self.lose("k1")
        self.act(operation, "claim")
        self.gateway.restart(kill=True)
        self.assertEqual(self.gateway.operation(operation["id"])["claimed_by"], "token:ana")

    def test_the_view_of_the_caller_stays(self):
        """A claim is for operators: what a caller gets, now and under each verdict, is the same."""
        operation = self.lose("k1")
        claimed = self.act(operation, "claim")
        self.assertEqual(claimed["client_sees"], operation["client_sees"])
        repeat = self.gateway.post("k1", {"order": "o-k1"})
        self.assertEqual(repeat.status, claimed["client_sees"]["now"]["status"])
        self.assertEqual(repeat.json()["code"], claimed["client_sees"]["now"]["code"])


class Comments(ActionCase):
    def test_comments_come_in_order_with_their_authors(self):
        """Each comment is kept as written, with who and when; the operation stays as it is."""
        operation = self.lose("k1")
        first = self.act(operation, "comment", {"text": "asked the <b>warehouse</b>\n☃"})
        second = self.act(operation, "comment", {"text": "no answer yet"}, as_=BEN)
        self.assertEqual([(each["actor"], each["text"]) for each in second["comments"]],
                         [("token:ana", "asked the <b>warehouse</b>\n☃"),
                          ("token:ben", "no answer yet")])
        self.assertEqual(len(first["comments"]), 1)
        now = self.gateway.operation(operation["id"])
        self.assertEqual(now["comments"], second["comments"])
        self.assertEqual(now["version"], operation["version"])
        self.assertEqual([each["action"] for each in now["audit"]], ["comment", "comment"])
        audit = self.get("/v1/audit?operation=" + operation["id"])["audit"]
        self.assertEqual([(each["actor"], each["note"]) for each in audit],
                         [(each["actor"], each["text"]) for each in now["comments"]])
        events = [step["event"] for step in self.get(
            "/v1/operations/%s/why" % operation["id"])["timeline"]]
        self.assertEqual(events.count("comment"), 2)

    def test_a_comment_has_a_text_and_an_operation(self):
        """Empty, blank, long, wrong and lost comments are refused and leave nothing."""
        operation = self.lose("k1")
        for body in ({}, {"text": ""}, {"text": " \n"}, {"text": 7}, {"text": None},
                     {"text": "x" * 4001}, {"text": "x", "note": "y"}):
            with self.subTest(body=str(body)[:40]):
                self.act(operation, "comment", body, 400, "body-invalid")
        self.act(operation, "comment", {"text": "x" * 4000})
        self.act({"id": "op_" + "a" * 26}, "comment", {"text": "x"}, 404, "not-found")
        self.assertEqual(len(self.gateway.operation(operation["id"])["comments"]), 1)


    def test_control_characters_are_refused(self):
        """What would hide or overwrite the rest of a text is refused, in comments and in notes."""
        operation = self.lose("k1")
        for bad in ("\0", "\x1b", "\r", "\x7f", "\u0085", "\x01"):
            with self.subTest(bad=bad):
                self.act(operation, "comment", {"text": "a%sb" % bad}, 400, "body-invalid")
                self.act(operation, "claim", {"note": "a%sb" % bad}, 400, "body-invalid")
                self.settle(operation, "executed", 400, note="a%sb" % bad)
        self.act(operation, "comment", {"text": "a\tb\nc\u00a0d é"})
        self.assertEqual([each["text"] for each in
                          self.gateway.operation(operation["id"])["comments"]],
                         ["a\tb\nc\u00a0d é"])

    def test_an_old_text_with_a_nul_hides_nothing(self):
        """What was taken before texts were checked is told whole, with its end."""
        operation = self.lose("k1")
        self.act(operation, "comment", {"text": "before#behind"})
        self.gateway.stop()
        with contextlib.closing(sqlite3.connect(self.gateway.store_path)) as store, store:
            changed = store.execute("UPDATE audit SET note = CAST(? AS BLOB)"
                                    " WHERE CAST(action AS TEXT) = 'comment'",
                                    (b"before\0behind",))
            self.assertEqual(changed.rowcount, 1)
        self.gateway.start()
        told = self.get("/v1/operations/%s/why" % operation["id"])["timeline"]
        self.assertEqual([step["text"] for step in told if step["event"] == "comment"],
                         ["comment by token:ana: before\0behind"])
        self.assertIn("before\\x00behind", self.gateway.cli("why", operation["id"]).stdout)


class Contradictions(ActionCase):
    def contradictions(self):
        return sum(value for name, value in self.gateway.metrics().items()
                   if name.startswith("recibo_contradictions_total"))

    def test_an_operation_is_counted_once(self):
        """Marked again, by the same or by another, it is still one contradicted operation."""
        now = self.lose("k1")
        for actor in (ANA, BEN, ANA):
            now = self.act(now, "contradiction", {"version": now["version"], "note": "again"},
                           as_=actor)
        self.assertEqual(len(self.audit_of(now)), 3)
        self.assertEqual(self.contradictions(), 1)

    def test_the_mark_is_raised_by_version(self):
        """A contradiction is marked on the version that was looked at, audited, and found."""
        operation = self.lose("k1")
        self.act(operation, "contradiction", {"version": operation["version"] + 1, "note": "x"},
                 409, "changed-meanwhile")
        marked = self.act(operation, "contradiction",
                          {"version": operation["version"], "note": "found twice"})
        self.assertTrue(marked["contradicted"])
        self.assertEqual(marked["state"], "unknown")
        self.assertEqual([each["id"] for each in self.gateway.operations(contradicted="true")],
                         [operation["id"]])
        self.assertEqual(self.audit_of(operation),
                         [("contradiction", "token:ana", "found twice")])
        counted = [value for name, value in self.gateway.metrics().items()
                   if name.startswith("recibo_contradictions_total") and "create-order" in name]
        self.assertEqual(counted, [1])

    def test_it_takes_a_freed_key_back(self):
        """Found twice after "it did not run": the key is in doubt again, and nothing is sent."""
        operation = self.lose("k1")
        released = self.settle(operation, "not_executed", force=True)
        marked = self.act(released, "contradiction",
                          {"version": released["version"], "note": "found in their list"})
        self.assertEqual((marked["state"], marked["contradicted"]), ("unknown", True))
        sends = self.upstream.sends
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).status, 409)
        self.assertEqual(self.upstream.sends, sends)

    def test_it_needs_a_version_and_a_note(self):
        """Without what was looked at, or why, nothing is marked."""
        operation = self.lose("k1")
        version = operation["version"]
        for body in ({}, {"version": version}, {"note": "x"}, {"version": version, "note": " "},
                     {"version": str(version), "note": "x"}, {"version": -1, "note": "x"},
                     {"version": version, "note": "x", "more": 1}):
            with self.subTest(body=body):
                self.act(operation, "contradiction", body, 400, "body-invalid")
        self.assertFalse(self.gateway.operation(operation["id"])["contradicted"])


class Probes(ActionCase):
    """A probe on demand only makes it due: the gateway asks as it asks by itself."""

    def changes(self):
        probed = orders(breaker="none", name="probed", match={"methods": ["POST"],
                                                              "path": "/probed"},
                        reconcile={"quiet_time": "1ms",
                                   "probe": {"method": "GET", "path": "/find?key={key}"},
                                   "executed_when": {"status": 200}, "absent_when": {"status": 404},
                                   "every": "24h"})
        return {"routes": [orders(breaker="none"), probed, rest()]}

    def test_only_where_there_is_something_to_ask(self):
        """A route without a probe, and what is not unknown, are refused; nothing is changed."""
        operation = self.lose("k1")
        refused = self.act(operation, "probe", status=409, code="no-probe")
        self.assertEqual(refused["operation"]["version"], operation["version"])
        done = self.gateway.post("done", {"order": "d"}, path="/probed")
        self.act({"id": done.get("Idempotency-Operation")}, "probe", status=409, code="not-open")
        self.act({"id": "op_" + "a" * 26}, "probe", status=404, code="not-found")
        self.assertEqual(self.audit_of(operation), [])

    def test_it_is_asked_at_once_and_kept(self):
        """202 with the operation; the upstream is asked; what it said stands with who asked."""
        operation = self.lose("k1", path="/probed")
        self.upstream.default = answer(404, body={})
        told = self.act(operation, "probe", {"note": "is it there?"}, 202)
        self.assertEqual(told["operation"]["id"], operation["id"])
        self.assertIsNotNone(told["operation"]["next_probe_at"])
        seen = wait_until(lambda: self.probed(operation))
        self.assertEqual(seen["probe"], "absent")
        self.assertEqual(seen["probes"][-1]["status"], 404)
        self.assertEqual(seen["state"], "unknown")
        self.assertIn(("probe", "token:ana", "is it there?"), self.audit_of(operation))
        self.assertEqual([each["id"] for each in self.gateway.operations(probe="absent")],
                         [operation["id"]])
        self.assertEqual(self.gateway.operations(probe="none,executed"), [])
        groups = self.get("/v1/backlog/groups")["groups"]
        self.assertEqual(groups[0]["probes"], {"none": 0, "executed": 0, "absent": 1, "unclear": 0,
                                               "failed": 0})

    def test_what_falls_into_doubt_again_is_asked_about(self):
        """A contradiction and a reopening start the questions anew, as a lost answer does."""
        self.upstream.on_request = lambda request: answer(500)
        first = self.lose_on("probed", "k1")
        freed = self.settle(first, "not_executed", force=True)
        self.assertIsNone(freed["next_probe_at"])
        marked = self.act(freed, "contradiction",
                          {"version": freed["version"], "note": "found in their list"})
        self.assertEqual(marked["state"], "unknown")
        self.assertIsNotNone(marked["next_probe_at"])
        self.assertGreaterEqual(marked["updated_at"], freed["updated_at"])
        second = self.settle(self.lose_on("probed", "k2"), "not_executed", force=True)
        opened = self.settle(second, "reopen")
        self.assertEqual(opened["state"], "unknown")
        self.assertIsNotNone(opened["next_probe_at"])

    def lose_on(self, path, key):
        response = self.gateway.post(key, {"order": "o-" + key}, path="/" + path)
        return self.gateway.operation(response.get("Idempotency-Operation"))

    def probed(self, operation):
        now = self.gateway.operation(operation["id"])
        return now if now["probe_count"] > 0 else None


class Groups(ActionCase):
    def changes(self):
        other = orders(breaker="none", name="other",
                       match={"methods": ["POST"], "path": "/other"})
        return {"routes": [orders(breaker="none"), other, rest()]}

    def lose_by_status(self, key, status, path):
        self.upstream.script(answer(status, body={}))
        response = self.gateway.post(key, {"order": "o-" + key}, path=path)
        operation = self.gateway.operation(response.get("Idempotency-Operation"))
        self.assertEqual(operation["state"], "unknown")
        return operation

    def test_what_looks_alike_is_one_group(self):
        """By route, end and status; counts, times and who waits agree with the list."""
        for key in ("a", "b", "c"):
            self.lose(key)
        lost = [self.lose_by_status("s1", 500, "/other"), self.lose_by_status("s2", 503, "/other"),
                self.lose_by_status("s3", 503, "/other")]
        self.gateway.post("done", {"order": "d"})
        self.act(lost[0], "claim")
        self.gateway.post("a", {"order": "o-a"})
        self.gateway.post("a", {"order": "o-a"})
        seen = self.get("/v1/backlog/groups")
        self.assertEqual(seen["unknown"], 6)
        self.assertEqual(
            [(each["number"], each["route"], each["end"], each["status"], each["count"],
              each["clients_waiting"], each["claimed"], each["grown_last_hour"])
             for each in seen["groups"]],
            [(1, "create-order", "closed_no_answer", None, 3, 1, 0, 3),
             (2, "other", "answered", 503, 2, 0, 0, 2),
             (3, "other", "answered", 500, 1, 0, 1, 1)])
        for group in seen["groups"]:
            query = {"state": "unknown", "route": group["route"], "end": group["end"],
                     "status": "none" if group["status"] is None else str(group["status"])}
            listed = self.gateway.operations(**query)
            self.assertEqual(len(listed), group["count"])
            created = sorted(each["created_at"] for each in listed)
            self.assertEqual((group["first_at"], group["last_at"]), (created[0], created[-1]))
            self.assertEqual(sum(group["probes"].values()), group["count"])

    def test_no_doubts_no_groups(self):
        """An empty backlog is zero and an empty list; a verdict takes an operation out."""
        self.assertEqual(self.get("/v1/backlog/groups"), {"unknown": 0, "groups": []})
        operation = self.lose("k1")
        self.assertEqual(self.get("/v1/backlog/groups")["unknown"], 1)
        self.settle(operation, "abandoned")
        self.assertEqual(self.get("/v1/backlog/groups"), {"unknown": 0, "groups": []})

    def test_asked_a_hundred_times_it_stays_one(self):
        """A hundred repeats of an unknown operation: one entry, one group, one count."""
        operation = self.lose("k1")
        for _ in range(100):
            repeat = self.gateway.post("k1", {"order": "o-k1"})
            self.assertEqual(repeat.get("Idempotency-Operation"), operation["id"])
            self.assertEqual(repeat.json()["code"], "outcome-unknown")
        listed = self.gateway.operations(state="unknown")
        self.assertEqual([(each["id"], each["repeats"]) for each in listed],
                         [(operation["id"], 100)])
        groups = self.get("/v1/backlog/groups")
        self.assertEqual((groups["unknown"], groups["groups"][0]["clients_waiting"]), (1, 1))
        self.assertEqual(len(self.upstream.select(method="POST")), 1)

    def test_the_new_filters_choose(self):
        """status, claimed and probe find what they name and nothing else, alone and together."""
        a, b = self.lose("a"), self.lose_by_status("b", 503, "/other")
        self.act(b, "claim")
        everything = {a["id"], b["id"]}
        for query, expected in (
                ({"status": "503"}, {b["id"]}), ({"status": "none"}, {a["id"]}),
                ({"status": "500"}, set()), ({"claimed": "true"}, {b["id"]}),
                ({"claimed": "false"}, {a["id"]}), ({"probe": "none"}, everything),
                ({"probe": "executed,absent"}, set()), ({"probe": "absent,none"}, everything),
                ({"status": "503", "claimed": "false"}, set()),
                ({"state": "unknown", "route": "other", "status": "503", "claimed": "true"},
                 {b["id"]})):
            with self.subTest(query=query):
                found = {each["id"] for each in self.gateway.operations(**query)}
                self.assertEqual(found, expected)
        for name, value in (("status", "99"), ("status", "600"), ("status", "5xx"), ("status", "0"),
                            ("status", "1000"), ("claimed", "yes"), ("claimed", ""),
                            ("probe", "maybe"), ("probe", "none,"), ("probe", "none,,absent"),
                            ("probed", "none")):
            with self.subTest(name=name, value=value):
                got, _, value = self.gateway.admin(
                    "GET", "/v1/operations?" + urllib.parse.urlencode({name: value}))
                self.assertEqual((got, value["code"]), (400, "parameter-invalid"))


class InFlight(ActionCase):
    def test_what_is_under_way_is_listed(self):
        """Operations that a worker holds, the oldest first; gone when they are answered."""
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.upstream.script(*[wait(gate, answer(201, body={}))] * 2)
        keys = ["first", "second"]
        threads = []
        for count, key in enumerate(keys, 1):
            thread = threading.Thread(target=self.gateway.post, args=(key, {"order": key}))
            thread.start()
            threads.append(thread)
            self.upstream.wait_heads(count)
        seen = wait_until(lambda: self.under_way(2))
        self.assertEqual([each["key"] for each in seen["operations"]], keys)
        self.assertEqual({each["phase"] for each in seen["operations"]}, {"sent"})
        self.assertEqual(len(self.get("/v1/inflight?limit=1")["operations"]), 1)
        self.assertEqual(self.get("/v1/inflight?route=none")["operations"], [])
        self.get("/v1/inflight?order=newest", 400)
        self.get("/v1/inflight?state=unknown", 400)
        gate.set()
        for thread in threads:
            thread.join()
        self.assertEqual(self.get("/v1/inflight"), {"operations": [], "next": None})

    def under_way(self, count):
        seen = self.get("/v1/inflight")
        sent = [each for each in seen["operations"] if each["phase"] == "sent"]
        return seen if len(sent) == count else None


class Rights(ActionCase):
    def test_who_may_read_may_not_act(self):
        """Each acting call needs the right settle, and changes nothing without it."""
        operation = self.lose("k1")
        for word in ("claim", "comment", "probe", "contradiction"):
            for text in (READER, CONTROLLER):
                self.act(operation, word, {"note": "x"}, 403, "forbidden", as_=text)
        now = self.gateway.operation(operation["id"])
        self.assertEqual((now["version"], now["audit"]), (operation["version"], []))
        for path in ("/v1/backlog/groups", "/v1/inflight"):
            self.get(path, as_=READER)
            self.get(path, 403, as_=CONTROLLER)

    def test_acting_calls_insist_on_json(self):
        """No form and no plain text changes anything, nor does a page of another origin."""
        operation = self.lose("k1")
        own = "127.0.0.1:%d" % self.gateway.admin_port
        for word in ("claim", "comment", "probe", "contradiction"):
            path = "/v1/operations/%s/%s" % (operation["id"], word)
            for headers, status, code in (
                    ([("Content-Type", "text/plain")], 415, "unsupported-media-type"),
                    ([], 415, "unsupported-media-type"),
                    ([("Content-Type", "application/json"), ("Origin", "http://evil.example")], 403,
                     "foreign-origin"),
                    ([("Content-Type", "application/json"), ("Host", "evil.example")], 421,
                     "misdirected-request"),
                    ([("Content-Type", "application/json"), ("Origin", "http://" + own),
                      ("Host", "localhost")], 403, "foreign-origin")):
                with self.subTest(word=word, headers=headers):
                    response = self.raw("POST", path, [self.bearer()] + headers, '{"text": "x"}')
                    self.assert_problem(response, status, code)
            self.assert_problem(self.raw("GET", path, [self.bearer()]), 405, "method-not-allowed")
        now = self.gateway.operation(operation["id"])
        self.assertEqual((now["version"], now["audit"]), (operation["version"], []))

    def test_stopping_a_plan_is_guarded_like_the_rest(self):
        """DELETE needs the right and an origin of ours; other methods of it are told."""
        path = "/v1/plans/plan_" + "a" * 26
        for headers, status, code in (
                ([], 401, "unauthenticated"), ([self.bearer(READER)], 403, "forbidden"),
                ([self.bearer(), ("Origin", "http://evil.example")], 403, "foreign-origin"),
                ([self.bearer(), ("Host", "evil.example")], 421, "misdirected-request"),
                ([self.bearer()], 404, "not-found")):
            with self.subTest(code=code):
                self.assert_problem(self.raw("DELETE", path, headers), status, code)
        response = self.raw("PUT", path, [self.bearer()])
        self.assert_problem(response, 405, "method-not-allowed")
        self.assertEqual(response.get("Allow"), "GET, HEAD, DELETE")


if __name__ == "__main__":
    main()
