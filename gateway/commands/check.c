/* `recibo check`: is the configuration valid, and what does it promise? It must never start
 * anything, and connect to nothing unless --live asks for it. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/commands/check_more.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"
#include "gateway/effects.h"

static const struct option_spec specs[] = {
    {"--expect", "FILE", "test which route requests meet, instead of printing the promise", false},
    {"--live", NULL, "ask the upstreams, with GETs only, instead of printing the promise", false},
    {"--json", NULL, "print {\"valid\", \"errors\", \"warnings\"} instead", false},
};
const struct command_help command_check_help = {
    .synopsis = "recibo check [-c FILE] [--expect FILE | --live | --json]",
    .text =
        "Reads the configuration, reports everything that is wrong with it at once, each with its\n"
        "place, and prints what a valid one promises: for each route what may make an operation "
        "be\n"
        "sent again and who says so (proved, declared, asserted), what becomes unknown, how long\n"
        "answers are kept, and the worst case of memory. It starts and connects to nothing.\n"
        "FILE of --expect is a list in YAML: each entry has a `request` (METHOD PATH), perhaps\n"
        "`headers` and a `body`, and what is expected: `route` (a name, or none), `mode`, `key` "
        "(as\n"
        "it would be read, or none), `status` (404, 405 or 400: no route takes it), `problem` "
        "(the\n"
        "code that the request would get, or none). Nothing is sent.\n"
        "--live asks each upstream for / and for the plain paths of its routes, with GETs and no\n"
        "credentials: is it reached, does it keep connections, does it want a login that holds for "
        "a\n"
        "connection (NTLM, Negotiate), does it redirect to https, does it name its own address, "
        "so\n"
        "that callers are led round Recibo?\n"
        "Exit: 0 valid (there may be warnings) and as expected, 1 not as expected or a problem, 2 "
        "not valid.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo check\n"
                "  recibo check -c new.yaml --json\n"
                "  recibo check --expect requests.yaml\n",
    .set = OPTIONS_FILE,
};

/* File names may hold any bytes; JSON may not. */
static json_t *json_of(struct span text)
{
    char room[sizeof(((struct conf_finding *)NULL)->text)];
    json_t *string = json_stringn(text.ptr, text.len);
    if (string != NULL || text.len > sizeof(room))
        return string;
    for (size_t i = 0; i < text.len; i++)
        room[i] = (unsigned char)text.ptr[i] < 0x80 ? text.ptr[i] : '?';
    return json_stringn(room, text.len);
}

static json_t *finding_json(const char *file, const struct conf_finding *finding)
{
    size_t path_len = 0;
    if (finding->message_at > finding->path_at)
        path_len = (size_t)(finding->message_at - finding->path_at) - 2; /* without ": " */
    return json_pack("{s:o, s:i, s:i, s:o, s:o}", "file", json_of(span_str(file)), "line",
                     (int)finding->line, "column", (int)finding->column, "path",
                     json_of(span_of(finding->text + finding->path_at, path_len)), "message",
                     json_of(span_str(finding->text + finding->message_at)));
}

static json_t *findings_json(const char *file, const struct conf_report *report, bool warnings)
{
    json_t *list = json_array();
    for (uint32_t i = 0; list != NULL && i < report->count; i++)
        if (report->findings[i].is_warning == warnings &&
            json_array_append_new(list, finding_json(file, &report->findings[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int print_json(const char *file, const struct conf_report *report, bool valid)
{
    json_t *root = json_pack("{s:b, s:o, s:o}", "valid", (int)valid, "errors",
                             findings_json(file, report, false), "warnings",
                             findings_json(file, report, true));
    bool good = root != NULL && json_dumpf(root, stdout, JSON_INDENT(2)) == 0 &&
                printf("\n") == 1 && fflush(stdout) == 0;
    json_decref(root);
    if (!good)
        (void)fprintf(stderr, "recibo check: the output could not be written\n"); /* last resort */
    return !good ? EXIT_FAILED : valid ? EXIT_DONE : EXIT_USAGE;
}

/* Local statements, judged by the database itself: one more finding, at its route. */
static enum gw_status check_effects(const struct conf *conf, struct conf_report *report)
{
    struct gw_error err = {0};
    enum gw_status status = effects_check(conf, &err);
    if (status == GW_OK)
        return GW_OK;
    struct conf_finding *findings =
        realloc(report->findings, (report->count + 1) * sizeof(*findings));
    if (findings == NULL)
        return GW_NOMEM;
    report->findings = findings;
    struct conf_finding *added = &findings[report->count++];
    *added = (struct conf_finding){0};
    int at =
        snprintf(added->text, sizeof(added->text), "%.*s: ", (int)conf->file.len, conf->file.ptr);
    at = at < 0 || (size_t)at >= sizeof(added->text) ? 0 : at;
    added->path_at = added->message_at = (uint16_t)at;
    (void)snprintf(added->text + at, sizeof(added->text) - (size_t)at, "%s", err.text); /* cut */
    return status;
}

/* The promise, or the answers to what was asked instead. */
static int tell(const struct conf *conf, const struct options *options)
{
    const char *expected = options_value(options, "--expect");
    if (expected != NULL)
        return check_expect(conf, expected);
    if (options_has(options, "--live"))
        return check_live(conf);
    struct gw_buf out;
    gw_buf_init(&out, COMMAND_TEXT_MAX);
    conf_promise(conf, &out);
    return command_finish(&out);
}

static int check_file(const char *file, const struct options *options)
{
    bool as_json = options_has(options, "--json");
    struct conf *conf = NULL;
    struct conf_report report;
    enum gw_status status = conf_load(file, &conf, &report);
    int code = EXIT_USAGE;
    if (status == GW_OK)
        status = check_effects(conf, &report);
    if (as_json) {
        code = print_json(file, &report, status == GW_OK);
    } else {
        command_print_findings(&report, true);
        if (status == GW_OK)
            code = tell(conf, options);
    }
    conf_report_fini(&report);
    conf_unref(conf);
    return code;
}

int command_check(int argc, char **argv)
{
    struct options options;
    int code = options_parse(&command_check_help, argc, argv, &options);
    if (code != -1)
        return code;
    if (options_has(&options, "--json") + options_has(&options, "--expect") +
            options_has(&options, "--live") >
        1)
        return options_refuse(&options, "of --expect, --live and --json one at a time");
    return check_file(command_file(&options), &options);
}
