"""Each fault point of base/fault.def, once with each thing that can happen there: the
process crashes, the call fails, the thread stands still. A caller's story runs across
it (first call, restart, repeat, changed body), and afterwards no key was sent twice,
no answer contradicts an earlier one, and nothing is pending.

The gateway is the build's tests/recibo-faults: the product with its fault points.
"""

import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, SOON, Guarded  # noqa: E402
from harness import (BUILD, ROOT, Gateway, Upstream, WireError, answer, fin, hang, main,  # noqa: E402
                     merge, orders, rest, wait, wait_until)

FAULTS = os.path.join(BUILD, "tests", "recibo-faults")
ROW = re.compile(r'^FAULT\((\w+),\s*([01]),\s*"[^"]+"\)$', re.MULTILINE)
CRASHED = 137
DELAY = "delay=40"
CHANGED = {"order": 8}
BODY = {"ticket": 1}
CALL = "X-Call"  # says at the upstream which call it is: the key itself is not passed on
LARGE = "x" * 1000000
WRITE_BACK_CALLS_MAX = 400  # of LARGE answers, until the log is written back

# What a repeat may be told after a restart. What was on the disk decides it alone.
ANSWERED, IN_DOUBT, FREE = "replayed", "unknown", "executed"
REPEATS = {
    ("answer_whole", "crash"): {IN_DOUBT},
    ("claim_commit", "crash"): {FREE},
    ("claim_commit", "error"): {FREE},
    ("claim_committed", "crash"): {IN_DOUBT},
    ("first_byte", "crash"): {IN_DOUBT},
    ("first_byte", "error"): {FREE},
    ("record_commit", "crash"): {IN_DOUBT},
    ("record_commit", "error"): {ANSWERED, IN_DOUBT},
    ("request_written", "crash"): {IN_DOUBT},
    ("late_answer", "crash"): {IN_DOUBT},
    ("recovery_row", "crash"): {IN_DOUBT},
    ("recovery_row", "error"): {IN_DOUBT},
    ("recovery_row", "delay"): {IN_DOUBT},
    ("sweep_row", "crash"): {"expired"},
    ("sweep_row", "error"): {"expired"},
    ("sweep_row", "delay"): {"expired"},
}


def points():
    """{name: can it fail} of the points in the table."""
    with open(os.path.join(ROOT, "base", "fault.def"), encoding="utf-8") as file:
        return {name: can_fail == "1" for name, can_fail in ROW.findall(file.read())}


class Faults(Guarded):
    def prepare(self, default=None, upstream=None, **route):
        """A gateway with fault points that is not started yet."""
        self.upstream = self.use(Upstream(default or answer(201, body=BODY)))
        changes = {"routes": [orders(**merge(AT_ONCE, route)), rest()],
                   "upstreams": {"legacy": upstream or {}}}
        self.gateway = self.use(Gateway(self.upstream, changes, start=False, binary=FAULTS))

    def arm(self, point, action):
        word = DELAY if action == "delay" else action
        self.point, self.action = point, action
        self.gateway.env["RECIBO_FAULT"] = "%s:%s" % (point, word)

    def post(self, key, body=None):
        """The answer, or None when the connection ended without one."""
        try:
            return self.gateway.post(key, ORDER if body is None else body, headers={CALL: key})
        except (OSError, WireError):
            return None

    def sent(self, key):
        """What of this call the upstream has seen, be it only the head."""
        return [head for head in self.upstream.heads if head.get(CALL) == key]

    def start_again(self):
        """The fault has struck, in the way that was asked for; then a life without one."""
        if self.action == "crash":
            self.assertEqual(self.gateway.wait_exit(), CRASHED, "it ended in another way")
        struck = "recibo: fault %s: %s\n" % (self.point, self.action)
        self.gateway.wait_log(re.escape(struck))
        self.assertEqual(self.gateway.log().count("recibo: fault "), 1)
        if self.gateway.is_running():
            self.assertEqual(self.gateway.stop(), 0)
        del self.gateway.env["RECIBO_FAULT"]
        self.gateway.start()

    def settled_down(self):
        """Nothing is left of an earlier life that only a caller could move."""
        states = [operation["state"] for operation in self.gateway.operations()]
        self.assertNotIn("pending", states)

    def judge(self, key, first):
        """The story after the restart; what the first call was told still holds."""
        self.settled_down()
        sent = self.sent(key)
        repeat = self.post(key)
        self.assertIsNotNone(repeat)
        told = repeat.get("Idempotency-Status")
        self.assertIn(told, REPEATS.get((self.point, self.action), {ANSWERED}), repeat)
        if first is not None and first.status == 201:
            self.assertEqual((told, repeat.body), (ANSWERED, first.body))
        if first is not None and first.status >= 500 and first.json().get("safe_new_key"):
            self.assertEqual(sent, [], "a new key was called safe")
        if told == FREE:
            self.assertEqual(sent, [], "it was sent again")
            self.assertEqual(self.post(key).get("Idempotency-Status"), ANSWERED)
        self.assert_problem(self.post(key, CHANGED), 422, "key-reused")
        if told in (FREE, ANSWERED):
            self.assertEqual(len(self.sent(key)), 1, "it ran, and not once")
        self.assertLessEqual(len(self.sent(key)), 1, "it was sent again")
        self.settled_down()
        return repeat

    # ---- stories ----

    def call(self, point, action):
        """The point lies on the way of a call."""
        self.prepare()
        self.arm(point, action)
        self.gateway.start()
        first = self.post("k1")
        if action != "error" and (action, point) != ("crash", "reply_first_byte"):
            self.assertEqual(first is None, action == "crash", first)
        self.start_again()
        self.judge("k1", first)
        self.assertEqual(self.post("k2").get("Idempotency-Status"), FREE)

    def recovery(self, point, action):
        """A life ended inside a call; the next one finds the lease."""
        self.prepare(hang())
        self.gateway.start()
        caller = threading.Thread(target=self.post, args=("k1",))
        caller.start()
        self.upstream.wait_for(1)
        self.gateway.kill9()
        caller.join()
        self.arm(point, action)
        if action == "crash":
            self.gateway.launch()
        else:
            self.gateway.start()
        self.start_again()
        self.judge("k1", None)

    def retention(self, point, action):
        """A life finds an operation whose retention is over."""
        self.prepare(retention="1ms")
        self.gateway.start()
        first = self.post("k1")
        self.assertEqual(first.status, 201)
        self.gateway.kill9()
        self.arm(point, action)
        if action == "crash":
            self.gateway.launch()
        else:
            self.gateway.start()
        self.start_again()
        self.judge("k1", None)

    def deferred(self, point, action):
        """A request was accepted for later, and its time has come."""
        self.prepare(defer={"when": "always"}, retry={"backoff": {"base": "1ms", "max": "1ms"}})
        self.arm(point, action)
        self.gateway.start()
        first = self.post("k1")
        if first is not None:
            self.assertEqual(first.status, 202, first)
        self.start_again()
        wait_until(lambda: [operation["state"] for operation in self.gateway.operations()]
                   == ["completed"])
        repeat = self.post("k1")
        self.assertEqual((repeat.status, repeat.get("Idempotency-Status"), repeat.json()),
                         (201, ANSWERED, BODY))
        self.assertEqual(len(self.sent("k1")), 1, "it ran, and not once")
        self.assert_problem(self.post("k1", CHANGED), 422, "key-reused")

    def local(self, point, action):
        """The effect is a row beside its receipt; test_local_kill.py has the whole story."""
        effect = {"setup": "CREATE TABLE IF NOT EXISTS rows(id INTEGER PRIMARY KEY, n INTEGER);",
                  "accept": {"members": ["order"], "types": {"order": "integer"}},
                  "statement": "INSERT INTO rows(n) VALUES (:order) RETURNING id AS ticket"}
        self.prepare()
        self.gateway.changes["routes"] = [{"name": "create-order", "local": effect,
                                           "match": {"methods": ["POST"], "path": "/orders"}}]
        self.arm(point, action)
        self.gateway.start()
        first = self.post("k1")
        self.assertEqual(first is None, action == "crash", first)
        self.start_again()
        runs_now = point == "local_commit" and action != "delay"
        repeat = self.post("k1")
        self.assertEqual(repeat.get("Idempotency-Status"), "local" if runs_now else ANSWERED)
        self.assertEqual(repeat.json(), {"ticket": 1})
        self.assert_problem(self.post("k1", CHANGED), 422, "key-reused")

    def verdict(self, point, action):
        """An operator settles what is not known."""
        self.prepare(fin())
        self.arm(point, action)
        self.gateway.start()
        first = self.post("k1")
        operation = self.operation_of(first)
        said = {"verdict": "executed", "version": operation["version"], "note": "looked"}
        path = "/v1/operations/%s/settle" % operation["id"]
        status = None
        try:
            status = self.gateway.admin("POST", path, said)[0]
        except (OSError, WireError):
            pass  # crashed: the operator looks again
        self.start_again()
        self.settled_down()
        now = self.gateway.operation(operation["id"])
        was_changed = now["state"] == "completed"
        self.assertEqual(was_changed, point == "settle_changed" or action == "delay", now)
        if status is not None:
            self.assertEqual(status == 200, was_changed)
        if not was_changed:
            self.assertEqual(self.gateway.admin("POST", path, said)[0], 200)
        self.assert_problem(self.post("k1"), 409, "result-unavailable")
        self.assert_problem(self.post("k1", CHANGED), 422, "key-reused")
        self.assertEqual(len(self.upstream.heads), 1)

    def late(self, point, action):
        """An answer comes after its caller has left."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.prepare(wait(release, answer(201, body=BODY)), SOON)
        self.arm(point, action)
        self.gateway.start()
        first = self.post("k1")
        self.assert_problem(first, 504, "upstream-timeout")
        operation = self.operation_of(first)
        release.set()
        if action != "crash":
            self.gateway.wait_state(operation["id"], "completed")
        self.start_again()
        self.judge("k1", None)

    def write_back(self, point, action):
        """The store's log grows until it is written back."""
        self.prepare(answer(201, body={"text": LARGE}))
        self.arm(point, action)
        self.gateway.start()
        told = {}
        for number in range(WRITE_BACK_CALLS_MAX):
            key = "k%d" % number
            told[key] = self.post(key)
            if "recibo: fault " in self.gateway.log():
                break
        self.start_again()
        self.settled_down()
        for key, first in told.items():
            if first is not None:
                repeat = self.post(key)
                self.assertEqual((repeat.status, repeat.body), (201, first.body), key)
            self.assertLessEqual(len(self.sent(key)), 1)

    def tables(self, point, action):
        """The store is made, or taken over by a new life."""
        for is_first in (True, False):
            self.prepare()
            self.gateway.start()
            first = None if is_first else self.post("k1")
            self.gateway.stop()
            for name in os.listdir(self.gateway.directory) if is_first else ():
                if name.startswith("recibo.db"):
                    os.remove(os.path.join(self.gateway.directory, name))
            self.arm(point, action)
            self.gateway.launch()
            if action == "error":
                self.assertNotIn(self.gateway.wait_exit(), (0, CRASHED))
            elif action == "delay":
                self.gateway.wait_ready()
            self.start_again()
            if is_first:
                self.assertEqual(self.post("k1").get("Idempotency-Status"), FREE)
            else:
                self.judge("k1", first)

    def test_every_point_has_a_story(self):
        """A point that nobody visits proves nothing."""
        self.assertEqual(sorted(points()), sorted(STORIES))
        self.assertEqual(list(points()), sorted(points()), "the table is sorted")


STORIES = {
    "answer_whole": Faults.call,
    "checkpoint_last": Faults.write_back,
    "checkpoint_pass": Faults.write_back,
    "claim_commit": Faults.call,
    "claim_committed": Faults.call,
    "deferred_row": Faults.deferred,
    "first_byte": Faults.call,
    "late_answer": Faults.late,
    "local_commit": Faults.local,
    "local_committed": Faults.local,
    "record_commit": Faults.call,
    "record_committed": Faults.call,
    "recovery_row": Faults.recovery,
    "reply_first_byte": Faults.call,
    "request_written": Faults.call,
    "schema_commit": Faults.tables,
    "settle_change": Faults.verdict,
    "settle_changed": Faults.verdict,
    "sweep_row": Faults.retention,
}


def add_tests():
    """One test for each point and each thing that can happen there."""
    for point, can_fail in points().items():
        for action in ("crash", "error", "delay") if can_fail else ("crash", "delay"):
            def visit(self, point=point, action=action):
                STORIES[point](self, point, action)
            visit.__doc__ = "%s at %s." % (action.capitalize(), point)
            setattr(Faults, "test_%s_%s" % (point, action), visit)


add_tests()

if __name__ == "__main__":
    main()
