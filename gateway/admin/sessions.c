/* One-time codes and the tokens that they turn into. Must never tell by its time
 * which secret was nearly right, and never keep one in clear. */
#include "gateway/admin/sessions.h"

#include "base/text.h"

#include <stdio.h>

#define SECRET_BYTES 16

/* Its place, or `count`. Every entry is looked at, fitting or not. */
static uint32_t find(const struct session *all, uint32_t count, struct span secret,
                     int64_t now_ticks)
{
    uint8_t digest[GW_SHA256_BYTES];
    uint32_t found = count;
    if (secret.len == 0 || secret.len >= SESSION_TEXT_BYTES)
        return count;
    gw_sha256_once(secret, digest);
    for (uint32_t i = 0; i < count; i++)
        if (gw_equal_constant_time(digest, all[i].sha256, sizeof(digest)) &&
            all[i].until_ticks > now_ticks)
            found = i;
    return found;
}

/* A free entry, or the one that ends first. */
static struct session *take(struct session *all, uint32_t count)
{
    struct session *first = &all[0];
    for (uint32_t i = 1; i < count; i++)
        if (all[i].until_ticks < first->until_ticks ||
            (all[i].until_ticks == first->until_ticks && all[i].number < first->number))
            first = &all[i];
    return first;
}

/* Longer actors are kept cut, and so compared. */
static bool is_of(const struct session *session, struct span actor)
{
    if (actor.len > sizeof(session->actor))
        actor.len = sizeof(session->actor);
    return session->until_ticks > 0 && span_equal(session_actor(session), actor);
}

struct place {
    struct session *all;
    uint32_t count;
    uint32_t each; /* of one actor; beyond, his own that ends first gives way */
};

static struct session *take_for(const struct place *place, struct span actor, int64_t now_ticks)
{
    struct session *own = NULL;
    uint32_t have = 0;
    for (uint32_t i = 0; i < place->count; i++) {
        struct session *session = &place->all[i];
        if (!is_of(session, actor) || session->until_ticks <= now_ticks)
            continue;
        have++;
        if (own == NULL || session->number < own->number)
            own = session;
    }
    return have < place->each ? take(place->all, place->count) : own;
}

static uint32_t copy(char *to, size_t room, struct span from)
{
    size_t len = from.len < room ? from.len : room;
    memcpy(to, from.ptr, len);
    return (uint32_t)len;
}

static void fill(struct session *session, const char *prefix, const struct session_holder *holder,
                 char ret_text[SESSION_TEXT_BYTES])
{
    uint8_t secret[SECRET_BYTES];
    char text[27];
    gw_random(secret, sizeof(secret));
    gw_base32(secret, text);
    (void)snprintf(ret_text, SESSION_TEXT_BYTES, "%s%s", prefix, text); /* 31 bytes at most */
    gw_sha256_once(span_str(ret_text), session->sha256);
    session->rights = holder->rights;
    session->name_len = copy(session->name, sizeof(session->name), holder->name);
    session->actor_len = copy(session->actor, sizeof(session->actor), holder->actor);
}

void sessions_issue(struct sessions *sessions, const struct session_holder *holder,
                    int64_t now_ticks, char ret_code[SESSION_TEXT_BYTES])
{
    const struct place codes = {.all = sessions->codes, .count = SESSION_CODES_MAX, .each = 1};
    struct session *code = take_for(&codes, holder->actor, now_ticks);
    fill(code, "code_", holder, ret_code);
    code->number = ++sessions->made;
    code->until_ticks = now_ticks + SESSION_CODE_MS;
}

const struct session *sessions_redeem(struct sessions *sessions, struct span code,
                                      int64_t now_ticks, char ret_token[SESSION_TEXT_BYTES])
{
    uint32_t at = find(sessions->codes, SESSION_CODES_MAX, code, now_ticks);
    if (at == SESSION_CODES_MAX)
        return NULL;
    struct session *spent = &sessions->codes[at];
    const struct session_holder holder = {
        .name = session_name(spent), .actor = session_actor(spent), .rights = spent->rights};
    const struct place pages = {
        .all = sessions->pages, .count = SESSION_PAGES_MAX, .each = SESSION_PAGES_EACH};
    struct session *page = take_for(&pages, holder.actor, now_ticks);
    fill(page, "page_", &holder, ret_token);
    page->number = ++sessions->made;
    page->until_ticks = now_ticks + SESSION_PAGE_MS;
    memset(spent, 0, sizeof(*spent));
    return page;
}

const struct session *sessions_find(const struct sessions *sessions, struct span token,
                                    int64_t now_ticks)
{
    uint32_t at = find(sessions->pages, SESSION_PAGES_MAX, token, now_ticks);
    return at == SESSION_PAGES_MAX ? NULL : &sessions->pages[at];
}
