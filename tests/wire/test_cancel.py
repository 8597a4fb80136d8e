"""Cancelling: what is stopped, what is only requested, and what is too late, at every step
of an operation's life, by its owner and by an operator.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, Background, Guarded  # noqa: E402
from harness import answer, fin, main, parallel, wait, wait_until  # noqa: E402

ASYNC = [("Prefer", "respond-async")]
DEFER = {"defer": {"when": "prefer"},
         "retry": {"when": ["not_sent", 429], "attempts": 50, "within": "60s",
                   "backoff": {"base": "20ms", "max": "100ms"}, "wait_at_most": "20s"}}


class Cancelling(Guarded):
    def start_deferring(self, **route):
        return self.start(route=dict(DEFER, **route))

    def cancel(self, response_or_id, **options):
        """As its owner."""
        operation_id = response_or_id if isinstance(response_or_id, str) else \
            response_or_id.get("Idempotency-Operation")
        return self.gateway.request("POST", "/.recibo/operations/%s/cancel" % operation_id,
                                    **options)

    def cancel_as_operator(self, operation_id, note="stop it"):
        return self.gateway.admin("POST", "/v1/operations/%s/cancel" % operation_id,
                                  {"note": note})

    def assert_stopped(self, response):
        self.assertEqual(response.status, 200, response)
        told = response.json()
        self.assertEqual(told["cancel"], "stopped", told)
        return told

    def assert_spent(self, key):
        """A repeat of a cancelled key."""
        self.assert_told(self.gateway.post(key, ORDER), 409, "operation-cancelled", "cancelled",
                         state="cancelled", new_key=False)

    def deferred(self, key="k1"):
        self.upstream.refuse()
        return self.gateway.post(key, ORDER, headers=ASYNC)

    def claimed(self, key="k1"):
        """An operation between two attempts; -> (its id, the call)."""
        self.upstream.script(answer(429, [("Retry-After", "2")]))
        call = Background(lambda: self.gateway.post(key, ORDER))
        row = wait_until(lambda: [row for row in self.gateway.operations()
                                  if row["phase"] == "claimed"])[0]
        return row["id"], call

    def sent(self, then=None, key="k1"):
        """An operation that the upstream has read; -> (its id, the call, the event)."""
        event = threading.Event()
        self.addCleanup(event.set)
        sends = self.upstream.sends
        self.upstream.script(wait(event, then or answer(201, body={"ticket": 1})))
        call = Background(lambda: self.gateway.post(key, ORDER))
        self.upstream.wait_for(sends + 1)
        row = [row for row in self.gateway.operations() if row["phase"] == "sent"][0]
        return row["id"], call, event


class Owner(Cancelling):
    def test_deferred(self):
        """Nothing was sent and nothing will be; the key is spent."""
        self.start_deferring()
        first = self.deferred()
        told = self.assert_stopped(self.cancel(first))
        self.assertEqual((told["state"], told["operation_id"]),
                         ("cancelled", first.get("Idempotency-Operation")))
        self.upstream.listen_again()
        self.assert_spent("k1")
        self.assert_stopped(self.cancel(first))
        self.assert_stays_cancelled(first.get("Idempotency-Operation"))

    def assert_stays_cancelled(self, operation_id):
        """After a deferred run of another operation, which begins and ends later."""
        other = self.gateway.post("other", ORDER, headers=ASYNC)
        self.gateway.wait_state(other.get("Idempotency-Operation"), "completed")
        self.assertEqual(self.gateway.operation(operation_id)["state"], "cancelled")
        self.assertEqual(self.upstream.sends, 1)

    def test_between_two_attempts(self):
        """Claimed and not sent: stopped; the caller who waits is told so."""
        self.start_deferring()
        operation_id, call = self.claimed()
        self.assert_stopped(self.cancel(operation_id))
        self.assert_told(call.result(), 409, "operation-cancelled", "cancelled",
                         state="cancelled", new_key=False)
        self.assertEqual(self.upstream.sends, 1)

    def test_while_it_is_sent(self):
        """Requested, not stopped; its answer is its outcome, and is replayed."""
        self.start_deferring()
        operation_id, call, event = self.sent()
        told = self.cancel(operation_id)
        self.assertEqual(told.status, 202, told)
        self.assertEqual((told.json()["cancel"], told.json()["state"], told.json()["phase"]),
                         ("requested", "pending", "sent"))
        self.assertIs(self.gateway.operation(operation_id)["cancel_requested"], True)
        event.set()
        first = call.result()
        self.assert_passed_on(first, 201, "executed")
        self.assert_state(first, "completed")
        self.assert_replay(first, self.gateway.post("k1", ORDER))

    def test_while_it_is_sent_and_lost(self):
        """Requested, and the answer is lost: unknown, never cancelled, never sent again."""
        self.start_deferring(upstream_idempotency={"window": "1h"},
                             reconcile={"quiet_time": "0s"})
        operation_id, call, event = self.sent(then=fin())
        self.assertEqual(self.cancel(operation_id).status, 202)
        event.set()
        self.assert_state(call.result(), "unknown")
        self.assertEqual(self.upstream.sends, 1)

    def test_while_it_is_sent_and_refused(self):
        """Requested, and the upstream refuses it: known not to have run, not tried again."""
        self.start_deferring()
        operation_id, call, event = self.sent(then=answer(429))
        self.assertEqual(self.cancel(operation_id).status, 202)
        event.set()
        self.assert_told(call.result(), 409, "operation-cancelled", "cancelled",
                         state="cancelled", new_key=False)
        self.assertEqual(self.upstream.sends, 1)

    def test_after_its_answer(self):
        """Too late: it was carried out, and that is said."""
        self.start_deferring()
        first = self.gateway.post("k1", ORDER)
        self.assert_told(self.cancel(first), 409, "already-executed", state="completed",
                         new_key=False, retry_after=False)
        self.assert_replay(first, self.gateway.post("k1", ORDER))

    def test_unknown(self):
        """Too late: nobody knows, and nothing changes."""
        self.start()
        first = self.make_unknown()
        before = self.operation_of(first)
        self.assert_told(self.cancel(first), 409, "outcome-unknown", state="unknown",
                         new_key=False, retry_after=False)
        self.assertEqual(self.operation_of(first)["version"], before["version"])

    def test_released(self):
        """A free key is spent by it: no repeat is sent any more."""
        self.start()
        self.upstream.script(answer(429))
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.get("Idempotency-Status"), "released")
        told = self.assert_stopped(self.cancel(first))
        self.assertEqual(told["state"], "cancelled")
        self.assert_spent("k1")
        self.assert_state(first, "cancelled")
        self.assertEqual(len(self.gateway.operations(state="cancelled")), 1)
        self.assertEqual(self.upstream.sends, 1)

    def test_released_stays_spent_after_retention(self):
        """Stopped holds as long as for any other: until the tombstone goes."""
        self.start(route=dict(AT_ONCE, retention="1s", tombstone="1h"))
        self.upstream.script(answer(503))
        first = self.gateway.post("k1", ORDER)
        self.settle(first, "not_executed")
        self.assert_stopped(self.cancel(first))
        self.wait_expired(first)
        for _ in range(3):
            self.assertEqual(self.gateway.post("k1", ORDER).status, 409)
        self.assertEqual(self.upstream.sends, 1)

    def test_words_after_a_refused_attempt(self):
        """What was sent and refused was sent: no word says that nothing was."""
        self.start()
        self.upstream.script(answer(429))
        first = self.gateway.post("k1", ORDER)
        said = [self.gateway.cli("cancel", first.get("Idempotency-Operation"), "--note",
                                 "x").stdout, self.gateway.post("k1", ORDER).json()["detail"],
                self.gateway.cli("why", first.get("Idempotency-Operation")).stdout]
        for text in said:
            self.assertNotRegex(text, "(?i)nothing was sent|before (it|anything) was sent|is free")

    def test_only_its_owner(self):
        """Nobody else learns of it, or stops it."""
        owners = {"partners": {"kind": "api_key", "header": "X-Api-Key", "keys": [
            {"owner": name, "sha256": digest} for name, digest in KEYS.items()]}}
        self.start(route=dict(DEFER, owner="partners", credentials="strip"), owners=owners)
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER, headers=ASYNC + [("X-Api-Key", "one")])
        self.assertEqual(first.status, 202, first)
        for headers in ([], [("X-Api-Key", "two")], [("X-Api-Key", "three")]):
            refused = self.cancel(first, headers=headers)
            self.assertEqual((refused.status, refused.json()["code"]), (404, "not-found"))
            self.assertNotIn("Idempotency-Operation", refused.headers)
        self.assert_stopped(self.cancel(first, headers=[("X-Api-Key", "one")]))

    def test_what_is_not_there(self):
        """Unknown ids, other methods and other paths are refused like elsewhere."""
        self.start_deferring()
        first = self.gateway.post("k1", ORDER)
        path = "/.recibo/operations/%s/cancel" % first.get("Idempotency-Operation")
        response = self.gateway.request("GET", path)
        self.assertEqual((response.status, response.get("Allow")), (405, "POST"))
        self.assertEqual(self.cancel("op_" + "a" * 26).status, 404)
        self.assertEqual(self.gateway.request("POST", path + "/").status, 405)
        self.assertEqual(self.gateway.request("POST", path[:-7]).status, 405)


# SHA-256 of "one" and of "two"
KEYS = {"acme": "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
        "bolt": "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3"}


class Operator(Cancelling):
    def test_deferred(self):
        """Stopped, on record with a name and a note."""
        self.start_deferring()
        operation_id = self.deferred().get("Idempotency-Operation")
        status, _, told = self.cancel_as_operator(operation_id, "by mistake")
        self.assertEqual((status, told["cancel"], told["operation"]["state"]),
                         (200, "stopped", "cancelled"))
        operation = self.gateway.operation(operation_id)
        entry = operation["audit"][-1]
        self.assertEqual((entry["action"], entry["note"]), ("cancel", "by mistake"))
        self.assertEqual([each["actor"] for each in operation["cancel_requests"]],
                         [entry["actor"]])
        self.assert_spent("k1")

    def test_sent_completed_unknown(self):
        """Requested while it is sent; 409 once there is an outcome or a doubt."""
        self.start_deferring()
        operation_id, call, event = self.sent()
        status, _, told = self.cancel_as_operator(operation_id)
        self.assertEqual((status, told["cancel"]), (202, "requested"))
        event.set()
        call.result()
        status, _, told = self.cancel_as_operator(operation_id)
        self.assertEqual((status, told["code"]), (409, "already-executed"))
        lost = self.make_unknown("k2").get("Idempotency-Operation")
        status, _, told = self.cancel_as_operator(lost)
        self.assertEqual((status, told["code"]), (409, "outcome-unknown"))

    def test_needs_right_and_note(self):
        """Only with the right control, and never without a note."""
        self.start_deferring()
        operation_id = self.deferred().get("Idempotency-Operation")
        status, _, told = self.gateway.admin("POST", "/v1/operations/%s/cancel" % operation_id, {})
        self.assertEqual((status, told["code"]), (400, "body-invalid"))
        status, _, _ = self.gateway.admin("POST", "/v1/operations/%s/cancel" % operation_id,
                                          {"note": "x"}, token="nobody")
        self.assertEqual(status, 401)
        self.assertEqual(self.gateway.operation(operation_id)["state"], "pending")

    def test_run_now(self):
        """A deferred operation runs at once, whatever its time was."""
        self.start_deferring(retry=dict(DEFER["retry"], backoff={"base": "1h", "max": "1h"}))
        operation_id = self.deferred().get("Idempotency-Operation")
        wait_until(lambda: self.gateway.operation(operation_id)["attempts"] and
                   self.gateway.operation(operation_id)["phase"] == "deferred")
        self.upstream.listen_again()
        status, _, told = self.gateway.admin(
            "POST", "/v1/operations/%s/run-now" % operation_id, {"note": "it is back"})
        self.assertEqual((status, told["operation"]["id"]), (202, operation_id))
        self.gateway.wait_state(operation_id, "completed")
        status, _, told = self.gateway.admin(
            "POST", "/v1/operations/%s/run-now" % operation_id, {})
        self.assertEqual((status, told["code"]), (409, "not-deferred"))
        self.assertEqual(self.upstream.sends, 1)


class Command(Cancelling):
    def test_words(self):
        """The command says stopped or requested, and its exit code says what went wrong."""
        self.start_deferring()
        operation_id = self.deferred().get("Idempotency-Operation")
        done = self.gateway.cli("cancel", operation_id, "--note", "by mistake")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("stopped", done.stdout)
        self.upstream.listen_again()
        operation_id, call, event = self.sent(key="k2")
        done = self.gateway.cli("cancel", operation_id, "--note", "x")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("requested, not stopped", done.stdout)
        event.set()
        call.result()
        done = self.gateway.cli("cancel", operation_id, "--note", "x")
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(self.gateway.cli("cancel", operation_id).returncode, 2)
        self.assertEqual(self.gateway.cli("cancel", "op_" + "a" * 26, "--note",
                                          "x").returncode, 3)
        done = self.gateway.cli("run-now", operation_id)
        self.assertEqual(done.returncode, 1, done)


class Race(Cancelling):
    def test_cancel_or_send(self):
        """One compare-and-set decides: what is stopped was never read by the upstream."""
        self.start_deferring(defer={"when": "always", "concurrency": 4})
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(*[wait(event, answer(201, body={"ticket": 1}))] * 4)
        firsts, seen = {}, {}

        def post(number):
            for order in range(number * 20, number * 20 + 20):
                firsts[order] = self.gateway.post("r%d" % order, {"order": order})

        def cancel(number):
            for order in range(number * 20, number * 20 + 20):
                seen[order] = (firsts[order].get("Idempotency-Operation"),
                               self.cancel(firsts[order]))
                event.set()

        parallel(8, post)
        self.upstream.wait_for(4)
        parallel(8, cancel)
        stopped = [order for order, (_, told) in seen.items()
                   if told.status == 200 and told.json()["cancel"] == "stopped"]
        for order, (operation_id, told) in seen.items():
            operation = wait_until(lambda i=operation_id: self.at_rest(i))
            self.assertIn(told.status, (200, 202, 409), told)
            wanted = "cancelled" if order in stopped else "completed"
            self.assertEqual(operation["state"], wanted, operation)
        sent = [request.json()["order"] for request in self.upstream.requests]
        self.assertEqual(len(sent), len(set(sent)))
        self.assertEqual(set(sent) & set(stopped), set())
        self.assertEqual(len(sent) + len(stopped), 160)
        self.assertTrue(sent and stopped, "the race was none")
        print("%d stopped, %d sent" % (len(stopped), len(sent)))

    def at_rest(self, operation_id):
        operation = self.gateway.operation(operation_id)
        return operation if operation["state"] != "pending" else None


if __name__ == "__main__":
    main()
