/* The filters of an operation list: one grammar for the query of the list and for
 * `where` of a plan. Threads: pure. */
#ifndef RECIBO_GATEWAY_ADMIN_FILTER_H
#define RECIBO_GATEWAY_ADMIN_FILTER_H

#include "store/store.h"

#define FILTER_WORDS                                                                               \
    "state, route, owner, key, end, status, claimed, probe, label.NAME, older_than, newer_than, "  \
    "created_before, created_after, contradicted"

/* Adds one filter; the spans are borrowed for as long as the filter lives. NULL, or
 * what is wrong with the value; FILTER_IS_OTHER: no filter has this name. */
const char *filter_take(struct store_filter *filter, int64_t now_ms, struct span name,
                        struct span value) GW_MUST_CHECK;
extern const char FILTER_IS_OTHER[];

#endif
