/* Packed parts of a row from any bytes: a decoder must not read past them, must
 * agree with the check that uses no memory, and what it accepts must have this one
 * spelling only. The first byte chooses the part. */
#include <stdlib.h>

#include "store/plan.h"
#include "store/row_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_ARENA_BYTES ((size_t)8 << 20)

static void check_spelling(const struct gw_buf *again, bool encoded, struct span from)
{
    gw_assert(encoded);
    gw_assert(span_equal(gw_buf_span(again), from));
}

static void try_attempts(struct arena *arena, struct span from, struct gw_buf *again)
{
    struct attempt_record *list;
    uint32_t count;
    enum gw_status status = attempts_decode(arena, from, &list, &count);
    gw_assert((status == GW_OK) == attempts_are_sound(from));
    if (status == GW_OK && from.len > 0)
        check_spelling(again, attempts_encode(again, list, count), from);
}

static void try_labels(struct arena *arena, struct span from, struct gw_buf *again)
{
    struct label *list;
    uint32_t count, stepped = 0;
    struct label_step step = {0};
    struct label label;
    enum gw_status status = labels_decode(arena, from, &list, &count);
    gw_assert((status == GW_OK) == labels_are_sound(from));
    while (labels_next(from, &step, &label))
        stepped++;
    gw_implies(status == GW_OK, stepped == count);
    if (status == GW_OK && from.len > 0)
        check_spelling(again, labels_encode(again, list, count), from);
}

static void try_members(struct arena *arena, struct span from, struct gw_buf *again)
{
    struct member_digest *list;
    uint32_t count;
    enum gw_status status = members_decode(arena, from, &list, &count);
    gw_assert((status == GW_OK) == members_are_sound(from));
    if (status == GW_OK && from.len > 0)
        check_spelling(again, members_encode(again, list, count), from);
}

static void try_message(struct arena *arena, struct span from, struct gw_buf *again)
{
    struct stored_message message;
    enum gw_status status = message_decode(arena, from, &message);
    gw_implies(from.len > 0, (status == GW_OK) == message_is_sound(from));
    if (status == GW_OK)
        check_spelling(again, message_encode(again, &message), from);
}

static void try_probes(struct arena *arena, struct span from, struct gw_buf *again)
{
    struct probe_record *list;
    uint32_t count;
    enum gw_status status = probes_decode(arena, from, &list, &count);
    gw_assert((status == GW_OK) == probes_are_sound(from));
    if (status == GW_OK && from.len > 0)
        check_spelling(again, probes_encode(again, list, count), from);
}

static void try_items(struct arena *arena, struct span from, struct gw_buf *again)
{
    struct plan_item *list;
    uint32_t count;
    enum gw_status status = plan_items_decode(arena, from, &list, &count);
    gw_implies(status != GW_NOMEM, (status == GW_OK) == plan_items_are_sound(from));
    if (status == GW_OK && from.len > 0)
        check_spelling(again, plan_items_encode(again, list, count), from);
}

/* A row made of the bytes: the check must say yes or no, whatever is in it. */
static void try_row(struct span from)
{
    struct store_row row;
    struct gw_error err;
    memset(&row, 0, sizeof(row));
    if (from.len < 64)
        return;
    memcpy(row.operation_id, from.ptr, sizeof(row.operation_id));
    row.receipt.state = (enum receipt_state)((uint8_t)from.ptr[32] % (RECEIPT_STATE_COUNT + 2));
    row.receipt.marks = (uint8_t)from.ptr[33];
    row.receipt.token = (uint8_t)from.ptr[34];
    row.receipt.attempt = (uint8_t)from.ptr[35];
    row.receipt.lease_until_ms = (signed char)from.ptr[36];
    row.receipt.due_ms = (signed char)from.ptr[37];
    row.receipt.expire_ms = (signed char)from.ptr[38];
    row.end = (uint8_t)from.ptr[39];
    row.status = (uint16_t)((uint8_t)from.ptr[40] << 8 | (uint8_t)from.ptr[41]);
    row.answer_kept = ((uint8_t)from.ptr[42] & 1) != 0;
    row.labels = row.attempts = row.members = span_of(from.ptr + 64, from.len - 64);
    row.answer = row.request = row.probes = row.labels;
    row.probe = (uint8_t)from.ptr[43];
    row.claimed_ms = (signed char)from.ptr[44];
    row.claimed_by = span_of(from.ptr, (uint8_t)from.ptr[45] & 3);
    row.probe_due_ms = (signed char)from.ptr[46];
    enum gw_status status = row_check(&row, &err);
    gw_assert(status == GW_OK || status == GW_CORRUPT || status == GW_LIMIT);
    gw_implies(status == GW_OK, receipt_is_sound(&row.receipt));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct arena *arena = arena_new(FUZZ_ARENA_BYTES);
    struct span from = span_of((const char *)data + 1, size - 1);
    struct gw_buf again;
    gw_buf_init(&again, FUZZ_ARENA_BYTES);
    gw_assert(arena != NULL);
    switch (data[0] % 7) {
    case 0:
        try_attempts(arena, from, &again);
        break;
    case 1:
        try_labels(arena, from, &again);
        break;
    case 2:
        try_members(arena, from, &again);
        break;
    case 3:
        try_message(arena, from, &again);
        break;
    case 4:
        try_row(from);
        break;
    case 5:
        try_probes(arena, from, &again);
        break;
    case 6:
        try_items(arena, from, &again);
        break;
    }
    gw_buf_fini(&again);
    arena_free(arena);
    return 0;
}
