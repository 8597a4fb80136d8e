"""A day of callers without keys who repeat what got no answer, seen in observe mode: the
report names what really ran twice, by the upstream's own books, and proposes lines of
configuration. With those lines in place the same day is played again, and nothing runs
twice while no honest order is lost.
"""

import json
import os
import random
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded  # noqa: E402
from harness import main, orders, rest, wait_until  # noqa: E402
from ledger import DEEDS, Ledger  # noqa: E402

ORDERS = 300
LOST_SHARE = 0.03
AS_IT_IS = {"breaker": "none"}


def merge(*parts):
    """Settings laid over each other, member by member."""
    return {name: value for part in parts for name, value in part.items()}


class Day:
    """Who orders what, and which answers get lost: the same for every play of the day."""

    def __init__(self, seed=7):
        dice = random.Random(seed)
        self.orders = []
        for number in range(ORDERS):
            # Two honest orders may be for the same goods: only their numbers differ.
            body = {"order": "o-%06d" % dice.randrange(10 ** 6), "goods": dice.choice("abc"),
                    "count": dice.randrange(1, 4)}
            losses = sum(dice.random() < LOST_SHARE for _ in range(3))
            self.orders.append((body, losses))

    def lost(self):
        return {body["order"]: losses for body, losses in self.orders if losses}


class ObservedDay(Guarded):
    def setUp(self):
        self.ledger = Ledger(self)
        self.lock = threading.Lock()

    def play(self, gateway, day):
        """Every caller sends until he has an answer, with the time of sending in the body."""
        left = day.lost()
        self.ledger.tickets.clear()
        def deed(request):
            order = request.json()["order"]
            with self.lock:
                if left.get(order, 0) > 0:
                    left[order] -= 1
                    return DEEDS["closed_no_answer"]
            return None
        self.ledger.deed = deed
        sent = 0
        for body, losses in day.orders:
            for attempt in range(losses + 1):
                sent += 1
                told = gateway.post(None, dict(body, sent_at="2026-12-01T10:%02d:%02dZ" % (
                    sent // 60 % 60, sent % 60)))
                if told.status == 201:
                    break
        return sent

    def observe(self, day, **route):
        """The day under these settings; -> (requests, orders that ran twice, the report)."""
        gateway = self.start(routes=[orders(**merge(AS_IT_IS, {"mode": "observe"}, route)), rest()],
                             url=self.ledger.url)
        sent = self.play(gateway, day)
        doubles = {order: count for order, count in self.ledger.counts().items() if count > 1}

        def report():
            value = gateway.admin("GET", "/v1/report")[2]
            return value if value["exchanges"] >= sent else None
        value = wait_until(report)
        self.assertEqual((value["exchanges"], value["lost"]), (sent, 0))
        return sent, doubles, value

    def test_a_day(self):
        """The duplicates of the report are those of the books; the proposed lines end them."""
        day = Day()
        # Nobody sends a key. The report says so, and that the order's number could be one.
        sent, doubles, value = self.observe(day)
        self.assertGreater(len(doubles), 10)
        self.assertEqual(value["routes"][0]["would_refuse"]["reasons"],
                         [{"reason": "key-missing", "count": sent}])
        key = self.proposed(value, r"key: \{from: json, pointer: (\".*?\")\}")
        by_order = {"key": {"from": "json", "pointer": key, "name": None, "required": None}}
        # With that every repeat looks like another request, and the report says by what.
        sent, doubles, value = self.observe(day, **by_order)
        route = value["routes"][0]
        self.assertEqual((route["keys"], route["repeated_keys"]), (ORDERS, len(doubles)))
        self.assertEqual(route["would_mismatch"]["changed"],
                         [{"member": "/sent_at", "count": sent - ORDERS}])
        ignored = self.proposed(value, r"fingerprint: \{mode: json, ignore: (\[.*\])\}")
        settings = dict(by_order, fingerprint={"mode": "json", "ignore": ignored})
        # With both it names what ran twice: as many as the books have.
        sent, doubles, value = self.observe(day, **settings)
        route = value["routes"][0]
        self.assertEqual(route["would_mismatch"]["count"], 0)
        self.assertEqual(route["repeated_keys"], len(doubles))
        self.assertEqual(route["ran_twice"]["perhaps"] + route["ran_twice"]["count"],
                         sum(doubles.values()) - len(doubles))
        # Enforced: each order is carried out, and none twice.
        gateway = self.start(routes=[orders(**merge(AS_IT_IS, {"mode": "enforce"}, settings)),
                                     rest()], url=self.ledger.url)
        self.play(gateway, day)
        self.assertEqual(self.ledger.counts(), {body["order"]: 1 for body, _ in day.orders})

    def proposed(self, value, pattern):
        """What stands at this place of the proposed lines."""
        found = re.search(r"(?m)^    " + pattern, value["suggestion"])
        self.assertIsNotNone(found, value["suggestion"])
        return json.loads(found.group(1))


if __name__ == "__main__":
    main()
