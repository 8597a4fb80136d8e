"""curl, wget and python3-requests as Debian ships them, before an upstream that loses answers."""

import os
import shutil
import subprocess
import sys
import unittest

from clients_lib import LONG_MS, Client, ClientCase, run_json
from bugs_lib import PATIENT
from harness import answer, fin, main

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = os.path.join(HERE, "clients", "requests_post.py")
STATUS_MARK = "\nstatus:"


def python_with_requests():
    """Debian's interpreter first: its package is the one that people run."""
    for python in ("/usr/bin/python3", sys.executable):
        if not os.path.exists(python):
            continue
        ran = subprocess.run([python, "-c", "import requests"], capture_output=True, check=False)
        if ran.returncode == 0:
            return python
    return None


PYTHON = python_with_requests()
CLIENTS = [
    Client("curl", ["curl"], lost=0, told=0),
    Client("curl-retry", ["curl", "--retry", "2"], lost=1, told=0),
    Client("curl-all", ["curl", "-f", "--retry", "2", "--retry-all-errors"], lost=2, told=2),
    Client("wget", ["wget"], lost=0, told=0),
    Client("wget-retry", ["wget", "--tries=3", "--retry-on-http-error=502,504"], lost=1, told=0),
]
if PYTHON:
    CLIENTS += [Client("requests", [PYTHON, REQUESTS], lost=0, told=0),
                Client("requests-retry", [PYTHON, REQUESTS], lost=1, told=0,
                       env={"MODE": "retry"})]


class DebianClients(ClientCase):
    clients = CLIENTS
    together = 4

    def run_client(self, client, base, key, token, timeout_ms):
        env = dict(os.environ, BASE=base, KEY=key, TOKEN=token, TIMEOUT_MS=str(timeout_ms),
                   **client.env)
        if client.command[0] == "curl":
            return self.run_curl(client, base, key, token, timeout_ms)
        if client.command[0] == "wget":
            return self.run_wget(client, base, key, token, timeout_ms)
        return run_json(client.command, env)

    def run_curl(self, client, base, key, token, timeout_ms):
        ran = subprocess.run(
            [*client.command, "-sS", "--max-time", str(timeout_ms / 1000), "-w",
             STATUS_MARK + "%{http_code}", "-H", "Idempotency-Key: " + key,
             "-H", "Content-Type: application/json", "-d", '{"order":"%s"}' % token,
             base + "/orders"], capture_output=True, text=True, timeout=90, check=False)
        text, _, status = ran.stdout.rpartition(STATUS_MARK)
        status = int(status or 0) or None
        return {"ok": ran.returncode == 0 and status is not None and status < 300,
                "status": status, "text": text}

    def run_wget(self, client, base, key, token, timeout_ms):
        ran = subprocess.run(
            [*client.command, "-q", "-O", "-", "--server-response", "--waitretry=1",
             "--timeout=%g" % (timeout_ms / 1000), "--header=Idempotency-Key: " + key,
             "--header=Content-Type: application/json", '--post-data={"order":"%s"}' % token,
             base + "/orders"], capture_output=True, text=True, timeout=90, check=False)
        return {"ok": ran.returncode == 0, "status": None, "text": ran.stdout}

    @classmethod
    def setUpClass(cls):
        for command in ("curl", "wget"):
            if shutil.which(command) is None:
                raise unittest.SkipTest("%s is not installed: apt-get install %s" % (
                    command, command))

    @unittest.skipIf(PYTHON, "python3-requests is there and takes part in every story")
    def test_requests_is_missing(self):
        """Says aloud that one client of the table did not take part."""
        self.skipTest("python3-requests is not installed: apt-get install python3-requests")

    def test_undisturbed(self):
        """Each client gets its answer, and the replay for the same call; one send."""
        self.play_undisturbed()

    def test_answer_lost_by_close(self):
        """The upstream closes without an answer: one send, told, settled, replayed."""
        self.play_lost("fin")

    def test_answer_lost_by_reset(self):
        """The upstream resets without an answer: one send, told, settled, replayed."""
        self.play_lost("reset")

    def test_answer_comes_late(self):
        """The gateway gave up, the answer came later: one send, then the replay of that answer."""
        self.play_late()

    def test_client_gives_up_first(self):
        """The client gave up and asked again while it ran: one send, then the replay."""
        self.play_impatient()

    def test_curl_repeats_by_itself_on_a_connection_that_died(self):
        """Two calls over one curl connection, the second lost: its silent repeat sends nothing."""
        base = self.start(PATIENT, lambda token: (
            fin() if token.endswith("two") else answer(200, body="done-" + token)))
        calls = []
        for name in ("tok-pair-one", "tok-pair-two"):
            calls += [*(["--next"] if calls else []), "-sS", "-H", "Idempotency-Key: " + name,
                      "-H", "Content-Type: application/json", "-d", '{"order":"%s"}' % name,
                      base + "/orders"]
        ran = subprocess.run(["curl", *calls], capture_output=True, text=True, timeout=90,
                             check=False)
        self.assertIn("done-tok-pair-one", ran.stdout)
        self.assertIn("upstream-bad-response", ran.stdout)
        self.assertEqual(self.counts, {"tok-pair-one": 1, "tok-pair-two": 1})

    def test_wget_without_a_content_type_is_told_so(self):
        """wget's default form type on a JSON route: 415 with Accept, nothing sent, no receipt."""
        base = self.start(PATIENT, lambda token: answer(200))
        ran = subprocess.run(
            ["wget", "-q", "-O", "-", "--server-response", "--header=Idempotency-Key: k",
             "--timeout=%d" % (LONG_MS // 1000), '--post-data={"order":"tok-x"}', base + "/orders"],
            capture_output=True, text=True, timeout=90, check=False)
        self.assertIn("415", ran.stderr)
        self.assertIn("Accept: ", ran.stderr)
        self.assertEqual((self.counts, self.gateway.operations()), ({}, []))


if __name__ == "__main__":
    main()
