/* Cuts an SQL text into tokens as SQLite does, as far as strings, comments, words and
 * parameters go. It must never look for a word inside a string or a comment. */
#include "policy/sql_text.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool begins_word(char c)
{
    char lower = gw_lower(c);
    return (lower >= 'a' && lower <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_in_word(char c)
{
    return begins_word(c) || is_digit(c) || c == '$';
}

static char byte_at(const struct sql_text *sql, size_t at)
{
    return at < sql->text.len ? sql->text.ptr[at] : '\0';
}

/* Behind the comment that begins at `at`; `at` itself: there is none. */
static size_t skip_comment(const struct sql_text *sql, size_t at, bool *ret_ends)
{
    *ret_ends = true;
    if (byte_at(sql, at) == '-' && byte_at(sql, at + 1) == '-') {
        while (at < sql->text.len && sql->text.ptr[at] != '\n')
            at++;
        return at;
    }
    if (byte_at(sql, at) != '/' || byte_at(sql, at + 1) != '*')
        return at;
    at += 2;
    while (at < sql->text.len && (sql->text.ptr[at] != '*' || byte_at(sql, at + 1) != '/'))
        at++;
    *ret_ends = at < sql->text.len;
    return *ret_ends ? at + 2 : sql->text.len;
}

/* false: a comment does not end. */
static bool skip_blanks(struct sql_text *sql)
{
    bool ends = true;
    while (ends && sql->at < sql->text.len) {
        size_t behind = sql->at;
        if (is_blank(sql->text.ptr[behind]))
            behind++;
        else
            behind = skip_comment(sql, behind, &ends);
        if (behind == sql->at)
            break;
        sql->at = behind;
    }
    return ends;
}

/* Behind the closing quote, which stands for itself when it is doubled; 0: it is not there. */
static size_t skip_quoted(const struct sql_text *sql, size_t at, char close, bool may_double)
{
    for (at++; at < sql->text.len; at++) {
        if (sql->text.ptr[at] != close)
            continue;
        if (!may_double || byte_at(sql, at + 1) != close)
            return at + 1;
        at++;
    }
    return 0;
}

static size_t skip_while(const struct sql_text *sql, size_t at, bool (*fits)(char))
{
    while (at < sql->text.len && fits(sql->text.ptr[at]))
        at++;
    return at;
}

static enum sql_token quoted(struct sql_text *sql, char open, struct span *ret)
{
    size_t start = sql->at;
    size_t end = skip_quoted(sql, start, open == '[' ? ']' : open, open != '[');
    sql->at = end == 0 ? sql->text.len : end;
    *ret = span_of(sql->text.ptr + start, sql->at - start);
    return end == 0 ? SQL_TOKEN_BROKEN : SQL_TOKEN_OTHER;
}

static enum sql_token plain(struct sql_text *sql, struct span *ret)
{
    size_t start = sql->at, end = start + 1;
    char c = sql->text.ptr[start];
    enum sql_token kind = SQL_TOKEN_OTHER;
    if (begins_word(c)) {
        kind = SQL_TOKEN_WORD;
        end = skip_while(sql, end, is_in_word);
    } else if (is_digit(c)) {
        end = skip_while(sql, end, is_in_word);
    } else if (c == '?') {
        kind = SQL_TOKEN_PARAMETER;
        end = skip_while(sql, end, is_digit);
    } else if ((c == ':' || c == '@' || c == '$') && is_in_word(byte_at(sql, end))) {
        kind = SQL_TOKEN_PARAMETER;
        end = skip_while(sql, end, is_in_word);
    } else if (c == ';') {
        kind = SQL_TOKEN_SEMICOLON;
    }
    sql->at = end;
    *ret = span_of(sql->text.ptr + start, end - start);
    return kind;
}

enum sql_token sql_text_next(struct sql_text *sql, struct span *ret)
{
    gw_assert(sql->at <= sql->text.len);
    *ret = span_of("", 0);
    if (!skip_blanks(sql))
        return SQL_TOKEN_BROKEN;
    if (sql->at == sql->text.len)
        return SQL_TOKEN_END;
    char c = sql->text.ptr[sql->at];
    if (c == '\'' || c == '"' || c == '`' || c == '[')
        return quoted(sql, c, ret);
    return plain(sql, ret);
}
