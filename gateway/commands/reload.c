/* `recibo reload`: the running gateway reads its file anew, and says what came of it. It must
 * never call a reload done that was refused.
 *
 * Whoever flushes tells if the buffer failed. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define RELOAD_TEXT_BYTES ((size_t)8 << 20)

static const struct option_spec specs[] = {
    {"--accept-dropped-routes", NULL,
     "operations on record may lose their protection: their repeats are taken for new", false},
    {"--note", "TEXT", "why; it goes into the log with your name", false},
};

const struct command_help command_reload_help = {
    .synopsis = "recibo reload [--accept-dropped-routes] [--note TEXT]",
    .text =
        "Lets the running gateway read its configuration file anew. Requests under way end under\n"
        "the configuration that they began with, later ones begin with the new one; none is lost.\n"
        "It is taken up whole, or not at all: a file with an error changes nothing, and neither\n"
        "does one under which operations on record would lose their protection, unless that is\n"
        "accepted. What needs a restart is named and is as it was. SIGHUP does the same and tells\n"
        "the log alone; recibo diff says beforehand what a file would change.\n"
        "Exit: 0 taken up, 2 refused, and nothing has changed.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo reload\n"
                "  recibo reload --accept-dropped-routes --note \"the test route is gone\"\n",
};

static void print_value(const json_t *value, struct gw_buf *out)
{
    if (json_is_string(value))
        words_print(out, span_of(json_string_value(value), json_string_length(value)));
    else
        (void)gw_buf_add(out, SPAN("-"));
}

static void print_changes(const json_t *answer, const char *applies, const char *title,
                          struct gw_buf *out)
{
    const json_t *changes = json_object_get(answer, "changes");
    bool is_first = true;
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *change = json_array_get(changes, i);
        if (!span_equal(words_of(change, "applies"), span_str(applies)))
            continue;
        if (is_first)
            (void)gw_buf_print(out, "%s\n", title);
        is_first = false;
        (void)gw_buf_add(out, SPAN("  "));
        words_print(out, words_of(change, "key"));
        (void)gw_buf_add(out, SPAN(": "));
        print_value(json_object_get(change, "before"), out);
        (void)gw_buf_add(out, SPAN(" -> "));
        print_value(json_object_get(change, "after"), out);
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_drops(const json_t *answer, struct gw_buf *out)
{
    const json_t *drops = json_object_get(answer, "dropped");
    for (size_t i = 0; i < json_array_size(drops); i++) {
        const json_t *drop = json_array_get(drops, i);
        (void)gw_buf_print(out, "  %s%lld ", words_is_true(drop, "at_least") ? "at least " : "",
                           (long long)json_integer_value(json_object_get(drop, "count")));
        words_print(out, words_of(drop, "state"));
        (void)gw_buf_add(out, SPAN(" of route "));
        words_print(out, words_of(drop, "route"));
        (void)gw_buf_add(out, SPAN(": "));
        words_print(out, words_of(drop, "why"));
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_texts(const json_t *answer, const char *name, struct gw_buf *out)
{
    const json_t *texts = json_object_get(answer, name);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        (void)gw_buf_add(out, SPAN("  "));
        print_value(json_array_get(texts, i), out);
        (void)gw_buf_byte(out, '\n');
    }
}

static void print_done(const json_t *answer)
{
    struct gw_buf out;
    gw_buf_init(&out, RELOAD_TEXT_BYTES);
    (void)gw_buf_add(&out, SPAN("Reloaded, configuration "));
    words_print(&out, words_of(answer, "configuration"));
    (void)gw_buf_add(&out, SPAN(": "));
    words_print(&out, words_of(answer, "detail"));
    (void)gw_buf_add(&out, SPAN(".\n"));
    print_changes(answer, "now", "Counts now:", &out);
    print_changes(answer, "restart", "Needs a restart, and is as it was until then:", &out);
    if (json_array_size(json_object_get(answer, "dropped")) > 0)
        (void)gw_buf_add(&out, SPAN("Lost their protection:\n"));
    print_drops(answer, &out);
    if (json_array_size(json_object_get(answer, "warnings")) > 0)
        (void)gw_buf_add(&out, SPAN("Warnings:\n"));
    print_texts(answer, "warnings", &out);
    words_flush(&out);
    gw_buf_fini(&out);
}

/* Whose errors and routes the problem names, below what client_refused() says. */
static void print_refusal(const json_t *problem)
{
    struct gw_buf out;
    gw_buf_init(&out, RELOAD_TEXT_BYTES);
    print_texts(problem, "errors", &out);
    print_drops(problem, &out);
    struct span text = gw_buf_span(&out);
    (void)fprintf(stderr, "%.*s", (int)text.len, text.ptr == NULL ? "" : text.ptr);
    gw_buf_fini(&out);
}

static int ask(const struct options *options, struct admin_client *client)
{
    struct gw_buf body;
    struct admin_reply reply;
    const char *note = options_value(options, "--note");
    client->is_harmless = true; /* asked twice, it reads the same file twice */
    gw_buf_init(&body, 65536);
    (void)gw_buf_print(&body, "{\"accept_dropped_routes\":%s",
                       options_has(options, "--accept-dropped-routes") ? "true" : "false");
    if (note != NULL) {
        (void)gw_buf_add(&body, SPAN(",\"note\":"));
        gw_json_string(&body, span_str(note));
    }
    int code = !gw_buf_byte(&body, '}')
                   ? options_refuse(options, "the note is too long")
                   : client_ask(client, "POST", "/v1/reload", gw_buf_span(&body), &reply);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    if (reply.status != 200) {
        code = client_refused(client, &reply);
        if (!client->wants_json)
            print_refusal(reply.json);
    } else if (client->wants_json) {
        client_print_raw(&reply);
        code = EXIT_DONE;
    } else {
        print_done(reply.json);
        code = EXIT_DONE;
    }
    client_forget(&reply);
    return code;
}

int command_reload(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(&command_reload_help, argc, argv, &options);
    if (code != -1)
        return code;
    code = client_open(&options, &client);
    return code != -1 ? code : ask(&options, &client);
}
