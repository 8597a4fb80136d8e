"""The alarms and the dashboard that come with the metrics: each metric and each command
that they name is there, and each alarm fires on what it is for and on nothing else.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from guarded import Guarded  # noqa: E402
from harness import BINARY, ROOT, answer, main, orders, rest  # noqa: E402
from metrics_lib import NO_PROMTOOL, PROMTOOL, promtool, scrape  # noqa: E402

RULES = os.path.join(ROOT, "docs", "prometheus", "recibo.rules.yml")
RULES_TEST = os.path.join(ROOT, "tests", "data", "prometheus", "recibo.rules.test.yml")
DASHBOARD = os.path.join(ROOT, "docs", "grafana", "recibo.json")
METRIC = re.compile(r"\b((?:recibo|process)_[a-z_]+)\b")
SELECTED = re.compile(r"\b((?:recibo|process)_[a-z_]+)\{([^{}]*)\}")
ADDED = {"job", "instance", "severity", "alertname"}  # labels that Prometheus itself gives


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def alarms():
    """{name: its text}: one piece of the file for each."""
    pieces = re.split(r"^ *- alert: (\w+)\n", read(RULES), flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2]))


def expression(text):
    """The PromQL of one alarm, without its comments."""
    return re.search(r"^ *expr: (.*?)^ *(?:for|labels):", text, re.MULTILINE | re.DOTALL).group(1)


class Named(Guarded):
    """What the files name is on a real page."""

    def real(self):
        """{sample name: its label names} of a gateway that has a route of every mode."""
        self.start(answer(201), routes=[
            orders(), orders(name="look", mode="observe", match={"methods": ["POST"],
                                                                "path": "/look"}), rest()])
        found = {}
        for family in scrape(self.gateway).families.values():
            for name, labels in family.samples:
                found.setdefault(name, set()).update(label for label, _ in labels)
        return found

    def assert_real(self, real, text):
        names = set(METRIC.findall(text))
        self.assertEqual(names - set(real), set(), text)
        for name, selectors in SELECTED.findall(text):
            labels = set(re.findall(r"(\w+) *(?:=~|!~|!=|=)", selectors))
            self.assertEqual(labels - real[name] - ADDED, set(), text)
        return names

    def test_the_alarms_ask_for_what_there_is(self):
        """Every metric and label of every alarm is on the page."""
        real = self.real()
        for name, text in alarms().items():
            self.assertTrue(self.assert_real(real, expression(text)) or "up{job" in text, name)

    def test_the_dashboard_asks_for_what_there_is(self):
        """Every metric and label of every panel, variable and annotation is on the page."""
        real = self.real()
        board = json.loads(read(DASHBOARD))
        asked = set()
        for panel in board["panels"]:
            for target in panel.get("targets", []):
                asked |= self.assert_real(real, target["expr"])
                given = set().union(*(real[name] for name in METRIC.findall(target["expr"])))
                used = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
                used |= set(re.findall(r"\w+", " ".join(re.findall(r"by \(([^)]*)\)",
                                                                   target["expr"]))))
                self.assertEqual(used - given - ADDED, set(), target)
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                self.assertTrue(self.assert_real(real, variable["definition"]))
        for mark in board["annotations"]["list"]:
            self.assertTrue(self.assert_real(real, mark["expr"]))
        families = {re.sub(r"_(bucket|sum|count)$", "", name) for name in real}
        shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
        self.assertEqual(families - shown, set(), "a metric that no panel shows")


class Rules(unittest.TestCase):
    def test_each_says_what_to_do(self):
        """Severity, a summary that names the thing, a description; its commands exist."""
        self.assertGreater(len(alarms()), 10)
        for name, text in alarms().items():
            self.assertRegex(text, r"severity: (critical|warning|info)}", name)
            self.assertRegex(text, r'summary: "', name)
            self.assertRegex(text, r"description: >-\n +\S", name)
            for words in re.findall(r"`recibo ([^`]+)`", re.sub(r"\s+", " ", text)):
                command = re.match(r"[a-z]+( [a-z]+(?= |$))?", words).group()
                options = set(re.findall(r"--[a-z-]+", words))
                done = subprocess.run([BINARY, "help", *command.split()], capture_output=True,
                                      text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, 0, (name, words, done.stderr))
                self.assertEqual([o for o in options if o not in done.stdout], [], (name, words))

    def test_each_is_tested(self):
        """The unit tests of the rules see every alarm fire."""
        tested = read(RULES_TEST)
        for name in alarms():
            self.assertIn(name, tested)

    @unittest.skipIf(PROMTOOL is None, NO_PROMTOOL)
    def test_promtool_takes_them(self):
        """promtool check rules finds every alarm and nothing wrong."""
        code, said = promtool("check", "rules", "--lint=all", RULES)
        self.assertEqual(code, 0, said)
        self.assertIn("%d rules found" % len(alarms()), said)

    @unittest.skipIf(PROMTOOL is None, NO_PROMTOOL)
    def test_they_fire_when_they_should(self):
        """promtool test rules: each alarm on what it is for, quiet on what looks like it."""
        code, said = promtool("test", "rules", RULES_TEST)
        self.assertEqual(code, 0, said)

    def assert_found(self, name, constant):
        """The unit tests of the rules fail when this alarm has a constant for its expression."""
        piece = alarms()[name]
        changed = piece.replace(expression(piece), constant + "\n")
        self.assertNotEqual(changed, piece)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "rules.yml"), "w", encoding="utf-8") as file:
                file.write(read(RULES).replace(piece, changed))
            path = os.path.join(folder, "test.yml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(re.sub(r"rule_files: .*", "rule_files: [rules.yml]", read(RULES_TEST)))
            code, said = promtool("test", "rules", path)
        self.assertNotEqual(code, 0, name)
        self.assertIn("FAILED", said, name)

    @unittest.skipIf(PROMTOOL is None, NO_PROMTOOL)
    def test_an_alarm_that_is_deaf_or_cries_is_found(self):
        """With any one alarm made deaf, or one that cries at nothing, the unit tests fail."""
        for name in alarms():
            self.assert_found(name, "vector(1) < 0")
        self.assert_found(next(iter(alarms())), "vector(1)")


class Dashboard(unittest.TestCase):
    def setUp(self):
        self.board = json.loads(read(DASHBOARD))

    def test_it_belongs_to_no_one_data_source(self):
        """Every data source is the variable; nothing is bound to one Grafana."""
        self.assertGreaterEqual(self.board["schemaVersion"], 36)
        self.assertIsNone(self.board["id"])
        sources = []
        json.loads(read(DASHBOARD), object_hook=lambda value: sources.append(
            value["datasource"]) if "datasource" in value else value)
        self.assertGreater(len(sources), 50)
        for source in sources:
            self.assertEqual(source, {"type": "prometheus", "uid": "${datasource}"})
        self.assertEqual([v["name"] for v in self.board["templating"]["list"]],
                         ["datasource", "job", "instance", "route"])

    def test_panels_stand_beside_each_other(self):
        """Ids are unique, nothing overlaps or sticks out, and each panel says what it shows."""
        taken = {}
        panels = self.board["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        for panel in panels:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24, panel["title"])
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    self.assertEqual(taken.setdefault((x, y), panel["id"]), panel["id"],
                                     panel["title"])
            if panel["type"] != "row":
                self.assertTrue(panel["description"], panel["title"])
        shown = [panel["title"] for panel in panels if panel["type"] != "row"]
        self.assertEqual(shown[:2], ["Unknown", "Oldest"])

    @unittest.skipIf(PROMTOOL is None, NO_PROMTOOL)
    def test_its_expressions_are_promql(self):
        """promtool takes each of them as the expression of a rule."""
        found = [target["expr"] for panel in self.board["panels"]
                 for target in panel.get("targets", [])]
        found += [mark["expr"] for mark in self.board["annotations"]["list"]]
        for variable, value in (("$__rate_interval", "5m"), ("$__range", "6h"),
                                ("$__interval", "1m"), ("$job", "recibo"), ("$instance", ".*"),
                                ("$route", ".*")):
            found = [expr.replace(variable, value) for expr in found]
        self.assertEqual([expr for expr in found if "$" in expr], [])
        rules = {"groups": [{"name": "panels", "rules": [
            {"record": "panel:%d" % i, "expr": expr} for i, expr in enumerate(found)]}]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "panels.yml")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(rules, file)
            code, said = promtool("check", "rules", path)
        self.assertEqual(code, 0, said)
        self.assertIn("%d rules found" % len(found), said)


if __name__ == "__main__":
    main()
