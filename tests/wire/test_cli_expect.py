"""recibo check --expect: tests of which route requests meet, decided as the gateway decides."""

import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BINARY, configuration, main, orders, rest, scratch  # noqa: E402

JSON = {"Content-Type": "application/json"}


class Expect(unittest.TestCase):
    def setUp(self):
        self.folder = scratch("expect-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        routes = [orders(), orders(name="pay", match={"methods": ["PUT"], "path": "/orders/{id}"},
                                   key={"from": "path", "name": "id"}),
                  orders(name="seen", mode="observe", match={"methods": ["POST"], "path": "/seen"},
                         key={"from": "json", "name": None, "pointer": "/id"}), rest()]
        with open(os.path.join(self.folder, "recibo.yaml"), "w", encoding="utf-8") as file:
            json.dump(configuration("http://127.0.0.1:1", {"routes": routes}), file)

    def check(self, entries):
        with open(os.path.join(self.folder, "expect.yaml"), "w", encoding="utf-8") as file:
            file.write(entries if isinstance(entries, str) else json.dumps(entries, indent=1))
        return subprocess.run([BINARY, "check", "--expect", "expect.yaml"], cwd=self.folder,
                              capture_output=True, text=True, check=False)

    HOLDS = (
        {"request": "POST /orders", "route": "create-order", "mode": "enforce",
         "problem": "key-missing", "key": "none", "status": "none"},
        {"request": "POST /orders/", "route": "create-order"},
        {"request": "POST /orders?a=b", "headers": {"Idempotency-Key": "k1", **JSON},
         "body": "{\"a\": 1}", "key": "k1", "problem": "none"},
        {"request": "POST /orders", "headers": {"Idempotency-Key": "a b\"", **JSON}, "body": "{}",
         "problem": "key-invalid"},
        {"request": "POST /orders", "headers": {"Idempotency-Key": "k1", **JSON}, "body": "{",
         "problem": "body-invalid"},
        {"request": "PUT /orders/7", "route": "pay", "key": "7"},
        {"request": "POST /seen", "headers": JSON, "body": "{\"id\": \"x\"}", "mode": "observe",
         "key": "x"},
        {"request": "GET /orders", "route": "everything-else", "mode": "pass", "key": "none"},
        {"request": "POST /elsewhere", "route": "none", "status": "405"},
        {"request": "GET /.recibo/contract", "route": "none", "status": "none"},
    )

    def test_what_holds(self):
        """Each expectation that is true: exit 0, and the sum."""
        for entry in self.HOLDS:
            with self.subTest(entry=entry):
                done = self.check([entry])
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        done = self.check(list(self.HOLDS))
        self.assertEqual(done.stdout, "expect.yaml: 10 of 10 requests are led as expected.\n")

    def test_what_does_not(self):
        """Each of them turned over: exit 1, with the line, what is and what was expected."""
        for entry in self.HOLDS:
            for name in set(entry) - {"request", "headers", "body"}:
                with self.subTest(entry=entry, name=name):
                    done = self.check([dict(entry, **{name: "wrong"})])
                    self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
                    self.assertRegex(done.stdout, r"\Aexpect\.yaml:\d+: [A-Z]+ /\S*: %s is .*, not "
                                                  r"wrong\n" % name)
                    self.assertIn(entry[name], done.stdout)

    def test_what_is_not_valid(self):
        """A file that is none: exit 2, all errors at once with their places."""
        cases = ("{}", "", "- 1", "- {request: POST /x}", "- {route: x}", "- {request: x, route: y}",
                 "- {request: POST x, route: y}", "- {request: BREW /x, route: y}", "- [",
                 "- {request: POST /x, rute: y}", "- {request: POST /x, headers: [a], route: x}",
                 "- {request: POST /x, headers: {a: [b]}, route: x}", "- {request: [a], route: x}",
                 "\t", "\0")
        for text in cases:
            with self.subTest(text=text):
                done = self.check(text)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn("expect.yaml", done.stderr)
        done = self.check("- {request: POST /x, rute: y}\n- {request: BREW /x, route: z, a: b}\n")
        self.assertRegex(done.stderr, r"expect\.yaml:1:\d+: .*rute")
        self.assertRegex(done.stderr, r"expect\.yaml:2:\d+: .*a")
        os.unlink(os.path.join(self.folder, "expect.yaml"))
        done = subprocess.run([BINARY, "check", "--expect", "expect.yaml"], cwd=self.folder,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    main()
