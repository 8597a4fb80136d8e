/* The owner by the peer's address: the longest prefix that holds it. Never looks at
 * forwarding headers, which anybody can write. */
#include "gateway/owners/scheme.h"

static enum owner_verdict identify(const struct conf_owner *entry,
                                   const struct owner_request *request, struct arena *arena,
                                   struct span *ret_owner)
{
    (void)arena; /* the owner is the configuration's text */
    uint8_t address[16];
    if (!owner_peer_address(request->peer, address))
        return OWNER_FORBIDDEN;
    const struct conf_network *network =
        conf_network_find(entry->networks, entry->network_count, address);
    if (network == NULL)
        return OWNER_FORBIDDEN;
    *ret_owner = network->owner;
    return OWNER_OK;
}

const struct owner_scheme owner_scheme_network = {identify, NULL, NULL};
