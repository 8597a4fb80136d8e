"""Reports about JSON bodies: order of members, doubled members, depth, and bytes kept."""

import json

from bugs_lib import Reports, guarded, routes
from harness import Gateway, Upstream, answer, main, parallel

DEEP = 100000
JSON_TYPE = [("Content-Type", "application/json")]

SAME = [
    (b'{"a":1,"b":{"c":2,"d":3}}', b'{ "b":{"d":3,"c":2}, "a":1 }'),
    (b'{"a":1,"b":[{"x":1,"y":2}]}', b'{"b":[\r\n\t{"y":2,"x":1}],"a":1}\n'),
    (b'{"name":"A/B"}', b'{"n\\u0061me":"\\u0041\\/B"}'),
    (b'{"e":"\xf0\x9f\x98\x80"}', b'{"e":"\\uD83D\\ude00"}'),
    (b'[{"a":1},{"b":2}]', b' [ {"a" : 1} , {"b" : 2} ] '),
]
DIFFERENT = [
    (b'[1,2]', b'[2,1]'),
    (b'{"a":[1,2]}', b'{"a":[2,1]}'),
    (b'{"a":1}', b'{"a":1.0}'),
    (b'{"a":1}', b'{"a":"1"}'),
    (b'{"a":null}', b'{}'),
    (b'{"a":9007199254740993}', b'{"a":9007199254740992}'),
    (b'{"a":0.1}', b'{"a":0.10000000000000000001}'),
    (b'{"a":{"b":1}}', b'{"a":{},"b":1}'),
    (b'{"a":[[],1]}', b'{"a":[[1]]}'),
    (b'{"a":"\xc3\xa9"}', b'{"a":"e\xcc\x81"}'),
    (b'{"a":"x"}', b'{"a":"x "}'),
    (b'{"a":""}', b'{"a":"\\u0000"}'),
    (b'{"a":true}', b'{"a":false}'),
]
DOUBLED = [
    b'{"qty":1,"qty":-1}',
    b'{"qty":1,"qty":1}',
    b'{"q\\u0074y":1,"qty":-1}',
    b'{"o":{"qty":1,"x":2,"qty":1}}',
    b'[{"a":{"b":[{"c":1,"c":2}]}}]',
    b'{"":1,"":2}',
    b'{"\xc3\xa9":1,"\\u00e9":2}',
    b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":2}',
    b'{"a\\/b":1,"a/b":2}',
]


class JsonReports(Reports):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"ok": True})))
        raw_route = guarded(name="raw-order", match={"methods": ["POST"], "path": "/raw"},
                            fingerprint={"mode": "raw"}, labels=None, evidence={"body": True})
        self.gateway = self.use(Gateway(self.upstream, routes(guarded(), raw_route)))

    def post(self, key, body, path="/orders"):
        return self.gateway.post(key, body, path=path, headers=JSON_TYPE)

    def test_order_and_spacing_of_members_do_not_make_another_request(self):
        """On a JSON route two spellings of one value are one operation, sent once."""
        for number, (first_body, other_body) in enumerate(SAME):
            with self.subTest(first=first_body, other=other_body):
                before = self.upstream.sends
                first = self.post("same-%d" % number, first_body)
                self.assertEqual(first.status, 201, first)
                self.assert_replay(self.post("same-%d" % number, other_body), first)
                self.assertEqual(self.upstream.sends, before + 1)
                self.assertEqual(self.upstream.last.body, first_body)

    def test_what_differs_is_another_request(self):
        """Values that any reader could take for two are never folded into one."""
        for number, (first_body, other_body) in enumerate(DIFFERENT):
            with self.subTest(first=first_body, other=other_body):
                before = self.upstream.sends
                key = "different-%d" % number
                first = self.post(key, first_body)
                self.assert_mismatch(self.post(key, other_body))
                self.assert_replay(self.post(key, first_body), first)
                self.assertEqual(self.upstream.sends, before + 1)

    def test_a_raw_route_takes_every_byte_literally(self):
        """On a raw route a re-ordered or re-spaced body is another request."""
        for number, (first_body, other_body) in enumerate(SAME):
            with self.subTest(first=first_body, other=other_body):
                before = self.upstream.sends
                key = "raw-%d" % number
                first = self.post(key, first_body, "/raw")
                self.assert_mismatch(self.post(key, other_body, "/raw"))
                self.assert_replay(self.post(key, first_body, "/raw"), first)
                self.assertEqual(self.upstream.sends, before + 1)

    def test_a_doubled_member_is_refused(self):
        """A member given twice is refused before anything is stored or sent."""
        for number, body in enumerate(DOUBLED):
            with self.subTest(body=body):
                self.assert_problem(self.post("doubled-%d" % number, body), 400, "body-invalid")
                self.assertEqual(self.gateway.operations(key="doubled-%d" % number), [])
        self.assertEqual(self.upstream.sends, 0)

    def test_a_doubled_member_never_meets_its_readings(self):
        """Neither reading of a doubled member shares a fingerprint with it or with the other."""
        key = "readings"
        self.assert_problem(self.post(key, b'{"qty":1,"qty":-1}'), 400, "body-invalid")
        first = self.post(key, b'{"qty":-1}')
        self.assertEqual(first.status, 201, first)
        self.assert_mismatch(self.post(key, b'{"qty":1}'))
        self.assert_problem(self.post(key, b'{"qty":1,"qty":-1}'), 400, "body-invalid")
        self.assert_replay(self.post(key, b'{"qty":-1}'), first)
        self.assertEqual(self.upstream.sends, 1)

    def test_equal_names_in_different_objects_are_no_doubles(self):
        """The same name in siblings, in nested objects and in another case is fine."""
        for number, body in enumerate((b'{"a":{"a":{"a":1}}}', b'[{"a":1},{"a":2}]',
                                       b'{"a":1,"A":2}', b'{"a":1,"b":{"a":1}}')):
            with self.subTest(body=body):
                response = self.post("names-%d" % number, body)
                self.assertEqual(response.status, 201, response)
                self.assertEqual(self.upstream.last.body, body)

    def test_the_upstream_gets_the_bytes_of_the_client(self):
        """Odd spacing, escapes, number tokens and member order reach the upstream as they came."""
        for number, body in enumerate((b' {\t"b" : 1e0 ,\r\n "a" : "\\u0041\\/" } \n',
                                       b'{"n":-0.0,"m":1E+400,"z":[ ]}',
                                       '{"ü":"ñ\u2028"}'.encode())):
            with self.subTest(body=body):
                self.assertEqual(self.post("bytes-%d" % number, body).status, 201)
                self.assertEqual(self.upstream.last.body, body)

    def test_doubles_pass_on_a_raw_route_byte_for_byte(self):
        """A raw route compares bytes: a doubled member is sent as it is, equal to itself only."""
        first = self.post("raw-double", b'{"qty":1,"qty":-1}', "/raw")
        self.assertEqual(first.status, 201, first)
        self.assertEqual(self.upstream.last.body, b'{"qty":1,"qty":-1}')
        self.assert_mismatch(self.post("raw-double", b'{"qty":-1}', "/raw"))
        self.assert_mismatch(self.post("raw-double", b'{"qty":1}', "/raw"))
        self.assertEqual(self.upstream.sends, 1)


class DepthReports(Reports):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"ok": True})))
        self.gateway = self.use(Gateway(
            self.upstream, routes(guarded(request_body_max="2MiB"), workers=2)))

    def test_depth_is_refused_and_the_process_lives(self):
        """Brackets nested without end, closed or not, get 400; no crash, others are served."""
        bodies = [b"[" * DEEP, b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP,
                  b'{"a":' * DEEP + b"1" + b"}" * DEEP, b'[{"":' * DEEP,
                  b'{"a":[' * DEEP + b"]}" * DEEP, b"[[]," * 300 + b"[" * DEEP,
                  b" " * DEEP + b"[" * DEEP]

        def attempt(index):
            if index % 2 == 0:
                return index, self.gateway.post("depth-%d" % index, bodies[index // 2],
                                                headers=JSON_TYPE)
            return index, self.gateway.post("beside-%d" % index, {"order": index})
        for index, response in parallel(2 * len(bodies), attempt):
            with self.subTest(index=index):
                if index % 2 == 0:
                    self.assert_problem(response, 400, "body-invalid")
                else:
                    self.assertEqual(response.status, 201, response)
        self.assertEqual(self.upstream.sends, len(bodies))
        self.assertTrue(self.gateway.is_running())

    def test_the_limit_of_depth_is_a_limit_not_a_blur(self):
        """Up to 64 levels pass, 65 are refused, in arrays and in objects."""
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            for depth, status in ((64, 201), (65, 400)):
                with self.subTest(opening=opening, depth=depth):
                    middle = b"1" if opening != b"[" else b""
                    body = opening * depth + middle + closing * depth
                    response = self.gateway.post("limit-%d-%d" % (len(opening), depth), body,
                                                 headers=JSON_TYPE)
                    self.assertEqual(response.status, status, response)

    def test_wide_and_shallow_passes(self):
        """A mebibyte of siblings is wide, not deep, and is served and replayed."""
        body = b"[" + b",".join([b"[]"] * ((1 << 20) // 3 - 2)) + b"]"
        first = self.gateway.post("wide", body, headers=JSON_TYPE)
        self.assertEqual(first.status, 201, first)
        self.assertEqual(self.upstream.last.body, body)
        self.assert_replay(self.gateway.post("wide", body, headers=JSON_TYPE), first)
        self.assertEqual(self.upstream.sends, 1)

    def test_an_operators_body_is_as_bounded_as_a_callers(self):
        """Nested, doubled and broken JSON in a verdict is refused and changes nothing."""
        self.upstream.script(lambda exchange: False)
        self.gateway.post("verdict", {"order": 1})
        operation = self.assert_unknown(self.gateway, "verdict")
        path = "/v1/operations/%s/settle" % operation["id"]
        for body in (b"[" * DEEP, b'{"a":' * DEEP, b"[" * DEEP + b"]" * DEEP,
                     b'{"note":' + b"[" * DEEP + b"]" * DEEP + b"}",
                     b'{"verdict":"executed","verdict":"abandoned","version":%d,"note":"x"}'
                     % operation["version"], b"", b"{", b"null"):
            with self.subTest(body=body[:40]):
                status, _, value = self.gateway.admin("POST", path, body, JSON_TYPE)
                self.assertEqual(status, 400, value)
        after = self.gateway.operation(operation["id"])
        self.assertEqual(json.dumps(after, sort_keys=True), json.dumps(operation, sort_keys=True))


if __name__ == "__main__":
    main()
