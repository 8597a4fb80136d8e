/* The HTTP face of the example API. It must never look at an idempotency key:
 * two equal requests are two tickets. Threads: that of the event base. */
#ifndef RECIBO_EXAMPLES_SERVICE_H
#define RECIBO_EXAMPLES_SERVICE_H

#include <event2/event.h>

#include "base/base.h"
#include "examples/legacy-tickets/tickets.h"

struct service;

struct service_address {
    const char *host;
    uint16_t port; /* 0: a free one */
};

/* tickets is borrowed and outlives the service. */
GW_MUST_CHECK enum gw_status service_new(struct event_base *base, struct tickets *tickets,
                                         struct service **ret_service, struct gw_error *err);
void service_free(struct service *service); /* NULL is fine */
GW_MUST_CHECK enum gw_status service_listen(struct service *service, struct service_address where,
                                            uint16_t *ret_port, struct gw_error *err);

#endif
