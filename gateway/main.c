/* The command line: finds the subcommand and hands it its words. It does nothing
 * else: whatever a command does is in gateway/commands/. */
#include "gateway/admin/call.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/options.h"

#include <stdio.h>
#include <string.h>

#define RECIBO_VERSION  "0.1.0"
#define REFERENCE_BYTES 262144
#define COMMAND_NAMES   16

struct command {
    const char *name;
    const char *doc;
    int (*run)(int argc, char **argv);
};

static int command_help(int argc, char **argv);
static int command_version(int argc, char **argv);

static const struct command commands[] = {
    {"serve", "start the gateway", command_serve},
    {"check", "is the configuration valid, and what does it promise?", command_check},
    {"explain", "what happens to one request, and which line says so", command_explain},
    {"config", "the effective configuration, each value with its line", command_config},
    {"backlog", "what is unknown: look at it, settle it", command_backlog},
    {"operations", "list operations in any state", command_operations},
    {"why", "the timeline of one operation, and which rule decided", command_why},
    {"pause", "send no new operation of a route or to an upstream", command_pause},
    {"resume", "take a pause back", command_resume},
    {"token", "make a token for the operator API", command_token},
    {"hash-key", "the SHA-256 of a caller's key, for the configuration", command_hash_key},
    {"help", "this text, or that of one command", command_help},
    {"version", "which version this is", command_version},
};

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < GW_COUNT(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int refuse_command(const char *name)
{
    const char *names[COMMAND_NAMES];
    gw_assert(GW_COUNT(commands) <= COMMAND_NAMES);
    for (size_t i = 0; i < GW_COUNT(commands); i++)
        names[i] = commands[i].name;
    const char *near = options_near(name, names, GW_COUNT(commands));
    (void)fprintf(stderr, "recibo: there is no command \"%.64s\"", name); /* nowhere else */
    if (near != NULL)
        (void)fprintf(stderr, "; did you mean %s?", near);
    (void)fprintf(stderr, "\nrecibo --help lists the commands\n");
    return EXIT_USAGE;
}

static void print_commands(FILE *to)
{
    (void)fprintf(to,
                  "usage: recibo COMMAND [WORDS] [OPTIONS]\n\n"); /* nothing to do if it fails */
    for (size_t i = 0; i < GW_COUNT(commands); i++)
        (void)fprintf(to, "  %-12s%s\n", commands[i].name, commands[i].doc);
    (void)fprintf(to, "\nrecibo COMMAND --help says more.\n"
                      "Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 not found,\n"
                      "4 changed meanwhile, 5 operator plane unreachable, 6 not allowed.\n");
}

static int command_version(int argc, char **argv)
{
    bool wants_help = argc == 2 && strcmp(argv[1], "--help") == 0;
    if (argc > 1 && !wants_help) {
        (void)fprintf(stderr, "recibo: version takes no words\n");
        return EXIT_USAGE;
    }
    (void)printf(wants_help ? "usage: recibo version\n\nPrints which version this is.\n"
                            : "recibo " RECIBO_VERSION "\n");
    return EXIT_DONE;
}

/* ---- help ---- */

static int help_of(const char *name, const char *word)
{
    char ask[] = "--help";
    char first[64], second[64];
    const struct command *command = find_command(name);
    if (command == NULL)
        return refuse_command(name);
    if (command->run == command_help) {
        print_commands(stdout);
        return EXIT_DONE;
    }
    (void)snprintf(first, sizeof(first), "%s", name); /* one of ours: short */
    (void)snprintf(second, sizeof(second), "%s", word == NULL ? "" : word);
    char *with_word[] = {first, second, ask, NULL};
    char *alone[] = {first, ask, NULL};
    return word == NULL ? command->run(2, alone) : command->run(3, with_word);
}

static void print_section(const char *name, const char *word)
{
    (void)printf("\n## recibo %s%s%s\n\n```text\n", name, word == NULL ? "" : " ",
                 word == NULL ? "" : word);
    (void)help_of(name, word); /* both are in the tables: it prints */
    (void)printf("```\n");
}

/* docs/commands.md: what every command says of itself. */
static void print_commands_reference(void)
{
    static const char *const backlog_words[] = {"list", "show", "settle"};
    (void)printf("# Commands\n\nThis file is printed by `recibo help --markdown commands`; a test "
                 "fails when it is stale.\n\n```text\n");
    print_commands(stdout);
    (void)printf("```\n");
    for (size_t i = 0; i < GW_COUNT(commands); i++) {
        if (commands[i].run == command_help)
            continue;
        print_section(commands[i].name, NULL);
        for (size_t j = 0; commands[i].run == command_backlog && j < GW_COUNT(backlog_words); j++)
            print_section(commands[i].name, backlog_words[j]);
    }
}

static int print_reference(const char *what)
{
    struct gw_buf out;
    if (strcmp(what, "commands") == 0) {
        print_commands_reference();
        return EXIT_DONE;
    }
    if (strcmp(what, "admin") != 0) {
        (void)fprintf(stderr, "recibo: help --markdown takes commands or admin\n");
        return EXIT_USAGE;
    }
    gw_buf_init(&out, REFERENCE_BYTES);
    endpoint_print_reference(&out);
    (void)fwrite(gw_buf_span(&out).ptr, 1, out.len, stdout); /* the exit code cannot tell more */
    int code = out.failed ? EXIT_FAILED : EXIT_DONE;
    gw_buf_fini(&out);
    return code;
}

static int command_help(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        print_commands(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--markdown") == 0)
        return print_reference(argc == 3 ? argv[2] : "");
    if (argc > 3) {
        (void)fprintf(stderr, "recibo: help takes one command\n");
        return EXIT_USAGE;
    }
    return help_of(argv[1], argc == 3 ? argv[2] : NULL);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return command_help(1, argv + 1);
    if (strcmp(argv[1], "--version") == 0)
        return command_version(1, argv + 1);
    const struct command *command = find_command(argv[1]);
    return command == NULL ? refuse_command(argv[1]) : command->run(argc - 1, argv + 1);
}
