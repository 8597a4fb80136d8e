"""Killed at any moment, under load, again and again: no key runs twice, no caller has
seen an answer that a later repeat contradicts, and nothing stays pending.

The seed of a failing run is in its message; RECIBO_SEED runs it again (the load is
concurrent, so the moments are near the same, not the same). RECIBO_CRASH_ROUNDS sets
the number of kills.
"""

import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded  # noqa: E402
from harness import WireError, answer, delay, fin, main, orders, rest  # noqa: E402

ROUNDS = int(os.environ.get("RECIBO_CRASH_ROUNDS", "50"))
SEED = int(os.environ.get("RECIBO_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
CALLERS = 32
SENDS_MAX = 250  # before a kill
CALLS_MAX = 400  # of one caller in a round
FINAL = ("executed", "replayed")


class Ledger:
    """What the upstream really did, by key. The only witness of double execution."""

    def __init__(self, seed):
        self.lock = threading.Lock()
        self.ran, self.refused = {}, 0
        self.random = random.Random(seed)
        self.kill_at, self.reached = 0, threading.Event()
        self.sends = 0

    def decide(self, request):
        """One request: mostly carried out, sometimes refused, sometimes its answer is lost."""
        key = request.json()["order"]
        with self.lock:
            self.sends += 1
            if self.sends >= self.kill_at:
                self.reached.set()
            kind = self.random.random()
            pause_s = self.random.choice((0.0, 0.0, 0.001, 0.01))
            if kind < 0.05:
                self.refused += 1
                return answer(429, body=b"later")
            self.ran[key] = self.ran.get(key, 0) + 1
            number = len(self.ran)
        then = fin() if kind < 0.10 else answer(201, body={"key": key, "number": number})
        return delay(pause_s, then) if pause_s else then

    def arm(self, more):
        with self.lock:
            self.kill_at = self.sends + more
            self.reached.clear()

    def twice(self):
        with self.lock:
            return {key: count for key, count in self.ran.items() if count > 1}


class Caller:
    """Calls until the gateway is gone: new keys, and repeats of its own."""

    def __init__(self, name, seed):
        self.name, self.random = name, random.Random(seed)
        self.seen = {}  # key -> (status, outcome, body) of the last answer, None: no answer
        self.wrong = []

    def run(self, gateway):
        try:
            with gateway.client(timeout=30.0) as client:
                for number in range(CALLS_MAX):
                    self.call(client, number)
        except (OSError, WireError):
            pass  # killed under the call: what was seen is on record

    def call(self, client, number):
        key = "%s-%d" % (self.name, number)
        if self.seen and self.random.random() < 0.3:
            key = self.random.choice(list(self.seen))
        before = self.seen.get(key)
        self.seen.setdefault(key, None)
        response = client.request("POST", "/orders", [("Idempotency-Key", key)], {"order": key})
        self.note(key, before, response)

    def note(self, key, before, response):
        """Compares with what was seen before, and takes its place."""
        seen = (response.status, response.get("Idempotency-Status"), response.body)
        if not follows(before, seen):
            self.wrong.append((key, before, seen))
        self.seen[key] = seen


def follows(before, seen):
    """May an answer follow another one of the same key?"""
    status, outcome, body = seen
    if outcome not in ("executed", "replayed", "unknown", "released", "pending"):
        return False
    if before is None:
        return True
    old_status, old_outcome, old_body = before
    if old_outcome in FINAL:
        return (status, outcome, body) == (old_status, "replayed", old_body)
    if old_outcome == "unknown":
        return (status, outcome) == (409, "unknown")
    return True  # released, or still pending: anything may come of it


class Crash(Guarded):
    def begin(self):
        self.start(routes=[orders(breaker="none", limits={"route_in_flight": 64}), rest()],
                   workers=2)
        self.ledger = Ledger(SEED)
        self.upstream.on_request = self.ledger.decide

    def burst(self, number, dice):
        """Load until the kill; -> what each caller saw."""
        callers = [Caller("r%d-c%d" % (number, i), dice.random()) for i in range(CALLERS)]
        self.ledger.arm(dice.randrange(1, SENDS_MAX))
        threads = [threading.Thread(target=caller.run, args=(self.gateway,), daemon=True)
                   for caller in callers]
        for thread in threads:
            thread.start()
        self.assertTrue(self.ledger.reached.wait(60.0), "the load did not come")
        threading.Event().wait(dice.random() * 0.004)  # not always right behind a send
        self.gateway.kill9()
        for thread in threads:
            thread.join(60.0)
            self.assertFalse(thread.is_alive())
        return callers

    def check(self, callers, context):
        """After the restart: each key once more, and the operator's view."""
        self.assertEqual(self.gateway.operations(state="pending"), [], context)
        with self.gateway.client() as client:
            for caller in callers:
                for key, before in list(caller.seen.items()):
                    response = client.request("POST", "/orders", [("Idempotency-Key", key)],
                                              {"order": key})
                    caller.note(key, before, response)
                self.assertEqual(caller.wrong, [], context)
        self.assertEqual(self.ledger.twice(), {}, context)

    def test_killed_under_load(self):
        """Rounds of load, kill -9 and restart on one store."""
        self.begin()
        dice = random.Random(SEED)
        everybody = []
        for number in range(ROUNDS):
            context = "seed %d, round %d" % (SEED, number)
            callers = self.burst(number, dice)
            self.gateway.restart()
            self.check(callers, context)
            everybody += callers
        self.check(everybody, "seed %d, at the end" % SEED)
        self.assertGreater(len(self.ledger.ran), ROUNDS)
        unknown = [o for o in self.gateway.operations(state="unknown", limit=500)]
        self.assertTrue(all(o["end"] in ("crashed", "closed_no_answer") for o in unknown), unknown)

    def test_killed_with_every_place_taken(self):
        """64 calls in flight, killed: each is in doubt afterwards, none is sent again."""
        self.start(routes=[orders(breaker="none"), rest()])
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.on_request = lambda request: held(event)
        clients = []
        for number in range(64):
            client = self.use(self.gateway.client())
            client.send("POST", "/orders", [("Idempotency-Key", "k%d" % number)],
                        {"order": number})
            clients.append(client)
        self.upstream.wait_for(64)
        self.gateway.kill9()
        self.gateway.restart()
        listed = self.gateway.operations()
        self.assertEqual([(o["state"], o["end"]) for o in listed], [("unknown", "crashed")] * 64)
        for number in range(64):
            self.assert_unknown_repeat(self.gateway.post("k%d" % number, {"order": number}))
        self.assertEqual(self.upstream.sends, 64)

    def test_killed_between_the_answer_and_the_next_start(self):
        """What a caller was told is durable: a kill right behind the answer loses nothing."""
        self.start(routes=[orders(breaker="none"), rest()])
        for number in range(10):
            key = "k%d" % number
            first = self.gateway.post(key, {"order": number})
            self.gateway.kill9()
            self.assertEqual(first.status, 201)
            self.gateway.restart()
            self.assert_replay(first, self.gateway.post(key, {"order": number}))
        self.assertEqual(self.upstream.sends, 10)


def held(event):
    """Holds the answer until the event, or until the upstream stops."""
    def act(exchange):
        while not event.wait(0.05):
            if exchange.upstream.stopping.is_set():
                break
        return False
    return act


if __name__ == "__main__":
    main()
