/* One route in two files: the lines of its promise, and whether repeats of what is on record
 * are still led to it. It asks the functions that serve, and must never have an opinion of its
 * own about where a request leads.
 *
 * Ignored results: a buffer that is full is marked as failed, and is asked once. */
#include "gateway/commands/diff.h"

#define PROMISE_BYTES_MAX ((size_t)1 << 20)
#define PATH_BYTES        4096
#define OWNERS_SHOWN_MAX  3

/* ---- lines ---- */

/* A place in the file is no part of a promise: it moves with every line before it. */
static void drop_places(struct gw_buf *text)
{
    static const char mark[] = " (line ";
    const size_t mark_len = sizeof(mark) - 1;
    size_t to = 0;
    for (size_t at = 0; at < text->len;) {
        size_t digits = 0;
        bool is_mark = text->len - at > mark_len && memcmp(text->ptr + at, mark, mark_len) == 0;
        while (is_mark && at + mark_len + digits < text->len &&
               text->ptr[at + mark_len + digits] >= '0' && text->ptr[at + mark_len + digits] <= '9')
            digits++;
        if (is_mark && digits > 0 && at + mark_len + digits < text->len &&
            text->ptr[at + mark_len + digits] == ')')
            at += mark_len + digits + 1;
        else
            text->ptr[to++] = text->ptr[at++];
    }
    text->len = to;
}

static bool promise_lines(struct arena *arena, const struct conf *conf,
                          const struct route_policy *route, struct diff_lines *ret)
{
    struct gw_buf text;
    struct span copy = {"", 0};
    *ret = (struct diff_lines){NULL, 0};
    if (route == NULL)
        return true;
    gw_buf_init(&text, PROMISE_BYTES_MAX);
    conf_promise_route(conf, route, &text);
    drop_places(&text);
    bool good = !text.failed && arena_copy(arena, gw_buf_span(&text), &copy);
    gw_buf_fini(&text);
    uint32_t count = 0;
    for (size_t i = 0; i < copy.len; i++)
        count += copy.ptr[i] == '\n';
    ret->items = good ? arena_take(arena, (count + 1) * sizeof(*ret->items)) : NULL;
    if (ret->items == NULL)
        return false;
    while (copy.len > 0 && ret->count < count) {
        const char *end = memchr(copy.ptr, '\n', copy.len);
        size_t len = end == NULL ? copy.len : (size_t)(end - copy.ptr);
        ret->items[ret->count++] = span_of(copy.ptr, len);
        copy = span_of(copy.ptr + len + 1, copy.len - len - 1);
    }
    return true;
}

static bool has_line(const struct diff_lines *lines, struct span line)
{
    for (uint32_t i = 0; i < lines->count; i++)
        if (span_equal(lines->items[i], line))
            return true;
    return false;
}

/* Those of `lines` that are not among `others`, in their order. */
static bool only_of(struct arena *arena, const struct diff_lines *lines,
                    const struct diff_lines *others, struct diff_lines *ret)
{
    ret->count = 0;
    ret->items = arena_take(arena, (lines->count + 1) * sizeof(*ret->items));
    if (ret->items == NULL)
        return false;
    for (uint32_t i = 0; i < lines->count; i++)
        if (!has_line(others, lines->items[i]))
            ret->items[ret->count++] = lines->items[i];
    return true;
}

/* ---- what is dropped ---- */

/* A target that the pattern fits: {name} and * are an x. */
static struct span sample_of(const struct route_policy *route, char room[PATH_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < route->path.len && len + 1 < PATH_BYTES; i++) {
        char c = route->path.ptr[i];
        if (c == '{') {
            while (i < route->path.len && route->path.ptr[i] != '}')
                i++;
            c = 'x';
        }
        room[len++] = c == '*' ? 'x' : c;
    }
    return span_of(room, len);
}

static bool same_key(const struct key_source *a, const struct key_source *b)
{
    if (a->from != b->from || a->part_count != b->part_count ||
        !span_equal_nocase(a->name, b->name) || !span_equal(a->pointer.text, b->pointer.text))
        return false;
    for (uint32_t i = 0; i < a->part_count; i++)
        if (a->parts[i].from != b->parts[i].from ||
            !span_equal_nocase(a->parts[i].name, b->parts[i].name) ||
            !span_equal(a->parts[i].pointer.text, b->parts[i].pointer.text))
            return false;
    return true;
}

/* The i-th owner id that an entry can give; ptr NULL: no more. */
static struct span owner_at(const struct conf_owner *entry, uint32_t i)
{
    if (entry->kind == OWNER_STATIC)
        return i == 0 ? entry->owner : span_of(NULL, 0);
    if (i < entry->key_count)
        return entry->keys[i].owner;
    i -= entry->key_count;
    if (i < entry->user_count)
        return entry->users[i].owner;
    i -= entry->user_count;
    return i < entry->network_count ? entry->networks[i].owner : span_of(NULL, 0);
}

static bool can_name(const struct conf_owner *entry, struct span owner)
{
    if (entry->kind == OWNER_HEADER)
        return true;
    struct span id;
    for (uint32_t i = 0; (id = owner_at(entry, i)).ptr != NULL; i++)
        if (span_equal(id, owner))
            return true;
    return false;
}

static struct span lost_owners(struct arena *arena, const struct conf_owner *before,
                               const struct conf_owner *after)
{
    struct span names = {"", 0}, id;
    uint32_t count = 0;
    if (before->kind == OWNER_HEADER)
        return after->kind == OWNER_HEADER
                   ? names
                   : SPAN("owners were named by the front, and are not any more");
    for (uint32_t i = 0; (id = owner_at(before, i)).ptr != NULL; i++)
        if (!can_name(after, id) && ++count <= OWNERS_SHOWN_MAX)
            names = arena_print(arena, "%.*s%s%.*s", (int)names.len, names.ptr,
                                names.len > 0 ? ", " : "", (int)id.len, id.ptr);
    return count == 0
               ? names
               : arena_print(arena, "nobody can be the owner %.*s%s any more", (int)names.len,
                             names.ptr, count > OWNERS_SHOWN_MAX ? " and others" : "");
}

static struct span led_elsewhere(struct arena *arena, const struct route_policy *before,
                                 struct span method, const struct route_policy *found)
{
    return arena_print(arena, "%.*s %.*s leads to route %.*s%s", (int)method.len, method.ptr,
                       (int)before->path.len, before->path.ptr, (int)found->name.len,
                       found->name.ptr,
                       found->mode == ROUTE_ENFORCE ? ", which knows nothing of its keys"
                                                    : ", which does not protect it");
}

static struct span refused(struct arena *arena, const struct route_policy *before,
                           struct span method, const char *how)
{
    return arena_print(arena, "%.*s %.*s %s", (int)method.len, method.ptr, (int)before->path.len,
                       before->path.ptr, how);
}

/* Where requests with this method are led under the new file. Refused is not dropped, but the
 * caller does not get his answer any more either. */
static struct span lost_on_the_way(struct arena *arena, const struct conf *after,
                                   const struct route_policy *before, struct span method)
{
    char room[PATH_BYTES], work[2 * PATH_BYTES + 2];
    struct route_match match;
    struct span path = sample_of(before, room);
    switch (route_find(&after->routes, method, path, work, sizeof(work), &match)) {
    case ROUTE_NONE:
        return refused(arena, before, method, "gets 404: no route takes it");
    case ROUTE_WRONG_METHOD:
        return refused(arena, before, method, "gets 405: no route takes this method");
    case ROUTE_AMBIGUOUS_PATH:
        return refused(arena, before, method, "gets 400: its path can be read in two ways");
    case ROUTE_FOUND:
        break;
    }
    if (match.route->mode == ROUTE_ENFORCE &&
        span_equal(route_scope(match.route), route_scope(before)))
        return SPAN("");
    if (span_equal(match.route->name, before->name) && match.route->mode == ROUTE_ENFORCE)
        return SPAN("its keys get another scope");
    return led_elsewhere(arena, before, method, match.route);
}

static struct span find_dropped(struct arena *arena, const struct conf *before_conf,
                                const struct conf *after_conf, const struct diff_route *route)
{
    static const struct span methods[] = {{"POST", 4}, {"PUT", 3},  {"PATCH", 5},  {"DELETE", 6},
                                          {"GET", 3},  {"HEAD", 4}, {"OPTIONS", 7}};
    const struct route_policy *before = route->before, *after = route->after;
    struct span why = SPAN("");
    for (size_t i = 0; i < GW_COUNT(methods) && why.len == 0; i++)
        if ((before->methods & route_method_bit(methods[i])) != 0)
            why = lost_on_the_way(arena, after_conf, before, methods[i]);
    if (why.len > 0)
        return why;
    if (after == NULL || after->mode != ROUTE_ENFORCE)
        return SPAN("no enforced route has its name any more: what is unknown on it is on nobody's "
                    "list of routes");
    if (!same_key(&before->key, &after->key))
        return SPAN("the key is read elsewhere: repeats have another one");
    return lost_owners(arena, &before_conf->owners[before->owner_index],
                       &after_conf->owners[after->owner_index]);
}

bool diff_route_look(struct arena *arena, const struct conf *before, const struct conf *after,
                     struct diff_route *route)
{
    struct diff_lines old, new;
    route->before = route_by_name(&before->routes, route->name);
    route->after = route_by_name(&after->routes, route->name);
    route->dropped = SPAN("");
    if (!promise_lines(arena, before, route->before, &old) ||
        !promise_lines(arena, after, route->after, &new) ||
        !only_of(arena, &old, &new, &route->gone) || !only_of(arena, &new, &old, &route->come))
        return false;
    if (route->before != NULL && route->before->mode == ROUTE_ENFORCE)
        route->dropped = find_dropped(arena, before, after, route);
    return !arena_has_failed(arena);
}

bool diff_route_is_changed(const struct diff_route *route)
{
    return route->gone.count > 0 || route->come.count > 0 || route->dropped.len > 0;
}
