/* What a call to the upstream means. Ports report facts; only this says what they
 * mean (SPEC 1, RCP-5..7). Pure and total. */
#ifndef RECIBO_POLICY_CLASSIFY_H
#define RECIBO_POLICY_CLASSIFY_H

#include "base/field.h"
#include "policy/receipt.h"
#include "policy/route.h"

enum attempt_end {
#define END(name, group, doc) END_##name,
#include "policy/ends.def"
#undef END
    END_COUNT,
};
enum end_group { END_GROUP_NOT_SENT, END_GROUP_ANSWERED, END_GROUP_UNCLEAR };
const char *end_name(enum attempt_end end);
const char *end_doc(enum attempt_end end);
enum end_group end_group(enum attempt_end end);
/* END_COUNT: no such name. */
enum attempt_end end_by_name(struct span name);

enum attempt_basis { BASIS_NONE, BASIS_PROVED, BASIS_DECLARED, BASIS_ASSERTED, BASIS_COUNT };
const char *basis_name(enum attempt_basis basis);

/* Facts only, as the upstream port counted them. */
struct upstream_facts {
    enum attempt_end end;
    uint64_t bytes_out; /* of the request, handed to the kernel; 0 proves that it did not run */
    uint64_t bytes_in;
    uint16_t status; /* 100..599 for END_answered (and where a head came before the end), else 0 */
    int64_t elapsed_ms;
    bool still_listening; /* a late answer may still come */
};

/* The answer as the rules see it. */
struct answer_view {
    uint16_t status;
    const struct http_field *fields;
    uint32_t field_count;
    struct span body;   /* as far as it is in memory */
    bool body_is_whole; /* false: larger than what is kept; JSON and text conditions cannot fit */
    const struct json_doc *json; /* of the body; NULL: not JSON, or too large */
};

#define CLASSIFY_NO_RULE UINT32_MAX
struct classify_result {
    enum receipt_event_kind event; /* ANSWERED, REFUSED or LOST */
    enum attempt_basis basis;      /* REFUSED: PROVED or DECLARED; else NONE */
    uint32_t rule;                 /* index of the rule that decided, or CLASSIFY_NO_RULE */
    uint32_t line;                 /* of the configuration that decided; 0: a default */
    const char *reason;            /* static text for the log and the evidence */
};
/* answer: NULL unless facts->end is END_answered. */
struct classify_result classify(const struct route_policy *route,
                                const struct upstream_facts *facts,
                                const struct answer_view *answer);

#endif
