/* `recibo report`: what the routes in observe mode saw, and what enforce would have
 * made of it. It reads, and changes nothing. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define REPORT_PATH_BYTES 4096
#define REPORT_TEXT_BYTES ((size_t)16 << 20)

static const struct option_spec specs[] = {
    {"--route", "NAME", "this route alone", false},
    {"--since", "TIME", "what came since then (RFC 3339), or in the last 24h, 7d ...", false},
    {"--yaml", NULL, "print the suggested lines of configuration alone", false},
};

const struct command_help command_report_help = {
    .synopsis = "recibo report [OPTIONS]",
    .text =
        "Sums up what the routes in observe mode saw: which requests enforce would have replayed,\n"
        "refused or held as unknown, what was carried out twice and when, which members change\n"
        "between repeats, how slow and how large answers are; and the lines of configuration that\n"
        "follow from it.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo report --since 24h\n"
                "  recibo report --yaml --route create-order\n",
};

/* Ignored results from here on: whoever flushes tells if the buffer failed. */

static void line(struct gw_buf *out, const char *what, int64_t count, const char *means)
{
    if (count > 0)
        (void)gw_buf_print(out, "  %-30s %8lld  %s\n", what, (long long)count, means);
}

static void print_counted(struct gw_buf *out, const json_t *list, const char *member)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        (void)gw_buf_print(out, "    %8lld  ", (long long)words_number(item, "count"));
        words_print(out, words_of(item, member));
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_statuses(struct gw_buf *out, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        (void)gw_buf_print(out, "    %8lld  ", (long long)words_number(item, "count"));
        if (words_of(item, "end").len == 0)
            (void)gw_buf_add(out, SPAN("the caller left"));
        words_print(out, words_of(item, "end"));
        if (json_is_integer(json_object_get(item, "status")))
            (void)gw_buf_print(out, " %lld", (long long)words_number(item, "status"));
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_status(struct gw_buf *out, const json_t *twice, const char *name)
{
    if (json_is_integer(json_object_get(twice, name)))
        (void)gw_buf_print(out, " (%lld)", (long long)words_number(twice, name));
    else
        (void)gw_buf_add(out, SPAN(" (no answer)"));
}

static void print_twice(struct gw_buf *out, const json_t *ran)
{
    const json_t *examples = json_object_get(ran, "examples");
    line(out, "ran twice", words_number(ran, "count"),
         "the same key and content, and no answer was a refusal");
    line(out, "perhaps ran twice", words_number(ran, "perhaps"),
         "the same, but one of them had no whole answer");
    for (size_t i = 0; i < json_array_size(examples); i++) {
        const json_t *twice = json_array_get(examples, i);
        (void)gw_buf_add(out, SPAN("    "));
        words_print(out, words_of(twice, "method"));
        (void)gw_buf_byte(out, ' ');
        words_print(out, words_of(twice, "target"));
        (void)gw_buf_add(out, SPAN("  "));
        words_print(out, words_of(twice, "first_at"));
        print_status(out, twice, "first_status");
        (void)gw_buf_add(out, SPAN(", again "));
        words_print(out, words_of(twice, "again_at"));
        print_status(out, twice, "again_status");
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_fate(struct gw_buf *out, const json_t *route)
{
    const json_t *refused = json_object_get(route, "would_refuse");
    const json_t *mismatch = json_object_get(route, "would_mismatch");
    const json_t *unknown = json_object_get(route, "would_be_unknown");
    line(out, "would be sent", words_number(route, "would_send"), "first use of their key");
    line(out, "would be replayed", words_number(route, "would_replay"),
         "repeats, answered from the record");
    line(out, "would be pending", words_number(route, "would_be_pending"),
         "repeats while the first was under way");
    line(out, "would be refused as changed", words_number(mismatch, "count"),
         "the key was used for another request; what differed:");
    print_counted(out, json_object_get(mismatch, "changed"), "member");
    line(out, "would be told unknown", words_number(route, "would_hold"),
         "repeats of an operation whose outcome is unknown");
    line(out, "would miss their answer", words_number(route, "would_miss_answer"),
         "repeats of an answer over replay_body_max");
    line(out, "would be told expired", words_number(route, "would_be_expired"),
         "repeats after retention");
    line(out, "would be unknown", words_number(unknown, "count"), "and wait for a person:");
    print_statuses(out, json_object_get(unknown, "by"));
    line(out, "would be refused", words_number(refused, "count"), "the request itself:");
    print_counted(out, json_object_get(refused, "reasons"), "reason");
    line(out, "would pass unprotected", words_number(route, "without_key"), "without a key");
}

static void print_route(struct gw_buf *out, const json_t *route)
{
    words_print(out, words_of(route, "route"));
    (void)gw_buf_print(out, "   %lld exchanges", (long long)words_number(route, "exchanges"));
    if (words_of(route, "first_at").len > 0) {
        (void)gw_buf_add(out, SPAN(" from "));
        words_print(out, words_of(route, "first_at"));
        (void)gw_buf_add(out, SPAN(" to "));
        words_print(out, words_of(route, "last_at"));
    }
    (void)gw_buf_print(out, ", %lld lost since the start%s\n",
                       (long long)words_number(route, "lost"),
                       words_of(route, "mode").len == 0 ? "; no longer configured" : "");
    if (words_number(route, "exchanges") == 0)
        return;
    line(out, "keys", words_number(route, "keys"), "different ones");
    line(out, "keys that came again", words_number(route, "repeated_keys"), "");
    print_fate(out, route);
    print_twice(out, json_object_get(route, "ran_twice"));
    line(out, "callers who left", words_number(route, "callers_left"),
         "before their answer was whole");
    (void)gw_buf_add(out, SPAN("  answers\n"));
    print_statuses(out, json_object_get(route, "answers"));
    (void)gw_buf_print(out,
                       "  slowest answer %lld ms, 99%% within %lld ms\n"
                       "  largest request %lld bytes, largest answer %lld bytes\n",
                       (long long)words_number(route, "slowest_answer_ms"),
                       (long long)words_number(route, "p99_answer_ms"),
                       (long long)words_number(route, "largest_request_bytes"),
                       (long long)words_number(route, "largest_answer_bytes"));
    if (words_is_true(route, "cut"))
        (void)gw_buf_add(out, SPAN("  There was more of some kind than is counted: what is above "
                                   "is a part of it.\n"));
}

/* Its lines are our own; what came from outside in them is quoted as JSON. */
static void print_suggestion(struct gw_buf *out, struct span text)
{
    size_t start = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] != '\n')
            continue;
        words_print(out, span_of(text.ptr + start, i - start));
        (void)gw_buf_byte(out, '\n');
        start = i + 1;
    }
}

/* What there is to say where nothing was seen; `route`: the only one asked for, or NULL. */
static void print_nothing(struct gw_buf *out, const char *route)
{
    if (route == NULL) {
        (void)gw_buf_add(out, SPAN("No route observes, and nothing was observed. Give a route "
                                   "\"mode: observe\".\n"));
        return;
    }
    (void)gw_buf_add(out, SPAN("The route "));
    words_print(out, span_str(route));
    (void)gw_buf_add(out, SPAN(" does not observe, and nothing of it was observed. Give it "
                               "\"mode: observe\".\n"));
}

static void print_report(struct gw_buf *out, const json_t *report, const char *route)
{
    const json_t *routes = json_object_get(report, "routes");
    struct span suggestion = words_of(report, "suggestion");
    if (json_array_size(routes) == 0)
        print_nothing(out, route);
    for (size_t i = 0; i < json_array_size(routes); i++) {
        print_route(out, json_array_get(routes, i));
        (void)gw_buf_byte(out, '\n');
    }
    if (words_number(report, "unreadable") > 0)
        (void)gw_buf_print(out,
                           "%lld requests since the start were refused in every mode, since they "
                           "are no well-formed HTTP.\n\n",
                           (long long)words_number(report, "unreadable"));
    if (suggestion.len > 0)
        (void)gw_buf_add(out, SPAN("Suggested configuration:\n\n"));
    print_suggestion(out, suggestion);
}

/* ---- the command line ---- */

static void add_parameter(struct gw_buf *path, const char *name, const char *value)
{
    if (value == NULL)
        return;
    char before = memchr(path->ptr, '?', path->len) == NULL ? '?' : '&';
    (void)gw_buf_print(path, "%c%s=", before, name); /* asked once at the end */
    client_escape(path, span_str(value));
}

static void tell(const struct options *options, const struct admin_client *client,
                 const struct admin_reply *reply)
{
    struct gw_buf out;
    gw_buf_init(&out, REPORT_TEXT_BYTES);
    if (options_has(options, "--yaml"))
        print_suggestion(&out, words_of(reply->json, "suggestion"));
    else if (client->wants_json)
        client_print_raw(reply);
    else
        print_report(&out, reply->json, options_value(options, "--route"));
    words_flush(&out);
    gw_buf_fini(&out);
}

int command_report(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    struct gw_buf path;
    int code = options_parse(&command_report_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    gw_buf_init(&path, REPORT_PATH_BYTES);
    (void)gw_buf_add(&path, SPAN("/v1/report")); /* asked once at the end */
    add_parameter(&path, "route", options_value(&options, "--route"));
    add_parameter(&path, "since", options_value(&options, "--since"));
    if (path.failed || !gw_buf_byte(&path, '\0'))
        code = options_refuse(&options, "the options are too long");
    else
        code = client_want(&client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    tell(&options, &client, &reply);
    client_forget(&reply);
    return EXIT_DONE;
}
