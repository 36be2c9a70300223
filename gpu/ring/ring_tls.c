/* Finds the TLS functions (graph/wire/tls.c). The module is loaded once and stays loaded. */
#include "gpu/ring/ring_tls.h"

#include "gpu/base/module.h"

#include <dlfcn.h>
#include <gangway/version.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* The gangway binary and the tests are linked with these functions. libgangway is not. */
#pragma weak gw_tls_connect
#pragma weak gw_tls_accept

#define MODULE "libgangway-tls.so"

typedef int connect_function(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                             struct gw_error *error);
typedef int accept_function(int fd, gw_ring_tls_find *find, void *arg,
                            struct gw_transport **transport, struct gw_error *error);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static connect_function *connect_by;
static accept_function *accept_by;
static struct gw_error reason;

/* Checks that the module has the version of libgangway. They share structs, so they must be from
 * the same build. */
static bool is_ours(void *module)
{
    const char *version = module ? dlsym(module, "gw_tls_module_version") : NULL;
    if (version && strcmp(version, GANGWAY_VERSION) == 0)
        return true;
    if (version)
        (void)gw_error_set(&reason, GW_ENOTSUP, MODULE " is of version %s, libgangway of %s",
                           version, GANGWAY_VERSION);
    else
        (void)gw_error_set(&reason, GW_ENOTSUP, "ranks on several hosts need " MODULE ": %s",
                           dlerror());
    return false;
}

static void find_functions(void)
{
    connect_by = gw_tls_connect;
    accept_by = gw_tls_accept;
    if (connect_by && accept_by)
        return;
    void *module = gw_module_open(MODULE);
    if (!is_ours(module))
        return;
    void *connects = dlsym(module, "gw_tls_module_connect");
    void *accepts = dlsym(module, "gw_tls_module_accept");
    memcpy(&connect_by, &connects, sizeof connect_by);
    memcpy(&accept_by, &accepts, sizeof accept_by);
}

/* Returns 0, or GW_ENOTSUP with the reason. On an error it closes the socket. */
static int functions_are_there(int fd, struct gw_error *error)
{
    (void)pthread_once(&once, find_functions);
    if (connect_by && accept_by)
        return 0;
    (void)close(fd);
    return gw_error_set(error, reason.code, "%s", reason.text);
}

int gw_ring_tls_connect(int fd, const struct gw_tls_key *key, struct gw_transport **transport,
                        struct gw_error *error)
{
    int rc = functions_are_there(fd, error);
    return rc < 0 ? rc : connect_by(fd, key, transport, error);
}

int gw_ring_tls_accept(int fd, gw_ring_tls_find *find, void *arg, struct gw_transport **transport,
                       struct gw_error *error)
{
    int rc = functions_are_there(fd, error);
    return rc < 0 ? rc : accept_by(fd, find, arg, transport, error);
}
