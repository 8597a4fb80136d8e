"""Each sentence of the README's promise has a test that would fail if it were false: the
sentences are listed word for word in tests/lib/promise.py, with the tests and the
changes of the program that these were seen to catch, and docs/testing.md shows the list.

That the changes still fit the program is not looked at here, but by
`tests/lib/promise.py --break`, which makes them.
"""

import ast
import os
import re
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import promise  # noqa: E402

# Sentences that promise nothing, and so have nothing to test.
REASONS_MAX = 1


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def functions(path):
    """The names of the tests of a file: methods of a case, or entries of a cmocka group."""
    text = read(path)
    if path.endswith(".py"):
        return {node.name for case in ast.parse(text).body if isinstance(case, ast.ClassDef)
                for node in case.body if isinstance(node, ast.FunctionDef)}
    return set(re.findall(r"\b(?:cmocka_unit_test\w*|BOTH)\((\w+)", text))


class Promise(unittest.TestCase):
    def test_each_sentence_is_listed(self):
        """Word for word and in order: a new or a changed sentence needs a test first."""
        self.assertEqual(promise.sentences(read("README.md")),
                         [sentence.text for sentence in promise.SENTENCES])

    def test_a_new_sentence_is_missed(self):
        """The reading of the section finds a sentence wherever it is put."""
        text = read("README.md")
        known = promise.sentences(text)
        for mark, new in (("\n- **proved**", "\nIt is quick. \n- **proved**"),
                          ("\n- **declared**", "\n- It is small.\n- **declared**"),
                          ("\n| A changed", "\n| It is cheap. | `x` |\n| A changed"),
                          ("- Nothing about", "- Nothing else. Nothing about"),
                          ("\n### What it does", "\nIt is right.\n\n### What it does")):
            found = promise.sentences(text.replace(mark, new, 1))
            self.assertEqual(len(found), len(known) + 1, new)

    def test_each_sentence_has_a_test(self):
        """Each has a change that its test has caught, but for what promises nothing."""
        reasons = [one for one in promise.SENTENCES if not one.breaks]
        self.assertLessEqual(len(reasons), REASONS_MAX)
        for sentence in promise.SENTENCES:
            self.assertNotEqual(bool(sentence.breaks), bool(sentence.reason), sentence.text)

    def test_the_named_tests_exist(self):
        """File and function."""
        for sentence in promise.SENTENCES:
            for one in sentence.breaks:
                path, function = one.test.split("::")
                self.assertTrue(os.path.exists(os.path.join(ROOT, path)), one.test)
                self.assertIn(function, functions(path), one.test)

    def test_the_readme_names_one_of_them(self):
        """The file beside a sentence of the table is one of those that guard it."""
        named = promise.files_named(read("README.md"))
        self.assertGreater(len(named), 0)
        tests = {sentence.text: {one.test.split("::")[0] for one in sentence.breaks}
                 for sentence in promise.SENTENCES}
        for text, path in named.items():
            self.assertIn(path, tests.get(text, ()), text)

    def test_the_changes_are_changes(self):
        """Each edits a file of the program, never a test."""
        for sentence in promise.SENTENCES:
            for one in sentence.breaks:
                for path, old, new in one.edits:
                    self.assertNotEqual(old, new, one.words)
                    self.assertFalse(path.startswith(("tests/", "docs/")), one.words)
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)

    def test_the_document_shows_the_list(self):
        """docs/testing.md has the table as tests/lib/promise.py prints it."""
        self.assertIn("\n".join(promise.table()) + "\n", read("docs/testing.md"),
                      "print it with tests/lib/promise.py --table")


if __name__ == "__main__":
    unittest.main()
