/* Plans on the command line: many verdicts at once. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_PLANS_H
#define RECIBO_GATEWAY_COMMANDS_PLANS_H

#include "gateway/commands/admin_client.h"

/* `recibo backlog settle` with --where, --apply or --stop. */
int plans_settle(int argc, char **argv);

/* The member `plan` of an answer as text: counts, samples, what callers get, what was
 * left out. */
void plans_print(const json_t *plan, struct gw_buf *out);
/* What can be done with it: lines to type. */
void plans_print_next(const json_t *plan, struct gw_buf *out);
/* "plan_" and 26 characters; else says so. -1: fine. */
int plans_check_id(const struct options *options, const char *id);
/* /v1/plans/ID and a tail. */
void plans_path(struct gw_buf *out, const char *id, const char *tail);

/* --where NAME=VALUE, as many as there are, as an object of the API; group=NUMBER stands
 * for what makes that group. -1: *ret_where is the caller's. Else the exit code. */
int plans_read_where(const struct options *options, const struct admin_client *client,
                     json_t **ret_where);
#define PLANS_WHERE                                                                                \
    {                                                                                              \
        "--where", "NAME=VALUE",                                                                   \
            "only these: group=1, route=create-order, end=answer_timeout, status=none, "           \
            "label.order=4711, older_than=15m, created_before=TIME, probe=absent ...",             \
            true                                                                                   \
    }

#endif
