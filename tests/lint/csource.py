"""Just enough C to lint it: comments and literals apart, includes, functions.

Offsets and line numbers of `code` are those of the file: what is taken out is
blanked, never removed. It is no parser; what it cannot read it leaves out.
"""

import functools
import re

TOKEN = re.compile(r"""
    (?P<slash>//(?:\\\n|[^\n])*)
  | (?P<comment>/\*.*?(?:\*/|\Z))
  | (?P<string>"(?:\\.|[^"\\\n])*")
  | (?P<char>'(?:\\.|[^'\\\n])*')
""", re.VERBOSE | re.DOTALL)
INCLUDE = re.compile(r'^[ \t]*\#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
DIRECTIVE = re.compile(r"^[ \t]*\#(?:\\\n|[^\n])*", re.MULTILINE)
NOT_NAMES = {"if", "while", "for", "switch", "return", "sizeof", "defined", "__attribute__",
             "_Static_assert", "static_assert", "_Alignas", "alignas", "do", "else"}


class Function:
    """name, line of the name, lines to the closing brace, offsets start, body, end."""

    def __init__(self, name, line, lines, start, body, end):
        self.name, self.line, self.lines = name, line, lines
        self.start, self.body, self.end = start, body, end


class Source:
    def __init__(self, text):
        self.slash_comments = []
        kept = TOKEN.sub(self._keep_literals, text)
        self.includes = [(kept.count("\n", 0, found.start()) + 1, found.group(1) is not None,
                          found.group(1) or found.group(2)) for found in INCLUDE.finditer(kept)]
        for found in TOKEN.finditer(text):
            if found.lastgroup == "slash":
                self.slash_comments.append(text.count("\n", 0, found.start()) + 1)
        self.code = TOKEN.sub(lambda found: blank(found.group()), text)
        self.functions = list(functions(DIRECTIVE.sub(lambda m: blank(m.group()), self.code)))

    @staticmethod
    def _keep_literals(found):
        return found.group() if found.lastgroup in ("string", "char") else blank(found.group())


def blank(text):
    return re.sub(r"[^\n]", " ", text)


@functools.lru_cache(maxsize=4096)
def parse(text):
    return Source(text)


def functions(code):
    """The functions at the top level: a brace behind a parameter list."""
    depth, declared, body = 0, 0, None
    for at, mark in ((found.start(), found.group()) for found in re.finditer(r"[{};]", code)):
        if mark == "{":
            if depth == 0:
                body = at if is_function(code[declared:at]) else None
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
            if depth == 0:
                if body is not None:
                    yield describe(code, declared, body, at + 1)
                declared, body = at + 1, None
        elif depth == 0:
            declared = at + 1


def is_function(declaration):
    text = declaration.rstrip()
    return text.endswith(")") and "=" not in text and name_in(text) is not None


def name_in(declaration):
    for found in re.finditer(r"([A-Za-z_]\w*)\s*\(", declaration):
        if found.group(1) not in NOT_NAMES:
            return found
    return None


def describe(code, declared, body, end):
    start = declared + len(code[declared:body]) - len(code[declared:body].lstrip())
    name = name_in(code[start:body])
    first = code.count("\n", 0, start + name.start()) + 1
    return Function(name.group(1), first, code.count("\n", 0, end) + 2 - first, start, body, end)
