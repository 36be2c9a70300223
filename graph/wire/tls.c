/* TLS with OpenSSL, on buffers of our own.
 *
 * OpenSSL writes one record per system call and reads with two calls per record. To avoid this, a
 * BIO of our own makes OpenSSL read from `in`, which one recv fills, and write to `out`, which one
 * send empties. Only fill() and drain() access the socket.
 *
 * The secret is a TLS 1.3 external PSK for TLS_AES_128_GCM_SHA256, which every peer supports. There
 * are no certificates, no session tickets and no early data. */
#include "graph/wire/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WINDOW_BYTES = 256 << 10,
    CLEAR_BYTES = 16 << 10,               /* maximum data of a record */
    RECORD_BYTES = CLEAR_BYTES + 256 + 5, /* maximum size of a record, with header and padding */
};

struct window {
    uint8_t *bytes;
    size_t start, end;
};

struct gw_tls {
    struct gw_transport transport; /* first field, so that a cast is valid */
    SSL *ssl;
    struct window in, out;
    bool ended; /* the socket will return no more data */
    bool established, abandoned;
    bool garbled;           /* the received data was changed on its way */
    struct gw_error behind; /* the end or an error that a read found after it had read some bytes */
    int socket_errno;       /* why reading failed; 0: the other side closed the connection */
    int send_errno;         /* the first error of send; 0: none */
    bool connects, unknown; /* unknown: the named key does not exist */
    struct gw_tls_key key;
    bool (*find)(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg);
    void *arg;
};

/* -- The socket ----------------------------------------------------------------------------------
 */

/* Returns the error of the connection if a send failed. A later read would only report the end of
 * the connection. EPIPE means that the other side had closed it before. */
static int broke(const struct gw_tls *tls)
{
    return tls->send_errno == EPIPE ? 0 : tls->send_errno;
}

/* One recv into `in`, if it has room. */
static void fill(struct gw_tls *tls)
{
    struct window *in = &tls->in;
    if (in->start == in->end)
        in->start = in->end = 0;
    if (in->end == WINDOW_BYTES && in->start) {
        memmove(in->bytes, in->bytes + in->start, in->end - in->start);
        in->end -= in->start;
        in->start = 0;
    }
    if (tls->ended || in->end == WINDOW_BYTES)
        return;
    ssize_t got;
    do
        got = recv(tls->transport.fd, in->bytes + in->end, WINDOW_BYTES - in->end, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        in->end += (size_t)got;
    } else if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        tls->ended = true;
        tls->socket_errno = got < 0 ? errno : broke(tls);
    }
}

/* The kernel reports only once why a connection failed (refused, no route). So the error is stored.
 */
static int fail_send(struct gw_tls *tls, int errnum, struct gw_error *error)
{
    if (!tls->send_errno)
        tls->send_errno = errnum;
    bool closed = tls->send_errno == EPIPE || tls->send_errno == ECONNRESET;
    return gw_error_set(error, closed ? GW_ECLOSED : GW_EIO, "%s", strerror(tls->send_errno));
}

/* Sends `out`. Returns 0, GW_EAGAIN (without text), GW_ECLOSED or GW_EIO. error may be NULL. */
static int drain(struct gw_tls *tls, struct gw_error *error)
{
    struct window *out = &tls->out;
    while (out->start < out->end) {
        ssize_t wrote =
            send(tls->transport.fd, out->bytes + out->start, out->end - out->start, MSG_NOSIGNAL);
        if (wrote >= 0)
            out->start += (size_t)wrote;
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return GW_EAGAIN;
        else if (errno != EINTR)
            return fail_send(tls, errno, error);
    }
    out->start = out->end = 0;
    return 0;
}

/* -- OpenSSL's side of the buffers ---------------------------------------------------------------
 */

static int bio_on_read(BIO *bio, char *data, size_t bytes, size_t *got)
{
    struct gw_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->in.start == tls->in.end) {
        if (tls->ended)
            return 0;
        BIO_set_retry_read(bio);
        return 0;
    }
    size_t left = tls->in.end - tls->in.start;
    *got = bytes < left ? bytes : left;
    memcpy(data, tls->in.bytes + tls->in.start, *got);
    tls->in.start += *got;
    return 1;
}

static int bio_on_write(BIO *bio, const char *data, size_t bytes, size_t *wrote)
{
    struct gw_tls *tls = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (tls->out.end + bytes > WINDOW_BYTES)
        (void)drain(tls, NULL); /* the next flush returns the error */
    size_t room = WINDOW_BYTES - tls->out.end;
    *wrote = bytes < room ? bytes : room;
    if (*wrote == 0) {
        BIO_set_retry_write(bio);
        return 0;
    }
    memcpy(tls->out.bytes + tls->out.end, data, *wrote);
    tls->out.end += *wrote;
    return 1;
}

static long bio_on_control(BIO *bio, int command, long number, void *pointer)
{
    const struct gw_tls *tls = BIO_get_data(bio);
    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_EOF) /* a broken connection is not an ended one: see gw_tls_ended */
        return tls->ended && !tls->socket_errno && tls->in.start == tls->in.end;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;
static SSL_CTX *connecting, *accepting;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* -- Keys ----------------------------------------------------------------------------------------
 */

/* Makes the session object that OpenSSL requires for an external key. */
static SSL_SESSION *session_of(SSL *ssl, const uint8_t secret[GW_TLS_SECRET_BYTES])
{
    static const unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
    const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
    SSL_SESSION *session = SSL_SESSION_new();
    if (session && cipher && SSL_SESSION_set1_master_key(session, secret, GW_TLS_SECRET_BYTES) &&
        SSL_SESSION_set_cipher(session, cipher) &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int ssl_on_use(SSL *ssl, const EVP_MD *digest, const unsigned char **identity,
                      size_t *identity_bytes, SSL_SESSION **session)
{
    struct gw_tls *tls = SSL_get_app_data(ssl);
    SSL_SESSION *made = NULL;
    if (!digest || EVP_MD_is_a(digest, "SHA256"))
        made = session_of(ssl, tls->key.secret);
    *session = made;
    *identity = (const unsigned char *)tls->key.identity;
    *identity_bytes = made ? strlen(tls->key.identity) : 0;
    return made || digest; /* 0 ends the handshake */
}

static int ssl_on_find(SSL *ssl, const unsigned char *identity, size_t identity_bytes,
                       SSL_SESSION **session)
{
    struct gw_tls *tls = SSL_get_app_data(ssl);
    *session = NULL;
    if (identity_bytes > GW_TLS_IDENTITY_MAX || memchr(identity, 0, identity_bytes)) {
        tls->unknown = true;
        return 1;
    }
    memcpy(tls->key.identity, identity, identity_bytes);
    tls->key.identity[identity_bytes] = 0;
    if (!tls->find(tls->key.identity, tls->key.secret, tls->arg)) {
        tls->unknown = true;
        return 1; /* the handshake continues without a key and fails because there is no certificate
                   */
    }
    *session = session_of(ssl, tls->key.secret);
    return *session != NULL;
}

static SSL_CTX *context_new(const SSL_METHOD *side)
{
    SSL_CTX *context = SSL_CTX_new(side);
    if (!context)
        return NULL;
    (void)SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                           SSL_OP_NO_TICKET | SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)SSL_CTX_set_mode(context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    if (SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) &&
        SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256"))
        return context;
    SSL_CTX_free(context);
    return NULL;
}

static void prepare(void)
{
    method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "gangway");
    if (!method || !BIO_meth_set_read_ex(method, bio_on_read) ||
        !BIO_meth_set_write_ex(method, bio_on_write) || !BIO_meth_set_ctrl(method, bio_on_control))
        return;
    connecting = context_new(TLS_client_method());
    accepting = context_new(TLS_server_method());
    if (connecting)
        SSL_CTX_set_psk_use_session_callback(connecting, ssl_on_use);
    if (accepting)
        SSL_CTX_set_psk_find_session_callback(accepting, ssl_on_find);
}

/* -- Failures ------------------------------------------------------------------------------------
 */

static int fail_handshake(const struct gw_tls *tls, struct gw_error *error)
{
    if (tls->unknown)
        return gw_error_set(error, GW_EPERM, "there is no key '%s'", tls->key.identity);
    if (tls->connects)
        return gw_error_set(error, GW_EPERM, "the other side refused the key '%s'",
                            tls->key.identity);
    return gw_error_set(error, GW_EPERM,
                        *tls->key.identity ? "the connecting side does not have the key '%s'"
                                           : "the connecting side showed no key%s",
                        tls->key.identity);
}

/* Makes the error of a failed call of OpenSSL. GW_EAGAIN gets no text, because it is not a failure.
 */
static int explain(struct gw_tls *tls, int returned, struct gw_error *error)
{
    int code = SSL_get_error(tls->ssl, returned);
    if (code == SSL_ERROR_WANT_READ && tls->ended && !SSL_has_pending(tls->ssl))
        code = SSL_ERROR_ZERO_RETURN;
    if (code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE)
        return GW_EAGAIN;
    unsigned long why = ERR_peek_error(); /* the cause: OpenSSL 3.2 adds others behind it */
    ERR_clear_error();
    /* SSL_is_init_finished cannot be used here: after an error it returns false even if the
     * handshake had finished. */
    if (!tls->established && (code == SSL_ERROR_SSL || !tls->socket_errno)) {
        (void)drain(tls, NULL); /* send the alert that reports the error */
        if (tls->connects && code != SSL_ERROR_SSL)
            return gw_error_set(error, GW_ECLOSED,
                                "connection closed before the other side had proven its key");
        if (tls->connects && ERR_GET_REASON(why) < SSL_AD_REASON_OFFSET)
            return gw_error_set(error, GW_EPROTO, "the other side does not speak TLS as we do: %s",
                                ERR_reason_error_string(why));
        if (tls->unknown || tls->connects || code == SSL_ERROR_SSL)
            return fail_handshake(tls, error);
        return gw_error_set(error, GW_ECLOSED, "connection closed by the other side");
    }
    if (code == SSL_ERROR_ZERO_RETURN || (code == SSL_ERROR_SYSCALL && tls->ended))
        return gw_error_set(error, GW_ECLOSED, "%s",
                            tls->socket_errno ? strerror(tls->socket_errno)
                                              : "connection closed by the other side");
    if (code == SSL_ERROR_SSL) {
        tls->garbled = true;
        return gw_error_set(error, GW_EIO, "TLS: %s", ERR_reason_error_string(why));
    }
    return gw_error_set(error, GW_EIO, "TLS: %s", strerror(tls->socket_errno));
}

/* -- The transport -------------------------------------------------------------------------------
 */

static struct gw_tls *tls_of(struct gw_transport *transport)
{
    return (struct gw_tls *)transport;
}

/* Continues the handshake. Returns 0 when it has finished. */
static int shake(struct gw_tls *tls, struct gw_error *error)
{
    if (tls->established)
        return 0;
    int returned = SSL_do_handshake(tls->ssl);
    if (returned == 1) {
        tls->established = true;
        return 0;
    }
    return explain(tls, returned, error);
}

static int tls_read(struct gw_transport *transport, void *data, size_t bytes, size_t *got,
                    struct gw_error *error)
{
    struct gw_tls *tls = tls_of(transport);
    if (tls->behind.code < 0)
        return gw_error_set(error, tls->behind.code, "%s", tls->behind.text);
    /* If `in` has less than one record, it may end inside a record: read more. */
    if (tls->in.end - tls->in.start < RECORD_BYTES)
        fill(tls);
    int rc = shake(tls, error);
    if (rc < 0)
        return rc;
    size_t total = 0;
    while (total < bytes) {
        size_t some = 0;
        ERR_clear_error();
        int returned = SSL_read_ex(tls->ssl, (uint8_t *)data + total, bytes - total, &some);
        if (returned != 1) {
            if (total) { /* store the error: OpenSSL would not report it a second time */
                (void)explain(tls, returned, &tls->behind);
                break;
            }
            return explain(tls, returned, error);
        }
        total += some;
    }
    *got = total;
    return 0;
}

static int tls_write(struct gw_transport *transport, const void *data, size_t bytes, size_t *wrote,
                     struct gw_error *error)
{
    struct gw_tls *tls = tls_of(transport);
    int rc = shake(tls, error);
    if (rc < 0)
        return rc;
    if (tls->out.end + RECORD_BYTES > WINDOW_BYTES && (rc = drain(tls, error)) < 0)
        return rc;
    ERR_clear_error();
    int returned = SSL_write_ex(tls->ssl, data, bytes < CLEAR_BYTES ? bytes : CLEAR_BYTES, wrote);
    return returned == 1 ? 0 : explain(tls, returned, error);
}

static int tls_flush(struct gw_transport *transport, struct gw_error *error)
{
    struct gw_tls *tls = tls_of(transport);
    int shaken = shake(tls, error);
    if (shaken < 0 && shaken != GW_EAGAIN)
        return shaken;
    int rc = drain(tls, error);
    return rc < 0 ? rc : shaken;
}

static bool tls_blocked(const struct gw_transport *transport)
{
    const struct gw_tls *tls = (const struct gw_tls *)transport;
    return tls->out.start < tls->out.end;
}

static bool tls_pending(const struct gw_transport *transport)
{
    const struct gw_tls *tls = (const struct gw_tls *)transport;
    /* SSL_has_pending cannot be used here: it is also true for a partial record, from which nothing
     * can be read. */
    return tls->in.start < tls->in.end || SSL_pending(tls->ssl) > 0 || tls->behind.code < 0;
}

static void tls_free(struct gw_transport *transport)
{
    struct gw_tls *tls = tls_of(transport);
    const struct linger none = {.l_onoff = 1};
    if (tls->abandoned) {
        (void)setsockopt(tls->transport.fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    } else if (tls->ssl && SSL_is_init_finished(tls->ssl)) {
        (void)SSL_shutdown(tls->ssl);
        (void)drain(tls, NULL);
    }
    ERR_clear_error();
    SSL_free(tls->ssl);
    (void)close(tls->transport.fd);
    OPENSSL_cleanse(&tls->key, sizeof tls->key);
    free(tls->in.bytes);
    free(tls->out.bytes);
    free(tls);
}

static int tls_new(int fd, SSL_CTX *context, struct gw_tls **made, struct gw_error *error)
{
    struct gw_tls *tls = calloc(1, sizeof *tls);
    if (!tls) {
        (void)close(fd);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    tls->transport = (struct gw_transport){.fd = fd,
                                           .read = tls_read,
                                           .write = tls_write,
                                           .flush = tls_flush,
                                           .blocked = tls_blocked,
                                           .pending = tls_pending,
                                           .free = tls_free};
    tls->in.bytes = malloc(WINDOW_BYTES);
    tls->out.bytes = malloc(WINDOW_BYTES);
    tls->ssl = context ? SSL_new(context) : NULL;
    BIO *bio = tls->ssl ? BIO_new(method) : NULL;
    if (!tls->in.bytes || !tls->out.bytes || !bio) {
        BIO_free(bio);
        tls_free(&tls->transport);
        return gw_error_set(error, GW_ENOMEM, "cannot start TLS: out of memory");
    }
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio); /* takes over the BIO */
    (void)SSL_set_app_data(tls->ssl, tls);
    *made = tls;
    return 0;
}

int gw_tls_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                   struct gw_error *error)
{
    struct gw_tls *tls;
    (void)pthread_once(&once, prepare);
    int rc = tls_new(fd, connecting, &tls, error);
    if (rc < 0)
        return rc;
    tls->connects = true;
    tls->key = *key;
    SSL_set_connect_state(tls->ssl);
    *transport = &tls->transport;
    return 0;
}

int gw_tls_accept(int fd,
                  bool (*find)(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES],
                               void *arg),
                  void *arg, struct gw_transport **transport, struct gw_error *error)
{
    struct gw_tls *tls;
    (void)pthread_once(&once, prepare);
    int rc = tls_new(fd, accepting, &tls, error);
    if (rc < 0)
        return rc;
    tls->find = find;
    tls->arg = arg;
    SSL_set_accept_state(tls->ssl);
    *transport = &tls->transport;
    return 0;
}

bool gw_tls_has_secret(const struct gw_transport *transport,
                       const uint8_t secret[GW_TLS_SECRET_BYTES])
{
    const struct gw_tls *tls = (const struct gw_tls *)transport;
    return CRYPTO_memcmp(tls->key.secret, secret, GW_TLS_SECRET_BYTES) == 0;
}

bool gw_tls_ended(const struct gw_transport *transport)
{
    const struct gw_tls *tls = (const struct gw_tls *)transport;
    return !tls->garbled && (SSL_get_shutdown(tls->ssl) & SSL_RECEIVED_SHUTDOWN);
}

bool gw_tls_refused(const struct gw_transport *transport)
{
    const struct gw_tls *tls = (const struct gw_tls *)transport;
    return tls->connects && !tls->established &&
           (tls->socket_errno == ECONNREFUSED || tls->send_errno == ECONNREFUSED);
}

void gw_tls_abandon(struct gw_transport *transport)
{
    tls_of(transport)->abandoned = true;
}

bool gw_tls_secret_equals(const uint8_t a[GW_TLS_SECRET_BYTES],
                          const uint8_t b[GW_TLS_SECRET_BYTES])
{
    return CRYPTO_memcmp(a, b, GW_TLS_SECRET_BYTES) == 0;
}

const char *gw_tls_identity(const struct gw_transport *transport)
{
    const struct gw_tls *tls = (const struct gw_tls *)transport;
    return tls->established ? tls->key.identity : NULL;
}

/* -- Secrets -------------------------------------------------------------------------------------
 */

int gw_tls_secret_random(uint8_t secret[GW_TLS_SECRET_BYTES])
{
    return RAND_priv_bytes(secret, GW_TLS_SECRET_BYTES) == 1 ? 0 : GW_EIO;
}

int gw_tls_secret_derive(const uint8_t secret[GW_TLS_SECRET_BYTES], const char *label,
                         uint8_t derived[GW_TLS_SECRET_BYTES])
{
    uint8_t key[GW_TLS_SECRET_BYTES];
    char digest[] = "SHA256";
    char info[GW_TLS_IDENTITY_MAX + 1];
    size_t info_bytes = strlen(label);
    if (info_bytes >= sizeof info)
        return GW_EIO;
    memcpy(info, label, info_bytes + 1);
    memcpy(key, secret, sizeof key);
    EVP_KDF *hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    EVP_KDF_CTX *context = EVP_KDF_CTX_new(hkdf);
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string("digest", digest, 0),
        OSSL_PARAM_construct_octet_string("key", key, sizeof key),
        OSSL_PARAM_construct_octet_string("info", info, info_bytes),
        OSSL_PARAM_construct_end(),
    };
    int done = context && EVP_KDF_derive(context, derived, GW_TLS_SECRET_BYTES, parameters) == 1;
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(hkdf);
    OPENSSL_cleanse(key, sizeof key);
    return done ? 0 : GW_EIO;
}
