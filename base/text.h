/* Small text forms that several rooms write or read: hex, base64, numbers, the
 * two time formats. Strict: what is not wholly right is refused. Threads: pure. */
#ifndef RECIBO_BASE_TEXT_H
#define RECIBO_BASE_TEXT_H

#include "base/base.h"

#define GW_RFC3339_BYTES   25 /* 2026-11-30T02:11:04.123Z and a NUL */
#define GW_HTTP_DATE_BYTES 30 /* Sun, 06 Nov 1994 08:49:37 GMT and a NUL */

/* ret_text gets 2 * len characters and a NUL. */
void gw_hex(const void *bytes, size_t len, char *ret_text);
/* Exactly 2 * len hex digits of either case. */
bool gw_hex_decode(struct span text, void *ret_bytes, size_t len) GW_MUST_CHECK;
/* Standard alphabet, padding required, canonical last bits, no white space
 * (RFC 4648 4). ret_bytes has room for text.len bytes. */
bool gw_base64_decode(struct span text, void *ret_bytes, size_t *ret_len) GW_MUST_CHECK;
/* URL alphabet, no padding, otherwise as above (RFC 7515 2). Empty is nothing. */
bool gw_base64url_decode(struct span text, void *ret_bytes, size_t *ret_len) GW_MUST_CHECK;
/* Digits only, at least one; false on anything else or past 2^64-1. */
bool gw_parse_u64(struct span text, uint64_t *ret) GW_MUST_CHECK;
/* Crockford's alphabet, lower case: 26 characters hold 128 bits, and a NUL. */
void gw_base32(const uint8_t bytes[16], char ret_text[27]);
bool gw_base32_is_sound(struct span text); /* digits that gw_base32() writes, and no other */
/* Length of the well-formed UTF-8 sequence at the front of `text`, which is not empty; 0: there
 * is none. */
size_t gw_utf8_length(struct span text);
/* UTC with milliseconds. */
void gw_rfc3339(int64_t wall_ms, char ret_text[GW_RFC3339_BYTES]);
bool gw_rfc3339_parse(struct span text, int64_t *ret_wall_ms) GW_MUST_CHECK;
/* IMF-fixdate (RFC 9110 5.6.7). */
void gw_http_date(int64_t wall_ms, char ret_text[GW_HTTP_DATE_BYTES]);

#endif
