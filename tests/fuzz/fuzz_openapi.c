/* A description of an API, any bytes: reading it never fails in another way than by saying so,
 * and whatever is written from it is a configuration that loads. */
#include <stdlib.h>

#include "base/arena.h"
#include "conf/conf.h"
#include "gateway/commands/init_routes.h"

#define FUZZ_BYTES_MAX ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char head[] = "version: 1\nowners: {o: {kind: static, owner: o}}\n"
                           "upstreams: {u: {url: \"http://h:1\"}}\n"
                           "defaults: {upstream: u, owner: o}\nroutes:\n";
static const char tail[] = "  - {name: reads-x, mode: pass, match: {path: \"/*\"}}\n";

static void load(struct gw_buf *text)
{
    struct conf *conf = NULL;
    struct conf_report report;
    enum gw_status status = conf_parse(gw_buf_span(text), "made.yaml", &conf, &report);
    gw_assert(status == GW_OK || status == GW_NOMEM);
    conf_report_fini(&report);
    conf_unref(conf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct arena *arena = arena_new(FUZZ_BYTES_MAX);
    struct openapi openapi;
    struct gw_error err = {GW_OK, ""};
    gw_assert(arena != NULL);
    if (openapi_read(arena, span_of((const char *)data, len), &openapi, &err) == GW_OK) {
        struct gw_buf text;
        gw_buf_init(&text, (size_t)1 << 20);
        (void)gw_buf_add(&text, span_str(head)); /* asked below */
        bool good = init_write_routes(arena, &openapi, SPAN(""), &text);
        (void)gw_buf_add(&text, span_str(tail));
        if (good && !text.failed)
            load(&text);
        gw_buf_fini(&text);
    } else {
        gw_assert(err.text[0] != '\0');
    }
    arena_free(arena);
    return 0;
}
