/* Sorts the members of objects and follows pointers. Must never be slower than
 * n log n, whatever the names: a merge reads each name at most once for each time
 * it moves, so many members with one long prefix cost no more than others. */
#include "policy/json_order.h"

#define RUNS_MAX         32 /* place i holds 2^i merged runs, and an index has 32 bits */
#define INDEX_DIGITS_MAX 10

struct span json_name(const struct json_doc *doc, uint32_t node)
{
    const struct json_node *at = &doc->nodes[node];
    return span_of(doc->text.ptr + at->name_start, at->name_end - at->name_start);
}

struct span json_value(const struct json_doc *doc, uint32_t node)
{
    const struct json_node *at = &doc->nodes[node];
    return span_of(doc->text.ptr + at->start, at->end - at->start);
}

int json_names_compare(const struct json_doc *doc, uint32_t a, uint32_t b)
{
    return json_string_compare(json_name(doc, a), doc->nodes[a].name_has_escapes != 0,
                               json_name(doc, b), doc->nodes[b].name_has_escapes != 0);
}

/* Two sorted runs become one; of equal names the one in `first` comes first. */
static uint32_t runs_merge(const struct json_doc *doc, uint32_t *links, uint32_t first,
                           uint32_t second)
{
    uint32_t head = JSON_NONE;
    uint32_t *tail = &head;
    while (first != JSON_NONE && second != JSON_NONE) {
        uint32_t *from = json_names_compare(doc, first, second) <= 0 ? &first : &second;
        uint32_t node = *from;
        *tail = node;
        tail = &links[node];
        *from = links[node];
    }
    *tail = first != JSON_NONE ? first : second;
    return head;
}

/* Takes in one more run, merged with those that are as many runs already. */
static void runs_add(const struct json_doc *doc, uint32_t *links, uint32_t *runs, uint32_t run)
{
    size_t at = 0;
    for (; at < RUNS_MAX - 1 && runs[at] != JSON_NONE; at++) {
        run = runs_merge(doc, links, runs[at], run);
        runs[at] = JSON_NONE;
    }
    gw_assert(runs[at] == JSON_NONE);
    runs[at] = run;
}

uint32_t json_order_members(const struct json_doc *doc, uint32_t object, uint32_t *links)
{
    uint32_t runs[RUNS_MAX], run = JSON_NONE, last = JSON_NONE;
    for (size_t i = 0; i < RUNS_MAX; i++)
        runs[i] = JSON_NONE;
    gw_assert(doc->nodes[object].kind == JSON_KIND_OBJECT);
    for (uint32_t node = doc->nodes[object].child; node != JSON_NONE;
         node = doc->nodes[node].next) {
        if (links[node] == JSON_LEFT_OUT)
            continue;
        links[node] = JSON_NONE;
        if (run != JSON_NONE && json_names_compare(doc, last, node) <= 0)
            links[last] = node; /* in order as it is */
        else {
            if (run != JSON_NONE)
                runs_add(doc, links, runs, run);
            run = node;
        }
        last = node;
    }
    for (size_t i = 0; i < RUNS_MAX; i++)
        run = runs_merge(doc, links, runs[i], run);
    return run;
}

/* An array index of RFC 6901: digits without a leading zero. "-" is none. */
static bool index_parse(struct span step, uint32_t *ret_index)
{
    uint64_t index = 0;
    if (step.len == 0 || step.len > INDEX_DIGITS_MAX || (step.ptr[0] == '0' && step.len > 1))
        return false;
    for (size_t i = 0; i < step.len; i++) {
        if (step.ptr[i] < '0' || step.ptr[i] > '9')
            return false;
        index = index * 10 + (uint64_t)(step.ptr[i] - '0');
    }
    if (index >= JSON_LEFT_OUT)
        return false;
    *ret_index = (uint32_t)index;
    return true;
}

static uint32_t step_into_array(const struct json_doc *doc, uint32_t array, struct span step)
{
    uint32_t index;
    if (!index_parse(step, &index))
        return JSON_NONE;
    uint32_t node = doc->nodes[array].child;
    for (; node != JSON_NONE && index > 0; index--)
        node = doc->nodes[node].next;
    return node;
}

uint32_t json_step(const struct json_doc *doc, uint32_t node, struct span step)
{
    gw_assert(node < doc->node_count);
    if (doc->nodes[node].kind == JSON_KIND_ARRAY)
        return step_into_array(doc, node, step);
    if (doc->nodes[node].kind != JSON_KIND_OBJECT)
        return JSON_NONE;
    uint32_t child = doc->nodes[node].child;
    while (child != JSON_NONE && !json_string_equals(json_name(doc, child),
                                                     doc->nodes[child].name_has_escapes != 0, step))
        child = doc->nodes[child].next;
    return child;
}
