"""The process is killed in each state of the life of a deferred operation: accepted, due,
sent, answered, refused and deferred again, cancelled meanwhile. It ends in exactly one of
completed (carried out once), unknown (at most once) and cancelled (never), and nothing that
was promised is lost.

The gateway is the build's tests/recibo-faults; base/fault.def has the places.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import BUILD, Gateway, Upstream, WireError, answer, main, orders, rest, wait_until  # noqa: E402

FAULTS = os.path.join(BUILD, "tests", "recibo-faults")
CRASHED = 137
ASYNC = [("Prefer", "respond-async")]
ROUTE = {"defer": {"when": "prefer"}, "retry": {
    "when": ["not_sent", 429], "attempts": 100, "within": "60s",
    "backoff": {"base": "1ms", "max": "10ms"}}}
ENDS = ("completed", "unknown", "cancelled")
# A place, and the how-manieth time it is come to. The life has two sendings, the first of
# which is refused (429), so each change of the row has a number.
PLACES = [("claim_commit", 1), ("claim_committed", 1), ("deferred_row", 1), ("deferred_row", 2),
          ("first_byte", 1), ("first_byte", 2), ("request_written", 1), ("request_written", 2),
          ("answer_whole", 1), ("answer_whole", 2)]
PLACES += [(point, count) for point in ("record_commit", "record_committed")
           for count in (1, 2, 3, 4)]


class Life(Guarded):
    def prepare(self, place):
        self.executed, self.refused, self.lock = 0, 0, threading.Lock()
        self.upstream = self.use(Upstream(self.act))
        self.gateway = self.use(Gateway(self.upstream, {"routes": [orders(**ROUTE), rest()]},
                                        start=False, binary=FAULTS))
        self.gateway.env["RECIBO_FAULT"] = "%s:crash:%d" % place
        self.gateway.start()

    def act(self, exchange):
        """The API: refuses the first request, carries out each later one."""
        with self.lock:
            is_first = self.refused == 0
            self.refused += is_first
            self.executed += not is_first
        return answer(429 if is_first else 201, body={"ticket": 1})(exchange)

    def call(self, call):
        try:
            return call()
        except (OSError, WireError):
            return None

    def post(self):
        return self.call(lambda: self.gateway.post("k1", ORDER, headers=ASYNC))

    def cancel(self, operation_id):
        """Asked again and again until the process is gone or says that it is over."""
        path = "/.recibo/operations/%s/cancel" % operation_id
        response = self.call(lambda: self.gateway.request("POST", path))
        return None if response is None else response.json().get("cancel")

    def die(self):
        """The place was come to. Then a life without faults."""
        self.assertEqual(self.gateway.wait_exit(), CRASHED)
        self.gateway.wait_log("recibo: fault ")
        del self.gateway.env["RECIBO_FAULT"]
        self.gateway.start()

    def ended(self):
        listed = self.gateway.operations()
        self.assertLessEqual(len(listed), 1, listed)
        return listed[0] if listed and listed[0]["state"] in ENDS else None

    def judge(self, first, stopped=False):
        if first is not None:
            self.assertEqual(first.status, 202, first)
            self.assertEqual(len(self.gateway.operations()), 1, "a promise was lost")
        if not self.gateway.operations():
            self.assertEqual((self.executed, self.refused), (0, 0))
            self.assertEqual(self.post().status, 202)
        operation = wait_until(self.ended)
        state = operation["state"]
        if state == "completed":
            self.assertEqual(self.executed, 1)
        elif state == "unknown":
            self.assertLessEqual(self.executed, 1)
        else:
            self.assertEqual(self.executed, 0)
        if stopped:
            self.assertEqual((state, self.executed), ("cancelled", 0))
        before = (self.executed, self.refused)
        word = {"completed": "replayed"}.get(state, state)
        for restart in (False, True):
            if restart:
                self.gateway.restart(kill=True)
            self.assertEqual(self.post().get("Idempotency-Status"), word)
        self.assertEqual((self.executed, self.refused), before, "it was sent again")
        return state

    def visit(self, place):
        self.prepare(place)
        first = self.post()
        self.die()
        state = self.judge(first)
        print("%s:%d -> %s" % (*place, state))

    def visit_with_cancel(self, place):
        """Likewise, and its owner wants it cancelled as soon as it is accepted."""
        self.prepare(place)
        first = self.post()
        said = None
        while self.gateway.is_running() and first is not None and said is None:
            said = self.cancel(first.get("Idempotency-Operation"))
        if self.gateway.is_running():  # stopped before the place was come to
            self.gateway.kill9()
            self.gateway.wait_exit()
            del self.gateway.env["RECIBO_FAULT"]
            self.gateway.start()
        else:
            self.die()
        state = self.judge(first, stopped=said == "stopped")
        print("%s:%d, cancel %s -> %s" % (*place, said, state))


def add_tests():
    for place in PLACES:
        name = "%s_%d" % place
        for method, tail in ((Life.visit, ""), (Life.visit_with_cancel, "_and_a_cancel")):
            def run(self, place=place, method=method):
                method(self, place)
            run.__doc__ = "Killed at %s, time %d%s." % (*place, tail.replace("_", " "))
            setattr(Life, "test_" + name + tail, run)


add_tests()

if __name__ == "__main__":
    main()
