"""The example API does what it says, has no idempotency, and its faults are real.

Every fault is looked at twice: what the caller's socket saw, and what the API's
own counters and tickets say was done.
"""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import LEGACY, Case, Client, Closed, LegacyTickets, main, parallel  # noqa: E402

TICKET = {"subject": "printer on fire", "external_reference": "ref-1"}


class Tickets(Case):
    def setUp(self):
        self.legacy = self.use(LegacyTickets())

    def post(self, body=None, fault=None):
        headers = [("X-Fault", fault)] if fault else []
        return self.legacy.request("POST", "/tickets", headers, TICKET if body is None else body)

    def assert_error(self, response, status):
        self.assertEqual(response.status, status, response)
        self.assertEqual(response.get("Content-Type"), "application/json")
        self.assertEqual(response.json()["error"]["status"], status)

    def test_a_ticket_is_made_read_listed_and_removed(self):
        """One ticket goes through its whole life and looks the same everywhere."""
        made = self.post()
        self.assertEqual(made.status, 201)
        ticket = made.json()
        self.assertEqual(sorted(ticket), ["created_at", "external_reference", "subject",
                                          "ticket_id"])
        self.assertEqual(ticket["subject"], TICKET["subject"])
        self.assertEqual(made.get("Location"), "/tickets/%d" % ticket["ticket_id"])
        read = self.legacy.request("GET", made.get("Location"))
        self.assertEqual((read.status, read.json()), (200, ticket))
        listed = self.legacy.request("GET", "/tickets?external_reference=ref-1")
        self.assertEqual(listed.json(), {"items": [dict(ticket, id=ticket["ticket_id"])]})
        gone = self.legacy.request("DELETE", made.get("Location"))
        self.assertEqual((gone.status, gone.body), (204, b""))
        self.assert_error(self.legacy.request("GET", made.get("Location")), 404)
        self.assert_error(self.legacy.request("DELETE", made.get("Location")), 404)

    def test_two_equal_requests_are_two_tickets(self):
        """There is no idempotency: neither an equal body nor a key makes a repeat."""
        ids = set()
        for _ in range(3):
            response = self.legacy.request("POST", "/tickets", [("Idempotency-Key", "k")], TICKET)
            ids.add(response.json()["ticket_id"])
        self.assertEqual(len(ids), 3)
        self.assertEqual(self.legacy.stats()["tickets"], 3)

    def test_a_number_never_comes_back(self):
        """A deleted ticket's number is not given to another ticket."""
        first = self.post().json()["ticket_id"]
        self.legacy.request("DELETE", "/tickets/%d" % first)
        self.assertGreater(self.post().json()["ticket_id"], first)

    def test_bad_bodies_are_refused_and_make_nothing(self):
        """Whatever is not a JSON object with a subject is a 400 and no ticket."""
        for body in ("", "{", "[]", "7", '{"subject":7}', '{"subject":""}', '{"subject":" \\t"}',
                     "{}", '{"subject":"a","external_reference":7}', '{"subject":"a"}x',
                     '{"subject":"a\\u0000b"}', '{"subject":"a","subject":"b"}',
                     b'{"subject":"\xff"}'):
            with self.subTest(body=body):
                self.assert_error(self.post(body), 400)
        stats = self.legacy.stats()
        self.assertEqual((stats["tickets"], stats["executed"], stats["posts"]), (0, 0, 13))

    def test_the_reference_may_be_missing(self):
        """Without a reference, or with null, the ticket says null and no search finds it."""
        for body in ({"subject": "a"}, {"subject": "a", "external_reference": None}):
            self.assertIsNone(self.post(body).json()["external_reference"])
        found = self.legacy.request("GET", "/tickets?external_reference=")
        self.assertEqual(found.json(), {"items": []})
        self.assertEqual(len(self.legacy.request("GET", "/tickets").json()["items"]), 2)

    def test_a_search_decodes_and_binds_its_value(self):
        """The reference is compared as decoded text; SQL in it stays text."""
        odd = "a b&c='; DROP TABLE tickets;--"
        self.post({"subject": "x", "external_reference": odd})
        self.post({"subject": "y", "external_reference": "other"})
        target = "/tickets?external_reference=a%20b%26c%3D%27%3B%20DROP%20TABLE%20tickets%3B--"
        items = self.legacy.request("GET", target).json()["items"]
        self.assertEqual([item["external_reference"] for item in items], [odd])

    def test_other_paths_and_methods_are_refused(self):
        """Unknown paths are 404, unknown methods 405 with Allow, never a ticket."""
        for target in ("/", "/ticket", "/tickets/", "/tickets/x", "/tickets/1/2", "/tickets/-1",
                       "/tickets/99999999999999999999", "/_stats/x"):
            with self.subTest(target=target):
                self.assert_error(self.legacy.request("GET", target), 404)
        wrong = self.legacy.request("PUT", "/tickets", (), TICKET)
        self.assert_error(wrong, 405)
        self.assertEqual(wrong.get("Allow"), "GET, POST")
        self.assert_error(self.legacy.request("POST", "/tickets/1", (), TICKET), 405)

    def test_a_connection_is_kept(self):
        """Many requests share one connection, and the counters say so."""
        with Client(self.legacy.port) as client:
            for _ in range(20):
                self.assertEqual(client.request("POST", "/tickets", (), TICKET).status, 201)
            stats = client.request("GET", "/_stats").json()
        self.assertEqual(stats, {"tickets": 20, "executed": 20, "posts": 20, "gets": 0,
                                 "deletes": 0, "requests": 20, "connections": 1})

    def test_lose_answer_does_the_work_and_closes(self):
        """lose-answer: one ticket, not one byte of an answer, an orderly close."""
        with Client(self.legacy.port) as client:
            client.send("POST", "/tickets", [("X-Fault", "lose-answer")], TICKET)
            self.assertEqual(client.read_to_end(), (b"", False))
        stats = self.legacy.stats()
        self.assertEqual((stats["posts"], stats["executed"], stats["tickets"]), (1, 1, 1))

    def test_reset_before_does_nothing_and_resets(self):
        """reset-before: the body was read, nothing was done, the caller sees a reset."""
        with Client(self.legacy.port) as client:
            client.send("POST", "/tickets", [("X-Fault", "reset-before")], TICKET)
            self.assertEqual(client.read_to_end(), (b"", True))
        stats = self.legacy.stats()
        self.assertEqual((stats["posts"], stats["executed"], stats["tickets"]), (1, 0, 0))

    def test_cut_promises_more_than_it_sends(self):
        """cut=BYTES: the head promises the whole body, exactly BYTES of it follow."""
        whole = len(self.post().body)
        for count in (0, 1, whole - 1):
            with self.subTest(count=count), Client(self.legacy.port) as client:
                client.send("POST", "/tickets", [("X-Fault", "cut=%d" % count)], TICKET)
                with self.assertRaises(Closed) as raised:
                    client.read_response("POST")
                head, _, body = raised.exception.partial.partition(b"\r\n\r\n")
                self.assertIn(b"HTTP/1.1 201 ", head)
                self.assertIn(b"Content-Length: %d" % whole, head)
                self.assertEqual(len(body), count)
        self.assertEqual(self.legacy.stats()["executed"], 4)

    def test_cut_at_the_end_is_a_whole_answer(self):
        """A cut beyond the body cuts nothing: the boundary is exact."""
        response = self.post(fault="cut=100000")
        self.assertEqual(response.status, 201)
        self.assertEqual(response.json()["subject"], TICKET["subject"])

    def test_status_answers_otherwise_than_it_did(self):
        """status=CODE: the work is done although the answer says something else."""
        self.assert_error(self.post(fault="status=503"), 503)
        self.assert_error(self.post(fault="status=404"), 404)
        self.assertEqual(self.post(fault="status=200").json()["subject"], TICKET["subject"])
        empty = self.post(fault="status=204")
        self.assertEqual((empty.status, empty.body), (204, b""))
        self.assertEqual(self.legacy.stats()["executed"], 4)

    def test_delay_holds_the_answer_and_nothing_else(self):
        """delay=MS: the ticket is there before the answer, and others are served meanwhile."""
        with Client(self.legacy.port) as client:
            client.send("POST", "/tickets", [("X-Fault", "delay=600000")], TICKET)
            self.legacy.wait_executed(1)
            self.assertEqual(self.post().status, 201)
            self.assertFalse(client.is_closed(within_s=0.01))
        response = self.post(fault="delay=20")
        self.assertEqual(response.status, 201)
        self.assertEqual(self.legacy.stats()["tickets"], 3)

    def test_faults_may_be_joined(self):
        """Words joined by commas all hold."""
        with Client(self.legacy.port) as client:
            client.send("POST", "/tickets", [("X-Fault", "delay=10, lose-answer")], TICKET)
            self.assertEqual(client.read_to_end(), (b"", False))
        self.assert_error(self.post(fault="delay=1,status=502"), 502)
        self.assertEqual(self.legacy.stats()["executed"], 2)

    def test_a_misspelt_fault_is_refused(self):
        """What is not understood is a 400 and no work: a test cannot lose its fault silently."""
        for fault in ("lose", "delay", "delay=", "delay=-1", "delay=1s", "delay=600001",
                      "status=199", "status=600", "cut=x", "lose-answer,reset-before", ",",
                      "lose-answer,", "delay=1," * 9 + "delay=1"):
            with self.subTest(fault=fault):
                self.assert_error(self.post(fault=fault), 400)
        self.assertEqual(self.legacy.stats()["executed"], 0)

    def test_faults_work_on_every_call(self):
        """The other calls lose and cut their answers too, after their work."""
        self.post()
        with Client(self.legacy.port) as client:
            client.send("DELETE", "/tickets/1", [("X-Fault", "lose-answer")])
            self.assertEqual(client.read_to_end(), (b"", False))
        self.assertEqual(self.legacy.stats()["tickets"], 0)
        with Client(self.legacy.port) as client:
            client.send("GET", "/tickets", [("X-Fault", "cut=3")])
            data, _ = client.read_to_end()
            self.assertTrue(data.endswith(b'\r\n\r\n{"i'), data)

    def test_a_caller_that_leaves_changes_nothing(self):
        """The work stands when the caller is gone before the delayed answer."""
        for number, leave in enumerate((Client.close, Client.reset, Client.half_close)):
            client = Client(self.legacy.port)
            self.addCleanup(client.close)
            client.send("POST", "/tickets", [("X-Fault", "delay=100")], TICKET)
            self.legacy.wait_executed(number + 1)
            leave(client)
        # Due after the others, so their answers have gone nowhere when this one comes.
        self.assertEqual(self.post(fault="delay=200").status, 201)
        self.assertEqual(self.legacy.stats()["tickets"], 4)

    def test_many_callers_at_once(self):
        """Every one of many concurrent requests makes exactly one ticket of its own number."""
        ids = parallel(32, lambda _: [self.post().json()["ticket_id"] for _ in range(5)])
        flat = [number for some in ids for number in some]
        self.assertEqual(len(set(flat)), 160)
        self.assertEqual(self.legacy.stats()["tickets"], 160)

    def test_a_request_cut_off_in_its_body_is_not_counted(self):
        """posts counts wholly read bodies only."""
        with Client(self.legacy.port) as client:
            client.send_raw(b"POST /tickets HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
            client.half_close()
            client.read_to_end()
        stats = self.legacy.stats()
        self.assertEqual((stats["posts"], stats["tickets"]), (0, 0))


class Life(Case):
    def run_legacy(self, *arguments):
        return subprocess.run([LEGACY, *arguments], capture_output=True, text=True, timeout=30,
                              check=False)

    def test_the_tickets_survive_a_restart(self):
        """Tickets lie in the file; counters begin anew."""
        first = self.use(LegacyTickets())
        first.request("POST", "/tickets", (), TICKET)
        first.kill9()
        again = self.use(LegacyTickets(directory=first.directory))
        self.assertEqual(again.request("GET", "/tickets/1").json()["subject"], TICKET["subject"])
        stats = again.stats()
        self.assertEqual((stats["tickets"], stats["posts"], stats["executed"]), (1, 0, 0))

    def test_it_ends_cleanly_while_answers_wait(self):
        """SIGTERM and SIGINT end it with 0, also with delayed answers outstanding."""
        for number in (signal.SIGTERM, signal.SIGINT):
            legacy = self.use(LegacyTickets())
            client = Client(legacy.port)
            client.send("POST", "/tickets", [("X-Fault", "delay=600000")], TICKET)
            legacy.wait_executed(1)
            self.assertEqual(legacy.stop(number), 0)
            self.assertEqual(client.read_to_end()[0], b"")
            client.close()

    def test_wrong_options_exit_with_2(self):
        """A usage error names the option and exits with 2; nothing is served."""
        for arguments in (["--port", "1"], ["--listen", "nine"], ["--listen", "127.0.0.1:"],
                          ["--listen", "127.0.0.1:65536"], ["--listen", ":9000"],
                          ["--listen"], ["extra"], ["--listen", "127.0.0.1:1x"]):
            with self.subTest(arguments=arguments):
                done = self.run_legacy(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("--help", done.stderr)

    def test_help_and_version_exit_with_0(self):
        """--help shows every fault and option; --version one line."""
        text = self.run_legacy("--help")
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        for word in ("--listen", "--db", "lose-answer", "reset-before", "delay=", "cut=",
                     "status="):
            self.assertIn(word, text.stdout)
        self.assertRegex(self.run_legacy("--version").stdout, r"\Alegacy-tickets \d+\.\d+\.\d+\n\Z")

    def test_what_cannot_be_opened_is_said(self):
        """A taken port and an impossible file exit with 1 and a sentence that names them."""
        legacy = self.use(LegacyTickets())
        taken = self.run_legacy("--listen", "127.0.0.1:%d" % legacy.port, "--db", ":memory:")
        self.assertEqual(taken.returncode, 1)
        self.assertIn(str(legacy.port), taken.stderr)
        lost = self.run_legacy("--listen", "127.0.0.1:0", "--db", "/nonexistent/tickets.db")
        self.assertEqual(lost.returncode, 1)
        self.assertIn("/nonexistent/tickets.db", lost.stderr)


if __name__ == "__main__":
    main()
