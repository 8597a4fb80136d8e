/* Plans of many verdicts and what observe mode saw: kept, replaced, bounded, read in
 * pages; every backend. */
#include "store/plan.h"
#include "tests/store/fixture.h"

#define NOW_MS FIXTURE_NOW_MS

static struct plan_entry plan_of(unsigned number)
{
    struct plan_entry plan = {.state = PLAN_DRAFT,
                              .created_ms = NOW_MS + number,
                              .expires_ms = NOW_MS + number + 1800000,
                              .actor = SPAN("token:ana"),
                              .where = SPAN("{\"route\":\"r\"}"),
                              .verdict = SPAN("executed"),
                              .note = SPAN("checked"),
                              .force = true,
                              .count = 3};
    (void)snprintf(plan.plan_id, sizeof(plan.plan_id), "plan_%026u", number); /* fits */
    return plan;
}

static struct store_op set_op(const struct plan_entry *entry)
{
    return (struct store_op){.kind = STORE_PLAN_SET, .in.plan = {.entry = entry}};
}

static enum store_found set(struct fixture *f, const struct plan_entry *entry)
{
    struct store_op op = set_op(entry);
    return fixture_ask(f, &op);
}

static struct store_op get_op(const char *plan_id)
{
    return (struct store_op){.kind = STORE_PLAN_GET,
                             .in.find = {.operation_id = span_str(plan_id)}};
}

static struct span items_of(struct fixture *f, uint32_t count)
{
    struct plan_item *items = arena_take(f->arena, count * sizeof(*items));
    struct gw_buf packed;
    struct span copy;
    gw_buf_init(&packed, PLAN_ITEMS_BYTES_MAX);
    for (uint32_t i = 0; i < count; i++)
        items[i] = (struct plan_item){INT64_MAX - i, i, (uint8_t)(i % 4)};
    assert_true(plan_items_encode(&packed, items, count));
    assert_true(arena_copy(f->arena, gw_buf_span(&packed), &copy));
    gw_buf_fini(&packed);
    return copy;
}

static void assert_same_plan(const struct plan_entry *a, const struct plan_entry *b)
{
    assert_string_equal(a->plan_id, b->plan_id);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->created_ms, b->created_ms);
    assert_int_equal(a->expires_ms, b->expires_ms);
    assert_int_equal(a->apply_at_ms, b->apply_at_ms);
    assert_int_equal(a->ended_ms, b->ended_ms);
    assert_int_equal(a->force, b->force);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->settled, b->settled);
    assert_int_equal(a->changed, b->changed);
    assert_int_equal(a->refused, b->refused);
    assert_span(a->actor, b->actor);
    assert_span(a->applied_by, b->applied_by);
    assert_span(a->where, b->where);
    assert_span(a->verdict, b->verdict);
    assert_span(a->note, b->note);
}

/* A plan comes back whole by its id, and without its entries in the list; what is
 * written without them leaves them as they are. */
static void plans_are_kept(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = plan_of(1), other = plan_of(2);
    plan.items = items_of(f, 1000);
    plan.answer = fixture_message(f, SPAN("made up"));
    assert_int_equal(set(f, &plan), STORE_WON);
    assert_int_equal(set(f, &other), STORE_WON);
    struct store_op get = get_op(plan.plan_id);
    assert_int_equal(fixture_ask(f, &get), STORE_HELD);
    assert_int_equal(get.out.plan_count, 1);
    assert_same_plan(&get.out.plans[0], &plan);
    assert_span(get.out.plans[0].items, plan.items);
    assert_span(get.out.plans[0].answer, plan.answer);
    struct plan_entry progress = plan;
    progress.items = progress.answer = SPAN("");
    progress.state = PLAN_APPLYING;
    progress.applied_by = SPAN("token:bob");
    progress.apply_at_ms = NOW_MS + 60000;
    progress.settled = 2;
    progress.changed = 1;
    progress.refused = 3;
    assert_int_equal(set(f, &progress), STORE_WON);
    assert_int_equal(fixture_ask(f, &get), STORE_HELD);
    assert_same_plan(&get.out.plans[0], &progress);
    assert_span(get.out.plans[0].items, plan.items);
    assert_span(get.out.plans[0].answer, plan.answer);
    struct store_op list = {.kind = STORE_PLANS};
    assert_int_equal(fixture_ask(f, &list), STORE_PAGE);
    assert_int_equal(list.out.plan_count, 2);
    assert_same_plan(&list.out.plans[0], &other);
    assert_same_plan(&list.out.plans[1], &progress);
    assert_int_equal(list.out.plans[1].items.len + list.out.plans[1].answer.len, 0);
    progress.items = items_of(f, 2);
    assert_int_equal(set(f, &progress), STORE_WON);
    assert_int_equal(fixture_ask(f, &get), STORE_HELD);
    assert_span(get.out.plans[0].items, progress.items);
    assert_span(get.out.plans[0].answer, plan.answer);
}

/* Whatever an operator types as an id finds a plan or none. */
static void odd_ids_find_nothing(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = plan_of(1);
    assert_int_equal(set(f, &plan), STORE_WON);
    char longer[PLAN_ID_BYTES + 3], zero[PLAN_ID_BYTES + 1];
    (void)snprintf(longer, sizeof(longer), "%s0", plan.plan_id); /* fits */
    memcpy(zero, plan.plan_id, sizeof(zero));
    zero[9] = '\0';
    struct span ids[] = {SPAN(""), SPAN("plan_"), span_str(longer), span_of(zero, PLAN_ID_BYTES),
                         span_str("op_00000000000000000000000001xx")};
    for (size_t i = 0; i < GW_COUNT(ids); i++) {
        struct store_op op = {.kind = STORE_PLAN_GET, .in.find = {.operation_id = ids[i]}};
        assert_int_equal(fixture_ask(f, &op), STORE_NONE);
        assert_int_equal(op.out.plan_count, 0);
    }
}

/* A plan that is over stays over: a step of progress that comes late is told so. */
static void what_is_stopped_stays_stopped(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = plan_of(1);
    struct audit_entry audit = {NOW_MS,       SPAN("token:ana"),    SPAN("plan-stop"),
                                SPAN("plan"), SPAN("wrong filter"), SPAN("")};
    plan.state = PLAN_APPLYING;
    assert_int_equal(set(f, &plan), STORE_WON);
    struct plan_entry stopped = plan, late = plan;
    stopped.state = PLAN_STOPPED;
    stopped.ended_ms = NOW_MS + 9;
    struct store_op stop = set_op(&stopped);
    stop.in.plan.audit = &audit;
    assert_int_equal(fixture_ask(f, &stop), STORE_WON);
    assert_int_equal(fixture_ask(f, &stop), STORE_WON);
    late.settled = 2;
    struct store_op op = set_op(&late);
    assert_int_equal(fixture_ask(f, &op), STORE_STALE);
    assert_int_equal(op.out.plan_count, 1);
    assert_int_equal(op.out.plans[0].state, PLAN_STOPPED);
    stopped.settled = 2;
    assert_int_equal(set(f, &stopped), STORE_WON);
    struct store_op get = get_op(plan.plan_id);
    assert_int_equal(fixture_ask(f, &get), STORE_HELD);
    assert_same_plan(&get.out.plans[0], &stopped);
    struct store_op log = {.kind = STORE_AUDIT, .in.find = {.operation_id = SPAN("plan")}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 1);
}

/* The maximum is kept. For one more the oldest that is over gives way, and if none is,
 * the new one is refused and nothing is lost. */
static void plans_are_bounded(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < STORE_PLANS_MAX; i++) {
        struct plan_entry plan = plan_of(i);
        plan.state = i % 2 == 0 ? PLAN_WAITING : PLAN_DRAFT;
        assert_int_equal(set(f, &plan), STORE_WON);
    }
    struct plan_entry more = plan_of(1000);
    more.items = items_of(f, 3);
    struct store_op op = set_op(&more);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    struct plan_entry seventh = plan_of(7), ninth = plan_of(9);
    ninth.state = PLAN_DONE;
    seventh.state = PLAN_STOPPED;
    assert_int_equal(set(f, &ninth), STORE_WON);
    assert_int_equal(set(f, &seventh), STORE_WON);
    assert_int_equal(set(f, &more), STORE_WON);
    /* Now the ninth would be next; a draft that nobody has applied in time is older. */
    struct plan_entry late = plan_of(1001);
    late.created_ms = plan_of(3).expires_ms;
    assert_int_equal(set(f, &late), STORE_WON);
    static const struct {
        unsigned number;
        enum store_found found;
    } wanted[] = {{7, STORE_NONE}, {1, STORE_NONE},    {0, STORE_HELD},   {3, STORE_HELD},
                  {9, STORE_HELD}, {1000, STORE_HELD}, {1001, STORE_HELD}};
    for (size_t i = 0; i < GW_COUNT(wanted); i++) {
        struct plan_entry asked = plan_of(wanted[i].number);
        struct store_op get = get_op(asked.plan_id);
        assert_int_equal(fixture_ask(f, &get), wanted[i].found);
    }
    struct store_op list = {.kind = STORE_PLANS};
    assert_int_equal(fixture_ask(f, &list), STORE_PAGE);
    assert_int_equal(list.out.plan_count, STORE_PLANS_MAX);
    assert_string_equal(list.out.plans[0].plan_id, late.plan_id);
    assert_string_equal(list.out.plans[1].plan_id, more.plan_id);
}

/* Of two who change what they have both seen one wins, though they say the very same; the
 * other is told how it is now, and nothing of his is written. */
static void one_of_two_changes_a_plan(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = plan_of(1);
    struct audit_entry audit = {NOW_MS,       SPAN("token:ana"), SPAN("apply"),
                                SPAN("plan"), SPAN("note"),      SPAN("")};
    plan.items = items_of(f, 3);
    assert_int_equal(set(f, &plan), STORE_WON);
    struct plan_entry applied = plan;
    applied.items = SPAN("");
    applied.state = PLAN_APPLYING;
    applied.applied_by = SPAN("token:ana");
    applied.apply_at_ms = NOW_MS + 9;
    struct store_op ops[2];
    uint32_t left = 0;
    for (unsigned i = 0; i < 2; i++) {
        ops[i] = set_op(&applied);
        ops[i].in.plan.seen = &plan;
        ops[i].in.plan.audit = &audit;
        fixture_send(f, &ops[i], &left);
    }
    fixture_wait(f->inbox, &left);
    assert_int_equal(ops[0].out.found, STORE_WON);
    assert_int_equal(ops[1].out.found, STORE_STALE);
    assert_int_equal(ops[1].out.plan_count, 1);
    assert_same_plan(&ops[1].out.plans[0], &applied);
    struct store_op log = {.kind = STORE_AUDIT, .in.find = {.operation_id = SPAN("plan")}};
    assert_int_equal(fixture_ask(f, &log), STORE_PAGE);
    assert_int_equal(log.out.audit_count, 1);
}

/* Each of what a plan is seen by counts: if it is another now, nothing is replaced. */
static void what_was_seen_must_still_be_so(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = plan_of(1), next = plan_of(1);
    plan.state = PLAN_APPLYING;
    next.state = PLAN_STOPPED;
    assert_int_equal(set(f, &plan), STORE_WON);
    struct plan_entry seen[11];
    for (unsigned i = 0; i < GW_COUNT(seen); i++)
        seen[i] = plan;
    seen[0].state = PLAN_WAITING;
    seen[1].created_ms++;
    seen[2].expires_ms++;
    seen[3].apply_at_ms++;
    seen[4].ended_ms++;
    seen[5].settled++;
    seen[6].changed++;
    seen[7].refused++;
    seen[8].applied_by = SPAN("token:bob");
    seen[9].note = SPAN("other");
    seen[10].actor = SPAN("token:bob");
    struct store_op get = get_op(plan.plan_id), op = set_op(&next);
    for (unsigned i = 0; i < GW_COUNT(seen); i++) {
        op.in.plan.seen = &seen[i];
        assert_int_equal(fixture_ask(f, &op), STORE_STALE);
        assert_int_equal(fixture_ask(f, &get), STORE_HELD);
        assert_same_plan(&get.out.plans[0], &plan);
    }
    op.in.plan.seen = &plan;
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
    assert_int_equal(fixture_ask(f, &get), STORE_HELD);
    assert_same_plan(&get.out.plans[0], &next);
}

/* What has given way since it was seen is not made again, with no entries in it. */
static void what_is_gone_stays_gone(void **state)
{
    struct fixture *f = *state;
    struct plan_entry seen = plan_of(0), late = plan_of(STORE_PLANS_MAX);
    for (unsigned i = 0; i < STORE_PLANS_MAX; i++) {
        struct plan_entry plan = plan_of(i);
        assert_int_equal(set(f, &plan), STORE_WON);
    }
    late.created_ms = seen.expires_ms;
    assert_int_equal(set(f, &late), STORE_WON);
    struct plan_entry applied = seen;
    applied.state = PLAN_APPLYING;
    struct store_op op = set_op(&applied), get = get_op(seen.plan_id);
    op.in.plan.seen = &seen;
    assert_int_equal(fixture_ask(f, &op), STORE_NONE);
    assert_int_equal(op.out.plan_count, 0);
    assert_int_equal(fixture_ask(f, &get), STORE_NONE);
    struct store_op list = {.kind = STORE_PLANS};
    assert_int_equal(fixture_ask(f, &list), STORE_PAGE);
    assert_int_equal(list.out.plan_count, STORE_PLANS_MAX);
}

/* If no plan is over, the oldest draft of the same person gives way once it has stood for
 * its time; what others made, and what was applied, stays. */
static void old_drafts_give_way_to_their_maker(void **state)
{
    struct fixture *f = *state;
    for (unsigned i = 0; i < STORE_PLANS_MAX; i++) {
        struct plan_entry plan = plan_of(i);
        plan.actor = i == 3 || i == 5 ? SPAN("token:bob") : SPAN("token:ana");
        plan.state = i < 5 && i != 3 ? PLAN_WAITING : PLAN_DRAFT;
        assert_int_equal(set(f, &plan), STORE_WON);
    }
    struct plan_entry more = plan_of(1000), again = plan_of(1001);
    more.actor = again.actor = SPAN("token:bob");
    more.created_ms = plan_of(3).created_ms + PLAN_DRAFT_STAYS_MS - 1;
    struct store_op op = set_op(&more);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    more.created_ms++;
    assert_int_equal(set(f, &more), STORE_WON);
    again.created_ms = more.created_ms + 2;
    assert_int_equal(set(f, &again), STORE_WON);
    struct plan_entry third = plan_of(1002);
    third.created_ms = again.created_ms;
    third.actor = SPAN("token:bob");
    op = set_op(&third);
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    third.actor = SPAN("token:ana");
    third.created_ms++;
    assert_int_equal(set(f, &third), STORE_WON);
    for (unsigned i = 0; i < 10; i++) {
        struct plan_entry asked = plan_of(i);
        struct store_op get = get_op(asked.plan_id);
        bool is_gone = i == 3 || i == 5 || i == 6;
        assert_int_equal(fixture_ask(f, &get), is_gone ? STORE_NONE : STORE_HELD);
    }
}

/* What cannot be a plan is refused and changes nothing, not even its batch. */
static void unsound_plans_are_refused(void **state)
{
    struct fixture *f = *state;
    char *huge = calloc(1, (size_t)1 << 17);
    struct plan_entry bad[9];
    for (unsigned i = 0; i < GW_COUNT(bad); i++)
        bad[i] = plan_of(i);
    bad[0].plan_id[6] = '\'';
    bad[1].plan_id[30] = '\0';
    bad[2].state = PLAN_STATE_COUNT;
    bad[3].created_ms = -1;
    bad[4].settled = 4;
    bad[5].count = PLAN_ENTRIES_MAX + 1;
    bad[6].items = SPAN("x");
    bad[7].answer = SPAN("x");
    bad[8].note = span_of(huge, (size_t)1 << 17);
    for (unsigned i = 0; i < GW_COUNT(bad); i++) {
        struct store_op op = set_op(&bad[i]);
        assert_int_equal(fixture_try(f, &op), i == 8 ? GW_LIMIT : GW_CORRUPT);
    }
    struct store_op list = {.kind = STORE_PLANS};
    assert_int_equal(fixture_ask(f, &list), STORE_PAGE);
    assert_int_equal(list.out.plan_count, 0);
    free(huge);
}

/* The largest plan fits, and comes back entry by entry. */
static void the_largest_plan_fits(void **state)
{
    struct fixture *f = *state;
    struct plan_entry plan = plan_of(1);
    plan.count = PLAN_ENTRIES_MAX;
    plan.items = items_of(f, PLAN_ENTRIES_MAX);
    assert_int_equal(set(f, &plan), STORE_WON);
    struct store_op get = get_op(plan.plan_id);
    struct plan_item *items;
    uint32_t count;
    assert_int_equal(fixture_ask(f, &get), STORE_HELD);
    assert_int_equal(plan_items_decode(f->arena, get.out.plans[0].items, &items, &count), GW_OK);
    assert_int_equal(count, PLAN_ENTRIES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(items[i].id == INT64_MAX - i);
        assert_int_equal(items[i].version, i);
        assert_int_equal(items[i].outcome, i % 4);
    }
    struct gw_buf packed;
    gw_buf_init(&packed, 100);
    assert_false(plan_items_encode(&packed, items, PLAN_ENTRIES_MAX + 1));
    assert_false(plan_items_encode(&packed, items, 100));
    gw_buf_fini(&packed);
}

static struct observation seen_of(unsigned number, uint8_t who)
{
    return (struct observation){.at_ms = NOW_MS + number,
                                .route = number % 2 == 0 ? SPAN("even") : SPAN("odd"),
                                .identity = {{who, 1}},
                                .print = {{(uint8_t)number, 2}},
                                .method = SPAN("POST"),
                                .target = SPAN("/orders"),
                                .fault = number % 3 == 0 ? SPAN("no key") : SPAN(""),
                                .end = END_answered,
                                .means = 2,
                                .status = 201,
                                .answered_ms = number,
                                .request_bytes = (uint64_t)INT64_MAX,
                                .answer_bytes = number};
}

static void observe(struct fixture *f, const struct observation *seen, uint32_t count)
{
    struct store_op op = {.kind = STORE_OBSERVE, .in.observe = {seen, count}};
    assert_int_equal(fixture_ask(f, &op), STORE_WON);
}

static struct store_op observed_op(struct span route, uint32_t rows_max)
{
    return (struct store_op){.kind = STORE_OBSERVED,
                             .in.observed = {.route = route, .rows_max = rows_max}};
}

static void assert_same_seen(const struct observation *a, const struct observation *b)
{
    assert_int_equal(a->at_ms, b->at_ms);
    assert_span(a->route, b->route);
    assert_memory_equal(a->identity.bytes, b->identity.bytes, sizeof(a->identity.bytes));
    assert_memory_equal(a->print.bytes, b->print.bytes, sizeof(a->print.bytes));
    assert_span(a->members, b->members);
    assert_span(a->method, b->method);
    assert_span(a->target, b->target);
    assert_span(a->fault, b->fault);
    assert_int_equal(a->end, b->end);
    assert_int_equal(a->means, b->means);
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->answered_ms, b->answered_ms);
    assert_true(a->request_bytes == b->request_bytes);
    assert_true(a->answer_bytes == b->answer_bytes);
}

/* What was seen comes back whole, by identity and then in its order, page after page,
 * of one route or of all, since a moment. */
static void observations_come_in_pages(void **state)
{
    struct fixture *f = *state;
    struct observation seen[30];
    for (unsigned i = 0; i < 30; i++)
        seen[i] = seen_of(i, (uint8_t)(200 - 50 * (i % 4)));
    observe(f, seen, 20);
    observe(f, seen + 20, 10);
    observe(f, seen, 0);
    static const struct {
        const char *route;
        int64_t since_ms;
        unsigned count;
    } cases[] = {{"", 0, 30},
                 {"even", 0, 15},
                 {"", NOW_MS + 21, 9},
                 {"odd", NOW_MS + 21, 5},
                 {"none", 0, 0}};
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct store_op op = observed_op(span_str(cases[i].route), 4);
        op.in.observed.since_ms = cases[i].since_ms;
        unsigned count = 0;
        do {
            assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
            assert_int_equal(op.out.next_cursor, 0);
            for (uint32_t j = 0; j < op.out.observed_count; j++, count++) {
                const struct observation *one = &op.out.observed[j];
                int order = memcmp(one->identity.bytes, op.in.observed.after_identity.bytes, 16);
                assert_true(order > 0 || (order == 0 && one->id > op.in.observed.after_id));
                assert_same_seen(one, &seen[one->at_ms - NOW_MS]);
                op.in.observed.after_identity = one->identity;
                op.in.observed.after_id = one->id;
            }
        } while (op.out.observed_count == 4);
        assert_int_equal(count, cases[i].count);
    }
}

/* What cannot be an observation is refused, with all that came with it. */
static void unsound_observations_are_refused(void **state)
{
    struct fixture *f = *state;
    char text[OBSERVED_TARGET_BYTES + 1] = {0};
    struct observation bad[6];
    for (unsigned i = 0; i < GW_COUNT(bad); i++)
        bad[i] = seen_of(i, 1);
    bad[0].end = END_COUNT;
    bad[1].means = 3;
    bad[2].status = 99;
    bad[3].members = SPAN("x");
    bad[4].answer_bytes = UINT64_MAX;
    bad[5].target = span_of(text, sizeof(text));
    for (unsigned i = 0; i < GW_COUNT(bad); i++) {
        struct observation pair[2] = {seen_of(9, 1), bad[i]};
        struct store_op op = {.kind = STORE_OBSERVE, .in.observe = {pair, 2}};
        assert_int_equal(fixture_try(f, &op), i == 5 ? GW_LIMIT : GW_CORRUPT);
    }
    struct observation *many = calloc(STORE_PAGE_ROWS_MAX + 1, sizeof(*many));
    for (unsigned i = 0; i <= STORE_PAGE_ROWS_MAX; i++)
        many[i] = seen_of(i, 2);
    struct store_op op = {.kind = STORE_OBSERVE, .in.observe = {many, STORE_PAGE_ROWS_MAX + 1}};
    assert_int_equal(fixture_try(f, &op), GW_LIMIT);
    struct store_op all = observed_op(SPAN(""), 0);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.observed_count, 0);
    observe(f, many, STORE_PAGE_ROWS_MAX);
    assert_int_equal(fixture_ask(f, &all), STORE_PAGE);
    assert_int_equal(all.out.observed_count, STORE_PAGE_ROWS_MAX);
    free(many);
}

/* Of more than the maximum the newest stay. */
static void observations_are_bounded(void **state)
{
    enum { OPS = OBSERVED_ROWS_MAX / STORE_PAGE_ROWS_MAX + 1 };
    struct fixture *f = *state;
    struct observation *seen = calloc(STORE_PAGE_ROWS_MAX, sizeof(*seen));
    struct store_op *ops = calloc(OPS, sizeof(*ops));
    struct observation *first = calloc(2, sizeof(*first));
    uint32_t left = 0;
    for (unsigned i = 0; i < STORE_PAGE_ROWS_MAX; i++)
        seen[i] = seen_of(i, (uint8_t)(i % 200));
    first[0] = first[1] = seen[0];
    first[0].route = SPAN("first");
    first[1].route = SPAN("second");
    for (unsigned i = 0; i < OPS; i++) {
        ops[i] =
            (struct store_op){.kind = STORE_OBSERVE, .in.observe = {seen, STORE_PAGE_ROWS_MAX}};
        if (i == 0)
            ops[i].in.observe.seen = first, ops[i].in.observe.count = 2;
        if (i == OPS - 1)
            ops[i].in.observe.count = STORE_PAGE_ROWS_MAX - 1;
        fixture_send(f, &ops[i], &left);
    }
    fixture_wait(f->inbox, &left);
    static const struct {
        const char *route;
        unsigned count;
    } wanted[] = {{"first", 0}, {"second", 1}};
    for (size_t i = 0; i < GW_COUNT(wanted); i++) {
        struct store_op op = observed_op(span_str(wanted[i].route), 5);
        assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
        assert_int_equal(op.out.observed_count, wanted[i].count);
    }
    free(first);
    free(ops);
    free(seen);
}

/* A route that is rare among many is found in one call, over several goes. */
static void a_rare_route_is_found(void **state)
{
    enum { OPS = 45 };
    struct fixture *f = *state;
    struct observation *seen = calloc(STORE_PAGE_ROWS_MAX, sizeof(*seen));
    for (unsigned i = 0; i < OPS; i++) {
        for (unsigned j = 0; j < STORE_PAGE_ROWS_MAX; j++) {
            seen[j] = seen_of(2 * j, (uint8_t)(j % 200));
            if (j == 7 && i % 20 == 0)
                seen[j].route = SPAN("rare");
        }
        observe(f, seen, STORE_PAGE_ROWS_MAX);
    }
    struct store_op op = observed_op(SPAN("rare"), 500);
    assert_int_equal(fixture_ask(f, &op), STORE_PAGE);
    assert_int_equal(op.out.observed_count, 3);
    assert_int_equal(op.out.next_cursor, 0);
    free(seen);
}

int main(void)
{
    char memory[] = "memory"; /* with a file a million rows take too long; see test_sqlite.c */
    const struct CMUnitTest tests[] = {
        BOTH(plans_are_kept),
        BOTH(odd_ids_find_nothing),
        BOTH(what_is_stopped_stays_stopped),
        BOTH(plans_are_bounded),
        BOTH(one_of_two_changes_a_plan),
        BOTH(what_was_seen_must_still_be_so),
        BOTH(what_is_gone_stays_gone),
        BOTH(old_drafts_give_way_to_their_maker),
        BOTH(unsound_plans_are_refused),
        BOTH(the_largest_plan_fits),
        BOTH(observations_come_in_pages),
        BOTH(unsound_observations_are_refused),
        cmocka_unit_test_prestate_setup_teardown(observations_are_bounded, fixture_setup,
                                                 fixture_teardown, memory),
        BOTH(a_rare_route_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
