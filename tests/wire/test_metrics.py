"""The metrics page: its formats, what it counts, and that callers cannot make it grow."""

import os
import re
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from admin_lib import fetch  # noqa: E402
from guarded import AT_ONCE, ORDER, SOON, Background, Guarded, send_post  # noqa: E402
from harness import (ROOT, Client, answer, fin, main, orders, rest, wait, wait_until)  # noqa: E402
from metrics_lib import NO_PROMTOOL, PROMTOOL, Page, promtool, scrape  # noqa: E402
from probing import FOUND, NOTHING, QUIET, Probing, json_answer  # noqa: E402
import unittest  # noqa: E402

ROUTE = 'route="create-order"'
# The names and labels that are promised.
CONTRACT = {
    "recibo_operations_total": ("route", "outcome"), "recibo_attempts_total": ("route", "end"),
    "recibo_unknown": ("route",), "recibo_unknown_oldest_seconds": ("route",),
    "recibo_settled_total": ("route", "verdict", "by"),
    "recibo_contradictions_total": ("route",), "recibo_route_paused": ("route", "why"),
    "recibo_refused_total": ("reason",), "recibo_commit_seconds": (), "recibo_batch_size": (),
    "recibo_store_queue": (), "recibo_late_listening": (), "recibo_request_seconds": ("route",),
    "recibo_upstream_seconds": ("upstream",), "recibo_observed_total": ("route",),
    "recibo_observed_lost_total": ("route",), "recibo_compensations_total": ("route", "by"),
}
WATCHED = orders(name="look", mode="observe", match={"methods": ["POST"], "path": "/look"})
GOOD = ('# HELP a_total A.\n# TYPE a_total counter\na_total{x="1"} 1\n'
        '# HELP h H.\n# TYPE h histogram\nh_bucket{le="1.0"} 1\nh_bucket{le="+Inf"} 2\n'
        'h_sum 3.5\nh_count 2\n')
GOOD_OPEN = ('# HELP a A.\n# TYPE a counter\na_total 1\n# HELP t_seconds T.\n'
             '# TYPE t_seconds gauge\n# UNIT t_seconds seconds\nt_seconds 0.5\n# EOF\n')


class Reader(unittest.TestCase):
    def test_it_refuses_what_the_formats_do_not_allow(self):
        """A page with one fault is refused, so that an accepted page has none of them."""
        Page(GOOD, False)
        Page(GOOD_OPEN, True)
        for is_open, old, new in (
                (False, "counter\n", "count\n"), (False, "# HELP a_total A.\n", ""),
                (False, "# TYPE a_total counter\n", ""), (False, 'a_total{x="1"} 1\n', ""),
                (False, 'a_total{x="1"} 1', 'a_total{x="1"} one'), (False, " 1\n#", " -1\n#"),
                (False, '{x="1"}', '{x="1",}'), (False, '{x="1"}', "{}"),
                (False, '{x="1"}', '{x="1",x="2"}'), (False, '"1"', '"\\t"'),
                (False, '{x="1"}', '{__x="1"}'), (False, '{x="1"}', '{le="1"}'),
                (False, 'a_total{x="1"} 1\n', 'a_total{x="1"} 1\na_total{x="1"} 2\n'),
                (False, 'a_total{x="1"} 1\n', 'a_total{x="1"} 1\na_total{y="1"} 2\n'),
                (False, "a_total", "a"), (False, "\n# HELP h", "\r\n# HELP h"),
                (False, "\n# HELP h", "\n\n# HELP h"), (False, "h_count 2\n", "h_count 2"),
                (False, "h_count 2", "h_count 1"), (False, "h_sum 3.5\n", ""),
                (False, '"+Inf"} 2', '"+Inf"} 0'), (False, '"1.0"', '"1"'),
                (False, 'h_bucket{le="+Inf"} 2\n', ""), (False, 'le="1.0"', 'y="1.0"'),
                (False, "# HELP h H.", "# HELP h H\\n."), (False, "h_count 2\n", "h_count 2\nb 1\n"),
                (False, "h_count 2\n", "h_count 2\n# HELP a_total A.\n# TYPE a_total gauge\na 1\n"),
                (False, "h_count 2\n", "h_count 2\n# EOF\n"),
                (True, "# EOF\n", ""), (True, "# UNIT t_seconds seconds\n", ""),
                (True, "seconds seconds", "seconds minutes"), (True, "a_total 1", "a 1"),
                (True, "# EOF\n", "# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n# EOF\n")):
            text = (GOOD_OPEN if is_open else GOOD).replace(old, new)
            self.assertNotIn(text, (GOOD, GOOD_OPEN))
            with self.assertRaises(AssertionError, msg=text):
                Page(text, is_open)


class Format(Guarded):
    def begin(self):
        """A gateway that has something of everything to tell."""
        self.start(routes=[orders(breaker="none", compensate={"path": "/orders/{label:order}"}),
                           WATCHED, rest()])
        self.gateway.post("k1", ORDER)
        self.gateway.post("k1", ORDER)
        self.gateway.post("k1", {"order": 8})
        self.make_unknown("k2")
        self.gateway.post("k3", ORDER, path="/look")
        self.gateway.request("GET", "/other")
        wait_until(lambda: scrape(self.gateway)['recibo_observed_total{route="look"}'] == 1)

    def test_the_promised_names(self):
        """Each name of the contract is there, with its labels and no others."""
        self.begin()
        families = scrape(self.gateway).families
        for name, labels in CONTRACT.items():
            self.assertEqual(families[name].labels(), {labels}, name)

    def test_both_formats_say_the_same(self):
        """Both pages stand a strict reader and have the same series; HEAD has no body."""
        self.begin()
        plain, in_open = scrape(self.gateway), scrape(self.gateway, is_open=True)
        self.assertEqual(list(plain.series()), list(in_open.series()))
        for one, other in zip(plain.families.values(), in_open.families.values()):
            self.assertEqual((one.type, one.help), (other.type, other.help))
        head = fetch(self.gateway.admin_port, "HEAD", "/metrics")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_counters_never_fall(self):
        """Between any two looks, under load, no counter and no bucket gets smaller."""
        self.begin()
        first = before = scrape(self.gateway).rising()
        load = [Background(lambda n=n: [self.gateway.post("k%d-%d" % (n, i), ORDER)
                                        for i in range(40)]) for n in range(3)]
        while any(call.is_running for call in load):
            after = scrape(self.gateway).rising()
            self.assertEqual(set(after), set(before))
            self.assertEqual([name for name in after if after[name] < before[name]], [])
            before = after
        for call in load:
            call.result()
        name = ("recibo_operations_total", (("outcome", "executed"), ("route", "create-order")))
        self.assertEqual(scrape(self.gateway).rising()[name] - first[name], 120)

    def test_as_many_routes_as_there_may_be(self):
        """256 routes with the longest names make a whole page."""
        routes = [orders(name="%03d-" % i + "n" * 60, match={"methods": ["POST"], "path": "/r%d" % i})
                  for i in range(255)]
        self.start(routes=routes + [rest()], limits={"memory_max": "64GiB"})
        page = scrape(self.gateway, is_open=True)
        self.assertEqual(len(page.families["recibo_in_flight"].samples), 256)

    def test_the_document_is_what_the_program_prints(self):
        """docs/metrics.md is not stale, and says of each family what the page says."""
        self.begin()
        printed = self.gateway.cli("help", "--markdown", "metrics").stdout
        with open(os.path.join(ROOT, "docs", "metrics.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), printed,
                             "stale: recibo help --markdown metrics > docs/metrics.md")
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w ]*) \| (.*) \|$", printed, re.MULTILINE)
        families = scrape(self.gateway).families.values()
        self.assertEqual(rows, [(f.name, f.type, " ".join(*f.labels()), f.help) for f in families])
        words = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", printed, re.MULTILINE))
        for family in families:
            for _, labels in family.samples:
                for name, value in labels:
                    if name not in ("route", "upstream", "le"):
                        self.assertIn("`%s`" % value, words[name])

    @unittest.skipIf(PROMTOOL is None, NO_PROMTOOL)
    def test_promtool_finds_nothing(self):
        """promtool check metrics has nothing to say of the page."""
        self.begin()
        text = fetch(self.gateway.admin_port, "GET", "/metrics").text
        self.assertEqual(promtool("check", "metrics", text=text), (0, ""))
        self.assertNotEqual(promtool("check", "metrics", text=text.replace("_total", "")), (0, ""))


class Counted(Guarded):
    """What happened stands under its route and its word, once."""

    def now(self, name):
        return scrape(self.gateway)[name]

    def held(self, why):
        return self.now('recibo_route_paused{%s,why="%s"}' % (ROUTE, why))

    def test_a_caller_that_left(self):
        """An operation whose caller did not wait for its answer is counted all the same."""
        self.start()
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.upstream.script(wait(go_on, answer(201)))
        client = send_post(self.gateway, "k1")
        self.upstream.wait_for(1)
        client.reset()
        go_on.set()
        wait_until(lambda: self.now('recibo_operations_total{%s,outcome="executed"}' % ROUTE) == 1)
        self.assertEqual(self.now("recibo_request_seconds_count{%s}" % ROUTE), 1)

    def test_refusals(self):
        """Every way to be refused is counted by its code: on a route, before one, at the door."""
        self.start(limits={"connections": 2})
        self.gateway.request("POST", "/orders", body=ORDER)
        self.gateway.post("k1", ORDER)
        self.gateway.post("k1", {"order": 8})
        with self.gateway.client() as client:
            client.send_raw(b"GET / HTTP/1.1\r\nBad Header: x\r\n\r\n")
            self.assertEqual(client.read_response().status, 400)
        wait_until(lambda: self.now("recibo_connections") == 0)
        with Client(self.gateway.port) as one, Client(self.gateway.port) as two:
            for client in (one, two):
                self.assertEqual(client.request("GET", "/x").status, 201)
            with self.gateway.client() as three:
                self.assertEqual(three.read_response().status, 503)
        for code in ("key-missing", "key-reused", "bad-request", "overloaded"):
            self.assertEqual(self.now('recibo_refused_total{reason="%s"}' % code), 1, code)
        self.assertEqual(sum(scrape(self.gateway).families["recibo_refused_total"]
                             .samples.values()), 4)

    def test_what_holds_a_route(self):
        """By hand, through its upstream, by the breaker: each alone; a passing route is never held."""
        self.start(route={"breaker": {"unknowns": 2, "share": "20%", "in": "60s"}})
        whys = ("route", "upstream", "breaker")
        self.assertEqual([self.held(why) for why in whys], [0, 0, 0])
        for number, subject in enumerate(("routes/create-order", "upstreams/legacy")):
            for word, value in (("pause", 1), ("resume", 0)):
                self.gateway.admin("POST", "/v1/%s/%s" % (subject, word), {"note": "a test"})
                self.assertEqual([self.held(why) for why in whys],
                                 [value if i == number else 0 for i in range(3)])
        for number in range(2):
            self.make_unknown("lost-%d" % number)
        self.assertEqual(self.gateway.post("next", ORDER).status, 503)
        self.assertEqual([self.held(why) for why in whys], [0, 0, 1])
        samples = scrape(self.gateway).families["recibo_route_paused"].samples
        self.assertEqual({dict(labels)["route"] for _, labels in samples}, {"create-order"})

    def test_a_half_open_breaker_holds(self):
        """While one trial is out everybody else is refused, and the gauge does not fall."""
        self.start(route={"breaker": {"unknowns": 1, "share": "20%", "in": "1s"}})
        self.make_unknown("lost")
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.upstream.script(wait(go_on, answer(201)))
        trial = Background(lambda: wait_until(
            lambda: next((r for r in [self.gateway.post("trial", ORDER)] if r.status != 503), None)))
        self.upstream.wait_for(2)
        self.assertEqual(self.held("breaker"), 1)
        go_on.set()
        self.assertEqual(trial.result().status, 201)
        wait_until(lambda: self.held("breaker") == 0)

    def test_limits_stand_beside_what_they_bound(self):
        """The limits of the page are those of the configuration."""
        self.start(limits={"late_max": 3, "connections": 77, "store_queue": 100})
        page = scrape(self.gateway)
        self.assertEqual((page["recibo_late_listening_limit"], page["recibo_connections_limit"],
                          page["recibo_store_queue_limit"]), (3, 77, 100))

    def test_exchanges_that_are_observed(self):
        """Each exchange of an observed route counts there, and nowhere else."""
        self.start(routes=[orders(), WATCHED, rest()])
        for number in range(5):
            self.gateway.post("k%d" % number, ORDER, path="/look")
        self.gateway.post("k", ORDER)
        wait_until(lambda: self.now('recibo_observed_total{route="look"}') == 5)
        families = scrape(self.gateway).families
        self.assertEqual(len(families["recibo_observed_total"].samples), 1)
        self.assertEqual(families["recibo_observed_lost_total"].value(route="look"), 0)


class Settled(Probing):
    """Who ended a doubt, and what spoke against a verdict."""

    def verdicts(self):
        """{(by, verdict): count} of what is not 0, on the guarded route."""
        samples = scrape(self.gateway).families["recibo_settled_total"].samples
        found = {}
        for (_, labels), value in samples.items():
            label = dict(labels)
            if value and label["route"] == "create-order":
                found[label["by"], label["verdict"]] = value
        return found

    def contradictions(self, route="create-order"):
        return scrape(self.gateway)['recibo_contradictions_total{route="%s"}' % route]

    def lose_late(self, key, action, **route):
        """A call that ran into its timeout; -> (the answer, the event that lets it end)."""
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.upstream.script(wait(go_on, action))
        told = self.gateway.post(key, ORDER)
        self.assertEqual(told.status, 504)
        return told, go_on

    def test_by_hand_and_by_plan(self):
        """One by one and many at once are told apart; a verdict that is taken back counts too."""
        self.start(route={"breaker": "none", **AT_ONCE}, settle_delay="0s")
        lost = [self.make_unknown("k%d" % number) for number in range(4)]
        self.settle(lost[0], "executed")
        self.settle(lost[1], "abandoned")
        self.settle(lost[0], "reopen")
        self.settle(lost[0], "not_executed", force=True)
        self.gateway.admin("POST", "/v1/operations/%s/settle"
                           % lost[2].get("Idempotency-Operation"),
                           {"verdict": "executed", "version": 99, "note": "too late"})
        _, _, made = self.gateway.admin("POST", "/v1/plans", {
            "verdict": "executed", "where": {"state": "unknown"}, "note": "all"})
        plan = "/v1/plans/" + made["plan"]["id"]
        self.assertEqual(self.gateway.admin("POST", plan + "/apply", {"note": "all"})[0], 200)
        wait_until(lambda: self.gateway.admin("GET", plan)[2]["plan"]["state"] == "done")
        self.assertEqual(self.verdicts(), {
            ("operator", "executed"): 1, ("operator", "abandoned"): 1, ("operator", "reopen"): 1,
            ("operator", "not_executed"): 1, ("plan", "executed"): 2})

    def test_by_a_probe(self):
        """What the upstream said when it was asked is the probe's verdict."""
        self.start_probing({"absent_is": "proof", "quiet_time": "200ms"}, upstream=QUIET)
        executed = self.lose("k1")
        self.gateway.wait_state(executed, "completed")
        self.reply = json_answer(NOTHING)
        self.gateway.wait_state(self.lose("k2"), "released")
        self.assertEqual(self.verdicts(), {("probe", "executed"): 1, ("probe", "not_executed"): 1})
        self.assertEqual(self.contradictions(), 0)

    def test_by_a_late_answer(self):
        """An answer that comes after all ends a doubt, whichever way it speaks."""
        self.start(route={"breaker": "none"}, upstream=SOON)
        ran, first = self.lose_late("k1", answer(201))
        not_run, second = self.lose_late("k2", answer(429))
        first.set()
        self.gateway.wait_state(ran.get("Idempotency-Operation"), "completed")
        second.set()
        self.gateway.wait_state(not_run.get("Idempotency-Operation"), "released")
        self.assertEqual(self.verdicts(), {("late", "executed"): 1, ("late", "not_executed"): 1})
        self.assertEqual(self.contradictions(), 0)

    def test_an_answer_in_time_settles_nothing(self):
        """Nor does a lost one, or a late end without an answer: there was no verdict."""
        self.start(route={"breaker": "none"}, upstream=SOON)
        self.gateway.post("k1", ORDER)
        self.make_unknown("k2")
        _, go_on = self.lose_late("k3", fin())
        go_on.set()
        wait_until(lambda: scrape(self.gateway)["recibo_late_listening"] == 0)
        self.assertEqual(self.verdicts(), {})

    def test_a_late_answer_against_a_verdict(self):
        """It counts as a contradiction; where a person had given up it also ends the doubt."""
        self.start(route={"breaker": "none", **AT_ONCE}, upstream=SOON)
        told, go_on = self.lose_late("k1", answer(201))
        self.settle(told, "not_executed", force=True)
        go_on.set()
        self.gateway.wait_state(told.get("Idempotency-Operation"), "completed")
        self.assertEqual((self.contradictions(), self.verdicts()),
                         (1, {("operator", "not_executed"): 1}))
        told, go_on = self.lose_late("k2", answer(201))
        self.settle(told, "abandoned")
        go_on.set()
        self.gateway.wait_state(told.get("Idempotency-Operation"), "completed")
        self.assertEqual((self.contradictions(), self.verdicts()[("late", "executed")]), (2, 1))

    def test_a_probe_against_a_verdict(self):
        """A finding that comes when somebody has already said the opposite is a contradiction."""
        self.start_probing(upstream=QUIET)
        go_on = threading.Event()
        self.addCleanup(go_on.set)
        self.reply = wait(go_on, json_answer(FOUND))
        operation_id = self.lose("k1")
        wait_until(lambda: self.questions)
        version = self.gateway.operation(operation_id)["version"]
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/settle" % operation_id,
            {"verdict": "not_executed", "version": version, "note": "looked", "force": True})
        self.assertEqual(status, 200, value)
        go_on.set()
        wait_until(lambda: self.contradictions() == 1)
        self.assertEqual(self.verdicts(), {("operator", "not_executed"): 1})

    def raise_contradiction(self, operation_id, status=200, version=None):
        version = version or self.gateway.operation(operation_id)["version"]
        seen, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/contradiction" % operation_id,
            {"note": "found twice", "version": version})
        self.assertEqual(seen, status, value)

    def test_a_person_who_found_it_twice(self):
        """An alarm raised by hand counts; one that was refused does not."""
        self.start(route={"breaker": "none"})
        operation_id = self.operation_of(self.make_unknown("k1"))["id"]
        self.raise_contradiction(operation_id, 409, version=99)
        self.assertEqual(self.contradictions(), 0)
        self.raise_contradiction(operation_id)
        self.assertEqual(self.contradictions(), 1)

    def test_routes_that_are_gone_share_one_label(self):
        """Their unknowns, verdicts and contradictions are told, under a name no route can have."""
        gone = [orders(name="gone-%d" % i, match={"methods": ["POST"], "path": "/g%d" % i},
                       breaker="none", **AT_ONCE) for i in range(3)]
        self.start(routes=[*gone, orders(), rest()])
        lost = [self.make_unknown("k", path="/g%d" % i) for i in range(3)]
        self.gateway.arguments = ["--accept-dropped-routes"]
        self.gateway.restart({"routes": [orders(), rest()]})
        page = scrape(self.gateway)
        self.assertEqual(page['recibo_unknown{route="(removed)"}'], 3)
        self.assertGreater(page['recibo_unknown_oldest_seconds{route="(removed)"}'], 0)
        self.assertEqual({dict(labels)["route"] for _, labels
                          in page.families["recibo_unknown"].samples},
                         {"create-order", "everything-else", "(removed)"})
        self.raise_contradiction(lost[0].get("Idempotency-Operation"))
        self.settle(lost[1], "executed")
        page = scrape(self.gateway)
        self.assertEqual(page['recibo_contradictions_total{route="(removed)"}'], 1)
        self.assertEqual(page['recibo_unknown{route="(removed)"}'], 2)
        self.assertEqual(
            page['recibo_settled_total{route="(removed)",verdict="executed",by="operator"}'], 1)


class Bounded(Guarded):
    """Which series there are depends on the configuration alone."""

    COUNT = 1000

    def flood(self, start, send):
        """COUNT requests of one kind over kept connections, as fast as they are answered."""
        client = None
        for number in range(start, start + self.COUNT):
            if client is None:
                client = self.use(Client(self.gateway.port))
            response = send(client, number)
            if response.get("Connection") == "close":
                client.close()
                client = None

    def test_nothing_that_a_caller_invents_makes_a_series(self):
        """Paths, methods, hosts, header names, keys, owners, statuses, labels: the same page."""
        self.start(routes=[orders(breaker="none", limits={"owner_in_flight": 64}, owner="proxy"),
                           rest()],
                   owners={"everyone": {"kind": "static", "owner": "tester"},
                           "proxy": {"kind": "header", "header": "X-Owner",
                                     "trusted": ["127.0.0.1"]}})
        before = scrape(self.gateway)
        self.flood(0, lambda client, n: client.request("GET", "/path/%d?q=%d" % (n, n)))
        self.flood(0, lambda client, n: client.request("FOO%d" % n, "/orders"))
        self.flood(0, lambda client, n: client.request(
            "GET", "/x", [("Host", "h%d.example" % n), ("X-Invented-%d" % n, "1"),
                          ("User-Agent", "agent %d" % n)]))
        self.flood(0, lambda client, n: client.request(
            "POST", "/orders", [("Idempotency-Key", "key-%d" % n), ("X-Owner", "owner-%d" % n)],
            {"order": "label-%d" % n}))
        for status in range(200, 600):
            if status != 204 and status != 304:
                self.upstream.script(answer(status, reason="Odd %d" % status))
                self.gateway.post("status-%d" % status, ORDER, headers=[("X-Owner", "o")])
        for number in range(50):
            fetch(self.gateway.admin_port, "GET", "/v1/invented/%d" % number)
            self.gateway.admin("POST", "/v1/routes/no-%d/pause" % number, {"note": "x"})
        after = scrape(self.gateway)
        self.assertEqual(set(after.series()), set(before.series()))
        self.assertGreaterEqual(after['recibo_operations_total{%s,outcome="executed"}' % ROUTE],
                                self.COUNT)

    def test_the_page_names_no_caller(self):
        """No key, owner, path or label of a caller stands anywhere on the page."""
        self.start()
        secret = "s3cr3t-word"
        self.gateway.post(secret, {"order": secret}, headers=[("X-Owner", secret)])
        self.make_unknown(secret + "2", {"order": secret})
        self.gateway.request("GET", "/" + secret)
        self.assertNotIn(secret, fetch(self.gateway.admin_port, "GET", "/metrics").text)


if __name__ == "__main__":
    main()
