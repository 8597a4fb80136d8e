/* Packs a request for later and makes it a request again. It must never keep a
 * credential, nor leave out anything else that the upstream would have got. */
#include "gateway/kept.h"
#include "gateway/key_read.h"
#include "gateway/worker.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* Two things that stand in no field; no field has such a name. */
#define NAME_PEER      ":peer"
#define NAME_AUTHORITY ":authority"

static struct span peer_text(struct flow *flow)
{
    char room[INET6_ADDRSTRLEN];
    const char *done = NULL;
    if (flow->peer == NULL)
        return SPAN("");
    if (flow->peer->ss_family == AF_INET)
        done = inet_ntop(AF_INET, &((const struct sockaddr_in *)flow->peer)->sin_addr, room,
                         sizeof(room));
    else if (flow->peer->ss_family == AF_INET6)
        done = inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)flow->peer)->sin6_addr, room,
                         sizeof(room));
    return done == NULL ? SPAN("") : arena_print(flow->arena, "%s", done);
}

bool kept_pack(struct flow *flow)
{
    const struct http_head *head = flow->head;
    struct stored_message message = {
        .body_kept = true, .body_bytes = flow->body.len, .body = gw_buf_span(&flow->body)};
    struct gw_buf packed;
    message.fields = arena_take(flow->arena, (head->field_count + 2) * sizeof(*message.fields));
    if (message.fields == NULL)
        return false;
    for (uint32_t i = 0; i < head->field_count; i++)
        if (print_may_be_kept(flow, head->fields[i].name))
            message.fields[message.field_count++] = head->fields[i];
    message.fields[message.field_count++] =
        (struct http_field){SPAN(NAME_AUTHORITY), head->authority};
    message.fields[message.field_count++] = (struct http_field){SPAN(NAME_PEER), peer_text(flow)};
    gw_buf_init(&packed, worker_flow_bytes_max(flow->worker));
    bool ok = message_encode(&packed, &message) &&
              arena_copy(flow->arena, gw_buf_span(&packed), &flow->row.kept);
    gw_buf_fini(&packed);
    return ok;
}

/* Where a method usually has a body, that there is none is said. */
bool kept_pack_bare(struct arena *arena, size_t bytes_max, struct span method, struct span *ret)
{
    struct http_field fields[] = {{SPAN("Accept"), SPAN("*/*")},
                                  {SPAN(NAME_AUTHORITY), SPAN("")},
                                  {SPAN(NAME_PEER), SPAN("")},
                                  {SPAN("Content-Length"), SPAN("0")}};
    bool says_length = !span_equal(method, SPAN("DELETE"));
    const struct stored_message message = {
        .body_kept = true, .fields = fields, .field_count = says_length ? 4 : 3, .body = SPAN("")};
    struct gw_buf packed;
    gw_buf_init(&packed, bytes_max);
    bool ok = message_encode(&packed, &message) && arena_copy(arena, gw_buf_span(&packed), ret);
    gw_buf_fini(&packed);
    return ok;
}

/* ---- and back ---- */

/* For the forwarding fields alone; one that cannot be read is unknown. */
static void restore_peer(struct flow *flow, struct span text)
{
    char room[INET6_ADDRSTRLEN];
    struct sockaddr_storage *peer = arena_take(flow->arena, sizeof(*peer));
    if (peer == NULL || text.len >= sizeof(room))
        return;
    memcpy(room, text.ptr, text.len);
    room[text.len] = '\0';
    if (inet_pton(AF_INET, room, &((struct sockaddr_in *)peer)->sin_addr) == 1)
        peer->ss_family = AF_INET;
    else if (inet_pton(AF_INET6, room, &((struct sockaddr_in6 *)peer)->sin6_addr) == 1)
        peer->ss_family = AF_INET6;
    else
        return;
    flow->peer = peer;
}

/* Takes the two out of the fields. */
static struct span take_named(struct stored_message *message, struct span name)
{
    for (uint32_t i = message->field_count; i > 0; i--) {
        struct http_field *field = &message->fields[i - 1];
        if (!span_equal(field->name, name))
            continue;
        struct span value = field->value;
        message->field_count--;
        memmove(field, field + 1, (message->field_count - (i - 1)) * sizeof(*field));
        return value;
    }
    return SPAN("");
}

static enum kept_state restore_head(struct flow *flow, struct stored_message *message)
{
    struct http_request_parts parts = {.method = flow->row.method, .path = flow->row.target};
    parts.authority = take_named(message, SPAN(NAME_AUTHORITY));
    restore_peer(flow, take_named(message, SPAN(NAME_PEER)));
    parts.fields = message->fields;
    parts.field_count = message->field_count;
    const struct http_head read = {.fields = message->fields, .field_count = message->field_count};
    parts.has_body = message->body.len > 0 ||
                     http_head_find(&read, SPAN("Content-Length"), 0) != NULL ||
                     http_head_find(&read, SPAN("Transfer-Encoding"), 0) != NULL;
    parts.body_bytes = message->body.len;
    flow->head = http_head_of_request(&parts);
    return flow->head == NULL ? KEPT_LATER : KEPT_READY;
}

/* Where the operation id goes was found when the request came; it is found again. */
static enum kept_state find_place_of_id(struct flow *flow)
{
    struct parsed_body body;
    struct span detail;
    if (flow->route->add_id.to != ADD_ID_JSON)
        return KEPT_READY;
    enum problem problem = print_parse(flow, &body, &detail);
    if (problem == PROBLEM_NONE)
        problem = key_find_place_of_id(flow, &body, &detail);
    if (problem == PROBLEM_OVERLOADED)
        return KEPT_LATER;
    return problem == PROBLEM_NONE ? KEPT_READY : KEPT_GONE;
}

enum kept_state kept_restore(struct flow *flow)
{
    struct stored_message message;
    if (flow->row.kept.len == 0 || message_decode(flow->arena, flow->row.kept, &message) != GW_OK ||
        !message.body_kept)
        return KEPT_GONE;
    if (!flow_hold(flow, message.body.len) || !gw_buf_add(&flow->body, message.body))
        return KEPT_LATER;
    flow->body_state = BODY_WHOLE;
    enum kept_state state = restore_head(flow, &message);
    return state == KEPT_READY ? find_place_of_id(flow) : state;
}
