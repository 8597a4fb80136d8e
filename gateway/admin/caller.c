/* Finds out who calls. It must never believe a header that anybody can set, and never
 * take a peer's user id from anyone but the kernel. */
#include "gateway/admin/caller.h"

#include "gateway/admin/access.h"
#include "gateway/admin/call.h"
#include "gateway/admin/plane.h"
#include "policy/utf8.h"

#include <event2/bufferevent.h>
#include <event2/http.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void caller_look(int fd, struct caller_peer *ret)
{
    struct sockaddr_storage peer = {0};
    socklen_t peer_len = sizeof(peer);
    struct ucred who = {0};
    socklen_t who_len = sizeof(who);
    *ret = (struct caller_peer){0};
    if (fd < 0 || getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0)
        return;
    if (peer.ss_family == AF_UNIX) {
        ret->has_uid =
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &who_len) == 0 && who_len == sizeof(who);
        ret->uid = who.uid;
    } else if (peer.ss_family == AF_INET) {
        static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
        memcpy(ret->address, mapped, sizeof(mapped));
        memcpy(ret->address + 12, &((const struct sockaddr_in *)&peer)->sin_addr, 4);
        ret->has_address = true;
    } else if (peer.ss_family == AF_INET6) {
        memcpy(ret->address, &((const struct sockaddr_in6 *)&peer)->sin6_addr, 16);
        ret->has_address = true;
    }
}

static void look_at_peer(const struct call *call, struct caller_peer *ret)
{
    struct evhttp_connection *connection = evhttp_request_get_connection(call->request);
    caller_look(
        connection == NULL ? -1 : bufferevent_getfd(evhttp_connection_get_bufferevent(connection)),
        ret);
}

bool caller_person_is_sound(struct span name)
{
    if (name.len == 0 || name.len > CALLER_PERSON_BYTES_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++)
        if ((unsigned char)name.ptr[i] < 0x20 || name.ptr[i] == 0x7f)
            return false;
    return utf8_is_sound(name);
}

/* The owner of this process and root may do what they like with it anyway; the
 * socket's file mode lets nobody else in. */
static enum caller_verdict find_by_uid(struct call *call, struct caller *ret)
{
    struct caller_peer peer;
    look_at_peer(call, &peer);
    if (!peer.has_uid || (peer.uid != 0 && peer.uid != geteuid()))
        return CALLER_NONE;
    struct span actor = arena_print(call->arena, "uid:%u", peer.uid);
    if (actor.len == 0)
        return CALLER_NONE;
    *ret = (struct caller){.name = actor, .actor = actor, .rights = ADMIN_ANY};
    return CALLER_KNOWN;
}

static bool is_from_proxy(const struct call *call)
{
    const struct conf *conf = call->conf;
    struct caller_peer peer;
    look_at_peer(call, &peer);
    return peer.has_address &&
           conf_network_find(conf->actor_from, conf->actor_from_count, peer.address) != NULL;
}

/* A proxy signs its people in itself and holds one token for all of them. */
static enum caller_verdict name_person(struct call *call, struct caller *ret)
{
    struct span header = call->conf->actor_header;
    uint32_t count = 0;
    if (header.len == 0 || !is_from_proxy(call))
        return CALLER_KNOWN;
    struct span name = arena_print(call->arena, "%.*s", (int)header.len, header.ptr);
    struct span person = call_request_header(call, name.ptr, &count);
    if (count == 0)
        return CALLER_KNOWN;
    if (count > 1 || !caller_person_is_sound(person))
        return CALLER_UNNAMED;
    ret->actor = arena_print(call->arena, "token:%.*s/%.*s", (int)ret->name.len, ret->name.ptr,
                             (int)person.len, person.ptr);
    ret->name = person;
    return ret->actor.len > 0 ? CALLER_KNOWN : CALLER_WRONG;
}

static enum caller_verdict find_by_token(struct call *call, struct span text, struct caller *ret)
{
    const struct gw_clock *clock = call->options->clock;
    const struct conf_token *token = access_token(call->conf, text);
    if (token != NULL) {
        *ret = (struct caller){
            .name = token->name,
            .actor = arena_print(call->arena, "token:%.*s", (int)token->name.len, token->name.ptr),
            .rights = token->rights};
        return ret->actor.len > 0 ? name_person(call, ret) : CALLER_WRONG;
    }
    const struct session *session =
        sessions_find(&call->admin->sessions, text, clock->ticks_ms(call->options->clock));
    if (session == NULL)
        return CALLER_WRONG;
    *ret = (struct caller){.rights = session->rights, .is_page = true};
    /* Copies: another call may take the entry while this one waits. */
    bool ok = arena_copy(call->arena, session_name(session), &ret->name) &&
              arena_copy(call->arena, session_actor(session), &ret->actor);
    return ok ? CALLER_KNOWN : CALLER_WRONG;
}

enum caller_verdict caller_find(struct call *call, struct caller *ret)
{
    uint32_t count;
    struct span text = access_bearer(call_request_header(call, "Authorization", &count));
    if (count > 1)
        return CALLER_WRONG;
    if (count == 1)
        return find_by_token(call, text, ret);
    return call->conf->admin.is_unix ? find_by_uid(call, ret) : CALLER_NONE;
}
