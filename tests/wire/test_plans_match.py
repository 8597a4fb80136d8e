"""`recibo backlog match`: what is unknown against a list of the upstream."""

import json

from plans_lib import PlansCase, fin
from guarded import Upstream, answer, now_text
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
        self.assertIn(ran.returncode, code if isinstance(code, tuple) else (code,),
                      (ran.stdout, ran.stderr))
        return json.loads(ran.stdout) if as_json and ran.returncode in (DONE, FAILED) else ran

    def complete(self, *orders):
        """Orders that ran, later than what was lost; -> the last operation."""
        for order in orders:
            done = self.gateway.post("done-" + order, {"order": order})
            self.assertEqual(done.status, 201, done)
        return done.get("Idempotency-Operation")

    def ids(self, found, kind):
        return [each["id"] for each in found[kind]]


class Match(MatchCase):
    def test_once_twice_and_not_at_all(self):
        """Once is a plan `executed`; twice is a contradiction and in no plan; not there is a
        plan `not_executed`; nothing is settled."""
        once, twice, absent = (self.lose_order("k%d" % i, "o%d" % i) for i in range(3))
        self.complete("o9")
        until = now_text()
        found = self.match("ID,ORDER_NO\n1,o0\n2,o1\n3,o1\n4,o9\n", "--complete-until", until,
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
        self.complete("x")
        found = self.match("ORDER_NO\nx\n", "--complete-until", "2020-01-01T00:00:00Z",
                           code=FAILED)
        self.assertEqual((found["plans"], found["not_found"]), ([], []))
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
        self.complete("o9")
        out = self.match("ID,ORDER_NO\n1,o0\n2,o1\n3,o1\n4,o9\n", "--complete-until", now_text(),
                         code=FAILED, as_json=False).stdout
        for text in ("3 unknown, 4 records", "1 found once", "1 FOUND TWICE", "1 not found", once,
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
                           (b"ORDER_NO\n7001\nA\xe9\n", "csv:3:2: this is not UTF-8"),
                           (b"\xef\xbb\xbfORDER_NO,X\n\xc3,1\n", "csv:2:1: this is not UTF-8"),
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


class Spelling(MatchCase):
    """What is in the file in any spelling is never called not executed."""

    def judge(self, cells, known="fits"):
        """One column with these cells, and one of a completed order."""
        text = "ORDER_NO\n" + "".join('"%s"\n' % cell.replace('"', '""')
                                      for cell in (known, *cells))
        return self.match(text, "--complete-until", now_text(), "--dry-run", code=(DONE, FAILED))

    def check_unclear(self, label, cells):
        lost = self.lose_order("k-" + label.encode().hex(), label)
        for cell in cells:
            with self.subTest(label=label, cell=cell):
                found = self.judge([cell])
                entry = [each for each in found["unclear"] if each["id"] == lost]
                self.assertEqual(len(entry), 1, found)
                self.assertEqual((entry[0]["line"], entry[0]["planned"]), (3, False))
                self.assertIn("spelling", entry[0]["reason"])

    def setUp(self):
        super().setUp()
        self.gateway.post("fits", {"order": "fits"})

    def test_numbers(self):
        """Decimals, groups, exponents, signs, blanks, formulas, other digits, a word around."""
        self.check_unclear("7001", [
            "7001.0", "7001.00", "7,001", "7.001", "7 001", "7'001", "7,001.00", "7.001,00",
            "7.001E+03", "7.001e3", "7001E0", "7,001E3", "70.01E+2", "7001\u00a0", "\u00a07001",
            "7\u202f001", "7\u2009001", "\u200b7001", "70\u200d01", "\ufeff7001", "70\ufeff01",
            '="7001"', "+7001", "-7001", "#7001", "(7001)", "'7001", "007001", "7001\t",
            "\uff17\uff10\uff10\uff11", "\u0667\u0660\u0660\u0661", "ORD-7001", "7001/2A",
            "ORD20267001", "70015X", "No. 7001", "7e+03", "7E3", "7.0E+03", "order 07001", "$7001", "7001;"])

    def test_words(self):
        """Dashes, case, zeros, full width, letters that only look the same, parts."""
        self.check_unclear("A-01", [
            "A\u201101", "A\u201301", "A\u221201", "a-01", "A01", "A 01", "A-1", "a1", "A_01",
            "\uff21\uff0d\uff10\uff11", "\u0410-01", "X-A-01", "A-01-2", "A-001", "#A-01", "1", "A-1-2",
            "2-A-01"])

    def test_years(self):
        """A year without its century, and a number with a year and zeros before it."""
        self.check_unclear("2026-8042", ["26-8042", "26/8042"])
        self.check_unclear("8043/2026", ["8043/26"])
        self.check_unclear("8001", ["2026008001", "20268001"])

    def test_long_numbers(self):
        """A spreadsheet keeps 15 digits, and shows fewer; a program keeps a double."""
        self.check_unclear("1234567890123456789", [
            "1.23457E+18", "1.2345678901234568e+18", "1234567890123456768", "1234567890123450000",
            "1234567890123460000", "1.234567890123456789E18"])

    def test_labels_that_look_like_numbers(self):
        """The label may be the one that was spelled otherwise, too."""
        for label, cells in (("0042.0", ["42"]), ("12E5", ["1200000", "1.20E+06"]),
                             ("ORD-000017", ["17", "ord17", "ORD-17"])):
            self.check_unclear(label, cells)

    def test_decimals(self):
        """7.10 is shown as 7.1 by whoever takes it for a number."""
        self.check_unclear("7.10", ["7.1", "7.100", "07,10"])

    def test_other_numbers_are_no_spelling(self):
        """The check can fail: what is another order leaves the first one not there."""
        lost = [self.lose_order("k%d" % i, label)
                for i, label in enumerate(("7001", "A-01", "ORD-2", "2026-1", "T-0001"))]
        self.complete("fits", "7000", "A-09", "ORD-9", "2026-9", "T-0009")
        found = self.judge(["7000", "70012", "17001", "7002", "700", "A-09", "B-01", "ORD-9",
                            "ORD-21", "ORD-12", "ORD-20", "2026-9", "2026-11", "2026-10",
                            "T-0009", "T-0000", "T-0010", "T-0011"])
        self.assertEqual([(each["id"], each["planned"]) for each in found["not_found"]],
                         [(each, True) for each in lost])
        self.assertEqual((found["unclear"], found["blank"], found["warnings"]), ([], 0, []))

    def test_exact_beside_another_spelling(self):
        """Once just so and once otherwise may be two runs."""
        lost = self.lose_order("k0", "7001")
        found = self.judge(["7001", "7001.0"])
        self.assertEqual((self.ids(found, "unclear"), found["found_once"]), ([lost], []))

    def test_letters_that_have_no_other_form(self):
        """A label that the comparison cannot read is for a person when it is not there."""
        lost = self.lose_order("k0", "\u6ce8\u6587")
        self.assertEqual(self.ids(self.judge(["B-2"]), "unclear"), [lost])
        self.assertEqual(self.ids(self.judge(["\u6ce8\u6587"]), "found_once"), [lost])


class Doubt(MatchCase):
    """A file that proves no absence makes no plan of it."""

    def check_refused(self, text, told, blank=0):
        lost = self.lose_order("k0", "o0")
        self.gateway.post("k1", {"order": "fits"})
        for words in ((), ("--dry-run",)):
            found = self.match(text, "--complete-until", now_text(), *words, code=FAILED)
            self.assertEqual((self.ids(found, "unclear"), found["plans"], found["blank"]),
                             ([lost], [], blank))
            self.assertIn(told, found["unclear"][0]["reason"])
            self.assertIn(told, found["warnings"][0])
        out = self.match(text, "--complete-until", now_text(), code=FAILED, as_json=False).stdout
        self.assertIn("WARNING: nothing is called not executed", out)
        if blank > 0:
            self.assertIn("%d of them blank" % blank, out)

    def test_a_blank_cell(self):
        """A record without its number may be any."""
        self.check_refused("ORDER_NO,X\nfits,1\n,2\n\"\",3\n ,4\n\u00a0,5\n", "blank", blank=4)

    def test_words_for_nothing(self):
        """What programs write for no value is none."""
        self.check_refused("N,ORDER_NO\n1,fits\n2,NULL\n3,N/A\n4,\\N\n5,nan\n6,#REF!\n7,####\n"
                           "8,-\n9,7\u2460\n", "blank", blank=8)

    def test_a_blank_line_of_one_column(self):
        """Where there is one column, an empty line is a record."""
        self.check_refused("ORDER_NO\nfits\n\nx\n", "blank", blank=1)

    def test_no_record(self):
        """A header alone says nothing."""
        self.check_refused("ORDER_NO,X\n", "no record")

    def test_nothing_fits(self):
        """A list of something else, or the wrong column."""
        self.check_refused("ORDER_NO,X\nc1,2\nc2,3\n", "ran in that time and is not in the file")

    def test_the_last_number_may_be_cut(self):
        """A file that ends within its last cell, where the column is the last one."""
        self.check_refused("X,ORDER_NO\n1,fits\n2,o01", "no line end")

    def test_a_total(self):
        """A record that is no operation's number, whatever it is."""
        self.check_refused("ORDER_NO,X\nfits,2\nc2,3\nSumme: 2,5\n", "line 4 holds what looks like")

    def test_a_completed_operation_fits(self):
        """The column is the right one when it has the number of any operation."""
        lost = self.lose_order("k0", "o0")
        self.gateway.post("k1", {"order": "fits"})
        self.gateway.post("k2", {"order": "c1"})
        found = self.match("ORDER_NO,X\nfits,2\nc1,3\nc2,3\n\n", "--complete-until", now_text())
        self.assertEqual([plan["verdict"] for plan in found["plans"]], ["not_executed"])
        self.assertEqual(self.ids(found, "not_found"), [lost])

    def test_one_completed_operation_in_a_large_file_fits(self):
        """A list of many years is the right one by the few that this gateway has seen."""
        lost = self.lose_order("k0", "o0")
        self.gateway.post("k1", {"order": "fits"})
        rows = ["c%d" % i for i in range(1000)] + ["fits"] + ["g%d" % i for i in range(1000)]
        found = self.match("ORDER_NO\n%s\n" % "\n".join(rows), "--complete-until", now_text())
        self.assertEqual((self.ids(found, "not_found"), found["warnings"]), ([lost], []))

    def test_labels_of_old_operations(self):
        """Whoever applies a plan `executed` is told that an older one may bear the number."""
        self.lose_order("k0", "o0")
        found = self.match("ORDER_NO\no0\n", "--dry-run")
        self.assertIn("past their retention", found["warnings"][0])
        out = self.match("ORDER_NO\no0\n", as_json=False).stdout
        self.assertRegex(out, "WARNING: the labels of operations past their retention are gone")

    def test_marked_is_said_of_what_was_marked(self):
        """A dry run says that nothing was marked; later it is told what was when."""
        lost = self.lose_order("k0", "o0")
        told = []
        for words in (("--dry-run",), (), ()):
            found = self.match("ORDER_NO\no0\no0\n", *words, code=FAILED)
            self.assertEqual(self.ids(found, "found_twice"), [lost])
            told.append(found["found_twice"][0]["reason"])
        self.assertEqual(told, ["not marked: it is a dry run", "marked as contradicted",
                                "it was marked as contradicted before"])
        self.lose_order("k1", "o1")
        out = self.match("ORDER_NO\no1\no1\n", "--dry-run", "--where", "key=k1", code=FAILED,
                         as_json=False).stdout
        self.assertNotIn("marked as contradicted", out)

    def test_no_failure_without_a_word(self):
        """What no gateway would answer ends the command with the reason on standard error."""
        with open(self.gateway.directory + "/orders.csv", "w") as file:
            file.write("ORDER_NO\no0\n")
        for operation in ({"id": ""}, {"id": "x" * 40}, {"labels": {"order": "o0"}}):
            with self.subTest(operation=operation):
                other = self.use(Upstream(answer(200, body={"operations": [operation]})))
                ran = self.cli("backlog", "match", "orders.csv", "--column", "ORDER_NO", "--label",
                               "order", env={"RECIBO_ADMIN": other.url})
                self.assertEqual((ran.returncode, ran.stdout), (FAILED, ""))
                self.assertIn("recibo: the gateway listed an operation without an id", ran.stderr)


class Known(MatchCase):
    """What is known to have run has to be in a list that is said to be complete."""

    def setUp(self):
        super().setUp()
        self.lost = self.lose_order("k0", "7001")

    def check(self, text, is_missing, *words):
        found = self.match(text, "--complete-until", now_text(), *words,
                           code=FAILED if is_missing else DONE)
        self.assertEqual(self.ids(found, "unclear" if is_missing else "not_found"), [self.lost])
        if is_missing:
            self.assertIn(is_missing + " ran in that time", found["warnings"][0])
        self.assertEqual(len(found["plans"]), 0 if is_missing else 1)

    def test_one_is_missing(self):
        """A list without an operation that ran is not the complete one."""
        self.gateway.post("k1", {"order": "7002"})
        other = self.gateway.post("k2", {"order": "7003"}).get("Idempotency-Operation")
        self.check("ORDER_NO\n7002\n", other)
        self.check("ORDER_NO\n7002\n7003\n", None)

    def test_with_a_check_digit(self):
        """A list that counts otherwise says of nothing that it is not there."""
        other = self.gateway.post("k1", {"order": "7002"}).get("Idempotency-Operation")
        self.gateway.post("k2", {"order": "70019"})
        self.check("ORDER_NO\n70027\n70019\n", other)

    def test_in_another_spelling(self):
        """Where one number is spelled otherwise, another one may be, too."""
        self.complete("7002", "7003")
        for cell in ("ORD-7002", "7002-1", "2026-7002", "7 002", "0.69", "x"):
            with self.subTest(cell=cell):
                found = self.match("ORDER_NO\n7002\n%s\n7003\n" % cell, "--complete-until",
                                   now_text(), "--dry-run", code=FAILED)
                self.assertEqual(self.ids(found, "unclear"), [self.lost])

    def test_several_series(self):
        """Each form of number is known by one of its operations."""
        lost = self.lose_order("k9", "WEB-0017")
        self.complete("7002", "WEB-0018")
        uuid = "3f2b8c1e-9d4a-4b1f-8a77-0123456789ab"
        text = "ORDER_NO\n7002\nWEB-0018\nWEB-0019\n7003\n"
        found = self.match(text, "--complete-until", now_text())
        self.assertEqual(self.ids(found, "not_found"), [self.lost, lost])
        self.complete(uuid)
        text += uuid + "\n" + uuid.replace("1", "a") + "\n"
        found = self.match(text, "--complete-until", now_text(), "--dry-run")
        self.assertEqual(self.ids(found, "not_found"), [self.lost, lost])

    def test_spellings_of_spreadsheets_and_programs(self):
        """One record of another form is enough to prove no absence, whatever made it so."""
        self.complete("7002")
        labels = ("3-12", "OCT4", "2-3-4", "10:30", "2026-6601", "07-2026-8041", "8044-A", "6502",
                  "8015/1", "5-12")
        lost = [self.lose_order("k-" + label, label) for label in labels]
        self.complete("7003")
        for cells in (["12-Mar"], ["01-oct"], ["02/03/2004"], ["0.4375"], ["66012026"],
                      ["8041/2026"], ["A8044"], ["6501, 6502"], ["8015"], ["46154"],
                      ["7603 2026-12-01"], ["6502;6503"], ["6502+6503"]):
            with self.subTest(cells=cells):
                found = self.match("ORDER_NO\n7002\n7003\n" + "".join('"%s"\n' % cell
                                                                     for cell in cells),
                                   "--complete-until", now_text(), "--dry-run",
                                   code=(DONE, FAILED))
                unsaid = [each["label"] for each in found["not_found"]]
                self.assertEqual([each for each in unsaid if not each.isdigit()], [])
                self.assertEqual(unsaid != [], cells[0].isdigit())

    def test_it_ends_before(self):
        """A list of before the outage says nothing of the outage."""
        self.check_uncovered("ORDER_NO\n6999\n")
        self.complete("7002")
        found = self.match("ORDER_NO\n7002\n", "--complete-until", now_text())
        self.assertEqual(self.ids(found, "not_found"), [self.lost])
        later = self.lose_order("k8", "7005")
        found = self.match("ORDER_NO\n7002\n", "--complete-until", now_text(), "--dry-run",
                           code=FAILED)
        self.assertEqual((self.ids(found, "not_found"), self.ids(found, "unclear")),
                         ([self.lost], [later]))

    def check_uncovered(self, text):
        found = self.match(text, "--complete-until", now_text(), "--dry-run", code=FAILED)
        self.assertEqual(self.ids(found, "unclear"), [self.lost])
        return found

    def test_a_hit_by_chance(self):
        """One old number in a wrong column covers nothing."""
        self.gateway.restart()
        first = self.gateway.operations(**{"label.order": "7001"})[0]["id"]
        self.assertEqual(first, self.lost)
        found = self.check_uncovered("QTY\n6000\n".replace("QTY", "ORDER_NO"))
        self.assertEqual(found["plans"], [])

    def test_what_need_not_be_there(self):
        """Older, of another route, declined, settled, or without a number: no list owes it."""
        self.gateway.post("k1", {"order": "7003"})
        self.gateway.post("k2", {"order": "8000"}, path="/refunds")
        self.gateway.post("k3", {"other": 1})
        self.upstream.script(answer(422, body={"error": "no stock"}))
        self.gateway.post("k4", {"order": "7004"})
        self.check("ORDER_NO\n7003\n", None)

    def test_before_the_first_of_them(self):
        """Lists of the days of an outage need not have what came before."""
        self.gateway.post("k1", {"order": "6000"})
        again = self.lose_order("k5", "7009")
        self.gateway.post("k6", {"order": "7010"})
        found = self.match("ORDER_NO\n7001\n7010\n", "--complete-until", now_text())
        self.assertEqual(self.ids(found, "not_found"), [again])


class QuietMatch(MatchCase):
    """The list must reach past the quiet time of each entry."""

    quiet = "1h"

    def test_not_there_before_the_quiet_time(self):
        """A list of now says nothing of what may still arrive in an hour."""
        self.lose_order("k0", "o0")
        self.gateway.post("k1", {"order": "x"})
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
