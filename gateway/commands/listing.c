/* Lists of operations. It asks page after page, and never more than it was told to. */
#include "gateway/commands/listing.h"

#include "gateway/admin/query.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define LISTING_ARENA_BYTES ((size_t)256 << 20)
#define NEAR_ROUTES_MAX     1024 /* more are not looked at for a near name */

static const char *const headers[] = {"ID",   "ROUTE",        "STATE", "HOW IT ENDED", ">STATUS",
                                      ">AGE", ">ASKED AGAIN", "PROBE", "ON IT",        "LABELS"};

static struct span number_text(char room[24], const json_t *operation, const char *name)
{
    room[0] = '\0';
    if (json_is_integer(json_object_get(operation, name)))
        (void)snprintf(room, 24, "%lld",
                       (long long)words_number(operation, name)); /* at most 20 digits */
    return span_str(room);
}

static struct span state_text(const json_t *operation)
{
    if (words_is_true(operation, "contradicted"))
        return SPAN("contradicted");
    return words_of(operation, words_of(operation, "phase").len > 0 ? "phase" : "state");
}

static bool add_row(struct table *table, const json_t *operation, int64_t now_ms)
{
    struct gw_buf age, labels;
    char status[24], repeats[24];
    gw_buf_init(&age, 64);
    gw_buf_init(&labels, 4096);
    words_print_age(&age, words_of(operation, "created_at"), now_ms);
    words_print_labels(&labels, json_object_get(operation, "labels"));
    const struct span cells[] = {words_of(operation, "id"),
                                 words_of(operation, "route"),
                                 state_text(operation),
                                 words_of(operation, "end"),
                                 number_text(status, operation, "status"),
                                 gw_buf_span(&age),
                                 number_text(repeats, operation, "repeats"),
                                 words_of(operation, "probe"),
                                 words_of(operation, "claimed_by"),
                                 gw_buf_span(&labels)};
    bool ok = table_add(table, cells);
    gw_buf_fini(&age);
    gw_buf_fini(&labels);
    return ok;
}

/* One page as a table of its own, printed as it comes: a list may be longer than memory.
 * Where lines are fitted to a terminal, each page has its own columns and so its own head. */
static int show_page(const json_t *page, bool is_first)
{
    struct gw_clock *clock = gw_clock_system();
    const int64_t now_ms = clock->wall_ms(clock);
    const json_t *operations = json_object_get(page, "operations");
    size_t count = json_array_size(operations);
    struct arena *arena = arena_new(LISTING_ARENA_BYTES);
    struct table *table = arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers));
    bool ok = table != NULL;
    for (size_t i = 0; i < count && ok; i++)
        ok = add_row(table, json_array_get(operations, i), now_ms);
    if (!ok) {
        (void)fputs("recibo: there is not enough memory for the page\n", stderr);
    } else if (count > 0) {
        struct gw_buf out;
        gw_buf_init(&out, LISTING_ARENA_BYTES);
        table_print(table, &out);
        const char *end = memchr(out.ptr, '\n', out.len);
        if (!is_first && terminal_columns() == 0 && end != NULL)
            gw_buf_drop(&out, (size_t)(end - out.ptr) + 1);
        words_flush(&out);
        gw_buf_fini(&out);
    }
    arena_free(arena);
    return ok ? -1 : EXIT_FAILED;
}

/* "Nothing" must never be read as "nothing at all" when a filter was given. */
static const char *nothing_text(const struct options *options, const struct listing *listing)
{
    bool is_any = listing->state == NULL || options_has(options, "--state") ||
                  options_has(options, "--contradicted");
    if (listing_is_filtered(options))
        return is_any ? "No operation fits this filter." : "No unknown operation fits this filter.";
    return is_any ? "No operations." : "Nothing is unknown.";
}

static void print_rest(const struct options *options, const struct listing *listing, size_t rows,
                       const struct listing_pages *pages)
{
    if (rows == 0 && pages->next[0] == '\0')
        (void)printf("%s\n", nothing_text(options, listing)); /* the exit code cannot tell more */
    else if (pages->next[0] != '\0' && listing->excerpt == NULL)
        (void)printf("There are more: --cursor %s, or --all.\n", pages->next);
}

int listing_run(const struct options *options, const struct admin_client *client,
                const struct listing *listing)
{
    struct listing_pages pages;
    struct admin_reply reply;
    size_t rows = 0;
    int code = listing_open(options, client, listing, listing->excerpt, &pages);
    if (code != -1)
        return code;
    bool goes_on = true;
    while (goes_on) {
        code = listing_next(client, &pages, &reply);
        if (code != -1)
            break;
        if (client->wants_json)
            client_print_raw(&reply);
        else
            code = show_page(reply.json, rows == 0);
        rows += json_array_size(json_object_get(reply.json, "operations"));
        client_forget(&reply);
        /* Where many were looked at, a page may be empty and yet not the last. */
        goes_on = code == -1 && listing_has_more(&pages) &&
                  (options_has(options, "--all") || (rows == 0 && !client->wants_json));
    }
    if (code == -1 && rows == 0)
        code = listing_check_route(options, client);
    if (code == -1 && !client->wants_json)
        print_rest(options, listing, rows, &pages);
    listing_close(&pages);
    return code == -1 ? EXIT_DONE : code;
}

int listing_check_route(const struct options *options, const struct admin_client *client)
{
    const char *route = options_value(options, "--route");
    const char *names[NEAR_ROUTES_MAX];
    size_t count = 0;
    struct admin_reply reply;
    if (route == NULL)
        return -1;
    int code = client_want(client, "GET", "/v1/routes", span_of(NULL, 0), &reply);
    if (code != -1)
        return code;
    const json_t *routes = json_object_get(reply.json, "routes");
    bool is_there = false;
    for (size_t i = 0; i < json_array_size(routes) && !is_there; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(routes, i), "name"));
        is_there = name != NULL && strcmp(name, route) == 0;
        if (name != NULL && count < NEAR_ROUTES_MAX)
            names[count++] = name;
    }
    if (!is_there) {
        const char *near = options_near(route, names, count);
        (void)fprintf(stderr, "recibo: there is no route \"%.64s\"%s%s\n", route,
                      near == NULL ? "" : "; did you mean ",
                      near == NULL ? "" : near); /* nowhere else to tell it */
    }
    client_forget(&reply);
    return is_there ? -1 : EXIT_NOT_FOUND;
}

int listing_check_id(const struct options *options, const char *id)
{
    if (operation_id_is_sound(span_str(id)))
        return -1;
    return options_refuse(options,
                          "\"%.64s\" is no operation id: they are \"op_\" and 26 characters, as in "
                          "the lists and in Idempotency-Operation",
                          id);
}

void listing_path(struct gw_buf *out, const char *id, const char *tail)
{
    gw_buf_clear(out);
    (void)gw_buf_print(out, "/v1/operations/%s%s", id, tail); /* ids are 29 bytes */
    (void)gw_buf_byte(out, '\0');
}
