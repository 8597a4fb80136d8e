/* Random JSON values from a seeded generator: written in any order, spacing and
 * spelling they have one canonical form; changed in one token they have another. */
#include "tests/unit/policy/collect.h"

#define MODEL_NODES_MAX 40
#define ROUNDS          20000
#define UNIT_BYTES      6 /* \u and four digits */

/* A value by parts: a word, number or string is a number into the tables below. */
struct model_node {
    enum json_kind kind;
    uint32_t text; /* which number or string */
    uint32_t name; /* which string, no two alike in one object */
    int parent;    /* -1: the root */
};

struct model {
    struct model_node nodes[MODEL_NODES_MAX];
    int count; /* a parent always comes before its children */
};

static const uint32_t letters[] = {0,      '\n',   0x1F, '"',     '\\',    '/',     '~',
                                   'a',    'A',    0x7F, 0xE9,    0x301,   0x2028,  0xFFFF,
                                   0xD7FF, 0xE000, 'u',  0x10000, 0x1F600, 0x10FFFF};

/* Numbers that are equal to many readers. */
static const char *const numbers[] = {"0",
                                      "-0",
                                      "0.0",
                                      "1",
                                      "1.0",
                                      "1e0",
                                      "10e-1",
                                      "1E0",
                                      "9007199254740992",
                                      "9007199254740993",
                                      "1e400",
                                      "1e401"};

static bool has_room_inside(enum json_kind kind)
{
    return kind == JSON_KIND_ARRAY || kind == JSON_KIND_OBJECT;
}

static void random_value(uint64_t *seed, struct model_node *node)
{
    node->kind = (enum json_kind)random_below(seed, JSON_KIND_OBJECT + 1);
    node->text = node->kind == JSON_KIND_NUMBER   ? random_below(seed, GW_COUNT(numbers))
                 : node->kind == JSON_KIND_STRING ? random_below(seed, 20 * 20 * 20)
                                                  : 0;
}

/* A number that no sibling has as its name. */
static uint32_t unused_name(uint64_t *seed, const struct model *model, int parent)
{
    for (;;) { /* there are far more names than nodes */
        uint32_t name = random_below(seed, random_below(seed, 2) ? 8000 : 60);
        bool is_used = false;
        for (int i = 0; i < model->count; i++)
            is_used |= model->nodes[i].parent == parent && model->nodes[i].name == name;
        if (!is_used)
            return name;
    }
}

static void random_model(uint64_t *seed, struct model *model)
{
    int wanted = 1 + (int)random_below(seed, MODEL_NODES_MAX - 1);
    model->count = 0;
    model->nodes[0].parent = -1;
    model->nodes[0].name = 0;
    random_value(seed, &model->nodes[0]);
    if (wanted > 1 && !has_room_inside(model->nodes[0].kind))
        model->nodes[0] = (struct model_node){JSON_KIND_OBJECT, 0, 0, -1};
    for (model->count = 1; model->count < wanted;) {
        int parent = (int)random_below(seed, (uint32_t)model->count);
        if (!has_room_inside(model->nodes[parent].kind))
            continue;
        struct model_node node = {.parent = parent};
        node.name = unused_name(seed, model, parent);
        random_value(seed, &node);
        model->nodes[model->count++] = node;
    }
}

static void print_space(uint64_t *seed, struct gw_buf *out)
{
    for (uint32_t left = random_below(seed, 3); left > 1; left--)
        assert_true(gw_buf_byte(out, " \t\r\n"[random_below(seed, 4)]));
}

static void print_unit(uint64_t *seed, struct gw_buf *out, uint32_t unit)
{
    char text[UNIT_BYTES + 1];
    if (random_below(seed, 2) == 0)
        (void)snprintf(text, sizeof(text), "\\u%04x", unit & 0xFFFF);
    else
        (void)snprintf(text, sizeof(text), "\\u%04X", unit & 0xFFFF);
    assert_true(gw_buf_add(out, span_str(text)));
}

static void print_raw(struct gw_buf *out, uint32_t point)
{
    if (point < 0x80) {
        assert_true(gw_buf_byte(out, (char)point));
        return;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned leads[] = {0, 0xC0, 0xE0, 0xF0};
    assert_true(gw_buf_byte(out, (char)(leads[more] | point >> (6 * more))));
    for (; more > 0; more--)
        assert_true(gw_buf_byte(out, (char)(0x80 | (point >> (6 * (more - 1)) & 0x3F))));
}

static void print_letter(uint64_t *seed, struct gw_buf *out, uint32_t point)
{
    bool must_escape = point < 0x20 || point == '"' || point == '\\';
    uint32_t way = random_below(seed, 3);
    if (way == 0 && !must_escape)
        print_raw(out, point);
    else if (way == 1 && (point == '"' || point == '\\' || point == '/')) {
        assert_true(gw_buf_byte(out, '\\'));
        assert_true(gw_buf_byte(out, (char)point));
    } else if (way == 1 && point == '\n')
        assert_true(gw_buf_add(out, SPAN("\\n")));
    else if (point < 0x10000)
        print_unit(seed, out, point);
    else {
        print_unit(seed, out, 0xD800 + ((point - 0x10000) >> 10));
        print_unit(seed, out, 0xDC00 + ((point - 0x10000) & 0x3FF));
    }
}

/* Each number is another string: bijective in the base of the letters. */
static void print_string(uint64_t *seed, struct gw_buf *out, uint32_t number)
{
    assert_true(gw_buf_byte(out, '"'));
    for (; number > 0; number = (number - 1) / (uint32_t)GW_COUNT(letters))
        print_letter(seed, out, letters[(number - 1) % GW_COUNT(letters)]);
    assert_true(gw_buf_byte(out, '"'));
}

/* The children of one node, of an object in random order. */
static int children_of(uint64_t *seed, const struct model *model, int parent, int *ret)
{
    int count = 0;
    for (int i = 0; i < model->count; i++)
        if (model->nodes[i].parent == parent)
            ret[count++] = i;
    for (int i = count - 1; model->nodes[parent].kind == JSON_KIND_OBJECT && i > 0; i--) {
        int other = (int)random_below(seed, (uint32_t)i + 1), moved = ret[i];
        ret[i] = ret[other];
        ret[other] = moved;
    }
    return count;
}

/* An open container while printing. */
struct print_frame {
    int children[MODEL_NODES_MAX], count, at;
    bool is_object;
};

static bool print_start(uint64_t *seed, struct gw_buf *out, const struct model *model, int index)
{
    const struct model_node *node = &model->nodes[index];
    static const char *const words[] = {"null", "false", "true"};
    print_space(seed, out);
    if (has_room_inside(node->kind))
        return gw_buf_byte(out, node->kind == JSON_KIND_OBJECT ? '{' : '[');
    if (node->kind == JSON_KIND_STRING)
        print_string(seed, out, node->text);
    else
        assert_true(gw_buf_add(out, span_str(node->kind == JSON_KIND_NUMBER ? numbers[node->text]
                                                                            : words[node->kind])));
    print_space(seed, out);
    return false;
}

static void print_model(uint64_t *seed, const struct model *model, struct gw_buf *out)
{
    struct print_frame frames[MODEL_NODES_MAX];
    int depth = 0, next = 0;
    gw_buf_clear(out);
    for (;;) {
        if (print_start(seed, out, model, next)) {
            struct print_frame *frame = &frames[depth++];
            frame->is_object = model->nodes[next].kind == JSON_KIND_OBJECT;
            frame->count = children_of(seed, model, next, frame->children);
            frame->at = 0;
        }
        while (depth > 0 && frames[depth - 1].at == frames[depth - 1].count) {
            print_space(seed, out);
            assert_true(gw_buf_byte(out, frames[--depth].is_object ? '}' : ']'));
        }
        if (depth == 0)
            return;
        struct print_frame *frame = &frames[depth - 1];
        if (frame->at > 0)
            assert_true(gw_buf_byte(out, ','));
        print_space(seed, out);
        next = frame->children[frame->at++];
        if (!frame->is_object)
            continue;
        print_string(seed, out, model->nodes[next].name);
        print_space(seed, out);
        assert_true(gw_buf_byte(out, ':'));
    }
}

static bool has_children(const struct model *model, int index)
{
    for (int i = 0; i < model->count; i++)
        if (model->nodes[i].parent == index)
            return true;
    return false;
}

static void remove_leaf(struct model *model, int index)
{
    for (int i = index + 1; i < model->count; i++) {
        model->nodes[i - 1] = model->nodes[i];
        if (model->nodes[i - 1].parent > index)
            model->nodes[i - 1].parent--;
    }
    model->count--;
}

/* Changes one token so that the value is another. */
static void mutate(uint64_t *seed, struct model *model)
{
    int index = (int)random_below(seed, (uint32_t)model->count);
    struct model_node *node = &model->nodes[index];
    bool is_member = node->parent >= 0 && model->nodes[node->parent].kind == JSON_KIND_OBJECT;
    uint32_t way = random_below(seed, 4);
    if (way == 0 && is_member) {
        node->name = unused_name(seed, model, node->parent);
    } else if (way == 1 && has_room_inside(node->kind) && model->count < MODEL_NODES_MAX) {
        struct model_node added = {.kind = JSON_KIND_NULL, .parent = index};
        added.name = unused_name(seed, model, index);
        model->nodes[model->count++] = added;
    } else if (way == 2 && node->parent >= 0 && !has_children(model, index)) {
        remove_leaf(model, index);
    } else if (has_children(model, index)) {
        /* An array's children have names too, which do not show until now. */
        node->kind = node->kind == JSON_KIND_ARRAY ? JSON_KIND_OBJECT : JSON_KIND_ARRAY;
    } else {
        struct model_node old = *node;
        while (node->kind == old.kind && node->text == old.text)
            random_value(seed, node);
    }
}

static void collect_printed(uint64_t *seed, const struct model *model, struct gw_buf *text,
                            struct collected *all)
{
    print_model(seed, model, text);
    collect_json(gw_buf_span(text), NULL, all);
}

static void one_value_has_one_form(void **state)
{
    /* Guards: order, spacing and spelling never count, and every token does. */
    (void)state;
    uint64_t seed = 0x5EED;
    struct model model;
    struct gw_buf text, first, other;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    gw_buf_init(&first, COLLECT_BYTES_MAX);
    gw_buf_init(&other, COLLECT_BYTES_MAX);
    size_t spelled_alike = 0;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t round_seed = seed;
        struct collected once, again, changed;
        random_model(&seed, &model);
        collect_printed(&seed, &model, &first, &once);
        collect_printed(&seed, &model, &other, &again);
        spelled_alike += span_equal(gw_buf_span(&first), gw_buf_span(&other));
        if (!collect_is_same(&once, &again))
            fail_msg("seed %#llx: %.*s and %.*s differ", (unsigned long long)round_seed,
                     (int)first.len, first.ptr, (int)other.len, other.ptr);
        assert_int_equal(once.member_count, again.member_count);
        for (uint32_t i = 0; i < once.member_count; i++)
            assert_string_equal(once.members[i].pointer, again.members[i].pointer);
        mutate(&seed, &model);
        collect_printed(&seed, &model, &text, &changed);
        if (collect_is_same(&once, &changed))
            fail_msg("seed %#llx: %.*s and %.*s agree", (unsigned long long)round_seed,
                     (int)first.len, first.ptr, (int)text.len, text.ptr);
        collect_fini(&once);
        collect_fini(&again);
        collect_fini(&changed);
    }
    print_message("%d values, %zu spelled alike by chance\n", ROUNDS, spelled_alike);
    assert_true(spelled_alike < ROUNDS / 2);
    gw_buf_fini(&text);
    gw_buf_fini(&first);
    gw_buf_fini(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_value_has_one_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
