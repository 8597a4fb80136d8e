"""Another configuration while Recibo serves: whole or not at all, every request under the
one that it began with, nothing lost, and no protection dropped by the way.
"""

import json
import os
import re
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from certificates import Authority  # noqa: E402
from guarded import AT_ONCE, ORDER, SOON, Guarded, send_post  # noqa: E402
from harness import (Upstream, answer, encode_answer, hang, main, merge, orders,  # noqa: E402
                     rest, scratch, wait, wait_until)

ROUNDS = 12
CALLERS = 8


class Reloading(Guarded):
    def begin(self, default=None, **options):
        """A gateway whose file has the ports that it listens on, as an operator's has."""
        self.start(default, **options)
        self.gateway.write_configuration()
        self.gateway.restart()
        return self.gateway

    def write(self, **changes):
        self.gateway.write_configuration(changes)

    def of_signals(self):
        """The lines that say what came of a signal; an operator's may still be on their way."""
        return [line for line in self.gateway.log().splitlines()
                if re.search(r" recibo\.(not_)?reloaded ", line) and 'actor="token:' not in line]

    def hup(self):
        """SIGHUP, and what came of it; -> its line in the log."""
        seen = len(self.of_signals())
        self.gateway.signal(signal.SIGHUP)
        wait_until(lambda: len(self.of_signals()) > seen)
        return self.of_signals()[-1]

    def reload(self, status=200, **body):
        seen, _, value = self.gateway.admin("POST", "/v1/reload", body)
        self.assertEqual(seen, status, value)
        return value


class TakenUp(Reloading):
    def test_a_new_route(self):
        """A path that passed is guarded after the signal, and the log says what changed."""
        self.begin()
        self.assertIsNone(self.gateway.post("k1", ORDER, path="/carts").get("Idempotency-Status"))
        cart = orders(name="create-cart", match={"methods": ["POST"], "path": "/carts"})
        self.write(routes=[orders(), cart, rest()])
        line = self.hup()
        self.assertIn("recibo.reloaded", line)
        self.assertIn("need_restart=0", line)
        self.assertRegex(self.gateway.log(), r'configuration\.changed key="routes\[create-cart\]'
                                             r'\.match\.path" before="\(none\)" after="/carts"')
        first = self.gateway.post("k1", ORDER, path="/carts")
        self.assert_passed_on(first, 201, "executed")
        self.assert_replay(first, self.gateway.post("k1", ORDER, path="/carts"))

    def test_a_call_under_way_keeps_its_configuration(self):
        """Its answer is judged by the outcome rules of before; a later one by the new ones."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin()
        self.upstream.script(wait(release, answer(409, body=b"old")))
        caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(self.upstream.sends + 1)
        self.write(routes=[orders(outcome={"unknown": [408, 409, "5xx"]}), rest()])
        self.assertIn("recibo.reloaded", self.hup())
        release.set()
        first = caller.read_response()
        self.assert_passed_on(first, 409, "executed", b"old")
        self.assert_state(first, "completed")
        self.upstream.script(answer(409, body=b"new"))
        self.assert_state(self.gateway.post("k2", ORDER), "unknown")

    def test_another_upstream(self):
        """New calls go to the new address; one under way gets its answer from the old one."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin()
        other = self.use(Upstream(answer(201, body=b"other")))
        self.upstream.script(wait(release, answer(201, body=b"old")))
        caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.write(upstreams={"legacy": {"url": other.url}})
        self.assertIn("recibo.reloaded", self.hup())
        self.assertEqual(self.gateway.post("k2", ORDER).body, b"other")
        release.set()
        self.assertEqual(caller.read_response().body, b"old")
        self.assertEqual((self.upstream.sends, other.sends), (1, 1))

    def test_a_late_answer_keeps_its_configuration(self):
        """An answer that comes after the caller was told is judged by the rules of its call,
        be its route gone meanwhile."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin(upstream=SOON)
        self.upstream.script(wait(release, answer(201, body=b"late")))
        told = self.gateway.post("k1", ORDER)
        self.assertEqual(told.status, 504)
        self.write(routes=[rest()])
        self.reload(accept_dropped_routes=True, note="the route is gone")
        for _ in range(3):
            self.reload()
        release.set()
        self.gateway.wait_state(told.get("Idempotency-Operation"), "completed")

    def test_owners_and_tokens(self):
        """Callers' keys and operators' tokens are those of the new file at once."""
        self.begin()
        import hashlib
        key = hashlib.sha256(b"secret").hexdigest()
        self.write(owners={"everyone": {"kind": "api_key", "owner": None, "header": "X-Api-Key",
                                        "keys": [{"owner": "tester", "sha256": key}]}})
        self.assertIn("recibo.reloaded", self.hup())
        self.assertNotIn(key, self.gateway.log())
        self.assertEqual(self.gateway.post("k1", ORDER).status, 401)
        self.assertEqual(self.gateway.post("k1", ORDER, headers={"X-Api-Key": "secret"}).status, 201)
        token = hashlib.sha256(b"new token").hexdigest()
        rights = ["read", "control"]
        self.write(admin={"tokens": [{"name": "next", "rights": rights, "sha256": token}]})
        self.assertIn("recibo.reloaded", self.hup())
        self.assertEqual(self.gateway.admin("GET", "/v1/summary")[0], 401)
        self.assertEqual(self.gateway.admin("GET", "/v1/summary", token="new token")[0], 200)

    def test_what_is_counted_goes_on(self):
        """Counters go by the name of the route, also where the order of routes has changed."""
        self.begin()
        self.gateway.post("k1", ORDER)
        name = 'recibo_operations_total{route="create-order",outcome="executed"}'
        before = self.gateway.metrics()[name]
        cart = orders(name="a-cart", match={"methods": ["POST"], "path": "/carts"})
        self.write(routes=[cart, rest(), orders()])
        self.reload()
        self.assertEqual(self.gateway.metrics()[name], before)
        self.gateway.post("k2", ORDER)
        self.gateway.post("k2", ORDER, path="/carts")
        after = self.gateway.metrics()
        self.assertEqual(after[name], before + 1)
        self.assertEqual(after[name.replace("create-order", "a-cart")], 1)

    def test_a_pause_holds(self):
        """A pause outlives a reload, and holds a new route of a paused upstream."""
        self.begin()
        self.gateway.admin("POST", "/v1/upstreams/legacy/pause", {"note": "maintenance"})
        cart = orders(name="a-cart", match={"methods": ["POST"], "path": "/carts"})
        self.write(routes=[cart, orders(), rest()])
        self.reload()
        for path in ("/orders", "/carts"):
            self.assert_told(self.gateway.post("k1", ORDER, path=path), 503, "route-paused",
                             "paused", retry=True, new_key=True)
        self.gateway.admin("POST", "/v1/upstreams/legacy/resume", {"note": "over"})
        for path in ("/orders", "/carts"):
            self.assertEqual(self.gateway.post("k1", ORDER, path=path).status, 201)

    def test_a_breaker_stays_open(self):
        """A breaker that has opened is open under the new configuration, too."""
        self.begin(route={"breaker": {"unknowns": 2, "share": "1%", "in": "10m"}})
        for key in ("a", "b"):
            self.make_unknown(key)
        self.assertEqual(self.gateway.post("c", ORDER).json()["code"], "route-paused")
        self.write(via="another")
        self.reload()
        self.assertEqual(self.gateway.post("c", ORDER).json()["code"], "route-paused")

    def test_deferred_and_probes_go_on(self):
        """What was promised runs, and what is unknown is asked about, under the new file."""
        self.begin(route={"defer": {"when": "prefer"}})
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "hold"})
        told = self.gateway.post("k1", ORDER, headers={"Prefer": "respond-async"})
        self.assertIn(told.status, (202, 503))
        if told.status == 503:
            self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "go"})
            self.upstream.script(hang())
            told = self.gateway.post("k1", ORDER, headers={"Prefer": "respond-async"})
        self.assertEqual(told.status, 202)
        self.write(routes=[rest(), orders(defer={"when": "prefer"}, retention="48h")])
        self.reload()
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "go"})
        later = self.gateway.post("k2", ORDER, headers={"Prefer": "respond-async"})
        self.assertEqual(later.status, 202)
        self.gateway.wait_state(later.get("Location").rsplit("/", 1)[1], "completed")

    def test_observe_mode_comes_and_goes(self):
        """A route can be observed, then guarded: what was seen is in the report."""
        self.begin(routes=[orders(mode="pass", match={"methods": ["POST"], "path": "/orders"},
                                  key=None, fingerprint=None, labels=None), rest()])
        self.write(routes=[orders(mode="observe"), rest()])
        self.reload()
        self.gateway.post("k1", ORDER)
        name = 'recibo_observed_total{route="create-order"}'
        wait_until(lambda: self.gateway.metrics().get(name) == 1)
        self.write(routes=[orders(), rest()])
        self.reload()
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")

    def test_nothing_has_changed(self):
        """The same file again: said so; files that it names are read anew."""
        self.begin()
        value = self.reload()
        self.assertEqual((value["changes"], value["need_restart"]), ([], 0))
        self.assertIn("nothing", value["detail"])


    def has_nothing_left(self):
        """A reload that waits for another one is told so."""
        seen, _, value = self.gateway.admin("POST", "/v1/reload", {})
        self.assertIn((seen, value.get("code")), ((200, None), (409, "reload-in-progress")), value)
        return seen == 200 and value["changes"] == []

    def test_many_signals(self):
        """Signals that come in a heap: the last file counts, and nothing is left over."""
        self.begin()
        for number in range(20):
            self.write(via="v%d" % number)
            self.gateway.signal(signal.SIGHUP)
        self.hup()
        wait_until(self.has_nothing_left)
        self.gateway.request("GET", "/x")
        self.assertIn("v19", self.upstream.last.get("Via"))
        self.gateway.signal(signal.SIGHUP)
        self.assertEqual(self.gateway.stop(), 0)


class Refused(Reloading):
    def test_a_file_with_errors(self):
        """It changes nothing, and each error has its line and column in log and answer."""
        self.begin()
        with open(self.gateway.path, "a", encoding="utf-8") as file:
            file.write("}\nnonsense: 1\n")
        line = self.hup()
        self.assertIn("recibo.not_reloaded", line)
        self.assertRegex(self.gateway.log(),
                         r"error configuration\.error msg=.*recibo\.yaml:\d+:\d+: ")
        value = self.reload(422)
        self.assertEqual(value["code"], "configuration-invalid")
        self.assertRegex(value["errors"][0], r"recibo\.yaml:\d+:\d+: ")
        self.write(routes=[orders(retension="2h"), rest()])
        value = self.reload(422)
        self.assertRegex(value["errors"][0], r"recibo\.yaml:\d+:\d+: routes\[0\]\.retension: ")
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        os.unlink(self.gateway.path)
        self.assertEqual(self.reload(422)["code"], "configuration-invalid")
        self.assertEqual(self.gateway.post("k2", ORDER).status, 201)

    def test_what_needs_a_restart(self):
        """It is named and stays as it was; the rest of the file counts."""
        self.begin()
        self.write(listen=[{"address": "127.0.0.1:1"}], workers=2, via="another",
                   limits={"connections": 77})
        value = self.reload()
        applies = {change["key"]: change["applies"] for change in value["changes"]}
        self.assertEqual(applies, {"listen[0].address": "restart", "workers": "restart",
                                   "limits.connections": "restart", "via": "now"})
        self.assertEqual(value["need_restart"], 3)
        self.assertIn("another", self.gateway.post("k1", ORDER).get("Via", "another"))
        self.assertEqual(self.gateway.post("k2", ORDER).status, 201)
        # Still so at the next reload: it is compared with what was read last.
        self.assertEqual(self.reload()["changes"], [])

    def assert_drops(self, state, count=1, **changes):
        self.write(**changes)
        line = self.hup()
        self.assertIn("recibo.not_reloaded", line)
        self.assertIn("create-order", line)
        value = self.reload(409)
        self.assertEqual(value["code"], "protection-dropped")
        self.assertIn(("create-order", state, count),
                      [(d["route"], d["state"], d["count"]) for d in value["dropped"]])
        return value

    def test_unknown_operations(self):
        """A route with something unknown cannot go; accepted, it can."""
        self.begin()
        told = self.make_unknown()
        self.assert_drops("unknown", routes=[rest()])
        self.assert_unknown_repeat(self.gateway.post("k1", ORDER))
        value = self.reload(accept_dropped_routes=True, note="settled by hand")
        self.assertEqual(value["dropped"][0]["route"], "create-order")
        self.assertIsNone(self.gateway.post("k1", ORDER).get("Idempotency-Status"))
        self.assertEqual(self.operation_of(told)["state"], "unknown")

    def test_answers_that_are_kept(self):
        """An answer on record would be sent anew: path, mode, scope and owner of its route."""
        self.begin()
        self.gateway.post("k1", ORDER)
        for route in (None, orders(match={"methods": ["POST"], "path": "/others"}),
                      orders(name="other"), orders(scope="gateway")):
            with self.subTest(route=route):
                self.assert_drops("completed", routes=[rest()] + ([route] if route else []))
        self.assert_drops("completed", owners={"everyone": {"kind": "static", "owner": "other"}})
        shadow = orders(mode="pass", name="shadow", key=None, fingerprint=None, labels=None,
                        match={"methods": ["POST"], "path": "/orders"})
        self.write(routes=[orders(match={"methods": ["POST"], "path": "/{any}"}), shadow, rest()])
        self.assertEqual(self.reload(409)["code"], "protection-dropped")
        self.write(routes=[orders(retention="48h"), rest()])
        self.reload()
        self.assertEqual(self.gateway.post("k1", ORDER).get("Idempotency-Status"), "replayed")

    def test_operations_under_way(self):
        """What is being sent may become unknown: its route cannot go meanwhile."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin(wait(release, answer(201, body=b"made")))
        caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.assert_drops("pending", routes=[rest()])
        release.set()
        self.assertEqual(caller.read_response().status, 201)

    def test_local_effects(self):
        """A changed effect needs a restart, and nothing of the file counts; an order of
        routes does not."""
        def local(name, path, statement):
            return {"name": name, "mode": "enforce", "match": {"methods": ["POST"], "path": path},
                    "key": {"from": "header", "name": "Idempotency-Key", "required": True},
                    "fingerprint": {"mode": "json"},
                    "local": {"setup": "CREATE TABLE IF NOT EXISTS %s(id INTEGER PRIMARY KEY, "
                                       "t TEXT NOT NULL);" % name,
                              "accept": {"members": ["t"]}, "statement": statement,
                              "status": 201}}
        one = local("one", "/one", "INSERT INTO one(t) VALUES (:t) RETURNING 'one' AS it, t")
        two = local("two", "/two", "INSERT INTO two(t) VALUES (:t) RETURNING 'two' AS it, t")
        self.begin(routes=[one, two, rest()])
        self.write(routes=[two, rest(), one], via="another")
        self.reload()
        for name in ("one", "two"):
            response = self.gateway.post("k-" + name, {"t": "x"}, path="/" + name)
            self.assertEqual(response.json()["it"], name)
        changed = merge(one, {"local": {"status": 200}})
        self.write(routes=[changed, two, rest()])
        self.assertEqual(self.reload(409)["code"], "needs-restart")
        response = self.gateway.post("k2", {"t": "x"}, path="/one")
        self.assertEqual(response.status, 201)

    def test_https_to_an_upstream(self):
        """A context that was not made at the start is not there: nothing of it goes out plain."""
        authority = Authority(scratch())
        self.begin()
        for changes in ({"legacy": {"url": "https://127.0.0.1:9"}},
                        {"other": {"url": "https://127.0.0.1:9"}}):
            changes = {name: dict(each, tls={"ca": authority.path})
                       for name, each in changes.items()}
            self.write(upstreams=changes)
            self.assertEqual(self.reload(409)["code"], "needs-restart")
            line = self.hup()
            self.assertIn("recibo.not_reloaded", line)
            self.assertIn("restart it", line)
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.write(upstreams={"other": {"url": "http://127.0.0.1:9"}})
        self.assertIn("recibo.reloaded", self.hup())

    def test_while_it_stops(self):
        """A drain is not disturbed: the reload is refused."""
        release = threading.Event()
        self.addCleanup(release.set)
        self.begin(wait(release, answer(201)))
        caller = self.use(send_post(self.gateway, "k1"))
        self.upstream.wait_for(1)
        self.gateway.signal(signal.SIGTERM)
        wait_until(lambda: self.gateway.admin("GET", "/readyz")[0] == 503)
        self.assertIn("recibo.not_reloaded", self.hup())
        self.assertEqual(self.reload(409)["code"], "reload-in-progress")
        release.set()
        self.assertEqual(caller.read_response().status, 201)
        self.assertEqual(self.gateway.wait_exit(), 0)

    def test_a_token_without_the_right(self):
        """Reading it anew takes the right control."""
        import hashlib
        token = hashlib.sha256(b"reader").hexdigest()
        self.begin()
        self.write(admin={"tokens": [{"name": "r", "rights": ["read", "settle"],
                                      "sha256": token}]})
        self.assertIn("recibo.reloaded", self.hup())
        self.assertEqual(self.gateway.admin("POST", "/v1/reload", {}, token="reader")[0], 403)


class Command(Reloading):
    def test_it_says_what_happened(self):
        """recibo reload: exit 0 with what counts now; 2 with every error; 2 with the drops."""
        self.begin()
        self.write(via="another", workers=3)
        done = self.gateway.cli("reload", "--note", "a test")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"Counts now:\n  via: recibo -> another\n")
        self.assertRegex(done.stdout, r"Needs a restart.*\n  workers: 1 -> 3\n")
        self.gateway.post("k1", ORDER)
        self.write(routes=[rest()])
        refused = self.gateway.cli("reload")
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("1 completed of route create-order", refused.stderr)
        self.assertIn("--accept-dropped-routes", refused.stderr)
        self.write(routes="nothing")
        refused = self.gateway.cli("reload")
        self.assertEqual(refused.returncode, 2)
        self.assertRegex(refused.stderr, r"recibo\.yaml:\d+:\d+: routes")
        self.write(routes=[rest()])
        done = self.gateway.cli("reload", "--accept-dropped-routes", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(json.loads(done.stdout)["reloaded"])


class Load(Reloading):
    def test_under_load(self):
        """Hundreds of requests while it is read anew again and again: each is answered, each
        key runs once, and none sees a piece of two configurations."""
        def echo(exchange):
            body = "%s|%s" % (exchange.request.target.split("/")[1],
                              exchange.request.get("Via").split()[-1])
            exchange.send(encode_answer(201, [], body.encode()))
            return True
        self.begin(echo, workers=4)
        stop = threading.Event()
        seen, broken = [], []

        def call(number):
            client = self.gateway.client()
            count = 0
            while not stop.is_set():
                count += 1
                key = "k%d-%d" % (number, count)
                try:
                    method, path = ("POST", "/orders") if count % 2 else ("GET", "/plain")
                    response = client.request(method, path, [("Idempotency-Key", key)],
                                              ORDER if count % 2 else None)
                    seen.append((path, key, response.status, response.body))
                    if response.get("Connection") == "close":
                        client.close()
                        client = self.gateway.client()
                except Exception as error:  # noqa: B902 - reported below
                    broken.append(repr(error))
                    return
            client.close()

        callers = [threading.Thread(target=call, args=(n,)) for n in range(CALLERS)]
        for caller in callers:
            caller.start()
        for round_number in range(ROUNDS):
            name = "conf%d" % round_number
            routes = [orders(), rest()]
            self.write(via=name, upstreams={"legacy": {"url": self.upstream.url + "/" + name}},
                       routes=routes if round_number % 2 else routes[::-1])
            if round_number % 3:
                self.reload()
            else:
                self.hup()
            mark = len(seen)
            wait_until(lambda: len(seen) > mark + 20 or broken)
        stop.set()
        for caller in callers:
            caller.join()
        self.assertEqual(broken, [])
        self.assertEqual({status for _, _, status, _ in seen}, {201})
        for path, key, _, body in seen:
            prefix, via = body.decode().split("|")
            self.assertIn((prefix, via), {(via, via), (path[1:], "recibo")}, (path, key, body))
        self.assertEqual(self.upstream.sends, len(seen))
        self.assertGreater(len({body for _, _, _, body in seen}), ROUNDS // 2)
        self.assertEqual(self.gateway.stop(), 0)


if __name__ == "__main__":
    main()
