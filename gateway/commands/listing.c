/* Lists of operations. It asks page after page, and never more than it was told to. */
#include "gateway/commands/listing.h"

#include "gateway/admin/query.h"
#include "gateway/commands/commands.h"
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

struct shown {
    struct table *table;
    uint32_t rows;
    bool is_full;
};

static void take_page(struct shown *shown, const json_t *page)
{
    struct gw_clock *clock = gw_clock_system();
    const int64_t now_ms = clock->wall_ms(clock);
    const json_t *operations = json_object_get(page, "operations");
    for (size_t i = 0; i < json_array_size(operations) && !shown->is_full; i++) {
        shown->is_full = !add_row(shown->table, json_array_get(operations, i), now_ms);
        shown->rows += shown->is_full ? 0 : 1;
    }
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

static void print(const struct options *options, const struct listing *listing,
                  const struct shown *shown, const struct listing_pages *pages)
{
    struct gw_buf out;
    gw_buf_init(&out, LISTING_ARENA_BYTES);
    if (shown->rows == 0)
        (void)gw_buf_print(&out, "%s\n", nothing_text(options, listing)); /* flushed just below */
    else
        table_print(shown->table, &out);
    if (shown->is_full)
        (void)gw_buf_add(&out, SPAN("There are more than fit here; use filters, or export.\n"));
    else if (pages->next[0] != '\0' && listing->excerpt == NULL)
        (void)gw_buf_print(&out, "There are more: --cursor %s, or --all.\n", pages->next);
    words_flush(&out);
    gw_buf_fini(&out);
}

int listing_run(const struct options *options, const struct admin_client *client,
                const struct listing *listing)
{
    struct listing_pages pages;
    struct admin_reply reply;
    int code = listing_open(options, client, listing, listing->excerpt, &pages);
    if (code != -1)
        return code;
    struct arena *arena = arena_new(LISTING_ARENA_BYTES);
    struct shown shown = {.table =
                              arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers))};
    bool goes_on = shown.table != NULL;
    code = goes_on ? -1 : EXIT_FAILED;
    while (goes_on) {
        code = listing_next(client, &pages, &reply);
        if (code != -1)
            break;
        if (client->wants_json)
            client_print_raw(&reply);
        take_page(&shown, reply.json);
        client_forget(&reply);
        goes_on = options_has(options, "--all") && listing_has_more(&pages) &&
                  (client->wants_json || !shown.is_full);
    }
    if (code == -1 && shown.rows == 0)
        code = listing_check_route(options, client);
    if (code == -1 && !client->wants_json)
        print(options, listing, &shown, &pages);
    listing_close(&pages);
    arena_free(arena);
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
