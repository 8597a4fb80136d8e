/* What Recibo would read from one request: the key, the members that count, the
 * labels. It decides with the functions of policy/ that serve, too.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the
 * command looks at that once. */
#include "gateway/commands/explain.h"
#include "gateway/media.h"
#include "policy/key.h"

#define EXPLAIN_LINES_MAX  4
#define EXPLAIN_JSON_DEPTH 64
#define EXPLAIN_NODES_MAX  (1u << 20)
#define EXPLAIN_PAIRS_MAX  (1u << 16)

struct content {
    const struct explain_request *request;
    bool is_json, is_form;
    struct json_doc doc;
    uint32_t *order;
    struct form_pair *pairs;
    uint32_t pair_count;
};

/* ---- the body ---- */

static bool take_json(struct content *content, struct json_fault *fault)
{
    const struct json_limits limits = {EXPLAIN_JSON_DEPTH, EXPLAIN_NODES_MAX};
    struct arena *arena = content->request->arena;
    struct span text = content->request->body;
    uint32_t count;
    if (!json_count(text, &limits, &count, fault))
        return false;
    struct json_node *nodes = arena_take(arena, sizeof(*nodes) * count);
    content->order = arena_take(arena, sizeof(*content->order) * count);
    fault->text = "there is not enough memory to take it apart";
    if (nodes == NULL || content->order == NULL)
        return false;
    content->is_json =
        json_parse(text, &limits, nodes, content->order, count, &content->doc, fault);
    return content->is_json;
}

static bool take_form(struct content *content, struct json_fault *fault)
{
    struct span text = content->request->body;
    uint32_t room = form_count(text);
    fault->text = "the form has too many fields";
    content->pairs = room > EXPLAIN_PAIRS_MAX ? NULL
                                              : arena_take(content->request->arena,
                                                           sizeof(*content->pairs) * (room + 1));
    if (content->pairs == NULL)
        return false;
    content->is_form = form_parse(text, content->pairs, room + 1, &content->pair_count, fault);
    return content->is_form;
}

static const struct http_field *find_field(const struct explain_request *request, struct span name,
                                           uint32_t from)
{
    for (uint32_t i = from; i < request->field_count; i++)
        if (span_equal_nocase(request->fields[i].name, name))
            return &request->fields[i];
    return NULL;
}

static void take_body(struct content *content, struct gw_buf *out)
{
    const struct route_policy *route = content->request->match.route;
    struct json_fault fault = {0, ""};
    const struct http_field *type = find_field(content->request, SPAN("Content-Type"), 0);
    if (!content->request->has_body)
        return;
    if (content->request->body.len > route->request_body_max)
        (void)gw_buf_print(out, "  Body      over request_body_max: 413\n");
    if (type != NULL && !media_fits(route->fingerprint.mode, media_type(type->value)))
        (void)gw_buf_print(out, "  Body      of a media type that mode %s cannot compare: 415\n",
                           fingerprint_mode_name(route->fingerprint.mode));
    bool good = true;
    if (route->fingerprint.mode == FINGERPRINT_JSON)
        good = take_json(content, &fault);
    else if (route->fingerprint.mode == FINGERPRINT_FORM)
        good = take_form(content, &fault);
    if (!good)
        (void)gw_buf_print(out, "  Body      400: %s (byte %zu)\n", fault.text, fault.offset);
}

/* ---- texts out of the request ---- */

struct text_sink {
    char *room;
    size_t len;
};

static void put_text(void *ctx, struct span piece)
{
    struct text_sink *sink = ctx;
    if (piece.len > 0)
        memcpy(sink->room + sink->len, piece.ptr, piece.len);
    sink->len += piece.len;
}

static bool json_text(const struct content *content, const struct json_pointer *pointer,
                      struct span *ret, bool *ret_is_string)
{
    uint32_t at = content->is_json ? json_find(&content->doc, pointer) : JSON_NONE;
    if (at == JSON_NONE)
        return false;
    const struct json_node *node = &content->doc.nodes[at];
    struct span raw = span_of(content->doc.text.ptr + node->start, node->end - node->start);
    *ret_is_string = node->kind == JSON_KIND_STRING;
    *ret = raw;
    if (!*ret_is_string)
        return node->kind != JSON_KIND_ARRAY && node->kind != JSON_KIND_OBJECT;
    struct text_sink sink = {arena_take(content->request->arena, raw.len), 0};
    if (sink.room == NULL)
        return false;
    json_decode(raw, node->has_escapes != 0, put_text, &sink);
    *ret = span_of(sink.room, sink.len);
    return true;
}

static bool form_text(const struct content *content, struct span name, struct span *ret)
{
    struct span body = content->request->body;
    if (!content->is_form)
        return false;
    uint32_t at = form_find(body, content->pairs, content->pair_count, name);
    if (at == JSON_NONE)
        return false;
    struct span raw = span_of(body.ptr + content->pairs[at].value,
                              content->pairs[at].value_end - content->pairs[at].value);
    struct text_sink sink = {arena_take(content->request->arena, raw.len), 0};
    if (sink.room == NULL)
        return false;
    form_decode(raw, put_text, &sink);
    *ret = span_of(sink.room, sink.len);
    return true;
}

static bool path_text(const struct content *content, struct span name, struct span *ret)
{
    const struct route_match *match = &content->request->match;
    for (uint32_t i = 0; i < match->param_count; i++) {
        if (!span_equal(match->params[i].name, name))
            continue;
        *ret = match->params[i].value;
        return true;
    }
    return false;
}

/* ---- the key ---- */

static enum key_verdict key_of_header(const struct content *content,
                                      const struct key_source *source, struct span *ret,
                                      struct key_fault *fault)
{
    const struct explain_request *request = content->request;
    struct span lines[EXPLAIN_LINES_MAX];
    uint32_t count = 0;
    size_t longest = 1;
    const struct http_field *field;
    for (uint32_t from = 0;
         count < EXPLAIN_LINES_MAX && (field = find_field(request, source->name, from)) != NULL;
         from = (uint32_t)(field - request->fields) + 1) {
        lines[count++] = field->value;
        longest = field->value.len > longest ? field->value.len : longest;
    }
    char *room = arena_take(request->arena, longest);
    size_t len = 0;
    if (room == NULL)
        return KEY_INVALID;
    enum key_verdict verdict = key_from_lines(&source->grammar, lines, count, room, &len, fault);
    *ret = span_of(room, len);
    return verdict;
}

static enum key_verdict key_of(const struct content *content, const struct key_source *source,
                               struct span *ret, struct key_fault *fault)
{
    bool found = false, is_string = true;
    if (source->from == KEY_FROM_HEADER)
        return key_of_header(content, source, ret, fault);
    if (source->from == KEY_FROM_JSON)
        found = json_text(content, &source->pointer, ret, &is_string);
    else if (source->from == KEY_FROM_FORM)
        found = form_text(content, source->name, ret);
    else
        found = path_text(content, source->name, ret);
    fault->text = found ? "The key in the body must be a JSON string."
                        : "It is taken from the request's content, and it is not there.";
    if (!found || !is_string)
        return found ? KEY_INVALID : KEY_MISSING;
    return key_from_text(&source->grammar, *ret, fault);
}

static void put_shown(struct span text, struct gw_buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 0x20 || c >= 0x7f)
            (void)gw_buf_print(out, "\\x%02x", c);
        else
            (void)gw_buf_byte(out, (char)c);
    }
}

static void put_key(const struct content *content, const struct key_source *source,
                    struct gw_buf *out)
{
    struct span key = {"", 0};
    struct key_fault fault = {"It cannot be read."};
    (void)gw_buf_print(out, "  Key here  ");
    switch (key_of(content, source, &key, &fault)) {
    case KEY_OK:
        put_shown(key, out);
        break;
    case KEY_MISSING:
        if (source->required)
            (void)gw_buf_print(out, "missing, 400: %s", fault.text);
        else
            (void)gw_buf_print(out, "none: the request passes unprotected");
        break;
    case KEY_INVALID:
        (void)gw_buf_print(out, "400: %s", fault.text);
        break;
    }
    (void)gw_buf_print(out, "\n");
}

/* ---- what counts ---- */

struct member_list {
    struct gw_buf *out;
    uint32_t count;
};

static void drop_bytes(void *ctx, struct span bytes)
{
    (void)ctx;
    (void)bytes;
}

static void on_member(void *ctx, struct span pointer)
{
    struct member_list *list = ctx;
    (void)gw_buf_print(list->out, list->count++ == 0 ? "  Members   " : " ");
    put_shown(pointer, list->out);
}

static void on_member_end(void *ctx)
{
    (void)ctx;
}

static void put_members(const struct content *content, struct gw_buf *out)
{
    const struct route_policy *route = content->request->match.route;
    struct member_list list = {out, 0};
    const struct canonical_sink sink = {drop_bytes, on_member, on_member_end, &list};
    if (content->is_json)
        canonical_json(&content->doc, &route->fingerprint.body, content->order, &sink);
    else if (content->is_form)
        canonical_form(content->request->body, content->pairs, content->pair_count, &sink);
    if (list.count > 0)
        (void)gw_buf_print(out, "\n");
}

static void put_label(const struct content *content, const struct label_policy *label,
                      struct gw_buf *out)
{
    struct span text = {"", 0};
    bool is_string, found = false;
    const struct http_field *field;
    switch (label->from) {
    case LABEL_FROM_JSON:
        found = json_text(content, &label->pointer, &text, &is_string);
        break;
    case LABEL_FROM_FORM:
        found = form_text(content, label->source, &text);
        break;
    case LABEL_FROM_PATH:
        found = path_text(content, label->source, &text);
        break;
    case LABEL_FROM_HEADER:
        field = find_field(content->request, label->source, 0);
        found = field != NULL;
        text = found ? field->value : text;
        break;
    }
    if (text.len > LABEL_VALUE_BYTES)
        text.len = LABEL_VALUE_BYTES;
    (void)gw_buf_print(out, "  Label     %.*s = ", (int)label->name.len, label->name.ptr);
    put_shown(found ? text : SPAN("(not in this request)"), out);
    (void)gw_buf_print(out, "\n");
}

void explain_content(const struct explain_request *request, struct gw_buf *out)
{
    const struct route_policy *route = request->match.route;
    struct content content = {.request = request};
    take_body(&content, out);
    if (route->key.from == KEY_FROM_ALL)
        for (uint32_t i = 0; i < route->key.part_count; i++)
            put_key(&content, &route->key.parts[i], out);
    else
        put_key(&content, &route->key, out);
    /* Form pairs are sorted by what comes last: the key and the labels look first. */
    for (uint32_t i = 0; i < route->label_count; i++)
        put_label(&content, &route->labels[i], out);
    put_members(&content, out);
}
