/* `recibo compensate`: take back an operation that was carried out. It must never say
 * "taken back" before the upstream has answered. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"

static const struct option_spec specs[] = {
    {"--note", "TEXT", "why; it goes on record with your name", false},
};
const struct command_help command_compensate_help = {
    .synopsis = "recibo compensate ID --note TEXT",
    .text = "Takes back an operation that was carried out, as `compensate` of its route says: a\n"
            "request of its own, with a receipt, attempts and perhaps a doubt of its own. Asked\n"
            "again it is the same one: it says how that stands. One of which nothing ran is begun\n"
            "anew. What is not known to have been carried out is not taken back.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo compensate op_01h455vb4pex5vsknk084sn02q --note \"customer withdrew\"\n",
};

static int post(const struct options *options, struct admin_client *client,
                struct admin_reply *ret_reply)
{
    struct gw_buf path, body;
    client_look_with(client, "recibo why", options->words[0]);
    gw_buf_init(&path, 256);
    gw_buf_init(&body, 65536);
    listing_path(&path, options->words[0], "/compensate");
    (void)gw_buf_add(&body, SPAN("{\"note\":")); /* asked just below, like the rest */
    gw_json_string(&body, span_str(options_value(options, "--note")));
    int code = !gw_buf_byte(&body, '}')
                   ? options_refuse(options, "the note is too long")
                   : client_want(client, "POST", path.ptr, gw_buf_span(&body), ret_reply);
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    return code;
}

static void print(const json_t *answer)
{
    const json_t *made = json_object_get(answer, "compensation");
    bool is_done = span_equal(words_of(made, "state"), SPAN("completed"));
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    words_print(&out, words_of(answer, "compensates"));
    /* Whoever flushes tells if the buffer failed. */
    (void)gw_buf_add(&out, is_done ? SPAN(": taken back by ")
                           : words_is_true(answer, "begun")
                               ? SPAN(": will be taken back, and is not yet. It is on record as ")
                               : SPAN(": is being taken back already, by "));
    words_print(&out, words_of(made, "id"));
    (void)gw_buf_add(&out, SPAN(", "));
    words_print(&out, words_of(made, "method"));
    (void)gw_buf_add(&out, SPAN(" "));
    words_print(&out, words_of(made, "target"));
    if (is_done && json_is_integer(json_object_get(made, "status")))
        (void)gw_buf_print(&out, ", answered %lld", (long long)words_number(made, "status"));
    (void)gw_buf_add(&out, SPAN(".\n"));
    if (!is_done) {
        (void)gw_buf_add(&out, SPAN("How it stands: recibo why "));
        words_print(&out, words_of(made, "id"));
        (void)gw_buf_byte(&out, '\n');
    }
    words_flush(&out);
    gw_buf_fini(&out);
}

int command_compensate(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = options_parse(&command_compensate_help, argc, argv, &options);
    if (code == -1)
        code = listing_check_id(&options, options.words[0]);
    if (code == -1 && !options_has(&options, "--note"))
        code = options_refuse(&options, "--note is missing: say why");
    if (code == -1)
        code = client_open(&options, &client);
    if (code == -1)
        code = post(&options, &client, &reply);
    if (code != -1)
        return code;
    if (client.wants_json)
        client_print_raw(&reply);
    else
        print(reply.json);
    client_forget(&reply);
    return EXIT_DONE;
}
