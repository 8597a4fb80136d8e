"""Real clients against an upstream that loses its answers: what all their tests share.

The upstream acts on an operation's first request as the story says, and answers
every further one with the word SECOND, which no client may ever see. A client is
a program that makes one call with a key and says how it ended.
"""

import json
import re
import subprocess
import threading

from bugs_lib import HASTY, PATIENT, Reports, guarded
from harness import Gateway, Upstream, answer, fin, reset, rest, wait

JSON_TYPE = [("Content-Type", "application/json")]
DEADLINE_S = 90
BREATH_MS = 1000  # a client that gives up before the gateway does
LONG_MS = 60000
TOKEN = re.compile(rb"tok-[a-z0-9-]+")
LOSSES = {"fin": fin(), "reset": reset()}


def done(token):
    """An answer that every client of the table takes for a success."""
    return {"id": "done-" + token, "object": "charge", "payment": {"id": "done-" + token},
            "choices": [], "model": "m"}


def client_routes():
    """The routes that the clients of the table call."""
    return [
        guarded(),
        guarded(name="charges", preset="stripe", match={"methods": ["POST"], "path": "/v1/charges"},
                key=None, fingerprint=None, labels={"what": {"form": "description"}}),
        guarded(name="payments", match={"methods": ["POST"], "path": "/v2/payments"},
                key={"from": "json", "name": None, "pointer": "/idempotency_key"},
                labels={"what": {"json": "/note"}}),
        guarded(name="completions", match={"methods": ["POST"], "path": "/v1/chat/completions"},
                labels={"what": {"json": "/messages/0/content"}}),
        rest(),
    ]


class Client:
    """One row of the table: how it is started, and how often it asks again.

    lost: repeats that reach the gateway after a 502 or 504. told: repeats after a
    409 outcome-unknown. chooses_key: it makes a key by itself when it gets none."""

    def __init__(self, name, command, lost, told, env=None, chooses_key=False, key_in_body=False):
        self.name, self.command, self.lost, self.told = name, command, lost, told
        self.env = dict(env or {})
        self.chooses_key, self.key_in_body = chooses_key, key_in_body


class ClientCase(Reports):
    """The stories; a subclass gives `clients` and `run_client(client, base, key, token, ms)`."""

    clients = []
    together = 2

    def start(self, timeouts, first):
        """first(token): the action for the first request of an operation."""
        self.counts, self.lock = {}, threading.Lock()
        self.upstream = self.use(Upstream())

        def on_request(request):
            token = TOKEN.search(request.body).group().decode()
            with self.lock:
                self.counts[token] = self.counts.get(token, 0) + 1
                count = self.counts[token]
            return first(token) if count == 1 else answer(200, JSON_TYPE, {"id": "SECOND"})
        self.upstream.on_request = on_request
        self.gateway = self.use(Gateway(self.upstream, {
            "routes": client_routes(),
            "upstreams": {"legacy": {"timeouts": timeouts}},
            "limits": {"memory_max": "4GiB"}}))
        return "http://127.0.0.1:%d" % self.gateway.port

    def for_each_client(self, story):
        """story(client), a few at a time; the failures of all are shown together."""
        gate, errors = threading.Semaphore(self.together), []

        def one(client):
            with gate:
                try:
                    story(client)
                except BaseException as error:  # noqa: B902 - shown below
                    errors.append("%s: %s: %s" % (client.name, type(error).__name__, error))
        threads = [threading.Thread(target=one, args=(c,), daemon=True) for c in self.clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S * 4)
        self.assertEqual(errors, [])

    def sends(self, token):
        with self.lock:
            return self.counts.get(token, 0)

    def receipt(self, key):
        return self.operation_of(self.gateway, key)

    def assert_success(self, result, token, client):
        self.assertTrue(result["ok"], (client.name, result))
        self.assertIn("done-" + token, result["text"])
        self.assertNotIn("SECOND", result["text"])

    # the stories

    def play_lost(self, loss):
        """The answer is lost on a connection that ends; settled by an operator; then replayed."""
        base = self.start(PATIENT, lambda token: LOSSES[loss])

        def story(client):
            token, key = "tok-%s-%s" % (loss, client.name), "key-%s-%s" % (loss, client.name)
            result = self.run_client(client, base, key, token, LONG_MS)
            self.assertFalse(result["ok"], result)
            operation = self.receipt(key)
            self.assertEqual(operation["state"], "unknown", operation)
            self.assertEqual(operation["repeats"], client.lost, operation)
            again = self.run_client(client, base, key, token, LONG_MS)
            self.assertFalse(again["ok"], again)
            if again["status"] is not None:
                self.assertEqual(again["status"], 409, again)
            operation = self.receipt(key)
            self.assertEqual(operation["repeats"], client.lost + 1 + client.told, operation)
            self.assertEqual(self.sends(token), 1)
            self.settle(self.gateway, operation, "executed", {
                "status": 200, "headers": {"Content-Type": "application/json"},
                "body": done(token)})
            self.assert_success(self.run_client(client, base, key, token, LONG_MS), token, client)
            self.assertEqual(self.sends(token), 1)
        self.for_each_client(story)

    def play_late(self):
        """The gateway's patience ends first: 504; the answer comes late; then it is replayed."""
        events = {}

        def first(token):
            return wait(events[token], answer(200, JSON_TYPE, done(token)))
        base = self.start(HASTY, first)

        def story(client):
            token, key = "tok-late-" + client.name, "key-late-" + client.name
            events[token] = threading.Event()
            self.addCleanup(events[token].set)
            result = self.run_client(client, base, key, token, LONG_MS)
            self.assertFalse(result["ok"], result)
            self.assertEqual(self.receipt(key)["state"], "unknown")
            events[token].set()
            self.wait_key_state(self.gateway, key, "completed")
            self.assert_success(self.run_client(client, base, key, token, LONG_MS), token, client)
            self.assertEqual(self.sends(token), 1)
        self.for_each_client(story)

    def play_impatient(self):
        """The client's patience ends first, and it asks again by itself; then it is replayed."""
        events = {}

        def first(token):
            return wait(events[token], answer(200, JSON_TYPE, done(token)))
        base = self.start(PATIENT, first)

        def story(client):
            token, key = "tok-short-" + client.name, "key-short-" + client.name
            events[token] = threading.Event()
            self.addCleanup(events[token].set)
            result = self.run_client(client, base, key, token, BREATH_MS)
            self.assertFalse(result["ok"], result)
            self.assertEqual(self.receipt(key)["state"], "pending")
            self.assertEqual(self.sends(token), 1)
            events[token].set()
            self.wait_key_state(self.gateway, key, "completed")
            self.assert_success(self.run_client(client, base, key, token, LONG_MS), token, client)
            self.assertEqual(self.sends(token), 1)
        self.for_each_client(story)

    def play_undisturbed(self):
        """Nothing goes wrong: the client gets the answer, and for the same call the same again."""
        base = self.start(PATIENT, lambda token: answer(200, JSON_TYPE, done(token)))

        def story(client):
            token, key = "tok-fine-" + client.name, "key-fine-" + client.name
            for _ in range(2):
                result = self.run_client(client, base, key, token, LONG_MS)
                self.assert_success(result, token, client)
            self.assertEqual(self.sends(token), 1)
            self.assertEqual(self.receipt(key)["state"], "completed")
        self.for_each_client(story)

    def play_own_key(self, loss):
        """Clients that make a key by themselves: their own repeats within one call send nothing."""
        base = self.start(PATIENT, lambda token: LOSSES[loss])

        def story(client):
            token = "tok-own-%s-%s" % (loss, client.name)
            result = self.run_client(client, base, "", token, LONG_MS)
            self.assertFalse(result["ok"], result)
            self.assertEqual(self.sends(token), 1)
            label = {"label.what": token}
            found = self.gateway.operations(**label)
            self.assertEqual([o["state"] for o in found], ["unknown"])
        kept, self.clients = self.clients, [c for c in self.clients if c.chooses_key]
        self.for_each_client(story)
        self.clients = kept


def run_json(command, env, folder=None):
    """A client program that prints one line of JSON; -> what it said."""
    ran = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True,
                         timeout=DEADLINE_S, check=False)
    lines = ran.stdout.strip().splitlines()
    if not lines:
        raise AssertionError("%s said nothing: %s" % (command, ran.stderr[-2000:]))
    return json.loads(lines[-1])
