/* Making a token of the operators' plane, for those who write a configuration. */
#ifndef RECIBO_GATEWAY_COMMANDS_TOKEN_H
#define RECIBO_GATEWAY_COMMANDS_TOKEN_H

#include "base/digest.h"

#define TOKEN_BYTES 55 /* "rt_" and 52 characters */

/* A new one, and the hash that stands in the configuration. */
void token_make(char ret_token[TOKEN_BYTES + 1], char ret_hex[2 * GW_SHA256_BYTES + 1]);

#endif
