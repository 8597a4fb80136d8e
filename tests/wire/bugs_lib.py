"""What the tests of reported faults share: routes, upstream actions, looks at receipts.

The fault of each report is tried as a kind. The judge is always the number of
requests that the upstream has read; nothing here may send a request again.
"""

import os
import resource
import select
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import (BINARY, Case, Closed, Gateway, WireError, orders, rest, scratch,  # noqa: E402
                     wait_until)

PATIENT = {"connect": "5s", "send": "30s", "first_byte": "60s", "idle": "60s", "answer": "60s",
           "late": "10m"}
HASTY = {"connect": "5s", "send": "30s", "first_byte": "400ms", "idle": "400ms",
         "answer": "400ms", "late": "60s"}


def guarded(**changes):
    """The guarded route without a breaker, so that a test may lose many answers."""
    return orders(**{"breaker": "none", **changes})


def routes(*guarded_routes, timeouts=None, **top):
    """Changes for a Gateway: these routes, then everything else passed through."""
    changes = {"routes": [*guarded_routes, rest()]}
    if timeouts is not None:
        changes["upstreams"] = {"legacy": {"timeouts": timeouts}}
    changes.update(top)
    return changes


def answer_then_close_idle(action, idle_s):
    """Answers, then closes the connection when it has been idle for a time."""
    def act(exchange):
        if not action(exchange):
            return False
        readable, _, _ = select.select([exchange.sock], [], [], idle_s)
        return bool(readable)
    return act


class Reports(Case):
    """A case with the checks that nearly every report needs."""

    def operation_of(self, gateway, key, **query):
        """The one operation of this key, with its attempts."""
        found = gateway.operations(key=key, **query)
        self.assertEqual(len(found), 1, found)
        return gateway.operation(found[0]["id"])

    def wait_key_state(self, gateway, key, state):
        def reached():
            found = gateway.operations(key=key)
            return found[0] if found and found[0]["state"] == state else None
        return wait_until(reached, text=lambda: "%s: %s" % (key, gateway.operations(key=key)))

    def assert_unknown(self, gateway, key, end=None, **query):
        """The receipt waits for a person, and the evidence says how the attempt ended."""
        operation = self.operation_of(gateway, key, **query)
        self.assertEqual(operation["state"], "unknown", operation)
        self.assertEqual(operation["reason"], "needs_reconciliation")
        if end is not None:
            self.assertIn(operation["end"], end if isinstance(end, tuple) else (end,), operation)
        return operation

    def assert_replay(self, response, first):
        """The same status and bytes as the first answer, marked as a replay."""
        self.assertEqual(response.status, first.status, response)
        self.assertEqual(response.body, first.body)
        self.assertEqual(response.all("Idempotent-Replayed"), ["true"], response)
        self.assertEqual(response.get("Idempotency-Status"), "replayed")

    def assert_refused_unknown(self, response):
        """A repeat of an unknown: told, never sent, and no machine is asked to come again."""
        problem = self.assert_problem(response, 409, "outcome-unknown")
        self.assertFalse(problem["retry_may_help"])
        self.assertFalse(problem["safe_new_key"])
        self.assertIsNone(response.get("Retry-After"))
        self.assertEqual(response.get("Stripe-Should-Retry"), "false")
        self.assertEqual(response.get("X-Should-Retry"), "false")
        self.assertEqual(response.get("Idempotency-Status"), "unknown")
        return problem

    def assert_mismatch(self, response, code="key-reused"):
        problem = self.assert_problem(response, 422, code)
        self.assertEqual(response.get("Idempotency-Status"), "mismatch")
        self.assertIsNone(response.get("Retry-After"))
        self.assertNotIn("safe_new_key", problem)
        return problem

    def settle(self, gateway, operation, verdict, response=None, **members):
        """An operator's verdict through the API; -> the operation afterwards."""
        order = {"verdict": verdict, "version": operation["version"], "note": "looked it up",
                 **members}
        if response is not None:
            order["response"] = response
        status, _, value = gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"], order)
        self.assertEqual(status, 200, value)
        return gateway.operation(operation["id"])

    def start_post(self, gateway, key, body, path="/orders", headers=()):
        """Sends a guarded POST and does not wait for its answer; -> the client."""
        client = gateway.client(timeout=60)
        self.addCleanup(client.close)
        client.send("POST", path, [("Idempotency-Key", key), *headers], body)
        return client


def starved_gateway(upstream, changes, log_elsewhere=False):
    """A Gateway whose writes to files fail with an error when starve() says so.

    The signal that goes with that error is ignored, as under a service manager
    that sets a file size limit; the limit stands for every kind of full disk.
    log_elsewhere: the log goes through a pipe to a process that is not starved."""
    folder = scratch("starved-")
    wrapper = os.path.join(folder, "recibo")
    with open(wrapper, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\ntrap '' XFSZ\n")
        if log_elsewhere:
            file.write("rm -f pipe && mkfifo pipe && { cat pipe >&2 & } && exec 2>pipe\n")
        file.write("exec '%s' \"$@\"\n" % BINARY)
    os.chmod(wrapper, 0o755)
    gateway = Gateway(upstream, changes, directory=folder, binary=wrapper)
    gateway.owns_directory = True
    return gateway


def starve(gateway):
    """From now on no file of the gateway can take another byte."""
    _, hard = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (0, hard))


def feed(gateway):
    """The disk has room again."""
    _, hard = resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(gateway.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


def raw_answer(gateway, data, timeout=30):
    """Sends bytes on a fresh connection; -> (first answer, everything after it until the close).

    The connection must be closed by the gateway: a second element of None says
    that it was still open."""
    with gateway.client(timeout=timeout) as client:
        client.send_raw(data)
        response = client.read_response()
        try:
            rest_of_it, _ = client.read_to_end()
        except Closed as closed:
            rest_of_it = closed.partial
        except WireError:
            return response, None
        return response, rest_of_it


def memory_peak_bytes(pid):
    """The most memory the process has had, as the kernel counts it."""
    with open("/proc/%d/status" % pid, encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    raise WireError("no VmHWM for process %d" % pid)
