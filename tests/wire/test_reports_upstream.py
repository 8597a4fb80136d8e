"""Reports about the upstream side: idle closes, hidden repeats, statuses, and cut answers."""

import queue
import threading

from bugs_lib import HASTY, PATIENT, Reports, answer_then_close_idle, guarded, routes
from harness import (Gateway, Upstream, answer, chunked, close_delimited, cut, fin, hang, main,
                     parallel, raw, reset, wait_until)

ROUNDS = 2000
RACERS = 8
IDLE_S = 0.050
SPREAD_S = 0.005
UNKNOWN_MAX = ROUNDS // 50
UNSAFE = [{"name": "unsafe", "mode": "pass",
           "match": {"methods": ["POST", "PUT", "DELETE"], "path": "/unsafe"}}]


class IdleCloseReports(Reports):
    def test_an_upstream_that_closes_just_then_loses_and_doubles_nothing(self):
        """2,000 POSTs timed at the upstream's idle close: none is doubled or lacks a receipt."""
        upstream = self.use(Upstream(answer_then_close_idle(answer(201, body=b"done"), IDLE_S)))
        gateway = self.use(Gateway(upstream, routes(
            guarded(), timeouts=PATIENT, log={"level": "error"})))
        pacer = threading.Event()

        def race(racer):
            seen = []
            with gateway.client(timeout=60) as client:
                for number in range(ROUNDS // RACERS):
                    key = "race-%d-%d" % (racer, number)
                    response = client.request("POST", "/orders", [("Idempotency-Key", key)],
                                              {"order": key})
                    seen.append((key, response))
                    share = (number * 7919 % 201 - 100) / 100.0
                    pacer.wait(IDLE_S + SPREAD_S * share)
            return seen
        seen = [pair for pairs in parallel(RACERS, race) for pair in pairs]
        self.assertEqual(len(seen), ROUNDS)
        sent = {}
        for request in upstream.requests:
            order = request.json()["order"]
            sent[order] = sent.get(order, 0) + 1
        self.assertEqual([order for order, count in sent.items() if count > 1], [])
        unknown = 0
        for key, response in seen:
            if response.status == 201:
                self.assertEqual(sent.get(key), 1, key)
                continue
            if response.json()["code"] == "upstream-unreachable":
                self.assertNotIn(key, sent)
                self.assertTrue(response.json()["safe_new_key"])
                continue
            self.assert_problem(response, 502, "upstream-bad-response")
            self.assert_unknown(gateway, key, ("closed_no_answer", "reset_no_answer"))
            unknown += 1
        self.assertLessEqual(unknown, UNKNOWN_MAX)
        self.assertGreater(upstream.connections, RACERS)  # the closes did happen

    def test_connections_closed_while_idle_are_not_used(self):
        """A kept connection that has ended is noticed before the write: a new one, no unknown."""
        for name, drop in (("fin", False), ("reset", True)):
            with self.subTest(how=name):
                upstream = self.use(Upstream(answer(201, body=b"done")))
                gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
                for number in range(20):
                    response = gateway.post("%s-%d" % (name, number), {"order": number})
                    self.assertEqual(response.status, 201, response)
                    upstream.drop_connections(with_reset=drop)
                    upstream.wait_open(0)
                self.assertEqual(upstream.sends, 20)
                self.assertEqual(gateway.operations(state="unknown"), [])

    def test_unasked_bytes_on_an_idle_connection_answer_nobody(self):
        """Bytes sent after an answer never become the answer of the next request."""
        stray = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"
        whole = b"HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nmine"
        upstream = self.use(Upstream(raw(whole + stray, close=False)))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
        for number in range(10):
            response = gateway.post("stray-%d" % number, {"order": number})
            self.assertEqual((response.status, response.body), (201, b"mine"), response)
        self.assertEqual((upstream.sends, upstream.connections), (10, 10))


class HiddenRepeatReports(Reports):
    """The upstream reads a request on a kept connection and then goes away."""

    LOSSES = {"fin": (fin(), "closed_no_answer"), "reset": (reset(), "reset_no_answer"),
              "half a status line": (fin(b"HTTP/1.1 2"), None),
              "half a head": (reset(b"HTTP/1.1 200 OK\r\nContent-Le"), None),
              "only an interim answer": (fin(b"HTTP/1.1 100 Continue\r\n\r\n"), None)}

    def test_a_request_read_on_a_reused_connection_is_not_sent_again(self):
        """Read and then closed or reset, on a first or a kept connection: one send, unknown."""
        for name, (action, end) in self.LOSSES.items():
            for reused in (True, False):
                with self.subTest(loss=name, reused=reused):
                    upstream = self.use(Upstream(answer(201, body=b"warm")))
                    gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
                    if reused:
                        self.assertEqual(gateway.post("warm", {"order": 0}).status, 201)
                    upstream.script(action)
                    sends = upstream.sends
                    response = gateway.post("lost", {"order": 1})
                    self.assert_problem(response, 502, "upstream-bad-response")
                    self.assertEqual(response.get("Stripe-Should-Retry"), "false")
                    self.assert_unknown(gateway, "lost", end)
                    for _ in range(2):
                        self.assert_refused_unknown(gateway.post("lost", {"order": 1}))
                    self.assertEqual(upstream.sends, sends + 1)
                    if reused:
                        self.assertEqual(upstream.requests[1].connection,
                                         upstream.requests[0].connection)
                    self.assertEqual(gateway.post("next", {"order": 2}).status, 201)

    def test_unprotected_unsafe_methods_are_not_sent_again_either(self):
        """On a pass route POST, PUT and DELETE are sent once, whatever becomes of it."""
        for name, (action, _) in self.LOSSES.items():
            for method in ("POST", "PUT", "DELETE"):
                with self.subTest(loss=name, method=method):
                    upstream = self.use(Upstream(answer(200, body=b"warm")))
                    gateway = self.use(Gateway(upstream, routes(guarded(), *UNSAFE)))
                    self.assertEqual(gateway.request("GET", "/warm").status, 200)
                    upstream.script(action)
                    response = gateway.request(method, "/unsafe", [], b"x")
                    self.assertEqual(response.status, 502, response)
                    self.assertEqual(upstream.sends, 2)

    def test_a_keyless_request_on_an_optional_route_is_not_sent_again(self):
        """Without a key on `required: false` the request passes unprotected, but once."""
        upstream = self.use(Upstream(answer(201, body=b"warm")))
        gateway = self.use(Gateway(upstream, routes(guarded(key={"required": False}))))
        response = gateway.post(None, {"order": 0})
        self.assertEqual(response.get("Idempotency-Status"), "unprotected", response)
        for action in (fin(), reset()):
            upstream.script(action)
            sends = upstream.sends
            self.assertEqual(gateway.post(None, {"order": 1}).status, 502)
            self.assertEqual(upstream.sends, sends + 1)
        self.assertEqual(gateway.operations(), [])

    def test_a_timeout_is_not_a_reason_to_send_again(self):
        """No answer in time: one send, 504, unknown; the late answer turns it into a replay."""
        answers = queue.Queue()

        def late(exchange):
            answers.get(timeout=60)
            return answer(201, body=b"late but here")(exchange)
        upstream = self.use(Upstream(late))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=HASTY)))
        response = gateway.post("late", {"order": 1})
        self.assert_problem(response, 504, "upstream-timeout")
        self.assert_unknown(gateway, "late", "answer_timeout")
        self.assert_refused_unknown(gateway.post("late", {"order": 1}))
        answers.put(True)
        self.wait_key_state(gateway, "late", "completed")
        replay = gateway.post("late", {"order": 1})
        self.assertEqual((replay.status, replay.body), (201, b"late but here"))
        self.assertEqual(replay.get("Idempotent-Replayed"), "true")
        self.assertEqual(upstream.sends, 1)


class StatusReports(Reports):
    """An upstream that does the work and then answers with an error."""

    def gateway_for(self, upstream, **route):
        return self.use(Gateway(upstream, routes(guarded(**route), timeouts=PATIENT)))

    def test_a_server_error_is_handed_over_and_never_sent_again(self):
        """5xx and 408: sent once, the upstream's own body to the first caller, then unknown."""
        for status in (500, 502, 503, 504, 507, 508, 511, 599, 408):
            with self.subTest(status=status):
                upstream = self.use(Upstream(answer(200, body=b"second")))
                upstream.script(answer(status, [("Retry-After", "1"), ("X-Own", "1")], b"booked!"))
                gateway = self.gateway_for(upstream)
                first = gateway.post("k", {"order": 1})
                self.assertEqual((first.status, first.body), (status, b"booked!"))
                self.assertEqual(first.get("X-Own"), "1")
                self.assertEqual(first.get("Idempotency-Status"), "unknown")
                self.assertEqual(upstream.sends, 1)
                self.assert_unknown(gateway, "k", "answered")
                self.assert_refused_unknown(gateway.post("k", {"order": 1}))
                self.assertEqual(upstream.sends, 1)

    def test_a_known_failure_is_kept_like_a_success(self):
        """501, 505 and 4xx without a rule are outcomes: recorded, replayed, sent once."""
        for status in (501, 505, 400, 402, 404, 409, 410, 412, 422, 426, 428, 431, 451, 301, 307):
            with self.subTest(status=status):
                upstream = self.use(Upstream(answer(200, body=b"second")))
                upstream.script(answer(status, [("Location", "/x")], b"no"))
                gateway = self.gateway_for(upstream)
                first = gateway.post("k", {"order": 1})
                self.assertEqual((first.status, first.body), (status, b"no"))
                self.assert_replay(gateway.post("k", {"order": 1}), first)
                self.assertEqual(upstream.sends, 1)

    def test_a_declared_refusal_waits_for_the_caller(self):
        """401, 403, 421, 425, 429: passed on with Retry-After, not repeated by the gateway."""
        for status in (401, 403, 421, 425, 429):
            with self.subTest(status=status):
                upstream = self.use(Upstream(answer(200, body=b"second")))
                upstream.script(answer(status, [("Retry-After", "0")], b"not now"))
                gateway = self.gateway_for(upstream)
                first = gateway.post("k", {"order": 1})
                self.assertEqual((first.status, first.body), (status, b"not now"))
                self.assertEqual(first.get("Retry-After"), "0")
                self.assertEqual(first.get("Idempotency-Status"), "released")
                operation = self.operation_of(gateway, "k")
                self.assertEqual(operation["state"], "released")
                self.assertEqual(operation["attempts"][0]["basis"], "declared")
                self.assertEqual(upstream.sends, 1)
                second = gateway.post("k", {"order": 1})
                self.assertEqual((second.status, second.body), (200, b"second"))
                self.assertEqual(upstream.sends, 2)

    def test_the_outcome_table_of_a_route_decides(self):
        """Statuses and rules named by the route win over the defaults, in both directions."""
        outcome = {"refused": [503], "unknown": [418, "504-599"], "rules": [
            {"status": 200, "json": {"/ok": False}, "means": "refused"},
            {"status": 200, "json": {"/code": 1}, "means": "refused"},
            {"status": 200, "json": {"/word": "1"}, "means": "refused"},
            {"status": 302, "header": {"Location": "*/login*"}, "means": "refused"},
            {"media_type": "text/html", "means": "unknown"},
            {"text": "MAINTENANCE", "means": "unknown"}]}
        json_type, html = [("Content-Type", "application/json")], [("Content-Type", "text/html")]
        cases = [(answer(503, body=b"x"), "released"), (answer(418, body=b"x"), "unknown"),
                 (answer(504, body=b"x"), "unknown"), (answer(500, body=b"x"), "completed"),
                 (answer(429, body=b"x"), "completed"),
                 (answer(200, json_type, b'{"ok":false}'), "released"),
                 (answer(200, json_type, b'{"ok":[false]}'), "completed"),
                 (answer(200, json_type, b'{"o":{"ok":false}}'), "completed"),
                 (answer(200, body=b'not JSON: {"ok":false}'), "completed"),
                 (answer(200, json_type, b'{"code":1}'), "released"),
                 (answer(200, json_type, b'{"code":1.0}'), "completed"),
                 (answer(200, json_type, b'{"word":"1"}'), "released"),
                 (answer(200, json_type, b'{"word":1}'), "completed"),
                 (answer(200, json_type, b'{"ok":true}'), "completed"),
                 (answer(302, [("Location", "https://h/login?x")]), "released"),
                 (answer(302, [("Location", "/orders/1")]), "completed"),
                 (answer(200, html, b"<p>"), "unknown"),
                 (answer(201, body=b"in MAINTENANCE now"), "unknown")]
        upstream = self.use(Upstream())
        gateway = self.gateway_for(upstream, outcome=outcome)
        for number, (action, state) in enumerate(cases):
            with self.subTest(number=number, state=state):
                upstream.script(action)
                gateway.post("k%d" % number, {"order": number})
                operation = self.operation_of(gateway, "k%d" % number)
                self.assertEqual(operation["state"], state, operation)
        self.assertEqual(upstream.sends, len(cases))

    def test_an_upstream_that_does_not_listen_is_a_proof(self):
        """Refused before a byte left: 502, released, free to be sent again, by proof."""
        upstream = self.use(Upstream(answer(201, body=b"done")))
        gateway = self.gateway_for(upstream)
        upstream.refuse()
        response = gateway.post("k", {"order": 1})
        problem = self.assert_problem(response, 502, "upstream-unreachable")
        self.assertTrue(problem["safe_new_key"] and problem["retry_may_help"])
        operation = self.operation_of(gateway, "k")
        self.assertEqual((operation["state"], operation["end"]), ("released", "connect_refused"))
        self.assertEqual(operation["attempts"][0]["basis"], "proved")
        upstream.listen_again()
        self.assertEqual(gateway.post("k", {"order": 1}).status, 201)
        self.assertEqual(upstream.sends, 1)


class CutReports(Reports):
    """Answers that end too early, or only seem to."""

    BODY = b"0123456789" * 10
    HEAD_1_0 = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    BROKEN = {
        "40 of 100 bytes": cut(40, 200, body=BODY),
        "40 of 100 bytes, reset": cut(40, 200, body=BODY, with_reset=True),
        "none of 100 bytes": cut(0, 200, body=BODY),
        "99 of 100 bytes": cut(-1, 201, body=BODY),
        "chunked without the last chunk": chunked([b"abc"], 200, end=False),
        "last chunk without its blank line": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
                                                 b"\r\n\r\n3\r\nabc\r\n0\r\n"),
        "within a chunk": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nabc"),
        "chunked, reset": reset(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc"
                                b"\r\n"),
        "close-delimited, reset": reset(HEAD_1_0 + b"abc"),
        "within the head": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-"),
    }
    MALFORMED = {
        "two lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n"
                           b"\r\nabcd"),
        "length and chunked": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: "
                                  b"chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
        "signed length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\nabc"),
        "huge length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551619\r\n\r\nabc"),
        "bad chunk size": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x3\r\nabc"
                              b"\r\n0\r\n\r\n"),
        "unknown coding": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n"
                              b"\r\n"),
        "no HTTP": raw(b"hello\r\n\r\n"),
        "status of two digits": raw(b"HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"),
        "unasked switch": raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
        "NUL in a value": raw(b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 0\r\n\r\n"),
    }
    LEGAL = {
        "close-delimited": (close_delimited(200, body=b"abc"), b"abc"),
        "close-delimited HTTP/1.0": (raw(HEAD_1_0 + b"abc"), b"abc"),
        "close-delimited and empty": (raw(HEAD_1_0), b""),
        "chunk with an extension": (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                        b"3;x=\"y\"\r\nabc\r\n000\r\n\r\n"), b"abc"),
        "whole and then reset": (reset(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), b"abc"),
    }

    def test_a_cut_or_malformed_answer_is_never_complete(self):
        """Cut short or malformed: 502 to the caller, unknown on record, no second send."""
        for name, action in {**self.BROKEN, **self.MALFORMED}.items():
            with self.subTest(answer=name):
                upstream = self.use(Upstream(answer(201, body=b"second")))
                upstream.script(action)
                gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
                response = gateway.post("k", {"order": 1})
                self.assert_problem(response, 502, "upstream-bad-response")
                self.assertNotIn(b"0123", response.body)
                ends = ("closed_no_answer", "reset_no_answer", "cut_answer") \
                    if name in self.BROKEN else ("bad_answer", "answer_too_large")
                operation = self.assert_unknown(gateway, "k", ends)
                attempt = operation["attempts"][0]
                self.assertGreater(attempt["bytes_out"], 0)
                self.assertGreater(attempt["bytes_in"], 0)
                self.assert_refused_unknown(gateway.post("k", {"order": 1}))
                self.assertEqual(upstream.sends, 1)

    def test_the_evidence_names_the_status_of_a_cut_answer(self):
        """What was seen of a cut answer, its status line, is in the evidence."""
        upstream = self.use(Upstream(cut(40, 201, body=self.BODY)))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
        gateway.post("k", {"order": 1})
        operation = self.assert_unknown(gateway, "k", "cut_answer")
        self.assertEqual(operation["attempts"][0]["status"], 201, operation)

    def test_a_legal_end_is_complete(self):
        """An answer that is whole by the rules is recorded and replayed."""
        for name, (action, body) in self.LEGAL.items():
            with self.subTest(answer=name):
                upstream = self.use(Upstream(answer(201, body=b"second")))
                upstream.script(action)
                gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=PATIENT)))
                first = gateway.post("k", {"order": 1})
                self.assertEqual((first.status, first.body), (200, body), first)
                self.assert_replay(gateway.post("k", {"order": 1}), first)
                self.assertEqual(upstream.sends, 1)

    def test_an_answer_that_stalls_is_not_cut_into_a_success(self):
        """Half an answer and then silence: 504 or 502, unknown, and the rest may still come."""
        upstream = self.use(Upstream())
        go_on = threading.Event()

        def act(exchange):
            exchange.send(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\n01234")
            go_on.wait(60)
            exchange.send(b"56789")
            return True
        upstream.default = act
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=HASTY)))
        response = gateway.post("k", {"order": 1})
        self.assert_problem(response, 504, "upstream-timeout")
        self.assert_unknown(gateway, "k", ("idle_timeout", "answer_timeout"))
        go_on.set()
        wait_until(lambda: gateway.operations(key="k")[0]["state"] == "completed")
        self.assertEqual(gateway.post("k", {"order": 1}).body, b"0123456789")
        self.assertEqual(upstream.sends, 1)

    def test_a_cut_answer_on_a_pass_route_is_seen_as_cut(self):
        """On a pass route a caller never gets a cut answer that parses as a whole one."""
        for name, action in self.BROKEN.items():
            with self.subTest(answer=name):
                upstream = self.use(Upstream(action))
                gateway = self.use(Gateway(upstream, routes(guarded())))
                try:
                    response = gateway.request("GET", "/other")
                except AssertionError:
                    continue  # the harness saw that the answer ended too early
                self.assertEqual(response.status, 502, (name, response))

    def test_silence_then_close_is_seen_within_the_late_time(self):
        """A close after the timeout leaves the unknown as it is, and still sends nothing."""
        gone = threading.Event()
        upstream = self.use(Upstream(hang(gone)))
        gateway = self.use(Gateway(upstream, routes(guarded(), timeouts=HASTY)))
        self.assert_problem(gateway.post("k", {"order": 1}), 504, "upstream-timeout")
        upstream.drop_connections()
        self.assertTrue(gone.wait(30))
        self.assert_refused_unknown(gateway.post("k", {"order": 1}))
        self.assertEqual(upstream.sends, 1)


if __name__ == "__main__":
    main()
