/* `recibo config`: the values that count, and the reference of all keys. It must
 * never show a secret. */
#include <stdio.h>

#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"

static const struct option_spec specs[] = {
    {"--json", NULL, "show: print a JSON array of {path, value, line, source}", false},
};
const struct command_help command_config_help = {
    .synopsis = "recibo config show [-c FILE] [--json]\nrecibo config reference",
    .text =
        "show prints every value of the configuration that counts, each with its line in the\n"
        "file, or \"default\", \"preset\" or \"defaults\". reference prints every key there is,\n"
        "with type, default, range and meaning.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_min = 1,
    .words_max = 1,
    .words = "show|reference",
    .examples = "  recibo config show\n"
                "  recibo config reference > config.md\n",
    .set = OPTIONS_FILE,
};

static int show(const char *file, bool as_json)
{
    struct conf *conf = NULL;
    struct gw_buf out;
    if (!command_load(file, false, &conf))
        return EXIT_USAGE;
    gw_buf_init(&out, COMMAND_TEXT_MAX);
    if (as_json)
        conf_show_json(conf, &out);
    else
        conf_show(conf, &out);
    conf_unref(conf);
    return command_finish(&out);
}

static int reference(void)
{
    struct gw_buf out;
    gw_buf_init(&out, COMMAND_TEXT_MAX);
    conf_print_reference(&out);
    return command_finish(&out);
}

int command_config(int argc, char **argv)
{
    struct options options;
    int code = options_parse(&command_config_help, argc, argv, &options);
    if (code != -1)
        return code;
    if (strcmp(options.words[0], "show") == 0)
        return show(command_file(&options), options_has(&options, "--json"));
    if (strcmp(options.words[0], "reference") == 0)
        return reference();
    return options_refuse(&options, "config has no \"%.64s\"; say show or reference",
                          options.words[0]);
}
