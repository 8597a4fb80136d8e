/* One suite, every backend: what each operation answers, and what it leaves. */
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

/* A claim of an absent key wins once; every other claim of it sees the first. */
static void claim_wins_once(void **state)
{
    struct fixture *f = *state;
    struct store_row first = fixture_row(f, "k", 1), second = fixture_row(f, "k", 2);
    struct store_row won = fixture_put(f, &first);
    assert_true(won.id > 0);
    assert_int_equal(won.receipt.state, RECEIPT_CLAIMED);
    assert_false(won.answer_kept);
    struct store_op op = fixture_claim(&second);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_int_equal(op.out.rows[0].id, won.id);
    assert_string_equal(op.out.rows[0].operation_id, first.operation_id);
    assert_int_equal(op.out.rows[0].receipt.token, first.receipt.token);
    assert_false(op.out.rows[0].lease_is_dead);
}

/* Owner, scope and key are separate: the same bytes split elsewhere are another identity. */
static void identities_do_not_run_together(void **state)
{
    struct fixture *f = *state;
    struct store_row a = fixture_row(f, "bc", 1), b = fixture_row(f, "c", 2), c = a;
    a.owner = SPAN("a");
    store_identity(a.owner, a.scope, a.key, &a.identity);
    b.owner = SPAN("ab");
    b.scope = SPAN("orders");
    store_identity(b.owner, b.scope, b.key, &b.identity);
    c.scope = SPAN("");
    c.owner = SPAN("aorders");
    memcpy(c.operation_id, "op_z", 4);
    store_identity(c.owner, c.scope, c.key, &c.identity);
    (void)fixture_put(f, &a);
    (void)fixture_put(f, &b);
    (void)fixture_put(f, &c);
}

/* A claim that finds its own result reports success, so that it may be applied twice. */
static void claim_is_idempotent(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row again = fixture_put(f, &row);
    assert_int_equal(again.id, won.id);
    row.receipt.token++;
    struct store_op op = fixture_claim(&row);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
}

/* Every field comes back as it was written. */
static void all_fields_survive(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k\0with\nanything\xff", 1);
    struct attempt_record attempt = {.number = 1, .token = 7, .end = END_answered, .status = 503};
    struct member_digest member = {SPAN("/a"), {1, 2, 3, 4, 5, 6, 7, 8}};
    struct gw_buf attempts, members;
    gw_buf_init(&attempts, 4096);
    gw_buf_init(&members, 4096);
    assert_true(attempts_encode(&attempts, &attempt, 1));
    assert_true(members_encode(&members, &member, 1));
    row.key = span_of("k\0with\nanything\xff", 16);
    store_identity(row.owner, row.scope, row.key, &row.identity);
    row.receipt.marks = RECEIPT_PROMISED | RECEIPT_RESENT;
    row.receipt.token = UINT64_MAX;
    row.receipt.attempt = UINT32_MAX;
    row.attempts = gw_buf_span(&attempts);
    row.members = gw_buf_span(&members);
    row.labels = fixture_labels(f, "order", "4711");
    row.request = fixture_message(f, SPAN("request"));
    row.evidence_until_ms = NOW_MS + 5;
    row.end = END_reset_no_answer;
    row.status = 503;
    for (unsigned i = 0; i < sizeof(row.print.bytes); i++)
        row.print.bytes[i] = (uint8_t)(255 - i);
    (void)fixture_put(f, &row);
    struct store_op op = fixture_lookup(&row, LOAD_REQUEST | LOAD_ANSWER);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    const struct store_row *got = op.out.rows;
    assert_string_equal(got->operation_id, row.operation_id);
    assert_memory_equal(got->identity.bytes, row.identity.bytes, 16);
    assert_memory_equal(got->print.bytes, row.print.bytes, 32);
    assert_span(got->owner, row.owner);
    assert_span(got->scope, row.scope);
    assert_span(got->key, row.key);
    assert_span(got->route, row.route);
    assert_span(got->print_mode, row.print_mode);
    assert_span(got->members, row.members);
    assert_span(got->method, row.method);
    assert_span(got->target, row.target);
    assert_span(got->labels, row.labels);
    assert_span(got->attempts, row.attempts);
    assert_span(got->request, row.request);
    assert_int_equal(got->answer.len, 0);
    assert_int_equal(got->receipt.state, row.receipt.state);
    assert_int_equal(got->receipt.marks, row.receipt.marks);
    assert_true(got->receipt.token == UINT64_MAX);
    assert_int_equal(got->receipt.attempt, UINT32_MAX);
    assert_int_equal(got->receipt.lease_until_ms, row.receipt.lease_until_ms);
    assert_int_equal(got->created_ms, row.created_ms);
    assert_int_equal(got->updated_ms, row.updated_ms);
    assert_int_equal(got->end, row.end);
    assert_int_equal(got->status, row.status);
    assert_int_equal(got->evidence_until_ms, row.evidence_until_ms);
    assert_false(got->answer_kept);
    gw_buf_fini(&attempts);
    gw_buf_fini(&members);
}

/* Look-ups find by identity and by operation id, and nothing else. */
static void lookup_and_find(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), other = fixture_row(f, "other", 2);
    (void)fixture_put(f, &row);
    struct store_op op = fixture_lookup(&other, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    assert_int_equal(op.out.row_count, 0);
    op = (struct store_op){.kind = STORE_FIND,
                           .in.find = {.operation_id = span_str(row.operation_id)}};
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_span(op.out.rows[0].key, row.key);
    op.in.find.operation_id = span_str(other.operation_id);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    op.in.find.operation_id = SPAN("");
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
}

/* A digest that leads to other bytes is damage, never somebody else's receipt. */
static void digest_alone_is_not_believed(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), forged = fixture_row(f, "other", 2);
    (void)fixture_put(f, &row);
    forged.identity = row.identity;
    struct store_op op = fixture_lookup(&forged, 0);
    assert_int_equal(fixture_try(f, &op), GW_CORRUPT);
    assert_int_equal(op.out.row_count, 0);
    op = fixture_claim(&forged);
    assert_int_equal(fixture_try(f, &op), GW_CORRUPT);
}

/* An advance changes the row once; who comes with an old version learns how it stands. */
static void advance_is_compare_and_set(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row sent = fixture_step(&won, RECEIPT_SENT);
    struct store_row after = fixture_move(f, &won, &sent);
    assert_int_equal(after.receipt.state, RECEIPT_SENT);
    assert_int_equal(after.receipt.version, 2);
    struct store_row other = fixture_step(&won, RECEIPT_RELEASED);
    struct store_op op = fixture_advance(&won, &other);
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    assert_int_equal(op.out.rows[0].receipt.state, RECEIPT_SENT);
    assert_int_equal(op.out.rows[0].receipt.version, 2);
    op = fixture_advance(&won, &sent);
    op.in.advance.id = won.id + 1000;
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
}

/* Applied twice, an advance reports success; another of the same version does not. */
static void advance_is_idempotent(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row next = fixture_step(&won, RECEIPT_UNKNOWN);
    (void)fixture_move(f, &won, &next);
    struct store_op again = fixture_advance(&won, &next);
    assert_int_equal(fixture_ask(f, &again), STORE_WON);
    assert_int_equal(again.out.rows[0].receipt.version, 2);
    struct store_row later = next;
    later.updated_ms++;
    struct store_op other = fixture_advance(&won, &later);
    assert_int_equal(fixture_ask(f, &other), STORE_STALE);
}

/* Two operators with one verdict: the audit tells them apart, and only one is in it. */
static void equal_verdicts_of_two_operators(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row next = fixture_step(&won, RECEIPT_UNKNOWN);
    struct audit_entry ana = {NOW_MS,          SPAN("token:ana"),
                              SPAN("settle"),  span_str(won.operation_id),
                              SPAN("seen it"), SPAN("")};
    struct audit_entry bob = ana;
    bob.actor = SPAN("token:bob");
    struct store_op op = fixture_advance(&won, &next);
    op.in.advance.audit = &ana;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    op.in.advance.audit = &bob;
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    op = (struct store_op){.kind = STORE_AUDIT,
                           .in.find = {.operation_id = span_str(won.operation_id)}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.audit_count, 1);
    assert_span(op.out.audit[0].actor, ana.actor);
    assert_span(op.out.audit[0].note, ana.note);
    assert_span(op.out.audit[0].action, ana.action);
    assert_span(op.out.audit[0].subject, ana.subject);
    assert_int_equal(op.out.audit[0].at_ms, NOW_MS);
}

/* What cannot change in a receipt's life does not, whatever an advance says. */
static void identity_is_fixed(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row next = fixture_step(&won, RECEIPT_SENT);
    next.owner = next.scope = next.key = next.route = SPAN("other");
    next.created_ms = 1;
    memset(&next.identity, 7, sizeof(next.identity));
    memcpy(next.operation_id, "op_zzz", 6);
    next.target = SPAN("/changed");
    struct store_row after = fixture_move(f, &won, &next);
    assert_span(after.key, row.key);
    struct store_op op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_string_equal(op.out.rows[0].operation_id, row.operation_id);
    assert_span(op.out.rows[0].route, row.route);
    assert_int_equal(op.out.rows[0].created_ms, row.created_ms);
    assert_span(op.out.rows[0].target, SPAN("/changed"));
}

/* Answers and requests are kept, loaded when asked for, replaced and dropped. */
static void bodies(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    row.request = fixture_message(f, SPAN("the request"));
    struct store_row won = fixture_put(f, &row);
    struct store_row done = fixture_step(&won, RECEIPT_COMPLETED);
    done.answer = fixture_message(f, SPAN("the answer"));
    done.request = span_of("", 0);
    struct store_row after = fixture_move(f, &won, &done);
    assert_true(after.answer_kept);
    struct store_op op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_true(op.out.rows[0].answer_kept);
    assert_int_equal(op.out.rows[0].answer.len, 0);
    assert_int_equal(op.out.rows[0].request.len, 0);
    op = fixture_lookup(&row, LOAD_ANSWER | LOAD_REQUEST);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_span(op.out.rows[0].answer, done.answer);
    assert_span(op.out.rows[0].request, row.request);
    op = fixture_claim(&row);
    op.in.claim.load_answer = true;
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_span(op.out.rows[0].answer, done.answer);
    op.in.claim.load_answer = false;
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_int_equal(op.out.rows[0].answer.len, 0);
    /* Marks change, the answer stays though nobody brings it. */
    struct store_row marked = fixture_step(&after, RECEIPT_COMPLETED);
    marked.receipt.marks = RECEIPT_CONTRADICTED;
    op = fixture_advance(&after, &marked);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_true(op.out.rows[0].answer_kept);
    struct store_op kept = fixture_lookup(&row, LOAD_ANSWER | LOAD_REQUEST);
    assert_int_equal(fixture_ask(f, &kept), STORE_HELD);
    assert_span(kept.out.rows[0].answer, done.answer);
    assert_span(kept.out.rows[0].request, row.request);
    struct store_row expired = fixture_step(op.out.rows, RECEIPT_EXPIRED);
    expired.answer = span_of("", 0);
    op = fixture_advance(&op.out.rows[0], &expired);
    op.in.advance.set_answer = op.in.advance.set_request = true;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_false(op.out.rows[0].answer_kept);
    op = fixture_lookup(&row, LOAD_ANSWER | LOAD_REQUEST);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_false(op.out.rows[0].answer_kept);
    assert_int_equal(op.out.rows[0].answer.len, 0);
    assert_int_equal(op.out.rows[0].request.len, 0);
}

/* A row that was advanced to ABSENT is gone with all that belonged to it, and the
 * key can be claimed anew under another id. */
static void removal(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    row.labels = fixture_labels(f, "order", "1");
    row.request = fixture_message(f, SPAN("x"));
    struct store_row won = fixture_put(f, &row);
    struct store_row gone = {.receipt = {.state = RECEIPT_ABSENT, .version = 2}};
    struct store_op op = fixture_advance(&won, &gone);
    op.in.advance.expect_version = 9;
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    op.in.advance.expect_version = 1;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(op.out.rows[0].receipt.state, RECEIPT_ABSENT);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    op = (struct store_op){
        .kind = STORE_LIST,
        .in.list = {.filter = {.label_name = SPAN("order"), .label_value = SPAN("1")}}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
    struct store_row fresh = fixture_row(f, "k", 2);
    struct store_row again = fixture_put(f, &fresh);
    assert_true(again.id > won.id);
    op = fixture_lookup(&row, LOAD_REQUEST);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_int_equal(op.out.rows[0].request.len, 0);
}

/* Operations of one batch see each other in the order in which they were submitted. */
static void order_inside_a_batch(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), late = fixture_row(f, "k", 2);
    struct store_row won = fixture_put(f, &row);
    struct store_row sent = fixture_step(&won, RECEIPT_SENT);
    struct store_row done = fixture_step(&sent, RECEIPT_COMPLETED);
    struct store_row gone = {.receipt = {.state = RECEIPT_ABSENT, .version = 4}};
    struct store_op ops[] = {fixture_advance(&won, &sent), fixture_advance(&sent, &done),
                             fixture_claim(&late),         fixture_advance(&done, &gone),
                             fixture_claim(&late),         fixture_lookup(&row, 0)};
    uint32_t left = 0;
    for (size_t i = 0; i < GW_COUNT(ops); i++)
        fixture_send(f, &ops[i], &left);
    fixture_wait(f->inbox, &left);
    for (size_t i = 0; i < GW_COUNT(ops); i++)
        assert_int_equal(ops[i].out.status, GW_OK);
    assert_int_equal(ops[0].out.found, STORE_WON);
    assert_int_equal(ops[1].out.found, STORE_WON);
    assert_int_equal(ops[2].out.found, STORE_HELD);
    assert_int_equal(ops[2].out.rows[0].receipt.state, RECEIPT_COMPLETED);
    assert_int_equal(ops[3].out.found, STORE_WON);
    assert_int_equal(ops[4].out.found, STORE_WON);
    assert_int_equal(ops[5].out.found, STORE_HELD);
    assert_string_equal(ops[5].out.rows[0].operation_id, late.operation_id);
}

/* Repeats are counted without a new version, and an advance does not forget them. */
static void touch_counts(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row unknown = fixture_step(&won, RECEIPT_UNKNOWN);
    struct store_row held = fixture_move(f, &won, &unknown);
    struct store_op op = {.kind = STORE_TOUCH, .in.touch = {held.id, NOW_MS + 1}};
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    op.in.touch.now_ms = NOW_MS + 2;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    op.in.touch.id = held.id + 99;
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    struct store_row marked = fixture_step(&held, RECEIPT_UNKNOWN);
    marked.receipt.marks = RECEIPT_CANCEL_REQUESTED;
    struct store_row after = fixture_move(f, &held, &marked);
    assert_int_equal(after.repeats, 2);
    op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    assert_int_equal(op.out.rows[0].repeats, 2);
    assert_int_equal(op.out.rows[0].last_repeat_ms, NOW_MS + 2);
    /* A new doubt begins to count anew. */
    struct store_row released = fixture_step(&after, RECEIPT_RELEASED);
    released = fixture_move(f, &after, &released);
    struct store_row doubt = fixture_step(&released, RECEIPT_UNKNOWN);
    doubt.repeats = 0;
    doubt.last_repeat_ms = 0;
    assert_int_equal(fixture_move(f, &released, &doubt).repeats, 0);
}

/* What is over makes room for the next one of its key, and is found by its id with all that
 * it has; whoever saw an older version changes nothing, and a second time makes no second. */
static void set_aside(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row done = fixture_step(&won, RECEIPT_COMPLETED);
    done.answer = won.answer;
    done = fixture_move(f, &won, &done);
    struct store_op op = {.kind = STORE_ASIDE, .in.aside = {done.id, done.receipt.version - 1}};
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    op.in.aside.id = done.id + 99;
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    op.in.aside = (__typeof__(op.in.aside)){done.id, done.receipt.version};
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_WON); /* a commit that was not heard of */
    op = fixture_lookup(&row, 0);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    struct store_row next = fixture_row(f, "k", 2);
    struct store_row other = fixture_put(f, &next);
    assert_int_not_equal(other.id, done.id);
    op = (struct store_op){.kind = STORE_FIND,
                           .in.find = {.operation_id = span_str(done.operation_id)}};
    assert_int_equal(fixture_ask(f, &op), STORE_HELD);
    const struct store_row *aside = op.out.rows;
    assert_int_equal(aside->id, done.id);
    assert_int_equal(aside->receipt.version, done.receipt.version + 1);
    assert_int_equal(aside->updated_ms, done.updated_ms);
    char key[64];
    (void)snprintf(key, sizeof(key), "k/%s", done.operation_id);
    assert_true(span_equal(aside->key, span_str(key)));
    /* An older version of it is nobody's any more. */
    op = (struct store_op){.kind = STORE_ASIDE, .in.aside = {done.id, done.receipt.version - 1}};
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
}

/* Many threads, one key: one claim wins; one version: one advance wins. */
struct racer {
    struct fixture *f;
    struct store_row row;
    struct store_row next;
    unsigned number;
    enum store_found claimed, advanced;
};

static void *race(void *ctx)
{
    struct racer *racer = ctx;
    struct fixture own = {.store = racer->f->store, .arena = arena_new((size_t)1 << 20)};
    struct gw_error err;
    assert_int_equal(store_inbox_new(&own.inbox, &err), GW_OK);
    struct store_op op = fixture_claim(&racer->row);
    racer->claimed = fixture_ask(&own, &op);
    struct store_row from = op.out.rows[0];
    racer->next = fixture_step(&from, RECEIPT_SENT);
    racer->next.receipt.version = 2;
    racer->next.receipt.token = 5000 + racer->number;
    op = fixture_advance(&from, &racer->next);
    op.in.advance.expect_version = 1;
    racer->advanced = fixture_ask(&own, &op);
    store_inbox_free(own.inbox);
    arena_free(own.arena);
    return NULL;
}

static void races_have_one_winner(void **state)
{
    enum { RACERS = 16, ROUNDS = 10 };
    struct fixture *f = *state;
    struct racer racers[RACERS];
    pthread_t threads[RACERS];
    for (unsigned round = 0; round < ROUNDS; round++) {
        char key[16];
        (void)snprintf(key, sizeof(key), "key-%u", round); /* fits */
        for (unsigned i = 0; i < RACERS; i++) {
            racers[i] =
                (struct racer){.f = f, .row = fixture_row(f, key, round * RACERS + i), .number = i};
            racers[i].row.receipt.token = 1 + i;
        }
        for (unsigned i = 0; i < RACERS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
        unsigned claims = 0, advances = 0;
        for (unsigned i = 0; i < RACERS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            claims += racers[i].claimed == STORE_WON;
            advances += racers[i].advanced == STORE_WON;
        }
        assert_int_equal(claims, 1);
        assert_int_equal(advances, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(claim_wins_once),
        BOTH(identities_do_not_run_together),
        BOTH(claim_is_idempotent),
        BOTH(all_fields_survive),
        BOTH(lookup_and_find),
        BOTH(digest_alone_is_not_believed),
        BOTH(advance_is_compare_and_set),
        BOTH(advance_is_idempotent),
        BOTH(equal_verdicts_of_two_operators),
        BOTH(identity_is_fixed),
        BOTH(bodies),
        BOTH(removal),
        BOTH(order_inside_a_batch),
        BOTH(touch_counts),
        BOTH(set_aside),
        BOTH(races_have_one_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
