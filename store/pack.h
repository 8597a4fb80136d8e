/* Putting numbers and runs of bytes together, and taking them apart without trust:
 * a reader that failed stays failed and gives zeros. For store/ alone. Threads: pure. */
#ifndef RECIBO_STORE_PACK_H
#define RECIBO_STORE_PACK_H

#include "base/buf.h"

struct pack_reader {
    struct span from;
    size_t at;
    bool failed;
};

/* The buffer remembers a failure. */
void pack_put_number(struct gw_buf *out, uint64_t value);
void pack_put_bytes(struct gw_buf *out, struct span bytes);
void pack_put_start(struct gw_buf *out, uint64_t count);

uint8_t pack_take_byte(struct pack_reader *r);
uint64_t pack_take_number(struct pack_reader *r, uint64_t max);
struct span pack_take_bytes(struct pack_reader *r);
uint32_t pack_take_start(struct pack_reader *r, uint32_t count_max);
uint16_t pack_take_status(struct pack_reader *r); /* 0, or of three digits */
bool pack_is_at_end(const struct pack_reader *r);

#endif
