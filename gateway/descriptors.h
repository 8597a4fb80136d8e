/* Are there descriptors enough for what the configuration promises? */
#ifndef RECIBO_GATEWAY_DESCRIPTORS_H
#define RECIBO_GATEWAY_DESCRIPTORS_H

#include "conf/conf.h"

/* Raises this process's limit to what the configuration needs. Where the system does
 * not allow that, limits.connections is lowered and a warning says so: callers must
 * not take the descriptors that serving them needs. Before anything shares conf. */
void descriptors_reserve(struct conf *conf);

#endif
