"""Many verdicts at once on the page: a plan from the filters, looked at, applied with a
note, waited for, stopped."""

from page_lib import ROWS, PageCase, main, wait_until


class Plans(PageCase):
    quiet = "0s"

    def plan_from(self, page, verdict):
        page.click("#plan-box summary")
        page.click("#plan-box input[value=%s]" % verdict)
        page.run("document.querySelector('#plan-box form').requestSubmit()")
        page.wait("location.hash.startsWith('#/plans/plan_') && document.querySelector('#plan-apply')")

    def looks(self, page):
        return len([url for _, url in page.requests if "/v1/plans/plan_" in url])

    def states(self):
        return sorted(operation["state"] for operation in self.gateway.operations())

    def test_a_plan_is_looked_at_and_applied(self):
        """The plan settles nothing, says how many and what clients get; applied, it settles them."""
        for number in range(7):
            self.lose("k%d" % number)
        page = self.open("#/operations?state=unknown&route=create-order")
        page.wait(ROWS + " === 7")
        self.plan_from(page, "abandoned")
        for text in ("It cannot be found out", "State Unknown, Route create-order", "create-order 7",
                     "Settle 7 operations"):
            page.wait_text(text)
        self.assertIn("7 operations", page.text(".story"))
        self.assertIn("could not be found out", page.text(".story"))
        self.assertEqual(page.run(ROWS), 5)  # samples
        self.assertEqual(self.states(), ["unknown"] * 7)
        page.click("#plan-apply")
        page.wait_text("A note is wanted")
        self.assertEqual(page.focused(), "plan-note")
        page.type("#plan-note", "nobody knows")
        page.click("#plan-apply")
        page.wait_text("Applied", ".view-head")
        wait_until(lambda: self.states() == ["abandoned"] * 7)
        entry = self.gateway.operation(self.gateway.operations()[0]["id"])["audit"][-1]
        self.assertEqual((entry["actor"], entry["note"]), ("token:tester", "nobody knows"))

    def test_what_changed_meanwhile_is_left_out_and_listed(self):
        """An entry that somebody settled in between is not settled again, and is named."""
        lost = [self.lose("k%d" % number) for number in range(3)]
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 3")
        self.plan_from(page, "abandoned")
        self.settle(lost[1], "executed")
        page.type("#plan-note", "nobody knows")
        page.click("#plan-apply")
        page.wait_text("Applied", ".view-head")
        page.wait_text("Changed meanwhile, left alone")
        self.assertEqual(self.states(), ["abandoned", "abandoned", "completed"])
        page.wait("document.querySelector(\"main a[href='#/operations/%s']\")" % lost[1]["id"])

    def test_not_executed_waits_and_can_be_stopped(self):
        """Bulk not_executed counts down before it takes effect, and Stop leaves all as it was."""
        for number in range(3):
            self.lose("k%d" % number)
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 3")
        self.plan_from(page, "not_executed")
        page.type("#plan-note", "none is in the export")
        page.click("#plan-apply")
        page.wait_text("Takes effect in", ".countdown")
        page.wait_text("Waiting to take effect", ".view-head")
        page.click("#plan-stop")
        page.wait_text("Stopped", ".view-head")
        self.assertEqual(self.states(), ["unknown"] * 3)
        self.assert_nothing_to_apply(page)
        self.assert_nothing_to_apply(self.open(page.run("location.hash")))

    def test_a_plan_that_somebody_else_stopped(self):
        """Who looks at a plan while another stops it has nothing to apply any more."""
        self.lose("k1")
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 1")
        self.plan_from(page, "abandoned")
        page.type("#plan-note", "half a note")
        plan = page.run("location.hash").rsplit("/", 1)[1]
        self.assertEqual(self.gateway.admin("DELETE", "/v1/plans/" + plan)[0], 200)
        self.look_now(page)
        self.assert_nothing_to_apply(page)
        self.assertEqual(self.states(), ["unknown"])

    def assert_nothing_to_apply(self, page):
        """A plan that is over has no form, and no empty box where it stood."""
        page.wait_text("Stopped", ".view-head")
        for selector in ("#plan-apply", "#plan-note", "#plan-stop"):
            self.assertFalse(page.run("document.querySelector('%s').checkVisibility()" % selector), selector)
        self.assertFalse(page.run("document.querySelector('#plan-note').closest('.sheet').checkVisibility()"))

    def test_executed_with_a_response_for_all(self):
        """The response of the plan is what every repeat gets."""
        for number in range(2):
            self.lose("k%d" % number)
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 2")
        page.click("#plan-box summary")
        page.click("#plan-box input[value=executed]")
        page.run("document.querySelectorAll('#plan-box .response input[type=radio]')[1].click()")
        page.type("#plan-box textarea[rows='5']", '{"ok": true}')
        page.run("document.querySelector('#plan-box form').requestSubmit()")
        page.wait("document.querySelector('#plan-apply')")
        page.type("#plan-note", "all are in the export")
        page.click("#plan-apply")
        page.wait_text("Applied", ".view-head")
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).body, b'{"ok": true}')

    def test_plans_are_listed_for_everybody(self):
        """A plan is found again in the list, with its filter and state, by who may read."""
        self.lose("k1")
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 1")
        self.plan_from(page, "abandoned")
        other = self.open("#/plans")
        other.wait(ROWS + " === 1")
        self.assertIn("State Unknown", other.text("table.plans"))
        self.assertIn("Not applied yet", other.text("table.plans"))
        other.click("table.plans a")
        other.wait("document.querySelector('#plan-apply')")

    def test_typed_text_survives_what_happens_to_the_plan(self):
        """Looks, and a plan that moves, leave the note and the focus alone."""
        self.lose("k1")
        page = self.open("#/operations?state=unknown")
        page.wait(ROWS + " === 1")
        self.plan_from(page, "abandoned")
        page.type("#plan-note", "half a no")
        before = self.looks(page)
        self.look_now(page)
        wait_until(lambda: self.looks(page) > before)
        self.settle(self.gateway.operations()[0], "executed")
        page.wait("document.querySelector('#plan-apply')")
        self.assertEqual((page.value("#plan-note"), page.focused()), ("half a no", "plan-note"))

    def test_a_filter_without_unknown_offers_no_plan(self):
        """Only what is unknown can be settled: other lists do not offer it."""
        operation = self.lose("k1")
        self.settle(operation, "abandoned")
        page = self.open("#/operations?state=abandoned")
        page.wait(ROWS + " === 1")
        self.assertTrue(page.run("document.querySelector('#plan-box').hidden"))


if __name__ == "__main__":
    main()
