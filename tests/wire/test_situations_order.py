"""One request can be wrong in several ways: the earlier check speaks, always.

Every step of the order of checks is broken together with every later one; the answer
must be that of the earlier. Then the same with nothing broken but the upstream.
"""

import hashlib
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ANY, ORDER, Guarded  # noqa: E402
from harness import encode_head, main, orders  # noqa: E402

SECRET = "open"
BODY_MAX = 1024


class Request:
    """A request in parts, so that two faults can be put into one."""

    def __init__(self):
        self.method, self.path, self.query, self.version = "POST", "/orders", "", "HTTP/1.1"
        self.host, self.secret, self.key = "a", SECRET, "fresh"
        self.type, self.expect, self.length = "application/json", None, None
        self.chunked, self.more, self.body = False, [], b'{"order": 7}'

    def encode(self):
        pairs = [("Host", self.host), ("X-Api-Key", self.secret), ("Idempotency-Key", self.key),
                 ("Content-Type", self.type), ("Expect", self.expect)]
        pairs = [(name, value) for name, value in pairs if value is not None] + self.more
        if self.chunked:
            pairs.append(("Transfer-Encoding", "chunked"))
            body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(self.body), self.body)
        else:
            pairs.append(("Content-Length", str(self.length or len(self.body))))
            body = self.body
        line = "%s %s%s %s" % (self.method, self.path, self.query, self.version)
        return encode_head(line, pairs) + body


def put(**values):
    def act(request):
        for name, value in values.items():
            setattr(request, name, value)
    return act


# (step, what is broken, how, status, code), in the order of the checks.
FAULTS = [
    (1, "a version of another major", put(version="HTTP/2.0"), 505, "version-not-supported"),
    (1, "a target over the limit", put(query="?" + "x" * 9000), 414, "uri-too-long"),
    (1, "too many fields", put(more=[("X-More", "1")] * 101), 431, "headers-too-large"),
    (2, "no Host", put(host=None), 400, "bad-request"),
    (3, "no route", put(path="/elsewhere"), 404, "no-route"),
    (3, "another method", put(method="PUT"), 405, "method-not-allowed"),
    (3, "an ambiguous path", put(path="/%6frders"), 400, "ambiguous-target"),
    (4, "no credentials", put(secret=None), 401, "unauthenticated"),
    (4, "wrong credentials", put(secret="guess"), 401, "unauthenticated"),
    (6, "no key", put(key=None), 400, "key-missing"),
    (6, "a bad key", put(key="a b"), 400, "key-invalid"),
    (7, "a declared length over the limit", put(length=BODY_MAX + 1), 413, "content-too-large"),
    (7, "another media type", put(type="text/plain"), 415, "unsupported-media-type"),
    (7, "another expectation", put(expect="a-miracle"), 417, "expectation-failed"),
    (8, "a body that grows too large", put(chunked=True, body=b" " * (BODY_MAX + 1)), 413,
     "content-too-large"),
    (9, "no JSON", put(body=b"{nonsense"), 400, "body-invalid"),
    (12, "a key of another request", put(key="used", body=b'{"order": 8}'), 422, "key-reused"),
    (12, "another request of an unknown", put(key="lost", body=b'{"order": 8}'), 422,
     "key-reused"),
    (13, "an unknown outcome", put(key="lost"), 409, "outcome-unknown"),
]


class Order(Guarded):
    def setUp(self):
        secret = hashlib.sha256(SECRET.encode()).hexdigest()
        self.start(routes=[orders(request_body_max=BODY_MAX, replay_body_max="64KiB")],
                   owners={"everyone": {"kind": "api_key", "owner": None,
                                        "keys": [{"owner": "ana", "sha256": secret}]}})
        headers = [("X-Api-Key", SECRET)]
        self.assertEqual(self.gateway.post("used", ORDER, headers=headers).status, 201)
        self.make_unknown("lost", headers=headers)
        self.sends = self.upstream.sends

    def send(self, *faults):
        request = Request()
        for fault in reversed(faults):
            fault[2](request)
        with self.gateway.client() as client:
            client.send_raw(request.encode())
            return client.read_response(request.method)

    def assert_speaks(self, response, fault):
        _, name, _, status, code = fault
        problem = self.assert_problem(response, status, code)
        self.assertEqual(problem["code"], code, name)
        self.assertEqual("safe_new_key" in problem, code == "outcome-unknown", name)

    def test_each_fault_alone(self):
        """Each fault has its own answer, and sends nothing."""
        for fault in FAULTS:
            with self.subTest(fault=fault[1]):
                self.assert_speaks(self.send(fault), fault)
        self.assertEqual(self.upstream.sends, self.sends)
        self.assertEqual(len(self.gateway.operations()), 2)

    def test_the_earlier_fault_speaks(self):
        """Each fault together with each of a later step: the earlier one is answered."""
        for first, second in itertools.combinations(FAULTS, 2):
            if first[0] == second[0]:
                continue
            with self.subTest(first=first[1], second=second[1]):
                self.assert_speaks(self.send(first, second), first)
        self.assertEqual(self.upstream.sends, self.sends)
        self.assertEqual(len(self.gateway.operations()), 2)

    def test_the_upstream_comes_last(self):
        """With the upstream down every fault, and every record, still has its own answer."""
        self.upstream.refuse()
        for fault in FAULTS:
            with self.subTest(fault=fault[1]):
                self.assert_speaks(self.send(fault), fault)
        replay = self.send((0, "", put(key="used")))
        self.assertEqual((replay.status, replay.get("Idempotency-Status")), (201, "replayed"))
        self.assert_told(self.send((0, "", put())), 502, "upstream-unreachable", "released",
                         state="released", retry=True, new_key=True, retry_after=ANY)


class Continue(Guarded):
    """100 Continue is said only when nothing in the head speaks against the request."""

    def test_the_final_answer_comes_instead(self):
        """A caller that waits for 100 gets the refusal at once, without sending its body."""
        self.start(route={"request_body_max": BODY_MAX})
        for key, length, type_, status in ((None, 5, "application/json", 400),
                                           ("k1", BODY_MAX + 1, "application/json", 413),
                                           ("k1", 5, "text/plain", 415)):
            with self.gateway.client() as client:
                headers = [("Expect", "100-continue"), ("Content-Length", str(length)),
                           ("Content-Type", type_)]
                if key is not None:
                    headers.append(("Idempotency-Key", key))
                client.send("POST", "/orders", headers)
                response = client.read_response()
                self.assertEqual((response.status, response.interim), (status, []))
        self.assert_no_receipt()

    def test_it_is_said_once(self):
        """One 100, then the body is read, then the answer; Expect does not go upstream."""
        self.start()
        with self.gateway.client() as client:
            client.send("POST", "/orders", [
                ("Expect", "100-continue"), ("Content-Length", "12"), ("Idempotency-Key", "k1"),
                ("Content-Type", "application/json")])
            head = client.reader.until(b"\r\n\r\n")
            self.assertEqual(head, b"HTTP/1.1 100 Continue\r\n\r\n")
            self.assertEqual(len(self.upstream.heads), 0)
            client.send_raw(b'{"order": 7}')
            response = client.read_response()
            self.assert_passed_on(response, 201, "executed")
            self.assertEqual(response.interim, [])
        self.assertNotIn("Expect", self.upstream.last.headers)


if __name__ == "__main__":
    main()
