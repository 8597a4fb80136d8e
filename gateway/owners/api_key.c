/* A secret in a header, bare or after a scheme's word. The secret is known to us by
 * its SHA-256 alone, and every key is compared, so that the time taken does not say
 * how far a guess got (AUTH-5, AUTH-6). */
#include "base/digest.h"
#include "gateway/owners/scheme.h"

static bool is_bearer(const struct conf_owner *entry)
{
    return span_equal_nocase(entry->scheme, SPAN("Bearer"));
}

static bool is_visible(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 0x21 || text.ptr[i] > 0x7e)
            return false;
    return true;
}

static enum owner_verdict take_secret(const struct conf_owner *entry, const struct http_head *head,
                                      struct span *ret_secret)
{
    struct span value, secret;
    enum owner_verdict verdict = owner_one_line(head, entry->header, &value);
    if (verdict != OWNER_OK || entry->scheme.len == 0) {
        if (verdict == OWNER_OK)
            *ret_secret = value;
        return verdict;
    }
    verdict = owner_after_scheme(value, entry->scheme, &secret);
    if (verdict != OWNER_OK)
        return verdict;
    if (is_bearer(entry) ? !owner_is_token68(secret) : !is_visible(secret))
        return OWNER_MALFORMED;
    *ret_secret = secret;
    return OWNER_OK;
}

static enum owner_verdict identify(const struct conf_owner *entry,
                                   const struct owner_request *request, struct arena *arena,
                                   struct span *ret_owner)
{
    (void)arena; /* the owner is the configuration's text */
    struct span secret;
    uint8_t digest[GW_SHA256_BYTES];
    const struct conf_owner_key *found = NULL;
    enum owner_verdict verdict = take_secret(entry, request->head, &secret);
    if (verdict != OWNER_OK)
        return verdict;
    gw_sha256_once(secret, digest);
    for (uint32_t i = 0; i < entry->key_count; i++)
        if (gw_equal_constant_time(entry->keys[i].sha256, digest, sizeof(digest)))
            found = &entry->keys[i];
    if (found == NULL)
        return OWNER_BAD;
    *ret_owner = found->owner;
    return OWNER_OK;
}

/* RFC 6750 3.1 gives Bearer its words; a bare header has no registered scheme, so
 * the challenge names the header that is missing. */
static struct span challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                             struct arena *arena)
{
    struct span realm = entry->realm.len > 0 ? entry->realm : SPAN("recibo");
    if (entry->scheme.len == 0)
        return arena_print(arena, "ApiKey realm=\"%.*s\", header=\"%.*s\"", (int)realm.len,
                           realm.ptr, (int)entry->header.len, entry->header.ptr);
    if (is_bearer(entry))
        return owner_bearer_challenge(entry->scheme, realm, verdict, arena);
    return arena_print(arena, "%.*s realm=\"%.*s\"", (int)entry->scheme.len, entry->scheme.ptr,
                       (int)realm.len, realm.ptr);
}

static struct span field(const struct conf_owner *entry)
{
    return entry->header;
}

const struct owner_scheme owner_scheme_api_key = {identify, challenge, field};
