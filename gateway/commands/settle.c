/* `recibo backlog settle` and `reopen`: a person's verdict on one operation. It must
 * never make up a response: what repeats will get is what was given. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/settle.h"
#if __has_include("gateway/commands/plans.h")
#include "gateway/commands/plans.h" /* plans_settle: --where, --apply, --stop */
#define HAS_PLANS 1
#else
#define HAS_PLANS 0
#endif
#include "gateway/commands/show.h"
#include "gateway/commands/words.h"

#include "base/text.h"
#include "policy/json.h"
#include "policy/utf8.h"

#include <errno.h>
#include <stdio.h>

#define RESPONSE_BYTES_MAX ((size_t)64 << 20)
#define HEADERS_MAX        64
#define JSON_NODES_MAX     (1u << 24)

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
};

const struct command_help backlog_settle_help = {
    .synopsis = "recibo backlog settle ID --verdict VERDICT --note TEXT [OPTIONS]",
    .text =
        "Settles one operation.\n"
        "  executed      it ran: repeats get the response that you give, or are told that there\n"
        "                is none (--no-response)\n"
        "  not_executed  it did not run: the key is free, the next repeat is sent\n"
        "  abandoned     nobody will find out: off the backlog, not sent again\n"
        "  reopen        takes a verdict back that no caller has been told yet\n",
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

/* ---- the body of the call ---- */

static bool read_file(const char *path, struct gw_buf *out)
{
    char piece[16384];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    size_t len = 1;
    if (file == NULL)
        return false;
    while (len > 0) {
        len = fread(piece, 1, sizeof(piece), file);
        if (len > 0 && !gw_buf_add(out, span_of(piece, len)))
            errno = EFBIG;
        if (out->failed)
            len = 0;
    }
    bool ok = ferror(file) == 0 && !out->failed;
    if (file != stdin)
        (void)fclose(file); /* only read */
    return ok;
}

static bool is_utf8(struct span text)
{
    size_t at = 0, len = 1;
    while (at < text.len && len > 0) {
        len = utf8_sequence(text, at);
        at += len;
    }
    return len > 0;
}

static void add_base64(struct gw_buf *out, struct span bytes)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)(uint8_t)bytes.ptr[i] << 16;
        bits |= left > 1 ? (uint32_t)(uint8_t)bytes.ptr[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)(uint8_t)bytes.ptr[i + 2] : 0;
        const char four[] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
                             left > 1 ? alphabet[bits >> 6 & 63] : '=',
                             left > 2 ? alphabet[bits & 63] : '='};
        (void)gw_buf_add(out, span_of(four, sizeof(four))); /* asked once at the end */
    }
}

/* The body's bytes exactly: as text where they are text, else in base64. */
static void add_content(struct gw_buf *out, struct span content)
{
    if (is_utf8(content)) {
        (void)gw_buf_add(out, SPAN(",\"body\":")); /* asked once at the end */
        gw_json_string(out, content);
        return;
    }
    (void)gw_buf_add(out, SPAN(",\"body_base64\":\""));
    add_base64(out, content);
    (void)gw_buf_byte(out, '"');
}

/* By the strict reader: a JSON library would refuse numbers that it cannot hold. */
static bool is_json(struct span content)
{
    const struct json_limits limits = {.depth_max = JSON_DEPTH_MAX, .nodes_max = JSON_NODES_MAX};
    struct json_fault fault;
    uint32_t count;
    return json_count(content, &limits, &count, &fault);
}

/* One header, split at its colon; several of one name become a list. */
static bool split_header(const char *text, struct span *ret_name, struct span *ret_value)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text)
        return false;
    *ret_name = span_of(text, (size_t)(colon - text));
    *ret_value = span_str(colon + 1);
    while (ret_value->len > 0 && (ret_value->ptr[0] == ' ' || ret_value->ptr[0] == '\t'))
        *ret_value = span_of(ret_value->ptr + 1, ret_value->len - 1);
    return true;
}

static bool is_first_of_its_name(const struct options *options, struct span name, uint32_t place)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < place; i++) {
        struct span other, value;
        const char *text = options_next(options, "--header", &at);
        if (text != NULL && split_header(text, &other, &value) && span_equal_nocase(other, name))
            return false;
    }
    return true;
}

static void add_values(const struct options *options, struct span name, struct gw_buf *out)
{
    uint32_t at = 0;
    const char *text, *between = "[";
    while ((text = options_next(options, "--header", &at)) != NULL) {
        struct span other, value;
        if (!split_header(text, &other, &value) || !span_equal_nocase(other, name))
            continue;
        (void)gw_buf_print(out, "%s", between); /* asked once at the end */
        gw_json_string(out, value);
        between = ",";
    }
    (void)gw_buf_byte(out, ']');
}

static int add_headers(const struct options *options, struct span content, struct gw_buf *out)
{
    uint32_t at = 0, place = 0;
    bool has_type = false;
    const char *text, *between = "";
    (void)gw_buf_add(out, SPAN(",\"headers\":{")); /* asked once at the end */
    while ((text = options_next(options, "--header", &at)) != NULL) {
        struct span name, value;
        if (!split_header(text, &name, &value) || place >= HEADERS_MAX)
            return options_refuse(options, "--header is 'NAME: VALUE', at most %d of them",
                                  HEADERS_MAX);
        has_type = has_type || span_equal_nocase(name, SPAN("content-type"));
        if (!is_first_of_its_name(options, name, place++))
            continue;
        (void)gw_buf_print(out, "%s", between);
        gw_json_string(out, name);
        (void)gw_buf_byte(out, ':');
        add_values(options, name, out);
        between = ",";
    }
    if (!has_type && content.len > 0 && is_json(content))
        (void)gw_buf_print(out, "%s\"Content-Type\":\"application/json\"", between);
    (void)gw_buf_byte(out, '}');
    return -1;
}

int settle_add_response(const struct options *options, struct gw_buf *out)
{
    const char *path = options_value(options, "--response");
    const char *status = options_value(options, "--status");
    uint64_t number;
    struct gw_buf content;
    if (options_has(options, "--no-response")) {
        (void)gw_buf_add(out, SPAN(",\"response\":null")); /* asked once at the end */
        return -1;
    }
    if (!gw_parse_u64(span_str(status), &number) || number < 200 || number > 599)
        return options_refuse(options, "--status is a final status, 200 to 599");
    gw_buf_init(&content, RESPONSE_BYTES_MAX);
    if (path != NULL && !read_file(path, &content)) {
        (void)fprintf(stderr, "recibo: %s: %s\n", path, strerror(errno));
        gw_buf_fini(&content);
        return EXIT_USAGE;
    }
    (void)gw_buf_print(out, ",\"response\":{\"status\":%u", (unsigned)number);
    int code = add_headers(options, gw_buf_span(&content), out);
    if (content.len > 0)
        add_content(out, gw_buf_span(&content));
    (void)gw_buf_byte(out, '}');
    gw_buf_fini(&content);
    return code;
}

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

/* What repeats of an executed one will get: all of it, or nothing of it. */
int settle_check_response(const struct options *options)
{
    bool has_file = options_has(options, "--response"),
         has_status = options_has(options, "--status");
    bool has_any = has_file || has_status || options_has(options, "--header");
    bool has_none = options_has(options, "--no-response");
    if (strcmp(options_value(options, "--verdict"), "executed") != 0)
        return has_any || has_none
                   ? options_refuse(options, "a response goes only with --verdict executed")
                   : -1;
    if (has_any == has_none)
        return options_refuse(options,
                              "say what repeats will get: --response FILE --status NUMBER, "
                              "or --no-response");
    if (has_any && !has_file)
        return options_refuse(options,
                              "--response is missing: say --response FILE --status NUMBER "
                              "(/dev/null for an answer without a body), or --no-response");
    if (has_any && !has_status)
        return options_refuse(options, "--status is missing: Recibo makes up no answer");
    return -1;
}

static int check_options(const struct options *options)
{
    int code = listing_check_id(options, options->words[0]);
    if (code == -1)
        code = check_verdict(options);
    if (code == -1 && !options_has(options, "--note"))
        code = options_refuse(options, "--note is missing: say how you know");
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

#if HAS_PLANS
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
#endif

int backlog_settle(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
#if HAS_PLANS
    if (means_many(argc, argv))
        return plans_settle(argc, argv);
#endif
    int code = options_parse(&backlog_settle_help, argc, argv, &options);
    if (code == -1)
        code = check_options(&options);
    if (code == -1)
        code = client_open(&options, &client);
    return code != -1 ? code : settle(&options, &client, options_value(&options, "--verdict"));
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
