"""A strict reader of the two text formats of metrics, and what tests ask of a page.

It is written from the formats and refuses whatever they do not allow; it knows none of
the product's names. Refused is an AssertionError that quotes the line.
"""

import os
import re
import shutil
import subprocess

from admin_lib import fetch

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*\Z")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)\Z")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|\Z)')
NUMBER = re.compile(r"[+-]?(\d+(\.\d+)?([eE][+-]?\d+)?|Inf)\Z|NaN\Z")
UNITS = ("seconds", "bytes")
TYPES = ("counter", "gauge", "histogram")
OPEN = "application/openmetrics-text"
OPEN_TYPE = OPEN + "; version=1.0.0; charset=utf-8"
PLAIN_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PROMTOOL = os.environ.get("PROMTOOL") or shutil.which("promtool")
NO_PROMTOOL = "promtool is not installed (Debian: prometheus; or set PROMTOOL)"


class Family:
    """One metric: name without _total, type, help, unit, samples {(name, labels): value}."""

    def __init__(self, name):
        self.name, self.type, self.help, self.unit = name, None, None, None
        self.samples = {}

    def labels(self):
        """The sets of label names of its samples, le aside."""
        return {tuple(name for name, _ in labels if name != "le") for _, labels in self.samples}

    def value(self, tail="", **wanted):
        """The one sample with these labels."""
        found = [value for (name, labels), value in self.samples.items()
                 if name == self.name + tail and dict(labels) == wanted]
        assert len(found) == 1, (self.name, wanted, found)
        return found[0]


def refuse_unless(condition, line, why):
    if not condition:
        raise AssertionError("%s: %r" % (why, line))


def parse_labels(text, line):
    """-> ((name, value), ...) of what stands between the braces."""
    labels, at = [], 0
    refuse_unless(text != "", line, "braces around nothing")
    while at < len(text):
        found = LABEL.match(text, at)
        refuse_unless(found, line, "no label, or a wrong escape")
        at = found.end()
        refuse_unless(found.group(3) == "" or at < len(text), line, "a comma at the end")
        value = re.sub(r"\\(.)", lambda m: "\n" if m.group(1) == "n" else m.group(1),
                       found.group(2))
        labels.append((found.group(1), value))
    names = [name for name, _ in labels]
    refuse_unless(len(set(names)) == len(names), line, "a label twice")
    refuse_unless(not any(name.startswith("__") for name in names), line, "a reserved label")
    return tuple(labels)


class Page:
    """Page(text, is_open).families: {name: Family}, in the order of the page."""

    def __init__(self, text, is_open):
        self.is_open, self.families = is_open, {}
        self.family = None
        refuse_unless(text.endswith("\n") and "\r" not in text, text[-80:], "ends of lines")
        lines = text[:-1].split("\n")
        if is_open:
            refuse_unless(lines.pop() == "# EOF", text[-80:], "no end")
        for line in lines:
            self.read(line)
        self.finish()
        self.check_names()

    def read(self, line):
        refuse_unless(line != "" and line == line.strip(), line, "an empty or indented line")
        if line.startswith("#"):
            self.read_comment(line)
        else:
            self.read_sample(line)

    def read_comment(self, line):
        parts = line.split(" ", 3)
        refuse_unless(len(parts) == 4 and parts[0] == "#", line, "a comment of no kind")
        _, word, name, rest = parts
        refuse_unless(NAME.match(name), line, "no name")
        if word == "HELP":
            self.finish()
            refuse_unless(name not in self.families, line, "a family in two pieces")
            self.family = self.families[name] = Family(name)
            self.family.help = rest
            return
        family = self.family
        refuse_unless(family and family.name == name and not family.samples, line,
                      "not at the head of its family")
        if word == "TYPE":
            refuse_unless(family.type is None and rest in TYPES, line, "a type")
            family.type = rest
        else:
            refuse_unless(word == "UNIT" and self.is_open and family.unit is None, line, "a unit")
            refuse_unless(name.endswith("_" + rest), line, "the name does not end with the unit")
            family.unit = rest

    def read_sample(self, line):
        family, found = self.family, SAMPLE.match(line)
        refuse_unless(found, line, "no sample")
        refuse_unless(family and family.type, line, "a sample without a family")
        name, value = found.group(1), found.group(3)
        labels = parse_labels(found.group(2), line) if found.group(2) is not None else ()
        refuse_unless(NUMBER.match(value), line, "no number")
        if family.type == "histogram":
            tails = ("_bucket", "_sum", "_count")
        else:
            tails = ("_total",) if family.type == "counter" and self.is_open else ("",)
        refuse_unless(name in [family.name + tail for tail in tails], line, "a name of another")
        refuse_unless(("le" in dict(labels)) == (name == family.name + "_bucket"
                                                 and family.type == "histogram"), line, "le")
        refuse_unless((name, labels) not in family.samples, line, "a series twice")
        family.samples[name, labels] = float(value)
        if family.type != "gauge":
            refuse_unless(0 <= float(value) < float("inf"), line, "counts nothing")

    def finish(self):
        """The family that ends here is whole."""
        family = self.family
        if family is None:
            return
        line = family.name
        refuse_unless(family.type and family.help and family.samples, line, "not whole")
        refuse_unless("\\" not in family.help, line, "an escape that nothing here needs")
        unit = next((u for u in UNITS if family.name.endswith("_" + u)), None)
        if self.is_open:
            refuse_unless(family.unit == unit, line, "its unit is missing")
        if family.type == "counter":
            refuse_unless(family.name.endswith("_total") != self.is_open, line, "_total")
        else:
            refuse_unless(not family.name.endswith(("_total", "_count", "_sum", "_bucket")), line,
                          "a reserved suffix")
        refuse_unless(len(family.labels()) == 1, line, "labels differ inside the family")
        if family.type == "histogram":
            self.check_histogram(family)

    def check_histogram(self, family):
        """Buckets follow each other with rising bounds and counts up to +Inf, then sum, count."""
        groups = {}
        for (name, labels), value in family.samples.items():
            rest = tuple(pair for pair in labels if pair[0] != "le")
            if list(groups)[-1:] != [rest]:
                refuse_unless(rest not in groups, family.name, "a histogram in two pieces")
                groups[rest] = []
            groups[rest].append((name, dict(labels).get("le"), value))
        for group in groups.values():
            line = repr((family.name, group))
            buckets, tail = group[:-2], group[-2:]
            bounds = [float(le) for _, le, _ in buckets if le is not None]
            counts = [value for _, _, value in buckets]
            refuse_unless(len(bounds) == len(buckets) and bounds[-1:] == [float("inf")], line, "+Inf")
            refuse_unless(bounds == sorted(set(bounds)) and counts == sorted(counts), line, "order")
            refuse_unless(all(le == "+Inf" or repr(float(le)) == le for _, le, _ in buckets), line,
                          "a bound that is not canonical")
            refuse_unless([name for name, _, _ in tail] == [family.name + "_sum",
                                                            family.name + "_count"], line, "tail")
            refuse_unless(tail[1][2] == counts[-1], line, "the count is not that of +Inf")

    def check_names(self):
        """No name of a sample could be that of another family."""
        owners = {}
        for family in self.families.values():
            tails = {"counter": ("", "_total", "_created"), "gauge": ("",),
                     "histogram": ("", "_bucket", "_sum", "_count", "_created")}[family.type]
            for tail in tails:
                refuse_unless(owners.setdefault(family.name + tail, family) is family,
                              family.name + tail, "a name of two families")

    # ---- what tests ask ----

    def series(self):
        """{(name, labels sorted): value} of all families, named as in the plain format."""
        return {(name, tuple(sorted(labels))): value for family in self.families.values()
                for (name, labels), value in family.samples.items()}

    def rising(self):
        """The series that must never fall: counters, and of histograms all."""
        return {(name, tuple(sorted(labels))): value for family in self.families.values()
                for (name, labels), value in family.samples.items() if family.type != "gauge"}

    def __getitem__(self, name):
        """The value of `name{label="value",...}` or of `name`; the order does not matter."""
        base, _, rest = name.partition("{")
        labels = parse_labels(rest[:-1], name) if rest else ()
        return self.series()[base, tuple(sorted(labels))]


def scrape(gateway, is_open=False):
    """The page of a gateway, read strictly."""
    response = fetch(gateway.admin_port, "GET", "/metrics",
                     [("Accept", OPEN + ";version=1.0.0,text/plain;q=0.5")] if is_open else [])
    assert response.status == 200, response
    assert response.get("Content-Type") == (OPEN_TYPE if is_open else PLAIN_TYPE), response
    return Page(response.body.decode("utf-8"), is_open)


def promtool(*words, text=None):
    """-> (exit code, all that it said)."""
    done = subprocess.run([PROMTOOL, *words], input=text, capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr
