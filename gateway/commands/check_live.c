/* The upstreams as they answer now. It must never send anything but GET, nor a credential.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the command looks
 * at that once. */
#include <stdio.h>

#include "gateway/commands/check_more.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/live_exchange.h"
#include "gateway/commands/loading.h"
#include "gateway/commands/words.h"

#define LIVE_PATHS_MAX 8 /* of one upstream */
#define LIVE_PATH_MAX  2048

struct looking {
    const struct conf *conf;
    const struct upstream_policy *upstream;
    struct gw_buf *out;
    uint32_t problems;
    bool told_ntlm, told_https, told_round;
};

enum weight { LIVE_OK, LIVE_WARNING, LIVE_PROBLEM };

static void tell(struct looking *looking, enum weight weight, const char *what, struct span detail)
{
    static const char *const words[] = {"ok      ", "warning ", "PROBLEM "};
    (void)gw_buf_print(looking->out, "  %s  %s", words[weight], what);
    if (detail.len > 0) {
        (void)gw_buf_add(looking->out, SPAN(": "));
        words_print(looking->out, span_of(detail.ptr, detail.len > 200 ? 200 : detail.len));
    }
    (void)gw_buf_byte(looking->out, '\n');
    looking->problems += weight == LIVE_PROBLEM;
}

static bool begins_nocase(struct span text, struct span with)
{
    return text.len >= with.len && span_equal_nocase(span_of(text.ptr, with.len), with);
}

static bool contains(struct span text, struct span what)
{
    for (size_t at = 0; what.len > 0 && at + what.len <= text.len; at++)
        if (span_equal_nocase(span_of(text.ptr + at, what.len), what))
            return true;
    return false;
}

/* ---- what an answer says ---- */

/* A login that holds for a connection: pooled, it would be another caller's as well. */
static void look_for_ntlm(struct looking *looking, const struct http_head *head)
{
    for (uint32_t i = 0; i < head->field_count && !looking->told_ntlm; i++) {
        const struct http_field *field = &head->fields[i];
        if (!span_equal_nocase(field->name, SPAN("WWW-Authenticate")) ||
            !(contains(field->value, SPAN("NTLM")) || contains(field->value, SPAN("Negotiate"))))
            continue;
        looking->told_ntlm = true;
        if (looking->upstream->reuse == REUSE_NEVER)
            tell(looking, LIVE_WARNING,
                 "it wants a login that holds for a connection; callers cannot log in through "
                 "Recibo",
                 field->value);
        else
            tell(looking, LIVE_PROBLEM,
                 "it wants a login that holds for a connection, and connections are shared: set "
                 "connections: {reuse: never}, and another way to log in",
                 field->value);
    }
}

/* "http://AUTHORITY" with an end behind it. */
static bool names_upstream(const struct looking *looking, struct span text, size_t *ret_at)
{
    struct span authority = looking->upstream->authority;
    for (size_t at = 0; at + 3 + authority.len <= text.len; at++) {
        if (memcmp(text.ptr + at, "://", 3) != 0 ||
            !span_equal_nocase(span_of(text.ptr + at + 3, authority.len), authority))
            continue;
        size_t end = at + 3 + authority.len;
        char c = end < text.len ? text.ptr[end] : '/';
        bool goes_on = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == ':';
        if (!goes_on) {
            *ret_at = at;
            return true;
        }
    }
    return false;
}

static void tell_round(struct looking *looking, const char *where, struct span text, size_t at)
{
    size_t from = at < 8 ? 0 : at - 8;
    if (looking->told_round)
        return;
    looking->told_round = true;
    (void)gw_buf_print(looking->out,
                       "  %s  %s names the API's own address, which leads callers "
                       "round Recibo",
                       "warning ", where);
    (void)gw_buf_add(looking->out, SPAN(": "));
    words_print(looking->out,
                span_of(text.ptr + from, text.len - from > 80 ? 80 : text.len - from));
    (void)gw_buf_add(looking->out,
                     looking->upstream->host_preserve
                         ? SPAN("; it does not take it from Host\n")
                         : SPAN("; with host: preserve it may name the callers' one\n"));
}

static void look_for_addresses(struct looking *looking, const struct live_answer *answer)
{
    static const char *const fields[] = {"Location", "Content-Location", "Link", "Refresh"};
    size_t at = 0;
    for (uint32_t i = 0; i < answer->head->field_count; i++) {
        const struct http_field *field = &answer->head->fields[i];
        for (size_t k = 0; k < GW_COUNT(fields); k++)
            if (span_equal_nocase(field->name, span_str(fields[k])) &&
                names_upstream(looking, field->value, &at))
                tell_round(looking, fields[k], field->value, at);
    }
    struct span body = gw_buf_span(&answer->body);
    if (body.len > 0 && names_upstream(looking, body, &at))
        tell_round(looking, "its body", body, at);
}

static void look_for_https(struct looking *looking, const struct http_head *head)
{
    const struct http_field *location = http_head_find(head, SPAN("Location"), 0);
    bool redirects = head->status >= 300 && head->status < 400 && location != NULL;
    if (!redirects || looking->told_https || !begins_nocase(location->value, SPAN("https://")))
        return;
    looking->told_https = true;
    tell(looking, LIVE_PROBLEM,
         "it sends every caller to https; guarded answers would be redirects, recorded as results",
         location->value);
}

static void look_at(struct looking *looking, const struct live_answer *answer, struct span path)
{
    char status[32];
    (void)snprintf(status, sizeof(status), "%u in HTTP/1.%u", answer->head->status,
                   answer->head->minor); /* it fits */
    (void)gw_buf_add(looking->out, SPAN("  ok        GET "));
    words_print(looking->out, path);
    (void)gw_buf_print(looking->out, " -> %s\n", status);
    look_for_ntlm(looking, answer->head);
    look_for_https(looking, answer->head);
    look_for_addresses(looking, answer);
}

/* ---- one upstream ---- */

/* The n-th path to ask for: "/", then those of its routes that are no patterns. */
static bool path_at(const struct looking *looking, uint32_t index, char room[LIVE_PATH_MAX],
                    struct span *ret)
{
    const struct route_table *table = &looking->conf->routes;
    struct span prefix = looking->upstream->path_prefix, path = SPAN("/");
    uint32_t seen = 0;
    for (uint32_t i = 0; index > 0 && seen < index; i++) {
        if (i == table->count)
            return false;
        const struct route_policy *route = &table->routes[i];
        bool is_plain = memchr(route->path.ptr, '{', route->path.len) == NULL &&
                        memchr(route->path.ptr, '*', route->path.len) == NULL;
        if (route->upstream != looking->upstream || !is_plain)
            continue;
        path = route->path;
        seen++;
    }
    if (prefix.len + path.len >= LIVE_PATH_MAX)
        return false;
    if (prefix.len > 0)
        memcpy(room, prefix.ptr, prefix.len);
    memcpy(room + prefix.len, path.ptr, path.len);
    *ret = span_of(room, prefix.len + path.len);
    return true;
}

/* Two GETs over one connection: a server that closes says so, or does not. */
static void look_whether_kept(struct looking *looking, struct live *live, struct span path)
{
    struct live_answer answer;
    struct gw_error err = {GW_OK, ""};
    if (!live->is_open) {
        tell(looking, LIVE_WARNING,
             "it closes each connection after one answer: every request opens a new one", SPAN(""));
        return;
    }
    if (live_get(live, looking->upstream, path, &answer, &err) == GW_OK)
        tell(looking, LIVE_OK, "it keeps connections", SPAN(""));
    else
        tell(looking, LIVE_WARNING,
             "it says that it keeps the connection, and does not: set connections: {reuse: never}",
             span_str(err.text));
    live_forget(&answer);
}

static bool ask(struct looking *looking, struct span path, bool is_first)
{
    struct live live;
    struct live_answer answer;
    struct gw_error err = {GW_OK, ""};
    if (live_open(&live, looking->upstream, &err) != GW_OK) {
        tell(looking, LIVE_PROBLEM, "it cannot be reached", span_str(err.text));
        return false;
    }
    bool good = live_get(&live, looking->upstream, path, &answer, &err) == GW_OK;
    if (good)
        look_at(looking, &answer, path);
    else
        tell(looking, LIVE_PROBLEM, "it gives no answer that can be used", span_str(err.text));
    live_forget(&answer);
    if (good && is_first)
        look_whether_kept(looking, &live, path);
    live_close(&live);
    return good;
}

static void look_at_upstream(struct looking *looking)
{
    char room[LIVE_PATH_MAX];
    struct span path;
    words_print(looking->out, looking->upstream->name);
    (void)gw_buf_add(looking->out, SPAN("  http://"));
    words_print(looking->out, looking->upstream->authority);
    (void)gw_buf_byte(looking->out, '\n');
    bool good = true;
    for (uint32_t i = 0; good && i < LIVE_PATHS_MAX && path_at(looking, i, room, &path); i++)
        good = ask(looking, path, i == 0);
}

int check_live(const struct conf *conf)
{
    struct gw_buf out;
    uint32_t problems = 0;
    gw_buf_init(&out, COMMAND_TEXT_MAX);
    for (uint32_t i = 0; i < conf->upstream_count; i++) {
        struct looking looking = {.conf = conf, .upstream = &conf->upstreams[i], .out = &out};
        look_at_upstream(&looking);
        problems += looking.problems;
    }
    int code = command_finish(&out);
    return code == EXIT_DONE && problems > 0 ? EXIT_FAILED : code;
}
