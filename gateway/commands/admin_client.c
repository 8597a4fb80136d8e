/* Talks HTTP to the operator plane. It must never print a token, and never read
 * more of an answer than its bound. */
#include "gateway/commands/admin_client.h"

#include "gateway/commands/commands.h"
#include "gateway/commands/exchange.h"
#include "gateway/commands/words.h"

#include "conf/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DEFAULT_CONFIGURATION "recibo.yaml"
#define CLIENT_ADDRESS_BYTES  512

static int say(int code, const char *what, const char *which)
{
    (void)fprintf(stderr, "recibo: %s%s\n", what, which); /* nowhere else to tell it */
    return code;
}

/* ---- where it is ---- */

static bool keep(char *to, size_t size, struct span from)
{
    if (from.len == 0 || from.len >= size || memchr(from.ptr, '\0', from.len) != NULL)
        return false;
    memcpy(to, from.ptr, from.len);
    to[from.len] = '\0';
    return true;
}

static bool take_host_and_port(struct admin_client *client, struct span text)
{
    if (text.len > 0 && text.ptr[text.len - 1] == '/')
        text.len--;
    size_t colon = text.len;
    while (colon > 0 && text.ptr[colon - 1] != ':')
        colon--;
    struct span host = span_of(text.ptr, colon == 0 ? text.len : colon - 1);
    struct span port = span_of(text.ptr + colon, text.len - colon);
    if (colon == 0 || port.len == 0 || port.len > 5 || strspn(port.ptr, "0123456789") < port.len)
        return false;
    if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        host = span_of(host.ptr + 1, host.len - 2);
    for (size_t i = 0; i < host.len; i++)
        if ((unsigned char)host.ptr[i] <= ' ' || strchr("/?#@\\[]\x7f", host.ptr[i]) != NULL)
            return false;
    return keep(client->host, sizeof(client->host), host) &&
           keep(client->port, sizeof(client->port), port);
}

static int take_address(struct admin_client *client, const char *address)
{
    struct span text = span_str(address);
    client->is_tls = strncmp(address, "https://", 8) == 0;
    client->is_unix = strncmp(address, "unix:", 5) == 0;
    bool is_sound;
    if (client->is_unix)
        is_sound = keep(client->host, sizeof(client->host), span_of(text.ptr + 5, text.len - 5));
    else if (client->is_tls)
        is_sound = take_host_and_port(client, span_of(text.ptr + 8, text.len - 8));
    else if (strncmp(address, "http://", 7) == 0)
        is_sound = take_host_and_port(client, span_of(text.ptr + 7, text.len - 7));
    else
        is_sound = take_host_and_port(client, text);
    return is_sound ? -1
                    : say(EXIT_USAGE,
                          "not an address like http://127.0.0.1:8081, https://HOST:PORT or "
                          "unix:/path: ",
                          address);
}

/* Only the address: the rest of the file is the server's, and so is its environment. */
static int take_from_file(struct admin_client *client, const char *path)
{
    struct conf_report report = {0};
    struct gw_buf address;
    int code;
    gw_buf_init(&address, CLIENT_ADDRESS_BYTES);
    if (conf_load_admin_address(path, &address, &report) != GW_OK || !gw_buf_byte(&address, '\0')) {
        const char *first = report.count > 0 ? report.findings[0].text : path;
        code = say(EXIT_USAGE,
                   "the configuration does not say where the operator plane is, so "
                   "give --admin URL: ",
                   first);
    } else {
        code = take_address(client, address.ptr);
    }
    conf_report_fini(&report);
    gw_buf_fini(&address);
    return code;
}

static int find_address(const struct options *options, struct admin_client *client)
{
    const char *address = options_value(options, "--admin");
    const char *file = options_value(options, "-c");
    if (address == NULL && file == NULL)
        address = getenv("RECIBO_ADMIN");
    if (address != NULL && address[0] != '\0')
        return take_address(client, address);
    if (file == NULL && access(DEFAULT_CONFIGURATION, R_OK) != 0)
        return say(EXIT_USAGE,
                   "where is the operator plane? Give --admin URL or -c FILE, or set RECIBO_ADMIN",
                   "");
    return take_from_file(client, file == NULL ? DEFAULT_CONFIGURATION : file);
}

/* ---- who asks ---- */

static bool is_token(const char *text)
{
    if (text[0] == '\0' || strlen(text) > CLIENT_TOKEN_BYTES - 2)
        return false;
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c == 0x7f)
            return false;
    return true;
}

static int take_token_file(struct admin_client *client, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        (void)fprintf(stderr, "recibo: the token file %s: %s\n", path, strerror(errno));
        return EXIT_USAGE;
    }
    size_t len = fread(client->token, 1, sizeof(client->token) - 1, file);
    (void)fclose(file); /* only read */
    while (len > 0 && (client->token[len - 1] == '\n' || client->token[len - 1] == '\r'))
        len--;
    client->token[len] = '\0';
    return is_token(client->token) ? -1 : say(EXIT_USAGE, "this file holds no token: ", path);
}

static int find_token(const struct options *options, struct admin_client *client)
{
    const char *path = options_value(options, "--token-file");
    const char *token = getenv("RECIBO_TOKEN");
    if (path != NULL)
        return take_token_file(client, path);
    bool has_none = token == NULL || token[0] == '\0';
    if (has_none && client->is_unix) /* the server sees whose process it is */
        return -1;
    if (has_none)
        return say(EXIT_USAGE, "who asks? Give --token-file FILE, or set RECIBO_TOKEN", "");
    if (!is_token(token))
        return say(EXIT_USAGE, "RECIBO_TOKEN holds no token", "");
    (void)keep(client->token, sizeof(client->token), span_str(token)); /* its length was checked */
    return -1;
}

int client_open(const struct options *options, struct admin_client *ret)
{
    *ret = (struct admin_client){.wants_json = options_has(options, "--json")};
    const char *ca = options_value(options, "--admin-ca");
    int code = find_address(options, ret);
    ret->ca = ca != NULL ? ca : getenv("RECIBO_ADMIN_CA");
    if (ret->ca != NULL && ret->ca[0] == '\0')
        ret->ca = NULL;
    return code != -1 ? code : find_token(options, ret);
}

/* ---- asking ---- */

void client_look_with(struct admin_client *client, const char *command, const char *word)
{
    (void)snprintf(client->look, sizeof(client->look), "%s %s", command,
                   word); /* our own words and an id: they fit */
}

/* After a change whose answer was lost or cannot be read. */
static void say_uncertain(const struct admin_client *client, const char *method)
{
    if (strcmp(method, "GET") != 0 && !client->is_harmless)
        (void)fprintf(stderr,
                      "The change may have been made, or not. Look before you try again: %s\n",
                      client->look[0] == '\0' ? "recibo backlog" : client->look);
}

int client_ask(const struct admin_client *client, const char *method, const char *path,
               struct span body, struct admin_reply *ret_reply)
{
    struct gw_error err = {0};
    *ret_reply = (struct admin_reply){0};
    gw_buf_init(&ret_reply->body, CLIENT_REPLY_BYTES);
    enum gw_status status = exchange_run(client, method, path, body, ret_reply, &err);
    if (status != GW_OK) {
        (void)fprintf(stderr, "recibo: the operator plane at %s%s%s: %s\n", client->host,
                      client->is_unix ? "" : ":", client->port, err.text);
        if (ret_reply->was_sent)
            say_uncertain(client, method);
        else
            (void)fprintf(stderr, "Nothing was asked. Does recibo serve run, and is it there? "
                                  "--admin URL or RECIBO_ADMIN says where it is.\n");
        client_forget(ret_reply);
        return EXIT_UNREACHABLE;
    }
    struct span text = gw_buf_span(&ret_reply->body);
    /* Keys, labels and bodies are other people's words: a NUL is one of them. */
    ret_reply->json = json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, NULL);
    return -1;
}

void client_forget(struct admin_reply *reply)
{
    json_decref(reply->json);
    reply->json = NULL;
    gw_buf_fini(&reply->body);
}

void client_print_raw(const struct admin_reply *reply)
{
    struct span text = gw_buf_span(&reply->body);
    (void)fwrite(text.ptr, 1, text.len, stdout); /* the exit code cannot tell more */
    if (text.len == 0 || text.ptr[text.len - 1] != '\n')
        (void)fputc('\n', stdout);
}

/* Somebody else's verdict was first: the state changed under whoever gave this one. */
static bool is_settled_meanwhile(struct span code, const json_t *problem)
{
    return span_equal(code, SPAN("not-settleable")) &&
           words_is_true(json_object_get(problem, "operation"), "settled");
}

static int exit_of(uint16_t status, const json_t *problem)
{
    const struct span code = words_of(problem, "code");
    if (status == 401 || status == 403 || status == 421)
        return EXIT_NOT_ALLOWED;
    if (status == 404)
        return EXIT_NOT_FOUND;
    if (status == 409 &&
        (span_equal(code, SPAN("changed-meanwhile")) || span_equal(code, SPAN("claimed")) ||
         span_equal(code, SPAN("verdict-consumed")) || is_settled_meanwhile(code, problem)))
        return EXIT_CHANGED;
    bool is_configuration = status == 422 || span_equal(code, SPAN("protection-dropped")) ||
                            span_equal(code, SPAN("needs-restart"));
    return status == 400 || status == 413 || status == 414 || status == 415 || is_configuration
               ? EXIT_USAGE
               : EXIT_FAILED;
}

/* What the answer leaves unsaid. */
static const char *hint_of(const struct admin_client *client, uint16_t status)
{
    if (status == 401 && client->token[0] == '\0')
        return "Ask with a token (--token-file FILE, or RECIBO_TOKEN), or as the user that recibo "
               "serve runs as.";
    if (status == 401)
        return "Is this the token of this server? recibo token new makes one; its SHA-256 stands "
               "under admin.tokens.";
    if (status == 403)
        return "Somebody with a token that has this right can do it, or give it to yours.";
    if (status == 404)
        return "recibo operations lists operations, recibo check the routes and upstreams.";
    if (status == 503)
        return "Try again soon; /readyz says what it waits for.";
    return NULL;
}

int client_refused(const struct admin_client *client, const struct admin_reply *reply)
{
    struct gw_buf line;
    struct span title = words_of(reply->json, "title"), detail = words_of(reply->json, "detail");
    const char *hint = hint_of(client, reply->status);
    gw_buf_init(&line, 8192);
    words_print(&line, title.len > 0 ? title : SPAN("the operator plane refused"));
    if (detail.len > 0) {
        (void)gw_buf_add(&line, SPAN(": ")); /* what does not fit is left out */
        words_print(&line, detail);
    }
    if (client->wants_json)
        client_print_raw(reply);
    (void)fprintf(stderr, "recibo: %.*s (%u)\n", (int)line.len, gw_buf_span(&line).ptr,
                  reply->status);
    if (hint != NULL)
        (void)fprintf(stderr, "%s\n", hint);
    gw_buf_fini(&line);
    return exit_of(reply->status, reply->json);
}

/* A member that the answer to this path must have, by its last segment; NULL: any will do.
 * Another server's JSON must never be read as "nothing is unknown". */
static const char *member_of(const char *path)
{
    static const struct {
        const char *segment, *member;
    } known[] = {{"summary", "in_flight"}, {"operations", "operations"}, {"inflight", "operations"},
                 {"groups", "groups"},     {"why", "timeline"},          {"settle", "version"},
                 {"claim", "version"},     {"comment", "comments"},      {"probe", "operation"},
                 {"report", "exchanges"},  {"routes", "routes"},         {"pause", "changed"},
                 {"resume", "changed"},    {"refused", "refused"},       {"page", "code"},
                 {"reload", "reloaded"}};
    struct span rest = span_of(path, strcspn(path, "?"));
    size_t start = rest.len;
    while (start > 0 && rest.ptr[start - 1] != '/')
        start--;
    struct span last = span_of(rest.ptr + start, rest.len - start);
    for (size_t i = 0; i < GW_COUNT(known); i++)
        if (span_equal(last, span_str(known[i].segment)))
            return known[i].member;
    return last.len > 3 && memcmp(last.ptr, "op_", 3) == 0 ? "version" : NULL;
}

static bool is_answer(const char *method, const char *path, const struct admin_reply *reply)
{
    const char *member = member_of(path);
    bool is_done = reply->status == 200 ||
                   (strcmp(method, "GET") != 0 && (reply->status == 201 || reply->status == 202));
    return is_done && json_is_object(reply->json) &&
           (member == NULL || json_object_get(reply->json, member) != NULL);
}

int client_want(const struct admin_client *client, const char *method, const char *path,
                struct span body, struct admin_reply *ret_reply)
{
    int code = client_ask(client, method, path, body, ret_reply);
    if (code != -1)
        return code;
    if (is_answer(method, path, ret_reply))
        return -1;
    if (ret_reply->status < 300) {
        code = say(EXIT_FAILED, "the answer is not of Recibo's operator plane", "");
        say_uncertain(client, method);
    } else {
        code = client_refused(client, ret_reply);
        if (ret_reply->status >= 500 && !json_is_object(ret_reply->json))
            say_uncertain(client, method);
    }
    client_forget(ret_reply);
    return code;
}

void client_escape(struct gw_buf *out, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
        if (is_plain)
            (void)gw_buf_byte(out, (char)c); /* the caller asks once at the end */
        else
            (void)gw_buf_print(out, "%%%02X", c);
    }
}
