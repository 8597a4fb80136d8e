/* The probe and the operation id of a route: what is wrong alone, together and against
 * the rest, and what a right section becomes. */
#include "tests/unit/conf/bad.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_WITH(route)                                                                           \
    BAD("upstreams: {u: {url: \"http://h:1\"}}\n"                                                  \
        "owners: {e: {kind: api_key, header: X-Who, keys: [{owner: a, sha256: \"" KEY "\"}]}}\n"   \
        "routes:\n"                                                                                \
        "  - name: r\n"                                                                            \
        "    match: {path: /r}\n"                                                                  \
        "    labels: {l: {json: /a/b}}\n" route)
#define ASKS     "probe: {path: \"/t?r={operation_id}\"}, "
#define FOUND    "executed_when: {status: 200}"
#define HAS_ID   "    add_operation_id: {header: X-Op}\n"
#define PROBE_AT "E t.yaml:7:31: routes[0].reconcile.probe.path: "

static const struct bad_case cases[] = {
    {"a whole section",
     FILE_WITH("    reconcile: {" ASKS FOUND ", absent_when: {status: 200, json: {/i: empty}}, "
               "response: {status: 201, body: {from: /i/0}}, absent_is: proof}\n" HAS_ID),
     ""},
    {"nothing asks", FILE_WITH("    reconcile: {" FOUND ", every: 1m, absent_is: proof}\n"),
     "E t.yaml:7:32: routes[0].reconcile.executed_when: has no meaning without reconcile.probe: "
     "nothing asks the API\n"
     "E t.yaml:7:54: routes[0].reconcile.every: has no meaning without reconcile.probe: nothing "
     "asks the API\n"
     "E t.yaml:7:69: routes[0].reconcile.absent_is: has no meaning without reconcile.probe: "
     "nothing asks the API"},
    {"no condition", FILE_WITH("    reconcile: {" ASKS "every: 1m}\n" HAS_ID),
     "E t.yaml:7:24: routes[0].reconcile.probe: neither executed_when nor absent_when: no answer "
     "would say anything"},
    {"an empty condition", FILE_WITH("    reconcile: {" ASKS "executed_when: {}}\n" HAS_ID),
     "E t.yaml:7:70: routes[0].reconcile.executed_when: a rule without a condition fits every "
     "answer; give at least one of status, header, media_type, json, text"},
    {"means is not of a condition",
     FILE_WITH("    reconcile: {" ASKS "executed_when: {status: 200, means: completed}}\n" HAS_ID),
     "E t.yaml:7:84: routes[0].reconcile.executed_when.means: unknown key here; it belongs at "
     "routes[].outcome.rules[].means"},
    {"another method",
     FILE_WITH("    reconcile: {probe: {method: POST, path: \"/t/{operation_id}\"}, " FOUND
               "}\n" HAS_ID),
     "E t.yaml:7:33: routes[0].reconcile.probe.method: POST: must be one of GET"},
    {"an id that nothing adds", FILE_WITH("    reconcile: {" ASKS FOUND "}\n"),
     PROBE_AT "column 7: {operation_id}: the API has never heard of it; add add_operation_id to "
              "the route, or ask by something that the request holds"},
    {"a label that is not there",
     FILE_WITH("    reconcile: {probe: {path: \"/t?r={label:order}\"}, " FOUND "}\n"),
     PROBE_AT "column 7: {label:order}: the route has no such label"},
    {"a response before there is one",
     FILE_WITH("    reconcile: {probe: {path: \"/t?r={response:/id}\"}, " FOUND "}\n"),
     PROBE_AT "column 7: {response:...}: a probe asks because there is no response"},
    {"the same for all", FILE_WITH("    reconcile: {probe: {path: \"/t?r={owner}\"}, " FOUND "}\n"),
     PROBE_AT "asks the same for every operation; it needs {operation_id}, {key} or {label:NAME}"},
    {"a key that stays here",
     FILE_WITH("    reconcile: {probe: {path: \"/t?r={key}\"}, " FOUND "}\n"),
     "W t.yaml:7:31: routes[0].reconcile.probe.path: column 7: {key}: the key header is not passed "
     "on, so the API knows it only if it stands elsewhere in the request, too"},
    {"a key that the API gets",
     FILE_WITH("    reconcile: {probe: {path: \"/t?r={key}\"}, " FOUND "}\n"
               "    upstream_idempotency: {window: 24h}\n"),
     ""},
    {"unbalanced", FILE_WITH("    reconcile: {probe: {path: \"/t?r={key\"}, " FOUND "}\n"),
     "E t.yaml:7:31: routes[0].reconcile.probe.path: /t?r={key: column 6: { without }; as a "
     "character it is written %7B"},
    {"an unknown name", FILE_WITH("    reconcile: {probe: {path: \"/t/{id}\"}, " FOUND "}\n"),
     "E t.yaml:7:31: routes[0].reconcile.probe.path: /t/{id}: column 5: unknown name; known are "
     "operation_id, key, owner, label:NAME and response:/POINTER"},
    {"a proof in the quiet time",
     FILE_WITH("    reconcile: {" ASKS "absent_when: {json: {/i: empty}}, absent_is: proof, "
               "quiet_time: 9m}\n" HAS_ID),
     "E t.yaml:7:100: routes[0].reconcile.absent_is: proof: quiet_time 9m is shorter than "
     "timeouts.late 10m of u, in which the request may still be answered"},
    {"verdicts before a late answer", FILE_WITH("    reconcile: {quiet_time: 0s}\n"),
     "W t.yaml:7:29: routes[0].reconcile.quiet_time: 0s: shorter than timeouts.late 10m of u: the "
     "answer of a lost call can still come after somebody has decided that it did not run"},
    {"verdicts after it", FILE_WITH("    reconcile: {quiet_time: 10m}\n"), ""},
    {"a proof of nothing", FILE_WITH("    reconcile: {" ASKS FOUND ", absent_is: proof}\n" HAS_ID),
     "E t.yaml:7:96: routes[0].reconcile.absent_is: proof: needs absent_when"},
    {"a proof by status alone",
     FILE_WITH("    reconcile: {" ASKS "absent_when: {status: 404}, absent_is: proof}\n" HAS_ID),
     "W t.yaml:7:68: routes[0].reconcile.absent_when: a proof by status or header alone: an API "
     "answers the same for a wrong path or a missing right; look into the body if you can"},
    {"a hint by status alone",
     FILE_WITH("    reconcile: {" ASKS "absent_when: {status: 404}}\n" HAS_ID), ""},
    {"no status",
     FILE_WITH("    reconcile: {" ASKS "executed_when: {json: {/i: exists}}}\n" HAS_ID),
     "W t.yaml:7:70: routes[0].reconcile.executed_when: no status: the body of an error answer "
     "could fit as well"},
    {"a response to nothing",
     FILE_WITH("    reconcile: {" ASKS "absent_when: {status: 404}, response: {status: "
               "201}}\n" HAS_ID),
     "E t.yaml:7:93: routes[0].reconcile.response: needs executed_when"},
    {"a body where none may be",
     FILE_WITH("    reconcile: {" ASKS FOUND
               ", response: {status: 204, body: {from: \"\"}}}\n" HAS_ID),
     "E t.yaml:7:115: routes[0].reconcile.response.body: a 204 has no body"},
    {"response without a status",
     FILE_WITH("    reconcile: {" ASKS FOUND ", response: {body: {from: /i}}}\n" HAS_ID),
     "E t.yaml:7:85: routes[0].reconcile.response.status: required, but missing: Its status."},
    {"both places", FILE_WITH("    add_operation_id: {header: X-Op, json: /op}\n"),
     "E t.yaml:7:5: routes[0].add_operation_id: give exactly one of header and json"},
    {"no place", FILE_WITH("    add_operation_id: {}\n"),
     "E t.yaml:7:5: routes[0].add_operation_id: give exactly one of header and json"},
    {"a header of another meaning", FILE_WITH("    add_operation_id: {header: content_type}\n"),
     "E t.yaml:7:32: routes[0].add_operation_id.header: content_type: means something else "
     "already; use a name like X-Operation-Id"},
    {"a header of the connection", FILE_WITH("    add_operation_id: {header: Connection}\n"),
     "E t.yaml:7:32: routes[0].add_operation_id.header: Connection: means something else already; "
     "use a name like X-Operation-Id"},
    {"the header of the key",
     FILE_WITH("    key: {name: X-Order}\n    add_operation_id: {header: x_order}\n"),
     "E t.yaml:8:32: routes[0].add_operation_id.header: x_order: is the header of the key, too"},
    {"the header of the owner", FILE_WITH("    add_operation_id: {header: x-who}\n"),
     "E t.yaml:7:32: routes[0].add_operation_id.header: x-who: is the header of the owner e, "
     "too"},
    {"a member of no JSON",
     FILE_WITH("    fingerprint: {mode: raw}\n    add_operation_id: {json: /op}\n"),
     "E t.yaml:8:30: routes[0].add_operation_id.json: needs fingerprint.mode: json; the body of "
     "this route is not read as JSON"},
    {"a member that the key needs",
     FILE_WITH("    key: {from: json, pointer: /op/id}\n    add_operation_id: {json: /op}\n"),
     "E t.yaml:8:30: routes[0].add_operation_id.json: /op: the key is read there, and a body that "
     "has this member is refused"},
    {"a member that a label needs", FILE_WITH("    add_operation_id: {json: /a/b/c}\n"),
     "E t.yaml:7:30: routes[0].add_operation_id.json: /a/b/c: the label l is read there, and a "
     "body that has this member is refused"},
    {"a member beside them", FILE_WITH("    add_operation_id: {json: /a/c}\n"), ""},
};

/* Guards: each file gives exactly these findings, at these places. */
static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

static struct conf *load(const char *text, size_t len)
{
    struct conf *conf = NULL;
    struct conf_report report;
    assert_int_equal(conf_parse(span_of(text, len), "t.yaml", &conf, &report), GW_OK);
    conf_report_fini(&report);
    return conf;
}

/* Guards: a whole section becomes what it says. */
static void test_loaded(void **state)
{
    (void)state;
    struct conf *conf =
        load(FILE_WITH("    reconcile: {" ASKS FOUND
                       ", absent_when: {status: [404, 410], text: none}, response: {status: 201, "
                       "body: {from: /i/0}}, absent_is: proof, every: 2m, attempts: 7}\n"
                       "    add_operation_id: {json: /meta/op}\n"));
    const struct route_policy *route = &conf->routes.routes[0];
    const struct probe_policy *probe = &route->probe;
    assert_true(probe->is_on && probe->has_executed && probe->has_absent);
    assert_int_equal(probe->line, 7);
    assert_int_equal(probe->target.part_count, 2);
    assert_int_equal(probe->target.parts[1].kind, TEMPLATE_OPERATION_ID);
    assert_true(status_set_has(&probe->executed.status, 200));
    assert_true(status_set_has(&probe->absent.status, 410));
    assert_true(span_equal(probe->absent.text, SPAN("none")));
    assert_int_equal(probe->answer_status, 201);
    assert_true(probe->answer_has_body);
    assert_int_equal(probe->answer_body.step_count, 2);
    assert_true(probe->absent_is_proof);
    assert_int_equal(probe->every_ms, 120000);
    assert_int_equal(probe->attempts_max, 7);
    assert_int_equal(route->add_id.to, ADD_ID_JSON);
    assert_int_equal(route->add_id.pointer.step_count, 2);
    conf_unref(conf);
}

/* Guards: what is not said is the default, and a route that says nothing asks nothing. */
static void test_defaults(void **state)
{
    (void)state;
    struct conf *conf = load(FILE_WITH("    reconcile: {" ASKS FOUND "}\n" HAS_ID));
    const struct probe_policy *probe = &conf->routes.routes[0].probe;
    assert_true(probe->is_on && probe->has_executed);
    assert_false(probe->has_absent || probe->absent_is_proof || probe->answer_has_body);
    assert_int_equal(probe->answer_status, 0);
    assert_int_equal(probe->every_ms, 30000);
    assert_int_equal(probe->attempts_max, 10);
    conf_unref(conf);
    conf = load(FILE_WITH(""));
    assert_false(conf->routes.routes[0].probe.is_on);
    assert_int_equal(conf->routes.routes[0].add_id.to, ADD_ID_NOWHERE);
    conf_unref(conf);
}

static void check_promise(const char *text, size_t len, const char *const *lines)
{
    struct gw_buf out;
    struct conf *conf = load(text, len);
    gw_buf_init(&out, 1 << 16);
    conf_promise(conf, &out);
    assert_true(gw_buf_byte(&out, '\0'));
    for (; *lines != NULL; lines++)
        if (strstr(out.ptr, *lines) == NULL)
            fail_msg("no '%s' in\n%s", *lines, out.ptr);
    gw_buf_fini(&out);
    conf_unref(conf);
}

/* Guards: the promise says what is asked, and calls a hint a hint and a proof your word. */
static void test_promised(void **state)
{
    (void)state;
    static const char *const proof[] = {
        "    the probe does not find it (quiet time over)    asserted, audited\n",
        "waits for a person or the probe, after\n",
        "  The probe (line 7) sends GET /t?r={operation_id} to u,\n"
        "    with nothing of the caller's, not before 10 min after the last sending, at most 3 "
        "times by itself, first 30 s apart.\n"
        "    It ran: HTTP 200. Callers then get 201 with what stands at /i/0 of that answer.\n"
        "    It did not run: HTTP 404, text \"none\". Taken for a proof, by your word: the key is "
        "free again.\n",
        "  u is told the operation id, in the header X-Op.\n", NULL};
    static const char *const hint[] = {
        "It did not run: HTTP 404. A hint: it is shown to the operator, and settles nothing.\n",
        "  u is told the operation id, as the member /op of the body; a body that has it already "
        "is refused.\n",
        NULL};
    static const char *const none[] = {"  It becomes unknown, and waits for a person, after\n",
                                       NULL};
    check_promise(FILE_WITH("    reconcile: {" ASKS FOUND
                            ", absent_when: {status: 404, text: none}, "
                            "response: {status: 201, body: {from: /i/0}}, absent_is: proof, "
                            "attempts: 3}\n" HAS_ID),
                  proof);
    check_promise(FILE_WITH("    reconcile: {" ASKS "absent_when: {status: 404}}\n"
                            "    add_operation_id: {json: /op}\n"),
                  hint);
    check_promise(FILE_WITH(""), none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_loaded),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_promised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
