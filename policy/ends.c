/* The names of how an attempt ended and of how that is known. Must never decide
 * what an end means: classify() does. */
#include "policy/classify.h"

struct end_row {
    const char *name;
    enum end_group group;
    const char *doc;
};

static const struct end_row ends[END_COUNT] = {
#define END(name, group, doc) {#name, END_GROUP_##group, doc},
#include "policy/ends.def"
#undef END
};

static const char *const basis_names[BASIS_COUNT] = {
    [BASIS_NONE] = "none",
    [BASIS_PROVED] = "proved",
    [BASIS_DECLARED] = "declared",
    [BASIS_ASSERTED] = "asserted",
};

const char *end_name(enum attempt_end end)
{
    gw_assert(end < END_COUNT);
    return ends[end].name;
}

const char *end_doc(enum attempt_end end)
{
    gw_assert(end < END_COUNT);
    return ends[end].doc;
}

enum end_group end_group(enum attempt_end end)
{
    gw_assert(end < END_COUNT);
    return ends[end].group;
}

enum attempt_end end_by_name(struct span name)
{
    uint32_t i = 0;
    while (i < END_COUNT && !span_equal(name, span_str(ends[i].name)))
        i++;
    return (enum attempt_end)i;
}

const char *basis_name(enum attempt_basis basis)
{
    gw_assert(basis < BASIS_COUNT);
    return basis_names[basis];
}
