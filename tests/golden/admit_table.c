/* The whole of admit() as a table: every state with every age, lease, comparison
 * and promise of the route, and in the columns what is kept and how the gate stands. */
#include "tests/golden/golden.h"

#include "policy/admit.h"

#define NOW       INT64_C(1000000)
#define TOMBSTONE INT64_C(1000)

enum age { AGE_LIVE, AGE_OVER, AGE_GONE, AGE_COUNT };
enum sameness { SAME, OTHER_PRINT, OTHER_MODE, SAMENESS_COUNT };

static bool has_expiry(enum receipt_state s)
{
    return s == RECEIPT_COMPLETED || s == RECEIPT_RELEASED || s == RECEIPT_CANCELLED ||
           s == RECEIPT_EXPIRED;
}

/* The row as it was written; only time makes it older. */
static struct receipt row_in(enum receipt_state state, enum age age)
{
    struct receipt row = {.state = state, .attempt = 1, .token = 7};
    if (state == RECEIPT_ABSENT)
        return (struct receipt){.state = state};
    if (receipt_is_leased(state))
        row.lease_until_ms = NOW + 1;
    if (state == RECEIPT_DEFERRED)
        row.due_ms = NOW + 1;
    if (has_expiry(state))
        row.expire_ms = age == AGE_LIVE ? NOW + 1 : age == AGE_OVER ? NOW : NOW - TOMBSTONE;
    return row;
}

struct column {
    const char *name;
    bool answer_kept;
    enum admit_gate gate;
    bool defers, may_resend;
    enum retry_gate budget;
};

/* One word where all columns agree. */
static void print_line(struct gw_buf *out, const struct route_policy *route,
                       struct admit_facts *facts)
{
    static const struct column columns[] = {
        {"open", true, GATE_OPEN, false, false, RETRY_OPEN},
        {"no-answer", false, GATE_OPEN, false, false, RETRY_OPEN},
        {"paused", true, GATE_PAUSED, false, false, RETRY_OPEN},
        {"full", true, GATE_FULL, false, false, RETRY_OPEN},
        {"near", true, GATE_OPEN, false, false, RETRY_NEAR},
        {"near-full", true, GATE_FULL, false, false, RETRY_NEAR},
        {"later", true, GATE_OPEN, false, false, RETRY_LATER},
        {"spent", true, GATE_PAUSED, false, false, RETRY_SPENT},
        {"dedup", true, GATE_OPEN, false, true, RETRY_OPEN},
        {"dedup-full", true, GATE_FULL, false, true, RETRY_OPEN},
        {"defer", true, GATE_OPEN, true, false, RETRY_SPENT},
        {"defer-full", true, GATE_FULL, true, false, RETRY_OPEN},
        {"defer-paused", true, GATE_PAUSED, true, false, RETRY_OPEN}};
    const char *words[GW_COUNT(columns)];
    bool agree = true;
    for (size_t i = 0; i < GW_COUNT(columns); i++) {
        facts->answer_kept = columns[i].answer_kept;
        facts->gate = columns[i].gate;
        facts->defers = columns[i].defers;
        facts->may_resend = columns[i].may_resend;
        facts->budget = columns[i].budget;
        words[i] = admit_verdict_name(admit(route, facts));
        agree = agree && words[i] == words[0];
    }
    if (agree)
        (void)gw_buf_print(out, "  %s", words[0]); /* checked at the end */
    for (size_t i = 0; i < GW_COUNT(columns) && !agree; i++)
        (void)gw_buf_print(out, "  %s=%s", columns[i].name, words[i]);
    (void)gw_buf_byte(out, '\n');
}

static void print_row(struct gw_buf *out, const struct receipt *row, enum age age, unsigned bits)
{
    static const char *const ages[] = {"live", "over", "gone"};
    static const char *const samenesses[] = {"same", "changed", "mode"};
    static const struct fingerprint ours = {{1}}, theirs = {{2}};
    const enum sameness sameness = (enum sameness)(bits >> 3);
    const struct route_policy route = {.tombstone_ms = TOMBSTONE,
                                       .rerun_on_expiry = (bits & 1) != 0,
                                       .replace_on_change = (bits & 2) != 0};
    struct admit_facts facts = {.seen = row,
                                .print = &ours,
                                .seen_print = sameness == SAME ? &ours : &theirs,
                                .same_mode = sameness != OTHER_MODE,
                                .lease_is_dead = (bits & 4) != 0,
                                .now_ms = NOW};
    (void)gw_buf_print(out, "%-9s %-4s %-5s %-7s %-6s %-7s", receipt_state_name(row->state),
                       has_expiry(row->state) ? ages[age] : "-",
                       facts.lease_is_dead ? "dead" : "alive", samenesses[sameness],
                       route.rerun_on_expiry ? "rerun" : "refuse",
                       route.replace_on_change ? "replace" : "refuse");
    print_line(out, &route, &facts);
}

/* Guards: no combination of row, request, promise and gate changes its verdict
 * without a line of diff. */
static void test_admit_table(void **state)
{
    (void)state;
    struct gw_buf out;
    gw_buf_init(&out, GOLDEN_BYTES_MAX);
    (void)gw_buf_print(&out, "no row:");
    struct admit_facts none = {.seen = NULL, .now_ms = NOW};
    const struct route_policy route = {.tombstone_ms = TOMBSTONE};
    print_line(&out, &route, &none);
    (void)gw_buf_print(&out, "\nstate     age  lease print   expiry change\n");
    for (uint32_t s = 0; s < RECEIPT_STATE_COUNT; s++)
        for (uint32_t age = 0; age < AGE_COUNT; age++) {
            if (age > AGE_LIVE && !has_expiry((enum receipt_state)s))
                break;
            const struct receipt row = row_in((enum receipt_state)s, (enum age)age);
            for (unsigned bits = 0; bits < SAMENESS_COUNT * 8; bits++)
                print_row(&out, &row, (enum age)age, bits);
        }
    golden_check("tests/golden/admit.txt", &out);
    gw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_admit_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
