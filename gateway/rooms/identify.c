/* Room `identify`: whose request is it. It looks at headers and the peer's address
 * only; the body is not read and no key is looked up before it is known who asks
 * (STANDARDS AUTH-10). */
#include "gateway/flow.h"
#include "gateway/owners/owners.h"

enum flow_next room_identify(struct flow *flow)
{
    gw_assert(flow->route->owner_index < flow->conf->owner_count);
    const struct conf_owner *entry = &flow->conf->owners[flow->route->owner_index];
    const struct owner_request request = {.head = flow->head,
                                          .peer = (const struct sockaddr *)flow->peer,
                                          .now_ms = flow_now_ms(flow)};
    enum owner_verdict verdict = owner_identify(entry, &request, flow->arena, &flow->owner);
    if (flow->route->mode == ROUTE_OBSERVE) {
        /* It turns nobody away; the report tells whom enforce would. */
        flow->would_refuse = verdict == OWNER_OK          ? PROBLEM_NONE
                             : verdict == OWNER_FORBIDDEN ? PROBLEM_FORBIDDEN
                             : verdict == OWNER_MALFORMED ? PROBLEM_BAD_REQUEST
                                                          : PROBLEM_UNAUTHENTICATED;
        return flow_go(flow, FLOW_ROOM_pass);
    }
    switch (verdict) {
    case OWNER_OK:
        return flow_go(flow, flow->route->mode == ROUTE_PASS ? FLOW_ROOM_pass : FLOW_ROOM_key);
    case OWNER_NONE:
    case OWNER_BAD:
        flow->challenge = owner_challenge(entry, verdict, flow->arena);
        return flow_refuse(flow, PROBLEM_UNAUTHENTICATED, SPAN(""));
    case OWNER_FORBIDDEN:
        return flow_refuse(flow, PROBLEM_FORBIDDEN, SPAN(""));
    case OWNER_MALFORMED:
        return flow_refuse(flow, PROBLEM_BAD_REQUEST,
                           SPAN("The credentials are not well-formed: one field line with one "
                                "credential is needed."));
    case OWNER_NO_MEMORY:
        break;
    }
    return flow_refuse(flow, PROBLEM_OVERLOADED, SPAN(""));
}
