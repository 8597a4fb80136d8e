/* Command lines and the configuration file. It must never print to standard
 * output what is meant for a person who made a mistake.
 *
 * Ignored results: of printing to standard error; there is nowhere else to tell. */
#include "gateway/commands/loading.h"

#include <stdio.h>

#include "gateway/commands/commands.h"

int command_usage(const char *command, const char *what, const char *which)
{
    (void)fprintf(stderr, "recibo %s: %s%s; see recibo %s --help\n", command, what, which, command);
    return EXIT_USAGE;
}

const char *command_value(struct command_words *words, const char *option)
{
    if (words->at < words->argc)
        return words->argv[words->at++];
    (void)command_usage(words->argv[0], option, " needs a value");
    return NULL;
}

enum command_word command_next(struct command_words *words, const char **ret_word)
{
    if (words->conf == NULL)
        words->conf = COMMAND_CONF_DEFAULT;
    if (words->at >= words->argc)
        return COMMAND_END;
    const char *word = words->argv[words->at++];
    *ret_word = word;
    if (strncmp(word, "--config=", 9) == 0) {
        words->conf = word + 9;
        return COMMAND_CONF;
    }
    if (strcmp(word, "-c") == 0 || strcmp(word, "--config") == 0) {
        const char *file = command_value(words, word);
        if (file == NULL)
            return COMMAND_BROKEN;
        words->conf = file;
        return COMMAND_CONF;
    }
    return word[0] == '-' && word[1] != '\0' ? COMMAND_OTHER : COMMAND_PLAIN;
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
