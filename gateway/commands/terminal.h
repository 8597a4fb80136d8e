/* Who reads standard output: a person at a terminal, or a program. Threads: the main
 * one. */
#ifndef RECIBO_GATEWAY_COMMANDS_TERMINAL_H
#define RECIBO_GATEWAY_COMMANDS_TERMINAL_H

#include "base/buf.h"

enum style { STYLE_PLAIN, STYLE_HEAD, STYLE_GOOD, STYLE_WARN, STYLE_BAD };

/* Columns of the terminal; 0: it is none, or it does not say. */
uint32_t terminal_columns(void);
/* Is standard error a terminal, so that a line may be written over? */
bool terminal_shows_progress(void);
/* The text, between the marks of its style where there are colours. It is printed as
 * it is: what comes from outside goes through words_print first. */
void terminal_print(struct gw_buf *out, enum style style, struct span text);

/* How many columns a text takes, and how many of its bytes fit into so many. */
uint32_t text_columns(struct span text);
size_t text_fit(struct span text, uint32_t columns);

#endif
