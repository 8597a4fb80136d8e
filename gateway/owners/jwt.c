/* A signed token (RFC 7519): whose it is. It must never take one that was signed by anybody
 * else, for anybody else, or for another time (STANDARDS AUTH-7). */
#include "gateway/owners/jws.h"
#include "gateway/owners/scheme.h"

#include <stdlib.h>

#define SUBJECT_BYTES_MAX 255
#define NUMBER_BYTES_MAX  24
#define SECONDS_MAX       1e11 /* some thousand years */

/* NumericDate: seconds, with a fraction perhaps. false: it is there and is none. */
static bool number_of(const struct json_doc *doc, const char *name, double *ret, bool *ret_there)
{
    char text[NUMBER_BYTES_MAX + 1];
    uint32_t node = json_member(doc, 0, span_str(name));
    *ret_there = node != JSON_NONE;
    if (node == JSON_NONE)
        return true;
    const struct json_node *at = &doc->nodes[node];
    size_t len = at->end - at->start;
    if (at->kind != JSON_KIND_NUMBER || len > NUMBER_BYTES_MAX)
        return false;
    memcpy(text, doc->text.ptr + at->start, len);
    text[len] = '\0';
    *ret = strtod(text, NULL); /* JSON's numbers are C's */
    return *ret >= 0 && *ret <= SECONDS_MAX;
}

static bool is_in_time(const struct json_doc *doc, int64_t leeway_ms, int64_t now_ms)
{
    double now = (double)now_ms / 1000, leeway = (double)leeway_ms / 1000;
    double ends = 0, begins = 0, issued = 0;
    bool has_end, has_begin, has_issue;
    return number_of(doc, "exp", &ends, &has_end) && has_end &&
           number_of(doc, "nbf", &begins, &has_begin) &&
           number_of(doc, "iat", &issued, &has_issue) && now < ends + leeway &&
           (!has_begin || now >= begins - leeway) && (!has_issue || now >= issued - leeway);
}

static bool is_for(struct arena *arena, const struct json_doc *doc, struct span audience)
{
    uint32_t node = json_member(doc, 0, SPAN("aud"));
    struct span text;
    bool found = false;
    if (node == JSON_NONE)
        return false;
    if (doc->nodes[node].kind != JSON_KIND_ARRAY)
        return jose_text(arena, doc, node, &text) && span_equal(text, audience);
    for (uint32_t at = doc->nodes[node].child; at != JSON_NONE; at = doc->nodes[at].next) {
        if (!jose_text(arena, doc, at, &text))
            return false;
        found = found || span_equal(text, audience);
    }
    return found;
}

/* It becomes a part of heads, logs and tables. */
static bool is_subject(struct span subject)
{
    for (size_t i = 0; i < subject.len; i++)
        if ((unsigned char)subject.ptr[i] < 0x20 || subject.ptr[i] == 0x7f)
            return false;
    return subject.len > 0 && subject.len <= SUBJECT_BYTES_MAX;
}

/* A token that is bound to a key or a certificate of its bearer (`cnf`) is worth nothing to
 * whoever cannot look at that. The issuer has no blank, so the two cannot be parted otherwise. */
static bool read_claims(const struct conf_jwt *jwt, const struct owner_request *request,
                        struct arena *arena, struct span text, struct span *ret_owner)
{
    struct json_doc doc;
    struct span issuer, subject;
    if (!jws_parse(arena, text, &doc) || jws_has(&doc, "cnf") ||
        !jws_text(arena, &doc, "iss", &issuer) || !span_equal(issuer, jwt->issuer) ||
        !jws_text(arena, &doc, "sub", &subject) || !is_subject(subject) ||
        !is_for(arena, &doc, jwt->audience) || !is_in_time(&doc, jwt->leeway_ms, request->now_ms))
        return false;
    *ret_owner =
        arena_print(arena, "%.*s %.*s", (int)issuer.len, issuer.ptr, (int)subject.len, subject.ptr);
    return ret_owner->len > 0;
}

static enum owner_verdict identify(const struct conf_owner *entry,
                                   const struct owner_request *request, struct arena *arena,
                                   struct span *ret_owner)
{
    const struct jws_policy policy = {
        .keys = &entry->jwt->keys, .algorithms = entry->jwt->algorithms, .type = entry->jwt->type};
    struct span value, credential, claims;
    enum owner_verdict verdict = owner_one_line(request->head, entry->header, &value);
    if (verdict == OWNER_OK)
        verdict = owner_after_scheme(value, entry->scheme, &credential);
    if (verdict != OWNER_OK)
        return verdict;
    if (!owner_is_token68(credential))
        return OWNER_MALFORMED;
    bool is_good = jws_open(&policy, arena, credential, &claims) &&
                   read_claims(entry->jwt, request, arena, claims, ret_owner);
    if (!is_good && arena_has_failed(arena))
        return OWNER_NO_MEMORY;
    return is_good ? OWNER_OK : OWNER_BAD;
}

static struct span challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                             struct arena *arena)
{
    struct span realm = entry->realm.len > 0 ? entry->realm : SPAN("recibo");
    return owner_bearer_challenge(entry->scheme, realm, verdict, arena);
}

static struct span field(const struct conf_owner *entry)
{
    return entry->header;
}

const struct owner_scheme owner_scheme_jwt = {identify, challenge, field};
