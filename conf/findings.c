/* The report of one load. It never stops a load and never prints. */
#include "conf/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static struct conf_finding *take_slot(struct findings *findings, bool is_warning)
{
    struct conf_report *report = findings->report;
    if (report->count < CONF_FINDINGS_MAX)
        return &report->findings[report->count++];
    report->cut = true;
    if (is_warning)
        return NULL;
    /* An error is worth more than a warning. */
    for (uint32_t i = report->count; i > 0; i--)
        if (report->findings[i - 1].is_warning)
            return &report->findings[i - 1];
    return NULL;
}

static size_t print_head(const struct findings *findings, const struct finding_place *place,
                         struct conf_finding *slot)
{
    int len = 0;
    if (place->line > 0)
        len = snprintf(slot->text, sizeof(slot->text), "%.150s:%u:%u: ", findings->file,
                       place->line, place->column);
    else
        len = snprintf(slot->text, sizeof(slot->text), "%.150s: ", findings->file);
    slot->path_at = (uint16_t)len;
    if (place->path[0] != '\0')
        len +=
            snprintf(slot->text + len, sizeof(slot->text) - (size_t)len, "%.150s: ", place->path);
    slot->message_at = (uint16_t)len;
    return (size_t)len;
}

/* A cut text must not end inside a character. */
static void end_whole(char *text)
{
    size_t len = strlen(text);
    size_t back = 0;
    while (back < 4 && back < len && ((unsigned char)text[len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back < len && ((unsigned char)text[len - 1 - back] & 0xc0) == 0xc0)
        text[len - 1 - back] = '\0';
}

void findings_add(struct findings *findings, const struct finding_place *place, const char *fmt,
                  ...)
{
    struct conf_report *report = findings->report;
    if (!place->is_warning)
        findings->has_error = true;
    if (report->findings == NULL)
        report->findings = calloc(CONF_FINDINGS_MAX, sizeof(*report->findings));
    if (report->findings == NULL) {
        findings->no_memory = true;
        return;
    }
    struct conf_finding *slot = take_slot(findings, place->is_warning);
    if (slot == NULL)
        return;
    memset(slot, 0, sizeof(*slot));
    slot->is_warning = place->is_warning;
    slot->line = place->line;
    slot->column = place->column;
    size_t len = print_head(findings, place, slot);
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(slot->text + len, sizeof(slot->text) - len, fmt, args);
    va_end(args);
    if (more < 0 || (size_t)more >= sizeof(slot->text) - len)
        end_whole(slot->text);
}

/* Insertion sort: at most CONF_FINDINGS_MAX entries, and equal places keep their order. */
void findings_sort(struct findings *findings)
{
    struct conf_finding *all = findings->report->findings;
    for (uint32_t i = 1; i < findings->report->count; i++) {
        struct conf_finding moved = all[i];
        uint32_t j = i;
        for (; j > 0; j--) {
            const struct conf_finding *before = &all[j - 1];
            if (before->line < moved.line ||
                (before->line == moved.line && before->column <= moved.column))
                break;
            all[j] = *before;
        }
        all[j] = moved;
    }
}

void value_shown(struct span value, char ret_text[SHOWN_BYTES])
{
    size_t len = 0;
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];
        if (len + 8 > SHOWN_BYTES && (c & 0xc0) != 0x80) {
            memcpy(ret_text + len, "...", 4); /* room for it is what the 8 leave */
            return;
        }
        bool is_c1 = c == 0xc2 && i + 1 < value.len && (unsigned char)value.ptr[i + 1] < 0xa0;
        if (is_c1)
            c = (unsigned char)value.ptr[++i]; /* a terminal would obey it */
        if (c < 0x20 || c == 0x7f || is_c1)
            len += (size_t)snprintf(ret_text + len, SHOWN_BYTES - len, "\\x%02x", c);
        else if (len + 1 < SHOWN_BYTES)
            ret_text[len++] = (char)c;
    }
    ret_text[len] = '\0';
}

void conf_report_fini(struct conf_report *report)
{
    free(report->findings);
    *report = (struct conf_report){0};
}
