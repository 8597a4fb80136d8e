/* GET /metrics: Prometheus text 0.0.4, or OpenMetrics 1.0. Labels come from closed
 * sets alone: routes and upstreams of the configuration, and our own words. */
#include "gateway/admin/exposition.h"
#include "gateway/admin/operation.h"
#include "gateway/admin/process.h"
#include "gateway/problem.h"

#include "base/log_writer.h"

/* Routes that are no longer configured share one label: the set stays closed. It is no
 * name that a route can have. */
static const struct span removed = {"(removed)", 9};

/* What one page is made from. */
struct page {
    struct call *call;
    struct exposition out;
    const struct tally_entry *tally; /* NULL: the store did not say */
    uint32_t tally_count;
    bool has_tally;
    struct store_stats stats;
};

static const struct route_policy *route_at(const struct page *page, uint32_t i)
{
    return &page->call->conf->routes.routes[i];
}

static uint32_t route_count(const struct page *page)
{
    return page->call->conf->routes.count;
}

/* Behind the last route stand those that are no longer configured, as one. */
static struct board_route *counts_at(const struct page *page, uint32_t i)
{
    return board_route(page->call->options->board,
                       i < route_count(page) ? route_at(page, i) : NULL);
}

static struct metric_labels of_route(const struct page *page, uint32_t i)
{
    return metric_label("route", i < route_count(page) ? route_at(page, i)->name : removed);
}

static bool has_mode(const struct page *page, enum route_mode mode)
{
    for (uint32_t i = 0; i < route_count(page); i++)
        if (route_at(page, i)->mode == mode)
            return true;
    return false;
}

static void print_operations(struct page *page)
{
    exposition_family(&page->out, METRIC_OPERATIONS);
    for (uint32_t i = 0; i < route_count(page); i++)
        for (uint32_t o = OUTCOME_NONE + 1; o < OUTCOME_COUNT; o++) {
            struct span word = span_str(outcome_word((enum outcome)o));
            exposition_count(&page->out, metric_and_label(of_route(page, i), "outcome", word),
                             atomic_load(&counts_at(page, i)->outcomes[o]));
        }
}

static void print_attempts(struct page *page)
{
    exposition_family(&page->out, METRIC_ATTEMPTS);
    for (uint32_t i = 0; i < route_count(page); i++)
        for (uint32_t e = END_none + 1; e < END_COUNT; e++) {
            struct span word = span_str(end_name((enum attempt_end)e));
            exposition_count(&page->out, metric_and_label(of_route(page, i), "end", word),
                             atomic_load(&counts_at(page, i)->ends[e]));
        }
}

static const struct tally_entry *tally_of(const struct page *page, struct span route)
{
    for (uint32_t i = 0; i < page->tally_count; i++)
        if (span_equal(page->tally[i].route, route))
            return &page->tally[i];
    return NULL;
}

static struct tally_entry tally_of_removed(const struct page *page)
{
    struct tally_entry sum = {0};
    for (uint32_t i = 0; i < page->tally_count; i++) {
        const struct tally_entry *entry = &page->tally[i];
        if (call_route(page->call, entry->route) != NULL || entry->unknown == 0)
            continue;
        sum.unknown += entry->unknown;
        if (sum.oldest_ms == 0 || entry->oldest_ms < sum.oldest_ms)
            sum.oldest_ms = entry->oldest_ms;
    }
    return sum;
}

static void print_tally_sample(struct page *page, struct span route,
                               const struct tally_entry *entry)
{
    uint64_t unknown = entry == NULL ? 0 : entry->unknown;
    int64_t age_ms = unknown == 0 ? 0 : page->call->now_ms - entry->oldest_ms;
    struct metric_labels labels = metric_label("route", route);
    if (page->out.family == METRIC_UNKNOWN)
        exposition_gauge(&page->out, labels, (int64_t)(unknown & INT64_MAX));
    else
        exposition_ms(&page->out, labels, age_ms < 0 ? 0 : (uint64_t)age_ms);
}

static void print_tally(struct page *page, enum metric metric)
{
    if (!page->has_tally)
        return; /* no figure is better than a wrong one */
    exposition_family(&page->out, metric);
    for (uint32_t i = 0; i < route_count(page); i++) {
        const struct route_policy *other = route_at(page, i)->compensate.route;
        print_tally_sample(page, route_at(page, i)->name, tally_of(page, route_at(page, i)->name));
        if (other != NULL)
            print_tally_sample(page, other->name, tally_of(page, other->name));
    }
    const struct tally_entry rest = tally_of_removed(page);
    print_tally_sample(page, removed, &rest);
}

/* A probe and a late answer say that it ran, or that it did not, and nothing else. */
static bool may_give(enum settled_by by, enum settle_verdict verdict)
{
    return by == SETTLED_BY_OPERATOR || by == SETTLED_BY_PLAN || verdict == VERDICT_EXECUTED ||
           verdict == VERDICT_NOT_EXECUTED;
}

static void print_settled_by(struct page *page, uint32_t route, enum settled_by by)
{
    const struct board_route *counts = counts_at(page, route);
    for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
        enum settle_verdict verdict = (enum settle_verdict)v;
        if (!may_give(by, verdict))
            continue;
        struct metric_labels labels =
            metric_and_label(of_route(page, route), "verdict", span_str(settle_word(verdict)));
        exposition_count(&page->out, metric_and_label(labels, "by", span_str(settled_by_word(by))),
                         atomic_load(&counts->settled[by][v]));
    }
}

static void print_settled(struct page *page)
{
    exposition_family(&page->out, METRIC_SETTLED);
    for (uint32_t i = 0; i <= route_count(page); i++)
        for (uint32_t by = 0; by < SETTLED_BY_COUNT; by++)
            print_settled_by(page, i, (enum settled_by)by);
    exposition_family(&page->out, METRIC_CONTRADICTIONS);
    for (uint32_t i = 0; i <= route_count(page); i++)
        exposition_count(&page->out, of_route(page, i),
                         atomic_load(&counts_at(page, i)->contradictions));
}

static void print_compensations(struct page *page)
{
    static const char *const words[] = {"operator", "owner"};
    bool is_first = true;
    for (uint32_t i = 0; i < route_count(page); i++) {
        if (route_at(page, i)->compensate.route == NULL)
            continue;
        if (is_first)
            exposition_family(&page->out, METRIC_COMPENSATIONS);
        is_first = false;
        for (size_t by = 0; by < GW_COUNT(words); by++)
            exposition_count(&page->out,
                             metric_and_label(of_route(page, i), "by", span_str(words[by])),
                             atomic_load(&counts_at(page, i)->compensations[by]));
    }
}

/* Half-open counts as held: one trial goes through, everybody else is refused. Nothing
 * holds a route that is not enforced. */
static void print_paused(struct page *page)
{
    if (!has_mode(page, ROUTE_ENFORCE))
        return;
    exposition_family(&page->out, METRIC_ROUTE_PAUSED);
    for (uint32_t i = 0; i < route_count(page); i++) {
        if (route_at(page, i)->mode != ROUTE_ENFORCE)
            continue;
        uint32_t why = board_held_by(page->call->options->board, route_at(page, i));
        const struct {
            struct span word;
            bool holds;
        } reasons[] = {
            {SPAN("route"), (why & HELD_BY_ROUTE) != 0},
            {SPAN("upstream"), (why & HELD_BY_UPSTREAM) != 0},
            {SPAN("breaker"), atomic_load(&counts_at(page, i)->breaker) != (int)BREAKER_CLOSED}};
        for (size_t k = 0; k < GW_COUNT(reasons); k++)
            exposition_gauge(&page->out,
                             metric_and_label(of_route(page, i), "why", reasons[k].word),
                             reasons[k].holds ? 1 : 0);
    }
}

static void print_observed(struct page *page, enum metric metric)
{
    if (!has_mode(page, ROUTE_OBSERVE))
        return;
    exposition_family(&page->out, metric);
    for (uint32_t i = 0; i < route_count(page); i++) {
        const struct board_route *counts = counts_at(page, i);
        if (route_at(page, i)->mode == ROUTE_OBSERVE)
            exposition_count(&page->out, of_route(page, i),
                             atomic_load(metric == METRIC_OBSERVED ? &counts->observed
                                                                   : &counts->observed_lost));
    }
}

static void print_load(struct page *page)
{
    exposition_family(&page->out, METRIC_IN_FLIGHT);
    for (uint32_t i = 0; i < route_count(page); i++)
        exposition_gauge(&page->out, of_route(page, i),
                         atomic_load(&counts_at(page, i)->in_flight));
    exposition_family(&page->out, METRIC_REFUSED);
    for (uint32_t p = PROBLEM_NONE + 1; p < PROBLEM_COUNT; p++)
        exposition_count(&page->out,
                         metric_label("reason", span_str(problem_code((enum problem)p))),
                         board_refused(page->call->options->board, (enum problem)p));
}

static void print_times(struct page *page)
{
    const struct conf *conf = page->call->conf;
    exposition_family(&page->out, METRIC_REQUEST_SECONDS);
    for (uint32_t i = 0; i < route_count(page); i++)
        exposition_board_histogram(&page->out, of_route(page, i),
                                   &counts_at(page, i)->request_seconds);
    exposition_family(&page->out, METRIC_UPSTREAM_SECONDS);
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        exposition_board_histogram(
            &page->out, metric_label("upstream", conf->upstreams[i].name),
            board_upstream_seconds(page->call->options->board, &conf->upstreams[i]));
}

static void print_one(struct page *page, enum metric metric, int64_t value)
{
    exposition_family(&page->out, metric);
    exposition_gauge(&page->out, METRIC_NO_LABELS, value);
}

static void print_store(struct page *page)
{
    const struct store_stats *stats = &page->stats;
    exposition_family(&page->out, METRIC_COMMIT_SECONDS);
    exposition_commit_histogram(&page->out, stats);
    exposition_family(&page->out, METRIC_BATCH_SIZE);
    exposition_batch_histogram(&page->out, stats);
    print_one(page, METRIC_STORE_QUEUE, (int64_t)(stats->queue_length & INT64_MAX));
    print_one(page, METRIC_STORE_QUEUE_LIMIT, page->call->conf->limits.store_queue);
    print_one(page, METRIC_STORE_FAILING, stats->is_failing ? 1 : 0);
    exposition_family(&page->out, METRIC_COMMIT_FAILURES);
    exposition_count(&page->out, METRIC_NO_LABELS, stats->failed_commits);
}

static void print_load_of_process(struct page *page)
{
    const struct board_gauges *gauges = board_gauges(page->call->options->board);
    const struct conf_limits *limits = &page->call->conf->limits;
    print_one(page, METRIC_LATE_LISTENING, atomic_load(&gauges->late_listening));
    print_one(page, METRIC_LATE_LISTENING_LIMIT, limits->late_max);
    print_one(page, METRIC_CONNECTIONS, atomic_load(&gauges->connections));
    print_one(page, METRIC_CONNECTIONS_LIMIT, limits->connections);
    print_one(page, METRIC_FLOWS, atomic_load(&gauges->flows));
}

static void print_process(struct page *page)
{
    struct process_figures figures;
    process_look(&figures);
    exposition_family(&page->out, METRIC_LOG_LOST);
    exposition_count(&page->out, METRIC_NO_LABELS, log_writer_lost());
    exposition_family(&page->out, METRIC_PROCESS_CPU);
    exposition_ms(&page->out, METRIC_NO_LABELS, figures.cpu_ms);
    print_one(page, METRIC_PROCESS_MEMORY, (int64_t)(figures.resident_bytes & INT64_MAX));
    print_one(page, METRIC_PROCESS_FDS, (int64_t)figures.open_fds);
    exposition_family(&page->out, METRIC_PROCESS_START);
    exposition_ms(&page->out, METRIC_NO_LABELS, figures.start_ms);
}

static void print_page(struct page *page)
{
    print_operations(page);
    print_attempts(page);
    print_tally(page, METRIC_UNKNOWN);
    print_tally(page, METRIC_UNKNOWN_OLDEST);
    print_settled(page);
    print_compensations(page);
    print_paused(page);
    print_load(page);
    print_observed(page, METRIC_OBSERVED);
    print_observed(page, METRIC_OBSERVED_LOST);
    print_times(page);
    print_store(page);
    print_load_of_process(page);
    print_process(page);
    exposition_end(&page->out);
}

static bool wants_openmetrics(const struct call *call)
{
    uint32_t count;
    struct span accept = call_request_header(call, "Accept", &count);
    static const struct span wanted = {"application/openmetrics-text", 28};
    for (size_t i = 0; i + wanted.len <= accept.len; i++)
        if (span_equal_nocase(span_of(accept.ptr + i, wanted.len), wanted))
            return true;
    return false;
}

static void answer(struct call *call, bool has_tally)
{
    struct page page = {.call = call,
                        .has_tally = has_tally,
                        .tally = call->op.out.tally,
                        .tally_count = has_tally ? call->op.out.tally_count : 0};
    bool is_open = wants_openmetrics(call);
    gw_buf_clear(&call->out);
    exposition_init(&page.out, &call->out, is_open);
    store_stats(call->options->store, &page.stats);
    print_page(&page);
    if (call->out.failed) {
        call_problem(call, ADMIN_INTERNAL, "The page is larger than its limit.");
        return;
    }
    call->status = 200;
    call_send(call,
              is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                      : "text/plain; version=0.0.4; charset=utf-8",
              gw_buf_span(&call->out));
}

static void on_tally(struct call *call)
{
    answer(call, call->op.out.status == GW_OK);
}

void call_metrics(struct call *call)
{
    call->op.kind = STORE_TALLY;
    if (!call_try_submit(call, on_tally)) /* a full queue is just when a page is wanted */
        answer(call, false);
}
