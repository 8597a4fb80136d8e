"""What the tests of probes have in common: a route that knows how to ask, and an upstream
that answers the question as the test says.
"""

import json

from guarded import Guarded, Background
from harness import answer, fin, merge, orders, rest, wait_until

QUESTION = "/lookup"
# The quiet time is as short as the rules allow; nothing else depends on these times.
QUIET = {"timeouts": {"first_byte": "200ms", "answer": "200ms", "late": "200ms"}}
FOUND = b'{"items": [ {"id":  41, "note": "caf\\u00e9"} ]}'
FOUND_ITEM = b'{"id":  41, "note": "caf\\u00e9"}'
NOTHING = b'{"items": []}'
RECONCILE = {
    "quiet_time": "0s",
    "probe": {"method": "GET", "path": QUESTION + "?ref={operation_id}"},
    "executed_when": {"status": 200, "json": {"/items/0/id": "plain!exists"}},
    "absent_when": {"status": 200, "json": {"/items": "plain!empty"}},
    "response": {"status": 201, "body": {"from": "/items/0"}},
    "every": "1s",
}


def json_answer(body, status=200):
    return answer(status, {"Content-Type": "application/json"}, body)


class Probing(Guarded):
    """start_probing() makes a gateway whose route asks; self.reply is what it is told."""

    def start_probing(self, reconcile=None, route=None, upstream=None, **top):
        changes = {"reconcile": merge(RECONCILE, reconcile),
                   "add_operation_id": {"header": "X-Operation-Id"}, "breaker": "none"}
        self.start(routes=[orders(**merge(changes, route)), rest()], upstream=upstream, **top)
        self.reply = json_answer(FOUND)
        self.upstream.on_request = self.on_request
        return self.gateway

    def on_request(self, request):
        if request.path != QUESTION:
            return None
        return self.reply

    @property
    def questions(self):
        return self.upstream.select(path=QUESTION)

    @property
    def posts(self):
        return self.upstream.select(method="POST")

    def lose(self, key="k1", body=None, **options):
        """A call whose answer is lost: -> the operation id."""
        self.upstream.script(fin())
        response = self.gateway.post(key, {"order": 7} if body is None else body, **options)
        self.assertEqual(response.status, 502, response)
        operation_id = response.get("Idempotency-Operation")
        self.assertIsNotNone(operation_id, response)
        return operation_id

    def ask(self, operation_id, status=202):
        """An operator's question; -> the JSON."""
        seen, _, value = self.gateway.admin("POST", "/v1/operations/%s/probe" % operation_id,
                                            {"note": "look"})
        self.assertEqual(seen, status, value)
        return value

    def wait_probed(self, operation_id, count):
        """Until so many findings are on record; -> the operation."""
        seen = {}

        def reached():
            seen.update(self.gateway.operation(operation_id))
            return seen if seen["probe_count"] >= count else None
        return wait_until(reached, text=lambda: "no %d probes in %s" % (count, json.dumps(seen)))


__all__ = ["Background", "FOUND", "FOUND_ITEM", "NOTHING", "Probing", "QUESTION", "QUIET",
           "RECONCILE", "json_answer"]
