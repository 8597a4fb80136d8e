"""Libraries of the npm registry, with their own repeats, before an upstream that loses answers.

The packages are installed once, with fixed versions, into the build directory; without
the registry these tests are skipped, and say so."""

import fcntl
import json
import os
import re
import shutil
import subprocess

from clients_lib import HERE, LONG_MS, Client, run_program
import stories
from harness import BUILD, main

FOLDER = os.path.join(BUILD, "npm")
INSTALL_S = 300
VERSIONS = {"@paypal/checkout-server-sdk": "1.0.3", "axios": "1.21.1", "axios-retry": "4.5.0",
            "fetch-retry": "6.0.0", "got": "14.6.6", "ky": "1.14.3", "openai": "6.49.0",
            "square": "46.0.0", "stripe": "23.1.0", "superagent": "10.4.2", "undici": "7.30.2"}
UNREACHABLE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|"
                         r"ERR_SOCKET_TIMEOUT|EIDLETIMEOUT|network")
CLIENTS = [
    Client("stripe", "stripe.mjs", {"s5xx": 1, "s409": 1, "gone": 1, "mute": 1, "busy": 2,
                                    "parallel": 1},
           traits=("makes-key", "own-route"), declared=("s409",)),
    Client("stripe-once", "stripe.mjs", {"gone": 1}, {"MODE": "once"},
           traits=("makes-key", "own-route"), declared=("s409",)),
    Client("square", "square.mjs", {"lost": 1, "s408": 1, "s429": 1},
           traits=("needs-key", "own-route")),
    Client("openai", "openai.mjs", {"s408": 1, "s5xx": 1, "s409": 2, "s429": 1, "gone": 1,
                                    "mute": 1, "busy": 2, "parallel": 1},
           traits=("makes-key", "own-route")),
    Client("paypal", "paypal.mjs", traits=("own-route",)),
    Client("axios", "axios-retry.mjs", {"gone": 1}),
    Client("axios-all", "axios-retry.mjs", {"lost": 1, "s429": 1, "gone": 1}, {"MODE": "all"}),
    Client("got", "got.mjs", {"lost": 1, "s408": 1, "s429": 1, "gone": 1, "half": 1, "mute": 1,
                              "busy": 1}),
    Client("undici", "undici.mjs", {"lost": 1, "s429": 1, "gone": 1, "half": 1},
           traits=("hides-half",)),
    Client("ky", "ky.mjs"),
    Client("ky-all", "ky.mjs", {"lost": 1, "s408": 1, "s429": 1, "gone": 1}, {"MODE": "all"}),
    Client("superagent", "superagent.mjs", {"lost": 1, "s408": 1, "s429": 1, "gone": 1, "half": 1,
                                            "mute": 1, "busy": 1}),
    Client("fetch-retry", "fetch-retry.mjs", {"gone": 1}),
    Client("fetch-retry-all", "fetch-retry.mjs", {"lost": 2, "told": 2, "s409": 2, "s429": 1,
                                                  "gone": 1, "parallel": 1}, {"MODE": "all"}),
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


class NpmClients(stories.ClientStories):
    skip_all = staticmethod(install)

    @staticmethod
    def rows():
        return CLIENTS, {}

    @staticmethod
    def run_client(client, calls):
        return run_program(["node", client.command], client, calls, FOLDER)

    def asks(self, client, story):
        return self.campaign.shots[client, story, 1].asks

    def test_what_a_library_says_of_its_repeat_is_no_other_request(self):
        """openai counts its tries in a header, which differs: still the replay."""
        tries = [ask.headers.get("X-Stainless-Retry-Count") for ask in self.asks("openai", "gone")]
        self.assertEqual(tries, ["0", "1"])

    def test_a_repeat_that_asks_for_a_range_gets_the_whole(self):
        """undici asks for the rest of a cut answer: 200 and all of it, never a 206."""
        first, second = self.asks("undici", "half")
        self.assertIsNone(first.headers.get("Range"))
        self.assertRegex(second.headers.get("Range"), "^bytes=[1-9]")
        self.assertEqual((second.status, second.body), (200, first.body))
        self.assertIsNone(second.answer.get("Content-Range"))

    def test_keys_travel_where_each_library_puts_them(self):
        """A header of PayPal's own and a member of Square's body are keys like any other."""
        for name, path in (("paypal", "/v2/checkout/orders?"), ("square", "/v2/payments")):
            operation = self.campaign.shots[name, "fine", 1].operation
            self.assertEqual((operation["key"], operation["target"]), ("key-fine-" + name, path))
            ask = self.asks(name, "fine")[0]
            self.assertIsNone(ask.headers.get("Idempotency-Key"))
            self.assertEqual(ask.headers.get("PayPal-Request-Id"),
                             "key-fine-paypal" if name == "paypal" else None)

    def test_key_that_a_library_does_not_send(self):
        """openai without a header for keys drops the key it was given: told, and nothing sent."""
        client = Client("openai", "openai.mjs", env={"MODE": "headerless"})
        road = self.campaign.roads["patient"]
        result, = self.run_client(client, [{"base": road.base, "key": "key-dropped",
                                            "token": "tok-fine-openai", "timeout_ms": LONG_MS}])
        self.assertEqual((result["ok"], result["status"]), (False, 400))
        last = road.asked("tok-fine-openai")[-1]
        self.assertEqual((last.status, json.loads(last.body)["code"]), (400, "key-missing"))
        self.assertEqual(self.campaign.sends["tok-fine-openai"], 1)


if __name__ == "__main__":
    main()
