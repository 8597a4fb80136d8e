/* `recibo operations`: every operation, in whatever state. It changes nothing. */
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"

static const struct option_spec specs[] = {LISTING_OPTIONS};

const struct command_help command_operations_help = {
    .synopsis = "recibo operations [OPTIONS]",
    .text = "Lists operations in any state, the newest first. With --json and --all it prints one\n"
            "document a page.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .examples = "  recibo operations --state released --newer-than 1h\n"
                "  recibo operations --contradicted\n"
                "  recibo operations --key 8e03978e-40d5-43dd-bc93-6894a57f9324\n",
};

int command_operations(int argc, char **argv)
{
    const struct listing listing = {.state = NULL, .oldest_first = false};
    struct options options;
    struct admin_client client;
    int code = options_parse(&command_operations_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    return code != -1 ? code : listing_run(&options, &client, &listing);
}
