/* Figures of this process, from the kernel. What cannot be had is 0. */
#ifndef RECIBO_GATEWAY_ADMIN_PROCESS_H
#define RECIBO_GATEWAY_ADMIN_PROCESS_H

#include "base/base.h"

struct process_figures {
    uint64_t cpu_ms, resident_bytes, start_ms;
    uint32_t open_fds;
};
void process_look(struct process_figures *ret);

#endif
