/* What is to be known of a caller's certificate, taken out of it once. It must never be
 * made of a certificate that was not verified. */
#include "gateway/tls/parts.h"

#include "base/digest.h"

#include <openssl/x509v3.h>
#include <stdlib.h>

#define NAMES_MAX 64 /* further ones are not looked at */

struct peer_name {
    enum tls_name kind;
    struct span text; /* in names */
};

struct tls_peer {
    atomic_uint references;
    X509 *certificate;
    GENERAL_NAMES *names; /* NULL: it has none */
    struct peer_name list[NAMES_MAX];
    uint32_t count;
    uint8_t sha256[GW_SHA256_BYTES], spki_sha256[GW_SHA256_BYTES];
};

static void take_name(struct tls_peer *peer, const GENERAL_NAME *name)
{
    enum tls_name kind;
    if (name->type == GEN_DNS)
        kind = TLS_NAME_DNS;
    else if (name->type == GEN_URI)
        kind = TLS_NAME_URI;
    else if (name->type == GEN_EMAIL)
        kind = TLS_NAME_EMAIL;
    else
        return;
    const ASN1_IA5STRING *text = name->d.ia5;
    struct span bytes =
        span_of((const char *)ASN1_STRING_get0_data(text), (size_t)ASN1_STRING_length(text));
    /* A name with a NUL is meant to be read in two ways. */
    if (bytes.len == 0 || memchr(bytes.ptr, '\0', bytes.len) != NULL)
        return;
    peer->list[peer->count++] = (struct peer_name){kind, bytes};
}

static bool digest_of(unsigned char *der, int len, uint8_t ret[GW_SHA256_BYTES])
{
    if (len > 0)
        gw_sha256_once(span_of((const char *)der, (size_t)len), ret);
    OPENSSL_free(der);
    return len > 0;
}

struct tls_peer *tls_peer_new(struct x509_st *certificate)
{
    struct tls_peer *peer = calloc(1, sizeof(*peer));
    unsigned char *der = NULL, *spki = NULL;
    if (peer == NULL)
        return NULL;
    atomic_init(&peer->references, 1);
    if (X509_up_ref(certificate) != 1) {
        free(peer);
        return NULL;
    }
    peer->certificate = certificate;
    int len = i2d_X509(certificate, &der);
    bool ok = digest_of(der, len, peer->sha256);
    len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &spki);
    ok = digest_of(spki, len, peer->spki_sha256) && ok;
    peer->names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(peer->names) && peer->count < NAMES_MAX; i++)
        take_name(peer, sk_GENERAL_NAME_value(peer->names, i));
    if (!ok) {
        tls_peer_unref(peer);
        return NULL;
    }
    return peer;
}

struct tls_peer *tls_peer_ref(struct tls_peer *peer)
{
    if (peer != NULL)
        (void)atomic_fetch_add(&peer->references, 1); /* the number is of no use */
    return peer;
}

void tls_peer_unref(struct tls_peer *peer)
{
    if (peer == NULL || atomic_fetch_sub(&peer->references, 1) != 1)
        return;
    GENERAL_NAMES_free(peer->names);
    X509_free(peer->certificate);
    free(peer);
}

struct span tls_peer_name(const struct tls_peer *peer, enum tls_name kind, uint32_t index)
{
    for (uint32_t i = 0; i < peer->count; i++)
        if (peer->list[i].kind == kind && index-- == 0)
            return peer->list[i].text;
    return span_of(NULL, 0);
}

const uint8_t *tls_peer_sha256(const struct tls_peer *peer)
{
    return peer->sha256;
}

const uint8_t *tls_peer_spki_sha256(const struct tls_peer *peer)
{
    return peer->spki_sha256;
}

struct x509_st *tls_peer_x509(const struct tls_peer *peer)
{
    return peer->certificate;
}
