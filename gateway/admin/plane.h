/* What the files of the operator plane know of its one object. Threads: its loop. */
#ifndef RECIBO_GATEWAY_ADMIN_PLANE_H
#define RECIBO_GATEWAY_ADMIN_PLANE_H

#include "gateway/admin/admin.h"
#include "gateway/admin/history.h"
#include "gateway/admin/listener.h"
#include "gateway/admin/sessions.h"

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
    uint32_t calls_in_store; /* operations of calls and plans that the store has */
    uint32_t searches;       /* lists that go on looking after their first step */
    bool is_reporting;       /* a report of observe mode is under way: one at a time */
    struct sessions sessions;
    struct plans *plans;
    struct history *history;
};

struct call;
struct evhttp_request;
/* NULL: out of memory. */
struct call *call_new(struct admin *admin, struct evhttp_request *request);
/* After a handler's turn: an answered call is over. */
void call_settle_up(struct call *call);
/* Checks the request, finds its endpoint and lets it run. */
void call_start(struct admin *admin, struct evhttp_request *request);

#endif
