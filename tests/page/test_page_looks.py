"""Who uses a keyboard, a screen reader, a narrow or a wide screen, a dark room: the
page works for all of them, in every view."""

from page_lib import PageCase, fin, main

# Text against what lies behind it; large text needs 3, other text 4.5.
CONTRAST = """(() => {
    const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
    const light = (part) => { part /= 255; return part <= 0.04045 ? part / 12.92
        : ((part + 0.055) / 1.055) ** 2.4; };
    const shine = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
    const ground = (node) => {
        for (let at = node; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour.length === 3 || colour[3] === 1) return colour;
        }
        return matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18] : [255, 255, 255];
    };
    const poor = [];
    let seen = 0;
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const node = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !node.checkVisibility() || node.closest(".unseen, :disabled, option"))
            continue;
        const style = getComputedStyle(node);
        const [one, two] = [shine(parse(style.color)), shine(ground(node))];
        const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
        const large = parseFloat(style.fontSize) >= 24;
        seen++;
        if (ratio < (large ? 3 : 4.5))
            poor.push(walk.currentNode.data.trim().slice(0, 40) + " " + ratio.toFixed(2));
    }
    return {poor, seen};
})()"""

# Controls without a name, tables without a caption, headers without a scope, double ids.
UNNAMED = """(() => {
    const faults = [];
    for (const node of document.querySelectorAll("input, select, textarea"))
        if (!(node.labels && node.labels.length) && !node.getAttribute("aria-label"))
            faults.push("no label: " + node.outerHTML.slice(0, 80));
    for (const node of document.querySelectorAll("button, a"))
        if (!(node.getAttribute("aria-label") || node.textContent).trim())
            faults.push("no name: " + node.outerHTML.slice(0, 80));
    for (const node of document.querySelectorAll("table"))
        if (!node.caption || !node.caption.textContent.trim())
            faults.push("no caption: " + node.className);
    for (const node of document.querySelectorAll("th"))
        if (!node.scope)
            faults.push("no scope: " + node.textContent);
    const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
    ids.filter((id, at) => ids.indexOf(id) !== at).forEach((id) => faults.push("twice: " + id));
    if (document.querySelectorAll("h1").length !== 1)
        faults.push("not one h1");
    let level = 0;
    for (const node of document.querySelectorAll("h1, h2, h3")) {
        const now = Number(node.tagName[1]);
        if (now > level + 1)
            faults.push("a heading skips a level: " + node.textContent);
        level = now;
    }
    for (const name of ["header", "nav", "main"])
        if (!document.querySelector(name))
            faults.push("no " + name);
    return faults;
})()"""


class Looks(PageCase):
    def views(self):
        """[(address, what has to be there)] with something in each of them."""
        if not hasattr(self, "found"):
            operation = self.lose("k1", {"order": "A-1"})
            settled = self.settle(self.lose("k2", {"order": "A-2"}), "abandoned")
            self.lose("a-key-of-%s-bytes" % ("9" * 200), {"order": "B" * 60})
            self.gateway.admin("POST", "/v1/operations/%s/comment" % operation["id"], {"text": "a comment"})
            self.gateway.admin("POST", "/v1/routes/create-order/pause", {"note": "why " * 40})
            self.found = [("#/", "table.groups"), ("#/operations", "table.operations"),
                          ("#/operations/" + operation["id"], ".timeline"),
                          ("#/operations/" + settled["id"], ".timeline"), ("#/routes", "table.routes"),
                          ("#/audit?subject=route:create-order", "table.audit"), ("#/plans", ".body"),
                          ("#/report", ".lone"), ("#/operations?rout=1", ".bad-box"), ("#/nowhere", ".body")]
        return self.found

    def each_view(self, page):
        for address, wanted in self.views():
            if page.run("location.hash") != address:
                self.go(page, address)
            page.wait("document.querySelector(%r)" % wanted)
            yield address

    def test_text_can_be_read_in_both_schemes(self):
        """Every text has the contrast of WCAG AA, light and dark, in every view."""
        self.views()
        for scheme in ("light", "dark"):
            page = self.open(prefers_color_scheme=scheme)
            for view in self.each_view(page):
                found = page.run(CONTRAST)
                with self.subTest(view=view, scheme=scheme):
                    self.assertEqual(found["poor"], [])
                    self.assertGreater(found["seen"], 10)

    def test_no_view_is_wider_than_the_screen(self):
        """Nothing makes the page scroll sideways, from 320 to 1600 pixels."""
        self.views()
        page = self.open()
        for view in self.each_view(page):
            for width in (320, 768, 1120, 1600):
                page.size(width)
                with self.subTest(view=view, width=width):
                    self.assertLessEqual(page.run("document.scrollingElement.scrollWidth"), width)

    def test_everything_has_a_name_and_a_place(self):
        """Landmarks, headings in order, captions, scopes, labels, unique ids."""
        self.views()
        page = self.open()
        for view in self.each_view(page):
            with self.subTest(view=view):
                self.assertEqual(page.run(UNNAMED), [])

    def test_cards_stay_a_table_for_a_screen_reader(self):
        """On a narrow screen rows look like cards and are still rows with their headings."""
        self.views()
        page = self.open(width=320)
        page.wait("document.querySelector('table.groups')")
        roles = [role for role, _ in page.accessible()]
        for role in ("table", "row", "rowheader", "columnheader", "cell"):
            self.assertIn(role, roles)

    def test_a_view_takes_the_focus_and_the_title(self):
        """After a link the heading has the focus, so that reading begins there."""
        self.views()
        page = self.open()
        for address, title in (("#/routes", "Routes"), ("#/audit", "Audit"), ("#/operations", "Operations")):
            self.go(page, address)
            self.assertEqual(page.focused(), "heading")
            self.assertEqual(page.run("document.title"), title + " – Recibo")

    def test_all_is_reached_by_tab_and_seen(self):
        """Tab goes through every control of a view, and each shows that it has the focus."""
        operation = self.lose("k1")
        page = self.open_entry(operation)
        wanted = page.run("[...document.querySelectorAll('a[href], button, input:not([type=radio]), select, "
                          "textarea, pre, summary')].filter((node) => node.checkVisibility() && "
                          "!node.matches(':disabled, .skip')).length")
        page.run("document.activeElement.blur(); window.seen = new Set(); window.dull = [];")
        for _ in range(wanted + 12):
            page.press("Tab")
            page.run("""(() => { const node = document.activeElement;
                if (node === document.body || node.matches(".skip")) return;
                if (getComputedStyle(node).outlineStyle === "none"
                    && !node.closest(".brand")) window.dull.push(node.outerHTML.slice(0, 90));
                if (node.type !== "radio") window.seen.add(node); })()""")
        self.assertEqual(page.run("window.dull"), [])
        self.assertEqual(page.run("window.seen.size"), wanted)

    def test_shortcuts_are_listed_and_can_be_switched_off(self):
        """? lists them, they go where they say, not while typing, and not when off."""
        self.lose("k1")
        page = self.open()
        page.press("?")
        page.wait("document.querySelector('dialog[open] kbd')")
        page.press("Escape")
        page.wait("!document.querySelector('dialog')")
        page.press("g")
        page.press("o")
        page.wait("location.hash === '#/operations' && document.querySelector('.row-link')")
        page.press("j")
        page.wait("document.activeElement.matches('.row-link')")
        page.press("/")
        page.wait("document.activeElement.id === 'filter-key'")
        page.press("g")
        page.press("a")
        self.assertEqual(page.value("#filter-key"), "ga")
        page.run("document.activeElement.blur()")
        page.press("?")
        page.wait("document.querySelector('#keys-on')")
        page.click("#keys-on")
        page.press("Escape")
        page.wait("!document.querySelector('dialog')")
        page.press("g")
        page.press("r")
        self.assertEqual(page.run("location.hash"), "#/operations")

    def test_an_operation_is_settled_without_a_mouse(self):
        """From the backlog to the verdict with keys alone."""
        self.lose("k1", {"order": "A-1"})
        page = self.open()
        page.wait("document.querySelector('table.groups')")
        page.press("j")
        page.press("Enter")
        page.wait("document.querySelector('.row-link')")
        page.press("j")
        page.press("Enter")
        page.wait("document.querySelector('.timeline')")
        page.press("s")
        page.wait("document.activeElement.id === 'verdict-executed'")
        for _ in range(2):
            page.press("ArrowDown")
        page.wait("document.querySelector('#verdict-abandoned').checked")
        page.press("Tab")
        page.wait("document.activeElement.id === 'settle-note'")
        page.call("Input.insertText", {"text": "by keys"})
        page.press("Tab")
        page.press("Enter")
        page.wait_text("Abandoned", ".view-head")

    def test_nothing_moves_when_motion_is_not_wanted(self):
        """With reduced motion there is no animation at all."""
        self.lose("k1")
        page = self.open("#/operations", prefers_reduced_motion="reduce")
        page.wait("document.querySelector('.row-link')")
        self.lose("k2")
        self.look_now(page)
        page.wait_text("1 new", ".change-bar")
        self.assertEqual(page.run("document.getAnimations().length"), 0)


class Long(PageCase):
    def test_long_words_and_many_labels_break_nothing(self):
        """Eight labels of 64 bytes and a long path stay inside a narrow screen."""
        labels = {"label%d" % n: {"json": "/l%d" % n} for n in range(8)}
        self.gateway.restart({"routes": [dict(self.changes()["routes"][0], labels=labels),
                                         self.changes()["routes"][1]]})
        self.upstream.script(fin())
        told = self.gateway.post("k" * 255, {"l%d" % n: "W" * 64 for n in range(8)},
                                 path="/orders?q=" + "a" * 3000)
        page = self.open("#/operations/" + told.get("Idempotency-Operation"), width=320)
        page.wait("document.querySelector('.timeline')")
        self.assertLessEqual(page.run("document.scrollingElement.scrollWidth"), 320)
        self.go(page, "#/operations")
        page.wait("document.querySelector('.row-link')")
        self.assertLessEqual(page.run("document.scrollingElement.scrollWidth"), 320)


if __name__ == "__main__":
    main()
