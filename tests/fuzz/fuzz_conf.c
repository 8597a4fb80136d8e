/* Any bytes as a configuration: no crash, no leak, an error for every refusal, and
 * a valid one can be printed in every way. */
#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct conf *conf = NULL;
    struct conf_report report;
    enum gw_status status = conf_parse(span_of((const char *)data, size), "f.yaml", &conf, &report);
    bool has_error = false;
    for (uint32_t i = 0; i < report.count; i++) {
        const struct conf_finding *finding = &report.findings[i];
        has_error |= !finding->is_warning;
        gw_assert(strlen(finding->text) < sizeof(finding->text));
        gw_assert(finding->path_at <= finding->message_at);
        gw_assert(finding->message_at <= strlen(finding->text));
    }
    gw_assert((status == GW_OK) == (conf != NULL));
    gw_assert((status == GW_INVALID) == has_error);
    if (status == GW_OK) {
        struct gw_buf out;
        gw_buf_init(&out, (size_t)64 << 20);
        conf_promise(conf, &out);
        conf_show(conf, &out);
        conf_show_json(conf, &out);
        gw_assert(!out.failed);
        gw_buf_fini(&out);
        conf_unref(conf);
    }
    conf_report_fini(&report);
    return 0;
}
