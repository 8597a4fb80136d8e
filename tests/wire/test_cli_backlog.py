"""The backlog on the command line: groups, filters, people, probes."""

import datetime
import json
import re
import threading

import admin_lib  # noqa: F401 - finds the harness
from cli_lib import CHANGED, DONE, FAILED, USAGE, CliCase
from guarded import now_text
from harness import answer, fin, main, merge, orders, rest, wait, wait_until
from probing import FOUND, NOTHING, QUESTION, RECONCILE, json_answer

ID = r"op_\w{26}"


def ids_in(text):
    return re.findall(ID, text)


class Overview(CliCase):
    quiet = "1h"

    def unclear(self, key, status=503):
        """An operation that is unknown although an answer came."""
        self.upstream.script(answer(status))
        response = self.gateway.post(key, {"order": "o-" + key})
        self.assertEqual(response.status, status)
        return response.get("Idempotency-Operation")

    def test_groups_come_first_and_then_the_newest(self):
        """The overview counts by route, end and status, and shows ten of many, the newest first."""
        lost = [self.lose("k%d" % i)["id"] for i in range(11)]
        other = self.unclear("x")
        text = self.ask(DONE, "backlog")
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^12 unknown, oldest .*, in 2 groups, 12 more in the last hour, "
                                   r"0 in flight$")
        self.assertRegex(lines[1], r"^ *#  ROUTE +HOW IT ENDED +STATUS +COUNT")
        self.assertRegex(lines[2], r"^ *1  create-order  closed_no_answer +- +11 ")
        self.assertRegex(lines[3], r"^ *2  create-order  answered +503 +1 ")
        self.assertEqual(ids_in(text), [other] + lost[:1:-1])
        self.assertEqual(self.ask(DONE, "backlog", "groups"), "\n".join(lines[1:4]) + "\n")

    def test_a_group_is_a_filter(self):
        """--group takes just what the group counts, in lists, exports and the overview."""
        lost = [self.lose("k%d" % i)["id"] for i in range(3)]
        other = self.unclear("x")
        for words in (("backlog", "list"), ("backlog", "export"), ("backlog",)):
            self.assertEqual(ids_in(self.ask(DONE, *words, "--group", "1")), lost)
            self.assertEqual(ids_in(self.ask(DONE, *words, "--group", "2")), [other])

    def test_the_groups_for_programs(self):
        """--json gives the answers of the operator plane as they are, in one document."""
        self.lose("k1")
        value = json.loads(self.ask(DONE, "backlog", "--json"))
        self.assertEqual(set(value), {"summary", "routes", "groups", "newest"})
        self.assertEqual(value["groups"], json.loads(self.ask(DONE, "backlog", "groups", "--json")))
        self.assertEqual(len(value["newest"]["operations"]), 1)

    def test_all_pages_are_printed_as_they_come(self):
        """--all prints every page, with one head where no terminal fits the lines, and --json too."""
        lost = [self.lose("k%d" % i)["id"] for i in range(5)]
        text = self.ask(DONE, "backlog", "list", "--all", "--limit", "2")
        self.assertEqual(ids_in(text), lost)
        self.assertEqual(len(text.splitlines()), 1 + len(lost), text)
        self.assertTrue(text.startswith("ID "), text)
        text = self.ask(DONE, "backlog", "list", "--limit", "2")
        self.assertEqual(ids_in(text), lost[:2])
        self.assertIn("There are more: --cursor ", text)

    def test_every_filter_of_the_plane(self):
        """Each option finds what it says and leaves out the rest, alone and together."""
        before = now_text()
        first = self.lose("k1")["id"]
        wait_until(lambda: now_text() > self.gateway.operation(first)["created_at"])
        between = now_text()
        second = self.unclear("k2")
        done = self.gateway.post("k3", {"order": "o-k3"}).get("Idempotency-Operation")
        self.ask(DONE, "backlog", "claim", first)
        for words, backlog, every in (
                (("--state", "completed"), [done], [done]),
                (("--state", "completed,unknown"), [second, first, done], [second, first, done]),
                (("--route", "create-order"), [first, second], [first, second, done]),
                (("--owner", "tester"), [first, second], [first, second, done]),
                (("--owner", "nobody"), [], []), (("--key", "k1"), [first], [first]),
                (("--end", "answered"), [second], [second, done]),
                (("--status", "none"), [first], [first]), (("--status", "503"), [second], [second]),
                (("--label", "order=o-k2"), [second], [second]),
                (("--probe", "none"), [first, second], None), (("--probe", "executed"), [], []),
                (("--claimed",), [first], [first]), (("--unclaimed",), [second], [second, done]),
                (("--older-than", "1h"), [], []),
                (("--newer-than", "1h"), [first, second], [first, second, done]),
                (("--created-after", before), [first, second], [first, second, done]),
                (("--created-before", between), [first], [first]),
                (("--contradicted",), [], []),
                (("--claimed", "--status", "503"), [], [])):
            with self.subTest(words=words):
                self.assertCountEqual(ids_in(self.ask(DONE, "backlog", "list", *words)), backlog)
                self.assertCountEqual(ids_in(self.ask(DONE, "backlog", *words)), backlog)
                self.assertCountEqual(ids_in(self.ask(DONE, "backlog", "export", *words)), backlog)
                if every is not None:
                    self.assertCountEqual(ids_in(self.ask(DONE, "operations", *words)), every)

    def test_contradicted_ones_are_found_in_any_state(self):
        """A contradiction is work for somebody although the operation is not unknown."""
        operation = self.lose("k1")
        self.settle(operation, "abandoned")
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/contradiction" % operation["id"],
            {"version": operation["version"] + 1, "note": "found twice"})
        self.assertEqual(status, 200, value)
        self.assertEqual(ids_in(self.ask(DONE, "backlog", "list")), [])
        text = self.ask(DONE, "backlog", "list", "--contradicted")
        self.assertEqual(ids_in(text), [operation["id"]])
        self.assertIn("  contradicted  ", text)

    def test_why_by_key_and_by_label(self):
        """One that fits is told; several are listed, and nothing is made up."""
        first = self.lose("k1", {"order": "same"})["id"]
        self.assertTrue(self.ask(DONE, "why", "--key", "k1").startswith(first))
        second = self.lose("k2", {"order": "same"})["id"]
        text = self.ask(DONE, "why", "--label", "order=same")
        self.assertEqual(ids_in(text), [second, first])
        self.assertTrue(text.startswith("Several"))
        text = self.ask(DONE, "why", "--label", "order=same", "--key", "k2")
        self.assertTrue(text.startswith(second))


class People(CliCase):
    quiet = "1h"

    def test_a_claim_is_seen_and_given_back(self):
        """claim, its sight in list and show, take-over by another, release."""
        operation = self.lose("k1")["id"]
        self.assertIn("token:tester is on it since", self.ask(DONE, "backlog", "claim", operation))
        self.assertIn("token:tester", self.ask(DONE, "backlog", "list"))
        self.assertIn("on it        token:tester", self.ask(DONE, "backlog", "show", operation))
        env = self.reader("read", "settle")
        self.assertIn("token:tester", self.ask(CHANGED, "backlog", "claim", operation, env=env))
        self.ask(DONE, "backlog", "claim", operation, "--take-over", env=env)
        self.assertIn("token:reader", self.ask(DONE, "backlog", "show", operation))
        self.ask(CHANGED, "backlog", "release", operation)
        self.assertIn("nobody is on it", self.ask(DONE, "backlog", "release", operation, env=env))
        self.assertIsNone(self.gateway.operation(operation)["claimed_by"])

    def test_comments_are_shown_as_written(self):
        """Each with its author, lines kept, nothing that a terminal obeys."""
        operation = self.lose("k1")["id"]
        self.assertIn("1 comment.", self.ask(DONE, "backlog", "comment", operation,
                                             "two\nlines \\x1b[31m \u202e"))
        self.assertIn("control characters", self.ask(USAGE, "backlog", "comment", operation,
                                                     "red \x1b[31m"))
        self.assertIn("2 comments.", self.ask(DONE, "backlog", "comment", operation, "-"))
        text = self.ask(DONE, "backlog", "show", operation)
        self.assertRegex(text, r"comments\n.*token:tester\n    two\n    lines \\x1b\[31m \\u\{202e\}\n")
        self.assertEqual(text.count("two"), 1)

    def test_reopen_takes_a_verdict_back(self):
        """reopen is the verdict of that name, with its note on record."""
        operation = self.lose("k1")["id"]
        self.ask(DONE, "backlog", "settle", operation, "--verdict", "abandoned", "--note", "a")
        text = self.ask(DONE, "backlog", "reopen", operation, "--note", "wrong one")
        self.assertIn("is open again: its state is now unknown", text)
        shown = self.gateway.operation(operation)
        self.assertEqual((shown["state"], shown["audit"][-1]["note"]), ("unknown", "wrong one"))

    def test_a_response_is_given_whole_or_not_at_all(self):
        """Parts of a response are refused, and what is missing is said; nothing is settled."""
        operation = self.lose("k1")["id"]
        settle = ("backlog", "settle", operation, "--verdict", "executed", "--note", "x")
        for words, part in ((("--status", "201"), "--response FILE --status NUMBER"),
                            (("--header", "A: b"), "--response FILE --status NUMBER"),
                            (("--status", "204", "--header", "A: b"), "--no-response"),
                            (("--response", "/dev/null"), "--status is missing"),
                            ((), "--no-response"), (("--no-response", "--status", "200"), "or --no")):
            with self.subTest(words=words):
                self.assertIn(part, self.ask(2, *settle, *words))
        self.assertEqual(self.gateway.operation(operation)["state"], "unknown")
        self.ask(DONE, *settle, "--response", "/dev/null", "--status", "204")
        repeat = self.gateway.post("k1", {"order": "o-k1"})
        self.assertEqual((repeat.status, repeat.body), (204, b""))


class Probes(CliCase):
    """A route that knows how to ask; it is asked by hand alone."""

    reconcile = RECONCILE

    def changes(self):
        route = orders(breaker="none", add_operation_id={"header": "X-Operation-Id"},
                       reconcile=merge(self.reconcile, {"every": "1h", "quiet_time": "1h"}))
        return {"routes": [route, rest()]}

    def setUp(self):
        super().setUp()
        self.reply = json_answer(FOUND)
        self.upstream.on_request = self.on_request

    def on_request(self, request):
        return self.reply if request.path == QUESTION else None

    def lose(self, key, body=None, **options):
        self.upstream.script(fin())
        response = self.gateway.post(key, body or {"order": "o-" + key}, **options)
        self.assertEqual(response.status, 502, response)
        return response.get("Idempotency-Operation")

    def test_one_is_asked_about_and_the_finding_told(self):
        """probe waits for the finding, tells it, and the list can be filtered by it."""
        operation = self.lose("k1")
        text = self.ask(DONE, "backlog", "probe", operation, "--note", "ticket 7")
        self.assertIn("%s: executed. Asked GET %s?ref=%s: answered 200" % (operation, QUESTION, operation),
                      text)
        self.assertIn("Its state is now completed", text)
        shown = self.ask(DONE, "backlog", "show", operation)
        self.assertRegex(shown, r"probes\n.*  executed: answered 200, ")
        self.reply = json_answer(NOTHING)
        other = self.lose("k2")
        value = json.loads(self.ask(DONE, "backlog", "probe", other, "--json"))
        self.assertEqual((value["probe"], value["probe_count"]), ("absent", 1))
        self.assertEqual(ids_in(self.ask(DONE, "backlog", "list", "--probe", "absent")), [other])
        self.assertIn("1 absent", self.ask(DONE, "backlog", "groups"))

    def test_no_finding_is_no_success(self):
        """A finding that does not come in time ends with 1 and is none; without waiting, 0."""
        operation = self.lose("k1")
        release = threading.Event()
        self.addCleanup(release.set)
        self.reply = wait(release, json_answer(FOUND))
        text = self.ask(FAILED, "backlog", "probe", operation, "--wait", "300ms")
        self.assertIn("no answer is on record yet. Look later: recibo backlog show " + operation, text)
        text = self.ask(FAILED, "backlog", "probe", "--group", "1", "--wait", "300ms")
        self.assertRegex(text, r"(?m)^no answer yet +1  ")
        release.set()
        self.gateway.wait_state(operation, "completed")
        self.reply = fin()
        operation = self.lose("k2")
        self.assertIn(operation + ": failed.", self.ask(DONE, "backlog", "probe", operation))
        self.assertIn("will be asked", self.ask(DONE, "backlog", "probe", operation, "--wait", "0s"))

    def test_a_group_is_asked_about_at_a_rate(self):
        """Each of the group is asked about once, not faster than --rate, and the sum is told."""
        operations = [self.lose("k%d" % i) for i in range(6)]
        self.reply = json_answer(NOTHING)
        text = self.ask(DONE, "backlog", "probe", "--group", "1", "--rate", "100/s", "--note", "x")
        self.assertIn("Asking about group 1: create-order, closed_no_answer, no answer, 6 of them",
                      text)
        self.assertRegex(text, r"(?m)^absent +6  ")
        for operation in operations:
            self.assertEqual(self.gateway.operation(operation)["probe_count"], 1)
        self.reply = json_answer(FOUND)
        value = json.loads(self.ask(DONE, "backlog", "probe", "--group", "1", "--json"))
        self.assertEqual(value, {"asked": 6, "executed": 6, "absent": 0, "unclear": 0, "failed": 0,
                                 "settled_meanwhile": 0, "passed_by": 0, "open": 0})
        self.assertEqual(self.ask(DONE, "backlog", "list"), "Nothing is unknown.\n")

    def test_the_rate_is_kept(self):
        """Questions of a group never come faster than --rate says: a lower bound, which no slow
        machine can break."""
        for i in range(4):
            self.lose("k%d" % i)
        self.reply = json_answer(NOTHING)
        self.ask(DONE, "backlog", "probe", "--group", "1", "--rate", "5/s", "--wait", "0s")
        audits = [self.gateway.operation(each["id"])["audit"] for each in self.gateway.operations()]
        asked = sorted(entry["at"] for audit in audits for entry in audit
                       if entry["action"] == "probe" and entry["actor"] == "token:tester")
        self.assertEqual(len(asked), 4)
        steps = [milliseconds(b) - milliseconds(a) for a, b in zip(asked, asked[1:])]
        self.assertGreaterEqual(sum(steps), 3 * 200 - 50, steps)


def milliseconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1000


if __name__ == "__main__":
    main()
