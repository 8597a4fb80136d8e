/* `recibo backlog settle` and `reopen`: a person's verdict on one operation. It must
 * never make up a response: what repeats will get is what was given. */
#include "gateway/commands/settle.h"
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/plans.h"
#include "gateway/commands/show.h"
#include "gateway/commands/words.h"

#include "base/text.h"

static const struct option_spec specs[] = {
    {"--verdict", "executed|not_executed|abandoned|reopen", "what became of it", false},
    {"--note", "TEXT", "how you know; it goes on record with your name", false},
    {"--response", "FILE",
     "executed: the body that repeats will get; - is standard input, /dev/null an empty body",
     false},
    {"--status", "NUMBER", "executed: its status", false},
    {"--header", "'NAME: VALUE'", "executed: a header of it", true},
    {"--no-response", NULL, "executed: nobody knows the answer; repeats are told so", false},
    {"--force", NULL, "not_executed: although the quiet time is not over", false},
    {"--version", "NUMBER", "only if the operation is still this version (default: as it is now)",
     false},
    /* For many at once: plans_settle reads them. */
    PLANS_WHERE,
    {"--apply", "PLAN", "settle what this plan lists", false},
    {"--no-wait", NULL, "--apply: do not wait for its end", false},
    {"--stop", "PLAN", "stop this plan: what was settled stays, the rest is left", false},
};

const struct command_help backlog_settle_help = {
    .synopsis = "recibo backlog settle ID --verdict VERDICT --note TEXT [OPTIONS]\n"
                "recibo backlog settle --where NAME=VALUE --verdict VERDICT [OPTIONS]\n"
                "recibo backlog settle --apply PLAN --note TEXT [--no-wait]\n"
                "recibo backlog settle --stop PLAN",
    .text =
        "Settles one operation.\n"
        "  executed      it ran: repeats get the response that you give, or are told that there\n"
        "                is none (--no-response)\n"
        "  not_executed  it did not run: the key is free, the next repeat is sent\n"
        "  abandoned     nobody will find out: off the backlog, not sent again\n"
        "  reopen        takes a verdict back that no caller has been told yet\n"
        "--where makes a plan for many and prints it: nothing is settled before --apply.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo backlog settle op_01h455vb4pex5vsknk084sn02q --verdict executed \\\n"
                "      --response order.json --status 201 --note \"order 88, by its number\"\n"
                "  recibo backlog settle op_01h455vb4pex5vsknk084sn02q --verdict not_executed \\\n"
                "      --note \"no order of that number\"\n",
};

static const struct option_spec apply_specs[] = {
    {"--note", "TEXT", "how you know; it goes on record with your name", false},
    {"--no-wait", NULL, "do not wait for its end", false},
};
const struct command_help backlog_apply_help = {
    .synopsis = "recibo backlog apply PLAN --note TEXT [--no-wait]",
    .text =
        "Settles what the plan lists, each operation only if it is still as it was: the same as\n"
        "recibo backlog settle --apply PLAN.\n",
    .options = apply_specs,
    .option_count = GW_COUNT(apply_specs),
    .words_min = 1,
    .words_max = 1,
    .words = "PLAN",
    .examples =
        "  recibo backlog apply plan_01h455vb4pex5vsknk084sn02q --note \"not in their list\"\n",
};

static const struct option_spec reopen_specs[] = {
    {"--note", "TEXT", "why; it goes on record with your name", false},
    {"--version", "NUMBER", "only if the operation is still this version (default: as it is now)",
     false},
};
const struct command_help backlog_reopen_help = {
    .synopsis = "recibo backlog reopen ID --note TEXT",
    .text = "Takes a verdict back: the operation is unknown again. Only while nobody has acted on\n"
            "the verdict: no repeat got its answer, and the key was not used again.\n",
    .options = reopen_specs,
    .option_count = GW_COUNT(reopen_specs),
    .words_min = 1,
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo backlog reopen op_01h455vb4pex5vsknk084sn02q --note \"wrong order\"\n",
};

/* ---- which options go together ---- */

static int check_verdict(const struct options *options)
{
    static const char *const words[] = {"executed", "not_executed", "abandoned", "reopen"};
    const char *verdict = options_value(options, "--verdict");
    bool is_known = false;
    if (verdict == NULL)
        return options_refuse(options, "--verdict is missing");
    for (size_t i = 0; i < GW_COUNT(words); i++)
        is_known = is_known || strcmp(verdict, words[i]) == 0;
    if (is_known)
        return -1;
    const char *near = options_near(verdict, words, GW_COUNT(words));
    return options_refuse(options, "--verdict is executed, not_executed, abandoned or reopen%s%s",
                          near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

static int check_options(const struct options *options)
{
    int code = listing_check_id(options, options->words[0]);
    if (code == -1)
        code = check_verdict(options);
    if (code == -1 && !options_has(options, "--note"))
        code = options_refuse(options, "--note is missing: say how you know");
    if (code == -1 && options_has(options, "--no-wait"))
        code = options_refuse(options, "--no-wait goes with --apply");
    return code != -1 ? code : settle_check_response(options);
}

/* ---- the call ---- */

/* Without --version: the version as it is now. */
static int find_version(const struct options *options, const struct admin_client *client,
                        uint64_t *ret_version)
{
    const char *given = options_value(options, "--version");
    struct gw_buf path;
    struct admin_reply reply;
    if (given != NULL)
        return gw_parse_u64(span_str(given), ret_version) && *ret_version <= UINT32_MAX
                   ? -1
                   : options_refuse(options, "--version is a number");
    gw_buf_init(&path, 256);
    listing_path(&path, options->words[0], "");
    int code = client_want(client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    *ret_version = (uint64_t)words_number(reply.json, "version");
    client_forget(&reply);
    return -1;
}

static int make_body(const struct options *options, const char *verdict, uint64_t version,
                     struct gw_buf *body)
{
    int code = -1;
    (void)gw_buf_print(body, "{\"verdict\":\"%s\",\"version\":%llu,\"note\":", verdict,
                       (unsigned long long)version); /* asked once at the end */
    gw_json_string(body, span_str(options_value(options, "--note")));
    if (options_has(options, "--force"))
        (void)gw_buf_add(body, SPAN(",\"force\":true"));
    if (strcmp(verdict, "executed") == 0)
        code = settle_add_response(options, body);
    (void)gw_buf_byte(body, '}');
    if (code == -1 && body->failed)
        code = options_refuse(options, "the response is too large");
    return code;
}

static void print_settled(const char *verdict, const json_t *operation)
{
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    words_print(&out, words_of(operation, "id"));
    if (strcmp(verdict, "reopen") == 0)
        (void)gw_buf_add(&out, SPAN(" is open again: its state is now ")); /* small */
    else
        (void)gw_buf_print(&out, " is settled as %s: its state is now ", verdict);
    words_print(&out, words_of(operation, "state"));
    (void)gw_buf_print(&out, ", version %lld.\n", (long long)words_number(operation, "version"));
    show_client_sees(json_object_get(operation, "client_sees"), &out);
    words_flush(&out);
    gw_buf_fini(&out);
}

static int settle(const struct options *options, struct admin_client *client, const char *verdict)
{
    uint64_t version;
    struct gw_buf path, body;
    struct admin_reply reply;
    int code = find_version(options, client, &version);
    if (code != -1)
        return code;
    client_look_with(client, "recibo backlog show", options->words[0]);
    gw_buf_init(&path, 256);
    gw_buf_init(&body, CLIENT_REPLY_BYTES);
    listing_path(&path, options->words[0], "/settle");
    code = make_body(options, verdict, version, &body);
    if (code == -1)
        code = client_want(client, "POST", path.ptr, gw_buf_span(&body), &reply);
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    if (code != -1)
        return code;
    if (client->wants_json)
        client_print_raw(&reply);
    else
        print_settled(verdict, reply.json);
    client_forget(&reply);
    return EXIT_DONE;
}

/* Many at once have options of their own. */
static bool means_many(int argc, char **argv)
{
    static const char *const words[] = {"--where", "--apply", "--stop"};
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t k = 0; k < GW_COUNT(words); k++) {
            size_t len = strlen(words[k]);
            if (strncmp(argv[i], words[k], len) == 0 &&
                (argv[i][len] == '\0' || argv[i][len] == '='))
                return true;
        }
    return false;
}

int backlog_settle(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    if (means_many(argc, argv))
        return plans_settle(argc, argv);
    int code = options_parse(&backlog_settle_help, argc, argv, &options);
    if (code == -1)
        code = check_options(&options);
    if (code == -1)
        code = client_open(&options, &client);
    return code != -1 ? code : settle(&options, &client, options_value(&options, "--verdict"));
}

int backlog_apply(int argc, char **argv)
{
    struct options options;
    char *words[2 * OPTIONS_GIVEN_MAX + 8], settle_word[] = "settle", apply_word[] = "--apply";
    int count = 0;
    int code = options_parse(&backlog_apply_help, argc, argv, &options);
    if (code != -1)
        return code;
    if ((size_t)argc + 2 > GW_COUNT(words))
        return options_refuse(&options, "there are too many words");
    words[count++] = settle_word;
    for (int i = 1; i < argc; i++) {
        if (argv[i] == options.words[0])
            words[count++] = apply_word;
        words[count++] = argv[i];
    }
    words[count] = NULL;
    return plans_settle(count, words);
}

int backlog_reopen(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(&backlog_reopen_help, argc, argv, &options);
    if (code == -1)
        code = listing_check_id(&options, options.words[0]);
    if (code == -1 && !options_has(&options, "--note"))
        code = options_refuse(&options, "--note is missing: say why");
    if (code == -1)
        code = client_open(&options, &client);
    return code != -1 ? code : settle(&options, &client, "reopen");
}
