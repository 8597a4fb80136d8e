"""What the tests of the operator plane share: a lost answer, tokens, raw calls."""

import hashlib
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import (Case, Client, Gateway, Upstream, answer, fetch, fin, orders, rest,  # noqa: E402
                     wait_until)

SHORT = {"first_byte": "300ms", "idle": "300ms", "answer": "300ms", "late": "300ms"}
ALPHABET = set("0123456789abcdefghjkmnpqrstvwxyz")


def token(name, *rights):
    """-> (text, the entry of admin.tokens)."""
    text = "secret-of-" + name
    return text, {"name": name, "rights": list(rights),
                  "sha256": hashlib.sha256(text.encode()).hexdigest()}


class AdminCase(Case):
    """A gateway whose upstream can lose answers; the breaker stays out of it."""

    quiet = "10m"
    route = {}

    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"id": 7})))
        self.gateway = self.use(Gateway(self.upstream, changes=self.changes()))

    def changes(self):
        route = orders(breaker="none", evidence={"headers": True, "body": True},
                       reconcile={"quiet_time": self.quiet}, **self.route)
        return {"routes": [route, rest()]}

    def lose(self, key, body=None, **options):
        """An operation whose answer was lost; -> its operation."""
        self.upstream.script(fin())
        response = self.gateway.post(key, body or {"order": "o-" + key}, **options)
        self.assertEqual(response.status, 502, response)
        operation = self.gateway.operation(response.get("Idempotency-Operation"))
        self.assertEqual(operation["state"], "unknown", operation)
        return operation

    def settle(self, operation, verdict, status=200, **members):
        """POST .../settle with the version of `operation`; -> the answer's JSON."""
        body = {"verdict": verdict, "version": operation["version"], "note": "looked it up"}
        body.update(members)
        body = {name: value for name, value in body.items() if value is not ...}
        got, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"], body)
        self.assertEqual(got, status, value)
        return value

    def raw(self, method, path, headers=(), body=None, address=None):
        """One call exactly so: no token but what the headers say."""
        return fetch(address or self.gateway.admin_port, method, path, headers, body)

    def cli(self, *words, env=None, input=None):
        """Runs `recibo WORDS` in the gateway's directory; env goes over the usual variables."""
        variables = {**os.environ, **self.gateway.cli_environment(), **(env or {})}
        return subprocess.run([self.gateway.binary, *words], cwd=self.gateway.directory, env=variables,
                              input=input, capture_output=True, text=True, timeout=60, check=False)

    def bearer(self, text=None):
        return ("Authorization", "Bearer " + (text or self.gateway.token))


__all__ = ["ALPHABET", "AdminCase", "Case", "Client", "Gateway", "Upstream", "answer", "fetch",
           "fin", "json", "orders", "rest", "token", "wait_until"]
