/* `recibo diff`: two files side by side, first what is dropped, then promises, then values. It
 * must never read a store, nor start or connect to anything.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the command looks
 * at that once. */
#include "gateway/commands/diff.h"

#include <stdio.h>
#include <string.h>

#include "conf/changes.h"
#include "gateway/admin/json_writer.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"
#include "gateway/commands/words.h"

#define DIFF_BYTES_MAX ((size_t)256 << 20)

static const struct option_spec specs[] = {
    {"--json", NULL, "print {\"dropped\", \"routes\", \"changes\"} instead", false},
};
const struct command_help command_diff_help = {
    .synopsis = "recibo diff -c NEW [OLD] [--json]",
    .text =
        "Says what the file NEW would change against OLD (default recibo.yaml): which protection\n"
        "is dropped and where repeats would be led, each route's promise before (-) and after "
        "(+),\n"
        "and each value that differs, with what needs a restart. Nothing is started or asked; "
        "what\n"
        "is on record is looked at by recibo reload.\n"
        "Exit: 0 no protection is dropped, 1 some is, 2 a file is not valid.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
    .words = "OLD",
    .examples = "  recibo diff -c new.yaml\n"
                "  recibo diff -c new.yaml /etc/recibo/recibo.yaml --json\n",
    .set = OPTIONS_FILE,
};

struct diff {
    struct arena *arena;
    struct conf *before, *after;
    struct diff_route *routes;
    uint32_t route_count, dropped_count, changed_count;
    struct conf_changes changes;
};

static bool look_at_route(struct diff *diff, struct span name)
{
    struct diff_route *route = &diff->routes[diff->route_count++];
    route->name = name;
    if (!diff_route_look(diff->arena, diff->before, diff->after, route))
        return false;
    diff->dropped_count += route->dropped.len > 0;
    diff->changed_count += diff_route_is_changed(route);
    return true;
}

static bool look(struct diff *diff)
{
    const struct route_table *old = &diff->before->routes, *new = &diff->after->routes;
    diff->routes = arena_take(diff->arena, (old->count + new->count + 1) * sizeof(*diff->routes));
    if (diff->routes == NULL ||
        !conf_compare(diff->arena, diff->before, diff->after, &diff->changes))
        return false;
    for (uint32_t i = 0; i < old->count; i++)
        if (!look_at_route(diff, old->routes[i].name))
            return false;
    for (uint32_t i = 0; i < new->count; i++)
        if (route_by_name(old, new->routes[i].name) == NULL &&
            !look_at_route(diff, new->routes[i].name))
            return false;
    return true;
}

/* ---- for people ---- */

static void print_head(const struct diff *diff, struct gw_buf *out)
{
    words_print(out, diff->before->file);
    (void)gw_buf_add(out, SPAN(" -> "));
    words_print(out, diff->after->file);
    if (diff->changes.count == 0 && diff->changed_count == 0) {
        (void)gw_buf_add(out, SPAN(": no value differs.\n"));
        return;
    }
    (void)gw_buf_print(out,
                       ": %u route%s with another promise, %u that drop%s protection, %u "
                       "value%s that differ%s",
                       diff->changed_count, diff->changed_count == 1 ? "" : "s",
                       diff->dropped_count, diff->dropped_count == 1 ? "s" : "",
                       diff->changes.count, diff->changes.count == 1 ? "" : "s",
                       diff->changes.count == 1 ? "s" : "");
    if (diff->changes.restart_count > 0)
        (void)gw_buf_print(out, ", %u of them only after a restart", diff->changes.restart_count);
    (void)gw_buf_add(out, SPAN(".\n"));
}

static void print_dropped(const struct diff *diff, struct gw_buf *out)
{
    if (diff->dropped_count == 0)
        return;
    (void)gw_buf_add(out, SPAN("\nPROTECTION IS DROPPED. Repeats of what is on record are not "
                               "recognised any more:\n"));
    for (uint32_t i = 0; i < diff->route_count; i++) {
        const struct diff_route *route = &diff->routes[i];
        if (route->dropped.len == 0)
            continue;
        (void)gw_buf_add(out, SPAN("  "));
        words_print(out, route->name);
        (void)gw_buf_add(out, SPAN(": "));
        words_print(out, route->dropped);
        (void)gw_buf_add(out, SPAN(".\n"));
    }
    (void)gw_buf_add(out, SPAN("A reload is refused as long as there is something on record; "
                               "recibo reload --accept-dropped-routes takes it.\n"));
}

static void print_lines(const struct diff_lines *lines, char mark, struct gw_buf *out)
{
    for (uint32_t i = 0; i < lines->count; i++) {
        (void)gw_buf_print(out, "%c ", mark);
        words_print(out, lines->items[i]);
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_routes(const struct diff *diff, struct gw_buf *out)
{
    for (uint32_t i = 0; i < diff->route_count; i++) {
        const struct diff_route *route = &diff->routes[i];
        if (!diff_route_is_changed(route))
            continue;
        (void)gw_buf_byte(out, '\n');
        words_print(out, route->name);
        (void)gw_buf_add(out, route->before == NULL  ? SPAN(" is new:\n")
                              : route->after == NULL ? SPAN(" is gone:\n")
                                                     : SPAN(" promises something else:\n"));
        print_lines(&route->gone, '-', out);
        print_lines(&route->come, '+', out);
    }
}

static void print_value(const struct conf_change *change, struct span value, struct gw_buf *out)
{
    if (value.ptr == NULL)
        (void)gw_buf_add(out, SPAN("(none)"));
    else if (change->is_secret)
        (void)gw_buf_add(out, SPAN("(not shown)"));
    else
        words_print(out, value);
}

/* Of a route that is new or gone: its promise has said it all. */
static bool is_of_one_side(const struct diff *diff, struct span path)
{
    static const char mark[] = "routes[";
    const size_t mark_len = sizeof(mark) - 1;
    for (uint32_t i = 0; i < diff->route_count; i++) {
        const struct diff_route *route = &diff->routes[i];
        bool is_both = route->before != NULL && route->after != NULL;
        if (!is_both && path.len > mark_len + route->name.len &&
            memcmp(path.ptr, mark, mark_len) == 0 &&
            memcmp(path.ptr + mark_len, route->name.ptr, route->name.len) == 0 &&
            path.ptr[mark_len + route->name.len] == ']')
            return true;
    }
    return false;
}

static void print_values(const struct diff *diff, struct gw_buf *out)
{
    bool is_first = true;
    for (uint32_t i = 0; i < diff->changes.count; i++) {
        const struct conf_change *change = &diff->changes.items[i];
        if (is_of_one_side(diff, change->path))
            continue;
        if (is_first)
            (void)gw_buf_add(out, SPAN("\nValues:\n"));
        is_first = false;
        (void)gw_buf_add(out, SPAN("  "));
        words_print(out, change->path);
        (void)gw_buf_add(out, SPAN(": "));
        print_value(change, change->before, out);
        (void)gw_buf_add(out, SPAN(" -> "));
        print_value(change, change->after, out);
        if (change->line > 0)
            (void)gw_buf_print(out, "  (line %u)", change->line);
        (void)gw_buf_add(out, change->needs_restart ? SPAN("  needs a restart\n") : SPAN("\n"));
    }
}

/* ---- for programs ---- */

static void write_lines(struct json_writer *json, const char *name, const struct diff_lines *lines)
{
    writer_open(json, name, '[');
    for (uint32_t i = 0; i < lines->count; i++)
        writer_text(json, NULL, lines->items[i]);
    writer_close(json, ']');
}

static void write_value(struct json_writer *json, const char *name,
                        const struct conf_change *change, struct span value)
{
    if (value.ptr == NULL || change->is_secret)
        writer_null(json, name);
    else
        writer_text(json, name, value);
}

static void write_routes(const struct diff *diff, struct json_writer *json)
{
    writer_open(json, "dropped", '[');
    for (uint32_t i = 0; i < diff->route_count; i++) {
        if (diff->routes[i].dropped.len == 0)
            continue;
        writer_open(json, NULL, '{');
        writer_text(json, "route", diff->routes[i].name);
        writer_text(json, "why", diff->routes[i].dropped);
        writer_close(json, '}');
    }
    writer_close(json, ']');
    writer_open(json, "routes", '[');
    for (uint32_t i = 0; i < diff->route_count; i++) {
        const struct diff_route *route = &diff->routes[i];
        if (!diff_route_is_changed(route))
            continue;
        writer_open(json, NULL, '{');
        writer_text(json, "route", route->name);
        writer_text(json, "change",
                    route->before == NULL  ? SPAN("new")
                    : route->after == NULL ? SPAN("gone")
                                           : SPAN("changed"));
        write_lines(json, "before", &route->gone);
        write_lines(json, "after", &route->come);
        writer_close(json, '}');
    }
    writer_close(json, ']');
}

static void write_json(const struct diff *diff, struct gw_buf *out)
{
    struct json_writer json = {.out = out};
    writer_open(&json, NULL, '{');
    writer_text(&json, "before", diff->before->file);
    writer_text(&json, "after", diff->after->file);
    write_routes(diff, &json);
    writer_open(&json, "changes", '[');
    for (uint32_t i = 0; i < diff->changes.count; i++) {
        const struct conf_change *change = &diff->changes.items[i];
        writer_open(&json, NULL, '{');
        writer_text(&json, "key", change->path);
        write_value(&json, "before", change, change->before);
        write_value(&json, "after", change, change->after);
        writer_number(&json, "line", change->line);
        writer_text(&json, "applies", change->needs_restart ? SPAN("restart") : SPAN("now"));
        writer_close(&json, '}');
    }
    writer_close(&json, ']');
    writer_close(&json, '}');
    (void)gw_buf_byte(out, '\n');
}

static int print(const struct diff *diff, bool as_json)
{
    struct gw_buf out;
    gw_buf_init(&out, COMMAND_TEXT_MAX);
    if (as_json) {
        write_json(diff, &out);
    } else {
        print_head(diff, &out);
        print_dropped(diff, &out);
        print_routes(diff, &out);
        print_values(diff, &out);
    }
    int code = command_finish(&out);
    return code == EXIT_DONE && diff->dropped_count > 0 ? EXIT_FAILED : code;
}

int command_diff(int argc, char **argv)
{
    struct options options;
    struct diff diff = {.arena = NULL};
    int code = options_parse(&command_diff_help, argc, argv, &options);
    if (code != -1)
        return code;
    const char *old = options.word_count > 0 ? options.words[0] : COMMAND_CONF_DEFAULT;
    if (!options_has(&options, "-c"))
        return options_refuse(&options, "-c is missing: name the new file");
    if (!command_load(old, false, &diff.before))
        return EXIT_USAGE;
    code = EXIT_USAGE;
    if (command_load(command_file(&options), true, &diff.after)) {
        diff.arena = arena_new(DIFF_BYTES_MAX);
        if (diff.arena != NULL && look(&diff)) {
            code = print(&diff, options_has(&options, "--json"));
        } else {
            (void)fprintf(stderr, "recibo diff: there is not enough memory\n");
            code = EXIT_FAILED;
        }
    }
    arena_free(diff.arena);
    conf_unref(diff.after);
    conf_unref(diff.before);
    return code;
}
