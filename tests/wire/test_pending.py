"""While a first call is under way: one send for many callers, bounded waiting, answers
that come late, callers that leave, and the gates that hold new operations back while
repeats and replays go on.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, SOON, Background, Guarded, send_post  # noqa: E402
from harness import answer, fin, main, parallel, wait, wait_until  # noqa: E402

MANY = 200
WAIT = {"on_pending": {"wait": "60s"}}


class Held(Guarded):
    """The upstream's first answer is held until release() is called."""

    def hold(self, then=None, **options):
        self.event = threading.Event()
        self.addCleanup(self.event.set)
        self.start(**options)
        self.upstream.script(wait(self.event, then or answer(201, body={"ticket": 1})))

    def release(self):
        self.event.set()

    def first(self, key="k1", **options):
        """A first call that is under way: the upstream has read it."""
        sends = self.upstream.sends
        call = Background(lambda: self.gateway.post(key, ORDER, **options))
        self.upstream.wait_for(sends + 1)
        return call

    def wait_flows(self, count):
        """Until so many requests are under way inside the gateway."""
        wait_until(lambda: self.gateway.metrics()["recibo_flows"] >= count)


class Parallel(Held):
    def test_one_of_many_is_sent(self):
        """200 callers at once, one send: the others are told at once to come again."""
        self.hold()
        answered = threading.Semaphore(0)

        def call(_):
            response = self.gateway.post("k1", ORDER, timeout=90.0)
            answered.release()
            return response

        def watch():
            for _ in range(MANY - 1):
                self.assertTrue(answered.acquire(timeout=90.0))
            self.release()

        watcher = Background(watch)
        responses = parallel(MANY, call)
        watcher.result()
        executed = [r for r in responses if r.status == 201]
        self.assertEqual(len(executed), 1)
        self.assert_passed_on(executed[0], 201, "executed")
        for response in responses:
            if response is not executed[0]:
                self.assert_told(response, 409, "request-in-progress", "pending",
                                 state="pending", retry=True, new_key=False)
        self.assertEqual(self.upstream.sends, 1)
        self.assert_replay(executed[0], self.gateway.post("k1", ORDER))

    def test_one_of_many_is_sent_and_the_others_wait(self):
        """With on_pending.wait the others get the replay of the one."""
        self.hold(route=WAIT)
        watcher = Background(lambda: (self.wait_flows(MANY), self.release()))
        responses = parallel(MANY, lambda _: self.gateway.post("k1", ORDER, timeout=90.0))
        watcher.result()
        executed = [r for r in responses if r.get("Idempotency-Status") == "executed"]
        self.assertEqual(len(executed), 1)
        for response in responses:
            if response is not executed[0]:
                self.assert_replay(executed[0], response)
        self.assertEqual(self.upstream.sends, 1)

    def test_many_keys_in_parallel(self):
        """Different keys do not wait for each other; each is sent once."""
        self.start(route={"limits": {"route_in_flight": 128, "owner_in_flight": 128}})
        results = parallel(32, lambda n: [self.gateway.post("k%d" % (n % 8 * 10 + i), ORDER)
                                          for i in range(10)])
        for response in (r for some in results for r in some):
            self.assertIn(response.status, (201, 409), response)
        self.assertEqual(self.upstream.sends, 80)


class Waiting(Held):
    def test_waiters_are_bounded(self):
        """Over limits.waiters a repeat is told at once; those who wait get their answer."""
        self.hold(route=WAIT, limits={"waiters": 2})
        first = self.first()
        waiters = [Background(lambda: self.gateway.post("k1", ORDER)) for _ in range(2)]
        self.wait_flows(3)
        for _ in range(3):
            self.assert_told(wait_until(self.refused_repeat), 409, "request-in-progress",
                             "pending", state="pending", retry=True, new_key=False)
        self.release()
        answers = [first.result()] + [waiter.result() for waiter in waiters]
        self.assertEqual([a.status for a in answers].count(201), 3)
        self.assertEqual(self.upstream.sends, 1)

    def test_waiters_and_a_full_store_queue(self):
        """A waiter whose next look the store cannot take is told so, and the process lives."""
        self.hold(route={"on_pending": {"wait": "500ms"}}, limits={"store_queue": 1})
        first = self.first()
        seen = parallel(64, lambda _: self.gateway.post("k1", ORDER, timeout=60.0))
        self.assertLessEqual({response.status for response in seen}, {409, 503}, seen)
        self.release()
        self.assertEqual(first.result().status, 201)
        self.assertEqual(self.upstream.sends, 1)

    def refused_repeat(self):
        """A repeat that did not wait; None if it took a place that was still free."""
        with self.gateway.client(timeout=2.0) as client:
            client.send("POST", "/orders", [("Idempotency-Key", "k1")], ORDER)
            return client.read_response()

    def test_a_caller_may_wait_less(self):
        """Prefer: wait=N shortens the route's time, and never lengthens it."""
        self.hold(route=WAIT)
        first = self.first()
        for value in ("wait=0", "respond-async, wait=0", "wait=1; x=y"):
            with self.subTest(value=value):
                response = self.gateway.post("k1", ORDER, headers=[("Prefer", value)])
                self.assert_told(response, 409, "request-in-progress", "pending",
                                 state="pending", retry=True, new_key=False)
        nonsense = Background(lambda: self.gateway.post("k1", ORDER,
                                                        headers=[("Prefer", "wait=soon")]))
        self.wait_flows(2)
        self.release()
        self.assert_replay(first.result(), nonsense.result())

    def test_the_route_limits_what_a_caller_prefers(self):
        """wait=300 on a route that waits 300 ms does not hold the caller for minutes."""
        self.hold(route={"on_pending": {"wait": "300ms"}})
        first = self.first()
        response = self.gateway.post("k1", ORDER, headers=[("Prefer", "wait=300")], timeout=20.0)
        self.assert_told(response, 409, "request-in-progress", "pending", state="pending",
                         retry=True, new_key=False)
        self.release()
        self.assertEqual(first.result().status, 201)

    def test_woken_by_doubt(self):
        """When the first call is lost the waiters are told so, and none of them is sent."""
        self.hold(then=fin(), route=WAIT)
        first = self.first()
        waiters = [Background(lambda: self.gateway.post("k1", ORDER)) for _ in range(5)]
        self.wait_flows(6)
        self.release()
        self.assertEqual(first.result().status, 502)
        for waiter in waiters:
            self.assert_unknown_repeat(waiter.result())
        self.assertEqual(self.upstream.sends, 1)

    def test_woken_by_a_release(self):
        """When the first call is refused exactly one of the waiters runs it."""
        self.hold(then=answer(429, body=b"later"), route=WAIT)
        first = self.first()
        waiters = [Background(lambda: self.gateway.post("k1", ORDER)) for _ in range(10)]
        self.wait_flows(11)
        self.release()
        self.assert_passed_on(first.result(), 429, "released", b"later")
        answers = [waiter.result() for waiter in waiters]
        executed = [a for a in answers if a.get("Idempotency-Status") == "executed"]
        self.assertEqual(len(executed), 1, answers)
        for response in answers:
            if response is not executed[0]:
                self.assert_replay(executed[0], response)
        self.assertEqual(self.upstream.sends, 2)

    def test_a_changed_body_does_not_wait(self):
        """422 while the first call is pending, at once."""
        self.hold(route=WAIT)
        first = self.first()
        self.assert_told(self.gateway.post("k1", {"order": 8}, timeout=20.0), 422, "key-reused",
                         "mismatch", state="pending", retry_after=False)
        self.release()
        self.assertEqual(first.result().status, 201)

    def test_a_waiter_may_leave(self):
        """A waiter that closes its connection changes nothing for the others."""
        self.hold(route=WAIT)
        first = self.first()
        stays = Background(lambda: self.gateway.post("k1", ORDER))
        for leave in ("close", "reset"):
            client = send_post(self.gateway, "k1")
            self.wait_flows(3)
            getattr(client, leave)()
        self.release()
        self.assert_replay(first.result(), stays.result())
        self.assertEqual(self.upstream.sends, 1)


class Late(Held):
    """The answer comes after the caller was told 504."""

    def lose(self, then=None, **route):
        self.hold(then, route=route, upstream=SOON)
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.status, 504)
        self.assert_state(first, "unknown", "answer_timeout", sends=1)
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertEqual(self.gateway.metrics()["recibo_late_listening"], 1)
        return first

    def settled_by(self, first, state):
        operation = self.gateway.wait_state(first.get("Idempotency-Operation"), state)
        wait_until(lambda: self.gateway.metrics()["recibo_late_listening"] == 0)
        return operation

    def test_a_late_answer_is_the_outcome(self):
        """Unknown becomes completed, and the repeat gets the answer."""
        first = self.lose()
        self.release()
        operation = self.settled_by(first, "completed")
        self.assertEqual((operation["end"], operation["contradicted"]), ("answered", False))
        repeat = self.gateway.post("k1", ORDER)
        self.assertEqual((repeat.status, repeat.json()), (201, {"ticket": 1}))
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed")
        self.assertEqual(self.upstream.sends, 1)

    def test_a_late_refusal_frees_the_key(self):
        """Unknown becomes released, on the integrator's word."""
        first = self.lose(answer(401))
        self.release()
        operation = self.settled_by(first, "released")
        self.assertEqual(operation["attempts"][-1]["basis"], "declared")
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)

    def test_a_late_nothing_changes_nothing(self):
        """A late close and a late 500 leave the doubt as it is."""
        for then in (fin(), answer(500)):
            with self.subTest():
                first = self.lose(then)
                self.release()
                wait_until(lambda: self.gateway.metrics()["recibo_late_listening"] == 0)
                self.assert_state(first, "unknown")
                self.assert_unknown_repeat(self.gateway.post("k1", ORDER))

    def test_a_verdict_that_was_wrong(self):
        """A late answer after not_executed completes the operation and says: contradicted."""
        first = self.lose()
        self.settle(first, "not_executed", force=True)
        self.release()
        operation = self.settled_by(first, "completed")
        self.assertIs(operation["contradicted"], True)
        self.assertEqual(self.gateway.post("k1", ORDER).get("Idempotency-Status"), "replayed")
        self.assertEqual(self.upstream.sends, 1)

    def test_a_possible_double_execution(self):
        """Once the key was claimed again a late answer is evidence only."""
        first = self.lose()
        self.settle(first, "not_executed", force=True)
        self.upstream.script(answer(201, body={"ticket": 2}))
        second = self.gateway.post("k1", ORDER)
        self.assertEqual(second.json(), {"ticket": 2})
        self.release()
        wait_until(lambda: self.operation_of(first)["contradicted"])
        self.assertEqual([o["id"] for o in self.gateway.operations(contradicted="true")],
                         [first.get("Idempotency-Operation")])
        self.assert_replay(second, self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 2)


class Leaving(Held):
    def test_a_caller_that_leaves(self):
        """The call goes on and its outcome is recorded, however the caller went."""
        for leave in ("close", "reset"):
            with self.subTest(leave=leave):
                self.hold()
                client = send_post(self.gateway, "k1")
                self.upstream.wait_for(1)
                getattr(client, leave)()
                self.release()
                operation_id = self.only_operation()["id"]
                self.gateway.wait_state(operation_id, "completed")
                wait_until(lambda: self.gateway.metrics()["recibo_connections"] == 0)
                repeat = self.gateway.post("k1", ORDER)
                self.assertEqual((repeat.status, repeat.get("Idempotency-Status")),
                                 (201, "replayed"))
                self.assertEqual(self.upstream.sends, 1)

    def test_a_half_closed_caller(self):
        """A caller that has shut its sending side still gets its answer."""
        self.hold()
        with send_post(self.gateway, "k1") as client:
            client.half_close()
            self.upstream.wait_for(1)
            self.release()
            self.assert_passed_on(client.read_response(), 201, "executed")
            self.assertTrue(client.is_closed())

    def test_half_a_request_is_none(self):
        """A caller that leaves before its request is whole has done nothing."""
        self.start()
        for leave in ("close", "reset", "half_close"):
            with self.gateway.client() as client:
                client.send("POST", "/orders", [("Idempotency-Key", "k1"),
                                                ("Content-Type", "application/json"),
                                                ("Content-Length", "50")], b"{")
                self.wait_flows(1)
                getattr(client, leave)()
                wait_until(lambda: self.gateway.metrics()["recibo_flows"] == 0)
        self.assert_no_receipt()


class Limits(Held):
    def check(self, **limits):
        self.hold(route={"limits": limits})
        done = Background(lambda: self.gateway.post("k0", ORDER))
        self.release()
        done = done.result()
        self.event.clear()
        self.upstream.script(wait(self.event, answer(201)))
        first = self.first("k1")
        self.assert_told(self.gateway.post("k2", ORDER), 503, "overloaded", retry=True,
                         new_key=True)
        self.assertEqual(len(self.gateway.operations()), 2)
        self.assert_replay(done, self.gateway.post("k0", ORDER))
        self.assert_told(self.gateway.post("k1", ORDER), 409, "request-in-progress", "pending",
                         state="pending", retry=True, new_key=False)
        self.assertEqual(self.gateway.post("k1", {"order": 8}).status, 422)
        self.release()
        self.assert_passed_on(first.result(), 201, "executed")
        self.assert_passed_on(self.gateway.post("k2", ORDER), 201, "executed")
        self.assertEqual(self.upstream.sends, 3)

    def test_route_in_flight(self):
        """A full route takes nothing new, before any receipt; repeats and replays go on."""
        self.check(route_in_flight=1)

    def test_owner_in_flight(self):
        """The same for one owner's share of a route."""
        self.check(owner_in_flight=1)

    def test_other_owners_have_their_own_share(self):
        """One owner's load does not take another's place."""
        self.hold(route={"limits": {"owner_in_flight": 1}, "owner": "proxy"},
                  owners={"proxy": {"kind": "header", "header": "X-Owner",
                                    "trusted": ["127.0.0.1"]}})
        first = self.first(headers=[("X-Owner", "ana")])
        self.assertEqual(self.gateway.post("k2", ORDER, headers=[("X-Owner", "ana")]).status, 503)
        self.assertEqual(self.gateway.post("k2", ORDER, headers=[("X-Owner", "ben")]).status, 201)
        self.release()
        self.assertEqual(first.result().status, 201)


if __name__ == "__main__":
    main()
