/* What each operation means, in terms of rows: the same for every backend. An
 * operation reads and makes room first and writes last, so that whatever stops
 * it early has changed nothing. It must never decide anything about a receipt
 * beyond comparing versions. */
#include "store/apply.h"
#include "store/page.h"

bool op_writes(const struct store_op *op)
{
    return op->kind == STORE_CLAIM || op->kind == STORE_ADVANCE || op->kind == STORE_TOUCH ||
           op->kind == STORE_PAUSE || op->kind == STORE_NOTE || op->kind == STORE_PLAN_SET ||
           op->kind == STORE_OBSERVE || op->kind == STORE_LOCAL || op->kind == STORE_ASIDE;
}

enum gw_status op_no_memory(struct gw_error *err)
{
    return gw_error_set(err, GW_NOMEM, "the memory of the request is used up");
}

enum gw_status op_fail_alone(struct store_op *op, enum gw_status status)
{
    gw_assert(status != GW_OK);
    op->out.status = status;
    op->out.rows = NULL;
    op->out.row_count = 0;
    return GW_OK;
}

enum gw_status op_found(struct store_op *op, enum store_found what)
{
    op->out.found = what;
    if (what == STORE_NONE)
        op->out.row_count = 0;
    return GW_OK;
}

bool op_make_room(struct store_op *op)
{
    op->out.rows = arena_take(op->arena, sizeof(*op->out.rows));
    op->out.row_count = op->out.rows == NULL ? 0 : 1;
    return op->out.rows != NULL;
}

/* An unsound row here was made by us; a large one came from outside. */
enum gw_status row_check_for_write(const struct store_row *row, struct gw_error *err)
{
    enum gw_status status = row_check(row, err);
    gw_assert(status != GW_CORRUPT);
    return status;
}

enum gw_status audit_check(const struct audit_entry *entry, struct gw_error *err)
{
    if (entry == NULL)
        return GW_OK;
    const struct span texts[] = {entry->actor, entry->action, entry->subject, entry->note,
                                 entry->detail};
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        if (texts[i].len > AUDIT_TEXT_BYTES_MAX)
            return gw_error_set(err, GW_LIMIT, "a text of the audit is larger than %zu bytes",
                                AUDIT_TEXT_BYTES_MAX);
    return GW_OK;
}

/* get() and the check that goes with every read. */
enum gw_status op_get_row(struct store_backend *backend, const struct row_key *key,
                          struct store_op *op, bool *ret_found, struct gw_error *err)
{
    struct store_row *row = op->out.rows;
    enum gw_status status = backend->table->get(backend, key, op->arena, row, ret_found, err);
    if (status == GW_OK && *ret_found)
        status = row_check(row, err);
    return status;
}

/* Bodies are checked once they are there. */
static enum gw_status load_bodies(struct store_backend *backend, struct store_op *op, uint32_t load,
                                  struct gw_error *err)
{
    struct store_row *row = op->out.rows;
    if (load == 0)
        return GW_OK;
    enum gw_status status = backend->table->load(backend, load, op->arena, row, err);
    return status == GW_OK ? row_check(row, err) : status;
}

/* A digest says "probably"; the bytes say "yes". */
static enum gw_status check_identity(const struct store_row *row, struct span owner,
                                     struct span scope, struct span key, struct gw_error *err)
{
    if (span_equal(row->owner, owner) && span_equal(row->scope, scope) && span_equal(row->key, key))
        return GW_OK;
    return gw_error_set(err, GW_CORRUPT,
                        "operation %s: its owner, scope and key do not belong to its digest",
                        row->operation_id);
}

bool is_same_claim(const struct store_row *there, const struct store_row *wanted)
{
    return memcmp(there->operation_id, wanted->operation_id, OPERATION_ID_BYTES) == 0 &&
           there->receipt.token == wanted->receipt.token &&
           there->receipt.state == wanted->receipt.state &&
           there->receipt.version == wanted->receipt.version;
}

enum gw_status op_read_holder(struct store_backend *backend, struct store_op *op,
                              const struct holder_query *query, struct gw_error *err)
{
    const struct store_row *wanted = query->wanted;
    struct row_key key = {.by = ROW_BY_IDENTITY, .identity = wanted->identity};
    bool is_there = false;
    enum gw_status status = op_get_row(backend, &key, op, &is_there, err);
    if (status == GW_OK && !is_there && query->may_be_absent)
        return op_found(op, STORE_NONE);
    if (status == GW_OK && !is_there)
        status = gw_error_set(err, GW_CORRUPT, "a key is taken by a row that cannot be found");
    const struct store_row *row = op->out.rows;
    if (status == GW_OK)
        status = check_identity(row, wanted->owner, wanted->scope, wanted->key, err);
    bool wants_answer = query->load_answer && row->receipt.state == RECEIPT_COMPLETED;
    if (status == GW_OK)
        status = load_bodies(backend, op, wants_answer && row->answer_kept ? LOAD_ANSWER : 0, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    return op_found(op, is_same_claim(row, wanted) ? STORE_WON : STORE_HELD);
}

static enum gw_status apply_claim(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err)
{
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    struct store_row *row = op->out.rows;
    *row = *op->in.claim.row;
    row->id = 0;
    row->holder = receipt_is_leased(row->receipt.state) ? backend->holder : 0;
    row->lease_is_dead = row->lease_is_foreign = false;
    row->answer = span_of("", 0);
    row->answer_kept = false;
    enum gw_status status = row_check_for_write(row, err);
    for (uint32_t i = 0; i < op->in.claim.audit_count && status == GW_OK; i++)
        status = audit_check(&op->in.claim.audit[i], err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    int64_t id = 0;
    status = backend->table->insert(backend, row, &id, err);
    if (status != GW_OK)
        return status;
    if (id == 0)
        return op_read_holder(backend, op,
                              &(struct holder_query){.wanted = op->in.claim.row,
                                                     .load_answer = op->in.claim.load_answer},
                              err);
    row->id = id;
    for (uint32_t i = 0; i < op->in.claim.audit_count && status == GW_OK; i++)
        status = audit_write(backend, &op->in.claim.audit[i], err);
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}

static enum gw_status apply_lookup(struct store_backend *backend, struct store_op *op,
                                   struct gw_error *err)
{
    struct row_key key = {.by = ROW_BY_IDENTITY, .identity = op->in.lookup.identity};
    bool is_there = false;
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    enum gw_status status = op_get_row(backend, &key, op, &is_there, err);
    if (status == GW_OK && is_there)
        status = check_identity(op->out.rows, op->in.lookup.owner, op->in.lookup.scope,
                                op->in.lookup.key, err);
    if (status == GW_OK && is_there)
        status = load_bodies(backend, op, op->in.lookup.load, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    return op_found(op, is_there ? STORE_HELD : STORE_NONE);
}

static enum gw_status apply_find(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err)
{
    struct row_key key = {.by = ROW_BY_OPERATION, .operation_id = op->in.find.operation_id};
    bool is_there = false;
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    enum gw_status status = op_get_row(backend, &key, op, &is_there, err);
    if (status == GW_OK && is_there)
        status = load_bodies(backend, op, op->in.find.load, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    return op_found(op, is_there ? STORE_HELD : STORE_NONE);
}

/* Repeats are counted without a new version, so a writer's copy may be behind:
 * the larger count stays, except where a new doubt begins to count anew. */
static void merge_repeats(struct store_row *merged, const struct store_row *cur,
                          const struct store_row *next)
{
    bool begins = next->receipt.state == RECEIPT_UNKNOWN && cur->receipt.state != RECEIPT_UNKNOWN;
    merged->repeats = begins || next->repeats > cur->repeats ? next->repeats : cur->repeats;
    merged->last_repeat_ms = begins || next->last_repeat_ms > cur->last_repeat_ms
                                 ? next->last_repeat_ms
                                 : cur->last_repeat_ms;
}

/* Who is on a doubt and what probes found of it belong to that doubt: one that begins has
 * nothing yet, and nobody but who came while its attempt was under way. Only a doubt is
 * asked about. */
static void merge_doubt(struct store_row *merged, const struct store_row *cur)
{
    if (merged->receipt.state != RECEIPT_UNKNOWN)
        merged->probe_due_ms = 0;
    if (merged->receipt.state != RECEIPT_UNKNOWN || !receipt_is_leased(cur->receipt.state))
        return;
    /* The lease began with the last change that is told by time. */
    if (cur->claimed_ms < cur->updated_ms) {
        merged->claimed_by = span_of("", 0);
        merged->claimed_ms = 0;
    }
    merged->probes = span_of("", 0);
    merged->probe = PROBE_NONE;
    merged->probe_count = 0;
}

/* What is deferred is still to be run, and what is promised may be once more; when that is
 * over, the request goes. */
static bool may_run_later(const struct store_row *row)
{
    enum receipt_state state = row->receipt.state;
    bool is_promised = (row->receipt.marks & RECEIPT_PROMISED) != 0;
    return state == RECEIPT_DEFERRED ||
           (is_promised && (receipt_is_leased(state) || state == RECEIPT_UNKNOWN));
}

/* true: a request was kept, and is not needed any more. */
static bool merge_promise(struct store_row *merged, const struct store_row *cur)
{
    if (may_run_later(merged))
        return false;
    merged->promised_ms = 0;
    merged->kept = span_of("", 0);
    return cur->promised_ms > 0;
}

/* A lease stays dead until a fresh token replaces it, whoever writes to the row. */
static bool lease_stays_dead(const struct store_row *cur, const struct receipt *next)
{
    return cur->lease_is_dead && receipt_is_leased(next->state) &&
           next->token == cur->receipt.token;
}

/* A lease is taken with its fresh token, and with nothing else: whoever writes to the row
 * meanwhile, an operator at another gateway, does not take it over. */
static void merge_lease(struct store_row *merged, const struct store_row *cur,
                        const struct store_backend *backend)
{
    bool is_leased = receipt_is_leased(merged->receipt.state);
    bool is_same = is_leased && merged->receipt.token == cur->receipt.token;
    merged->holder = is_same ? cur->holder : is_leased ? backend->holder : 0;
    merged->lease_is_dead = lease_stays_dead(cur, &merged->receipt);
    merged->lease_is_foreign = is_same && cur->lease_is_foreign;
}

/* What is kept to be run later is written if it is new, or not needed any more. */
static bool merge(const struct store_backend *backend, const struct store_row *cur,
                  const struct store_op *op, struct store_row *ret)
{
    const struct store_row *next = op->in.advance.next;
    *ret = *next;
    ret->id = cur->id;
    memcpy(ret->operation_id, cur->operation_id, sizeof(ret->operation_id));
    ret->identity = cur->identity;
    ret->owner = cur->owner;
    ret->scope = cur->scope;
    ret->key = cur->key;
    ret->route = cur->route;
    ret->created_ms = cur->created_ms;
    merge_lease(ret, cur, backend);
    ret->answer = op->in.advance.set_answer ? next->answer : span_of("", 0);
    ret->answer_kept = op->in.advance.set_answer ? next->answer.len > 0 : cur->answer_kept;
    ret->request = op->in.advance.set_request ? next->request : span_of("", 0);
    merge_repeats(ret, cur, next);
    merge_doubt(ret, cur);
    ret->kept = op->in.advance.set_kept ? next->kept : span_of("", 0);
    bool is_over = merge_promise(ret, cur);
    return is_over || ret->kept.len > 0;
}

static bool receipts_are_equal(const struct receipt *a, const struct receipt *b)
{
    return a->state == b->state && a->attempt == b->attempt && a->version == b->version &&
           a->marks == b->marks && a->token == b->token && a->lease_until_ms == b->lease_until_ms &&
           a->due_ms == b->due_ms && a->expire_ms == b->expire_ms;
}

/* A doubt that began has dropped what the writer may still have had. */
static bool doubts_are_equal(const struct store_row *cur, const struct store_row *next)
{
    bool is_unknown = cur->receipt.state == RECEIPT_UNKNOWN;
    bool same_claim =
        cur->claimed_ms == next->claimed_ms && span_equal(cur->claimed_by, next->claimed_by);
    if (!same_claim && !(is_unknown && cur->claimed_ms == 0))
        return false;
    if (is_unknown && cur->probe_count == 0)
        return true;
    return cur->probe_count == next->probe_count && cur->probe == next->probe &&
           span_equal(cur->probes, next->probes);
}

/* Did this very operation write the row that is there? Token, state and version
 * would take two operators with one verdict for each other; the rest and the
 * audit tell them apart. */
static enum gw_status is_own_result(struct store_backend *backend, const struct store_op *op,
                                    bool *ret_own, struct gw_error *err)
{
    const struct store_row *cur = op->out.rows, *next = op->in.advance.next;
    bool kept = op->in.advance.set_answer ? next->answer.len > 0 : cur->answer_kept;
    *ret_own = receipts_are_equal(&cur->receipt, &next->receipt) &&
               cur->updated_ms == next->updated_ms && cur->end == next->end &&
               cur->status == next->status && span_equal(cur->attempts, next->attempts) &&
               cur->answer_kept == kept && doubts_are_equal(cur, next);
    if (!*ret_own || op->in.advance.audit == NULL)
        return GW_OK;
    return backend->table->audit_has(backend, op->in.advance.audit, ret_own, err);
}

static enum gw_status judge_other_version(struct store_backend *backend, struct store_op *op,
                                          struct gw_error *err)
{
    bool own = false;
    enum gw_status status = is_own_result(backend, op, &own, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    return op_found(op, own ? STORE_WON : STORE_STALE);
}

enum gw_status audit_write(struct store_backend *backend, const struct audit_entry *entry,
                           struct gw_error *err)
{
    return entry == NULL ? GW_OK : backend->table->audit_add(backend, entry, err);
}

static enum gw_status write_removal(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err)
{
    struct store_row *row = op->out.rows;
    enum gw_status status = backend->table->remove(backend, row, err);
    if (status == GW_OK)
        status = audit_write(backend, op->in.advance.audit, err);
    row->receipt = op->in.advance.next->receipt;
    row->holder = 0;
    row->lease_is_dead = row->lease_is_foreign = false;
    row->answer_kept = false;
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}

static enum gw_status write_change(struct store_backend *backend, struct store_op *op,
                                   struct gw_error *err)
{
    struct store_row old = *op->out.rows;
    bool set_kept = merge(backend, &old, op, op->out.rows);
    enum gw_status status = row_check_for_write(op->out.rows, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    const struct row_change change = {.old = &old,
                                      .row = op->out.rows,
                                      .set_answer = op->in.advance.set_answer,
                                      .set_request = op->in.advance.set_request,
                                      .set_kept = set_kept};
    status = backend->table->update(backend, &change, err);
    if (status == GW_OK)
        status = audit_write(backend, op->in.advance.audit, err);
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}

static enum gw_status apply_advance(struct store_backend *backend, struct store_op *op,
                                    struct gw_error *err)
{
    const struct store_row *next = op->in.advance.next;
    struct row_key key = {.by = ROW_BY_ID, .id = op->in.advance.id};
    bool is_there = false;
    bool removes = next->receipt.state == RECEIPT_ABSENT;
    gw_assert(removes || next->receipt.version != op->in.advance.expect_version);
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    enum gw_status status = audit_check(op->in.advance.audit, err);
    if (status == GW_OK)
        status = op_get_row(backend, &key, op, &is_there, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    if (!is_there)
        return op_found(op, STORE_NONE);
    if (op->out.rows->receipt.version != op->in.advance.expect_version)
        return judge_other_version(backend, op, err);
    return removes ? write_removal(backend, op, err) : write_change(backend, op, err);
}

static enum gw_status apply_touch(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err)
{
    bool is_there = false;
    enum gw_status status =
        backend->table->touch(backend, op->in.touch.id, op->in.touch.now_ms, &is_there, err);
    return status == GW_OK ? op_found(op, is_there ? STORE_WON : STORE_NONE) : status;
}

static enum gw_status check_pause(const struct store_op *op, struct gw_error *err)
{
    const struct pause_entry *entry = &op->in.pause.entry;
    if (entry->name.len > AUDIT_TEXT_BYTES_MAX || entry->actor.len > AUDIT_TEXT_BYTES_MAX ||
        entry->note.len > AUDIT_TEXT_BYTES_MAX)
        return gw_error_set(err, GW_LIMIT, "a text of the pause is larger than %zu bytes",
                            AUDIT_TEXT_BYTES_MAX);
    return audit_check(op->in.pause.audit, err);
}

/* What pauses_read() gives, searched for the subject. -1: not paused. */
static int64_t find_pause(const struct store_op *op, const struct pause_entry *wanted)
{
    for (uint32_t i = 0; i < op->out.pause_count; i++)
        if (op->out.pauses[i].subject == wanted->subject &&
            span_equal(op->out.pauses[i].name, wanted->name))
            return i;
    return -1;
}

static bool pauses_are_equal(const struct pause_entry *a, const struct pause_entry *b)
{
    return a->at_ms == b->at_ms && span_equal(a->actor, b->actor) && span_equal(a->note, b->note);
}

/* Pauses are few and rarely changed: all are read, then one is written. */
static enum gw_status apply_pause(struct store_backend *backend, struct store_op *op,
                                  struct gw_error *err)
{
    const struct pause_entry *entry = &op->in.pause.entry;
    enum gw_status status = check_pause(op, err);
    if (status == GW_OK)
        status = backend->table->pauses_read(backend, op, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    int64_t at = find_pause(op, entry);
    if (op->in.pause.clear && at < 0)
        return op_found(op, STORE_NONE);
    if (!op->in.pause.clear && at >= 0 && pauses_are_equal(&op->out.pauses[at], entry))
        return op_found(op, STORE_WON);
    if (!op->in.pause.clear && at < 0 && op->out.pause_count >= STORE_PAUSES_MAX)
        return op_fail_alone(
            op, gw_error_set(err, GW_LIMIT, "more than %d pauses at once", STORE_PAUSES_MAX));
    status = op->in.pause.clear ? backend->table->pause_clear(backend, entry, err)
                                : backend->table->pause_set(backend, entry, err);
    if (status == GW_OK)
        status = audit_write(backend, op->in.pause.audit, err);
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}

/* The row is only looked for: a note stands beside it and changes nothing. */
static enum gw_status apply_note(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err)
{
    const struct audit_entry *audit = op->in.note.audit;
    struct row_key key = {.by = ROW_BY_OPERATION, .operation_id = audit->subject};
    bool is_there = false, is_written = false;
    if (!op_make_room(op))
        return op_fail_alone(op, op_no_memory(err));
    enum gw_status status = audit_check(audit, err);
    if (status == GW_OK)
        status = op_get_row(backend, &key, op, &is_there, err);
    if (status == GW_OK && is_there)
        status = backend->table->audit_has(backend, audit, &is_written, err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    if (!is_there)
        return op_found(op, STORE_NONE);
    status = is_written ? GW_OK : audit_write(backend, audit, err);
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}

/* The operations that only read and return pages of something. */
static enum gw_status apply_page(struct store_backend *backend, struct store_op *op,
                                 struct gw_error *err)
{
    enum gw_status status = GW_INVALID;
    if (op->kind == STORE_SCAN || op->kind == STORE_LIST)
        status = page_read(backend, op, err);
    else if (op->kind == STORE_AUDIT)
        status = backend->table->audit_read(backend, op->in.find.operation_id, op, err);
    else if (op->kind == STORE_PAUSES)
        status = backend->table->pauses_read(backend, op, err);
    else if (op->kind == STORE_TALLY)
        status = backend->table->tally_read(backend, op, err);
    else if (op->kind == STORE_GROUPS)
        status = backend->table->groups_read(backend, op, err);
    else if (op->kind == STORE_PLANS)
        status = backend->table->plans_read(backend, &(struct plans_query){0}, op, err);
    else if (op->kind == STORE_OBSERVED)
        status = backend->table->observed_read(backend, op, err);
    return status == GW_OK ? op_found(op, STORE_PAGE) : op_fail_alone(op, status);
}

enum gw_status apply_op(struct store_backend *backend, struct store_op *op, struct gw_error *err)
{
    gw_assert(op->arena != NULL);
    gw_assert(op->out.status == GW_OK);
    switch (op->kind) {
    case STORE_CLAIM:
        return apply_claim(backend, op, err);
    case STORE_LOOKUP:
        return apply_lookup(backend, op, err);
    case STORE_FIND:
        return apply_find(backend, op, err);
    case STORE_ADVANCE:
        return apply_advance(backend, op, err);
    case STORE_TOUCH:
        return apply_touch(backend, op, err);
    case STORE_PAUSE:
        return apply_pause(backend, op, err);
    case STORE_SCAN:
    case STORE_LIST:
    case STORE_AUDIT:
    case STORE_PAUSES:
    case STORE_TALLY:
    case STORE_GROUPS:
    case STORE_PLANS:
    case STORE_OBSERVED:
        return apply_page(backend, op, err);
    case STORE_NOTE:
        return apply_note(backend, op, err);
    case STORE_PLAN_SET:
        return apply_plan_set(backend, op, err);
    case STORE_PLAN_GET:
        return apply_plan_get(backend, op, err);
    case STORE_OBSERVE:
        return apply_observe(backend, op, err);
    case STORE_ASIDE:
        return apply_aside(backend, op, err);
    case STORE_LOCAL:
        return apply_local(backend, op, err);
    case STORE_OP_COUNT:
        break;
    }
    gw_assert(op->kind < STORE_OP_COUNT);
    return GW_INVALID;
}
