/* Taking back: what is wrong alone, together and against the rest, and what a right
 * section becomes. */
#include "tests/unit/conf/bad.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_OF(kind, route)                                                                       \
    BAD("upstreams: {u: {url: \"http://h:1\"}}\n"                                                  \
        "owners: {e: " kind "}\n"                                                                  \
        "routes:\n"                                                                                \
        "  - name: r\n"                                                                            \
        "    match: {path: /r}\n"                                                                  \
        "    labels: {l: {json: /a/b}}\n" route)
#define FILE_WITH(route) FILE_OF("{kind: static}", route)
#define FILE_OF_SECRETS(route)                                                                     \
    FILE_OF("{kind: api_key, header: X-Who, keys: [{owner: a, sha256: \"" KEY "\"}]}", route)
#define ADMIN(rights) "admin: {tokens: [{name: ana, rights: " rights ", sha256: \"" KEY "\"}]}\n"

static const struct bad_case cases[] = {
    {"a whole section",
     FILE_WITH("    compensate: {method: DELETE, path: \"/tickets/{response:/ticket_id}\", by: "
               "[operator, owner]}\n"),
     ""},
    {"a path alone", FILE_WITH("    compensate: {path: \"/t/{response:/id}\"}\n"), ""},
    {"one word", FILE_WITH("    compensate: {path: \"/t/{response:/id}\", by: owner}\n"), ""},
    {"nothing", FILE_WITH("    compensate: {}\n"),
     "E t.yaml:7:5: routes[0].compensate.path: required, but missing: Path and query with "
     "{response:/POINTER} of the recorded answer, {operation_id}, {key}, {owner} or {label:NAME}; "
     "values are percent-encoded."},
    {"a method that changes nothing",
     FILE_WITH("    compensate: {method: GET, path: \"/t/{response:/id}\"}\n"),
     "E t.yaml:7:26: routes[0].compensate.method: GET: must be one of DELETE, POST, PUT, PATCH; "
     "did you mean \"PUT\"?"},
    {"nobody", FILE_WITH("    compensate: {path: \"/t/{response:/id}\", by: []}\n"),
     "E t.yaml:7:49: routes[0].compensate.by: has 0 entries; 1 to 2 are allowed"},
    {"somebody else", FILE_WITH("    compensate: {path: \"/t/{response:/id}\", by: [everybody]}\n"),
     "E t.yaml:7:50: routes[0].compensate.by[0]: everybody: must be one of operator, owner"},
    {"a hole that does not end", FILE_WITH("    compensate: {path: \"/t/{response:/id\"}\n"),
     "E t.yaml:7:24: routes[0].compensate.path: /t/{response:/id: column 4: { without }; as a "
     "character it is written %7B"},
    {"a path that climbs", FILE_WITH("    compensate: {path: \"/t/../{response:/id}\"}\n"),
     "E t.yaml:7:24: routes[0].compensate.path: /t/../{response:/id}: column 4: a segment . or .. "
     "leads elsewhere"},
    {"the same for all", FILE_WITH("    compensate: {path: \"/t/{owner}\"}\n"),
     "E t.yaml:7:24: routes[0].compensate.path: takes back the same for every operation; it needs "
     "{response:/POINTER}, {operation_id}, {key} or {label:NAME}"},
    {"a response that is not kept",
     FILE_WITH("    compensate: {path: \"/t/{response:/id}\"}\n    replay_body_max: 0\n"),
     "E t.yaml:7:24: routes[0].compensate.path: column 5: {response:/id}: replay_body_max is 0, so "
     "no answer is kept that it could be taken from"},
    {"a label that is not there", FILE_WITH("    compensate: {path: \"/t/{label:x}\"}\n"),
     "E t.yaml:7:24: routes[0].compensate.path: column 5: {label:x}: the route has no such label"},
    {"an id that nobody was told", FILE_WITH("    compensate: {path: \"/t/{operation_id}\"}\n"),
     "E t.yaml:7:24: routes[0].compensate.path: column 5: {operation_id}: the API has never heard "
     "of it; add add_operation_id to the route, or name what its answer holds"},
    {"an id that it was told",
     FILE_WITH("    add_operation_id: {header: X-Op}\n    compensate: {path: "
               "\"/t/{operation_id}\"}\n"),
     ""},
    {"a key that stays here", FILE_WITH("    compensate: {path: \"/t/{key}\"}\n"),
     "W t.yaml:7:24: routes[0].compensate.path: column 5: {key}: the key header is not passed on, "
     "so the API knows it only if it stands elsewhere in the request, too"},
    {"nowhere to ask",
     FILE_WITH("    compensate: {path: \"/t/{response:/id}\", by: owner}\nown_prefix: off\n"),
     "W t.yaml:7:49: routes[0].compensate.by: owner: own_prefix is off, so there is no address "
     "where an owner could ask"},
    {"nobody with the right",
     FILE_WITH(
         "    compensate: {path: \"/t/{response:/id}\", by: operator}\n" ADMIN("[read, settle]")),
     "W t.yaml:7:49: routes[0].compensate.by: operator: nobody has the right control; add it to a "
     "token of admin.tokens"},
    {"somebody with the right",
     FILE_WITH("    compensate: {path: \"/t/{response:/id}\"}\n" ADMIN("[settle, control]")), ""},
    {"credentials that are not kept",
     FILE_OF_SECRETS("    compensate: {path: \"/t/{response:/id}\"}\n"),
     "W t.yaml:7:24: routes[0].compensate.path: a compensation is sent without the caller's "
     "credentials, which are never kept; if the API needs some, it will refuse it. credentials: "
     "strip says that it needs none"},
    {"beside a local effect",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n"
         "    local: {statement: \"INSERT INTO t(a) VALUES (1) RETURNING a\", setup: \"CREATE "
         "TABLE "
         "IF NOT EXISTS t(a)\"}\n    compensate: {path: \"/t/{response:/id}\"}\n"),
     "E t.yaml:6:17: routes[0].compensate: cannot stand beside local: the effect is in Recibo's "
     "own database, and nothing is sent"},
};

/* Guards: each row gives exactly its findings. */
static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

/* Guards: a compensation is sent as its route says, and has nothing of its callers' requests;
 * it is found by a name that no route can have. */
static void test_derived(void **state)
{
    struct conf *conf = NULL;
    struct conf_report report;
    const char text[] =
        "upstreams: {u: {url: \"http://h:1\"}}\n"
        "owners: {e: {kind: static}}\n"
        "routes:\n"
        "  - name: r\n"
        "    match: {path: /r}\n"
        "    scope: gateway\n"
        "    labels: {l: {json: /a}}\n"
        "    retention: 3h\n"
        "    retry: {attempts: 7}\n"
        "    upstream_idempotency: {window: 1h}\n"
        "    add_operation_id: {json: /ref}\n"
        "    reconcile: {probe: {path: \"/find/{key}\"}, executed_when: {status: 200}}\n"
        "    compensate: {path: \"/t/{response:/a~1b}/{key}\"}\n";
    (void)state;
    assert_int_equal(conf_parse(span_str(text), "t.yaml", &conf, &report), GW_OK);
    conf_report_fini(&report);
    const struct route_policy *route = route_by_name(&conf->routes, SPAN("r"));
    const struct compensate_policy *policy = &route->compensate;
    assert_int_equal(policy->by, COMPENSATE_BY_OPERATOR);
    assert_true(span_equal(policy->method, SPAN("DELETE")));
    assert_int_equal(policy->line, 13);
    assert_int_equal(policy->target.part_count, 4);
    assert_true(span_equal(policy->pointers[1].steps[0], SPAN("a/b")));
    const struct route_policy *made = route_by_name(&conf->routes, SPAN("r/compensation"));
    assert_ptr_equal(made, policy->route);
    assert_true(made->is_compensation && !route->is_compensation);
    assert_int_equal(conf->routes.count, 1);
    assert_int_equal(made->index, route->index);
    assert_ptr_equal(made->upstream, route->upstream);
    assert_int_equal(made->retry.attempts_max, 7);
    assert_int_equal(made->retention_ms, 3 * 3600 * 1000);
    assert_true(span_equal(route_scope(made), SPAN("r/compensation")));
    assert_true(span_equal(route_scope(route), SPAN("gateway")));
    assert_false(made->probe.is_on || made->passes_key || made->label_count > 0);
    assert_int_equal(made->add_id.to, ADD_ID_NOWHERE);
    assert_null(made->compensate.route);
    conf_unref(conf);
}

/* Guards: no route can be called like a compensation. */
static void test_no_route_has_its_name(void **state)
{
    struct conf *conf = NULL;
    struct conf_report report;
    const char text[] = "upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\n"
                        "routes:\n  - name: r/compensation\n    match: {path: /r}\n"
                        "    labels: {l: {json: /a}}\n";
    (void)state;
    assert_int_equal(conf_parse(span_str(text), "t.yaml", &conf, &report), GW_INVALID);
    assert_null(conf);
    conf_report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_derived),
        cmocka_unit_test(test_no_route_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
