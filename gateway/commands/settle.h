/* The response that goes with the verdict `executed`, on the command line. Threads: the
 * main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_SETTLE_H
#define RECIBO_GATEWAY_COMMANDS_SETTLE_H

#include "base/buf.h"
#include "gateway/commands/options.h"

/* Do --response, --status, --header and --no-response go with --verdict? -1: they do. */
int settle_check_response(const struct options *options);
/* `,"response":...` of them. -1: it is there; else the exit code, and why was said. */
int settle_add_response(const struct options *options, struct gw_buf *out);

#endif
