/* The forms of values: durations, sizes, rates, addresses, ranges, statuses,
 * pointers. Each is strict: what is not wholly right is refused with a rule that
 * says what is right. Threads: pure. */
#ifndef RECIBO_CONF_VALUES_H
#define RECIBO_CONF_VALUES_H

#include "base/arena.h"
#include "conf/conf.h"
#include "conf/fields.h"

/* Numbers of one of the types COUNT DURATION SIZE RATE PERCENT: ms, bytes, bytes a
 * second. NULL, or the rule that is broken (static text). */
const char *value_number(enum conf_type type, struct span text, int64_t *ret);
#define VALUE_TEXT_BYTES 32
/* "24h", "1MiB", "20%": what value_number reads back. */
void value_print(enum conf_type type, int64_t number, char ret_text[VALUE_TEXT_BYTES]);
/* For people: "24 h", "10 min", "1 MiB". */
void value_print_duration(int64_t ms, char ret_text[VALUE_TEXT_BYTES]);
void value_print_size(uint64_t bytes, char ret_text[VALUE_TEXT_BYTES]);

/* Texts with a grammar. Views of `text`; NULL or the broken rule. */
const char *value_word(enum conf_type type, struct span text);
const char *value_status(struct span text, struct status_set *add_to, bool *ret_is_class);
const char *value_cidr(struct span text, struct conf_network *ret);
const char *value_address(struct span text, bool unix_too, struct conf_address *ret);

struct value_url {
    struct span host, authority, path_prefix;
    uint16_t port; /* of the scheme, if none is given */
    bool is_tls;
};
const char *value_url(struct span text, struct value_url *ret);
/* Is this numeric address (v4-mapped) one of this host alone? */
bool value_is_loopback(struct span host);
/* A numeric address or localhost in v4-mapped form. */
bool value_host_address(struct span host, uint8_t ret_address[16]);

/* Splits and unescapes into the arena; false: out of memory. The text must be
 * right by value_word. */
bool value_pointer(struct arena *arena, struct span text, struct json_pointer *ret) GW_MUST_CHECK;

/* The next item of "a, b, c"; false: no more. */
bool value_next_item(struct span *rest, struct span *ret_item);

/* "401 403 500-504", "5xx without 501 and 505": the set, for people. */
void value_print_statuses(const struct status_set *set, struct gw_buf *out);

#endif
