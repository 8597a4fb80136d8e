/* The inside of a JSON string, for the reader in json.c. Threads: pure. */
#ifndef RECIBO_POLICY_JSON_STRING_H
#define RECIBO_POLICY_JSON_STRING_H

#include "policy/json.h"

/* Checks a string whose first byte after the quote is at `start`. On success
 * *ret_end is the place of the closing quote. */
bool json_string_scan(struct span text, size_t start, size_t *ret_end, bool *ret_has_escapes,
                      struct json_fault *ret_fault) GW_MUST_CHECK;

#endif
