/* What this process knows of its own place among the gateways on one store: under which
 * number it leases, and until when it may believe so. Written by the committer after a
 * heart-beat, read by any thread. It must never say longer than the database does. */
#ifndef RECIBO_STORE_HOLDING_H
#define RECIBO_STORE_HOLDING_H

#include <stdatomic.h>

#include "store/backend.h"

struct holding {
    _Atomic int64_t holder;      /* 0: none yet */
    _Atomic int64_t until_ticks; /* exclusive */
};

/* A heart-beat came back. asked_ticks: the monotonic time before it was sent. */
struct holding_news {
    struct store_beat beat;
    int64_t asked_ticks;
    int64_t wall_ms; /* of this process, when it was sent */
    int64_t took_ms; /* until it was back */
};
enum holding_said {
    HOLDING_RENEWED,
    HOLDING_SLOW, /* it took so long that nothing is known of the clocks: as if it were lost */
    HOLDING_FAR,  /* this process's clock is too far from the database's: it holds nothing until
                   * that is put right */
};
enum holding_said holding_renew(struct holding *holding, const struct holding_news *news);
bool holding_holds(const struct holding *holding, int64_t holder, int64_t ticks);

#endif
