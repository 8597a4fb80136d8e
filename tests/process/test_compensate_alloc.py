"""Memory runs out under those who take an operation back, at every allocation of asking and
of sending: nothing is taken back twice, and with memory again it is taken back.
"""

import itertools
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE  # noqa: E402
from harness import Upstream, answer, main, orders, rest, scratch, wait_until  # noqa: E402
from test_alloc import Memory  # noqa: E402
from trouble import DIGESTS, EVHTTP, NEVER, troubled  # noqa: E402

NUMBERS_MAX = 400  # allocations of one call, and of the run that follows it
NUMBERS_LEAST = 10


class TakingBack(Memory):
    def begin(self, start=True):
        self.tickets = itertools.count(1)
        self.upstream = self.use(Upstream())
        self.upstream.on_request = self.serve
        route = orders(breaker="none", compensate={"path": "/tickets/{response:/id}",
                                                   "by": ["operator", "owner"]}, **AT_ONCE)
        self.gateway = self.use(troubled(self.upstream, {"routes": [route, rest()]},
                                         scratch("alloc-")))
        self.trouble = self.use(self.gateway.trouble)
        self.first, self.count, self.least = NEVER, 1, 0
        self.reached, self.struck, self.ends = False, 0, 0
        self.trouble.spare(DIGESTS, EVHTTP)
        self.gateway.start()

    def serve(self, request):
        if request.method == "DELETE":
            return answer(204)
        return answer(201, [("Content-Type", "application/json")],
                      body=json.dumps({"id": next(self.tickets)}).encode())

    def deletes(self):
        return [request.target for request in self.upstream.select(method="DELETE")]

    def ask(self, operation_id, by_owner):
        """-> the status, or None when the connection ended without an answer."""
        if by_owner:
            response = self.gateway.request(
                "POST", "/.recibo/operations/%s/compensate" % operation_id)
            return response.status
        return self.gateway.admin("POST", "/v1/operations/%s/compensate" % operation_id,
                                  {"note": "withdrew"})[0]

    def at_rest_of(self, operation_id):
        """The compensation, once it is not under way; None: there is none."""
        def look():
            other = self.gateway.operation(operation_id)["compensated_by"]
            if other is None:
                return (None,)
            found = self.gateway.operation(other)
            return (found,) if found["state"] != "pending" else None
        return wait_until(look)[0]

    def strike(self, number, by_owner):
        """Asked while the n-th allocation from now on fails; -> was it come to?"""
        key = "k-%d-%d" % (number, by_owner)
        made = self.gateway.post(key, {"order": key})
        operation_id, ticket = made.get("Idempotency-Operation"), made.json()["id"]
        self.first, self.reached = number, False
        status, failed = self.under(lambda: self.ask(operation_id, by_owner))
        self.assertTrue(failed or status in (200, 202), status)
        if status in (200, 202):
            self.assertIsNotNone(self.gateway.operation(operation_id)["compensated_by"])
        found = self.at_rest_of(operation_id)
        if found is None or found["state"] == "released":
            self.assertIn(self.ask(operation_id, not by_owner), (200, 202))
            found = self.at_rest_of(operation_id)
        self.assertEqual(found["state"], "completed", found)
        self.assertEqual(self.deletes().count("/tickets/%d" % ticket), 1)
        return self.reached

    def test_each_allocation_fails_once(self):
        """The n-th allocation of asking fails: each odd n for an owner, each even one for an
        operator, as far as there are any."""
        self.begin()
        for by_owner in (True, False):
            self.strike(NEVER, by_owner)
            for number in range(1 if by_owner else 2, NUMBERS_MAX, 2):
                if not self.strike(number, by_owner):
                    break
            self.assertGreater(number, NUMBERS_LEAST, "hardly anything was struck")
            self.assertLess(number, NUMBERS_MAX - 2, "asking never ran out of allocations")
        deletes = self.deletes()
        self.assertEqual(len(deletes), len(set(deletes)))
        print("%d struck, %d ends of the process" % (self.struck, self.ends))


if __name__ == "__main__":
    main()
