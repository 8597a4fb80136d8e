/* UTF-8, one sequence at a time (RFC 3629): shortest forms only, no surrogates,
 * nothing above U+10FFFF. Threads: pure. */
#ifndef RECIBO_POLICY_UTF8_H
#define RECIBO_POLICY_UTF8_H

#include "base/base.h"

#define UTF8_BYTES_MAX 4

/* Length of the sequence at `at`, 1 to UTF8_BYTES_MAX; 0: not well-formed, or cut. */
size_t utf8_sequence(struct span text, size_t at);
/* Is all of it well-formed? Nothing is. */
bool utf8_is_sound(struct span text);
/* Writes a code point that is not a surrogate; returns the length. */
size_t utf8_encode(uint32_t code_point, char ret_bytes[UTF8_BYTES_MAX]);

#endif
