/* What Recibo would read from one request: the key, the members that count, the
 * labels. It asks the very functions that the room `key` asks, on a flow that has no
 * worker, no caller and no store: it must never decide anything by itself.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the
 * command looks at that once. */
#include "gateway/commands/explain.h"
#include "gateway/key_read.h"
#include "gateway/local_values.h"
#include "gateway/problem.h"

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

/* The request as the rooms would have it; NULL: out of memory. */
static struct flow *make_flow(const struct explain_request *request)
{
    struct flow *flow = arena_take(request->arena, sizeof(*flow));
    struct http_head *head = arena_take(request->arena, sizeof(*head));
    struct http_field *fields =
        arena_take(request->arena, (request->field_count + 1) * sizeof(*fields));
    if (flow == NULL || head == NULL || fields == NULL)
        return NULL;
    memcpy(fields, request->fields, request->field_count * sizeof(*fields));
    *head = (struct http_head){.method = request->method,
                               .target = request->path,
                               .path = request->path,
                               .minor = 1,
                               .framing = request->has_body ? HTTP1_LENGTH : HTTP1_NO_BODY,
                               .content_length = request->body.len,
                               .fields = fields,
                               .field_count = request->field_count};
    flow->arena = request->arena;
    flow->conf = request->conf;
    flow->head = head;
    flow->match = request->match;
    flow->route = request->match.route;
    if (request->body.len > 0) { /* read only, and it ends with the arena */
        char *room = arena_take(request->arena, request->body.len);
        if (room == NULL)
            return NULL;
        memcpy(room, request->body.ptr, request->body.len);
        flow->body = (struct gw_buf){.ptr = room,
                                     .len = request->body.len,
                                     .cap = request->body.len,
                                     .bytes_max = request->body.len};
    }
    return flow;
}

/* ---- the body ---- */

static void put_refusal(enum problem problem, struct span detail, struct gw_buf *out)
{
    (void)gw_buf_print(out, "  Body      %u %s", problem_status(problem), problem_code(problem));
    if (detail.len > 0) {
        (void)gw_buf_print(out, ": ");
        put_shown(detail, out);
    }
    (void)gw_buf_print(out, "\n");
}

/* In the order of the room; false: refused, and it was said. */
static bool take_body(struct flow *flow, struct parsed_body *ret, struct gw_buf *out)
{
    struct span detail = SPAN("");
    enum problem problem = PROBLEM_NONE;
    *ret = (struct parsed_body){0};
    if (flow->head->framing == HTTP1_NO_BODY)
        return true; /* none was given: nothing to say about it */
    if (flow->head->content_length > flow->route->request_body_max)
        problem = PROBLEM_TOO_LARGE;
    if (problem == PROBLEM_NONE)
        problem = print_check_head(flow, &detail);
    if (problem == PROBLEM_NONE)
        problem = print_parse(flow, ret, &detail);
    if (problem == PROBLEM_NONE)
        problem = key_find_place_of_id(flow, ret, &detail);
    if (problem != PROBLEM_NONE)
        put_refusal(problem, detail, out);
    return problem == PROBLEM_NONE;
}

/* What a local effect would say to it, before its statement is run. */
static void put_taken(struct flow *flow, struct gw_buf *out)
{
    struct local_values local;
    local_values_read(flow, &local);
    if (local.problem != PROBLEM_NONE)
        put_refusal(local.problem, local.detail, out);
}

/* ---- the key ---- */

static bool lies_in_body(const struct key_source *source)
{
    bool found = source->from == KEY_FROM_JSON || source->from == KEY_FROM_FORM;
    for (uint32_t i = 0; i < source->part_count; i++)
        found = found || source->parts[i].from == KEY_FROM_JSON ||
                source->parts[i].from == KEY_FROM_FORM;
    return found;
}

static void put_verdict(const struct flow *flow, enum key_verdict verdict, struct span key,
                        const struct key_fault *fault, struct gw_buf *out)
{
    const struct key_source *source = &flow->route->key;
    bool is_empty =
        source->from == KEY_FROM_HEADER && http_head_find(flow->head, source->name, 0) != NULL;
    switch (verdict) {
    case KEY_OK:
        put_shown(key, out);
        break;
    case KEY_MISSING:
        (void)gw_buf_print(out, "%s, 400 %s: %s", is_empty ? "empty" : "missing",
                           problem_code(PROBLEM_KEY_MISSING),
                           fault->text[0] != '\0' ? fault->text : "the request has none");
        break;
    case KEY_INVALID:
        (void)gw_buf_print(out, "400 %s: %s", problem_code(PROBLEM_KEY_INVALID), fault->text);
        break;
    }
}

/* The parts of a composite one by one: which of them is it? */
static void put_parts(struct flow *flow, const struct parsed_body *body, struct gw_buf *out)
{
    for (uint32_t i = 0; i < flow->route->key.part_count; i++) {
        struct span part = SPAN("");
        struct key_fault fault = {""};
        enum key_verdict verdict =
            key_read_part(flow, &flow->route->key.parts[i], body, &part, &fault);
        (void)gw_buf_print(out, "    part %u  ", i + 1);
        if (verdict == KEY_OK)
            put_shown(part, out);
        else
            (void)gw_buf_print(out, "%s: %s", verdict == KEY_MISSING ? "missing" : "not valid",
                               fault.text);
        (void)gw_buf_print(out, "\n");
    }
}

static void put_key(struct flow *flow, const struct parsed_body *body, bool body_is_good,
                    struct gw_buf *out)
{
    const struct key_source *source = &flow->route->key;
    struct span key = SPAN("");
    struct key_fault fault = {""};
    (void)gw_buf_print(out, "  Key here  ");
    if (lies_in_body(source) && flow->head->framing == HTTP1_NO_BODY) {
        (void)gw_buf_print(out, "lies in the body: give it with --body FILE\n");
        return;
    }
    if (source->from == KEY_FROM_CONTENT) {
        (void)gw_buf_print(out, "the fingerprint of this request\n");
        return;
    }
    if (source->from != KEY_FROM_HEADER && !body_is_good) {
        (void)gw_buf_print(out, "not read: the body is refused before\n");
        return;
    }
    enum key_verdict verdict = source->from == KEY_FROM_HEADER
                                   ? key_read_header(flow, source, &key, &fault)
                                   : key_read_content(flow, body, &key, &fault);
    put_verdict(flow, verdict, key, &fault, out);
    (void)gw_buf_print(out, "\n");
    put_parts(flow, body, out);
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

static void put_members(const struct flow *flow, const struct parsed_body *body, struct gw_buf *out)
{
    struct member_list list = {out, 0};
    const struct canonical_sink sink = {drop_bytes, on_member, on_member_end, &list};
    if (body->is_json)
        canonical_json(&body->doc, &flow->route->fingerprint.body, body->order, &sink);
    else if (body->is_form)
        canonical_form(gw_buf_span(&flow->body), body->pairs, body->pair_count, &sink);
    if (list.count > 0)
        (void)gw_buf_print(out, "\n");
}

static void put_label(struct flow *flow, const struct parsed_body *body,
                      const struct label_policy *label, struct gw_buf *out)
{
    struct span text = SPAN("");
    bool found = print_label_text(flow, body, label, &text) && text.len > 0;
    if (text.len > LABEL_VALUE_BYTES)
        text.len = LABEL_VALUE_BYTES;
    (void)gw_buf_print(out, "  Label     %.*s = ", (int)label->name.len, label->name.ptr);
    put_shown(found ? text : SPAN("(not in this request)"), out);
    (void)gw_buf_print(out, "\n");
}

void explain_content(const struct explain_request *request, struct gw_buf *out)
{
    struct parsed_body body;
    struct flow *flow = make_flow(request);
    if (flow == NULL) {
        (void)gw_buf_print(out, "  (there is not enough memory to look into the request)\n");
        return;
    }
    if (key_is_left_out(flow)) {
        (void)gw_buf_print(out, "  Key here  none: the request passes unprotected\n");
        return;
    }
    bool is_good = take_body(flow, &body, out);
    if (is_good && flow->route->local != NULL && flow->head->framing != HTTP1_NO_BODY)
        put_taken(flow, out);
    put_key(flow, &body, is_good, out);
    /* Form pairs are sorted by what comes last: the key and the labels look first. */
    for (uint32_t i = 0; i < flow->route->label_count; i++)
        put_label(flow, &body, &flow->route->labels[i], out);
    put_members(flow, &body, out);
}

static enum problem body_problem(struct flow *flow, struct parsed_body *ret)
{
    struct span detail = SPAN("");
    enum problem problem = PROBLEM_NONE;
    *ret = (struct parsed_body){0};
    if (flow->head->framing == HTTP1_NO_BODY)
        return PROBLEM_NONE;
    if (flow->head->content_length > flow->route->request_body_max)
        problem = PROBLEM_TOO_LARGE;
    if (problem == PROBLEM_NONE)
        problem = print_check_head(flow, &detail);
    if (problem == PROBLEM_NONE)
        problem = print_parse(flow, ret, &detail);
    return problem;
}

void explain_key(const struct explain_request *request, struct span *ret_key,
                 struct span *ret_problem)
{
    struct parsed_body body;
    struct key_fault fault = {""};
    struct flow *flow = make_flow(request);
    *ret_key = *ret_problem = SPAN("");
    if (flow == NULL || key_is_left_out(flow))
        return;
    const struct key_source *source = &flow->route->key;
    enum problem problem = body_problem(flow, &body);
    if (source->from != KEY_FROM_HEADER && problem != PROBLEM_NONE) {
        *ret_problem = span_str(problem_code(problem));
        return;
    }
    enum key_verdict verdict = source->from == KEY_FROM_HEADER
                                   ? key_read_header(flow, source, ret_key, &fault)
                                   : key_read_content(flow, &body, ret_key, &fault);
    if (verdict == KEY_MISSING)
        problem = PROBLEM_KEY_MISSING;
    else if (verdict == KEY_INVALID)
        problem = PROBLEM_KEY_INVALID;
    if (problem != PROBLEM_NONE) {
        *ret_key = SPAN("");
        *ret_problem = span_str(problem_code(problem));
    }
}
