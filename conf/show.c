/* The effective configuration: every value that counts, with where it comes from.
 * It must never show a secret. */
#include <stdio.h>

#include "conf/loader.h"

#define SHOW_PATH_BYTES 512

struct show_frame {
    uint32_t row;
    const struct yaml_node *node; /* a mapping, or one that is not there: NULL */
    const struct yaml_node *item; /* of a list or NAMED: what comes next */
    uint32_t child;               /* of a mapping: the row that came last */
    size_t path_len;
};

struct show {
    const struct conf *conf;
    struct gw_buf *out;
    conf_walk_fn *tell; /* instead of printing; NULL: it is printed */
    void *tell_ctx;
    bool is_json, is_first;
    uint32_t row; /* of what is shown next */
    struct span preset;
    struct effective_of of;
    char path[SHOW_PATH_BYTES];
    struct show_frame frames[YAML_DEPTH_MAX + 1];
    uint32_t depth;
};

struct shown_value {
    struct span text;
    const char *from; /* "default", "preset", "defaults"; NULL: the line of the file */
    uint32_t line;
    bool is_secret; /* never printed */
};

/* ---- one line ---- */

static void print_json_text(struct gw_buf *out, struct span text)
{
    /* A buffer that is full is marked as failed; the caller looks at the end. */
    (void)gw_buf_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\')
            (void)gw_buf_print(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            (void)gw_buf_print(out, "\\u%04x", c);
        else
            (void)gw_buf_byte(out, (char)c);
    }
    (void)gw_buf_byte(out, '"');
}

static void emit_json(struct show *show, const struct shown_value *value)
{
    (void)gw_buf_print(show->out, "%s\n  {\"path\": ", show->is_first ? "" : ",");
    print_json_text(show->out, span_str(show->path));
    (void)gw_buf_print(show->out, ", \"value\": ");
    print_json_text(show->out, value->text);
    if (value->line > 0)
        (void)gw_buf_print(show->out, ", \"line\": %u, ", value->line);
    else
        (void)gw_buf_print(show->out, ", \"line\": null, ");
    (void)gw_buf_print(show->out, "\"source\": \"%s\"}",
                       value->from == NULL ? "file" : value->from);
    show->is_first = false;
}

static void emit(struct show *show, const struct shown_value *shown_value)
{
    struct shown_value visible = *shown_value;
    const struct shown_value *value = &visible;
    if (show->tell != NULL) {
        show->tell(&(struct conf_walked){.path = show->path,
                                         .row = show->row,
                                         .text = value->text,
                                         .line = value->line,
                                         .is_secret = value->is_secret},
                   show->tell_ctx);
        return;
    }
    if (value->is_secret)
        visible.text = SPAN("(not shown)");
    if (show->is_json) {
        emit_json(show, value);
        return;
    }
    char shown[SHOWN_BYTES];
    value_shown(value->text, shown);
    (void)gw_buf_print(show->out, "%-46s %-28s ", show->path, shown);
    if (value->from == NULL)
        (void)gw_buf_print(show->out, "line %u\n", value->line);
    else if (value->line > 0)
        (void)gw_buf_print(show->out, "%s, line %u\n", value->from, value->line);
    else
        (void)gw_buf_print(show->out, "%s\n", value->from);
}

/* ---- one row ---- */

static void set_path(struct show *show, size_t len, const char *before, struct span name)
{
    (void)snprintf(show->path + len, sizeof(show->path) - len, "%s%.*s", len == 0 ? "" : before,
                   (int)name.len, name.ptr); /* cut where it is longer than anybody reads */
}

/* Where the name of an upstream or owner comes from when the route does not say. */
static void name_source(const struct show *show, uint32_t row, struct shown_value *value)
{
    struct cursor root = cursor_root(conf_box_of(show->conf)->root);
    struct cursor defaults = cursor_in(&root, "defaults");
    const char *path = field_at(row)->path;
    bool is_upstream = strcmp(path, "routes[].upstream") == 0;
    if (!is_upstream && strcmp(path, "routes[].owner") != 0)
        return;
    if (!is_upstream && show->of.route->owner_index == ROUTE_NO_OWNER)
        return;
    struct setting setting = setting_get(&defaults, is_upstream ? "upstream" : "owner");
    if (setting.from != FROM_FILE)
        return;
    value->from = "defaults";
    value->line = setting.node->line;
}

static void show_absent(struct show *show, const struct setting *setting)
{
    struct shown_value value = {.text = setting->text, .from = "default"};
    if (setting->from == FROM_PRESET)
        value.from = "preset";
    if (setting->from != FROM_NOTHING) {
        emit(show, &value);
        return;
    }
    struct gw_buf text;
    gw_buf_init(&text, CONF_SCALAR_BYTES);
    if (field_is_computed(setting->row) && effective_print(&show->of, setting->row, &text)) {
        value.text = gw_buf_span(&text);
        name_source(show, setting->row, &value);
        emit(show, &value);
    }
    gw_buf_fini(&text);
}

static void show_list(struct show *show, const struct yaml_node *list)
{
    struct gw_buf text;
    gw_buf_init(&text, CONF_SCALAR_BYTES);
    (void)gw_buf_byte(&text, '['); /* a list that is too long is shown cut */
    for (const struct yaml_node *item = list->child; item != NULL; item = item->next) {
        (void)gw_buf_add(&text, span_str(item == list->child ? "" : ", "));
        (void)gw_buf_add(&text, item->text);
    }
    (void)gw_buf_byte(&text, ']');
    emit(show, &(struct shown_value){.text = gw_buf_span(&text), .line = list->name_line});
    gw_buf_fini(&text);
}

static void push(struct show *show, uint32_t row, const struct yaml_node *node,
                 const struct yaml_node *item)
{
    gw_assert(show->depth < GW_COUNT(show->frames));
    show->frames[show->depth++] = (struct show_frame){
        .row = row, .node = node, .item = item, .child = row, .path_len = strlen(show->path)};
}

/* Sections that are a choice as a whole: not there is not the same as all defaults. */
static bool is_whole_choice(uint32_t row)
{
    const char *path = field_at(row)->path;
    return strcmp(path, "admin") == 0 || strcmp(path, "routes[].upstream_idempotency") == 0 ||
           strcmp(path, "routes[].local") == 0 || strcmp(path, "routes[].local.accept") == 0 ||
           strcmp(path, "routes[].retry") == 0 || strcmp(path, "routes[].compensate") == 0;
}

static void show_collection(struct show *show, uint32_t row, const struct yaml_node *node,
                            const struct setting *setting)
{
    enum conf_type type = field_at(row)->type;
    if (node == NULL) {
        if (type != CONF_MAP)
            show_absent(show, setting);
        else if (is_whole_choice(row))
            emit(show, &(struct shown_value){.text = SPAN("none"), .from = "default"});
        else
            push(show, row, NULL, NULL);
    } else if (node->kind == YAML_SCALAR) {
        emit(show, &(struct shown_value){.text = node->text, .line = node->line});
    } else if (type == CONF_MAP) {
        push(show, row, node, NULL);
    } else if (type != CONF_NAMED && (node->child == NULL || node->child->kind == YAML_SCALAR)) {
        show_list(show, node);
    } else {
        push(show, row, node, node->child);
    }
}

static void show_row(struct show *show, const struct show_frame *frame, uint32_t row)
{
    struct span leaf = field_leaf(row);
    const struct route_policy *route =
        strcmp(field_at(frame->row)->path, "routes[]") == 0 ? show->of.route : NULL;
    bool is_idle =
        route != NULL && ((route->mode == ROUTE_PASS && !route_key_concerns_pass(leaf)) ||
                          (route->local != NULL && !route_key_concerns_local(leaf)));
    if (field_at(row)->type == CONF_LATER || is_idle)
        return;
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", (int)leaf.len, leaf.ptr); /* keys are short */
    struct cursor cursor = {.node = frame->node, .row = frame->row, .preset = show->preset};
    struct setting setting = setting_get(&cursor, name);
    set_path(show, frame->path_len, ".", leaf);
    show->row = row;
    if (!field_is_scalar(field_at(row)->type)) {
        show_collection(show, row, yaml_member(frame->node, leaf), &setting);
    } else if (setting.from == FROM_FILE) {
        bool is_secret = field_is_secret(field_at(row)->type);
        emit(show, &(struct shown_value){
                       .text = setting.text, .line = setting.node->line, .is_secret = is_secret});
    } else {
        show_absent(show, &setting);
    }
}

/* ---- walking ---- */

static void enter_item(struct show *show, const struct show_frame *frame,
                       const struct yaml_node *item)
{
    const struct conf *conf = show->conf;
    const char *path = field_at(frame->row)->path;
    char index[16];
    show->path[frame->path_len] = '\0';
    show->row = item->row;
    if (field_at(frame->row)->type == CONF_NAMED) {
        set_path(show, frame->path_len, ".", item->name);
    } else if (show->tell != NULL && strcmp(path, "routes") == 0) {
        /* Two files are compared by the names of routes, not by their order. */
        (void)snprintf(show->path + frame->path_len, sizeof(show->path) - frame->path_len, "[%.*s]",
                       (int)conf->routes.routes[item->index].name.len,
                       conf->routes.routes[item->index].name.ptr); /* names are short */
    } else {
        (void)snprintf(index, sizeof(index), "[%u]", item->index);
        set_path(show, frame->path_len, "", span_str(index));
    }
    if (strcmp(path, "routes") == 0) {
        struct cursor route = cursor_of(item, span_of("", 0));
        show->of.route = &conf->routes.routes[item->index];
        show->preset = setting_get(&route, "preset").text;
    } else if (strcmp(path, "owners") == 0) {
        show->of.owner = &conf->owners[item->index];
    } else if (strcmp(path, "upstreams") == 0) {
        show->of.upstream = &conf->upstreams[item->index];
    }
    if (item->kind == YAML_MAP)
        push(show, item->row, item, NULL);
    else
        emit(show, &(struct shown_value){.text = item->text, .line = item->line});
}

static void step(struct show *show)
{
    struct show_frame *frame = &show->frames[show->depth - 1];
    if (field_at(frame->row)->type == CONF_MAP) {
        frame->child = field_next_child(frame->row, frame->child);
        if (frame->child != FIELD_NONE)
            show_row(show,
                     &(struct show_frame){
                         .row = frame->row, .node = frame->node, .path_len = frame->path_len},
                     frame->child);
        else
            show->depth--;
        return;
    }
    const struct yaml_node *item = frame->item;
    if (item != NULL) {
        frame->item = item->next;
        enter_item(show, frame, item);
        return;
    }
    show->depth--;
    const char *path = field_at(frame->row)->path;
    if (strcmp(path, "routes") == 0 || strcmp(path, "owners") == 0) {
        show->of.route = NULL;
        show->of.owner = NULL;
        show->preset = span_of(NULL, 0);
    }
}

static void show_all(const struct conf *conf, struct gw_buf *out, bool is_json)
{
    struct show show = {
        .conf = conf, .out = out, .is_json = is_json, .is_first = true, .of = {.conf = conf}};
    push(&show, FIELD_ROOT, conf_box_of(conf)->root, NULL);
    while (show.depth > 0)
        step(&show);
}

void conf_walk(const struct conf *conf, conf_walk_fn *tell, void *ctx)
{
    struct show show = {.conf = conf, .tell = tell, .tell_ctx = ctx, .of = {.conf = conf}};
    push(&show, FIELD_ROOT, conf_box_of(conf)->root, NULL);
    while (show.depth > 0)
        step(&show);
}

void conf_show(const struct conf *conf, struct gw_buf *out)
{
    show_all(conf, out, false);
}

void conf_show_json(const struct conf *conf, struct gw_buf *out)
{
    (void)gw_buf_byte(out, '['); /* a buffer that is full is marked as failed */
    show_all(conf, out, true);
    (void)gw_buf_add(out, span_str("\n]\n"));
}
