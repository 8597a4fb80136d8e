/* Which bodies a local effect takes, and what the words of its statements say. */
#include "tests/lib/testlib.h"

#include "policy/local.h"
#include "policy/sql_text.h"

#define NODES_MAX 64

static const struct accept_member members[] = {
    {{"subject", 7}, ACCEPT_STRING},
    {{"count", 5}, ACCEPT_INTEGER | ACCEPT_NULL},
    {{"price", 5}, ACCEPT_NUMBER | ACCEPT_NULL},
    {{"open", 4}, ACCEPT_BOOLEAN | ACCEPT_NULL},
    {{"mixed", 5}, ACCEPT_STRING | ACCEPT_INTEGER | ACCEPT_NULL},
    {{"never", 5}, ACCEPT_NULL},
};
static const struct accept_policy policy = {members, GW_COUNT(members)};

/* NULL: it was taken. */
static const char *accept(const char *text, struct accept_value *values, struct span *ret_member)
{
    struct json_node nodes[NODES_MAX];
    uint32_t order[NODES_MAX];
    const struct json_limits limits = {.depth_max = 8, .nodes_max = NODES_MAX};
    struct json_fault fault;
    struct json_doc doc;
    uint32_t count = 0;
    struct accept_fault wrong = {.text = NULL};
    struct span span = span_str(text);
    assert_true(json_count(span, &limits, &count, &fault));
    assert_true(json_parse(span, &limits, nodes, order, count, &doc, &fault));
    if (accept_body(&policy, &doc, values, &wrong))
        return NULL;
    assert_non_null(wrong.text);
    *ret_member = wrong.member;
    return wrong.text;
}

/* Guards: a body is taken with the members that are named, of their types, and with no
 * other; the fault names the member. */
static void test_bodies(void **state)
{
    static const struct {
        const char *text, *member, *fault; /* fault NULL: it is taken */
    } cases[] = {
        {"{\"subject\": \"a\"}", "", NULL},
        {"{ \"count\": null, \"subject\" : \"\" }", "", NULL},
        {"{\"sub\\u006aect\": \"a\"}", "", NULL},
        {"{\"subject\": \"a\", \"count\": 7, \"price\": 1.5, \"open\": false, \"mixed\": 1}", "",
         NULL},
        {"{\"subject\": \"a\", \"mixed\": \"x\", \"never\": null}", "", NULL},
        {"{\"subject\": \"a\", \"price\": 12345678901234567890123}", "", NULL},
        {"{\"subject\": \"\\u00e9\\ud83d\\ude00\"}", "", NULL},
        {"{}", "subject", "is missing"},
        {"{\"count\": 1}", "subject", "is missing"},
        {"{\"subject\": null}", "subject", "must be a string"},
        {"{\"subject\": 1}", "subject", "must be a string"},
        {"{\"subject\": [\"a\"]}", "subject", "must be a string"},
        {"{\"subject\": {}}", "subject", "must be a string"},
        {"{\"subject\": true}", "subject", "must be a string"},
        {"{\"subject\": \"a\", \"count\": \"1\"}", "count", "must be an integer"},
        {"{\"subject\": \"a\", \"count\": 1.0}", "count",
         "must be an integer, written without a fraction or an exponent"},
        {"{\"subject\": \"a\", \"count\": 1e2}", "count",
         "must be an integer, written without a fraction or an exponent"},
        {"{\"subject\": \"a\", \"count\": 9223372036854775808}", "count",
         "is an integer that does not fit into 64 bits"},
        {"{\"subject\": \"a\", \"count\": -9223372036854775809}", "count",
         "is an integer that does not fit into 64 bits"},
        {"{\"subject\": \"a\", \"price\": \"1\"}", "price", "must be a number"},
        {"{\"subject\": \"a\", \"open\": 1}", "open", "must be true or false"},
        {"{\"subject\": \"a\", \"never\": 1}", "never", "must be null"},
        {"{\"subject\": \"a\", \"mixed\": true}", "mixed", "is of a type that is not taken here"},
        {"{\"subject\": \"a\\u0000b\"}", "subject", "holds the character U+0000"},
        {"{\"subject\": \"a\", \"owner\": \"other\"}", "owner", "is not taken here"},
        {"{\"subject\": \"a\", \"Subject\": \"b\"}", "Subject", "is not taken here"},
        {"{\"subject\": \"a\", \"\": 1}", "", "is not taken here"},
        {"[\"subject\"]", "", "must be a JSON object"},
        {"\"subject\"", "", "must be a JSON object"},
        {"null", "", "must be a JSON object"},
    };
    (void)state;
    struct accept_value values[GW_COUNT(members)];
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct span member = {"", 0};
        const char *fault = accept(cases[i].text, values, &member);
        bool is_right = cases[i].fault == NULL
                            ? fault == NULL
                            : fault != NULL && strcmp(fault, cases[i].fault) == 0;
        if (!is_right || !span_equal(member, span_str(cases[i].member)))
            fail_msg("%s: %.*s %s", cases[i].text, (int)member.len, member.ptr,
                     fault == NULL ? "is taken" : fault);
    }
}

/* Guards: values come out as what they are in the body, to the last digit. */
static void test_values(void **state)
{
    (void)state;
    struct accept_value values[GW_COUNT(members)];
    struct span member;
    assert_null(accept("{\"subject\": \"a\\n\", \"count\": -9223372036854775808, \"price\": 1.50,"
                       " \"open\": true}",
                       values, &member));
    assert_int_equal(values[0].kind, ACCEPTED_STRING);
    assert_true(span_equal(values[0].raw, SPAN("a\\n")) && values[0].has_escapes);
    assert_int_equal(values[1].kind, ACCEPTED_INTEGER);
    assert_true(values[1].integer == INT64_MIN);
    assert_int_equal(values[2].kind, ACCEPTED_REAL);
    assert_true(span_equal(values[2].raw, SPAN("1.50")));
    assert_int_equal(values[3].kind, ACCEPTED_INTEGER);
    assert_true(values[3].integer == 1);
    assert_int_equal(values[4].kind, ACCEPTED_NULL);
    assert_int_equal(values[5].kind, ACCEPTED_NULL);
    assert_null(accept("{\"subject\": \"\", \"count\": 9223372036854775807, \"price\": -0,"
                       " \"open\": false}",
                       values, &member));
    assert_int_equal(values[0].raw.len, 0);
    assert_true(values[1].integer == INT64_MAX);
    assert_true(values[2].kind == ACCEPTED_INTEGER && values[2].integer == 0);
    assert_true(values[3].kind == ACCEPTED_INTEGER && values[3].integer == 0);
}

static const struct span names[] = {{"owner", 5}, {"key", 3}, {"subject", 7}};

/* Guards: what the words of a statement already say against it is said, and nothing in a
 * string, a quoted name or a comment is taken for a word. */
static void test_statements(void **state)
{
    static const struct {
        const char *text;
        enum sql_fault fault;
        const char *word;
    } cases[] = {
        {"INSERT INTO t VALUES (:owner, :key) RETURNING *", SQL_FAULT_NONE, ""},
        {" /* ; */ -- ;\n insert into t values (1) returning a;", SQL_FAULT_NONE, ""},
        {"INSERT INTO t VALUES (1) RETURNING a ; -- :colour", SQL_FAULT_NONE, ""},
        {"WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x RETURNING a", SQL_FAULT_NONE, ""},
        {"DELETE FROM t RETURNING ':colour; ROLLBACK', \":x\", [:y], `?`", SQL_FAULT_NONE, ""},
        {"UPDATE t SET a = 'it''s; ' || :subject RETURNING a", SQL_FAULT_NONE, ""},
        {"UPDATE t SET \"a\"\"; \" = 1 RETURNING a", SQL_FAULT_NONE, ""},
        {"", SQL_FAULT_EMPTY, ""},
        {" -- nothing", SQL_FAULT_EMPTY, ""},
        {"SELECT 1", SQL_FAULT_VERB, "SELECT"},
        {"'INSERT'", SQL_FAULT_VERB, "'INSERT'"},
        {"EXPLAIN INSERT INTO t VALUES (1) RETURNING a", SQL_FAULT_VERB, "EXPLAIN"},
        {"INSERTS INTO t VALUES (1) RETURNING a", SQL_FAULT_VERB, "INSERTS"},
        {"INSERT INTO t VALUES (1)", SQL_FAULT_RETURNING, ""},
        {"INSERT INTO t VALUES ('RETURNING')", SQL_FAULT_RETURNING, ""},
        {"INSERT INTO t VALUES (1) -- RETURNING a", SQL_FAULT_RETURNING, ""},
        {"INSERT INTO t VALUES (1) RETURNING a; DELETE FROM t", SQL_FAULT_SEVERAL, "DELETE"},
        {"INSERT INTO t VALUES (1) RETURNING a;;", SQL_FAULT_SEVERAL, ";"},
        {"INSERT OR rollback INTO t VALUES (1) RETURNING a", SQL_FAULT_ROLLBACK, "rollback"},
        {"INSERT INTO t VALUES (:colour) RETURNING a", SQL_FAULT_PARAMETER, ":colour"},
        {"INSERT INTO t VALUES (:Owner) RETURNING a", SQL_FAULT_PARAMETER, ":Owner"},
        {"INSERT INTO t VALUES (:owner$) RETURNING a", SQL_FAULT_PARAMETER, ":owner$"},
        {"INSERT INTO t VALUES (@owner) RETURNING a", SQL_FAULT_PARAMETER, "@owner"},
        {"INSERT INTO t VALUES ($owner) RETURNING a", SQL_FAULT_PARAMETER, "$owner"},
        {"INSERT INTO t VALUES (?) RETURNING a", SQL_FAULT_PARAMETER, "?"},
        {"INSERT INTO t VALUES (?12) RETURNING a", SQL_FAULT_PARAMETER, "?12"},
        {"INSERT INTO t VALUES ('a) RETURNING a", SQL_FAULT_BROKEN, "'a) RETURNING a"},
        {"INSERT INTO t /* VALUES (1) RETURNING a", SQL_FAULT_BROKEN, ""},
        {"/*", SQL_FAULT_BROKEN, ""},
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        const struct local_policy local = {
            .statement = span_str(cases[i].text), .names = names, .name_count = GW_COUNT(names)};
        struct span word;
        enum sql_fault fault = local_check_statement(&local, &word);
        if (fault != cases[i].fault || !span_equal(word, span_str(cases[i].word)))
            fail_msg("%s: %d at '%.*s'", cases[i].text, (int)fault, (int)word.len, word.ptr);
    }
}

/* Guards: setup begins every statement with CREATE, and has no parameters. */
static void test_setup(void **state)
{
    static const struct {
        const char *text;
        enum sql_fault fault;
        const char *word;
    } cases[] = {
        {"", SQL_FAULT_NONE, ""},
        {"CREATE TABLE IF NOT EXISTS t(a); ; create index i on t(a); -- end", SQL_FAULT_NONE, ""},
        {"CREATE TABLE t(a DEFAULT ';DROP TABLE t')", SQL_FAULT_NONE, ""},
        {"CREATE TABLE t(a); DROP TABLE t", SQL_FAULT_VERB, "DROP"},
        {"PRAGMA synchronous = OFF", SQL_FAULT_VERB, "PRAGMA"},
        {"CREATE TABLE t(a UNIQUE ON CONFLICT ROLLBACK)", SQL_FAULT_ROLLBACK, "ROLLBACK"},
        {"CREATE TABLE t(a DEFAULT :owner)", SQL_FAULT_PARAMETER, ":owner"},
        {"CREATE TABLE t(\"a)", SQL_FAULT_BROKEN, "\"a)"},
    };
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++) {
        struct span word;
        enum sql_fault fault = local_check_setup(span_str(cases[i].text), &word);
        if (fault != cases[i].fault || !span_equal(word, span_str(cases[i].word)))
            fail_msg("%s: %d at '%.*s'", cases[i].text, (int)fault, (int)word.len, word.ptr);
    }
}

/* Guards: a parameter is used only where it stands as one. */
static void test_uses(void **state)
{
    (void)state;
    const struct local_policy local = {
        .statement = SPAN("INSERT INTO t VALUES (:subject, ':key', /* :owner */ \":key\")")};
    assert_true(local_uses(&local, SPAN("subject")));
    assert_false(local_uses(&local, SPAN("key")));
    assert_false(local_uses(&local, SPAN("owner")));
    assert_false(local_uses(&local, SPAN("sub")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bodies),     cmocka_unit_test(test_values),
        cmocka_unit_test(test_statements), cmocka_unit_test(test_setup),
        cmocka_unit_test(test_uses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
