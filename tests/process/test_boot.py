"""What a start must not do: forget a doubt, or take away a file that is not its own."""

import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, SOON, Guarded, send_post  # noqa: E402
from harness import Gateway, answer, hang, main, orders, rest, wait, wait_until  # noqa: E402


class Boot(Guarded):
    def serve(self, changes, *arguments):
        """A start that is expected to be refused; -> how it ended."""
        self.gateway.write_configuration(changes)
        return subprocess.run([self.gateway.binary, "serve", "-c", self.gateway.path, *arguments],
                              cwd=self.gateway.directory, capture_output=True, timeout=60,
                              text=True)

    def with_doubts(self, *keys, routes=None):
        """A stopped gateway with unknown operations in its store."""
        self.start(hang(), AT_ONCE, SOON, routes=routes)
        for key in keys:
            self.assertEqual(self.gateway.post(key, ORDER).status, 504)
        self.gateway.stop()

    def assert_refused(self, refused, count, route="create-order", why=""):
        self.assertEqual(refused.returncode, 2, refused)
        self.assertIn(why, refused.stderr)
        self.assertIn("recibo serve: %d unknown operation%s of route '%s'" % (
            count, "" if count == 1 else "s", route), refused.stderr)
        self.assertIn("--accept-dropped-routes", refused.stderr)
        self.assertIn('route.dropped route="%s" unknown=%d' % (route, count), refused.stderr)
        self.assertNotIn("recibo.ready", refused.stderr)


class DroppedRoutes(Boot):
    """A route's name and scope are part of the identity of its keys."""

    def test_what_forgets_a_doubt(self):
        """Another name, another scope, no route or an unguarded one: no start, exit 2."""
        self.with_doubts("k1", "k2")
        changes = {"renamed": [orders(name="renamed"), rest()],
                   "removed": [rest()],
                   "unguarded": [rest(name="create-order")],
                   "other scope": [orders(scope="gateway"), rest()]}
        for name, routes in changes.items():
            with self.subTest(name):
                self.assert_refused(self.serve({"routes": routes}), 2)
        self.assertEqual(self.upstream.sends, 2)

    def test_the_gateway_scope_given_up(self):
        """The other way round it is the same."""
        self.with_doubts("k1", routes=[orders(scope="gateway"), rest()])
        self.assert_refused(self.serve({"routes": [orders(), rest()]}), 1)

    def test_the_path_goes_to_another_route(self):
        """The route keeps its name, and its requests lead elsewhere now: no start, exit 2."""
        self.with_doubts("k1", "k2")
        moved = orders(match={"methods": ["POST"], "path": "/other"})
        changes = {
            "another enforced route": [moved, orders(name="orders2"), rest()],
            "one that is more specific": [orders(match={"methods": ["POST"], "path": "/*"}),
                                          orders(name="orders2"), rest()],
            "another one of the gateway's scope": [moved, orders(name="orders2", scope="gateway"),
                                                   rest()],
            "one that passes": [moved, rest()],
            "other methods": [orders(match={"methods": ["PUT"], "path": "/orders"}), rest()],
            "none": [moved],
        }
        for name, routes in changes.items():
            with self.subTest(name):
                self.assert_refused(self.serve({"routes": routes}), 2,
                                    why="its requests lead to another route")
        self.assertEqual(self.upstream.sends, 2)

    def test_the_owner_is_renamed(self):
        """An owner that nobody can be any more is as good as another key space."""
        self.with_doubts("k1")
        gone = {"owners": {"everyone": {"kind": "static", "owner": "me"}}}
        self.assert_refused(self.serve(gone), 1, why="its owner is none")
        keys = {"kind": "api_key", "keys": [{"owner": "acme", "sha256": "0" * 64}]}
        replaced = {"owners": {"partners": keys}, "routes": [orders(owner="partners"), rest()]}
        self.assert_refused(self.serve(replaced), 1, why="its owner is none")
        self.assertEqual(self.upstream.sends, 1)

    def test_the_owner_is_told_in_another_way(self):
        """The id is what counts: how its holder proves it may change."""
        self.with_doubts("k1")
        keys = {"kind": "api_key", "keys": [{"owner": "tester", "sha256": "0" * 64}]}
        self.gateway.restart({"owners": {"partners": keys},
                              "routes": [orders(owner="partners"), rest()]})
        self.assertNotIn("route.dropped", self.gateway.log())

    def test_another_route_that_finds_it(self):
        """With one key space for the gateway the requests may lead to any enforced route."""
        routes = [orders(scope="gateway"), rest()]
        self.with_doubts("k1", routes=routes)
        moved = orders(scope="gateway", match={"methods": ["POST"], "path": "/other"})
        self.gateway.restart({"routes": [moved, orders(name="orders2", scope="gateway"), rest()]})
        self.assertNotIn("route.dropped", self.gateway.log())
        again = self.gateway.post("k1", ORDER)
        self.assertEqual(self.operation_of(again)["state"], "unknown", again)
        self.assertEqual(self.upstream.sends, 1)

    def test_one_among_many(self):
        """Each row is looked at for itself: only some of a route's targets lead elsewhere."""
        wide = orders(match={"methods": ["POST"], "path": "/shop/*"})
        self.start(hang(), AT_ONCE, SOON, routes=[wide, rest()])
        for number in range(3):
            path = "/shop/%d" % number
            self.assertEqual(self.gateway.post("k%d" % number, ORDER, path=path).status, 504)
        self.gateway.stop()
        one = orders(name="one", match={"methods": ["POST"], "path": "/shop/1"})
        self.assert_refused(self.serve({"routes": [wide, one, rest()]}), 1)

    def test_each_route_is_told(self):
        """The message is about one of them; the log has all."""
        name = "x" * 64
        self.with_doubts("k1", routes=[orders(), orders(name=name, match={
            "methods": ["POST"], "path": "/other"}), rest()])
        self.gateway.write_configuration()
        self.gateway.start()
        self.assertEqual(self.gateway.post("k2", ORDER, path="/other").status, 504)
        self.gateway.stop()
        refused = self.serve({"routes": [rest()]})
        self.assertEqual(refused.returncode, 2, refused)
        for route in ("create-order", name):
            self.assertIn('route.dropped route="%s" unknown=1' % route, refused.stderr)
        self.assert_refused(self.serve({"routes": [orders(), rest()]}), 1, route=name)

    def test_rows_larger_than_a_page_has_room_for(self):
        """Long targets do not keep a start from looking at each of them."""
        self.with_doubts(*("k%d" % number for number in range(20)))
        with contextlib.closing(sqlite3.connect(self.gateway.store_path)) as database, database:
            database.execute("UPDATE receipts SET target = ?",
                             (b"/orders?x=" + 1000000 * b"y",))
        self.gateway.start()
        self.assertNotIn("route.dropped", self.gateway.log())
        self.gateway.stop()
        self.assert_refused(self.serve({"routes": [orders(name="renamed"), rest()]}), 20)

    def test_a_crash_before_the_renaming(self):
        """What was under way is in doubt, although nobody has written that down yet."""
        self.start(hang())
        self.use(send_post(self.gateway, "k1", ORDER))
        self.upstream.wait_for(1)
        self.gateway.kill9()
        self.assert_refused(self.serve({"routes": [orders(name="renamed"), rest()]}), 1)
        self.assertEqual(self.upstream.sends, 1)

    def test_it_can_be_accepted(self):
        """Whoever says so may start all the same, and the log keeps it."""
        self.with_doubts("k1")
        self.gateway.arguments = ["--accept-dropped-routes"]
        self.gateway.restart({"routes": [orders(name="renamed"), rest()]})
        self.gateway.wait_log(r'warn.*route\.dropped route="create-order" unknown=1')

    def test_a_promise(self):
        """What was accepted for later would never run, and its repeat would: no start, exit 2."""
        later = {"defer": {"when": "always"}, "retry": {"backoff": {"base": "1h", "max": "1h"}}}
        self.start(routes=[orders(**later), rest()])
        self.upstream.refuse()
        first = self.gateway.post("k1", ORDER)
        self.assertEqual(first.status, 202, first)
        wait_until(lambda: self.operation_of(first)["attempts"] and
                   self.operation_of(first)["phase"] == "deferred")
        self.gateway.stop()
        for routes in ([rest()], [orders(name="renamed", **later), rest()],
                       [orders(scope="gateway", **later), rest()]):
            refused = self.serve({"routes": routes})
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused)
            self.assertIn("--accept-dropped-routes", refused.stderr)
            self.assertIn('route.dropped route="create-order" deferred=1', refused.stderr)
        self.gateway.restart({"routes": [orders(), rest()]})  # it may stop deferring
        self.assertNotIn("route.dropped", self.gateway.log())
        self.assertEqual(self.gateway.post("k1", ORDER).status, 202)
        self.upstream.listen_again()
        self.gateway.admin("POST", "/v1/operations/%s/run-now" %
                           first.get("Idempotency-Operation"), {})
        self.gateway.wait_state(first.get("Idempotency-Operation"), "completed")
        self.assertEqual(self.upstream.sends, 1)
        self.gateway.restart({"routes": [rest()]})
        self.assertNotIn("route.dropped", self.gateway.log())

    def test_what_forgets_nothing(self):
        """The same names, or nothing in doubt any more: it starts, and says nothing."""
        self.with_doubts("k1")
        self.gateway.restart({"routes": [orders(on_pending={"wait": "1s"}), rest()]})
        operation = self.gateway.operations()[0]
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation["id"],
            {"verdict": "abandoned", "version": operation["version"], "note": "looked it up"})
        self.assertEqual(status, 200, value)
        self.gateway.restart({"routes": [orders(name="renamed"), rest()]})
        self.assertNotIn("route.dropped", self.gateway.log())


class Sockets(Boot):
    """admin.address as a socket in the file system."""

    def begin(self):
        self.folder = tempfile.mkdtemp(prefix="recibo-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "admin.sock")
        self.start()
        self.gateway.stop()
        self.gateway.write_configuration({"admin": {"address": "unix:" + self.path}})

    def launch(self):
        """Starts it, and waits for it without the operator's plane."""
        before = self.gateway.log().count("recibo.ready")
        self.gateway.launch()
        wait_until(lambda: self.gateway.log().count("recibo.ready") > before, 60,
                   self.gateway.log)

    def ask(self):
        with socket.socket(socket.AF_UNIX) as asker:
            asker.connect(self.path)
            asker.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return asker.recv(12)

    def test_a_file_in_the_way_stays(self):
        """Whatever is no socket is left alone, and the message names it; exit 1."""
        self.begin()
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("keep me")
        target = os.path.join(self.folder, "target")
        link, folder = os.path.join(self.folder, "link"), os.path.join(self.folder, "folder")
        os.symlink(target, link)
        os.mkdir(folder)
        log = self.gateway.store_path + ".lock"
        for path in (self.path, link, folder, log):
            with self.subTest(path):
                before = os.lstat(path)
                refused = self.serve({"admin": {"address": "unix:" + path}})
                self.assertEqual(refused.returncode, 1, refused)
                self.assertIn("admin.address unix:%s: there is a file that is no socket" % path,
                              refused.stderr)
                self.assertEqual(os.lstat(path).st_ino, before.st_ino)
        with open(self.path, encoding="utf-8") as file:
            self.assertEqual(file.read(), "keep me")

    def test_the_store_is_no_address(self):
        """The path of the store is refused when the file is read; exit 2."""
        self.begin()
        before = os.stat(self.gateway.store_path)
        refused = self.serve({"admin": {"address": "unix:" + self.gateway.store_path}})
        self.assertEqual(refused.returncode, 2, refused)
        self.assertIn("store.path", refused.stderr)
        self.assertEqual(os.stat(self.gateway.store_path).st_ino, before.st_ino)

    def test_a_socket_that_was_left_behind(self):
        """After a crash the next start takes the path over; a clean stop removes it."""
        self.begin()
        self.launch()
        self.gateway.kill9()
        self.assertTrue(os.path.exists(self.path))
        self.launch()
        self.assertEqual(self.ask(), b"HTTP/1.1 200")
        self.assertEqual(self.gateway.stop(), 0)
        self.assertFalse(os.path.exists(self.path))

    def test_a_socket_that_is_served(self):
        """It is another's: the second one does not start, the first goes on."""
        self.begin()
        self.launch()
        second = Gateway(self.upstream, start=False)
        self.addCleanup(second.close)
        second.port = second.admin_port = 0
        second.write_configuration({"admin": {"address": "unix:" + self.path}})
        second.launch()
        self.assertEqual(second.process.wait(60), 1, second.log())
        self.assertIn("another process serves this socket", second.log())
        self.assertEqual(self.ask(), b"HTTP/1.1 200")

    def test_another_socket_of_the_name_stays(self):
        """What has taken the path meanwhile is not removed at the end."""
        self.begin()
        self.launch()
        os.unlink(self.path)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(self.path)
            self.assertEqual(self.gateway.stop(), 0)
            self.assertTrue(os.path.exists(self.path))


class Signals(Boot):
    """What a service manager, a terminal or a log rotation sends."""

    def hold(self):
        """A call that is under way; -> (its client, what lets the upstream answer)."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.start(wait(release, answer(201, body=b"made")))
        client = self.use(send_post(self.gateway, "k1", ORDER))
        self.upstream.wait_for(1)
        return client, release

    def test_it_goes_on(self):
        """SIGHUP reads the file anew; SIGUSR1, SIGUSR2 and SIGPIPE mean nothing."""
        client, release = self.hold()
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE):
            self.gateway.process.send_signal(number)
        for count in (1, 2):
            self.gateway.process.send_signal(signal.SIGHUP)
            wait_until(lambda: self.gateway.log().count("recibo.reloaded") == count)
        release.set()
        response = client.read_response("POST")
        self.assertEqual((response.status, response.body), (201, b"made"))
        self.assertNotIn("recibo.draining", self.gateway.log())
        self.assertEqual(self.gateway.stop(), 0)

    def test_it_drains(self):
        """SIGTERM and SIGINT let what is under way come to its end; SIGHUP does not cut it."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                client, release = self.hold()
                self.gateway.process.send_signal(number)
                self.gateway.wait_log("recibo.draining")
                self.gateway.process.send_signal(signal.SIGHUP)
                self.gateway.wait_log("recibo.not_reloaded")
                release.set()
                self.assertEqual(client.read_response("POST").status, 201)
                self.assertEqual(self.gateway.process.wait(60), 0, self.gateway.log())
                self.assertIn("everything is on record", self.gateway.log())


class Listening(Boot):
    def test_the_line_of_an_address(self):
        """The message has the line that says the address, if there is one."""
        self.start()
        taken = Gateway(self.upstream, start=False)
        self.addCleanup(taken.close)
        taken.port, taken.admin_port = self.gateway.port, 0
        taken.write_configuration()
        taken.launch()
        self.assertEqual(taken.process.wait(60), 1, taken.log())
        self.assertRegex(taken.log(), r"cannot listen on 127\.0\.0\.1:%d \(line [1-9]\d*\): "
                         % self.gateway.port)


if __name__ == "__main__":
    main()
