"""Everything a test over real sockets needs, under one name.

    import os, sys
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
    from harness import Gateway, Upstream, answer, main

    class Replay(Case):
        def test_a_repeat_is_replayed(self):
            \"\"\"A repeat of a completed operation gets the same answer and is not sent.\"\"\"
            upstream = self.use(Upstream(answer(201, body={"id": 1})))
            gateway = self.use(Gateway(upstream))
            first = gateway.post("k1", {"order": 7})
            ...

    if __name__ == "__main__":
        main()

What a test made with self.use() is closed behind it, the last first.
"""

import sys
import unittest

from gateway_process import (BINARY, BUILD, ROOT, Gateway, configuration, free_port,  # noqa: F401
                             merge, orders, pause, plain, rest, scratch,
                             wait_until)
from legacy_process import LEGACY, LegacyTickets  # noqa: F401
from wire_client import Client, Response, fetch, parallel  # noqa: F401
from wire_message import Closed, Headers, Reader, WireError, encode_head, parse_head  # noqa: F401
from wire_upstream import (Exchange, FullBacklog, Received, Upstream, answer,  # noqa: F401
                           chunked, close_delimited, cut, delay, dribble, encode_answer, fin, hang,
                           interim, raw, reset, stall, wait)


class Case(unittest.TestCase):
    """A test case that closes what it used and shows the gateway's words on failure."""

    maxDiff = None

    def use(self, thing):
        """Enters a context manager that is left when the test is over."""
        thing.__enter__()
        self.addCleanup(self._leave, thing)
        return thing

    def _leave(self, thing):
        kind = AssertionError if self.has_failed() else None
        thing.__exit__(kind, None, None)
        if isinstance(thing, Upstream) and kind is None:
            thing.check()

    def has_failed(self):
        """Did the test itself fail? Known before the cleanups run."""
        outcome = getattr(self, "_outcome", None)
        if outcome is None:
            return False
        if getattr(outcome, "result", None) is not None and hasattr(outcome.result, "failures"):
            broken = outcome.result.failures + outcome.result.errors
            if any(test is self for test, _ in broken):
                return True
        return not getattr(outcome, "success", True)

    def assert_problem(self, response, status, code):
        """A problem+json answer with this status and code; -> its members."""
        self.assertEqual(response.status, status, response)
        self.assertEqual(response.get("Content-Type"), "application/problem+json")
        problem = response.json()
        self.assertEqual(problem["code"], code, problem)
        self.assertEqual(problem["status"], status)
        return problem


def main():
    """Runs the file's tests; the exit status says whether all held."""
    unittest.main(module="__main__", argv=[sys.argv[0], "-v", *sys.argv[1:]])
