"""Every parser of foreign bytes has a fuzz target with a corpus that the ordinary
tests replay, and a parser that is added without one is noticed.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FUZZ = os.path.join(ROOT, "tests", "fuzz")

# target -> {header: functions of it that the target reaches, by itself or through another}
PARSERS = {
    "fuzz_admin_body": {"gateway/admin/body.h": ["body_parse"],
                        "gateway/admin/answer.h": ["answer_read"],
                        "gateway/admin/query.h": ["query_parse", "query_decode"],
                        "base/text.h": ["gw_parse_u64", "gw_hex_decode", "gw_base64_decode",
                                        "gw_rfc3339_parse"]},
    "fuzz_openapi": {"conf/openapi.h": ["openapi_read"]},
    "fuzz_conf": {"conf/conf.h": ["conf_parse"], "conf/yaml.h": ["yaml_read"]},
    "fuzz_csv": {"policy/csv_reader.h": ["csv_reader_next", "csv_field_content"]},
    "fuzz_form": {"policy/canonical.h": ["form_parse", "form_decode"]},
    "fuzz_http1_request": {"gateway/http1/http1.h": ["http1_feed"],
                           "gateway/http1/parts.h": ["http1_feed_chunks"]},
    "fuzz_http1_response": {"gateway/http1/http1.h": ["http1_feed"]},
    "fuzz_jws": {"gateway/owners/jws.h": ["jws_open", "jws_parse"],
                 "conf/jwk.h": ["jwk_set_read"], "base/text.h": ["gw_base64url_decode"]},
    "fuzz_json": {"policy/json.h": ["json_parse", "json_decode"]},
    "fuzz_key": {"policy/key.h": ["key_from_lines", "key_from_text"]},
    "fuzz_local": {"policy/accept.h": ["accept_body"], "policy/sql_text.h": ["sql_text_next"],
                   "policy/local.h": ["local_check_statement", "local_check_setup"]},
    "fuzz_media": {"gateway/media.h": ["media_parameter", "media_normalized"]},
    "fuzz_multipart": {"policy/canonical.h": ["canonical_multipart"]},
    "fuzz_prefer": {"gateway/prefer.h": ["prefer_read"]},
    "fuzz_retry_after": {"policy/backoff.h": ["retry_after_ms"]},
    "fuzz_route": {"policy/route.h": ["route_pattern_parse", "route_find"]},
    "fuzz_row": {"store/row.h": ["attempts_decode", "labels_decode", "members_decode",
                                 "message_decode", "probes_decode"],
                 "store/plan.h": ["plan_items_decode"]},
    "fuzz_template": {"policy/template.h": ["template_parse", "template_fill"]},
    "fuzz_rules": {"policy/rules.h": ["rule_fits", "glob_fits"],
                   "policy/classify.h": ["classify"]},
}

# Named like parsers, and why they need no target of their own.
EXEMPT = {
    "address_parse": "numeric addresses: inet_pton does the reading",
    "local_values_read": "hands a body to the readers of policy/, which are fuzzed",
    "match_read": "hands a file to csv_reader, which is fuzzed",
    "memory_groups_read": "the process's own memory",
    "memory_observed_read": "the process's own memory",
    "memory_plans_read": "the process's own memory",
    "memory_tally_read": "the process's own memory",
    "options_parse": "the operator's own command line",
    "page_read": "rows of a database; row_check and the decoders are fuzzed",
    "sqlite_groups_read": "columns of a database; SQLite reads them",
    "sqlite_observed_read": "columns of a database; SQLite reads them",
    "sqlite_plans_read": "columns of a database; the packed items are fuzzed",
    "sqlite_tally_read": "columns of a database; SQLite reads them",
    "print_parse": "hands a body to the readers of policy/, which are fuzzed",
}

# "wants_read" asks for readiness and reads nothing.
NAMED_LIKE_A_PARSER = re.compile(
    r"\b(\w+_(?:parse|decode|(?<!want_)(?<!wants_)read|feed)(?:_chunks)?|parse_\w+)\(")
ADD_TEST = re.compile(r"^add_test\((?:\[=*\[)?(\w+)(?:\]=*\])? (.*)\)$", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def headers(root):
    """-> the product's headers, relative to the root."""
    for folder in ["base", "conf", "policy", "gateway", "store"]:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in fnmatch.filter(names, "*.h"):
                yield os.path.relpath(os.path.join(where, name), root)


def unlisted(texts):
    """-> functions named like parsers that are neither in PARSERS nor in EXEMPT."""
    known = set(EXEMPT)
    for parts in PARSERS.values():
        for functions in parts.values():
            known.update(functions)
    found = set()
    for text in texts:
        found.update(NAMED_LIKE_A_PARSER.findall(COMMENT.sub(" ", text)))
    return found - known


def targets():
    return sorted(name[:-2] for name in os.listdir(FUZZ)
                  if fnmatch.fnmatch(name, "fuzz_*.c"))


class FuzzTargets(unittest.TestCase):
    def test_list_is_whole(self):
        """Each target is in the list, and each of the list is there."""
        self.assertEqual(targets(), sorted(PARSERS))

    def test_headers_declare_what_is_listed(self):
        """The list names functions that exist."""
        for target, parts in PARSERS.items():
            for header, functions in parts.items():
                text = COMMENT.sub(" ", read(header))
                for function in functions:
                    self.assertRegex(text, r"\b%s\(" % function, "%s: %s" % (target, header))

    def test_no_parser_is_forgotten(self):
        """A header that declares a parser without a target is noticed."""
        self.assertEqual(unlisted(read(name) for name in headers(ROOT)), set())
        self.assertEqual(unlisted(["bool cookie_parse(struct span text);"]), {"cookie_parse"})

    def test_corpus(self):
        """Each target has inputs of its own, more than one or two for show."""
        for target in targets():
            folder = os.path.join(FUZZ, "corpus", target)
            self.assertTrue(os.path.isdir(folder), "%s has no corpus" % target)
            contents = set()
            for name in sorted(os.listdir(folder)):
                with open(os.path.join(folder, name), "rb") as file:
                    contents.add(file.read())
            self.assertGreaterEqual(len(contents), 8, target)

    def test_no_inputs_of_nobody(self):
        """Inputs belong to a target; else nothing replays them."""
        for kind in ["corpus", "regressions"]:
            folder = os.path.join(FUZZ, kind)
            names = os.listdir(folder) if os.path.isdir(folder) else []
            self.assertLessEqual(set(names), set(targets()), kind)

    def test_inputs_are_replayed(self):
        """The ordinary tests hand each corpus and each kept finding to its target."""
        listed = os.path.join(os.environ.get("RECIBO_BUILD", ""), "tests", "CTestTestfile.cmake")
        if not os.path.exists(listed):
            self.skipTest("RECIBO_BUILD names no build with tests")
        with open(listed, encoding="utf-8") as file:
            commands = {name: rest.replace('"', " ").split()
                        for name, rest in ADD_TEST.findall(file.read())}
        for target in targets():
            self.assertIn(target, commands)
            folder = os.path.join(FUZZ, "corpus", target)
            self.assertIn(folder, commands[target])
            kept = os.path.join(FUZZ, "regressions", target)
            for name in os.listdir(kept) if os.path.isdir(kept) else []:
                self.assertIn(os.path.join(kept, name), commands[target])


class Tool(unittest.TestCase):
    """tools/fuzz over a tree of its own, with stand-ins for cmake and the targets."""

    def setUp(self):
        self.tree = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.tree)
        for folder in ["tools/lib", "tests/fuzz/corpus/fuzz_a", "build/fuzz/tests", "bin"]:
            os.makedirs(os.path.join(self.tree, folder))
        shutil.copy(os.path.join(ROOT, "tools", "fuzz"), os.path.join(self.tree, "tools"))
        self.write("tools/lib/common.sh", "say() { :; }\ndie() { echo \"$*\" >&2; exit 1; }\n"
                   "need_packages() { :; }\ncheck_libevent() { :; }\n"
                   "BUILD_PACKAGES=(); TEST_PACKAGES=()\n")
        self.write("bin/cmake", "#!/bin/sh\nexit 0\n")
        self.write("tests/fuzz/fuzz_a.c", "")
        self.write("tests/fuzz/corpus/fuzz_a/one", "1")

    def write(self, name, text):
        path = os.path.join(self.tree, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def run_tool(self, target, *arguments):
        self.write("build/fuzz/tests/fuzz_a", "#!/bin/bash\n" + target)
        path = os.path.join(self.tree, "bin") + os.pathsep + os.environ["PATH"]
        return subprocess.run([os.path.join(self.tree, "tools", "fuzz"), *arguments],
                              env=dict(os.environ, PATH=path), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8")

    def test_nothing_found(self):
        """Without a finding the table shows the runs and the exit status is 0."""
        ran = self.run_tool("echo stat::number_of_executed_units: 4711\n", "1")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertRegex(ran.stdout, r"(?m)^fuzz_a +4711 +0$")

    def test_finding_is_kept(self):
        """An input that breaks a target ends where the tests replay it, and fails the run."""
        ran = self.run_tool("for a; do case $a in -artifact_prefix=*) p=${a#*=};; esac; done\n"
                            "echo bad >\"${p}crash-1\"\nexit 77\n", "1")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"(?m)^fuzz_a +- +1$")
        kept = os.path.join(self.tree, "tests", "fuzz", "regressions", "fuzz_a")
        self.assertEqual(os.listdir(kept), ["crash-1"])

    def test_target_that_only_fails(self):
        """A target that ends badly counts as a finding, with or without an input."""
        ran = self.run_tool("exit 1\n", "1")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stdout, r"(?m)^fuzz_a +- +1$")

    def test_arguments(self):
        """What is no number of seconds or no target is refused before anything is built."""
        self.assertEqual(self.run_tool("", "soon").returncode, 2)
        self.assertEqual(self.run_tool("", "0").returncode, 2)
        self.assertEqual(self.run_tool("", "1", "fuzz_b").returncode, 1)
        self.assertEqual(self.run_tool("", "1", "../fuzz_a").returncode, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2, argv=sys.argv)
