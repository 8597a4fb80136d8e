/* What holds new operations back: pauses by hand, and breakers. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_STOPS_H
#define RECIBO_GATEWAY_COMMANDS_STOPS_H

#include "base/buf.h"

#include <jansson.h>

/* A line for each, out of GET /v1/routes. */
void stops_print(const json_t *routes, struct gw_buf *out);

#endif
