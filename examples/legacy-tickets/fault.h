/* Faults on demand: how a request asks, in the header X-Fault, for the accident
 * that the gateway exists for. Only parsing; nothing here touches a connection.
 * Threads: pure. */
#ifndef RECIBO_EXAMPLES_FAULT_H
#define RECIBO_EXAMPLES_FAULT_H

#include "base/base.h"

#define FAULT_DELAY_MAX_MS 600000
#define FAULT_CUT_MAX      (1 << 20)

enum fault_ending {
    FAULT_ANSWER,       /* none: the whole answer goes out */
    FAULT_LOSE_ANSWER,  /* the work is done, the connection is closed without an answer */
    FAULT_RESET_BEFORE, /* nothing is done, the connection is reset */
    FAULT_CUT,          /* the work is done, the answer breaks off in its body */
};

struct fault {
    enum fault_ending ending;
    int64_t delay_ms; /* between the work and the ending */
    size_t cut_bytes; /* of the body, for FAULT_CUT */
    int status;       /* 0: the status that the work gave */
};

/* One or more of `lose-answer`, `reset-before`, `delay=MS`, `cut=BYTES` and
 * `status=CODE`, separated by commas. text NULL: no fault. false: not understood,
 * or two endings at once; *ret_fault is then untouched. */
bool fault_parse(const char *text, struct fault *ret_fault) GW_MUST_CHECK;

#endif
