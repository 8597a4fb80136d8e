"""recibo explain and recibo check: what they say is what the gateway does."""

import os
import re

import admin_lib  # noqa: F401 - finds the harness
from cli_lib import DONE, USAGE, Case, CliCase, run_alone
from harness import ROOT, Upstream, Gateway, answer, main, orders, rest, scratch

JSON = ("Content-Type", "application/json")
FORM = ("Content-Type", "application/x-www-form-urlencoded")
HEADER = "Idempotency-Key"


class Explained(CliCase):
    """Each request is explained first and sent then: both must come to the same."""

    def changes(self):
        def route(name, **more):
            return orders(name=name, breaker="none", match={"path": "/" + name, "methods": ["POST"]},
                          **more)
        by_path = route("path", key={"from": "path", "name": "id", "required": None})
        by_path["match"]["path"] = "/path/{id}"
        both = route("all", key={"from": "all", "name": None, "of": [
            {"from": "json", "pointer": "/id"}, {"from": "header", "name": "X-Tenant"}]})
        return {"routes": [
            route("header"), route("optional", key={"required": False}),
            route("strict", key={"strict": True}),
            route("uuid", key={"format": "uuid"}),
            route("json", key={"from": "json", "pointer": "/id", "name": None}),
            route("form", key={"from": "form", "name": "id"}, fingerprint={"mode": "form"},
                  labels={"order": {"json": None, "form": "id"}}),
            by_path, both,
            route("adds", add_operation_id={"json": "/ref"}),
            route("small", request_body_max="64"), rest()]}

    def told(self, path, headers, body):
        """What explain says of it: "key VALUE", "unprotected" or the status of the refusal."""
        words = ["explain", "POST", path, "--body", "-", "-c", self.gateway.path]
        for name, value in headers:
            words += ["-H", "%s: %s" % (name, value)]
        text = self.ask(DONE, *words, input=body)
        body_line = re.search(r"(?m)^  Body      (\d+) ", text)
        key = re.search(r"(?m)^  Key here  (.*)$", text).group(1)
        if key.startswith("none: the request passes unprotected"):
            return "unprotected"
        refused = re.search(r"\b(4\d\d) [a-z-]+:", key)
        from_header = not key.startswith("not read")
        if refused and from_header:
            return refused.group(1)
        return body_line.group(1) if body_line else "key " + key

    def done(self, path, headers, body):
        """What the gateway does, in the same words."""
        response = self.gateway.request("POST", path, list(headers), body.encode())
        if response.get("Idempotency-Status") == "unprotected":
            return "unprotected"
        operation = response.get("Idempotency-Operation")
        if operation is None:
            return str(response.status)
        return "key " + self.gateway.operation(operation)["key"]

    def test_it_says_what_happens(self):
        """Key, refusal or no protection: the same for every way to write a key."""
        good = '{"order": 7, "id": "%s"}'
        cases = [("/header", [JSON], good), ("/header", [JSON, (HEADER, "")], good),
                 ("/optional", [JSON], good), ("/optional", [JSON, (HEADER, "")], good),
                 ("/optional", [JSON, (HEADER, "  ")], good), ("/optional", [JSON, (HEADER, "o1")], good),
                 ("/optional", [("Content-Type", "text/plain")], "x"),
                 ("/strict", [JSON, (HEADER, "bare")], good), ("/strict", [JSON, (HEADER, '"q u"')], good),
                 ("/uuid", [JSON, (HEADER, "no")], good),
                 ("/uuid", [JSON, (HEADER, "8E03978E-40D5-43DD-BC93-6894A57F9324")], good),
                 ("/small", [JSON, (HEADER, "big")], '{"order": "%s"}' % ("x" * 80)),
                 ("/adds", [JSON, (HEADER, "a1")], good),
                 ("/adds", [JSON, (HEADER, "a2")], '{"order": 7, "ref": 1}'),
                 ("/adds", [JSON, (HEADER, "a3")], '[1]'),
                 ("/header", [(HEADER, "h2"), ("Content-Type", "text/plain")], good),
                 ("/header", [(HEADER, "h3"), JSON, ("Content-Encoding", "gzip")], good),
                 ("/header", [(HEADER, "h4"), JSON], "no json"),
                 ("/header", [(HEADER, "h5"), JSON], '{"order": 1, "order": 2}')]
        cases += [("/header", [JSON, (HEADER, text)], good) for text in (
            "plain", '"quoted"', '"with \\"escape\\""', "with space", "k" * 256, "k" * 255, "a,b",
            "caf\u00e9", '"open', "UPPER", "a:b/c+d", "?1", "@x")]
        cases += [("/header", [JSON, (HEADER, "one"), (HEADER, "two")], good)]
        cases += [("/json", [JSON], body) for body in (
            '{"id": "j1"}', '{"id": null}', '{"id": ""}', '{"id": 7}', '{"id": {"a": 1}}', '{}',
            '{"id": "a\\u0031"}', '{"id": "a\\u0000b"}', '{"id": ["x"]}', '[]', '{"id": true}',
            '{"id": "caf\u00e9"}', '{"id": "j1", "id": "j2"}', '')]
        cases += [("/form", [FORM], body) for body in (
            "id=f1", "id=f2&id=f3", "id=f4&%69d=f5", "id", "id=", "%69d=f%31", "id=a+b", "other=1",
            "id=%zz", "ID=f1", "")]
        cases += [("/path/" + part, [JSON], '{"order": 1}') for part in (
            "p1", "%70%32", "a%20b", "a+b", "%C3%A9", "p;x=1")]
        cases += [("/all", [JSON, *headers], body) for headers, body in (
            ([("X-Tenant", "t1")], '{"id": "c1"}'), ([], '{"id": "c1"}'),
            ([("X-Tenant", "t1")], '{"id": null}'), ([("X-Tenant", "")], '{"id": "c1"}'),
            ([("X-Tenant", "t"), ("X-Tenant", "u")], '{"id": "c1"}'),
            ([("X-Tenant", "12")], '{"id": "3:a"}'))]
        for path, headers, body in cases:
            with self.subTest(path=path, headers=headers, body=body):
                if any(ord(c) > 255 for _, value in headers for c in value):
                    continue
                self.assertEqual(self.told(path, headers, body), self.done(path, headers, body))

    def test_a_composite_key_is_shown_in_parts(self):
        """Which part is missing is said, and each part that is there."""
        text = self.ask(DONE, "explain", "POST", "/all", "--body", "-", "-c", self.gateway.path,
                        "-H", "X-Tenant: t1", "-H", "Content-Type: application/json",
                        input='{"id": "c1"}')
        self.assertIn("Key here  2:c12:t1\n    part 1  c1\n    part 2  t1\n", text)
        text = self.ask(DONE, "explain", "POST", "/all", "--body", "-", "-c", self.gateway.path,
                        "-H", "Content-Type: application/json", input='{"id": "c1"}')
        self.assertIn("part 1  c1\n    part 2  missing", text)

    def test_without_a_body_nothing_is_said_about_it(self):
        """A key in the body is asked for, and not called missing."""
        for path in ("/json", "/form", "/all"):
            text = self.ask(DONE, "explain", "POST", path, "-c", self.gateway.path)
            self.assertIn("lies in the body: give it with --body FILE", text)
            self.assertNotIn("Body      4", text)

    def test_the_table_agrees_with_itself(self):
        """An optional key that is empty is refused; a changed body of a released key is told once."""
        text = self.ask(DONE, "explain", "POST", "/optional", "-c", self.gateway.path)
        self.assertRegex(text, r"key missing +passes unprotected")
        self.assertRegex(text, r"key there, but empty +400 key-missing")
        for path in ("/header", "/json"):
            text = self.ask(DONE, "explain", "POST", path, "-c", self.gateway.path)
            lines = [line for line in text.splitlines() if "422" in line or "released key" in line]
            says_sent = any("released key" in line and "sent:" in line for line in lines)
            self.assertEqual(any("in every state but released" in line for line in lines), says_sent)
            self.assertEqual(says_sent, path == "/json")


class Again(CliCase):
    """What is said of trying again and accepting for later is what happens."""

    def changes(self):
        retry = {"when": [429], "attempts": 2, "within": "1h", "wait_at_most": "0s",
                 "backoff": {"base": "30m", "max": "30m"}}
        def route(name, **more):
            return orders(name=name, breaker="none", match={"path": "/" + name, "methods": ["POST"]},
                          **more)
        return {"routes": [route("plain"), route("far", retry=retry),
                           route("once", retry=dict(retry, attempts=1)),
                           route("near", retry=dict(retry, wait_at_most="5s", attempts=9,
                                                    backoff={"base": "1ms", "max": "1ms"})),
                           route("asked", retry=retry, defer={"when": "prefer"}),
                           route("later", defer={"when": "always"}), rest()]}

    def row(self, path, situation):
        """What the table says of a situation, or None."""
        text = self.ask(DONE, "explain", "POST", path, "-c", self.gateway.path)
        found = re.search("(?m)^  %s {2,}(.*)$" % re.escape(situation), text)
        return found and found.group(1)

    def busy(self, path, **headers):
        """The answer to a caller whose request the API refuses for now."""
        self.upstream.script(answer(429))
        return self.gateway.post("k", {"order": 1}, path=path, headers=list(headers.items()))

    def test_what_is_tried_again(self):
        """Passed on, waited for, 503 of two kinds or 202: as the table says."""
        self.assertIn("passed on, did not run",
                      self.row("/plain", "answer HTTP 401 403 421 425 429"))
        self.assertEqual(self.busy("/plain").status, 429)
        for path, situation in (("/far", "... it is far"),
                                ("/once", "... all attempts are used up")):
            said = self.row(path, situation)
            told = self.busy(path)
            self.assertEqual(told.status, 503)
            self.assertIn("503 " + told.json()["type"].rsplit(":", 1)[1], said)
            self.assertEqual(self.row(path, "answer HTTP 429"),
                             "did not run: tried again, as below; list refused")
        self.assertIn("the caller waits for it, up to 5 s",
                      self.row("/near", "... the next attempt is near"))
        self.assertEqual(self.busy("/near").status, 201)
        self.assertIsNone(self.row("/plain", "... it is far"))

    def test_what_is_accepted_for_later(self):
        """The 202 is told where it can happen, and nowhere else."""
        self.assertIn("202 deferred if the caller said respond-async",
                      self.row("/asked", "... it is far"))
        self.assertIn("202", self.row("/asked", "first use with Prefer: respond-async"))
        told = self.busy("/asked", Prefer="respond-async")
        self.assertEqual((told.status, told.get("Idempotency-Status")), (202, "deferred"))
        self.assertIn("202", self.row("/later", "each first use"))
        self.assertIsNone(self.row("/later", "first use of the key"))
        self.assertEqual(self.busy("/later").status, 202)
        for path in ("/plain", "/far"):
            self.assertIsNone(self.row(path, "first use with Prefer: respond-async"))
            self.assertIsNone(self.row(path, "repeat while it is deferred"))


class KeyHeaders(CliCase):
    """check refuses a key header that means something else."""

    def check(self, key):
        path = os.path.join(scratch(), "recibo.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("upstreams: {u: {url: \"http://127.0.0.1:1\"}}\n"
                       "owners: {e: {kind: static}}\nroutes:\n"
                       "  - {name: a, match: {path: /a}, labels: {l: {json: /l}}, key: %s}\n" % key)
        return run_alone("check", "-c", path)

    def test_headers_with_a_meaning_of_their_own(self):
        """Refused by name, however it is spelled, alone and as a part of a composite."""
        for name in ("Content-Type", "Accept", "Accept-Language", "User-Agent", "Date", "If-Match",
                     "If-None-Match", "Via", "Traceparent", "tracestate", "Content-Encoding",
                     "Content-Length", "Range", "Referer", "Origin", "Cache-Control", "Pragma",
                     "Prefer", "Host", "Cookie", "Authorization", "X-Forwarded-For", "Forwarded",
                     "Connection", "TE", "Expect", "From", "Sec-Fetch-Mode", "X-B3-TraceId", "baggage",
                     "Max-Forwards", "Content-MD5", "Content-Digest", "Signature", "DPoP",
                     "Retry-After", "Idempotency-Status", "X-Requested-With", "user_agent",
                     "ACCEPT", "content_type", "Access-Control-Request-Method", "Keep-Alive"):
            for key in ("{name: %s}" % name,
                        "{from: all, of: [{name: X-Tenant}, {name: %s}]}" % name):
                with self.subTest(key=key):
                    done = self.check(key)
                    self.assertEqual((done.returncode, done.stdout), (USAGE, ""))
                    self.assertIn("%s: a header with a meaning of its own cannot be the key" % name,
                                  done.stderr)

    def test_headers_that_are_keys(self):
        """Names that people use for keys stay allowed."""
        for name in ("Idempotency-Key", "X-Idempotency-Key", "X-Request-Id", "Request-Id",
                     "Message-Id", "X-Correlation-Id", "PayPal-Request-Id", "X-Transaction-Id",
                     "Repeatability-Request-ID", "X-Nonce", "Client-Token", "Orden"):
            with self.subTest(name=name):
                self.assertEqual(self.check("{name: %s}" % name).returncode, DONE,
                                 self.check("{name: %s}" % name))


class Examples(Case):
    """Each file of examples/ is explained as it is shipped."""

    SENT = ("answer HTTP 401", "no connection, not one byte left", "no whole answer in time",
            "reset, cut or malformed answer", "settled: did not run", "too many under way",
            "the store cannot write", "cancelled before it ran")
    LOCAL = ("a rule of the tables is broken", "it fails, or returns several rows",
             "it takes longer than time_max", "killed before the commit", "the store cannot write")
    TAKEN_BACK = ("completed, and to be taken back", "... the answer lacks what it needs",
                  "... not one byte of it left, or refused", "... no whole answer",
                  "to be taken back, not completed")

    # What can go wrong, in the words of the table; what each has to say of it.
    UPSTREAM_WORDS = {
        "no connection, not one byte left": "proved not sent",
        "no whole answer in time": "outcome unknown",
        "repeat, the outcome is unknown": "never sent again by itself",
        "repeat with another request": "422",
        "repeat after retention": "409 result-expired",
        "answer HTTP 408, 5xx without 501 and 505": "outcome unknown"}
    LOCAL_WORDS = {
        "a rule of the tables is broken": "nothing kept",
        "killed before the commit": "the repeat makes both",
        "killed between commit and answer": "the repeat is replayed",
        "the store cannot write": "nothing kept",
        "repeat with another request": "422",
        "repeat after retention": "409 result-expired"}

    def explain(self, path, text, *words):
        """The file as it is; whatever it takes from the environment is there."""
        names = re.findall(r"\$\{(\w+)\}", text)
        env = dict(os.environ, **{name: "%064x" % (n + 1) for n, name in enumerate(names)})
        done = run_alone("explain", *words, "-c", path, env=env)
        self.assertEqual(done.returncode, DONE, (path, words, done.stderr))
        return done.stdout

    def test_every_failure_of_every_example(self):
        """Of each guarded route of each example it is told what happens on each failure."""
        folder = os.path.join(ROOT, "examples")
        paths = sorted(name for name in os.listdir(folder) if name.endswith(".yaml"))
        self.assertGreaterEqual(len(paths), 3)
        for name in paths:
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            guarded = re.findall(r"match: \{methods: \[(\w+)\], path: (/\w+)\}", text)
            self.assertTrue(guarded, name)
            wanted = self.LOCAL if "    local:" in text else self.SENT
            wanted += self.TAKEN_BACK if "    compensate:" in text else ()
            for method, target in guarded:
                told = self.explain(path, text, method, target)
                for words in wanted:
                    self.assertIn(words, told, (name, target))

    def test_the_words_of_every_example(self):
        """What explain says of each failure is what the table promises, in each example."""
        folder = os.path.join(ROOT, "examples")
        for name in sorted(name for name in os.listdir(folder) if name.endswith(".yaml")):
            with self.subTest(name=name):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                target = re.search(r"methods: \[POST\], path: (/\w+)", text).group(1)
                told = self.explain(path, text, "POST", target)
                self.assertIn("missing, 400 key-missing: the request has none", told)
                rows = dict(re.findall(r"(?m)^  (\S.*?)  +(\S.*)$", told))
                wanted = self.LOCAL_WORDS if "\n    local:" in text else self.UPSTREAM_WORDS
                for situation, words in wanted.items():
                    self.assertIn(words, rows.get(situation, ""), situation)


if __name__ == "__main__":
    main()
