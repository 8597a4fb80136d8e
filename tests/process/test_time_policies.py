"""What time does to receipts, on the real program with a clock that the test owns: retention,
tombstones, what follows them, what a changed request gets after a release, how long the API
is believed to know a key, and that a jump of the clock neither fires what is due later nor
loses what was promised. Judged on read and after the sweeper alike.
"""

import datetime
import os
import sys
import time
import unittest
from email.utils import parsedate_to_datetime

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER  # noqa: E402
from harness import answer, fin, main, merge, wait_until  # noqa: E402
from moved_clock import DAY_S, HOUR_S, MovedClock, clock_can_be_moved  # noqa: E402

ASYNC = [("Prefer", "respond-async")]
AFTER_RETENTION = 25 * HOUR_S      # of 24 h
AFTER_TOMBSTONE = 32 * DAY_S       # 24 h and 30 days
LATER = dict(AT_ONCE, defer={"when": "prefer"}, retry={
    "when": ["not_sent"], "attempts": 100, "within": "7d",
    "backoff": {"base": "1h", "max": "1h"}})
YEARS = 20 * 365 * DAY_S
INSIDE, OVER, GONE = range(3)

# What a repeat of each state is told, inside retention, after it, and after the tombstone.
# "same": it runs as the same operation; "new": as a new one.
REFUSE = {
    "completed": ("replayed", "expired", "new"),
    "cancelled": ("cancelled", "expired", "new"),
    "released": ("same", "new", "new"),
    "unknown": ("unknown", "unknown", "unknown"),
    "abandoned": ("abandoned", "abandoned", "abandoned"),
}
RERUN = dict(REFUSE, completed=("replayed", "new", "new"), cancelled=("cancelled", "new", "new"))
CODES = {"expired": "result-expired", "cancelled": "operation-cancelled",
         "unknown": "outcome-unknown", "abandoned": "operation-abandoned"}


@unittest.skipIf(clock_can_be_moved(), clock_can_be_moved())
class Policies(MovedClock):
    def make(self, state):
        """An operation in this state under a key of that name; -> the first answer."""
        if state == "cancelled":
            return self.make_cancelled()
        if state == "released":
            self.upstream.script(answer(429, body=b"later"))
        elif state in ("unknown", "abandoned"):
            self.upstream.script(fin())
        first = self.gateway.post(state, ORDER)
        if state == "abandoned":
            self.settle(first, "abandoned")
        self.assert_state(first, state)
        return first

    def make_cancelled(self):
        """Accepted for later, and stopped before it was sent."""
        self.upstream.refuse()
        first = self.gateway.post("cancelled", ORDER, headers=ASYNC)
        path = "/.recibo/operations/%s/cancel" % first.get("Idempotency-Operation")
        self.assertEqual(self.gateway.request("POST", path).status, 200)
        self.gateway.wait_state(first.get("Idempotency-Operation"), "cancelled")
        self.upstream.listen_again()
        return first

    def ask(self, first, state, expected):
        sends = self.upstream.sends
        response = self.gateway.post(state, ORDER)
        runs = expected in ("same", "new")
        told = "executed" if runs else expected
        self.assertEqual((state, response.get("Idempotency-Status")), (state, told), response)
        self.assertEqual(self.upstream.sends, sends + (1 if runs else 0))
        if expected in CODES:
            self.assert_problem(response, 409, CODES[expected])
        is_same = response.get("Idempotency-Operation") == first.get("Idempotency-Operation")
        self.assertEqual(is_same, expected != "new", response)

    def walk(self, table, swept, **route):
        """Each state at each age, asked first at that age; `swept`: after the sweeper has
        been there, else at once after the jump."""
        for age, clock in ((INSIDE, 0), (OVER, AFTER_RETENTION), (GONE, AFTER_TOMBSTONE)):
            self.start_with_clock(merge(LATER, route))
            firsts = {state: self.make(state) for state in table}
            self.set_clock(clock)
            if swept and age != INSIDE:
                self.wait_swept(firsts, age)
            for state, first in firsts.items():
                self.ask(first, state, table[state][age])
            self.gateway.stop()

    def wait_swept(self, firsts, age):
        """Until the sweeper has done all that there is for it to do at this age."""
        ids = [firsts[state].get("Idempotency-Operation") for state in ("completed", "released")]
        done = ("expired", None) if age == OVER else (None, None)

        def state_of(operation_id):
            status, _, value = self.gateway.admin("GET", "/v1/operations/" + operation_id)
            return None if status == 404 else value["state"]
        wait_until(lambda: tuple(map(state_of, ids)) == done)

    def test_refuse_on_read(self):
        """on_expiry: refuse, before anybody has swept."""
        self.walk(REFUSE, False)

    def test_refuse_swept(self):
        """Likewise after the sweeper: the same answers."""
        self.walk(REFUSE, True)

    def test_rerun_on_read(self):
        """on_expiry: rerun, before anybody has swept."""
        self.walk(RERUN, False, on_expiry="rerun")

    def test_rerun_swept(self):
        """Likewise after the sweeper."""
        self.walk(RERUN, True, on_expiry="rerun")

    def test_a_doubt_never_ends_by_time(self):
        """Unknown and abandoned are what they are after twenty years, swept, restarted, and
        with the clock set back again."""
        self.start_with_clock(AT_ONCE)
        firsts = {state: self.make(state) for state in ("completed", "released", "unknown",
                                                        "abandoned")}
        self.set_clock(YEARS)
        self.wait_swept(firsts, GONE)
        for restart, clock in ((False, YEARS), (True, YEARS), (False, -YEARS), (True, 0)):
            self.set_clock(clock)
            if restart:
                self.gateway.restart(kill=True)
            for state in ("unknown", "abandoned"):
                self.ask(firsts[state], state, state)

    def test_backward(self):
        """A clock that is set back makes nothing run: what was kept is kept longer."""
        self.start_with_clock(LATER)
        firsts = {state: self.make(state) for state in ("completed", "unknown", "cancelled")}
        for clock in (-HOUR_S, -400 * DAY_S):
            self.set_clock(clock)
            for state, told in (("completed", "replayed"), ("unknown", "unknown"),
                                ("cancelled", "cancelled")):
                self.ask(firsts[state], state, told)

    def test_back_from_after_retention(self):
        """What became a tombstone while the clock stood wrong stays one: never a second run."""
        self.start_with_clock(AT_ONCE)
        first = self.make("completed")
        self.set_clock(AFTER_RETENTION)
        self.gateway.wait_state(first.get("Idempotency-Operation"), "expired")
        self.set_clock(0)
        self.ask(first, "completed", "expired")

    def test_how_long_is_said(self):
        """Idempotency-Expires is the end of retention by the gateway's clock, the same on the
        first answer and on each replay, and on nothing that is not kept."""
        self.start_with_clock(AT_ONCE)
        self.set_clock(5 * HOUR_S)
        first = self.gateway.post("k1", ORDER)
        self.set_clock(7 * HOUR_S)
        repeat = self.gateway.post("k1", ORDER)
        said = [parsedate_to_datetime(r.get("Idempotency-Expires")).timestamp()
                for r in (first, repeat)]
        self.assertEqual(said[0], said[1])
        self.assertLessEqual(abs(said[0] - time.time() - 5 * HOUR_S - DAY_S), 120)
        self.upstream.script(answer(429), fin())
        for key in ("free", "lost", "lost"):
            self.assertNotIn("Idempotency-Expires", self.gateway.post(key, ORDER).headers)
        self.assertNotIn("Idempotency-Expires", self.gateway.post("k1", {"order": 8}).headers)


SOURCES = {
    "header": ({"from": "header", "name": "Idempotency-Key"}, "refuse"),
    "json": ({"name": None, "from": "json", "pointer": "/id"}, "replace"),
    "header and json": ({"name": None, "from": "all", "of": [
        {"from": "header"}, {"from": "json", "pointer": "/id"}]}, "refuse"),
    "json and json": ({"name": None, "from": "all", "of": [
        {"from": "json", "pointer": "/id"}, {"from": "json", "pointer": "/of"}]}, "replace"),
}


@unittest.skipIf(clock_can_be_moved(), clock_can_be_moved())
class Changed(MovedClock):
    def post(self, number):
        return self.gateway.post("k1", {"id": "a", "of": "b", "n": number, "order": 7})

    def check(self, key, said, expected):
        route = dict(AT_ONCE, key=key)
        if said is not None:
            route["on_changed_after_release"] = said
        self.start_with_clock(route)
        self.upstream.script(answer(429))
        first = self.post(1)
        self.assertEqual(first.get("Idempotency-Status"), "released")
        changed = self.post(2)
        if expected == "refuse":
            self.assert_problem(changed, 422, "key-reused")
            changed = self.post(1)
        self.assert_passed_on(changed, 201, "executed")
        self.assertEqual(changed.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        # In every other state the body that ran is the key's, whatever the route says.
        self.assert_problem(self.post(3), 422, "key-reused")
        self.set_clock(AFTER_RETENTION)
        self.assert_problem(self.post(3), 422, "key-reused")
        self.set_clock(AFTER_TOMBSTONE)
        self.assert_passed_on(self.post(3), 201, "executed")
        self.assertEqual(self.upstream.sends, 3)
        self.gateway.stop()

    def test_each_source_and_word(self):
        """After a release: the default of each key source, and each word over it."""
        for key, default in SOURCES.values():
            for said in (None, "refuse", "replace"):
                self.check(key, said, said or default)

    def test_released_and_over(self):
        """A released key whose retention is over belongs to nobody: any body takes it."""
        self.start_with_clock(AT_ONCE)
        self.upstream.script(answer(429))
        first = self.post(1)
        self.set_clock(AFTER_RETENTION)
        changed = self.post(2)
        self.assert_passed_on(changed, 201, "executed")
        self.assertNotEqual(changed.get("Idempotency-Operation"),
                            first.get("Idempotency-Operation"))


@unittest.skipIf(clock_can_be_moved(), clock_can_be_moved())
class Dedup(MovedClock):
    """upstream_idempotency: the API is believed to know a key for so long, and no longer."""

    def lose(self):
        self.start_with_clock(dict(AT_ONCE, upstream_idempotency={"window": "12h"}, retry={
            "when": ["not_sent"], "attempts": 1, "within": "1s"}))
        self.upstream.script(fin())
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(self.operation_of(first)["state"], "unknown")
        return first

    def test_inside(self):
        """A repeat inside the window is sent again, under the same key."""
        first = self.lose()
        self.set_clock(11 * HOUR_S)
        again = self.gateway.post("k1", ORDER)
        self.assert_passed_on(again, 201, "executed")
        self.assertEqual(again.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertEqual({request.key for request in self.upstream.requests}, {"k1"})

    def test_after_it(self):
        """After it an unknown stays unknown, for good, also when the clock is set back over
        the end and on again."""
        self.lose()
        for clock in (12 * HOUR_S, 30 * HOUR_S, 40 * DAY_S):
            self.set_clock(clock)
            self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 1)


@unittest.skipIf(clock_can_be_moved(), clock_can_be_moved())
class Due(MovedClock):
    """What is accepted for later is due by a time that passes, not by a clock that jumps."""
    COUNT = 25

    def promise(self, base):
        """Many that wait for their second attempt; -> {id: seconds until it is due}"""
        self.start_with_clock({"defer": {"when": "prefer"}, "retry": {
            "when": ["not_sent"], "attempts": 100, "within": "7d",
            "backoff": {"base": base, "max": base}}})
        self.upstream.refuse()
        ids = [self.gateway.post("k%d" % n, {"order": n}, headers=ASYNC)
               .get("Idempotency-Operation") for n in range(self.COUNT)]

        def waits(operation_id):
            operation = self.gateway.operation(operation_id)
            return operation["next_attempt_at"] if operation["attempts"] else None
        due = {}
        for operation_id in ids:
            at = wait_until(lambda i=operation_id: waits(i))
            due[operation_id] = datetime.datetime.strptime(
                at, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc).timestamp()
        return due

    def other_runs(self, key):
        """One more is accepted and runs at once: the source has made a round since."""
        response = self.gateway.post(key, {"order": key}, headers=ASYNC)
        self.gateway.wait_state(response.get("Idempotency-Operation"), "completed")

    def assert_only_due_ran(self, due):
        ran = [i for i in due if self.gateway.operation(i)["state"] != "pending"]
        now = time.time()
        self.assertEqual([i for i in ran if due[i] > now + 1], [])

    def test_an_hour_either_way_fires_nothing(self):
        """Nothing that is due within the hour runs because the clock says so."""
        due = self.promise("1h")
        self.upstream.listen_again()
        for number, clock in enumerate((HOUR_S, 0, -HOUR_S, 0, 3 * HOUR_S)):
            self.set_clock(clock)
            for again in range(2):
                self.other_runs("other-%d-%d" % (number, again))
            self.assert_only_due_ran(due)
        self.set_clock(0)
        for operation_id in due:
            self.gateway.admin("POST", "/v1/operations/%s/run-now" % operation_id, {})
            self.gateway.wait_state(operation_id, "completed")
        sent = [request.json()["order"] for request in self.upstream.requests]
        self.assertEqual(sorted(n for n in sent if isinstance(n, int)), list(range(self.COUNT)))

    def test_back_by_an_hour_loses_nothing(self):
        """What is due within seconds runs within seconds, although the clock says it is an
        hour too early."""
        due = self.promise("3s")
        self.set_clock(-HOUR_S)
        self.upstream.listen_again()
        for operation_id in due:
            self.gateway.wait_state(operation_id, "completed", deadline_s=60.0)
        self.assertEqual(self.upstream.sends, self.COUNT)


if __name__ == "__main__":
    main()
