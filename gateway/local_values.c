/* Reads the values of a local effect. It must never bind anything that the route does
 * not name, nor leave out what the body has. */
#include "gateway/local_values.h"
#include "gateway/media.h"
#include "gateway/print.h"
#include "gateway/worker.h"

#include "policy/utf8.h"

#include <math.h>
#include <stdlib.h>

static void refuse(struct local_values *ret, enum problem problem, struct span detail)
{
    ret->problem = problem;
    ret->detail = detail;
}

/* ---- the body as JSON ---- */

/* The route compares it in another mode, perhaps: then nobody has looked at its type. */
static bool type_is_right(struct flow *flow, struct local_values *ret)
{
    const struct http_field *type = http_head_find(flow->head, SPAN("Content-Type"), 0);
    const struct http_field *coding = http_head_find(flow->head, SPAN("Content-Encoding"), 0);
    bool is_plain = coding == NULL || span_equal_nocase(coding->value, SPAN("identity"));
    if (is_plain && type != NULL && media_fits(FINGERPRINT_JSON, media_type(type->value)))
        return true;
    refuse(ret, PROBLEM_MEDIA_TYPE,
           is_plain ? SPAN("The route takes a JSON body. Nothing was kept.")
                    : SPAN("The route takes a body without a content coding. Nothing was kept."));
    return false;
}

/* A flow that only asks what would happen has no worker: its nodes lie in its arena. */
static struct json_node *take_nodes(struct flow *flow, uint32_t count, uint32_t **ret_order)
{
    if (flow->worker != NULL)
        return worker_json_nodes(flow->worker, count, ret_order);
    *ret_order = arena_take(flow->arena, count * sizeof(**ret_order));
    return *ret_order == NULL ? NULL : arena_take(flow->arena, count * sizeof(struct json_node));
}

static bool parse(struct flow *flow, struct json_doc *ret_doc, struct local_values *ret)
{
    const struct json_limits limits = {.depth_max = PRINT_JSON_DEPTH_MAX,
                                       .nodes_max = PRINT_JSON_NODES_MAX};
    struct span text = gw_buf_span(&flow->body);
    struct json_fault fault = {0, ""};
    uint32_t count = 0, *order = NULL;
    if (json_count(text, &limits, &count, &fault)) {
        struct json_node *nodes = take_nodes(flow, count, &order);
        if (nodes == NULL) {
            refuse(ret, PROBLEM_OVERLOADED, SPAN(""));
            return false;
        }
        if (json_parse(text, &limits, nodes, order, count, ret_doc, &fault))
            return true;
    }
    refuse(ret, PROBLEM_BODY_INVALID,
           arena_print(flow->arena, "The body is not JSON: %s (byte %zu). Nothing was kept.",
                       fault.text, fault.offset));
    return false;
}

/* ---- members ---- */

static void add_piece(void *ctx, struct span piece)
{
    struct gw_buf *out = ctx;
    (void)gw_buf_add(out, piece); /* never longer than its escapes: there is room */
}

static bool take_text(struct flow *flow, const struct accept_value *from, struct store_value *ret)
{
    struct gw_buf text;
    gw_buf_init(&text, from->raw.len + 1);
    json_decode(from->raw, from->has_escapes, add_piece, &text);
    ret->kind = STORE_VALUE_TEXT;
    bool ok = !text.failed && arena_copy(flow->arena, gw_buf_span(&text), &ret->text);
    gw_buf_fini(&text);
    return ok;
}

static bool take_real(struct flow *flow, struct span raw, struct store_value *ret)
{
    struct span text = arena_print(flow->arena, "%.*s", (int)raw.len, raw.ptr);
    if (text.len == 0)
        return false;
    ret->kind = STORE_VALUE_REAL;
    ret->real = strtod(text.ptr, NULL); /* the locale of the process is C: a point is a point */
    return true;
}

/* false: out of memory. */
static bool take_value(struct flow *flow, const struct accept_value *from, struct store_value *ret)
{
    switch (from->kind) {
    case ACCEPTED_NULL:
        ret->kind = STORE_VALUE_NULL;
        return true;
    case ACCEPTED_INTEGER:
        ret->kind = STORE_VALUE_INTEGER;
        ret->integer = from->integer;
        return true;
    case ACCEPTED_REAL:
        return take_real(flow, from->raw, ret);
    case ACCEPTED_STRING:
        return take_text(flow, from, ret);
    }
    return false;
}

/* The name as people would write it; a name out of a body may hold anything. */
static void refuse_member(struct flow *flow, const struct accept_fault *fault,
                          struct local_values *ret)
{
    struct gw_buf name;
    struct span shown = fault->member.len > 64 ? span_of(fault->member.ptr, 64) : fault->member;
    if (fault->member.len == 0) {
        refuse(ret, PROBLEM_CONTENT_REFUSED,
               arena_print(flow->arena, "The body %s. Nothing was kept.", fault->text));
        return;
    }
    gw_buf_init(&name, 1024);
    gw_json_string(&name, shown); /* it fits */
    refuse(ret, PROBLEM_CONTENT_REFUSED,
           arena_print(flow->arena, "The member %.*s %s. Nothing was kept.", (int)name.len,
                       name.ptr, fault->text));
    gw_buf_fini(&name);
}

static void read_members(struct flow *flow, struct local_values *ret)
{
    const struct accept_policy *policy = &flow->route->local->accept;
    struct accept_value values[ACCEPT_MEMBERS_MAX];
    struct accept_fault fault = {.text = ""};
    struct json_doc doc;
    if (!type_is_right(flow, ret) || !parse(flow, &doc, ret))
        return;
    if (!accept_body(policy, &doc, values, &fault)) {
        refuse_member(flow, &fault, ret);
        return;
    }
    for (uint32_t i = 0; i < policy->member_count; i++) {
        struct store_value *value = &ret->values[LOCAL_PARAMETER_COUNT + i];
        if (!take_value(flow, &values[i], value)) {
            refuse(ret, PROBLEM_OVERLOADED, SPAN(""));
            return;
        }
        fault = (struct accept_fault){.member = policy->members[i].name,
                                      .text = "is a number that no computer's number can hold"};
        if (value->kind == STORE_VALUE_REAL && !isfinite(value->real)) {
            refuse_member(flow, &fault, ret);
            return;
        }
    }
}

/* ---- all of them ---- */

/* A text that SQLite sees whole. */
static bool is_text(struct span body)
{
    for (size_t at = 0; at < body.len;) {
        size_t len = utf8_sequence(body, at);
        if (len == 0 || body.ptr[at] == '\0')
            return false;
        at += len;
    }
    return true;
}

static void set_text(struct store_value *value, struct span text)
{
    *value = (struct store_value){.kind = STORE_VALUE_TEXT, .text = text};
}

void local_values_read(struct flow *flow, struct local_values *ret)
{
    const struct local_policy *local = flow->route->local;
    *ret = (struct local_values){.problem = PROBLEM_NONE, .detail = {"", 0}};
    ret->values = arena_take(flow->arena, local->name_count * sizeof(*ret->values));
    if (ret->values == NULL) {
        refuse(ret, PROBLEM_OVERLOADED, SPAN(""));
        return;
    }
    set_text(&ret->values[LOCAL_OWNER], flow->owner);
    set_text(&ret->values[LOCAL_OPERATION_ID], SPAN(""));
    set_text(&ret->values[LOCAL_KEY], flow->key);
    set_text(&ret->values[LOCAL_BODY], SPAN(""));
    if (local->uses_body && !is_text(gw_buf_span(&flow->body))) {
        refuse(ret, PROBLEM_CONTENT_REFUSED,
               SPAN("The body must be text in UTF-8 without U+0000. Nothing was kept."));
        return;
    }
    if (local->uses_body)
        set_text(&ret->values[LOCAL_BODY], gw_buf_span(&flow->body));
    if (local->takes_json)
        read_members(flow, ret);
}

void local_values_set_id(struct local_values *local, struct span operation_id)
{
    gw_assert(local->problem == PROBLEM_NONE);
    set_text(&local->values[LOCAL_OPERATION_ID], operation_id);
}
