/* `recibo backlog export`: the list as CSV, or a bundle with all evidence. It changes
 * nothing, and must never hold back that something is missing. */
#include "gateway/commands/commands.h"
#include "gateway/commands/csv.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/outfile.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define EXPORT_ARENA_BYTES ((size_t)1 << 30)
#define BUNDLE_PATH_BYTES  100

static const struct option_spec specs[] = {
    {"--output", "FILE", "write the CSV there instead of standard output; it must not exist",
     false},
    {"--bundle", "FILE",
     "write a tar file instead: the CSV, and for each operation its JSON, its timeline and, where "
     "they are kept and the token may see them, the bodies of request and response",
     false},
    LISTING_GROUP,
    LISTING_FILTERS,
};
const struct command_help backlog_export_help = {
    .synopsis = "recibo backlog export [--output FILE | --bundle FILE] [FILTERS]",
    .text =
        "Writes what is unknown, or what the filters say, as CSV (RFC 4180): one operation a "
        "line,\n"
        "each label a column. Cells that a spreadsheet would calculate begin with an apostrophe,\n"
        "control characters are spelled out. Files are made for your eyes alone.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo backlog export > unknown.csv\n"
                "  recibo backlog export --group 1 --bundle evidence.tar\n"
                "  recibo backlog export --state completed --route create-order --newer-than 24h\n",
};

struct export
{
    const struct admin_client *client;
    struct csv csv;
    struct outfile out;
    bool is_bundle, is_blind; /* blind: the token may not see evidence */
    int64_t now_ms;
};

/* ---- one operation of a bundle ---- */

/* GET of the operation's `tail` into the bundle. A 404 leaves it out: -1 as well. */
static int put_answer(struct export *export, const char *id, const char *tail, const char *name,
                      struct admin_reply *ret_reply)
{
    struct gw_buf path;
    char entry[BUNDLE_PATH_BYTES];
    gw_buf_init(&path, 256);
    listing_path(&path, id, tail);
    int code = client_ask(export->client, "GET", path.ptr, span_of(NULL, 0), ret_reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    (void)snprintf(entry, sizeof(entry), "recibo-export/%.32s/%s", id, name); /* it fits */
    if (ret_reply->status == 200)
        (void)outfile_put_entry(&export->out, entry, gw_buf_span(&ret_reply->body),
                                export->now_ms); /* asked in the end */
    else if (ret_reply->status != 404)
        code = client_refused(export->client, ret_reply);
    return code;
}

static bool has_body(const json_t *operation, const char *name)
{
    return words_is_true(json_object_get(operation, name), "body_kept");
}

static int put_evidence(struct export *export, const char *id)
{
    struct admin_reply whole, more;
    int code = put_answer(export, id, "", "operation.json", &whole);
    if (code != -1)
        return code;
    const struct {
        const char *tail, *name;
        bool is_there;
    } parts[] = {{"/why", "why.json", whole.status == 200},
                 {"/request", "request.body", has_body(whole.json, "request")},
                 {"/response", "response.body", has_body(whole.json, "response")}};
    export->is_blind =
        export->is_blind || (whole.status == 200 && json_object_get(whole.json, "request") == NULL);
    for (size_t i = 0; i < GW_COUNT(parts) && code == -1; i++) {
        if (!parts[i].is_there)
            continue;
        code = put_answer(export, id, parts[i].tail, parts[i].name, &more);
        if (code == -1)
            client_forget(&more);
    }
    client_forget(&whole);
    return code;
}

/* ---- all of them ---- */

static int take_page(struct export *export, const json_t *page)
{
    const json_t *operations = json_object_get(page, "operations");
    int code = -1;
    for (size_t i = 0; i < json_array_size(operations) && code == -1; i++) {
        const json_t *operation = json_array_get(operations, i);
        const char *id = json_string_value(json_object_get(operation, "id"));
        if (id == NULL || !csv_add(&export->csv, operation)) {
            (void)fprintf(stderr, "recibo: there are more than one export can hold; narrow the "
                                  "filter\n"); /* nowhere else to tell it */
            return EXIT_FAILED;
        }
        if (export->is_bundle)
            code = put_evidence(export, id);
    }
    return code;
}

static int take_all(const struct options *options, struct export *export)
{
    const struct listing listing = {.state = "unknown", .oldest_first = true};
    struct listing_pages pages;
    struct admin_reply reply;
    int code = listing_open(options, export->client, &listing, LISTING_PAGE_MAX, &pages);
    if (code != -1)
        return code;
    bool goes_on = true;
    while (code == -1 && goes_on) {
        code = listing_next(export->client, &pages, &reply);
        if (code != -1)
            break;
        code = take_page(export, reply.json);
        client_forget(&reply);
        goes_on = listing_has_more(&pages);
    }
    listing_close(&pages);
    if (code == -1 && export->csv.rows == 0)
        code = listing_check_route(options, export->client);
    return code;
}

static bool append(void *ctx, struct span text)
{
    return gw_buf_add(ctx, text);
}

/* A file in a tar says its length first: the CSV is made whole before. */
static bool put_csv_entry(struct export *export)
{
    struct gw_buf text;
    gw_buf_init(&text, EXPORT_ARENA_BYTES);
    bool ok = csv_write(&export->csv, append, &text) &&
              outfile_put_entry(&export->out, "recibo-export/operations.csv", gw_buf_span(&text),
                                export->now_ms) &&
              outfile_end_tar(&export->out);
    gw_buf_fini(&text);
    return ok;
}

static void say_done(const struct export *export)
{
    struct gw_buf out;
    gw_buf_init(&out, 4096);
    words_print_count(&out, (int64_t) export->csv.rows);
    (void)gw_buf_print(&out, " operation%s written to %s.\n", export->csv.rows == 1 ? "" : "s",
                       export->out.path); /* whoever flushes tells if it failed */
    words_flush(&out);
    gw_buf_fini(&out);
}

static int run(const struct options *options, struct export *export)
{
    const char *bundle = options_value(options, "--bundle");
    int code =
        outfile_open(&export->out, bundle != NULL ? bundle : options_value(options, "--output"));
    if (code != -1)
        return code;
    code = take_all(options, export);
    bool ok = code == -1;
    if (ok)
        ok = export->is_bundle ? put_csv_entry(export)
                               : csv_write(&export->csv, outfile_put, &export->out);
    int closed = outfile_close(&export->out, ok);
    if (code == -1)
        code = closed == -1 && !ok ? EXIT_FAILED : closed;
    if (code == -1 && export->out.path != NULL)
        say_done(export);
    if (code == -1 && export->is_blind)
        (void)fprintf(stderr, "recibo: this token has no right `evidence`: headers and bodies are "
                              "left out\n"); /* nowhere else to tell it */
    return code == -1 ? EXIT_DONE : code;
}

int backlog_export(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct gw_clock *clock = gw_clock_system();
    int code = options_parse(&backlog_export_help, argc, argv, &options);
    if (code == -1 && options_has(&options, "--json"))
        code = options_refuse(&options, "export writes CSV; for JSON: recibo backlog list --all "
                                        "--json");
    if (code == -1 && options_has(&options, "--bundle") && options_has(&options, "--output"))
        code = options_refuse(&options, "give --output or --bundle, not both");
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    struct arena *arena = arena_new(EXPORT_ARENA_BYTES);
    if (arena == NULL)
        return EXIT_FAILED;
    struct export export = {.client = &client,
                            .is_bundle = options_has(&options, "--bundle"),
                            .now_ms = clock->wall_ms(clock)};
    csv_init(&export.csv, arena);
    code = run(&options, &export);
    arena_free(arena);
    return code;
}
