/* The table of every key (fields.def) and how to find one in it. It says what may
 * stand where; it never reads a file. Threads: pure. */
#ifndef RECIBO_CONF_FIELDS_H
#define RECIBO_CONF_FIELDS_H

#include "base/base.h"

enum conf_type {
    CONF_MAP,
    CONF_NAMED,
    CONF_LIST,
    CONF_LIST_OR_ONE, /* a list, or its only item */
    CONF_LATER,       /* known, not served yet */
    CONF_BOOL,
    CONF_WORD,
    CONF_COUNT,
    CONF_DURATION,
    CONF_SIZE,
    CONF_RATE,
    CONF_PERCENT,
    CONF_TEXT,
    CONF_NAME,     /* letters, digits and . _ - */
    CONF_OWNER_ID, /* visible ASCII */
    CONF_KEY_NAME, /* a header, a form field or a path parameter, by `from` */
    CONF_HEADER,
    CONF_METHOD,
    CONF_STATUS,
    CONF_POINTER,
    CONF_PATTERN,
    CONF_CONDITION,
    CONF_EXTRA,
    CONF_ADDRESS,
    CONF_CIDR,
    CONF_URL,
    CONF_HOST,
    CONF_SHA256,
    CONF_CRYPT,
    CONF_FILE_NAME,
    CONF_PROBLEM_BASE,
    CONF_OWN_PREFIX,
};

enum conf_applies { CONF_RELOAD, CONF_RESTART };

struct conf_field {
    const char *path;
    enum conf_type type;
    int64_t min, max;
    const char *fallback; /* NULL: none */
    const char *words;
    enum conf_applies applies;
    const char *doc;
};

#define FIELD_NONE UINT32_MAX
#define FIELD_ROOT 0

uint32_t field_count(void);
const struct conf_field *field_at(uint32_t row);
uint32_t field_find(const char *path);                   /* FIELD_NONE: no such row */
uint32_t field_child(uint32_t parent, struct span name); /* of a MAP */
uint32_t field_item(uint32_t parent);                    /* of a NAMED or a LIST */
uint32_t field_next_child(uint32_t parent,
                          uint32_t after); /* FIELD_NONE: no more; start with parent */
/* The last part of the path: "retention". */
struct span field_leaf(uint32_t row);
bool field_is_required(uint32_t row);
bool field_is_computed(uint32_t row); /* the default depends on other values */
bool field_is_scalar(enum conf_type type);
bool field_is_secret(enum conf_type type); /* the value is never shown */

/* The n-th word of a list with spaces between; empty: no more. `ret_later`: known, not served. */
struct span field_word(const char *words, uint32_t index, bool *ret_later);
/* Index of the word, or FIELD_NONE. */
uint32_t field_word_find(const char *words, struct span word, bool *ret_later);

/* The text that a preset gives this row; empty ptr NULL: none. */
struct span preset_find(struct span preset, uint32_t row);

/* The i-th row of all presets, for the documentation; false: no more. */
bool preset_at(uint32_t i, struct span *ret_preset, struct span *ret_path, struct span *ret_value);

/* Number of edits between two short words; cut off at `most`. */
#define NEAR_BYTES_MAX 48
uint32_t near_distance(struct span a, struct span b, uint32_t most);
/* At how many edits two words of this length are still near. */
uint32_t near_limit(size_t len);
/* The child of `parent` whose name is nearest; FIELD_NONE: none is near. */
uint32_t field_near(uint32_t parent, struct span name);
/* A row anywhere else with just this leaf, for "belongs under"; FIELD_NONE. */
uint32_t field_elsewhere(struct span leaf);

#endif
