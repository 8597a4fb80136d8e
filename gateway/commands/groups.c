/* `recibo backlog groups`: what is unknown, by what it has in common. It changes
 * nothing.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever flushes it
 * tells. */
#include "gateway/commands/groups.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"

#include "base/text.h"

#include <stdio.h>

#define GROUPS_TEXT_BYTES ((size_t)16 << 20)
#define GROWN_MOST        10000 /* the operator plane counts no further */

static const struct option_spec specs[] = {
    {"--route", "NAME", "only of this route", false},
};
const struct command_help backlog_groups_help = {
    .synopsis = "recibo backlog groups [OPTIONS]",
    .text = "Prints what is unknown in groups that look alike: by route, by how the last attempt\n"
            "ended, and by the status that came. The largest comes first. The numbers are those\n"
            "of this moment: look again before you use one. Times are in UTC.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo backlog groups\n"
                "  recibo backlog list --group 1\n"
                "  recibo backlog probe --group 1 --rate 20/s\n",
};

int groups_fetch(const struct admin_client *client, struct admin_reply *ret_reply)
{
    return client_want(client, "GET", "/v1/backlog/groups", span_of(NULL, 0), ret_reply);
}

int groups_find(const struct options *options, const struct admin_client *client,
                json_t **ret_group)
{
    const char *text = options_value(options, "--group");
    uint64_t number;
    struct admin_reply reply;
    if (!gw_parse_u64(span_str(text), &number) || number == 0 || number > INT32_MAX)
        return options_refuse(options, "--group is a number, as recibo backlog prints them");
    int code = groups_fetch(client, &reply);
    if (code != -1)
        return code;
    json_t *list = json_object_get(reply.json, "groups"), *found = NULL;
    for (size_t i = 0; i < json_array_size(list) && found == NULL; i++)
        if (words_number(json_array_get(list, i), "number") == (int64_t)number)
            found = json_array_get(list, i);
    if (found != NULL)
        *ret_group = json_incref(found);
    else
        (void)fprintf(stderr,
                      "recibo: there is no group %llu now, there are %zu; recibo backlog groups "
                      "lists them\n",
                      (unsigned long long)number, json_array_size(list)); /* nowhere else */
    client_forget(&reply);
    return found == NULL ? EXIT_NOT_FOUND : -1;
}

void groups_print_query(const json_t *group, struct gw_buf *path)
{
    (void)gw_buf_add(path, SPAN("&route="));
    client_escape(path, words_of(group, "route"));
    if (words_of(group, "end").len > 0) {
        (void)gw_buf_add(path, SPAN("&end="));
        client_escape(path, words_of(group, "end"));
    }
    if (json_is_integer(json_object_get(group, "status")))
        (void)gw_buf_print(path, "&status=%lld", (long long)words_number(group, "status"));
    else
        (void)gw_buf_add(path, SPAN("&status=none"));
}

void groups_print_name(const json_t *group, struct gw_buf *out)
{
    words_print(out, words_of(group, "route"));
    (void)gw_buf_add(out, SPAN(", "));
    words_print(out, words_of(group, "end"));
    if (json_is_integer(json_object_get(group, "status")))
        (void)gw_buf_print(out, ", status %lld, ", (long long)words_number(group, "status"));
    else
        (void)gw_buf_add(out, SPAN(", no answer, "));
    words_print_count(out, words_number(group, "count"));
    (void)gw_buf_add(out, SPAN(" of them"));
}

/* ---- the table ---- */

/* "12 executed, 3 absent, 40 not asked" */
static void print_probes(struct gw_buf *out, const json_t *probes)
{
    static const struct {
        const char *name, *word;
    } results[] = {{"executed", "executed"},
                   {"absent", "absent"},
                   {"unclear", "unclear"},
                   {"failed", "failed"},
                   {"none", "not asked"}};
    const char *between = "";
    for (size_t i = 0; i < GW_COUNT(results); i++) {
        int64_t count = words_number(probes, results[i].name);
        if (count == 0)
            continue;
        (void)gw_buf_print(out, "%s", between);
        words_print_count(out, count);
        (void)gw_buf_print(out, " %s", results[i].word);
        between = ", ";
    }
}

static void print_grown(struct gw_buf *out, int64_t grown)
{
    words_print_count(out, grown);
    if (grown >= GROWN_MOST)
        (void)gw_buf_byte(out, '+');
}

enum group_cell {
    CELL_NUMBER,
    CELL_STATUS,
    CELL_COUNT,
    CELL_FIRST,
    CELL_LAST,
    CELL_GROWN,
    CELL_ASKED,
    CELL_CLAIMED,
    CELL_PROBES,
    CELLS
};

static bool add_group(struct table *table, const json_t *group, int64_t now_ms)
{
    struct gw_buf texts[CELLS];
    for (size_t i = 0; i < CELLS; i++)
        gw_buf_init(&texts[i], 1024);
    (void)gw_buf_print(&texts[CELL_NUMBER], "%lld", (long long)words_number(group, "number"));
    if (json_is_integer(json_object_get(group, "status")))
        (void)gw_buf_print(&texts[CELL_STATUS], "%lld", (long long)words_number(group, "status"));
    words_print_count(&texts[CELL_COUNT], words_number(group, "count"));
    words_print_moment(&texts[CELL_FIRST], words_of(group, "first_at"), now_ms);
    words_print_moment(&texts[CELL_LAST], words_of(group, "last_at"), now_ms);
    print_grown(&texts[CELL_GROWN], words_number(group, "grown_last_hour"));
    words_print_count(&texts[CELL_ASKED], words_number(group, "clients_waiting"));
    words_print_count(&texts[CELL_CLAIMED], words_number(group, "claimed"));
    print_probes(&texts[CELL_PROBES], json_object_get(group, "probes"));
    const struct span cells[] = {
        gw_buf_span(&texts[CELL_NUMBER]), words_of(group, "route"),
        words_of(group, "end"),           gw_buf_span(&texts[CELL_STATUS]),
        gw_buf_span(&texts[CELL_COUNT]),  gw_buf_span(&texts[CELL_FIRST]),
        gw_buf_span(&texts[CELL_LAST]),   gw_buf_span(&texts[CELL_GROWN]),
        gw_buf_span(&texts[CELL_ASKED]),  gw_buf_span(&texts[CELL_CLAIMED]),
        gw_buf_span(&texts[CELL_PROBES])};
    bool ok = table_add(table, cells);
    for (size_t i = 0; i < CELLS; i++)
        gw_buf_fini(&texts[i]);
    return ok;
}

bool groups_print_table(const json_t *groups, const char *route, struct gw_buf *out)
{
    static const char *const headers[] = {">#",           "ROUTE",  "HOW IT ENDED", ">STATUS",
                                          ">COUNT",       "FIRST",  "LAST",         ">LAST HOUR",
                                          ">ASKED AGAIN", ">ON IT", "PROBES"};
    struct gw_clock *clock = gw_clock_system();
    const json_t *list = json_object_get(groups, "groups");
    struct arena *arena = arena_new(GROUPS_TEXT_BYTES);
    struct table *table = arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers));
    uint32_t rows = 0;
    for (size_t i = 0; table != NULL && i < json_array_size(list); i++) {
        const json_t *group = json_array_get(list, i);
        bool is_meant = route == NULL || span_equal(words_of(group, "route"), span_str(route));
        if (is_meant && add_group(table, group, clock->wall_ms(clock)))
            rows++;
    }
    if (rows > 0)
        table_print(table, out);
    arena_free(arena);
    return rows > 0;
}

/* ---- the command ---- */

static int print(const struct options *options, const struct admin_client *client,
                 const json_t *groups)
{
    const char *route = options_value(options, "--route");
    struct gw_buf out;
    gw_buf_init(&out, GROUPS_TEXT_BYTES);
    int code = -1;
    if (!groups_print_table(groups, route, &out)) {
        code = listing_check_route(options, client);
        if (code == -1)
            (void)gw_buf_print(&out, "%s\n",
                               route == NULL ? "Nothing is unknown."
                                             : "Nothing is unknown on this route.");
    }
    words_flush(&out);
    gw_buf_fini(&out);
    return code == -1 ? EXIT_DONE : code;
}

int backlog_groups(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = options_parse(&backlog_groups_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code == -1)
        code = groups_fetch(&client, &reply);
    if (code != -1)
        return code;
    if (client.wants_json) {
        client_print_raw(&reply);
        code = EXIT_DONE;
    } else {
        code = print(&options, &client, reply.json);
    }
    client_forget(&reply);
    return code;
}
