"""The judges of the stories that every client plays. Each looks at what was seen after each
phase, and holds for every client of the class; the rows say how often a client asks again."""

import functools
import re
import unittest

from clients_lib import LOST, STORIES, Campaign

ENDS = {"fin": "closed_no_answer", "reset": "reset_no_answer", "cut": "cut_answer",
        "s408": "answered", "s500": "answered", "s503": "answered"}
OWN_KEY = re.compile(r"(?:[a-z]+-[a-z]+-[a-z]+-)?[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-"
                     r"[89ab][0-9a-f]{3}-[0-9a-f]{12}")
BY_NAME = {story.name: story for story in STORIES}


def each_client_of(*stories):
    """Makes a judge (client, name of the story, its shots by phase) a test over all of them."""
    def wrap(judge):
        @functools.wraps(judge)
        def test(self):
            campaign = self.campaign
            for name in stories:
                for client in campaign.clients:
                    if client.plays(BY_NAME[name]):
                        shots = [campaign.shots.get((client.name, name, phase))
                                 for phase in range(4)]
                        with self.subTest(story=name, client=client.name):
                            judge(self, client, name, shots)
        return test
    return wrap


class ClientStories(unittest.TestCase):
    """A subclass in a test file gives `rows`: () -> (clients, {missing: what to do}), and
    `run_client(client, calls)`; `skip_all()` -> why none of them can run, or None."""

    maxDiff = None
    campaign, missing = None, {}

    @staticmethod
    def skip_all():
        return None

    @classmethod
    def setUpClass(cls):
        why_not = cls.skip_all()
        if why_not:
            raise unittest.SkipTest(why_not)
        clients, cls.missing = cls.rows()
        cls.campaign = Campaign(clients, cls.run_client)
        cls.addClassCleanup(cls.campaign.close)
        cls.campaign.play()

    # what all judges use

    def is_ok(self, result, token, shot):
        self.assertTrue(result["ok"], shot)
        self.assertIn("done-" + token, result["text"], shot)
        self.assertNotIn("SECOND", result["text"], shot)

    def is_told(self, result, status, shot):
        """The client shows a failure, and the status that it got last, where it tells."""
        self.assertFalse(result["ok"], shot)
        self.assertNotIn("SECOND", result["text"], shot)
        if status is not None:
            self.assertEqual(result["status"], status, shot)

    def are(self, asks, *answers):
        """The answers to these requests, as (status, Idempotency-Status)."""
        self.assertEqual([(a.status, a.answer.get("Idempotency-Status")) for a in asks],
                         list(answers))
        first = next((a for a in asks if a.status == 200), None)
        for ask in asks:
            if ask.answer.get("Idempotency-Status") == "replayed" and ask.status == 200:
                self.assertEqual(ask.body, first.body)
                self.assertEqual(ask.answer.all("Idempotent-Replayed"), ["true"])

    def played_by(self, client, story):
        return Campaign.token(BY_NAME[story], client)

    # the judges

    def test_every_client_takes_part(self):
        """Every row is played; one that is not installed is skipped by name."""
        for name, what in self.missing.items():
            with self.subTest(client=name):
                self.skipTest("%s is not installed: %s" % (name, what))

    @each_client_of("fine", "long")
    def test_undisturbed(self, client, name, shots):
        """The answer, and for the same call the same bytes again; one send. Keys up to 255."""
        token = self.played_by(client, name)
        for shot in shots[1:3]:
            self.is_ok(shot.result, token, shot)
        self.are(shots[2].asks, (200, "executed"), (200, "replayed"))
        self.assertEqual(shots[2].sends, 1)
        self.assertEqual(shots[2].operation["state"], "completed")

    @each_client_of("fin", "reset", "cut")
    def test_upstream_loses_the_answer(self, client, name, shots):
        """Closed, reset or cut where it looks whole: a whole 502, then 409; one send; settled."""
        self.judge_lost(client, name, shots, 502, client.repeats("lost"))
        self.assertEqual(shots[1].asks[0].answer.get("Content-Type"),
                         "application/problem+json")
        self.assertNotIn("done-", shots[1].result["text"])

    @each_client_of("s500", "s503")
    def test_upstream_fails(self, client, name, shots):
        """500 and 503 may have run: passed on, and the client's repeats send nothing."""
        self.judge_lost(client, name, shots, int(name[1:]), client.repeats("s5xx", "lost"))

    @each_client_of("s408")
    def test_upstream_says_that_it_waited_too_long(self, client, name, shots):
        """408 may have run, too, though clients that repeat nothing else repeat it."""
        self.judge_lost(client, name, shots, 408, client.repeats("s408"))

    def judge_lost(self, client, name, shots, status, own):
        told, unknown = client.repeats("told"), (409, "unknown")
        first, second, third = shots[1:]
        self.are(first.asks, (status, "unknown"), *[unknown] * own)
        self.is_told(first.result, 409 if own else status, first)
        self.assertEqual(first.operation["state"], "unknown", first)
        self.assertEqual(first.operation["end"], ENDS[name])
        self.are(second.asks[len(first.asks):], *[unknown] * (1 + told))
        self.is_told(second.result, 409, second)
        self.assertEqual(second.operation["repeats"], own + 1 + told)
        self.assertEqual(len(second.operation["attempts"]), 1)
        self.are(third.asks[len(second.asks):], (200, "replayed"))
        self.is_ok(third.result, self.played_by(client, name), third)
        self.assertEqual(third.sends, 1)

    @each_client_of("s409", "s422")
    def test_upstream_says_no(self, client, name, shots):
        """409 and 422 are answers: every repeat gets them again and sends nothing."""
        if name in client.declared:
            self.judge_declared(client, name, shots)
            return
        status, own = int(name[1:]), client.repeats(name)
        replayed = (status, "replayed")
        self.are(shots[1].asks, (status, "executed"), *[replayed] * own)
        self.are(shots[2].asks[1 + own:], *[replayed] * (1 + own))
        for shot in shots[1:3]:
            self.is_told(shot.result, status, shot)
        self.assertEqual(len({ask.body for ask in shots[2].asks}), 1)
        self.assertEqual(shots[2].sends, 1)
        self.assertEqual(shots[2].operation["state"], "completed")

    @each_client_of("s429")
    def test_upstream_is_too_busy(self, client, name, shots):
        """429 did not run: the client's repeat is passed on, runs once, and is then replayed."""
        self.judge_declared(client, name, shots)

    def judge_declared(self, client, name, shots):
        status, token = int(name[1:]), self.played_by(client, name)
        if client.repeats(name):
            self.are(shots[1].asks, (status, "released"), (200, "executed"))
            self.is_ok(shots[1].result, token, shots[1])
            self.are(shots[2].asks[1:], (200, "executed"), (200, "replayed"))
        else:
            self.are(shots[1].asks, (status, "released"))
            self.is_told(shots[1].result, status, shots[1])
            self.assertEqual(shots[1].operation["state"], "released")
            self.are(shots[2].asks[1:], (200, "executed"))
        self.is_ok(shots[2].result, token, shots[2])
        self.assertEqual(shots[2].sends, 2)

    @each_client_of("gone", "torn")
    def test_connection_to_the_client_dies(self, client, name, shots):
        """Closed or reset before the answer: the client's own repeat gets the replay."""
        self.judge_road(client, name, shots, client.repeats("gone"))

    @each_client_of("half")
    def test_answer_is_cut_on_the_way_to_the_client(self, client, name, shots):
        """Who notices and asks again gets the whole replay; one send in any case."""
        own = client.repeats("half")
        takes = "takes-half" in client.traits
        if own and "hides-half" in client.traits:
            self.are(shots[1].asks, (200, "executed"), (200, "replayed"))
            self.assertFalse(shots[1].result["ok"])
            shots[1] = None
        self.judge_road(client, name, shots, own, own or takes)

    @each_client_of("mute")
    def test_client_gives_up_on_the_way(self, client, name, shots):
        """The answer never reaches the client: its own repeat gets the replay."""
        self.judge_road(client, name, shots, client.repeats("mute"))

    def judge_road(self, client, name, shots, own, is_ok=None):
        token, replayed = self.played_by(client, name), (200, "replayed")
        if shots[1]:
            self.are(shots[1].asks, (200, "executed"), *[replayed] * own)
            if own if is_ok is None else is_ok:
                self.is_ok(shots[1].result, token, shots[1])
            else:
                self.assertFalse(shots[1].result["ok"], shots[1])
        self.are(shots[2].asks, (200, "executed"), *[replayed] * (own + 1))
        self.is_ok(shots[2].result, token, shots[2])
        self.assertEqual(shots[2].sends, 1)

    @each_client_of("busy")
    def test_client_gives_up_while_it_runs(self, client, name, shots):
        """Its own repeats are told that it is under way; afterwards it gets the replay."""
        own = client.repeats("busy")
        first, second = shots[1:3]
        self.assertTrue(first.asks[0].client_gone, first)
        self.are(first.asks[1:], *[(409, "pending")] * own)
        self.is_told(first.result, 409 if own else None, first)
        self.assertEqual((first.operation["state"], first.sends), ("pending", 1))
        self.is_ok(second.result, self.played_by(client, name), second)
        self.are(second.asks[1 + own:], (200, "replayed"))
        self.assertEqual(second.sends, 1)

    @each_client_of("late")
    def test_answer_comes_late(self, client, name, shots):
        """The gateway gave up with 504, the answer came later: then the replay of that answer."""
        own = client.repeats("late", "lost")
        self.are(shots[1].asks, (504, "unknown"), *[(409, "unknown")] * own)
        self.is_told(shots[1].result, 409 if own else 504, shots[1])
        self.assertEqual(shots[1].operation["state"], "unknown")
        self.are(shots[2].asks[1 + own:], (200, "replayed"))
        self.is_ok(shots[2].result, self.played_by(client, name), shots[2])
        self.assertEqual(shots[2].sends, 1)

    @each_client_of("parallel")
    def test_all_at_once(self, client, name, shots):
        """Four at once: one is sent, three are told to wait; who asks again gets the replay."""
        shot, token = shots[1], self.played_by(client, name)
        answers = [(a.status, a.answer.get("Idempotency-Status")) for a in shot.asks]
        told, replayed = (409, "pending"), (200, "replayed")
        self.assertEqual(sorted(answers[:4]), [(200, "executed"), told, told, told])
        self.assertLessEqual(set(answers[4:]), {told, replayed})
        self.assertEqual(len(answers) > 4, client.repeats("parallel") > 0)
        for ask in shot.asks:
            self.assertEqual(ask.answer.get("Retry-After") is not None, ask.status == 409)
        good = [result for result in shot.results if result["ok"]]
        self.assertEqual(len(good), 1 + answers[4:].count(replayed))
        for result in shot.results:
            if result["ok"]:
                self.is_ok(result, token, shot)
            else:
                self.is_told(result, 409, shot)
        self.is_ok(shots[2].result, token, shots[2])
        self.assertEqual(shots[2].sends, 1)

    @each_client_of("waiting")
    def test_all_at_once_and_told_to_wait(self, client, name, shots):
        """Where repeats wait for the first, all four get the answer; nobody is stranded."""
        self.assertEqual(sorted(a.answer.get("Idempotency-Status") for a in shots[1].asks),
                         ["executed"] + ["replayed"] * 3)
        for result in (*shots[1].results, *shots[2].results):
            self.is_ok(result, self.played_by(client, name), shots[1])
        self.assertEqual(shots[2].sends, 1)

    @each_client_of("changed")
    def test_changed_request(self, client, name, shots):
        """Another request under the same key: 422, nothing is sent, and nobody asks again."""
        self.are(shots[2].asks, *[(422, "mismatch")] * (1 + client.repeats("s422")))
        self.is_told(shots[2].result, 422, shots[2])
        self.assertEqual((shots[1].sends, shots[2].sends), (1, 0))
        self.assertEqual(shots[2].operation["state"], "completed")

    @each_client_of("nokey")
    def test_no_key(self, client, name, shots):
        """A client that makes a key is covered by it; any other is told, and nothing is sent."""
        shot = shots[1]
        if "makes-key" in client.traits:
            self.is_ok(shot.result, self.played_by(client, name), shot)
            self.assertRegex(shot.operation["key"], "^%s$" % OWN_KEY.pattern)
            self.assertEqual(shot.sends, 1)
            return
        self.assertFalse(shot.result["ok"], shot)
        asks = 0 if "needs-key" in client.traits else 1 + client.repeats("nokey")
        self.assertEqual([a.status for a in shot.asks], [400] * asks)
        self.assertEqual((shot.sends, shot.operation), (0, None))

    def test_one_operation_of_many_clients(self):
        """One key and content is one operation, whatever headers and spelling a client adds."""
        asks = self.campaign.roads["waiting"].asked("tok-shared")
        clients = [c for c in self.campaign.clients if "own-route" not in c.traits]
        agents = {ask.headers.get("User-Agent") for ask in asks}
        self.assertGreater(len(agents), 1 if len(clients) > 2 else 0)
        self.assertEqual(len(asks), 2 * len(clients))
        self.assertEqual(sorted(ask.answer.get("Idempotency-Status") for ask in asks),
                         ["executed"] + ["replayed"] * (len(asks) - 1))
        self.assertEqual(self.campaign.sends["tok-shared"], 1)

    @each_client_of("shared")
    def test_one_operation_is_answered_to_all(self, client, name, shots):
        """Whichever client came first, each gets the one answer."""
        for shot in shots[1:3]:
            self.is_ok(shot.result, self.played_by(client, name), shot)

    def test_nobody_is_left_without_an_answer(self):
        """The gateway answers every request whose client waits: a dropped one would be repeated."""
        for road in self.campaign.roads.values():
            for token, asks in road.asks.items():
                for ask in asks:
                    self.assertTrue(ask.status is not None or ask.client_gone, token)

    def test_repeats_do_not_grow_the_books(self):
        """Attempts are the sends and receipts the operations, however often was asked."""
        for where, gateway in self.campaign.gateways.items():
            sends = sum(count for token, count in self.campaign.sends.items()
                        if self.campaign.story_and_client(token)[0].where == where)
            end = 'end="answer_timeout"' if where == "hasty" else ""
            attempts = sum(value for name, value in gateway.metrics().items()
                           if name.startswith("recibo_attempts_total") and end in name)
            self.assertEqual(attempts, sends, where)
        keys = [o["key"] for gateway in self.campaign.gateways.values()
                for o in all_operations(gateway)]
        self.assertEqual(len(keys), len(set(keys)))
        expected = sum(1 for c in self.campaign.clients for s in STORIES
                       if s.name not in ("nokey", "shared")
                       or s.name == "nokey" and "makes-key" in c.traits)
        has_shared = any("own-route" not in c.traits for c in self.campaign.clients)
        self.assertEqual(len(keys), expected + has_shared)

    def test_backlog_is_empty_when_all_is_settled(self):
        """No unknown is left: each lost operation was one entry, settled once."""
        for gateway in self.campaign.gateways.values():
            self.assertEqual(gateway.operations(state="unknown"), [])
        settled = sum(value for gateway in self.campaign.gateways.values()
                      for name, value in gateway.metrics().items()
                      if name.startswith("recibo_settled_total") and 'by="operator"' in name)
        self.assertEqual(settled, len(LOST) * len(self.campaign.clients))


def all_operations(gateway):
    """Page by page."""
    found, query = [], {"limit": 200}
    while True:
        status, _, value = gateway.admin("GET", "/v1/operations?" + "&".join(
            "%s=%s" % pair for pair in query.items()))
        if status != 200:
            raise AssertionError((status, value))
        found += value["operations"]
        if not value["next"]:
            return found
        query["cursor"] = value["next"]
