/* It must never write a route that `recibo check` refuses: what is no pattern, and what would
 * be ambiguous beside another, becomes a comment.
 *
 * Ignored results: a buffer that is full is marked as failed, and is asked once. */
#include "gateway/commands/init_routes.h"

#include <stdio.h>

#include "base/text.h"
#include "policy/route.h"

#define INIT_ROUTES_MAX   240 /* a file may have 256; some are ours */
#define INIT_NAME_BYTES   56
#define INIT_PATH_BYTES   1024
#define INIT_SEGMENTS_MAX 64
#define INIT_SUFFIX_MAX   1000

struct taken {
    struct route_policy route; /* as far as patterns are compared */
    char name[INIT_NAME_BYTES + 8];
};

struct writing {
    struct arena *arena;
    struct gw_buf *out;
    struct span prefix;
    struct taken *taken[INIT_ROUTES_MAX];
    uint32_t count;
};

void init_write_quoted(struct gw_buf *out, struct span text)
{
    struct gw_buf doubled;
    gw_buf_init(&doubled, 2 * text.len + 2);
    for (size_t i = 0; i < text.len; i++)
        (void)gw_buf_add(&doubled, text.ptr[i] == '$' ? SPAN("$$") : span_of(text.ptr + i, 1));
    gw_json_string(out, gw_buf_span(&doubled));
    gw_buf_fini(&doubled);
}

/* On one line, without anything that could end a comment. */
static void write_comment_text(struct gw_buf *out, struct span text)
{
    if (text.len > 200)
        text.len = 200;
    while (text.len > 0) {
        size_t len = gw_utf8_length(text);
        unsigned char c = (unsigned char)text.ptr[0];
        bool is_plain = len == 1 ? c >= 0x20 && c < 0x7f : len > 2;
        if (len > text.len || len == 0)
            len = 1;
        (void)gw_buf_add(out, is_plain ? span_of(text.ptr, len) : SPAN("?"));
        text = span_of(text.ptr + len, text.len - len);
    }
}

/* ---- names ---- */

static bool has_name(const struct writing *writing, const char *name)
{
    for (uint32_t i = 0; i < writing->count; i++)
        if (strcmp(writing->taken[i]->name, name) == 0)
            return true;
    return false;
}

static size_t add_word(char *name, size_t len, struct span text)
{
    for (size_t i = 0; i < text.len && len < INIT_NAME_BYTES; i++) {
        char c = text.ptr[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '.';
        if (is_good)
            name[len++] = c;
        else if (len > 0 && name[len - 1] != '-')
            name[len++] = '-';
    }
    return len;
}

/* From the operationId, else from method and path; unlike all others. false: there are too
 * many of that name. */
static bool make_name(const struct writing *writing, const struct openapi_operation *operation,
                      char ret_name[INIT_NAME_BYTES + 8])
{
    size_t len = add_word(ret_name, 0, operation->id);
    if (len == 0) {
        for (size_t i = 0; i < operation->method.len; i++)
            ret_name[len++] = gw_lower(operation->method.ptr[i]);
        len = add_word(ret_name, len, operation->path);
    }
    while (len > 1 && (ret_name[len - 1] == '-' || ret_name[len - 1] == '.'))
        len--;
    ret_name[len] = '\0';
    for (unsigned i = 2; has_name(writing, ret_name); i++) {
        if (i == INIT_SUFFIX_MAX)
            return false;
        (void)snprintf(ret_name + len, 8, "-%u", i); /* at most five bytes */
    }
    return true;
}

/* ---- paths ---- */

/* A parameter that is a part of a segment becomes the whole of it: {a}.json matches as {a}. */
static bool make_path(const struct writing *writing, struct span path, char room[INIT_PATH_BYTES],
                      struct span *ret)
{
    size_t len = 0;
    if (writing->prefix.len + path.len >= INIT_PATH_BYTES)
        return false;
    memcpy(room, writing->prefix.ptr, writing->prefix.len);
    len = writing->prefix.len;
    for (size_t at = 0; at < path.len;) {
        size_t end = at + 1; /* behind the slash */
        while (end < path.len && path.ptr[end] != '/')
            end++;
        const char *open = memchr(path.ptr + at, '{', end - at);
        const char *close =
            open == NULL ? NULL : memchr(open, '}', end - (size_t)(open - path.ptr));
        if (close == NULL) {
            memcpy(room + len, path.ptr + at, end - at);
            len += end - at;
        } else {
            room[len++] = '/';
            room[len++] = '{';
            for (const char *c = open + 1; c < close; c++) {
                bool is_good = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                               (*c >= '0' && *c <= '9');
                room[len++] = is_good ? *c : '_';
            }
            room[len++] = '}';
        }
        at = end;
    }
    *ret = span_of(room, len);
    return true;
}

static const char *take_path(struct writing *writing, struct span path,
                             const struct openapi_operation *operation, struct taken *taken)
{
    static const char own[] = "/.recibo/";
    struct route_policy *route = &taken->route;
    if (path.len >= sizeof(own) - 1 &&
        span_equal_nocase(span_of(path.ptr, sizeof(own) - 1), span_str(own)))
        return "its path lies under own_prefix, which is Recibo's own";
    const char *fault = "its path is no pattern";
    for (size_t i = 0; i < path.len; i++)
        if (path.ptr[i] <= ' ' || path.ptr[i] > '~')
            return "its path has characters that a request writes as %HH";
    struct route_segment *segments =
        arena_take(writing->arena, INIT_SEGMENTS_MAX * sizeof(*segments));
    if (segments == NULL || !arena_copy(writing->arena, path, &route->path))
        return "there is no memory for it";
    route->segments = segments;
    route->methods = route_method_bit(operation->method);
    route->trailing_slash_same = true;
    if (!route_pattern_parse(route->path, segments, INIT_SEGMENTS_MAX, &route->segment_count,
                             &fault))
        return fault;
    for (uint32_t i = 0; i < writing->count; i++) {
        const struct route_policy *other = &writing->taken[i]->route;
        if ((other->methods & route->methods) != 0 &&
            route_compare(other, route) == ROUTES_AMBIGUOUS)
            return "some targets fit it and another route, and neither is more specific";
        if ((other->methods & route->methods) != 0 && span_equal(other->path, route->path))
            return "another operation has the same method and path";
    }
    return NULL;
}

/* ---- writing ---- */

static void write_left_out(struct writing *writing, const struct openapi_operation *operation,
                           const char *why)
{
    (void)gw_buf_print(writing->out, "  # Left out (line %u of the description): %.*s ",
                       operation->line, (int)operation->method.len, operation->method.ptr);
    write_comment_text(writing->out, operation->path);
    (void)gw_buf_print(writing->out, ": %s.\n", why);
}

static bool is_header_name(struct span name)
{
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_';
        if (!is_good)
            return false;
    }
    return name.len > 0 && name.len <= 64;
}

static void write_route(struct writing *writing, const struct openapi_operation *operation,
                        const struct taken *taken)
{
    struct gw_buf *out = writing->out;
    struct span header =
        is_header_name(operation->key_name) ? operation->key_name : SPAN("Idempotency-Key");
    (void)gw_buf_print(out,
                       "  - name: \"%s\"\n    mode: observe\n    match: {methods: [%.*s], path: ",
                       taken->name, (int)operation->method.len, operation->method.ptr);
    init_write_quoted(out, taken->route.path);
    (void)gw_buf_print(out, "}\n    key: {from: header, name: \"%.*s\", required: %s}\n",
                       (int)header.len, header.ptr, operation->key_is_required ? "true" : "false");
}

static bool write_operation(struct writing *writing, const struct openapi_operation *operation)
{
    char room[INIT_PATH_BYTES];
    struct span path;
    struct taken *taken = arena_take(writing->arena, sizeof(*taken));
    if (taken == NULL)
        return false;
    const char *why = NULL;
    if (writing->count == INIT_ROUTES_MAX)
        why = "a file has at most 256 routes";
    else if (!make_path(writing, operation->path, room, &path))
        why = "its path is too long";
    else if (!make_name(writing, operation, taken->name))
        why = "there are too many of its name";
    else
        why = take_path(writing, path, operation, taken);
    if (why != NULL) {
        write_left_out(writing, operation, why);
        return true;
    }
    writing->taken[writing->count++] = taken;
    write_route(writing, operation, taken);
    return true;
}

bool init_write_routes(struct arena *arena, const struct openapi *openapi, struct span prefix,
                       struct gw_buf *out)
{
    struct writing *writing = arena_take(arena, sizeof(*writing));
    if (writing == NULL)
        return false;
    writing->arena = arena;
    writing->out = out;
    writing->prefix = prefix;
    for (uint32_t i = 0; i < openapi->count; i++)
        if (!write_operation(writing, &openapi->operations[i]))
            return false;
    if (openapi->references > 0)
        (void)gw_buf_print(out,
                           "  # Left out: %u paths that are a reference ($ref) to elsewhere.\n",
                           openapi->references);
    if (openapi->is_cut)
        (void)gw_buf_print(out, "  # Left out: what comes after the first %d operations.\n",
                           OPENAPI_OPERATIONS_MAX);
    return true;
}
