/* A growing run of bytes with a maximum. A failed append leaves the buffer as it
 * was and marks it failed; so a writer may append many times and ask once at the
 * end. Threads: one at a time. */
#ifndef RECIBO_BASE_BUF_H
#define RECIBO_BASE_BUF_H

#include "base/base.h"

struct gw_buf {
    char *ptr;
    size_t len, cap;
    size_t bytes_max;
    bool failed;
};

void gw_buf_init(struct gw_buf *buf, size_t bytes_max);
void gw_buf_fini(struct gw_buf *buf);  /* frees and leaves an empty buffer with the same maximum */
void gw_buf_clear(struct gw_buf *buf); /* keeps the memory; clears `failed` */
/* false: over bytes_max or out of memory. */
bool gw_buf_add(struct gw_buf *buf, struct span bytes);
bool gw_buf_byte(struct gw_buf *buf, char c);
bool gw_buf_print(struct gw_buf *buf, const char *fmt, ...) GW_PRINTF(2, 3);
/* Room for at least `bytes` more without another allocation. */
bool gw_buf_reserve(struct gw_buf *buf, size_t bytes);
void gw_buf_drop(struct gw_buf *buf, size_t bytes); /* from the front */
/* The text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void gw_json_string(struct gw_buf *buf, struct span text);
static inline struct span gw_buf_span(const struct gw_buf *buf)
{
    return span_of(buf->ptr == NULL ? "" : buf->ptr, buf->len);
}

#endif
