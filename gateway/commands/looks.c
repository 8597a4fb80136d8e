/* `recibo inflight` and `recibo refused`: what is under way, and what was answered with
 * a problem. They change nothing. */
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"
#include "gateway/problem.h"

#include <stdio.h>

#define LOOKS_ARENA_BYTES ((size_t)64 << 20)

static const struct option_spec inflight_specs[] = {
    {"--route", "NAME", "only of this route", false},
    {"--limit", "NUMBER", "at most so many, 1 to 500 (default: 100)", false},
    {"--cursor", "CURSOR", "go on after an earlier page", false},
};
const struct command_help command_inflight_help = {
    .synopsis = "recibo inflight [OPTIONS]",
    .text = "Lists the operations that are under way, the oldest first: claimed ones of which no\n"
            "byte has left, and sent ones that wait for their answer.\n",
    .options = inflight_specs,
    .option_count = GW_COUNT(inflight_specs),
    .examples = "  recibo inflight\n"
                "  recibo inflight --route create-order\n",
};

static const struct option_spec refused_specs[] = {
    {"--all", NULL, "those that never happened as well", false},
};
const struct command_help command_refused_help = {
    .synopsis = "recibo refused [OPTIONS]",
    .text = "Counts the problem answers that Recibo gave to callers since its start, by code.\n"
            "GET /.recibo/problems/CODE says what a code means.\n",
    .options = refused_specs,
    .option_count = GW_COUNT(refused_specs),
    .examples = "  recibo refused\n",
};

static int fetch(const struct command_help *help, int argc, char **argv, const char *path,
                 struct options *ret_options, struct admin_client *ret_client,
                 struct admin_reply *ret_reply)
{
    static const char *const parameters[] = {"route", "limit", "cursor"};
    struct gw_buf target;
    int code = options_parse(help, argc, argv, ret_options);
    if (code == -1)
        code = client_open(ret_options, ret_client);
    if (code != -1)
        return code;
    gw_buf_init(&target, LISTING_PATH_BYTES);
    const char *before = "?";
    (void)gw_buf_print(&target, "%s", path); /* asked once at the end */
    for (size_t i = 0; i < GW_COUNT(parameters); i++) {
        char option[16];
        (void)snprintf(option, sizeof(option), "--%s", parameters[i]); /* short words */
        const char *value = options_value(ret_options, option);
        if (value == NULL)
            continue;
        (void)gw_buf_print(&target, "%s%s=", before, parameters[i]);
        client_escape(&target, span_str(value));
        before = "&";
    }
    code = !gw_buf_byte(&target, '\0') || target.failed
               ? options_refuse(ret_options, "the filters are too long")
               : client_want(ret_client, "GET", target.ptr, span_of(NULL, 0), ret_reply);
    gw_buf_fini(&target);
    if (code == -1 && ret_client->wants_json)
        client_print_raw(ret_reply);
    return code;
}

/* ---- inflight ---- */

static bool add_inflight(struct table *table, const json_t *operation, int64_t now_ms)
{
    struct gw_buf age, labels;
    char attempts[24];
    gw_buf_init(&age, 64);
    gw_buf_init(&labels, 4096);
    words_print_age(&age, words_of(operation, "updated_at"), now_ms);
    words_print_labels(&labels, json_object_get(operation, "labels"));
    (void)snprintf(attempts, sizeof(attempts), "%lld",
                   (long long)words_number(operation, "attempts")); /* at most 20 digits */
    const struct span cells[] = {words_of(operation, "id"),    words_of(operation, "route"),
                                 words_of(operation, "phase"), gw_buf_span(&age),
                                 span_str(attempts),           words_of(operation, "owner"),
                                 gw_buf_span(&labels)};
    bool ok = table_add(table, cells);
    gw_buf_fini(&age);
    gw_buf_fini(&labels);
    return ok;
}

static void print_inflight(const json_t *page, struct arena *arena)
{
    static const char *const headers[] = {"ID",        "ROUTE", "PHASE", ">SINCE",
                                          ">ATTEMPTS", "OWNER", "LABELS"};
    struct gw_clock *clock = gw_clock_system();
    struct gw_buf out;
    struct table *table = table_new(arena, headers, GW_COUNT(headers));
    const json_t *operations = json_object_get(page, "operations");
    struct span next = words_of(page, "next");
    bool is_whole = table != NULL;
    for (size_t i = 0; i < json_array_size(operations) && is_whole; i++)
        is_whole = add_inflight(table, json_array_get(operations, i), clock->wall_ms(clock));
    gw_buf_init(&out, LOOKS_ARENA_BYTES);
    /* Whoever flushes tells if the buffer failed. */
    if (json_array_size(operations) == 0)
        (void)gw_buf_add(&out, SPAN("Nothing is under way.\n"));
    else if (table != NULL)
        table_print(table, &out);
    if (next.len > 0) {
        (void)gw_buf_add(&out, SPAN("There are more: --cursor "));
        words_print(&out, next);
        (void)gw_buf_byte(&out, '\n');
    }
    words_flush(&out);
    gw_buf_fini(&out);
}

int command_inflight(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = fetch(&command_inflight_help, argc, argv, "/v1/inflight", &options, &client, &reply);
    if (code != -1)
        return code;
    if (json_array_size(json_object_get(reply.json, "operations")) == 0)
        code = listing_check_route(&options, &client);
    struct arena *arena = arena_new(LOOKS_ARENA_BYTES);
    if (code == -1 && arena == NULL)
        code = EXIT_FAILED;
    else if (code == -1 && !client.wants_json)
        print_inflight(reply.json, arena);
    arena_free(arena);
    client_forget(&reply);
    return code == -1 ? EXIT_DONE : code;
}

/* ---- refused ---- */

static void print_refused(const struct options *options, const json_t *counts, struct arena *arena)
{
    static const char *const headers[] = {"CODE", ">COUNT", "MEANS"};
    struct gw_buf out;
    struct table *table = table_new(arena, headers, GW_COUNT(headers));
    uint32_t rows = 0;
    json_t *list = (json_t *)counts; /* the iterator of jansson takes no const */
    for (void *at = json_object_iter(list); at != NULL; at = json_object_iter_next(list, at)) {
        int64_t count = json_integer_value(json_object_iter_value(at));
        struct span code = span_str(json_object_iter_key(at));
        enum problem problem = problem_by_code(code);
        struct gw_buf text;
        if (table == NULL || (count == 0 && !options_has(options, "--all")))
            continue;
        gw_buf_init(&text, 64);
        words_print_count(&text, count);
        const struct span cells[] = {code, gw_buf_span(&text),
                                     problem == PROBLEM_NONE ? SPAN("")
                                                             : span_str(problem_title(problem))};
        rows += table_add(table, cells) ? 1 : 0;
        gw_buf_fini(&text);
    }
    gw_buf_init(&out, LOOKS_ARENA_BYTES);
    if (rows == 0)
        (void)gw_buf_add(&out, SPAN("Nothing was refused since the start.\n")); /* it fits */
    else
        table_print(table, &out);
    words_flush(&out);
    gw_buf_fini(&out);
}

int command_refused(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = fetch(&command_refused_help, argc, argv, "/v1/refused", &options, &client, &reply);
    if (code != -1)
        return code;
    struct arena *arena = arena_new(LOOKS_ARENA_BYTES);
    if (arena != NULL && !client.wants_json)
        print_refused(&options, json_object_get(reply.json, "refused"), arena);
    code = arena == NULL ? EXIT_FAILED : EXIT_DONE;
    arena_free(arena);
    client_forget(&reply);
    return code;
}
