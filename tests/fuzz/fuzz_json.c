/* Feeds texts to the JSON reader: no bytes crash it, both passes agree, the table
 * lies inside the text, and a text that is accepted keeps its canonical form when
 * it is written out in another spelling. */
#include <stdlib.h>

#include "base/buf.h"
#include "policy/canonical.h"
#include "policy/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TEXT_BYTES_MAX ((size_t)1 << 20)
#define FORM_BYTES_MAX ((size_t)1 << 26)

struct heard {
    struct gw_buf bytes;
    uint32_t members, open;
};

static void put(void *ctx, struct span bytes)
{
    gw_assert(gw_buf_add(&((struct heard *)ctx)->bytes, bytes));
}

static void member_begin(void *ctx, struct span pointer)
{
    struct heard *heard = ctx;
    gw_assert(pointer.len <= CANONICAL_POINTER_BYTES_MAX);
    for (size_t at = 0; at < pointer.len;) {
        size_t len = utf8_sequence(pointer, at);
        gw_assert(len > 0 && (unsigned char)pointer.ptr[at] >= 0x20);
        at += len;
    }
    gw_assert(++heard->members <= CANONICAL_MEMBERS_MAX);
    gw_assert(++heard->open <= 2);
}

static void member_end(void *ctx)
{
    struct heard *heard = ctx;
    gw_assert(heard->open > 0);
    heard->open--;
}

struct table {
    struct json_node *nodes;
    uint32_t *order;
    struct json_doc doc;
};

static void table_fini(struct table *table)
{
    free(table->nodes);
    free(table->order);
}

static bool table_read(struct span text, struct table *table)
{
    struct json_limits limits = {.depth_max = 64, .nodes_max = 100000};
    struct json_fault fault = {0, NULL};
    uint32_t count;
    if (!json_count(text, &limits, &count, &fault)) {
        gw_assert(fault.offset <= text.len && fault.text != NULL);
        return false;
    }
    table->nodes = malloc(count * sizeof(*table->nodes));
    table->order = malloc(count * sizeof(*table->order));
    gw_assert(table->nodes != NULL && table->order != NULL);
    if (json_parse(text, &limits, table->nodes, table->order, count, &table->doc, &fault)) {
        gw_assert(table->doc.node_count == count);
        return true;
    }
    gw_assert(fault.offset < text.len && text.ptr[fault.offset - 1] == '"');
    table_fini(table);
    return false;
}

static void check_table(const struct table *table)
{
    const struct json_doc *doc = &table->doc;
    for (uint32_t i = 0; i < doc->node_count; i++) {
        const struct json_node *node = &doc->nodes[i];
        gw_assert(node->kind <= JSON_KIND_OBJECT);
        gw_assert(node->start <= node->end && node->end <= doc->text.len);
        gw_assert(node->name_start <= node->name_end && node->name_end <= node->start);
        gw_assert(node->child == JSON_NONE || node->child == i + 1);
        gw_assert(node->next == JSON_NONE || (node->next > i && node->next < doc->node_count));
    }
}

static void hear(const struct table *table, const struct canonical_options *options,
                 struct heard *heard)
{
    *heard = (struct heard){.members = 0};
    gw_buf_init(&heard->bytes, FORM_BYTES_MAX);
    struct canonical_sink sink = {put, member_begin, member_end, heard};
    canonical_json(&table->doc, options, table->order, &sink);
    gw_assert(heard->open == 0);
}

static void buffer_put(void *ctx, struct span piece)
{
    gw_assert(gw_buf_add(ctx, piece));
}

/* Every character of a string as an escape. */
static void escape_all(struct span decoded, struct gw_buf *out)
{
    for (size_t at = 0; at < decoded.len;) {
        size_t len = utf8_sequence(decoded, at);
        gw_assert(len > 0); /* what was accepted decodes to UTF-8 */
        uint32_t point = (unsigned char)decoded.ptr[at];
        if (len > 1)
            point &= 0x7Fu >> len;
        for (size_t i = 1; i < len; i++)
            point = point << 6 | ((unsigned char)decoded.ptr[at + i] & 0x3F);
        if (point >= 0x10000)
            gw_assert(gw_buf_print(out, "\\u%04x\\u%04X", 0xD800 + ((point - 0x10000) >> 10),
                                   0xDC00 + ((point - 0x10000) & 0x3FF)));
        else
            gw_assert(gw_buf_print(out, "\\u%04x", point));
        at += len;
    }
}

/* The same value with space between the tokens and its strings wholly escaped. */
static void rewrite(struct span text, struct gw_buf *out)
{
    struct gw_buf decoded;
    gw_buf_init(&decoded, TEXT_BYTES_MAX);
    for (size_t at = 0; at < text.len; at++) {
        char c = text.ptr[at];
        bool is_mark = c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':';
        if (is_mark)
            gw_assert(gw_buf_add(out, SPAN("\n\t")));
        gw_assert(gw_buf_byte(out, c));
        if (is_mark)
            gw_assert(gw_buf_add(out, SPAN("\r ")));
        if (c != '"')
            continue;
        size_t end = at + 1;
        while (text.ptr[end] != '"')
            end += text.ptr[end] == '\\' ? 2 : 1;
        gw_buf_clear(&decoded);
        json_decode(span_of(text.ptr + at + 1, end - at - 1), true, buffer_put, &decoded);
        escape_all(gw_buf_span(&decoded), out);
        gw_assert(gw_buf_byte(out, '"'));
        at = end;
    }
    gw_buf_fini(&decoded);
}

static void check_selection(const struct table *table)
{
    static const struct span steps[] = {{"a", 1}, {"0", 1}, {"", 0}, {"b", 1}};
    const struct json_pointer pointers[] = {
        {{"/a", 2}, steps, 1},      {{"/a/0", 4}, steps, 2},    {{"/0", 2}, steps + 1, 1},
        {{"/0/", 3}, steps + 1, 2}, {{"//b", 3}, steps + 2, 2}, {{"", 0}, steps, 0},
    };
    for (uint32_t i = 0; i < GW_COUNT(pointers); i++) {
        struct heard ignored, only;
        struct canonical_options options = {pointers + i, 1, NULL, 0};
        hear(table, &options, &ignored);
        options = (struct canonical_options){pointers + i, 1, pointers, GW_COUNT(pointers)};
        hear(table, &options, &only);
        bool is_there = json_find(&table->doc, &pointers[i]) != JSON_NONE;
        options = (struct canonical_options){NULL, 0, NULL, 0};
        struct heard whole;
        hear(table, &options, &whole);
        gw_assert(span_equal(gw_buf_span(&whole.bytes), gw_buf_span(&ignored.bytes)) != is_there);
        gw_buf_fini(&whole.bytes);
        gw_buf_fini(&ignored.bytes);
        gw_buf_fini(&only.bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span text = span_of((const char *)data, size);
    struct table table, again;
    struct heard first, second;
    struct gw_buf other;
    if (size > TEXT_BYTES_MAX || !table_read(text, &table))
        return 0;
    check_table(&table);
    check_selection(&table);
    struct canonical_options all = {NULL, 0, NULL, 0};
    hear(&table, &all, &first);
    gw_buf_init(&other, FORM_BYTES_MAX);
    rewrite(text, &other);
    gw_assert(table_read(gw_buf_span(&other), &again));
    hear(&again, &all, &second);
    gw_assert(span_equal(gw_buf_span(&first.bytes), gw_buf_span(&second.bytes)));
    gw_assert(first.members == second.members);
    gw_buf_fini(&first.bytes);
    gw_buf_fini(&second.bytes);
    gw_buf_fini(&other);
    table_fini(&table);
    table_fini(&again);
    return 0;
}
