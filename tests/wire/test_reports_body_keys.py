"""Reports about keys that lie in the body or the path instead of a header."""

from bugs_lib import Reports, guarded, routes
from harness import Gateway, Upstream, answer, main, reset

JSON_TYPE = [("Content-Type", "application/json")]
FORM_TYPE = [("Content-Type", "application/x-www-form-urlencoded")]
BAD_JSON = [b'{}', b'{"key":null}', b'{"key":1}', b'{"key":true}', b'{"key":["a"]}',
            b'{"key":{"a":"b"}}', b'{"key":""}', b'{"key":"  "}', b'{"key":"a,b"}',
            b'{"key":"a\\nb"}', b'{"key":"a\\u0000b"}', b'{"key":"k\xc3\xa9"}', b'{"KEY":"a"}',
            b'{"key":"' + b"a" * 256 + b'"}', b'{"key":"\\"quoted\\""}', b'[]', b'"key"', b'7',
            b'{"nested":{"key":"a"}}', b'{"key":"a","key":"a"}', b'{"key":"a","k\\u0065y":"b"}']
BAD_FORM = [b"", b"k", b"k=", b"K=a", b"k=%20", b"k=a%2Cb", b"k=a+b", b"k=%zz", b"k=a%0Ab",
            b"k=" + b"a" * 256, b"k=a&k=b", b"k=a&k=a", b"k=a&x=1&%6B=b", b"k=&k=a", b"k=a&k=",
            b"k[]=a", b"k=a;k=b"]


class BodyKeys(Reports):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body=b"done")))

    def gateway_with(self, key, mode, label, path="/orders", **route):
        changes = guarded(key={"name": None, **key}, fingerprint={"mode": mode},
                          labels={"what": label}, match={"path": path}, **route)
        return self.use(Gateway(self.upstream, routes(changes)))

    def json_gateway(self):
        return self.gateway_with({"from": "json", "pointer": "/key"}, "json", {"json": "/what"})

    def form_gateway(self):
        return self.gateway_with({"from": "form", "name": "k"}, "form", {"form": "what"})

    def assert_each_refused(self, gateway, bodies, headers):
        for body in bodies:
            with self.subTest(body=body[:60]):
                response = gateway.request("POST", "/orders", headers, body)
                self.assertEqual(response.status, 400, response)
                self.assertIn(response.json()["code"], ("key-missing", "key-invalid",
                                                        "body-invalid"))
        self.assertEqual((self.upstream.sends, gateway.operations()), (0, []))

    def test_a_json_key_is_a_string_by_the_grammar_of_keys(self):
        """Missing, of another type, or malformed: 400, nothing stored, nothing sent."""
        self.assert_each_refused(self.json_gateway(), BAD_JSON, JSON_TYPE)

    def test_a_form_key_is_one_field(self):
        """Missing, malformed or given twice, whatever its spelling: 400, nothing sent."""
        self.assert_each_refused(self.form_gateway(), BAD_FORM, FORM_TYPE)

    def test_spellings_of_a_json_key_are_one_key(self):
        """Escapes, order and spacing make no other key; a header of the usual name is none."""
        gateway = self.json_gateway()
        first = gateway.request("POST", "/orders", JSON_TYPE, b'{"key":"ok-1","what":7}')
        for body in (b'{"what":7,"key":"ok-1"}', b'{ "k\\u0065y" : "o\\u006b-1", "what": 7 }'):
            response = gateway.request("POST", "/orders",
                                       [*JSON_TYPE, ("Idempotency-Key", "other")], body)
            self.assert_replay(response, first)
        self.assert_mismatch(gateway.request("POST", "/orders", JSON_TYPE,
                                             b'{"key":"ok-1","what":8}'))
        self.assertEqual(self.upstream.sends, 1)

    def test_spellings_of_a_form_key_are_one_key(self):
        """Percent escapes and order do not make another key."""
        gateway = self.form_gateway()
        first = gateway.request("POST", "/orders", FORM_TYPE, b"k=ok-1&what=7")
        for body in (b"what=7&k=ok-1", b"k=%6Fk%2d1&what=%37", b"&k=ok-1&&what=7&"):
            self.assert_replay(gateway.request("POST", "/orders", FORM_TYPE, body), first)
        self.assert_mismatch(gateway.request("POST", "/orders", FORM_TYPE, b"k=ok-1&what=8"))
        self.assertEqual(self.upstream.sends, 1)

    def test_a_path_key_is_its_segment(self):
        """One {name} of the path: other targets are other keys or mismatches; none runs twice."""
        gateway = self.gateway_with({"from": "path", "name": "id"}, "json", {"json": "/what"},
                                    path="/orders/{id}")
        first = gateway.request("POST", "/orders/a", JSON_TYPE, b"{}")
        self.assertEqual(first.status, 201, first)
        self.assert_replay(gateway.request("POST", "/orders/a", JSON_TYPE, b"{}"), first)
        for target in ("/orders/%61", "/orders/a?x=1", "/orders/a/"):
            with self.subTest(target=target):
                self.assert_mismatch(gateway.request("POST", target, JSON_TYPE, b"{}"))
        for target in ("/orders/a%2Fb", "/orders/a,b", "/orders/..", "/x/../orders/a",
                       "//orders/a", "/orders/a%00", "/orders/" + "a" * 256, "/orders/a%20b"):
            with self.subTest(target=target):
                response = gateway.request("POST", target, JSON_TYPE, b"{}")
                self.assertEqual(response.status, 400, response)
        self.assertEqual(self.upstream.sends, 1)
        self.assertEqual(gateway.request("POST", "/orders/b", JSON_TYPE, b"{}").status, 201)

    def test_a_composite_key_cannot_be_shifted(self):
        """Parts of a composite key are told apart: ab+c is not a+bc."""
        gateway = self.gateway_with(
            {"from": "all", "required": None,
             "of": [{"from": "json", "pointer": "/a"}, {"from": "json", "pointer": "/b"}]},
            "json", {"json": "/what"})
        for body in (b'{"a":"ab","b":"c"}', b'{"a":"a","b":"bc"}', b'{"a":"c","b":"ab"}',
                     b'{"a":"1:a","b":"c"}', b'{"a":"1","b":"a1:c"}'):
            with self.subTest(body=body):
                response = gateway.request("POST", "/orders", JSON_TYPE, body)
                self.assertEqual(response.get("Idempotency-Status"), "executed", response)
        response = gateway.request("POST", "/orders", JSON_TYPE, b'{"a":"ab"}')
        self.assertEqual(response.status, 400, response)
        self.assertEqual(self.upstream.sends, 5)

    def test_a_lost_answer_under_a_body_key(self):
        """A repeat of a lost call under a key in the body is told, and not sent again."""
        gateway = self.json_gateway()
        self.upstream.script(reset())
        body = b'{"key":"lost","what":7}'
        self.assert_problem(gateway.request("POST", "/orders", JSON_TYPE, body), 502,
                            "upstream-bad-response")
        self.assert_unknown(gateway, "lost", "reset_no_answer")
        self.assert_refused_unknown(gateway.request("POST", "/orders", JSON_TYPE, body))
        self.assertEqual(self.upstream.sends, 1)

    def test_a_changed_request_after_a_release_replaces_the_first(self):
        """A body key of which nothing ran may come back with another body, and runs as that."""
        gateway = self.json_gateway()
        self.upstream.script(answer(429, body=b"later"))
        body = b'{"key":"free","what":7}'
        self.assertEqual(gateway.request("POST", "/orders", JSON_TYPE, body).status, 429)
        changed = b'{"key":"free","what":8}'
        first = gateway.request("POST", "/orders", JSON_TYPE, changed)
        self.assertEqual(first.status, 201, first)
        self.assert_replay(gateway.request("POST", "/orders", JSON_TYPE, changed), first)
        self.assert_mismatch(gateway.request("POST", "/orders", JSON_TYPE, body))
        self.assertEqual([r.body for r in self.upstream.requests], [body, changed])


if __name__ == "__main__":
    main()
