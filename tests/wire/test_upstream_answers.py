"""What an upstream may send, from the table of cases, against the real gateway: each
script leaves the receipt in the state that the case names, after exactly one send.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, SOON, Guarded  # noqa: E402
from harness import ROOT, answer, dribble, main, orders, raw, rest, stall  # noqa: E402

CASES = os.path.join(ROOT, "tests", "data", "http1", "raw-upstream-response-cases.json")
STANDS_STILL = {"u08", "u44"}  # these end by a timeout; everything else is judged at once


def load():
    with open(CASES, encoding="utf-8") as file:
        return json.load(file)["cases"]


def action(step, piecewise=False):
    """What the upstream does with one request of a script."""
    data = step.get("send", "").encode("latin-1")
    close = step["then"] != "keep open"
    return dribble(data, close=close) if piecewise else raw(data, close=close)


class UpstreamAnswers(Guarded):
    def begin(self, soon):
        upstream = dict(SOON if soon else {})
        self.start(routes=[orders(breaker="none"), rest()], upstream=upstream)

    def run_script(self, case, piecewise):
        """The first steps prepare the connection; the last one that is asked for counts."""
        self.upstream.forget()
        steps = case["script"][:case["requests"]]
        self.upstream.script(*[raw(step.get("send", "").encode("latin-1"), close=False)
                               for step in steps[:-1]], action(steps[-1], piecewise))
        for number in range(len(steps) - 1):
            before = self.gateway.post("%s-%d" % (case["id"], number), ORDER)
            self.assertEqual(before.status, 200)
        return self.gateway.post(case["id"] + "-last", ORDER)

    def judge(self, case, response):
        expected = case["expect_receipt"]
        operation = self.operation_of(response)
        state = operation["state"]
        states = {"complete": ["completed"], "unknown": ["unknown"],
                  "complete_or_policy": ["completed", "unknown"]}[expected]
        self.assertIn(state, states, operation)
        repeat = self.gateway.post(case["id"] + "-last", ORDER)
        if state == "completed":
            self.assert_replay(response, repeat)
            self.assertEqual(operation["end"], "answered")
        else:
            self.assertIn(response.status, (502, 504))
            self.assert_unknown_repeat(repeat)
            timed_out = operation["end"] in ("answer_timeout", "idle_timeout")
            self.assertEqual(timed_out, case["id"] in STANDS_STILL, operation["end"])
        self.assertEqual(self.upstream.sends, case["requests"])
        return operation

    def run_all(self, piecewise):
        for soon in (False, True):
            self.begin(soon)
            for case in load():
                is_soon = case["expect_receipt"] == "unknown"
                if case["method"] != "POST" or is_soon != soon:
                    continue
                with self.subTest(id=case["id"], name=case["name"]):
                    self.judge(case, self.run_script(case, piecewise))

    def test_in_one_write(self):
        """Each answer in one write."""
        self.run_all(False)

    def test_byte_by_byte(self):
        """Each answer a byte at a time."""
        self.run_all(True)

    def test_answers_without_a_body(self):
        """HEAD and 304 have no body whatever their length says; they pass as they are."""
        self.begin(False)
        for case in load():
            if case["method"] == "POST":
                continue
            with self.subTest(id=case["id"]):
                self.upstream.forget()
                self.upstream.script(action(case["script"][0]))
                response = self.gateway.request(case["method"], "/thing")
                self.assertEqual(response.body, b"")
                self.assertIn(response.status, (200, 304))
                self.assertEqual(response.get("Content-Length"), "5")
                self.assertEqual(self.upstream.sends, 1)

    def test_interim_answers_are_not_the_outcome(self):
        """1xx are dropped and never stored, but not without end."""
        self.begin(False)
        early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
        whole = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok"
        self.upstream.script(raw(early * 16 + whole, close=False))
        first = self.gateway.post("k1", ORDER)
        self.assertEqual((first.status, first.body, first.interim), (201, b"ok", []))
        self.assertNotIn("Link", first.headers)
        self.assert_replay(first, self.gateway.post("k1", ORDER))
        self.upstream.script(raw(early * 200 + whole, close=False))
        self.assert_state(self.gateway.post("k2", ORDER), "unknown", "bad_answer", sends=2)

    def test_nothing_is_made_up(self):
        """No type where the upstream gave none; its reason and odd fields pass as they are."""
        self.begin(False)
        self.upstream.script(raw(b"HTTP/1.1 200 Fine by me\r\nX-ODD:  a b \r\nx-odd: c\r\n"
                                 b"Content-Length: 1\r\n\r\nx", close=False))
        first = self.gateway.post("k1", ORDER)
        self.assertEqual((first.reason, first.all("X-Odd")), ("Fine by me", ["a b", "c"]))
        self.assertIn(b"\r\nX-ODD: ", first.raw_head)
        repeat = self.gateway.post("k1", ORDER)
        for response in (first, repeat):
            self.assertNotIn("Content-Type", response.headers)
            self.assertIsNotNone(response.get("Date"))

    def test_an_early_answer_is_the_answer(self):
        """An answer before the body was read is recorded; the rest is not sent."""
        self.start(route={"request_body_max": "16MiB", "fingerprint": {"mode": "raw"},
                          "labels": {"order": {"json": None, "header": "X-Order"}},
                          "limits": {"route_in_flight": 2, "owner_in_flight": 2}},
                   limits={"late_max": 2})
        early = answer(413, body=b"too much")
        self.upstream.on_head = lambda request: lambda ex: early(ex) and stall()(ex)
        body = b"x" * (12 << 20)
        first = self.gateway.post("k1", body)
        self.assert_passed_on(first, 413, "executed", b"too much")
        operation = self.assert_state(first, "completed", "answered", sends=0)
        self.assertLess(operation["attempts"][0]["bytes_out"], len(body))
        self.assert_replay(first, self.gateway.post("k1", body))
        self.assertEqual(len(self.upstream.heads), 1)


if __name__ == "__main__":
    main()
