/* What an answer means, for any answer and any rule: the pattern matcher agrees with
 * a table that knows no shortcut, a rule fits exactly when each of its conditions
 * alone does, and the verdict goes past no proof. Lines of the input: choices, glob,
 * header value, pointer, text, then the body. */
#include <stdlib.h>

#include "policy/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_BYTES_MAX ((size_t)1 << 16)
#define GLOB_BYTES_MAX  ((size_t)128)
#define TEXT_BYTES_MAX  ((size_t)256)
#define STEPS_MAX       16

struct input {
    struct span choices, glob, value, pointer, text, body;
    struct span steps[STEPS_MAX];
};

static struct span next_line(struct span *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != '\n')
        len++;
    struct span line = span_of(rest->ptr, len);
    size_t eaten = len < rest->len ? len + 1 : len;
    *rest = span_of(rest->ptr + eaten, rest->len - eaten);
    return line;
}

static uint32_t choice(const struct input *in, size_t at)
{
    return at < in->choices.len ? (uint8_t)in->choices.ptr[at] : 0;
}

/* fits[t]: the pattern so far fits the first t bytes. */
static bool fits_by_table(struct span glob, struct span text, bool ignore_case)
{
    bool fits[TEXT_BYTES_MAX + 1] = {true};
    for (size_t g = 0; g < glob.len; g++) {
        bool before = fits[0];
        fits[0] = before && glob.ptr[g] == '*';
        for (size_t t = 1; t <= text.len; t++) {
            bool old = fits[t];
            bool is_same = ignore_case ? gw_lower(glob.ptr[g]) == gw_lower(text.ptr[t - 1])
                                       : glob.ptr[g] == text.ptr[t - 1];
            if (glob.ptr[g] == '*')
                fits[t] = old || fits[t - 1];
            else
                fits[t] = before && (glob.ptr[g] == '?' || is_same);
            before = old;
        }
    }
    return fits[text.len];
}

static void check_glob(const struct input *in)
{
    const struct span texts[] = {in->value, in->text};
    if (in->glob.len > GLOB_BYTES_MAX)
        return;
    for (size_t i = 0; i < GW_COUNT(texts); i++)
        for (int ignore_case = 0; ignore_case < 2 && texts[i].len <= TEXT_BYTES_MAX; ignore_case++)
            gw_assert(glob_fits(in->glob, texts[i], ignore_case != 0) ==
                      fits_by_table(in->glob, texts[i], ignore_case != 0));
}

static struct json_pointer pointer_of(struct input *in)
{
    struct json_pointer pointer = {.text = in->pointer, .steps = in->steps};
    struct span rest = in->pointer;
    while (rest.len > 0 && pointer.step_count < STEPS_MAX) {
        size_t end = 1;
        while (end < rest.len && rest.ptr[end] != '/')
            end++;
        in->steps[pointer.step_count++] = span_of(rest.ptr + 1, end - 1);
        rest = span_of(rest.ptr + end, rest.len - end);
    }
    return pointer;
}

/* All the conditions at once, and each alone. */
static void check_conditions(const struct answer_rule *rule, const struct answer_view *answer)
{
    struct answer_rule alone = {.has_status = rule->has_status, .status = rule->status};
    bool fits = rule_fits(&alone, answer);
    alone = (struct answer_rule){.headers = rule->headers, .header_count = rule->header_count};
    fits &= rule_fits(&alone, answer);
    alone = (struct answer_rule){.media_type = rule->media_type};
    fits &= rule_fits(&alone, answer);
    alone = (struct answer_rule){.json = rule->json, .json_count = rule->json_count};
    gw_implies(alone.json_count > 0 && answer->json == NULL, !rule_fits(&alone, answer));
    fits &= rule_fits(&alone, answer);
    alone = (struct answer_rule){.text = rule->text};
    gw_implies(alone.text.len > 0 && !answer->body_is_whole, !rule_fits(&alone, answer));
    if (answer->body_is_whole && alone.text.len > 0)
        gw_assert(rule_fits(&alone, answer) == (memmem(answer->body.ptr, answer->body.len,
                                                       alone.text.ptr, alone.text.len) != NULL));
    fits &= rule_fits(&alone, answer);
    gw_assert(rule_fits(rule, answer) == fits);
    gw_assert(rules_want_json(rule, 1) == (rule->json_count > 0));
}

static void check_verdict(const struct route_policy *route, const struct answer_view *answer,
                          const struct input *in)
{
    struct upstream_facts facts = {.end = (enum attempt_end)(choice(in, 0) % END_COUNT),
                                   .bytes_out = choice(in, 1) % 3,
                                   .bytes_in = 9,
                                   .status = answer->status};
    bool is_answered = end_group(facts.end) == END_GROUP_ANSWERED;
    struct classify_result result = classify(route, &facts, is_answered ? answer : NULL);
    bool no_byte_left = facts.bytes_out == 0 && facts.end != END_crashed;
    bool fits = rule_fits(&route->outcome.rules[0], answer);
    gw_assert(result.reason != NULL);
    gw_assert((result.basis == BASIS_PROVED) == no_byte_left);
    gw_assert((result.event == RECEIPT_EV_REFUSED) == (result.basis != BASIS_NONE));
    gw_implies(no_byte_left, result.event == RECEIPT_EV_REFUSED);
    gw_implies(!no_byte_left && !is_answered, result.event == RECEIPT_EV_LOST);
    if (is_answered && !no_byte_left)
        gw_assert(result.rule == (fits ? 0 : CLASSIFY_NO_RULE));
    else
        gw_assert(result.rule == CLASSIFY_NO_RULE);
}

static void check_answer(struct input *in, const struct json_doc *doc)
{
    const struct http_field fields[] = {{SPAN("X-Outcome"), in->value},
                                        {SPAN("content-type"), in->text}};
    const struct answer_view answer = {.status = (uint16_t)(200 + choice(in, 2) * 3 % 400),
                                       .fields = fields,
                                       .field_count = choice(in, 3) % 3,
                                       .body = in->body,
                                       .body_is_whole = choice(in, 4) % 2 == 0,
                                       .json = choice(in, 4) % 2 == 0 ? doc : NULL};
    const struct rule_header header = {SPAN("x-outcome"), in->glob};
    const struct rule_json json = {.pointer = pointer_of(in),
                                   .test = (enum rule_test)(choice(in, 5) % (RULE_EMPTY + 1)),
                                   .text = in->text,
                                   .string_only = choice(in, 6) % 2 == 1};
    uint32_t parts = choice(in, 7);
    struct answer_rule rule = {.has_status = (parts & 1) != 0,
                               .headers = &header,
                               .header_count = (parts >> 1) & 1,
                               .media_type = (parts & 4) != 0 ? in->glob : SPAN(""),
                               .json = &json,
                               .json_count = (parts >> 3) & 1,
                               .text = (parts & 16) != 0 ? in->text : SPAN(""),
                               .means = (enum answer_means)(parts % (MEANS_COMPLETED + 1))};
    status_set_add(&rule.status, (uint16_t)(200 + choice(in, 8) * 3 % 400));
    struct route_policy route = {.outcome = {.rules = &rule, .rule_count = 1}};
    status_set_add(&route.outcome.refused, 429);
    status_set_add(&route.outcome.unknown, 503);
    check_conditions(&rule, &answer);
    check_verdict(&route, &answer, in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > INPUT_BYTES_MAX)
        return 0;
    const struct json_limits limits = {.depth_max = 64, .nodes_max = INPUT_BYTES_MAX};
    struct span rest = span_of((const char *)data, size);
    struct input in = {.choices = next_line(&rest)};
    in.glob = next_line(&rest);
    in.value = next_line(&rest);
    in.pointer = next_line(&rest);
    in.text = next_line(&rest);
    in.body = rest;
    check_glob(&in);
    struct json_doc doc;
    struct json_fault fault;
    uint32_t count = 0;
    struct json_node *nodes = NULL;
    uint32_t *order = NULL;
    bool is_json = json_count(in.body, &limits, &count, &fault);
    if (is_json) {
        nodes = malloc(count * sizeof(*nodes));
        order = malloc(count * sizeof(*order));
        gw_assert(nodes != NULL && order != NULL);
        is_json = json_parse(in.body, &limits, nodes, order, count, &doc, &fault);
    }
    check_answer(&in, is_json ? &doc : NULL);
    free(nodes);
    free(order);
    return 0;
}
