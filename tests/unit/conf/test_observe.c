/* Routes in observe mode: what they need, what they take for granted, and what `check`
 * says of them. */
#include "conf/conf.h"
#include "tests/lib/testlib.h"

#define UPSTREAM "upstreams: {u: {url: \"http://127.0.0.1:1\"}}\n"
#define ADMIN                                                                                      \
    "admin: {address: \"127.0.0.1:2\", tokens: [{name: t, rights: [read], sha256: \"" DIGEST       \
    "\"}]}\n"
#define DIGEST "0000000000000000000000000000000000000000000000000000000000000000"

static struct conf *load(const char *text, char *ret_findings, size_t room)
{
    struct conf *conf = NULL;
    struct conf_report report = {0};
    enum gw_status status = conf_parse(span_str(text), "t.yaml", &conf, &report);
    size_t len = 0;
    for (uint32_t i = 0; i < report.count; i++) {
        size_t more = strlen(report.findings[i].text);
        assert_true(len + more + 2 < room);
        memcpy(ret_findings + len, report.findings[i].text, more);
        len += more;
        ret_findings[len++] = '\n';
    }
    ret_findings[len] = '\0';
    conf_report_fini(&report);
    assert_int_equal(status == GW_OK, conf != NULL);
    return conf;
}

static void test_the_least(void **state)
{
    /* Guards: an observed route needs neither owner, labels nor evidence, and looks at what an
     * enforced one would. */
    (void)state;
    char findings[4096];
    struct conf *conf =
        load(UPSTREAM ADMIN "routes: [{name: r, mode: observe, match: {path: /r}}]\n", findings,
             sizeof(findings));
    assert_non_null(conf);
    assert_string_equal(findings, "");
    const struct route_policy *route = &conf->routes.routes[0];
    assert_int_equal(route->mode, ROUTE_OBSERVE);
    assert_int_equal(route->methods, METHOD_POST | METHOD_PATCH);
    assert_int_equal(route->owner_index, ROUTE_NO_OWNER);
    conf_unref(conf);
}

static void test_owners(void **state)
{
    /* Guards: the only owner is its owner; of several, none is picked. */
    (void)state;
    char findings[4096];
    struct conf *conf =
        load(UPSTREAM ADMIN "owners: {a: {kind: static}}\n"
                            "routes: [{name: r, mode: observe, match: {path: /r}}]\n",
             findings, sizeof(findings));
    assert_non_null(conf);
    assert_int_equal(conf->routes.routes[0].owner_index, 0);
    conf_unref(conf);
    conf = load(UPSTREAM ADMIN "owners: {a: {kind: static}, b: {kind: static}}\n"
                               "routes: [{name: r, mode: observe, match: {path: /r}}]\n",
                findings, sizeof(findings));
    assert_non_null(conf);
    assert_int_equal(conf->routes.routes[0].owner_index, ROUTE_NO_OWNER);
    conf_unref(conf);
}

static void test_wrong_in_every_mode(void **state)
{
    /* Guards: settings that contradict each other are refused before the route is enforced. */
    (void)state;
    char findings[4096];
    assert_null(load(UPSTREAM ADMIN "routes: [{name: r, mode: observe, match: {path: /r}, "
                                    "retention: 2d, tombstone: 1d}]\n",
                     findings, sizeof(findings)));
    assert_non_null(strstr(findings, "is shorter than retention"));
    assert_null(load(UPSTREAM ADMIN
                     "owners: {e: {kind: static}}\n"
                     "routes:\n"
                     "  - {name: a, match: {path: \"/x/{i}\"}, labels: {l: {json: /a}}}\n"
                     "  - {name: b, mode: observe, match: {path: \"/x/{j}\"}}\n",
                     findings, sizeof(findings)));
    assert_non_null(strstr(findings, "which is guarded, and neither is more specific"));
}

static void test_warnings(void **state)
{
    /* Guards: methods that cannot be enforced, and a report that nobody can read, are told. */
    (void)state;
    char findings[4096];
    struct conf *conf =
        load(UPSTREAM "routes: [{name: r, mode: observe, match: {path: /r, methods: [GET]}}]\n",
             findings, sizeof(findings));
    assert_non_null(conf);
    assert_non_null(strstr(findings, "they cannot be enforced"));
    assert_non_null(strstr(findings, "nobody can read what is seen"));
    conf_unref(conf);
}

static void test_promise(void **state)
{
    /* Guards: `check` says that it promises nothing yet, and counts its copies in the memory. */
    (void)state;
    char findings[4096];
    struct gw_buf out;
    struct conf *conf =
        load(UPSTREAM ADMIN "workers: 1\nroutes:\n  - {name: r, mode: observe, match: {path: /r}, "
                            "request_body_max: 64MiB}\n",
             findings, sizeof(findings));
    assert_non_null(conf);
    assert_int_equal(conf_observed_bytes(conf), (65 << 20));
    gw_buf_init(&out, 1 << 20);
    conf_promise(conf, &out);
    assert_true(gw_buf_byte(&out, '\0'));
    assert_non_null(strstr(out.ptr, "r   observed   POST PATCH /r -> u   not protected\n"
                                    "  It promises nothing yet"));
    assert_non_null(strstr(out.ptr, "67 MiB  copies on the side of observed routes"));
    assert_null(strstr(out.ptr, "can leave at most"));
    gw_buf_fini(&out);
    conf_unref(conf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_least), cmocka_unit_test(test_owners),
        cmocka_unit_test(test_wrong_in_every_mode), cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_promise)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
