/* The process: sockets, store, workers, operator plane, signals, drain. */
#ifndef RECIBO_GATEWAY_BOOT_H
#define RECIBO_GATEWAY_BOOT_H

#include "conf/conf.h"

enum boot_end {
    BOOT_DONE,   /* everything ended as it should */
    BOOT_FAILED, /* it could not start */
    BOOT_UNFIT,  /* the configuration would forget what the store holds */
};

/* Serves until SIGTERM or SIGINT, then drains. `accepts_dropped`: receipts of routes that
 * are gone may lose their protection. Unless it is BOOT_DONE, err says why. */
GW_MUST_CHECK enum boot_end boot_serve(struct conf *conf, bool accepts_dropped,
                                       struct gw_error *err);

#endif
