/* Feeds templates and values to the filler: no bytes crash it, a template that is taken
 * holds nothing that must not leave, and a filled target is the template's texts with
 * nothing but escaped values between them: as many segments and parameters as before.
 * Lines of the input: room, template, then the values. */
#include <stdlib.h>

#include "policy/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_BYTES_MAX ((size_t)1 << 14)

static struct span next_line(struct span *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != '\n')
        len++;
    struct span line = span_of(rest->ptr, len);
    size_t eaten = len < rest->len ? len + 1 : len;
    *rest = span_of(rest->ptr + eaten, rest->len - eaten);
    return line;
}

static size_t count_of(struct span text, const char *bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.ptr[i] != '\0' && strchr(bytes, text.ptr[i]) != NULL;
    return count;
}

static size_t count_in_texts(const struct target_template *target, const char *bytes)
{
    size_t count = 0;
    for (uint32_t i = 0; i < target->part_count; i++)
        if (target->parts[i].kind == TEMPLATE_TEXT)
            count += count_of(target->parts[i].text, bytes);
    return count;
}

static size_t dot_len(struct span text, size_t at)
{
    if (text.ptr[at] == '.')
        return 1;
    bool is_escaped = at + 2 < text.len && text.ptr[at] == '%' && text.ptr[at + 1] == '2' &&
                      (text.ptr[at + 2] == 'e' || text.ptr[at + 2] == 'E');
    return is_escaped ? 3 : 0;
}

static void check_segments(struct span path)
{
    size_t from = 0;
    for (size_t at = 0; at <= path.len; at++) {
        if (at < path.len && path.ptr[at] != '/')
            continue;
        size_t dots = 0, len, i = from;
        struct span segment = span_of(path.ptr, at);
        while (i < at && (len = dot_len(segment, i)) > 0) {
            dots++;
            i += len;
        }
        gw_assert(i < at || dots == 0 || dots > 2);
        from = at + 1;
    }
}

static void check_filled(const struct target_template *target, struct span filled)
{
    static const char *const structure[] = {"/", "?", "&", "=", ";", "+", "#", ":", "@", ","};
    const char *query = memchr(filled.ptr, '?', filled.len);
    gw_assert(filled.len > 0 && filled.ptr[0] == '/');
    for (size_t i = 0; i < filled.len; i++)
        gw_assert(filled.ptr[i] > 0x20 && filled.ptr[i] < 0x7f);
    for (size_t i = 0; i < GW_COUNT(structure); i++)
        gw_assert(count_of(filled, structure[i]) == count_in_texts(target, structure[i]));
    gw_assert(count_of(filled, "\\#{}\"<>|`^") == 0);
    check_segments(span_of(filled.ptr, query == NULL ? filled.len : (size_t)(query - filled.ptr)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct template_part parts[TEMPLATE_PARTS_MAX];
    struct span values[TEMPLATE_PARTS_MAX];
    struct template_fault fault = {0, NULL};
    if (size > INPUT_BYTES_MAX)
        return 0;
    struct span rest = span_of((const char *)data, size);
    struct span room_text = next_line(&rest), text = next_line(&rest);
    struct target_template target = {.text = text, .parts = parts};
    if (!template_parse(text, parts, TEMPLATE_PARTS_MAX, &target.part_count, &fault)) {
        gw_assert(fault.text != NULL);
        gw_assert(fault.column >= 1 && fault.column <= text.len + 1);
        return 0;
    }
    gw_assert(target.part_count <= TEMPLATE_PARTS_MAX);
    for (uint32_t i = 0; i < target.part_count; i++)
        values[i] = parts[i].kind == TEMPLATE_TEXT ? SPAN("") : next_line(&rest);
    size_t room_len = room_text.len == 0 ? 3 * size + 1 : (unsigned char)room_text.ptr[0];
    char *room = malloc(room_len == 0 ? 1 : room_len);
    gw_assert(room != NULL);
    size_t len = 0;
    uint32_t part = 0;
    enum template_verdict verdict = template_fill(&target, values, room, room_len, &len, &part);
    gw_assert(part < target.part_count);
    gw_implies(room_text.len == 0, verdict != TEMPLATE_TOO_LONG);
    gw_implies(verdict == TEMPLATE_NO_VALUE, values[part].len == 0);
    if (verdict == TEMPLATE_FILLED)
        check_filled(&target, span_of(room, len));
    free(room);
    return 0;
}
