"""Taking an operation back on the page: read first, sent once, and said as what it is."""

from page_lib import PageCase, answer, main


class TakenBack(PageCase):
    route = {"compensate": {"method": "DELETE", "path": "/orders/{response:/id}"}}
    tokens = (("eve", "read"),)

    def done(self, key="k1"):
        response = self.gateway.post(key, {"order": "o-" + key})
        self.assertEqual(response.status, 201, response)
        return self.gateway.operation(response.get("Idempotency-Operation"))

    def ask(self, page, note="customer withdrew"):
        page.click("#compensate summary")
        page.type("#compensate-note", note)
        page.click("#compensate-sure")
        page.click("#compensate-send")

    def deletes(self):
        return [request.target for request in self.upstream.select(method="DELETE")]

    def test_it_is_confirmed_and_both_name_each_other(self):
        """A note and a tick are wanted; then it is sent once, and each page leads to the other."""
        operation = self.done()
        page = self.open_entry(operation)
        page.click("#compensate summary")
        page.click("#compensate-send")
        page.wait_text("A note is wanted", "#compensate")
        page.type("#compensate-note", "customer withdrew")
        page.click("#compensate-send")
        page.wait_text("Tick the box first", "#compensate")
        self.assertEqual(self.deletes(), [])
        page.click("#compensate-sure")
        page.click("#compensate-send")
        page.wait_text("Taken back by", ".slip")
        self.gateway.wait_state(self.operation(operation)["compensated_by"], "completed")
        self.look_now(page)
        page.wait_text("taking it back: Completed", ".change-bar")
        page.click(".change-bar button")
        page.wait_text("answered 201", ".slip")
        self.assertEqual(self.deletes(), ["/orders/7"])
        self.assertEqual(page.run("document.querySelector('#compensate').hidden"), True)
        other = self.operation(operation)["compensated_by"]
        self.go(page, "#/operations/" + other)
        page.wait_text("Takes back", ".slip")
        self.assertEqual(page.run("document.querySelector('.slip a.mono').getAttribute('href')"),
                         "#/operations/" + operation["id"])
        entry = self.operation(operation)["audit"][-1]
        self.assertEqual((entry["action"], entry["note"]), ("compensate", "customer withdrew"))

    def test_a_doubt_of_it_is_settled_like_any_other(self):
        """An unknown compensation is on the backlog, and what follows from a verdict is said."""
        operation = self.done()
        self.upstream.script(lambda exchange: False)
        page = self.open_entry(operation)
        self.ask(page)
        page.wait_text("Taken back by", ".slip")
        other = self.operation(operation)["compensated_by"]
        self.gateway.wait_state(other, "unknown")
        self.go(page, "#/operations/" + other)
        page.wait_text("Takes back", ".slip")
        page.click("#verdict-executed")
        page.wait_text("is told that it is done", ".outcome")
        page.type("#settle-note", "order 7 is gone")
        page.click("#settle-send")
        page.wait_text("Completed", ".view-head")

    def test_only_where_it_can_be(self):
        """Nothing is offered of what was not carried out, nor to one who may only read."""
        page = self.open_entry(self.lose("k1"))
        self.assertEqual(page.run("document.querySelector('#compensate').hidden"), True)
        page = self.open_entry(self.done("k2"), text="secret-of-eve")
        page.click("#compensate summary")
        self.assertEqual(page.run("document.querySelector('#compensate fieldset').disabled"), True)
        page.wait_text("control", "#compensate")

    def test_a_refusal_keeps_what_was_typed(self):
        """What cannot be taken back after all is said; the note stays."""
        self.upstream.default = answer(201, body=b"no JSON")
        operation = self.done()
        page = self.open_entry(operation)
        self.ask(page, "my note")
        page.wait_text("not JSON", "#compensate-problem")
        self.assertEqual(page.value("#compensate-note"), "my note")


if __name__ == "__main__":
    main()
