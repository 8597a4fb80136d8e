"""Stopping: what is under way is finished within the drain, the rest is recorded as
unknown before the process ends; it ends with 0, and the next start knows it all.
"""

import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, SOON, Guarded, send_post  # noqa: E402
from harness import (Closed, WireError, answer, delay, fetch, hang, main, pause, wait,  # noqa: E402
                     wait_until)


class Drain(Guarded):
    def begin(self, drain="60s", **options):
        """A gateway with one call in flight, whose answer is held until release()."""
        self.event = threading.Event()
        self.addCleanup(self.event.set)
        self.start(drain=drain, **options)
        self.upstream.script(wait(self.event, answer(201, body={"ticket": 1})))
        self.caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)

    def release(self):
        self.event.set()

    def ask_to_stop(self, number=signal.SIGTERM):
        self.gateway.signal(number)
        self.gateway.wait_log("recibo.draining")

    def assert_kept(self, first):
        """After the next start the repeat gets what the caller was told."""
        self.gateway.restart()
        self.assertEqual(self.gateway.operations(state="pending"), [])
        repeat = self.gateway.post("k1", ORDER)
        if first.status == 201:
            self.assert_replay(first, repeat)
        else:
            self.assert_unknown_repeat(repeat)
            self.assert_state(repeat, "unknown", "drained")
        self.assertEqual(self.upstream.sends, 1)

    def test_the_answer_comes_in_time(self):
        """Within the drain the answer is delivered and stored; exit 0. Both signals."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number=number):
                self.begin()
                self.ask_to_stop(number)
                self.assertTrue(self.gateway.is_running())
                self.release()
                first = self.caller.read_response()
                self.assert_passed_on(first, 201, "executed")
                self.assertEqual(first.get("Connection"), "close")
                self.assertEqual(self.gateway.wait_exit(), 0)
                self.assert_kept(first)

    def test_the_answer_does_not_come(self):
        """Past the drain: unknown, written before the end; the caller is told; exit 0."""
        self.begin(drain="300ms")
        self.ask_to_stop()
        first = self.caller.read_response()
        self.assert_told(first, 504, "upstream-timeout", "unknown", state="unknown",
                         new_key=False, retry_after=False)
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.assert_kept(first)

    def test_a_second_signal(self):
        """It does not break anything off: the outcome is on record, whatever it is; exit 0."""
        self.begin()
        self.ask_to_stop()
        self.gateway.signal(signal.SIGTERM)
        self.gateway.signal(signal.SIGINT)
        self.release()
        first = self.caller.read_response()
        self.assertIn(first.status, (201, 504))
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.assert_kept(first)

    def test_new_requests_during_the_drain(self):
        """New connections are refused, or told 503 and closed; nothing new is sent."""
        self.begin()
        idle = self.use(self.gateway.client())
        self.assertEqual(idle.request("GET", "/x").status, 201)
        self.ask_to_stop()
        self.assertTrue(idle.is_closed())
        for key in ("k1", "k2"):
            try:
                response = self.gateway.post(key, ORDER, timeout=10.0)
            except (OSError, WireError):
                continue  # refused or closed: just as well
            self.assert_told(response, 503, "shutting-down", retry=True)
            self.assertEqual(response.get("Connection"), "close")
        self.release()
        self.assertEqual(self.caller.read_response().status, 201)
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.assertEqual(self.upstream.sends, 2)

    def test_a_pipelined_request_during_the_drain(self):
        """A second request on the busy connection is not started."""
        self.begin()
        self.caller.send("POST", "/orders", [("Idempotency-Key", "k2")], ORDER)
        self.ask_to_stop()
        self.release()
        self.assertEqual(self.caller.read_response().status, 201)
        try:
            second = self.caller.read_response()
            self.assert_told(second, 503, "shutting-down", retry=True)
        except Closed:
            pass  # the first answer said close: nothing more had to be answered
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.assertEqual(self.upstream.sends, 1)

    def test_not_ready_while_draining(self):
        """A balancer is told: /readyz is 503, while /healthz is still 200."""
        self.begin()
        self.ask_to_stop()
        statuses = [fetch(self.gateway.admin_port, "GET", path).status
                    for path in ("/readyz", "/healthz")]
        self.assertEqual(statuses, [503, 200])
        self.release()
        self.assertEqual(self.caller.read_response().status, 201)
        self.assertEqual(self.gateway.wait_exit(), 0)

    def test_waiting_repeats(self):
        """Those who wait for the call in flight are answered, too, before the end."""
        self.begin(route={"on_pending": {"wait": "60s"}})
        waiter = self.use(send_post(self.gateway, "k1"))
        wait_until(lambda: self.gateway.metrics()["recibo_flows"] >= 2)
        self.ask_to_stop()
        self.release()
        first = self.caller.read_response()
        self.assert_passed_on(first, 201, "executed")
        second = waiter.read_response()
        if second.status == 201:
            self.assert_replay(first, second)
        else:
            self.assertIn(second.json()["code"], ("request-in-progress", "shutting-down"))
        self.assertEqual(self.gateway.wait_exit(), 0)

    def test_idle_callers_and_late_answers_do_not_keep_it(self):
        """Kept connections and calls that are lost already do not lengthen the drain."""
        self.start(hang(), drain="10m", upstream=SOON, limits={"head_time": "1s"})
        lost = self.gateway.post("k1", ORDER)
        self.assertEqual(lost.status, 504)
        idle = self.use(self.gateway.client())
        idle.send_raw(b"GET / HT")
        wait_until(lambda: self.gateway.metrics()["recibo_late_listening"] == 1)
        wait_until(lambda: self.gateway.metrics()["recibo_connections"] == 1)
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(self.gateway.wait_exit(30.0), 0)
        self.gateway.restart()
        repeat = self.gateway.post("k1", ORDER)
        self.assert_unknown_repeat(repeat)
        self.assert_state(repeat, "unknown", "answer_timeout")

    def test_callers_who_keep_coming_do_not_keep_it(self):
        """New callers are told 503; however many come, the end waits for the old ones alone."""
        self.begin(drain="10m")
        self.ask_to_stop()
        stop = threading.Event()
        seen = []

        def come_again():
            while not stop.is_set():
                try:
                    seen.append(self.gateway.post("new", ORDER).status)
                except (OSError, WireError):
                    pause()  # the end of the process: nobody listens any more

        callers = [threading.Thread(target=come_again) for _ in range(4)]
        for caller in callers:
            caller.start()
        half = self.use(self.gateway.client())
        half.send_raw(b"POST /orders HTTP/1.1\r\n")
        wait_until(lambda: len(seen) > 20)
        self.release()
        self.assertEqual(self.caller.read_response().status, 201)
        self.assertEqual(self.gateway.wait_exit(30.0), 0)
        stop.set()
        for caller in callers:
            caller.join()
        self.assertEqual(set(seen), {503})
        self.assertEqual(self.upstream.sends, 1)

    def test_under_load(self):
        """Many callers at the moment of the signal: who was told 201 has it on record, who was
        told nothing gets his outcome by a repeat, and no key was sent twice."""
        self.start(delay(0.05, answer(201, body=b"made")), drain="60s", workers=2)
        stop, told, untold = threading.Event(), {}, set()

        def call(number):
            client, count = self.gateway.client(), 0
            while not stop.is_set():
                count += 1
                key = "k%d-%d" % (number, count)
                try:
                    response = client.request("POST", "/orders", [("Idempotency-Key", key)], ORDER)
                except (OSError, WireError):
                    untold.add(key)
                    return
                told[key] = response.status
                if response.get("Connection") == "close":
                    return

        callers = [threading.Thread(target=call, args=(n,)) for n in range(24)]
        for caller in callers:
            caller.start()
        wait_until(lambda: len(told) > 100)
        self.gateway.signal(signal.SIGTERM)
        for caller in callers:
            caller.join()
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.assertLessEqual(set(told.values()), {201, 503})
        self.gateway.restart()
        self.assertEqual(self.gateway.operations(state="pending,unknown"), [])
        for key, status in told.items():
            repeat = self.gateway.post(key, ORDER)
            self.assertEqual(repeat.status, 201)
            if status == 201:
                self.assertEqual(repeat.get("Idempotent-Replayed"), "true", key)
        for key in untold:
            self.assertEqual(self.gateway.post(key, ORDER).status, 201)
        self.assertEqual(self.upstream.sends, len({*told, *untold}))

    def test_a_body_that_nobody_wants_does_not_keep_it(self):
        """A refused request whose body still trickles in: the answer is out, that is enough."""
        self.start(drain="10m", limits={"body_time": "1h"})
        caller = self.use(self.gateway.client())
        caller.send_raw(b"POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf")
        self.assertEqual(caller.read_response().status, 400)
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(self.gateway.wait_exit(30.0), 0)

    def test_a_stream_may_finish(self):
        """A passing answer under way is finished within the drain, or broken off after it."""
        for drain, whole in (("60s", True), ("300ms", False)):
            with self.subTest(drain=drain):
                event = threading.Event()
                self.addCleanup(event.set)
                self.start(drain=drain)
                self.upstream.script(begun(event))
                caller = self.use(self.gateway.client())
                caller.send("GET", "/stream")
                self.assertIn(b"HTTP/1.1 200", caller.reader.until(b"\r\n\r\n"))
                self.ask_to_stop()
                if whole:
                    event.set()
                    self.assertEqual(caller.reader.exactly(10), b"0123456789")
                else:
                    self.assertLess(len(caller.read_to_end()[0]), 10)
                self.assertEqual(self.gateway.wait_exit(), 0)

    def test_at_rest(self):
        """Nothing under way: it ends at once."""
        self.start(drain="10m")
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.assertEqual(self.gateway.stop(30.0), 0)
        self.assertIn("recibo.stopped", self.gateway.log())


def begun(event):
    """An answer of ten bytes: five now, five after the event."""
    def act(exchange):
        exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
        while not event.wait(0.05):
            if exchange.upstream.stopping.is_set():
                return False
        exchange.send(b"56789")
        return True
    return act


if __name__ == "__main__":
    main()
