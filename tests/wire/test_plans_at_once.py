"""Plans that several people work on at once, or that are much: one wins, nothing is hidden."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from admin_lib import token
from harness import main
from plans_lib import PlansCase, wait_until

AT_ONCE = 8
MANY = 6000


class AtOnce(PlansCase):
    delay = "1h"

    def test_one_alone_applies_a_plan(self):
        """Of several who apply a plan at once one gets 200; what is on record is his."""
        self.lose_many(1)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for same_words in (True, False) * 10:
                plan = self.plan({"state": "unknown"})
                notes = ["note" if same_words else "note %d" % each for each in range(AT_ONCE)]
                calls = [pool.submit(self.gateway.admin, "POST", "/v1/plans/%s/apply" % plan["id"],
                                     {"note": note}) for note in notes]
                told = [call.result() for call in calls]
                won = [value["plan"] for status, _, value in told if status == 200]
                lost = [value["code"] for status, _, value in told if status != 200]
                self.assertEqual((len(won), lost), (1, ["plan-not-draft"] * (AT_ONCE - 1)), told)
                self.assertEqual(self.look(plan), won[0])
                audit = self.gateway.admin("GET", "/v1/audit?subject=" + plan["id"])[2]["audit"]
                self.assertEqual([(line["action"], line["note"]) for line in audit],
                                 [("apply", won[0]["note"])])
                self.stop(plan)

    def test_apply_and_stop_at_once(self):
        """A plan that is applied and stopped at once is stopped, and stays so; all who stop
        it are told that."""
        lost = self.lose_many(3)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for _ in range(20):
                plan = self.plan({"state": "unknown"}, "abandoned")
                path = "/v1/plans/" + plan["id"]
                apply = pool.submit(self.gateway.admin, "POST", path + "/apply", {"note": "x"})
                stops = [pool.submit(self.gateway.admin, "DELETE", path) for _ in range(3)]
                told = [stop.result() for stop in stops]
                self.assertIn(apply.result()[0], (200, 409))
                last = self.wait_over(plan, "stopped" if told[0][0] == 200 else "done")
                self.assertEqual({status for status, _, _ in told},
                                 {200 if last["state"] == "stopped" else 409}, told)
                if last["state"] == "stopped":
                    self.assertEqual([value["plan"] for _, _, value in told], [last] * 3)
                if last["settled"] > 0:
                    break
        self.assertEqual(self.states(lost).count("abandoned"), last["settled"])


class AtOnceInMemory(AtOnce):
    """The same with the store that keeps nothing."""

    late = {"store": {"kind": "memory"}}


class Much(PlansCase):
    def change_store(self, change):
        """change(store) on the database while the gateway is down."""
        self.gateway.stop()
        store = sqlite3.connect(self.gateway.store_path)
        with store:
            change(store)
        store.close()
        self.gateway.start()

    def grow(self, count):
        """So many unknown operations more, each a copy of one that was lost."""
        self.lose_many(1)

        def copy(store):
            names = [row[1] for row in store.execute("PRAGMA table_info(receipts)")]
            first = dict(zip(names, store.execute("SELECT * FROM receipts").fetchone()))
            rows = []
            for number in range(1, count):
                row = dict(first, id=first["id"] + number, identity=os.urandom(16),
                           operation_id="op_%026d" % number, key=b"grown%06d" % number)
                rows.append([row[name] for name in names])
            store.executemany(
                "INSERT INTO receipts VALUES (%s)" % ",".join("?" * len(names)), rows)
        self.change_store(copy)

    def unknown(self):
        store = sqlite3.connect("file:%s?mode=ro" % self.gateway.store_path, uri=True)
        count = store.execute("SELECT count(*) FROM backlog").fetchone()[0]
        store.close()
        return count

    def begin(self):
        """A plan of MANY in the middle of its work."""
        self.grow(MANY)
        plan = self.plan({"state": "unknown"}, "abandoned")
        self.assertEqual(plan["count"], MANY)
        self.apply(plan)
        wait_until(lambda: self.unknown() < MANY)
        return plan

    def test_a_stop_tells_what_was_settled(self):
        """The answer to a stop has the counts of the end, for each who asks: nothing is
        settled after it."""
        plan = self.begin()
        with ThreadPoolExecutor(3) as pool:
            told = list(pool.map(lambda _: self.stop(plan), range(3)))
        settled = MANY - self.unknown()
        self.assertTrue(0 < settled < MANY, settled)
        self.assertEqual([(each["state"], each["settled"], each["changed"], each["refused"])
                          for each in told], [("stopped", settled, 0, 0)] * 3)
        self.assertEqual(self.look(plan), told[0])
        audit = self.gateway.admin("GET", "/v1/audit?subject=" + plan["id"])[2]["audit"]
        details = [line["detail"] for line in audit if line["action"] == "stop"]
        self.assertEqual(len(details), 1)
        self.assertIn("settled=%d" % settled, details[0])
        self.gateway.restart()
        other = self.plan({"route": "none"}, "abandoned")
        self.apply(other)
        self.wait_over(other)  # the plans that were due have been looked through
        self.assertEqual(self.look(plan), told[0])
        self.assertEqual(MANY - self.unknown(), settled)

    def test_the_command_prints_it(self):
        """`--stop` prints how many were settled before."""
        plan = self.begin()
        ran = self.cli("backlog", "settle", "--stop", plan["id"])
        self.assertEqual(ran.returncode, 0, ran.stderr)
        settled = MANY - self.unknown()
        self.assertIn("%s settled" % settled, ran.stdout.replace(",", ""))

    def test_after_a_stop_others_go_on(self):
        """A plan that was stopped in its work does not hold up the next one."""
        plan = self.begin()
        other = self.plan({"route": "none"}, "abandoned")
        self.apply(other)
        self.stop(plan)
        self.wait_over(other)
        self.assertEqual(self.look(plan)["state"], "stopped")

    def test_large_operations_are_shown(self):
        """A plan can be looked at however large the operations are that it left out."""
        lost = self.lose_many(48)
        store = sqlite3.connect(self.gateway.store_path, timeout=30)
        with store:
            store.execute("UPDATE receipts SET target = ?", (b"/orders?" + b"x" * 400000,))
        store.close()
        plan = self.plan(verdict="abandoned",
                         operations=[{"id": id_, "version": 1} for id_ in lost])
        self.assertEqual((plan["count"], plan["changed"]), (48, 48))
        self.assertEqual([each["id"] for each in plan["left_out"]], lost)
        self.assertEqual([each["id"] for each in plan["samples"]], lost[:5])

    def test_old_drafts_give_way(self):
        """When all places are taken, the oldest draft of the same person makes room once it
        is a minute old; those of others and younger ones stay, and the text says what to do."""
        self.lose_many(1)
        text, entry = token("other", "read", "settle")
        tokens = self.gateway.configuration()["admin"]["tokens"]
        self.gateway.restart({"admin": {"tokens": tokens + [entry]}})
        body = {"where": {"route": "none"}, "verdict": "executed"}
        first = self.gateway.admin("POST", "/v1/plans", body, token=text)[2]["plan"]
        plans = [self.plan({"route": "none"}, "executed") for _ in range(199)]
        problem = self.plan({"route": "none"}, "executed", 409)
        self.assertEqual(problem["code"], "plans-full")
        for word in ("200 plans", "recibo backlog plans", "--stop"):
            self.assertIn(word, problem["detail"])
        self.assertIn("recibo backlog plans", self.cli(
            "backlog", "settle", "--where", "route=none", "--verdict", "abandoned").stderr)
        old = [first["id"]] + [plan["id"] for plan in plans[3:5]]
        self.change_store(lambda store: store.executemany(
            "UPDATE plans SET created_ms = created_ms - 60001 WHERE plan_id = ?",
            [(id_,) for id_ in old]))
        for gone in plans[3:5]:
            self.plan({"route": "none"}, "executed")
            self.assertEqual(self.gateway.admin("GET", "/v1/plans/" + gone["id"])[0], 404)
        self.assertEqual(self.plan({"route": "none"}, "executed", 409)["code"], "plans-full")
        self.assertEqual(self.look(first)["state"], "draft")
        self.assertEqual(len(self.gateway.admin("GET", "/v1/plans")[2]["plans"]), 200)


if __name__ == "__main__":
    main()
