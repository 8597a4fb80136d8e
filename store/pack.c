/* The packed spelling: a version byte, then numbers of seven bits a byte (lowest
 * first, in their only shortest spelling) and runs of bytes behind their length.
 * Nothing may follow the last item. Taking must never read past its input, nor
 * believe a count before the bytes are there. */
#include "store/pack.h"

#define PACK_VERSION     1
#define STATUS_MAX       999
#define NUMBER_BYTES_MAX 10

void pack_put_number(struct gw_buf *out, uint64_t value)
{
    while (value >= 0x80) {
        (void)gw_buf_byte(out, (char)(value | 0x80)); /* the buffer remembers a failure */
        value >>= 7;
    }
    (void)gw_buf_byte(out, (char)value); /* likewise */
}

void pack_put_bytes(struct gw_buf *out, struct span bytes)
{
    pack_put_number(out, bytes.len);
    (void)gw_buf_add(out, bytes); /* the buffer remembers a failure */
}

void pack_put_start(struct gw_buf *out, uint64_t count)
{
    (void)gw_buf_byte(out, PACK_VERSION); /* the buffer remembers a failure */
    pack_put_number(out, count);
}

uint8_t pack_take_byte(struct pack_reader *r)
{
    if (r->failed || r->at >= r->from.len) {
        r->failed = true;
        return 0;
    }
    return (uint8_t)r->from.ptr[r->at++];
}

/* Up to `max`; a longer spelling than needed is refused, so that a packed part
 * has one form only. */
uint64_t pack_take_number(struct pack_reader *r, uint64_t max)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        uint8_t byte = pack_take_byte(r);
        uint64_t bits = byte & 0x7f;
        bool too_big = i == NUMBER_BYTES_MAX - 1 && bits > 1;
        bool too_long = i > 0 && byte == 0;
        if (r->failed || too_big || too_long)
            break;
        value |= bits << (7 * i);
        if ((byte & 0x80) == 0 && value <= max)
            return value;
        if ((byte & 0x80) == 0)
            break;
    }
    r->failed = true;
    return 0;
}

struct span pack_take_bytes(struct pack_reader *r)
{
    size_t len = (size_t)pack_take_number(r, SIZE_MAX);
    if (r->failed || len > r->from.len - r->at) {
        r->failed = true;
        return span_of("", 0);
    }
    struct span bytes = span_of(r->from.ptr + r->at, len);
    r->at += len;
    return bytes;
}

/* The count of items; each takes at least one byte, so a count larger than what
 * is left is a lie that must not cost memory. */
uint32_t pack_take_start(struct pack_reader *r, uint32_t count_max)
{
    if (pack_take_byte(r) != PACK_VERSION)
        r->failed = true;
    uint32_t count = (uint32_t)pack_take_number(r, count_max);
    if (r->failed || count > r->from.len - r->at)
        r->failed = true;
    return r->failed ? 0 : count;
}

bool pack_is_at_end(const struct pack_reader *r)
{
    return !r->failed && r->at == r->from.len;
}

uint16_t pack_take_status(struct pack_reader *r)
{
    uint64_t status = pack_take_number(r, STATUS_MAX);
    if (status != 0 && status < 100)
        r->failed = true;
    return (uint16_t)status;
}
