/* Doubles its memory up to the maximum; never more. */
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void gw_buf_init(struct gw_buf *buf, size_t bytes_max)
{
    *buf = (struct gw_buf){.bytes_max = bytes_max};
}

void gw_buf_fini(struct gw_buf *buf)
{
    free(buf->ptr);
    gw_buf_init(buf, buf->bytes_max);
}

void gw_buf_clear(struct gw_buf *buf)
{
    buf->len = 0;
    buf->failed = false;
}

bool gw_buf_reserve(struct gw_buf *buf, size_t bytes)
{
    gw_assert(buf->len <= buf->bytes_max);
    if (bytes > buf->bytes_max - buf->len) {
        buf->failed = true;
        return false;
    }
    size_t need = buf->len + bytes;
    if (need <= buf->cap)
        return true;
    size_t cap = buf->cap < 256 ? 256 : buf->cap;
    while (cap < need)
        cap = cap > buf->bytes_max / 2 ? buf->bytes_max : cap * 2;
    char *ptr = realloc(buf->ptr, cap);
    if (ptr == NULL) {
        buf->failed = true;
        return false;
    }
    buf->ptr = ptr;
    buf->cap = cap;
    return true;
}

bool gw_buf_add(struct gw_buf *buf, struct span bytes)
{
    if (bytes.len == 0)
        return true;
    if (!gw_buf_reserve(buf, bytes.len))
        return false;
    memcpy(buf->ptr + buf->len, bytes.ptr, bytes.len);
    buf->len += bytes.len;
    return true;
}

bool gw_buf_byte(struct gw_buf *buf, char c)
{
    return gw_buf_add(buf, span_of(&c, 1));
}

bool gw_buf_print(struct gw_buf *buf, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    /* One byte more than the text: vsnprintf ends with a NUL that is not counted. */
    bool room = len >= 0 && (size_t)len < SIZE_MAX && buf->len + (size_t)len < buf->bytes_max &&
                gw_buf_reserve(buf, (size_t)len + 1);
    if (room) {
        (void)vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, again); /* just measured */
        buf->len += (size_t)len;
    } else {
        buf->failed = true;
    }
    va_end(again);
    return room;
}

void gw_buf_drop(struct gw_buf *buf, size_t bytes)
{
    gw_assert(bytes <= buf->len);
    if (bytes > 0 && bytes < buf->len)
        memmove(buf->ptr, buf->ptr + bytes, buf->len - bytes);
    buf->len -= bytes;
}
