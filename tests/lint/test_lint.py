"""Every lint rule finds what is planted for it, stays silent on clean text, and the
tree itself is clean. A rule without a planted violation fails this test.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import csource  # noqa: E402
import lint  # noqa: E402

OPENING = "/* A file of the test. It must never be built. */\n"
TAB, NOTE = "\t", "TO" + "DO"
LONG_BODY = "".join("    value += %d;\n" % number for number in range(80))


def function(name, body, result="int"):
    return "%s %s(int value);\n%s %s(int value)\n{\n%s    return value;\n}\n" % (
        result, name, result, name, body)


# rule -> [(file, text behind the opening, line or None for any)]
PLANTED = {
    "format": [("base/a.c", "int  a;\n", 2), ("gateway/rooms/b.h", "void b( void );\n", 2)],
    "function-length": [("store/a.c", function("a", LONG_BODY), 3)],
    "file-length": [("store/a.c", "\n" * 600, None), ("tests/lib/a.py", "#\n" * 601, None)],
    "comments": [("base/a.c", "int a; // why\n", 2), ("base/b.h", '/* x */ // "\n', 2),
                 ("base/c.c", 'const char *a = "/*"; // b\n', 2)],
    "headers": [("base/a.h", "uint8_t a(void);\n", None),
                ("base/b.h", "struct b { int c; };\n", None),
                ("gateway/c.h", '#include "base/absent.h"\n', None)],
    "statics": [("base/a.c", function("a", "    static int count;\n    count++;\n"), 5),
                ("base/b.c", function("b", "    static char *names[2] = {0};\n    (void)names;\n"),
                 5)],
    "recursion": [("policy/a.c",
                   function("a", "    if (value > 0)\n        return a(value - 1);\n"), 6)],
    "typedefs": [("base/a.h", "typedef struct a { int b; } a;\n", 2),
                 ("base/b.h", "struct b;\ntypedef const struct b b_t;\n", 3),
                 ("base/c.h", "typedef enum\n{\n    C\n} c;\n", 2)],
    "space": [("base/a.c", "int a;" + TAB + "\n", 2), ("policy/x.def", "A(b) \n", 2),
              ("tools/run", "true", None), ("tests/CMakeLists.txt", TAB + "set(a b)\n", 2)],
    "markers": [("base/a.c", "/* " + NOTE + " later */\n", 2),
                ("tools/run", "# " + NOTE + "\n", 2)],
    "opening": [("base/a.c", None, 1)],
    "purity": [("policy/a.c", "#include <string.h>\n"
                + function("a", '    value += (int)strcspn("a", value ? "b" : "c");\n'), None),
               ("policy/b.c", "int puts(const char *);\n"
                + function("b", '    puts("b");\n'), None),
               ("policy/c.c", "extern int shared;\n"
                + function("c", "    value += shared;\n"), None),
               ("policy/d.c", "this is no C\n", None)],
    "banned": [("base/a.c", function("a", "    (void)%s(x);\n" % name), 5) for name in (
        "strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok", "gmtime", "localtime",
        "asctime", "ctime", "atoi", "atol", "strncpy", "alloca")]
    + [("tests/unit/a.c", function("a", "    %s(1);\n" % name), 5) for name in (
        "sleep", "usleep", "nanosleep")]
    + [("tests/wire/a.py", "import time\ntime.sl" + "eep(1)\n", 3)],
    "includes": [(name, "#include %s\n" % header, 2) for name, header in (
        ("base/a.c", '"policy/key.h"'), ("base/a.c", '"store/store.h"'),
        ("policy/a.h", '"conf/conf.h"'), ("policy/a.def", '"store/row.h"'),
        ("conf/a.c", '"store/store.h"'), ("store/a.c", '"conf/conf.h"'),
        ("store/a.c", '"gateway/flow.h"'), ("conf/a.c", '"gateway/flow.h"'),
        ("base/a.c", '"gateway/flow.h"'), ("gateway/http1/a.c", '"policy/key.h"'),
        ("gateway/http1/a.c", '"gateway/flow.h"'), ("gateway/http1/a.c", "<sys/socket.h>"),
        ("gateway/flow.c", '"tests/lib/testlib.h"'), ("gateway/flow.c", '"flow.h"'),
        ("preload/shim.c", '"policy/key.h"'), ("examples/a/a.c", '"store/store.h"'),
        ("elsewhere/a.c", '"base/base.h"'),
        ("gateway/rooms/a.c", "<event2/event.h>"), ("gateway/rooms/a.c", "<sys/socket.h>"),
        ("gateway/rooms/a.c", "<netinet/in.h>"), ("gateway/rooms/a.c", "<jansson.h>"),
        ("gateway/rooms/a.c", "<sqlite3.h>"), ("gateway/flow.c", "<event2/event.h>"),
        ("gateway/owners/a.c", "<event2/buffer.h>"), ("gateway/upstream/a.c", "<event2/http.h>"),
        ("gateway/worker.c", "<event2/http.h>"), ("store/a.c", "<event2/event.h>"),
        ("store/memory.c", "<sqlite3.h>"), ("gateway/boot.c", "<sqlite3.h>"),
        ("store/sqlite.c", "<libpq-fe.h>"), ("conf/conf.c", "<yaml.h>"),
        ("base/text.c", "<openssl/evp.h>"), ("policy/key.c", "<openssl/sha.h>"),
        ("gateway/flow.c", "<jansson.h>"), ("policy/json.c", "<jansson.h>"),
        ("store/row.c", "<pthread.h>"), ("gateway/flow.c", "<pthread.h>"),
        ("policy/a.c", "<stdio.h>"), ("policy/a.c", "<time.h>"), ("policy/a.c", "<unistd.h>"),
        ("policy/a.c", "<errno.h>"), ("policy/a.c", "<stdlib.h>"), ("policy/a.c", "<sys/time.h>"),
        ("policy/a.c", "<math.h>"))],
}

# What looks like a violation and is none.
CLEAN = {
    "base/a.h": OPENING + "#ifndef A_H\n#define A_H\n\n#include <stdint.h>\n\n"
                "struct a {\n    uint8_t b;\n};\nenum c { D };\n"
                "typedef enum c a_fn(struct a *a);\n\n#endif\n",
    "base/a.c": OPENING + '#include "base/a.h"\n\n'
                'static const char *const names[] = {"// no comment", "strcpy(", "/*"};\n'
                "int my_strcpy(int value);\nint my_strcpy(int value)\n{\n"
                "    static const int table[] = {1, 2};\n"
                "    return value + table[0] + (names[0] == 0);\n}\n",
    "policy/a.c": OPENING + "#include <string.h>\n\n"
                  "int other(const char *text);\nint policy_a(const char *text);\n"
                  "int policy_a(const char *text)\n{\n    return other(text);\n}\n",
    "policy/b.c": OPENING + "#include <string.h>\n\n"
                  "int other(const char *text);\nint other(const char *text)\n{\n"
                  "    return (int)strlen(text);\n}\n",
    "gateway/upstream/a.c": OPENING + "#include <event2/event.h>\n#include <sys/socket.h>\n",
    "gateway/admin/a.c": OPENING + "#include <event2/http.h>\n#include <jansson.h>\n",
    "store/sqlite.c": OPENING + "#include <sqlite3.h>\n",
    "conf/yaml.c": OPENING + "#include <yaml.h>\n",
    "tests/unit/a.c": OPENING + '#include "store/store.h"\n#include <sqlite3.h>\n',
    "build/lint/a.c": "int  a; // not of the tree\t\n",
    "tools/run": "#!/bin/bash\ntrue XX" + "XXXX\n",
}


class Planted(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="recibo-lint-test-")
        self.addCleanup(shutil.rmtree, self.root)
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.root)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_every_rule_has_a_planted_violation(self):
        """No rule is there of which nobody has seen that it can fail."""
        self.assertEqual(sorted(PLANTED), sorted(lint.RULES))

    def test_each_rule_finds_what_is_planted(self):
        """Each planted violation is found, by its own rule, in its file and line."""
        for rule, cases in PLANTED.items():
            for name, text, line in cases:
                with self.subTest(rule=rule, name=name, text=(text or "")[:80]):
                    opening = OPENING if name.endswith((".c", ".h", ".def")) else "#\n"
                    path = self.write(name, "int a;\n" if text is None else opening + text)
                    found = lint.lint(self.root, [rule])
                    os.remove(path)
                    self.assertTrue(found, "nothing was found")
                    for finding in found:
                        self.assertEqual(finding[:2], (rule, name))
                    if line is not None:
                        self.assertIn(line, [finding[2] for finding in found])

    def test_clean_text_gives_no_finding(self):
        """What only looks like a violation is left alone, by every rule."""
        for name, text in CLEAN.items():
            self.write(name, text)
        rules = [rule for rule in lint.RULES if rule != "format"]
        self.assertEqual(lint.lint(self.root, rules), [])
        shutil.rmtree(self.root)
        os.makedirs(self.root)
        shutil.copy(os.path.join(ROOT, ".clang-format"), self.root)
        self.write("base/a.c", OPENING + "int a;\n")
        self.assertEqual(lint.lint(self.root, ["format"]), [])

    def test_the_limits_are_exact(self):
        """70 lines and 600 lines pass, one more does not."""
        for lines, count in ((70, 0), (71, 1)):
            body = "    value++;\n" * (lines - 4)
            path = self.write("base/a.c", OPENING + function("a", body))
            self.assertEqual(len(lint.lint(self.root, ["function-length"])), count, lines)
            os.remove(path)
        for lines, count in ((600, 0), (601, 1)):
            self.write("base/a.c", OPENING + "\n" * (lines - 1))
            self.assertEqual(len(lint.lint(self.root, ["file-length"])), count, lines)

    def test_an_excuse_needs_its_reason_and_its_rule(self):
        """`lint RULE: why` excuses one rule on one line, and only with a reason."""
        for comment, count in (("/* lint statics: the table is made by the system once */", 0),
                               ("/* lint statics: */", 1), ("/* lint statics */", 1),
                               ("/* lint recursion: the table is made by the system */", 1)):
            body = "    %s\n    static int count;\n    count++;\n" % comment
            self.write("base/a.c", OPENING + function("a", body))
            self.assertEqual(len(lint.lint(self.root, ["statics"])), count, comment)

    def test_the_command_reports_and_fails(self):
        """The program prints file:line: rule: and exits with 1; clean is 0, misuse is 2."""
        command = [sys.executable, os.path.join(HERE, "lint.py"), "--root", self.root]
        path = self.write("base/a.c", OPENING + "int a; // b\n")
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("base/a.c:2: comments: ", done.stdout)
        os.remove(path)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "lint: 0 findings, 14 rules\n"))
        done = subprocess.run([*command, "--rule", "none"], capture_output=True, text=True,
                              timeout=300, check=False)
        self.assertEqual(done.returncode, 2)

    def test_functions_are_told_from_other_braces(self):
        """Tables, initialisers, prototypes and macros are no functions."""
        text = ("struct a { int b; };\nstatic const int t[] = {f(1), (2)};\nint f(int);\n"
                "#define M(x) { (x)\nint g(void)\n{\n    if (f(1)) { }\n    return '{';\n}\n"
                "GW_PRINTF(1, 2)\nstatic __attribute__((unused)) int\nh(void) { return 0; }\n")
        found = [(f.name, f.line, f.lines) for f in csource.parse(text).functions]
        self.assertEqual([name for name, _, _ in found][:1], ["g"])
        self.assertEqual(found[0], ("g", 5, 5))
        self.assertEqual(len(found), 2)


class ThisTree(unittest.TestCase):
    def test_the_tree_is_clean(self):
        """No rule finds anything in the tree itself."""
        findings = ["%s:%d: %s: %s" % (name, line, rule, text)
                    for rule, name, line, text in lint.lint(ROOT)]
        self.assertEqual(findings, [], "\n" + "\n".join(findings))

    def test_every_row_has_its_reason(self):
        """A row of a table without a reason cannot be argued with, so there is none."""
        rows = lint.FOLDERS + lint.SYSTEM + lint.CLOSED + lint.NEVER + lint.BANNED
        for row in rows:
            self.assertGreater(len(row[2].split()), 2, row)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
