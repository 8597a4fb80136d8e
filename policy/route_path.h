/* The readings of a path: what the received bytes become in an upstream that
 * decodes, folds or tidies them. Plain readings are what one well-known kind of
 * upstream makes of a target; wary readings are those of upstreams that do it twice
 * or in an odd order. Pure; works in the caller's room. */
#ifndef RECIBO_POLICY_ROUTE_PATH_H
#define RECIBO_POLICY_ROUTE_PATH_H

#include "base/base.h"

/* One change of the whole path. None makes it longer. */
enum path_step {
    PATH_NOTHING,            /* ends a list of steps */
    PATH_AUTHORITY,          /* "//host/x" as "/x": a relative reference that names a host */
    PATH_PARAMETERS,         /* ";parameters" of each segment stripped */
    PATH_BACKSLASHES,        /* "\" as "/" */
    PATH_SLASHES,            /* "//" merged */
    PATH_DOTS,               /* "." and ".." segments removed */
    PATH_DECODE,             /* every escape decoded once */
    PATH_DECODE_NOT_SLASHES, /* the same, but an encoded "/" or "\" stays encoded */
    PATH_CUT,                /* ended at a "?", "#" or NUL that was encoded */
};
/* In place; true if it changed anything. */
bool path_apply(enum path_step step, char *path, size_t *len);

enum path_breadth { PATH_PLAIN, PATH_WARY };
enum path_next {
    PATH_READING, /* *ret_reading is valid until the next call */
    PATH_END,
    PATH_TOO_MANY, /* PATH_WORK_BYTES_MAX is used up */
};

#define PATH_STAGES         9
#define PATH_WORK_BYTES_MAX (2u << 20) /* bytes looked at for one target: about 2 ms */

struct path_readings {
    struct span path; /* as received, without the query */
    char *room;       /* path.len bytes */
    enum path_breadth breadth;
    size_t work_left;
    uint8_t choice[PATH_STAGES]; /* which alternative of each stage */
};
/* Can the path have a reading other than itself? Cheap; most paths cannot. */
bool path_has_readings(struct span path);
void path_readings_init(struct path_readings *readings, struct span path, char *room,
                        enum path_breadth breadth);
/* The next reading that differs from the path as received; one may come twice. */
GW_MUST_CHECK enum path_next path_readings_next(struct path_readings *readings,
                                                struct span *ret_reading);

/* Does the path, or a reading of it, climb above its root with ".."? Behind a prefix
 * such a path leaves the prefix. `path` has no query; `room` has path.len bytes. */
bool path_climbs(struct span path, char *room);

/* Do two spellings of a segment mean the same without any decoding of what could
 * stand there unencoded? "%c3" is "%C3" is the byte itself; "%6f" is not "o". */
bool path_segment_equal(struct span a, struct span b, bool ignore_case);
/* The next segment after *at (0 to begin); false: there is none. A path that does
 * not begin with "/" has none; "/" has one, which is empty. */
bool path_next_segment(struct span path, size_t *at, struct span *ret_segment);
/* May the byte stand in a path unencoded (RFC 3986 3.3), "%" and "/" left out? */
bool path_is_plain_byte(char c);
/* %HH at this place: its byte. */
bool path_escape_at(struct span path, size_t at, char *ret_byte);

#endif
