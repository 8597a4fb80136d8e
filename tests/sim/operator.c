/* Operators: the product's own handlers of verdicts and pauses, asked with a call that
 * has no connection. An operator looks at the upstream as it is now; an honest one says
 * what he saw. */
#include "gateway/admin/call.h"
#include "tests/sim/bugs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#define BODY_BYTES 512

struct admin {
    struct world *world;
    struct process *process;
};

struct operator_call {
    struct call call; /* first: one is found from the other */
    struct admin admin;
    struct admin_options options;
    char body[BODY_BYTES], parameter[OPERATION_ID_BYTES + 1];
    bool in_store, is_settlement;
    uint32_t version;
    struct verdict verdict;
};

static const struct caller operator_caller = {
    .name = {"ana", 3}, .actor = {"token:ana", 9}, .rights = ADMIN_SETTLE | ADMIN_CONTROL};

/* ---- what the handlers ask for ---- */

static void on_store(struct store_op *op, void *ctx)
{
    struct operator_call *operator_call = ctx;
    gw_assert(op == &operator_call->call.op);
    operator_call->in_store = false;
    operator_call->call.next(&operator_call->call);
}

void call_submit(struct call *call, call_fn *next)
{
    struct operator_call *operator_call = (struct operator_call *)call;
    memset(&call->op.out, 0, sizeof(call->op.out));
    call->op.arena = call->arena;
    call->op.inbox = &call->admin->process->operator_inbox;
    call->op.done = on_store;
    call->op.ctx = call;
    call->next = next;
    operator_call->in_store = store_submit(call->options->store, &call->op) == GW_OK;
    if (!operator_call->in_store)
        call_problem(call, ADMIN_STORE_UNAVAILABLE, "The queue is full.");
}

bool call_store_is_well(struct call *call)
{
    if (call->op.out.status != GW_OK)
        call_problem(call, ADMIN_STORE_UNAVAILABLE, "The store could not do it.");
    return call->op.out.status == GW_OK;
}

void call_begin(struct call *call, uint16_t status)
{
    call->status = status;
    gw_buf_clear(&call->out);
    call->json.has_items = false;
    writer_open(&call->json, NULL, '{');
}

static void begin_problem(struct call *call, enum admin_problem problem)
{
    call_begin(call, (uint16_t)(1000 + (int)problem));
}

void call_begin_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
{
    (void)fmt; /* nobody reads it here */
    begin_problem(call, problem);
}

void call_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
{
    (void)fmt;
    begin_problem(call, problem);
    call_end(call);
}

void call_end(struct call *call)
{
    gw_assert(!call->is_answered);
    writer_close(&call->json, '}');
    call->is_answered = true;
    world_say(call->admin->world, "operator is told %s (%u)", call->status == 200 ? "done" : "no",
              call->status);
}

struct span call_actor(struct call *call)
{
    return call->caller.actor;
}

bool call_takes_operation_id(struct call *call)
{
    return call->parameter.len == OPERATION_ID_BYTES;
}

const struct route_policy *call_route(const struct call *call, struct span name)
{
    return route_by_name(&call->conf->routes, name);
}

/* ---- calls ---- */

static struct operator_call *call_new(struct world *world, struct process *process)
{
    uint32_t slot = 0;
    while (slot < SIM_OPERATORS_MAX && world->operators[slot] != NULL)
        slot++;
    if (slot == SIM_OPERATORS_MAX)
        return NULL;
    struct operator_call *made = calloc(1, sizeof(*made));
    gw_assert(made != NULL);
    made->admin = (struct admin){.world = world, .process = process};
    made->options = (struct admin_options){.conf = world->conf,
                                           .store = &process->store,
                                           .board = process->board,
                                           .clock = &process->place->clock.clock};
    struct call *call = &made->call;
    call->tag_call = CALL_TAG;
    call->admin = &made->admin;
    call->options = &made->options;
    call->conf = world->conf;
    call->caller = operator_caller;
    call->arena = arena_new(CALL_ARENA_BYTES_MAX);
    gw_assert(call->arena != NULL);
    call->now_ms = process_wall(process);
    gw_buf_init(&call->out, CALL_OUT_BYTES_MAX);
    call->json.out = &call->out;
    world->operators[slot] = made;
    return made;
}

static void call_free(struct operator_call *operator_call)
{
    arena_free(operator_call->call.arena);
    gw_buf_fini(&operator_call->call.out);
    free(operator_call);
}

void operator_bury(struct world *world)
{
    for (uint32_t i = 0; i < SIM_OPERATORS_MAX; i++) {
        struct operator_call *operator_call = world->operators[i];
        if (operator_call == NULL || !operator_call->call.is_answered || operator_call->in_store)
            continue;
        world->operators[i] = NULL;
        call_free(operator_call);
    }
}

bool operator_is_busy(const struct world *world, const struct process *process)
{
    for (uint32_t i = 0; i < SIM_OPERATORS_MAX; i++)
        if (world->operators[i] != NULL && world->operators[i]->admin.process == process)
            return true;
    return false;
}

void operator_gives_up(struct store_op *op)
{
    struct operator_call *operator_call = op->ctx;
    operator_call->in_store = false;
}

void operator_crash(struct world *world, struct process *process)
{
    for (uint32_t i = 0; i < SIM_OPERATORS_MAX; i++) {
        struct operator_call *operator_call = world->operators[i];
        if (operator_call == NULL || operator_call->admin.process != process)
            continue;
        world->operators[i] = NULL;
        call_free(operator_call);
    }
}

bool operator_verdict(struct world *world, const char *operation_id, uint32_t version,
                      struct verdict *ret)
{
    bool found = false;
    for (uint32_t i = 0; i < SIM_OPERATORS_MAX; i++) {
        const struct operator_call *operator_call = world->operators[i];
        if (operator_call == NULL || !operator_call->is_settlement ||
            operator_call->version != version ||
            memcmp(operator_call->parameter, operation_id, OPERATION_ID_BYTES) != 0)
            continue;
        /* Of two who say the same, the less careful one is believed to have been first. */
        ret->is_honest = (!found || ret->is_honest) && operator_call->verdict.is_honest;
        found = true;
    }
    return found;
}

/* ---- what they do ---- */

static struct identity *identity_of(struct world *world, const struct store_row *row)
{
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        struct identity *identity = &world->identities[i];
        if (identity->owner.len > 0 && span_equal(identity->owner, row->owner) &&
            span_equal(identity->scope, row->scope) && span_equal(identity->key, row->key))
            return identity;
    }
    return NULL;
}

/* What a look at the upstream shows: the newest run of this operation. */
static const struct attempt *look(const struct identity *identity)
{
    const struct attempt *attempt = identity->attempts;
    while (attempt != NULL && !(attempt->life == identity->life && attempt->ran))
        attempt = attempt->older;
    return attempt;
}

static void write_settlement(struct operator_call *made, const char *word, bool force,
                             const struct attempt *seen)
{
    struct gw_buf out;
    gw_buf_init(&out, BODY_BYTES - 1);
    (void)gw_buf_print(&out, "{\"verdict\":\"%s\",\"version\":%" PRIu32 ",\"note\":\"looked\"",
                       word, made->version);
    if (force)
        (void)gw_buf_print(&out, ",\"force\":true");
    if (strcmp(word, "executed") == 0 && draw_chance(made->admin.world, 600))
        (void)gw_buf_print(&out,
                           ",\"response\":{\"status\":201,\"headers\":{},\"body\":{\"seen\":%d}}",
                           seen != NULL);
    (void)gw_buf_print(&out, "}");
    gw_assert(!out.failed);
    memcpy(made->body, out.ptr, out.len);
    made->call.body = span_of(made->body, out.len);
    gw_buf_fini(&out);
}

static void settle(struct operator_call *made, const struct store_row *row)
{
    static const char *const any[] = {"executed", "not_executed", "abandoned", "reopen"};
    struct world *world = made->admin.world;
    const struct identity *identity = identity_of(world, row);
    gw_assert(identity != NULL);
    const struct attempt *seen = look(identity);
    const char *word = seen != NULL ? "executed" : "not_executed";
    bool errs = world->plan.wrong_verdicts && draw_chance(world, world->plan.is_hasty ? 800 : 400);
    bool force = errs && draw_chance(world, 600);
    if (row->receipt.state != RECEIPT_UNKNOWN)
        word = draw_chance(world, 500) && !(row->receipt.state == RECEIPT_ABANDONED) ? "reopen"
                                                                                     : "executed";
    else if (draw_chance(world, 100))
        word = "abandoned";
    if (errs)
        word = any[draw_chance(world, world->plan.is_hasty ? 850 : 500)
                       ? 1
                       : draw_below(world, GW_COUNT(any))];
    made->is_settlement = true;
    made->version = row->receipt.version;
    made->verdict.is_honest = seen == NULL && !force;
    if (bug_is_planted(world, BUG_EARLY_PROOF)) /* probes alone are looked at */
        made->verdict.is_honest = false;
    if (bug_is_planted(world, BUG_EARLY_VERDICT))
        force = true;
    memcpy(made->parameter, row->operation_id, sizeof(made->parameter));
    made->call.parameter = span_of(made->parameter, OPERATION_ID_BYTES);
    write_settlement(made, word, force, seen);
    world_say(world, "operator says %s of key %.*s, version %u%s%s", word, (int)row->key.len,
              row->key.ptr, row->receipt.version, force ? ", with force" : "",
              seen != NULL ? " (it ran)" : "");
    world->counts[COUNT_VERDICTS]++;
    call_settle(&made->call);
}

static void pause_route(struct operator_call *made, bool clear)
{
    static const char body[] = "{\"note\":\"storm\"}";
    struct world *world = made->admin.world;
    made->call.parameter = world->conf->routes.routes[draw_below(world, 3)].name;
    made->call.body = span_of(body, sizeof(body) - 1);
    world_say(world, "operator %s %.*s", clear ? "resumes" : "pauses",
              (int)made->call.parameter.len, made->call.parameter.ptr);
    if (clear)
        call_resume_route(&made->call);
    else
        call_pause_route(&made->call);
}

static void ask_upstream(struct operator_call *made, const struct store_row *row)
{
    static const char body[] = "{\"note\":\"look\"}";
    memcpy(made->parameter, row->operation_id, sizeof(made->parameter));
    made->call.parameter = span_of(made->parameter, OPERATION_ID_BYTES);
    made->call.body = span_of(body, sizeof(body) - 1);
    world_say(made->admin.world, "operator asks for key %.*s", (int)row->key.len, row->key.ptr);
    call_probe(&made->call);
}

/* By an operator; an owner's wish goes the same way. */
static void stop_or_hurry(struct operator_call *made, const struct store_row *row)
{
    static const char body[] = "{\"note\":\"changed my mind\"}";
    bool hurries = row->receipt.state == RECEIPT_DEFERRED && draw_chance(made->admin.world, 500);
    memcpy(made->parameter, row->operation_id, sizeof(made->parameter));
    made->call.parameter = span_of(made->parameter, OPERATION_ID_BYTES);
    made->call.body = span_of(body, sizeof(body) - 1);
    world_say(made->admin.world, "operator %s key %.*s", hurries ? "lets run" : "cancels",
              (int)row->key.len, row->key.ptr);
    if (hurries)
        call_run_now(&made->call);
    else
        call_cancel(&made->call);
}

/* One of the rows, where there is something to stop. */
static bool stops_one(struct world *world, struct process *process)
{
    const struct store_row *row;
    for (size_t i = 0; i < SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++) {
        bool is_open = receipt_is_leased(row->receipt.state) ||
                       row->receipt.state == RECEIPT_DEFERRED ||
                       row->receipt.state == RECEIPT_RELEASED;
        if (!draw_chance(world, is_open ? 400 : 20))
            continue;
        struct operator_call *made = call_new(world, process);
        if (made != NULL)
            stop_or_hurry(made, row);
        return true;
    }
    return false;
}

void operator_acts(struct world *world)
{
    struct process *process = world_any_process(world);
    if (process == NULL || process->phase != PROCESS_SERVES)
        return;
    if (draw_chance(world, 150)) {
        struct operator_call *made = call_new(world, process);
        if (made != NULL)
            pause_route(made, draw_chance(world, 700));
        return;
    }
    bool may_stop = world->plan.retries || world->plan.defers != DEFER_NEVER;
    if (may_stop && draw_chance(world, 300) && stops_one(world, process))
        return;
    const struct store_row *row;
    for (size_t i = 0; i < SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++) {
        enum receipt_state state = row->receipt.state;
        bool open = state == RECEIPT_UNKNOWN || state == RECEIPT_ABANDONED;
        bool settled = (row->receipt.marks & RECEIPT_SETTLED) != 0;
        if (!draw_chance(world, open ? 600 : settled ? 200 : 20))
            continue;
        struct operator_call *made = call_new(world, process);
        bool asks = world->plan.probes && draw_chance(world, 400);
        if (made != NULL && asks)
            ask_upstream(made, row);
        else if (made != NULL)
            settle(made, row);
    }
}
