/* The operation id as a member of a JSON body (SPEC 4): one member is put into an
 * object, and every other byte stays what and in the order it was. Pure but for the
 * buffer. */
#ifndef RECIBO_GATEWAY_SPLICE_H
#define RECIBO_GATEWAY_SPLICE_H

#include "base/buf.h"
#include "policy/json.h"

struct splice {
    bool is_on;
    bool is_done;     /* the body has it */
    size_t at;        /* right behind the object's brace */
    bool needs_comma; /* the object has members */
};

enum splice_verdict {
    SPLICE_READY,
    SPLICE_NO_OBJECT, /* there is no object to put it into */
    SPLICE_TAKEN,     /* the object has a member of that name */
};
/* Where the member `pointer` goes. doc NULL: the request has no body. */
GW_MUST_CHECK enum splice_verdict
splice_find(const struct json_doc *doc, const struct json_pointer *pointer, struct splice *ret);
/* Puts `"name":"value"` there; once: a second time changes nothing. false:
 * out of memory, and the body is as it was. */
bool splice_apply(struct splice *splice, struct span name, struct span value,
                  struct gw_buf *body) GW_MUST_CHECK;

#endif
