/* `recibo backlog probe --group`: has the upstream asked about each operation of a
 * group, at a rate. It must never ask faster than it was told to: the upstream that lost
 * these answers may be ill still. */
#include "gateway/commands/commands.h"
#include "gateway/commands/groups.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/probe.h"
#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

#include "base/text.h"

#include <stdio.h>

#define GROUP_ASKED_MAX   100000
#define GROUP_ARENA_BYTES ((size_t)64 << 20)
#define RATE_DEFAULT      10
#define RATE_MAX          1000
#define PROGRESS_MS       200
#define ROUND_MS_MAX      2000

struct run {
    const struct options *options;
    struct admin_client *client;
    json_t *group;
    struct probe_asked *asked;
    uint32_t asked_count, answered;
    int64_t group_count; /* when it began */
    uint32_t passed_by;  /* were not unknown any more, or could not be asked about */
    int64_t rate;
    int64_t progress_at;
    uint32_t executed, absent, unclear, failed, settled;
};

/* One line, written over; the last one ends it. */
static void progress(struct run *run, bool is_last)
{
    int64_t now = probe_ticks();
    if (!terminal_shows_progress() || (!is_last && now < run->progress_at))
        return;
    run->progress_at = now + PROGRESS_MS;
    /* It is only for the eye. */
    (void)fprintf(stderr, "\r%u of about %lld asked, %u answered ", run->asked_count,
                  (long long)run->group_count, run->answered);
    if (is_last)
        (void)fputc('\n', stderr);
}

/* ---- asking ---- */

static int ask_one(struct run *run, const json_t *operation)
{
    const char *note = options_value(run->options, "--note");
    const char *id = json_string_value(json_object_get(operation, "id"));
    struct admin_reply reply;
    if (id == NULL || strlen(id) >= PROBE_ID_MAX || run->asked_count == GROUP_ASKED_MAX)
        return -1;
    int code = probe_ask(run->client, id, note, true, &run->asked[run->asked_count], &reply);
    if (code != -1)
        return code;
    struct span problem = words_of(reply.json, "code");
    bool is_gone = reply.status == 404 || span_equal(problem, SPAN("not-open"));
    if (reply.status == 202)
        run->asked_count++;
    else if (is_gone)
        run->passed_by++;
    else
        code = client_refused(run->client, &reply);
    client_forget(&reply);
    return code;
}

/* Every operation of the page, the next one when its turn has come. */
static int ask_page(struct run *run, const json_t *page, int64_t *next_at)
{
    const json_t *operations = json_object_get(page, "operations");
    int code = -1;
    for (size_t i = 0; i < json_array_size(operations) && code == -1; i++) {
        int64_t now = probe_ticks();
        if (*next_at > now)
            probe_pause(*next_at - now);
        *next_at = (*next_at > now ? *next_at : now) + 1000 / run->rate;
        code = ask_one(run, json_array_get(operations, i));
        progress(run, false);
    }
    return code;
}

static int ask_all(struct run *run)
{
    const struct listing listing = {.oldest_first = true, .group = run->group};
    struct listing_pages pages;
    struct admin_reply reply;
    int64_t next_at = probe_ticks();
    int code = listing_open(run->options, run->client, &listing, LISTING_PAGE_MAX, &pages);
    if (code != -1)
        return code;
    bool goes_on = true;
    while (code == -1 && goes_on) {
        code = listing_next(run->client, &pages, &reply);
        if (code != -1)
            break;
        code = ask_page(run, reply.json, &next_at);
        client_forget(&reply);
        goes_on = listing_has_more(&pages) && run->asked_count < GROUP_ASKED_MAX;
    }
    listing_close(&pages);
    return code;
}

/* ---- the answers ---- */

static void count_result(struct run *run, const json_t *operation, const struct probe_asked *asked)
{
    const struct {
        struct span word;
        uint32_t *count;
    } results[] = {{SPAN("executed"), &run->executed},
                   {SPAN("absent"), &run->absent},
                   {SPAN("unclear"), &run->unclear},
                   {SPAN("failed"), &run->failed}};
    struct span word = words_of(operation, "probe");
    uint32_t *count = &run->settled; /* it moved on by another hand */
    if (words_number(operation, "probe_count") > asked->count)
        for (size_t i = 0; i < GW_COUNT(results); i++)
            if (span_equal(word, results[i].word))
                count = results[i].count;
    ++*count;
    run->answered++;
}

/* Looks at those that are open; answered ones leave the list. */
static int look_round(struct run *run, uint32_t *open)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < *open; i++) {
        struct admin_reply reply;
        bool is_answered = false;
        int code = probe_look(run->client, &run->asked[i], &is_answered, &reply);
        if (code != -1)
            return code;
        if (is_answered)
            count_result(run, reply.json, &run->asked[i]);
        else
            run->asked[left++] = run->asked[i];
        client_forget(&reply);
        progress(run, false);
    }
    *open = left;
    return -1;
}

/* Until all answered, or none did for so long. */
static int collect(struct run *run, int64_t wait_ms, uint32_t *ret_open)
{
    int64_t until = probe_ticks() + wait_ms, between = PROBE_POLL_MS;
    uint32_t open = run->asked_count;
    int code = -1;
    while (open > 0 && code == -1 && probe_ticks() <= until) {
        uint32_t before = open;
        code = look_round(run, &open);
        if (open < before)
            until = probe_ticks() + wait_ms;
        else
            between = between * 2 < ROUND_MS_MAX ? between * 2 : ROUND_MS_MAX;
        if (open > 0 && code == -1)
            probe_pause(between);
    }
    *ret_open = open;
    return code;
}

/* ---- telling ---- */

static void print_json(const struct run *run, uint32_t open)
{
    (void)printf("{\"asked\":%u,\"executed\":%u,\"absent\":%u,\"unclear\":%u,\"failed\":%u,"
                 "\"settled_meanwhile\":%u,\"passed_by\":%u,\"open\":%u}\n",
                 run->asked_count, run->executed, run->absent, run->unclear, run->failed,
                 run->settled, run->passed_by, open);
}

static void print_table(const struct run *run, uint32_t open)
{
    static const char *const headers[] = {"RESULT", ">COUNT", "WHAT NOW"};
    const struct {
        const char *result, *next;
        uint32_t count;
    } rows[] = {
        {"executed", "completed where the route says so; else: list --probe executed",
         run->executed},
        {"absent", "list --probe absent; settle as not_executed when you are sure", run->absent},
        {"unclear", "the conditions of the route fit neither way: look at one", run->unclear},
        {"failed", "the upstream gave no answer: ask again later", run->failed},
        {"settled meanwhile", "somebody was faster", run->settled},
        {"no longer unknown", "not asked about", run->passed_by},
        {"no answer yet", "look later: recibo backlog groups", open},
    };
    struct gw_buf out;
    struct arena *arena = arena_new(GROUP_ARENA_BYTES);
    struct table *table = arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers));
    gw_buf_init(&out, 65536);
    for (size_t i = 0; table != NULL && i < GW_COUNT(rows); i++) {
        char count[16];
        (void)snprintf(count, sizeof(count), "%u", rows[i].count); /* at most 10 digits */
        const struct span cells[] = {span_str(rows[i].result), span_str(count),
                                     span_str(rows[i].next)};
        if (rows[i].count > 0)
            (void)table_add(table, cells); /* seven short rows fit */
    }
    if (table != NULL)
        table_print(table, &out);
    words_flush(&out);
    gw_buf_fini(&out);
    arena_free(arena);
}

static int read_rate(const struct options *options, int64_t *ret)
{
    const char *text = options_value(options, "--rate");
    struct span number = span_str(text);
    uint64_t value = RATE_DEFAULT;
    if (number.len > 2 && memcmp(number.ptr + number.len - 2, "/s", 2) == 0)
        number.len -= 2;
    if (text != NULL && (!gw_parse_u64(number, &value) || value == 0 || value > RATE_MAX))
        return options_refuse(options, "--rate is 1/s to %d/s", RATE_MAX);
    *ret = (int64_t)value;
    return -1;
}

/* Which group it is, before anything is asked: its number may be another's by now. */
static int find_group(struct run *run)
{
    struct gw_buf out;
    int code = groups_find(run->options, run->client, &run->group);
    if (code != -1)
        return code;
    run->group_count = words_number(run->group, "count");
    if (run->client->wants_json)
        return -1;
    gw_buf_init(&out, 4096);
    (void)gw_buf_print(&out, "Asking about group %s: ", /* whoever flushes tells */
                       options_value(run->options, "--group"));
    groups_print_name(run->group, &out);
    (void)gw_buf_print(&out, "; %lld a second at most.\n", (long long)run->rate);
    words_flush(&out);
    (void)fflush(stdout); /* it is to be read now */
    gw_buf_fini(&out);
    return -1;
}

static int run_all(struct run *run, int64_t wait_ms, uint32_t *ret_open)
{
    int code = ask_all(run);
    *ret_open = run->asked_count;
    if (code == -1 && wait_ms > 0)
        code = collect(run, wait_ms, ret_open);
    progress(run, true);
    if (run->client->wants_json)
        print_json(run, *ret_open);
    else if (run->asked_count > 0 || run->passed_by > 0)
        print_table(run, *ret_open);
    return code;
}

int probe_group(const struct options *options, struct admin_client *client, int64_t wait_ms)
{
    struct arena *arena = arena_new(GROUP_ARENA_BYTES);
    struct run run = {.options = options, .client = client};
    uint32_t open = 0;
    if (arena != NULL)
        run.asked = arena_take(arena, GROUP_ASKED_MAX * sizeof(*run.asked));
    int code = run.asked == NULL ? EXIT_FAILED : read_rate(options, &run.rate);
    if (code == -1)
        code = find_group(&run);
    if (code == -1)
        code = run_all(&run, wait_ms, &open);
    json_decref(run.group);
    arena_free(arena);
    if (code == -1 && open > 0 && wait_ms > 0)
        code = EXIT_FAILED;
    return code == -1 ? EXIT_DONE : code;
}
