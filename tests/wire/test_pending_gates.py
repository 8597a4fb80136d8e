"""The gates of a route: the breaker that opens by itself and lets one try, and the pause
that an operator sets. New operations are held back; repeats and replays go on.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Background, Guarded  # noqa: E402
from harness import answer, fin, hang, main, wait, wait_until  # noqa: E402

BREAKER = {"unknowns": 3, "share": "20%", "in": "1s"}


class Gates(Guarded):
    def new(self, prefix="new"):
        """A POST with a key of its own."""
        self.number = getattr(self, "number", 0) + 1
        return self.gateway.post("%s-%d" % (prefix, self.number), ORDER)

    def assert_held(self, response):
        self.assert_told(response, 503, "route-paused", "paused", retry=True, new_key=True)

    def route(self):
        status, _, value = self.gateway.admin("GET", "/v1/routes")
        self.assertEqual(status, 200)
        return next(r for r in value["routes"] if r["name"] == "create-order")


class Breaker(Gates):
    def open(self):
        """A route whose breaker has been opened by three lost answers."""
        self.start(route={"breaker": BREAKER, "on_pending": {"wait": "0s"}})
        self.done = self.gateway.post("done", ORDER)
        lost = [self.make_unknown("lost-%d" % n) for n in range(3)]
        self.assert_held(self.new())
        self.assertEqual(self.route()["breaker"], "open")
        return lost

    def not_held(self):
        response = self.new()
        if response.status == 503:
            self.assert_held(response)
            return None
        return response

    def test_it_opens_and_lets_one_through(self):
        """Open: nothing new is sent, records are told; later one is tried, then all."""
        self.open()
        sends = self.upstream.sends
        self.assert_unknown_repeat(self.gateway.post("lost-1", ORDER))
        self.assert_replay(self.done, self.gateway.post("done", ORDER))
        self.assertEqual(self.gateway.post("done", {"order": 8}).status, 422)
        self.assertEqual(self.upstream.sends, sends)
        self.assertEqual(len(self.gateway.operations()), 4)
        self.assert_passed_on(wait_until(self.not_held), 201, "executed")
        self.assertEqual(self.route()["breaker"], "closed")
        for _ in range(5):
            self.assert_passed_on(self.new(), 201, "executed")

    def test_half_open_lets_only_one_through(self):
        """While the trial is out everything else is held; a lost trial closes the door again."""
        self.open()
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, fin()))
        sends = self.upstream.sends
        trial = Background(lambda: wait_until(self.not_held))
        self.upstream.wait_for(sends + 1)
        for number in range(5):
            self.assert_held(self.gateway.post("other-%d" % number, ORDER))
        self.assert_replay(self.done, self.gateway.post("done", ORDER))
        event.set()
        self.assertEqual(trial.result().status, 502)
        self.assert_held(self.new())
        self.assertEqual(self.upstream.sends, sends + 1)
        self.assert_passed_on(wait_until(self.not_held), 201, "executed")

    def test_attempts_without_an_answer_count(self):
        """An upstream that says nothing opens it before the first timeout."""
        self.start(route={"breaker": {"unknowns": 2, "share": "20%", "overdue": "200ms",
                                      "in": "60s"}})
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event), wait(event))
        calls = [Background(self.new), Background(self.new)]
        self.upstream.wait_for(2)
        wait_until(lambda: self.route()["overdue"] == 2)
        self.assert_held(self.gateway.post("k1", ORDER))
        event.set()
        for call in calls:
            self.assertEqual(call.result().status, 200)
        self.assertEqual(self.route()["overdue"], 0)

    def test_a_small_share_does_not_open_it(self):
        """Three lost answers among many good ones are not an outage."""
        self.start(route={"breaker": {"unknowns": 3, "share": "50%", "in": "60s"}})
        for _ in range(10):
            self.new()
        for number in range(3):
            self.make_unknown("lost-%d" % number)
        self.assert_passed_on(self.new(), 201, "executed")

    def test_none_is_none(self):
        """breaker: none never opens."""
        self.start(fin(), route={"breaker": "none"})
        for _ in range(30):
            self.assertEqual(self.new().status, 502)
        self.assertEqual(self.upstream.sends, 30)


class Pause(Gates):
    def order(self, path, note="stop the bleeding", status=200):
        body = {} if note is None else {"note": note}
        seen, _, value = self.gateway.admin("POST", path, body)
        self.assertEqual(seen, status, value)
        return value

    def check(self, subject):
        self.start()
        done = self.gateway.post("done", ORDER)
        lost = self.make_unknown("lost")
        self.order("/v1/%s/pause" % subject)
        for restart in (False, False, True):
            if restart:
                self.gateway.restart(kill=True)
            self.assert_held(self.new())
            self.assert_replay(done, self.gateway.post("done", ORDER))
            self.assert_unknown_repeat(self.gateway.post("lost", ORDER))
            self.assertEqual(self.gateway.post("done", {"order": 8}).status, 422)
            self.assertIs(self.route()["paused"], True)
        self.assertEqual(self.upstream.sends, 2)
        self.settle(lost, "not_executed", force=True)
        self.assert_told(self.gateway.post("lost", ORDER), 503, "route-paused", "paused",
                         state="released", retry=True, new_key=True)
        self.order("/v1/%s/resume" % subject, note="it is well again")
        self.assert_passed_on(self.new(), 201, "executed")
        self.assert_passed_on(self.gateway.post("lost", ORDER), 201, "executed")
        self.gateway.restart()
        self.assert_passed_on(self.new(), 201, "executed")
        self.assertIs(self.route()["paused"], False)

    def test_a_route(self):
        """A paused route survives a crash paused, and a resumed one stays resumed."""
        self.check("routes/create-order")

    def test_an_upstream(self):
        """Pausing the upstream holds each of its guarded routes."""
        self.check("upstreams/legacy")

    def test_what_is_under_way_goes_on(self):
        """A pause does not touch an operation that was sent before it."""
        self.start()
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, answer(201)))
        call = Background(lambda: self.gateway.post("k1", ORDER))
        self.upstream.wait_for(1)
        self.order("/v1/routes/create-order/pause")
        self.assert_held(self.new())
        event.set()
        self.assert_passed_on(call.result(), 201, "executed")
        self.assertEqual(self.gateway.post("k1", ORDER).get("Idempotency-Status"), "replayed")

    def test_passing_routes_are_not_held(self):
        """A pause speaks of operations; reading goes on."""
        self.start()
        self.order("/v1/upstreams/legacy/pause")
        self.assertEqual(self.gateway.request("GET", "/orders/1").status, 201)

    def test_a_pause_holds_what_has_no_key_as_well(self):
        """Nothing of a paused route is sent, not even what it would not protect."""
        self.start(route={"key": {"from": "header", "name": "Idempotency-Key",
                                  "required": False}})
        self.order("/v1/routes/create-order/pause")
        sends = self.upstream.sends
        self.assert_told(self.gateway.post(None, ORDER), 503, "route-paused", "paused", retry=True)
        self.order("/v1/routes/create-order/resume")
        self.order("/v1/upstreams/legacy/pause")
        self.assert_told(self.gateway.post(None, ORDER), 503, "route-paused", "paused", retry=True)
        self.assertEqual(self.upstream.sends, sends)
        self.order("/v1/upstreams/legacy/resume")
        self.assertEqual(self.gateway.post(None, ORDER).get("Idempotency-Status"), "unprotected")

    def test_the_answer_says_what_is_true(self):
        """What holds nothing cannot be paused; a resume names what still holds the route."""
        self.start()
        self.order("/v1/routes/everything-else/pause", status=409)
        value = self.order("/v1/upstreams/legacy/pause")
        self.assertEqual((value["changed"], value["passing"]), (True, ["everything-else"]))
        self.assertIs(self.order("/v1/upstreams/legacy/pause")["changed"], False)
        value = self.order("/v1/routes/create-order/resume")
        self.assertEqual((value["changed"], value["still"]), (False, ["upstream:legacy"]))
        value = self.order("/v1/upstreams/legacy/resume")
        self.assertEqual((value["changed"], value["still"]), (True, []))

    def test_a_note_is_wanted(self):
        """Who pauses says why; what does not exist cannot be paused; both are audited."""
        self.start()
        self.order("/v1/routes/create-order/pause", note=None, status=400)
        self.order("/v1/routes/create-order/pause", note="  ", status=400)
        self.order("/v1/routes/nothing/pause", status=404)
        self.assert_passed_on(self.new(), 201, "executed")
        self.order("/v1/routes/create-order/pause", note="why not")
        _, _, value = self.gateway.admin("GET", "/v1/audit?subject=route:create-order")
        self.assertIn("why not", repr(value))
        self.assertIn("tester", repr(value))
        self.assertEqual(self.route()["pause"]["note"], "why not")


class HangingUpstream(Gates):
    def test_an_outage_leaves_a_bounded_number_of_unknowns(self):
        """With every answer lost at most in flight + unknowns operations are in doubt."""
        self.start(hang(), upstream={"timeouts": {"first_byte": "300ms", "answer": "300ms"}},
                   route={"breaker": {"unknowns": 4, "in": "60s"},
                          "limits": {"route_in_flight": 3, "owner_in_flight": 3}})
        for _ in range(30):
            self.assertIn(self.new().status, (503, 504))
        self.assertLessEqual(self.upstream.sends, 3 + 4)
        self.assertEqual(len(self.gateway.operations(state="unknown")), self.upstream.sends)
        self.assertEqual(self.route()["breaker"], "open")


if __name__ == "__main__":
    main()
