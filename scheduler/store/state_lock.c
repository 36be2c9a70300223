/* The lock of a state folder. The lock file holds the process id of its owner. */
#include "scheduler/store/state_lock.h"

#include "graph/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

int gw_state_lock_take(const char *dir, int *taken, struct gw_error *error)
{
    char path[PATH_MAX];
    char owner[32] = "";
    (void)snprintf(path, sizeof path, "%s/lock", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    *taken = fd;
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t got = pread(fd, owner, sizeof owner - 1, 0);
        owner[got > 0 ? got : 0] = '\0';
        owner[strcspn(owner, "\n")] = '\0';
        return gw_error_set(error, GW_EEXIST,
                            "the state in %s is in use by another scheduler (process %s): end that "
                            "one first, or give another folder by --state",
                            dir, *owner ? owner : "?");
    }
    int bytes = snprintf(owner, sizeof owner, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, owner, (size_t)bytes, 0) < 0)
        gw_log_warn("%s: %s", path, strerror(errno)); /* the id is only information for users */
    return 0;
}
