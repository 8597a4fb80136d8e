"""An operation stays one operation between two proxies that would try again by themselves."""

import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peers_lib import Nginx, plain_server, readme_server, two_servers  # noqa: E402
from harness import (Case, Client, Gateway, Upstream, answer, fin, main, orders,  # noqa: E402
                     reset, rest)

ORDER = {"order": 7}
DONE = answer(201, [("Content-Type", "application/json")], {"id": 1})
EAGER = ("error timeout invalid_header http_500 http_502 http_503 http_504 http_429 "
         "non_idempotent")


def eager_front(port, next_port):
    """A front that tries the next one after everything, even for a POST that was sent."""
    return two_servers(port, next_port).replace(
        "proxy_pass ", "proxy_next_upstream %s; proxy_pass " % EAGER)


@unittest.skipUnless(shutil.which("nginx"), "nginx is not installed")
class GuardedHops(Case):
    def begin(self, front=readme_server, behind=two_servers):
        """caller, front, gateway, nginx, upstream; behind=None: without the second nginx."""
        self.upstream = self.use(Upstream(DONE))
        next_port = self.upstream.port
        if behind is not None:
            next_port = self.use(Nginx(next_port, behind)).port
        self.gateway = self.use(Gateway("http://127.0.0.1:%d" % next_port, {
            "routes": [orders(breaker="none"), rest()]}))
        self.front = self.use(Nginx(self.gateway.port, front))

    def post(self, key, body=None):
        with Client(self.front.port) as client:
            return client.request("POST", "/orders", [("Idempotency-Key", key)], body or ORDER)

    def settle(self, operation):
        """An operator found the order: the verdict, with the answer to replay."""
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"],
            {"verdict": "executed", "version": operation["version"], "note": "looked it up",
             "response": {"status": 201, "headers": {"Content-Type": "application/json"},
                          "body": json.dumps({"id": 1})}})
        self.assertEqual(status, 200, value)

    def assert_replayed(self, response):
        self.assertEqual((response.status, response.get("Idempotency-Status")),
                         (201, "replayed"), response)
        self.assertEqual(response.json(), {"id": 1})

    def play_success(self):
        """First call, repeat, changed body: 201, its replay, 422, one send."""
        first = self.post("k1")
        self.assertEqual((first.status, first.get("Idempotency-Status")), (201, "executed"), first)
        self.assert_replayed(self.post("k1"))
        self.assert_problem(self.post("k1", {"order": 8}), 422, "key-reused")
        self.assertEqual(self.upstream.sends, 1)

    def play_lost(self, key, action):
        """A lost answer: unknown for the first and for repeats; settled; replayed; one send."""
        sends = self.upstream.sends + 1
        self.upstream.script(action)
        first = self.post(key)
        self.assertGreaterEqual(first.status, 409, first)
        self.assert_problem(self.post(key), 409, "outcome-unknown")
        found = [one for one in self.gateway.operations() if one["state"] == "unknown"]
        self.assertEqual(len(found), 1, found)
        self.assertEqual(self.upstream.sends, sends)
        self.settle(self.gateway.operation(found[0]["id"]))
        self.assert_replayed(self.post(key))
        self.assertEqual((self.upstream.sends, len(self.upstream.heads)), (sends, sends))

    def play_all(self):
        self.play_success()
        self.play_lost("closed", fin())
        self.play_lost("reset", reset())
        self.play_lost("cut", fin(b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"))

    def test_the_front_of_the_readme(self):
        """The README's nginx before, nginx with its defaults and two servers behind: one send."""
        self.begin()
        self.play_all()

    def test_a_front_with_defaults(self):
        """nginx before and behind as it comes: one send for each key."""
        self.begin(front=two_servers, behind=plain_server)
        self.play_all()

    def test_a_front_that_repeats_everything(self):
        """A front that repeats a POST after every failure meets the receipt: one send."""
        self.begin(front=eager_front, behind=None)
        self.play_all()

    def test_without_the_gateway_it_is_sent_twice(self):
        """The same eager proxy alone sends a lost POST twice: the stories above can fail."""
        upstream = self.use(Upstream(DONE))
        upstream.script(fin())
        eager = self.use(Nginx(upstream.port, eager_front))
        with Client(eager.port) as client:
            self.assertEqual(client.request("POST", "/orders", (), ORDER).status, 201)
        self.assertEqual(upstream.sends, 2)


if __name__ == "__main__":
    main()
