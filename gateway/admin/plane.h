/* What the files of the operator plane know of its one object. Threads: its loop. */
#ifndef RECIBO_GATEWAY_ADMIN_PLANE_H
#define RECIBO_GATEWAY_ADMIN_PLANE_H

#include "gateway/admin/admin.h"
#include "gateway/admin/listener.h"

#define ADMIN_CALLS_MAX 32

struct admin {
    GW_TAG(admin);
#define ADMIN_TAG 0x41444d4eu
    struct admin_options options;
    struct evhttp *http;
    struct connections *connections;
    struct listener listener;
    struct store_inbox *inbox;
    struct event *inbox_event;
    size_t body_max;
    uint32_t calls;          /* not answered yet */
    uint32_t calls_in_store; /* of those, waiting for the store */
};

struct evhttp_request;
/* Checks the request, finds its endpoint and lets it run. */
void call_start(struct admin *admin, struct evhttp_request *request);

#endif
