/* A plain TLS connection: the speed that OpenSSL and loopback reach without Gangway, for comparison
 * with a transfer between workers. One thread writes from memory that is in use, and another reads
 * into a buffer that stays in its cache and is overwritten. The cipher suite is that of the
 * workers. */
#include "client/cli/bench/pump.h"
#include "graph/base/clock.h"
#include "graph/wire/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 << 10 };

struct pump {
    SSL_CTX *context;
    int listen_fd;
    size_t bytes;
    bool failed;
};

static unsigned int client_on_psk(SSL *ssl, const char *hint, char *identity, unsigned int room,
                                  unsigned char *key, unsigned int key_room)
{
    (void)ssl;
    (void)hint;
    if (room < 5 || key_room < 32)
        return 0;
    memcpy(identity, "pump", 5);
    memset(key, 7, 32);
    return 32;
}

static unsigned int server_on_psk(SSL *ssl, const char *identity, unsigned char *key,
                                  unsigned int room)
{
    (void)ssl;
    if (strcmp(identity, "pump") != 0 || room < 32)
        return 0;
    memset(key, 7, 32);
    return 32;
}

static SSL *attach(SSL_CTX *context, int fd)
{
    SSL *ssl = SSL_new(context);
    if (ssl && SSL_set_fd(ssl, fd))
        return ssl;
    SSL_free(ssl);
    return NULL;
}

static void *reader(void *arg)
{
    struct pump *pump = arg;
    char *window = malloc(WINDOW_BYTES);
    int fd = accept4(pump->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    SSL *ssl = fd >= 0 ? attach(pump->context, fd) : NULL;
    bool ok = window && ssl && SSL_accept(ssl) == 1;
    for (size_t at = 0; ok && at < pump->bytes;) {
        size_t got;
        ok = SSL_read_ex(ssl, window, WINDOW_BYTES, &got) == 1;
        at += ok ? got : 0;
    }
    size_t wrote;
    pump->failed = !ok || SSL_write_ex(ssl, "", 1, &wrote) != 1;
    SSL_free(ssl);
    if (fd >= 0)
        close(fd);
    free(window);
    return NULL;
}

/* Writes all bytes and waits until the reader has confirmed them. */
static bool write_all(SSL *ssl, const char *data, size_t bytes, double *seconds)
{
    uint64_t begin_ns = gw_clock_now_ns();
    size_t some;
    char word;
    for (size_t at = 0; at < bytes; at += some)
        if (SSL_write_ex(ssl, data + at, bytes - at, &some) != 1)
            return false;
    bool ok = SSL_read_ex(ssl, &word, 1, &some) == 1;
    *seconds = (double)(gw_clock_now_ns() - begin_ns) / 1e9;
    return ok;
}

static int open_pump(struct pump *pump, int *fd, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int rc = gw_endpoint_listen("127.0.0.1", &pump->listen_fd, actual, error);
    if (rc < 0)
        return rc;
    (void)fcntl(pump->listen_fd, F_SETFL, 0);
    rc = gw_endpoint_connect(actual, fd, error);
    if (rc < 0)
        close(pump->listen_fd);
    else
        (void)fcntl(*fd, F_SETFL, 0);
    return rc;
}

static SSL_CTX *context_new(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_method());
    if (!context)
        return NULL;
    (void)SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
    (void)SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256");
    (void)SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_psk_client_callback(context, client_on_psk);
    SSL_CTX_set_psk_server_callback(context, server_on_psk);
    return context;
}

int gw_bench_pump(const void *data, size_t bytes, double *seconds, struct gw_error *error)
{
    struct pump pump = {.context = context_new(), .bytes = bytes};
    pthread_t thread;
    int fd, rc = pump.context ? open_pump(&pump, &fd, error)
                              : gw_error_set(error, GW_ENOMEM, "cannot start TLS");
    if (rc < 0 || pthread_create(&thread, NULL, reader, &pump) != 0) {
        if (rc == 0) {
            close(fd);
            close(pump.listen_fd);
            rc = gw_error_set(error, GW_ENOMEM, "cannot start a thread");
        }
        SSL_CTX_free(pump.context);
        return rc;
    }
    SSL *ssl = attach(pump.context, fd);
    bool ok = ssl && SSL_connect(ssl) == 1 && write_all(ssl, data, bytes, seconds);
    if (!ok)
        (void)shutdown(fd, SHUT_RDWR); /* makes the reader thread end */
    pthread_join(thread, NULL);
    SSL_free(ssl);
    close(fd);
    close(pump.listen_fd);
    SSL_CTX_free(pump.context);
    return ok && !pump.failed ? 0 : gw_error_set(error, GW_EIO, "the TLS pump failed");
}
