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
};

static const struct command_help help = {
    .synopsis = "recibo why ID | --label NAME=VALUE",
    .text =
        "Prints the timeline of an operation: what happened when, what it was taken to mean, on\n"
        "what basis (proved, declared, asserted), and which line of the configuration said so;\n"
        "then what a repeat gets now and after each verdict.\n",
    .options = specs,
    .option_count = GW_COUNT(specs),
    .words_max = 1,
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

/* The one operation with that label. Several are listed instead: -1 and no id. */
static int find(const struct options *options, const struct admin_client *client, char *ret_id)
{
    const char *label = options_value(options, "--label");
    const char *equals = strchr(label, '=');
    struct gw_buf path;
    struct admin_reply reply;
    ret_id[0] = '\0';
    if (equals == NULL || equals == label || equals[1] == '\0')
        return options_refuse(options, "--label is NAME=VALUE");
    gw_buf_init(&path, 4096);
    (void)gw_buf_add(&path, SPAN("/v1/operations?limit=2&label.")); /* asked just below */
    client_escape(&path, span_of(label, (size_t)(equals - label)));
    (void)gw_buf_byte(&path, '=');
    client_escape(&path, span_str(equals + 1));
    int code = !gw_buf_byte(&path, '\0') || path.failed
                   ? options_refuse(options, "the label is too long")
                   : client_want(client, "GET", path.ptr, span_of(NULL, 0), &reply);
    gw_buf_fini(&path);
    if (code != -1)
        return code;
    const json_t *operations = json_object_get(reply.json, "operations");
    struct span id = words_of(json_array_get(operations, 0), "id");
    size_t count = json_array_size(operations);
    if (count == 0)
        (void)fprintf(stderr, "recibo: no operation has this label\n");
    if (count == 1)
        (void)snprintf(ret_id, ID_BYTES, "%.*s", (int)id.len, id.ptr); /* checked after this */
    client_forget(&reply);
    return count == 0 ? EXIT_NOT_FOUND : -1;
}

int command_why(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    char id[ID_BYTES] = "";
    int code = options_parse(&help, argc, argv, &options);
    if (code != -1)
        return code;
    bool has_label = options_has(&options, "--label");
    if (has_label == (options.word_count == 1))
        return options_refuse(&options, "give one id, or --label NAME=VALUE");
    if (!has_label) {
        code = listing_check_id(&options, options.words[0]);
        if (code != -1)
            return code;
        (void)snprintf(id, sizeof(id), "%s", options.words[0]); /* 29 bytes, just checked */
    }
    code = client_open(&options, &client);
    if (code == -1 && has_label)
        code = find(&options, &client, id);
    if (code != -1)
        return code;
    if (id[0] != '\0')
        return explain(&client, id);
    const struct listing listing = {.state = NULL, .oldest_first = false};
    (void)printf("Several operations have this label; ask for one of them: recibo why ID\n");
    return listing_run(&options, &client, &listing);
}
