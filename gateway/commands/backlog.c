/* `recibo backlog`: what is unknown, in groups and one by one. It changes nothing;
 * its parts that do have files of their own. */
#include "gateway/commands/commands.h"
#include "gateway/commands/groups.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/show.h"
#include "gateway/commands/stops.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define BACKLOG_TEXT_BYTES ((size_t)32 << 20)
#define NEWEST             "10" /* that the overview shows one by one */

static const struct option_spec list_specs[] = {LISTING_GROUP, LISTING_OPTIONS};

const struct command_help command_backlog_help = {
    .synopsis = "recibo backlog [OPTIONS]\nrecibo backlog WORD ...",
    .text = "What may have run and whose answer was lost. Without a word: what is paused, the\n"
            "groups, and the newest one by one; with a filter the list.\n",
    .options = list_specs,
    .option_count = GW_COUNT(list_specs),
    .examples = "  recibo backlog\n"
                "  recibo backlog --route create-order --older-than 15m\n"
                "  recibo backlog list --group 1 --unclaimed\n",
    .group = "backlog",
};
const struct command_help backlog_list_help = {
    .synopsis = "recibo backlog list [OPTIONS]",
    .text =
        "Lists what is unknown, the oldest first. With --json and --all it prints one document\n"
        "a page.\n",
    .options = list_specs,
    .option_count = GW_COUNT(list_specs),
    .examples = "  recibo backlog list --route create-order --end answer_timeout\n"
                "  recibo backlog list --label order=4711\n"
                "  recibo backlog list --probe absent --unclaimed --all --json\n",
};
const struct command_help backlog_show_help = {
    .synopsis = "recibo backlog show ID",
    .text =
        "Shows one operation: evidence, labels, what a repeat gets now and under each verdict,\n"
        "and the commands to type next. Headers and bodies need the right `evidence`.\n",
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo backlog show op_01h455vb4pex5vsknk084sn02q\n",
};

static const struct listing unknown = {.state = "unknown", .oldest_first = true};

int backlog_list(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(&backlog_list_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    return code != -1 ? code : listing_run(&options, &client, &unknown);
}

int backlog_show(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    struct gw_buf path, out;
    int code = options_parse(&backlog_show_help, argc, argv, &options);
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
    gw_buf_init(&out, BACKLOG_TEXT_BYTES);
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

/* ---- the overview ---- */

static void print_sum(const json_t *summary, const json_t *groups, struct gw_buf *out)
{
    struct gw_clock *clock = gw_clock_system();
    const json_t *list = json_object_get(groups, "groups");
    int64_t grown = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        grown += words_number(json_array_get(list, i), "grown_last_hour");
    words_print_count(out, words_number(summary, "unknown"));
    (void)gw_buf_add(out, SPAN(" unknown")); /* whoever flushes tells if it failed */
    if (words_number(summary, "unknown") > 0) {
        (void)gw_buf_add(out, SPAN(", oldest "));
        words_print_age(out, words_of(summary, "oldest_unknown_at"), clock->wall_ms(clock));
    }
    if (json_array_size(list) > 0) {
        (void)gw_buf_print(out, ", in %zu group%s, ", json_array_size(list),
                           json_array_size(list) == 1 ? "" : "s");
        words_print_count(out, grown);
        (void)gw_buf_add(out, SPAN(" more in the last hour"));
    }
    (void)gw_buf_add(out, SPAN(", "));
    words_print_count(out, words_number(summary, "in_flight"));
    (void)gw_buf_add(out, SPAN(" in flight\n"));
}

/* What the overview is made of; has: how many answers came. */
struct overview {
    struct admin_reply summary, routes, groups;
    uint32_t has;
};

static void forget(struct overview *overview)
{
    struct admin_reply *const replies[] = {&overview->summary, &overview->routes,
                                           &overview->groups};
    for (uint32_t i = 0; i < overview->has; i++)
        client_forget(replies[i]);
}

static int fetch(const struct admin_client *client, struct overview *ret)
{
    static const char *const paths[] = {"/v1/summary", "/v1/routes", "/v1/backlog/groups"};
    struct admin_reply *const replies[] = {&ret->summary, &ret->routes, &ret->groups};
    *ret = (struct overview){0};
    for (uint32_t i = 0; i < GW_COUNT(paths); i++) {
        int code = client_want(client, "GET", paths[i], span_of(NULL, 0), replies[i]);
        if (code != -1) {
            forget(ret);
            return code;
        }
        ret->has++;
    }
    return -1;
}

/* With --json: one document for all of it. */
static int print_json(const struct admin_client *client, const struct overview *overview)
{
    struct admin_reply newest;
    int code = client_want(client, "GET", "/v1/operations?state=unknown&limit=" NEWEST,
                           span_of(NULL, 0), &newest);
    if (code != -1)
        return code;
    const struct {
        const char *name;
        const struct admin_reply *reply;
    } parts[] = {{"{\"summary\":", &overview->summary},
                 {",\"routes\":", &overview->routes},
                 {",\"groups\":", &overview->groups},
                 {",\"newest\":", &newest}};
    for (size_t i = 0; i < GW_COUNT(parts); i++) {
        struct span text = gw_buf_span(&parts[i].reply->body);
        while (text.len > 0 && text.ptr[text.len - 1] == '\n')
            text.len--;
        (void)printf("%s", parts[i].name); /* whoever ends the program looks at stdout */
        (void)fwrite(text.ptr, 1, text.len, stdout);
    }
    (void)printf("}\n");
    client_forget(&newest);
    return EXIT_DONE;
}

static int run_overview(const struct options *options, const struct admin_client *client)
{
    const struct listing newest = {.state = "unknown", .excerpt = NEWEST};
    struct overview overview;
    struct gw_buf out;
    int code = fetch(client, &overview);
    if (code != -1)
        return code;
    code = EXIT_DONE;
    bool is_empty = words_number(overview.summary.json, "unknown") == 0;
    gw_buf_init(&out, BACKLOG_TEXT_BYTES);
    if (client->wants_json) {
        code = print_json(client, &overview);
    } else {
        print_sum(overview.summary.json, overview.groups.json, &out);
        stops_print(overview.routes.json, &out);
        if (!is_empty)
            (void)groups_print_table(overview.groups.json, NULL, &out); /* unknowns have groups */
        words_flush(&out);
        if (!is_empty) {
            (void)printf("\nthe newest\n"); /* whoever ends the program looks at stdout */
            code = listing_run(options, client, &newest);
        }
        if (code == EXIT_DONE && !is_empty)
            (void)printf("\nStop sending: recibo pause ROUTE --note \"...\"\n"
                         "One group: recibo backlog list --group 1    "
                         "One of them: recibo backlog show ID\n");
    }
    gw_buf_fini(&out);
    forget(&overview);
    return code;
}

/* With filters: the sum of all, and the list of what fits. */
static int run_filtered(const struct options *options, const struct admin_client *client)
{
    struct overview overview;
    struct gw_buf out;
    if (client->wants_json)
        return listing_run(options, client, &unknown);
    int code = fetch(client, &overview);
    if (code != -1)
        return code;
    gw_buf_init(&out, BACKLOG_TEXT_BYTES);
    print_sum(overview.summary.json, overview.groups.json, &out);
    stops_print(overview.routes.json, &out);
    words_flush(&out);
    gw_buf_fini(&out);
    forget(&overview);
    return listing_run(options, client, &unknown);
}

int command_backlog(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    if (argc >= 2 && argv[1][0] != '-') {
        const struct command *part = command_find("backlog", argv[1]);
        return part == NULL ? command_refuse("backlog", argv[1]) : part->run(argc - 1, argv + 1);
    }
    int code = options_parse(&command_backlog_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    bool is_paged = options_has(&options, "--limit") || options_has(&options, "--all");
    return listing_is_filtered(&options) || is_paged ? run_filtered(&options, &client)
                                                     : run_overview(&options, &client);
}
