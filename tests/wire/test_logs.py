"""The log: one event a line whatever callers send, never a key, a body or a credential, and
nobody waits for whoever should read it.
"""

import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import BINARY, ROOT, Gateway, answer, main, orders, rest, wait_until  # noqa: E402

HOSTILE = [b"\x1b[2J", b"\xff\xfe", b"caf\xc3\xa9", b"a\tb", b"\xe2\x80\xaeabc", b'"x="y', b"\\n",
           b"\xc2\x85info forged", b"%n%s", b"${x}"]
TEXT_LINE = re.compile(r'\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (debug|info|warn|error) '
                       r'[a-z]+\.[a-z_]+( [a-z_]+=(-?\d+|true|"([^"\\]|\\.)*"))*\Z')


def fields():
    """Of the access log, in their order, from the one table."""
    with open(os.path.join(ROOT, "gateway", "access_log.def"), encoding="utf-8") as file:
        return re.findall(r"^ACCESS\((\w+),", file.read(), re.MULTILINE)


class Logs(Guarded):
    def events(self, name=None):
        """The JSON lines of the log; every line must be one."""
        found = []
        for line in self.gateway.log().split("\n"):
            if line.startswith("{"):
                value = json.loads(line)
                self.assertLessEqual({"time", "level", "event"}, set(value))
                if name in (None, value["event"]):
                    found.append(value)
            else:
                self.assertRegex(line, r"\A(warning: .*|)\Z")
        return found

    def done(self, count=1):
        wait_until(lambda: len(self.events("request.done")) >= count)
        return self.events("request.done")

    def begin(self, default=None, level="info", **options):
        self.start(default, log={"format": "json", "access": True, "level": level}, **options)


class Access(Logs):
    def test_the_fields(self):
        """A line has exactly the fields of the table, in their order, and says what happened."""
        self.begin()
        first = self.gateway.post("k1", ORDER)
        line = self.done()[0]
        self.assertEqual(list(line), ["time", "level", "event", *fields()])
        self.assertEqual((line["method"], line["path"], line["route"], line["status"],
                          line["outcome"], line["problem"], line["end"], line["gone"]),
                         ("POST", "/orders", "create-order", "201", "executed", "",
                          "answered", 0))
        self.assertEqual(line["operation"], first.get("Idempotency-Operation"))
        self.assertGreater(line["sent"], 50)
        self.assertGreater(line["received"], 20)
        self.assertRegex(line["trace"], r"\A[0-9a-f]{32}\Z")
        self.assertIn(line["configuration"], self.events("recibo.ready")[0]["msg"])

    def test_every_request_has_one(self):
        """Replays, refusals, what passes, what is badly built, who is gone: a line each."""
        self.begin()
        self.gateway.post("k1", ORDER)
        self.gateway.post("k1", ORDER)
        self.gateway.post(None, ORDER)
        self.gateway.request("GET", "/x?secret=1")
        with self.gateway.client() as client:
            client.send_raw(b"GET / HTTP/9.9\r\n\r\n")
            client.read_response()
        lines = self.done(5)
        self.assertEqual([(line["status"], line["outcome"], line["problem"], line["path"])
                          for line in lines],
                         [("201", "executed", "", "/orders"),
                          ("201", "replayed", "", "/orders"),
                          ("400", "none", "key-missing", "/orders"),
                          ("201", "none", "", "/x"),
                          ("505", "none", "version-not-supported", "/")])
        self.assertEqual(lines[1]["end"], "none")
        self.assertNotIn("secret", self.gateway.log())

    def test_the_hash_of_a_key(self):
        """The same for the same key, another for another; not the key, nor its plain hash."""
        import hashlib
        self.begin()
        for key in ("key-one", "key-one", "key-two"):
            self.gateway.post(key, ORDER)
        hashes = [line["key_hash"] for line in self.done(3)]
        self.assertEqual(hashes[0], hashes[1])
        self.assertNotEqual(hashes[0], hashes[2])
        for text in ("key-one", "key-two", hashlib.sha256(b"key-one").hexdigest()[:16]):
            self.assertNotIn(text, self.gateway.log())
        before = hashes[0]
        self.gateway.restart()
        self.gateway.post("key-one", ORDER)
        self.assertEqual(self.done(4)[3]["key_hash"], before)

    def test_a_key_in_the_path(self):
        """The pattern stands for the path."""
        self.begin(routes=[orders(match={"methods": ["POST"], "path": "/orders/{id}/pay"},
                                  key={"from": "path", "name": "id"}), rest()])
        self.assertEqual(self.gateway.post(None, ORDER, path="/orders/4711/pay").status, 201)
        self.assertEqual(self.done()[0]["path"], "/orders/{id}/pay")
        self.assertNotIn("4711", self.gateway.log())

    def test_nothing_secret(self):
        """At the most talkative level: no key, body, credential or owner is in the log."""
        self.begin(level="debug")
        self.gateway.post("the-key-4711", {"body": "the-body-4712"},
                          headers={"Authorization": "Bearer the-token-4713",
                                   "Cookie": "the-cookie-4714"})
        self.upstream.script(lambda exchange: False)
        self.gateway.post("the-key-4715", {"body": "the-body-4716"})
        self.done(2)
        self.assertNotRegex(self.gateway.log(), r"the-\w+-47\d\d|tester")


class Injection(Logs):
    def feed(self):
        for value in HOSTILE:
            raw = (b"POST /orders/" + value + b" HTTP/1.1\r\nHost: h" + value +
                   b"\r\nX-A: " + value + b"\r\nIdempotency-Key: \"" + value +
                   b"\"\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            for request in (raw, raw.replace(b"POST", b"P" + value, 1),
                            raw.replace(b"HTTP/1.1", b"HTTP/1.1" + value, 1)):
                with self.gateway.client() as client:
                    client.send_raw(request)
                    client.read_response("POST")
        return 3 * len(HOSTILE)

    def test_json(self):
        """Hostile bytes in method, path, version, header and key: one JSON object a line."""
        self.begin(level="debug")
        count = self.feed()
        self.done(count)
        for event in self.events():
            self.assertNotEqual(event["event"], "forged")

    def test_text(self):
        """The same in the format for people: each line is whole and harmless."""
        self.start(log={"format": "text", "access": True, "level": "debug"})
        count = self.feed()
        wait_until(lambda: self.gateway.log().count(" request.done ") >= count)
        with open(self.gateway.stderr_path, "rb") as file:
            raw = file.read()
        lines = [line for line in raw.split(b"\n") if line and not line.startswith(b"warning: ")]
        for line in lines:
            self.assertRegex(line.decode("utf-8"), TEXT_LINE)
            self.assertNotRegex(line.decode("utf-8"), "[\x00-\x1f\x7f-\x9f\u2028-\u202e]")

    def test_a_note(self):
        """What an operator writes is quoted, too; UTF-8 stays readable."""
        self.start()
        note = 'caf\u00e9 "quoted"\n2026-01-01T00:00:00.000Z info forged.event \u202e\u65e5'
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": note})
        line = self.gateway.wait_log("[^\n]* route\\.paused [^\n]*\n").group().rstrip("\n")
        self.assertIn('note="caf\u00e9 \\"quoted\\"\\u000a2026', line)
        self.assertIn("\\u202e\u65e5", line)
        self.assertNotIn("\n2026-01-01", self.gateway.log())


class Blocked(Guarded):
    def test_a_pipe_that_nobody_reads(self):
        """Requests go on, the losses are counted, and the end comes in time."""
        self.start(log={"level": "debug", "access": True})
        self.gateway.write_configuration()
        self.gateway.stop()
        read_end, write_end = os.pipe()
        self.addCleanup(os.close, read_end)
        self.gateway.process = subprocess.Popen(
            [BINARY, "serve", "-c", self.gateway.path], cwd=self.gateway.directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=write_end)
        os.close(write_end)
        self.gateway.wait_ready()
        client = self.use(self.gateway.client())
        lost = 0
        for _ in range(100):
            for _ in range(100):
                self.assertEqual(client.request("GET", "/x").status, 201)
            lost = self.gateway.metrics()["recibo_log_lost_total"]
            if lost > 0:
                break
        self.assertGreater(lost, 0)
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(self.gateway.process.wait(30), 0)

    def test_a_reader_who_is_gone(self):
        """A closed pipe loses lines and nothing else."""
        self.start(log={"access": True})
        self.gateway.write_configuration()
        self.gateway.stop()
        read_end, write_end = os.pipe()
        self.gateway.process = subprocess.Popen(
            [BINARY, "serve", "-c", self.gateway.path], cwd=self.gateway.directory,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=write_end)
        os.close(write_end)
        self.gateway.wait_ready()
        os.close(read_end)
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        wait_until(lambda: self.gateway.metrics()["recibo_log_lost_total"] > 0)
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(self.gateway.process.wait(30), 0)


TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "00-%s-b7ad6b7169203331-01" % TRACE


class Trace(Guarded):
    def passed(self, *headers):
        self.gateway.request("GET", "/x", list(headers))
        head = self.upstream.last
        return head.get("traceparent"), head.all("tracestate")

    def test_it_is_passed_on(self):
        """The id and the flags stay, the parent is new; the state passes line by line."""
        self.start()
        for state in ("a=1", "a=1,b=2", "a@b=x y", "0k=1", "a=1, ,b=2", ""):
            parent, states = self.passed(("traceparent", PARENT), ("tracestate", state))
            self.assertRegex(parent, r"\A00-%s-[0-9a-f]{16}-01\Z" % TRACE)
            self.assertNotEqual(parent, PARENT)
            self.assertEqual(states, [state])
        many = ",".join("k%d=v" % n for n in range(32))
        self.assertEqual(self.passed(("traceparent", PARENT), ("tracestate", many))[1], [many])
        two = self.passed(("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "b=2"))
        self.assertEqual(two[1], ["a=1", "b=2"])

    def test_a_bad_state_is_dropped(self):
        """It does not void the parent."""
        self.start()
        many = ",".join("k%d=v" % n for n in range(33))
        for state in ("a", "=1", "A=1", "a=1=2", "a=1,a=2", "a=caf\u00e9", "a=", many, "a b=1",
                      "x" * 257 + "=1", "a=" + "x" * 257):
            with self.subTest(state=state[:20]):
                parent, states = self.passed(("traceparent", PARENT),
                                             ("tracestate", state.encode("utf-8").decode("latin-1")))
                self.assertIn(TRACE, parent)
                self.assertEqual(states, [])
        twice = self.passed(("traceparent", PARENT), ("tracestate", "a=1"), ("tracestate", "a=2"))
        self.assertEqual(twice[1], [])

    def test_a_bad_parent_begins_anew(self):
        """And its state is none."""
        self.start()
        for bad in (PARENT.upper(), "ff" + PARENT[2:], PARENT + "-x", PARENT[:-1], "00-" + "0" * 32 +
                    PARENT[35:], PARENT.replace("b7ad6b7169203331", "0" * 16), "x", ""):
            with self.subTest(bad=bad):
                parent, states = self.passed(("traceparent", bad), ("tracestate", "a=1"))
                self.assertNotIn(TRACE, parent)
                self.assertEqual(states, [])
        parent, _ = self.passed(("traceparent", PARENT), ("traceparent", PARENT))
        self.assertNotIn(TRACE, parent)
        parent, _ = self.passed(("traceparent", "cc" + PARENT[2:] + "-future"))
        self.assertIn(TRACE, parent)

    def test_it_is_kept(self):
        """The attempt of the receipt and the log have the id; a replay starts no call."""
        self.start(log={"format": "json", "access": True})
        told = self.gateway.post("k1", ORDER, headers={"traceparent": PARENT})
        attempt = self.operation_of(told)["attempts"][0]
        self.assertEqual(attempt["trace_id"], TRACE)
        wait_until(lambda: '"trace":"%s"' % TRACE in self.gateway.log())


if __name__ == "__main__":
    main()
