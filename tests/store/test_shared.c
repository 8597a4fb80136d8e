/* Several gateways on one store: who holds what, who is taken for gone, and what a gateway
 * may believe of itself. The database here is the memory backend, which does in its order
 * what a database with a table of holders does. */
#include "store/committer.h"
#include "store/memory.h"
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

/* The database's clock, and that of the process where it is asked. */
struct test_clock {
    struct gw_clock clock; /* first: the one is found from the other */
    int64_t wall, ticks;
};

static int64_t wall_of(struct gw_clock *clock)
{
    return ((struct test_clock *)clock)->wall;
}

static int64_t ticks_of(struct gw_clock *clock)
{
    return ((struct test_clock *)clock)->ticks;
}

struct shared {
    struct fixture rows; /* its rows and arena alone are used */
    struct test_clock clock;
    struct store_backend *backend;
    int64_t holders[3]; /* of the gateways that take turns */
};

static int setup(void **state)
{
    struct shared *s = calloc(1, sizeof(*s));
    const struct store_options options = {.kind = "memory"};
    assert_non_null(s);
    s->rows.arena = arena_new(FIXTURE_ARENA_BYTES);
    assert_non_null(s->rows.arena);
    s->clock = (struct test_clock){
        .clock = {.wall_ms = wall_of, .ticks_ms = ticks_of}, .wall = NOW_MS, .ticks = 1000};
    assert_int_equal(store_memory_ops.open(&options, &s->backend, NULL), GW_OK);
    memory_share(s->backend, &s->clock.clock);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct shared *s = *state;
    store_memory_ops.close(s->backend);
    arena_free(s->rows.arena);
    free(s);
    return 0;
}

/* The gateway with this index is heard of; true: under the number that it had. */
static bool beats(struct shared *s, size_t index)
{
    struct store_beat beat;
    int64_t before = s->holders[index];
    s->backend->holder = before;
    assert_int_equal(store_memory_ops.beat(s->backend, STORE_HOLD_MS, &beat, NULL), GW_OK);
    assert_int_equal(beat.holder, s->backend->holder);
    assert_int_equal(beat.now_ms, s->clock.wall);
    s->holders[index] = beat.holder;
    return before == beat.holder;
}

static void pass(struct shared *s, int64_t ms)
{
    s->clock.wall += ms;
    s->clock.ticks += ms;
}

/* One operation of that gateway, in a transaction of its own. */
static enum store_found ask(struct shared *s, size_t index, struct store_op *op)
{
    s->backend->holder = s->holders[index];
    op->arena = s->rows.arena;
    memset(&op->out, 0, sizeof(op->out));
    assert_int_equal(store_memory_ops.begin(s->backend, op_writes(op), NULL), GW_OK);
    assert_int_equal(store_memory_ops.apply(s->backend, op, NULL), GW_OK);
    assert_int_equal(store_memory_ops.commit(s->backend, NULL), GW_OK);
    assert_int_equal(op->out.status, GW_OK);
    return op->out.found;
}

static struct store_row claim(struct shared *s, size_t index, const char *key)
{
    struct store_row row = fixture_row(&s->rows, key, 1);
    struct store_op op = {.kind = STORE_CLAIM, .in.claim.row = &row};
    row.receipt.state = RECEIPT_SENT;
    row.receipt.lease_until_ms = s->clock.wall + 60000;
    assert_int_equal(ask(s, index, &op), STORE_WON);
    assert_int_equal(op.out.rows[0].holder, s->holders[index]);
    return op.out.rows[0];
}

static struct store_row look(struct shared *s, size_t index, const struct store_row *row)
{
    struct store_op op = {
        .kind = STORE_LOOKUP,
        .in.lookup = {
            .identity = row->identity, .owner = row->owner, .scope = row->scope, .key = row->key}};
    assert_int_equal(ask(s, index, &op), STORE_HELD);
    return op.out.rows[0];
}

static uint32_t count_lapsed(struct shared *s, size_t index, int64_t now_ms)
{
    struct store_op op = {
        .kind = STORE_SCAN,
        .in.scan = {.kind = SCAN_LAPSED, .now_ms = now_ms, .rows_max = STORE_PAGE_ROWS_MAX}};
    assert_int_equal(ask(s, index, &op), STORE_PAGE);
    return op.out.row_count;
}

/* ---- the database's side ---- */

/* A lease of a gateway that lives is its own affair, whatever another one's clock says. */
static void a_living_gateway_keeps_its_lease(void **state)
{
    struct shared *s = *state;
    (void)beats(s, 0); /* it joins */
    (void)beats(s, 1);
    struct store_row row = claim(s, 0, "k1");
    assert_true(look(s, 1, &row).lease_is_foreign);
    assert_false(look(s, 0, &row).lease_is_foreign);
    int64_t late_ms = s->clock.wall + 3600000;
    assert_int_equal(count_lapsed(s, 1, late_ms), 0);
    assert_int_equal(count_lapsed(s, 0, late_ms), 1);
    row = look(s, 1, &row);
    assert_false(row_lease_is_over(&row, late_ms));
}

/* Who is not heard of in time has lost what it leased, at once and for ever. */
static void a_silent_gateway_is_forgotten(void **state)
{
    struct shared *s = *state;
    (void)beats(s, 0);
    (void)beats(s, 1);
    struct store_row row = claim(s, 0, "k1");
    for (int i = 0; i < 4; i++) {
        pass(s, STORE_BEAT_MS);
        assert_true(beats(s, 1));
    }
    assert_true(look(s, 1, &row).lease_is_dead);
    assert_int_equal(count_lapsed(s, 1, s->clock.wall), 1);
    assert_false(beats(s, 0)); /* back, under another number */
    assert_true(look(s, 0, &row).lease_is_dead);
    assert_true(look(s, 1, &row).lease_is_dead);
}

/* Until its time is over nobody takes anything from it, although it is late. */
static void a_late_gateway_is_not_forgotten(void **state)
{
    struct shared *s = *state;
    (void)beats(s, 0);
    (void)beats(s, 1);
    struct store_row row = claim(s, 0, "k1");
    pass(s, STORE_HOLD_MS - 1);
    (void)beats(s, 1);
    assert_false(look(s, 1, &row).lease_is_dead);
    assert_true(beats(s, 0));
}

/* The database was away for all: who comes back first does not judge the others. */
static void an_outage_takes_no_lease(void **state)
{
    struct shared *s = *state;
    (void)beats(s, 0);
    (void)beats(s, 1);
    struct store_row row = claim(s, 0, "k1");
    pass(s, 10 * STORE_HOLD_MS);
    assert_true(beats(s, 1));
    assert_false(look(s, 1, &row).lease_is_dead);
    pass(s, STORE_BEAT_MS);
    assert_true(beats(s, 0));
    for (int i = 0; i < 5; i++) { /* and if it had not come back, its time would be over */
        pass(s, STORE_BEAT_MS);
        assert_true(beats(s, 1));
    }
    assert_true(look(s, 1, &row).lease_is_dead);
}

/* A gateway that is forgotten leases nothing: its batch does not begin. */
static void a_forgotten_gateway_writes_nothing(void **state)
{
    struct shared *s = *state;
    struct gw_error err = {0};
    (void)beats(s, 0);
    (void)beats(s, 1);
    pass(s, STORE_HOLD_MS);
    (void)beats(s, 1);
    pass(s, STORE_HOLD_MS - 1);
    (void)beats(s, 1);
    pass(s, 1);
    (void)beats(s, 1);
    s->backend->holder = s->holders[0];
    assert_int_equal(store_memory_ops.begin(s->backend, true, &err), GW_BUSY);
    assert_int_equal(store_memory_ops.begin(s->backend, false, NULL), GW_OK);
    assert_int_equal(store_memory_ops.commit(s->backend, NULL), GW_OK);
    (void)beats(s, 0);
    (void)claim(s, 0, "k1");
}

/* Who writes to a row that another one has leased does not take the lease over. */
static void a_mark_moves_no_lease(void **state)
{
    struct shared *s = *state;
    (void)beats(s, 0);
    (void)beats(s, 1);
    struct store_row row = claim(s, 0, "k1");
    struct store_row next = look(s, 1, &row);
    struct store_op op = {
        .kind = STORE_ADVANCE,
        .in.advance = {.id = next.id, .expect_version = next.receipt.version, .next = &next}};
    next.receipt = receipt_mark(&next.receipt, RECEIPT_CANCEL_REQUESTED);
    assert_int_equal(ask(s, 1, &op), STORE_WON);
    assert_int_equal(look(s, 1, &row).holder, s->holders[0]);
    assert_true(look(s, 1, &row).lease_is_foreign);
    /* With a fresh token it is the one who writes. */
    next = look(s, 1, &row);
    op.in.advance.expect_version = next.receipt.version;
    next.receipt.version++;
    next.receipt.token++;
    assert_int_equal(ask(s, 1, &op), STORE_WON);
    assert_int_equal(look(s, 1, &row).holder, s->holders[1]);
}

/* Who leaves in peace is not waited for. */
static void who_leaves_is_gone(void **state)
{
    struct shared *s = *state;
    (void)beats(s, 0);
    (void)beats(s, 1);
    struct store_row row = claim(s, 0, "k1");
    s->backend->holder = s->holders[0];
    store_memory_ops.leave(s->backend);
    assert_true(look(s, 1, &row).lease_is_dead);
}

/* As many as there is room for, and a number is never given twice. */
static void gateways_are_bounded(void **state)
{
    struct shared *s = *state;
    struct store_beat beat = {0};
    struct gw_error err = {0};
    int64_t last = 0;
    for (int i = 0; i < MEMORY_HOLDERS_MAX; i++) {
        s->backend->holder = 0;
        assert_int_equal(store_memory_ops.beat(s->backend, STORE_HOLD_MS, &beat, &err), GW_OK);
        assert_true(beat.holder > last);
        last = beat.holder;
    }
    s->backend->holder = 0;
    assert_int_equal(store_memory_ops.beat(s->backend, STORE_HOLD_MS, &beat, &err), GW_LIMIT);
    s->backend->holder = last;
    store_memory_ops.leave(s->backend);
    assert_int_equal(store_memory_ops.beat(s->backend, STORE_HOLD_MS, &beat, &err), GW_OK);
    assert_true(beat.holder > last);
}

/* ---- the gateway's side ---- */

static struct holding_news news_of(int64_t holder, int64_t asked_ticks)
{
    return (struct holding_news){.beat = {.holder = holder, .now_ms = NOW_MS},
                                 .asked_ticks = asked_ticks,
                                 .wall_ms = NOW_MS};
}

/* It counts from before it asked, and ends before the database does. */
static void a_hold_ends_early(void **state)
{
    struct holding holding = {0};
    struct holding_news news = news_of(7, 1000);
    (void)state;
    assert_false(holding_holds(&holding, 7, 0));
    assert_int_equal(holding_renew(&holding, &news), HOLDING_RENEWED);
    assert_true(holding_holds(&holding, 7, 1000 + STORE_HOLD_MS - STORE_MARGIN_MS - 1));
    assert_false(holding_holds(&holding, 7, 1000 + STORE_HOLD_MS - STORE_MARGIN_MS));
}

/* What was leased under an older number is lost, however new the hold is. */
static void an_older_number_holds_nothing(void **state)
{
    struct holding holding = {0};
    struct holding_news news = news_of(7, 1000);
    (void)state;
    (void)holding_renew(&holding, &news); /* as above */
    news.beat.holder = 9;
    assert_int_equal(holding_renew(&holding, &news), HOLDING_RENEWED);
    assert_false(holding_holds(&holding, 7, 1001));
    assert_true(holding_holds(&holding, 9, 1001));
}

/* A clock that is too far off holds nothing; one of which nothing is known changes nothing. */
static void a_far_clock_holds_nothing(void **state)
{
    static const struct {
        int64_t ahead_ms, took_ms;
        enum holding_said says;
    } cases[] = {
        {0, 0, HOLDING_RENEWED},
        {STORE_SKEW_MS, 0, HOLDING_RENEWED},
        {-STORE_SKEW_MS, 0, HOLDING_RENEWED},
        {-STORE_SKEW_MS, 2 * STORE_SKEW_MS, HOLDING_RENEWED},
        {STORE_SKEW_MS + 1, 0, HOLDING_FAR},
        {-STORE_SKEW_MS - 1, 0, HOLDING_FAR},
        {-STORE_SKEW_MS - 1, 1, HOLDING_SLOW},
        {0, STORE_SKEW_MS + 1, HOLDING_SLOW},
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct holding holding = {0};
        struct holding_news news = news_of(7, 1000);
        (void)holding_renew(&holding, &news); /* it holds until it hears more */
        news.asked_ticks = 2000;
        news.wall_ms += cases[i].ahead_ms;
        news.took_ms = cases[i].took_ms;
        assert_int_equal(holding_renew(&holding, &news), cases[i].says);
        int64_t end = STORE_HOLD_MS - STORE_MARGIN_MS;
        assert_int_equal(holding_holds(&holding, 7, 1999 + end), cases[i].says == HOLDING_RENEWED);
        assert_int_equal(holding_holds(&holding, 7, 999 + end), cases[i].says != HOLDING_FAR);
    }
}

/* The committer's heart-beat: what the store says of its leases follows from it. */
static void the_committer_beats(void **state)
{
    struct shared *s = *state;
    struct test_clock own = s->clock;
    struct store store = {.options = {.clock = &own.clock}, .backend = s->backend};
    struct gw_error err = {0};
    assert_int_equal(pthread_mutex_init(&store.lock, NULL), 0);
    assert_int_equal(committer_beat(&store, &err), GW_OK);
    int64_t holder = s->backend->holder;
    assert_true(store_holds(&store, holder, own.ticks));
    assert_false(store_holds(&store, holder, own.ticks + STORE_HOLD_MS));
    assert_false(store_holds(&store, holder + 1, own.ticks));
    assert_int_equal(store_skew_ms(&store), 2 * STORE_SKEW_MS);
    own.wall += STORE_SKEW_MS + 1;
    assert_int_equal(committer_beat(&store, &err), GW_INVALID);
    assert_non_null(strstr(err.text, "set it"));
    assert_false(store_holds(&store, holder, own.ticks));
    assert_int_equal(pthread_mutex_destroy(&store.lock), 0);
}

/* Where one process owns the store, all of that is nothing. */
static void one_process_always_holds(void **state)
{
    struct shared *s = *state;
    struct store store = {.backend = s->backend};
    s->backend->is_shared = false;
    assert_true(store_holds(&store, 0, INT64_MAX));
    assert_int_equal(store_skew_ms(&store), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_living_gateway_keeps_its_lease, setup, teardown),
        cmocka_unit_test_setup_teardown(a_silent_gateway_is_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(a_late_gateway_is_not_forgotten, setup, teardown),
        cmocka_unit_test_setup_teardown(an_outage_takes_no_lease, setup, teardown),
        cmocka_unit_test_setup_teardown(a_forgotten_gateway_writes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(a_mark_moves_no_lease, setup, teardown),
        cmocka_unit_test_setup_teardown(who_leaves_is_gone, setup, teardown),
        cmocka_unit_test_setup_teardown(gateways_are_bounded, setup, teardown),
        cmocka_unit_test(a_hold_ends_early),
        cmocka_unit_test(an_older_number_holds_nothing),
        cmocka_unit_test(a_far_clock_holds_nothing),
        cmocka_unit_test_setup_teardown(the_committer_beats, setup, teardown),
        cmocka_unit_test_setup_teardown(one_process_always_holds, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
