"""Raw requests from the table of cases, on real sockets: what a strict gateway takes is
forwarded as exactly one request, what it does not take is refused and never forwarded.

Each case is written at once, byte by byte, and in two pieces cut at many places; how
the bytes arrive must not make a difference.
"""

import json
import os
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded  # noqa: E402
from harness import ROOT, Closed, WireError, answer, main, orders  # noqa: E402

CASES = os.path.join(ROOT, "tests", "data", "http1", "raw-request-cases.json")
BUILT = {"r132": b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100000 + b"\r\n\r\n",
         "r133": b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"}
# Requests in a case that are whole and well-formed; all others hold one.
WHOLE = {"r124": 2}
# Answered by the gateway itself, never sent on.
OWN = {"r084"}
# Refused for what they ask, not for how they are built: the connection may go on.
WELL_FRAMED = {"r109", "r121", "r126"}
# Two readings of a path: refused where a reading could meet a guarded route.
PATHS = {"r093", "r096"}
AFTER = b"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
CUTS_MAX = 24
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def load():
    with open(CASES, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for case in cases:
        case["bytes"] = BUILT[case["id"]] if "raw_build" in case else case["raw"].encode("latin-1")
    return cases


def write(client, pieces):
    """Writes the pieces; a gateway that has refused already may not want the rest."""
    try:
        for piece in pieces:
            client.send_raw(piece)
    except OSError:
        pass


class RawRequests(Guarded):
    def setUp(self):
        everything = {"name": "all", "mode": "pass", "match": {"path": "/*", "methods": METHODS}}
        self.start(answer(200, body=b"ok"), routes=[everything])

    def run_case(self, case, pieces):
        """Sends one case and judges it."""
        self.upstream.forget()
        with self.gateway.client(timeout=20.0) as client:
            if case["expect"] == "reject":
                write(client, pieces)
                self.judge_refusal(case, client)
            elif case["expect"] == "accept":
                write(client, pieces)
                self.judge_acceptance(case, client)
            else:
                write(client, pieces)
                response = client.read_response(case["raw"].split(" ")[0])
                self.assertIn(response.status, [200] + case["status"])
                self.assertLessEqual(len(self.upstream.heads), 1)

    def judge_refusal(self, case, client):
        """One answer with a fitting status, then the end; nothing of it reached the upstream
        as a whole request."""
        response = client.read_response()
        self.assertIn(response.status, case["status"], response)
        if response.get("Connection") == "close":
            self.assertEqual(client.read_to_end(), (b"", False))
        else:
            self.assertIn(case["id"], WELL_FRAMED)
            client.send_raw(AFTER)
            self.assertEqual(client.read_response().status, 200)
            self.assertEqual([r.path for r in self.upstream.requests], ["/after"])
            self.upstream.forget()
        self.assertEqual(response.get("Content-Type"), "application/problem+json")
        self.assertEqual(response.json()["status"], response.status)
        self.assertEqual(self.upstream.sends, 0, self.upstream.requests)

    def judge_acceptance(self, case, client):
        """As many answers and sends as requests, and the connection is in step after them."""
        method = case["raw"].split(" ")[0].strip()
        statuses = case.get("status", [200, 204])
        count = WHOLE.get(case["id"], 1)
        for _ in range(count):
            response = client.read_response(method)
            self.assertIn(response.status, statuses, response)
            self.assertEqual(response.interim, [])
        if response.status >= 400:
            return
        expected = 0 if case["id"] in OWN else count
        self.assertEqual(self.upstream.sends, expected)
        if "close" in (response.get("Connection") or "") or "HTTP/1.0" in case["raw"]:
            return
        client.send_raw(AFTER)
        self.assertEqual(client.read_response().status, 200)
        self.assertEqual([r.path for r in self.upstream.requests][expected:], ["/after"])
        self.assertEqual(client.read_to_end(), (b"", False))

    def each(self, check):
        for case in load():
            if case["id"] not in PATHS:
                with self.subTest(id=case["id"], name=case["name"]):
                    check(case)

    def test_in_one_write(self):
        """All bytes at once."""
        self.each(lambda case: self.run_case(case, [case["bytes"]]))

    def test_byte_by_byte(self):
        """Every byte in a write of its own (long ones in pieces of 97 bytes)."""
        def check(case):
            data = case["bytes"]
            size = 1 if len(data) < 2000 else 97
            self.run_case(case, [data[at:at + size] for at in range(0, len(data), size)])
        self.each(check)

    def test_in_two_pieces(self):
        """Cut in two at many places."""
        def check(case):
            data = case["bytes"]
            for at in range(1, len(data), max(1, len(data) // CUTS_MAX)):
                self.run_case(case, [data[:at], data[at:]])
        self.each(check)

    def test_what_was_decided_is_forwarded_so(self):
        """The forwarded request is framed anew and carries nothing of this hop."""
        def check(case):
            if case["expect"] != "accept" or case["id"] in OWN | {"r081", "r082"}:
                return
            self.run_case(case, [case["bytes"]])
            request = self.upstream.requests[0]
            for name in ("Upgrade", "HTTP2-Settings", "Trailer", "X-Trailer", "Expect", "TE"):
                self.assertNotIn(name, request.headers)
            self.assertEqual(len(request.headers.all("Host")), 1)
            framings = [name for name in ("Content-Length", "Transfer-Encoding")
                        if name in request.headers]
            self.assertLessEqual(len(framings), 1, request.headers)
            self.assertIn(request.body, (b"", b"abc", b"Z", b"ab"))
        self.each(check)


class Ambiguous(Guarded):
    def test_paths_with_two_readings(self):
        """A path that decodes to another one is refused or unknown; it is never forwarded."""
        self.start(routes=[orders(match={"methods": ["POST"], "path": "/b/*"})])
        for case in load():
            if case["id"] not in PATHS:
                continue
            for method in (b"GET", b"POST"):
                with self.subTest(id=case["id"], method=method), self.gateway.client() as client:
                    client.send_raw(case["bytes"].replace(b"GET", method, 1))
                    self.assertIn(client.read_response().status, case["status"] + [405])
        self.assert_no_receipt()


class HalfRequests(Guarded):
    def test_what_never_becomes_whole(self):
        """A request that ends early, by FIN or by reset, is forwarded nowhere."""
        self.start()
        for data in (b"G", b"POST /orders HTTP/1.1\r\nHost: a\r\n",
                     b"POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n"
                     b"Content-Type: application/json\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}"):
            for leave in ("half_close", "reset"):
                with self.gateway.client() as client:
                    client.send_raw(data)
                    getattr(client, leave)()
                    if leave == "half_close":
                        self.assert_only_a_refusal(client)
        self.assert_no_receipt()

    def assert_only_a_refusal(self, client):
        """Nothing, or one refusal; never an answer as if something had happened."""
        try:
            response = client.read_response()
        except (Closed, WireError, socket.error):
            return
        self.assertEqual(response.status, 400)


if __name__ == "__main__":
    main()
