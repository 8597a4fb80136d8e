/* How an exchange ends: with its answer, later, cut, without one, or with a
 * reset. The one place of the example that closes a connection under evhttp.
 * Threads: that of the event base. */
#ifndef RECIBO_EXAMPLES_ENDING_H
#define RECIBO_EXAMPLES_ENDING_H

#include <event2/event.h>
#include <event2/http.h>

#include "base/base.h"
#include "examples/legacy-tickets/fault.h"

#define ENDINGS_MAX 1024 /* exchanges that wait for their ending at one time */

/* The exchanges that wait for theirs. */
struct endings;

struct endings *endings_new(struct event_base *base); /* NULL: out of memory */
/* Frees what still waits without answering it; to be called before evhttp_free,
 * which frees the requests themselves. NULL is fine. */
void endings_free(struct endings *endings);

/* Ends the request as the fault says; the headers of the answer are already in
 * the request. body is copied. Over ENDINGS_MAX the answer goes out at once. */
void endings_add(struct endings *endings, struct evhttp_request *request, const struct fault *fault,
                 struct span body);

#endif
