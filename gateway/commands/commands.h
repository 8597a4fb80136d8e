/* The subcommands of recibo. Each gets its own words (argv[0] is its name) and
 * returns the exit code: 0 done, 1 failed, 2 usage or configuration, 3 not found,
 * 4 changed meanwhile, 5 admin unreachable, 6 not allowed (SPEC 10). */
#ifndef RECIBO_GATEWAY_COMMANDS_COMMANDS_H
#define RECIBO_GATEWAY_COMMANDS_COMMANDS_H

enum command_exit {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_FOUND = 3,
    EXIT_CHANGED = 4,
    EXIT_UNREACHABLE = 5,
    EXIT_NOT_ALLOWED = 6,
};

int command_serve(int argc, char **argv);
int command_check(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_config(int argc, char **argv);
int command_hash_key(int argc, char **argv);
int command_token(int argc, char **argv);
int command_backlog(int argc, char **argv);
int command_operations(int argc, char **argv);
int command_why(int argc, char **argv);
int command_pause(int argc, char **argv);
int command_resume(int argc, char **argv);

#endif
