"""What becomes of taking something back: each end of a compensation, verdicts on it, what
many verdicts at once leave alone, and a process that is killed at each step of it.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from compensating import RETRY, Compensating  # noqa: E402
from harness import BUILD, WireError, answer, fin, main, wait, wait_until  # noqa: E402

FAULTS = os.path.join(BUILD, "tests", "recibo-faults")
CRASHED = 137


class Fate(Compensating):
    def test_unknown(self):
        """Its answer is lost: a doubt of its own, on the backlog, settled like any other."""
        self.start_tickets(route={"reconcile": {"quiet_time": "0s"}})
        operation_id = self.completed()
        self.delete_answers = [fin()]
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "unknown")
        self.assertEqual(other["labels"], {"order": "7"})
        self.assertEqual(other["target"], "/tickets/77")
        self.assertEqual(len(other["attempts"]), 1)
        for response in (self.as_owner(operation_id), self.as_owner(operation_id)):
            self.assertEqual((response.status, response.json()["code"]), (409, "outcome-unknown"))
        status, told = self.as_operator(operation_id)
        self.assertEqual((status, told["code"], told["operation"]["id"]),
                         (409, "outcome-unknown", other["id"]))
        _, _, groups = self.gateway.admin("GET", "/v1/backlog/groups")
        self.assertEqual([group["route"] for group in groups["groups"]], [other["route"]])
        status, _, told = self.gateway.admin(
            "POST", "/v1/operations/%s/probe" % other["id"], {"note": "x"})
        self.assertEqual((status, told["code"]), (409, "no-probe"))
        status, _, told = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % other["id"],
            {"verdict": "executed", "version": other["version"], "note": "it is gone"})
        self.assertEqual(status, 200, told)
        self.assertEqual(self.as_owner(operation_id).status, 200)
        self.assertEqual(len(self.deletes), 1)

    def test_not_executed_can_be_asked_for_again(self):
        """A person says that nothing ran: then it is free, and begun anew by whoever asks."""
        self.start_tickets(route={"reconcile": {"quiet_time": "0s"}})
        operation_id = self.completed()
        self.delete_answers = [fin()]
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "unknown")
        self.assertTrue(other["client_sees"]["not_executed"]["sent_upstream"])
        self.gateway.admin("POST", "/v1/operations/%s/settle" % other["id"],
                           {"verdict": "not_executed", "version": other["version"], "note": "n"})
        self.wait_compensation(operation_id, "released")
        self.assertEqual(len(self.deletes), 1)
        self.assertTrue(self.gateway.operation(operation_id)["may_compensate"])
        status, told = self.as_operator(operation_id, "once more")
        self.assertEqual((status, told["begun"], told["compensation"]["id"]),
                         (202, True, other["id"]))
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(self.deletes, ["/tickets/77"] * 2)
        notes = [entry["note"] for entry in self.gateway.operation(operation_id)["audit"]
                 if entry["action"] == "compensate"]
        self.assertEqual(notes, ["asked by its owner", "once more"])

    def test_refused_without_retry(self):
        """Declared not run, and the route tries nothing again: released, and free."""
        self.start_tickets()
        operation_id = self.completed()
        self.delete_answers = [answer(429)]
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "released")
        self.assertEqual([each["basis"] for each in other["attempts"]], ["declared"])
        self.assertEqual(self.as_owner(operation_id).status, 202)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(self.deletes), 2)

    def test_tried_again(self):
        """What did not run is tried again by the route's policy, and no more often."""
        self.start_tickets(route={"retry": RETRY})
        operation_id = self.completed()
        self.delete_answers = [answer(429), answer(429)]
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(other["attempts"]), 3)
        self.assertEqual(len(self.deletes), 3)
        second = self.completed("k2")
        self.delete_answers = [answer(429)] * 3
        self.as_owner(second)
        other = self.wait_compensation(second, "released")
        self.assertEqual(len(other["attempts"]), 3)
        self.assertFalse(other["promised"])

    def test_lost_is_never_sent_again(self):
        """Neither by retry nor by an upstream that deduplicates by its callers' keys."""
        self.start_tickets(route={"retry": RETRY, "upstream_idempotency": {"window": "1h"}})
        operation_id = self.completed()
        self.delete_answers = [fin()]
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "unknown")
        for _ in range(3):
            response = self.as_owner(operation_id)
            self.assertEqual((response.status, response.json()["code"]), (409, "outcome-unknown"))
        second = self.completed("k2")
        self.as_owner(second)
        self.wait_compensation(second, "completed")  # what was due before it has been sent by now
        self.assertEqual(len(self.deletes), 2)
        self.assertEqual(self.compensation_of(operation_id)["version"], other["version"])

    def test_not_reachable(self):
        """Proved not sent: free again, or tried until its attempts are used up."""
        self.start_tickets(route={"retry": RETRY},
                           upstream={"connections": {"reuse": "never"}})
        operation_id = self.completed()
        self.upstream.refuse()
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "released")
        self.assertEqual({each["basis"] for each in other["attempts"]}, {"proved"})
        self.assertEqual(self.deletes, [])

    def test_answered_with_an_error(self):
        """A 404 is an answer: it is over, and its status says what the upstream thought."""
        self.start_tickets()
        operation_id = self.completed()
        self.delete_answers = [answer(404)]
        self.as_owner(operation_id)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(self.as_owner(operation_id).json()["status"], 404)
        self.assertEqual(self.gateway.operation(operation_id)["compensation_status"], 404)

    def test_late_answer(self):
        """An answer after the doubt began ends it."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.start_tickets(upstream={"timeouts": {"first_byte": "300ms", "answer": "300ms"}})
        operation_id = self.completed()
        self.delete_answers = [wait(event, answer(204))]
        self.as_owner(operation_id)
        self.wait_compensation(operation_id, "unknown")
        event.set()
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(self.deletes), 1)

    def test_cancelled(self):
        """Stopped before it was sent: its key is spent, and that is said."""
        self.start_tickets()
        operation_id = self.completed()
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "outage"})
        told = self.as_owner(operation_id).json()
        stopped = self.gateway.request(
            "POST", "/.recibo/operations/%s/cancel" % told["operation_id"])
        self.assertEqual((stopped.status, stopped.json()["cancel"]), (200, "stopped"))
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "over"})
        for _ in range(2):
            response = self.as_owner(operation_id)
            self.assertEqual((response.status, response.json()["code"]),
                             (409, "operation-cancelled"))
        self.assertEqual(self.as_operator(operation_id)[1]["code"], "operation-cancelled")
        other = self.completed("k2")
        self.as_owner(other)
        self.wait_compensation(other, "completed")
        self.assertEqual(len(self.deletes), 1)

    def test_paused(self):
        """It is held with its route, and runs once that is open again."""
        self.start_tickets()
        operation_id = self.completed()
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "outage"})
        self.assertEqual(self.as_owner(operation_id).status, 202)
        status, _, _ = self.gateway.admin(
            "POST", "/v1/routes/create-order%2Fcompensation/resume", {"note": "x"})
        self.assertEqual(status, 404)
        self.assertEqual(self.deletes, [])
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "over"})
        self.wait_compensation(operation_id, "completed")


class Verdicts(Compensating):
    def test_verdict_that_was_acted_on(self):
        """Settled with a response, compensated: the verdict cannot be taken back."""
        self.start_tickets(default=fin())
        response = self.gateway.post("k1", {"order": 7})
        operation_id = response.get("Idempotency-Operation")
        self.settle(response, "executed", response={"status": 201, "body": {"ticket_id": "T-9"}})
        self.assertEqual(self.as_operator(operation_id)[0], 202)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(self.deletes, ["/tickets/T-9"])
        operation = self.gateway.operation(operation_id)
        self.assertTrue(operation["consumed"])
        status, _, told = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation_id,
            {"verdict": "reopen", "version": operation["version"], "note": "n"})
        self.assertEqual((status, told["code"]), (409, "verdict-consumed"))

    def test_plans_leave_it_out(self):
        """What settles operations by their filter never settles their compensations."""
        self.start_tickets(route={"reconcile": {"quiet_time": "0s"}}, settle_delay="0s")
        operation_id = self.completed()
        self.delete_answers = [fin()]
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "unknown")
        for where, count in (({"state": "unknown"}, 0), ({"label.order": "7"}, 0),
                             ({"route": other["route"]}, 1)):
            status, _, told = self.gateway.admin(
                "POST", "/v1/plans", {"where": where, "verdict": "executed"})
            self.assertEqual((status, told["plan"]["count"]), (201, count), where)

    def test_match_leaves_it_out(self):
        """An export that lists the order says nothing of what takes it back."""
        self.start_tickets(route={"reconcile": {"quiet_time": "0s"}})
        operation_id = self.completed()
        self.delete_answers = [fin()]
        self.as_owner(operation_id)
        self.wait_compensation(operation_id, "unknown")
        path = os.path.join(self.gateway.directory, "export.csv")
        with open(path, "w", encoding="utf-8") as out:
            out.write("order\n7\n")
        done = self.gateway.cli("backlog", "match", path, "--column", "order", "--label", "order")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("0 unknown", done.stdout)
        self.assertIn("1 compensation is left out", done.stdout)
        self.assertEqual(self.compensation_of(operation_id)["state"], "unknown")


class Lives(Compensating):
    def test_restart(self):
        """Accepted and not sent, then killed: it is sent in the next life, once."""
        self.start_tickets()
        operation_id = self.completed()
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "outage"})
        self.as_owner(operation_id)
        self.gateway.restart(kill=True)
        self.assertEqual(self.compensation_of(operation_id)["phase"], "deferred")
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "over"})
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(self.deletes, ["/tickets/77"])

    def test_killed_while_it_is_sent(self):
        """Sent, then killed: unknown, never sent again; the first one stays completed."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.start_tickets()
        operation_id = self.completed()
        self.delete_answers = [wait(event, answer(204))]
        self.as_owner(operation_id)
        self.upstream.wait_for(2)
        self.gateway.restart(kill=True)
        other = self.wait_compensation(operation_id, "unknown")
        self.assertEqual(other["end"], "crashed")
        self.assertEqual(self.gateway.operation(operation_id)["state"], "completed")
        self.assertEqual(self.as_owner(operation_id).status, 409)
        self.assertEqual(len(self.deletes), 1)
        self.gateway.restart()  # a doubt of a compensation does not keep it from starting

    def test_killed_between_two_attempts(self):
        """Waiting for its next attempt it is on record as deferred, and goes on."""
        self.start_tickets(route={"retry": dict(RETRY, backoff={"base": "1h", "max": "1h"},
                                                within="7d")})
        operation_id = self.completed()
        self.delete_answers = [answer(429)]
        self.as_owner(operation_id)
        self.upstream.wait_for(2)
        wait_until(lambda: self.compensation_of(operation_id)["attempts"] and
                   self.compensation_of(operation_id)["phase"] == "deferred")
        self.gateway.restart(kill=True)
        other = self.compensation_of(operation_id)
        self.assertEqual((other["phase"], len(other["attempts"])), ("deferred", 1))
        status, _, _ = self.gateway.admin("POST", "/v1/operations/%s/run-now" % other["id"], {})
        self.assertEqual(status, 202)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(self.deletes), 2)


class Steps(Compensating):
    """The process dies at each step of a compensation, and another life goes on."""

    def strike(self, point, then=None):
        """Dies at the first `point` after an operation was carried out; -> (its id, the answer
        of one who asks, or None), with the next life serving."""
        self.start_tickets()
        operation_id = self.completed()
        self.gateway.stop()
        self.delete_answers = [then or answer(204)]
        self.gateway.binary = FAULTS
        self.gateway.env["RECIBO_FAULT"] = point + ":crash"
        self.gateway.start()
        try:
            told = self.as_owner(operation_id)
        except (OSError, WireError):
            told = None
        self.assertEqual(self.gateway.wait_exit(), CRASHED)
        del self.gateway.env["RECIBO_FAULT"]
        self.gateway.start()
        return operation_id, told

    def assert_still_completed(self, operation_id):
        """What is said of the first operation is as true as before."""
        self.assertEqual(self.gateway.operation(operation_id)["state"], "completed")
        repeat = self.gateway.post("k1", {"order": 7})
        self.assertEqual((repeat.status, repeat.get("Idempotent-Replayed")), (201, "true"))

    def test_before_it_is_on_record(self):
        """Nobody was told, and nothing is on record: asked again it begins."""
        operation_id, told = self.strike("claim_commit")
        self.assertIsNone(told)
        self.assertIsNone(self.gateway.operation(operation_id)["compensated_by"])
        self.assertEqual(self.gateway.operation(operation_id)["audit"], [])
        self.assertEqual(self.deletes, [])
        self.assertEqual(self.as_owner(operation_id).status, 202)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(self.deletes), 1)

    def test_on_record_and_nobody_told(self):
        """It runs in the next life, and who asks again gets that one."""
        operation_id, told = self.strike("claim_committed")
        self.assertIsNone(told)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(self.as_owner(operation_id).status, 200)
        self.assertEqual(len(self.deletes), 1)
        self.assertEqual(len(self.gateway.operation(operation_id)["audit"]), 1)

    def test_due_and_not_begun(self):
        """Accepted, and found to be due: it runs in the next life."""
        operation_id, told = self.strike("deferred_row")
        self.assertEqual(told.status, 202, told)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(self.deletes), 1)

    def test_before_it_is_sent(self):
        """Not on record as sent: it runs in the next life."""
        operation_id, _ = self.strike("record_commit")
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(len(self.deletes), 1)

    def test_on_record_as_sent(self):
        """It may have been sent: unknown, and never sent again."""
        for point in ("record_committed", "first_byte"):
            with self.subTest(point=point):
                operation_id, _ = self.strike(point)
                other = self.wait_compensation(operation_id, "unknown")
                self.assertEqual((other["end"], self.deletes), ("crashed", []))
                self.assertEqual(self.as_owner(operation_id).status, 409)
                self.assert_still_completed(operation_id)

    def test_sent(self):
        """It was sent, and its answer may be on its way or here: unknown."""
        for point in ("request_written", "answer_whole"):
            with self.subTest(point=point):
                operation_id, _ = self.strike(point)
                self.wait_compensation(operation_id, "unknown")
                self.upstream.wait_for(2)
                self.assertEqual(len(self.deletes), 1)
                self.assertEqual(self.as_operator(operation_id)[1]["code"], "outcome-unknown")
                self.assert_still_completed(operation_id)
                self.assertEqual(len(self.deletes), 1)


if __name__ == "__main__":
    main()
