"""Where a key comes from and how far it reaches: header, JSON, form, path, several
together; a route's own key space or one for the whole gateway.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import main, merge, orders, rest  # noqa: E402

FORM = [("Content-Type", "application/x-www-form-urlencoded")]
SMALL = {"request_body_max": "64KiB", "replay_body_max": "64KiB"}


def route(name, path, key, **more):
    base = orders(name=name, match={"path": path}, **SMALL)
    return merge(merge(base, {"key": None}), {"key": key, **more})


class Sources(Guarded):
    def executed(self, response, key):
        self.assert_passed_on(response, 201, "executed")
        self.assertEqual(self.operation_of(response)["key"], key)
        return response

    def test_a_member_of_the_body(self):
        """from: json takes a string at the pointer; it is part of the body compared."""
        self.start(routes=[route("a", "/a", {"from": "json", "pointer": "/order/id"})])
        first = self.executed(self.gateway.post(None, {"order": {"id": "x1"}}, path="/a"), "x1")
        self.assert_replay(first, self.gateway.post(None, {"order": {"id": "x1"}}, path="/a"))
        self.executed(self.gateway.post(None, {"order": {"id": "x2"}}, path="/a"), "x2")
        self.assertEqual(self.gateway.post(None, {"order": {"id": "x1"}, "n": 1},
                                           path="/a").status, 422)
        for body, code in (({"order": {}}, "key-missing"), ({"order": 1}, "key-missing"),
                           ({"order": {"id": 7}}, "key-invalid"),
                           ({"order": {"id": None}}, "key-invalid"),
                           ({"order": {"id": ""}}, "key-invalid"),
                           ({"order": {"id": "a" * 256}}, "key-invalid")):
            with self.subTest(body=body):
                response = self.gateway.post(None, body, path="/a")
                problem = self.assert_told(response, 400, response.json()["code"],
                                           retry_after=False)
                self.assertIn(problem["code"], (code, "key-missing"))
        self.assertEqual(self.upstream.sends, 2)

    def test_a_field_of_a_form(self):
        """from: form takes a decoded field; the form is compared as a form."""
        self.start(routes=[route("a", "/a", {"from": "form", "name": "id"},
                                 fingerprint={"mode": "form"},
                                 labels={"order": {"json": None, "form": "id"}})])
        first = self.executed(self.gateway.post(None, b"id=x%31&n=a+b&m=1", path="/a",
                                                headers=FORM), "x1")
        self.assert_replay(first, self.gateway.post(None, b"n=a%20b&m=%31&id=x1", path="/a",
                                                    headers=FORM))
        self.assertEqual(self.upstream.last.body, b"id=x%31&n=a+b&m=1")
        for body, status in ((b"id=x1&n=a+b&m=2", 422), (b"n=1", 400), (b"id=&n=1", 400),
                             (b"id=%zz", 400)):
            self.assertEqual(self.gateway.post(None, body, path="/a", headers=FORM).status, status)
        self.assertEqual(self.upstream.sends, 1)

    def test_a_segment_of_the_path(self):
        """from: path takes the segment that the pattern names."""
        self.start(routes=[route("a", "/orders/{id}/pay", {"from": "path", "name": "id"})])
        first = self.executed(self.gateway.post(None, ORDER, path="/orders/17/pay"), "17")
        self.assert_replay(first, self.gateway.post(None, ORDER, path="/orders/17/pay"))
        self.executed(self.gateway.post(None, ORDER, path="/orders/18/pay"), "18")
        self.assertEqual(self.upstream.sends, 2)

    def test_several_together(self):
        """from: all joins parts so that no two lists of parts are one key."""
        self.start(routes=[route("a", "/a/{who}", {"from": "all", "of": [
            {"from": "path", "name": "who"}, {"from": "header", "name": "X-Id"},
            {"from": "json", "pointer": "/id"}]})])
        seen = set()
        for who, header, member in (("ab", "c", "d"), ("a", "bc", "d"), ("a", "b", "cd"),
                                    ("a", "b", "c")):
            response = self.gateway.post(None, {"id": member}, path="/a/" + who,
                                         headers=[("X-Id", header)])
            self.assert_passed_on(response, 201, "executed")
            seen.add(response.get("Idempotency-Operation"))
            self.assert_replay(response, self.gateway.post(
                None, {"id": member}, path="/a/" + who, headers=[("X-Id", '"%s"' % header)]))
        self.assertEqual(len(seen), 4)
        for headers, body in (((), {"id": "d"}), ([("X-Id", "c")], {}), ([("X-Id", "a b")],
                                                                         {"id": "d"})):
            self.assertEqual(self.gateway.post(None, body, path="/a/ab",
                                               headers=headers).status, 400)
        self.assertEqual(self.upstream.sends, 4)

    def test_another_header(self):
        """A route's own header name; the default name is then just a header."""
        self.start(routes=[route("a", "/a", {"from": "header", "name": "X-Request-Key"})])
        first = self.gateway.post("other", ORDER, path="/a", headers=[("x-request-key", "k1")])
        self.executed(first, "k1")
        self.assertEqual(self.upstream.last.get("Idempotency-Key"), "other")
        self.assertNotIn("X-Request-Key", self.upstream.last.headers)
        self.assert_replay(first, self.gateway.post(None, ORDER, path="/a",
                                                    headers=[("X-Request-Key", "k1")]))
        self.assertEqual(self.gateway.post("k1", ORDER, path="/a").status, 400)

    def test_look_alikes_are_no_keys(self):
        """A key in the query, in a trailer or in a look-alike is none, and goes nowhere."""
        self.start()
        with self.gateway.client() as client:
            client.send_raw(client.encode("POST", "/orders?Idempotency-Key=k1", [
                ("Content-Type", "application/json"), ("Idempotency_Key", "k1"),
                ("Transfer-Encoding", "chunked")]) +
                b"2\r\n{}\r\n0\r\nIdempotency-Key: k1\r\n\r\n")
            self.assert_told(client.read_response(), 400, "key-missing", retry_after=False)
        self.assert_no_receipt()
        self.gateway.post("k1", ORDER, headers=[("Idempotency_Key", "k2")])
        for name in ("Idempotency_Key", "Idempotency-Key"):
            self.assertNotIn(name, self.upstream.last.headers)

    def test_the_key_goes_upstream_where_that_deduplicates(self):
        """upstream_idempotency passes the key on, and nothing that looks like it."""
        self.start(route={"upstream_idempotency": {"window": "1h"}})
        self.gateway.post('"k1"', ORDER, headers=[("Idempotency_Key", "k2")])
        self.assertEqual(len(self.upstream.last.headers.all("Idempotency-Key")), 1)
        self.assertIn(self.upstream.last.get("Idempotency-Key"), ("k1", '"k1"'))
        self.assertNotIn("Idempotency_Key", self.upstream.last.headers)

    def test_a_grammar_of_the_routes_own(self):
        """Length, format, pattern and strictness can be narrowed."""
        self.start(routes=[
            route("short", "/short", {"min": 3, "max": 5}),
            route("uuid", "/uuid", {"format": "uuid"}),
            route("pattern", "/pattern", {"pattern": "shop-*"}),
            route("strict", "/strict", {"strict": True}),
            route("wide", "/wide", {"extra": " #"})])
        uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
        for path, good, bad in (("/short", ["abc", "abcde"], ["ab", "abcdef"]),
                                ("/uuid", [uuid], [uuid[:-1], "x" + uuid[1:], "abc"]),
                                ("/pattern", ["shop-1"], ["shop1", "x-shop-1"]),
                                ("/strict", ['"abc"'], ["abc"]),
                                ("/wide", ["a b#"], ["a,b", "a;b"])):
            for key in good:
                self.assertEqual(self.gateway.post(key, ORDER, path=path).status, 201, key)
            for key in bad:
                self.assert_told(self.gateway.post(key, ORDER, path=path), 400, "key-invalid",
                                 retry_after=False)


class Scope(Guarded):
    def test_a_route_is_a_key_space(self):
        """The same key on two routes is two operations."""
        self.start(routes=[route("a", "/a", {}), route("b", "/b", {})])
        one, two = (self.gateway.post("k1", ORDER, path=path) for path in ("/a", "/b"))
        self.assert_passed_on(two, 201, "executed")
        self.assertNotEqual(one.get("Idempotency-Operation"), two.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 2)

    def test_the_gateway_is_a_key_space(self):
        """scope: gateway makes the same key on another path another request: 422."""
        self.start(routes=[route("a", "/a", {}, scope="gateway"),
                           route("b", "/b", {}, scope="gateway"), route("c", "/c", {}), rest()])
        first = self.gateway.post("k1", ORDER, path="/a")
        self.assert_passed_on(first, 201, "executed")
        self.assert_told(self.gateway.post("k1", ORDER, path="/b"), 422, "key-reused", "mismatch",
                         state="completed", retry_after=False)
        self.assert_passed_on(self.gateway.post("k1", ORDER, path="/c"), 201, "executed")
        self.assert_replay(first, self.gateway.post("k1", ORDER, path="/a"))
        self.assertEqual(self.upstream.sends, 2)

    def test_a_trailing_slash_is_the_same_route(self):
        """/orders and /orders/ are guarded both; as requests they differ."""
        self.start()
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.assertEqual(self.gateway.post("k1", ORDER, path="/orders/").status, 422)
        self.assert_passed_on(self.gateway.post("k2", ORDER, path="/orders/"), 201, "executed")
        self.assertEqual(self.upstream.last.path, "/orders/")

    def test_another_case_where_the_upstream_folds(self):
        """path_case: insensitive guards every spelling."""
        self.start(upstream={"path_case": "insensitive"}, routes=[orders()])
        self.assertEqual(self.gateway.post(None, ORDER, path="/ORDERS").status, 400)
        self.assert_passed_on(self.gateway.post("k1", ORDER, path="/Orders"), 201, "executed")
        self.assertEqual(self.gateway.post("k1", ORDER, path="/Orders").get("Idempotency-Status"),
                         "replayed")

    def test_the_stripe_preset(self):
        """preset: stripe: key optional, forms, one key space, expired keys run again."""
        self.start(routes=[merge(orders(preset="stripe", labels={"order": {
            "json": None, "form": "amount"}}), {"key": None, "fingerprint": None})])
        self.assert_passed_on(self.gateway.post(None, b"amount=1", headers=FORM), 201,
                              "unprotected")
        first = self.gateway.post("k1", b"amount=1", headers=FORM)
        self.assert_passed_on(first, 201, "executed")
        self.assert_replay(first, self.gateway.post("k1", b"amount=%31", headers=FORM))
        self.assertEqual(self.operation_of(first)["labels"], {"order": "1"})


if __name__ == "__main__":
    main()
