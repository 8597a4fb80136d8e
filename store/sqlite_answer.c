/* A returned row as a JSON object. It must never show a value as another one: what
 * JSON cannot hold is no answer. */
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "policy/utf8.h"
#include "store/sqlite.h"

#define REAL_BYTES 40 /* sign, 17 digits, point, exponent, and room */

static bool is_utf8(struct span text)
{
    for (size_t at = 0; at < text.len;) {
        size_t len = utf8_sequence(text, at);
        if (len == 0)
            return false;
        at += len;
    }
    return true;
}

/* The shortest text that is read back as the same number. */
static bool add_real(double value, struct gw_buf *out)
{
    char text[REAL_BYTES];
    if (!isfinite(value))
        return false;
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value); /* it fits */
        if (strtod(text, NULL) == value)
            break;
    }
    bool is_integral = strpbrk(text, ".e") == NULL;
    (void)gw_buf_print(out, "%s%s", text, is_integral ? ".0" : ""); /* seen by the caller */
    return true;
}

/* false: JSON has no such value. A full buffer is seen by the caller. */
static bool add_value(struct sqlite3_stmt *statement, int column, struct gw_buf *out)
{
    struct span text;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        (void)gw_buf_add(out, SPAN("null")); /* see above */
        return true;
    case SQLITE_INTEGER:
        (void)gw_buf_print(out, "%lld", (long long)sqlite3_column_int64(statement, column));
        return true;
    case SQLITE_FLOAT:
        return add_real(sqlite3_column_double(statement, column), out);
    case SQLITE_TEXT:
        text = sqlite_bytes(statement, column);
        if (!is_utf8(text))
            return false;
        gw_json_string(out, text);
        return true;
    }
    return false; /* bytes */
}

enum effect_refusal sqlite_answer_row(struct sqlite3_stmt *statement, struct gw_buf *out)
{
    int count = sqlite3_column_count(statement);
    bool is_fit = true;
    (void)gw_buf_byte(out, '{'); /* a full buffer is seen below */
    for (int i = 0; i < count && is_fit; i++) {
        if (i > 0)
            (void)gw_buf_byte(out, ',');
        gw_json_string(out, span_str(sqlite3_column_name(statement, i)));
        (void)gw_buf_byte(out, ':');
        is_fit = add_value(statement, i, out);
    }
    (void)gw_buf_byte(out, '}');
    return is_fit && !out->failed ? EFFECT_DONE : EFFECT_UNFIT;
}
