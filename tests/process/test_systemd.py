"""What a supervisor is told and passes on: readiness, reloads, the drain, the watchdog, and
listening sockets; by the protocol of systemd, without its library.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded, send_post  # noqa: E402
from harness import ROOT, Gateway, Upstream, answer, fetch, main, wait  # noqa: E402

WAIT_S = 30.0
UNIT = os.path.join(ROOT, "docs", "recibo.service")


class Supervisor:
    """A notify socket, and what came."""

    def __init__(self, abstract=False):
        self.folder = tempfile.mkdtemp(prefix="recibo-notify-")
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.settimeout(WAIT_S)
        path = os.path.join(self.folder, "notify")
        self.name = "@" + path if abstract else path
        self.sock.bind("\0" + path if abstract else path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def next(self, skip=("WATCHDOG",)):
        """The fields of the next message that is no heart-beat."""
        while True:
            text = self.sock.recv(4096).decode()
            fields = dict(line.split("=", 1) for line in text.splitlines() if line)
            if not any(name in fields for name in skip):
                return fields


class Notify(Guarded):
    def begin(self, default=None, abstract=False, **env):
        self.upstream = self.use(Upstream(default or answer(201)))
        self.supervisor = self.use(Supervisor(abstract))
        self.gateway = Gateway(self.upstream, start=False,
                               env={"NOTIFY_SOCKET": self.supervisor.name, **env})
        self.use(self.gateway)
        self.gateway.start()

    def test_ready_reload_stop(self):
        """READY, RELOADING with the monotonic time, READY again, STOPPING; each with a status."""
        for abstract in (False, True):
            with self.subTest(abstract=abstract):
                self.begin(abstract=abstract)
                ready = self.supervisor.next()
                self.assertEqual(ready["READY"], "1")
                self.assertRegex(ready["STATUS"], r"configuration [0-9a-f]{16}")
                before = self.monotonic()
                self.gateway.signal(signal.SIGHUP)
                reloading = self.supervisor.next()
                self.assertEqual(reloading["RELOADING"], "1")
                at = int(reloading["MONOTONIC_USEC"])
                self.assertTrue(before <= at <= self.monotonic())
                self.assertEqual(self.supervisor.next()["READY"], "1")
                self.gateway.signal(signal.SIGTERM)
                self.assertEqual(self.supervisor.next()["STOPPING"], "1")
                self.assertEqual(self.gateway.wait_exit(), 0)

    def test_a_refused_reload_is_over_too(self):
        """After a file with an error it is ready again, under the old configuration."""
        self.begin()
        first = self.supervisor.next()
        with open(self.gateway.path, "a", encoding="utf-8") as file:
            file.write("}\n")
        self.gateway.signal(signal.SIGHUP)
        self.assertEqual(self.supervisor.next()["RELOADING"], "1")
        self.assertEqual(self.supervisor.next(), first)

    @staticmethod
    def monotonic():
        import time
        return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1000000)

    def test_the_watchdog(self):
        """It hears of us again and again, also while a drain goes on."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin(wait(release, answer(201)), WATCHDOG_USEC="200000")
        for _ in range(5):
            self.supervisor.next(skip=("READY", "STATUS"))
        caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.gateway.signal(signal.SIGTERM)
        while "STOPPING" not in self.supervisor.next():
            pass
        for _ in range(3):
            self.assertIn("WATCHDOG", self.supervisor.next(skip=()))
        release.set()
        self.assertEqual(caller.read_response().status, 201)
        self.assertEqual(self.gateway.wait_exit(), 0)

    def test_a_watchdog_of_another_process(self):
        """WATCHDOG_PID names somebody else: it is not our watchdog."""
        self.begin(WATCHDOG_USEC="2000", WATCHDOG_PID="1")
        self.supervisor.next()
        self.gateway.signal(signal.SIGTERM)
        self.assertIn("STOPPING", self.supervisor.next(skip=()))

    def test_nobody_listens(self):
        """A notify socket that is not there, or is none, hinders nothing."""
        for name in ("/nowhere/at/all", "relative", "", "/" + "x" * 200):
            with self.subTest(name=name):
                self.upstream = self.use(Upstream(answer(201)))
                gateway = self.use(Gateway(self.upstream, env={"NOTIFY_SOCKET": name,
                                                               "WATCHDOG_USEC": "100000"}))
                self.assertEqual(gateway.post("k1", ORDER).status, 201)
                self.assertEqual(gateway.stop(), 0)


class Activated(Gateway):
    """A gateway that gets listening sockets from its supervisor, as descriptors from 3 on."""

    def __init__(self, upstream, sockets, names="", pid=None, changes=None):
        super().__init__(upstream, changes, start=False)
        self.sockets, self.names, self.pid = sockets, names, pid

    def launch(self):
        numbers = [sock.fileno() for sock in self.sockets]

        def place():
            # First out of the way, then into their places; the last step before the exec.
            spare = [os.dup2(number, 200 + at) for at, number in enumerate(numbers)]
            for at, number in enumerate(spare):
                os.dup2(number, 3 + at)
                os.close(number)
            os.environ["LISTEN_PID"] = str(self.pid or os.getpid())

        script = 'LISTEN_PID=%s exec "$0" "$@"' % (self.pid or "$$")
        environment = dict(os.environ, **self.env, LISTEN_FDS=str(len(numbers)),
                           LISTEN_FDNAMES=self.names)
        with open(self.stderr_path, "ab") as stderr:
            self.process = subprocess.Popen(
                ["/bin/sh", "-c", script, self.binary, "serve", "-c", self.path],
                cwd=self.directory, env=environment, preexec_fn=place, close_fds=False,
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr)


def listening(address=("127.0.0.1", 0)):
    sock = socket.socket()
    sock.bind(address)
    sock.listen(64)
    return sock


class Activation(Guarded):
    def begin(self, names="http:admin", pid=None, extra=()):
        self.upstream = self.use(Upstream(answer(201)))
        self.data, self.plane = listening(), listening()
        self.addCleanup(self.data.close)
        self.addCleanup(self.plane.close)
        sockets = [self.plane, self.data, *extra]
        self.gateway = Activated(self.upstream, sockets, names, pid)
        self.use(self.gateway)
        self.gateway.port = self.data.getsockname()[1]
        self.gateway.admin_port = self.plane.getsockname()[1]
        self.gateway.write_configuration()

    def test_they_are_used(self):
        """Both planes serve on the sockets that were passed on, found by their addresses."""
        self.begin()
        self.gateway.launch()
        self.gateway.wait_ready()
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.assertEqual(self.gateway.admin("GET", "/v1/summary")[0], 200)

    def test_a_restart_loses_no_caller(self):
        """Who connects while it is down is served by the next process."""
        self.begin()
        self.gateway.launch()
        self.gateway.wait_ready()
        self.assertEqual(self.gateway.stop(), 0)
        waiting = self.use(send_post(self.gateway, "k1"))
        self.gateway.launch()
        self.gateway.wait_ready()
        self.assertEqual(waiting.read_response().status, 201)

    def test_callers_during_the_drain_wait(self):
        """They are not told 503: the next process serves them."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin()
        self.upstream.script(wait(release, answer(201)))
        self.gateway.launch()
        self.gateway.wait_ready()
        first = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.gateway.signal(signal.SIGTERM)
        self.gateway.wait_log("recibo.draining")
        self.gateway.wait_log("listener.left")
        second = self.use(send_post(self.gateway, "k2"))
        release.set()
        self.assertEqual(first.read_response().status, 201)
        self.assertEqual(self.gateway.wait_exit(), 0)
        self.gateway.launch()
        self.gateway.wait_ready()
        self.assertEqual(second.read_response().status, 201)

    def test_one_too_many(self):
        """A socket that no address is meant for stops the start, and is named."""
        other = listening()
        self.addCleanup(other.close)
        self.begin("admin:http:stray", extra=[other])
        self.gateway.launch()
        self.assertEqual(self.gateway.process.wait(WAIT_S), 1)
        self.assertIn("'stray'", self.gateway.log())

    def test_meant_for_another_process(self):
        """LISTEN_PID is not ours: the addresses are bound as always, and here are taken."""
        self.begin(pid=1)
        self.gateway.launch()
        self.assertEqual(self.gateway.process.wait(WAIT_S), 1)
        self.assertRegex(self.gateway.log(), r"cannot listen on 127\.0\.0\.1:%d.*in use"
                         % self.gateway.port)


@unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze")
class Unit(unittest.TestCase):
    def test_it_is_sound(self):
        """systemd finds nothing wrong with the unit but that the program is not installed."""
        done = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True,
                              check=False)
        left = [line for line in (done.stdout + done.stderr).splitlines()
                if "is not executable" not in line]
        self.assertEqual(left, [])

    def test_it_is_hardened(self):
        """Its exposure is below 2.5 of 10."""
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", UNIT],
                              capture_output=True, text=True, check=False)
        if "offline" in done.stderr:
            self.skipTest("this systemd-analyze judges no file")
        level = re.search(r"exposure level for recibo\.service: ([0-9.]+)", done.stdout)
        self.assertLess(float(level.group(1)), 2.5, done.stdout[-400:])


if __name__ == "__main__":
    main()
