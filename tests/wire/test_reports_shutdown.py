"""Reports about a stopping process: the drain, its limit, its impatient operator, its next life."""

import signal
import threading

from bugs_lib import PATIENT, Reports, guarded, routes
from harness import (Closed, Gateway, Upstream, WireError, answer, hang, main, wait, wait_until)

LONG = "50s"
SHORT = "1s"


class DrainReports(Reports):
    def start(self, drain, action):
        self.upstream = self.use(Upstream(action))
        gateway = self.use(Gateway(self.upstream, routes(guarded(), timeouts=PATIENT,
                                                         drain=drain)))
        self.first = self.start_post(gateway, "flying", {"order": 1})
        self.upstream.wait_for(1)
        return gateway

    def wait_draining(self, gateway):
        """Blocks until new work is refused: the listener is gone, or it answers 503."""
        def refused():
            try:
                response = gateway.request("POST", "/orders", timeout=5)  # no key: never sent
            except (OSError, WireError):
                return True
            return response.status == 503
        wait_until(refused)

    def test_an_answer_within_the_drain_is_delivered_and_kept(self):
        """SIGTERM with a call in flight: its caller gets the answer, the next life replays it."""
        release = threading.Event()
        gateway = self.start(LONG, wait(release, answer(201, body=b"in time")))
        gateway.signal(signal.SIGTERM)
        self.wait_draining(gateway)
        sends = self.upstream.sends
        release.set()
        first = self.first.read_response("POST")
        self.assertEqual((first.status, first.body), (201, b"in time"))
        self.assertEqual(first.get("Connection"), "close")
        self.assertEqual(gateway.wait_exit(), 0)
        gateway.start()
        self.assert_replay(gateway.post("flying", {"order": 1}), first)
        self.assertEqual(self.upstream.sends, sends)

    def test_an_answer_after_the_drain_is_an_unknown(self):
        """Past the limit: exit 0, unknown on record before it, told to the caller, not re-sent."""
        gateway = self.start(SHORT, hang())
        self.assertEqual(gateway.stop(), 0)
        try:
            response = self.first.read_response("POST")
            self.assert_problem(response, 504, "upstream-timeout")
        except Closed as closed:
            self.assertEqual(closed.partial, b"")
        gateway.start()
        self.assert_unknown(gateway, "flying", ("drained", "crashed"))
        self.upstream.default = answer(201, body=b"second")
        self.assert_refused_unknown(gateway.post("flying", {"order": 1}))
        self.assertEqual(self.upstream.sends, 1)

    def test_the_end_of_a_drain_says_so(self):
        """The evidence of a call that a drain cut off names the drain, not a crash."""
        gateway = self.start(SHORT, hang())
        self.assertEqual(gateway.stop(), 0)
        gateway.start()
        self.assert_unknown(gateway, "flying", "drained")

    def test_a_second_signal_does_no_harm(self):
        """An impatient operator: whatever it shortens, exit 0 and no key absent or pending."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                gateway = self.start(SHORT, hang())
                gateway.signal(signal.SIGTERM)
                self.wait_draining(gateway)
                gateway.signal(number)
                gateway.signal(number)
                self.assertEqual(gateway.wait_exit(), 0)
                sends = self.upstream.sends
                gateway.start()
                self.assert_unknown(gateway, "flying")
                self.assert_refused_unknown(gateway.post("flying", {"order": 1}))
                self.assertEqual(self.upstream.sends, sends)

    def test_new_work_during_the_drain_is_refused_before_it_is_sent(self):
        """New connections and requests on kept ones: refused, or 503 with close; nothing sent."""
        release = threading.Event()
        upstream = self.upstream = self.use(Upstream(wait(release, answer(201, body=b"done"))))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT, drain=LONG)))
        kept = gateway.client()
        self.addCleanup(kept.close)
        self.assertEqual(kept.request("POST", "/orders", [], {}).status, 400)  # it is kept now
        self.first = self.start_post(gateway, "flying", {"order": 1})
        upstream.wait_for(1)
        gateway.signal(signal.SIGTERM)
        self.wait_draining(gateway)
        try:
            response = kept.request("POST", "/orders", [("Idempotency-Key", "new")], {"order": 2})
            self.assert_problem(response, 503, "shutting-down")
            self.assertEqual(response.get("Connection"), "close")
            self.assertIsNotNone(response.get("Retry-After"))
        except (OSError, WireError):
            pass  # closed: nothing was taken
        self.assertEqual(upstream.sends, 1)
        release.set()
        self.assertEqual(self.first.read_response("POST").status, 201)
        self.assertEqual(gateway.wait_exit(), 0)
        gateway.start()
        self.assertEqual(gateway.operations(key="new"), [])

    def test_a_quiet_process_ends_at_once(self):
        """With nothing in flight, idle connections do not hold the drain; the exit is 0."""
        upstream = self.use(Upstream(answer(201, body=b"done")))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT, drain="24h")))
        idle = gateway.client()
        self.addCleanup(idle.close)
        idle.request("POST", "/orders", [("Idempotency-Key", "k")], {"order": 1})
        never = gateway.client()
        self.addCleanup(never.close)
        self.assertEqual(gateway.stop(deadline_s=30), 0)
        self.assertTrue(idle.is_closed())

    def test_a_drain_of_many_leaves_none_behind(self):
        """40 calls in flight, half answered within the drain: each is completed or unknown."""
        release = threading.Event()
        upstream = self.use(Upstream())
        upstream.on_request = lambda request: (
            wait(release, answer(201, body=b"done")) if request.json()["order"] % 2 else hang())
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT, drain="3s")))
        for number in range(40):
            self.start_post(gateway, "m%d" % number, {"order": number})
        upstream.wait_for(40)
        gateway.signal(signal.SIGTERM)
        release.set()
        self.assertEqual(gateway.wait_exit(), 0)
        gateway.start()
        for number in range(40):
            operation = self.operation_of(gateway, "m%d" % number)
            self.assertEqual(operation["state"], "completed" if number % 2 else "unknown")
            response = gateway.post("m%d" % number, {"order": number})
            self.assertEqual(response.status, 201 if number % 2 else 409)
        self.assertEqual(upstream.sends, 40)


class RestartReports(Reports):
    def test_a_receipt_survives_every_kind_of_end(self):
        """Completed before SIGTERM, SIGINT or SIGKILL: replayed in the next life, sent once."""
        upstream = self.use(Upstream(answer(201, body=b"done")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        seen = {}
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            key = "life-%d" % number
            seen[key] = gateway.post(key, {"order": key})
            gateway.signal(number)
            code = gateway.process.wait(60)
            self.assertEqual(code, -9 if number == signal.SIGKILL else 0)
            gateway.start()
            for key, first in seen.items():
                self.assert_replay(gateway.post(key, {"order": key}), first)
        self.assertEqual(upstream.sends, len(seen))


if __name__ == "__main__":
    main()
