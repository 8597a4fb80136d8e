/* Path patterns: text -> segments, and how two patterns stand to each other. Never
 * accepts a pattern that no well-spelled target could meet. */
#include "policy/route_pattern.h"
#include "policy/route.h"
#include "policy/route_path.h"

_Static_assert(ROUTE_PARAMS_MAX == 8, "a message below names the number");

static const char *parse_param(struct span text, const struct route_segment *segments,
                               uint32_t count, struct route_segment *ret_segment)
{
    if (text.len < 3 || text.ptr[text.len - 1] != '}')
        return "a {name} must be a whole segment";
    struct span name = span_of(text.ptr + 1, text.len - 2);
    for (size_t i = 0; i < name.len; i++) {
        char c = gw_lower(name.ptr[i]);
        bool letter = (c >= 'a' && c <= 'z') || c == '_';
        bool later = i > 0 && ((c >= '0' && c <= '9') || c == '-');
        if (!letter && !later)
            return "the name in {name} is made of letters, digits, _ and -, a letter first";
    }
    uint32_t params = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (segments[i].kind != SEGMENT_PARAM)
            continue;
        if (span_equal(segments[i].text, name))
            return "a {name} comes twice";
        params++;
    }
    if (params >= ROUTE_PARAMS_MAX)
        return "a path may have at most 8 {name} segments";
    *ret_segment = (struct route_segment){SEGMENT_PARAM, name};
    return NULL;
}

/* Only spellings that stand for themselves: what has another reading would make
 * every request of the route an ambiguous one. */
static const char *parse_literal(struct span text)
{
    if (span_equal(text, SPAN(".")) || span_equal(text, SPAN("..")))
        return "a path may not have . or .. segments";
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i], byte;
        if (c == ';')
            return "a path may not have ;parameters";
        if (c == '*')
            return "* may only be the last segment, and a whole one";
        if (c == '%') {
            if (!path_escape_at(text, i, &byte))
                return "a % must be followed by two hexadecimal digits";
            if (path_is_plain_byte(byte) || byte == '/' || byte == '%' || byte == '\\' ||
                byte == '\0' || byte == '?' || byte == '#')
                return "write the character itself; only what cannot stand in a path may be "
                       "encoded, and never / \\ % ? # or NUL";
            i += 2;
            continue;
        }
        if ((unsigned char)c < 0x80 && !path_is_plain_byte(c))
            return "a path is made of letters, digits and - . _ ~ ! $ & ' ( ) + , = : @; "
                   "other characters are written %HH";
    }
    return NULL;
}

bool route_pattern_parse(struct span path, struct route_segment *segments, uint32_t segments_max,
                         uint32_t *ret_count, const char **ret_fault)
{
    gw_assert(segments != NULL);
    const char *fault = path.len > 0 && path.ptr[0] == '/' ? NULL : "a path begins with /";
    uint32_t count = 0;
    size_t at = 0;
    struct span text;
    while (fault == NULL && path_next_segment(path, &at, &text)) {
        bool last = at > path.len;
        struct route_segment segment = {SEGMENT_LITERAL, text};
        if (count >= segments_max)
            fault = "the path has too many segments";
        else if (last && span_equal(text, SPAN("*")))
            segment = (struct route_segment){SEGMENT_REST, span_of(text.ptr, 0)};
        else if (text.len == 0 && !last)
            fault = "a path may not have // in it";
        else if (text.len > 0 && text.ptr[0] == '{')
            fault = parse_param(text, segments, count, &segment);
        else
            fault = parse_literal(text);
        if (fault == NULL)
            segments[count++] = segment;
    }
    if (fault != NULL) {
        *ret_fault = fault;
        return false;
    }
    gw_assert(count > 0);
    *ret_count = count;
    return true;
}

/* ---- two patterns ---- */

bool route_ignores_case(const struct route_policy *route)
{
    return route->upstream != NULL && route->upstream->path_case == PATH_CASE_INSENSITIVE;
}

uint32_t route_effective_count(const struct route_policy *route)
{
    const uint32_t count = route->segment_count;
    if (route->trailing_slash_same && count > 1 &&
        route->segments[count - 1].kind == SEGMENT_LITERAL &&
        route->segments[count - 1].text.len == 0)
        return count - 1;
    return count;
}

static int rank(const struct route_policy *route, uint32_t at)
{
    if (at >= route_effective_count(route))
        return 2;
    switch (route->segments[at].kind) {
    case SEGMENT_LITERAL:
        return 0;
    case SEGMENT_PARAM:
        return 1;
    case SEGMENT_REST:
        return 3;
    }
    gw_assert(false);
    return 3;
}

int route_specificity(const struct route_policy *a, const struct route_policy *b)
{
    uint32_t count = a->segment_count > b->segment_count ? a->segment_count : b->segment_count;
    for (uint32_t at = 0; at < count; at++) {
        int difference = rank(a, at) - rank(b, at);
        if (difference != 0)
            return difference;
    }
    return 0;
}

/* Is there a segment that fits both? */
static bool segments_meet(const struct route_segment *a, const struct route_segment *b,
                          bool ignore_case)
{
    if (a->kind == SEGMENT_LITERAL && b->kind == SEGMENT_LITERAL)
        return path_segment_equal(a->text, b->text, ignore_case);
    if (a->kind == SEGMENT_LITERAL)
        return a->text.len > 0;
    return b->kind != SEGMENT_LITERAL || b->text.len > 0;
}

static bool is_rest(const struct route_policy *route, uint32_t at, uint32_t count)
{
    return at < count && route->segments[at].kind == SEGMENT_REST;
}

/* One of the two ended at `at`. Does a target fit both? */
static bool ends_meet(const struct route_policy *a, const struct route_policy *b, uint32_t at)
{
    uint32_t a_count = route_effective_count(a), b_count = route_effective_count(b);
    const struct route_policy *longer = at < a_count ? a : b;
    uint32_t longer_count = at < a_count ? a_count : b_count;
    if (at == longer_count)
        return true;
    bool same = a->trailing_slash_same || b->trailing_slash_same;
    bool one_slash = at + 1 == longer_count && longer->segments[at].kind == SEGMENT_LITERAL &&
                     longer->segments[at].text.len == 0;
    return same && (is_rest(longer, at, longer_count) || one_slash);
}

enum route_overlap route_compare(const struct route_policy *a, const struct route_policy *b)
{
    gw_assert(a->segment_count > 0);
    gw_assert(b->segment_count > 0);
    bool ignore_case = route_ignores_case(a) || route_ignores_case(b);
    uint32_t a_count = route_effective_count(a), b_count = route_effective_count(b);
    uint32_t at = 0;
    for (; at < a_count && at < b_count; at++) {
        if (is_rest(a, at, a_count) || is_rest(b, at, b_count))
            break;
        if (!segments_meet(&a->segments[at], &b->segments[at], ignore_case))
            return ROUTES_APART;
    }
    bool a_left = at < a_count, b_left = at < b_count;
    if (a_left != b_left && !ends_meet(a, b, at))
        return ROUTES_APART;
    return route_specificity(a, b) == 0 ? ROUTES_AMBIGUOUS : ROUTES_NESTED;
}
