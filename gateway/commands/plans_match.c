/* `recibo backlog match`: holds what is unknown against a list that the upstream gave
 * out, and makes plans of it. It must never settle anything, nor call something executed
 * that two could mean, nor not executed what the file may only spell differently. */
#include "gateway/commands/plans_match.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/plans.h"
#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

#define ARENA_BYTES ((size_t)256 << 20)
#define PATH_BYTES  ((size_t)64 << 10)
#define BODY_BYTES  ((size_t)8 << 20)
#define PLAN_SHARE  10000 /* operations of one plan */

static const struct option_spec specs[] = {
    {"--column", "NAME", "the column of the file that holds the number", false},
    {"--label", "NAME", "the label of the operations that holds the same number", false},
    {"--complete-until", "TIME",
     "the file has everything that ran until 2026-11-30T04:00:00Z: what is not in it did not",
     false},
    PLANS_WHERE,
    {"--separator", "CHARACTER", "between the columns, if it is no comma: ; or tab", false},
    {"--dry-run", NULL, "only the tables: no plan, no contradiction", false},
    {"--note", "TEXT", "for the plans and the contradictions (default: the name of the file)",
     false},
};

const struct command_help backlog_match_help = {
    .synopsis = "recibo backlog match FILE.csv --column NAME --label NAME [OPTIONS]",
    .text =
        "Looks for each unknown operation in a list that the upstream gave out (CSV, - is\n"
        "standard input), by a number that both have, and prints what it found:\n"
        "  once       it ran: a plan with the verdict executed\n"
        "  twice      it ran twice: the operation is marked as contradicted, and no plan has it\n"
        "  not there  it did not run, if the list is complete past its quiet time\n"
        "             (--complete-until): a plan with the verdict not_executed\n"
        "What may be there in another spelling, or belongs to several operations, is for a\n"
        "person, and so is what is not there while no later operation is. The plans settle\n"
        "nothing by themselves. Exit code 1: something was found twice, or the list proves no\n"
        "absence (no record, a blank one, one that looks like no operation's number, or an\n"
        "operation that ran is missing). A record counts as carried out: take out what was\n"
        "rejected. The labels of operations past their retention are gone: what\n"
        "is found once may have been an older one with the same number.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_min = 1,
    .words_max = 1,
    .words = "FILE.csv",
    .examples = "  recibo backlog match orders.csv --column ORDER_NO --label order\n"
                "  recibo backlog match orders.csv --column ORDER_NO --label order \\\n"
                "      --complete-until 2026-11-30T04:00:00Z --where route=create-order\n",
};

/* ---- what is unknown ---- */

static int make_path(const struct match *match, struct gw_buf *path)
{
    json_t *where = NULL;
    int code = plans_read_where(match->options, match->client, &where);
    if (code != -1)
        return code;
    /* A buffer that is full stays marked, and is asked once at the end. */
    (void)gw_buf_add(path, SPAN("/v1/operations?state=unknown&order=oldest&limit=500"));
    for (void *at = json_object_iter(where); at != NULL; at = json_object_iter_next(where, at)) {
        const json_t *value = json_object_iter_value(at);
        if (strcmp(json_object_iter_key(at), "state") == 0)
            code = options_refuse(match->options, "--where state: it is what is unknown, always");
        (void)gw_buf_byte(path, '&');
        client_escape(path, span_str(json_object_iter_key(at)));
        (void)gw_buf_byte(path, '=');
        client_escape(path, span_of(json_string_value(value), json_string_length(value)));
    }
    json_decref(where);
    if (code == -1 && path->failed)
        code = options_refuse(match->options, "--where is too long");
    return code;
}

int match_no_memory(void)
{
    (void)fprintf(stderr, "recibo: out of memory\n"); /* nowhere else to tell it */
    return EXIT_FAILED;
}

static int take_entry(struct match *match, const json_t *operation)
{
    struct match_entry *entry = &match->entries[match->count];
    struct span id = words_of(operation, "id");
    const json_t *labels = json_object_get(operation, "labels");
    if (match->count == MATCH_ENTRIES_MAX)
        return options_refuse(match->options, "more than %d are unknown; narrow it with --where",
                              MATCH_ENTRIES_MAX);
    if (id.len == 0 || id.len >= sizeof(entry->id)) {
        (void)fprintf(stderr, "recibo: the gateway listed an operation without an id that could "
                              "be one; is it of this version?\n"); /* nowhere else */
        return EXIT_FAILED;
    }
    /* It has the label of the operation that it takes back: the file would speak of that. */
    if (words_of(operation, "compensates").len > 0) {
        match->compensations++;
        return -1;
    }
    memcpy(entry->id, id.ptr, id.len);
    entry->version = (uint32_t)words_number(operation, "version");
    if (!gw_rfc3339_parse(words_of(operation, "created_at"), &entry->created_ms))
        entry->created_ms = 1; /* since ever */
    entry->is_contradicted = words_is_true(operation, "contradicted");
    struct span label = words_of(labels, options_value(match->options, "--label"));
    if (!arena_copy(match->arena, label, &entry->label) ||
        !arena_copy(match->arena, words_of(operation, "route"), &entry->route))
        return match_no_memory();
    match->count++;
    return -1;
}

static int take_page(struct match *match, const json_t *page)
{
    const json_t *operations = json_object_get(page, "operations");
    int code = -1;
    for (size_t i = 0; i < json_array_size(operations) && code == -1; i++)
        code = take_entry(match, json_array_get(operations, i));
    return code;
}

static int list_unknown(struct match *match)
{
    struct gw_buf path;
    struct admin_reply reply;
    gw_buf_init(&path, PATH_BYTES);
    int code = make_path(match, &path);
    size_t len = path.len;
    bool goes_on = code == -1;
    for (uint32_t i = 0; goes_on && code == -1 && i < MATCH_ENTRIES_MAX; i++) {
        code = gw_buf_byte(&path, '\0')
                   ? client_want(match->client, "GET", path.ptr, span_of(NULL, 0), &reply)
                   : options_refuse(match->options, "--where is too long");
        if (code != -1)
            break;
        code = take_page(match, reply.json);
        struct span next = words_of(reply.json, "next");
        goes_on = next.len > 0;
        path.len = len;
        (void)gw_buf_add(&path, SPAN("&cursor="));
        client_escape(&path, next);
        client_forget(&reply);
    }
    gw_buf_fini(&path);
    return code;
}

/* ---- what comes of it ---- */

static void add_note(const struct match *match, struct gw_buf *body)
{
    const char *note = options_value(match->options, "--note");
    struct gw_buf text;
    gw_buf_init(&text, 1000);
    (void)gw_buf_print(&text, "matched with %.500s", match->options->words[0]); /* it fits */
    (void)gw_buf_add(body, SPAN("\"note\":")); /* asked once at the end */
    gw_json_string(body, note != NULL ? span_str(note) : gw_buf_span(&text));
    gw_buf_fini(&text);
}

static int post_plan(struct match *match, const char *verdict, struct gw_buf *body)
{
    struct match_plan *plan = &match->plans[match->plan_count];
    struct admin_reply reply;
    if (match->plan_count == MATCH_PLANS_MAX || body->failed) {
        (void)fprintf(stderr,
                      "recibo: no plan for the rest: %d plans of %d are the most at once; "
                      "narrow it with --where\n",
                      MATCH_PLANS_MAX, PLAN_SHARE); /* nowhere else to tell it */
        return EXIT_FAILED;
    }
    int code = client_want(match->client, "POST", "/v1/plans", gw_buf_span(body), &reply);
    if (code != -1)
        return code;
    const json_t *made = json_object_get(reply.json, "plan");
    struct span id = words_of(made, "id");
    plan->verdict = verdict;
    plan->count = (uint32_t)words_number(made, "count");
    (void)snprintf(plan->id, sizeof(plan->id), "%.*s", (int)id.len, id.ptr); /* 31 bytes */
    match->plan_count++;
    client_forget(&reply);
    return -1;
}

/* Those of one kind from *at on, as many as one plan takes. */
static int make_plan(struct match *match, enum match_kind kind, const char *verdict, uint32_t *at)
{
    struct gw_buf body;
    uint32_t count = 0;
    gw_buf_init(&body, BODY_BYTES);
    (void)gw_buf_print(&body, "{\"verdict\":\"%s\",", verdict); /* asked once at the end */
    add_note(match, &body);
    (void)gw_buf_add(&body, SPAN(",\"operations\":["));
    for (; *at < match->count && count < PLAN_SHARE; (*at)++) {
        const struct match_entry *entry = &match->entries[*at];
        if (entry->kind == kind && entry->is_planned)
            (void)gw_buf_print(&body, "%s{\"id\":\"%s\",\"version\":%u}", count++ > 0 ? "," : "",
                               entry->id, entry->version);
    }
    (void)gw_buf_add(&body, SPAN("]}"));
    int code = count == 0 ? -1 : post_plan(match, verdict, &body);
    gw_buf_fini(&body);
    return code;
}

static int mark_contradiction(struct match *match, struct match_entry *entry)
{
    struct gw_buf path, body;
    struct admin_reply reply;
    gw_buf_init(&path, 256);
    gw_buf_init(&body, 4096);
    listing_path(&path, entry->id, "/contradiction");
    (void)gw_buf_print(&body, "{\"version\":%u,", entry->version); /* small */
    add_note(match, &body);
    (void)gw_buf_byte(&body, '}');
    int code = client_want(match->client, "POST", path.ptr, gw_buf_span(&body), &reply);
    gw_buf_fini(&path);
    gw_buf_fini(&body);
    if (code == -1) {
        match->bad++;
        entry->why = "marked as contradicted";
        client_forget(&reply);
    }
    if (code == EXIT_CHANGED) {
        entry->why = "it has changed meanwhile, and is not marked";
        code = -1;
    }
    return code;
}

static int carry_out(struct match *match)
{
    static const struct {
        enum match_kind kind;
        const char *verdict;
    } verdicts[] = {{MATCH_ONCE, "executed"}, {MATCH_NONE, "not_executed"}};
    int code = -1;
    for (uint32_t i = 0; i < match->count; i++)
        if (match->entries[i].kind == MATCH_TWICE)
            match->entries[i].why = match->entries[i].is_contradicted
                                        ? "it was marked as contradicted before"
                                        : "not marked: it is a dry run";
    if (options_has(match->options, "--dry-run"))
        return -1;
    for (uint32_t i = 0; i < match->count && code == -1; i++)
        if (match->entries[i].kind == MATCH_TWICE && !match->entries[i].is_contradicted)
            code = mark_contradiction(match, &match->entries[i]);
    for (size_t v = 0; v < GW_COUNT(verdicts); v++)
        for (uint32_t at = 0; at < match->count && code == -1;)
            code = make_plan(match, verdicts[v].kind, verdicts[v].verdict, &at);
    return code;
}

/* ---- the command ---- */

static int check_options(const struct options *options, int64_t *ret_complete_ms)
{
    struct gw_clock *clock = gw_clock_system();
    const char *until = options_value(options, "--complete-until");
    if (!options_has(options, "--column"))
        return options_refuse(options, "--column is missing: which one of the file is it?");
    if (!options_has(options, "--label"))
        return options_refuse(options, "--label is missing: which one of the operations is it?");
    *ret_complete_ms = 0;
    if (until == NULL)
        return -1;
    if (!gw_rfc3339_parse(span_str(until), ret_complete_ms) || *ret_complete_ms <= 0)
        return options_refuse(options, "--complete-until is a time such as 2026-11-30T04:00:00Z");
    if (*ret_complete_ms > clock->wall_ms(clock))
        return options_refuse(options, "--complete-until is in the future: no file knows that yet");
    return -1;
}

int backlog_match(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct match match = {.options = &options, .client = &client};
    int code = options_parse(&backlog_match_help, argc, argv, &options);
    if (code == -1)
        code = check_options(&options, &match.complete_ms);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    match.arena = arena_new(ARENA_BYTES);
    if (match.arena != NULL)
        match.entries = arena_take(match.arena, MATCH_ENTRIES_MAX * sizeof(*match.entries));
    code = match.entries == NULL ? match_no_memory()
                                 : match_file_load(&options, options.words[0], &match.file);
    if (code == -1)
        code = list_unknown(&match);
    if (code == -1)
        code = match_judge(&match);
    if (code == -1)
        code = carry_out(&match);
    if (code == -1)
        code = match_print(&match);
    match_file_free(&match.file);
    arena_free(match.arena);
    if (code == -1)
        code = match.of_kind[MATCH_TWICE] + match.refused > 0 ? EXIT_FAILED : EXIT_DONE;
    return code;
}
