/* Tables for people: columns that line up, and that fit the terminal. It must never
 * cut what somebody has to copy: the first column stays whole. */
#include "gateway/commands/terminal.h"
#include "gateway/commands/words.h"

#define NARROWEST 8 /* columns that a cut cell keeps */
#define GAP       2
#define DOTS      3

struct table_row {
    struct table_row *next;
    struct span cells[TABLE_COLUMNS_MAX];
};

struct table {
    struct arena *arena;
    uint32_t columns, rows;
    uint32_t widths[TABLE_COLUMNS_MAX];
    bool is_number[TABLE_COLUMNS_MAX];
    struct table_row *first, **last;
};

static struct span cut(struct arena *arena, struct span text)
{
    if (text_columns(text) <= TABLE_CUT_AT)
        return text;
    return arena_print(arena, "%.*s...", (int)text_fit(text, TABLE_CUT_AT - DOTS), text.ptr);
}

bool table_add(struct table *table, const struct span *cells)
{
    struct table_row *row = arena_take(table->arena, sizeof(*row));
    if (row == NULL || table->rows == TABLE_ROWS_MAX)
        return false;
    for (uint32_t i = 0; i < table->columns; i++) {
        struct gw_buf shown;
        gw_buf_init(&shown, 65536);
        words_print(&shown, cells[i].len == 0 ? SPAN("-") : cells[i]);
        bool kept =
            arena_copy(table->arena, cut(table->arena, gw_buf_span(&shown)), &row->cells[i]);
        gw_buf_fini(&shown);
        if (!kept)
            return false;
        uint32_t width = text_columns(row->cells[i]);
        table->widths[i] = width > table->widths[i] ? width : table->widths[i];
    }
    *table->last = row;
    table->last = &row->next;
    table->rows++;
    return true;
}

struct table *table_new(struct arena *arena, const char *const *headers, uint32_t count)
{
    gw_assert(count <= TABLE_COLUMNS_MAX);
    struct table *table = arena_take(arena, sizeof(*table));
    struct span cells[TABLE_COLUMNS_MAX];
    if (table == NULL)
        return NULL;
    table->arena = arena;
    table->columns = count;
    table->last = &table->first;
    for (uint32_t i = 0; i < count; i++) {
        table->is_number[i] = headers[i][0] == '>';
        cells[i] = span_str(headers[i] + (table->is_number[i] ? 1 : 0));
    }
    return table_add(table, cells) ? table : NULL;
}

/* ---- printing ---- */

/* How it is printed: widths by terminal; 0 hides a column. */
struct layout {
    uint32_t widths[TABLE_COLUMNS_MAX];
    uint32_t sum; /* with the gaps */
};

/* Nothing stands in it but "-" and "0". */
static bool says_nothing(const struct table *table, uint32_t column)
{
    for (const struct table_row *row = table->first->next; row != NULL; row = row->next)
        if (!span_equal(row->cells[column], SPAN("-")) &&
            !span_equal(row->cells[column], SPAN("0")))
            return false;
    return true;
}

/* The widest column that may become narrower; `columns`: there is none. */
static uint32_t widest(const struct table *table, const struct layout *layout)
{
    uint32_t found = table->columns;
    for (uint32_t i = 1; i < table->columns; i++)
        if (!table->is_number[i] && layout->widths[i] > NARROWEST &&
            (found == table->columns || layout->widths[i] > layout->widths[found]))
            found = i;
    return found;
}

static void fit(const struct table *table, uint32_t room, struct layout *ret)
{
    ret->sum = GAP * (table->columns - 1);
    for (uint32_t i = 0; i < table->columns; i++)
        ret->sum += ret->widths[i] = table->widths[i];
    if (room == 0)
        return;
    for (uint32_t i = table->columns - 1; i > 0 && ret->sum > room; i--)
        if (says_nothing(table, i)) {
            ret->sum -= ret->widths[i] + GAP;
            ret->widths[i] = 0;
        }
    while (ret->sum > room) {
        uint32_t at = widest(table, ret);
        if (at == table->columns)
            break; /* the terminal folds the lines then */
        ret->widths[at]--;
        ret->sum--;
    }
}

/* Words that catch the eye, in whatever column they stand. */
static enum style style_of(struct span cell)
{
    static const struct {
        const char *word;
        enum style style;
    } words[] = {{"unknown", STYLE_WARN},   {"contradicted", STYLE_BAD}, {"open", STYLE_BAD},
                 {"completed", STYLE_GOOD}, {"executed", STYLE_GOOD},    {"failed", STYLE_BAD}};
    for (size_t i = 0; i < GW_COUNT(words); i++)
        if (span_equal(cell, span_str(words[i].word)))
            return words[i].style;
    return STYLE_PLAIN;
}

static void print_cell(struct gw_buf *out, struct span cell, uint32_t width, enum style style)
{
    if (text_columns(cell) <= width) {
        terminal_print(out, style, cell);
        return;
    }
    cell.len = text_fit(cell, width - DOTS);
    terminal_print(out, style, cell);
    (void)gw_buf_print(out, "%*s...", (int)(width - DOTS - text_columns(cell)),
                       ""); /* a failed buffer stays marked */
}

static void print_row(const struct table *table, const struct table_row *row,
                      const struct layout *layout, struct gw_buf *out)
{
    uint32_t last = table->columns - 1;
    while (last > 0 && layout->widths[last] == 0)
        last--;
    for (uint32_t i = 0; i <= last; i++) {
        struct span cell = row->cells[i];
        uint32_t width = layout->widths[i], taken = text_columns(cell);
        int pad = taken < width ? (int)(width - taken) : 0;
        if (width == 0)
            continue;
        /* A failed buffer stays marked. */
        if (table->is_number[i])
            (void)gw_buf_print(out, "%*s", pad, "");
        print_cell(out, cell, width, row == table->first ? STYLE_HEAD : style_of(cell));
        if (!table->is_number[i] && i < last)
            (void)gw_buf_print(out, "%*s", pad, "");
        (void)gw_buf_add(out, i < last ? SPAN("  ") : SPAN("\n"));
    }
}

void table_print(const struct table *table, struct gw_buf *out)
{
    struct layout layout;
    fit(table, terminal_columns(), &layout);
    for (const struct table_row *row = table->first; row != NULL; row = row->next)
        print_row(table, row, &layout, out);
}
