/* Bodies and queries of operators: whatever bytes come, a call is refused with one
 * problem that is JSON, or it asks the store for one thing that is within its bounds;
 * a response that is taken can be kept and read back. The first byte chooses the
 * call. This file takes the place of the dispatcher: it must never open a socket. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "gateway/admin/body.h"
#include "gateway/admin/plane.h"
#include "gateway/admin/query.h"
#include "gateway/http1/http1.h"
#include "policy/headers.h"
#include "store/row_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_NOW_MS ((int64_t)1780000000000)
#define FUZZ_MORE   240 /* from here on the first byte chooses among the later calls */
#define FUZZ_ID     "op_0123456789abcdefghjkmnpqrs"

/* ---- the dispatcher's place ---- */

void call_begin(struct call *call, uint16_t status)
{
    gw_assert(!call->is_answered && call->next == NULL);
    call->status = status;
    gw_buf_clear(&call->out);
    call->json.has_items = false;
    writer_open(&call->json, NULL, '{');
}

void call_end(struct call *call)
{
    const struct json_limits limits = {.depth_max = BODY_DEPTH_MAX, .nodes_max = 1 << 20};
    struct json_fault fault;
    uint32_t count;
    gw_assert(!call->is_answered);
    writer_close(&call->json, '}');
    gw_assert(!call->out.failed);
    gw_assert(json_count(gw_buf_span(&call->out), &limits, &count, &fault));
    call->is_answered = true;
}

static void begin_problem(struct call *call, enum admin_problem problem, const char *detail)
{
    gw_assert(problem < ADMIN_PROBLEM_COUNT);
    call_begin(call, 400);
    writer_text(&call->json, "detail", span_str(detail));
}

void call_begin_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, args); /* a longer text is cut, and may be */
    va_end(args);
    begin_problem(call, problem, detail);
}

void call_problem(struct call *call, enum admin_problem problem, const char *fmt, ...)
{
    char detail[1024];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(detail, sizeof(detail), fmt, args); /* a longer text is cut, and may be */
    va_end(args);
    begin_problem(call, problem, detail);
    call_end(call);
}

void call_send(struct call *call, const char *content_type, struct span body)
{
    (void)content_type; /* no call that is fed here sends anything but JSON */
    (void)body;
    gw_assert(call == NULL);
}

void call_header(struct call *call, const char *name, const char *value)
{
    gw_assert(!call->is_answered && strlen(name) > 0 && strlen(value) > 0);
}

bool call_try_submit(struct call *call, call_fn *next)
{
    gw_assert(!call->is_answered && call->next == NULL);
    call->next = next;
    return true;
}

void call_submit(struct call *call, call_fn *next)
{
    gw_assert(call_try_submit(call, next));
}

bool call_store_is_well(struct call *call)
{
    return call->op.out.status == GW_OK;
}

struct span call_request_header(const struct call *call, const char *name, uint32_t *ret_count)
{
    gw_assert(call->request == NULL && strlen(name) > 0);
    *ret_count = 0;
    return SPAN("");
}

bool call_has_right(const struct call *call, enum admin_right right)
{
    return (call->caller.rights & (uint32_t)right) != 0;
}

struct span call_actor(struct call *call)
{
    return call->caller.actor;
}

bool call_takes_operation_id(struct call *call)
{
    if (operation_id_is_sound(call->parameter))
        return true;
    call_problem(call, ADMIN_NOT_FOUND, "It is no id.");
    return false;
}

const struct route_policy *call_route(const struct call *call, struct span name)
{
    return route_by_name(&call->options->conf->routes, name);
}

/* ---- what may be asked of the store ---- */

static void check_message(struct call *call, struct span packed)
{
    struct stored_message message;
    gw_assert(message_is_sound(packed));
    gw_assert(message_decode(call->arena, packed, &message) == GW_OK);
    gw_assert(message.status >= 200 && message.status <= 599);
    gw_assert(message.body_kept && message.body_bytes == message.body.len);
    for (uint32_t i = 0; i < message.field_count; i++) {
        const struct http_field *field = &message.fields[i];
        gw_assert(http1_is_token(field->name));
        gw_assert((header_flags(field->name) & (HEADER_HOP | HEADER_FRAMING)) == 0);
        for (size_t at = 0; at < field->value.len; at++)
            gw_assert(strchr("\r\n", field->value.ptr[at]) == NULL); /* nor a NUL, its last byte */
    }
}

static void check_audit(const struct audit_entry *audit)
{
    gw_assert(audit->note.len > 0 && audit->note.len <= CALL_NOTE_BYTES_MAX);
    gw_assert(audit->actor.len > 0 && audit->subject.len > 0);
}

/* The row that the store may give back: of the version that the body names, if it does. */
static void fill_row(struct call *call, struct store_row *row)
{
    struct json_doc doc;
    uint64_t version = 3;
    gw_assert(body_parse(call, &doc)); /* it was read before */
    uint32_t node = body_member(&doc, 0, "version");
    gw_assert(node == JSON_NONE || gw_parse_u64(body_raw(&doc, node), &version));
    memset(row, 0, sizeof(*row));
    memcpy(row->operation_id, FUZZ_ID, sizeof(FUZZ_ID) - 1);
    row->id = 1;
    row->owner = row->scope = row->route = row->key = SPAN("r");
    row->method = SPAN("POST");
    row->target = SPAN("/r");
    row->created_ms = row->updated_ms = FUZZ_NOW_MS - 1;
    row->receipt = (struct receipt){
        .state = RECEIPT_UNKNOWN, .version = (uint32_t)version, .token = 7, .attempt = 1};
}

static void feed_settle(struct call *call)
{
    struct store_row row;
    call->parameter = SPAN(FUZZ_ID);
    call_settle(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL)
        return;
    gw_assert(call->op.kind == STORE_FIND);
    fill_row(call, &row);
    call_fn *next = call->next;
    call->next = NULL;
    call->op.out.found = STORE_HELD;
    call->op.out.rows = &row;
    call->op.out.row_count = 1;
    next(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL || call->op.kind != STORE_ADVANCE)
        return;
    const struct store_row *moved = call->op.in.advance.next;
    gw_assert(call->op.in.advance.expect_version == row.receipt.version);
    gw_assert(receipt_is_sound(&moved->receipt) && moved->receipt.state != RECEIPT_UNKNOWN);
    gw_implies(moved->answer.len > 0, moved->receipt.state == RECEIPT_COMPLETED);
    if (moved->answer.len > 0)
        check_message(call, moved->answer);
    check_audit(call->op.in.advance.audit);
}

/* What a person does besides: one change of the row, in the state that it has. */
static void feed_action(struct call *call, call_fn *handle)
{
    struct store_row row;
    call->parameter = SPAN(FUZZ_ID);
    handle(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL)
        return;
    gw_assert(call->op.kind == STORE_FIND);
    fill_row(call, &row);
    call_fn *next = call->next;
    call->next = NULL;
    call->op.out.found = STORE_HELD;
    call->op.out.rows = &row;
    call->op.out.row_count = 1;
    next(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL)
        return;
    const struct store_row *moved = call->op.in.advance.next;
    const struct audit_entry *audit = call->op.in.advance.audit;
    gw_assert(call->op.kind == STORE_ADVANCE);
    gw_assert(call->op.in.advance.expect_version == row.receipt.version);
    gw_assert(moved->receipt.version != row.receipt.version);
    gw_assert(moved->receipt.state == RECEIPT_UNKNOWN && receipt_is_sound(&moved->receipt));
    gw_assert(audit->note.len <= CALL_NOTE_BYTES_MAX);
    gw_assert(audit->actor.len > 0 && audit->action.len > 0 && audit->subject.len > 0);
}

static void feed_comment(struct call *call)
{
    call->parameter = SPAN(FUZZ_ID);
    call_comment(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL)
        return;
    const struct audit_entry *audit = call->op.in.note.audit;
    gw_assert(call->op.kind == STORE_NOTE);
    gw_assert(audit->note.len > 0 && audit->note.len <= CALL_COMMENT_BYTES_MAX);
    gw_assert(audit->actor.len > 0 && audit->subject.len > 0);
}

/* Nobody has a code here: whatever comes opens nothing. */
static void feed_session(struct call *call)
{
    call_page_session(call);
    gw_assert(call->is_answered && call->status >= 400);
}

static void feed_more(struct call *call, uint32_t kind)
{
    switch (kind % 4) {
    case 0:
        feed_action(call, call_claim);
        break;
    case 1:
        feed_action(call, call_contradiction);
        break;
    case 2:
        feed_comment(call);
        break;
    case 3:
        feed_session(call);
        break;
    }
}

static void feed_list(struct call *call)
{
    call_list(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL)
        return;
    const struct store_filter *filter = &call->op.in.list.filter;
    gw_assert(call->op.kind == STORE_LIST);
    gw_assert(call->op.in.list.rows_max >= 1 && call->op.in.list.rows_max <= STORE_PAGE_ROWS_MAX);
    gw_assert(call->op.in.list.cursor >= 0);
    gw_assert((filter->states >> RECEIPT_STATE_COUNT) == 0);
    gw_assert((filter->states & 1u << RECEIPT_ABSENT) == 0);
    gw_assert((filter->probes >> PROBE_RESULT_COUNT) == 0);
    gw_assert(filter->status == 0 || filter->status == STORE_STATUS_NONE ||
              (filter->status >= 100 && filter->status <= 599));
    gw_implies(filter->end.len > 0, end_by_name(filter->end) != END_COUNT);
    gw_implies(filter->label_name.len > 0, filter->label_value.len > 0);
}

static void feed_pause(struct call *call)
{
    call->parameter = SPAN("r");
    call_pause_route(call);
    gw_assert(call->is_answered == (call->next == NULL));
    if (call->next == NULL)
        return;
    gw_assert(call->op.kind == STORE_PAUSE);
    check_audit(call->op.in.pause.audit);
}

/* A query that is read gives the same pairs when each byte is written as an escape. */
static void feed_query(struct call *call)
{
    struct query first, again;
    struct gw_buf text;
    if (!query_parse(call->arena, call->query, &first)) {
        gw_assert(strlen(first.fault) > 0 && strlen(first.fault) < sizeof(first.fault));
        return;
    }
    gw_assert(first.count <= QUERY_PAIRS_MAX);
    gw_buf_init(&text, CALL_OUT_BYTES_MAX);
    for (uint32_t i = 0; i < first.count; i++) {
        const struct span parts[2] = {first.pairs[i].name, first.pairs[i].value};
        gw_assert(gw_buf_byte(&text, '&'));
        for (size_t part = 0; part < GW_COUNT(parts); part++) {
            for (size_t at = 0; at < parts[part].len; at++)
                gw_assert(gw_buf_print(&text, "%%%02x", (unsigned char)parts[part].ptr[at]));
            gw_assert(part == 1 || gw_buf_byte(&text, '='));
        }
    }
    gw_assert(query_parse(call->arena, gw_buf_span(&text), &again));
    gw_assert(again.count == first.count);
    for (uint32_t i = 0; i < first.count; i++) {
        gw_assert(span_equal(first.pairs[i].name, again.pairs[i].name));
        gw_assert(span_equal(first.pairs[i].value, again.pairs[i].value));
    }
    gw_buf_fini(&text);
    if (first.count == 1)
        call_audit(call);
}

/* Asked for what kind it is, and never for a row: call_submit() is above. */
static struct store *open_store(void)
{
    struct store_options options;
    struct store *store = NULL;
    store_options_default(&options);
    options.kind = "memory";
    enum gw_status status = store_open(&options, &store, NULL);
    gw_assert(status == GW_OK);
    return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > CALL_BODY_BYTES_MAX)
        return 0;
    struct span rest = span_of((const char *)data + 1, size - 1);
    struct route_policy route = {.name = SPAN("r"), .retention_ms = 1000, .replay_body_max = 4096};
    struct conf *conf = calloc(1, sizeof(*conf));
    struct admin *admin = calloc(1, sizeof(*admin));
    gw_assert(conf != NULL && admin != NULL);
    conf->routes = (struct route_table){.routes = &route, .count = 1};
    struct board *board = board_new(conf);
    gw_assert(board != NULL);
    struct store *store = open_store();
    struct admin_options options = {
        .conf = conf, .board = board, .store = store, .clock = gw_clock_system()};
    struct call call = {.tag_call = CALL_TAG,
                        .conf = conf,
                        .options = &options,
                        .admin = admin,
                        .caller = {SPAN("ana"), SPAN("token:ana"), UINT32_MAX, false},
                        .arena = arena_new(CALL_ARENA_BYTES_MAX),
                        .path = SPAN("/"),
                        .query = rest,
                        .body = rest,
                        .now_ms = FUZZ_NOW_MS};
    gw_assert(call.arena != NULL);
    gw_buf_init(&call.out, CALL_OUT_BYTES_MAX);
    call.json.out = &call.out;
    if (data[0] >= FUZZ_MORE)
        feed_more(&call, data[0]);
    switch (data[0] >= FUZZ_MORE ? 4 : data[0] % 4) {
    case 0:
        feed_settle(&call);
        break;
    case 1:
        feed_list(&call);
        break;
    case 2:
        feed_pause(&call);
        break;
    case 3:
        feed_query(&call);
        break;
    }
    gw_buf_fini(&call.out);
    store_close(store);
    arena_free(call.arena);
    board_free(board);
    free(admin);
    free(conf);
    return 0;
}
