/* Pausing and resuming a route or an upstream by hand: on record first, in force
 * then. It never touches what is in flight. */
#include "gateway/admin/body.h"

#include "base/log.h"

struct pausing {
    enum pause_subject subject;
    bool clear, was_paused;
    struct audit_entry audit;
};

static bool is_known(const struct call *call, enum pause_subject subject)
{
    const struct conf *conf = call->conf;
    const struct route_policy *route = call_route(call, call->parameter);
    if (subject == PAUSE_ROUTE) /* a compensation is held with its route */
        return route != NULL && !route->is_compensation;
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        if (span_equal(conf->upstreams[i].name, call->parameter))
            return true;
    return false;
}

static bool concerns(const struct call *call, enum pause_subject subject,
                     const struct route_policy *route)
{
    struct span upstream = route->upstream == NULL ? SPAN("") : route->upstream->name;
    return span_equal(subject == PAUSE_ROUTE ? route->name : upstream, call->parameter);
}

static bool is_paused(const struct call *call, enum pause_subject subject)
{
    const struct route_table *routes = &call->conf->routes;
    uint32_t bit = subject == PAUSE_ROUTE ? HELD_BY_ROUTE : HELD_BY_UPSTREAM;
    for (uint32_t i = 0; i < routes->count; i++)
        if (concerns(call, subject, &routes->routes[i]) &&
            (board_held_by(call->options->board, &routes->routes[i]) & bit) != 0)
            return true;
    return false;
}

static const char *subject_word(enum pause_subject subject)
{
    return subject == PAUSE_ROUTE ? "route" : "upstream";
}

/* After a resume: nobody is to believe that a route is open while something else holds it. */
static void print_still(struct call *call, const struct pausing *pausing)
{
    const struct route_table *routes = &call->conf->routes;
    writer_open(&call->json, "still", '[');
    for (uint32_t i = 0; pausing->clear && i < routes->count; i++) {
        const struct route_policy *route = &routes->routes[i];
        if (route->mode != ROUTE_ENFORCE || !concerns(call, pausing->subject, route))
            continue;
        uint32_t why = board_held_by(call->options->board, route);
        const struct {
            uint32_t bit;
            const char *word;
            struct span name;
        } holds[] = {{HELD_BY_ROUTE, "route", route->name},
                     {HELD_BY_UPSTREAM, "upstream",
                      route->upstream == NULL ? SPAN("") : route->upstream->name},
                     {HELD_BY_BREAKER, "breaker", route->name}};
        for (size_t k = 0; k < GW_COUNT(holds); k++)
            if ((why & holds[k].bit) != 0)
                writer_text(&call->json, NULL,
                            arena_print(call->arena, "%s:%.*s", holds[k].word,
                                        (int)holds[k].name.len, holds[k].name.ptr));
    }
    writer_close(&call->json, ']');
}

static void print_passing(struct call *call, const struct pausing *pausing)
{
    const struct route_table *routes = &call->conf->routes;
    writer_open(&call->json, "passing", '[');
    for (uint32_t i = 0; i < routes->count; i++)
        if (pausing->subject == PAUSE_UPSTREAM && routes->routes[i].mode != ROUTE_ENFORCE &&
            concerns(call, pausing->subject, &routes->routes[i]))
            writer_text(&call->json, NULL, routes->routes[i].name);
    writer_close(&call->json, ']');
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
    writer_bool(&call->json, "changed", pausing->was_paused == pausing->clear);
    print_still(call, pausing);
    print_passing(call, pausing);
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
    const struct route_policy *route = call_route(call, call->parameter);
    if (subject == PAUSE_ROUTE && route->mode != ROUTE_ENFORCE) {
        call_problem(call, ADMIN_NOT_GUARDED,
                     "The route %.*s passes requests through: it has no operations to hold back. "
                     "To stop its traffic, take it out of the configuration.",
                     (int)route->name.len, route->name.ptr);
        return;
    }
    if (!body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "note") ||
        !body_note(call, &doc, &note))
        return;
    pausing->subject = subject;
    pausing->clear = clear;
    pausing->was_paused = is_paused(call, subject);
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
