/* TLS 1.2 and later on both sides, by OpenSSL on descriptors that do not block. It says
 * exactly when a byte of what it was given may have left, and it never verifies less than
 * the chain and the name.
 *
 * A book holds the contexts of one configuration; workers share it. A session is one
 * connection and belongs to its worker's thread. The files of a context are read again
 * when they change; connections keep what they began with. */
#ifndef RECIBO_GATEWAY_TLS_TLS_H
#define RECIBO_GATEWAY_TLS_TLS_H

#include "conf/conf.h"

#include <sys/types.h>
#include <sys/uio.h>

#define TLS_RECORD_BYTES 16384 /* the content of a record at most */
#define TLS_LOOK_MS      5000  /* how often the files are looked at */

struct ssl_st;
struct ssl_session_st;
struct x509_st;

/* ---- contexts ---- */
struct tls_book;
struct tls_context; /* of a listener, of the operator's plane, or of an upstream */
/* Reads every file that the configuration names (borrowed as long as the book lives). */
GW_MUST_CHECK enum gw_status tls_book_new(struct conf *conf, struct tls_book **ret,
                                          struct gw_error *err);
void tls_book_free(struct tls_book *book); /* NULL is fine; every session is over */
/* For one client without a configuration; `ca` NULL: the system's. Both are borrowed. */
GW_MUST_CHECK enum gw_status tls_context_new(const char *ca, const char *name,
                                             struct tls_context **ret, struct gw_error *err);
/* For one client that speaks to an https upstream (borrowed) as Recibo would. */
GW_MUST_CHECK enum gw_status tls_context_of(const struct upstream_policy *upstream,
                                            struct tls_context **ret, struct gw_error *err);
void tls_context_free(struct tls_context *context); /* NULL is fine */
/* NULL: it is plain. */
struct tls_context *tls_book_listener(const struct tls_book *book, uint32_t index);
struct tls_context *tls_book_admin(const struct tls_book *book);
struct tls_context *tls_book_upstream(const struct tls_book *book, struct span name);
bool tls_book_is_empty(const struct tls_book *book);
/* Main thread: reads anew what has changed (or all of it), and logs what came of it. What
 * cannot be used leaves the context as it was. */
void tls_book_look(struct tls_book *book, bool all);

/* ---- sessions ---- */
struct tls_session;
/* What a client remembers of the last session with a peer; zeroed at first. */
struct tls_kept {
    struct ssl_session_st *session;
    uint64_t generation; /* of the context: one that was read anew resumes nothing */
};
void tls_kept_fini(struct tls_kept *kept);
/* Of a caller; the descriptor stays the caller's. NULL: out of memory. */
struct tls_session *tls_accept(struct tls_context *context, int fd);
/* To an upstream; `kept` outlives the session. */
struct tls_session *tls_connect(struct tls_context *context, int fd, struct tls_kept *kept);
/* Sends close_notify if `orderly` and nothing stands against it; NULL is fine. */
void tls_free(struct tls_session *session, bool orderly);

enum tls_next { TLS_READY, TLS_WANTS_READ, TLS_WANTS_WRITE, TLS_FAILED };
enum tls_next tls_shake(struct tls_session *session);
const char *tls_why(const struct tls_session *session); /* after TLS_FAILED; lives for ever */
/* As recv(2) and sendmsg(2). Reading: 0 is close_notify (of a caller, any end); an end
 * without it is ECONNRESET. `len` is at least a record, and no bytes are left inside, so
 * that the readiness of the descriptor is all there is to wait for; but the end may have
 * come behind the bytes that were given, and tls_is_over() says so. Writing: what was
 * refused with EAGAIN is offered again, the same bytes first. */
ssize_t tls_receive(struct tls_session *session, char *room, size_t len);
ssize_t tls_send(struct tls_session *session, const struct iovec *parts, size_t count);
bool tls_is_over(const struct tls_session *session);
/* Bytes that were not taken yet, and of whose record the kernel has a part. */
size_t tls_begun(const struct tls_session *session);
/* Is there nothing of the peer's but TLS's own messages? Takes those in. */
bool tls_is_quiet(struct tls_session *session);
/* close_notify: TLS_READY, or TLS_WANTS_WRITE. */
enum tls_next tls_shut(struct tls_session *session);
/* For libevent's own TLS (the operator's plane): a new SSL, the receiver's; NULL: no memory. */
struct ssl_st *tls_new_ssl(struct tls_context *context);
void tls_ssl_shut(struct ssl_st *ssl); /* close_notify, as far as it goes; NULL is fine */

/* ---- the certificate of a caller ---- */
/* Verified against client_ca: the handshake has seen to it. Counted: the flow may outlive
 * the connection. Threads: counted from any, read only. */
struct tls_peer;
enum tls_name { TLS_NAME_DNS, TLS_NAME_URI, TLS_NAME_EMAIL };
/* One more reference; NULL: he has shown none (or there is no memory: then nobody is let in
 * for it either). */
struct tls_peer *tls_peer_of(struct tls_session *session);
struct tls_peer *tls_peer_ref(struct tls_peer *peer); /* NULL is fine */
void tls_peer_unref(struct tls_peer *peer);           /* NULL is fine */
/* The index-th subject alternative name of the kind; empty ptr NULL: no more. */
struct span tls_peer_name(const struct tls_peer *peer, enum tls_name kind, uint32_t index);
const uint8_t *tls_peer_sha256(const struct tls_peer *peer);      /* of the certificate, DER */
const uint8_t *tls_peer_spki_sha256(const struct tls_peer *peer); /* of its public key, DER */
struct x509_st *tls_peer_x509(const struct tls_peer *peer);       /* for anything else */

#endif
