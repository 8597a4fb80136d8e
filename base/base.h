/* What every folder shares: spans, statuses, errors, assertions, object tags and
 * the clock. Nothing here knows of requests or receipts. Threads: pure. */
#ifndef RECIBO_BASE_BASE_H
#define RECIBO_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GW_MUST_CHECK        __attribute__((warn_unused_result))
#define GW_FALLTHROUGH       __attribute__((fallthrough))
#define GW_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define GW_COUNT(array)      (sizeof(array) / sizeof((array)[0]))

/* A run of bytes that someone else owns. Not NUL-terminated. */
struct span {
    const char *ptr;
    size_t len;
};
#define SPAN(literal) ((struct span){(literal), sizeof(literal) - 1})

static inline struct span span_of(const char *ptr, size_t len)
{
    return (struct span){ptr, len};
}

static inline struct span span_str(const char *text)
{
    return (struct span){text, text == NULL ? 0 : strlen(text)};
}

static inline bool span_equal(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* As bytes; a prefix comes first. For sorting: negative, 0 or positive. */
static inline int span_order(struct span a, struct span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len == 0 ? 0 : memcmp(a.ptr, b.ptr, len);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}
static inline char gw_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}
/* Of a hexadecimal digit in either case; -1: it is none. */
static inline int gw_hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = gw_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ASCII case only; header names and media types need no more. */
static inline bool span_equal_nocase(struct span a, struct span b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (gw_lower(a.ptr[i]) != gw_lower(b.ptr[i]))
            return false;
    return true;
}

/* Why a call could not do its job. Expected outcomes are not errors: they are
 * enums of the module that produces them. */
enum gw_status {
    GW_OK = 0,
    GW_NOMEM,
    GW_INVALID,
    GW_LIMIT,
    GW_IO,
    GW_BUSY,
    GW_CORRUPT,
    GW_STATUS_COUNT,
};

struct gw_error {
    enum gw_status status;
    char text[504]; /* complete sentence fragment, fit to print as it is */
};

/* Both return the status kept in err; err may be NULL. */
enum gw_status gw_error_set(struct gw_error *err, enum gw_status status, const char *fmt, ...)
    GW_PRINTF(3, 4);
/* Puts "what I was doing: " in front of the text. */
void gw_error_wrap(struct gw_error *err, const char *fmt, ...) GW_PRINTF(2, 3);

_Noreturn void gw_assert_fail(const char *expr, const char *file, int line);
#define gw_assert(cond)  ((cond) ? (void)0 : gw_assert_fail(#cond, __FILE__, __LINE__))
#define gw_implies(a, b) gw_assert(!(a) || (b))

/* Object tags: a callback's void * is checked before it is believed. */
#define GW_TAG(name) uint32_t tag_##name
#define GW_CAST(to, from, name, tag)                                                               \
    do {                                                                                           \
        (to) = (from);                                                                             \
        gw_assert((to) != NULL);                                                                   \
        gw_assert((to)->tag_##name == (tag));                                                      \
    } while (0)

/* Time enters through one door, so that a test can own it. */
struct gw_clock {
    int64_t (*wall_ms)(struct gw_clock *);  /* since the epoch; goes to disk   */
    int64_t (*ticks_ms)(struct gw_clock *); /* monotonic; for timers only      */
};
/* The system's clock; borrowed, never freed. */
struct gw_clock *gw_clock_system(void);

#endif
