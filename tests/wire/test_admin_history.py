"""The history of the backlog: there from the start, of this process alone, and asked for
in parts."""

from admin_lib import AdminCase, token, wait_until
from harness import main

NO_READER, NO_READER_ENTRY = token("settler", "settle")


class History(AdminCase):
    def setUp(self):
        super().setUp()
        self.seen = self.history()

    def history(self):
        """The history once it has a sample."""
        def look():
            status, _, value = self.gateway.admin("GET", "/v1/history")
            self.assertEqual(status, 200, value)
            return value if value["samples"] else None
        return wait_until(look)

    def test_a_sample_is_there_without_a_minute_of_waiting(self):
        """Right after the start there is one sample, with what the summary says."""
        self.assertEqual(len(self.seen["samples"]), 1)
        sample = self.seen["samples"][0]
        self.assertEqual(sample, {"at": sample["at"], "unknown": 0, "oldest_unknown_at": None,
                                  "in_flight": 0, "paused": 0, "breakers_open": 0})
        self.assertEqual(self.seen["every_ms"], 60000)
        self.assertLessEqual(self.seen["since"], sample["at"])
        self.assertLessEqual(sample["at"], self.seen["at"])

    def test_a_restart_begins_anew_and_says_so(self):
        """What was before the restart is gone, since when is told, and what is on record counts."""
        for key in ("a", "b"):
            self.lose(key)
        status, _, _ = self.gateway.admin("POST", "/v1/upstreams/legacy/pause", {"note": "it is ill"})
        self.assertEqual(status, 200)
        for kill in (False, True):
            before = self.seen["since"]
            self.gateway.restart(kill=kill)
            self.seen = self.history()
            with self.subTest(kill=kill):
                self.assertGreater(self.seen["since"], before)
                self.assertEqual(len(self.seen["samples"]), 1)
                sample = self.seen["samples"][0]
                self.assertGreaterEqual(sample["at"], self.seen["since"])
                summary = self.gateway.admin("GET", "/v1/summary")[2]
                self.assertEqual((sample["unknown"], sample["oldest_unknown_at"], sample["paused"]),
                                 (2, summary["oldest_unknown_at"], 1))

    def test_what_is_known_already_is_left_out(self):
        """`after` leaves out what is not later; anything else in the query is refused."""
        at = self.seen["samples"][0]["at"]
        for after, count in (("2020-01-01T00:00:00Z", 1), (at, 0), ("2999-01-01T00:00:00Z", 0)):
            value = self.gateway.admin("GET", "/v1/history?after=" + after)[2]
            self.assertEqual(len(value["samples"]), count, after)
            self.assertEqual(value["since"], self.seen["since"])
        for query in ("after=", "after=1h", "after=yesterday", "before=" + at, "after", "x=1",
                      "after=%s&after=%s" % (at, at), "after=%zz"):
            with self.subTest(query=query):
                response = self.raw("GET", "/v1/history?" + query, [self.bearer()])
                self.assert_problem(response, 400, "parameter-invalid")

    def test_it_needs_the_right_to_read(self):
        """Without a token, or with one that may not read, there is none."""
        self.assert_problem(self.raw("GET", "/v1/history"), 401, "unauthenticated")
        self.gateway.changes["admin"] = {"tokens": [NO_READER_ENTRY]}
        self.gateway.restart(self.gateway.changes)
        response = self.raw("GET", "/v1/history", [self.bearer(NO_READER)])
        self.assert_problem(response, 403, "forbidden")


if __name__ == "__main__":
    main()
