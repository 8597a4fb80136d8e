/* recibo serve: load the configuration and run the gateway. */
#include "base/log.h"
#include "gateway/boot.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    {"--accept-dropped-routes", NULL,
     "start although unknown or deferred operations of routes that are gone lose their protection",
     false},
};
const struct command_help command_serve_help = {
    .synopsis = "recibo serve [-c FILE] [OPTIONS]",
    .text = "Runs the gateway in the foreground until SIGTERM, which drains it.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo serve -c /etc/recibo/recibo.yaml\n",
    .set = OPTIONS_FILE,
};

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
    struct options options;
    struct conf *conf = NULL;
    struct gw_error err = {GW_OK, ""};
    int code = options_parse(&command_serve_help, argc, argv, &options);
    if (code != -1)
        return code;
    if (!command_load(command_file(&options), true, &conf))
        return EXIT_USAGE;
    gw_log_setup((enum gw_log_level)conf->log_level,
                 conf->log_format == CONF_LOG_JSON ? GW_LOG_JSON : GW_LOG_TEXT);
    gw_log_start();
    enum boot_end end = boot_serve(conf, options_has(&options, "--accept-dropped-routes"), &err);
    gw_log_stop();
    if (end != BOOT_DONE)
        (void)fprintf(stderr, "recibo serve: %s\n", err.text); /* nowhere else to tell it */
    conf_unref(conf);
    return exit_code(end);
}
