/* The backlog as the store counts and finds it: groups of unknowns, what narrows a
 * list of them, who is on them, and when to ask about them; every backend. */
#include "store/table.h"
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

/* Claimed, sent, and lost in this way. */
static struct store_row put_unknown(struct fixture *f, unsigned number, struct span route,
                                    uint8_t end, uint16_t status)
{
    char key[16];
    (void)snprintf(key, sizeof(key), "k%u", number); /* fits */
    struct store_row row = fixture_row(f, key, number);
    row.route = route;
    row.created_ms = NOW_MS + number;
    row.receipt.state = RECEIPT_SENT;
    struct store_row sent = fixture_put(f, &row);
    struct store_row lost = fixture_step(&sent, RECEIPT_UNKNOWN);
    lost.end = end;
    lost.status = status;
    return fixture_move(f, &sent, &lost);
}

static struct store_row change(struct fixture *f, const struct store_row *from,
                               enum receipt_state state)
{
    struct store_row next = fixture_step(from, state);
    return fixture_move(f, from, &next);
}

static struct store_op groups_since(struct fixture *f, int64_t since_ms)
{
    struct store_op op = {.kind = STORE_GROUPS, .in.groups = {.since_ms = since_ms}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    return op;
}

static struct store_row claimed(const struct store_row *from, const char *by)
{
    struct store_row next = fixture_step(from, RECEIPT_UNKNOWN);
    next.claimed_by = span_str(by);
    next.claimed_ms = by[0] == '\0' ? 0 : NOW_MS;
    return next;
}

static struct store_row probed(const struct store_row *from, enum probe_result result)
{
    struct store_row next = fixture_step(from, RECEIPT_UNKNOWN);
    next.probe = (uint8_t)result;
    next.probe_count++;
    return next;
}

/* Unknowns that look alike are one group, the largest first, with its first and last,
 * and what came since a moment. */
static void groups_gather(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 1; i <= 3; i++)
        (void)put_unknown(f, i, SPAN("b"), END_answered, 503);
    (void)put_unknown(f, 4, SPAN("a"), END_answer_timeout, 0);
    (void)put_unknown(f, 5, SPAN("a"), END_answered, 503);
    (void)put_unknown(f, 6, SPAN("b"), END_answered, 500);
    for (unsigned i = 7; i <= 8; i++)
        (void)put_unknown(f, i, SPAN("a"), END_answer_timeout, 0);
    struct store_op op = groups_since(f, NOW_MS + 2);
    static const struct {
        const char *route;
        uint8_t end;
        uint16_t status;
        unsigned count, grown, first, last;
    } wanted[] = {{"a", END_answer_timeout, 0, 3, 3, 4, 8},
                  {"b", END_answered, 503, 3, 1, 1, 3},
                  {"a", END_answered, 503, 1, 1, 5, 5},
                  {"b", END_answered, 500, 1, 1, 6, 6}};
    assert_int_equal(op.out.group_count, GW_COUNT(wanted));
    for (unsigned i = 0; i < GW_COUNT(wanted); i++) {
        const struct group_entry *group = &op.out.groups[i];
        assert_span(group->route, span_str(wanted[i].route));
        assert_int_equal(group->end, wanted[i].end);
        assert_int_equal(group->status, wanted[i].status);
        assert_int_equal(group->count, wanted[i].count);
        assert_int_equal(group->grown, wanted[i].grown);
        assert_int_equal(group->first_ms, NOW_MS + wanted[i].first);
        assert_int_equal(group->last_ms, NOW_MS + wanted[i].last);
        assert_int_equal(group->probes[PROBE_NONE], wanted[i].count);
        assert_int_equal(group->asked + group->claimed, 0);
    }
    assert_int_equal(groups_since(f, NOW_MS + 8).out.groups[0].grown, 0);
}

/* What is counted of a group follows its rows: asked again, claimed, probed, settled,
 * unknown again in another way, removed. */
static void groups_follow_the_rows(void **state)
{
    struct fixture *f = *state;
    struct store_row rows[4];
    for (unsigned i = 0; i < 4; i++)
        rows[i] = put_unknown(f, i + 1, SPAN("r"), END_answered, 503);
    struct store_op touch = {.kind = STORE_TOUCH, .in.touch = {rows[0].id, NOW_MS}};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(fixture_ask(f, &touch), STORE_WON);
    struct store_row next = claimed(&rows[1], "token:ana");
    rows[1] = fixture_move(f, &rows[1], &next);
    next = probed(&rows[1], PROBE_ABSENT);
    rows[1] = fixture_move(f, &rows[1], &next);
    next = probed(&rows[2], PROBE_FAILED);
    rows[2] = fixture_move(f, &rows[2], &next);
    struct group_entry group = groups_since(f, 0).out.groups[0];
    assert_int_equal(group.count, 4);
    assert_int_equal(group.asked, 1);
    assert_int_equal(group.claimed, 1);
    assert_int_equal(group.probes[PROBE_NONE], 2);
    assert_int_equal(group.probes[PROBE_ABSENT], 1);
    assert_int_equal(group.probes[PROBE_FAILED], 1);
    next = claimed(&rows[1], "");
    rows[1] = fixture_move(f, &rows[1], &next);
    rows[2] = change(f, &rows[2], RECEIPT_COMPLETED);
    rows[0] = fixture_step(&rows[0], RECEIPT_RELEASED);
    struct store_op release = fixture_advance(&rows[0], &rows[0]);
    release.in.advance.expect_version--;
    assert_int_equal(fixture_ask(f, &release), STORE_WON);
    group = groups_since(f, 0).out.groups[0];
    assert_int_equal(group.count, 2);
    assert_int_equal(group.asked + group.claimed, 0);
    assert_int_equal(group.probes[PROBE_ABSENT], 1);
    assert_int_equal(group.probes[PROBE_FAILED], 0);
    /* A late sign moves it to another group; what is gone is in none. */
    next = fixture_step(&rows[3], RECEIPT_UNKNOWN);
    next.end = END_cut_answer;
    next.status = 200;
    rows[3] = fixture_move(f, &rows[3], &next);
    struct store_op op = groups_since(f, 0);
    assert_int_equal(op.out.group_count, 2);
    assert_int_equal(op.out.groups[0].count + op.out.groups[1].count, 2);
    for (unsigned i = 1; i <= 3; i += 2) {
        next = (struct store_row){
            .receipt = {.state = RECEIPT_ABSENT, .version = rows[i].receipt.version + 1}};
        struct store_op gone = fixture_advance(&rows[i], &next);
        assert_int_equal(fixture_ask(f, &gone), STORE_WON);
    }
    assert_int_equal(groups_since(f, 0).out.group_count, 0);
}

/* Of more groups than anybody reads the largest are given. */
static void groups_are_bounded(void **state)
{
    enum { MANY = STORE_GROUPS_MAX + 5 };
    struct fixture *f = *state;
    struct store_row *rows = calloc(MANY + 1, sizeof(*rows));
    struct store_op *ops = calloc(MANY + 1, sizeof(*ops));
    uint32_t left = 0;
    for (unsigned i = 0; i < MANY + 1; i++) {
        char key[16], route[16];
        (void)snprintf(key, sizeof(key), "k%u", i);                              /* fits */
        (void)snprintf(route, sizeof(route), "r%04u", i == MANY ? MANY - 1 : i); /* fits */
        rows[i] = fixture_row(f, key, i);
        rows[i].receipt.state = RECEIPT_UNKNOWN;
        rows[i].receipt.lease_until_ms = 0;
        assert_true(arena_copy(f->arena, span_str(route), &rows[i].route));
        ops[i] = fixture_claim(&rows[i]);
    }
    for (unsigned i = 0; i < MANY + 1; i++)
        fixture_send(f, &ops[i], &left);
    fixture_wait(f->inbox, &left);
    struct store_op op = groups_since(f, 0);
    assert_int_equal(op.out.group_count, STORE_GROUPS_MAX);
    assert_int_equal(op.out.groups[0].count, 2);
    assert_span(op.out.groups[0].route, rows[MANY].route);
    assert_span(op.out.groups[1].route, SPAN("r0000"));
    free(ops);
    free(rows);
}

/* Growth is counted within a sum over all groups: a large group cannot take the share of
 * the small ones behind it, and what was cut says so. */
static void growth_is_bounded(void **state)
{
    enum { LARGE = 4700, SMALL = STORE_GROUPS_MAX - 1, MANY = LARGE + SMALL };
    struct fixture *f = *state;
    struct store_row *rows = calloc(MANY, sizeof(*rows));
    struct store_op *ops = calloc(MANY, sizeof(*ops));
    uint32_t left = 0;
    uint64_t counted = 0;
    for (unsigned i = 0; i < MANY; i++) {
        char key[16], route[16];
        (void)snprintf(key, sizeof(key), "k%u", i);                           /* fits */
        (void)snprintf(route, sizeof(route), "r%04u", i < SMALL ? i : SMALL); /* fits */
        rows[i] = fixture_row(f, key, i);
        rows[i].receipt.state = RECEIPT_UNKNOWN;
        rows[i].receipt.lease_until_ms = 0;
        assert_true(arena_copy(f->arena, span_str(route), &rows[i].route));
        ops[i] = fixture_claim(&rows[i]);
    }
    for (unsigned i = 0; i < MANY; i += 500) {
        for (unsigned k = i; k < MANY && k < i + 500; k++)
            fixture_send(f, &ops[k], &left);
        fixture_wait(f->inbox, &left);
    }
    struct store_op op = groups_since(f, 0);
    assert_int_equal(op.out.group_count, STORE_GROUPS_MAX);
    assert_int_equal(op.out.groups[0].count, LARGE);
    assert_true(op.out.groups[0].grown_is_cut);
    assert_int_equal(op.out.groups[0].grown, op_grown_max(&op, 0, 0));
    for (uint32_t i = 0; i < op.out.group_count; i++) {
        counted += op.out.groups[i].grown;
        assert_true(i == 0 || (op.out.groups[i].grown == 1 && !op.out.groups[i].grown_is_cut));
    }
    assert_true(counted <= STORE_GROWN_SUM_MAX);
    assert_int_equal(op_grown_max(&op, STORE_GROUPS_MAX - 1, STORE_GROWN_SUM_MAX), 0);
    assert_int_equal(op_grown_max(&op, STORE_GROUPS_MAX - 1, 0), STORE_GROWN_MAX);
    free(ops);
    free(rows);
}

static uint32_t count_of(struct fixture *f, struct store_filter filter)
{
    struct store_op op = {.kind = STORE_LIST, .in.list = {.filter = filter}};
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.next_cursor, 0);
    for (uint32_t i = 1; i < op.out.row_count; i++)
        assert_true(op.out.rows[i].id < op.out.rows[i - 1].id);
    return op.out.row_count;
}

/* A backlog of all sorts: sixteen rows, ids in order of i. */
static void put_backlog(struct fixture *f)
{
    for (unsigned i = 0; i < 16; i++) {
        struct store_row row =
            put_unknown(f, i, i % 2 == 0 ? SPAN("even") : SPAN("odd"),
                        i % 4 < 2 ? END_answered : END_reset_no_answer, i % 4 < 2 ? 503 : 0);
        if (i >= 8) {
            struct store_row next = claimed(&row, "token:ana");
            row = fixture_move(f, &row, &next);
        }
        struct store_row next = probed(&row, (enum probe_result)(i % PROBE_RESULT_COUNT));
        row = fixture_move(f, &row, &next);
        if (i == 15)
            (void)change(f, &row, RECEIPT_COMPLETED);
    }
}

/* Each filter of the backlog, alone, with the state and with others. */
static void backlog_filters(void **state)
{
    struct fixture *f = *state;
    const uint32_t unknown = 1u << RECEIPT_UNKNOWN;
    put_backlog(f);
    assert_int_equal(count_of(f, (struct store_filter){.status = 503}), 8);
    assert_int_equal(count_of(f, (struct store_filter){.status = STORE_STATUS_NONE}), 8);
    assert_int_equal(count_of(f, (struct store_filter){.status = 500}), 0);
    assert_int_equal(count_of(f, (struct store_filter){.claimed = CLAIM_SOME}), 8);
    assert_int_equal(count_of(f, (struct store_filter){.claimed = CLAIM_NONE}), 8);
    assert_int_equal(count_of(f, (struct store_filter){.claimed = CLAIM_SOME, .states = unknown}),
                     7);
    assert_int_equal(count_of(f, (struct store_filter){.probes = 1u << PROBE_ABSENT}), 3);
    assert_int_equal(count_of(f, (struct store_filter){.probes = 1u << PROBE_NONE}), 4);
    assert_int_equal(
        count_of(f, (struct store_filter){.probes = 1u << PROBE_NONE, .states = unknown}), 3);
    assert_int_equal(
        count_of(f, (struct store_filter){.probes = 1u << PROBE_ABSENT, .states = unknown}), 3);
    assert_int_equal(count_of(f, (struct store_filter){.probes = 1u << PROBE_ABSENT,
                                                       .claimed = CLAIM_SOME,
                                                       .states = unknown}),
                     1);
    assert_int_equal(
        count_of(f, (struct store_filter){.probes = 1u << PROBE_NONE | 1u << PROBE_FAILED,
                                          .states = unknown}),
        6);
    struct store_filter group = {
        .states = unknown, .route = SPAN("even"), .end = SPAN("answered"), .status = 503};
    assert_int_equal(count_of(f, group), 4);
    group.end = SPAN("reset_no_answer");
    assert_int_equal(count_of(f, group), 0);
    group.status = STORE_STATUS_NONE;
    assert_int_equal(count_of(f, group), 4);
    group.claimed = CLAIM_NONE;
    assert_int_equal(count_of(f, group), 2);
    group.states = 0;
    assert_int_equal(count_of(f, group), 2);
    assert_int_equal(count_of(f, (struct store_filter){.states = unknown, .key = SPAN("k7")}), 1);
    assert_int_equal(count_of(f, (struct store_filter){.states = unknown, .key = SPAN("k15")}), 0);
    assert_int_equal(count_of(f, (struct store_filter){.states = unknown, .owner = SPAN("acme")}),
                     15);
    assert_int_equal(count_of(f, (struct store_filter){.states = unknown, .owner = SPAN("beta")}),
                     0);
    assert_int_equal(count_of(f, (struct store_filter){.states = unknown, .route = SPAN("odd")}),
                     7);
    assert_int_equal(
        count_of(f,
                 (struct store_filter){.states = unknown, .route = SPAN("odd"), .key = SPAN("k6")}),
        0);
}

/* Going from page to page shows every row once, in both orders, by every way to it. */
static void backlog_pages(void **state)
{
    struct fixture *f = *state;
    const uint32_t unknown = 1u << RECEIPT_UNKNOWN;
    const struct store_filter by[] = {
        {.states = unknown, .route = SPAN("r"), .end = SPAN("answered"), .status = 503},
        {.states = unknown, .owner = SPAN("acme")},
        {.states = unknown, .route = SPAN("r")},
        {.states = unknown, .claimed = CLAIM_SOME},
        {.states = unknown, .probes = 1u << PROBE_ABSENT},
        {.states = unknown, .probes = 1u << PROBE_ABSENT | 1u << PROBE_NONE},
    };
    for (unsigned i = 0; i < 11; i++) {
        struct store_row row = put_unknown(f, i, SPAN("r"), END_answered, 503);
        struct store_row next = claimed(&row, "token:ana");
        next.probe = PROBE_ABSENT;
        next.probe_count = 1;
        (void)fixture_move(f, &row, &next);
    }
    for (unsigned i = 0; i < 2 * GW_COUNT(by); i++) {
        struct store_op op = {.kind = STORE_LIST, .in.list = {by[i / 2], 4, i % 2 == 1, 0}};
        uint32_t seen = 0;
        int64_t last = 0;
        do {
            assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
            for (uint32_t j = 0; j < op.out.row_count; j++, seen++) {
                int64_t id = op.out.rows[j].id;
                assert_true(last == 0 || (op.in.list.oldest_first ? id > last : id < last));
                last = id;
            }
            op.in.list.cursor = op.out.next_cursor;
        } while (op.out.next_cursor != 0);
        assert_int_equal(seen, 11);
    }
}

/* One key may be unknown for many owners: all are found. */
static void a_key_of_many_owners(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 3; i++) {
        char owner[8];
        (void)snprintf(owner, sizeof(owner), "o%u", i); /* fits */
        struct store_row row = fixture_row(f, "same", i);
        assert_true(arena_copy(f->arena, span_str(owner), &row.owner));
        store_identity(row.owner, row.scope, row.key, &row.identity);
        row.receipt.state = RECEIPT_UNKNOWN;
        row.receipt.lease_until_ms = 0;
        (void)fixture_put(f, &row);
    }
    struct store_filter filter = {.states = 1u << RECEIPT_UNKNOWN, .key = SPAN("same")};
    assert_int_equal(count_of(f, filter), 3);
    filter.owner = SPAN("o1");
    assert_int_equal(count_of(f, filter), 1);
}

/* Who is on a doubt and what probes said belong to that doubt: a new one begins with
 * nothing, and only a doubt is asked about. */
static void a_new_doubt_begins_with_nothing(void **state)
{
    struct fixture *f = *state;
    const struct probe_record record = {.at_ms = NOW_MS,
                                        .result = PROBE_UNCLEAR,
                                        .by = SPAN("route"),
                                        .target = SPAN("GET /x"),
                                        .reason = SPAN("none fits")};
    struct gw_buf packed;
    gw_buf_init(&packed, 1000);
    assert_true(probes_encode(&packed, &record, 1));
    struct store_row row = put_unknown(f, 1, SPAN("r"), END_answered, 503);
    struct store_row next = claimed(&row, "token:ana");
    next.probe = PROBE_UNCLEAR;
    next.probe_count = 1;
    next.probes = gw_buf_span(&packed);
    next.probe_due_ms = NOW_MS + 5;
    row = fixture_move(f, &row, &next);
    assert_span(row.claimed_by, SPAN("token:ana"));
    assert_span(row.probes, gw_buf_span(&packed));
    assert_int_equal(row.probe_due_ms, NOW_MS + 5);
    /* It stays with the row while the row is in doubt, and when it was settled. */
    row = change(f, &row, RECEIPT_UNKNOWN);
    row = change(f, &row, RECEIPT_COMPLETED);
    assert_int_equal(row.probe_due_ms, 0);
    row = change(f, &row, RECEIPT_UNKNOWN);
    assert_span(row.claimed_by, SPAN("token:ana"));
    assert_int_equal(row.probe_count, 1);
    row = change(f, &row, RECEIPT_SENT);
    next = fixture_step(&row, RECEIPT_UNKNOWN);
    next.probe_due_ms = NOW_MS + 9;
    struct store_op op = fixture_advance(&row, &next);
    for (unsigned i = 0; i < 2; i++) {
        /* The second time it finds its own result, which is not what it asked for. */
        assert_int_equal(fixture_ask(f, &op), STORE_WON);
        assert_int_equal(op.out.rows[0].claimed_by.len, 0);
        assert_int_equal(op.out.rows[0].claimed_ms, 0);
        assert_int_equal(op.out.rows[0].probe, PROBE_NONE);
        assert_int_equal(op.out.rows[0].probe_count, 0);
        assert_int_equal(op.out.rows[0].probes.len, 0);
        assert_int_equal(op.out.rows[0].probe_due_ms, NOW_MS + 9);
    }
    gw_buf_fini(&packed);
}

/* Who came while the attempt was under way, to a contradicted one, is still on it when the
 * attempt is lost; asked for twice, the change is still its own. */
static void a_claim_in_flight_stays(void **state)
{
    struct fixture *f = *state;
    struct store_row row = put_unknown(f, 1, SPAN("r"), END_answered, 503);
    row = change(f, &row, RECEIPT_RELEASED);
    row = change(f, &row, RECEIPT_SENT);
    struct store_row next = claimed(&row, "token:ana");
    next.receipt.state = RECEIPT_SENT;
    next.receipt.lease_until_ms = row.receipt.lease_until_ms;
    next.updated_ms = row.updated_ms;
    next.claimed_ms = row.updated_ms + 1;
    next.probe = PROBE_ABSENT;
    next.probe_count = 1;
    row = fixture_move(f, &row, &next);
    next = fixture_step(&row, RECEIPT_UNKNOWN);
    struct store_op op = fixture_advance(&row, &next);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(fixture_ask(f, &op), STORE_WON);
        assert_span(op.out.rows[0].claimed_by, SPAN("token:ana"));
        assert_int_equal(op.out.rows[0].claimed_ms, row.updated_ms + 1);
        assert_int_equal(op.out.rows[0].probe_count, 0);
    }
}

/* Two people take one entry with one version: one of them learns that he was late. */
static void two_claims_have_one_winner(void **state)
{
    struct fixture *f = *state;
    struct store_row row = put_unknown(f, 1, SPAN("r"), END_answered, 503);
    struct store_row ana = claimed(&row, "token:ana"), bob = claimed(&row, "token:bob");
    struct store_op first = fixture_advance(&row, &ana), second = fixture_advance(&row, &bob);
    assert_int_equal(fixture_ask(f, &first), STORE_WON);
    assert_int_equal(fixture_ask(f, &second), STORE_STALE);
    assert_span(second.out.rows[0].claimed_by, SPAN("token:ana"));
    assert_int_equal(fixture_ask(f, &first), STORE_WON);
}

/* A scan by time gives each row once, page after page, whatever the order of the ids,
 * also where many have one time. */
static void scans_by_time_go_on(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < 9; i++) {
        struct store_row row = put_unknown(f, i, SPAN("r"), END_answered, 503);
        struct store_row next = fixture_step(&row, RECEIPT_UNKNOWN);
        next.probe_due_ms = i == 8 ? 0 : NOW_MS + 100 - i / 3;
        row = fixture_move(f, &row, &next);
        if (i == 7)
            (void)change(f, &row, RECEIPT_COMPLETED);
    }
    struct store_op op = {.kind = STORE_SCAN,
                          .in.scan = {.kind = SCAN_PROBES, .now_ms = NOW_MS + 100, .rows_max = 2}};
    static const unsigned wanted[] = {7, 4, 5, 6, 1, 2, 3};
    unsigned seen = 0;
    for (unsigned page = 0; page < 5; page++) {
        assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
        for (uint32_t i = 0; i < op.out.row_count; i++) {
            assert_true(seen < GW_COUNT(wanted));
            assert_int_equal(op.out.rows[i].id, wanted[seen++]);
            op.in.scan.after_ms = op.out.rows[i].probe_due_ms;
            op.in.scan.after_id = op.out.rows[i].id;
        }
    }
    assert_int_equal(seen, GW_COUNT(wanted));
    op.in.scan.after_ms = op.in.scan.after_id = 0;
    op.in.scan.now_ms = NOW_MS + 98;
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.row_count, 1);
}

/* A note stands beside its operation, once, and changes nothing; one of no operation
 * is refused. */
static void notes(void **state)
{
    struct fixture *f = *state;
    struct store_row row = put_unknown(f, 1, SPAN("r"), END_answered, 503);
    struct audit_entry audit = {NOW_MS,
                                SPAN("token:ana"),
                                SPAN("comment"),
                                span_str(row.operation_id),
                                SPAN("asked the bank"),
                                SPAN("")};
    struct store_op op = {.kind = STORE_NOTE, .in.note = {.audit = &audit}};
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    struct store_op log = {.kind = STORE_AUDIT, .in.find = {.operation_id = audit.subject}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 1);
    assert_span(log.out.audit[0].note, SPAN("asked the bank"));
    struct store_op find = {.kind = STORE_FIND, .in.find = {.operation_id = audit.subject}};
    assert_int_equal(fixture_ask(f, &find), STORE_HELD);
    assert_int_equal(find.out.rows[0].receipt.version, row.receipt.version);
    audit.subject = SPAN("op_00000000000000000000000009");
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 1);
    char *huge = calloc(1, (size_t)1 << 20);
    audit.subject = span_str(row.operation_id);
    audit.note = span_of(huge, (size_t)1 << 20);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    free(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(groups_gather),           BOTH(groups_follow_the_rows),
        BOTH(groups_are_bounded),      BOTH(growth_is_bounded),
        BOTH(backlog_filters),         BOTH(backlog_pages),
        BOTH(a_key_of_many_owners),    BOTH(a_new_doubt_begins_with_nothing),
        BOTH(a_claim_in_flight_stays), BOTH(two_claims_have_one_winner),
        BOTH(scans_by_time_go_on),     BOTH(notes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
