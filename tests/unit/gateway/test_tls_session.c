/* A session over a pair of sockets: what is counted as taken and as begun, the peer's
 * certificate, and that the bytes arrive as they were offered. */
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/tls/parts.h"
#include "tests/lib/testlib.h"

#define NAMES       "DNS:peer.test,URI:spiffe://test/peer,URI:urn:second,email:a@peer.test"
#define STEPS_MAX   1000
#define OFFER_BYTES (4u << 20)

struct pair {
    char path[64];
    X509 *certificate;
    EVP_PKEY *key;
    SSL_CTX *server_ctx;
    SSL *server;
    struct tls_context *context;
    struct tls_session *client;
    struct tls_kept kept;
    int fds[2];
};

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *made = X509_new();
    assert_non_null(made);
    assert_int_equal(X509_set_version(made, 2), 1);
    assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(made), 1), 1);
    assert_non_null(X509_gmtime_adj(X509_getm_notBefore(made), -3600));
    assert_non_null(X509_gmtime_adj(X509_getm_notAfter(made), 3600));
    X509_NAME *name = X509_get_subject_name(made);
    assert_int_equal(
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"x", -1, -1, 0),
        1);
    assert_int_equal(X509_set_issuer_name(made, name), 1);
    assert_int_equal(X509_set_pubkey(made, key), 1);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, NAMES);
    assert_non_null(names);
    assert_int_equal(X509_add_ext(made, names, -1), 1);
    X509_EXTENSION_free(names);
    assert_true(X509_sign(made, key, EVP_sha256()) > 0);
    return made;
}

static void pair_init(struct pair *pair)
{
    struct gw_error err = {0};
    *pair = (struct pair){.path = "/tmp/recibo-tls-XXXXXX"};
    int file = mkstemp(pair->path);
    assert_true(file >= 0);
    pair->key = EVP_EC_gen("P-256");
    assert_non_null(pair->key);
    pair->certificate = make_certificate(pair->key);
    FILE *out = fdopen(file, "w");
    assert_int_equal(PEM_write_X509(out, pair->certificate), 1);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair->fds), 0);
    pair->server_ctx = SSL_CTX_new(TLS_server_method());
    assert_int_equal(SSL_CTX_use_certificate(pair->server_ctx, pair->certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(pair->server_ctx, pair->key), 1);
    pair->server = SSL_new(pair->server_ctx);
    assert_int_equal(SSL_set_fd(pair->server, pair->fds[1]), 1);
    SSL_set_accept_state(pair->server);
    assert_int_equal(tls_context_new(pair->path, "peer.test", &pair->context, &err), GW_OK);
    pair->client = tls_connect(pair->context, pair->fds[0], &pair->kept);
    assert_non_null(pair->client);
    bool client_done = false, server_done = false;
    for (int i = 0; i < STEPS_MAX && !(client_done && server_done); i++) {
        client_done = client_done || tls_shake(pair->client) == TLS_READY;
        server_done = server_done || SSL_do_handshake(pair->server) == 1;
    }
    assert_true(client_done && server_done);
}

static void pair_fini(struct pair *pair)
{
    tls_free(pair->client, true);
    tls_kept_fini(&pair->kept);
    tls_context_free(pair->context);
    SSL_free(pair->server);
    SSL_CTX_free(pair->server_ctx);
    X509_free(pair->certificate);
    EVP_PKEY_free(pair->key);
    (void)close(pair->fds[0]);
    (void)close(pair->fds[1]);
    (void)unlink(pair->path);
}

static void test_nothing_taken(void **state)
{
    /* Guards: where the socket takes no byte of the record, none counts as sent. */
    struct pair pair;
    char junk[4096] = {0};
    (void)state;
    pair_init(&pair);
    while (send(pair.fds[0], junk, sizeof(junk), MSG_NOSIGNAL) > 0)
        continue; /* ends when the socket is full */
    while (send(pair.fds[0], junk, 1, MSG_NOSIGNAL) > 0)
        continue;
    struct iovec parts[2] = {{(void *)(uintptr_t) "GET / ", 6}, {(void *)(uintptr_t) "HTTP", 4}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(tls_send(pair.client, parts, 2), -1);
        assert_int_equal(errno, EAGAIN);
        assert_int_equal(tls_begun(pair.client), 0);
    }
    pair_fini(&pair);
}

static void read_all(struct pair *pair, char *to, size_t *len, size_t most)
{
    size_t got = 0;
    while (*len < most && SSL_read_ex(pair->server, to + *len, most - *len, &got) == 1)
        *len += got;
}

static void test_every_byte_once(void **state)
{
    /* Guards: through full sockets every byte arrives once, in order, and what the peer can
     * have read was always counted, as taken or as begun. */
    struct pair pair;
    (void)state;
    pair_init(&pair);
    char *from = malloc(OFFER_BYTES), *to = malloc(OFFER_BYTES);
    size_t taken = 0, read = 0;
    assert_true(from != NULL && to != NULL);
    for (size_t i = 0; i < OFFER_BYTES; i++)
        from[i] = (char)(i * 31 >> 3);
    for (int i = 0; i < STEPS_MAX && read < OFFER_BYTES; i++) {
        size_t first = (OFFER_BYTES - taken) / 3; /* two parts, cut anew each time */
        struct iovec parts[2] = {{from + taken, first},
                                 {from + taken + first, OFFER_BYTES - taken - first}};
        ssize_t sent = tls_send(pair.client, parts, 2);
        assert_true(sent > 0 || errno == EAGAIN);
        taken += sent > 0 ? (size_t)sent : 0;
        read_all(&pair, to, &read, OFFER_BYTES);
        assert_true(read <= taken + tls_begun(pair.client));
    }
    assert_int_equal(read, OFFER_BYTES);
    assert_int_equal(tls_begun(pair.client), 0);
    assert_memory_equal(from, to, OFFER_BYTES);
    free(from);
    free(to);
    pair_fini(&pair);
}

static void test_certificate(void **state)
{
    /* Guards: what owners are told of a certificate: its names by kind, and its digests. */
    struct pair pair;
    (void)state;
    pair_init(&pair);
    struct tls_peer *peer = tls_peer_of(pair.client);
    assert_non_null(peer);
    struct tls_peer *again = tls_peer_ref(peer);
    tls_peer_unref(peer);
    assert_true(span_equal(tls_peer_name(again, TLS_NAME_DNS, 0), SPAN("peer.test")));
    assert_null(tls_peer_name(again, TLS_NAME_DNS, 1).ptr);
    assert_true(span_equal(tls_peer_name(again, TLS_NAME_URI, 0), SPAN("spiffe://test/peer")));
    assert_true(span_equal(tls_peer_name(again, TLS_NAME_URI, 1), SPAN("urn:second")));
    assert_true(span_equal(tls_peer_name(again, TLS_NAME_EMAIL, 0), SPAN("a@peer.test")));
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    assert_int_equal(X509_digest(pair.certificate, EVP_sha256(), digest, &len), 1);
    assert_memory_equal(digest, tls_peer_sha256(again), 32);
    assert_memory_not_equal(digest, tls_peer_spki_sha256(again), 32);
    assert_int_equal(X509_cmp(tls_peer_x509(again), pair.certificate), 0);
    tls_peer_unref(again);
    pair_fini(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_taken),
                                       cmocka_unit_test(test_every_byte_once),
                                       cmocka_unit_test(test_certificate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
