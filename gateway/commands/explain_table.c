/* What happens on a route in each situation: the table of the product, filled in
 * with what this route says. It must never promise what the rooms do not do.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the
 * command looks at that once. */
#include "conf/promise.h"
#include "gateway/commands/explain.h"

#define SITUATION_COLUMN 46

void explain_begin(struct gw_buf *out, const char *situation)
{
    (void)gw_buf_print(out, "  %-*s", SITUATION_COLUMN, situation);
}

void explain_row(struct gw_buf *out, const char *situation, const char *what)
{
    explain_begin(out, situation);
    (void)gw_buf_print(out, "%s\n", what);
}

void explain_duration(int64_t ms, struct gw_buf *out)
{
    static const struct {
        int64_t ms;
        const char *name;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}, {1, "ms"}};
    for (size_t i = 0; i < GW_COUNT(units); i++)
        if (ms % units[i].ms == 0 && (ms > 0 || units[i].ms == 1000)) {
            (void)gw_buf_print(out, "%lld %s", (long long)(ms / units[i].ms), units[i].name);
            return;
        }
}

static void before_the_look_up(const struct conf *conf, const struct route_policy *route,
                               struct gw_buf *out)
{
    bool is_anybody = route->owner_index == ROUTE_NO_OWNER || /* observed routes only */
                      conf->owners[route->owner_index].kind == OWNER_STATIC;
    explain_row(out, "no or wrong credentials",
                is_anybody ? "cannot happen: everybody is one owner"
                           : "401 or 403, no receipt, nothing sent");
    bool is_by_content = route->key.from == KEY_FROM_CONTENT;
    explain_row(out, "key missing",
                is_by_content         ? "cannot happen: the content is the key"
                : route->key.required ? "400 key-missing, no receipt, nothing sent"
                                      : "passes unprotected, no receipt");
    if (!route->key.required)
        explain_row(out, "key there, but empty", "400 key-missing, no receipt, nothing sent");
    bool takes_json = route->local != NULL && route->local->takes_json;
    if (!is_by_content)
        explain_row(out, "key badly written", "400 key-invalid, no receipt, nothing sent");
    explain_begin(out, "body too large, of another type or malformed");
    (void)gw_buf_print(
        out, "%s, no receipt, nothing sent\n",
        route->fingerprint.mode == FINGERPRINT_RAW && !takes_json ? "413" : "413, 415 or 400");
}

static void changed_repeats(const struct route_policy *route, struct gw_buf *out)
{
    if (route->key.from == KEY_FROM_CONTENT) {
        explain_row(out, "repeat with another request", "another content: sent as its own");
    } else if (route->replace_on_change) {
        explain_row(out, "repeat with another request",
                    "422 key-reused, in every state but released");
        explain_row(out, "... of a released key",
                    "sent: nothing ran before, the new request counts");
    } else {
        explain_row(out, "repeat with another request",
                    "422 key-reused, of a released key as well");
    }
}

static void local_repeats(const struct route_policy *route, struct gw_buf *out)
{
    bool is_by_content = route->key.from == KEY_FROM_CONTENT;
    explain_begin(out, "repeat of a key with an effect");
    (void)gw_buf_print(out, "replayed from the receipt for ");
    explain_duration(is_by_content ? route->key.window_ms : route->retention_ms, out);
    (void)gw_buf_print(out, "\n");
    if (is_by_content) {
        changed_repeats(route, out);
        explain_row(out, "repeat after the window", "a new operation: one more row");
        return;
    }
    explain_row(out, "repeat with another request", "422 key-reused");
    explain_row(out, "repeat after retention",
                route->rerun_on_expiry ? "a new operation: one more row" : "409 result-expired");
    explain_begin(out, "repeat after the tombstone");
    (void)gw_buf_print(out, "a new operation, ");
    explain_duration(route->retention_ms + (route->rerun_on_expiry ? 0 : route->tombstone_ms), out);
    (void)gw_buf_print(out, " after the first\n");
}

/* Where the effect is a row beside the receipt there is no sending, and no doubt. */
static void local_effect(const struct route_policy *route, struct gw_buf *out)
{
    if (route->local->takes_json || route->local->uses_body)
        explain_row(out, "content that is not taken",
                    "422 content-refused, no receipt, the key is free");
    explain_begin(out, "first use of the key");
    (void)gw_buf_print(out, "%u with the returned row; receipt and row are one commit\n",
                       route->local->status);
    explain_row(out, "a rule of the tables is broken",
                "422 content-refused, nothing kept, the key is free");
    explain_row(out, "the statement returns no row",
                "404 nothing-found, nothing kept, the key is free");
    explain_row(out, "it fails, or returns several rows",
                "500 effect-failed, nothing kept, the key is free");
    explain_begin(out, "it takes longer than time_max");
    (void)gw_buf_print(out, "503 effect-too-slow after ");
    explain_duration(route->local->time_max_ms, out);
    (void)gw_buf_print(out, ", nothing kept, the key is free\n");
    local_repeats(route, out);
    explain_row(out, "killed before the commit", "neither row is there; the repeat makes both");
    explain_row(out, "killed between commit and answer",
                "both rows are there; the repeat is replayed");
    explain_begin(out, "too many under way");
    (void)gw_buf_print(out, "503 over %u on the route or %u of one owner; no receipt\n",
                       route->route_in_flight_max, route->owner_in_flight_max);
    explain_row(out, "the store cannot write", "503 store-unavailable, nothing kept");
}

/* How long an answer is replayed, and what comes after. */
static void replays(const struct route_policy *route, struct gw_buf *out)
{
    bool is_by_content = route->key.from == KEY_FROM_CONTENT;
    explain_begin(out, "repeat, the answer is on record");
    (void)gw_buf_print(out, "replayed for ");
    explain_duration(is_by_content ? route->key.window_ms : route->retention_ms, out);
    (void)gw_buf_print(out, ", without %.*s\n", (int)route->upstream->name.len,
                       route->upstream->name.ptr);
    if (route->key.only_undelivered)
        explain_row(out, "... and has reached its caller", "a new operation: sent");
}

static void late_repeats(const struct route_policy *route, struct gw_buf *out)
{
    if (route->key.from == KEY_FROM_CONTENT) {
        explain_row(out, "repeat after the window", "a new operation: sent");
        return;
    }
    explain_row(out, "repeat after retention",
                route->rerun_on_expiry ? "a new operation: sent again" : "409 result-expired");
    explain_begin(out, "repeat after the tombstone");
    (void)gw_buf_print(out, "a new operation, ");
    explain_duration(route->retention_ms, out);
    (void)gw_buf_print(out, " + ");
    explain_duration(route->tombstone_ms, out);
    (void)gw_buf_print(out, " after the answer\n");
}

static void repeats(const struct route_policy *route, struct gw_buf *out)
{
    if (route->defer.when != DEFER_ALWAYS)
        explain_row(out, "first use of the key",
                    "sent once; the answer is recorded, then passed on");
    replays(route, out);
    explain_begin(out, "repeat, the first call is under way");
    if (route->pending_wait_ms > 0) {
        (void)gw_buf_print(out, "waits up to ");
        explain_duration(route->pending_wait_ms, out);
        (void)gw_buf_print(out, ", then 409 request-in-progress\n");
    } else {
        (void)gw_buf_print(out, "409 request-in-progress with Retry-After\n");
    }
    changed_repeats(route, out);
    explain_row(out, "repeat, the outcome is unknown",
                promise_resends(route)
                    ? "sent again while the API knows the key, then 409 outcome-unknown"
                    : "409 outcome-unknown; never sent again by itself");
    explain_row(out, "repeat, answer too large to be kept",
                "409 result-unavailable, with executed: true");
    late_repeats(route, out);
}

static const char *const means[] = {
    [MEANS_REFUSED] = "passed on, did not run: the key is free again",
    [MEANS_UNKNOWN] = "passed on, outcome unknown",
    [MEANS_COMPLETED] = "recorded and replayed",
};
static const char tried_again[] = "did not run: tried again, as below";

static void put_line(uint32_t line, struct gw_buf *out)
{
    if (line > 0)
        (void)gw_buf_print(out, " (line %u)", line);
}

static void list_row(const char *what, const struct status_set *set, uint32_t line,
                     const char *meaning, struct gw_buf *out)
{
    struct gw_buf statuses;
    gw_buf_init(&statuses, 4096);
    (void)gw_buf_print(&statuses, "answer ");
    promise_rule(&(struct answer_rule){.has_status = true, .status = *set}, &statuses);
    (void)gw_buf_byte(&statuses, '\0');
    if (!statuses.failed && statuses.len > strlen("answer HTTP ") + 1) {
        explain_begin(out, statuses.ptr);
        (void)gw_buf_print(out, "%s; %s", meaning, what);
        put_line(line, out);
        (void)gw_buf_print(out, "\n");
    }
    gw_buf_fini(&statuses);
}

/* What of a set is tried again, or what of it is not. */
static struct status_set part_of(const struct status_set *set, const struct retry_policy *policy,
                                 bool is_tried)
{
    struct status_set part = *set;
    for (size_t i = 0; i < GW_COUNT(part.bits); i++) {
        uint64_t tried = policy->is_on ? policy->when.bits[i] : 0;
        part.bits[i] &= is_tried ? tried : ~tried;
    }
    return part;
}

static const char *refused_by_rule(const struct retry_policy *policy,
                                   const struct answer_rule *rule)
{
    const struct status_set left = part_of(&rule->status, policy, false);
    const struct status_set tried = part_of(&rule->status, policy, true);
    if (policy->is_on && (policy->when_rules || (rule->has_status && status_set_is_empty(&left))))
        return tried_again;
    if (policy->is_on &&
        (rule->has_status ? !status_set_is_empty(&tried) : !status_set_is_empty(&policy->when)))
        return "did not run: tried again if retry.when names the status, else passed on";
    return means[MEANS_REFUSED];
}

static void refused(const struct route_policy *route, struct gw_buf *out)
{
    const struct status_set tried = part_of(&route->outcome.refused, &route->retry, true);
    const struct status_set left = part_of(&route->outcome.refused, &route->retry, false);
    list_row("list refused", &tried, route->outcome.refused_line, tried_again, out);
    list_row("list refused", &left, route->outcome.refused_line, means[MEANS_REFUSED], out);
}

static void answers(const struct route_policy *route, struct gw_buf *out)
{
    for (uint32_t i = 0; i < route->outcome.rule_count; i++) {
        const struct answer_rule *rule = &route->outcome.rules[i];
        struct gw_buf text;
        gw_buf_init(&text, 4096);
        (void)gw_buf_print(&text, "answer ");
        promise_rule(rule, &text);
        (void)gw_buf_byte(&text, '\0');
        explain_begin(out, text.failed ? "answer of a rule" : text.ptr);
        (void)gw_buf_print(out, "%s; rule (line %u)\n",
                           rule->means == MEANS_REFUSED ? refused_by_rule(&route->retry, rule)
                                                        : means[rule->means],
                           rule->line);
        gw_buf_fini(&text);
    }
    refused(route, out);
    list_row("list unknown", &route->outcome.unknown, route->outcome.unknown_line,
             means[MEANS_UNKNOWN], out);
    explain_row(out, "any other whole answer", means[MEANS_COMPLETED]);
}

static void probe_findings(const struct route_policy *route, struct gw_buf *out)
{
    const struct probe_policy *probe = &route->probe;
    if (!probe->is_on)
        return;
    if (probe->has_executed) {
        explain_begin(out, "unknown, the probe finds it");
        if (probe->answer_status == 0)
            (void)gw_buf_print(out, "completed, without an answer: 409 result-unavailable");
        else
            (void)gw_buf_print(out, "completed: %u is replayed", probe->answer_status);
        (void)gw_buf_print(out, "; asserted (line %u)\n", probe->line);
    }
    if (!probe->has_absent)
        return;
    explain_begin(out, "unknown, the probe does not find it");
    if (probe->absent_is_proof) {
        (void)gw_buf_print(out, "the key is free, if asked after ");
        explain_duration(route->quiet_ms, out);
        (void)gw_buf_print(out, " of quiet; asserted\n");
    } else {
        (void)gw_buf_print(out, "stays unknown: a hint for the operator\n");
    }
}

static void failures(const struct route_policy *route, struct gw_buf *out)
{
    const struct upstream_policy *upstream = route->upstream;
    explain_row(out, "no connection, not one byte left",
                route->retry.is_on && route->retry.when_not_sent
                    ? "proved not sent: tried again, as below"
                    : "502 upstream-unreachable; proved not sent, the key is free");
    explain_row(out, "no whole answer in time", "504 upstream-timeout, outcome unknown;");
    explain_begin(out, "");
    (void)gw_buf_print(out, "in time is ");
    explain_duration(upstream->answer_ms, out);
    (void)gw_buf_print(out, "; a late answer still counts for ");
    explain_duration(upstream->late_ms, out);
    (void)gw_buf_print(out, "\n");
    explain_row(out, "reset, cut or malformed answer",
                "502 upstream-bad-response, outcome unknown");
    explain_begin(out, "settled: did not run");
    (void)gw_buf_print(out, "by an operator, not before ");
    explain_duration(route->quiet_ms, out);
    (void)gw_buf_print(out, " of quiet; asserted, the key is free\n");
    probe_findings(route, out);
    explain_begin(out, "too many under way");
    (void)gw_buf_print(out, "503 over %u on the route or %u of one owner; no receipt\n",
                       route->route_in_flight_max, route->owner_in_flight_max);
    if (route->breaker.is_on) {
        explain_begin(out, "breaker");
        (void)gw_buf_print(out, "503 route-paused after %u unknowns (%u%% at least) within ",
                           route->breaker.unknowns, route->breaker.share_percent);
        explain_duration(route->breaker.in_ms, out);
        (void)gw_buf_print(out, "\n");
    }
    explain_row(out, "the store cannot write", "503 store-unavailable, nothing sent");
}

void explain_situations(const struct conf *conf, const struct route_policy *route,
                        struct gw_buf *out)
{
    (void)gw_buf_print(out, "\n  %-*sWHAT HAPPENS\n", SITUATION_COLUMN, "SITUATION");
    before_the_look_up(conf, route, out);
    if (route->local != NULL) {
        local_effect(route, out);
        return;
    }
    repeats(route, out);
    answers(route, out);
    failures(route, out);
    explain_again(route, out);
}
