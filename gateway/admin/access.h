/* Who may call: the name the request was sent to, the page it comes from, its
 * token. Pure but for the digest. Threads: any. */
#ifndef RECIBO_GATEWAY_ADMIN_ACCESS_H
#define RECIBO_GATEWAY_ADMIN_ACCESS_H

#include "conf/conf.h"

/* Is the request meant for us? Loopback names and addresses with any port, or the
 * configured address; a name that resolves to us by somebody else's doing is not. */
bool access_host_is_ours(const struct conf_address *admin, struct span host);
/* A name or an address, perhaps with a port: fit to be put into a link. */
bool access_host_is_plain(struct span host);
/* No Origin at all, or that of a page served from this very host. */
bool access_origin_is_ours(struct span origin, struct span host);
/* The token whose digest fits; every digest is compared. NULL: none. */
const struct conf_token *access_token(const struct conf *conf, struct span text);
/* The token of an Authorization value; empty: another scheme, or broken. */
struct span access_bearer(struct span authorization);
/* Is it application/json, with or without parameters? */
bool access_is_json(struct span content_type);
const char *access_right_name(enum admin_right right); /* "read" */
/* "read, settle" */
void access_print_rights(uint32_t rights, struct gw_buf *out);

#endif
