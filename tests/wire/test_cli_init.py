"""recibo init: a first file for any API, which recibo check accepts as it is and which observes
and changes nothing.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import (BINARY, Gateway, Upstream, answer, free_port, main,  # noqa: E402
                     scratch, wait_until)

PARAMETER = {"name": "Idempotency-Key", "in": "header", "required": True}
HOSTILE = ["a\nb", "x: y", "\"", "#", "${HOME}", "{", "\u202e", "\x01", "'", "- a", "", " "]


def description(paths, **more):
    return {"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "paths": paths, **more}


class Init(unittest.TestCase):
    def setUp(self):
        self.folder = scratch("init-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def recibo(self, *arguments):
        return subprocess.run([BINARY, *arguments], cwd=self.folder, capture_output=True,
                              text=True, check=False)

    def init(self, text=None, upstream="http://127.0.0.1:9000", name="api.yaml"):
        """-> {(method, path): (name, header, required)} of the observed routes, once checked."""
        arguments = ["init", "--upstream", upstream]
        if text is not None:
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text if isinstance(text, str) else json.dumps(text))
            arguments += ["--openapi", name]
        done = self.recibo(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.text = done.stdout
        with open(os.path.join(self.folder, "recibo.yaml"), "w", encoding="utf-8") as file:
            file.write(self.text)
        checked = self.recibo("check")
        self.assertEqual(checked.returncode, 0, checked.stderr + self.text)
        self.assertNotIn("enforced", checked.stdout)
        shown = json.loads(self.recibo("config", "show", "--json").stdout)
        values = {entry["path"]: entry["value"] for entry in shown}
        routes = {}
        for at in range(300):
            if "routes[%d].name" % at not in values:
                break
            get = lambda key: values.get("routes[%d].%s" % (at, key))  # noqa: E731
            if get("mode") == "observe":
                routes[get("match.methods"), get("match.path")] = (
                    get("name"), get("key.name"), get("key.required"))
        return routes

    def test_without_a_description(self):
        """Everything that may change something is observed, the rest passes."""
        routes = self.init()
        self.assertEqual(list(routes), [("[POST, PUT, PATCH, DELETE]", "/*")])

    def test_a_description(self):
        """One route for each operation that changes something, keys as it says; YAML and JSON."""
        paths = {"/orders": {"get": {}, "post": {"operationId": "createOrder",
                                                 "parameters": [PARAMETER]}},
                 "/orders/{id}": {"parameters": [dict(PARAMETER, name="x-idempotency-token",
                                                      required=False)],
                                  "put": {}, "patch": {}, "delete": {}, "head": {}, "trace": {}}}
        want = {("[POST]", "/orders"): ("createOrder", "Idempotency-Key", "true"),
                ("[PUT]", "/orders/{id}"): ("put-orders-id", "x-idempotency-token", "false"),
                ("[PATCH]", "/orders/{id}"): ("patch-orders-id", "x-idempotency-token", "false"),
                ("[DELETE]", "/orders/{id}"): ("delete-orders-id", "x-idempotency-token", "false")}
        rest = {("[POST, PUT, PATCH, DELETE]", "/*"): ("other-changes", "Idempotency-Key", "false")}
        self.assertEqual(self.init(description(paths)), {**want, **rest})
        text = ("# a comment\nopenapi: '3.1.0'\ninfo:\n  title: T\npaths:\n  /orders:\n"
                "    post: &one\n      operationId: createOrder\n      parameters:\n"
                "      - name: Idempotency-Key\n        in: header\n        required: true\n"
                "  /again:\n    post: *one\n")
        self.assertEqual(self.init(text), {**dict(list(want.items())[:1]), **rest})
        self.assertIn("Left out: 1 paths", self.text)

    def test_where_it_begins(self):
        """The path of the first server stands before each path, unless the upstream brings it."""
        paths = {"/orders": {"post": {}}}
        servers = [{"url": "https://api.example.com/v1/"}, {"url": "https://other/v2"}]
        self.assertIn(("[POST]", "/v1/orders"), self.init(description(paths, servers=servers)))
        self.assertIn(("[POST]", "/orders"), self.init(description(paths, servers=servers),
                                                       upstream="http://h:1/v1"))
        for url in ("/", "https://h", "https://{host}/{base}", "", "x"):
            self.assertIn(("[POST]", "/orders"),
                          self.init(description(paths, servers=[{"url": url}])))

    def test_what_cannot_be_matched(self):
        """It is a comment that says why; the rest of the file is sound."""
        many = {"/p%d" % n: {"post": {}, "put": {}} for n in range(200)}
        cases = (({"/o/{a}": {"post": {}}, "/o/{b}": {"post": {}}}, 1),
                 ({"/we ird": {"post": {}}, "/ok": {"post": {}}}, 1),
                 ({"/r": {"$ref": "x.yaml"}, "/ok": {"post": {}}}, 1),
                 ({"/.recibo/x": {"post": {}}, "/ok": {"post": {}}}, 1),
                 ({"/a//b": {"post": {}}, "/a/./b": {"put": {}}, "/ok": {"post": {}}}, None),
                 (many, 160))
        for paths, left_out in cases:
            with self.subTest(paths=str(paths)[:60]):
                self.init(description(paths))
                if left_out is not None:
                    self.assertEqual(self.text.count("# Left out"), left_out)

    def test_parts_of_segments(self):
        """A parameter that is a part of a segment becomes the whole of it."""
        routes = self.init(description({"/f/{name}.pdf": {"put": {}}, "/x-{a}-{b}": {"put": {}}}))
        self.assertIn(("[PUT]", "/f/{name}"), routes)
        self.assertIn(("[PUT]", "/{a}"), routes)

    def test_hostile_texts(self):
        """No text of the description gets out of its place in the file."""
        for text in HOSTILE:
            with self.subTest(text=text):
                paths = {"/" + text: {"post": {"operationId": text, "parameters": [
                    {"name": text + "idempotency", "in": "header"}]}},
                    "/ok": {"post": {"operationId": text}}}
                self.init(description(paths, info={"title": text}))
                names = [line for line in self.text.splitlines()
                         if not re.match(r"\A(?:#| *#|[a-z]+:| +[-a-z{]|\Z)", line)]
                self.assertEqual(names, [])
        self.init(description({"/a": {"post": {}}}), upstream="http://127.0.0.1:9000/$x/$$")
        self.assertIn("/$$x/$$$$", self.text)

    def test_what_is_no_description(self):
        """Exit 2, the place, and nothing is written."""
        cases = (("{", "line"), ("", "OpenAPI"), ("a: b\n", "OpenAPI"), ("[]", "OpenAPI"),
                 ('{"swagger": "2.0", "paths": {}}', "Swagger"), ("a: [\n", "line 2"),
                 ("openapi: 3.0.0\n", "paths"), ("\0", "line"), ("openapi: 2.0\npaths: {}", "OpenAPI"),
                 ("{" * 100000, "nested"), ("- " * 5000, "nested"))
        for text, why in cases:
            with self.subTest(text=text[:30]):
                with open(os.path.join(self.folder, "bad.yaml"), "w", encoding="utf-8") as file:
                    file.write(text)
                done = self.recibo("init", "--upstream", "http://h:1", "--openapi", "bad.yaml",
                                   "--out", "out.yaml")
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(why, done.stderr)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "out.yaml")))
        self.assertEqual(self.recibo("init", "--upstream", "http://h:1", "--openapi",
                                     "nowhere").returncode, 2)
        self.assertEqual(self.recibo("init").returncode, 2)
        for url in ("ftp://h", "h:1", "http://", "http://h:x", "http://h\n:1"):
            self.assertEqual(self.recibo("init", "--upstream", url).returncode, 2, url)

    def test_the_file(self):
        """Never over another one, for its owner alone, and without the token itself."""
        path = os.path.join(self.folder, "out.yaml")
        done = self.recibo("init", "--upstream", "http://h:1", "--out", "out.yaml")
        self.assertEqual(done.returncode, 0, done.stderr)
        token = re.search(r"rt_\w+", done.stderr).group(0)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn(token, text)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        again = self.recibo("init", "--upstream", "http://h:1", "--out", "out.yaml")
        self.assertEqual(again.returncode, 2)
        self.assertIn("left alone", again.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_it_serves(self):
        """The file serves as it is: requests pass, and the report has seen them."""
        with Upstream(answer(201, body=b"made")) as upstream:
            done = self.recibo("init", "--upstream", upstream.url)
            token = re.search(r"rt_\w+", done.stderr).group(0)
            port, admin = free_port(), free_port()
            text = done.stdout.replace("127.0.0.1:8080", "127.0.0.1:%d" % port)
            text = text.replace("127.0.0.1:8081", "127.0.0.1:%d" % admin)
            gateway = Gateway(text=text, start=False)
            with gateway:
                gateway.port, gateway.admin_port, gateway.token = port, admin, token
                gateway.write_configuration()
                gateway.start()
                self.assertEqual(gateway.post("k1", {"a": 1}).body, b"made")
                name = 'recibo_observed_total{route="other-changes"}'
                wait_until(lambda: gateway.metrics().get(name) == 1)


if __name__ == "__main__":
    main()
