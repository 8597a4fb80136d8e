/* What check, explain and config share: loading the file that -c names and
 * printing. Only for commands; a serving process has its own way. */
#ifndef RECIBO_GATEWAY_COMMANDS_LOADING_H
#define RECIBO_GATEWAY_COMMANDS_LOADING_H

#include "conf/conf.h"
#include "gateway/commands/options.h"

#define COMMAND_CONF_DEFAULT "recibo.yaml"
#define COMMAND_TEXT_MAX     ((size_t)64 << 20)

/* Loads; findings go to standard error, warnings only if `with_warnings`. false:
 * there were errors, and the exit code is EXIT_USAGE. */
bool command_load(const char *file, bool with_warnings, struct conf **ret_conf) GW_MUST_CHECK;
void command_print_findings(const struct conf_report *report, bool with_warnings);
/* Writes the buffer to standard output and frees it; EXIT_DONE or EXIT_FAILED. */
int command_finish(struct gw_buf *out);

/* What -c says, or the default. */
const char *command_file(const struct options *options);

#endif
