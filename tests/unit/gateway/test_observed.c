/* The batches of observe mode, with a store that answers when the test says so: how
 * many are under way, what is lost, and that it is counted. */
#include "gateway/sources/observed.h"
#include "tests/lib/testlib.h"

#include <event2/event.h>
#include <stdlib.h>

static const char text[] = "upstreams: {u: {url: \"http://127.0.0.1:1\"}}\n"
                           "routes:\n  - {name: a, mode: observe, match: {path: /a}}\n";

struct worker { /* as far as the file under test looks at it */
    struct worker_ports ports;
    struct conf *conf;
    struct event_base *base;
    struct store_op *submitted; /* with the store; NULL: none */
    uint32_t submissions;
    bool is_full; /* the store's queue */
};

const struct worker_ports *worker_ports(const struct worker *worker)
{
    return &worker->ports;
}

const struct conf *worker_conf(const struct worker *worker)
{
    return worker->conf;
}

struct event_base *worker_base(const struct worker *worker)
{
    return worker->base;
}

struct store_inbox *worker_inbox(const struct worker *worker)
{
    (void)worker;
    return NULL;
}

enum gw_status store_submit(struct store *store, struct store_op *op)
{
    struct worker *worker = (struct worker *)(void *)store;
    if (worker->is_full)
        return GW_LIMIT;
    assert_null(worker->submitted);
    worker->submitted = op;
    worker->submissions++;
    return GW_OK;
}

static int setup(void **state)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    struct conf_report findings = {0};
    assert_non_null(worker);
    assert_int_equal(conf_parse(SPAN(text), "t.yaml", &worker->conf, &findings), GW_OK);
    conf_report_fini(&findings);
    worker->base = event_base_new();
    worker->ports.store = (struct store *)(void *)worker;
    worker->ports.board = board_new(worker->conf);
    assert_non_null(worker->ports.board);
    *state = worker;
    return 0;
}

static int teardown(void **state)
{
    struct worker *worker = *state;
    board_free(worker->ports.board);
    event_base_free(worker->base);
    conf_unref(worker->conf);
    free(worker);
    return 0;
}

static const struct route_policy *route_of(const struct worker *worker)
{
    return &worker->conf->routes.routes[0];
}

static void add(struct worker *worker, struct observed *observed, uint32_t count)
{
    const struct observation one = {.at_ms = 1, .route = SPAN("a"), .method = SPAN("POST")};
    for (uint32_t i = 0; i < count; i++)
        observed_add(observed, route_of(worker), &one);
}

/* The store is done with what it has; -> how many there were. */
static uint32_t finish(struct worker *worker, enum gw_status status)
{
    struct store_op *op = worker->submitted;
    assert_non_null(op);
    uint32_t count = op->in.observe.count;
    for (uint32_t i = 0; i < count; i++)
        assert_true(span_equal(op->in.observe.seen[i].route, SPAN("a")));
    worker->submitted = NULL;
    op->out.status = status;
    op->done(op, op->ctx);
    return count;
}

static uint64_t lost(struct worker *worker)
{
    return atomic_load(&board_route(worker->ports.board, route_of(worker))->observed_lost);
}

static uint64_t noted(struct worker *worker)
{
    return atomic_load(&board_route(worker->ports.board, route_of(worker))->observed);
}

static void test_a_full_ring(void **state)
{
    /* Guards: one batch is under way and one is filled; what comes on top is lost and counted. */
    struct worker *worker = *state;
    struct observed *observed = NULL;
    assert_int_equal(observed_new(worker, &observed, NULL), GW_OK);
    add(worker, observed, 3 * STORE_PAGE_ROWS_MAX);
    assert_int_equal(worker->submissions, 1);
    uint32_t first = finish(worker, GW_OK);
    assert_false(observed_is_finished(observed));
    uint32_t second = finish(worker, GW_OK);
    assert_int_equal(second, STORE_PAGE_ROWS_MAX);
    assert_int_equal(noted(worker), first + second);
    assert_int_equal(lost(worker), 3 * STORE_PAGE_ROWS_MAX - first - second);
    assert_true(observed_is_finished(observed));
    observed_free(observed);
}

static void test_a_batch_waits_for_more(void **state)
{
    /* Guards: a few exchanges leave together, by time, not one by one. */
    struct worker *worker = *state;
    struct observed *observed = NULL;
    assert_int_equal(observed_new(worker, &observed, NULL), GW_OK);
    add(worker, observed, 3);
    assert_int_equal(worker->submissions, 0);
    assert_true(event_base_loop(worker->base, EVLOOP_ONCE) >= 0);
    assert_int_equal(worker->submissions, 1);
    assert_int_equal(finish(worker, GW_OK), 3);
    observed_free(observed);
}

static void test_a_store_that_fails(void **state)
{
    /* Guards: what the store did not write, or had no place for, is lost and counted. */
    struct worker *worker = *state;
    struct observed *observed = NULL;
    assert_int_equal(observed_new(worker, &observed, NULL), GW_OK);
    add(worker, observed, 2);
    assert_false(observed_is_finished(observed));
    assert_int_equal(finish(worker, GW_IO), 2);
    assert_int_equal(lost(worker), 2);
    worker->is_full = true;
    add(worker, observed, 4);
    assert_true(observed_is_finished(observed));
    assert_int_equal(lost(worker), 6);
    assert_int_equal(noted(worker), 0);
    observed_free(observed);
}

static void test_large_ones(void **state)
{
    /* Guards: a batch is bounded in bytes, too, and one that does not fit leaves the rest whole. */
    struct worker *worker = *state;
    struct observed *observed = NULL;
    char *room = calloc(1, OBSERVED_BATCH_BYTES / 4);
    assert_non_null(room);
    const struct observation large = {.route = SPAN("a"),
                                      .members = span_of(room, OBSERVED_BATCH_BYTES / 4)};
    assert_int_equal(observed_new(worker, &observed, NULL), GW_OK);
    for (int i = 0; i < 8; i++)
        observed_add(observed, route_of(worker), &large);
    free(room);
    uint32_t sent = finish(worker, GW_OK);
    if (!observed_is_finished(observed))
        sent += finish(worker, GW_OK);
    assert_true(sent > 0 && sent < 8);
    assert_int_equal(lost(worker), 8 - sent);
    observed_free(observed);
}

static void test_copies_are_bounded(void **state)
{
    /* Guards: copies of bodies take no more than conf_observed_bytes(), and give it back. */
    struct worker *worker = *state;
    struct observed *observed = NULL;
    assert_int_equal(observed_new(worker, &observed, NULL), GW_OK);
    uint64_t most = conf_observed_bytes(worker->conf);
    assert_true(observed_hold(observed, most - 1));
    assert_false(observed_hold(observed, 2));
    assert_true(observed_hold(observed, 1));
    observed_let_go(observed, most);
    assert_true(observed_hold(observed, most));
    observed_let_go(observed, most);
    observed_free(observed);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_a_full_ring), TEST(test_a_batch_waits_for_more),
                                       TEST(test_a_store_that_fails), TEST(test_large_ones),
                                       TEST(test_copies_are_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
