"""A plan that is cut off in the middle: by a crash, by a store that fails, by a drain.

The gateway of some tests is the build's tests/recibo-faults: the product with its
fault points.
"""

import os

from plans_lib import PlansCase, wait_until
from harness import BUILD, main

FAULTS = os.path.join(BUILD, "tests", "recibo-faults")
COUNT = 80


class CutOff(PlansCase):
    def cut_off(self, fault, verdict="executed", **members):
        """A plan of COUNT entries on a gateway with this fault. -> (ids, plan)."""
        lost = self.lose_many(COUNT)
        plan = self.plan({"state": "unknown"}, verdict, **members)
        self.gateway.stop()
        self.gateway.binary = FAULTS
        self.gateway.env["RECIBO_FAULT"] = fault
        self.gateway.start()
        self.apply(plan)
        return lost, plan

    def assert_each_once(self, lost, state):
        self.assertEqual(self.states(lost), [state] * len(lost))
        for id_ in lost:
            self.assertEqual(len(self.settle_lines(id_)), 1, id_)

    def start_again(self):
        del self.gateway.env["RECIBO_FAULT"]
        self.gateway.start()

    def crash(self, fault):
        lost, plan = self.cut_off(fault, response={"status": 200, "body": "x"})
        self.gateway.process.wait(60)
        self.start_again()
        done = self.wait_over(plan)
        self.assertEqual((done["settled"], done["changed"], done["refused"]), (COUNT, 0, 0))
        self.assert_each_once(lost, "completed")

    def test_a_crash_after_a_commit(self):
        """After the restart the plan goes on by itself; no entry is settled twice, and those
        that were settled before the crash count as settled."""
        self.crash("record_committed:crash:1")

    def test_a_crash_after_a_later_commit(self):
        """The same with more on record."""
        self.crash("record_committed:crash:2")

    def test_a_crash_before_a_commit(self):
        """What was not committed is not settled, and is settled after the restart."""
        self.crash("record_commit:crash:2")

    def test_what_others_settled(self):
        """An entry that somebody else has settled before a crash is no entry of the plan."""
        lost, plan = self.cut_off("record_committed:crash:1", "abandoned")
        self.gateway.process.wait(60)
        self.start_again()
        self.assertEqual(self.wait_over(plan)["settled"], COUNT)
        again = self.plan(verdict="executed", operations=[
            {"id": id_, "version": self.gateway.operation(id_)["version"] - 1} for id_ in lost])
        self.assertEqual((again["count"], again["changed"]), (COUNT, COUNT))
        self.apply(again)
        self.assertEqual(self.wait_over(again)["settled"], 0)
        self.assert_each_once(lost, "abandoned")

    def test_a_commit_that_fails(self):
        """A store that fails once leaves nothing undone: the plan is carried out after all."""
        lost, plan = self.cut_off("record_commit:error:1", "abandoned")
        done = self.wait_over(plan)
        self.assertEqual(done["settled"], COUNT)
        self.assert_each_once(lost, "abandoned")

    def test_a_drain_in_the_middle(self):
        """A process that is stopped leaves the rest to the next one."""
        lost, plan = self.cut_off("record_committed:delay=2000:1", "abandoned")
        self.gateway.stop()
        self.start_again()
        done = self.wait_over(plan)
        self.assertEqual(done["settled"], COUNT)
        self.assert_each_once(lost, "abandoned")

    def test_a_stop_in_the_middle(self):
        """What was settled before a stop stays, and is what the plan counts; no more comes."""
        lost, plan = self.cut_off("record_committed:delay=2000:1", "abandoned")
        status, _, value = self.gateway.admin("DELETE", "/v1/plans/" + plan["id"])
        self.assertEqual(status, 200, value)
        wait_until(lambda: self.look(plan)["settled"] == self.states(lost).count("abandoned"))
        last = self.look(plan)
        self.assertEqual(last["state"], "stopped")
        self.assertLess(last["settled"], COUNT)
        self.gateway.stop()
        self.start_again()
        self.assertEqual(self.look(plan), last)
        self.assertEqual(self.states(lost).count("unknown"), COUNT - last["settled"])


if __name__ == "__main__":
    main()
