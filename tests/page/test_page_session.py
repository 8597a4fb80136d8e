"""Signing in to the page: by a token, by a link with a code, for the life of the tab."""

from page_lib import PageCase, main


class Session(PageCase):
    def test_a_token_signs_in_and_stays_for_the_tab(self):
        """A token shows the page, survives a reload, and is gone after signing out."""
        page = self.open()
        page.wait_text("tester", ".who")
        page.reload()
        page.wait_text("tester", ".who")
        page.click("#sign-out")
        page.wait("document.querySelector('dialog[open] #token')")
        self.assertEqual(page.run("sessionStorage.length"), 0)
        self.assertNotIn("tester", page.text())

    def test_a_wrong_token_is_refused_in_words(self):
        """A token that is not taken is said so, and nothing is shown or kept."""
        page = self.visit()
        self.sign_in(page, "not-the-token")
        page.wait_text("The token is not taken.")
        self.assertEqual(page.run("sessionStorage.length"), 0)
        self.assertEqual(page.focused(), "token")
        self.sign_in(page)
        page.wait_text("tester", ".who")

    def test_the_dialog_cannot_be_left(self):
        """Escape does not open what only a token may see."""
        page = self.visit()
        page.wait("document.querySelector('dialog[open] #token')")
        for _ in range(3):
            page.press("Escape")
            page.wait("document.querySelector('dialog[open] #token')")
        self.assertFalse(page.exists("main .view"))

    def link(self):
        status, _, value = self.gateway.admin("POST", "/v1/page", {})
        self.assertEqual(status, 200, value)
        return value

    def test_a_link_signs_in_once_and_leaves_the_address(self):
        """The code of a link is taken once, and stands neither in the address nor in the history."""
        code = self.link()["code"]
        page = self.visit("#code=" + code)
        page.wait_text("tester", ".who")
        self.assertNotIn(code, page.run("location.href"))
        self.assertEqual(page.run("history.length"), 2)  # about:blank and the page
        kept = page.run("JSON.stringify(Object.entries(sessionStorage))")
        self.assertNotIn(code, kept)
        self.assertNotIn(self.gateway.token, kept)
        self.assertFalse([url for _, url in page.requests if code in url])
        again = self.visit("#code=" + code)
        again.wait_text("The link is not good any more")
        self.assertNotIn(code, again.run("location.href"))

    def test_a_session_that_ends_keeps_what_was_typed(self):
        """When the token is no longer taken the reader signs in over his half-typed note."""
        operation = self.lose("k1")
        page = self.visit("#code=" + self.link()["code"])
        page.wait_text("tester", ".who")
        self.go(page, "#/operations/" + operation["id"])
        page.wait("document.querySelector('.timeline')")
        page.type("#settle-note", "half a note")
        self.gateway.restart()  # it forgets the sessions of pages
        self.look_now(page)
        page.wait_text("The session is over")
        self.sign_in(page)
        page.wait("!document.querySelector('dialog[open]')")
        self.assertEqual(page.value("#settle-note"), "half a note")
        page.click("#verdict-abandoned")
        page.click("#settle-send")
        page.wait_text("Abandoned", ".view-head")
        self.assertEqual(self.operation(operation)["audit"][-1]["note"], "half a note")

    def test_the_token_goes_to_the_own_origin_alone(self):
        """Whatever is clicked, nothing is asked of anybody else."""
        self.lose("k1")
        page = self.open()
        for view in ("#/operations", "#/plans", "#/routes", "#/audit?subject=route:create-order", "#/"):
            self.go(page, view)
        origin = self.url()
        self.assertFalse([url for _, url in page.requests
                          if not url.startswith((origin, "data:", "about:"))])


class Rights(PageCase):
    tokens = (("reader", "read"), ("blind", "settle"), ("settler", "read", "settle"))

    def test_what_a_token_may_not_do_is_disabled_with_the_reason(self):
        """Without a right the control is there, off, and says which right it wants."""
        operation = self.lose("k1")
        page = self.open_entry(operation, text="secret-of-reader")
        page.wait_text("needs the right “settle”", ".settle")
        self.assertTrue(page.run("[...document.querySelectorAll('.settle input, .settle textarea, "
                                 ".settle button')].every((node) => node.matches(':disabled'))"))
        self.assertTrue(page.run("document.querySelector('#claim').disabled"))
        page.wait_text("Headers and bodies need the right “evidence”")
        self.go(page, "#/routes")
        page.wait_text("needs the right “control”")
        self.assertTrue(page.run("[...document.querySelectorAll('main td button')]"
                                 ".every((node) => node.disabled)"))
        self.go(page, "#/operations?state=unknown")
        page.click("#plan-box summary")
        page.wait_text("needs the right “settle”", "#plan-box")

    def test_without_read_nothing_is_shown(self):
        """A token that may not read is told so, and the page asks for nothing."""
        page = self.visit()
        self.sign_in(page, "secret-of-blind")
        page.wait_text("needs the right “read”")
        self.assertFalse([url for _, url in page.requests if "/v1/operations" in url])

    def test_bodies_are_not_asked_for_without_the_right(self):
        """Who may settle but not see bodies can settle."""
        operation = self.lose("k1", {"order": "o-1", "card": "4711-secret"})
        page = self.open_entry(operation, text="secret-of-settler")
        self.assertNotIn("4711-secret", page.run("document.documentElement.outerHTML"))
        page.click("#verdict-abandoned")
        page.type("#settle-note", "cannot be found out")
        page.click("#settle-send")
        page.wait_text("Abandoned", ".view-head")


if __name__ == "__main__":
    main()
