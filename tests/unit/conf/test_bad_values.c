/* Values that break the grammar or the range of their key. */
#include "tests/unit/conf/bad.h"

static const struct bad_case cases[] = {
    {"bool yes",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, evidence: {body: yes}}\n"),
     "E t.yaml:4:76: routes[0].evidence.body: yes: must be true or false"},
    {"bool capital",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, evidence: {body: True}}\n"),
     "E t.yaml:4:76: routes[0].evidence.body: True: must be true or false"},
    {"bool number",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, evidence: {body: 1}}\n"),
     "E t.yaml:4:76: routes[0].evidence.body: 1: must be true or false"},
    {"duration no unit",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 24}\n"),
     "E t.yaml:4:70: routes[0].retention: 24: must be a duration like 500ms, 2s, 10m, 24h or 30d"},
    {"duration compound",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 1h30m}\n"),
     "E t.yaml:4:70: routes[0].retention: 1h30m: must be a duration like 500ms, 2s, 10m, 24h or "
     "30d"},
    {"duration fraction",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 1.5h}\n"),
     "E t.yaml:4:70: routes[0].retention: 1.5h: must be a duration like 500ms, 2s, 10m, 24h or "
     "30d"},
    {"duration negative",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: -1h}\n"),
     "E t.yaml:4:70: routes[0].retention: -1h: must be a duration like 500ms, 2s, 10m, 24h or 30d"},
    {"duration space",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 1 h}\n"),
     "E t.yaml:4:70: routes[0].retention: 1 h: must be a duration like 500ms, 2s, 10m, 24h or 30d"},
    {"duration huge",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 99999999999999999999d}\n"),
     "E t.yaml:4:70: routes[0].retention: 99999999999999999999d: must be a duration like 500ms, "
     "2s, 10m, 24h or 30d"},
    {"duration overflow",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 9223372036854775807d}\n"),
     "E t.yaml:4:70: routes[0].retention: 9223372036854775807d: must be a duration like 500ms, 2s, "
     "10m, 24h or 30d"},
    {"duration over",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: 3651d}\n"),
     "E t.yaml:4:70: routes[0].retention: 3651d: is over the maximum 3650d"},
    {"size MB",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, request_body_max: 1MB}\n"),
     "E t.yaml:4:77: routes[0].request_body_max: 1MB: must be a size like 65536, 64KiB or 1MiB"},
    {"size k",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, request_body_max: 1k}\n"),
     "E t.yaml:4:77: routes[0].request_body_max: 1k: must be a size like 65536, 64KiB or 1MiB"},
    {"size over",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, request_body_max: 2GiB}\n"),
     "E t.yaml:4:77: routes[0].request_body_max: 2GiB: is over the maximum 1GiB"},
    {"rate",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlimits: {body_rate_min: 20}\n"),
     "E t.yaml:5:25: limits.body_rate_min: 20: must be bytes a second like 64/s or 1KiB/s"},
    {"percent",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, breaker: {share: 20}}\n"),
     "E t.yaml:4:76: routes[0].breaker.share: 20: must be a share like 20%"},
    {"percent over",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, breaker: {share: 101%}}\n"),
     "E t.yaml:4:76: routes[0].breaker.share: 101%: is over the maximum 100%"},
    {"count hex",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nworkers: 0x10\n"),
     "E t.yaml:5:10: workers: 0x10: must be a whole number"},
    {"count plus",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nworkers: +1\n"),
     "E t.yaml:5:10: workers: +1: must be a whole number"},
    {"count octal over",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nworkers: 0777\n"),
     "E t.yaml:5:10: workers: 0777: is over the maximum 64"},
    {"word",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, scope: routes}\n"),
     "E t.yaml:4:66: routes[0].scope: routes: must be one of route, gateway; did you mean "
     "\"route\"?"},
    {"word case",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, scope: Gateway}\n"),
     "E t.yaml:4:66: routes[0].scope: Gateway: must be one of route, gateway; did you mean "
     "\"gateway\"?"},
    {"word far",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, scope: planet}\n"),
     "E t.yaml:4:66: routes[0].scope: planet: must be one of route, gateway"},
    {"method",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {methods: [PST], path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:33: routes[0].match.methods[0]: PST: must be one of GET HEAD POST PUT PATCH "
     "DELETE OPTIONS"},
    {"method lower",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {methods: [post], path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:33: routes[0].match.methods[0]: post: must be one of GET HEAD POST PUT PATCH "
     "DELETE OPTIONS"},
    {"status 600",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {refused: [600]}}\n"),
     "E t.yaml:4:79: routes[0].outcome.refused[0]: 600: must be a status 200 to 599, a range like "
     "500-504 or a class like 5xx"},
    {"status 99",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {refused: [99]}}\n"),
     "E t.yaml:4:79: routes[0].outcome.refused[0]: 99: must be a status 200 to 599, a range like "
     "500-504 or a class like 5xx"},
    {"status class",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {refused: [6xx]}}\n"),
     "E t.yaml:4:79: routes[0].outcome.refused[0]: 6xx: must be a status 200 to 599, a range like "
     "500-504 or a class like 5xx"},
    {"status range",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {refused: [504-500]}}\n"),
     "E t.yaml:4:79: routes[0].outcome.refused[0]: 504-500: must be a status 200 to 599, a range "
     "like 500-504 or a class like 5xx"},
    {"status word",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, outcome: {refused: conflict}}\n"),
     "E t.yaml:4:78: routes[0].outcome.refused: conflict: must be a status 200 to 599, a range "
     "like 500-504 or a class like 5xx"},
    {"pattern",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: orders}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:29: routes[0].match.path: orders: a path begins with /"},
    {"pattern star",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: \"/a*b\"}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:29: routes[0].match.path: /a*b: * may only be the last segment, and a whole one"},
    {"pattern param",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: \"/a{b}\"}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:29: routes[0].match.path: /a{b}: a path is made of letters, digits and - . _ ~ ! "
     "$ & ' ( ) + , = : @; other characters are written %HH"},
    {"pointer",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {ignore: [a/b]}}\n"),
     "E t.yaml:4:82: routes[0].fingerprint.ignore[0]: a/b: must be a JSON pointer, which begins "
     "with /"},
    {"pointer tilde",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, fingerprint: {ignore: [/a~2]}}\n"),
     "E t.yaml:4:82: routes[0].fingerprint.ignore[0]: /a~2: must be a JSON pointer; in it ~ is "
     "written ~0 and / inside a name ~1"},
    {"header name",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {name: \"a b\"}}\n"),
     "E t.yaml:4:71: routes[0].key.name: a b: must be a name without spaces"},
    {"address",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"8080\"}]\n"),
     "E t.yaml:5:20: listen[0].address: 8080: must be a numeric address or localhost with a port, "
     "like 127.0.0.1:8080 or [::1]:8080"},
    {"address name",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: "
         "\"example.com:80\"}]\n"),
     "E t.yaml:5:20: listen[0].address: example.com:80: must be a numeric address or localhost "
     "with a port, like 127.0.0.1:8080 or [::1]:8080"},
    {"address port",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: "
         "\"127.0.0.1:65536\"}]\n"),
     "E t.yaml:5:20: listen[0].address: 127.0.0.1:65536: must be a numeric address or localhost "
     "with a port, like 127.0.0.1:8080 or [::1]:8080"},
    {"address v6",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"::1:80\"}]\n"),
     "E t.yaml:5:20: listen[0].address: ::1:80: must be a numeric address or localhost with a "
     "port, like 127.0.0.1:8080 or [::1]:8080"},
    {"address unix",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nlisten: [{address: \"unix:/x\"}]\n"),
     "E t.yaml:5:20: listen[0].address: unix:/x: must be a numeric address or localhost with a "
     "port, like 127.0.0.1:8080 or [::1]:8080"},
    {"admin unix relative",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {address: \"unix:x\"}\n"),
     "W t.yaml:5:1: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown\nE t.yaml:5:18: admin.address: unix:x: must be unix: and an absolute "
     "path of at most 100 bytes"},
    {"cidr bits",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\ntrusted_proxies: [10.0.0.1/8]\n"),
     "E t.yaml:5:19: trusted_proxies[0]: 10.0.0.1/8: has bits set beyond its prefix length; write "
     "the first address of the range"},
    {"cidr prefix",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\ntrusted_proxies: [10.0.0.0/33]\n"),
     "E t.yaml:5:19: trusted_proxies[0]: 10.0.0.0/33: must end in a prefix length /0 to /32"},
    {"cidr v6",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\ntrusted_proxies: [\"fe80::/129\"]\n"),
     "E t.yaml:5:19: trusted_proxies[0]: fe80::/129: must end in a prefix length /0 to /128"},
    {"cidr junk",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\ntrusted_proxies: [ten]\n"),
     "E t.yaml:5:19: trusted_proxies[0]: ten: must be an address range like 10.0.0.0/8 or "
     "2001:db8::/32"},
    {"url scheme",
     BAD("upstreams: {u: {url: \"h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: r, "
         "match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: h:1: must be a url like http://127.0.0.1:9000 or "
     "https://api.example.com"},
    {"url user",
     BAD("upstreams: {u: {url: \"http://a@h\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://a@h: must not hold credentials"},
    {"url query",
     BAD("upstreams: {u: {url: \"http://h/?a\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://h/?a: must not have a query or a fragment"},
    {"url port",
     BAD("upstreams: {u: {url: \"http://h:0\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://h:0: must be http:// or https:// with a host, and a "
     "port from 1 "
     "to 65535 if one is given"},
    {"url empty",
     BAD("upstreams: {u: {url: \"http://\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: r, "
         "match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:22: upstreams.u.url: http://: must be a url like http://127.0.0.1:9000 or "
     "https://api.example.com"},
    {"host",
     BAD("upstreams: {u: {url: \"http://h\", host: \"a b\"}}\nowners: {e: {kind: "
         "static}}\nroutes:\n  - {name: r, match: {path: /r}, labels: {l: {json: /a}}}\n"),
     "E t.yaml:1:40: upstreams.u.host: a b: must be preserve, or a host name with or without a "
     "port"},
    {"sha256",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[settle], sha256: abc}]}\n"),
     "E t.yaml:5:54: admin.tokens[0].sha256: must be 64 hex digits"},
    {"rights",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[setle], sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}\n"),
     "W t.yaml:5:17: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown\nE t.yaml:5:37: admin.tokens[0].rights[0]: setle: must be one of read, "
     "evidence, settle, control; did you mean \"settle\"?"},
    {"rights empty",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: [], "
         "sha256: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}\n"),
     "W t.yaml:5:17: admin.tokens: nobody can settle: no token has the right settle, so unknown "
     "outcomes stay unknown\nE t.yaml:5:36: admin.tokens[0].rights: has 0 entries; 1 to 4 are "
     "allowed"},
    {"own prefix",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nown_prefix: recibo\n"),
     "E t.yaml:5:13: own_prefix: recibo: must be off, or a path that begins and ends with /, like "
     "/.recibo/"},
    {"problem base",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nproblem_base: problems\n"),
     "E t.yaml:5:15: problem_base: problems: must be the beginning of a URI, for example "
     "https://example.com/problems/"},
    {"settle delay",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nsettle_delay: 25h\n"),
     "E t.yaml:5:15: settle_delay: 25h: is over the maximum 24h"},
    {"key length",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {min: 10, max: 5}}\n"),
     "E t.yaml:4:70: routes[0].key.min: min 10 is over max 5"},
    {"extra",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, key: {extra: \",\"}}\n"),
     "E t.yaml:4:72: routes[0].key.extra: ,: must be ASCII without comma, semicolon, quote, "
     "backslash or controls"},
    {"name too long",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn, match: {path: /r}, "
         "labels: {l: {json: /a}}}\n"),
     "E t.yaml:4:12: routes[0].name: "
     "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn: must have 1 to 64 bytes"},
    {"environment",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: ${X}}\n"),
     "E t.yaml:4:71: did not find expected ',' or '}', while parsing a flow mapping that begins in "
     "line 4: - {name: r, match: {path: /r}, labels: {l: {json: /a}}, retention: ${X}}"},
    {"environment form",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}, retention: \"${X\"}\n"),
     "E t.yaml:4:70: routes[0].retention: ${ must be followed by a name and }; write $${ for the "
     "characters themselves"},
    {"other file",
     BAD("upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n  - {name: "
         "r, match: {path: /r}, labels: {l: {json: /a}}}\nadmin: {tokens: [{name: a, rights: "
         "[settle], sha256_file: x}]}\n"),
     "E t.yaml:5:59: admin.tokens[0].sha256_file: no other files are read here"},
};

static void test_cases(void **state)
{
    /* Guards: a value outside its grammar or range is refused, at its place, in these words. */
    (void)state;
    for (size_t i = 0; i < GW_COUNT(cases); i++)
        check_bad(&cases[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
