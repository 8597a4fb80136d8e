/* Pausing and resuming a route or an upstream by hand: on record first, in force
 * then. It never touches what is in flight. */
#include "gateway/admin/body.h"

#include "base/log.h"

struct pausing {
    enum pause_subject subject;
    bool clear;
    struct audit_entry audit;
};

static bool is_known(const struct call *call, enum pause_subject subject)
{
    const struct conf *conf = call->options->conf;
    if (subject == PAUSE_ROUTE)
        return call_route(call, call->parameter) != NULL;
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (span_equal(conf->upstreams[i].name, call->parameter))
            return true;
    return false;
}

static const char *subject_word(enum pause_subject subject)
{
    return subject == PAUSE_ROUTE ? "route" : "upstream";
}

static void on_paused(struct call *call)
{
    const struct pausing *pausing = call->state;
    if (!call_store_is_well(call))
        return;
    /* The name was checked against the same configuration. */
    (void)board_pause(call->options->board, pausing->subject, call->parameter, !pausing->clear);
    const struct gw_log_pair pairs[] = {{"subject", pausing->audit.subject, 0},
                                        {"actor", pausing->audit.actor, 0},
                                        {"note", pausing->audit.note, 0},
                                        GW_LOG_END};
    gw_log(GW_LOG_WARN, pausing->clear ? "route.resumed" : "route.paused", pairs);
    call_begin(call, 200);
    writer_text(&call->json, subject_word(pausing->subject), call->parameter);
    writer_bool(&call->json, "paused", !pausing->clear);
    writer_text(&call->json, "actor", pausing->audit.actor);
    writer_text(&call->json, "note", pausing->audit.note);
    writer_time(&call->json, "at", call->now_ms);
    call_end(call);
}

static void change(struct call *call, enum pause_subject subject, bool clear)
{
    struct json_doc doc;
    struct span note;
    struct pausing *pausing = arena_take(call->arena, sizeof(*pausing));
    if (pausing == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    if (!is_known(call, subject)) {
        call_problem(call, ADMIN_NOT_FOUND, "There is no %s of this name.", subject_word(subject));
        return;
    }
    if (!body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_note(call, &doc, &note))
        return;
    pausing->subject = subject;
    pausing->clear = clear;
    pausing->audit =
        (struct audit_entry){.at_ms = call->now_ms,
                             .actor = call_actor(call),
                             .action = clear ? SPAN("resume") : SPAN("pause"),
                             .subject = arena_print(call->arena, "%s:%.*s", subject_word(subject),
                                                    (int)call->parameter.len, call->parameter.ptr),
                             .note = note,
                             .detail = SPAN("")};
    call->state = pausing;
    call->op.kind = STORE_PAUSE;
    call->op.in.pause.entry = (struct pause_entry){.subject = subject,
                                                   .name = call->parameter,
                                                   .actor = pausing->audit.actor,
                                                   .note = note,
                                                   .at_ms = call->now_ms};
    call->op.in.pause.clear = clear;
    call->op.in.pause.audit = &pausing->audit;
    call_submit(call, on_paused);
}

void call_pause_route(struct call *call)
{
    change(call, PAUSE_ROUTE, false);
}

void call_resume_route(struct call *call)
{
    change(call, PAUSE_ROUTE, true);
}

void call_pause_upstream(struct call *call)
{
    change(call, PAUSE_UPSTREAM, false);
}

void call_resume_upstream(struct call *call)
{
    change(call, PAUSE_UPSTREAM, true);
}
