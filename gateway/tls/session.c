/* One TLS connection over a descriptor that does not block. Between two calls nothing
 * readable waits inside OpenSSL, and whether a byte of what was to be sent may have left
 * is known: the counter of the lowest layer is read around each write. */
#include "gateway/tls/parts.h"

#include <errno.h>
#include <openssl/err.h>
#include <stdlib.h>

#define RECORDS_MAX 64 /* of one write: others wait meanwhile */

struct tls_session {
    GW_TAG(tls_session);
#define TLS_SESSION_TAG 0x544c5353u
    SSL *ssl;
    BIO *bio; /* the lowest layer: it belongs to ssl */
    struct tls_generation *generation;
    struct tls_kept *kept; /* of a client */
    const char *why;       /* it failed */
    size_t pending;        /* content of a record that the kernel has not wholly taken */
    size_t begun;          /* the same, once it has a byte of it */
    bool is_open, has_failed, is_shut;
};

static struct tls_session *session_new(struct tls_context *context, int fd)
{
    struct tls_session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        return NULL;
    session->tag_tls_session = TLS_SESSION_TAG;
    session->generation = tls_context_ref(context);
    session->ssl = SSL_new(session->generation->ctx);
    session->bio = session->ssl == NULL ? NULL : BIO_new_socket(fd, BIO_NOCLOSE);
    if (session->bio == NULL || SSL_set_app_data(session->ssl, session) != 1) {
        BIO_free(session->bio);
        SSL_free(session->ssl);
        tls_generation_unref(session->generation);
        free(session);
        ERR_clear_error();
        return NULL;
    }
    SSL_set_bio(session->ssl, session->bio, session->bio);
    return session;
}

struct tls_session *tls_accept(struct tls_context *context, int fd)
{
    struct tls_session *session = session_new(context, fd);
    if (session != NULL)
        SSL_set_accept_state(session->ssl);
    return session;
}

static bool is_name(struct span name)
{
    X509_VERIFY_PARAM *param = X509_VERIFY_PARAM_new();
    bool is_address = param == NULL || X509_VERIFY_PARAM_set1_ip_asc(param, name.ptr) == 1;
    X509_VERIFY_PARAM_free(param);
    return !is_address;
}

struct tls_session *tls_connect(struct tls_context *context, int fd, struct tls_kept *kept)
{
    struct tls_session *session = session_new(context, fd);
    if (session == NULL)
        return NULL;
    struct span name = session->generation->recipe->name;
    session->kept = kept;
    SSL_set_connect_state(session->ssl);
    bool ok = !is_name(name) || SSL_set_tlsext_host_name(session->ssl, name.ptr) == 1;
    /* What was verified with other files is verified anew. Else a whole handshake is made. */
    if (ok && kept->session != NULL && kept->generation == session->generation->number &&
        SSL_SESSION_is_resumable(kept->session) == 1)
        (void)SSL_set_session(session->ssl, kept->session);
    ERR_clear_error();
    if (ok)
        return session;
    tls_free(session, false);
    return NULL;
}

int tls_on_ticket(SSL *ssl, SSL_SESSION *ticket)
{
    struct tls_session *session = SSL_get_app_data(ssl);
    if (session == NULL || session->kept == NULL)
        return 0;
    SSL_SESSION_free(session->kept->session);
    session->kept->session = ticket; /* 1: it is ours now */
    session->kept->generation = session->generation->number;
    return 1;
}

void tls_kept_fini(struct tls_kept *kept)
{
    SSL_SESSION_free(kept->session);
    *kept = (struct tls_kept){0};
}

void tls_free(struct tls_session *session, bool orderly)
{
    if (session == NULL)
        return;
    /* Where a record waits it must stay unsent: its bytes were never called sent. */
    if (orderly)
        (void)tls_shut(session); /* what the socket does not take now nobody waits for */
    if (!session->has_failed)
        SSL_set_shutdown(session->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN); /* resumable */
    SSL_free(session->ssl);
    tls_generation_unref(session->generation);
    session->tag_tls_session = 0;
    free(session);
    ERR_clear_error();
}

/* The reason outlives OpenSSL's queue of errors, since its texts are constants. */
static void fail(struct tls_session *session, int error)
{
    session->has_failed = true;
    long verified = SSL_get_verify_result(session->ssl);
    if (error == SSL_ERROR_SYSCALL && ERR_peek_last_error() == 0)
        session->why = "the connection ended or was reset";
    else if (!session->is_open && verified != X509_V_OK)
        session->why = X509_verify_cert_error_string(verified);
    else
        session->why = tls_error_text();
    ERR_clear_error();
}

const char *tls_why(const struct tls_session *session)
{
    return session->why == NULL ? "no reason is known" : session->why;
}

enum tls_next tls_shake(struct tls_session *session)
{
    if (session->has_failed)
        return TLS_FAILED;
    ERR_clear_error();
    int rc = SSL_do_handshake(session->ssl);
    if (rc == 1) {
        session->is_open = true;
        return TLS_READY;
    }
    int error = SSL_get_error(session->ssl, rc);
    if (error == SSL_ERROR_WANT_READ)
        return TLS_WANTS_READ;
    if (error == SSL_ERROR_WANT_WRITE)
        return TLS_WANTS_WRITE;
    fail(session, error);
    return TLS_FAILED;
}

/* ---- reading ---- */

/* The socket has ended, and close_notify, after which nothing is read, had not come. A
 * request says itself where it ends, and many callers just go: there it does not matter. */
static bool ends_without_notice(const struct tls_session *session)
{
    return session->kept != NULL && BIO_eof(session->bio) == 1;
}

ssize_t tls_receive(struct tls_session *session, char *room, size_t len)
{
    size_t got = 0;
    gw_assert(len >= TLS_RECORD_BYTES);
    if (session->has_failed) {
        errno = ECONNRESET;
        return -1;
    }
    ERR_clear_error();
    int rc = 1;
    /* Room for a whole record each time: then none is left behind in part. */
    while (rc == 1 && len - got >= TLS_RECORD_BYTES) {
        size_t part = 0;
        rc = SSL_read_ex(session->ssl, room + got, len - got, &part);
        got += rc == 1 ? part : 0;
    }
    int error = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(session->ssl, rc);
    bool is_cut = error == SSL_ERROR_ZERO_RETURN && ends_without_notice(session);
    bool is_over =
        error != SSL_ERROR_NONE && error != SSL_ERROR_WANT_READ && error != SSL_ERROR_ZERO_RETURN;
    if (is_over)
        fail(session, error);
    if (got > 0)
        return (ssize_t)got;
    if (error == SSL_ERROR_ZERO_RETURN && !is_cut)
        return 0;
    errno = is_over || is_cut ? ECONNRESET : EAGAIN;
    return -1;
}

bool tls_is_over(const struct tls_session *session)
{
    return session->has_failed || (SSL_get_shutdown(session->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

bool tls_is_quiet(struct tls_session *session)
{
    char byte;
    size_t got = 0;
    if (session->has_failed)
        return false;
    ERR_clear_error();
    int rc = SSL_peek_ex(session->ssl, &byte, 1, &got);
    bool quiet = rc != 1 && SSL_get_error(session->ssl, rc) == SSL_ERROR_WANT_READ;
    ERR_clear_error();
    return quiet;
}

/* ---- writing ---- */

/* The content of the next record, *len bytes at most, from `skip` bytes into the parts. It
 * is copied only where it lies in more than one of them: a record a part would cost a
 * packet each. */
static const char *gather(const struct iovec *parts, size_t count, size_t skip, size_t *len,
                          char room[TLS_RECORD_BYTES])
{
    size_t have = 0;
    for (size_t i = 0; i < count && have < *len; i++) {
        if (skip >= parts[i].iov_len) {
            skip -= parts[i].iov_len;
            continue;
        }
        const char *from = (const char *)parts[i].iov_base + skip;
        size_t left = parts[i].iov_len - skip;
        skip = 0;
        bool is_enough = left >= *len - have || i + 1 == count;
        size_t part = left < *len - have ? left : *len - have;
        if (have == 0 && is_enough) {
            *len = part;
            return from;
        }
        memcpy(room + have, from, part);
        have += part;
    }
    *len = have;
    return room;
}

static bool write_record(struct tls_session *session, const char *from, size_t len)
{
    size_t written = 0;
    uint64_t before = BIO_number_written(session->bio);
    ERR_clear_error();
    int rc = SSL_write_ex(session->ssl, from, len, &written);
    if (rc == 1) {
        gw_assert(written == len);
        session->pending = session->begun = 0;
        return true;
    }
    session->pending = len;
    if (BIO_number_written(session->bio) != before)
        session->begun = len;
    int error = SSL_get_error(session->ssl, rc);
    if (error != SSL_ERROR_WANT_WRITE)
        fail(session, error);
    return false;
}

ssize_t tls_send(struct tls_session *session, const struct iovec *parts, size_t count)
{
    char room[TLS_RECORD_BYTES];
    size_t taken = 0;
    for (int i = 0; i < RECORDS_MAX && !session->has_failed; i++) {
        size_t len = session->pending > 0 ? session->pending : sizeof(room);
        const char *from = gather(parts, count, taken, &len, room);
        gw_assert(session->pending == 0 || len == session->pending); /* the same bytes again */
        if (len == 0 || !write_record(session, from, len))
            break;
        taken += len;
    }
    if (taken > 0)
        return (ssize_t)taken;
    errno = session->has_failed ? EPIPE : EAGAIN;
    return -1;
}

size_t tls_begun(const struct tls_session *session)
{
    return session->begun;
}

enum tls_next tls_shut(struct tls_session *session)
{
    if (!session->is_open || session->has_failed || session->pending > 0 || session->is_shut)
        return TLS_READY;
    ERR_clear_error();
    int rc = SSL_shutdown(session->ssl);
    if (rc < 0 && SSL_get_error(session->ssl, rc) == SSL_ERROR_WANT_WRITE)
        return TLS_WANTS_WRITE;
    session->is_shut = true; /* or it never will be: the peer is gone */
    ERR_clear_error();
    return TLS_READY;
}

struct ssl_st *tls_new_ssl(struct tls_context *context)
{
    struct tls_generation *generation = tls_context_ref(context);
    SSL *ssl = SSL_new(generation->ctx);
    tls_generation_unref(generation); /* ssl holds the part of it that it needs */
    return ssl;
}

void tls_ssl_shut(struct ssl_st *ssl)
{
    if (ssl != NULL && SSL_is_init_finished(ssl))
        (void)SSL_shutdown(ssl); /* the connection is closed in any case */
    ERR_clear_error();
}

struct tls_peer *tls_peer_of(struct tls_session *session)
{
    X509 *certificate = SSL_get0_peer_certificate(session->ssl);
    bool is_verified = SSL_get_verify_result(session->ssl) == X509_V_OK;
    return certificate == NULL || !is_verified ? NULL : tls_peer_new(certificate);
}
