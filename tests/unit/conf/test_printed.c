/* What is printed of a configuration: the promise, the effective values, the memory,
 * the reference. */
#include <stdio.h>
#include <stdlib.h>

#include "conf/conf.h"
#include "tests/lib/testlib.h"

#define KEY_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char small[] =
    "upstreams: {legacy: {url: \"http://127.0.0.1:9000\"}}\n"
    "owners: {partners: {kind: api_key, keys: [{owner: acme, sha256: \"" KEY_A "\"}]}}\n"
    "admin: {tokens: [{name: ana, rights: [settle], sha256: \"" KEY_A "\"}]}\n"
    "defaults: {owner: partners}\n"
    "routes:\n"
    "  - name: create-order\n"
    "    match: {methods: [POST], path: /orders}\n"
    "    fingerprint: {ignore: [/client_time]}\n"
    "    labels: {order: {json: /order_no}}\n"
    "    outcome:\n"
    "      refused: [401, 403, 421, 425, 429]\n"
    "      rules:\n"
    "        - {status: 302, header: {Location: \"*/login*\"}, means: refused}\n"
    "        - {status: 202, means: unknown}\n"
    "        - {status: 504, text: late, means: completed}\n"
    "  - {name: everything-else, mode: pass, match: {path: \"/*\"}}\n";

static struct conf *parse(const char *text)
{
    struct conf *conf = NULL;
    struct conf_report report;
    enum gw_status status = conf_parse(span_str(text), "recibo.yaml", &conf, &report);
    for (uint32_t i = 0; status != GW_OK && i < report.count; i++)
        print_message("%s\n", report.findings[i].text);
    assert_int_equal(status, GW_OK);
    conf_report_fini(&report);
    return conf;
}

static void assert_printed(void (*print)(const struct conf *, struct gw_buf *), const char *text,
                           struct gw_buf *out)
{
    struct conf *conf = parse(text);
    gw_buf_init(out, 1 << 20);
    print(conf, out);
    assert_true(gw_buf_byte(out, '\0'));
    assert_false(out->failed);
    conf_unref(conf);
}

static void test_promise(void **state)
{
    /* Guards: the promise says exactly what may make an operation run again, and who says so. */
    (void)state;
    static const char wanted[] =
        "recibo.yaml is valid: 2 routes, 1 upstream, store sqlite recibo.db.\n"
        "\n"
        "create-order   enforced   POST /orders -> legacy\n"
        "  One key of one owner is sent to legacy at most once. It may be sent again only if\n"
        "    no byte of it left                              proved by Recibo\n"
        "    HTTP 302, Location: */login*                    declared by you (line 13)\n"
        "    HTTP 401 403 421 425 429                        declared by you (line 11)\n"
        "    an operator says that it did not run            asserted, audited\n"
        "    31 days have passed since the answer            the key is forgotten\n"
        "  It becomes unknown, and waits for a person, after\n"
        "    no answer in 30 s (Recibo listens 10 min longer), a cut or broken answer, HTTP 408, "
        "5xx without 501 and 505\n"
        "    HTTP 202 (line 14)\n"
        "  Recorded as carried out, whatever the lists say: HTTP 504, text \"late\" (line 15)\n"
        "  Answers are replayed for 24 h; after that repeats are refused for another 30 days.\n"
        "  Compared: method, target, JSON body without /client_time; headers content-type, "
        "content-encoding, if-match, if-none-match, if-unmodified-since.\n"
        "  The key: the header Idempotency-Key, 1 to 255 bytes.\n"
        "  The owner: partners, by a secret in X-Api-Key.\n"
        "everything-else   passes   GET HEAD OPTIONS /* -> legacy   not protected\n"
        "\n"
        "An outage of legacy can leave at most 64 + 20 unknowns on create-order.\n"
        "Memory at worst ";
    struct gw_buf out;
    assert_printed(conf_promise, small, &out);
    if (strncmp(out.ptr, wanted, strlen(wanted)) != 0)
        fail_msg("seen:\n%s", out.ptr);
    assert_non_null(strstr(out.ptr, " of 2 GiB:\n"));
    assert_non_null(strstr(out.ptr, "\nReceipts survive a crash and a power cut of this host, not "
                                    "the loss of its disk.\n"));
    gw_buf_fini(&out);
}

static void test_promise_of_less(void **state)
{
    /* Guards: where the mechanism holds less, the promise says so. */
    (void)state;
    struct gw_buf out;
    assert_printed(conf_promise,
                   "upstreams: {u: {url: \"http://h:1\"}}\n"
                   "owners: {e: {kind: static}}\n"
                   "store: {kind: memory}\n"
                   "routes:\n"
                   "  - {name: r, match: {path: /r}, evidence: {body: true}, breaker: none, "
                   "on_expiry: rerun, key: {required: false}, scope: gateway, "
                   "upstream_idempotency: {window: 1h}}\n",
                   &out);
    static const char *const wanted[] = {
        "do NOT survive the end of the process",
        "unknowns without end (breaker: none)",
        "24 h have passed since the answer               on_expiry: rerun",
        "a request without it passes unprotected",
        "over all routes with scope: gateway",
        "everybody is e; all callers share one key space",
        "declared by the default of outcome.refused",
        "which deduplicates by it, too",
    };
    for (size_t i = 0; i < GW_COUNT(wanted); i++)
        if (strstr(out.ptr, wanted[i]) == NULL)
            fail_msg("'%s' is missing in:\n%s", wanted[i], out.ptr);
    assert_null(strstr(out.ptr, "an operator says"));
    gw_buf_fini(&out);
}

static void test_promise_of_more(void **state)
{
    /* Guards: what is tried again or accepted for later is told with its bounds, and with
     * whose word makes it harmless. */
    (void)state;
    struct gw_buf out;
    assert_printed(conf_promise,
                   "upstreams: {u: {url: \"http://h:1\"}}\n"
                   "owners: {e: {kind: static}}\n"
                   "routes:\n"
                   "  - name: r\n"
                   "    match: {path: /r}\n"
                   "    evidence: {body: true}\n"
                   "    retry: {when: [not_sent, 429, 503], attempts: 5, within: 1m, "
                   "wait_at_most: 3s}\n"
                   "    outcome: {refused: [429, 503], rules: [{status: 200, text: no, means: "
                   "refused}], unknown: [500]}\n"
                   "    upstream_idempotency: {window: 2h}\n"
                   "    defer: {when: prefer, max_age: 6h, concurrency: 3}\n"
                   "  - name: s\n"
                   "    match: {path: /s}\n"
                   "    evidence: {body: true}\n"
                   "    outcome: {rules: [{text: no, means: refused}]}\n"
                   "    retry: {when: rules}\n"
                   "    upstream_idempotency: {window: 2m}\n"
                   "    defer: {when: always}\n",
                   &out);
    static const char *const wanted[] = {
        "    unknown, but the API still knows the key        declared by you "
        "(upstream_idempotency)\n",
        "  Recibo tries again by itself after: no byte of it left, HTTP 429 503 (line 7).\n"
        "    At most 5 attempts in 1 min, those of the caller's repeats included; the next repeat "
        "after that\n"
        "    opens a new window. Between two of them lie 0 to 500 ms, doubled each time up to "
        "20 s,\n"
        "    by chance, and never less than a Retry-After says. A caller is kept waiting for it up "
        "to 3 s.\n"
        "    An outcome that is not known is tried again as well, with the same key, as long as "
        "u\n"
        "    remembers it: 2 h from the first sending, by your word. After that it stays "
        "unknown.\n"
        "  A request with Prefer: respond-async is accepted (202) once it is on the disk, and sent "
        "later, 3 at a time,\n"
        "    without the caller's credentials. If it has not run within 6 h, or is refused for "
        "good, it is\n"
        "    cancelled, and its repeat is told so; it is never dropped in silence.\n",
        "  Recibo tries again by itself after: any rule that means refused (line 15).\n",
        "  Each request is accepted (202) once",
    };
    for (size_t i = 0; i < GW_COUNT(wanted); i++)
        if (strstr(out.ptr, wanted[i]) == NULL)
            fail_msg("'%s' is missing in:\n%s", wanted[i], out.ptr);
    /* The window of the second is over before a lost call can be told from a slow one. */
    const char *second = strstr(out.ptr, "\ns   enforced");
    assert_non_null(second);
    assert_null(strstr(second, "remembers it"));
    assert_null(strstr(second, "still knows the key"));
    gw_buf_fini(&out);
}

static void expect_line(const char *printed, const char *path, const char *value, const char *from)
{
    char line[512];
    (void)snprintf(line, sizeof(line), "%-46s %-28s %s\n", path, value, from);
    if (strstr(printed, line) == NULL)
        fail_msg("no such line: %s\nin:\n%s", line, printed);
}

static void test_show(void **state)
{
    /* Guards: each value is shown with where it comes from, and no secret is. */
    (void)state;
    struct gw_buf out;
    assert_printed(conf_show, small, &out);
    expect_line(out.ptr, "listen", "127.0.0.1:8080", "default");
    expect_line(out.ptr, "upstreams.legacy.url", "http://127.0.0.1:9000", "line 1");
    expect_line(out.ptr, "upstreams.legacy.timeouts.late", "10m", "default");
    expect_line(out.ptr, "owners.partners.header", "X-Api-Key", "default");
    expect_line(out.ptr, "owners.partners.keys[0].owner", "acme", "line 2");
    expect_line(out.ptr, "owners.partners.keys[0].sha256", "(not shown)", "line 2");
    expect_line(out.ptr, "routes[0].match.methods", "[POST]", "line 7");
    expect_line(out.ptr, "routes[0].owner", "partners", "defaults, line 4");
    expect_line(out.ptr, "routes[0].upstream", "legacy", "default");
    expect_line(out.ptr, "routes[0].retention", "24h", "default");
    expect_line(out.ptr, "routes[0].reconcile.quiet_time", "10m", "default");
    expect_line(out.ptr, "routes[0].outcome.rules[0].header.Location", "*/login*", "line 13");
    expect_line(out.ptr, "routes[1].match.methods", "GET HEAD OPTIONS", "default");
    expect_line(out.ptr, "drain", "35s", "default");
    assert_null(strstr(out.ptr, KEY_A));
    assert_null(strstr(out.ptr, "routes[1].retention"));
    gw_buf_fini(&out);
    assert_printed(conf_show,
                   "upstreams: {u: {url: \"http://h:1\"}}\nowners: {e: {kind: static}}\nroutes:\n"
                   "  - {name: r, preset: stripe, match: {path: /r}, evidence: {body: true}}\n",
                   &out);
    expect_line(out.ptr, "routes[0].fingerprint.mode", "form", "preset");
    gw_buf_fini(&out);
}

static void test_show_json(void **state)
{
    /* Guards: the same values as JSON that a program can read. */
    (void)state;
    struct gw_buf out;
    json_error_t why;
    assert_printed(conf_show_json, small, &out);
    json_t *list = json_loads(out.ptr, 0, &why);
    if (list == NULL)
        fail_msg("%d: %s", why.line, why.text);
    assert_true(json_array_size(list) > 60);
    const json_t *first = json_array_get(list, 0);
    assert_string_equal(json_string_value(json_object_get(first, "path")), "version");
    assert_true(json_is_null(json_object_get(first, "line")));
    assert_string_equal(json_string_value(json_object_get(first, "source")), "default");
    json_decref(list);
    gw_buf_fini(&out);
}

static void test_memory(void **state)
{
    /* Guards: the worst case grows with each bound that it is made of. */
    (void)state;
    static const char *const larger[] = {
        "limits: {connections: 1025}\n", "limits: {head_bytes: 33KiB}\n",
        "limits: {late_max: 65}\n",      "limits: {store_queue: 1025}\n",
        "limits: {waiters: 257}\n",      "workers: 2\n",
    };
    char text[sizeof(small) + 64];
    struct conf *conf = parse(small);
    uint64_t worst = conf_memory_worst(conf);
    conf_unref(conf);
    for (size_t i = 0; i < GW_COUNT(larger); i++) {
        (void)snprintf(text, sizeof(text), "%s%s", larger[i], small);
        conf = parse(text);
        assert_true(conf_memory_worst(conf) > worst);
        conf_unref(conf);
    }
}

static void test_reference_is_fresh(void **state)
{
    /* Guards: docs/config.md is what the table of keys prints. */
    (void)state;
    struct gw_buf out;
    size_t len;
    char *kept = test_read_file(SOURCE_DIR "/docs/config.md", &len);
    assert_non_null(kept);
    gw_buf_init(&out, 1 << 20);
    conf_print_reference(&out);
    assert_false(out.failed);
    if (!span_equal(gw_buf_span(&out), span_of(kept, len)))
        fail_msg("docs/config.md is stale: recibo config reference > docs/config.md");
    gw_buf_fini(&out);
    free(kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promise),
        cmocka_unit_test(test_promise_of_less),
        cmocka_unit_test(test_promise_of_more),
        cmocka_unit_test(test_show),
        cmocka_unit_test(test_show_json),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_reference_is_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
