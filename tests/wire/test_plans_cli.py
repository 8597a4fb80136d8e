"""Plans on the command line: made, looked at, applied, stopped."""

import json

from plans_lib import PlansCase
from harness import main

DONE, FAILED, USAGE, NOT_FOUND, CHANGED = 0, 1, 2, 3, 4


class Commands(PlansCase):
    delay = "0s"

    def run_cli(self, *words, code=DONE, **options):
        ran = self.cli(*words, **options)
        self.assertEqual(ran.returncode, code, (words, ran.stdout, ran.stderr))
        return ran

    def make(self, *words):
        """`settle --where`, with --json; -> the plan."""
        ran = self.run_cli("backlog", "settle", "--json", *words)
        return json.loads(ran.stdout)["plan"]

    def test_a_plan_is_made_and_printed(self):
        """What it would do, samples, what callers get and the next line to type; nothing is done."""
        lost = self.lose_many(7)
        ran = self.run_cli("backlog", "settle", "--where", "route=create-order",
                           "--verdict", "not_executed", "--note", "the outage")
        plan = self.gateway.admin("GET", "/v1/plans")[2]["plans"][0]
        for text in (plan["id"], "draft", "not_executed", "route=create-order", "7 of create-order",
                     "the key is free".lower(), lost[0], lost[4], "order=o-k0000", "the outage",
                     "recibo backlog settle --apply " + plan["id"], "Nothing is settled yet",
                     "settle_delay"):
            self.assertIn(text, ran.stdout.replace("The key is free", "the key is free"))
        self.assertNotIn(lost[5], ran.stdout)
        self.assertEqual(self.states(lost), ["unknown"] * 7)

    def test_apply_waits_for_the_end(self):
        """The counts of the end, exit code 0; the plan has the note and the person."""
        lost = self.lose_many(20)
        plan = self.make("--where", "state=unknown", "--verdict", "executed", "--no-response")
        ran = self.run_cli("backlog", "settle", "--apply", plan["id"], "--note", "all there")
        self.assertIn("done", ran.stdout.splitlines()[0])
        self.assertIn("20 settled", ran.stdout)
        self.assertIn("result-unavailable", ran.stdout)
        self.assertIn("all there", ran.stdout)
        self.assertEqual(self.states(lost), ["completed"] * 20)
        again = self.run_cli("backlog", "settle", "--apply", plan["id"], "--note", "x", code=FAILED)
        self.assertIn("applied or stopped", again.stderr)

    def test_what_was_left_out_is_listed(self):
        """Exit code 4 and each operation with its reason."""
        lost = self.lose_many(3)
        plan = self.make("--where", "state=unknown", "--verdict", "abandoned")
        self.settle(self.gateway.operation(lost[1]), "executed")
        ran = self.run_cli("backlog", "settle", "--apply", plan["id"], "--note", "x", code=CHANGED)
        self.assertIn("1 changed meanwhile", ran.stdout)
        self.assertRegex(ran.stdout, r"%s +It has changed meanwhile" % lost[1])

    def test_the_response_of_all(self):
        """A response given as for one operation is what repeats of each get."""
        self.lose_many(2)
        ran = self.run_cli("backlog", "settle", "--json", "--where", "state=unknown", "--verdict",
                           "executed", "--response", "-", "--status", "201", "--header",
                           "X-From: export", input='{"id": 5}')
        plan = json.loads(ran.stdout)["plan"]
        self.run_cli("backlog", "settle", "--apply", plan["id"], "--note", "x")
        repeat = self.gateway.post("k0001", {"order": "o-k0001"})
        self.assertEqual((repeat.status, repeat.json(), repeat.get("X-From")),
                         (201, {"id": 5}, "export"))

    def test_where_knows_groups(self):
        """group=NUMBER stands for what makes that group, and no other operation is taken."""
        self.lose_many(3)
        self.lose_many(5, path="/refunds", prefix="r")
        plan = self.make("--where", "group=1", "--verdict", "abandoned")
        self.assertEqual((plan["count"], plan["by_route"]), (5, {"refunds": 5}))
        self.assertEqual(plan["where"], {"route": "refunds", "end": "closed_no_answer",
                                         "status": "none"})
        plan = self.make("--where", "group=2", "--where", "key=k0001", "--verdict", "abandoned")
        self.assertEqual(plan["count"], 1)
        ran = self.run_cli("backlog", "settle", "--where", "group=9", "--verdict", "abandoned",
                           code=NOT_FOUND)
        self.assertIn("no group 9", ran.stderr)

    def test_nothing_fits(self):
        """A filter without an operation is told, with exit code 3."""
        self.lose_many(1)
        ran = self.run_cli("backlog", "settle", "--where", "route=refunds", "--verdict",
                           "abandoned", code=NOT_FOUND)
        self.assertIn("nothing to settle", ran.stdout)

    def test_what_is_asked_must_be_whole(self):
        """What is missing or does not go together is refused before anything is asked."""
        id_ = "plan_" + "0" * 26
        settle = ("backlog", "settle")
        for words, text in (
                (("--where", "state=unknown"), "--verdict"),
                (("--where", "state", "--verdict", "abandoned"), "NAME=VALUE"),
                (("--where", "=x", "--verdict", "abandoned"), "NAME=VALUE"),
                (("--where", "state=", "--verdict", "abandoned"), "NAME=VALUE"),
                (("--where", "key=a", "--where", "key=b", "--verdict", "abandoned"), "twice"),
                (("--where", "state=unknown", "--verdict", "executed"), "--no-response"),
                (("--where", "state=unknown", "--verdict", "abandonned"), "did you mean"),
                (("--where", "state=unknown", "--verdict", "reopen"), "--verdict is"),
                (("--where", "state=unknown", "--apply", id_), "one of them"),
                (("--apply", id_), "--note"),
                (("--apply", "op_" + "0" * 26, "--note", "x"), "plan id"),
                (("--apply", id_, "--note", "x", "--verdict", "abandoned"), "--verdict"),
                (("--stop", id_, "--no-wait"), "--no-wait"),
                (("--stop", "x"), "plan id")):
            with self.subTest(words=words):
                ran = self.run_cli(*settle, *words, code=USAGE)
                self.assertIn(text, ran.stderr)
        for words in (("--apply", id_, "--note", "x"), ("--stop", id_)):
            self.run_cli(*settle, *words, code=NOT_FOUND)
        self.run_cli("backlog", "plans", id_, code=NOT_FOUND)
        self.run_cli("backlog", "plans", "x", code=USAGE)
        ran = self.run_cli(*settle, "--where", "rout=x", "--verdict", "abandoned", code=USAGE)
        self.assertIn("rout", ran.stderr)

    def test_plans_are_listed(self):
        """All of them with state and counts, the newest first; one with all that is known."""
        self.assertIn("No plans", self.run_cli("backlog", "plans").stdout)
        self.lose_many(2)
        first = self.make("--where", "state=unknown", "--verdict", "abandoned")
        second = self.make("--where", "key=k0001", "--verdict", "not_executed", "--force")
        lines = self.run_cli("backlog", "plans").stdout.splitlines()
        self.assertTrue(lines[1].startswith(second["id"]) and lines[2].startswith(first["id"]))
        self.assertIn("key=k0001", lines[1])
        one = self.run_cli("backlog", "plans", second["id"]).stdout
        self.assertIn("past the quiet time", one)
        shown = json.loads(self.run_cli("backlog", "plans", first["id"], "--json").stdout)
        self.assertEqual(shown["plan"], first)


class Delayed(PlansCase):
    delay = "1h"

    def test_no_wait_and_stop(self):
        """A plan that waits is left with --no-wait, and stopped by --stop."""
        lost = self.lose_many(2)
        plan = self.plan({"state": "unknown"})
        ran = self.cli("backlog", "settle", "--apply", plan["id"], "--note", "x", "--no-wait")
        self.assertEqual(ran.returncode, DONE, ran.stderr)
        self.assertIn("waiting", ran.stdout.splitlines()[0])
        self.assertIn("--stop " + plan["id"], ran.stdout)
        ran = self.cli("backlog", "settle", "--stop", plan["id"])
        self.assertEqual(ran.returncode, DONE, ran.stderr)
        self.assertIn("stopped", ran.stdout.splitlines()[0])
        self.assertEqual(self.states(lost), ["unknown"] * 2)
        ran = self.cli("backlog", "settle", "--apply", plan["id"], "--note", "x")
        self.assertEqual(ran.returncode, FAILED)


if __name__ == "__main__":
    main()
