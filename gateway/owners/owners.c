/* The table of schemes and what they share. Never decides by itself who somebody is. */
#include "gateway/owners/owners.h"

#include "gateway/owners/scheme.h"
#include "policy/headers.h"

#include <netinet/in.h>

static const struct owner_scheme *const schemes[] = {
    [OWNER_API_KEY] = &owner_scheme_api_key, [OWNER_BASIC] = &owner_scheme_basic,
    [OWNER_HEADER] = &owner_scheme_header,   [OWNER_NETWORK] = &owner_scheme_network,
    [OWNER_STATIC] = &owner_scheme_static,   [OWNER_JWT] = &owner_scheme_jwt,
};

static const struct owner_scheme *scheme_of(const struct conf_owner *entry)
{
    gw_assert(entry != NULL);
    gw_assert((size_t)entry->kind < GW_COUNT(schemes));
    return schemes[entry->kind];
}

enum owner_verdict owner_identify(const struct conf_owner *entry,
                                  const struct owner_request *request, struct arena *arena,
                                  struct span *ret_owner)
{
    struct span owner = {NULL, 0};
    enum owner_verdict verdict = scheme_of(entry)->identify(entry, request, arena, &owner);
    if (verdict != OWNER_OK)
        return verdict;
    gw_assert(owner.len > 0); /* an empty owner would be shared by everybody */
    *ret_owner = owner;
    return OWNER_OK;
}

struct span owner_challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                            struct arena *arena)
{
    const struct owner_scheme *scheme = scheme_of(entry);
    return scheme->challenge == NULL ? SPAN("") : scheme->challenge(entry, verdict, arena);
}

bool owner_uses_field(const struct conf_owner *entry, struct span name)
{
    const struct owner_scheme *scheme = scheme_of(entry);
    return scheme->field != NULL && header_same_cgi_name(scheme->field(entry), name);
}

enum owner_verdict owner_one_line(const struct http_head *head, struct span name,
                                  struct span *ret_value)
{
    const struct http_field *first = http_head_find(head, name, 0);
    if (first == NULL)
        return OWNER_NONE;
    if (http_head_find(head, name, (uint32_t)(first - head->fields) + 1) != NULL)
        return OWNER_MALFORMED;
    if (first->value.len == 0)
        return OWNER_NONE;
    *ret_value = first->value;
    return OWNER_OK;
}

enum owner_verdict owner_after_scheme(struct span value, struct span scheme,
                                      struct span *ret_credential)
{
    if (value.len < scheme.len || !span_equal_nocase(span_of(value.ptr, scheme.len), scheme))
        return OWNER_NONE;
    size_t at = scheme.len;
    if (at < value.len && value.ptr[at] != ' ')
        return OWNER_NONE; /* a longer word */
    while (at < value.len && value.ptr[at] == ' ')
        at++;
    if (at == value.len)
        return OWNER_MALFORMED;
    *ret_credential = span_of(value.ptr + at, value.len - at);
    return OWNER_OK;
}

static bool is_letter_or_digit(char c)
{
    return (gw_lower(c) >= 'a' && gw_lower(c) <= 'z') || (c >= '0' && c <= '9');
}

bool owner_is_token68(struct span text)
{
    size_t at = 0;
    while (at < text.len &&
           (is_letter_or_digit(text.ptr[at]) || memchr("-._~+/", text.ptr[at], 6) != NULL))
        at++;
    if (at == 0)
        return false;
    while (at < text.len && text.ptr[at] == '=')
        at++;
    return at == text.len;
}

struct span owner_bearer_challenge(struct span scheme, struct span realm,
                                   enum owner_verdict verdict, struct arena *arena)
{
    const char *error = "";
    if (verdict == OWNER_BAD)
        error = ", error=\"invalid_token\"";
    else if (verdict == OWNER_MALFORMED)
        error = ", error=\"invalid_request\"";
    return arena_print(arena, "%.*s realm=\"%.*s\"%s", (int)scheme.len, scheme.ptr, (int)realm.len,
                       realm.ptr, error);
}

bool owner_peer_address(const struct sockaddr *peer, uint8_t ret_address[16])
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (peer == NULL)
        return false;
    if (peer->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, peer, sizeof(in)); /* the caller's bytes need not be aligned for it */
        memcpy(ret_address, mapped, sizeof(mapped));
        memcpy(ret_address + sizeof(mapped), &in.sin_addr, 4);
        return true;
    }
    if (peer->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, peer, sizeof(in6)); /* as above */
        memcpy(ret_address, &in6.sin6_addr, 16);
        return true;
    }
    return false;
}
