/* Reads bodies with the strict reader of policy/: unlike a JSON library it keeps
 * every number as it was written, which a recorded answer needs. */
#include "gateway/admin/body.h"

#include "base/text.h"

#define BODY_NODES_MAX (1u << 20)

struct text_sink {
    char *to;
    size_t len;
};

static void put(void *ctx, struct span piece)
{
    struct text_sink *sink = ctx; /* from json_decode() just below, nobody else */
    memcpy(sink->to + sink->len, piece.ptr, piece.len);
    sink->len += piece.len;
}

static void refuse_at(struct call *call, const struct json_fault *fault)
{
    uint32_t line = 1, column = 1;
    for (size_t i = 0; i < fault->offset && i < call->body.len; i++) {
        bool ends = call->body.ptr[i] == '\n';
        line += ends ? 1 : 0;
        column = ends ? 1 : column + 1;
    }
    call_problem(call, ADMIN_BODY_INVALID, "The body is not valid JSON: line %u, column %u: %s.",
                 line, column, fault->text);
}

bool body_parse(struct call *call, struct json_doc *ret_doc)
{
    const struct json_limits limits = {.depth_max = BODY_DEPTH_MAX, .nodes_max = BODY_NODES_MAX};
    struct json_fault fault;
    uint32_t count;
    if (call->body.len == 0) {
        call_problem(call, ADMIN_BODY_INVALID, "The body is empty; send a JSON object.");
        return false;
    }
    if (!json_count(call->body, &limits, &count, &fault)) {
        refuse_at(call, &fault);
        return false;
    }
    struct json_node *nodes = arena_take(call->arena, count * sizeof(*nodes));
    uint32_t *order = arena_take(call->arena, count * sizeof(*order));
    if (nodes == NULL || order == NULL) {
        call_problem(call, ADMIN_OVERLOADED, "Out of memory.");
        return false;
    }
    if (!json_parse(call->body, &limits, nodes, order, count, ret_doc, &fault)) {
        refuse_at(call, &fault);
        return false;
    }
    if (nodes[0].kind != JSON_KIND_OBJECT) {
        call_problem(call, ADMIN_BODY_INVALID, "The body must be a JSON object.");
        return false;
    }
    return true;
}

static bool name_equals(const struct json_doc *doc, const struct json_node *node, struct span name)
{
    struct span raw = span_of(doc->text.ptr + node->name_start, node->name_end - node->name_start);
    return json_string_equals(raw, node->name_has_escapes != 0, name);
}

static bool is_among(const struct json_doc *doc, const struct json_node *node, const char *names)
{
    struct span rest = span_str(names);
    while (rest.len > 0) {
        size_t end = 0;
        while (end < rest.len && rest.ptr[end] != ' ')
            end++;
        if (name_equals(doc, node, span_of(rest.ptr, end)))
            return true;
        rest = end < rest.len ? span_of(rest.ptr + end + 1, rest.len - end - 1) : span_of("", 0);
    }
    return false;
}

bool body_knows_members(struct call *call, const struct json_doc *doc, uint32_t node,
                        const char *names)
{
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE; at = doc->nodes[at].next) {
        if (is_among(doc, &doc->nodes[at], names))
            continue;
        struct span name = span_of("", 0);
        if (!body_name(call, doc, at, &name) || name.len > 64)
            name.len = name.len > 64 ? 64 : name.len;
        call_problem(call, ADMIN_BODY_INVALID, "The member \"%.*s\" is not one of: %s.",
                     (int)name.len, name.ptr, names);
        return false;
    }
    return true;
}

uint32_t body_member(const struct json_doc *doc, uint32_t node, const char *name)
{
    uint32_t at = doc->nodes[node].child;
    while (at != JSON_NONE && !name_equals(doc, &doc->nodes[at], span_str(name)))
        at = doc->nodes[at].next;
    return at;
}

struct span body_raw(const struct json_doc *doc, uint32_t node)
{
    const struct json_node *n = &doc->nodes[node];
    return span_of(doc->text.ptr + n->start, n->end - n->start);
}

/* Escapes only shrink, so the raw length is room enough. */
static bool decode(struct call *call, struct span raw, bool has_escapes, struct span *ret)
{
    struct text_sink sink = {.to = arena_take(call->arena, raw.len + 1)};
    if (sink.to == NULL)
        return false;
    json_decode(raw, has_escapes, put, &sink);
    *ret = span_of(sink.to, sink.len);
    return true;
}

bool body_text(struct call *call, const struct json_doc *doc, uint32_t node, struct span *ret)
{
    const struct json_node *n = &doc->nodes[node];
    return n->kind == JSON_KIND_STRING &&
           decode(call, body_raw(doc, node), n->has_escapes != 0, ret);
}

bool body_name(struct call *call, const struct json_doc *doc, uint32_t node, struct span *ret)
{
    const struct json_node *n = &doc->nodes[node];
    return decode(call, span_of(doc->text.ptr + n->name_start, n->name_end - n->name_start),
                  n->name_has_escapes != 0, ret);
}

/* A control byte but tab and newline: it would hide or overwrite what stands around it
 * wherever the text is shown. In UTF-8 those above 0x7f begin with 0xc2. */
static bool has_controls(struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        uint8_t byte = (uint8_t)text.ptr[i];
        bool is_high = byte == 0xc2 && i + 1 < text.len && (uint8_t)text.ptr[i + 1] < 0xa0;
        if (is_high || byte == 0x7f || (byte < 0x20 && byte != '\t' && byte != '\n'))
            return true;
    }
    return false;
}

bool body_words(struct call *call, const struct json_doc *doc, uint32_t node, size_t bytes_max,
                struct span *ret)
{
    struct span text = {"", 0};
    bool is_text = node != JSON_NONE && body_text(call, doc, node, &text);
    size_t blanks = 0;
    while (blanks < text.len && (text.ptr[blanks] == ' ' || text.ptr[blanks] == '\t' ||
                                 text.ptr[blanks] == '\n' || text.ptr[blanks] == '\r'))
        blanks++;
    if (!is_text || blanks == text.len || text.len > bytes_max || has_controls(text))
        return false;
    *ret = text;
    return true;
}

bool body_flag(struct call *call, const struct json_doc *doc, const char *name, bool *ret)
{
    uint32_t node = body_member(doc, 0, name);
    *ret = node != JSON_NONE && doc->nodes[node].kind == JSON_KIND_TRUE;
    if (node == JSON_NONE || *ret || doc->nodes[node].kind == JSON_KIND_FALSE)
        return true;
    call_problem(call, ADMIN_BODY_INVALID, "%s must be true or false.", name);
    return false;
}

bool body_version(struct call *call, const struct json_doc *doc, uint32_t *ret)
{
    uint32_t node = body_member(doc, 0, "version");
    uint64_t version;
    if (node == JSON_NONE || doc->nodes[node].kind != JSON_KIND_NUMBER ||
        !gw_parse_u64(body_raw(doc, node), &version) || version > UINT32_MAX) {
        call_problem(call, ADMIN_BODY_INVALID,
                     "version must be the version of the operation that you looked at.");
        return false;
    }
    *ret = (uint32_t)version;
    return true;
}

bool body_note(struct call *call, const struct json_doc *doc, struct span *ret)
{
    if (body_words(call, doc, body_member(doc, 0, "note"), CALL_NOTE_BYTES_MAX, ret))
        return true;
    call_problem(call, ADMIN_BODY_INVALID,
                 "note: say why, in 1 to %d bytes without control characters but tab and newline; "
                 "it goes on record with your name.",
                 CALL_NOTE_BYTES_MAX);
    return false;
}

bool body_optional_note(struct call *call, const struct json_doc *doc, struct span *ret)
{
    uint32_t node = body_member(doc, 0, "note");
    *ret = span_of("", 0);
    return node == JSON_NONE || doc->nodes[node].kind == JSON_KIND_NULL ||
           body_note(call, doc, ret);
}
