/* Who asked, and by which address: the X-Forwarded-* and Forwarded fields of the
 * upstream's request (RFC 7239; STANDARDS FWD-7). Part of the call's head. */
#ifndef RECIBO_GATEWAY_FORWARDED_H
#define RECIBO_GATEWAY_FORWARDED_H

#include "gateway/flow.h"

/* Appends to flow->call_head. What a trusted proxy says is passed on and added to;
 * what anybody else claims is replaced. false: out of memory. */
bool forwarded_write(struct flow *flow) GW_MUST_CHECK;

#endif
