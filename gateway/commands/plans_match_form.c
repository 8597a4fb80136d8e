/* What the numbers of a column look like. It must never take two spellings for one form:
 * where a form is no operation's, some record may be any of them. */
#include "gateway/commands/plans_match.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* What is neither blank nor punctuation; letters of all scripts are. */
static bool is_of_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

static bool is_uuid(struct span text)
{
    static const char pattern[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (text.len != sizeof(pattern) - 1)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (pattern[i] == '-' ? text.ptr[i] != '-' : !is_hex(text.ptr[i]))
            return false;
    return true;
}

/* A number is 0, a word with a letter in it x, and all between them stays as it is. */
static struct span form_of(struct span text, char room[MATCH_FORM_BYTES])
{
    size_t len = 0;
    if (is_uuid(text))
        return SPAN("uuid");
    for (size_t at = 0; at < text.len && len < MATCH_FORM_BYTES;) {
        if (!is_of_word(text.ptr[at])) {
            room[len++] = text.ptr[at++];
            continue;
        }
        room[len] = '0';
        for (; at < text.len && is_of_word(text.ptr[at]); at++)
            room[len] = is_digit(text.ptr[at]) ? room[len] : 'x';
        len++;
    }
    return span_of(room, len);
}

static struct match_form *find(struct match_forms *forms, struct span form)
{
    for (uint32_t i = 0; i < forms->count; i++)
        if (span_equal(forms->items[i].text, form))
            return &forms->items[i];
    return NULL;
}

bool match_forms_add(struct match_forms *forms, struct arena *arena,
                     const struct match_value *value)
{
    char room[MATCH_FORM_BYTES];
    struct span form = form_of(value->text, room);
    struct match_form *found = find(forms, form);
    if (found == NULL && forms->count == MATCH_FORMS_MAX) {
        forms->more = forms->more == NULL ? value : forms->more;
        return true;
    }
    if (found == NULL) {
        found = &forms->items[forms->count];
        *found = (struct match_form){.count = 0};
        if (!arena_copy(arena, form, &found->text))
            return false;
        forms->count++;
    }
    if (found->count < MATCH_SAMPLES_MAX)
        found->samples[found->count++] = value;
    return true;
}

void match_forms_cover(struct match_forms *forms, struct span text, int64_t created_ms)
{
    char room[MATCH_FORM_BYTES];
    struct match_form *found = find(forms, form_of(text, room));
    if (found == NULL)
        return;
    found->is_known = true;
    if (created_ms > found->covered_ms)
        found->covered_ms = created_ms;
}

int64_t match_forms_covered(struct match_forms *forms, struct span text)
{
    char room[MATCH_FORM_BYTES];
    const struct match_form *found = find(forms, form_of(text, room));
    return found == NULL ? 0 : found->covered_ms;
}
