"""Fills the tables of the documents from the tables of the code.

    doc_tables.py [--root DIR] [--write]

A document marks the place with `<!-- table: NAME -->` and `<!-- end of table -->`;
what stands between them is printed from the code and not written by hand. Without
--write it only says which documents are stale, and exits with 1 if one is.
"""

import argparse
import os
import re
import sys

import lint

PLACE = re.compile(r"(<!-- table: ([a-z-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
DOCUMENTS = ["README.md", "docs"]


# ---- reading a .def file ----

def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def rows(root, name, macro):
    """-> the arguments of each MACRO(...) of a .def file; strings without their quotes."""
    with open(os.path.join(root, name), encoding="utf-8") as file:
        text = without_comments(file.read())
    found = []
    for start in re.finditer(r"^%s\(" % re.escape(macro), text, re.MULTILINE):
        found.append(arguments(text, start.end()))
    if not found:
        raise ValueError("%s has no %s(...)" % (name, macro))
    return found


def arguments(text, at):
    """Splits at the commas of one call; neighbouring strings are one, as in C."""
    result, current = [], ""
    while True:
        token = re.compile(r'\s+|"((?:[^"\\]|\\.)*)"|[,)]|[^\s,)"]+').match(text, at)
        at = token.end()
        if token.group() in (",", ")"):
            result.append(current)
            current = ""
            if token.group() == ")":
                return result
        elif token.group(1) is not None:
            current += re.sub(r"\\(.)", r"\1", token.group(1))
        elif not token.group().isspace():
            current += (" " if current else "") + token.group()


# ---- printing ----

def table(head, lines):
    yield "| %s |" % " | ".join(head)
    yield "|%s" % ("---|" * len(head))
    for line in lines:
        yield "| %s |" % " | ".join(cell.replace("|", "\\|") for cell in line)


def code(text):
    return "`%s`" % text


def problems(root):
    lines = [(code(code_), status, "yes" if retry == "1" else "no", title)
             for _, code_, status, retry, title in rows(root, "gateway/problems.def", "PROBLEM")]
    return table(("`code`", "status", "`retry_may_help`", "`title`"), lines)


def outcomes(root):
    words = [code(word) for _, word in rows(root, "gateway/outcomes.def", "OUTCOME")]
    return [", ".join(words) + "."]


FLAG_WORDS = {
    "HOP": "not forwarded",
    "OWNED": "taken out of upstream answers",
    "NO_STORE": "not kept",
    "COOKIE": "kept and replayed with `replay.set_cookie` only",
    "FRESH": "not replayed",
    "OVERRIDE": "removed on guarded routes",
    "FORWARDED": "made anew",
    "SECRET": "never in evidence, store or log",
    "FRAMING": "made anew",
}


def headers(root):
    lines = []
    for name, flags, doc in rows(root, "policy/headers.def", "FIELD"):
        words = [FLAG_WORDS[flag.strip()] for flag in flags.split("|")]
        lines.append((code(name), "; ".join(dict.fromkeys(words)), doc))
    return table(("field", "what Recibo does with it", "it"), lines)


def rooms(root):
    lines = [(code(name), "[%s.c](../gateway/rooms/%s.c)" % (name, name), doc)
             for name, doc in rows(root, "gateway/rooms.def", "ROOM")]
    return table(("room", "file", "its one job"), lines)


def metrics(root):
    lines = []
    for _, name, kind, _, labels, doc in rows(root, "gateway/admin/metrics.def", "METRIC"):
        braces = "{%s}" % ",".join(labels.split()) if labels else ""
        lines.append((code(name + ("_total" if kind == "counter" else "") + braces), kind, doc))
    return table(("metric", "type", "what it says"), lines)


def folders(_root):
    lines = [(code(folder), " ".join(code(name) for name in allowed if name) or "everything", why)
             for folder, allowed, why in lint.FOLDERS]
    return table(("files in", "may include", "because"), lines)


def system_headers(_root):
    lines = [(code("<%s>" % header), " ".join(code(name) for name in files), why)
             for header, files, why in lint.SYSTEM]
    return table(("header", "only in", "because"), lines)


TABLES = {function.__name__.replace("_", "-"): function for function in (
    problems, outcomes, headers, rooms, metrics, folders, system_headers)}


# ---- documents ----

def documents(root):
    """-> the names of all documents, from the root."""
    for name in DOCUMENTS:
        if name.endswith(".md"):
            yield name
            continue
        for folder, _, names in sorted(os.walk(os.path.join(root, name))):
            for found in sorted(names):
                if found.endswith(".md"):
                    yield os.path.relpath(os.path.join(folder, found), root)


def read(root, name):
    with open(os.path.join(root, name), encoding="utf-8") as file:
        return file.read()


def fill(root, text):
    """-> the text with every marked table as the code has it."""
    def one(found):
        if found.group(2) not in TABLES:
            raise ValueError("there is no table %r; these are: %s"
                             % (found.group(2), " ".join(sorted(TABLES))))
        lines = "\n".join(TABLES[found.group(2)](root))
        return "%s%s\n%s" % (found.group(1), lines, found.group(4))
    return PLACE.sub(one, text)


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--write", action="store_true", help="bring the documents up to date")
    options = parser.parse_args(words)
    stale = [name for name in documents(options.root)
             if fill(options.root, read(options.root, name)) != read(options.root, name)]
    for name in stale:
        if options.write:
            text = fill(options.root, read(options.root, name))
            with open(os.path.join(options.root, name), "w", encoding="utf-8") as file:
                file.write(text)
        print("%s %s" % ("written:" if options.write else "stale:", name))
    return 1 if stale and not options.write else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
