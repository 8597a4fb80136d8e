/* Requests without a key: does a member of their bodies tell one operation from
 * another? It looks at the first ones of a route only, and only proposes. */
#include "gateway/admin/report.h"

#define SAMPLE_ROWS_MAX    400
#define SAMPLE_MEMBERS_MAX 24
#define SAMPLE_SLOTS       1024 /* a power of two, and more than twice the rows */

struct sample_set {               /* of 8-byte digests */
    uint64_t slots[SAMPLE_SLOTS]; /* 0: free */
    uint32_t count;
};
struct sample_member {
    struct span pointer;
    uint32_t rows;
    struct sample_set values;
};
struct report_sample {
    uint32_t rows;
    struct sample_set prints;
    struct sample_member *members[SAMPLE_MEMBERS_MAX];
    uint32_t member_count;
};

static void set_add(struct sample_set *set, const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    value |= 1; /* never the mark of a free slot */
    for (uint32_t i = 0; i < SAMPLE_SLOTS; i++) {
        uint64_t *slot = &set->slots[(value / 2 + i) & (SAMPLE_SLOTS - 1)];
        if (*slot == value)
            return;
        if (*slot != 0)
            continue;
        *slot = value;
        set->count++;
        return;
    }
}

/* A member of the first level: deeper ones are parts of it. */
static bool is_plain(struct span pointer)
{
    return pointer.len > 1 && pointer.ptr[0] == '/' &&
           memchr(pointer.ptr + 1, '/', pointer.len - 1) == NULL;
}

static struct sample_member *member_of(struct report_sample *sample, struct arena *arena,
                                       struct span pointer)
{
    for (uint32_t i = 0; i < sample->member_count; i++)
        if (span_equal(sample->members[i]->pointer, pointer))
            return sample->members[i];
    if (sample->rows > 1 || sample->member_count == SAMPLE_MEMBERS_MAX)
        return NULL; /* it was not in the first request, so it is not in every one */
    struct sample_member *member = arena_take(arena, sizeof(*member));
    if (member == NULL || !arena_copy(arena, pointer, &member->pointer))
        return NULL;
    return sample->members[sample->member_count++] = member;
}

void report_sample_take(struct report_route *route, struct arena *arena,
                        const struct observation *seen)
{
    struct member_digest *members = NULL;
    uint32_t count = 0;
    if (seen->members.len == 0 || (route->sample != NULL && route->sample->rows == SAMPLE_ROWS_MAX))
        return;
    if (route->sample == NULL)
        route->sample = arena_take(arena, sizeof(*route->sample));
    struct arena *scratch = arena_new(1 << 20);
    if (route->sample != NULL && scratch != NULL &&
        members_decode(scratch, seen->members, &members, &count) == GW_OK) {
        route->sample->rows++;
        set_add(&route->sample->prints, seen->print.bytes);
        for (uint32_t i = 0; i < count; i++) {
            struct sample_member *member = is_plain(members[i].pointer)
                                               ? member_of(route->sample, arena, members[i].pointer)
                                               : NULL;
            if (member == NULL)
                continue;
            member->rows++;
            set_add(&member->values, members[i].mac);
        }
    }
    arena_free(scratch);
}

uint32_t report_sample_candidates(const struct report_route *route,
                                  struct report_candidate ret[REPORT_CANDIDATES_MAX])
{
    const struct report_sample *sample = route->sample;
    uint32_t count = 0;
    for (uint32_t i = 0; sample != NULL && i < sample->member_count; i++) {
        const struct sample_member *member = sample->members[i];
        /* In every request, and nearly as many values as there are different requests. */
        if (member->rows != sample->rows || member->values.count < 2 ||
            member->values.count * 10 < sample->prints.count * 9)
            continue;
        struct report_candidate candidate = {member->pointer, member->values.count, sample->rows};
        if (count == REPORT_CANDIDATES_MAX && ret[count - 1].values <= candidate.values)
            continue;
        uint32_t at = count < REPORT_CANDIDATES_MAX ? count++ : REPORT_CANDIDATES_MAX - 1;
        /* Fewer values than requests: repeats have the same one, as a key would. */
        for (; at > 0 && ret[at - 1].values > candidate.values; at--)
            ret[at] = ret[at - 1];
        ret[at] = candidate;
    }
    return count;
}
