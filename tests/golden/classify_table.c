/* The whole of classify() as a table: every end without and with a byte sent, and
 * for whole answers every status that a list could name, with and without a rule. */
#include "tests/golden/golden.h"

#include "policy/classify.h"

static void print_result(struct gw_buf *out, const struct classify_result *result)
{
    const bool has_rule = result->rule != CLASSIFY_NO_RULE;
    (void)gw_buf_print(out, "%-8s %-8s line %-2u %s  %s\n", /* checked at the end */
                       receipt_event_name(result->event), basis_name(result->basis), result->line,
                       has_rule ? "rule" : "    ", result->reason);
}

static void add_defaults(struct outcome_policy *outcome)
{
    static const uint16_t refused[] = {401, 403, 421, 425, 429};
    for (size_t i = 0; i < GW_COUNT(refused); i++)
        status_set_add(&outcome->refused, refused[i]);
    status_set_add(&outcome->unknown, 408);
    for (uint16_t status = 500; status < 600; status++)
        if (status != 501 && status != 505)
            status_set_add(&outcome->unknown, status);
}

static void print_ends(struct gw_buf *out, const struct route_policy *route)
{
    const struct answer_view answer = {.status = 200, .body_is_whole = true};
    for (uint32_t e = 0; e < END_COUNT; e++)
        for (uint64_t bytes = 0; bytes < 2; bytes++) {
            const struct upstream_facts facts = {
                .end = (enum attempt_end)e, .bytes_out = bytes, .status = 0};
            const struct classify_result result =
                classify(route, &facts, e == END_answered ? &answer : NULL);
            (void)gw_buf_print(out, "%-17s bytes %u  ", end_name(facts.end), (unsigned)bytes);
            print_result(out, &result);
        }
}

static void print_statuses(struct gw_buf *out, struct route_policy *route, const char *rule_name)
{
    static const uint16_t statuses[] = {200, 201, 204, 302, 400, 401, 403, 404, 408, 409, 412, 421,
                                        425, 429, 499, 500, 501, 502, 503, 504, 505, 511, 599};
    for (size_t i = 0; i < GW_COUNT(statuses); i++)
        for (uint64_t bytes = 0; bytes < 2; bytes++) {
            const struct answer_view answer = {.status = statuses[i], .body_is_whole = true};
            const struct upstream_facts facts = {
                .end = END_answered, .bytes_out = bytes, .status = statuses[i]};
            const struct classify_result result = classify(route, &facts, &answer);
            (void)gw_buf_print(out, "%u bytes %u rule %-9s ", statuses[i], (unsigned)bytes,
                               rule_name);
            print_result(out, &result);
        }
}

/* Guards: no end, byte count, list or rule changes its meaning without a line of diff. */
static void test_classify_table(void **state)
{
    (void)state;
    struct gw_buf out;
    gw_buf_init(&out, GOLDEN_BYTES_MAX);
    struct route_policy route = {.name = SPAN("r")};
    add_defaults(&route.outcome);
    print_ends(&out, &route);
    (void)gw_buf_byte(&out, '\n');
    print_statuses(&out, &route, "none");

    static const struct {
        const char *name;
        enum answer_means means;
    } means[] = {
        {"refused", MEANS_REFUSED}, {"unknown", MEANS_UNKNOWN}, {"completed", MEANS_COMPLETED}};
    route.outcome.refused_line = 21;
    route.outcome.unknown_line = 22;
    for (size_t i = 0; i < GW_COUNT(means); i++) {
        struct answer_rule rule = {.means = means[i].means, .line = 30};
        route.outcome.rules = &rule;
        route.outcome.rule_count = 1;
        (void)gw_buf_byte(&out, '\n');
        print_statuses(&out, &route, means[i].name);
        rule.has_status = true; /* of an empty set: the rule fits nothing */
        (void)gw_buf_byte(&out, '\n');
        print_statuses(&out, &route, "no fit");
    }
    golden_check("tests/golden/classify.txt", &out);
    gw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_classify_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
