"""The documents say what the code says: their tables are current, their links lead
somewhere, the index of the decisions is whole, and the example files are what the
programs take that they are for.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import doc_tables  # noqa: E402

LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
NAMED_TEST = re.compile(r"\btests/[\w./*-]+\.(?:py|c)\b")
ADR_NAME = re.compile(r"^(\d{4})-[a-z0-9-]+\.md$")
ADR_PARTS = ["Context", "Decision", "Consequences"]
FOREIGN_PATHS = re.compile(r"(?<![\w.])/(?:work|tmp/build|root)/")


def anchor(heading):
    """The anchor that a renderer gives to a heading."""
    text = re.sub(r"[`*]", "", heading).lower()
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def prose(text):
    """The text without its fenced blocks."""
    return FENCE.sub("", text)


def blocks(text, language):
    return [body for kind, body in FENCE.findall(text) if kind == language]


class Documents(unittest.TestCase):
    def every(self):
        for name in doc_tables.documents(ROOT):
            yield name, doc_tables.read(ROOT, name)

    def test_tables_are_those_of_the_code(self):
        """No table of a document differs from the table of the code that it shows."""
        for name, text in self.every():
            self.assertEqual(doc_tables.fill(ROOT, text), text,
                             "%s is stale: run tests/lint/doc_tables.py --write" % name)

    def test_every_table_is_shown(self):
        """A table that can be printed stands in some document."""
        shown = {found.group(2) for _, text in self.every()
                 for found in doc_tables.PLACE.finditer(text)}
        self.assertEqual(shown, set(doc_tables.TABLES))

    def test_a_new_row_of_the_code_makes_a_table_stale(self):
        """A code that is added to problems.def is missed in the document."""
        with tempfile.TemporaryDirectory() as root:
            for name in ("gateway/problems.def", "docs/http.md"):
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                shutil.copy(os.path.join(ROOT, name), os.path.join(root, name))
            text = "<!-- table: problems -->\n<!-- end of table -->\n"
            before = doc_tables.fill(root, text)
            with open(os.path.join(root, "gateway/problems.def"), "a", encoding="utf-8") as file:
                file.write('PROBLEM(NEW, "brand-new", 418, 1, "A new" " one, (really)")\n')
            after = doc_tables.fill(root, before)
            self.assertNotEqual(before, after)
            self.assertIn("| `brand-new` | 418 | yes | A new one, (really) |", after)

    def test_links_lead_somewhere(self):
        """A relative link names a file of the tree, and its anchor a heading of it."""
        for name, text in self.every():
            for target in LINK.findall(prose(text)):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, fragment = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)),
                                "%s links to %s, which is not there" % (name, target))
                if fragment and path.endswith(".md"):
                    headings = HEADING.findall(prose(doc_tables.read(ROOT, path)))
                    self.assertIn(fragment, [anchor(heading) for heading in headings],
                                  "%s links to %s" % (name, target))

    def test_named_tests_exist(self):
        """A test that a document names as a proof is there."""
        for name, text in self.every():
            for pattern in NAMED_TEST.findall(text):
                folder, base = os.path.split(os.path.join(ROOT, pattern))
                wanted = re.compile(re.escape(base).replace(r"\*", ".*") + r"\Z")
                there = os.listdir(folder) if os.path.isdir(folder) else []
                self.assertTrue(any(wanted.match(found) for found in there),
                                "%s names %s, which is not there" % (name, pattern))

    def test_no_paths_of_one_machine(self):
        """A document names no path that only the machine of its writer has."""
        for name, text in self.every():
            self.assertIsNone(FOREIGN_PATHS.search(text), name)


class Decisions(unittest.TestCase):
    FOLDER = os.path.join(ROOT, "docs", "adr")

    def decisions(self):
        return sorted(name for name in os.listdir(self.FOLDER) if ADR_NAME.match(name))

    def test_numbers_have_no_gap(self):
        """The decisions are numbered from 0001 on, each number once."""
        numbers = [int(ADR_NAME.match(name).group(1)) for name in self.decisions()]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
        self.assertGreater(len(numbers), 0)

    def test_each_has_its_parts(self):
        """Each says in which situation what was decided and what follows from it."""
        for name in self.decisions():
            text = doc_tables.read(self.FOLDER, name)
            number, title = ADR_NAME.match(name).group(1), HEADING.findall(text)[0]
            self.assertTrue(title.startswith(number + " "), "%s is titled %r" % (name, title))
            self.assertEqual([h for h in HEADING.findall(text)[1:] if h in ADR_PARTS], ADR_PARTS,
                             name)

    def test_the_index_lists_all(self):
        """The index links to every decision, under the title that it has."""
        index = doc_tables.read(self.FOLDER, "README.md")
        for name in self.decisions():
            title = HEADING.findall(doc_tables.read(self.FOLDER, name))[0]
            number, words = title.split(" ", 1)
            self.assertIn("| [%s](%s) | %s |" % (number, name, words), index)


class Examples(unittest.TestCase):
    """Files for other programs: looked at by those programs where they are installed."""

    @unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
    def test_nginx_takes_its_configuration(self):
        """nginx -t finds the configuration of the documents valid."""
        found = blocks(doc_tables.read(ROOT, "README.md"), "nginx")
        self.assertEqual(len(found), 1)
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)

            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                            "-days", "2", "-subj", "/CN=api.example.com",
                            "-keyout", path("key.pem"), "-out", path("cert.pem")],
                           check=True, capture_output=True)
            text = re.sub(r"/etc/ssl/[\w./-]*/([\w.-]+\.pem)", lambda m: path(m.group(1)), found[0])
            text = text.replace("listen 443", "listen unix:" + path("socket"))
            with open(path("nginx.conf"), "w", encoding="utf-8") as file:
                file.write("pid %s;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s}\n"
                           % (path("nginx.pid"), text))
            done = subprocess.run(["nginx", "-t", "-c", path("nginx.conf")], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_takes_the_unit(self):
        """systemd-analyze verify has nothing to say about the unit."""
        with tempfile.TemporaryDirectory() as folder:
            unit = doc_tables.read(ROOT, "docs/recibo.service")
            path = os.path.join(folder, "recibo.service")
            with open(path, "w", encoding="utf-8") as file:
                file.write(unit.replace("/usr/local/bin/recibo", "/bin/true"))
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", path],
                                  capture_output=True, text=True, check=False)
            said = [line for line in done.stderr.splitlines() if "recibo" in line]
            self.assertEqual((done.returncode, said), (0, []), done.stderr)


if __name__ == "__main__":
    unittest.main()
