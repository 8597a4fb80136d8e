/* `recibo explain METHOD PATH`: which route a request meets and what would happen
 * to it. It decides with the same functions that serve, and must never send.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the
 * command looks at that once. */
#include "gateway/commands/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "conf/promise.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"

#define EXPLAIN_ARENA_BYTES ((size_t)256 << 20)
#define EXPLAIN_BODY_BYTES  ((size_t)1 << 20)

static const struct option_spec specs[] = {
    {"-H", "'NAME: VALUE'", "a header of the request", true},
    {"--body", "FILE", "its body; - is standard input", false},
};
const struct command_help command_explain_help = {
    .synopsis = "recibo explain METHOD PATH [-H 'NAME: VALUE']... [--body FILE]",
    .text =
        "Says which route such a request meets and where it stands in the file, the key that\n"
        "would be read, what is compared, and what happens in each situation. Nothing is sent.\n"
        "Exit: 0 a route fits, 3 none does, 2 usage or configuration.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_min = 2,
    .words_max = 2,
    .words = "METHOD PATH",
    .examples = "  recibo explain POST /orders -H 'Idempotency-Key: 1' --body order.json\n"
                "  recibo explain GET /orders/7\n",
    .set = OPTIONS_FILE,
};

/* ---- the request ---- */

static bool add_field(struct explain_request *request, const char *text)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text || request->field_count == EXPLAIN_FIELDS_MAX)
        return false;
    struct span value = span_str(colon + 1);
    while (value.len > 0 && (value.ptr[0] == ' ' || value.ptr[0] == '\t'))
        value = span_of(value.ptr + 1, value.len - 1);
    while (value.len > 0 && (value.ptr[value.len - 1] == ' ' || value.ptr[value.len - 1] == '\t'))
        value.len--;
    request->fields[request->field_count++] =
        (struct http_field){span_of(text, (size_t)(colon - text)), value};
    return true;
}

static bool read_body(struct explain_request *request, const char *file)
{
    int fd = strcmp(file, "-") == 0 ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    char *room = arena_take(request->arena, EXPLAIN_BODY_BYTES + 1);
    size_t len = 0;
    ssize_t got = fd < 0 || room == NULL ? -1 : 1;
    while (got > 0 && len <= EXPLAIN_BODY_BYTES) {
        got = read(fd, room + len, EXPLAIN_BODY_BYTES + 1 - len);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            len += (size_t)got;
    }
    if (fd > STDIN_FILENO)
        (void)close(fd); /* read only */
    if (got < 0 || len > EXPLAIN_BODY_BYTES) {
        (void)fprintf(stderr, "recibo explain: the body cannot be read, or is over 1 MiB: %s\n",
                      file); /* nowhere else to tell it */
        return false;
    }
    request->has_body = true;
    request->body = span_of(room, len);
    return true;
}

/* ---- the answer ---- */

static void put_methods(uint32_t methods, struct gw_buf *out)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if ((methods & route_method_bit(span_str(names[i]))) != 0)
            (void)gw_buf_print(out, " %s", names[i]);
}

static void put_place(const struct conf *conf, const struct route_policy *route, struct gw_buf *out)
{
    (void)gw_buf_print(out, "It meets the route %.*s (%.*s line %u):\n\n", (int)route->name.len,
                       route->name.ptr, (int)conf->file.len, conf->file.ptr, route->line);
    promise_title(route, out);
}

static void put_params(const struct route_match *match, struct gw_buf *out)
{
    for (uint32_t i = 0; i < match->param_count; i++)
        (void)gw_buf_print(out, "  {%.*s}      %.*s\n", (int)match->params[i].name.len,
                           match->params[i].name.ptr, (int)match->params[i].value.len,
                           match->params[i].value.ptr);
}

static void explain_found(const struct explain_request *request, struct gw_buf *out)
{
    const struct route_policy *route = request->match.route;
    put_place(request->conf, route, out);
    if (route->mode == ROUTE_PASS) {
        (void)gw_buf_print(out, "   not protected\n");
        put_params(&request->match, out);
        (void)gw_buf_print(out, "\nIt is passed on as received, and so is a repeat. No receipt is "
                                "kept.\n");
        return;
    }
    bool is_observed = route->mode == ROUTE_OBSERVE;
    (void)gw_buf_print(out, is_observed ? "   not protected\n" : "\n");
    put_params(&request->match, out);
    if (is_observed)
        (void)gw_buf_print(out, "\nIt is passed on as received, and so is a repeat: the route "
                                "observes, and promises nothing\nyet. This is what it would do "
                                "with mode: enforce:\n\n");
    (void)gw_buf_print(out, "  Owner     ");
    if (route->owner_index == ROUTE_NO_OWNER)
        (void)gw_buf_print(out, "none is named; enforce needs one");
    else
        promise_owner(&request->conf->owners[route->owner_index], out);
    (void)gw_buf_print(out, "\n  Key       ");
    promise_key(route, out);
    if (route->local != NULL) {
        (void)gw_buf_print(out, "\n  Taken     ");
        promise_taken(route, out);
    }
    (void)gw_buf_print(out, "\n  Compared  ");
    promise_compared(route, out);
    (void)gw_buf_print(out, "\n");
    explain_content(request, out);
    explain_situations(request->conf, route, out);
}

static bool is_own(const struct conf *conf, struct span path)
{
    return conf->own_prefix.len > 0 && path.len >= conf->own_prefix.len &&
           memcmp(path.ptr, conf->own_prefix.ptr, conf->own_prefix.len) == 0;
}

static int explain_route(struct explain_request *request, struct gw_buf *out)
{
    const struct conf *conf = request->conf;
    size_t work_len = 2 * request->path.len + 2;
    char *work = arena_take(request->arena, work_len);
    if (work == NULL)
        return EXIT_FAILED;
    (void)gw_buf_print(out, "%.*s %.*s\n", (int)request->method.len, request->method.ptr,
                       (int)request->path.len, request->path.ptr);
    if (is_own(conf, request->path)) {
        (void)gw_buf_print(out,
                           "It is answered by Recibo itself: the path lies under own_prefix.\n");
        return EXIT_DONE;
    }
    switch (route_find(&conf->routes, request->method, request->path, work, work_len,
                       &request->match)) {
    case ROUTE_FOUND:
        explain_found(request, out);
        return EXIT_DONE;
    case ROUTE_NONE:
        (void)gw_buf_print(out, "It meets no route: 404. Nothing is sent. A pass route with the "
                                "path /* would take what no other route takes.\n");
        return EXIT_NOT_FOUND;
    case ROUTE_WRONG_METHOD:
        (void)gw_buf_print(out, "The path has a route, but not for this method: 405. Nothing is "
                                "sent. Allowed here:");
        put_methods(request->match.allowed_methods, out);
        (void)gw_buf_print(out, "\n");
        return EXIT_NOT_FOUND;
    case ROUTE_AMBIGUOUS_PATH:
        (void)gw_buf_print(out, "The path can be read in more than one way, and one of them meets "
                                "a guarded route: 400. Nothing is sent.\n");
        return EXIT_NOT_FOUND;
    }
    return EXIT_FAILED;
}

static int read_line(const struct options *options, struct explain_request *request)
{
    const char *body = options_value(options, "--body"), *header;
    uint32_t at = 0;
    request->method = span_str(options->words[0]);
    request->path = span_str(options->words[1]);
    while ((header = options_next(options, "-H", &at)) != NULL)
        if (!add_field(request, header))
            return options_refuse(options, "-H is 'NAME: VALUE', at most %d of them, not \"%.64s\"",
                                  EXPLAIN_FIELDS_MAX, header);
    if (route_method_bit(request->method) == 0)
        return options_refuse(options, "\"%.64s\" is no method that is served", options->words[0]);
    if (options->words[1][0] != '/')
        return options_refuse(options, "PATH begins with /, not \"%.64s\"", options->words[1]);
    return body != NULL && !read_body(request, body) ? EXIT_USAGE : -1;
}

static int explain(const struct options *options, struct explain_request *request)
{
    struct conf *conf = NULL;
    struct gw_buf out;
    int code = read_line(options, request);
    if (code != -1)
        return code;
    if (!command_load(command_file(options), false, &conf))
        return EXIT_USAGE;
    request->conf = conf;
    gw_buf_init(&out, COMMAND_TEXT_MAX);
    code = explain_route(request, &out);
    int printed = command_finish(&out);
    conf_unref(conf);
    return printed == EXIT_DONE ? code : printed;
}

int command_explain(int argc, char **argv)
{
    struct options options;
    int code = options_parse(&command_explain_help, argc, argv, &options);
    if (code != -1)
        return code;
    struct explain_request request = {.arena = arena_new(EXPLAIN_ARENA_BYTES)};
    if (request.arena == NULL)
        return EXIT_FAILED;
    code = explain(&options, &request);
    arena_free(request.arena);
    return code;
}
