/* The local effects of a configuration as the store wants them. Threads: any. */
#ifndef RECIBO_GATEWAY_EFFECTS_H
#define RECIBO_GATEWAY_EFFECTS_H

#include "conf/conf.h"
#include "store/effect.h"

/* By local_policy.index. *ret_count 0: there are none. NULL and not 0: out of memory. The
 * texts are the configuration's; freed with free(). */
struct store_effect *effects_new(const struct conf *conf, uint32_t *ret_count);
/* Would the database take them? Asks one in memory; no file is touched. */
GW_MUST_CHECK enum gw_status effects_check(const struct conf *conf, struct gw_error *err);

#endif
