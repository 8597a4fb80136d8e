/* docs/metrics.md, from the tables of the metrics and of their labels' words. It must
 * never name a metric or a word that no table has. */
#include "gateway/admin/exposition.h"
#include "gateway/admin/operation.h"
#include "gateway/problem.h"

static void print_families(struct gw_buf *out)
{
    /* The caller asks once at the end whether the buffer failed; so below. */
    (void)gw_buf_add(out, SPAN("| metric | type | labels | what it says |\n|---|---|---|---|\n"));
    for (uint32_t m = 0; m < METRIC_COUNT; m++) {
        const struct metric_row *row = metric_row((enum metric)m);
        bool is_counter = span_equal(span_str(row->type), SPAN("counter"));
        (void)gw_buf_print(out, "| `%s%s` | %s | %s | %s |\n", row->name,
                           is_counter ? "_total" : "", row->type, row->labels, row->help);
    }
}

static void print_word(struct gw_buf *out, const char *word)
{
    (void)gw_buf_print(out, " `%s`", word);
}

static void print_words(struct gw_buf *out)
{
    (void)gw_buf_add(out, SPAN("| `outcome` | the words of `Idempotency-Status`:"));
    for (uint32_t o = OUTCOME_NONE + 1; o < OUTCOME_COUNT; o++)
        print_word(out, outcome_word((enum outcome)o));
    (void)gw_buf_add(out, SPAN(" |\n| `end` | how an attempt ended, as in its evidence:"));
    for (uint32_t e = END_none + 1; e < END_COUNT; e++)
        print_word(out, end_name((enum attempt_end)e));
    (void)gw_buf_add(out, SPAN(" |\n| `verdict` |"));
    for (uint32_t v = 0; v < VERDICT_COUNT; v++)
        print_word(out, settle_word((enum settle_verdict)v));
    (void)gw_buf_add(
        out,
        SPAN(
            " |\n"
            "| `by` | of `recibo_settled_total` `operator`: one by one. `plan`: many at once. "
            "`probe`: the upstream "
            "was asked; `executed` and `not_executed` alone. `late`: the upstream's answer "
            "came after all; likewise. Of `recibo_compensations_total` `operator`: at the operator "
            "plane. `owner`: whose operation it is |\n"
            "| `why` | `route`: paused by hand. `upstream`: its upstream is. `breaker`: it is "
            "open, or tries one |\n"
            "| `reason` | the `code` of the problem:"));
    for (uint32_t p = PROBLEM_NONE + 1; p < PROBLEM_COUNT; p++)
        print_word(out, problem_code((enum problem)p));
    (void)gw_buf_add(out, SPAN(" |\n"));
}

static const char head[] =
    "# Metrics\n\n"
    "This file is printed by `recibo help --markdown metrics`; a test fails when it is stale.\n\n"
    "`GET /metrics` on the operator plane, without a token: Prometheus text 0.0.4, or OpenMetrics "
    "1.0 for whoever asks for it in `Accept`. The operator plane listens on loopback, so what "
    "scrapes it runs on the same host or comes through a tunnel:\n\n"
    "```yaml\n"
    "scrape_configs:\n"
    "  - job_name: recibo\n"
    "    static_configs: [{targets: [\"127.0.0.1:8081\"]}]\n"
    "rule_files: [recibo.rules.yml]\n"
    "```\n\n"
    "[prometheus/recibo.rules.yml](prometheus/recibo.rules.yml) has alarms, each with what to do. "
    "[grafana/recibo.json](grafana/recibo.json) is a dashboard; its data source is a variable.\n\n"
    "Counters and histograms begin at 0 with the process. `recibo_unknown` and its age come from "
    "the store and outlive it; while the store cannot be read they are left out, because no figure "
    "is better than a wrong one. Which series there are depends on the configuration alone. "
    "No key, owner, path, method, status or label of an operation is ever a label here.\n\n"
    "## Families\n\n";

void metrics_print_reference(struct gw_buf *out)
{
    (void)gw_buf_add(out, span_str(head));
    print_families(out);
    (void)gw_buf_add(out,
                     SPAN("\n## Labels\n\n| label | values |\n|---|---|\n"
                          "| `route` | the names of `routes`; `(removed)` for all that operations "
                          "are still on record of and the configuration no longer has. The "
                          "gauges of what is unknown have `NAME/compensation`, too, where a "
                          "route has `compensate`, whose families are left out where none has. The "
                          "families of observe mode have the routes of that mode alone, "
                          "`recibo_route_paused` the enforced ones |\n"
                          "| `upstream` | the names of `upstreams` |\n"));
    print_words(out);
}
