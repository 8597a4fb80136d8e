/* What the calls of the operator plane take and give, as a table. Threads: constant. */
#ifndef RECIBO_GATEWAY_ADMIN_SHAPES_H
#define RECIBO_GATEWAY_ADMIN_SHAPES_H

#include "gateway/admin/call.h"

enum shape_type {
    SHAPE_TEXT,
    SHAPE_TIME,
    SHAPE_NUMBER,
    SHAPE_FLAG,
    SHAPE_WORD,
    SHAPE_OBJECT,
    SHAPE_LIST,
    SHAPE_TEXTS,
    SHAPE_TEXT_MAP,
    SHAPE_NUMBER_MAP,
    SHAPE_PAIRS,
    SHAPE_ANY,
};
enum shape_need { SHAPE_ALWAYS, SHAPE_NULLABLE, SHAPE_MAYBE, SHAPE_MAYBE_NULL };
enum shape_row_kind { SHAPE_ROW_BEGIN, SHAPE_ROW_INCLUDE, SHAPE_ROW_MEMBER };
struct shape_row {
    enum shape_row_kind kind;
    const char *name; /* of the shape, of the included one, of the member */
    enum shape_type type;
    const char *of; /* words of a WORD, shape of an OBJECT and a LIST */
    enum shape_need need;
    const char *doc;
};
struct shape_call {
    enum endpoint_method method;
    const char *path;
    uint16_t status;
    const char *answer, *body; /* a shape; "": none; "=..." a media type */
};
struct shape_query {
    const char *path, *name;
    enum shape_type type;
    const char *of, *doc;
};

#define SHAPE_ROWS_MAX 1024

/* The rows of one shape, those that it includes first. */
struct shape_walk {
    bool wanted[SHAPE_ROWS_MAX]; /* by the row that begins a shape */
    uint32_t next;
};
/* The next shape after `after` (NULL: the first); NULL: no more. */
const struct shape_row *shape_after(const struct shape_row *after);
void shape_walk_start(struct shape_walk *walk, const struct shape_row *shape);
/* NULL: no more members. */
const struct shape_row *shape_walk_member(struct shape_walk *walk);

/* NULL: the table does not say. */
const struct shape_call *shape_call_of(const struct endpoint *endpoint);
/* The same call with another status; NULL: no more. */
const struct shape_call *shape_call_after(const struct shape_call *call);
const struct shape_query *shape_query_at(uint32_t index); /* NULL: no more */
/* The shapes in the markdown of docs/admin.md. */
void shape_print_reference(struct gw_buf *out);

#endif
