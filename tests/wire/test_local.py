"""The two examples of local effects, played over real sockets: a key makes one row, its
answer is replayed from the receipt, and whatever goes wrong leaves neither row behind.
"""

import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Background  # noqa: E402
from harness import Client, main, wait_until  # noqa: E402
from local_effects import ACME, GLOBEX, TAREAS, TICKETS, Local  # noqa: E402

BLANKS = ("", " ", "   ", "\t", "\n", " \t\r\n ", "\u00a0", "\u2003", "\u3000", "\u2028", "\x0b")


class Stories:
    """Every story is played on both examples."""

    def setUp(self):
        self.start_example(self.which)

    def test_first_run_and_repeat(self):
        """A first request makes one row; every repeat gets its bytes and makes none."""
        first = self.post("k1", "broken lamp")
        made = self.assert_made(first)
        self.assertEqual(made[self.which.member], "broken lamp")
        for _ in range(3):
            self.assert_replay(first, self.post("k1", "broken lamp"))
        self.assertEqual(self.counts(), (1, 1))

    def test_replay_is_of_the_receipt(self):
        """The replay is the recorded answer, not the row: the row may have changed since."""
        first = self.post("k1", "before")
        with self.database() as base:
            base.execute("UPDATE %s SET %s = 'after'" % (self.which.table, self.which.column))
        self.assert_replay(first, self.post("k1", "before"))
        with self.database() as base:
            base.execute("DELETE FROM %s" % self.which.table)
        self.assert_replay(first, self.post("k1", "before"))
        self.assertEqual(self.counts(), (0, 1))

    def test_answer_lost_after_the_commit(self):
        """A caller that goes without its answer finds it under the same key."""
        client = Client(self.gateway.port)
        client.send("POST", self.which.path, [("Idempotency-Key", "k1"),
                                              *self.which.headers.items()],
                    self.which.body("lost"))
        wait_until(lambda: self.counts() == (1, 1))
        client.close()
        repeat = self.post("k1", "lost")
        self.assertEqual(repeat.status, 201, repeat)
        self.assertEqual(repeat.get("Idempotency-Status"), "replayed", repeat)
        self.assertEqual(repeat.json()[self.which.member], "lost")
        self.assertEqual(self.counts(), (1, 1))

    def test_reopened(self):
        """Receipt, row and answer outlive the process, stopped or killed, and setup is run
        again without harm."""
        first = self.post("k1", "kept")
        self.assert_made(first)
        for kill in (False, True):
            self.gateway.restart(kill=kill)
            self.assert_replay(first, self.post("k1", "kept"))
            self.assertEqual(self.counts(), (1, 1))
        self.assert_made(self.post("k2", "next"))
        self.assertEqual(self.counts(), (2, 2))

    def test_same_key_with_other_content(self):
        """A key that was used is refused for another text, however like the first."""
        first = self.post("k1", "lamp")
        for other in ("chair", "Lamp", "lamp ", " lamp", "la\u200bmp"):
            problem = self.assert_told(self.post("k1", other), 422, "key-reused", "mismatch",
                                       state="completed")
            self.assertNotIn("safe_new_key", problem)
        self.assert_replay(first, self.post("k1", "lamp"))
        self.assertEqual(self.counts(), (1, 1))

    def test_new_key_with_the_same_content(self):
        """Another key is another operation, whatever its content."""
        first, second = self.post("k1", "lamp"), self.post("k2", "lamp")
        self.assertNotEqual(self.assert_made(first), self.assert_made(second))
        self.assertNotEqual(first.get("Idempotency-Operation"),
                            second.get("Idempotency-Operation"))
        self.assertEqual(self.counts(), (2, 2))

    def test_a_refusal_does_not_spend_the_key(self):
        """What breaks a rule of the table leaves nothing; the mended content runs under the
        same key."""
        self.assert_refused(self.post("k1", "x" * (self.which.bytes_max + 1)))
        self.assertEqual(self.counts(), (0, 0))
        self.assertEqual(self.gateway.operations(), [])
        self.assert_made(self.post("k1", "x" * self.which.bytes_max))
        self.assertEqual(self.counts(), (1, 1))

    def test_lengths_are_of_characters(self):
        """The longest text is counted in characters, not in bytes."""
        most = "\U0001f4a1" * self.which.bytes_max
        self.assertEqual(self.assert_made(self.post("k1", most))[self.which.member], most)
        self.assert_refused(self.post("k2", most + "x"))
        self.assertEqual(self.counts(), (1, 1))

    def test_blank_texts(self):
        """A text that shows nothing is none, whatever its blanks are."""
        for blank in BLANKS:
            self.assert_refused(self.post("k1", blank))
        self.assertEqual(self.counts(), (0, 0))
        self.assert_made(self.post("k1", " \t x"))

    def test_invalid_bodies(self):
        """A body with anything but the one text is refused, says why, and leaves nothing."""
        name = self.which.member
        wrong = (({}, "is missing"), ({name: 1}, "must be a string"),
                 ({name: None}, "must be a string"), ({name: True}, "must be a string"),
                 ({name: ["x"]}, "must be a string"), ({name: {"x": 1}}, "must be a string"),
                 ({name: "x", "owner": "globex"}, '"owner" is not taken'),
                 ({name: "x", "id": 7}, '"id" is not taken'),
                 ({name.upper(): "x"}, "is not taken"),
                 ({name: "a\u0000b"}, "U+0000"),
                 ([], "must be a JSON object"), ('"text"', "must be a JSON object"),
                 ("null", "must be a JSON object"))
        for body, why in wrong:
            if isinstance(body, str):
                body = body.encode()
            response = self.post("k1", body, {"Content-Type": "application/json"}
                                 if isinstance(body, bytes) else None)
            self.assertIn(why, self.assert_refused(response)["detail"], body)
        self.assertEqual(self.counts(), (0, 0))
        self.assert_made(self.post("k1", "good"))

    def test_broken_json(self):
        """What is no JSON, or JSON in two readings, is refused."""
        name = self.which.member
        broken = ('{"%s": "x"' % name, "{'%s': 'x'}" % name, "", '{"%s": "a", "%s": "b"}' % (name, name),
                  '{"%s": "x",}' % name, '{"%s": NaN}' % name, '{"%s": "\\ud800"}' % name)
        for text in broken:
            response = self.post("k1", text.encode(), {"Content-Type": "application/json"})
            self.assert_problem(response, 400, "body-invalid")
        latin = ('{"%s": "' % name).encode() + b'\xe9"}'
        self.assert_problem(self.post("k1", latin, {"Content-Type": "application/json"}), 400,
                            "body-invalid")
        self.assertEqual(self.counts(), (0, 0))

    def test_other_media_types(self):
        """A body that is not JSON by its own word is refused, and told what is taken."""
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml"):
            body = b'{"%s": "x"}' % self.which.member.encode()
            response = self.post("k1", body, {"Content-Type": kind})
            self.assert_problem(response, 415, "unsupported-media-type")
            self.assertIn("json", response.get("Accept"))
        self.assertEqual(self.counts(), (0, 0))

    def test_keys(self):
        """Keys have the lengths that the example says, and a blank one is none."""
        most = self.which.key_max
        self.assert_made(self.post("k" * most, "longest"))
        self.assert_made(self.post("k", "shortest"))
        self.assert_problem(self.post("k" * (most + 1), "longer"), 400, "key-invalid")
        for blank in ("", "   ", "\t"):
            self.assert_problem(self.post(blank, "blank"), 400, "key-missing")
        self.assert_problem(self.post(None, "none"), 400, "key-missing")
        self.assertEqual(self.counts(), (2, 2))

    def test_two_callers_at_once(self):
        """Many callers with one key at the same moment: one row, one answer for all."""
        for round_ in range(5):
            count = 8
            gate = threading.Barrier(count)

            def call():
                gate.wait()
                return self.post("k%d" % round_, "together %d" % round_)
            calls = [Background(call) for _ in range(count)]
            answers = [one.result() for one in calls]
            first = [one for one in answers if one.get("Idempotency-Status") == "local"]
            self.assertEqual(len(first), 1, answers)
            for one in answers:
                if one is not first[0]:
                    self.assert_replay(first[0], one)
            self.assertEqual(self.counts(), (round_ + 1, round_ + 1))

    def test_many_keys_at_once(self):
        """Good and bad content of many callers in one batch: each gets what is its own."""
        def call(number):
            text = "x" * (self.which.bytes_max + 1) if number % 3 == 0 else "text %d" % number
            return number, self.post("k%d" % number, text)
        calls = [Background(lambda number=number: call(number)) for number in range(24)]
        for one in calls:
            number, response = one.result()
            if number % 3 == 0:
                self.assert_refused(response)
            else:
                self.assertEqual(self.assert_made(response)[self.which.member], "text %d" % number)
        self.assertEqual(self.counts(), (16, 16))

    def test_a_writer_that_holds_the_database(self):
        """While another program holds the file nothing is kept and 503 says so; repeats of
        what is done get their answers."""
        first = self.post("k1", "before")
        self.assert_made(first)
        with self.database() as base:
            base.execute("BEGIN IMMEDIATE")
            self.assert_told(self.post("k2", "held"), 503, "store-unavailable", retry=True)
            self.assert_replay(first, self.post("k1", "before"))
            base.execute("ROLLBACK")
        self.assertEqual(self.counts(), (1, 1))
        self.assert_made(self.post("k2", "held"))
        self.assertEqual(self.counts(), (2, 2))

    def test_a_paused_route(self):
        """A pause holds new operations back and leaves repeats and keys alone."""
        first = self.post("k1", "before")
        route = self.operation_of(first)["route"]
        self.assertEqual(self.gateway.cli("pause", route, "--note", "stop").returncode, 0)
        self.assert_told(self.post("k2", "held"), 503, "route-paused", "paused", retry=True,
                         new_key=True)
        self.assert_replay(first, self.post("k1", "before"))
        self.assertEqual(self.counts(), (1, 1))
        self.assertEqual(self.gateway.cli("resume", route, "--note", "go").returncode, 0)
        self.assert_made(self.post("k2", "held"))

    def test_what_an_operator_sees(self):
        """A local operation is listed like any other, with an attempt that says what it was."""
        first = self.post("k1", "seen")
        operation = self.operation_of(first)
        self.assertEqual((operation["state"], operation["end"]), ("completed", "answered"))
        self.assertEqual(len(operation["attempts"]), 1)
        attempt = operation["attempts"][0]
        self.assertEqual((attempt["upstream"], attempt["end"], attempt["status"]),
                         ("local", "answered", 201))
        self.assertEqual((attempt["bytes_out"], attempt["sent_at"]), (0, None))
        why = self.gateway.cli("why", operation["id"])
        self.assertEqual(why.returncode, 0, why.stderr)
        self.assertIn("the effect was committed with its receipt", why.stdout)
        listed = self.gateway.cli("operations")
        self.assertIn(operation["id"], listed.stdout)
        metrics = self.gateway.metrics()
        route = operation["route"]
        self.assertEqual(metrics['recibo_operations_total{route="%s",outcome="local"}' % route], 1)
        own = self.gateway.request("GET", "/.recibo/operations/" + operation["id"],
                                   list(self.which.headers.items()))
        self.assertEqual(own.json()["state"], "completed", own)


class Tickets(Stories, Local):
    which = TICKETS

    def test_owners_have_keys_of_their_own(self):
        """The same key of two owners is two operations, and a row bears the caller's name."""
        mine = self.post("k1", "lamp")
        theirs = self.post("k1", "chair", {"X-Api-Key": GLOBEX})
        self.assertNotEqual(self.assert_made(mine), self.assert_made(theirs))
        self.assertEqual(self.rows("SELECT owner, subject FROM tickets ORDER BY id"),
                         [("acme", "lamp"), ("globex", "chair")])
        self.assert_replay(mine, self.post("k1", "lamp"))
        self.assert_replay(theirs, self.post("k1", "chair", {"X-Api-Key": GLOBEX}))
        hidden = self.gateway.request("GET", "/.recibo/operations/"
                                      + mine.get("Idempotency-Operation"), [("X-Api-Key", GLOBEX)])
        self.assertEqual(hidden.status, 404)

    def test_nobody_makes_a_ticket_without_credentials(self):
        """No or wrong credentials leave no row and no receipt."""
        for secret in ("", "wrong", ACME + "x"):
            response = self.post("k1", "lamp", {"X-Api-Key": secret})
            self.assertEqual(response.status, 401, response)
        self.assertEqual(self.counts(), (0, 0))

    def test_content_is_compared(self):
        """Another spelling of the same JSON is the same request."""
        first = self.post("k1", "lamp")
        for text in ('{ "subject" : "lamp" }', '{"subject":"\\u006camp"}'):
            self.assert_replay(first, self.post("k1", text.encode(),
                                                {"Content-Type": "application/json"}))
        self.assertEqual(self.counts(), (1, 1))


class Tareas(Stories, Local):
    which = TAREAS

    def test_bytes_are_compared(self):
        """One more space anywhere in the body is another request."""
        first = self.post("k1", b'{"texto":"regar"}', {"Content-Type": "application/json"})
        self.assertEqual(self.assert_made(first), {"id": 1, "texto": "regar", "hecha": 0})
        for text in (b'{"texto": "regar"}', b'{"texto":"regar "}', b'{"texto":"regar"}\n'):
            self.assert_told(self.post("k1", text, {"Content-Type": "application/json"}), 422,
                             "key-reused", "mismatch", state="completed")
        self.assert_replay(first, self.post("k1", b'{"texto":"regar"}',
                                            {"Content-Type": "application/json"}))
        self.assertEqual(self.counts(), (1, 1))


if __name__ == "__main__":
    main()
