/* Users of a worker, and which of their processes run.
 *
 * The worker waits for the launcher and for agents, at most LAUNCH_S_MAX or the limit of an
 * operation, which is short if the agent is stopped (graph/base/files.c). All users wait then, so
 * this must not happen often. A launcher that did not answer is not asked for RETRY_NS. A user
 * whose agent did not answer is refused for a time that doubles with each incident; only the first
 * incident has no consequence but that the user's processes are started anew. */
#include "worker/net/tasks/users.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/files.h"
#include "graph/base/log.h"
#include "graph/wire/enums.h"
#include "worker/launcher/request.h"
#include "worker/net/checkpoints/orphaned_files.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/send.h"
#include "worker/store/checkpoint_path.h"
#include "worker/store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCH_S_MAX = 2, FORMER_DAYS = 7 };
enum { UNANSWERED_MAX = 15 }; /* heartbeats, which a supervisor answers; one a second */
#define RETRY_NS (10 * GW_NS_PER_S)
#define RETRY_SOON_NS GW_NS_PER_S /* pause after a launcher that does not run */
#define REFUSAL_NS (10 * GW_NS_PER_S)
#define REFUSAL_NS_MAX (640 * GW_NS_PER_S)
#define FORGET_NS (3600 * GW_NS_PER_S) /* incidents are forgotten after this time without one */

/* Folder of users whom the launcher has refused: it does not exist. */
#define REFUSED "/nonexistent/gangway-users/"
/* Name of a user who has only processes that end. No user of the scheduler has it. */
#define FORMER "/"

struct gw_user {
    char name[GW_LAUNCHER_NAME_MAX + 1];
    char *base;    /* the folder that the launcher made; NULL: never started */
    char *folder;  /* below it, the folder for this cluster, in which job numbers are unique */
    char *refused; /* REFUSED and the name */
    struct gw_host_link *supervisor; /* NULL: does not run */
    struct gw_error error;           /* why the user is refused; code 0: is not */
    uint64_t retry_ns;               /* the user is refused until then */
    uint64_t incident_ns;            /* when the agent did not answer last */
    uint32_t incidents;              /* how often it did not */
    uid_t uid;                       /* of the Unix user */
    pid_t supervisor_pid, files_pid; /* files_pid: of the agent */
    uint32_t unanswered;             /* heartbeats without an answer */
    bool silent;                     /* the supervisor did not answer in time */
};

/* States of a process, in the map `user_processes`, beside the index of its user. */
enum { STARTING, RUNNING, EXITED, STATES = 4 };

#define SILENT                                                                                     \
    "the process gangway-guard of its user, which starts the user's tasks, did not answer for "    \
    "15 s, so it was killed"
#define NO_ANSWER                                                                                  \
    "the launcher does not answer: look at the log of gangway-launcher, which may wait for the "   \
    "system's database of users"

/* -- The launcher --------------------------------------------------------------------------------
 */

static int connect_launcher(int *fd, struct gw_error *error)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GW_LAUNCHER_SOCKET};
    const struct timeval limit = {.tv_sec = LAUNCH_S_MAX};
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (*fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0 &&
        setsockopt(*fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
        connect(*fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    (void)gw_error_set(error, GW_EIO,
                       "cannot reach the launcher at %s: %s: start gangway-launcher as root, and "
                       "this worker as the user " GW_LAUNCHER_WORKER,
                       GW_LAUNCHER_SOCKET, strerror(errno));
    if (*fd >= 0)
        close(*fd);
    return GW_EIO;
}

static bool send_request(int fd, const struct gw_launch_request *request, int carried)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)request, sizeof *request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof carried);
    memcpy(CMSG_DATA(head), &carried, sizeof carried);
    return sendmsg(fd, &message, MSG_NOSIGNAL) == sizeof *request;
}

/* Starts a process of a user. *ours becomes this end of its socket. The launcher is not asked
 * before *asks_ns. */
static int launch(const char *name, uint32_t kind, uint64_t *asks_ns, int *ours,
                  struct gw_launch_reply *reply, struct gw_error *error)
{
    struct gw_launch_request request = {.version = GW_LAUNCHER_VERSION, .kind = kind};
    int pair[2], fd;
    (void)snprintf(request.user, sizeof request.user, "%s", name);
    if (gw_clock_now_ns() < *asks_ns)
        return gw_error_set(error, GW_EIO, NO_ANSWER);
    int rc = connect_launcher(&fd, error);
    if (rc < 0)
        return rc;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        close(fd);
        return gw_error_set(error, GW_EIO, "socketpair: %s", strerror(errno));
    }
    const uint64_t begun_ns = gw_clock_now_ns();
    if (!send_request(fd, &request, pair[1]) || recv(fd, reply, sizeof *reply, 0) != sizeof *reply)
        rc = gw_error_set(error, GW_EIO, NO_ANSWER);
    else if (reply->code < 0)
        rc = gw_error_set(error, reply->code, "%.*s", (int)sizeof reply->text, reply->text);
    if (gw_clock_now_ns() >= begun_ns + LAUNCH_S_MAX * GW_NS_PER_S)
        *asks_ns = gw_clock_now_ns() + RETRY_NS;
    close(fd);
    close(pair[1]);
    if (rc < 0)
        close(pair[0]);
    else
        *ours = pair[0];
    return rc;
}

int gw_users_check(const struct gw_host *host, struct gw_error *error)
{
    int fd, rc = host->options.separate_users ? connect_launcher(&fd, error) : 0;
    if (host->options.separate_users && rc == 0)
        close(fd);
    return rc;
}

/* -- Users ---------------------------------------------------------------------------------------
 */

static bool runs(const struct gw_user *user)
{
    return user->supervisor && !user->supervisor->closed && gw_files_lives(user->base);
}

/* Removes the folders of other clusters in which no job has made a folder for FORMER_DAYS, and that
 * no worker of such a cluster has locked. */
static void remove_former(const struct gw_user *user)
{
    static const char *const names[] = {"logs", "checkpoints", "work"};
    char folder[PATH_MAX], path[PATH_MAX + 16];
    const char *own = strrchr(user->folder, '/') + 1;
    const time_t oldest = time(NULL) - (time_t)FORMER_DAYS * 24 * 3600;
    DIR *listing = gw_files_opendir(user->base);
    for (const struct dirent *entry; listing && (entry = readdir(listing));) {
        bool old = *entry->d_name != '.' && strcmp(entry->d_name, own) != 0;
        struct stat status;
        (void)snprintf(folder, sizeof folder, "%.*s/%s", PATH_MAX - 300, user->base, entry->d_name);
        old = old && gw_files_stat(folder, &status) == 0 && S_ISDIR(status.st_mode) &&
              status.st_mtim.tv_sec < oldest;
        for (size_t i = 0; i < sizeof names / sizeof *names && old; i++) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            old = gw_files_stat(path, &status) < 0 || status.st_mtim.tv_sec < oldest;
        }
        const int lock = old ? gw_folder_lock(folder, LOCK_EX) : -1;
        if (lock < 0)
            continue;
        gw_log_info("removing %s, with output and checkpoints of user %s: no worker has used it "
                    "for %d days",
                    folder, user->name, FORMER_DAYS);
        (void)gw_dir_remove(folder, NULL);
        close(lock);
    }
    if (listing)
        (void)closedir(listing);
}

/* Locks the user's folder, and this worker's copies of checkpoints in it, as long as this worker
 * lives. Workers of the same host share the user's folders. */
static int lock_folders(struct gw_host *host, const char *folder, struct gw_error *error)
{
    char path[PATH_MAX + 16], copies[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/checkpoints", folder);
    gw_checkpoint_path_copy(path, host->incarnation, 0, 0, copies, sizeof copies);
    const char *const paths[] = {folder, copies};
    int rc = gw_dir_make(copies, error);
    for (size_t i = 0; i < 2 && rc == 0; i++) {
        const int fd = gw_folder_lock(paths[i], LOCK_SH);
        if (fd < 0)
            rc = gw_error_set(error, GW_EIO, "another process has locked %s", paths[i]);
        else
            GW_MUST(gw_array_push(&host->user_locks, fd));
    }
    return rc;
}

/* Makes the user's folder for the present cluster. At the first start, the working folders that
 * dead workers left in it are removed. */
static int enter(struct gw_host *host, struct gw_user *user, struct gw_error *error)
{
    char folder[PATH_MAX], work[PATH_MAX + 16];
    (void)snprintf(folder, sizeof folder, "%.*s/%s", PATH_MAX - 80, user->base,
                   *host->cluster ? host->cluster : "unknown");
    if (user->folder && strcmp(user->folder, folder) == 0)
        return 0;
    static const char *const names[] = {"logs", "checkpoints", "work"};
    int rc = gw_dir_make(folder, error);
    for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++) {
        (void)snprintf(work, sizeof work, "%s/%s", folder, names[i]);
        rc = gw_dir_make(work, error);
    }
    if (rc == 0)
        rc = lock_folders(host, folder, error);
    if (rc < 0)
        return rc;
    char *noted = strdup(folder);
    free(user->folder);
    user->folder = strdup(folder);
    GW_MUST_PTR(user->folder);
    GW_MUST_PTR(noted);
    GW_MUST(gw_array_push(&host->user_folders, noted));
    gw_folder_sweep(work);
    remove_former(user);
    gw_orphaned_files_tell_folder(host, folder);
    return 0;
}

/* Closes the connection to a user's supervisor. Until its end is handled, in a later turn of the
 * loop, its processes belong to a user without a name. */
static void leave(struct gw_host *host, struct gw_user *user)
{
    size_t mine = 0, former = 0, at = 0;
    uint64_t process, value;
    while (host->users.items[mine] != user)
        mine++;
    while (former < host->users.count && (strcmp(host->users.items[former]->name, FORMER) != 0 ||
                                          host->users.items[former]->supervisor))
        former++;
    if (former == host->users.count) {
        struct gw_user *made = calloc(1, sizeof *made);
        GW_MUST_PTR(made);
        strcpy(made->name, FORMER);
        GW_MUST(gw_array_push(&host->users, made));
    }
    while (gw_map_next(&host->user_processes, &at, &process, &value))
        if (value / STATES == mine)
            GW_MUST(gw_map_put(&host->user_processes, process, former * STATES + value % STATES));
    host->users.items[former]->supervisor = user->supervisor;
    host->users.items[former]->silent = user->silent;
    gw_link_close(user->supervisor->link);
    user->supervisor = NULL;
}

/* Ends the processes of a user whose agent does not answer. Returns GW_EPERM if this has happened
 * before, and then refuses the user for some time. */
static int stop(struct gw_host *host, struct gw_user *user, uint64_t now_ns, struct gw_error *error)
{
    if (!user->supervisor || user->supervisor->closed)
        return 0;
    leave(host, user);
    if (now_ns - user->incident_ns > FORGET_NS)
        user->incidents = 0;
    user->incident_ns = now_ns;
    if (user->incidents++ == 0)
        return 0;
    uint64_t pause_ns = REFUSAL_NS;
    for (uint32_t i = 2; i < user->incidents && pause_ns < REFUSAL_NS_MAX; i++)
        pause_ns *= 2;
    user->retry_ns = now_ns + pause_ns;
    return gw_error_set(error, GW_EPERM,
                        "the user's process gangway-files was stopped or killed %u times, so the "
                        "user's tasks here were ended, and new ones are refused for %u s",
                        user->incidents, (unsigned)(pause_ns / GW_NS_PER_S));
}

static int start(struct gw_host *host, struct gw_user *user, struct gw_error *error)
{
    struct gw_launch_reply reply;
    int supervisor, files;
    int rc = launch(user->name, GW_LAUNCH_SUPERVISOR, &host->launcher_asks_ns, &supervisor, &reply,
                    error);
    if (rc < 0)
        return rc;
    user->supervisor_pid = (pid_t)reply.pid;
    user->unanswered = 0;
    user->silent = false;
    rc = launch(user->name, GW_LAUNCH_FILES, &host->launcher_asks_ns, &files, &reply, error);
    if (rc < 0) {
        close(supervisor);
        return rc;
    }
    (void)fcntl(supervisor, F_SETFL, O_NONBLOCK);
    user->supervisor = gw_host_link_new(host, supervisor, GW_ROLE_SUPERVISOR);
    if (!user->supervisor) {
        close(files);
        return gw_error_set(error, GW_EIO, "too many open files");
    }
    if (!user->base)
        user->base = strndup(reply.dir, sizeof reply.dir);
    GW_MUST_PTR(user->base);
    user->uid = reply.uid;
    user->files_pid = (pid_t)reply.pid;
    gw_files_attach(user->base, files, user->files_pid);
    rc = enter(host, user, error);
    if (rc < 0)
        return rc;
    gw_log_info("tasks of user %s run as Unix user %u", user->name, reply.uid);
    return 0;
}

const char *gw_users_folder_named(struct gw_host *host, const char *name)
{
    struct gw_user *user = NULL;
    char refused[sizeof REFUSED + GW_LAUNCHER_NAME_MAX];
    if (!host->options.separate_users)
        return "";
    if (strlen(name) > GW_LAUNCHER_NAME_MAX || strchr(name, '/'))
        name = "";
    for (size_t i = 0; i < host->users.count && !user; i++)
        if (strcmp(host->users.items[i]->name, name) == 0)
            user = host->users.items[i];
    if (!user) {
        user = calloc(1, sizeof *user);
        GW_MUST_PTR(user);
        strcpy(user->name, name);
        (void)snprintf(refused, sizeof refused, REFUSED "%s", name);
        user->refused = strdup(refused);
        GW_MUST_PTR(user->refused);
        GW_MUST(gw_array_push(&host->users, user));
    }
    const uint64_t now_ns = gw_clock_now_ns();
    if (now_ns < user->retry_ns)
        return user->refused;
    user->error.code = 0;
    int rc = runs(user) ? enter(host, user, &user->error) : stop(host, user, now_ns, &user->error);
    if (rc == 0 && !runs(user))
        rc = start(host, user, &user->error);
    if (rc == 0)
        return user->folder;
    (void)gw_error_prefix(&user->error, "tasks of user %s cannot run on this host", name);
    if (rc == GW_EIO && user->retry_ns < now_ns)
        user->retry_ns = now_ns + RETRY_SOON_NS;
    gw_log_warn("%s", user->error.text);
    return user->refused;
}

int gw_users_refused(const struct gw_host *host, const char *folder, size_t bytes,
                     struct gw_error *error)
{
    for (size_t i = 0; i < host->users.count; i++) {
        const struct gw_user *user = host->users.items[i];
        if (user->error.code && strlen(user->refused) == bytes &&
            memcmp(user->refused, folder, bytes) == 0) {
            *error = user->error;
            return error->code;
        }
    }
    return 0;
}

void gw_users_free(struct gw_host *host)
{
    for (size_t i = 0; i < host->users.count; i++) {
        struct gw_user *user = host->users.items[i];
        if (user->base)
            gw_files_detach(user->base);
        free(user->base);
        free(user->folder);
        free(user->refused);
        free(user);
    }
    gw_array_deinit(&host->users);
    for (size_t i = 0; i < host->user_folders.count; i++)
        free(host->user_folders.items[i]);
    gw_array_deinit(&host->user_folders);
    for (size_t i = 0; i < host->user_locks.count; i++)
        close(host->user_locks.items[i]);
    gw_array_deinit(&host->user_locks);
    gw_map_deinit(&host->user_processes);
}

/* Kills a supervisor that does not answer, with a new agent, since the present one may be stopped,
 * too. If this fails, the connection to the supervisor is closed. */
static void kill_silent(struct gw_host *host, struct gw_user *user)
{
    struct gw_launch_reply reply;
    struct gw_error error;
    int files;
    user->unanswered = 0;
    user->silent = true;
    gw_log_warn("the process gangway-guard of user %s, which starts the user's tasks, has not "
                "answered for %d s, so it is killed",
                user->name, UNANSWERED_MAX);
    if (launch(user->name, GW_LAUNCH_FILES, &host->launcher_asks_ns, &files, &reply, &error) < 0) {
        gw_log_warn("%s", error.text);
        leave(host, user);
        return;
    }
    gw_files_attach(user->base, files, (pid_t)reply.pid);
    (void)gw_files_kill(user->base, user->files_pid);
    user->files_pid = (pid_t)reply.pid;
    if (gw_files_kill(user->base, user->supervisor_pid) < 0)
        leave(host, user);
}

void gw_users_beat(struct gw_host *host)
{
    const struct gw_message message = {.type = GW_MESSAGE_heartbeat};
    for (size_t i = 0; i < host->users.count; i++) {
        struct gw_user *user = host->users.items[i];
        if (!user->supervisor || user->supervisor->closed || strcmp(user->name, FORMER) == 0)
            continue;
        if (user->unanswered++ < UNANSWERED_MAX)
            gw_host_send(user->supervisor, &message, NULL, 0);
        else
            kill_silent(host, user);
    }
}

/* -- Processes -----------------------------------------------------------------------------------
 */

static bool is_below(const char *path, const char *folder)
{
    size_t length = folder ? strlen(folder) : 0;
    return length && strncmp(path, folder, length) == 0 && path[length] == '/';
}

const char *gw_users_begin(struct gw_host *host, const struct gw_msg_spawn *spawn)
{
    if (!host->options.separate_users)
        return NULL;
    for (size_t i = 0; i < host->users.count; i++) {
        struct gw_user *user = host->users.items[i];
        if (is_below(spawn->out, user->refused))
            return user->error.text;
        if (!is_below(spawn->out, user->base))
            continue;
        if (!runs(user))
            return "the supervisor of its user has ended";
        GW_MUST(gw_map_put(&host->user_processes, spawn->process, i * STATES + STARTING));
        return NULL;
    }
    return "this worker runs only tasks of users, and this one has no user";
}

static struct gw_user *user_of(const struct gw_host *host, uint64_t process, uint32_t *state)
{
    uint64_t value;
    if (!gw_map_get(&host->user_processes, process, &value))
        return NULL;
    *state = value % STATES;
    return host->users.items[value / STATES];
}

struct gw_host_link *gw_users_join(struct gw_host *host, uint64_t process, uint64_t beside,
                                   const char *folder)
{
    uint64_t value;
    size_t i = 0;
    if (!host->options.separate_users)
        return host->supervisor;
    if (gw_map_get(&host->user_processes, beside, &value))
        i = value / STATES;
    else
        while (i < host->users.count && (beside || !host->users.items[i]->folder ||
                                         strcmp(host->users.items[i]->folder, folder) != 0))
            i++;
    if (i == host->users.count || !runs(host->users.items[i]))
        return NULL;
    GW_MUST(gw_map_put(&host->user_processes, process, i * STATES + STARTING));
    return host->users.items[i]->supervisor;
}

const char *gw_users_folder_of(const struct gw_host *host, uint64_t process)
{
    uint32_t state;
    const struct gw_user *user = user_of(host, process, &state);
    return user ? user->folder : "";
}

struct gw_host_link *gw_users_supervisor(const struct gw_host *host, uint64_t process)
{
    uint32_t state;
    if (!host->options.separate_users)
        return host->supervisor;
    const struct gw_user *user = user_of(host, process, &state);
    return user && user->supervisor && !user->supervisor->closed ? user->supervisor : NULL;
}

pid_t gw_users_pid(const struct gw_host *host, const struct gw_msg_spawned *spawned)
{
    uint32_t state;
    char path[32];
    struct stat status;
    const struct gw_user *user = user_of(host, spawned->process, &state);
    (void)snprintf(path, sizeof path, "/proc/%u", spawned->pid);
    return !host->options.separate_users ||
                   (user && stat(path, &status) == 0 && status.st_uid == user->uid)
               ? (pid_t)spawned->pid
               : 0;
}

bool gw_users_may_connect(const struct gw_host *host, int fd, uint64_t process)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    uint32_t state;
    if (!host->options.separate_users)
        return true;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return false;
    const struct gw_user *user = process ? user_of(host, process, &state) : NULL;
    for (size_t i = 0; i < host->users.count && !process && !user; i++)
        if (host->users.items[i]->base && host->users.items[i]->uid == peer.uid)
            user = host->users.items[i];
    return user && user->uid == peer.uid;
}

/* -- Reports -------------------------------------------------------------------------------------
 */

static uint64_t process_of(const struct gw_message *message)
{
    return message->type == GW_MESSAGE_spawned  ? message->spawned.process
           : message->type == GW_MESSAGE_exited ? message->exited.process
           : message->type == GW_MESSAGE_reaped ? message->reaped.process
                                                : 0;
}

void gw_users_on_answer(const struct gw_host *host, const struct gw_host_link *link)
{
    for (size_t i = 0; i < host->users.count; i++)
        if (host->users.items[i]->supervisor == link)
            host->users.items[i]->unanswered = 0;
}

bool gw_users_on_message(struct gw_host *host, const struct gw_host_link *link,
                         const struct gw_message *message)
{
    const uint64_t process = process_of(message);
    uint32_t state;
    const struct gw_user *user = user_of(host, process, &state);
    if (!process || !user || user->supervisor != link)
        return false;
    const uint32_t next = message->type == GW_MESSAGE_spawned  ? STARTING
                          : message->type == GW_MESSAGE_exited ? RUNNING
                                                               : EXITED;
    if (state != next)
        return false;
    if (message->type == GW_MESSAGE_reaped ||
        (message->type == GW_MESSAGE_spawned && message->spawned.code < 0)) {
        (void)gw_map_remove(&host->user_processes, process);
        return true;
    }
    uint64_t value;
    GW_MUST(gw_map_get(&host->user_processes, process, &value) ? 0 : GW_EIO);
    GW_MUST(gw_map_put(&host->user_processes, process, value + 1));
    return true;
}

bool gw_users_on_gone(struct gw_host *host, const struct gw_host_link *link,
                      struct gw_message *message)
{
    size_t at = 0;
    uint64_t process, value;
    while (gw_map_next(&host->user_processes, &at, &process, &value)) {
        struct gw_user *user = host->users.items[value / STATES];
        if (user->supervisor != link)
            continue;
        const char *why = user->silent ? SILENT : "the supervisor of its user has ended";
        if (value % STATES == STARTING)
            *message = (struct gw_message){
                .type = GW_MESSAGE_spawned,
                .spawned = {.process = process, .code = GW_ESTART, .text = why}};
        else if (value % STATES == RUNNING)
            *message =
                (struct gw_message){.type = GW_MESSAGE_exited,
                                    .exited = {.process = process, .signal = SIGKILL, .text = why}};
        else
            *message =
                (struct gw_message){.type = GW_MESSAGE_reaped, .reaped = {.process = process}};
        return gw_users_on_message(host, link, message);
    }
    for (size_t i = 0; i < host->users.count; i++)
        if (host->users.items[i]->supervisor == link)
            host->users.items[i]->supervisor = NULL;
    return false;
}
