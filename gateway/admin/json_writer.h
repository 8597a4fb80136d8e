/* Writes the JSON of the operator plane into a bounded buffer: names, commas and
 * escapes in one place. It never reads. A failed buffer stays marked, so callers
 * write on and ask once at the end. Threads: one at a time. */
#ifndef RECIBO_GATEWAY_ADMIN_JSON_WRITER_H
#define RECIBO_GATEWAY_ADMIN_JSON_WRITER_H

#include "base/buf.h"

struct json_writer {
    struct gw_buf *out; /* borrowed */
    bool has_items;     /* something stands before, in the same container */
};

/* `name` is NULL inside arrays and for the root. */
void writer_open(struct json_writer *writer, const char *name, char bracket);
void writer_close(struct json_writer *writer, char bracket);
void writer_text(struct json_writer *writer, const char *name, struct span text);
void writer_number(struct json_writer *writer, const char *name, int64_t number);
void writer_bool(struct json_writer *writer, const char *name, bool is_true);
void writer_null(struct json_writer *writer, const char *name);
/* RFC 3339 in UTC; 0 is null. */
void writer_time(struct json_writer *writer, const char *name, int64_t wall_ms);
/* A text, or null when it is empty. */
void writer_text_or_null(struct json_writer *writer, const char *name, struct span text);
/* JSON that was written before; the caller has checked it. */
void writer_raw(struct json_writer *writer, const char *name, struct span json);
/* A member whose name is not ours: escaped like a value. */
void writer_member(struct json_writer *writer, struct span name, struct span text);

#endif
