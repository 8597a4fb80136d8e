/* legacy-tickets: a ticket API without idempotency, for examples and tests. This
 * file reads the options and runs the loop; it knows nothing of tickets. */
#include <event2/event.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "examples/legacy-tickets/service.h"

#define EXIT_USAGE    2
#define HOST_SIZE     256
#define USAGE_HINT    "Try 'legacy-tickets --help'.\n"
#define DEFAULT_PLACE "127.0.0.1:9000"

struct options {
    char host[HOST_SIZE];
    uint16_t port;
    const char *path;
};

enum option_end { OPTIONS_RUN, OPTIONS_DONE, OPTIONS_WRONG };

static enum option_end read_options(int argc, char **argv, struct options *options);
static bool parse_address(const char *text, struct options *options);
static int serve(const struct options *options);
static enum gw_status serve_on(struct event_base *base, const struct options *options,
                               struct tickets *tickets, struct gw_error *err);
static void on_signal(evutil_socket_t signal_number, short what, void *arg);

static const char help_text[] =
    "legacy-tickets: a ticket API without idempotency\n"
    "\n"
    "  --listen ADDR:PORT  default " DEFAULT_PLACE "; port 0 takes a free one\n"
    "  --db PATH           the SQLite file, default legacy-tickets.db\n"
    "  --help, --version\n"
    "\n"
    "  POST   /tickets                       {\"subject\": ..., \"external_reference\": ...}\n"
    "  GET    /tickets?external_reference=X\n"
    "  GET    /tickets/ID\n"
    "  DELETE /tickets/ID\n"
    "  GET    /_stats                        what was counted since the start\n"
    "\n"
    "A request may ask for an accident with the header X-Fault, words joined by commas:\n"
    "  lose-answer   do the work, close without an answer\n"
    "  reset-before  reset the connection and do nothing\n"
    "  delay=MS      do the work, answer later\n"
    "  cut=BYTES     do the work, promise the whole body, send only BYTES of it, close\n"
    "  status=CODE   do the work, answer CODE\n";

int main(int argc, char **argv)
{
    struct options options = {.path = "legacy-tickets.db"};
    bool has_default = parse_address(DEFAULT_PLACE, &options);
    gw_assert(has_default);

    switch (read_options(argc, argv, &options)) {
    case OPTIONS_DONE:
        return EXIT_SUCCESS;
    case OPTIONS_WRONG:
        return EXIT_USAGE;
    case OPTIONS_RUN:
        break;
    }
    return serve(&options);
}

static enum option_end read_options(int argc, char **argv, struct options *options)
{
    static const struct option table[] = {
        {"listen", required_argument, NULL, 'l'},
        {"db", required_argument, NULL, 'd'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    for (int option = 0; (option = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        switch (option) {
        case 'l':
            if (!parse_address(optarg, options)) {
                (void)fprintf(stderr, "legacy-tickets: --listen %s: not ADDR:PORT. " USAGE_HINT,
                              optarg); /* nobody is left to tell */
                return OPTIONS_WRONG;
            }
            break;
        case 'd':
            options->path = optarg;
            break;
        case 'h':
            return fputs(help_text, stdout) < 0 ? OPTIONS_WRONG : OPTIONS_DONE;
        case 'v':
            return puts("legacy-tickets 0.1.0") < 0 ? OPTIONS_WRONG : OPTIONS_DONE;
        default: /* getopt_long has said what is wrong */
            (void)fputs(USAGE_HINT, stderr);
            return OPTIONS_WRONG;
        }
    }
    if (optind == argc)
        return OPTIONS_RUN;
    (void)fprintf(stderr, "legacy-tickets: '%s' is not an option. " USAGE_HINT, argv[optind]);
    return OPTIONS_WRONG;
}

/* An address, or an IPv6 address in brackets, and a port behind the last colon. */
static bool parse_address(const char *text, struct options *options)
{
    const char *colon = strrchr(text, ':');
    uint64_t port = 0;
    if (colon == NULL || !gw_parse_u64(span_str(colon + 1), &port) || port > UINT16_MAX)
        return false;
    struct span host = span_of(text, (size_t)(colon - text));
    if (host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
        host = span_of(host.ptr + 1, host.len - 2);
    if (host.len == 0 || host.len >= sizeof(options->host))
        return false;
    memcpy(options->host, host.ptr, host.len);
    options->host[host.len] = '\0';
    options->port = (uint16_t)port;
    return true;
}

static int serve(const struct options *options)
{
    struct gw_error err = {.status = GW_OK};
    struct tickets *tickets = NULL;
    struct event_base *base = event_base_new();
    enum gw_status status = GW_OK;
    if (base == NULL)
        status = gw_error_set(&err, GW_NOMEM, "make the event loop: out of memory");
    if (status == GW_OK)
        status = tickets_open(options->path, &tickets, &err);
    if (status == GW_OK)
        status = serve_on(base, options, tickets, &err);

    if (status != GW_OK)
        (void)fprintf(stderr, "legacy-tickets: %s\n", err.text); /* nobody is left to tell */
    tickets_free(tickets);
    if (base != NULL)
        event_base_free(base);
    return status == GW_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

static enum gw_status serve_on(struct event_base *base, const struct options *options,
                               struct tickets *tickets, struct gw_error *err)
{
    struct service *service = NULL;
    const struct service_address where = {.host = options->host, .port = options->port};
    uint16_t port = 0;
    struct event *on_term = evsignal_new(base, SIGTERM, on_signal, base);
    struct event *on_int = evsignal_new(base, SIGINT, on_signal, base);
    enum gw_status status = GW_OK;

    if (on_term == NULL || on_int == NULL || evsignal_add(on_term, NULL) != 0 ||
        evsignal_add(on_int, NULL) != 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        status = gw_error_set(err, GW_IO, "set up the signals");
    if (status == GW_OK)
        status = service_new(base, tickets, &service, err);
    if (status == GW_OK)
        status = service_listen(service, where, &port, err);
    if (status == GW_OK) {
        bool brackets = strchr(where.host, ':') != NULL;
        (void)printf("legacy-tickets listening on %s%s%s:%u\n", brackets ? "[" : "", where.host,
                     brackets ? "]" : "", (unsigned)port);
        (void)fflush(stdout); /* whoever does not read it still gets the service */
        if (event_base_dispatch(base) != 0)
            status = gw_error_set(err, GW_IO, "the event loop failed");
    }

    service_free(service);
    if (on_term != NULL)
        event_free(on_term);
    if (on_int != NULL)
        event_free(on_int);
    return status;
}

static void on_signal(evutil_socket_t signal_number, short what, void *arg)
{
    struct event_base *base = arg;
    (void)signal_number; /* both mean: stop */
    (void)what;
    /* It fails only without a base, and then nothing would run. */
    (void)event_base_loopbreak(base);
}
