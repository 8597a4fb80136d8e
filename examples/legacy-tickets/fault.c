/* The grammar of X-Fault. A word that is not known must be refused: a test that
 * misspells its fault would else pass without one. */
#include "examples/legacy-tickets/fault.h"

#include "base/text.h"

#define FAULT_WORDS_MAX  8
#define FAULT_STATUS_MIN 200
#define FAULT_STATUS_MAX 599

static bool parse_word(struct span word, struct fault *fault);
static bool set_ending(struct fault *fault, enum fault_ending ending);
static bool number_after(struct span word, struct span name, uint64_t max, uint64_t *ret);
static struct span trim(struct span text);

bool fault_parse(const char *text, struct fault *ret_fault)
{
    struct fault fault = {.ending = FAULT_ANSWER};
    struct span rest = span_str(text);
    if (text == NULL) {
        *ret_fault = fault;
        return true;
    }
    for (int words = 0; words < FAULT_WORDS_MAX; words++) {
        const char *comma = rest.len == 0 ? NULL : memchr(rest.ptr, ',', rest.len);
        size_t len = comma == NULL ? rest.len : (size_t)(comma - rest.ptr);
        if (!parse_word(trim(span_of(rest.ptr, len)), &fault))
            return false;
        if (comma == NULL) {
            *ret_fault = fault;
            return true;
        }
        rest = span_of(comma + 1, rest.len - len - 1);
    }
    return false;
}

static bool parse_word(struct span word, struct fault *fault)
{
    uint64_t number = 0;
    if (span_equal(word, SPAN("lose-answer")))
        return set_ending(fault, FAULT_LOSE_ANSWER);
    if (span_equal(word, SPAN("reset-before")))
        return set_ending(fault, FAULT_RESET_BEFORE);
    if (number_after(word, SPAN("cut="), FAULT_CUT_MAX, &number)) {
        fault->cut_bytes = (size_t)number;
        return set_ending(fault, FAULT_CUT);
    }
    if (number_after(word, SPAN("delay="), FAULT_DELAY_MAX_MS, &number)) {
        fault->delay_ms = (int64_t)number;
        return true;
    }
    if (number_after(word, SPAN("status="), FAULT_STATUS_MAX, &number)) {
        fault->status = (int)number;
        return number >= FAULT_STATUS_MIN;
    }
    return false;
}

static bool set_ending(struct fault *fault, enum fault_ending ending)
{
    if (fault->ending != FAULT_ANSWER)
        return false;
    fault->ending = ending;
    return true;
}

static bool number_after(struct span word, struct span name, uint64_t max, uint64_t *ret)
{
    if (word.len < name.len || !span_equal(span_of(word.ptr, name.len), name))
        return false;
    return gw_parse_u64(span_of(word.ptr + name.len, word.len - name.len), ret) && *ret <= max;
}

static struct span trim(struct span text)
{
    while (text.len > 0 && (text.ptr[0] == ' ' || text.ptr[0] == '\t'))
        text = span_of(text.ptr + 1, text.len - 1);
    while (text.len > 0 && (text.ptr[text.len - 1] == ' ' || text.ptr[text.len - 1] == '\t'))
        text.len--;
    return text;
}
