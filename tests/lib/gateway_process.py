"""Starts the real gateway for a test and stops it.

The configuration is a dictionary, written as JSON (which is YAML). Files lie
under the build directory, because the store refuses file systems in memory. A
test gets no fixed port and waits for no fixed time; a sanitizer's report in the
gateway's standard error fails the test that caused it.
"""

import copy
import hashlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse

from wire_client import Client, fetch
from wire_message import WireError

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("RECIBO_BUILD", os.path.join(ROOT, "build", "release"))
BINARY = os.path.join(BUILD, "recibo")
READY_S = 60.0
STOP_S = 60.0
WAIT_S = 30.0
TICK_S = 0.02
START_TRIES = 5
OPENED = re.compile(r'(listener|admin)\.opened.*?\bport"?[=:](\d+)')
SANITIZER = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|: runtime error: |"
                       r"ERROR: LeakSanitizer|assertion failed", re.IGNORECASE)


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def scratch(prefix="test-"):
    """A fresh directory on the disk of the build; the caller removes it."""
    parent = os.path.join(BUILD, "tests-run")
    os.makedirs(parent, exist_ok=True)
    return tempfile.mkdtemp(prefix=prefix, dir=parent)


def wait_until(condition, deadline_s=WAIT_S, text="the condition did not come true"):
    """Polls until condition() is true; -> what it returned."""
    until = time.monotonic() + deadline_s
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > until:
            raise WireError(text() if callable(text) else text)
        pause()


def pause():
    """One tick of a poll. Never a substitute for an event: it proves nothing."""
    threading.Event().wait(TICK_S)


PLAIN = re.compile(r'"plain!([a-z]+)"')


def plain(word):
    """A scalar that stands in the file without quotes, where quotes make a difference."""
    return "plain!" + word


def merge(base, changes):
    """A copy of base with changes laid over it; a value of None removes a key."""
    result = copy.deepcopy(base)
    for key, value in (changes or {}).items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


# ---- the configuration that tests start from ----

ORDERS = {
    "name": "create-order",
    "mode": "enforce",
    "match": {"methods": ["POST"], "path": "/orders"},
    "key": {"from": "header", "name": "Idempotency-Key", "required": True},
    "fingerprint": {"mode": "json"},
    "labels": {"order": {"json": "/order"}},
}
REST = {"name": "everything-else", "mode": "pass", "match": {"path": "/*"}}
RIGHTS = ["read", "evidence", "settle", "control"]


def orders(**changes):
    """The guarded route of the default configuration, with changes."""
    return merge(ORDERS, changes)


def rest(**changes):
    return merge(REST, changes)


def configuration(upstream_url, changes=None):
    """What a test's gateway runs with, without ports and token."""
    return merge({
        "version": 1,
        "store": {"kind": "sqlite", "path": "recibo.db"},
        "owners": {"everyone": {"kind": "static", "owner": "tester"}},
        "upstreams": {"legacy": {"url": upstream_url}},
        "defaults": {"upstream": "legacy", "owner": "everyone"},
        "routes": [ORDERS, REST],
    }, changes)


class Gateway:
    """Gateway(upstream, changes={"routes": [...]}) starts at once and is ready.

    upstream: an Upstream, a URL, or None. changes: laid over the default
    configuration. text: a whole file as text instead; it may use the marks
    @LISTEN@, @ADMIN@, @TOKEN_SHA256@, @UPSTREAM@. start=False leaves it unstarted."""

    def __init__(self, upstream=None, changes=None, text=None, directory=None, env=None,
                 arguments=(), start=True, binary=None):
        self.binary = binary or BINARY
        self.directory = directory or scratch()
        self.owns_directory = directory is None
        self.path = os.path.join(self.directory, "recibo.yaml")
        self.stderr_path = os.path.join(self.directory, "stderr.txt")
        self.store_path = os.path.join(self.directory, "recibo.db")
        self.upstream_url = getattr(upstream, "url", upstream) or "http://127.0.0.1:1"
        self.changes, self.text = changes, text
        self.env, self.arguments = dict(env or {}), list(arguments)
        self.token = secrets.token_urlsafe(24)
        self.process = None
        self.port = self.admin_port = None
        if start:
            self.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(failed=kind is not None)

    # configuration

    def configuration(self, changes=None):
        conf = configuration(self.upstream_url, merge(self.changes or {}, changes))
        listen = {"address": "127.0.0.1:%d" % self.port}
        if isinstance(conf.get("listen"), list) and conf["listen"]:
            conf["listen"][0] = merge(listen, conf["listen"][0])
        else:
            conf["listen"] = [listen]
        token = hashlib.sha256(self.token.encode()).hexdigest()
        conf["admin"] = merge({
            "address": "127.0.0.1:%d" % self.admin_port,
            "tokens": [{"name": "tester", "rights": RIGHTS, "sha256": token}],
        }, conf.get("admin"))
        return conf

    def write_configuration(self, changes=None):
        """Writes the file anew, for restart() or reload()."""
        text = self.text
        if text is None:
            text = json.dumps(self.configuration(changes), indent=2, ensure_ascii=False) + "\n"
            text = PLAIN.sub(r"\1", text)
        else:
            for mark, value in (
                    ("@LISTEN@", "127.0.0.1:%d" % self.port),
                    ("@ADMIN@", "127.0.0.1:%d" % self.admin_port),
                    ("@TOKEN_SHA256@", hashlib.sha256(self.token.encode()).hexdigest()),
                    ("@UPSTREAM@", self.upstream_url)):
                text = text.replace(mark, value)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    # life

    def start(self):
        """Starts the process and waits until /readyz answers 200."""
        if self.port is None and self.tells_ports():
            return self.start_anywhere()
        fixed = self.port is not None
        for _ in range(START_TRIES):
            if not fixed:
                self.port, self.admin_port = free_port(), free_port()
                self.write_configuration()
            mark = len(self.log())
            self.launch()
            try:
                self.wait_ready()
                return self
            except WireError:
                taken = "in use" in self.log()[mark:].lower()
                if fixed or not taken or self.process.poll() is None:
                    self.kill9()
                    raise
        raise WireError("no free port in %d tries" % START_TRIES)

    def tells_ports(self):
        """Does this process log the ports that it got? (A stand-in or a quiet log does not.)"""
        log = (self.changes or {}).get("log") or {}
        return self.binary == BINARY and self.text is None and log.get("level") in (None, "info",
                                                                                    "debug")

    def start_anywhere(self):
        """The kernel picks the ports: nobody else can have them. Later starts keep them."""
        self.port = self.admin_port = 0
        self.write_configuration()
        self.launch()
        ports = {}
        def opened():
            ports.update(OPENED.findall(self.log()))
            return len(ports) == 2 or self.process.poll() is not None
        wait_until(opened, READY_S, lambda: "no ports in:\n%s" % self.log()[-4000:])
        if len(ports) != 2:
            raise WireError("the gateway ended before it listened:\n%s" % self.log()[-4000:])
        self.port, self.admin_port = int(ports["listener"]), int(ports["admin"])
        self.wait_ready()
        self.write_configuration()
        return self

    def launch(self):
        """Starts the process without waiting for it."""
        env = dict(os.environ, **self.env)
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                [self.binary, "serve", "-c", self.path, *self.arguments], cwd=self.directory,
                env=env, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)

    def wait_ready(self, deadline_s=READY_S):
        until = time.monotonic() + deadline_s
        while time.monotonic() < until:
            try:
                if fetch(self.admin_port, "GET", "/readyz", timeout=5).status == 200:
                    return
            except (OSError, WireError):
                pass  # not listening yet
            try:
                code = self.process.wait(TICK_S)
            except subprocess.TimeoutExpired:
                continue
            raise WireError("the gateway ended with %s before it was ready:\n%s"
                            % (code, self.log()[-4000:]))
        raise WireError("the gateway was not ready in time:\n%s" % self.log()[-4000:])

    def stop(self, deadline_s=STOP_S):
        """SIGTERM; -> the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait_exit(deadline_s)

    def wait_exit(self, deadline_s=STOP_S):
        try:
            code = self.process.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise WireError("the gateway did not end:\n%s" % self.log()[-4000:]) from None
        self.check_sanitizers()
        return code

    def kill9(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait(STOP_S)

    def signal(self, number):
        self.process.send_signal(number)

    def freeze(self):
        """SIGSTOP: the process stands still until thaw()."""
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def restart(self, changes=None, kill=False):
        """Stops (or kills) and starts on the same ports and the same store."""
        if kill:
            self.kill9()
        elif self.process.poll() is None:
            self.stop()
        if changes is not None:
            self.write_configuration(changes)
        return self.start()

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def close(self, failed=False):
        """The end of a test: kills what runs, checks for sanitizer reports, removes the files."""
        if self.is_running():
            self.thaw()
            self.signal(signal.SIGTERM)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.kill9()
                if not failed:
                    raise WireError("the gateway did not end on SIGTERM:\n%s"
                                    % self.log()[-4000:]) from None
        if failed:
            print("---- standard error of the gateway (%s)\n%s" % (self.directory,
                                                                   self.log()[-8000:]))
            return
        self.check_sanitizers()
        if self.owns_directory and not os.environ.get("RECIBO_KEEP"):
            shutil.rmtree(self.directory, ignore_errors=True)

    # what it said

    def log(self):
        try:
            with open(self.stderr_path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def wait_log(self, pattern, deadline_s=WAIT_S):
        """Waits until the pattern stands in standard error; -> the match."""
        return wait_until(lambda: re.search(pattern, self.log()), deadline_s,
                          lambda: "no %r in:\n%s" % (pattern, self.log()[-4000:]))

    def check_sanitizers(self):
        found = SANITIZER.search(self.log())
        if found:
            raise AssertionError("a sanitizer or an assertion spoke:\n%s"
                                 % self.log()[max(0, found.start() - 200):][:8000])

    # talking to it

    def client(self, **options):
        return Client(self.port, **options)

    def request(self, method, target, headers=(), body=None, **options):
        """One request on a connection of its own."""
        return fetch(self.port, method, target, headers, body, **options)

    def post(self, key=None, body=None, path="/orders", headers=(), **options):
        """A POST to the guarded route; body may be a dict (JSON)."""
        pairs = list(headers.items() if isinstance(headers, dict) else headers)
        if key is not None:
            pairs.append(("Idempotency-Key", key))
        return self.request("POST", path, pairs, {} if body is None else body, **options)

    def admin(self, method, path, body=None, headers=(), token=None):
        """-> (status, headers, JSON or None when the body is none)."""
        pairs = [("Authorization", "Bearer " + (self.token if token is None else token))]
        pairs += list(headers)
        response = fetch(self.admin_port, method, path, pairs, body)
        try:
            value = response.json()
        except ValueError:
            value = None
        return response.status, response.headers, value

    def operations(self, **query):
        """The listed operations; a query name may hold dots: **{"label.order": "7"}."""
        target = "/v1/operations"
        if query:
            target += "?" + urllib.parse.urlencode(query)
        status, _, value = self.admin("GET", target)
        if status != 200:
            raise WireError("GET %s -> %s %r" % (target, status, value))
        return value["operations"]

    def operation(self, operation_id):
        status, _, value = self.admin("GET", "/v1/operations/" + operation_id)
        if status != 200:
            raise WireError("operation %s -> %s %r" % (operation_id, status, value))
        return value

    def wait_state(self, operation_id, state, deadline_s=WAIT_S):
        """Polls until the operation is in the state; -> the operation."""
        seen = {}

        def reached():
            seen.update(self.operation(operation_id))
            return seen if seen["state"] == state else None
        return wait_until(reached, deadline_s, lambda: "it is %r, not %s" % (seen, state))

    def metrics(self):
        """{'name{labels}': value} of the admin listener's /metrics."""
        pairs = [("Authorization", "Bearer " + self.token)]
        text = fetch(self.admin_port, "GET", "/metrics", pairs).text
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}

    def cli_environment(self):
        """How the command line learns the admin address and the token."""
        return {"RECIBO_ADMIN": "http://127.0.0.1:%d" % self.admin_port,
                "RECIBO_TOKEN": self.token}

    def cli(self, *arguments, input=None, env=None, deadline_s=WAIT_S * 2):
        """Runs `recibo ARGUMENTS` against this gateway; -> CompletedProcess (text)."""
        environment = {**os.environ, **self.env, **self.cli_environment(), **(env or {})}
        return subprocess.run([self.binary, *map(str, arguments)], cwd=self.directory, input=input,
                              env=environment, capture_output=True, text=True,
                              timeout=deadline_s, check=False)
