/* The table of keys against itself and against the parser: every default is a legal
 * value, every range has its edges where the table says, every later key is refused. */
#include <stdio.h>

#include "conf/fields.h"
#include "conf/loader.h"
#include "tests/lib/testlib.h"

#define EDGE_TEXT_BYTES 1024

static bool is_number(enum conf_type type)
{
    return type == CONF_COUNT || type == CONF_DURATION || type == CONF_SIZE || type == CONF_RATE ||
           type == CONF_PERCENT;
}

/* The shortest file that gives this row the value: JSON, which is YAML, too. The
 * path of the findings goes to ret_path: "routes[0].match.path". */
static void file_with(const char *row_path, const char *value, struct gw_buf *ret_text,
                      struct gw_buf *ret_path)
{
    char closing[64];
    size_t open = 0;
    gw_buf_clear(ret_text);
    gw_buf_clear(ret_path);
    assert_true(gw_buf_print(ret_text, "{"));
    closing[open++] = '}';
    for (const char *at = row_path; *at != '\0';) {
        size_t len = strcspn(at, ".[");
        bool is_pointer = at - row_path >= 5 && strncmp(at - 5, "json.", 5) == 0;
        const char *name = at[0] != '*' ? at : is_pointer ? "/x" : "x";
        int name_len = at[0] != '*' ? (int)len : is_pointer ? 2 : 1;
        assert_true(gw_buf_print(ret_text, "\"%.*s\": ", name_len, name));
        assert_true(
            gw_buf_print(ret_path, "%s%.*s", ret_path->len == 0 ? "" : ".", name_len, name));
        at += len;
        while (strncmp(at, "[]", 2) == 0) {
            assert_true(gw_buf_print(ret_text, "["));
            assert_true(gw_buf_print(ret_path, "[0]"));
            closing[open++] = ']';
            at += 2;
        }
        if (*at != '.')
            break;
        at++;
        assert_true(gw_buf_print(ret_text, "{"));
        closing[open++] = '}';
        assert_true(open < sizeof(closing));
    }
    assert_true(gw_buf_print(ret_text, "%s", value));
    while (open > 0)
        assert_true(gw_buf_byte(ret_text, closing[--open]));
    assert_true(gw_buf_byte(ret_path, '\0'));
}

/* Is there a finding at this path that says this? */
static bool says(struct span text, const char *path, const char *what)
{
    struct conf *conf = NULL;
    struct conf_report report;
    bool found = false;
    enum gw_status status = conf_parse(text, "t", &conf, &report);
    assert_true(status == GW_OK || status == GW_INVALID);
    for (uint32_t i = 0; i < report.count; i++) {
        const struct conf_finding *finding = &report.findings[i];
        size_t len = strlen(path);
        found |= strncmp(finding->text + finding->path_at, path, len) == 0 &&
                 finding->path_at + len + 2 == finding->message_at &&
                 strstr(finding->text + finding->message_at, what) != NULL;
    }
    assert_false(report.cut);
    conf_unref(conf);
    conf_report_fini(&report);
    return found;
}

static void expect_edge(const struct conf_field *field, int64_t number, const char *what, bool is)
{
    struct gw_buf text, path;
    char printed[VALUE_TEXT_BYTES], quoted[VALUE_TEXT_BYTES + 3];
    gw_buf_init(&text, EDGE_TEXT_BYTES);
    gw_buf_init(&path, EDGE_TEXT_BYTES);
    value_print(field->type, number, printed);
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", printed);
    file_with(field->path, quoted, &text, &path);
    if (says(gw_buf_span(&text), path.ptr, what) != is)
        fail_msg("%s: %s %s '%s'", field->path, printed, is ? "does not give" : "gives", what);
    gw_buf_fini(&text);
    gw_buf_fini(&path);
}

static void test_number_edges(void **state)
{
    /* Guards: below the minimum and above the maximum of a key is refused, the edges are taken. */
    (void)state;
    uint32_t seen = 0;
    for (uint32_t row = 1; row < field_count(); row++) {
        const struct conf_field *field = field_at(row);
        if (!is_number(field->type))
            continue;
        assert_true(field->min <= field->max);
        if (field->min > 0)
            expect_edge(field, field->min - 1, "under the minimum", true);
        expect_edge(field, field->min, "under the minimum", false);
        expect_edge(field, field->min, "must be", false);
        expect_edge(field, field->max, "over the maximum", false);
        expect_edge(field, field->max, "must be", false);
        expect_edge(field, field->max + 1, "over the maximum", true);
        seen++;
    }
    assert_in_range(seen, 30, 100);
}

static void expect_length(const struct conf_field *field, size_t len, bool is_refused)
{
    struct gw_buf text, path, value;
    gw_buf_init(&text, 1 << 18);
    gw_buf_init(&path, EDGE_TEXT_BYTES);
    gw_buf_init(&value, 1 << 17);
    assert_true(gw_buf_byte(&value, '"'));
    for (size_t i = 0; i < len; i++)
        assert_true(gw_buf_byte(&value, i == 0 ? '/' : 'a'));
    assert_true(gw_buf_print(&value, "\"%c", '\0'));
    file_with(field->path, value.ptr, &text, &path);
    if (says(gw_buf_span(&text), path.ptr, "bytes") != is_refused)
        fail_msg("%s: %zu bytes are %s", field->path, len, is_refused ? "taken" : "refused");
    gw_buf_fini(&text);
    gw_buf_fini(&path);
    gw_buf_fini(&value);
}

static void test_text_lengths(void **state)
{
    /* Guards: a text of the longest allowed length is not refused for it, one byte more is. */
    (void)state;
    uint32_t seen = 0;
    for (uint32_t row = 1; row < field_count(); row++) {
        const struct conf_field *field = field_at(row);
        if (!field_is_scalar(field->type) || is_number(field->type) || field->max == 0 ||
            field->type == CONF_SHA256 || field->type == CONF_ADDRESS)
            continue;
        expect_length(field, (size_t)field->max, false);
        expect_length(field, (size_t)field->max + 1, true);
        seen++;
    }
    assert_in_range(seen, 30, 100);
}

static void test_later_keys(void **state)
{
    /* Guards: a key or word of later work is refused at its place, never silently ignored. */
    (void)state;
    struct gw_buf text, path;
    uint32_t seen = 0;
    gw_buf_init(&text, EDGE_TEXT_BYTES);
    gw_buf_init(&path, EDGE_TEXT_BYTES);
    for (uint32_t row = 1; row < field_count(); row++) {
        const struct conf_field *field = field_at(row);
        for (uint32_t i = 0;; i++) {
            bool later = field->type == CONF_LATER;
            char value[64] = "{}";
            struct span word = {"", 0};
            if (field->type == CONF_WORD)
                word = field_word(field->words, i, &later);
            if (field->type == CONF_WORD && word.len > 0)
                (void)snprintf(value, sizeof(value), "%.*s", (int)word.len, word.ptr);
            if (later) {
                file_with(field->path, value, &text, &path);
                assert_true(says(gw_buf_span(&text), path.ptr, "known, but not served"));
                seen++;
            }
            if (word.len == 0)
                break;
        }
    }
    gw_buf_fini(&text);
    gw_buf_fini(&path);
    assert_in_range(seen, 10, 100);
}

/* A scalar type that stands in lists is checked as an item of one. */
static uint32_t value_row(uint32_t row)
{
    return field_at(row)->type == CONF_LIST_OR_ONE ? field_item(row) : row;
}

static void expect_legal(uint32_t row, struct span text)
{
    const struct conf_field *field = field_at(value_row(row));
    int64_t number;
    bool unused;
    struct status_set set = {{0}};
    struct conf_address address;
    const char *fault = NULL;
    if (is_number(field->type)) {
        fault = value_number(field->type, text, &number);
        if (fault == NULL && (number < field->min || number > field->max))
            fault = "is out of its own range";
    } else if (field->type == CONF_WORD) {
        uint32_t index = field_word_find(field->words, text, &unused);
        fault = index == FIELD_NONE || unused ? "is no word that is served" : NULL;
    } else if (field->type == CONF_STATUS) {
        struct span item;
        while (fault == NULL && value_next_item(&text, &item))
            if (field_word_find(field->words, item, &unused) == FIELD_NONE)
                fault = value_status(item, &set, &unused);
    } else if (field->type == CONF_ADDRESS) {
        fault = value_address(text, true, &address);
    } else if (field->words[0] == '\0' || !span_equal(text, span_str(field->words))) {
        fault = value_word(field->type, text);
    }
    if (fault != NULL)
        fail_msg("%s: %.*s %s", field->path, (int)text.len, text.ptr, fault);
}

static void test_defaults_are_legal(void **state)
{
    /* Guards: every default and every preset value would be taken if a file gave it. */
    (void)state;
    struct span preset, path, value;
    uint32_t presets = 0;
    for (uint32_t row = 1; row < field_count(); row++)
        if (field_at(row)->fallback != NULL && !field_is_required(row) && !field_is_computed(row))
            expect_legal(row, span_str(field_at(row)->fallback));
    for (uint32_t i = 0; preset_at(i, &preset, &path, &value); i++) {
        uint32_t row = field_find(path.ptr);
        assert_int_not_equal(row, FIELD_NONE);
        expect_legal(row, value);
        presets++;
    }
    assert_true(presets > 0);
}

static void test_table_shape(void **state)
{
    /* Guards: every row has a parent before it, its sentence, and is found under its name. */
    (void)state;
    for (uint32_t row = 1; row < field_count(); row++) {
        const struct conf_field *field = field_at(row);
        assert_int_equal(field_find(field->path), row);
        assert_true(strlen(field->doc) > 3);
        assert_int_equal(field->doc[strlen(field->doc) - 1], '.');
        bool is_collection = field->type == CONF_NAMED || field->type == CONF_LIST ||
                             field->type == CONF_LIST_OR_ONE;
        if (is_collection) {
            assert_int_equal(field_item(row), row + 1);
            assert_true(field->max > 0);
        }
    }
    /* Walking by children reaches every row once. */
    uint32_t reached = 0;
    for (uint32_t row = 0; row < field_count(); row++)
        if (field_at(row)->type == CONF_MAP)
            for (uint32_t child = field_next_child(row, row); child != FIELD_NONE;
                 child = field_next_child(row, child))
                reached++;
        else if (!field_is_scalar(field_at(row)->type) && field_at(row)->type != CONF_LATER)
            reached++; /* its item */
    assert_int_equal(reached, field_count() - 1);
}

static void test_near_names(void **state)
{
    /* Guards: a slip of the finger is near, another word is not. */
    (void)state;
    static const struct {
        const char *a, *b;
        uint32_t distance;
    } pairs[] = {
        {"", "", 0},
        {"a", "", 1},
        {"listn", "listen", 1},
        {"Listen", "listen", 0},
        {"retnetion", "retention", 1},
        {"abc", "xyz", 3},
        {"kitten", "sitting", 3},
    };
    for (size_t i = 0; i < GW_COUNT(pairs); i++)
        assert_int_equal(near_distance(span_str(pairs[i].a), span_str(pairs[i].b), 5),
                         pairs[i].distance);
    assert_int_equal(near_distance(SPAN("kitten"), SPAN("sitting"), 2), 3);
    char longest[NEAR_BYTES_MAX + 2];
    memset(longest, 'a', sizeof(longest));
    assert_int_equal(
        near_distance(span_of(longest, NEAR_BYTES_MAX), span_of(longest, NEAR_BYTES_MAX), 5), 0);
    assert_int_equal(near_distance(span_of(longest, NEAR_BYTES_MAX + 1), SPAN("a"), 5), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_shape),  cmocka_unit_test(test_defaults_are_legal),
        cmocka_unit_test(test_number_edges), cmocka_unit_test(test_text_lengths),
        cmocka_unit_test(test_later_keys),   cmocka_unit_test(test_near_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
