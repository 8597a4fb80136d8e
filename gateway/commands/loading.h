/* What check, explain and config share: loading the file that -c names and
 * printing. Only for commands; a serving process has its own way. */
#ifndef RECIBO_GATEWAY_COMMANDS_LOADING_H
#define RECIBO_GATEWAY_COMMANDS_LOADING_H

#include "conf/conf.h"

#define COMMAND_CONF_DEFAULT "recibo.yaml"
#define COMMAND_TEXT_MAX     ((size_t)64 << 20)

/* Loads; findings go to standard error, warnings only if `with_warnings`. false:
 * there were errors, and the exit code is EXIT_USAGE. */
bool command_load(const char *file, bool with_warnings, struct conf **ret_conf) GW_MUST_CHECK;
void command_print_findings(const struct conf_report *report, bool with_warnings);
/* Writes the buffer to standard output and frees it; EXIT_DONE or EXIT_FAILED. */
int command_finish(struct gw_buf *out);

/* The next word of the command line as an option: "--json", "-c FILE". */
enum command_word { COMMAND_END, COMMAND_PLAIN, COMMAND_CONF, COMMAND_OTHER, COMMAND_BROKEN };
struct command_words {
    int argc;
    char **argv;
    int at;           /* next to look at */
    const char *conf; /* what -c said last */
};
/* *ret_word is the word itself for PLAIN and OTHER. BROKEN: -c without a file; it was said. */
enum command_word command_next(struct command_words *words, const char **ret_word);
/* The value of the option that command_next gave last; NULL: none, and it was said. */
const char *command_value(struct command_words *words, const char *option);
/* Says what is wrong with the line; EXIT_USAGE. */
int command_usage(const char *command, const char *what, const char *which);

#endif
