/* Asks the store and waits: before the first request nothing else is to be done. */
#include "gateway/standing.h"

#include "base/log.h"
#include "base/text.h"

#include <poll.h>
#include <stdlib.h>

#define STANDING_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define STANDING_PAGES_MAX 20 /* of one route, the newest; one of the oldest is added */

static void came(struct store_op *op, void *ctx)
{
    bool *done = ctx;
    (void)op;
    *done = true;
}

/* Submits the question and waits for its answer. */
static enum gw_status ask(struct store *store, struct store_op *op, struct gw_error *err)
{
    struct store_inbox *inbox = NULL;
    bool done = false;
    enum gw_status status = store_inbox_new(&inbox, err);
    if (status != GW_OK)
        return status;
    op->inbox = inbox;
    op->done = came;
    op->ctx = &done;
    status = store_submit(store, op);
    struct pollfd readable = {.fd = store_inbox_fd(inbox), .events = POLLIN};
    while (status == GW_OK && !done) {
        (void)poll(&readable, 1, -1); /* early or late: the drain tells */
        store_inbox_drain(inbox);
    }
    store_inbox_free(inbox);
    if (status == GW_OK)
        status = op->out.status;
    return status == GW_OK ? GW_OK
                           : gw_error_set(err, status, "the store cannot be read at the start");
}

enum gw_status standing_pauses(struct store *store, struct board *board, struct gw_error *err)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_PAUSES, .arena = arena};
    enum gw_status status = ask(store, &op, err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.pause_count; i++)
        (void)board_pause(board, op.out.pauses[i].subject, op.out.pauses[i].name,
                          true); /* a route that is gone needs no pause */
    arena_free(arena);
    return status;
}

enum gw_status standing_adopt(struct store *store, struct board *board, struct conf *conf,
                              struct gw_error *err)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_PAUSES, .arena = arena};
    enum gw_status status = ask(store, &op, err);
    if (status == GW_OK && !board_adopt(board, conf, op.out.pauses, op.out.pause_count))
        status = gw_error_set(err, GW_LIMIT,
                              "the board is full: this process has seen %d names of routes or %d "
                              "of upstreams; restart it, or give it memory",
                              BOARD_ROUTES_MAX, BOARD_UPSTREAMS_MAX);
    arena_free(arena);
    return status;
}

/* ---- receipts and routes ---- */

/* What stands between a row and its repeat. */
enum loss { LOSS_NONE, LOSS_LOCAL, LOSS_ROUTE, LOSS_TARGET, LOSS_SCOPE, LOSS_CONTENT, LOSS_OWNER };
static const char *const loss_words[] = {
    [LOSS_NONE] = "",
    [LOSS_LOCAL] = "its effects are local now",
    [LOSS_ROUTE] = "no enforced route has this name",
    [LOSS_TARGET] = "its requests lead to another route, or to none that is enforced",
    [LOSS_SCOPE] = "its keys had another scope",
    [LOSS_CONTENT] = "key.from: content is new or gone, or compares otherwise",
    [LOSS_OWNER] = "its owner is none of those who can call",
};

struct judgement {
    struct store *store;
    const struct conf *conf;
    const struct conf *running; /* what it would not find now it cannot lose; NULL: all counts */
    bool accepted;              /* what would be forgotten is only told */
    bool counts_pending;        /* leases of this process count, too */
    uint32_t dropped;
    char *work; /* owned; room to take a target apart */
    size_t work_len;
    struct gw_error *err; /* about the first one */
    struct arena *arena;  /* of the list; NULL: only the log is told */
    struct standing_drops *drops;
};

/* What a row is to somebody who loses it. */
enum loss_state { STATE_UNKNOWN, STATE_DEFERRED, STATE_PENDING, STATE_COMPLETED };
static const char *const state_words[] = {[STATE_UNKNOWN] = "unknown",
                                          [STATE_DEFERRED] = "deferred",
                                          [STATE_PENDING] = "pending",
                                          [STATE_COMPLETED] = "completed"};
static const char *const state_ends[] = {[STATE_UNKNOWN] = "settle what is open",
                                         [STATE_DEFERRED] = "cancel what is open",
                                         [STATE_PENDING] = "wait for its end",
                                         [STATE_COMPLETED] = "wait until their retention is over"};

/* What was found out about one route. */
struct losses {
    uint64_t count;
    enum loss first;
    bool is_part; /* not every row was looked at */
    enum loss_state state;
};

static bool is_guarded(const struct conf *conf, struct span name)
{
    const struct route_policy *route = route_by_name(&conf->routes, name);
    return route != NULL && route->mode == ROUTE_ENFORCE;
}

static bool is_local(const struct conf *conf, struct span name)
{
    const struct route_policy *route = route_by_name(&conf->routes, name);
    return route != NULL && route->local != NULL;
}

/* "ISSUER SUBJECT": whichever subject it is. */
static bool is_of_issuer(const struct conf_jwt *jwt, struct span owner)
{
    size_t len = jwt->issuer.len;
    return owner.len > len + 1 && owner.ptr[len] == ' ' &&
           span_equal(span_of(owner.ptr, len), jwt->issuer);
}

/* Can the entry still say that a caller is this owner? */
static bool has_owner(const struct conf_owner *entry, struct span owner)
{
    bool found = entry->kind == OWNER_HEADER || /* whoever the front names */
                 (entry->kind == OWNER_JWT && is_of_issuer(entry->jwt, owner)) ||
                 (entry->kind == OWNER_STATIC && span_equal(entry->owner, owner));
    for (uint32_t i = 0; i < entry->key_count; i++)
        found |= span_equal(entry->keys[i].owner, owner);
    for (uint32_t i = 0; i < entry->user_count; i++)
        found |= span_equal(entry->users[i].owner, owner);
    for (uint32_t i = 0; i < entry->network_count; i++)
        found |= span_equal(entry->networks[i].owner, owner);
    return found;
}

static bool make_work(struct judgement *judgement, size_t len)
{
    if (len <= judgement->work_len)
        return true;
    char *more = realloc(judgement->work, len);
    if (more == NULL)
        return false;
    judgement->work = more;
    judgement->work_len = len;
    return true;
}

/* Is its key its fingerprint, made as this route makes it? */
static bool has_key_of(const struct store_row *row, const struct route_policy *route)
{
    char digits[2 * sizeof(row->print.bytes) + 1];
    gw_hex(row->print.bytes, sizeof(row->print.bytes), digits);
    bool is_by_content = route->key.from == KEY_FROM_CONTENT;
    if (span_equal(row->key, span_str(digits)) != is_by_content)
        return false;
    return !is_by_content || span_equal(row->print_mode, route->fingerprint.mode_text);
}

static enum gw_status find_loss_under(struct judgement *judgement, const struct conf *conf,
                                      const struct store_row *row, enum loss *ret_loss);

/* Would a repeat find this row? What was lost before is not lost now. */
static enum gw_status find_loss(struct judgement *judgement, const struct store_row *row,
                                enum loss *ret_loss)
{
    enum loss before = LOSS_NONE;
    enum gw_status status = find_loss_under(judgement, judgement->conf, row, ret_loss);
    if (status != GW_OK || *ret_loss == LOSS_NONE || judgement->running == NULL)
        return status;
    status = find_loss_under(judgement, judgement->running, row, &before);
    if (before != LOSS_NONE)
        *ret_loss = LOSS_NONE;
    return status;
}

/* It is looked for as a request is: by its target. */
static enum gw_status find_loss_under(struct judgement *judgement, const struct conf *conf,
                                      const struct store_row *row, enum loss *ret_loss)
{
    struct route_match match;
    const struct route_policy *route = route_by_name(&conf->routes, row->route);
    *ret_loss = LOSS_ROUTE;
    if (!is_guarded(conf, row->route))
        return GW_OK;
    *ret_loss = LOSS_NONE;
    if (route->is_compensation) /* nobody repeats it: it is found by the operation it undoes */
        return GW_OK;
    if (!make_work(judgement, 2 * row->target.len + 2))
        return gw_error_set(judgement->err, GW_NOMEM, "out of memory");
    *ret_loss = LOSS_TARGET;
    if (route_find(&conf->routes, row->method, row->target, judgement->work, judgement->work_len,
                   &match) != ROUTE_FOUND ||
        match.route->mode != ROUTE_ENFORCE)
        return GW_OK;
    if (!span_equal(row->scope, route_scope(match.route))) {
        *ret_loss = span_equal(match.route->name, row->route) ? LOSS_SCOPE : LOSS_TARGET;
        return GW_OK;
    }
    if (!has_key_of(row, match.route)) {
        *ret_loss = LOSS_CONTENT;
        return GW_OK;
    }
    bool is_known = has_owner(&conf->owners[match.route->owner_index], row->owner);
    *ret_loss = is_known ? LOSS_NONE : LOSS_OWNER;
    return GW_OK;
}

static void list_drop(struct judgement *judgement, struct span route, const struct losses *losses)
{
    struct standing_drops *drops = judgement->drops;
    if (drops == NULL || drops->count == STANDING_DROPS_MAX)
        return;
    struct standing_drop *drop = &drops->items[drops->count];
    if (!arena_copy(judgement->arena, route, &drop->route))
        return; /* the log has it, and the refusal itself does not hang on the list */
    drop->count = losses->count;
    drop->at_least = losses->is_part;
    drop->state = state_words[losses->state];
    drop->why = loss_words[losses->first];
    drops->count++;
}

static void drop(struct judgement *judgement, struct span route, const struct losses *losses)
{
    const char *why = loss_words[losses->first];
    const char *state = state_words[losses->state];
    const struct gw_log_pair pairs[] = {{"route", route, 0},
                                        {state, {NULL, 0}, (int64_t)losses->count},
                                        {"why", span_str(why), 0},
                                        GW_LOG_END};
    gw_log(judgement->accepted ? GW_LOG_WARN : GW_LOG_ERROR, "route.dropped", pairs);
    list_drop(judgement, route, losses);
    if (!judgement->accepted && judgement->dropped == 0)
        (void)gw_error_set(
            judgement->err, GW_INVALID,
            "%s%llu %s operation%s of route '%.*s' would lose protection (%s): a repeat would be "
            "taken for new. Keep the route's name, mode, scope, path and owners, %s, "
            "or use --accept-dropped-routes",
            losses->is_part ? "at least " : "", (unsigned long long)losses->count, state,
            losses->count == 1 && !losses->is_part ? "" : "s", (int)route.len, route.ptr, why,
            state_ends[losses->state]); /* told by the caller */
    judgement->dropped++;
}

/* Asks for a page, and for fewer and fewer rows while they do not fit into its memory. */
static enum gw_status ask_for_page(struct judgement *judgement, struct store_op *op,
                                   struct arena **ret_arena)
{
    const struct store_op asked = *op;
    enum gw_status status = GW_NOMEM;
    for (uint32_t rows = STORE_PAGE_ROWS_MAX; rows > 0 && status == GW_NOMEM; rows /= 2) {
        arena_free(*ret_arena);
        *ret_arena = arena_new(STANDING_BYTES_MAX);
        if (*ret_arena == NULL)
            return gw_error_set(judgement->err, GW_NOMEM, "out of memory");
        *op = asked;
        op->arena = *ret_arena;
        if (op->kind == STORE_LIST)
            op->in.list.rows_max = rows;
        else
            op->in.scan.rows_max = rows;
        status = ask(judgement->store, op, judgement->err);
    }
    return status;
}

/* One page of what is in doubt on a route. */
static enum gw_status look_at_page(struct judgement *judgement, const struct store_op *list,
                                   int64_t *cursor, struct losses *losses)
{
    struct arena *arena = NULL;
    struct store_op op = *list;
    op.in.list.cursor = *cursor;
    enum gw_status status = ask_for_page(judgement, &op, &arena);
    for (uint32_t i = 0; status == GW_OK && i < op.out.row_count; i++) {
        enum loss loss = LOSS_NONE;
        status = find_loss(judgement, &op.out.rows[i], &loss);
        losses->first = losses->count == 0 ? loss : losses->first;
        losses->count += loss != LOSS_NONE;
    }
    *cursor = op.out.next_cursor;
    arena_free(arena);
    return status;
}

/* The route is there; its rows may have had another scope, path or owner. */
static enum gw_status judge_rows(struct judgement *judgement, struct span route, uint32_t states,
                                 enum loss_state state)
{
    struct store_op list = {.kind = STORE_LIST};
    list.in.list.filter.states = states;
    list.in.list.filter.route = route;
    /* What is in doubt is found at once; the rest is looked for, and not without an end. */
    list.in.list.is_short = state == STATE_COMPLETED;
    struct losses losses = {.state = state};
    enum gw_status status = GW_OK;
    int64_t cursor = 0;
    for (uint32_t i = 0; i < STANDING_PAGES_MAX && status == GW_OK; i++) {
        status = look_at_page(judgement, &list, &cursor, &losses);
        if (cursor == 0)
            break;
    }
    losses.is_part = cursor != 0;
    if (status == GW_OK && losses.is_part) {
        list.in.list.oldest_first = true;
        cursor = 0;
        status = look_at_page(judgement, &list, &cursor, &losses);
    }
    if (status == GW_OK && losses.count > 0)
        drop(judgement, route, &losses);
    return status;
}

static enum gw_status judge_unknowns(struct judgement *judgement)
{
    struct arena *arena = arena_new(STANDING_BYTES_MAX);
    if (arena == NULL)
        return gw_error_set(judgement->err, GW_NOMEM, "out of memory");
    struct store_op op = {.kind = STORE_TALLY, .arena = arena};
    enum gw_status status = ask(judgement->store, &op, judgement->err);
    for (uint32_t i = 0; status == GW_OK && i < op.out.tally_count; i++) {
        const struct tally_entry *entry = &op.out.tally[i];
        if (is_guarded(judgement->conf, entry->route))
            status = judge_rows(judgement, entry->route, 1u << RECEIPT_UNKNOWN, STATE_UNKNOWN);
        else if (judgement->running == NULL || is_guarded(judgement->running, entry->route))
            drop(judgement, entry->route,
                 &(struct losses){.count = entry->unknown, .first = LOSS_ROUTE});
    }
    arena_free(arena);
    return status;
}

/* The first row of the scan's first page that a repeat would not find is enough to refuse. */
static enum gw_status judge_page(struct judgement *judgement, enum store_scan_kind kind,
                                 int64_t now_ms)
{
    struct arena *arena = NULL;
    struct store_op op = {.kind = STORE_SCAN};
    op.in.scan.kind = kind;
    op.in.scan.now_ms = now_ms;
    enum gw_status status = ask_for_page(judgement, &op, &arena);
    for (uint32_t i = 0; status == GW_OK && i < op.out.row_count; i++) {
        const struct store_row *row = &op.out.rows[i];
        bool is_promised = row->receipt.state == RECEIPT_DEFERRED;
        enum loss_state state = is_promised ? STATE_DEFERRED : STATE_UNKNOWN;
        if (judgement->counts_pending && !is_promised)
            state = STATE_PENDING;
        enum loss loss = LOSS_NONE;
        status = find_loss(judgement, row, &loss);
        if (loss == LOSS_NONE && is_promised && is_local(judgement->conf, row->route))
            loss = LOSS_LOCAL;
        if (loss == LOSS_NONE)
            continue;
        drop(judgement, row->route,
             &(struct losses){.count = 1, .first = loss, .is_part = true, .state = state});
        break;
    }
    arena_free(arena);
    return status;
}

/* What recovery has left for later is in doubt as well; it is counted when it is unknown.
 * What was accepted for later would never run, and its repeat would at once. */
static enum gw_status judge_others(struct judgement *judgement)
{
    struct gw_clock *clock = gw_clock_system();
    int64_t until_ms = judgement->counts_pending ? INT64_MAX : clock->wall_ms(clock);
    enum gw_status status = judge_page(judgement, SCAN_LAPSED, until_ms);
    return status == GW_OK ? judge_page(judgement, SCAN_DUE, INT64_MAX) : status;
}

enum gw_status standing_routes(struct store *store, const struct conf *conf, bool accepted,
                               struct gw_error *err)
{
    struct judgement judgement = {.store = store, .conf = conf, .accepted = accepted, .err = err};
    enum gw_status status = judge_unknowns(&judgement);
    if (status == GW_OK)
        status = judge_others(&judgement);
    free(judgement.work);
    if (status != GW_OK)
        return status;
    return accepted || judgement.dropped == 0 ? GW_OK : GW_INVALID;
}

/* The answers that are kept, the cancelled and the given up: a repeat gets none of them if
 * it is led elsewhere. */
static enum gw_status judge_kept(struct judgement *judgement, const struct conf *before)
{
    const uint32_t states =
        1u << RECEIPT_COMPLETED | 1u << RECEIPT_CANCELLED | 1u << RECEIPT_ABANDONED;
    enum gw_status status = GW_OK;
    for (uint32_t i = 0; status == GW_OK && i < before->routes.count; i++)
        if (before->routes.routes[i].mode == ROUTE_ENFORCE)
            status = judge_rows(judgement, before->routes.routes[i].name, states, STATE_COMPLETED);
    return status;
}

enum gw_status standing_reload(struct store *store, const struct standing_question *question,
                               struct standing_drops *ret_drops, struct gw_error *err)
{
    struct judgement judgement = {.store = store,
                                  .conf = question->conf,
                                  .running = question->running,
                                  .accepted = question->accepted,
                                  .counts_pending = true,
                                  .arena = question->arena,
                                  .drops = ret_drops,
                                  .err = err};
    enum gw_status status = judge_unknowns(&judgement);
    if (status == GW_OK)
        status = judge_others(&judgement);
    if (status == GW_OK && question->judges_kept)
        status = judge_kept(&judgement, question->running);
    free(judgement.work);
    if (status != GW_OK)
        return status;
    return question->accepted || judgement.dropped == 0 ? GW_OK : GW_INVALID;
}
