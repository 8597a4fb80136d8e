/* Reading values of the checked tree. It must never report a wrong value: the
 * check of the schema has done that. */
#include "conf/loader.h"

#include <stdarg.h>
#include <stdio.h>

struct cursor cursor_root(const struct yaml_node *root)
{
    return (struct cursor){.node = root, .row = FIELD_ROOT, .parent = root};
}

struct cursor cursor_in(const struct cursor *cursor, const char *name)
{
    uint32_t row = field_child(cursor->row, span_str(name));
    gw_assert(row != FIELD_NONE);
    gw_assert(field_at(row)->type == CONF_MAP);
    const struct yaml_node *node = yaml_member(cursor->node, span_str(name));
    if (node != NULL && (node->is_bad || node->kind != YAML_MAP))
        node = NULL;
    return (struct cursor){.node = node,
                           .row = row,
                           .preset = cursor->preset,
                           .parent = node != NULL ? node : cursor->parent};
}

struct cursor cursor_of(const struct yaml_node *node, struct span preset)
{
    gw_assert(node != NULL);
    return (struct cursor){.node = node, .row = node->row, .preset = preset, .parent = node};
}

struct setting setting_get(const struct cursor *cursor, const char *name)
{
    struct setting setting = {.row = field_child(cursor->row, span_str(name))};
    gw_assert(setting.row != FIELD_NONE);
    const struct conf_field *field = field_at(setting.row);
    const struct yaml_node *node = yaml_member(cursor->node, span_str(name));
    if (node != NULL && node->is_bad)
        setting.is_bad = true;
    else if (node != NULL) {
        setting.from = FROM_FILE;
        setting.node = node;
        setting.text = node->text;
        return setting;
    }
    setting.text = preset_find(cursor->preset, setting.row);
    if (setting.text.ptr != NULL)
        setting.from = FROM_PRESET;
    else if (field->fallback != NULL && !field_is_required(setting.row) &&
             !field_is_computed(setting.row)) {
        setting.from = FROM_DEFAULT;
        setting.text = span_str(field->fallback);
    } else {
        setting.text = span_of("", 0);
    }
    return setting;
}

int64_t setting_number(const struct setting *setting)
{
    int64_t number = 0;
    if (setting->from == FROM_NOTHING)
        return 0;
    const char *fault = value_number(field_at(setting->row)->type, setting->text, &number);
    gw_assert(fault == NULL);
    return number;
}

bool setting_bool(const struct setting *setting)
{
    return span_equal(setting->text, SPAN("true"));
}

uint32_t setting_word(const struct setting *setting, uint32_t otherwise)
{
    bool later;
    if (setting->from == FROM_NOTHING)
        return otherwise;
    uint32_t index = field_word_find(field_at(setting->row)->words, setting->text, &later);
    gw_assert(index != FIELD_NONE);
    gw_assert(!later);
    return index;
}

int64_t cursor_number(const struct cursor *cursor, const char *name)
{
    struct setting setting = setting_get(cursor, name);
    return setting_number(&setting);
}

int64_t number_or(const struct cursor *cursor, const char *name, int64_t otherwise)
{
    struct setting setting = setting_get(cursor, name);
    return setting.from == FROM_NOTHING ? otherwise : setting_number(&setting);
}

bool cursor_bool(const struct cursor *cursor, const char *name)
{
    struct setting setting = setting_get(cursor, name);
    return setting_bool(&setting);
}

uint32_t cursor_word(const struct cursor *cursor, const char *name, uint32_t otherwise)
{
    struct setting setting = setting_get(cursor, name);
    return setting_word(&setting, otherwise);
}

struct span cursor_text(const struct cursor *cursor, const char *name)
{
    return setting_get(cursor, name).text;
}

static const struct yaml_node *first_good(const struct yaml_node *node)
{
    while (node != NULL && node->is_bad)
        node = node->next;
    return node;
}

const struct yaml_node *items_next(const struct yaml_node *item)
{
    return first_good(item->next);
}

const struct yaml_node *cursor_items(const struct cursor *cursor, const char *name,
                                     uint32_t *ret_count)
{
    const struct yaml_node *list = yaml_member(cursor->node, span_str(name));
    *ret_count = 0;
    if (list == NULL || list->is_bad || list->kind == YAML_SCALAR)
        return NULL;
    const struct yaml_node *first = first_good(list->child);
    for (const struct yaml_node *item = first; item != NULL; item = items_next(item))
        (*ret_count)++;
    return first;
}

void *loader_take(struct loader *loader, size_t count, size_t bytes)
{
    gw_assert(bytes > 0);
    gw_assert(count <= YAML_NODES_MAX * 2);
    void *room = arena_take(loader->arena, count * bytes);
    if (room == NULL)
        loader->no_memory = true;
    return room;
}

/* ---- findings ---- */

__attribute__((format(printf, 3, 0))) static void
add_text(struct loader *loader, const struct finding_place *place, const char *fmt, va_list args)
{
    char text[400];
    (void)vsnprintf(text, sizeof(text), fmt, args); /* cut where it is longer than a finding */
    findings_add(&loader->findings, place, "%s", text);
}

void node_error(struct loader *loader, const struct yaml_node *node, const char *fmt, ...)
{
    char path[YAML_PATH_BYTES];
    yaml_path(node, NULL, path);
    va_list args;
    va_start(args, fmt);
    add_text(loader,
             &(struct finding_place){.line = node->line, .column = node->column, .path = path}, fmt,
             args);
    va_end(args);
}

static void place_of_key(const struct cursor *cursor, const char *name, char path[YAML_PATH_BYTES],
                         struct finding_place *ret)
{
    const struct yaml_node *node = name == NULL ? NULL : yaml_member(cursor->node, span_str(name));
    const struct yaml_node *at = node != NULL ? node : cursor->parent;
    ret->path = path;
    if (node != NULL) {
        yaml_path(node, NULL, path);
    } else {
        char more[64];
        struct span leaf = field_leaf(cursor->row);
        if (cursor->node == NULL && name != NULL)
            (void)snprintf(more, sizeof(more), "%.*s.%s", (int)leaf.len, leaf.ptr, name);
        else
            (void)snprintf(more, sizeof(more), "%s", name == NULL ? "" : name);
        yaml_path(at, more[0] == '\0' ? NULL : more, path);
    }
    if (at == NULL)
        return;
    bool is_entry = node == NULL && at->name_line != 0;
    ret->line = is_entry ? at->name_line : at->line;
    ret->column = is_entry ? at->name_column : at->column;
}

void key_error(struct loader *loader, const struct cursor *cursor, const char *name,
               const char *fmt, ...)
{
    char path[YAML_PATH_BYTES];
    struct finding_place place = {0};
    place_of_key(cursor, name, path, &place);
    va_list args;
    va_start(args, fmt);
    add_text(loader, &place, fmt, args);
    va_end(args);
}

void key_warning(struct loader *loader, const struct cursor *cursor, const char *name,
                 const char *fmt, ...)
{
    char path[YAML_PATH_BYTES];
    struct finding_place place = {.is_warning = true};
    place_of_key(cursor, name, path, &place);
    va_list args;
    va_start(args, fmt);
    add_text(loader, &place, fmt, args);
    va_end(args);
}

uint32_t cursor_line(const struct cursor *cursor)
{
    if (cursor->node == NULL)
        return 0;
    return cursor->node->name_line != 0 ? cursor->node->name_line : cursor->node->line;
}
