/* The owner's id in a header that a proxy before us sets. Believed from listed
 * addresses only: from anybody else it is a forgery, whatever it says. */
#include "gateway/owners/scheme.h"

#define OWNER_ID_BYTES_MAX 128

static bool is_owner_id(struct span text)
{
    if (text.len == 0 || text.len > OWNER_ID_BYTES_MAX)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < 0x21 || text.ptr[i] > 0x7e)
            return false;
    return true;
}

static enum owner_verdict identify(const struct conf_owner *entry,
                                   const struct owner_request *request, struct arena *arena,
                                   struct span *ret_owner)
{
    uint8_t address[16];
    struct span value;
    if (!owner_peer_address(request->peer, address) ||
        conf_network_find(entry->trusted, entry->trusted_count, address) == NULL)
        return OWNER_FORBIDDEN;
    enum owner_verdict verdict = owner_one_line(request->head, entry->header, &value);
    if (verdict != OWNER_OK)
        return verdict;
    if (!is_owner_id(value))
        return OWNER_MALFORMED;
    return arena_copy(arena, value, ret_owner) ? OWNER_OK : OWNER_NO_MEMORY;
}

/* Nothing the caller itself could answer; a 401 must carry a challenge all the same. */
static struct span challenge(const struct conf_owner *entry, enum owner_verdict verdict,
                             struct arena *arena)
{
    (void)verdict; /* the same for all */
    return arena_print(arena, "ProxyHeader realm=\"recibo\", header=\"%.*s\"",
                       (int)entry->header.len, entry->header.ptr);
}

static struct span field(const struct conf_owner *entry)
{
    return entry->header;
}

const struct owner_scheme owner_scheme_header = {identify, challenge, field};
