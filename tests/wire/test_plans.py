"""Plans: many verdicts at once, looked at before they are applied, and stoppable."""

import sqlite3

from admin_lib import token
from guarded import now_text
from harness import main, merge
from plans_lib import OVER, PlansCase, wait_until

NOBODY = "op_" + "0" * 26


class Making(PlansCase):
    def test_a_plan_settles_nothing(self):
        """It counts by route, shows samples and what callers get, and leaves all as it was."""
        lost = self.lose_many(6) + self.lose_many(2, path="/refunds", prefix="r")
        self.gateway.post("fine", {"order": "x"})
        plan = self.plan({"state": "unknown"}, note="the outage")
        self.assertEqual((plan["state"], plan["count"], plan["settled"], plan["changed"],
                          plan["refused"]), ("draft", 8, 0, 0, 0))
        self.assertEqual(plan["by_route"], {"create-order": 6, "refunds": 2})
        self.assertEqual([each["id"] for each in plan["samples"]], lost[:5])
        self.assertEqual(plan["left_out"], [])
        self.assertEqual((plan["actor"], plan["applied_by"], plan["note"]),
                         ("token:tester", None, "the outage"))
        self.assertEqual((plan["apply_at"], plan["ended_at"]), (None, None))
        self.assertGreater(plan["expires_at"], now_text())
        sees = plan["client_sees"]
        self.assertEqual({name: each["count"] for name, each in sees.items()}, {"rerun": 8})
        self.assertIs(sees["rerun"]["sent_upstream"], True)
        self.assertEqual(self.states(lost), ["unknown"] * 8)
        self.assertEqual(self.look(plan), plan)

    def test_the_filters_choose(self):
        """Every filter of the list narrows a plan, alone and together; others stay out."""
        orders = self.lose_many(4)
        self.lose_many(2, path="/refunds", prefix="r")
        self.gateway.post("k0001", {"order": "o-k0001"})
        claimed = self.gateway.admin("POST", "/v1/operations/%s/claim" % orders[2], {})[0]
        self.assertEqual(claimed, 200)
        for where, count in (
                ({"route": "create-order"}, 4), ({"route": "refunds"}, 2), ({"route": "other"}, 0),
                ({"key": "k0003"}, 1), ({"label.order": "o-r0001"}, 1), ({"label.order": "o"}, 0),
                ({"end": "closed_no_answer"}, 6), ({"end": "answer_timeout"}, 0),
                ({"status": "none"}, 6), ({"status": 503}, 0), ({"claimed": "true"}, 1),
                ({"claimed": False, "route": "create-order"}, 3), ({"owner": "tester"}, 6),
                ({"owner": "nobody"}, 0), ({"older_than": "1h"}, 0), ({"newer_than": "1h"}, 6),
                ({"created_before": "2020-01-01T00:00:00Z"}, 0), ({"probe": "none"}, 6),
                ({"state": "unknown", "route": "refunds"}, 2)):
            with self.subTest(where=where):
                plan = self.plan(where)
                self.assertEqual(plan["count"], count)
                shown = {name: value if isinstance(value, str) else str(value).lower()
                         for name, value in where.items()}
                self.assertEqual(plan["where"], shown)

    def test_only_what_is_unknown_is_taken(self):
        """Operations in other states are in no plan, however wide its filter is."""
        lost = self.lose_many(3)
        self.settle(self.gateway.operation(lost[0]), "executed")
        self.settle(self.gateway.operation(lost[1]), "abandoned")
        self.gateway.post("fine", {"order": "x"})
        plan = self.plan({"route": "create-order"}, "executed")
        self.assertEqual(([each["id"] for each in plan["samples"]], plan["count"]), ([lost[2]], 1))

    def test_what_is_asked_must_be_whole(self):
        """Nothing is made of a body that cannot be meant so, and the reason is named."""
        lost = self.gateway.operation(self.lose_many(1)[0])
        named = {"id": lost["id"], "version": lost["version"]}
        unknown = {"state": "unknown"}
        for body, word in (
                ({"verdict": "executed"}, "where or operations"),
                ({"verdict": "executed", "where": unknown, "operations": [named]}, "one of them"),
                ({"verdict": "executed", "where": {}}, "empty"),
                ({"verdict": "executed", "where": "route=x"}, "object"),
                ({"verdict": "executed", "where": {"rout": "x"}}, "rout"),
                ({"verdict": "executed", "where": {"route": None}}, "route"),
                ({"verdict": "executed", "where": {"route": ["a"]}}, "route"),
                ({"verdict": "executed", "where": {"route": ""}}, "no value"),
                ({"verdict": "executed", "where": {"state": "completed"}}, "unknown"),
                ({"verdict": "executed", "where": {"state": "unknown,completed"}}, "unknown"),
                ({"verdict": "executed", "where": {"older_than": "soon"}}, "older_than"),
                ({"verdict": "executed", "where": {"end": "sadly"}}, "end"),
                ({"verdict": "executed", "where": {"label.a": "1", "label.b": "2"}}, "label"),
                ({"verdict": "executed", "where": {"key": "k" * 20000}}, "too large"),
                ({"verdict": "reopen", "where": unknown}, "verdict"),
                ({"verdict": "released", "where": unknown}, "verdict"),
                ({"where": unknown}, "verdict"),
                ({"verdict": 1, "where": unknown}, "verdict"),
                ({"verdict": "abandoned", "where": unknown, "response": {"status": 201}},
                 "response"),
                ({"verdict": "executed", "where": unknown, "response": {"status": 99}}, "status"),
                ({"verdict": "executed", "where": unknown, "force": 1}, "force"),
                ({"verdict": "executed", "where": unknown, "note": " "}, "note"),
                ({"verdict": "executed", "where": unknown, "why": "x"}, "why"),
                ({"verdict": "executed", "operations": {}}, "list"),
                ({"verdict": "executed", "operations": [lost["id"]]}, "id"),
                ({"verdict": "executed", "operations": [{"id": lost["id"]}]}, "version"),
                ({"verdict": "executed", "operations": [{"id": "x", "version": 1}]}, "id"),
                ({"verdict": "executed", "operations": [merge(named, {"version": -1})]}, "version"),
                ({"verdict": "executed", "operations": [merge(named, {"state": "x"})]}, "state"),
                ({"verdict": "executed", "operations": [named, named]}, "twice")):
            with self.subTest(body=str(body)[:100]):
                status, _, problem = self.gateway.admin("POST", "/v1/plans", body)
                self.assertEqual((status, problem["code"]), (400, "body-invalid"), problem)
                self.assertIn(word, problem["detail"])
        status, _, problem = self.gateway.admin(
            "POST", "/v1/plans", {"verdict": "executed", "operations": [
                named, {"id": NOBODY, "version": 1}]})
        self.assertEqual((status, problem["code"]), (404, "not-found"))
        self.assertIn(NOBODY, problem["detail"])
        self.assertEqual(self.gateway.admin("GET", "/v1/plans")[2], {"plans": []})

    def test_named_operations(self):
        """A plan of named operations has exactly these, whatever their order; one that was
        looked at in another version is left out and told."""
        lost = self.lose_many(40)
        wanted = [self.gateway.operation(id_) for id_ in reversed(lost[5:])]
        self.settle(wanted[3], "abandoned")
        named = [{"id": each["id"], "version": each["version"]} for each in wanted]
        plan = self.plan(verdict="executed", operations=named)
        self.assertEqual((plan["where"], plan["count"], plan["changed"]), (None, 35, 1))
        self.assertEqual([each["id"] for each in plan["samples"]], lost[5:10])
        self.assertEqual([(each["id"], each["outcome"]) for each in plan["left_out"]],
                         [(wanted[3]["id"], "changed")])
        self.apply(plan)
        done = self.wait_over(plan)
        self.assertEqual((done["settled"], done["changed"]), (34, 1))
        self.assertEqual(self.states(lost[:5]), ["unknown"] * 5)
        self.assertEqual(self.gateway.operation(wanted[3]["id"])["state"], "abandoned")
        self.assertEqual(self.plan(verdict="abandoned", operations=[])["count"], 0)

    def test_a_response_that_a_route_does_not_keep_makes_no_plan(self):
        """What could not be replayed on one of the routes is refused before anything is made."""
        self.lose_many(1)
        problem = self.plan({"state": "unknown"}, "executed", 413,
                            response={"status": 200, "body": "x" * 1100000})
        self.assertEqual(problem["code"], "content-too-large")
        problem = self.plan({"state": "unknown"}, "executed", 400, response={
            "status": 200, "headers": {"Set-Cookie": "a=b"}})
        self.assertEqual(problem["code"], "body-invalid")

    def test_bounds(self):
        """So many named operations and so many plans, and no more; both are said."""
        named = [{"id": NOBODY, "version": 1}] * 20001
        problem = self.plan(verdict="executed", status=409, operations=named)
        self.assertEqual(problem["code"], "plan-too-large")
        plans = [self.plan({"route": "none"}, "executed") for _ in range(200)]
        problem = self.plan({"route": "none"}, "executed", 409)
        self.assertEqual(problem["code"], "plans-full")
        self.assertIn("200 plans", problem["detail"])
        self.stop(plans[100])
        self.plan({"route": "none"}, "executed")
        self.assertEqual(self.gateway.admin("GET", "/v1/plans/" + plans[100]["id"])[0], 404)
        self.assertEqual(self.look(plans[0])["state"], "draft")

    def test_plans_need_the_right(self):
        """Without `settle` a plan can be looked at and nothing else."""
        text, entry = token("viewer", "read", "evidence", "control")
        tokens = self.gateway.configuration()["admin"]["tokens"]
        self.gateway.restart({"admin": {"tokens": tokens + [entry]}})
        self.lose_many(1)
        plan = self.plan({"state": "unknown"})
        for method, path, body in (("POST", "", {"where": {"state": "unknown"},
                                                 "verdict": "executed"}),
                                   ("POST", "/%s/apply" % plan["id"], {"note": "x"}),
                                   ("DELETE", "/" + plan["id"], None)):
            self.assertEqual(
                self.gateway.admin(method, "/v1/plans" + path, body, token=text)[0], 403)
        self.assertEqual(self.gateway.admin("GET", "/v1/plans", token=text)[0], 200)
        self.assertEqual(self.look(plan)["state"], "draft")

    def test_what_is_no_plan_is_not_found(self):
        """Ids that nobody has and texts that are no id are 404 for every call."""
        self.lose_many(1)
        for id_ in ("plan_" + "0" * 26, "plan_" + "I" * 26, "plan_", "op_" + "0" * 26, "%00"):
            for method, tail, body in (("GET", "", None), ("POST", "/apply", {"note": "x"}),
                                       ("DELETE", "", None)):
                status, _, problem = self.gateway.admin(method, "/v1/plans/" + id_ + tail, body)
                self.assertEqual((status, problem["code"]), (404, "not-found"), (method, id_))

    def test_the_newest_stands_first(self):
        """The list of plans has all of them in the order of their making."""
        self.lose_many(1)
        made = [self.plan({"state": "unknown"}, verdict)["id"]
                for verdict in ("executed", "abandoned", "not_executed")]
        listed = self.gateway.admin("GET", "/v1/plans")[2]["plans"]
        self.assertEqual([each["id"] for each in listed], made[::-1])
        self.assertEqual([each["count"] for each in listed], [1, 1, 1])


class Applying(PlansCase):
    def test_executed_with_a_response(self):
        """Each gets the response and a line of the audit that names the plan and the person."""
        lost = self.lose_many(30)
        answer = {"status": 201, "headers": {"X-By": "plan"}, "body": {"id": 9}}
        plan = self.plan({"route": "create-order"}, "executed", response=answer)
        sees = plan["client_sees"]
        self.assertEqual((list(sees), sees["replay"]["status"], sees["replay"]["count"]),
                         (["replay"], 201, 30))
        told = self.apply(plan, note="all in their export")
        self.assertIn(told["state"], ("applying", "done"))
        done = self.wait_over(plan)
        self.assertEqual((done["settled"], done["changed"], done["refused"]), (30, 0, 0))
        self.assertEqual((done["applied_by"], done["note"]),
                         ("token:tester", "all in their export"))
        self.assertLessEqual(done["apply_at"], done["ended_at"])
        self.assertEqual(self.states(lost), ["completed"] * 30)
        sends = self.upstream.sends
        repeat = self.gateway.post("k0007", {"order": "o-k0007"})
        self.assertEqual((repeat.status, repeat.json(), repeat.get("X-By")), (201, {"id": 9}, "plan"))
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed")
        self.assertEqual(self.upstream.sends, sends)
        for id_ in (lost[0], lost[29]):
            lines = self.settle_lines(id_)
            self.assertEqual([(line["actor"], line["note"]) for line in lines],
                             [("token:tester", "all in their export")])
            self.assertIn("plan=" + plan["id"], lines[0]["detail"])
            self.assertIn("verdict=executed", lines[0]["detail"])
        settled = self.gateway.metrics()
        self.assertEqual(sum(value for name, value in settled.items()
                             if name.startswith("recibo_settled_total") and
                             'verdict="executed"' in name), 30)

    def test_executed_without_a_response(self):
        """Callers are told that it ran and that nobody has the answer; the plan says so before."""
        self.lose_many(2)
        plan = self.plan({"state": "unknown"}, "executed")
        sees = plan["client_sees"]
        self.assertEqual(list(sees), ["unavailable"])
        self.assertEqual((sees["unavailable"]["status"], sees["unavailable"]["code"]),
                         (409, "result-unavailable"))
        self.apply(plan)
        self.wait_over(plan)
        self.assert_problem(self.gateway.post("k0001", {"order": "o-k0001"}), 409,
                            "result-unavailable")

    def test_not_executed_without_a_delay(self):
        """The keys are free: the next repeat is sent, once."""
        lost = self.lose_many(3)
        plan = self.plan({"state": "unknown"})
        self.apply(plan)
        self.wait_over(plan)
        self.assertEqual(self.states(lost), ["released"] * 3)
        sends = self.upstream.sends
        for _ in range(2):
            self.assertEqual(self.gateway.post("k0001", {"order": "o-k0001"}).status, 201)
        self.assertEqual(self.upstream.sends, sends + 1)

    def test_abandoned(self):
        """They are off the backlog and never sent again."""
        lost = self.lose_many(3)
        plan = self.plan({"state": "unknown"}, "abandoned")
        self.apply(plan)
        self.wait_over(plan)
        self.assertEqual(self.states(lost), ["abandoned"] * 3)
        self.assertEqual(self.gateway.admin("GET", "/v1/backlog/groups")[2]["unknown"], 0)

    def test_what_changed_is_skipped_and_listed(self):
        """A version that moved since the plan was made is left as it is, with the reason."""
        lost = self.lose_many(60)
        plan = self.plan({"state": "unknown"}, "executed")
        for id_ in lost[10:13]:
            self.settle(self.gateway.operation(id_), "abandoned")
        self.gateway.admin("POST", "/v1/operations/%s/claim" % lost[59], {})
        self.apply(plan)
        done = self.wait_over(plan)
        self.assertEqual((done["settled"], done["changed"], done["refused"]), (56, 4, 0))
        self.assertEqual([each["id"] for each in done["left_out"]], lost[10:13] + [lost[59]])
        for each in done["left_out"]:
            self.assertEqual(each["outcome"], "changed")
            self.assertIn("version", each["reason"])
        self.assertEqual(self.states(lost[10:13]), ["abandoned"] * 3)
        self.assertEqual(self.gateway.operation(lost[59])["state"], "unknown")

    def test_a_plan_is_applied_once(self):
        """Neither a plan that was applied nor one that was stopped goes on again."""
        lost = self.lose_many(2)
        plan = self.plan({"key": "k0000"}, "abandoned")
        self.apply(plan)
        self.wait_over(plan)
        self.assertEqual(self.apply(plan, 409)["code"], "plan-not-draft")
        self.assertEqual(self.stop(plan, 409)["code"], "plan-done")
        other = self.plan({"key": "k0001"}, "abandoned")
        self.assertEqual(self.stop(other)["state"], "stopped")
        self.assertEqual(self.apply(other, 409)["code"], "plan-not-draft")
        self.assertEqual(self.stop(other)["state"], "stopped")
        self.assertEqual(self.states(lost), ["abandoned", "unknown"])

    def test_applying_needs_a_note(self):
        """Why is asked of whoever applies, and nothing happens without it."""
        lost = self.lose_many(1)
        plan = self.plan({"state": "unknown"}, "abandoned", note="made for a reason")
        for body in ({}, {"note": ""}, {"note": "  "}, {"note": 1}, {"note": "x", "force": True}):
            status, _, problem = self.gateway.admin("POST", "/v1/plans/%s/apply" % plan["id"], body)
            self.assertEqual((status, problem["code"]), (400, "body-invalid"), body)
        self.assertEqual(self.look(plan)["state"], "draft")
        self.assertEqual(self.states(lost), ["unknown"])

    def test_a_plan_expires(self):
        """A draft older than its time is refused: what it was made for may have changed."""
        self.lose_many(1)
        plan = self.plan({"state": "unknown"}, "abandoned")
        self.gateway.stop()
        with sqlite3.connect(self.gateway.store_path) as store:
            store.execute("UPDATE plans SET expires_ms = created_ms")
        store.close()
        self.gateway.start()
        problem = self.apply(plan, 409)
        self.assertEqual(problem["code"], "plan-expired")
        self.assertEqual(self.look(plan)["state"], "draft")

    def test_what_is_done_is_audited(self):
        """Applying and stopping are on record with who and why."""
        self.lose_many(1)
        plan = self.plan({"state": "unknown"}, "abandoned")
        self.apply(plan, note="because")
        self.wait_over(plan)
        other = self.plan({"state": "unknown"}, "abandoned")
        self.stop(other)
        for id_, action, note in ((plan["id"], "apply", "because"), (other["id"], "stop", "stopped")):
            audit = self.gateway.admin("GET", "/v1/audit?subject=" + id_)[2]["audit"]
            self.assertEqual([(line["action"], line["note"], line["actor"]) for line in audit],
                             [(action, note, "token:tester")])

    def test_waiting_repeats_are_woken(self):
        """A plan's verdict reaches callers as one by hand does: the next repeat is replayed."""
        self.lose_many(2)
        plan = self.plan({"state": "unknown"}, "executed", response={"status": 200, "body": "done"})
        self.apply(plan)
        self.wait_over(plan)
        self.assertEqual(self.gateway.post("k0000", {"order": "o-k0000"}).body, b"done")

    def test_several_plans_at_once(self):
        """Plans that are applied together come all to their ends; no entry has two verdicts."""
        lost = self.lose_many(90)
        plans = [self.plan({"state": "unknown"}, verdict)
                 for verdict in ("executed", "abandoned", "executed")]
        for plan in plans:
            self.apply(plan)
        done = [self.wait_over(plan) for plan in plans]
        self.assertEqual(sum(each["settled"] for each in done), 90)
        self.assertEqual([each["settled"] + each["changed"] for each in done], [90] * 3)
        for id_ in lost[::10]:
            self.assertEqual(len(self.settle_lines(id_)), 1)

    def test_stopping_in_the_middle(self):
        """Whenever a plan is stopped: what it counts is what it has settled, and no more comes."""
        lost = self.lose_many(250)
        plan = self.plan({"state": "unknown"}, "abandoned")
        self.apply(plan)
        status, _, _ = self.gateway.admin("DELETE", "/v1/plans/" + plan["id"])
        self.assertIn(status, (200, 409))
        over = self.wait_over(plan, "stopped" if status == 200 else "done")
        wait_until(lambda: self.look(plan)["settled"] == self.states(lost).count("abandoned"))
        last = self.look(plan)
        self.assertEqual(last["state"], over["state"])
        self.assertEqual(last["changed"] + last["refused"], 0)
        self.gateway.restart()
        self.assertEqual(self.look(plan), last)
        self.assertEqual(self.states(lost).count("abandoned"), last["settled"])


class InMemory(Applying):
    """The same with the store that keeps nothing, but for what needs a file."""

    late = {"store": {"kind": "memory"}}
    test_a_plan_expires = test_stopping_in_the_middle = None


class Quiet(PlansCase):
    quiet = "1h"

    def test_the_quiet_time_is_each_entrys(self):
        """`not_executed` leaves out what may still arrive, and says so; force goes past it."""
        lost = self.lose_many(3)
        plan = self.plan({"state": "unknown"})
        self.apply(plan)
        done = self.wait_over(plan)
        self.assertEqual((done["settled"], done["refused"]), (0, 3))
        self.assertEqual([each["outcome"] for each in done["left_out"]], ["refused"] * 3)
        self.assertIn("quiet time", done["left_out"][0]["reason"])
        self.assertEqual(self.states(lost), ["unknown"] * 3)
        plan = self.plan({"state": "unknown"}, force=True)
        self.assertIs(plan["force"], True)
        self.apply(plan)
        self.assertEqual(self.wait_over(plan)["settled"], 3)
        self.assertIn("force", self.settle_lines(lost[0])[0]["detail"])

    def test_other_verdicts_do_not_wait(self):
        """It ran, or nobody will know: neither depends on the quiet time."""
        lost = self.lose_many(2)
        for key, verdict, state in (("k0000", "executed", "completed"),
                                    ("k0001", "abandoned", "abandoned")):
            plan = self.plan({"key": key}, verdict)
            self.apply(plan)
            self.wait_over(plan)
            self.assertEqual(self.gateway.operation(lost[int(key[1:])])["state"], state)


class Delay(PlansCase):
    delay = "1h"

    def test_not_executed_waits_and_can_be_stopped(self):
        """Nothing is settled before the delay is over, also across a kill; a stop is for good."""
        lost = self.lose_many(3)
        plan = self.plan({"state": "unknown"})
        waiting = self.apply(plan)
        self.assertEqual((waiting["state"], waiting["settled"]), ("waiting", 0))
        self.assertGreater(waiting["apply_at"], now_text())
        self.gateway.restart(kill=True)
        self.assertEqual(self.look(plan)["state"], "waiting")
        self.assertEqual(self.apply(plan, 409)["code"], "plan-not-draft")
        stopped = self.stop(plan)
        self.assertEqual((stopped["state"], stopped["applied_by"]), ("stopped", "token:tester"))
        self.gateway.restart({"settle_delay": "0s"}, kill=True)
        self.assertEqual(self.look(plan)["state"], "stopped")
        self.assertEqual(self.states(lost), ["unknown"] * 3)

    def test_other_verdicts_take_effect_at_once(self):
        """The delay is for `not_executed` alone."""
        lost = self.lose_many(1)
        plan = self.plan({"state": "unknown"}, "executed")
        self.assertIn(self.apply(plan)["state"], ("applying",) + OVER)
        self.wait_over(plan)
        self.assertEqual(self.states(lost), ["completed"])


    def test_it_does_not_hold_up_others(self):
        """A plan that waits lets another one be carried out before it."""
        lost = self.lose_many(2)
        later = self.plan({"key": "k0000"})
        self.apply(later)
        now = self.plan({"key": "k0001"}, "abandoned")
        self.apply(now)
        self.wait_over(now)
        self.assertEqual(self.look(later)["state"], "waiting")
        self.assertEqual(self.states(lost), ["unknown", "abandoned"])


class ShortDelay(PlansCase):
    delay = "2s"

    def test_it_takes_effect_by_itself(self):
        """After the delay the plan goes on, also when the process was killed meanwhile."""
        lost = self.lose_many(5)
        plan = self.plan({"state": "unknown"})
        waiting = self.apply(plan)
        self.gateway.restart(kill=True)
        done = self.wait_over(plan)
        self.assertEqual(done["settled"], 5)
        self.assertEqual(self.states(lost), ["released"] * 5)
        for id_ in lost:
            self.assertGreaterEqual(self.settle_lines(id_)[0]["at"], waiting["apply_at"])


if __name__ == "__main__":
    main()
