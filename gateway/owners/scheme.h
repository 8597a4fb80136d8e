/* What one scheme is to owners.c, and what the schemes share. */
#ifndef RECIBO_GATEWAY_OWNERS_SCHEME_H
#define RECIBO_GATEWAY_OWNERS_SCHEME_H

#include "gateway/owners/owners.h"

struct owner_scheme {
    enum owner_verdict (*identify)(const struct conf_owner *entry,
                                   const struct owner_request *request, struct arena *arena,
                                   struct span *ret_owner);
    /* NULL: the scheme has no challenge. */
    struct span (*challenge)(const struct conf_owner *entry, enum owner_verdict verdict,
                             struct arena *arena);
    /* The field that holds the credential; NULL: none does. */
    struct span (*field)(const struct conf_owner *entry);
};
extern const struct owner_scheme owner_scheme_api_key;
extern const struct owner_scheme owner_scheme_basic;
extern const struct owner_scheme owner_scheme_header;
extern const struct owner_scheme owner_scheme_network;
extern const struct owner_scheme owner_scheme_static;
extern const struct owner_scheme owner_scheme_jwt;

/* The one line of a field: OWNER_OK with its value, OWNER_NONE if there is none or
 * it is empty, OWNER_MALFORMED if there are two (AUTH-3). */
enum owner_verdict owner_one_line(const struct http_head *head, struct span name,
                                  struct span *ret_value);
/* "Scheme credential": OWNER_NONE for another scheme, OWNER_MALFORMED without a
 * credential. The scheme's case does not count (RFC 9110 11.1). */
enum owner_verdict owner_after_scheme(struct span value, struct span scheme,
                                      struct span *ret_credential);
/* RFC 9110 11.2: letters, digits and - . _ ~ + /, then any number of "=". */
bool owner_is_token68(struct span text);
/* The challenge of a scheme of RFC 6750 3.1. */
struct span owner_bearer_challenge(struct span scheme, struct span realm,
                                   enum owner_verdict verdict, struct arena *arena);
/* The address in v4-mapped form; false: not an internet address. */
bool owner_peer_address(const struct sockaddr *peer, uint8_t ret_address[16]);

#endif
