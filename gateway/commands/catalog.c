/* The table of commands, and looking a word up in it. It runs nothing. */
#include "gateway/commands/commands.h"

#include <stdio.h>

#define COMMAND(name, word, doc)     {NULL, word, doc, command_##name, &command_##name##_help},
#define PART(group, name, word, doc) {#group, word, doc, group##_##name, &group##_##name##_help},
const struct command command_table[] = {
#include "gateway/commands/commands.def"
};
#undef COMMAND
#undef PART
const size_t command_count = GW_COUNT(command_table);

static bool is_of(const struct command *command, const char *group)
{
    if (group == NULL || command->group == NULL)
        return group == command->group;
    return strcmp(group, command->group) == 0;
}

const struct command *command_find(const char *group, const char *word)
{
    for (size_t i = 0; i < command_count; i++)
        if (is_of(&command_table[i], group) && strcmp(command_table[i].word, word) == 0)
            return &command_table[i];
    return NULL;
}

int command_refuse(const char *group, const char *word)
{
    const char *words[GW_COUNT(command_table)];
    size_t count = 0;
    for (size_t i = 0; i < command_count; i++)
        if (is_of(&command_table[i], group))
            words[count++] = command_table[i].word;
    const char *near = options_near(word, words, count);
    /* Nowhere else to tell it. */
    if (group == NULL)
        (void)fprintf(stderr, "recibo: there is no command \"%.64s\"", word);
    else
        (void)fprintf(stderr, "recibo: %s has no \"%.64s\"", group, word);
    if (near != NULL)
        (void)fprintf(stderr, "; did you mean %s?", near);
    if (group == NULL)
        (void)fprintf(stderr, "\nrecibo --help lists the commands\n");
    else
        (void)fprintf(stderr, "\nrecibo %s --help lists them\n", group);
    return EXIT_USAGE;
}
