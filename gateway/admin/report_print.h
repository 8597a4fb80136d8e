/* The members of a report's answer. Threads: the admin's loop. */
#ifndef RECIBO_GATEWAY_ADMIN_REPORT_PRINT_H
#define RECIBO_GATEWAY_ADMIN_REPORT_PRINT_H

#include "gateway/admin/call.h"
#include "gateway/admin/report.h"

struct report_print_options {
    const struct report *report; /* finished */
    struct span route;           /* that was asked for; empty: all */
    int64_t since_ms;            /* 0: from the beginning */
};
void report_print(struct call *call, const struct report_print_options *options);

#endif
