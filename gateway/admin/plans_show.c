/* A plan as it is shown: what it is for, a few of its operations, what callers will
 * get, and what was left out and why. It reads the rows that it shows, in windows of
 * neighbours, and changes nothing. */
#include "gateway/admin/answer.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/plans.h"

#include "base/text.h"
#include "policy/json.h"

#define WINDOW_ROWS 50
#define WHERE_NODES 10000

const char *const plan_state_words[PLAN_STATE_COUNT] = {
    [PLAN_DRAFT] = "draft", [PLAN_WAITING] = "waiting", [PLAN_APPLYING] = "applying",
    [PLAN_DONE] = "done",   [PLAN_STOPPED] = "stopped",
};

/* Which of the rows that are read are shown how. */
enum show_part { SHOW_SAMPLES, SHOW_LEFT_OUT };

struct show {
    struct arena *home; /* of the call; in its place stands that of a page meanwhile */
    struct plan_entry entry;
    struct verdict verdict;
    const struct plan_item *items;
    uint32_t item_count;
    enum show_part part;
    const struct plan_item *wanted[PLANS_LEFT_OUT_MAX];
    uint32_t wanted_count, next, window;
    uint32_t rows_max; /* of a window */
};

/* ---- what is counted ---- */

void plan_count(struct plan_entry *entry, const struct plan_item *items, uint32_t count)
{
    entry->count = count;
    entry->settled = entry->changed = entry->refused = 0;
    for (uint32_t i = 0; i < count; i++) {
        entry->settled += items[i].outcome == PLAN_SETTLED;
        entry->changed += items[i].outcome == PLAN_CHANGED;
        entry->refused += items[i].outcome == PLAN_REFUSED;
    }
}

bool plan_describe(const struct plan_draft *draft, struct gw_buf *out)
{
    struct json_writer json = {.out = out};
    writer_raw(&json, NULL, draft->where_json);
    (void)gw_buf_byte(out, '\n'); /* asked once at the end */
    json.has_items = false;
    writer_open(&json, NULL, '{');
    for (uint32_t i = 0; i < draft->route_count; i++) {
        (void)gw_buf_print(out, "%s", i > 0 ? "," : "");
        gw_json_string(out, draft->routes[i].name);
        (void)gw_buf_print(out, ":%u", draft->routes[i].count);
    }
    writer_close(&json, '}');
    (void)gw_buf_byte(out, '\n');
    for (uint32_t i = 0; i < ADMIT_VERDICT_COUNT; i++)
        if (draft->sees[i] > 0)
            (void)gw_buf_print(out, "%s %u ", admit_verdict_name((enum admit_verdict)i),
                               draft->sees[i]);
    return !out->failed;
}

/* The line of the description; empty: there is none. */
static struct span line_of(struct span text, uint32_t number)
{
    struct span line = SPAN("");
    for (uint32_t i = 0; i <= number; i++) {
        const char *end = text.len == 0 ? NULL : memchr(text.ptr, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.ptr);
        line = span_of(text.ptr, len);
        len += end == NULL ? 0 : 1;
        text = span_of(text.ptr + len, text.len - len);
    }
    return line;
}

/* It was written by us; but what a disk gives back goes to nobody unchecked. */
static void print_described(struct json_writer *json, const char *name, struct span line,
                            const char *otherwise)
{
    const struct json_limits limits = {.depth_max = 2, .nodes_max = WHERE_NODES};
    struct json_fault fault;
    uint32_t count;
    bool is_sound = json_count(line, &limits, &count, &fault);
    writer_raw(json, name, is_sound ? line : span_str(otherwise));
}

/* ---- what callers will get ---- */

static struct span next_word(struct span *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->ptr, ' ', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->ptr);
    struct span word = span_of(rest->ptr, len);
    len += end == NULL ? 0 : 1;
    *rest = span_of(rest->ptr + len, rest->len - len);
    return word;
}

static enum admit_verdict sight_by_name(struct span name)
{
    uint32_t at = 0;
    while (at < ADMIT_VERDICT_COUNT &&
           !span_equal(name, span_str(admit_verdict_name((enum admit_verdict)at))))
        at++;
    return (enum admit_verdict)at;
}

static void print_sights(struct call *call, const struct show *show)
{
    struct json_writer *json = &call->json;
    struct span rest = line_of(show->entry.where, 2);
    uint16_t status = show->verdict.has_answer ? show->verdict.answer.status : 0;
    uint64_t count;
    writer_open(json, "client_sees", '{');
    while (rest.len > 0) {
        struct span name = next_word(&rest);
        enum admit_verdict sight = sight_by_name(name);
        if (!gw_parse_u64(next_word(&rest), &count) || sight == ADMIT_VERDICT_COUNT)
            break;
        writer_open(json, admit_verdict_name(sight), '{');
        writer_number(json, "count", (int64_t)(count & INT64_MAX));
        visible_print_sight(json, sight, status);
        writer_close(json, '}');
    }
    writer_close(json, '}');
}

/* ---- the members ---- */

void plan_print_members(struct json_writer *json, const struct plan_entry *entry)
{
    writer_text(json, "id", span_str(entry->plan_id));
    writer_text(json, "state", span_str(plan_state_words[entry->state]));
    writer_text(json, "verdict", entry->verdict);
    print_described(json, "where", line_of(entry->where, 0), "null");
    writer_bool(json, "force", entry->force);
    writer_text(json, "actor", entry->actor);
    writer_text_or_null(json, "applied_by", entry->applied_by);
    writer_text_or_null(json, "note", entry->note);
    writer_time(json, "created_at", entry->created_ms);
    writer_time(json, "expires_at", entry->expires_ms);
    writer_time(json, "apply_at", entry->apply_at_ms);
    writer_time(json, "ended_at", entry->ended_ms);
    writer_number(json, "count", entry->count);
    writer_number(json, "settled", entry->settled);
    writer_number(json, "changed", entry->changed);
    writer_number(json, "refused", entry->refused);
}

static struct span reason_of(struct call *call, const struct show *show,
                             const struct plan_item *item, const struct store_row *row)
{
    const struct route_policy *route = call_route(call, row->route);
    uint32_t version = row->receipt.version;
    const char *state = receipt_public_state(row->receipt.state);
    if (item->outcome == PLAN_CHANGED)
        return arena_print(call->arena,
                           "It has changed meanwhile: the plan was made for version %u; it is "
                           "version %u now, state %s.",
                           item->version, version, state);
    if (version != item->version)
        return arena_print(call->arena,
                           "The verdict was not possible then; it is version %u now, state %s.",
                           version, state);
    if (show->verdict.has_answer && route != NULL &&
        answer_fault(route, &show->verdict.answer) != ANSWER_FITS)
        return SPAN("The route does not keep a response like this one.");
    if (show->verdict.kind == VERDICT_NOT_EXECUTED && !show->verdict.force)
        return SPAN("Its quiet time was not over: the request could still arrive at the upstream.");
    return SPAN("The store or its state did not take the verdict.");
}

/* row NULL: it is no longer kept. */
static void print_left_out(struct call *call, const struct show *show, const struct plan_item *item,
                           const struct store_row *row)
{
    struct json_writer *json = &call->json;
    writer_open(json, NULL, '{');
    writer_text(json, "id", row == NULL ? SPAN("") : span_str(row->operation_id));
    writer_number(json, "version", item->version);
    writer_text(json, "outcome", item->outcome == PLAN_CHANGED ? SPAN("changed") : SPAN("refused"));
    writer_text(json, "reason",
                row == NULL ? SPAN("It is no longer kept.") : reason_of(call, show, item, row));
    writer_close(json, '}');
}

static void print_wanted(struct call *call, const struct show *show, const struct plan_item *item,
                         const struct store_row *row)
{
    if (show->part == SHOW_LEFT_OUT) {
        print_left_out(call, show, item, row);
    } else if (row != NULL) {
        writer_open(&call->json, NULL, '{');
        operation_print_members(call, row, true);
        writer_close(&call->json, '}');
    }
}

/* ---- reading ---- */

static void go_on(struct call *call);

static void fail(struct call *call, const char *text)
{
    call_problem(call, ADMIN_STORE_UNAVAILABLE, "%s", text);
}

static const struct store_row *row_with(const struct store_op *op, int64_t id)
{
    for (uint32_t i = 0; i < op->out.row_count; i++)
        if (op->out.rows[i].id == id)
            return &op->out.rows[i];
    return NULL;
}

static void on_rows(struct call *call)
{
    struct show *show = call->state;
    enum gw_status status = call->op.out.status;
    bool is_well = status == GW_OK;
    bool is_too_much = (status == GW_NOMEM || status == GW_LIMIT) && show->rows_max > 1;
    for (uint32_t i = 0; i < show->window && is_well; i++) {
        const struct plan_item *item = show->wanted[show->next + i];
        print_wanted(call, show, item, row_with(&call->op, item->id));
    }
    arena_free(call->arena);
    call->arena = show->home;
    if (is_too_much)
        show->rows_max /= 2; /* rows with much in them: fewer of them */
    else
        show->next += show->window;
    if (is_well || is_too_much)
        go_on(call);
    else
        fail(call, "The store could not be read. The log says why.");
}

/* As many of the wanted ones as lie close together. */
static void read_window(struct call *call)
{
    struct show *show = call->state;
    int64_t first_id = show->wanted[show->next]->id;
    uint32_t end = show->next + 1;
    while (end < show->wanted_count && show->wanted[end]->id - first_id < show->rows_max)
        end++;
    show->window = end - show->next;
    struct arena *page = arena_new(PLANS_PAGE_BYTES_MAX);
    if (page == NULL) {
        fail(call, "Out of memory.");
        return;
    }
    call->op = (struct store_op){.kind = STORE_LIST};
    call->op.in.list.rows_max = (uint32_t)(show->wanted[end - 1]->id - first_id) + 1;
    call->op.in.list.oldest_first = true;
    call->op.in.list.cursor = first_id - 1;
    call->arena = page;
    if (call_try_submit(call, on_rows))
        return;
    call->arena = show->home;
    arena_free(page);
    fail(call, "The queue to the store is full; ask again.");
}

static void begin_part(struct call *call, enum show_part part)
{
    struct show *show = call->state;
    uint32_t most = part == SHOW_SAMPLES ? PLANS_SAMPLES : PLANS_LEFT_OUT_MAX;
    show->part = part;
    show->wanted_count = show->next = 0;
    for (uint32_t i = 0; i < show->item_count && show->wanted_count < most; i++) {
        uint8_t outcome = show->items[i].outcome;
        bool is_left_out = outcome == PLAN_CHANGED || outcome == PLAN_REFUSED;
        if (part == SHOW_SAMPLES || is_left_out)
            show->wanted[show->wanted_count++] = &show->items[i];
    }
    writer_open(&call->json, part == SHOW_SAMPLES ? "samples" : "left_out", '[');
}

static void go_on(struct call *call)
{
    struct show *show = call->state;
    if (show->next == show->wanted_count && show->part == SHOW_SAMPLES) {
        writer_close(&call->json, ']');
        begin_part(call, SHOW_LEFT_OUT);
    }
    if (show->next < show->wanted_count) {
        read_window(call);
        return;
    }
    writer_close(&call->json, ']');
    print_sights(call, show);
    writer_close(&call->json, '}');
    call_end(call);
}

/* false: what is on record of it is damaged, or there is no memory. */
static bool take(struct call *call, const struct plan_entry *entry, struct show *show)
{
    struct plan_item *items = NULL;
    if (plan_items_decode(call->arena, entry->items, &items, &show->item_count) != GW_OK)
        return false;
    show->home = call->arena;
    show->rows_max = WINDOW_ROWS;
    show->entry = *entry;
    show->items = items;
    show->verdict = (struct verdict){.kind = verdict_by_word(entry->verdict),
                                     .force = entry->force,
                                     .has_answer = entry->answer.len > 0};
    plan_count(&show->entry, items, show->item_count);
    return !show->verdict.has_answer ||
           message_decode(call->arena, entry->answer, &show->verdict.answer) == GW_OK;
}

void plan_show(struct call *call, const struct plan_entry *entry, uint16_t status)
{
    struct show *show = arena_take(call->arena, sizeof(*show));
    if (show == NULL || !take(call, entry, show)) {
        call_problem(call, ADMIN_INTERNAL, "The plan cannot be shown: no memory, or damaged.");
        return;
    }
    call->state = show;
    call_begin(call, status);
    writer_open(&call->json, "plan", '{');
    plan_print_members(&call->json, &show->entry);
    print_described(&call->json, "by_route", line_of(show->entry.where, 1), "{}");
    begin_part(call, SHOW_SAMPLES);
    go_on(call);
}
