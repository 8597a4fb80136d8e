/* What a supervisor is told (sd_notify(3): datagrams to $NOTIFY_SOCKET, no library). Without
 * one nobody is told, and nothing fails. Threads: any; nothing is kept between two calls. */
#ifndef RECIBO_GATEWAY_NOTIFY_H
#define RECIBO_GATEWAY_NOTIFY_H

#include "base/base.h"

void notify_ready(const char *configuration); /* serving, under the file of this hash */
void notify_reloading(void);                  /* until notify_ready() */
void notify_stopping(int64_t drain_ms);
void notify_alive(void);
/* How often the supervisor wants to hear that all is well; 0: it does not. */
int64_t notify_watchdog_ms(void);

#endif
