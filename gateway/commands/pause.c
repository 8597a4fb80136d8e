/* `recibo pause` and `recibo resume`: stop sending on a route or to an upstream, and
 * start again. It touches nothing that is in flight. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#define CHANGE_TEXT_BYTES ((size_t)1 << 20)

static const struct option_spec specs[] = {
    {"--upstream", "NAME", "every route of this upstream, instead of one route", false},
    {"--note", "TEXT", "why; it goes on record with your name", false},
};

const struct command_help command_pause_help = {
    .synopsis = "recibo pause ROUTE --note TEXT\nrecibo pause --upstream NAME --note TEXT",
    .text = "Sends no new operation of this route. Callers get 503 route-paused, and their keys\n"
            "stay unspent; repeats are answered and replays go on. It survives a restart. Routes\n"
            "that guard nothing are not held.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
    .words = "ROUTE",
    .examples = "  recibo pause create-order --note \"API times out, ticket 4711\"\n"
                "  recibo pause --upstream legacy --note \"maintenance until 04:00\"\n",
};

const struct command_help command_resume_help = {
    .synopsis = "recibo resume ROUTE --note TEXT\nrecibo resume --upstream NAME --note TEXT",
    .text =
        "Takes a pause back, and says what still holds the route: its breaker, or the pause of\n"
        "its upstream.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
    .words = "ROUTE",
    .examples = "  recibo resume create-order --note \"API is back\"\n"
                "  recibo resume --upstream legacy --note \"maintenance is over\"\n",
};

/* "breaker:orders" in words, and what to do. */
static void print_hold(struct span hold, struct gw_buf *out)
{
    const char *colon = memchr(hold.ptr, ':', hold.len);
    struct span kind = span_of(hold.ptr, colon == NULL ? hold.len : (size_t)(colon - hold.ptr));
    struct span name = colon == NULL ? hold : span_of(colon + 1, hold.len - kind.len - 1);
    bool is_breaker = span_equal(kind, SPAN("breaker"));
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_add(out, is_breaker ? SPAN("  The breaker of route ") : SPAN("  The "));
    if (!is_breaker) {
        words_print(out, kind);
        (void)gw_buf_byte(out, ' ');
    }
    words_print(out, name);
    if (is_breaker) {
        (void)gw_buf_add(out, SPAN(" is open: it lets one operation through soon, and closes when "
                                   "that one is answered.\n"));
        return;
    }
    (void)gw_buf_add(out, SPAN(" is paused by hand: recibo resume "));
    if (span_equal(kind, SPAN("upstream")))
        (void)gw_buf_add(out, SPAN("--upstream "));
    words_print(out, name);
    (void)gw_buf_add(out, SPAN(" --note \"...\"\n"));
}

static void print_resumed(const char *subject, struct span name, const json_t *change,
                          struct gw_buf *out)
{
    const json_t *still = json_object_get(change, "still");
    bool was_paused = words_is_true(change, "changed");
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_print(out, "%s ", subject);
    words_print(out, name);
    if (!was_paused)
        (void)gw_buf_add(out, SPAN(" was not paused"));
    if (json_array_size(still) == 0) {
        (void)gw_buf_add(out,
                         was_paused ? SPAN(" is open again.\n") : SPAN("; nothing holds it.\n"));
        return;
    }
    (void)gw_buf_add(out, was_paused ? SPAN(" is not paused any more, but new operations are still "
                                            "held back:\n")
                                     : SPAN(", but new operations are held back:\n"));
    for (size_t i = 0; i < json_array_size(still); i++) {
        const json_t *hold = json_array_get(still, i);
        print_hold(span_of(json_string_value(hold), json_string_length(hold)), out);
    }
}

static void print_paused(const char *subject, struct span name, const json_t *change,
                         struct gw_buf *out)
{
    const json_t *passing = json_object_get(change, "passing");
    const char *between = "These routes guard nothing and keep passing: ";
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_print(out, "%s ", subject);
    words_print(out, name);
    (void)gw_buf_add(out, words_is_true(change, "changed")
                              ? SPAN(" is paused.\n")
                              : SPAN(" was paused already; the new note counts.\n"));
    for (size_t i = 0; i < json_array_size(passing); i++) {
        const json_t *route = json_array_get(passing, i);
        (void)gw_buf_print(out, "%s", between);
        words_print(out, span_of(json_string_value(route), json_string_length(route)));
        between = ", ";
    }
    if (json_array_size(passing) > 0)
        (void)gw_buf_byte(out, '\n');
}

static void print_change(const char *subject, const char *name, bool resumes, const json_t *change)
{
    struct gw_buf out;
    gw_buf_init(&out, CHANGE_TEXT_BYTES);
    if (resumes)
        print_resumed(subject, span_str(name), change, &out);
    else
        print_paused(subject, span_str(name), change, &out);
    words_flush(&out);
    gw_buf_fini(&out);
}

static int ask(const struct options *options, struct admin_client *client, bool resumes)
{
    const char *upstream = options_value(options, "--upstream");
    const char *name = upstream != NULL ? upstream : options->words[0];
    struct gw_buf path, body;
    struct admin_reply reply;
    client_look_with(client, "recibo", "backlog");
    gw_buf_init(&path, 4096);
    gw_buf_init(&body, 65536);
    (void)gw_buf_add(&path, upstream != NULL ? SPAN("/v1/upstreams/") : SPAN("/v1/routes/"));
    client_escape(&path, span_str(name));
    (void)gw_buf_add(&path, resumes ? SPAN("/resume") : SPAN("/pause"));
    (void)gw_buf_byte(&path, '\0'); /* asked just below, like the rest */
    (void)gw_buf_add(&body, SPAN("{\"note\":"));
    gw_json_string(&body, span_str(options_value(options, "--note")));
    int code = !gw_buf_byte(&body, '}') || path.failed || body.failed
                   ? options_refuse(options, "the name or the note is too long")
                   : client_want(client, "POST", path.ptr, gw_buf_span(&body), &reply);
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    if (client->wants_json)
        client_print_raw(&reply);
    else
        print_change(upstream != NULL ? "upstream" : "route", name, resumes, reply.json);
    client_forget(&reply);
    return EXIT_DONE;
}

static int run(const struct command_help *help, int argc, char **argv, bool resumes)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(help, argc, argv, &options);
    if (code != -1)
        return code;
    bool has_upstream = options_has(&options, "--upstream");
    if (!has_upstream && options.word_count == 0)
        return options_refuse(&options, "ROUTE is missing, or --upstream NAME");
    if (has_upstream && options.word_count == 1)
        return options_refuse(&options,
                              "name one route, or one upstream with --upstream, not both");
    if (!options_has(&options, "--note"))
        return options_refuse(&options, "--note is missing: say why");
    code = client_open(&options, &client);
    return code != -1 ? code : ask(&options, &client, resumes);
}

int command_pause(int argc, char **argv)
{
    return run(&command_pause_help, argc, argv, false);
}

int command_resume(int argc, char **argv)
{
    return run(&command_resume_help, argc, argv, true);
}
