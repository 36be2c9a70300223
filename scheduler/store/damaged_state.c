/* Moves a damaged state aside by renaming. Nothing is deleted. */
#include "scheduler/store/damaged_state.h"

#include "graph/base/log.h"
#include "scheduler/store/reserve.h"
#include "scheduler/store/state_lock.h"
#include "scheduler/store/watermark.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Renames `from`/name to `to`/name. A missing file is skipped. */
static int move(const char *from, const char *to, const char *name, struct gw_error *error)
{
    char source[PATH_MAX + 64], target[PATH_MAX + 64];
    (void)snprintf(source, sizeof source, "%s/%s", from, name);
    (void)snprintf(target, sizeof target, "%s/%s", to, name);
    if (rename(source, target) < 0 && errno != ENOENT)
        return gw_error_set(error, GW_EIO, "cannot move the damaged state from %s to %s: %s",
                            source, target, strerror(errno));
    return 0;
}

/* Renames the folders that workers on this machine keep for jobs, because the new state numbers
 * jobs from 1 again. */
static int move_jobs(const char *dir, const char *to, struct gw_error *error)
{
    static const char *const folders[] = {"checkpoints", "logs"};
    char source[PATH_MAX + 64], target[PATH_MAX + 64];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        (void)snprintf(source, sizeof source, "%s/%s", dir, folders[i]);
        (void)snprintf(target, sizeof target, "%s/%s.%s", dir, folders[i], strrchr(to, '/') + 1);
        if (rename(source, target) == 0)
            gw_log_warn("%s is %s now", source, target);
        else if (errno != ENOENT)
            return gw_error_set(error, GW_EIO, "cannot move the damaged state from %s to %s: %s",
                                source, target, strerror(errno));
    }
    return 0;
}

int gw_damaged_state_set_aside(const char *dir, const char *jobs, char to[PATH_MAX],
                               struct gw_error *error)
{
    static const char *const names[] = {
        "facts.db", "facts.db-wal", "facts.db-shm", GW_WATERMARK_NAME,
        "cluster",  "programs",     "blobs"};
    char state[PATH_MAX];
    int lock_fd = -1;
    const time_t now = time(NULL);
    struct tm when;
    char stamp[32];
    if (!realpath(dir, state) || strlen(state) >= sizeof state - 33)
        return gw_error_set(error, GW_EIO, "%s: %s", dir, strerror(errno));
    int rc = gw_state_lock_take(state, &lock_fd, error);
    (void)strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", gmtime_r(&now, &when));
    for (int i = 0; rc == 0; i++) {
        if (snprintf(to, PATH_MAX, "%s/damaged-%s.%d", state, stamp, i) >= PATH_MAX)
            rc = gw_error_set(error, GW_EIO,
                              "%s: the path, or a path below it, is longer than %d bytes", state,
                              PATH_MAX - 1);
        else if (mkdir(to, 0700) == 0)
            break;
        else if (errno != EEXIST)
            rc = gw_error_set(error, GW_EIO, "%s: %s", to, strerror(errno));
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && rc == 0; i++)
        rc = move(state, to, names[i], error);
    if (rc == 0 && jobs)
        rc = move_jobs(jobs, to, error);
    if (rc == 0)
        gw_reserve_drop(state); /* a sign of an earlier term, without content */
    if (lock_fd >= 0)
        close(lock_fd);
    return rc;
}
