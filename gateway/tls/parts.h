/* What the files of TLS share; nobody else includes it. */
#ifndef RECIBO_GATEWAY_TLS_PARTS_H
#define RECIBO_GATEWAY_TLS_PARTS_H

#include "gateway/tls/tls.h"

#include <openssl/ssl.h>
#include <stdatomic.h>

/* What a context is made of; everything is borrowed from the configuration. */
struct tls_recipe {
    bool is_server;
    const struct conf_certificate *certificates;
    uint32_t certificate_count;
    struct span ca;   /* empty: of a server, none is asked for; of a client, the system's */
    struct span name; /* of a client: what the peer's certificate must be for */
    bool client_required;
};

/* A certificate that is shown to those who ask for one of its names. */
struct tls_identity {
    X509 *certificate;
    STACK_OF(X509) * chain;
    EVP_PKEY *key;
};

/* One reading of the files. Counted by the sessions that began with it. */
struct tls_generation {
    atomic_uint references;
    uint64_t number;
    SSL_CTX *ctx;
    const struct tls_recipe *recipe;
    struct tls_identity *identities; /* of a server, further ones */
    uint32_t identity_count;
};

/* ---- context.c ---- */
GW_MUST_CHECK enum gw_status tls_generation_new(const struct tls_recipe *recipe,
                                                struct tls_generation **ret, struct gw_error *err);
void tls_generation_unref(struct tls_generation *generation);
/* Text of the last error of OpenSSL; lives for ever. */
const char *tls_error_text(void);

/* ---- book.c ---- */
struct tls_generation *tls_context_ref(struct tls_context *context);

/* ---- session.c ---- */
int tls_on_ticket(SSL *ssl, SSL_SESSION *session); /* as OpenSSL calls it */

/* ---- peer.c ---- */
struct tls_peer *tls_peer_new(struct x509_st *certificate); /* one that was verified */

#endif
