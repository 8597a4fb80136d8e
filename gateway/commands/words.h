/* Printing for people: values of the API without terminal tricks, ages, tables.
 * Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_WORDS_H
#define RECIBO_GATEWAY_COMMANDS_WORDS_H

#include "base/arena.h"
#include "base/buf.h"

#include <jansson.h>

/* A string member; empty: not there, or no string. */
struct span words_of(const json_t *object, const char *name);
int64_t words_number(const json_t *object, const char *name);
bool words_is_true(const json_t *object, const char *name);

/* The text with everything that a terminal could take for an order, and everything
 * that turns its direction, spelled out: \n, \x1b, \u{202e}. */
void words_print(struct gw_buf *out, struct span text);
/* "2026-11-30T02:11:04Z" -> "41 min", by `now_ms`; "-" when there is no time. */
void words_print_age(struct gw_buf *out, struct span time, int64_t now_ms);
/* In UTC: "02:11:04" of today, "2026-11-30 02:11" of another day; "-" when there is none. */
void words_print_moment(struct gw_buf *out, struct span time, int64_t now_ms);
/* 3812 -> "3,812" */
void words_print_count(struct gw_buf *out, int64_t number);
/* {"order": "7"} -> "order=7 name=x" */
void words_print_labels(struct gw_buf *out, const json_t *labels);
/* Writes a buffer to standard output and clears it. */
void words_flush(struct gw_buf *out);

#define TABLE_COLUMNS_MAX 12
#define TABLE_ROWS_MAX    100000
struct table;
/* headers: count of them; one that begins with ">" is for numbers, set to the right. */
struct table *table_new(struct arena *arena, const char *const *headers, uint32_t count);
/* cells: as many as there are headers; copied, cut at TABLE_CUT_AT columns. false: no more fit. */
bool table_add(struct table *table, const struct span *cells);
void table_print(const struct table *table, struct gw_buf *out);
#define TABLE_CUT_AT 60

#endif
