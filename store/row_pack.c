/* The packed parts of a row: a version byte, then numbers of seven bits a byte
 * (lowest first, in their only shortest spelling) and runs of bytes behind their
 * length. Nothing may follow the last item. Decoding must never read past its
 * input, nor believe a count before the bytes are there. */
#include "store/row_pack.h"

#define PACK_VERSION     1
#define STATUS_MAX       999
#define NUMBER_BYTES_MAX 10

struct pack_reader {
    struct span from;
    size_t at;
    bool failed;
};

static void put_number(struct gw_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        (void)gw_buf_byte(out, (char)(value | 0x80)); /* the buffer remembers a failure */
        value >>= 7;
    }
    (void)gw_buf_byte(out, (char)value); /* likewise */
}

static void put_bytes(struct gw_buf *out, struct span bytes)
{
    put_number(out, bytes.len);
    (void)gw_buf_add(out, bytes); /* the buffer remembers a failure */
}

static void put_start(struct gw_buf *out, uint64_t count)
{
    (void)gw_buf_byte(out, PACK_VERSION); /* the buffer remembers a failure */
    put_number(out, count);
}

static uint8_t take_byte(struct pack_reader *r)
{
    if (r->failed || r->at >= r->from.len) {
        r->failed = true;
        return 0;
    }
    return (uint8_t)r->from.ptr[r->at++];
}

/* Up to `max`; a longer spelling than needed is refused, so that a packed part
 * has one form only. */
static uint64_t take_number(struct pack_reader *r, uint64_t max)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        uint8_t byte = take_byte(r);
        uint64_t bits = byte & 0x7f;
        bool too_big = i == NUMBER_BYTES_MAX - 1 && bits > 1;
        bool too_long = i > 0 && byte == 0;
        if (r->failed || too_big || too_long)
            break;
        value |= bits << (7 * i);
        if ((byte & 0x80) == 0 && value <= max)
            return value;
        if ((byte & 0x80) == 0)
            break;
    }
    r->failed = true;
    return 0;
}

static struct span take_bytes(struct pack_reader *r)
{
    size_t len = (size_t)take_number(r, SIZE_MAX);
    if (r->failed || len > r->from.len - r->at) {
        r->failed = true;
        return span_of("", 0);
    }
    struct span bytes = span_of(r->from.ptr + r->at, len);
    r->at += len;
    return bytes;
}

/* The count of items; each takes at least one byte, so a count larger than what
 * is left is a lie that must not cost memory. */
static uint32_t take_start(struct pack_reader *r, uint32_t count_max)
{
    if (take_byte(r) != PACK_VERSION)
        r->failed = true;
    uint32_t count = (uint32_t)take_number(r, count_max);
    if (r->failed || count > r->from.len - r->at)
        r->failed = true;
    return r->failed ? 0 : count;
}

static bool is_at_end(const struct pack_reader *r)
{
    return !r->failed && r->at == r->from.len;
}

static uint16_t take_status(struct pack_reader *r)
{
    uint64_t status = take_number(r, STATUS_MAX);
    if (status != 0 && status < 100)
        r->failed = true;
    return (uint16_t)status;
}

static void put_attempt(struct gw_buf *out, const struct attempt_record *attempt)
{
    put_number(out, attempt->number);
    put_number(out, attempt->token);
    put_number(out, (uint64_t)attempt->started_ms);
    put_number(out, (uint64_t)attempt->sent_ms);
    put_number(out, (uint64_t)attempt->ended_ms);
    put_number(out, attempt->end);
    put_number(out, attempt->basis);
    put_number(out, attempt->status);
    put_number(out, attempt->bytes_out);
    put_number(out, attempt->bytes_in);
    put_bytes(out, attempt->upstream);
    put_bytes(out, attempt->reason);
    put_number(out, attempt->line);
    put_bytes(out, attempt->trace_id);
    put_bytes(out, attempt->conf_hash);
}

/* In the order of put_attempt(), one field a line. */
static void take_attempt(struct pack_reader *r, struct attempt_record *ret)
{
    ret->number = (uint32_t)take_number(r, UINT32_MAX);
    ret->token = take_number(r, UINT64_MAX);
    ret->started_ms = (int64_t)take_number(r, UINT64_MAX);
    ret->sent_ms = (int64_t)take_number(r, UINT64_MAX);
    ret->ended_ms = (int64_t)take_number(r, UINT64_MAX);
    ret->end = (uint8_t)take_number(r, END_COUNT - 1);
    ret->basis = (uint8_t)take_number(r, BASIS_COUNT - 1);
    ret->status = take_status(r);
    ret->bytes_out = take_number(r, UINT64_MAX);
    ret->bytes_in = take_number(r, UINT64_MAX);
    ret->upstream = take_bytes(r);
    ret->reason = take_bytes(r);
    ret->line = (uint32_t)take_number(r, UINT32_MAX);
    ret->trace_id = take_bytes(r);
    ret->conf_hash = take_bytes(r);
}

bool attempts_encode(struct gw_buf *out, const struct attempt_record *attempts, uint32_t count)
{
    uint32_t kept = count < STORE_ATTEMPTS_MAX ? count : STORE_ATTEMPTS_MAX;
    put_start(out, kept);
    for (uint32_t i = 0; i < kept; i++) {
        /* The first stays; behind it the newest. */
        uint32_t from = i == 0 ? 0 : count - kept + i;
        put_attempt(out, &attempts[from]);
    }
    return !out->failed;
}

enum gw_status attempts_decode(struct arena *arena, struct span from, struct attempt_record **ret,
                               uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : take_start(&r, STORE_ATTEMPTS_MAX);
    struct attempt_record *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_attempt(&r, &list[i]);
    if (!is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool attempts_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct attempt_record attempt;
    uint32_t count = packed.len == 0 ? 0 : take_start(&r, STORE_ATTEMPTS_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_attempt(&r, &attempt);
    return is_at_end(&r);
}

static void take_label(struct pack_reader *r, struct label *ret)
{
    ret->name = take_bytes(r);
    ret->value = take_bytes(r);
}

bool labels_encode(struct gw_buf *out, const struct label *labels, uint32_t count)
{
    if (count > ROW_LABELS_MAX)
        return false;
    put_start(out, count);
    for (uint32_t i = 0; i < count; i++) {
        put_bytes(out, labels[i].name);
        put_bytes(out, labels[i].value);
    }
    return !out->failed;
}

enum gw_status labels_decode(struct arena *arena, struct span from, struct label **ret,
                             uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : take_start(&r, ROW_LABELS_MAX);
    struct label *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_label(&r, &list[i]);
    if (!is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool labels_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct label label;
    uint32_t count = packed.len == 0 ? 0 : take_start(&r, ROW_LABELS_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_label(&r, &label);
    return is_at_end(&r);
}

bool labels_next(struct span packed, struct label_step *step, struct label *ret)
{
    struct pack_reader r = {.from = packed, .at = step->offset};
    if (step->offset == 0)
        step->left = packed.len == 0 ? 0 : take_start(&r, ROW_LABELS_MAX);
    if (step->left == 0)
        return false;
    take_label(&r, ret);
    step->left = r.failed ? 0 : step->left - 1;
    step->offset = r.at;
    return !r.failed;
}

static void take_member(struct pack_reader *r, struct member_digest *ret)
{
    ret->pointer = take_bytes(r);
    for (size_t i = 0; i < sizeof(ret->mac); i++)
        ret->mac[i] = take_byte(r);
}

bool members_encode(struct gw_buf *out, const struct member_digest *members, uint32_t count)
{
    if (count > ROW_MEMBERS_MAX)
        return false;
    put_start(out, count);
    for (uint32_t i = 0; i < count; i++) {
        put_bytes(out, members[i].pointer);
        /* The buffer remembers a failure. */
        (void)gw_buf_add(out, span_of((const char *)members[i].mac, sizeof(members[i].mac)));
    }
    return !out->failed;
}

enum gw_status members_decode(struct arena *arena, struct span from, struct member_digest **ret,
                              uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : take_start(&r, ROW_MEMBERS_MAX);
    struct member_digest *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_member(&r, &list[i]);
    if (!is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool members_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct member_digest member;
    uint32_t count = packed.len == 0 ? 0 : take_start(&r, ROW_MEMBERS_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_member(&r, &member);
    return is_at_end(&r);
}

bool message_encode(struct gw_buf *out, const struct stored_message *message)
{
    if (message->field_count > ROW_FIELDS_MAX)
        return false;
    put_start(out, message->field_count);
    for (uint32_t i = 0; i < message->field_count; i++) {
        put_bytes(out, message->fields[i].name);
        put_bytes(out, message->fields[i].value);
    }
    put_number(out, message->status);
    put_number(out, message->body_bytes);
    put_number(out, message->body_kept ? 1 : 0);
    put_bytes(out, message->body_kept ? message->body : span_of("", 0));
    return !out->failed;
}

/* `fields` has room for all, or is NULL when nobody wants to see them. */
static void take_fields(struct pack_reader *r, struct http_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        struct span name = take_bytes(r);
        struct span value = take_bytes(r);
        if (fields != NULL)
            fields[i] = (struct http_field){.name = name, .value = value};
    }
}

static void take_message_rest(struct pack_reader *r, struct stored_message *ret)
{
    ret->status = take_status(r);
    ret->body_bytes = take_number(r, UINT64_MAX);
    ret->body_kept = take_number(r, 1) == 1;
    ret->body = take_bytes(r);
    if (!ret->body_kept && ret->body.len > 0)
        r->failed = true;
}

enum gw_status message_decode(struct arena *arena, struct span from, struct stored_message *ret)
{
    struct pack_reader r = {.from = from};
    struct stored_message message = {.field_count = take_start(&r, ROW_FIELDS_MAX)};
    message.fields = arena_take(arena, message.field_count * sizeof(*message.fields));
    if (message.fields == NULL)
        return GW_NOMEM;
    take_fields(&r, message.fields, message.field_count);
    take_message_rest(&r, &message);
    if (!is_at_end(&r))
        return GW_CORRUPT;
    *ret = message;
    return GW_OK;
}

bool message_is_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct stored_message message;
    if (packed.len == 0)
        return true;
    take_fields(&r, NULL, take_start(&r, ROW_FIELDS_MAX));
    take_message_rest(&r, &message);
    return is_at_end(&r);
}
