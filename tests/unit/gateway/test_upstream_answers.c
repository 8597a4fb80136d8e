/* What real upstreams send after they have read a request, from the shared scripts:
 * a whole answer is told whole, anything else is told as unclear, and no request is
 * sent a second time. Each script is played at once and byte by byte. */
#include "tests/unit/gateway/upstream_fixture.h"

struct script {
    const json_t *steps;
    bool is_dribbled;
};

static void play(int fd, const json_t *step, bool is_dribbled)
{
    const json_t *text = json_object_get(step, "send");
    if (text == NULL)
        return;
    struct span bytes = test_json_span(text);
    for (size_t i = 0; is_dribbled && i < bytes.len; i++)
        server_send(fd, span_of(bytes.ptr + i, 1));
    if (!is_dribbled)
        server_send(fd, bytes);
}

static void serve_script(struct server *server)
{
    const struct script *script = server->ctx;
    int fd = -1;
    for (size_t i = 0; i < json_array_size(script->steps); i++) {
        const json_t *step = json_array_get(script->steps, i);
        if (fd < 0)
            fd = server_accept(server);
        if (fd < 0 || !server_read(server, fd))
            break;
        play(fd, step, script->is_dribbled);
        const char *then = json_string_value(json_object_get(step, "then"));
        if (strncmp(then, "close", 5) == 0) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0) {
        server_drain(fd);
        close(fd);
    }
}

static bool is_unclear(enum attempt_end end)
{
    return end == END_answer_timeout || end == END_idle_timeout || end == END_closed_no_answer ||
           end == END_reset_no_answer || end == END_cut_answer || end == END_bad_answer ||
           end == END_answer_too_large;
}

static void begin(struct world *world, struct caller *caller, const char *method, char *head,
                  size_t head_bytes)
{
    struct upstream_call_options options = caller_options(world, caller);
    bool has_body = strcmp(method, "POST") == 0;
    snprintf(head, head_bytes, "%s /orders HTTP/1.1\r\nHost: x\r\n%s\r\n", method,
             has_body ? "Content-Length: 3\r\n" : "");
    options.request = (struct upstream_request){.head = span_str(head),
                                                .body = has_body ? SPAN("a=1") : SPAN(""),
                                                .is_head = strcmp(method, "HEAD") == 0};
    assert_int_equal(upstream_http_ops.start(world->port, &options, &caller->call), GW_OK);
}

static void run_case(const json_t *item, bool is_dribbled)
{
    struct server server;
    struct world world;
    struct caller caller;
    char head[256];
    struct script script = {json_object_get(item, "script"), is_dribbled};
    const char *id = json_string_value(json_object_get(item, "id"));
    const char *expected = json_string_value(json_object_get(item, "expect_receipt"));
    json_int_t requests = json_integer_value(json_object_get(item, "requests"));
    server_start(&server, serve_script, &script);
    world_init(&world, server.port);
    world.policy.first_byte_ms = world.policy.idle_ms = strcmp(id, "u44") == 0 ? 200 : 1000;
    world.policy.late_ms = 0;
    for (json_int_t i = 0; i < requests; i++) {
        begin(&world, &caller, json_string_value(json_object_get(item, "method")), head,
              sizeof(head));
        world_run(&world, &caller.done, 1);
        world_settle(&world);
    }
    bool is_answered = caller.facts.end == END_answered;
    if (strcmp(expected, "complete") == 0  ? !is_answered
        : strcmp(expected, "unknown") == 0 ? !is_unclear(caller.facts.end)
                                           : !is_answered && !is_unclear(caller.facts.end))
        fail_msg("%s: %s expected, the end is %s", id, expected, end_name(caller.facts.end));
    assert_true(caller.facts.bytes_out > 0);
    world_fini(&world);
    (void)shutdown(server.listener,
                   SHUT_RDWR); /* a script may have steps that must not be reached */
    server_join(&server);
    assert_int_equal(server.requests, requests);
}

static void test_scripts(void **state)
{
    /* Every script ends as the receipt must. */
    (void)state;
    json_t *root =
        test_load_vectors(SOURCE_DIR "/tests/data/http1/raw-upstream-response-cases.json");
    const json_t *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) >= 30);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        run_case(json_array_get(cases, i), false);
        run_case(json_array_get(cases, i), true);
    }
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scripts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
