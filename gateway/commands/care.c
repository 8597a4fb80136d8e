/* `recibo backlog claim`, `release` and `comment`: who is on an operation, and what
 * was found out so far. They must never change what becomes of it. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"

#include <stdio.h>

static const struct option_spec claim_specs[] = {
    {"--take-over", NULL, "although somebody else is on it", false},
    {"--note", "TEXT", "why; it goes on record with your name", false},
};
const struct command_help backlog_claim_help = {
    .synopsis = "recibo backlog claim ID [--take-over] [--note TEXT]",
    .text = "Says that you are on this operation: the lists show it to the others. It settles\n"
            "nothing. Where somebody else is on it, it ends with 4 and says who.\n",
    .options = claim_specs,
    .option_count = GW_COUNT(claim_specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples =
        "  recibo backlog claim op_01h455vb4pex5vsknk084sn02q\n"
        "  recibo backlog claim op_01h455vb4pex5vsknk084sn02q --take-over --note \"shift\"\n",
};
const struct command_help backlog_release_help = {
    .synopsis = "recibo backlog release ID [--take-over] [--note TEXT]",
    .text = "Says that you are not on this operation any more.\n",
    .options = claim_specs,
    .option_count = GW_COUNT(claim_specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo backlog release op_01h455vb4pex5vsknk084sn02q\n",
};
const struct command_help backlog_comment_help = {
    .synopsis = "recibo backlog comment ID TEXT",
    .text = "Puts a comment on record, with your name. It changes nothing else.\n",
    .words_min = 2,
    .words_max = 2,
    .words = "ID TEXT",
    .examples = "  recibo backlog comment op_01h455vb4pex5vsknk084sn02q \"asked the carrier\"\n",
};

/* POST .../WHAT of the first word. -1: *ret_reply holds the answer. Else the exit code. */
static int post(const struct options *options, struct admin_client *client, const char *what,
                const struct gw_buf *body, struct admin_reply *ret_reply)
{
    struct gw_buf path;
    client_look_with(client, "recibo backlog show", options->words[0]);
    gw_buf_init(&path, 256);
    listing_path(&path, options->words[0], what);
    int code = body->failed ? options_refuse(options, "the text is too long")
                            : client_want(client, "POST", path.ptr, gw_buf_span(body), ret_reply);
    gw_buf_fini(&path);
    return code;
}

static int open_for_id(const struct command_help *help, int argc, char **argv,
                       struct options *ret_options, struct admin_client *ret_client)
{
    int code = options_parse(help, argc, argv, ret_options);
    if (code == -1)
        code = listing_check_id(ret_options, ret_options->words[0]);
    return code != -1 ? code : client_open(ret_options, ret_client);
}

static void print_claim(const json_t *operation)
{
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    bool is_held = words_of(operation, "claimed_by").len > 0;
    words_print(&out, words_of(operation, "id"));
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_add(&out, is_held ? SPAN(": ") : SPAN(": nobody is on it now.\n"));
    if (is_held) {
        words_print(&out, words_of(operation, "claimed_by"));
        (void)gw_buf_add(&out, SPAN(" is on it since "));
        words_print(&out, words_of(operation, "claimed_at"));
        (void)gw_buf_add(&out, SPAN(".\n"));
    }
    words_flush(&out);
    gw_buf_fini(&out);
}

static int claim(const struct command_help *help, int argc, char **argv, bool releases)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    struct gw_buf body;
    int code = open_for_id(help, argc, argv, &options, &client);
    if (code != -1)
        return code;
    gw_buf_init(&body, 65536);
    (void)gw_buf_print(&body, "{\"release\":%s,\"take_over\":%s", releases ? "true" : "false",
                       options_has(&options, "--take-over") ? "true" : "false"); /* asked by post */
    if (options_has(&options, "--note")) {
        (void)gw_buf_add(&body, SPAN(",\"note\":"));
        gw_json_string(&body, span_str(options_value(&options, "--note")));
    }
    (void)gw_buf_byte(&body, '}');
    code = post(&options, &client, "/claim", &body, &reply);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    if (client.wants_json)
        client_print_raw(&reply);
    else
        print_claim(reply.json);
    client_forget(&reply);
    return EXIT_DONE;
}

int backlog_claim(int argc, char **argv)
{
    return claim(&backlog_claim_help, argc, argv, false);
}

int backlog_release(int argc, char **argv)
{
    return claim(&backlog_release_help, argc, argv, true);
}

int backlog_comment(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    struct gw_buf body;
    int code = open_for_id(&backlog_comment_help, argc, argv, &options, &client);
    if (code != -1)
        return code;
    gw_buf_init(&body, 65536);
    (void)gw_buf_add(&body, SPAN("{\"text\":")); /* asked by post */
    gw_json_string(&body, span_str(options.words[1]));
    (void)gw_buf_byte(&body, '}');
    code = post(&options, &client, "/comment", &body, &reply);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    size_t count = json_array_size(json_object_get(reply.json, "comments"));
    if (client.wants_json)
        client_print_raw(&reply);
    else
        (void)printf("On record: %s has %zu comment%s.\n", options.words[0], count,
                     count == 1 ? "" : "s");
    client_forget(&reply);
    return EXIT_DONE;
}
