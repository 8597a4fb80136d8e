/* The tickets of the example API in their own SQLite file. Every insert makes a
 * new ticket: nothing here may ever recognise a repeat, for that is the point of
 * the example. Threads: one. */
#ifndef RECIBO_EXAMPLES_TICKETS_H
#define RECIBO_EXAMPLES_TICKETS_H

#include <jansson.h>

#include "base/base.h"

#define TICKETS_LISTED_MAX 100

struct tickets;

/* Opens or makes the file. */
GW_MUST_CHECK enum gw_status tickets_open(const char *path, struct tickets **ret_tickets,
                                          struct gw_error *err);
void tickets_free(struct tickets *tickets); /* NULL is fine */

struct ticket_text {
    const char *subject;
    const char *external_reference; /* NULL: none given */
};
GW_MUST_CHECK enum gw_status tickets_insert(struct tickets *tickets, struct ticket_text text,
                                            int64_t *ret_id, struct gw_error *err);
/* *ret_ticket is a new reference, or NULL when there is no such ticket. */
GW_MUST_CHECK enum gw_status tickets_find(struct tickets *tickets, int64_t id, json_t **ret_ticket,
                                          struct gw_error *err);
/* At most TICKETS_LISTED_MAX, oldest first; reference NULL: all of them. */
GW_MUST_CHECK enum gw_status tickets_list(struct tickets *tickets, const char *reference,
                                          json_t **ret_items, struct gw_error *err);
GW_MUST_CHECK enum gw_status tickets_delete(struct tickets *tickets, int64_t id, bool *ret_found,
                                            struct gw_error *err);
GW_MUST_CHECK enum gw_status tickets_count(struct tickets *tickets, int64_t *ret_count,
                                           struct gw_error *err);

#endif
