/* GET /openapi.json: the calls and the shapes as OpenAPI 3.1. It must never say more
 * than the two tables do. */
#include "gateway/admin/access.h"
#include "gateway/admin/shapes.h"

#define OPERATION_NAME_BYTES 128

static void text(struct json_writer *json, const char *name, const char *value)
{
    writer_text(json, name, span_str(value));
}

/* ---- shapes ---- */

static const char *json_type(enum shape_type type)
{
    switch (type) {
    case SHAPE_TEXT:
    case SHAPE_TIME:
    case SHAPE_WORD:
        return "string";
    case SHAPE_NUMBER:
        return "integer";
    case SHAPE_FLAG:
        return "boolean";
    case SHAPE_LIST:
    case SHAPE_TEXTS:
    case SHAPE_PAIRS:
        return "array";
    case SHAPE_OBJECT:
    case SHAPE_TEXT_MAP:
    case SHAPE_NUMBER_MAP:
        return "object";
    case SHAPE_ANY:
        return "";
    }
    return "";
}

static bool may_be_null(enum shape_need need)
{
    return need == SHAPE_NULLABLE || need == SHAPE_MAYBE_NULL;
}

static void print_reference(struct call *call, const char *name, const char *shape)
{
    writer_open(&call->json, name, '{');
    writer_text(&call->json, "$ref", arena_print(call->arena, "#/components/schemas/%s", shape));
    writer_close(&call->json, '}');
}

static void print_words(struct json_writer *json, const char *words, bool is_nullable)
{
    struct span rest = span_str(words);
    writer_open(json, "enum", '[');
    while (rest.len > 0) {
        size_t end = 0;
        while (end < rest.len && rest.ptr[end] != ' ')
            end++;
        writer_text(json, NULL, span_of(rest.ptr, end));
        rest = end < rest.len ? span_of(rest.ptr + end + 1, rest.len - end - 1) : span_of("", 0);
    }
    if (is_nullable)
        writer_null(json, NULL);
    writer_close(json, ']');
}

static void print_plain(struct json_writer *json, const char *name, const char *type)
{
    writer_open(json, name, '{');
    text(json, "type", type);
    writer_close(json, '}');
}

/* What a type says beyond its name. */
static void print_content(struct call *call, enum shape_type type, const char *of, bool is_nullable)
{
    struct json_writer *json = &call->json;
    switch (type) {
    case SHAPE_TIME:
        text(json, "format", "date-time");
        break;
    case SHAPE_WORD:
        print_words(json, of, is_nullable);
        break;
    case SHAPE_LIST:
        print_reference(call, "items", of);
        break;
    case SHAPE_TEXTS:
        print_plain(json, "items", "string");
        break;
    case SHAPE_PAIRS:
        writer_open(json, "items", '{');
        text(json, "type", "array");
        print_plain(json, "items", "string");
        writer_number(json, "minItems", 2);
        writer_number(json, "maxItems", 2);
        writer_close(json, '}');
        break;
    case SHAPE_TEXT_MAP:
        print_plain(json, "additionalProperties", "string");
        break;
    case SHAPE_NUMBER_MAP:
        print_plain(json, "additionalProperties", "integer");
        break;
    case SHAPE_TEXT:
    case SHAPE_NUMBER:
    case SHAPE_FLAG:
    case SHAPE_OBJECT:
    case SHAPE_ANY:
        break;
    }
}

static void print_type(struct call *call, enum shape_type type, const char *of, bool is_nullable)
{
    struct json_writer *json = &call->json;
    if (type == SHAPE_OBJECT && is_nullable) {
        writer_open(json, "anyOf", '[');
        print_reference(call, NULL, of);
        print_plain(json, NULL, "null");
        writer_close(json, ']');
        return;
    }
    if (type == SHAPE_OBJECT) {
        writer_text(json, "$ref", arena_print(call->arena, "#/components/schemas/%s", of));
        return;
    }
    if (type != SHAPE_ANY && is_nullable) {
        writer_open(json, "type", '[');
        text(json, NULL, json_type(type));
        text(json, NULL, "null");
        writer_close(json, ']');
    } else if (type != SHAPE_ANY) {
        text(json, "type", json_type(type));
    }
    print_content(call, type, of, is_nullable);
}

static void print_shape(struct call *call, const struct shape_row *shape, struct shape_walk *walk)
{
    struct json_writer *json = &call->json;
    const struct shape_row *row;
    writer_open(json, shape->name, '{');
    text(json, "type", "object");
    text(json, "description", shape->doc);
    writer_open(json, "properties", '{');
    shape_walk_start(walk, shape);
    while ((row = shape_walk_member(walk)) != NULL) {
        writer_open(json, row->name, '{');
        text(json, "description", row->doc);
        print_type(call, row->type, row->of, may_be_null(row->need));
        writer_close(json, '}');
    }
    writer_close(json, '}');
    writer_open(json, "required", '[');
    shape_walk_start(walk, shape);
    while ((row = shape_walk_member(walk)) != NULL)
        if (row->need == SHAPE_ALWAYS || row->need == SHAPE_NULLABLE)
            text(json, NULL, row->name);
    writer_close(json, ']');
    /* A problem may say more than is foreseen (RFC 9457 3.2). */
    if (!span_equal(span_str(shape->name), SPAN("problem")))
        writer_bool(json, "additionalProperties", false);
    writer_close(json, '}');
}

/* ---- calls ---- */

static void print_parameter(struct call *call, const char *in, const struct shape_query *query)
{
    struct json_writer *json = &call->json;
    bool is_in_path = span_equal(span_str(in), SPAN("path"));
    writer_open(json, NULL, '{');
    text(json, "name", query->name);
    text(json, "in", in);
    text(json, "description", query->doc);
    writer_bool(json, "required", is_in_path);
    writer_open(json, "schema", '{');
    print_type(call, query->type, query->of, false);
    writer_close(json, '}');
    writer_close(json, '}');
}

static void print_parameters(struct call *call, const struct endpoint *endpoint)
{
    const struct shape_query *query;
    struct span path = span_str(endpoint->path);
    writer_open(&call->json, "parameters", '[');
    for (size_t i = 0; i < path.len; i++) {
        size_t end = i + 1;
        while (path.ptr[i] == '{' && end < path.len && path.ptr[end] != '}')
            end++;
        if (path.ptr[i] != '{')
            continue;
        struct span name = arena_print(call->arena, "%.*s", (int)(end - i - 1), path.ptr + i + 1);
        const struct shape_query in_path = {.name = name.len == 0 ? "" : name.ptr,
                                            .type = SHAPE_TEXT,
                                            .of = "",
                                            .doc = "Of the thing that is meant."};
        print_parameter(call, "path", &in_path);
    }
    for (uint32_t i = 0; (query = shape_query_at(i)) != NULL; i++)
        if (endpoint->method == ENDPOINT_GET && span_equal(span_str(query->path), path))
            print_parameter(call, "query", query);
    writer_close(&call->json, ']');
}

static void print_json_content(struct call *call, const char *shape)
{
    struct json_writer *json = &call->json;
    bool is_media = shape[0] == '=';
    writer_open(json, "content", '{');
    writer_open(json, is_media ? shape + 1 : "application/json", '{');
    if (!is_media)
        print_reference(call, "schema", shape);
    writer_close(json, '}');
    writer_close(json, '}');
}

static void print_answers(struct call *call, const struct shape_call *gives)
{
    struct json_writer *json = &call->json;
    writer_open(json, "responses", '{');
    for (; gives != NULL; gives = shape_call_after(gives)) {
        struct span status = arena_print(call->arena, "%u", gives->status);
        writer_open(json, status.len == 0 ? "200" : status.ptr, '{');
        text(json, "description", "It was done.");
        print_json_content(call, gives->answer);
        writer_close(json, '}');
    }
    writer_open(json, "default", '{');
    text(json, "$ref", "#/components/responses/problem");
    writer_close(json, '}');
    writer_close(json, '}');
}

/* "get_v1_operations_id_why" */
static struct span operation_name(struct call *call, const struct endpoint *endpoint)
{
    char name[OPERATION_NAME_BYTES];
    size_t len = 0;
    struct span all =
        arena_print(call->arena, "%s %s", endpoint_method_name(endpoint->method), endpoint->path);
    for (size_t i = 0; i < all.len && len < sizeof(name); i++) {
        char c = gw_lower(all.ptr[i]);
        bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_word)
            name[len++] = c;
        else if (len > 0 && name[len - 1] != '_')
            name[len++] = '_';
    }
    while (len > 0 && name[len - 1] == '_')
        len--;
    return arena_print(call->arena, "%.*s", (int)len, name);
}

static void print_right(struct call *call, const struct endpoint *endpoint)
{
    struct json_writer *json = &call->json;
    if (endpoint->right == ADMIN_OPEN) {
        writer_open(json, "security", '[');
        writer_close(json, ']');
    } else if (endpoint->right == ADMIN_ANY) {
        text(json, "x-right", "any");
    } else {
        text(json, "x-right", access_right_name((enum admin_right)endpoint->right));
    }
}

static void print_call(struct call *call, const struct endpoint *endpoint)
{
    struct json_writer *json = &call->json;
    const struct shape_call *gives = shape_call_of(endpoint);
    const char *method = endpoint->method == ENDPOINT_GET    ? "get"
                         : endpoint->method == ENDPOINT_POST ? "post"
                                                             : "delete";
    writer_open(json, method, '{');
    writer_text(json, "operationId", operation_name(call, endpoint));
    text(json, "description", endpoint->doc);
    print_right(call, endpoint);
    print_parameters(call, endpoint);
    if (gives != NULL && gives->body[0] != '\0') {
        writer_open(json, "requestBody", '{');
        writer_bool(json, "required", true);
        print_json_content(call, gives->body);
        writer_close(json, '}');
    }
    print_answers(call, gives);
    writer_close(json, '}');
}

/* The table may hold the calls of one path apart; a path stands once in the answer. */
static bool is_first_of_path(uint32_t index)
{
    const struct endpoint *endpoint = endpoint_at(index);
    for (uint32_t i = 0; i < index; i++)
        if (span_equal(span_str(endpoint_at(i)->path), span_str(endpoint->path)))
            return false;
    return true;
}

static void print_paths(struct call *call)
{
    const struct endpoint *endpoint, *other;
    writer_open(&call->json, "paths", '{');
    for (uint32_t i = 0; (endpoint = endpoint_at(i)) != NULL; i++) {
        if (!is_first_of_path(i))
            continue;
        writer_open(&call->json, endpoint->path, '{');
        for (uint32_t at = i; (other = endpoint_at(at)) != NULL; at++)
            if (span_equal(span_str(other->path), span_str(endpoint->path)))
                print_call(call, other);
        writer_close(&call->json, '}');
    }
    writer_close(&call->json, '}');
}

static void print_head(struct json_writer *json)
{
    text(json, "openapi", "3.1.0");
    writer_open(json, "info", '{');
    text(json, "title", "Recibo: the operator API");
    text(json, "version", "1");
    text(json, "description",
         "What people and programs do with receipts: look, find out, settle. Times are RFC 3339 "
         "in UTC; bodies are strict JSON.");
    writer_close(json, '}');
    writer_open(json, "servers", '[');
    writer_open(json, NULL, '{');
    text(json, "url", "/");
    writer_close(json, '}');
    writer_close(json, ']');
    writer_open(json, "security", '[');
    writer_open(json, NULL, '{');
    writer_open(json, "token", '[');
    writer_close(json, ']');
    writer_close(json, '}');
    writer_close(json, ']');
}

static void print_components(struct call *call, struct shape_walk *walk)
{
    struct json_writer *json = &call->json;
    writer_open(json, "components", '{');
    writer_open(json, "securitySchemes", '{');
    writer_open(json, "token", '{');
    text(json, "type", "http");
    text(json, "scheme", "bearer");
    writer_close(json, '}');
    writer_close(json, '}');
    writer_open(json, "responses", '{');
    writer_open(json, "problem", '{');
    text(json, "description", "It was not done; the code says why.");
    writer_open(json, "content", '{');
    writer_open(json, "application/problem+json", '{');
    print_reference(call, "schema", "problem");
    writer_close(json, '}');
    writer_close(json, '}');
    writer_close(json, '}');
    writer_close(json, '}');
    writer_open(json, "schemas", '{');
    for (const struct shape_row *shape = shape_after(NULL); shape != NULL;
         shape = shape_after(shape))
        print_shape(call, shape, walk);
    writer_close(json, '}');
    writer_close(json, '}');
}

void call_openapi(struct call *call)
{
    struct shape_walk *walk = arena_take(call->arena, sizeof(*walk));
    if (walk == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return;
    }
    call_begin(call, 200);
    print_head(&call->json);
    print_paths(call);
    print_components(call, walk);
    call_end(call);
}
