/* Forwarding fields. Never a source of identity: they are for the upstream's logs and
 * links alone. */
#include "gateway/forwarded.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static bool add(struct flow *flow, struct span name, struct span value)
{
    return http1_write_field(&flow->call_head, name, value);
}

/* "192.0.2.1" or "2001:db8::1" of the peer. */
static struct span peer_text(const struct flow *flow, char *room, size_t room_len, bool *ret_is_v6)
{
    *ret_is_v6 = false;
    if (flow->peer == NULL)
        return SPAN("unknown");
    const char *done = NULL;
    if (flow->peer->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)flow->peer;
        done = inet_ntop(AF_INET, &in->sin_addr, room, (socklen_t)room_len);
    } else if (flow->peer->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)flow->peer;
        bool mapped = IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr);
        done = mapped ? inet_ntop(AF_INET, &in6->sin6_addr.s6_addr[12], room, (socklen_t)room_len)
                      : inet_ntop(AF_INET6, &in6->sin6_addr, room, (socklen_t)room_len);
        *ret_is_v6 = !mapped;
    }
    return done == NULL ? SPAN("unknown") : span_str(done);
}

/* That of the connection; a trusted front's word of its own caller goes before it. */
static struct span scheme_of(const struct flow *flow)
{
    return flow->came_over_tls ? SPAN("https") : SPAN("http");
}

static bool peer_is_trusted(const struct flow *flow)
{
    uint8_t address[16] = {0};
    if (flow->peer == NULL)
        return false;
    if (flow->peer->ss_family == AF_INET) {
        memcpy(address, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);
        memcpy(address + 12, &((const struct sockaddr_in *)flow->peer)->sin_addr, 4);
    } else if (flow->peer->ss_family == AF_INET6) {
        memcpy(address, &((const struct sockaddr_in6 *)flow->peer)->sin6_addr, 16);
    } else {
        return false;
    }
    return conf_network_find(flow->conf->trusted_proxies, flow->conf->trusted_proxy_count,
                             address) != NULL;
}

/* Every line of the field joined with ", ", then `last`. */
static struct span chain(struct flow *flow, struct span name, struct span last)
{
    struct span text = SPAN("");
    const struct http_field *field = NULL;
    for (uint32_t from = 0; (field = http_head_find(flow->head, name, from)) != NULL;
         from = (uint32_t)(field - flow->head->fields) + 1)
        text = arena_print(flow->arena, "%.*s%.*s, ", (int)text.len, text.ptr,
                           (int)field->value.len, field->value.ptr);
    return arena_print(flow->arena, "%.*s%.*s", (int)text.len, text.ptr, (int)last.len, last.ptr);
}

/* true: the trusted proxy has said it, and it is passed on. */
static bool pass_on(struct flow *flow, struct span name, bool *ok)
{
    const struct http_field *field = http_head_find(flow->head, name, 0);
    if (field == NULL)
        return false;
    *ok = *ok && add(flow, name, field->value);
    return true;
}

static bool write_for_trusted(struct flow *flow, struct span peer, struct span forwarded)
{
    static const struct span only_theirs[] = {{"X-Forwarded-Port", 16}, {"X-Forwarded-Prefix", 18}};
    bool ok = add(flow, SPAN("X-Forwarded-For"), chain(flow, SPAN("X-Forwarded-For"), peer)) &&
              add(flow, SPAN("Forwarded"), chain(flow, SPAN("Forwarded"), forwarded));
    struct span host = flow->head->authority;
    if (!pass_on(flow, SPAN("X-Forwarded-Proto"), &ok))
        ok = ok && add(flow, SPAN("X-Forwarded-Proto"), scheme_of(flow));
    if (!pass_on(flow, SPAN("X-Forwarded-Host"), &ok) && host.len > 0)
        ok = ok && add(flow, SPAN("X-Forwarded-Host"), host);
    if (!pass_on(flow, SPAN("X-Real-IP"), &ok))
        ok = ok && add(flow, SPAN("X-Real-IP"), peer);
    for (size_t i = 0; i < GW_COUNT(only_theirs); i++)
        (void)pass_on(flow, only_theirs[i], &ok); /* absent: nothing to pass on */
    return ok;
}

bool forwarded_write(struct flow *flow)
{
    char room[INET6_ADDRSTRLEN];
    bool is_v6 = false;
    struct span peer = peer_text(flow, room, sizeof(room), &is_v6);
    struct span host = flow->head->authority;
    struct span forwarded =
        arena_print(flow->arena, is_v6 ? "for=\"[%.*s]\";proto=%s" : "for=%.*s;proto=%s",
                    (int)peer.len, peer.ptr, scheme_of(flow).ptr);
    if (peer_is_trusted(flow))
        return write_for_trusted(flow, peer, forwarded);
    return add(flow, SPAN("X-Forwarded-For"), peer) &&
           add(flow, SPAN("X-Forwarded-Proto"), scheme_of(flow)) &&
           (host.len == 0 || add(flow, SPAN("X-Forwarded-Host"), host)) &&
           add(flow, SPAN("X-Real-IP"), peer) && add(flow, SPAN("Forwarded"), forwarded);
}
