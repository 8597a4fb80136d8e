/* `recibo why`: what happened to an operation, which rule decided, and what a repeat
 * gets. It changes nothing. */
#include "gateway/commands/commands.h"
#include "gateway/commands/listing.h"
#include "gateway/commands/show.h"
#include "gateway/commands/words.h"

#include <stdio.h>

#define WHY_BYTES_MAX ((size_t)8 << 20)
#define ID_BYTES      64

static const struct option_spec specs[] = {
    {"--label", "NAME=VALUE", "the operation with this label, instead of an id", false},
    {"--key", "KEY", "the operation with this key, instead of an id", false},
};

const struct command_help command_why_help = {
    .synopsis = "recibo why ID\nrecibo why --label NAME=VALUE | --key KEY",
    .text =
        "Prints the timeline of an operation: what happened when, what it was taken to mean, on\n"
        "what basis (proved, declared, asserted), and which line of the configuration said so;\n"
        "then what a repeat gets now and after each verdict. Where several fit, they are listed.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
    .words = "ID",
    .examples = "  recibo why op_01h455vb4pex5vsknk084sn02q\n"
                "  recibo why --label order=4711\n"
                "  recibo why --key 8e03978e-40d5-43dd-bc93-6894a57f9324\n",
};

static int explain(const struct admin_client *client, const char *id)
{
    struct gw_buf path, out;
    struct admin_reply reply;
    gw_buf_init(&path, 256);
    gw_buf_init(&out, WHY_BYTES_MAX);
    listing_path(&path, id, "/why");
    int code = client_want(client, "GET", path.ptr, span_of(NULL, 0), &reply);
    if (code == -1) {
        if (client->wants_json) {
            client_print_raw(&reply);
        } else {
            show_timeline(reply.json, &out);
            show_client_sees(json_object_get(reply.json, "client_sees"), &out);
            words_flush(&out);
        }
        client_forget(&reply);
        code = EXIT_DONE;
    }
    gw_buf_fini(&path);
    gw_buf_fini(&out);
    return code;
}

/* Where many were looked at, a page may be short or empty and yet not the last. */
static int search(const struct options *options, const struct admin_client *client, char *ret_id,
                  uint32_t *ret_count)
{
    const struct listing listing = {.state = NULL, .oldest_first = false};
    struct listing_pages pages;
    struct admin_reply reply;
    int code = listing_open(options, client, &listing, "2", &pages);
    if (code != -1)
        return code;
    bool goes_on = true;
    while (goes_on) {
        code = listing_next(client, &pages, &reply);
        if (code != -1)
            break;
        const json_t *operations = json_object_get(reply.json, "operations");
        struct span id = words_of(json_array_get(operations, 0), "id");
        if (*ret_count == 0)
            (void)snprintf(ret_id, ID_BYTES, "%.*s", (int)id.len, id.ptr); /* 29 bytes */
        *ret_count += (uint32_t)json_array_size(operations);
        client_forget(&reply);
        goes_on = *ret_count < 2 && listing_has_more(&pages);
    }
    listing_close(&pages);
    return code;
}

/* The one operation that fits. Several are listed instead: -1 and no id. */
static int find(const struct options *options, const struct admin_client *client, char *ret_id)
{
    uint32_t count = 0;
    int code = search(options, client, ret_id, &count);
    if (code != -1)
        return code;
    if (count == 0)
        (void)fprintf(stderr, "recibo: no operation has this %s; recibo operations lists them\n",
                      options_has(options, "--label") ? "label" : "key"); /* nowhere else */
    if (count != 1)
        ret_id[0] = '\0';
    return count == 0 ? EXIT_NOT_FOUND : -1;
}

int command_why(int argc, char **argv)
{
    const struct listing listing = {.state = NULL, .oldest_first = false};
    struct options options;
    struct admin_client client;
    char id[ID_BYTES] = "";
    int code = options_parse(&command_why_help, argc, argv, &options);
    if (code != -1)
        return code;
    bool searches = options_has(&options, "--label") || options_has(&options, "--key");
    if (!searches && options.word_count == 0)
        return options_refuse(&options, "ID is missing, or --label NAME=VALUE, or --key KEY");
    if (searches && options.word_count == 1)
        return options_refuse(&options, "give an ID, or --label or --key, not both");
    if (!searches) {
        code = listing_check_id(&options, options.words[0]);
        if (code != -1)
            return code;
        (void)snprintf(id, sizeof(id), "%s", options.words[0]); /* 29 bytes, just checked */
    }
    code = client_open(&options, &client);
    if (code == -1 && searches)
        code = find(&options, &client, id);
    if (code != -1)
        return code;
    if (id[0] != '\0')
        return explain(&client, id);
    if (!client.wants_json)
        (void)printf("Several operations fit; ask for one of them: recibo why ID\n");
    return listing_run(&options, &client, &listing);
}
