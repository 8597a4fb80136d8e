"""The table of events is the log: every event of the source is in it, at a level that it
names, and none is in it that the source does not have.
"""

import os
import re
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EVENT = re.compile(r'^EVENT\("([a-z_.]+)",\s*"([a-z ]+)",\s*"(.+)"\)$', re.MULTILINE)
# A call up to the end of its arguments before the pairs: the level may be a choice.
CALL = re.compile(r'\bgw_log(?:_text)?\(([^;]*?)\);', re.DOTALL)
NAME = re.compile(r'"([a-z_]+\.[a-z_]+)"')


def table():
    with open(os.path.join(ROOT, "gateway", "events.def"), encoding="utf-8") as file:
        return EVENT.findall(file.read())


def sources():
    for folder, _, names in os.walk(os.path.join(ROOT, "gateway")):
        for name in names:
            if name.endswith(".c"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    yield os.path.relpath(os.path.join(folder, name), ROOT), file.read()


class Events(unittest.TestCase):
    def test_the_table_is_read_whole(self):
        """Each line of the table is a row, and no event is in it twice."""
        with open(os.path.join(ROOT, "gateway", "events.def"), encoding="utf-8") as file:
            lines = sum(line.startswith("EVENT(") for line in file)
        names = [name for name, _, _ in table()]
        self.assertEqual(len(names), lines)
        self.assertEqual(len(set(names)), len(names))
        for _, levels, _ in table():
            self.assertLessEqual(set(levels.split()), {"debug", "info", "warn", "error"})

    def test_none_is_missing(self):
        """What a source logs by name stands in the table."""
        known = {name for name, _, _ in table()}
        for path, text in sources():
            for call in CALL.findall(text):
                for name in NAME.findall(call):
                    self.assertIn(name, known, path)

    def test_none_is_idle(self):
        """What stands in the table is logged somewhere."""
        everything = "\n".join(text for _, text in sources())
        for name, _, _ in table():
            self.assertIn('"%s"' % name, everything)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
