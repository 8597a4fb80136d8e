/* The response of an executed operation, out of files and options. It must never make
 * one up: what repeats will get is what was given, byte for byte. */
#include "gateway/commands/settle.h"

#include "gateway/commands/commands.h"

#include "base/buf.h"
#include "base/text.h"
#include "policy/json.h"
#include "policy/utf8.h"

#include <errno.h>
#include <stdio.h>

#define RESPONSE_BYTES_MAX ((size_t)64 << 20)
#define HEADERS_MAX        64
#define JSON_NODES_MAX     (1u << 24)

/* What repeats of an executed one will get: all of it, or nothing of it. */
int settle_check_response(const struct options *options)
{
    bool has_file = options_has(options, "--response"),
         has_status = options_has(options, "--status");
    bool has_any = has_file || has_status || options_has(options, "--header");
    bool has_none = options_has(options, "--no-response");
    if (strcmp(options_value(options, "--verdict"), "executed") != 0)
        return has_any || has_none
                   ? options_refuse(options, "a response goes only with --verdict executed")
                   : -1;
    if (has_any == has_none)
        return options_refuse(options,
                              "say what repeats will get: --response FILE --status NUMBER, "
                              "or --no-response");
    if (has_any && !has_file)
        return options_refuse(options,
                              "--response is missing: say --response FILE --status NUMBER "
                              "(/dev/null for an answer without a body), or --no-response");
    if (has_any && !has_status)
        return options_refuse(options, "--status is missing: Recibo makes up no answer");
    return -1;
}

static bool read_file(const char *path, struct gw_buf *out)
{
    char piece[16384];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    size_t len = 1;
    if (file == NULL)
        return false;
    while (len > 0) {
        len = fread(piece, 1, sizeof(piece), file);
        if (len > 0 && !gw_buf_add(out, span_of(piece, len)))
            errno = EFBIG;
        if (out->failed)
            len = 0;
    }
    bool ok = ferror(file) == 0 && !out->failed;
    if (file != stdin)
        (void)fclose(file); /* only read */
    return ok;
}

static void add_base64(struct gw_buf *out, struct span bytes)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        uint32_t bits = (uint32_t)(uint8_t)bytes.ptr[i] << 16;
        bits |= left > 1 ? (uint32_t)(uint8_t)bytes.ptr[i + 1] << 8 : 0;
        bits |= left > 2 ? (uint32_t)(uint8_t)bytes.ptr[i + 2] : 0;
        const char four[] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63],
                             left > 1 ? alphabet[bits >> 6 & 63] : '=',
                             left > 2 ? alphabet[bits & 63] : '='};
        (void)gw_buf_add(out, span_of(four, sizeof(four))); /* asked once at the end */
    }
}

/* The body's bytes exactly: as text where they are text, else in base64. */
static void add_content(struct gw_buf *out, struct span content)
{
    if (utf8_is_sound(content)) {
        (void)gw_buf_add(out, SPAN(",\"body\":")); /* asked once at the end */
        gw_json_string(out, content);
        return;
    }
    (void)gw_buf_add(out, SPAN(",\"body_base64\":\""));
    add_base64(out, content);
    (void)gw_buf_byte(out, '"');
}

/* By the strict reader: a JSON library would refuse numbers that it cannot hold. */
static bool is_json(struct span content)
{
    const struct json_limits limits = {.depth_max = JSON_DEPTH_MAX, .nodes_max = JSON_NODES_MAX};
    struct json_fault fault;
    uint32_t count;
    return json_count(content, &limits, &count, &fault);
}

/* One header, split at its colon; several of one name become a list. */
static bool split_header(const char *text, struct span *ret_name, struct span *ret_value)
{
    const char *colon = strchr(text, ':');
    if (colon == NULL || colon == text)
        return false;
    *ret_name = span_of(text, (size_t)(colon - text));
    *ret_value = span_str(colon + 1);
    while (ret_value->len > 0 && (ret_value->ptr[0] == ' ' || ret_value->ptr[0] == '\t'))
        *ret_value = span_of(ret_value->ptr + 1, ret_value->len - 1);
    return true;
}

static bool is_first_of_its_name(const struct options *options, struct span name, uint32_t place)
{
    uint32_t at = 0;
    for (uint32_t i = 0; i < place; i++) {
        struct span other, value;
        const char *text = options_next(options, "--header", &at);
        if (text != NULL && split_header(text, &other, &value) && span_equal_nocase(other, name))
            return false;
    }
    return true;
}

static void add_values(const struct options *options, struct span name, struct gw_buf *out)
{
    uint32_t at = 0;
    const char *text, *between = "[";
    while ((text = options_next(options, "--header", &at)) != NULL) {
        struct span other, value;
        if (!split_header(text, &other, &value) || !span_equal_nocase(other, name))
            continue;
        (void)gw_buf_print(out, "%s", between); /* asked once at the end */
        gw_json_string(out, value);
        between = ",";
    }
    (void)gw_buf_byte(out, ']');
}

static int add_headers(const struct options *options, struct span content, struct gw_buf *out)
{
    uint32_t at = 0, place = 0;
    bool has_type = false;
    const char *text, *between = "";
    (void)gw_buf_add(out, SPAN(",\"headers\":{")); /* asked once at the end */
    while ((text = options_next(options, "--header", &at)) != NULL) {
        struct span name, value;
        if (!split_header(text, &name, &value) || place >= HEADERS_MAX)
            return options_refuse(options, "--header is 'NAME: VALUE', at most %d of them",
                                  HEADERS_MAX);
        has_type = has_type || span_equal_nocase(name, SPAN("content-type"));
        if (!is_first_of_its_name(options, name, place++))
            continue;
        (void)gw_buf_print(out, "%s", between);
        gw_json_string(out, name);
        (void)gw_buf_byte(out, ':');
        add_values(options, name, out);
        between = ",";
    }
    if (!has_type && content.len > 0 && is_json(content))
        (void)gw_buf_print(out, "%s\"Content-Type\":\"application/json\"", between);
    (void)gw_buf_byte(out, '}');
    return -1;
}

int settle_add_response(const struct options *options, struct gw_buf *out)
{
    const char *path = options_value(options, "--response");
    const char *status = options_value(options, "--status");
    uint64_t number;
    struct gw_buf content;
    if (options_has(options, "--no-response")) {
        (void)gw_buf_add(out, SPAN(",\"response\":null")); /* asked once at the end */
        return -1;
    }
    if (!gw_parse_u64(span_str(status), &number) || number < 200 || number > 599)
        return options_refuse(options, "--status is a final status, 200 to 599");
    gw_buf_init(&content, RESPONSE_BYTES_MAX);
    if (path != NULL && !read_file(path, &content)) {
        (void)fprintf(stderr, "recibo: %s: %s\n", path, strerror(errno));
        gw_buf_fini(&content);
        return EXIT_USAGE;
    }
    (void)gw_buf_print(out, ",\"response\":{\"status\":%u", (unsigned)number);
    int code = add_headers(options, gw_buf_span(&content), out);
    if (content.len > 0)
        add_content(out, gw_buf_span(&content));
    (void)gw_buf_byte(out, '}');
    gw_buf_fini(&content);
    return code;
}
