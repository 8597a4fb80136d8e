/* What observe mode saw, and which of it belongs to a page. It must never let an
 * observation through that a report would trip over. */
#include "policy/route.h"
#include "store/apply.h"
#include "store/row_pack.h"

#define TEXT_BYTES_MAX ((size_t)64 << 10)

enum gw_status observation_check(const struct observation *seen, struct gw_error *err)
{
    if (seen->route.len > TEXT_BYTES_MAX || seen->members.len > TEXT_BYTES_MAX ||
        seen->method.len > TEXT_BYTES_MAX || seen->fault.len > TEXT_BYTES_MAX ||
        seen->target.len > OBSERVED_TARGET_BYTES)
        return gw_error_set(err, GW_LIMIT, "a text of an observation is too large");
    if (seen->at_ms < 0 || seen->answered_ms < 0 || seen->request_bytes > INT64_MAX ||
        seen->answer_bytes > INT64_MAX)
        return gw_error_set(err, GW_CORRUPT, "a number of an observation cannot be");
    if (seen->end >= END_COUNT || seen->means > MEANS_COMPLETED || seen->status > 999 ||
        (seen->status != 0 && seen->status < 100))
        return gw_error_set(err, GW_CORRUPT, "the end of an observation is no known one");
    if (!members_are_sound(seen->members))
        return gw_error_set(err, GW_CORRUPT, "the member digests of an observation are damaged");
    return GW_OK;
}

bool observed_is_behind(const struct store_op *op, const struct observation *seen)
{
    int order = memcmp(seen->identity.bytes, op->in.observed.after_identity.bytes,
                       sizeof(seen->identity.bytes));
    return order > 0 || (order == 0 && seen->id > op->in.observed.after_id);
}

bool observed_fits(const struct store_op *op, const struct observation *seen)
{
    struct span route = op->in.observed.route;
    return seen->at_ms >= op->in.observed.since_ms &&
           (route.len == 0 || span_equal(route, seen->route));
}

uint32_t observed_rows_max(const struct store_op *op)
{
    uint32_t rows_max = op->in.observed.rows_max;
    return rows_max == 0 || rows_max > STORE_PAGE_ROWS_MAX ? STORE_PAGE_ROWS_MAX : rows_max;
}

enum gw_status apply_observe(struct store_backend *backend, struct store_op *op,
                             struct gw_error *err)
{
    enum gw_status status = GW_OK;
    if (op->in.observe.count > STORE_PAGE_ROWS_MAX)
        status =
            gw_error_set(err, GW_LIMIT, "more than %d observations at once", STORE_PAGE_ROWS_MAX);
    for (uint32_t i = 0; i < op->in.observe.count && status == GW_OK; i++)
        status = observation_check(&op->in.observe.seen[i], err);
    if (status != GW_OK)
        return op_fail_alone(op, status);
    for (uint32_t i = 0; i < op->in.observe.count && status == GW_OK; i++)
        status = backend->table->observe_add(backend, &op->in.observe.seen[i], err);
    return status == GW_OK ? op_found(op, STORE_WON) : status;
}
