"""An outage of an upstream as an operator lives through it: 3,800 operations whose
answers were lost in two ways, seen as two groups, stopped, asked about, settled by plan,
some reopened, the rest by a list that the upstream gives out. What is settled is
compared with the upstream's books; in the end every key is used again.
"""

import concurrent.futures
import csv
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import now_text  # noqa: E402
from harness import Case, Client, Gateway, main, orders, rest, wait_until  # noqa: E402
from ledger import DEEDS, Ledger, REFERENCE  # noqa: E402

TIMED_OUT, RESET = 3500, 300
CALLERS = 50
REOPENED = 12
PATHS = {"t": "/orders", "r": "/tickets", "n": "/tickets"}
PAGE = 500


def key_of(kind, number):
    """Numbers in a row, as an API gives them: t-2 is another order than t-21."""
    return "%s-%d" % (kind, number)


def number_of(key):
    return int(key.rsplit("-", 1)[1])


class Outage(Case):
    def setUp(self):
        self.ledger = Ledger(self)
        self.gateway = self.use(Gateway(self.ledger.url, changes=self.changes()))

    def changes(self):
        """One route has a probe. Its quiet time is long enough for a person to be faster."""
        def guarded(name, path, reconcile):
            return orders(name=name, match={"methods": ["POST"], "path": path}, breaker="none",
                          evidence={"headers": True, "body": True}, reconcile=reconcile,
                          limits={"route_in_flight": 200, "owner_in_flight": 200},
                          add_operation_id={"json": "/" + REFERENCE})
        asks = {"quiet_time": "20s", "absent_is": "hint", "every": "1h", "attempts": 1,
                "probe": {"method": "GET", "path": "/tickets?%s={operation_id}" % REFERENCE},
                "executed_when": {"status": 200, "json": {"/items/0/id": "plain!exists"}},
                "absent_when": {"status": 200, "json": {"/items": "plain!empty"}}}
        return {"routes": [guarded("create-order", "/orders", {"quiet_time": "1s"}),
                           guarded("create-ticket", "/tickets", asks), rest()],
                "settle_delay": "1s",
                "upstreams": {"legacy": {"timeouts": {"first_byte": "200ms", "answer": "200ms",
                                                      "late": "200ms"},
                                         "connections": {"max": 250}}},
                "limits": {"memory_max": "4GiB", "late_max": 250}}

    # ---- tools ----

    def cli(self, code, *words):
        done = self.gateway.cli(*words, deadline_s=300)
        self.assertEqual(done.returncode, code, done)
        return done.stdout

    def call_all(self, keys):
        """Each key once, by many callers at a time; -> {key: answer}."""
        def some(mine):
            found = {}
            with Client(self.gateway.port) as client:
                for key in mine:
                    found[key] = self.call(client, key)
            return found
        shares = [keys[start::CALLERS] for start in range(CALLERS)]
        with concurrent.futures.ThreadPoolExecutor(CALLERS) as pool:
            found = {}
            for part in pool.map(some, [share for share in shares if share]):
                found.update(part)
        return found

    def call(self, client, key):
        client.send("POST", PATHS[key[0]], [("Idempotency-Key", key)], {"order": key})
        return client.read_response()

    def all_of(self, **query):
        """Every listed operation, page by page."""
        found, cursor = [], None
        while True:
            asked = dict(query, limit=PAGE, **({"cursor": cursor} if cursor else {}))
            status, _, value = self.gateway.admin("GET", "/v1/operations?" + "&".join(
                "%s=%s" % pair for pair in asked.items()))
            self.assertEqual(status, 200, value)
            found += value["operations"]
            cursor = value["next"]
            if cursor is None:
                return found

    def groups(self):
        return self.gateway.admin("GET", "/v1/backlog/groups")[2]["groups"]

    def plan_in(self, text):
        return re.search(r"plan_[a-z0-9]{26}", text).group()

    # ---- the story ----

    def test_an_outage(self):
        """Groups, pause, probe, plan, reopen, a list with missing, single and double lines."""
        timed = [key_of("t", number) for number in range(TIMED_OUT)]
        cut = [key_of("r", number) for number in range(RESET)]
        self.break_down(timed, cut)
        self.look_at_groups()
        self.stop_sending()
        self.ask_about_resets(cut)
        reopened = self.settle_resets(cut)
        self.match_the_rest(timed, reopened)
        self.use_every_key_again(timed + cut, [key_of("t", 0), key_of("t", 2)])

    def break_down(self, timed, cut):
        """Half of what timed out was carried out, and every third of what was reset."""
        def ran(request):
            order = json.loads(request.body)["order"]
            return number_of(order) % (2 if order[0] == "t" else 3) == 0
        self.ledger.runs = ran
        self.ledger.deed = lambda request: DEEDS["reset_no_answer"] if b'"r-' in request.body \
            else DEEDS["answer_timeout"]
        for keys, status in ((timed, 504), (cut, 502)):
            told = self.call_all(keys)
            self.assertEqual({answer.status for answer in told.values()}, {status})
        self.ledger.deed = lambda request: None
        self.ledger.runs = lambda request: True

    def look_at_groups(self):
        seen = {(group["route"], group["end"]): group["count"] for group in self.groups()}
        self.assertEqual(seen, {("create-order", "answer_timeout"): TIMED_OUT,
                                ("create-ticket", "reset_no_answer"): RESET})
        shown = self.cli(0, "backlog")
        self.assertIn("2 groups", shown)
        self.assertIn("3,800", shown)

    def stop_sending(self):
        """Paused: new operations are not sent and their keys not spent; repeats are told."""
        for route in ("create-order", "create-ticket"):
            self.cli(0, "pause", route, "--note", "the outage")
        sends = self.ledger.upstream.sends
        fresh = self.gateway.post("new-1", {"order": "new-1"}, path="/tickets")
        self.assert_problem(fresh, 503, "route-paused")
        known = self.gateway.post(key_of("t", 1), {"order": key_of("t", 1)})
        self.assert_problem(known, 409, "outcome-unknown")
        self.assertEqual(self.gateway.operations(key="new-1"), [])
        self.assertEqual(self.ledger.upstream.select(method="POST")[sends:], [])

    def ask_about_resets(self, cut):
        """The smaller group is asked about, at a rate, and each finding is on record."""
        number = 1 + [group["end"] for group in self.groups()].index("reset_no_answer")
        shown = self.cli(0, "backlog", "probe", "--group", number, "--rate", "200/s",
                         "--note", "after the outage")
        self.assertIn("300", shown)
        left = self.all_of(state="unknown", end="reset_no_answer")
        absent = {each["key"] for each in left}
        self.assertEqual(absent, {key for key in cut if number_of(key) % 3})
        self.assertEqual({each["probe"] for each in left}, {"absent"})

    def settle_resets(self, cut):
        """What the probe did not find is settled by plan, and twelve are taken back."""
        until = max(each["quiet_until"] for each in (
            self.gateway.operation(each["id"]) for each in self.all_of(end="reset_no_answer",
                                                                       state="unknown")))
        wait_until(lambda: now_text() > until, 60)
        plan = self.plan_in(self.cli(
            0, "backlog", "settle", "--where", "end=reset_no_answer", "--where", "probe=absent",
            "--verdict", "not_executed"))
        shown = self.cli(0, "backlog", "apply", plan, "--note", "asked them all")
        self.assertIn("200", shown)
        free = sorted(key for key in cut if number_of(key) % 3)[:REOPENED]
        for key in free:
            listed = self.gateway.operations(key=key)
            self.cli(0, "backlog", "reopen", listed[0]["id"], "--note", "not so sure")
            # What is unknown again is asked about again, by itself: until that is over it changes.
            wait_until(lambda: self.gateway.operation(listed[0]["id"])["next_probe_at"] is None)
            self.assertEqual(self.gateway.operation(listed[0]["id"])["state"], "unknown")
        self.assertEqual(len(self.all_of(state="released")), 200 - REOPENED)
        return free

    def match_the_rest(self, timed, reopened):
        """The upstream's list: single lines ran, double ones are an alarm, missing ones did
        not run, once the list is complete past the quiet time."""
        self.cli(0, "resume", "create-ticket", "--note", "they are back: one call to see it")
        self.assertEqual(self.gateway.post("new-1", {"order": "new-1"}, path="/tickets").status, 201)
        doubled = sorted(key_of("t", number) for number in (0, 2))
        path = os.path.join(self.gateway.directory, "tickets.csv")
        with open(path, "w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["TICKET", "ORDER_NO"])
            for ticket in self.ledger.tickets:
                lines.writerow([ticket["id"], ticket["order"]])
                if ticket["order"] in doubled:
                    lines.writerow([ticket["id"] + 100000, ticket["order"]])
        complete = now_text()
        wait_until(lambda: now_text() > complete)
        words = ("backlog", "match", path, "--column", "ORDER_NO", "--label", "order", "--json")
        hint = json.loads(self.cli(1, *words))
        self.assertEqual([plan["verdict"] for plan in hint["plans"]], ["executed"], hint["plans"])
        found = json.loads(self.cli(1, *words, "--complete-until", complete))
        plans = {plan["verdict"]: plan for plan in found["plans"]}
        self.assertEqual(plans["executed"]["count"], TIMED_OUT // 2 - len(doubled))
        self.assertEqual(plans["not_executed"]["count"], TIMED_OUT // 2 + len(reopened))
        for plan in plans.values():
            self.cli(0, "backlog", "apply", plan["id"], "--note", "their list of today")
        left = self.all_of(state="unknown")
        self.assertEqual(sorted(each["key"] for each in left), doubled)
        self.assertEqual([each["contradicted"] for each in left], [True, True])

    def use_every_key_again(self, keys, doubled):
        """Each key gets what was settled; what did not run runs now; nothing runs twice."""
        self.cli(0, "resume", "create-order", "--note", "they are back, too")
        before = self.ledger.counts()
        told = self.call_all(keys)
        after = self.ledger.counts()
        for key, answer in told.items():
            if key in doubled:
                wanted = (409, "outcome-unknown", 1)
            elif before[key]:
                wanted = (409, "result-unavailable", 1)
            else:
                wanted = (201, None, 1)
            code = answer.json().get("code")
            self.assertEqual((answer.status, code, after[key]), wanted, (key, answer))
        self.assertEqual(max(after.values()), 1)


if __name__ == "__main__":
    main()
