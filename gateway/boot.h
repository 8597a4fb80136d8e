/* The process: sockets, store, workers, operator plane, signals, drain. */
#ifndef RECIBO_GATEWAY_BOOT_H
#define RECIBO_GATEWAY_BOOT_H

#include "conf/conf.h"

/* Serves until SIGTERM or SIGINT, then drains. GW_OK: everything ended as it should.
 * GW_INVALID: the configuration does not fit the store; `accepts_dropped` lets it. */
GW_MUST_CHECK enum gw_status boot_serve(struct conf *conf, bool accepts_dropped,
                                        struct gw_error *err);

#endif
