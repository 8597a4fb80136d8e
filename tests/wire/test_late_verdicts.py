"""Answers that come after a verdict: what they prove is kept, and never costs a second run."""

import re
import threading

from bugs_lib import HASTY, Reports, guarded, routes
from harness import Gateway, Upstream, answer, main, wait, wait_until

BODY = {"order": 1}
# Long enough for a second call to be held while the first one's answer comes.
SLOW = dict(HASTY, first_byte="3s", idle="3s", answer="3s")


class LateCase(Reports):
    timeouts = HASTY

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body=b"fresh")))
        self.gateway = self.use(Gateway(self.upstream, routes(guarded(), timeouts=self.timeouts)))
        self.events = []

    def held(self, action):
        """The next call is answered when its event is set; -> the event."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, action))
        return event

    def lose(self, key, body=b"the real one", status=201):
        """A call whose caller was told 504; -> (its operation, the event that lets it answer)."""
        event = self.held(answer(status, body=body))
        self.assertEqual(self.gateway.post(key, BODY).status, 504)
        return self.assert_unknown(self.gateway, key, "answer_timeout"), event

    def judge(self, operation, verdict, response=None):
        force = {"force": True} if verdict == "not_executed" else {}
        return self.settle(self.gateway, operation, verdict, response, **force)

    def wait_for(self, key, **members):
        """Until the key's operation has these members; -> the operation."""
        seen = []

        def reached():
            seen[:] = [self.operation_of(self.gateway, key)]
            return seen[0] if all(seen[0][n] == v for n, v in members.items()) else None
        return wait_until(reached, text=lambda: "%r: %r" % (members, seen))

    def wait_attempt(self, key, status, number=1):
        """Until the evidence has an answer of this status; -> the attempt."""
        def reached():
            for attempt in self.operation_of(self.gateway, key)["attempts"]:
                if attempt["number"] == number and attempt["status"] == status:
                    return attempt
            return None
        return wait_until(reached, text=lambda: self.operation_of(self.gateway, key))

    def assert_logged(self, operation, state):
        self.gateway.wait_log(r'warn[^\n]*receipt\.contradicted[^\n]*operation="%s"[^\n]*state="%s"'
                              % (re.escape(operation["id"]), state))

    def assert_not_logged(self):
        self.assertNotIn("receipt.contradicted", self.gateway.log())

    def contradictions(self):
        return self.gateway.metrics()['recibo_contradictions_total{route="create-order"}']

    def why(self, operation):
        status, _, value = self.gateway.admin("GET", "/v1/operations/%s/why" % operation["id"])
        self.assertEqual(status, 200)
        return " ".join(step["text"] for step in value["timeline"])


class KnownRuns(LateCase):
    """One attempt is known to have run: what speaks of another one frees nothing."""

    timeouts = SLOW

    def begin(self, second):
        """Attempt 1 is lost and called not executed; attempt 2 is under way."""
        operation, first = self.lose("k")
        self.judge(operation, "not_executed")
        release = self.held(second)
        client = self.start_post(self.gateway, "k", BODY)
        self.upstream.wait_for(2)
        return operation, first, release, client

    def assert_held(self, operation):
        """The next call is not sent, and says why."""
        self.assert_refused_unknown(self.gateway.post("k", BODY))
        self.assertEqual(self.upstream.sends, 2)
        self.assertIn("claimed again", self.why(operation))
        self.assert_logged(operation, "(pending|unknown)")
        self.assertEqual(self.contradictions(), 1)

    def test_a_refusal_after_the_answer(self):
        """The answer of the first attempt is known when the second one is refused: no third."""
        operation, first, release, client = self.begin(answer(429, body=b"busy"))
        first.set()
        self.wait_for("k", contradicted=True, state="pending")
        release.set()
        refused = client.read_response("POST")
        self.assertEqual((refused.status, refused.body), (429, b"busy"))
        self.assertEqual(refused.get("Idempotency-Status"), "unknown")
        self.assert_held(operation)

    def test_an_answer_after_the_refusal(self):
        """The second attempt was refused, the key is free: the answer of the first takes it back."""
        operation, first, release, client = self.begin(answer(429, body=b"busy"))
        release.set()
        self.assertEqual(client.read_response("POST").get("Idempotency-Status"), "released")
        first.set()
        self.wait_for("k", contradicted=True, state="unknown")
        self.assert_held(operation)

    def test_a_crash_after_the_answer(self):
        """What is known outlives the process."""
        operation, first, _, _ = self.begin(answer(429))
        first.set()
        self.wait_for("k", contradicted=True)
        self.gateway.restart(kill=True)
        self.wait_for("k", contradicted=True, state="unknown")
        self.assert_refused_unknown(self.gateway.post("k", BODY))
        self.assertEqual(self.upstream.sends, 2)
        self.assertIn("claimed again", self.why(operation))

    def test_a_person_frees_it(self):
        """Who sees the contradiction may say "not executed": then it runs, and a refusal is one."""
        operation, first, release, client = self.begin(answer(429))
        first.set()
        self.wait_for("k", contradicted=True)
        release.set()
        client.read_response("POST")
        self.upstream.script(answer(429), answer(201, body=b"third"))
        self.judge(self.wait_for("k", state="unknown"), "not_executed")
        self.assertEqual(self.gateway.post("k", BODY).get("Idempotency-Status"), "released")
        done = self.gateway.post("k", BODY)
        self.assertEqual((done.status, done.body), (201, b"third"))
        self.assertTrue(self.operation_of(self.gateway, "k")["contradicted"])
        self.assertEqual(operation["id"], self.operation_of(self.gateway, "k")["id"])

    def test_the_second_one_runs_as_well(self):
        """Both ran: the second one's answer is on record, and the mark says that it was twice."""
        operation, first, release, client = self.begin(answer(201, body=b"second"))
        first.set()
        self.wait_for("k", contradicted=True)
        release.set()
        answered = client.read_response("POST")
        self.assertEqual((answered.status, answered.body), (201, b"second"))
        self.wait_for("k", contradicted=True, state="completed")
        self.assert_replay(self.gateway.post("k", BODY), answered)
        self.assert_logged(operation, "pending")


class LateAnswers(LateCase):
    """The real answer comes when an operator has decided already."""

    def assert_real(self, key, sends):
        again = self.gateway.post(key, BODY)
        self.assertEqual((again.status, again.body), (201, b"the real one"))
        self.assertEqual(again.get("Idempotent-Replayed"), "true")
        self.assertEqual(self.upstream.sends, sends)

    def test_executed_and_nobody_was_told(self):
        """The real answer takes the place of the operator's, with a response or without."""
        for number, response in enumerate((None, {"status": 200, "headers": {}, "body": "mine"})):
            with self.subTest(response=response):
                key = "k%d" % number
                operation, event = self.lose(key)
                self.judge(operation, "executed", response)
                event.set()
                self.wait_attempt(key, 201)
                self.assert_real(key, number + 1)
                self.wait_for(key, contradicted=False, settled=False, state="completed")
                self.assertIn("the answer from now on", self.why(operation))
        self.assert_not_logged()

    def test_executed_and_told_without_a_response(self):
        """A caller was told that it ran, and no more: from now on he is told what came."""
        operation, event = self.lose("k")
        self.judge(operation, "executed")
        self.assert_problem(self.gateway.post("k", BODY), 409, "result-unavailable")
        event.set()
        self.wait_attempt("k", 201)
        self.assert_real("k", 1)
        self.wait_for("k", contradicted=False, state="completed")
        self.assert_not_logged()

    def test_executed_and_told_with_a_response(self):
        """What callers were told stays; that the upstream said otherwise is marked and logged."""
        operation, event = self.lose("k")
        self.judge(operation, "executed", {"status": 200, "headers": {}, "body": "mine"})
        told = self.gateway.post("k", BODY)
        self.assertEqual((told.status, told.body), (200, b"mine"))
        event.set()
        self.wait_for("k", contradicted=True, state="completed")
        self.assert_replay(self.gateway.post("k", BODY), told)
        self.assert_logged(operation, "completed")
        self.assertIn("told another answer", self.why(operation))
        self.assertEqual(self.contradictions(), 1)
        self.assertEqual(self.upstream.sends, 1)

    def test_executed_and_refused(self):
        """The operator said that it ran, the upstream that it did not: marked, and not undone."""
        operation, event = self.lose("k", status=429)
        self.judge(operation, "executed", {"status": 200, "headers": {}, "body": "mine"})
        event.set()
        self.wait_for("k", contradicted=True, state="completed")
        self.assertEqual(self.gateway.post("k", BODY).body, b"mine")
        self.assert_logged(operation, "completed")
        self.assertEqual(self.upstream.sends, 1)

    def test_given_up_or_called_not_executed(self):
        """The answer is replayed, and the mark says that the verdict was wrong."""
        for number, verdict in enumerate(("abandoned", "not_executed")):
            with self.subTest(verdict):
                key = "k%d" % number
                operation, event = self.lose(key)
                self.judge(operation, verdict)
                event.set()
                self.wait_for(key, contradicted=True, state="completed")
                self.assert_real(key, number + 1)
                self.assert_logged(operation, "completed")
                self.assertIn("against what had been decided", self.why(operation))


if __name__ == "__main__":
    main()
