"""What the command line shows to people: hostile words, terminals, lost answers."""

import json
import os
import re
import threading

import admin_lib  # noqa: F401 - finds the harness
from cli_lib import DONE, FAILED, NOBODY, UNREACHABLE, CliCase, run_alone
from harness import answer, cut, fin, main, orders, raw, rest, wait_until

HOSTILE = ("a\u0000b", "\u0000", "\u001b]0;title\u0007", "\u202egpj", "\u200bzero", "tab\there",
           "two\nlines", "\r\n", "\u0085next", "caf\u00e9 \u65e5\u672c", "\U0001f600", "\u00ad",
           "=1+1", "x" * 70)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f"
                     "\ufeff\u00ad]")


class Hostile(CliCase):
    quiet = "1h"

    def test_no_word_of_a_caller_breaks_or_orders_anything(self):
        """Labels and bodies with NUL, controls and marks of direction: every command reads the
        answer, shows the mark spelled out, and no terminal gets an order."""
        for i, text in enumerate(HOSTILE):
            with self.subTest(text=text):
                operation = self.lose("k%d" % i, {"order": text, "more": text})["id"]
                show = ("backlog", "show", operation)
                for words in (("backlog",), ("backlog", "list"), ("operations",), show,
                              ("why", operation), ("why", "--key", "k%d" % i), ("backlog", "export"),
                              ("backlog", "comment", operation, "seen"), show,
                              ("backlog", "claim", operation),
                              ("backlog", "settle", operation, "--verdict", "abandoned", "--note", "x"),
                              ("backlog", "reopen", operation, "--note", "x")):
                    said = self.ask(DONE, *words)
                    self.assertEqual(CONTROL.findall(said.replace("\r\n", "\n")
                                                     if words[1:2] == ("export",) else said), [])
                value = json.loads(self.ask(DONE, *show, "--json"))
                self.assertEqual(value["labels"]["order"], text[:64])
        self.assertIn("a\\x00b", self.ask(DONE, "backlog", "list", "--key", "k0"))
        self.assertIn("\\u{202e}gpj", self.ask(DONE, "backlog", "list", "--key", "k3"))

    def test_labels_of_any_bytes(self):
        """A label out of a form may be no text at all; it is shown, and found by nobody's crash."""
        route = orders(fingerprint={"mode": "form"}, labels={"order": {"json": None, "form": "order"}},
                       breaker="none")
        self.gateway.restart(changes={"routes": [route, rest()]})
        for i, value in enumerate(("%00", "%ff%fe", "%1b[2J", "a%00b")):
            self.upstream.script(fin())
            response = self.gateway.post(
                "f%d" % i, b"order=" + value.encode(),
                headers=[("Content-Type", "application/x-www-form-urlencoded")])
            self.assertEqual(response.status, 502, response)
            operation = response.get("Idempotency-Operation")
            for words in (("backlog",), ("backlog", "list"), ("backlog", "show", operation),
                          ("backlog", "export")):
                self.assertEqual(CONTROL.findall(self.ask(DONE, *words).replace("\r\n", "\n")), [])


class Terminals(CliCase):
    quiet = "1h"

    def test_colours_are_for_terminals_alone(self):
        """On a terminal there are colours; not with NO_COLOR, TERM=dumb, nor in a pipe."""
        self.lose("k1")
        _, plain = self.on_terminal("backlog", env={"NO_COLOR": "1"})
        for words in (("backlog",), ("backlog", "list"), ("operations",)):
            code, text = self.on_terminal(*words)
            self.assertEqual((code, "\x1b[" in text), (DONE, True), text)
            self.assertNotIn("\x1b", self.ask(DONE, *words))
            for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
                self.assertNotIn("\x1b", self.on_terminal(*words, env=env)[1])
        self.assertIn("unknown", plain)
        self.assertIn("\x1b[", self.on_terminal("backlog", env={"NO_COLOR": ""})[1])
        self.assertNotIn("\x1b", self.on_terminal("backlog", "list", "--json")[1])

    def test_tables_fit_the_terminal(self):
        """No line is wider than the terminal as long as that can be; an id is never cut."""
        ids = [self.lose("k%d" % i, {"order": text})["id"]
               for i, text in enumerate(("x" * 64, "\u65e5\u672c" * 10, "short"))]
        for columns in (80, 100, 120, 160, 200):
            _, text = self.on_terminal("backlog", "list", columns=columns, env={"NO_COLOR": "1"})
            lines = text.splitlines()
            self.assertLessEqual(max(map(width, lines)), columns, text)
            self.assertEqual(re.findall(r"op_\w{26}", text), ids)
        _, text = self.on_terminal("backlog", "list", columns=40, env={"NO_COLOR": "1"})
        self.assertEqual(re.findall(r"op_\w{26}", text), ids)

    def test_columns_line_up(self):
        """Wide letters and marks take the columns that a terminal gives them."""
        for i, text in enumerate(("\u65e5\u672c\u8a9e", "e\u0301\u0301\u0301", "plain")):
            self.lose("k%d" % i, {"order": text})
        lines = self.ask(DONE, "backlog", "list").splitlines()
        place = lines[0].index("LABELS")
        self.assertEqual({width(line[:line.index("order=")]) for line in lines[1:]}, {place})
        listed = self.ask(DONE, "operations").splitlines()
        self.assertEqual(len({line.index("unknown") for line in listed[1:]}), 1)

    def test_progress_is_for_terminals_alone(self):
        """A pipe gets the result and no line that is written over."""
        self.assertNotIn("\r", self.ask(DONE, "backlog"))


def width(text):
    """Columns on a terminal: a judge of its own, by the tables of Python."""
    import unicodedata
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


class Lost(CliCase):
    """The answer of the operator plane is lost or cannot be read."""

    quiet = "1h"
    SETTLE = ("backlog", "settle", NOBODY, "--verdict", "abandoned", "--note", "x", "--version", "1")
    CHANGES = (SETTLE, ("backlog", "reopen", NOBODY, "--note", "x", "--version", "1"),
               ("backlog", "claim", NOBODY), ("backlog", "release", NOBODY),
               ("backlog", "comment", NOBODY, "x"), ("backlog", "probe", NOBODY),
               ("pause", "r", "--note", "x"), ("resume", "r", "--note", "x"))

    def elsewhere(self, behaviour):
        """recibo asks this upstream instead of Recibo."""
        self.upstream.default = behaviour
        return {"RECIBO_ADMIN": self.upstream.url}

    def test_a_lost_answer_of_a_change_leaves_a_doubt(self):
        """After a change was sent, every way to lose its answer says that it may have been made,
        and how to look; after a question nothing of that is said."""
        for behaviour, code in ((fin(), UNREACHABLE), (cut(20, body=b"{" + b" " * 50),
                                                       UNREACHABLE),
                                (answer(200, body=b"no json"), FAILED),
                                (answer(200, body=b"[1]"), FAILED), (answer(200, body=b"{}"), FAILED),
                                (answer(201, body=b'{"id": 7}'), FAILED),
                                (raw(b"nonsense\r\n\r\n"), UNREACHABLE),
                                (answer(502, body=b"<html>"), FAILED)):
            env = self.elsewhere(behaviour)
            for words in self.CHANGES:
                with self.subTest(words=words, code=code):
                    text = self.ask(code, *words, env=env)
                    self.assertIn("may have been made", text)
                    self.assertIn("recibo backlog show " + NOBODY if NOBODY in words
                                  else "recibo backlog", text)
            for words in (("backlog",), ("operations",), ("why", NOBODY), ("page",)):
                with self.subTest(words=words, code=code):
                    self.assertNotIn("may have been made", self.ask(code, *words, env=env))

    def test_another_server_is_not_believed(self):
        """JSON of somebody else is never read as "nothing is unknown"."""
        for body in (b"{}", b'{"status": "ok"}', b"[]", b"null", b'{"operations": []'):
            env = self.elsewhere(answer(200, body=body))
            for words in (("backlog",), ("backlog", "list"), ("backlog", "groups"), ("operations",),
                          ("inflight",), ("refused",), ("page",), ("why", NOBODY),
                          ("backlog", "show", NOBODY), ("backlog", "export"), ("report",)):
                with self.subTest(words=words, body=body):
                    text = self.ask(FAILED, *words, env=env)
                    self.assertIn("not of Recibo's operator plane", text)

    def test_nothing_was_sent_and_nothing_is_doubted(self):
        """Where no connection came about, the change was not made, and that is said."""
        env = {"RECIBO_ADMIN": "unix:/no/such/socket"}
        text = self.ask(UNREACHABLE, *self.SETTLE, env=env)
        self.assertIn("Nothing was asked", text)
        self.assertNotIn("may have been made", text)


class Stops(CliCase):
    """pause, resume and the breaker: what is said is what is so."""

    def changes(self):
        route = orders(breaker={"unknowns": 2, "share": "1%", "in": "1h"})
        return {"routes": [route, rest()]}

    def test_resume_says_what_still_holds(self):
        """Its own pause, the upstream's, an open breaker, or nothing: each in words, and backlog
        shows them all."""
        resume = ("resume", "create-order", "--note", "x")
        self.assertEqual(self.ask(DONE, *resume),
                         "route create-order was not paused; nothing holds it.\n")
        self.ask(DONE, "pause", "create-order", "--note", "x")
        self.assertIn("paused already", self.ask(DONE, "pause", "create-order", "--note", "y"))
        self.assertEqual(self.ask(DONE, *resume), "route create-order is open again.\n")
        text = self.ask(DONE, "pause", "--upstream", "legacy", "--note", "x")
        self.assertIn("keep passing: everything-else", text)
        self.ask(DONE, "pause", "create-order", "--note", "x")
        text = self.ask(DONE, *resume)
        self.assertIn("not paused any more, but", text)
        self.assertIn("recibo resume --upstream legacy", text)
        self.assertIn("was not paused, but", self.ask(DONE, *resume))
        self.assertIn("paused: upstream legacy", self.ask(DONE, "backlog"))
        text = self.ask(DONE, "resume", "--upstream", "legacy", "--note", "x")
        self.assertEqual(text, "upstream legacy is open again.\n")

    def test_an_open_breaker_is_told(self):
        """resume never says that a route is open whose breaker is not; backlog shows it."""
        self.assertNotIn("breaker", self.ask(DONE, "backlog"))
        for i in range(2):
            self.upstream.script(fin())
            self.gateway.post("k%d" % i, {"order": i})
        wait_until(lambda: self.gateway.post("new", {"order": 1}).status == 503)
        self.assertIn("breaker open: route create-order", self.ask(DONE, "backlog"))
        self.assertIn("breaker open: route create-order", self.ask(DONE, "backlog", "--key", "k1"))
        for pauses in (False, True):
            if pauses:
                self.ask(DONE, "pause", "create-order", "--note", "x")
            text = self.ask(DONE, "resume", "create-order", "--note", "x")
            self.assertIn("The breaker of route create-order is open", text)
            self.assertNotIn("is open again", text)
            self.assertEqual("was not paused" in text, not pauses)


class Sockets(CliCase):
    def changes(self):
        return {**super().changes(), "admin": {"address": "127.0.0.1:0"}}

    def test_over_a_socket_the_user_is_enough(self):
        """Without a token the server sees whose process it is; the audit names him."""
        directory = self.gateway.directory
        operation = self.lose("k1")["id"]
        self.gateway.stop()
        conf = self.gateway.configuration()
        conf["admin"]["address"] = "unix:" + os.path.join(directory, "admin.sock")
        with open(self.gateway.path, "w", encoding="utf-8") as file:
            json.dump(conf, file)
        self.gateway.launch()
        self.addCleanup(self.gateway.kill9)
        env = {"RECIBO_ADMIN": conf["admin"]["address"], "RECIBO_TOKEN": ""}
        wait_until(lambda: self.cli("backlog", env=env).returncode == DONE)
        self.ask(DONE, "backlog", "claim", operation, env=env)
        self.assertIn("uid:%d" % os.getuid(), self.ask(DONE, "backlog", "show", operation, env=env))
        text = self.ask(DONE, "page", env=env)
        self.assertRegex(text, r"ssh -N -L 8081:\S+admin\.sock HOST\n.*\n  http://127.0.0.1:8081/#code=")
        self.ask(6, "backlog", env={**env, "RECIBO_TOKEN": "wrong"})


class Serve(CliCase):
    def test_serve_says_error_before_an_error(self):
        """Each finding begins with what it is, as those of check do."""
        path = os.path.join(self.gateway.directory, "bad.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n"
                       "  - {name: a, mode: pass, match: {path: /a, methods: [POST]}}\n"
                       "  - {name: b, mode: pas, match: {path: /b}}\n")
        served, checked = run_alone("serve", "-c", path), run_alone("check", "-c", path)
        self.assertEqual((served.returncode, served.stdout), (2, ""))
        self.assertEqual(served.stderr, checked.stderr)
        self.assertRegex(served.stderr, r"(?m)^error: .*pas")


if __name__ == "__main__":
    main()
