/* Reads CSV (RFC 4180) field by field: quotes with line ends inside, CRLF or LF, a
 * byte-order mark. Strict: what could be read in two ways is a fault with its place,
 * never a guess. Pure: fields are views of the text. */
#ifndef RECIBO_POLICY_CSV_READER_H
#define RECIBO_POLICY_CSV_READER_H

#include "base/base.h"

enum csv_next {
    CSV_FIELD, /* *ret_field is the next one */
    CSV_END,   /* there is no more */
    CSV_FAULT, /* reader->fault says why, at its line and column; it stays so */
};

struct csv_reader {
    struct span text; /* borrowed */
    char separator;   /* ',' as a rule */
    size_t at;
    uint32_t line, column; /* of the next byte, from 1; columns are bytes */
    uint32_t empty_lines;  /* were passed over */
    bool is_inside;        /* a separator came before: one more field belongs to the record */
    const char *fault;     /* static; NULL: none */
};

struct csv_field {
    struct span raw; /* without its quotes; a quote inside is still doubled */
    bool has_quotes; /* there are doubled ones inside */
    bool is_quoted;  /* it stood in quotes: not empty by accident */
    bool is_last;    /* of its record */
    uint32_t line, column;
};

void csv_reader_init(struct csv_reader *reader, struct span text, char separator);
/* Lines without a byte between two records are passed over, and counted. */
GW_MUST_CHECK enum csv_next csv_reader_next(struct csv_reader *reader, struct csv_field *ret_field);
/* The field's content; `to` has room for raw.len bytes. How many it is. */
size_t csv_field_content(const struct csv_field *field, char *to);

#endif
