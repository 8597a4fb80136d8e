"""A real browser for the tests of the page: Debian's chromium, headless.

    with Browser() as browser:
        page = browser.open("http://127.0.0.1:8081/")
        page.wait("document.querySelector('h1')?.textContent === 'Backlog'")
        page.click("#settle-send")
        page.type("#settle-note", "looked it up")

A page remembers what must never be: dialogs that a script opened, errors of scripts,
violations of the content security policy. page.check() raises if there was one.
"""

import base64
import json
import os
import re
import shutil
import subprocess
import time

from devtools import DevTools
from gateway_process import scratch, wait_until
from wire_message import WireError

START_S = 60.0
WAIT_S = 30.0
STOP_S = 20.0
LISTENS = re.compile(rb"DevTools listening on (ws://\S+)")
FLAGS = ["--headless=new", "--remote-debugging-port=0", "--no-first-run", "--disable-gpu",
         "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps",
         "--no-default-browser-check", "--mute-audio", "--hide-scrollbars",
         "--force-color-profile=srgb", "--lang=en-GB"]


def chromium():
    """The browser's program; None: it is not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    def __init__(self, arguments=()):
        self.directory = scratch("browser-")
        self._stderr = os.path.join(self.directory, "stderr.txt")
        flags = list(FLAGS)
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # chromium refuses to be root with one
        # A snap or a lone container may have no home to write to.
        env = dict(os.environ, HOME=self.directory, TZ=os.environ.get("TZ", "Europe/Madrid"))
        with open(self._stderr, "wb") as stderr:
            self._process = subprocess.Popen(
                [chromium(), *flags, "--user-data-dir=" + os.path.join(self.directory, "profile"),
                 *arguments, "about:blank"],
                stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, env=env)
        self.tools = None
        try:
            self.tools = DevTools(wait_until(self._address, START_S, self._words))
        except BaseException:
            self.close()
            raise

    def _words(self):
        with open(self._stderr, "rb") as file:
            return "the browser did not start:\n" + file.read().decode("utf-8", "replace")[-4000:]

    def _address(self):
        with open(self._stderr, "rb") as file:
            found = LISTENS.search(file.read())
        if found is None and self._process.poll() is not None:
            raise WireError(self._words())
        return found.group(1).decode() if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def open(self, url, width=1280, height=900, **media):
        """A tab with a session storage of its own."""
        context = self.tools.call("Target.createBrowserContext")["browserContextId"]
        target = self.tools.call("Target.createTarget", {
            "url": "about:blank", "browserContextId": context})["targetId"]
        session = self.tools.call("Target.attachToTarget",
                                  {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, target, session, context)
        page.size(width, height)
        if media:
            page.media(**media)
        page.go(url)
        return page

    def close(self):
        if self.tools is not None:
            try:
                self.tools.send("Browser.close")
            except (OSError, WireError):
                pass  # it is gone already
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(STOP_S)
        if self.tools is not None:
            self.tools.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Page:
    """One tab."""

    def __init__(self, browser, target, session, context):
        self.browser, self.target, self.session, self.context = browser, target, session, context
        self.faults = []
        self.requests = []
        self.log = []
        browser.tools.listen(self._on_event)
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(domain + ".enable")
        # Violations are counted in the page: the log would mix them with lost requests.
        self.call("Page.addScriptToEvaluateOnNewDocument", {"source":
            "window.violations = []; addEventListener('securitypolicyviolation', (event) => "
            "violations.push(event.violatedDirective + ' ' + event.blockedURI));"})

    def _on_event(self, method, params, session):
        if session != self.session:
            return
        if method == "Page.javascriptDialogOpening":
            self.faults.append("a dialog: " + params.get("message", ""))
            self.browser.tools.send("Page.handleJavaScriptDialog", {"accept": True}, session)
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.faults.append("an error: " + str(details.get("exception", {}).get("description")
                                                  or details.get("text")))
        elif method == "Runtime.consoleAPICalled" and params.get("type") == "error":
            self.faults.append("console.error: " + json.dumps(params.get("args"))[:2000])
        elif method == "Log.entryAdded":
            self.log.append(params["entry"].get("text", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append((params["request"]["method"], params["request"]["url"]))

    def call(self, method, params=None):
        return self.browser.tools.call(method, params, self.session)

    def go(self, url):
        self.call("Page.navigate", {"url": url})
        self.wait("document.readyState === 'complete'")

    def reload(self):
        self.run("window.was_here = true")
        self.call("Page.reload")
        self.wait("!window.was_here && document.readyState === 'complete'")

    def size(self, width, height=900, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def media(self, **features):
        """media(prefers_color_scheme="dark")"""
        self.call("Emulation.setEmulatedMedia", {"features": [
            {"name": name.replace("_", "-"), "value": value} for name, value in features.items()]})

    def offline(self, is_off):
        self.call("Network.emulateNetworkConditions", {
            "offline": is_off, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1})

    def run(self, script, deadline_s=WAIT_S):
        """The value of an expression; a promise is waited for."""
        answer = self.browser.tools.call("Runtime.evaluate", {
            "expression": script, "returnByValue": True, "awaitPromise": True,
            "userGesture": True}, self.session, deadline_s)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise WireError("%s\n%s" % (script, details.get("exception", {}).get("description")
                                        or details.get("text")))
        return answer["result"].get("value")

    def wait(self, condition, deadline_s=WAIT_S):
        """Until the expression is true in the page; -> its value."""
        until = time.monotonic() + deadline_s
        def look():
            try:
                return self.run("((value) => value instanceof Node ? true : value)(%s)" % condition)
            except WireError as error:  # the page was just being replaced
                if time.monotonic() > until or "context" not in str(error).lower():
                    raise
                return None
        return wait_until(look, deadline_s, lambda: "not so: %s\n%s" % (condition, self.text()))

    def wait_text(self, text, inside="body", deadline_s=WAIT_S):
        self.wait("document.querySelector(%s)?.innerText.includes(%s)"
                  % (json.dumps(inside), json.dumps(text)), deadline_s)

    def text(self, selector="body"):
        return self.run("document.querySelector(%s)?.innerText" % json.dumps(selector)) or ""

    def exists(self, selector):
        return self.run("document.querySelector(%s) !== null" % json.dumps(selector))

    def value(self, selector):
        return self.run("document.querySelector(%s).value" % json.dumps(selector))

    def focused(self):
        return self.run("document.activeElement?.id || document.activeElement?.tagName")

    def click(self, selector):
        """A click of the mouse on what is really at that place."""
        self.wait("document.querySelector(%s)" % json.dumps(selector) + " !== null")
        box = self.run("""(() => {
            const node = document.querySelector(%s);
            node.scrollIntoView({block: "center"});
            const box = node.getClientRects()[0]; /* a link may go over several lines */
            if (!box)
                return {hit: false, under: "nothing: it is hidden"};
            const x = box.x + box.width / 2, y = box.y + box.height / 2;
            const top = document.elementFromPoint(x, y);
            return {x, y, hit: node.contains(top), under: top && top.outerHTML.slice(0, 200)};
        })()""" % json.dumps(selector))
        if not box["hit"]:
            raise WireError("%s is covered by %s" % (selector, box["under"]))
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {
                "type": kind, "x": box["x"], "y": box["y"],
                "button": "none" if kind == "mouseMoved" else "left",
                "clickCount": 0 if kind == "mouseMoved" else 1})

    def type(self, selector, text):
        """Focus, then text as from a keyboard; what stands there is replaced."""
        self.wait("document.querySelector(%s)" % json.dumps(selector) + " !== null")
        self.run("(() => { const node = document.querySelector(%s); node.focus(); "
                 "if (node.select) node.select(); })()" % json.dumps(selector))
        self.call("Input.insertText", {"text": text})

    def press(self, key, code=None, text=None, modifiers=0):
        """A key: press("Enter"), press("Tab"), press("?")."""
        known = {"Enter": (13, "\r"), "Tab": (9, ""), "Escape": (27, ""), " ": (32, " ")}
        number, char = known.get(key, (ord(key[0].upper()) if len(key) == 1 else 0,
                                       key if len(key) == 1 else ""))
        char = char if text is None else text
        event = {"key": key, "code": code or "", "windowsVirtualKeyCode": number,
                 "modifiers": modifiers}
        if char:
            self.call("Input.dispatchKeyEvent", {"type": "keyDown", "text": char, **event})
        else:
            self.call("Input.dispatchKeyEvent", {"type": "rawKeyDown", **event})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def shot(self, path, full=True):
        """A picture of the page."""
        data = self.call("Page.captureScreenshot", {"format": "png",
                                                    "captureBeyondViewport": full})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def accessible(self):
        """[(role, name)] as a screen reader has them."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(node.get("role", {}).get("value"), node.get("name", {}).get("value", ""))
                for node in nodes if not node.get("ignored")]

    def check(self):
        """Nothing happened that must never happen."""
        faults = self.faults + ["policy: " + text for text in self.run("window.violations || []")]
        if faults:
            raise AssertionError("\n".join(faults))

    def close(self):
        self.browser.tools.call("Target.disposeBrowserContext",
                                {"browserContextId": self.context})


__all__ = ["Browser", "Page", "chromium"]
