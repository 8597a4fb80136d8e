/* What a right file becomes: every field of the snapshot, from the file, from a
 * preset or from the defaults; the environment; secrets in files; JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "conf/loader.h"
#include "tests/lib/testlib.h"

#define KEY_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY_B "ff23456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void fail_with(const struct conf_report *report)
{
    for (uint32_t i = 0; i < report->count; i++)
        print_message("%s\n", report->findings[i].text);
    fail_msg("the file was refused");
}

static struct conf *parse(const char *text)
{
    struct conf *conf = NULL;
    struct conf_report report;
    if (conf_parse(span_str(text), "t.yaml", &conf, &report) != GW_OK)
        fail_with(&report);
    conf_report_fini(&report);
    return conf;
}

static void assert_span(struct span span, const char *text)
{
    if (!span_equal(span, span_str(text)))
        fail_msg("'%.*s' is not '%s'", (int)span.len, span.ptr, text);
    assert_int_equal(span.ptr[span.len], '\0');
}

static const char sample[] =
    "version: 1\n"
    "listen:\n"
    "  - {address: \"127.0.0.1:8080\"}\n"
    "admin:\n"
    "  address: \"127.0.0.1:8081\"\n"
    "  tokens:\n"
    "    - {name: ana, rights: [read, evidence, settle, control], sha256: \"" KEY_A "\"}\n"
    "store: {kind: sqlite, path: recibo.db}\n"
    "owners:\n"
    "  partners: {kind: api_key, header: X-Api-Key, keys: [{owner: acme, sha256: \"" KEY_B "\"}]}\n"
    "upstreams:\n"
    "  legacy:\n"
    "    url: \"http://127.0.0.1:9000\"\n"
    "    host: preserve                     # or a name\n"
    "    path_case: sensitive\n"
    "    timeouts: {connect: 2s, tls: 5s, send: 30s, first_byte: 30s, idle: 30s, answer: 30s, "
    "late: 10m}\n"
    "    connections: {max: 256, reuse: checked, idle: 4s}\n"
    "defaults: {upstream: legacy, owner: partners}\n"
    "routes:\n"
    "  - name: create-order\n"
    "    mode: enforce\n"
    "    match: {methods: [POST], path: /orders}\n"
    "    key: {from: header, name: Idempotency-Key, required: true}\n"
    "    fingerprint: {mode: json, ignore: [/client_time]}\n"
    "    labels: {order: {json: /order_no}}\n"
    "    outcome:\n"
    "      refused: [401, 403, 421, 425, 429]\n"
    "      unknown: [408, 5xx]              # without 501 and 505\n"
    "      rules:\n"
    "        - {status: 200, json: {/ok: false}, means: refused}\n"
    "        - {status: 302, header: {Location: \"*/login*\"}, means: refused}\n"
    "    on_pending: {wait: 0s}\n"
    "    retention: 24h\n"
    "    tombstone: 30d\n"
    "    request_body_max: 1MiB             # 413 over it\n"
    "    replay_body_max: 1MiB\n"
    "  - {name: everything-else, mode: pass, match: {path: \"/*\"}}\n";

static void check_outcome(const struct outcome_policy *outcome)
{
    static const uint16_t refused[] = {401, 403, 421, 425, 429};
    uint32_t refused_count = 0, unknown_count = 0;
    for (uint16_t status = 100; status < 600; status++) {
        refused_count += status_set_has(&outcome->refused, status);
        unknown_count += status_set_has(&outcome->unknown, status);
        bool is_unknown = status == 408 || (status >= 500 && status != 501 && status != 505);
        assert_int_equal(status_set_has(&outcome->unknown, status), is_unknown);
    }
    for (size_t i = 0; i < GW_COUNT(refused); i++)
        assert_true(status_set_has(&outcome->refused, refused[i]));
    assert_int_equal(refused_count, GW_COUNT(refused));
    assert_int_equal(unknown_count, 99);
}

static void check_sample_rules(const struct outcome_policy *outcome)
{
    assert_int_equal(outcome->refused_line, 27);
    assert_int_equal(outcome->unknown_line, 28);
    assert_int_equal(outcome->rule_count, 2);
    const struct answer_rule *first = &outcome->rules[0], *second = &outcome->rules[1];
    assert_int_equal(first->line, 30);
    assert_true(first->has_status && status_set_has(&first->status, 200));
    assert_int_equal(first->json_count, 1);
    assert_span(first->json[0].pointer.text, "/ok");
    assert_int_equal(first->json[0].test, RULE_EQUALS);
    assert_span(first->json[0].text, "false");
    assert_false(first->json[0].string_only);
    assert_int_equal(first->means, MEANS_REFUSED);
    assert_int_equal(second->line, 31);
    assert_int_equal(second->header_count, 1);
    assert_span(second->headers[0].name, "Location");
    assert_span(second->headers[0].glob, "*/login*");
}

static void check_sample_route(const struct conf *conf)
{
    const struct route_policy *route = &conf->routes.routes[0];
    assert_span(route->name, "create-order");
    assert_int_equal(route->index, 0);
    assert_int_equal(route->line, 20);
    assert_int_equal(route->mode, ROUTE_ENFORCE);
    assert_int_equal(route->methods, METHOD_POST);
    assert_span(route->path, "/orders");
    assert_int_equal(route->segment_count, 1);
    assert_true(route->trailing_slash_same);
    assert_ptr_equal(route->upstream, &conf->upstreams[0]);
    assert_int_equal(route->owner_index, 0);
    assert_false(route->scope_gateway);
    assert_int_equal(route->key.from, KEY_FROM_HEADER);
    assert_span(route->key.name, "Idempotency-Key");
    assert_true(route->key.required);
    assert_int_equal(route->key.grammar.bytes_min, 1);
    assert_int_equal(route->key.grammar.bytes_max, 255);
    assert_int_equal(route->fingerprint.mode, FINGERPRINT_JSON);
    assert_int_equal(route->fingerprint.body.ignore_count, 1);
    assert_span(route->fingerprint.mode_text, "json/1 ignore=/client_time");
    assert_int_equal(route->fingerprint.header_count, 5);
    assert_int_equal(route->label_count, 1);
    assert_span(route->labels[0].name, "order");
    assert_span(route->labels[0].pointer.text, "/order_no");
    check_outcome(&route->outcome);
    check_sample_rules(&route->outcome);
    assert_int_equal(route->retention_ms, 86400000);
    assert_true(route->tombstone_ms == INT64_C(2592000000));
    assert_int_equal(route->quiet_ms, 600000);
    assert_int_equal(route->request_body_max, 1 << 20);
    assert_int_equal(route->replay_body_max, 1 << 20);
}

static void test_sample(void **state)
{
    /* Guards: a full file becomes the snapshot that it says, field by field. */
    (void)state;
    struct conf *conf = parse(sample);
    assert_int_equal(strlen(conf->hash), 16);
    assert_int_equal(conf->listen_count, 1);
    assert_span(conf->listen[0].text, "127.0.0.1:8080");
    assert_int_equal(conf->listen[0].port, 8080);
    assert_int_equal(conf->listen[0].line, 3);
    assert_true(conf->has_admin);
    assert_int_equal(conf->admin.port, 8081);
    assert_int_equal(conf->token_count, 1);
    assert_span(conf->tokens[0].name, "ana");
    assert_int_equal(conf->tokens[0].rights,
                     ADMIN_READ | ADMIN_EVIDENCE | ADMIN_SETTLE | ADMIN_CONTROL);
    char hex[65];
    gw_hex(conf->tokens[0].sha256, 32, hex);
    assert_string_equal(hex, KEY_A);
    assert_span(conf->store_kind, "sqlite");
    assert_span(conf->store_path, "recibo.db");
    assert_int_equal(conf->owner_count, 1);
    assert_int_equal(conf->owners[0].kind, OWNER_API_KEY);
    assert_span(conf->owners[0].header, "X-Api-Key");
    assert_int_equal(conf->owners[0].key_count, 1);
    assert_span(conf->owners[0].keys[0].owner, "acme");
    const struct upstream_policy *upstream = &conf->upstreams[0];
    assert_int_equal(conf->upstream_count, 1);
    assert_span(upstream->name, "legacy");
    assert_span(upstream->host, "127.0.0.1");
    assert_int_equal(upstream->port, 9000);
    assert_span(upstream->authority, "127.0.0.1:9000");
    assert_true(upstream->host_preserve);
    assert_int_equal(upstream->connections_max, 256);
    assert_int_equal(upstream->connection_idle_ms, 4000);
    assert_int_equal(upstream->late_ms, 600000);
    check_sample_route(conf);
    const struct route_policy *pass = &conf->routes.routes[1];
    assert_int_equal(pass->mode, ROUTE_PASS);
    assert_int_equal(pass->methods, METHOD_GET | METHOD_HEAD | METHOD_OPTIONS);
    assert_int_equal(pass->owner_index, ROUTE_NO_OWNER);
    conf_unref(conf);
}

static const char shortest[] =
    "upstreams: {legacy: {url: \"http://127.0.0.1:9000\"}}\n"
    "owners: {everyone: {kind: static}}\n"
    "routes:\n"
    "  - {name: create-order, match: {path: /orders}, labels: {order: {json: /order_no}}}\n"
    "  - {name: everything-else, mode: pass, match: {path: \"/*\"}}\n";

static void check_default_process(const struct conf *conf)
{
    assert_int_equal(conf->listen_count, 1);
    assert_span(conf->listen[0].text, "127.0.0.1:8080");
    assert_false(conf->has_admin);
    assert_span(conf->store_kind, "sqlite");
    assert_span(conf->store_path, "recibo.db");
    assert_int_equal(conf->workers, 1);
    assert_int_equal(conf->drain_ms, 35000);
    assert_int_equal(conf->limits.head_bytes, 32768);
    assert_int_equal(conf->limits.headers, 100);
    assert_int_equal(conf->limits.target_bytes, 8192);
    assert_span(conf->problem_base, "urn:recibo:problem:");
    assert_span(conf->own_prefix, "/.recibo/");
    assert_span(conf->via_name, "recibo");
    assert_int_equal(conf->settle_delay_ms, 60000);
    assert_int_equal(conf->log_format, CONF_LOG_TEXT);
    assert_int_equal(conf->log_level, 1);
    assert_true(conf_memory_worst(conf) <= conf->limits.memory_max);
}

static void test_five_lines(void **state)
{
    /* Guards: five lines are a valid file, and everything else has its default. */
    (void)state;
    struct conf *conf = parse(shortest);
    const struct route_policy *route = &conf->routes.routes[0];
    check_default_process(conf);
    assert_span(conf->owners[0].owner, "everyone");
    assert_int_equal(route->mode, ROUTE_ENFORCE);
    assert_int_equal(route->methods, METHOD_POST | METHOD_PATCH);
    assert_true(route->key.required);
    assert_span(route->fingerprint.mode_text, "json/1");
    check_outcome(&route->outcome);
    assert_int_equal(route->outcome.refused_line, 0);
    assert_int_equal(route->outcome.unknown_line, 0);
    assert_true(route->breaker.is_on);
    assert_int_equal(route->breaker.unknowns, 20);
    assert_int_equal(route->breaker.share_percent, 20);
    assert_int_equal(route->breaker.overdue_ms, 30000);
    assert_int_equal(route->breaker.in_ms, 60000);
    assert_int_equal(route->pending_wait_ms, 0);
    assert_int_equal(route->route_in_flight_max, 64);
    assert_int_equal(route->owner_in_flight_max, 64);
    assert_true(route->evidence_headers);
    assert_false(route->evidence_body);
    assert_false(route->rerun_on_expiry);
    assert_false(route->replace_on_change);
    assert_null(route->replay_headers);
    assert_false(route->errors_text);
    assert_true(route->stripe_should_retry);
    assert_false(route->passes_key);
    conf_unref(conf);
}

static void test_json_is_taken(void **state)
{
    /* Guards: a JSON file is a configuration, too. */
    (void)state;
    struct conf *conf =
        parse("{\"upstreams\": {\"u\": {\"url\": \"http://h:1\"}}, \"workers\": 2,\n"
              " \"routes\": [{\"name\": \"p\", \"mode\": \"pass\", \"match\": {\"path\": "
              "\"/\\u002a\"}}]}\n");
    assert_int_equal(conf->workers, 2);
    assert_span(conf->routes.routes[0].path, "/*");
    conf_unref(conf);
}

static void test_no_implicit_types(void **state)
{
    /* Guards: words that YAML would take for booleans, nulls, numbers or dates are texts. */
    (void)state;
    struct conf *conf =
        parse("upstreams: {no: {url: \"http://h:1\"}}\n"
              "owners: {on: {kind: static, owner: null}}\n"
              "routes:\n"
              "  - {name: yes, upstream: no, owner: on, match: {path: /x}, labels: {2026-01-01: "
              "{json: /1}}}\n");
    assert_span(conf->upstreams[0].name, "no");
    assert_span(conf->owners[0].name, "on");
    assert_span(conf->owners[0].owner, "null");
    assert_span(conf->routes.routes[0].name, "yes");
    assert_span(conf->routes.routes[0].labels[0].name, "2026-01-01");
    conf_unref(conf);
}

static void test_conditions(void **state)
{
    /* Guards: a quoted condition is a string, a plain one a literal or one of three tests. */
    (void)state;
    struct conf *conf = parse("upstreams: {u: {url: \"http://h:1\"}}\n"
                              "owners: {e: {kind: static}}\n"
                              "routes:\n"
                              "  - name: r\n"
                              "    match: {path: /r}\n"
                              "    evidence: {body: true}\n"
                              "    outcome:\n"
                              "      rules:\n"
                              "        - means: unknown\n"
                              "          media_type: \"text/*\"\n"
                              "          text: \"log in\"\n"
                              "          status: [404, 500-502, 3xx]\n"
                              "          json:\n"
                              "            /a: false\n"
                              "            /b: \"false\"\n"
                              "            /c: exists\n"
                              "            /d: absent\n"
                              "            /e: empty\n"
                              "            /f: \"exists\"\n"
                              "            /g: 1.50\n"
                              "            \"\": \"\"\n");
    static const struct {
        enum rule_test test;
        const char *text;
        bool string_only;
    } wanted[] = {
        {RULE_EQUALS, "false", false}, {RULE_EQUALS, "false", true}, {RULE_EXISTS, NULL, false},
        {RULE_ABSENT, NULL, false},    {RULE_EMPTY, NULL, false},    {RULE_EQUALS, "exists", true},
        {RULE_EQUALS, "1.50", false},  {RULE_EQUALS, "", true},
    };
    const struct answer_rule *rule = &conf->routes.routes[0].outcome.rules[0];
    assert_int_equal(rule->json_count, GW_COUNT(wanted));
    for (size_t i = 0; i < GW_COUNT(wanted); i++) {
        assert_int_equal(rule->json[i].test, wanted[i].test);
        assert_int_equal(rule->json[i].string_only, wanted[i].string_only);
        if (wanted[i].text != NULL)
            assert_span(rule->json[i].text, wanted[i].text);
    }
    assert_span(rule->media_type, "text/*");
    assert_span(rule->text, "log in");
    assert_true(status_set_has(&rule->status, 404) && status_set_has(&rule->status, 501) &&
                status_set_has(&rule->status, 399));
    assert_false(status_set_has(&rule->status, 503));
    assert_int_equal(rule->means, MEANS_UNKNOWN);
    conf_unref(conf);
}

static void test_lists_give_way(void **state)
{
    /* Guards: a list of the file wins over the default of the other one. */
    (void)state;
    struct conf *conf = parse("upstreams: {u: {url: \"http://h:1\"}}\n"
                              "owners: {e: {kind: static}}\n"
                              "routes:\n"
                              "  - {name: a, match: {path: /a}, evidence: {body: true}, outcome: "
                              "{refused: 503}}\n"
                              "  - {name: b, match: {path: /b}, evidence: {body: true}, outcome: "
                              "{unknown: [429, 501, 5xx]}}\n"
                              "  - {name: c, match: {path: /c}, evidence: {body: true}, outcome: "
                              "{unknown: [], refused: []}}\n");
    const struct outcome_policy *a = &conf->routes.routes[0].outcome;
    const struct outcome_policy *b = &conf->routes.routes[1].outcome;
    const struct outcome_policy *c = &conf->routes.routes[2].outcome;
    assert_true(status_set_has(&a->refused, 503) && !status_set_has(&a->unknown, 503));
    assert_true(status_set_has(&a->unknown, 500) && !status_set_has(&a->refused, 429));
    assert_true(status_set_has(&b->unknown, 429) && !status_set_has(&b->refused, 429));
    assert_true(status_set_has(&b->unknown, 501) && !status_set_has(&b->unknown, 505));
    assert_true(status_set_has(&b->refused, 401));
    for (uint16_t status = 100; status < 600; status++)
        assert_false(status_set_has(&c->refused, status) || status_set_has(&c->unknown, status));
    conf_unref(conf);
}

static void test_preset(void **state)
{
    /* Guards: a preset stands in for the defaults, and the route wins over it. */
    (void)state;
    struct conf *conf = parse("upstreams: {u: {url: \"http://h:1\"}}\n"
                              "owners: {e: {kind: static}}\n"
                              "routes:\n"
                              "  - {name: a, preset: stripe, match: {path: /a}, labels: {l: {form: "
                              "x}}}\n"
                              "  - {name: b, preset: stripe, scope: route, match: {path: /b}, "
                              "labels: {l: {form: x}}, key: {required: true}}\n");
    const struct route_policy *a = &conf->routes.routes[0], *b = &conf->routes.routes[1];
    assert_int_equal(a->fingerprint.mode, FINGERPRINT_FORM);
    assert_true(a->scope_gateway && a->rerun_on_expiry && a->stripe_should_retry);
    assert_false(a->key.required);
    assert_true(status_set_has(&a->outcome.refused, 400));
    assert_int_equal(b->fingerprint.mode, FINGERPRINT_FORM);
    assert_false(b->scope_gateway);
    assert_true(b->key.required);
    conf_unref(conf);
}

static void test_keys_of_every_kind(void **state)
{
    /* Guards: each source of a key is filled, and a changed release follows the source. */
    (void)state;
    struct conf *conf = parse(
        "upstreams: {u: {url: \"http://h:1\", timeouts: {answer: 5s}}}\n"
        "owners: {e: {kind: static}}\n"
        "routes:\n"
        "  - {name: a, match: {path: /a}, evidence: {body: true}, key: {from: json, pointer: "
        "/x~1y, "
        "min: 8, max: 36, format: uuid}}\n"
        "  - {name: b, match: {path: /b}, evidence: {body: true}, key: {from: form, name: k, "
        "pattern: \"f*\", extra: \" \"}}\n"
        "  - {name: c, match: {path: \"/c/{id}\"}, evidence: {body: true}, key: {from: path, name: "
        "id}}\n"
        "  - {name: d, match: {path: /d}, evidence: {body: true}, key: {from: all, of: [{from: "
        "json, pointer: /p}, {name: X-Line}]}}\n"
        "  - {name: e, match: {path: /e}, evidence: {body: true}, key: {strict: true}, "
        "upstream_idempotency: {window: 24h}, reconcile: {quiet_time: 0s}, breaker: none}\n");
    const struct route_policy *routes = conf->routes.routes;
    assert_int_equal(routes[0].key.from, KEY_FROM_JSON);
    assert_span(routes[0].key.pointer.text, "/x~1y");
    assert_true(span_equal(routes[0].key.pointer.steps[0], SPAN("x/y")));
    assert_true(routes[0].key.grammar.uuid && routes[0].key.grammar.bytes_min == 8);
    assert_true(routes[0].replace_on_change);
    assert_int_equal(routes[1].key.from, KEY_FROM_FORM);
    assert_span(routes[1].key.grammar.pattern, "f*");
    assert_span(routes[1].key.grammar.extra, " ");
    assert_int_equal(routes[2].key.from, KEY_FROM_PATH);
    assert_int_equal(routes[3].key.part_count, 2);
    assert_int_equal(routes[3].key.parts[0].from, KEY_FROM_JSON);
    assert_span(routes[3].key.parts[1].name, "X-Line");
    assert_true(routes[3].key.parts[0].required && routes[3].key.parts[1].required);
    assert_false(routes[3].replace_on_change);
    assert_true(routes[4].key.grammar.strict && routes[4].passes_key);
    assert_int_equal(routes[4].quiet_ms, 0);
    assert_false(routes[4].breaker.is_on);
    /* Defaults give way to a shorter answer. */
    assert_int_equal(conf->upstreams[0].first_byte_ms, 5000);
    assert_int_equal(conf->upstreams[0].late_ms, 600000);
    assert_int_equal(conf->drain_ms, 10000);
    conf_unref(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample),        cmocka_unit_test(test_five_lines),
        cmocka_unit_test(test_json_is_taken), cmocka_unit_test(test_no_implicit_types),
        cmocka_unit_test(test_conditions),    cmocka_unit_test(test_lists_give_way),
        cmocka_unit_test(test_preset),        cmocka_unit_test(test_keys_of_every_kind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
