"""What the tests of compensations have in common: a ticket API whose tickets can be taken
back, and who asks for it.
"""

import json

from guarded import Guarded
from harness import answer, wait_until

COMPENSATE = {"method": "DELETE", "path": "/tickets/{response:/ticket_id}",
              "by": ["operator", "owner"]}
# Attempts that come soon, and only after what did not run.
RETRY = {"when": ["not_sent", 429], "attempts": 3, "within": "30s",
         "backoff": {"base": "20ms", "max": "50ms"}, "wait_at_most": "5s"}
# SHA-256 of "one" and of "two"
KEYS = {"acme": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        "bolt": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"}
PARTNERS = {"partners": {"kind": "api_key", "header": "X-Api-Key", "keys": [
    {"owner": name, "sha256": digest} for name, digest in KEYS.items()]}}


def created(ticket=77):
    return answer(201, [("Content-Type", "application/json")],
                  body=json.dumps({"ticket_id": ticket}).encode())


class Compensating(Guarded):
    def start_tickets(self, default=None, compensate=None, route=None, **top):
        """DELETE is answered with 204, everything else with a ticket; see self.deletes."""
        self.delete_answers = []

        def decide(request):
            if request.method == "POST" and request.path == "/orders":
                return default or created()
            return self.delete_answers.pop(0) if self.delete_answers else answer(204)
        changes = {"compensate": dict(COMPENSATE, **(compensate or {})), **(route or {})}
        self.start(route=changes, **top)
        self.upstream.on_request = decide
        return self.gateway

    @property
    def deletes(self):
        """Targets of the requests that took something back, as they came."""
        return [request.target for request in self.upstream.select()
                if not (request.method == "POST" and request.path == "/orders")]

    def completed(self, key="k1", **options):
        """An operation that was carried out; -> its id."""
        response = self.gateway.post(key, {"order": 7}, **options)
        self.assertEqual(response.get("Idempotency-Status"), "executed", response)
        return response.get("Idempotency-Operation")

    # ---- who asks ----

    def as_owner(self, operation_id, **options):
        return self.gateway.request("POST", "/.recibo/operations/%s/compensate" % operation_id,
                                    **options)

    def as_operator(self, operation_id, note="customer withdrew", **options):
        """-> (status, JSON)."""
        status, _, told = self.gateway.admin(
            "POST", "/v1/operations/%s/compensate" % operation_id, {"note": note}, **options)
        return status, told

    def compensation_of(self, operation_id):
        """The compensation of an operation, as an operator sees it."""
        operation = self.gateway.operation(operation_id)
        self.assertIsNotNone(operation["compensated_by"], operation)
        return self.gateway.operation(operation["compensated_by"])

    def wait_compensation(self, operation_id, state):
        def reached():
            found = self.compensation_of(operation_id)
            return found if found["state"] == state else None
        return wait_until(reached)
