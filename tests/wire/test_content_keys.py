"""Content keys: the same content within a window is the same operation, and later, or once its
answer has arrived, a new one. A doubt outlives every window, and no receipt is lost for the next.
"""

import os
import re
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, Background, Guarded  # noqa: E402
from harness import (answer, fin, main, merge, orders, parallel, rest, wait,  # noqa: E402
                     wait_until)
from local_effects import TAREAS, Local  # noqa: E402

WINDOW = {"from": "content", "window": "1h", "name": None}
SHORT = {"from": "content", "window": "1s", "name": None}
UNDELIVERED = {"from": "content", "window": "1h", "only": "undelivered", "name": None}


class ByContent(Guarded):
    key = WINDOW

    def start_content(self, key=None, log=None, **route):
        changes = {"key": key or self.key, "labels": {"order": {"json": "/order"}}}
        changes.update(route)
        return self.start(route=changes, **({"log": log} if log else {}))

    def order(self, body=None, **options):
        return self.gateway.post(None, ORDER if body is None else body, **options)

    def assert_new(self, first, second):
        """Another operation, sent; the receipt of the first one is there as before."""
        self.assert_passed_on(second, 201, "executed")
        ids = [each.get("Idempotency-Operation") for each in (first, second)]
        self.assertNotEqual(ids[0], ids[1])
        for each in (first, second):
            self.assertEqual(self.operation_of(each)["state"], "completed")

    def let_window_pass(self, response, seconds=1):
        told = self.operation_of(response)["updated_at"]
        wait_until(lambda: int(time.time() * 1000) > stamp(told) + seconds * 1000)


def stamp(text):
    import datetime
    moment = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ")
    return int(moment.replace(tzinfo=datetime.timezone.utc).timestamp() * 1000)


class Window(ByContent):
    def test_inside_the_window(self):
        """The same content is replayed, however it is written; another content is another one."""
        self.start_content()
        first = self.order({"order": 7, "n": 1})
        self.assert_passed_on(first, 201, "executed")
        self.assert_replay(first, self.order({"n": 1, "order": 7}))
        self.assert_replay(first, self.order(b'{ "order":7,\n "n":1 }'.decode(),
                                             headers=[("Content-Type", "application/json")]))
        other = self.order({"order": 7, "n": 2})
        self.assert_new(first, other)
        self.assertEqual(self.upstream.sends, 2)

    def test_what_else_is_content(self):
        """Another target is another content; a key that the caller names says nothing here."""
        self.start_content()
        first = self.order()
        self.assert_new(first, self.order(path="/orders?fast=1"))
        self.assert_replay(first, self.gateway.post("some-key", ORDER))
        self.assertEqual(self.upstream.sends, 2)

    def test_after_the_window(self):
        """A new operation; the receipt of the earlier one stays, with its answer."""
        self.start_content(SHORT)
        first = self.order()
        self.let_window_pass(first)
        second = self.order()
        self.assert_new(first, second)
        self.assert_replay(second, self.order())
        shown = self.operation_of(first)
        self.assertTrue(shown["answer_kept"])
        self.assertTrue(shown["key"].endswith("/" + shown["id"]), shown["key"])
        self.assertEqual(shown["key"].split("/")[0], self.operation_of(second)["key"])
        self.assertEqual(len(self.gateway.operations(**{"label.order": "7"})), 2)

    def test_after_a_restart(self):
        """The window is kept with the receipts."""
        self.start_content()
        first = self.order()
        self.gateway.restart(kill=True)
        self.assert_replay(first, self.order())
        self.assertEqual(self.upstream.sends, 1)

    def test_owners_and_routes_do_not_meet(self):
        """Content of another owner, or of another route, is another content."""
        owners = {"peers": {"kind": "api_key", "header": "X-Key", "keys": [
            {"owner": name, "sha256": digest(name)} for name in ("ana", "bob")]}}
        keyed = {"key": WINDOW, "owner": "peers", "match": {"methods": ["POST"], "path": "/orders"}}
        self.start(routes=[orders(**keyed), rest()], owners=owners)
        first = self.order(headers=[("X-Key", "ana")])
        self.assert_new(first, self.order(headers=[("X-Key", "bob")]))
        self.assert_replay(first, self.order(headers=[("X-Key", "ana")]))

    def test_many_at_once(self):
        """Equal requests at once are one operation."""
        self.start_content(on_pending={"wait": "10s"})
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, answer(201, body={"ticket": 5})))
        calls = Background(lambda: parallel(8, lambda _: self.order()))
        self.upstream.wait_for(1)
        event.set()
        answers = calls.result()
        self.assertEqual({(each.status, each.body) for each in answers}, {(201, b'{"ticket": 5}')})
        self.assertEqual(self.upstream.sends, 1)

    def test_what_did_not_run(self):
        """A refused request frees its content, and the next one is the same operation."""
        self.start_content()
        self.upstream.script(answer(429))
        first = self.order()
        self.assert_passed_on(first, 429, "released")
        second = self.order()
        self.assert_passed_on(second, 201, "executed")
        self.assertEqual(first.get("Idempotency-Operation"), second.get("Idempotency-Operation"))

    def test_after_retention(self):
        """Where nothing is kept any more the content is a new operation, tombstone or not."""
        self.start_content(SHORT, retention="1s", **AT_ONCE)
        first = self.order()
        self.wait_expired(first)
        second = self.order()
        self.assert_passed_on(second, 201, "executed")
        self.assertNotEqual(first.get("Idempotency-Operation"),
                            second.get("Idempotency-Operation"))


class Doubt(ByContent):
    """What is not known outlives every window, and is told before a new one begins."""

    key = SHORT

    def lose(self):
        self.upstream.script(fin())
        lost = self.order()
        self.assertEqual(lost.status, 502, lost)
        return lost

    def test_unknown_outlives_the_window(self):
        """Never a second run, however late the repeat."""
        self.start_content(**AT_ONCE)
        lost = self.lose()
        self.let_window_pass(lost)
        self.assert_unknown_repeat(self.order())
        self.assertEqual(self.upstream.sends, 1)

    def test_a_verdict_is_told_first(self):
        """Settled long ago: the next repeat is told so, and only then the window runs."""
        self.start_content(**AT_ONCE)
        lost = self.lose()
        self.settle(lost, "executed", response={"status": 201, "body": "{\"ticket\": 9}"})
        self.let_window_pass(lost)
        told = self.order()
        self.assertEqual((told.status, told.get("Idempotency-Status")), (201, "replayed"), told)
        self.assertEqual(self.upstream.sends, 1)
        self.let_window_pass(lost)
        self.assert_passed_on(self.order(), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)

    def test_not_executed_runs_at_once(self):
        """What did not run is free, in the window or after it."""
        self.start_content(**AT_ONCE)
        lost = self.lose()
        self.settle(lost, "not_executed")
        again = self.order()
        self.assert_passed_on(again, 201, "executed")
        self.assertEqual(again.get("Idempotency-Operation"), lost.get("Idempotency-Operation"))

    def test_abandoned_stays(self):
        """What was given up is never sent again by itself."""
        self.start_content(**AT_ONCE)
        lost = self.lose()
        self.settle(lost, "abandoned")
        self.let_window_pass(lost)
        self.assert_told(self.order(), 409, "operation-abandoned", "abandoned",
                         state="abandoned", new_key=False)


class Undelivered(ByContent):
    """`only: undelivered`: two honest equal orders are two; a retry of a lost answer is none."""

    key = UNDELIVERED

    def after_delivery(self, response):
        """The content is free once it is on record that the answer arrived."""
        operation_id = response.get("Idempotency-Operation")
        wait_until(lambda: "/" in self.gateway.operation(operation_id)["key"])

    def test_delivered_on_one_connection(self):
        """The next request of the same connection is a new order at once."""
        self.start_content()
        with self.gateway.client() as client:
            headers = [("Content-Type", "application/json")]
            answers = [client.request("POST", "/orders", headers, ORDER) for _ in range(3)]
        for each in answers:
            self.assert_passed_on(each, 201, "executed")
        self.assertEqual(len({each.get("Idempotency-Operation") for each in answers}), 3)
        self.assertEqual(self.upstream.sends, 3)

    def test_delivered_on_another_connection(self):
        """... and so is that of another connection, while the first stays open or not."""
        self.start_content()
        with self.gateway.client() as client:
            first = client.request("POST", "/orders", [("Content-Type", "application/json")], ORDER)
            self.after_delivery(first)
            second = self.order()
            self.assert_new(first, second)
        self.after_delivery(second)
        self.assert_new(second, self.order())

    def test_the_caller_gave_up(self):
        """He closed before the answer: his retry gets it, and nothing is sent."""
        self.start_content()
        for leave in ("close", "reset"):
            with self.subTest(leave=leave):
                event = threading.Event()
                self.addCleanup(event.set)
                body = {"order": leave}
                self.upstream.script(wait(event, answer(201, body={"ticket": 5})))
                client = self.gateway.client()
                sends = self.upstream.sends
                client.send("POST", "/orders", [("Content-Type", "application/json")], body)
                self.upstream.wait_for(sends + 1)
                getattr(client, leave)()
                event.set()
                operation = self.gateway.operations(**{"label.order": leave})[0]
                self.gateway.wait_state(operation["id"], "completed")
                retry = self.order(body)
                self.assertEqual((retry.status, retry.body), (201, b'{"ticket": 5}'))
                self.assertEqual(retry.get("Idempotency-Status"), "replayed")
                self.assertEqual(self.upstream.sends, sends + 1)
                self.after_delivery(retry)
                self.assert_passed_on(self.order(body), 201, "executed")

    def test_the_answer_was_not_read(self):
        """It lies at the caller's end when he closes: he has not seen it."""
        self.start_content()
        large = answer(201, body="x" * 3000000)
        self.upstream.script(large)
        client = self.gateway.client()
        client.send("POST", "/orders", [("Content-Type", "application/json")], ORDER)
        self.upstream.wait_for(1)
        operation = self.gateway.operations()[0]["id"]
        self.gateway.wait_state(operation, "completed")
        client.close()
        retry = self.order()
        self.assertEqual(retry.get("Idempotency-Operation"), operation)
        self.assertEqual(self.upstream.sends, 1)

    def test_a_crash_before_it_is_on_record(self):
        """Killed while the answer leaves: the retry gets the answer, never a second run."""
        self.start_content()
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, answer(201, body={"ticket": 5})))
        client = self.gateway.client()
        client.send("POST", "/orders", [("Content-Type", "application/json")], ORDER)
        self.upstream.wait_for(1)
        client.close()
        event.set()
        self.gateway.wait_state(self.gateway.operations()[0]["id"], "completed")
        self.gateway.restart(kill=True)
        retry = self.order()
        self.assertEqual((retry.status, retry.get("Idempotency-Status")), (201, "replayed"))
        self.assertEqual(self.upstream.sends, 1)

    def test_two_at_once(self):
        """Whoever asks while the first is under way gets its answer."""
        self.start_content(on_pending={"wait": "10s"}, log={"level": "debug"})
        for number in range(8):
            event = threading.Event()
            self.addCleanup(event.set)
            body = {"order": number}
            self.upstream.script(wait(event, answer(201, body={"ticket": number})))
            sends = self.upstream.sends
            calls = Background(lambda: parallel(4, lambda _, body=body: self.order(body)))
            self.upstream.wait_for(sends + 1)
            came = 4 * (number + 1)
            wait_until(lambda came=came: self.gateway.log().count('room="claim"') >= came)
            event.set()
            answers = calls.result()
            self.assertEqual([each.json() for each in answers], [{"ticket": number}] * 4)
            self.assertEqual(self.upstream.sends, sends + 1)

    def test_a_good_answer_is_needed(self):
        """A lost outcome was no answer; once the verdict is told, the next order is new."""
        self.start_content(**AT_ONCE)
        self.upstream.script(fin())
        lost = self.order()
        self.assert_unknown_repeat(self.order())
        self.settle(lost, "executed", response={"status": 201, "body": "{\"ticket\": 9}"})
        told = self.order()
        self.assertEqual(told.get("Idempotency-Status"), "replayed")
        self.after_delivery(told)
        self.assert_passed_on(self.order(), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)

    def test_after_the_window(self):
        """What never arrived is a new order after the window, too."""
        self.start_content(dict(UNDELIVERED, window="1s"))
        event = threading.Event()
        self.addCleanup(event.set)
        self.upstream.script(wait(event, answer(201, body={"ticket": 5})))
        client = self.gateway.client()
        client.send("POST", "/orders", [("Content-Type", "application/json")], ORDER)
        self.upstream.wait_for(1)
        client.close()
        event.set()
        first = self.gateway.operations()[0]["id"]
        done = self.gateway.wait_state(first, "completed")
        wait_until(lambda: int(time.time() * 1000) > stamp(done["updated_at"]) + 1000)
        self.assert_passed_on(self.order(), 201, "executed")
        self.assertEqual(self.gateway.operation(first)["state"], "completed")


def digest(text):
    import hashlib
    return hashlib.sha256(text.encode()).hexdigest()


class Config(Local):
    """What the file says of it."""

    def test_local_effects(self):
        """A row of the same content is one in the window, and two after it."""
        key = "key: {from: header, name: Idempotency-Key, min: 1, max: 120}"
        self.start_example(TAREAS, changes=[(key, "key: {from: content, window: 1s}")])
        first = self.post(None, "pan")
        self.assertEqual(first.status, 201, first)
        again = self.post(None, "pan")
        self.assertEqual((again.body, again.get("Idempotent-Replayed")), (first.body, "true"))
        self.assertEqual(self.count(), 1)
        told = self.operation_of(first)["updated_at"]
        wait_until(lambda: int(time.time() * 1000) > stamp(told) + 1000)
        second = self.post(None, "pan")
        self.assertEqual((second.status, second.get("Idempotent-Replayed")), (201, None))
        self.assertEqual(self.count(), 2)
        self.assertEqual(self.operation_of(first)["state"], "completed")

    def count(self):
        with self.database() as base:
            return base.execute("SELECT count(*) FROM tareas").fetchone()[0]


class Standing(ByContent):
    def test_another_way_of_comparing(self):
        """It would be another key, and an unknown would run again: refused at the start."""
        self.start_content()
        self.upstream.script(fin())
        self.order()
        self.gateway.stop()
        for route in ({"fingerprint": {"mode": "raw"}},
                      {"key": {"from": "header", "window": None}}):
            with self.subTest(route=route):
                key = merge(self.key, route.get("key"))
                changed = orders(**merge({"key": key, "labels": {"order": {"json": "/order"}}},
                                         route))
                self.gateway.write_configuration({"routes": [changed, rest()]})
                self.gateway.launch()
                self.assertNotEqual(self.gateway.wait_exit(), 0)
                self.assertIn("would lose protection (key.from: content is new or gone, or compares "
                              "otherwise)", self.gateway.log())

    def test_explained(self):
        """explain and check say what the content does, and what is conflated."""
        self.start_content(UNDELIVERED)
        told = self.gateway.cli("explain", "-c", self.gateway.path, "POST", "/orders").stdout
        rows = dict(re.findall(r"(?m)^  (\S.*?)  +(\S.*)$", told))
        self.assertEqual(rows["... and has reached its caller"], "a new operation: sent")
        self.assertEqual(rows["repeat after the window"], "a new operation: sent")
        self.assertIn("cannot happen", rows["key missing"])
        checked = self.gateway.cli("check", "-c", self.gateway.path)
        self.assertNotIn("alike are one operation", checked.stderr)
        self.assertIn("One content of one owner", checked.stdout)
        self.gateway.write_configuration({"routes": [orders(
            key=WINDOW, labels={"order": {"json": "/order"}}), rest()]})
        checked = self.gateway.cli("check", "-c", self.gateway.path)
        self.assertIn("alike are one operation for 1h", checked.stderr)


if __name__ == "__main__":
    main()
