"""Help, man pages and completion: all from one table, all of it true."""

import os
import re
import shutil
import subprocess

import admin_lib  # noqa: F401 - finds the harness
from cli_lib import DONE, USAGE, Case, run_alone
from harness import BINARY, BUILD, main, scratch


def parts():
    """Every command and every part of one, as words."""
    commands = re.findall(r"^  ([a-z-]+)  ", run_alone("help").stdout, re.MULTILINE)
    for command in commands:
        yield (command,)
        text = run_alone(command, "--help").stdout
        if "Each has its own --help." in text:
            block = text[:text.index("Each has its own --help.")]
            for word in re.findall(r"^  ([a-z-]+)  ", block, re.MULTILINE):
                yield (command, word)


class Help(Case):
    def test_each_has_examples_that_are_its_own(self):
        """--help of every command has a usage, an option --help, and examples that begin with it."""
        found = list(parts())
        self.assertIn(("backlog", "settle"), found)
        self.assertGreater(len(found), 25)
        for words in found:
            with self.subTest(words=words):
                done = run_alone(*words, "--help")
                self.assertEqual((done.returncode, done.stderr), (DONE, ""))
                self.assertTrue(done.stdout.startswith("usage: recibo " + " ".join(words)))
                self.assertIn("  --help  ", done.stdout)
                examples = done.stdout[done.stdout.index("\nExamples:\n"):]
                self.assertIn("recibo " + " ".join(words), examples)
                self.assertEqual(run_alone("help", *words).stdout, done.stdout)
                self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_the_options_of_the_examples_exist(self):
        """No example uses an option that its command does not know."""
        for words in parts():
            text = run_alone(*words, "--help").stdout
            known = set(re.findall(r"^  (-{1,2}[A-Za-z-]+)", text, re.MULTILINE))
            examples = text[text.index("\nExamples:\n"):].replace("\\\n", " ")
            for line in re.findall(r"recibo %s\b(?! -l)[^|&;<>)\n]*" % " ".join(words), examples):
                line = re.sub(r'"[^"]*"|\'[^\']*\'', "", line)
                for option in re.findall(r"(?<=\s)(-{1,2}[A-Za-z-]+)", line):
                    self.assertIn(option, known, line)


class Manual(Case):
    def names(self):
        return run_alone("help", "--man").stdout.split()

    def test_every_command_has_a_page(self):
        """A page for each, with the sections that pages have; parts stand in their group's."""
        names = self.names()
        self.assertEqual(names[0], "recibo")
        self.assertEqual(set(names[1:]), {words[0] for words in parts()})
        for name in names:
            page = run_alone("help", "--man", name).stdout
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS"):
                self.assertIn("\n.SH %s\n" % section, page)
        page = run_alone("help", "--man", "backlog").stdout
        for words in parts():
            if len(words) == 2:
                self.assertIn("\n.SS %s %s\n" % words, page)
        self.assertEqual(run_alone("help", "--man", "frobnicate").returncode, USAGE)

    def test_the_pages_render_without_a_warning(self):
        """man (or groff) reads every page without a word of complaint."""
        tool = [shutil.which(name) for name in ("groff", "mandoc")]
        if tool[0]:
            command = [tool[0], "-man", "-Tutf8", "-ww", "-z"]
        elif tool[1]:
            command = [tool[1], "-T", "lint", "-W", "warning"]
        else:
            self.skipTest("neither groff nor mandoc is installed")
        for name in self.names():
            with self.subTest(name=name):
                page = run_alone("help", "--man", name).stdout
                done = subprocess.run(command, input=page, capture_output=True, text=True,
                                      timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if shutil.which("man"):
                    path = os.path.join(scratch(), "page.1")
                    with open(path, "w", encoding="utf-8") as file:
                        file.write(page)
                    done = subprocess.run(["man", "--warnings", "-l", path], capture_output=True,
                                          text=True, timeout=60, check=False,
                                          env={**os.environ, "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertIn("EXIT STATUS", done.stdout)

    def test_they_are_installed(self):
        """cmake --install puts every page and the completion where they are looked for."""
        if not shutil.which("cmake") or not os.path.exists(os.path.join(BUILD, "cmake_install.cmake")):
            self.skipTest("there is no cmake here, or the build was moved")
        root = scratch()
        done = subprocess.run(["cmake", "--install", BUILD, "--prefix", "/usr", "--component", "manual"],
                              env={**os.environ, "DESTDIR": root}, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done)
        folder = os.path.join(root, "usr/share/man/man1")
        wanted = {"recibo.1"} | {"recibo-%s.1" % name for name in self.names()[1:]}
        self.assertEqual(set(os.listdir(folder)), wanted)
        for name in self.names():
            page = "recibo.1" if name == "recibo" else "recibo-%s.1" % name
            with open(os.path.join(folder, page), encoding="utf-8") as file:
                self.assertEqual(file.read(), run_alone("help", "--man", name).stdout)
        self.assertTrue(os.path.exists(os.path.join(root, "usr/share/bash-completion/completions/recibo")))


class Completion(Case):
    def setUp(self):
        if not shutil.which("bash"):
            self.skipTest("bash is not installed")
        self.script = os.path.join(scratch(), "completion")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(run_alone("help", "--completion", "bash").stdout)

    def complete(self, *words):
        """-> what bash would offer for the last of the words."""
        code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _recibo; '
                'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-uc", code, "bash", self.script, "recibo", *words],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout.split()

    def test_words_and_options_are_offered(self):
        """Commands, parts, options of the part, and the words of a choice."""
        self.assertEqual(self.complete("bac"), ["backlog"])
        self.assertEqual(set(self.complete("")) - {"--help", "--version"},
                         {words[0] for words in parts()})
        self.assertEqual(self.complete("backlog", "se"), ["settle"])
        self.assertIn("--verdict", self.complete("backlog", "settle", "--"))
        self.assertIn("--verdict", self.complete("backlog", "settle", "op_x", "--ver"))
        self.assertNotIn("--verdict", self.complete("backlog", "show", "--"))
        self.assertEqual(self.complete("backlog", "settle", "op_x", "--verdict", "exec"), ["executed"])
        self.assertEqual(self.complete("serve", "-c", ""), [])  # a file's name: bash's own part
        self.assertIn("--upstream", self.complete("pause", "--"))
        self.assertEqual(self.complete("frobnicate", "x"), [])

    def test_it_runs_nothing(self):
        """A word with a command in it is a word."""
        mark = os.path.join(scratch(), "mark")
        for word in ("$(touch %s)" % mark, "`touch %s`" % mark, "'; touch %s; '" % mark):
            self.complete("backlog", word)
            self.complete("backlog", "settle", word)
            self.complete(word, "")
        self.assertFalse(os.path.exists(mark))

    def test_every_option_is_offered(self):
        """For each command just the options that its help lists."""
        for words in parts():
            text = run_alone(*words, "--help").stdout
            known = set(re.findall(r"^  (-{1,2}[A-Za-z-]+)", text, re.MULTILINE))
            self.assertEqual(set(self.complete(*words, "-")), known, words)


class Binary(Case):
    def test_version(self):
        """The version for people and for programs."""
        text = run_alone("version").stdout
        version = re.fullmatch(r"recibo (\S+)\n", text).group(1)
        self.assertEqual(run_alone("version", "--json").stdout, '{"version":"%s"}\n' % version)
        self.assertEqual(run_alone("--version").stdout, text)
        self.assertTrue(os.access(BINARY, os.X_OK))


if __name__ == "__main__":
    main()
