/* Reads strict JSON into a flat table of nodes. Must never convert a number, never
 * recurse and never accept a text that two readers could understand differently. */
#include "policy/json.h"

#include "policy/json_order.h"
#include "policy/json_string.h"

enum expect {
    EXPECT_VALUE,
    EXPECT_VALUE_OR_END, /* after "[" */
    EXPECT_NAME,
    EXPECT_NAME_OR_END, /* after "{" */
    EXPECT_MORE,        /* "," or the closing bracket */
    EXPECT_NOTHING,     /* the root is whole */
};

struct scan_level {
    uint32_t node, last; /* the container and its newest child */
    bool is_object;
};

struct scan {
    struct span text;
    size_t at;
    enum expect expect;
    uint32_t depth, depth_max;
    uint32_t count, nodes_max;
    struct json_node *nodes;  /* NULL: only count */
    struct json_node pending; /* name of the member whose value comes next */
    struct json_fault fault;
    struct scan_level levels[JSON_DEPTH_MAX];
};

static bool scan_text(struct scan *scan);

static void scan_init(struct scan *scan, struct span text, const struct json_limits *limits)
{
    gw_assert(limits->depth_max >= 1);
    gw_assert(limits->depth_max <= JSON_DEPTH_MAX);
    scan->text = text;
    scan->at = 0;
    scan->expect = EXPECT_VALUE;
    scan->depth = 0;
    scan->depth_max = limits->depth_max;
    scan->count = 0;
    scan->nodes_max = limits->nodes_max;
    scan->nodes = NULL;
    scan->pending = (struct json_node){0};
}

bool json_count(struct span text, const struct json_limits *limits, uint32_t *ret_nodes,
                struct json_fault *ret_fault)
{
    struct scan scan;
    scan_init(&scan, text, limits);
    if (!scan_text(&scan)) {
        *ret_fault = scan.fault;
        return false;
    }
    gw_assert(scan.count > 0);
    *ret_nodes = scan.count;
    return true;
}

/* Finds the first name of the text that its object has already. */
static bool check_names(const struct json_doc *doc, uint32_t *order, struct json_fault *ret_fault)
{
    size_t offset = SIZE_MAX;
    memset(order, 0, doc->node_count * sizeof(*order)); /* no JSON_LEFT_OUT by chance */
    for (uint32_t i = 0; i < doc->node_count; i++) {
        if (doc->nodes[i].kind != JSON_KIND_OBJECT)
            continue;
        uint32_t before = json_order_members(doc, i, order);
        while (before != JSON_NONE && order[before] != JSON_NONE) {
            uint32_t after = order[before];
            if (doc->nodes[after].name_start < offset &&
                json_names_compare(doc, before, after) == 0)
                offset = doc->nodes[after].name_start;
            before = after;
        }
    }
    if (offset == SIZE_MAX)
        return true;
    *ret_fault = (struct json_fault){offset, "an object has two members of the same name"};
    return false;
}

bool json_parse(struct span text, const struct json_limits *limits, struct json_node *nodes,
                uint32_t *order, uint32_t nodes_len, struct json_doc *ret_doc,
                struct json_fault *ret_fault)
{
    struct scan scan;
    gw_assert(nodes != NULL);
    gw_assert(order != NULL);
    scan_init(&scan, text, limits);
    scan.nodes = nodes;
    if (scan.nodes_max > nodes_len)
        scan.nodes_max = nodes_len;
    if (!scan_text(&scan)) {
        *ret_fault = scan.fault;
        return false;
    }
    struct json_doc doc = {.text = text, .nodes = nodes, .node_count = scan.count};
    if (!check_names(&doc, order, ret_fault))
        return false;
    *ret_doc = doc;
    return true;
}

uint32_t json_member(const struct json_doc *doc, uint32_t object, struct span name)
{
    if (doc->nodes[object].kind != JSON_KIND_OBJECT)
        return JSON_NONE;
    uint32_t at = doc->nodes[object].child;
    while (at != JSON_NONE) {
        const struct json_node *node = &doc->nodes[at];
        struct span raw =
            span_of(doc->text.ptr + node->name_start, node->name_end - node->name_start);
        if (json_string_equals(raw, node->name_has_escapes != 0, name))
            return at;
        at = node->next;
    }
    return JSON_NONE;
}

uint32_t json_find(const struct json_doc *doc, const struct json_pointer *pointer)
{
    uint32_t node = 0;
    gw_assert(doc->node_count > 0);
    for (uint32_t i = 0; i < pointer->step_count && node != JSON_NONE; i++)
        node = json_step(doc, node, pointer->steps[i]);
    return node;
}

static bool scan_fail(struct scan *scan, size_t at, const char *text)
{
    scan->fault = (struct json_fault){at, text};
    return false;
}

static void skip_space(struct scan *scan)
{
    while (scan->at < scan->text.len) {
        char c = scan->text.ptr[scan->at];
        if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
            break;
        scan->at++;
    }
}

static bool at_byte(const struct scan *scan, char wanted)
{
    return scan->at < scan->text.len && scan->text.ptr[scan->at] == wanted;
}

static bool at_digit(const struct scan *scan)
{
    return scan->at < scan->text.len && scan->text.ptr[scan->at] >= '0' &&
           scan->text.ptr[scan->at] <= '9';
}

/* Appends a node and hangs it below the container that is open. */
static bool node_add(struct scan *scan, enum json_kind kind, size_t start, size_t end)
{
    if (scan->count >= scan->nodes_max)
        return scan_fail(scan, start, "the text has too many values");
    uint32_t index = scan->count++;
    if (scan->nodes == NULL)
        return true;
    struct json_node *node = &scan->nodes[index];
    *node = scan->pending;
    node->kind = (uint8_t)kind;
    node->start = (uint32_t)start;
    node->end = (uint32_t)end;
    node->child = JSON_NONE;
    node->next = JSON_NONE;
    scan->pending = (struct json_node){0};
    if (scan->depth == 0)
        return true;
    struct scan_level *level = &scan->levels[scan->depth - 1];
    if (level->last == JSON_NONE)
        scan->nodes[level->node].child = index;
    else
        scan->nodes[level->last].next = index;
    level->last = index;
    return true;
}

static void value_is_whole(struct scan *scan)
{
    scan->expect = scan->depth == 0 ? EXPECT_NOTHING : EXPECT_MORE;
}

static bool open_container(struct scan *scan, bool is_object)
{
    if (scan->depth >= scan->depth_max)
        return scan_fail(scan, scan->at, "the text is nested too deeply");
    if (!node_add(scan, is_object ? JSON_KIND_OBJECT : JSON_KIND_ARRAY, scan->at, scan->at))
        return false;
    scan->levels[scan->depth++] = (struct scan_level){scan->count - 1, JSON_NONE, is_object};
    scan->at++;
    scan->expect = is_object ? EXPECT_NAME_OR_END : EXPECT_VALUE_OR_END;
    return true;
}

static bool close_container(struct scan *scan)
{
    gw_assert(scan->depth > 0);
    scan->depth--;
    scan->at++;
    if (scan->nodes != NULL)
        scan->nodes[scan->levels[scan->depth].node].end = (uint32_t)scan->at;
    value_is_whole(scan);
    return true;
}

static bool scan_string(struct scan *scan)
{
    size_t start = scan->at + 1, end;
    bool has_escapes;
    if (!json_string_scan(scan->text, start, &end, &has_escapes, &scan->fault))
        return false;
    scan->pending.has_escapes = has_escapes;
    if (!node_add(scan, JSON_KIND_STRING, start, end))
        return false;
    scan->at = end + 1;
    value_is_whole(scan);
    return true;
}

/* The name, the colon after it and the space between them. */
static bool scan_name(struct scan *scan)
{
    size_t start = scan->at + 1, end;
    bool has_escapes;
    if (!at_byte(scan, '"'))
        return scan_fail(scan, scan->at, "the name of a member was expected here");
    if (!json_string_scan(scan->text, start, &end, &has_escapes, &scan->fault))
        return false;
    scan->pending = (struct json_node){
        .name_has_escapes = has_escapes, .name_start = (uint32_t)start, .name_end = (uint32_t)end};
    scan->at = end + 1;
    skip_space(scan);
    if (!at_byte(scan, ':'))
        return scan_fail(scan, scan->at, "a colon was expected after the name of a member");
    scan->at++;
    scan->expect = EXPECT_VALUE;
    return true;
}

static bool scan_digits(struct scan *scan)
{
    if (!at_digit(scan))
        return scan_fail(scan, scan->at, "a number lacks a digit here");
    while (at_digit(scan))
        scan->at++;
    return true;
}

static bool scan_number(struct scan *scan)
{
    size_t start = scan->at;
    if (at_byte(scan, '-'))
        scan->at++;
    bool is_zero = at_byte(scan, '0');
    size_t first = scan->at;
    if (!scan_digits(scan))
        return false;
    if (is_zero && scan->at > first + 1)
        return scan_fail(scan, first, "a number has a leading zero");
    if (at_byte(scan, '.')) {
        scan->at++;
        if (!scan_digits(scan))
            return false;
    }
    if (at_byte(scan, 'e') || at_byte(scan, 'E')) {
        scan->at++;
        if (at_byte(scan, '+') || at_byte(scan, '-'))
            scan->at++;
        if (!scan_digits(scan))
            return false;
    }
    value_is_whole(scan);
    return node_add(scan, JSON_KIND_NUMBER, start, scan->at);
}

static bool scan_word(struct scan *scan)
{
    static const struct {
        struct span text;
        enum json_kind kind;
    } words[] = {
        {{"null", 4}, JSON_KIND_NULL},
        {{"false", 5}, JSON_KIND_FALSE},
        {{"true", 4}, JSON_KIND_TRUE},
    };
    size_t start = scan->at;
    for (size_t i = 0; i < GW_COUNT(words); i++) {
        size_t len = words[i].text.len;
        if (scan->text.len - start < len)
            continue;
        if (!span_equal(span_of(scan->text.ptr + start, len), words[i].text))
            continue;
        scan->at += len;
        value_is_whole(scan);
        return node_add(scan, words[i].kind, start, scan->at);
    }
    return scan_fail(scan, start, "a value was expected here");
}

static bool scan_value(struct scan *scan)
{
    if (at_byte(scan, '{') || at_byte(scan, '['))
        return open_container(scan, at_byte(scan, '{'));
    if (at_byte(scan, '"'))
        return scan_string(scan);
    if (at_byte(scan, '-') || at_digit(scan))
        return scan_number(scan);
    return scan_word(scan);
}

static bool scan_more(struct scan *scan)
{
    bool is_object = scan->levels[scan->depth - 1].is_object;
    if (at_byte(scan, is_object ? '}' : ']'))
        return close_container(scan);
    if (!at_byte(scan, ','))
        return scan_fail(scan, scan->at,
                         is_object ? "a comma or the end of the object was expected here"
                                   : "a comma or the end of the array was expected here");
    scan->at++;
    scan->expect = is_object ? EXPECT_NAME : EXPECT_VALUE;
    return true;
}

static bool scan_token(struct scan *scan)
{
    switch (scan->expect) {
    case EXPECT_VALUE_OR_END:
        if (at_byte(scan, ']'))
            return close_container(scan);
        GW_FALLTHROUGH;
    case EXPECT_VALUE:
        return scan_value(scan);
    case EXPECT_NAME_OR_END:
        if (at_byte(scan, '}'))
            return close_container(scan);
        GW_FALLTHROUGH;
    case EXPECT_NAME:
        return scan_name(scan);
    case EXPECT_MORE:
        return scan_more(scan);
    case EXPECT_NOTHING:
        break;
    }
    gw_assert(scan->expect != EXPECT_NOTHING); /* the loop ends there */
    return false;
}

/* Each turn takes at least one byte, so the text bounds the loop. */
static bool scan_text(struct scan *scan)
{
    if (scan->text.len > JSON_TEXT_BYTES_MAX)
        return scan_fail(scan, JSON_TEXT_BYTES_MAX, "the text is too long");
    if (scan->text.len >= 3 && memcmp(scan->text.ptr, "\xEF\xBB\xBF", 3) == 0)
        return scan_fail(scan, 0, "the text begins with a byte order mark");
    while (scan->expect != EXPECT_NOTHING) {
        skip_space(scan);
        if (scan->at == scan->text.len)
            return scan_fail(scan, scan->at,
                             scan->count == 0 ? "the text is empty" : "the text ends too early");
        if (!scan_token(scan))
            return false;
    }
    skip_space(scan);
    if (scan->at < scan->text.len)
        return scan_fail(scan, scan->at, "something follows the value");
    return true;
}
