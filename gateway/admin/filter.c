/* The filters of an operation list, word by word. It must refuse what it does not
 * know: a misspelled filter would show, or settle, everything. */
#include "gateway/admin/filter.h"

#include "base/text.h"
#include "conf/values.h"

const char FILTER_IS_OTHER[] = "is not one of " FILTER_WORDS;

struct filter_word {
    const char *word;
    uint32_t bits;
};
static const struct filter_word state_words[] = {
    {"pending", 1u << RECEIPT_DEFERRED | 1u << RECEIPT_CLAIMED | 1u << RECEIPT_SENT},
    {"completed", 1u << RECEIPT_COMPLETED},
    {"released", 1u << RECEIPT_RELEASED},
    {"unknown", 1u << RECEIPT_UNKNOWN},
    {"cancelled", 1u << RECEIPT_CANCELLED},
    {"abandoned", 1u << RECEIPT_ABANDONED},
    {"expired", 1u << RECEIPT_EXPIRED},
};
static const struct filter_word probe_words[] = {
    {"none", 1u << PROBE_NONE},     {"executed", 1u << PROBE_EXECUTED},
    {"absent", 1u << PROBE_ABSENT}, {"unclear", 1u << PROBE_UNCLEAR},
    {"failed", 1u << PROBE_FAILED},
};

struct filter_input {
    struct store_filter *filter;
    int64_t now_ms;
    struct span value;
};
/* NULL, or what is wrong with the value. */
typedef const char *filter_fn(const struct filter_input *input);

/* "a,b": the bits of the words; false: one is not there. */
static bool take_words(struct span list, const struct filter_word *words, size_t count,
                       uint32_t *ret_bits)
{
    struct span rest = list;
    while (rest.len > 0) {
        size_t end = 0, at = 0;
        while (end < rest.len && rest.ptr[end] != ',')
            end++;
        while (at < count && !span_equal(span_of(rest.ptr, end), span_str(words[at].word)))
            at++;
        if (at == count || end + 1 == rest.len) /* not a word, or a comma and no word */
            return false;
        *ret_bits |= words[at].bits;
        rest = end < rest.len ? span_of(rest.ptr + end + 1, rest.len - end - 1) : span_of("", 0);
    }
    return true;
}

static const char *take_states(const struct filter_input *input)
{
    return take_words(input->value, state_words, GW_COUNT(state_words), &input->filter->states)
               ? NULL
               : "is not a list of pending, completed, released, unknown, cancelled, abandoned, "
                 "expired";
}

static const char *take_probes(const struct filter_input *input)
{
    return take_words(input->value, probe_words, GW_COUNT(probe_words), &input->filter->probes)
               ? NULL
               : "is not a list of executed, absent, unclear, failed, none";
}

static const char *take_route(const struct filter_input *input)
{
    input->filter->route = input->value;
    return NULL;
}

static const char *take_owner(const struct filter_input *input)
{
    input->filter->owner = input->value;
    return NULL;
}

static const char *take_key(const struct filter_input *input)
{
    input->filter->key = input->value;
    return NULL;
}

static const char *take_end(const struct filter_input *input)
{
    if (end_by_name(input->value) == END_COUNT || span_equal(input->value, SPAN("none")))
        return "is not a way an attempt ends, such as answer_timeout or reset_no_answer";
    input->filter->end = input->value;
    return NULL;
}

static const char *take_status(const struct filter_input *input)
{
    uint64_t number = STORE_STATUS_NONE;
    bool is_none = span_equal(input->value, SPAN("none"));
    if (!is_none && (!gw_parse_u64(input->value, &number) || number < 100 || number > 599))
        return "is neither a status from 100 to 599 nor none";
    input->filter->status = (uint32_t)number;
    return NULL;
}

static const char *take_claimed(const struct filter_input *input)
{
    bool is_claimed = span_equal(input->value, SPAN("true"));
    input->filter->claimed = is_claimed ? CLAIM_SOME : CLAIM_NONE;
    return is_claimed || span_equal(input->value, SPAN("false")) ? NULL
                                                                 : "is neither true nor false";
}

static const char *take_contradicted(const struct filter_input *input)
{
    input->filter->contradicted = true;
    return span_equal(input->value, SPAN("true")) ? NULL : "can only be true";
}

static const char *duration(const struct filter_input *input, int64_t *ret_ms)
{
    int64_t ms;
    if (value_number(CONF_DURATION, input->value, &ms) != NULL || ms < 0)
        return "is not a duration such as 90s, 15m or 2h";
    *ret_ms = ms;
    return NULL;
}

static const char *take_older(const struct filter_input *input)
{
    int64_t ms = 0;
    const char *fault = duration(input, &ms);
    input->filter->created_before_ms = input->now_ms > ms ? input->now_ms - ms : 1;
    return fault;
}

static const char *take_newer(const struct filter_input *input)
{
    int64_t ms = 0;
    const char *fault = duration(input, &ms);
    input->filter->created_after_ms = input->now_ms > ms ? input->now_ms - ms : 0;
    return fault;
}

static const char *take_before(const struct filter_input *input)
{
    int64_t *before_ms = &input->filter->created_before_ms;
    if (!gw_rfc3339_parse(input->value, before_ms))
        return "is not a time such as 2026-11-30T02:11:04Z";
    if (*before_ms == 0)
        *before_ms = -1; /* 0 is the filter's "any"; no receipt is that old either */
    return NULL;
}

static const char *take_after(const struct filter_input *input)
{
    return gw_rfc3339_parse(input->value, &input->filter->created_after_ms)
               ? NULL
               : "is not a time such as 2026-11-30T02:11:04Z";
}

static const struct {
    const char *name;
    filter_fn *take;
} filters[] = {
    {"state", take_states},
    {"route", take_route},
    {"owner", take_owner},
    {"key", take_key},
    {"end", take_end},
    {"status", take_status},
    {"claimed", take_claimed},
    {"probe", take_probes},
    {"older_than", take_older},
    {"newer_than", take_newer},
    {"created_before", take_before},
    {"created_after", take_after},
    {"contradicted", take_contradicted},
};

static const char *take_label(struct store_filter *filter, struct span name, struct span value)
{
    if (filter->label_name.len > 0)
        return "is a second label; one can be asked for";
    filter->label_name = span_of(name.ptr + 6, name.len - 6);
    filter->label_value = value;
    return NULL;
}

const char *filter_take(struct store_filter *filter, int64_t now_ms, struct span name,
                        struct span value)
{
    const struct filter_input input = {.filter = filter, .now_ms = now_ms, .value = value};
    bool is_label = name.len > 6 && memcmp(name.ptr, "label.", 6) == 0;
    size_t at = 0;
    while (!is_label && at < GW_COUNT(filters) && !span_equal(name, span_str(filters[at].name)))
        at++;
    if (!is_label && at == GW_COUNT(filters))
        return FILTER_IS_OTHER;
    if (value.len == 0)
        return "has no value";
    return is_label ? take_label(filter, name, value) : filters[at].take(&input);
}
