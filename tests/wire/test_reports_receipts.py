"""Reports about receipts: mismatch in every state, stuck keys, races, and processes that die."""

import os
import re
import subprocess
import threading

from bugs_lib import HASTY, PATIENT, Reports, guarded, routes
from harness import (Gateway, Upstream, answer, delay, fin, hang, main, orders, parallel, pause,
                     reset, wait, wait_until)

CALLERS = 50
BODY = {"order": 1, "amount": 1}
CHANGED = {"order": 1, "amount": 2}


class MismatchReports(Reports):
    """The fingerprint is compared before the state is looked at."""

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"ok": True})))
        self.gateway = self.use(Gateway(self.upstream, routes(
            guarded(), guarded(name="waits", match={"methods": ["POST"], "path": "/waits"},
                               on_pending={"wait": "20s"}), timeouts=PATIENT)))

    def refuse_changed(self, key, path="/orders"):
        """A changed body is a mismatch and moves nothing; -> the operation."""
        before, sends = self.operation_of(self.gateway, key), self.upstream.sends
        problem = self.assert_mismatch(self.gateway.post(key, CHANGED, path=path))
        self.assertEqual(problem["changed"], ["/amount"])
        after = self.operation_of(self.gateway, key)
        for name in ("state", "version", "attempts", "end", "updated_at"):
            self.assertEqual(after[name], before[name], name)
        self.assertEqual(self.upstream.sends, sends)
        return after

    def test_while_the_first_call_runs(self):
        """A changed body during the first call is 422, and the first caller gets its own answer."""
        for path in ("/orders", "/waits"):
            with self.subTest(path=path):
                release = threading.Event()
                self.upstream.script(wait(release, answer(201, body=b"mine")))
                sends = self.upstream.sends
                first = self.start_post(self.gateway, "pending" + path[1:], BODY, path)
                self.upstream.wait_for(sends + 1)
                self.refuse_changed("pending" + path[1:], path)
                release.set()
                answered = first.read_response("POST")
                self.assertEqual((answered.status, answered.body), (201, b"mine"))
                self.assertEqual(self.upstream.sends, sends + 1)

    def test_after_the_first_call_is_completed(self):
        """A changed body under a completed key is 422; the right one is still replayed."""
        first = self.gateway.post("completed", BODY)
        self.refuse_changed("completed")
        self.assert_replay(self.gateway.post("completed", BODY), first)

    def test_while_the_outcome_is_unknown(self):
        """A changed body under an unknown key is 422; the right one is told what is unknown."""
        for number, action in enumerate((reset(), fin())):
            with self.subTest(number=number):
                self.upstream.script(action)
                key = "unknown-%d" % number
                self.assertEqual(self.gateway.post(key, BODY).status, 502)
                self.refuse_changed(key)
                self.assert_refused_unknown(self.gateway.post(key, BODY))

    def test_after_an_operator_has_spoken(self):
        """A changed body is 422 under every verdict: executed (with answer or not), abandoned."""
        verdicts = (("executed", {"status": 201, "headers": {}, "body": {"id": 7}}, 201),
                    ("executed", None, 409), ("abandoned", None, 409))
        for number, (verdict, response, status) in enumerate(verdicts):
            with self.subTest(verdict=verdict, response=response):
                self.upstream.script(fin())
                key, sends = "settled-%d" % number, self.upstream.sends
                self.gateway.post(key, BODY)
                operation = self.assert_unknown(self.gateway, key, "closed_no_answer")
                self.settle(self.gateway, operation, verdict, response)
                self.refuse_changed(key)
                self.assertEqual(self.gateway.post(key, BODY).status, status)
                self.assertEqual(self.upstream.sends, sends + 1)

    def test_after_a_release_a_header_key_keeps_its_request(self):
        """What was released may run again, but as the request that it was (the default)."""
        self.upstream.script(answer(429, [("Retry-After", "7")], b"later"))
        self.assertEqual(self.gateway.post("released", BODY).status, 429)
        self.refuse_changed("released")
        self.assertEqual(self.gateway.post("released", BODY).status, 201)
        self.refuse_changed("released")
        self.assertEqual(self.upstream.sends, 2)

    def test_after_expiry_the_tombstone_still_compares(self):
        """A changed body under an expired key is 422, the right one result-expired; none runs."""
        route = guarded(retention="1ms", tombstone="30d", reconcile={"quiet_time": "0s"})
        upstream = self.use(Upstream(answer(201, body=b"x")))
        gateway = self.use(Gateway(upstream, routes(route)))
        gateway.post("expired", BODY)
        pause()  # 1 ms is over by any clock
        self.assert_problem(gateway.post("expired", BODY), 409, "result-expired")
        self.assertEqual(gateway.post("expired", CHANGED).status, 422)
        self.assertEqual(upstream.sends, 1)


class StuckReports(Reports):
    def crash_with_a_call_in_flight(self):
        upstream = self.use(Upstream(hang()))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
        self.start_post(gateway, "stuck", BODY)
        upstream.wait_for(1)
        gateway.restart(kill=True)
        upstream.default = answer(201, body=b"second")
        return upstream, gateway

    def test_a_crash_leaves_an_unknown_not_a_busy_key(self):
        """After kill -9 with a request sent: unknown at once, in the backlog, never sent again."""
        upstream, gateway = self.crash_with_a_call_in_flight()
        for _ in range(3):
            self.assert_refused_unknown(gateway.post("stuck", BODY))
        self.assert_mismatch(gateway.post("stuck", CHANGED))
        operation = self.assert_unknown(gateway, "stuck", "crashed")
        self.assertEqual([o["id"] for o in gateway.operations(state="unknown")], [operation["id"]])
        self.assertEqual(gateway.operations(state="pending"), [])
        self.assertEqual(upstream.sends, 1)

    def test_the_command_line_shows_what_a_crash_left(self):
        """The operator finds the lost operation with `recibo backlog list` and `show`."""
        _, gateway = self.crash_with_a_call_in_flight()
        operation = self.wait_key_state(gateway, "stuck", "unknown")
        listed = gateway.cli("backlog", "list")
        self.assertEqual(listed.returncode, 0, listed)
        self.assertIn(operation["id"], listed.stdout)
        shown = gateway.cli("backlog", "show", operation["id"])
        self.assertEqual(shown.returncode, 0, shown)
        self.assertIn("crashed", shown.stdout)

    def test_there_is_a_way_out_in_both_directions(self):
        """Settled as executed it is replayed; as not executed it runs once more, and only once."""
        upstream, gateway = self.crash_with_a_call_in_flight()
        operation = self.assert_unknown(gateway, "stuck", "crashed")
        self.settle(gateway, operation, "executed",
                    {"status": 201, "headers": {"Content-Type": "text/plain"}, "body": "found it"})
        response = gateway.post("stuck", BODY)
        self.assertEqual((response.status, response.body), (201, b"found it"))
        self.assertEqual(response.get("Idempotent-Replayed"), "true")
        self.assertEqual(upstream.sends, 1)

        upstream.script(hang())
        self.start_post(gateway, "stuck-2", BODY)
        upstream.wait_for(2)
        gateway.restart(kill=True)
        operation = self.assert_unknown(gateway, "stuck-2", "crashed")
        early = {"verdict": "not_executed", "version": operation["version"], "note": "no trace"}
        status, _, value = gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"], early)
        self.assertEqual((status, value["code"]), (409, "quiet-time"), value)
        self.settle(gateway, operation, "not_executed", force=True)
        first = gateway.post("stuck-2", BODY)
        self.assertEqual((first.status, first.body), (201, b"second"))
        self.assert_replay(gateway.post("stuck-2", BODY), first)
        self.assertEqual(upstream.sends, 3)

    def test_many_calls_in_flight_at_a_crash(self):
        """Every one of them is unknown after the restart: none is lost, busy, or sent again."""
        upstream = self.use(Upstream(hang()))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
        for number in range(30):
            self.start_post(gateway, "many-%d" % number, {"order": number})
        upstream.wait_for(30)
        gateway.restart(kill=True)
        wait_until(lambda: len(gateway.operations(state="unknown", limit=100)) == 30)
        for number in range(30):
            self.assert_refused_unknown(gateway.post("many-%d" % number, {"order": number}))
        self.assertEqual(upstream.sends, 30)


class RaceReports(Reports):
    def race(self, gateway, upstream, key, path):
        release = threading.Event()
        upstream.default = wait(release, answer(201, body=b"the one"))
        sends = upstream.sends

        def call(index):
            if index == 0:  # the referee: lets the first call go on once it is there
                upstream.wait_for(sends + 1)
                refused = wait_until(lambda: gateway.operations(key=key))
                release.set()
                return refused
            return gateway.post(key, BODY, path=path, timeout=60)
        return parallel(CALLERS + 1, call)[1:]

    def test_fifty_callers_at_once_are_one_execution(self):
        """50 connections with one key: one send; the others are told or wait, none gets a 5xx."""
        for path in ("/orders", "/waits"):
            for workers in (1, 2):
                with self.subTest(path=path, workers=workers):
                    upstream = self.use(Upstream())
                    gateway = self.use(Gateway(upstream, routes(
                        guarded(), guarded(name="waits", on_pending={"wait": "60s"},
                                           match={"methods": ["POST"], "path": "/waits"}),
                        timeouts=PATIENT, workers=workers)))
                    seen = self.race(gateway, upstream, "race", path)
                    executed = [r for r in seen if r.get("Idempotency-Status") == "executed"]
                    self.assertEqual(len(executed), 1, seen)
                    self.assertEqual(upstream.sends, 1)
                    for response in seen:
                        if response is executed[0]:
                            continue
                        if response.status == 201:
                            self.assert_replay(response, executed[0])
                            continue
                        self.assertEqual(path, "/orders", response)
                        problem = self.assert_problem(response, 409, "request-in-progress")
                        self.assertTrue(problem["retry_may_help"])
                        self.assertTrue(re.fullmatch("[1-9][0-9]*", response.get("Retry-After")))

    def test_fifty_different_bodies_at_once_have_one_winner(self):
        """50 connections, one key, 50 bodies: one send, and 49 mismatches."""
        upstream = self.use(Upstream(answer(201, body=b"won")))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
        seen = parallel(CALLERS, lambda i: gateway.post("bodies", {"order": i}, timeout=60))
        self.assertEqual(sorted(r.status for r in seen), [201] + [422] * (CALLERS - 1), seen)
        self.assertEqual(upstream.sends, 1)

    def test_many_keys_at_once_do_not_mix(self):
        """25 keys, two callers each, at once: each key is sent once and answered with its own."""
        upstream = self.use(Upstream())
        upstream.on_request = lambda request: answer(201, body=request.body)
        gateway = self.use(Gateway(upstream, routes(
            guarded(on_pending={"wait": "60s"}), timeouts=PATIENT, workers=2)))
        seen = parallel(CALLERS, lambda i: gateway.post("k%d" % (i // 2), {"order": i // 2},
                                                        timeout=60))
        for index, response in enumerate(seen):
            self.assertEqual(response.json(), {"order": index // 2})
        self.assertEqual(sorted(r.json()["order"] for r in upstream.requests), list(range(25)))

    def test_losers_of_a_race_whose_call_is_lost_learn_that(self):
        """When the first answer is lost, those who waited get the unknown; none is sent."""
        upstream = self.use(Upstream(hang()))
        gateway = self.use(Gateway(upstream, routes(
            guarded(on_pending={"wait": "60s"}), timeouts=HASTY)))
        seen = parallel(10, lambda i: gateway.post("lost", BODY, timeout=60))
        self.assertEqual(sorted(r.status for r in seen), [409] * 9 + [504], seen)
        for response in seen:
            if response.status == 409:
                self.assert_refused_unknown(response)
        self.assertEqual(upstream.sends, 1)


class RefusedRaceReports(Reports):
    """Callers that wait for one another, before an upstream that refuses again and again."""

    REFUSALS = 12  # more rounds than races that a call may lose

    def start(self, wait_for):
        self.running = self.most = 0
        self.lock = threading.Lock()
        self.refusals = self.REFUSALS

        def leave(then):
            def act(exchange):
                with self.lock:
                    self.running -= 1  # before its answer can make way for the next one
                return then(exchange)
            return act

        def act(exchange):
            with self.lock:
                self.running += 1
                self.most = max(self.most, self.running)
                self.refusals -= 1
                refuses = self.refusals >= 0
            return delay(0.2, leave(answer(429) if refuses else answer(201)))(exchange)
        self.upstream = self.use(Upstream())
        self.upstream.on_request = lambda request: act
        self.gateway = self.use(Gateway(self.upstream, routes(
            guarded(on_pending={"wait": wait_for}), timeouts=PATIENT, workers=2)))

    def test_waiting_goes_on_over_refusals(self):
        """30 callers: each refusal is told to the one that was refused, the others wait on."""
        self.start("120s")
        seen = parallel(30, lambda i: self.gateway.post("k", BODY, timeout=150))
        told = [(r.status, r.get("Idempotency-Status")) for r in seen]
        self.assertEqual(told.count((429, "released")), self.REFUSALS, told)
        self.assertEqual(told.count((201, "executed")), 1, told)
        self.assertEqual(told.count((201, "replayed")), 30 - self.REFUSALS - 1, told)
        self.assertEqual(self.upstream.sends, self.REFUSALS + 1)
        self.assertEqual(self.most, 1)

    def test_a_short_wait_still_ends(self):
        """When the time is over the waiting ones are told to come again, and none is sent twice."""
        self.start("3s")
        self.refusals = 1000
        seen = parallel(30, lambda i: self.gateway.post("k", BODY, timeout=60))
        refused = [r for r in seen if r.status == 429]
        self.assertEqual(len(refused), self.upstream.sends)
        self.assertGreater(len(refused), 1)
        for response in seen:
            if response.status != 429:
                self.assert_problem(response, 409, "request-in-progress")
        self.assertEqual(self.most, 1)


class SecondProcessReports(Reports):
    def test_a_second_process_on_the_same_file_is_refused(self):
        """Two gateways never own one store: the second ends with a message, the first serves on."""
        upstream = self.use(Upstream(answer(201, body=b"first")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        first = gateway.post("k", BODY)
        other = Gateway(upstream, routes(orders(), store={"path": gateway.store_path}),
                        start=False)
        self.use(other)
        other.port, other.admin_port = 0, 0
        link = os.path.join(other.directory, "link.db")
        os.symlink(gateway.store_path, link)
        relative = os.path.relpath(gateway.store_path, other.directory)
        for path in (gateway.store_path, relative, link):
            with self.subTest(path=path):
                other.write_configuration({"store": {"path": path}})
                done = subprocess.run([other.binary, "serve", "-c", other.path],
                                      cwd=other.directory, stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 1, done)
                self.assertIn("recibo.db", done.stderr)
                self.assertNotIn("Sanitizer", done.stderr)
        self.assert_replay(gateway.post("k", BODY), first)
        self.assertEqual(gateway.post("k2", BODY).status, 201)
        self.assertEqual(upstream.sends, 2)

    def test_the_file_is_free_again_after_a_kill(self):
        """The lock dies with its process: after kill -9 the next one starts at once."""
        upstream = self.use(Upstream(answer(201, body=b"first")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        first = gateway.post("k", BODY)
        for _ in range(3):
            gateway.restart(kill=True)
            self.assert_replay(gateway.post("k", BODY), first)
        self.assertEqual(upstream.sends, 1)


if __name__ == "__main__":
    main()
