/* Command lines and the configuration file. It must never print to standard
 * output what is meant for a person who made a mistake.
 *
 * Ignored results: of printing to standard error; there is nowhere else to tell. */
#include "gateway/commands/loading.h"

#include <stdio.h>

#include "gateway/commands/commands.h"

const char *command_file(const struct options *options)
{
    const char *file = options_value(options, "-c");
    return file == NULL ? COMMAND_CONF_DEFAULT : file;
}

void command_print_findings(const struct conf_report *report, bool with_warnings)
{
    for (uint32_t i = 0; i < report->count; i++) {
        const struct conf_finding *finding = &report->findings[i];
        if (!finding->is_warning)
            (void)fprintf(stderr, "error: %s\n", finding->text);
        else if (with_warnings)
            (void)fprintf(stderr, "warning: %s\n", finding->text);
    }
    if (report->cut)
        (void)fprintf(stderr, "... and more; only the first %d are shown\n", CONF_FINDINGS_MAX);
}

bool command_load(const char *file, bool with_warnings, struct conf **ret_conf)
{
    struct conf_report report;
    enum gw_status status = conf_load(file, ret_conf, &report);
    command_print_findings(&report, with_warnings);
    if (status != GW_OK && report.count == 0)
        (void)fprintf(stderr, "%s: there is not enough memory to load it\n", file);
    conf_report_fini(&report);
    return status == GW_OK;
}

int command_finish(struct gw_buf *out)
{
    struct span text = gw_buf_span(out);
    bool good =
        !out->failed && fwrite(text.ptr, 1, text.len, stdout) == text.len && fflush(stdout) == 0;
    if (!good)
        (void)fprintf(stderr, "recibo: the output could not be written\n");
    gw_buf_fini(out);
    return good ? EXIT_DONE : EXIT_FAILED;
}
