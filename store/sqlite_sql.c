/* SQL texts with words in braces filled in, so that states and columns have one
 * definition each; and the statements of service, prepared. */
#include <sqlite3.h>
#include <stdio.h>

#include "base/buf.h"
#include "store/sqlite.h"

#define PREPARE_WORDS 96
#define SQL_BYTES_MAX 8192

static const char *const texts[SQL_COUNT] = {
#define SQL(name, text) text,
#include "store/sqlite_sql.def"
#undef SQL
};

static const char *const columns[COLUMN_COUNT] = {
#define COLUMN(name) "\"" #name "\"",
#include "store/sqlite_columns.def"
#undef COLUMN
};

/* Appends may fail: the buffer remembers, and sqlite_expand() looks. */
static void add_columns(struct gw_buf *out)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        (void)gw_buf_print(out, "%s%s", i == 0 ? "" : ", ", columns[i]);
}

static void add_numbered(struct gw_buf *out)
{
    for (int i = 0; i < COLUMN_COUNT; i++)
        (void)gw_buf_print(out, "%s?%d", i == 0 ? "" : ", ", i + 1);
}

/* What an ADVANCE may change. No value for request_kept: it stays as it is. */
static void add_changes(struct gw_buf *out)
{
    for (int i = COLUMN_state; i < COLUMN_request_kept; i++)
        (void)gw_buf_print(out, "%s = ?%d, ", columns[i], i + 1);
    (void)gw_buf_print(out, "request_kept = ifnull(?%d, request_kept)", COLUMN_request_kept + 1);
}

static void add_open_states(struct gw_buf *out)
{
    const char *comma = "";
    for (int i = RECEIPT_ABSENT + 1; i < RECEIPT_STATE_COUNT; i++) {
        if (walk_has_state((enum receipt_state)i)) {
            (void)gw_buf_print(out, "%s%d", comma, i);
            comma = ", ";
        }
    }
}

static void add_word(struct gw_buf *out, struct span word)
{
    if (span_equal(word, SPAN("columns")))
        add_columns(out);
    else if (span_equal(word, SPAN("numbered")))
        add_numbered(out);
    else if (span_equal(word, SPAN("changes")))
        add_changes(out);
    else if (span_equal(word, SPAN("open")))
        add_open_states(out);
    else if (span_equal(word, SPAN("last_state")))
        (void)gw_buf_print(out, "%d", RECEIPT_STATE_COUNT - 1);
    else if (span_equal(word, SPAN("marks")))
        (void)gw_buf_print(out, "%d", RECEIPT_MARKS_ALL);
    else if (span_equal(word, SPAN("contradicted")))
        (void)gw_buf_print(out, "%d", RECEIPT_CONTRADICTED);
    else {
        int state = 0;
        while (state < RECEIPT_STATE_COUNT &&
               !span_equal(word, span_str(receipt_state_name((enum receipt_state)state))))
            state++;
        gw_assert(state < RECEIPT_STATE_COUNT);
        (void)gw_buf_print(out, "%d", state);
    }
}

enum gw_status sqlite_expand(const char *text, struct gw_buf *out, struct gw_error *err)
{
    while (*text != '\0') {
        size_t plain = strcspn(text, "{");
        (void)gw_buf_add(out, span_of(text, plain));
        text += plain;
        if (*text == '\0')
            break;
        size_t word = strcspn(text, "}");
        gw_assert(text[word] == '}');
        add_word(out, span_of(text + 1, word - 1));
        text += word + 1;
    }
    (void)gw_buf_byte(out, '\0');
    return out->failed ? gw_error_set(err, GW_NOMEM, "out of memory for the store") : GW_OK;
}

static enum gw_status prepare_one(struct sqlite_store *s, enum sqlite_sql which,
                                  struct gw_buf *scratch, struct gw_error *err)
{
    gw_buf_clear(scratch);
    enum gw_status status = sqlite_expand(texts[which], scratch, err);
    if (status != GW_OK)
        return status;
    int rc = sqlite3_prepare_v3(s->db, scratch->ptr, (int)scratch->len, SQLITE_PREPARE_PERSISTENT,
                                &s->statements[which], NULL);
    if (rc == SQLITE_OK)
        return GW_OK;
    char doing[PREPARE_WORDS];
    (void)snprintf(doing, sizeof(doing), "preparing \"%.60s...\" in", scratch->ptr); /* it fits */
    return sqlite_fail(s, rc, doing, err);
}

enum gw_status sqlite_prepare(struct sqlite_store *s, struct gw_error *err)
{
    struct gw_buf scratch;
    gw_buf_init(&scratch, SQL_BYTES_MAX);
    enum gw_status status = GW_OK;
    for (int i = 0; i < SQL_COUNT && status == GW_OK; i++)
        status = prepare_one(s, (enum sqlite_sql)i, &scratch, err);
    gw_buf_fini(&scratch);
    return status;
}

void sqlite_finalize(struct sqlite_store *s)
{
    for (int i = 0; i < SQL_COUNT; i++) {
        (void)sqlite3_finalize(s->statements[i]); /* repeats the statement's last error */
        s->statements[i] = NULL;
    }
}
