/* Backends without the committer: what a rollback undoes, and that all of them
 * answer alike, whatever is asked in whatever order. */
#include "store/table.h"
#include "tests/store/fixture.h"

#define KEYS        12
#define BATCHES     3000
#define BATCH_OPS   6
#define NOW_MS      FIXTURE_NOW_MS
#define BACKENDS    2
#define ARENA_BYTES ((size_t)4 << 20)

struct pair {
    struct fixture f; /* its store stays closed: the backends are driven by hand */
    struct store_backend *backends[BACKENDS];
    uint64_t seed;
    unsigned number;
    struct {
        int64_t id;
        uint32_t version;
    } seen[KEYS]; /* rows that were returned lately */
    unsigned seen_at;
};

static int setup(void **state)
{
    static const struct store_backend_ops *const kinds[BACKENDS] = {&store_sqlite_ops,
                                                                    &store_memory_ops};
    struct pair *pair = calloc(1, sizeof(*pair));
    struct gw_error err = {0};
    assert_non_null(pair);
    fixture_init(&pair->f, "sqlite");
    for (unsigned i = 0; i < BACKENDS; i++)
        if (kinds[i]->open(&pair->f.options, &pair->backends[i], &err) != GW_OK)
            fail_msg("%s", err.text);
    pair->seed = 88172645463325252u;
    *state = pair;
    return 0;
}

static int teardown(void **state)
{
    struct pair *pair = *state;
    for (unsigned i = 0; i < BACKENDS; i++)
        pair->backends[i]->ops->close(pair->backends[i]);
    fixture_fini(&pair->f);
    free(pair);
    return 0;
}

static void begin(struct store_backend *backend)
{
    struct gw_error err = {0};
    if (backend->ops->begin(backend, true, &err) != GW_OK)
        fail_msg("%s", err.text);
}

static void commit(struct store_backend *backend)
{
    struct gw_error err = {0};
    if (backend->ops->commit(backend, &err) != GW_OK)
        fail_msg("%s", err.text);
}

static void apply(struct store_backend *backend, struct store_op *op, struct arena *arena)
{
    struct gw_error err = {0};
    op->arena = arena;
    memset(&op->out, 0, sizeof(op->out));
    if (backend->ops->apply(backend, op, &err) != GW_OK)
        fail_msg("%s", err.text);
}

/* A receipt with a label and a body, committed. */
static struct store_row put_kept(struct fixture *f, struct store_backend *backend,
                                 const struct store_row *row)
{
    struct store_op op = fixture_claim(row);
    begin(backend);
    apply(backend, &op, f->arena);
    commit(backend);
    return op.out.rows[0];
}

/* One of each kind of write, in one batch; then it is taken back. */
static void write_and_undo(struct fixture *f, struct store_backend *backend,
                           const struct store_row *kept, const struct store_row *gone)
{
    struct audit_entry audit = {NOW_MS, SPAN("a"), SPAN("b"), SPAN("route:r"), SPAN("n"), SPAN("")};
    struct audit_entry remark = audit;
    struct pause_entry pause = {PAUSE_ROUTE, SPAN("r"), SPAN("a"), SPAN("n"), NOW_MS};
    const struct plan_entry plan = {.plan_id = "plan_00000000000000000000000001"};
    const struct observation seen = {.route = SPAN("r"), .end = END_answered};
    struct store_row next = fixture_step(kept, RECEIPT_UNKNOWN);
    struct store_row absent = {.receipt = {.state = RECEIPT_ABSENT, .version = 3}};
    next.labels = fixture_labels(f, "order", "2");
    next.answer = fixture_message(f, SPAN("answer"));
    next.request = span_of("", 0);
    remark.subject = span_str(gone->operation_id);
    struct store_op ops[] = {
        fixture_advance(kept, &next),
        fixture_claim(gone),
        {.kind = STORE_TOUCH, .in.touch = {kept->id, NOW_MS}},
        {.kind = STORE_PAUSE, .in.pause = {.entry = pause, .audit = &audit}},
        {.kind = STORE_NOTE, .in.note = {.audit = &remark}},
        {.kind = STORE_PLAN_SET, .in.plan = {.entry = &plan, .audit = &audit}},
        {.kind = STORE_OBSERVE, .in.observe = {&seen, 1}},
        fixture_advance(&next, &absent),
    };
    ops[0].in.advance.set_answer = ops[0].in.advance.set_request = true;
    ops[0].in.advance.audit = &audit;
    begin(backend);
    for (size_t i = 0; i < GW_COUNT(ops); i++) {
        apply(backend, &ops[i], f->arena);
        assert_int_equal(ops[i].out.found, STORE_WON);
    }
    backend->ops->rollback(backend);
}

static void assert_as_before(struct fixture *f, struct store_backend *backend,
                             const struct store_row *kept, const struct store_row *gone)
{
    struct store_op look[] = {
        fixture_lookup(kept, LOAD_REQUEST | LOAD_ANSWER),
        fixture_lookup(gone, 0),
        {.kind = STORE_LIST,
         .in.list.filter = {.label_name = SPAN("order"), .label_value = SPAN("1")}},
        {.kind = STORE_AUDIT},
        {.kind = STORE_PAUSES},
        {.kind = STORE_TALLY},
        {.kind = STORE_GROUPS},
        {.kind = STORE_PLANS},
        {.kind = STORE_OBSERVED},
    };
    begin(backend);
    for (size_t i = 0; i < GW_COUNT(look); i++)
        apply(backend, &look[i], f->arena);
    commit(backend);
    assert_int_equal(look[0].out.found, STORE_HELD);
    assert_int_equal(look[0].out.rows[0].receipt.version, 1);
    assert_int_equal(look[0].out.rows[0].repeats, 0);
    assert_span(look[0].out.rows[0].request, kept->request);
    assert_int_equal(look[0].out.rows[0].answer.len, 0);
    assert_int_equal(look[1].out.found, STORE_NONE);
    assert_int_equal(look[2].out.row_count, 1);
    assert_int_equal(look[3].out.audit_count, 0);
    assert_int_equal(look[4].out.pause_count, 0);
    assert_int_equal(look[5].out.tally_count, 0);
    assert_int_equal(look[6].out.group_count, 0);
    assert_int_equal(look[7].out.plan_count, 0);
    assert_int_equal(look[8].out.observed_count, 0);
}

/* Everything that a batch changed is as before once it was rolled back: rows,
 * labels, bodies, audit, pauses, the tally, the groups, plans, observations. */
static void rollback_leaves_nothing(void **state)
{
    struct pair *pair = *state;
    struct fixture *f = &pair->f;
    for (unsigned i = 0; i < BACKENDS; i++) {
        struct store_row kept = fixture_row(f, "kept", 1), gone = fixture_row(f, "gone", 2);
        kept.labels = gone.labels = fixture_labels(f, "order", "1");
        kept.request = fixture_message(f, SPAN("request"));
        struct store_row row = put_kept(f, pair->backends[i], &kept);
        row.request = kept.request;
        write_and_undo(f, pair->backends[i], &row, &gone);
        assert_as_before(f, pair->backends[i], &row, &gone);
    }
}

static uint64_t pick(struct pair *pair, uint64_t below)
{
    pair->seed ^= pair->seed << 13;
    pair->seed ^= pair->seed >> 7;
    pair->seed ^= pair->seed << 17;
    return (pair->seed >> 11) % below;
}

static struct store_row random_row(struct pair *pair, struct fixture *f)
{
    char key[8], label[8];
    (void)snprintf(key, sizeof(key), "k%u", (unsigned)pick(pair, KEYS)); /* fits */
    (void)snprintf(label, sizeof(label), "%u", (unsigned)pick(pair, 3)); /* fits */
    struct store_row row = fixture_row(f, key, pair->number++);
    row.labels = pick(pair, 2) == 0 ? fixture_labels(f, "order", label) : span_of("", 0);
    row.request = pick(pair, 3) == 0 ? fixture_message(f, SPAN("request")) : span_of("", 0);
    row.evidence_until_ms = (int64_t)pick(pair, 2) * (NOW_MS + 3);
    row.created_ms = NOW_MS + (int64_t)pair->number;
    row.route = pick(pair, 2) == 0 ? SPAN("a") : SPAN("b");
    return row;
}

/* A change of the row of some id, with a version that is right most of the time. */
static struct store_op random_advance(struct pair *pair, struct fixture *f, struct store_row *next)
{
    static const enum receipt_state states[] = {
        RECEIPT_ABSENT,    RECEIPT_DEFERRED, RECEIPT_CLAIMED, RECEIPT_SENT,
        RECEIPT_COMPLETED, RECEIPT_RELEASED, RECEIPT_UNKNOWN, RECEIPT_CANCELLED,
        RECEIPT_ABANDONED, RECEIPT_EXPIRED,  RECEIPT_UNKNOWN, RECEIPT_UNKNOWN};
    struct store_row from = random_row(pair, f);
    uint64_t at = pick(pair, KEYS);
    from.id = pair->seen[at].id;
    from.receipt.version = pair->seen[at].version + (pick(pair, 6) == 0);
    *next = fixture_step(&from, states[pick(pair, GW_COUNT(states))]);
    if (next->receipt.state == RECEIPT_ABSENT)
        *next = (struct store_row){.receipt = {.version = from.receipt.version + 1}};
    if (next->receipt.state == RECEIPT_COMPLETED || next->receipt.state == RECEIPT_RELEASED)
        next->receipt.expire_ms = NOW_MS + (int64_t)pick(pair, 5);
    next->receipt.marks = next->receipt.state == RECEIPT_UNKNOWN ? RECEIPT_CONTRADICTED : 0;
    if (next->receipt.state != RECEIPT_ABSENT && next->receipt.state != RECEIPT_RELEASED &&
        pick(pair, 2) == 0)
        next->receipt.marks |= RECEIPT_PROMISED;
    if (next->receipt.state == RECEIPT_DEFERRED)
        next->receipt.due_ms = NOW_MS + (int64_t)pick(pair, 5);
    next->promised_ms = NOW_MS;
    next->window_ms = NOW_MS + (int64_t)pick(pair, 5);
    next->window_attempts = (uint32_t)pick(pair, 5);
    next->retry_ms = (int64_t)pick(pair, 2) * NOW_MS;
    next->kept = pick(pair, 2) == 0 ? fixture_message(f, SPAN("later")) : span_of("", 0);
    next->end = (uint8_t)pick(pair, 3);
    next->status = pick(pair, 2) == 0 ? 0 : 503;
    next->claimed_by = pick(pair, 3) == 0 ? SPAN("token:ana") : span_of("", 0);
    next->claimed_ms = next->claimed_by.len > 0 ? NOW_MS : 0;
    next->probe = (uint8_t)pick(pair, PROBE_RESULT_COUNT);
    next->probe_count = next->probe;
    next->probe_due_ms = pick(pair, 2) == 0 ? 0 : NOW_MS + (int64_t)pick(pair, 5);
    bool sets = pick(pair, 3) == 0;
    next->answer = sets && pick(pair, 3) != 0 ? fixture_message(f, SPAN("answer")) : span_of("", 0);
    struct store_op op = fixture_advance(&from, next);
    op.in.advance.set_answer = sets;
    op.in.advance.set_request = pick(pair, 4) == 0;
    op.in.advance.set_kept = pick(pair, 2) == 0;
    return op;
}

static struct store_op random_list(struct pair *pair)
{
    struct store_filter filter = {0};
    if (pick(pair, 2) == 0)
        filter.states = 1u << pick(pair, RECEIPT_STATE_COUNT);
    if (pick(pair, 4) == 0)
        filter.label_name = SPAN("order");
    if (pick(pair, 4) == 0)
        filter.label_value = SPAN("1");
    if (pick(pair, 4) == 0)
        filter.route = SPAN("a");
    if (pick(pair, 3) == 0)
        filter.states = 1u << RECEIPT_UNKNOWN;
    if (pick(pair, 4) == 0)
        filter.end = span_str(end_name((enum attempt_end)pick(pair, 3)));
    if (pick(pair, 4) == 0)
        filter.status = pick(pair, 2) == 0 ? 503 : STORE_STATUS_NONE;
    if (pick(pair, 6) == 0)
        filter.key = SPAN("k1");
    if (pick(pair, 6) == 0)
        filter.owner = SPAN("acme");
    if (pick(pair, 5) == 0)
        filter.probes = (uint32_t)pick(pair, 1u << PROBE_RESULT_COUNT);
    filter.claimed = (enum filter_claim)pick(pair, 3);
    filter.contradicted = pick(pair, 5) == 0;
    return (struct store_op){.kind = STORE_LIST,
                             .in.list = {.filter = filter,
                                         .rows_max = 1 + (uint32_t)pick(pair, 6),
                                         .oldest_first = pick(pair, 2) == 0,
                                         .cursor = (int64_t)pick(pair, 40)}};
}

/* What lies beside the rows: plans that come, go on and end; what was observed. */
static struct store_op random_beside(struct pair *pair, struct fixture *f)
{
    struct plan_entry *plan = arena_take(f->arena, sizeof(*plan));
    struct observation *seen = arena_take(f->arena, sizeof(*seen));
    plan->state = (enum plan_state)pick(pair, PLAN_STATE_COUNT);
    plan->created_ms = NOW_MS;
    plan->note = pick(pair, 2) == 0 ? SPAN("a") : SPAN("b");
    plan->answer = pick(pair, 3) == 0 ? fixture_message(f, SPAN("answer")) : span_of("", 0);
    (void)snprintf(plan->plan_id, sizeof(plan->plan_id), "plan_%026u",
                   (unsigned)pick(pair, 5)); /* fits */
    *seen = (struct observation){.at_ms = NOW_MS + (int64_t)pick(pair, 9),
                                 .route = pick(pair, 2) == 0 ? SPAN("a") : SPAN("b"),
                                 .identity = {{(uint8_t)pick(pair, 3)}}};
    switch (pick(pair, 5)) {
    case 0:
        return (struct store_op){.kind = STORE_PLAN_SET, .in.plan = {.entry = plan}};
    case 1:
        return (struct store_op){.kind = STORE_PLAN_GET,
                                 .in.find = {.operation_id = span_str(plan->plan_id)}};
    case 2:
        return (struct store_op){.kind = STORE_PLANS};
    case 3:
        return (struct store_op){.kind = STORE_OBSERVE, .in.observe = {seen, 1}};
    default:
        return (struct store_op){
            .kind = STORE_OBSERVED,
            .in.observed = {.route = pick(pair, 2) == 0 ? seen->route : span_of("", 0),
                            .since_ms = pick(pair, 2) == 0 ? 0 : seen->at_ms,
                            .after_identity = {{(uint8_t)pick(pair, 3)}},
                            .after_id = (int64_t)pick(pair, 9),
                            .rows_max = 1 + (uint32_t)pick(pair, 5)}};
    }
}

static struct store_op random_op(struct pair *pair, struct fixture *f, struct store_row *scratch)
{
    static const enum store_scan_kind scans[] = {SCAN_LAPSED, SCAN_EXPIRED, SCAN_EVIDENCE,
                                                 SCAN_PROBES, SCAN_DUE};
    switch (pick(pair, 10)) {
    case 0:
    case 1:
    case 2:
        *scratch = random_row(pair, f);
        return fixture_claim(scratch);
    case 3:
    case 4:
        return random_advance(pair, f, scratch);
    case 5:
        *scratch = random_row(pair, f);
        return fixture_lookup(scratch, LOAD_ANSWER | LOAD_REQUEST | LOAD_KEPT);
    case 6:
        if (pick(pair, 2) == 0)
            return (struct store_op){
                .kind = STORE_ASIDE,
                .in.aside = {1 + (int64_t)pick(pair, 60), 1 + (uint32_t)pick(pair, 3)}};
        return (struct store_op){.kind = STORE_TOUCH,
                                 .in.touch = {1 + (int64_t)pick(pair, 60), NOW_MS}};
    case 7:
        return (struct store_op){.kind = STORE_SCAN,
                                 .in.scan = {scans[pick(pair, GW_COUNT(scans))],
                                             NOW_MS + (int64_t)pick(pair, 40000),
                                             1 + (uint32_t)pick(pair, 6), (int64_t)pick(pair, 20),
                                             pick(pair, 2) == 0 ? 0 : NOW_MS + 1}};
    case 8:
        return pick(pair, 2) == 0
                   ? (struct store_op){.kind = STORE_TALLY}
                   : (struct store_op){.kind = STORE_GROUPS,
                                       .in.groups = {NOW_MS + (int64_t)pick(pair, 2000)}};
    default:
        return pick(pair, 2) == 0 ? random_beside(pair, f) : random_list(pair);
    }
}

static void assert_same_row(const struct store_row *a, const struct store_row *b)
{
    assert_int_equal(a->id, b->id);
    assert_string_equal(a->operation_id, b->operation_id);
    assert_int_equal(a->receipt.state, b->receipt.state);
    assert_int_equal(a->receipt.version, b->receipt.version);
    assert_int_equal(a->receipt.marks, b->receipt.marks);
    assert_true(a->receipt.token == b->receipt.token);
    assert_int_equal(a->receipt.lease_until_ms, b->receipt.lease_until_ms);
    assert_int_equal(a->receipt.due_ms, b->receipt.due_ms);
    assert_int_equal(a->receipt.expire_ms, b->receipt.expire_ms);
    assert_int_equal(a->lease_is_dead, b->lease_is_dead);
    assert_int_equal(a->repeats, b->repeats);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->answer_kept, b->answer_kept);
    assert_int_equal(a->evidence_until_ms, b->evidence_until_ms);
    assert_int_equal(a->promised_ms, b->promised_ms);
    assert_int_equal(a->window_ms, b->window_ms);
    assert_int_equal(a->window_attempts, b->window_attempts);
    assert_int_equal(a->retry_ms, b->retry_ms);
    assert_span(a->kept, b->kept);
    assert_span(a->key, b->key);
    assert_span(a->route, b->route);
    assert_span(a->labels, b->labels);
    assert_span(a->answer, b->answer);
    assert_span(a->request, b->request);
    assert_int_equal(a->status, b->status);
    assert_span(a->claimed_by, b->claimed_by);
    assert_int_equal(a->claimed_ms, b->claimed_ms);
    assert_int_equal(a->probe, b->probe);
    assert_int_equal(a->probe_count, b->probe_count);
    assert_int_equal(a->probe_due_ms, b->probe_due_ms);
    assert_span(a->probes, b->probes);
}

static void assert_same_groups(const struct store_op *a, const struct store_op *b)
{
    assert_int_equal(a->out.group_count, b->out.group_count);
    for (uint32_t i = 0; i < a->out.group_count; i++) {
        const struct group_entry *x = &a->out.groups[i], *y = &b->out.groups[i];
        assert_span(x->route, y->route);
        assert_int_equal(x->end, y->end);
        assert_int_equal(x->status, y->status);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->asked, y->asked);
        assert_int_equal(x->claimed, y->claimed);
        assert_int_equal(x->grown, y->grown);
        assert_int_equal(x->first_ms, y->first_ms);
        assert_int_equal(x->last_ms, y->last_ms);
        assert_memory_equal(x->probes, y->probes, sizeof(x->probes));
    }
}

static void assert_same_beside(const struct store_op *a, const struct store_op *b)
{
    assert_int_equal(a->out.plan_count, b->out.plan_count);
    for (uint32_t i = 0; i < a->out.plan_count; i++) {
        assert_string_equal(a->out.plans[i].plan_id, b->out.plans[i].plan_id);
        assert_int_equal(a->out.plans[i].state, b->out.plans[i].state);
        assert_span(a->out.plans[i].note, b->out.plans[i].note);
        assert_span(a->out.plans[i].answer, b->out.plans[i].answer);
    }
    assert_int_equal(a->out.observed_count, b->out.observed_count);
    for (uint32_t i = 0; i < a->out.observed_count; i++) {
        assert_int_equal(a->out.observed[i].id, b->out.observed[i].id);
        assert_int_equal(a->out.observed[i].at_ms, b->out.observed[i].at_ms);
        assert_span(a->out.observed[i].route, b->out.observed[i].route);
        assert_memory_equal(a->out.observed[i].identity.bytes, b->out.observed[i].identity.bytes,
                            16);
    }
}

static const struct tally_entry *tally_for(const struct store_op *op, struct span route)
{
    for (uint32_t i = 0; i < op->out.tally_count; i++)
        if (span_equal(op->out.tally[i].route, route))
            return &op->out.tally[i];
    fail_msg("a route is missing in the tally");
    return NULL;
}

static void assert_same_result(const struct store_op *a, const struct store_op *b)
{
    assert_int_equal(a->out.status, b->out.status);
    assert_int_equal(a->out.found, b->out.found);
    assert_int_equal(a->out.row_count, b->out.row_count);
    assert_int_equal(a->out.next_cursor, b->out.next_cursor);
    for (uint32_t i = 0; i < a->out.row_count; i++)
        assert_same_row(&a->out.rows[i], &b->out.rows[i]);
    assert_int_equal(a->out.tally_count, b->out.tally_count);
    for (uint32_t i = 0; i < a->out.tally_count; i++) {
        const struct tally_entry *other = tally_for(b, a->out.tally[i].route);
        assert_int_equal(a->out.tally[i].unknown, other->unknown);
        assert_int_equal(a->out.tally[i].oldest_ms, other->oldest_ms);
    }
    assert_same_groups(a, b);
    assert_same_beside(a, b);
}

static void remember(struct pair *pair, const struct store_op *op)
{
    for (uint32_t i = 0; i < op->out.row_count; i++) {
        pair->seen[pair->seen_at].id = op->out.rows[i].id;
        pair->seen[pair->seen_at].version = op->out.rows[i].receipt.version;
        pair->seen_at = (pair->seen_at + 1) % KEYS;
    }
}

/* Random batches, some rolled back, on all backends at once: every answer is the same. */
static void backends_answer_alike(void **state)
{
    struct pair *pair = *state;
    unsigned won = 0, stale = 0, rows = 0, groups = 0, seen = 0, plans = 0;
    for (unsigned batch = 0; batch < BATCHES; batch++) {
        struct fixture scratch = {.arena = arena_new(ARENA_BYTES)};
        bool undone = pick(pair, 3) == 0;
        uint64_t count = 1 + pick(pair, BATCH_OPS);
        for (unsigned i = 0; i < BACKENDS; i++)
            begin(pair->backends[i]);
        for (uint64_t j = 0; j < count; j++) {
            struct store_row row;
            struct store_op ops[BACKENDS];
            ops[0] = ops[1] = random_op(pair, &scratch, &row);
            for (unsigned i = 0; i < BACKENDS; i++)
                apply(pair->backends[i], &ops[i], scratch.arena);
            assert_same_result(&ops[0], &ops[1]);
            won += ops[0].kind == STORE_ADVANCE && ops[0].out.found == STORE_WON;
            stale += ops[0].kind == STORE_ADVANCE && ops[0].out.found == STORE_STALE;
            rows += ops[0].out.row_count;
            groups += ops[0].out.group_count;
            seen += ops[0].out.observed_count;
            plans += ops[0].out.plan_count;
            remember(pair, &ops[0]);
        }
        for (unsigned i = 0; i < BACKENDS; i++) {
            if (undone)
                pair->backends[i]->ops->rollback(pair->backends[i]);
            else
                commit(pair->backends[i]);
        }
        arena_free(scratch.arena);
    }
    /* Else the seed has led nowhere, and nothing was compared. */
    assert_true(won > 20);
    assert_true(stale > 5);
    assert_true(rows > 500);
    assert_true(groups > 50);
    assert_true(seen > 50);
    assert_true(plans > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rollback_leaves_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(backends_answer_alike, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
