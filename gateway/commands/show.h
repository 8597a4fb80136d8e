/* One operation for people: evidence, what the caller sees, what can be done. */
#ifndef RECIBO_GATEWAY_COMMANDS_SHOW_H
#define RECIBO_GATEWAY_COMMANDS_SHOW_H

#include "gateway/commands/admin_client.h"

/* GET /v1/operations/{id} as text. */
void show_operation(const json_t *operation, struct gw_buf *out);
/* "what the caller sees": now and under each verdict. */
void show_client_sees(const json_t *sees, struct gw_buf *out);
/* The timeline of GET .../why as text. */
void show_timeline(const json_t *why, struct gw_buf *out);

#endif
