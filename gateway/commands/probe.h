/* Asking the upstream from the command line. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_PROBE_H
#define RECIBO_GATEWAY_COMMANDS_PROBE_H

#include "gateway/commands/admin_client.h"

#define PROBE_WAIT_MS ((int64_t)60 * 1000) /* for an answer, unless --wait says otherwise */
#define PROBE_POLL_MS 100
#define PROBE_ID_MAX  32

/* One operation that is asked about. */
struct probe_asked {
    char id[PROBE_ID_MAX];
    int64_t count; /* its probe_count when it was asked about */
};

/* POST .../probe. -1: it will be asked. Else the exit code; with `is_quiet` a refusal is
 * not said, and ret_reply holds it: to be forgotten by the caller, who tells it. */
int probe_ask(struct admin_client *client, const char *id, const char *note, bool is_quiet,
              struct probe_asked *ret, struct admin_reply *ret_reply);
/* GET of it. -1: *ret_reply holds the operation, *ret_answered says whether the answer came,
 * or nobody waits for one any more. Else the exit code. */
int probe_look(const struct admin_client *client, const struct probe_asked *asked,
               bool *ret_answered, struct admin_reply *ret_reply);
void probe_pause(int64_t ms);
int64_t probe_ticks(void);

/* --group: asks about all of it. */
int probe_group(const struct options *options, struct admin_client *client, int64_t wait_ms);

#endif
