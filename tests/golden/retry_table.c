/* The whole of retry_judge() and retry_ask() as tables: every end, basis, budget and
 * promise, with the least and the greatest wait that chance can draw. */
#include "tests/golden/golden.h"

#include "policy/retry.h"

#define NOW     INT64_C(1000000)
#define SECOND  INT64_C(1000)
#define WITHIN  (60 * SECOND)
#define MAX_AGE (300 * SECOND)

struct kind {
    const char *name;
    enum receipt_event_kind event;
    enum attempt_basis basis;
    uint16_t status;
    bool by_rule;
};
static const struct kind kinds[] = {
    {"not-sent", RECEIPT_EV_REFUSED, BASIS_PROVED, 0, false},
    {"listed", RECEIPT_EV_REFUSED, BASIS_DECLARED, 429, false},
    {"refused", RECEIPT_EV_REFUSED, BASIS_DECLARED, 403, false},
    {"by-rule", RECEIPT_EV_REFUSED, BASIS_DECLARED, 200, true},
    {"lost", RECEIPT_EV_LOST, BASIS_NONE, 0, false},
    {"lost-503", RECEIPT_EV_LOST, BASIS_NONE, 503, false},
    {"answered", RECEIPT_EV_ANSWERED, BASIS_NONE, 201, false},
};

struct place {
    const char *name;
    uint32_t attempts;
    int64_t opened_ago_ms, wish_ms;
};
static const struct place places[] = {
    {"first", 1, 0, 0},
    {"third", 3, 20 * SECOND, 0},
    {"last", 4, 20 * SECOND, 0},
    {"end-of-window", 2, WITHIN - 1, 0},
    {"wish-near", 1, 0, 3 * SECOND},
    {"wish-far", 1, 0, 30 * SECOND},
    {"wish-behind", 1, 0, 90 * SECOND},
    {"wish-years", 1, 0, INT64_MAX / 2},
};

struct promise {
    const char *name;
    int64_t ago_ms; /* 0: none */
    bool may_defer;
};
static const struct promise promises[] = {
    {"waits", 0, false},
    {"agrees", 0, true},
    {"promised", 10 * SECOND, true},
    {"old", 290 * SECOND, true},
};

static struct route_policy route_with(bool is_on, bool dedups)
{
    struct route_policy route = {
        .retry = {.is_on = is_on,
                  .when_not_sent = true,
                  .when_rules = true,
                  .attempts_max = 4,
                  .within_ms = WITHIN,
                  .backoff = {.base_ms = SECOND, .max_ms = 20 * SECOND},
                  .wait_at_most_ms = 5 * SECOND},
        .defer = {.when = DEFER_PREFER, .max_age_ms = MAX_AGE, .concurrency = 8},
        .quiet_ms = 30 * SECOND,
        .passes_key = dedups,
        .dedup_window_ms = dedups ? 120 * SECOND : 0};
    status_set_add(&route.retry.when, 429);
    return route;
}

static void print_verdict(struct gw_buf *out, const struct retry_verdict *verdict)
{
    bool waits = verdict->next == RETRY_WAIT || verdict->next == RETRY_RESEND;
    bool has_place = verdict->next == RETRY_DEFER || verdict->next == RETRY_RELEASE ||
                     verdict->next == RETRY_EXHAUSTED;
    long long ms = waits ? verdict->wait_ms : has_place ? verdict->at_ms - NOW : 0;
    (void)gw_buf_print(out, "%s%s%lld", retry_next_name(verdict->next), /* checked at the end */
                       waits       ? " "
                       : has_place ? " at +"
                                   : " ",
                       ms);
}

static void print_case(struct gw_buf *out, const struct route_policy *route,
                       const struct kind *kind, const struct place *place,
                       const struct promise *promise)
{
    const struct retry_budget budget = {
        .window_ms = NOW - place->opened_ago_ms, .attempts = place->attempts, .written_ms = NOW};
    struct retry_facts facts = {.event = kind->event,
                                .basis = kind->basis,
                                .status = kind->status,
                                .by_rule = kind->by_rule,
                                .budget = &budget,
                                .promised_ms = promise->ago_ms == 0 ? 0 : NOW - promise->ago_ms,
                                .first_sent_ms = NOW - place->opened_ago_ms,
                                .may_defer = promise->may_defer,
                                .retry_after_ms = place->wish_ms,
                                .now_ms = NOW,
                                .random = 0};
    const struct retry_verdict least = retry_judge(route, &facts);
    facts.random = ((uint64_t)SECOND << (place->attempts - 1));
    const struct retry_verdict most = retry_judge(route, &facts);
    (void)gw_buf_print(out, "  %-9s %-14s %-9s ", kind->name, place->name, promise->name);
    print_verdict(out, &least);
    (void)gw_buf_print(out, " .. ");
    print_verdict(out, &most);
    (void)gw_buf_print(out, "  %s\n", most.reason);
}

static void print_route(struct gw_buf *out, bool is_on, bool dedups)
{
    const struct route_policy route = route_with(is_on, dedups);
    (void)gw_buf_print(out, "retry %s, the upstream %s\n", is_on ? "on" : "off",
                       dedups ? "deduplicates" : "does not deduplicate");
    for (size_t k = 0; k < GW_COUNT(kinds); k++)
        for (size_t p = 0; p < GW_COUNT(places); p++)
            for (size_t w = 0; w < GW_COUNT(promises); w++)
                print_case(out, &route, &kinds[k], &places[p], &promises[w]);
}

static void print_asks(struct gw_buf *out)
{
    static const char *const gates[RETRY_GATE_COUNT] = {"open", "near", "later", "spent"};
    static const int64_t held[] = {0,           -1,           1, 5 * SECOND, 5 * SECOND + 1,
                                   90 * SECOND, INT64_MAX / 2};
    const struct route_policy route = route_with(true, false);
    (void)gw_buf_print(out, "a repeat of a free key\n");
    for (uint32_t attempts = 0; attempts <= 4; attempts += 2)
        for (int64_t ago = -2 * WITHIN; ago <= WITHIN; ago += WITHIN)
            for (size_t h = 0; h < GW_COUNT(held); h++) {
                const struct retry_budget budget = {.window_ms = attempts == 0 ? 0 : NOW - ago,
                                                    .attempts = attempts,
                                                    .not_before_ms =
                                                        held[h] == 0 ? 0 : NOW + held[h],
                                                    .written_ms = NOW - ago};
                const struct retry_pass pass = retry_ask(&route.retry, &budget, NOW);
                (void)gw_buf_print(out, "  %u attempts, opened %lld ms ago, held %lld: %s %lld\n",
                                   attempts, (long long)ago, (long long)held[h], gates[pass.gate],
                                   (long long)pass.wait_ms);
            }
}

/* Guards: no end, budget or promise changes what follows it without a line of diff. */
static void test_retry_table(void **state)
{
    (void)state;
    struct gw_buf out;
    gw_buf_init(&out, GOLDEN_BYTES_MAX);
    print_route(&out, true, false);
    print_route(&out, true, true);
    print_route(&out, false, true);
    print_asks(&out);
    golden_check("tests/golden/retry.txt", &out);
    gw_buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_retry_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
