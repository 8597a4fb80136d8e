/* Signed objects: form, header and signature. It must never let the object choose how it is
 * checked, nor tell anybody why one is refused (STANDARDS AUTH-7, RFC 8725). */
#include "gateway/owners/jws.h"

#include "base/text.h"

#define TOKEN_BYTES_MAX 16384
#define DEPTH_MAX       16
#define NODES_MAX       1024

struct token {
    struct span signed_part, header, payload, signature; /* decoded, but for the first */
};

/* ---- its form ---- */

static bool decode(struct arena *arena, struct span text, struct span *ret)
{
    char *bytes = arena_take(arena, text.len + 1);
    size_t len = 0;
    if (bytes == NULL || !gw_base64url_decode(text, bytes, &len))
        return false;
    *ret = span_of(bytes, len);
    return true;
}

static bool split(struct arena *arena, struct span text, struct token *ret)
{
    struct span parts[3];
    size_t count = 0, start = 0;
    if (text.len > TOKEN_BYTES_MAX)
        return false;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '.')
            continue;
        if (count == GW_COUNT(parts))
            return false;
        parts[count++] = span_of(text.ptr + start, i - start);
        start = i + 1;
    }
    if (count != GW_COUNT(parts))
        return false;
    ret->signed_part = span_of(text.ptr, parts[0].len + 1 + parts[1].len);
    return decode(arena, parts[0], &ret->header) && decode(arena, parts[1], &ret->payload) &&
           decode(arena, parts[2], &ret->signature);
}

bool jws_parse(struct arena *arena, struct span text, struct json_doc *ret)
{
    const struct json_limits limits = {.depth_max = DEPTH_MAX, .nodes_max = NODES_MAX};
    struct json_fault fault;
    uint32_t count = 0;
    if (!json_count(text, &limits, &count, &fault))
        return false;
    struct json_node *nodes = arena_take(arena, (count + (size_t)1) * sizeof(*nodes));
    uint32_t *order = arena_take(arena, (count + (size_t)1) * sizeof(*order));
    return nodes != NULL && order != NULL &&
           json_parse(text, &limits, nodes, order, count, ret, &fault) &&
           ret->nodes[0].kind == JSON_KIND_OBJECT;
}

bool jws_has(const struct json_doc *doc, const char *name)
{
    return json_member(doc, 0, span_str(name)) != JSON_NONE;
}

/* ---- its header ---- */

/* A member that is there must be a string. */
bool jws_text(struct arena *arena, const struct json_doc *doc, const char *name, struct span *ret)
{
    return jose_text(arena, doc, json_member(doc, 0, span_str(name)), ret);
}

/* RFC 7515 4.1.9: "application/" may be left out where there is no other slash. */
static bool is_type(struct span type, struct span wanted)
{
    const struct span prefix = SPAN("application/");
    if (type.len > prefix.len && span_equal_nocase(span_of(type.ptr, prefix.len), prefix))
        type = span_of(type.ptr + prefix.len, type.len - prefix.len);
    return span_equal_nocase(type, wanted);
}

/* What would change how the token is read is not understood here, and so refused: critical
 * extensions, another coding of the claims, encryption, a token in the token. */
static bool read_header(const struct jws_policy *policy, struct arena *arena, struct span text,
                        enum gw_signature_algorithm *ret_algorithm, struct span *ret_id)
{
    struct json_doc doc;
    struct span algorithm, type, content;
    if (!jws_parse(arena, text, &doc) || jws_has(&doc, "crit") || jws_has(&doc, "b64") ||
        jws_has(&doc, "enc") || jws_has(&doc, "zip") || !jws_text(arena, &doc, "alg", &algorithm) ||
        !jws_text(arena, &doc, "kid", ret_id) || !jws_text(arena, &doc, "typ", &type) ||
        !jws_text(arena, &doc, "cty", &content) || content.len > 0)
        return false;
    *ret_algorithm = gw_signature_of(algorithm);
    return *ret_algorithm != GW_SIGNATURE_COUNT &&
           (policy->algorithms >> *ret_algorithm & 1) != 0 &&
           (policy->type.len == 0 || is_type(type, policy->type));
}

/* By its id, or the only one that fits; an id is a name in our set and nothing else. */
static bool is_signed(const struct jws_policy *policy, const struct token *token,
                      enum gw_signature_algorithm algorithm, struct span id)
{
    const struct jwk *only = NULL;
    uint32_t fitting = 0;
    bool is_good = false;
    for (uint32_t i = 0; i < policy->keys->count; i++) {
        const struct jwk *key = &policy->keys->keys[i];
        if ((key->algorithms >> algorithm & 1) == 0 || (id.len > 0 && !span_equal(key->id, id)))
            continue;
        fitting++;
        only = key;
        if (id.len > 0)
            is_good = is_good || gw_signature_check(algorithm, &key->key, token->signed_part,
                                                    token->signature);
    }
    if (id.len > 0)
        return is_good;
    return fitting == 1 &&
           gw_signature_check(algorithm, &only->key, token->signed_part, token->signature);
}

bool jws_open(const struct jws_policy *policy, struct arena *arena, struct span text,
              struct span *ret_payload)
{
    struct token token;
    struct span id;
    enum gw_signature_algorithm algorithm;
    if (!split(arena, text, &token) || !read_header(policy, arena, token.header, &algorithm, &id) ||
        !is_signed(policy, &token, algorithm, id))
        return false;
    *ret_payload = token.payload;
    return true;
}
