/* Local effects that cannot be, word for word; what is known without a database. */
#include "tests/unit/conf/bad.h"

static const struct bad_case cases[] = {
    {"good, and without upstreams",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     ""},
    {"beside a route with an upstream",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - name: "
         "r\n    match: {path: /r}\n    local: {statement: \"INSERT INTO t VALUES (:owner) "
         "RETURNING a\"}\n  - {name: p, mode: pass, match: {path: \"/*\"}}\n"),
     ""},
    {"beside a route without",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n  - {name: p, mode: pass, "
         "match: {path: \"/*\"}}\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo."},
    {"upstream",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - name: "
         "r\n    match: {path: /r}\n    upstream: u\n    local: {statement: \"INSERT INTO t VALUES "
         "(:owner) RETURNING a\"}\n"),
     "E t.yaml:6:15: routes[0].upstream: cannot stand beside local: the effect is in Recibo's own "
     "database, and nothing is sent"},
    {"unknown upstream",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - name: "
         "r\n    match: {path: /r}\n    upstream: w\n    local: {statement: \"INSERT INTO t VALUES "
         "(:owner) RETURNING a\"}\n"),
     "E t.yaml:6:15: routes[0].upstream: cannot stand beside local: the effect is in Recibo's own "
     "database, and nothing is sent"},
    {"retry",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    retry: "
         "{when: [429]}\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:12: routes[0].retry: cannot stand beside local: the effect is in Recibo's own "
     "database, and nothing is sent"},
    {"defer",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    defer: "
         "{when: prefer}\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:12: routes[0].defer: cannot stand beside local: the effect is in Recibo's own "
     "database, and nothing is sent"},
    {"reconcile",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    reconcile: "
         "{quiet_time: 1m}\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING "
         "a\"}\n"),
     "E t.yaml:5:16: routes[0].reconcile: cannot stand beside local: the effect is in Recibo's own "
     "database, and nothing is sent"},
    {"outcome",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    outcome: "
         "{refused: [429]}\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING "
         "a\"}\n"),
     "E t.yaml:5:14: routes[0].outcome: cannot stand beside local: the effect is in Recibo's own "
     "database, and nothing is sent"},
    {"operation id",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    "
         "add_operation_id: {header: X-Id}\n    local: {statement: \"INSERT INTO t VALUES (:owner) "
         "RETURNING a\"}\n"),
     "E t.yaml:5:23: routes[0].add_operation_id: cannot stand beside local: the effect is in "
     "Recibo's own database, and nothing is sent"},
    {"upstream idempotency",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    "
         "upstream_idempotency: {window: 1h}\n    local: {statement: \"INSERT INTO t VALUES "
         "(:owner) RETURNING a\"}\n"),
     "E t.yaml:5:27: routes[0].upstream_idempotency: cannot stand beside local: the effect is in "
     "Recibo's own database, and nothing is sent"},
    {"what has no effect",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    "
         "credentials: strip\n    breaker: none\n    evidence: {body: true}\n    on_pending: "
         "{wait: 1s}\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "W t.yaml:5:18: routes[0].credentials: has no effect: the effect is local, and nothing is "
     "sent\nW t.yaml:6:14: routes[0].breaker: has no effect: the effect is local, and nothing is "
     "sent\nW t.yaml:7:15: routes[0].evidence: has no effect: the effect is local, and nothing is "
     "sent\nW t.yaml:8:17: routes[0].on_pending: has no effect: the effect is local, and nothing "
     "is sent"},
    {"pass",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    mode: "
         "pass\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:11: routes[0].mode: must be enforce beside local: there is no upstream that a "
     "request could pass to\nW t.yaml:6:12: routes[0].local: has no effect: the route passes, and "
     "nothing of it is guarded"},
    {"observe",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    mode: "
         "observe\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "W t.yaml:5:11: routes[0].mode: observe: nobody can read what is seen; add admin with a token "
     "that has the right read\nE t.yaml:5:11: routes[0].mode: must be enforce beside local: there "
     "is no upstream that a request could pass to"},
    {"key left out",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    key: "
         "{from: header, required: false}\n    local: {statement: \"INSERT INTO t VALUES (:owner) "
         "RETURNING a\"}\n"),
     "E t.yaml:5:35: routes[0].key.required: must be true beside local: a request without a key "
     "could pass to nobody"},
    {"memory",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\nstore: {kind: memory}\n"),
     "E t.yaml:5:12: routes[0].local: needs store.kind: sqlite; the effect is a row beside the "
     "receipt"},
    {"form",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    "
         "fingerprint: {mode: form}\n    local: {accept: {members: [a]}, statement: \"INSERT INTO "
         "t VALUES (:a) RETURNING a\"}\n"),
     "E t.yaml:5:25: routes[0].fingerprint.mode: must be json or raw beside local.accept, which "
     "takes a JSON body"},
    {"get",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {methods: [GET], path: "
         "/r}\n    local: {statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:4:22: routes[0].match.methods: GET, HEAD and OPTIONS change nothing and have no "
     "key; give them a pass route"},
    {"no statement",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{setup: \"CREATE TABLE t(a)\"}\n"),
     "E t.yaml:5:5: routes[0].local.statement: required, but missing: One INSERT, UPDATE or DELETE "
     "with RETURNING; may name :owner, :operation_id, :key, :body and the members."},
    {"select",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"SELECT 1\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: SELECT: must be one INSERT, UPDATE or DELETE with "
     "RETURNING"},
    {"two statements",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES (1) RETURNING a; DELETE FROM t\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: DELETE: something follows the first statement; "
     "there can be only one"},
    {"no returning",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES (1)\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: has no RETURNING; the row that it returns is the "
     "answer"},
    {"rollback",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT OR ROLLBACK INTO t VALUES (1) RETURNING a\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: ROLLBACK: would take back the operations of others "
     "too; write ABORT, which takes back this one"},
    {"open string",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES ('1) RETURNING a\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: a quote or a comment in it does not end"},
    {"only a comment",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"-- INSERT\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: holds no statement"},
    {"unknown parameter",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {members: [subject]}, statement: \"INSERT INTO t VALUES (:subjet, :subject) "
         "RETURNING a\"}\n"),
     "E t.yaml:5:54: routes[0].local.statement: :subjet: no value is given for this parameter; "
     "there are :owner, :operation_id, :key, :body and the members of accept"},
    {"question mark",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statement: \"INSERT INTO t VALUES (?) RETURNING a\"}\n"),
     "E t.yaml:5:24: routes[0].local.statement: ?: no value is given for this parameter; there are "
     ":owner, :operation_id, :key, :body and the members of accept"},
    {"drop in setup",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{setup: \"DROP TABLE t\", statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:20: routes[0].local.setup: DROP: only CREATE TABLE and CREATE INDEX may stand "
     "here, with IF NOT EXISTS, for they are run at every start"},
    {"pragma in setup",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{setup: \"CREATE TABLE t(a); PRAGMA synchronous = OFF\", statement: \"INSERT INTO t "
         "VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:20: routes[0].local.setup: PRAGMA: only CREATE TABLE and CREATE INDEX may stand "
     "here, with IF NOT EXISTS, for they are run at every start"},
    {"parameter in setup",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{setup: \"CREATE TABLE t(a DEFAULT :owner)\", statement: \"INSERT INTO t VALUES (:owner) "
         "RETURNING a\"}\n"),
     "E t.yaml:5:20: routes[0].local.setup: :owner: there are no parameters here"},
    {"rollback in setup",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{setup: \"CREATE TABLE t(a UNIQUE ON CONFLICT ROLLBACK)\", statement: \"INSERT INTO t "
         "VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:20: routes[0].local.setup: ROLLBACK: would take back the operations of others "
     "too; write ABORT"},
    {"open name in setup",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{setup: 'CREATE TABLE t(\"a)', statement: \"INSERT INTO t VALUES (:owner) RETURNING "
         "a\"}\n"),
     "E t.yaml:5:20: routes[0].local.setup: a quote or a comment in it does not end"},
    {"unused member",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {members: [a, b]}, statement: \"INSERT INTO t VALUES (:a) RETURNING a\"}\n"),
     "W t.yaml:5:31: routes[0].local.accept.members: b: is taken from the body, but the statement "
     "does not name it: it is not kept"},
    {"member twice",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {members: [a, a]}, statement: \"INSERT INTO t VALUES (:a) RETURNING a\"}\n"),
     "E t.yaml:5:35: routes[0].local.accept.members[1]: a: is given twice"},
    {"owner as a member",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {members: [owner]}, statement: \"INSERT INTO t VALUES (:owner) RETURNING "
         "a\"}\n"),
     "E t.yaml:5:32: routes[0].local.accept.members[0]: owner: is what every statement may name "
     "already; it does not come from the body"},
    {"type of nobody",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {members: [a], types: {b: string}}, statement: \"INSERT INTO t VALUES (:a) "
         "RETURNING a\"}\n"),
     "E t.yaml:5:47: routes[0].local.accept.types.b: there is no such member in accept.members"},
    {"unknown type",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {members: [a], types: {a: strng}}, statement: \"INSERT INTO t VALUES (:a) "
         "RETURNING a\"}\n"),
     "E t.yaml:5:47: routes[0].local.accept.types.a: strng: must be one of string, integer, "
     "number, boolean, null, text, real; did you mean \"string\"?"},
    {"no members",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{accept: {types: {a: string}}, statement: \"INSERT INTO t VALUES (1) RETURNING a\"}\n"),
     "E t.yaml:5:13: routes[0].local.accept.members: required, but missing: Its members. A body "
     "with any other is refused.\nE t.yaml:5:33: routes[0].local.accept.types.a: there is no such "
     "member in accept.members"},
    {"status of an error",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{status: 404, statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:21: routes[0].local.status: 404: is over the maximum 299"},
    {"no time",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{time_max: 0s, statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:23: routes[0].local.time_max: 0s: is under the minimum 1ms"},
    {"unknown key",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "{statment: x, statement: \"INSERT INTO t VALUES (:owner) RETURNING a\"}\n"),
     "E t.yaml:5:13: routes[0].local.statment: unknown key; did you mean \"statement\"?"},
    {"not a mapping",
     BAD("owners: {e: {kind: static}}\nroutes:\n  - name: r\n    match: {path: /r}\n    local: "
         "yes\n"),
     "E t.yaml:5:12: routes[0].local: is a single value; must be a mapping of keys and values"},
};

/* Guards: each contradiction is told at its place, and an honest effect passes. */
static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

#define EFFECT                                                                                     \
    "owners: {e: {kind: static}}\nroutes:\n  - name: a\n    match: {path: /a}\n    local: "        \
    "{statement: "                                                                                 \
    "\"INSERT INTO t VALUES (:owner) RETURNING a\"}\n  - name: b\n    match: {path: /b}\n    "     \
    "local:\n"                                                                                     \
    "      setup: |\n        CREATE TABLE IF NOT EXISTS t(a, b);\n"                                \
    "      accept: {members: [b, c, d], types: {c: [integer, \"null\"], d: real}}\n"               \
    "      statement: INSERT INTO t VALUES (:b, :c || :d || :body) RETURNING a\n"                  \
    "      status: 200\n      time_max: 250ms\n"

/* Guards: an effect is loaded as it is written, and numbered among the effects. */
static void test_loaded(void **state)
{
    (void)state;
    struct conf *conf = NULL;
    struct conf_report report;
    assert_int_equal(conf_parse(SPAN(EFFECT), "t", &conf, &report), GW_OK);
    const struct route_policy *routes = conf->routes.routes;
    assert_null(routes[1].upstream);
    assert_int_equal(conf->upstream_count, 0);
    const struct local_policy *plain = routes[0].local, *full = routes[1].local;
    assert_int_equal(plain->index, 0);
    assert_int_equal(plain->status, 201);
    assert_int_equal(plain->time_max_ms, 1000);
    assert_false(plain->takes_json || plain->uses_body);
    assert_int_equal(plain->name_count, LOCAL_PARAMETER_COUNT);
    assert_int_equal(full->index, 1);
    assert_int_equal(full->line, 8);
    assert_int_equal(full->status, 200);
    assert_int_equal(full->time_max_ms, 250);
    assert_true(full->takes_json && full->uses_body);
    assert_true(span_equal(full->setup, SPAN("CREATE TABLE IF NOT EXISTS t(a, b);\n")));
    assert_int_equal(full->accept.member_count, 3);
    assert_int_equal(full->accept.members[0].types, ACCEPT_STRING);
    assert_int_equal(full->accept.members[1].types, ACCEPT_INTEGER | ACCEPT_NULL);
    assert_int_equal(full->accept.members[2].types, ACCEPT_NUMBER);
    assert_int_equal(full->name_count, LOCAL_PARAMETER_COUNT + 3);
    assert_true(span_equal(full->names[LOCAL_OWNER], SPAN("owner")));
    assert_true(span_equal(full->names[LOCAL_PARAMETER_COUNT + 2], SPAN("d")));
    assert_false(routes[0].breaker.is_on);
    conf_unref(conf);
    conf_report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_loaded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
