/* What `recibo explain` knows of the request it was asked about. */
#ifndef RECIBO_GATEWAY_COMMANDS_EXPLAIN_H
#define RECIBO_GATEWAY_COMMANDS_EXPLAIN_H

#include "base/arena.h"
#include "base/field.h"
#include "conf/conf.h"

#define EXPLAIN_FIELDS_MAX 100

struct explain_request {
    struct arena *arena;
    const struct conf *conf;
    struct span method, path;
    struct http_field fields[EXPLAIN_FIELDS_MAX];
    uint32_t field_count;
    bool has_body;
    struct span body;
    struct route_match match;
};

/* The key that would be read, the members that are compared, the labels: of this
 * request. A buffer that is full is marked as failed. */
void explain_content(const struct explain_request *request, struct gw_buf *out);
/* The key that would be read, or the code of the problem that the request would get before a
 * key counts ("key-missing"); both empty: it passes unprotected, or there is no memory. */
void explain_key(const struct explain_request *request, struct span *ret_key,
                 struct span *ret_problem);
/* What happens in each situation on the route. */
void explain_situations(const struct conf *conf, const struct route_policy *route,
                        struct gw_buf *out);
/* Of it, what is tried again, accepted for later and cancelled. */
void explain_again(const struct route_policy *route, struct gw_buf *out);

/* Pieces of a row of that table. */
void explain_begin(struct gw_buf *out, const char *situation);
void explain_row(struct gw_buf *out, const char *situation, const char *what);
void explain_duration(int64_t ms, struct gw_buf *out);

#endif
