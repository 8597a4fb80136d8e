/* How far the growth of the groups is counted: one operation looks at a bounded number of
 * rows, however many groups there are. It must never leave a group without a share. */
#include "store/table.h"

#define GROWN_SHARE 16 /* rows that are kept for each group that comes later */

uint64_t op_grown_max(const struct store_op *op, uint32_t at, uint64_t counted)
{
    gw_assert(at < op->out.group_count);
    gw_assert(op->out.group_count <= STORE_GROUPS_MAX);
    gw_assert(counted <= STORE_GROWN_SUM_MAX);
    uint64_t kept = (uint64_t)(op->out.group_count - at - 1) * GROWN_SHARE;
    uint64_t left = STORE_GROWN_SUM_MAX - counted;
    left = left > kept ? left - kept : 0;
    return left < STORE_GROWN_MAX ? left : STORE_GROWN_MAX;
}
