/* `recibo config`: the values that count, and the reference of all keys. It must
 * never show a secret. */
#include <stdio.h>

#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"

static const char help[] =
    "usage: recibo config show [-c FILE] [--json]\n"
    "       recibo config reference\n"
    "\n"
    "show prints every value of the configuration that counts, each with its line in the\n"
    "file, or \"default\", \"preset\" or \"defaults\". reference prints every key there is,\n"
    "with type, default, range and meaning.\n"
    "\n"
    "  -c FILE  the configuration (default: recibo.yaml)\n"
    "  --json   print a JSON array of {path, value, line, source}\n"
    "  --help   print this\n";

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

static int run(const char *verb, const char *file, bool as_json)
{
    if (strcmp(verb, "show") == 0)
        return show(file, as_json);
    if (strcmp(verb, "reference") == 0)
        return reference();
    return command_usage("config",
                         verb[0] == '\0' ? "what to do is missing: show or reference"
                                         : "no such thing to do: ",
                         verb);
}

int command_config(int argc, char **argv)
{
    struct command_words words = {.argc = argc, .argv = argv, .at = 1};
    bool as_json = false;
    const char *word = "", *verb = "";
    for (;;) {
        switch (command_next(&words, &word)) {
        case COMMAND_END:
            return run(verb, words.conf, as_json);
        case COMMAND_BROKEN:
            return EXIT_USAGE;
        case COMMAND_CONF:
            break;
        case COMMAND_PLAIN:
            if (verb[0] != '\0')
                return command_usage("config", "one word too many: ", word);
            verb = word;
            break;
        case COMMAND_OTHER:
            if (strcmp(word, "--help") == 0)
                return fputs(help, stdout) >= 0 ? EXIT_DONE : EXIT_FAILED;
            if (strcmp(word, "--json") != 0)
                return command_usage("config", "unknown option ", word);
            as_json = true;
            break;
        }
    }
}
