/* Connects processes of commands to the cluster.
 *
 * Invariant: a connection is given only for an attempt that is on this worker, and only to a
 * process that knows its secret. */
#include "worker/net/tasks/task_socket.h"

#include "graph/base/log.h"
#include "graph/base/user_dir.h"
#include "graph/wire/hash.h"
#include "worker/launcher/request.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/state.h"
#include "worker/net/tasks/users.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Maximum number of relays of all tasks at once, and of those of one separate user. */
enum { RELAYS_MAX = 512, RELAYS_OF_USER_MAX = 128 };

/* -- The socket ----------------------------------------------------------------------------------
 */

static void task_socket_on_accept(int fd, void *arg)
{
    if (gw_users_may_connect(arg, fd, 0))
        gw_host_link_greet(arg, fd, NULL);
    else
        close(fd);
}

int gw_task_socket_place(const struct gw_host *host, const char *name,
                         char path[GW_ENDPOINT_TEXT_MAX], struct gw_error *error)
{
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path;
    char dir[PATH_MAX];
    if (host->options.separate_users) { /* tasks cannot enter the worker's folder */
        (void)snprintf(path, most, GW_LAUNCHER_TASKS "/%s", name);
        return 0;
    }
    if ((size_t)snprintf(path, most, "%s/%s", host->options.dir, name) < most)
        return 0;
    int rc = gw_user_dir_socket(host->options.dir, dir, error);
    if (rc == 0 && (size_t)snprintf(path, most, "%s/%s", dir, name) >= most)
        rc = gw_error_set(
            error, GW_EINVAL,
            "%s: the folder of a socket may have at most %zu bytes: give a shorter --dir", dir,
            most - sizeof "/" - strlen(name));
    return rc;
}

int gw_task_socket_listen(const struct gw_host *host, const char *path, int *fd,
                          struct gw_error *error)
{
    int rc = gw_endpoint_listen(path, fd, NULL, error);
    if (rc == 0 && chmod(path, host->options.separate_users ? 0666 : 0600) < 0) {
        rc = gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
        close(*fd);
    }
    return rc;
}

static int listen_at(struct gw_host *host, char path[GW_ENDPOINT_TEXT_MAX], struct gw_error *error)
{
    const struct gw_acceptor_callbacks callbacks = {.on_accept = task_socket_on_accept,
                                                    .arg = host};
    char name[64];
    (void)snprintf(name, sizeof name, "tasks-%d.sock", (int)getpid());
    int fd, rc = gw_task_socket_place(host, name, path, error);
    if (rc == 0)
        rc = gw_task_socket_listen(host, path, &fd, error);
    return rc < 0
               ? rc
               : gw_acceptor_open(host->loop, fd, &callbacks, &host->task_socket.acceptor, error);
}

/* Opens the socket for processes of tasks at the first call. If the socket for other workers is a
 * unix socket, processes of tasks use that one. */
static int open_once(struct gw_host *host)
{
    struct gw_task_socket *socket = &host->task_socket;
    struct gw_error error;
    char path[GW_ENDPOINT_TEXT_MAX];
    if (*socket->path || socket->refused)
        return *socket->path ? 0 : GW_EIO;
    int rc = gw_tls_secret_random(socket->secret);
    if (rc < 0)
        (void)gw_error_set(&error, rc, "the system provides no random numbers");
    else if (host->options.peers || host->options.separate_users)
        rc = listen_at(host, path, &error);
    else
        (void)snprintf(path, sizeof path, "%.*s", GW_ENDPOINT_TEXT_MAX - 1, host->peers_address);
    if (rc == 0) {
        strcpy(socket->path, path);
        return 0;
    }
    socket->refused = true;
    gw_log_warn("commands that run as tasks cannot use the cluster themselves: %s", error.text);
    return GW_EIO;
}

void gw_task_socket_close(struct gw_task_socket *socket)
{
    if (!socket->acceptor)
        return;
    gw_acceptor_close(socket->acceptor);
    socket->acceptor = NULL;
    (void)unlink(socket->path);
}

/* -- Identities ----------------------------------------------------------------------------------
 */

static int secret_of(const struct gw_host *host, uint64_t attempt, uint32_t rank,
                     uint8_t secret[GW_TLS_SECRET_BYTES])
{
    char label[64];
    (void)snprintf(label, sizeof label, "task %" PRIu64 ".%" PRIu32, attempt, rank);
    return gw_tls_secret_derive(host->task_socket.secret, label, secret);
}

int gw_task_socket_introduce(struct gw_host *host, const struct gw_effect *effect,
                             char line[PATH_MAX])
{
    uint8_t secret[GW_TLS_SECRET_BYTES];
    char hex[GW_HASH_TEXT_BYTES];
    /* A private cluster is only for the client that started it */
    int rc = host->options.private_cluster ? GW_EIO : open_once(host);
    if (rc == 0)
        rc = secret_of(host, effect->number, effect->count, secret);
    if (rc < 0)
        return GW_EIO;
    gw_hash_format(secret, hex);
    const struct gw_bin address = effect->bytes.size ? effect->bytes : (struct gw_bin){"-", 1};
    int length = snprintf(line, PATH_MAX, "GANGWAY_IDENTITY=%" PRIu64 ".%" PRIu32 ".%s %.*s %s",
                          effect->number, effect->count, hex, (int)address.size,
                          (const char *)address.data, host->task_socket.path);
    return length < PATH_MAX ? 0 : GW_EIO;
}

static bool is_proven(const struct gw_host *host, const struct gw_msg_hello *hello)
{
    uint8_t secret[GW_TLS_SECRET_BYTES];
    return *host->task_socket.path && hello->secret.size == sizeof secret &&
           secret_of(host, hello->attempt, hello->rank, secret) == 0 &&
           gw_tls_secret_equals((const uint8_t *)hello->secret.data, secret);
}

/* -- Connections ---------------------------------------------------------------------------------
 */

static int check_count(const struct gw_host *host, uid_t user, struct gw_error *error)
{
    if (host->relays.count >= RELAYS_MAX)
        return gw_error_set(error, GW_EAGAIN,
                            "%d processes of tasks on this worker use the cluster, which is the "
                            "most: wait until some have ended",
                            RELAYS_MAX);
    if (host->options.separate_users && gw_relays_of(&host->relays, user) >= RELAYS_OF_USER_MAX)
        return gw_error_set(error, GW_EAGAIN,
                            "%d processes of this user's tasks on this worker use the cluster, "
                            "which is the most of a user: wait until some have ended",
                            RELAYS_OF_USER_MAX);
    return 0;
}

static int connect_task(struct gw_host_link *link, const struct gw_msg_hello *hello, int *fd,
                        struct gw_error *error)
{
    struct gw_host *host = link->host;
    struct gw_node_place place;
    struct ucred peer;
    if (!is_proven(host, hello))
        return gw_error_set(error, GW_EPERM,
                            "GANGWAY_IDENTITY is not that of a task on this worker: unset it to "
                            "use another cluster");
    const bool runs = gw_node_core_find(host->core, hello->attempt, hello->rank, &place);
    if (runs && !gw_users_may_connect(host, gw_link_fd(link->link), place.process))
        return gw_error_set(error, GW_EPERM,
                            "GANGWAY_IDENTITY is that of another user's task: unset it");
    if (!runs)
        return gw_error_set(error, GW_EPERM,
                            "the task that started this process has ended, so the process may no "
                            "longer use the cluster");
    if (!host->welcomed)
        return gw_error_set(error, GW_EAGAIN,
                            "this worker has no connection to the scheduler at the moment");
    int rc = gw_link_peer(link->link, &peer);
    if (rc == 0)
        rc = check_count(host, peer.uid, error);
    if (rc == 0)
        rc = gw_host_link_connect_task(host, hello->attempt, hello->rank, fd, error);
    if (rc == 0 && host->options.separate_users)
        gw_relays_set_user(&host->relays, peer.uid);
    return rc;
}

void gw_task_socket_answer(struct gw_host_link *link, const struct gw_msg_hello *hello)
{
    struct gw_message message = {.type = GW_MESSAGE_task_linked};
    struct gw_error error = {0};
    int fd = -1, rc = connect_task(link, hello, &fd, &error);
    message.task_linked = (struct gw_msg_task_linked){
        .attempt = hello->attempt, .code = rc, .text = rc < 0 ? error.text : ""};
    (void)gw_link_send(link->link, &message, (struct gw_channel_fds){&fd, rc == 0, true});
    gw_link_close(link->link);
}
