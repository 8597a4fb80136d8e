/* How much memory a configuration can need at worst. It must never count less than
 * what the bounds allow. */
#include "conf/loader.h"
#include "policy/probe.h"

/* What a connection holds besides its head: read buffer, parser and bookkeeping. */
#define CONNECTION_BYTES 16384
/* What TLS adds to a connection under way: a record each way, and the session. */
#define TLS_CONNECTION_BYTES 49152
/* Send and receive buffers of one connection to an upstream. */
#define UPSTREAM_BUFFER_BYTES (2 * 65536)
/* Receipt, flow and evidence of one operation, without its bodies. */
#define OPERATION_BYTES 65536
/* The table of a parsed body: at most one value for every two bytes. */
#define JSON_BYTES_PER_BODY_BYTE 22
#define STORE_ENTRY_BYTES        4096
#define PROCESS_BYTES            ((uint64_t)16 << 20)

struct memory_parts {
    uint64_t process, connections, upstreams, bodies, operations, late, json, waiting, observed;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t conf_observed_bytes(const struct conf *conf)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        if (route->mode == ROUTE_OBSERVE)
            most = larger(most,
                          larger(route->request_body_max + route->replay_body_max, OBSERVED_BYTES));
    }
    return most;
}

static bool serves_tls(const struct conf *conf)
{
    for (uint32_t i = 0; i < conf->listen_count; i++)
        if (conf->listen[i].tls != NULL)
            return true;
    return false;
}

/* Every factor is bounded by its range, so that no product comes near 2^64. */
static void count_parts(const struct conf *conf, struct memory_parts *ret)
{
    struct memory_parts parts = {.process = PROCESS_BYTES};
    const struct conf_limits *limits = &conf->limits;
    uint64_t largest = 0, largest_body = 0;
    for (uint32_t i = 0; i < conf->routes.count; i++) {
        const struct route_policy *route = &conf->routes.routes[i];
        if (route->mode == ROUTE_PASS)
            continue;
        largest_body =
            larger(largest_body, larger(route->request_body_max, route->replay_body_max));
        if (route->mode != ROUTE_ENFORCE)
            continue;
        /* The request's body is counted under `bodies`, from its first byte on. */
        uint64_t one = route->replay_body_max + limits->head_bytes + OPERATION_BYTES;
        parts.operations += route->route_in_flight_max * one;
        if (route->probe.is_on)
            parts.operations += PROBES_AT_ONCE * larger(one, PROBE_BODY_BYTES_MIN);
        largest = larger(largest, one);
    }
    for (uint32_t i = 0; i < conf->upstream_count; i++)
        parts.upstreams += (uint64_t)conf->upstreams[i].connections_max *
                           (limits->head_bytes + UPSTREAM_BUFFER_BYTES +
                            (conf->upstreams[i].tls.is_on ? TLS_CONNECTION_BYTES : 0));
    parts.connections =
        (uint64_t)limits->connections * ((uint64_t)limits->head_bytes + CONNECTION_BYTES +
                                         (serves_tls(conf) ? TLS_CONNECTION_BYTES : 0));
    parts.bodies = limits->bodies;
    parts.late = limits->late_max * largest;
    parts.json = conf->workers * largest_body * JSON_BYTES_PER_BODY_BYTE;
    parts.waiting = ((uint64_t)limits->waiters + limits->store_queue) * STORE_ENTRY_BYTES;
    /* Twice: what is gathered, and what is on its way to the store. */
    parts.observed = conf->workers * conf_observed_bytes(conf);
    if (parts.observed > 0)
        parts.observed += 2 * (uint64_t)conf->workers * OBSERVED_BATCH_BYTES;
    *ret = parts;
}

uint64_t conf_memory_worst(const struct conf *conf)
{
    struct memory_parts parts;
    count_parts(conf, &parts);
    return parts.process + parts.connections + parts.upstreams + parts.bodies + parts.operations +
           parts.late + parts.json + parts.waiting + parts.observed;
}

void conf_memory_explain(const struct conf *conf, struct gw_buf *out)
{
    struct memory_parts parts;
    count_parts(conf, &parts);
    const struct {
        const char *what;
        uint64_t bytes;
    } lines[] = {
        {"callers' connections", parts.connections},
        {"connections to upstreams", parts.upstreams},
        {"request bodies and replayed answers of guarded routes", parts.bodies},
        {"operations under way on guarded routes, with their answers", parts.operations},
        {"lost calls that are still listened to", parts.late},
        {"taking apart one JSON body in each worker", parts.json},
        {"waiting for the store or for a first call", parts.waiting},
        {"the process itself", parts.process},
        {"copies on the side of observed routes", parts.observed},
    };
    const size_t count = GW_COUNT(lines) - (parts.observed == 0 ? 1 : 0);
    for (size_t i = 0; i < count; i++) {
        char shown[VALUE_TEXT_BYTES];
        value_print_size(lines[i].bytes, shown);
        /* A buffer that is full is marked as failed; the caller looks at the end. */
        (void)gw_buf_print(out, "  %10s  %s\n", shown, lines[i].what);
    }
}
