/* Operations as CSV (RFC 4180) that a spreadsheet cannot take for a formula. Threads:
 * the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_CSV_H
#define RECIBO_GATEWAY_COMMANDS_CSV_H

#include "base/arena.h"
#include "base/buf.h"

#include <jansson.h>

#define CSV_LABELS_MAX        256
#define CSV_LABELS_MAX_OF_ONE 16 /* a route has at most 8 */

/* The operations so far, and the names of all their labels: each becomes a column. */
struct csv {
    struct arena *arena;
    struct span labels[CSV_LABELS_MAX];
    uint32_t label_count;
    struct csv_row *first, **last;
    uint64_t rows;
};
void csv_init(struct csv *csv, struct arena *arena);
/* false: no room for more. */
bool csv_add(struct csv *csv, const json_t *operation) GW_MUST_CHECK;
/* Hands the text out piece by piece; false: `put` said so. */
bool csv_write(const struct csv *csv, bool (*put)(void *ctx, struct span text), void *ctx);

#endif
