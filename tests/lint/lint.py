"""The lint of the tree: one function a rule, the tables first.

    lint.py [--root DIR] [--rule NAME]... [--list]

It prints `file:line: rule: what is wrong and what to do` and exits with 1 when it
found something, with 2 when a tool is missing. It changes nothing.
"""

import argparse
import concurrent.futures
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

import csource

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 600
WORKERS = 2
LINT_TIMEOUT_S = 300
SKIPPED_FOLDERS = {"build", "node_modules", "__pycache__"}

# ---- who may include whom (quoted includes) ----
# (folder, what it may include, why). The first row whose folder fits decides.
FOLDERS = [
    ("base/", ["base/"], "base is what all share and knows nothing of them"),
    ("policy/", ["base/", "policy/"], "policy decides from its arguments alone"),
    ("conf/", ["base/", "policy/", "conf/"], "conf fills policy and does not know the store"),
    ("store/", ["base/", "policy/", "store/"], "the store keeps rows and never looks at a route"),
    ("gateway/http1/", ["base/", "gateway/http1/"], "the codec has neither sockets nor receipts"),
    ("gateway/", ["base/", "policy/", "conf/", "store/", "gateway/"],
     "the gateway joins all four; generated files lie under gateway/ too"),
    ("preload/", ["base/", "preload/"], "the shim lives in other people's processes"),
    ("examples/", ["base/", "examples/"], "an example uses nothing that a stranger could not"),
    ("tests/", [""], "tests may see anything"),
]

# ---- who may include which system header ----
# (header, files that may, why). The first row that fits a header decides; a
# header without a row is free, but for the closed lists below.
ANYWHERE_ELSE = ["examples/*", "tests/*"]
SYSTEM = [
    ("event2/http.h", ["gateway/admin/*"],
     "evhttp accepts what a gateway must refuse: the operator plane alone has it"),
    ("event2/*", ["gateway/sources/*", "gateway/upstream/*", "gateway/admin/*",
                  "gateway/commands/*", "gateway/worker*", "gateway/main.c", "gateway/boot*",
                  "gateway/client*", "gateway/loop*", "gateway/listener*",
                  "gateway/reload*", "gateway/pulse*"],
     "only sources and ports know the event loop; rooms see ports"),
    ("sqlite3.h", ["store/sqlite*.c"], "one backend speaks SQLite"),
    ("libpq-fe.h", ["store/postgres*.c"], "one backend speaks PostgreSQL"),
    ("yaml.h", ["conf/yaml.c", "conf/openapi.c"],
     "one file turns YAML into nodes, one skims a description"),
    ("openssl/*", ["base/digest.c", "base/certificate.c", "base/signature.c", "gateway/tls/*",
                   "store/cipher.c"],
     "cryptography stays where it is reviewed"),
    ("jansson.h", ["gateway/admin/*", "gateway/commands/*"],
     "jansson folds numbers: never for fingerprints, and never in a room"),
    ("pthread.h", ["store/committer*", "store/inbox*", "store/checkpoint*", "gateway/worker*",
                   "gateway/board*", "gateway/main*", "gateway/boot*", "base/log*.c",
                   "gateway/tls/book.c",
                   "preload/*"],
     "threads meet only at the store's queue, the board and the start"),
]
# (folder, the only system headers it may include, why)
CLOSED = [
    ("policy/", ["inttypes.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h", "stdint.h",
                 "string.h"],
     "policy has no input, output, clock, memory or errors of its own"),
]
# (folder, system headers it may never include, why)
NEVER = [
    ("gateway/rooms/", ["sys/socket.h", "netinet/*", "arpa/inet.h", "netdb.h", "sys/un.h",
                        "poll.h", "sys/epoll.h", "sqlite3.h", "libpq-fe.h", "jansson.h",
                        "event2/*"],
     "a room sees ports, never a socket, a database or a JSON library"),
    ("gateway/http1/", ["sys/socket.h", "netinet/*", "unistd.h", "event2/*"],
     "bytes in, events out: the codec touches no descriptor"),
]

# ---- what policy's objects may need from outside (nm -u) ----
PURE_BUILD = ["-O1", "-fno-stack-protector", "-fno-pic"]
PURE_SYMBOLS = {"gw_assert_fail", "memcmp", "memcpy", "memset", "strlen"}

# ---- calls that are never made ----
# (folder or "" for everywhere, name, why)
BANNED = [("", name, why) for name, why in [
    ("strcpy", "it has no bound"), ("strcat", "it has no bound"), ("sprintf", "it has no bound"),
    ("vsprintf", "it has no bound"), ("gets", "it has no bound"), ("strtok", "it keeps state"),
    ("gmtime", "its result is shared"), ("localtime", "its result is shared"),
    ("asctime", "its result is shared"), ("ctime", "its result is shared"),
    ("atoi", "it hides what is wrong"), ("atol", "it hides what is wrong"),
    ("strncpy", "it may leave the NUL out"), ("alloca", "the stack has no bound to ask"),
]] + [("tests/", name, "a test waits for an event, never for a time")
      for name in ("sleep", "usleep", "nanosleep")]
BANNED_PYTHON = [("tests/", "time.sl" + "eep", "a test waits for an event, never for a time")]

MARKERS = ("TO" + "DO", "FIX" + "ME", "X" + "XX")
TEXT_PATTERNS = ["*.c", "*.h", "*.def", "*.py", "*/CMakeLists.txt", "CMakeLists.txt", "tools/*",
                 ".ci/*"]
# What tests/CMakeLists.txt defines for every test.
BUILD_GIVES = ['-DSOURCE_DIR=""', '-DSHARED_DATA=""']
COMPILE = ["gcc", "-std=c17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"]


class Tree:
    """The files under a root, read once."""

    def __init__(self, root):
        self.root = os.path.abspath(root)
        self.names = []
        self.texts = {}
        for folder, folders, names in os.walk(self.root):
            inside = os.path.relpath(folder, self.root)
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS
                                and (not f.startswith(".") or f == ".ci"))
            for name in sorted(names):
                self.names.append(os.path.normpath(os.path.join(inside, name)))

    def select(self, *patterns):
        return [name for name in self.names if any(fnmatch.fnmatch(name, p) for p in patterns)]

    def sources(self):
        return self.select("*.c", "*.h")

    def text(self, name):
        if name not in self.texts:
            with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as file:
                self.texts[name] = file.read()
        return self.texts[name]

    def source(self, name):
        return csource.parse(self.text(name))


def fits(name, patterns):
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def run(command, cwd=None, text=None):
    return subprocess.run(command, cwd=cwd, input=text, capture_output=True, text=True,
                          timeout=LINT_TIMEOUT_S, check=False)


# ---- the rules: each yields (file, line, text) ----

def check_format(tree):
    """Sources look as .clang-format says (.def tables are aligned by hand)."""
    names = tree.sources()
    for at in range(0, len(names), 50):
        done = run(["clang-format-14", "--dry-run", "-Werror", *names[at:at + 50]], cwd=tree.root)
        seen = set()
        for line in done.stderr.splitlines():
            found = re.match(r"(.+?):(\d+):\d+: (error|warning): ", line)
            if found and found.group(1) not in seen:
                seen.add(found.group(1))
                yield found.group(1), int(found.group(2)), "run clang-format-14 -i on it"
        if done.returncode != 0 and not seen:
            yield names[at], 0, "clang-format-14 failed: " + done.stderr.strip()[:200]


def check_includes(tree):
    """Folders and system headers are included only by whom the tables allow."""
    for name in tree.select("*.c", "*.h", "*.def"):
        for line, quoted, header in tree.source(name).includes:
            verdict = judge_quoted(name, header) if quoted else judge_system(name, header)
            if verdict:
                yield name, line, verdict


def judge_quoted(name, header):
    for folder, allowed, why in FOLDERS:
        if name.startswith(folder):
            if any(header.startswith(prefix) for prefix in allowed):
                return None
            return "may not include \"%s\": %s" % (header, why)
    return "lies in no folder of the include table"


def judge_system(name, header):
    for folder, headers, why in NEVER:
        if name.startswith(folder) and fits(header, headers):
            return "may not include <%s>: %s" % (header, why)
    for folder, headers, why in CLOSED:
        if name.startswith(folder):
            return None if header in headers else "may not include <%s>: %s" % (header, why)
    for pattern, files, why in SYSTEM:
        if fnmatch.fnmatch(header, pattern):
            if fits(name, files) or fits(name, ANYWHERE_ELSE):
                return None
            return "may not include <%s>: %s" % (header, why)
    return None


def check_purity(tree):
    """The objects of policy/ need nothing but the assert handler and a few string functions."""
    names = tree.select("policy/*.c")
    with tempfile.TemporaryDirectory(prefix="recibo-lint-") as folder:
        def build(name):
            target = os.path.join(folder, name.replace("/", "_") + ".o")
            return name, target, run([*COMPILE, *PURE_BUILD, "-I", tree.root, "-c",
                                      os.path.join(tree.root, name), "-o", target])

        objects = []
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
            for name, target, done in pool.map(build, names):
                if done.returncode == 0:
                    objects.append((name, target))
                else:
                    yield name, 0, "does not compile: " + first_error(done.stderr)
        defined = set()
        for _, target in objects:
            defined |= symbols(target, "--defined-only")
        for name, target in objects:
            foreign = symbols(target, "--undefined-only") - defined - PURE_SYMBOLS
            for symbol in sorted(foreign):
                yield name, 0, "needs %s: policy may need only %s" % (
                    symbol, " ".join(sorted(PURE_SYMBOLS)))


def symbols(target, which):
    done = run(["nm", "-g", which, "--format=posix", target])
    if done.returncode != 0:
        raise RuntimeError("nm: " + done.stderr.strip())
    return {line.split()[0] for line in done.stdout.splitlines() if line.strip()}


def first_error(text):
    lines = [line for line in text.splitlines() if "error" in line]
    return (lines or text.splitlines() or ["no message"])[0].strip()


def check_function_length(tree):
    """A function has at most 70 lines."""
    for name in tree.sources():
        for function in tree.source(name).functions:
            if function.lines > FUNCTION_LINES_MAX:
                yield name, function.line, "%s() has %d lines, at most %d are allowed" % (
                    function.name, function.lines, FUNCTION_LINES_MAX)


def check_file_length(tree):
    """A file has at most 600 lines."""
    for name in tree.select("*.c", "*.h", "*.py"):
        lines = tree.text(name).count("\n")
        if lines > FILE_LINES_MAX:
            yield name, lines, "has %d lines, at most %d are allowed" % (lines, FILE_LINES_MAX)


def check_banned(tree):
    """Calls without a bound, with hidden state, or that wait for a time are not made."""
    for name in tree.sources():
        code = tree.source(name).code
        for folder, call, why in BANNED:
            if name.startswith(folder):
                for found in re.finditer(r"\b%s\s*\(" % call, code):
                    yield name, line_of(code, found.start()), "calls %s: %s" % (call, why)
    for name in tree.select("*.py"):
        for folder, call, why in BANNED_PYTHON:
            if name.startswith(folder) and call + "(" in tree.text(name):
                at = tree.text(name).index(call + "(")
                yield name, line_of(tree.text(name), at), "calls %s: %s" % (call, why)


def check_comments(tree):
    """`//` marks what must not be committed."""
    for name in tree.sources():
        for line in tree.source(name).slash_comments:
            yield name, line, "has a // comment: remove it, or write /* */"


def check_opening(tree):
    """A source file opens with a comment: its job and what it must never do."""
    for name in tree.sources():
        if not tree.text(name).startswith("/*"):
            yield name, 1, "does not open with a comment that says its job"


def check_headers(tree):
    """A header compiles alone, and may be included twice."""
    def build(name):
        text = '#include "%s"\n#include "%s"\n' % (name, name)
        return name, run([*COMPILE, *BUILD_GIVES, "-fsyntax-only", "-I", tree.root, "-x", "c", "-"],
                         cwd=tree.root, text=text)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for name, done in pool.map(build, tree.select("*.h")):
            if done.returncode != 0:
                yield name, 0, "does not compile alone: " + first_error(done.stderr)


def check_statics(tree):
    """No function has a static variable of its own, but for constant tables."""
    for name in tree.sources():
        source = tree.source(name)
        for function in source.functions:
            body = source.code[function.start:function.end]
            for found in re.finditer(r"^[ \t]+(static|_Thread_local|thread_local)\s+([^;={]*)",
                                     body, re.MULTILINE):
                if not re.search(r"\bconst\b", found.group(2)):
                    yield name, line_of(source.code, function.start + found.start(1)), \
                        "%s() keeps a static variable: pass the state in" % function.name


def check_recursion(tree):
    """No function calls itself."""
    for name in tree.sources():
        source = tree.source(name)
        for function in source.functions:
            body = source.code[function.body:function.end]
            found = re.search(r"(?<![\w.>])%s\s*\(" % re.escape(function.name), body)
            if found:
                yield name, line_of(source.code, function.body + found.start()), \
                    "%s() calls itself: use a loop with a bound" % function.name


def check_typedefs(tree):
    """Structs and enums have no typedef; function types may."""
    for name in tree.sources():
        code = tree.source(name).code
        for found in re.finditer(r"\btypedef\s+(const\s+)?(struct|enum|union)\b[^;({]*[;{]", code):
            yield name, line_of(code, found.start()), "a typedef hides a struct or an enum"


def check_space(tree):
    """No tabs, no blanks at the end of a line, a newline at the end of the file."""
    for name in tree.select(*TEXT_PATTERNS):
        text = tree.text(name)
        for number, line in enumerate(text.split("\n"), 1):
            if "\t" in line:
                yield name, number, "has a tab character"
            if line != line.rstrip():
                yield name, number, "has blanks at the end of the line"
        if text and not text.endswith("\n"):
            yield name, text.count("\n") + 1, "does not end with a newline"


def check_markers(tree):
    """What is unfinished is not marked, it is finished or left out."""
    pattern = re.compile(r"\b(%s)\b" % "|".join(MARKERS))
    for name in tree.select(*TEXT_PATTERNS):
        for found in pattern.finditer(tree.text(name)):
            yield name, line_of(tree.text(name), found.start()), "has the mark " + found.group(1)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


RULES = {function.__name__[len("check_"):].replace("_", "-"): function for function in (
    check_format, check_includes, check_purity, check_function_length, check_file_length,
    check_banned, check_comments, check_opening, check_headers, check_statics, check_recursion,
    check_typedefs, check_space, check_markers)}
TOOLS = ("clang-format-14", "gcc", "nm")


def lint(root, rules=None):
    """-> [(rule, file, line, text)] of the chosen rules, all by default."""
    tree = Tree(root)
    return [(rule, *finding) for rule in (rules or RULES) for finding in RULES[rule](tree)
            if not is_excused(tree, rule, *finding[:2])]


def is_excused(tree, rule, name, line):
    """A comment on the line or the one above, `/* lint RULE: why */`, with its reason."""
    lines = tree.text(name).split("\n")[max(0, line - 2):line] if line > 0 else []
    return any(re.search(r"/\* lint %s: \w.{10,}" % re.escape(rule), text) for text in lines)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), "..", ".."))
    parser.add_argument("--rule", action="append", choices=sorted(RULES), help="only this rule")
    parser.add_argument("--list", action="store_true", help="what each rule says")
    options = parser.parse_args(arguments)
    if options.list:
        for name, function in RULES.items():
            print("%-16s %s" % (name, function.__doc__))
        return 0
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print("lint: missing: %s; tools/lint installs them" % " ".join(missing), file=sys.stderr)
        return 2
    findings = lint(options.root, options.rule)
    for rule, name, line, text in findings:
        print("%s:%d: %s: %s" % (name, line, rule, text))
    print("lint: %d findings, %d rules" % (len(findings), len(options.rule or RULES)))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
