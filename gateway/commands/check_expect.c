/* Requests and what is expected of them. It decides with the functions that serve, and must
 * never send anything.
 *
 * Ignored results: a buffer that is full is marked as failed, and the end of the command looks
 * at that once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/yaml.h"
#include "gateway/commands/check_more.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/explain.h"
#include "gateway/commands/loading.h"
#include "gateway/commands/words.h"

#define EXPECT_ARENA_BYTES ((size_t)256 << 20)

struct expect {
    struct arena *arena;
    const struct conf *conf;
    const char *file;
    struct findings findings;
    struct conf_report report;
    struct gw_buf out;
    uint32_t held, failed; /* requests */
};

/* What one request meets. */
struct met {
    struct span route; /* "none": Recibo answers itself */
    struct span mode;
    struct span key;
    struct span problem;
    uint16_t status; /* of Recibo's own refusal; 0: none */
};

static void note(struct expect *expect, const struct yaml_node *node, const char *what)
{
    char path[YAML_PATH_BYTES];
    yaml_path(node, NULL, path);
    findings_add(&expect->findings,
                 &(struct finding_place){.line = node->line, .column = node->column, .path = path},
                 "%s", what);
}

/* ---- reading the file ---- */

static bool is_known(struct span name)
{
    static const char *const names[] = {"request", "headers", "body",   "route",
                                        "mode",    "key",     "status", "problem"};
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (span_equal(name, span_str(names[i])))
            return true;
    return false;
}

static void check_entry(struct expect *expect, const struct yaml_node *entry)
{
    uint32_t expectations = 0;
    if (entry->kind != YAML_MAP) {
        note(expect, entry, "each entry has a request and what is expected of it");
        return;
    }
    for (const struct yaml_node *member = entry->child; member != NULL; member = member->next) {
        bool is_headers = span_equal(member->name, SPAN("headers"));
        if (!is_known(member->name))
            note(expect, member,
                 "is none of request, headers, body, route, mode, key, status, problem");
        else if (is_headers != (member->kind == YAML_MAP) ||
                 (!is_headers && member->kind != YAML_SCALAR))
            note(expect, member, is_headers ? "names and their values" : "one value");
        for (const struct yaml_node *header = is_headers ? member->child : NULL; header != NULL;
             header = header->next)
            if (header->kind != YAML_SCALAR)
                note(expect, header, "one value");
        bool is_input = is_headers || span_equal(member->name, SPAN("request")) ||
                        span_equal(member->name, SPAN("body"));
        expectations += !is_input;
    }
    if (yaml_member(entry, SPAN("request")) == NULL)
        note(expect, entry, "has no request, such as \"POST /orders\"");
    else if (expectations == 0)
        note(expect, entry, "expects nothing: say route, mode, key, status or problem");
}

static bool read_file(struct expect *expect, struct span *ret)
{
    char *room = arena_take(expect->arena, YAML_TEXT_BYTES_MAX + 2);
    int fd = open(expect->file, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t got = fd < 0 || room == NULL ? -1 : 1;
    while (got > 0 && len <= YAML_TEXT_BYTES_MAX) {
        got = read(fd, room + len, YAML_TEXT_BYTES_MAX + 1 - len);
        len += got > 0 ? (size_t)got : 0;
    }
    if (got < 0)
        (void)fprintf(stderr, "recibo check: %s: %s\n", expect->file,
                      strerror(errno)); /* nowhere else to tell it */
    if (fd >= 0)
        (void)close(fd); /* read only */
    *ret = span_of(room, len);
    return got >= 0;
}

/* ---- one request ---- */

static bool add_headers(struct explain_request *request, const struct yaml_node *headers)
{
    for (const struct yaml_node *header = headers == NULL ? NULL : headers->child; header != NULL;
         header = header->next) {
        if (request->field_count == EXPLAIN_FIELDS_MAX)
            return false;
        request->fields[request->field_count++] =
            (struct http_field){.name = header->name, .value = header->text};
    }
    return true;
}

static const char *make_request(struct expect *expect, const struct yaml_node *entry,
                                struct explain_request *ret)
{
    struct span line = yaml_member(entry, SPAN("request"))->text;
    const struct yaml_node *body = yaml_member(entry, SPAN("body"));
    const char *space = memchr(line.ptr, ' ', line.len);
    *ret = (struct explain_request){.arena = expect->arena, .conf = expect->conf};
    if (space == NULL || space[1] != '/')
        return "is METHOD and PATH, such as \"POST /orders\"";
    ret->method = span_of(line.ptr, (size_t)(space - line.ptr));
    ret->path = span_of(space + 1, line.len - ret->method.len - 1);
    if (route_method_bit(ret->method) == 0)
        return "has a method that is not served";
    if (!add_headers(ret, yaml_member(entry, SPAN("headers"))))
        return "has too many headers";
    ret->has_body = body != NULL;
    ret->body = body == NULL ? span_of(NULL, 0) : body->text;
    return NULL;
}

static bool is_own(const struct conf *conf, struct span path)
{
    return conf->own_prefix.len > 0 && path.len >= conf->own_prefix.len &&
           memcmp(path.ptr, conf->own_prefix.ptr, conf->own_prefix.len) == 0;
}

static void meet_route(struct explain_request *request, struct met *met)
{
    static const char *const modes[] = {
        [ROUTE_ENFORCE] = "enforce", [ROUTE_PASS] = "pass", [ROUTE_OBSERVE] = "observe"};
    const struct route_policy *route = request->match.route;
    met->route = route->name;
    met->mode = span_str(modes[route->mode]);
    if (route->mode == ROUTE_PASS)
        return;
    explain_key(request, &met->key, &met->problem);
}

static struct met meet(struct expect *expect, struct explain_request *request)
{
    struct met met = {
        .route = SPAN("none"), .mode = SPAN("none"), .key = {"", 0}, .problem = {"", 0}};
    size_t work_len = 2 * request->path.len + 2;
    char *work = arena_take(expect->arena, work_len);
    if (work == NULL || is_own(expect->conf, request->path))
        return met;
    switch (route_find(&expect->conf->routes, request->method, request->path, work, work_len,
                       &request->match)) {
    case ROUTE_FOUND:
        meet_route(request, &met);
        break;
    case ROUTE_NONE:
        met.status = 404;
        break;
    case ROUTE_WRONG_METHOD:
        met.status = 405;
        break;
    case ROUTE_AMBIGUOUS_PATH:
        met.status = 400;
        break;
    }
    return met;
}

/* ---- comparing ---- */

static bool compare(struct expect *expect, const struct yaml_node *entry, const char *name,
                    struct span is)
{
    const struct yaml_node *wanted = yaml_member(entry, span_str(name));
    if (is.len == 0)
        is = SPAN("none");
    if (wanted == NULL || span_equal(wanted->text, is))
        return true;
    (void)gw_buf_print(&expect->out, "%s:%u: ", expect->file, wanted->line);
    words_print(&expect->out, yaml_member(entry, SPAN("request"))->text);
    (void)gw_buf_print(&expect->out, ": %s is ", name);
    words_print(&expect->out, is);
    (void)gw_buf_add(&expect->out, SPAN(", not "));
    words_print(&expect->out, wanted->text);
    (void)gw_buf_byte(&expect->out, '\n');
    return false;
}

static void judge(struct expect *expect, const struct yaml_node *entry)
{
    struct explain_request request;
    char status[8];
    const char *fault = make_request(expect, entry, &request);
    if (fault != NULL) {
        note(expect, yaml_member(entry, SPAN("request")), fault);
        return;
    }
    const struct met met = meet(expect, &request);
    (void)snprintf(status, sizeof(status), "%u", met.status); /* at most five digits */
    bool route = compare(expect, entry, "route", met.route);
    bool mode = compare(expect, entry, "mode", met.mode);
    bool key = compare(expect, entry, "key", met.key);
    bool problem = compare(expect, entry, "problem", met.problem);
    bool refused = compare(expect, entry, "status", met.status == 0 ? SPAN("") : span_str(status));
    bool holds = route && mode && key && problem && refused;
    expect->held += holds;
    expect->failed += !holds;
}

static int judge_all(struct expect *expect, const struct yaml_node *root)
{
    for (const struct yaml_node *entry = root->child; entry != NULL; entry = entry->next)
        check_entry(expect, entry);
    for (const struct yaml_node *entry = root->child; entry != NULL && !expect->findings.has_error;
         entry = entry->next)
        judge(expect, entry);
    if (expect->findings.has_error)
        return EXIT_USAGE;
    (void)gw_buf_print(&expect->out, "%s: %u of %u requests are led as expected.\n", expect->file,
                       expect->held, expect->held + expect->failed);
    return expect->failed == 0 ? EXIT_DONE : EXIT_FAILED;
}

static int run(struct expect *expect)
{
    struct span text;
    struct yaml_node *root = NULL;
    if (!read_file(expect, &text))
        return EXIT_USAGE;
    enum gw_status status = yaml_read(expect->arena, text, &expect->findings, &root);
    if (status == GW_NOMEM)
        return EXIT_FAILED;
    if (status == GW_OK && (root == NULL || root->kind != YAML_LIST)) {
        findings_add(&expect->findings, &(struct finding_place){.path = ""}, "%s",
                     "is a list of requests and what is expected of them");
        status = GW_INVALID;
    }
    return status == GW_OK && !expect->findings.has_error ? judge_all(expect, root) : EXIT_USAGE;
}

int check_expect(const struct conf *conf, const char *file)
{
    struct expect expect = {.arena = arena_new(EXPECT_ARENA_BYTES), .conf = conf, .file = file};
    if (expect.arena == NULL)
        return EXIT_FAILED;
    expect.findings = (struct findings){.file = file, .report = &expect.report};
    gw_buf_init(&expect.out, COMMAND_TEXT_MAX);
    int code = run(&expect);
    command_print_findings(&expect.report, false);
    int printed = command_finish(&expect.out);
    conf_report_fini(&expect.report);
    arena_free(expect.arena);
    return code == EXIT_DONE ? printed : code;
}
