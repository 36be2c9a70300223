/* Files of cgroups. */
#include "graph/base/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int gw_cgroup_file_put(const char *cgroup, const char *name, const char *text)
{
    char path[PATH_MAX + 64];
    (void)snprintf(path, sizeof path, "%s/%s", cgroup, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int rc = fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

void gw_cgroup_file_enable(const char *cgroup)
{
    static const char *const controllers[] = {"+cpu", "+memory", "+pids"};
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++)
        (void)gw_cgroup_file_put(cgroup, "cgroup.subtree_control", controllers[i]);
}
