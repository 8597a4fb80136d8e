"""The README is right: its configuration is valid, and each of its curl lines gets
the answer that stands under it.
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BINARY, ROOT, Case, Gateway, Upstream, answer, main, scratch  # noqa: E402

FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
CURL_S = 60
VARYING = [
    (re.compile(r"\bop_[0-9a-z]{26}\b"), "op_ID"),
    (re.compile(r"\b\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "DATE"),
]


def readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return file.read()


def blocks(language):
    return [body for kind, body in FENCE.findall(readme()) if kind == language]


def plain(line):
    """The line without what differs from run to run."""
    for pattern, word in VARYING:
        line = pattern.sub(word, line)
    return line.rstrip("\r")


def commands(block):
    """-> [(command, the lines that must come)] of a console block."""
    result = []
    for line in block.splitlines():
        if line.startswith("$ "):
            result.append((line[2:], []))
        elif line:
            result[-1][1].append(line)
    return result


def fits(wanted, line):
    """A line that ends in an ellipsis stands for every line that begins like it."""
    if wanted.endswith("…"):
        return line.startswith(wanted[:-1])
    return plain(wanted) == plain(line)


class Readme(Case):
    def run_block(self, gateway, block):
        for command, wanted in commands(block):
            self.assertIn("127.0.0.1:8080", command)
            done = subprocess.run(
                ["sh", "-c", command.replace("127.0.0.1:8080", "127.0.0.1:%d" % gateway.port)],
                capture_output=True, text=True, timeout=CURL_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = done.stdout.splitlines()
            for line in wanted:
                while lines and not fits(line, lines[0]):
                    lines.pop(0)
                self.assertTrue(lines, "%s\nlacks, at its place: %s\nin:\n%s"
                                % (command, line, done.stdout))

    def test_the_five_minutes(self):
        """Configuration and answers of the README are those of the program."""
        configuration, = blocks("yaml")
        consoles = blocks("console")
        self.assertEqual(len(consoles), 3)
        self.assertEqual(configuration.count("http://127.0.0.1:9000"), 1)
        text = 'listen: [{address: "@LISTEN@"}]\n' + configuration.replace(
            "admin:\n", 'admin:\n  address: "@ADMIN@"\n').replace(
                "${RECIBO_TOKEN_SHA256}", "@TOKEN_SHA256@").replace(
                    "http://127.0.0.1:9000", "@UPSTREAM@")
        upstream = self.use(Upstream(answer(201, {"Content-Type": "application/json"},
                                            b'{"id": 1, "order_no": "7001"}')))
        gateway = self.use(Gateway(upstream, text=text))
        self.run_block(gateway, consoles[0])
        self.run_block(gateway, consoles[1])
        self.assertEqual(upstream.sends, 1)
        upstream.refuse()
        upstream.drop_connections()
        self.run_block(gateway, consoles[2])
        self.assertEqual(upstream.sends, 1)

    def test_the_configuration_is_valid_as_it_stands(self):
        """`recibo check` takes the file of the README, and promises what the README says."""
        configuration, = blocks("yaml")
        directory = scratch("readme-")
        self.addCleanup(shutil.rmtree, directory)
        path = os.path.join(directory, "recibo.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(configuration)
        done = subprocess.run([BINARY, "check", "-c", path], capture_output=True, text=True,
                              env=dict(os.environ, RECIBO_TOKEN_SHA256="0" * 64), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("create-order", done.stdout)
        self.assertIn("at most once", done.stdout)


if __name__ == "__main__":
    main()
