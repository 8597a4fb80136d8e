/* One operation as text. It only prints what the operator plane said. */
#include "gateway/commands/show.h"

#include "gateway/commands/words.h"

#define BODY_SHOWN_MAX 4000
#define CONTRADICTED_MEANS                                                                         \
    "evidence came against a verdict; if the key was used again on it, it may have run twice"

static void line_of(struct gw_buf *out, const char *name, struct span value)
{
    if (value.len == 0)
        return;
    (void)gw_buf_print(out, "  %-12s ", name); /* whoever flushes tells if it failed */
    words_print(out, value);
    (void)gw_buf_byte(out, '\n');
}

static void print_pair(struct gw_buf *out, const char *before, struct span value)
{
    (void)gw_buf_print(out, "%s", before); /* whoever flushes tells if it failed */
    words_print(out, value);
}

static void print_head(const json_t *operation, struct gw_buf *out)
{
    struct gw_clock *clock = gw_clock_system();
    struct span phase = words_of(operation, "phase"), reason = words_of(operation, "reason");
    words_print(out, words_of(operation, "id"));
    print_pair(out, "  ", words_of(operation, "state"));
    if (phase.len > 0 || reason.len > 0)
        print_pair(out, ", ", phase.len > 0 ? phase : reason);
    (void)gw_buf_print(out, "\n  %-12s ", "request"); /* whoever flushes tells if it failed */
    words_print(out, words_of(operation, "method"));
    print_pair(out, " ", words_of(operation, "target"));
    (void)gw_buf_byte(out, '\n');
    line_of(out, "route", words_of(operation, "route"));
    line_of(out, "owner", words_of(operation, "owner"));
    line_of(out, "key", words_of(operation, "key"));
    (void)gw_buf_print(out, "  %-12s %lld\n", "version",
                       (long long)words_number(operation, "version"));
    print_pair(out, "  came         ", words_of(operation, "created_at"));
    (void)gw_buf_add(out, SPAN(" ("));
    words_print_age(out, words_of(operation, "created_at"), clock->wall_ms(clock));
    (void)gw_buf_add(out, SPAN(" ago)\n"));
    if (words_number(operation, "repeats") > 0) {
        (void)gw_buf_print(out, "  asked again  %lld time(s)",
                           (long long)words_number(operation, "repeats"));
        print_pair(out, ", last ", words_of(operation, "last_repeat_at"));
        (void)gw_buf_byte(out, '\n');
    }
    line_of(out, "expires", words_of(operation, "expires_at"));
    line_of(out, "takes back", words_of(operation, "compensates"));
    if (words_of(operation, "compensated_by").len > 0) {
        print_pair(out, "  taken back   ", words_of(operation, "compensation_state"));
        print_pair(out, ", by ", words_of(operation, "compensated_by"));
        if (json_is_integer(json_object_get(operation, "compensation_status")))
            (void)gw_buf_print(out, ", answered %lld",
                               (long long)words_number(operation, "compensation_status"));
        (void)gw_buf_byte(out, '\n');
    }
    if (words_of(operation, "claimed_by").len > 0) {
        print_pair(out, "  on it        ", words_of(operation, "claimed_by"));
        print_pair(out, ", since ", words_of(operation, "claimed_at"));
        (void)gw_buf_byte(out, '\n');
    }
    if (words_is_true(operation, "contradicted"))
        line_of(out, "contradicted", SPAN(CONTRADICTED_MEANS));
}

static void print_labels(const json_t *operation, struct gw_buf *out)
{
    const json_t *labels = json_object_get(operation, "labels");
    if (json_object_size(labels) == 0)
        return;
    (void)gw_buf_add(out, SPAN("labels\n  ")); /* whoever flushes tells if it failed */
    words_print_labels(out, labels);
    (void)gw_buf_byte(out, '\n');
}

static void print_attempt(const json_t *attempt, struct gw_buf *out)
{
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_print(out, "  %lld  ", (long long)words_number(attempt, "number"));
    words_print(out, words_of(attempt, "end"));
    if (json_is_integer(json_object_get(attempt, "status")))
        (void)gw_buf_print(out, " %lld", (long long)words_number(attempt, "status"));
    print_pair(out, "  to ", words_of(attempt, "upstream"));
    (void)gw_buf_print(out, ", %lld bytes out, %lld in\n",
                       (long long)words_number(attempt, "bytes_out"),
                       (long long)words_number(attempt, "bytes_in"));
    print_pair(out, "     sent ", words_of(attempt, "sent_at"));
    print_pair(out, ", ended ", words_of(attempt, "ended_at"));
    print_pair(out, "\n     ", words_of(attempt, "end_means"));
    print_pair(out, "; ", words_of(attempt, "reason"));
    if (json_is_integer(json_object_get(attempt, "line")))
        (void)gw_buf_print(out, " (line %lld)", (long long)words_number(attempt, "line"));
    struct span basis = words_of(attempt, "basis");
    if (basis.len > 0 && !span_equal(basis, SPAN("none")))
        print_pair(out, ", ", basis);
    if (words_of(attempt, "trace_id").len > 0)
        print_pair(out, "\n     trace ", words_of(attempt, "trace_id"));
    (void)gw_buf_byte(out, '\n');
}

static void print_attempts(const json_t *operation, struct gw_buf *out)
{
    const json_t *attempts = json_object_get(operation, "attempts");
    if (json_array_size(attempts) > 0)
        (void)gw_buf_add(out, SPAN("attempts\n")); /* whoever flushes tells if it failed */
    for (size_t i = 0; i < json_array_size(attempts); i++)
        print_attempt(json_array_get(attempts, i), out);
}

/* A body as it is, its lines set in; what a terminal could obey is spelled out. */
static void print_body(struct span body, struct gw_buf *out)
{
    struct span rest = body.len > BODY_SHOWN_MAX ? span_of(body.ptr, BODY_SHOWN_MAX) : body;
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr);
        print_pair(out, "    ", span_of(rest.ptr, len));
        (void)gw_buf_byte(out, '\n'); /* whoever flushes tells if it failed */
        len += end == NULL ? 0 : 1;
        rest = span_of(rest.ptr + len, rest.len - len);
    }
    if (body.len > BODY_SHOWN_MAX)
        (void)gw_buf_print(out, "    (%zu bytes more)\n", body.len - BODY_SHOWN_MAX);
}

static void print_message(const json_t *operation, const char *name, struct gw_buf *out)
{
    const json_t *message = json_object_get(operation, name);
    if (!json_is_object(message))
        return;
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_print(out, "recorded %s", name);
    if (json_is_integer(json_object_get(message, "status")))
        (void)gw_buf_print(out, ", status %lld", (long long)words_number(message, "status"));
    (void)gw_buf_print(out, ", body of %lld bytes%s\n",
                       (long long)words_number(message, "body_bytes"),
                       words_is_true(message, "body_kept") ? "" : " (not kept)");
    const json_t *headers = json_object_get(message, "headers");
    for (size_t i = 0; i < json_array_size(headers); i++) {
        const json_t *pair = json_array_get(headers, i);
        const json_t *field = json_array_get(pair, 0), *value = json_array_get(pair, 1);
        print_pair(out, "  ", span_of(json_string_value(field), json_string_length(field)));
        print_pair(out, ": ", span_of(json_string_value(value), json_string_length(value)));
        (void)gw_buf_byte(out, '\n');
    }
    print_body(words_of(message, "body"), out);
}

/* What asking the upstream brought, and when it is asked next. */
static void print_probes(const json_t *operation, struct gw_buf *out)
{
    const json_t *probes = json_object_get(operation, "probes");
    struct span next = words_of(operation, "next_probe_at");
    if (json_array_size(probes) > 0 || next.len > 0)
        (void)gw_buf_add(out, SPAN("probes\n")); /* whoever flushes tells if it failed */
    for (size_t i = 0; i < json_array_size(probes); i++) {
        const json_t *probe = json_array_get(probes, i);
        print_pair(out, "  ", words_of(probe, "at"));
        print_pair(out, "  ", words_of(probe, "result"));
        print_pair(out, ": ", words_of(probe, "end"));
        if (json_is_integer(json_object_get(probe, "status")))
            (void)gw_buf_print(out, " %lld", (long long)words_number(probe, "status"));
        print_pair(out, ", ", words_of(probe, "target"));
        print_pair(out, "\n     by ", words_of(probe, "by"));
        print_pair(out, "; ", words_of(probe, "reason"));
        (void)gw_buf_byte(out, '\n');
    }
    if (next.len > 0)
        print_pair(out, "  asked next at ", next);
    if (next.len > 0)
        (void)gw_buf_byte(out, '\n');
}

static void print_comments(const json_t *operation, struct gw_buf *out)
{
    const json_t *comments = json_object_get(operation, "comments");
    if (json_array_size(comments) > 0)
        (void)gw_buf_add(out, SPAN("comments\n")); /* whoever flushes tells if it failed */
    for (size_t i = 0; i < json_array_size(comments); i++) {
        const json_t *comment = json_array_get(comments, i);
        print_pair(out, "  ", words_of(comment, "at"));
        print_pair(out, "  ", words_of(comment, "actor"));
        (void)gw_buf_byte(out, '\n');
        print_body(words_of(comment, "text"), out);
    }
}

static void print_audit(const json_t *operation, struct gw_buf *out)
{
    const json_t *audit = json_object_get(operation, "audit");
    if (json_array_size(audit) > 0)
        (void)gw_buf_add(out, SPAN("audit\n")); /* whoever flushes tells if it failed */
    for (size_t i = 0; i < json_array_size(audit); i++) {
        const json_t *entry = json_array_get(audit, i);
        if (span_equal(words_of(entry, "action"), SPAN("comment")))
            continue; /* it stands above, as it was written */
        print_pair(out, "  ", words_of(entry, "at"));
        print_pair(out, "  ", words_of(entry, "actor"));
        print_pair(out, "  ", words_of(entry, "action"));
        print_pair(out, "  ", words_of(entry, "detail"));
        if (words_of(entry, "note").len > 0)
            print_pair(out, "\n    ", words_of(entry, "note"));
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_sight(const json_t *sees, const char *name, const char *title, struct gw_buf *out)
{
    const json_t *sight = json_object_get(sees, name);
    if (!json_is_object(sight))
        return;
    (void)gw_buf_print(out, "  %-30s ", title); /* whoever flushes tells if it failed */
    if (json_is_integer(json_object_get(sight, "status")))
        (void)gw_buf_print(out, "%lld ", (long long)words_number(sight, "status"));
    if (words_of(sight, "code").len > 0) {
        words_print(out, words_of(sight, "code"));
        (void)gw_buf_add(out, SPAN(": "));
    }
    words_print(out, words_of(sight, "text"));
    (void)gw_buf_byte(out, '\n');
}

void show_client_sees(const json_t *sees, struct gw_buf *out)
{
    if (!json_is_object(sees))
        return;
    (void)gw_buf_add(out, SPAN("what a repeat gets\n")); /* whoever flushes tells if it failed */
    print_sight(sees, "now", "now", out);
    print_sight(sees, "executed", "if executed, with a response", out);
    print_sight(sees, "executed_without_response", "if executed, without one", out);
    print_sight(sees, "not_executed", "if not executed", out);
    print_sight(sees, "abandoned", "if abandoned", out);
    print_sight(sees, "reopen", "if reopened", out);
}

static void print_line_to_type(const json_t *operation, const char *command, const char *rest,
                               struct gw_buf *out)
{
    (void)gw_buf_print(out, "  recibo backlog %s ", command); /* whoever flushes tells */
    words_print(out, words_of(operation, "id"));
    (void)gw_buf_print(out, "%s\n", rest);
}

/* Lines to copy, only those that this state takes. */
static void print_next(const json_t *operation, struct gw_buf *out)
{
    static const struct {
        const char *sight, *command, *rest;
    } verdicts[] = {
        {"executed", "settle", " --verdict executed --response FILE --status 201 --note \"...\""},
        {"executed_without_response", "settle", " --verdict executed --no-response --note \"...\""},
        {"not_executed", "settle", " --verdict not_executed --note \"...\""},
        {"abandoned", "settle", " --verdict abandoned --note \"...\""},
        {"reopen", "settle", " --verdict reopen --note \"...\""},
    };
    const json_t *sees = json_object_get(operation, "client_sees");
    struct span quiet = words_of(operation, "quiet_until");
    bool is_unknown = span_equal(words_of(operation, "state"), SPAN("unknown"));
    bool has_verdict = false, may_compensate = words_is_true(operation, "may_compensate");
    for (size_t i = 0; i < GW_COUNT(verdicts); i++)
        has_verdict = has_verdict || json_is_object(json_object_get(sees, verdicts[i].sight));
    if (!has_verdict && !is_unknown && !may_compensate)
        return;
    (void)gw_buf_add(out, SPAN("next\n")); /* whoever flushes tells if it failed */
    if (may_compensate) {
        print_pair(out, "  recibo compensate ", words_of(operation, "id"));
        (void)gw_buf_add(out, SPAN(" --note \"...\"\n"));
    }
    if (is_unknown && words_of(operation, "claimed_by").len == 0)
        print_line_to_type(operation, "claim", "", out);
    if (is_unknown && words_of(operation, "next_probe_at").len > 0)
        print_line_to_type(operation, "probe", "", out);
    for (size_t i = 0; i < GW_COUNT(verdicts); i++)
        if (json_is_object(json_object_get(sees, verdicts[i].sight)))
            print_line_to_type(operation, verdicts[i].command, verdicts[i].rest, out);
    if (quiet.len > 0 && has_verdict) {
        print_pair(out, "  not_executed is taken from ", quiet);
        (void)gw_buf_add(out, SPAN(" on: until then the request may still arrive\n"));
    }
}

void show_operation(const json_t *operation, struct gw_buf *out)
{
    print_head(operation, out);
    print_labels(operation, out);
    print_attempts(operation, out);
    print_message(operation, "request", out);
    print_message(operation, "response", out);
    print_probes(operation, out);
    print_comments(operation, out);
    print_audit(operation, out);
    show_client_sees(json_object_get(operation, "client_sees"), out);
    print_next(operation, out);
}

void show_timeline(const json_t *why, struct gw_buf *out)
{
    const json_t *timeline = json_object_get(why, "timeline");
    /* Whoever flushes tells if the buffer failed. */
    words_print(out, words_of(why, "id"));
    print_pair(out, "  ", words_of(why, "state"));
    print_pair(out, ": ", words_of(why, "summary"));
    (void)gw_buf_byte(out, '\n');
    if (words_is_true(why, "contradicted"))
        (void)gw_buf_add(out, SPAN("  contradicted: " CONTRADICTED_MEANS "\n"));
    for (size_t i = 0; i < json_array_size(timeline); i++) {
        const json_t *step = json_array_get(timeline, i);
        print_pair(out, "  ", words_of(step, "at"));
        print_pair(out, "  ", words_of(step, "text"));
        if (words_of(step, "basis").len > 0)
            print_pair(out, "; ", words_of(step, "basis"));
        if (json_is_integer(json_object_get(step, "line"))) {
            print_pair(out, " by ", words_of(why, "configuration"));
            (void)gw_buf_print(out, ":%lld", (long long)words_number(step, "line"));
        }
        (void)gw_buf_byte(out, '\n');
    }
}
