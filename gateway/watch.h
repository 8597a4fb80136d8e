/* Tells the log once when the store can no longer be written, and once when it can. It
 * never acts: the store itself tries again. On the main thread. */
#ifndef RECIBO_GATEWAY_WATCH_H
#define RECIBO_GATEWAY_WATCH_H

#include "store/store.h"

#define WATCH_PERIOD_MS 200

struct watch {
    uint64_t failed; /* commits that had failed at the last look */
    bool is_failing;
};

/* Between two looks a failure may have come and gone: it is told, too. */
void watch_look(struct watch *watch, const struct store_stats *stats);

#endif
