/* Spells metrics. It knows the formats, and no route or store. */
#include "gateway/admin/exposition.h"

#include <stdio.h>

static const struct metric_row rows[METRIC_COUNT] = {
#define METRIC(name, text, type, unit, labels, help)                                               \
    [METRIC_##name] = {text, type, unit, labels, help},
#include "gateway/admin/metrics.def"
#undef METRIC
};

const struct metric_row *metric_row(enum metric metric)
{
    gw_assert(metric < METRIC_COUNT);
    return &rows[metric];
}

struct metric_labels metric_label(const char *name, struct span value)
{
    return metric_and_label(METRIC_NO_LABELS, name, value);
}

struct metric_labels metric_and_label(struct metric_labels labels, const char *name,
                                      struct span value)
{
    gw_assert(labels.count < METRIC_LABELS_MAX);
    labels.pairs[labels.count].name = name;
    labels.pairs[labels.count].value = value;
    labels.count++;
    return labels;
}

static bool is_counter(enum metric metric)
{
    return span_equal(span_str(rows[metric].type), SPAN("counter"));
}

void exposition_init(struct exposition *exposition, struct gw_buf *out, bool is_open)
{
    *exposition = (struct exposition){.out = out, .is_open = is_open, .family = METRIC_COUNT};
}

void exposition_family(struct exposition *exposition, enum metric family)
{
    const struct metric_row *row = &rows[family];
    /* The older format names the family like its samples. */
    const char *tail = is_counter(family) && !exposition->is_open ? "_total" : "";
    exposition->family = family;
    /* Whoever asked for the page looks once whether the buffer failed. */
    (void)gw_buf_print(exposition->out, "# HELP %s%s %s\n# TYPE %s%s %s\n", row->name, tail,
                       row->help, row->name, tail, row->type);
    if (exposition->is_open && row->unit[0] != '\0')
        (void)gw_buf_print(exposition->out, "# UNIT %s %s\n", row->name, row->unit);
}

static void print_label(struct gw_buf *out, char before, const char *name, struct span value)
{
    (void)gw_buf_print(out, "%c%s=\"", before, name); /* a failed buffer stays marked */
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '\n')
            (void)gw_buf_add(out, SPAN("\\n")); /* likewise */
        else if (c == '\\' || c == '"')
            (void)(gw_buf_byte(out, '\\') && gw_buf_byte(out, c));
        else
            (void)gw_buf_byte(out, c);
    }
    (void)gw_buf_byte(out, '"');
}

static void print_name(struct exposition *exposition, const char *tail,
                       const struct metric_labels *labels, const char *le)
{
    struct gw_buf *out = exposition->out;
    char before = '{';
    (void)gw_buf_print(out, "%s%s", rows[exposition->family].name, tail); /* marked if it fails */
    for (uint32_t i = 0; i < labels->count; i++) {
        print_label(out, before, labels->pairs[i].name, labels->pairs[i].value);
        before = ',';
    }
    if (le != NULL) {
        print_label(out, before, "le", span_str(le));
        before = ',';
    }
    if (before == ',')
        (void)gw_buf_byte(out, '}'); /* a failed buffer stays marked */
}

static const char *sample_tail(const struct exposition *exposition)
{
    return is_counter(exposition->family) ? "_total" : "";
}

void exposition_count(struct exposition *exposition, struct metric_labels labels, uint64_t value)
{
    print_name(exposition, sample_tail(exposition), &labels, NULL);
    (void)gw_buf_print(exposition->out, " %llu\n", (unsigned long long)value);
}

void exposition_gauge(struct exposition *exposition, struct metric_labels labels, int64_t value)
{
    print_name(exposition, sample_tail(exposition), &labels, NULL);
    (void)gw_buf_print(exposition->out, " %lld\n", (long long)value);
}

void exposition_ms(struct exposition *exposition, struct metric_labels labels, uint64_t ms)
{
    print_name(exposition, sample_tail(exposition), &labels, NULL);
    (void)gw_buf_print(exposition->out, " %llu.%03u\n", (unsigned long long)(ms / 1000),
                       (unsigned)(ms % 1000));
}

/* ---- histograms: buckets are cumulative, +Inf is the count ---- */

static void print_bucket(struct exposition *exposition, const struct metric_labels *labels,
                         const char *le, uint64_t count)
{
    print_name(exposition, "_bucket", labels, le);
    (void)gw_buf_print(exposition->out, " %llu\n", (unsigned long long)count);
}

/* micros as "0.001", "2.0": as short as it can be, with a point. */
static void seconds_text(uint64_t micros, char ret_text[32])
{
    int len = snprintf(ret_text, 32, "%llu.%06u", (unsigned long long)(micros / 1000000),
                       (unsigned)(micros % 1000000));
    while (len > 2 && ret_text[len - 1] == '0' && ret_text[len - 2] != '.')
        ret_text[--len] = '\0';
}

static void print_sum_and_count(struct exposition *exposition, const struct metric_labels *labels,
                                const char *sum, uint64_t count)
{
    print_bucket(exposition, labels, "+Inf", count);
    print_name(exposition, "_sum", labels, NULL);
    (void)gw_buf_print(exposition->out, " %s\n", sum);
    print_name(exposition, "_count", labels, NULL);
    (void)gw_buf_print(exposition->out, " %llu\n", (unsigned long long)count);
}

void exposition_board_histogram(struct exposition *exposition, struct metric_labels labels,
                                struct board_histogram *histogram)
{
    uint64_t count = 0;
    char text[32];
    for (size_t i = 0; i < BOARD_BUCKETS; i++) {
        count += atomic_load(&histogram->buckets[i]);
        seconds_text((uint64_t)board_bounds_ms[i] * 1000, text);
        print_bucket(exposition, &labels, text, count);
    }
    count += atomic_load(&histogram->buckets[BOARD_BUCKETS]);
    seconds_text(atomic_load(&histogram->sum_ms) * 1000, text);
    print_sum_and_count(exposition, &labels, text, count);
}

/* The last bucket of the store holds whatever is over the bound before it. */
void exposition_commit_histogram(struct exposition *exposition, const struct store_stats *stats)
{
    const struct metric_labels none = METRIC_NO_LABELS;
    uint64_t count = 0;
    char text[32];
    for (size_t i = 0; i + 1 < STORE_HISTOGRAM_BUCKETS; i++) {
        count += stats->commit_count[i];
        seconds_text(store_commit_bounds_us[i], text);
        print_bucket(exposition, &none, text, count);
    }
    seconds_text(stats->commit_us_sum, text);
    print_sum_and_count(exposition, &none, text,
                        count + stats->commit_count[STORE_HISTOGRAM_BUCKETS - 1]);
}

void exposition_batch_histogram(struct exposition *exposition, const struct store_stats *stats)
{
    const struct metric_labels none = METRIC_NO_LABELS;
    uint64_t count = 0;
    char text[32];
    for (size_t i = 0; i + 1 < STORE_HISTOGRAM_BUCKETS; i++) {
        count += stats->batch_count[i];
        (void)snprintf(text, sizeof(text), "%u.0", 1u << i); /* at most 8192.0 */
        print_bucket(exposition, &none, text, count);
    }
    (void)snprintf(text, sizeof(text), "%llu",
                   (unsigned long long)stats->operations); /* 20 digits */
    print_sum_and_count(exposition, &none, text,
                        count + stats->batch_count[STORE_HISTOGRAM_BUCKETS - 1]);
}

void exposition_end(struct exposition *exposition)
{
    if (exposition->is_open)
        (void)gw_buf_add(exposition->out, SPAN("# EOF\n")); /* a failed buffer stays marked */
}
