/* Collecting what is wrong with a file, so that it can be said all at once, and
 * saying it safely: a value is shown cut and with its control characters escaped.
 * Threads: one at a time. */
#ifndef RECIBO_CONF_FINDINGS_H
#define RECIBO_CONF_FINDINGS_H

#include "conf/conf.h"

struct findings {
    const char *file;
    struct conf_report *report; /* borrowed */
    bool has_error;
    bool no_memory;
};

struct finding_place {
    uint32_t line, column; /* 0: of no line, the whole file */
    const char *path;      /* "routes[2].retention"; empty: none */
    bool is_warning;
};

void findings_add(struct findings *findings, const struct finding_place *place, const char *fmt,
                  ...) GW_PRINTF(3, 4);
/* Puts them in the order of the file. */
void findings_sort(struct findings *findings);

#define SHOWN_BYTES 96
/* A value as a message may show it: escaped, and cut with "..." where it is long. */
void value_shown(struct span value, char ret_text[SHOWN_BYTES]);

#endif
