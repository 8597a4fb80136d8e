/* The backlog by groups, on the command line. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_GROUPS_H
#define RECIBO_GATEWAY_COMMANDS_GROUPS_H

#include "gateway/commands/admin_client.h"

/* GET /v1/backlog/groups. -1: *ret_reply holds them. Else the exit code. */
int groups_fetch(const struct admin_client *client, struct admin_reply *ret_reply);
/* The group of --group; *ret_group is the caller's reference. -1: found. Else the exit code. */
int groups_find(const struct options *options, const struct admin_client *client,
                json_t **ret_group);
/* "&route=...&end=...&status=..." */
void groups_print_query(const json_t *group, struct gw_buf *path);
/* "create-order, answer_timeout, no answer, 3,812 of them" */
void groups_print_name(const json_t *group, struct gw_buf *out);
/* The table, `route` alone unless NULL; false: no group is in it, and nothing was printed. */
bool groups_print_table(const json_t *groups, const char *route, struct gw_buf *out);

#endif
