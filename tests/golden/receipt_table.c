/* The whole of receipt_step() as a table: every state with every event and every
 * kind of token, and every move with the marks that could turn it. */
#include "tests/golden/golden.h"

#include "policy/receipt.h"

#define OWN   7U
#define OTHER 8U
#define FRESH 9U
#define UNTIL 9000
#define LEASE 6000

/* The marks that a move looks at or changes, in every combination that differs. */
static const uint32_t asked[] = {
    0,
    RECEIPT_CANCEL_REQUESTED,
    RECEIPT_PROMISED,
    RECEIPT_RESENT,
    RECEIPT_CANCEL_REQUESTED | RECEIPT_PROMISED,
    RECEIPT_CANCEL_REQUESTED | RECEIPT_RESENT,
    RECEIPT_PROMISED | RECEIPT_RESENT,
    RECEIPT_CANCEL_REQUESTED | RECEIPT_PROMISED | RECEIPT_RESENT,
};
static const uint32_t judged[] = {
    0,
    RECEIPT_SETTLED,
    RECEIPT_SETTLED | RECEIPT_CONSUMED,
    RECEIPT_CONTRADICTED,
    RECEIPT_CONTRADICTED | RECEIPT_SETTLED,
    RECEIPT_CONTRADICTED | RECEIPT_SETTLED | RECEIPT_CONSUMED,
};

static struct receipt row_in(enum receipt_state state, uint32_t marks)
{
    struct receipt row = {
        .state = state, .attempt = 1, .version = 10, .marks = marks, .token = OWN};
    if (state == RECEIPT_ABSENT)
        row = (struct receipt){.state = state, .version = 10};
    if (receipt_is_leased(state))
        row.lease_until_ms = LEASE;
    if (state == RECEIPT_DEFERRED)
        row.due_ms = 1;
    if (state == RECEIPT_COMPLETED || state == RECEIPT_RELEASED || state == RECEIPT_CANCELLED ||
        state == RECEIPT_EXPIRED)
        row.expire_ms = 1;
    return row;
}

static bool starts(enum receipt_event_kind kind)
{
    return kind == RECEIPT_EV_CLAIM || kind == RECEIPT_EV_DUE || kind == RECEIPT_EV_RESEND;
}

static const char *marks_text(uint32_t marks, char text[7])
{
    static const char letters[] = "cprsux";
    for (size_t i = 0; i < 6; i++)
        text[i] = (marks >> i & 1) != 0 ? letters[i] : '-';
    text[6] = '\0';
    return text;
}

static const char *outcome(const struct receipt *row, const struct receipt_event *ev,
                           struct receipt *next)
{
    switch (receipt_step(row, ev, next)) {
    case RECEIPT_MOVED:
        return receipt_state_name(next->state);
    case RECEIPT_STALE:
        return "stale";
    case RECEIPT_ILLEGAL:
        break;
    }
    return ".";
}

static void print_tokens(struct gw_buf *out)
{
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++) {
        for (uint32_t e = 0; e < RECEIPT_EVENT_COUNT; e++) {
            const struct receipt row = row_in((enum receipt_state)s, 0);
            struct receipt_event ev = {.kind = (enum receipt_event_kind)e,
                                       .now_ms = LEASE,
                                       .until_ms = UNTIL,
                                       .token = FRESH};
            struct receipt next;
            (void)gw_buf_print(out, "%-10s%-21s",
                               receipt_state_name(row.state), /* checked at the end */
                               receipt_event_name(ev.kind));
            if (starts(ev.kind)) {
                (void)gw_buf_print(out, "fresh %s\n", outcome(&row, &ev, &next));
                continue;
            }
            ev.token = OWN;
            (void)gw_buf_print(out, "own %-11s", outcome(&row, &ev, &next));
            ev.token = OTHER;
            (void)gw_buf_print(out, "other %-7s", outcome(&row, &ev, &next));
            ev.token = 0;
            (void)gw_buf_print(out, "none %s\n", outcome(&row, &ev, &next));
        }
    }
}

static void print_leases(struct gw_buf *out)
{
    static const struct {
        const char *name;
        int64_t now_ms;
        bool is_dead;
    } cases[] = {{"running", LEASE - 1, false},
                 {"just over", LEASE, false},
                 {"holder dead", LEASE - 1, true}};
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++) {
        for (size_t i = 0; i < GW_COUNT(cases); i++) {
            const struct receipt row = row_in((enum receipt_state)s, 0);
            const struct receipt_event ev = {.kind = RECEIPT_EV_LAPSED,
                                             .now_ms = cases[i].now_ms,
                                             .until_ms = UNTIL,
                                             .lease_is_dead = cases[i].is_dead};
            struct receipt next;
            (void)gw_buf_print(out, "%-10sLAPSED  %-12s %s\n", receipt_state_name(row.state),
                               cases[i].name, outcome(&row, &ev, &next));
        }
    }
}

static void print_one_mark(struct gw_buf *out, const struct receipt *row,
                           const struct receipt_event *ev)
{
    struct receipt next = {.state = RECEIPT_ABSENT};
    char before[7], after[7];
    const char *to = outcome(row, ev, &next);
    (void)gw_buf_print(out, "%-10s%-20s%s %s  ", receipt_state_name(row->state),
                       receipt_event_name(ev->kind), ev->promises || ev->none_was_told ? "+" : " ",
                       marks_text(row->marks, before));
    if (*to == '.')
        (void)gw_buf_print(out, ".\n");
    else
        (void)gw_buf_print(out, "%-10s %s attempt %u token %u lease %d due %d expire %d\n", to,
                           marks_text(next.marks, after), next.attempt, (unsigned)next.token,
                           (int)next.lease_until_ms, (int)next.due_ms, (int)next.expire_ms);
}

static void print_marks_of(struct gw_buf *out, enum receipt_state state,
                           enum receipt_event_kind kind)
{
    for (size_t i = 0; i < GW_COUNT(asked) * GW_COUNT(judged); i++) {
        const struct receipt row =
            row_in(state, asked[i / GW_COUNT(judged)] | judged[i % GW_COUNT(judged)]);
        if (!receipt_is_sound(&row))
            continue;
        struct receipt_event ev = {.kind = kind, .now_ms = LEASE, .until_ms = UNTIL};
        ev.token = starts(kind) ? FRESH : state == RECEIPT_ABSENT ? 0 : OWN;
        print_one_mark(out, &row, &ev);
        if (kind == RECEIPT_EV_DEFER) {
            ev.promises = true;
            print_one_mark(out, &row, &ev);
        }
        if (kind == RECEIPT_EV_ANSWERED && state == RECEIPT_COMPLETED) {
            ev.none_was_told = true;
            print_one_mark(out, &row, &ev);
        }
        if (state == RECEIPT_ABSENT)
            break;
    }
}

static void print_marks(struct gw_buf *out)
{
#define STATE(name, ran, taken, doc)
#define EVENT(name, doc)
#define MOVE(from, event, to) print_marks_of(out, RECEIPT_##from, RECEIPT_EV_##event);
#include "policy/receipt.def"
#undef STATE
#undef EVENT
#undef MOVE
}

/* Guards: no move, no staleness and no turn by marks changes without a line of diff. */
static void test_receipt_table(void **state)
{
    (void)state;
    struct gw_buf out;
    gw_buf_init(&out, GOLDEN_BYTES_MAX);
    (void)gw_buf_print(
        &out, "Every state and event, rows without marks, the lease just over. \".\" is: no such\n"
              "move. own, other, none: the token of the event.\n\n");
    print_tokens(&out);
    (void)gw_buf_print(&out, "\nLAPSED and the lease.\n\n");
    print_leases(&out);
    (void)gw_buf_print(
        &out,
        "\nEvery move with marks before and after. c cancel requested, p promised, r resent,\n"
        "s settled, u consumed, x contradicted; + the event promises, or the row has no answer\n"
        "that a caller could have been told.\n\n");
    print_marks(&out);
    golden_check("tests/golden/receipt.txt", &out);
    gw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_receipt_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
