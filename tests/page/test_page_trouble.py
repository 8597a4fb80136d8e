"""When things fail: a lost connection, a restart, a store that cannot be written. The
page says so, keeps what was typed, and goes on by itself."""

from page_lib import PageCase, main


class Trouble(PageCase):
    def test_a_lost_connection_is_said_and_comes_back(self):
        """Offline is told above the view; what was shown and typed stays; it goes on by itself."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.type("#settle-note", "half a note")
        page.offline(True)
        self.look_now(page)
        page.wait_text("No connection to Recibo since", "#notices")
        page.wait_text("What you see may be old", "#notices")
        page.wait("document.querySelector('#live').textContent.includes('No connection')")
        self.assertIn(operation["id"], page.text())
        page.offline(False)
        page.click("#try-now")
        page.wait("!document.querySelector('#notices').innerText.includes('No connection')")
        page.wait("document.querySelector('#live').textContent.includes('Connected again')")
        self.assertEqual(page.value("#settle-note"), "half a note")

    def test_the_pauses_between_tries_grow(self):
        """While nobody answers it is asked less and less often, and the next try is told."""
        page = self.open()
        page.offline(True)
        self.look_now(page)
        told = "Number(/Next try in (\\d+) s/.exec(document.querySelector('#notices').innerText)?.[1])"
        for seconds in (1, 2, 4, 8):
            page.wait(told + " > %d" % (seconds // 2))
            page.click("#try-now")
        page.offline(False)
        page.click("#try-now")
        page.wait("document.querySelector('#notices').hidden")

    def test_a_verdict_whose_answer_is_lost_is_called_uncertain(self):
        """A lost answer is not a failure: the page says what is sure, and keeps the text."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        page.click("#verdict-abandoned")
        page.type("#settle-note", "a note")
        page.offline(True)
        page.click("#settle-send")
        page.wait_text("it may have been done", "#settle-problem")
        self.assertEqual(page.value("#settle-note"), "a note")
        page.offline(False)
        page.click("#settle-send")
        page.wait_text("Abandoned", ".view-head")

    def test_a_restart_is_lived_through(self):
        """The gateway is killed and started again: the page goes on with the same token."""
        self.lose("k1")
        page = self.open("#/operations")
        page.wait("document.querySelector('.row-link')")
        self.gateway.kill9()
        self.look_now(page)
        page.wait_text("No connection", "#notices")
        self.gateway.start()
        self.look_now(page)
        page.wait("!document.querySelector('#notices').innerText.includes('No connection')")
        page.check()

    def test_the_page_begins_offline_and_goes_on(self):
        """A reload while nobody answers ends in the view once somebody does."""
        page = self.open("#/routes")
        # The files of the page are there; the calls are not.
        page.call("Network.setBlockedURLs", {"urls": ["*/v1/*"]})
        page.reload()
        page.wait_text("No connection", "#notices")
        page.call("Network.setBlockedURLs", {"urls": []})
        page.wait("document.querySelector('table.routes')")
        page.wait("!document.querySelector('#notices').innerText.includes('No connection')")

    def test_not_ready_is_told_with_the_reason(self):
        """What /readyz says stands above every view in its own words."""
        page = self.open()
        page.call("Fetch.enable", {"patterns": [{"urlPattern": "*/readyz"}]})
        problem = b'{"detail": "The store fails: the last commit was not made.", "status": 503}'
        self.answer_fetches(page, 503, problem)
        self.look_now(page)
        page.wait_text("Not ready The store fails: the last commit was not made.", "#notices")
        page.call("Fetch.disable")
        self.look_now(page)
        page.wait("document.querySelector('#notices').hidden")

    def test_a_failing_server_is_told_in_its_words(self):
        """A 503 of the API is shown with what it says, and tried again."""
        page = self.open()
        page.call("Fetch.enable", {"patterns": [{"urlPattern": "*/v1/summary"}]})
        self.answer_fetches(page, 503, b'{"detail": "The store could not do it.", "code": "x"}')
        self.look_now(page)
        page.wait_text("Recibo cannot answer since", "#notices")
        page.wait_text("The store could not do it.", "#notices")
        page.call("Fetch.disable")
        page.click("#try-now")
        page.wait("document.querySelector('#notices').hidden")

    def answer_fetches(self, page, status, body):
        """Every request that is held gets this answer."""
        import base64

        def on_event(method, params, session):
            if method == "Fetch.requestPaused" and session == page.session:
                page.browser.tools.send("Fetch.fulfillRequest", {
                    "requestId": params["requestId"], "responseCode": status,
                    "responseHeaders": [{"name": "Content-Type", "value": "application/problem+json"}],
                    "body": base64.b64encode(body).decode()}, session)
        page.browser.tools.listen(on_event)


if __name__ == "__main__":
    main()
