/* `recibo backlog match`: what is unknown against a list that the upstream gave out.
 * Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_PLANS_MATCH_H
#define RECIBO_GATEWAY_COMMANDS_PLANS_MATCH_H

#include "base/arena.h"
#include "gateway/commands/admin_client.h"

#define MATCH_FILE_BYTES_MAX ((size_t)256 << 20)
#define MATCH_VALUES_MAX     2000000
#define MATCH_COLUMNS_MAX    4096
#define MATCH_ENTRIES_MAX    100000

/* ---- plans_match_fold.c ---- */
#define MATCH_KEYS_MAX 7
#define MATCH_PARTED   2
/* What a text may stand for, whoever spelled it: small ASCII letters and digits alone,
 * without zeros before a number. No two are equal. */
struct match_reading {
    struct span raw;                  /* as it was given */
    struct span keys[MATCH_KEYS_MAX]; /* the first one: all of its letters and digits */
    uint32_t count;
    /* The same with a dot where something stood between two digits, which keys do not show:
     * what is a part of it is told from what only begins like it. Empty: nowhere. */
    struct span parted[MATCH_PARTED];
    bool is_number;  /* the first one is digits alone */
    bool is_rounded; /* the last one was a power of ten: digits may be lost */
    bool is_lossy;   /* characters of it have no form in ASCII, and are in no key */
    bool is_blank;   /* nothing that can be compared, or a word for nothing */
};
/* false: out of memory. */
bool match_read(struct arena *arena, struct span text, struct match_reading *ret);

/* ---- plans_match_index.c ---- */
struct match_value {
    struct span text;
    uint32_t line;
};
/* ---- plans_match_form.c ---- */
#define MATCH_FORM_BYTES  64
#define MATCH_FORMS_MAX   16
#define MATCH_SAMPLES_MAX 8
struct match_form {
    struct span text;                                     /* "x-0": a word, a dash, a number */
    const struct match_value *samples[MATCH_SAMPLES_MAX]; /* the first records of it */
    uint32_t count;
    bool is_known;      /* numbers of operations look like this */
    int64_t covered_ms; /* when the last operation was made whose number, of this form, is known
                         * to be in the file; 0: none is */
};
struct match_forms {
    struct match_form items[MATCH_FORMS_MAX];
    uint32_t count;
    const struct match_value *more; /* of one form too many; NULL: there is none */
};
/* false: out of memory. */
bool match_forms_add(struct match_forms *forms, struct arena *arena,
                     const struct match_value *value);
/* An operation that was made then has this number, and the file has it. */
void match_forms_cover(struct match_forms *forms, struct span text, int64_t created_ms);
/* Until when the file is known to have numbers that look like this. */
int64_t match_forms_covered(struct match_forms *forms, struct span text);

struct match_key {
    struct span text;
    const struct match_value *value;
};
struct match_index {
    struct match_key *keys; /* sorted by text, then by the text of the value */
    uint32_t count;
};
struct match_file {
    struct arena *arena;
    struct match_value *values; /* sorted by text, then by line */
    uint32_t count;
    uint32_t blank; /* records without a value that can be compared */
    bool is_cut;    /* the last record has no line end, and the column may go on there */
    struct match_forms forms;
    struct match_index spelled, rounded;
    struct match_index parted; /* in no order */
    uint64_t lengths;          /* bit n: a key has n bytes */
};
/* Of values that are read: sorts them, and fills in the rest. false: out of memory. */
bool match_index_build(struct match_file *file);
/* How many records have exactly this value; *ret_first is the first of them. */
uint32_t match_file_find(const struct match_file *file, struct span text,
                         const struct match_value **ret_first);
/* A record that is the same number or word as `text` in another spelling. NULL: none. */
const struct match_value *match_file_near(const struct match_file *file, struct span text,
                                          const struct match_reading *reading);
/* A record that may be a rounded `text`, or is a part of it. NULL: none. */
const struct match_value *match_file_like(const struct match_file *file,
                                          const struct match_reading *reading);
struct match_needle {
    struct span text;
    size_t raw_len;                  /* of the label that it stands for */
    const struct match_value *found; /* the needle is a part of this record's value */
    uint32_t entry;
};
/* Sorts them, and fills in what was found. false: out of memory. */
bool match_file_contain(const struct match_file *file, struct match_needle *needles,
                        uint32_t count);

/* ---- plans_match_file.c ---- */
/* Reads --column of the file. -1: it is whole. Else the exit code, and where it is wrong
 * was said. */
int match_file_load(const struct options *options, const char *path, struct match_file *ret);
void match_file_free(struct match_file *file);

/* ---- plans_match.c ---- */
enum match_kind {
    MATCH_ONCE,    /* executed */
    MATCH_TWICE,   /* a contradiction */
    MATCH_NONE,    /* not executed, if the file is complete */
    MATCH_UNCLEAR, /* for a person */
    MATCH_KINDS,
};
struct match_entry {
    char id[32];
    uint32_t version;
    int64_t created_ms;
    struct span label; /* empty: it bears none */
    struct span route;
    uint32_t line;   /* in the file; 0: in none */
    bool is_in_file; /* spelled just so */
    bool is_contradicted;
    bool is_planned; /* a verdict of it stands in a plan */
    enum match_kind kind;
    const char *why; /* it is unclear, or not planned; NULL: nothing to say */
};
struct match_plan {
    char id[40];
    const char *verdict;
    uint32_t count;
};
#define MATCH_PLANS_MAX 32
struct match {
    const struct options *options;
    struct admin_client *client;
    struct arena *arena;
    struct match_file file;
    struct match_entry *entries;
    uint32_t count, of_kind[MATCH_KINDS];
    uint32_t compensations; /* unknown too, and not looked for in the file */
    uint32_t bad;           /* contradictions that were put on record */
    int64_t complete_ms;    /* 0: the file is not said to be complete */
    const char *doubt;      /* why nothing follows from what is not in the file; NULL: it may */
    uint32_t refused;       /* were not in the file, and are for a person by a doubt */
    uint32_t uncovered;     /* ... since nothing later is in it */
    struct match_plan plans[MATCH_PLANS_MAX];
    uint32_t plan_count;
};

/* Says it, and is the exit code. */
int match_no_memory(void);

/* ---- plans_match_judge.c ---- */
/* Gives each entry its kind. -1: it is done; else the exit code, and why was said. */
int match_judge(struct match *match);

/* How many operations bear this number, up to 2. -1: *ret_count is set; else the exit code. */
int match_count_bearers(struct match *match, struct span number, size_t *ret_count);

/* ---- plans_match_known.c ---- */
/* What is known to have run has to be in the list, and what is in the list has to look like
 * the numbers of operations: else match->doubt says so. Asks for what
 * completed since the first of those that are not there. -1: it is done. */
int match_look_for_known(struct match *match);

/* ---- plans_match_print.c ---- */
/* -1: it could be printed. */
int match_print(const struct match *match);

#endif
