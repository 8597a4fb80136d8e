/* One table that says what happens to a header field. Pure. */
#ifndef RECIBO_POLICY_HEADERS_H
#define RECIBO_POLICY_HEADERS_H

#include "base/field.h"

enum header_flag {
    HEADER_HOP = 1 << 0,
    HEADER_OWNED = 1 << 1,
    HEADER_NO_STORE = 1 << 2,
    HEADER_COOKIE = 1 << 3,
    HEADER_FRESH = 1 << 4,
    HEADER_OVERRIDE = 1 << 5,
    HEADER_FORWARDED = 1 << 6,
    HEADER_SECRET = 1 << 7,
    HEADER_FRAMING = 1 << 8,
};
/* 0 for every field that is simply passed on. Case ignored. */
uint32_t header_flags(struct span name);
/* Does the field bear a credential: by the table, or because its name sounds so? What is
 * kept, exported or logged leaves it out (FWD-9). */
bool header_is_secret(struct span name);
/* Equal as CGI names: case ignored and "_" the same as "-" (KEY-16, FWD-8). */
bool header_same_cgi_name(struct span a, struct span b);
/* Does one of the Connection lines name this field (FWD-1)? */
bool header_named_by_connection(const struct http_field *fields, uint32_t count, struct span name);
/* Does a Connection line name a field that no peer may strip (FWD-2), or `key_name`? */
bool header_connection_is_abused(const struct http_field *fields, uint32_t count,
                                 struct span key_name);
/* Is there a line that looks like `name` to a CGI program but is not it (KEY-16)? */
bool header_is_look_alike(struct span field_name, struct span name);

#endif
