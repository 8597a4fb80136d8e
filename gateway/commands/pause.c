/* `recibo pause` and `recibo resume`: stop sending on a route or to an upstream, and
 * start again. It touches nothing that is in flight. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    {"--upstream", "NAME", "every route of this upstream, instead of one route", false},
    {"--note", "TEXT", "why; it goes on record with your name", false},
};

static const struct command_help pause_help = {
    .synopsis = "recibo pause ROUTE | --upstream NAME  --note TEXT",
    .text = "Sends no new operation of this route. Callers get 503 route-paused, and their keys\n"
            "stay unspent; repeats are answered and replays go on. It survives a restart.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
};

static const struct command_help resume_help = {
    .synopsis = "recibo resume ROUTE | --upstream NAME  --note TEXT",
    .text = "Takes a pause back.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
};

static int ask(const struct options *options, const struct admin_client *client, bool resumes)
{
    const char *upstream = options_value(options, "--upstream");
    const char *name = upstream != NULL ? upstream : options->words[0];
    struct gw_buf path, body;
    struct admin_reply reply;
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
        (void)printf("%s %s is %s.\n", upstream != NULL ? "upstream" : "route", name,
                     resumes ? "open again" : "paused");
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
    if (has_upstream == (options.word_count == 1))
        return options_refuse(&options, "name one route, or one upstream with --upstream");
    if (!options_has(&options, "--note"))
        return options_refuse(&options, "--note is missing: say why");
    code = client_open(&options, &client);
    return code != -1 ? code : ask(&options, &client, resumes);
}

int command_pause(int argc, char **argv)
{
    return run(&pause_help, argc, argv, false);
}

int command_resume(int argc, char **argv)
{
    return run(&resume_help, argc, argv, true);
}
