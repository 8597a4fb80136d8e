"""What the tests of the page share: a gateway with lost answers, a browser on it, and
ways to sign in. A test that used a page fails if a script ran that should not have.
"""

import hashlib
import json
import os
import sys
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from browser import Browser, chromium  # noqa: E402
from harness import (Case, Gateway, Upstream, answer, fetch, fin, merge, orders, rest,  # noqa: E402
                     wait_until)

ROWS = "document.querySelectorAll('main tbody tr').length"


def token(name, *rights):
    """-> (text, the entry of admin.tokens)."""
    text = "secret-of-" + name
    return text, {"name": name, "rights": list(rights),
                  "sha256": hashlib.sha256(text.encode()).hexdigest()}


@unittest.skipIf(chromium() is None, "chromium is not installed: apt-get install chromium")
class PageCase(Case):
    """A gateway whose upstream loses answers when told to; one browser for the class."""

    quiet = "10m"
    route = {}
    tokens = ()   # further ones: (name, rights...)

    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"id": 7})))
        gateway = Gateway(self.upstream, changes=self.changes(), start=False)
        gateway.token = token("tester")[0]
        gateway.start()
        self.gateway = self.use(gateway)
        self.pages = []
        self.addCleanup(self.leave_pages)

    def changes(self):
        route = merge(orders(breaker="none", evidence={"headers": True, "body": True},
                             reconcile={"quiet_time": self.quiet}), self.route)
        tokens = (("tester", "read", "evidence", "settle", "control"), *self.tokens)
        return {"routes": [route, rest()],
                "admin": {"tokens": [token(*entry)[1] for entry in tokens]}}

    def leave_pages(self):
        for page in self.pages:
            if not self.has_failed():
                page.check()
            page.close()

    # ---- what is on the backlog ----

    def lose(self, key, body=None, **options):
        """An operation whose answer was lost; -> its operation."""
        self.upstream.script(fin())
        response = self.gateway.post(key, body or {"order": "o-" + key}, **options)
        self.assertEqual(response.status, 502, response)
        operation = self.gateway.operation(response.get("Idempotency-Operation"))
        self.assertEqual(operation["state"], "unknown", operation)
        return operation

    def lose_many(self, count, stem="k"):
        return [self.lose("%s-%03d" % (stem, number)) for number in range(count)]

    def settle(self, operation, verdict, **members):
        """What somebody else does meanwhile."""
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"],
            merge({"verdict": verdict, "version": operation["version"], "note": "by another"},
                  members))
        self.assertEqual(status, 200, value)
        return value

    # ---- the browser ----

    def url(self, rest_of=""):
        return "http://127.0.0.1:%d/%s" % (self.gateway.admin_port, rest_of)

    def visit(self, rest_of="", **options):
        """A page in a tab of its own, not signed in."""
        page = self.browser.open(self.url(rest_of), **options)
        self.pages.append(page)
        return page

    def sign_in(self, page, text=None):
        page.wait("document.querySelector('dialog[open] #token')")
        page.type("#token", self.gateway.token if text is None else text)
        page.press("Enter")

    def open(self, rest_of="", text=None, **options):
        """A page that is signed in and shows what the address says."""
        page = self.visit(rest_of, **options)
        self.sign_in(page, text)
        self.wait_view(page)
        return page

    def wait_view(self, page):
        page.wait("document.querySelector('#heading') && !document.querySelector('dialog[open]') && "
                  "!document.querySelector('.loading')")

    def go(self, page, address):
        """As a click on a link does."""
        page.run("(() => { document.querySelector('.view').id = 'left'; location.hash = %s; })()"
                 % json.dumps(address))
        page.wait("!document.getElementById('left')")
        self.wait_view(page)

    def open_entry(self, operation, **options):
        page = self.open("#/operations/" + operation["id"], **options)
        page.wait("document.querySelector('.timeline')")
        return page

    def look_now(self, page):
        """Makes the page look at once, as the browser does when it is online again."""
        page.run("window.dispatchEvent(new Event('online'))")

    def operation(self, operation):
        return self.gateway.operation(operation["id"])


def main():
    unittest.main(module="__main__", argv=[sys.argv[0], "-v", *sys.argv[1:]])


__all__ = ["Case", "Gateway", "PageCase", "ROWS", "Upstream", "answer", "fetch", "fin", "json", "main",
           "merge", "orders", "rest", "token", "unittest", "urllib", "wait_until"]
