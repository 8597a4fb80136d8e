/* What is known to have run has to be in a complete list, and what is in the list has to look
 * like the numbers of operations. It must never take a list for complete in which one of them
 * is missing, nor one in which a record may be any of those that are looked for. */
#include "gateway/commands/listing.h"
#include "gateway/commands/plans.h"
#include "gateway/commands/plans_match.h"
#include "gateway/commands/words.h"

#include "base/text.h"
#include "policy/route.h"

#define PATH_BYTES ((size_t)64 << 10)
#define KNOWN_MAX  500 /* operations that are asked for: one page */

struct known {
    struct span id, label;
};

/* ---- which of them the list should have ---- */

/* Since the first of those that it is to prove absent; 0: there is none. */
static int64_t since_ms(const struct match *match)
{
    int64_t first_ms = 0;
    for (uint32_t i = 0; i < match->count; i++) {
        const struct match_entry *entry = &match->entries[i];
        if (entry->kind == MATCH_NONE && (first_ms == 0 || entry->created_ms < first_ms))
            first_ms = entry->created_ms;
    }
    return first_ms;
}

/* Is something of this route to be proved absent? Another route's may be in another list. */
static bool is_of_route(const struct match *match, struct span route)
{
    for (uint32_t i = 0; i < match->count; i++)
        if (match->entries[i].kind == MATCH_NONE && span_equal(match->entries[i].route, route))
            return true;
    return false;
}

/* By the upstream's own word, and before the list was made. */
static bool has_run(const struct match *match, const json_t *operation)
{
    int64_t updated_ms, status = words_number(operation, "status");
    bool is_said = (status >= 200 && status < 300) ||
                   span_equal(words_of(operation, "probe"), SPAN("executed"));
    return is_said && !words_is_true(operation, "settled") &&
           words_of(operation, "compensates").len == 0 &&
           gw_rfc3339_parse(words_of(operation, "updated_at"), &updated_ms) &&
           updated_ms <= match->complete_ms && is_of_route(match, words_of(operation, "route"));
}

static bool make_path(const struct match *match, const json_t *where, struct gw_buf *path)
{
    static const char *const names[] = {"route", "owner"};
    char at[GW_RFC3339_BYTES];
    gw_rfc3339(since_ms(match), at);
    /* The buffer is asked once at the end. */
    (void)gw_buf_print(path, "/v1/operations?state=completed&limit=%d&created_after=", KNOWN_MAX);
    client_escape(path, span_str(at));
    for (size_t i = 0; i < GW_COUNT(names); i++) {
        const json_t *value = json_object_get(where, names[i]);
        if (value == NULL)
            continue;
        (void)gw_buf_print(path, "&%s=", names[i]);
        client_escape(path, span_of(json_string_value(value), json_string_length(value)));
    }
    return gw_buf_byte(path, '\0');
}

/* ---- are they there? ---- */

/* In whatever spelling, but not as a part of something. -1: *ret_is_there is set. */
static int look_up(struct match *match, struct span label, int64_t created_ms, bool *ret_is_there)
{
    const struct match_value *first;
    struct match_reading reading;
    *ret_is_there = match_file_find(&match->file, label, &first) > 0;
    if (*ret_is_there) {
        match_forms_cover(&match->file.forms, label, created_ms);
        return -1;
    }
    if (!match_read(match->arena, label, &reading))
        return match_no_memory();
    *ret_is_there = match_file_near(&match->file, label, &reading) != NULL ||
                    match_file_like(&match->file, &reading) != NULL;
    return -1;
}

static int keep_missing(struct match *match, const json_t *operation, struct known *missing,
                        uint32_t *count)
{
    bool is_there = true;
    int64_t created_ms;
    const json_t *labels = json_object_get(operation, "labels");
    struct span label = words_of(labels, options_value(match->options, "--label"));
    if (label.len == 0 || label.len >= LABEL_VALUE_BYTES || !has_run(match, operation) ||
        !gw_rfc3339_parse(words_of(operation, "created_at"), &created_ms))
        return -1;
    int code = look_up(match, label, created_ms, &is_there);
    if (code != -1 || is_there)
        return code;
    struct known *kept = &missing[(*count)++];
    bool copied = arena_copy(match->arena, label, &kept->label) &&
                  arena_copy(match->arena, words_of(operation, "id"), &kept->id);
    return copied ? -1 : match_no_memory();
}

/* Of those that are not there as they are: which ones are no part of anything, either? */
static int judge_missing(struct match *match, const struct known *missing, uint32_t count)
{
    uint32_t needle_count = 0;
    struct match_needle *needles =
        arena_take(match->arena, (count + (size_t)1) * MATCH_KEYS_MAX * sizeof(*needles));
    bool *is_part = arena_take(match->arena, count + (size_t)1);
    if (needles == NULL || is_part == NULL)
        return match_no_memory();
    for (uint32_t i = 0; i < count; i++) {
        struct match_reading reading;
        if (!match_read(match->arena, missing[i].label, &reading))
            return match_no_memory();
        is_part[i] = false;
        for (uint32_t k = 0; k < reading.count; k++)
            needles[needle_count++] = (struct match_needle){
                .text = reading.keys[k], .raw_len = reading.raw.len, .entry = i};
    }
    if (!match_file_contain(&match->file, needles, needle_count))
        return match_no_memory();
    for (uint32_t i = 0; i < needle_count; i++)
        is_part[needles[i].entry] = is_part[needles[i].entry] || needles[i].found != NULL;
    for (uint32_t i = 0; i < count && match->doubt == NULL; i++) {
        if (is_part[i])
            continue;
        match->doubt = arena_print(match->arena,
                                   "%.*s ran in that time and is not in the file: is it complete, "
                                   "and are its numbers those of the label?",
                                   (int)missing[i].id.len, missing[i].id.ptr)
                           .ptr;
        if (match->doubt == NULL)
            return match_no_memory();
    }
    return -1;
}

/* ---- what else is there ---- */

static int doubt_form(struct match *match, const struct match_value *value)
{
    match->doubt = arena_print(match->arena,
                               "line %u holds what looks like no number of an operation: another "
                               "spelling, a total, the wrong column?",
                               value->line)
                       .ptr;
    return match->doubt == NULL ? match_no_memory() : -1;
}

/* Is one of its records a number of any operation that is known at all? */
static int ask_for_form(struct match *match, struct match_form *form)
{
    int code = -1;
    for (uint32_t i = 0; i < form->count && !form->is_known && code == -1; i++) {
        size_t count = 0;
        if (form->samples[i]->text.len >= LABEL_VALUE_BYTES)
            continue;
        code = match_count_bearers(match, form->samples[i]->text, &count);
        form->is_known = count > 0;
    }
    return code;
}

/* Where a record is spelled as no operation's number is, it may be any of them. */
static int look_at_forms(struct match *match)
{
    struct match_forms *forms = &match->file.forms;
    int code = -1;
    for (uint32_t i = 0; i < match->count; i++)
        if (match->entries[i].is_in_file)
            match_forms_cover(forms, match->entries[i].label, match->entries[i].created_ms);
    for (uint32_t i = 0; i < forms->count && match->doubt == NULL && code == -1; i++) {
        code = ask_for_form(match, &forms->items[i]);
        if (code == -1 && !forms->items[i].is_known)
            code = doubt_form(match, forms->items[i].samples[0]);
    }
    return code == -1 && match->doubt == NULL && forms->more != NULL
               ? doubt_form(match, forms->more)
               : code;
}

static int look_for_missing(struct match *match, const json_t *operations)
{
    struct known *missing = arena_take(match->arena, KNOWN_MAX * sizeof(*missing));
    uint32_t count = 0;
    int code = missing == NULL ? match_no_memory() : -1;
    for (size_t i = 0; i < json_array_size(operations) && i < KNOWN_MAX && code == -1; i++)
        code = keep_missing(match, json_array_get(operations, i), missing, &count);
    return code == -1 ? judge_missing(match, missing, count) : code;
}

int match_look_for_known(struct match *match)
{
    struct admin_reply reply;
    struct gw_buf path;
    json_t *where = NULL;
    gw_buf_init(&path, PATH_BYTES);
    int code = plans_read_where(match->options, match->client, &where);
    if (code == -1)
        code = make_path(match, where, &path)
                   ? client_want(match->client, "GET", path.ptr, span_of(NULL, 0), &reply)
                   : options_refuse(match->options, "--where is too long");
    json_decref(where);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    code = look_for_missing(match, json_object_get(reply.json, "operations"));
    client_forget(&reply);
    return code == -1 && match->doubt == NULL ? look_at_forms(match) : code;
}
