"""Taking back what was carried out: once however often it is asked for and by whomever,
with a receipt of its own, and only where something is known to have been carried out.
"""

import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from compensating import KEYS, PARTNERS, RETRY, Compensating, created  # noqa: E402
from harness import (ROOT, Gateway, LegacyTickets, answer, fin, main, orders,  # noqa: E402
                     parallel, rest, wait)


class Once(Compensating):
    def test_by_its_owner(self):
        """Accepted when it is on record, sent once, done: 202, then 200 with its state."""
        self.start_tickets()
        operation_id = self.completed()
        first = self.as_owner(operation_id)
        self.assertEqual(first.status, 202, first)
        told = first.json()
        self.assertEqual((told["compensates"], told["state"], told["phase"]),
                         (operation_id, "pending", "deferred"))
        self.assertNotEqual(told["operation_id"], operation_id)
        self.assertEqual(first.get("Location"), "/.recibo/operations/" + told["operation_id"])
        self.wait_compensation(operation_id, "completed")
        again = self.as_owner(operation_id)
        self.assertEqual(again.status, 200, again)
        self.assertEqual((again.json()["operation_id"], again.json()["state"],
                          again.json()["status"]), (told["operation_id"], "completed", 204))
        self.assertEqual(self.deletes, ["/tickets/77"])

    def test_both_directions(self):
        """Each names the other, for operators and for its owner; the first stays as it was."""
        self.start_tickets()
        operation_id = self.completed()
        before = self.gateway.operation(operation_id)
        self.assertEqual((before["compensates"], before["compensated_by"],
                          before["compensation_state"], before["may_compensate"]),
                         (None, None, None, True))
        status, told = self.as_operator(operation_id)
        self.assertEqual((status, told["begun"], told["compensates"]), (202, True, operation_id))
        other = self.wait_compensation(operation_id, "completed")
        after = self.gateway.operation(operation_id)
        self.assertEqual((other["id"], other["compensates"]),
                         (told["compensation"]["id"], operation_id))
        self.assertEqual((after["compensated_by"], after["compensation_state"],
                          after["compensation_status"], after["may_compensate"]),
                         (other["id"], "completed", 204, False))
        self.assertEqual((after["state"], after["version"]), ("completed", before["version"]))
        self.assertEqual((other["owner"], other["labels"], other["route"]),
                         (before["owner"], before["labels"], before["route"] + "/compensation"))
        self.assertEqual((other["compensated_by"], other["may_compensate"]), (None, False))
        self.assertIn(operation_id, other["key"])
        own = self.gateway.request("GET", "/.recibo/operations/" + operation_id).json()
        self.assertEqual((own["compensated_by"], own["compensation_state"]),
                         (other["id"], "completed"))
        repeat = self.gateway.post("k1", {"order": 7})
        self.assertEqual((repeat.status, repeat.get("Idempotent-Replayed")), (201, "true"))

    def test_asked_by_many_at_once(self):
        """From two workers, the operator's plane and the command: one is sent."""
        self.start_tickets(workers=2)
        operation_id = self.completed()
        seen = []

        def ask(number):
            if number % 3 == 0:
                seen.append(self.as_operator(operation_id)[0])
            elif number % 3 == 1:
                seen.append(self.as_owner(operation_id).status)
            else:
                done = self.gateway.cli("compensate", operation_id, "--note", "n%d" % number)
                seen.append(200 if done.returncode == 0 else done.stderr)
        parallel(12, ask)
        self.assertEqual([word for word in seen if word not in (200, 202)], [])
        self.assertEqual(len(seen), 12)
        self.wait_compensation(operation_id, "completed")
        rows = [row for row in self.gateway.operations() if row["compensates"] == operation_id]
        self.assertEqual(len(rows), 1)
        self.assertEqual(self.deletes, ["/tickets/77"])
        begun = [entry for entry in self.gateway.operation(operation_id)["audit"]
                 if entry["action"] == "compensate"]
        self.assertEqual(len(begun), 1, begun)

    def test_each_operation_has_its_own(self):
        """Two operations have two compensations, though they have one label."""
        self.start_tickets()
        first, second = self.completed("k1"), self.completed("k2")
        self.as_owner(first)
        self.as_owner(second)
        self.wait_compensation(first, "completed")
        self.wait_compensation(second, "completed")
        self.assertEqual(self.deletes, ["/tickets/77", "/tickets/77"])

    def test_no_caller_has_its_key(self):
        """A caller's key that reads like that of a compensation is another one."""
        self.start_tickets()
        operation_id = self.completed()
        response = self.gateway.post(operation_id + "/compensation", {"order": 8})
        self.assertEqual(response.get("Idempotency-Status"), "executed", response)
        self.as_owner(operation_id)
        self.wait_compensation(operation_id, "completed")
        self.assertEqual(self.deletes, ["/tickets/77"])

    def test_what_is_sent(self):
        """A request of Recibo's own: nothing of the caller's, no body, no key."""
        self.start_tickets(route={"add_operation_id": {"header": "X-Operation-Id"}})
        operation_id = self.completed(headers=[("X-Trace", "secret"), ("Cookie", "a=b")])
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "completed")
        request = self.upstream.last
        self.assertEqual((request.method, request.target, request.body),
                         ("DELETE", "/tickets/77", b""))
        names = {name.lower() for name, _ in request.headers}
        for name in ("idempotency-key", "x-trace", "cookie", "x-forwarded-for", "forwarded",
                     "content-type", "content-length", "transfer-encoding"):
            self.assertNotIn(name, names)
        self.assertEqual(request.get("X-Operation-Id"), other["id"])
        self.assertIsNotNone(request.get("traceparent"))

    def test_other_methods_say_that_there_is_no_body(self):
        """POST without a body has Content-Length: 0."""
        self.start_tickets(compensate={"method": "POST",
                                       "path": "/tickets/{response:/ticket_id}/void?by={owner}"})
        operation_id = self.completed()
        self.as_owner(operation_id)
        self.wait_compensation(operation_id, "completed")
        request = self.upstream.last
        self.assertEqual((request.method, request.target, request.get("Content-Length")),
                         ("POST", "/tickets/77/void?by=tester", "0"))


class Values(Compensating):
    def ask_with(self, body, path="/tickets/{response:/ticket_id}"):
        """-> the answer of one who asks to take back what was answered with this body."""
        self.start_tickets(default=answer(201, [("Content-Type", "application/json")], body=body),
                           compensate={"path": path})
        return self.as_owner(self.completed())

    def assert_unfit(self, response, words):
        self.assert_told(response, 409, "not-compensable", state="completed", new_key=False,
                         retry_after=False)
        self.assertIn(words, response.json()["detail"])
        self.assertIn("Nothing was sent", response.json()["detail"])
        self.assertEqual(self.deletes, [])

    def assert_sent(self, body, target, **options):
        response = self.ask_with(body, **options)
        self.assertEqual(response.status, 202, response)
        self.upstream.wait_for(2)
        self.assertEqual(self.deletes, [target])

    def test_is_percent_encoded(self):
        """A value stays one value, whatever it holds."""
        self.assert_sent(b'{"ticket_id": "a b?c#d%2f&e\\u00e4"}',
                         "/tickets/a%20b%3Fc%23d%252f%26e%C3%A4")

    def test_number_as_it_is_written(self):
        """No digit is lost in a number."""
        self.assert_sent(b'{"ticket_id": 12345678901234567890123}',
                         "/tickets/12345678901234567890123")

    def test_deep_and_in_the_query(self):
        """A pointer may go deep; a slash is one value in a query."""
        self.assert_sent(b'{"a": [{"b/c": "x/y"}]}', "/void?id=x%2Fy",
                         path="/void?id={response:/a/0/b~1c}")

    def test_new_segment(self):
        """A slash in a value would make a segment."""
        for value in (b'"a/b"', b'"a\\\\b"', b'"../x"', b'".."', b'"."', b'"a\\u0000b"',
                      b'"a\\nb"'):
            with self.subTest(value=value):
                self.assert_unfit(self.ask_with(b'{"ticket_id": ' + value + b'}'), "another one")

    def test_missing_or_no_one_value(self):
        """Missing, empty, null, true, an object or a list: nothing is sent."""
        for body in (b'{}', b'{"ticket_id": ""}', b'{"ticket_id": null}', b'{"ticket_id": true}',
                     b'{"ticket_id": {"a": 1}}', b'{"ticket_id": [1]}', b'[]', b'7'):
            with self.subTest(body=body):
                self.assert_unfit(self.ask_with(body), "missing, empty, or not")

    def test_no_json(self):
        """An answer that is no JSON, or has a member twice, says nothing."""
        for body in (b'', b'<ok/>', b'{"ticket_id": 1, "ticket_id": 2}', b'{"ticket_id": 1'):
            with self.subTest(body=body):
                self.assert_unfit(self.ask_with(body), "not JSON")


class Refused(Compensating):
    def assert_refused(self, operation_id, code, state, words):
        """By both ways, with the reason, and nothing is sent."""
        sends = self.upstream.sends
        response = self.as_owner(operation_id)
        self.assert_told(response, 409, code, state=state, new_key=False, retry_after=False)
        self.assertIn(words, response.json()["detail"])
        status, told = self.as_operator(operation_id)
        self.assertEqual((status, told["code"]), (409, code))
        self.assertIn(words, told["detail"])
        self.assertEqual(told["operation"]["id"], operation_id)
        self.assertEqual(self.upstream.sends, sends)
        self.assertFalse(self.gateway.operation(operation_id)["may_compensate"])
        self.assertEqual([row for row in self.gateway.operations() if row["compensates"]], [])

    def test_unknown(self):
        """It is not known whether there is something to take back."""
        self.start_tickets(default=fin())
        operation_id = self.gateway.post("k1", {"order": 7}).get("Idempotency-Operation")
        self.assert_refused(operation_id, "outcome-unknown", "unknown", "not known")

    def test_abandoned(self):
        """Nobody will know."""
        self.start_tickets(default=fin())
        response = self.gateway.post("k1", {"order": 7})
        self.settle(response, "abandoned")
        self.assert_refused(response.get("Idempotency-Operation"), "operation-abandoned",
                            "abandoned", "not known")

    def test_released(self):
        """It did not run."""
        self.start_tickets(default=answer(429))
        operation_id = self.gateway.post("k1", {"order": 7}).get("Idempotency-Operation")
        self.assert_refused(operation_id, "not-compensable", "released", "not carried out")

    def test_deferred_and_cancelled(self):
        """It has no outcome yet; then it never will have one."""
        self.start_tickets(route={"defer": {"when": "always"}})
        self.upstream.refuse()
        operation_id = self.gateway.post("k1", {"order": 7}).get("Idempotency-Operation")
        self.assert_refused(operation_id, "not-compensable", "pending", "no outcome yet")
        self.gateway.request("POST", "/.recibo/operations/%s/cancel" % operation_id)
        self.assert_refused(operation_id, "not-compensable", "cancelled", "not carried out")

    def test_being_sent(self):
        """It is under way."""
        event = threading.Event()
        self.addCleanup(event.set)
        self.start_tickets(default=wait(event, created()))
        thread = threading.Thread(target=lambda: self.gateway.post("k1", {"order": 7}))
        thread.start()
        self.upstream.wait_for(1)
        operation_id = self.gateway.operations()[0]["id"]
        self.assert_refused(operation_id, "not-compensable", "pending", "no outcome yet")
        event.set()
        thread.join()

    def test_expired(self):
        """Its answer is no longer kept."""
        self.start_tickets(route={"retention": "300ms", "reconcile": {"quiet_time": "0s"}},
                           upstream={"timeouts": {"late": "30s"}})
        response = self.gateway.post("k1", {"order": 7})
        operation_id = response.get("Idempotency-Operation")
        self.wait_expired(response)
        told = self.as_owner(operation_id)
        self.assertEqual((told.status, told.json()["code"]), (409, "result-expired"))
        self.assertEqual(self.deletes, [])

    def test_declined(self):
        """The upstream's answer says that it did not do it."""
        self.start_tickets(default=answer(422, body=b'{"ticket_id": 5}'))
        operation_id = self.gateway.post("k1", {"order": 7}).get("Idempotency-Operation")
        self.assert_refused(operation_id, "not-compensable", "completed", "did not carry it out")

    def test_no_response_on_record(self):
        """Settled as executed without a response, or too large to be kept."""
        self.start_tickets(default=fin())
        response = self.gateway.post("k1", {"order": 7})
        self.settle(response, "executed")
        self.assert_refused(response.get("Idempotency-Operation"), "not-compensable", "completed",
                            "not on record")

    def test_body_not_kept(self):
        """An answer over replay_body_max."""
        self.start_tickets(route={"replay_body_max": 10})
        operation_id = self.completed()
        self.assert_refused(operation_id, "not-compensable", "completed", "not on record")

    def test_without_need_of_the_response(self):
        """What is named by a label can be taken back without an answer on record."""
        self.start_tickets(default=fin(), compensate={"path": "/by-order/{label:order}"})
        response = self.gateway.post("k1", {"order": 7})
        self.settle(response, "executed")
        self.assertEqual(self.as_owner(response.get("Idempotency-Operation")).status, 202)
        self.upstream.wait_for(2)
        self.assertEqual(self.deletes, ["/by-order/7"])

    def test_of_a_compensation(self):
        """A compensation is not taken back."""
        self.start_tickets()
        operation_id = self.completed()
        self.as_owner(operation_id)
        other = self.wait_compensation(operation_id, "completed")
        response = self.as_owner(other["id"])
        self.assertEqual((response.status, response.json()["code"]), (409, "not-compensable"))
        self.assertIn("compensation itself", response.json()["detail"])
        self.assertEqual(self.as_operator(other["id"])[0], 409)

    def test_route_without(self):
        """A route that does not say how."""
        self.start()
        operation_id = self.gateway.post("k1", {"order": 7}).get("Idempotency-Operation")
        response = self.as_owner(operation_id)
        self.assertEqual((response.status, response.json()["code"]), (409, "not-compensable"))
        status, told = self.as_operator(operation_id)
        self.assertEqual((status, told["code"]), (409, "not-compensable"))
        self.assertIn("compensate", told["detail"])


class Rights(Compensating):
    def test_by_operator_alone(self):
        """An owner is refused and told so; the operator is not."""
        self.start_tickets(compensate={"by": "operator"})
        operation_id = self.completed()
        response = self.as_owner(operation_id)
        self.assertEqual((response.status, response.json()["code"]), (403, "forbidden"))
        self.assertEqual(self.deletes, [])
        self.assertEqual(self.as_operator(operation_id)[0], 202)
        self.wait_compensation(operation_id, "completed")

    def test_by_owner_alone(self):
        """The operator's plane refuses it, too."""
        self.start_tickets(compensate={"by": ["owner"]})
        operation_id = self.completed()
        status, told = self.as_operator(operation_id)
        self.assertEqual((status, told["code"]), (409, "not-compensable"))
        self.assertIn("compensate.by", told["detail"])
        self.assertFalse(self.gateway.operation(operation_id)["may_compensate"])
        self.assertEqual(self.as_owner(operation_id).status, 202)

    def test_only_its_owner(self):
        """Nobody else learns of it, or takes it back, or sees the compensation."""
        self.start_tickets(route={"owner": "partners", "credentials": "strip"}, owners=PARTNERS)
        self.assertEqual(sorted(KEYS), ["acme", "bolt"])
        mine = [("X-Api-Key", "one")]
        operation_id = self.completed(headers=mine)
        for headers in ([], [("X-Api-Key", "two")], [("X-Api-Key", "three")]):
            refused = self.as_owner(operation_id, headers=headers)
            self.assertEqual((refused.status, refused.json()["code"]), (404, "not-found"))
            self.assertNotIn("Idempotency-Operation", refused.headers)
        told = self.as_owner(operation_id, headers=mine)
        self.assertEqual(told.status, 202, told)
        for headers, status in (([("X-Api-Key", "two")], 404), (mine, 200)):
            seen = self.gateway.request("GET", told.get("Location"), headers=headers)
            self.assertEqual(seen.status, status, seen)

    def test_what_is_not_there(self):
        """Unknown ids, other methods and other paths are refused like elsewhere."""
        self.start_tickets()
        operation_id = self.completed()
        path = "/.recibo/operations/%s/compensate" % operation_id
        response = self.gateway.request("GET", path)
        self.assertEqual((response.status, response.get("Allow")), (405, "POST"))
        self.assertEqual(self.as_owner("op_" + "a" * 26).status, 404)
        self.assertEqual(self.gateway.request("POST", path + "/").status, 405)
        self.assertEqual(self.as_operator("op_" + "a" * 26)[0], 404)
        self.assertEqual(self.deletes, [])

    def test_note_and_right(self):
        """An operator says why, and has the right control; both are on record."""
        self.start_tickets()
        operation_id = self.completed()
        for note in ("", "   "):
            self.assertEqual(self.as_operator(operation_id, note)[0], 400)
        status, _, _ = self.gateway.admin("POST", "/v1/operations/%s/compensate" % operation_id,
                                          {"note": "x"}, token="nobody")
        self.assertEqual(status, 401)
        self.assertEqual(self.deletes, [])
        _, told = self.as_operator(operation_id, "customer withdrew")
        for subject in (operation_id, told["compensation"]["id"]):
            entry = [entry for entry in self.gateway.operation(subject)["audit"]
                     if entry["action"] == "compensate"]
            self.assertEqual([(each["note"], each["subject"]) for each in entry],
                             [("customer withdrew", subject)])
            self.assertTrue(entry[0]["actor"].startswith("token:"), entry)


class Told(Compensating):
    def test_cancel_points_to_it(self):
        """Too late to stop it, and where it can be taken back."""
        self.start_tickets()
        operation_id = self.completed()
        response = self.gateway.request("POST", "/.recibo/operations/%s/cancel" % operation_id)
        problem = self.assert_told(response, 409, "already-executed", state="completed",
                                   new_key=False, retry_after=False)
        self.assertEqual(problem["compensate"],
                         "/.recibo/operations/%s/compensate" % operation_id)
        self.assertIn(problem["compensate"], problem["detail"])
        _, _, told = self.gateway.admin("POST", "/v1/operations/%s/cancel" % operation_id,
                                        {"note": "n"})
        self.assertEqual((told["code"], told["compensate"]),
                         ("already-executed", "/v1/operations/%s/compensate" % operation_id))

    def test_cancel_without_one(self):
        """No pointer where the route has none, or the owner may not."""
        self.start_tickets(compensate={"by": "operator"})
        operation_id = self.completed()
        response = self.gateway.request("POST", "/.recibo/operations/%s/cancel" % operation_id)
        self.assertNotIn("compensate", response.json())

    def test_command(self):
        """The command says what is on its way, what is done, and what went wrong."""
        self.start_tickets()
        operation_id = self.completed()
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "outage"})
        done = self.gateway.cli("compensate", operation_id, "--note", "withdrew")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("will be taken back, and is not yet", done.stdout)
        self.assertIn("DELETE /tickets/77", done.stdout)
        done = self.gateway.cli("compensate", operation_id, "--note", "withdrew")
        self.assertIn("is being taken back already", done.stdout)
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "over"})
        other = self.wait_compensation(operation_id, "completed")
        done = self.gateway.cli("compensate", operation_id, "--note", "withdrew")
        self.assertIn("taken back by %s" % other["id"], done.stdout)
        self.assertIn("answered 204", done.stdout)
        self.assertEqual(self.gateway.cli("compensate", operation_id).returncode, 2)
        self.assertEqual(self.gateway.cli("compensate", "op_" + "a" * 26, "--note",
                                          "x").returncode, 3)
        self.assertEqual(self.gateway.cli("compensate", other["id"], "--note", "x").returncode, 1)
        shown = self.gateway.cli("backlog", "show", operation_id).stdout
        self.assertIn("taken back   completed, by %s, answered 204" % other["id"], shown)
        shown = self.gateway.cli("backlog", "show", other["id"]).stdout
        self.assertIn("takes back   %s" % operation_id, shown)
        self.assertIn("to take back %s" % operation_id, self.gateway.cli("why", other["id"]).stdout)
        self.assertIn("compensate by", self.gateway.cli("why", operation_id).stdout)

    def test_contract(self):
        """What a client may rely on, and where it asks."""
        self.start_tickets()
        contract = self.gateway.request("GET", "/.recibo/contract").json()["routes"][0]
        self.assertEqual(contract["compensation"],
                         {"by": ["operator", "owner"],
                          "ask": "/.recibo/operations/{operation_id}/compensate"})
        told = self.gateway.request("GET", "/.recibo/problems/not-compensable").json()
        self.assertEqual(told["status"], 409)

    def test_metrics(self):
        """Begun is counted by who asked; a doubt has the name of its own."""
        self.start_tickets()
        first, second = self.completed("k1"), self.completed("k2")
        self.delete_answers = [answer(204), fin()]
        self.as_owner(first)
        self.wait_compensation(first, "completed")
        self.as_owner(first)
        self.as_operator(second)
        self.wait_compensation(second, "unknown")
        metrics = self.gateway.metrics()
        for by in ("owner", "operator"):
            self.assertEqual(metrics['recibo_compensations_total{route="create-order",by="%s"}'
                                     % by], 1)
        self.assertEqual(metrics['recibo_unknown{route="create-order/compensation"}'], 1)
        self.assertEqual(metrics['recibo_unknown{route="create-order"}'], 0)

    def test_check_and_explain(self):
        """What would happen is said before it happens."""
        self.start_tickets(route={"retry": RETRY})
        check = self.gateway.cli("check", "-c", self.gateway.path).stdout
        self.assertIn("DELETE /tickets/{response:/ticket_id}", check)
        self.assertIn("an operator or its owner", check)
        explain = self.gateway.cli("explain", "POST", "/orders", "-c", self.gateway.path).stdout
        self.assertIn("completed, and to be taken back", explain)
        self.assertIn("not-compensable", explain)


class Example(Compensating):
    def test_a_ticket_of_the_example_api(self):
        """The line of the shipped example takes a real ticket back, once."""
        with open(os.path.join(ROOT, "examples", "tickets-gateway.yaml"), encoding="utf-8") as file:
            line = re.search(r"^    compensate: (.*)$", file.read(), re.MULTILINE).group(1)
        path = re.search(r'path: "([^"]+)"', line).group(1)
        legacy = self.use(LegacyTickets())
        route = orders(match={"methods": ["POST"], "path": "/tickets"},
                       labels={"order": None, "reference": {"json": "/external_reference"}},
                       compensate={"method": "DELETE", "path": path, "by": ["operator", "owner"]})
        self.gateway = self.use(Gateway(legacy.url, {"routes": [route, rest()]}))
        made = self.gateway.post("k1", {"subject": "printer on fire",
                                        "external_reference": "ref-1"}, path="/tickets")
        self.assertEqual(made.status, 201, made)
        place = made.get("Location")
        self.assertEqual(legacy.request("GET", place).status, 200)
        operation_id = made.get("Idempotency-Operation")
        self.assertEqual(self.as_owner(operation_id).status, 202)
        other = self.wait_compensation(operation_id, "completed")
        self.assertEqual((other["target"], other["status"]), (place, 204))
        self.assertEqual(legacy.request("GET", place).status, 404)
        self.assertEqual(self.as_owner(operation_id).status, 200)


if __name__ == "__main__":
    main()
