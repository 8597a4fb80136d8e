"""Accepting now and running later: what the caller is told, that it runs once at its time,
and that neither an outage, a crash nor a restart loses it or runs it twice.
"""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, Background, Guarded  # noqa: E402
from harness import answer, fin, main, parallel, wait, wait_until  # noqa: E402

ASYNC = [("Prefer", "respond-async")]
FAST = {"base": "20ms", "max": "200ms"}
RETRY = {"when": ["not_sent", 429], "attempts": 100, "within": "60s", "backoff": FAST}


class Deferring(Guarded):
    def start_deferring(self, when="prefer", defer=None, **route):
        changes = {"defer": dict({"when": when}, **(defer or {})), "retry": RETRY}
        changes.update(route)
        return self.start(route=changes)

    def assert_accepted(self, response, outcome="deferred", preferred=True):
        """A 202 with all its fields; -> the state that it tells."""
        self.assertEqual(response.status, 202, response)
        self.assertEqual(response.get("Idempotency-Status"), outcome)
        operation_id = response.get("Idempotency-Operation")
        self.assertRegex(operation_id, r"\Aop_[a-z0-9]{26}\Z")
        self.assertEqual(response.get("Location"), "/.recibo/operations/" + operation_id)
        self.assertEqual(response.get("Preference-Applied"),
                         "respond-async" if preferred else None)
        self.assertEqual(response.get("Vary"), "Prefer")
        self.assertEqual(response.get("Cache-Control"), "no-store")
        self.assertEqual(response.get("Content-Type"), "application/json")
        self.assertRegex(response.get("Retry-After"), r"\A[1-9][0-9]*\Z")
        self.assertNotIn("Idempotent-Replayed", response.headers)
        state = response.json()
        self.assertEqual((state["operation_id"], state["state"]), (operation_id, "pending"))
        self.assertIs(state["promised"], True)
        return state

    def completed(self, response):
        return self.gateway.wait_state(response.get("Idempotency-Operation"), "completed")


class Accepting(Deferring):
    def test_prefer(self):
        """202 at once; the request runs by itself, once, and the repeat gets its answer."""
        self.start_deferring()
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, answer(201, body={"ticket": 5})))
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.assert_accepted(first)
        self.upstream.wait_for(1)
        running = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.assert_accepted(running, "pending")
        self.assert_told(self.gateway.post("k1", ORDER), 409, "request-in-progress", "pending",
                         state="pending", retry=True, new_key=False)
        event.set()
        operation = self.completed(first)
        self.assertEqual((operation["promised"], operation["end"]), (True, "answered"))
        for headers in (ASYNC, ()):
            repeat = self.gateway.post("k1", ORDER, headers=headers)
            self.assertEqual((repeat.status, repeat.body), (201, b'{"ticket": 5}'))
            self.assertEqual(repeat.get("Idempotency-Status"), "replayed")
        self.assertEqual(self.upstream.sends, 1)

    def test_without_the_preference(self):
        """A caller who does not ask for it waits for the answer."""
        self.start_deferring()
        for headers in ((), [("Prefer", "return=minimal")], [("Prefer", "wait=5")],
                        [("Prefer", "foo; respond-async")]):
            key = "k%d" % len(self.upstream.requests)
            response = self.gateway.post(key, ORDER, headers=headers)
            self.assert_passed_on(response, 201, "executed")
            self.assertNotIn("Preference-Applied", response.headers)

    def test_spellings(self):
        """Prefer is a list with parameters, in one line or several, in any case."""
        self.start_deferring()
        spellings = ([("Prefer", "return=minimal, Respond-Async")],
                     [("Prefer", "return=minimal"), ("prefer", "respond-async; a=b")],
                     [("Prefer", 'foo="a, b", respond-async')],
                     [("Prefer", "wait=0, respond-async")])
        for number, headers in enumerate(spellings):
            self.assert_accepted(self.gateway.post("k%d" % number, ORDER, headers=headers))

    def test_always(self):
        """defer.when: always takes every request for later, and applied no preference."""
        self.start_deferring(when="always")
        first = self.gateway.post("k1", ORDER)
        self.assert_accepted(first, preferred=False)
        self.completed(first)
        self.assertEqual(self.upstream.sends, 1)

    def test_never(self):
        """The default honours no such preference, which is always allowed."""
        self.start()
        self.assert_passed_on(self.gateway.post("k1", ORDER, headers=ASYNC), 201, "executed")

    def test_wait_then_async(self):
        """With a wait of his own the caller gets the answer, or 202 when the next attempt is
        far."""
        self.start_deferring(retry=dict(RETRY, wait_at_most="0s"))
        headers = [("Prefer", "respond-async, wait=10")]
        self.assert_passed_on(self.gateway.post("k1", ORDER, headers=headers), 201, "executed")
        self.upstream.script(answer(429, [("Retry-After", "1")]))
        second = self.gateway.post("k2", ORDER, headers=headers)
        self.assert_accepted(second)
        self.completed(second)
        self.assertEqual(self.upstream.sends_by_path("/orders"), 3)

    def test_what_is_sent(self):
        """The upstream gets the same request as without deferring, later."""
        self.start_deferring(add_operation_id={"json": "/ref"})
        headers = [("X-Extra", "a b"), ("traceparent", "00-" + "a" * 32 + "-" + "b" * 16 + "-01")]
        plain = self.gateway.post("k1", {"order": 7, "text": "\u00fc" * 3000}, headers=headers)
        later = self.gateway.post("k2", {"order": 7, "text": "\u00fc" * 3000},
                                  headers=headers + ASYNC)
        self.completed(later)
        sent = self.upstream.requests
        self.assertEqual(len(sent), 2)
        self.assertEqual((sent[0].method, sent[0].target), (sent[1].method, sent[1].target))
        for request, response in zip(sent, (plain, later)):
            body = request.json()
            self.assertEqual(body.pop("ref"), response.get("Idempotency-Operation"))
            self.assertEqual(body, {"order": 7, "text": "\u00fc" * 3000})
        names = [{name.lower() for name, _ in request.headers.pairs} for request in sent]
        self.assertEqual(names[0] | {"prefer"}, names[1])
        for name in ("X-Extra", "Host", "X-Forwarded-For", "Forwarded", "Content-Type"):
            self.assertEqual(sent[0].get(name), sent[1].get(name), name)
        self.assertEqual(sent[0].get("traceparent")[:36], sent[1].get("traceparent")[:36])

    def test_another_request_of_the_key(self):
        """A changed body gets 422 in this state, too; nothing of it runs."""
        self.start_deferring()
        self.upstream.refuse()
        self.assert_accepted(self.gateway.post("k1", ORDER, headers=ASYNC))
        response = self.gateway.post("k1", {"order": 8}, headers=ASYNC)
        self.assertEqual((response.status, response.json()["code"]), (422, "key-reused"))

    def test_credentials_are_not_kept(self):
        """What waits in the store waits without credentials, and the file holds none."""
        self.start_deferring()
        self.upstream.refuse()
        secrets = [("Authorization", "Bearer s3cr3t-1"), ("Cookie", "sid=s3cr3t-2"),
                   ("X-Auth-Token", "s3cr3t-3")]
        first = self.gateway.post("k1", ORDER, headers=ASYNC + secrets)
        self.assert_accepted(first)
        self.upstream.listen_again()
        self.completed(first)
        raw = self.upstream.last.raw
        self.assertNotIn(b"s3cr3t", raw)
        self.gateway.stop()
        for name in os.listdir(self.gateway.directory):
            with open(os.path.join(self.gateway.directory, name), "rb") as file:
                self.assertNotIn(b"s3cr3t", file.read(), name)

    def test_body_is_shown_to_nobody(self):
        """What is kept to run is no evidence: an operator does not see a redacted member."""
        self.start_deferring(evidence={"body": True, "redact": ["/card"]})
        self.upstream.refuse()
        first = self.gateway.post("k1", {"order": 7, "card": "4111-1111"}, headers=ASYNC)
        operation = self.operation_of(first)
        self.assertNotIn("4111", str(operation))
        self.upstream.listen_again()
        self.completed(first)
        self.assertEqual(self.upstream.last.json()["card"], "4111-1111")
        self.gateway.stop()
        with open(self.gateway.store_path, "rb") as file:
            self.assertNotIn(b"4111-1111", file.read())


class State(Deferring):
    def test_of_its_owner(self):
        """The Location tells state, phase and the next attempt, before and after the run."""
        self.start_deferring(retry=dict(RETRY, backoff={"base": "60s", "max": "60s"}))
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        operation = wait_until(lambda: self.deferred_after_a_try(first))
        shown = self.gateway.request("GET", first.get("Location"))
        self.assertEqual(shown.status, 200)
        self.assertRegex(shown.get("Retry-After"), r"\A[1-9][0-9]*\Z")
        state = shown.json()
        self.assertEqual((state["state"], state["phase"]), ("pending", "deferred"))
        self.assertEqual(state["next_attempt_at"], operation["next_attempt_at"])
        self.assertEqual(state["attempts"], 1)
        self.upstream.listen_again()

    def deferred_after_a_try(self, response):
        operation = self.operation_of(response)
        tried = operation["attempts"] and operation["phase"] == "deferred"
        return operation if tried else None

    def test_repeat(self):
        """A repeat of a deferred operation gets its state, asked for or not."""
        self.start_deferring()
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        wait_until(lambda: self.deferred_after_a_try(first))
        for headers, preferred in ((ASYNC, True), ((), False)):
            repeat = wait_until(lambda h=headers: self.deferred_repeat(h))
            self.assert_accepted(repeat, preferred=preferred)
            self.assertEqual(repeat.get("Location"), first.get("Location"))

    def deferred_repeat(self, headers):
        response = self.gateway.post("k1", ORDER, headers=headers)
        return response if response.get("Idempotency-Status") == "deferred" else None

    def test_list(self):
        """Operators see it among the pending, with its time."""
        self.start_deferring()
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        wait_until(lambda: self.deferred_after_a_try(first))
        listed = self.gateway.operations(state="pending")
        self.assertEqual([row["id"] for row in listed], [first.get("Idempotency-Operation")])
        self.assertIs(listed[0]["promised"], True)


class Trying(Deferring):
    def test_outage(self):
        """Refused connections are tried again until the upstream is back; it runs once."""
        self.start_deferring()
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        wait_until(lambda: len(self.operation_of(first)["attempts"]) >= 3)
        self.upstream.listen_again()
        operation = self.completed(first)
        self.assertEqual({a["end"] for a in operation["attempts"][:-1]}, {"connect_refused"})
        self.assertEqual(self.upstream.sends, 1)

    def test_without_retry(self):
        """A promise is kept trying without a section retry: nothing of it was sent."""
        self.start_deferring(retry=None)
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        wait_until(lambda: len(self.operation_of(first)["attempts"]) >= 2)
        self.upstream.listen_again()
        self.completed(first)
        self.assertEqual(self.upstream.sends, 1)

    def test_retry_after(self):
        """A 429 with Retry-After is not asked before."""
        self.start_deferring()
        asked = []
        self.upstream.on_request = lambda request: asked.append(time.monotonic())
        self.upstream.script(answer(429, [("Retry-After", "1")]))
        self.completed(self.gateway.post("k1", ORDER, headers=ASYNC))
        self.assertEqual(len(asked), 2)
        self.assertGreaterEqual(asked[1] - asked[0], 0.99)

    def test_refused_for_good(self):
        """A refusal that retry.when does not name ends the promise, and it says so."""
        self.start_deferring()
        self.upstream.script(answer(403))
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        operation = self.gateway.wait_state(first.get("Idempotency-Operation"), "cancelled")
        self.assertEqual(operation["attempts"][-1]["status"], 403)
        self.assert_told(self.gateway.post("k1", ORDER), 409, "operation-cancelled", "cancelled",
                         state="cancelled", new_key=False)
        self.assertEqual(self.upstream.sends, 1)

    def test_max_age(self):
        """After defer.max_age it is cancelled, never released without a word."""
        self.start_deferring(defer={"max_age": "500ms"})
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.gateway.wait_state(first.get("Idempotency-Operation"), "cancelled")
        self.upstream.listen_again()
        self.assert_told(self.gateway.post("k1", ORDER, headers=ASYNC), 409,
                         "operation-cancelled", "cancelled", state="cancelled", new_key=False)
        self.assertEqual(self.upstream.sends, 0)

    def test_lost_answer(self):
        """A run whose answer is lost is unknown like any other, and not sent again."""
        self.start_deferring()
        self.upstream.script(fin())
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.gateway.wait_state(first.get("Idempotency-Operation"), "unknown")
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER, headers=ASYNC))
        self.assertEqual(self.upstream.sends, 1)

    def test_settled_not_executed(self):
        """An operator says that it did not run: what was promised runs again by itself."""
        self.start_deferring(**AT_ONCE)
        self.upstream.script(fin())
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.gateway.wait_state(first.get("Idempotency-Operation"), "unknown")
        self.settle(first, "not_executed")
        self.completed(first)
        self.assertEqual(self.upstream.sends, 2)
        self.assertEqual(len({request.raw_body for request in self.upstream.requests}), 1)

    def test_pause(self):
        """A paused route runs nothing deferred, and takes no new one; resumed it goes on."""
        self.start_deferring()
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "stop"})
        self.upstream.listen_again()
        response = self.gateway.post("k2", ORDER, headers=ASYNC)
        self.assertEqual((response.status, response.json()["code"]), (503, "route-paused"))
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "go on"})
        self.completed(first)
        self.assertEqual(self.upstream.sends, 1)


class Crash(Deferring):
    def test_while_deferred(self):
        """Promised before the crash, run once after it."""
        self.start_deferring()
        self.upstream.refuse()
        first = self.gateway.post("k1", {"order": 7, "text": "x" * 100000}, headers=ASYNC)
        self.gateway.restart(kill=True)
        self.upstream.listen_again()
        self.completed(first)
        self.assertEqual(self.upstream.sends, 1)
        self.assertEqual(len(self.upstream.last.json()["text"]), 100000)

    def test_while_sent(self):
        """Killed while its run is under way: unknown, and not sent again."""
        self.start_deferring()
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event))
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.upstream.wait_for(1)
        self.gateway.restart(kill=True)
        self.gateway.wait_state(first.get("Idempotency-Operation"), "unknown")
        event.set()
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER, headers=ASYNC))
        self.assertEqual(self.upstream.sends, 1)

    def test_many_at_any_moment(self):
        """Killed again and again: each ends in exactly one of completed, once, or unknown."""
        self.start_deferring(defer={"concurrency": 4})
        promised = {}
        for number in range(60):
            response = self.gateway.post("k%d" % number, {"order": number}, headers=ASYNC)
            promised[number] = self.assert_accepted(response)["operation_id"]
            if number % 15 == 14:
                self.gateway.restart(kill=True)
        for number, operation_id in promised.items():
            operation = wait_until(lambda i=operation_id: self.ended(i))
            sends = [r.json()["order"] for r in self.upstream.requests].count(number)
            if operation["state"] == "completed":
                self.assertEqual(sends, 1, operation)
            else:
                self.assertEqual(operation["state"], "unknown", operation)
                self.assertLessEqual(sends, 1)

    def ended(self, operation_id):
        operation = self.gateway.operation(operation_id)
        return operation if operation["state"] != "pending" else None

    def test_drain(self):
        """A process that stops leaves it due; the next life runs it."""
        self.start_deferring()
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC)
        self.gateway.stop()
        self.upstream.listen_again()
        self.gateway.start()
        self.completed(first)
        self.assertEqual(self.upstream.sends, 1)


class Many(Deferring):
    def test_outage_of_five_hundred(self):
        """Due times of the attempts lie apart; at the return runs are bounded; each runs once."""
        count = 500
        self.start_deferring(defer={"concurrency": 8}, retry=dict(
            RETRY, backoff={"base": "1s", "max": "20s"}))
        self.upstream.refuse()
        seen = parallel(25, lambda n: [
            self.gateway.post("k%d" % number, {"order": number}, headers=ASYNC)
            for number in range(n, count, 25)])
        promised = [response for some in seen for response in some]
        self.assertEqual({response.status for response in promised}, {202})
        ids = [response.get("Idempotency-Operation") for response in promised]
        wait_until(lambda: self.least_attempts() >= 4, deadline_s=120.0)
        spread = self.spread(ids)
        for attempt in (2, 3, 4):
            self.print_histogram(attempt, spread[attempt])
            self.assertGreater(self.widest_share(spread[attempt]), 0)
            self.assertLess(self.widest_share(spread[attempt]), 0.5, spread[attempt])
        self.assert_bounded_return(ids, count)

    def least_attempts(self):
        rows, cursor = [], None
        while True:
            query = {"limit": "500"} if cursor is None else {"limit": "500", "cursor": cursor}
            status, _, page = self.gateway.admin("GET", "/v1/operations?" + "&".join(
                "%s=%s" % pair for pair in query.items()))
            self.assertEqual(status, 200)
            rows += page["operations"]
            cursor = page["next"]
            if cursor is None:
                return min(row["attempts"] for row in rows)

    def spread(self, ids):
        """For each attempt: how long after the one before it was due, in ms."""
        waits = {2: [], 3: [], 4: []}
        for operation_id in ids:
            attempts = {a["number"]: a for a in self.gateway.operation(operation_id)["attempts"]}
            for number in waits:
                if number in attempts and number - 1 in attempts:
                    waits[number].append(self.ms_between(attempts[number - 1]["ended_at"],
                                                         attempts[number]["started_at"]))
        return waits

    def ms_between(self, first, second):
        import datetime
        parse = lambda text: datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")  # noqa
        return (parse(second) - parse(first)).total_seconds() * 1000

    def buckets(self, waits):
        top = max(waits) + 1
        counts = [0] * 10
        for ms in waits:
            counts[min(9, int(ms * 10 / top))] += 1
        return counts, top

    def widest_share(self, waits):
        counts, _ = self.buckets(waits)
        return max(counts) / len(waits)

    def print_histogram(self, attempt, waits):
        counts, top = self.buckets(waits)
        print("attempt %d: %d waits, tenths of %.0f ms: %s" % (attempt, len(waits), top, counts))

    def assert_bounded_return(self, ids, count):
        running, most, lock = [0], [0], threading.Lock()

        def act(exchange):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0])
            try:
                exchange.upstream.stopping.wait(0.005)
                return answer(201, body={"ticket": 1})(exchange)
            finally:
                with lock:
                    running[0] -= 1

        self.upstream.default = act
        self.upstream.listen_again()
        wait_until(lambda: self.upstream.sends >= count, deadline_s=120.0)
        for operation_id in ids:
            self.gateway.wait_state(operation_id, "completed")
        self.assertEqual(self.upstream.sends, count)
        self.assertEqual(len({r.raw_body for r in self.upstream.requests}), count)
        self.assertLessEqual(most[0], 8)
        print("at the return at most %d ran at one time" % most[0])


if __name__ == "__main__":
    main()
