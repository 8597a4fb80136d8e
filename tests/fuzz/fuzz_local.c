/* Feeds bodies to what a local effect takes, and texts to the cutter of SQL: no bytes
 * crash them, what is taken has one value for each member, and the tokens of a text lie
 * in it one behind the other. Lines of the input: the statement; the rest is the body. */
#include <stdlib.h>

#include "policy/local.h"
#include "policy/sql_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_BYTES_MAX ((size_t)1 << 16)

static const struct accept_member members[] = {
    {{"subject", 7}, ACCEPT_STRING},
    {{"count", 5}, ACCEPT_INTEGER | ACCEPT_NULL},
    {{"price", 5}, ACCEPT_NUMBER | ACCEPT_NULL},
    {{"open", 4}, ACCEPT_BOOLEAN | ACCEPT_STRING | ACCEPT_NULL},
};
static const struct accept_policy policy = {members, GW_COUNT(members)};

static void check_tokens(struct span text)
{
    struct sql_text sql = {.text = text};
    struct span word;
    size_t behind = 0;
    enum sql_token token = sql_text_next(&sql, &word);
    for (size_t i = 0; token != SQL_TOKEN_END && token != SQL_TOKEN_BROKEN; i++) {
        gw_assert(i < text.len);
        gw_assert(word.len > 0);
        gw_assert((size_t)(word.ptr - text.ptr) >= behind);
        behind = (size_t)(word.ptr - text.ptr) + word.len;
        gw_assert(behind <= text.len);
        token = sql_text_next(&sql, &word);
    }
}

static void check_statement(struct span text)
{
    const struct span names[] = {{"owner", 5}, {"subject", 7}};
    const struct local_policy local = {
        .statement = text, .setup = text, .names = names, .name_count = GW_COUNT(names)};
    struct span word;
    enum sql_fault fault = local_check_statement(&local, &word);
    gw_implies(fault == SQL_FAULT_PARAMETER, word.len > 0);
    (void)local_check_setup(text, &word); /* any verdict is one */
    bool uses = local_uses(&local, SPAN("subject"));
    gw_implies(uses, memmem(text.ptr, text.len, "subject", 7) != NULL);
}

static void check_values(const struct accept_value *values)
{
    for (size_t i = 0; i < GW_COUNT(members); i++) {
        uint32_t types = members[i].types;
        gw_implies(values[i].kind == ACCEPTED_NULL, (types & ACCEPT_NULL) != 0);
        gw_implies(values[i].kind == ACCEPTED_STRING, (types & ACCEPT_STRING) != 0);
        gw_implies(values[i].kind == ACCEPTED_REAL, (types & ACCEPT_NUMBER) != 0);
        gw_implies(values[i].kind == ACCEPTED_INTEGER,
                   (types & (ACCEPT_INTEGER | ACCEPT_NUMBER | ACCEPT_BOOLEAN)) != 0);
    }
}

static void check_body(struct span text)
{
    const struct json_limits limits = {.depth_max = 16, .nodes_max = 100000};
    struct accept_value values[GW_COUNT(members)];
    struct accept_fault wrong = {.text = NULL};
    struct json_fault fault;
    struct json_doc doc;
    uint32_t count = 0;
    if (!json_count(text, &limits, &count, &fault))
        return;
    struct json_node *nodes = malloc(count * sizeof(*nodes));
    uint32_t *order = malloc(count * sizeof(*order));
    gw_assert(nodes != NULL && order != NULL);
    if (json_parse(text, &limits, nodes, order, count, &doc, &fault)) {
        if (accept_body(&policy, &doc, values, &wrong))
            check_values(values);
        else
            gw_assert(wrong.text != NULL);
    }
    free(nodes);
    free(order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_BYTES_MAX)
        return 0;
    const char *text = (const char *)data;
    const char *end = size == 0 ? NULL : memchr(text, '\n', size);
    size_t len = end == NULL ? size : (size_t)(end - text);
    check_tokens(span_of(text, len));
    check_statement(span_of(text, len));
    if (end != NULL)
        check_body(span_of(end + 1, size - len - 1));
    return 0;
}
