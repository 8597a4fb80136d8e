/* recibo serve: load the configuration and run the gateway. */
#include "base/log.h"
#include "gateway/boot.h"
#include "gateway/commands/commands.h"

#include <stdio.h>

static const char usage[] = "usage: recibo serve [-c FILE]\n\n"
                            "Runs the gateway in the foreground until SIGTERM, which drains it.\n\n"
                            "  -c, --config FILE   the configuration (default: recibo.yaml)\n"
                            "  -h, --help          this text\n";

static bool read_options(int argc, char **argv, const char **ret_file, bool *ret_help)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            *ret_help = true;
        } else if ((strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "--config") == 0) &&
                   i + 1 < argc) {
            *ret_file = argv[++i];
        } else {
            (void)fprintf(stderr, "recibo serve: unknown argument '%s'; see recibo serve --help\n",
                          argv[i]); /* nobody to tell if that fails */
            return false;
        }
    }
    return true;
}

int command_serve(int argc, char **argv)
{
    const char *file = "recibo.yaml";
    bool help = false;
    if (!read_options(argc, argv, &file, &help))
        return EXIT_USAGE;
    if (help)
        return fputs(usage, stdout) < 0 ? EXIT_FAILED : EXIT_DONE;
    struct conf *conf = NULL;
    struct conf_report report = {0};
    enum gw_status status = conf_load(file, &conf, &report);
    for (uint32_t i = 0; i < report.count; i++)
        (void)fprintf(stderr, "%s%s\n", report.findings[i].is_warning ? "warning: " : "",
                      report.findings[i].text); /* likewise */
    conf_report_fini(&report);
    if (status != GW_OK)
        return EXIT_USAGE;
    gw_log_setup((enum gw_log_level)conf->log_level,
                 conf->log_format == CONF_LOG_JSON ? GW_LOG_JSON : GW_LOG_TEXT);
    struct gw_error err = {GW_OK, ""};
    status = boot_serve(conf, &err);
    if (status != GW_OK)
        (void)fprintf(stderr, "recibo serve: %s\n", err.text); /* likewise */
    conf_unref(conf);
    return status == GW_OK ? EXIT_DONE : EXIT_FAILED;
}
