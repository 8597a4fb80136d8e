/* The caller himself: who he is, and his way to a page in a browser. It must never
 * give a page more than its asker may do, nor a page to a page. */
#include "gateway/admin/access.h"
#include "gateway/admin/body.h"
#include "gateway/admin/plane.h"

static void print_rights(struct json_writer *json, uint32_t rights)
{
    static const enum admin_right all[] = {ADMIN_READ, ADMIN_EVIDENCE, ADMIN_SETTLE, ADMIN_CONTROL};
    writer_open(json, "rights", '[');
    for (size_t i = 0; i < GW_COUNT(all); i++)
        if ((rights & (uint32_t)all[i]) != 0)
            writer_text(json, NULL, span_str(access_right_name(all[i])));
    writer_close(json, ']');
}

void call_whoami(struct call *call)
{
    call_begin(call, 200);
    writer_text(&call->json, "name", call->caller.name);
    writer_text(&call->json, "actor", call->caller.actor);
    print_rights(&call->json, call->caller.rights);
    call_end(call);
}

/* ---- the link ---- */

/* The Host of this very call: a tunnel's port is not the one we listen on. */
static struct span link_host(const struct call *call)
{
    uint32_t count;
    struct span host = call_request_header(call, "Host", &count);
    return count == 1 && access_host_is_plain(host) ? host : SPAN("localhost");
}

void call_page_code(struct call *call)
{
    struct json_doc doc;
    char code[SESSION_TEXT_BYTES];
    struct gw_clock *clock = call->options->clock;
    const struct session_holder holder = {
        .name = call->caller.name, .actor = call->caller.actor, .rights = call->caller.rights};
    if (!body_parse(call, &doc) || !body_knows_members(call, &doc, 0, ""))
        return;
    if (call->caller.is_page) {
        call_problem(call, ADMIN_FORBIDDEN,
                     "A page cannot ask for another page; ask with a token: recibo page.");
        return;
    }
    sessions_issue(&call->admin->sessions, &holder, clock->ticks_ms(clock), code);
    struct span host = link_host(call);
    call_begin(call, 200);
    writer_text(&call->json, "url",
                arena_print(call->arena, "http://%.*s/#code=%s", (int)host.len, host.ptr, code));
    writer_text(&call->json, "code", span_str(code));
    writer_time(&call->json, "expires_at", call->now_ms + SESSION_CODE_MS);
    call_end(call);
}

void call_page_session(struct call *call)
{
    struct json_doc doc;
    struct span code = {"", 0};
    char token[SESSION_TEXT_BYTES];
    struct gw_clock *clock = call->options->clock;
    if (!body_parse(call, &doc) || !body_knows_members(call, &doc, 0, "code"))
        return;
    uint32_t node = body_member(&doc, 0, "code");
    if (node == JSON_NONE || !body_text(call, &doc, node, &code)) {
        call_problem(call, ADMIN_BODY_INVALID, "code must be the code of a link.");
        return;
    }
    const struct session *session =
        sessions_redeem(&call->admin->sessions, code, clock->ticks_ms(clock), token);
    if (session == NULL) {
        call_problem(call, ADMIN_UNAUTHENTICATED,
                     "The code is not good, was used, or its minute is over. Ask for a new link: "
                     "recibo page.");
        return;
    }
    call_begin(call, 200);
    writer_text(&call->json, "token", span_str(token));
    writer_text(&call->json, "name", session_name(session));
    writer_text(&call->json, "actor", session_actor(session));
    print_rights(&call->json, session->rights);
    writer_time(&call->json, "expires_at", call->now_ms + SESSION_PAGE_MS);
    call_end(call);
}
