/* Orphaned files: data that a worker finds in its folder when it starts or reconnects.
 *
 * Invariants: data of a job is removed only after its scheduler has said that it does not know the
 * job or, for checkpoints, that the job will not run again. Data of another cluster, whose jobs
 * have the same numbers, is renamed and kept. A scheduler that has lost its state counts as another
 * cluster, too. So a worker that is started again (after a crash, by a service manager, after a
 * reboot) still has the checkpoints of gangs and the output of tasks. Data to be removed is first
 * renamed, at once, so that nobody finds it half removed. */
#include "worker/net/checkpoints/orphaned_files.h"

#include "graph/base/array.h"
#include "graph/base/dir.h"
#include "graph/base/files.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/net/checkpoints/transfer.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/store/checkpoint_path.h"
#include "worker/store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ASIDE ".gone-"
/* Not the name of a job; a scheduler that owns the folder also removes such names */
#define OVER "over-"

enum { CLUSTER_BYTES = 64, ROOM = 2 * PATH_MAX, SWEEP_MS = 1000 };

struct removal {
    uv_work_t work;
    char path[PATH_MAX + 64];
};

static void removal_on_thread(uv_work_t *work)
{
    const struct removal *removal = work->data;
    struct gw_error error;
    if (gw_dir_remove(removal->path, &error) < 0)
        gw_log_warn("%s", error.text);
}

static void removal_on_done(uv_work_t *work, int status)
{
    (void)status;
    free(work->data);
}

/* -- Removal -------------------------------------------------------------------------------------
 */

/* Creates a folder that data is moved into and that is then removed with all of it. */
static struct removal *removal_new(struct gw_host *host)
{
    struct removal *removal = calloc(1, sizeof *removal);
    GW_MUST_PTR(removal);
    removal->work.data = removal;
    (void)snprintf(removal->path, sizeof removal->path, "%s/" ASIDE "%016" PRIx64 ".%" PRIu64,
                   host->options.dir, host->incarnation, ++host->set_aside);
    (void)gw_dir_make(removal->path, NULL);
    return removal;
}

static void removal_start(struct gw_host *host, struct removal *removal)
{
    GW_MUST(uv_queue_work(host->loop, &removal->work, removal_on_thread, removal_on_done));
}

static void set_aside(const struct removal *removal, const char *folder, const char *name)
{
    char from[ROOM], to[ROOM];
    const char *last = strrchr(folder, '/');
    (void)snprintf(from, sizeof from, "%s/%s", folder, name);
    (void)snprintf(to, sizeof to, "%s/%s.%s", removal->path, last ? last + 1 : "", name);
    if (rename(from, to) < 0 && errno != ENOENT)
        gw_log_warn("cannot move %s: %s", from, strerror(errno));
}

/* Returns the job of an entry, which is named "5" or, for a copy, "5.0". 0: it belongs to no job.
 */
static uint64_t job_of(const char *name)
{
    char *end;
    uint64_t job = *name >= '0' && *name <= '9' ? strtoull(name, &end, 10) : 0;
    return job && (*end == '\0' || *end == '.') ? job : 0;
}

/* -- Earlier incarnations of workers -------------------------------------------------------------
 */

/* Takes over the copies that earlier incarnations of workers have kept here in case that the
 * checkpoint's host is lost. A worker that lives has locked its copies, or is alone in its folder.
 */
static void adopt_copies(struct gw_host *host, const char *dir)
{
    char all[PATH_MAX + 16], own[PATH_MAX + 64], theirs[ROOM], from[ROOM + 256], to[ROOM];
    (void)snprintf(all, sizeof all, "%s/.copies", dir);
    gw_checkpoint_path_copy(dir, host->incarnation, 0, 0, own, sizeof own);
    DIR *lives = gw_files_opendir(all);
    for (const struct dirent *life; lives && (life = readdir(lives));) {
        (void)snprintf(theirs, sizeof theirs, "%s/%s", all, life->d_name);
        if (life->d_name[0] == '.' || strcmp(theirs, own) == 0 || gw_dir_make(own, NULL) < 0)
            continue;
        const int lock = gw_folder_lock(theirs, LOCK_EX);
        DIR *copies = lock < 0 ? NULL : gw_files_opendir(theirs);
        if (copies)
            gw_transfers_adopted(host->transfers);
        for (const struct dirent *copy; copies && (copy = readdir(copies));) {
            (void)snprintf(from, sizeof from, "%s/%s", theirs, copy->d_name);
            (void)snprintf(to, sizeof to, "%s/%s", own, copy->d_name);
            if (job_of(copy->d_name))
                (void)gw_files_rename(from, to);
        }
        if (copies && gw_files_are_remote(theirs))
            (void)gw_files_remove(theirs);
        else if (copies)
            (void)rmdir(theirs);
        if (copies)
            (void)closedir(copies);
        if (lock >= 0)
            close(lock);
    }
    if (lives)
        (void)closedir(lives);
}

/* Sets aside all entries of a folder whose names begin with the prefix. They belong to no job. */
static void set_aside_named(const struct removal *removal, const char *folder, const char *prefix)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
            set_aside(removal, folder, entry->d_name);
    if (dir)
        (void)closedir(dir);
}

/* Removes the sockets of workers that were killed. A socket is removed if connecting is refused and
 * its process is dead. A socket that is about to listen refuses, too, but its process lives. */
static void remove_sockets(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        int pid, end = 0;
        if ((sscanf(entry->d_name, "worker-%d.sock%n", &pid, &end) != 1 &&
             sscanf(entry->d_name, "tasks-%d.sock%n", &pid, &end) != 1 &&
             sscanf(entry->d_name, "report-%d-%*u.sock%n", &pid, &end) != 1) ||
            !end || entry->d_name[end] || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH ||
            snprintf(address.sun_path, sizeof address.sun_path, "%s/%s", folder, entry->d_name) >=
                (int)sizeof address.sun_path)
            continue;
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 &&
            errno == ECONNREFUSED)
            (void)unlink(address.sun_path);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        (void)closedir(dir);
}

void gw_orphaned_files_open(struct gw_host *host)
{
    remove_sockets(host->options.dir);
    if (!host->options.first_in_folder)
        return;
    adopt_copies(host, host->checkpoint_dir);
    /* Data that an earlier incarnation had set aside and not removed */
    DIR *dir = opendir(host->options.dir);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, ASIDE, strlen(ASIDE)) != 0)
            continue;
        struct removal *removal = calloc(1, sizeof *removal);
        GW_MUST_PTR(removal);
        removal->work.data = removal;
        (void)snprintf(removal->path, sizeof removal->path, "%s/%.60s", host->options.dir,
                       entry->d_name);
        removal_start(host, removal);
    }
    if (dir)
        (void)closedir(dir);
    struct removal *removal = removal_new(host);
    set_aside_named(removal, host->checkpoint_dir, ".transfers");
    set_aside_named(removal, host->checkpoint_dir, ".worker-");
    set_aside_named(removal, host->checkpoint_dir, OVER);
    set_aside_named(removal, host->log_dir, "runner.");
    removal_start(host, removal);
}

/* -- Data of another cluster ---------------------------------------------------------------------
 */

/* Moves an entry of a folder into the folder `aside`, which is created at the first entry. */
static void move_aside(const char *aside, const char *folder, const char *name)
{
    char from[ROOM], to[ROOM];
    const char *last = strrchr(folder, '/');
    (void)snprintf(from, sizeof from, "%s/%s", folder, name);
    (void)snprintf(to, sizeof to, "%s/%s.%s", aside, last ? last + 1 : "", name);
    if (access(from, F_OK) < 0)
        return;
    if (mkdir(aside, 0700) == 0)
        gw_log_warn("output and checkpoints of another cluster's jobs were moved to %s: remove "
                    "that folder if nobody needs them",
                    aside);
    if (rename(from, to) < 0)
        gw_log_warn("cannot move %s: %s", from, strerror(errno));
}

static void move_jobs_aside(const char *aside, const char *folder)
{
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        if (job_of(entry->d_name))
            move_aside(aside, folder, entry->d_name);
    if (dir)
        (void)closedir(dir);
}

void gw_orphaned_files_on_welcome(struct gw_host *host, const char *cluster)
{
    char path[PATH_MAX + 16], aside[PATH_MAX + 64], known[CLUSTER_BYTES] = "";
    if (!host->options.connect || !*cluster)
        return;
    (void)snprintf(path, sizeof path, "%s/cluster", host->options.dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) < 0 || read(fd, known, sizeof known - 1) < 0) {
        gw_log_warn("cannot use %s: %s: if its folder has data of another cluster, that data is "
                    "not recognised",
                    path, strerror(errno));
    } else if (strcmp(known, cluster) != 0) {
        (void)uv_timer_stop(&host->sweep_timer);
        gw_orphaned_files_close(host); /* the sweep contains jobs of the other cluster */
        const bool whole = strspn(known, "0123456789abcdef") == strlen(known) && *known;
        (void)snprintf(aside, sizeof aside, "%s/foreign-%.8s.%016" PRIx64 ".%" PRIu64,
                       host->options.dir, whole ? known : "unknown", host->incarnation,
                       ++host->set_aside);
        move_jobs_aside(aside, host->checkpoint_dir);
        move_jobs_aside(aside, host->log_dir);
        move_aside(aside, host->checkpoint_dir, ".copies");
        const size_t bytes = strlen(cluster);
        if (ftruncate(fd, 0) < 0 || pwrite(fd, cluster, bytes, 0) != (ssize_t)bytes)
            gw_log_warn("%s: %s", path, strerror(errno));
    }
    if (fd >= 0)
        close(fd);
}

/* -- Data of this cluster ------------------------------------------------------------------------
 */

struct found {
    GW_ARRAY(uint64_t) jobs;
};

static void tell(struct gw_host *host, struct found *found)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_orphaned_files,
        .orphaned_files.job = {found->jobs.items, (uint32_t)found->jobs.count}};
    if (found->jobs.count)
        gw_host_send_scheduler(&message, host);
    gw_array_clear(&found->jobs);
}

/* Returns true if the folder of a separate user is that for the present cluster. */
static bool is_present(const struct gw_host *host, const char *folder)
{
    return *host->cluster && strcmp(strrchr(folder, '/') + 1, host->cluster) == 0;
}

static void find(struct gw_host *host, struct found *found, const char *folder)
{
    DIR *dir = gw_files_opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        uint64_t job = job_of(entry->d_name);
        if (job)
            GW_MUST(gw_array_push(&found->jobs, job));
        if (found->jobs.count == GW_ORPHANED_FILES_MAX)
            tell(host, found);
    }
    if (dir)
        (void)closedir(dir);
}

void gw_orphaned_files_tell(struct gw_host *host)
{
    char copies[PATH_MAX + 64];
    struct found found = {0};
    if (!host->options.connect)
        return;
    gw_checkpoint_path_copy(host->checkpoint_dir, host->incarnation, 0, 0, copies, sizeof copies);
    find(host, &found, host->checkpoint_dir);
    find(host, &found, host->log_dir);
    find(host, &found, copies);
    tell(host, &found);
    gw_array_deinit(&found.jobs);
    char **folder;
    GW_ARRAY_EACH (&host->user_folders, folder)
        gw_orphaned_files_tell_folder(host, *folder);
}

void gw_orphaned_files_tell_folder(struct gw_host *host, const char *folder)
{
    char path[PATH_MAX + 16], copies[PATH_MAX + 64];
    struct found found = {0};
    if (!is_present(host, folder))
        return;
    (void)snprintf(path, sizeof path, "%s/checkpoints", folder);
    adopt_copies(host, path);
    gw_checkpoint_path_copy(path, host->incarnation, 0, 0, copies, sizeof copies);
    find(host, &found, path);
    find(host, &found, copies);
    (void)snprintf(path, sizeof path, "%s/logs", folder);
    find(host, &found, path);
    tell(host, &found);
    gw_array_deinit(&found.jobs);
}

/* Removes what a job has in a folder of a separate user. */
static void remove_of_user(const char *folder, const char *kind, uint64_t job)
{
    char path[PATH_MAX + 64];
    struct gw_error error;
    (void)snprintf(path, sizeof path, "%s/%s/%" PRIu64, folder, kind, job);
    if (gw_files_access(path, F_OK) == 0 && gw_dir_remove(path, &error) < 0)
        gw_log_warn("%s", error.text);
}

void gw_orphaned_files_on_unknown(struct gw_host *host, const struct gw_msg_orphaned_files *unknown)
{
    struct removal *removal = removal_new(host);
    for (uint32_t i = 0; i < unknown->job.count; i++) {
        const uint64_t job = gw_col64_at(unknown->job, i);
        char name[32];
        (void)snprintf(name, sizeof name, "%" PRIu64, job);
        set_aside(removal, host->checkpoint_dir, name);
        set_aside(removal, host->log_dir, name);
        char **folder;
        GW_ARRAY_EACH (&host->user_folders, folder) {
            if (!is_present(host, *folder))
                continue;
            remove_of_user(*folder, "checkpoints", job);
            remove_of_user(*folder, "logs", job);
        }
        gw_transfer_forget(host->transfers, job);
    }
    removal_start(host, removal);
}

/* -- Jobs that are over --------------------------------------------------------------------------
 *
 * Very few jobs have a folder here, so all jobs that end within a second are checked together.
 */

struct gw_sweep {
    uv_work_t work;
    char dir[PATH_MAX];
    GW_ARRAY(char *) users; /* folders of separate users, owned */
    GW_ARRAY(uint64_t) jobs;
};

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Several workers may share the folder. Only one of them succeeds in renaming it. */
static void remove_folder(const struct gw_sweep *sweep, uint64_t job)
{
    char from[PATH_MAX + 32], to[PATH_MAX + 32];
    struct gw_error error;
    (void)snprintf(from, sizeof from, "%s/%" PRIu64, sweep->dir, job);
    (void)snprintf(to, sizeof to, "%s/" OVER "%" PRIu64, sweep->dir, job);
    if (rename(from, to) == 0 && gw_dir_remove(to, &error) < 0)
        gw_log_warn("%s", error.text);
}

/* Removes the checkpoints that the jobs have in the folder of a separate user. */
static void sweep_user(const struct gw_sweep *sweep, const char *folder)
{
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/checkpoints", folder);
    DIR *dir = gw_files_opendir(path);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        const uint64_t job = job_of(entry->d_name);
        if (job && bsearch(&job, sweep->jobs.items, sweep->jobs.count, sizeof job, by_number))
            remove_of_user(folder, "checkpoints", job);
    }
    if (dir)
        (void)closedir(dir);
}

static void sweep_on_thread(uv_work_t *work)
{
    const struct gw_sweep *sweep = work->data;
    qsort(sweep->jobs.items, sweep->jobs.count, sizeof *sweep->jobs.items, by_number);
    for (size_t i = 0; i < sweep->users.count; i++)
        sweep_user(sweep, sweep->users.items[i]);
    DIR *dir = opendir(sweep->dir);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        const uint64_t job = job_of(entry->d_name);
        if (job && bsearch(&job, sweep->jobs.items, sweep->jobs.count, sizeof job, by_number))
            remove_folder(sweep, job);
    }
    if (dir)
        (void)closedir(dir);
}

static void sweep_free(struct gw_sweep *sweep)
{
    for (size_t i = 0; i < sweep->users.count; i++)
        free(sweep->users.items[i]);
    gw_array_deinit(&sweep->users);
    gw_array_deinit(&sweep->jobs);
    free(sweep);
}

static void sweep_on_done(uv_work_t *work, int status)
{
    (void)status;
    sweep_free(work->data);
}

static void sweep_on_timer(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    struct gw_sweep *sweep = host->sweep;
    host->sweep = NULL;
    char **folder;
    GW_ARRAY_EACH (&host->user_folders, folder) {
        if (!is_present(host, *folder))
            continue;
        char *copy = strdup(*folder);
        GW_MUST_PTR(copy);
        GW_MUST(gw_array_push(&sweep->users, copy));
    }
    GW_MUST(uv_queue_work(host->loop, &sweep->work, sweep_on_thread, sweep_on_done));
}

void gw_orphaned_files_on_forget(struct gw_host *host, uint64_t job)
{
    if (!host->sweep) {
        host->sweep = calloc(1, sizeof *host->sweep);
        GW_MUST_PTR(host->sweep);
        host->sweep->work.data = host->sweep;
        memcpy(host->sweep->dir, host->checkpoint_dir, sizeof host->sweep->dir);
        (void)uv_timer_start(&host->sweep_timer, sweep_on_timer, SWEEP_MS, 0);
    }
    GW_MUST(gw_array_push(&host->sweep->jobs, job));
}

void gw_orphaned_files_close(struct gw_host *host)
{
    if (host->sweep)
        sweep_free(host->sweep);
    host->sweep = NULL;
}
