/* `recibo operations`: every operation, in whatever state. It changes nothing. */
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"

static const struct option_spec specs[] = {
    {"--state", "LIST", "only in these states: pending,completed,released,unknown ...", false},
    {"--created-after", "TIME", "only those that came after 2026-11-30T02:00:00Z", false},
    {"--created-before", "TIME", "only those that came before it", false},
    LISTING_OPTIONS,
};

static const struct command_help help = {
    .synopsis = "recibo operations [OPTIONS]",
    .text = "Lists operations, the newest first.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
};

int command_operations(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    int code = options_parse(&help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    const struct listing listing = {.state = NULL, .oldest_first = false};
    return listing_run(&options, &client, &listing);
}
