/* The exchanges of one key, played against an enforced route: which of them would have
 * been sent, and what the others would have got. It plays what admit() decides for
 * receipts, on facts that were seen without one. */
#include "gateway/admin/report.h"

#define GROUP_ROWS_MAX 256               /* of one key; more are counted as cut */
#define GROUP_TEXT_MAX ((size_t)2 << 20) /* of their members, methods and targets */
#define COMPARED_MAX   16                /* mismatches of one key that are told member by member */

struct group_row {
    int64_t id, at_ms, end_ms;
    struct fingerprint print;
    struct report_route *route;
    size_t members_at, members_len, method_at, method_len, target_at, target_len;
    uint8_t end, means;
    uint16_t status;
    uint64_t answer_bytes;
    bool caller_left;
};

struct report_group {
    struct store_identity identity;
    uint32_t count;
    bool is_cut;
    struct gw_buf text;
    struct group_row rows[GROUP_ROWS_MAX];
};

struct report_group *report_group_new(struct arena *arena)
{
    struct report_group *group = arena_take(arena, sizeof(*group));
    if (group != NULL)
        gw_buf_init(&group->text, GROUP_TEXT_MAX);
    return group;
}

void report_group_fini(struct report_group *group)
{
    if (group != NULL)
        gw_buf_fini(&group->text);
}

bool report_group_holds(const struct report_group *group, const struct store_identity *identity)
{
    return memcmp(&group->identity, identity, sizeof(*identity)) == 0;
}

static size_t add_text(struct report_group *group, struct span text, size_t *ret_len)
{
    size_t at = group->text.len;
    *ret_len = gw_buf_add(&group->text, text) ? text.len : 0;
    group->is_cut = group->is_cut || *ret_len != text.len;
    return at;
}

static struct span text_at(const struct report_group *group, size_t at, size_t len)
{
    return len == 0 ? SPAN("") : span_of(group->text.ptr + at, len);
}

void report_group_add(struct report_group *group, const struct observation *seen,
                      struct report_route *route)
{
    group->identity = seen->identity;
    if (group->count == GROUP_ROWS_MAX) {
        group->is_cut = true;
        return;
    }
    struct group_row *row = &group->rows[group->count++];
    *row = (struct group_row){.id = seen->id,
                              .at_ms = seen->at_ms,
                              .end_ms = seen->at_ms + seen->answered_ms,
                              .print = seen->print,
                              .route = route,
                              .end = seen->end,
                              .means = seen->means,
                              .status = seen->status,
                              .answer_bytes = seen->answer_bytes,
                              .caller_left = seen->end == END_none};
    row->members_at = add_text(group, seen->members, &row->members_len);
    row->method_at = add_text(group, seen->method, &row->method_len);
    row->target_at = add_text(group, seen->target, &row->target_len);
}

/* By the time that they came, not that they ended. */
static void sort(struct report_group *group)
{
    for (uint32_t i = 1; i < group->count; i++) {
        struct group_row row = group->rows[i];
        uint32_t at = i;
        for (; at > 0; at--) {
            const struct group_row *before = &group->rows[at - 1];
            if (before->at_ms < row.at_ms || (before->at_ms == row.at_ms && before->id < row.id))
                break;
            group->rows[at] = *before;
        }
        group->rows[at] = row;
    }
}

static bool same_print(const struct group_row *a, const struct group_row *b)
{
    return memcmp(&a->print, &b->print, sizeof(a->print)) == 0;
}

/* ---- what differs ---- */

static bool is_inside(struct span deeper, struct span pointer)
{
    return deeper.len > pointer.len && deeper.ptr[pointer.len] == '/' &&
           memcmp(deeper.ptr, pointer.ptr, pointer.len) == 0;
}

struct members {
    struct member_digest *items;
    uint32_t count;
};

static const struct member_digest *find(const struct members *members, struct span pointer)
{
    for (uint32_t i = 0; i < members->count; i++)
        if (span_equal(members->items[i].pointer, pointer))
            return &members->items[i];
    return NULL;
}

static bool differs(const struct member_digest *member, const struct members *others)
{
    const struct member_digest *other = find(others, member->pointer);
    return other == NULL || memcmp(other->mac, member->mac, sizeof(other->mac)) != 0;
}

/* A member that holds another one which differs says less than that one. */
static bool has_deeper(const struct members *all, struct span pointer, const struct members *others)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (is_inside(all->items[i].pointer, pointer) && differs(&all->items[i], others))
            return true;
    return false;
}

static void count_changes(struct report_route *route, struct arena *arena,
                          const struct members *all, const struct members *others, bool only_new)
{
    for (uint32_t i = 0; i < all->count; i++) {
        struct span pointer = all->items[i].pointer;
        bool is_told = only_new && find(others, pointer) != NULL; /* from the other side */
        if (is_told || !differs(&all->items[i], others) || has_deeper(all, pointer, others) ||
            has_deeper(others, pointer, all))
            continue;
        if (!report_names_count(&route->members, arena, pointer))
            route->is_cut = true;
    }
}

static void compare(const struct report_group *group, const struct group_row *first,
                    const struct group_row *again, struct arena *arena)
{
    struct report_route *route = again->route;
    struct arena *scratch = arena_new(1 << 20);
    struct members old = {NULL, 0}, now = {NULL, 0};
    if (scratch != NULL &&
        members_decode(scratch, text_at(group, first->members_at, first->members_len), &old.items,
                       &old.count) == GW_OK &&
        members_decode(scratch, text_at(group, again->members_at, again->members_len), &now.items,
                       &now.count) == GW_OK &&
        old.count > 0 && now.count > 0) {
        route->compared++;
        count_changes(route, arena, &old, &now, false);
        count_changes(route, arena, &now, &old, true);
    }
    arena_free(scratch);
}

/* ---- the play ---- */

static void is_sent(struct report_route *route, const struct group_row *row)
{
    route->sent++;
    /* A caller who leaves does not end the call of an enforced route. */
    if (row->means == MEANS_UNKNOWN && !row->caller_left &&
        !report_statuses_count(&route->unknown, row->end, row->status))
        route->is_cut = true;
}

/* Within one millisecond the order in which they ended tells. */
static bool overlaps(const struct group_row *holder, const struct group_row *row)
{
    return row->at_ms < holder->end_ms || (row->at_ms == holder->end_ms && holder->id > row->id);
}

/* false: this repeat would not be sent. */
static bool may_take_again(const struct group_row *holder, const struct group_row *row)
{
    const struct route_policy *route = row->route->route;
    bool is_over = !overlaps(holder, row);
    if (is_over && holder->means == MEANS_REFUSED)
        return same_print(holder, row) || (route != NULL && route->replace_on_change);
    if (route == NULL || holder->means != MEANS_COMPLETED)
        return false;
    return row->at_ms >= holder->end_ms + route->retention_ms +
                             (route->rerun_on_expiry ? 0 : route->tombstone_ms);
}

static void is_answered(struct report_route *route, const struct group_row *holder,
                        const struct group_row *row)
{
    const struct route_policy *policy = route->route;
    route->same++;
    if (overlaps(holder, row) && !holder->caller_left)
        route->pending++;
    else if (holder->means == MEANS_UNKNOWN && !holder->caller_left)
        route->held_unknown++;
    else if (policy != NULL && row->at_ms >= holder->end_ms + policy->retention_ms)
        route->expired++;
    else if (policy != NULL && holder->answer_bytes > policy->replay_body_max)
        route->unavailable++;
    else
        route->replayed++;
}

static void play(struct report_group *group, struct arena *arena)
{
    const struct group_row *holder = &group->rows[0];
    uint32_t compared = 0;
    is_sent(holder->route, holder);
    for (uint32_t i = 1; i < group->count; i++) {
        const struct group_row *row = &group->rows[i];
        if (may_take_again(holder, row)) {
            is_sent(row->route, row);
            holder = row;
        } else if (!same_print(holder, row)) {
            row->route->mismatched++;
            /* One key must not hold up the loop; a few of its mismatches tell as much. */
            if (compared++ < COMPARED_MAX)
                compare(group, holder, row, arena);
        } else {
            is_answered(row->route, holder, row);
        }
    }
}

/* ---- what did run again ---- */

static void note_twice(const struct report_group *group, const struct group_row *first,
                       const struct group_row *again, struct arena *arena)
{
    struct report_route *route = again->route;
    if (route->twice_count == REPORT_TWICE_MAX)
        return;
    struct report_twice *twice = &route->twice[route->twice_count];
    if (!arena_copy(arena, text_at(group, again->method_at, again->method_len), &twice->method) ||
        !arena_copy(arena, text_at(group, again->target_at, again->target_len), &twice->target))
        return;
    twice->first_ms = first->at_ms;
    twice->again_ms = again->at_ms;
    twice->first_status = first->status;
    twice->again_status = again->status;
    route->twice_count++;
}

static const struct group_row *ran_before(const struct report_group *group, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (group->rows[i].means != MEANS_REFUSED && same_print(&group->rows[i], &group->rows[at]))
            return &group->rows[i];
    return NULL;
}

static void find_twice(const struct report_group *group, struct arena *arena)
{
    for (uint32_t i = 1; i < group->count; i++) {
        const struct group_row *again = &group->rows[i];
        const struct group_row *first = again->means == MEANS_REFUSED ? NULL : ran_before(group, i);
        if (first == NULL)
            continue;
        if (first->end == END_answered && again->end == END_answered)
            again->route->ran_twice++;
        else
            again->route->may_have_run_twice++;
        note_twice(group, first, again, arena);
    }
}

void report_group_close(struct report_group *group, struct arena *arena)
{
    if (group->count > 0) {
        sort(group);
        struct report_route *route = group->rows[0].route;
        route->keys++;
        route->repeated_keys += group->count > 1;
        route->is_cut = route->is_cut || group->is_cut;
        play(group, arena);
        find_twice(group, arena);
    }
    group->count = 0;
    group->is_cut = false;
    memset(&group->identity, 0, sizeof(group->identity));
    gw_buf_clear(&group->text);
}
