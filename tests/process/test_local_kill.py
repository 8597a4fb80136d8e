"""Local effects across a crash, a failing commit, a full disk and memory that runs out:
receipt and row are both there or neither is, and what a caller has seen is what every
repeat gets. The fault points of a local commit are visited here, too.
"""

import errno
import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, Gateway, WireError, main, scratch, wait_until  # noqa: E402
from local_effects import TAREAS, TICKETS, Local, example, secrets  # noqa: E402
from trouble import BINARY as TROUBLED  # noqa: E402
from trouble import DIGESTS, EVHTTP, Trouble  # noqa: E402

FAULTS = os.path.join(BUILD, "tests", "recibo-faults")
CRASHED = 137
ROUNDS = int(os.environ.get("RECIBO_CRASH_ROUNDS", "12"))
SEED = int(os.environ.get("RECIBO_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
CALLERS = 8
ALLOCATIONS_MAX = 400


class Kept(Local):
    def try_post(self, key, text):
        """The answer, or None when the connection ended without one."""
        try:
            return self.post(key, text)
        except (OSError, WireError):
            return None

    def assert_pairs(self):
        """Each row has its receipt, and each receipt its row."""
        with self.database() as base:
            texts = [row[0] for row in base.execute("SELECT %s FROM %s" % (
                self.example.column, self.example.table))]
            receipts = base.execute("SELECT count(*) FROM receipts").fetchone()[0]
        self.assertEqual(len(texts), receipts)
        self.assertEqual(len(texts), len(set(texts)), "a key has had two effects")
        return texts


class FaultPoints(Kept):
    def strike(self, which, point, action):
        self.start_example(which, binary=FAULTS, start=False)
        self.gateway.env["RECIBO_FAULT"] = "%s:%s" % (point, action)
        self.gateway.start()
        first = self.try_post("k1", "once")
        self.gateway.wait_log("recibo: fault %s: %s" % (point, action.split("=")[0]))
        if action == "crash":
            self.assertIsNone(first)
            self.assertEqual(self.gateway.wait_exit(), CRASHED)
        else:
            self.gateway.stop()
        del self.gateway.env["RECIBO_FAULT"]
        return first

    def test_crash_before_the_commit(self):
        """Killed with both rows applied and not committed: neither is there, the repeat runs."""
        for which in (TICKETS, TAREAS):
            self.strike(which, "local_commit", "crash")
            self.assertEqual(self.counts(), (0, 0))
            self.gateway.start()
            self.assert_made(self.post("k1", "once"))
            self.assertEqual(self.counts(), (1, 1))

    def test_crash_between_commit_and_answer(self):
        """Killed with both rows committed and nobody told: the repeat is replayed."""
        for which in (TICKETS, TAREAS):
            self.strike(which, "local_committed", "crash")
            self.assertEqual(self.counts(), (1, 1))
            self.gateway.start()
            repeat = self.post("k1", "once")
            self.assertEqual((repeat.status, repeat.get("Idempotency-Status")), (201, "replayed"))
            self.assertEqual(repeat.json()[which.member], "once")
            self.assert_told(self.post("k1", "twice"), 422, "key-reused", state="completed")
            self.assertEqual(self.counts(), (1, 1))

    def test_crash_before_the_first_byte_of_the_answer(self):
        """Killed as the answer was about to leave: the repeat is replayed."""
        self.strike(TICKETS, "reply_first_byte", "crash")
        self.gateway.start()
        self.assertEqual(self.post("k1", "once").get("Idempotency-Status"), "replayed")
        self.assertEqual(self.counts(), (1, 1))

    def test_a_commit_that_fails(self):
        """A failed commit takes back both rows, says so, and leaves the key free."""
        for which in (TICKETS, TAREAS):
            first = self.strike(which, "local_commit", "error")
            self.assert_told(first, 503, "store-unavailable", retry=True)
            self.assertEqual(self.counts(), (0, 0))
            self.gateway.start()
            self.assert_made(self.post("k1", "once"))
            self.assertEqual(self.counts(), (1, 1))

    def test_a_commit_that_takes_its_time(self):
        """A slow disk changes nothing but the time."""
        for point in ("local_commit", "local_committed"):
            first = self.strike(TICKETS, point, "delay=40")
            self.assert_made(first)
            self.gateway.start()
            self.assert_replay(first, self.post("k1", "once"))

    def test_crash_while_the_tables_are_made(self):
        """Killed in the first start: the next one makes what is missing."""
        self.start_example(TICKETS, binary=FAULTS, start=False)
        self.gateway.env["RECIBO_FAULT"] = "schema_commit:crash"
        self.gateway.port, self.gateway.admin_port = 0, 0
        self.gateway.write_configuration()
        self.gateway.launch()
        self.assertEqual(self.gateway.wait_exit(), CRASHED)
        del self.gateway.env["RECIBO_FAULT"]
        self.gateway.port = self.gateway.admin_port = None
        self.gateway.start()
        self.assert_made(self.post("k1", "once"))


class Killed(Kept):
    def test_killed_under_load(self):
        """Killed at any moment under load: both rows or neither, and no answer is taken back."""
        self.start_example(TICKETS)
        chance = random.Random(SEED)
        told, lock = {}, threading.Lock()
        for round_ in range(ROUNDS):
            reached = threading.Event()
            at = len(told) + chance.randrange(1, 120)
            threads = [threading.Thread(target=self.load, args=(round_, number, told, lock, at,
                                                                reached)) for number in range(CALLERS)]
            for thread in threads:
                thread.start()
            reached.wait(60)
            self.gateway.restart(kill=True)
            reached.set()
            for thread in threads:
                thread.join()
            self.assert_pairs()
            for key, body in chance.sample(sorted(told.items()), min(20, len(told))):
                repeat = self.post(key, "text of " + key)
                self.assertEqual((repeat.status, repeat.body), (201, body),
                                 "seed %d, round %d" % (SEED, round_))
        self.assertGreater(len(told), 0)

    def load(self, round_, caller, told, lock, at, reached):
        """New keys, each asked twice, until the process is gone."""
        for number in range(200):
            key = "%d-%d-%d" % (round_, caller, number)
            first = self.try_post(key, "text of " + key)
            with lock:
                if first is not None and first.status == 201:
                    told[key] = first.body
                if len(told) >= at or first is None:
                    reached.set()
            if reached.is_set():
                return


class Troubled(Kept):
    def start_troubled(self, which):
        self.example = which
        directory = scratch()
        self.gateway = self.use(Gateway(text=example(which.name), env=secrets(), binary=TROUBLED,
                                        directory=directory, start=False))
        self.gateway.owns_directory = True
        self.trouble = self.use(Trouble(directory))
        self.gateway.env["RECIBO_TROUBLE"] = self.trouble.path
        self.gateway.start()

    def test_a_full_disk(self):
        """A disk that is full takes neither row, repeats are replayed, and when there is room
        again the same key runs once."""
        for number in (errno.ENOSPC, errno.EIO):
            self.start_troubled(TICKETS)
            before = self.post("k0", "before")
            self.assert_made(before)
            self.trouble.deny(number)
            for _ in range(3):
                self.assert_told(self.post("k1", "full"), 503, "store-unavailable", retry=True)
                self.assert_replay(before, self.post("k0", "before"))
            self.assertGreater(self.trouble.denied, 0)
            self.assertEqual(self.counts(), (1, 1))
            self.trouble.deny(0)
            wait_until(lambda: self.post("k1", "full").status == 201)
            self.assertEqual(self.post("k1", "full").get("Idempotency-Status"), "replayed")
            self.assertEqual(self.counts(), (2, 2))

    def test_no_memory(self):
        """Whichever allocation fails, a key has both rows or neither, and runs in the end."""
        self.start_troubled(TAREAS)
        self.trouble.spare(DIGESTS, EVHTTP)
        self.assert_made(self.post("k", "warm"))
        struck = True
        number = 0
        while struck and number < ALLOCATIONS_MAX:
            number += 1
            key = "k%d" % number
            self.trouble.fail(number)
            first = self.try_post(key, "text %d" % number)
            struck = self.trouble.relent() > 0
            last = self.post(key, "text %d" % number)
            self.assertEqual(last.status, 201, last)
            if first is not None and first.status == 201:
                self.assertEqual(last.body, first.body)
            self.assertEqual(len(self.assert_pairs()), number + 1)
        self.assertFalse(struck, "more allocations than were tried")
        self.assertGreater(number, 3)


if __name__ == "__main__":
    main()
