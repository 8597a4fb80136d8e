/* The history of the backlog, with a store that answers when the test says so and a
 * clock that the test turns: what a sample holds, what is a gap, that it is bounded. */
#include "gateway/admin/history.h"
#include "gateway/admin/plane.h"
#include "tests/lib/testlib.h"

#include <event2/event.h>
#include <stdlib.h>

#define MINUTE_MS ((int64_t)60000)
#define TURNS_MAX 1000000

static const char text[] = "upstreams: {u: {url: \"http://127.0.0.1:1\"}}\n"
                           "owners: {everyone: {kind: static}}\n"
                           "defaults: {upstream: u, owner: everyone}\n"
                           "routes:\n"
                           "  - {name: a, evidence: {body: true}, match: {path: /a}}\n"
                           "  - {name: b, mode: pass, match: {path: /b}}\n";

struct world {
    struct admin admin; /* first, so that the store's pointer leads to the rest */
    struct gw_clock clock;
    struct store_op *submitted; /* with the store; NULL: none */
    uint32_t submissions;
    bool is_full; /* the store's queue */
    int64_t wall_ms;
    atomic_bool ready;
    struct conf *conf;
};

enum gw_status store_submit(struct store *store, struct store_op *op)
{
    struct world *world = (struct world *)(void *)store;
    if (world->is_full)
        return GW_LIMIT;
    assert_null(world->submitted);
    assert_int_equal(op->kind, STORE_TALLY);
    world->submitted = op;
    world->submissions++;
    return GW_OK;
}

static struct world *world_of(struct gw_clock *clock)
{
    return (struct world *)(void *)((char *)clock - offsetof(struct world, clock));
}

static int64_t wall_ms(struct gw_clock *clock)
{
    return world_of(clock)->wall_ms;
}

/* A sample is due whenever the test has turned the clock, and the loop is let run. */
static int64_t ticks_ms(struct gw_clock *clock)
{
    return world_of(clock)->wall_ms;
}

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    struct conf_report findings = {0};
    assert_non_null(world);
    assert_int_equal(conf_parse(SPAN(text), "t.yaml", &world->conf, &findings), GW_OK);
    conf_report_fini(&findings);
    world->clock = (struct gw_clock){.wall_ms = wall_ms, .ticks_ms = ticks_ms};
    world->wall_ms = 1000 * MINUTE_MS;
    atomic_store(&world->ready, true);
    world->admin.options = (struct admin_options){.base = event_base_new(),
                                                  .conf = world->conf,
                                                  .store = (struct store *)(void *)world,
                                                  .board = board_new(world->conf),
                                                  .clock = &world->clock,
                                                  .ready = &world->ready};
    assert_non_null(world->admin.options.board);
    world->admin.history = history_new(&world->admin, 1);
    assert_non_null(world->admin.history);
    *state = world;
    return 0;
}

static void come_back(struct world *world, enum gw_status status, struct tally_entry *tally,
                      uint32_t count)
{
    struct store_op *op = world->submitted;
    assert_non_null(op);
    world->submitted = NULL;
    op->out.status = status;
    op->out.tally = tally;
    op->out.tally_count = count;
    op->done(op, op->ctx);
}

static int teardown(void **state)
{
    struct world *world = *state;
    history_close(world->admin.history);
    if (world->submitted != NULL)
        come_back(world, GW_OK, NULL, 0);
    assert_int_equal(world->admin.calls_in_store, 0);
    history_free(world->admin.history);
    board_free(world->admin.options.board);
    event_base_free(world->admin.options.base);
    conf_unref(world->conf);
    free(world);
    return 0;
}

/* Lets the loop turn once: its timer is due, and due again a moment later. */
static void turn(struct world *world)
{
    assert_int_equal(event_base_loop(world->admin.options.base, EVLOOP_ONCE), 0);
}

/* A minute later: one more question is with the store. */
static void next_minute(struct world *world)
{
    uint32_t before = world->submissions;
    world->wall_ms += MINUTE_MS;
    for (uint32_t i = 0; world->submissions == before && i < TURNS_MAX; i++)
        turn(world);
    assert_int_equal(world->submissions, before + 1);
}

static const struct history_sample *newest(const struct world *world)
{
    uint32_t count = history_count(world->admin.history);
    assert_true(count > 0);
    return history_at(world->admin.history, count - 1);
}

static void test_a_sample_is_the_sum_of_all_routes(void **state)
{
    /* Property: a sample has the sum of the unknown, the oldest of them, and when it was. */
    struct world *world = *state;
    struct tally_entry tally[] = {{SPAN("a"), 3, 7000}, {SPAN("gone"), 4, 5000}, {SPAN("c"), 0, 1}};
    next_minute(world);
    assert_int_equal(world->admin.calls_in_store, 1);
    assert_int_equal(history_count(world->admin.history), 0); /* not whole yet */
    come_back(world, GW_OK, tally, GW_COUNT(tally));
    assert_int_equal(history_count(world->admin.history), 1);
    assert_true(newest(world)->is_known);
    assert_int_equal(newest(world)->unknown, 7);
    assert_int_equal(newest(world)->oldest_ms, 5000);
    assert_int_equal(newest(world)->at_ms, world->wall_ms);
    assert_int_equal(history_since_ms(world->admin.history), 1000 * MINUTE_MS);
    next_minute(world);
    come_back(world, GW_OK, NULL, 0);
    assert_int_equal(newest(world)->unknown, 0);
    assert_int_equal(newest(world)->oldest_ms, 0);
    assert_int_equal(history_at(world->admin.history, 0)->unknown, 7);
}

static void test_what_the_board_says_is_in_it(void **state)
{
    /* Property: attempts of all routes are counted; of the paused ones those that guard. */
    struct world *world = *state;
    struct board *board = world->admin.options.board;
    const struct route_policy *routes = world->conf->routes.routes;
    atomic_fetch_add(&board_route(board, &routes[0])->in_flight, 2);
    atomic_fetch_add(&board_route(board, &routes[1])->in_flight, 3);
    assert_true(board_pause(board, PAUSE_UPSTREAM, SPAN("u"), true));
    next_minute(world);
    come_back(world, GW_OK, NULL, 0);
    assert_int_equal(newest(world)->in_flight, 5);
    assert_int_equal(newest(world)->paused, 1);
    assert_int_equal(newest(world)->breakers_open, 0);
    assert_true(board_pause(board, PAUSE_UPSTREAM, SPAN("u"), false));
    next_minute(world);
    come_back(world, GW_OK, NULL, 0);
    assert_int_equal(newest(world)->paused, 0);
}

static void test_a_store_that_fails_makes_a_gap(void **state)
{
    /* Property: no figure is made up: a failed or refused question is a sample without one. */
    struct world *world = *state;
    struct tally_entry tally[] = {{SPAN("a"), 3, 7000}};
    next_minute(world);
    come_back(world, GW_IO, tally, GW_COUNT(tally));
    assert_false(newest(world)->is_known);
    assert_int_equal(newest(world)->unknown, 0);
    world->is_full = true;
    world->wall_ms += MINUTE_MS;
    for (uint32_t i = 0; history_count(world->admin.history) < 2 && i < TURNS_MAX; i++)
        turn(world);
    assert_false(newest(world)->is_known);
    assert_int_equal(newest(world)->at_ms, world->wall_ms);
    world->is_full = false;
    next_minute(world);
    come_back(world, GW_OK, tally, GW_COUNT(tally));
    assert_int_equal(newest(world)->unknown, 3);
}

static void test_a_late_answer_is_not_of_a_later_minute(void **state)
{
    /* Property: there is one question at a time, and a late answer belongs to no minute. */
    struct world *world = *state;
    struct tally_entry tally[] = {{SPAN("a"), 3, 7000}};
    next_minute(world);
    int64_t asked_ms = world->wall_ms;
    world->wall_ms += MINUTE_MS;
    for (uint32_t i = 0; history_count(world->admin.history) < 2 && i < TURNS_MAX; i++)
        turn(world);
    assert_int_equal(world->submissions, 1);
    come_back(world, GW_OK, tally, GW_COUNT(tally));
    assert_int_equal(history_at(world->admin.history, 0)->at_ms, asked_ms);
    for (uint32_t i = 0; i < history_count(world->admin.history); i++)
        assert_false(history_at(world->admin.history, i)->is_known);
    next_minute(world);
    come_back(world, GW_OK, tally, GW_COUNT(tally));
    assert_int_equal(newest(world)->unknown, 3);
}

static void test_it_is_bounded(void **state)
{
    /* Property: after a day the oldest sample gives way, and the order stays that of time. */
    struct world *world = *state;
    const uint32_t more = HISTORY_SAMPLES_MAX + 7;
    for (uint32_t i = 1; i <= more; i++) {
        struct tally_entry entry = {SPAN("a"), i, 1};
        next_minute(world);
        come_back(world, GW_OK, &entry, 1);
    }
    assert_int_equal(history_count(world->admin.history), HISTORY_SAMPLES_MAX);
    for (uint32_t i = 0; i < HISTORY_SAMPLES_MAX; i++)
        assert_int_equal(history_at(world->admin.history, i)->unknown, i + 8);
    next_minute(world); /* the newest is open: the oldest has gone already */
    assert_int_equal(history_count(world->admin.history), HISTORY_SAMPLES_MAX - 1);
    assert_int_equal(history_at(world->admin.history, 0)->unknown, 9);
    assert_int_equal(newest(world)->unknown, more);
}

static void test_nothing_is_asked_before_all_is_ready(void **state)
{
    /* Property: while operations are still recovered their number is not looked at. */
    struct world *world = *state;
    atomic_store(&world->ready, false);
    turn(world);
    assert_int_equal(world->submissions, 0);
    assert_int_equal(history_count(world->admin.history), 0);
    atomic_store(&world->ready, true);
    next_minute(world);
}

static void test_the_next_sample_is_due_after_its_time(void **state)
{
    /* Property: the loop is not woken before: one sample, then none until its time has come. */
    struct world *world = *state;
    history_close(world->admin.history);
    history_free(world->admin.history);
    world->admin.history = history_new(&world->admin, HISTORY_EVERY_MS);
    assert_non_null(world->admin.history);
    assert_int_equal(history_every_ms(world->admin.history), MINUTE_MS);
    next_minute(world);
    come_back(world, GW_OK, NULL, 0);
    world->wall_ms += MINUTE_MS;
    assert_int_equal(event_base_loop(world->admin.options.base, EVLOOP_NONBLOCK), 0);
    assert_int_equal(world->submissions, 1);
}

static void test_nothing_is_asked_after_the_end(void **state)
{
    /* Property: once closed it asks no more, so that the process can end. */
    struct world *world = *state;
    history_close(world->admin.history);
    assert_int_equal(event_base_loop(world->admin.options.base, EVLOOP_NONBLOCK), 1);
    assert_int_equal(world->submissions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_sample_is_the_sum_of_all_routes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_the_board_says_is_in_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_store_that_fails_makes_a_gap, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_late_answer_is_not_of_a_later_minute, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_it_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_asked_before_all_is_ready, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_next_sample_is_due_after_its_time, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_nothing_is_asked_after_the_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
