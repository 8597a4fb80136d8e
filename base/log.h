/* One event a line, on standard error. Only gateway/ calls this. A line carries
 * a fixed event name and key=value pairs; keys of operations, bodies and
 * credentials never. Characters of values that could forge or hide a line are
 * escaped, bytes that are no UTF-8 marked. Threads: any. */
#ifndef RECIBO_BASE_LOG_H
#define RECIBO_BASE_LOG_H

#include "base/base.h"

enum gw_log_level { GW_LOG_DEBUG, GW_LOG_INFO, GW_LOG_WARN, GW_LOG_ERROR };
enum gw_log_format { GW_LOG_TEXT, GW_LOG_JSON };

/* At start, before threads. Default: info, text. */
void gw_log_setup(enum gw_log_level level, enum gw_log_format format);
/* From here on a slow or full standard error holds nobody up (base/log_writer.h). */
void gw_log_start(void);
void gw_log_stop(void); /* writes what waits, within a bound */
bool gw_log_is_on(enum gw_log_level level);

struct gw_log_pair {
    const char *name;
    struct span text; /* used when ptr is not NULL */
    int64_t number;
};
#define GW_LOG_END                                                                                 \
    {                                                                                              \
        NULL, {NULL, 0}, 0                                                                         \
    }
/* pairs ends with GW_LOG_END. */
void gw_log(enum gw_log_level level, const char *event, const struct gw_log_pair *pairs);
/* Shorthand for one free text: event msg="...". */
void gw_log_text(enum gw_log_level level, const char *event, const char *fmt, ...) GW_PRINTF(3, 4);

#endif
