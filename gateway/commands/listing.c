/* Lists of operations. It asks page after page, and never more than it was told to. */
#include "gateway/commands/listing.h"

#include "gateway/admin/query.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define LISTING_ARENA_BYTES ((size_t)256 << 20)
#define LISTING_PAGES_MAX   2000
#define NEAR_ROUTES_MAX     1024 /* more are not looked at for a near name */

static const char *const headers[] = {"ID",      "ROUTE", "STATE",        "HOW IT ENDED",
                                      ">STATUS", ">AGE",  ">ASKED AGAIN", "LABELS"};

static const struct {
    const char *option, *parameter;
} filters[] = {
    {"--route", "route"},
    {"--owner", "owner"},
    {"--key", "key"},
    {"--end", "end"},
    {"--state", "state"},
    {"--older-than", "older_than"},
    {"--newer-than", "newer_than"},
    {"--limit", "limit"},
    {"--created-after", "created_after"},
    {"--created-before", "created_before"},
};

static void add_parameter(struct gw_buf *path, const char *name, struct span value)
{
    char before = memchr(path->ptr, '?', path->len) == NULL ? '?' : '&';
    (void)gw_buf_print(path, "%c%s=", before, name); /* asked once at the end */
    client_escape(path, value);
}

static int add_label(const struct options *options, struct gw_buf *path, const char *label)
{
    const char *equals = strchr(label, '=');
    if (equals == NULL || equals == label || equals[1] == '\0')
        return options_refuse(options, "--label is NAME=VALUE, not \"%s\"", label);
    (void)gw_buf_print(path, "%clabel.",
                       memchr(path->ptr, '?', path->len) == NULL ? '?'
                                                                 : '&'); /* asked at the end */
    client_escape(path, span_of(label, (size_t)(equals - label)));
    (void)gw_buf_byte(path, '=');
    client_escape(path, span_str(equals + 1));
    return -1;
}

static int make_path(const struct options *options, const struct listing *listing,
                     const char *cursor, struct gw_buf *path)
{
    const char *label = options_value(options, "--label");
    gw_buf_clear(path);
    (void)gw_buf_add(path, SPAN("/v1/operations")); /* asked once at the end */
    if (listing->state != NULL)
        add_parameter(path, "state", span_str(listing->state));
    for (size_t i = 0; i < GW_COUNT(filters); i++) {
        const char *value = options_value(options, filters[i].option);
        if (value != NULL)
            add_parameter(path, filters[i].parameter, span_str(value));
    }
    if (options_has(options, "--contradicted"))
        add_parameter(path, "contradicted", SPAN("true"));
    if (options_has(options, "--all") && !options_has(options, "--limit"))
        add_parameter(path, "limit", SPAN("500"));
    add_parameter(path, "order", listing->oldest_first ? SPAN("oldest") : SPAN("newest"));
    if (cursor != NULL)
        add_parameter(path, "cursor", span_str(cursor));
    int code = label == NULL ? -1 : add_label(options, path, label);
    if (code == -1 && (path->failed || !gw_buf_byte(path, '\0')))
        code = options_refuse(options, "the filters are too long");
    return code;
}

static bool add_row(struct table *table, const json_t *operation, int64_t now_ms)
{
    struct gw_buf age, labels;
    char status[24] = "", repeats[24];
    gw_buf_init(&age, 64);
    gw_buf_init(&labels, 4096);
    words_print_age(&age, words_of(operation, "created_at"), now_ms);
    words_print_labels(&labels, json_object_get(operation, "labels"));
    if (json_is_integer(json_object_get(operation, "status")))
        (void)snprintf(status, sizeof(status), "%lld",
                       (long long)words_number(operation, "status")); /* at most 20 digits */
    (void)snprintf(repeats, sizeof(repeats), "%lld", (long long)words_number(operation, "repeats"));
    const struct span cells[] = {
        words_of(operation, "id"),
        words_of(operation, "route"),
        words_of(operation, words_of(operation, "phase").len > 0 ? "phase" : "state"),
        words_of(operation, "end"),
        span_str(status),
        gw_buf_span(&age),
        span_str(repeats),
        gw_buf_span(&labels)};
    bool ok = table_add(table, cells);
    gw_buf_fini(&age);
    gw_buf_fini(&labels);
    return ok;
}

struct pages {
    struct table *table;
    char next[32]; /* empty: no more */
    uint32_t rows;
    bool is_full;
};

static void take_page(struct pages *pages, const json_t *page)
{
    struct gw_clock *clock = gw_clock_system();
    const int64_t now_ms = clock->wall_ms(clock);
    const json_t *operations = json_object_get(page, "operations");
    struct span next = words_of(page, "next");
    for (size_t i = 0; i < json_array_size(operations); i++) {
        pages->is_full = !add_row(pages->table, json_array_get(operations, i), now_ms);
        if (pages->is_full)
            break;
        pages->rows++;
    }
    (void)snprintf(pages->next, sizeof(pages->next), "%.*s", (int)next.len,
                   next.ptr); /* a longer cursor is none of ours */
}

static void print_pages(const struct pages *pages, const char *nothing)
{
    struct gw_buf out;
    gw_buf_init(&out, LISTING_ARENA_BYTES);
    if (pages->rows == 0)
        (void)gw_buf_print(&out, "%s\n", nothing); /* flushed just below */
    else
        table_print(pages->table, &out);
    words_flush(&out);
    if (pages->is_full)
        (void)printf("There are more than fit here; use filters.\n");
    else if (pages->next[0] != '\0')
        (void)printf("There are more: --cursor %s, or --all.\n", pages->next);
    gw_buf_fini(&out);
}

/* One page of the list into the table, or as it came. -1: go on. */
static int fetch(const struct options *options, const struct admin_client *client,
                 const struct listing *listing, struct pages *pages)
{
    struct gw_buf path;
    struct admin_reply reply;
    const char *cursor = pages->next[0] != '\0' ? pages->next : options_value(options, "--cursor");
    gw_buf_init(&path, 16384);
    int code = make_path(options, listing, cursor, &path);
    if (code == -1)
        code = client_want(client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    if (client->wants_json)
        client_print_raw(&reply);
    take_page(pages, reply.json);
    client_forget(&reply);
    return -1;
}

/* "Nothing" must never be read as "nothing at all" when a filter was given. */
static const char *nothing_text(const struct options *options, const struct listing *listing)
{
    bool filtered = options_value(options, "--label") != NULL ||
                    options_has(options, "--contradicted") ||
                    options_value(options, "--cursor") != NULL;
    for (size_t i = 0; i < GW_COUNT(filters); i++)
        filtered = filtered || (strcmp(filters[i].option, "--limit") != 0 &&
                                options_value(options, filters[i].option) != NULL);
    if (filtered)
        return listing->state == NULL ? "No operation fits this filter."
                                      : "No unknown operation fits this filter.";
    return listing->state == NULL ? "No operations." : "Nothing is unknown.";
}

/* Nothing fitted: is there such a route at all? EXIT_NOT_FOUND: no, and it was said. */
static int check_route(const struct options *options, const struct admin_client *client)
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

int listing_run(const struct options *options, const struct admin_client *client,
                const struct listing *listing)
{
    struct arena *arena = arena_new(LISTING_ARENA_BYTES);
    struct pages pages = {.table =
                              arena == NULL ? NULL : table_new(arena, headers, GW_COUNT(headers))};
    int code = pages.table == NULL ? EXIT_FAILED : -1;
    bool wants_all = options_has(options, "--all");
    for (uint32_t i = 0; code == -1 && i < LISTING_PAGES_MAX; i++) {
        code = fetch(options, client, listing, &pages);
        if (!wants_all || pages.next[0] == '\0' || pages.is_full)
            break;
    }
    if (code == -1 && pages.rows == 0)
        code = check_route(options, client);
    if (code == -1 && !client->wants_json)
        print_pages(&pages, nothing_text(options, listing));
    arena_free(arena);
    return code == -1 ? EXIT_DONE : code;
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
