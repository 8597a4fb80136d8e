"""What the wire tests have in common: a gateway before a scripted upstream, and one
place that says what each of Recibo's own answers must carry. It only judges what a
caller or an operator sees; it never looks into the gateway's files.
"""

import threading

from harness import Case, Client, Gateway, Upstream, answer, merge, orders, rest, wait_until

ANY = object()
FINAL_CODES = ("outcome-unknown", "upstream-timeout", "upstream-bad-response")
ORDER = {"order": 7}
# Times for tests in which the upstream never answers at all: nothing else depends on them.
SOON = {"timeouts": {"first_byte": "300ms", "answer": "300ms"}}
# Retention without a quiet time, so that a test need not wait for one.
AT_ONCE = {"reconcile": {"quiet_time": "0s"}}


class Guarded(Case):
    """A test of guarded routes: start() makes self.upstream and self.gateway."""

    def start(self, default=None, route=None, upstream=None, routes=None, url=None, **top):
        """A gateway with the route `route` (changes over the default one) or `routes`."""
        self.upstream = self.use(Upstream(default or answer(201, body={"ticket": 1})))
        if routes is None:
            routes = [orders(**(route or {})), rest()]
        changes = merge({"routes": routes, "upstreams": {"legacy": upstream or {}}}, top)
        self.gateway = self.use(Gateway(url or self.upstream, changes))
        return self.gateway

    # ---- what happened ----

    def assert_no_receipt(self):
        """Nothing was sent and nothing was stored."""
        self.assertEqual(len(self.upstream.heads), 0, self.upstream.heads)
        self.assertEqual(self.gateway.operations(), [])

    def only_operation(self):
        """The one operation that there is, with its attempts."""
        listed = self.gateway.operations()
        self.assertEqual(len(listed), 1, listed)
        return self.gateway.operation(listed[0]["id"])

    def operation_of(self, response):
        """The operation that an answer names, as an operator sees it."""
        operation_id = response.get("Idempotency-Operation")
        self.assertIsNotNone(operation_id, response)
        self.assertRegex(operation_id, r"\Aop_[a-z0-9]{26}\Z")
        return self.gateway.operation(operation_id)

    def assert_state(self, response, state, end=ANY, basis=ANY, sends=None, attempts=None):
        """The receipt behind an answer; -> the operation."""
        operation = self.operation_of(response)
        self.assertEqual(operation["state"], state, operation)
        self.assertEqual(operation["reason"],
                         "needs_reconciliation" if state == "unknown" else None)
        if attempts is not None:
            self.assertEqual(len(operation["attempts"]), attempts, operation)
        if operation["attempts"]:
            last = operation["attempts"][-1]
            if end is not ANY:
                self.assertEqual((operation["end"], last["end"]), (end, end), operation)
            if basis is not ANY:
                self.assertEqual(last["basis"], basis, operation)
        else:
            self.assertIn(end, (ANY, None))
        if sends is not None:
            self.assertEqual(self.upstream.sends, sends)
        return operation

    # ---- what was answered ----

    def assert_told(self, response, status, code, outcome=ANY, state=None, retry=False,
                    new_key=None, retry_after=None):
        """A problem of Recibo's own with all its members. new_key None: the member is
        not there (before the look-up). state None: no operation is named. retry_after
        None: it follows `retry`; ANY: it may be there or not."""
        problem = self.assert_problem(response, status, code)
        self.assertEqual(problem["type"], "urn:recibo:problem:" + code)
        for name in ("title", "detail", "instance"):
            self.assertTrue(problem[name], problem)
        self.assertIs(problem["retry_may_help"], retry, problem)
        self.assertIs(problem.get("safe_new_key"), new_key, problem)
        if outcome is not ANY:
            self.assertEqual(response.get("Idempotency-Status"), outcome, response)
        if state is None:
            self.assertNotIn("operation_id", problem)
            self.assertNotIn("Idempotency-Operation", response.headers)
        else:
            self.assertEqual(problem["operation_id"], response.get("Idempotency-Operation"))
            self.assertEqual(problem["operation_state"], state, problem)
        if retry_after is not ANY:
            self.assertEqual("Retry-After" in response.headers,
                             retry if retry_after is None else retry_after, response)
        if "Retry-After" in response.headers:
            self.assertRegex(response.get("Retry-After"), r"\A[1-9][0-9]*\Z")
        self.assert_for_machines(response, code, retry)
        self.assertEqual(response.get("Cache-Control"), "no-store")
        self.assertEqual(response.get("Content-Length"), str(len(response.body)))
        self.assertNotIn("Idempotent-Replayed", response.headers)
        self.assertIsNotNone(response.get("Date"))
        return problem

    def assert_for_machines(self, response, code, retry):
        """Clients that retry by themselves are stopped where a retry is useless."""
        told = (response.get("Stripe-Should-Retry"), response.get("X-Should-Retry"))
        if code in FINAL_CODES:
            self.assertEqual(told, ("false", "false"), response)
        elif retry:
            self.assertEqual(told, (None, None), response)

    def assert_unknown_repeat(self, response):
        """What every repeat of an unknown operation gets: never a Retry-After."""
        return self.assert_told(response, 409, "outcome-unknown", "unknown", state="unknown",
                                new_key=False, retry_after=False)

    def assert_passed_on(self, response, status, outcome, body=ANY):
        """The upstream's own answer with Recibo's word on it."""
        self.assertEqual(response.status, status, response)
        self.assertNotEqual(response.get("Content-Type"), "application/problem+json", response)
        self.assertEqual(response.get("Idempotency-Status"), outcome, response)
        self.assertNotIn("Idempotent-Replayed", response.headers)
        if body is not ANY:
            self.assertEqual(response.body, body)
        return response

    def assert_replay(self, first, repeat):
        """The same answer from the record: status and body byte for byte."""
        self.assertEqual((repeat.status, repeat.body), (first.status, first.body), repeat)
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed", repeat)
        self.assertEqual(repeat.all("Idempotent-Replayed"), ["true"], repeat)
        self.assertEqual(repeat.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertEqual(repeat.get("Cache-Control"), "no-store")

    # ---- ways into a state ----

    def make_unknown(self, key="k1", body=None, **options):
        """A first call whose outcome is unknown: the upstream closes without an answer."""
        self.upstream.script(lambda exchange: False)
        response = self.gateway.post(key, ORDER if body is None else body, **options)
        self.assertEqual(response.status, 502, response)
        self.assert_state(response, "unknown", "closed_no_answer")
        return response

    def settle(self, told, verdict, status=200, **members):
        """An operator's verdict on the operation that an answer names; -> the JSON."""
        operation = self.operation_of(told)
        body = merge({"verdict": verdict, "version": operation["version"],
                      "note": "looked it up"}, members)
        seen, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"], body)
        self.assertEqual(seen, status, value)
        return value

    def wait_expired(self, response):
        """Until the operation's retention is over, by the clock that it is judged by."""
        operation_id = response.get("Idempotency-Operation")
        until = self.gateway.operation(operation_id)["expires_at"]
        self.assertIsNotNone(until)
        wait_until(lambda: now_text() > until)


def now_text():
    """The wall clock as the admin plane writes it."""
    import datetime
    now = datetime.datetime.now(datetime.timezone.utc)
    return now.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (now.microsecond // 1000)


class Background:
    """One call in a thread of its own; result() waits for it and raises what it raised."""

    def __init__(self, call):
        self._result = self._error = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call):
        try:
            self._result = call()
        except BaseException as error:  # noqa: B902 - raised again by result()
            self._error = error

    def result(self, deadline_s=60.0):
        self._thread.join(deadline_s)
        if self._thread.is_alive():
            raise AssertionError("a background call did not end within %s s" % deadline_s)
        if self._error is not None:
            raise self._error
        return self._result

    @property
    def is_running(self):
        return self._thread.is_alive()


def send_post(gateway, key, body=None, headers=(), path="/orders", **options):
    """A client whose POST is on its way; its answer is not read yet."""
    client = Client(gateway.port, **options)
    client.send("POST", path, [("Idempotency-Key", key), *headers],
                ORDER if body is None else body)
    return client
