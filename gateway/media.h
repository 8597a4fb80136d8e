/* Media types of requests: what a Content-Type says, and whether a route can compare
 * such a body (STANDARDS JSON-1, FORM-4, MPF-1, FPR-4, FPR-6). Pure but for the arena. */
#ifndef RECIBO_GATEWAY_MEDIA_H
#define RECIBO_GATEWAY_MEDIA_H

#include "base/arena.h"
#include "gateway/http1/http1.h"
#include "policy/canonical.h"

/* "application/json" of "Application/JSON; charset=utf-8": as written, no parameters. */
struct span media_type(struct span content_type);
/* Value of a parameter, unquoted into the arena; empty: not there. */
struct span media_parameter(struct arena *arena, struct span content_type, struct span name);
/* type/subtype lower-cased, parameters sorted, names and charset lower-cased; the
 * boundary of a multipart is left out: clients make a new one for each attempt. */
struct span media_normalized(struct arena *arena, struct span content_type);
bool media_is_json(struct span type);
/* Can a body of this type be compared in this mode? */
bool media_fits(enum fingerprint_mode mode, struct span type);
/* The media types of a mode, for the Accept field of a 415. */
struct span media_accept(enum fingerprint_mode mode);

#endif
