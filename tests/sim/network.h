/* What the port's stand-in and the network behind it share. */
#ifndef RECIBO_TESTS_SIM_NETWORK_H
#define RECIBO_TESTS_SIM_NETWORK_H

#include "tests/sim/sim.h"

struct upstream_call {
    struct upstream_port *port;
    struct upstream_call *next;
    struct upstream_call_options options;
    struct attempt *attempt;   /* NULL: by a planted bug nobody has committed it */
    struct delivery *delivery; /* NULL: not all bytes left */
    int64_t start_ticks;
    uint64_t bytes_out, bytes_in;
    uint16_t status;
    enum attempt_end end;
    bool is_late;
    struct sim_timer open_timer, answer_timer, end_timer;
};

enum delivery_back {
    BACK_ANSWER,
    BACK_RESET,
    BACK_CLOSED,
    BACK_CUT,
    BACK_BAD,
    BACK_SILENT,
    BACK_COUNT
};

/* A whole request on its way: the world's, not the process's. */
struct delivery {
    struct world *world;
    struct delivery *next;
    struct upstream_call *call; /* NULL: nobody listens any more */
    struct attempt *attempt;
    struct sim_timer timer;
    bool lands, runs;
    enum delivery_back back;
    uint16_t status;
    size_t padding;
    bool is_refusal; /* said in the body */
    uint32_t wish_s; /* Retry-After; 0: none */
    uint64_t run_id;
    bool is_question; /* a probe: for the operation below */
    char operation_id[OPERATION_ID_BYTES + 1];
};

void network_send(struct upstream_call *call);
/* The owner of the answer is the receiver. */
void network_make_answer(const struct delivery *delivery, struct upstream_answer *ret);
/* The call is over; its bytes go their way. */
void network_let_go(struct upstream_call *call);
void network_end_later(struct upstream_call *call, enum attempt_end end, int64_t delay_ms);
/* For the story. */
unsigned long long network_token(const struct upstream_call *call);

#endif
