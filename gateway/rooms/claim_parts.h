/* What the files of the room `claim` share; nobody else includes it. */
#ifndef RECIBO_GATEWAY_ROOMS_CLAIM_PARTS_H
#define RECIBO_GATEWAY_ROOMS_CLAIM_PARTS_H

#include "gateway/flow.h"

enum claim_stage {
    CLAIM_ENTER,
    CLAIM_ASKED,      /* the claim or the look-up came back */
    CLAIM_RETAKEN,    /* a released row was claimed again */
    CLAIM_FORGOTTEN,  /* a row whose time is over was removed */
    CLAIM_LAPSED,     /* a dead lease was put on record */
    CLAIM_CONSUMED,   /* an operator's verdict was marked as told */
    CLAIM_TOUCHED,    /* a repeat of an unknown was counted */
    CLAIM_WAITING,    /* for the first call, or standing back after it was refused */
    CLAIM_PROMISED,   /* a free row was accepted for later */
    CLAIM_AHEAD,      /* a free row was claimed, and is not sent yet */
    CLAIM_GONE_ON,    /* the next attempt was put on record as sent */
    CLAIM_GIVEN_BACK, /* what was claimed is not sent after all */
};

/* ---- claim.c ---- */
enum flow_next claim_failed(struct flow *flow); /* the store */
enum flow_next claim_look_again(struct flow *flow);
/* PROBLEM_NONE: the stored answer. */
enum flow_next claim_answer(struct flow *flow, enum outcome outcome, enum problem problem);
/* `submitted`: an operation is in the store's hands, and comes back to this stage. */
enum flow_next claim_park(struct flow *flow, enum claim_stage stage, bool submitted);
/* Takes a place in flight if there is one. */
enum admit_gate claim_gate(struct flow *flow);

/* ---- claim_next.c: what starts something, and what follows its commit ---- */
enum flow_next next_claim_ahead(struct flow *flow);
enum flow_next next_is_claimed_ahead(struct flow *flow);
enum flow_next next_promise(struct flow *flow);
enum flow_next next_was_promised(struct flow *flow);
enum flow_next next_resend(struct flow *flow);
/* This walk is the next attempt of flow->row. */
enum flow_next next_go_on(struct flow *flow);
enum flow_next next_went_on(struct flow *flow);
enum flow_next next_was_given_back(struct flow *flow);

#endif
