/* Multipart forms: what counts, what does not, what is refused where, and the names
 * of the parts. The bodies are written with "|" for a line end and "@" for the
 * boundary, so that they can be read. */
#include "tests/unit/policy/collect.h"

#define TEXT_BYTES_MAX 4096

struct body {
    char bytes[TEXT_BYTES_MAX];
    size_t len;
};

static struct span body_of(const char *pattern, const char *boundary, struct body *body)
{
    body->len = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        const char *piece = *at == '|' ? "\r\n" : *at == '@' ? boundary : NULL;
        size_t len = piece == NULL ? 1 : strlen(piece);
        assert_in_range(body->len + len, 1, sizeof(body->bytes));
        memcpy(body->bytes + body->len, piece == NULL ? at : piece, len);
        body->len += len;
    }
    return span_of(body->bytes, body->len);
}

static bool collect_parts(struct span text, const char *boundary, struct collected *all,
                          struct json_fault *fault)
{
    char *copy = exact_copy(text);
    struct canonical_sink sink = collect_start(all);
    bool is_good = canonical_multipart(span_of(copy, text.len), span_str(boundary), &sink, fault);
    assert_true(!is_good || all->open_count == 0);
    free(copy);
    return is_good;
}

static void collect_body(const char *pattern, const char *boundary, struct collected *all)
{
    struct body body;
    struct json_fault fault = {0, NULL};
    if (!collect_parts(body_of(pattern, boundary, &body), boundary, all, &fault))
        fail_msg("%s: %zu: %s", pattern, fault.offset, fault.text);
}

static bool is_same_form(const char *a, const char *a_boundary, const char *b,
                         const char *b_boundary)
{
    struct collected first, second;
    collect_body(a, a_boundary, &first);
    collect_body(b, b_boundary, &second);
    bool is_same = collect_is_same(&first, &second);
    collect_fini(&first);
    collect_fini(&second);
    return is_same;
}

/* One part with the given header lines and content. */
#define PART(headers, content) "--@|" headers "||" content "|"
#define NAMED(name, content)   PART("Content-Disposition: form-data; name=\"" name "\"", content)
#define CLOSE                  "--@--|"

static void the_boundary_does_not_count(void **state)
{
    /* Guards: MPF-1: a new boundary for each attempt is still the same request. */
    (void)state;
    static const char *const bodies[] = {
        NAMED("a", "1") NAMED("b", "2") CLOSE,
        NAMED("a", "") CLOSE,
        PART("Content-Disposition: form-data; name=\"f\"; filename=\"x.bin\"|"
             "Content-Type: application/octet-stream",
             "--|||--z|") CLOSE,
        CLOSE,
    };
    static const char *const boundaries[] = {
        "x", "----WebKitFormBoundary7MA4YWxkTrZu0gW", "'()+_,-./:=? y",
        "0123456789012345678901234567890123456789012345678901234567890123456789"};
    for (size_t i = 0; i < GW_COUNT(bodies); i++)
        for (size_t k = 1; k < GW_COUNT(boundaries); k++)
            assert_true(is_same_form(bodies[i], boundaries[0], bodies[i], boundaries[k]));
}

static const struct {
    const char *a, *b;
    bool is_same;
} same_rows[] = {
    {NAMED("a", "1") CLOSE, NAMED("a", "2") CLOSE, false},
    {NAMED("a", "1") CLOSE, NAMED("b", "1") CLOSE, false},
    {NAMED("a", "1") CLOSE, NAMED("A", "1") CLOSE, false},
    {NAMED("a", "1") CLOSE, NAMED("a", "1|") CLOSE, false},
    {NAMED("a", "") CLOSE, NAMED("a", "|") CLOSE, false},
    {NAMED("a", "1") CLOSE, NAMED("a", "1") NAMED("a", "1") CLOSE, false},
    {NAMED("a", "1") NAMED("b", "2") CLOSE, NAMED("b", "2") NAMED("a", "1") CLOSE, false},
    {NAMED("a", "1") NAMED("b", "2") CLOSE, NAMED("a", "12") NAMED("b", "") CLOSE, false},
    {CLOSE, NAMED("a", "") CLOSE, false},
    /* Case of the words, quotes, white space. */
    {NAMED("a", "1") CLOSE, PART("content-disposition:FORM-DATA;NAME=a", "1") CLOSE, true},
    {NAMED("a", "1") CLOSE, PART("Content-Disposition: \tform-data ; name=\"a\" ; \t", "1") CLOSE,
     true},
    {NAMED("a", "1") CLOSE, "--@ \t|Content-Disposition: form-data; name=a||1|--@--", true},
    {NAMED("a", "1") CLOSE, "|--@|Content-Disposition: form-data; name=a||1|--@-- \t|", true},
    /* File names. */
    {NAMED("a", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a; filename=\"\"", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a; filename=x", "1") CLOSE,
     PART("Content-Disposition: form-data; filename=\"x\"; name=a", "1") CLOSE, true},
    {PART("Content-Disposition: form-data; name=a; filename=x", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a; filename=y", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a; filename=x", "1") CLOSE,
     PART("Content-Disposition: form-data; name=x; filename=a", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a; filename*=UTF-8''x", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a; filename*=UTF-8''y", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a; filename=x", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a; filename*=x", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=\"a\\\"b\"", "1") CLOSE,
     PART("Content-Disposition: form-data; name=\"a\"", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=\"a;b=c\"", "1") CLOSE,
     PART("Content-Disposition: form-data; name=\"a\";b=c", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=\"a%22\"", "1") CLOSE,
     PART("Content-Disposition: form-data; name=\"a\\\"\"", "1") CLOSE, false},
    /* Other parameters. */
    {PART("Content-Disposition: form-data; name=a; size=1", "1") CLOSE, NAMED("a", "1") CLOSE,
     false},
    {PART("Content-Disposition: form-data; name=a; size=1", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a; size=2", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a; name*=x", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a; name*=y", "1") CLOSE, false},
    /* Types and other header lines. */
    {NAMED("a", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a|Content-Type: text/plain", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a|Content-Type: text/plain", "1") CLOSE,
     PART("CONTENT-TYPE:\ttext/plain |Content-Disposition: form-data; name=a", "1") CLOSE, true},
    {PART("Content-Disposition: form-data; name=a|Content-Type: text/plain", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a|Content-Type: text/html", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a|Content-Transfer-Encoding: base64", "1") CLOSE,
     NAMED("a", "1") CLOSE, false},
    {PART("Content-Disposition: form-data; name=a|Content-Type: base64", "1") CLOSE,
     PART("Content-Disposition: form-data; name=a|Content-Transfer-Encoding: base64", "1") CLOSE,
     false},
    {PART("Content-Disposition: form-data; name=a|X-Trace: 1|Content-Length: 1", "1") CLOSE,
     PART("X-Trace: 2|Content-Disposition: form-data; name=a", "1") CLOSE, true},
    /* A part that ends without its empty line, around it, and after the end. */
    {"--@|Content-Disposition: form-data; name=a||--@--", NAMED("a", "") CLOSE, false},
    {"--@|Content-Disposition: form-data; name=a||--@--",
     "--@|Content-Disposition: form-data; name=a||--@--|", true},
    {NAMED("a", "1") CLOSE, "preamble|" NAMED("a", "1") CLOSE, false},
    {NAMED("a", "1") CLOSE, NAMED("a", "1") CLOSE "epilogue", false},
    {"x|" NAMED("a", "1") CLOSE, NAMED("a", "1") CLOSE "x", false},
};

static void forms_are_the_same_or_not(void **state)
{
    /* Guards: names, file names, types, bytes and order count; spelling does not. */
    (void)state;
    for (size_t i = 0; i < GW_COUNT(same_rows); i++)
        if (is_same_form(same_rows[i].a, "x7", same_rows[i].b, "Q-w") != same_rows[i].is_same)
            fail_msg("%zu: %s and %s", i, same_rows[i].a, same_rows[i].b);
}

static void bytes_that_look_like_a_boundary_count(void **state)
{
    /* Guards: content is taken as it is, line ends and dashes included. */
    (void)state;
    static const char *const contents[] = {
        "--",    "|--", "||--", "--x", "|--x", "|-@",    "|--y@",  "x--@",
        "\r--@", "\r",  "\n",   "|",   "||",   "|--\r@", "|\n--x",
    };
    for (size_t i = 0; i < GW_COUNT(contents); i++)
        for (size_t k = 0; k < GW_COUNT(contents); k++) {
            char a[256], b[256];
            (void)snprintf(a, sizeof(a), "--@|Content-Disposition: form-data; name=a||%s|--@--",
                           contents[i]); /* short */
            (void)snprintf(b, sizeof(b), "--@|Content-Disposition: form-data; name=a||%s|--@--",
                           contents[k]); /* short */
            assert_int_equal(is_same_form(a, "BOUND", b, "BOUND"), i == k);
        }
    /* Bytes of every value, zero included. */
    struct collected all;
    struct body body;
    struct json_fault fault;
    (void)body_of("--@|Content-Disposition: form-data; name=a||", "BOUND", &body);
    for (int i = 0; i < 256; i++)
        body.bytes[body.len++] = (char)i;
    memcpy(body.bytes + body.len, "\r\n--BOUND--", 11);
    assert_true(collect_parts(span_of(body.bytes, body.len + 11), "BOUND", &all, &fault));
    assert_memory_equal(all.bytes.ptr + all.bytes.len - 258, body.bytes + body.len - 256, 256);
    collect_fini(&all);
}

static const struct {
    const char *pattern;
    size_t offset;
    const char *fault;
} fault_rows[] = {
    {"", 0, "the closing boundary is missing"},
    {"x", 1, "the closing boundary is missing"},
    {"@--", 5, "the closing boundary is missing"},
    {"--@", 5, "something follows a boundary on its line"},
    {"--@x|", 5, "something follows a boundary on its line"},
    {"--@-|", 5, "something follows a boundary on its line"},
    {"--@--x|", 7, "something follows a boundary on its line"},
    {"--@--\n", 7, "something follows a boundary on its line"},
    {"--@\nContent-Disposition: form-data; name=a||1|--@--", 5,
     "something follows a boundary on its line"},
    {"x\n--@--", 2, "a boundary follows a bare line feed"},
    {"\n--@--", 1, "a boundary follows a bare line feed"},
    {"--@|", 7, "a header line of a part does not end"},
    {"--@|Content-Disposition: form-data; name=a", 45, "a header line of a part does not end"},
    {"--@|Content-Disposition: form-data; name=a|", 47, "a header line of a part does not end"},
    {"--@|Content-Disposition: form-data; name=a||", 49, "the closing boundary is missing"},
    {"--@|Content-Disposition: form-data; name=a||1|", 52, "the closing boundary is missing"},
    {"--@|Content-Disposition: form-data; name=a||1--@--", 57, "the closing boundary is missing"},
    {"--@|Content-Disposition: form-data; name=a||1\n--@--", 51,
     "a boundary follows a bare line feed"},
    {"--@|Content-Disposition: form-data; name=a||1|--@more|", 57,
     "something follows a boundary on its line"},
    {"--@|Content-Disposition: form-data; name=a|--@--", 47, "a part ends inside its header lines"},
    {"--@|--@--", 7, "a part ends inside its header lines"},
    {"--@||1|--@--", 7, "a part has no Content-Disposition"},
    {"--@|Content-Type: text/plain||1|--@--", 7, "a part has no Content-Disposition"},
    {"--@|Content-Disposition||1|--@--", 7, "a header line of a part is malformed"},
    {"--@|Content-Disposition : form-data; name=a||1|--@--", 7,
     "a header line of a part is malformed"},
    {"--@|: x||1|--@--", 7, "a header line of a part is malformed"},
    {"--@|X: 1| folded||1|--@--", 13, "a header line of a part is malformed"},
    {"--@|X: a\nb||1|--@--", 11, "a header line of a part does not end"},
    {"--@|X: a\rb||1|--@--", 11, "a header line of a part does not end"},
    {"--@|X: \x01||1|--@--", 10, "a header line of a part does not end"},
    {"--@|X: \x7F||1|--@--", 10, "a header line of a part does not end"},
    {"--@|Content-Disposition: attachment; name=a||1|--@--", 7,
     "the disposition of a part is not form-data"},
    {"--@|Content-Disposition: ||1|--@--", 7, "the disposition of a part is not form-data"},
    {"--@|Content-Disposition: form-data name=a||1|--@--", 7,
     "the disposition of a part is not form-data"},
    {"--@|Content-Disposition: form-data||1|--@--", 7, "a part has no name"},
    {"--@|Content-Disposition: form-data; filename=a||1|--@--", 7, "a part has no name"},
    {"--@|Content-Disposition: form-data; name||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; =a||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name =a||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=\"a||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=\"a\\||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=\"a\\\"||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=\"a\"b||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=a b||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=a[0]||1|--@--", 7,
     "the disposition of a part is malformed"},
    {"--@|Content-Disposition: form-data; name=a; NAME=b||1|--@--", 7,
     "a part has two names or file names"},
    {"--@|Content-Disposition: form-data; name=a; filename=b; filename=\"b\"||1|--@--", 7,
     "a part has two names or file names"},
    {"--@|Content-Disposition: form-data; name=a|content-disposition: form-data; "
     "name=a||1|--@--",
     47, "a part has the same header line twice"},
    {"--@|Content-Type: a/b|Content-Type: a/b||1|--@--", 26,
     "a part has the same header line twice"},
};

static void malformed_bodies_are_faults(void **state)
{
    /* Guards: what two readers could split differently is refused, and where. */
    (void)state;
    for (size_t i = 0; i < GW_COUNT(fault_rows); i++) {
        struct collected all;
        struct body body;
        struct json_fault fault = {0, "none"};
        bool is_good =
            collect_parts(body_of(fault_rows[i].pattern, "x7Q", &body), "x7Q", &all, &fault);
        collect_fini(&all);
        if (is_good || strcmp(fault.text, fault_rows[i].fault) != 0 ||
            fault.offset != fault_rows[i].offset)
            fail_msg("%s: %zu: %s, not %zu: %s", fault_rows[i].pattern, fault.offset, fault.text,
                     fault_rows[i].offset, fault_rows[i].fault);
    }
}

static void bad_boundaries_are_faults(void **state)
{
    /* Guards: the parameter is 1 to 70 of the characters that RFC 2046 names. */
    (void)state;
    static const char *const boundaries[] = {
        "",         " ",
        "a ",       "a\n",
        "a\r\nb",   "a\"b",
        "a;b",      "a{b",
        "\xC3\xA9", "a\tb",
        "@",        "01234567890123456789012345678901234567890123456789012345678901234567890"};
    for (size_t i = 0; i < GW_COUNT(boundaries); i++) {
        struct collected all;
        struct body body;
        struct json_fault fault = {77, NULL};
        assert_false(collect_parts(body_of(NAMED("a", "1") CLOSE, boundaries[i], &body),
                                   boundaries[i], &all, &fault));
        assert_string_equal(fault.text, "the boundary parameter is missing or not a boundary");
        assert_int_equal(fault.offset, 0);
        collect_fini(&all);
    }
}

static void header_lines_are_bounded(void **state)
{
    /* Guards: as many header lines as the limit pass, one more does not. */
    (void)state;
    for (int extra = 0; extra < 2; extra++) {
        struct gw_buf text;
        struct collected all;
        struct body body;
        struct json_fault fault = {0, "none"};
        gw_buf_init(&text, TEXT_BYTES_MAX);
        assert_true(gw_buf_print(&text, "--@|Content-Disposition: form-data; name=a|"));
        for (int i = 1; i < 32 + extra; i++)
            assert_true(gw_buf_print(&text, "X: %d|", i));
        assert_true(gw_buf_add(&text, span_of("|1|--@--", 9)));
        bool is_good = collect_parts(body_of(text.ptr, "b", &body), "b", &all, &fault);
        assert_int_equal(is_good, extra == 0);
        if (!is_good)
            assert_string_equal(fault.text, "a part has too many header lines");
        collect_fini(&all);
        gw_buf_fini(&text);
    }
}

static void encoding_is_what_the_header_says(void **state)
{
    /* Guards: version 1 of the encoding: receipts on disk were made with it. */
    (void)state;
    static const struct {
        const char *pattern;
        struct span form;
    } rows[] = {
        {CLOSE, {"M\0Z\0", 4}},
        {NAMED("n", "12") CLOSE,
         {"M\0P\1n----b=\2"
          "12Z\0",
          16}},
        {"p|" PART("Content-Disposition: form-data; name=\"\"; z=\"\"; filename*=g; filename=\"f\"|"
                   "Content-Type: t/s|Content-Transfer-Encoding: 8bit",
                   "") "--@--|e",
         {"M\1pP\0=\1f=\1g=\3t/s=\4"
          "8bitp\1z\0b=\0Z\1e",
          32}},
    };
    for (size_t i = 0; i < GW_COUNT(rows); i++) {
        struct collected all;
        collect_body(rows[i].pattern, "x7", &all);
        if (!span_equal(gw_buf_span(&all.bytes), rows[i].form))
            fail_msg("%s", rows[i].pattern);
        collect_fini(&all);
    }
}

static void members_are_the_parts(void **state)
{
    /* Guards: parts by name, numbered from the second of a name on, fit to be shown. */
    (void)state;
    struct collected all;
    char pointers[1024];
    collect_body(NAMED("a", "1") NAMED("b/~", "2") NAMED("a", "3") NAMED("", "4") NAMED("a", "5")
                     NAMED("\xC3\xA9\xFF", "6") CLOSE,
                 "x7", &all);
    collect_pointers(&all, pointers, sizeof(pointers));
    assert_string_equal(pointers, "/a\n/b~1~0\n/a#2\n/\n/a#3\n/\xC3\xA9\\xFF\n");
    const struct collected_member *second = collect_find(&all, "/a#2");
    assert_true(span_equal(span_of(all.bytes.ptr + second->start, second->end - second->start),
                           SPAN("P\1a----b=\1"
                                "3")));
    collect_fini(&all);
}

static void members_end_at_the_limit(void **state)
{
    /* Guards: the list of members is bounded, the bytes are not cut. */
    (void)state;
    struct gw_buf text;
    struct collected all;
    struct json_fault fault;
    gw_buf_init(&text, COLLECT_BYTES_MAX);
    for (int i = 0; i < 50; i++)
        assert_true(gw_buf_print(
            &text, "--b\r\nContent-Disposition: form-data; name=a%d\r\n\r\n1\r\n", i / 2 % 10));
    assert_true(gw_buf_add(&text, SPAN("--b--")));
    assert_true(collect_parts(gw_buf_span(&text), "b", &all, &fault));
    assert_int_equal(all.member_count, CANONICAL_MEMBERS_MAX);
    assert_string_equal(all.members[1].pointer, "/a0#2");
    assert_string_equal(all.members[31].pointer, "/a5#4");
    assert_int_equal(all.bytes.len, 2 + 50 * (8 + 4) + 2);
    collect_fini(&all);
    gw_buf_fini(&text);
}

static void every_cut_body_is_a_fault(void **state)
{
    /* Guards: a body that lost its end is never taken for a whole one. */
    (void)state;
    struct body body;
    struct span whole = body_of(NAMED("a", "1") PART("Content-Disposition: form-data; name=\"f\"; "
                                                     "filename=\"x\"|Content-Type: t/s",
                                                     "2|3") "--@--",
                                "x7", &body);
    for (size_t len = 0; len <= whole.len; len++) {
        struct collected all;
        struct json_fault fault = {0, NULL};
        bool is_good = collect_parts(span_of(whole.ptr, len), "x7", &all, &fault);
        assert_int_equal(is_good, len == whole.len);
        assert_in_range(fault.offset, 0, len);
        collect_fini(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_boundary_does_not_count),
        cmocka_unit_test(forms_are_the_same_or_not),
        cmocka_unit_test(bytes_that_look_like_a_boundary_count),
        cmocka_unit_test(malformed_bodies_are_faults),
        cmocka_unit_test(bad_boundaries_are_faults),
        cmocka_unit_test(header_lines_are_bounded),
        cmocka_unit_test(encoding_is_what_the_header_says),
        cmocka_unit_test(members_are_the_parts),
        cmocka_unit_test(members_end_at_the_limit),
        cmocka_unit_test(every_cut_body_is_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
