/* Routes, counters and JSON of the example API. How an exchange ends, and the
 * faults, are the business of ending.c: nothing here closes a connection. */
#include "examples/legacy-tickets/service.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/text.h"
#include "examples/legacy-tickets/ending.h"
#include "examples/legacy-tickets/fault.h"

#define SERVICE_TAG         0x73657276u
#define HTTP_CREATED        201
#define SERVICE_HEAD_MAX    (64 << 10)
#define SERVICE_BODY_MAX    (1 << 20)
#define SERVICE_TEXT_MAX    2000
#define SERVICE_IDLE_S      600
#define SERVICE_HEADER_SIZE 64

struct service {
    GW_TAG(service);
    struct event_base *base;
    struct evhttp *http;
    struct tickets *tickets;
    struct endings *endings;
    int64_t posts, gets, deletes, requests, connections, executed;
};

/* One request on its way to its answer. */
struct exchange {
    struct service *service;
    struct evhttp_request *request;
    struct fault fault;
    int status;
    json_t *body; /* NULL: none */
};

static struct bufferevent *on_connection(struct event_base *base, void *arg);
static void on_request(struct evhttp_request *request, void *arg);
static void count(struct service *service, enum evhttp_cmd_type method, const char *path);
static void dispatch(struct exchange *exchange, enum evhttp_cmd_type method, const char *path);
static void post_ticket(struct exchange *exchange);
static void list_tickets(struct exchange *exchange);
static void one_ticket(struct exchange *exchange, enum evhttp_cmd_type method, const char *name);
static void show_stats(struct exchange *exchange);
static void set_header(struct exchange *exchange, const char *name, const char *value);
static void refuse(struct exchange *exchange, int status, const char *detail);
static void broken(struct exchange *exchange, const struct gw_error *err);
static void finish(struct exchange *exchange);

enum gw_status service_new(struct event_base *base, struct tickets *tickets,
                           struct service **ret_service, struct gw_error *err)
{
    struct service *service = calloc(1, sizeof(*service));
    if (service == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    service->tag_service = SERVICE_TAG;
    service->base = base;
    service->tickets = tickets;
    service->endings = endings_new(base);
    service->http = evhttp_new(base);
    if (service->endings == NULL || service->http == NULL) {
        service_free(service);
        return gw_error_set(err, GW_NOMEM, "out of memory");
    }
    evhttp_set_max_headers_size(service->http, SERVICE_HEAD_MAX);
    evhttp_set_max_body_size(service->http, SERVICE_BODY_MAX);
    evhttp_set_timeout(service->http, SERVICE_IDLE_S);
    evhttp_set_default_content_type(service->http, NULL);
    /* What is not served is answered 405 by us and not 501 in HTML by evhttp. */
    evhttp_set_allowed_methods(service->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST |
                                                  EVHTTP_REQ_PUT | EVHTTP_REQ_PATCH |
                                                  EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS);
    evhttp_set_bevcb(service->http, on_connection, service);
    evhttp_set_gencb(service->http, on_request, service);
    *ret_service = service;
    return GW_OK;
}

void service_free(struct service *service)
{
    if (service == NULL)
        return;
    /* The endings first: evhttp_free frees the requests that they point at. */
    endings_free(service->endings);
    if (service->http != NULL)
        evhttp_free(service->http);
    free(service);
}

enum gw_status service_listen(struct service *service, struct service_address where,
                              uint16_t *ret_port, struct gw_error *err)
{
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(service->http, where.host, where.port);
    if (bound == NULL)
        return gw_error_set(err, GW_IO, "listen on %s port %u: %s", where.host,
                            (unsigned)where.port, strerror(errno));

    struct sockaddr_storage address = {0};
    socklen_t len = sizeof(address);
    if (getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &len) != 0)
        return gw_error_set(err, GW_IO, "ask for the port: %s", strerror(errno));
    in_port_t port = address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                   : ((struct sockaddr_in *)&address)->sin_port;
    *ret_port = ntohs(port);
    return GW_OK;
}

static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
    struct service *service;
    GW_CAST(service, arg, service, SERVICE_TAG);
    service->connections++;
    /* NULL makes evhttp take its own default, which is this very call. */
    return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
}

/* evhttp calls this when the whole body is read. */
static void on_request(struct evhttp_request *request, void *arg)
{
    struct service *service;
    GW_CAST(service, arg, service, SERVICE_TAG);
    struct exchange exchange = {.service = service, .request = request, .status = HTTP_OK};
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri == NULL ? NULL : evhttp_uri_get_path(uri);
    const char *wish = evhttp_find_header(evhttp_request_get_input_headers(request), "X-Fault");

    if (path == NULL) {
        refuse(&exchange, HTTP_BADREQUEST, "the request target is not understood");
    } else if (strcmp(path, "/_stats") == 0 && method == EVHTTP_REQ_GET) {
        show_stats(&exchange);
    } else {
        count(service, method, path);
        if (!fault_parse(wish, &exchange.fault))
            refuse(&exchange, HTTP_BADREQUEST, "X-Fault is not understood");
        else if (exchange.fault.ending != FAULT_RESET_BEFORE)
            dispatch(&exchange, method, path);
    }
    finish(&exchange);
}

static void count(struct service *service, enum evhttp_cmd_type method, const char *path)
{
    service->requests++;
    if (method == EVHTTP_REQ_POST && strcmp(path, "/tickets") == 0)
        service->posts++;
    else if (method == EVHTTP_REQ_GET)
        service->gets++;
    else if (method == EVHTTP_REQ_DELETE)
        service->deletes++;
}

static void dispatch(struct exchange *exchange, enum evhttp_cmd_type method, const char *path)
{
    static const char one[] = "/tickets/";
    if (strcmp(path, "/tickets") == 0) {
        if (method == EVHTTP_REQ_POST) {
            post_ticket(exchange);
        } else if (method == EVHTTP_REQ_GET) {
            list_tickets(exchange);
        } else {
            set_header(exchange, "Allow", "GET, POST");
            refuse(exchange, HTTP_BADMETHOD, "tickets are listed with GET and made with POST");
        }
    } else if (strncmp(path, one, sizeof(one) - 1) == 0) {
        one_ticket(exchange, method, path + sizeof(one) - 1);
    } else {
        refuse(exchange, HTTP_NOTFOUND, "there is nothing here but /tickets and /_stats");
    }
}

/* A subject must show something; what it says is nobody's business here. */
static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n\v\f")] == '\0';
}

static void post_ticket(struct exchange *exchange)
{
    struct evbuffer *input = evhttp_request_get_input_buffer(exchange->request);
    size_t len = evbuffer_get_length(input);
    const char *bytes = len == 0 ? "" : (const char *)evbuffer_pullup(input, -1);
    json_error_t why;
    json_t *given = bytes == NULL ? NULL : json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &why);
    const json_t *reference = json_object_get(given, "external_reference");
    const struct ticket_text text = {
        .subject = json_string_value(json_object_get(given, "subject")),
        .external_reference = json_string_value(reference),
    };
    struct gw_error err;
    int64_t id = 0;
    char location[SERVICE_HEADER_SIZE];

    if (!json_is_object(given)) {
        refuse(exchange, HTTP_BADREQUEST, "the body is not a JSON object");
    } else if (text.subject == NULL || is_blank(text.subject) ||
               strlen(text.subject) > SERVICE_TEXT_MAX) {
        refuse(exchange, HTTP_BADREQUEST, "subject is a text of 1 to 2000 bytes and not blank");
    } else if (reference != NULL && !json_is_null(reference) &&
               (text.external_reference == NULL ||
                strlen(text.external_reference) > SERVICE_TEXT_MAX)) {
        refuse(exchange, HTTP_BADREQUEST, "external_reference is a text of at most 2000 bytes");
    } else if (tickets_insert(exchange->service->tickets, text, &id, &err) != GW_OK) {
        broken(exchange, &err);
    } else {
        exchange->service->executed++;
        (void)snprintf(location, sizeof(location), "/tickets/%lld", (long long)id); /* it fits */
        set_header(exchange, "Location", location);
        exchange->status = HTTP_CREATED;
        if (tickets_find(exchange->service->tickets, id, &exchange->body, &err) != GW_OK)
            broken(exchange, &err);
    }
    json_decref(given);
}

static void list_tickets(struct exchange *exchange)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(exchange->request);
    const char *query = evhttp_uri_get_query(uri);
    struct evkeyvalq pairs = {0};
    struct gw_error err;
    json_t *items = NULL;

    if (query != NULL && *query != '\0' && evhttp_parse_query_str(query, &pairs) != 0) {
        refuse(exchange, HTTP_BADREQUEST, "the query is not understood");
        return;
    }
    const char *reference =
        query == NULL || *query == '\0' ? NULL : evhttp_find_header(&pairs, "external_reference");
    if (tickets_list(exchange->service->tickets, reference, &items, &err) != GW_OK)
        broken(exchange, &err);
    else
        exchange->body = json_pack("{s:o}", "items", items);
    if (query != NULL && *query != '\0')
        evhttp_clear_headers(&pairs);
}

static void one_ticket(struct exchange *exchange, enum evhttp_cmd_type method, const char *name)
{
    struct tickets *tickets = exchange->service->tickets;
    struct gw_error err;
    uint64_t id = 0;
    bool has_id = gw_parse_u64(span_str(name), &id) && id <= INT64_MAX;
    bool found = false;

    if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_DELETE) {
        set_header(exchange, "Allow", "GET, DELETE");
        refuse(exchange, HTTP_BADMETHOD, "a ticket is read with GET and removed with DELETE");
        return;
    }
    if (has_id && method == EVHTTP_REQ_DELETE) {
        if (tickets_delete(tickets, (int64_t)id, &found, &err) != GW_OK) {
            broken(exchange, &err);
            return;
        }
        exchange->status = HTTP_NOCONTENT;
    } else if (has_id) {
        if (tickets_find(tickets, (int64_t)id, &exchange->body, &err) != GW_OK) {
            broken(exchange, &err);
            return;
        }
        found = exchange->body != NULL;
    }
    if (!found)
        refuse(exchange, HTTP_NOTFOUND, "there is no such ticket");
}

static void show_stats(struct exchange *exchange)
{
    const struct service *service = exchange->service;
    struct gw_error err;
    int64_t tickets = 0;
    if (tickets_count(service->tickets, &tickets, &err) != GW_OK) {
        broken(exchange, &err);
        return;
    }
    exchange->body =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "tickets", (json_int_t)tickets, "executed",
                  (json_int_t)service->executed, "posts", (json_int_t)service->posts, "gets",
                  (json_int_t)service->gets, "deletes", (json_int_t)service->deletes, "requests",
                  (json_int_t)service->requests, "connections", (json_int_t)service->connections);
}

static void set_header(struct exchange *exchange, const char *name, const char *value)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(exchange->request);
    /* Without memory the answer goes out without this field. */
    (void)evhttp_add_header(headers, name, value);
}

static void refuse(struct exchange *exchange, int status, const char *detail)
{
    json_decref(exchange->body);
    exchange->status = status;
    exchange->body = json_pack("{s:{s:i, s:s}}", "error", "status", status, "detail", detail);
}

static void broken(struct exchange *exchange, const struct gw_error *err)
{
    refuse(exchange, HTTP_INTERNAL, err->text);
}

static void finish(struct exchange *exchange)
{
    struct fault *fault = &exchange->fault;
    if (fault->status >= 400)
        refuse(exchange, fault->status, "this answer was asked for with X-Fault");
    else if (fault->status == 0)
        fault->status = exchange->status;

    char *text = exchange->body == NULL ? NULL : json_dumps(exchange->body, JSON_COMPACT);
    if (text != NULL)
        set_header(exchange, "Content-Type", "application/json");
    endings_add(exchange->service->endings, exchange->request, fault, span_str(text));
    free(text);
    json_decref(exchange->body);
}
