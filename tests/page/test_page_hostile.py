"""Whatever strangers write stays text, in every view (stored cross-site scripting), and
no page of another origin can act through this one (forgery, rebinding)."""

from page_lib import PageCase, answer, fetch, fin, json, main, wait_until

PROBES = [
    '<img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script>",
    '" autofocus onfocus="window.pwned=1" x="',
    "javascript:window.pwned=1",
    "<svg/onload=window.pwned=1>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<!--<style>*{display:none}</style>",
]


class Hostile(PageCase):
    def assert_untouched(self, page):
        """No script ran, and no element came out of somebody's text."""
        self.assertFalse(page.run("'pwned' in window"))
        self.assertEqual(page.run("document.querySelectorAll('main img, main iframe, main script, main style, "
                                  "main [onerror], main [onload], main [onfocus], main [autofocus]').length"), 0)
        self.assertEqual(page.run("[...document.querySelectorAll('main a')].filter((link) => "
                                  "!link.getAttribute('href').startsWith('#')).length"), 0)
        page.check()

    def assert_shown(self, page, text, selector="body"):
        shown = page.wait("document.querySelector(%s)?.textContent" % json.dumps(selector))
        self.assertIn(text, shown)

    def changes(self):
        changes = super().changes()
        changes["routes"][0]["labels"] = {"order": {"json": "/order"}}
        changes["routes"][0]["key"] = {"from": "json", "pointer": "/key"}
        return changes

    def test_hostile_words_are_text_in_every_view(self):
        """Key, label, path, query, header, body, note and comment: shown as written, never run."""
        for number, probe in enumerate(PROBES):
            with self.subTest(probe=probe):
                self.one_probe(number, probe)

    def one_probe(self, number, probe):
        value = "%d %s" % (number, probe)
        self.upstream.script(fin())
        told = self.gateway.post(None, {"key": "k%d" % number, "order": value[:64], "body": value},
                                 path="/orders?q=%s" % "".join("%%%02x" % byte for byte in value.encode()),
                                 headers=[("X-Note", value), ("Referer", "javascript:window.pwned=1")])
        self.assertEqual(told.status, 502, told)
        operation = self.gateway.operation(told.get("Idempotency-Operation"))
        self.gateway.admin("POST", "/v1/operations/%s/comment" % operation["id"], {"text": value})
        page = self.open("#/operations?state=unknown")
        page.wait("document.querySelector('.row-link')")
        self.assert_shown(page, value[:64], "table.operations")
        self.assert_untouched(page)
        page.click("[id='%s']" % operation["id"])
        page.wait("document.querySelector('.timeline')")
        for selector in ("h1", ".headers", ".comments", "pre"):
            self.assert_shown(page, json.dumps(value)[1:-1] if selector == "pre" else value[:64], selector)
        self.assert_untouched(page)
        self.settle(self.operation(operation), "abandoned", note=value)
        self.look_now(page)
        page.wait("document.querySelector('.change-bar:not([hidden]) button')")
        page.click(".change-bar button")
        page.wait_text("Abandoned", ".view-head")
        self.assert_shown(page, value, "table.audit")
        self.assert_untouched(page)
        self.go(page, "#/operations?key=%s&label.order=%s" % (("%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E",) * 2))
        page.wait_text("Nothing fits")
        self.assert_untouched(page)
        self.go(page, "#/<img src=x onerror=window.pwned=1>")
        self.assert_untouched(page)

    def test_hostile_pauses_are_text_above_every_view(self):
        """The note of a pause is somebody's words too."""
        self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": PROBES[0]})
        page = self.open()
        page.wait("document.querySelector('#notices li')")
        self.assert_shown(page, PROBES[0], "#notices")
        self.go(page, "#/routes")
        self.assert_shown(page, PROBES[0], "table.routes")
        self.go(page, "#/audit?subject=route:create-order")
        self.assert_shown(page, PROBES[0], "table.audit")
        self.assert_untouched(page)

    def test_hostile_answers_of_the_upstream_are_text(self):
        """A header and a body that the upstream sent, kept as the response on record."""
        self.upstream.script(answer(200, [("X-Banner", PROBES[0]), ("Content-Type", "text/html")],
                                    PROBES[1].encode()))
        told = self.gateway.post(None, {"key": "k1", "order": "o"})
        self.assertEqual(told.status, 200)
        page = self.open("#/operations/" + told.get("Idempotency-Operation"))
        page.wait("document.querySelector('.timeline')")
        self.assert_shown(page, PROBES[0])
        self.assert_shown(page, PROBES[1])
        self.assert_untouched(page)

    def test_text_that_hides_or_turns_is_spelled_out(self):
        """Characters that cannot be seen, or turn the order around, are written as escapes."""
        self.upstream.script(fin())
        told = self.gateway.post(None, {"key": "k1", "order": "A\u202e1\u200b2\u2066"})
        page = self.open("#/operations/" + told.get("Idempotency-Operation"))
        page.wait("document.querySelector('.timeline')")
        self.assertEqual(page.text("h1"), "order A\\u{202e}1\\u{200b}2\\u{2066}")

    def test_markup_cannot_be_made_from_text_at_all(self):
        """The browser itself refuses: markup from text, inline scripts, foreign scripts, forms."""
        page = self.open()
        refused = page.run("""(() => { try { document.body.innerHTML = "<b>x</b>"; return false; }
            catch (error) { return error instanceof TypeError; } })()""")
        self.assertTrue(refused)
        page.run("""(() => { const script = document.createElement("script");
            try { script.textContent = "window.pwned = 1"; } catch (error) {
                script.append(document.createTextNode("window.pwned = 1")); }
            document.body.append(script); })()""")
        self.assertFalse(page.run("'pwned' in window"))
        page.wait("window.violations.length > 0")
        page.run("window.violations = []")


class Forgery(PageCase):
    def call(self, method, path, headers, body=None):
        return fetch(self.gateway.admin_port, method, path, headers, body)

    def test_no_foreign_page_frames_or_reads_the_page(self):
        """A page of another origin cannot put this one into a frame, nor fetch from it."""
        from http.server import BaseHTTPRequestHandler, HTTPServer
        import threading
        target = self.url()

        class Evil(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(("<iframe id=f src='%s'></iframe>" % target).encode())

            def log_message(self, *_):
                pass
        server = HTTPServer(("127.0.0.1", 0), Evil)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        operation = self.lose("k1")
        page = self.browser.open("http://localhost:%d/" % server.server_port)
        self.addCleanup(page.close)
        self.assertEqual(page.run("""fetch(%s).then(() => "read", () => "refused")""" % json.dumps(target)),
                         "refused")
        body = json.dumps({"verdict": "abandoned", "version": operation["version"], "note": "x"})
        for kind in ("text/plain", "application/json", "application/x-www-form-urlencoded"):
            page.run("""fetch(%s, {method: "POST", mode: %s, body: %s, headers: {
                "Content-Type": %s, "Authorization": %s}}).then(() => 0, () => 0)""" % (
                json.dumps(target + "v1/operations/%s/settle" % operation["id"]),
                json.dumps("cors" if kind == "application/json" else "no-cors"), json.dumps(body),
                json.dumps(kind), json.dumps("Bearer " + self.gateway.token)))
        self.assertEqual(self.operation(operation)["version"], operation["version"])
        self.assertEqual(page.run("document.querySelector('#f').contentDocument"), None)
        wait_until(lambda: [text for text in page.log if "frame" in text and "frame-ancestors" in text],
                   text=lambda: "the frame was not refused: %r" % page.log)

    def test_names_of_others_get_nothing(self):
        """A name that somebody pointed at this address is refused, for the page's files too."""
        for path in ("/", "/page/main.js", "/v1/whoami"):
            with self.subTest(path=path):
                told = self.call("GET", path, [("Host", "evil.example:%d" % self.gateway.admin_port)])
                self.assertEqual(told.status, 421, told)
                told = self.call("GET", path, [("Origin", "http://evil.example")])
                self.assertEqual(told.status, 403, told)


if __name__ == "__main__":
    main()
