"""Trying again by itself: after what, how long, how often, and what the caller and his
repeats are told meanwhile.
"""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, SOON, Background, Guarded, send_post  # noqa: E402
from harness import answer, fin, main, parallel, wait, wait_until  # noqa: E402

FAST = {"base": "10ms", "max": "50ms"}
RETRY = {"when": ["not_sent", 429], "attempts": 4, "within": "60s", "backoff": FAST,
         "wait_at_most": "5s"}
DEDUP = {"upstream_idempotency": {"window": "1h"},
         "reconcile": {"quiet_time": "0s"}}


def retry(**changes):
    return dict(RETRY, **changes)


def busy(**headers):
    return answer(429, [(name.replace("_", "-"), value) for name, value in headers.items()])


class Retried(Guarded):
    """Until the upstream takes it, within one request of the caller's."""

    def test_refused_connections(self):
        """The caller waits while nothing can be sent, and gets the answer of the one run."""
        self.start(route={"retry": retry(attempts=100, wait_at_most="5s")})
        self.upstream.refuse()
        call = Background(lambda: self.gateway.post("k1", ORDER))
        operation = wait_until(lambda: self.tried(2))
        self.assertEqual(operation["state"], "pending")
        self.upstream.listen_again()
        response = call.result()
        self.assert_passed_on(response, 201, "executed")
        operation = self.assert_state(response, "completed", "answered", sends=1)
        for attempt in operation["attempts"][:-1]:
            self.assertEqual((attempt["end"], attempt["basis"]), ("connect_refused", "proved"))
        numbers = [attempt["number"] for attempt in operation["attempts"]]
        self.assertEqual(numbers[-1], max(numbers))
        self.assert_replay(response, self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 1)

    def tried(self, count):
        listed = self.gateway.operations()
        if not listed or listed[0]["attempts"] < count:
            return None
        return self.gateway.operation(listed[0]["id"])

    def test_declared_status(self):
        """A status of retry.when is tried again; each attempt has its own fence and record."""
        self.start(route={"retry": retry()})
        self.upstream.script(busy(), busy())
        response = self.gateway.post("k1", ORDER)
        self.assert_passed_on(response, 201, "executed", b'{"ticket": 1}')
        operation = self.assert_state(response, "completed", sends=3, attempts=3)
        self.assertEqual([a["status"] for a in operation["attempts"]], [429, 429, 201])
        self.assertEqual([a["basis"] for a in operation["attempts"]],
                         ["declared", "declared", "none"])
        bodies = {request.raw_body for request in self.upstream.requests}
        self.assertEqual(len(bodies), 1)

    def test_declared_by_a_rule(self):
        """So is what a rule refuses, by its status or by the word for all rules."""
        rules = {"rules": [{"status": 200, "json": {"/ok": False}, "means": "refused"}]}
        for when in (200, "rules"):
            self.start(route={"retry": retry(when=when), "outcome": rules})
            self.upstream.script(answer(200, body={"ok": False}))
            self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
            self.assertEqual(self.upstream.sends, 2)

    def test_only_what_is_named(self):
        """What retry.when does not name is passed on at the first time, and the key is free."""
        self.start(route={"retry": retry(when=["not_sent"])})
        self.upstream.script(busy())
        self.assert_passed_on(self.gateway.post("k1", ORDER), 429, "released")
        self.assertEqual(self.upstream.sends, 1)

    def test_lost_is_never_sent_again(self):
        """A lost answer, a 503 and a cut one stay unknown, whatever the attempts left."""
        for number, act in enumerate((fin(), answer(503), fin(b"HTTP/1.1 20"))):
            self.start(route={"retry": retry()})
            self.upstream.script(act)
            response = self.gateway.post("k%d" % number, ORDER)
            self.assertEqual(response.get("Idempotency-Status"), "unknown")
            self.assertEqual(self.gateway.post("k%d" % number, ORDER).status, 409)
            self.assertEqual(self.upstream.sends, 1)

    def test_id_in_the_body_is_put_in_once(self):
        """The operation id stands in the body of every attempt, once."""
        self.start(route={"retry": retry(), "add_operation_id": {"json": "/ref"}})
        self.upstream.script(busy(), busy())
        response = self.gateway.post("k1", ORDER)
        for request in self.upstream.requests:
            self.assertEqual(request.raw_body.count(b'"ref"'), 1, request.raw_body)
            self.assertEqual(request.json()["ref"], response.get("Idempotency-Operation"))


class Bounds(Guarded):
    def test_attempts_of_one_call(self):
        """After the last attempt the caller is told so, and when the window is over."""
        self.start(route={"retry": retry(attempts=3)})
        self.upstream.default = busy()
        response = self.gateway.post("k1", ORDER)
        self.assert_told(response, 503, "attempts-exhausted", "exhausted", state="released",
                         retry=True, new_key=True)
        self.assertTrue(50 <= int(response.get("Retry-After")) <= 60, response)
        self.assertEqual(self.upstream.sends, 3)

    def test_repeats_count_too(self):
        """Three repeats of a client and three attempts of the gateway are not nine."""
        self.start(route={"retry": retry(attempts=3)})
        self.upstream.default = busy()
        for _ in range(3):
            response = self.gateway.post("k1", ORDER)
            self.assert_told(response, 503, "attempts-exhausted", "exhausted", state="released",
                             retry=True, new_key=True)
        self.assertEqual(self.upstream.sends, 3)

    def test_window_opens_again(self):
        """The bound is a window: the next repeat after its end is tried, and can succeed."""
        self.start(route={"retry": retry(attempts=2, within="1s", wait_at_most="100ms")})
        self.upstream.default = busy()
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.status, 503)
        self.upstream.default = answer(201, body={"ticket": 1})
        seen = wait_until(lambda: self.repeat_that_ran("k1"))
        self.assertEqual(seen.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 3)

    def repeat_that_ran(self, key):
        response = self.gateway.post(key, ORDER)
        return response if response.status == 201 else None

    def test_no_attempt_of_its_own_without_the_section(self):
        """Without retry nothing changes: one attempt, and the upstream's own refusal."""
        self.start()
        self.upstream.default = busy(Retry_After="60")
        for sends in (1, 2):
            response = self.gateway.post("k1", ORDER)
            self.assert_passed_on(response, 429, "released")
            self.assertEqual(response.get("Retry-After"), "60")
            self.assertEqual(self.upstream.sends, sends)


class RetryAfter(Guarded):
    def test_lower_bound(self):
        """The upstream is not asked before its Retry-After, by the gateway or by a repeat."""
        self.start(route={"retry": retry()})
        self.upstream.script(busy(Retry_After="1"))
        asked = []
        self.upstream.on_request = lambda request: asked.append(time.monotonic())
        first = Background(lambda: self.gateway.post("k1", ORDER))
        self.upstream.wait_for(1)
        self.assert_passed_on(first.result(), 201, "executed")
        self.assertEqual(len(asked), 2)
        self.assertGreaterEqual(asked[1] - asked[0], 0.99)

    def test_far(self):
        """Farther than wait_at_most: the key is free, but no repeat is sent before its time."""
        self.start(route={"retry": retry(wait_at_most="0s")})
        self.upstream.default = busy(Retry_After="30")
        for _ in range(3):
            response = self.gateway.post("k1", ORDER)
            self.assert_told(response, 503, "retry-later", "released", state="released",
                             retry=True, new_key=True)
            self.assertTrue(25 <= int(response.get("Retry-After")) <= 30, response)
        self.assertEqual(self.upstream.sends, 1)

    def test_date(self):
        """A Retry-After can be a date, too."""
        self.start(route={"retry": retry(wait_at_most="0s")})
        when = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 40))
        self.upstream.default = busy(Retry_After=when)
        response = self.gateway.post("k1", ORDER)
        self.assertTrue(30 <= int(response.get("Retry-After")) <= 41, response)

    def test_repeat_that_comes_near(self):
        """A repeat shortly before the time waits for it, and is the next attempt."""
        self.start(route={"retry": retry(wait_at_most="700ms")})
        self.upstream.script(busy(Retry_After="1"))
        asked = []
        self.upstream.on_request = lambda request: asked.append(time.monotonic())
        self.assertEqual(self.gateway.post("k1", ORDER).status, 503)
        seen = wait_until(lambda: self.repeat_that_ran("k1"))
        self.assert_state(seen, "completed", sends=2, attempts=2)
        self.assertGreaterEqual(asked[1] - asked[0], 0.99)

    def repeat_that_ran(self, key):
        response = self.gateway.post(key, ORDER)
        return response if response.status == 201 else None


class WhileItWaits(Guarded):
    """Between two attempts the row is claimed, nothing is sent, and no worker is held."""

    def start_waiting(self, key="k1", **route):
        self.start(route=dict({"retry": retry(attempts=2, wait_at_most="20s")}, **route))
        self.upstream.script(busy(Retry_After="2"))
        call = Background(lambda: self.gateway.post(key, ORDER))
        wait_until(lambda: self.phase() == "claimed")
        return call

    def phase(self):
        listed = self.gateway.operations()
        return listed[0]["phase"] if listed else None

    def test_repeat(self):
        """A repeat is told that the first request is still running."""
        call = self.start_waiting()
        self.assert_told(self.gateway.post("k1", ORDER), 409, "request-in-progress", "pending",
                         state="pending", retry=True, new_key=False)
        self.assert_passed_on(call.result(), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)

    def test_repeat_that_waits(self):
        """With on_pending a repeat waits over all attempts, and gets the replay."""
        call = self.start_waiting(on_pending={"wait": "30s"})
        repeat = self.gateway.post("k1", ORDER)
        self.assert_replay(call.result(), repeat)
        self.assertEqual(self.upstream.sends, 2)

    def test_caller_leaves(self):
        """The caller's leaving ends nothing: the next attempt is made all the same."""
        self.start(route={"retry": retry(attempts=2, wait_at_most="20s")})
        self.upstream.script(busy(Retry_After="1"))
        client = send_post(self.gateway, "k1")
        wait_until(lambda: self.phase() == "claimed")
        client.close()
        self.upstream.wait_for(2)
        wait_until(lambda: self.only_operation()["state"] == "completed")

    def test_others_are_served(self):
        """Many that wait hold neither the worker nor a place in flight."""
        limits = {"route_in_flight": 2, "owner_in_flight": 2}
        self.start(route={"retry": retry(attempts=2, wait_at_most="30s"), "limits": limits})
        seen = set()

        def first_is_refused(request):
            is_first = b'"wait"' in request.raw_body and request.raw_body not in seen
            seen.add(request.raw_body)
            return busy(Retry_After="3") if is_first else None

        self.upstream.on_request = first_is_refused
        calls = []
        for number in range(12):
            calls.append(Background(lambda n=number: self.gateway.post(
                "w%d" % n, {"order": n, "wait": n})))
            wait_until(lambda n=number: self.waiting() == n + 1)
        response = self.gateway.post("other", ORDER)
        self.assert_passed_on(response, 201, "executed")
        for call in calls:
            self.assertIn(call.result().status, (201, 503))

    def waiting(self):
        return sum(1 for row in self.gateway.operations() if row["phase"] == "claimed")

    def test_crash(self):
        """A process that dies between two attempts has sent nothing more: the key is free."""
        self.start(route={"retry": retry(attempts=3, wait_at_most="20s")})
        self.upstream.script(busy(Retry_After="20"))
        client = send_post(self.gateway, "k1")
        wait_until(lambda: self.phase() == "claimed")
        self.gateway.restart(kill=True)
        client.close()
        self.assertEqual(self.only_operation()["state"], "released")
        response = self.gateway.post("k1", ORDER)
        self.assert_passed_on(response, 201, "executed")
        self.assertEqual(self.upstream.sends, 2)

    def test_drain(self):
        """A process that stops does not wait for it: the caller is told, the key is free."""
        call = self.start_waiting()
        self.gateway.stop()
        response = call.result()
        self.assertEqual(response.status, 503, response)
        self.assertEqual(response.json()["code"], "shutting-down")
        self.gateway.start()
        self.assertEqual(self.only_operation()["state"], "released")
        self.assertEqual(self.upstream.sends, 1)

    def test_pause(self):
        """A route that is paused meanwhile sends nothing more."""
        call = self.start_waiting()
        self.assertEqual(self.gateway.admin("POST", "/v1/routes/create-order/pause",
                                            {"note": "stop"})[0], 200)
        self.assert_told(call.result(), 503, "route-paused", "paused", state="released",
                         retry=True, new_key=True)
        self.assertEqual(self.upstream.sends, 1)


class Resent(Guarded):
    """With upstream_idempotency an unknown is sent again under its key, inside the window."""

    def test_lost_answer(self):
        """The upstream deduplicates: the answer of the second sending is the outcome."""
        self.start(route=dict(DEDUP, retry=retry()))
        self.upstream.script(fin())
        response = self.gateway.post("k1", ORDER)
        self.assert_passed_on(response, 201, "executed")
        operation = self.assert_state(response, "completed", sends=2, attempts=2)
        self.assertTrue(operation["resent"])
        self.assertFalse(operation["contradicted"])
        self.assertEqual({request.key for request in self.upstream.requests}, {"k1"})

    def test_refusal_does_not_free_it(self):
        """A refusal speaks of its own sending; the earlier one stays in doubt."""
        self.start(route=dict(DEDUP, retry=retry(attempts=2)))
        self.upstream.script(fin(), answer(403))
        response = self.gateway.post("k1", ORDER)
        self.assertEqual(response.get("Idempotency-Status"), "unknown", response)
        self.assert_state(response, "unknown", sends=2, attempts=2)

    def test_slow_answer(self):
        """The first sending is still listened to while the second is made."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.start(route=dict(DEDUP, retry=retry()), upstream=SOON)
        self.upstream.script(wait(event, answer(201, body={"ticket": 1})))
        response = self.gateway.post("k1", {"order": 7, "text": "x" * 5000})
        self.assert_passed_on(response, 201, "executed")
        self.assertEqual(len({r.raw_body for r in self.upstream.requests}), 1)
        event.set()
        operation = wait_until(lambda: self.both_answered(response))
        self.assertEqual(operation["state"], "completed")
        self.assertFalse(operation["contradicted"], operation)

    def both_answered(self, response):
        operation = self.operation_of(response)
        ends = [attempt["end"] for attempt in operation["attempts"]]
        return operation if ends == ["answered", "answered"] else None

    def test_repeat_sends_it_again(self):
        """A repeat of an unknown operation is one more attempt, inside the budget."""
        self.start(route=dict(DEDUP, retry=retry(attempts=3, wait_at_most="0s",
                                                 backoff={"base": "1ms", "max": "1ms"})))
        self.upstream.script(fin(), fin())
        first = self.gateway.post("k1", ORDER)
        seen = wait_until(lambda: self.repeat_that_ran("k1"))
        self.assertEqual(seen.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertLessEqual(self.upstream.sends, 3)

    def repeat_that_ran(self, key):
        response = self.gateway.post(key, ORDER)
        return response if response.status == 201 else None

    def test_outside_the_window(self):
        """After the window an unknown stays unknown like any other."""
        self.start(route={"upstream_idempotency": {"window": "60s"},
                          "reconcile": {"quiet_time": "60s"}, "retry": retry(within="60s")})
        self.upstream.script(fin())
        response = self.gateway.post("k1", ORDER)
        self.assertEqual(response.status, 502, response)
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 1)


class LongOutage(Guarded):
    def test_no_key_is_blocked_for_good(self):
        """After an outage with many repeats every key is tried again and runs once."""
        self.start(route={"retry": retry(attempts=2, within="1s", wait_at_most="100ms")})
        self.upstream.refuse()
        keys = ["k%d" % number for number in range(20)]
        for _ in range(3):
            seen = parallel(20, lambda n: self.gateway.post(keys[n], ORDER))
            self.assertEqual({response.status for response in seen}, {503})
        self.upstream.listen_again()
        wait_until(lambda: all(self.gateway.post(key, ORDER).status == 201 for key in keys))
        self.assertEqual(self.upstream.sends, len(keys))


if __name__ == "__main__":
    main()
