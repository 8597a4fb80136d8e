"""The backlog's groups and the list: what they show, how they page, and that they do
not move under the reader's eyes."""

from page_lib import ROWS, PageCase, answer, fin, json, main, orders, rest

GROUPS = "document.querySelectorAll('table.groups tbody tr').length"


class Groups(PageCase):
    def changes(self):
        changes = super().changes()
        other = orders(name="book-seat", match={"methods": ["POST"], "path": "/seats"}, breaker="none",
                       evidence={"headers": True, "body": True})
        changes["routes"] = [changes["routes"][0], other, rest()]
        return changes

    def test_groups_come_first_and_lead_to_their_operations(self):
        """The largest group is first; its link shows its operations and no others."""
        for number in range(3):
            self.lose("a%d" % number)
        self.lose("s1", path="/seats")
        self.upstream.script(answer(503, body={"no": 1}))
        self.assertEqual(self.gateway.post("b1", {"order": "o-b1"}).status, 503)
        page = self.open()
        page.wait(GROUPS + " === 3")
        first = page.text("table.groups tbody tr")
        for word in ("create-order", "Closed without an answer", "3"):
            self.assertIn(word, first)
        page.wait_text("5 unknown operations", ".lead")
        self.assertIn("Answered", page.text("table.groups"))
        self.assertIn("503", page.text("table.groups"))
        page.click("table.groups tbody tr a")
        page.wait("document.querySelectorAll('table.operations tbody tr').length === 3")
        self.assertIn("state=unknown&route=create-order&end=closed_no_answer&status=none",
                      page.run("location.hash"))

    def test_the_group_of_a_status_leads_to_it(self):
        """A group of answers with 503 leads to exactly those."""
        self.lose("a1")
        self.upstream.script(answer(503, body={"no": 1}))
        self.assertEqual(self.gateway.post("b1", {"order": "with-503"}).status, 503)
        page = self.open()
        page.wait(GROUPS + " === 2")
        page.run("[...document.querySelectorAll('table.groups tbody tr')]"
                 ".find((row) => row.innerText.includes('503')).querySelector('a').click()")
        page.wait("document.querySelectorAll('table.operations tbody tr').length === 1")
        self.assertIn("with-503", page.text("table.operations"))

    def test_a_change_is_told_and_shown_when_asked(self):
        """What is read stays as it is; a bar says what is new, and Show brings it."""
        self.lose("a1")
        page = self.open()
        page.wait(GROUPS + " === 1")
        page.run("window.row = document.querySelector('table.groups tbody tr')")
        self.lose("a2")
        self.lose("s1", path="/seats")
        self.look_now(page)
        page.wait_text("Changed since you opened it: 2 more unknown, 1 new group")
        self.assertTrue(page.run("window.row.isConnected && " + GROUPS + " === 1"))
        page.wait("document.querySelector('#live').textContent.includes('2 more unknown')")
        page.click(".change-bar button")
        page.wait(GROUPS + " === 2")
        self.assertIn("+1", page.text("table.groups tbody tr"))
        self.assertFalse(page.exists(".change-bar:not([hidden])"))

    def test_changes_come_by_themselves_when_wished(self):
        """With the switch on, the table renews itself, and the focus stays where it was."""
        self.lose("a1")
        page = self.open()
        page.wait(GROUPS + " === 1")
        page.click("#follow")
        page.run("document.querySelector('table.groups tbody a').focus()")
        held = page.focused()
        self.lose("s1", path="/seats")
        self.look_now(page)
        page.wait(GROUPS + " === 2")
        self.assertEqual(page.focused(), held)

    def test_nothing_unknown_says_so(self):
        """An empty backlog is a sentence, not an empty table, and fills by itself."""
        page = self.open()
        page.wait_text("Nothing is unknown")
        self.lose("a1")
        self.look_now(page)
        page.wait_text("1 more unknown")


class List(PageCase):
    def test_more_than_a_page_is_paged_and_the_back_button_works(self):
        """At most 50 rows are in the page; next, previous and the browser's back agree."""
        self.lose_many(60)
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 50")
        page.wait("document.querySelector('#next')")
        first = page.run("document.querySelector('.row-link').id")
        page.click("#next")
        page.wait(ROWS + " === 10")
        self.assertIn("cursor=", page.run("location.hash"))
        self.assertIn("Page 2", page.text(".pager"))
        page.run("history.back()")
        page.wait(ROWS + " === 50")
        self.assertEqual(page.run("document.querySelector('.row-link').id"), first)
        page.press("n")
        page.wait(ROWS + " === 10")
        page.press("p")
        page.wait(ROWS + " === 50")

    def test_an_address_shows_the_same_to_somebody_else(self):
        """Filters stand in the address; opened anew it shows the same rows and fields."""
        self.lose("k1", {"order": "A-1"})
        self.lose("k2", {"order": "A-2"})
        page = self.open("#/operations")
        page.wait(ROWS + " === 2")
        page.type("[name=label_name]", "order")
        page.type("[name=label_value]", "A-2")
        page.press("Enter")
        page.wait(ROWS + " === 1")
        other = self.open(page.run("location.hash"))
        other.wait(ROWS + " === 1")
        self.assertIn("A-2", other.text("table.operations"))
        self.assertEqual(other.value("[name=label_value]"), "A-2")
        other.click(".chips a")
        other.wait(ROWS + " === 2")

    def test_each_filter_asks_the_api_by_its_own_name(self):
        """Whatever the form says stands in the address under the API's name."""
        self.lose("k1")
        page = self.open("#/operations")
        page.wait(ROWS + " === 1")
        page.run("document.querySelector('.filters details').open = true")
        wanted = {"state": "unknown", "route": "create-order", "end": "closed_no_answer", "key": "k1",
                  "owner": "tester", "status": "none", "claimed": "false", "probe": "none",
                  "newer_than": "2h", "order": "oldest"}
        page.run("""for (const [name, value] of Object.entries(%s))
            document.querySelector('.filters').elements[name].value = value;""" % json.dumps(wanted))
        page.run("document.querySelector('.filters').requestSubmit()")
        page.wait("location.hash.includes('order=oldest')")
        page.wait(ROWS + " === 1")
        seen = page.run("Object.fromEntries(new URLSearchParams(location.hash.split('?')[1]))")
        self.assertEqual(seen, wanted)

    def test_created_times_go_through_the_local_zone(self):
        """A time is typed as local and sent as UTC; the address brings the same local time back."""
        self.lose("k1")
        page = self.open("#/operations")
        page.run("""(() => { const form = document.querySelector('.filters');
            form.elements.created_after.value = '2026-07-01T12:30:00'; form.requestSubmit(); })()""")
        page.wait("location.hash.includes('created_after')")
        self.assertEqual(page.run("new URLSearchParams(location.hash.split('?')[1]).get('created_after')"),
                         "2026-07-01T10:30:00.000Z")
        self.wait_view(page)
        self.assertEqual(page.run("document.querySelector('.filters').elements.created_after.value"),
                         "2026-07-01T12:30")

    def test_a_label_without_its_name_is_asked_for(self):
        """A label's value alone is no filter: nothing is asked, the field says why."""
        page = self.open("#/operations")
        page.type("[name=label_value]", "A-2")
        page.press("Enter")
        page.wait("!document.querySelector('[name=label_name]').validity.valid")
        self.assertEqual(page.run("location.hash"), "#/operations")

    def test_a_filter_that_the_api_refuses_is_explained(self):
        """A misspelled filter in the address shows the API's words, not all operations."""
        self.lose("k1")
        page = self.open("#/operations?rout=x")
        page.wait_text("The parameter rout")
        self.assertEqual(page.run(ROWS), 0)

    def test_nothing_fits_says_which_filters(self):
        """An empty list names the filters and the way out."""
        page = self.open("#/operations?state=abandoned&owner=nobody")
        page.wait_text("No operation fits State Abandoned, Owner nobody.")

    def test_rows_do_not_move_while_they_are_read(self):
        """New and changed operations are told and not put in."""
        old = self.lose("k1")
        page = self.open("#/operations")
        page.wait(ROWS + " === 1")
        self.lose("k2")
        self.settle(old, "abandoned")
        self.look_now(page)
        page.wait_text("1 new, 1 changed", ".change-bar")
        self.assertEqual(page.run(ROWS), 1)
        self.assertNotIn("Abandoned", page.text("table.operations"))
        page.press("u")
        page.wait(ROWS + " === 2")
        self.assertIn("Abandoned", page.text("table.operations"))

    def test_text_in_a_filter_survives_a_look(self):
        """Half-typed filters and the focus stay through looks and changes."""
        self.lose("k1")
        page = self.open("#/operations")
        page.wait(ROWS + " === 1")
        page.type("#filter-key", "half")
        self.lose("k2")
        self.look_now(page)
        page.wait_text("1 new", ".change-bar")
        self.assertEqual((page.value("#filter-key"), page.focused()), ("half", "filter-key"))


class Banner(PageCase):
    def test_pauses_breakers_and_contradictions_stand_above_every_view(self):
        """Who paused what and why, and marked operations, are told on every view."""
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "API is ill"})
        page = self.open("#/audit")
        page.wait_text("route create-order by tester", "#notices")
        page.wait_text("API is ill", "#notices")
        self.gateway.admin("POST", "/v1/routes/create-order/resume", {"note": "well"})
        operation = self.lose("k1")
        self.mark(operation)
        self.look_now(page)
        page.wait_text("1 operation: evidence came against a verdict", "#notices")
        self.assertNotIn("API is ill", page.text("#notices"))
        page.click("#notices a")
        page.wait(ROWS + " === 1")

    def mark(self, operation):
        status, _, value = self.gateway.admin(
            "POST", "/v1/operations/%s/contradiction" % operation["id"],
            {"version": operation["version"], "note": "found twice"})
        self.assertEqual(status, 200, value)

    def test_pausing_and_resuming_by_hand(self):
        """Pause and resume want a note, which stands in the audit with the name."""
        page = self.open("#/routes")
        page.click("#route-create-order")
        page.click("dialog[open] button.primary")
        page.wait_text("A note is wanted", "dialog[open]")
        page.type("dialog[open] textarea", "times out")
        page.click("dialog[open] button.primary")
        page.wait_text("Paused", "table.routes")
        self.assertEqual(self.gateway.post("k1", {"order": 1}).status, 503)
        page.wait_text("Paused", "#notices")  # what comes above moves the rest down
        page.wait("document.querySelector('#route-create-order').textContent === 'Resume'")
        page.wait_text("Paused", "#notices")  # it comes above and moves the button down
        page.click("#route-create-order")
        page.type("dialog[open] textarea", "well again")
        page.click("dialog[open] button.primary")
        page.wait_text("takes requests", "table.routes tbody tr")
        self.upstream.script(fin())
        self.assertEqual(self.gateway.post("k1", {"order": 1}).status, 502)
        self.go(page, "#/audit?subject=route:create-order")
        page.wait(ROWS + " === 2")
        self.assertIn("well again", page.text("main tbody tr"))

    def test_an_open_breaker_is_told(self):
        """A route whose breaker opened by itself is named."""
        self.gateway.restart({"routes": [orders(breaker={"unknowns": 2, "share": "1%", "in": "60s"},
                                                 evidence={"body": True}), rest()]})
        for number in range(2):
            self.lose("k%d" % number)
        page = self.open()
        page.wait_text("Breaker open", "#notices")


if __name__ == "__main__":
    main()
