"""Attacks that once succeeded: what an unlucky or a hostile neighbour must not bring about."""

import json
import os
import resource
import signal
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, SOON, Guarded, send_post  # noqa: E402
from harness import (Client, Gateway, Upstream, answer, delay, hang, main,  # noqa: E402
                     merge, orders, pause, rest, wait, wait_until)

WAITERS = 24
LARGE = b"x" * (24 << 20)


class Told(Guarded):
    """What a caller is told when the look-up has seen something and then goes wrong."""

    def test_a_crowd_is_not_told_to_take_new_keys(self):
        """Whoever loses the race for a key again and again hears of the one who has it."""
        self.start(route={"on_pending": {"wait": "20s"}})
        self.upstream.default = delay(0.05, answer(429, body=b"not now"))
        callers = [self.use(send_post(self.gateway, "k1")) for _ in range(WAITERS)]
        for response in [caller.read_response("POST") for caller in callers]:
            if response.status == 429:
                continue
            problem = self.assert_problem(response, 409, "request-in-progress")
            self.assertIs(problem["safe_new_key"], False, problem)

    def test_a_failing_store_gives_no_new_key_away(self):
        """An operation that ran: a repeat during a full disk is not told that a new key is safe."""
        self.start(hang(), AT_ONCE, SOON)
        first = self.gateway.post("k1", ORDER)
        operation = self.operation_of(first)
        status, _, _ = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"],
            {"verdict": "executed", "version": operation["version"], "note": "seen in the books",
             "response": {"status": 201, "body": {"ticket": 1}}})
        self.assertEqual(status, 200)
        pid = self.gateway.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, before[1]))
        repeat = self.gateway.post("k1", ORDER)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        problem = self.assert_problem(repeat, 503, "store-unavailable")
        self.assertIs(problem["safe_new_key"], False, problem)
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.assertEqual(self.upstream.sends, 1)

    def test_a_limit_of_file_sizes_does_not_end_the_process(self):
        """An answer that cannot be spooled is an unknown outcome, not the end of all others."""
        self.start(answer(201, body=LARGE))
        pid = self.gateway.process.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (8 << 20, before[1]))
        response = self.gateway.post("k1", ORDER)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
        self.assert_problem(response, 502, "upstream-bad-response")
        self.assertTrue(self.gateway.is_running())
        self.assert_state(response, "unknown", "answer_too_large", sends=1)


class Targets(Guarded):
    def test_a_path_out_of_the_prefix(self):
        """With a prefix no spelling of a passed path climbs out of it to a guarded operation."""
        self.upstream = self.use(Upstream(answer(201)))
        self.gateway = self.use(Gateway(self.upstream.url + "/api", {
            "routes": [orders(), rest(match={"methods": ["GET", "POST"], "path": "/*"})]}))
        for target in ("/../api/orders", "/%2e%2e/api/orders", "/x/../../api/orders",
                       "/..;/api/orders", "/..%2fapi/orders", "//../api/orders",
                       "/a%2fb/../../api/orders", "/..%5capi%5corders", "/%252e%252e/api/orders",
                       "/.%2e/secret", "/..", "/x//../../secret?y=1"):
            with self.subTest(target=target):
                response = self.gateway.request("POST", target, [], {"order": 1})
                self.assert_problem(response, 400, "ambiguous-target")
        self.assertEqual(self.upstream.sends, 0)
        for target in ("/a/../b", "/x/..y/z", "/v..1", "/a/?next=/../b"):
            self.assertEqual(self.gateway.request("POST", target, [], {"order": 1}).status, 201)


    def test_a_method_in_a_field(self):
        """No override field makes a guarded operation of a request that passes."""
        self.start(routes=[orders(), rest(match={"methods": ["GET", "PUT", "POST"], "path": "/*"})])
        for method, name, value in (("GET", "X-HTTP-Method-Override", "POST"),
                                    ("PUT", "x-http-method", "post"),
                                    ("PUT", "X_Method_Override", "Post")):
            with self.subTest(name=name):
                response = self.gateway.request(method, "/orders", [(name, value)],
                                                None if method == "GET" else ORDER)
                self.assert_problem(response, 400, "ambiguous-target")
        self.assertEqual(self.upstream.sends, 0)
        other = self.gateway.request("POST", "/else", [("X-HTTP-Method-Override", "PATCH")], ORDER)
        self.assertEqual(other.status, 201)
        self.assertEqual(self.upstream.requests[0].get("X-HTTP-Method-Override"), "PATCH")


class Files(Guarded):
    def test_a_store_that_was_taken_away(self):
        """What would be written to removed files is refused: the next start would not know it."""
        for name in ("recibo.db", "recibo.db-wal"):
            with self.subTest(name=name):
                self.start()
                self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
                path = os.path.join(self.gateway.directory, name)
                os.rename(path, path + ".away")
                refused = self.gateway.post("k2", ORDER)
                os.rename(path + ".away", path)
                self.assert_problem(refused, 503, "store-unavailable")
                self.assertEqual(self.upstream.sends, 1)
                self.assertEqual(self.gateway.post("k2", ORDER).status, 201)
                self.gateway.restart(kill=True)
                self.assertEqual(self.gateway.post("k1", ORDER).get("Idempotency-Status"),
                                 "replayed")


class Verdicts(Guarded):
    """An operator said "executed" while Recibo was still listening."""

    def settle_then_answer(self, late):
        release = threading.Event()
        self.addCleanup(release.set)
        self.start(wait(release, late), AT_ONCE,
                   {"timeouts": {"first_byte": "300ms", "answer": "300ms", "late": "60s"}})
        operation = self.operation_of(self.gateway.post("k1", ORDER))
        status, _, settled = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"],
            {"verdict": "executed", "version": operation["version"], "note": "in the books",
             "response": {"status": 201, "body": {"ticket": 1}}})
        self.assertEqual(status, 200)
        release.set()

        def has_arrived():
            now = self.gateway.operation(operation["id"])
            return now if now["version"] != settled["version"] else None
        return wait_until(has_arrived)

    def test_a_late_answer_after_executed(self):
        """Nobody was told the operator's word yet: the real answer takes its place."""
        now = self.settle_then_answer(answer(400, body=b"no such article"))
        self.assertEqual((now["state"], now["contradicted"], now["settled"]),
                         ("completed", False, False))
        self.assertEqual([(item["end"], item["status"]) for item in now["attempts"]],
                         [("answered", 400)])
        again = self.gateway.post("k1", ORDER)
        self.assertEqual((again.status, again.body), (400, b"no such article"))

    def test_a_late_refusal_after_executed(self):
        """The upstream says that it did not run: the verdict is marked as contradicted."""
        now = self.settle_then_answer(answer(429, body=b"not now"))
        self.assertEqual((now["state"], now["contradicted"]), ("completed", True))
        self.assertEqual(
            self.gateway.metrics()['recibo_contradictions_total{route="create-order"}'], 1)


class Again(Guarded):
    def test_a_renewed_operation_can_be_found(self):
        """on_expiry: rerun makes a new operation; the id that the caller is told names it."""
        self.start(route=merge(AT_ONCE, {"retention": "1s", "tombstone": "1s",
                                         "on_expiry": "rerun"}))
        first = self.gateway.post("k1", ORDER)

        def runs_again():
            response = self.gateway.post("k1", ORDER)
            return response if self.upstream.sends == 2 else None
        second = wait_until(runs_again)
        self.assertEqual(second.get("Idempotency-Status"), "executed", second)
        self.assertNotEqual(second.get("Idempotency-Operation"), first.get("Idempotency-Operation"))
        self.assertEqual(self.operation_of(second)["key"], "k1")
        self.assertEqual([item["id"] for item in self.gateway.operations()],
                         [second.get("Idempotency-Operation")])


class Ends(Guarded):
    """A stopping process ends when its drain is over, whoever would like it to stay."""

    def test_an_upstream_that_never_answers(self):
        """A call whose caller was told 504 during the drain is not listened to any longer."""
        self.start(hang(), upstream={"timeouts": {"first_byte": "2s", "answer": "2s",
                                                  "late": "300s"}}, drain="3s")
        caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.assertEqual(self.gateway.stop(deadline_s=50), 0)
        self.assertEqual(caller.read_response("POST").status, 504)

    def test_a_caller_that_reads_slowly(self):
        """An answer that is read byte by byte does not hold the process after the drain."""
        self.start(answer(201, body=LARGE), drain="1s")
        over = threading.Event()
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", self.gateway.port))
        self.addCleanup(sock.close)
        body = json.dumps(ORDER).encode()
        sock.sendall(b"POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k1\r\n"
                     b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                     % (len(body), body))

        def read_slowly():
            try:
                while not over.is_set() and sock.recv(512):
                    pause()
            except OSError:
                pass  # cut off: that is what the test wants
        reader = threading.Thread(target=read_slowly)
        reader.start()
        try:
            wait_until(lambda: self.gateway.operations(state="completed"))
            self.gateway.signal(signal.SIGTERM)
            self.assertEqual(self.gateway.wait_exit(50), 0)
        finally:
            over.set()
            reader.join()


class Secrets(Guarded):
    def test_evidence_of_vendors_credentials(self):
        """Headers that sound like credentials are not kept, whoever made them up."""
        names = ("X-Vault-Token", "Ocp-Apim-Subscription-Key", "X-Goog-Api-Key", "X_Session_Id",
                 "DPoP", "X-Client-Secret", "Signature", "X-Auth-Key", "AWSAccessKeyId-Access-Key")
        self.start(answer(500), route={"evidence": {"headers": True}})
        response = self.gateway.post("k1", ORDER, headers=[(name, "do-not-keep") for name in names]
                                     + [("X-Shop", "keep-this")])
        self.assert_state(response, "unknown")
        self.gateway.stop()
        kept = b""
        for name in os.listdir(self.gateway.directory):
            with open(os.path.join(self.gateway.directory, name), "rb") as file:
                kept += file.read()
        self.assertIn(b"keep-this", kept)
        self.assertNotIn(b"do-not-keep", kept)

    def test_every_redaction_of_a_long_list(self):
        """As many pointers as a route may list are cut out, and the rest is kept."""
        members = {"m%02d" % i: "do-not-keep" for i in range(40)}
        self.start(answer(500), route={"evidence": {"body": True,
                                                    "redact": ["/" + name for name in members]}})
        response = self.gateway.post("k1", merge(members, {"order": "keep-this"}))
        operation = self.operation_of(response)
        with Client(self.gateway.admin_port) as client:
            kept = client.request("GET", "/v1/operations/%s/request" % operation["id"],
                                  [("Authorization", "Bearer " + self.gateway.token)])
        self.assertIn(b"keep-this", kept.body)
        self.assertNotIn(b"do-not-keep", kept.body)


if __name__ == "__main__":
    main()
