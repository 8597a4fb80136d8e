/* Signatures of the algorithms of RFC 7518 and RFC 8037, checked by OpenSSL. Keys come as
 * numbers, as a JSON Web Key has them. Threads: pure. */
#ifndef RECIBO_BASE_SIGNATURE_H
#define RECIBO_BASE_SIGNATURE_H

#include "base/base.h"

/* ALGORITHM(name, family, bits): of the hash, or of the curve for EC. */
#define GW_SIGNATURE_ALGORITHMS(ALGORITHM)                                                         \
    ALGORITHM(RS256, RSA, 256)                                                                     \
    ALGORITHM(RS384, RSA, 384)                                                                     \
    ALGORITHM(RS512, RSA, 512)                                                                     \
    ALGORITHM(PS256, RSA, 256)                                                                     \
    ALGORITHM(PS384, RSA, 384)                                                                     \
    ALGORITHM(PS512, RSA, 512)                                                                     \
    ALGORITHM(ES256, EC, 256)                                                                      \
    ALGORITHM(ES384, EC, 384)                                                                      \
    ALGORITHM(ES512, EC, 521)                                                                      \
    ALGORITHM(EdDSA, ED, 0)                                                                        \
    ALGORITHM(HS256, SECRET, 256)                                                                  \
    ALGORITHM(HS384, SECRET, 384)                                                                  \
    ALGORITHM(HS512, SECRET, 512)

enum gw_signature_algorithm {
#define ALGORITHM(name, family, bits) GW_SIGNATURE_##name,
    GW_SIGNATURE_ALGORITHMS(ALGORITHM)
#undef ALGORITHM
        GW_SIGNATURE_COUNT,
};
const char *gw_signature_name(enum gw_signature_algorithm algorithm);
/* GW_SIGNATURE_COUNT: there is none of this name; the case counts. */
enum gw_signature_algorithm gw_signature_of(struct span name);

enum gw_key_family { GW_KEY_RSA, GW_KEY_EC, GW_KEY_ED, GW_KEY_SECRET };
struct gw_public_key {
    enum gw_key_family family;
    uint32_t bits; /* EC: 256, 384 or 521 */
    /* RSA: modulus and exponent, big-endian. EC: x and y, as wide as the curve. ED: the 32
     * bytes of an Ed25519 key. SECRET: the secret. */
    struct span first, second;
};
/* Can a key like this make such a signature, and is it long enough for it (RSA of 2048 bits
 * or more, a secret as long as its hash)? */
bool gw_signature_fits(enum gw_signature_algorithm algorithm, const struct gw_public_key *key);
/* false: it is not the key's signature of this message, or there is no memory; nobody may
 * tell the two apart. The key fits. Signatures of EC are r and s, each as wide as the curve. */
bool gw_signature_check(enum gw_signature_algorithm algorithm, const struct gw_public_key *key,
                        struct span message, struct span signature) GW_MUST_CHECK;

#endif
