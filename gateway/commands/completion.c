/* Completion for bash, printed from the table of commands. The script knows words and
 * options; it must never run recibo, nor anything else, while somebody types.
 *
 * Ignored results: a buffer that is full is marked as failed, and whoever writes it
 * looks at that once. */
#include "gateway/commands/commands.h"
#include "gateway/commands/help.h"

static void put_options(struct gw_buf *out, const struct command_help *help)
{
    const struct option_spec *spec;
    for (size_t i = 0; (spec = options_spec(help, i)) != NULL; i++)
        (void)gw_buf_print(out, " %s", spec->name);
}

static void put_parts(struct gw_buf *out, const char *group)
{
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group != NULL && strcmp(command_table[i].group, group) == 0)
            (void)gw_buf_print(out, " %s", command_table[i].word);
}

/* What may stand behind an option: words where there is a choice, else a file's name. */
static void put_values(struct gw_buf *out, const struct command *command, const char *path)
{
    const struct option_spec *spec;
    for (size_t i = 0; (spec = options_spec(command->help, i)) != NULL; i++) {
        if (spec->value == NULL)
            continue;
        (void)gw_buf_print(out, "    '%s %s') words='", path, spec->name);
        for (const char *c = spec->value; strchr(spec->value, '|') != NULL && *c != '\0'; c++)
            (void)gw_buf_byte(out, *c == '|' ? ' ' : *c);
        (void)gw_buf_add(out, SPAN("' ;;\n"));
    }
}

void completion_print_bash(struct gw_buf *out)
{
    (void)gw_buf_add(out, SPAN("# Completion for bash. Printed by recibo help --completion bash\n"
                               "_recibo()\n{\n"
                               "    local words='' path=${COMP_WORDS[1]}\n"
                               "    local current=${COMP_WORDS[COMP_CWORD]}\n"
                               "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                               "    COMPREPLY=()\n"
                               "    case $COMP_CWORD in\n    1) path='' ;;\n"
                               "    2) ;;\n    *) case \"$path ${COMP_WORDS[2]}\" in\n"));
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group != NULL)
            (void)gw_buf_print(out, "        '%s %s') path=\"$path ${COMP_WORDS[2]}\" ;;\n",
                               command_table[i].group, command_table[i].word);
    (void)gw_buf_add(out, SPAN("        esac ;;\n    esac\n    case $path in\n    '') words='"));
    for (size_t i = 0; i < command_count; i++)
        if (command_table[i].group == NULL)
            (void)gw_buf_print(out, " %s", command_table[i].word);
    (void)gw_buf_add(out, SPAN(" --help --version' ;;\n"));
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &command_table[i];
        (void)gw_buf_print(out, "    '%s%s%s') words='",
                           command->group == NULL ? "" : command->group,
                           command->group == NULL ? "" : " ", command->word);
        if (command->group == NULL)
            put_parts(out, command->word);
        put_options(out, command->help);
        (void)gw_buf_add(out, SPAN("' ;;\n"));
    }
    (void)gw_buf_add(out, SPAN("    esac\n    case \"$path $before\" in\n"));
    for (size_t i = 0; i < command_count; i++) {
        const struct command *command = &command_table[i];
        struct gw_buf path;
        gw_buf_init(&path, 256);
        (void)gw_buf_print(&path, "%s%s%s", command->group == NULL ? "" : command->group,
                           command->group == NULL ? "" : " ", command->word);
        (void)gw_buf_byte(&path, '\0');
        put_values(out, command, path.ptr);
        gw_buf_fini(&path);
    }
    (void)gw_buf_add(out, SPAN("    esac\n"
                               "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                               "}\n"
                               "complete -o default -F _recibo recibo\n"));
}
