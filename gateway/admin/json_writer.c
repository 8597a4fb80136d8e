/* JSON text, piece by piece. Must never let a byte of the outside out unescaped. */
#include "gateway/admin/json_writer.h"

#include "base/text.h"

#include <inttypes.h>

static void begin(struct json_writer *writer, const char *name)
{
    if (writer->has_items)
        (void)gw_buf_byte(writer->out, ','); /* a failed buffer stays marked */
    writer->has_items = true;
    if (name != NULL)
        (void)gw_buf_print(writer->out, "\"%s\":", name); /* likewise; names are our own words */
}

void writer_open(struct json_writer *writer, const char *name, char bracket)
{
    begin(writer, name);
    (void)gw_buf_byte(writer->out, bracket); /* a failed buffer stays marked */
    writer->has_items = false;
}

void writer_close(struct json_writer *writer, char bracket)
{
    (void)gw_buf_byte(writer->out, bracket); /* a failed buffer stays marked */
    writer->has_items = true;
}

void writer_text(struct json_writer *writer, const char *name, struct span text)
{
    begin(writer, name);
    gw_json_string(writer->out, text);
}

void writer_number(struct json_writer *writer, const char *name, int64_t number)
{
    begin(writer, name);
    (void)gw_buf_print(writer->out, "%" PRId64, number); /* a failed buffer stays marked */
}

void writer_bool(struct json_writer *writer, const char *name, bool is_true)
{
    begin(writer, name);
    (void)gw_buf_add(writer->out, is_true ? SPAN("true") : SPAN("false")); /* likewise */
}

void writer_null(struct json_writer *writer, const char *name)
{
    begin(writer, name);
    (void)gw_buf_add(writer->out, SPAN("null")); /* a failed buffer stays marked */
}

void writer_time(struct json_writer *writer, const char *name, int64_t wall_ms)
{
    if (wall_ms == 0) {
        writer_null(writer, name);
        return;
    }
    char text[GW_RFC3339_BYTES];
    gw_rfc3339(wall_ms, text);
    writer_text(writer, name, span_str(text));
}

void writer_text_or_null(struct json_writer *writer, const char *name, struct span text)
{
    if (text.len == 0)
        writer_null(writer, name);
    else
        writer_text(writer, name, text);
}

void writer_raw(struct json_writer *writer, const char *name, struct span json)
{
    begin(writer, name);
    (void)gw_buf_add(writer->out, json); /* a failed buffer stays marked */
}

void writer_member(struct json_writer *writer, struct span name, struct span text)
{
    begin(writer, NULL);
    gw_json_string(writer->out, name);
    (void)gw_buf_byte(writer->out, ':'); /* a failed buffer stays marked */
    gw_json_string(writer->out, text);
}
