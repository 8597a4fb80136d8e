/* Guards, over thousands of spellings made at random, that a target whose tidied
 * form is a guarded path never passes and is never merely absent, and that a target
 * which no tidying brings there is passed on. */
#include <stdlib.h>

#include "policy/route.h"
#include "tests/lib/testlib.h"

#define PATH_MAX_BYTES 512
#define ROUNDS         40000

/* ---- the tidied form, by a second and slower way ---- */

struct text {
    char bytes[PATH_MAX_BYTES];
    size_t len;
};

static void put(struct text *text, const char *bytes, size_t len)
{
    assert_true(text->len + len <= PATH_MAX_BYTES);
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
}

static void put_word(struct text *text, const char *word)
{
    put(text, word, strlen(word));
}

static struct text decoded(const struct text *from)
{
    struct text to = {.len = 0};
    for (size_t i = 0; i < from->len; i++) {
        unsigned int byte;
        char digits[3] = {0};
        if (from->bytes[i] == '%' && i + 2 < from->len) {
            memcpy(digits, from->bytes + i + 1, 2);
            char *end;
            byte = (unsigned int)strtoul(digits, &end, 16);
            bool is_escape = *end == '\0' && digits[0] != '-' && digits[0] != '+' &&
                             digits[0] != ' ' && digits[1] != '\0';
            if (is_escape) {
                char c = (char)(unsigned char)byte;
                put(&to, &c, 1);
                i += 2;
                continue;
            }
        }
        put(&to, &from->bytes[i], 1);
    }
    return to;
}

/* Backslashes, parameters, slashes, dots, trailing slash; segment by segment. */
static struct text tidied(const struct text *from)
{
    struct text to = {.len = 0};
    size_t stack[PATH_MAX_BYTES], depth = 0, i = 0;
    while (i < from->len) {
        size_t end = i, stop = SIZE_MAX;
        for (; end < from->len && from->bytes[end] != '/' && from->bytes[end] != '\\'; end++)
            if (from->bytes[end] == ';' && stop == SIZE_MAX)
                stop = end;
        size_t len = (stop == SIZE_MAX ? end : stop) - i;
        if (len == 2 && memcmp(from->bytes + i, "..", 2) == 0) {
            if (depth > 0)
                to.len = stack[--depth];
        } else if (len > 0 && !(len == 1 && from->bytes[i] == '.')) {
            stack[depth++] = to.len;
            put(&to, "/", 1);
            put(&to, from->bytes + i, len);
        }
        i = end + 1;
    }
    if (to.len == 0)
        put(&to, "/", 1);
    return to;
}

/* ---- spellings at random, the same in every run ---- */

static uint32_t pick(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % below;
}

static void put_escaped(struct text *text, uint64_t *seed, char c, bool again)
{
    static const char small[] = "0123456789abcdef", large[] = "0123456789ABCDEF";
    const char *digits = pick(seed, 2) == 0 ? small : large;
    unsigned char byte = (unsigned char)c;
    char escape[3] = {'%', digits[byte >> 4], digits[byte & 15]};
    if (again)
        put_word(text, "%25");
    put(text, again ? escape + 1 : escape, again ? 2 : 3);
}

static void put_byte(struct text *text, uint64_t *seed, char c, bool may_twice)
{
    uint32_t way = pick(seed, 24);
    if (way < 2)
        put_escaped(text, seed, c, false);
    else if (way == 2 && may_twice)
        put_escaped(text, seed, c, true);
    else
        put(text, &c, 1);
}

static void put_text(struct text *text, uint64_t *seed, const char *word, bool may_twice)
{
    for (; *word != '\0'; word++)
        put_byte(text, seed, *word, may_twice);
}

/* A slash as somebody may write it, with what is tidied away around it. */
static void put_slash(struct text *text, uint64_t *seed, bool may_twice)
{
    static const char *const detours[] = {"/",    "/./", "/x/../",      "/y;b/..;a/", "//",
                                          "/.;/", "\\",  "/z/w/../../", "/%/../"};
    if (text->len > 0 && pick(seed, 6) == 0) {
        put_text(text, seed, ";p=", may_twice);
        put_text(text, seed, pick(seed, 2) == 0 ? "" : "q.r", may_twice);
    }
    const char *detour = pick(seed, 2) == 0 ? "/" : detours[pick(seed, GW_COUNT(detours))];
    put_text(text, seed, detour, may_twice);
}

static struct text spell(uint64_t *seed, const char *const *segments, bool may_twice)
{
    struct text text = {.len = 0};
    put(&text, "/", 1); /* without it, it is not the target of a request */
    for (size_t i = 0; segments[i] != NULL; i++) {
        if (i > 0 || pick(seed, 3) == 0)
            put_slash(&text, seed, may_twice);
        put_text(&text, seed, segments[i], may_twice);
    }
    if (pick(seed, 4) == 0)
        put_slash(&text, seed, may_twice);
    if (pick(seed, 8) == 0)
        put_text(&text, seed, ";", may_twice);
    return text;
}

/* ---- the table and the property ---- */

static struct route_segment segment_room[4][8];
static struct route_policy routes[4];

static void build_route(uint32_t index, enum route_mode mode, const char *path)
{
    const char *fault = NULL;
    routes[index] = (struct route_policy){.mode = mode, .methods = METHOD_POST};
    assert_true(route_pattern_parse(span_str(path), segment_room[index], 8,
                                    &routes[index].segment_count, &fault));
    routes[index].segments = segment_room[index];
    routes[index].trailing_slash_same = true;
}

static enum route_verdict find(const struct text *path, struct route_match *match)
{
    const struct route_table table = {.routes = routes, .count = GW_COUNT(routes)};
    size_t work_len = 2 * path->len + 2;
    char *work = malloc(work_len);
    assert_non_null(work);
    enum route_verdict verdict =
        route_find(&table, SPAN("POST"), span_of(path->bytes, path->len), work, work_len, match);
    free(work);
    return verdict;
}

/* The tidied form of the targets that must be guarded: /orders, /orders/{id}, /tree/... */
static bool is_guarded(const struct text *path)
{
    static const char orders[] = "/orders", tree[] = "/tree";
    const size_t orders_len = sizeof(orders) - 1, tree_len = sizeof(tree) - 1;
    if (path->len >= tree_len && memcmp(path->bytes, tree, tree_len) == 0 &&
        (path->len == tree_len || path->bytes[tree_len] == '/'))
        return true;
    if (path->len < orders_len || memcmp(path->bytes, orders, orders_len) != 0)
        return false;
    if (path->len == orders_len)
        return true;
    return path->bytes[orders_len] == '/' &&
           memchr(path->bytes + orders_len + 1, '/', path->len - orders_len - 1) == NULL;
}

static int build_table(void **state)
{
    (void)state;
    build_route(0, ROUTE_ENFORCE, "/orders");
    build_route(1, ROUTE_ENFORCE, "/orders/{id}");
    build_route(2, ROUTE_ENFORCE, "/tree/*");
    build_route(3, ROUTE_PASS, "/*");
    return 0;
}

static const char *const targets[][4] = {
    {"orders", NULL},         {"orders", "17", NULL}, {"tree", NULL},
    {"tree", "a", NULL},      {"other", NULL},        {"orders", "a", "b", NULL},
    {"tree", "a", "b", NULL}, {"x", "orders", NULL},  {"order", "s", NULL},
    {"..", "orders", NULL},   {"tree", "..", NULL},   {"a", "..", "orders", NULL},
    {"ordersx", NULL},        {"Orders", NULL},       {"x", "tree", "orders", NULL},
    {"", "orders", NULL},
};

/* Guards the promise: what any tidying, of the text decoded not at all, once or
 * twice, brings to a guarded path, is that route or refused. */
static void test_never_missed(void **state)
{
    (void)state;
    uint64_t seed = 20240611;
    uint32_t guarded = 0, found = 0, passed = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        bool may_twice = round % 2 == 1;
        const char *const *target = targets[pick(&seed, GW_COUNT(targets))];
        struct text path = spell(&seed, target, may_twice);
        struct text once = decoded(&path), twice = decoded(&once);
        struct text forms[3] = {tidied(&path), tidied(&once), tidied(&twice)};
        bool must = is_guarded(&forms[0]) || is_guarded(&forms[1]) || is_guarded(&forms[2]);
        struct route_match match;
        enum route_verdict verdict = find(&path, &match);
        bool is_pass = verdict == ROUTE_FOUND && match.route->mode == ROUTE_PASS;
        guarded += must ? 1 : 0;
        passed += is_pass ? 1 : 0;
        found += verdict == ROUTE_FOUND && !is_pass ? 1 : 0;
        if (must && (is_pass || verdict == ROUTE_NONE || verdict == ROUTE_WRONG_METHOD))
            fail_msg("round %u goes round the guard: %.*s", round, (int)path.len, path.bytes);
    }
    print_message("%u spellings of guarded paths, %u found, %u others passed\n", guarded, found,
                  passed);
    /* the test would say nothing if one of the kinds did not come about */
    assert_true(guarded > ROUNDS / 4);
    assert_true(found > ROUNDS / 100);
    assert_true(passed > ROUNDS / 50);
}

/* Guards ordinary pages: oddities that lead to no guarded path are passed on. */
static void test_never_in_the_way(void **state)
{
    (void)state;
    static const char *const pages[][4] = {{"page", NULL},
                                           {"img", "a b", NULL},
                                           {"x", "y", "z", NULL},
                                           {"order", NULL},
                                           {"trees", NULL}};
    uint64_t seed = 77;
    for (uint32_t round = 0; round < ROUNDS / 4; round++) {
        struct text path = spell(&seed, pages[pick(&seed, GW_COUNT(pages))], true);
        struct route_match match;
        if (find(&path, &match) != ROUTE_FOUND || match.route->mode != ROUTE_PASS)
            fail_msg("round %u is not passed: %.*s", round, (int)path.len, path.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_never_missed),
        cmocka_unit_test(test_never_in_the_way),
    };
    return cmocka_run_group_tests(tests, build_table, NULL);
}
