/* The promise of a configuration in plain words: what is sent at most once, what
 * may make it be sent again and who says so, what becomes unknown, what is kept.
 * It must never promise more than the mechanism holds.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever prints
 * it looks at that once, at the end. */
#include "conf/promise.h"
#include "conf/loader.h"

#define BASIS_COLUMN 48

static const char *plural(uint32_t count)
{
    return count == 1 ? "" : "s";
}

static void put(struct gw_buf *out, const char *text)
{
    (void)gw_buf_add(out, span_str(text));
}

static void put_span(struct gw_buf *out, struct span text)
{
    char shown[SHOWN_BYTES];
    value_shown(text, shown);
    put(out, shown);
}

static void put_duration(struct gw_buf *out, int64_t ms)
{
    char text[VALUE_TEXT_BYTES];
    value_print_duration(ms, text);
    put(out, text);
}

/* ---- rules ---- */

static void put_json_condition(const struct rule_json *condition, struct gw_buf *out)
{
    static const char *const tests[] = {"", " exists", " absent", " empty"};
    put_span(out, condition->pointer.text.len == 0 ? SPAN("(the whole)") : condition->pointer.text);
    if (condition->test != RULE_EQUALS) {
        put(out, tests[condition->test]);
        return;
    }
    put(out, condition->string_only ? " \"" : " ");
    put_span(out, condition->text);
    put(out, condition->string_only ? "\"" : "");
}

void promise_rule(const struct answer_rule *rule, struct gw_buf *out)
{
    put(out, rule->has_status ? "HTTP " : "any status");
    value_print_statuses(&rule->status, out);
    for (uint32_t i = 0; i < rule->header_count; i++) {
        put(out, ", ");
        put_span(out, rule->headers[i].name);
        put(out, ": ");
        put_span(out, rule->headers[i].glob);
    }
    if (rule->media_type.len > 0) {
        put(out, ", type ");
        put_span(out, rule->media_type);
    }
    for (uint32_t i = 0; i < rule->json_count; i++) {
        put(out, ", JSON ");
        put_json_condition(&rule->json[i], out);
    }
    if (rule->text.len > 0) {
        put(out, ", text \"");
        put_span(out, rule->text);
        put(out, "\"");
    }
}

/* ---- what may make it be sent again ---- */

static void end_column(struct gw_buf *out, size_t start)
{
    for (size_t len = out->len - start; len < BASIS_COLUMN; len++)
        (void)gw_buf_byte(out, ' ');
    put(out, out->len - start > BASIS_COLUMN ? "  " : "");
}

static void basis_line(struct gw_buf *out, const char *what, const char *basis)
{
    put(out, "    ");
    size_t start = out->len;
    put(out, what);
    end_column(out, start);
    put(out, basis);
    put(out, "\n");
}

static void declared_line(struct gw_buf *out, uint32_t line)
{
    (void)gw_buf_print(out, "declared by you (line %u)\n", line);
}

/* Who declared the list of the refused: the file, a preset, or nobody but the default. */
static void declared_list(const struct conf *conf, const struct route_policy *route,
                          struct gw_buf *out)
{
    if (route->outcome.refused_line > 0) {
        declared_line(out, route->outcome.refused_line);
        return;
    }
    struct cursor root = cursor_root(conf_box_of(conf)->root);
    uint32_t count;
    const struct yaml_node *item = cursor_items(&root, "routes", &count);
    for (uint32_t i = 0; i < route->index; i++)
        item = items_next(item);
    struct cursor cursor = cursor_of(item, span_of("", 0));
    struct setting preset = setting_get(&cursor, "preset");
    if (preset.from == FROM_FILE)
        (void)gw_buf_print(out, "declared by the preset (line %u)\n", preset.node->line);
    else
        put(out, "declared by the default of outcome.refused\n");
}

static void promise_again(const struct conf *conf, const struct route_policy *route,
                          struct gw_buf *out)
{
    basis_line(out, "no byte of it left", "proved by Recibo");
    for (uint32_t i = 0; i < route->outcome.rule_count; i++) {
        const struct answer_rule *rule = &route->outcome.rules[i];
        if (rule->means != MEANS_REFUSED)
            continue;
        put(out, "    ");
        size_t start = out->len;
        promise_rule(rule, out);
        end_column(out, start);
        declared_line(out, rule->line);
    }
    if (!status_set_is_empty(&route->outcome.refused)) {
        put(out, "    ");
        size_t start = out->len;
        put(out, "HTTP ");
        value_print_statuses(&route->outcome.refused, out);
        end_column(out, start);
        declared_list(conf, route, out);
    }
    if (promise_resends(route))
        basis_line(out, "unknown, but the API still knows the key",
                   "declared by you (upstream_idempotency)");
    if (conf->has_admin)
        basis_line(out, "an operator says that it did not run", "asserted, audited");
    if (route->probe.is_on && route->probe.has_absent && route->probe.absent_is_proof)
        basis_line(out, "the probe does not find it (quiet time over)", "asserted, audited");
    put(out, "    ");
    size_t start = out->len;
    if (route->key.from == KEY_FROM_CONTENT) {
        put_duration(out, route->key.window_ms);
        put(out, " have passed since it was told");
        end_column(out, start);
        put(out, "it is a new operation then\n");
        return;
    }
    put_duration(out, route->retention_ms + (route->rerun_on_expiry ? 0 : route->tombstone_ms));
    put(out, " have passed since the answer");
    end_column(out, start);
    put(out, route->rerun_on_expiry ? "on_expiry: rerun\n" : "the key is forgotten\n");
}

/* ---- what becomes unknown ---- */

static void promise_unknown(const struct route_policy *route, struct gw_buf *out)
{
    const struct upstream_policy *upstream = route->upstream;
    put(out, "  It becomes unknown, and waits for a person");
    put(out, route->probe.is_on ? " or the probe, after\n    no answer in "
                                : ", after\n    no answer in ");
    put_duration(out, upstream->answer_ms);
    put(out, " (Recibo listens ");
    put_duration(out, upstream->late_ms);
    put(out, " longer), a cut or broken answer");
    if (!status_set_is_empty(&route->outcome.unknown)) {
        put(out, ", HTTP ");
        value_print_statuses(&route->outcome.unknown, out);
    }
    put(out, "\n");
    for (uint32_t i = 0; i < route->outcome.rule_count; i++) {
        const struct answer_rule *rule = &route->outcome.rules[i];
        if (rule->means != MEANS_UNKNOWN)
            continue;
        put(out, "    ");
        promise_rule(rule, out);
        (void)gw_buf_print(out, " (line %u)\n", rule->line);
    }
}

static void promise_completed_rules(const struct route_policy *route, struct gw_buf *out)
{
    for (uint32_t i = 0; i < route->outcome.rule_count; i++) {
        const struct answer_rule *rule = &route->outcome.rules[i];
        if (rule->means != MEANS_COMPLETED)
            continue;
        put(out, "  Recorded as carried out, whatever the lists say: ");
        promise_rule(rule, out);
        (void)gw_buf_print(out, " (line %u)\n", rule->line);
    }
}

/* ---- kept, compared, whose ---- */

static void promise_kept(const struct route_policy *route, struct gw_buf *out)
{
    if (route->key.from == KEY_FROM_CONTENT) {
        put(out, "  Answers are replayed for ");
        put_duration(out, route->key.window_ms);
        put(out, route->key.only_undelivered ? ", until one has arrived" : "");
        put(out, "; after that the same content is a new operation. Receipts are kept for ");
        put_duration(out, route->retention_ms);
        put(out, ".\n");
        return;
    }
    put(out, "  Answers are replayed for ");
    put_duration(out, route->retention_ms);
    if (route->rerun_on_expiry) {
        put(out, "; after that a repeat is a new operation.\n");
        return;
    }
    put(out, "; after that repeats are refused for another ");
    put_duration(out, route->tombstone_ms);
    put(out, ".\n");
}

static void put_pointers(struct gw_buf *out, const char *before,
                         const struct json_pointer *pointers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put(out, i == 0 ? before : i + 1 == count ? " and " : ", ");
        put_span(out, pointers[i].text.len == 0 ? SPAN("(the whole)") : pointers[i].text);
    }
}

void promise_compared(const struct route_policy *route, struct gw_buf *out)
{
    static const char *const modes[] = {"JSON body", "form fields", "body, byte for byte",
                                        "parts of the multipart body"};
    const struct fingerprint_policy *fingerprint = &route->fingerprint;
    put(out, "method, target, ");
    put(out, modes[fingerprint->mode]);
    put_pointers(out, " without ", fingerprint->body.ignore, fingerprint->body.ignore_count);
    put_pointers(out, ", of it only ", fingerprint->body.only, fingerprint->body.only_count);
    for (uint32_t i = 0; i < fingerprint->header_count; i++) {
        put(out, i == 0 ? "; headers " : ", ");
        put_span(out, fingerprint->headers[i]);
    }
}

static void put_source(struct gw_buf *out, const struct key_source *source)
{
    switch (source->from) {
    case KEY_FROM_HEADER:
        put(out, "the header ");
        put_span(out, source->name);
        break;
    case KEY_FROM_JSON:
        put(out, "the JSON member ");
        put_span(out, source->pointer.text);
        break;
    case KEY_FROM_FORM:
        put(out, "the form field ");
        put_span(out, source->name);
        break;
    case KEY_FROM_PATH:
        put(out, "the path's {");
        put_span(out, source->name);
        put(out, "}");
        break;
    case KEY_FROM_ALL:
        for (uint32_t i = 0; i < source->part_count; i++) {
            put(out, i == 0 ? "" : i + 1 == source->part_count ? " and " : ", ");
            const struct key_source *part = &source->parts[i];
            gw_assert(part->from != KEY_FROM_ALL);
            put(out, part->from == KEY_FROM_HEADER ? "the header "
                     : part->from == KEY_FROM_JSON ? "the JSON member "
                     : part->from == KEY_FROM_FORM ? "the form field "
                                                   : "the path's ");
            put_span(out, part->from == KEY_FROM_JSON ? part->pointer.text : part->name);
        }
        put(out, " together");
        break;
    case KEY_FROM_CONTENT:
        put(out, "the content itself: alike are what is compared, and of one owner");
        break;
    }
}

void promise_key(const struct route_policy *route, struct gw_buf *out)
{
    put_source(out, &route->key);
    if (route->key.from == KEY_FROM_CONTENT)
        return;
    (void)gw_buf_print(out, ", %u to %u bytes%s%s", route->key.grammar.bytes_min,
                       route->key.grammar.bytes_max, route->key.grammar.uuid ? ", a uuid" : "",
                       route->key.grammar.strict ? ", in quotes" : "");
    if (route->key.grammar.pattern.len > 0) {
        put(out, ", fitting ");
        put_span(out, route->key.grammar.pattern);
    }
    put(out, route->key.required ? "" : "; a request without it passes unprotected");
}

void promise_owner(const struct conf_owner *owner, struct gw_buf *out)
{
    put_span(out, owner->name);
    switch (owner->kind) {
    case OWNER_API_KEY:
        put(out, ", by a secret in ");
        put_span(out, owner->header);
        break;
    case OWNER_BASIC:
        put(out, ", by user name and password");
        break;
    case OWNER_HEADER:
        put(out, ", as a trusted proxy says in ");
        put_span(out, owner->header);
        break;
    case OWNER_NETWORK:
        put(out, ", by the caller's address; all callers of one range share one key space");
        break;
    case OWNER_JWT:
        put(out, ", by tokens that ");
        put_span(out, owner->jwt->issuer);
        put(out, " has signed; the owner is issuer and subject");
        break;
    case OWNER_STATIC:
        put(out, ": everybody is ");
        put_span(out, owner->owner);
        put(out, "; all callers share one key space and can read each other's answers");
        break;
    }
}

/* ---- the whole ---- */

/* What is sent, what may make it be sent again, what becomes unknown. */
static void promise_sending(const struct conf *conf, const struct route_policy *route,
                            struct gw_buf *out)
{
    put(out, route->key.from == KEY_FROM_CONTENT ? "\n  One content of one owner"
                                                 : "\n  One key of one owner");
    put(out, route->scope_gateway ? ", over all routes with scope: gateway, is sent to "
                                  : " is sent to ");
    put_span(out, route->upstream->name);
    put(out, " at most once. It may be sent again only if\n");
    promise_again(conf, route, out);
    promise_retry(route, out);
    promise_defer(route, out);
    promise_unknown(route, out);
    promise_probe(route, out);
    promise_completed_rules(route, out);
    promise_compensate(route, out);
}

static void promise_guarded(const struct conf *conf, const struct route_policy *route,
                            struct gw_buf *out)
{
    if (route->local != NULL)
        promise_local(route, out);
    else
        promise_sending(conf, route, out);
    promise_kept(route, out);
    put(out, "  Compared: ");
    promise_compared(route, out);
    put(out, ".\n  The key: ");
    promise_key(route, out);
    put(out, ".\n  The owner: ");
    promise_owner(&conf->owners[route->owner_index], out);
    put(out, ".\n");
    promise_operation_id(route, out);
    if (route->passes_key) {
        put(out, "  The key is passed on to ");
        put_span(out, route->upstream->name);
        put(out, ", which deduplicates by it, too.\n");
    }
}

static void promise_observed(const struct conf *conf, const struct route_policy *route,
                             struct gw_buf *out)
{
    put(out, "  It promises nothing yet: each request passes as it came, and a repeat is carried "
             "out again.\n  What enforce would do is noted on the side");
    put(out, conf->has_admin ? "; recibo report tells it.\n"
                             : ", but nobody can read it: there is no operator's plane.\n");
    put(out, "  Compared: ");
    promise_compared(route, out);
    put(out, ".\n  The key: ");
    promise_key(route, out);
    put(out, ".\n  The owner: ");
    if (route->owner_index == ROUTE_NO_OWNER)
        put(out, "none is named, so all callers are taken for one");
    else
        promise_owner(&conf->owners[route->owner_index], out);
    put(out, ". Nobody is turned away.\n");
}

void promise_title(const struct route_policy *route, struct gw_buf *out)
{
    put_span(out, route->name);
    static const char *const modes[] = {"   enforced   ", "   passes   ", "   observed   "};
    gw_assert(route->mode < GW_COUNT(modes));
    put(out, modes[route->mode]);
    print_methods(route->methods, out);
    put(out, " ");
    put_span(out, route->path);
    put(out, " -> ");
    put_span(out, route->local != NULL ? SPAN("a local effect") : route->upstream->name);
}

static void promise_outage(const struct conf *conf, struct gw_buf *out)
{
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        if (route->mode != ROUTE_ENFORCE || route->local != NULL)
            continue;
        put(out, "An outage of ");
        put_span(out, route->upstream->name);
        if (route->breaker.is_on)
            (void)gw_buf_print(out, " can leave at most %u + %u unknowns on ",
                               route->route_in_flight_max, route->breaker.unknowns);
        else
            (void)gw_buf_print(out,
                               " can leave unknowns without end (breaker: none), %u at a time, "
                               "on ",
                               route->route_in_flight_max);
        put_span(out, route->name);
        put(out, ".\n");
    }
}

static void promise_end(const struct conf *conf, struct gw_buf *out)
{
    char worst[VALUE_TEXT_BYTES], most[VALUE_TEXT_BYTES];
    value_print_size(conf_memory_worst(conf), worst);
    value_print_size(conf->limits.memory_max, most);
    (void)gw_buf_print(out, "Memory at worst %s of %s:\n", worst, most);
    conf_memory_explain(conf, out);
    if (span_equal(conf->store_kind, SPAN("sqlite")))
        put(out, "Receipts survive a crash and a power cut of this host, not the loss of its "
                 "disk.\n");
    else
        put(out, "Receipts are kept in memory: they do NOT survive the end of the process. For "
                 "tests only.\n");
}

static void promise_head(const struct conf *conf, struct gw_buf *out)
{
    struct cursor root = cursor_root(conf_box_of(conf)->root);
    struct cursor store = cursor_in(&root, "store");
    put_span(out, conf->file);
    (void)gw_buf_print(out, " is valid: %u route%s, %u upstream%s, store ", conf->routes.count,
                       plural(conf->routes.count), conf->upstream_count,
                       plural(conf->upstream_count));
    put_span(out, conf->store_kind);
    if (span_equal(conf->store_kind, SPAN("sqlite"))) {
        put(out, " ");
        put_span(out, cursor_text(&store, "path"));
    }
    put(out, ".\n\n");
}

void conf_promise_route(const struct conf *conf, const struct route_policy *route,
                        struct gw_buf *out)
{
    promise_title(route, out);
    if (route->mode == ROUTE_ENFORCE) {
        promise_guarded(conf, route, out);
        return;
    }
    put(out, "   not protected\n");
    if (route->mode == ROUTE_OBSERVE)
        promise_observed(conf, route, out);
}

void conf_promise(const struct conf *conf, struct gw_buf *out)
{
    promise_head(conf, out);
    for (uint32_t i = 0; i < conf->routes.count; i++)
        conf_promise_route(conf, &conf->routes.routes[i], out);
    put(out, "\n");
    promise_tls(conf, out);
    promise_outage(conf, out);
    promise_end(conf, out);
}
