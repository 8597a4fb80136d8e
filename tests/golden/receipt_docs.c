/* Prints what is made from receipt.def and ends.def: docs/receipt.md for people and
 * docs/model/moves.pml for the model checker, and fails while the committed files
 * say something else. Must hold no state, event or move of its own. */
#include "tests/golden/golden.h"

#include "policy/classify.h"

struct state_doc {
    const char *name, *doc;
    enum receipt_state state;
};
struct event_doc {
    const char *name, *doc;
};
struct move_doc {
    const char *from, *event, *to;
    enum receipt_state from_state;
    enum receipt_event_kind kind;
};

static const struct state_doc state_docs[] = {
#define STATE(name, ran, taken, doc) {#name, doc, RECEIPT_##name},
#define EVENT(name, doc)
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};
static const struct event_doc event_docs[] = {
#define STATE(name, ran, taken, doc)
#define EVENT(name, doc) {#name, doc},
#define MOVE(from, event, to)
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};
static const struct move_doc move_docs[] = {
#define STATE(name, ran, taken, doc)
#define EVENT(name, doc)
#define MOVE(from, event, to) {#from, #event, #to, RECEIPT_##from, RECEIPT_EV_##event},
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
};

/* Appends text; whether all of it found room is asked once, at the end. */
static void put(struct gw_buf *out, const char *text)
{
    (void)gw_buf_add(out, span_str(text));
}

static const char *yes(bool is_so)
{
    return is_so ? "yes" : "no";
}

static void put_states(struct gw_buf *out)
{
    put(out, "## States\n\n"
             "| state | callers read | phase | may have run | key taken | meaning |\n"
             "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < GW_COUNT(state_docs); i++) {
        const enum receipt_state s = state_docs[i].state;
        (void)gw_buf_print(out, "| %s | %s | %s | %s | %s | %s |\n", state_docs[i].name,
                           receipt_public_state(s), receipt_phase(s), yes(receipt_may_have_run(s)),
                           yes(receipt_key_is_taken(s)), state_docs[i].doc);
    }
}

static void put_events(struct gw_buf *out)
{
    put(out, "\n## Events\n\n| event | what happened |\n|---|---|\n");
    for (size_t i = 0; i < GW_COUNT(event_docs); i++)
        (void)gw_buf_print(out, "| %s | %s |\n", event_docs[i].name, event_docs[i].doc);
}

static const char *move_to(enum receipt_state from, enum receipt_event_kind kind)
{
    for (size_t i = 0; i < GW_COUNT(move_docs); i++)
        if (move_docs[i].from_state == from && move_docs[i].kind == kind)
            return move_docs[i].to;
    return "";
}

static void put_matrix(struct gw_buf *out)
{
    put(out, "\n## Moves\n\nAn empty cell is: no such move.\n\n| event |");
    for (size_t i = 0; i < GW_COUNT(state_docs); i++)
        (void)gw_buf_print(out, " %s |", state_docs[i].name);
    put(out, "\n|---|");
    for (size_t i = 0; i < GW_COUNT(state_docs); i++)
        put(out, "---|");
    for (size_t e = 0; e < GW_COUNT(event_docs); e++) {
        (void)gw_buf_print(out, "\n| %s |", event_docs[e].name);
        for (size_t i = 0; i < GW_COUNT(state_docs); i++)
            (void)gw_buf_print(out, " %s |",
                               move_to(state_docs[i].state, (enum receipt_event_kind)e));
    }
    put(out, "\n");
}

static void put_marks(struct gw_buf *out)
{
    put(out,
        "\n## What the marks of a row change\n\n"
        "Where the matrix says RELEASED, the marks of the row as they are at that moment "
        "decide:\n\n"
        "1. an earlier attempt is still in doubt (`resent`) and the event is REFUSED: UNKNOWN;\n"
        "2. else a cancel was requested: CANCELLED;\n"
        "3. else the caller was promised an outcome (202): DEFERRED;\n"
        "4. else RELEASED.\n\n"
        "But where a row is `contradicted`, and no person has settled it since, no refusal, no "
        "dead\n"
        "lease and no probe frees the key: what they say of one attempt is no proof for the "
        "operation.\n"
        "Instead of RELEASED, CANCELLED or DEFERRED it is UNKNOWN, and a person decides.\n\n"
        "After a cancel request no attempt is started: CLAIM, DEFER, DUE and RESEND are refused.\n"
        "REOPEN takes back an operator's verdict only while nobody has been told of it or built "
        "on\n"
        "it. What the answer of an attempt does that comes after a decision: the next table.\n\n"
        "A report of an attempt counts only with the token of the row: each attempt has its own,\n"
        "and none is used twice. UNKNOWN and ABANDONED never expire.\n");
}

/* ---- late answers ---- */

struct late_case {
    const char *row; /* what stands there */
    enum receipt_state state;
    uint32_t marks;
    bool none_was_told;
};

static const struct late_case late_cases[] = {
    {"under way", RECEIPT_SENT, 0, false},
    {"in doubt", RECEIPT_UNKNOWN, 0, false},
    {"free again, by a verdict or a probe", RECEIPT_RELEASED, RECEIPT_SETTLED, false},
    {"free again, and claimed once more", RECEIPT_SENT, RECEIPT_SETTLED | RECEIPT_CONSUMED, false},
    {"promised, and waiting for its time", RECEIPT_DEFERRED, RECEIPT_SETTLED | RECEIPT_PROMISED,
     false},
    {"cancelled", RECEIPT_CANCELLED, RECEIPT_SETTLED | RECEIPT_CANCEL_REQUESTED, false},
    {"given up", RECEIPT_ABANDONED, RECEIPT_SETTLED, false},
    {"settled as executed, nobody was told", RECEIPT_COMPLETED, RECEIPT_SETTLED, false},
    {"settled as executed without a response, and told so", RECEIPT_COMPLETED,
     RECEIPT_SETTLED | RECEIPT_CONSUMED, true},
    {"settled as executed with a response, and told so", RECEIPT_COMPLETED,
     RECEIPT_SETTLED | RECEIPT_CONSUMED, false},
    {"an answer on record", RECEIPT_COMPLETED, 0, false},
    {"a tombstone", RECEIPT_EXPIRED, 0, false},
};

static struct receipt late_row(const struct late_case *late)
{
    struct receipt row = {
        .state = late->state, .attempt = 1, .version = 1, .marks = late->marks, .token = 7};
    if (receipt_is_leased(row.state))
        row.lease_until_ms = 1;
    else if (row.state == RECEIPT_DEFERRED)
        row.due_ms = 1;
    else if (row.state != RECEIPT_UNKNOWN && row.state != RECEIPT_ABANDONED)
        row.expire_ms = 1;
    return row;
}

static void put_late_cell(struct gw_buf *out, const struct late_case *late,
                          enum receipt_event_kind kind)
{
    const struct receipt row = late_row(late);
    const struct receipt_event ev = {
        .kind = kind, .token = 7, .until_ms = 2, .none_was_told = late->none_was_told};
    struct receipt next;
    if (receipt_step(&row, &ev, &next) != RECEIPT_MOVED) {
        put(out, " stays |");
        return;
    }
    bool takes = kind == RECEIPT_EV_ANSWERED;
    (void)gw_buf_print(out, " %s%s%s |", receipt_state_name(next.state),
                       takes ? ", with this answer" : "",
                       (next.marks & RECEIPT_CONTRADICTED) != 0 ? ", contradicted" : "");
}

/* Worked out by receipt_step() itself; the room `record` asks it in this order. */
static void put_late(struct gw_buf *out)
{
    put(out,
        "\n## An answer that comes late\n\n"
        "After a call is lost its connection is still listened to for `timeouts.late`. If a whole\n"
        "answer comes then that says the operation ran, it meets a row on which others may have\n"
        "decided already:\n\n"
        "| the row | state | its own last attempt answers (ANSWERED) | else (CONTRADICT) |\n"
        "|---|---|---|---|\n");
    for (size_t i = 0; i < GW_COUNT(late_cases); i++) {
        const struct late_case *late = &late_cases[i];
        (void)gw_buf_print(out, "| %s | %s |", late->row, receipt_state_name(late->state));
        put_late_cell(out, late, RECEIPT_EV_ANSWERED);
        put_late_cell(out, late, RECEIPT_EV_CONTRADICT);
        put(out, "\n");
    }
    put(out,
        "\nThe last column is for the answer of an earlier attempt, and for one that callers were\n"
        "told otherwise about. It never becomes the answer on record; the attempt stands in the\n"
        "evidence, and from then on only a person frees the key. An answer that is on record, the\n"
        "operation's own or a probe's, is not replaced. On a tombstone nothing is kept but a line\n"
        "in the log. Each contradiction is logged as `receipt.contradicted`, and `recibo why` "
        "shows\n"
        "what the answer changed.\n");
}

static void put_diagram(struct gw_buf *out)
{
    put(out, "\n## Diagram\n\n```mermaid\nstateDiagram-v2\n    [*] --> ABSENT\n");
    for (size_t i = 0; i < GW_COUNT(move_docs); i++)
        (void)gw_buf_print(out, "    %s --> %s: %s\n", move_docs[i].from, move_docs[i].to,
                           move_docs[i].event);
    put(out, "```\n");
}

static void put_ends(struct gw_buf *out)
{
    static const char *const groups[] = {[END_GROUP_NOT_SENT] = "not sent",
                                         [END_GROUP_ANSWERED] = "answered",
                                         [END_GROUP_UNCLEAR] = "unclear"};
    put(out,
        "\n## How an attempt ended\n\n"
        "The same words in evidence, log, metrics, filters and commands. `unclear` with not one\n"
        "byte of the request sent counts as not sent, but for `crashed`: its count is lost.\n\n"
        "| end | group | meaning |\n|---|---|---|\n");
    for (uint32_t i = 0; i < END_COUNT; i++) {
        const enum attempt_end end = (enum attempt_end)i;
        (void)gw_buf_print(out, "| `%s` | %s | %s |\n", end_name(end), groups[end_group(end)],
                           end_doc(end));
    }
}

/* Guards: the page on the life of a receipt says what the table says. */
static void test_receipt_page_is_fresh(void **state)
{
    (void)state;
    struct gw_buf out;
    gw_buf_init(&out, GOLDEN_BYTES_MAX);
    put(&out, "# The life of a receipt\n\n"
              "Printed from `policy/receipt.def` and `policy/ends.def` by\n"
              "`tests/golden/receipt_docs.c`; do not edit.\n\n");
    put_states(&out);
    put_events(&out);
    put_matrix(&out);
    put_marks(&out);
    put_late(&out);
    put_diagram(&out);
    put_ends(&out);
    golden_check("docs/receipt.md", &out);
    gw_buf_fini(&out);
}

/* Guards: the model is checked with the moves that the code has. */
static void test_model_moves_are_fresh(void **state)
{
    (void)state;
    struct gw_buf out;
    gw_buf_init(&out, GOLDEN_BYTES_MAX);
    put(&out,
        "/* Printed from policy/receipt.def by tests/golden/receipt_docs.c; do not edit.\n"
        " * move(s, e, ok): ok says if state s has a move for event e, and then s is the new\n"
        " * state. Marks and tokens are the model's own business: where a move leads to a\n"
        " * state that says \"not run\" they may turn it into another one. */\n");
    put(&out, "mtype:state = {");
    for (size_t i = 0; i < GW_COUNT(state_docs); i++)
        (void)gw_buf_print(&out, "%s%s", i == 0 ? " " : ", ", state_docs[i].name);
    put(&out, " };\nmtype:event = {");
    for (size_t i = 0; i < GW_COUNT(event_docs); i++)
        (void)gw_buf_print(&out, "%sEV_%s", i == 0 ? " " : ", ", event_docs[i].name);
    put(&out, " };\n\ninline move(s, e, ok) {\n    ok = true;\n    if\n");
    for (size_t i = 0; i < GW_COUNT(move_docs); i++)
        (void)gw_buf_print(&out, "    :: s == %s && e == EV_%s -> s = %s\n", move_docs[i].from,
                           move_docs[i].event, move_docs[i].to);
    put(&out, "    :: else -> ok = false\n    fi\n}\n");
    golden_check("docs/model/moves.pml", &out);
    gw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_receipt_page_is_fresh),
        cmocka_unit_test(test_model_moves_are_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
