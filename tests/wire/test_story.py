"""The story of the lost answer, as `tools/run --once` plays it, on the binaries under test."""

import os
import re
import shutil
import socket
import subprocess
import unittest

from bugs_lib import Reports
from harness import BUILD, ROOT, main, scratch

DEADLINE_S = 110
CHAPTERS = 7
STEPS = ["504", "outcome-unknown", "key-reused", "recibo backlog list", "recibo backlog settle",
         "Idempotent-Replayed: true"]


def play(*arguments, recibo=None):
    """Runs tools/run in a root of its own whose build/release is the build under test."""
    folder = scratch("story-")
    os.makedirs(os.path.join(folder, "build", "release"))
    os.makedirs(os.path.join(folder, "state"))
    for name in ("tools", "examples", "conf"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    for name, path in (("recibo", recibo or os.path.join(BUILD, "recibo")),
                       ("legacy-tickets", os.path.join(BUILD, "legacy-tickets"))):
        os.symlink(path, os.path.join(folder, "build", "release", name))
    env = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, "state"))
    try:
        ran = subprocess.run([os.path.join(folder, "tools", "run"), *arguments], env=env,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=DEADLINE_S, check=False)
        logs = ""
        for where, _, names in os.walk(os.path.join(folder, "state")):
            for name in names:
                if name.endswith(".log"):
                    with open(os.path.join(where, name), encoding="utf-8",
                              errors="replace") as file:
                        logs += file.read()
        return ran, logs
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@unittest.skipIf(shutil.which("curl") is None, "curl is not installed: apt-get install curl")
class Story(Reports):
    def test_every_step_holds(self):
        """The story ends well, shows all its steps, and leaves no process behind."""
        ran, logs = play("--once", "--no-build")
        self.assertEqual(ran.returncode, 0, (ran.stdout[-3000:], ran.stderr[-3000:], logs[-3000:]))
        chapters = re.findall(r"(?m)^(\d+)\. ", ran.stdout)
        self.assertEqual(chapters, [str(n + 1) for n in range(CHAPTERS)])
        for step in STEPS:
            self.assertIn(step, ran.stdout)
        self.assertNotIn("Sanitizer", logs)
        self.assertNotIn("assertion failed", logs)
        found = re.search(r"legacy-tickets \(process (\d+)\) on http://127.0.0.1:(\d+), "
                          r"Recibo \(process (\d+)\) on http://127.0.0.1:(\d+)", ran.stdout)
        self.assertIsNotNone(found, ran.stdout)
        for port in (int(found.group(2)), int(found.group(4))):
            with socket.socket() as sock:
                self.assertNotEqual(sock.connect_ex(("127.0.0.1", port)), 0, port)

    def test_a_gateway_that_does_not_start_fails_the_story(self):
        """A story whose gateway ends at once says so and fails: it can fail."""
        ran, _ = play("--once", "--no-build", recibo=shutil.which("false"))
        self.assertEqual(ran.returncode, 1, ran)
        self.assertIn("recibo ended at once", ran.stderr)

    def test_an_unknown_option_is_refused(self):
        """A wrong option is said, and nothing is started."""
        ran, _ = play("--twice")
        self.assertEqual(ran.returncode, 2, ran)
        self.assertIn("--twice", ran.stderr)


if __name__ == "__main__":
    main()
