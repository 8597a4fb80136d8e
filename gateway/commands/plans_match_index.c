/* The column of a file, sorted, and searched for what is the same, for what is spelled
 * otherwise, and for parts. It must never leave out a value: what is not found here may be
 * called not executed. */
#include "gateway/commands/plans_match.h"

#include <stdio.h>
#include <stdlib.h>

#define LABEL_MAX    64 /* bytes of a key that a label can have */
#define SERIES_STEP  4  /* digits by which two numbers of one time do not differ */
#define DOUBLE_EXACT 15 /* digits that every spreadsheet keeps */
#define FILTER_BITS  ((uint32_t)1 << 22)

/* ---- order ---- */

static int compare_values(const void *left, const void *right)
{
    const struct match_value *a = left, *b = right;
    int order = span_order(a->text, b->text);
    return order != 0 ? order : (a->line > b->line) - (a->line < b->line);
}

static int compare_keys(const void *left, const void *right)
{
    const struct match_key *a = left, *b = right;
    int order = span_order(a->text, b->text);
    return order != 0 ? order : compare_values(a->value, b->value);
}

static int compare_needles(const void *left, const void *right)
{
    const struct match_needle *a = left, *b = right;
    return span_order(a->text, b->text);
}

static void sort(void *list, uint32_t count, size_t bytes,
                 int (*compare)(const void *, const void *))
{
    if (count > 1)
        qsort(list, count, bytes, compare);
}

/* ---- building ---- */

static void add_keys(struct match_file *file, const struct match_value *value,
                     const struct match_reading *reading)
{
    for (uint32_t i = 0; i < reading->count; i++) {
        struct match_key key = {.text = reading->keys[i], .value = value};
        file->spelled.keys[file->spelled.count++] = key;
        if (key.text.len < LABEL_MAX)
            file->lengths |= (uint64_t)1 << key.text.len;
        if (reading->is_rounded && i + 1 == reading->count)
            file->rounded.keys[file->rounded.count++] = key;
    }
    for (uint32_t i = 0; i < MATCH_PARTED; i++)
        if (reading->parted[i].len > 0)
            file->parted.keys[file->parted.count++] =
                (struct match_key){.text = reading->parted[i], .value = value};
}

bool match_index_build(struct match_file *file)
{
    size_t count = file->count + (size_t)1;
    file->spelled.keys =
        arena_take(file->arena, count * MATCH_KEYS_MAX * sizeof(*file->spelled.keys));
    file->rounded.keys = arena_take(file->arena, count * sizeof(*file->rounded.keys));
    file->parted.keys = arena_take(file->arena, count * MATCH_PARTED * sizeof(*file->parted.keys));
    if (file->spelled.keys == NULL || file->rounded.keys == NULL || file->parted.keys == NULL)
        return false;
    sort(file->values, file->count, sizeof(*file->values), compare_values);
    for (uint32_t i = 0; i < file->count; i++)
        if (!match_forms_add(&file->forms, file->arena, &file->values[i]))
            return false;
    for (uint32_t i = 0; i < file->count; i++) {
        struct match_reading reading;
        if (!match_read(file->arena, file->values[i].text, &reading))
            return false;
        file->blank += reading.is_blank;
        add_keys(file, &file->values[i], &reading);
    }
    sort(file->spelled.keys, file->spelled.count, sizeof(struct match_key), compare_keys);
    sort(file->rounded.keys, file->rounded.count, sizeof(struct match_key), compare_keys);
    return true;
}

/* ---- searching ---- */

uint32_t match_file_find(const struct match_file *file, struct span text,
                         const struct match_value **ret_first)
{
    uint32_t low = 0, high = file->count, count = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span_order(file->values[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + count < file->count && span_equal(file->values[low + count].text, text))
        count++;
    *ret_first = count == 0 ? NULL : &file->values[low];
    return count;
}

/* The first key that is not before `text`; `is_after`: that is behind it. */
static uint32_t bound(const struct match_index *index, struct span text, bool is_after)
{
    uint32_t low = 0, high = index->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = span_order(index->keys[middle].text, text);
        if (order < 0 || (is_after && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static const struct match_value *lookup(const struct match_index *index, struct span text)
{
    uint32_t at = bound(index, text, false);
    bool is_it = at < index->count && span_equal(index->keys[at].text, text);
    return is_it ? index->keys[at].value : NULL;
}

const struct match_value *match_file_near(const struct match_file *file, struct span text,
                                          const struct match_reading *reading)
{
    for (uint32_t i = 0; i < reading->count; i++) {
        uint32_t first = bound(&file->spelled, reading->keys[i], false);
        uint32_t end = bound(&file->spelled, reading->keys[i], true);
        /* They are sorted by their values, too: if any is another one, an outer one is. */
        if (first < end && !span_equal(file->spelled.keys[first].value->text, text))
            return file->spelled.keys[first].value;
        if (first < end && !span_equal(file->spelled.keys[end - 1].value->text, text))
            return file->spelled.keys[end - 1].value;
    }
    return NULL;
}

/* ---- rounded ---- */

/* The number with `kept` of its digits, the others zero; `is_up`: rounded up. */
static struct span rounded(struct span digits, size_t kept, bool is_up, char room[LABEL_MAX + 1])
{
    size_t at = kept;
    room[0] = '0';
    memcpy(room + 1, digits.ptr, kept);
    memset(room + 1 + kept, '0', digits.len - kept);
    while (is_up && room[at] == '9')
        room[at--] = '0';
    if (is_up)
        room[at]++;
    bool has_grown = room[0] != '0';
    return has_grown ? span_of(room, digits.len + 1) : span_of(room + 1, digits.len);
}

/* What a program that keeps numbers as doubles makes of it. */
static struct span as_double(struct span digits, char room[LABEL_MAX + 2])
{
    char text[LABEL_MAX + 1];
    memcpy(text, digits.ptr, digits.len);
    text[digits.len] = '\0';
    int len = snprintf(room, LABEL_MAX + 2, "%.0f", strtod(text, NULL));
    return span_of(room, len < 0 ? 0 : (size_t)len); /* at most a digit more than it has */
}

static bool is_number(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len > 0;
}

static const struct match_value *find_rounded(const struct match_file *file, struct span digits)
{
    char room[LABEL_MAX + 2];
    const struct match_value *found = NULL;
    if (!is_number(digits) || digits.len > LABEL_MAX)
        return NULL;
    for (size_t kept = 1; kept < digits.len && found == NULL; kept++) {
        found = lookup(&file->rounded, rounded(digits, kept, false, room));
        if (found == NULL)
            found = lookup(&file->rounded, rounded(digits, kept, true, room));
    }
    if (found != NULL || digits.len <= DOUBLE_EXACT)
        return found;
    found = lookup(&file->spelled, rounded(digits, DOUBLE_EXACT, false, room));
    if (found == NULL)
        found = lookup(&file->spelled, rounded(digits, DOUBLE_EXACT, true, room));
    return found != NULL ? found : lookup(&file->spelled, as_double(digits, room));
}

/* ---- parts ---- */

static bool is_digit_at(struct span text, size_t at)
{
    return at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9';
}

/* The next character of a text's form, in which each number is one 0; '\0': its end. */
static char next_of_form(struct span text, size_t *at)
{
    if (*at >= text.len)
        return '\0';
    if (!is_digit_at(text, *at))
        return text.ptr[(*at)++];
    while (is_digit_at(text, *at))
        (*at)++;
    return '0';
}

static bool has_same_form(struct span one, struct span other)
{
    size_t at = 0, other_at = 0;
    char c;
    do {
        c = next_of_form(one, &at);
        if (c != next_of_form(other, &other_at))
            return false;
    } while (c != '\0');
    return true;
}

static size_t difference(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Is it another number of the same series? ord2 is no part of ord21 that would mean
 * anything; but 7001 may be what ord20267001 means, or 2026007001. How long both are as they
 * are written counts too: t-0010 is not t-1001. */
static bool is_other_number(struct span text, size_t start, size_t len, size_t raw_difference)
{
    size_t end = start + len;
    bool is_cut = (start > 0 && is_digit_at(text, start - 1) && is_digit_at(text, start)) ||
                  (is_digit_at(text, end - 1) && is_digit_at(text, end));
    bool is_near = text.len - len < SERIES_STEP || raw_difference < SERIES_STEP;
    return is_cut && is_near && has_same_form(text, span_of(text.ptr + start, len));
}

/* A key of the file that stands in `text`, which is a reading of `raw`. */
static const struct match_value *find_part(const struct match_file *file, struct span text,
                                           struct span raw)
{
    const struct match_value *found = NULL;
    for (size_t start = 0; start < text.len && found == NULL; start++)
        for (size_t len = 1; len <= text.len - start && len < LABEL_MAX && found == NULL; len++) {
            if ((file->lengths >> len & 1) != 0)
                found = lookup(&file->spelled, span_of(text.ptr + start, len));
            if (found != NULL &&
                is_other_number(text, start, len, difference(raw.len, found->text.len)))
                found = NULL;
        }
    return found;
}

const struct match_value *match_file_like(const struct match_file *file,
                                          const struct match_reading *reading)
{
    const struct match_value *found = NULL;
    for (uint32_t i = 0; i < reading->count && found == NULL; i++) {
        found = find_rounded(file, reading->keys[i]);
        if (found == NULL)
            found = find_part(file, reading->keys[i], reading->raw);
    }
    for (uint32_t i = 0; i < MATCH_PARTED && found == NULL; i++)
        found = find_part(file, reading->parted[i], reading->raw);
    return found;
}

static uint32_t hash_more(uint32_t hash, char c)
{
    return (hash ^ (unsigned char)c) * 16777619U; /* FNV-1a */
}

static uint32_t filter_bit(uint32_t hash)
{
    return (hash ^ hash >> 15) & (FILTER_BITS - 1);
}

struct needles {
    struct match_needle *list; /* sorted */
    uint32_t count;
    size_t longest;
    uint64_t *filter; /* by the hash of each */
};

/* Those that are this piece of a key. */
static void mark_needles(struct needles *needles, const struct match_key *key, size_t start,
                         size_t len)
{
    const struct span text = span_of(key->text.ptr + start, len);
    uint32_t low = 0, high = needles->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (span_order(needles->list[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < needles->count && span_equal(needles->list[low].text, text); low++) {
        struct match_needle *needle = &needles->list[low];
        size_t raw = difference(needle->raw_len, key->value->text.len);
        if (needle->found == NULL && !is_other_number(key->text, start, len, raw))
            needle->found = key->value;
    }
}

static void search_key(struct needles *needles, const struct match_key *key)
{
    for (size_t start = 0; start < key->text.len; start++) {
        size_t left = key->text.len - start;
        uint32_t hash = 2166136261U;
        for (size_t len = 1; len <= left && len <= needles->longest; len++) {
            hash = hash_more(hash, key->text.ptr[start + len - 1]);
            uint32_t bit = filter_bit(hash);
            if ((needles->filter[bit / 64] >> bit % 64 & 1) != 0)
                mark_needles(needles, key, start, len);
        }
    }
}

bool match_file_contain(const struct match_file *file, struct match_needle *list, uint32_t count)
{
    struct needles needles = {.list = list, .count = count};
    needles.filter = arena_take(file->arena, FILTER_BITS / 8);
    if (needles.filter == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hash = 2166136261U;
        struct span text = list[i].text;
        for (size_t c = 0; c < text.len; c++)
            hash = hash_more(hash, text.ptr[c]);
        uint32_t bit = filter_bit(hash);
        needles.filter[bit / 64] |= (uint64_t)1 << bit % 64;
        needles.longest = text.len > needles.longest ? text.len : needles.longest;
    }
    sort(list, count, sizeof(*list), compare_needles);
    for (uint32_t i = 0; i < file->spelled.count; i++)
        search_key(&needles, &file->spelled.keys[i]);
    for (uint32_t i = 0; i < file->parted.count; i++)
        search_key(&needles, &file->parted.keys[i]);
    return true;
}
