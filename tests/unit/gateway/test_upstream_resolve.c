/* Names become addresses by the hosts file, then by DNS; several addresses are
 * tried one after the other, and a question that nobody waits for harms nobody. */
#include <strings.h>

#include "tests/unit/gateway/upstream_fixture.h"

#define GOOD "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

/* ---- a name server: answers "two.test" with 127.0.0.2 and 127.0.0.1, else no such name ---- */
struct names {
    int fd;
    uint16_t port;
    bool is_silent;
    struct event *event;
    int questions;
};

static void on_question(evutil_socket_t fd, short what, void *ctx)
{
    (void)what;
    struct names *names = ctx;
    unsigned char bytes[512] = {0};
    struct sockaddr_in from;
    socklen_t from_len = sizeof(from);
    ssize_t count = recvfrom(fd, bytes, 400, 0, (struct sockaddr *)&from, &from_len);
    if (count < 17)
        return;
    names->questions++;
    if (names->is_silent)
        return;
    size_t len = (size_t)count;
    /* The asker mixes cases, so that a forger has more to guess. */
    bool is_name = strncasecmp((char *)bytes + 12, "\3two\4test", 10) == 0;
    bool is_known = is_name && bytes[len - 3] == 1;
    bytes[2] = 0x81;
    bytes[3] = is_name ? 0x80 : 0x83;
    bytes[7] = is_known ? 2 : 0;
    bytes[8] = bytes[9] = bytes[10] = bytes[11] = 0;
    for (unsigned char last = 2; is_known && last >= 1; last--) {
        const unsigned char answer[16] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, last};
        memcpy(bytes + len, answer, sizeof(answer));
        len += sizeof(answer);
    }
    (void)!sendto(fd, bytes, len, 0, (struct sockaddr *)&from, from_len);
}

static void names_init(struct names *names, struct world *world)
{
    *names = (struct names){.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    assert_int_equal(bind(names->fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(names->fd, (struct sockaddr *)&address, &len), 0);
    names->port = ntohs(address.sin_port);
    names->event = event_new(world->base, names->fd, EV_READ | EV_PERSIST, on_question, names);
    assert_int_equal(event_add(names->event, NULL), 0);

    char conf[] = "/tmp/recibo-resolv-XXXXXX", hosts[] = "/tmp/recibo-hosts-XXXXXX", text[128];
    int conf_file = mkstemp(conf), hosts_file = mkstemp(hosts);
    int bytes = snprintf(text, sizeof(text), "nameserver 127.0.0.1:%u\n", names->port);
    assert_int_equal(write(conf_file, text, (size_t)bytes), bytes);
    bytes = snprintf(text, sizeof(text), "127.0.0.1 only.hosts\n");
    assert_int_equal(write(hosts_file, text, (size_t)bytes), bytes);
    close(conf_file);
    close(hosts_file);
    world->port->resolver = resolver_new(world->base, conf, hosts);
    assert_non_null(world->port->resolver);
    unlink(conf);
    unlink(hosts);
}

static void names_fini(struct names *names)
{
    event_free(names->event);
    close(names->fd);
}

static void serve_connections(struct server *server)
{
    int fd;
    while ((fd = server_accept(server)) >= 0) {
        if (server_read(server, fd))
            server_say(fd, GOOD);
        server_drain(fd);
        close(fd);
    }
}

static void stop(struct server *server)
{
    (void)shutdown(server->listener, SHUT_RDWR);
    server_join(server);
}

static void test_addresses_in_digits(void **state)
{
    /* Both families, brackets or not; a name is no address; what is printed says the port. */
    (void)state;
    const struct {
        const char *host, *printed;
    } table[] = {
        {"127.0.0.1", "127.0.0.1:80"},
        {"::1", "[::1]:80"},
        {"[::1]", "[::1]:80"},
        {"[2001:db8::1]", "[2001:db8::1]:80"},
        {"::ffff:10.0.0.1", "[::ffff:10.0.0.1]:80"},
        {"localhost", NULL},
        {"", NULL},
        {"[]", NULL},
        {"[127.0.0.1]", NULL},
        {"127.0.0.1 ", NULL},
        {"1.2.3", NULL},
        {"[::1", NULL},
        {"::1%lo", NULL},
        {"1111:2222:3333:4444:5555:6666:7777:8888:9999:0000:1111", NULL},
    };
    for (size_t i = 0; i < GW_COUNT(table); i++) {
        struct address address;
        char text[UPSTREAM_ADDRESS_BYTES];
        bool is_address = address_parse(span_str(table[i].host), 80, &address);
        if (is_address != (table[i].printed != NULL))
            fail_msg("'%s': %d", table[i].host, is_address);
        if (!is_address)
            continue;
        address_print(&address, text);
        assert_string_equal(text, table[i].printed);
    }
}

static void test_hosts_file(void **state)
{
    /* A name of the hosts file needs no name server. */
    (void)state;
    struct server server;
    struct world world;
    struct names names;
    struct caller caller;
    server_start(&server, serve_connections, NULL);
    world_init(&world, server.port);
    names_init(&names, &world);
    world.policy.host = SPAN("only.hosts");
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answered);
    assert_int_equal(names.questions, 0);
    assert_memory_equal(caller.address, "127.0.0.1:", 10);
    world_fini(&world);
    names_fini(&names);
    stop(&server);
}

static void test_second_address(void **state)
{
    /* The first address refuses; the second one gets the request, once. The addresses are
     * believed for a while: the next connection asks nobody. */
    (void)state;
    struct server server;
    struct world world;
    struct names names;
    struct caller caller;
    server_start(&server, serve_connections, NULL);
    world_init(&world, server.port);
    names_init(&names, &world);
    world.policy.host = SPAN("two.test");
    world.policy.reuse = REUSE_NEVER;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answered);
    assert_int_equal(caller.facts.bytes_out, POST_BYTES);
    assert_memory_equal(caller.address, "127.0.0.1:", 10);
    assert_true(names.questions > 0);
    TAILQ_FIRST(&world.port->origins)->found_until_ms = INT64_MAX - 1;
    int questions = names.questions;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_answered);
    assert_int_equal(names.questions, questions);
    world_fini(&world);
    names_fini(&names);
    stop(&server);
    assert_int_equal(server.requests, 2);
}

static void test_no_such_name(void **state)
{
    /* The name server says that there is no such name. */
    (void)state;
    struct world world;
    struct names names;
    struct caller caller;
    world_init(&world, 1);
    names_init(&names, &world);
    world.policy.host = SPAN("none.test");
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_dns_failed);
    assert_int_equal(caller.facts.bytes_out, 0);
    assert_true(names.questions > 0);
    world_fini(&world);
    names_fini(&names);
}

static void test_silent_name_server(void **state)
{
    /* Nobody answers within timeouts.connect. */
    (void)state;
    struct world world;
    struct names names;
    struct caller caller;
    world_init(&world, 1);
    names_init(&names, &world);
    names.is_silent = true;
    world.policy.host = SPAN("two.test");
    world.policy.connect_ms = 50;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_dns_failed);
    assert_int_equal(caller.facts.bytes_out, 0);
    world_fini(&world);
    names_fini(&names);
}

static void test_cancelled_question(void **state)
{
    /* The caller goes while the name server thinks; its answer then finds nobody. */
    (void)state;
    struct world world;
    struct names names;
    struct caller caller;
    world_init(&world, 1);
    names_init(&names, &world);
    names.is_silent = true;
    world.policy.host = SPAN("two.test");
    call_begin(&world, &caller);
    world_run(&world, &names.questions, 1);
    upstream_http_ops.cancel(caller.call);
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.end, END_drained);
    assert_int_equal(world_stats(&world).connections, 0);
    names.is_silent = false;
    call_run(&world, &caller);
    assert_int_equal(caller.facts.end, END_connect_refused); /* port 1 of both addresses */
    world_fini(&world);
    names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses_in_digits), cmocka_unit_test(test_hosts_file),
        cmocka_unit_test(test_second_address),      cmocka_unit_test(test_no_such_name),
        cmocka_unit_test(test_silent_name_server),  cmocka_unit_test(test_cancelled_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
