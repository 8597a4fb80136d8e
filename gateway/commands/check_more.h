/* What `recibo check` does beside reading the file. Both print to standard output and return
 * the exit code. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_CHECK_MORE_H
#define RECIBO_GATEWAY_COMMANDS_CHECK_MORE_H

#include "conf/conf.h"

/* --expect: each request of the file is led by the configuration, and compared. */
int check_expect(const struct conf *conf, const char *file);
/* --live: asks each upstream, with GETs only. */
int check_live(const struct conf *conf);

#endif
