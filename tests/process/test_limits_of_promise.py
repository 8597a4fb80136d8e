"""What the README says that is not promised is really so: it warns of nothing that does
not happen, and who counts on more than that can see it here."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import answer, fetch, main, orders, rest  # noqa: E402

KEY = [("Idempotency-Key", "k1"), ("Content-Type", "application/json")]


class Limits(Guarded):
    def test_what_passes_is_sent_each_time(self):
        """A key does nothing on a route of mode pass, nor on the way round the gateway."""
        passing = rest(name="notes", match={"methods": ["POST"], "path": "/notes"})
        self.start(routes=[orders(), passing, rest()])
        for _ in range(2):
            response = self.gateway.request("POST", "/notes", KEY, ORDER)
            self.assertEqual(response.status, 201)
            self.assertNotIn("Idempotent-Replayed", response.headers)
        self.assertEqual(self.upstream.sends, 2)
        self.assertEqual(self.gateway.post("k1", ORDER).status, 201)
        self.assertEqual(fetch(self.upstream.port, "POST", "/orders", KEY, ORDER).status, 201)
        self.assertEqual(self.upstream.sends, 4)

    def test_the_same_order_under_two_keys(self):
        """Two keys are two operations, however equal the rest is."""
        self.start()
        for key in ("k1", "k2"):
            self.assert_passed_on(self.gateway.post(key, ORDER), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)
        self.assertEqual(len(self.gateway.operations()), 2)

    def test_a_declaration_that_is_wrong(self):
        """500 is declared to mean that nothing ran, and something did: it runs twice."""
        self.start(answer(500, body=b"booked, and then broken"),
                   route={"outcome": {"refused": [500], "unknown": [408, 502, 503, 504]}})
        for _ in range(2):
            response = self.gateway.post("k1", ORDER)
            self.assert_passed_on(response, 500, "released")
            self.assert_state(response, "released", "answered", "declared")
        self.assertEqual(self.upstream.sends, 2)

    def test_a_store_that_is_lost(self):
        """With an empty store in the place of the lost one every key is a new one."""
        self.start()
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.gateway.stop()
        for name in os.listdir(self.gateway.directory):
            if name.startswith("recibo.db"):
                os.remove(os.path.join(self.gateway.directory, name))
        self.gateway.start()
        self.assert_passed_on(self.gateway.post("k1", ORDER), 201, "executed")
        self.assertEqual(self.upstream.sends, 2)


if __name__ == "__main__":
    main()
