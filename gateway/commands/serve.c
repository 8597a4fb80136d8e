/* recibo serve: load the configuration and run the gateway. */
#include "base/log.h"
#include "gateway/boot.h"
#include "gateway/commands/commands.h"

#include <stdio.h>

static const char usage[] =
    "usage: recibo serve [-c FILE] [--accept-dropped-routes]\n\n"
    "Runs the gateway in the foreground until SIGTERM, which drains it.\n\n"
    "  -c, --config FILE   the configuration (default: recibo.yaml)\n"
    "      --accept-dropped-routes\n"
    "                      start although unknown operations of routes that are gone\n"
    "                      lose their protection\n"
    "  -h, --help          this text\n";

struct serve_options {
    const char *file;
    bool help, accepts_dropped;
};

static bool read_options(int argc, char **argv, struct serve_options *ret)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            ret->help = true;
        } else if ((strcmp(argv[i], "-c") == 0 || strcmp(argv[i], "--config") == 0) &&
                   i + 1 < argc) {
            ret->file = argv[++i];
        } else if (strcmp(argv[i], "--accept-dropped-routes") == 0) {
            ret->accepts_dropped = true;
        } else {
            (void)fprintf(stderr, "recibo serve: unknown argument '%s'; see recibo serve --help\n",
                          argv[i]); /* nobody to tell if that fails */
            return false;
        }
    }
    return true;
}

static int exit_code(enum boot_end end)
{
    switch (end) {
    case BOOT_DONE:
        return EXIT_DONE;
    case BOOT_FAILED:
        return EXIT_FAILED;
    case BOOT_UNFIT:
        return EXIT_USAGE;
    }
    return EXIT_FAILED; /* not reached */
}

int command_serve(int argc, char **argv)
{
    struct serve_options options = {.file = "recibo.yaml"};
    if (!read_options(argc, argv, &options))
        return EXIT_USAGE;
    if (options.help)
        return fputs(usage, stdout) < 0 ? EXIT_FAILED : EXIT_DONE;
    struct conf *conf = NULL;
    struct conf_report report = {0};
    enum gw_status status = conf_load(options.file, &conf, &report);
    for (uint32_t i = 0; i < report.count; i++)
        (void)fprintf(stderr, "%s%s\n", report.findings[i].is_warning ? "warning: " : "",
                      report.findings[i].text); /* likewise */
    conf_report_fini(&report);
    if (status != GW_OK)
        return EXIT_USAGE;
    gw_log_setup((enum gw_log_level)conf->log_level,
                 conf->log_format == CONF_LOG_JSON ? GW_LOG_JSON : GW_LOG_TEXT);
    struct gw_error err = {GW_OK, ""};
    enum boot_end end = boot_serve(conf, options.accepts_dropped, &err);
    if (end != BOOT_DONE)
        (void)fprintf(stderr, "recibo serve: %s\n", err.text); /* likewise */
    conf_unref(conf);
    return exit_code(end);
}
