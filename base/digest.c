/* OpenSSL's digests behind a narrow door. */
#include "base/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <stdlib.h>

struct gw_sha256 {
    EVP_MD_CTX *ctx;
    EVP_MD *md; /* fetched once: a fetch for each digest costs more than the digest */
};

struct gw_sha256 *gw_sha256_new(void)
{
    struct gw_sha256 *sha = calloc(1, sizeof(*sha));
    if (sha == NULL)
        return NULL;
    sha->ctx = EVP_MD_CTX_new();
    sha->md = EVP_MD_fetch(NULL, "SHA256", NULL);
    if (sha->ctx == NULL || sha->md == NULL) {
        gw_sha256_free(sha);
        return NULL;
    }
    return sha;
}

void gw_sha256_free(struct gw_sha256 *sha)
{
    if (sha == NULL)
        return;
    EVP_MD_CTX_free(sha->ctx);
    EVP_MD_free(sha->md);
    free(sha);
}

void gw_sha256_start(struct gw_sha256 *sha)
{
    int ok = EVP_DigestInit_ex2(sha->ctx, sha->md, NULL);
    gw_assert(ok == 1);
}

void gw_sha256_add(struct gw_sha256 *sha, struct span bytes)
{
    if (bytes.len == 0)
        return;
    int ok = EVP_DigestUpdate(sha->ctx, bytes.ptr, bytes.len);
    gw_assert(ok == 1);
}

void gw_sha256_add_part(struct gw_sha256 *sha, struct span part)
{
    unsigned char len[8];
    for (int i = 0; i < 8; i++)
        len[i] = (unsigned char)((uint64_t)part.len >> (56 - 8 * i));
    gw_sha256_add(sha, span_of((const char *)len, sizeof(len)));
    gw_sha256_add(sha, part);
}

void gw_sha256_final(struct gw_sha256 *sha, uint8_t ret_digest[GW_SHA256_BYTES])
{
    unsigned int len = 0;
    int ok = EVP_DigestFinal_ex(sha->ctx, ret_digest, &len);
    gw_assert(ok == 1);
    gw_assert(len == GW_SHA256_BYTES);
}

void gw_sha256_once(struct span bytes, uint8_t ret_digest[GW_SHA256_BYTES])
{
    size_t len = 0;
    int ok = EVP_Q_digest(NULL, "SHA256", NULL, bytes.ptr == NULL ? "" : bytes.ptr, bytes.len,
                          ret_digest, &len);
    gw_assert(ok == 1);
    gw_assert(len == GW_SHA256_BYTES);
}

void gw_mac8(struct span key, struct span bytes, uint8_t ret_mac[8])
{
    unsigned char full[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    gw_assert(key.len > 0 && key.len <= 64);
    const unsigned char *done = HMAC(EVP_sha256(), key.ptr, (int)key.len,
                                     (const unsigned char *)bytes.ptr, bytes.len, full, &len);
    gw_assert(done != NULL);
    gw_assert(len == GW_SHA256_BYTES);
    memcpy(ret_mac, full, 8);
}

void gw_random(void *ret_bytes, size_t len)
{
    gw_assert(len <= 4096);
    int ok = RAND_bytes(ret_bytes, (int)len);
    gw_assert(ok == 1);
}

bool gw_equal_constant_time(const void *a, const void *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}
