/* The table of keys in memory, and looking into it. It must never hold a value of
 * a file. */
#include "conf/fields.h"

#define SECONDS(n) ((n)*INT64_C(1000))
#define MINUTES(n) ((n)*SECONDS(60))
#define HOURS(n)   ((n)*MINUTES(60))
#define DAYS(n)    ((n)*HOURS(24))
#define KIB(n)     ((n)*INT64_C(1024))
#define MIB(n)     ((n)*KIB(1024))
#define GIB(n)     ((n)*MIB(1024))
#define TIB(n)     ((n)*GIB(1024))

static const char required[] = "required";
#define REQUIRED required

static const struct conf_field fields[] = {
#define FIELD(path, type, min, max, fallback, words, applies, doc)                                 \
    {path, CONF_##type, min, max, fallback, words, CONF_##applies, doc},
#include "conf/fields.def"
#undef FIELD
};

struct preset_row {
    const char *preset, *path, *value;
};
static const struct preset_row presets[] = {
#define PRESET(name, path, value) {name, path, value},
#include "conf/presets.def"
#undef PRESET
};

uint32_t field_count(void)
{
    return (uint32_t)GW_COUNT(fields);
}

const struct conf_field *field_at(uint32_t row)
{
    gw_assert(row < GW_COUNT(fields));
    return &fields[row];
}

uint32_t field_find(const char *path)
{
    for (uint32_t row = 0; row < GW_COUNT(fields); row++)
        if (strcmp(fields[row].path, path) == 0)
            return row;
    return FIELD_NONE;
}

/* What is left of the row's path below `parent`; NULL: the row is not below it. */
static const char *path_below(uint32_t parent, uint32_t row)
{
    const char *above = fields[parent].path, *path = fields[row].path;
    size_t len = strlen(above);
    if (strncmp(above, path, len) != 0)
        return NULL;
    if (parent == FIELD_ROOT)
        return path;
    return path[len] == '.' || path[len] == '[' ? path + len : NULL;
}

uint32_t field_next_child(uint32_t parent, uint32_t after)
{
    for (uint32_t row = after + 1; row < GW_COUNT(fields); row++) {
        const char *rest = path_below(parent, row);
        if (rest == NULL)
            return FIELD_NONE;
        if (*rest == '.')
            rest++;
        if (strcmp(rest, "*") != 0 && strcmp(rest, "[]") != 0 && strpbrk(rest, ".[") == NULL)
            return row;
    }
    return FIELD_NONE;
}

uint32_t field_child(uint32_t parent, struct span name)
{
    for (uint32_t row = field_next_child(parent, parent); row != FIELD_NONE;
         row = field_next_child(parent, row))
        if (span_equal(field_leaf(row), name))
            return row;
    return FIELD_NONE;
}

uint32_t field_item(uint32_t parent)
{
    gw_assert(parent + 1 < GW_COUNT(fields));
    const char *rest = path_below(parent, parent + 1);
    gw_assert(rest != NULL);
    gw_assert(strcmp(rest, ".*") == 0 || strcmp(rest, "[]") == 0);
    return parent + 1;
}

struct span field_leaf(uint32_t row)
{
    const char *path = field_at(row)->path;
    const char *dot = strrchr(path, '.');
    return span_str(dot == NULL ? path : dot + 1);
}

bool field_is_required(uint32_t row)
{
    return field_at(row)->fallback == required;
}

bool field_is_computed(uint32_t row)
{
    const char *fallback = field_at(row)->fallback;
    return fallback != NULL && fallback[0] == '=';
}

bool field_is_scalar(enum conf_type type)
{
    return type > CONF_LATER;
}

bool field_is_secret(enum conf_type type)
{
    return type == CONF_SHA256 || type == CONF_CRYPT;
}

struct span field_word(const char *words, uint32_t index, bool *ret_later)
{
    const char *at = words;
    for (uint32_t i = 0; i < index && *at != '\0'; i++) {
        at += strcspn(at, " ");
        at += *at == ' ';
    }
    size_t len = strcspn(at, " ");
    *ret_later = len > 0 && at[len - 1] == '!';
    return span_of(at, len - (*ret_later ? 1 : 0));
}

uint32_t field_word_find(const char *words, struct span word, bool *ret_later)
{
    for (uint32_t i = 0;; i++) {
        struct span known = field_word(words, i, ret_later);
        if (known.len == 0)
            return FIELD_NONE;
        if (span_equal(known, word))
            return i;
    }
}

struct span preset_find(struct span preset, uint32_t row)
{
    for (size_t i = 0; i < GW_COUNT(presets); i++)
        if (span_equal(span_str(presets[i].preset), preset) &&
            strcmp(presets[i].path, fields[row].path) == 0)
            return span_str(presets[i].value);
    return span_of(NULL, 0);
}

bool preset_at(uint32_t i, struct span *ret_preset, struct span *ret_path, struct span *ret_value)
{
    if (i >= GW_COUNT(presets))
        return false;
    *ret_preset = span_str(presets[i].preset);
    *ret_path = span_str(presets[i].path);
    *ret_value = span_str(presets[i].value);
    return true;
}

/* One row of the table of Levenshtein's distance, with a swap of neighbours as one edit. */
uint32_t near_distance(struct span a, struct span b, uint32_t most)
{
    uint32_t rows[3][NEAR_BYTES_MAX + 1];
    if (a.len > NEAR_BYTES_MAX || b.len > NEAR_BYTES_MAX)
        return most + 1;
    for (uint32_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= b.len; j++) {
            bool same = gw_lower(a.ptr[i - 1]) == gw_lower(b.ptr[j - 1]);
            uint32_t cost = before[j - 1] + (same ? 0 : 1);
            cost = before[j] + 1 < cost ? before[j] + 1 : cost;
            cost = now[j - 1] + 1 < cost ? now[j - 1] + 1 : cost;
            if (i > 1 && j > 1 && a.ptr[i - 1] == b.ptr[j - 2] && a.ptr[i - 2] == b.ptr[j - 1] &&
                older[j - 2] + 1 < cost)
                cost = older[j - 2] + 1;
            now[j] = cost;
        }
    }
    uint32_t found = rows[a.len % 3][b.len];
    return found > most ? most + 1 : found;
}

uint32_t near_limit(size_t len)
{
    return len < 3 ? 1 : len < 8 ? 2 : 3;
}

uint32_t field_near(uint32_t parent, struct span name)
{
    uint32_t best = FIELD_NONE, most = near_limit(name.len);
    for (uint32_t row = field_next_child(parent, parent); row != FIELD_NONE && most > 0;
         row = field_next_child(parent, row)) {
        uint32_t distance = near_distance(name, field_leaf(row), most);
        if (distance <= most) {
            best = row;
            most = distance - (distance > 0 ? 1 : 0);
        }
    }
    return best;
}

uint32_t field_elsewhere(struct span leaf)
{
    for (uint32_t row = 1; row < GW_COUNT(fields); row++)
        if (span_equal(field_leaf(row), leaf))
            return row;
    return FIELD_NONE;
}
