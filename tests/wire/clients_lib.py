"""Real clients between a road that can be cut and an upstream that loses its answers.

Every client plays every story at once: a story has an operation of its own, and names what
the upstream does with it and what the road does to the first answer. The upstream answers
every further sending with the word SECOND, which no client may ever see, unless it had
declared that the one before did not run. What happened is kept for the tests to judge;
nothing here judges, and nothing here sends a request again.
"""

import json
import os
import re
import subprocess
import sys
import threading

from bugs_lib import HASTY, PATIENT, guarded
from harness import Gateway, Upstream, answer, cut, fin, reset, rest, wait, wait_until

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "clients")
sys.path.insert(0, HERE)
from road import FIN, HALF, MUTE, PASS, RESET, Road  # noqa: E402

JSON_TYPE = [("Content-Type", "application/json")]
DEADLINE_S = 120
BREATH_MS = 2000  # a client that gives up before the gateway does
LONG_MS = 60000
TOGETHER = 4
PAD = b" " * 400  # JSON stays whole when it is cut in here
CUT_AFTER = 60
TOKEN = re.compile(rb"tok-[a-z0-9-]+")
LONGEST_KEY = 255
LOST = ("fin", "reset", "cut", "s408", "s500", "s503")
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy",
           "NODE_OPTIONS")


def done(token):
    """An answer that every client of the table takes for a success."""
    return {"id": "done-" + token, "object": "charge", "payment": {"id": "done-" + token},
            "choices": [], "model": "m"}


def success(token):
    return answer(200, JSON_TYPE, json.dumps(done(token)).encode() + PAD)


def refusal(status, *headers):
    return lambda token: answer(status, [*JSON_TYPE, *headers], {"error": {"message": "no"}})


def cut_answer(token):
    """An answer that breaks off where what has come looks whole."""
    whole = json.dumps(done(token)).encode()
    return cut(len(whole) + CUT_AFTER, 200, JSON_TYPE, whole + PAD)


class Story:
    """upstream(token): what it does with the first sending; a held one waits for an event.
    road: what becomes of the first answer. where: which gateway. count: so many at once."""

    def __init__(self, name, upstream=success, road=PASS, where="patient", ms=LONG_MS, count=1,
                 held=False):
        self.name, self.upstream, self.road, self.where = name, upstream, road, where
        self.ms, self.count, self.held = ms, count, held


STORIES = [
    Story("fine"), Story("long"), Story("changed"), Story("nokey"),
    Story("fin", lambda token: fin()), Story("reset", lambda token: reset()),
    Story("cut", cut_answer), Story("s408", refusal(408)), Story("s500", refusal(500)),
    Story("s503", refusal(503)),
    Story("s409", refusal(409)), Story("s422", refusal(422)),
    Story("s429", refusal(429, ("Retry-After", "1"))),
    Story("gone", road=FIN), Story("torn", road=RESET), Story("half", road=HALF),
    Story("mute", road=MUTE, ms=BREATH_MS),
    Story("busy", ms=BREATH_MS, held=True), Story("late", where="hasty", held=True),
    Story("parallel", count=4, held=True), Story("waiting", where="waiting", count=4, held=True),
    Story("shared", where="waiting"),
]
DECLARED = {"s429"}  # an answer that says: it did not run


def client_routes(**changes):
    """The routes that the clients of the table call."""
    def route(name, path, **more):
        return guarded(name=name, match={"methods": ["POST"], "path": path}, **more, **changes)
    return [
        guarded(**changes),
        route("charges", "/v1/charges", preset="stripe", key=None, fingerprint=None,
              labels={"what": {"form": "description"}}),
        route("payments", "/v2/payments", labels={"what": {"json": "/note"}},
              key={"from": "json", "name": None, "pointer": "/idempotency_key"}),
        route("checkout", "/v2/checkout/orders",
              labels={"what": {"json": "/purchase_units/0/reference_id"}},
              key={"name": "PayPal-Request-Id"}),
        route("completions", "/v1/chat/completions",
              labels={"what": {"json": "/messages/0/content"}}),
        {"name": "token", "mode": "pass",
         "match": {"methods": ["POST"], "path": "/v1/oauth2/token"}},
        rest(),
    ]


class Client:
    """One row of the table: how it is started and which route it calls.

    own: how often it asks again by itself, by story or kind of story; what is not named
    is 0. declared: the stories whose answer counts as "did not run" on its route. traits:
    makes-key: it makes a key when it gets none. needs-key: it asks nothing without one.
    takes-half: an answer that was cut is a success to it. hides-half: a whole answer
    after a cut one is none to it. own-route: it does not call /orders."""

    def __init__(self, name, command, own=None, env=None, traits=(), declared=()):
        self.name, self.command = name, command
        self.own, self.env = dict(own or {}), dict(env or {})
        self.traits, self.declared = set(traits), DECLARED | set(declared)

    def repeats(self, *stories):
        """The number of the first of these names that its row has."""
        return next((self.own[name] for name in stories if name in self.own), 0)

    def plays(self, story):
        return story.name != "shared" or "own-route" not in self.traits


class Shot:
    """What was to be seen after one phase of a story."""

    def __init__(self, results, asks, sends, operation):
        self.results, self.asks, self.sends, self.operation = results, asks, sends, operation

    @property
    def result(self):
        return self.results[0]

    def __repr__(self):
        state = self.operation and (self.operation["state"], self.operation["end"],
                                    "repeats %d" % self.operation["repeats"])
        return "<%r asks %s sends %d %s>" % (
            self.results, [a.status for a in self.asks], self.sends, state)


class Campaign:
    """run(client, calls) -> results: makes the calls of one client, all at once."""

    def __init__(self, clients, run, stories=tuple(STORIES)):
        self.clients, self.run, self.stories = clients, run, stories
        self.lock, self.sends, self.shots = threading.Lock(), {}, {}
        self.errors = []
        self.holds = {self.token(s, c): threading.Event()
                      for s in stories if s.held for c in clients}
        self.upstream = Upstream()
        self.upstream.on_request = self._act
        self.gateways = {
            "patient": self._gateway(PATIENT), "hasty": self._gateway(HASTY),
            "waiting": self._gateway(PATIENT, on_pending={"wait": "60s"})}
        self.roads = {name: Road(gateway.port, self._token_of, self._first)
                      for name, gateway in self.gateways.items()}

    def _gateway(self, timeouts, **changes):
        return Gateway(self.upstream, {
            "routes": client_routes(**changes), "upstreams": {"legacy": {"timeouts": timeouts}},
            "limits": {"memory_max": "4GiB"}})

    def close(self):
        for event in self.holds.values():
            event.set()
        for thing in (*self.roads.values(), *self.gateways.values()):
            thing.close()
        self.upstream.stop()
        self.upstream.check()

    # names

    @staticmethod
    def token(story, client, phase=1):
        if story.name == "shared":
            return "tok-shared"
        changed = "-other" if story.name == "changed" and phase > 1 else ""
        return "tok-%s-%s%s" % (story.name, client.name, changed)

    @staticmethod
    def key(story, client):
        if story.name == "nokey":
            return ""
        key = "key-%s-%s" % (story.name, "all" if story.name == "shared" else client.name)
        return key.ljust(LONGEST_KEY, "~") if story.name == "long" else key

    @staticmethod
    def _token_of(body):
        found = TOKEN.search(body)
        return found.group().decode() if found else None

    def story_and_client(self, token):
        for story in self.stories:
            for client in self.clients:
                if token in (self.token(story, client), self.token(story, client, 2)):
                    return story, client
        raise KeyError(token)

    # what the two ends do

    def _act(self, request):
        token = self._token_of(request.body)
        if token is None:
            return answer(200, JSON_TYPE, {"access_token": "a", "token_type": "Bearer",
                                           "expires_in": 3600})
        story, client = self.story_and_client(token)
        is_declared = story.name in client.declared
        with self.lock:
            self.sends[token] = count = self.sends.get(token, 0) + 1
        if count == 1 and story.held:
            return wait(self.holds[token], story.upstream(token), DEADLINE_S)
        if count == 1:
            return story.upstream(token)
        return success(token) if count == 2 and is_declared else answer(
            200, JSON_TYPE, {"id": "SECOND"})

    def _first(self, token):
        return self.story_and_client(token)[0].road

    # the phases

    def play(self):
        """All clients, a few at a time; what went wrong with the playing itself is raised."""
        gate = threading.Semaphore(TOGETHER)

        def one(client):
            with gate:
                try:
                    self._play_client(client)
                except BaseException as error:  # noqa: B902 - raised below
                    self.errors.append("%s: %s: %s" % (client.name, type(error).__name__, error))
        threads = [threading.Thread(target=one, args=(c,), daemon=True) for c in self.clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S * 4)
        self.errors += [repr(error) for road in self.roads.values() for error in road.errors]
        if self.errors:
            raise AssertionError("\n".join(self.errors))

    def _play_client(self, client):
        for story in self.stories:
            token, road = self.token(story, client), self.roads[story.where]
            if story.name == "parallel":  # until all others have been told that it is busy
                road.when(token, story.count - 1, self.holds[token], answered=True)
            if story.name == "waiting":  # until all have asked
                road.when(token, story.count, self.holds[token])
        mine = [s for s in self.stories if client.plays(s)]
        self._phase(client, 1, mine)
        for story in self.stories:
            if story.name in ("busy", "late"):
                self.holds[self.token(story, client)].set()
                self._wait_completed(story, client)
        self._phase(client, 2, [s for s in mine if s.name != "nokey"])
        lost = [s for s in self.stories if s.name in LOST]
        for story in lost:
            self._settle(story, client)
        self._phase(client, 3, lost)

    def _phase(self, client, phase, stories):
        calls = [(s, {"base": self.roads[s.where].base, "key": self.key(s, client),
                      "token": self.token(s, client, phase), "timeout_ms": s.ms if phase == 1
                      else LONG_MS}) for s in stories
                 for _ in range(s.count if phase == 1 else 1)]
        results = self.run(client, [call for _, call in calls])
        for story in stories:
            mine = [r for r, (s, _) in zip(results, calls) if s is story]
            token = self.token(story, client, phase)
            with self.lock:
                sends = self.sends.get(token, 0)
            self.shots[client.name, story.name, phase] = Shot(
                mine, self.roads[story.where].asked(token), sends,
                self.operation(story, client))

    # what the operator does

    def operation(self, story, client):
        """The one receipt of a story, or None."""
        gateway = self.gateways[story.where]
        query = {"label.what": self.token(story, client)}
        if story.name != "nokey":
            query = {"key": self.key(story, client)}
        elif "makes-key" not in client.traits:
            return None
        found = gateway.operations(**query)
        if len(found) > 1:
            raise AssertionError("more than one receipt: %s" % found)
        return gateway.operation(found[0]["id"]) if found else None

    def _wait_completed(self, story, client):
        def completed():
            operation = self.operation(story, client)
            return operation and operation["state"] == "completed"
        wait_until(completed, text=lambda: "%s" % self.operation(story, client))

    def _settle(self, story, client):
        operation = self.operation(story, client)
        if not operation or operation["state"] != "unknown":
            return  # the judge of phase 1 says so
        status, _, value = self.gateways[story.where].admin(
            "POST", "/v1/operations/%s/settle" % operation["id"],
            {"verdict": "executed", "version": operation["version"], "note": "looked it up",
             "response": {"status": 200, "headers": {"Content-Type": "application/json"},
                          "body": done(self.token(story, client))}})
        if status != 200:
            raise AssertionError("settle: %s %s" % (status, value))


def run_program(command, client, calls, folder=None):
    """A client program that prints one line of JSON a call; -> what it said, in their order."""
    env = {k: v for k, v in os.environ.items() if k not in PROXIES}
    env.update(client.env, CALLS=json.dumps(calls), PYTHONDONTWRITEBYTECODE="1")
    ran = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True,
                         timeout=DEADLINE_S, check=False)
    results = [None] * len(calls)
    for line in ran.stdout.splitlines():
        result = json.loads(line)
        results[result["call"]] = result
    if None in results:
        raise AssertionError("%s: no word of %s: %s" % (
            client.name, [c["token"] for c, r in zip(calls, results) if r is None],
            ran.stderr[-2000:]))
    return results
