"""`recibo backlog match`: what is unknown against a list of the upstream."""

import json

from plans_lib import PlansCase, fin
from guarded import now_text
from harness import main

DONE, FAILED, USAGE, NOT_FOUND = 0, 1, 2, 3


class MatchCase(PlansCase):
    def lose_order(self, key, order, path="/orders"):
        self.upstream.script(fin())
        response = self.gateway.post(key, {"order": order}, path=path)
        self.assertEqual(response.status, 502, response)
        return response.get("Idempotency-Operation")

    def match(self, text, *words, code=DONE, column="ORDER_NO", as_json=True):
        """-> the JSON, or what was printed."""
        data = text if isinstance(text, bytes) else text.encode()
        with open(self.gateway.directory + "/orders.csv", "wb") as file:
            file.write(data)
        ran = self.cli("backlog", "match", "orders.csv", "--column", column, "--label", "order",
                       *words, *(["--json"] if as_json else []))
        self.assertEqual(ran.returncode, code, (ran.stdout, ran.stderr))
        return json.loads(ran.stdout) if as_json and code in (DONE, FAILED) else ran

    def ids(self, found, kind):
        return [each["id"] for each in found[kind]]


class Match(MatchCase):
    def test_once_twice_and_not_at_all(self):
        """Once is a plan `executed`; twice is a contradiction and in no plan; not there is a
        plan `not_executed`; nothing is settled."""
        once, twice, absent = (self.lose_order("k%d" % i, "o%d" % i) for i in range(3))
        until = now_text()
        found = self.match("ID,ORDER_NO\n1,o0\n2,o1\n3,o1\n4,x\n", "--complete-until", until,
                           code=FAILED)
        self.assertEqual([self.ids(found, kind) for kind in
                          ("found_once", "found_twice", "not_found", "unclear")],
                         [[once], [twice], [absent], []])
        self.assertEqual((found["records"], found["contradictions"]), (4, 1))
        self.assertEqual([(plan["verdict"], plan["count"]) for plan in found["plans"]],
                         [("executed", 1), ("not_executed", 1)])
        self.assertEqual(self.states([once, twice, absent]), ["unknown"] * 3)
        marked = self.gateway.operation(twice)
        self.assertIs(marked["contradicted"], True)
        self.assertIn("orders.csv", marked["audit"][-1]["note"])
        self.assertEqual(self.gateway.operation(once)["contradicted"], False)
        for plan in found["plans"]:
            self.apply(plan)
            self.assertEqual(self.wait_over(plan)["settled"], 1)
        self.assertEqual(self.states([once, twice, absent]), ["completed", "unknown", "released"])

    def test_not_there_says_nothing_of_an_incomplete_file(self):
        """Without --complete-until nothing is called not executed."""
        self.lose_order("k0", "o0")
        found = self.match("ORDER_NO\nx\n")
        self.assertEqual((found["plans"], found["not_found"][0]["planned"]), ([], False))
        self.assertIn("complete", found["not_found"][0]["reason"])
        found = self.match("ORDER_NO\nx\n", "--complete-until", "2020-01-01T00:00:00Z")
        self.assertEqual(found["plans"], [])
        self.assertIn("could still arrive", found["not_found"][0]["reason"])
        ran = self.match("ORDER_NO\nx\n", "--complete-until", "2199-01-01T00:00:00Z", code=USAGE)
        self.assertIn("future", ran.stderr)
        ran = self.match("ORDER_NO\nx\n", "--complete-until", "noon", code=USAGE)
        self.assertIn("--complete-until", ran.stderr)

    def test_several_operations_with_one_number(self):
        """A record that may be another operation's is no proof, whatever became of that one."""
        first, second = self.lose_order("k0", "same"), self.lose_order("k1", "same")
        self.gateway.post("k2", {"order": "done"})
        third = self.lose_order("k3", "done")
        found = self.match("ORDER_NO\nsame\ndone\n")
        self.assertEqual(self.ids(found, "unclear"), [first, second, third])
        self.assertEqual((found["plans"], found["found_once"]), ([], []))
        self.assertIn("several operations", found["unclear"][0]["reason"])

    def test_another_spelling_is_no_match_and_no_absence(self):
        """Blanks, case, zeros, a quote of a spreadsheet: for a person, never not executed."""
        orders = ["AB-1", "0042", "7", "x y", "zero"]
        lost = [self.lose_order("k%d" % i, order) for i, order in enumerate(orders)]
        found = self.match("ORDER_NO\nab-1\n42\n 7 \n'x y\nzero\nZERO\n",
                           "--complete-until", now_text())
        self.assertEqual(self.ids(found, "unclear"), lost)
        self.assertEqual(found["plans"], [])

    def test_a_label_that_may_have_been_cut(self):
        """A number longer than labels are is for a person."""
        lost = self.lose_order("k0", "n" * 70)
        found = self.match("ORDER_NO\n%s\n" % ("n" * 70), "--complete-until", now_text())
        self.assertEqual((self.ids(found, "unclear"), found["plans"]), ([lost], []))
        self.assertIn("cut", found["unclear"][0]["reason"])

    def test_operations_without_the_label(self):
        """What bears no such number is told and left."""
        self.upstream.script(fin())
        self.gateway.post("k0", {"other": 1})
        found = self.match("ORDER_NO\n1\n", "--complete-until", now_text())
        self.assertIsNone(found["unclear"][0]["label"])
        self.assertEqual(found["plans"], [])

    def test_contradicted_ones_stay_with_a_person(self):
        """Evidence against a verdict is not overruled by a list; found twice it is marked once."""
        lost = self.lose_order("k0", "o0")
        self.match("ORDER_NO\no0\no0\n", code=FAILED)
        found = self.match("ORDER_NO\no0\no0\n", code=FAILED)
        self.assertEqual((self.ids(found, "found_twice"), found["contradictions"]), ([lost], 0))
        found = self.match("ORDER_NO\no0\n")
        self.assertEqual((self.ids(found, "unclear"), found["plans"]), ([lost], []))

    def test_where_narrows(self):
        """Only what the filters choose is looked at; a state is not among them."""
        order = self.lose_order("k0", "o0")
        self.lose_order("k1", "o1", path="/refunds")
        found = self.match("ORDER_NO\no0\no1\n", "--where", "route=create-order")
        self.assertEqual(self.ids(found, "found_once"), [order])
        self.match("ORDER_NO\no0\n", "--where", "state=completed", code=USAGE)
        self.match("ORDER_NO\no0\n", "--where", "rout=x", code=USAGE)

    def test_a_dry_run_makes_nothing(self):
        """Tables alone: no plan, no mark."""
        self.lose_order("k0", "o0")
        twice = self.lose_order("k1", "o1")
        found = self.match("ORDER_NO\no0\no1\no1\n", "--dry-run", code=FAILED)
        self.assertEqual((found["plans"], found["contradictions"]), ([], 0))
        self.assertEqual(self.gateway.admin("GET", "/v1/plans")[2]["plans"], [])
        self.assertIs(self.gateway.operation(twice)["contradicted"], False)

    def test_tables_for_people(self):
        """Three tables with lines of the file, and what to type next."""
        once, twice, absent = (self.lose_order("k%d" % i, "o%d" % i) for i in range(3))
        out = self.match("ID,ORDER_NO\n1,o0\n2,o1\n3,o1\n", "--complete-until", now_text(),
                         code=FAILED, as_json=False).stdout
        for text in ("3 unknown, 3 records", "1 found once", "1 FOUND TWICE", "1 not found", once,
                     twice, absent, "recibo backlog list --contradicted",
                     "recibo backlog settle --apply plan_"):
            self.assertIn(text, out)
        self.assertRegex(out, r"%s +create-order +o1 +3\b" % twice)

    def test_files_of_all_kinds(self):
        """A byte-order mark, CRLF, quotes with line ends, other separators, no last line end."""
        for number, (text, words) in enumerate((
                (b"\xef\xbb\xbfORDER_NO,X\r\nf0,1\r\n", ()),
                (b'"X","ORDER_NO"\n"a\nb, c","f1"', ()),
                (b"X;ORDER_NO\n1,5;f2\n", ("--separator", ";")),
                (b"ORDER_NO\tX\nf3\t\n\n\n", ("--separator", "tab")),
                (b'X,ORDER_NO\n"say ""f4""",f4\n', ()))):
            with self.subTest(text=text):
                lost = self.lose_order("f%d" % number, "f%d" % number)
                found = self.match(text, *words)
                self.assertIn(lost, self.ids(found, "found_once"))

    def test_files_that_cannot_be_read(self):
        """Each fault stands at its line and column, and nothing is made of the file."""
        self.lose_order("k0", "o0")
        for text, told in ((b"", "empty"), (b"ORDER_NO,X\n1\n", "csv:2:1: this record"),
                           (b"ORDER_NO,X\n1,2,3\n", "csv:2:3: this record"),
                           (b'ORDER_NO\n"a\n', "csv:2:1: a quote"), (b'ORDER_NO\na"b\n', "csv:2:2:"),
                           (b"ORDER_NO\na\rb\n", "csv:2:2: a carriage"),
                           (b"\xff\xfeO\0", "UTF-16"), (b"ORDER_NO\na\0\n", "csv:2:2: a NUL"),
                           (b"ORDER_NO,ORDER_NO\n", "several columns"),
                           (b"NUMBER,X\n1,2\n", "NUMBER, X"),
                           (b"X;ORDER_NO\n1;2\n", "--separator"),
                           (b"\x1b[31mN\n", "\\x1b")):
            with self.subTest(text=text):
                ran = self.match(text, code=USAGE)
                self.assertIn(told, ran.stderr)
                self.assertNotIn("\x1b", ran.stderr)
        self.assertEqual(self.gateway.admin("GET", "/v1/plans")[2]["plans"], [])
        ran = self.cli("backlog", "match", "nothing.csv", "--column", "A", "--label", "b")
        self.assertEqual(ran.returncode, USAGE)
        self.assertIn("nothing.csv", ran.stderr)
        for words in (("--column", "A"), ("--label", "b"),
                      ("--column", "A", "--label", "b", "--separator", "xx")):
            self.assertEqual(self.cli("backlog", "match", "orders.csv", *words).returncode, USAGE)

    def test_many(self):
        """Hundreds of operations in one run; the plan has exactly those that were found."""
        lost = self.lose_many(300)
        text = "ORDER_NO\n" + "".join("o-k%04d\n" % i for i in range(0, 300, 2))
        found = self.match(text)
        self.assertEqual(self.ids(found, "found_once"), lost[::2])
        self.assertEqual([plan["count"] for plan in found["plans"]], [150])
        self.apply(found["plans"][0])
        self.wait_over(found["plans"][0])
        self.assertEqual(self.states(lost[:4]), ["completed", "unknown"] * 2)


class QuietMatch(MatchCase):
    """The list must reach past the quiet time of each entry."""

    quiet = "1h"

    def test_not_there_before_the_quiet_time(self):
        """A list of now says nothing of what may still arrive in an hour."""
        self.lose_order("k0", "o0")
        found = self.match("ORDER_NO\nx\n", "--complete-until", now_text())
        self.assertEqual(found["plans"], [])
        self.assertIn("could still arrive", found["not_found"][0]["reason"])

    def test_found_is_found(self):
        """What is on the list ran, also in the quiet time."""
        lost = self.lose_order("k0", "o0")
        found = self.match("ORDER_NO\no0\n")
        self.assertEqual([(plan["verdict"], plan["count"]) for plan in found["plans"]],
                         [("executed", 1)])
        self.assertEqual(self.ids(found, "found_once"), [lost])


if __name__ == "__main__":
    main()
