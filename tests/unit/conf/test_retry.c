/* Trying again and accepting for later: what is wrong alone, together and against the
 * rest, and what a right section becomes. */
#include "tests/unit/conf/bad.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_WITH(route)                                                                           \
    BAD("upstreams: {u: {url: \"http://h:1\"}}\n"                                                  \
        "owners: {e: {kind: api_key, header: X-Who, keys: [{owner: a, sha256: \"" KEY "\"}]}}\n"   \
        "routes:\n"                                                                                \
        "  - name: r\n"                                                                            \
        "    match: {path: /r}\n"                                                                  \
        "    labels: {l: {json: /a/b}}\n" route)
#define OUTSIDE                                                                                    \
    "is neither in outcome.refused nor in a rule that means refused, so such an answer does not "  \
    "say that nothing ran; trying again could do the work twice"

static const struct bad_case cases[] = {
    {"a whole section",
     FILE_WITH("    credentials: strip\n"
               "    retry: {when: [not_sent, 429], attempts: 4, within: 2m, "
               "backoff: {base: 500ms, max: 20s}, wait_at_most: 5s}\n"
               "    defer: {when: prefer, max_age: 24h, concurrency: 8}\n"),
     ""},
    {"one word", FILE_WITH("    retry: {when: not_sent}\n"), ""},
    {"an unknown word", FILE_WITH("    retry: {when: [sent]}\n"),
     "E t.yaml:7:20: routes[0].retry.when[0]: sent: must be a status 200 to 599, a range like "
     "500-504 or a class like 5xx"},
    {"what is not refused", FILE_WITH("    retry: {when: [not_sent, 503]}\n"),
     "E t.yaml:7:19: routes[0].retry.when: 503: " OUTSIDE},
    {"a class that is refused in part", FILE_WITH("    retry: {when: 4xx}\n"),
     "E t.yaml:7:19: routes[0].retry.when: 400: " OUTSIDE},
    {"what a rule refuses",
     FILE_WITH("    retry: {when: 200}\n    outcome: {rules: [{status: 200, json: {/ok: false}, "
               "means: refused}]}\n"),
     ""},
    {"what a rule does not refuse",
     FILE_WITH("    retry: {when: 200}\n    outcome: {rules: [{status: 200, json: {/ok: false}, "
               "means: unknown}]}\n"),
     "E t.yaml:7:19: routes[0].retry.when: 200: " OUTSIDE},
    {"rules that are none", FILE_WITH("    retry: {when: [rules]}\n"),
     "E t.yaml:7:19: routes[0].retry.when: rules: no rule of outcome.rules means refused"},
    {"a backoff that shrinks", FILE_WITH("    retry: {backoff: {base: 2s, max: 1s}}\n"),
     "E t.yaml:7:38: routes[0].retry.backoff.max: is under base: the wait could never begin"},
    {"a wait over the window", FILE_WITH("    retry: {within: 10s, wait_at_most: 11s}\n"),
     "W t.yaml:7:40: routes[0].retry.wait_at_most: 11s: longer than retry.within 10s, in which all "
     "attempts lie"},
    {"an upstream that forgets",
     FILE_WITH("    upstream_idempotency: {window: 1m}\n    retry: {within: 2m}\n"),
     "E t.yaml:7:36: routes[0].upstream_idempotency.window: 1m: shorter than retry.within 2m, so "
     "the API could have forgotten the key when it is tried again"},
    {"no attempts", FILE_WITH("    retry: {attempts: 0}\n"),
     "E t.yaml:7:23: routes[0].retry.attempts: 0: is under the minimum 1"},
    {"credentials that are not kept", FILE_WITH("    defer: {when: always}\n"),
     "W t.yaml:7:19: routes[0].defer.when: a deferred request is sent without the caller's "
     "credentials, which are never kept; if the API needs some, do not defer. credentials: strip "
     "says that it needs none"},
    {"nowhere to ask",
     FILE_WITH("    credentials: strip\n    defer: {when: always}\nown_prefix: off\n"),
     "W t.yaml:8:19: routes[0].defer.when: own_prefix is off: a caller who was told 202 cannot ask "
     "for the state, but by the same request"},
};

/* Guards: each row gives exactly its findings. */
static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

static struct conf *parse(const char *text)
{
    struct conf *conf = NULL;
    struct conf_report report;
    enum gw_status status = conf_parse(span_str(text), "t.yaml", &conf, &report);
    for (uint32_t i = 0; i < report.count && status != GW_OK; i++)
        print_error("%s\n", report.findings[i].text);
    assert_int_equal(status, GW_OK);
    conf_report_fini(&report);
    return conf;
}

/* Guards: what is written is what the policy holds, and what is not is the default. */
static void test_values(void **state)
{
    (void)state;
    struct conf *conf =
        parse("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n"
              "  - {name: a, match: {path: /a}, evidence: {body: true}}\n"
              "  - {name: b, match: {path: /b}, evidence: {body: true}, retry: {when: [not_sent, "
              "429, rules], attempts: 9, within: 3m, backoff: {base: 1s, max: 30s}, wait_at_most: "
              "7s}, outcome: {rules: [{status: 200, text: no, means: refused}]}, defer: {when: "
              "always, max_age: 2h, concurrency: 3}, upstream_idempotency: {window: 12h}}\n"
              "  - {name: c, match: {path: /c}, evidence: {body: true}, retry: {when: 429}, defer: "
              "{when: prefer}}\n");
    const struct route_policy *a = &conf->routes.routes[0], *b = a + 1, *c = a + 2;
    assert_false(a->retry.is_on);
    assert_true(a->retry.when_not_sent);
    assert_int_equal(a->retry.attempts_max, 4);
    assert_int_equal(a->retry.within_ms, 120000);
    assert_int_equal(a->retry.backoff.base_ms, 500);
    assert_int_equal(a->retry.backoff.max_ms, 20000);
    assert_int_equal(a->retry.wait_at_most_ms, 5000);
    assert_int_equal(a->defer.when, DEFER_NEVER);
    assert_int_equal(a->dedup_window_ms, 0);
    assert_true(b->retry.is_on && b->retry.when_not_sent && b->retry.when_rules);
    assert_true(status_set_has(&b->retry.when, 429));
    assert_false(status_set_has(&b->retry.when, 403));
    assert_int_equal(b->retry.attempts_max, 9);
    assert_int_equal(b->retry.within_ms, 180000);
    assert_int_equal(b->retry.backoff.max_ms, 30000);
    assert_int_equal(b->retry.wait_at_most_ms, 7000);
    assert_int_equal(b->defer.when, DEFER_ALWAYS);
    assert_int_equal(b->defer.max_age_ms, 7200000);
    assert_int_equal(b->defer.concurrency, 3);
    assert_int_equal(b->dedup_window_ms, 12 * 3600000);
    assert_true(c->retry.is_on && !c->retry.when_not_sent);
    assert_int_equal(c->defer.when, DEFER_PREFER);
    assert_int_equal(c->defer.concurrency, 8);
    conf_unref(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
