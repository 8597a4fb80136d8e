/* GETs of `recibo check --live` over one connection, blocking, with deadlines. Threads: the
 * main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_LIVE_EXCHANGE_H
#define RECIBO_GATEWAY_COMMANDS_LIVE_EXCHANGE_H

#include "base/buf.h"
#include "gateway/http1/http1.h"
#include "gateway/transport.h"
#include "policy/route.h"

#define LIVE_BODY_BYTES (256 * 1024) /* of an answer; the rest is not looked at */

struct live {
    struct transport to; /* its fd -1: there is no connection */
    struct tls_context *context;
    struct tls_kept kept;
    bool is_open; /* after an answer: it may carry another request */
};
struct live_answer {
    struct http_head *head; /* freed by live_forget() */
    struct gw_buf body;
};

GW_MUST_CHECK enum gw_status live_open(struct live *live, const struct upstream_policy *upstream,
                                       struct gw_error *err);
/* One GET with the Host that guarded requests carry. On failure the connection is of no use. */
GW_MUST_CHECK enum gw_status live_get(struct live *live, const struct upstream_policy *upstream,
                                      struct span path, struct live_answer *ret,
                                      struct gw_error *err);
void live_forget(struct live_answer *answer);
void live_close(struct live *live);

#endif
