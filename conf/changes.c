/* Both snapshots are walked as `recibo config show` walks them, the values are sorted by
 * their path, and the two lists are merged. It must never show a secret. */
#include "conf/changes.h"

#include <stdlib.h>

#include "conf/loader.h"

struct entry {
    struct span path, text;
    uint32_t row, line;
    bool is_secret;
};

struct collected {
    struct arena *arena;
    struct entry *entries; /* NULL: they are only counted */
    uint32_t count;
    bool no_memory;
};

static void collect(const struct conf_walked *walked, void *ctx)
{
    struct collected *collected = ctx;
    uint32_t at = collected->count++;
    if (collected->entries == NULL)
        return;
    struct entry *entry = &collected->entries[at];
    entry->row = walked->row;
    entry->line = walked->line;
    entry->is_secret = walked->is_secret;
    /* The walk's own room: the next value stands in it. */
    if (!arena_copy(collected->arena, span_str(walked->path), &entry->path) ||
        !arena_copy(collected->arena, walked->text, &entry->text))
        collected->no_memory = true;
}

static int by_path(const void *a, const void *b)
{
    const struct span left = ((const struct entry *)a)->path,
                      right = ((const struct entry *)b)->path;
    size_t shorter = left.len < right.len ? left.len : right.len;
    int order = memcmp(left.ptr, right.ptr, shorter);
    return order != 0 ? order : left.len < right.len ? -1 : left.len > right.len;
}

static bool list_values(struct arena *arena, const struct conf *conf, struct collected *ret)
{
    *ret = (struct collected){.arena = arena};
    conf_walk(conf, collect, ret);
    uint32_t count = ret->count;
    ret->count = 0;
    ret->entries = arena_take(arena, (count + 1) * sizeof(*ret->entries));
    if (ret->entries == NULL)
        return false;
    conf_walk(conf, collect, ret);
    gw_assert(ret->count == count);
    if (!ret->no_memory)
        qsort(ret->entries, count, sizeof(*ret->entries), by_path);
    return !ret->no_memory;
}

/* A route that comes or goes takes its values with it: those that the file says are shown.
 * Local effects that are gone are simply not asked for any more. */
static bool needs_restart(const struct entry *before, const struct entry *after)
{
    const struct conf_field *field = field_at(after != NULL ? after->row : before->row);
    bool is_gone_with_route = after == NULL && strncmp(field->path, "routes[]", 8) == 0;
    return field->applies == CONF_RESTART && !is_gone_with_route;
}

static bool is_default_of_one_side(const struct entry *before, const struct entry *after)
{
    return (before == NULL && after->line == 0) || (after == NULL && before->line == 0);
}

static void add(struct conf_changes *changes, const struct entry *before, const struct entry *after)
{
    const struct entry *any = after != NULL ? after : before;
    if (is_default_of_one_side(before, after))
        return;
    bool is_secret = any->is_secret;
    struct conf_change *change = &changes->items[changes->count++];
    *change = (struct conf_change){
        .path = any->path,
        .before = before == NULL ? span_of(NULL, 0)
                  : is_secret    ? SPAN("")
                                 : before->text,
        .after = after == NULL ? span_of(NULL, 0)
                 : is_secret   ? SPAN("")
                               : after->text,
        .line = after == NULL ? 0 : after->line,
        .is_secret = is_secret,
        .needs_restart = needs_restart(before, after),
    };
    changes->restart_count += change->needs_restart;
}

bool conf_compare(struct arena *arena, const struct conf *before, const struct conf *after,
                  struct conf_changes *ret)
{
    struct collected old, new;
    *ret = (struct conf_changes){0};
    if (!list_values(arena, before, &old) || !list_values(arena, after, &new))
        return false;
    ret->items = arena_take(arena, (old.count + new.count + 1) * sizeof(*ret->items));
    if (ret->items == NULL)
        return false;
    for (uint32_t i = 0, j = 0; i < old.count || j < new.count;) {
        int order = i == old.count   ? 1
                    : j == new.count ? -1
                                     : by_path(&old.entries[i], &new.entries[j]);
        if (order < 0)
            add(ret, &old.entries[i++], NULL);
        else if (order > 0)
            add(ret, NULL, &new.entries[j++]);
        else if (!span_equal(old.entries[i].text, new.entries[j].text))
            add(ret, &old.entries[i++], &new.entries[j++]);
        else
            i++, j++;
    }
    return true;
}

static bool has_part(struct span path, const char *part)
{
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= path.len; at++)
        if (memcmp(path.ptr + at, part, len) == 0)
            return true;
    return false;
}

bool conf_changes_touch_identity(const struct conf_changes *changes)
{
    static const char *const parts[] = {"].match", "].mode",    "].scope",   "].name",
                                        "].owner", "path_case", "defaults.", "].compensate"};
    for (uint32_t i = 0; i < changes->count; i++) {
        struct span path = changes->items[i].path;
        if (path.len >= 6 && memcmp(path.ptr, "owners", 6) == 0)
            return true;
        for (size_t k = 0; k < GW_COUNT(parts); k++)
            if (has_part(path, parts[k]))
                return true;
    }
    return false;
}
