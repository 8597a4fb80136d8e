/* A loop that stood still between the connect and the moment when the connection can
 * be written to: what was claimed for the call is over by then, and nothing leaves. */
#include "tests/unit/gateway/upstream_fixture.h"

struct stepped_clock {
    struct gw_clock clock;
    int64_t ticks;
};

static int64_t read_ticks(struct gw_clock *clock)
{
    return ((struct stepped_clock *)clock)->ticks;
}

/* Takes the connection and reads until its end: any byte would be seen. */
static void serve_nothing(struct server *server)
{
    int fd = server_accept(server);
    (void)server_read(server, fd); /* false is what is hoped for */
    close(fd);
}

static void test_nothing_leaves_after_the_answer_time(void **state)
{
    /* A call whose time is over before its first byte ends as not sent, with no byte. */
    (void)state;
    struct server server;
    struct world world;
    struct caller caller;
    struct stepped_clock clock = {.clock = {.wall_ms = read_ticks, .ticks_ms = read_ticks},
                                  .ticks = 1000};
    struct upstream_port_options options = world_options();
    options.clock = &clock.clock;
    server_start(&server, serve_nothing, NULL);
    world_init_with(&world, server.port, options);
    call_begin(&world, &caller);
    clock.ticks += FIXTURE_LONG_MS;
    world_run(&world, &caller.done, 1);
    assert_int_equal(caller.facts.bytes_out, 0);
    assert_int_equal(end_group(caller.facts.end), END_GROUP_NOT_SENT);
    world_fini(&world);
    server_join(&server);
    assert_int_equal(server.request_len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_leaves_after_the_answer_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
