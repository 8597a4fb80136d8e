/* Signatures by OpenSSL. It must never take a signature whose key or form does not fit its
 * algorithm, nor say why one is wrong. */
#include "base/signature.h"
#include "base/digest.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 8192
#define POINT_MAX    (1 + 2 * 66)
#define ED25519_LEN  32
#define DER_MAX      160

static const struct {
    const char *name;
    enum gw_key_family family;
    uint32_t bits;
} algorithms[GW_SIGNATURE_COUNT] = {
#define ALGORITHM(name, family, bits) {#name, GW_KEY_##family, bits},
    GW_SIGNATURE_ALGORITHMS(ALGORITHM)
#undef ALGORITHM
};

const char *gw_signature_name(enum gw_signature_algorithm algorithm)
{
    gw_assert(algorithm < GW_SIGNATURE_COUNT);
    return algorithms[algorithm].name;
}

enum gw_signature_algorithm gw_signature_of(struct span name)
{
    uint32_t i = 0;
    while (i < GW_SIGNATURE_COUNT && !span_equal(name, span_str(algorithms[i].name)))
        i++;
    return (enum gw_signature_algorithm)i;
}

static size_t coordinate_len(uint32_t bits)
{
    return (bits + 7) / 8;
}

static size_t bits_of(struct span number)
{
    size_t zeros = 0;
    while (zeros < number.len && number.ptr[zeros] == 0)
        zeros++;
    size_t bits = 8 * (number.len - zeros);
    for (uint32_t mask = 0x80;
         zeros < number.len && mask != 0 && ((unsigned char)number.ptr[zeros] & mask) == 0;
         mask >>= 1)
        bits--;
    return bits;
}

bool gw_signature_fits(enum gw_signature_algorithm algorithm, const struct gw_public_key *key)
{
    gw_assert(algorithm < GW_SIGNATURE_COUNT);
    if (algorithms[algorithm].family != key->family)
        return false;
    switch (key->family) {
    case GW_KEY_RSA:
        return bits_of(key->first) >= RSA_BITS_MIN && bits_of(key->first) <= RSA_BITS_MAX &&
               bits_of(key->second) >= 2 && bits_of(key->second) <= 64;
    case GW_KEY_EC:
        return key->bits == algorithms[algorithm].bits &&
               key->first.len == coordinate_len(key->bits) &&
               key->second.len == coordinate_len(key->bits);
    case GW_KEY_ED:
        return key->first.len == ED25519_LEN;
    case GW_KEY_SECRET:
        break;
    }
    return key->first.len >= algorithms[algorithm].bits / 8;
}

static const EVP_MD *hash_of(enum gw_signature_algorithm algorithm)
{
    switch (algorithms[algorithm].bits) {
    case 256:
        return EVP_sha256();
    case 384:
        return EVP_sha384();
    default:
        return EVP_sha512(); /* and of the curve of 521 bits */
    }
}

static const unsigned char *bytes_of(struct span text)
{
    return (const unsigned char *)text.ptr;
}

/* ---- keys ---- */

static EVP_PKEY *from_parameters(const char *type, OSSL_PARAM_BLD *builder)
{
    EVP_PKEY *key = NULL;
    OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
    bool ok = parameters != NULL && context != NULL && EVP_PKEY_fromdata_init(context) == 1 &&
              EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, parameters) == 1;
    EVP_PKEY_CTX_free(context);
    OSSL_PARAM_free(parameters);
    return ok ? key : NULL;
}

static EVP_PKEY *rsa_key(const struct gw_public_key *key)
{
    EVP_PKEY *made = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    BIGNUM *n = BN_bin2bn(bytes_of(key->first), (int)key->first.len, NULL);
    BIGNUM *e = BN_bin2bn(bytes_of(key->second), (int)key->second.len, NULL);
    if (builder != NULL && n != NULL && e != NULL &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
        OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e) == 1)
        made = from_parameters("RSA", builder);
    OSSL_PARAM_BLD_free(builder);
    BN_free(n);
    BN_free(e);
    return made;
}

/* A point that is not on its curve makes no key: OpenSSL looks. */
static EVP_PKEY *ec_key(const struct gw_public_key *key)
{
    unsigned char point[POINT_MAX] = {POINT_CONVERSION_UNCOMPRESSED};
    const char *curve = key->bits == 256 ? "P-256" : key->bits == 384 ? "P-384" : "P-521";
    EVP_PKEY *made = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    gw_assert(1 + key->first.len + key->second.len <= sizeof(point));
    memcpy(point + 1, key->first.ptr, key->first.len);
    memcpy(point + 1 + key->first.len, key->second.ptr, key->second.len);
    if (builder != NULL &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0) == 1 &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, point,
                                         1 + key->first.len + key->second.len) == 1)
        made = from_parameters("EC", builder);
    OSSL_PARAM_BLD_free(builder);
    return made;
}

static EVP_PKEY *make_key(const struct gw_public_key *key)
{
    if (key->family == GW_KEY_RSA)
        return rsa_key(key);
    if (key->family == GW_KEY_EC)
        return ec_key(key);
    return EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes_of(key->first),
                                       key->first.len);
}

/* ---- signatures ---- */

/* RFC 7518 3.4: r and s side by side; OpenSSL wants them in DER. 0: it has another form. */
static size_t to_der(const struct gw_public_key *key, struct span signature,
                     unsigned char ret_der[DER_MAX])
{
    size_t half = coordinate_len(key->bits);
    unsigned char *end = ret_der;
    int len = 0;
    if (signature.len != 2 * half)
        return 0;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes_of(signature), (int)half, NULL);
    BIGNUM *s = BN_bin2bn(bytes_of(signature) + half, (int)half, NULL);
    if (pair != NULL && r != NULL && s != NULL && ECDSA_SIG_set0(pair, r, s) == 1) {
        r = s = NULL; /* they are the pair's now */
        len = i2d_ECDSA_SIG(pair, NULL) <= DER_MAX ? i2d_ECDSA_SIG(pair, &end) : 0;
    }
    BN_free(r);
    BN_free(s);
    ECDSA_SIG_free(pair);
    return len > 0 ? (size_t)len : 0;
}

static bool is_pss(enum gw_signature_algorithm algorithm)
{
    return algorithm == GW_SIGNATURE_PS256 || algorithm == GW_SIGNATURE_PS384 ||
           algorithm == GW_SIGNATURE_PS512;
}

static bool set_padding(enum gw_signature_algorithm algorithm, EVP_PKEY_CTX *context)
{
    if (!is_pss(algorithm))
        return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1;
    return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
           EVP_PKEY_CTX_set_rsa_mgf1_md(context, hash_of(algorithm)) == 1 &&
           EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1;
}

static bool check_public(enum gw_signature_algorithm algorithm, const struct gw_public_key *key,
                         struct span message, struct span signature)
{
    unsigned char der[DER_MAX];
    struct span wanted = signature;
    if (key->family == GW_KEY_EC)
        wanted = span_of((const char *)der, to_der(key, signature, der));
    EVP_PKEY *made = wanted.len == 0 ? NULL : make_key(key);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *inner = NULL;
    const EVP_MD *hash = key->family == GW_KEY_ED ? NULL : hash_of(algorithm);
    bool ok = made != NULL && context != NULL &&
              EVP_DigestVerifyInit(context, &inner, hash, NULL, made) == 1 &&
              (key->family != GW_KEY_RSA || set_padding(algorithm, inner)) &&
              EVP_DigestVerify(context, bytes_of(wanted), wanted.len, bytes_of(message),
                               message.len) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(made);
    return ok;
}

bool gw_signature_check(enum gw_signature_algorithm algorithm, const struct gw_public_key *key,
                        struct span message, struct span signature)
{
    gw_assert(gw_signature_fits(algorithm, key));
    if (key->family != GW_KEY_SECRET)
        return check_public(algorithm, key, message, signature);
    unsigned char own[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    const EVP_MD *hash = hash_of(algorithm);
    return HMAC(hash, key->first.ptr, (int)key->first.len, bytes_of(message), message.len, own,
                &len) != NULL &&
           signature.len == len && gw_equal_constant_time(own, signature.ptr, len);
}
