"""No raw request becomes two on its way: alone, behind nginx and HAProxy, and before them.

Each case of the table is written at once. What the scripted upstream reads is held
against one honest reading of the bytes that the gateway got.
"""

import collections
import json
import os
import shutil
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from peers_lib import MARK, Haproxy, Nginx, Tap, echo, readings, told  # noqa: E402
from harness import ROOT, Case, Client, Gateway, Upstream, WireError, main  # noqa: E402

CASES = os.path.join(ROOT, "tests", "data", "http1", "raw-request-cases.json")
BUILT = {"r132": b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 100000 + b"\r\n\r\n",
         "r133": b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"}
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
# Refused only where a reading of the path could meet a guarded route; here all is passed.
PATHS = {"r093", "r096"}
REFUSAL = b"urn:recibo:problem:"
AFTER = b"GET /after HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def load():
    """The cases, each with its bytes and its honest reading."""
    with open(CASES, encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for case in cases:
        case["bytes"] = BUILT[case["id"]] if "raw_build" in case else case["raw"].encode("latin-1")
        case["honest"] = readings(case["bytes"])
    return cases


def left_open(case):
    """Is it left to the gateway whether it answers by itself or passes the request on?"""
    return (case["expect"] == "accept_or_reject" or case["id"] in PATHS
            or (case["expect"] == "accept" and "status" in case))


def origin_form(method, target, body):
    """A reading with the target as a gateway sends it on."""
    for scheme in ("http://", "https://"):
        if target.lower().startswith(scheme):
            target = "/" + target[len(scheme):].partition("/")[2]
    return method, target, body


def converse(port, data):
    """Writes the bytes at once, then one more request when an answer has begun;
    -> all that came back until the peer closed."""
    with Client(port, timeout=20.0) as client:
        try:
            client.send_raw(data)
        except OSError:
            pass  # refused before the end of it; the answer is still there
        try:
            start = client.reader.some()
            client.send_raw(AFTER)
        except (WireError, OSError):
            start = b""
        return start + client.read_to_end()[0]


class Hops(Case):
    """A gateway that passes all paths on, before an upstream that says what it answers."""

    def begin(self, behind=None, before=None):
        """behind: the proxy between gateway and upstream; before: the one before the gateway."""
        for proxy in (behind, before):
            if proxy is not None and shutil.which(proxy.program) is None:
                self.skipTest("%s is not installed" % proxy.program)
        self.upstream = self.use(Upstream())
        self.upstream.on_request = echo
        url = self.upstream.url
        if behind is not None:
            url = "http://127.0.0.1:%d" % self.use(behind(self.upstream.port)).port
        everything = {"name": "all", "mode": "pass", "match": {"path": "/*", "methods": METHODS}}
        self.gateway = self.use(Gateway(url, {"routes": [everything]}))
        self.tap = self.use(Tap(self.gateway.port))
        self.port = self.tap.port
        if before is not None:
            self.port = self.use(before(self.tap.port)).port

    def play(self, case):
        """One case through all hops; -> (bytes to the caller, what the upstream read)."""
        self.upstream.forget()
        self.tap.forget()
        said = converse(self.port, case["bytes"])
        self.assert_in_step(case)
        came = [told(request) for request in self.upstream.requests]
        return said, [one for one in came if one[1] not in ("/after", "/step")]

    def assert_in_step(self, case):
        """A later request through the same hops gets its own answer: nothing was left over."""
        with Client(self.port) as client:
            response = client.request("GET", "/step")
            self.assertEqual(response.status, 200, (case["id"], response))
            self.assertEqual(response.get("X-Reached"), "GET /step", (case["id"], response))

    def assert_one_reading(self, said, came):
        """The upstream read nothing but what an honest reader finds in the gateway's input, each
        request at most once, and each was answered to the caller, in order."""
        honest = collections.Counter(origin_form(*one) for record in self.tap.records()
                                     for one in readings(record))
        self.assertEqual(collections.Counter(came) - honest, collections.Counter(), honest)
        answered = [tuple(word.decode("latin-1") for word in found) for found in MARK.findall(said)]
        answered = [one for one in answered if one[1] != "/after"]
        self.assertEqual(answered, [one[:2] for one in came])

    def each(self, judge):
        cases = load()
        self.assertGreater(len(cases), 80)
        for case in cases:
            with self.subTest(id=case["id"], name=case["name"]):
                said, came = self.play(case)
                self.assert_one_reading(said, came)
                judge(case, said, came)

    def judge_strict(self, case, said, came):
        """The table's verdict, where the gateway is the first who reads the bytes."""
        honest = [origin_form(*one) for one in case["honest"]]
        if left_open(case):
            self.assertIn(came, ([], honest))
        elif case["expect"] == "reject":
            self.assertEqual(came, [])
            self.assertIn(REFUSAL, said)
        elif honest[0][1] == "*":
            self.assertEqual(came, [])
        else:
            self.assertEqual(came, honest)

    def judge_behind(self, case, said, came):
        """Where a front reads first: what it lets through as it came stays refused, and what
        all take arrives once."""
        passed_on = case["bytes"].partition(b"\r\n")[0] + b"\r\n"
        whole = [record for record in self.tap.records() if record.startswith(passed_on)]
        if left_open(case):
            self.assertLessEqual(len(came), len(case["honest"]))
        elif case["expect"] == "reject" and whole and self.is_refused_for_its_line(case):
            self.assertEqual(came, [])
            self.assertIn(REFUSAL, said)
        elif case["expect"] == "accept" and self.front_takes(case):
            honest = [origin_form(*one) for one in case["honest"] if one[1] != "*"]
            self.assertEqual(came, honest)

    def is_refused_for_its_line(self, case):
        """Does the case still break the same rule when only its first line is left of it?"""
        line = case["bytes"].partition(b"\r\n")[0]
        with Client(self.gateway.port) as client:
            client.send_raw(line + b"\r\nHost: a\r\nConnection: close\r\n\r\n")
            return client.read_response().status >= 400

    def front_takes(self, case):
        """Was this front seen to take such a request?"""
        return case.get("observed", {}).get(self.front) == "200"

    def test_alone(self):
        """Directly: what is refused never arrives, what is taken arrives as it is, once."""
        self.begin()
        self.each(self.judge_strict)

    def test_behind_nginx(self):
        """nginx before the gateway: no request that nginx did not mean, none twice."""
        self.front = "nginx"
        self.begin(before=Nginx)
        self.each(self.judge_behind)

    def test_behind_haproxy(self):
        """HAProxy before the gateway: no request that HAProxy did not mean, none twice."""
        self.front = "haproxy"
        self.begin(before=Haproxy)
        self.each(self.judge_behind)

    def test_before_nginx(self):
        """nginx behind the gateway reads what the gateway read: the upstream sees the same."""
        self.begin(behind=Nginx)
        self.each(self.judge_strict)

    def test_before_haproxy(self):
        """HAProxy behind the gateway reads what the gateway read: the upstream sees the same."""
        self.begin(behind=Haproxy)
        self.each(self.judge_strict)


class Reading(unittest.TestCase):
    """The judge itself: a reader that cannot see a second request would let all pass."""

    def test_counts(self):
        """Two requests are two, a cut one is none, and one with two framings ends the reading."""
        one = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        two = b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n"
        both = (b"POST /c HTTP/1.1\r\nContent-Length: 1\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
        self.assertEqual(readings(one + two), [("POST", "/a", b"abc"), ("GET", "/b", b"")])
        self.assertEqual(readings(one[:-1]), [])
        self.assertEqual(readings(two + both + two), [("GET", "/b", b"")])


if __name__ == "__main__":
    main()
