"""Memory runs out in the middle of anything: each allocation of each kind of call fails
once, then many in a row, and at the start one of those on the way. Nobody's operation
runs twice, what a caller was told holds in the next life, nothing stays pending or
held, and a process that ends says why.

The gateway is the build's tests/recibo-trouble, which counts the allocations of the
program and of its libraries and fails the n-th one when a test says so. Two libraries
are spared where it would be their end and not ours: OpenSSL's digests, for which there
is a test of its own, and evhttp, which follows a pointer that it did not get.
RECIBO_ALLOC_STARTS sets how many starts are tried.
"""

import os
import re
import stat
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, Guarded  # noqa: E402
from harness import (Closed, Upstream, WireError, answer, fetch, fin, main, orders,  # noqa: E402
                     rest, scratch, wait_until)
from trouble import DIGESTS, EVHTTP, NEVER, troubled  # noqa: E402

STARTS = int(os.environ.get("RECIBO_ALLOC_STARTS", "24"))
STARTS_FIRST = 10      # tried one by one: the file is found and read with these
STORIES_MAX = 2000     # more allocations than any single call makes
STORIES_FIRST = 40     # stories may be without a strike that early only by mistake
BURST = 25             # allocations in a row that fail
BURST_STRIDE = 9
PATIENCE_S = 20.0      # a caller who hears nothing for so long is forgotten
ORDER, CHANGED = {"order": 7}, {"order": 8}
CALL = "X-Call"        # says at the upstream which call it is: the key is not passed on
BODY = {"ticket": 1, "text": "x" * 3000}
GAUGES = ("recibo_in_flight", "recibo_late_listening")
# What may end the process in service: without a digest there is no identity, and without
# an event nobody hears of a connection again.
ENDS = re.compile(r"^recibo: assertion failed: .*\((?:\S*/)?"
                  r"(?:base/digest|store/row|gateway/client|gateway/client_write)\.c:\d+\)$",
                  re.MULTILINE)
TRIES = 14             # allocations of one call, most of them of OpenSSL's
BLOCK = 4000           # a little less than a block of a flow's own memory
TARGET_BYTES_MAX = 2000
TARGET_STRIDE = 16
BLOCKS_MAX = 5         # of one call
TRACE = re.compile(r"^(?:trouble: .*|\S*\(.*\)? ?\[0x[0-9a-f]+\])$")


class Memory(Guarded):
    def begin(self, start=True):
        self.upstream = self.use(Upstream())
        self.upstream.on_request = self.serve
        changes = {"routes": [orders(breaker="none", **AT_ONCE), rest()]}
        self.gateway = self.use(troubled(self.upstream, changes, scratch("alloc-")))
        self.trouble = self.use(self.gateway.trouble)
        self.told, self.in_doubt, self.struck = {}, set(), 0
        self.reached = False
        self.first, self.count, self.least = NEVER, 1, 0
        self.ends, self.hurt = 0, set()  # hurt: keys of calls under which something failed
        self.trouble.spare(DIGESTS, EVHTTP)
        if start:
            self.gateway.start()

    def serve(self, request):
        """Calls named b... are carried out and their answer is lost."""
        if (request.get(CALL) or "").startswith("b"):
            return fin()
        return answer(201 if request.method == "POST" else 200, body=BODY)

    def sent(self, key):
        return [head for head in self.upstream.heads if head.get(CALL) == key]

    # ---- one call under trouble ----

    def under(self, call):
        """call() while memory runs out as self.first and self.count say; -> its answer, or
        None when the connection ended without one, and whether anything failed."""
        self.trouble.fail(self.first, self.count, self.least)
        try:
            response = call()
        except (Closed, ConnectionError):
            response = None
        failed = self.trouble.relent() > 0
        self.reached = self.reached or self.trouble.calls >= self.first
        self.struck += failed
        if response is None:
            self.assertTrue(failed, "the connection ended, and no allocation had failed")
            self.live_on()
        return response, failed

    def live_on(self):
        """If that was the end of the process, it was one of those that are named; next life."""
        try:
            if fetch(self.gateway.admin_port, "GET", "/healthz").status == 200:
                return
        except (OSError, WireError):
            pass  # it is going, or gone
        self.gateway.process.wait()
        log = self.gateway.log()
        self.assertRegex(log, ENDS)
        self.assertEqual(log.count("assertion failed"), 1, log[-4000:])
        self.ends += 1
        os.truncate(self.gateway.stderr_path, 0)
        self.gateway.start()

    def post(self, key, body=None):
        return self.gateway.post(key, ORDER if body is None else body, headers={CALL: key},
                                 timeout=PATIENCE_S)

    def note(self, key, response, failed, wanted):
        """An answer to a call with this key and the first body: does it fit what was told
        before, and is it what the call deserves, if memory was there?"""
        sent, before = self.sent(key), self.told.get(key)
        self.assertLessEqual(len(sent), 1, "%s was sent again" % key)
        if failed:
            self.hurt.add(key)
        if response is None:
            return
        outcome = response.get("Idempotency-Status")
        if response.status == 201:
            self.assertIn(outcome, ("executed", "replayed"))
            self.assertEqual(response.json(), BODY)
            self.assertIn(before, (None, response.body), key)
            self.told[key] = response.body
            return
        problem = response.json()
        if problem.get("safe_new_key"):
            self.assertEqual((sent, before), ([], None), "%s: %r" % (key, response))
        if outcome == "unknown":
            self.assertIsNone(before, "%s had an answer: %r" % (key, response))
            self.in_doubt.add(key)
        if response.status < 500:
            self.assertIn(problem["code"], ("outcome-unknown", "request-in-progress"), response)
        self.assertTrue(key in self.hurt or outcome in wanted, response)

    def call(self, key, wanted, body=None):
        response, failed = self.under(lambda: self.post(key, body))
        self.note(key, response, failed, wanted)

    def changed(self, key):
        """Another body under a key that has its answer."""
        response, failed = self.under(lambda: self.post(key, CHANGED))
        self.assertLessEqual(len(self.sent(key)), 1)
        if response is not None and not (failed and response.status >= 500):
            self.assert_problem(response, 422, "key-reused")

    def look(self, path):
        """An operator looks; what is not a whole answer is a refusal, or none at all."""
        response, failed = self.under(lambda: self.gateway.admin("GET", path))
        if response is not None:
            self.assertTrue(response[0] == 200 or failed and response[0] >= 400, response)

    def passes(self):
        response, failed = self.under(lambda: self.gateway.request("GET", "/page"))
        if response is not None:
            self.assertTrue(response.status == 200 or failed and response.status >= 500, response)
            self.assertTrue(response.status >= 500 or response.json() == BODY)

    def settle_it(self, key):
        """A verdict; once it was accepted it holds."""
        found = self.gateway.operations(key=key)
        if not found or found[0]["state"] != "unknown":
            return
        operation = self.gateway.operation(found[0]["id"])
        said = {"verdict": "abandoned", "version": operation["version"], "note": "looked"}
        path = "/v1/operations/%s/settle" % operation["id"]
        response, failed = self.under(lambda: self.gateway.admin("POST", path, said))
        now = self.gateway.operation(operation["id"])
        self.assertIn(now["state"], ("unknown", "abandoned"))
        if response is not None and response[0] == 200:
            self.assertEqual(now["state"], "abandoned")
        self.assertTrue(failed or response[0] == 200, response)

    def story(self, name):
        """Each kind of call once, each with its own n-th allocation failing;
        -> did any of them get as far as the n-th?"""
        self.reached = False
        done, lost = "a-%s" % name, "b-%s" % name
        self.call(done, ("executed",))
        self.call(done, ("executed", "replayed"))
        if done in self.told:
            self.changed(done)
        self.call(lost, ("unknown",))
        self.call(lost, ("unknown",))
        self.look("/v1/operations")
        self.look("/metrics")
        self.settle_it(lost)
        self.passes()
        return self.reached

    # ---- afterwards ----

    def at_rest(self, is_settled=True):
        """With memory again, nothing is left of what went wrong: no flow, no place taken.
        is_settled: and nothing waits for the end of a lease."""
        def left():
            values = self.gateway.metrics()
            held = [name for name, value in values.items()
                    if name.split("{")[0] in GAUGES and value > 0]
            return held + (self.gateway.operations(state="pending") if is_settled else [])
        wait_until(lambda: not left(), text=lambda: "still there: %r" % left())

    def judge(self):
        """In a life with all the memory: what was told holds, and nothing is sent again."""
        self.assertEqual(self.gateway.operations(state="pending"), [])
        for key, body in self.told.items():
            response = self.post(key)
            self.assertEqual((response.status, response.body), (201, body), key)
            self.assertEqual(response.get("Idempotency-Status"), "replayed")
        for key in self.in_doubt:
            ran = bool(self.sent(key))
            status = self.post(key).get("Idempotency-Status")
            may_be = ("unknown", "abandoned", "replayed") if ran else ("executed", "unknown")
            self.assertIn(status, may_be, key)
            self.assertLessEqual(len(self.sent(key)), 1, key)
        calls = [head.get(CALL) for head in self.upstream.heads if head.get(CALL)]
        self.assertEqual(len(calls), len(set(calls)), "sent twice")


class Serving(Memory):
    def test_each_allocation_fails_once(self):
        """The n-th allocation of each call fails, for every n there is."""
        self.begin()
        self.story("warm")
        for number in range(1, STORIES_MAX):
            self.first = number
            if not self.story(str(number)):
                break
        self.assertGreater(number, STORIES_FIRST, "hardly anything was struck")
        self.assertLess(number, STORIES_MAX - 1, "the calls never ran out of allocations")
        self.assertGreater(self.struck, number)
        self.at_rest()
        self.assertEqual(self.gateway.stop(), 0)
        self.gateway.start()
        self.judge()

    def test_memory_is_out_for_a_while(self):
        """Many allocations in a row fail; then, without a restart, all is as it was."""
        self.begin()
        self.story("warm")
        self.count = BURST
        for number in range(1, STORIES_MAX, BURST_STRIDE):
            self.first = number
            if not self.story(str(number)):
                break
        self.count = NEVER // 2
        for number in range(1, 10):
            self.first = number
            self.story("out-%d" % number)
            self.assertTrue(self.reached)
        self.first = NEVER
        self.at_rest(is_settled=False)
        self.story("after")
        self.assertNotIn("a-after", self.hurt)
        self.assertIn("a-after", self.told)
        self.gateway.kill9()
        self.gateway.start()
        self.judge()

    def test_a_digest_that_cannot_be_made(self):
        """It may end the process, which says so; nothing is lost or sent again by that."""
        self.begin()
        self.story("warm")
        self.trouble.spare(EVHTTP)
        for number in range(1, TRIES):
            self.first = number
            self.call("a-%d" % number, ("executed",))
            self.call("a-%d" % number, ("executed", "replayed"))
        self.assertGreater(self.struck, TRIES)
        self.trouble.spare(DIGESTS, EVHTTP)
        self.at_rest()
        self.judge()


class Identity(Memory):
    """A key that is put together from pieces is whole, or it is none."""

    def begin_pairs(self):
        self.begin(start=False)
        pairs = orders(name="pairs", match={"methods": ["POST"], "path": "/pairs"}, breaker="none",
                       fingerprint={"mode": "json", "headers": ["X-Kind"]})
        pairs["key"] = {"from": "all", "of": [{"from": "header", "name": "X-Customer"},
                                              {"from": "json", "pointer": "/order"}]}
        self.gateway.changes["routes"] = [pairs, rest()]
        self.gateway.upstream_url += "/legacy"  # the target is put together, too
        self.gateway.start()

    def pair(self, number, target):
        return self.gateway.request(
            "POST", target, [("X-Customer", "customer-%d" % number), (CALL, str(number)),
                             ("X-Kind", "a"), ("X-Kind", "b"),
                             ("Content-Type", "application/json")],
            {"order": "order-%d" % number}, timeout=PATIENCE_S)

    def try_pair(self, number, target):
        """One block is missing somewhere on the way; the repeat has all it needs."""
        first, _ = self.under(lambda: self.pair(number, target))
        repeat = self.pair(number, target)
        if first is not None and first.status != 201:
            self.assertGreaterEqual(first.status, 500, first)
            sent = self.sent(str(number))
            self.assertTrue(sent or first.json().get("safe_new_key") is not False)
        told = repeat.get("Idempotency-Status")
        self.assertIn(told, ("executed", "replayed", "unknown"), "%r then %r" % (first, repeat))
        if first is not None and first.status == 201:
            self.assertEqual(told, "replayed", number)
            self.assertTrue(repeat.body == first.body, number)
        self.assertEqual([head.target for head in self.sent(str(number))], ["/legacy" + target],
                         "%r then %r" % (first, repeat))

    def test_no_half_key_is_taken_for_a_whole_one(self):
        """Wherever a block of memory is missing: sent once, to the right target, under its key."""
        self.begin_pairs()
        number, self.least = 0, BLOCK
        for size in range(0, TARGET_BYTES_MAX, TARGET_STRIDE):
            for self.first in range(1, BLOCKS_MAX + 1):
                number += 1
                self.try_pair(number, "/pairs?%s" % ("x" * size))
        self.assertGreater(self.struck, number // 2)
        keys = {operation["key"] for operation in self.gateway.operations(limit=500)}
        for key in keys:
            self.assertRegex(key, r"\A\d+:customer-(\d+)\d+:order-\1\Z")


class Starting(Memory):
    def elsewhere(self):
        """The program is started in another folder than its files lie in."""
        path = os.path.join(self.gateway.directory, "started-elsewhere")
        with open(path, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nmkdir -p elsewhere && cd elsewhere && exec "%s" "$@"\n'
                       % self.gateway.binary)
        os.chmod(path, stat.S_IRWXU)
        self.gateway.binary = path

    def test_an_allocation_on_the_way_to_ready_fails(self):
        """Either it gets ready and keeps what was told, or it ends and says why."""
        self.begin()
        self.story("before")
        self.gateway.kill9()
        self.elsewhere()
        self.trouble.count()
        self.gateway.start()
        total = self.trouble.calls
        self.trouble.relent()
        self.gateway.kill9()
        self.assertGreater(total, STARTS_FIRST)
        numbers = [*range(1, STARTS_FIRST), *range(STARTS_FIRST, total, max(1, total // STARTS))]
        self.assertIn(False, [self.start_with(number) for number in numbers], "nothing was struck")
        self.trouble.relent()
        self.gateway.start()
        self.judge()
        self.story("after")
        self.assertIn("a-after", self.told)

    def start_with(self, number):
        """Starts with the n-th allocation failing; -> did it get ready?"""
        os.truncate(self.gateway.stderr_path, 0)
        self.trouble.fail(number)
        self.gateway.launch()
        try:
            self.gateway.wait_ready()
        except WireError:
            self.assertEqual(self.trouble.relent(), 1, self.gateway.log())
            self.assert_says_why(number)
            return False
        self.trouble.relent()
        self.judge()
        self.assertEqual(self.gateway.stop(), 0)
        return True

    def assert_says_why(self, number):
        """It ended by itself, and with a sentence."""
        code = self.gateway.process.wait()
        log = self.gateway.log()
        said = [line for line in log.splitlines() if line.strip() and not TRACE.match(line)]
        context = "allocation %d: %s\n%s" % (number, code, log)
        if not ENDS.search(log):
            self.gateway.check_sanitizers()
            self.assertIn(code, (1, 2), context)
        self.assertTrue(any(re.search(r"memory|cannot|could not|assertion", line)
                            for line in said), context)


if __name__ == "__main__":
    main()
