/* SHA-256, randomness and comparing secrets. The only place besides TLS that
 * touches OpenSSL. Threads: a context belongs to one thread. */
#ifndef RECIBO_BASE_DIGEST_H
#define RECIBO_BASE_DIGEST_H

#include "base/base.h"

#define GW_SHA256_BYTES 32

struct gw_sha256; /* opaque; reusable after each final */

struct gw_sha256 *gw_sha256_new(void);      /* NULL: out of memory */
void gw_sha256_free(struct gw_sha256 *sha); /* NULL is fine */
void gw_sha256_start(struct gw_sha256 *sha);
void gw_sha256_add(struct gw_sha256 *sha, struct span bytes);
/* Length (8 bytes, big-endian) and then the bytes: no two lists of parts give
 * the same stream. */
void gw_sha256_add_part(struct gw_sha256 *sha, struct span part);
void gw_sha256_final(struct gw_sha256 *sha, uint8_t ret_digest[GW_SHA256_BYTES]);

void gw_sha256_once(struct span bytes, uint8_t ret_digest[GW_SHA256_BYTES]);
/* HMAC-SHA-256 cut to 8 bytes: tells equal from different without telling the content. */
void gw_mac8(struct span key, struct span bytes, uint8_t ret_mac[8]);
/* From the operating system's generator; aborts if that cannot be had. */
void gw_random(void *ret_bytes, size_t len);
bool gw_equal_constant_time(const void *a, const void *b, size_t len);

#endif
