"""A ticket API without idempotency that keeps books: what it carried out stands in its
ledger, whatever became of the answer. What a scenario says of the world is compared
with that.
"""

import collections
import json
import threading
import urllib.parse

from harness import Upstream, answer, encode_answer, fin, hang, raw, reset, stall, wait

REFERENCE = "external_reference"
LIMIT = 4096  # answers over it are too large for the gateways of these tests


def half(exchange):
    """An answer that begins and then stands still."""
    exchange.send(encode_answer(201, [("Content-Length", "10")], b"half"))
    return hang()(exchange)


# The ends that leave an outcome unknown, and what an upstream does for each. `drained` and
# `crashed` are what the gateway itself does while the upstream still works.
DEEDS = {
    "send_stalled": stall(),
    "answer_timeout": hang(),
    "idle_timeout": half,
    "closed_no_answer": fin(),
    "reset_no_answer": reset(),
    "cut_answer": raw(encode_answer(201, [("Content-Length", "100")], b"cut")),
    "bad_answer": raw(b"hello\r\n\r\n"),
    "answer_too_large": answer(201, body=b"x" * (LIMIT + 1)),
    "answered": answer(503, body={"error": "sorry"}),
    "drained": hang(),
    "crashed": hang(),
}


class Ledger:
    """The upstream of a scenario. POST makes a ticket (unless `runs` says no) and then does
    what `deed` says; GET /tickets?external_reference= finds tickets."""

    def __init__(self, case):
        self.upstream = case.use(Upstream(answer(404)))
        self.upstream.on_request = self.on_request
        self.upstream.on_head = self.on_head
        self.lock = threading.Lock()
        self.tickets = []          # {"id", "external_reference", "order"}, as they were made
        self.questions = 0
        self.deed = lambda request: None
        self.runs = lambda request: True
        self.stalls = lambda request: False  # by the head alone: the body is not read

    @property
    def url(self):
        return self.upstream.url

    def on_head(self, request):
        """An upstream that takes no body does not wait for it."""
        return DEEDS["send_stalled"] if self.stalls(request) else None

    def on_request(self, request):
        if request.method != "POST":
            return self.find(request)
        ticket = self.make(request) if self.runs(request) else {"id": 0}
        return self.deed(request) or answer(201, {"Content-Type": "application/json"}, ticket)

    def make(self, request):
        body = json.loads(request.body)
        with self.lock:
            ticket = {"id": len(self.tickets) + 1, REFERENCE: body.get(REFERENCE),
                      "order": body.get("order")}
            self.tickets.append(ticket)
        return ticket

    def find(self, request):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.target).query)
        wanted = query.get(REFERENCE, [None])[0]
        with self.lock:
            self.questions += 1
            found = [ticket for ticket in self.tickets if ticket[REFERENCE] == wanted]
        return answer(200, {"Content-Type": "application/json"}, {"items": found})

    def counts(self, name="order"):
        """How many tickets there are of each order."""
        with self.lock:
            return collections.Counter(ticket[name] for ticket in self.tickets)


__all__ = ["DEEDS", "LIMIT", "Ledger", "REFERENCE", "wait"]
