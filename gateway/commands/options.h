/* The words of a subcommand: options from a table, positional words, help. It
 * prints what is wrong itself. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_OPTIONS_H
#define RECIBO_GATEWAY_COMMANDS_OPTIONS_H

#include "base/base.h"

#define OPTIONS_GIVEN_MAX 128
#define OPTIONS_WORDS_MAX 4

struct option_spec {
    const char *name;  /* "--route" */
    const char *value; /* "NAME"; NULL: a flag */
    const char *doc;
    bool is_list; /* may be given more than once */
};

/* Which options a command has without listing them. */
enum option_set {
    OPTIONS_ADMIN, /* it asks the operator plane: the way there, the token, --json */
    OPTIONS_FILE,  /* it reads the configuration: -c */
    OPTIONS_ALONE, /* --help alone */
};

/* All that help, man page, completion and docs/commands.md say of a command. */
struct command_help {
    const char *synopsis; /* "recibo backlog show ID" */
    const char *text;     /* what it does, lines with their ends */
    const struct option_spec *options;
    size_t option_count;
    uint32_t words_min, words_max; /* positional, without the command's own name */
    const char *words;             /* their names, "ID TEXT": a missing one is named; or NULL */
    const char *examples;          /* lines with their ends; or NULL */
    const char *group;             /* its parts in commands.def are listed; or NULL */
    enum option_set set;
};

struct options {
    const struct command_help *help;
    struct {
        const struct option_spec *spec;
        const char *value; /* NULL: a flag */
    } given[OPTIONS_GIVEN_MAX];
    uint32_t given_count;
    const char *words[OPTIONS_WORDS_MAX];
    uint32_t word_count;
};

/* -1: go on. Else the exit code: help was printed, or what is wrong. argv[0] is the
 * command's name. */
int options_parse(const struct command_help *help, int argc, char **argv, struct options *ret);
bool options_has(const struct options *options, const char *name);
/* NULL: not given. */
const char *options_value(const struct options *options, const char *name);
/* The next value of a list; *at starts with 0. NULL: no more. */
const char *options_next(const struct options *options, const char *name, uint32_t *at);
/* "recibo: ..." on standard error; returns EXIT_USAGE. */
int options_refuse(const struct options *options, const char *fmt, ...) GW_PRINTF(2, 3);
void options_print_help(const struct command_help *help);
/* The word of the list that is nearest to `text`; NULL: none is near. */
const char *options_near(const char *text, const char *const *words, size_t count);
/* The i-th option of a command, those of its set behind its own; NULL: no more. */
const struct option_spec *options_spec(const struct command_help *help, size_t i);

#endif
