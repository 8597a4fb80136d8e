"""What a start must not do: forget a doubt, or take away a file that is not its own."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import AT_ONCE, ORDER, SOON, Guarded  # noqa: E402
from harness import hang, main, orders, rest  # noqa: E402


class DroppedRoutes(Guarded):
    """A route's name is part of the identity of its keys."""

    def renamed(self, *arguments):
        self.gateway.write_configuration({"routes": [orders(name="renamed"), rest()]})
        return subprocess.run([self.gateway.binary, "serve", "-c", self.gateway.path, *arguments],
                              cwd=self.gateway.directory, capture_output=True, timeout=60,
                              text=True)

    def test_a_renamed_route_does_not_forget_a_doubt(self):
        """With an unknown operation in the store a start without its route is refused."""
        self.start(hang(), AT_ONCE, SOON)
        self.assertEqual(self.gateway.post("k1", ORDER).status, 504)
        self.gateway.stop()
        refused = self.renamed()
        self.assertEqual(refused.returncode, 1, refused)
        self.assertIn("1 unknown operations of route 'create-order'", refused.stderr)
        self.assertIn("--accept-dropped-routes", refused.stderr)
        self.assertEqual(self.upstream.sends, 1)

    def test_it_can_be_accepted(self):
        """Whoever says so may start all the same, and the log keeps it."""
        self.start(hang(), AT_ONCE, SOON)
        self.assertEqual(self.gateway.post("k1", ORDER).status, 504)
        self.gateway.stop()
        self.gateway.arguments = ["--accept-dropped-routes"]
        self.gateway.restart({"routes": [orders(name="renamed"), rest()]})
        self.gateway.wait_log(r'route\.dropped route="create-order" unknown=1')


class Sockets(Guarded):
    """admin.address as a socket in the file system."""

    def test_a_file_in_the_way_stays(self):
        """Only a socket that nobody serves is taken away; any other file is left alone."""
        self.start()
        self.gateway.stop()
        precious = os.path.join(self.gateway.directory, "precious.txt")
        with open(precious, "w", encoding="utf-8") as file:
            file.write("keep me")
        for path in (precious, self.gateway.store_path):
            before = os.stat(path)
            self.gateway.write_configuration({"admin": {"address": "unix:" + path}})
            refused = subprocess.run(
                [self.gateway.binary, "serve", "-c", self.gateway.path],
                cwd=self.gateway.directory, capture_output=True, timeout=60, text=True)
            self.assertEqual(refused.returncode, 1, refused)
            self.assertIn("admin.address", refused.stderr)
            self.assertEqual(os.stat(path).st_ino, before.st_ino)


if __name__ == "__main__":
    main()
