/* The words of a local effect's statements: what can be seen without a database. What
 * it lets through SQLite still judges, behind an authorizer. */
#include "policy/local.h"
#include "policy/sql_text.h"

const struct span local_parameter_names[LOCAL_PARAMETER_COUNT] = {
    [LOCAL_OWNER] = {"owner", 5},
    [LOCAL_OPERATION_ID] = {"operation_id", 12},
    [LOCAL_KEY] = {"key", 3},
    [LOCAL_BODY] = {"body", 4},
};

static bool is_one_of(struct span word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (span_equal_nocase(word, span_str(words[i])))
            return true;
    return false;
}

/* OR ROLLBACK and ON CONFLICT ROLLBACK end the whole transaction, with the operations
 * of others in it. */
static bool is_rollback(enum sql_token token, struct span word)
{
    return token == SQL_TOKEN_WORD && span_equal_nocase(word, SPAN("ROLLBACK"));
}

static bool is_known(const struct local_policy *local, struct span parameter)
{
    if (parameter.ptr[0] != ':')
        return false;
    struct span name = span_of(parameter.ptr + 1, parameter.len - 1);
    for (uint32_t i = 0; i < local->name_count; i++)
        if (span_equal(local->names[i], name))
            return true;
    return false;
}

enum sql_fault local_check_statement(const struct local_policy *local, struct span *ret_word)
{
    static const char *const verbs[] = {"INSERT", "UPDATE", "DELETE", "REPLACE", "WITH"};
    struct sql_text sql = {.text = local->statement};
    bool has_returning = false, is_over = false;
    enum sql_token token = sql_text_next(&sql, ret_word);
    if (token == SQL_TOKEN_END)
        return SQL_FAULT_EMPTY;
    if (token != SQL_TOKEN_WORD || !is_one_of(*ret_word, verbs, GW_COUNT(verbs)))
        return token == SQL_TOKEN_BROKEN ? SQL_FAULT_BROKEN : SQL_FAULT_VERB;
    while ((token = sql_text_next(&sql, ret_word)) != SQL_TOKEN_END) {
        if (token == SQL_TOKEN_BROKEN)
            return SQL_FAULT_BROKEN;
        if (is_over)
            return SQL_FAULT_SEVERAL;
        if (is_rollback(token, *ret_word))
            return SQL_FAULT_ROLLBACK;
        if (token == SQL_TOKEN_PARAMETER && !is_known(local, *ret_word))
            return SQL_FAULT_PARAMETER;
        is_over = token == SQL_TOKEN_SEMICOLON;
        has_returning |= token == SQL_TOKEN_WORD && span_equal_nocase(*ret_word, SPAN("RETURNING"));
    }
    return has_returning ? SQL_FAULT_NONE : SQL_FAULT_RETURNING;
}

enum sql_fault local_check_setup(struct span setup, struct span *ret_word)
{
    static const char *const verbs[] = {"CREATE"};
    struct sql_text sql = {.text = setup};
    bool begins = true;
    for (;;) {
        enum sql_token token = sql_text_next(&sql, ret_word);
        if (token == SQL_TOKEN_END)
            return SQL_FAULT_NONE;
        if (token == SQL_TOKEN_BROKEN)
            return SQL_FAULT_BROKEN;
        if (token == SQL_TOKEN_PARAMETER)
            return SQL_FAULT_PARAMETER;
        if (is_rollback(token, *ret_word))
            return SQL_FAULT_ROLLBACK;
        bool is_verb = token == SQL_TOKEN_WORD && is_one_of(*ret_word, verbs, GW_COUNT(verbs));
        if (begins && token != SQL_TOKEN_SEMICOLON && !is_verb)
            return SQL_FAULT_VERB;
        begins = token == SQL_TOKEN_SEMICOLON;
    }
}

bool local_uses(const struct local_policy *local, struct span name)
{
    struct sql_text sql = {.text = local->statement};
    struct span word;
    enum sql_token token = sql_text_next(&sql, &word);
    while (token != SQL_TOKEN_END && token != SQL_TOKEN_BROKEN) {
        if (token == SQL_TOKEN_PARAMETER && word.len > 1 &&
            span_equal(span_of(word.ptr + 1, word.len - 1), name))
            return true;
        token = sql_text_next(&sql, &word);
    }
    return false;
}
