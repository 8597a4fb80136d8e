"""The README's promise, sentence by sentence: the test that fails if it is false, and a
change of the program that makes it false and was seen to be caught.

    promise.py --table            the table of docs/testing.md
    promise.py --break [WORD]     in a copy of the tree: make each change (those whose
                                  words hold WORD), build, and see its test fail

The changes are text for text. One whose place is gone says so; it is stale, and the
claim with it.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADING = "## What it promises, and the tests that would fail if it did not"
TEST_TIMEOUT_S = 300
BUILD_JOBS = "2"

# test: "path::function". edits: (path, old, new); each old text occurs exactly once.
Break = collections.namedtuple("Break", "words test edits")
# breaks: empty only with a reason, for a sentence that promises nothing.
Sentence = collections.namedtuple("Sentence", "text breaks reason", defaults=("",))

RECEIPT = "policy/receipt.def"
ADMIT = "policy/admit.c"
CLASSIFY = "policy/classify.c"
AGAIN = "return by_gate(ADMIT_RERUN, facts->gate);"
LAST_MOVE = "MOVE(EXPIRED,   FORGET,   ABSENT)"
SENT_LAPSED = "MOVE(SENT,      LAPSED,   UNKNOWN)"
SENT_LOST = "MOVE(SENT,      LOST,     UNKNOWN)"


def more_moves(*moves):
    """An edit that gives the table of receipts more moves than it has."""
    return RECEIPT, LAST_MOVE, "\n".join((LAST_MOVE, *moves))


SENTENCES = [
    Sentence("For one (owner, scope, key) the upstream receives the operation at most once, unless "
             "an earlier attempt is known not to have run, or the route says that the API knows the "
             "key.", [
                 Break("an unknown runs again",
                       "tests/wire/test_reports_upstream.py::"
                       "test_a_timeout_is_not_a_reason_to_send_again",
                       [(ADMIT, "return ADMIT_UNKNOWN;", AGAIN),
                        more_moves("MOVE(UNKNOWN,   CLAIM,    CLAIMED)")]),
                 Break("owners share their keys",
                       "tests/wire/test_situations_owners.py::test_owners_do_not_meet",
                       [("store/row.c", "    gw_sha256_add_part(sha, owner);\n", "")]),
                 Break("scopes share their keys",
                       "tests/wire/test_situations_keys.py::test_a_route_is_a_key_space",
                       [("store/row.c", "    gw_sha256_add_part(sha, scope);\n", "")]),
             ]),
    Sentence("How the first is known is one of three words, and the word is kept with each attempt.", [
        Break("the word is not kept", "tests/wire/test_ends.py::test_connect_refused",
              [("gateway/rooms/classify.c", "(uint8_t)flow->result.basis", "BASIS_NONE")]),
    ]),
    Sentence("**proved**: not one byte of the request left, which Recibo counts itself.", [
        Break("a few bytes count as none", "tests/wire/test_ends.py::test_closed_no_answer",
              [(CLASSIFY, "    case END_GROUP_UNCLEAR:\n        if (facts->bytes_out == 0)",
                "    case END_GROUP_UNCLEAR:\n        if (facts->bytes_out < 100000)")]),
        Break("bytes are not counted", "tests/wire/test_ends.py::test_answered",
              [("gateway/upstream/connection.c", "exchange->bytes_out += (uint64_t)taken;",
                "exchange->bytes_out += taken > 0;")]),
    ]),
    Sentence("**declared**: the integrator said that a status or a rule of the route means \"it did "
             "not run\".", [
                 Break("a listed status is final",
                       "tests/wire/test_situations.py::test_each_refused_status",
                       [(CLASSIFY, "        result.event = RECEIPT_EV_REFUSED;\n"
                         "        result.basis = BASIS_DECLARED;\n"
                         "        result.line = outcome->refused_line;",
                         "        result.line = outcome->refused_line;")]),
                 Break("a rule is not declared", "tests/wire/test_situations.py::test_each_kind_of_rule",
                       [(CLASSIFY, "        result.event = RECEIPT_EV_REFUSED;\n"
                         "        result.basis = BASIS_DECLARED;\n"
                         "        result.reason = \"a rule",
                         "        result.reason = \"a rule")]),
             ]),
    Sentence("**asserted**: an operator said so, under a name and with a note.", [
        Break("no note is needed", "tests/wire/test_admin_settle.py::test_what_is_asked_must_be_whole",
              [("gateway/admin/body.c", "if (!is_text || blanks == text.len ||", "if (")]),
        Break("the name is not kept",
              "tests/wire/test_admin_settle.py::test_an_audit_and_the_verdict_survive_a_kill",
              [("gateway/admin/caller.c", "\"token:%.*s\", (int)token->name.len",
                "\"token:%.*s\", 0")]),
    ]),
    Sentence("A repeat of a completed operation gets the recorded answer, and nothing is sent.", [
        Break("a completed operation runs again", "tests/wire/test_replay.py::test_the_same_bytes",
              [(ADMIT, "return facts->answer_kept ? ADMIT_REPLAY : ADMIT_UNAVAILABLE;", AGAIN),
               more_moves("MOVE(COMPLETED, CLAIM,    CLAIMED)")]),
        Break("another status is recorded", "tests/wire/test_replay.py::test_the_same_bytes",
              [("gateway/rooms/record.c", ".status = head->status", ".status = 200")]),
    ]),
    Sentence("A changed request under a used key is refused, in every state.", [
        Break("compared only when completed",
              "tests/wire/test_replay.py::test_mismatch_comes_before_every_state",
              [(ADMIT, "return is_same ? ADMIT_RUN : ADMIT_MISMATCH;",
                "return is_same || facts->seen->state != RECEIPT_COMPLETED ? ADMIT_RUN"
                " : ADMIT_MISMATCH;")]),
        Break("compared in every state but completed",
              "tests/wire/test_reports_receipts.py::test_after_the_first_call_is_completed",
              [(ADMIT, "return is_same ? ADMIT_RUN : ADMIT_MISMATCH;",
                "return is_same || facts->seen->state == RECEIPT_COMPLETED ? ADMIT_RUN"
                " : ADMIT_MISMATCH;")]),
        Break("not compared while it runs",
              "tests/wire/test_reports_receipts.py::test_while_the_first_call_runs",
              [(ADMIT, "return is_same ? ADMIT_RUN : ADMIT_MISMATCH;",
                "return is_same || facts->seen->state == RECEIPT_SENT ? ADMIT_RUN"
                " : ADMIT_MISMATCH;")]),
    ]),
    Sentence("Any end of an attempt after a byte left is unknown, and not sent again; before, the "
             "key is free.", [
                 Break("a reset is a refusal", "tests/wire/test_ends.py::test_reset_no_answer",
                       [(CLASSIFY, "return lost(\"bytes of the request left and no whole answer came\")",
                         "return proved(\"bytes of the request left and no whole answer came\")")]),
                 Break("a refused connection is a doubt",
                       "tests/wire/test_situations.py::test_a_refused_connection",
                       [(CLASSIFY, "return proved(\"no byte of the request left\")",
                         "return lost(\"no byte of the request left\")")]),
             ]),
    Sentence("A doubt is sent again only where the route says that the API knows the key "
             "(`upstream_idempotency`), and only as long as it does.", [
                 Break("the API knows every key",
                       "tests/wire/test_retry.py::test_lost_is_never_sent_again",
                       [("policy/retry.c", "if (!policy->is_on || !route->passes_key)",
                         "if (!policy->is_on)"),
                        ("policy/retry.c", "if (!route->retry.is_on || !route->passes_key || ",
                         "if ("),
                        ("policy/retry.c", "needs_ms < route->dedup_window_ms;",
                         "needs_ms >= 0;")]),
                 Break("it never forgets one", "tests/wire/test_retry.py::test_outside_the_window",
                       [("policy/retry.c", "needs_ms < route->dedup_window_ms;",
                         "needs_ms >= 0;")]),
             ]),
    Sentence("What was accepted with 202 runs by itself, and if it never does it is cancelled and "
             "says so.", [
                 Break("nobody looks for it", "tests/wire/test_deferred.py::test_outage",
                       [("gateway/sources/deferred.c",
                         "bool may_go_on = !worker_is_draining(deferred->worker);",
                         "bool may_go_on = false;")]),
                 Break("it is tried for ever", "tests/wire/test_deferred.py::test_max_age",
                       [("policy/retry.c",
                         "found.at_ms - facts->promised_ms > route->defer.max_age_ms",
                         "found.at_ms < 0"),
                        ("policy/retry.c", "return now_ms - promised_ms > policy->max_age_ms;",
                         "return now_ms < policy->max_age_ms;")]),
             ]),
    Sentence("A cancel says \"stopped\" only of what was not sent and never will be.", [
        Break("what was sent is called stopped",
              "tests/wire/test_cancel.py::test_while_it_is_sent",
              [("policy/cancel.c", "return mark(cur, CANCEL_REQUESTED);",
                "return mark(cur, CANCEL_STOPPED);")]),
        Break("the wish is forgotten", "tests/wire/test_cancel.py::test_released",
              [("policy/cancel.c",
                "verdict.changes = (cur->marks & RECEIPT_CANCEL_REQUESTED) == 0;",
                "verdict.changes = false;")]),
    ]),
    Sentence("An operation is taken back once, however often that is asked for, and only if it is "
             "known to have been carried out.", [
                 Break("each who asks begins one",
                       "tests/wire/test_compensate.py::test_asked_by_many_at_once",
                       [("gateway/compensation.c",
                         "    store_identity(ret->owner, ret->scope, ret->key, &ret->identity);\n",
                         "    store_identity(ret->owner, ret->scope, ret->key, &ret->identity);\n"
                         "    memcpy(ret->identity.bytes, &ret, sizeof(void *));\n")]),
                 Break("a doubt is taken back", "tests/wire/test_compensate.py::test_unknown",
                       [("policy/compensate.c", "        return COMPENSATE_IN_DOUBT;",
                         "        return COMPENSATE_MAY;")]),
                 Break("a lost one is begun anew",
                       "tests/wire/test_compensate_fate.py::test_lost_is_never_sent_again",
                       [("policy/compensate.c", "    return COMPENSATE_UNKNOWN;\n}",
                         "    return COMPENSATE_ANEW;\n}"),
                        more_moves("MOVE(UNKNOWN,   DEFER,    DEFERRED)")]),
             ]),
    Sentence("Of many first calls at the same time one is sent; the others wait or are told so.", [
        Break("what runs may be claimed", "tests/wire/test_pending.py::test_one_of_many_is_sent",
              [(ADMIT, "return ADMIT_WAIT;", AGAIN),
               more_moves("MOVE(SENT,      CLAIM,    CLAIMED)")]),
        Break("nobody waits",
              "tests/wire/test_pending.py::test_one_of_many_is_sent_and_the_others_wait",
              [("gateway/rooms/waiting.c", "|| wait_ms <= 0)", "|| wait_ms != 0)")]),
    ]),
    Sentence("The receipt is durable before a byte leaves, the outcome before a byte of the answer "
             "does.", [
                 Break("a claim is committed with the next batch",
                       "tests/wire/test_ends.py::test_crashed",
                       [("store/sqlite.c", "    gw_assert(sqlite3_get_autocommit(s->db) != 0);\n",
                         "    if (sqlite3_get_autocommit(s->db) == 0)\n"
                         "        (void)sqlite_run(s, SQL_COMMIT, \"\", err);\n"),
                        ("store/sqlite.c", "status = sqlite_run(s, SQL_COMMIT, \"committing to\", err);",
                         "status = GW_OK; (void)err;")]),
                 Break("an outcome is committed with the next batch",
                       "tests/process/test_crash.py::"
                       "test_killed_between_the_answer_and_the_next_start",
                       [("store/sqlite.c", "    gw_assert(sqlite3_get_autocommit(s->db) != 0);\n",
                         "    if (sqlite3_get_autocommit(s->db) == 0)\n"
                         "        (void)sqlite_run(s, SQL_COMMIT, \"\", err);\n"),
                        ("store/sqlite.c", "status = sqlite_run(s, SQL_COMMIT, \"committing to\", err);",
                         "status = GW_OK; (void)err;")]),
             ]),
    Sentence("Where the receipt cannot be stored, nothing is sent.", [
        Break("it is sent all the same", "tests/process/test_store_trouble.py::test_each_way_to_refuse",
              [("gateway/rooms/claim.c", "        flow->only_reads = true;\n",
                "        if (flow->op.kind == STORE_CLAIM)\n"
                "            return flow_go(flow, FLOW_ROOM_forward);\n")]),
    ]),
    Sentence("After a crash nothing stays pending and nothing is sent again.", [
        Break("recovery moves nothing", "tests/process/test_crash.py::"
              "test_killed_with_every_place_taken",
              [(RECEIPT, SENT_LAPSED + "\n", "")]),
        Break("recovery frees the key",
              "tests/process/test_crash.py::test_killed_with_every_place_taken",
              [(RECEIPT, SENT_LAPSED, SENT_LAPSED.replace("UNKNOWN", "RELEASED"))]),
    ]),
    Sentence("A stop lets operations finish; what does not finish in time is recorded as unknown.", [
        Break("a stop does not wait", "tests/process/test_drain.py::test_the_answer_comes_in_time",
              [("gateway/boot.c", "worker_drain(boot->workers[i], boot->conf->drain_ms);",
                "worker_drain(boot->workers[i], 0);")]),
        Break("the rest is forgotten", "tests/process/test_drain.py::test_the_answer_does_not_come",
              [("gateway/worker.c", "    listeners_stop(worker->listeners);\n    for (struct flow",
                "    _Exit(0);\n    for (struct flow")]),
    ]),
    Sentence("A request whose end, host, target or key two programs could read in two ways is "
             "refused.", [
                 Break("two ways to find the end", "tests/wire/test_raw_requests.py::test_in_one_write",
                       [("gateway/http1/fields.c", "if (meaning->lengths > 0)\n        return",
                         "if (false)\n        return")]),
                 Break("two hosts", "tests/wire/test_raw_requests.py::test_in_one_write",
                       [("gateway/http1/fields.c", "if (meaning->hosts > 1)\n", "if (false)\n")]),
                 Break("two readings of the target",
                       "tests/wire/test_situations.py::"
                       "test_a_target_that_can_be_read_in_two_ways",
                       [("policy/route.c", "if (is_ambiguous(", "if (false && is_ambiguous(")]),
                 Break("two keys", "tests/wire/test_situations.py::test_two_key_lines",
                       [("policy/key.c", "if (line_count > 1)\n", "if (line_count > 9)\n")]),
             ]),
    Sentence("Every backend of the store means the same by a claim and a change.", [
        Break("a claim in memory is never too late",
              "tests/store/test_conformance.c::claim_wins_once",
              [("store/memory_rows.c", "if (memory_index_by_identity(m, &row->identity) != "
                "MEMORY_NO_SLOT) {", "if (false) {")]),
        Break("a change in memory drops the answer", "tests/store/test_conformance.c::bodies",
              [("store/memory_rows.c", "next.answer = old->row.answer;", "next.answer = SPAN(\"\");")]),
    ]),
    Sentence("A gateway that shares its store with others (no such store is served yet) and is not "
             "heard of loses what it leased to them, and then sends nothing of it.", [
                 Break("who is silent is never forgotten",
                       "tests/store/test_shared.c::a_silent_gateway_is_forgotten",
                       [("store/memory_shared.c", "if (m->holders[i].until_ms > now_ms)",
                         "if (m->holders[i].until_ms + now_ms > 0)")]),
                 Break("whoever looks judges by his own clock",
                       "tests/store/test_shared.c::a_living_gateway_keeps_its_lease",
                       [("store/row.c", "(!row->lease_is_foreign && row->receipt.lease_until_ms "
                         "<= now_ms)", "row->receipt.lease_until_ms <= now_ms")]),
                 Break("a new hold is one of what was leased before",
                       "tests/store/test_shared.c::an_older_number_holds_nothing",
                       [("store/holding.c", "atomic_load(&holding->holder) == holder",
                         "atomic_load(&holding->holder) + holder > 0")]),
             ]),
    Sentence("No event moves a receipt but as the table says.", [
        Break("one move too many", "tests/golden/receipt_table.c::test_receipt_table",
              [more_moves("MOVE(COMPLETED, LOST,     UNKNOWN)")]),
        Break("an old attempt may speak", "tests/golden/receipt_table.c::test_receipt_table",
              [("policy/receipt.c", "return ev->token != 0 && ev->token != cur->token;",
                "return false;")]),
    ]),
    Sentence("**Not exactly once.**", [
        Break("a contradiction is not told",
              "tests/wire/test_pending.py::test_a_possible_double_execution",
              [("gateway/rooms/record.c",
                "return contradict(flow, \"it came late, when the key had been claimed again\");",
                "return moves_nothing(flow);")]),
    ]),
    Sentence("Nothing between a client and an API without a shared transaction can.", [],
             "a reason, not a promise"),
    Sentence("Where an answer is lost, Recibo says *unknown*, and somebody has to look.", [
        Break("a lost answer frees the key", "tests/wire/test_situations.py::test_a_close",
              [(RECEIPT, SENT_LOST, SENT_LOST.replace("UNKNOWN", "RELEASED"))]),
    ]),
    Sentence("Nothing for requests that do not come through it, or pass on a route of mode `pass`.", [
        Break("a passing route asks for a key",
              "tests/process/test_limits_of_promise.py::test_what_passes_is_sent_each_time",
              [("gateway/rooms/route.c", "    return flow_go(flow, FLOW_ROOM_pass);\n}",
                "    return flow_refuse(flow, PROBLEM_KEY_MISSING, SPAN(\"\"));\n}")]),
    ]),
    Sentence("Nothing about two different keys.", [
        Break("the key is not looked at",
              "tests/process/test_limits_of_promise.py::test_the_same_order_under_two_keys",
              [("store/row.c", "    gw_sha256_add_part(sha, key);\n", "")]),
    ]),
    Sentence("The same order under two keys is two orders.", [
        Break("equal bodies are one operation",
              "tests/process/test_limits_of_promise.py::test_the_same_order_under_two_keys",
              [("gateway/rooms/key.c", "store_identity(flow->owner, flow->scope, flow->key,",
                "flow->key = span_of((const char *)flow->print.bytes, sizeof(flow->print.bytes));\n"
                "    store_identity(flow->owner, flow->scope, flow->key,")]),
    ]),
    Sentence("Nothing if a declaration is wrong: who lists 500 as `refused` while the API books "
             "orders before it fails will have orders booked twice.", [
                 Break("a 500 is never a refusal",
                       "tests/process/test_limits_of_promise.py::test_a_declaration_that_is_wrong",
                       [(CLASSIFY, "if (status_set_has(&outcome->refused, answer->status)) {",
                         "if (answer->status != 500 &&\n"
                         "        status_set_has(&outcome->refused, answer->status)) {")]),
             ]),
    Sentence("Nothing after the loss of the disk.", [
        Break("no start without a file",
              "tests/process/test_limits_of_promise.py::test_a_store_that_is_lost",
              [("store/sqlite.c", "SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |",
                "SQLITE_OPEN_READWRITE |")]),
    ]),
    Sentence("Receipts survive a crash and a power cut of the host.", [
        Break("a commit is not synced", "tests/fault/test_power.c::nothing_reported_is_lost",
              [("store/sqlite.c", "PRAGMA synchronous = FULL;", "PRAGMA synchronous = OFF;")]),
    ]),
]


# ---- the README's section ----

def section(text):
    """The lines of the promise, without its heading."""
    after = text.split(HEADING + "\n", 1)[1]
    return re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0].splitlines()


def pieces(lines):
    """Paragraphs, items and first cells, each as one line; -> (text, second cell or None)."""
    found, current = [], ""
    for line in [*lines, ""]:
        starts_anew = not line.strip() or line.startswith(("- ", "|", "#"))
        if starts_anew and current:
            found.append((current, None))
            current = ""
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0] != "promise" and set(cells[0]) != {"-"}:
                found.append((cells[0], cells[1]))
        elif line.strip() and not line.startswith("#"):
            current = (current + " " + line.strip()).removeprefix(" ").removeprefix("- ")
    return found


def sentences(text):
    """Each sentence of the section, word for word."""
    return [sentence for piece, _ in pieces(section(text))
            for sentence in re.split(r"(?<=\.)\s+|(?<=\.\*\*)\s+", piece)]


def files_named(text):
    """{sentence of the table: the file that the README names for it}"""
    return {piece: cell.strip("`") for piece, cell in pieces(section(text)) if cell is not None}


# ---- the table ----

def table():
    yield "| sentence | a change that makes it false | the test that failed then |"
    yield "|---|---|---|"
    for sentence in SENTENCES:
        if not sentence.breaks:
            yield "| %s | %s | |" % (sentence.text, sentence.reason)
        for index, one in enumerate(sentence.breaks):
            path, function = one.test.split("::")
            yield "| %s | %s | `%s` `%s` |" % (sentence.text if index == 0 else "", one.words, path,
                                              function)


# ---- breaking it ----

class Copy:
    """A copy of the tree with a build of its own."""

    def __init__(self, folder):
        self.tree, self.build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        shutil.copytree(ROOT, self.tree, ignore=shutil.ignore_patterns("build", ".git", "*.pyc"))
        self.run("cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
                 "-DCMAKE_BUILD_TYPE=Debug", "-DRECIBO_WERROR=OFF")

    def run(self, *words):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError("%s\n%s" % (" ".join(words), (done.stdout + done.stderr)[-4000:]))

    def change(self, edits):
        """-> {path: text before}; ValueError when a place is gone."""
        before = {}
        for path, old, new in edits:
            with open(os.path.join(self.tree, path), encoding="utf-8") as file:
                text = file.read()
            if text.count(old) != 1:
                raise ValueError("%s holds %d times: %s" % (path, text.count(old), old))
            before.setdefault(path, text)
            self.write(path, text.replace(old, new))
        return before

    def write(self, path, text):
        with open(os.path.join(self.tree, path), "w", encoding="utf-8") as file:
            file.write(text)

    def test(self, test):
        """Does the test pass? The whole C program, or one Python function."""
        path, function = test.split("::")
        if path.endswith(".c"):
            stem = os.path.splitext(path.removeprefix("tests/"))[0].replace("/", "_")
            self.run("ninja", "-j", BUILD_JOBS, "-C", self.build, stem)
            words = [os.path.join(self.build, "tests", stem)]
        else:
            self.run("ninja", "-j", BUILD_JOBS, "-C", self.build, "recibo", "recibo-trouble")
            words = [sys.executable, os.path.join(self.tree, path), "-k", function]
        env = dict(os.environ, RECIBO_BUILD=self.build, PYTHONDONTWRITEBYTECODE="1",
                   RECIBO_CRASH_ROUNDS="3")
        done = subprocess.run(words, cwd=os.path.join(self.tree, "tests"), env=env, text=True,
                              capture_output=True, timeout=TEST_TIMEOUT_S, check=False)
        said = done.stdout + done.stderr
        if function not in said:
            raise RuntimeError("%s did not run:\n%s" % (test, said[-2000:]))
        failed = re.search(r"FAILED +\] .*\b%s\b|^(?:FAIL|ERROR): %s\b" % (function, function), said,
                           re.MULTILINE)
        return done.returncode == 0, bool(failed)


def judge(copy, one, sound):
    """-> what became of one change, in a word."""
    if one.test not in sound:
        sound[one.test] = copy.test(one.test)[0]
    if not sound[one.test]:
        return "the test fails anyway"
    try:
        before = copy.change(one.edits)
    except ValueError as error:
        return "stale: %s" % error
    try:
        passed, failed = copy.test(one.test)
    finally:
        for path, text in before.items():
            copy.write(path, text)
    return "SURVIVES" if passed else "caught" if failed else "caught by another function"


def main(words):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--break", dest="word", nargs="?", const="")
    options = parser.parse_args(words)
    if options.table:
        print("\n".join(table()))
        return 0
    bad, sound = 0, {}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        copy = Copy(folder)
        for sentence in SENTENCES:
            for one in sentence.breaks:
                if options.word and options.word not in one.words:
                    continue
                verdict = judge(copy, one, sound)
                bad += verdict != "caught"
                print("%-26s %s (%s)" % (verdict, one.words, one.test), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
