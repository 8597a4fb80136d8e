/* `recibo backlog probe`: has the upstream asked what became of an operation. The
 * asking is the server's; this only says which and when, and waits for the answer. */
#include "gateway/commands/probe.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"

#include "conf/values.h"

#include <poll.h>
#include <stdio.h>

static const struct option_spec specs[] = {
    LISTING_GROUP,
    {"--rate", "NUMBER/s", "with --group: so many a second at most (default: 10/s)", false},
    {"--wait", "DURATION", "wait so long for an answer, 0s not at all (default: 60s)", false},
    {"--note", "TEXT", "why; it goes on record with your name", false},
};
const struct command_help backlog_probe_help = {
    .synopsis = "recibo backlog probe ID [OPTIONS]\n"
                "recibo backlog probe --group NUMBER [--rate 20/s] [OPTIONS]",
    .text = "Has the upstream asked what became of an operation, as reconcile.probe of its route\n"
            "says, now rather than when it is due; and prints what that brought. With --group it\n"
            "asks about every operation of a group, at a rate that the upstream can bear.\n"
            "  executed  it was found: it is completed, where the route says so\n"
            "  absent    it was not found: a hint for you, or the proof, as the route says\n"
            "  unclear   the answer fits neither\n"
            "  failed    no answer\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo backlog probe op_01h455vb4pex5vsknk084sn02q\n"
                "  recibo backlog probe --group 1 --rate 20/s --note \"after the outage\"\n",
};

int64_t probe_ticks(void)
{
    struct gw_clock *clock = gw_clock_system();
    return clock->ticks_ms(clock);
}

void probe_pause(int64_t ms)
{
    if (ms > 0)
        (void)poll(NULL, 0,
                   ms > PROBE_WAIT_MS ? (int)PROBE_WAIT_MS : (int)ms); /* woken early: fine */
}

static int64_t count_of(const json_t *operation)
{
    return words_number(operation, "probe_count");
}

int probe_ask(struct admin_client *client, const char *id, const char *note, bool is_quiet,
              struct probe_asked *ret, struct admin_reply *ret_reply)
{
    struct gw_buf path, body;
    gw_buf_init(&path, 256);
    gw_buf_init(&body, 65536);
    listing_path(&path, id, "/probe");
    (void)gw_buf_add(&body, note == NULL ? SPAN("{") : SPAN("{\"note\":")); /* asked just below */
    if (note != NULL)
        gw_json_string(&body, span_str(note));
    client_look_with(client, "recibo backlog show", id);
    int code = -1;
    if (!gw_buf_byte(&body, '}')) {
        (void)fprintf(stderr, "recibo: the note is too long\n"); /* nowhere else to tell it */
        code = EXIT_USAGE;
    } else if (is_quiet) {
        code = client_ask(client, "POST", path.ptr, gw_buf_span(&body), ret_reply);
    } else {
        code = client_want(client, "POST", path.ptr, gw_buf_span(&body), ret_reply);
    }
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    (void)snprintf(ret->id, sizeof(ret->id), "%s", id); /* 29 bytes, checked before */
    ret->count = count_of(json_object_get(ret_reply->json, "operation"));
    return -1;
}

int probe_look(const struct admin_client *client, const struct probe_asked *asked,
               bool *ret_answered, struct admin_reply *ret_reply)
{
    struct gw_buf path;
    gw_buf_init(&path, 256);
    listing_path(&path, asked->id, "");
    int code = client_want(client, "GET", path.ptr, span_of(NULL, 0), ret_reply);
    gw_buf_fini(&path);
    if (code == -1)
        *ret_answered = count_of(ret_reply->json) > asked->count ||
                        !span_equal(words_of(ret_reply->json, "state"), SPAN("unknown"));
    return code;
}

/* ---- one ---- */

static void print_result(const json_t *operation)
{
    const json_t *probes = json_object_get(operation, "probes");
    const json_t *last = json_array_get(probes, json_array_size(probes) - 1);
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    /* Whoever flushes tells if the buffer failed. */
    words_print(&out, words_of(operation, "id"));
    (void)gw_buf_add(&out, SPAN(": "));
    words_print(&out, words_of(last, "result"));
    (void)gw_buf_add(&out, SPAN(". Asked "));
    words_print(&out, words_of(last, "target"));
    (void)gw_buf_add(&out, SPAN(": "));
    words_print(&out, words_of(last, "end"));
    if (json_is_integer(json_object_get(last, "status")))
        (void)gw_buf_print(&out, " %lld", (long long)words_number(last, "status"));
    (void)gw_buf_add(&out, SPAN("; "));
    words_print(&out, words_of(last, "reason"));
    (void)gw_buf_add(&out, SPAN("\nIts state is now "));
    words_print(&out, words_of(operation, "state"));
    (void)gw_buf_print(&out, ", version %lld.\n", (long long)words_number(operation, "version"));
    words_flush(&out);
    gw_buf_fini(&out);
}

/* Until the answer is on record. */
static int wait_for(const struct admin_client *client, const struct probe_asked *asked,
                    int64_t wait_ms)
{
    const int64_t until = probe_ticks() + wait_ms;
    struct admin_reply reply;
    bool is_answered = false;
    for (;;) {
        int code = probe_look(client, asked, &is_answered, &reply);
        if (code != -1)
            return code;
        if (is_answered && client->wants_json)
            client_print_raw(&reply);
        else if (is_answered)
            print_result(reply.json);
        client_forget(&reply);
        if (is_answered)
            return EXIT_DONE;
        if (probe_ticks() >= until)
            break;
        probe_pause(PROBE_POLL_MS);
    }
    (void)fprintf(stderr,
                  "recibo: it will be asked, but no answer is on record yet. Look later: recibo "
                  "backlog show %s\n",
                  asked->id); /* nowhere else to tell it */
    return EXIT_FAILED;
}

static int probe_one(const struct options *options, struct admin_client *client, int64_t wait_ms)
{
    struct probe_asked asked;
    struct admin_reply reply;
    int code = probe_ask(client, options->words[0], options_value(options, "--note"), false, &asked,
                         &reply);
    if (code != -1)
        return code;
    if (wait_ms == 0 && client->wants_json)
        client_print_raw(&reply);
    else if (wait_ms == 0)
        (void)printf("%s will be asked about. Look later: recibo backlog show %s\n", asked.id,
                     asked.id);
    client_forget(&reply);
    return wait_ms == 0 ? EXIT_DONE : wait_for(client, &asked, wait_ms);
}

static int read_wait(const struct options *options, int64_t *ret_ms)
{
    const char *text = options_value(options, "--wait");
    *ret_ms = PROBE_WAIT_MS;
    if (text == NULL || value_number(CONF_DURATION, span_str(text), ret_ms) == NULL)
        return -1;
    return options_refuse(options, "--wait is a duration: 500ms, 60s, 5m");
}

int backlog_probe(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int64_t wait_ms;
    int code = options_parse(&backlog_probe_help, argc, argv, &options);
    if (code != -1)
        return code;
    bool has_group = options_has(&options, "--group");
    if (!has_group && options.word_count == 0)
        return options_refuse(&options, "ID is missing, or --group NUMBER");
    if (has_group && options.word_count > 0)
        return options_refuse(&options, "give one ID, or --group NUMBER, not both");
    if (!has_group && options_has(&options, "--rate"))
        return options_refuse(&options, "--rate goes with --group");
    if (!has_group)
        code = listing_check_id(&options, options.words[0]);
    if (code == -1)
        code = read_wait(&options, &wait_ms);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    return has_group ? probe_group(&options, &client, wait_ms)
                     : probe_one(&options, &client, wait_ms);
}
