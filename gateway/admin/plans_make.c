/* POST /v1/plans: a plan of all unknown operations that the filters choose, or of those
 * that are named. It settles nothing, and must refuse a filter that it does not know:
 * a misspelled one would choose everything. */
#include "gateway/admin/answer.h"
#include "gateway/admin/body.h"
#include "gateway/admin/filter.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/plans.h"
#include "gateway/compensation.h"

#include "base/digest.h"
#include "base/text.h"

#include <stdlib.h>

#define ROUNDS_MAX (2 * PLAN_ENTRIES_MAX) /* of pages, the empty ones as well */

static bool refuse(struct call *call, const char *text)
{
    call_problem(call, ADMIN_BODY_INVALID, "%s.", text);
    return false;
}

/* ---- the draft ---- */

static bool count_route(struct call *call, struct plan_draft *draft, struct span name)
{
    uint32_t at = 0;
    while (at < draft->route_count && !span_equal(draft->routes[at].name, name))
        at++;
    if (at == PLANS_ROUTES_MAX) {
        call_problem(call, ADMIN_PLAN_TOO_LARGE,
                     "The operations are of more than %d routes. Nothing was made. Narrow the "
                     "filter, for example to one route.",
                     PLANS_ROUTES_MAX);
        return false;
    }
    if (at == draft->route_count) {
        if (!arena_copy(draft->home, name, &draft->routes[at].name)) {
            call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was made.");
            return false;
        }
        draft->route_count++;
    }
    draft->routes[at].count++;
    return true;
}

bool draft_add(struct call *call, struct plan_draft *draft, const struct store_row *row,
               uint32_t version)
{
    const struct route_policy *route = call_route(call, row->route);
    if (draft->count == PLAN_ENTRIES_MAX) {
        call_problem(call, ADMIN_PLAN_TOO_LARGE,
                     "More than %d operations. Nothing was made. Narrow the filter, for example "
                     "with created_before.",
                     PLAN_ENTRIES_MAX);
        return false;
    }
    if (draft->verdict.has_answer && route != NULL &&
        answer_fault(route, &draft->verdict.answer) != ANSWER_FITS) {
        answer_refuse(call, route, &draft->verdict.answer);
        return false;
    }
    bool is_open = row->receipt.state == RECEIPT_UNKNOWN && row->receipt.version == version;
    enum admit_verdict sight = ADMIT_VERDICT_COUNT;
    if (is_open)
        sight = visible_under(call, row, draft->verdict.kind, draft->verdict.has_answer);
    if (sight != ADMIT_VERDICT_COUNT)
        draft->sees[sight]++;
    draft->items[draft->count++] =
        (struct plan_item){.id = row->id,
                           .version = version,
                           .outcome = (uint8_t)(is_open ? PLAN_OPEN : PLAN_CHANGED)};
    return count_route(call, draft, row->route);
}

static int compare_items(const void *left, const void *right)
{
    const struct plan_item *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

static bool has_twice(const struct plan_draft *draft)
{
    for (uint32_t i = 1; i < draft->count; i++)
        if (draft->items[i].id == draft->items[i - 1].id)
            return true;
    return false;
}

static void on_made(struct call *call)
{
    const struct plan_draft *draft = call->state;
    if (call->op.out.status == GW_LIMIT) {
        call_problem(call, ADMIN_PLANS_FULL,
                     "There are %d plans that are not over, and none of them is a draft of yours "
                     "older than a minute, which would give way. Nothing was made. Stop those that "
                     "nobody needs: recibo backlog plans lists them, recibo backlog settle --stop "
                     "PLAN stops one.",
                     STORE_PLANS_MAX);
        return;
    }
    if (call_store_is_well(call))
        plan_show(call, &draft->entry, 201);
}

/* The parts of the entry as the store wants them; false: out of memory. */
static bool pack(struct call *call, struct plan_draft *draft)
{
    struct gw_buf items, where;
    struct plan_entry *entry = &draft->entry;
    gw_buf_init(&items, PLAN_ITEMS_BYTES_MAX);
    gw_buf_init(&where, (size_t)64 << 10);
    bool ok = plan_items_encode(&items, draft->items, draft->count) &&
              plan_describe(draft, &where) &&
              arena_copy(call->arena, gw_buf_span(&items), &entry->items) &&
              arena_copy(call->arena, gw_buf_span(&where), &entry->where) &&
              verdict_pack(&draft->verdict, call->arena, &entry->answer);
    gw_buf_fini(&items);
    gw_buf_fini(&where);
    return ok;
}

void draft_finish(struct call *call, struct plan_draft *draft)
{
    struct plan_entry *entry = &draft->entry;
    uint8_t random[16];
    char text[27];
    gw_assert(call->arena == draft->home);
    if (draft->count > 1)
        qsort(draft->items, draft->count, sizeof(*draft->items), compare_items);
    if (has_twice(draft)) {
        (void)refuse(call, "operations: one of them is named twice"); /* it never says yes */
        return;
    }
    gw_random(random, sizeof(random));
    gw_base32(random, text);
    memcpy(entry->plan_id, "plan_", 5);
    memcpy(entry->plan_id + 5, text, sizeof(text));
    entry->state = PLAN_DRAFT;
    entry->created_ms = call->now_ms;
    entry->expires_ms = call->now_ms + PLANS_LIFE_MS;
    entry->actor = call_actor(call);
    entry->verdict = span_str(settle_word(draft->verdict.kind));
    entry->force = draft->verdict.force;
    plan_count(entry, draft->items, draft->count);
    if (!pack(call, draft)) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was made.");
        return;
    }
    call->op = (struct store_op){.kind = STORE_PLAN_SET};
    call->op.in.plan.entry = entry;
    call_submit(call, on_made);
}

/* ---- what the filters choose ---- */

static void ask(struct call *call);

/* What is known of operations says nothing of the compensations that have their labels:
 * these are chosen by the name of their own route alone. */
static bool is_meant(const struct call *call, const struct plan_draft *draft,
                     const struct store_row *row)
{
    const struct route_policy *route = call_route(call, draft->filter.route);
    return compensation_of(row).len == 0 || (route != NULL && route->is_compensation);
}

/* false: the call was answered. */
static bool take_page(struct call *call, struct plan_draft *draft, const struct store_op *op)
{
    for (uint32_t i = 0; i < op->out.row_count; i++)
        if (is_meant(call, draft, &op->out.rows[i]) &&
            !draft_add(call, draft, &op->out.rows[i], op->out.rows[i].receipt.version))
            return false;
    draft->cursor = op->out.next_cursor;
    return true;
}

static void on_page(struct call *call)
{
    struct plan_draft *draft = call->state;
    struct arena *page = call->arena;
    const struct store_op op = call->op;
    bool is_too_much =
        (op.out.status == GW_NOMEM || op.out.status == GW_LIMIT) && draft->rows_max > 1;
    call->arena = draft->home;
    bool goes_on = true;
    if (is_too_much)
        draft->rows_max /= 2; /* rows with much in them: fewer of them */
    else
        goes_on = call_store_is_well(call) && take_page(call, draft, &op);
    arena_free(page);
    if (!goes_on)
        return;
    if (!is_too_much && draft->cursor == 0)
        draft_finish(call, draft);
    else if (++draft->rounds < ROUNDS_MAX)
        ask(call);
    else
        call_problem(call, ADMIN_OVERLOADED, "The list does not end. Narrow the filter.");
}

static void ask(struct call *call)
{
    struct plan_draft *draft = call->state;
    struct arena *page = arena_new(PLANS_PAGE_BYTES_MAX);
    if (page == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was made.");
        return;
    }
    call->op = (struct store_op){.kind = STORE_LIST};
    call->op.in.list.filter = draft->filter;
    call->op.in.list.rows_max = draft->rows_max;
    call->op.in.list.oldest_first = true;
    call->op.in.list.cursor = draft->cursor;
    call->arena = page;
    if (call_try_submit(call, on_page))
        return;
    call->arena = draft->home;
    arena_free(page);
    call_problem(call, ADMIN_STORE_UNAVAILABLE,
                 "The queue to the store is full. Nothing was made; ask again.");
}

/* ---- the body ---- */

/* Strings; numbers and booleans as they are written. */
static bool read_value(struct call *call, const struct json_doc *doc, uint32_t node,
                       struct span *ret)
{
    switch ((enum json_kind)doc->nodes[node].kind) {
    case JSON_KIND_STRING:
        return body_text(call, doc, node, ret);
    case JSON_KIND_NUMBER:
    case JSON_KIND_TRUE:
    case JSON_KIND_FALSE:
        *ret = body_raw(doc, node);
        return true;
    case JSON_KIND_NULL:
    case JSON_KIND_ARRAY:
    case JSON_KIND_OBJECT:
        break;
    }
    return false;
}

static bool take_filter(struct call *call, struct plan_draft *draft, const struct json_doc *doc,
                        uint32_t at)
{
    struct span name, value = SPAN("");
    if (!body_name(call, doc, at, &name))
        return refuse(call, "out of memory");
    const char *fault = read_value(call, doc, at, &value)
                            ? filter_take(&draft->filter, call->now_ms, name, value)
                            : "must be a string";
    if (fault == NULL)
        return true;
    call_problem(call, ADMIN_BODY_INVALID, "where: %.*s %s.", (int)(name.len > 64 ? 64 : name.len),
                 name.ptr, fault);
    return false;
}

/* In our own words: one line, however it was written. */
static bool write_where(struct call *call, struct plan_draft *draft, const struct json_doc *doc,
                        uint32_t node)
{
    struct gw_buf text;
    struct json_writer json = {.out = &text};
    bool ok = true;
    gw_buf_init(&text, PLANS_WHERE_BYTES_MAX);
    writer_open(&json, NULL, '{');
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE && ok; at = doc->nodes[at].next) {
        struct span name = SPAN(""), value = SPAN("");
        ok = body_name(call, doc, at, &name) && read_value(call, doc, at, &value);
        json.has_items = at != doc->nodes[node].child;
        writer_member(&json, name, value);
    }
    writer_close(&json, '}');
    ok = ok && !text.failed && arena_copy(call->arena, gw_buf_span(&text), &draft->where_json);
    gw_buf_fini(&text);
    return ok || refuse(call, "where is too large");
}

static bool read_where(struct call *call, struct plan_draft *draft, const struct json_doc *doc,
                       uint32_t node)
{
    const uint32_t unknown = 1u << RECEIPT_UNKNOWN;
    if (doc->nodes[node].kind != JSON_KIND_OBJECT)
        return refuse(call, "where must be an object of filters, as in the list of operations");
    if (doc->nodes[node].child == JSON_NONE)
        return refuse(call,
                      "where is empty; {\"state\": \"unknown\"} is everything that is unknown");
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE; at = doc->nodes[at].next)
        if (!take_filter(call, draft, doc, at))
            return false;
    if (draft->filter.states != 0 && draft->filter.states != unknown)
        return refuse(call, "where: a plan is for unknown operations; state can only be unknown");
    draft->filter.states = unknown;
    return write_where(call, draft, doc, node);
}

static bool read_verdict(struct call *call, struct plan_draft *draft, const struct json_doc *doc)
{
    uint32_t node = body_member(doc, 0, "verdict");
    uint32_t response = body_member(doc, 0, "response");
    struct span word = SPAN("");
    if (node != JSON_NONE && !body_text(call, doc, node, &word))
        word = SPAN("");
    draft->verdict.kind = verdict_by_word(word);
    if (draft->verdict.kind == VERDICT_COUNT || draft->verdict.kind == VERDICT_REOPEN)
        return refuse(call, "verdict must be executed, not_executed or abandoned");
    if (response == JSON_NONE || doc->nodes[response].kind == JSON_KIND_NULL)
        return true;
    if (draft->verdict.kind != VERDICT_EXECUTED)
        return refuse(call, "a response goes only with the verdict executed");
    draft->verdict.has_answer = true;
    return answer_read(call, doc, response, &draft->verdict.answer);
}

static bool read_body(struct call *call, struct plan_draft *draft, struct json_doc *doc)
{
    return body_parse(call, doc) &&
           body_knows_members(call, doc, 0, "where operations verdict response force note") &&
           read_verdict(call, draft, doc) && body_flag(call, doc, "force", &draft->verdict.force) &&
           body_optional_note(call, doc, &draft->entry.note);
}

/* NULL: the call was answered. */
static struct plan_draft *draft_new(struct call *call)
{
    struct plan_draft *draft = arena_take(call->arena, sizeof(*draft));
    if (draft != NULL)
        draft->items = arena_take(call->arena, PLAN_ENTRIES_MAX * sizeof(*draft->items));
    if (draft == NULL || draft->items == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was made.");
        return NULL;
    }
    draft->home = call->arena;
    draft->where_json = SPAN("null");
    draft->rows_max = STORE_PAGE_ROWS_MAX;
    call->state = draft;
    return draft;
}

void call_plans_make(struct call *call)
{
    struct json_doc *doc = arena_take(call->arena, sizeof(*doc));
    struct plan_draft *draft = draft_new(call);
    if (draft == NULL || doc == NULL || !read_body(call, draft, doc))
        return;
    uint32_t where = body_member(doc, 0, "where");
    uint32_t named = body_member(doc, 0, "operations");
    if ((where == JSON_NONE) == (named == JSON_NONE))
        (void)refuse(call, "give where or operations, one of them"); /* it never says yes */
    else if (named != JSON_NONE)
        draft_take_named(call, draft, doc, named);
    else if (read_where(call, draft, doc, where))
        ask(call);
}
