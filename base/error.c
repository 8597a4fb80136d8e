/* Error texts and the assertion handler. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum gw_status gw_error_set(struct gw_error *err, enum gw_status status, const char *fmt, ...)
{
    gw_assert(status != GW_OK && status < GW_STATUS_COUNT);
    if (err == NULL)
        return status;
    err->status = status;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(err->text, sizeof(err->text), fmt, args); /* a long text is cut, by design */
    va_end(args);
    return status;
}

void gw_error_wrap(struct gw_error *err, const char *fmt, ...)
{
    if (err == NULL)
        return;
    char before[sizeof(err->text)];
    char inner[sizeof(err->text)];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(before, sizeof(before), fmt, args); /* cut, by design */
    va_end(args);
    memcpy(inner, err->text, sizeof(inner));
    inner[sizeof(inner) - 1] = '\0';
    (void)snprintf(err->text, sizeof(err->text), "%.240s: %.255s", before, inner); /* likewise */
}

_Noreturn void gw_assert_fail(const char *expr, const char *file, int line)
{
    (void)fprintf(stderr, "recibo: assertion failed: %s (%s:%d)\n", expr, file,
                  line); /* last word */
    abort();
}
