"""The times of the next attempts after an outage, as the program writes them: full jitter,
uniform over 0 to min(max, base * 2^n), for each attempt.

The bound cannot flake: by the inequality of Dvoretzky, Kiefer and Wolfowitz the largest
distance between what n draws show and the distribution that they come from is over
sqrt(ln(2 / p) / 2n) with a probability of at most p, here one in 10^9 for each of the three
attempts. What would be seen of a wait without jitter, or of half jitter, is far beyond it.
"""

import datetime
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded  # noqa: E402
from harness import main, parallel, wait_until  # noqa: E402

ASYNC = [("Prefer", "respond-async")]
COUNT = 500
LANES = 10
HOUR_S = 3600
MOST_S = {2: HOUR_S, 3: 2 * HOUR_S, 4: 3 * HOUR_S}  # the last one is cut off by `max`
ONE_IN = 1e9
# Room for those that come due in the very moment in which they are told to run: then that,
# and not their draw, ends the wait. It takes milliseconds of an hour.
STRAYS = 5


class Spread(Guarded):
    def each(self, call):
        """call(number) for all, in lanes; -> the results in order."""
        lanes = parallel(LANES, lambda lane: [call(n) for n in range(lane, COUNT, LANES)],
                         deadline_s=200.0)
        return [lanes[n % LANES][n // LANES] for n in range(COUNT)]

    def after(self, operation_id, attempts):
        """Seconds from the end of this many attempts to the next one."""
        parse = lambda text: datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")  # noqa
        operation = wait_until(lambda: self.waiting(operation_id, attempts), deadline_s=120.0)
        made = operation["attempts"]
        then = made[attempts]["started_at"] if len(made) > attempts else \
            operation["next_attempt_at"]
        return (parse(then) - parse(made[attempts - 1]["ended_at"])).total_seconds()

    def waiting(self, operation_id, attempts):
        operation = self.gateway.operation(operation_id)
        is_there = len(operation["attempts"]) >= attempts and operation["phase"] == "deferred"
        return operation if is_there else None

    def run_now(self, operation_id, attempts):
        """One more attempt, unless it has come due by itself."""
        if len(self.gateway.operation(operation_id)["attempts"]) == attempts:
            status, _, value = self.gateway.admin(
                "POST", "/v1/operations/%s/run-now" % operation_id, {})
            self.assertEqual(status, 202, value)

    def distance(self, waits, most):
        """The largest between the shares below each wait and those of a uniform draw."""
        worst = 0.0
        for at, wait in enumerate(sorted(waits)):
            below = min(1.0, max(0.0, wait / most))
            worst = max(worst, abs((at + 1) / len(waits) - below), abs(at / len(waits) - below))
        return worst

    def test_full_jitter(self):
        """500 operations that could not be sent: attempts 2, 3 and 4 lie as the formula says."""
        self.start(route={"defer": {"when": "prefer", "concurrency": 64, "max_age": "7d"}, "retry": {
            "when": ["not_sent"], "attempts": 100, "within": "7d",
            "backoff": {"base": "1h", "max": "3h"}}})
        self.upstream.refuse()
        ids = self.each(lambda n: self.gateway.post("k%d" % n, {"order": n}, headers=ASYNC)
                        .get("Idempotency-Operation"))
        bound = math.sqrt(math.log(2 * ONE_IN) / (2 * COUNT))
        for attempt, most in MOST_S.items():
            waits = self.each(lambda n, done=attempt - 1: self.after(ids[n], done))
            tenths = [0] * 10
            for wait in waits:
                tenths[min(9, max(0, int(wait * 10 / most)))] += 1
            distance = self.distance(waits, most)
            print("attempt %d: tenths of %d s: %s, distance %.3f of at most %.3f"
                  % (attempt, most, tenths, distance, bound))
            self.assertGreaterEqual(min(waits), 0)
            self.assertLessEqual(sorted(waits)[-STRAYS], most)
            self.assertLessEqual(distance, bound + STRAYS / COUNT)
            if attempt + 1 in MOST_S:
                self.each(lambda n, done=attempt - 1: self.run_now(ids[n], done))
        self.assertEqual(self.upstream.sends, 0)


if __name__ == "__main__":
    main()
