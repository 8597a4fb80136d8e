"""One operation on the page: what is shown, and that a verdict holds for exactly what
was seen, with nothing typed ever lost."""

import os

from page_lib import PageCase, answer, main, wait_until
from probing import FOUND, FOUND_ITEM, NOTHING, QUESTION, RECONCILE, json_answer


class Shown(PageCase):
    def test_all_that_is_known_is_on_the_page(self):
        """Labels, evidence, timeline, what the client sees, request, audit: from the API."""
        operation = self.lose("k-1", {"order": "A-7", "lines": [1, 2]},
                              headers=[("X-Shop", "north")])
        page = self.open_entry(operation)
        self.assertEqual(page.text("h1"), "order A-7")
        for text in (operation["id"], "create-order", "POST /orders", "k-1", "Closed without an answer",
                     "outcome-unknown", "result-unavailable", "Sent to the upstream", "north",
                     '{"order": "A-7", "lines": [1, 2]}', "Nobody is on it", "It was not asked."):
            self.assertIn(text.replace(" ", ""), page.text().replace(" ", ""), text)
        self.assertGreaterEqual(page.run("document.querySelectorAll('.timeline li').length"), 3)

    def test_times_are_local_with_utc_at_hand(self):
        """Each time is shown in the reader's zone, with the API's own text as its title."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        found = page.run("[...document.querySelectorAll('.slip time')].map((node) => "
                         "[node.dateTime, node.title, node.textContent])")
        self.assertIn(operation["created_at"], [machine for machine, _, _ in found])
        for machine, title, shown in found:
            self.assertEqual(title, machine + " (UTC)")
            expected = page.run("new Date(%r).toLocaleTimeString('en-GB', {timeZone: 'Europe/Madrid'})"
                                % machine)
            self.assertIn(expected, shown)

    def test_an_unknown_id_is_said(self):
        """An address of no operation is explained."""
        page = self.open("#/operations/op_00000000000000000000000000")
        page.wait_text("There is no operation with this id")

    def test_a_body_is_a_download(self):
        """The recorded bytes come as a file with the operation's name, unchanged."""
        body = '{"order": "A-1", "t": "</script>é"}'.encode()
        operation = self.lose("k1", body, headers=[("Content-Type", "application/json")])
        page = self.open_entry(operation)
        folder = os.path.join(self.gateway.directory, "downloads")
        page.browser.tools.call("Browser.setDownloadBehavior", {
            "behavior": "allow", "downloadPath": folder, "browserContextId": page.context})
        page.click("#download-request")
        path = os.path.join(folder, operation["id"] + "-request.bin")
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) == len(body))
        with open(path, "rb") as file:
            self.assertEqual(file.read(), body)


class Verdicts(PageCase):
    quiet = "0s"

    def judge(self, page, verdict, note="looked it up"):
        page.click("#verdict-" + verdict)
        page.type("#settle-note", note)
        page.click("#settle-send")

    def test_executed_with_a_response_is_replayed_byte_for_byte(self):
        """What was typed as the response is what a repeat gets."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#verdict-executed")
        page.run("document.querySelectorAll('.settle .response input[type=radio]')[1].click()")
        text = '{"id": 88,\n "name": "é\u4e16\U0001f600", "q": "</script>"}'
        page.type(".settle .response textarea[rows='5']", text)
        page.type("#settle-note", "order 88, by its number")
        page.wait_text("Idempotent-Replayed", ".outcome")
        page.click("#settle-send")
        page.wait_text("Completed", ".view-head")
        replay = self.gateway.post("k1", {"order": "o-k1"})
        self.assertEqual((replay.status, replay.body), (201, text.encode()))
        self.assertEqual(replay.get("Content-Type"), "application/json")
        self.assertEqual(replay.get("Idempotent-Replayed"), "true")
        self.assertEqual(self.operation(operation)["audit"][-1]["note"], "order 88, by its number")

    def test_executed_without_a_response(self):
        """By default nobody knows the response, and a repeat learns only that it ran."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        self.judge(page, "executed")
        page.wait_text("Completed", ".view-head")
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).json()["code"], "result-unavailable")

    def test_not_executed_sends_the_next_request(self):
        """The key is free again, and the page says so before."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#verdict-not_executed")
        page.wait_text("sent to the upstream", ".outcome")
        self.judge(page, "not_executed")
        page.wait_text("Released", ".view-head")
        self.upstream.script(answer(201, body={"ok": 1}))
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).status, 201)

    def test_a_verdict_is_taken_back(self):
        """Abandoned, then reopened, both audited."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        self.judge(page, "abandoned")
        page.wait_text("Abandoned", ".view-head")
        self.judge(page, "reopen", "found after all")
        page.wait_text("Unknown", ".view-head")
        self.assertEqual([entry["note"] for entry in self.operation(operation)["audit"]],
                         ["looked it up", "found after all"])

    def test_a_note_and_a_verdict_are_wanted(self):
        """Without them nothing is sent, and the field is named and has the focus."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#settle-send")
        page.wait_text("Choose a verdict", "#settle-problem")
        page.click("#verdict-abandoned")
        page.click("#settle-send")
        page.wait_text("A note is wanted", ".settle")
        self.assertEqual(page.focused(), "settle-note")
        self.assertEqual(page.run("document.querySelector('#settle-note').ariaInvalid"), "true")
        self.assertEqual(self.operation(operation)["version"], operation["version"])

    def test_a_response_that_is_none_is_refused_before_it_is_sent(self):
        """A status or header that cannot be is marked at its field; the API's own words come too."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#verdict-executed")
        page.run("document.querySelectorAll('.settle .response input[type=radio]')[1].click()")
        page.type("#settle-note", "x")
        page.type(".settle .response input[inputmode]", "99")
        page.click("#settle-send")
        page.wait_text("A final status", ".settle")
        page.type(".settle .response input[inputmode]", "201")
        page.type(".settle .response textarea[rows='2']", "no colon")
        page.click("#settle-send")
        page.wait_text("is not a header", ".settle")
        page.type(".settle .response textarea[rows='2']", "Transfer-Encoding: chunked")
        page.click("#settle-send")
        page.wait_text("belongs to one connection", "#settle-problem")
        self.assertEqual(self.operation(operation)["state"], "unknown")
        self.assertEqual(page.value("#settle-note"), "x")

    def test_somebody_was_faster(self):
        """A verdict on an old version is refused, says what is now, and keeps the typed text."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.type("#settle-note", "my long note")
        page.click("#verdict-not_executed")
        self.settle(operation, "executed")
        self.look_now(page)
        page.wait_text("state Unknown → Completed", ".change-bar")
        self.assertIn("Unknown", page.text(".view-head"))  # what is read stays
        page.click("#settle-send")
        page.wait_text("It is now completed", "#settle-problem")
        self.assertEqual(page.value("#settle-note"), "my long note")
        page.click("#settle-show")
        page.wait_text("Completed", ".view-head")
        self.assertEqual(page.value("#settle-note"), "my long note")
        self.assertEqual(self.operation(operation)["state"], "completed")
        self.assertFalse(page.exists(".change-bar:not([hidden])"))
        page.click("#verdict-reopen")
        page.click("#settle-send")
        page.wait_text("Unknown", ".view-head")
        self.assertEqual(self.operation(operation)["audit"][-1]["note"], "my long note")

    def test_typed_text_and_focus_survive_looks(self):
        """Looks and changes leave forms alone, wherever the cursor is."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.type("#settle-note", "half a no")
        page.type("#comment-text", "half a com")
        self.gateway.post("k1", {"order": "o-k1"})  # asked again
        self.look_now(page)
        page.wait_text("asked again 1 time", ".change-bar")
        self.assertEqual(page.focused(), "comment-text")
        page.click(".change-bar button")
        page.wait("document.querySelector('.change-bar').hidden")
        self.assertEqual((page.value("#settle-note"), page.value("#comment-text")),
                         ("half a no", "half a com"))


class Marked(PageCase):
    quiet = "0s"
    tokens = (("eve", "read"),)

    def test_what_was_found_twice_is_marked(self):
        """The mark wants a note, is audited and told above every view, and settles nothing."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#mark summary")
        page.wait_text("It stays unknown.", "#mark")
        page.click("#mark-send")
        page.wait_text("A note is wanted", "#mark")
        self.assertEqual(page.focused(), "mark-note")
        page.type("#mark-note", "two orders: 88 and 89")
        page.click("#mark-send")
        page.wait_text("Contradicted", ".view-head")
        page.wait_text("1 operation: evidence came against a verdict", "#notices")
        self.assertEqual(page.value("#mark-note"), "")
        now = self.operation(operation)
        self.assertEqual((now["state"], now["contradicted"]), ("unknown", True))
        self.assertEqual((now["audit"][-1]["action"], now["audit"][-1]["note"]),
                         ("contradiction", "two orders: 88 and 89"))

    def test_a_freed_key_is_held_again(self):
        """Whoever says that it ran twice says that it ran: the page says so before."""
        operation = self.settle(self.lose("k1"), "not_executed")
        page = self.open_entry(operation)
        page.click("#mark summary")
        page.wait_text("It becomes unknown again, and its key is held", "#mark")
        page.type("#mark-note", "order 88 is there")
        page.click("#mark-send")
        page.wait_text("Unknown", ".view-head")
        self.assertEqual(self.gateway.post("k1", {"order": "o-k1"}).json()["code"], "outcome-unknown")

    def test_a_mark_holds_for_what_was_seen(self):
        """If somebody was faster nothing is marked, and the note stays."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#mark summary")
        page.type("#mark-note", "half a no")
        self.settle(operation, "executed")
        self.look_now(page)
        page.wait_text("state Unknown → Completed", ".change-bar")
        self.assertEqual((page.value("#mark-note"), page.focused()), ("half a no", "mark-note"))
        page.click("#mark-send")
        page.wait_text("Nothing was changed", "#mark-problem")
        self.assertFalse(self.operation(operation)["contradicted"])
        page.click(".change-bar button")
        page.wait_text("It stays completed.", "#mark")
        page.click("#mark-send")
        page.wait_text("Contradicted", ".view-head")
        self.assertEqual(self.operation(operation)["audit"][-1]["note"], "half a no")

    def test_it_wants_the_right_to_settle(self):
        """Who may only read is told which right it takes."""
        page = self.open_entry(self.lose("k1"), text="secret-of-eve")
        page.click("#mark summary")
        page.wait_text("This needs the right “settle”", "#mark")
        self.assertTrue(page.run("document.querySelector('#mark-send').matches(':disabled')"))


class Quiet(PageCase):
    def test_the_quiet_time_is_told_and_can_be_passed(self):
        """Before the quiet time is over the box says until when; ticking it goes past."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#verdict-not_executed")
        page.wait_text("may still arrive at the upstream until", ".settle")
        page.type("#settle-note", "the server was off")
        page.click("#settle-send")
        page.wait_text("Wait until then", "#settle-problem")
        self.assertEqual(self.operation(operation)["state"], "unknown")
        page.click("#settle-force")
        page.click("#settle-send")
        page.wait_text("Released", ".view-head")
        self.assertIn("force", self.operation(operation)["audit"][-1]["detail"])


class Asked(PageCase):
    """The route can ask; not by itself, for the quiet time is long."""
    route = {"add_operation_id": {"header": "X-Operation-Id"}, "reconcile": {
        key: value for key, value in RECONCILE.items() if key != "quiet_time"}}

    def reply_with(self, body):
        self.upstream.on_request = lambda request: json_answer(body) if request.path == QUESTION else None

    def test_what_the_upstream_said_comes_to_the_reader(self):
        """Asked by hand: the result is told, shown with its reason, and can be filtered by."""
        operation = self.lose("k1")
        self.reply_with(NOTHING)
        page = self.open_entry(operation)
        self.assertIn("Asked again by itself", page.text())
        page.click("#probe")
        wait_until(lambda: self.operation(operation)["probe_count"] == 1)
        self.look_now(page)
        page.wait_text("the upstream was asked", ".change-bar")
        page.press("u")
        page.wait_text("not there", "table.probes")
        self.assertIn(QUESTION, page.text("table.probes"))
        self.assertIn("tester", page.text("table.probes"))
        self.go(page, "#/")
        page.wait_text("1 not there", "table.groups")
        page.click("table.groups .inline a")
        page.wait_text("not there", "table.operations")
        self.assertIn("probe=absent", page.run("location.hash"))

    def test_an_operation_that_the_probe_settles_is_told(self):
        """The upstream has it: the page says that the state has changed, with its answer."""
        operation = self.lose("k1")
        self.reply_with(FOUND)
        page = self.open_entry(operation)
        page.type("#settle-note", "half a note")
        self.gateway.admin("POST", "/v1/operations/%s/probe" % operation["id"], {"note": "look"})
        self.gateway.wait_state(operation["id"], "completed")
        self.look_now(page)
        page.wait_text("state Unknown → Completed", ".change-bar")
        page.click(".change-bar button")
        page.wait_text("Completed", ".view-head")
        self.assertEqual(page.value("#settle-note"), "half a note")
        self.assertIn(FOUND_ITEM.decode(), page.text())


class Together(PageCase):
    tokens = (("bea", "read", "settle"),)

    def test_claiming_taking_over_and_giving_back(self):
        """Who is on it is shown to both, and taken over only on purpose."""
        operation = self.lose("k1")
        mine, hers = self.open_entry(operation), self.open_entry(operation, text="secret-of-bea")
        mine.click("#claim")
        mine.wait_text("You are on it", ".claim")
        hers.click("#claim")  # she still sees that nobody is
        hers.wait("document.querySelector('.claim .field-error:not([hidden])')")
        self.look_now(hers)
        hers.wait_text("claimed by tester", ".change-bar")
        hers.click(".change-bar button")
        hers.wait_text("tester is on it", ".claim")
        hers.click("#claim")
        hers.wait_text("You are on it", ".claim")
        self.assertEqual(self.operation(operation)["claimed_by"], "token:bea")
        hers.click("#claim")
        hers.wait_text("Nobody is on it", ".claim")
        self.assertIsNone(self.operation(operation)["claimed_by"])

    def test_comments_are_seen_by_others(self):
        """A comment is on record with its lines, and told to who has the page open."""
        operation = self.lose("k1")
        mine, hers = self.open_entry(operation), self.open_entry(operation, text="secret-of-bea")
        mine.type("#comment-text", "called them\nthey look")
        mine.run("document.querySelector('#comment-text').form.requestSubmit()")
        mine.wait_text("called them\nthey look", ".comments")
        self.assertEqual(mine.value("#comment-text"), "")
        self.look_now(hers)
        hers.wait_text("new comments", ".change-bar")
        hers.press("u")
        hers.wait_text("called them\nthey look", ".comments")

    def test_asking_the_upstream_without_a_probe_is_explained(self):
        """A route without a probe: the API's words beside the button."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#probe")
        page.wait("document.querySelector('#probe').parentNode.querySelector('.field-error:not([hidden])')")
        self.assertIn("probe", page.text("#probe + .field-error").lower())

    def test_the_audit_view_has_everything_of_an_operation(self):
        """Claim, comment and verdict stand in the audit view under the operation's id."""
        operation = self.lose("k1")
        self.gateway.admin("POST", "/v1/operations/%s/claim" % operation["id"], {})
        self.settle(self.operation(operation), "abandoned")
        page = self.open("#/audit")
        page.type("#audit-subject", operation["id"])
        page.press("Enter")
        page.wait_text("by another", "table.audit")
        self.assertIn("claim", page.text("table.audit"))


if __name__ == "__main__":
    main()
