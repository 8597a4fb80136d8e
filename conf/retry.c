/* When a route tries again, and whether it accepts for later. It must never let a route
 * try again what may have run, nor promise what it cannot keep. */
#include "conf/loader.h"

/* ---- reading ---- */

static void add_when(struct retry_policy *policy, struct span text)
{
    bool is_class;
    if (span_equal(text, SPAN("not_sent")))
        policy->when_not_sent = true;
    else if (span_equal(text, SPAN("rules")))
        policy->when_rules = true;
    else
        (void)value_status(text, &policy->when, &is_class); /* a bad one was reported */
}

static void load_when(const struct cursor *retry, struct retry_policy *policy)
{
    struct setting when = setting_get(retry, "when");
    policy->line = when.from == FROM_FILE ? when.node->name_line : 0;
    if (when.from != FROM_FILE || when.node->kind != YAML_LIST) {
        add_when(policy, when.text);
        return;
    }
    uint32_t count;
    for (const struct yaml_node *item = cursor_items(retry, "when", &count); item != NULL;
         item = items_next(item))
        add_when(policy, item->text);
}

void load_retry(struct loader *loader, const struct cursor *route, struct route_policy *ret)
{
    static const enum defer_when words[] = {DEFER_NEVER, DEFER_PREFER, DEFER_ALWAYS};
    struct cursor retry = cursor_in(route, "retry"), defer = cursor_in(route, "defer");
    struct cursor backoff = cursor_in(&retry, "backoff");
    struct retry_policy *policy = &ret->retry;
    policy->is_on = retry.node != NULL;
    load_when(&retry, policy);
    policy->attempts_max = (uint32_t)cursor_number(&retry, "attempts");
    policy->within_ms = cursor_number(&retry, "within");
    policy->backoff.base_ms = cursor_number(&backoff, "base");
    policy->backoff.max_ms = cursor_number(&backoff, "max");
    policy->wait_at_most_ms = cursor_number(&retry, "wait_at_most");
    if (policy->backoff.max_ms < policy->backoff.base_ms) {
        if (!setting_get(&backoff, "base").is_bad && !setting_get(&backoff, "max").is_bad)
            key_error(loader, &backoff, "max", "is under base: the wait could never begin");
        policy->backoff.max_ms = policy->backoff.base_ms;
    }
    ret->defer.when = words[cursor_word(&defer, "when", 0)];
    ret->defer.max_age_ms = cursor_number(&defer, "max_age");
    ret->defer.concurrency = (uint32_t)cursor_number(&defer, "concurrency");
}

/* ---- against the rest of the route ---- */

static bool is_refused(const struct outcome_policy *outcome, uint16_t status)
{
    for (uint32_t i = 0; i < outcome->rule_count; i++)
        if (outcome->rules[i].means == MEANS_REFUSED &&
            status_set_has(&outcome->rules[i].status, status))
            return true;
    return status_set_has(&outcome->refused, status);
}

static bool has_refusing_rule(const struct outcome_policy *outcome)
{
    for (uint32_t i = 0; i < outcome->rule_count; i++)
        if (outcome->rules[i].means == MEANS_REFUSED)
            return true;
    return false;
}

static void check_when(struct loader *loader, const struct cursor *retry,
                       const struct route_policy *route)
{
    const struct retry_policy *policy = &route->retry;
    if (policy->when_rules && !has_refusing_rule(&route->outcome))
        key_error(loader, retry, "when", "rules: no rule of outcome.rules means refused");
    for (uint16_t status = 100; status < 600; status++) {
        if (!status_set_has(&policy->when, status) || is_refused(&route->outcome, status))
            continue;
        key_error(loader, retry, "when",
                  "%u: is neither in outcome.refused nor in a rule that means refused, so such an "
                  "answer does not say that nothing ran; trying again could do the work twice",
                  status);
        return;
    }
}

static void check_window(struct loader *loader, const struct cursor *route_cursor,
                         const struct route_policy *route)
{
    struct cursor passed = cursor_in(route_cursor, "upstream_idempotency");
    struct cursor retry = cursor_in(route_cursor, "retry");
    char small[VALUE_TEXT_BYTES], large[VALUE_TEXT_BYTES];
    value_print(CONF_DURATION, route->retry.within_ms, large);
    if (route->retry.wait_at_most_ms > route->retry.within_ms &&
        !setting_get(&retry, "wait_at_most").is_bad && !setting_get(&retry, "within").is_bad) {
        value_print(CONF_DURATION, route->retry.wait_at_most_ms, small);
        key_warning(loader, &retry, "wait_at_most",
                    "%s: longer than retry.within %s, in which all attempts lie", small, large);
    }
    if (!route->passes_key || setting_get(&passed, "window").is_bad ||
        setting_get(&retry, "within").is_bad || route->dedup_window_ms >= route->retry.within_ms)
        return;
    value_print(CONF_DURATION, route->dedup_window_ms, small);
    key_error(loader, &passed, "window",
              "%s: shorter than retry.within %s, so the API could have forgotten the key when it "
              "is tried again",
              small, large);
}

/* A request that waits in the store waits without its credentials: these are never kept. */
static bool needs_credentials(const struct loader *loader, const struct route_policy *route)
{
    if (route->owner_index == ROUTE_NO_OWNER || route->credentials == CREDENTIALS_STRIP)
        return false;
    enum conf_owner_kind kind = loader->conf->owners[route->owner_index].kind;
    return kind == OWNER_API_KEY || kind == OWNER_BASIC;
}

static void check_defer(struct loader *loader, const struct cursor *route_cursor,
                        const struct route_policy *route)
{
    struct cursor defer = cursor_in(route_cursor, "defer");
    if (route->defer.when == DEFER_NEVER)
        return;
    if (needs_credentials(loader, route))
        key_warning(loader, &defer, "when",
                    "a deferred request is sent without the caller's credentials, which are never "
                    "kept; if the API needs some, do not defer. credentials: strip says that it "
                    "needs none");
    if (loader->conf->own_prefix.len == 0)
        key_warning(loader, &defer, "when",
                    "own_prefix is off: a caller who was told 202 cannot ask for the state, but by "
                    "the same request");
}

void validate_retry(struct loader *loader, const struct cursor *route,
                    const struct route_policy *policy)
{
    struct cursor retry = cursor_in(route, "retry");
    if (policy->retry.is_on) {
        if (!setting_get(&retry, "when").is_bad)
            check_when(loader, &retry, policy);
        check_window(loader, route, policy);
    }
    check_defer(loader, route, policy);
}
