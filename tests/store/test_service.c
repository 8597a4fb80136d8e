/* The store as a service, every backend: its queue, its inboxes, its end, and
 * operations that fail alone. */
#include "tests/store/fixture.h"

/* An operation whose arena is too small fails alone; its neighbours do not notice. */
static void small_arena_fails_alone(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), next;
    row.request = fixture_message(f, SPAN("0123456789"));
    struct store_row won = fixture_put(f, &row);
    struct arena *small = arena_new(1);
    struct store_row other = fixture_row(f, "other", 2), third = fixture_row(f, "third", 3);
    struct store_op ops[] = {
        fixture_claim(&other), fixture_claim(&third), fixture_lookup(&row, LOAD_REQUEST), {0}};
    next = fixture_step(&won, RECEIPT_SENT);
    ops[3] = fixture_advance(&won, &next);
    ops[1].arena = ops[2].arena = small;
    uint32_t left = 0;
    for (size_t i = 0; i < GW_COUNT(ops); i++)
        fixture_send(f, &ops[i], &left);
    fixture_wait(f->inbox, &left);
    assert_int_equal(ops[0].out.status, GW_OK);
    assert_int_equal(ops[1].out.status, GW_NOMEM);
    assert_int_equal(ops[2].out.status, GW_NOMEM);
    assert_int_equal(ops[3].out.found, STORE_WON);
    struct store_op look = fixture_lookup(&third, 0);
    assert_int_equal(fixture_ask(f, &look), STORE_NONE);
    arena_free(small);
}

/* A full queue refuses, and what was taken is still finished. */
static void full_queue_refuses(void **state)
{
    enum { MANY = 2000 };
    struct fixture *f = *state;
    fixture_close(f);
    f->options.queue_max = 4;
    f->options.batch_max = 2;
    fixture_open(f);
    struct store_op *ops = calloc(MANY, sizeof(*ops));
    struct store_row row = fixture_row(f, "k", 1);
    uint32_t left = 0, refused = 0;
    for (unsigned i = 0; i < MANY; i++) {
        ops[i] = fixture_claim(&row);
        ops[i].arena = f->arena;
        ops[i].inbox = f->inbox;
        ops[i].done = fixture_count;
        ops[i].ctx = &left;
        enum gw_status status = store_submit(f->store, &ops[i]);
        assert_true(status == GW_OK || status == GW_LIMIT);
        refused += status == GW_LIMIT;
        left += status == GW_OK;
    }
    assert_true(refused > 0);
    assert_true(left > 0);
    fixture_wait(f->inbox, &left);
    free(ops);
}

/* Closing finishes what was submitted; the results wait in the inbox. */
static void close_finishes(void **state)
{
    enum { MANY = 300 };
    struct fixture *f = *state;
    struct store_op *ops = calloc(MANY, sizeof(*ops));
    struct store_row row = fixture_row(f, "k", 1);
    uint32_t left = 0;
    for (unsigned i = 0; i < MANY; i++) {
        ops[i] = fixture_claim(&row);
        fixture_send(f, &ops[i], &left);
    }
    fixture_close(f);
    fixture_wait(f->inbox, &left);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(ops[i].out.found, STORE_WON);
    free(ops);
}

/* An op that was never submitted can be put into its inbox: a wake-up for the loop. */
static void inbox_takes_wakeups(void **state)
{
    struct fixture *f = *state;
    uint32_t left = 2;
    struct store_op a = {.inbox = f->inbox, .done = fixture_count, .ctx = &left};
    struct store_op b = a;
    store_inbox_deliver(&a);
    store_inbox_deliver(&b);
    fixture_wait(f->inbox, &left);
    assert_int_equal(left, 0);
}

/* The secret has 32 bytes and is not the same for two stores. */
static void secret_is_one_of_a_kind(void **state)
{
    struct fixture *f = *state;
    struct fixture other;
    fixture_init(&other, f->options.kind);
    fixture_open(&other);
    assert_int_equal(store_secret(f->store).len, 32);
    assert_memory_not_equal(store_secret(f->store).ptr, store_secret(other.store).ptr, 32);
    fixture_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(small_arena_fails_alone), BOTH(full_queue_refuses),      BOTH(close_finishes),
        BOTH(inbox_takes_wakeups),     BOTH(secret_is_one_of_a_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
