/* The head of an answer to the caller: the upstream's own, a replay, or a problem. */
#ifndef RECIBO_GATEWAY_REPLY_HEAD_H
#define RECIBO_GATEWAY_REPLY_HEAD_H

#include "gateway/flow.h"

/* Fills flow->reply; false: out of memory (the caller's connection is closed). */
bool reply_answer(struct flow *flow) GW_MUST_CHECK;  /* flow->answer, as it came */
bool reply_stored(struct flow *flow) GW_MUST_CHECK;  /* flow->row.answer: a replay */
bool reply_problem(struct flow *flow) GW_MUST_CHECK; /* flow->problem */
/* A small document of Recibo's own. */
bool reply_document(struct flow *flow, uint16_t status, struct span type,
                    struct span body) GW_MUST_CHECK;
/* 202: the operation runs later. */
struct reply_accepted {
    struct span location; /* where to ask for its state; empty: nowhere */
    struct span body;
    uint32_t retry_after_s; /* 0: not told */
    bool was_preferred;     /* the caller asked for it */
};
bool reply_accepted(struct flow *flow, const struct reply_accepted *reply) GW_MUST_CHECK;
/* The fields that every answer of this flow carries: for streams, before their end. */
bool reply_own_fields(struct flow *flow) GW_MUST_CHECK;
/* Does this field of an upstream's answer go to the caller as it is? */
bool reply_passes(const struct http_head *head, const struct http_field *field);

#endif
