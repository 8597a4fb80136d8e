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
    struct audit_entry ana = {NOW_MS, SPAN("token:ana"), SPAN("settle"),
                              span_str(won.operation_id), SPAN("seen it"), SPAN("")};
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
    op = (struct store_op){.kind = STORE_LIST,
                           .in.list = {.filter = {.label_name = SPAN("order"),
                                                  .label_value = SPAN("1")}}};
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
                             fixture_claim(&late), fixture_advance(&done, &gone),
                             fixture_claim(&late), fixture_lookup(&row, 0)};
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
            racers[i] = (struct racer){
                .f = f, .row = fixture_row(f, key, round * RACERS + i), .number = i};
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

/* Leases that are over are found, others are not. */
static void scan_lapsed(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 5; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.receipt.lease_until_ms = NOW_MS + i;
        row.receipt.state = i % 2 == 0 ? RECEIPT_CLAIMED : RECEIPT_SENT;
        (void)fixture_put(f, &row);
    }
    struct store_row done = fixture_row(f, "done", 9);
    done.receipt.state = RECEIPT_UNKNOWN;
    done.receipt.lease_until_ms = 0;
    (void)fixture_put(f, &done);
    struct store_op op = {.kind = STORE_SCAN,
                          .in.scan = {.kind = SCAN_LAPSED, .now_ms = NOW_MS + 2, .rows_max = 500}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 3);
    assert_int_equal(op.out.rows[2].receipt.lease_until_ms, NOW_MS + 2);
    int64_t second = op.out.rows[1].id;
    op.in.scan.after_id = second;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    assert_true(op.out.rows[0].id > second);
    op.in.scan = (__typeof__(op.in.scan)){SCAN_LAPSED, NOW_MS + 100, 2, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 2);
    op.in.scan.now_ms = NOW_MS - 1;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
}

/* Rows whose time is over are found in the order of their times, at any step of
 * the clock; rows without one are never found. */
static void scan_expired_and_evidence(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 6; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.receipt.state = RECEIPT_COMPLETED;
        row.receipt.lease_until_ms = 0;
        row.receipt.expire_ms = i == 5 ? 0 : NOW_MS + 100 - i;
        row.request = i < 2 ? fixture_message(f, SPAN("x")) : span_of("", 0);
        row.evidence_until_ms = NOW_MS + i;
        (void)fixture_put(f, &row);
    }
    struct store_op op = {.kind = STORE_SCAN,
                          .in.scan = {.kind = SCAN_EXPIRED, .now_ms = NOW_MS + 99, .rows_max = 3}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 3);
    assert_int_equal(op.out.rows[0].receipt.expire_ms, NOW_MS + 96);
    assert_int_equal(op.out.rows[2].receipt.expire_ms, NOW_MS + 98);
    op.in.scan.now_ms = INT64_MAX;
    op.in.scan.rows_max = 500;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 5);
    op.in.scan.after_id = op.out.rows[0].id;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
    op.in.scan = (__typeof__(op.in.scan)){SCAN_EXPIRED, 0, 500, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 0);
    op.in.scan = (__typeof__(op.in.scan)){SCAN_EVIDENCE, NOW_MS, 500, 0};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
    op.in.scan.now_ms = NOW_MS + 50;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 2);
    /* Once it was dropped it is not found again. */
    struct store_row from = op.out.rows[0], next = fixture_step(&from, RECEIPT_COMPLETED);
    struct store_op drop = fixture_advance(&from, &next);
    drop.in.advance.set_request = true;
    assert_int_equal(fixture_ask(f, &drop), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
}

/* Pauses are set, replaced, listed and cleared, and each change is in the audit. */
static void pauses(void **state)
{
    struct fixture *f = *state;
    struct audit_entry audit = {NOW_MS, SPAN("token:ana"), SPAN("pause"), SPAN("route:r"),
                                SPAN("incident 7"), SPAN("")};
    struct store_op op = {.kind = STORE_PAUSE,
                          .in.pause = {.entry = {PAUSE_ROUTE, SPAN("r"), SPAN("token:ana"),
                                                 SPAN("incident 7"), NOW_MS},
                                       .audit = &audit}};
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    struct store_op other = op;
    other.in.pause.audit = NULL;
    other.in.pause.entry.subject = PAUSE_UPSTREAM;
    assert_int_equal(fixture_ask(f, &other), STORE_WON);
    other.in.pause.entry.note = SPAN("still");
    assert_int_equal(fixture_ask(f, &other), STORE_WON);
    struct store_op all = {.kind = STORE_PAUSES};
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.pause_count, 2);
    unsigned at = all.out.pauses[0].subject == PAUSE_ROUTE ? 0 : 1;
    assert_span(all.out.pauses[at].note, SPAN("incident 7"));
    assert_span(all.out.pauses[at].name, SPAN("r"));
    assert_span(all.out.pauses[at].actor, SPAN("token:ana"));
    assert_int_equal(all.out.pauses[at].at_ms, NOW_MS);
    assert_span(all.out.pauses[1 - at].note, SPAN("still"));
    audit.action = SPAN("resume");
    op.in.pause.clear = true;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.pause_count, 1);
    struct store_op log = {.kind = STORE_AUDIT, .in.find = {.operation_id = SPAN("route:r")}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 2);
    assert_span(log.out.audit[0].action, SPAN("pause"));
    assert_span(log.out.audit[1].action, SPAN("resume"));
}

/* Unknowns are counted by route, with the oldest, as they come and go. */
static void tally(void **state)
{
    struct fixture *f = *state;
    struct store_row rows[4];
    for (unsigned i = 0; i < 4; i++) {
        char key[8];
        (void)snprintf(key, sizeof(key), "k%u", i); /* fits */
        struct store_row row = fixture_row(f, key, i);
        row.route = i < 3 ? SPAN("a") : SPAN("b");
        row.created_ms = NOW_MS + 10 - i;
        rows[i] = fixture_put(f, &row);
        struct store_row next = fixture_step(&rows[i], RECEIPT_UNKNOWN);
        rows[i] = fixture_move(f, &rows[i], &next);
    }
    struct store_op op = {.kind = STORE_TALLY};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.tally_count, 2);
    unsigned a = op.out.tally[0].route.ptr[0] == 'a' ? 0 : 1;
    assert_int_equal(op.out.tally[a].unknown, 3);
    assert_int_equal(op.out.tally[a].oldest_ms, NOW_MS + 8);
    assert_int_equal(op.out.tally[1 - a].unknown, 1);
    struct store_row settled = fixture_step(&rows[2], RECEIPT_COMPLETED);
    (void)fixture_move(f, &rows[2], &settled);
    struct store_row gone = {.receipt = {.state = RECEIPT_ABSENT, .version = 3}};
    (void)fixture_move(f, &rows[3], &gone);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.tally_count, 1);
    assert_span(op.out.tally[0].route, SPAN("a"));
    assert_int_equal(op.out.tally[0].unknown, 2);
    assert_int_equal(op.out.tally[0].oldest_ms, NOW_MS + 9);
}

/* A change and its audit are one: neither is there without the other. */
static void audit_belongs_to_its_change(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1);
    struct store_row won = fixture_put(f, &row);
    struct store_row next = fixture_step(&won, RECEIPT_SENT);
    struct audit_entry audit = {NOW_MS, SPAN("a"), SPAN("settle"), span_str(won.operation_id),
                                SPAN("n"), SPAN("d")};
    struct store_op op = fixture_advance(&won, &next);
    op.in.advance.audit = &audit;
    op.in.advance.expect_version = 77;
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    struct store_op log = {.kind = STORE_AUDIT,
                           .in.find = {.operation_id = span_str(won.operation_id)}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 0);
    op.in.advance.expect_version = 1;
    char *huge = calloc(1, (size_t)1 << 20);
    audit.note = span_of(huge, (size_t)1 << 20);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    free(huge);
    audit.note = SPAN("n");
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 1);
    assert_span(log.out.audit[0].detail, SPAN("d"));
}

/* An operation whose arena is too small fails alone; its neighbours do not notice. */
static void small_arena_fails_alone(void **state)
{
    struct fixture *f = *state;
    struct store_row row = fixture_row(f, "k", 1), next;
    row.request = fixture_message(f, SPAN("0123456789"));
    struct store_row won = fixture_put(f, &row);
    struct arena *small = arena_new(1);
    struct store_row other = fixture_row(f, "other", 2), third = fixture_row(f, "third", 3);
    struct store_op ops[] = {fixture_claim(&other), fixture_claim(&third),
                             fixture_lookup(&row, LOAD_REQUEST), {0}};
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

#define BOTH(test)                                                                                 \
    {"sqlite: " #test, test, fixture_setup, fixture_teardown, (void *)(uintptr_t)"sqlite"},        \
    {                                                                                              \
        "memory: " #test, test, fixture_setup, fixture_teardown, (void *)(uintptr_t)"memory"       \
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
        BOTH(races_have_one_winner),
        BOTH(scan_lapsed),
        BOTH(scan_expired_and_evidence),
        BOTH(pauses),
        BOTH(tally),
        BOTH(audit_belongs_to_its_change),
        BOTH(small_arena_fails_alone),
        BOTH(full_queue_refuses),
        BOTH(close_finishes),
        BOTH(inbox_takes_wakeups),
        BOTH(secret_is_one_of_a_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
