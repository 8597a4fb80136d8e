/* Values that are right alone and wrong together, and what is only worth a warning. */
#include "tests/unit/conf/bad.h"

static const struct bad_case cases[] = {
    {"status in two lists",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {refused: [503], unknown: "
         "[5xx]}}\n"),
     "E t.yaml:4:94: routes[0].outcome.unknown: 503: is in refused (line 4), too; an answer means "
     "one thing"},
    {"late under answer",
     BAD("upstreams: {u: {url: \"http://h\", timeouts: {answer: 10s, late: 9s}}}\nowners: {e: "
         "{kind: static}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:64: upstreams.u.timeouts.late: late 9s is shorter than answer 10s; Recibo must "
     "listen at least as long again\nW t.yaml:4:5: routes[0].breaker.overdue: 30s: not under "
     "timeouts.answer 10s, so a slow upstream is noticed only by its lost answers"},
    {"answer under first byte",
     BAD("upstreams: {u: {url: \"http://h\", timeouts: {answer: 10s, first_byte: 11s}}}\nowners: "
         "{e: {kind: static}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: "
         "/a}}}\n"),
     "E t.yaml:1:53: upstreams.u.timeouts.answer: answer 10s is shorter than first_byte 11s; the "
     "whole answer cannot take less than its first byte\nW t.yaml:4:5: routes[0].breaker.overdue: "
     "30s: not under timeouts.answer 10s, so a slow upstream is noticed only by its lost answers"},
    {"drain",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\ndrain: 1s\n"),
     "W t.yaml:5:8: drain: 1s: shorter than the longest timeouts.answer 30s; a stop can leave "
     "unknown outcomes that a longer drain would not"},
    {"upstream window",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, upstream_idempotency: {window: 32d}}\n"),
     "E t.yaml:4:90: routes[0].upstream_idempotency.window: 32d: longer than retention and "
     "tombstone together, so Recibo would forget a key that the upstream still knows"},
    {"tombstone",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, tombstone: 23h}\n"),
     "E t.yaml:4:70: routes[0].tombstone: tombstone 23h is shorter than retention 24h"},
    {"retention quiet",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 9m}\n"),
     "E t.yaml:4:70: routes[0].retention: retention 9m is shorter than the quiet time 10m, in "
     "which the request may still take effect"},
    {"retention quiet given",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, reconcile: {quiet_time: 25h}}\n"),
     "E t.yaml:4:83: routes[0].reconcile.quiet_time: retention 24h is shorter than the quiet time "
     "25h, in which the request may still take effect"},
    {"ignore and only",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {ignore: [/a], only: "
         "[/b]}}\n"),
     "W t.yaml:4:81: routes[0].fingerprint.ignore: /a: holds the label l, so two different values "
     "of it count as the same request\nE t.yaml:4:93: routes[0].fingerprint.only: ignore and only "
     "together; say what counts, or what does not"},
    {"ignore in form mode",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {mode: form, ignore: "
         "[/a]}}\n"),
     "E t.yaml:4:93: routes[0].fingerprint.ignore: JSON pointers need mode: json, not form\nW "
     "t.yaml:4:93: routes[0].fingerprint.ignore: /a: holds the label l, so two different values of "
     "it count as the same request"},
    {"ignore holds label",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {ignore: [/a]}}\n"),
     "W t.yaml:4:81: routes[0].fingerprint.ignore: /a: holds the label l, so two different values "
     "of it count as the same request"},
    {"no labels",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {}}\n"),
     "E t.yaml:4:42: routes[0].labels: neither labels nor evidence.body: an unknown outcome would "
     "show nothing that a person could look up; add for example labels: {order: {json: "
     "/order_no}}"},
    {"owner header",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: header, header: "
         "X-User}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:10: owners.e.trusted: kind: header needs the addresses of the proxies that may "
     "set it; without them anybody could be anybody"},
    {"credential twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: api_key, keys: [{owner: a, "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}, {owner: b, "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}}\nroutes:\n  "
         "- {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:122: owners.e.keys[1]: the same credential belongs to a (line 2); it cannot be "
     "b's, too"},
    {"credential in two entries",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners:\n  e: {kind: api_key, keys: [{owner: a, "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}\n  f: {kind: "
         "api_key, header: X-K, keys: [{owner: b, sha256: "
         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}]}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, owner: e}\n"),
     "E t.yaml:4:42: owners.f.keys[0]: the same credential belongs to a (line 3); it cannot be "
     "b's, too"},
    {"credential twice same owner",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: api_key, keys: [{owner: a, "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}, {owner: a, "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}}\nroutes:\n  "
         "- {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:122: owners.e.keys[1]: the same credential is in line 2 already"},
    {"user twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: basic, users: [{name: a, hash: "
         "$6$abcdefgh$x}, {name: a, hash: $6$abcdefgh$y}]}}\nroutes:\n  - {name: r, match: {path: "
         "/r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:34: owners.e.users: a: is a user twice"},
    {"network twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: network, networks: [{cidr: "
         "10.0.0.0/8, owner: a}, {cidr: 10.0.0.0/8, owner: b}]}}\nroutes:\n  - {name: r, match: "
         "{path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:39: owners.e.networks: 10.0.0.0/8: is given twice, to a and to b"},
    {"memory",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlimits: {memory_max: 300MiB}\n"),
     "E t.yaml:5:22: limits.memory_max: the worst case of this file is 335 MiB, over 300 MiB; "
     "raise it, or lower request_body_max, replay_body_max, bodies, route_in_flight, late_max or "
     "connections"},
    {"a status of success that frees the key",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "a, match: {path: /a}, labels: {o: {json: /o}}, outcome: {refused: [2xx, 3xx], unknown: "
         "[408]}}\n"),
     "W t.yaml:4:78: routes[0].outcome.refused: 200: means \"it did not run\", and frees the key; "
     "if "
     "the API also answers it after the work was done, a repeat does the work twice"},
    {"key in the content left out",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "a, match: {path: /a}, labels: {o: {json: /o}}, key: {from: json, pointer: /k, required: "
         "false}}\n"),
     "E t.yaml:4:100: routes[0].key.required: false: only a key from a header may be left out; a "
     "request without this key is refused"},
    {"unsafe pass",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n  - {name: p, mode: pass, match: "
         "{methods: [POST], path: /p}}\n"),
     "W t.yaml:5:44: routes[1].match.methods: methods that change something pass unprotected: a "
     "repeat is carried out again"},
    {"pass beside guarded prefix",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n  - {name: p, mode: pass, match: "
         "{methods: [POST], path: \"/*\"}}\n"),
     "W t.yaml:5:44: routes[1].match.methods: methods that change something pass unprotected: a "
     "repeat is carried out again\nW t.yaml:5:58: routes[1].match.path: /*: passes requests beside "
     "the guarded r (line 4) that differ from it in prefix, case or slash only"},
    {"pass beside guarded case",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n  - {name: p, mode: pass, match: "
         "{methods: [POST], path: /R}}\n"),
     "W t.yaml:5:44: routes[1].match.methods: methods that change something pass unprotected: a "
     "repeat is carried out again\nW t.yaml:5:58: routes[1].match.path: /R: passes requests beside "
     "the guarded r (line 4) that differ from it in prefix, case or slash only"},
    {"pass beside guarded slash",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r, trailing_slash: strict}, labels: {l: {json: /a}}}\n  - {name: p, "
         "mode: pass, match: {methods: [POST], path: /r/, trailing_slash: strict}}\n"),
     "W t.yaml:5:44: routes[1].match.methods: methods that change something pass unprotected: a "
     "repeat is carried out again\nW t.yaml:5:58: routes[1].match.path: /r/: passes requests "
     "beside the guarded r (line 4) that differ from it in prefix, case or slash only"},
    {"pass like guarded",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n  - {name: p, mode: pass, match: "
         "{methods: [POST], path: /r}}\n"),
     "W t.yaml:5:44: routes[1].match.methods: methods that change something pass unprotected: a "
     "repeat is carried out again\nE t.yaml:5:58: routes[1].match.path: /r: a request can fit r "
     "(line 4) as well, which is guarded, and neither is more specific"},
    {"own prefix route",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /.recibo/x}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:29: routes[0].match.path: /.recibo/x: lies under own_prefix /.recibo/, which is "
     "Recibo's own"},
    {"own prefix route case",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /.Recibo/x}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:29: routes[0].match.path: /.Recibo/x: lies under own_prefix /.recibo/, which is "
     "Recibo's own"},
    {"circle",
     BAD("upstreams: {u: {url: \"http://localhost:8080\"}}\nowners: {e: {kind: static}}\nroutes:\n "
         " - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://localhost:8080: is Recibo's own listener; requests "
     "would run in a circle"},
    {"circle any",
     BAD("upstreams: {u: {url: \"http://127.0.0.2:9\"}}\nlisten: [{address: "
         "\"0.0.0.0:9\"}]\nowners: {e: {kind: static}}\nroutes:\n  - {name: r, match: {path: /r}, "
         "labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://127.0.0.2:9: is Recibo's own listener; requests would "
     "run in a circle"},
    {"circle admin",
     BAD("upstreams: {u: {url: \"http://127.0.0.1:9\"}}\nadmin: {address: "
         "\"127.0.0.1:9\"}\nowners: {e: {kind: static}}\nroutes:\n  - {name: r, match: {path: /r}, "
         "labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://127.0.0.1:9: is Recibo's operator's plane\nW "
     "t.yaml:2:1: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown"},
    {"admin public",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {address: \"0.0.0.0:8081\"}\n"),
     "W t.yaml:5:1: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown\nE t.yaml:5:18: admin.address: 0.0.0.0:8081: is not loopback, and "
     "tokens "
     "would travel in the clear; add admin.tls, or use 127.0.0.1, [::1] or unix:/path"},
    {"admin in the store",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nstore: {path: /var/r.db}\nadmin: "
         "{address: \"unix:/var/r.db\"}\n"),
     "E t.yaml:6:18: admin.address: is the file of store.path; a socket needs its own"},
    {"actor header without addresses",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n  - {name: r, mode: pass, match: {path: "
         "/r, methods: [GET]}}\nadmin:\n  actor_header: {name: X-Actor}\n"),
     "E t.yaml:5:3: admin.actor_header.from: anybody could say that he is somebody else; list the "
     "addresses of the proxies that set this header"},
    {"actor header on a socket",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n  - {name: r, mode: pass, match: {path: "
         "/r, methods: [GET]}}\nadmin:\n  address: unix:/run/a.sock\n  actor_header: {name: "
         "X-Actor, from: [127.0.0.1]}\n"),
     "E t.yaml:6:17: admin.actor_header: peers of a Unix socket have no address that could be "
     "listed; let the proxy reach admin.address over loopback"},
    {"admin public address",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {address: \"192.0.2.1:8081\"}\n"),
     "W t.yaml:5:1: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown\nE t.yaml:5:18: admin.address: 192.0.2.1:8081: is not loopback, and "
     "tokens would travel in the clear; add admin.tls, or use 127.0.0.1, [::1] or unix:/path"},
    {"tls without https",
     BAD("upstreams: {u: {url: \"http://h:1\", tls: {ca: x}}}\nowners: {e: {kind: "
         "static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:41: upstreams.u.tls: needs a url that begins with https://"},
    {"tls half a pair",
     BAD("upstreams: {u: {url: \"https://h\", tls: {certificate: x}}}\nowners: {e: {kind: "
         "static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:54: upstreams.u.tls.certificate: certificate and key are given together"},
    {"tls required of whom",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"127.0.0.1:1\", tls: "
         "{certificate: x, key: y, client_certificate: "
         "required}}]\n"),
     "E t.yaml:5:85: listen[0].tls.client_certificate: required: needs client_ca, the authorities "
     "that such a certificate is from"},
    {"tls on a unix socket",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {address: \"unix:/run/r.sock\", "
         "tls: {certificate: x, key: y}}\n"),
     "E t.yaml:5:43: admin.tls: has no meaning on a Unix socket; leave it out"},
    {"nobody can settle",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "W t.yaml:1:1: admin: nobody can settle: there is no operator's plane, so unknown outcomes "
     "stay unknown; add admin with a token that has the right settle"},
    {"no right to settle",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[read], sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}\n"),
     "W t.yaml:5:17: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown"},
    {"no rule for 3xx",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "W t.yaml:4:5: routes[0].outcome: no rule speaks of 3xx: a redirect, for example to a login "
     "page, is recorded as the answer and replayed; add a rule such as {status: 302, header: "
     "{Location: \"*/login*\"}, means: refused}"},
    {"breaker overdue",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, breaker: {overdue: 30s}}\n"),
     "W t.yaml:4:78: routes[0].breaker.overdue: 30s: not under timeouts.answer 30s, so a slow "
     "upstream is noticed only by its lost answers"},
    {"breaker overdue by answer",
     BAD("upstreams: {u: {url: \"http://h\", timeouts: {answer: 10s}}}\nowners: {e: {kind: "
         "static}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "W t.yaml:4:5: routes[0].breaker.overdue: 30s: not under timeouts.answer 10s, so a slow "
     "upstream is noticed only by its lost answers"},
    {"route name twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /a}, labels: {l: {json: /a}}}\n  - {name: r, match: {path: /b}, labels: "
         "{l: {json: /a}}}\n"),
     "E t.yaml:5:12: routes[1].name: r: is the name of the route in line 4, too"},
    {"ambiguous",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "a, match: {path: \"/{x}/b\"}, labels: {l: {json: /a}}}\n  - {name: b, match: {path: "
         "\"/{y}/b\"}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:5:29: routes[1].match.path: /{y}/b: a request can fit a (line 4) as well, and "
     "neither is more specific"},
    {"ambiguous pass",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n  - {name: a, mode: pass, match: {path: "
         "/a}}\n  - {name: b, mode: pass, match: {path: /a}}\n"),
     "W t.yaml:4:41: routes[1].match.path: /a: a request can fit a (line 3) as well; the first one "
     "gets it"},
    {"listen twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"127.0.0.1:9\"}, "
         "{address: \"localhost:9\"}]\n"),
     "E t.yaml:5:46: listen[1].address: localhost:9: is taken by 127.0.0.1:9 (line 5)"},
    {"listen is admin",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {address: \"127.0.0.1:8080\"}\n"),
     "W t.yaml:5:1: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown\nE t.yaml:5:18: admin.address: 127.0.0.1:8080: is the callers' "
     "listener, too; the operator's plane has its own"},
    {"unknown upstream",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, upstream: uu}\n"),
     "E t.yaml:4:69: routes[0].upstream: uu: no such entry of upstreams; did you mean \"u\"?"},
    {"unknown owner",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, owner: zebra}\n"),
     "E t.yaml:4:66: routes[0].owner: zebra: no such entry of owners"},
    {"unknown default",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\ndefaults: {upstream: uuu}\n"),
     "E t.yaml:5:22: defaults.upstream: uuu: no such entry of upstreams; did you mean \"u\"?"},
    {"which upstream",
     BAD("upstreams: {u: {url: \"http://h\"}, v: {url: \"http://h\"}}\nowners: {e: {kind: "
         "static}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:5: routes[0].upstream: required, for there are several upstreams and "
     "defaults.upstream is not set"},
    {"which owner",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}, f: {kind: "
         "static}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:5: routes[0].owner: required, for there are several owners and defaults.owner is "
     "not set"},
    {"no owner",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n  - {name: r, match: {path: /r}, labels: "
         "{l: {json: /a}}}\n"),
     "E t.yaml:3:5: routes[0].owner: required on an enforce route, for a key belongs to somebody. "
     "If all callers are one, write at the top \"owners: {everyone: {kind: static}}\""},
    {"guarded GET",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {methods: [GET], path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:32: routes[0].match.methods: GET, HEAD and OPTIONS change nothing and have no "
     "key; give them a pass route"},
    {"idle key on pass",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nroutes:\n  - {name: r, mode: pass, retention: 1h, "
         "match: {path: /r}}\n"),
     "W t.yaml:3:38: routes[0].retention: has no effect: the route passes, and nothing of it is "
     "guarded"},
    {"key pointer with header",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {pointer: /a}}\n"),
     "E t.yaml:4:74: routes[0].key.pointer: has no meaning for from: header"},
    {"key json without pointer",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {from: json}}\n"),
     "E t.yaml:4:59: routes[0].key.pointer: required for from: json, but missing"},
    {"key path without param",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {from: path, name: id}}\n"),
     "E t.yaml:4:83: routes[0].key.name: id: match.path has no {id}"},
    {"key all with one",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {from: all, of: [{name: A}]}}\n"),
     "E t.yaml:4:80: routes[0].key.of: has 1 entries; 2 to 4 are allowed"},
    {"key header with a meaning",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {name: Authorization}}\n"),
     "E t.yaml:4:71: routes[0].key.name: Authorization: a header with a meaning of its own cannot "
     "be the key"},
    {"key header is the owner",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: api_key, keys: [{owner: a, "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}}\nroutes:\n  "
         "- {name: r, match: {path: /r}, labels: {l: {json: /a}}, key: {name: x-api-key}}\n"),
     "E t.yaml:4:71: routes[0].key.name: x-api-key: a header with a meaning of its own cannot be "
     "the key\nE t.yaml:4:71: routes[0].key.name: x-api-key: is the header of the owner e, too"},
    {"key uuid too short",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {format: uuid, max: 30}}\n"),
     "E t.yaml:4:84: routes[0].key.max: 30: a uuid has 36 bytes"},
    {"label of two",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a, header: X}}}\n"),
     "E t.yaml:4:43: routes[0].labels.l: must have exactly one of json, header, form, path"},
    {"label of none",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {}}}\n"),
     "E t.yaml:4:43: routes[0].labels.l: must have exactly one of json, header, form, path"},
    {"label of a secret",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {header: Cookie}}}\n"),
     "E t.yaml:4:55: routes[0].labels.l.header: Cookie: credentials are never kept"},
    {"nine labels",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l0: {json: /a}, l1: {json: /a}, l2: {json: /a}, l3: "
         "{json: /a}, l4: {json: /a}, l5: {json: /a}, l6: {json: /a}, l7: {json: /a}, l8: {json: "
         "/a}}}\n"),
     "E t.yaml:4:42: routes[0].labels: has 9 entries; 0 to 8 are allowed"},
    {"rule without a condition",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {rules: [{means: refused}]}}\n"),
     "E t.yaml:4:77: routes[0].outcome.rules[0]: a rule without a condition fits every answer; "
     "give at least one of status, header, media_type, json, text"},
    {"rule without a meaning",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {rules: [{status: 200}]}}\n"),
     "E t.yaml:4:77: routes[0].outcome.rules[0].means: required, but missing: What such an answer "
     "means."},
    {"rule with nothing",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {rules: [{json: {/a: }, means: "
         "refused}]}}\n"),
     "E t.yaml:4:89: routes[0].outcome.rules[0].json./a: nothing is given; write a value, \"\" for "
     "an empty string, or exists, absent or empty"},
    {"rule pointer",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {rules: [{json: {a: 1}, means: "
         "refused}]}}\n"),
     "E t.yaml:4:85: routes[0].outcome.rules[0].json.a: must be a JSON pointer, which begins with "
     "/"},
    {"redact without body",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, evidence: {redact: [/a]}}\n"),
     "E t.yaml:4:78: routes[0].evidence.redact: has no meaning without evidence.body: true"},
    {"fingerprint header",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {headers: [Date]}}\n"),
     "E t.yaml:4:83: routes[0].fingerprint.headers[0]: Date: cannot take part; an honest repeat "
     "may change it"},
    {"fingerprint header twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {headers: [X-A, x-a]}}\n"),
     "E t.yaml:4:88: routes[0].fingerprint.headers[1]: x-a: given twice"},
    {"replay header",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, replay: {headers: [Connection]}}\n"),
     "E t.yaml:4:78: routes[0].replay.headers[0]: Connection: is never replayed"},
    {"upstream key header",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, upstream_idempotency: {header: X-Other, "
         "window: 1h}}\n"),
     "E t.yaml:4:90: routes[0].upstream_idempotency.header: X-Other: must be the header of the "
     "key, Idempotency-Key; it is passed on under its own name"},
    {"upstream key of json",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {from: json, pointer: /k}, "
         "upstream_idempotency: {window: 1h}}\n"),
     "E t.yaml:4:91: routes[0].upstream_idempotency: needs key.from: header; what is passed on is "
     "the key header"},
    {"content key without a window",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {from: content}}\n"),
     "E t.yaml:4:59: routes[0].key.window: required for from: content, but missing"},
    {"window without a content key",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {window: 90s, only: "
         "undelivered}}\n"),
     "E t.yaml:4:73: routes[0].key.window: has no meaning for from: header\nE t.yaml:4:84: "
     "routes[0].key.only: needs from: content"},
    {"window over retention",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 1h, tombstone: 2h, key: {from: "
         "content, only: undelivered, window: 61m}}\n"),
     "E t.yaml:4:137: routes[0].key.window: 61m: longer than retention 1h, after which nothing is "
     "known of the content"},
    {"content key of the gateway",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, scope: gateway, on_expiry: rerun, key: "
         "{from: content, only: undelivered, window: 90s, min: 8, name: X}}\n"),
     "E t.yaml:4:66: routes[0].scope: gateway: a content key is of its route alone, since the "
     "target is a part of the content\nE t.yaml:4:86: routes[0].on_expiry: has no meaning for "
     "key.from: content: after the window the same content is a new operation\nE t.yaml:4:151: "
     "routes[0].key.min: has no meaning for from: content\nE t.yaml:4:160: routes[0].key.name: has "
     "no meaning for from: content"},
    {"content key conflates",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, on_expiry: refuse, key: {from: content, "
         "window: 90s}}\n"),
     "E t.yaml:4:70: routes[0].on_expiry: has no meaning for key.from: content: after the window "
     "the same content is a new operation\nW t.yaml:4:90: routes[0].key.from: content: two "
     "requests of one owner that are alike are one operation for 90s, also when both are meant; "
     "with only: undelivered the second one is a new operation once the answer to the first has "
     "arrived"},
    {"target over head",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlimits: {head_bytes: 4KiB}\n"),
     "E t.yaml:5:22: limits.head_bytes: target_bytes 8192 is over head_bytes 4096, of which it is "
     "a part"},
    {"token twice",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[settle], sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}, "
         "{name: a, rights: [read], sha256: "
         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb}]}\n"),
     "E t.yaml:5:128: admin.tokens[1].name: a: given to two tokens"},
    {"same token",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[settle], sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}, "
         "{name: b, rights: [read], sha256: "
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}\n"),
     "E t.yaml:5:121: admin.tokens[1]: the same token as a's; a token is one actor's"},
    {"no secret",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[settle]}]}\n"),
     "E t.yaml:5:18: admin.tokens[0].sha256: give sha256 or sha256_file, one of the two"},
    {"two secrets",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[settle], sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa, "
         "sha256_file: x}]}\n"),
     "E t.yaml:5:54: admin.tokens[0].sha256: give sha256 or sha256_file, one of the two"},
    {"kind without keys",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: api_key}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:10: owners.e.keys: required for kind: api_key, but missing"},
    {"kind with foreign keys",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static, users: []}}\nroutes:\n "
         " - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:35: owners.e.users: has no meaning for kind: static"},
    {"user with a colon",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: basic, users: [{name: \"a:b\", "
         "owner: a, hash: $6$abcdefgh$x}]}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: "
         "{json: /a}}}\n"),
     "E t.yaml:2:42: owners.e.users[0].name: a user name cannot hold a colon"},
    {"weak hash",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: basic, users: [{name: a, hash: "
         "plaintext}]}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:2:51: owners.e.users[0].hash: must be a crypt(3) hash that begins with $y$, $6$, "
     "$5$, $7$, $gy$ or $2b$"},
    {"replay over answer",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, replay_body_max: 65MiB}\n"),
     "E t.yaml:1:1: limits.memory_max: the worst case of this file is 9936 MiB, over 2 GiB; raise "
     "it, or lower request_body_max, replay_body_max, bodies, route_in_flight, late_max or "
     "connections\nW "
     "t.yaml:4:76: routes[0].replay_body_max: over limits.answer_body_max; answers between the two "
     "are cut off, not kept"},
};

static void test_cases(void **state)
{
    /* Guards: values that contradict each other are found, and only errors stop a load. */
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
