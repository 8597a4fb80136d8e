/* Files that are no strict YAML, unknown keys, wrong kinds, and keys of later versions. */
#include "tests/unit/conf/bad.h"

static const struct bad_case cases[] = {
    {"tab",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n\011- {}\n"),
     "E t.yaml:4:1: a tab; write spaces, or \\t inside double quotes"},
    {"not utf-8", BAD("upstreams: {u: {url: \"http://h:1\"}}\n# \377\n"),
     "E t.yaml:2:3: the file is not UTF-8 here"},
    {"overlong", BAD("a: \"\300\200\"\n"), "E t.yaml:1:5: the file is not UTF-8 here"},
    {"surrogate", BAD("a: \"\355\240\200\"\n"), "E t.yaml:1:5: the file is not UTF-8 here"},
    {"control", BAD("a: \"\001\"\n"),
     "E t.yaml:1:5: a control character; inside double quotes write it as an escape"},
    {"nul", BAD("version\000: 1\n"),
     "E t.yaml:1:8: a control character; inside double quotes write it as an escape"},
    {"del", BAD("a: \177\n"),
     "E t.yaml:1:4: a control character; inside double quotes write it as an escape"},
    {"syntax", BAD("upstreams: {u: {url: \"http://h:1\"}\nroutes: []\n"),
     "E t.yaml:2:1: did not find expected ',' or '}', while parsing a flow mapping that begins in "
     "line 1: routes: []"},
    {"syntax2", BAD("upstreams:\n  u: [1, 2\nroutes: x\n"),
     "E t.yaml:3:7: did not find expected ',' or ']', while parsing a flow sequence that begins in "
     "line 2: routes: x"},
    {"quote", BAD("version: \"1\n"),
     "E t.yaml:2:1: found unexpected end of stream, while scanning a quoted scalar that begins in "
     "line 1"},
    {"indent", BAD("log:\n  level: info\n access: true\n"),
     "E t.yaml:3:2: did not find expected key, while parsing a block mapping that begins in line "
     "1: access: true"},
    {"alias", BAD("version: *x\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:10: version: aliases are not used here; write the value where it is "
     "needed"},
    {"undefined anchor", BAD("version: &x 1\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:10: version: anchors are not used here; write the value where it is "
     "needed"},
    {"merge", BAD("store: {<<: {kind: sqlite}}\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:9: store.<<: unknown key; known here: kind path"},
    {"tag", BAD("version: !!int 1\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:10: version: tags are not used here; the key says what the value is"},
    {"local tag", BAD("version: !x 1\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:10: version: tags are not used here; the key says what the value is"},
    {"map tag", BAD("store: !!map {kind: sqlite}\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:8: store: tags are not used here; the key says what the value is"},
    {"anchor on map", BAD("store: &s {kind: sqlite}\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:1:8: store: anchors are not used here; write the value where it is needed"},
    {"alias as key", BAD("*a : 1\n"), "E t.yaml:1:1: aliases are not used here"},
    {"directive", BAD("%YAML 1.1\n---\nversion: 1\n"),
     "E t.yaml:1:1: directives (%...) are not used here"},
    {"tag directive", BAD("%TAG ! tag:x,2000:\n---\nversion: 1\n"),
     "E t.yaml:1:1: directives (%...) are not used here"},
    {"two documents", BAD("version: 1\n---\nversion: 1\n"),
     "E t.yaml:2:1: a second document; one file is one document"},
    {"duplicate", BAD("version: 1\nversion: 1\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:2:1: version: given twice; the first is in line 1"},
    {"duplicate quoted", BAD("version: 1\n\"version\": 1\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins.\nE t.yaml:2:1: version: given twice; the first is in line 1"},
    {"complex key", BAD("? [a, b]\n: 1\n"), "E t.yaml:1:3: a key must be a single word or text"},
    {"empty", BAD(""), "E t.yaml: holds no keys; it needs at least upstreams and routes"},
    {"only a comment", BAD("# nothing\n"),
     "E t.yaml: holds no keys; it needs at least upstreams and routes"},
    {"scalar", BAD("hello\n"), "E t.yaml: holds no keys; it needs at least upstreams and routes"},
    {"list", BAD("- a\n"), "E t.yaml: holds no keys; it needs at least upstreams and routes"},
    {"deep", BAD("routes: [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]\n"),
     "E t.yaml:1:24: nested deeper than 16 levels"},
    {"missing all", BAD("version: 1\n"),
     "E t.yaml:1:1: upstreams: required, but missing: The APIs behind Recibo.\nE t.yaml:1:1: "
     "routes: required, but missing: Which requests are guarded, and how. The most specific path "
     "wins."},
    {"missing routes", BAD("upstreams: {u: {url: \"http://h:1\"}}\n"),
     "E t.yaml:1:1: routes: required, but missing: Which requests are guarded, and how. The most "
     "specific path wins."},
    {"unknown near",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlistn: 1\n"),
     "E t.yaml:5:1: listn: unknown key; did you mean \"listen\"?"},
    {"unknown far",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nzebra: 1\n"),
     "E t.yaml:5:1: zebra: unknown key; known here: version listen admin store owners upstreams "
     "defaults routes limits log workers drain trusted_proxies problem_base own_prefix via "
     "settle_delay"},
    {"unknown case",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nListen: []\n"),
     "E t.yaml:5:1: Listen: unknown key; did you mean \"listen\"?"},
    {"elsewhere",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nretention: 24h\n"),
     "E t.yaml:5:1: retention: unknown key here; it belongs at routes[].retention"},
    {"nested near",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retentoin: 1h}\n"),
     "E t.yaml:4:59: routes[0].retentoin: unknown key; did you mean \"retention\"?"},
    {"unknown in entry",
     BAD("upstreams: {u: {uri: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:13: upstreams.u.url: required, but missing: Where it is: "
     "http://HOST[:PORT][/PREFIX], or https:// for TLS.\nE t.yaml:1:17: upstreams.u.uri: unknown "
     "key; did you mean "
     "\"url\"?"},
    {"yaml boolean key",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, on: 1}\n"),
     "E t.yaml:4:59: routes[0].on: unknown key; known here: name mode preset match upstream owner "
     "scope key fingerprint labels outcome on_pending retention tombstone request_body_max "
     "replay_body_max evidence credentials upstream_idempotency reconcile on_expiry "
     "on_changed_after_release"},
    {"empty name",
     BAD("upstreams: {\"\": {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - "
         "{name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:13: upstreams.: must have a name"},
    {"bad name",
     BAD("upstreams: {\"a b\": {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - "
         "{name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:13: upstreams.a b: must be made of letters, digits and . _ -"},
    {"section is scalar",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlimits: 5\n"),
     "E t.yaml:5:9: limits: is a single value; must be a mapping of keys and values"},
    {"section is empty",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlimits:\n"),
     "E t.yaml:5:8: limits: nothing is given; must be a mapping of keys and values"},
    {"list is map",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes: {name: r}\n"),
     "E t.yaml:3:9: routes: is a mapping; must be a list"},
    {"scalar is list",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: [1h]}\n"),
     "E t.yaml:4:70: routes[0].retention: is a list; must be a single value"},
    {"scalar is map",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, mode: {a: b}}\n"),
     "E t.yaml:4:65: routes[0].mode: is a mapping; must be a single value"},
    {"empty scalar",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: }\n"),
     "E t.yaml:4:70: routes[0].retention: nothing is given; must be a single value"},
    {"empty list",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes: []\n"),
     "E t.yaml:3:9: routes: has 0 entries; 1 to 256 are allowed"},
    {"null word",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nversion: null\n"),
     "E t.yaml:5:10: version: null: must be a whole number"},
    {"tilde",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nworkers: ~\n"),
     "E t.yaml:5:10: workers: ~: must be a whole number"},
    {"tls without a key",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"127.0.0.1:1\", tls: "
         "{certificate: x}}]\n"),
     "E t.yaml:5:35: listen[0].tls.key: required, but missing: PEM file with its private key, "
     "without a password."},
    {"later proxy protocol",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"127.0.0.1:1\", "
         "proxy_protocol: {}}]\n"),
     "E t.yaml:5:35: listen[0].proxy_protocol: known, but not served by this version"},
    {"later upgrade",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, upgrade: [websocket]}\n"),
     "E t.yaml:4:59: routes[0].upgrade: known, but not served by this version"},
    {"later postgres",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nstore: {kind: postgres}\n"),
     "E t.yaml:5:15: store.kind: postgres: known, but not served by this version"},
    {"later mtls",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: mtls}}\nroutes:\n  - {name: r, "
         "match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:20: owners.e.kind: mtls: known, but not served by this version"},
    {"later forward_auth",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: forward_auth}}\nroutes:\n  - "
         "{name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:20: owners.e.kind: forward_auth: known, but not served by this version"},
    {"later operation key",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {from: operation}}\n"),
     "E t.yaml:4:71: routes[0].key.from: operation: known, but not served by this version"},
};

static void test_cases(void **state)
{
    /* Guards: a file that is wrong in its text or its keys is refused, at the right place, in these
     * words. */
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
