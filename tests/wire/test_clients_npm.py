"""Libraries of the npm registry, with their own repeats, before an upstream that loses answers.

The packages are installed once, with fixed versions, into the build directory; without
the registry these tests are skipped, and say so."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import unittest

from clients_lib import Client, ClientCase, run_json
from harness import BUILD, main

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")
FOLDER = os.path.join(BUILD, "npm")
INSTALL_S = 300
VERSIONS = {"stripe": "23.1.0", "square": "46.0.0", "openai": "6.49.0", "axios": "1.21.1",
            "axios-retry": "4.5.0", "got": "14.6.6", "undici": "7.30.2"}
UNREACHABLE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|"
                         r"ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|network")
CLIENTS = [
    Client("stripe", "stripe.mjs", lost=0, told=0, chooses_key=True),
    Client("square", "square.mjs", lost=1, told=0, key_in_body=True),
    Client("openai", "openai.mjs", lost=0, told=0, chooses_key=True),
    Client("axios", "axios-retry.mjs", lost=0, told=0),
    Client("axios-all", "axios-retry.mjs", lost=1, told=0, env={"MODE": "all"}),
    Client("got", "got.mjs", lost=1, told=0),
    Client("undici", "undici.mjs", lost=1, told=0),
]


def install():
    """The packages and the programs in one folder; -> None, or why not."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            return "%s is not installed: apt-get install nodejs npm" % command
    os.makedirs(FOLDER, exist_ok=True)
    wanted = json.dumps({"private": True, "dependencies": VERSIONS}, indent=2, sort_keys=True)
    stamp = os.path.join(FOLDER, "installed.json")
    with open(os.path.join(FOLDER, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for name in sorted(os.listdir(HERE)):
            if name.endswith(".mjs"):
                shutil.copyfile(os.path.join(HERE, name), os.path.join(FOLDER, name))
        if os.path.exists(stamp):
            with open(stamp, encoding="utf-8") as file:
                if file.read() == wanted:
                    return None
        with open(os.path.join(FOLDER, "package.json"), "w", encoding="utf-8") as file:
            file.write(wanted)
        ran = subprocess.run(
            ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
             "--fetch-retries=1", "--fetch-timeout=30000"], cwd=FOLDER, capture_output=True,
            text=True, timeout=INSTALL_S, check=False)
        if ran.returncode != 0:
            if UNREACHABLE.search(ran.stderr):
                return "the npm registry cannot be reached: %s" % ran.stderr[-300:]
            raise AssertionError("npm install failed:\n" + ran.stderr[-4000:])
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
    return None


class NpmClients(ClientCase):
    clients = CLIENTS

    @classmethod
    def setUpClass(cls):
        why_not = install()
        if why_not:
            raise unittest.SkipTest(why_not)

    def run_client(self, client, base, key, token, timeout_ms):
        env = dict(os.environ, BASE=base, KEY=key, TOKEN=token, TIMEOUT_MS=str(timeout_ms),
                   **client.env)
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NODE_OPTIONS"):
            env.pop(name, None)
        return run_json(["node", client.command], env, FOLDER)

    def test_undisturbed(self):
        """Each library gets its answer, and the replay for the same call; one send."""
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
        """The library gave up and asked again while it ran: one send, then the replay."""
        self.play_impatient()

    def test_keys_that_libraries_make(self):
        """A key that a library made for one call covers its own repeats: one send, one receipt."""
        self.play_own_key("fin")
        self.play_own_key("reset")


if __name__ == "__main__":
    main()
