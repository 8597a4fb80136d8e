/* The connections of the operator plane: counted, capped, and known while an
 * answer is on its way out, so that a stop loses none. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_CONNECTIONS_H
#define RECIBO_GATEWAY_ADMIN_CONNECTIONS_H

#include "base/base.h"

/* A browser keeps six of them. The next one waits until one is closed. */
#define ADMIN_CONNECTIONS_MAX 256

struct connections;
struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;
struct tls_context; /* gateway/tls/tls.h */

/* Watches what this evhttp accepts, over TLS unless that is NULL; NULL: out of memory. Free it
 * after the evhttp. */
struct connections *connections_new(struct evhttp *http, struct tls_context *tls);
void connections_free(struct connections *all); /* NULL is fine */
/* Whose accepting is stopped while the cap is reached. */
void connections_listen(struct connections *all, struct evhttp_bound_socket *socket);
/* No more connections. */
void connections_stop(struct connections *all);
/* An answer to this request leaves now: counted until it is out or its connection is lost. */
void connections_answering(struct connections *all, struct evhttp_request *request);
/* Answers that are not out yet. */
uint32_t connections_writing(const struct connections *all);

#endif
