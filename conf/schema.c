/* Every node of the tree against the table of keys: unknown keys, missing keys,
 * kinds, grammars and ranges. It must never judge two values together. */
#include "conf/loader.h"

#include <stdio.h>

/* ---- ${NAME} ---- */

static struct span name_in_braces(struct span text, size_t at)
{
    size_t end = at + 2;
    while (end < text.len &&
           (text.ptr[end] == '_' || (text.ptr[end] >= '0' && text.ptr[end] <= '9') ||
            (gw_lower(text.ptr[end]) >= 'a' && gw_lower(text.ptr[end]) <= 'z')))
        end++;
    if (end >= text.len || text.ptr[end] != '}' || end == at + 2)
        return span_of(NULL, 0);
    return span_of(text.ptr + at + 2, end - at - 2);
}

static bool add_variable(struct loader *loader, struct yaml_node *node, struct span name,
                         struct gw_buf *out)
{
    char room[128];
    const char *value = NULL;
    if (loader->environment == NULL) {
        node_error(loader, node, "${%.*s}: there is no environment here",
                   (int)(name.len < 64 ? name.len : 64), name.ptr);
        return false;
    }
    if (name.len < sizeof(room)) {
        memcpy(room, name.ptr, name.len);
        room[name.len] = '\0';
        value = loader->environment(room);
    }
    if (value == NULL) {
        node_error(loader, node,
                   "${%.*s}: not set in the environment; set it, or write $$ for a dollar",
                   (int)(name.len < 64 ? name.len : 64), name.ptr);
        return false;
    }
    if (gw_buf_add(out, span_str(value)))
        return true;
    node_error(loader, node, "longer than %d bytes with ${%.*s}", CONF_SCALAR_BYTES,
               (int)(name.len < 64 ? name.len : 64), name.ptr);
    return false;
}

static bool expand_into(struct loader *loader, struct yaml_node *node, struct gw_buf *out)
{
    struct span text = node->text;
    for (size_t i = 0; i < text.len; i++) {
        bool is_dollar = text.ptr[i] == '$' && i + 1 < text.len;
        if (is_dollar && text.ptr[i + 1] == '$') {
            i++;
        } else if (is_dollar && text.ptr[i + 1] == '{') {
            struct span name = name_in_braces(text, i);
            if (name.ptr == NULL) {
                node_error(loader, node,
                           "${ must be followed by a name and }; write $${ for the "
                           "characters themselves");
                return false;
            }
            if (!add_variable(loader, node, name, out))
                return false;
            i += name.len + 2;
            continue;
        }
        if (!gw_buf_byte(out, text.ptr[i])) {
            node_error(loader, node, "longer than %d bytes", CONF_SCALAR_BYTES);
            return false;
        }
    }
    return true;
}

static bool expand(struct loader *loader, struct yaml_node *node)
{
    if (memchr(node->text.ptr, '$', node->text.len) == NULL)
        return true;
    struct gw_buf out;
    gw_buf_init(&out, CONF_SCALAR_BYTES);
    bool good = expand_into(loader, node, &out);
    if (good) {
        char *room = loader_take(loader, 1, out.len + 1);
        if (room != NULL) {
            if (out.len > 0)
                memcpy(room, out.ptr, out.len);
            node->text = span_of(room, out.len);
        }
    }
    gw_buf_fini(&out);
    return good;
}

/* ---- one value ---- */

static void value_error(struct loader *loader, struct yaml_node *node, uint32_t row,
                        const char *rule)
{
    char shown[SHOWN_BYTES];
    value_shown(node->text, shown);
    node->is_bad = true;
    if (field_is_secret(field_at(row)->type))
        node_error(loader, node, "%s", rule);
    else if (node->text.len == 0)
        node_error(loader, node, "empty: %s", rule);
    else
        node_error(loader, node, "%s: %s", shown, rule);
}

static void check_word(struct loader *loader, struct yaml_node *node, uint32_t row)
{
    const char *words = field_at(row)->words;
    bool later;
    uint32_t found = field_word_find(words, node->text, &later);
    char rule[320];
    if (found != FIELD_NONE) {
        if (later)
            value_error(loader, node, row, "known, but not served by this version");
        return;
    }
    int len = snprintf(rule, sizeof(rule), "must be one of");
    struct span near = {NULL, 0};
    uint32_t most = near_limit(node->text.len);
    for (uint32_t i = 0; len < 250; i++) {
        struct span word = field_word(words, i, &later);
        if (word.len == 0)
            break;
        uint32_t distance = near_distance(node->text, word, most);
        if (distance <= most && (near.ptr == NULL || distance < most)) {
            near = word;
            most = distance;
        }
        if (!later)
            len += snprintf(rule + len, sizeof(rule) - (size_t)len, "%s %.*s", i == 0 ? "" : ",",
                            (int)word.len, word.ptr);
    }
    if (near.ptr != NULL)
        (void)snprintf(rule + len, sizeof(rule) - (size_t)len, "; did you mean \"%.*s\"?",
                       (int)near.len, near.ptr); /* the words of a row are short */
    value_error(loader, node, row, rule);
}

static void check_number(struct loader *loader, struct yaml_node *node, uint32_t row)
{
    const struct conf_field *field = field_at(row);
    int64_t number;
    char edge[VALUE_TEXT_BYTES], rule[96];
    const char *fault = value_number(field->type, node->text, &number);
    if (fault != NULL) {
        value_error(loader, node, row, fault);
    } else if (number < field->min) {
        value_print(field->type, field->min, edge);
        (void)snprintf(rule, sizeof(rule), "is under the minimum %s", edge);
        value_error(loader, node, row, rule);
    } else if (number > field->max) {
        value_print(field->type, field->max, edge);
        (void)snprintf(rule, sizeof(rule), "is over the maximum %s", edge);
        value_error(loader, node, row, rule);
    }
}

static bool length_is_right(struct loader *loader, struct yaml_node *node, uint32_t row)
{
    const struct conf_field *field = field_at(row);
    char rule[96];
    if (field->max == 0 ||
        ((int64_t)node->text.len >= field->min && (int64_t)node->text.len <= field->max))
        return true;
    if (field_is_secret(field->type) && field->min == field->max)
        return true; /* its own grammar says it better */
    if (field->min == field->max)
        (void)snprintf(rule, sizeof(rule), "must have %lld bytes", (long long)field->max);
    else
        (void)snprintf(rule, sizeof(rule), "must have %lld to %lld bytes", (long long)field->min,
                       (long long)field->max);
    value_error(loader, node, row, rule);
    return false;
}

static const char *pattern_fault(struct loader *loader, struct span text)
{
    size_t most = text.len + 2;
    const char *fault = NULL;
    uint32_t count;
    struct route_segment *segments = loader_take(loader, most, sizeof(*segments));
    if (segments == NULL || route_pattern_parse(text, segments, (uint32_t)most, &count, &fault))
        return NULL;
    return fault != NULL ? fault : "must be a path like /orders, /orders/{id} or /orders/*";
}

static const char *text_fault(struct loader *loader, const struct yaml_node *node, uint32_t row)
{
    const struct conf_field *field = field_at(row);
    struct status_set statuses = {{0}};
    struct conf_network network;
    struct conf_address address;
    struct value_url url;
    bool is_class, is_later;
    if (field->words[0] != '\0' && field->type != CONF_ADDRESS &&
        field_word_find(field->words, node->text, &is_later) != FIELD_NONE)
        return NULL;
    if (field->type == CONF_STATUS)
        return value_status(node->text, &statuses, &is_class);
    if (field->type == CONF_CIDR)
        return value_cidr(node->text, &network);
    if (field->type == CONF_ADDRESS)
        return value_address(node->text, field->words[0] != '\0', &address);
    if (field->type == CONF_URL)
        return value_url(node->text, &url);
    if (field->type == CONF_PATTERN)
        return pattern_fault(loader, node->text);
    return value_word(field->type, node->text);
}

static void check_value(struct loader *loader, struct yaml_node *node, uint32_t row)
{
    enum conf_type type = field_at(row)->type;
    if (type == CONF_WORD) {
        check_word(loader, node, row);
    } else if (type == CONF_COUNT || type == CONF_DURATION || type == CONF_SIZE ||
               type == CONF_RATE || type == CONF_PERCENT) {
        check_number(loader, node, row);
    } else if (length_is_right(loader, node, row)) {
        const char *fault = text_fault(loader, node, row);
        if (fault != NULL)
            value_error(loader, node, row, fault);
    }
}

/* ---- kinds and keys ---- */

static void key_finding(struct loader *loader, struct yaml_node *node, const char *what)
{
    char path[YAML_PATH_BYTES];
    yaml_path(node, NULL, path);
    node->is_bad = true;
    findings_add(
        &loader->findings,
        &(struct finding_place){.line = node->name_line, .column = node->name_column, .path = path},
        "%s", what);
}

static void unknown_key(struct loader *loader, struct yaml_node *node)
{
    char what[320];
    uint32_t near = field_near(node->parent->row, node->name);
    uint32_t elsewhere = near != FIELD_NONE ? FIELD_NONE : field_elsewhere(node->name);
    if (near != FIELD_NONE) {
        struct span leaf = field_leaf(near);
        (void)snprintf(what, sizeof(what), "unknown key; did you mean \"%.*s\"?", (int)leaf.len,
                       leaf.ptr);
    } else if (elsewhere != FIELD_NONE) {
        (void)snprintf(what, sizeof(what), "unknown key here; it belongs at %s",
                       field_at(elsewhere)->path);
    } else {
        int len = snprintf(what, sizeof(what), "unknown key; known here:");
        uint32_t parent = node->parent->row;
        for (uint32_t row = field_next_child(parent, parent); row != FIELD_NONE && len < 240;
             row = field_next_child(parent, row)) {
            struct span leaf = field_leaf(row);
            if (field_at(row)->type != CONF_LATER)
                len += snprintf(what + len, sizeof(what) - (size_t)len, " %.*s", (int)leaf.len,
                                leaf.ptr);
        }
    }
    key_finding(loader, node, what);
}

static bool name_is_right(struct loader *loader, struct yaml_node *node)
{
    const char *grammar = field_at(node->parent->row)->words;
    const char *fault = NULL;
    if (node->name.len == 0 && strcmp(grammar, "pointer") != 0)
        fault = "must have a name";
    else if (strcmp(grammar, "pointer") == 0)
        fault = value_word(CONF_POINTER, node->name);
    else if (strcmp(grammar, "header") == 0)
        fault = value_word(CONF_HEADER, node->name);
    else
        fault = value_word(CONF_NAME, node->name);
    if (fault == NULL && node->name.len > (strcmp(grammar, "pointer") == 0 ? 512 : 64))
        fault = "the name is too long";
    if (fault != NULL)
        key_finding(loader, node, fault);
    return fault == NULL;
}

/* Finds the row of a node; false: there is none, and it was said. */
static bool find_row(struct loader *loader, struct yaml_node *node)
{
    if (node->parent == NULL) {
        node->row = FIELD_ROOT;
        return true;
    }
    uint32_t parent = node->parent->row;
    if (field_at(parent)->type != CONF_MAP) {
        node->row = field_item(parent);
        return field_at(parent)->type != CONF_NAMED || name_is_right(loader, node);
    }
    node->row = field_child(parent, node->name);
    if (node->row != FIELD_NONE)
        return true;
    unknown_key(loader, node);
    return false;
}

/* Whose routes are all local does everything in the database here. */
static bool may_be_missing(const struct yaml_node *node, uint32_t row)
{
    const struct yaml_node *routes = yaml_member(node, SPAN("routes"));
    if (strcmp(field_at(row)->path, "upstreams") != 0 || routes == NULL || routes->child == NULL)
        return false;
    for (const struct yaml_node *route = routes->child; route != NULL; route = route->next)
        if (yaml_member(route, SPAN("local")) == NULL)
            return false;
    return true;
}

static void check_required(struct loader *loader, const struct yaml_node *node)
{
    struct cursor cursor = cursor_of(node, span_of(NULL, 0));
    for (uint32_t row = field_next_child(node->row, node->row); row != FIELD_NONE;
         row = field_next_child(node->row, row)) {
        if (!field_is_required(row) || yaml_member(node, field_leaf(row)) != NULL ||
            may_be_missing(node, row))
            continue;
        char leaf[64];
        (void)snprintf(leaf, sizeof(leaf), "%.*s", (int)field_leaf(row).len, field_leaf(row).ptr);
        key_error(loader, &cursor, leaf, "required, but missing: %s", field_at(row)->doc);
    }
}

static void check_count(struct loader *loader, struct yaml_node *node)
{
    const struct conf_field *field = field_at(node->row);
    if ((int64_t)node->count >= field->min && (int64_t)node->count <= field->max)
        return;
    node->is_bad = true;
    node_error(loader, node, "has %u entries; %lld to %lld are allowed", node->count,
               (long long)field->min, (long long)field->max);
}

static void wrong_kind(struct loader *loader, struct yaml_node *node, const char *wanted)
{
    enum conf_type type = field_at(node->row)->type;
    bool has_word =
        (type == CONF_MAP || type == CONF_LIST) && field_at(node->row)->words[0] != '\0';
    const char *word = has_word ? field_at(node->row)->words : "";
    const char *before = has_word ? ", or " : "";
    static const char *const names[] = {"a single value", "a list", "a mapping"};
    node->is_bad = true;
    if (node->kind == YAML_SCALAR && node->text.len == 0 && !node->is_quoted)
        node_error(loader, node, "nothing is given; must be %s%s%s", wanted, before, word);
    else
        node_error(loader, node, "is %s; must be %s%s%s", names[node->kind], wanted, before, word);
}

static void check_collection(struct loader *loader, struct yaml_node *node)
{
    const struct conf_field *field = field_at(node->row);
    bool is_map = field->type == CONF_MAP || field->type == CONF_NAMED;
    if (node->kind == YAML_SCALAR && expand(loader, node)) {
        if (field->type != CONF_NAMED && field->words[0] != '\0' &&
            span_equal(node->text, span_str(field->words)))
            return;
        if (field->type == CONF_LIST_OR_ONE && (node->text.len > 0 || node->is_quoted)) {
            check_value(loader, node, field_item(node->row));
            return;
        }
    }
    if (node->kind != (is_map ? YAML_MAP : YAML_LIST))
        wrong_kind(loader, node, is_map ? "a mapping of keys and values" : "a list");
    else if (field->type == CONF_MAP)
        check_required(loader, node);
    else
        check_count(loader, node);
}

/* Returns whether the nodes below it are to be checked. */
static bool check_node(struct loader *loader, struct yaml_node *node)
{
    bool was_bad = node->is_bad;
    if (!find_row(loader, node) || was_bad)
        return false;
    enum conf_type type = field_at(node->row)->type;
    if (type == CONF_LATER) {
        key_finding(loader, node, "known, but not served by this version");
        return false;
    }
    if (!field_is_scalar(type)) {
        check_collection(loader, node);
        return node->kind != YAML_SCALAR && (!node->is_bad || node->count > 0) &&
               (node->kind == YAML_MAP) == (type == CONF_MAP || type == CONF_NAMED);
    }
    if (node->kind != YAML_SCALAR) {
        wrong_kind(loader, node, "a single value");
        return false;
    }
    if (!expand(loader, node))
        node->is_bad = true;
    else if (node->text.len == 0 && !node->is_quoted && type != CONF_CONDITION)
        wrong_kind(loader, node, "a single value");
    else
        check_value(loader, node, node->row);
    return false;
}

void schema_check(struct loader *loader)
{
    struct yaml_node *node = loader->root;
    while (node != NULL) {
        bool down = check_node(loader, node);
        node = yaml_next(node, loader->root, down);
    }
}

void schema_check_admin_address(struct loader *loader)
{
    struct yaml_node *admin = yaml_member(loader->root, SPAN("admin"));
    struct yaml_node *address = yaml_member(admin, SPAN("address"));
    gw_assert(admin != NULL);
    loader->root->row = FIELD_ROOT;
    admin->row = field_child(FIELD_ROOT, SPAN("admin"));
    if (address != NULL)
        (void)check_node(loader, address); /* a single value has nothing below it */
}
