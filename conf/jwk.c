/* Reads a set of JSON Web Keys. It must never let a key serve an algorithm that it was not
 * made for: the token's own word for that is its sender's. */
#include "conf/jwk.h"

#include "base/text.h"
#include "policy/json.h"

#define DEPTH_MAX 16
#define NODES_MAX 16384
#define ID_MAX    256

struct reader {
    struct arena *arena;
    const struct json_doc *doc;
    uint32_t node; /* of the key */
    const char *problem;
};

/* ---- JSON ---- */

struct text_sink {
    char *to;
    size_t len;
};

static void put(void *ctx, struct span piece)
{
    struct text_sink *sink = ctx;
    memcpy(sink->to + sink->len, piece.ptr, piece.len);
    sink->len += piece.len;
}

bool jose_text(struct arena *arena, const struct json_doc *doc, uint32_t node, struct span *ret)
{
    *ret = span_of("", 0);
    if (node == JSON_NONE)
        return true;
    const struct json_node *at = &doc->nodes[node];
    if (at->kind != JSON_KIND_STRING)
        return false;
    struct span raw = span_of(doc->text.ptr + at->start, at->end - at->start);
    if (at->has_escapes == 0) {
        *ret = raw;
        return true;
    }
    struct text_sink sink = {.to = arena_take(arena, raw.len + 1)}; /* escapes only shrink */
    if (sink.to == NULL)
        return false;
    json_decode(raw, true, put, &sink);
    *ret = span_of(sink.to, sink.len);
    return true;
}

static bool read_json(struct arena *arena, struct span text, struct json_doc *doc,
                      struct jwk_fault *fault)
{
    const struct json_limits limits = {.depth_max = DEPTH_MAX, .nodes_max = NODES_MAX};
    struct json_fault wrong = {0};
    uint32_t count = 0;
    *fault = (struct jwk_fault){0};
    if (json_count(text, &limits, &count, &wrong)) {
        struct json_node *nodes = arena_take(arena, (count + (size_t)1) * sizeof(*nodes));
        uint32_t *order = arena_take(arena, (count + (size_t)1) * sizeof(*order));
        if (nodes == NULL || order == NULL)
            return false;
        if (json_parse(text, &limits, nodes, order, count, doc, &wrong))
            return true;
    }
    *fault = (struct jwk_fault){wrong.offset, wrong.text};
    return false;
}

/* ---- members of a key ---- */

static bool fail(struct reader *reader, const char *problem)
{
    reader->problem = problem;
    return false;
}

static bool member_text(struct reader *reader, const char *name, struct span *ret)
{
    uint32_t node = json_member(reader->doc, reader->node, span_str(name));
    return jose_text(reader->arena, reader->doc, node, ret) ||
           fail(reader, "a member of a key that must be a string is none");
}

/* A number or a secret in base64url. */
static bool member_bytes(struct reader *reader, const char *name, struct span *ret)
{
    struct span text;
    size_t len = 0;
    if (!member_text(reader, name, &text))
        return false;
    if (text.len == 0)
        return fail(reader, "a key lacks one of its numbers");
    char *bytes = arena_take(reader->arena, text.len);
    if (bytes == NULL)
        return fail(reader, NULL);
    if (!gw_base64url_decode(text, bytes, &len) || len == 0)
        return fail(reader, "a number of a key is no base64url without padding");
    *ret = span_of(bytes, len);
    return true;
}

/* true: *ret_known says whether such keys are ours. */
static bool read_numbers(struct reader *reader, struct gw_public_key *key, bool *ret_known)
{
    struct span kind, curve;
    *ret_known = true;
    if (!member_text(reader, "kty", &kind) || !member_text(reader, "crv", &curve))
        return false;
    if (kind.len == 0)
        return fail(reader, "a key has no kty");
    if (span_equal(kind, SPAN("RSA"))) {
        key->family = GW_KEY_RSA;
        return member_bytes(reader, "n", &key->first) && member_bytes(reader, "e", &key->second);
    }
    if (span_equal(kind, SPAN("oct"))) {
        key->family = GW_KEY_SECRET;
        return member_bytes(reader, "k", &key->first);
    }
    if (span_equal(kind, SPAN("OKP")) && span_equal(curve, SPAN("Ed25519"))) {
        key->family = GW_KEY_ED;
        return member_bytes(reader, "x", &key->first);
    }
    key->family = GW_KEY_EC;
    key->bits = span_equal(curve, SPAN("P-256"))   ? 256
                : span_equal(curve, SPAN("P-384")) ? 384
                : span_equal(curve, SPAN("P-521")) ? 521
                                                   : 0;
    *ret_known = span_equal(kind, SPAN("EC")) && key->bits != 0;
    return !*ret_known ||
           (member_bytes(reader, "x", &key->first) && member_bytes(reader, "y", &key->second));
}

/* RFC 7517 4.3: a list of words; one of them must be `verify`. */
static bool read_operations(struct reader *reader, bool *ret_verifies)
{
    uint32_t list = json_member(reader->doc, reader->node, SPAN("key_ops"));
    *ret_verifies = list == JSON_NONE;
    if (list == JSON_NONE)
        return true;
    if (reader->doc->nodes[list].kind != JSON_KIND_ARRAY)
        return fail(reader, "key_ops of a key is no list");
    for (uint32_t at = reader->doc->nodes[list].child; at != JSON_NONE;
         at = reader->doc->nodes[at].next) {
        struct span word;
        if (!jose_text(reader->arena, reader->doc, at, &word))
            return fail(reader, "key_ops of a key is no list of strings");
        *ret_verifies = *ret_verifies || span_equal(word, SPAN("verify"));
    }
    return true;
}

/* 0 without a problem: it is for none that is known. */
static uint32_t algorithms_of(const struct gw_public_key *key, struct span own)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < GW_SIGNATURE_COUNT; i++) {
        enum gw_signature_algorithm algorithm = (enum gw_signature_algorithm)i;
        if (gw_signature_fits(algorithm, key) &&
            (own.len == 0 || span_equal(own, span_str(gw_signature_name(algorithm)))))
            found |= 1U << i;
    }
    return found;
}

/* true with algorithms 0: skipped. */
static bool read_key(struct reader *reader, struct jwk *ret)
{
    struct span use, own;
    bool is_known = false, verifies = false;
    *ret = (struct jwk){.algorithms = 0};
    if (reader->doc->nodes[reader->node].kind != JSON_KIND_OBJECT)
        return fail(reader, "an entry of keys is no object");
    if (!member_text(reader, "use", &use) || !member_text(reader, "alg", &own) ||
        !member_text(reader, "kid", &ret->id) || !read_operations(reader, &verifies) ||
        !read_numbers(reader, &ret->key, &is_known))
        return false;
    if (ret->id.len > ID_MAX)
        return fail(reader, "the kid of a key is longer than 256 bytes");
    if (!is_known || !verifies || (use.len > 0 && !span_equal(use, SPAN("sig"))))
        return true;
    if (algorithms_of(&ret->key, span_of("", 0)) == 0)
        return fail(reader,
                    "a key is too short or of the wrong size: RSA needs 2048 to 8192 bits, a "
                    "secret 32 bytes");
    ret->algorithms = algorithms_of(&ret->key, own);
    return true;
}

bool jwk_set_read(struct arena *arena, struct span text, struct jwk_set *ret,
                  struct jwk_fault *ret_fault)
{
    struct json_doc doc;
    *ret = (struct jwk_set){0};
    if (!read_json(arena, text, &doc, ret_fault))
        return false;
    uint32_t list = json_member(&doc, 0, SPAN("keys"));
    if (list == JSON_NONE || doc.nodes[list].kind != JSON_KIND_ARRAY) {
        *ret_fault = (struct jwk_fault){0, "it is no set of keys: an object with a list `keys`"};
        return false;
    }
    struct jwk *keys = arena_take(arena, JWK_SET_KEYS_MAX * sizeof(*keys));
    struct reader reader = {.arena = arena, .doc = &doc};
    if (keys == NULL)
        return false;
    for (uint32_t at = doc.nodes[list].child; at != JSON_NONE; at = doc.nodes[at].next) {
        reader.node = at;
        if (ret->count == JWK_SET_KEYS_MAX || !read_key(&reader, &keys[ret->count])) {
            *ret_fault = (struct jwk_fault){doc.nodes[at].start, ret->count == JWK_SET_KEYS_MAX
                                                                     ? "more than 100 keys"
                                                                     : reader.problem};
            return false;
        }
        ret->skipped += keys[ret->count].algorithms == 0;
        ret->count += keys[ret->count].algorithms != 0;
    }
    ret->keys = keys;
    return true;
}
