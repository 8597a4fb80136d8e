"""The files of the page: how they are served, and rules that their text must keep."""

import glob
import os
import re

from page_lib import Case, Gateway, fetch, main, unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "gateway", "page")
POLICY = ("default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
          "img-src 'self' data:", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'",
          "require-trusted-types-for 'script'")


def sources(pattern="*.js"):
    for path in sorted(glob.glob(os.path.join(PAGE, pattern))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), file.read()


class Served(Case):
    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway()
        cls.addClassCleanup(cls.gateway.close)

    def get(self, path, headers=(), method="GET"):
        return fetch(self.gateway.admin_port, method, path, headers)

    def test_the_page_has_a_strict_policy_and_is_not_kept(self):
        """The document says what may run, and no cache keeps it."""
        page = self.get("/")
        self.assertEqual((page.status, page.get("Content-Type")), (200, "text/html; charset=utf-8"))
        self.assertEqual(page.get("Cache-Control"), "no-store")
        for one in (page, self.get("/?state=unknown")):
            parts = [part.strip() for part in one.get("Content-Security-Policy").split(";")]
            self.assertEqual(sorted(parts), sorted(POLICY))
            self.assertEqual(len(one.all("Content-Security-Policy")), 1)
            self.assertEqual(one.get("X-Content-Type-Options"), "nosniff")
            self.assertEqual(one.get("X-Frame-Options"), "DENY")
            self.assertEqual(one.get("Referrer-Policy"), "no-referrer")

    def test_every_file_is_served_as_it_is(self):
        """What lies in the tree is what the browser gets, with a type and a tag of its own."""
        tags = set()
        for kind, pattern in (("text/javascript", "*.js"), ("text/css", "*.css")):
            for name, text in sources(pattern):
                with self.subTest(name=name):
                    got = self.get("/page/" + name)
                    self.assertEqual((got.status, got.body), (200, text.encode()))
                    self.assertEqual(got.get("Content-Type"), kind + "; charset=utf-8")
                    self.assertEqual(got.get("X-Content-Type-Options"), "nosniff")
                    self.assertEqual(got.get("Cache-Control"), "no-cache")
                    tags.add(got.get("ETag"))
        self.assertGreater(len(tags), 10)
        self.assertEqual(len(tags), len(list(sources())) + len(list(sources("*.css"))))

    def test_a_known_file_is_not_sent_again(self):
        """If-None-Match with the tag gets 304 without a body; another tag gets the file."""
        tag = self.get("/page/main.js").get("ETag")
        for value in (tag, "W/" + tag, '"other", ' + tag):
            got = self.get("/page/main.js", [("If-None-Match", value)])
            self.assertEqual((got.status, got.body, got.get("ETag")), (304, b"", tag), value)
        for value in ('"other"', tag[1:-1]):
            self.assertEqual(self.get("/page/main.js", [("If-None-Match", value)]).status, 200)

    def test_head_has_the_length_and_no_body(self):
        """HEAD says what GET would send."""
        for path in ("/", "/page/main.js"):
            got, whole = self.get(path, method="HEAD"), self.get(path)
            self.assertEqual((got.status, got.body), (200, b""))
            self.assertEqual(got.get("Content-Length"), str(len(whole.body)))

    def test_nothing_else_is_served(self):
        """No other file, no other spelling, no way up, and no POST."""
        for path in ("/page/", "/page/index.html", "/page/none.js", "/page/..%2f..%2fetc%2fpasswd",
                     "/page/../recibo.yaml", "/page/MAIN.js", "/page/main.js%00.css", "/page/main.js/"):
            with self.subTest(path=path):
                self.assertIn(self.get(path).status, (400, 401, 404))
        for path in ("/", "/page/main.js"):
            self.assertIn(self.get(path, method="POST").status, (401, 405))

    def test_the_document_names_files_that_exist(self):
        """Every file that the document or a module asks for is there."""
        document = self.get("/").text
        names = set(re.findall(r'(?:src|href)="(page/[^"]+)"', document))
        self.assertEqual(names, {"page/main.js", "page/page.css", "page/chart.css"})
        for name, text in sources():
            for wanted in re.findall(r'from "\./([a-z_]+\.js)"', text):
                self.assertEqual(self.get("/page/" + wanted).status, 200, (name, wanted))


class Text(unittest.TestCase):
    def test_no_markup_is_made_from_text(self):
        """The ways by which text becomes markup or code are not used."""
        banned = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function",
                  "DOMParser", "createContextualFragment", "setHTML", "javascript:", "srcdoc",
                  "localStorage", "http://", "https://")
        for name, text in sources():
            for word in banned:
                allowed = word == "http://" and name == "dom.js"  # the name of the SVG space
                if not allowed:
                    self.assertNotIn(word, text, name)

    def test_the_document_has_no_inline_script_or_style(self):
        """What the policy forbids is not there to begin with."""
        for _, text in sources("*.html"):
            self.assertNotRegex(text, r"<script(?![^>]*\bsrc=)")
            self.assertNotRegex(text, r"\sstyle=|<style|\son[a-z]+=")

    def test_the_ends_are_those_of_the_product(self):
        """The page has a word for every way an attempt ends, and for no other."""
        with open(os.path.join(HERE, "..", "..", "policy", "ends.def"), encoding="utf-8") as file:
            ends = set(re.findall(r"^END\((\w+),", file.read(), re.MULTILINE)) - {"none"}
        words = dict(sources())["words.js"]
        block = re.search(r"export const ENDS = \{(.*?)\};", words, re.DOTALL).group(1)
        self.assertEqual(set(re.findall(r"^ +(\w+):", block, re.MULTILINE)), ends)

    def test_files_say_their_job_and_stay_small(self):
        """Each module opens with its job; none is longer than 400 lines; no // comments."""
        for name, text in [*sources(), *sources("*.css")]:
            self.assertTrue(text.startswith("/*"), name)
            self.assertTrue(text.endswith("\n"), name)
            self.assertNotRegex(text, r"(?m)^\s*//|[ \t]$|\t", name)
            limit = 400 if name.endswith(".js") else 1200
            self.assertLess(text.count("\n"), limit, name)


if __name__ == "__main__":
    main()
