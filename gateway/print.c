/* Computes the fingerprint. The canonical bytes go straight into the digests; a
 * copy of the body is never made. */
#include "gateway/print.h"
#include "gateway/media.h"
#include "gateway/worker.h"

#include "base/digest.h"

/* What stands around the canonical body. A change here counts CANONICAL_VERSION up. */
#define PRINT_VERSION     "recibo-fingerprint-1"
#define PRINT_PIECE_BYTES 4096
#define PRINT_HEADERS_MAX 32 /* as many as fingerprint.headers may list */
#define PRINT_MEMBERS_MAX (CANONICAL_MEMBERS_MAX + 2 + PRINT_HEADERS_MAX) /* method, target too */

enum problem print_check_head(struct flow *flow, struct span *ret_detail)
{
    const struct http_head *head = flow->head;
    enum fingerprint_mode mode = flow->route->fingerprint.mode;
    bool has_body = head->framing == HTTP1_CHUNKED ||
                    (head->framing == HTTP1_LENGTH && head->content_length > 0);
    const struct http_field *type = http_head_find(head, SPAN("Content-Type"), 0);
    const struct http_field *coding = http_head_find(head, SPAN("Content-Encoding"), 0);
    if (mode != FINGERPRINT_RAW && coding != NULL &&
        !span_equal_nocase(coding->value, SPAN("identity"))) {
        *ret_detail = SPAN("This route compares the content of the body and takes it only without "
                           "a content coding.");
        return PROBLEM_MEDIA_TYPE;
    }
    if (!has_body && type == NULL)
        return PROBLEM_NONE;
    struct span value = type == NULL ? SPAN("") : type->value;
    if (media_fits(mode, media_type(value)))
        return PROBLEM_NONE;
    *ret_detail = SPAN("The route compares bodies of another media type. The Accept field of this "
                       "answer names it.");
    return PROBLEM_MEDIA_TYPE;
}

/* A flow that only asks what would happen has no worker: its nodes lie in its arena. */
static struct json_node *take_nodes(struct flow *flow, uint32_t count, uint32_t **ret_order)
{
    if (flow->worker != NULL)
        return worker_json_nodes(flow->worker, count, ret_order);
    *ret_order = arena_take(flow->arena, count * sizeof(**ret_order));
    return *ret_order == NULL ? NULL : arena_take(flow->arena, count * sizeof(struct json_node));
}

static enum problem parse_json(struct flow *flow, struct parsed_body *ret, struct span *ret_detail)
{
    const struct json_limits limits = {.depth_max = PRINT_JSON_DEPTH_MAX,
                                       .nodes_max = PRINT_JSON_NODES_MAX};
    struct span text = gw_buf_span(&flow->body);
    struct json_fault fault = {0, ""};
    uint32_t count = 0;
    if (json_count(text, &limits, &count, &fault)) {
        struct json_node *nodes = take_nodes(flow, count, &ret->order);
        if (nodes == NULL)
            return PROBLEM_OVERLOADED;
        ret->is_json = json_parse(text, &limits, nodes, ret->order, count, &ret->doc, &fault);
        if (ret->is_json)
            return PROBLEM_NONE;
    }
    *ret_detail =
        arena_print(flow->arena, "The body is not JSON that can be compared: %s (byte %zu).",
                    fault.text, fault.offset);
    return PROBLEM_BODY_INVALID;
}

static enum problem parse_form(struct flow *flow, struct parsed_body *ret, struct span *ret_detail)
{
    struct span body = gw_buf_span(&flow->body);
    struct json_fault fault = {0, ""};
    uint32_t room = form_count(body);
    if (room > PRINT_FORM_PAIRS_MAX) {
        *ret_detail = SPAN("The form has too many fields.");
        return PROBLEM_BODY_INVALID;
    }
    ret->pairs = arena_take(flow->arena, (room + 1) * sizeof(*ret->pairs));
    if (ret->pairs == NULL)
        return PROBLEM_OVERLOADED;
    ret->is_form = form_parse(body, ret->pairs, room + 1, &ret->pair_count, &fault);
    if (ret->is_form)
        return PROBLEM_NONE;
    *ret_detail = arena_print(flow->arena, "The body is not a well-formed form: %s (byte %zu).",
                              fault.text, fault.offset);
    return PROBLEM_BODY_INVALID;
}

static struct span multipart_boundary(struct flow *flow)
{
    const struct http_field *type = http_head_find(flow->head, SPAN("Content-Type"), 0);
    return type == NULL ? SPAN("") : media_parameter(flow->arena, type->value, SPAN("boundary"));
}

static void put_nowhere(void *ctx, struct span bytes)
{
    (void)ctx;
    (void)bytes;
}

enum problem print_parse(struct flow *flow, struct parsed_body *ret, struct span *ret_detail)
{
    *ret = (struct parsed_body){0};
    *ret_detail = SPAN("");
    if (flow->body.len == 0 && http_head_find(flow->head, SPAN("Content-Type"), 0) == NULL) {
        ret->is_absent = true;
        return PROBLEM_NONE;
    }
    const struct canonical_sink nowhere = {.put = put_nowhere};
    struct json_fault fault = {0, ""};
    switch (flow->route->fingerprint.mode) {
    case FINGERPRINT_JSON:
        return parse_json(flow, ret, ret_detail);
    case FINGERPRINT_FORM:
        return parse_form(flow, ret, ret_detail);
    case FINGERPRINT_MULTIPART:
        if (canonical_multipart(gw_buf_span(&flow->body), multipart_boundary(flow), &nowhere,
                                &fault))
            return PROBLEM_NONE;
        *ret_detail =
            arena_print(flow->arena, "The body is not well-formed multipart: %s (byte %zu).",
                        fault.text, fault.offset);
        return PROBLEM_BODY_INVALID;
    case FINGERPRINT_RAW:
    case FINGERPRINT_MODE_COUNT:
        break;
    }
    return PROBLEM_NONE;
}

/* ---- the digests ---- */

struct printer {
    struct flow *flow;
    struct gw_sha256 *total;
    struct gw_sha256 *open[2]; /* of the member and the member inside it */
    uint32_t depth;
    struct member_digest members[PRINT_MEMBERS_MAX];
    uint32_t member_count;
    uint32_t open_member[2];
    bool failed;
    size_t len;
    char piece[PRINT_PIECE_BYTES]; /* gathers small writes: a digest call each is dear */
};

static void flush(struct printer *printer)
{
    struct span bytes = span_of(printer->piece, printer->len);
    gw_sha256_add(printer->total, bytes);
    for (uint32_t i = 0; i < printer->depth && i < 2; i++)
        gw_sha256_add(printer->open[i], bytes);
    printer->len = 0;
}

static void put(void *ctx, struct span bytes)
{
    struct printer *printer = ctx;
    if (printer->len + bytes.len > sizeof(printer->piece))
        flush(printer);
    if (bytes.len <= sizeof(printer->piece)) {
        memcpy(printer->piece + printer->len, bytes.ptr, bytes.len);
        printer->len += bytes.len;
        return;
    }
    gw_sha256_add(printer->total, bytes);
    for (uint32_t i = 0; i < printer->depth && i < 2; i++)
        gw_sha256_add(printer->open[i], bytes);
}

static void member_begin(void *ctx, struct span pointer)
{
    struct printer *printer = ctx;
    flush(printer);
    if (printer->depth < 2 && printer->member_count < PRINT_MEMBERS_MAX) {
        struct member_digest *member = &printer->members[printer->member_count];
        if (!arena_copy(printer->flow->arena, pointer, &member->pointer))
            printer->failed = true;
        printer->open_member[printer->depth] = printer->member_count++;
        gw_sha256_start(printer->open[printer->depth]);
        gw_sha256_add_part(printer->open[printer->depth],
                           store_secret(worker_ports(printer->flow->worker)->store));
    }
    printer->depth++;
}

static void member_end(void *ctx)
{
    struct printer *printer = ctx;
    flush(printer);
    gw_assert(printer->depth > 0);
    printer->depth--;
    if (printer->depth < 2) {
        uint8_t digest[GW_SHA256_BYTES];
        gw_sha256_final(printer->open[printer->depth], digest);
        memcpy(printer->members[printer->open_member[printer->depth]].mac, digest, 8);
    }
}

/* Method, target and headers: named when they change, like members of the body. */
static void add_named(struct printer *printer, struct span pointer, struct span value)
{
    gw_sha256_add_part(printer->total, value);
    if (printer->member_count == PRINT_MEMBERS_MAX)
        return;
    struct member_digest *member = &printer->members[printer->member_count++];
    member->pointer = pointer;
    gw_mac8(store_secret(worker_ports(printer->flow->worker)->store), value, member->mac);
}

static void add_header(struct printer *printer, struct span name)
{
    const struct flow *flow = printer->flow;
    struct arena *arena = flow->arena;
    const struct http_field *field = NULL;
    struct span value = SPAN("");
    bool is_type = span_equal_nocase(name, SPAN("content-type"));
    uint32_t lines = 0;
    for (uint32_t from = 0; (field = http_head_find(flow->head, name, from)) != NULL;
         from = (uint32_t)(field - flow->head->fields) + 1) {
        struct span text = is_type ? media_normalized(arena, field->value) : field->value;
        value = lines++ == 0 ? text
                             : arena_print(arena, "%.*s, %.*s", (int)value.len, value.ptr,
                                           (int)text.len, text.ptr);
    }
    /* An absent field and an empty one are two things. */
    gw_sha256_add_part(printer->total, lines == 0 ? SPAN("-") : SPAN("+"));
    struct span pointer = arena_print(arena, "header %.*s", (int)name.len, name.ptr);
    add_named(printer, pointer, value);
}

static bool put_body(struct printer *printer, struct parsed_body *body)
{
    struct flow *flow = printer->flow;
    const struct canonical_sink sink = {
        .put = put, .member_begin = member_begin, .member_end = member_end, .ctx = printer};
    struct json_fault fault = {0, ""};
    if (body->is_absent) {
        put(printer, SPAN("absent"));
        return true;
    }
    switch (flow->route->fingerprint.mode) {
    case FINGERPRINT_JSON:
        canonical_json(&body->doc, &flow->route->fingerprint.body, body->order, &sink);
        return true;
    case FINGERPRINT_FORM:
        canonical_form(gw_buf_span(&flow->body), body->pairs, body->pair_count, &sink);
        return true;
    case FINGERPRINT_MULTIPART:
        return canonical_multipart(gw_buf_span(&flow->body), multipart_boundary(flow), &sink,
                                   &fault);
    case FINGERPRINT_RAW:
        canonical_raw(gw_buf_span(&flow->body), &sink);
        return true;
    case FINGERPRINT_MODE_COUNT:
        break;
    }
    return false;
}

bool print_compute(struct flow *flow, struct parsed_body *body)
{
    const struct fingerprint_policy *policy = &flow->route->fingerprint;
    struct printer printer = {
        .flow = flow,
        .total = worker_sha256(flow->worker, 0),
        .open = {worker_sha256(flow->worker, 1), worker_sha256(flow->worker, 2)}};
    gw_sha256_start(printer.total);
    gw_sha256_add_part(printer.total, SPAN(PRINT_VERSION));
    gw_sha256_add_part(printer.total, policy->mode_text);
    gw_sha256_add_part(printer.total, flow->route->name);
    add_named(&printer, SPAN("method"), flow->head->method);
    add_named(&printer, SPAN("target"), flow->head->path);
    for (uint32_t i = 0; i < policy->header_count; i++)
        add_header(&printer, policy->headers[i]);
    if (!put_body(&printer, body) || printer.failed)
        return false;
    flush(&printer);
    gw_assert(printer.depth == 0);
    gw_sha256_final(printer.total, flow->print.bytes);

    struct gw_buf packed;
    gw_buf_init(&packed, worker_flow_bytes_max(flow->worker));
    bool ok = members_encode(&packed, printer.members, printer.member_count) &&
              arena_copy(flow->arena, gw_buf_span(&packed), &flow->members);
    gw_buf_fini(&packed);
    return ok;
}

static const struct member_digest *find_member(const struct member_digest *members, uint32_t count,
                                               struct span pointer)
{
    for (uint32_t i = 0; i < count; i++)
        if (span_equal(members[i].pointer, pointer))
            return &members[i];
    return NULL;
}

/* Is a deeper pointer of the same member listed too? Then the deeper one is the better name. */
static bool has_deeper(const struct span *names, uint32_t count, struct span pointer)
{
    for (uint32_t i = 0; i < count; i++)
        if (names[i].len > pointer.len && names[i].ptr[pointer.len] == '/' &&
            memcmp(names[i].ptr, pointer.ptr, pointer.len) == 0)
            return true;
    return false;
}

struct span print_changed(struct flow *flow, struct span stored_members)
{
    struct member_digest *old = NULL, *now = NULL;
    uint32_t old_count = 0, now_count = 0, count = 0;
    struct span names[2 * PRINT_MEMBERS_MAX];
    if (members_decode(flow->arena, stored_members, &old, &old_count) != GW_OK ||
        members_decode(flow->arena, flow->members, &now, &now_count) != GW_OK)
        return SPAN("");
    for (uint32_t i = 0; i < old_count && count < PRINT_MEMBERS_MAX; i++) {
        const struct member_digest *other = find_member(now, now_count, old[i].pointer);
        if (other == NULL || memcmp(other->mac, old[i].mac, sizeof(other->mac)) != 0)
            names[count++] = old[i].pointer;
    }
    for (uint32_t i = 0; i < now_count && count < 2 * PRINT_MEMBERS_MAX; i++)
        if (find_member(old, old_count, now[i].pointer) == NULL)
            names[count++] = now[i].pointer;

    struct gw_buf text;
    gw_buf_init(&text, 2 * PRINT_MEMBERS_MAX * (6 * CANONICAL_POINTER_BYTES_MAX + 4));
    (void)gw_buf_byte(&text, '['); /* a failed buffer is seen below */
    uint32_t listed = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (has_deeper(names, count, names[i]))
            continue;
        if (listed++ > 0)
            (void)gw_buf_byte(&text, ',');
        gw_json_string(&text, names[i]);
    }
    (void)gw_buf_byte(&text, ']');
    struct span changed = SPAN("");
    if (text.failed || listed == 0 || !arena_copy(flow->arena, gw_buf_span(&text), &changed))
        changed = SPAN("");
    gw_buf_fini(&text);
    return changed;
}
