/* Owners who take back what was carried out, once or several times at once, and the
 * checkers of that: a compensation is a key of its own with every rule of a key, and there
 * is one of an operation, which was on record as carried out. */
#include "tests/sim/bugs.h"

#include "gateway/compensation.h"

#define ASKERS_MAX 3

/* ---- who asks ---- */

static uint32_t named(const struct world *world)
{
    uint32_t count = 0;
    for (uint32_t i = SIM_CALLED; i < SIM_IDENTITIES; i++)
        count += world->identities[i].owner.len > 0;
    return count;
}

void undo_may_follow(const struct client *client, struct span operation_id)
{
    struct world *world = client->world;
    if (!world->plan.compensates || operation_id.len != OPERATION_ID_BYTES ||
        named(world) + SIM_CALLERS_MAX >= SIM_UNDONE_MAX || !draw_chance(world, 900))
        return;
    uint64_t askers = 1 + draw_below(world, ASKERS_MAX);
    for (uint64_t i = 0; i < askers; i++)
        caller_asks_to_undo(client, operation_id, draw_delay(world, 4000));
}

/* ---- what is on record ---- */

static struct identity *find(struct world *world, const struct store_row *row)
{
    for (uint32_t i = SIM_CALLED; i < SIM_IDENTITIES; i++) {
        struct identity *identity = &world->identities[i];
        if (identity->owner.len > 0 && span_equal(identity->key, row->key) &&
            span_equal(identity->scope, row->scope))
            return identity;
    }
    return NULL;
}

/* Was the operation of this id ever on record as carried out? */
static bool was_completed(const struct world *world, struct span operation_id)
{
    for (uint32_t i = 0; i < SIM_CALLED; i++) {
        const struct identity *identity = &world->identities[i];
        for (uint32_t v = 0; v < identity->version_count; v++)
            if (identity->versions[v].receipt.state == RECEIPT_COMPLETED &&
                span_equal(span_str(identity->versions[v].operation_id), operation_id))
                return true;
    }
    return false;
}

/* Another row that takes the same operation back. */
static bool is_undone_elsewhere(struct world *world, const struct store_row *row)
{
    const struct store_row *other;
    for (size_t i = 0; i < SIM_IDENTITIES && (other = disk_row(world, i)) != NULL; i++)
        if (other->id != row->id && span_equal(other->key, row->key) &&
            compensation_of(other).len > 0)
            return true;
    return false;
}

static void name(struct world *world, const struct store_row *row)
{
    struct identity *made = &world->identities[SIM_CALLED + named(world)];
    const struct route_policy *route = route_by_name(&world->conf->routes, row->route);
    gw_assert(made < world->identities + SIM_IDENTITIES);
    gw_assert(row->key.len < sizeof(made->undo_key));
    if (!was_completed(world, compensation_of(row)))
        world_fail(world, "%.*s, and it was never carried out", (int)row->key.len, row->key.ptr);
    if (route == NULL || !route->is_compensation) {
        world_fail(world, "%.*s has no route of its own", (int)row->key.len, row->key.ptr);
        return;
    }
    memcpy(made->undo_key, row->key.ptr, row->key.len);
    made->undoes = true;
    made->key = span_of(made->undo_key, row->key.len);
    made->scope = route->name; /* lives as long as the configuration */
    made->owner = span_equal(row->owner, SPAN("bolt")) ? SPAN("bolt") : SPAN("acme");
    world->counts[COUNT_UNDONE]++;
}

static void look_at(struct world *world, const struct store_row *row)
{
    if (compensation_of(row).len == 0)
        return;
    if (is_undone_elsewhere(world, row))
        world_fail(world, "%.*s is taken back twice", (int)row->key.len, row->key.ptr);
    if (find(world, row) == NULL)
        name(world, row);
}

void undo_look(struct world *world)
{
    const struct store_row *row;
    for (size_t i = 0;
         i < SIM_IDENTITIES && !world->has_failed && (row = disk_row(world, i)) != NULL; i++)
        look_at(world, row);
}

/* ---- what askers are told ---- */

static bool was_in(const struct world *world, struct span operation_id, uint32_t states)
{
    for (uint32_t i = SIM_CALLED; i < SIM_IDENTITIES; i++) {
        const struct identity *identity = &world->identities[i];
        bool is_it = identity->owner.len > 0 && identity->key.len > operation_id.len &&
                     span_equal(span_of(identity->key.ptr, operation_id.len), operation_id);
        for (uint32_t v = 0; is_it && v < identity->version_count; v++)
            if ((states >> identity->versions[v].receipt.state & 1) != 0)
                return true;
    }
    return false;
}

void undo_told(const struct client *client, uint16_t status)
{
    struct world *world = client->world;
    struct span operation_id = span_str(client->cancels);
    const uint32_t accepted = 1u << RECEIPT_DEFERRED;
    if (status == 202 && !was_in(world, operation_id, accepted))
        world_fail(world, "an owner is told 202, and nothing is on record that takes it back");
    if (status == 200 && !was_in(world, operation_id, 1u << RECEIPT_COMPLETED))
        world_fail(world, "an owner is told that it was taken back, and it was not");
    if (status != 200 && status != 202 && status != 409 && status != 404 && status != 503 &&
        status != 500)
        world_fail(world, "an owner who takes back is told %u", status);
}

/* ---- the planted bug: every asker may get a compensation of his own ---- */

void __real_store_identity(struct span owner, struct span scope, struct span key,
                           struct store_identity *ret);
void __wrap_store_identity(struct span owner, struct span scope, struct span key,
                           struct store_identity *ret);
void __wrap_store_identity(struct span owner, struct span scope, struct span key,
                           struct store_identity *ret)
{
    struct world *world = world_now();
    const struct store_row row = {.scope = scope, .key = key};
    __real_store_identity(owner, scope, key, ret);
    if (bug_is_planted(world, BUG_UNDONE_TWICE) && compensation_of(&row).len > 0)
        ret->bytes[0] ^= (uint8_t)draw_below(world, 4);
}
