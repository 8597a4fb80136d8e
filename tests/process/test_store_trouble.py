"""The store cannot be written while the gateway serves: another process holds it, the disk
refuses, the file or its folder is not ours any more. Nothing is sent without a durable
receipt, a refused call leaves nothing behind, what is on record is still answered,
/readyz says it, and all of it ends without a restart when the cause is gone.

A disk that refuses is the build's tests/recibo-trouble: there every write to the
database and its log gets the error that the test names.
"""

import errno
import os
import sqlite3
import stat
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Background, Guarded, send_post  # noqa: E402
from harness import (BINARY, Gateway, Upstream, answer, fin, main, orders, parallel,  # noqa: E402
                     rest, scratch, wait, wait_until)
from trouble import troubled  # noqa: E402

CALLERS = 12
BUSY_S = 60.0  # more than the store waits for a lock, twice
ERRORS = (errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT)
NOBODY = 65534
HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN " + sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
print("free", flush=True)
"""


class Holder:
    """Another process that has the database in a transaction of its own."""

    def __init__(self, path, mode):
        self.process = subprocess.Popen([sys.executable, "-c", HOLDER, path, mode], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.process.stdout.readline() == "held\n"
        return self

    def let_go(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "free\n"

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class Trouble(Guarded):
    def begin(self, make=None, log=None, **route):
        """A gateway with an answer and a doubt on record."""
        self.upstream = self.use(Upstream(answer(201, body={"ticket": 1})))
        changes = {"routes": [orders(breaker="none", **route), rest()], "log": log or {}}
        make = make or Gateway
        self.gateway = self.use(make(self.upstream, changes))
        if not self.gateway.is_running():
            self.gateway.start()
        self.upstream.script(answer(201, body={"ticket": 1}), fin())
        self.done = self.gateway.post("done", ORDER)
        self.assertEqual(self.done.status, 201)
        self.doubt = self.gateway.post("doubt", ORDER)
        self.assertEqual(self.doubt.status, 502)
        self.before = self.upstream.sends

    def claims_so_far(self):
        """Of the two calls of begin(), once the log has both; lines come a little later."""
        claims = self.gateway.log().count('room="claim"')
        return claims if claims >= 2 else None

    def ready(self):
        return self.gateway.admin("GET", "/readyz")[0]

    def refused(self, key):
        """A new call in the time of trouble."""
        response = self.gateway.post(key, ORDER, timeout=BUSY_S)
        self.assert_told(response, 503, "store-unavailable", retry=True, new_key=None)
        self.assertNotIn("Idempotency-Operation", response.headers)

    def assert_trouble(self):
        """New calls are refused, and what needs no write goes on."""
        parallel(CALLERS, lambda number: self.refused("new-%d" % number))
        self.assertEqual(self.ready(), 503)
        self.assertEqual(self.gateway.metrics()["recibo_store_failing"], 1)
        self.assertEqual(self.upstream.sends, self.before, "sent without a receipt")

    def assert_reads_go_on(self):
        self.assert_replay(self.done, self.gateway.post("done", ORDER, timeout=BUSY_S))
        self.assert_problem(self.gateway.post("done", {"order": 8}, timeout=BUSY_S), 422,
                            "key-reused")
        self.assert_unknown_repeat(self.gateway.post("doubt", ORDER, timeout=BUSY_S))
        self.assertEqual(self.gateway.request("GET", "/page").status, 201)
        self.before += 1  # the page

    def assert_over(self):
        """Without traffic and without a restart it is ready again; nothing was kept."""
        wait_until(lambda: self.ready() == 200)
        self.gateway.wait_log("store.failing")
        self.gateway.wait_log("store.recovered")
        keys = sorted(operation["key"] for operation in self.gateway.operations())
        self.assertEqual(keys, ["done", "doubt"], "a refused call left something behind")
        self.assertEqual(self.upstream.sends, self.before)
        for number in range(CALLERS):
            response = self.gateway.post("new-%d" % number, ORDER)
            self.assert_passed_on(response, 201, "executed")
            self.assert_replay(response, self.gateway.post("new-%d" % number, ORDER))
        self.assertEqual(self.upstream.sends, self.before + CALLERS)

    def settle_it(self):
        """-> the status of a verdict on the doubt."""
        operation = self.operation_of(self.doubt)
        said = {"verdict": "abandoned", "version": operation["version"], "note": "looked"}
        path = "/v1/operations/%s/settle" % operation["id"]
        return self.gateway.admin("POST", path, said)[0]


class Held(Trouble):
    """Another process has the database locked."""

    def hold(self, mode):
        return self.use(Holder(self.gateway.store_path, mode))

    def test_held_for_a_while(self):
        """Both kinds of lock, for longer than the store waits."""
        def one(mode):
            case = Held("test_held_for_a_while")
            try:
                case.begin()
                holder = case.hold(mode)
                case.assert_trouble()
                case.assert_reads_go_on()
                self.assertEqual(case.settle_it(), 503)
                self.assertEqual(case.operation_of(case.doubt)["state"], "unknown")
                holder.let_go()
                case.assert_over()
                self.assertEqual(case.settle_it(), 200)
            finally:
                case.doCleanups()
        modes = ("IMMEDIATE", "EXCLUSIVE")
        parallel(len(modes), lambda index: one(modes[index]))

    def test_held_for_a_moment(self):
        """Shorter than the store waits: it costs time, and nothing else."""
        self.begin(log={"level": "debug"})
        claims = wait_until(self.claims_so_far)
        holder = self.hold("EXCLUSIVE")
        call = Background(lambda: self.gateway.post("new", ORDER, timeout=BUSY_S))
        wait_until(lambda: self.gateway.log().count('room="claim"') > claims)
        self.assertEqual(self.upstream.sends, self.before)
        holder.let_go()
        self.assert_passed_on(call.result(), 201, "executed")
        self.assertEqual(self.upstream.sends, self.before + 1)

    def test_held_between_the_send_and_the_answer(self):
        """The answer is told as not recorded; it is on record as soon as that can be."""
        self.begin()
        release = threading.Event()
        self.addCleanup(release.set)
        self.upstream.script(wait(release, answer(201, body={"ticket": 9})))
        caller = self.use(send_post(self.gateway, "held", timeout=BUSY_S))
        self.upstream.wait_for(self.before + 1)
        holder = self.hold("EXCLUSIVE")
        release.set()
        told = caller.read_response()
        self.assertEqual((told.status, told.json()["code"]), (504, "outcome-unknown"), told)
        self.assertIs(told.json()["safe_new_key"], False)
        holder.let_go()
        self.gateway.wait_state(told.get("Idempotency-Operation"), "completed")
        repeat = self.gateway.post("held", ORDER)
        self.assertEqual((repeat.status, repeat.json()), (201, {"ticket": 9}))
        self.assertEqual(self.upstream.sends, self.before + 1)

    def test_held_at_the_start(self):
        """It does not begin to serve on a store that it cannot write; it says why."""
        self.begin()
        self.gateway.stop()
        holder = self.hold("EXCLUSIVE")
        self.gateway.launch()
        self.assertEqual(self.gateway.wait_exit(), 1)
        self.assertRegex(self.gateway.log(), r"recibo serve: .*recibo\.db': another program")
        holder.let_go()
        self.gateway.start()
        self.assert_replay(self.done, self.gateway.post("done", ORDER))
        self.assert_unknown_repeat(self.gateway.post("doubt", ORDER))
        self.assertEqual(self.upstream.sends, self.before)


class Disk(Trouble):
    """The disk takes no write to the store."""

    def begin_on_disk(self, **options):
        self.begin(make=lambda upstream, changes: troubled(upstream, changes, scratch("disk-")),
                   **options)

    def wait_said(self, event, count):
        wait_until(lambda: self.gateway.log().count(event) == count)

    def test_each_way_to_refuse(self):
        """Full, read-only, broken, over its quota: the same for the caller, each time anew."""
        self.begin_on_disk()
        for round_number, number in enumerate(ERRORS, 1):
            with self.subTest(errno.errorcode[number]):
                keys = len(self.gateway.operations(limit=500))
                self.gateway.trouble.deny(number)
                name = "%d" % number
                parallel(CALLERS, lambda index: self.refused("%s-%d" % (name, index)))
                self.assertGreater(self.gateway.trouble.denied, 0)
                self.assertEqual(self.ready(), 503)
                self.wait_said("store.failing", round_number)
                self.assert_reads_go_on()
                self.assertEqual(self.settle_it(), 503)
                self.gateway.trouble.deny(0)
                wait_until(lambda: self.ready() == 200)
                self.wait_said("store.recovered", round_number)
                self.assertEqual(len(self.gateway.operations(limit=500)), keys)
                self.assertEqual(self.upstream.sends, self.before)
                self.assert_passed_on(self.gateway.post(name + "-0", ORDER), 201, "executed")
                self.before += 1
        self.assertEqual(self.gateway.log().count("store.failing"), len(ERRORS))
        self.gateway.restart(kill=True)
        self.assert_unknown_repeat(self.gateway.post("doubt", ORDER))

    def test_from_the_send_on(self):
        """The outcome cannot be written, and the process dies: in doubt, not forgotten."""
        self.begin_on_disk()
        release = threading.Event()
        self.addCleanup(release.set)
        for number in ERRORS:
            with self.subTest(errno.errorcode[number]):
                key, sends = "send-%d" % number, self.upstream.sends
                self.upstream.script(wait(release, answer(201, body={"ticket": 9})))
                caller = self.use(send_post(self.gateway, key, timeout=BUSY_S))
                self.upstream.wait_for(sends + 1)
                self.gateway.trouble.deny(number)
                release.set()
                told = caller.read_response()
                self.assertEqual((told.status, told.json()["safe_new_key"]), (504, False))
                self.gateway.kill9()
                self.gateway.trouble.deny(0)
                self.gateway.start()
                self.assert_unknown_repeat(self.gateway.post(key, ORDER))
                self.assertEqual(self.upstream.sends, sends + 1)
                release.clear()

    def test_at_the_start(self):
        """A disk that refuses the first write: no start, and a sentence that names the file."""
        self.begin_on_disk()
        self.gateway.stop()
        for number in ERRORS:
            with self.subTest(errno.errorcode[number]):
                os.truncate(self.gateway.stderr_path, 0)
                self.gateway.trouble.deny(number)
                self.gateway.launch()
                self.assertEqual(self.gateway.wait_exit(), 1)
                self.assertRegex(self.gateway.log(), r"recibo serve: .*recibo\.db")
        self.gateway.trouble.deny(0)
        self.gateway.start()
        self.assert_replay(self.done, self.gateway.post("done", ORDER))


class Place(Trouble):
    """The file or its folder changes under the process."""

    def test_the_file_is_moved_away(self):
        """Nothing more is taken on; the very file back at its place, and it goes on."""
        self.begin()
        away = self.gateway.store_path + ".away"
        os.rename(self.gateway.store_path, away)
        self.assert_trouble()
        self.assert_replay(self.done, self.gateway.post("done", ORDER))
        os.rename(away, self.gateway.store_path)
        self.assert_over()

    def test_another_file_takes_its_place(self):
        """A backup copied over the running store is not taken for it."""
        self.begin()
        away, copy = self.gateway.store_path + ".away", self.gateway.store_path + ".copy"
        source = sqlite3.connect(self.gateway.store_path)
        source.execute("VACUUM INTO ?", (copy,))
        source.close()
        os.rename(self.gateway.store_path, away)
        os.rename(copy, self.gateway.store_path)
        self.assert_trouble()
        os.rename(away, self.gateway.store_path)
        self.assert_over()


def as_ordinary_user(directory, binary):
    """A program that is the gateway without the rights of root."""
    if os.getuid() != 0:
        return binary
    path = os.path.join(directory, "as-nobody")
    with open(path, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nexec setpriv --reuid %d --regid %d --clear-groups "%s" "$@"\n'
                   % (NOBODY, NOBODY, binary))
    os.chmod(path, stat.S_IRWXU | stat.S_IROTH | stat.S_IXOTH)
    os.chown(directory, NOBODY, NOBODY)
    os.chmod(directory, stat.S_IRWXU | stat.S_IXGRP | stat.S_IXOTH)
    return path


def can_be_run_by_others(path):
    """May another user run this file, as far as the folders on the way go?"""
    while os.getuid() == 0 and path != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        path = os.path.dirname(path)
    return True


@unittest.skipUnless(can_be_run_by_others(BINARY), "the build lies where no other user may go")
class Rights(Trouble):
    """Whoever may write changes his mind. The gateway runs as an ordinary user."""

    def begin_as_user(self, **options):
        def make(upstream, changes):
            directory = scratch("rights-")
            binary = as_ordinary_user(directory, BINARY)
            gateway = Gateway(upstream, changes, directory=directory, binary=binary, start=False)
            gateway.owns_directory = True
            return gateway
        self.begin(make=make, **options)

    def deny(self, path, mode):
        before = stat.S_IMODE(os.stat(path).st_mode)
        os.chmod(path, mode)
        return lambda: os.chmod(path, before)

    def refused_start(self, words):
        os.truncate(self.gateway.stderr_path, 0)
        self.gateway.launch()
        self.assertEqual(self.gateway.wait_exit(), 1, self.gateway.log())
        self.assertRegex(self.gateway.log(), words)
        self.assertNotIn("recibo.ready", self.gateway.log())

    def test_read_only_at_the_start(self):
        """A file or a folder that may only be read: no start, and a sentence that names it."""
        self.begin_as_user()
        self.gateway.stop()
        for path, mode, words in (
                (self.gateway.store_path, 0o400, r"recibo\.db' cannot be read and written"),
                (self.gateway.directory, 0o555, r"the directory '.*' cannot be written")):
            with self.subTest(words):
                give_back = self.deny(path, mode)
                self.refused_start(words)
                give_back()
        self.gateway.start()
        self.assert_replay(self.done, self.gateway.post("done", ORDER))
        self.assert_unknown_repeat(self.gateway.post("doubt", ORDER))
        self.assertEqual(self.upstream.sends, self.before)

    def test_read_only_while_it_serves(self):
        """Open files stay open: each call is still either refused or durable."""
        self.begin_as_user()
        for path, mode in ((self.gateway.store_path, 0o400), (self.gateway.directory, 0o555)):
            with self.subTest(path):
                key, sends = os.path.basename(path), self.upstream.sends
                give_back = self.deny(path, mode)
                first = self.gateway.post(key, ORDER, timeout=BUSY_S)
                self.assertIn(first.status, (201, 503), first)
                self.assertEqual(self.upstream.sends, sends + (first.status == 201))
                self.assert_replay(self.done, self.gateway.post("done", ORDER))
                give_back()
                self.gateway.restart(kill=True)
                again = self.gateway.post(key, ORDER)
                self.assertEqual(again.status, 201)
                if first.status == 201:
                    self.assert_replay(first, again)
                self.assertEqual(self.upstream.sends, sends + 1)

    def test_no_room_beside_the_store_for_a_large_answer(self):
        """An answer that outgrows memory and finds no file: told, and never sent again."""
        self.begin_as_user(replay_body_max="1KiB")
        give_back = self.deny(self.gateway.directory, 0o555)
        self.upstream.script(answer(201, body=b"x" * 100000))
        first = self.gateway.post("large", ORDER)
        if first.status == 201:
            self.assertEqual(first.body, b"x" * 100000)
        else:
            self.assertEqual(first.get("Idempotency-Status"), "unknown", first)
            self.assertIs(first.json()["safe_new_key"], False)
        give_back()
        repeat = self.gateway.post("large", ORDER)
        self.assertEqual(repeat.status, 409, repeat)
        self.assertEqual(self.upstream.sends, self.before + 1)


if __name__ == "__main__":
    main()
