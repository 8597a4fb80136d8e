/* `recibo help` and `recibo version`: what the table of commands says, as text, as
 * Markdown, as man pages and as completion. It must never say what no table says. */
#include "gateway/commands/help.h"
#include "gateway/access_log.h"

#include "gateway/admin/call.h"
#include "gateway/admin/exposition.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/loading.h"

static const struct option_spec help_specs[] = {
    {"--markdown", "commands|admin|metrics|logs",
     "print docs/commands.md, docs/admin.md, docs/metrics.md or docs/logs.md", false},
    {"--man", NULL, "print the man page of the command; without one, the names of all", false},
    {"--completion", "bash", "print the completion for that shell", false},
};
const struct command_help command_help_help = {
    .synopsis = "recibo help [COMMAND [WORD]] [OPTIONS]",
    .text = "Prints the list of commands, or the text of one.\n",
    .options = help_specs,
    .option_count = GW_COUNT(help_specs),
    .words_max = 2,
    .words = "COMMAND WORD",
    .examples = "  recibo help backlog settle\n"
                "  recibo help --man backlog | man -l -\n"
                "  source <(recibo help --completion bash)\n",
    .set = OPTIONS_ALONE,
};

static const struct option_spec version_specs[] = {
    {"--json", NULL, "print a JSON object", false},
};
const struct command_help command_version_help = {
    .synopsis = "recibo version",
    .text = "Prints which version this is.\n",
    .options = version_specs,
    .option_count = GW_COUNT(version_specs),
    .examples = "  recibo version --json\n",
    .set = OPTIONS_ALONE,
};

int command_version(int argc, char **argv)
{
    struct options options;
    int code = options_parse(&command_version_help, argc, argv, &options);
    if (code == -1)
        code = printf(options_has(&options, "--json") ? "{\"version\":\"" RECIBO_VERSION "\"}\n"
                                                      : "recibo " RECIBO_VERSION "\n") < 0
                   ? EXIT_FAILED
                   : EXIT_DONE;
    return code;
}

void help_print_commands(FILE *to)
{
    (void)fprintf(to,
                  "usage: recibo COMMAND [WORDS] [OPTIONS]\n\n"); /* nothing to do if it fails */
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group == NULL)
            (void)fprintf(to, "  %-12s%s\n", command_table[i].word, command_table[i].doc);
    (void)fprintf(to, "\nrecibo COMMAND --help says more.\nExit codes: " HELP_EXIT_CODES);
}

/* ---- documents ---- */

static void print_section(const struct command *command)
{
    (void)printf("\n## recibo %s%s%s\n\n```text\n", command->group == NULL ? "" : command->group,
                 command->group == NULL ? "" : " ", command->word); /* nothing to do if it fails */
    options_print_help(command->help);
    (void)printf("```\n");
}

/* docs/commands.md: what every command says of itself. */
static void print_commands_reference(void)
{
    (void)printf("# Commands\n\nThis file is printed by `recibo help --markdown commands`; a test "
                 "fails when it is stale.\n\n```text\n"); /* nothing to do if it fails */
    help_print_commands(stdout);
    (void)printf("```\n");
    for (size_t i = 0; i < command_count; i++)
        print_section(&command_table[i]);
}

static const struct {
    const char *name;
    void (*print)(struct gw_buf *out);
} references[] = {{"admin", endpoint_print_reference},
                  {"metrics", metrics_print_reference},
                  {"logs", log_print_reference}};

static int print_reference(const struct options *options)
{
    const char *what = options_value(options, "--markdown");
    struct gw_buf out;
    if (strcmp(what, "commands") == 0) {
        print_commands_reference();
        return EXIT_DONE;
    }
    for (size_t i = 0; i < GW_COUNT(references); i++) {
        if (strcmp(what, references[i].name) != 0)
            continue;
        gw_buf_init(&out, HELP_TEXT_BYTES);
        references[i].print(&out);
        return command_finish(&out);
    }
    return options_refuse(options, "there is no such document");
}

static int print_manual(const struct options *options)
{
    struct gw_buf out;
    gw_buf_init(&out, HELP_TEXT_BYTES);
    if (options->word_count == 0)
        manual_print_names(&out);
    else if (options->word_count > 1 || !manual_print(options->words[0], &out)) {
        gw_buf_fini(&out);
        return options->word_count > 1
                   ? options_refuse(options, "a man page is that of a whole command")
                   : command_refuse(NULL, options->words[0]);
    }
    return command_finish(&out);
}

static int print_completion(const struct options *options)
{
    struct gw_buf out;
    if (strcmp(options_value(options, "--completion"), "bash") != 0)
        return options_refuse(options, "there is completion for bash alone");
    gw_buf_init(&out, HELP_TEXT_BYTES);
    completion_print_bash(&out);
    return command_finish(&out);
}

int command_help(int argc, char **argv)
{
    struct options options;
    int code = options_parse(&command_help_help, argc, argv, &options);
    if (code != -1)
        return code;
    if (options_has(&options, "--markdown"))
        return print_reference(&options);
    if (options_has(&options, "--man"))
        return print_manual(&options);
    if (options_has(&options, "--completion"))
        return print_completion(&options);
    if (options.word_count == 0) {
        help_print_commands(stdout);
        return EXIT_DONE;
    }
    const struct command *command = command_find(NULL, options.words[0]);
    if (command == NULL)
        return command_refuse(NULL, options.words[0]);
    if (options.word_count == 2)
        command = command_find(options.words[0], options.words[1]);
    if (command == NULL)
        return command_refuse(options.words[0], options.words[1]);
    options_print_help(command->help);
    return EXIT_DONE;
}
