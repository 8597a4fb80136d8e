/* SCAN and LIST: a walk along the best index, a filter on each row, a page of
 * those that fit. One go looks at a bounded number of rows and says where it
 * stopped. A damaged row is left out, and said in the error text: it must never
 * hide the sound ones from an operator or from recovery. */
#include "store/page.h"

#include "store/row_pack.h"

struct page {
    struct store_op *op;
    enum attempt_end end; /* of the filter; END_COUNT: any */
    uint32_t rows_max;
    uint32_t examined;
    int64_t last_id;
    bool is_cut, has_more;
    enum gw_status status;
    struct gw_error *err;
};

static bool visit(void *ctx, int64_t id, const struct store_row *row);

bool walk_has_state(enum receipt_state state)
{
    return state == RECEIPT_DEFERRED || state == RECEIPT_RELEASED || state == RECEIPT_UNKNOWN ||
           state == RECEIPT_CANCELLED || state == RECEIPT_ABANDONED;
}

/* PROBE_NONE: any, or more than one. */
static uint8_t only_probe(uint32_t probes)
{
    for (uint8_t probe = PROBE_NONE + 1; probe < PROBE_RESULT_COUNT; probe++)
        if (probes == 1u << probe)
            return probe;
    return PROBE_NONE;
}

/* Unknown rows can be found by more: the first of these that narrows most. */
static void choose_unknown_walk(const struct page *page, struct walk *walk)
{
    const struct store_filter *filter = &page->op->in.list.filter;
    walk->key = filter->key;
    walk->owner = filter->owner;
    walk->route = filter->route;
    walk->end = (uint8_t)page->end;
    walk->status = filter->status == STORE_STATUS_NONE ? 0 : (uint16_t)filter->status;
    walk->probe = only_probe(filter->probes);
    if (filter->key.len > 0)
        walk->by = WALK_UNKNOWN_KEY;
    else if (filter->claimed == CLAIM_SOME)
        walk->by = WALK_CLAIMED;
    else if (filter->route.len > 0 && page->end != END_COUNT && filter->status != 0)
        walk->by = WALK_GROUP;
    else if (walk->probe != PROBE_NONE)
        walk->by = WALK_PROBED;
    else if (filter->owner.len > 0)
        walk->by = WALK_UNKNOWN_OWNER;
    else if (filter->route.len > 0)
        walk->by = WALK_UNKNOWN_ROUTE;
}

static void choose_list_walk(const struct page *page, struct walk *walk)
{
    const struct store_filter *filter = &page->op->in.list.filter;
    walk->by = WALK_ID;
    for (uint32_t state = RECEIPT_ABSENT + 1; state < RECEIPT_STATE_COUNT; state++) {
        if (filter->states == 1u << state && walk_has_state((enum receipt_state)state)) {
            walk->by = WALK_STATE;
            walk->state = (enum receipt_state)state;
        }
    }
    if (filter->states == 1u << RECEIPT_UNKNOWN)
        choose_unknown_walk(page, walk);
    if (walk->by == WALK_UNKNOWN_KEY)
        return;
    if (filter->contradicted)
        walk->by = WALK_CONTRADICTED;
    if (filter->label_name.len > 0 && filter->label_value.len > 0) {
        walk->by = WALK_LABEL;
        walk->label_name = filter->label_name;
        walk->label_value = filter->label_value;
    }
}

/* By time a row's place is its time and its id; one who does not give the time means
 * ids alone. */
static bool goes_by_place(const struct store_op *op)
{
    return op->in.scan.kind == SCAN_LAPSED || op->in.scan.after_ms > 0;
}

static void choose_scan_walk(const struct store_op *op, struct walk *walk)
{
    walk->oldest_first = true;
    walk->until_ms = op->in.scan.now_ms;
    if (goes_by_place(op)) {
        walk->after_ms = op->in.scan.after_ms;
        walk->after_id = op->in.scan.after_id;
    }
    switch (op->in.scan.kind) {
    case SCAN_LAPSED:
        walk->by = WALK_LEASED;
        break;
    case SCAN_EXPIRED:
        walk->by = WALK_EXPIRE;
        break;
    case SCAN_EVIDENCE:
        walk->by = WALK_EVIDENCE;
        break;
    case SCAN_PROBES:
        walk->by = WALK_PROBES;
        break;
    case SCAN_DUE:
        walk->by = WALK_DUE;
        break;
    }
}

enum gw_status page_read(struct store_backend *backend, struct store_op *op, struct gw_error *err)
{
    struct page page = {.op = op, .end = END_COUNT, .err = err};
    struct walk walk = {.visit = visit, .ctx = &page};
    if (op->kind == STORE_LIST) {
        const struct store_filter *filter = &op->in.list.filter;
        page.rows_max = op->in.list.rows_max;
        walk.oldest_first = op->in.list.oldest_first;
        walk.after_id = op->in.list.cursor;
        if (filter->end.len > 0)
            page.end = end_by_name(filter->end);
        if (filter->end.len > 0 && page.end == END_COUNT)
            return gw_error_set(err, GW_INVALID, "'%.*s' is no way for an attempt to end",
                                (int)(filter->end.len < 64 ? filter->end.len : 64),
                                filter->end.ptr);
        choose_list_walk(&page, &walk);
    } else {
        page.rows_max = op->in.scan.rows_max;
        choose_scan_walk(op, &walk);
    }
    if (page.rows_max == 0 || page.rows_max > STORE_PAGE_ROWS_MAX)
        page.rows_max = STORE_PAGE_ROWS_MAX;
    enum gw_status status = backend->table->walk(backend, &walk, err);
    if (status == GW_OK)
        status = page.status;
    op->out.next_cursor = page.is_cut ? page.last_id : 0;
    if (page.has_more)
        op->out.next_cursor = op->out.rows[op->out.row_count - 1].id;
    return status;
}

/* Looks for a label in the packed ones; an empty value fits any. */
static bool has_label(struct span packed, struct span name, struct span value)
{
    struct label_step step = {0};
    struct label label;
    while (labels_next(packed, &step, &label))
        if (span_equal(label.name, name) && (value.len == 0 || span_equal(label.value, value)))
            return true;
    return false;
}

static bool fits(struct span wanted, struct span have)
{
    return wanted.len == 0 || span_equal(wanted, have);
}

/* What came of it: the last answer, who is on it, what the last probe said. */
static bool outcome_fits(const struct page *page, const struct store_row *row)
{
    const struct store_filter *filter = &page->op->in.list.filter;
    uint32_t status = row->status == 0 ? STORE_STATUS_NONE : row->status;
    if (page->end != END_COUNT && row->end != (uint8_t)page->end)
        return false;
    if (filter->status != 0 && filter->status != status)
        return false;
    if (filter->claimed != CLAIM_ANY && (filter->claimed == CLAIM_SOME) != (row->claimed_ms > 0))
        return false;
    return filter->probes == 0 || (filter->probes & 1u << row->probe) != 0;
}

static bool list_fits(const struct page *page, const struct store_row *row)
{
    const struct store_filter *filter = &page->op->in.list.filter;
    if (filter->states != 0 && (filter->states & 1u << row->receipt.state) == 0)
        return false;
    if (!outcome_fits(page, row))
        return false;
    if (filter->created_before_ms != 0 && row->created_ms >= filter->created_before_ms)
        return false;
    if (filter->created_after_ms != 0 && row->created_ms < filter->created_after_ms)
        return false;
    if (filter->contradicted && (row->receipt.marks & RECEIPT_CONTRADICTED) == 0)
        return false;
    if (!fits(filter->route, row->route) || !fits(filter->owner, row->owner) ||
        !fits(filter->key, row->key))
        return false;
    return filter->label_name.len == 0 ||
           has_label(row->labels, filter->label_name, filter->label_value);
}

static bool scan_fits(const struct page *page, const struct store_row *row)
{
    if (!goes_by_place(page->op) && row->id <= page->op->in.scan.after_id)
        return false;
    return page->op->in.scan.kind != SCAN_LAPSED ||
           row_lease_is_over(row, page->op->in.scan.now_ms);
}

static bool visit(void *ctx, int64_t id, const struct store_row *row)
{
    struct page *page = ctx;
    struct store_op *op = page->op;
    if (page->examined == STORE_PAGE_EXAMINED_MAX) {
        page->is_cut = true;
        return false;
    }
    page->examined++;
    page->last_id = id;
    if (row == NULL)
        return true;
    if (op->kind == STORE_LIST ? !list_fits(page, row) : !scan_fits(page, row))
        return true;
    if (row_check(row, page->err) != GW_OK)
        return true;
    if (op->out.row_count == page->rows_max) {
        page->has_more = true;
        return false;
    }
    struct store_row *copy = op_add_row(op);
    if (copy == NULL || !row_copy(op->arena, row, copy)) {
        page->status = op_no_memory(page->err);
        return false;
    }
    return true;
}

bool op_is_cut(const struct store_op *op)
{
    if (op->out.status != GW_OK || op->out.next_cursor == 0)
        return false;
    if (op->kind == STORE_LIST) {
        uint32_t wanted = op->in.list.rows_max;
        if (op->in.list.is_short)
            return false;
        if (wanted == 0 || wanted > STORE_PAGE_ROWS_MAX)
            wanted = STORE_PAGE_ROWS_MAX;
        return op->out.row_count < wanted;
    }
    if (op->kind == STORE_OBSERVED)
        return true;
    /* By time there is no place to go on from; the next scan finds the rest. */
    return op->kind == STORE_SCAN && op->in.scan.kind == SCAN_LAPSED &&
           op->out.row_count < op->in.scan.rows_max && op->in.scan.rows_max <= STORE_PAGE_ROWS_MAX;
}

void op_continue(struct store_op *op)
{
    gw_assert(op_is_cut(op));
    if (op->kind == STORE_OBSERVED) {
        op->in.observed.after_identity = op->out.next_identity;
        op->in.observed.after_id = op->out.next_cursor;
    } else if (op->kind == STORE_LIST)
        op->in.list.cursor = op->out.next_cursor;
    else
        op->in.scan.after_id = op->out.next_cursor;
}
