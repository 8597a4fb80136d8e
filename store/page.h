/* Pages of rows: filters, cursors and the bound on the work of one go. For store/ alone. */
#ifndef RECIBO_STORE_PAGE_H
#define RECIBO_STORE_PAGE_H

#include "store/table.h"

/* SCAN and LIST. Adds to op->out.rows. */
enum gw_status page_read(struct store_backend *backend, struct store_op *op, struct gw_error *err);

#endif
