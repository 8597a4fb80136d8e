"""One unknown operation of every end that leads there, made over real sockets: some are
settled by the API, some by the command, some in the page, the rest by asking the
upstream. The audit tells who, what, when and why; every repeat gets what was settled;
and the upstream's books show that nothing ran twice.
"""

import os
import re
import signal

from page_lib import PageCase, main, merge, orders, rest, token, wait_until
from guarded import now_text, send_post
from harness import ROOT, Closed, Gateway
from ledger import DEEDS, LIMIT, Ledger, REFERENCE

BIG = 24 << 20
HANDS = ("api", "cli", "page")
PROBED = ("probe", "absent")
SHORT = {"send": "400ms", "first_byte": "900ms", "idle": "300ms", "answer": "1s", "late": "1s"}


def ends_of(group):
    """The names of that group in the closed vocabulary."""
    with open(os.path.join(ROOT, "policy", "ends.def"), encoding="utf-8") as file:
        return set(re.findall(r"^END\((\w+), *%s," % group, file.read(), re.MULTILINE))


class EveryUnknown(PageCase):
    def setUp(self):
        self.ledger = Ledger(self)
        gateway = Gateway(self.ledger.url, changes=self.changes(), start=False)
        gateway.token = token("tester")[0]
        self.gateway = self.use(gateway)
        gateway.start()
        self.pages = []
        self.addCleanup(self.leave_pages)
        self.ends = {}  # key -> what its upstream does
        self.ledger.deed = lambda request: DEEDS.get(self.ends.get(request.get("X-Case")))
        self.ledger.stalls = lambda request: self.ends.get(request.get("X-Case")) == "send_stalled"
        # Of the ones that the probe shall find absent nothing is carried out.
        self.ledger.runs = lambda request: not request.get("X-Case").endswith("-absent")

    def changes(self):
        guarded = {"breaker": "none", "evidence": {"headers": True, "body": True},
                   "replay_body_max": LIMIT // 2, "request_body_max": BIG,
                   "limits": {"route_in_flight": 4, "owner_in_flight": 4},
                   "add_operation_id": {"json": "/" + REFERENCE}, "reconcile": {"quiet_time": "1s"}}
        asks = {"reconcile": {
            "probe": {"method": "GET", "path": "/tickets?%s={operation_id}" % REFERENCE},
            "executed_when": {"status": 200, "json": {"/items/0/id": "plain!exists"}},
            "absent_when": {"status": 200, "json": {"/items": "plain!empty"}},
            "response": {"status": 201, "body": {"from": "/items/0"}},
            "absent_is": "proof", "every": "1s"}}
        routes = [orders(name="by-hand", match={"methods": ["POST"], "path": "/by-hand"}, **guarded),
                  merge(orders(name="asks", match={"methods": ["POST"], "path": "/asks"}, **guarded),
                        asks), rest()]
        return {"routes": routes, "upstreams": {"legacy": {"timeouts": SHORT}},
                "limits": {"answer_body_max": LIMIT, "late_max": 4, "memory_max": "2GiB"},
                "drain": "300ms", "admin": {"tokens": [token(
                    "tester", "read", "evidence", "settle", "control")[1]]}}

    # ---- the world ----

    def body_of(self, key):
        pad = "x" * (BIG - 1024) if self.ends[key] == "send_stalled" else ""
        return {"order": key, "pad": pad}

    def post(self, key, body=None):
        return self.gateway.post(key, body or self.body_of(key), path=self.path_of(key),
                                 headers={"X-Case": key})

    @staticmethod
    def path_of(key):
        return "/by-hand" if key.endswith(HANDS) else "/asks"

    def lose(self, end, way):
        """An operation that ends so; -> its key."""
        key = "%s-%s" % (end, way)
        self.ends[key] = end
        if end in ("drained", "crashed"):
            self.break_off(key, end)
        else:
            self.post(key)
        self.assertEqual(self.of(key)["end"], end)
        return key

    def break_off(self, key, end):
        """The gateway itself ends while the upstream works."""
        with send_post(self.gateway, key, self.body_of(key), {"X-Case": key}.items(),
                       path=self.path_of(key)) as client:
            # Its own request: the gateway asks about others meanwhile.
            wait_until(lambda: any(request.get("X-Case") == key for request in
                                   self.ledger.upstream.select(method="POST")))
            if end == "drained":
                self.gateway.signal(signal.SIGTERM)
                self.assertEqual(client.read_response().status, 504)
                self.assertEqual(self.gateway.wait_exit(), 0)
            else:
                self.gateway.kill9()
                with self.assertRaises((Closed, OSError)):
                    client.read_response()
        self.gateway.restart()

    def of(self, key):
        listed = self.gateway.operations(key=key)
        self.assertEqual(len(listed), 1, listed)
        return self.gateway.operation(listed[0]["id"])

    # ---- three ways of a person; what has a probe is settled by itself ----

    def settle_api(self, key, note):
        operation = self.of(key)
        super().settle(operation, "executed", note=note,
                       response={"status": 201, "body": {"settled": key}})

    def settle_cli(self, key, note):
        operation = self.of(key)
        done = self.gateway.cli("backlog", "settle", operation["id"], "--verdict", "executed",
                                "--response", "-", "--status", "201", "--note", note,
                                input='{"settled": "%s"}' % key)
        self.assertEqual(done.returncode, 0, done)

    def settle_page(self, key, note):
        page = self.open_entry(self.of(key))
        page.click("#verdict-executed")
        page.run("document.querySelectorAll('.settle .response input[type=radio]')[1].click()")
        page.type(".settle .response textarea[rows='5']", '{"settled": "%s"}' % key)
        page.type("#settle-note", note)
        page.click("#settle-send")
        page.wait_text("Completed", ".view-head")

    # ---- what has to come of it ----

    def assert_audit(self, key, way, note, since):
        """Who, what, when, why."""
        lines = self.of(key)["audit"]
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(since <= lines[0]["at"] <= now_text(), (since, lines))
        if way in HANDS:
            self.assertEqual((lines[0]["actor"], lines[0]["action"], lines[0]["note"]),
                             ("token:tester", "settle", note))
            self.assertIn("verdict=executed", lines[0]["detail"])
        else:
            self.assertEqual((lines[0]["actor"], lines[0]["action"]), ("probe", "probed"))
            self.assertIn("result=" + ("absent" if way == "absent" else "executed"),
                          lines[0]["detail"])
            self.assertTrue(lines[0]["note"])

    def assert_repeat(self, key, way):
        """A repeat gets the settled answer; only what is proved absent is sent, once."""
        ran = self.ledger.counts()[key]
        self.ends[key] = self.ends[key] if self.ends[key] == "send_stalled" else None
        body = self.body_of(key)
        self.ends[key] = None
        if way == "absent":
            self.ledger.runs = lambda request: True
        repeat = self.post(key, body)
        self.assertEqual(repeat.status, 201, repeat)
        if way in HANDS:
            self.assertEqual(repeat.json(), {"settled": key})
        elif way == "probe":
            self.assertEqual(repeat.json()["order"], key)
        self.assertEqual(repeat.get("Idempotent-Replayed"), None if way == "absent" else "true")
        self.assertEqual(self.ledger.counts()[key], 1 if way == "absent" else ran)

    def test_every_end_is_settled_in_every_way(self):
        """Eleven ends; a person's three ways, and the probe that finds it and that does not."""
        wanted = ends_of("UNCLEAR") | {"answered"}
        self.assertEqual(set(DEEDS), wanted)
        since = now_text()
        lost = {}
        for end in sorted(wanted):
            for way in HANDS + PROBED:
                if (end, way) != ("send_stalled", "probe"):  # half a request makes no ticket
                        lost[self.lose(end, way)] = way
        groups = self.gateway.admin("GET", "/v1/backlog/groups")[2]["groups"]
        self.assertEqual({group["end"] for group in groups if group["route"] == "by-hand"}, wanted)
        for key, way in lost.items():
            with self.subTest(key=key):
                note = "looked for %s" % key
                if way in HANDS:
                    getattr(self, "settle_" + way)(key, note)
                wait_until(lambda: self.of(key)["state"] ==
                           ("released" if way == "absent" else "completed"))
                self.assert_audit(key, way, note, since)
        self.assertEqual(self.gateway.operations(state="unknown"), [])
        for key, way in lost.items():
            with self.subTest(repeat=key):
                self.assert_repeat(key, way)
        self.assertEqual(max(self.ledger.counts().values()), 1, self.ledger.counts())


if __name__ == "__main__":
    main()
