/* The table of shapes and its walk. It must never describe what no call gives: a test
 * holds real answers against it. */
#include "gateway/admin/shapes.h"

#define SHAPE(name, doc) {SHAPE_ROW_BEGIN, #name, SHAPE_ANY, "", SHAPE_ALWAYS, doc},
#define INCLUDE(name)    {SHAPE_ROW_INCLUDE, #name, SHAPE_ANY, "", SHAPE_ALWAYS, ""},
#define MEMBER(name, type, of, need, doc)                                                          \
    {SHAPE_ROW_MEMBER, name, SHAPE_##type, of, SHAPE_##need, doc},
#define CALL(method, path, status, answer, body)
#define QUERY(path, name, type, of, doc)
static const struct shape_row rows[] = {
#include "gateway/admin/shapes.def"
};
#undef SHAPE
#undef INCLUDE
#undef MEMBER
#undef CALL
#undef QUERY

#define SHAPE(name, doc)
#define INCLUDE(name)
#define MEMBER(name, type, of, need, doc)
#define CALL(method, path, status, answer, body) {ENDPOINT_##method, path, status, answer, body},
#define QUERY(path, name, type, of, doc)
static const struct shape_call calls[] = {
#include "gateway/admin/shapes.def"
};
#undef CALL
#undef QUERY

#define CALL(method, path, status, answer, body)
#define QUERY(path, name, type, of, doc) {path, name, SHAPE_##type, of, doc},
static const struct shape_query queries[] = {
#include "gateway/admin/shapes.def"
};
#undef SHAPE
#undef INCLUDE
#undef MEMBER
#undef CALL
#undef QUERY

_Static_assert(GW_COUNT(rows) <= SHAPE_ROWS_MAX, "every row has its place in a walk");

static bool is_text(const char *a, const char *b)
{
    return span_equal(span_str(a), span_str(b));
}

const struct shape_row *shape_after(const struct shape_row *after)
{
    size_t at = after == NULL ? 0 : (size_t)(after - rows) + 1;
    while (at < GW_COUNT(rows) && rows[at].kind != SHAPE_ROW_BEGIN)
        at++;
    return at < GW_COUNT(rows) ? &rows[at] : NULL;
}

/* The row that begins the shape of this row. */
static size_t begin_of(size_t row)
{
    while (rows[row].kind != SHAPE_ROW_BEGIN)
        row--;
    return row;
}

static void want(struct shape_walk *walk, const char *name)
{
    for (size_t i = 0; i < GW_COUNT(rows); i++)
        if (rows[i].kind == SHAPE_ROW_BEGIN && is_text(rows[i].name, name))
            walk->wanted[i] = true;
}

/* A shape includes earlier ones only, so that one pass from the end finds all. */
void shape_walk_start(struct shape_walk *walk, const struct shape_row *shape)
{
    gw_assert(shape->kind == SHAPE_ROW_BEGIN);
    *walk = (struct shape_walk){0};
    walk->wanted[shape - rows] = true;
    for (size_t i = GW_COUNT(rows); i-- > 0;)
        if (rows[i].kind == SHAPE_ROW_INCLUDE && walk->wanted[begin_of(i)])
            want(walk, rows[i].name);
}

const struct shape_row *shape_walk_member(struct shape_walk *walk)
{
    while (walk->next < GW_COUNT(rows)) {
        const struct shape_row *row = &rows[walk->next++];
        if (row->kind == SHAPE_ROW_MEMBER && walk->wanted[begin_of((size_t)(row - rows))])
            return row;
    }
    return NULL;
}

const struct shape_call *shape_call_of(const struct endpoint *endpoint)
{
    for (size_t i = 0; i < GW_COUNT(calls); i++)
        if (calls[i].method == endpoint->method && is_text(calls[i].path, endpoint->path))
            return &calls[i];
    return NULL;
}

const struct shape_call *shape_call_after(const struct shape_call *call)
{
    const struct shape_call *next = call + 1;
    bool is_same = next < calls + GW_COUNT(calls) && next->method == call->method &&
                   is_text(next->path, call->path);
    return is_same ? next : NULL;
}

const struct shape_query *shape_query_at(uint32_t index)
{
    return index < GW_COUNT(queries) ? &queries[index] : NULL;
}

/* ---- docs/admin.md ---- */

static const char *type_text(enum shape_type type)
{
    switch (type) {
    case SHAPE_TEXT:
        return "text";
    case SHAPE_TIME:
        return "time";
    case SHAPE_NUMBER:
        return "number";
    case SHAPE_FLAG:
        return "true or false";
    case SHAPE_WORD:
        return "one of";
    case SHAPE_OBJECT:
        return "object";
    case SHAPE_LIST:
        return "list of";
    case SHAPE_TEXTS:
        return "list of texts";
    case SHAPE_TEXT_MAP:
        return "texts by name";
    case SHAPE_NUMBER_MAP:
        return "numbers by name";
    case SHAPE_PAIRS:
        return "list of pairs";
    case SHAPE_ANY:
        return "any";
    }
    return "";
}

static const char *need_text(enum shape_need need)
{
    switch (need) {
    case SHAPE_ALWAYS:
        return "always";
    case SHAPE_NULLABLE:
        return "or null";
    case SHAPE_MAYBE:
        return "optional";
    case SHAPE_MAYBE_NULL:
        return "optional, or null";
    }
    return "";
}

void shape_print_reference(struct gw_buf *out)
{
    /* The caller asks once at the end whether the buffer failed. */
    (void)gw_buf_add(out, SPAN("\n## Shapes\n\nAnswers and bodies. No answer has a member that is "
                               "not listed here, except problems.\n"));
    for (const struct shape_row *shape = shape_after(NULL); shape != NULL;
         shape = shape_after(shape)) {
        (void)gw_buf_print(out, "\n### %s\n\n%s\n", shape->name, shape->doc);
        const char *head = "\n| member | type | there | what |\n|---|---|---|---|\n";
        for (const struct shape_row *row = shape + 1;
             row < rows + GW_COUNT(rows) && row->kind != SHAPE_ROW_BEGIN; row++) {
            if (row->kind == SHAPE_ROW_INCLUDE) {
                (void)gw_buf_print(out, "\nHas all members of `%s`.\n", row->name);
                continue;
            }
            (void)gw_buf_print(out, "%s| `%s` | %s%s%s | %s | %s |\n", head, row->name,
                               type_text(row->type), row->of[0] == '\0' ? "" : " ", row->of,
                               need_text(row->need), row->doc);
            head = "";
        }
    }
}
