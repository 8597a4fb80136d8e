/* What the world of a seed is like: how rude its parts are, and the configuration of
 * the gateway. Times are short, so that a story sees retention and tombstones end. */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND         1000
#define OVERLAPS_EVERY 8
#define PROBES_EVERY   3 /* likewise without a draw */
#define UNDOES_EVERY   5 /* likewise */
#define SHARED_EVERY   5

/* Likewise: a third of the stories, in some of which the upstream deduplicates, too. */
static void let_routes_try_again(struct plan *plan, uint64_t seed)
{
    if (seed % 3 != 2)
        return;
    plan->retries = seed % 24 != 17;
    /* Where clocks jump or bytes come late, no window holds. */
    plan->dedups = (seed % 12 == 8 || seed % 24 == 5) && !plan->rude_network && !plan->clock_steps;
    if (seed % 6 == 5)
        plan->defers = seed % 12 == 11 ? DEFER_ALWAYS : DEFER_PREFER;
}

/* Every so many seeds, without a draw, so that the other stories stay as they are: the key
 * is freed by force while an attempt is listened to, and the next one is refused. */
static void let_attempts_meet(struct plan *plan)
{
    plan->overlaps = plan->is_hasty = plan->wrong_verdicts = true;
    plan->keys = 2;
    plan->answer_ms = SECOND;
    plan->late_ms = 10 * SECOND;
    plan->chaos_gap_ms = 700;
    plan->arrivals_gap_ms = 300;
    plan->late_max = SIM_CALLERS_MAX;
    plan->breaker = plan->drains = plan->store_sick = plan->is_short_of_memory = false;
    plan->crash_per_10000 = 1;
    plan->flows_max = 128;
    plan->flow_bytes = (size_t)1024 * 1024;
}

/* Nothing happens but one operation that is accepted for later; what its upstream does is
 * the seed's. */
static void let_one_live(struct plan *plan)
{
    plan->keys = 1;
    plan->arrivals_gap_ms = 1000;
    plan->retries = true;
    plan->defers = DEFER_ALWAYS;
    plan->crash_per_10000 = 0;
    plan->store_queue = 64;
    plan->flows_max = 128;
    plan->flow_bytes = (size_t)1024 * 1024;
    plan->in_flight = 8;
    plan->bodies_kib = 1024;
    plan->retention_ms = plan->tombstone_ms = 3600 * SECOND;
    plan->probes = plan->dedups = plan->rerun_on_expiry = plan->breaker = false;
    plan->compensates = false;
    plan->is_short_of_memory = plan->drains = plan->store_sick = plan->clock_steps = false;
    plan->worker_stops = plan->long_gaps = plan->pauses = plan->cuts = plan->slow_commits = false;
    plan->is_hasty = plan->wrong_verdicts = plan->overlaps = false;
}

/* Every so many seeds, or in all of them. */
static void let_gateways_share(struct world *world)
{
    struct plan *plan = &world->plan;
    plan->gateways = 1;
    if (world->options.seed % SHARED_EVERY != SHARED_EVERY - 1 && !world->options.is_several)
        return;
    plan->gateways = (uint32_t)draw_between(world, 2, SIM_PROCESSES_MAX);
    plan->skew_ms = draw_chance(world, 600) ? STORE_SKEW_MS : 0;
    if (plan->skew_ms > 0) /* then the quiet time begins as soon as it can */
        plan->answer_ms = SECOND;
    if (draw_chance(world, 250))
        return; /* nobody is away: then a repeat is answered in time, wherever it asks */
    plan->pauses = draw_chance(world, 700);
    plan->cuts = draw_chance(world, 500);
    plan->slow_commits = draw_chance(world, 400);
}

void plan_draw(struct world *world)
{
    struct plan *plan = &world->plan;
    *plan = (struct plan){
        .keys = (uint32_t)draw_between(world, 2, SIM_KEYS_MAX),
        .arrivals_gap_ms = (uint32_t)draw_between(world, 20, 4 * SECOND),
        .answer_ms = draw_between(world, 1, 3) * SECOND,
        .late_ms = draw_between(world, 3, 10) * SECOND,
        .wait_ms = draw_chance(world, 600) ? draw_between(world, 1, 20) * SECOND : 0,
        .retention_ms = draw_between(world, 11, 120) * SECOND,
        .rerun_on_expiry = draw_chance(world, 250),
        .replace_on_change = draw_chance(world, 400),
        .breaker = draw_chance(world, 400),
        .late_max = draw_chance(world, 250) ? 0 : (uint32_t)draw_between(world, 1, 8),
        .waiters = (uint32_t)draw_between(world, 1, 8),
        .in_flight = (uint32_t)draw_between(world, 1, 8),
        .bodies_kib = draw_chance(world, 200) ? 64 : 1024,
        .store_queue = draw_chance(world, 200) ? 3 : 64,
        .clock_steps = draw_chance(world, 250),
        .rude_network = draw_chance(world, 250),
        .wrong_verdicts = draw_chance(world, 300),
        .worker_stops = draw_chance(world, 300),
        .store_sick = draw_chance(world, 350),
        .long_gaps = draw_chance(world, 700),
        .recovers_late = draw_chance(world, 300),
        .commit_max_ms = draw_chance(world, 800) ? 20 : 2 * SECOND,
        .crash_per_10000 = draw_chance(world, 200) ? 0 : (uint32_t)draw_between(world, 2, 40),
        .chaos_gap_ms = (uint32_t)draw_between(world, SECOND, 40 * SECOND),
        .loss_per_mille = (uint32_t)draw_between(world, 50, 600),
    };
    /* Somebody settles by force while the first attempt is still listened to. */
    if (draw_chance(world, 200)) {
        plan->is_hasty = plan->wrong_verdicts = true;
        plan->chaos_gap_ms = 1000;
        plan->arrivals_gap_ms = 500;
        plan->late_max = SIM_CALLERS_MAX;
    }
    plan->commits_twice = draw_chance(world, 200);
    plan->flows_max = draw_chance(world, 250) ? (uint32_t)draw_between(world, 2, 10) : 128;
    plan->is_short_of_memory = draw_chance(world, 150);
    plan->flow_bytes =
        plan->is_short_of_memory ? (size_t)draw_between(world, 6, 24) * 1024 : (size_t)1024 * 1024;
    plan->drains = draw_chance(world, 300);
    if (world->options.seed % OVERLAPS_EVERY == OVERLAPS_EVERY / 2)
        let_attempts_meet(plan);
    plan->probes = world->options.seed % PROBES_EVERY == 1;
    let_routes_try_again(plan, world->options.seed);
    plan->compensates = world->options.seed % UNDOES_EVERY == 0;
    plan->tombstone_ms = plan->retention_ms + draw_between(world, 0, 60) * SECOND;
    let_gateways_share(world);
    if (world->options.is_one_life)
        let_one_live(plan);
}

static void add_attempts(struct gw_buf *out, const struct plan *plan)
{
    static const char *const words[] = {"never", "prefer", "always"};
    /* The buffer is asked once at the end. */
    if (plan->retries)
        (void)gw_buf_print(out,
                           "    retry: {when: [not_sent, 429, rules], attempts: %d, within: %dms, "
                           "backoff: {base: 200ms, max: 4s}, wait_at_most: 1s}\n",
                           SIM_ATTEMPTS_MAX, SIM_WINDOW_MS);
    if (plan->dedups)
        (void)gw_buf_print(out, "    upstream_idempotency: {window: %dms}\n", SIM_DEDUP_WINDOW_MS);
    if (plan->defers != DEFER_NEVER)
        (void)gw_buf_print(out, "    defer: {when: %s, max_age: 60s, concurrency: 2}\n",
                           words[plan->defers]);
}

static void add_route(struct gw_buf *out, const struct plan *plan, const char *head)
{
    /* The buffer is asked once at the end. */
    (void)gw_buf_print(out,
                       "  - name: %s\n"
                       "    match: {methods: [POST], path: %s}\n",
                       head,
                       head[0] == 's'   ? "/solo"
                       : head[0] == 'b' ? "/bolt"
                                        : "/acme");
    (void)gw_buf_print(out,
                       "    owner: %s\n"
                       "    scope: %s\n"
                       "    key: {from: header, name: Idempotency-Key, required: true}\n"
                       "    fingerprint: {mode: json}\n"
                       "    labels: {order: {json: /order}}\n"
                       "    evidence: {headers: true, body: true, keep: 60s}\n"
                       "    outcome:\n"
                       "      rules:\n"
                       "        - {status: 302, means: unknown}\n"
                       "        - {status: 200, json: {/ok: false}, means: refused}\n",
                       head[0] == 'b' ? "bolt" : "acme", head[0] == 's' ? "route" : "gateway");
    (void)gw_buf_print(out,
                       "    on_pending: {wait: %" PRId64 "ms}\n"
                       "    retention: %" PRId64 "ms\n"
                       "    tombstone: %" PRId64 "ms\n"
                       "    request_body_max: 1KiB\n"
                       "    replay_body_max: 1KiB\n"
                       "    on_expiry: %s\n"
                       "    on_changed_after_release: %s\n"
                       "    limits: {route_in_flight: %" PRIu32 ", owner_in_flight: %" PRIu32 "}\n",
                       plan->wait_ms, plan->retention_ms, plan->tombstone_ms,
                       plan->rerun_on_expiry ? "rerun" : "refuse",
                       plan->replace_on_change ? "replace" : "refuse", plan->in_flight,
                       plan->in_flight);
    if (plan->probes)
        (void)gw_buf_print(out, "    add_operation_id: {header: X-Operation}\n"
                                "    reconcile:\n"
                                "      probe: {path: \"/runs?of={operation_id}\"}\n"
                                "      executed_when: {status: 200, json: {/found: exists}}\n"
                                "      absent_when: {status: 200, json: {/found: absent}}\n"
                                "      response: {status: 201, body: {from: \"\"}}\n"
                                "      absent_is: proof\n"
                                "      every: 1s\n");
    add_attempts(out, plan);
    if (plan->compensates)
        (void)gw_buf_print(out, "    compensate: {path: \"/runs/{response:/run}\", by: owner}\n");
    (void)gw_buf_print(out, "    breaker: %s\n",
                       plan->breaker ? "{unknowns: 3, share: 20%, overdue: 500ms, in: 5s}"
                                     : "none");
}

struct conf *plan_conf(const struct plan *plan, struct gw_error *err)
{
    static const char *const routes[] = {"acme", "bolt", "solo"};
    struct gw_buf out;
    struct conf *conf = NULL;
    struct conf_report report;
    gw_buf_init(&out, 64 * 1024);
    (void)gw_buf_print(
        &out,
        "version: 1\nlisten: [{address: \"127.0.0.1:0\"}]\nadmin: {address: \"127.0.0.1:0\", "
        "tokens: [{name: ana, rights: [settle, control], sha256: "
        "\"c0f9e2ddc5a0e9b1d3a0a9a5d1a4f4b5c6d7e8f90a1b2c3d4e5f60718293a4b5\"}]}\n"
        "store: {kind: memory}\nowners: {acme: {kind: static}, bolt: {kind: static}}\n"
        "upstreams: {legacy: {url: \"http://127.0.0.1:9000\", timeouts: {connect: 1s, answer: "
        "%" PRId64 "ms, idle: %" PRId64 "ms, late: %" PRId64 "ms}}}\n",
        plan->answer_ms, plan->answer_ms, plan->late_ms);
    (void)gw_buf_print(&out,
                       "limits: {late_max: %" PRIu32 ", waiters: %" PRIu32 ", bodies: %" PRIu32
                       "KiB, store_queue: %" PRIu32 ", answer_body_max: 4KiB}\n"
                       "workers: 2\nroutes:\n",
                       plan->late_max, plan->waiters, plan->bodies_kib, plan->store_queue);
    for (size_t i = 0; i < GW_COUNT(routes); i++)
        add_route(&out, plan, routes[i]);
    gw_assert(!out.failed);
    enum gw_status status = conf_parse(gw_buf_span(&out), "sim.yaml", &conf, &report);
    if (status != GW_OK)
        (void)gw_error_set(err, status, "%s", report.count > 0 ? report.findings[0].text : "conf");
    conf_report_fini(&report);
    gw_buf_fini(&out);
    return status == GW_OK ? conf : NULL;
}
