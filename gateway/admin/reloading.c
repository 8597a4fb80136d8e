/* Reading the configuration anew on an operator's word. It only asks and tells: whoever has
 * the parts of the process does it. */
#include "gateway/admin/body.h"
#include "gateway/admin/plane.h"
#include "gateway/standing.h"

static void print_text_or_null(struct json_writer *json, const char *name, struct span text,
                               bool is_secret)
{
    if (text.ptr != NULL && !is_secret)
        writer_text(json, name, text);
    else
        writer_text_or_null(json, name, span_of("", 0));
}

static void print_changes(struct json_writer *json, const struct conf_changes *changes)
{
    writer_open(json, "changes", '[');
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct conf_change *change = &changes->items[i];
        writer_open(json, NULL, '{');
        writer_text(json, "key", change->path);
        print_text_or_null(json, "before", change->before, change->is_secret);
        print_text_or_null(json, "after", change->after, change->is_secret);
        writer_number(json, "line", change->line);
        writer_text(json, "applies", change->needs_restart ? SPAN("restart") : SPAN("now"));
        writer_close(json, '}');
    }
    writer_close(json, ']');
    writer_number(json, "need_restart", changes->restart_count);
}

static void print_drops(struct json_writer *json, const struct standing_drops *drops)
{
    writer_open(json, "dropped", '[');
    for (uint32_t i = 0; drops != NULL && i < drops->count; i++) {
        const struct standing_drop *drop = &drops->items[i];
        writer_open(json, NULL, '{');
        writer_text(json, "route", drop->route);
        writer_number(json, "count", (int64_t)drop->count);
        writer_bool(json, "at_least", drop->at_least);
        writer_text(json, "state", span_str(drop->state));
        writer_text(json, "why", span_str(drop->why));
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

static void print_findings(struct json_writer *json, const struct conf_report *report,
                           const char *name, bool warnings)
{
    writer_open(json, name, '[');
    for (uint32_t i = 0; report != NULL && i < report->count; i++)
        if (report->findings[i].is_warning == warnings)
            writer_text(json, NULL, span_str(report->findings[i].text));
    writer_close(json, ']');
}

static void print_done(struct call *call, const struct admin_reload_result *result)
{
    call_begin(call, 200);
    writer_bool(&call->json, "reloaded", true);
    writer_text(&call->json, "configuration", result->configuration);
    writer_text(&call->json, "detail", result->text);
    print_changes(&call->json, &result->changes);
    print_drops(&call->json, result->drops);
    print_findings(&call->json, result->report, "warnings", true);
    call_end(call);
}

static void print_refusal(struct call *call, enum admin_problem problem,
                          const struct admin_reload_result *result)
{
    call_begin_problem(call, problem, "%.*s", (int)result->text.len, result->text.ptr);
    if (problem == ADMIN_CONF_INVALID)
        print_findings(&call->json, result->report, "errors", false);
    if (problem == ADMIN_PROTECTION_DROPPED)
        print_drops(&call->json, result->drops);
    call_end(call);
}

static void on_reloaded(void *ctx, const struct admin_reload_result *result)
{
    struct call *call;
    GW_CAST(call, ctx, call, CALL_TAG);
    bool *is_outside = call->state;
    switch (result->end) {
    case ADMIN_RELOAD_DONE:
        print_done(call, result);
        break;
    case ADMIN_RELOAD_INVALID:
        print_refusal(call, ADMIN_CONF_INVALID, result);
        break;
    case ADMIN_RELOAD_DROPS:
        print_refusal(call, ADMIN_PROTECTION_DROPPED, result);
        break;
    case ADMIN_RELOAD_RESTART:
        print_refusal(call, ADMIN_NEEDS_RESTART, result);
        break;
    case ADMIN_RELOAD_BUSY:
        print_refusal(call, ADMIN_RELOADING, result);
        break;
    case ADMIN_RELOAD_FAILED:
        print_refusal(call, ADMIN_STORE_UNAVAILABLE, result);
        break;
    }
    if (*is_outside) /* else whoever called the handler does it */
        call_settle_up(call);
}

void call_reload(struct call *call)
{
    struct json_doc doc;
    struct span note = {"", 0};
    bool accepts = false;
    bool *is_outside = arena_take(call->arena, sizeof(*is_outside));
    if (is_outside == NULL || call->options->reload == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "There is no memory for it.");
        return;
    }
    if (!body_parse(call, &doc) ||
        !body_knows_members(call, &doc, 0, "note accept_dropped_routes") ||
        !body_optional_note(call, &doc, &note) ||
        !body_flag(call, &doc, "accept_dropped_routes", &accepts))
        return;
    call->state = is_outside;
    *is_outside = false;
    const struct admin_reload wish = {.accepts_dropped = accepts,
                                      .actor = call_actor(call),
                                      .note = note,
                                      .done = on_reloaded,
                                      .ctx = call};
    call->options->reload(call->options->reload_ctx, &wish);
    /* Answered calls are settled up by the dispatcher, which has this one until here. */
    if (!call->is_answered)
        *is_outside = true;
}
