"""Clients as Debian ships them, before an upstream that loses answers: curl, wget,
python3-requests and python3-stripe."""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from clients_lib import DEADLINE_S, HERE, LONG_MS, PROXIES, Client, run_program
import stories
from bugs_lib import PATIENT, Reports, guarded
from harness import Gateway, Upstream, answer, fin, main, rest, scratch

STATUS_MARK = "\nstatus:"
STATUS_LINE = re.compile(r"^\s*HTTP/1\.[01] (\d{3})", re.MULTILINE)
CLEAN = {name: value for name, value in os.environ.items() if name not in PROXIES}
BIG_BYTES = 2 << 20
PY_STRIPE = {"traits": ("makes-key", "own-route", "takes-half"), "declared": ("s409",)}
BY_COMMAND = {
    "curl": [
        Client("curl", ["curl"]),
        Client("curl-retry", ["curl", "--retry", "2"],
               {"lost": 1, "s408": 1, "s429": 1, "mute": 1, "busy": 1}),
        Client("curl-all", ["curl", "-f", "--retry", "2", "--retry-all-errors"],
               {"lost": 2, "told": 2, "s408": 2, "s409": 2, "s422": 2, "nokey": 2, "s429": 1,
                "gone": 1, "half": 1, "mute": 1, "busy": 2, "parallel": 1})],
    "wget": [
        Client("wget", ["wget"], {"late": 1, "gone": 1, "half": 1, "mute": 1, "busy": 1}),
        Client("wget-retry", ["wget", "--tries=3", "--retry-on-http-error=429,500,502,503,504"],
               {"lost": 1, "s429": 1, "gone": 1, "half": 1, "mute": 1, "busy": 1})],
}
BY_MODULE = {
    "requests": ("requests_post.py", [
        Client("requests", [], traits=("takes-half",)),
        Client("requests-retry", [], {"lost": 1, "s429": 1, "gone": 1, "mute": 1, "busy": 1},
               {"MODE": "retry"}, ("takes-half",))]),
    "stripe": ("stripe_charge.py", [
        Client("py-stripe", [], **PY_STRIPE),
        Client("py-stripe-retry", [], {"s5xx": 1, "s409": 1, "gone": 1, "mute": 1, "busy": 2,
                                       "parallel": 1}, {"RETRIES": "2"}, **PY_STRIPE)]),
}


def python_with(module):
    """Debian's interpreter first: its package is the one that people run."""
    for python in ("/usr/bin/python3", sys.executable):
        if not os.path.exists(python):
            continue
        ran = subprocess.run([python, "-c", "import " + module], capture_output=True, check=False)
        if ran.returncode == 0:
            return python
    return None


def run_curl(client, call):
    key = ["-H", "Idempotency-Key: " + call["key"]] if call["key"] else []
    ran = subprocess.run(
        [*client.command, "-sS", "--max-time", str(call["timeout_ms"] / 1000), "-w",
         STATUS_MARK + "%{http_code}", *key, "-H", "Content-Type: application/json",
         "-d", '{"order":"%s"}' % call["token"], call["base"] + "/orders"],
        env=CLEAN, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    text, _, status = ran.stdout.rpartition(STATUS_MARK)
    status = int(status or 0) or None
    return {"ok": ran.returncode == 0 and status is not None and status < 300,
            "status": status, "text": text}


def run_wget(client, call):
    key = ["--header=Idempotency-Key: " + call["key"]] if call["key"] else []
    ran = subprocess.run(
        [*client.command, "-q", "-O", "-", "--server-response", "--waitretry=1",
         "--timeout=%g" % (call["timeout_ms"] / 1000), *key,
         "--header=Content-Type: application/json", '--post-data={"order":"%s"}' % call["token"],
         call["base"] + "/orders"],
        env=CLEAN, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    statuses = STATUS_LINE.findall(ran.stderr)
    return {"ok": ran.returncode == 0, "status": int(statuses[-1]) if statuses else None,
            "text": ran.stdout}


class DebianClients(stories.ClientStories):
    @staticmethod
    def rows():
        clients, missing = [], {}
        for command, found in BY_COMMAND.items():
            if shutil.which(command):
                clients += found
            else:
                missing[command] = "apt-get install " + command
        for module, (program, found) in BY_MODULE.items():
            python = python_with(module)
            if python:
                for client in found:
                    client.command = [python, os.path.join(HERE, program)]
                clients += found
            else:
                missing["python3-" + module] = "apt-get install python3-" + module
        return clients, missing

    @staticmethod
    def run_client(client, calls):
        for command, run in (("curl", run_curl), ("wget", run_wget)):
            if client.command[0] == command:
                with ThreadPoolExecutor(len(calls)) as pool:
                    return list(pool.map(lambda call: run(client, call), calls))
        return run_program(client.command, client, calls)

    def shot(self, client, story):
        found = self.campaign.shots.get((client, story, 1))
        if found is None:
            self.skipTest("%s is not installed" % client)
        return found

    def test_a_repeat_that_asks_for_a_range_gets_the_whole(self):
        """wget asks for the rest of a cut answer: 200 and all of it, never a 206."""
        first, second = self.shot("wget", "half").asks
        self.assertIsNone(first.headers.get("Range"))
        self.assertRegex(second.headers.get("Range"), "^bytes=[1-9]")
        self.assertEqual((second.status, second.body), (200, first.body))
        self.assertIsNone(second.answer.get("Content-Range"))

    def test_curl_shows_the_refusal_and_then_the_answer(self):
        """Both bodies land on standard output: the refusal, then what the one run answered."""
        text = self.shot("curl-retry", "s429").result["text"]
        self.assertRegex(text, r'(?s)"no".*done-tok-s429-curl-retry')


class DebianDetails(Reports):
    """What only one of them does, without a road."""

    def start(self, first, **route):
        """first(request): what the upstream does; every send counts."""
        self.upstream = self.use(Upstream())
        self.upstream.on_request = first
        self.gateway = self.use(Gateway(self.upstream, {
            "routes": [guarded(**route), rest()],
            "upstreams": {"legacy": {"timeouts": PATIENT}}}))
        return "http://127.0.0.1:%d" % self.gateway.port

    def run_one(self, *command):
        if shutil.which(command[0]) is None:
            self.skipTest("%s is not installed" % command[0])
        return subprocess.run(command, env=CLEAN, capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)

    def test_curl_repeats_by_itself_on_a_connection_that_died(self):
        """Two calls over one curl connection, the second lost: its silent repeat sends nothing."""
        base = self.start(lambda request: (
            fin() if b"two" in request.body else answer(200, body="done-one")))
        calls = []
        for name in ("one", "two"):
            calls += [*(["--next"] if calls else []), "-sS", "-H", "Idempotency-Key: k-" + name,
                      "-H", "Content-Type: application/json", "-d", '{"order":"%s"}' % name,
                      base + "/orders"]
        ran = self.run_one("curl", *calls)
        self.assertIn("done-one", ran.stdout)
        self.assertIn("upstream-bad-response", ran.stdout)
        self.assertEqual(self.upstream.sends, 2)
        self.assert_unknown(self.gateway, "k-two", "closed_no_answer")

    def test_curl_asks_whether_a_large_body_may_come(self):
        """A body that curl announces first: one send of the very bytes, then the replay."""
        base = self.start(lambda request: answer(200, body="took %d" % len(request.body)),
                          request_body_max="4MiB", fingerprint={"mode": "raw"})
        folder = scratch()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "body")
        with open(path, "wb") as file:
            file.write(b'{"order":"%s"}' % (b"x" * BIG_BYTES))
        for _ in range(2):
            ran = self.run_one("curl", "-sSv", "-H", "Idempotency-Key: large", "-H",
                               "Content-Type: application/json", "--data-binary", "@" + path,
                               base + "/orders")
            self.assertIn("> Expect: 100-continue", ran.stderr)
            self.assertIn("< HTTP/1.1 100 Continue", ran.stderr)
            self.assertEqual(ran.stdout, "took %d" % os.path.getsize(path))
        self.assertEqual(self.upstream.sends, 1)

    def test_wget_without_a_content_type_is_told_so(self):
        """wget's default form type on a JSON route: 415 with Accept, nothing sent, no receipt."""
        base = self.start(lambda request: answer(200))
        ran = self.run_one("wget", "-q", "-O", "-", "--server-response",
                           "--header=Idempotency-Key: k", "--timeout=%d" % (LONG_MS // 1000),
                           '--post-data={"order":"x"}', base + "/orders")
        self.assertIn("415", ran.stderr)
        self.assertIn("Accept: ", ran.stderr)
        self.assertEqual((self.upstream.sends, self.gateway.operations()), (0, []))


if __name__ == "__main__":
    main()
