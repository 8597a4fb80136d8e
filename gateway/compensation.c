/* Makes the row of a compensation. It must never let a value of a recorded answer say
 * more than one value, nor give two compensations to one operation. */
#include "gateway/compensation.h"
#include "gateway/kept.h"
#include "gateway/print.h"

#include "base/digest.h"
#include "base/text.h"

#define TARGET_BYTES_MAX 8192
#define KEY_TAIL         "/compensation"

/* ---- whose it is ---- */

static bool ends_with(struct span text, struct span tail)
{
    return text.len > tail.len &&
           span_equal(span_of(text.ptr + text.len - tail.len, tail.len), tail);
}

/* No caller's operation has such a scope: it is a route's name or "gateway". */
struct span compensation_of(const struct store_row *row)
{
    const struct span tail = SPAN(KEY_TAIL);
    bool is_one = ends_with(row->scope, tail) && ends_with(row->key, tail) &&
                  row->key.len == OPERATION_ID_BYTES + tail.len;
    return is_one ? span_of(row->key.ptr, OPERATION_ID_BYTES) : SPAN("");
}

bool compensation_may_be(const struct store_row *operation)
{
    enum receipt_state state = operation->receipt.state;
    return (state == RECEIPT_COMPLETED || state == RECEIPT_EXPIRED) &&
           compensation_of(operation).len == 0;
}

bool compensation_identify(struct arena *arena, const struct store_row *operation,
                           struct store_row *ret)
{
    struct span route = operation->route;
    struct span key = arena_print(arena, "%s%s", operation->operation_id, KEY_TAIL);
    struct span scope = arena_print(arena, "%.*s%s", (int)route.len, route.ptr, KEY_TAIL);
    *ret =
        (struct store_row){.owner = operation->owner, .scope = scope, .key = key, .route = scope};
    store_identity(ret->owner, ret->scope, ret->key, &ret->identity);
    return key.len > 0 && scope.len > 0;
}

/* ---- the recorded answer ---- */

/* Of the answer that callers get; 0: there is none. */
static uint16_t recorded_status(struct arena *arena, const struct store_row *operation)
{
    struct stored_message message;
    if (operation->answer.len > 0 && message_decode(arena, operation->answer, &message) == GW_OK)
        return message.status;
    /* Without one the last answer counts, unless a person knew better. */
    return (operation->receipt.marks & RECEIPT_SETTLED) != 0 ? 0 : operation->status;
}

enum compensate_says compensation_judge(struct arena *arena, const struct route_policy *route,
                                        const struct store_row *operation, enum compensate_by by,
                                        int64_t now_ms)
{
    const struct compensate_facts facts = {.route = route,
                                           .receipt = &operation->receipt,
                                           .by = by,
                                           .status = recorded_status(arena, operation),
                                           .answer_kept = operation->answer.len > 0,
                                           .now_ms = now_ms};
    return compensate_judge(&facts);
}

enum answer_state { ANSWER_READ, ANSWER_IS_NO_JSON, ANSWER_TOO_LARGE };

static enum answer_state read_answer(const struct compensation_wish *wish, struct json_doc *ret)
{
    const struct json_limits limits = {.depth_max = PRINT_JSON_DEPTH_MAX,
                                       .nodes_max = PRINT_JSON_NODES_MAX};
    struct stored_message message;
    struct json_fault fault;
    uint32_t count = 0, *order = NULL;
    if (wish->operation->answer.len == 0 ||
        message_decode(wish->arena, wish->operation->answer, &message) != GW_OK ||
        !json_count(message.body, &limits, &count, &fault))
        return ANSWER_IS_NO_JSON;
    struct json_node *nodes = wish->nodes(wish->nodes_ctx, count, &order);
    if (nodes == NULL)
        return ANSWER_TOO_LARGE;
    return json_parse(message.body, &limits, nodes, order, count, ret, &fault) ? ANSWER_READ
                                                                               : ANSWER_IS_NO_JSON;
}

struct text_sink {
    char *to;
    size_t len;
};

static void put(void *ctx, struct span piece)
{
    struct text_sink *sink = ctx;
    memcpy(sink->to + sink->len, piece.ptr, piece.len);
    sink->len += piece.len;
}

/* A string's content or a number as it is written; anything else is no one value. Escapes
 * only shrink, so the raw length is room enough. */
static struct span value_of(struct arena *arena, const struct json_doc *doc, uint32_t node)
{
    if (node == JSON_NONE)
        return SPAN("");
    const struct json_node *at = &doc->nodes[node];
    struct span raw = span_of(doc->text.ptr + at->start, at->end - at->start);
    if (at->kind == JSON_KIND_NUMBER)
        return raw;
    struct text_sink sink = {.to = arena_take(arena, raw.len + 1)};
    if (at->kind != JSON_KIND_STRING || sink.to == NULL)
        return SPAN("");
    json_decode(raw, at->has_escapes != 0, put, &sink);
    return span_of(sink.to, sink.len);
}

/* ---- the target ---- */

/* A value that was cut when it was kept is the beginning of many. */
static struct span label_of(const struct compensation_wish *wish, struct span name)
{
    struct label *labels = NULL;
    uint32_t count = 0;
    if (labels_decode(wish->arena, wish->operation->labels, &labels, &count) != GW_OK)
        count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (span_equal(labels[i].name, name) && labels[i].value.len < LABEL_VALUE_BYTES)
            return labels[i].value;
    return SPAN("");
}

static void find_values(const struct compensation_wish *wish, const struct json_doc *doc,
                        struct span *values)
{
    const struct compensate_policy *policy = &wish->route->compensate;
    for (uint32_t i = 0; i < policy->target.part_count; i++) {
        const struct template_part *part = &policy->target.parts[i];
        values[i] = SPAN("");
        switch (part->kind) {
        case TEMPLATE_OPERATION_ID:
            values[i] = span_str(wish->operation->operation_id);
            break;
        case TEMPLATE_KEY:
            values[i] = wish->operation->key;
            break;
        case TEMPLATE_OWNER:
            values[i] = wish->operation->owner;
            break;
        case TEMPLATE_LABEL:
            values[i] = label_of(wish, part->text);
            break;
        case TEMPLATE_RESPONSE:
            if (doc->nodes != NULL)
                values[i] = value_of(wish->arena, doc, json_find(doc, &policy->pointers[i]));
            break;
        case TEMPLATE_TEXT:
            break;
        }
    }
}

static struct span name_of(struct arena *arena, const struct template_part *part)
{
    static const char *const kinds[] = {
        [TEMPLATE_TEXT] = "",  [TEMPLATE_OPERATION_ID] = "", [TEMPLATE_KEY] = "",
        [TEMPLATE_OWNER] = "", [TEMPLATE_LABEL] = "label:",  [TEMPLATE_RESPONSE] = "response:",
    };
    return arena_print(arena, "{%s%.*s}", kinds[part->kind], (int)part->text.len, part->text.ptr);
}

static enum compensation_fit unfit(const struct compensation_wish *wish, struct compensation *made,
                                   const struct template_part *part, const char *why)
{
    struct span name = name_of(wish->arena, part);
    made->fault = arena_print(wish->arena,
                              "It cannot be compensated: %.*s %s. Nothing was sent. Take it back "
                              "at the upstream itself.",
                              (int)name.len, name.ptr, why);
    return made->fault.len > 0 ? COMPENSATION_UNFIT : COMPENSATION_NO_MEMORY;
}

static enum compensation_fit write_target(const struct compensation_wish *wish,
                                          struct compensation *made)
{
    const struct target_template *target = &wish->route->compensate.target;
    struct span values[TEMPLATE_PARTS_MAX];
    struct json_doc doc = {0};
    char *room = arena_take(wish->arena, TARGET_BYTES_MAX);
    size_t len = 0;
    uint32_t part = 0;
    bool is_json = true;
    if (template_uses(target, TEMPLATE_RESPONSE)) {
        enum answer_state state = read_answer(wish, &doc);
        if (state == ANSWER_TOO_LARGE)
            return COMPENSATION_NO_MEMORY;
        is_json = state == ANSWER_READ;
        if (!is_json)
            doc.nodes = NULL;
    }
    if (room == NULL)
        return COMPENSATION_NO_MEMORY;
    find_values(wish, &doc, values);
    if (arena_has_failed(wish->arena)) /* what was cut short is no value */
        return COMPENSATION_NO_MEMORY;
    switch (template_fill(target, values, room, TARGET_BYTES_MAX, &len, &part)) {
    case TEMPLATE_FILLED:
        made->row.target = span_of(room, len);
        return COMPENSATION_FITS;
    case TEMPLATE_NO_VALUE:
        return unfit(wish, made, &target->parts[part],
                     is_json ? "is missing, empty, or not a text or a number"
                             : "cannot be read, since the recorded answer is not JSON");
    case TEMPLATE_BAD_VALUE:
        return unfit(wish, made, &target->parts[part],
                     "holds what would make the path another one");
    case TEMPLATE_TOO_LONG:
        break;
    }
    return unfit(wish, made, &target->parts[part], "makes the target too long");
}

/* ---- the row ---- */

static bool describe(const struct compensation_wish *wish, struct store_row *row)
{
    struct gw_sha256 *sha = gw_sha256_new();
    if (sha == NULL)
        return false;
    row->method = wish->route->compensate.method;
    row->print_mode = wish->route->compensate.route->fingerprint.mode_text;
    gw_sha256_start(sha);
    gw_sha256_add_part(sha, row->print_mode);
    gw_sha256_add_part(sha, row->method);
    gw_sha256_add_part(sha, row->target);
    gw_sha256_final(sha, row->print.bytes);
    gw_sha256_free(sha);
    row->labels = wish->operation->labels;
    row->members = row->attempts = row->request = row->answer = SPAN("");
    row->claimed_by = row->probes = SPAN("");
    row->created_ms = row->updated_ms = row->promised_ms = wish->now_ms;
    return kept_pack_bare(wish->arena, wish->bytes_max, row->method, &row->kept);
}

static void fresh_id(const struct compensation_wish *wish, char *ret_id)
{
    uint8_t bytes[16];
    wish->random(bytes, sizeof(bytes));
    memcpy(ret_id, "op_", 3);
    gw_base32(bytes, ret_id + 3);
}

/* Not promised: where its attempts are used up it is free again, and may be asked for
 * again by whoever looks after it. */
static bool defer(const struct receipt *cur, int64_t now_ms, int64_t due_ms, struct receipt *ret)
{
    const struct receipt_event event = {
        .kind = RECEIPT_EV_DEFER, .now_ms = now_ms, .until_ms = due_ms};
    return receipt_step(cur, &event, ret) == RECEIPT_MOVED;
}

static bool write_audit(const struct compensation_wish *wish, struct compensation *made)
{
    const struct store_row *row = &made->row;
    const char *id = wish->operation->operation_id;
    made->audit[0] = (struct audit_entry){
        .at_ms = wish->now_ms,
        .actor = wish->actor,
        .action = SPAN("compensate"),
        .subject = span_str(id),
        .note = wish->note,
        .detail = arena_print(wish->arena, "version=%u compensation=%s",
                              wish->operation->receipt.version, row->operation_id)};
    made->audit[1] = made->audit[0];
    made->audit[1].subject = span_str(row->operation_id);
    made->audit[1].detail = arena_print(wish->arena, "compensates=%s", id);
    return made->audit[0].detail.len > 0 && made->audit[1].detail.len > 0;
}

enum compensation_fit compensation_make(const struct compensation_wish *wish,
                                        struct compensation *ret)
{
    const struct receipt absent = {.state = RECEIPT_ABSENT};
    struct store_row *row = &ret->row;
    ret->fault = SPAN("");
    if (!compensation_identify(wish->arena, wish->operation, row))
        return COMPENSATION_NO_MEMORY;
    gw_assert(span_equal(row->route, wish->route->compensate.route->name));
    enum compensation_fit fit = write_target(wish, ret);
    if (fit != COMPENSATION_FITS)
        return fit;
    bool is_due = defer(&absent, wish->now_ms, wish->now_ms, &row->receipt);
    gw_assert(is_due);
    fresh_id(wish, row->operation_id);
    return describe(wish, row) && write_audit(wish, ret) ? COMPENSATION_FITS
                                                         : COMPENSATION_NO_MEMORY;
}

bool compensation_renew(const struct compensation_wish *wish, const struct store_row *there,
                        struct compensation *made)
{
    const struct retry_policy *retry = &wish->route->compensate.route->retry;
    const struct retry_budget budget = {.window_ms = there->window_ms,
                                        .attempts = there->window_attempts,
                                        .not_before_ms = there->retry_ms,
                                        .written_ms = there->updated_ms};
    const struct store_row wished = made->row;
    int64_t due_ms = wish->now_ms + retry_ask(retry, &budget, wish->now_ms).wait_ms;
    made->row = *there;
    made->row.target = wished.target;
    made->row.method = wished.method;
    made->row.print = wished.print;
    made->row.print_mode = wished.print_mode;
    made->row.kept = wished.kept;
    made->row.updated_ms = made->row.promised_ms = wish->now_ms;
    return defer(&there->receipt, wish->now_ms, due_ms, &made->row.receipt) &&
           write_audit(wish, made);
}
