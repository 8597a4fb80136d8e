/* From a flow to its line. */
#include "gateway/access_log.h"
#include "gateway/problem.h"
#include "gateway/worker.h"

#include "base/digest.h"
#include "base/log.h"
#include "base/text.h"

#define PATH_BYTES_MAX 512
#define KEY_HASH_BYTES 8

enum access_field {
#define ACCESS(name, doc) ACCESS_##name,
#include "gateway/access_log.def"
#undef ACCESS
    ACCESS_COUNT,
};

static const char *const names[] = {
#define ACCESS(name, doc) #name,
#include "gateway/access_log.def"
#undef ACCESS
};

static bool reads_path(const struct key_source *key)
{
    bool does = key->from == KEY_FROM_PATH;
    for (uint32_t i = 0; key->from == KEY_FROM_ALL && i < key->part_count; i++)
        does = does || key->parts[i].from == KEY_FROM_PATH;
    return does;
}

static struct span path_of(const struct flow *flow)
{
    if (flow->route != NULL && flow->route->mode != ROUTE_PASS && reads_path(&flow->route->key))
        return flow->route->path;
    struct span path = flow->head->path;
    const char *query = path.len == 0 ? NULL : memchr(path.ptr, '?', path.len);
    if (query != NULL)
        path.len = (size_t)(query - path.ptr);
    return span_of(path.ptr == NULL ? "" : path.ptr,
                   path.len > PATH_BYTES_MAX ? PATH_BYTES_MAX : path.len);
}

/* Keys are often numbers in a row: without the store's secret they could be tried out. */
static struct span key_hash(const struct flow *flow, char room[2 * KEY_HASH_BYTES + 1])
{
    uint8_t digest[GW_SHA256_BYTES];
    struct store_identity identity;
    if (flow->key.len == 0 || flow->route == NULL)
        return SPAN("");
    struct gw_sha256 *sha = worker_sha256(flow->worker, 0);
    store_identity(flow->owner, route_scope(flow->route), flow->key, &identity);
    gw_sha256_start(sha);
    gw_sha256_add_part(sha, store_secret(worker_ports(flow->worker)->store));
    gw_sha256_add_part(sha, span_of((const char *)identity.bytes, sizeof(identity.bytes)));
    gw_sha256_final(sha, digest);
    gw_hex(digest, KEY_HASH_BYTES, room);
    return span_str(room);
}

static struct span status_of(const struct flow *flow)
{
    return flow->reply.head.len > 12 ? span_of(flow->reply.head.ptr + 9, 3) : SPAN("");
}

static struct span text_or_empty(struct span text)
{
    return text.ptr == NULL ? SPAN("") : text;
}

void access_log(const struct flow *flow)
{
    char hash[2 * KEY_HASH_BYTES + 1];
    if (flow->head == NULL)
        return;
    struct gw_log_pair pairs[ACCESS_COUNT + 1] = {
        [ACCESS_flow] = {.number = (int64_t)flow->id},
        [ACCESS_method] = {.text = text_or_empty(flow->head->method)},
        [ACCESS_path] = {.text = path_of(flow)},
        [ACCESS_route] = {.text = flow->route == NULL ? SPAN("") : flow->route->name},
        [ACCESS_status] = {.text = status_of(flow)},
        [ACCESS_outcome] = {.text = span_str(outcome_word(flow->outcome))},
        [ACCESS_problem] = {.text = span_str(problem_code(flow->problem))},
        [ACCESS_operation] = {.text = span_str(flow->row.operation_id)},
        [ACCESS_key_hash] = {.text = key_hash(flow, hash)},
        [ACCESS_end] = {.text = span_str(end_name(flow->facts.end))},
        [ACCESS_sent] = {.number = (int64_t)flow->facts.bytes_out},
        [ACCESS_received] = {.number = (int64_t)flow->facts.bytes_in},
        [ACCESS_ms] = {.number = flow_now_ticks(flow) - flow->started_ticks},
        [ACCESS_upstream_ms] = {.number = flow->facts.elapsed_ms},
        [ACCESS_gone] = {.number = flow->client_gone},
        [ACCESS_trace] = {.text = text_or_empty(flow->trace_id)},
        [ACCESS_configuration] = {.text = span_str(flow->conf->hash)},
    };
    for (size_t i = 0; i < ACCESS_COUNT; i++)
        pairs[i].name = names[i];
    gw_log(GW_LOG_INFO, "request.done", pairs);
}

/* ---- the document ---- */

void log_print_reference(struct gw_buf *out)
{
    /* Whoever began the printing asks once at the end whether the buffer failed. */
    (void)gw_buf_add(
        out,
        SPAN("# The log\n\n"
             "This file is printed by `recibo help --markdown logs`; a test fails when it is "
             "stale.\n\n"
             "The log goes to standard error, one event a line, at most 4,096 bytes. "
             "`log.format: text` is for people, `json` for programs, `log.level` is the least "
             "important level that is written.\n\n"
             "```text\n"
             "2026-11-30T02:11:04.123Z info route.paused subject=\"route:create-order\" "
             "actor=\"token:ana\" note=\"API times out\"\n"
             "{\"time\":\"2026-11-30T02:11:04.123Z\",\"level\":\"info\",\"event\":"
             "\"route.paused\",\"subject\":\"route:create-order\",\"actor\":\"token:ana\","
             "\"note\":\"API times out\"}\n"
             "```\n\n"
             "Texts stand in quotes, numbers do not. Nothing that a caller sends can forge, tear "
             "or hide a line: `\"` and `\\` have a backslash before them; control characters, "
             "ends of lines of all kinds and marks that turn the direction of text are written "
             "`\\u001b`; other UTF-8 stands as it is; a byte that is no UTF-8 is `\\xff` in "
             "text and `\\ufffd` in JSON. A line that would be too long is cut between two "
             "characters and ends with `cut=true`.\n\n"
             "Never in the log: keys, owners, queries, bodies, credentials. A key is told by a "
             "hash.\n\n"
             "Lines wait in a queue of 1 MiB and are written by a thread of their own, so that a "
             "pipe that nobody reads and a disk that stands still hold no request up. What finds "
             "no room is lost and counted: `recibo_log_lost_total`. A stopping process waits 2 s "
             "for its last lines.\n\n"
             "## The access log\n\n"
             "With `log.access: true` each request of a caller has one line `request.done` at "
             "level info, when its answer is out or he is gone.\n\n"
             "| field | what |\n|---|---|\n"));
#define ACCESS(name, doc) (void)gw_buf_print(out, "| `%s` | %s |\n", #name, doc);
#include "gateway/access_log.def"
#undef ACCESS
    (void)gw_buf_add(out, SPAN("\n## Events\n\n| event | level | what |\n|---|---|---|\n"));
#define EVENT(name, levels, doc) (void)gw_buf_print(out, "| `%s` | %s | %s |\n", name, levels, doc);
#include "gateway/events.def"
#undef EVENT
}
