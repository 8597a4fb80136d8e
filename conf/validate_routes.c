/* Routes judged by themselves, against each other and against their upstream. It
 * must never change the snapshot. */
#include "conf/loader.h"

static void check_times(struct loader *loader, const struct cursor *cursor,
                        const struct route_policy *route)
{
    char small[VALUE_TEXT_BYTES], large[VALUE_TEXT_BYTES];
    struct cursor reconcile = cursor_in(cursor, "reconcile");
    bool retention_is_bad = setting_get(cursor, "retention").is_bad;
    bool retention_given = setting_get(cursor, "retention").from == FROM_FILE;
    value_print(CONF_DURATION, route->retention_ms, large);
    if (!retention_is_bad && !setting_get(cursor, "tombstone").is_bad &&
        route->tombstone_ms < route->retention_ms) {
        value_print(CONF_DURATION, route->tombstone_ms, small);
        key_error(loader, cursor,
                  setting_get(cursor, "tombstone").from == FROM_FILE ? "tombstone" : "retention",
                  "tombstone %s is shorter than retention %s", small, large);
    }
    if (!retention_is_bad && !setting_get(&reconcile, "quiet_time").is_bad &&
        route->upstream != NULL && route->retention_ms < route->quiet_ms) {
        value_print(CONF_DURATION, route->quiet_ms, small);
        key_error(loader, retention_given ? cursor : &reconcile,
                  retention_given ? "retention" : "quiet_time",
                  "retention %s is shorter than the quiet time %s, in which the request may still "
                  "take effect",
                  large, small);
    }
    struct cursor passed = cursor_in(cursor, "upstream_idempotency");
    int64_t window = cursor_number(&passed, "window");
    if (!retention_is_bad && window > route->retention_ms + route->tombstone_ms) {
        value_print(CONF_DURATION, window, small);
        key_error(loader, &passed, "window",
                  "%s: longer than retention and tombstone together, so Recibo would forget a key "
                  "that the upstream still knows",
                  small);
    }
}

static bool has_three_hundred(const struct status_set *set)
{
    for (uint16_t status = 300; status < 400; status++)
        if (status_set_has(set, status))
            return true;
    return false;
}

static void check_outcome(struct loader *loader, const struct cursor *cursor,
                          const struct route_policy *route)
{
    bool is_covered =
        has_three_hundred(&route->outcome.refused) || has_three_hundred(&route->outcome.unknown);
    for (uint32_t i = 0; i < route->outcome.rule_count; i++)
        is_covered |= has_three_hundred(&route->outcome.rules[i].status);
    if (!is_covered)
        key_warning(loader, cursor, "outcome",
                    "no rule speaks of 3xx: a redirect, for example to a login page, is recorded "
                    "as the answer and replayed; add a rule such as {status: 302, header: "
                    "{Location: \"*/login*\"}, means: refused}");
}

/* A refusal frees the key: a status that is also given after the work was done would
 * have it done twice. */
static void check_refused(struct loader *loader, const struct cursor *cursor,
                          const struct route_policy *route)
{
    struct cursor outcome = cursor_in(cursor, "outcome");
    for (uint16_t status = 200; status < 600; status++) {
        bool is_told_after_work = status < 300 || (status >= 500 && status != 501 && status != 503);
        if (!is_told_after_work || !status_set_has(&route->outcome.refused, status))
            continue;
        key_warning(loader, &outcome, "refused",
                    "%u: means \"it did not run\", and frees the key; if the API also answers it "
                    "after the work was done, a repeat does the work twice",
                    status);
        return;
    }
}

static void check_breaker(struct loader *loader, const struct cursor *cursor,
                          const struct route_policy *route)
{
    struct cursor breaker = cursor_in(cursor, "breaker");
    char small[VALUE_TEXT_BYTES], large[VALUE_TEXT_BYTES];
    struct setting overdue = setting_get(&breaker, "overdue");
    const int64_t usual = 30000; /* the default of both: said once in the documentation */
    if (!route->breaker.is_on || route->upstream == NULL || overdue.is_bad ||
        route->breaker.overdue_ms < route->upstream->answer_ms ||
        (overdue.from != FROM_FILE && route->upstream->answer_ms == usual))
        return;
    value_print(CONF_DURATION, route->breaker.overdue_ms, large);
    value_print(CONF_DURATION, route->upstream->answer_ms, small);
    key_warning(loader, &breaker, "overdue",
                "%s: not under timeouts.answer %s, so a slow upstream is noticed only by its lost "
                "answers",
                large, small);
}

static void check_evidence(struct loader *loader, const struct cursor *cursor,
                           const struct route_policy *route)
{
    const struct yaml_node *labels = yaml_member(cursor->node, SPAN("labels"));
    bool labels_are_meant = labels != NULL && (labels->is_bad || labels->count > 0);
    struct cursor evidence = cursor_in(cursor, "evidence");
    if (!labels_are_meant && !route->evidence_body && !setting_get(&evidence, "body").is_bad)
        key_error(loader, cursor, "labels",
                  "neither labels nor evidence.body: an unknown outcome would show nothing that a "
                  "person could look up; add for example labels: {order: {json: /order_no}}");
    for (uint32_t i = 0; i < route->label_count; i++)
        for (uint32_t j = 0; j < route->fingerprint.body.ignore_count; j++)
            if (route->labels[i].from == LABEL_FROM_JSON &&
                span_equal(route->labels[i].pointer.text, route->fingerprint.body.ignore[j].text)) {
                struct cursor fingerprint = cursor_in(cursor, "fingerprint");
                key_warning(loader, &fingerprint, "ignore",
                            "%s: holds the label %s, so two different values of it count as the "
                            "same request",
                            route->labels[i].pointer.text.ptr, route->labels[i].name.ptr);
            }
}

static void check_key(struct loader *loader, const struct cursor *cursor,
                      const struct route_policy *route)
{
    struct cursor key = cursor_in(cursor, "key");
    if (route->owner_index == ROUTE_NO_OWNER || route->key.from != KEY_FROM_HEADER)
        return;
    const struct conf_owner *owner = &loader->conf->owners[route->owner_index];
    bool in_header = owner->kind == OWNER_API_KEY || owner->kind == OWNER_HEADER;
    if (in_header && owner->header.len > 0 && span_equal_nocase(owner->header, route->key.name))
        key_error(loader, &key, "name", "%s: is the header of the owner %s, too",
                  route->key.name.ptr, owner->name.ptr);
}

static void check_guarded(struct loader *loader, const struct cursor *cursor,
                          const struct route_policy *route)
{
    const uint32_t safe = METHOD_GET | METHOD_HEAD | METHOD_OPTIONS;
    struct cursor match = cursor_in(cursor, "match");
    if ((route->methods & safe) != 0)
        key_error(loader, &match, "methods",
                  "GET, HEAD and OPTIONS change nothing and have no key; give them a pass route");
    check_times(loader, cursor, route);
    check_key(loader, cursor, route);
    validate_key(loader, cursor, route);
    if (route_is_local(cursor)) {
        if (route->local != NULL)
            validate_local(loader, cursor, route);
        return; /* what speaks of answers and of doubt has nothing to say there */
    }
    check_outcome(loader, cursor, route);
    check_refused(loader, cursor, route);
    check_breaker(loader, cursor, route);
    check_evidence(loader, cursor, route);
    validate_reconcile(loader, cursor, route);
    validate_retry(loader, cursor, route);
    validate_compensate(loader, cursor, route);
    if (route->replay_body_max > loader->conf->limits.answer_body_max &&
        !setting_get(cursor, "replay_body_max").is_bad)
        key_warning(loader, cursor, "replay_body_max",
                    "over limits.answer_body_max; answers between the two are cut off, not kept");
}

static void check_passed(struct loader *loader, const struct cursor *cursor,
                         const struct route_policy *route)
{
    const uint32_t unsafe = METHOD_POST | METHOD_PUT | METHOD_PATCH | METHOD_DELETE;
    struct cursor match = cursor_in(cursor, "match");
    if ((route->methods & unsafe) != 0)
        key_warning(
            loader, &match, "methods",
            "methods that change something pass unprotected: a repeat is carried out again");
}

/* What contradicts itself is wrong in every mode; what a guard needs besides is asked
 * for when the route becomes one. */
static void check_observed(struct loader *loader, const struct cursor *cursor,
                           const struct route_policy *route)
{
    const uint32_t safe = METHOD_GET | METHOD_HEAD | METHOD_OPTIONS;
    struct cursor match = cursor_in(cursor, "match");
    if ((route->methods & safe) != 0)
        key_warning(
            loader, &match, "methods",
            "GET, HEAD and OPTIONS change nothing and have no key; they cannot be enforced");
    check_times(loader, cursor, route);
    validate_key(loader, cursor, route);
    check_refused(loader, cursor, route);
    validate_key(loader, cursor, route);
    if (!loader->conf->has_admin)
        key_warning(loader, cursor, "mode",
                    "observe: nobody can read what is seen; add admin with a token that has the "
                    "right read");
}

static void check_mode(struct loader *loader, const struct cursor *cursor,
                       const struct route_policy *route)
{
    switch (route->mode) {
    case ROUTE_ENFORCE:
        check_guarded(loader, cursor, route);
        break;
    case ROUTE_PASS:
        check_passed(loader, cursor, route);
        break;
    case ROUTE_OBSERVE:
        check_observed(loader, cursor, route);
        break;
    }
}

/* ---- two routes ---- */

/* Does the prefix lie in the own prefix, or the own prefix in it? Only the first is meant. */
static bool is_under(struct span path, struct span prefix)
{
    return prefix.len > 0 && path.len + 1 >= prefix.len &&
           span_equal_nocase(span_of(path.ptr, path.len < prefix.len ? path.len : prefix.len),
                             span_of(prefix.ptr, path.len < prefix.len ? path.len : prefix.len));
}

static enum route_overlap compare_loosely(const struct route_policy *a,
                                          const struct route_policy *b)
{
    struct upstream_policy folded = {.path_case = PATH_CASE_INSENSITIVE};
    struct route_policy left = *a, right = *b;
    left.upstream = &folded;
    right.upstream = &folded;
    left.trailing_slash_same = true;
    right.trailing_slash_same = true;
    return route_compare(&left, &right);
}

static void check_mixed(struct loader *loader, const struct cursor *cursor,
                        const struct route_policy *passed, const struct route_policy *guarded)
{
    struct cursor match = cursor_in(cursor, "match");
    if (route_compare(passed, guarded) == ROUTES_AMBIGUOUS)
        key_error(loader, &match, "path",
                  "%s: a request can fit %s (line %u) as well, which is guarded, and neither is "
                  "more specific",
                  passed->path.ptr, guarded->name.ptr, guarded->line);
    else if (compare_loosely(passed, guarded) != ROUTES_APART)
        key_warning(loader, &match, "path",
                    "%s: passes requests beside the guarded %s (line %u) that differ from it in "
                    "prefix, case or slash only",
                    passed->path.ptr, guarded->name.ptr, guarded->line);
}

static void check_same_mode(struct loader *loader, const struct cursor *match,
                            const struct route_policy *a, const struct route_policy *b)
{
    if (route_compare(a, b) != ROUTES_AMBIGUOUS)
        return;
    if (a->mode == ROUTE_ENFORCE)
        key_error(loader, match, "path",
                  "%s: a request can fit %s (line %u) as well, and neither is more specific",
                  b->path.ptr, a->name.ptr, a->line);
    else
        key_warning(loader, match, "path",
                    "%s: a request can fit %s (line %u) as well; the first one gets it",
                    b->path.ptr, a->name.ptr, a->line);
}

static void check_pair(struct loader *loader, const struct cursor *first,
                       const struct cursor *second, const struct route_policy *a,
                       const struct route_policy *b)
{
    if (a->name.len > 0 && span_equal(a->name, b->name))
        key_error(loader, second, "name", "%s: is the name of the route in line %u, too",
                  b->name.ptr, a->line);
    if ((a->methods & b->methods) == 0 || a->segment_count == 0 || b->segment_count == 0)
        return;
    struct cursor match = cursor_in(second, "match");
    bool a_guards = a->mode == ROUTE_ENFORCE, b_guards = b->mode == ROUTE_ENFORCE;
    if (a_guards != b_guards) /* what is only observed passes as well */
        check_mixed(loader, a_guards ? second : first, a_guards ? b : a, a_guards ? a : b);
    else
        check_same_mode(loader, &match, a, b);
}

void validate_routes(struct loader *loader)
{
    const struct conf *conf = loader->conf;
    struct cursor root = cursor_root(loader->root);
    uint32_t count;
    const struct yaml_node *item = cursor_items(&root, "routes", &count);
    for (uint32_t i = 0; i < conf->routes.count; i++, item = items_next(item)) {
        const struct route_policy *route = &conf->routes.routes[i];
        struct cursor cursor = cursor_of(item, span_of("", 0));
        cursor.preset = setting_get(&cursor, "preset").text;
        bool mode_is_bad = setting_get(&cursor, "mode").is_bad;
        struct cursor match = cursor_in(&cursor, "match");
        if (!mode_is_bad)
            check_mode(loader, &cursor, route);
        if (route->mode != ROUTE_ENFORCE && route->local != NULL)
            validate_local(loader, &cursor, route);
        if (route->path.len > 0 && is_under(route->path, conf->own_prefix))
            key_error(loader, &match, "path", "%s: lies under own_prefix %s, which is Recibo's own",
                      route->path.ptr, conf->own_prefix.ptr);
        uint32_t others;
        const struct yaml_node *before = cursor_items(&root, "routes", &others);
        for (uint32_t j = 0; j < i; j++, before = items_next(before)) {
            struct cursor first = cursor_of(before, span_of("", 0));
            check_pair(loader, &first, &cursor, &conf->routes.routes[j], route);
        }
    }
}
