/* Filters of the command line as the query of a list, and its pages. It asks for one
 * page at a time, and never for more than LISTING_PAGES_MAX. */
#include "gateway/commands/commands.h"
#include "gateway/commands/groups.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define LISTING_PAGES_MAX 20000 /* of 500: as many as a backlog can have */

static const struct {
    const char *option, *parameter;
    bool is_filter;
} filters[] = {
    {"--route", "route", true},
    {"--owner", "owner", true},
    {"--key", "key", true},
    {"--end", "end", true},
    {"--status", "status", true},
    {"--state", "state", true},
    {"--probe", "probe", true},
    {"--older-than", "older_than", true},
    {"--newer-than", "newer_than", true},
    {"--created-after", "created_after", true},
    {"--created-before", "created_before", true},
    {"--limit", "limit", false},
};
/* Filters that are no parameter with the same value. */
static const char *const others[] = {"--label",        "--claimed", "--unclaimed",
                                     "--contradicted", "--cursor",  "--group"};

bool listing_is_filtered(const struct options *options)
{
    for (size_t i = 0; i < GW_COUNT(filters); i++)
        if (filters[i].is_filter && options_has(options, filters[i].option))
            return true;
    for (size_t i = 0; i < GW_COUNT(others); i++)
        if (options_has(options, others[i]))
            return true;
    return false;
}

/* Ignored results from here on: a buffer that is full stays marked, and is asked once
 * at the end. */

static void add_parameter(struct gw_buf *path, const char *name, struct span value)
{
    char before = memchr(path->ptr, '?', path->len) == NULL ? '?' : '&';
    (void)gw_buf_print(path, "%c%s=", before, name);
    client_escape(path, value);
}

int listing_add_label(const struct options *options, struct gw_buf *path, const char *label)
{
    const char *equals = strchr(label, '=');
    if (equals == NULL || equals == label || equals[1] == '\0')
        return options_refuse(options, "--label is NAME=VALUE, not \"%s\"", label);
    (void)gw_buf_print(path, "%clabel.", memchr(path->ptr, '?', path->len) == NULL ? '?' : '&');
    client_escape(path, span_of(label, (size_t)(equals - label)));
    (void)gw_buf_byte(path, '=');
    client_escape(path, span_str(equals + 1));
    return -1;
}

static int add_group(const struct options *options, const struct admin_client *client,
                     const struct listing *listing, struct gw_buf *path)
{
    static const char *const clash[] = {"--route", "--end", "--status", "--state"};
    json_t *found = NULL;
    if (listing->group == NULL && !options_has(options, "--group"))
        return -1;
    for (size_t i = 0; i < GW_COUNT(clash); i++)
        if (options_has(options, clash[i]))
            return options_refuse(options, "--group says what %s says; give one of them", clash[i]);
    int code = listing->group != NULL ? -1 : groups_find(options, client, &found);
    if (code != -1)
        return code;
    add_parameter(path, "state", SPAN("unknown"));
    groups_print_query(listing->group != NULL ? listing->group : found, path);
    json_decref(found);
    return -1;
}

static int add_filters(const struct options *options, const struct listing *listing,
                       struct gw_buf *path)
{
    bool is_contradicted = options_has(options, "--contradicted");
    bool is_claimed = options_has(options, "--claimed");
    bool names_state = options_has(options, "--state") || options_has(options, "--group") ||
                       listing->group != NULL;
    if (is_claimed && options_has(options, "--unclaimed"))
        return options_refuse(options, "--claimed and --unclaimed leave nothing");
    if (listing->state != NULL && !names_state && !is_contradicted)
        add_parameter(path, "state", span_str(listing->state));
    for (size_t i = 0; i < GW_COUNT(filters); i++) {
        const char *value = options_value(options, filters[i].option);
        if (value != NULL && filters[i].is_filter)
            add_parameter(path, filters[i].parameter, span_str(value));
    }
    if (is_claimed || options_has(options, "--unclaimed"))
        add_parameter(path, "claimed", is_claimed ? SPAN("true") : SPAN("false"));
    if (is_contradicted)
        add_parameter(path, "contradicted", SPAN("true"));
    const char *label = options_value(options, "--label");
    return label == NULL ? -1 : listing_add_label(options, path, label);
}

int listing_open(const struct options *options, const struct admin_client *client,
                 const struct listing *listing, const char *limit, struct listing_pages *ret)
{
    const char *cursor = options_value(options, "--cursor");
    *ret = (struct listing_pages){0};
    if (cursor != NULL && (cursor[0] == '\0' || strlen(cursor) >= sizeof(ret->next)))
        return options_refuse(options, "--cursor is what an earlier page printed");
    (void)snprintf(ret->next, sizeof(ret->next), "%s", cursor == NULL ? "" : cursor); /* it fits */
    gw_buf_init(&ret->path, LISTING_PATH_BYTES);
    (void)gw_buf_add(&ret->path, SPAN("/v1/operations"));
    int code = add_filters(options, listing, &ret->path);
    if (code == -1)
        code = add_group(options, client, listing, &ret->path);
    if (limit == NULL)
        limit = options_value(options, "--limit");
    if (limit == NULL && options_has(options, "--all"))
        limit = LISTING_PAGE_MAX;
    if (limit != NULL)
        add_parameter(&ret->path, "limit", span_str(limit));
    add_parameter(&ret->path, "order", listing->oldest_first ? SPAN("oldest") : SPAN("newest"));
    if (code == -1 && ret->path.failed)
        code = options_refuse(options, "the filters are too long");
    ret->path_len = ret->path.len;
    if (code != -1)
        listing_close(ret);
    return code;
}

int listing_next(const struct admin_client *client, struct listing_pages *pages,
                 struct admin_reply *ret_reply)
{
    struct gw_buf *path = &pages->path;
    path->len = pages->path_len;
    if (pages->next[0] != '\0')
        add_parameter(path, "cursor", span_str(pages->next));
    if (!gw_buf_byte(path, '\0') || path->failed) {
        (void)fprintf(stderr, "recibo: there is not enough memory for the next page\n");
        return EXIT_FAILED; /* a cursor has at most 31 bytes */
    }
    int code = client_want(client, "GET", path->ptr, span_of(NULL, 0), ret_reply);
    if (code != -1)
        return code;
    struct span next = words_of(ret_reply->json, "next");
    (void)snprintf(pages->next, sizeof(pages->next), "%.*s", (int)next.len,
                   next.ptr); /* a longer cursor is none of ours */
    pages->count++;
    return -1;
}

bool listing_has_more(const struct listing_pages *pages)
{
    return pages->next[0] != '\0' && pages->count < LISTING_PAGES_MAX;
}

void listing_close(struct listing_pages *pages)
{
    gw_buf_fini(&pages->path);
}
