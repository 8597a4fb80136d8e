/* What was committed, as the checkers remember it: after each commit the rows are read,
 * and every one that has changed is a new version of its key. It must never change what
 * the story does. */
#include "tests/sim/check.h"

#include <stdlib.h>

#define ATTEMPTS_MAX 100000

static const struct version no_version = {.receipt = {.state = RECEIPT_ABSENT}};

const struct version *check_last(const struct identity *identity)
{
    return identity->version_count == 0 ? &no_version
                                        : &identity->versions[identity->version_count - 1];
}

/* By the configuration of plan.c; the network draws from these. */
static bool says_it_ran(uint16_t status)
{
    return status == 200 || status == 201 || status == 204 || status == 404 || status == 409;
}

static void read_evidence(struct world *world, const struct identity *identity,
                          const struct store_row *row)
{
    struct attempt_record *records = NULL;
    uint32_t count = 0;
    struct arena *arena = arena_new((size_t)1 << 20);
    gw_assert(arena != NULL);
    enum gw_status status = attempts_decode(arena, row->attempts, &records, &count);
    gw_assert(status == GW_OK);
    for (uint32_t i = 0; i < count; i++) {
        struct attempt *attempt = check_attempt(world, records[i].token);
        if (attempt != NULL && attempt->life == identity->life && attempt->ran &&
            records[i].end == END_answered && says_it_ran(records[i].status))
            attempt->is_known = true;
    }
    arena_free(arena);
}

static void read_answer(const struct store_row *row, struct version *version)
{
    struct stored_message message;
    if (row->answer.len == 0)
        return;
    struct arena *arena = arena_new((size_t)1 << 20);
    gw_assert(arena != NULL);
    enum gw_status status = message_decode(arena, row->answer, &message);
    gw_assert(status == GW_OK);
    version->answer_status = message.status;
    bool ok = gw_buf_add(&version->answer, message.body);
    gw_assert(ok);
    arena_free(arena);
}

static void add_version(struct world *world, struct identity *identity, const struct store_row *row)
{
    struct version next = {.from_ticks = world->ticks};
    gw_buf_init(&next.answer, 16384);
    if (row != NULL) {
        next.receipt = row->receipt;
        next.print = row->print;
        next.answer_kept = row->answer_kept;
        next.holder = row->holder;
        next.end = row->end;
        next.probe = row->probe;
        next.probe_count = row->probe_count;
        memcpy(next.operation_id, row->operation_id, sizeof(next.operation_id));
        read_answer(row, &next);
        read_evidence(world, identity, row);
    }
    check_move(world, identity, &next);
    gw_assert(identity->version_count < SIM_HISTORY_MAX);
    if (identity->version_count == identity->version_cap) {
        identity->version_cap = identity->version_cap == 0 ? 16 : 2 * identity->version_cap;
        struct version *more = realloc(identity->versions, identity->version_cap * sizeof(*more));
        gw_assert(more != NULL);
        identity->versions = more;
    }
    identity->versions[identity->version_count++] = next;
}

static const struct store_row *find_row(struct world *world, const struct identity *identity)
{
    const struct store_row *row;
    for (size_t i = 0; i <= SIM_IDENTITIES && (row = disk_row(world, i)) != NULL; i++)
        if (span_equal(row->owner, identity->owner) && span_equal(row->scope, identity->scope) &&
            span_equal(row->key, identity->key))
            return row;
    return NULL;
}

static bool is_as_before(const struct version *last, const struct store_row *row)
{
    if (row == NULL)
        return last->receipt.state == RECEIPT_ABSENT;
    return last->receipt.state == row->receipt.state &&
           last->receipt.version == row->receipt.version &&
           last->receipt.token == row->receipt.token;
}

void check_commit(struct world *world)
{
    undo_look(world);
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        struct identity *identity = &world->identities[i];
        if (identity->owner.len == 0)
            continue;
        const struct store_row *row = find_row(world, identity);
        if (!is_as_before(check_last(identity), row))
            add_version(world, identity, row);
    }
}

void check_free(struct world *world)
{
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        struct identity *identity = &world->identities[i];
        for (uint32_t v = 0; v < identity->version_count; v++)
            gw_buf_fini(&identity->versions[v].answer);
        free(identity->versions);
        for (uint32_t n = 0; n < ATTEMPTS_MAX && identity->attempts != NULL; n++) {
            struct attempt *attempt = identity->attempts;
            identity->attempts = attempt->older;
            gw_buf_fini(&attempt->body);
            free(attempt);
        }
    }
}
