/* The timeline of an operation, in plain words. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_WHY_H
#define RECIBO_GATEWAY_ADMIN_WHY_H

#include "gateway/admin/call.h"

/* Members "id", "state", "summary" and "timeline". */
void why_print(struct call *call, const struct store_row *row, const struct audit_entry *audit,
               uint32_t audit_count);

#endif
