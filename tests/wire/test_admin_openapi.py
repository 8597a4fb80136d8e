"""The description of the operator API: whole, and true of every real answer."""

import os
import re
import threading

from admin_lib import AdminCase, answer, fin, orders, rest
from harness import ROOT, main, rest, wait, wait_until
from schema_lib import Schemas

ENDPOINT = re.compile(r'^ENDPOINT\((\w+),\s*"([^"]+)",\s*(\w+), (\w+),', re.MULTILINE)


def endpoints():
    """-> {(method, path): (right, body)} of the table."""
    with open(os.path.join(ROOT, "gateway", "admin", "endpoints.def"), encoding="utf-8") as file:
        return {(method, path): (right, body)
                for method, path, right, body in ENDPOINT.findall(file.read())}


class OpenApi(AdminCase):
    def changes(self):
        probed = orders(breaker="none", name="probed", evidence={"headers": True, "body": True},
                        match={"methods": ["POST"], "path": "/probed"},
                        reconcile={"quiet_time": "1ms", "every": "24h",
                                   "probe": {"method": "GET", "path": "/find?key={key}"},
                                   "executed_when": {"status": 200}, "absent_when": {"status": 404}})
        watched = orders(name="watched", mode="observe", match={"methods": ["POST"],
                                                                "path": "/watched"})
        plain = orders(breaker="none", evidence={"headers": True, "body": True},
                       reconcile={"quiet_time": "1ms"},
                       compensate={"path": "/orders/{label:order}"})
        later = orders(name="later", upstream="dead", match={"methods": ["POST"],
                                                             "path": "/later"},
                       defer={"when": "always"},
                       retry={"backoff": {"base": "1h", "max": "1h"}})
        return {"routes": [plain, probed, watched, later, rest()],
                "upstreams": {"dead": {"url": "http://127.0.0.1:1"}}}

    def setUp(self):
        super().setUp()
        response = self.raw("GET", "/openapi.json")
        self.assertEqual((response.status, response.get("Content-Type")),
                         (200, "application/json"))
        self.openapi = response.json()
        self.schemas = Schemas(self.openapi)
        self.called = set()

    def call(self, method, path, body=None, query="", status=None, headers=None, **parameters):
        """One call by its path of the table; its answer is held against its schema."""
        described = self.openapi["paths"][path][method.lower()]
        target = path.format(**parameters) + query
        headers = [self.bearer()] if headers is None else headers
        response = self.raw(method, target, headers, body)
        if body is not None and (status is None or status < 400):
            wanted = described["requestBody"]["content"]["application/json"]["schema"]
            self.assertEqual(self.schemas.check(body, wanted), [], (method, target))
        if status is None:
            status = int(next(code for code in described["responses"] if code != "default"))
            self.called.add((method, path))
        self.assertEqual(response.status, status, (method, target, response))
        told = described["responses"].get(str(status), described["responses"]["default"])
        content = self.schemas.resolve(told)["content"]
        kind = response.get("Content-Type").split(";")[0]
        media = content.get(kind, content.get("*/*"))
        self.assertIsNotNone(media, (method, target, kind))
        if "schema" not in media:
            return response
        value = response.json()
        self.assertEqual(self.schemas.check(value, media["schema"]), [], (method, target))
        return value

    def test_it_describes_the_table(self):
        """Each call of the table stands there with its right, its body and an answer; no other."""
        table = endpoints()
        self.assertEqual(self.openapi["openapi"], "3.1.0")
        described = {(method.upper(), path): operation
                     for path, item in self.openapi["paths"].items()
                     for method, operation in item.items()}
        self.assertEqual(set(described), set(table))
        names = [operation["operationId"] for operation in described.values()]
        self.assertEqual(len(set(names)), len(names))
        for (method, path), operation in described.items():
            right, body = table[method, path]
            with self.subTest(method=method, path=path):
                self.assertEqual(operation.get("security"), [] if right == "OPEN" else None)
                self.assertEqual(operation.get("x-right"),
                                 None if right == "OPEN" else right.lower())
                self.assertEqual("requestBody" in operation, body != "NONE")
                self.assertIn(len(operation["responses"]), (2, 3))
                self.assertEqual(
                    [each["name"] for each in operation["parameters"] if each["in"] == "path"],
                    re.findall(r"\{(\w+)\}", path))

    def test_it_hangs_together(self):
        """Every reference leads somewhere, every shape is used, no required member is unknown."""
        for name in self.references(self.openapi):
            self.schemas.resolve({"$ref": name})
        used = {name.rsplit("/", 1)[1] for name in self.schemas.used if "/schemas/" in name}
        unused = set(self.openapi["components"]["schemas"]) - used
        self.assertEqual(unused - {"operation_common"}, set())
        for name, schema in self.openapi["components"]["schemas"].items():
            self.assertLessEqual(set(schema["required"]), set(schema["properties"]), name)
            self.assertEqual(len(schema["required"]), len(set(schema["required"])), name)

    def references(self, root):
        found, rest_of = [], [root]
        while rest_of:
            each = rest_of.pop()
            if isinstance(each, dict):
                found += [each["$ref"]] if "$ref" in each else []
                rest_of += list(each.values())
            elif isinstance(each, list):
                rest_of += each
        return found

    def test_its_filters_are_those_of_the_list(self):
        """Each described parameter of the list is taken, and what is not described is refused."""
        parameters = self.openapi["paths"]["/v1/operations"]["get"]["parameters"]
        refused = self.call("GET", "/v1/operations", query="?nothing=1", status=400)
        for each in parameters:
            name = each["name"]
            self.assertIn(name, refused["detail"])
            value = each["schema"].get("enum", ["no such value"])[0]
            response = self.raw("GET", "/v1/operations?%s=%s" % (name, value.replace(" ", "+")),
                                [self.bearer()])
            self.assertNotIn("is not one of " + refused["detail"].split("is not one of ")[1],
                             response.text, name)
        named = set(re.findall(r"[a-z_]+", refused["detail"].split("is not one of ")[1]))
        self.assertEqual(named - {each["name"] for each in parameters}, {"label"})

    def test_every_answer_is_as_described(self):
        """Every call but those of plans, on a gateway with all kinds of operations."""
        self.upstream.script(fin())
        self.gateway.post("w1", {"order": "w"}, path="/watched")
        self.gateway.post("w1", {"order": "x"}, path="/watched")
        done = self.gateway.post("done", {"order": "d"}).get("Idempotency-Operation")
        self.look_around()
        lost = [self.lose(key)["id"] for key in ("a", "b", "c", "d")]
        self.gateway.post("a", {"order": "o-a"})
        self.look_at(done)
        self.act_on(lost)
        for id_ in (*lost, done):
            self.look_at(id_)
        self.in_flight()
        self.deferred(done)
        self.compensated(done, lost)
        self.pauses()
        self.reloads()
        self.pages()
        self.look_around()
        missing = {(method, path) for method, path in endpoints()
                   if not path.startswith("/v1/plans")} - self.called
        self.assertEqual(missing, set())

    def look_around(self):
        for path in ("/healthz", "/readyz", "/metrics", "/openapi.json", "/"):
            self.call("GET", path, headers=[])
        for path in ("/v1/whoami", "/v1/summary", "/v1/operations", "/v1/inflight",
                     "/v1/backlog/groups", "/v1/routes", "/v1/refused", "/v1/report"):
            self.call("GET", path)
        page = self.raw("GET", "/").text
        for name in set(re.findall(r'(?:src|href)="/?page/([^"]+)"', page)):
            self.call("GET", "/page/{name}", name=name, headers=[])
        self.call("GET", "/v1/audit", query="?subject=route:create-order")
        wait_until(lambda: self.call("GET", "/v1/history")["samples"])
        self.call("GET", "/v1/history", query="?after=2020-01-01T00:00:00Z")

    def look_at(self, id_):
        self.call("GET", "/v1/operations/{id}", id=id_)
        self.call("GET", "/v1/operations/{id}/why", id=id_)
        self.call("GET", "/v1/audit", query="?operation=" + id_)

    def act_on(self, lost):
        a, b, c, _ = lost
        self.call("GET", "/v1/operations/{id}/request", id=a)
        claimed = self.call("POST", "/v1/operations/{id}/claim", {"note": "on it"}, id=a)
        self.call("POST", "/v1/operations/{id}/comment", {"text": "asked"}, id=a)
        marked = self.call("POST", "/v1/operations/{id}/contradiction",
                           {"version": claimed["version"], "note": "odd"}, id=a)
        settled = self.call("POST", "/v1/operations/{id}/settle", {
            "verdict": "executed", "version": marked["version"], "note": "found it",
            "response": {"status": 201, "headers": {"X-A": "b"}, "body": {"id": 9}}}, id=a)
        self.call("GET", "/v1/operations/{id}/response", id=a)
        self.call("POST", "/v1/operations/{id}/settle", {
            "verdict": "executed", "version": settled["version"], "note": "x"}, id=a, status=409)
        self.call("POST", "/v1/operations/{id}/settle", {
            "verdict": "reopen", "version": settled["version"], "note": "no"}, id=a)
        for id_, verdict in ((b, "not_executed"), (c, "abandoned")):
            version = self.gateway.operation(id_)["version"]
            self.call("POST", "/v1/operations/{id}/settle", {
                "verdict": verdict, "version": version, "note": "x", "force": True}, id=id_)
        probed = self.lose("p", path="/probed")["id"]
        self.upstream.default = answer(404, body={})
        told = self.call("POST", "/v1/operations/{id}/probe", {"note": "there?"}, id=probed)
        self.assertEqual(told["operation"]["id"], probed)
        self.gateway.wait_log(r"probe")
        self.look_at(probed)
        self.call("POST", "/v1/operations/{id}/probe", {}, id=a, status=409)

    def reloads(self):
        """Taken up, refused for what it drops, and for an error."""
        self.call("POST", "/v1/reload", {"note": "as it is"})
        self.gateway.write_configuration({"routes": [rest()], "via": "another"})
        dropped = self.call("POST", "/v1/reload", {}, status=409)
        self.assertTrue(dropped["dropped"])
        self.gateway.write_configuration({"routes": []})
        self.assertTrue(self.call("POST", "/v1/reload", {}, status=422)["errors"])
        self.gateway.write_configuration({"via": "another"})
        self.assertTrue(self.call("POST", "/v1/reload", {})["changes"])

    def in_flight(self):
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.upstream.script(wait(gate, answer(201, body={})))
        heads = len(self.upstream.heads)
        thread = threading.Thread(target=self.gateway.post, args=("fly", {"order": "f"}))
        thread.start()
        self.upstream.wait_heads(heads + 1)
        seen = self.call("GET", "/v1/inflight")
        self.assertEqual([each["key"] for each in seen["operations"]], ["fly"])
        self.look_at(seen["operations"][0]["id"])
        gate.set()
        thread.join()

    def deferred(self, done):
        id_ = self.gateway.post("l1", {"order": "l"}, path="/later").get("Idempotency-Operation")
        self.look_at(id_)
        told = self.call("POST", "/v1/operations/{id}/run-now", {"note": "now"}, id=id_)
        self.assertEqual(told["operation"]["phase"], "deferred")
        told = self.call("POST", "/v1/operations/{id}/cancel", {"note": "no"}, id=id_)
        self.assertEqual((told["cancel"], told["operation"]["state"]), ("stopped", "cancelled"))
        self.look_at(id_)
        self.call("POST", "/v1/operations/{id}/cancel", {"note": "no"}, id=done, status=409)
        self.call("POST", "/v1/operations/{id}/run-now", {}, id=done, status=409)

    def compensated(self, done, lost):
        told = self.call("POST", "/v1/operations/{id}/compensate", {"note": "back"}, id=done,
                         status=202)
        other = told["compensation"]["id"]
        self.gateway.wait_state(other, "completed")
        told = self.call("POST", "/v1/operations/{id}/compensate", {"note": "back"}, id=done)
        self.assertEqual((told["begun"], told["compensates"]), (False, done))
        for id_ in (done, other):
            self.look_at(id_)
        for id_ in (other, *lost):
            self.call("POST", "/v1/operations/{id}/compensate", {"note": "x"}, id=id_, status=409)
        self.call("POST", "/v1/operations/{id}/cancel", {"note": "no"}, id=done, status=409)

    def pauses(self):
        for kind, name in (("routes", "create-order"), ("upstreams", "legacy")):
            self.call("POST", "/v1/%s/{name}/pause" % kind, {"note": "stop"}, name=name)
            self.call("GET", "/v1/summary")
            self.call("GET", "/v1/routes")
            self.call("POST", "/v1/%s/{name}/resume" % kind, {"note": "go"}, name=name)
        self.call("POST", "/v1/routes/{name}/pause", {"note": "x"}, name="nothing", status=404)

    def pages(self):
        link = self.call("POST", "/v1/page", {})
        self.call("POST", "/v1/page/session", {"code": link["code"]}, headers=[])
        self.call("POST", "/v1/page/session", {"code": link["code"]}, headers=[], status=401)

    def test_plans_are_as_described(self):
        """Every call of plans: made, looked at, applied, stopped."""
        for key in ("x", "y"):
            self.lose(key)
        plan = self.call("POST", "/v1/plans", {
            "where": {"route": "create-order", "state": "unknown"}, "verdict": "not_executed"})
        id_ = plan["plan"]["id"]
        self.call("GET", "/v1/plans/{id}", id=id_)
        self.call("POST", "/v1/plans/{id}/apply", {"note": "asked them"}, id=id_)
        self.call("DELETE", "/v1/plans/{id}", id=id_)
        self.call("GET", "/v1/plans/{id}", id=id_)
        self.call("GET", "/v1/plans")
        self.call("GET", "/v1/plans/{id}", id="plan_" + "a" * 26, status=404)
        missing = {(method, path) for method, path in endpoints()
                   if path.startswith("/v1/plans")} - self.called
        self.assertEqual(missing, set())


if __name__ == "__main__":
    main()
