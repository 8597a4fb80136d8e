"""What observe mode saw, on the page: there while a route observes, by route, and asked
for only when the reader wants it."""

from page_lib import PageCase, answer, fin, main, orders, rest, wait_until
from test_page_looks import CONTRAST, UNNAMED

HOSTILE = "/watched/%3Cimg%20src=x%20onerror=alert(1)%3E"


class Observed(PageCase):
    tokens = (("eve", "settle"),)

    def changes(self):
        changes = super().changes()
        watched = orders(name="watched", mode="observe", match={"methods": ["POST"], "path": "/watched/*"})
        changes["routes"] = [changes["routes"][0], watched, *self.more(), rest()]
        return changes

    def more(self):
        return []

    def watch(self, key, body, path="/watched/x", script=None):
        if script is not None:
            self.upstream.script(script)
        return self.gateway.post(key, body, path=path)

    def reported(self, exchanges):
        wait_until(lambda: self.gateway.admin("GET", "/v1/report")[2]["exchanges"] == exchanges)

    def asked(self, page):
        return len([url for _, url in page.requests if "/v1/report" in url])

    def fate(self, page, name):
        return page.run("[...document.querySelectorAll('main tbody tr')].find((row) => row.firstChild.innerText"
                        "=== '%s').children[1].innerText" % name)


class Report(Observed):
    def test_what_enforce_would_have_done_is_told(self):
        """Repeats, changed requests, lost answers and what ran twice, with the suggestion."""
        for _ in range(3):
            self.watch("w1", {"order": "a"})
        self.watch("w2", {"order": "b", "at": 1})
        self.watch("w2", {"order": "b", "at": 2})
        self.watch("w3", {"order": "c"}, script=fin())
        self.watch("w4", {"order": "d"}, script=answer(503, body={"no": 1}))
        self.reported(7)
        page = self.open()
        page.click("#nav-report a")
        page.wait_text("Carried out twice")
        self.assertEqual(self.fate(page, "Replayed"), "2")
        self.assertEqual(self.fate(page, "Refused as changed"), "1")
        self.assertIn("/at", page.text())
        self.assertIn("2 times: the same key and content", page.text())
        self.assertIn("Closed without an answer", page.text())
        self.assertIn("mode: enforce", page.text("pre"))
        self.assertEqual(page.run("document.title"), "Observed – Recibo")
        self.assertEqual(page.run("document.querySelector('#nav-report a').ariaCurrent"), "page")

    def test_it_is_not_made_again_by_itself(self):
        """A report is work: looks leave it alone, a button asks for a new one."""
        self.watch("w1", {"order": "a"})
        self.reported(1)
        page = self.open("#/report")
        page.wait_text("Suggested configuration")
        self.assertEqual(self.asked(page), 1)
        before = len(page.requests)
        self.watch("w2", {"order": "b"})
        self.reported(2)
        for _ in range(2):
            self.look_now(page)
            wait_until(lambda: len([1 for _, url in page.requests[before:] if "/v1/summary" in url]) > 0)
            before = len(page.requests)
        self.assertEqual(self.asked(page), 1)
        page.click("#report-again")
        page.wait("document.querySelector('main .facts').innerText.replace(/\\s+/g, ' ').includes('Requests 2')")
        self.assertEqual(page.focused(), "report-again")
        page.click("#since-1h")
        page.wait("location.hash === '#/report?since=1h' && document.querySelector('#since-1h')?.ariaCurrent === 'true'")

    def test_another_report_under_way_is_waited_for(self):
        """One at a time is made: the page says so and asks again, without calling it trouble."""
        self.watch("w1", {"order": "a"})
        self.reported(1)
        page = self.visit("#/report")
        page.wait("document.querySelector('dialog[open] #token')")
        page.run("""(() => { const real = window.fetch; let first = true;
            window.fetch = (path, options) => { if (!path.startsWith("/v1/report") || !first)
                return real(path, options);
            first = false;
            return Promise.resolve(new Response(JSON.stringify({code: "overloaded", status: 503,
                detail: "Another report is being made; ask again."}), {status: 503})); }; })()""")
        self.sign_in(page)
        page.wait_text("Another report is being made; ask again. It is asked for again by itself.")
        self.assertNotIn("connection", page.text("#notices").lower())
        self.look_now(page)
        page.wait_text("Suggested configuration")

    def test_text_of_strangers_stays_text(self):
        """Targets and members that look like markup are shown as they are."""
        for _ in range(2):
            self.watch("w1", {"order": "a"}, path=HOSTILE)
        for at in range(2):
            self.watch("w2", {"<b>x</b>": at})
        self.reported(4)
        page = self.open("#/report")
        page.wait_text("Suggested configuration")
        self.assertIn("/<b>x<~1b>", page.text())
        self.assertIn(HOSTILE, page.text())
        self.assertEqual(page.run("document.querySelectorAll('main img, main b b').length"), 0)

    def test_it_fits_and_is_named_in_every_width(self):
        """It does not scroll sideways from 320 to 1600 pixels, and is named and legible throughout."""
        for at in range(2):
            self.watch("w" * 200, {"order": "a" * 300, "at": at}, path="/watched/" + "x" * 800)
            self.watch("same", {"order": "b"}, path="/watched/" + "y" * 800)
        self.reported(4)
        page = self.open("#/report")
        page.wait_text("Suggested configuration")
        for width in (320, 768, 1120, 1600):
            page.size(width)
            with self.subTest(width=width):
                self.assertLessEqual(page.run("document.scrollingElement.scrollWidth"), width)
        self.assertEqual(page.run(UNNAMED), [])
        for scheme in ("light", "dark"):
            page.media(prefers_color_scheme=scheme)
            self.assertEqual(page.run(CONTRAST)["poor"], [], scheme)

    def test_it_needs_the_right_to_read(self):
        """Who may not read gets no report."""
        page = self.visit("#/report")
        self.sign_in(page, "secret-of-eve")
        page.wait_text("This needs the right “read”")
        self.assertEqual(self.asked(page), 0)


class Many(Observed):
    """Several observed routes: a table first, then each."""

    def more(self):
        return [orders(name="also", mode="observe", match={"methods": ["POST"], "path": "/also"})]

    def test_several_routes_are_a_table_first(self):
        """The table leads to each route and back; the routes view leads there as well."""
        self.watch("w1", {"order": "a"})
        self.watch("w1", {"order": "a"})
        self.reported(2)
        page = self.open("#/report")
        page.wait("document.querySelectorAll('table.observed tbody tr').length === 2")
        page.click("#r-watched")
        page.wait_text("Carried out twice")
        self.assertIn("route=watched", page.run("location.hash"))
        self.go(page, "#/routes")
        page.wait("document.querySelector('table.routes a[href=\"#/report?route=also\"]')")
        page.click("table.routes a[href='#/report?route=also']")
        page.wait_text("Nothing came yet.")
        page.click("main a[href='#/report']")
        page.wait("document.querySelector('table.observed')")


class Nothing(PageCase):
    def test_without_an_observed_route_there_is_no_link(self):
        """Nobody is led to an empty view; by its address it says why it is empty."""
        page = self.open("#/routes")
        page.wait("document.querySelector('table.routes')")
        self.look_now(page)
        self.assertFalse(page.exists("#nav-report"))
        self.go(page, "#/report")
        page.wait_text("Nothing was observed")


if __name__ == "__main__":
    main()
