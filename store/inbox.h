/* The committer's side of an inbox. For store/ alone. */
#ifndef RECIBO_STORE_INBOX_H
#define RECIBO_STORE_INBOX_H

#include "store/store.h"

/* A chain by op->next, all of one inbox, in the order their done() shall run. */
void inbox_deliver(struct store_inbox *inbox, struct store_op *first, struct store_op *last);

#endif
