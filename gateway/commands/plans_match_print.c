/* What a match has found, as tables or as JSON. It changes nothing.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever flushes it
 * tells. */
#include "gateway/commands/commands.h"
#include "gateway/commands/plans_match.h"
#include "gateway/commands/words.h"

#include <stdio.h>
#include <stdlib.h>

#define TEXT_BYTES ((size_t)32 << 20)
#define ROWS_SHOWN 50
#define CELL_BYTES 16

static const struct {
    const char *name, *title;
} kinds[MATCH_KINDS] = {
    [MATCH_ONCE] = {"found_once", "found once: executed"},
    [MATCH_TWICE] = {"found_twice", "FOUND TWICE: executed twice"},
    [MATCH_NONE] = {"not_found", "not found"},
    [MATCH_UNCLEAR] = {"unclear", "unclear: for a person"},
};

static const char record_warning[] =
    "a record counts as carried out: the file must hold nothing that was rejected or taken back";
static const char expired_warning[] =
    "the labels of operations past their retention are gone: a record may be of an older one "
    "with the same number; hold its date against the operation's before you apply the plan";

static const char uncovered_warning[] =
    "of some no later operation with such a number is in the file: it may end before them, and "
    "they are for a person. Let one call succeed, and make the file anew";

static bool plans_executed(const struct match *match)
{
    return match->of_kind[MATCH_ONCE] > 0;
}

/* ---- JSON ---- */

static json_t *warnings_of(const struct match *match)
{
    json_t *list = json_array();
    /* What finds no memory is missing; the whole is asked once at the end. */
    if (match->doubt != NULL)
        (void)json_array_append_new(list, json_string(match->doubt));
    if (match->uncovered > 0)
        (void)json_array_append_new(list, json_string(uncovered_warning));
    if (plans_executed(match))
        (void)json_array_append_new(list, json_string(expired_warning));
    if (plans_executed(match))
        (void)json_array_append_new(list, json_string(record_warning));
    return list;
}

static json_t *text_of(struct span text)
{
    json_t *value = json_stringn(text.ptr, text.len);
    return value != NULL ? value : json_null(); /* labels are UTF-8 */
}

static json_t *entry_of(const struct match_entry *entry)
{
    json_t *object = json_object();
    /* A member that finds no memory is missing; the whole is asked once at the end. */
    (void)json_object_set_new(object, "id", json_string(entry->id));
    (void)json_object_set_new(object, "version", json_integer(entry->version));
    (void)json_object_set_new(object, "route", text_of(entry->route));
    (void)json_object_set_new(object, "label",
                              entry->label.len == 0 ? json_null() : text_of(entry->label));
    (void)json_object_set_new(object, "line",
                              entry->line == 0 ? json_null() : json_integer(entry->line));
    (void)json_object_set_new(object, "planned", json_boolean(entry->is_planned));
    (void)json_object_set_new(object, "reason",
                              entry->why == NULL ? json_null() : json_string(entry->why));
    return object;
}

static json_t *document_of(const struct match *match)
{
    json_t *root = json_object(), *plans = json_array();
    for (uint32_t k = 0; k < MATCH_KINDS; k++) {
        json_t *list = json_array();
        for (uint32_t i = 0; i < match->count; i++)
            if (match->entries[i].kind == (enum match_kind)k)
                (void)json_array_append_new(list, entry_of(&match->entries[i]));
        (void)json_object_set_new(root, kinds[k].name, list);
    }
    for (uint32_t i = 0; i < match->plan_count; i++) {
        json_t *plan = json_object();
        (void)json_object_set_new(plan, "id", json_string(match->plans[i].id));
        (void)json_object_set_new(plan, "verdict", json_string(match->plans[i].verdict));
        (void)json_object_set_new(plan, "count", json_integer(match->plans[i].count));
        (void)json_array_append_new(plans, plan);
    }
    (void)json_object_set_new(root, "records", json_integer(match->file.count));
    (void)json_object_set_new(root, "blank", json_integer(match->file.blank));
    (void)json_object_set_new(root, "warnings", warnings_of(match));
    (void)json_object_set_new(root, "contradictions", json_integer(match->bad));
    (void)json_object_set_new(root, "plans", plans);
    return root;
}

static int print_json(const struct match *match)
{
    json_t *root = document_of(match);
    char *text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (text == NULL)
        return match_no_memory();
    (void)printf("%s\n", text); /* whoever ends the program looks at stdout */
    free(text);
    return -1;
}

/* ---- tables ---- */

static bool add_row(struct table *table, const struct match_entry *entry)
{
    char line[CELL_BYTES] = "";
    if (entry->line > 0)
        (void)snprintf(line, sizeof(line), "%u", entry->line); /* at most 10 digits */
    const struct span cells[] = {span_str(entry->id), entry->route, entry->label, span_str(line),
                                 span_str(entry->why == NULL ? "" : entry->why)};
    return table_add(table, cells);
}

static void print_kind(const struct match *match, enum match_kind kind, struct gw_buf *out)
{
    static const char *const headers[] = {"ID", "ROUTE", "LABEL", ">LINE", "WHY"};
    struct arena *arena = arena_new(TEXT_BYTES);
    struct table *table = arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers));
    uint32_t shown = 0;
    words_print_count(out, match->of_kind[kind]);
    (void)gw_buf_print(out, " %s\n", kinds[kind].title);
    for (uint32_t i = 0; i < match->count && shown < ROWS_SHOWN && table != NULL; i++)
        if (match->entries[i].kind == kind && add_row(table, &match->entries[i]))
            shown++;
    if (shown > 0)
        table_print(table, out);
    if (match->of_kind[kind] > shown)
        (void)gw_buf_print(out, "and %u more; --json has them\n", match->of_kind[kind] - shown);
    arena_free(arena);
}

static void print_warnings(const struct match *match, struct gw_buf *out)
{
    if (match->doubt != NULL)
        (void)gw_buf_print(out, "\nWARNING: nothing is called not executed by this file: %s\n",
                           match->doubt);
    if (match->uncovered > 0)
        (void)gw_buf_print(out, "\nWARNING: %s\n", uncovered_warning);
    if (match->compensations > 0)
        (void)gw_buf_print(out,
                           "\n%u compensation%s left out: the file speaks of what they take back. "
                           "Look each up: recibo backlog list\n",
                           match->compensations, match->compensations == 1 ? " is" : "s are");
    if (plans_executed(match))
        (void)gw_buf_print(out, "\nWARNING: %s\n\nWARNING: %s\n", expired_warning, record_warning);
}

static void print_plans(const struct match *match, struct gw_buf *out)
{
    if (match->bad > 0)
        (void)gw_buf_print(out, "\n%u marked as contradicted: recibo backlog list --contradicted\n",
                           match->bad);
    for (uint32_t i = 0; i < match->plan_count; i++) {
        const struct match_plan *plan = &match->plans[i];
        (void)gw_buf_print(out, "\nA plan, for %u with the verdict %s%s. Nothing is settled yet:\n",
                           plan->count, plan->verdict,
                           strcmp(plan->verdict, "executed") == 0
                               ? " and no response: repeats are told that the answer is not kept"
                               : "");
        (void)gw_buf_print(out,
                           "  recibo backlog plans %s\n"
                           "  recibo backlog settle --apply %s --note \"...\"\n",
                           plan->id, plan->id);
    }
}

int match_print(const struct match *match)
{
    struct gw_buf out;
    if (match->client->wants_json)
        return print_json(match);
    gw_buf_init(&out, TEXT_BYTES);
    words_print_count(&out, match->count);
    (void)gw_buf_add(&out, SPAN(" unknown, "));
    words_print_count(&out, match->file.count);
    (void)gw_buf_add(&out, SPAN(" records in the file"));
    if (match->file.blank > 0)
        (void)gw_buf_print(&out, ", %u of them blank in the column", match->file.blank);
    (void)gw_buf_add(&out, SPAN("\n\n"));
    print_kind(match, MATCH_ONCE, &out);
    print_kind(match, MATCH_TWICE, &out);
    print_kind(match, MATCH_NONE, &out);
    if (match->of_kind[MATCH_UNCLEAR] > 0)
        print_kind(match, MATCH_UNCLEAR, &out);
    print_warnings(match, &out);
    print_plans(match, &out);
    words_flush(&out);
    gw_buf_fini(&out);
    return -1;
}
