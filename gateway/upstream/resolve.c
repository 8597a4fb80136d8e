/* From names to addresses by libevent's evdns: the hosts file first, then DNS.
 * It knows nothing of connections and sets no time limit: who asks cancels. */
#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/util.h>
#include <stdio.h>
#include <stdlib.h>

#include "gateway/upstream/connection.h"

struct resolver {
    struct evdns_base *dns;
    LIST_HEAD(, resolve) open;
};

struct resolve {
    GW_TAG(resolve);
#define RESOLVE_TAG 0x52534c56u
    LIST_ENTRY(resolve) link;
    struct resolver *resolver; /* NULL: nobody listens any more; the answer frees this */
    struct evdns_getaddrinfo_request *request;
    resolve_done_fn *done;
    void *ctx;
    struct address_list found;
    bool is_asking; /* evdns may answer inside the question */
    bool is_answered;
};

static void on_answer(int result, struct evutil_addrinfo *list, void *ctx);
static void keep_addresses(const struct evutil_addrinfo *list, struct address_list *ret);

struct resolver *resolver_new(struct event_base *base, const char *resolv_conf, const char *hosts)
{
    struct resolver *resolver = calloc(1, sizeof(*resolver));
    if (resolver == NULL)
        return NULL;
    LIST_INIT(&resolver->open);
    resolver->dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    if (resolver->dns == NULL) {
        free(resolver);
        return NULL;
    }
    /* A file that is missing or odd leaves fewer ways to find a name; then the
     * question fails, and says so as the end of the attempt. */
    (void)evdns_base_resolv_conf_parse(resolver->dns, DNS_OPTIONS_ALL & ~DNS_OPTION_HOSTSFILE,
                                       resolv_conf == NULL ? "/etc/resolv.conf" : resolv_conf);
    (void)evdns_base_load_hosts(resolver->dns, hosts == NULL ? "/etc/hosts" : hosts);
    return resolver;
}

void resolver_free(struct resolver *resolver)
{
    if (resolver == NULL)
        return;
    struct resolve *resolve;
    while ((resolve = LIST_FIRST(&resolver->open)) != NULL)
        resolve_cancel(resolve);
    evdns_base_free(resolver->dns, 1);
    free(resolver);
}

enum resolve_state resolve_start(struct resolver *resolver, const struct resolve_options *options,
                                 struct address_list *ret_found, struct resolve **ret_resolve)
{
    struct resolve *resolve = calloc(1, sizeof(*resolve));
    if (resolve == NULL)
        return RESOLVE_FAILED;
    resolve->tag_resolve = RESOLVE_TAG;
    resolve->resolver = resolver;
    resolve->done = options->done;
    resolve->ctx = options->ctx;
    LIST_INSERT_HEAD(&resolver->open, resolve, link);

    char service[8];
    (void)snprintf(service, sizeof(service), "%u", options->port); /* at most five digits */
    struct evutil_addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_protocol = IPPROTO_TCP};
    resolve->is_asking = true;
    struct evdns_getaddrinfo_request *request =
        evdns_getaddrinfo(resolver->dns, options->host, service, &hints, on_answer, resolve);
    resolve->is_asking = false;
    if (!resolve->is_answered) {
        gw_assert(request != NULL);
        resolve->request = request;
        *ret_resolve = resolve;
        return RESOLVE_PENDING;
    }
    struct address_list found = resolve->found;
    LIST_REMOVE(resolve, link);
    free(resolve);
    if (found.count == 0)
        return RESOLVE_FAILED;
    *ret_found = found;
    return RESOLVE_FOUND;
}

/* evdns tells a cancelled question too, some turns later; only then is it over. */
void resolve_cancel(struct resolve *resolve)
{
    gw_assert(resolve->resolver != NULL);
    LIST_REMOVE(resolve, link);
    resolve->resolver = NULL;
    evdns_getaddrinfo_cancel(resolve->request);
}

static void on_answer(int result, struct evutil_addrinfo *list, void *ctx)
{
    struct resolve *resolve;
    GW_CAST(resolve, ctx, resolve, RESOLVE_TAG);
    gw_assert(!resolve->is_answered);
    resolve->is_answered = true;
    if (result == 0)
        keep_addresses(list, &resolve->found);
    if (list != NULL)
        evutil_freeaddrinfo(list);
    if (resolve->is_asking)
        return;
    if (resolve->resolver != NULL) {
        LIST_REMOVE(resolve, link);
        resolve->done(resolve->found.count == 0 ? NULL : &resolve->found, resolve->ctx);
    }
    free(resolve);
}

static void keep_addresses(const struct evutil_addrinfo *list, struct address_list *ret)
{
    for (; list != NULL && ret->count < UPSTREAM_ADDRESSES_MAX; list = list->ai_next) {
        struct address *address = &ret->items[ret->count];
        if (list->ai_family == AF_INET && list->ai_addrlen >= sizeof(address->of.v4)) {
            memcpy(&address->of.v4, list->ai_addr, sizeof(address->of.v4));
            address->len = sizeof(address->of.v4);
            ret->count++;
        } else if (list->ai_family == AF_INET6 && list->ai_addrlen >= sizeof(address->of.v6)) {
            memcpy(&address->of.v6, list->ai_addr, sizeof(address->of.v6));
            address->len = sizeof(address->of.v6);
            ret->count++;
        }
    }
}

bool address_parse(struct span host, uint16_t port, struct address *ret)
{
    char text[INET6_ADDRSTRLEN];
    bool has_brackets = host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
    if (has_brackets)
        host = span_of(host.ptr + 1, host.len - 2);
    if (host.len == 0 || host.len >= sizeof(text))
        return false;
    memcpy(text, host.ptr, host.len);
    text[host.len] = '\0';

    struct address address = {.len = 0};
    if (!has_brackets && inet_pton(AF_INET, text, &address.of.v4.sin_addr) == 1) {
        address.of.v4.sin_family = AF_INET;
        address.of.v4.sin_port = htons(port);
        address.len = sizeof(address.of.v4);
    } else if (inet_pton(AF_INET6, text, &address.of.v6.sin6_addr) == 1) {
        address.of.v6.sin6_family = AF_INET6;
        address.of.v6.sin6_port = htons(port);
        address.len = sizeof(address.of.v6);
    } else {
        return false;
    }
    *ret = address;
    return true;
}

void address_print(const struct address *address, char ret_text[UPSTREAM_ADDRESS_BYTES])
{
    char digits[INET6_ADDRSTRLEN];
    bool is_v6 = address->of.any.sa_family == AF_INET6;
    const void *bytes =
        is_v6 ? (const void *)&address->of.v6.sin6_addr : (const void *)&address->of.v4.sin_addr;
    if (inet_ntop(address->of.any.sa_family, bytes, digits, sizeof(digits)) == NULL)
        digits[0] = '\0';
    unsigned port = ntohs(is_v6 ? address->of.v6.sin6_port : address->of.v4.sin_port);
    /* The buffer holds the longest address there is. */
    (void)snprintf(ret_text, UPSTREAM_ADDRESS_BYTES, is_v6 ? "[%s]:%u" : "%s:%u", digits, port);
}
