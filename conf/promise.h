/* Pieces of the promise in plain words, for `check` and `explain`. A buffer that
 * is full is marked as failed. Threads: pure. */
#ifndef RECIBO_CONF_PROMISE_H
#define RECIBO_CONF_PROMISE_H

#include "conf/conf.h"

/* "create-order   enforced   POST /orders -> legacy", without an end of line. */
void promise_title(const struct route_policy *route, struct gw_buf *out);
/* "HTTP 302, Location: *" */
void promise_rule(const struct answer_rule *rule, struct gw_buf *out);
/* "method, target, JSON body without /client_time" */
void promise_compared(const struct route_policy *route, struct gw_buf *out);
/* "the header Idempotency-Key, 1 to 255 bytes" */
void promise_key(const struct route_policy *route, struct gw_buf *out);
/* "partners, by a secret in X-Api-Key" */
void promise_owner(const struct conf_owner *owner, struct gw_buf *out);
/* What a local effect is, with an end of line before and behind. */
void promise_local(const struct route_policy *route, struct gw_buf *out);
/* "a JSON object with nothing but subject (string)" */
void promise_taken(const struct route_policy *route, struct gw_buf *out);
/* What the probe asks, and what its answers mean; nothing without one. */
void promise_probe(const struct route_policy *route, struct gw_buf *out);
/* What Recibo tries again by itself, and how often; nothing if it does not. */
void promise_retry(const struct route_policy *route, struct gw_buf *out);
/* "no byte of it left, HTTP 429", without an end of line */
void promise_tried(const struct route_policy *route, struct gw_buf *out);
/* May a request be sent again that has perhaps run, since the API remembers the key? */
bool promise_resends(const struct route_policy *route);
/* What is accepted for later; nothing if the route never does. */
void promise_defer(const struct route_policy *route, struct gw_buf *out);
/* How an operation is taken back; nothing if it cannot be. */
void promise_compensate(const struct route_policy *route, struct gw_buf *out);
/* "an operator or its owner": who may ask for it. */
const char *promise_compensate_by(const struct route_policy *route);
/* Where the API is told the operation id; nothing if it is not. */
void promise_operation_id(const struct route_policy *route, struct gw_buf *out);

/* What is said over TLS; nothing if nothing is. */
void promise_tls(const struct conf *conf, struct gw_buf *out);

#endif
