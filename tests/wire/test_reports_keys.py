"""Reports about keys: their syntax, their reuse on other endpoints, and whose they are."""

import hashlib

from bugs_lib import Reports, guarded, routes
from harness import Gateway, Upstream, answer, fin, main

MISSING = [(), [("Idempotency-Key", "")], [("Idempotency-Key", "   ")],
           [("Idempotency-Key", "\t")]]
MALFORMED = [
    ["a" * 256], ["k" * 4096], ['"' + "a" * 256 + '"'], ['""'],
    ["abc, def"], ["abc,abc"], ["abc def"], ["abc;v=1"], ["@abc"], ["ab\\c"], ["'abc'"],
    ['"abc'], ['abc"'], ['"abc" x'], ['"a\\n"'], ['"abc", "abc"'], ['"abc";'], ['"abc";V=1'],
    ['" abc"'], ['"abc "'], ['" "'], ["k\xe9"], ['"k\xe9"'], ["<b>"],
    ["same", "same"], ["one", "two"], ['"one"', "one"], ["one", ""], ["", "one"],
]
CONTROLS = [b"\x00", b"\x01", b"\x08", b"\x0b", b"\x1f", b"\x7f", b"\r"]
SECRET = '{"password":"correct horse"}'


def lines(values):
    return [("Idempotency-Key", value) for value in values]


class SyntaxReports(Reports):
    def setUp(self):
        self.upstream = self.use(Upstream(answer(201, body={"ok": True})))
        self.gateway = self.use(Gateway(self.upstream, routes(guarded())))

    def assert_nothing_happened(self):
        self.assertEqual(self.upstream.sends, 0)
        self.assertEqual(self.gateway.operations(), [])

    def test_a_missing_key_is_told_apart_and_not_sent(self):
        """Without a key on a route that requires one: 400, told apart, nothing sent."""
        for headers in MISSING:
            with self.subTest(headers=headers):
                response = self.gateway.post(None, {"order": 1}, headers=headers)
                self.assertEqual(response.status, 400, response)
                self.assertIn(response.json()["code"], ("key-missing", "key-invalid"))
        self.assertEqual(self.gateway.post(None, {}).json()["code"], "key-missing")
        self.assert_nothing_happened()

    def test_a_malformed_key_is_refused_before_anything(self):
        """Bad grammar, length or two lines: 400 before a receipt or a send, and no raw echo."""
        for values in MALFORMED:
            with self.subTest(values=values):
                response = self.gateway.post(None, {"order": 1}, headers=lines(values))
                self.assert_problem(response, 400, "key-invalid")
                for value in values:
                    if len(value) > 3:
                        self.assertNotIn(value.encode("latin-1"), response.raw_head + response.body)
        self.assert_nothing_happened()

    def test_control_bytes_in_a_key_are_broken_http(self):
        """A control byte anywhere in the value is 400, never a cut or a cleaned key."""
        for byte in CONTROLS:
            for shape in (b"abc%sdef", b"%sabc", b"abc%s", b'"abc%sdef"'):
                with self.subTest(byte=byte, shape=shape):
                    with self.gateway.client() as client:
                        client.send_raw(b"POST /orders HTTP/1.1\r\nHost: h\r\nContent-Type: "
                                        b"application/json\r\nContent-Length: 2\r\n"
                                        b"Idempotency-Key: " + shape % byte + b"\r\n\r\n{}")
                        response = client.read_response()
                    self.assertEqual(response.status, 400, response)
                    self.assertNotIn(b"abc" + byte, response.body)
        self.assert_nothing_happened()

    def test_quoted_and_bare_are_one_key_in_every_state(self):
        """Both spellings of one text meet the same receipt: completed, unknown, and mismatch."""
        self.upstream.script(answer(201, body=b"first"), fin())
        first = self.gateway.post('"done-1"', {"order": 1})
        for spelling in ("done-1", '"done-1"', '  "done-1" ', '"done-1";v=1', "done-1 "):
            with self.subTest(spelling=spelling):
                self.assert_replay(self.gateway.post(spelling, {"order": 1}), first)
                self.assert_mismatch(self.gateway.post(spelling, {"order": 2}))
        self.assert_problem(self.gateway.post("lost-1", {"order": 3}), 502,
                            "upstream-bad-response")
        for spelling in ("lost-1", '"lost-1"'):
            with self.subTest(spelling=spelling):
                self.assert_refused_unknown(self.gateway.post(spelling, {"order": 3}))
                self.assert_mismatch(self.gateway.post(spelling, {"order": 4}))
        self.assertEqual(self.upstream.sends, 2)

    def test_escapes_inside_quotes_are_read_once(self):
        """An escaped quote or backslash is one character, and another key than without."""
        first = self.gateway.post(r'"a\"b\\c"', {"order": 1})
        self.assertEqual(first.status, 201, first)
        self.assert_replay(self.gateway.post(r'"a\"b\\c"', {"order": 1}), first)
        self.assertEqual(self.gateway.operations()[0]["key"], 'a"b\\c')
        self.assertEqual(self.gateway.post('"ab\\\\c"', {"order": 1}).status, 201)
        self.assertEqual(self.upstream.sends, 2)

    def test_length_is_counted_after_unquoting(self):
        """255 bytes are a key however they are written; the shortest is one byte."""
        for number, value in enumerate(("a" * 255, '"' + "b" * 255 + '"', "x", '"y"',
                                        '"' + r"\"" * 255 + '"')):
            with self.subTest(value=value[:20]):
                body = {"order": number}
                first = self.gateway.post(value, body)
                self.assertEqual(first.status, 201, first)
                self.assert_replay(self.gateway.post(value, body), first)
        self.assertEqual(self.upstream.sends, 5)

    def test_case_of_a_key_matters_and_case_of_its_name_does_not(self):
        """ABC, abc and Abc are three operations; the field's name may be written anyhow."""
        for value in ("ABC", "abc", "Abc"):
            self.assertEqual(self.gateway.post(value, {"order": 1}).get("Idempotency-Status"),
                             "executed")
        self.assertEqual(self.upstream.sends, 3)
        for name in ("idempotency-key", "IDEMPOTENCY-KEY", "iDeMpOtEnCy-kEy"):
            response = self.gateway.post(None, {"order": 1}, headers=[(name, "abc")])
            self.assertEqual(response.get("Idempotent-Replayed"), "true", response)
        self.assertEqual(self.upstream.sends, 3)

    def test_a_key_elsewhere_is_no_key(self):
        """A look-alike field, a query parameter or a trailer does not stand in for the key."""
        response = self.gateway.post(None, {"order": 1}, headers=[("Idempotency_Key", "k")])
        self.assert_problem(response, 400, "key-missing")
        response = self.gateway.post(None, {"order": 1}, path="/orders?Idempotency-Key=k")
        self.assert_problem(response, 400, "key-missing")
        with self.gateway.client() as client:
            client.send_raw(b"POST /orders HTTP/1.1\r\nHost: h\r\nContent-Type: application/json"
                            b"\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
                            b"Idempotency-Key: k\r\n\r\n")
            self.assert_problem(client.read_response(), 400, "key-missing")
        self.assert_nothing_happened()

    def test_keys_are_data_wherever_they_go(self):
        """Quotes, format marks and paths in a key are stored, found and replayed as they are."""
        for number, value in enumerate(("x'--", "%n%s%x", "../../etc", "a|b`c$d", "<script>")):
            with self.subTest(value=value):
                quoted = '"%s"' % value
                first = self.gateway.post(quoted, {"order": number})
                self.assertEqual(first.status, 201, first)
                self.assert_replay(self.gateway.post(quoted, {"order": number}), first)
                self.assertEqual(self.operation_of(self.gateway, value)["key"], value)


class EndpointReports(Reports):
    """A client that uses its key for the next endpoint too."""

    def gateway_with(self, upstream, **common):
        tools = {"labels": None, "evidence": {"body": True}, **common}
        return self.use(Gateway(upstream, routes(
            guarded(name="invoices", match={"methods": ["POST"], "path": "/invoices"}, **tools),
            guarded(name="pay", match={"methods": ["POST"], "path": "/invoices/{id}/pay"}, **tools),
            guarded(name="orders", match={"methods": ["PUT", "PATCH"], "path": "/orders/{id}"},
                    **tools))))

    def answer_with_target(self):
        upstream = self.use(Upstream())
        upstream.on_request = lambda request: answer(
            201, body="%s %s" % (request.method, request.target))
        return upstream

    def send(self, gateway, method, target, key, body):
        return gateway.request(method, target, [("Idempotency-Key", key)], body)

    def test_another_route_has_its_own_receipt(self):
        """With the scope `route`, the key of one route says nothing on another one."""
        upstream = self.answer_with_target()
        gateway = self.gateway_with(upstream)
        first = self.send(gateway, "POST", "/invoices", "k", {"a": 1})
        second = self.send(gateway, "POST", "/invoices/1/pay", "k", None)
        self.assertEqual(first.text, "POST /invoices")
        self.assertEqual(second.text, "POST /invoices/1/pay", second)
        self.assertEqual(second.get("Idempotency-Status"), "executed")
        self.assert_replay(self.send(gateway, "POST", "/invoices", "k", {"a": 1}), first)
        self.assert_replay(self.send(gateway, "POST", "/invoices/1/pay", "k", None), second)
        self.assertEqual(upstream.sends, 2)

    def test_another_target_of_one_route_is_a_mismatch(self):
        """Path, query and method are part of the request: the same key there is refused."""
        upstream = self.answer_with_target()
        gateway = self.gateway_with(upstream)
        body = {"a": 1}
        first = self.send(gateway, "PUT", "/orders/1", "k", body)
        self.assertEqual(first.status, 201, first)
        for method, target in (("PUT", "/orders/2"), ("PUT", "/orders/1?x=1"),
                               ("PUT", "/orders/1?"), ("PATCH", "/orders/1"),
                               ("PUT", "/orders/%31"), ("PUT", "/orders/1/")):
            with self.subTest(method=method, target=target):
                response = self.send(gateway, method, target, "k", body)
                self.assert_mismatch(response)
        self.assert_replay(self.send(gateway, "PUT", "/orders/1", "k", body), first)
        self.assertEqual(upstream.sends, 1)

    def test_order_and_value_of_the_query_count(self):
        """Another query string is another request, in whatever way it differs."""
        upstream = self.answer_with_target()
        gateway = self.gateway_with(upstream)
        first = self.send(gateway, "POST", "/invoices?a=1&b=2", "q", {})
        for query in ("a=1&b=3", "b=2&a=1", "a=1", "a=1&b=2&b=2", "A=1&b=2", "a=%31&b=2"):
            with self.subTest(query=query):
                self.assert_mismatch(self.send(gateway, "POST", "/invoices?" + query, "q", {}))
        self.assert_replay(self.send(gateway, "POST", "/invoices?a=1&b=2", "q", {}), first)
        self.assertEqual(upstream.sends, 1)

    def test_one_key_space_over_the_gateway(self):
        """With the scope `gateway`, the key of one route is a mismatch on every other one."""
        upstream = self.answer_with_target()
        gateway = self.gateway_with(upstream, scope="gateway")
        first = self.send(gateway, "POST", "/invoices", "k", {"a": 1})
        self.assert_mismatch(self.send(gateway, "POST", "/invoices/1/pay", "k", None))
        self.assert_mismatch(self.send(gateway, "POST", "/invoices/1/pay", "k", {"a": 1}))
        self.assert_mismatch(self.send(gateway, "PUT", "/orders/1", "k", {"a": 1}))
        self.assert_replay(self.send(gateway, "POST", "/invoices", "k", {"a": 1}), first)
        self.assertEqual(upstream.sends, 1)


class OwnerReports(Reports):
    """Two owners, one of them with two secrets, on one route."""

    SECRETS = (("a", "a-old-secret"), ("a", "a-new-secret"), ("b", "b-secret"))

    def setUp(self):
        self.upstream = self.use(Upstream())
        self.upstream.on_request = lambda request: answer(
            201, body="%s for %s" % (SECRET, request.get("X-Api-Key")))
        keys = [{"owner": owner, "sha256": hashlib.sha256(secret.encode()).hexdigest()}
                for owner, secret in self.SECRETS]
        changes = routes(guarded(), owners={"everyone": None, "partners": {
            "kind": "api_key", "header": "X-Api-Key", "keys": keys}},
            defaults={"owner": "partners"})
        self.gateway = self.use(Gateway(self.upstream, changes))

    def post(self, secret, key, body):
        headers = [] if secret is None else [("X-Api-Key", secret)]
        return self.gateway.post(key, body, headers=headers)

    def test_the_same_key_of_two_owners_is_two_operations(self):
        """Each owner gets its own answer, is sent once, and causes no mismatch for the other."""
        first_a = self.post("a-old-secret", "k", {"order": 1})
        first_b = self.post("b-secret", "k", {"order": 1})
        self.assertIn("a-old-secret", first_a.text)
        self.assertIn("b-secret", first_b.text)
        self.assertEqual(first_b.get("Idempotency-Status"), "executed")
        self.assert_mismatch(self.post("b-secret", "k", {"order": 2}))
        self.assert_replay(self.post("a-old-secret", "k", {"order": 1}), first_a)
        self.assert_replay(self.post("b-secret", "k", {"order": 1}), first_b)
        self.assertEqual(self.upstream.sends, 2)

    def test_a_squatter_takes_nothing(self):
        """A stranger who used the key first, with another body, is not in the owner's way."""
        self.assertEqual(self.post("b-secret", "guessed", {"order": "evil"}).status, 201)
        first = self.post("a-old-secret", "guessed", {"order": 1})
        self.assertEqual(first.get("Idempotency-Status"), "executed", first)
        self.assert_replay(self.post("a-old-secret", "guessed", {"order": 1}), first)
        self.assertEqual(self.upstream.sends, 2)

    def test_a_squatter_whose_own_call_is_lost_blocks_nobody(self):
        """An unknown of one owner leaves the same key of another owner free."""
        self.upstream.on_request = lambda request: (
            fin() if request.get("X-Api-Key") == "b-secret" else answer(201, body="done"))
        self.assertEqual(self.post("b-secret", "lost", {"order": 1}).status, 502)
        self.assert_refused_unknown(self.post("b-secret", "lost", {"order": 1}))
        self.assertEqual(self.post("a-old-secret", "lost", {"order": 1}).status, 201)

    def test_an_operation_is_shown_to_its_owner_alone(self):
        """Its id is worth nothing to anyone else: the same 404 as for an id that never was."""
        operation = self.post("a-old-secret", "k", {"order": 1}).get("Idempotency-Operation")
        path = "/.recibo/operations/"
        for secret in ("a-old-secret", "a-new-secret"):
            response = self.gateway.request("GET", path + operation, [("X-Api-Key", secret)])
            self.assertEqual(response.status, 200, response)
            self.assertEqual(response.json()["state"], "completed")
        never = operation[:-4] + ("aaaa" if operation[-4:] != "aaaa" else "bbbb")
        seen = []
        for secret, target in (("b-secret", operation), ("b-secret", never), ("wrong", operation),
                               (None, operation), ("a-old-secret", never)):
            headers = [] if secret is None else [("X-Api-Key", secret)]
            response = self.gateway.request("GET", path + target, headers)
            problem = self.assert_problem(response, 404, "not-found")
            problem.pop("instance")
            seen.append(problem)
            self.assertNotIn("correct horse", response.text)
        self.assertTrue(all(problem == seen[0] for problem in seen), seen)

    def test_a_rotated_secret_keeps_its_receipts(self):
        """Another secret of the same owner is the same owner: a replay, not a second send."""
        first = self.post("a-old-secret", "rotated", {"order": 1})
        self.assert_replay(self.post("a-new-secret", "rotated", {"order": 1}), first)
        self.assertEqual(self.upstream.sends, 1)

    def test_without_a_credential_there_is_no_look_at_keys(self):
        """No or wrong credentials: 401 for a used and for an unused key alike, nothing sent."""
        self.post("a-old-secret", "used", {"order": 1})
        for secret in (None, "", "wrong", "a-old-secre", "a-old-secrett"):
            for key in ("used", "unused", None, "bad key,"):
                with self.subTest(secret=secret, key=key):
                    response = self.post(secret, key, {"order": 1})
                    self.assert_problem(response, 401, "unauthenticated")
                    self.assertIsNotNone(response.get("WWW-Authenticate"))
                    self.assertIsNone(response.get("Idempotency-Operation"))
        self.assertEqual(self.upstream.sends, 1)


if __name__ == "__main__":
    main()
