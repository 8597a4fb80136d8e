/* Reads the idempotency key out of its field lines: quoted and bare spellings
 * become one canonical text. Never repairs: a value that is not wholly right is
 * refused, and a broken quoted form is never read as a bare one. */
#include "policy/key.h"

#include "policy/rules.h"

/* What may come at all in a key, quoted or bare. */
static bool is_printable(char c)
{
    return c >= 0x20 && c <= 0x7e;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c)
{
    return is_small(gw_lower(c));
}

static bool span_has(struct span set, char c)
{
    for (size_t i = 0; i < set.len; i++)
        if (set.ptr[i] == c)
            return true;
    return false;
}

static bool is_blank(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] != ' ' && text.ptr[i] != '\t')
            return false;
    return true;
}

static struct span without_spaces(struct span text)
{
    while (text.len > 0 && text.ptr[0] == ' ')
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && text.ptr[text.len - 1] == ' ')
        text.len--;
    return text;
}

static enum key_verdict refuse(struct key_fault *ret_fault, const char *text)
{
    gw_assert(text != NULL);
    ret_fault->text = text;
    return KEY_INVALID;
}

/* ---- structured fields (RFC 9651): a cursor over one value ---- */

struct cursor {
    struct span text;
    size_t at;
};

/* NUL at the end: no grammar here lets a NUL pass, so the two need no telling apart. */
static char peek(const struct cursor *cursor)
{
    return cursor->at < cursor->text.len ? cursor->text.ptr[cursor->at] : '\0';
}

static bool take(struct cursor *cursor, char c)
{
    if (cursor->at >= cursor->text.len || cursor->text.ptr[cursor->at] != c)
        return false;
    cursor->at++;
    return true;
}

static void skip_spaces(struct cursor *cursor)
{
    while (take(cursor, ' '))
        continue;
}

/* room == NULL: only checks. */
static bool take_string(struct cursor *cursor, char *room, size_t *ret_len)
{
    size_t len = 0;
    if (!take(cursor, '"'))
        return false;
    while (cursor->at < cursor->text.len) {
        char c = cursor->text.ptr[cursor->at++];
        if (c == '"') {
            *ret_len = len;
            return true;
        }
        if (c == '\\') {
            c = peek(cursor);
            if (c != '"' && c != '\\')
                return false;
            cursor->at++;
        }
        if (!is_printable(c))
            return false;
        if (room != NULL)
            room[len] = c;
        len++;
    }
    return false;
}

static size_t take_digits(struct cursor *cursor)
{
    size_t count = 0;
    for (; is_digit(peek(cursor)); cursor->at++)
        count++;
    return count;
}

#define INTEGER_DIGITS_MAX  15
#define WHOLE_DIGITS_MAX    12
#define FRACTION_DIGITS_MAX 3

static bool take_number(struct cursor *cursor, bool integer_only)
{
    (void)take(cursor, '-'); /* the sign may be absent */
    size_t whole = take_digits(cursor);
    if (whole == 0 || whole > INTEGER_DIGITS_MAX)
        return false;
    if (peek(cursor) != '.')
        return true;
    if (integer_only || whole > WHOLE_DIGITS_MAX)
        return false;
    cursor->at++;
    size_t fraction = take_digits(cursor);
    return fraction >= 1 && fraction <= FRACTION_DIGITS_MAX;
}

static bool is_token_byte(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && span_has(SPAN("!#$%&'*+-.^_`|~:/"), c));
}

/* ":" base64 ":", with the lenience that the standard gives to parsers. */
static bool take_bytes(struct cursor *cursor)
{
    if (!take(cursor, ':'))
        return false;
    while (is_letter(peek(cursor)) || is_digit(peek(cursor)) || peek(cursor) == '+' ||
           peek(cursor) == '/' || peek(cursor) == '=')
        cursor->at++;
    return take(cursor, ':');
}

static bool is_small_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/* %"...": the escapes are checked, the UTF-8 within them does not matter to a
 * parameter that nobody reads. */
static bool take_display_string(struct cursor *cursor)
{
    if (!take(cursor, '%') || !take(cursor, '"'))
        return false;
    while (cursor->at < cursor->text.len) {
        char c = cursor->text.ptr[cursor->at++];
        if (c == '"')
            return true;
        if (!is_printable(c))
            return false;
        if (c != '%')
            continue;
        for (int i = 0; i < 2; i++, cursor->at++)
            if (!is_small_hex(peek(cursor)))
                return false;
    }
    return false;
}

static bool take_bare_item(struct cursor *cursor)
{
    size_t ignored_len;
    char c = peek(cursor);
    if (c == '"')
        return take_string(cursor, NULL, &ignored_len);
    if (c == '-' || is_digit(c))
        return take_number(cursor, false);
    if (c == ':')
        return take_bytes(cursor);
    if (c == '%')
        return take_display_string(cursor);
    if (take(cursor, '?'))
        return take(cursor, '0') || take(cursor, '1');
    if (take(cursor, '@'))
        return take_number(cursor, true);
    if (c != '*' && !is_letter(c))
        return false;
    while (is_token_byte(peek(cursor)))
        cursor->at++;
    return true;
}

/* Parameters say nothing about identity (KEY-7), but a value whose parameters are
 * broken is a broken value. */
static bool take_parameters(struct cursor *cursor)
{
    while (take(cursor, ';')) {
        skip_spaces(cursor);
        if (peek(cursor) != '*' && !is_small(peek(cursor)))
            return false;
        while (is_small(peek(cursor)) || is_digit(peek(cursor)) ||
               (peek(cursor) != '\0' && span_has(SPAN("_-.*"), peek(cursor))))
            cursor->at++;
        if (take(cursor, '=') && !take_bare_item(cursor))
            return false;
    }
    return true;
}

/* ---- the rules of the product ---- */

#define UUID_BYTES 36

static bool is_uuid(struct span text)
{
    if (text.len != UUID_BYTES)
        return false;
    for (size_t i = 0; i < UUID_BYTES; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? text.ptr[i] != '-' : !is_small_hex(gw_lower(text.ptr[i])))
            return false;
    }
    return true;
}

/* What a decoded key must satisfy in whatever way it came. */
static enum key_verdict check_text(const struct key_grammar *grammar, struct span key,
                                   struct key_fault *ret_fault)
{
    gw_assert(grammar->bytes_min <= grammar->bytes_max);
    if (key.len == 0)
        return refuse(ret_fault, "The key is empty.");
    if (key.len < grammar->bytes_min)
        return refuse(ret_fault, "The key is shorter than this route allows.");
    if (key.len > grammar->bytes_max)
        return refuse(ret_fault, "The key is longer than this route allows.");
    if (key.ptr[0] == ' ' || key.ptr[key.len - 1] == ' ')
        return refuse(ret_fault, "The key begins or ends with a space.");
    if (grammar->uuid && !is_uuid(key))
        return refuse(ret_fault, "The key is not a UUID (8-4-4-4-12 hexadecimal digits), "
                                 "which this route asks for.");
    if (grammar->pattern.len > 0 && !glob_fits(grammar->pattern, key, false))
        return refuse(ret_fault, "The key does not fit the pattern that this route asks for.");
    return KEY_OK;
}

/* A comma could be two joined lines and a quote could be half of a quoted form, so
 * no configuration lets them in. */
static bool is_bare_byte(const struct key_grammar *grammar, char c, bool is_first)
{
    if (!is_printable(c) || c == ',' || c == '"')
        return false;
    return is_letter(c) || is_digit(c) || span_has(SPAN("-._~:/+="), c) ||
           (c == '@' && !is_first) || span_has(grammar->extra, c);
}

static enum key_verdict check_bare(const struct key_grammar *grammar, struct span text,
                                   struct key_fault *ret_fault)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_bare_byte(grammar, text.ptr[i], i == 0))
            return refuse(ret_fault, "The key holds a character that is not allowed here. Letters, "
                                     "digits and - . _ ~ : / + = are, and @ after the first "
                                     "character; more is allowed in a header in double quotes.");
    return check_text(grammar, text, ret_fault);
}

static enum key_verdict read_quoted(const struct key_grammar *grammar, struct span value,
                                    char *room, size_t *ret_len, struct key_fault *ret_fault)
{
    struct cursor cursor = {.text = value};
    size_t len = 0;
    if (!take_string(&cursor, room, &len))
        return refuse(ret_fault, "The quoted key is broken: it needs an end quote, printable "
                                 "ASCII, and no escapes but \\\" and \\\\.");
    if (!take_parameters(&cursor) || cursor.at != value.len)
        return refuse(ret_fault, "After the quoted key comes something that is not a parameter; "
                                 "one key is allowed, not a list.");
    gw_assert(len <= value.len);
    enum key_verdict verdict = check_text(grammar, span_of(room, len), ret_fault);
    if (verdict == KEY_OK)
        *ret_len = len;
    return verdict;
}

enum key_verdict key_from_lines(const struct key_grammar *grammar, const struct span *lines,
                                uint32_t line_count, char *room, size_t *ret_len,
                                struct key_fault *ret_fault)
{
    gw_assert(grammar != NULL);
    gw_assert(room != NULL);
    if (line_count == 0)
        return KEY_MISSING;
    if (line_count > 1)
        return refuse(ret_fault, "The key field comes more than once. Send it in one line.");
    if (is_blank(lines[0]))
        return KEY_MISSING;
    struct span value = without_spaces(lines[0]);
    if (value.ptr[0] == '"')
        return read_quoted(grammar, value, room, ret_len, ret_fault);
    if (grammar->strict)
        return refuse(ret_fault, "This route accepts the key only in double quotes.");
    enum key_verdict verdict = check_bare(grammar, value, ret_fault);
    if (verdict != KEY_OK)
        return verdict;
    memcpy(room, value.ptr, value.len);
    *ret_len = value.len;
    return KEY_OK;
}

enum key_verdict key_from_text(const struct key_grammar *grammar, struct span text,
                               struct key_fault *ret_fault)
{
    gw_assert(grammar != NULL);
    if (is_blank(text))
        return KEY_MISSING;
    return check_bare(grammar, text, ret_fault);
}

size_t key_to_sf_string(struct span key, char *room)
{
    gw_assert(room != NULL);
    size_t len = 0;
    room[len++] = '"';
    for (size_t i = 0; i < key.len; i++) {
        if (key.ptr[i] == '"' || key.ptr[i] == '\\')
            room[len++] = '\\';
        room[len++] = key.ptr[i];
    }
    room[len++] = '"';
    gw_assert(len <= 2 * key.len + 2);
    return len;
}
