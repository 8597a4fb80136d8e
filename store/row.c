/* What a sound row is, and the digest of an identity. It must never let a row
 * through that a policy function would trip over. */
#include "base/digest.h"
#include "store/row_pack.h"
#include "store/table.h"

#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define BODY_BYTES_MAX ((size_t)1 << 28)

/* A row has these runs of bytes; sizes are far above what the gateway's own
 * limits let in. */
const struct row_span row_spans[] = {
    [ROW_SPAN_REQUEST] = {"request", offsetof(struct store_row, request), BODY_BYTES_MAX},
    [ROW_SPAN_ANSWER] = {"answer", offsetof(struct store_row, answer), BODY_BYTES_MAX},
    [ROW_SPAN_KEPT] = {"request to run later", offsetof(struct store_row, kept), BODY_BYTES_MAX},
    {"owner", offsetof(struct store_row, owner), TEXT_BYTES_MAX},
    {"scope", offsetof(struct store_row, scope), TEXT_BYTES_MAX},
    {"key", offsetof(struct store_row, key), TEXT_BYTES_MAX},
    {"route", offsetof(struct store_row, route), TEXT_BYTES_MAX},
    {"way of comparing", offsetof(struct store_row, print_mode), TEXT_BYTES_MAX},
    {"member digests", offsetof(struct store_row, members), TEXT_BYTES_MAX},
    {"method", offsetof(struct store_row, method), TEXT_BYTES_MAX},
    {"target", offsetof(struct store_row, target), TEXT_BYTES_MAX},
    {"labels", offsetof(struct store_row, labels), TEXT_BYTES_MAX},
    {"attempts", offsetof(struct store_row, attempts), TEXT_BYTES_MAX},
    {"person who is on it", offsetof(struct store_row, claimed_by), TEXT_BYTES_MAX},
    {"probes", offsetof(struct store_row, probes), TEXT_BYTES_MAX},
};
const size_t row_span_count = GW_COUNT(row_spans);

const struct span *row_span_at(const struct store_row *row, size_t index)
{
    gw_assert(index < row_span_count);
    return (const struct span *)(const void *)((const char *)row + row_spans[index].offset);
}

struct span *row_span_of(struct store_row *row, size_t index)
{
    gw_assert(index < row_span_count);
    return (struct span *)(void *)((char *)row + row_spans[index].offset);
}

const char *probe_result_name(enum probe_result result)
{
    static const char *const names[PROBE_RESULT_COUNT] = {
        [PROBE_NONE] = "none",       [PROBE_EXECUTED] = "executed", [PROBE_ABSENT] = "absent",
        [PROBE_UNCLEAR] = "unclear", [PROBE_FAILED] = "failed",
    };
    gw_assert(result < PROBE_RESULT_COUNT);
    return names[result];
}

bool row_copy(struct arena *arena, const struct store_row *from, struct store_row *ret)
{
    struct store_row copy = *from;
    copy.request = copy.answer = copy.kept = span_of("", 0);
    for (size_t i = ROW_SPAN_KEPT + 1; i < row_span_count; i++)
        if (!arena_copy(arena, *row_span_at(from, i), row_span_of(&copy, i)))
            return false;
    *ret = copy;
    return true;
}

static bool operation_id_is_sound(const char id[OPERATION_ID_BYTES + 1])
{
    if (memcmp(id, "op_", 3) != 0 || id[OPERATION_ID_BYTES] != '\0')
        return false;
    for (size_t i = 3; i < OPERATION_ID_BYTES; i++) {
        bool is_digit = id[i] >= '0' && id[i] <= '9';
        bool is_lower = id[i] >= 'a' && id[i] <= 'z';
        if (!is_digit && !is_lower)
            return false;
    }
    return true;
}

bool row_lease_is_over(const struct store_row *row, int64_t now_ms)
{
    if (!receipt_is_leased(row->receipt.state))
        return false;
    return row->lease_is_dead || (!row->lease_is_foreign && row->receipt.lease_until_ms <= now_ms);
}

/* NULL: nothing is wrong. */
static const char *find_fault(const struct store_row *row)
{
    if (row->id < 0)
        return "its number is negative";
    if (row->receipt.state == RECEIPT_ABSENT || !receipt_is_sound(&row->receipt))
        return "its state and times do not fit together";
    if (row->lease_is_dead && !receipt_is_leased(row->receipt.state))
        return "it has a dead lease, but none at all";
    if (row->holder < 0 || (row->holder != 0 && !receipt_is_leased(row->receipt.state)))
        return "somebody holds its lease, but it has none";
    if (row->lease_is_foreign && (row->holder == 0 || row->lease_is_dead))
        return "its lease is another gateway's, and is dead or nobody's";
    if (row->end >= END_COUNT || row->status > 999 || (row->status != 0 && row->status < 100))
        return "the end of its last attempt is no known one";
    if (row->created_ms < 0 || row->updated_ms < 0 || row->last_repeat_ms < 0 ||
        row->evidence_until_ms < 0 || row->claimed_ms < 0 || row->probe_due_ms < 0 ||
        row->promised_ms < 0 || row->window_ms < 0 || row->retry_ms < 0)
        return "a time is negative";
    if (!attempts_are_sound(row->attempts))
        return "the record of its attempts is damaged";
    if (row->probe >= PROBE_RESULT_COUNT || !probes_are_sound(row->probes))
        return "the record of its probes is damaged";
    if ((row->claimed_by.len > 0) != (row->claimed_ms > 0))
        return "who is on it and since when do not fit together";
    if (!labels_are_sound(row->labels))
        return "its labels are damaged";
    if (!members_are_sound(row->members))
        return "its member digests are damaged";
    if (!message_is_sound(row->request))
        return "the kept request is damaged";
    if (!message_is_sound(row->kept))
        return "the request to run later is damaged";
    if (!message_is_sound(row->answer))
        return "the kept answer is damaged";
    if (row->answer.len > 0 && !row->answer_kept)
        return "it has an answer, but says that none was kept";
    return NULL;
}

enum gw_status row_check(const struct store_row *row, struct gw_error *err)
{
    if (!operation_id_is_sound(row->operation_id))
        return gw_error_set(err, GW_CORRUPT, "row %lld: the operation id is damaged",
                            (long long)row->id);
    for (size_t i = 0; i < row_span_count; i++)
        if (row_span_at(row, i)->len > row_spans[i].len_max)
            return gw_error_set(err, GW_LIMIT, "operation %s: the %s is larger than %zu bytes",
                                row->operation_id, row_spans[i].name, row_spans[i].len_max);
    const char *fault = find_fault(row);
    if (fault != NULL)
        return gw_error_set(err, GW_CORRUPT, "operation %s: %s", row->operation_id, fault);
    return GW_OK;
}

void store_identity(struct span owner, struct span scope, struct span key,
                    struct store_identity *ret)
{
    uint8_t digest[GW_SHA256_BYTES];
    struct gw_sha256 *sha = gw_sha256_new();
    gw_assert(sha != NULL);
    gw_sha256_start(sha);
    gw_sha256_add_part(sha, owner);
    gw_sha256_add_part(sha, scope);
    gw_sha256_add_part(sha, key);
    gw_sha256_final(sha, digest);
    gw_sha256_free(sha);
    memcpy(ret->bytes, digest, sizeof(ret->bytes));
}
