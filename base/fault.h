/* Fault points: named places where a test makes this process crash, a call fail, or
 * a thread stand still. Without RECIBO_FAULTS nothing of it is compiled in.
 *
 * With it the environment says what happens, once, at the count-th time that the
 * place is reached (1 without a count):
 *
 *     RECIBO_FAULT="name:crash[:count]"    the process is gone, as after kill -9
 *     RECIBO_FAULT="name:error[:count]"    GW_FAULT(name) is true: the caller fails
 *     RECIBO_FAULT="name:delay=MS[:count]" the thread stands still
 *
 * What happened is said on standard error. Threads: any. */
#ifndef RECIBO_BASE_FAULT_H
#define RECIBO_BASE_FAULT_H

#include "base/base.h"

#ifdef RECIBO_FAULTS
enum gw_fault {
#define FAULT(name, can_fail, doc) GW_FAULT_##name,
#include "base/fault.def"
#undef FAULT
    GW_FAULT_COUNT,
};

/* true: the caller fails as if the system had refused. */
bool gw_fault_hit(enum gw_fault fault);
#define GW_FAULT(name) gw_fault_hit(GW_FAULT_##name)
#else
#define GW_FAULT(name) false
#endif

#endif
