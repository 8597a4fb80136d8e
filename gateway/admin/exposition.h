/* The two text formats of metrics: Prometheus 0.0.4 and OpenMetrics 1.0 (MET-1).
 * Families come one after another, in one piece each. A failed buffer stays marked.
 * Threads: one at a time. */
#ifndef RECIBO_GATEWAY_ADMIN_EXPOSITION_H
#define RECIBO_GATEWAY_ADMIN_EXPOSITION_H

#include "gateway/admin/call.h"

enum metric {
#define METRIC(name, text, type, unit, labels, help) METRIC_##name,
#include "gateway/admin/metrics.def"
#undef METRIC
    METRIC_COUNT,
};

#define METRIC_LABELS_MAX 3
struct metric_labels {
    struct {
        const char *name;
        struct span value;
    } pairs[METRIC_LABELS_MAX];
    uint32_t count;
};
/* One label, and one more. */
struct metric_labels metric_label(const char *name, struct span value);
struct metric_labels metric_and_label(struct metric_labels labels, const char *name,
                                      struct span value);
#define METRIC_NO_LABELS ((struct metric_labels){.count = 0})

struct exposition {
    struct gw_buf *out; /* borrowed */
    bool is_open;       /* OpenMetrics */
    enum metric family; /* the samples belong to it */
};

void exposition_init(struct exposition *exposition, struct gw_buf *out, bool is_open);
/* Starts the next family. */
void exposition_family(struct exposition *exposition, enum metric family);
/* A sample of a counter, of a gauge, of either in milliseconds printed as seconds. */
void exposition_count(struct exposition *exposition, struct metric_labels labels, uint64_t value);
void exposition_gauge(struct exposition *exposition, struct metric_labels labels, int64_t value);
void exposition_ms(struct exposition *exposition, struct metric_labels labels, uint64_t ms);
void exposition_board_histogram(struct exposition *exposition, struct metric_labels labels,
                                struct board_histogram *histogram);
void exposition_commit_histogram(struct exposition *exposition, const struct store_stats *stats);
void exposition_batch_histogram(struct exposition *exposition, const struct store_stats *stats);
void exposition_end(struct exposition *exposition);

/* What the table says of a family. */
struct metric_row {
    const char *name; /* without _total */
    const char *type, *unit, *labels, *help;
};
const struct metric_row *metric_row(enum metric metric);
/* The markdown of docs/metrics.md. */
void metrics_print_reference(struct gw_buf *out);

#endif
