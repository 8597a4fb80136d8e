/* The JSON body of a call, read strictly: no name twice, bounded depth, no member
 * that is not known. Values stay views of the received bytes. Threads: the admin's. */
#ifndef RECIBO_GATEWAY_ADMIN_BODY_H
#define RECIBO_GATEWAY_ADMIN_BODY_H

#include "gateway/admin/call.h"
#include "policy/json.h"

#define BODY_DEPTH_MAX 32

/* An object whose members are among `names`; else the call is answered with a 400. */
bool body_parse(struct call *call, struct json_doc *ret_doc) GW_MUST_CHECK;
/* Every member of the object at `node` is one of the names (a list with blanks). */
bool body_knows_members(struct call *call, const struct json_doc *doc, uint32_t node,
                        const char *names) GW_MUST_CHECK;
/* The member's node, or JSON_NONE. */
uint32_t body_member(const struct json_doc *doc, uint32_t node, const char *name);
/* The value's bytes as received; strings without their quotes. */
struct span body_raw(const struct json_doc *doc, uint32_t node);
/* A string's content, in the arena; false: not a string, or out of memory. */
bool body_text(struct call *call, const struct json_doc *doc, uint32_t node,
               struct span *ret) GW_MUST_CHECK;
/* A member's name, decoded, in the arena; false: out of memory. */
bool body_name(struct call *call, const struct json_doc *doc, uint32_t node,
               struct span *ret) GW_MUST_CHECK;
/* A string of 1 to bytes_max bytes that is not blank. */
bool body_words(struct call *call, const struct json_doc *doc, uint32_t node, size_t bytes_max,
                struct span *ret) GW_MUST_CHECK;
/* true, false or not there (false); else the call is answered with a 400. */
bool body_flag(struct call *call, const struct json_doc *doc, const char *name,
               bool *ret) GW_MUST_CHECK;
/* The version that the caller looked at; else the call is answered with a 400. */
bool body_version(struct call *call, const struct json_doc *doc, uint32_t *ret) GW_MUST_CHECK;
/* The note: a string of 1 to CALL_NOTE_BYTES_MAX bytes that is not blank. */
bool body_note(struct call *call, const struct json_doc *doc, struct span *ret) GW_MUST_CHECK;
/* The same, where none may be said: then it is empty. */
bool body_optional_note(struct call *call, const struct json_doc *doc,
                        struct span *ret) GW_MUST_CHECK;

#endif
