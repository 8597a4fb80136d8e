/* How flows make rows: the one place that fills a row for a claim, adds an attempt
 * to the evidence, and asks the store for a compare-and-set. States come from
 * receipt_step() alone. For the rooms `claim` and `record`. */
#ifndef RECIBO_GATEWAY_RECEIPTS_H
#define RECIBO_GATEWAY_RECEIPTS_H

#include "gateway/flow.h"

/* How long a claim may last: everything an attempt may take until its outcome is
 * on record, and a minute. */
int64_t receipts_lease_ms(const struct route_policy *route);

/* flow->row becomes the claim of an absent key, already SENT (ADR 0004), with a
 * fresh token and operation id; false: out of memory. */
bool receipts_new(struct flow *flow) GW_MUST_CHECK;
/* Claims flow->row again. RECEIPT_MOVED: flow->row is the wished-for row, *ret_expect
 * what to compare with. */
GW_MUST_CHECK enum receipt_verdict receipts_claim_again(struct flow *flow, uint32_t *ret_expect);
/* flow->row, free, becomes CLAIMED, to be sent in wait_ms: no byte may leave before
 * receipts_go_on(). The first does the step alone, of a row that is written with another
 * change; neither makes an attempt record yet. */
GW_MUST_CHECK enum receipt_verdict receipts_claim_ahead(struct flow *flow, int64_t wait_ms);
GW_MUST_CHECK enum receipt_verdict receipts_claim_for_later(struct flow *flow, int64_t wait_ms,
                                                            uint32_t *ret_expect);
/* flow->row, CLAIMED by this flow or DEFERRED and due, becomes SENT. ILLEGAL: out of memory too. */
GW_MUST_CHECK enum receipt_verdict receipts_go_on(struct flow *flow, uint32_t *ret_expect);
/* flow->row, UNKNOWN, becomes SENT: the upstream deduplicates. */
GW_MUST_CHECK enum receipt_verdict receipts_resend(struct flow *flow, uint32_t *ret_expect);
/* flow->row, CLAIMED by this flow, is not sent after all. */
GW_MUST_CHECK enum receipt_verdict receipts_give_back(struct flow *flow, uint32_t *ret_expect);
/* flow->row becomes DEFERRED and promised (a compensation, which no caller was promised,
 * DEFERRED alone), with the whole request; the first does the step alone, the second makes the row
 * of an absent key, the third that of a free one. ILLEGAL and false: out of memory too. */
GW_MUST_CHECK enum receipt_verdict receipts_promise(struct flow *flow, int64_t due_ms);
bool receipts_new_promise(struct flow *flow) GW_MUST_CHECK;
GW_MUST_CHECK enum receipt_verdict receipts_promise_again(struct flow *flow, uint32_t *ret_expect);
/* flow->row, DEFERRED, is never run. */
GW_MUST_CHECK enum receipt_verdict receipts_give_up(struct flow *flow, uint32_t *ret_expect);
/* When what was promised and is known not to have run is tried next, if nothing better is
 * known; spread, since a crash makes many of them at once. */
int64_t receipts_due_ms(const struct flow *flow);
/* What the row says of its attempts, for policy/retry.h. */
struct retry_budget receipts_budget(const struct store_row *row);
/* When the first byte of any attempt on record left; 0: none did, or nobody knows. */
int64_t receipts_first_sent_ms(struct arena *arena, const struct store_row *row);
/* Likewise: flow->row, whose time is over, is to be removed. */
GW_MUST_CHECK enum receipt_verdict receipts_forget(struct flow *flow, uint32_t *ret_expect);
/* flow->attempt becomes the attempt of flow->row, whose holder is gone. */
void receipts_lost_attempt(struct flow *flow);
/* When flow->row, as it is to be written, is asked about first; flow->attempt has ended. */
int64_t receipts_probe_due_ms(const struct flow *flow);
/* The row takes the receipt that a contradiction or a reopening gave it. Where that takes it
 * into doubt, this is a change as any other: it is told by time, and asked about in its
 * turn. route NULL: it is gone. */
struct doubt_times {
    int64_t now_ms;
    int64_t last_end_ms; /* when the newest sending of the row was over; 0: not on record */
};
void receipts_take_doubt(struct store_row *row, const struct receipt *next,
                         const struct route_policy *route, const struct doubt_times *times);
/* Adds flow->attempt to the row's packed attempts; false: out of memory. */
bool receipts_add_attempt(struct flow *flow) GW_MUST_CHECK;
/* Is the very end of flow->attempt in the row's evidence already? */
bool receipts_has_attempt(struct flow *flow);
/* Is flow->attempt in the row's evidence as one that may have run? */
bool receipts_is_in_doubt(struct flow *flow);
/* Fills flow->op with a compare-and-set of flow->row on `expect` and submits it. */
bool receipts_advance(struct flow *flow, uint32_t expect, bool set_answer,
                      bool set_request) GW_MUST_CHECK;
/* Fills flow->op with a look-up of the flow's identity and submits it. */
/* flow->row is over, and its key is free for the next operation of the same content. */
bool receipts_set_aside(struct flow *flow) GW_MUST_CHECK;
bool receipts_look_up(struct flow *flow) GW_MUST_CHECK;
/* flow->row is on record: says so; what came in doubt is a warning. */
void receipts_log_move(const struct flow *flow, enum receipt_event_kind event);
/* flow->attempt speaks against what was decided, and is on record. */
void receipts_log_contradiction(const struct flow *flow);
/* flow->attempt was answered, and its operation's time is over: nobody will learn of it. */
void receipts_log_forgotten(const struct flow *flow);
/* What a caller is told as store-unavailable; the log says what the store said last. */
void receipts_log_failure(const struct flow *flow);

#endif
