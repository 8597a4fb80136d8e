"""Starts the example API of examples/legacy-tickets on a free port for a test."""

import os
import re
import shutil
import signal
import subprocess

from gateway_process import BUILD, SANITIZER, STOP_S, scratch, wait_until
from wire_client import fetch
from wire_message import WireError

LEGACY = os.path.join(BUILD, "legacy-tickets")


class LegacyTickets:
    """Ready when it is made; `url` and `port` say where. stop() -> exit code."""

    def __init__(self, directory=None, listen="127.0.0.1:0"):
        self.directory = directory or scratch("legacy-")
        self.owns_directory = directory is None
        self.database = os.path.join(self.directory, "tickets.db")
        self.stderr_path = os.path.join(self.directory, "legacy-stderr.txt")
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                [LEGACY, "--listen", listen, "--db", self.database], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=stderr, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"legacy-tickets listening on (\S+):(\d+)\n", line)
        if not found:
            self.process.kill()
            raise WireError("legacy-tickets said %r and %s" % (line, self.log()))
        self.port = int(found.group(2))
        self.url = "http://127.0.0.1:%d" % self.port

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        code = self.stop() if self.process.poll() is None else self.process.returncode
        self.process.stdout.close()
        spoke = SANITIZER.search(self.log())
        if kind is None and (code not in (0, -9) or spoke):
            raise AssertionError("legacy-tickets ended with %s:\n%s" % (code, self.log()[-4000:]))
        if self.owns_directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    def log(self):
        with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(STOP_S)

    def kill9(self):
        self.process.kill()
        return self.process.wait(STOP_S)

    def request(self, method, target, headers=(), body=None):
        return fetch(self.port, method, target, headers, body)

    def stats(self):
        return self.request("GET", "/_stats").json()

    def wait_executed(self, count):
        """Blocks until so many tickets were made since the start."""
        wait_until(lambda: self.stats()["executed"] >= count,
                   text=lambda: "not %d: %s" % (count, self.stats()))
