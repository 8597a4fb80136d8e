"""How each command of the operator ends: one table, every code where it can occur."""

import os
import subprocess

import admin_lib  # noqa: F401 - finds the harness
from cli_lib import (CHANGED, DONE, FAILED, NOBODY, NOT_ALLOWED, NOT_FOUND, UNREACHABLE, USAGE,
                     CliCase)
from harness import free_port, main

NOTE = ("--note", "x")
# What asks the operator plane, with words that fit: ID stands for an operation.
LOOKS = [("backlog",), ("backlog", "groups"), ("backlog", "list"), ("backlog", "show", "ID"),
         ("backlog", "export"), ("operations",), ("why", "ID"), ("why", "--label", "order=o-k1"),
         ("why", "--key", "k1"), ("inflight",), ("refused",), ("page",)]
CHANGES = [("backlog", "settle", "ID", "--verdict", "abandoned", *NOTE),
           ("backlog", "reopen", "ID", *NOTE), ("backlog", "claim", "ID"),
           ("backlog", "release", "ID"), ("backlog", "comment", "ID", "text"),
           ("backlog", "probe", "ID"), ("backlog", "probe", "--group", "1")]
CONTROLS = [("pause", "create-order", *NOTE), ("resume", "create-order", *NOTE),
            ("pause", "--upstream", "legacy", *NOTE), ("resume", "--upstream", "legacy", *NOTE)]


def filled(words, operation_id):
    return [operation_id if word == "ID" else word for word in words]


class Exits(CliCase):
    quiet = "1h"

    def each(self, commands, code, operation_id, part="", **options):
        """Each of them ends so, and says `part`."""
        for words in commands:
            with self.subTest(words=words):
                self.assertIn(part, self.ask(code, *filled(words, operation_id), **options))

    def test_done(self):
        """What can be done ends with 0 and says nothing on standard error."""
        operation = self.lose("k1")["id"]
        for words in LOOKS + [("backlog", "claim", "ID"), ("backlog", "comment", "ID", "text"),
                              ("backlog", "release", "ID"), *CHANGES[:2]] + CONTROLS:
            with self.subTest(words=words):
                done = self.cli(*filled(words, operation))
                self.assertEqual((done.returncode, done.stderr), (DONE, ""), done)
                self.assertTrue(done.stdout)

    def test_nobody_is_there(self):
        """5 where nothing listens: nothing was asked, and how to say where it is."""
        env = {"RECIBO_ADMIN": "http://127.0.0.1:%d" % free_port()}
        self.each(LOOKS + CHANGES + CONTROLS, UNREACHABLE, NOBODY, "Nothing was asked", env=env)
        self.each(LOOKS[:1] + CHANGES[:1], UNREACHABLE, NOBODY, "--admin", env=env)

    def test_not_allowed(self):
        """6 for a token that is not known, and for one without the right; nothing changed."""
        operation = self.lose("k1")["id"]
        env = {"RECIBO_TOKEN": "wrong"}
        self.each(LOOKS + CHANGES + CONTROLS, NOT_ALLOWED, operation, "recibo token new", env=env)
        env = self.reader()
        version = self.gateway.operation(operation)["version"]
        self.each(CHANGES + CONTROLS, NOT_ALLOWED, operation, "right", env=env)
        self.assertEqual(self.gateway.operation(operation)["version"], version)
        self.each(LOOKS, DONE, operation, env=env)

    def test_not_found(self):
        """3 for an operation, a group, a route or an upstream that is not there."""
        named = [words for words in LOOKS + CHANGES if "ID" in words]
        self.each(named, NOT_FOUND, NOBODY, "no operation")
        for words in (("why", "--key", "none"), ("why", "--label", "order=none"),
                      ("backlog", "list", "--group", "1"), ("backlog", "export", "--group", "9"),
                      ("backlog", "probe", "--group", "1"), ("backlog", "--group", "1"),
                      ("backlog", "groups", "--route", "x"), ("backlog", "export", "--route", "x"),
                      ("operations", "--route", "x"), ("inflight", "--route", "x"),
                      ("pause", "x", *NOTE), ("resume", "x", *NOTE),
                      ("pause", "--upstream", "x", *NOTE), ("resume", "--upstream", "x", *NOTE)):
            with self.subTest(words=words):
                self.ask(NOT_FOUND, *words)

    def test_changed_meanwhile(self):
        """4 where somebody was faster: another verdict, another version, another person."""
        operation = self.lose("k1")
        settle = ("backlog", "settle", operation["id"], "--verdict", "abandoned", *NOTE)
        self.ask(CHANGED, *settle, "--version", str(operation["version"] + 1))
        env = self.reader("read", "settle")
        self.ask(DONE, "backlog", "claim", operation["id"], env=env)
        for word in ("claim", "release"):
            text = self.ask(CHANGED, "backlog", word, operation["id"])
            self.assertIn("token:reader", text)
        self.ask(DONE, "backlog", "claim", operation["id"], "--take-over", "--note", "my shift")
        self.assertEqual(self.gateway.operation(operation["id"])["claimed_by"], "token:tester")
        self.ask(DONE, *settle)
        self.ask(CHANGED, *settle)
        self.ask(CHANGED, "backlog", "reopen", operation["id"], "--version", "1", *NOTE)
        told = self.lose("k2")["id"]
        self.ask(DONE, "backlog", "settle", told, "--verdict", "executed", "--response", "-",
                 "--status", "201", *NOTE, input="{}")
        self.assertEqual(self.gateway.post("k2", {"order": "o-k2"}).status, 201)
        self.ask(CHANGED, "backlog", "reopen", told, *NOTE)

    def test_failed(self):
        """1 where the state or the configuration does not take it; nothing changed."""
        operation = self.lose("k1")["id"]
        done = self.gateway.post("fine", {"order": 1}).get("Idempotency-Operation")
        for words in (("backlog", "probe", operation), ("backlog", "probe", "--group", "1"),
                      ("backlog", "claim", done), ("backlog", "reopen", done, *NOTE),
                      ("backlog", "settle", done, "--verdict", "abandoned", *NOTE),
                      ("backlog", "settle", operation, "--verdict", "not_executed", *NOTE),
                      ("pause", "everything-else", *NOTE)):
            with self.subTest(words=words):
                self.ask(FAILED, *words)
        self.assertEqual(self.gateway.operation(operation)["state"], "unknown")

    def test_usage(self):
        """2 before anything is asked, and the missing word has its name."""
        cases = [(("backlog", "show"), "ID is missing"), (("backlog", "settle"), "ID is missing"),
                 (("backlog", "reopen"), "ID is missing"), (("backlog", "claim"), "ID is missing"),
                 (("backlog", "release"), "ID is missing"), (("why",), "ID is missing"),
                 (("backlog", "comment"), "ID is missing"), (("backlog", "probe"), "ID is missing"),
                 (("backlog", "comment", NOBODY), "TEXT is missing"),
                 (("backlog", "apply"), "PLAN is missing"), (("backlog", "apply", "x", *NOTE), "plan id"),
                 (("backlog", "apply", *NOTE, "x"), "plan id"),
                 (("pause", *NOTE), "ROUTE is missing"), (("resume", *NOTE), "ROUTE is missing"),
                 (("pause", "r"), "--note is missing"), (("resume", "r"), "--note is missing"),
                 (("backlog", "reopen", NOBODY), "--note is missing"),
                 (("backlog", "settle", NOBODY, *NOTE), "--verdict is missing"),
                 (("explain",), "METHOD is missing"), (("explain", "GET"), "PATH is missing"),
                 (("backlog", "probe", NOBODY, "--group", "1"), "not both"),
                 (("backlog", "probe", NOBODY, "--rate", "1/s"), "--group"),
                 (("backlog", "probe", "--group", "1", "--rate", "0/s"), "--rate"),
                 (("backlog", "probe", "--group", "1", "--rate", "5000/s"), "--rate"),
                 (("backlog", "probe", "--group", "0"), "--group"),
                 (("backlog", "probe", NOBODY, "--wait", "soon"), "--wait"),
                 (("backlog", "list", "--group", "1", "--route", "r"), "--route"),
                 (("backlog", "list", "--claimed", "--unclaimed"), "--unclaimed"),
                 (("backlog", "list", "--label", "x"), "NAME=VALUE"),
                 (("backlog", "list", "--status", "abc"), "status"),
                 (("backlog", "list", "--probe", "maybe"), "probe"),
                 (("backlog", "list", "--end", "badly"), "end"),
                 (("backlog", "list", "--older-than", "long"), "older_than"),
                 (("backlog", "export", "--json"), "--json"),
                 (("backlog", "export", "--bundle", "a", "--output", "b"), "not both"),
                 (("backlog", "frobnicate"), "no \"frobnicate\""),
                 (("why", NOBODY, "--key", "k"), "not both"), (("page", "now"), "too many"),
                 (("inflight", "now"), "too many"), (("inflight", "--limit", "0"), "limit"),
                 (("refused", "--route", "x"), "--route"), (("version", "x"), "too many")]
        for words, part in cases:
            with self.subTest(words=words):
                done = self.cli(*words)
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done)
                self.assertIn(part, done.stderr)

    def test_a_full_disk_is_no_success(self):
        """What could not be printed ends with 1."""
        self.lose("k1")
        for words in (("backlog",), ("operations",), ("backlog", "export"), ("version",),
                      ("backlog", "list", "--json"), ("help",)):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                self.assertEqual(self.cli_into(full, *words), FAILED)

    def cli_into(self, stdout, *words):
        env = {**os.environ, **self.gateway.cli_environment()}
        return subprocess.run([self.gateway.binary, *words], cwd=self.gateway.directory, env=env,
                              stdout=stdout, stderr=subprocess.DEVNULL, timeout=60,
                              check=False).returncode


if __name__ == "__main__":
    main()
