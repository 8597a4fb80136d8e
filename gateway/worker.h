/* One thread, one event loop, many flows. Workers share the store's queue, the
 * board and the counted snapshot of the configuration, nothing else. */
#ifndef RECIBO_GATEWAY_WORKER_H
#define RECIBO_GATEWAY_WORKER_H

#include "gateway/flow.h"

struct worker_ports { /* everything a flow may touch; a test fakes all of it */
    struct gw_clock *clock;
    struct store *store;
    struct board *board;
    const struct upstream_ops *upstream;
    void (*random)(void *ret_bytes, size_t len);
};
struct worker_options {
    uint32_t index;        /* 0.. */
    const int *listen_fds; /* shared by all workers; closed by their owner */
    uint32_t listen_count;
    const struct tls_book *tls; /* borrowed; NULL: all is plain */
    bool leaves_queue; /* the listening sockets outlive the process: at a drain, who comes waits
                        * for the next one instead of being told 503 */
    const char *spool_dir;
};

GW_MUST_CHECK enum gw_status worker_new(const struct worker_options *options,
                                        const struct worker_ports *ports, struct conf *conf,
                                        struct worker **ret_worker, struct gw_error *err);
/* Recovery of what an earlier life left behind; on the calling thread, before
 * worker_start(), at most `rows_max` rows; the rest is done while serving. */
void worker_recover(struct worker *worker, uint32_t rows_max);
GW_MUST_CHECK enum gw_status worker_start(struct worker *worker, struct gw_error *err);
/* One worker's change to another configuration: made first, since that can fail, and then
 * handed over, which cannot. The worker has it for every flow that begins later; flows under
 * way keep theirs. */
struct worker_adoption;
/* `left` is counted down by each worker that has changed; the last one delivers `done`. Both
 * are borrowed until then. NULL: out of memory. */
struct worker_adoption *worker_adoption_new(struct worker *worker, struct conf *conf,
                                            atomic_uint *left, struct store_op *done);
void worker_adoption_free(struct worker_adoption *adoption); /* one that is not wanted; NULL too */
/* From any thread, before worker_drain(), to a started worker. Takes it. */
void worker_adopt(struct worker_adoption *take_adoption);
/* From any thread, fine if it was not started: no new connections; idle ones are
 * closed; ends when every flow has left, at the latest when grace_ms are over (then
 * attempts end as drained). */
void worker_drain(struct worker *worker, int64_t grace_ms);
bool worker_is_finished(const struct worker *worker); /* from any thread, after worker_drain() */
void worker_join(struct worker *worker);              /* waits for the thread's end */
void worker_free(struct worker *worker);              /* NULL is fine; joined before */

/* ---- for the flow engine, the rooms and the client connections ---- */
const struct worker_ports *worker_ports(const struct worker *worker);
struct store_inbox *worker_inbox(const struct worker *worker);
struct upstream_port *worker_upstream(const struct worker *worker);
struct event_base *worker_base(const struct worker *worker);
const struct conf *worker_conf(const struct worker *worker);
size_t worker_flow_bytes_max(const struct worker *worker);
/* Where observed exchanges are noted; NULL: no route observes. */
struct observed *worker_observed(const struct worker *worker);
/* From the moment that /readyz says so, for all workers at once (any thread). */
bool worker_is_draining(const struct worker *worker);
/* Gives the flow its id, worker and conf; false: limit reached. */
bool worker_adopt_flow(struct worker *worker, struct flow *flow);
/* The flow has left: freed after the loop turn. */
void worker_bury(struct worker *worker, struct flow *flow);
/* A caller's new connection: on the worker's list until it is buried. */
void worker_take_client(struct worker *worker, struct client *client);
/* The caller's connection is over: freed after the loop turn. */
void worker_bury_client(struct worker *worker, struct client *client);
/* A room of 64 KiB that any callback may read into; nothing in it outlives the callback. */
#define WORKER_READ_BYTES (64 * 1024)
char *worker_read_room(struct worker *worker);
/* Timeouts of this length are kept in a queue of their own, cheaper than the heap;
 * NULL: as event_add() takes it. */
struct timeval;
const struct timeval *worker_timeout(struct worker *worker, int64_t ms, struct timeval *room);
uint32_t worker_index(const struct worker *worker);
/* Scratch of this worker for one room's turn: the JSON node table and sort order. */
struct json_node *worker_json_nodes(struct worker *worker, uint32_t count, uint32_t **ret_order);
/* Calls fire() after `ms`, instead of what was started before; false: out of memory. */
bool worker_timer_start(struct flow *flow, int64_t ms, void (*fire)(struct flow *flow));
void worker_timer_stop(struct flow *flow); /* fine if none runs */
#define WORKER_DIGESTS 3
struct gw_sha256 *worker_sha256(struct worker *worker, uint32_t index);

#endif
