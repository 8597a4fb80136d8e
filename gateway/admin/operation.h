/* How an operation is shown: in a list, alone, and what its caller sees now and
 * would see under each verdict. Shapes only; it decides nothing that a caller gets:
 * admit() and receipt_step() do. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_OPERATION_H
#define RECIBO_GATEWAY_ADMIN_OPERATION_H

#include "gateway/admin/call.h"

/* The members of an operation, without its brackets. In a list `attempts` is a number. */
void operation_print_members(struct call *call, const struct store_row *row, bool is_listed);
/* "operation": {...}, and the end of the answer. */
void operation_end(struct call *call, const struct store_row *row);
/* The row's own parts as arrays; a broken blob is shown as none. */
void operation_print_request(struct call *call, const struct store_row *row);
void operation_print_response(struct call *call, const struct store_row *row);
void operation_print_audit(struct call *call, const struct audit_entry *audit, uint32_t count);
/* "comments": the entries of the audit that are comments. */
void operation_print_comments(struct call *call, const struct audit_entry *audit, uint32_t count);
/* "cancel_requests": [...], of the audit. */
void operation_print_cancels(struct call *call, const struct audit_entry *audit, uint32_t count);
/* "probes": what asking the upstream brought. */
void operation_print_probes(struct call *call, const struct store_row *row);
/* Decoded into the call's arena; none if the blob is broken. */
const struct attempt_record *operation_attempts(struct call *call, const struct store_row *row,
                                                uint32_t *ret_count);
const struct probe_record *operation_probes(struct call *call, const struct store_row *row,
                                            uint32_t *ret_count);
/* When the last attempt ended, as far as is known. */
int64_t operation_last_end_ms(const struct attempt_record *attempts, uint32_t count);
/* "client_sees": {"now": ..., "executed": ...}. */
void visible_print(struct call *call, const struct store_row *row);
/* What a repeat would get after this verdict; ADMIT_VERDICT_COUNT: the state does not
 * take it, or the route is no longer configured. */
enum admit_verdict visible_under(const struct call *call, const struct store_row *row,
                                 enum settle_verdict verdict, bool has_answer);
/* The members of one such sight; the status is that of an answer that is replayed, 0: none. */
void visible_print_sight(struct json_writer *json, enum admit_verdict verdict,
                         uint16_t replayed_status);

/* A verdict as its word in the API. */
const char *settle_word(enum settle_verdict verdict);
/* The successor under this verdict at `now_ms`. */
GW_MUST_CHECK enum receipt_verdict settle_step(const struct store_row *row,
                                               const struct route_policy *route,
                                               enum settle_verdict verdict, int64_t now_ms,
                                               struct receipt *ret_next);
/* What a row of a route that is no longer configured is kept for. */
#define SETTLE_RETENTION_MS ((int64_t)24 * 3600 * 1000)
#define SETTLE_QUIET_MS     ((int64_t)600 * 1000)

#endif
