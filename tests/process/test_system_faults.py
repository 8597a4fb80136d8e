"""The system around the process fails: no descriptor is left, the wall clock jumps. No
key is sent twice, the process lives, and it recovers by itself.

The clock is moved as tests/lib/moved_clock.py says.
"""

import os
import resource
import socket
import stat
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded  # noqa: E402
from harness import (BINARY, Gateway, Upstream, WireError, answer, fetch, main, orders,  # noqa: E402
                     parallel, pause, rest, scratch, wait, wait_until)
from moved_clock import HOUR_S, MovedClock, clock_can_be_moved  # noqa: E402

DESCRIPTORS = 44
CALLERS = 60
CALLS = 4  # of each caller
TRIES_MAX = 400
DONE = ("executed", "replayed")


class Descriptors(Guarded):
    """A process with few descriptors under more callers than it can hold."""

    turned_away = 0

    def wrapper(self, limit):
        """A program that is the gateway with a low limit."""
        directory = scratch()
        path = os.path.join(directory, "few-descriptors")
        with open(path, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nulimit %s\nexec "%s" "$@"\n' % (limit, BINARY))
        os.chmod(path, stat.S_IRWXU)
        return path

    def call_until_done(self, key):
        """Repeats a call until its outcome is known; -> the outcome."""
        for _ in range(TRIES_MAX):
            try:
                response = self.gateway.post(key, {"order": key})
            except (OSError, WireError):
                self.turned_away += 1  # the connection was not taken on, or was dropped
                continue
            if response.get("Idempotency-Status") in DONE and response.status == 201:
                return response.json()["for"]
            self.turned_away += 1
            pause()
        raise AssertionError("%s got no outcome in %d tries" % (key, TRIES_MAX))

    def caller(self, name):
        for number in range(CALLS):
            key = "%s-%d" % (name, number)
            self.assertEqual(self.call_until_done(key), key)

    def begin(self, limit):
        self.upstream = self.use(Upstream())
        self.upstream.on_request = lambda request: answer(201, body={"for": request.json()["order"]})
        changes = {"routes": [orders(), rest()]}
        self.gateway = self.use(Gateway(self.upstream, changes, binary=self.wrapper(limit)))

    def test_a_process_out_of_descriptors(self):
        """It refuses whom it cannot serve, sends nothing twice, and serves all in the end."""
        self.begin("-n %d" % DESCRIPTORS)
        self.gateway.wait_log("limits.lowered")
        parallel(CALLERS, lambda number: self.caller("c%d" % number))
        self.assertTrue(self.gateway.is_running())
        self.assertGreater(self.turned_away, 0, "nobody was refused: this proves nothing")
        self.assertEqual(self.call_until_done("after"), "after")
        self.gateway.binary = BINARY
        self.gateway.restart()
        sent = [request.json()["order"] for request in self.upstream.requests]
        self.assertEqual(sorted(sent), sorted(set(sent)), "sent twice")
        self.assertEqual(len(sent), CALLERS * CALLS + 1)
        states = {operation["state"] for operation in self.gateway.operations(limit=500)}
        self.assertEqual(states, {"completed"})

    def test_none_is_left_for_a_moment(self):
        """Idle callers hold all that there is: one who leaves makes room again."""
        self.begin("-n %d" % DESCRIPTORS)
        idle = [socket.create_connection(("127.0.0.1", self.gateway.port))
                for _ in range(2 * DESCRIPTORS)]
        for sock in idle:
            self.addCleanup(sock.close)
        self.assertEqual(fetch(self.gateway.admin_port, "GET", "/healthz").status, 200)
        for sock in idle:
            sock.close()
        self.assertEqual(self.call_until_done("k1"), "k1")
        self.assertEqual(self.upstream.sends, 1)

    def test_a_limit_that_may_be_raised(self):
        """What the configuration needs is asked for; nothing is lowered then."""
        self.begin("-S -n %d" % DESCRIPTORS)
        self.assertNotIn("limits.lowered", self.gateway.log())
        soft, _ = resource.prlimit(self.gateway.process.pid, resource.RLIMIT_NOFILE)
        self.assertGreater(soft, 1024)


@unittest.skipIf(clock_can_be_moved(), clock_can_be_moved())
class Clock(MovedClock):
    """The wall clock jumps while operations are under way and kept."""

    def setUp(self):
        self.held, self.release = [], threading.Event()
        self.addCleanup(self.release.set)
        self.start_with_clock()

    def outcome(self, key, order=7):
        return self.gateway.post(key, {"order": order}).get("Idempotency-Status")

    def hold(self, key):
        """A call that stays at the upstream until self.release is set."""
        sends = self.upstream.sends
        self.upstream.script(wait(self.release, answer(201, body={"ticket": 2})))

        def call():
            try:
                self.held.append(self.gateway.post(key, {"order": 7}))
            except (OSError, WireError):
                pass  # the test has killed the gateway under it
        thread = threading.Thread(target=call)
        thread.start()
        self.upstream.wait_for(sends + 1)
        return thread

    def test_the_clock_is_the_gateways(self):
        """What the tests below move is what the gateway reads."""
        self.set_clock(48 * HOUR_S)
        before = self.gateway.admin("GET", "/v1/operations")[1].get("Date")
        self.set_clock(0)
        after = self.gateway.admin("GET", "/v1/operations")[1].get("Date")
        self.assertNotEqual(before, after)

    def jump_under_a_call(self, seconds):
        """The clock jumps while a call is under way; it ends as if nothing had been."""
        thread = self.hold("k1")
        self.set_clock(seconds)
        self.assertIn(self.outcome("k1"), ("pending", "unknown"))
        self.assertEqual(self.outcome("k2"), "executed")
        self.assertEqual(self.outcome("k2"), "replayed")
        self.release.set()
        thread.join()
        self.assertEqual((self.held[0].status, self.held[0].json()), (201, {"ticket": 2}))
        wait_until(lambda: self.outcome("k1") == "replayed")
        self.assertEqual(self.upstream.sends, 2)
        self.set_clock(0)
        self.assertEqual((self.outcome("k1"), self.outcome("k2")), ("replayed", "replayed"))
        self.gateway.restart()
        self.assertEqual((self.outcome("k1"), self.outcome("k2")), ("replayed", "replayed"))
        self.assertEqual(self.upstream.sends, 2)
        self.assertNotIn("pending", [o["state"] for o in self.gateway.operations()])

    def test_forward_past_every_lease(self):
        """A lease ends early: the operation is in doubt for a while, and not sent again."""
        self.jump_under_a_call(2 * HOUR_S)

    def test_backward(self):
        """A lease lasts longer: nobody else takes it, and its answer is kept."""
        self.jump_under_a_call(-2 * HOUR_S)

    def test_forward_past_retention(self):
        """What is kept is over its time: refused, and not run again."""
        self.assertEqual(self.outcome("k1"), "executed")
        self.set_clock(25 * HOUR_S)
        self.assertEqual(self.outcome("k1"), "expired")
        self.set_clock(0)
        self.assertIn(self.outcome("k1"), ("replayed", "expired"))
        self.assertEqual(self.upstream.sends, 1)

    def test_an_unknown_outlives_any_jump(self):
        """A doubt does not end by time, whichever way the time goes."""
        thread = self.hold("k1")
        self.gateway.kill9()
        thread.join()
        for seconds in (0, -400 * 24 * HOUR_S, 400 * 24 * HOUR_S, 0):
            self.set_clock(seconds)
            self.gateway.restart(kill=True)
            self.assertEqual(self.outcome("k1"), "unknown")
        self.assertEqual(self.upstream.sends, 1)


if __name__ == "__main__":
    main()
