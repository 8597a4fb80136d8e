"""recibo diff: what another file would change, first what loses its protection. It reads two
files and nothing else.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BINARY, configuration, main, orders, rest, scratch  # noqa: E402

SECRET = hashlib.sha256(b"one").hexdigest()
OTHER = hashlib.sha256(b"two").hexdigest()


def keys(*owners, secret=SECRET):
    return {"everyone": {"kind": "api_key", "owner": None, "header": "X-Api-Key",
                         "keys": [{"owner": owner, "sha256": secret if at == 0 else OTHER}
                                  for at, owner in enumerate(owners)]}}


class Diff(unittest.TestCase):
    def setUp(self):
        self.folder = scratch("diff-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, changes):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            json.dump(configuration("http://127.0.0.1:9000", changes), file, indent=1)

    def run_it(self, *arguments):
        return subprocess.run([BINARY, "diff", *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False)

    def diff(self, before, after):
        """-> (exit code, the JSON, the text)"""
        self.write("recibo.yaml", before)
        self.write("new.yaml", after)
        text = self.run_it("-c", "new.yaml")
        done = self.run_it("-c", "new.yaml", "--json")
        self.assertEqual(done.returncode, text.returncode, done.stderr)
        return done.returncode, json.loads(done.stdout), text.stdout

    def test_nothing(self):
        """Two equal files: no value differs, exit 0."""
        code, value, text = self.diff({}, {})
        self.assertEqual((code, value["dropped"], value["routes"], value["changes"]),
                         (0, [], [], []))
        self.assertEqual(text, "recibo.yaml -> new.yaml: no value differs.\n")

    def test_the_order_and_the_lines_are_no_difference(self):
        """Routes in another order, and rules that moved down, promise the same."""
        rule = {"rules": [{"status": 302, "means": "refused"}]}
        code, value, _ = self.diff({"routes": [orders(outcome=rule), rest()]},
                                   {"routes": [rest(), orders(outcome=rule)]})
        self.assertEqual((code, value["routes"], value["changes"]), (0, [], []))

    def test_a_promise_that_changes(self):
        """The lines of before and after, and the value with its line."""
        code, value, text = self.diff({}, {"routes": [orders(retention="48h"), rest()]})
        self.assertEqual(code, 0)
        route = value["routes"][0]
        self.assertEqual((route["route"], route["change"]), ("create-order", "changed"))
        self.assertIn("24 h", " ".join(route["before"]))
        self.assertIn("2 days", " ".join(route["after"]))
        self.assertRegex(text, r"\n-   Answers are replayed for 24 h;.*\n")
        self.assertRegex(text, r"\n\+   Answers are replayed for 2 days;.*\n")
        self.assertRegex(text, r"\n  routes\[create-order\]\.retention: 24h -> 48h  \(line \d+\)\n")

    def test_what_is_dropped(self):
        """Each way in which repeats would not be recognised any more is named, with exit 1."""
        shadow = orders(name="shadow", mode="pass", key=None, fingerprint=None, labels=None,
                        match={"methods": ["POST"], "path": "/orders"})
        wide = orders(match={"methods": ["POST"], "path": "/{any}"})
        only_get = rest(match={"methods": ["GET"], "path": "/*"})
        cases = (
            ({"routes": [only_get]}, "405"),
            ({"routes": [rest(match={"path": "/x/*"})]}, "404"),
            ({"routes": [rest(match={"methods": ["GET", "POST"], "path": "/*"})]},
             "leads to route everything-else, which does not protect it"),
            ({"routes": [orders(name="other"), rest()]},
             "leads to route other, which knows nothing of its keys"),
            ({"routes": [wide, shadow, rest()]}, "leads to route shadow"),
            ({"routes": [orders(scope="gateway"), rest()]}, "another scope"),
            ({"routes": [orders(mode="observe"), rest()]}, "does not protect it"),
            ({"routes": [orders(key={"name": "X-Key"}), rest()]}, "the key is read elsewhere"),
            ({"routes": [orders(key={"from": "json", "name": None, "pointer": "/order"}), rest()]},
             "the key is read elsewhere"),
            ({"owners": {"everyone": {"kind": "static", "owner": "someone"}}},
             "nobody can be the owner tester any more"),
        )
        for changes, why in cases:
            with self.subTest(why=why, changes=changes):
                code, value, text = self.diff({}, changes)
                self.assertEqual(code, 1)
                self.assertEqual([drop["route"] for drop in value["dropped"]], ["create-order"])
                self.assertIn(why, value["dropped"][0]["why"])
                self.assertIn("PROTECTION IS DROPPED", text)
                self.assertIn("create-order: " + value["dropped"][0]["why"], text)

    def test_what_is_not_dropped(self):
        """More owners, another secret, another upstream, a new route: nothing is lost."""
        cases = (
            (keys("a"), keys("a", "b")),
            (keys("a"), keys("a", secret=OTHER)),
        )
        for before, after in cases:
            with self.subTest(after=after):
                code, value, _ = self.diff({"owners": before}, {"owners": after})
                self.assertEqual((code, value["dropped"]), (0, []))
        code, value, _ = self.diff({"owners": keys("a", "b")}, {"owners": keys("a")})
        self.assertIn("owner b", value["dropped"][0]["why"])
        cart = orders(name="create-cart", match={"methods": ["POST"], "path": "/carts"})
        code, value, text = self.diff({}, {"routes": [orders(), cart, rest()]})
        self.assertEqual((code, value["dropped"]), (0, []))
        self.assertIn("create-cart is new:\n", text)
        code, value, _ = self.diff({}, {"upstreams": {"legacy": {"url": "http://127.0.0.1:9001"}}})
        self.assertEqual((code, value["dropped"]), (0, []))

    def test_what_needs_a_restart(self):
        """It is marked, value by value."""
        _, value, text = self.diff({}, {"workers": 2, "via": "another"})
        self.assertEqual({c["key"]: c["applies"] for c in value["changes"]},
                         {"workers": "restart", "via": "now"})
        self.assertRegex(text, r"\n  workers: 1 -> 2  \(line \d+\)  needs a restart\n")

    def test_no_secret(self):
        """A secret that differs is named, and neither of the two is shown."""
        self.write("recibo.yaml", {"owners": keys("a")})
        self.write("new.yaml", {"owners": keys("a", secret=OTHER)})
        for arguments in ((), ("--json",)):
            done = self.run_it("-c", "new.yaml", *arguments)
            self.assertIn("sha256", done.stdout)
            for secret in (SECRET, OTHER):
                self.assertNotIn(secret, done.stdout + done.stderr)

    def test_what_is_not_valid(self):
        """A file with an error, or none at all: exit 2, with its place."""
        self.write("recibo.yaml", {})
        self.write("new.yaml", {"nonsense": 1})
        done = self.run_it("-c", "new.yaml")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertRegex(done.stderr, r"new\.yaml:\d+:\d+: nonsense")
        self.assertEqual(self.run_it("-c", "recibo.yaml", "new.yaml").returncode, 2)
        self.assertEqual(self.run_it("-c", "nowhere.yaml").returncode, 2)
        self.assertEqual(self.run_it().returncode, 2)


if __name__ == "__main__":
    main()
