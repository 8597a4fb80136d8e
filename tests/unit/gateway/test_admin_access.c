/* Who may call the operator plane: hosts, origins, tokens, media types. */
#include "tests/lib/testlib.h"

#include "base/digest.h"
#include "gateway/admin/access.h"

static const struct conf_address loopback = {.host = {"127.0.0.1", 9}, .port = 8081};
static const struct conf_address named = {.host = {"ops.internal", 12}, .port = 8081};
static const struct conf_address any = {.host = {"0.0.0.0", 7}, .port = 8081};
static const struct conf_address socket_file = {.is_unix = true, .host = {"/run/a.sock", 11}};

struct host_case {
    const struct conf_address *admin;
    const char *host;
    bool is_ours;
};

static void test_hosts(void **state)
{
    /* Property: only loopback, the configured address, or figures where all are bound. */
    static const struct host_case cases[] = {
        {&loopback, "127.0.0.1", true},
        {&loopback, "127.0.0.1:1", true},
        {&loopback, "127.9.9.9:8081", true},
        {&loopback, "localhost:22", true},
        {&loopback, "LocalHost", true},
        {&loopback, "[::1]:8081", true},
        {&loopback, "[::1]", true},
        {&loopback, "", false},
        {&loopback, ":8081", false},
        {&loopback, "evil.example", false},
        {&loopback, "localhost.", false},
        {&loopback, "localhost.evil.example", false},
        {&loopback, "127.0.0.1.evil", false},
        {&loopback, "10.1.1.1:8081", false},
        {&loopback, "[::1", false},
        {&loopback, "[::1]x", false},
        {&loopback, "[::1]:x", false},
        {&loopback, "[]", false},
        {&loopback, "localhost:80 80", false},
        {&loopback, "localhost@evil", false},
        {&loopback, "ops.internal", false},
        {&named, "ops.internal:1", true},
        {&named, "OPS.internal", true},
        {&named, "ops.internal.evil", false},
        {&named, "localhost", true},
        {&named, "10.1.1.1", false},
        {&any, "10.1.1.1:8081", true},
        {&any, "[2001:db8::1]", true},
        {&any, "evil.example", false},
        {&socket_file, "whatever", true},
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        if (access_host_is_ours(cases[i].admin, span_str(cases[i].host)) != cases[i].is_ours)
            fail_msg("host '%s' must be %s", cases[i].host, cases[i].is_ours ? "ours" : "foreign");
}

static void test_origins(void **state)
{
    /* Property: a page is ours only if it was served from this very host and port. */
    static const struct {
        const char *origin, *host;
        bool is_ours;
    } cases[] = {
        {"http://127.0.0.1:8081", "127.0.0.1:8081", true},
        {"https://127.0.0.1:8081", "127.0.0.1:8081", true},
        {"http://LOCALHOST:1", "localhost:1", true},
        {"http://127.0.0.1:8082", "127.0.0.1:8081", false},
        {"http://127.0.0.1", "127.0.0.1:8081", false},
        {"null", "127.0.0.1:8081", false},
        {"", "127.0.0.1:8081", false},
        {"http://", "", false},
        {"ftp://127.0.0.1:8081", "127.0.0.1:8081", false},
        {"http://127.0.0.1:8081.evil", "127.0.0.1:8081", false},
        {"http://evil/127.0.0.1:8081", "127.0.0.1:8081", false},
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        if (access_origin_is_ours(span_str(cases[i].origin), span_str(cases[i].host)) !=
            cases[i].is_ours)
            fail_msg("origin '%s' at '%s'", cases[i].origin, cases[i].host);
}

static void test_tokens(void **state)
{
    /* Property: the token with exactly this digest is found, wherever it stands. */
    struct conf_token tokens[3] = {{.name = SPAN("a")}, {.name = SPAN("b")}, {.name = SPAN("c")}};
    const struct conf conf = {.tokens = tokens, .token_count = 3};
    (void)state;
    for (size_t i = 0; i < GW_COUNT(tokens); i++)
        gw_sha256_once(tokens[i].name, tokens[i].sha256);
    for (size_t i = 0; i < GW_COUNT(tokens); i++)
        assert_ptr_equal(access_token(&conf, tokens[i].name), &tokens[i]);
    assert_null(access_token(&conf, SPAN("")));
    assert_null(access_token(&conf, SPAN("A")));
    assert_null(access_token(&conf, SPAN("a\0")));
}

static void test_bearer(void **state)
{
    /* Property: only the Bearer scheme gives a token, and blanks are no part of it. */
    (void)state;
    assert_true(span_equal(access_bearer(SPAN("Bearer abc")), SPAN("abc")));
    assert_true(span_equal(access_bearer(SPAN("bearer   abc")), SPAN("abc")));
    assert_int_equal(access_bearer(SPAN("Basic abc")).len, 0);
    assert_int_equal(access_bearer(SPAN("Bearer")).len, 0);
    assert_int_equal(access_bearer(SPAN("Bearer ")).len, 0);
    assert_int_equal(access_bearer(SPAN("Bearer    ")).len, 0);
    assert_int_equal(access_bearer(SPAN("Bearerabc")).len, 0);
    assert_int_equal(access_bearer(SPAN("")).len, 0);
}

static void test_media_types(void **state)
{
    /* Property: nothing that a form can send is taken for JSON. */
    (void)state;
    assert_true(access_is_json(SPAN("application/json")));
    assert_true(access_is_json(SPAN("Application/JSON ; charset=utf-8")));
    assert_false(access_is_json(SPAN("")));
    assert_false(access_is_json(SPAN("application/json-patch+json")));
    assert_false(access_is_json(SPAN("text/plain; x=application/json")));
    assert_false(access_is_json(SPAN("application/json, text/plain")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),       cmocka_unit_test(test_origins),
        cmocka_unit_test(test_tokens),      cmocka_unit_test(test_bearer),
        cmocka_unit_test(test_media_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
