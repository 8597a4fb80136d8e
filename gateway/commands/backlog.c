/* `recibo backlog`: what is unknown, one of it, and the verdict on it. */
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/settle.h"
#include "gateway/commands/show.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define SHOW_BYTES_MAX ((size_t)8 << 20)

static const struct option_spec list_specs[] = {LISTING_OPTIONS};

static const struct command_help backlog_help = {
    .synopsis = "recibo backlog [list | show ID | settle ID] [OPTIONS]",
    .text = "What may have run and whose answer was lost. Without a word: the sum and the list.\n"
            "  list    the list alone, the oldest first\n"
            "  show    one of them: evidence, what a repeat gets, what to type next\n"
            "  settle  the verdict on it\n"
            "Each has its own --help.\n",
    .options = list_specs,
    .option_count = GW_COUNT(list_specs),
};
static const struct command_help list_help = {
    .synopsis = "recibo backlog list [OPTIONS]",
    .text = "Lists what is unknown, the oldest first.\n",
    .options = list_specs,
    .option_count = GW_COUNT(list_specs),
};
static const struct command_help show_help = {
    .synopsis = "recibo backlog show ID",
    .text =
        "Shows one operation: evidence, labels, what a repeat gets now and under each verdict,\n"
        "and the commands to type next. Headers and bodies need the right `evidence`.\n",
    .words_min = 1,
    .words_max = 1,
};

static const struct listing unknown = {.state = "unknown", .oldest_first = true};

static int run_list(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(&list_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    return code != -1 ? code : listing_run(&options, &client, &unknown);
}

static int run_show(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    struct gw_buf path, out;
    int code = options_parse(&show_help, argc, argv, &options);
    if (code == -1)
        code = listing_check_id(&options, options.words[0]);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    gw_buf_init(&path, 256);
    listing_path(&path, options.words[0], "");
    code = client_want(&client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    gw_buf_init(&out, SHOW_BYTES_MAX);
    if (client.wants_json) {
        client_print_raw(&reply);
    } else {
        show_operation(reply.json, &out);
        words_flush(&out);
    }
    gw_buf_fini(&out);
    client_forget(&reply);
    return EXIT_DONE;
}

static void print_paused(const json_t *summary, struct gw_buf *out)
{
    const json_t *paused = json_object_get(summary, "paused");
    for (size_t i = 0; i < json_array_size(paused); i++) {
        const json_t *entry = json_array_get(paused, i);
        bool is_route = words_of(entry, "route").len > 0;
        /* Whoever flushes tells if the buffer failed. */
        (void)gw_buf_print(out, "paused: %s ", is_route ? "route" : "upstream");
        words_print(out, words_of(entry, is_route ? "route" : "upstream"));
        (void)gw_buf_add(out, SPAN(" by "));
        words_print(out, words_of(entry, "actor"));
        (void)gw_buf_add(out, SPAN(": "));
        words_print(out, words_of(entry, "note"));
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_sum(const json_t *summary)
{
    struct gw_clock *clock = gw_clock_system();
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    (void)gw_buf_print(&out, "%lld unknown",
                       (long long)words_number(summary, "unknown")); /* small */
    if (words_number(summary, "unknown") > 0) {
        (void)gw_buf_add(&out, SPAN(", oldest "));
        words_print_age(&out, words_of(summary, "oldest_unknown_at"), clock->wall_ms(clock));
    }
    (void)gw_buf_print(&out, ", %lld in flight\n", (long long)words_number(summary, "in_flight"));
    print_paused(summary, &out);
    words_flush(&out);
    gw_buf_fini(&out);
}

static int run_sum(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = options_parse(&backlog_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    if (client.wants_json) /* one document: the list */
        return listing_run(&options, &client, &unknown);
    code = client_want(&client, "GET", "/v1/summary", span_of(NULL, 0), &reply);
    if (code != -1)
        return code;
    bool is_empty = words_number(reply.json, "unknown") == 0;
    print_sum(reply.json);
    client_forget(&reply);
    if (is_empty &&
        !options_has(&options, "--route")) /* else the list knows whether there is one */
        return EXIT_DONE;
    code = listing_run(&options, &client, &unknown);
    if (code == EXIT_DONE && !is_empty)
        (void)printf(
            "Stop sending: recibo pause ROUTE --note \"...\"    One of them: recibo backlog "
            "show ID\n");
    return code;
}

int command_backlog(int argc, char **argv)
{
    static const char *const words[] = {"list", "show", "settle"};
    if (argc < 2 || argv[1][0] == '-')
        return run_sum(argc, argv);
    if (strcmp(argv[1], "list") == 0)
        return run_list(argc - 1, argv + 1);
    if (strcmp(argv[1], "show") == 0)
        return run_show(argc - 1, argv + 1);
    if (strcmp(argv[1], "settle") == 0)
        return settle_run(argc - 1, argv + 1);
    const char *near = options_near(argv[1], words, GW_COUNT(words));
    (void)fprintf(stderr, "recibo: backlog has no \"%.64s\"%s%s; see recibo backlog --help\n",
                  argv[1], near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
    return EXIT_USAGE;
}
