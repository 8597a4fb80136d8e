/* Guards who a request is taken for under each scheme: nobody becomes somebody else
 * by a second line, a near spelling, a forged header or a neighbouring address. */
#include <arpa/inet.h>
#include <crypt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/text.h"
#include "gateway/owners/owners.h"
#include "tests/lib/testlib.h"

#define ARENA_BYTES 65536

/* ---- a request as it comes off the wire ---- */

static struct http_head *parse_head(const char *fields)
{
    const struct http1_limits limits = {
        .target_bytes_max = 8192, .head_bytes_max = 65536, .fields_max = 100};
    struct http1_parser parser;
    struct gw_buf text;
    struct span body;
    gw_buf_init(&text, 65536);
    assert_true(gw_buf_print(&text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", fields));
    http1_parser_init(&parser, HTTP1_REQUESTS, &limits);
    struct span bytes = gw_buf_span(&text);
    if (http1_feed(&parser, &bytes, &body) != HTTP1_HEAD)
        fail_msg("no head: %s", fields);
    struct http_head *head = http1_take_head(&parser);
    http1_parser_fini(&parser);
    gw_buf_fini(&text);
    return head;
}

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage storage;
    memset(&storage, 0, sizeof(storage));
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (strchr(text, '/') != NULL) {
        storage.ss_family = AF_UNIX;
    } else if (strchr(text, ':') == NULL) {
        assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
        memcpy(&storage, &in, sizeof(in));
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
        memcpy(&storage, &in6, sizeof(in6));
    }
    return storage;
}

/* "ok:OWNER" or the verdict in one word. */
static const char *identify(const struct conf_owner *entry, const char *fields, const char *peer,
                            char *room, size_t room_len)
{
    static const char *const words[] = {"ok", "none", "bad", "forbidden", "malformed", "no memory"};
    struct arena *arena = arena_new(ARENA_BYTES);
    struct http_head *head = parse_head(fields);
    struct sockaddr_storage storage = address_of(peer);
    const struct owner_request request = {.head = head, .peer = (const struct sockaddr *)&storage};
    struct span owner = SPAN("untouched");
    enum owner_verdict verdict = owner_identify(entry, &request, arena, &owner);
    http_head_free(head); /* the owner must not hang on it */
    assert_true((size_t)verdict < GW_COUNT(words));
    if (verdict == OWNER_OK)
        (void)snprintf(room, room_len, "ok:%.*s", (int)owner.len, owner.ptr); /* short ids */
    else
        assert_true(span_equal(owner, SPAN("untouched")));
    arena_free(arena);
    return verdict == OWNER_OK ? room : words[verdict];
}

static void expect_from(const struct conf_owner *entry, const char *peer, const char *fields,
                        const char *word)
{
    char room[256];
    const char *got = identify(entry, fields, peer, room, sizeof(room));
    if (strcmp(got, word) != 0)
        fail_msg("%s from %s: %s, expected %s", fields, peer, got, word);
}

static void expect(const struct conf_owner *entry, const char *fields, const char *word)
{
    expect_from(entry, "192.0.2.1", fields, word);
}

static void expect_challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                             const char *text)
{
    struct arena *arena = arena_new(ARENA_BYTES);
    struct span value = owner_challenge(entry, verdict, arena);
    if (!span_equal(value, span_str(text)))
        fail_msg("challenge: %.*s, expected %s", (int)value.len, value.ptr, text);
    arena_free(arena);
}

/* ---- api_key ---- */

static struct conf_owner_key key_of(const char *owner, const char *secret)
{
    struct conf_owner_key key = {.owner = span_str(owner)};
    gw_sha256_once(span_str(secret), key.sha256);
    return key;
}

/* Guards a secret in a header of its own: several keys of one owner, one line only. */
static void test_api_key(void **state)
{
    (void)state;
    const struct conf_owner_key keys[] = {key_of("acme", "first"), key_of("acme", "second"),
                                          key_of("zeta", "third one")};
    const struct conf_owner entry = {
        .kind = OWNER_API_KEY, .header = SPAN("X-Api-Key"), .keys = keys, .key_count = 3};
    expect(&entry, "X-Api-Key: first\r\n", "ok:acme");
    expect(&entry, "x-api-KEY:  second \r\n", "ok:acme");
    expect(&entry, "X-Api-Key: third one\r\n", "ok:zeta");
    expect(&entry, "", "none");
    expect(&entry, "X-Api-Key:\r\n", "none");
    expect(&entry, "X_Api_Key: first\r\n", "none");
    expect(&entry, "Authorization: Bearer first\r\n", "none");
    expect(&entry, "X-Api-Key: First\r\n", "bad");
    expect(&entry, "X-Api-Key: firs\r\n", "bad");
    expect(&entry, "X-Api-Key: first, first\r\n", "bad");
    expect(&entry, "X-Api-Key: first\r\nX-Api-Key: first\r\n", "malformed");
    expect(&entry, "X-Api-Key:\r\nX-Other: a\r\nx-api-key: first\r\n", "malformed");
    expect_challenge(&entry, OWNER_NONE, "ApiKey realm=\"recibo\", header=\"X-Api-Key\"");
    expect_challenge(&entry, OWNER_BAD, "ApiKey realm=\"recibo\", header=\"X-Api-Key\"");
    assert_true(owner_uses_field(&entry, SPAN("x-api-key")));
    assert_true(owner_uses_field(&entry, SPAN("X_API_KEY")));
    assert_false(owner_uses_field(&entry, SPAN("Authorization")));
    /* the digest itself is no key */
    char fields[128], hex[65];
    gw_hex(keys[0].sha256, 32, hex);
    (void)snprintf(fields, sizeof(fields), "X-Api-Key: %s\r\n", hex); /* fits */
    expect(&entry, fields, "bad");
}

/* Guards a secret after a scheme's word, with the grammar and words of RFC 6750. */
static void test_bearer(void **state)
{
    (void)state;
    const struct conf_owner_key keys[] = {key_of("acme", "abc-._~+/9=="), key_of("zeta", "z")};
    struct conf_owner entry = {.kind = OWNER_API_KEY,
                               .header = SPAN("Authorization"),
                               .scheme = SPAN("Bearer"),
                               .realm = SPAN("orders"),
                               .keys = keys,
                               .key_count = 2};
    expect(&entry, "Authorization: Bearer abc-._~+/9==\r\n", "ok:acme");
    expect(&entry, "authorization: bEARER   z\r\n", "ok:zeta");
    expect(&entry, "", "none");
    expect(&entry, "Authorization: Basic z\r\n", "none");
    expect(&entry, "Authorization: Bearerz\r\n", "none");
    expect(&entry, "Authorization: Bear\r\n", "none");
    expect(&entry, "Authorization: Bearer\r\n", "malformed");
    expect(&entry, "Authorization: Bearer \r\n", "malformed");
    expect(&entry, "Authorization: Bearer z z\r\n", "malformed");
    expect(&entry, "Authorization: Bearer z,\r\n", "malformed");
    expect(&entry, "Authorization: Bearer =z\r\n", "malformed");
    expect(&entry, "Authorization: Bearer z=z\r\n", "malformed");
    expect(&entry, "Authorization: Bearer \"z\"\r\n", "malformed");
    expect(&entry, "Authorization: Bearer\tz\r\n", "none");
    expect(&entry, "Authorization: Bearer y\r\n", "bad");
    expect(&entry, "Authorization: z\r\n", "none");
    expect_challenge(&entry, OWNER_NONE, "Bearer realm=\"orders\"");
    expect_challenge(&entry, OWNER_BAD, "Bearer realm=\"orders\", error=\"invalid_token\"");
    expect_challenge(&entry, OWNER_MALFORMED, "Bearer realm=\"orders\", error=\"invalid_request\"");
    assert_true(owner_uses_field(&entry, SPAN("authorization")));
    entry.scheme = SPAN("Token");
    expect(&entry, "Authorization: token z\r\n", "ok:zeta");
    expect(&entry, "Authorization: token z z\r\n", "malformed");
    expect(&entry, "Authorization: Bearer z\r\n", "none");
    expect_challenge(&entry, OWNER_BAD, "Token realm=\"orders\"");
}

/* Guards that without keys nobody is anybody. */
static void test_no_keys(void **state)
{
    (void)state;
    const struct conf_owner keys = {.kind = OWNER_API_KEY, .header = SPAN("X-Api-Key")};
    const struct conf_owner users = {.kind = OWNER_BASIC};
    expect(&keys, "X-Api-Key: a\r\n", "bad");
    expect(&users, "Authorization: Basic YTpi\r\n", "bad");
}

/* ---- basic ---- */

/* A cheap hash, so that the test is quick; the kind does not matter here. */
static char *hash_of(const char *password, const char *prefix)
{
    char setting[CRYPT_GENSALT_OUTPUT_SIZE];
    struct crypt_data room;
    memset(&room, 0, sizeof(room));
    assert_non_null(crypt_gensalt_rn(prefix, 0, NULL, 0, setting, sizeof(setting)));
    const char *made = crypt_r(password, setting, &room);
    assert_non_null(made);
    assert_int_equal(made[0], '$');
    char *copy = malloc(strlen(made) + 1);
    assert_non_null(copy);
    memcpy(copy, made, strlen(made) + 1);
    return copy;
}

/* Guards RFC 7617: strict base64, the first colon, no controls, and one answer for
 * an unknown user and a wrong password. */
static void test_basic(void **state)
{
    (void)state;
    char *ana = hash_of("secret", "$5$"), *empty = hash_of("", "$6$");
    char *colon = hash_of("a:b \xc3\xa9", "$y$");
    const struct conf_owner_user users[] = {
        {.name = SPAN("ana"), .owner = SPAN("acme"), .hash = span_str(ana)},
        {.name = SPAN("nopass"), .owner = SPAN("nopass"), .hash = span_str(empty)},
        {.name = SPAN("col"), .owner = SPAN("col-on"), .hash = span_str(colon)},
    };
    const struct conf_owner entry = {
        .kind = OWNER_BASIC, .realm = SPAN("orders"), .users = users, .user_count = 3};
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldA==\r\n", "ok:acme"); /* ana:secret */
    expect(&entry, "Authorization: bASIC  YW5hOnNlY3JldA==\r\n", "ok:acme");
    expect(&entry, "Authorization: Basic bm9wYXNzOg==\r\n", "ok:nopass");     /* nopass: */
    expect(&entry, "Authorization: Basic Y29sOmE6YiDDqQ==\r\n", "ok:col-on"); /* col:a:b e' */
    expect(&entry, "Authorization: Basic YW5hOlNlY3JldA==\r\n", "bad");       /* ana:Secret */
    expect(&entry, "Authorization: Basic YW5hOg==\r\n", "bad");               /* ana: */
    expect(&entry, "Authorization: Basic Ym9iOnNlY3JldA==\r\n", "bad");       /* bob:secret */
    expect(&entry, "Authorization: Basic QW5hOnNlY3JldA==\r\n", "bad");       /* Ana:secret */
    expect(&entry, "Authorization: Basic OnNlY3JldA==\r\n", "bad");           /* :secret */
    expect(&entry, "Authorization: Basic Ym9iOg==\r\n", "bad");               /* bob: */
    expect(&entry, "", "none");
    expect(&entry, "Authorization: Bearer YW5hOnNlY3JldA==\r\n", "none");
    expect(&entry, "Authorization: Basic\r\n", "malformed");
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldA\r\n", "malformed"); /* no padding */
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldA= =\r\n", "malformed");
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldB==\r\n", "malformed"); /* last bits */
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldA==x\r\n", "malformed");
    expect(&entry, "Authorization: Basic YW5h\r\n", "malformed");             /* no colon */
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldAA=\r\n", "malformed"); /* a NUL */
    expect(&entry, "Authorization: Basic YW5hOnNlCmNyZXQ=\r\n", "malformed"); /* a line feed */
    expect(&entry, "Authorization: Basic YW4AYTpzZWNyZXQ=\r\n", "malformed"); /* NUL in user */
    expect(&entry, "Authorization: Basic YW5hOnNlfw==\r\n", "malformed");     /* a DEL */
    expect_challenge(&entry, OWNER_NONE, "Basic realm=\"orders\", charset=\"UTF-8\"");
    expect_challenge(&entry, OWNER_BAD, "Basic realm=\"orders\", charset=\"UTF-8\"");
    assert_true(owner_uses_field(&entry, SPAN("AUTHORIZATION")));
    assert_false(owner_uses_field(&entry, SPAN("Proxy-Authorization")));
    free(ana);
    free(empty);
    free(colon);
}

/* Guards the bounds: a password that crypt cannot take and one beyond any bound. */
static void test_basic_bounds(void **state)
{
    (void)state;
    char *hash = hash_of("secret", "$5$");
    const struct conf_owner_user users[] = {
        {.name = SPAN("ana"), .owner = SPAN("acme"), .hash = span_str(hash)}};
    const struct conf_owner_user broken[] = {
        {.name = SPAN("ana"), .owner = SPAN("acme"), .hash = SPAN("*0")}};
    struct conf_owner entry = {.kind = OWNER_BASIC, .users = users, .user_count = 1};
    char fields[5000];
    for (size_t blocks = 150; blocks <= 1200; blocks *= 2) {
        size_t at = (size_t)snprintf(fields, sizeof(fields), "Authorization: Basic YW5hOnNl");
        for (size_t i = 0; i < blocks; i++, at += 4)
            memcpy(fields + at, "YWFh", 4);
        memcpy(fields + at, "\r\n", 3);
        expect(&entry, fields, 8 + 4 * blocks > 2048 ? "malformed" : "bad");
    }
    entry.users = broken; /* crypt fails with the same text: still no match */
    expect(&entry, "Authorization: Basic YW5hOnNlY3JldA==\r\n", "bad");
    free(hash);
}

/* ---- header ---- */

static struct conf_network network_of(const char *address, uint8_t bits, const char *owner)
{
    struct conf_network network = {.owner = span_str(owner)};
    struct sockaddr_storage storage = address_of(address);
    const struct sockaddr_in *in = (const struct sockaddr_in *)&storage;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&storage;
    if (storage.ss_family == AF_INET) {
        memset(network.address + 10, 0xff, 2);
        memcpy(network.address + 12, &in->sin_addr, 4);
        network.prefix_bits = (uint8_t)(96 + bits);
    } else {
        memcpy(network.address, &in6->sin6_addr, 16);
        network.prefix_bits = bits;
    }
    return network;
}

/* Guards that the id is believed from the listed proxies alone, and is a plain word. */
static void test_header(void **state)
{
    (void)state;
    const struct conf_network trusted[] = {network_of("10.0.0.0", 8, ""),
                                           network_of("2001:db8::", 32, "")};
    const struct conf_owner entry = {
        .kind = OWNER_HEADER, .header = SPAN("X-Owner"), .trusted = trusted, .trusted_count = 2};
    char fields[256];
    expect_from(&entry, "10.9.8.7", "X-Owner: acme\r\n", "ok:acme");
    expect_from(&entry, "::ffff:10.9.8.7", "X-Owner: acme\r\n", "ok:acme");
    expect_from(&entry, "2001:db8:1::9", "x-owner: a@b:c/~!\r\n", "ok:a@b:c/~!");
    expect_from(&entry, "11.9.8.7", "X-Owner: acme\r\n", "forbidden");
    expect_from(&entry, "2001:db9::1", "X-Owner: acme\r\n", "forbidden");
    expect_from(&entry, "::10.9.8.7", "X-Owner: acme\r\n", "forbidden");
    expect_from(&entry, "/socket", "X-Owner: acme\r\n", "forbidden");
    expect_from(&entry, "11.9.8.7", "", "forbidden");
    expect_from(&entry, "10.9.8.7", "", "none");
    expect_from(&entry, "10.9.8.7", "X-Owner: \r\n", "none");
    expect_from(&entry, "10.9.8.7", "X_Owner: acme\r\n", "none");
    expect_from(&entry, "10.9.8.7", "X-Owner: a\r\nX-Owner: a\r\n", "malformed");
    expect_from(&entry, "10.9.8.7", "X-Owner: a b\r\n", "malformed");
    expect_from(&entry, "10.9.8.7", "X-Owner: \xc3\xa9\r\n", "malformed");
    for (int len = 127; len <= 129; len++) {
        (void)snprintf(fields, sizeof(fields), "X-Owner: %0*d\r\n", len, 7); /* fits */
        char word[256];
        (void)snprintf(word, sizeof(word), "ok:%0*d", len, 7); /* fits */
        expect_from(&entry, "10.0.0.1", fields, len <= 128 ? word : "malformed");
    }
    expect_challenge(&entry, OWNER_NONE, "ProxyHeader realm=\"recibo\", header=\"X-Owner\"");
    assert_true(owner_uses_field(&entry, SPAN("X_OWNER")));
}

/* Guards that a peer nobody knows is trusted by nobody, and that memory may end. */
static void test_header_failures(void **state)
{
    (void)state;
    const struct conf_network all[] = {network_of("0.0.0.0", 0, "")};
    const struct conf_owner entry = {
        .kind = OWNER_HEADER, .header = SPAN("X-Owner"), .trusted = all, .trusted_count = 1};
    struct arena *arena = arena_new(ARENA_BYTES), *small = arena_new(1);
    struct http_head *head = parse_head("X-Owner: acme-with-a-longer-name\r\n");
    struct sockaddr_storage peer = address_of("192.0.2.1");
    struct owner_request request = {.head = head};
    struct span owner;
    assert_int_equal(owner_identify(&entry, &request, arena, &owner), OWNER_FORBIDDEN);
    request.peer = (const struct sockaddr *)&peer;
    assert_int_equal(owner_identify(&entry, &request, small, &owner), OWNER_NO_MEMORY);
    assert_int_equal(owner_identify(&entry, &request, arena, &owner), OWNER_OK);
    assert_int_equal(owner_challenge(&entry, OWNER_NONE, small).len, 0);
    http_head_free(head);
    arena_free(arena);
    arena_free(small);
}

/* ---- network and static ---- */

/* Guards the longest prefix, both families, and that headers make no difference. */
static void test_network(void **state)
{
    (void)state;
    const struct conf_network networks[] = {
        network_of("10.0.0.0", 8, "wide"),          network_of("10.1.0.0", 16, "narrow"),
        network_of("10.1.2.3", 32, "one"),          network_of("2001:db8::", 32, "six"),
        network_of("2001:db8:8000::", 33, "upper"), network_of("::1", 128, "self"),
    };
    const struct conf_owner entry = {
        .kind = OWNER_NETWORK, .networks = networks, .network_count = GW_COUNT(networks)};
    expect_from(&entry, "10.200.0.1", "", "ok:wide");
    expect_from(&entry, "10.1.200.1", "", "ok:narrow");
    expect_from(&entry, "10.1.2.3", "", "ok:one");
    expect_from(&entry, "10.1.2.4", "", "ok:narrow");
    expect_from(&entry, "::ffff:10.1.2.3", "", "ok:one");
    expect_from(&entry, "2001:db8:7fff::1", "", "ok:six");
    expect_from(&entry, "2001:db8:8000::1", "", "ok:upper");
    expect_from(&entry, "::1", "", "ok:self");
    expect_from(&entry, "::2", "", "forbidden");
    expect_from(&entry, "9.255.255.255", "", "forbidden");
    expect_from(&entry, "11.0.0.0", "X-Forwarded-For: 10.1.2.3\r\n", "forbidden");
    expect_from(&entry, "/socket", "", "forbidden");
    expect_challenge(&entry, OWNER_FORBIDDEN, "");
    assert_false(owner_uses_field(&entry, SPAN("X-Forwarded-For")));
}

static void test_static(void **state)
{
    /* Guards that a static entry is one owner, whatever the request says. */
    (void)state;
    const struct conf_owner entry = {.kind = OWNER_STATIC, .owner = SPAN("shop")};
    expect(&entry, "", "ok:shop");
    expect_from(&entry, "/socket", "Authorization: Basic x\r\n", "ok:shop");
    expect_challenge(&entry, OWNER_NONE, "");
    assert_false(owner_uses_field(&entry, SPAN("")));
    assert_false(owner_uses_field(&entry, SPAN("Authorization")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_api_key),         cmocka_unit_test(test_bearer),
        cmocka_unit_test(test_no_keys),         cmocka_unit_test(test_basic),
        cmocka_unit_test(test_basic_bounds),    cmocka_unit_test(test_header),
        cmocka_unit_test(test_header_failures), cmocka_unit_test(test_network),
        cmocka_unit_test(test_static),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
