/* A small blocking client of the operator plane: one connection, one request. It
 * never sends a request twice. Threads: the main one. */
#ifndef RECIBO_GATEWAY_COMMANDS_ADMIN_CLIENT_H
#define RECIBO_GATEWAY_COMMANDS_ADMIN_CLIENT_H

#include "base/buf.h"
#include "gateway/commands/options.h"

#include <jansson.h>

#define CLIENT_HOST_BYTES  256
#define CLIENT_TOKEN_BYTES 514 /* 512 and a NUL, and one to see that it is longer */
#define CLIENT_LOOK_BYTES  128
#define CLIENT_REPLY_BYTES ((size_t)128 << 20)

struct admin_client {
    bool is_unix, is_tls;
    const char *ca;               /* file with the authorities of a TLS plane; NULL: the system's */
    char host[CLIENT_HOST_BYTES]; /* or the path of the socket */
    char port[8];
    char token[CLIENT_TOKEN_BYTES]; /* empty: who asks is seen from the Unix socket */
    bool wants_json;                /* --json: what came is printed as it is */
    bool is_harmless;               /* a call whose answer is lost may simply be made again */
    char look[CLIENT_LOOK_BYTES];   /* the command that shows what became of a change */
};

struct admin_reply {
    uint16_t status;
    struct gw_buf body;
    bool was_sent; /* of the request, a byte left: a change may have been made */
    json_t *json;  /* NULL: not JSON */
};

/* From the options, the environment, the configuration. -1: go on; else the exit
 * code, and what is wrong was said. */
int client_open(const struct options *options, struct admin_client *ret);

/* `body` is JSON; ptr NULL: none. -1: an answer came, with whatever status. Else the
 * exit code, and what is wrong was said. */
int client_ask(const struct admin_client *client, const char *method, const char *path,
               struct span body, struct admin_reply *ret_reply);
void client_forget(struct admin_reply *reply);
/* The same, and a status other than 200, 201 and 202 is said and becomes the exit code. */
int client_want(const struct admin_client *client, const char *method, const char *path,
                struct span body, struct admin_reply *ret_reply);
/* "recibo backlog show ID": said when it is not known whether a change was made. */
void client_look_with(struct admin_client *client, const char *command, const char *word);
/* The exit code of a problem, after telling it. */
int client_refused(const struct admin_client *client, const struct admin_reply *reply);
/* --json: prints the answer as it came. */
void client_print_raw(const struct admin_reply *reply);

/* Adds a path segment or a query value, with its reserved bytes escaped. */
void client_escape(struct gw_buf *out, struct span text);

#endif
