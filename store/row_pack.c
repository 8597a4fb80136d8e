/* The packed parts of a row, each put together and taken apart in one order of
 * its fields. Decoding must never believe a value that no row can have. */
#include "store/row_pack.h"

#include "store/pack.h"

static void put_attempt(struct gw_buf *out, const struct attempt_record *attempt)
{
    pack_put_number(out, attempt->number);
    pack_put_number(out, attempt->token);
    pack_put_number(out, (uint64_t)attempt->started_ms);
    pack_put_number(out, (uint64_t)attempt->sent_ms);
    pack_put_number(out, (uint64_t)attempt->ended_ms);
    pack_put_number(out, attempt->end);
    pack_put_number(out, attempt->basis);
    pack_put_number(out, attempt->status);
    pack_put_number(out, attempt->bytes_out);
    pack_put_number(out, attempt->bytes_in);
    pack_put_bytes(out, attempt->upstream);
    pack_put_bytes(out, attempt->reason);
    pack_put_number(out, attempt->line);
    pack_put_bytes(out, attempt->trace_id);
    pack_put_bytes(out, attempt->conf_hash);
}

/* In the order of put_attempt(), one field a line. */
static void take_attempt(struct pack_reader *r, struct attempt_record *ret)
{
    ret->number = (uint32_t)pack_take_number(r, UINT32_MAX);
    ret->token = pack_take_number(r, UINT64_MAX);
    ret->started_ms = (int64_t)pack_take_number(r, UINT64_MAX);
    ret->sent_ms = (int64_t)pack_take_number(r, UINT64_MAX);
    ret->ended_ms = (int64_t)pack_take_number(r, UINT64_MAX);
    ret->end = (uint8_t)pack_take_number(r, END_COUNT - 1);
    ret->basis = (uint8_t)pack_take_number(r, BASIS_COUNT - 1);
    ret->status = pack_take_status(r);
    ret->bytes_out = pack_take_number(r, UINT64_MAX);
    ret->bytes_in = pack_take_number(r, UINT64_MAX);
    ret->upstream = pack_take_bytes(r);
    ret->reason = pack_take_bytes(r);
    ret->line = (uint32_t)pack_take_number(r, UINT32_MAX);
    ret->trace_id = pack_take_bytes(r);
    ret->conf_hash = pack_take_bytes(r);
}

bool attempts_encode(struct gw_buf *out, const struct attempt_record *attempts, uint32_t count)
{
    uint32_t kept = count < STORE_ATTEMPTS_MAX ? count : STORE_ATTEMPTS_MAX;
    pack_put_start(out, kept);
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
    uint32_t count = from.len == 0 ? 0 : pack_take_start(&r, STORE_ATTEMPTS_MAX);
    struct attempt_record *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_attempt(&r, &list[i]);
    if (!pack_is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool attempts_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct attempt_record attempt;
    uint32_t count = packed.len == 0 ? 0 : pack_take_start(&r, STORE_ATTEMPTS_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_attempt(&r, &attempt);
    return pack_is_at_end(&r);
}

static void put_probe(struct gw_buf *out, const struct probe_record *probe)
{
    pack_put_number(out, (uint64_t)probe->at_ms);
    pack_put_number(out, probe->result);
    pack_put_number(out, probe->end);
    pack_put_number(out, probe->status);
    pack_put_bytes(out, probe->by);
    pack_put_bytes(out, probe->target);
    pack_put_bytes(out, probe->reason);
}

/* In the order of put_probe(). */
static void take_probe(struct pack_reader *r, struct probe_record *ret)
{
    ret->at_ms = (int64_t)pack_take_number(r, UINT64_MAX);
    ret->result = (uint8_t)pack_take_number(r, PROBE_RESULT_COUNT - 1);
    ret->end = (uint8_t)pack_take_number(r, END_COUNT - 1);
    ret->status = pack_take_status(r);
    ret->by = pack_take_bytes(r);
    ret->target = pack_take_bytes(r);
    ret->reason = pack_take_bytes(r);
}

bool probes_encode(struct gw_buf *out, const struct probe_record *probes, uint32_t count)
{
    uint32_t kept = count < STORE_PROBES_MAX ? count : STORE_PROBES_MAX;
    pack_put_start(out, kept);
    for (uint32_t i = count - kept; i < count; i++)
        put_probe(out, &probes[i]);
    return !out->failed;
}

enum gw_status probes_decode(struct arena *arena, struct span from, struct probe_record **ret,
                             uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : pack_take_start(&r, STORE_PROBES_MAX);
    struct probe_record *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_probe(&r, &list[i]);
    if (!pack_is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool probes_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct probe_record probe;
    uint32_t count = packed.len == 0 ? 0 : pack_take_start(&r, STORE_PROBES_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_probe(&r, &probe);
    return pack_is_at_end(&r);
}

static void take_label(struct pack_reader *r, struct label *ret)
{
    ret->name = pack_take_bytes(r);
    ret->value = pack_take_bytes(r);
}

bool labels_encode(struct gw_buf *out, const struct label *labels, uint32_t count)
{
    if (count > ROW_LABELS_MAX)
        return false;
    pack_put_start(out, count);
    for (uint32_t i = 0; i < count; i++) {
        pack_put_bytes(out, labels[i].name);
        pack_put_bytes(out, labels[i].value);
    }
    return !out->failed;
}

enum gw_status labels_decode(struct arena *arena, struct span from, struct label **ret,
                             uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : pack_take_start(&r, ROW_LABELS_MAX);
    struct label *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_label(&r, &list[i]);
    if (!pack_is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool labels_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct label label;
    uint32_t count = packed.len == 0 ? 0 : pack_take_start(&r, ROW_LABELS_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_label(&r, &label);
    return pack_is_at_end(&r);
}

bool labels_next(struct span packed, struct label_step *step, struct label *ret)
{
    struct pack_reader r = {.from = packed, .at = step->offset};
    if (step->offset == 0)
        step->left = packed.len == 0 ? 0 : pack_take_start(&r, ROW_LABELS_MAX);
    if (step->left == 0)
        return false;
    take_label(&r, ret);
    step->left = r.failed ? 0 : step->left - 1;
    step->offset = r.at;
    return !r.failed;
}

static void take_member(struct pack_reader *r, struct member_digest *ret)
{
    ret->pointer = pack_take_bytes(r);
    for (size_t i = 0; i < sizeof(ret->mac); i++)
        ret->mac[i] = pack_take_byte(r);
}

bool members_encode(struct gw_buf *out, const struct member_digest *members, uint32_t count)
{
    if (count > ROW_MEMBERS_MAX)
        return false;
    pack_put_start(out, count);
    for (uint32_t i = 0; i < count; i++) {
        pack_put_bytes(out, members[i].pointer);
        /* The buffer remembers a failure. */
        (void)gw_buf_add(out, span_of((const char *)members[i].mac, sizeof(members[i].mac)));
    }
    return !out->failed;
}

enum gw_status members_decode(struct arena *arena, struct span from, struct member_digest **ret,
                              uint32_t *ret_count)
{
    struct pack_reader r = {.from = from};
    uint32_t count = from.len == 0 ? 0 : pack_take_start(&r, ROW_MEMBERS_MAX);
    struct member_digest *list = arena_take(arena, count * sizeof(*list));
    if (list == NULL)
        return GW_NOMEM;
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_member(&r, &list[i]);
    if (!pack_is_at_end(&r))
        return GW_CORRUPT;
    *ret = list;
    *ret_count = count;
    return GW_OK;
}

bool members_are_sound(struct span packed)
{
    struct pack_reader r = {.from = packed};
    struct member_digest member;
    uint32_t count = packed.len == 0 ? 0 : pack_take_start(&r, ROW_MEMBERS_MAX);
    for (uint32_t i = 0; i < count && !r.failed; i++)
        take_member(&r, &member);
    return pack_is_at_end(&r);
}

bool message_encode(struct gw_buf *out, const struct stored_message *message)
{
    if (message->field_count > ROW_FIELDS_MAX)
        return false;
    pack_put_start(out, message->field_count);
    for (uint32_t i = 0; i < message->field_count; i++) {
        pack_put_bytes(out, message->fields[i].name);
        pack_put_bytes(out, message->fields[i].value);
    }
    pack_put_number(out, message->status);
    pack_put_number(out, message->body_bytes);
    pack_put_number(out, message->body_kept ? 1 : 0);
    pack_put_bytes(out, message->body_kept ? message->body : span_of("", 0));
    return !out->failed;
}

/* `fields` has room for all, or is NULL when nobody wants to see them. */
static void take_fields(struct pack_reader *r, struct http_field *fields, uint32_t count)
{
    for (uint32_t i = 0; i < count && !r->failed; i++) {
        struct span name = pack_take_bytes(r);
        struct span value = pack_take_bytes(r);
        if (fields != NULL)
            fields[i] = (struct http_field){.name = name, .value = value};
    }
}

static void take_message_rest(struct pack_reader *r, struct stored_message *ret)
{
    ret->status = pack_take_status(r);
    ret->body_bytes = pack_take_number(r, UINT64_MAX);
    ret->body_kept = pack_take_number(r, 1) == 1;
    ret->body = pack_take_bytes(r);
    if (!ret->body_kept && ret->body.len > 0)
        r->failed = true;
}

enum gw_status message_decode(struct arena *arena, struct span from, struct stored_message *ret)
{
    struct pack_reader r = {.from = from};
    struct stored_message message = {.field_count = pack_take_start(&r, ROW_FIELDS_MAX)};
    message.fields = arena_take(arena, message.field_count * sizeof(*message.fields));
    if (message.fields == NULL)
        return GW_NOMEM;
    take_fields(&r, message.fields, message.field_count);
    take_message_rest(&r, &message);
    if (!pack_is_at_end(&r))
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
    take_fields(&r, NULL, pack_take_start(&r, ROW_FIELDS_MAX));
    take_message_rest(&r, &message);
    return pack_is_at_end(&r);
}
