"""Probes: asking the upstream what became of a lost call, and what the answers may do."""

import datetime
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import now_text
from harness import Upstream, answer, fin, hang, main, wait, wait_until
from probing import (FOUND, FOUND_ITEM, NOTHING, Background, Probing, QUESTION, QUIET,
                     json_answer)

def seconds_since(text):
    """By the wall clock, which due times are judged by."""
    then = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (datetime.datetime.now(datetime.timezone.utc) - then).total_seconds()


# So long that no test sees a question that the route asks by itself.
LATER = {"quiet_time": "10m"}


class Executed(Probing):
    def test_a_found_effect_completes_the_operation(self):
        """A lost call that the upstream has is completed, and its repeat is answered at once."""
        self.start_probing()
        operation_id = self.lose()
        operation = self.gateway.wait_state(operation_id, "completed")
        self.assertEqual(operation["probe"], "executed")
        self.assertIsNone(operation["next_probe_at"])
        repeat = self.gateway.post("k1", {"order": 7})
        self.assertEqual((repeat.status, repeat.body), (201, FOUND_ITEM))
        self.assertEqual(repeat.get("Content-Type"), "application/json")
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed")
        self.assertEqual(repeat.get("Idempotency-Operation"), operation_id)
        self.assertEqual(len(self.posts), 1)

    def test_the_verdict_is_audited(self):
        """A probe's verdict stands in the audit with its reason and not as a person's."""
        self.start_probing()
        operation = self.gateway.wait_state(self.lose(), "completed")
        entries = [entry for entry in operation["audit"] if entry["action"] == "probed"]
        self.assertEqual(len(entries), 1, operation["audit"])
        self.assertEqual(entries[0]["actor"], "probe")
        self.assertIn("result=executed", entries[0]["detail"])
        self.assertIn("executed_when", entries[0]["note"])

    def test_a_finding_is_kept_as_evidence(self):
        """What was asked, by whom, and what came stands on the operation."""
        self.start_probing()
        operation_id = self.lose()
        operation = self.gateway.wait_state(operation_id, "completed")
        self.assertEqual(len(operation["probes"]), 1)
        probe = operation["probes"][0]
        self.assertEqual(probe["target"], "GET %s?ref=%s" % (QUESTION, operation_id))
        self.assertEqual((probe["by"], probe["result"], probe["end"], probe["status"]),
                         ("route", "executed", "answered", 200))

    def test_without_a_response_nothing_is_invented(self):
        """An effect that was found, without a way to build its answer: executed, no answer."""
        self.start_probing({"response": None})
        self.gateway.wait_state(self.lose(), "completed")
        told = self.gateway.post("k1", {"order": 7})
        problem = self.assert_problem(told, 409, "result-unavailable")
        self.assertIs(problem["executed"], True)
        self.assertEqual(len(self.posts), 1)

    def test_a_response_that_cannot_be_built_leaves_the_doubt(self):
        """Completed is for good: without the promised answer a person has to look."""
        self.start_probing({"response": {"status": 201, "body": {"from": "/items/0/ticket"}}})
        operation = self.wait_probed(self.lose(), 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "unclear"))

    def test_a_response_without_a_body(self):
        """A response of a status alone is replayed as such."""
        self.start_probing({"response": {"status": 204, "body": None}})
        self.gateway.wait_state(self.lose(), "completed")
        repeat = self.gateway.post("k1", {"order": 7})
        self.assertEqual((repeat.status, repeat.body), (204, b""))
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed")


class Absent(Probing):
    def test_a_hint_settles_nothing(self):
        """Absent as a hint is shown and can be filtered for; the key stays taken."""
        self.start_probing()
        self.reply = json_answer(NOTHING)
        operation = self.wait_probed(self.lose(), 2)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "absent"))
        self.assertEqual(len(self.gateway.operations(probe="absent")), 1)
        self.assertEqual(self.gateway.operations(probe="executed"), [])
        self.assert_unknown_repeat(self.gateway.post("k1", {"order": 7}))
        self.assertEqual(len(self.posts), 1)

    def test_a_proof_frees_the_key(self):
        """Absent as a proof, after the quiet time: the same key may be sent again."""
        self.start_probing({"absent_is": "proof", "quiet_time": "200ms"}, upstream=QUIET)
        self.reply = json_answer(NOTHING)
        operation = self.gateway.wait_state(self.lose(), "released")
        self.assertEqual(operation["probe"], "absent")
        self.assertEqual(operation["attempts"][-1]["basis"], "asserted")
        self.assertIn(("probe", "probed"),
                      [(entry["actor"], entry["action"]) for entry in operation["audit"]])
        again = self.gateway.post("k1", {"order": 7})
        self.assertEqual((again.status, again.get("Idempotency-Status")), (201, "executed"))
        self.assertEqual(len(self.posts), 2)

    def test_no_proof_before_the_quiet_time(self):
        """A person's question before the quiet time is over: absent is only a hint."""
        self.start_probing(dict(LATER, absent_is="proof"))
        self.reply = json_answer(NOTHING)
        operation_id = self.lose()
        self.ask(operation_id)
        operation = self.wait_probed(operation_id, 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "absent"))
        self.assertGreater(operation["next_probe_at"], now_text())

    def test_executed_needs_no_quiet_time(self):
        """What is there has run, however early somebody asks."""
        self.start_probing(LATER)
        operation_id = self.lose()
        self.ask(operation_id)
        self.gateway.wait_state(operation_id, "completed")

    def test_not_by_itself_before_the_quiet_time(self):
        """The route does not ask while bytes of the lost call may still land."""
        self.start_probing(LATER)
        operation = self.gateway.operation(self.lose())
        self.assertEqual(operation["probe_count"], 0)
        self.assertGreater(operation["next_probe_at"], now_text())
        self.assertEqual(self.questions, [])


class Unclear(Probing):
    def check(self, reply, probe, end="answered", **reconcile):
        self.start_probing(reconcile)
        self.reply = reply
        operation = self.wait_probed(self.lose(), 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", probe), operation)
        self.assertEqual(operation["probes"][0]["end"], end)
        self.assert_unknown_repeat(self.gateway.post("k1", {"order": 7}))
        return operation

    def test_both_conditions(self):
        """An answer that fits both conditions says nothing."""
        operation = self.check(json_answer(FOUND), "unclear", absent_when={
            "status": 200, "json": {"/items": "plain!exists"}})
        self.assertIn("both", operation["probes"][0]["reason"])

    def test_neither_condition(self):
        """An error page of the upstream is no finding."""
        self.check(answer(500, body=FOUND), "unclear")

    def test_no_json(self):
        """A body that is not what the condition looks into is no finding."""
        self.check(answer(200, body=b"<html>items</html>"), "unclear")

    def test_too_large_to_be_looked_into(self):
        """An answer that was not held whole in memory is no finding."""
        body = b'{"pad": "' + b"x" * 100000 + b'", "items": [{"id": 1}]}'
        self.start_probing(route={"replay_body_max": "1KiB"})
        self.reply = json_answer(body)
        operation = self.wait_probed(self.lose(), 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "unclear"))

    def test_no_answer(self):
        """An upstream that closes has said nothing."""
        self.check(fin(), "failed", "closed_no_answer")

    def test_no_answer_in_time(self):
        """An upstream that hangs has said nothing, and nobody listens any longer."""
        self.start_probing({"quiet_time": "200ms"}, upstream=QUIET)
        self.reply = hang()
        operation = self.wait_probed(self.lose(), 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "failed"))
        self.assertEqual(operation["probes"][0]["end"], "answer_timeout")

    def test_half_an_answer(self):
        """An answer that is cut off has said nothing, even if what came would fit."""
        def cut_off(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + FOUND)
            return False
        self.check(cut_off, "failed", "cut_answer")


class Questions(Probing):
    def test_nothing_of_the_caller_is_sent(self):
        """A probe is Recibo's own GET: no key, credential, cookie or field of the caller."""
        self.start_probing()
        self.lose(headers=[("Authorization", "Bearer s3cret"), ("Cookie", "sid=1"),
                           ("X-Api-Key", "s3cret"), ("X-Forwarded-For", "192.0.2.9"),
                           ("User-Agent", "shop/1")])
        request = wait_until(lambda: self.questions)[0]
        self.assertEqual(request.method, "GET")
        names = sorted(name.lower() for name, _ in request.headers.pairs)
        self.assertEqual(names, ["accept", "accept-encoding", "host", "traceparent", "via"])
        self.assertEqual(request.get("Host"), "127.0.0.1:%d" % self.upstream.port)
        self.assertEqual(request.body, b"")

    def test_values_stay_values(self):
        """What callers wrote is escaped: it cannot add a parameter or leave the path."""
        label = "a b&c=/../%2e#\u00e9"
        self.start_probing({"probe": {"path": QUESTION + "?order={label:order}&k={key}"}},
                           {"labels": {"order": {"json": "/order"}}})
        self.lose("k/1:2+3", {"order": label})
        request = wait_until(lambda: self.questions)[0]
        self.assertEqual(request.target, QUESTION + "?order=a%20b%26c%3D%2F..%2F%252e%23%C3%A9"
                         "&k=k%2F1%3A2%2B3")

    def check_not_asked(self, path, body, key="k1"):
        self.start_probing({"probe": {"path": path}}, {"labels": {"order": {"json": "/order"}}})
        operation = self.wait_probed(self.lose(key, body), 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "failed"))
        self.assertIsNone(operation["next_probe_at"])
        self.assertEqual(len(self.upstream.heads), 1) # the lost call alone
        return operation["probes"][0]["reason"]

    def test_a_missing_label_is_not_asked_for(self):
        """Without its value the question would be about everything, and is not put."""
        reason = self.check_not_asked(QUESTION + "?order={label:order}", {"other": 1})
        self.assertIn("order", reason)

    def test_a_label_that_may_be_cut_is_not_asked_for(self):
        """The first 64 bytes of a longer value are the value of others, too."""
        self.check_not_asked(QUESTION + "?order={label:order}", {"order": "x" * 70})

    def test_a_value_that_climbs_is_not_asked_for(self):
        """A value never becomes another path segment, or leads out of its own."""
        self.check_not_asked(QUESTION + "/{label:order}", {"order": ".."})

    def test_a_value_with_a_slash_is_not_asked_for_in_a_path(self):
        """An escaped slash is still a slash to many upstreams."""
        self.check_not_asked(QUESTION + "/{label:order}", {"order": "a/b"})

    def test_the_prefix_of_the_upstream_counts(self):
        """A probe goes where the guarded calls go: under the prefix of the url."""
        self.start_probing(upstream={"url": "http://127.0.0.1:1"})
        self.gateway.stop()
        self.gateway.restart({"upstreams": {"legacy": {"url": self.upstream.url + "/api"}}})
        operation_id = self.lose()
        request = wait_until(lambda: self.upstream.select(method="GET"))[0]
        self.assertEqual(request.target, "/api%s?ref=%s" % (QUESTION, operation_id))


class Attempts(Probing):
    def test_asking_ends(self):
        """So many questions by itself and not one more; a person may always ask again."""
        self.start_probing({"attempts": 2})
        self.reply = json_answer(NOTHING)
        operation_id = self.lose()
        operation = self.wait_probed(operation_id, 2)
        self.assertIsNone(operation["next_probe_at"])
        self.assertEqual([probe["by"] for probe in operation["probes"]], ["route", "route"])
        self.ask(operation_id)
        operation = self.wait_probed(operation_id, 3)
        self.assertEqual(operation["probes"][2]["by"], "token:tester")
        self.assertIsNone(operation["next_probe_at"])
        self.assertEqual(len(self.questions), 3)

    def test_a_route_without_a_probe_is_never_due(self):
        """Nothing is asked where the route does not say how."""
        self.start(route={"reconcile": {"quiet_time": "0s"}})
        operation_id = self.operation_of(self.make_unknown())["id"]
        self.assertIsNone(self.gateway.operation(operation_id)["next_probe_at"])
        status, _, _ = self.gateway.admin("POST", "/v1/operations/%s/probe" % operation_id, {})
        self.assertEqual(status, 409)

    def test_a_probe_that_was_taken_away(self):
        """What was due under an older file is taken off the list, and nothing is sent."""
        self.start_probing({"quiet_time": "1s"})
        operation_id = self.lose()
        other = {"name": "other", "match": {"methods": ["POST"], "path": "/other"}}
        kept = self.gateway.configuration()["routes"][0]
        self.gateway.restart({"routes": [dict(kept, reconcile={"quiet_time": "0s"}),
                                         dict(kept, **other)]})
        operation = self.wait_probed(operation_id, 1)
        self.assertEqual((operation["state"], operation["probe"]), ("unknown", "failed"))
        self.assertIsNone(operation["next_probe_at"])
        self.assertEqual(self.questions, [])

    def test_a_sweep_of_many_is_bounded(self):
        """However many are due, an upstream has at most 20 questions at a time."""
        go_on, most, lock = threading.Event(), [0, 0], threading.Lock()

        def held(exchange):
            with lock:
                most[0] += 1
                most[1] = max(most)
            kept = wait(go_on, json_answer(FOUND))(exchange)
            with lock:
                most[0] -= 1
            return kept
        self.start_probing()
        self.reply = held
        ids = [self.lose("k%d" % i) for i in range(50)]
        wait_until(lambda: most[0] == 20)
        go_on.set()
        for operation_id in ids:
            self.gateway.wait_state(operation_id, "completed")
        self.assertEqual(most[1], 20)
        self.assertEqual(len(self.questions), 50)

    def test_a_person_does_not_wait_for_a_backlog(self):
        """What an operator asks for is asked before the rest of what has been due for long."""
        go_on = threading.Event()
        self.start_probing()
        self.reply = wait(go_on, json_answer(FOUND))
        ids = [self.lose("k%d" % i) for i in range(100)]
        wait_until(lambda: len(self.questions) == 20)
        asked_last = QUESTION + "?ref=" + ids[-1]
        due = self.gateway.operation(ids[-1])["next_probe_at"]
        wait_until(lambda: seconds_since(due) > 4) # no longer of those that just fell due
        self.ask(ids[-1])
        go_on.set()
        for operation_id in ids:
            self.gateway.wait_state(operation_id, "completed")
        place = [request.target for request in self.questions].index(asked_last)
        self.assertLess(place, 60)

    def test_two_workers_ask_once(self):
        """However many threads serve, one of them asks."""
        self.start_probing(workers=2)
        ids = [self.lose("k%d" % i) for i in range(8)]
        for operation_id in ids:
            self.gateway.wait_state(operation_id, "completed")
        self.assertEqual(len(self.questions), 8)

    def test_a_stuck_upstream_does_not_hide_another(self):
        """The rows of an upstream that answers are found behind many of one that does not."""
        other = {"name": "other", "match": {"methods": ["POST"], "path": "/other"},
                 "upstream": "second", "breaker": "none"}
        second = self.use(Upstream(json_answer(FOUND)))
        self.start_probing()
        kept = self.gateway.configuration()["routes"][0]
        self.gateway.restart({"routes": [kept, dict(kept, **other)],
                              "upstreams": {"second": {"url": second.url}}})
        stuck = threading.Event()
        self.reply = wait(stuck, json_answer(FOUND))
        for i in range(130):
            self.lose("k%d" % i)
        second.script(fin())
        response = self.gateway.post("z1", {"order": 7}, path="/other")
        self.gateway.wait_state(response.get("Idempotency-Operation"), "completed")
        stuck.set()


class Races(Probing):
    def held_probe(self, body=FOUND, reconcile=None, **options):
        """A lost call whose question is at the upstream; -> its id and the event that ends it."""
        go_on = threading.Event()
        self.start_probing(reconcile, **options)
        self.reply = wait(go_on, json_answer(body))
        operation_id = self.lose()
        wait_until(lambda: self.questions)
        return operation_id, go_on

    def settle_now(self, operation_id, verdict, **members):
        version = self.gateway.operation(operation_id)["version"]
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation_id,
            dict(verdict=verdict, version=version, note="looked", **members))
        self.assertEqual(status, 200, value)

    def test_a_finding_against_a_verdict_marks_it(self):
        """Settled as not executed while the question was under way, and it did run."""
        operation_id, go_on = self.held_probe()
        self.settle_now(operation_id, "not_executed", force=True)
        go_on.set()
        operation = self.wait_contradicted(operation_id)
        self.assertEqual(operation["state"], "unknown")
        self.assert_unknown_repeat(self.gateway.post("k1", {"order": 7}))
        self.assertIn(("probe", "contradiction"),
                      [(entry["actor"], entry["action"]) for entry in operation["audit"]])
        self.assertEqual(operation["probes"][-1]["result"], "executed")

    def test_a_finding_after_the_key_was_used_again(self):
        """The key was freed and sent again meanwhile: a possible double execution is marked."""
        operation_id, go_on = self.held_probe()
        self.settle_now(operation_id, "not_executed", force=True)
        again = self.gateway.post("k1", {"order": 7})
        self.assertEqual(again.status, 201)
        go_on.set()
        operation = self.wait_contradicted(operation_id)
        self.assertEqual(operation["state"], "completed")
        self.assertEqual(self.gateway.post("k1", {"order": 7}).body, again.body)

    def test_absence_does_not_move_what_was_settled(self):
        """A verdict stands; an absence that is only a hint does not speak against it."""
        operation_id, go_on = self.held_probe(NOTHING)
        self.settle_now(operation_id, "executed", response={"status": 201, "body": {"a": 1}})
        go_on.set()
        self.lose("k2")
        wait_until(lambda: len(self.questions) == 2)
        operation = self.gateway.operation(operation_id)
        self.assertEqual((operation["state"], operation["contradicted"]), ("completed", False))

    def test_a_proof_of_absence_against_executed_marks_it(self):
        """Settled as executed, and the upstream says by proof that it never ran."""
        times = {"timeouts": {"first_byte": "5s", "answer": "5s", "late": "5s"}}
        operation_id, go_on = self.held_probe(NOTHING, {"absent_is": "proof", "quiet_time": "5s"},
                                              upstream=times)
        self.settle_now(operation_id, "executed", response={"status": 201, "body": {"a": 1}})
        go_on.set()
        operation = self.wait_contradicted(operation_id)
        self.assertEqual((operation["state"], operation["probe"]), ("completed", "absent"))
        self.assertEqual(self.gateway.post("k1", {"order": 7}).body, b'{"a": 1}')

    def wait_contradicted(self, operation_id):
        seen = {}

        def marked():
            seen.update(self.gateway.operation(operation_id))
            return seen if seen["contradicted"] else None
        return wait_until(marked)

    def test_a_claim_meanwhile_changes_nothing(self):
        """Somebody takes the entry on while the question is under way: the finding counts."""
        operation_id, go_on = self.held_probe()
        status, _, _ = self.gateway.admin("POST", "/v1/operations/%s/claim" % operation_id, {})
        self.assertEqual(status, 200)
        go_on.set()
        operation = self.gateway.wait_state(operation_id, "completed")
        self.assertFalse(operation["contradicted"])

    def test_a_question_asked_meanwhile_is_asked(self):
        """A person's question during another one is not swallowed by its end."""
        operation_id, go_on = self.held_probe(NOTHING, {"every": "1h"})
        self.ask(operation_id)
        go_on.set()
        operation = self.wait_probed(operation_id, 2)
        self.assertEqual([probe["by"] for probe in operation["probes"]], ["route", "token:tester"])

    def test_a_crash_only_repeats_the_question(self):
        """The process dies between question and record: the next life asks again."""
        operation_id, go_on = self.held_probe()
        self.gateway.kill9()
        go_on.set()
        self.reply = json_answer(FOUND)
        self.gateway.restart()
        self.gateway.wait_state(operation_id, "completed")
        self.assertEqual(len(self.posts), 1)

    def test_a_stop_does_not_wait_for_an_answer(self):
        """SIGTERM while a question is under way: it is broken off, and asked again later."""
        operation_id, go_on = self.held_probe()
        self.assertEqual(self.gateway.stop(), 0)
        go_on.set()
        self.reply = json_answer(FOUND)
        self.gateway.restart()
        self.gateway.wait_state(operation_id, "completed")

    def test_repeats_meanwhile_are_told_unknown(self):
        """Until the finding is on record nothing else is told."""
        operation_id, go_on = self.held_probe()
        self.assert_unknown_repeat(self.gateway.post("k1", {"order": 7}))
        told = Background(lambda: self.gateway.wait_state(operation_id, "completed"))
        go_on.set()
        told.result()
        self.assertEqual(self.gateway.post("k1", {"order": 7}).status, 201)


if __name__ == "__main__":
    main()
