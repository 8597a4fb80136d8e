"""The public suite of cache behaviours against the pass route: nothing gets worse through it.

The gateway keeps nothing of what passes, so a caller must see what the suite's own origin
answers. The package is installed once, with a fixed version, into the build directory;
without the registry the test is skipped, and says so. The suite passes judgement on caches;
here only the difference between the two runs counts.
"""

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, Case, Gateway, main, wait_until  # noqa: E402

PACKAGE, VERSION = "http-cache-tests", "0.4.5"
FOLDER = os.path.join(BUILD, "npm-cache-tests")
SUITE = os.path.join(FOLDER, "node_modules", PACKAGE)
INSTALL_S = 300
RUN_S = 150
STOP_S = 20
PASSES_MIN = 100
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
UNREACHABLE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|"
                         r"ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|network")
FROM_CACHE = re.compile(r"Response \d+ comes from cache")
UNSERVED = re.compile(r"Response \d+ status is 501, not \d+\Z")
LISTENING = re.compile(r"Listening on http://.*:(\d+)/")


def install():
    """The suite in its folder; -> None, or why not."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            return "%s is not installed: apt-get install nodejs npm" % command
    os.makedirs(FOLDER, exist_ok=True)
    stamp = os.path.join(FOLDER, "installed-" + VERSION)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(stamp):
            return None
        with open(os.path.join(FOLDER, "package.json"), "w", encoding="utf-8") as file:
            json.dump({"private": True, "dependencies": {PACKAGE: VERSION}}, file)
        ran = subprocess.run(
            ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
             "--fetch-retries=1", "--fetch-timeout=30000"], cwd=FOLDER, capture_output=True,
            text=True, timeout=INSTALL_S, check=False)
        if ran.returncode != 0:
            if UNREACHABLE.search(ran.stderr):
                return "the npm registry cannot be reached: %s" % ran.stderr[-300:]
            raise AssertionError("npm install failed:\n" + ran.stderr[-4000:])
        with open(stamp, "w", encoding="utf-8"):
            pass
    return None


def environment(**settings):
    """What the suite's programs take their settings from, and no proxy of this machine."""
    env = {name: value for name, value in os.environ.items()
           if name.lower() not in ("http_proxy", "https_proxy", "node_options")}
    for name, value in settings.items():
        env["npm_config_" + name] = env["npm_package_config_" + name] = value
    return env


class Origin:
    """The suite's own server on a port that the kernel picks."""

    def __init__(self):
        self.said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            ["node", "--no-warnings", "server/server.mjs"], cwd=SUITE, stdin=subprocess.DEVNULL,
            stdout=self.said, stderr=self.said,
            env=environment(protocol="http", port="0", pidfile=os.devnull))
        self.port = int(wait_until(self._listens, text=self._text).group(1))

    def _text(self):
        self.said.seek(0)
        return self.said.read()

    def _listens(self):
        return LISTENING.search(self._text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(STOP_S)
        self.said.close()


def run_suite(port):
    """-> {test: "pass", or the kind of its failure and what the suite says}."""
    ran = subprocess.run(
        ["node", "--no-warnings", "cli.mjs"], cwd=SUITE, capture_output=True, text=True,
        timeout=RUN_S, check=False,
        env=environment(base="http://127.0.0.1:%d" % port, id=""))
    if ran.returncode != 0 or ran.stderr:
        raise AssertionError("the suite failed:\n" + ran.stderr[-4000:])
    found = json.loads(ran.stdout[ran.stdout.index("{"):])
    return {name: ("pass", "") if one is True else tuple(one) for name, one in found.items()}


def run_both(ports):
    """The suite against each port, at the same time; -> the results in order."""
    results = [None] * len(ports)

    def one(index):
        results[index] = run_suite(ports[index])

    threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(len(ports))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(RUN_S + STOP_S)
    if None in results:
        raise AssertionError("a run of the suite failed")
    return results


def unserved(name, found):
    """Does the test want a method that no route can name, and did the gateway say so?"""
    return "M-SEARCH" in name and UNSERVED.match(found[1]) is not None


class CacheTests(Case):
    @classmethod
    def setUpClass(cls):
        why_not = install()
        if why_not:
            raise unittest.SkipTest(why_not)

    def test_nothing_gets_worse(self):
        """What passes at the origin passes through the gateway, and nothing comes from a cache."""
        origins = [self.use(Origin()), self.use(Origin())]
        everything = {"name": "all", "mode": "pass", "match": {"path": "/*", "methods": METHODS}}
        gateway = self.use(Gateway("http://127.0.0.1:%d" % origins[1].port,
                                   {"routes": [everything]}))
        direct, through = run_both([origins[0].port, gateway.port])
        self.assertGreater(sum(kind == "pass" for kind, _ in direct.values()), PASSES_MIN)
        self.assertEqual(set(direct), set(through))
        worse = {name: through[name] for name, (kind, _) in direct.items()
                 if kind == "pass" and through[name][0] != "pass"
                 and not unserved(name, through[name])}
        self.assertEqual(worse, {})
        # An answer without the origin's count looks kept to the suite; so does the gateway's
        # own 502 where the origin hangs up, which is what an error of the fetch is without it.
        kept = {name: found for name, found in through.items()
                if FROM_CACHE.search(found[1]) and direct[name][0] != "FetchError"}
        self.assertEqual(kept, {})


if __name__ == "__main__":
    main()
