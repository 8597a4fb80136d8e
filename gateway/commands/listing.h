/* Lists of operations on the command line: filters become a query, pages a table. */
#ifndef RECIBO_GATEWAY_COMMANDS_LISTING_H
#define RECIBO_GATEWAY_COMMANDS_LISTING_H

#include "gateway/commands/admin_client.h"

#define LISTING_CURSOR_BYTES 32
#define LISTING_PATH_BYTES   16384
#define LISTING_PAGE_MAX     "500" /* as many as a page may have */

struct listing {
    const char *state; /* unless --state or --contradicted says otherwise; NULL: any */
    bool oldest_first;
    const char *excerpt; /* so many alone, without a word on more of them; NULL: as --limit says */
    const json_t *group; /* of this group; NULL: of --group, if it is given */
};

/* The filters alone; a command's own table may begin with them. */
#define LISTING_FILTERS                                                                            \
    {"--state", "LIST", "only in these states: pending,completed,released,unknown ...", false},    \
        {"--route", "NAME", "only of this route", false},                                          \
        {"--owner", "NAME", "only of this owner", false},                                          \
        {"--key", "KEY", "only with this key", false},                                             \
        {"--label", "NAME=VALUE", "only with this label", false},                                  \
        {"--end", "HOW", "only those whose last attempt ended so: answer_timeout ...", false},     \
        {"--status", "NUMBER|none",                                                                \
         "only those whose last answer had this status, or that had none", false},                 \
        {"--probe", "LIST",                                                                        \
         "only where the last probe brought executed,absent,unclear,failed,none", false},          \
        {"--older-than", "DURATION", "only those that came earlier than 15m, 2h ... ago", false},  \
        {"--newer-than", "DURATION", "only those that came later than that", false},               \
        {"--created-after", "TIME", "only those that came after 2026-11-30T02:00:00Z", false},     \
        {"--created-before", "TIME", "only those that came before it", false},                     \
        {"--claimed", NULL, "only those that somebody is on", false},                              \
        {"--unclaimed", NULL, "only those that nobody is on", false},                              \
    {                                                                                              \
        "--contradicted", NULL, "only those with evidence against a verdict, in any state", false  \
    }
/* And the pages of a list. */
#define LISTING_OPTIONS                                                                            \
    LISTING_FILTERS, {"--limit", "NUMBER", "at most so many, 1 to 500 (default: 100)", false},     \
        {"--cursor", "CURSOR", "go on after an earlier page", false},                              \
    {                                                                                              \
        "--all", NULL, "every page", false                                                         \
    }
#define LISTING_GROUP                                                                              \
    {                                                                                              \
        "--group", "NUMBER", "only this group, as recibo backlog numbers them", false              \
    }

/* Prints the list; the exit code. */
int listing_run(const struct options *options, const struct admin_client *client,
                const struct listing *listing);
/* Was anything given that leaves operations out? */
bool listing_is_filtered(const struct options *options);
/* "There is no such route": EXIT_NOT_FOUND when --route names none, and it was said. -1: fine. */
int listing_check_route(const struct options *options, const struct admin_client *client);
/* "op_" and 26 characters; else says so. -1: fine. */
int listing_check_id(const struct options *options, const char *id);
/* The path of an operation: /v1/operations/ID and a tail. */
void listing_path(struct gw_buf *out, const char *id, const char *tail);
/* "NAME=VALUE" as a parameter of the query. -1: fine. */
int listing_add_label(const struct options *options, struct gw_buf *path, const char *label);

/* ---- page by page ---- */

struct listing_pages {
    struct gw_buf path; /* with all filters, without the cursor */
    size_t path_len;
    char next[LISTING_CURSOR_BYTES]; /* empty: from the start, or no more */
    uint32_t count;                  /* pages so far */
};
/* `limit`: of a page, NULL: as the options say. -1: go on, and close in the end. */
int listing_open(const struct options *options, const struct admin_client *client,
                 const struct listing *listing, const char *limit, struct listing_pages *ret);
/* -1: *ret_reply holds a page, to be forgotten by the caller. Else the exit code. */
int listing_next(const struct admin_client *client, struct listing_pages *pages,
                 struct admin_reply *ret_reply);
bool listing_has_more(const struct listing_pages *pages);
void listing_close(struct listing_pages *pages);

#endif
