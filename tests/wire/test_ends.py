"""Every way an attempt can end is produced over real sockets and read back from the
operator's plane: the end's name, what it proves, and the state of the receipt.

"Not sent" must mean that not one byte of the request had left; everything after that
byte and before a whole answer must be in doubt.
"""

import os
import re
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ANY, ORDER, SOON, Background, Guarded, send_post  # noqa: E402
from harness import (ROOT, Closed, FullBacklog, answer, chunked, cut, dribble,  # noqa: E402
                     encode_answer, fin, hang, main, orders, raw, reset, rest, stall, wait)

TESTS = {
    "dns_failed": "test_dns_failed",
    "connect_refused": "test_connect_refused",
    "connect_timeout": "test_connect_timeout",
    "queue_timeout": "test_queue_timeout",
    "answered": "test_answered",
    "send_stalled": "test_send_stalled",
    "answer_timeout": "test_answer_timeout",
    "idle_timeout": "test_idle_timeout",
    "closed_no_answer": "test_closed_no_answer",
    "reset_no_answer": "test_reset_no_answer",
    "cut_answer": "test_cut_answer",
    "bad_answer": "test_bad_answer",
    "answer_too_large": "test_answer_too_large",
    "drained": "test_drained",
    "crashed": "test_crashed",
}
# tls_failed: test_tls_upstream.py has each kind of it. stale_connection: a kept connection is
# looked at right before it is used, so the end needs a close inside that one instant.
NOT_HERE = {"none", "tls_failed", "stale_connection"}
BIG = 24 << 20


class Vocabulary(Guarded):
    def test_no_end_is_forgotten(self):
        """Each end of the closed vocabulary has a test here, or a reason why not."""
        with open(os.path.join(ROOT, "policy", "ends.def"), encoding="utf-8") as file:
            names = set(re.findall(r"^END\((\w+),", file.read(), re.MULTILINE))
        self.assertEqual(names, set(TESTS) | NOT_HERE)
        for method in TESTS.values():
            self.assertTrue(hasattr(NotSent, method) or hasattr(Unclear, method), method)


class NotSent(Guarded):
    """The proofs: no byte left, the key is free."""

    def assert_proved(self, response, end):
        self.assert_told(response, 502, "upstream-unreachable", "released", state="released",
                         retry=True, new_key=True, retry_after=ANY)
        operation = self.assert_state(response, "released", end, "proved")
        last = operation["attempts"][-1]
        self.assertEqual((last["bytes_out"], last["sent_at"], last["status"]), (0, None, None))
        self.assertEqual([o["id"] for o in self.gateway.operations(end=end)], [operation["id"]])

    def test_dns_failed(self):
        """A name that nobody has."""
        self.start(url="http://no-such-host.invalid:9")
        self.assert_proved(self.gateway.post("k1", ORDER), "dns_failed")

    def test_connect_refused(self):
        """A port that nobody listens on."""
        self.start()
        self.upstream.refuse()
        self.assert_proved(self.gateway.post("k1", ORDER), "connect_refused")

    def test_connect_timeout(self):
        """A listener whose queue is full swallows the connection."""
        full = self.use(FullBacklog())
        self.start(url=full.url, upstream={"timeouts": {"connect": "300ms"}})
        self.assert_proved(self.gateway.post("k1", ORDER), "connect_timeout")

    def test_queue_timeout(self):
        """All connections are taken: the second call gives up waiting, the first goes on."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.start(wait(release, answer(201)),
                   upstream={"timeouts": {"connect": "300ms"}, "connections": {"max": 1}})
        first = Background(lambda: self.gateway.post("k1", ORDER))
        self.upstream.wait_for(1)
        self.assert_proved(self.gateway.post("k2", ORDER), "queue_timeout")
        release.set()
        self.assert_passed_on(first.result(), 201, "executed")
        self.assert_passed_on(self.gateway.post("k2", ORDER), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)

    def test_a_kept_connection_that_was_closed(self):
        """The upstream closed in between: a fresh connection, no failure, one send each."""
        self.start()
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        for number, with_reset in enumerate((False, True)):
            self.upstream.drop_connections(with_reset)
            self.upstream.wait_open(0)
            response = self.gateway.post("again-%d" % number, ORDER)
            self.assert_passed_on(response, 201, "executed")
            self.assert_state(response, "completed", attempts=1)
        self.assertEqual(self.upstream.sends, 3)

    def test_a_kept_connection_with_unread_bytes(self):
        """What comes unasked on a kept connection answers nobody."""
        self.start()
        stray = encode_answer(200, (), b"stray")
        self.upstream.script(raw(encode_answer(201, (), b"mine") + stray, close=False))
        self.assertEqual(self.gateway.post("k1", ORDER).body, b"mine")
        second = self.gateway.post("k2", ORDER)
        self.assertEqual((second.status, second.json()), (201, {"ticket": 1}))
        self.assertEqual((self.upstream.sends, self.upstream.connections), (2, 2))


class Unclear(Guarded):
    """After the first byte: doubt, whatever else is known."""

    def assert_lost(self, response, status, code, end, sends=1):
        self.assert_told(response, status, code, "unknown", state="unknown", new_key=False,
                         retry_after=False)
        operation = self.assert_state(response, "unknown", end, "none", sends=sends)
        last = operation["attempts"][-1]
        self.assertGreater(last["bytes_out"], 0)
        self.assertIsNotNone(last["sent_at"])
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, sends)
        return last

    def test_answered(self):
        """A whole answer: bytes in and out and the status are on record."""
        self.start(answer(201, body=b"12345"))
        response = self.gateway.post("k1", ORDER)
        operation = self.assert_state(response, "completed", "answered", "none", sends=1)
        last = operation["attempts"][0]
        self.assertEqual((last["number"], last["status"]), (1, 201))
        self.assertEqual(last["bytes_in"], len(encode_answer(201, (), b"12345")))
        self.assertEqual(last["bytes_out"], len(self.upstream.last.raw))
        self.assertEqual(last["upstream"], "127.0.0.1:%d" % self.upstream.port)
        for name in ("started_at", "sent_at", "ended_at", "trace_id", "conf_hash"):
            self.assertTrue(last[name], name)

    def test_send_stalled(self):
        """An upstream that stops taking the request."""
        self.start(upstream={"timeouts": {"send": "400ms"}},
                   route={"request_body_max": BIG, "fingerprint": {"mode": "raw"},
                          "labels": {"order": {"json": None, "header": "X-Order"}},
                          "limits": {"route_in_flight": 2, "owner_in_flight": 2}},
                   limits={"late_max": 2})
        self.upstream.on_head = lambda request: stall()
        body = b"x" * BIG
        response = self.gateway.post("k1", body)
        self.assert_told(response, 504, "upstream-timeout", "unknown", state="unknown",
                         new_key=False, retry_after=False)
        operation = self.assert_state(response, "unknown", "send_stalled", "none", sends=0)
        self.assertTrue(0 < operation["attempts"][0]["bytes_out"] < BIG)
        self.assert_unknown_repeat(self.gateway.post("k1", body))
        self.assertEqual(len(self.upstream.heads), 1)

    def test_answer_timeout(self):
        """No first byte, and an answer that goes on for ever: both are out of time."""
        self.start(upstream=SOON)
        self.upstream.script(hang())
        self.assert_lost(self.gateway.post("k1", ORDER), 504, "upstream-timeout",
                         "answer_timeout")
        endless = encode_answer(200, [("Content-Length", "100000")], b"x" * 100000)
        self.upstream.script(dribble(endless, 1, 0.05))
        response = self.gateway.post("k2", ORDER)
        self.assert_told(response, 504, "upstream-timeout", "unknown", state="unknown",
                         new_key=False, retry_after=False)
        self.assert_state(response, "unknown", "answer_timeout", "none", sends=2)

    def test_idle_timeout(self):
        """An answer that begins and then stands still; not a byte of it is passed on."""
        self.start(upstream={"timeouts": {"idle": "300ms"}})
        begun = encode_answer(200, [("Content-Length", "10")], b"half")
        self.upstream.script(lambda exchange: exchange.send(begun) or hang()(exchange))
        last = self.assert_lost(self.gateway.post("k1", ORDER), 504, "upstream-timeout",
                                "idle_timeout")
        self.assertEqual((last["status"], last["bytes_in"]), (200, len(begun)))

    def test_closed_no_answer(self):
        """An orderly close where an answer was due."""
        self.start(fin())
        self.assert_lost(self.gateway.post("k1", ORDER), 502, "upstream-bad-response",
                         "closed_no_answer")

    def test_reset_no_answer(self):
        """A reset where an answer was due, on a fresh and on a kept connection."""
        self.start()
        self.assertEqual(self.gateway.post("k0", ORDER).status, 201)
        self.upstream.script(reset())
        self.assert_lost(self.gateway.post("k1", ORDER), 502, "upstream-bad-response",
                         "reset_no_answer", sends=2)

    def test_cut_answer(self):
        """Each way an answer can break off."""
        whole = encode_answer(200, (), b"0123456789")
        cases = [cut(4, body=b"0123456789"), cut(4, body=b"0123456789", with_reset=True),
                 cut(0, body=b"0123456789"), chunked([b"abc"], end=False),
                 raw(whole[:9]), raw(whole[:len(whole) - 14]),
                 raw(b"HTTP/1.1 100 Continue\r\n\r\n")]
        self.start(route={"breaker": "none"})
        for number, action in enumerate(cases):
            with self.subTest(number=number):
                self.upstream.script(action)
                response = self.gateway.post("cut-%d" % number, ORDER)
                self.assert_told(response, 502, "upstream-bad-response", "unknown",
                                 state="unknown", new_key=False, retry_after=False)
                self.assert_state(response, "unknown",
                                  "cut_answer" if number < 6 else ANY, "none", sends=number + 1)

    def test_bad_answer(self):
        """What is no HTTP, and what speaks another version of it."""
        self.start(route={"breaker": "none"})
        for number, data in enumerate((b"hello\r\n\r\n", b"HTTP/2.0 200 OK\r\n\r\n",
                                       b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
                                       b"\x16\x03\x01\x00\x00",
                                       b"HTTP/1.1 200 OK\r\n bad\r\n\r\n")):
            with self.subTest(data=data):
                self.upstream.script(raw(data + b"\r\n\r\n"))
                response = self.gateway.post("bad-%d" % number, ORDER)
                self.assert_told(response, 502, "upstream-bad-response", "unknown",
                                 state="unknown", new_key=False, retry_after=False)
                self.assert_state(response, "unknown", "bad_answer", "none", sends=number + 1)

    def test_answer_too_large(self):
        """Over limits.answer_body_max, declared or not; and a head without end."""
        self.start(route={"breaker": "none", "replay_body_max": "2KiB"},
                   limits={"answer_body_max": "4KiB"})
        cases = [answer(200, body=b"x" * 4097), chunked([b"x" * 2048, b"x" * 2049]),
                 answer(200, [("X-Long", "x" * 70000)]), answer(200, [("X", "1")] * 120)]
        for number, action in enumerate(cases):
            with self.subTest(number=number):
                self.upstream.script(action)
                response = self.gateway.post("large-%d" % number, ORDER)
                self.assert_told(response, 502, "upstream-bad-response", "unknown",
                                 state="unknown", new_key=False, retry_after=False)
                self.assert_state(response, "unknown", "answer_too_large", "none",
                                  sends=number + 1)
        self.upstream.script(answer(200, body=b"x" * 4096))
        self.assert_passed_on(self.gateway.post("fits", ORDER), 200, "executed", b"x" * 4096)

    def test_drained(self):
        """Stopped while the answer was outstanding: recorded before the process ends."""
        self.start(hang(), drain="300ms")
        client = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.gateway.signal(signal.SIGTERM)
        response = client.read_response()
        self.assert_told(response, 504, "upstream-timeout", "unknown", state="unknown",
                         new_key=False, retry_after=False)
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.gateway.restart()
        self.assert_state(response, "unknown", "drained", "none")
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 1)

    def test_crashed(self):
        """Killed while the answer was outstanding: found at the next start, never resent."""
        self.start(hang(), routes=[orders(), rest()])
        client = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.gateway.kill9()
        with self.assertRaises(Closed):
            client.read_response()
        self.gateway.restart()
        operation = self.only_operation()
        self.assertEqual((operation["state"], operation["end"], len(operation["attempts"])),
                         ("unknown", "crashed", 1), operation)
        self.assertEqual(operation["attempts"][0]["basis"], "none")
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        self.assertEqual(self.upstream.sends, 1)


if __name__ == "__main__":
    main()
