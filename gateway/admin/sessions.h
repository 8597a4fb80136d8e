/* Codes and tokens that this process made itself, for a page in a browser. They live
 * in memory alone: bounded, short-lived, forgotten at the end of the process. Only
 * digests are kept. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_SESSIONS_H
#define RECIBO_GATEWAY_ADMIN_SESSIONS_H

#include "base/digest.h"

#define SESSION_CODES_MAX   16
#define SESSION_PAGES_MAX   64
#define SESSION_PAGES_EACH  8 /* of one actor */
#define SESSION_CODE_MS     ((int64_t)60 * 1000)
#define SESSION_PAGE_MS     ((int64_t)12 * 3600 * 1000)
#define SESSION_TEXT_BYTES  33 /* "page_", 26 characters and a NUL, and one to spare */
#define SESSION_NAME_BYTES  64
#define SESSION_ACTOR_BYTES 256

/* Whose rights they carry. */
struct session {
    uint8_t sha256[GW_SHA256_BYTES];
    int64_t until_ticks; /* 0: free */
    uint64_t number;     /* in the order of their making: two may end in one millisecond */
    uint32_t rights;     /* enum admin_right */
    uint32_t name_len, actor_len;
    char name[SESSION_NAME_BYTES];
    char actor[SESSION_ACTOR_BYTES];
};
static inline struct span session_name(const struct session *session)
{
    return span_of(session->name, session->name_len);
}
static inline struct span session_actor(const struct session *session)
{
    return span_of(session->actor, session->actor_len);
}

struct sessions {
    struct session codes[SESSION_CODES_MAX];
    struct session pages[SESSION_PAGES_MAX];
    uint64_t made;
};

struct session_holder {
    struct span name, actor; /* longer ones are cut */
    uint32_t rights;
};
/* A new code. It takes the place of the actor's last one: nobody pushes out the codes of
 * others. Where all are taken, the one that ends first gives way. */
void sessions_issue(struct sessions *sessions, const struct session_holder *holder,
                    int64_t now_ticks, char ret_code[SESSION_TEXT_BYTES]);
/* The code for a page's token; the code is spent. An actor's own oldest page gives way
 * where he has SESSION_PAGES_EACH. NULL: it is not good (any more). */
const struct session *sessions_redeem(struct sessions *sessions, struct span code,
                                      int64_t now_ticks, char ret_token[SESSION_TEXT_BYTES]);
/* The session of that token; NULL: there is none, or it is over. */
const struct session *sessions_find(const struct sessions *sessions, struct span token,
                                    int64_t now_ticks);

#endif
