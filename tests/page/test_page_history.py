"""The curves of the backlog: drawn from the first look out of what Recibo remembers, with
gaps as gaps, for eyes, keyboards and screen readers."""

import datetime

from page_lib import PageCase, answer, json, main, wait_until
from test_page_looks import CONTRAST, UNNAMED

MINUTE = datetime.timedelta(minutes=1)
PLOT = "#chart-unknown"

# The page gets this history in place of the server's; everything else is real.
REMEMBER = """(() => {
    const real = window.fetch;
    window.remembered = %s;
    window.asked = [];
    window.fetch = async (path, options) => {
        if (!path.startsWith("/v1/history"))
            return real(path, options);
        window.asked.push(path);
        const after = new URLSearchParams(path.split("?")[1]).get("after") || "";
        const value = {...window.remembered, samples: window.remembered.samples.filter((s) => s.at > after)};
        return new Response(JSON.stringify(value), {headers: {"Content-Type": "application/json"}});
    };
})()"""


def text_of(time):
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (time.microsecond // 1000)


def day(figures, now=None, since=None):
    """A history of a minute a figure, the last one just now; None: the store could not say."""
    now = now or datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    samples = []
    for at, figure in enumerate(figures):
        time = now - MINUTE * (len(figures) - at)
        known = figure if isinstance(figure, dict) else {"unknown": figure}
        oldest = text_of(time - MINUTE * 90) if known.get("unknown") else None
        samples.append({"at": text_of(time), "oldest_unknown_at": oldest, "in_flight": 2, "paused": 0,
                        "breakers_open": 0, "unknown": None, **known})
    first = samples[0]["at"] if samples else text_of(now)
    return {"at": text_of(now), "since": since or first, "every_ms": 60000, "samples": samples}


class Curves(PageCase):
    def open_with(self, history, **options):
        page = self.visit(**options)
        page.wait("document.querySelector('dialog[open] #token')")
        page.run(REMEMBER % json.dumps(history))
        self.sign_in(page)
        self.wait_view(page)
        page.wait("document.querySelector('.curves:not([hidden])')")
        return page

    def line(self, page, name="line", plot=PLOT):
        return page.run("document.querySelector('%s .chart-%s').getAttribute('d')" % (plot, name)) or ""

    def said(self, page, plot=PLOT):
        return page.run("document.querySelector('%s').getAttribute('aria-valuetext')" % plot)

    def test_it_is_drawn_from_the_first_look(self):
        """Who opens the page sees the whole day at once, and the figure of now."""
        self.lose("k1")
        page = self.open_with(day([5] * 700 + [412] * 20 + [7] * 720))
        self.assertGreater(page.run("document.querySelector('%s .chart-line').getBBox().width" % PLOT), 990)
        self.assertTrue(self.said(page).startswith("1 now"), self.said(page))
        self.assertIn("Most: 412 unknown at", page.text(".chart-words"))
        self.assertEqual(page.text("#chart-unknown .chart-top"), "500")
        self.assertNotEqual(self.line(page, "area", "#chart-age"), "")
        self.assertEqual(page.text(".chart-scale").split()[-1], "now")

    def test_the_real_history_of_a_new_process(self):
        """Without any stand-in: since when is known is told, and what is lost now appears."""
        self.lose("k1")
        page = self.open()
        page.wait("document.querySelector('.curves:not([hidden])')")
        page.wait_text("Recibo remembers since its start at", ".chart-words")
        self.assertTrue(self.said(page).startswith("1 now"), self.said(page))
        self.lose("k2")
        self.look_now(page)
        page.wait("document.querySelector('#chart-unknown').getAttribute('aria-valuetext').startsWith('2 now')")

    def test_where_nothing_is_known_no_line_is_drawn(self):
        """A store that failed and a process that stood still are gaps, told in words."""
        history = day([3] * 20 + [None] * 10 + [3] * 40)
        del history["samples"][45:55]
        page = self.open_with(history)
        self.assertEqual(self.line(page).count("M"), 3)
        self.assertEqual(self.line(page, "gap").count("M"), 2)
        self.assertIn("No figures:", page.text(".chart-words"))
        self.assertEqual(page.run("document.querySelectorAll('.chart-words time').length"), 6)

    def test_what_is_whole_has_no_gap(self):
        """A minute that came late is no gap."""
        history = day([3] * 30)
        del history["samples"][10]
        page = self.open_with(history)
        self.assertEqual((self.line(page).count("M"), self.line(page, "gap")), (1, ""))
        self.assertNotIn("No figures", page.text(".chart-words"))

    def test_pauses_and_breakers_are_marked(self):
        """When routes were held back is drawn, told in words and at the cursor."""
        page = self.open_with(day([3] * 20 + [{"unknown": 3, "paused": 1}] * 10 + [3] * 10 +
                                  [{"unknown": 3, "breakers_open": 2}] * 5 + [3] * 5))
        self.assertEqual(self.line(page, "paused").count("M"), 1)
        self.assertEqual(self.line(page, "breaker").count("M"), 1)
        self.assertIn("Routes were paused:", page.text(".chart-words"))
        self.assertIn("A breaker was open:", page.text(".chart-words"))
        page.run("document.querySelector('%s').focus()" % PLOT)
        page.press("Home")
        for _ in range(25):
            page.press("ArrowRight")
        self.assertRegex(self.said(page), r"^3 at \d\d:\d\d, paused$")

    def test_values_are_read_with_the_keyboard(self):
        """Arrows, Home and End go over both curves and say value and time; Escape leaves."""
        page = self.open_with(day([10, 20, 30, 40]))
        page.run("document.querySelector('%s').focus()" % PLOT)
        self.assertTrue(self.said(page).startswith("0 now"))
        page.press("ArrowLeft")
        self.assertRegex(self.said(page), r"^40 at \d\d:\d\d$")
        self.assertRegex(self.said(page, "#chart-age"), r"^1 h 30 min at \d\d:\d\d$")
        page.press("Home")
        self.assertRegex(self.said(page), r"^10 at ")
        self.assertIn("10", page.text(".chart figcaption"))
        page.press("ArrowLeft")
        self.assertRegex(self.said(page), r"^10 at ")
        page.press("ArrowRight")
        self.assertRegex(self.said(page), r"^20 at ")
        self.assertNotEqual(self.line(page, "cursor"), "")
        page.press("Escape")
        self.assertEqual(self.line(page, "cursor"), "")
        page.press("End")
        self.assertTrue(self.said(page).startswith("0 now"))
        self.assertEqual(page.focused(), "chart-unknown")

    def test_values_are_read_with_the_pointer(self):
        """Pointing at a time shows its value on both curves, until the pointer is gone."""
        page = self.open_with(day([10] * 30 + [90] * 30))
        box = page.run("(() => { const box = document.querySelector('%s').getBoundingClientRect(); "
                       "return [box.x, box.y, box.width, box.height]; })()" % PLOT)
        for share, value in ((0.25, "10"), (0.75, "90")):
            page.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": box[0] + box[2] * share,
                                                   "y": box[1] + box[3] / 2})
            page.wait("document.querySelector('.chart figcaption b').textContent === '%s'" % value)
            self.assertNotEqual(self.line(page, "dot", "#chart-age"), "")
        page.call("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": 5, "y": 5})
        page.wait("document.querySelector('.chart-when').textContent === 'now'")

    def test_a_look_leaves_the_cursor_alone(self):
        """New figures do not take away what is being read, nor the focus."""
        page = self.open_with(day([10, 20, 30]))
        page.run("document.querySelector('%s').focus()" % PLOT)
        page.press("ArrowLeft")
        held = self.said(page)
        self.assertTrue(held.startswith("30 at"), held)
        self.lose("k1")
        self.look_now(page)
        page.wait_text("1 more unknown")
        page.wait_text("1 unknown operation", ".lead")
        self.assertEqual((self.said(page), page.focused()), (held, "chart-unknown"))

    def test_it_stands_there_as_a_table_too(self):
        """By the hour, for who reads no curves; what is not known says so."""
        page = self.open_with(day([3] * 60 + [None] * 150 + [4] * 30))
        self.assertFalse(page.exists(".chart-table tbody tr"))
        page.click(".chart-table summary")
        page.wait("document.querySelectorAll('.chart-table tbody tr').length >= 4")
        self.assertLessEqual(page.run("document.querySelectorAll('.chart-table tbody tr').length"), 6)
        self.assertIn("not known", page.text(".chart-table"))
        self.assertEqual(page.run(UNNAMED), [])
        for scheme in ("light", "dark"):
            page.media(prefers_color_scheme=scheme)
            self.assertEqual(page.run(CONTRAST)["poor"], [], scheme)
        roles = [role for role, _ in page.accessible()]
        self.assertIn("slider", roles)
        self.assertIn("rowheader", roles)

    def test_only_what_is_new_is_asked_for(self):
        """The whole day is asked for once, then what came since; after a restart it begins anew."""
        page = self.open_with({**day([3] * 30), "every_ms": 1000})  # so that the next one is due
        page.run("""(() => { const old = window.remembered;
            const last = Date.parse(old.samples.at(-1).at);
            window.remembered = {...old, samples: [...old.samples, {...old.samples.at(-1),
                at: new Date(last + 30000).toISOString(), unknown: 77}]}; })()""")
        def look():
            self.look_now(page)
            return "Most: 77" in page.text(".chart-words")
        wait_until(look)
        asked = page.run("window.asked")
        self.assertEqual(asked[0], "/v1/history")
        self.assertTrue(all("?after=" in each for each in asked[1:]), asked)
        page.run("""(() => { const old = window.remembered; const at = new Date().toISOString();
            window.remembered = {...old, since: at, samples: [{...old.samples[0], at, unknown: 5}]}; })()""")
        def anew():
            self.look_now(page)
            return "Most: 5" in page.text(".chart-words")
        wait_until(anew, 90)
        self.assertEqual(page.run("window.asked").count("/v1/history"), 2)

    def test_bar_and_number_stand_on_one_line(self):
        """In a group the bar and its number share a line, and bars begin at one place."""
        for number in range(12):
            self.lose("k%d" % number)
        self.upstream.script(answer(503, body={"no": 1}))
        self.assertEqual(self.gateway.post("b1", {"order": "o-b1"}).status, 503)
        for width in (1280, 1600, 800):
            page = self.open(width=width)
            page.wait("document.querySelector('table.groups meter')")
            boxes = page.run("[...document.querySelectorAll('table.groups tbody tr')].map((row) => "
                             "['meter', '.wide-num b', '.groups th a'].map((name) => { const box = row"
                             ".querySelector(name).getBoundingClientRect(); return [box.x, box.top, box.bottom]; }))")
            self.assertEqual(len(boxes), 2)
            for meter, number, link in boxes:
                with self.subTest(width=width):
                    self.assertTrue(number[1] <= meter[1] and meter[2] <= number[2], (meter, number))
                    self.assertLess(abs(number[1] - link[1]), 4)
                    self.assertEqual(meter[0], boxes[0][0][0])


if __name__ == "__main__":
    main()
