/* Catches what a canonical form says, for the tests of this folder: all its bytes,
 * and for each member its pointer, its level and its bytes. */
#ifndef RECIBO_TESTS_COLLECT_H
#define RECIBO_TESTS_COLLECT_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "policy/canonical.h"
#include "tests/lib/testlib.h"

#define COLLECT_BYTES_MAX ((size_t)1 << 26)

struct collected_member {
    char pointer[CANONICAL_POINTER_BYTES_MAX + 1];
    size_t start, end;
    int level;
};

struct collected {
    struct gw_buf bytes;
    struct collected_member members[CANONICAL_MEMBERS_MAX];
    uint32_t member_count;
    int open[CANONICAL_MEMBERS_MAX];
    int open_count;
};

static inline void collect_put(void *ctx, struct span bytes)
{
    struct collected *all = ctx;
    assert_true(bytes.len > 0);
    assert_true(gw_buf_add(&all->bytes, bytes));
}

static inline void collect_begin(void *ctx, struct span pointer)
{
    struct collected *all = ctx;
    assert_in_range(all->member_count, 0, CANONICAL_MEMBERS_MAX - 1);
    assert_in_range(pointer.len, 0, CANONICAL_POINTER_BYTES_MAX);
    struct collected_member *member = &all->members[all->member_count];
    memcpy(member->pointer, pointer.ptr, pointer.len);
    member->pointer[pointer.len] = '\0';
    member->start = all->bytes.len;
    member->level = all->open_count + 1;
    assert_in_range(member->level, 1, 2);
    all->open[all->open_count++] = (int)all->member_count++;
}

static inline void collect_end(void *ctx)
{
    struct collected *all = ctx;
    assert_in_range(all->open_count, 1, 2);
    all->members[all->open[--all->open_count]].end = all->bytes.len;
}

static inline struct canonical_sink collect_start(struct collected *all)
{
    gw_buf_init(&all->bytes, COLLECT_BYTES_MAX);
    all->member_count = 0;
    all->open_count = 0;
    return (struct canonical_sink){collect_put, collect_begin, collect_end, all};
}

static inline void collect_fini(struct collected *all)
{
    gw_buf_fini(&all->bytes);
}

static inline bool collect_is_same(const struct collected *a, const struct collected *b)
{
    assert_int_equal(a->open_count, 0);
    assert_int_equal(b->open_count, 0);
    return span_equal(gw_buf_span(&a->bytes), gw_buf_span(&b->bytes));
}

/* The pointers, one a line. */
static inline void collect_pointers(const struct collected *all, char *ret_text, size_t room)
{
    size_t len = 0;
    ret_text[0] = '\0';
    for (uint32_t i = 0; i < all->member_count; i++) {
        int more = snprintf(ret_text + len, room - len, "%s\n", all->members[i].pointer);
        assert_in_range(more, 1, room - len - 1);
        len += (size_t)more;
    }
}

static inline const struct collected_member *collect_find(const struct collected *all,
                                                          const char *pointer)
{
    for (uint32_t i = 0; i < all->member_count; i++)
        if (strcmp(all->members[i].pointer, pointer) == 0)
            return &all->members[i];
    fail_msg("no member %s", pointer);
    return NULL;
}

/* A copy of exactly that size, so that a sanitizer sees the first byte too far. */
static inline char *exact_copy(struct span text)
{
    char *copy = malloc(text.len == 0 ? 1 : text.len);
    assert_non_null(copy);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    return copy;
}

struct parsed {
    char *text;
    struct json_node *nodes;
    uint32_t *order;
    struct json_doc doc;
};

static inline void parsed_fini(struct parsed *parsed)
{
    free(parsed->text);
    free(parsed->nodes);
    free(parsed->order);
    *parsed = (struct parsed){.text = NULL};
}

static inline bool parse_limited(struct span text, struct json_limits limits, struct parsed *parsed,
                                 struct json_fault *fault)
{
    uint32_t count = 0;
    *parsed = (struct parsed){.text = exact_copy(text)};
    struct span copy = span_of(parsed->text, text.len);
    bool is_parsed = false;
    if (json_count(copy, &limits, &count, fault)) {
        parsed->nodes = malloc(count * sizeof(*parsed->nodes));
        parsed->order = malloc(count * sizeof(*parsed->order));
        assert_non_null(parsed->nodes);
        assert_non_null(parsed->order);
        memset(parsed->nodes, 0xFE, count * sizeof(*parsed->nodes));
        memset(parsed->order, 0xFE, count * sizeof(*parsed->order));
        is_parsed =
            json_parse(copy, &limits, parsed->nodes, parsed->order, count, &parsed->doc, fault);
        if (is_parsed)
            assert_int_equal(parsed->doc.node_count, count);
    }
    if (!is_parsed)
        parsed_fini(parsed);
    return is_parsed;
}

static inline bool parse(struct span text, struct parsed *parsed, struct json_fault *fault)
{
    struct json_limits limits = {.depth_max = 64, .nodes_max = 1u << 20};
    return parse_limited(text, limits, parsed, fault);
}

/* Fails the test if the text is no JSON. */
static inline void collect_json(struct span text, const struct canonical_options *options,
                                struct collected *all)
{
    static const struct canonical_options none = {NULL, 0, NULL, 0};
    struct parsed parsed;
    struct json_fault fault = {0, "none"};
    if (!parse(text, &parsed, &fault))
        fail_msg("%.*s: %zu: %s", (int)text.len, text.ptr, fault.offset, fault.text);
    /* As a caller may leave it: full of marks of another document. */
    memset(parsed.order, 0xFE, parsed.doc.node_count * sizeof(*parsed.order));
    parsed.order[0] = UINT32_MAX - 1;
    struct canonical_sink sink = collect_start(all);
    canonical_json(&parsed.doc, options == NULL ? &none : options, parsed.order, &sink);
    assert_int_equal(all->open_count, 0);
    parsed_fini(&parsed);
}

/* A seeded generator (splitmix64): the same numbers on every machine. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
    return (uint32_t)(random_next(state) % limit);
}

#endif
