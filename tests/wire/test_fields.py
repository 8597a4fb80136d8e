"""Fields of a request that must not reach the upstream, or must not pass for another."""

import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import ORDER, Guarded  # noqa: E402
from harness import main  # noqa: E402


class Fields(Guarded):
    """What the upstream sees of a caller's fields."""

    def names_sent(self, response):
        self.assertEqual(response.status, 201, response)
        return [name.lower() for name, _ in self.upstream.requests[-1].headers]

    def test_an_empty_key_is_not_no_key(self):
        """On a route where the key may be left out an empty one is refused, not unprotected."""
        self.start(route={"key": {"required": False}})
        for value in ("", " ", "\t"):
            self.assert_problem(self.gateway.post(None, ORDER,
                                                  headers=[("Idempotency-Key", value)]),
                                400, "key-missing")
        self.assertEqual(self.upstream.sends, 0)
        self.assertEqual(self.gateway.post(None, ORDER).get("Idempotency-Status"),
                         "unprotected")

    def test_another_target_is_never_believed(self):
        """X-Original-URL and X-Rewrite-URL reach no upstream, on no route."""
        self.start()
        fields = [("X-Original-URL", "/orders"), ("X-Rewrite-URL", "/orders"), ("X-Other", "1")]
        names = self.names_sent(self.gateway.post("k1", ORDER, headers=fields))
        self.assertNotIn("x-original-url", names)
        self.assertNotIn("x-rewrite-url", names)
        self.assertIn("x-other", names)
        self.gateway.request("GET", "/page", fields)
        names = [name.lower() for name, _ in self.upstream.requests[-1].headers]
        self.assertNotIn("x-original-url", names)
        self.assertIn("x-other", names)

    def test_a_look_alike_of_the_owner_does_not_pass(self):
        """X_Api_Key beside X-Api-Key stays here: a CGI program would read the two as one."""
        digest = hashlib.sha256(b"secret").hexdigest()
        self.start(owners={"everyone": {
            "kind": "api_key", "header": "X-Api-Key", "owner": None,
            "keys": [{"owner": "acme", "sha256": digest}]}})
        names = self.names_sent(self.gateway.post(
            "k1", ORDER, headers=[("X-Api-Key", "secret"), ("X_Api_Key", "other")]))
        self.assertIn("x-api-key", names)
        self.assertNotIn("x_api_key", names)


if __name__ == "__main__":
    main()
