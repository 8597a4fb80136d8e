/* What a caller prefers (RFC 7240): Prefer is a list, the first occurrence of a
 * preference counts, parameters and what is not known are ignored. Pure. */
#ifndef RECIBO_GATEWAY_PREFER_H
#define RECIBO_GATEWAY_PREFER_H

#include "gateway/http1/http1.h"

struct prefer {
    bool respond_async;
    bool has_wait;
    uint64_t wait_s;
};
void prefer_read(const struct http_head *head, struct prefer *ret);

#endif
