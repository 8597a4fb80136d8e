/* `recibo cancel` and `recibo run-now`: stop an operation, or let a deferred one run now.
 * They must never say "stopped" of what may have been sent. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"

static const struct option_spec cancel_specs[] = {
    {"--note", "TEXT", "why; it goes on record with your name", false},
};
const struct command_help command_cancel_help = {
    .synopsis = "recibo cancel ID --note TEXT",
    .text = "Stops an operation that was not sent yet: nothing of it will ever be sent, and its\n"
            "key is spent. One that is being sent cannot be stopped: then the request is put on\n"
            "record, no further attempt is begun, and the outcome is its answer or unknown. What\n"
            "was carried out, or may have been, is not touched.\n",
    .options = cancel_specs,
    .option_count = GW_COUNT(cancel_specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo cancel op_01h455vb4pex5vsknk084sn02q --note \"ordered by mistake\"\n",
};

static const struct option_spec run_now_specs[] = {
    {"--note", "TEXT", "why; it goes on record with your name", false},
};
const struct command_help command_run_now_help = {
    .synopsis = "recibo run-now ID [--note TEXT]",
    .text =
        "Lets a deferred operation run now, whatever its time was. It still waits for a place:\n"
        "defer.concurrency of its route, a pause, an open breaker.\n",
    .options = run_now_specs,
    .option_count = GW_COUNT(run_now_specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo run-now op_01h455vb4pex5vsknk084sn02q --note \"API is back\"\n",
};

static int post(const struct options *options, struct admin_client *client, const char *what,
                struct admin_reply *ret_reply)
{
    const char *note = options_value(options, "--note");
    struct gw_buf path, body;
    client_look_with(client, "recibo why", options->words[0]);
    gw_buf_init(&path, 256);
    gw_buf_init(&body, 65536);
    listing_path(&path, options->words[0], what);
    (void)gw_buf_byte(&body, '{'); /* asked just below, like the rest */
    if (note != NULL) {
        (void)gw_buf_add(&body, SPAN("\"note\":"));
        gw_json_string(&body, span_str(note));
    }
    int code = !gw_buf_byte(&body, '}')
                   ? options_refuse(options, "the note is too long")
                   : client_want(client, "POST", path.ptr, gw_buf_span(&body), ret_reply);
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    return code;
}

static void print_cancel(const json_t *answer)
{
    struct gw_buf out;
    bool is_stopped = span_equal(words_of(answer, "cancel"), SPAN("stopped"));
    gw_buf_init(&out, 65536);
    words_print(&out, words_of(json_object_get(answer, "operation"), "id"));
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_add(&out, is_stopped
                               ? SPAN(": stopped. Nothing of it ran, and nothing will be sent; the "
                                      "key is spent.\n")
                               : SPAN(": requested, not stopped. It is being sent; no further "
                                      "attempt is begun. Its outcome is an answer, or unknown.\n"));
    words_flush(&out);
    gw_buf_fini(&out);
}

static void print_run(const json_t *answer)
{
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    words_print(&out, words_of(json_object_get(answer, "operation"), "id"));
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_add(&out, SPAN(": due now.\n"));
    words_flush(&out);
    gw_buf_fini(&out);
}

static int run(const struct command_help *help, int argc, char **argv, bool cancels)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = options_parse(help, argc, argv, &options);
    if (code == -1)
        code = listing_check_id(&options, options.words[0]);
    if (code == -1 && cancels && !options_has(&options, "--note"))
        code = options_refuse(&options, "--note is missing: say why");
    if (code == -1)
        code = client_open(&options, &client);
    if (code == -1)
        code = post(&options, &client, cancels ? "/cancel" : "/run-now", &reply);
    if (code != -1)
        return code;
    if (client.wants_json)
        client_print_raw(&reply);
    else if (cancels)
        print_cancel(reply.json);
    else
        print_run(reply.json);
    client_forget(&reply);
    return EXIT_DONE;
}

int command_cancel(int argc, char **argv)
{
    return run(&command_cancel_help, argc, argv, true);
}

int command_run_now(int argc, char **argv)
{
    return run(&command_run_now_help, argc, argv, false);
}
