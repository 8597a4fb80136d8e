/* Whose request is it: the entries of `owners`, one file a scheme, one table.
 * Looks at the head and the peer's address only; never at the body, the key or the
 * store (AUTH-10), and never logs. Threads: any; an entry is read-only. */
#ifndef RECIBO_GATEWAY_OWNERS_OWNERS_H
#define RECIBO_GATEWAY_OWNERS_OWNERS_H

#include "base/arena.h"
#include "conf/conf.h"
#include "gateway/http1/http1.h"

#include <sys/socket.h>

enum owner_verdict {
    OWNER_OK,
    OWNER_NONE,      /* no credential: 401 with a challenge */
    OWNER_BAD,       /* a credential that fits nobody: 401, told like the above */
    OWNER_FORBIDDEN, /* 403: this peer may not say who it is, or is nobody */
    OWNER_MALFORMED, /* 400: two lines, or not the grammar of the scheme */
    OWNER_NO_MEMORY,
};

struct owner_request {
    const struct http_head *head;
    const struct sockaddr *peer; /* NULL: not known, so trusted by nobody */
    int64_t now_ms;              /* wall clock, for what ends by time */
};

/* On OWNER_OK *ret_owner lives as long as the entry and the arena. */
GW_MUST_CHECK enum owner_verdict owner_identify(const struct conf_owner *entry,
                                                const struct owner_request *request,
                                                struct arena *arena, struct span *ret_owner);
/* The value of WWW-Authenticate that belongs to the verdict; empty: the scheme has
 * none, or out of memory. Built in the arena since the realm is of the entry. */
struct span owner_challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                            struct arena *arena);
/* Does the scheme read its credential from this field, in any spelling that a CGI
 * program would take for it? Such a field is kept out of evidence and stripped where
 * the route says so. */
bool owner_uses_field(const struct conf_owner *entry, struct span name);

#endif
