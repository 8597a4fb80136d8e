/* The words of an SQL text, without a database: where its strings and comments are,
 * which parameters it names, where one statement ends. It knows no grammar; whether
 * the text means anything is SQLite's to say. Pure. */
#ifndef RECIBO_POLICY_SQL_TEXT_H
#define RECIBO_POLICY_SQL_TEXT_H

#include "base/base.h"

enum sql_token {
    SQL_TOKEN_END,
    SQL_TOKEN_WORD,      /* a keyword or a bare name */
    SQL_TOKEN_PARAMETER, /* :name, or @name, $name, ?1 */
    SQL_TOKEN_SEMICOLON,
    SQL_TOKEN_OTHER,  /* a quoted thing, a number, a sign */
    SQL_TOKEN_BROKEN, /* a quote or a comment that does not end; nothing follows */
};

struct sql_text {
    struct span text;
    size_t at; /* of the next byte to look at; begins with 0 */
};

/* The next token, comments and blanks left out; *ret is its text. */
enum sql_token sql_text_next(struct sql_text *sql, struct span *ret);

#endif
