/* `recibo init`: a first file, commented, in observe mode, which changes nothing for anybody.
 * It must never write over a file, nor write one that `recibo check` refuses.
 *
 * Ignored results: a buffer that is full is marked as failed, and is asked once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/digest.h"
#include "conf/conf.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/init_routes.h"
#include "gateway/commands/loading.h"
#include "gateway/commands/token.h"

#define INIT_ARENA_BYTES ((size_t)128 << 20)
#define INIT_TEXT_MAX    ((size_t)1 << 20) /* a configuration is not larger */

static const struct option_spec specs[] = {
    {"--upstream", "URL", "where the API is: http://HOST[:PORT][/PREFIX]", false},
    {"--openapi", "FILE", "its description, OpenAPI 3.0 or 3.1 as JSON or YAML", false},
    {"--out", "FILE", "write it there, if there is no such file; default: standard output", false},
};
const struct command_help command_init_help = {
    .synopsis = "recibo init --upstream URL [--openapi FILE] [--out FILE]",
    .text =
        "Writes a first configuration for an API, with a comment on each line to think about. It\n"
        "only observes: everything passes as before, and after a day `recibo report` says what\n"
        "enforce would do. With a description each POST, PUT, PATCH and DELETE of it is a route\n"
        "of its own. A token for the operators' plane is made and told on standard error; the\n"
        "file has its hash. recibo check accepts the file as it is.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo init --upstream http://127.0.0.1:9000 --out recibo.yaml\n"
                "  recibo init --upstream http://127.0.0.1:9000 --openapi api.yaml > recibo.yaml\n",
    .set = OPTIONS_ALONE,
};

struct init {
    struct arena *arena;
    const char *upstream;
    struct openapi openapi;
    bool has_openapi;
    char token[TOKEN_BYTES + 1], token_hex[2 * GW_SHA256_BYTES + 1];
    struct gw_buf text;
};

/* ---- the description ---- */

static int refuse_file(const char *file, const char *why)
{
    (void)fprintf(stderr, "recibo init: %s: %s\n", file, why); /* nowhere else to tell it */
    return EXIT_USAGE;
}

static int read_description(struct init *init, const char *file)
{
    struct gw_error err = {GW_OK, ""};
    char *room = arena_take(init->arena, OPENAPI_TEXT_BYTES_MAX + 1);
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || room == NULL) {
        int code = refuse_file(file, room == NULL ? "out of memory" : strerror(errno));
        if (fd >= 0)
            (void)close(fd); /* read only */
        return code;
    }
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len <= OPENAPI_TEXT_BYTES_MAX) {
        got = read(fd, room + len, OPENAPI_TEXT_BYTES_MAX + 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    int why = errno;
    (void)close(fd); /* read only */
    if (got < 0)
        return refuse_file(file, strerror(why));
    if (len > OPENAPI_TEXT_BYTES_MAX)
        return refuse_file(file, "it is larger than 16 MiB");
    if (openapi_read(init->arena, span_of(room, len), &init->openapi, &err) != GW_OK)
        return refuse_file(file, err.text);
    init->has_openapi = true;
    return -1;
}

/* The path of a url without its end slash: "/v1" of "https://api.example/v1/". */
static struct span path_of_url(struct span url)
{
    size_t at = 0;
    for (size_t i = 0; i + 2 < url.len; i++)
        if (memcmp(url.ptr + i, "://", 3) == 0) {
            at = i + 3;
            break;
        }
    while (at < url.len && url.ptr[at] != '/')
        at++;
    struct span path = span_of(url.ptr + at, url.len - at);
    while (path.len > 0 && path.ptr[path.len - 1] == '/')
        path.len--;
    return path.len == 0 || memchr(path.ptr, '{', path.len) != NULL ? SPAN("") : path;
}

/* Callers ask for what the first server's url has before the paths, unless the upstream's url
 * brings it. */
static struct span prefix_of(const struct init *init)
{
    if (!init->has_openapi || path_of_url(span_str(init->upstream)).len > 0)
        return SPAN("");
    return path_of_url(init->openapi.server);
}

/* ---- the file ---- */

static void put(struct init *init, const char *text)
{
    (void)gw_buf_add(&init->text, span_str(text));
}

static void write_head(struct init *init)
{
    put(init, "# Recibo, a first configuration: it observes and changes nothing.\n"
              "#\n"
              "#   recibo check      is it valid, and what does it promise?\n"
              "#   recibo serve      callers connect to the address below instead of the API's\n"
              "#   recibo report     after a day: what would have been replayed, refused, unknown\n"
              "#\n"
              "# Then set `mode: enforce` route by route; `recibo diff` says what that changes.\n"
              "version: 1\n"
              "\n"
              "# Where callers connect.\n"
              "listen:\n"
              "  - {address: \"127.0.0.1:8080\"}\n"
              "\n"
              "# The operators' plane: commands, page and metrics. Keep it away from callers.\n"
              "admin:\n"
              "  address: \"127.0.0.1:8081\"\n"
              "  tokens:\n"
              "    # recibo token new makes more of them, with fewer rights\n");
    (void)gw_buf_print(&init->text,
                       "    - {name: operator, rights: [read, evidence, settle, control], sha256: "
                       "\"%s\"}\n",
                       init->token_hex);
    put(init,
        "\n"
        "# Receipts, on a real disk, and where it stays.\n"
        "store: {kind: sqlite, path: recibo.db}\n"
        "\n"
        "# Who calls: a key of one owner is no key of another. One owner for all is right only as\n"
        "# long as all callers are one system; before they are strangers, use kind: api_key, "
        "basic,\n"
        "# header or network.\n"
        "owners:\n"
        "  everyone: {kind: static, owner: everyone}\n"
        "\n"
        "upstreams:\n"
        "  api:\n"
        "    url: ");
    init_write_quoted(&init->text, span_str(init->upstream));
    put(init,
        "\n"
        "    # No answer in this time: with enforce, the outcome is unknown and waits for a "
        "person.\n"
        "    timeouts: {answer: 30s}\n"
        "\n"
        "defaults: {upstream: api, owner: everyone}\n"
        "\n"
        "# The most specific path wins. Before enforce each route needs `labels` or `evidence:\n"
        "# {body: true}` (what a person looks up when an answer was lost), and a rule for answers\n"
        "# that are no result, such as a redirect to a login page:\n"
        "#   labels: {order: {json: /order_no}}\n"
        "#   outcome: {rules: [{status: 302, header: {Location: \"*/login*\"}, means: refused}]}\n"
        "routes:\n");
}

static void write_rest(struct init *init)
{
    put(init,
        init->has_openapi
            ? "  # What the description does not know: seen, too.\n"
            : "  # Everything that may change something. Give what matters a route of its own.\n");
    put(init, "  - name: other-changes\n"
              "    mode: observe\n"
              "    match: {methods: [POST, PUT, PATCH, DELETE], path: \"/*\"}\n"
              "    key: {from: header, name: Idempotency-Key, required: false}\n"
              "    fingerprint: {mode: raw}\n"
              "  # Reads pass, and nothing is noted.\n"
              "  - {name: reads, mode: pass, match: {path: \"/*\"}}\n");
}

static bool write_file(struct init *init)
{
    write_head(init);
    if (init->has_openapi) {
        put(init, "  # Of the description, in its order. ");
        put(init, "required: a request without a key would be refused.\n");
        if (!init_write_routes(init->arena, &init->openapi, prefix_of(init), &init->text))
            return false;
    }
    write_rest(init);
    return !init->text.failed;
}

/* What we wrote is judged like any other file: the url, above all. */
static int check_file(struct init *init)
{
    struct conf *conf = NULL;
    struct conf_report report;
    enum gw_status status = conf_parse(gw_buf_span(&init->text), "recibo.yaml", &conf, &report);
    if (status != GW_OK)
        command_print_findings(&report, false);
    conf_report_fini(&report);
    conf_unref(conf);
    if (status == GW_OK)
        return -1;
    (void)fprintf(stderr, "recibo init: nothing was written\n"); /* nowhere else to tell it */
    return EXIT_USAGE;
}

/* Its own: never over another one, and for its owner alone. */
static int save(struct init *init, const char *file)
{
    struct span text = gw_buf_span(&init->text);
    int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return refuse_file(file, errno == EEXIST ? "there is such a file; it is left alone"
                                                 : strerror(errno));
    bool good = write(fd, text.ptr, text.len) == (ssize_t)text.len;
    good = close(fd) == 0 && good;
    if (good)
        return EXIT_DONE;
    (void)unlink(file); /* half a file is none */
    (void)refuse_file(file, "it could not be written whole");
    return EXIT_FAILED;
}

static int run(struct init *init, const struct options *options)
{
    const char *description = options_value(options, "--openapi");
    const char *file = options_value(options, "--out");
    init->upstream = options_value(options, "--upstream");
    if (init->upstream == NULL)
        return options_refuse(options, "--upstream URL is missing: where is the API?");
    int code = description == NULL ? -1 : read_description(init, description);
    if (code != -1)
        return code;
    token_make(init->token, init->token_hex);
    if (!write_file(init)) {
        (void)fprintf(stderr, "recibo init: the file would be over 1 MiB\n"); /* as above */
        return EXIT_FAILED;
    }
    code = check_file(init);
    if (code != -1)
        return code;
    if (file != NULL) {
        code = save(init, file);
    } else {
        code = command_finish(&init->text);
        gw_buf_init(&init->text, INIT_TEXT_MAX);
    }
    if (code == EXIT_DONE)
        (void)fprintf(stderr, "The operators' token, shown only now: %s\n", init->token);
    return code;
}

int command_init(int argc, char **argv)
{
    struct options options;
    struct init init = {.arena = NULL};
    int code = options_parse(&command_init_help, argc, argv, &options);
    if (code != -1)
        return code;
    init.arena = arena_new(INIT_ARENA_BYTES);
    if (init.arena == NULL)
        return EXIT_FAILED;
    gw_buf_init(&init.text, INIT_TEXT_MAX);
    code = run(&init, &options);
    gw_buf_fini(&init.text);
    arena_free(init.arena);
    explicit_bzero(init.token, sizeof(init.token));
    return code;
}
