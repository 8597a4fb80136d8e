"""What the tests of the command line share: exit codes, a terminal, another server."""

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios

from admin_lib import AdminCase, Case, token
from harness import BINARY, Upstream, scratch

DONE, FAILED, USAGE, NOT_FOUND, CHANGED, UNREACHABLE, NOT_ALLOWED = range(7)
NOBODY = "op_" + "0" * 26


class CliCase(AdminCase):
    """A gateway that can lose answers, and recibo run against it."""

    def ask(self, code, *words, **options):
        """Runs recibo WORDS; -> what it printed, both streams; fails on another exit code."""
        done = self.cli(*words, **options)
        self.assertEqual(done.returncode, code, done)
        return done.stdout + done.stderr

    def reader(self, *rights):
        """The gateway with one more token; -> the environment of who holds it."""
        text, entry = token("reader", *(rights or ("read",)))
        mine = self.gateway.configuration()["admin"]["tokens"]
        self.gateway.restart(changes={**self.changes(), "admin": {"tokens": mine + [entry]}})
        return {"RECIBO_TOKEN": text}

    def on_terminal(self, *words, columns=80, env=None):
        """Runs recibo on a terminal of so many columns; -> (exit code, what it showed)."""
        return run_on_terminal([BINARY, *words], self.gateway.directory, columns,
                               {**os.environ, "TERM": "xterm", **self.gateway.cli_environment(),
                                **(env or {})})


def run_on_terminal(command, directory, columns, env):
    """-> (exit code, text). Standard output and error are one terminal."""
    env.pop("NO_COLOR", None) if "NO_COLOR" not in env else None
    inside, outside = pty.openpty()
    fcntl.ioctl(outside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown = b""
    with subprocess.Popen(command, cwd=directory, env=env, stdin=subprocess.DEVNULL,
                          stdout=outside, stderr=outside) as process:
        os.close(outside)
        while True:
            ready, _, _ = select.select([inside], [], [], 60)
            if not ready:
                process.kill()
                raise AssertionError("the command did not end: %r" % shown)
            try:
                piece = os.read(inside, 65536)
            except OSError as error:  # the last writer closed it
                if error.errno != errno.EIO:
                    raise
                piece = b""
            if not piece:
                break
            shown += piece
        code = process.wait(60)
    os.close(inside)
    return code, shown.decode().replace("\r\n", "\n")


def run_alone(*words, directory=None, env=None, input=None):
    """Runs recibo without a gateway."""
    return subprocess.run([BINARY, *words], cwd=directory or scratch(), env=env, input=input,
                          capture_output=True, text=True, timeout=60, check=False)


__all__ = ["CHANGED", "Case", "CliCase", "DONE", "FAILED", "NOBODY", "NOT_ALLOWED", "NOT_FOUND",
           "UNREACHABLE", "USAGE", "Upstream", "run_alone", "run_on_terminal"]
