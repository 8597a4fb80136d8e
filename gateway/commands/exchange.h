/* One request and its answer over a connection of its own, blocking, with deadlines. */
#ifndef RECIBO_GATEWAY_COMMANDS_EXCHANGE_H
#define RECIBO_GATEWAY_COMMANDS_EXCHANGE_H

#include "gateway/commands/admin_client.h"

/* Fills status and body of the reply, and, also where it fails, was_sent. */
GW_MUST_CHECK enum gw_status exchange_run(const struct admin_client *client, const char *method,
                                          const char *path, struct span body,
                                          struct admin_reply *reply, struct gw_error *err);

#endif
