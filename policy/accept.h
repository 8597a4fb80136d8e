/* What a local effect takes of a JSON body: which members, of which types (SPEC 5). A
 * body with a member that nobody named is refused: what is not bound must not look as
 * if it had been kept. Pure. */
#ifndef RECIBO_POLICY_ACCEPT_H
#define RECIBO_POLICY_ACCEPT_H

#include "policy/json.h"

enum accept_type {
    ACCEPT_STRING = 1 << 0,
    ACCEPT_INTEGER = 1 << 1,
    ACCEPT_NUMBER = 1 << 2,
    ACCEPT_BOOLEAN = 1 << 3,
    ACCEPT_NULL = 1 << 4, /* null, or the member left out */
};

struct accept_member {
    struct span name;
    uint32_t types; /* enum accept_type; at least one */
};
#define ACCEPT_MEMBERS_MAX 32

struct accept_policy {
    const struct accept_member *members;
    uint32_t member_count;
};

enum accept_kind {
    ACCEPTED_NULL,
    ACCEPTED_STRING,
    ACCEPTED_INTEGER,
    ACCEPTED_REAL, /* a number that is no integer, or none that fits: its text is in `raw` */
};
struct accept_value {
    enum accept_kind kind;
    int64_t integer;  /* INTEGER; a boolean is 1 or 0 */
    struct span raw;  /* STRING: undecoded; REAL: the number as it stands there */
    bool has_escapes; /* STRING */
};

struct accept_fault {
    struct span member;      /* as it stands in the body, or in the policy; empty: the whole */
    bool member_has_escapes; /* it stands in the body, and holds a backslash */
    const char *text;        /* static: "is missing" */
};

/* One value for each member of the policy, in its order. The views point into the
 * document. false: *ret_fault says which member, and what is wrong with it. */
bool accept_body(const struct accept_policy *policy, const struct json_doc *doc,
                 struct accept_value *ret_values, struct accept_fault *ret_fault) GW_MUST_CHECK;

#endif
