"""A restart, orderly or not, changes nothing that a caller was told; a changed
configuration is judged against what is on record; a second process keeps off the file.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, Guarded  # noqa: E402
from harness import Gateway, answer, main, merge, orders, rest  # noqa: E402


class Restart(Guarded):
    def test_every_state_survives(self):
        """Completed, unknown, released, settled, abandoned: the same answers afterwards."""
        self.start(route=AT_ONCE)
        done = self.gateway.post("done", ORDER)
        self.make_unknown("unknown")
        for key, verdict in (("abandoned", "abandoned"), ("executed", "executed"),
                             ("not_executed", "not_executed")):
            self.settle(self.make_unknown(key), verdict)
        self.upstream.script(answer(429))
        self.assertEqual(self.gateway.post("released", ORDER).status, 429)
        before = {o["key"]: (o["id"], o["state"], o["version"]) for o in self.gateway.operations()}
        sends = self.upstream.sends
        for kill in (False, True):
            self.gateway.restart(kill=kill)
            after = {o["key"]: (o["id"], o["state"], o["version"])
                     for o in self.gateway.operations()}
            self.assertEqual(after, before)
        self.assert_replay(done, self.gateway.post("done", ORDER))
        self.assert_unknown_repeat(self.gateway.post("unknown", ORDER))
        self.assertEqual(self.gateway.post("abandoned", ORDER).json()["code"],
                         "operation-abandoned")
        self.assertEqual(self.gateway.post("executed", ORDER).json()["code"],
                         "result-unavailable")
        self.assertEqual(self.upstream.sends, sends)
        for key in ("not_executed", "released"):
            response = self.gateway.post(key, ORDER)
            self.assert_passed_on(response, 201, "executed")
            self.assertEqual(response.get("Idempotency-Operation"), before[key][0])

    def test_the_audit_survives(self):
        """Who settled what, and why, is still there."""
        self.start(route=AT_ONCE)
        first = self.make_unknown()
        self.settle(first, "abandoned", note="called them, nobody knows")
        self.gateway.restart(kill=True)
        audit = self.operation_of(first)["audit"]
        self.assertEqual(len(audit), 1, audit)
        self.assertEqual((audit[0]["note"], audit[0]["action"]),
                         ("called them, nobody knows", "settle"))
        self.assertIn("tester", audit[0]["actor"])

    def test_what_changed_is_still_named(self):
        """The digests of members are keyed by the store: 422 names them after a restart."""
        self.start()
        self.gateway.post("k1", {"qty": 1, "at": 2})
        self.gateway.restart()
        problem = self.gateway.post("k1", {"qty": 1, "at": 3}).json()
        self.assertEqual((problem["code"], problem["changed"]), ("key-reused", ["/at"]))


class Changed(Guarded):
    def restart_with(self, **route):
        self.gateway.restart({"routes": [orders(**route), rest()]})

    def test_another_way_of_comparing(self):
        """What cannot be compared any more is 422 with a code of its own, never a replay."""
        self.start()
        first = self.gateway.post("k1", ORDER)
        self.restart_with(fingerprint={"mode": "raw"})
        self.assert_told(self.gateway.post("k1", ORDER), 422, "comparison-changed", "mismatch",
                         state="completed", retry_after=False)
        self.assertEqual(self.upstream.sends, 1)
        self.restart_with()
        self.assert_replay(first, self.gateway.post("k1", ORDER))

    def test_another_upstream(self):
        """A replay does not ask where the route leads now."""
        self.start()
        first = self.gateway.post("k1", ORDER)
        self.gateway.restart({"upstreams": {"legacy": {"url": "http://127.0.0.1:1"}}})
        self.assert_replay(first, self.gateway.post("k1", ORDER))
        self.assertEqual(self.gateway.post("k2", ORDER).status, 502)

    def test_a_route_that_is_gone(self):
        """Its unknowns stay on the backlog and can be settled."""
        self.start()
        first = self.make_unknown()
        self.gateway.arguments = ["--accept-dropped-routes"]
        self.gateway.restart({"routes": [rest()]})
        operation = self.assert_state(first, "unknown", "closed_no_answer")
        self.assertEqual(operation["route"], "create-order")
        self.settle(first, "abandoned")
        self.assert_state(first, "abandoned")

    def test_a_changed_lifetime(self):
        """Retention counts from completion with the value of that time."""
        self.start(route={"retention": "1d"})
        first = self.gateway.post("k1", ORDER)
        until = self.operation_of(first)["expires_at"]
        self.restart_with(**merge(AT_ONCE, {"retention": "1s"}))
        self.assertEqual(self.operation_of(first)["expires_at"], until)
        self.assert_replay(first, self.gateway.post("k1", ORDER))


class Starting(Guarded):
    def run_serve(self, path):
        return subprocess.run([self.gateway.binary, "serve", "-c", path], capture_output=True,
                              text=True, timeout=60, check=False, cwd=self.gateway.directory)

    def test_a_second_process_keeps_off(self):
        """One process owns the file: another one refuses to start, the first goes on."""
        self.start()
        self.gateway.post("k1", ORDER)
        second = Gateway(self.upstream, directory=self.gateway.directory, start=False)
        second.port, second.admin_port = 0, 0
        second.path = os.path.join(self.gateway.directory, "second.yaml")
        second.write_configuration()
        done = self.run_serve(second.path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("recibo.db", done.stderr)
        self.assertEqual(self.gateway.post("k1", ORDER).get("Idempotency-Status"), "replayed")

    def test_a_taken_port(self):
        """The address is named, the exit code is 1."""
        self.start()
        other = Gateway(self.upstream, start=False)
        self.addCleanup(other.close)
        other.port, other.admin_port = self.gateway.port, 0
        other.write_configuration()
        done = self.run_serve(other.path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("127.0.0.1:%d" % self.gateway.port, done.stderr)

    def test_a_wrong_configuration(self):
        """Nothing is served: the place is named, the exit code is 2."""
        self.start()
        path = os.path.join(self.gateway.directory, "wrong.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write("version: 1\nupstreams: {legacy: {url: 'ftp://x'}}\nroutes: []\n")
        done = self.run_serve(path)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, r"wrong\.yaml:2:\d+: upstreams\.legacy\.url")

    def test_a_store_that_is_none(self):
        """A file that is no store is left alone, with a sentence; the exit code is 1."""
        self.start()
        self.gateway.stop()
        with open(self.gateway.store_path, "wb") as file:
            file.write(b"this is not a database, and somebody may want it " * 100)
        for suffix in ("-wal", "-shm"):
            if os.path.exists(self.gateway.store_path + suffix):
                os.unlink(self.gateway.store_path + suffix)
        done = self.run_serve(self.gateway.path)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("recibo.db", done.stderr)
        with open(self.gateway.store_path, "rb") as file:
            self.assertTrue(file.read().startswith(b"this is not a database"))

    def test_memory_forgets(self):
        """store.kind: memory is for tests: after a restart it knows nothing."""
        self.start(store={"kind": "memory", "path": None})
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.gateway.restart()
        self.assertEqual(self.gateway.operations(), [])
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")


if __name__ == "__main__":
    main()
