/* Numbers with units, and their printing. It must never round. */
#include "conf/values.h"

#include <stdio.h>

#include "base/text.h"

struct unit {
    const char *name;
    int64_t factor;
};
static const struct unit durations[] = {
    {"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1},
};
static const struct unit sizes[] = {
    {"TiB", INT64_C(1) << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1},
};

static const char duration_rule[] = "must be a duration like 500ms, 2s, 10m, 24h or 30d";
static const char size_rule[] = "must be a size like 65536, 64KiB or 1MiB";
static const char rate_rule[] = "must be bytes a second like 64/s or 1KiB/s";

static const char *number_with_unit(struct span text, const struct unit *units, size_t unit_count,
                                    const char *rule, int64_t *ret)
{
    size_t digits = 0;
    uint64_t number;
    while (digits < text.len && text.ptr[digits] >= '0' && text.ptr[digits] <= '9')
        digits++;
    if (digits == 0 || !gw_parse_u64(span_of(text.ptr, digits), &number))
        return rule;
    struct span unit = span_of(text.ptr + digits, text.len - digits);
    for (size_t i = 0; i < unit_count; i++) {
        if (!span_equal(unit, span_str(units[i].name)))
            continue;
        if (number > (uint64_t)(INT64_MAX / units[i].factor))
            return rule;
        *ret = (int64_t)number * units[i].factor;
        return NULL;
    }
    return rule;
}

static const char *strip_suffix(struct span *text, const char *suffix, const char *rule)
{
    size_t len = strlen(suffix);
    if (text->len <= len || memcmp(text->ptr + text->len - len, suffix, len) != 0)
        return rule;
    text->len -= len;
    return NULL;
}

static const char *whole_number(struct span text, const char *rule, int64_t *ret)
{
    return number_with_unit(text, &sizes[GW_COUNT(sizes) - 1], 1, rule, ret);
}

const char *value_number(enum conf_type type, struct span text, int64_t *ret)
{
    const char *fault;
    if (type == CONF_DURATION)
        return number_with_unit(text, durations, GW_COUNT(durations), duration_rule, ret);
    if (type == CONF_SIZE)
        return number_with_unit(text, sizes, GW_COUNT(sizes), size_rule, ret);
    if (type == CONF_RATE) {
        fault = strip_suffix(&text, "/s", rate_rule);
        return fault != NULL ? fault
                             : number_with_unit(text, sizes, GW_COUNT(sizes), rate_rule, ret);
    }
    if (type == CONF_PERCENT) {
        fault = strip_suffix(&text, "%", "must be a share like 20%");
        return fault != NULL ? fault : whole_number(text, "must be a share like 20%", ret);
    }
    gw_assert(type == CONF_COUNT);
    return whole_number(text, "must be a whole number", ret);
}

static void print_with_unit(int64_t number, const struct unit *units, size_t unit_count,
                            char ret_text[VALUE_TEXT_BYTES])
{
    const struct unit *unit = &units[unit_count - 1];
    for (size_t i = unit_count; i > 0; i--)
        if (number != 0 && number % units[i - 1].factor == 0)
            unit = &units[i - 1];
    (void)snprintf(ret_text, VALUE_TEXT_BYTES, "%lld%s", (long long)(number / unit->factor),
                   unit->name); /* 20 digits and a unit */
}

void value_print(enum conf_type type, int64_t number, char ret_text[VALUE_TEXT_BYTES])
{
    size_t len;
    if (type == CONF_DURATION && number == 0) {
        memcpy(ret_text, "0s", 3);
    } else if (type == CONF_DURATION && number == durations[0].factor) {
        memcpy(ret_text, "24h", 4); /* as people say it */
    } else if (type == CONF_DURATION) {
        print_with_unit(number, durations, GW_COUNT(durations), ret_text);
    } else {
        bool has_unit = type == CONF_SIZE || type == CONF_RATE;
        print_with_unit(number, has_unit ? sizes : &sizes[GW_COUNT(sizes) - 1],
                        has_unit ? GW_COUNT(sizes) : 1, ret_text);
    }
    len = strlen(ret_text);
    if (type == CONF_RATE)
        memcpy(ret_text + len, "/s", 3);
    if (type == CONF_PERCENT)
        memcpy(ret_text + len, "%", 2);
}

void value_print_duration(int64_t ms, char ret_text[VALUE_TEXT_BYTES])
{
    static const struct unit shown[] = {
        {" days", 86400000}, {" h", 3600000}, {" min", 60000}, {" s", 1000}, {" ms", 1},
    };
    const struct unit *from = shown;
    if (ms == 0)
        ms = 0, from = &shown[3];
    else if (ms == shown[0].factor)
        from = &shown[1]; /* "24 h", not "1 days" */
    if (ms == 0)
        (void)snprintf(ret_text, VALUE_TEXT_BYTES, "0 s");
    else
        print_with_unit(ms, from, GW_COUNT(shown) - (size_t)(from - shown), ret_text);
}

/* A sum is shown in whole units, rounded up: a worst case must not look smaller than it is. */
void value_print_size(uint64_t bytes, char ret_text[VALUE_TEXT_BYTES])
{
    static const char *const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (unit + 1 < GW_COUNT(names) && (bytes >= 10240 || (bytes >= 1024 && bytes % 1024 == 0))) {
        bytes = bytes / 1024 + (bytes % 1024 != 0);
        unit++;
    }
    (void)snprintf(ret_text, VALUE_TEXT_BYTES, "%llu %s", (unsigned long long)bytes, names[unit]);
}

static const char status_rule[] = "must be a status 200 to 599, a range like 500-504 or a class "
                                  "like 5xx";

static bool status_number(struct span text, uint16_t *ret)
{
    uint64_t number;
    if (text.len != 3 || !gw_parse_u64(text, &number) || number < 200 || number > 599)
        return false;
    *ret = (uint16_t)number;
    return true;
}

const char *value_status(struct span text, struct status_set *add_to, bool *ret_is_class)
{
    uint16_t first, last;
    *ret_is_class = false;
    if (text.len == 3 && text.ptr[1] == 'x' && text.ptr[2] == 'x' && text.ptr[0] >= '2' &&
        text.ptr[0] <= '5') {
        first = (uint16_t)((text.ptr[0] - '0') * 100);
        last = (uint16_t)(first + 99);
        *ret_is_class = true;
    } else if (text.len == 7 && text.ptr[3] == '-') {
        if (!status_number(span_of(text.ptr, 3), &first) ||
            !status_number(span_of(text.ptr + 4, 3), &last) || first > last)
            return status_rule;
    } else if (status_number(text, &first)) {
        last = first;
    } else {
        return status_rule;
    }
    for (uint16_t status = first; status <= last; status++)
        status_set_add(add_to, status);
    return NULL;
}

struct status_printer {
    struct gw_buf *out;
    bool is_first;
};

/* The texts are for people; a buffer that is full is marked as failed. */
static void print_run(struct status_printer *printer, uint16_t first, uint16_t last)
{
    (void)gw_buf_print(printer->out, "%s%u", printer->is_first ? "" : " ", first);
    if (last > first)
        (void)gw_buf_print(printer->out, "-%u", last);
    printer->is_first = false;
}

/* "5xx without 501 and 505": false if more than three are missing. */
static bool print_class(struct status_printer *printer, const struct status_set *set,
                        uint16_t first)
{
    uint16_t missing[4];
    uint32_t count = 0;
    for (uint16_t status = first; status < first + 100; status++) {
        if (status_set_has(set, status))
            continue;
        if (count == 3)
            return false;
        missing[count++] = status;
    }
    (void)gw_buf_print(printer->out, "%s%uxx", printer->is_first ? "" : ", ", first / 100u);
    for (uint32_t i = 0; i < count; i++)
        (void)gw_buf_print(printer->out, "%s%u",
                           i == 0           ? " without "
                           : i + 1 == count ? " and "
                                            : ", ",
                           missing[i]);
    printer->is_first = false;
    return true;
}

void value_print_statuses(const struct status_set *set, struct gw_buf *out)
{
    struct status_printer printer = {out, true};
    for (uint16_t class = 100; class < 600; class = (uint16_t)(class + 100)) {
        if (print_class(&printer, set, class))
            continue;
        for (uint16_t status = class; status < class + 100; status++) {
            if (!status_set_has(set, status))
                continue;
            uint16_t last = status;
            while (last + 1 < class + 100 && status_set_has(set, (uint16_t)(last + 1)))
                last++;
            if (last - status < 2)
                last = status;
            print_run(&printer, status, last);
            status = last;
        }
    }
}

bool value_next_item(struct span *rest, struct span *ret_item)
{
    while (rest->len > 0 && (rest->ptr[0] == ' ' || rest->ptr[0] == ','))
        *rest = span_of(rest->ptr + 1, rest->len - 1);
    if (rest->len == 0)
        return false;
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != ',')
        len++;
    *ret_item = span_of(rest->ptr, len);
    *rest = span_of(rest->ptr + len, rest->len - len);
    return true;
}
