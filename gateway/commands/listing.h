/* Lists of operations on the command line: filters become a query, pages a table. */
#ifndef RECIBO_GATEWAY_COMMANDS_LISTING_H
#define RECIBO_GATEWAY_COMMANDS_LISTING_H

#include "gateway/commands/admin_client.h"

struct listing {
    const char *state; /* NULL: --state, or any */
    bool oldest_first;
};
/* The filter options; a command's own table may begin with them. */
#define LISTING_OPTIONS                                                                            \
    {"--route", "NAME", "only of this route", false},                                              \
        {"--owner", "NAME", "only of this owner", false},                                          \
        {"--key", "KEY", "only with this key", false},                                             \
        {"--end", "HOW", "only those whose last attempt ended so: answer_timeout ...", false},     \
        {"--label", "NAME=VALUE", "only with this label", false},                                  \
        {"--older-than", "DURATION", "only those that came earlier than 15m, 2h ... ago", false},  \
        {"--newer-than", "DURATION", "only those that came later than that", false},               \
        {"--contradicted", NULL, "only those with evidence against a verdict", false},             \
        {"--limit", "NUMBER", "at most so many, 1 to 500 (default: 100)", false},                  \
        {"--cursor", "CURSOR", "go on after an earlier page", false},                              \
    {                                                                                              \
        "--all", NULL, "every page", false                                                         \
    }

/* Prints the list; the exit code. */
int listing_run(const struct options *options, const struct admin_client *client,
                const struct listing *listing);
/* "op_" and 26 characters; else says so. -1: fine. */
int listing_check_id(const struct options *options, const char *id);
/* The path of an operation: /v1/operations/ID and a tail. */
void listing_path(struct gw_buf *out, const char *id, const char *tail);

#endif
