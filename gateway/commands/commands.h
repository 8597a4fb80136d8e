/* The subcommands of recibo. Each gets its own words (argv[0] is its name) and
 * returns the exit code: 0 done, 1 failed, 2 usage or configuration, 3 not found,
 * 4 changed meanwhile, 5 admin unreachable, 6 not allowed (SPEC 10). */
#ifndef RECIBO_GATEWAY_COMMANDS_COMMANDS_H
#define RECIBO_GATEWAY_COMMANDS_COMMANDS_H

#include "gateway/commands/options.h"

enum command_exit {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_CHANGED = 4,
    EXIT_UNREACHABLE = 5,
    EXIT_NOT_ALLOWED = 6,
};

#define COMMAND(name, word, doc)                                                                   \
    int command_##name(int argc, char **argv);                                                     \
    extern const struct command_help command_##name##_help;
#define PART(group, name, word, doc)                                                               \
    int group##_##name(int argc, char **argv);                                                     \
    extern const struct command_help group##_##name##_help;
#include "gateway/commands/commands.def"
#undef COMMAND
#undef PART

/* ---- the table of commands.def ---- */

struct command {
    const char *group; /* of a part; NULL: a command of its own */
    const char *word;
    const char *doc;
    int (*run)(int argc, char **argv);
    const struct command_help *help;
};
extern const struct command command_table[];
extern const size_t command_count;

/* The command, or the part of a group. NULL: there is none. */
const struct command *command_find(const char *group, const char *word);
/* Says that there is none, and which is near; EXIT_USAGE. */
int command_refuse(const char *group, const char *word);

#endif
