/* The command line: finds the subcommand and hands it its words. It does nothing
 * else: whatever a command does is in gateway/commands/. */
#include "gateway/commands/commands.h"
#include "gateway/commands/help.h"

#include <string.h>

/* What was to be printed and did not arrive is a failure, whatever the command says. */
static int finish(int code)
{
    bool is_written = fflush(stdout) == 0 && ferror(stdout) == 0;
    if (is_written || code != EXIT_DONE)
        return code;
    (void)fprintf(stderr, "recibo: the output could not be written\n"); /* nowhere else */
    return EXIT_FAILED;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help_print_commands(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return finish(command_help(1, argv + 1));
    if (strcmp(argv[1], "--version") == 0)
        return finish(command_version(1, argv + 1));
    const struct command *command = command_find(NULL, argv[1]);
    return command == NULL ? command_refuse(NULL, argv[1])
                           : finish(command->run(argc - 1, argv + 1));
}
