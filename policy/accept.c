/* Judges a JSON body against the members that a local effect takes. It must never
 * bring a value into another type than the one it has in the body. */
#include "policy/accept.h"

static bool fail(struct accept_fault *ret, struct span member, const char *text)
{
    *ret = (struct accept_fault){.member = member, .text = text};
    return false;
}

/* ---- numbers ---- */

static bool is_integral(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '.' || gw_lower(text.ptr[i]) == 'e')
            return false;
    return true;
}

/* false: it is not in the range of 64 bits. */
static bool integer_read(struct span text, int64_t *ret)
{
    bool is_negative = text.len > 0 && text.ptr[0] == '-';
    int64_t value = 0;
    for (size_t i = is_negative ? 1 : 0; i < text.len; i++) {
        int digit = text.ptr[i] - '0';
        gw_assert(digit >= 0 && digit <= 9); /* the parser has seen it */
        /* Counted downwards: the smallest number has no positive counterpart. */
        if (value < (INT64_MIN + digit) / 10)
            return false;
        value = value * 10 - digit;
    }
    if (!is_negative && value == INT64_MIN)
        return false;
    *ret = is_negative ? value : -value;
    return true;
}

static bool take_number(const struct accept_member *member, struct span text,
                        struct accept_value *ret, struct accept_fault *ret_fault)
{
    ret->raw = text;
    ret->kind = ACCEPTED_INTEGER;
    if (is_integral(text) && integer_read(text, &ret->integer))
        return true;
    ret->kind = ACCEPTED_REAL;
    if ((member->types & ACCEPT_NUMBER) != 0)
        return true;
    return fail(ret_fault, member->name,
                is_integral(text)
                    ? "is an integer that does not fit into 64 bits"
                    : "must be an integer, written without a fraction or an exponent");
}

/* ---- strings ---- */

struct nul_search {
    bool found;
};

static void look_for_nul(void *ctx, struct span piece)
{
    struct nul_search *search = ctx;
    for (size_t i = 0; i < piece.len; i++)
        search->found |= piece.ptr[i] == '\0';
}

/* SQLite's length() and its comparisons stop at a NUL, so that what stands behind one
 * would be kept unlooked at. */
static bool take_string(const struct accept_member *member, const struct json_node *node,
                        struct span text, struct accept_value *ret, struct accept_fault *ret_fault)
{
    struct nul_search search = {false};
    ret->kind = ACCEPTED_STRING;
    ret->raw = text;
    ret->has_escapes = node->has_escapes != 0;
    json_decode(text, ret->has_escapes, look_for_nul, &search);
    return !search.found || fail(ret_fault, member->name, "holds the character U+0000");
}

/* ---- members ---- */

static uint32_t types_of(enum json_kind kind)
{
    switch (kind) {
    case JSON_KIND_NULL:
        return ACCEPT_NULL;
    case JSON_KIND_FALSE:
    case JSON_KIND_TRUE:
        return ACCEPT_BOOLEAN;
    case JSON_KIND_NUMBER:
        return ACCEPT_INTEGER | ACCEPT_NUMBER;
    case JSON_KIND_STRING:
        return ACCEPT_STRING;
    case JSON_KIND_ARRAY:
    case JSON_KIND_OBJECT:
        break;
    }
    return 0;
}

/* By the set of types, so that every combination has its words. */
static const char *wanted_text(uint32_t types)
{
    switch (types & ~(uint32_t)ACCEPT_NULL) {
    case ACCEPT_STRING:
        return "must be a string";
    case ACCEPT_INTEGER:
        return "must be an integer";
    case ACCEPT_NUMBER:
    case ACCEPT_NUMBER | ACCEPT_INTEGER:
        return "must be a number";
    case ACCEPT_BOOLEAN:
        return "must be true or false";
    case 0:
        return "must be null";
    }
    return "is of a type that is not taken here";
}

static bool take(const struct accept_member *member, const struct json_doc *doc,
                 const struct json_node *node, struct accept_value *ret,
                 struct accept_fault *ret_fault)
{
    enum json_kind kind = (enum json_kind)node->kind;
    struct span text = span_of(doc->text.ptr + node->start, node->end - node->start);
    if ((types_of(kind) & member->types) == 0)
        return fail(ret_fault, member->name, wanted_text(member->types));
    if (kind == JSON_KIND_NUMBER)
        return take_number(member, text, ret, ret_fault);
    if (kind == JSON_KIND_STRING)
        return take_string(member, node, text, ret, ret_fault);
    ret->kind = kind == JSON_KIND_NULL ? ACCEPTED_NULL : ACCEPTED_INTEGER;
    ret->integer = kind == JSON_KIND_TRUE;
    return true;
}

static uint32_t member_find(const struct accept_policy *policy, const struct json_doc *doc,
                            const struct json_node *node)
{
    struct span name = span_of(doc->text.ptr + node->name_start, node->name_end - node->name_start);
    for (uint32_t i = 0; i < policy->member_count; i++)
        if (json_string_equals(name, node->name_has_escapes != 0, policy->members[i].name))
            return i;
    return JSON_NONE;
}

static bool not_expected(const struct json_doc *doc, const struct json_node *node,
                         struct accept_fault *ret)
{
    *ret = (struct accept_fault){
        .member = span_of(doc->text.ptr + node->name_start, node->name_end - node->name_start),
        .member_has_escapes = node->name_has_escapes != 0,
        .text = "is not taken here"};
    return false;
}

bool accept_body(const struct accept_policy *policy, const struct json_doc *doc,
                 struct accept_value *ret_values, struct accept_fault *ret_fault)
{
    uint32_t seen = 0;
    gw_assert(doc->node_count > 0);
    gw_assert(policy->member_count <= ACCEPT_MEMBERS_MAX);
    if (doc->nodes[0].kind != JSON_KIND_OBJECT)
        return fail(ret_fault, span_of("", 0), "must be a JSON object");
    for (uint32_t i = 0; i < policy->member_count; i++)
        ret_values[i] = (struct accept_value){.kind = ACCEPTED_NULL, .raw = {"", 0}};
    for (uint32_t at = doc->nodes[0].child; at != JSON_NONE; at = doc->nodes[at].next) {
        const struct json_node *node = &doc->nodes[at];
        uint32_t i = member_find(policy, doc, node);
        if (i == JSON_NONE)
            return not_expected(doc, node, ret_fault);
        if (!take(&policy->members[i], doc, node, &ret_values[i], ret_fault))
            return false;
        seen |= 1u << i;
    }
    for (uint32_t i = 0; i < policy->member_count; i++)
        if ((seen >> i & 1) == 0 && (policy->members[i].types & ACCEPT_NULL) == 0)
            return fail(ret_fault, policy->members[i].name, "is missing");
    return true;
}
