/* Does an answer fit a rule of the route? Must never take a body for less than it
 * is: of a body that is not whole in memory, conditions on its content do not fit. */
#include "policy/rules.h"

static bool headers_fit(const struct answer_rule *rule, const struct answer_view *answer);
static bool media_type_fits(struct span glob, const struct answer_view *answer);
static bool json_fits(const struct rule_json *condition, const struct json_doc *doc);
static bool node_equals(const struct rule_json *condition, const struct json_doc *doc,
                        const struct json_node *node);
static bool node_is_empty(const struct json_node *node);
static bool body_contains(struct span body, struct span text);

bool rule_fits(const struct answer_rule *rule, const struct answer_view *answer)
{
    if (rule->has_status && !status_set_has(&rule->status, answer->status))
        return false;
    if (!headers_fit(rule, answer))
        return false;
    if (rule->media_type.len > 0 && !media_type_fits(rule->media_type, answer))
        return false;
    const bool looks_inside = rule->json_count > 0 || rule->text.len > 0;
    if (looks_inside && !answer->body_is_whole)
        return false;
    if (rule->json_count > 0 && answer->json == NULL)
        return false;
    for (uint32_t i = 0; i < rule->json_count; i++)
        if (!json_fits(&rule->json[i], answer->json))
            return false;
    return body_contains(answer->body, rule->text);
}

bool rules_want_json(const struct answer_rule *rules, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (rules[i].json_count > 0)
            return true;
    return false;
}

/* A field may come in several lines; one that fits is enough. */
static bool any_line_fits(const struct rule_header *header, const struct answer_view *answer)
{
    for (uint32_t i = 0; i < answer->field_count; i++)
        if (span_equal_nocase(answer->fields[i].name, header->name) &&
            glob_fits(header->glob, answer->fields[i].value, false))
            return true;
    return false;
}

static bool headers_fit(const struct answer_rule *rule, const struct answer_view *answer)
{
    for (uint32_t i = 0; i < rule->header_count; i++)
        if (!any_line_fits(&rule->headers[i], answer))
            return false;
    return true;
}

/* "Text/HTML ; charset=x" -> "Text/HTML" */
static struct span without_parameters(struct span value)
{
    size_t len = 0;
    while (len < value.len && value.ptr[len] != ';')
        len++;
    while (len > 0 && (value.ptr[len - 1] == ' ' || value.ptr[len - 1] == '\t'))
        len--;
    return span_of(value.ptr, len);
}

static bool media_type_fits(struct span glob, const struct answer_view *answer)
{
    for (uint32_t i = 0; i < answer->field_count; i++)
        if (span_equal_nocase(answer->fields[i].name, SPAN("Content-Type")) &&
            glob_fits(glob, without_parameters(answer->fields[i].value), true))
            return true;
    return false;
}

static bool json_fits(const struct rule_json *condition, const struct json_doc *doc)
{
    const uint32_t index = json_find(doc, &condition->pointer);
    if (condition->test == RULE_ABSENT)
        return index == JSON_NONE;
    if (index == JSON_NONE)
        return false;
    gw_assert(index < doc->node_count);
    const struct json_node *node = &doc->nodes[index];
    switch (condition->test) {
    case RULE_EQUALS:
        return node_equals(condition, doc, node);
    case RULE_EMPTY:
        return node_is_empty(node);
    case RULE_EXISTS:
    case RULE_ABSENT:
        break;
    }
    return true;
}

/* Numbers and literals are compared as written: 1 and 1.0 are two values here, as
 * they are in a fingerprint. Arrays and objects equal nothing. */
static bool node_equals(const struct rule_json *condition, const struct json_doc *doc,
                        const struct json_node *node)
{
    const struct span raw = span_of(doc->text.ptr + node->start, node->end - node->start);
    if (node->kind == JSON_KIND_STRING)
        return json_string_equals(raw, node->has_escapes != 0, condition->text);
    if (condition->string_only || node->kind == JSON_KIND_ARRAY || node->kind == JSON_KIND_OBJECT)
        return false;
    return span_equal(raw, condition->text);
}

/* [], {} and "". A null says nothing about how many there are, so it is not empty. */
static bool node_is_empty(const struct json_node *node)
{
    if (node->kind == JSON_KIND_STRING)
        return node->start == node->end;
    return (node->kind == JSON_KIND_ARRAY || node->kind == JSON_KIND_OBJECT) &&
           node->child == JSON_NONE;
}

/* The last byte is looked at first: it tells long runs of one byte apart cheaply. */
static bool body_contains(struct span body, struct span text)
{
    if (text.len == 0)
        return true;
    const char last = text.ptr[text.len - 1];
    for (size_t end = text.len; end <= body.len; end++)
        if (body.ptr[end - 1] == last &&
            memcmp(body.ptr + (end - text.len), text.ptr, text.len) == 0)
            return true;
    return false;
}

static bool byte_fits(char pattern, char byte, bool ignore_case)
{
    if (pattern == '?')
        return true;
    return ignore_case ? gw_lower(pattern) == gw_lower(byte) : pattern == byte;
}

/* Two places move forward; on a misfit the last star takes one byte more. Earlier
 * stars need no second thought: what follows them was already found as early as it
 * can be. */
bool glob_fits(struct span glob, struct span text, bool ignore_case)
{
    size_t glob_at = 0, text_at = 0;
    size_t after_star = 0, star_text_at = 0; /* after_star 0: no star yet */
    while (text_at < text.len) {
        if (glob_at < glob.len && glob.ptr[glob_at] == '*') {
            after_star = ++glob_at;
            star_text_at = text_at;
        } else if (glob_at < glob.len &&
                   byte_fits(glob.ptr[glob_at], text.ptr[text_at], ignore_case)) {
            glob_at++;
            text_at++;
        } else if (after_star > 0) {
            glob_at = after_star;
            text_at = ++star_text_at;
        } else {
            return false;
        }
    }
    while (glob_at < glob.len && glob.ptr[glob_at] == '*')
        glob_at++;
    return glob_at == glob.len;
}
