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

/* ---- plans_match_file.c ---- */
struct match_value {
    struct span text;
    struct span folded; /* as a spreadsheet may have changed it: blanks, case, zeros */
    uint32_t line;
};
struct match_file {
    struct arena *arena;
    struct match_value *values;  /* sorted by text, then by line */
    struct match_value **folded; /* the same, sorted by folded */
    uint32_t count;
    uint32_t empty; /* records without a value in the column */
};
/* Reads --column of the file. -1: it is whole. Else the exit code, and where it is wrong
 * was said. */
int match_file_load(const struct options *options, const char *path, struct match_file *ret);
void match_file_free(struct match_file *file);
/* How many records have exactly this value; *ret_first is the first of them. */
uint32_t match_file_find(const struct match_file *file, struct span text,
                         const struct match_value **ret_first);
/* The same with those that differ from it only in their spelling. */
uint32_t match_file_near(const struct match_file *file, struct span text, struct arena *arena,
                         const struct match_value **ret_first);

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
    struct span label; /* empty: it bears none */
    struct span route;
    uint32_t line; /* in the file; 0: in none */
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
    uint32_t bad;        /* contradictions that were put on record */
    int64_t complete_ms; /* 0: the file is not said to be complete */
    struct match_plan plans[MATCH_PLANS_MAX];
    uint32_t plan_count;
};

/* ---- plans_match_print.c ---- */
/* -1: it could be printed. */
int match_print(const struct match *match);

#endif
