/* `recibo page`: a link for a browser, with a code that is good once. It must never
 * open anything by itself, and never put the token into the link. */
#include "gateway/commands/admin_client.h"
#include "gateway/commands/commands.h"
#include "gateway/commands/words.h"

#include <stdio.h>

const struct command_help command_page_help = {
    .synopsis = "recibo page",
    .text = "Prints a link to the page. Its code is good once and for a minute; the page then has\n"
            "your name and your rights for 12 hours, or until recibo serve ends. On another host:\n"
            "forward the port first (ssh -L 8081:127.0.0.1:8081 HOST), and ask with --admin.\n",
    .examples = "  recibo page\n"
                "  xdg-open \"$(recibo page --json | jq -r .url)\"\n",
};

/* Over a Unix socket the server knows of no port: the link needs one that leads there. */
static void print_tunnel(const struct admin_client *client, const json_t *link, struct gw_buf *out)
{
    (void)gw_buf_add(out, SPAN("A browser needs a port that leads to the socket, for example:\n"
                               "  ssh -N -L 8081:")); /* whoever flushes tells if it failed */
    words_print(out, span_str(client->host));
    (void)gw_buf_add(out, SPAN(" HOST\nand then open\n  http://127.0.0.1:8081/#code="));
    words_print(out, words_of(link, "code"));
    (void)gw_buf_byte(out, '\n');
}

static void print_link(const struct admin_client *client, const json_t *link)
{
    struct gw_buf out;
    gw_buf_init(&out, 65536);
    if (client->is_unix) {
        print_tunnel(client, link, &out);
    } else {
        words_print(&out, words_of(link, "url"));
        (void)gw_buf_byte(&out, '\n'); /* whoever flushes tells if it failed */
    }
    (void)gw_buf_add(&out, SPAN("The link is good once, until "));
    words_print(&out, words_of(link, "expires_at"));
    (void)gw_buf_add(&out, SPAN(". Whoever opens it has your rights.\n"));
    words_flush(&out);
    gw_buf_fini(&out);
}

int command_page(int argc, char **argv)
{
    struct options options;
    struct admin_client client;
    struct admin_reply reply;
    int code = options_parse(&command_page_help, argc, argv, &options);
    if (code == -1)
        code = client_open(&options, &client);
    if (code != -1)
        return code;
    client.is_harmless = true; /* a code that nobody saw ends in a minute */
    code = client_want(&client, "POST", "/v1/page", SPAN("{}"), &reply);
    if (code != -1)
        return code;
    if (client.wants_json)
        client_print_raw(&reply);
    else
        print_link(&client, reply.json);
    client_forget(&reply);
    return EXIT_DONE;
}
