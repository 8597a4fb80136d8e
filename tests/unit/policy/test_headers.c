/* Guards what happens to each named header field, and that Connection cannot be
 * used to take a field away that the gateway or the upstream relies on. */
#include "policy/headers.h"
#include "tests/lib/testlib.h"

struct flag_case {
    const char *name;
    uint32_t flags;
};

/* Guards the table, name by name. */
static void test_flags(void **state)
{
    (void)state;
    static const uint32_t hop = HEADER_HOP | HEADER_NO_STORE;
    const struct flag_case cases[] = {
        {"Connection", hop},
        {"Keep-Alive", hop},
        {"Proxy-Connection", hop},
        {"TE", hop},
        {"Trailer", hop},
        {"Transfer-Encoding", hop | HEADER_FRAMING},
        {"Upgrade", hop},
        {"HTTP2-Settings", hop},
        {"Proxy-Authorization", hop | HEADER_SECRET},
        {"Expect", hop},
        {"Content-Length", HEADER_FRAMING},
        {"Via", HEADER_NO_STORE},
        {"Age", HEADER_NO_STORE},
        {"Alt-Svc", HEADER_NO_STORE},
        {"Server-Timing", HEADER_NO_STORE},
        {"RateLimit", HEADER_NO_STORE},
        {"RateLimit-Policy", HEADER_NO_STORE},
        {"ratelimit-remaining", HEADER_NO_STORE},
        {"Retry-After", HEADER_NO_STORE},
        {"traceresponse", HEADER_NO_STORE},
        {"WWW-Authenticate", HEADER_NO_STORE},
        {"Authentication-Info", HEADER_NO_STORE},
        {"Proxy-Authenticate", HEADER_NO_STORE},
        {"Proxy-Authentication-Info", HEADER_NO_STORE},
        {"Clear-Site-Data", HEADER_NO_STORE},
        {"Set-Cookie", HEADER_COOKIE},
        {"Expires", HEADER_FRESH},
        {"Cache-Control", HEADER_FRESH},
        {"Date", HEADER_FRESH},
        {"Idempotent-Replayed", HEADER_OWNED},
        {"Idempotency-Status", HEADER_OWNED},
        {"Idempotency-Operation", HEADER_OWNED},
        {"Idempotency-Expires", HEADER_OWNED},
        {"Original-Request", HEADER_OWNED},
        {"X-HTTP-Method-Override", HEADER_OVERRIDE},
        {"X-HTTP-Method", HEADER_OVERRIDE},
        {"X-Method-Override", HEADER_OVERRIDE},
        {"_method", HEADER_OVERRIDE},
        {"X-Forwarded-For", HEADER_FORWARDED},
        {"X-Forwarded-Proto", HEADER_FORWARDED},
        {"X-Forwarded-Host", HEADER_FORWARDED},
        {"X-Forwarded-Port", HEADER_FORWARDED},
        {"X-Forwarded-Prefix", HEADER_FORWARDED},
        {"X-Real-IP", HEADER_FORWARDED},
        {"Forwarded", HEADER_FORWARDED},
        {"Authorization", HEADER_SECRET},
        {"Cookie", HEADER_SECRET},
        {"X-Api-Key", HEADER_SECRET},
        /* a CGI program cannot tell these from the real ones */
        {"X_Forwarded_For", HEADER_FORWARDED},
        {"X_HTTP_METHOD_OVERRIDE", HEADER_OVERRIDE},
        {"transfer_encoding", hop | HEADER_FRAMING},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        if (header_flags(span_str(cases[i].name)) != cases[i].flags)
            fail_msg("%s has flags %x", cases[i].name, header_flags(span_str(cases[i].name)));
}

/* Guards that everything else passes: also names that only begin or end alike. */
static void test_others_pass(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "Content-Type",
        "Content-Encoding",
        "Content-Language",
        "Location",
        "ETag",
        "Link",
        "Vary",
        "Accept",
        "Prefer",
        "Host",
        "Idempotency-Key",
        "traceparent",
        "tracestate",
        "Signature",
        "X-Ageing",
        "Connections",
        "Rate",
        "X-RateLimit-Reset",
        "Agee",
        "T",
        "Content-Location",
        "Digest",
        "Request-Id",
        "Range",
        "Warning",
        "X-Forwarded-ForX",
        "Last-Modified",
        "If-Match",
        "Content-Digest",
    };
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (header_flags(span_str(names[i])) != 0)
            fail_msg("%s has flags %x", names[i], header_flags(span_str(names[i])));
}

/* Guards that what sounds like a credential is taken for one, however it is spelled. */
static void test_secrets(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Authorization",
        "X-Authorization",
        "X-Original-Authorization",
        "X-Forwarded-Authorization",
        "Auth",
        "X-Auth",
        "auth",
        "X_AUTH",
        "X-Auth-User",
        "X-OAuth2",
        "X-Authentication",
        "X-Functions-Key",
        "X-Jwt-Assertion",
        "Cf-Access-Jwt-Assertion",
        "X-Ms-Client-Principal",
        "X-MS-CLIENT-PRINCIPAL-ID",
        "X-Forwarded-Client-Cert",
        "Client-Cert",
        "Client-Cert-Chain",
        "X-ARR-ClientCert",
        "X-SSL-Client-Certificate",
        "X-Token",
        "X-Plex-Token",
        "PRIVATE-TOKEN",
        "AccessToken",
        "X-AccessTokens",
        "X-Token-Id",
        "TokenId",
        "X.Auth.Token",
        "X-CSRFToken",
        "X-XSRF-TOKEN",
        "X-Client-Secret",
        "ClientSecret",
        "X-Password",
        "X-Db-Passwd",
        "X-Pwd",
        "X-Credential",
        "X-Amz-Credentials",
        "X-Api-Key",
        "XApiKey",
        "x_apikey",
        "X-API-Keys",
        "X-Access-Key",
        "X-Access-Key-Id",
        "Ocp-Apim-Subscription-Key",
        "X-Session",
        "X-Session-Id",
        "JSESSIONID",
        "Cookie",
        "Cookie2",
        "X-Cookies",
        "Signature",
        "X-Hub-Signature-256",
        "Signature-Input",
        "DPoP",
        "X-Shopify-Hmac-Sha256",
        "X-OTP",
        "X-SAML-Response",
        "X-Amz-Server-Side-Encryption-Customer-Key",
    };
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (!header_is_secret(span_str(names[i])))
            fail_msg("%s is kept", names[i]);
}

/* Guards that evidence keeps what only looks a little like a credential. */
static void test_no_secrets(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        "-",
        "Content-Type",
        "Content-Length",
        "X-Request-Id",
        "Idempotency-Key",
        "X-Idempotency-Key",
        "Author",
        "X-Authority",
        "X-Authored-By",
        "X-Tokyo",
        "X-Tokenizer",
        "X-Secretary",
        "Secretariat",
        "X-Passenger",
        "X-Passage",
        "X-Cache-Key",
        "Surrogate-Key",
        "X-Partition-Key",
        "Key",
        "X-Keyboard",
        "X-Monkey",
        "X-Api-Version",
        "X-Client-Version",
        "X-Access-Level",
        "X-Certainty",
        "X-Design",
        "X-Signal",
        "X-Pinned",
        "User-Agent",
        "Accept",
        "Accept-Language",
        "Traceparent",
        "Origin",
        "Referer",
        "X-Account-Id",
        "X-Tenant",
        "Digest",
        "X-Function",
        "X-Assert",
        "X-Principle",
        "X-Cook",
        "X-Sessile",
        "X-User-Id",
    };
    for (size_t i = 0; i < GW_COUNT(names); i++)
        if (header_is_secret(span_str(names[i])))
            fail_msg("%s is left out", names[i]);
    char many[200];
    for (size_t i = 0; i < sizeof(many); i++)
        many[i] = i % 2 == 0 ? 'a' : '-';
    assert_true(header_is_secret(span_of(many, sizeof(many))));
}

/* Guards the two ways in which names may be alike. */
static void test_look_alikes(void **state)
{
    (void)state;
    assert_true(header_same_cgi_name(SPAN("Idempotency_Key"), SPAN("idempotency-key")));
    assert_true(header_same_cgi_name(SPAN("Idempotency-Key"), SPAN("IDEMPOTENCY-KEY")));
    assert_false(header_same_cgi_name(SPAN("IdempotencyKey"), SPAN("Idempotency-Key")));
    assert_false(header_same_cgi_name(SPAN("Idempotency-Ke"), SPAN("Idempotency-Key")));
    assert_true(header_is_look_alike(SPAN("IDEMPOTENCY_key"), SPAN("Idempotency-Key")));
    assert_true(header_is_look_alike(SPAN("X_A-B"), SPAN("x-a_b")));
    assert_false(header_is_look_alike(SPAN("idempotency-key"), SPAN("Idempotency-Key")));
    assert_false(header_is_look_alike(SPAN("Idempotency.Key"), SPAN("Idempotency-Key")));
}

/* Guards that every Connection line is read, and whole members only. */
static void test_named_by_connection(void **state)
{
    (void)state;
    const struct http_field fields[] = {
        {SPAN("Connection"), SPAN("close")},
        {SPAN("X-Hop"), SPAN("other")},
        {SPAN("connection"), SPAN(", ,\tX-Hop ,,x-two")},
        {SPAN("CONNECTION"), SPAN("")},
    };
    assert_true(header_named_by_connection(fields, 4, SPAN("x-hop")));
    assert_true(header_named_by_connection(fields, 4, SPAN("X-Two")));
    assert_true(header_named_by_connection(fields, 4, SPAN("Close")));
    assert_false(header_named_by_connection(fields, 2, SPAN("X-Hop")));
    assert_false(header_named_by_connection(fields, 4, SPAN("other")));
    assert_false(header_named_by_connection(fields, 4, SPAN("hop")));
    assert_false(header_named_by_connection(fields, 4, SPAN("")));
    assert_false(header_named_by_connection(NULL, 0, SPAN("X-Hop")));
}

static bool is_abused(const char *value, const char *key_name)
{
    const struct http_field fields[] = {
        {SPAN("Host"), SPAN("a")},
        {SPAN("Connection"), SPAN("keep-alive")},
        {SPAN("Connection"), span_str(value)},
    };
    return header_connection_is_abused(fields, 3, span_str(key_name));
}

/* Guards the fields that nobody may have stripped on the way. */
static void test_abused_connection(void **state)
{
    (void)state;
    static const char *const abuses[] = {
        "close, Idempotency-Key", "host",    "Content-Length",  "content-type",
        "Authorization",          "cookie",  "X-Forwarded-For", "Idempotency_Key",
        "x, X-Api-Key",           "X-My-Id", "Forwarded",       "Client-Cert",
        "Content-Encoding",
    };
    static const char *const uses[] = {
        "",
        "close",
        "keep-alive, Upgrade, HTTP2-Settings",
        "TE",
        "X-",
        "X-Tracing-Id",
        "Proxy-Authorization",
        "Hosts",
        "\"Idempotency-Key",
    };
    for (size_t i = 0; i < GW_COUNT(abuses); i++)
        if (!is_abused(abuses[i], "X-My-Id"))
            fail_msg("not seen: %s", abuses[i]);
    for (size_t i = 0; i < GW_COUNT(uses); i++)
        if (is_abused(uses[i], "X-My-Id"))
            fail_msg("refused: %s", uses[i]);
    assert_false(is_abused("X-My-Id", ""));
    assert_false(header_connection_is_abused(NULL, 0, SPAN("X-My-Id")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags),
        cmocka_unit_test(test_others_pass),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_no_secrets),
        cmocka_unit_test(test_look_alikes),
        cmocka_unit_test(test_named_by_connection),
        cmocka_unit_test(test_abused_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
