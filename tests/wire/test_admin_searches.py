"""Lists that have to search: a bounded number of rows for one call, and few of them at once."""

import contextlib
import sqlite3

from admin_lib import AdminCase
from harness import main, parallel

ROWS = 230000  # more than one call looks at
LOOKED_AT = 200000


class Searches(AdminCase):
    def fill(self):
        """So many copies of one released operation, older than the one that is looked for."""
        first = self.settle(self.lose("first"), "not_executed", force=True)
        self.gateway.stop()
        with contextlib.closing(sqlite3.connect(self.gateway.store_path)) as store, store:
            names = [row[1] for row in store.execute("PRAGMA table_info(receipts)")]
            news = {"id": "1000 + n", "identity": "randomblob(16)",
                    "operation_id": "'op_' || printf('%026d', n)", "key": "CAST('k' || n AS BLOB)"}
            store.execute(
                "WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < %d)"
                " INSERT INTO receipts(%s) SELECT %s FROM up, receipts" % (
                    ROWS, ",".join(names), ",".join(news.get(name, name) for name in names)))
        self.gateway.start()
        return first

    def page(self, query):
        status, _, value = self.gateway.admin("GET", "/v1/operations?" + query)
        return status, value

    def test_a_search_ends_and_goes_on(self):
        """A page may be empty and not the last; the pages together find what there is."""
        first = self.fill()
        status, value = self.page("key=first")
        self.assertEqual((status, value["operations"]), (200, []))
        self.assertIsNotNone(value["next"])
        status, value = self.page("key=first&cursor=" + value["next"])
        self.assertEqual(status, 200)
        self.assertEqual([each["id"] for each in value["operations"]], [first["id"]])
        self.assertIsNone(value["next"])
        self.assertIn(first["id"], self.gateway.cli("why", "--key", "first").stdout)
        self.assertIn(first["id"], self.gateway.cli("operations", "--key", "first").stdout)
        # Of many at once some are told to come back, and the plane serves what is found at once.
        told = parallel(12, lambda _: self.page("key=nowhere")[0])
        self.assertEqual(set(told) - {200, 503}, set())
        self.assertIn(200, told)
        self.assertEqual(self.page("state=unknown")[0], 200)
        self.assertEqual(self.page("key=nowhere")[0], 200)


if __name__ == "__main__":
    main()
