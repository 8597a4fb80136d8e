/* What each unknown operation is, by the list of the upstream. It must never call one not
 * executed that the list may only spell differently, nor executed what two could mean. */
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/plans_match.h"
#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

#include "base/text.h"
#include "policy/route.h"

#include <stdio.h>

#define PATH_BYTES ((size_t)64 << 10)

/* ---- by the file ---- */

static void set_unclear(struct match_entry *entry, const char *why)
{
    entry->kind = MATCH_UNCLEAR;
    entry->why = why;
}

static bool is_found(const struct match_entry *entry)
{
    return entry->kind == MATCH_ONCE || entry->kind == MATCH_TWICE;
}

static int judge(struct match *match, struct match_entry *entry)
{
    const struct match_value *first = NULL, *near, *like;
    struct match_reading reading;
    if (entry->label.len == 0) {
        set_unclear(entry, "it bears no such label");
        return -1;
    }
    if (!match_read(match->arena, entry->label, &reading))
        return match_no_memory();
    uint32_t found = match_file_find(&match->file, entry->label, &first);
    near = match_file_near(&match->file, entry->label, &reading);
    like = found > 0 || near != NULL ? NULL : match_file_like(&match->file, &reading);
    entry->is_in_file = found > 0;
    entry->line = first != NULL  ? first->line
                  : near != NULL ? near->line
                  : like != NULL ? like->line
                                 : 0;
    entry->kind = found == 0 ? MATCH_NONE : found == 1 ? MATCH_ONCE : MATCH_TWICE;
    if (entry->label.len >= LABEL_VALUE_BYTES)
        set_unclear(entry, "its label may have been cut: it has the most bytes that are kept");
    else if (near != NULL)
        set_unclear(entry, found == 0 ? "the file has it in another spelling only"
                                      : "the file has it in another spelling, too");
    else if (like != NULL)
        set_unclear(entry, "another spelling? the file has a part of it, or it rounded");
    else if (found == 0 && (reading.is_blank || reading.is_lossy))
        set_unclear(entry, "its label has characters of which spellings cannot be told apart");
    else if (entry->is_contradicted && entry->kind != MATCH_TWICE)
        set_unclear(entry, "there is evidence against a verdict already");
    return -1;
}

/* Those that are not there may be a part of what is: 7001 of ORD-7001. */
static int look_for_parts(struct match *match)
{
    uint32_t count = 0;
    struct match_needle *needles =
        arena_take(match->arena, (match->count + (size_t)1) * MATCH_KEYS_MAX * sizeof(*needles));
    if (needles == NULL)
        return match_no_memory();
    for (uint32_t i = 0; i < match->count; i++) {
        struct match_reading reading;
        if (match->entries[i].kind != MATCH_NONE)
            continue;
        if (!match_read(match->arena, match->entries[i].label, &reading))
            return match_no_memory();
        for (uint32_t k = 0; k < reading.count; k++)
            needles[count++] = (struct match_needle){
                .text = reading.keys[k], .raw_len = reading.raw.len, .entry = i};
    }
    if (!match_file_contain(&match->file, needles, count))
        return match_no_memory();
    for (uint32_t i = 0; i < count; i++) {
        struct match_entry *entry = &match->entries[needles[i].entry];
        if (needles[i].found == NULL || entry->kind != MATCH_NONE)
            continue;
        entry->line = needles[i].found->line;
        set_unclear(entry, "another spelling? the file has it as a part of something");
    }
    return -1;
}

/* ---- by the other operations ---- */

int match_count_bearers(struct match *match, struct span number, size_t *ret_count)
{
    struct gw_buf path;
    struct admin_reply reply;
    gw_buf_init(&path, PATH_BYTES);
    (void)gw_buf_add(&path, SPAN("/v1/operations?limit=2&label.")); /* asked once at the end */
    client_escape(&path, span_str(options_value(match->options, "--label")));
    (void)gw_buf_byte(&path, '=');
    client_escape(&path, number);
    (void)gw_buf_byte(&path, '\0');
    int code = path.failed ? options_refuse(match->options, "--label is too long")
                           : client_want(match->client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    *ret_count = json_array_size(json_object_get(reply.json, "operations"));
    client_forget(&reply);
    return -1;
}

/* What ran may have been another one. */
static int look_for_others(struct match *match, struct match_entry *entry)
{
    size_t count = 0;
    int code = match_count_bearers(match, entry->label, &count);
    if (code == -1 && count > 1)
        set_unclear(entry, "several operations bear this number: it may have been another one");
    return code;
}

/* Does anything follow from what is not in the file? */
static int look_for_doubt(struct match *match)
{
    if (match->file.blank > 0)
        match->doubt =
            "the column is blank in some records, or holds what cannot be compared: one of them "
            "may be it";
    else if (match->file.count == 0)
        match->doubt = "the file has no record";
    else if (match->file.is_cut)
        match->doubt = "its last record has no line end, so the last number may have been cut: is "
                       "the file whole?";
    return match->doubt == NULL && match->complete_ms != 0 ? match_look_for_known(match) : -1;
}

/* Not there: is the file complete past the time at which it could still arrive? */
static int look_at_quiet_time(struct match *match, struct match_entry *entry)
{
    struct gw_buf path;
    struct admin_reply reply;
    int64_t quiet_ms;
    if (match->complete_ms == 0) {
        entry->why = "the file is not said to be complete (--complete-until)";
        return -1;
    }
    gw_buf_init(&path, 256);
    listing_path(&path, entry->id, "");
    int code = client_want(match->client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    bool is_past = gw_rfc3339_parse(words_of(reply.json, "quiet_until"), &quiet_ms) &&
                   quiet_ms <= match->complete_ms;
    entry->is_planned = is_past;
    if (!is_past)
        entry->why = "it could still arrive after the time until which the file is complete";
    client_forget(&reply);
    return -1;
}

static void progress(const struct match *match, uint32_t done, bool is_last)
{
    if (!terminal_shows_progress() || (done % 50 != 0 && !is_last))
        return;
    (void)fprintf(stderr, "\r%u of %u looked at ", done, match->count); /* only for the eye */
    if (is_last)
        (void)fputc('\n', stderr);
}

/* What is asked of the gateway about one. */
static int look_further(struct match *match, struct match_entry *entry)
{
    int code = -1;
    if (is_found(entry))
        code = look_for_others(match, entry);
    else if (entry->kind == MATCH_NONE && match->doubt != NULL && match->complete_ms != 0) {
        set_unclear(entry, match->doubt);
        match->refused++;
    } else if (entry->kind == MATCH_NONE && match->complete_ms != 0 &&
               entry->created_ms >= match_forms_covered(&match->file.forms, entry->label)) {
        set_unclear(entry, "no later operation whose number looks like this one is in the file: it "
                           "may end before");
        match->refused++;
        match->uncovered++;
    } else if (entry->kind == MATCH_NONE)
        code = look_at_quiet_time(match, entry);
    entry->is_planned = entry->is_planned || entry->kind == MATCH_ONCE;
    match->of_kind[entry->kind]++;
    return code;
}

int match_judge(struct match *match)
{
    int code = -1;
    uint32_t absent = 0;
    for (uint32_t i = 0; i < match->count && code == -1; i++) {
        code = judge(match, &match->entries[i]);
        absent += match->entries[i].kind == MATCH_NONE;
    }
    if (code == -1 && absent > 0)
        code = look_for_parts(match);
    if (code == -1 && absent > 0)
        code = look_for_doubt(match);
    for (uint32_t i = 0; i < match->count && code == -1; i++) {
        code = look_further(match, &match->entries[i]);
        progress(match, i + 1, i + 1 == match->count);
    }
    return code;
}
