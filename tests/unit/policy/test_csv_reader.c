/* The reader of CSV: what is read, and what is refused where. */
#include "tests/lib/testlib.h"

#include "policy/csv_reader.h"

#include <stdio.h>

#define TEXT_BYTES 4096

/* "a|b" for a record, "\n" between records, "!line:column fault" at a fault. */
static void read_all(struct span text, char separator, char *out)
{
    struct csv_reader reader;
    struct csv_field field;
    enum csv_next next;
    char content[TEXT_BYTES];
    size_t len = 0;
    csv_reader_init(&reader, text, separator);
    while ((next = csv_reader_next(&reader, &field)) == CSV_FIELD) {
        size_t bytes = csv_field_content(&field, content);
        len += (size_t)snprintf(out + len, TEXT_BYTES - len, "%.*s%s", (int)bytes, content,
                                field.is_last ? "\n" : "|");
    }
    if (next == CSV_FAULT)
        (void)snprintf(out + len, TEXT_BYTES - len, "!%u:%u %s", reader.line, reader.column,
                       reader.fault);
    out[TEXT_BYTES - 1] = '\0';
    assert_int_equal(csv_reader_next(&reader, &field), next); /* and it stays so */
}

static void must_read(const char *text, const char *expect)
{
    char out[TEXT_BYTES] = "";
    read_all(span_str(text), ',', out);
    assert_string_equal(out, expect);
}

/* Guards: fields, records and line ends are told apart as RFC 4180 says. */
static void test_records(void **state)
{
    (void)state;
    must_read("", "");
    must_read("a", "a\n");
    must_read("a,b", "a|b\n");
    must_read("a,b\n", "a|b\n");
    must_read("a,b\r\nc,d\r\n", "a|b\nc|d\n");
    must_read("a,b\nc,d", "a|b\nc|d\n");
    must_read(",", "|\n");
    must_read("a,\n,b\n", "a|\n|b\n");
    must_read(" a , b ", " a | b \n");
    must_read("\xef\xbb\xbf"
              "a,b",
              "a|b\n");
    must_read("\xef\xbb\xbf", "");
    must_read("a\n\n\r\n\nb\n\n", "a\nb\n");
    must_read("\xc3\xa4,\xff", "\xc3\xa4|\xff\n");
}

/* Guards: quotes keep separators, line ends and quotes as content. */
static void test_quotes(void **state)
{
    (void)state;
    must_read("\"a\",\"b\"", "a|b\n");
    must_read("\"a,b\",c", "a,b|c\n");
    must_read("\"a\r\nb\",c\n", "a\r\nb|c\n");
    must_read("\"say \"\"hi\"\"\"", "say \"hi\"\n");
    must_read("\"\"", "\n");
    must_read("\"\",\"\"\n", "|\n");
    must_read("\"\"\"\"", "\"\n");
    must_read("\"\"\"\"\"\"\n\"\"", "\"\"\n\n");
    must_read("\"a\"\n\"b\"\r\n", "a\nb\n");
}

/* Guards: what two readers would read in two ways is refused, at its line and column. */
static void test_faults(void **state)
{
    (void)state;
    must_read("a\"b", "!1:2 a quote inside a field that does not begin with one");
    must_read("a, \"b\"", "a|!1:4 a quote inside a field that does not begin with one");
    must_read("\"a\"b", "!1:4 something stands behind the closing quote");
    must_read("\"a\" ,b", "!1:4 something stands behind the closing quote");
    must_read("x\n\"a\nb", "x\n!2:1 a quote that is never closed");
    must_read("x,\"", "x|!1:3 a quote that is never closed");
    must_read("\"\"\"", "!1:1 a quote that is never closed");
    must_read("a\rb", "!1:2 a carriage return without a line feed");
    must_read("a\r", "!1:2 a carriage return without a line feed");
    must_read("\r", "!1:1 a carriage return without a line feed");
    must_read("\"a\nb\"\n\"c\"d", "a\nb\n!3:4 something stands behind the closing quote");
    must_read("\xff\xfe"
              "a",
              "!1:1 the text is UTF-16; save it as UTF-8");
    must_read("\xfe\xff", "!1:1 the text is UTF-16; save it as UTF-8");
    char out[TEXT_BYTES] = "";
    read_all(span_of("a\0b", 3), ',', out);
    assert_string_equal(out, "!1:2 a NUL byte: this is no text");
    out[0] = '\0';
    read_all(span_of("\"a\0b\"", 5), ',', out);
    assert_string_equal(out, "!1:3 a NUL byte: this is no text");
}

/* Guards: another separator is one, and the comma then is content. */
static void test_separator(void **state)
{
    (void)state;
    char out[TEXT_BYTES] = "";
    read_all(SPAN("a;b,c;\"d;e\"\n"), ';', out);
    assert_string_equal(out, "a|b,c|d;e\n");
    out[0] = '\0';
    read_all(SPAN("a\tb"), '\t', out);
    assert_string_equal(out, "a|b\n");
}

/* Guards: each field knows where it begins, also behind line ends inside quotes. */
static void test_places(void **state)
{
    (void)state;
    static const uint32_t places[][2] = {{1, 1}, {1, 4}, {2, 4}, {3, 1}, {5, 1}};
    struct csv_reader reader;
    struct csv_field field;
    size_t at = 0;
    csv_reader_init(&reader, SPAN("ab,\"x\ny\",z\nq\n\nr"), ',');
    while (csv_reader_next(&reader, &field) == CSV_FIELD) {
        assert_true(at < GW_COUNT(places));
        assert_int_equal(field.line, places[at][0]);
        assert_int_equal(field.column, places[at][1]);
        at++;
    }
    assert_int_equal(at, GW_COUNT(places));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_records),
                                       cmocka_unit_test(test_quotes), cmocka_unit_test(test_faults),
                                       cmocka_unit_test(test_separator),
                                       cmocka_unit_test(test_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
