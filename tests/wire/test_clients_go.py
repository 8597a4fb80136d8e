"""Go's net/http, which repeats a POST that carries a key when a kept connection dies: as a
client of the gateway, and as a hop behind it."""

import os
import shutil
import subprocess
import unittest

from clients_lib import HERE, Client, run_program
import stories
from bugs_lib import PATIENT, Reports, guarded
from harness import BUILD, Gateway, Upstream, answer, fin, main, rest

FOLDER = os.path.join(BUILD, "go")
BUILD_S = 300
STOP_S = 30
CLIENTS = [
    Client("go", [os.path.join(FOLDER, "post")]),
    Client("go-reused", [os.path.join(FOLDER, "post")], {"gone": 1}, {"MODE": "reused"}),
]


def build():
    """The programs, in the build directory; -> None, or what is missing."""
    if shutil.which("go") is None:
        return "go is not installed: apt-get install --no-install-recommends golang-go"
    os.makedirs(FOLDER, exist_ok=True)
    env = dict(os.environ, GO111MODULE="off", GOFLAGS="",
               GOCACHE=os.path.join(FOLDER, "cache"))
    for name in ("post", "hop"):
        ran = subprocess.run(
            ["go", "build", "-o", os.path.join(FOLDER, name), os.path.join(HERE, name + ".go")],
            env=env, capture_output=True, text=True, timeout=BUILD_S, check=False)
        if ran.returncode != 0:
            raise AssertionError("go build %s.go failed:\n%s" % (name, ran.stderr[-4000:]))
    return None


class GoClients(stories.ClientStories):
    skip_all = staticmethod(build)

    @staticmethod
    def rows():
        return CLIENTS, {}

    @staticmethod
    def run_client(client, calls):
        return run_program(client.command, client, calls)


class GoHop(Reports):
    """gateway -> hop -> upstream: the hop repeats what it sees a key on."""

    @classmethod
    def setUpClass(cls):
        why_not = build()
        if why_not:
            raise unittest.SkipTest(why_not)

    def start(self, **route):
        """An upstream that drops every second request on a connection."""
        upstream = self.use(Upstream())
        seen = set()

        def on_request(request):
            if request.connection in seen:
                return fin()
            seen.add(request.connection)
            return answer(200, body=b"done")
        upstream.on_request = on_request
        hop = subprocess.Popen([os.path.join(FOLDER, "hop"), upstream.url], text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(self.stop, hop)
        gateway = self.use(Gateway(hop.stdout.readline().strip(), {
            "routes": [guarded(**route), rest()],
            "upstreams": {"legacy": {"timeouts": PATIENT}}}))
        return upstream, gateway

    @staticmethod
    def stop(hop):
        hop.terminate()
        hop.wait(STOP_S)
        hop.stdout.close()

    def test_hop_that_would_repeat_sees_no_key(self):
        """The key stays with the gateway, so that the hop sends a lost request once."""
        upstream, gateway = self.start()
        self.assertEqual(gateway.post("k-1", {"order": 1}).status, 200)
        self.assertEqual(gateway.post("k-2", {"order": 2}).status, 502)
        self.assert_unknown(gateway, "k-2", "answered")
        self.assertEqual([r.json()["order"] for r in upstream.requests], [1, 2])
        self.assertEqual([r.key for r in upstream.requests], [None, None])
        self.assert_refused_unknown(gateway.post("k-2", {"order": 2}))
        self.assertEqual(upstream.sends, 2)

    def test_hop_repeats_when_the_route_passes_the_key_on(self):
        """Why the key is passed on only to an API that the route declares to deduplicate."""
        upstream, gateway = self.start(
            upstream_idempotency={"header": "Idempotency-Key", "window": "24h"})
        for number in (1, 2):
            response = gateway.post("k-%d" % number, {"order": number})
            self.assertEqual((response.status, response.body), (200, b"done"))
        self.assertEqual([r.json()["order"] for r in upstream.requests], [1, 2, 2])
        self.assertEqual(len({r.key for r in upstream.requests[1:]}), 1)


if __name__ == "__main__":
    main()
