/* Guards that a signed object is taken by the keys and algorithms that the policy names, and
 * by nothing that it says of itself: the published vectors, and each rule by a case. */
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "gateway/owners/jws.h"
#include "tests/lib/testlib.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define ARENA_BYTES ((size_t)4 << 20)
#define ALL         UINT32_MAX
#define SECRET      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SECRET_K    "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"

/* ---- the published vectors ---- */

static struct jwk_set set_of(struct arena *arena, const json_t *key, bool *ret_read)
{
    struct jwk_set set;
    struct jwk_fault fault;
    json_t *wrapped = json_pack("{s:[O]}", "keys", key);
    char *text = json_dumps(wrapped, JSON_COMPACT);
    struct span copy = arena_print(arena, "%s", text);
    *ret_read = jwk_set_read(arena, copy, &set, &fault);
    free(text);
    json_decref(wrapped);
    return set;
}

/* The algorithm is fixed by whoever configures: the one that the key of the group is for. */
static uint32_t algorithm_of(const json_t *key)
{
    const char *name = json_string_value(json_object_get(key, "alg"));
    enum gw_signature_algorithm algorithm =
        name == NULL ? GW_SIGNATURE_COUNT : gw_signature_of(span_str(name));
    return algorithm == GW_SIGNATURE_COUNT ? ALL : 1U << algorithm;
}

static bool opens(const json_t *key, const char *text)
{
    struct span payload;
    bool is_read;
    struct arena *arena = arena_new(ARENA_BYTES);
    const struct jwk_set set = set_of(arena, key, &is_read);
    const struct jws_policy policy = {.keys = &set, .algorithms = algorithm_of(key)};
    bool is_open = is_read && jws_open(&policy, arena, span_str(text), &payload);
    arena_free(arena);
    return is_open;
}

/* Two vectors are called invalid that are, byte for byte, one that is called valid. */
static bool is_called_valid(const json_t *group, const char *text)
{
    size_t t;
    json_t *test;
    bool found = false;
    json_array_foreach(json_object_get(group, "tests"), t, test) found =
        found || (strcmp(json_string_value(json_object_get(test, "result")), "valid") == 0 &&
                  strcmp(json_string_value(json_object_get(test, "jws")), text) == 0);
    return found;
}

/* May one that is called valid be refused? Where the key is for another algorithm than the
 * object, or for one that has no such name, and where what is no base64url is overlooked. */
static bool may_be_refused(const json_t *key, const char *text)
{
    char head[512];
    size_t len = 0;
    const char *dot = strchr(text, '.');
    const char *own = json_string_value(json_object_get(key, "alg"));
    assert_true(dot != NULL && (size_t)(dot - text) < sizeof(head));
    if (!gw_base64url_decode(span_of(text, (size_t)(dot - text)), head, &len) ||
        strchr(text, '?') != NULL)
        return true;
    json_t *header = json_loadb(head, len, 0, NULL);
    const char *said = json_string_value(json_object_get(header, "alg"));
    bool may_be = own != NULL && strcmp(own, said) != 0;
    json_decref(header);
    return may_be;
}

static void check_vector(const json_t *group, const json_t *test, size_t *refused)
{
    const json_t *key = json_object_get(group, "public");
    key = key != NULL ? key : json_object_get(group, "private");
    const char *text = json_string_value(json_object_get(test, "jws"));
    long long id = json_integer_value(json_object_get(test, "tcId"));
    bool is_open = opens(key, text);
    if (is_open && !is_called_valid(group, text))
        fail_msg("vector %lld is taken", id);
    if (!is_open && strcmp(json_string_value(json_object_get(test, "result")), "valid") == 0) {
        if (!may_be_refused(key, text))
            fail_msg("vector %lld is refused", id);
        (*refused)++;
    }
}

static void test_vectors(void **state)
{
    /* Guards: of the published vectors none that is invalid is taken, and each valid one is. */
    (void)state;
    json_t *suite = test_load_vectors(SHARED_DATA "/jws/json_web_signature_test.json");
    size_t g, t, count = 0, refused = 0;
    json_t *group, *test;
    json_array_foreach(json_object_get(suite, "testGroups"), g, group)
        json_array_foreach(json_object_get(group, "tests"), t, test)
    {
        check_vector(group, test, &refused);
        count++;
    }
    json_decref(suite);
    assert_int_equal(count, 401);
    assert_int_equal(refused, 6);
}

/* ---- rule by rule ---- */

static struct span encode(struct arena *arena, const void *bytes, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const unsigned char *from = bytes;
    char *to = arena_take(arena, len * 2 + 2);
    size_t at = 0;
    for (size_t bit = 0; bit < 8 * len; bit += 6) {
        uint32_t pair = (uint32_t)from[bit / 8] << 8;
        pair |= bit / 8 + 1 < len ? from[bit / 8 + 1] : 0;
        to[at++] = digits[pair >> (10 - bit % 8) & 63];
    }
    return span_of(to, at);
}

static struct span sign(struct arena *arena, const char *header, const char *payload)
{
    unsigned char mac[32];
    unsigned int len = 0;
    struct span a = encode(arena, header, strlen(header));
    struct span b = encode(arena, payload, strlen(payload));
    struct span text = arena_print(arena, "%.*s.%.*s", (int)a.len, a.ptr, (int)b.len, b.ptr);
    assert_non_null(HMAC(EVP_sha256(), SECRET, (int)strlen(SECRET), (const unsigned char *)text.ptr,
                         text.len, mac, &len));
    struct span c = encode(arena, mac, sizeof(mac));
    return arena_print(arena, "%.*s.%.*s", (int)text.len, text.ptr, (int)c.len, c.ptr);
}

static bool takes(const char *keys, const char *header, const char *type)
{
    struct arena *arena = arena_new(ARENA_BYTES);
    struct jwk_set set;
    struct jwk_fault fault;
    struct span payload = SPAN("");
    assert_true(jwk_set_read(arena, span_str(keys), &set, &fault));
    const struct jws_policy policy = {
        .keys = &set, .algorithms = 1U << GW_SIGNATURE_HS256, .type = span_str(type)};
    bool is_open = jws_open(&policy, arena, sign(arena, header, "{}"), &payload);
    assert_int_equal(is_open, span_equal(payload, SPAN("{}")));
    arena_free(arena);
    return is_open;
}

#define ONE "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"" SECRET_K "\"}]}"
#define TWO                                                                                        \
    "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"" SECRET_K "\"},"                           \
    "{\"kty\":\"oct\",\"kid\":\"b\",\"k\":\"" SECRET_K "\"}]}"

static void test_headers(void **state)
{
    /* Guards: what a header says is taken where it changes nothing, and refused where it would. */
    (void)state;
    static const struct {
        const char *header;
        bool is_taken;
    } cases[] = {
        {"{\"alg\":\"HS256\"}", true},
        {"{\"alg\":\"HS256\",\"kid\":\"a\"}", true},
        {"{\"alg\":\"HS256\",\"jwk\":{},\"jku\":\"http://x\",\"x5u\":1,\"x5c\":[]}", true},
        {"{\"alg\":\"HS256\",\"kid\":\"b\"}", false},
        {"{\"alg\":\"HS256\",\"kid\":\"../a\"}", false},
        {"{\"alg\":\"HS256\",\"kid\":1}", false},
        {"{\"alg\":\"HS384\"}", false},
        {"{\"alg\":\"hs256\"}", false},
        {"{\"alg\":\"none\"}", false},
        {"{\"alg\":\"None\"}", false},
        {"{\"alg\":\"\"}", false},
        {"{}", false},
        {"[]", false},
        {"{\"alg\":\"none\",\"alg\":\"HS256\"}", false},
        {"{\"alg\":\"HS256\",\"al\\u0067\":\"HS256\"}", false},
        {"{\"alg\":\"HS256\",\"crit\":[]}", false},
        {"{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":false}", false},
        {"{\"alg\":\"HS256\",\"b64\":false}", false},
        {"{\"alg\":\"HS256\",\"enc\":\"A128GCM\"}", false},
        {"{\"alg\":\"HS256\",\"cty\":\"JWT\"}", false},
        {"{\"alg\":\"HS256\"} ", true},
        {"{\"alg\":\"HS256\"}x", false},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        if (takes(ONE, cases[i].header, "") != cases[i].is_taken)
            fail_msg("%s", cases[i].header);
    assert_false(takes(TWO, "{\"alg\":\"HS256\"}", "")); /* which of the two? */
    assert_true(takes(TWO, "{\"alg\":\"HS256\",\"kid\":\"b\"}", ""));
}

static void test_type(void **state)
{
    /* Guards: a token for another purpose is none, however its type is spelled. */
    (void)state;
    assert_true(takes(ONE, "{\"alg\":\"HS256\",\"typ\":\"at+jwt\"}", "at+jwt"));
    assert_true(takes(ONE, "{\"alg\":\"HS256\",\"typ\":\"application/AT+JWT\"}", "at+jwt"));
    assert_false(takes(ONE, "{\"alg\":\"HS256\",\"typ\":\"JWT\"}", "at+jwt"));
    assert_false(takes(ONE, "{\"alg\":\"HS256\"}", "at+jwt"));
}

static void test_sets(void **state)
{
    /* Guards: a set says what is wrong with it; keys of other kinds are no fault of it. */
    (void)state;
    static const struct {
        const char *text;
        int keys, skipped; /* keys -1: it is refused */
    } cases[] = {
        {ONE, 1, 0},
        {"{\"keys\":[]}", 0, 0},
        {"{\"keys\":[{\"kty\":\"AKP\",\"alg\":\"ML-DSA-44\"},{\"kty\":\"EC\",\"crv\":\"P-1\"}]}", 0,
         2},
        {"{\"keys\":[{\"kty\":\"oct\",\"use\":\"enc\",\"k\":\"" SECRET_K "\"}]}", 0, 1},
        {"{\"keys\":[{\"kty\":\"oct\",\"key_ops\":[\"sign\"],\"k\":\"" SECRET_K "\"}]}", 0, 1},
        {"{\"keys\":[{\"kty\":\"oct\",\"key_ops\":[\"verify\"],\"k\":\"" SECRET_K "\"}]}", 1, 0},
        {"{\"keys\":[{\"kty\":\"oct\",\"key_ops\":\"verify\",\"k\":\"" SECRET_K "\"}]}", -1, 0},
        {"{\"keys\":[{\"kty\":\"oct\",\"alg\":\"RS256\",\"k\":\"" SECRET_K "\"}]}", 0, 1},
        {"{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}]}", -1, 0},
        {"{\"keys\":[{\"kty\":\"oct\",\"k\":\"" SECRET_K "=\"}]}", -1, 0},
        {"{\"keys\":[{\"kty\":\"oct\"}]}", -1, 0},
        {"{\"keys\":[{\"k\":\"" SECRET_K "\"}]}", -1, 0},
        {"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", -1, 0},
        {"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AQAB\",\"y\":\"AQAB\"}]}", -1, 0},
        {"{\"keys\":[1]}", -1, 0},
        {"{\"keys\":{}}", -1, 0},
        {"{\"keys\":[],\"keys\":[]}", -1, 0},
        {"[]", -1, 0},
        {"", -1, 0},
    };
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct arena *arena = arena_new(ARENA_BYTES);
        struct jwk_set set;
        struct jwk_fault fault;
        bool is_read = jwk_set_read(arena, span_str(cases[i].text), &set, &fault);
        if (is_read != (cases[i].keys >= 0) ||
            (is_read && ((int)set.count != cases[i].keys || (int)set.skipped != cases[i].skipped)))
            fail_msg("%s: %u keys, %u skipped", cases[i].text, set.count, set.skipped);
        assert_true(is_read || strlen(fault.text) > 10);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_type),
        cmocka_unit_test(test_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
