/* A signed object in its compact form (RFC 7515 7.1). Threads: any. */
#ifndef RECIBO_GATEWAY_OWNERS_JWS_H
#define RECIBO_GATEWAY_OWNERS_JWS_H

#include "conf/jwk.h"
#include "policy/json.h"

struct jws_policy {
    const struct jwk_set *keys;
    uint32_t algorithms; /* bits 1 << enum gw_signature_algorithm */
    struct span type;    /* of the header's typ; empty: any */
};
/* What it says, if one of the keys has signed it as the policy allows. false: it is anything
 * else, or the arena is full, which arena_has_failed() tells; nobody is told why. */
GW_MUST_CHECK bool jws_open(const struct jws_policy *policy, struct arena *arena, struct span text,
                            struct span *ret_payload);
/* An object of JSON without a name twice, of bounded depth and size. */
GW_MUST_CHECK bool jws_parse(struct arena *arena, struct span text, struct json_doc *ret);
/* Its member, decoded; a member that is there must be a string. Absent: empty. */
GW_MUST_CHECK bool jws_text(struct arena *arena, const struct json_doc *doc, const char *name,
                            struct span *ret);
bool jws_has(const struct json_doc *doc, const char *name);

#endif
