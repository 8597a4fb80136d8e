"""Local effects beyond the two examples: every kind of value and of statement, what
refuses one, what `check`, `explain` and the start say about one, and a route that was
something else before.
"""

import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Background  # noqa: E402
from harness import BINARY, Gateway, answer, main, merge, scratch  # noqa: E402
from local_effects import Local, secrets  # noqa: E402

SETUP = """CREATE TABLE IF NOT EXISTS things(id INTEGER PRIMARY KEY, owner TEXT NOT NULL,
  name TEXT UNIQUE CONSTRAINT short_name CHECK (length(name) <= 10), amount, kind INTEGER
  REFERENCES kinds(id), operation TEXT, secret BLOB);
CREATE TABLE IF NOT EXISTS kinds(id INTEGER PRIMARY KEY);"""
ENDLESS = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO"
           " things(owner, amount) SELECT :owner, max(i) FROM n RETURNING id")


def route(name, statement, methods=("POST",), **local):
    """A local route /NAME with one statement."""
    return {"name": name, "match": {"methods": list(methods), "path": "/" + name},
            "local": merge({"setup": SETUP, "statement": statement}, local)}


def members(*names, **types):
    return {"members": [*names, *types], "types": types}


INSERT = route("insert", "INSERT INTO things(owner, name) VALUES (:owner, :name)"
                         " RETURNING id, name", accept=members("name"))
ROUTES = [
    INSERT,
    route("values", "INSERT INTO things(owner, amount) VALUES (:owner, 1) RETURNING :number AS"
                    " number, typeof(:number) AS number_is, :integer AS integer, :truth AS truth,"
                    " :maybe AS maybe, typeof(:maybe) AS maybe_is",
          accept=members(number="number", integer="integer", truth="boolean",
                         maybe=["string", "integer", "null"])),
    route("names", "INSERT INTO things(owner, name, operation) VALUES (:owner, :key,"
                   " :operation_id) RETURNING owner, name AS key, operation"),
    route("body", "INSERT INTO things(owner, amount) VALUES (:owner, :body) RETURNING amount AS"
                  " body, length(:body) AS length"),
    route("rename", "UPDATE things SET name = :name WHERE id = :id RETURNING id, name",
          ("PUT", "PATCH"), accept=members("name", id="integer"), status=200),
    route("drop", "DELETE FROM things WHERE name = :name RETURNING id", ("DELETE", "POST"),
          accept=members("name"), status=204),
    route("all", "UPDATE things SET amount = 1 RETURNING id"),
    route("kind", "INSERT INTO things(owner, kind) VALUES (:owner, 4711) RETURNING id"),
    route("bytes", "INSERT INTO things(owner) VALUES (:owner) RETURNING x'00' AS bytes"),
    route("endless", ENDLESS, time_max="30ms"),
]


class Effects(Local):
    def setUp(self):
        self.gateway = self.use(Gateway(None, {"routes": ROUTES, "upstreams": None,
                                               "defaults": {"upstream": None}}))

    def call(self, name, key, body=None, method="POST", headers=()):
        pairs = [("Idempotency-Key", key), *headers]
        return self.gateway.request(method, "/" + name, pairs, {} if body is None else body)

    def things(self):
        return self.rows("SELECT count(*) FROM things")[0][0]

    def receipts(self):
        return self.rows("SELECT count(*) FROM receipts")[0][0]

    def test_values_of_every_type(self):
        """A value reaches the statement as what it is in the body, and comes back so."""
        body = (b'{"number": 0.1, "integer": -9223372036854775808, "truth": true,'
                b' "maybe": "caf\\u00e9 \\"x\\" \\ud83d\\ude00"}')
        made = self.assert_made(self.call("values", "k1", body,
                                          headers=[("Content-Type", "application/json")]))
        self.assertEqual(made, {"number": 0.1, "number_is": "real",
                                "integer": -9223372036854775808, "truth": 1,
                                "maybe": 'caf\u00e9 "x" \U0001f600', "maybe_is": "text"})
        given = {"number": 3, "integer": 0, "truth": False, "maybe": 5}
        made = self.assert_made(self.call("values", "k2", given))
        self.assertEqual((made["number"], made["number_is"], made["truth"]), (3, "integer", 0))
        self.assertEqual((made["maybe"], made["maybe_is"]), (5, "integer"))
        for more in ({"maybe": None}, {}):
            body = dict({"number": 1e300, "integer": 1, "truth": True}, **more)
            made = self.assert_made(self.call("values", "k3%d" % len(more), body))
            self.assertEqual((made["number"], made["maybe"], made["maybe_is"]),
                             (1e300, None, "null"))

    def test_values_of_wrong_types(self):
        """Nothing is brought into another type: it is refused, by name."""
        good = {"number": 1, "integer": 1, "truth": True}
        wrong = {"number": ["1", True, None, []], "integer": [1.5, 1.0, "1", 1 << 63],
                 "truth": [1, "true", None], "maybe": [True, 1.5, ["x"]]}
        for name, values in wrong.items():
            for value in values:
                response = self.call("values", "k1", dict(good, **{name: value}))
                self.assertIn('"%s"' % name, self.assert_refused(response)["detail"])
        huge = b'{"number": 1e999, "integer": 1, "truth": true}'
        response = self.call("values", "k1", huge, headers=[("Content-Type", "application/json")])
        self.assertIn('"number"', self.assert_refused(response)["detail"])
        self.assertEqual((self.things(), self.receipts()), (0, 0))

    def test_what_comes_from_recibo(self):
        """Owner, key and operation are Recibo's own; a body cannot give them."""
        response = self.call("names", "the-key", {"owner": "mallory", "key": "x"})
        made = self.assert_made(response)
        self.assertEqual((made["owner"], made["key"]), ("tester", "the-key"))
        self.assertEqual(made["operation"], response.get("Idempotency-Operation"))

    def test_the_body_as_it_is(self):
        """:body is the text that was sent, to the last blank."""
        text = '{"a" :  1,\n "\u00e9": "\\u0000"}'
        made = self.assert_made(self.call("body", "k1", text.encode(),
                                          headers=[("Content-Type", "application/json")]))
        self.assertEqual(made, {"body": text, "length": len(text)})

    def test_update_and_delete(self):
        """What changes or takes away is an effect as well, and once."""
        self.assert_made(self.call("insert", "k1", {"name": "lamp"}))
        first = self.call("rename", "k2", {"name": "chair", "id": 1}, "PUT")
        self.assertEqual(self.assert_made(first, 200), {"id": 1, "name": "chair"})
        self.assert_made(self.call("rename", "k3", {"name": "table", "id": 1}, "PATCH"), 200)
        self.assert_replay(first, self.call("rename", "k2", {"name": "chair", "id": 1}, "PUT"))
        self.assertEqual(self.rows("SELECT name FROM things"), [("table",)])
        gone = self.call("drop", "k4", {"name": "table"}, "DELETE")
        self.assertEqual((gone.status, gone.body), (204, b""), gone)
        self.assertEqual(gone.get("Idempotency-Status"), "local")
        self.assertNotIn("Content-Type", gone.headers)
        self.assert_made(self.call("insert", "k5", {"name": "table"}))
        again = self.call("drop", "k4", {"name": "table"}, "DELETE")
        self.assertEqual((again.status, again.get("Idempotency-Status")), (204, "replayed"))
        self.assertEqual(self.things(), 1)

    def test_nothing_to_change(self):
        """A statement that finds no row is 404, and its key may be used again."""
        self.assert_refused(self.call("rename", "k1", {"name": "x", "id": 1}, "PUT"), 404,
                            "nothing-found")
        self.assertEqual(self.receipts(), 0)
        self.assert_made(self.call("insert", "k2", {"name": "lamp"}))
        self.assert_made(self.call("rename", "k1", {"name": "x", "id": 1}, "PUT"), 200)

    def test_broken_rules(self):
        """A unique, a reference, a check: 422 that says which kind, and no SQL."""
        self.assert_made(self.call("insert", "k1", {"name": "lamp"}))
        for name, body, word in (("insert", {"name": "lamp"}, "unique"),
                                 ("insert", {"name": "x" * 11}, "check"),
                                 ("kind", {}, "refers to something")):
            problem = self.assert_refused(self.call(name, "k2", body))
            self.assertIn(word, problem["detail"])
            self.assertNotIn("short_name", json.dumps(problem))
            self.assertNotIn("things", json.dumps(problem))
        self.gateway.wait_log("effect.refused.*short_name")
        self.assertEqual((self.things(), self.receipts()), (1, 1))

    def test_effects_that_cannot_be_answered(self):
        """More rows than one answer, or bytes: 500, nothing is kept, and the log says so."""
        for number in range(2):
            self.assert_made(self.call("insert", "a%d" % number, {"name": str(number)}))
        before = self.rows("SELECT * FROM things ORDER BY id")
        for name, why in (("all", "many_rows"), ("bytes", "unfit")):
            self.assert_refused(self.call(name, "k1"), 500, "effect-failed")
            self.gateway.wait_log("effect.refused.*%s" % why)
        self.assertEqual(self.rows("SELECT * FROM things ORDER BY id"), before)
        self.assertEqual(self.receipts(), 2)

    def test_a_table_that_is_gone(self):
        """A table that somebody has dropped: 500, and the store goes on."""
        self.assert_made(self.call("insert", "k1", {"name": "lamp"}))
        with self.database() as base:
            base.execute("DROP TABLE things")
        self.assert_refused(self.call("insert", "k2", {"name": "chair"}), 500, "effect-failed")
        self.gateway.wait_log("no such table")
        self.assertEqual(self.receipts(), 1)
        self.gateway.restart()
        self.assert_made(self.call("insert", "k2", {"name": "chair"}))

    def test_a_statement_without_end(self):
        """It is stopped and taken back, and the others beside it are served."""
        slow = [Background(lambda key=key: self.call("endless", key)) for key in ("s1", "s2")]
        quick = [Background(lambda n=n: self.call("insert", "k%d" % n, {"name": str(n)}))
                 for n in range(8)]
        for one in quick:
            self.assert_made(one.result())
        for one in slow:
            response = one.result()
            self.assert_told(response, 503, "effect-too-slow", "released", retry=True,
                             new_key=True)
        self.assertEqual((self.things(), self.receipts()), (8, 8))
        summary = self.gateway.admin("GET", "/readyz")
        self.assertEqual(summary[0], 200, summary)

    def test_refused_content_under_a_used_key(self):
        """A used key is told so, be the content good or not; a repeat is no new content."""
        first = self.call("insert", "k1", {"name": "lamp"})
        self.assert_made(first)
        self.assert_told(self.call("insert", "k1", {"name": 1}), 422, "key-reused", "mismatch",
                         state="completed")
        self.assert_replay(first, self.call("insert", "k1", {"name": "lamp"}))

    def test_other_methods(self):
        """A local route takes its methods alone."""
        self.assert_problem(self.call("insert", "k1", method="PUT"), 405, "method-not-allowed")
        self.assert_problem(self.gateway.request("GET", "/insert"), 405, "method-not-allowed")


class Changes(Local):
    """Routes whose life did not begin as they are now."""

    def post_thing(self, key, name):
        return self.gateway.post(key, {"name": name}, path="/insert")

    def test_stricter_content_later(self):
        """What was taken once is replayed, though it would be refused today."""
        changes = {"routes": [INSERT], "upstreams": None, "defaults": {"upstream": None}}
        self.gateway = self.use(Gateway(None, changes))
        first = self.post_thing("k1", "lamp")
        self.assert_made(first)
        strict = merge(INSERT, {"local": {"accept": {"types": {"name": "integer"}}}})
        self.gateway.restart({"routes": [strict]})
        self.assert_replay(first, self.post_thing("k1", "lamp"))
        self.assert_refused(self.post_thing("k2", "lamp"))

    def test_an_upstream_before(self):
        """Receipts of the time when the route had an upstream are honoured; what did not run
        there runs here, under the same operation."""
        from harness import Upstream
        upstream = self.use(Upstream(answer(201, body={"from": "upstream"})))
        sent = {"name": "insert", "match": {"methods": ["POST"], "path": "/insert"},
                "labels": {"name": {"json": "/name"}}, "reconcile": {"quiet_time": "0s"}}
        self.gateway = self.use(Gateway(upstream, {"routes": [sent]}))
        done = self.post_thing("k1", "lamp")
        self.assertEqual(done.get("Idempotency-Status"), "executed")
        upstream.script(answer(429, body=b"later"), lambda exchange: False)
        free = self.post_thing("k2", "chair")
        self.assertEqual(free.get("Idempotency-Status"), "released")
        lost = self.post_thing("k3", "table")
        self.assertEqual(lost.status, 502, lost)
        self.gateway.restart({"routes": [INSERT]})
        self.assert_replay(done, self.post_thing("k1", "lamp"))
        again = self.post_thing("k2", "chair")
        self.assert_made(again)
        self.assertEqual(again.get("Idempotency-Operation"), free.get("Idempotency-Operation"))
        self.assert_unknown_repeat(self.post_thing("k3", "table"))
        self.settle(lost, "not_executed")
        self.assert_made(self.post_thing("k3", "table"))
        self.assertEqual(self.rows("SELECT name FROM things ORDER BY id"),
                         [("chair",), ("table",)])
        self.assertEqual(upstream.sends, 3)

    def test_after_retention(self):
        """A repeat after retention is refused, and with on_expiry: rerun one more effect."""
        for expiry, outcome in (("refuse", "expired"), ("rerun", "local")):
            short = merge(INSERT, {"retention": "1ms", "tombstone": "1d" if outcome == "expired"
                                   else "1ms", "on_expiry": expiry})
            short["local"]["statement"] = ("INSERT INTO things(owner, amount) VALUES (:owner,"
                                           " :name) RETURNING id")
            changes = {"routes": [short], "upstreams": None, "defaults": {"upstream": None}}
            self.gateway = self.use(Gateway(None, changes))
            first = self.post_thing("k1", "lamp")
            self.assert_made(first)
            self.wait_expired(first)
            repeat = self.post_thing("k1", "lamp")
            self.assertEqual(repeat.get("Idempotency-Status"), outcome, repeat)
            rows = 1 if outcome == "expired" else 2
            self.assertEqual(self.rows("SELECT count(*) FROM things"), [(rows,)])


class Words(Local):
    """What the commands and the start say."""

    def folder(self):
        directory = scratch()
        self.addCleanup(shutil.rmtree, directory, True)
        return directory

    def recibo(self, command, *arguments, text=None, changes=None):
        directory = self.folder()
        path = os.path.join(directory, "recibo.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text or json.dumps(merge({
                "owners": {"e": {"kind": "static"}}, "routes": [INSERT]}, changes)))
        done = subprocess.run([BINARY, *command, "-c", path, *arguments], cwd=directory,
                              env=dict(os.environ, **secrets()), capture_output=True, text=True,
                              timeout=60, check=False)
        left = sorted(set(os.listdir(directory)) - {"recibo.yaml"})
        return done, left

    def test_check_knows_the_statement(self):
        """`check` runs setup and statement past a database of its own and touches no file."""
        done, left = self.recibo(["check"])
        self.assertEqual((done.returncode, left), (0, []), done.stderr)
        for words in ("-> a local effect", "one commit", "nothing can become unknown",
                      "a JSON object with nothing but name (string)", "1 route, 0 upstreams"):
            self.assertIn(words, done.stdout.replace("\n    ", " "))
        wrong = (("INSERT INTO nowhere(a) VALUES (:name) RETURNING a", "no such table: nowhere"),
                 ("INSERT INTO things(colour) VALUES (:name) RETURNING id", "colour"),
                 ("INSERT INTO things(name) VALUES (:name RETURNING id", "syntax error"),
                 ("UPDATE receipts SET state = 4 WHERE route = :name RETURNING id", "(receipts)"),
                 ("INSERT INTO things(name) SELECT secret || :name FROM meta RETURNING id",
                  "(meta)"))
        for statement, word in wrong:
            changes = {"routes": [merge(INSERT, {"local": {"statement": statement}})]}
            done, left = self.recibo(["check"], changes=changes)
            self.assertEqual((done.returncode, left), (2, []), done.stdout)
            self.assertIn(word, done.stderr)
            self.assertIn("route insert: local.statement", done.stderr)
            seen, _ = self.recibo(["check"], "--json", changes=changes)
            value = json.loads(seen.stdout)
            self.assertFalse(value["valid"])
            self.assertIn(word, value["errors"][0]["message"])

    def test_a_start_refuses_what_check_refuses(self):
        """A gateway whose statement cannot be run does not start, and says which."""
        changes = {"routes": [merge(INSERT, {"local": {
            "setup": "CREATE TABLE IF NOT EXISTS backlog(id);"}})],
            "listen": [{"address": "127.0.0.1:0"}]}
        done, _ = self.recibo(["serve"], changes=changes)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("route insert: local.setup", done.stderr)

    def test_explain(self):
        """`explain` says what is taken, what would be refused, and what can happen."""
        directory = self.folder()
        body = os.path.join(directory, "body.json")
        for text, word in (('{"name": "x"}', None), ('{"name": 1}', "must be a string"),
                           ('{"name": "x", "id": 1}', "is not taken here")):
            with open(body, "w", encoding="utf-8") as file:
                file.write(text)
            done, left = self.recibo(["explain"], "POST", "/insert", "-H", "Idempotency-Key: 1",
                                     "-H", "Content-Type: application/json", "--body", body)
            self.assertEqual((done.returncode, left), (0, []), done.stderr)
            self.assertIn("a JSON object with nothing but name (string)", done.stdout)
            self.assertIn("201 with the returned row", done.stdout)
            self.assertNotIn("no connection", done.stdout)
            self.assertEqual("Body      422 content-refused" in done.stdout, word is not None)
            if word:
                self.assertIn(word, done.stdout)

    def test_config_show(self):
        """`config show` prints what counts for a local route, and nothing of sending."""
        done, _ = self.recibo(["config", "show"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"routes\[0\]\.local\.time_max +1s +default")
        for key in ("upstream ", "breaker", "outcome", "credentials"):
            self.assertNotIn("routes[0]." + key, done.stdout)

    def test_contract_and_routes(self):
        """Clients and operators find a local route like any guarded one."""
        self.gateway = self.use(Gateway(None, {"routes": [INSERT], "upstreams": None,
                                               "defaults": {"upstream": None}}))
        contract = self.gateway.request("GET", "/.recibo/contract").json()
        self.assertEqual([one["route"] for one in contract["routes"]], ["insert"])
        status, _, routes = self.gateway.admin("GET", "/v1/routes")
        self.assertEqual(status, 200, routes)
        self.assertEqual(routes["routes"][0]["name"], "insert")
        problem = self.gateway.request("GET", "/.recibo/problems/content-refused")
        self.assertEqual(problem.status, 200, problem)


if __name__ == "__main__":
    main()
