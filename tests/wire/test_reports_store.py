"""Reports about a store that cannot write: fail closed before the send, never forget after it."""

import os
import sqlite3
import threading

from bugs_lib import HASTY, PATIENT, Reports, feed, guarded, routes, starve, starved_gateway
from harness import Gateway, Upstream, answer, main, parallel, wait, wait_until

BODY = {"order": 1}


class FullDiskReports(Reports):
    def start(self, action, timeouts=PATIENT, log_elsewhere=False, **route):
        self.upstream = self.use(Upstream(action))
        return self.use(starved_gateway(
            self.upstream, routes(guarded(**route), timeouts=timeouts), log_elsewhere))

    def test_nothing_is_sent_when_the_claim_cannot_be_stored(self):
        """A full disk before the send: 503 with Retry-After, nothing sent, and a way back."""
        gateway = self.start(answer(201, body=b"done"))
        first = gateway.post("before", BODY)
        starve(gateway)
        for number in range(5):
            response = gateway.post("starved-%d" % number, BODY)
            problem = self.assert_problem(response, 503, "store-unavailable")
            self.assertTrue(problem["retry_may_help"])
            self.assertIsNotNone(response.get("Retry-After"))
        self.assertEqual(self.upstream.sends, 1)
        self.assertTrue(gateway.is_running())
        feed(gateway)
        gateway.restart()
        self.assertEqual(gateway.post("starved-0", BODY).status, 201)
        self.assert_replay(gateway.post("before", BODY), first)
        self.assertEqual(self.upstream.sends, 2)

    def test_room_again_without_a_restart(self):
        """When the disk has room again the same process serves again."""
        gateway = self.start(answer(201, body=b"done"))
        starve(gateway)
        self.assertEqual(gateway.post("k", BODY).status, 503)
        feed(gateway)
        wait_until(lambda: gateway.post("k", BODY).status == 201)
        self.assertEqual(self.upstream.sends, 1)

    def test_readiness_comes_back_without_traffic(self):
        """A balancer that stopped sending learns by /readyz when it may try again."""
        gateway = self.start(answer(201, body=b"done"))
        starve(gateway)
        self.assertEqual(gateway.post("k", BODY).status, 503)
        self.assertEqual(gateway.admin("GET", "/readyz")[0], 503)
        feed(gateway)
        wait_until(lambda: gateway.admin("GET", "/readyz")[0] == 200)
        self.assertEqual(gateway.post("k", BODY).status, 201)

    def test_the_log_says_when_it_began_and_ended(self):
        """One line with the cause when commits begin to fail, one when they work again."""
        gateway = self.start(answer(201, body=b"done"), log_elsewhere=True)
        for round_number in (1, 2):
            starve(gateway)
            for number in range(3):
                self.assertEqual(gateway.post("k%d" % number, BODY).status, 503)
            wait_until(lambda: gateway.log().count("store.failing") == round_number)
            feed(gateway)
            wait_until(lambda: gateway.log().count("store.recovered") == round_number)
        self.assertRegex(gateway.log(), r'store\.failing error="committing to [^"]*disk')
        self.assertEqual(gateway.log().count("store.failing"), 2)

    def test_pass_routes_go_on(self):
        """What keeps no receipt does not need the store."""
        gateway = self.start(answer(200, body=b"page"))
        starve(gateway)
        self.assertEqual(gateway.request("GET", "/page").body, b"page")
        self.assertEqual(gateway.post("k", BODY).status, 503)

    def lose_the_outcome(self, gateway, key):
        """The disk fills between the upstream's reading and its answer; -> the caller's answer."""
        sends = self.upstream.sends
        client = self.start_post(gateway, key, BODY)
        self.upstream.wait_for(sends + 1)
        starve(gateway)
        self.release.set()
        response = client.read_response("POST")
        self.assertIn(response.status, (201, 504), response)
        if response.status == 504:
            self.assertFalse(response.json()["safe_new_key"])
        return response

    def test_an_outcome_that_cannot_be_stored_is_not_forgotten(self):
        """A full disk after the send: told, never sent again, completed or unknown after it."""
        self.release = threading.Event()
        gateway = self.start(wait(self.release, answer(201, body=b"done")))
        self.lose_the_outcome(gateway, "k")
        for _ in range(3):
            self.assertIn(gateway.post("k", BODY).status, (201, 409, 503))
        feed(gateway)
        settled = wait_until(lambda: [o for o in gateway.operations(key="k")
                                      if o["state"] in ("completed", "unknown")])
        response = gateway.post("k", BODY)
        self.assertEqual(response.status, 201 if settled[0]["state"] == "completed" else 409)
        self.assertEqual(self.upstream.sends, 1)

    def test_a_crash_while_the_disk_is_full(self):
        """The process dies with the outcome unstored: unknown in the next life, not absent."""
        self.release = threading.Event()
        gateway = self.start(wait(self.release, answer(201, body=b"done")))
        self.lose_the_outcome(gateway, "k")
        gateway.restart(kill=True)
        self.assert_unknown(gateway, "k")
        self.assert_refused_unknown(gateway.post("k", BODY))
        self.assertEqual(self.upstream.sends, 1)

    def test_a_stop_while_the_disk_is_full(self):
        """SIGTERM with the outcome unstored still ends the process; the next life says unknown."""
        self.release = threading.Event()
        gateway = self.start(wait(self.release, answer(201, body=b"done")), timeouts=HASTY)
        self.lose_the_outcome(gateway, "k")
        gateway.stop()
        gateway.start()
        self.assertIn(self.operation_of(gateway, "k")["state"], ("unknown", "completed"))
        self.assertIn(gateway.post("k", BODY).status, (201, 409))
        self.assertEqual(self.upstream.sends, 1)

    def test_many_callers_on_a_full_disk(self):
        """40 callers at once: 503 for each, nothing sent, the process lives."""
        gateway = self.start(answer(201, body=b"done"))
        starve(gateway)
        seen = parallel(40, lambda i: gateway.post("many-%d" % i, BODY))
        self.assertEqual({r.status for r in seen}, {503}, seen)
        self.assertEqual(self.upstream.sends, 0)
        self.assertTrue(gateway.is_running())


class FileReports(Reports):
    """What lies where the database should be."""

    def refused(self, make, code=1):
        """The gateway ends with a message that names the file; -> what it said."""
        gateway = Gateway(start=False)
        self.use(gateway)
        gateway.port = gateway.admin_port = 0
        gateway.write_configuration()
        make(gateway.store_path)
        gateway.launch()
        self.assertEqual(gateway.process.wait(60), code, gateway.log())
        self.assertIn("recibo.db", gateway.log())
        gateway.check_sanitizers()
        return gateway.log()

    def test_a_file_that_is_no_database(self):
        """Other people's bytes at the path: refused with the file's name, and left untouched."""
        kept = {}

        def junk(path):
            kept["path"] = path
            with open(path, "wb") as file:
                file.write(b"these are my notes, not a database\n" * 200)
        self.refused(junk)

    def test_a_folder_and_a_missing_folder(self):
        """A directory at the path, or no directory for it: refused with a message."""
        self.refused(os.mkdir)
        self.refused(lambda path: os.symlink(path + ".d/none/recibo.db", path))

    def test_a_database_of_another_program(self):
        """A SQLite file with tables of others is not taken over."""
        def foreign(path):
            with sqlite3.connect(path) as database:
                database.execute("CREATE TABLE notes(text TEXT)")
                database.execute("PRAGMA user_version = 77")
            database.close()
        self.refused(foreign)

    def test_a_writer_from_outside_cannot_make_it_send(self):
        """Another program that holds the file costs time or 503s, never a second send."""
        upstream = self.use(Upstream(answer(201, body=b"done")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        self.assertEqual(gateway.post("before", BODY).status, 201)
        other = sqlite3.connect(gateway.store_path, timeout=0.1, isolation_level=None)
        self.addCleanup(other.close)
        held = True
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            held = False  # the gateway keeps the file to itself: nobody else gets in
        response = gateway.post("during", BODY, timeout=60)
        if not held:
            self.assertEqual(response.status, 201, response)
        self.assertIn(response.status, (201, 503), response)
        self.assertEqual(upstream.sends, 1 + (response.status == 201))
        if held:
            other.execute("ROLLBACK")
        wait_until(lambda: gateway.post("during", BODY).status == 201)
        self.assertEqual(upstream.sends, 2)

    def test_replays_go_on_while_nothing_can_be_written(self):
        """A repeat of a completed operation needs no write: it is answered from the record."""
        upstream = self.use(Upstream(answer(201, body=b"done")))
        gateway = self.use(Gateway(upstream, routes(guarded())))
        self.assertEqual(gateway.post("before", BODY).status, 201)
        other = sqlite3.connect(gateway.store_path, timeout=0.1, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        repeat = gateway.post("before", BODY, timeout=60)
        self.assertEqual((repeat.status, repeat.get("Idempotent-Replayed")), (201, "true"), repeat)
        self.assertEqual(gateway.post("new", BODY, timeout=60).status, 503)
        other.execute("ROLLBACK")
        self.assertEqual(upstream.sends, 1)


if __name__ == "__main__":
    main()
