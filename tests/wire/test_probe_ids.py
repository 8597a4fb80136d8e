"""add_operation_id: the upstream is told the operation id, and nothing else is changed."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded
from harness import fin, main


class Header(Guarded):
    def start_header(self, **route):
        return self.start(route=dict({"add_operation_id": {"header": "X-Operation-Id"}}, **route))

    def test_the_upstream_is_told(self):
        """The id of the answer is the id that the upstream gets, once."""
        self.start_header()
        response = self.gateway.post("k1", {"order": 7})
        self.assertEqual(self.upstream.last.all("X-Operation-Id"),
                         [response.get("Idempotency-Operation")])

    def test_a_caller_cannot_name_an_operation(self):
        """What a caller sends under that name, in any spelling of a CGI program, stays here."""
        self.start_header()
        forged = "op_" + "0" * 26
        response = self.gateway.post("k1", {"order": 7}, headers=[
            ("X-Operation-Id", forged), ("x-operation-ID", forged), ("X_Operation_Id", forged)])
        self.assertNotIn(forged.encode(), self.upstream.last.raw)
        self.assertEqual(self.upstream.last.all("X-Operation-Id"),
                         [response.get("Idempotency-Operation")])

    def test_an_unprotected_request_names_none(self):
        """Without a key there is no operation, and a caller cannot make one up either."""
        self.start_header(key={"required": False})
        self.gateway.post(None, {"order": 7}, headers=[("X-Operation-Id", "op_" + "0" * 26)])
        self.assertEqual(self.upstream.last.all("X-Operation-Id"), [])

    def test_a_second_sending_bears_the_same_id(self):
        """A key that was freed is sent again under the id of its operation."""
        self.start_header(reconcile={"quiet_time": "0s"})
        self.upstream.script(fin())
        lost = self.gateway.post("k1", {"order": 7})
        self.settle(lost, "not_executed")
        self.gateway.post("k1", {"order": 7})
        ids = [request.get("X-Operation-Id") for request in self.upstream.requests]
        self.assertEqual(ids, [lost.get("Idempotency-Operation")] * 2)

    def test_other_routes_are_not_told(self):
        """Only the route that asks for it adds the header."""
        self.start_header()
        self.gateway.request("GET", "/other")
        self.assertEqual(self.upstream.last.all("X-Operation-Id"), [])


class Member(Guarded):
    def start_member(self, pointer="/external_reference", **route):
        return self.start(route=dict({"add_operation_id": {"json": pointer}}, **route))

    def post(self, body, key="k1", **options):
        return self.gateway.post(key, body, headers=[("Content-Type", "application/json")],
                                 **options)

    def check(self, sent, expected, pointer="/external_reference"):
        self.start_member(pointer)
        response = self.post(sent)
        self.assertEqual(response.status, 201, response)
        operation_id = response.get("Idempotency-Operation").encode()
        received = self.upstream.last
        self.assertEqual(received.body, expected.replace(b"ID", operation_id))
        self.assertEqual(received.all("Content-Length"), [str(len(received.body))])

    def test_every_other_byte_stays(self):
        """Spaces, escapes, the order of members and the spelling of numbers are the caller's."""
        self.check(b' \n{ "order" : "caf\\u00e9", "n":1.50e+1 ,"a":[ 1,2 ] }\t\n',
                   b' \n{"external_reference":"ID", "order" : "caf\\u00e9", "n":1.50e+1 ,'
                   b'"a":[ 1,2 ] }\t\n')

    def test_an_empty_object(self):
        """An object without members gets one, and no comma."""
        self.check(b"{ }", b'{"external_reference":"ID" }')

    def test_a_member_inside(self):
        """The object may lie deeper; its brothers are left alone."""
        self.check(b'{"order":7,"meta":{"a":{}},"z":null}',
                   b'{"order":7,"meta":{"ref":"ID","a":{}},"z":null}', "/meta/ref")

    def test_a_name_that_needs_escapes(self):
        """The name is written as JSON, however the pointer spells it."""
        self.check(b'{"order":7}', b'{"a/\\"b":"ID","order":7}', '/a~1"b')

    def test_a_body_in_chunks(self):
        """A chunked body goes up with its new length."""
        self.start_member()
        client = self.use(self.gateway.client())
        client.send_raw(b"POST /orders HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k1\r\n"
                        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                        b'5\r\n{"ord\r\n6\r\ner":7}\r\n0\r\n\r\n')
        response = client.read_response("POST")
        self.assertEqual(response.status, 201, response)
        self.assertEqual(self.upstream.last.json(),
                         {"external_reference": response.get("Idempotency-Operation"), "order": 7})

    def check_refused(self, body, pointer="/external_reference"):
        self.start_member(pointer)
        response = self.post(body)
        problem = self.assert_problem(response, 400, "body-invalid")
        self.assertIn(pointer, problem["detail"])
        self.assert_no_receipt()

    def test_a_member_of_that_name_is_refused(self):
        """Recibo overwrites nothing and never writes a name twice: 400, no receipt."""
        self.check_refused(b'{"order":7,"external_reference":null}')

    def test_the_same_name_in_another_spelling_is_refused(self):
        """Names are compared as JSON means them."""
        self.check_refused(b'{"order":7,"external\\u005freference":"x"}')

    def test_no_object_is_refused(self):
        """A member needs an object."""
        self.check_refused(b'[{"order":7}]')

    def test_no_object_inside_is_refused(self):
        """Recibo makes no object that the caller did not send."""
        self.check_refused(b'{"order":7,"meta":[]}', "/meta/ref")

    def test_no_body_is_refused(self):
        """Without a body there is nothing to add to."""
        self.start_member()
        response = self.gateway.request("POST", "/orders", [("Idempotency-Key", "k1")])
        self.assert_problem(response, 400, "body-invalid")
        self.assert_no_receipt()

    def test_what_is_compared_is_the_callers(self):
        """A repeat is the same request although what went up was longer."""
        self.start_member()
        first = self.post(b'{"order":7}')
        self.assert_replay(first, self.post(b'{ "order": 7 }'))
        self.assertEqual(self.upstream.sends, 1)

    def test_evidence_is_the_callers(self):
        """What is kept for the operator is the body as it came."""
        self.start_member(evidence={"body": True})
        self.upstream.script(fin())
        response = self.post(b'{"order":7}')
        operation = self.gateway.operation(response.get("Idempotency-Operation"))
        self.assertEqual(operation["request"]["body"], '{"order":7}')

    def test_digests_of_the_callers_body_stay_here(self):
        """A digest of other bytes than those that arrive would make the upstream refuse them."""
        self.start_member()
        names = ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"]
        self.gateway.post("k1", b'{"order":7}',
                          headers=[("Content-Type", "application/json")]
                          + [(name, "sha-256=:AAAA:") for name in names])
        for name in names:
            self.assertEqual(self.upstream.last.all(name), [])

    def test_digests_pass_where_the_body_does(self):
        """Without the member the caller's digests are right, and pass."""
        self.start()
        self.gateway.post("k1", b'{"order":7}', headers=[
            ("Content-Type", "application/json"), ("Content-Digest", "sha-256=:AAAA:")])
        self.assertEqual(self.upstream.last.all("Content-Digest"), ["sha-256=:AAAA:"])

    def test_a_large_body(self):
        """A body as large as the route allows still takes the member."""
        pad = b'{"order":7,"pad":"' + b"x" * 60000 + b'"}'
        self.start_member(request_body_max=len(pad))
        response = self.post(pad)
        self.assertEqual(response.status, 201, response)
        operation_id = response.get("Idempotency-Operation").encode()
        self.assertEqual(self.upstream.last.body,
                         b'{"external_reference":"%s",' % operation_id + pad[1:])


if __name__ == "__main__":
    main()
