/* Edges, not levels: a full disk must not fill what is left of it with log lines. */
#include "gateway/watch.h"

#include "base/log.h"

void watch_look(struct watch *watch, const struct store_stats *stats)
{
    bool has_failed = stats->is_failing || stats->failed_commits > watch->failed;
    if (has_failed && !watch->is_failing) {
        const struct gw_log_pair pairs[] = {{"error", span_str(stats->last_error.text), 0},
                                            GW_LOG_END};
        gw_log(GW_LOG_ERROR, "store.failing", pairs);
    }
    if (!stats->is_failing && (has_failed || watch->is_failing)) {
        const struct gw_log_pair pairs[] = {
            {"failed_commits", {NULL, 0}, (int64_t)stats->failed_commits}, GW_LOG_END};
        gw_log(GW_LOG_WARN, "store.recovered", pairs);
    }
    watch->is_failing = stats->is_failing;
    watch->failed = stats->failed_commits;
}
