"""What the tests of plans share: many lost answers, a plan and its end."""

from admin_lib import AdminCase, fin, orders, rest, wait_until
from harness import WireError

OVER = ("done", "stopped")


class PlansCase(AdminCase):
    """Two guarded routes; no quiet time and no delay unless a test says so."""

    quiet = "0s"
    delay = "0s"
    late = {}

    def changes(self):
        route = dict(breaker="none", evidence={"headers": True, "body": True},
                     reconcile={"quiet_time": self.quiet}, **self.route)
        refunds = orders(name="refunds", match={"methods": ["POST"], "path": "/refunds"}, **route)
        return {"routes": [orders(**route), refunds, rest()], "settle_delay": self.delay,
                **self.late}

    def lose_many(self, count, path="/orders", prefix="k"):
        """-> ids of so many unknown operations, the oldest first."""
        default, self.upstream.default = self.upstream.default, fin()
        ids = []
        for number in range(count):
            key = "%s%04d" % (prefix, number)
            response = self.gateway.post(key, {"order": "o-" + key}, path=path)
            self.assertEqual(response.status, 502, response)
            ids.append(response.get("Idempotency-Operation"))
        self.upstream.default = default
        return ids

    def plan(self, where=..., verdict="not_executed", status=201, **members):
        """POST /v1/plans -> the plan, or the problem of another status."""
        body = {"verdict": verdict, **members}
        if where is not ...:
            body["where"] = where
        got, _, value = self.gateway.admin("POST", "/v1/plans", body)
        self.assertEqual(got, status, value)
        return value["plan"] if status == 201 else value

    def look(self, plan):
        status, _, value = self.gateway.admin("GET", "/v1/plans/" + plan["id"])
        self.assertEqual(status, 200, value)
        return value["plan"]

    def apply(self, plan, status=200, note="asked them all", **options):
        got, _, value = self.gateway.admin("POST", "/v1/plans/%s/apply" % plan["id"],
                                           {"note": note}, **options)
        self.assertEqual(got, status, value)
        return value["plan"] if status == 200 else value

    def stop(self, plan, status=200):
        got, _, value = self.gateway.admin("DELETE", "/v1/plans/" + plan["id"])
        self.assertEqual(got, status, value)
        return value["plan"] if status == 200 else value

    def wait_over(self, plan, state="done"):
        """Until the plan is over; -> the plan."""
        seen = {}

        def is_over():
            seen.update(self.look(plan))
            return seen["state"] in OVER
        wait_until(is_over, text=lambda: "the plan is %r" % seen)
        self.assertEqual(seen["state"], state, seen)
        return seen

    def states(self, ids):
        return [self.gateway.operation(id_)["state"] for id_ in ids]

    def settle_lines(self, id_):
        """The lines of the audit of one operation that tell of a verdict."""
        return [line for line in self.gateway.operation(id_)["audit"] if line["action"] == "settle"]


__all__ = ["OVER", "PlansCase", "WireError", "fin", "orders", "rest", "wait_until"]
