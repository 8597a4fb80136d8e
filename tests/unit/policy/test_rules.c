/* Each condition of a rule alone and together, on real answers, and the globs. */
#include "tests/lib/testlib.h"

#include <stdlib.h>

#include "policy/rules.h"

#define NODES_MAX 64

struct parsed {
    struct json_doc doc;
    struct json_node nodes[NODES_MAX];
    uint32_t order[NODES_MAX];
};

static const struct json_doc *parse(struct parsed *into, struct span text)
{
    const struct json_limits limits = {.depth_max = 8, .nodes_max = NODES_MAX};
    struct json_fault fault;
    uint32_t count = 0;
    assert_true(json_count(text, &limits, &count, &fault));
    assert_true(json_parse(text, &limits, into->nodes, into->order, count, &into->doc, &fault));
    return &into->doc;
}

static bool glob(const char *pattern, const char *text)
{
    return glob_fits(span_str(pattern), span_str(text), false);
}

/* The meaning of a glob, spelled out without any cleverness: reach[j] says that the
 * pattern so far can end before byte j. */
static bool glob_slowly(struct span pattern, struct span text)
{
    bool reach[16] = {true};
    for (size_t i = 0; i < pattern.len; i++) {
        bool next[16] = {false};
        for (size_t j = 0; j <= text.len; j++) {
            if (pattern.ptr[i] == '*')
                next[j] = reach[j] || (j > 0 && next[j - 1]);
            else if (j > 0)
                next[j] =
                    reach[j - 1] && (pattern.ptr[i] == '?' || pattern.ptr[i] == text.ptr[j - 1]);
        }
        memcpy(reach, next, sizeof(reach));
    }
    return reach[text.len];
}

/* Guards: the quick way and the plain meaning agree on every short pattern and text. */
static void test_glob_is_what_it_means(void **state)
{
    (void)state;
    static const char letters[] = "ab*?";
    char pattern[5], text[6];
    for (unsigned p = 0; p < 4 * 4 * 4 * 4 * 4; p++) {
        const size_t pattern_len = 5;
        for (size_t i = 0; i < pattern_len; i++)
            pattern[i] = letters[p >> (2 * i) & 3];
        for (unsigned t = 0; t < 64 * 7; t++) {
            const size_t text_len = t / 64;
            for (size_t i = 0; i < text_len; i++)
                text[i] = (t >> i & 1) != 0 ? 'b' : 'a';
            for (size_t len = 0; len <= pattern_len; len++)
                assert_int_equal(glob_fits(span_of(pattern, len), span_of(text, text_len), false),
                                 glob_slowly(span_of(pattern, len), span_of(text, text_len)));
        }
    }
}

/* Guards: the whole value is compared, and every byte but * and ? is itself. */
static void test_glob_cases(void **state)
{
    (void)state;
    assert_true(glob("*/login*", "/a/b/login?next=1"));
    assert_false(glob("*/login", "/login?next=1"));
    assert_true(glob("", ""));
    assert_false(glob("", "a"));
    assert_true(glob("*", ""));
    assert_false(glob("?", ""));
    assert_true(glob("a[b]\\", "a[b]\\"));
    assert_false(glob("A", "a"));
    assert_true(glob_fits(SPAN("Te?t/*"), SPAN("tEXT/html"), true));
    assert_true(glob_fits(SPAN("a?c"), SPAN("a\0c"), false));
    assert_false(glob_fits(SPAN("a"), SPAN("a\0"), false));
}

/* Guards: patterns made to go back often end soon (the test's time limit is the judge). */
static void test_glob_worst_patterns(void **state)
{
    (void)state;
    const size_t len = 65536;
    char *text = malloc(len), *pattern = malloc(256);
    assert_non_null(text);
    assert_non_null(pattern);
    memset(text, 'a', len);
    for (size_t i = 0; i < 256; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[255] = 'b';
    assert_false(glob_fits(span_of(pattern, 256), span_of(text, len), false));
    memset(pattern, 'a', 256);
    pattern[0] = '*';
    pattern[255] = 'b';
    assert_false(glob_fits(span_of(pattern, 256), span_of(text, len), false));
    text[len - 1] = 'b';
    assert_true(glob_fits(span_of(pattern, 256), span_of(text, len), false));
    free(pattern);
    free(text);
}

/* Guards: a rule without conditions fits every answer; the status alone can refuse. */
static void test_status(void **state)
{
    (void)state;
    struct answer_rule rule = {.line = 1};
    struct answer_view answer = {.status = 302};
    assert_true(rule_fits(&rule, &answer));
    rule.has_status = true;
    assert_false(rule_fits(&rule, &answer));
    status_set_add(&rule.status, 302);
    assert_true(rule_fits(&rule, &answer));
    answer.status = 301;
    assert_false(rule_fits(&rule, &answer));
    answer.status = 0;
    assert_false(rule_fits(&rule, &answer));
    answer.status = 999;
    assert_false(rule_fits(&rule, &answer));
}

/* Guards: names ignore case, values do not; any line of the name may fit; all headers must. */
static void test_headers(void **state)
{
    (void)state;
    const struct rule_header wanted[] = {{SPAN("Location"), SPAN("*/login*")},
                                         {SPAN("X-State"), SPAN("done")}};
    struct answer_rule rule = {.headers = wanted, .header_count = 1};
    const struct http_field fields[] = {{SPAN("lOCATION"), SPAN("/home")},
                                        {SPAN("location"), SPAN("/login?x")},
                                        {SPAN("x-state"), SPAN("Done")},
                                        {SPAN("Location-Hint"), SPAN("/login")}};
    struct answer_view answer = {.fields = fields, .field_count = 4};
    assert_true(rule_fits(&rule, &answer));
    answer.field_count = 1;
    assert_false(rule_fits(&rule, &answer));
    answer.field_count = 0;
    assert_false(rule_fits(&rule, &answer));
    answer.field_count = 4;
    rule.header_count = 2;
    assert_false(rule_fits(&rule, &answer));
}

static bool media_fits(const char *pattern, const char *value)
{
    const struct answer_rule rule = {.media_type = span_str(pattern)};
    const struct http_field field = {SPAN("content-type"), span_str(value)};
    const struct answer_view answer = {.fields = &field, .field_count = 1};
    return rule_fits(&rule, &answer);
}

/* Guards: type and subtype count, in any case; parameters do not; no type fits nothing. */
static void test_media_type(void **state)
{
    (void)state;
    assert_true(media_fits("text/html", "text/html"));
    assert_true(media_fits("text/html", "Text/HTML; charset=utf-8"));
    assert_true(media_fits("TEXT/html", "text/html \t;charset=utf-8"));
    assert_true(media_fits("text/html", "text/html;"));
    assert_true(media_fits("application/*json", "application/problem+json;x=\"text/html\""));
    assert_false(media_fits("text/html", "text/html2"));
    assert_false(media_fits("text/html", "application/json; x=text/html"));
    assert_false(media_fits("text/html", ""));
    assert_false(media_fits("text/html", " "));
    const struct answer_rule rule = {.media_type = SPAN("*")};
    const struct http_field other = {SPAN("Accept"), SPAN("text/html")};
    const struct answer_view answer = {.fields = &other, .field_count = 1};
    assert_false(rule_fits(&rule, &answer));
}

static bool json_fits(const char *body, const char *name, enum rule_test test,
                      const struct rule_json *rest)
{
    struct parsed parsed;
    const struct span step = span_str(name);
    struct rule_json condition = rest == NULL ? (struct rule_json){.test = test} : *rest;
    condition.test = test;
    condition.pointer = (struct json_pointer){.steps = &step, .step_count = 1};
    const struct answer_rule rule = {.json = &condition, .json_count = 1};
    const struct answer_view answer = {
        .body = span_str(body), .body_is_whole = true, .json = parse(&parsed, span_str(body))};
    return rule_fits(&rule, &answer);
}

static bool json_equals(const char *body, const char *text, bool string_only)
{
    const struct rule_json condition = {.text = span_str(text), .string_only = string_only};
    return json_fits(body, "v", RULE_EQUALS, &condition);
}

/* Guards: numbers and literals are compared as written, strings by what they say. */
static void test_json_equals(void **state)
{
    (void)state;
    assert_true(json_equals("{\"v\": false}", "false", false));
    assert_false(json_equals("{\"v\": true}", "false", false));
    assert_true(json_equals("{\"v\":null}", "null", false));
    assert_true(json_equals("{\"v\":-1.0e3}", "-1.0e3", false));
    assert_false(json_equals("{\"v\":1.0}", "1", false));
    assert_true(json_equals("{\"v\":\"failed\"}", "failed", false));
    assert_true(json_equals("{\"v\":\"f\\u0061iled\"}", "failed", true));
    assert_false(json_equals("{\"v\":\"failed \"}", "failed", true));
    assert_true(json_equals("{\"v\":\"false\"}", "false", true));
    assert_false(json_equals("{\"v\":false}", "false", true));
    assert_false(json_equals("{\"v\":1}", "1", true));
    assert_true(json_equals("{\"v\":\"\"}", "", true));
    assert_false(json_equals("{\"v\":[]}", "[]", false));
    assert_false(json_equals("{\"v\":{}}", "{}", false));
    assert_false(json_equals("{\"w\":false}", "false", false));
}

/* Guards: present, absent and empty are three things; null is present and not empty. */
static void test_json_presence(void **state)
{
    (void)state;
    assert_true(json_fits("{\"v\":null}", "v", RULE_EXISTS, NULL));
    assert_false(json_fits("{\"w\":1}", "v", RULE_EXISTS, NULL));
    assert_false(json_fits("{\"v\":null}", "v", RULE_ABSENT, NULL));
    assert_true(json_fits("{\"w\":1}", "v", RULE_ABSENT, NULL));
    static const char *const empty[] = {"{\"v\":[]}", "{\"v\":{}}", "{\"v\":\"\"}", "{\"v\":[ ]}"};
    for (size_t i = 0; i < GW_COUNT(empty); i++)
        assert_true(json_fits(empty[i], "v", RULE_EMPTY, NULL));
    static const char *const full[] = {"{\"v\":[0]}",  "{\"v\":{\"a\":1}}", "{\"v\":\" \"}",
                                       "{\"v\":null}", "{\"v\":0}",         "{\"v\":false}",
                                       "{\"w\":[]}"};
    for (size_t i = 0; i < GW_COUNT(full); i++)
        assert_false(json_fits(full[i], "v", RULE_EMPTY, NULL));
}

/* Guards: every condition of a rule must hold, and a body that is not JSON or not
 * whole fits none that looks inside, "absent" included. */
static void test_all_conditions_of_a_body(void **state)
{
    (void)state;
    struct parsed parsed;
    const struct span body = SPAN("{\"ok\":false,\"code\":7}");
    const struct span ok = SPAN("ok"), code = SPAN("code");
    struct rule_json conditions[] = {
        {.pointer = {.steps = &ok, .step_count = 1}, .text = SPAN("false")},
        {.pointer = {.steps = &code, .step_count = 1}, .text = SPAN("7")}};
    const struct answer_rule rule = {.json = conditions, .json_count = 2};
    struct answer_view answer = {.body = body, .body_is_whole = true, .json = parse(&parsed, body)};
    assert_true(rule_fits(&rule, &answer));
    conditions[1].text = SPAN("8");
    assert_false(rule_fits(&rule, &answer));
    conditions[1].text = SPAN("7");
    answer.body_is_whole = false;
    assert_false(rule_fits(&rule, &answer));
    answer.body_is_whole = true;
    answer.json = NULL;
    assert_false(rule_fits(&rule, &answer));
    conditions[0].test = RULE_ABSENT;
    conditions[1].test = RULE_ABSENT;
    assert_false(rule_fits(&rule, &answer));
}

/* Guards: text is found wherever it stands, byte by byte, and never in half a body. */
static void test_text(void **state)
{
    (void)state;
    struct answer_rule rule = {.text = SPAN("denied")};
    struct answer_view answer = {.body_is_whole = true};
    static const char *const with[] = {"denied", "access denied", "denied!", "dedenied",
                                       "xdenied."};
    static const char *const without[] = {"",      "denie",   "Denied", "d e n i e d",
                                          "enied", "denie\nd"};
    for (size_t i = 0; i < GW_COUNT(with); i++) {
        answer.body = span_str(with[i]);
        assert_true(rule_fits(&rule, &answer));
    }
    for (size_t i = 0; i < GW_COUNT(without); i++) {
        answer.body = span_str(without[i]);
        assert_false(rule_fits(&rule, &answer));
    }
    answer.body = SPAN("denied");
    answer.body_is_whole = false;
    assert_false(rule_fits(&rule, &answer));
    rule.text = SPAN("");
    assert_true(rule_fits(&rule, &answer)); /* no condition on the body: it need not be whole */
}

/* Guards: a body is parsed only for a list in which some rule looks into it as JSON. */
static void test_rules_want_json(void **state)
{
    (void)state;
    const struct rule_json condition = {.test = RULE_EXISTS};
    const struct answer_rule rules[] = {{.line = 1}, {.json = &condition, .json_count = 1}};
    assert_false(rules_want_json(NULL, 0));
    assert_false(rules_want_json(rules, 1));
    assert_true(rules_want_json(rules, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glob_is_what_it_means),
        cmocka_unit_test(test_glob_cases),
        cmocka_unit_test(test_glob_worst_patterns),
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_media_type),
        cmocka_unit_test(test_json_equals),
        cmocka_unit_test(test_json_presence),
        cmocka_unit_test(test_all_conditions_of_a_body),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_rules_want_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
