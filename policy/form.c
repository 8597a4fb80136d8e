/* Forms (application/x-www-form-urlencoded): split, decode, find, and the canonical
 * form. Must never give brackets, semicolons or character sets a meaning: names and
 * values are bytes (FORM-1, FORM-2). */
#include "policy/canonical.h"
#include "policy/canonical_writer.h"

#define FORM_RUNS_MAX    32 /* place i holds 2^i merged runs, and an index has 32 bits */
#define FORM_BYTES_MAX   (JSON_NONE - 1)
#define FORM_AT_END      -1 /* below every byte, so that a prefix sorts first */
#define FORM_ESCAPE_SIZE 3  /* a percent sign and two digits */

/* Where the run of bytes other than `stop` ends. */
static size_t form_run(struct span body, size_t at, size_t end, char stop)
{
    while (at < end && body.ptr[at] != stop)
        at++;
    return at;
}

uint32_t form_count(struct span body)
{
    uint32_t count = 0;
    for (size_t at = 0; at < body.len && count < JSON_NONE;) {
        size_t end = form_run(body, at, body.len, '&');
        if (end > at)
            count++;
        at = end + 1;
    }
    return count;
}

static bool form_check(struct span body, size_t at, size_t end, struct json_fault *ret_fault)
{
    for (; at < end; at++) {
        if (body.ptr[at] != '%')
            continue;
        if (end - at < FORM_ESCAPE_SIZE || gw_hex_value(body.ptr[at + 1]) < 0 ||
            gw_hex_value(body.ptr[at + 2]) < 0) {
            *ret_fault = (struct json_fault){at, "a % in the form lacks its two hex digits"};
            return false;
        }
    }
    return true;
}

bool form_parse(struct span body, struct form_pair *pairs, uint32_t pairs_max, uint32_t *ret_count,
                struct json_fault *ret_fault)
{
    uint32_t count = 0;
    if (body.len > FORM_BYTES_MAX) {
        *ret_fault = (struct json_fault){FORM_BYTES_MAX, "the form is too long"};
        return false;
    }
    for (size_t at = 0; at < body.len;) {
        size_t end = form_run(body, at, body.len, '&');
        if (end > at) {
            size_t name_end = form_run(body, at, end, '=');
            bool has_value = name_end < end;
            if (count == pairs_max) {
                *ret_fault = (struct json_fault){at, "the form has too many names"};
                return false;
            }
            /* Apart, so that an escape cannot reach over the "=". */
            if (!form_check(body, at, name_end, ret_fault) ||
                !form_check(body, name_end, end, ret_fault))
                return false;
            pairs[count++] = (struct form_pair){.name = (uint32_t)at,
                                                .name_end = (uint32_t)name_end,
                                                .value = (uint32_t)(name_end + has_value),
                                                .value_end = (uint32_t)end,
                                                .has_value = has_value};
        }
        at = end + 1;
    }
    *ret_count = count;
    return true;
}

/* Takes one decoded byte from the front; FORM_AT_END after the last. */
static int form_next(struct span *rest)
{
    if (rest->len == 0)
        return FORM_AT_END;
    char c = rest->ptr[0];
    size_t taken = 1;
    int byte = c == '+' ? ' ' : (unsigned char)c;
    if (c == '%') {
        gw_assert(rest->len >= FORM_ESCAPE_SIZE); /* form_check has seen it */
        byte = gw_hex_value(rest->ptr[1]) << 4 | gw_hex_value(rest->ptr[2]);
        gw_assert(byte >= 0);
        taken = FORM_ESCAPE_SIZE;
    }
    *rest = span_of(rest->ptr + taken, rest->len - taken);
    return byte;
}

void form_decode(struct span raw, json_put_fn *put, void *ctx)
{
    while (raw.len > 0) {
        size_t run = 0;
        while (run < raw.len && raw.ptr[run] != '%' && raw.ptr[run] != '+')
            run++;
        if (run > 0)
            put(ctx, span_of(raw.ptr, run));
        raw = span_of(raw.ptr + run, raw.len - run);
        if (raw.len == 0)
            break;
        char byte = (char)form_next(&raw);
        put(ctx, span_of(&byte, 1));
    }
}

/* How many bytes both spell alike, without half an escape. */
static size_t form_common(struct span a, struct span b)
{
    size_t shorter = a.len < b.len ? a.len : b.len, same = 0;
    while (same < shorter && a.ptr[same] == b.ptr[same]) {
        size_t taken = a.ptr[same] == '%' ? FORM_ESCAPE_SIZE : 1;
        if (taken > shorter - same || memcmp(a.ptr + same, b.ptr + same, taken) != 0)
            break;
        same += taken;
    }
    return same;
}

/* Order of the decoded bytes. */
static int form_compare(struct span a, struct span b)
{
    int x, y;
    do {
        size_t same = form_common(a, b);
        a = span_of(a.ptr + same, a.len - same);
        b = span_of(b.ptr + same, b.len - same);
        x = form_next(&a);
        y = form_next(&b);
    } while (x == y && x != FORM_AT_END);
    return (x > y) - (x < y);
}

static struct span pair_name(struct span body, const struct form_pair *pair)
{
    return span_of(body.ptr + pair->name, pair->name_end - pair->name);
}

uint32_t form_find(struct span body, const struct form_pair *pairs, uint32_t count,
                   struct span name)
{
    for (uint32_t i = 0; i < count; i++) {
        struct span rest = pair_name(body, &pairs[i]);
        size_t same = 0;
        while (same < name.len && form_next(&rest) == (unsigned char)name.ptr[same])
            same++;
        if (same == name.len && rest.len == 0)
            return i;
    }
    return JSON_NONE;
}

/* While the pairs are sorted, `value` holds the index of the next one: where the
 * value begins follows from where the name ends. That saves the memory a merge
 * sort would need, and only a merge sort reads long names a bounded number of times. */
static uint32_t pairs_merge(struct span body, struct form_pair *pairs, uint32_t first,
                            uint32_t second)
{
    uint32_t head = JSON_NONE;
    uint32_t *tail = &head;
    while (first != JSON_NONE && second != JSON_NONE) {
        int order = form_compare(pair_name(body, &pairs[first]), pair_name(body, &pairs[second]));
        uint32_t *from = order <= 0 ? &first : &second; /* of equal names the earlier one */
        uint32_t pair = *from;
        *tail = pair;
        tail = &pairs[pair].value;
        *from = pairs[pair].value;
    }
    *tail = first != JSON_NONE ? first : second;
    return head;
}

/* Takes in one more run, merged with those that are as many runs already. */
static void pairs_add(struct span body, struct form_pair *pairs, uint32_t *runs, uint32_t run)
{
    size_t at = 0;
    for (; at < FORM_RUNS_MAX - 1 && runs[at] != JSON_NONE; at++) {
        run = pairs_merge(body, pairs, runs[at], run);
        runs[at] = JSON_NONE;
    }
    gw_assert(runs[at] == JSON_NONE);
    runs[at] = run;
}

static uint32_t pairs_link(struct span body, struct form_pair *pairs, uint32_t count)
{
    uint32_t runs[FORM_RUNS_MAX], run = JSON_NONE;
    for (size_t i = 0; i < FORM_RUNS_MAX; i++)
        runs[i] = JSON_NONE;
    for (uint32_t i = 0; i < count; i++) {
        gw_assert(pairs[i].value == pairs[i].name_end + pairs[i].has_value);
        pairs[i].value = JSON_NONE;
        if (i > 0 &&
            form_compare(pair_name(body, &pairs[i - 1]), pair_name(body, &pairs[i])) <= 0) {
            pairs[i - 1].value = i; /* in order as it is */
            continue;
        }
        if (i > 0)
            pairs_add(body, pairs, runs, run);
        run = i;
    }
    for (size_t i = 0; i < FORM_RUNS_MAX; i++)
        run = pairs_merge(body, pairs, runs[i], run);
    return run;
}

/* Puts linked pairs into their places. A pair that had to make room leaves the
 * index of its new place behind; each is looked up once, so the steps are as many
 * as the exchanges. */
static void pairs_settle(struct form_pair *pairs, uint32_t count, uint32_t next)
{
    for (uint32_t i = 0; i < count; i++) {
        while (next < i)
            next = pairs[next].value;
        gw_assert(next < count);
        struct form_pair found = pairs[next];
        pairs[next] = pairs[i];
        pairs[i] = found;
        pairs[i].value = next;
        next = found.value;
    }
    gw_assert(next == JSON_NONE);
    for (uint32_t i = 0; i < count; i++)
        pairs[i].value = pairs[i].name_end + pairs[i].has_value;
}

static void write_decoded(struct canonical_writer *writer, struct span raw)
{
    struct canonical_length length;
    canonical_length_init(&length);
    form_decode(raw, canonical_length_put, &length);
    canonical_number(writer, length.bytes);
    form_decode(raw, canonical_put, writer);
}

static bool begin_name(struct canonical_writer *writer, struct span raw)
{
    struct canonical_name name;
    struct canonical_path path;
    if (!canonical_has_room(writer))
        return false;
    canonical_name_init(&name);
    path_init(&path);
    form_decode(raw, canonical_name_put, &name);
    path_step(&path, &name);
    return writer_begin(writer, &path);
}

void canonical_form(struct span body, struct form_pair *pairs, uint32_t count,
                    const struct canonical_sink *sink)
{
    struct canonical_writer writer;
    bool is_member = false;
    canonical_init(&writer, sink);
    pairs_settle(pairs, count, pairs_link(body, pairs, count));
    canonical_tag(&writer, 'F');
    canonical_number(&writer, count);
    for (uint32_t i = 0; i < count; i++) {
        struct span name = pair_name(body, &pairs[i]);
        if (i == 0 || form_compare(pair_name(body, &pairs[i - 1]), name) != 0) {
            if (is_member)
                writer_end(&writer);
            is_member = begin_name(&writer, name);
        }
        write_decoded(&writer, name);
        canonical_tag(&writer, pairs[i].has_value ? '=' : '-');
        if (pairs[i].has_value)
            write_decoded(&writer,
                          span_of(body.ptr + pairs[i].value, pairs[i].value_end - pairs[i].value));
    }
    if (is_member)
        writer_end(&writer);
    canonical_flush(&writer);
}
