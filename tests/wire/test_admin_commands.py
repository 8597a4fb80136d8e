"""The commands of the operator: what they print, what they ask, and how they end."""

import json
import os
import re
import subprocess
import threading

from admin_lib import AdminCase, Case, answer, rest, token, wait_until
from harness import BINARY, ROOT, free_port, main, parallel, scratch, wait

DONE, FAILED, USAGE, NOT_FOUND, CHANGED, UNREACHABLE, NOT_ALLOWED = range(7)
NOBODY = "op_" + "0" * 26


class Backlog(AdminCase):
    quiet = "1h"

    def ask(self, code, *words, **options):
        """Runs recibo WORDS; -> standard output; fails on another exit code."""
        done = self.cli(*words, **options)
        self.assertEqual(done.returncode, code, done)
        if code == DONE:
            self.assertEqual(done.stderr, "")
        else:
            self.assertTrue(done.stderr.startswith("recibo: ") or "usage" in done.stderr, done)
        return done.stdout + done.stderr

    def test_the_list_shows_what_is_unknown(self):
        """Sum and list agree; filters, pages and --json work; nothing unknown says so."""
        self.assertEqual(self.ask(DONE, "backlog"), "0 unknown, 0 in flight\n")
        self.assertEqual(self.ask(DONE, "backlog", "list"), "Nothing is unknown.\n")
        ids = [self.lose("k%d" % i)["id"] for i in range(3)]
        text = self.ask(DONE, "backlog")
        self.assertTrue(text.startswith("3 unknown, oldest "), text)
        listed = self.ask(DONE, "backlog", "list")
        self.assertEqual(re.findall(r"op_\w{26}", listed), ids)
        self.assertEqual(re.findall(r"op_\w{26}", self.ask(DONE, "operations")), ids[::-1])
        self.assertIn("closed_no_answer", listed)
        self.assertIn("order=o-k1", listed)
        page = self.ask(DONE, "backlog", "list", "--limit", "2")
        self.assertEqual(re.findall(r"op_\w{26}", page), ids[:2])
        cursor = re.search(r"--cursor (\d+)", page).group(1)
        self.assertEqual(re.findall(r"op_\w{26}", self.ask(
            DONE, "backlog", "list", "--limit=2", "--cursor", cursor)), ids[2:])
        self.assertEqual(re.findall(r"op_\w{26}", self.ask(
            DONE, "backlog", "list", "--limit", "1", "--all")), ids)
        value = json.loads(self.ask(DONE, "backlog", "list", "--label", "order=o-k1", "--json"))
        self.assertEqual([each["id"] for each in value["operations"]], [ids[1]])
        self.assertEqual(self.ask(DONE, "operations", "--state", "completed"),
                         "No operation fits this filter.\n")
        self.assertEqual(self.ask(DONE, "backlog", "list", "--owner", "nobody"),
                         "No unknown operation fits this filter.\n")
        self.ask(USAGE, "operations", "--limit", "0")

    def test_a_route_that_is_not_there(self):
        """A misspelled --route ends with 3 and names its neighbour, in lists of any kind; a
        route on which nothing is unknown does not."""
        self.ask(NOT_FOUND, "backlog", "--route", "create-odrer")  # with nothing unknown at all
        self.lose("k1")
        for words in (("backlog",), ("backlog", "list"), ("operations",)):
            for more in ((), ("--json",), ("--all",)):
                with self.subTest(words=words, more=more):
                    text = self.ask(NOT_FOUND, *words, "--route", "create-odrer", *more)
                    self.assertIn('no route "create-odrer"; did you mean create-order', text)
        self.assertNotIn("did you mean", self.ask(NOT_FOUND, "backlog", "list", "--route", "zzzz"))
        self.assertEqual(self.ask(DONE, "backlog", "list", "--route", rest()["name"]),
                         "No unknown operation fits this filter.\n")
        self.assertIn("k1", self.ask(DONE, "backlog", "list", "--route", "create-order"))

    def test_show_tells_all_and_what_to_type(self):
        """Evidence, labels, the recorded request, what a repeat gets, and lines that work."""
        operation = self.lose("k1", {"order": "A-1", "note": "x\u001b[31m\u202ey"})
        text = self.ask(DONE, "backlog", "show", operation["id"])
        for part in (operation["id"], "unknown, needs_reconciliation", "POST /orders", "create-order",
                     "k1", "version      %d" % operation["version"], "order=A-1", "closed_no_answer",
                     '"order": "A-1"', "409 outcome-unknown", "not_executed is taken from"):
            self.assertIn(part, text)
        self.assertNotIn("\x1b", text)
        self.assertNotIn("\u202e", text)
        line = [l for l in text.splitlines() if "--verdict abandoned" in l][0].split()
        self.assertEqual(line[:4], ["recibo", "backlog", "settle", operation["id"]])
        self.ask(DONE, *line[1:-1], "nobody knows")
        text = self.ask(DONE, "backlog", "show", operation["id"])
        for part in ("abandoned", "token:tester", "nobody knows", "--verdict reopen"):
            self.assertIn(part, text)

    def test_settle_sends_the_file_as_it_is(self):
        """Text, JSON and bytes come back to the caller byte for byte, with type and headers."""
        for key, content, kind in (("json", b'{"n": 1.0,\n "e": 1e400}', "application/json"),
                                   ("text", "no json \u00e9\n".encode(), None),
                                   ("bytes", bytes(range(256)), None), ("empty", b"", None)):
            with self.subTest(key=key):
                operation = self.lose(key)
                path = os.path.join(self.gateway.directory, key)
                with open(path, "wb") as file:
                    file.write(content)
                text = self.ask(DONE, "backlog", "settle", operation["id"], "--verdict", "executed",
                                "--response", path, "--status", "201", "--note", "row 4", "--header",
                                "X-A: 1", "--header", "x-a:2")
                self.assertIn("completed", text)
                repeat = self.gateway.post(key, {"order": "o-" + key})
                self.assertEqual((repeat.status, repeat.body, repeat.get("Content-Type")),
                                 (201, content, kind))
                self.assertEqual(repeat.all("X-A"), ["1", "2"])
        operation = self.lose("piped")
        self.ask(DONE, "backlog", "settle", operation["id"], "--verdict=executed", "--response=-",
                 "--status=200", "--note=x", "--header=Content-Type: text/x", input="from a pipe")
        repeat = self.gateway.post("piped", {"order": "o-piped"})
        self.assertEqual((repeat.body, repeat.get("Content-Type")), (b"from a pipe", "text/x"))

    def test_settle_ends_as_it_should(self):
        """Each refusal has its exit code and changes nothing."""
        operation = self.lose("k1")
        settle = ("backlog", "settle", operation["id"], "--note", "x", "--verdict")
        self.ask(USAGE, *settle, "executed")
        self.ask(USAGE, *settle, "executed", "--response", "/no/such/file", "--status", "200")
        self.ask(USAGE, *settle, "executed", "--response", "/dev/null")
        self.ask(USAGE, *settle, "executed", "--no-response", "--status", "200")
        self.ask(USAGE, *settle, "executed", "--status", "99")
        self.ask(USAGE, *settle, "executed", "--status", "200", "--header", "no colon")
        self.ask(USAGE, *settle, "executed", "--status", "200", "--header", "Connection: close")
        self.ask(USAGE, *settle, "abandoned", "--no-response")
        self.ask(USAGE, *settle, "abandoned", "--version", "x")
        self.assertIn("did you mean abandoned", self.ask(USAGE, *settle, "abandonned"))
        self.ask(USAGE, "backlog", "settle", operation["id"], "--verdict", "abandoned")
        self.ask(USAGE, "backlog", "settle", "op_x", "--verdict", "abandoned", "--note", "x")
        self.ask(NOT_FOUND, "backlog", "settle", NOBODY, "--verdict", "abandoned", "--note", "x")
        self.ask(CHANGED, *settle, "abandoned", "--version", str(operation["version"] + 1))
        self.assertIn("quiet", self.ask(FAILED, *settle, "not_executed").lower())
        self.assertEqual(self.gateway.operation(operation["id"])["version"], operation["version"])
        self.ask(DONE, *settle, "not_executed", "--force", "--version", str(operation["version"]))
        self.assertEqual(self.gateway.operation(operation["id"])["state"], "released")

    def test_of_many_verdicts_one_wins(self):
        """Whoever comes second, at the same time or just after it, ends with 4: the state
        changed under him."""
        for verdict in (("abandoned",), ("not_executed", "--force"), ("executed", "--no-response")):
            with self.subTest(verdict=verdict):
                operation = self.lose("-".join(verdict))
                words = ("backlog", "settle", operation["id"])
                # Each has a note of its own: the same words in the same instant are one call,
                # told twice.
                codes = parallel(4, lambda i: self.cli(
                    *words, "--note", "operator %s" % i, "--verdict", *verdict).returncode)
                self.assertEqual(sorted(codes), [DONE] + 3 * [CHANGED])
                self.ask(CHANGED, *words, "--note", "late", "--verdict", *verdict)
                self.assertEqual(self.gateway.operation(operation["id"])["version"],
                                 operation["version"] + 1)
        done = self.gateway.post("fine", {"order": 1}).get("Idempotency-Operation")
        self.ask(FAILED, "backlog", "settle", done, "--note", "x", "--verdict", "abandoned")

    def test_why_pause_and_resume(self):
        """The timeline by id and by label; pause and resume by name."""
        first = self.lose("k1")
        for words in ((first["id"],), ("--label", "order=o-k1")):
            self.assertIn("closed_no_answer", self.ask(DONE, "why", *words))
        self.assertEqual(json.loads(self.ask(DONE, "why", first["id"], "--json"))["id"], first["id"])
        self.lose("k2", {"order": "o-k1"})
        self.assertEqual(len(re.findall(r"op_\w{26}", self.ask(DONE, "why", "--label", "order=o-k1"))), 2)
        self.ask(NOT_FOUND, "why", "--label", "order=none")
        self.ask(NOT_FOUND, "why", NOBODY)
        for words in ((), ("x",), (NOBODY, "--label", "a=b"), ("--label", "a"), (NOBODY, NOBODY)):
            self.ask(USAGE, "why", *words)
        self.ask(DONE, "pause", "create-order", "--note", "a \"quote\"")
        self.assertEqual(self.gateway.post("new", {"order": 1}).status, 503)
        self.assertIn('paused: route create-order by token:tester: a "quote"', self.ask(DONE, "backlog"))
        self.ask(DONE, "resume", "create-order", "--note", "ok")
        self.ask(DONE, "pause", "--upstream", "legacy", "--note", "ok")
        self.ask(DONE, "resume", "--upstream", "legacy", "--note", "ok")
        self.assertEqual(self.gateway.post("new", {"order": 1}).status, 201)
        self.ask(NOT_FOUND, "pause", "no/body", "--note", "x")
        self.ask(USAGE, "pause", "create-order")
        self.ask(USAGE, "pause", "--note", "x")
        self.ask(USAGE, "pause", "create-order", "--upstream", "legacy", "--note", "x")

    def test_the_way_to_the_operator_plane(self):
        """Option, variable and configuration lead there; tokens come from a file or a variable."""
        address, text = "http://127.0.0.1:%d" % self.gateway.admin_port, self.gateway.token
        path = os.path.join(self.gateway.directory, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        none = {"RECIBO_ADMIN": "", "RECIBO_TOKEN": ""}
        self.ask(DONE, "backlog", "--token-file", path, "--admin", address + "/", env=none)
        self.ask(DONE, "backlog", "--token-file", path, "--admin", address[7:], env=none)
        self.ask(DONE, "backlog", "-c", self.gateway.path, env={"RECIBO_ADMIN": ""})
        self.ask(DONE, "backlog", env={"RECIBO_ADMIN": ""})  # recibo.yaml lies in the directory
        self.ask(USAGE, "backlog", env={"RECIBO_TOKEN": ""})
        self.ask(USAGE, "backlog", "--token-file", "/no/such/file")
        self.ask(USAGE, "backlog", "--token-file", "/dev/null")
        self.ask(USAGE, "backlog", "-c", "/no/such/file")
        self.assertIn("x.yaml: cannot be opened", self.ask(USAGE, "backlog", "-c", "x.yaml"))
        for bad in ("https://127.0.0.1", "127.0.0.1", "http://h:x", "http://:1", "unix:", "http://a/b:1"):
            self.ask(USAGE, "backlog", "--admin", bad)
        self.ask(UNREACHABLE, "backlog", "--admin", "http://127.0.0.1:%d" % free_port())
        self.ask(UNREACHABLE, "backlog", "--admin", "unix:/no/such/socket")
        self.ask(UNREACHABLE, "backlog", "--admin", "http://no-such-host.invalid:1")
        self.ask(NOT_ALLOWED, "backlog", env={"RECIBO_TOKEN": "wrong"})
        self.ask(FAILED, "backlog", "--admin", "http://127.0.0.1:%d" % self.upstream.port)
        for bad in ("two words", "new\nline"):
            self.ask(USAGE, "backlog", env={"RECIBO_TOKEN": bad})

    def configure(self, text):
        path = os.path.join(self.gateway.directory, "client.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_the_file_is_read_for_the_address_only(self):
        """Variables, secrets and mistakes elsewhere in the file are none of the client's."""
        env = {"RECIBO_ADMIN": ""}
        address = "127.0.0.1:%d" % self.gateway.admin_port
        for rest_of_file in (
                "  tokens: [{name: a, rights: [read], sha256: \"${RECIBO_NOT_SET}\"}]\n",
                "  tokens: [{name: a, rights: [read], sha256_file: /no/such/file}]\n",
                "  colour: red\nworkers: many\nroutes: ${RECIBO_NOT_SET}\nroutes: 1\n", ""):
            with self.subTest(rest_of_file=rest_of_file):
                path = self.configure("admin:\n  address: \"%s\"\n%s" % (address, rest_of_file))
                self.ask(DONE, "backlog", "-c", path, env=env)
        path = self.configure("admin: {address: \"127.0.0.1:${RECIBO_PORT}\"}\n")
        self.ask(DONE, "backlog", "-c", path,
                 env={**env, "RECIBO_PORT": str(self.gateway.admin_port)})
        for text, what in (
                ("admin: {address: \"127.0.0.1:${RECIBO_NOT_SET}\"}\n", "RECIBO_NOT_SET"),
                ("nonsense: 1\nadmin: {address: nowhere}\n", "2:18: admin.address: nowhere"),
                ("admin: [1]\n", "no section admin"), ("upstreams: {}\n", "no section admin"),
                ("", "no section admin"), ("[1]\n", "no section admin"), ("admin: [\n", "yaml:2:1"),
                ("admin: {address: [1]}\n", "admin.address: is a list")):
            with self.subTest(text=text):
                said = self.ask(USAGE, "backlog", "-c", self.configure(text), env=env)
                self.assertIn("give --admin URL", said)
                self.assertIn(what, said)
                self.assertEqual(said.count("\n"), 1)

    def test_wrong_words_are_refused_with_the_near_one(self):
        """An option or word that is not known ends the command and names its neighbour."""
        self.assertIn("did you mean --limit", self.ask(USAGE, "backlog", "list", "--limti", "2"))
        self.assertIn("did you mean show", self.ask(USAGE, "backlog", "shwo"))
        for words in (("backlog", "list", "x"), ("backlog", "show"), ("backlog", "--route"),
                      ("backlog", "--route", "a", "--route", "b"), ("backlog", "--json=1"),
                      ("backlog", "show", "op_x"), ("backlog", "list", "--label", "x")):
            self.ask(USAGE, *words)


class Contradicted(AdminCase):
    def test_why_says_that_a_verdict_was_contradicted(self):
        """An answer that comes after a verdict: `why` and `show` say the word and its meaning."""
        release = threading.Event()
        self.addCleanup(release.set)
        timeouts = {"first_byte": "300ms", "answer": "300ms", "late": "60s"}
        self.gateway.restart(changes={**self.changes(), "upstreams": {"legacy": {"timeouts": timeouts}}})
        self.upstream.script(wait(release, answer(201)))
        lost = self.gateway.post("k1", {"order": 1})
        operation = self.gateway.operation(lost.get("Idempotency-Operation"))
        self.assertNotIn("contradicted", self.cli("why", operation["id"]).stdout)
        self.settle(operation, "not_executed", force=True)
        release.set()
        wait_until(lambda: self.gateway.operation(operation["id"])["contradicted"])
        for words in (("why",), ("backlog", "show")):
            text = self.cli(*words, operation["id"]).stdout
            self.assertIn("contradicted", text)
            self.assertIn("evidence came against a verdict", text)
        value = json.loads(self.cli("why", operation["id"], "--json").stdout)
        self.assertIs(value["contradicted"], True)


class Limited(AdminCase):
    def test_a_reader_may_read_but_not_settle(self):
        """What a token has no right to do ends with 6."""
        text, entry = token("reader", "read")
        operation = self.lose("k1")
        self.gateway.restart(changes={"admin": {"tokens": [entry]}, **self.changes()})
        env = {"RECIBO_TOKEN": text}
        self.assertEqual(self.cli("backlog", env=env).returncode, DONE)
        for words in (("settle", operation["id"], "--verdict", "abandoned", "--note", "x"),):
            self.assertEqual(self.cli("backlog", *words, env=env).returncode, NOT_ALLOWED)
        done = self.cli("pause", "create-order", "--note", "x", env=env)
        self.assertEqual((done.returncode, "control" in done.stderr), (NOT_ALLOWED, True))


class Words(Case):
    """What needs no gateway."""

    def run_it(self, *words):
        return subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=60,
                              cwd=scratch(), check=False)

    def test_help_is_everywhere(self):
        """Every command of the list has help, both ways, and exit code 0."""
        listed = self.run_it("--help")
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        names = re.findall(r"^  ([a-z-]+)  ", listed.stdout, re.MULTILINE)
        self.assertIn("backlog", names)
        self.assertIn("serve", names)
        for name in names:
            with self.subTest(name=name):
                ways = [self.run_it(name, "--help"), self.run_it("help", name)]
                for done in ways:
                    self.assertEqual((done.returncode, done.stderr), (0, ""), done)
                self.assertEqual(ways[0].stdout, ways[1].stdout)
                self.assertIn("usage: recibo", ways[0].stdout)
        self.assertEqual(self.run_it("help").stdout, listed.stdout)

    def test_check_tells_errors_from_warnings(self):
        """Each line that `check` says begins with what it is."""
        path = os.path.join(scratch(), "bad.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n"
                       "  - {name: a, mode: pass, match: {path: /a, methods: [POST]}}\n"
                       "  - {name: b, mode: pas, match: {path: /b}}\n")
        done = self.run_it("check", "-c", path)
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
        kinds = [line.split(": ")[0] for line in done.stderr.splitlines()]
        self.assertEqual(sorted(set(kinds)), ["error", "warning"], done.stderr)

    def test_unknown_commands_name_the_near_one(self):
        """Exit code 2, a suggestion where one is near, nothing on standard output."""
        for word, near in (("backlgo", "backlog"), ("srve", "serve"), ("puase", "pause")):
            done = self.run_it(word)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
            self.assertIn("did you mean %s?" % near, done.stderr)
        done = self.run_it("frobnicate")
        self.assertEqual((done.returncode, "did you mean" in done.stderr), (USAGE, False))
        self.assertEqual(self.run_it().returncode, USAGE)
        self.assertEqual(self.run_it("help", "nothing").returncode, USAGE)

    def test_the_version_is_that_of_the_build(self):
        """`version` and --version say what CMakeLists.txt says."""
        with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(recibo VERSION (\S+)", file.read()).group(1)
        for word in ("version", "--version"):
            self.assertEqual(self.run_it(word).stdout, "recibo %s\n" % version)

    def test_the_printed_documents_are_fresh(self):
        """docs/admin.md and docs/commands.md are what the binary prints."""
        for name in ("admin", "commands", "logs"):
            done = self.run_it("help", "--markdown", name)
            with open(os.path.join(ROOT, "docs", name + ".md"), encoding="utf-8") as file:
                self.assertEqual(file.read(), done.stdout,
                                 "write it anew: recibo help --markdown %s > docs/%s.md" % (name, name))
        self.assertEqual(self.run_it("help", "--markdown", "x").returncode, USAGE)


if __name__ == "__main__":
    main()
