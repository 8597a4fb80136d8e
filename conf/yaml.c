/* The only file that knows libyaml. It turns its events into a tree and refuses
 * what a configuration has no use for. It must never give a value a type. */
#include "conf/yaml.h"

#include <stdio.h>
#include <yaml.h>

struct reader {
    yaml_parser_t parser;
    struct arena *arena;
    struct findings *findings;
    struct span text;
    struct yaml_node *root;
    struct yaml_node *stack[YAML_DEPTH_MAX];
    uint32_t depth;
    uint32_t nodes;
    struct span key; /* of the mapping on top, waiting for its value; ptr NULL: none */
    yaml_mark_t key_mark;
    bool saw_document;
};

static enum gw_status syntax_error(struct reader *r, yaml_mark_t mark, const char *what)
{
    findings_add(r->findings,
                 &(struct finding_place){.line = (uint32_t)mark.line + 1,
                                         .column = (uint32_t)mark.column + 1,
                                         .path = ""},
                 "%s", what);
    return GW_INVALID;
}

/* ---- the text itself, before any parser sees it ---- */

/* Bytes of the UTF-8 character at `at`; 0: it is none. */
static size_t character_bytes(struct span text, size_t at)
{
    const unsigned char *p = (const unsigned char *)text.ptr + at;
    size_t left = text.len - at;
    size_t bytes = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (bytes == 0 || p[0] > 0xf4 || bytes > left)
        return 0;
    for (size_t i = 1; i < bytes; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
        (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return bytes;
}

static const char *character_fault(struct span text, size_t at, size_t bytes)
{
    unsigned char c = (unsigned char)text.ptr[at];
    if (bytes == 0)
        return "the file is not UTF-8 here";
    if (c == '\t')
        return "a tab; write spaces, or \\t inside double quotes";
    if ((c < 0x20 && c != '\n' && c != '\r') || c == 0x7f)
        return "a control character; inside double quotes write it as an escape";
    return NULL;
}

static enum gw_status check_text(struct reader *r)
{
    yaml_mark_t mark = {0};
    if (r->text.len > YAML_TEXT_BYTES_MAX)
        return syntax_error(r, mark, "the file is larger than 1 MiB");
    for (size_t at = 0; at < r->text.len;) {
        size_t bytes = character_bytes(r->text, at);
        const char *fault = character_fault(r->text, at, bytes);
        if (fault != NULL)
            return syntax_error(r, mark, fault);
        mark.column++;
        if (r->text.ptr[at] == '\n') {
            mark.line++;
            mark.column = 0;
        }
        at += bytes;
    }
    return GW_OK;
}

/* ---- faults that libyaml finds ---- */

static struct span line_text(struct span text, size_t line)
{
    const char *at = text.ptr, *end = text.ptr + text.len;
    for (size_t i = 0; i < line && at < end; i++) {
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        at = feed == NULL ? end : feed + 1;
    }
    const char *feed = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    struct span found = span_of(at, (size_t)((feed == NULL ? end : feed) - at));
    while (found.len > 0 && (found.ptr[0] == ' ' || found.ptr[found.len - 1] == '\r')) {
        if (found.ptr[0] == ' ')
            found.ptr++;
        found.len--;
    }
    return found;
}

static enum gw_status parser_error(struct reader *r)
{
    if (r->parser.error == YAML_MEMORY_ERROR)
        return GW_NOMEM;
    yaml_mark_t mark = r->parser.problem_mark;
    const char *problem = r->parser.problem != NULL ? r->parser.problem : "not YAML";
    char shown[SHOWN_BYTES], what[320];
    value_shown(line_text(r->text, mark.line), shown);
    int len = snprintf(what, sizeof(what), "%.100s", problem);
    if (r->parser.context != NULL)
        len += snprintf(what + len, sizeof(what) - (size_t)len, ", %.60s that begins in line %zu",
                        r->parser.context, r->parser.context_mark.line + 1);
    if (shown[0] != '\0')
        (void)snprintf(what + len, sizeof(what) - (size_t)len, ": %s", shown); /* it fits */
    return syntax_error(r, mark, what);
}

/* ---- building the tree ---- */

static struct yaml_node *top(const struct reader *r)
{
    return r->depth == 0 ? NULL : r->stack[r->depth - 1];
}

static bool copy_text(struct reader *r, const char *from, size_t len, struct span *ret)
{
    char *to = arena_take(r->arena, len + 1);
    if (to == NULL)
        return false;
    memcpy(to, from, len);
    *ret = span_of(to, len);
    return true;
}

static void node_finding(struct reader *r, struct yaml_node *node, const char *what)
{
    char path[YAML_PATH_BYTES];
    yaml_path(node, NULL, path);
    node->is_bad = true;
    findings_add(r->findings,
                 &(struct finding_place){.line = node->line, .column = node->column, .path = path},
                 "%s", what);
}

static void check_duplicate(struct reader *r, struct yaml_node *node)
{
    for (const struct yaml_node *other = node->parent->child; other != node; other = other->next) {
        if (!span_equal(other->name, node->name))
            continue;
        char path[YAML_PATH_BYTES];
        yaml_path(node, NULL, path);
        node->is_bad = true;
        findings_add(r->findings,
                     &(struct finding_place){
                         .line = node->name_line, .column = node->name_column, .path = path},
                     "given twice; the first is in line %u", other->name_line);
        return;
    }
}

static enum gw_status attach(struct reader *r, struct yaml_node *node, yaml_mark_t mark)
{
    struct yaml_node *parent = top(r);
    if (parent == NULL) {
        r->root = node;
        return GW_OK;
    }
    node->parent = parent;
    node->index = parent->count++;
    if (parent->last == NULL)
        parent->child = node;
    else
        parent->last->next = node;
    parent->last = node;
    if (parent->kind != YAML_MAP)
        return GW_OK;
    if (parent->count > YAML_MEMBERS_MAX)
        return syntax_error(r, mark, "this mapping has more than 1024 entries");
    node->name = r->key;
    node->name_line = (uint32_t)r->key_mark.line + 1;
    node->name_column = (uint32_t)r->key_mark.column + 1;
    r->key = span_of(NULL, 0);
    check_duplicate(r, node);
    return GW_OK;
}

static enum gw_status add_node(struct reader *r, enum yaml_kind kind, const yaml_event_t *event,
                               struct yaml_node **ret)
{
    if (r->nodes++ >= YAML_NODES_MAX)
        return syntax_error(r, event->start_mark, "the file has more than 100000 values");
    struct yaml_node *node = arena_take(r->arena, sizeof(*node));
    if (node == NULL)
        return GW_NOMEM;
    node->kind = kind;
    node->line = (uint32_t)event->start_mark.line + 1;
    node->column = (uint32_t)event->start_mark.column + 1;
    enum gw_status status = attach(r, node, event->start_mark);
    if (status == GW_OK)
        *ret = node;
    return status;
}

static bool wants_key(const struct reader *r)
{
    return r->depth > 0 && top(r)->kind == YAML_MAP && r->key.ptr == NULL;
}

static enum gw_status on_scalar(struct reader *r, const yaml_event_t *event)
{
    struct span text;
    if (!copy_text(r, (const char *)event->data.scalar.value, event->data.scalar.length, &text))
        return GW_NOMEM;
    if (wants_key(r)) {
        if (event->data.scalar.anchor != NULL || event->data.scalar.tag != NULL)
            return syntax_error(r, event->start_mark, "anchors and tags are not used here");
        r->key = text;
        r->key_mark = event->start_mark;
        return GW_OK;
    }
    struct yaml_node *node;
    enum gw_status status = add_node(r, YAML_SCALAR, event, &node);
    if (status != GW_OK)
        return status;
    node->text = text;
    node->is_quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (event->data.scalar.anchor != NULL)
        node_finding(r, node, "anchors are not used here; write the value where it is needed");
    else if (event->data.scalar.tag != NULL)
        node_finding(r, node, "tags are not used here; the key says what the value is");
    if (memchr(text.ptr, '\0', text.len) != NULL)
        node_finding(r, node, "holds a NUL byte");
    return GW_OK;
}

static enum gw_status on_alias(struct reader *r, const yaml_event_t *event)
{
    if (wants_key(r))
        return syntax_error(r, event->start_mark, "aliases are not used here");
    struct yaml_node *node;
    enum gw_status status = add_node(r, YAML_SCALAR, event, &node);
    if (status == GW_OK)
        node_finding(r, node, "aliases are not used here; write the value where it is needed");
    return status;
}

static enum gw_status on_open(struct reader *r, const yaml_event_t *event, enum yaml_kind kind)
{
    bool is_map = kind == YAML_MAP;
    bool has_anchor = is_map ? event->data.mapping_start.anchor != NULL
                             : event->data.sequence_start.anchor != NULL;
    bool has_tag =
        is_map ? event->data.mapping_start.tag != NULL : event->data.sequence_start.tag != NULL;
    if (wants_key(r))
        return syntax_error(r, event->start_mark, "a key must be a single word or text");
    if (r->depth == YAML_DEPTH_MAX)
        return syntax_error(r, event->start_mark, "nested deeper than 16 levels");
    struct yaml_node *node;
    enum gw_status status = add_node(r, kind, event, &node);
    if (status != GW_OK)
        return status;
    if (has_anchor)
        node_finding(r, node, "anchors are not used here; write the value where it is needed");
    else if (has_tag)
        node_finding(r, node, "tags are not used here; the key says what the value is");
    r->stack[r->depth++] = node;
    return GW_OK;
}

static enum gw_status on_document(struct reader *r, const yaml_event_t *event)
{
    if (r->saw_document)
        return syntax_error(r, event->start_mark, "a second document; one file is one document");
    r->saw_document = true;
    if (event->data.document_start.version_directive != NULL ||
        event->data.document_start.tag_directives.start !=
            event->data.document_start.tag_directives.end)
        return syntax_error(r, event->start_mark, "directives (%...) are not used here");
    return GW_OK;
}

static enum gw_status on_event(struct reader *r, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        return on_document(r, event);
    case YAML_SCALAR_EVENT:
        return on_scalar(r, event);
    case YAML_ALIAS_EVENT:
        return on_alias(r, event);
    case YAML_SEQUENCE_START_EVENT:
        return on_open(r, event, YAML_LIST);
    case YAML_MAPPING_START_EVENT:
        return on_open(r, event, YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        gw_assert(r->depth > 0);
        r->depth--;
        return GW_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        return GW_OK;
    }
    return GW_OK;
}

static enum gw_status read_events(struct reader *r)
{
    bool ended = false;
    while (!ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&r->parser, &event))
            return parser_error(r);
        enum gw_status status = on_event(r, &event);
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
        if (status != GW_OK)
            return status;
    }
    return GW_OK;
}

enum gw_status yaml_read(struct arena *arena, struct span text, struct findings *findings,
                         struct yaml_node **ret)
{
    struct reader r = {.arena = arena, .findings = findings, .text = text};
    enum gw_status status = check_text(&r);
    if (status != GW_OK)
        return status;
    if (!yaml_parser_initialize(&r.parser))
        return GW_NOMEM;
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text.ptr, text.len);
    status = read_events(&r);
    yaml_parser_delete(&r.parser);
    if (status == GW_OK)
        *ret = r.root;
    return status;
}

struct yaml_node *yaml_member(const struct yaml_node *map, struct span name)
{
    if (map == NULL || map->kind != YAML_MAP)
        return NULL;
    for (struct yaml_node *node = map->child; node != NULL; node = node->next)
        if (span_equal(node->name, name))
            return node;
    return NULL;
}

struct yaml_node *yaml_next(const struct yaml_node *node, const struct yaml_node *root, bool down)
{
    if (down && node->child != NULL)
        return node->child;
    while (node != root && node->next == NULL)
        node = node->parent;
    return node == root ? NULL : node->next;
}

/* A piece of a path; a name from the file is shown as a message may show it. */
static size_t add_step(const struct yaml_node *node, bool is_first, char *to, size_t room)
{
    char shown[SHOWN_BYTES];
    int len;
    if (node->parent->kind == YAML_LIST) {
        len = snprintf(to, room, "[%u]", node->index);
    } else {
        value_shown(node->name, shown);
        len = snprintf(to, room, "%s%s", is_first ? "" : ".", shown);
    }
    return len < 0 ? 0 : (size_t)len < room ? (size_t)len : room - 1;
}

void yaml_path(const struct yaml_node *node, const char *more, char ret_path[YAML_PATH_BYTES])
{
    const struct yaml_node *steps[YAML_DEPTH_MAX + 1];
    uint32_t count = 0;
    for (; node != NULL && node->parent != NULL && count < GW_COUNT(steps); node = node->parent)
        steps[count++] = node;
    size_t len = 0;
    ret_path[0] = '\0';
    for (uint32_t i = count; i > 0; i--)
        len += add_step(steps[i - 1], i == count, ret_path + len, YAML_PATH_BYTES - len);
    if (more != NULL)
        (void)snprintf(ret_path + len, YAML_PATH_BYTES - len, "%s%s", len == 0 ? "" : ".",
                       more); /* cut where the path is longer than a message */
}
