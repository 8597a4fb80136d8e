/* The checkers of what callers are told: every answer must fit a state that the store
 * had committed by then, and no answer takes back what an earlier one said. At the end
 * nothing may be left over. */
#include <stdlib.h>
#include <unistd.h>

#include "gateway/rooms/waiting.h"
#include "gateway/upstream/upstream.h"
#include "tests/sim/sim.h"

#define REPLY_BYTES_MAX 16384
#define QUIET_ROUNDS    20 /* of the store, that an answer may take after the outcome */

struct told {
    struct client *client;
    uint16_t status;
    struct span outcome, run, operation, body;
    bool is_problem, is_replay;
    struct span code;
    bool says_safe; /* safe_new_key is true */
};

static struct span field(const struct http_head *head, const char *name)
{
    const struct http_field *found = http_head_find(head, span_str(name), 0);
    return found == NULL ? SPAN("") : found->value;
}

static bool contains(struct span text, const char *piece)
{
    size_t len = strlen(piece);
    return text.len >= len && memmem(text.ptr, text.len, piece, len) != NULL;
}

/* The value of a member that the problem writes as "code":"...". */
static struct span code_of(struct span body)
{
    static const char mark[] = "\"code\":\"";
    const char *at = body.len == 0 ? NULL : memmem(body.ptr, body.len, mark, sizeof(mark) - 1);
    if (at == NULL)
        return SPAN("");
    at += sizeof(mark) - 1;
    const char *end = memchr(at, '"', body.len - (size_t)(at - body.ptr));
    return end == NULL ? SPAN("") : span_of(at, (size_t)(end - at));
}

static bool is_outcome(const struct told *told, const char *word)
{
    return span_equal(told->outcome, span_str(word));
}

static void fail(const struct told *told, const char *why)
{
    const struct client *client = told->client;
    world_fail(client->world, "caller %llu, key %.*s of %.*s, is told %u %.*s %.*s: %s",
               (unsigned long long)client->id, (int)client->identity->key.len,
               client->identity->key.ptr, (int)client->identity->owner.len,
               client->identity->owner.ptr, told->status, (int)told->outcome.len, told->outcome.ptr,
               (int)told->code.len, told->code.ptr, why);
}

/* ---- does it fit what was committed? ---- */

static bool fits_answer(const struct told *told, const struct version *version)
{
    return version->receipt.state == RECEIPT_COMPLETED && version->answer_kept &&
           version->answer_status == told->status &&
           span_equal(gw_buf_span(&version->answer), told->body);
}

static bool fits_state(const struct told *told, const struct version *version)
{
    enum receipt_state state = version->receipt.state;
    const struct world *world = told->client->world;
    if (told->operation.len > 0 && !span_equal(told->operation, span_str(version->operation_id)))
        return false;
    if (is_outcome(told, "replayed"))
        return told->is_problem ? state == RECEIPT_COMPLETED && !version->answer_kept
                                : fits_answer(told, version);
    if (is_outcome(told, "pending"))
        return receipt_is_leased(state);
    if (is_outcome(told, "deferred"))
        return told->status == 202 && state == RECEIPT_DEFERRED;
    if (is_outcome(told, "released") || is_outcome(told, "exhausted"))
        return state == RECEIPT_RELEASED;
    if (is_outcome(told, "cancelled"))
        return state == RECEIPT_CANCELLED ||
               (state == RECEIPT_RELEASED &&
                (version->receipt.marks & RECEIPT_CANCEL_REQUESTED) != 0);
    if (is_outcome(told, "unknown"))
        return state == RECEIPT_UNKNOWN;
    if (is_outcome(told, "abandoned"))
        return state == RECEIPT_ABANDONED;
    if (is_outcome(told, "expired"))
        return state == RECEIPT_EXPIRED ||
               ((state == RECEIPT_COMPLETED || state == RECEIPT_CANCELLED) &&
                world->wall_high >= version->receipt.expire_ms);
    if (is_outcome(told, "mismatch"))
        return state != RECEIPT_ABSENT;
    return false;
}

/* Was there, since the caller asked, a state that says this? */
static const struct version *find_state(const struct told *told)
{
    const struct identity *identity = told->client->identity;
    for (uint32_t i = identity->version_count; i > 0; i--) {
        const struct version *version = &identity->versions[i - 1];
        if (fits_state(told, version))
            return version;
        if (version->from_ticks < told->client->start_ticks)
            return NULL;
    }
    return NULL;
}

static const struct version *find_attempt(const struct told *told, uint64_t token,
                                          enum receipt_state state)
{
    const struct identity *identity = told->client->identity;
    for (uint32_t i = identity->version_count; i > 0; i--)
        if (identity->versions[i - 1].receipt.token == token &&
            identity->versions[i - 1].receipt.state == state)
            return &identity->versions[i - 1];
    return NULL;
}

/* The first caller: of his own attempt. */
static void check_own(const struct told *told, uint64_t token)
{
    const struct attempt *attempt = check_attempt(told->client->world, token);
    if (is_outcome(told, "executed")) {
        if (find_attempt(told, token, RECEIPT_COMPLETED) == NULL)
            fail(told, "before it is on record");
        else if (attempt == NULL || !attempt->ran || attempt->status != told->status ||
                 !span_equal(gw_buf_span(&attempt->body), told->body))
            fail(told, "and that is not the upstream's answer");
    } else if (is_outcome(told, "released")) {
        /* What was claimed ahead and given back was no attempt of his yet. */
        if (find_attempt(told, token, RECEIPT_RELEASED) == NULL && find_state(told) == NULL)
            fail(told, "before it is on record");
    }
}

static void check_repeat(const struct told *told, uint64_t token)
{
    bool own_lost = is_outcome(told, "unknown") && token != 0; /* the store may have failed */
    if (find_state(told) == NULL && !own_lost)
        fail(told, "and no committed state of that operation says so");
    if (!told->is_problem && !told->is_replay && is_outcome(told, "replayed"))
        fail(told, "without the mark of a replay");
}

/* What callers are told stays: he must not be told what was replaced meanwhile. */
static void remember_replay(const struct told *told)
{
    struct identity *identity = told->client->identity;
    const struct version *found = find_state(told);
    if (found == NULL || told->is_problem)
        return;
    for (uint32_t i = identity->version_count; i > 0; i--) {
        struct version *version = &identity->versions[i - 1];
        if (version == found)
            version->was_replayed = true;
        else if (version > found && version->life == found->life &&
                 version->receipt.state == RECEIPT_COMPLETED && !check_same_answer(version, found))
            fail(told, "and another answer is on record by now");
    }
}

/* Was the key free by the records, or its time over, at some time since he last looked? What makes
 * a row free is checked where it becomes so. */
static bool was_free(const struct client *client)
{
    const struct identity *identity = client->identity;
    for (uint32_t i = identity->version_count; i > 0; i--) {
        const struct version *version = &identity->versions[i - 1];
        if (version->receipt.state == RECEIPT_RELEASED || check_is_over(client->world, version))
            return true;
        if (version->from_ticks < client->applied_ticks)
            return false;
    }
    return true;
}

/* "A new key is safe": no attempt that was there when he looked can have run. */
static void check_safe(const struct told *told, uint64_t token)
{
    const struct client *client = told->client;
    if (!told->says_safe || was_free(client))
        return;
    for (const struct attempt *a = client->identity->attempts; a != NULL; a = a->older) {
        bool was_there = a->token == token || a->claimed_ticks < client->applied_ticks;
        if (a->life == client->identity->life && was_there && !a->excused &&
            (a->ran || a->will_run))
            fail(told, "and that a new key is safe, which it is not");
    }
}

/* After the outcome it takes some rounds of the store until a repeat is told. */
static void check_delay(const struct told *told)
{
    const struct client *client = told->client;
    const struct plan *plan = &client->world->plan;
    int64_t bound_ms = QUIET_ROUNDS * (plan->commit_max_ms + 10);
    if (plan->gateways > 1) /* transactions wait for each other, and nobody wakes him */
        bound_ms = bound_ms * plan->gateways + 2 * WAITING_POLL_MS;
    if (plan->pauses || plan->cuts || plan->slow_commits)
        return;
    if (plan->wait_ms > 0) /* who was woken by a refusal stands back for a while */
        bound_ms += WAITING_PAUSE_MAX_MS;
    bool is_late_answer = is_outcome(told, "replayed") || is_outcome(told, "unknown");
    if (plan->worker_stops || plan->store_sick || !is_late_answer || client->reads_slowly)
        return;
    int64_t since = client->identity->moved_ticks > client->start_ticks
                        ? client->identity->moved_ticks
                        : client->start_ticks;
    /* His own attempt ends at its own pace. */
    if (client->flow->attempt.token == 0 && client->world->ticks - since > bound_ms)
        fail(told, "long after the outcome was on record");
}

/* Head and body of an answer are of one run, also when it is replayed. */
static void check_head(const struct told *told)
{
    static const char mark[] = "{\"run\":";
    const size_t len = sizeof(mark) - 1;
    if (told->body.len <= len || memcmp(told->body.ptr, mark, len) != 0)
        return;
    struct span rest = span_of(told->body.ptr + len, told->body.len - len);
    if (told->run.len == 0 || rest.len <= told->run.len ||
        memcmp(rest.ptr, told->run.ptr, told->run.len) != 0 || rest.ptr[told->run.len] != ',')
        fail(told, "with a head that is not of its body");
}

/* Is what he gets of a run of another gateway? */
static bool is_of_another(const struct told *told)
{
    const struct client *client = told->client;
    const struct attempt *attempt = client->identity->attempts;
    return client->world->plan.gateways > 1 && attempt != NULL &&
           attempt->life == client->identity->life &&
           attempt->holder != client->process->store.holder;
}

static void check_what(const struct told *told)
{
    uint64_t token = told->client->flow->attempt.token;
    struct world *world = told->client->world;
    /* A claim that lost the race, or a lapse found on the way, is no attempt of his. */
    if (token != 0 && check_attempt(world, token) == NULL)
        token = 0;
    bool is_own = is_outcome(told, "executed") || (is_outcome(told, "released") && token != 0);
    if (is_own)
        check_own(told, token);
    else if (told->outcome.len > 0 && !is_outcome(told, "paused"))
        check_repeat(told, token);
    if (is_outcome(told, "unknown") && span_equal(told->code, SPAN("upstream-unreachable")))
        fail(told, "and that nothing was sent");
    if (is_outcome(told, "unknown") && !told->is_problem && token == 0)
        fail(told, "with an answer that is not his");
    if (is_outcome(told, "replayed"))
        remember_replay(told);
    check_head(told);
    check_safe(told, token);
    check_delay(told);
    world->counts[COUNT_REPLAYS] += is_outcome(told, "replayed");
    world->counts[COUNT_ELSEWHERE] += is_outcome(told, "replayed") && is_of_another(told);
}

/* Stopped is said of what is on record as such, and of nothing else. */
static void check_cancel(struct told *told)
{
    told->operation = span_str(told->client->cancels);
    if (!contains(told->body, "\"cancel\":\"stopped\""))
        return;
    told->outcome = SPAN("cancelled");
    if (find_state(told) == NULL)
        fail(told, "that it is stopped, and it is not");
}

/* ---- reading the reply ---- */

static struct span read_body(const struct reply *reply, char *room)
{
    if (reply->file_body == NULL)
        return reply->body;
    ssize_t len = pread(reply->file_body->file, room, REPLY_BYTES_MAX, 0);
    gw_assert(len >= 0);
    return span_of(room, (size_t)len);
}

void check_told(struct client *client, const struct reply *reply)
{
    const struct http1_limits limits = {
        .target_bytes_max = 64, .head_bytes_max = 8192, .fields_max = 64};
    struct http1_parser parser;
    struct span unused, bytes = gw_buf_span(&reply->head);
    char room[REPLY_BYTES_MAX];
    http1_parser_init(&parser, HTTP1_RESPONSES, &limits);
    if (http1_feed(&parser, &bytes, &unused) != HTTP1_HEAD) {
        world_fail(client->world, "a reply is not well-formed");
        http1_parser_fini(&parser);
        return;
    }
    struct http_head *head = http1_take_head(&parser);
    http1_parser_fini(&parser);
    struct told told = {.client = client,
                        .status = head->status,
                        .outcome = field(head, "Idempotency-Status"),
                        .run = field(head, "X-Run"),
                        .operation = field(head, "Idempotency-Operation"),
                        .body = read_body(reply, room),
                        .is_replay = field(head, "Idempotent-Replayed").len > 0};
    told.is_problem = span_equal(field(head, "Content-Type"), SPAN("application/problem+json"));
    if (told.is_problem) {
        told.code = code_of(told.body);
        told.says_safe = contains(told.body, "\"safe_new_key\":true");
    }
    world_say(client->world, "caller %llu is told %u %.*s %.*s%s", (unsigned long long)client->id,
              told.status, (int)told.outcome.len, told.outcome.ptr, (int)told.code.len,
              told.code.ptr, told.says_safe ? ", a new key is safe" : "");
    if (client->undoes)
        undo_told(client, told.status);
    else if (client->cancels[0] != '\0')
        check_cancel(&told);
    else
        check_what(&told);
    if (is_outcome(&told, "deferred"))
        caller_was_promised(client, told.operation);
    if (is_outcome(&told, "executed"))
        undo_may_follow(client, told.operation);
    http_head_free(head);
}

/* ---- the end ---- */

static bool waits_are_over(struct world *world, struct board *board)
{
    struct board_waiter waiters[16] = {0};
    uint32_t count = 0, max = world->conf->limits.waiters;
    gw_assert(max <= GW_COUNT(waiters));
    while (count < max && board_wait(board, &waiters[count]))
        count++;
    for (uint32_t i = 0; i < count; i++)
        (void)board_unwait(board, &waiters[i]); /* listed just above */
    return count == max;
}

static void check_board(struct world *world, struct board *board)
{
    const struct board_gauges *gauges = board_gauges(board);
    for (uint32_t i = 0; i < world->conf->routes.count; i++) {
        const struct board_route *route = board_route(board, &world->conf->routes.routes[i]);
        if (atomic_load(&route->in_flight) != 0 || atomic_load(&route->overdue) != 0)
            world_fail(world, "a place in flight was never given back");
    }
    if (atomic_load(&gauges->flows) != 0 || atomic_load(&gauges->late_listening) != 0)
        world_fail(world, "the gauges count a flow or a late call that is none");
    if (!board_hold(board, world->conf->limits.bodies))
        world_fail(world, "bytes of bodies are held by nobody");
    else
        board_let_go(board, world->conf->limits.bodies);
    if (!waits_are_over(world, board))
        world_fail(world, "somebody is still listed as waiting");
}

/* Somebody has paused the route: at each gateway that is up. */
static bool is_held(const struct world *world, const struct identity *identity)
{
    bool is_solo = span_equal(identity->scope, SPAN("solo"));
    struct span name = identity->undoes ? identity->scope
                       : is_solo        ? SPAN("solo")
                                        : identity->owner;
    const struct route_policy *route = route_by_name(&world->conf->routes, name);
    gw_assert(route != NULL);
    for (uint32_t p = 0; p < world->plan.gateways; p++) {
        const struct process *process = world->processes[p];
        if (process != NULL &&
            (board_held_by(process->board, route) & (HELD_BY_ROUTE | HELD_BY_UPSTREAM)) == 0)
            return false;
    }
    return true;
}

void check_process_quiet(struct world *world, const struct process *process)
{
    for (uint32_t i = 0; i < SIM_WORKERS; i++)
        if (process->workers[i].flow_count != 0)
            world_fail(world, "%u flows of worker %u have never left",
                       process->workers[i].flow_count, i);
    for (uint32_t i = 0; i < SIM_CALLERS_MAX; i++)
        if (world->callers[i] != NULL && world->callers[i]->process == process &&
            world->callers[i]->flow != NULL)
            world_fail(world, "caller %llu was never answered",
                       (unsigned long long)world->callers[i]->id);
    check_board(world, process->board);
}

void check_quiet(struct world *world)
{
    for (uint32_t p = 0; p < world->plan.gateways; p++) {
        gw_assert(world->processes[p] != NULL);
        check_process_quiet(world, world->processes[p]);
    }
    for (uint32_t i = 0; i < SIM_IDENTITIES; i++) {
        const struct identity *identity = &world->identities[i];
        if (identity->version_count == 0)
            continue;
        const struct version *last = &identity->versions[identity->version_count - 1];
        if (receipt_is_leased(last->receipt.state))
            world_fail(world, "key %.*s is pending for ever", (int)identity->key.len,
                       identity->key.ptr);
        if (last->receipt.state == RECEIPT_DEFERRED && !is_held(world, identity))
            world_fail(world, "key %.*s was promised, and is never run", (int)identity->key.len,
                       identity->key.ptr);
    }
}
