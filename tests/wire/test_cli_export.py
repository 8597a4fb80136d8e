"""recibo backlog export: CSV that no spreadsheet calculates, bundles with the evidence."""

import csv
import io
import json
import os
import re
import tarfile

import admin_lib  # noqa: F401 - finds the harness
from cli_lib import DONE, USAGE, CliCase
from harness import fin, main, orders, parallel, rest

FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", " =1",
            "\uff1d1", "\uff0b1", "\uff0d1", "\uff201")
PLAIN = ("a=b", "4711", "caf\u00e9", 'say "x", twice', "a;b", "two\nlines", "cr\rlf", "", "'=1", "x-1")


class Csv(CliCase):
    quiet = "1h"

    def rows(self, *words):
        """The CSV, read by the rules of RFC 4180 alone."""
        done = self.cli_bytes("backlog", "export", *words)
        text = done.decode("utf-8")
        self.assertTrue(text.endswith("\r\n"))
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    def cli_bytes(self, *words):
        path = os.path.join(self.gateway.directory, "out.csv")
        if os.path.exists(path):
            os.unlink(path)
        self.ask(DONE, *words, "--output", path)
        with open(path, "rb") as file:
            return file.read()

    def test_no_cell_is_a_formula(self):
        """Whatever a caller writes into a label or a key: no cell begins as a formula, and the
        text behind the apostrophe is what he wrote."""
        for i, text in enumerate(FORMULAS):
            self.lose("k%d" % i, {"order": text})
        self.lose("=1+1")
        rows = self.rows()
        self.assertEqual(len(rows), len(FORMULAS) + 1)
        for row, text in zip(rows, FORMULAS):
            self.assertEqual(row["label.order"], "'" + text)
        self.assertEqual(rows[-1]["key"], "'=1+1")
        for row in rows:
            for cell in row.values():
                self.assertNotIn(cell.lstrip(" ")[:1], list("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"))

    def test_plain_words_stay_as_they_are(self):
        """Quotes, commas and line ends come back by RFC 4180; NUL and controls are spelled out."""
        for i, text in enumerate(PLAIN):
            self.lose("k%d" % i, {"order": text or None, "n": 1})
        self.lose("nul", {"order": "a\u0000\u001b\u202eb"})
        rows = self.rows()
        self.assertEqual([row["label.order"] for row in rows[:-1]], list(PLAIN))
        self.assertEqual(rows[-1]["label.order"], "a\\x00\\x1b\\u{202e}b")

    def test_more_than_a_page(self):
        """Every row of several pages is there once, in exports and in lists."""
        self.upstream.default = fin()
        told = parallel(8, lambda n: [self.gateway.post("p%d-%d" % (n, i), {"order": i})
                                      .get("Idempotency-Operation") for i in range(64)])
        ids = sorted(each for some in told for each in some)
        self.assertEqual(len(set(ids)), 512)
        self.assertEqual(sorted(row["id"] for row in self.rows()), ids)
        for words in (("backlog", "list"), ("operations",)):
            listed = re.findall(r"op_\w{26}", self.ask(DONE, *words, "--all"))
            self.assertEqual(sorted(listed), ids)
        self.assertIn("512 unknown", self.ask(DONE, "backlog"))

    def test_every_label_is_a_column(self):
        """Labels of different routes are columns of their own; the rest of a row is as it is."""
        routes = [orders(breaker="none", labels={"order": {"json": "/order"}}),
                  orders(name="other", match={"path": "/other"}, breaker="none",
                         labels={"order": None, "id": {"json": "/order"}}), rest()]
        self.gateway.restart(changes={"routes": routes})
        first = self.lose("k1")
        other = self.lose("k1", path="/other")
        rows = self.rows()
        self.assertEqual([row["id"] for row in rows], [first["id"], other["id"]])
        self.assertEqual([(row["label.order"], row["label.id"]) for row in rows],
                         [("o-k1", ""), ("", "o-k1")])
        row = rows[0]
        self.assertEqual((row["route"], row["state"], row["end"], row["status"], row["attempts"],
                          row["created_at"], row["contradicted"]),
                         ("create-order", "unknown", "closed_no_answer", "", "1",
                          first["created_at"], "false"))

    def test_a_file_is_not_written_over(self):
        """What is there stays; what could not be made is not left behind; eyes of others see none."""
        path = os.path.join(self.gateway.directory, "mine")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine")
        for option in ("--output", "--bundle"):
            self.assertIn("not written over", self.ask(USAGE, "backlog", "export", option, path))
            self.assertIn("No such file", self.ask(USAGE, "backlog", "export", option, "/no/dir/x"))
            new = path + option
            self.ask(3, "backlog", "export", option, new, "--route", "none")
            self.assertFalse(os.path.exists(new))
            self.ask(DONE, "backlog", "export", option, new)
            self.assertEqual(os.stat(new).st_mode & 0o777, 0o600)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")


class Bundle(CliCase):
    quiet = "1h"

    def bundle(self, *words, **options):
        path = os.path.join(self.gateway.directory, "evidence.tar")
        if os.path.exists(path):
            os.unlink(path)
        said = self.ask(DONE, "backlog", "export", "--bundle", path, *words, **options)
        with tarfile.open(path, "r:") as tar:
            return said, {member.name.split("/", 1)[1]: tar.extractfile(member).read()
                          for member in tar.getmembers()}

    def test_all_evidence_is_in_it_byte_for_byte(self):
        """JSON, timeline, CSV, and the bodies of request and response as they were."""
        body = b'{"order": "b-1",\n "e": 1.0, "x": "' + b"y" * 700 + b'"}'
        self.upstream.script(fin())
        lost = self.gateway.post("k1", body, headers=[("Content-Type", "application/json")])
        operation = lost.get("Idempotency-Operation")
        response = os.path.join(self.gateway.directory, "response")
        with open(response, "wb") as file:
            file.write(bytes(range(256)))
        self.ask(DONE, "backlog", "settle", operation, "--verdict", "executed", "--response", response,
                 "--status", "201", "--note", "x")
        said, files = self.bundle("--state", "completed")
        self.assertIn("1 operation written", said)
        self.assertEqual(set(files), {operation + "/" + name for name in (
            "operation.json", "why.json", "request.body", "response.body")} | {"operations.csv"})
        self.assertEqual(files[operation + "/request.body"], body)
        self.assertEqual(files[operation + "/response.body"], bytes(range(256)))
        shown = json.loads(files[operation + "/operation.json"])
        self.assertEqual((shown["id"], shown["state"]), (operation, "completed"))
        self.assertEqual(json.loads(files[operation + "/why.json"])["id"], operation)
        self.assertIn(operation.encode(), files["operations.csv"])

    def test_without_the_right_bodies_stay_out_and_that_is_said(self):
        """A reader's bundle holds no header and no body, and says so."""
        operation = self.lose("k1")["id"]
        env = self.reader("read")
        said, files = self.bundle(env=env)
        self.assertIn("no right `evidence`", said)
        self.assertEqual(set(files), {operation + "/operation.json", operation + "/why.json",
                                      "operations.csv"})
        self.assertNotIn("request", json.loads(files[operation + "/operation.json"]))

    def test_an_empty_one_is_whole(self):
        """Nothing that fits is a bundle with an empty table."""
        said, files = self.bundle()
        self.assertIn("0 operations", said)
        self.assertEqual(list(files), ["operations.csv"])
        self.assertEqual(files["operations.csv"].count(b"\r\n"), 1)


if __name__ == "__main__":
    main()
