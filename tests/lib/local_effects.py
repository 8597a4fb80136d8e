"""What the tests of local effects have in common: a gateway on one of the two examples,
and the rows of its database as another program sees them. It only reads the file; it
never writes to it but to hold its lock.
"""

import contextlib
import hashlib
import os
import sqlite3

from guarded import Guarded
from harness import ROOT, Gateway, wait_until  # noqa: F401

ACME, GLOBEX = "acme-secret", "globex-secret"
ADMIN = """
admin:
  address: "@ADMIN@"
  tokens:
    - {name: tester, rights: [read, evidence, settle, control], sha256: "@TOKEN_SHA256@"}
"""


def example(name):
    """The file as it ships, with addresses of the test's own, its store beside it, and a
    plane for the operator."""
    with open(os.path.join(ROOT, "examples", name), encoding="utf-8") as file:
        text = file.read()
    for old, new in (('"127.0.0.1:8080"', '"@LISTEN@"'), ("path: tickets.db", "path: recibo.db"),
                     ("path: tareas.db", "path: recibo.db")):
        text = text.replace(old, new)
    return text + ADMIN


def secrets():
    return {name + "_KEY_SHA256": hashlib.sha256(key.encode()).hexdigest()
            for name, key in (("ACME", ACME), ("GLOBEX", GLOBEX))}


class Example:
    """One of the two: what a good request is, and what its row is called."""

    def __init__(self, name, path, table, member, column, bytes_max, key_max, headers):
        self.name, self.path, self.table = name, path, table
        self.member, self.column, self.bytes_max = member, column, bytes_max
        self.key_max, self.headers = key_max, headers

    def body(self, text):
        return {self.member: text}


TICKETS = Example("tickets.yaml", "/tickets", "tickets", "subject", "subject", 120, 100,
                  {"X-Api-Key": ACME})
TAREAS = Example("tareas.yaml", "/tareas", "tareas", "texto", "texto", 200, 120, {})


class Local(Guarded):
    """A test of a gateway whose effects are local: start_example() makes self.gateway."""

    def start_example(self, which, binary=None, start=True, changes=()):
        text = example(which.name)
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        self.example = which
        self.gateway = self.use(Gateway(text=text, env=secrets(), binary=binary, start=start))
        return self.gateway

    def post(self, key, body, headers=None, **options):
        """A POST to the example's route; a str is its one text, anything else the body."""
        if isinstance(body, str):
            body = self.example.body(body)
        pairs = dict(self.example.headers, **(headers or {}))
        return self.gateway.post(key, body, path=self.example.path, headers=pairs, **options)

    @contextlib.contextmanager
    def database(self):
        base = sqlite3.connect(self.gateway.store_path, isolation_level=None, timeout=30)
        try:
            yield base
        finally:
            base.close()

    def rows(self, sql, *values):
        with self.database() as base:
            return base.execute(sql, values).fetchall()

    def counts(self):
        """(rows of effects, receipts): what is committed."""
        with self.database() as base:
            return base.execute("SELECT (SELECT count(*) FROM %s), (SELECT count(*) FROM receipts)"
                                % self.example.table).fetchone()

    def assert_made(self, response, status=201):
        """The first answer of an effect; -> its JSON."""
        self.assertEqual(response.status, status, response)
        self.assertEqual(response.get("Idempotency-Status"), "local", response)
        self.assertEqual(response.get("Content-Type"), "application/json")
        self.assertNotIn("Idempotent-Replayed", response.headers)
        self.assertRegex(response.get("Idempotency-Operation"), r"\Aop_[a-z0-9]{26}\Z")
        self.assertIsNotNone(response.get("Idempotency-Expires"))
        self.assertEqual(response.get("Content-Length"), str(len(response.body)))
        return response.json()

    def assert_refused(self, response, status=422, code="content-refused", new_key=True):
        """Nothing was kept, and it says so."""
        return self.assert_told(response, status, code, outcome="released", new_key=new_key)
