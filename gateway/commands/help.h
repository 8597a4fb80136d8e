/* The texts that come from the table of commands. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_HELP_H
#define RECIBO_GATEWAY_COMMANDS_HELP_H

#include "base/buf.h"

#include <stdio.h>

#define RECIBO_VERSION  "0.1.0"
#define HELP_TEXT_BYTES ((size_t)4 << 20)

/* What stands in the exit codes of every command, lines with their ends. */
#define HELP_EXIT_CODES                                                                            \
    "0 done, 1 failed, 2 usage or configuration, 3 not found,\n"                                   \
    "4 changed meanwhile, 5 operator plane unreachable, 6 not allowed.\n"

void help_print_commands(FILE *to);
/* The man page "recibo" or of one command, in roff; false: there is no such command. */
bool manual_print(const char *command, struct gw_buf *out);
/* The names of the pages, one a line. */
void manual_print_names(struct gw_buf *out);
void completion_print_bash(struct gw_buf *out);

#endif
