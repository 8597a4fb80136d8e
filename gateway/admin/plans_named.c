/* The operations that a plan's body names: looked up by their ids, several at once. It
 * must never make a plan that leaves one of them out unsaid. */
#include "gateway/admin/body.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/plans.h"
#include "gateway/admin/query.h"

#include "base/text.h"

#define LOOKS_AT_ONCE  16
#define LOOK_BYTES_MAX ((size_t)2 << 20)

struct wanted {
    struct span id;
    uint32_t version;
};

struct look {
    GW_TAG(look);
#define LOOK_TAG 0x4c4f4f4bu
    struct call *call;
    struct store_op op;
    struct arena *arena; /* NULL: free */
    uint32_t at;
};

struct named {
    struct wanted *wanted;
    uint32_t count, next, in_flight;
    bool has_failed;     /* the store did */
    struct span missing; /* an id that is not there; empty: none */
    bool is_refused;     /* the call was answered */
    struct look looks[LOOKS_AT_ONCE];
};

static struct named *named_of(const struct call *call)
{
    const struct plan_draft *draft = call->state;
    return draft->named;
}

static bool refuse(struct call *call, const char *text)
{
    call_problem(call, ADMIN_BODY_INVALID, "operations: %s.", text);
    return false;
}

/* ---- looking ---- */

static void go_on(struct call *call);

static void take_row(struct call *call, const struct look *look, const struct store_op *op)
{
    struct named *named = named_of(call);
    const struct wanted *wanted = &named->wanted[look->at];
    if (op->out.status != GW_OK)
        named->has_failed = true;
    else if (op->out.found != STORE_HELD || op->out.row_count != 1)
        named->missing = wanted->id;
    else if (!named->is_refused)
        named->is_refused = !draft_add(call, call->state, &op->out.rows[0], wanted->version);
}

static void look_came(struct store_op *op, void *ctx)
{
    struct look *look;
    GW_CAST(look, ctx, look, LOOK_TAG);
    struct call *call = look->call;
    struct named *named = named_of(call);
    gw_assert(call->admin->calls_in_store > 0);
    gw_assert(named->in_flight > 0);
    call->admin->calls_in_store--;
    named->in_flight--;
    take_row(call, look, op);
    arena_free(look->arena);
    look->arena = NULL;
    go_on(call);
    if (named->in_flight == 0)
        call_settle_up(call);
}

static bool start(struct call *call, struct look *look)
{
    struct named *named = named_of(call);
    look->arena = arena_new(LOOK_BYTES_MAX);
    if (look->arena == NULL)
        return false;
    look->tag_look = LOOK_TAG;
    look->call = call;
    look->at = named->next;
    look->op = (struct store_op){.kind = STORE_FIND,
                                 .arena = look->arena,
                                 .inbox = call->admin->inbox,
                                 .done = look_came,
                                 .ctx = look};
    look->op.in.find.operation_id = named->wanted[look->at].id;
    if (store_submit(call->options->store, &look->op) != GW_OK) {
        arena_free(look->arena);
        look->arena = NULL;
        return false;
    }
    call->admin->calls_in_store++;
    named->next++;
    named->in_flight++;
    return true;
}

static void finish(struct call *call)
{
    struct named *named = named_of(call);
    if (named->is_refused)
        return;
    if (named->has_failed)
        call_problem(call, ADMIN_STORE_UNAVAILABLE,
                     "The store could not be read, or its queue is full. Nothing was made; ask "
                     "again.");
    else if (named->missing.len > 0)
        call_problem(call, ADMIN_NOT_FOUND, "There is no operation %.*s. Nothing was made.",
                     (int)named->missing.len, named->missing.ptr);
    else
        draft_finish(call, call->state);
}

/* A refusal may answer the call while others are still being looked for: its memory
 * stays until they are back. */
static void go_on(struct call *call)
{
    struct named *named = named_of(call);
    bool goes_on = !named->has_failed && named->missing.len == 0 && !named->is_refused;
    for (uint32_t i = 0; i < LOOKS_AT_ONCE && goes_on && named->next < named->count; i++)
        if (named->looks[i].arena == NULL && !start(call, &named->looks[i])) {
            named->has_failed = named->in_flight == 0;
            goes_on = false;
        }
    if (named->in_flight == 0)
        finish(call);
}

/* ---- the body ---- */

static bool read_one(struct call *call, const struct json_doc *doc, uint32_t node,
                     struct wanted *ret)
{
    uint64_t version;
    if (doc->nodes[node].kind != JSON_KIND_OBJECT)
        return refuse(call, "each one is {\"id\": ..., \"version\": ...}");
    if (!body_knows_members(call, doc, node, "id version"))
        return false;
    uint32_t id = body_member(doc, node, "id"), number = body_member(doc, node, "version");
    if (id == JSON_NONE || !body_text(call, doc, id, &ret->id) || !operation_id_is_sound(ret->id))
        return refuse(call, "an id is \"op_\" and 26 characters");
    if (number == JSON_NONE || doc->nodes[number].kind != JSON_KIND_NUMBER ||
        !gw_parse_u64(body_raw(doc, number), &version) || version > UINT32_MAX)
        return refuse(call, "version must be the version of the operation that you looked at");
    ret->version = (uint32_t)version;
    return true;
}

static bool read_all(struct call *call, struct named *named, const struct json_doc *doc,
                     uint32_t node)
{
    uint32_t count = 0;
    if (doc->nodes[node].kind != JSON_KIND_ARRAY)
        return refuse(call, "it must be a list");
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE; at = doc->nodes[at].next)
        count++;
    if (count > PLANS_NAMED_MAX) {
        call_problem(call, ADMIN_PLAN_TOO_LARGE,
                     "More than %d operations are named. Nothing was made. Make several plans.",
                     PLANS_NAMED_MAX);
        return false;
    }
    named->wanted = arena_take(call->arena, (count + 1) * sizeof(*named->wanted));
    if (named->wanted == NULL)
        return refuse(call, "out of memory");
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE; at = doc->nodes[at].next)
        if (!read_one(call, doc, at, &named->wanted[named->count++]))
            return false;
    return true;
}

void draft_take_named(struct call *call, struct plan_draft *draft, const struct json_doc *doc,
                      uint32_t node)
{
    struct named *named = arena_take(call->arena, sizeof(*named));
    if (named == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory. Nothing was made.");
        return;
    }
    draft->named = named;
    if (read_all(call, named, doc, node))
        go_on(call);
}
