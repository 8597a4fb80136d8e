/* From files to an SSL_CTX. It must never make one that verifies less than its recipe
 * says, and never ask for a password. */
#include "gateway/tls/parts.h"

#include "base/digest.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#define CHAIN_MAX   16
#define DIGITS_ADDR "0123456789.:abcdefABCDEF"

static int no_password(char *room, int size, int is_writing, void *ctx)
{
    (void)room;
    (void)size;
    (void)is_writing;
    (void)ctx;
    return -1;
}

const char *tls_error_text(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text == NULL ? "out of memory, or no reason is known" : text;
}

static enum gw_status failed(struct gw_error *err, const char *what, struct span file)
{
    return gw_error_set(err, GW_INVALID, "%s %.*s: %s", what, (int)file.len, file.ptr,
                        tls_error_text());
}

/* HTTP/1.1 is all that is spoken: whoever offers other protocols alone is told so. */
static int choose_protocol(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
                           const unsigned char *offered, unsigned int offered_len, void *ctx)
{
    static const unsigned char own[] = "\x08http/1.1";
    unsigned char *found = NULL;
    (void)ssl;
    (void)ctx;
    if (SSL_select_next_proto(&found, ret_len, own, sizeof(own) - 1, offered, offered_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret = found;
    return SSL_TLSEXT_ERR_OK;
}

/* Before a certificate is shown: is there one for the name that is asked for? */
static int choose_identity(SSL *ssl, void *ctx)
{
    const struct tls_generation *generation = ctx;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (name == NULL || X509_check_host(SSL_get_certificate(ssl), name, 0, 0, NULL) == 1)
        return 1;
    for (uint32_t i = 0; i < generation->identity_count; i++) {
        const struct tls_identity *identity = &generation->identities[i];
        if (X509_check_host(identity->certificate, name, 0, 0, NULL) == 1)
            return SSL_use_cert_and_key(ssl, identity->certificate, identity->key, identity->chain,
                                        1);
    }
    return 1;
}

static enum gw_status read_identity(const struct conf_certificate *files, struct tls_identity *ret,
                                    struct gw_error *err)
{
    FILE *file = fopen(files->certificate.ptr, "re");
    ret->chain = sk_X509_new_null();
    if (file == NULL || ret->chain == NULL) {
        if (file != NULL)
            (void)fclose(file); /* only read */
        return gw_error_set(err, GW_IO, "%s cannot be opened", files->certificate.ptr);
    }
    ret->certificate = PEM_read_X509(file, NULL, no_password, NULL);
    for (int i = 0; i < CHAIN_MAX && ret->certificate != NULL; i++) {
        X509 *next = PEM_read_X509(file, NULL, no_password, NULL);
        if (next == NULL || sk_X509_push(ret->chain, next) == 0) {
            X509_free(next);
            break;
        }
    }
    (void)fclose(file); /* only read */
    file = fopen(files->key.ptr, "re");
    if (file != NULL) {
        ret->key = PEM_read_PrivateKey(file, NULL, no_password, NULL);
        (void)fclose(file); /* only read */
    }
    if (ret->certificate == NULL)
        return failed(err, "certificate", files->certificate);
    if (ret->key == NULL || X509_check_private_key(ret->certificate, ret->key) != 1)
        return failed(err, "key", files->key);
    return GW_OK;
}

static enum gw_status use_identities(struct tls_generation *generation, struct gw_error *err)
{
    const struct tls_recipe *recipe = generation->recipe;
    if (recipe->certificate_count == 0)
        return GW_OK;
    const struct conf_certificate *first = &recipe->certificates[0];
    SSL_CTX_set_default_passwd_cb(generation->ctx, no_password);
    if (SSL_CTX_use_certificate_chain_file(generation->ctx, first->certificate.ptr) != 1)
        return failed(err, "certificate", first->certificate);
    if (SSL_CTX_use_PrivateKey_file(generation->ctx, first->key.ptr, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(generation->ctx) != 1)
        return failed(err, "key", first->key);
    generation->identities = calloc(recipe->certificate_count, sizeof(*generation->identities));
    if (generation->identities == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    for (uint32_t i = 1; i < recipe->certificate_count; i++) {
        struct tls_identity *identity = &generation->identities[generation->identity_count++];
        enum gw_status status = read_identity(&recipe->certificates[i], identity, err);
        if (status != GW_OK)
            return status;
    }
    return GW_OK;
}

static enum gw_status make_server(struct tls_generation *generation, struct gw_error *err)
{
    const struct tls_recipe *recipe = generation->recipe;
    SSL_CTX *ctx = generation->ctx;
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF); /* tickets need no memory */
    (void)SSL_CTX_set_num_tickets(ctx, 1);
    (void)SSL_CTX_set_max_early_data(ctx, 0); /* a first flight that can be replayed */
    SSL_CTX_set_alpn_select_cb(ctx, choose_protocol, NULL);
    if (generation->identity_count > 0)
        SSL_CTX_set_cert_cb(ctx, choose_identity, generation);
    if (recipe->ca.len == 0)
        return GW_OK;
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(recipe->ca.ptr);
    if (names == NULL || SSL_CTX_load_verify_file(ctx, recipe->ca.ptr) != 1) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return failed(err, "client_ca", recipe->ca);
    }
    SSL_CTX_set_client_CA_list(ctx, names);
    SSL_CTX_set_verify(
        ctx, SSL_VERIFY_PEER | (recipe->client_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        NULL);
    unsigned char id[16];
    gw_random(id, sizeof(id)); /* no other context may resume what this one has verified */
    return SSL_CTX_set_session_id_context(ctx, id, sizeof(id)) == 1 ? GW_OK
                                                                    : failed(err, "", recipe->ca);
}

static bool is_address(struct span name)
{
    return memchr(name.ptr, ':', name.len) != NULL ||
           (strspn(name.ptr, DIGITS_ADDR) == name.len && name.len > 0 &&
            name.ptr[name.len - 1] >= '0' && name.ptr[name.len - 1] <= '9' &&
            memchr(name.ptr, '.', name.len) != NULL);
}

static bool expect_name(SSL_CTX *ctx, struct span name)
{
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (is_address(name))
        return X509_VERIFY_PARAM_set1_ip_asc(param, name.ptr) == 1;
    return name.len > 0 && X509_VERIFY_PARAM_set1_host(param, name.ptr, name.len) == 1;
}

static enum gw_status make_client(struct tls_generation *generation, struct gw_error *err)
{
    const struct tls_recipe *recipe = generation->recipe;
    SSL_CTX *ctx = generation->ctx;
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    int rc = recipe->ca.len > 0 ? SSL_CTX_load_verify_file(ctx, recipe->ca.ptr)
                                : SSL_CTX_set_default_verify_paths(ctx);
    if (rc != 1)
        return failed(err, "ca", recipe->ca.len > 0 ? recipe->ca : SPAN("of the system"));
    if (!expect_name(ctx, recipe->name))
        return failed(err, "name", recipe->name);
    (void)SSL_CTX_set_session_cache_mode(ctx,
                                         SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL_STORE);
    SSL_CTX_sess_set_new_cb(ctx, tls_on_ticket);
    /* 0 is success here. */
    return SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)"\x08http/1.1", 9) == 0
               ? GW_OK
               : failed(err, "protocol", SPAN("http/1.1"));
}

/* What OpenSSL finds out about a certificate when it first looks at it is found out here,
 * once, and not by several workers at the same time. */
static void look_at_authorities(SSL_CTX *ctx)
{
    const STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(ctx));
    for (int i = 0; i < sk_X509_OBJECT_num(all); i++) {
        X509 *certificate = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, i));
        if (certificate != NULL)
            (void)X509_check_purpose(certificate, -1, 0); /* -1: looks, and judges nothing */
    }
}

enum gw_status tls_generation_new(const struct tls_recipe *recipe, struct tls_generation **ret,
                                  struct gw_error *err)
{
    struct tls_generation *generation = calloc(1, sizeof(*generation));
    if (generation == NULL)
        return gw_error_set(err, GW_NOMEM, "out of memory");
    ERR_clear_error();
    atomic_init(&generation->references, 1);
    generation->recipe = recipe;
    generation->ctx = SSL_CTX_new(recipe->is_server ? TLS_server_method() : TLS_client_method());
    enum gw_status status = GW_OK;
    if (generation->ctx == NULL ||
        SSL_CTX_set_min_proto_version(generation->ctx, TLS1_2_VERSION) != 1)
        status = gw_error_set(err, GW_NOMEM, "OpenSSL makes no context: %s", tls_error_text());
    if (status == GW_OK) {
        /* OpenSSL would give up the session with an end that is none; the session's own look
         * at the socket tells the two apart. */
        (void)SSL_CTX_set_options(generation->ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                                       SSL_OP_IGNORE_UNEXPECTED_EOF);
        (void)SSL_CTX_set_mode(generation->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                                    SSL_MODE_RELEASE_BUFFERS);
        status = use_identities(generation, err);
    }
    if (status == GW_OK)
        status = recipe->is_server ? make_server(generation, err) : make_client(generation, err);
    if (status == GW_OK)
        look_at_authorities(generation->ctx);
    ERR_clear_error();
    if (status != GW_OK) {
        tls_generation_unref(generation);
        return status;
    }
    *ret = generation;
    return GW_OK;
}

void tls_generation_unref(struct tls_generation *generation)
{
    if (generation == NULL || atomic_fetch_sub(&generation->references, 1) != 1)
        return;
    SSL_CTX_free(generation->ctx);
    for (uint32_t i = 0; i < generation->identity_count; i++) {
        X509_free(generation->identities[i].certificate);
        EVP_PKEY_free(generation->identities[i].key);
        sk_X509_pop_free(generation->identities[i].chain, X509_free);
    }
    free(generation->identities);
    free(generation);
}
