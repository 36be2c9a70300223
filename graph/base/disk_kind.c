/* Kinds of file systems, recognised by their magic numbers. All FUSE file systems have the same
 * number, so they are distinguished by the name in the list of mounts. */
#include "graph/base/disk_kind.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#define FUSE 0x65735546UL

enum gw_disk_kind gw_disk_kind_decide(unsigned long magic, const char *name)
{
    static const unsigned long volatile_numbers[] = {0x01021994UL /* tmpfs */,
                                                     0x858458F6UL /* ramfs */};
    static const unsigned long network_numbers[] = {
        0x6969UL,     /* NFS */
        0x517BUL,     /* SMB */
        0xFF534D42UL, /* CIFS */
        0xFE534D42UL, /* SMB 2 */
        0x5346414FUL, /* AFS */
        0x6B414653UL, /* AFS in the kernel */
        0x73757245UL, /* Coda */
        0x00C36400UL, /* Ceph */
        0x01021997UL, /* 9P */
        0x0BD00BD0UL, /* Lustre */
        0x47504653UL, /* GPFS */
        0x19830326UL, /* BeeGFS */
    };
    static const char *const network_names[] = {
        "fuse.sshfs", "fuse.glusterfs", "fuse.ceph",    "fuse.ceph-fuse", "fuse.rclone",
        "fuse.s3fs",  "fuse.gcsfuse",   "fuse.davfs",   "fuse.curlftpfs", "fuse.mount-s3",
        "fuse.afpfs", "fuse.weed",      "fuse.moosefs", "fuse.mfs",       "fuse.juicefs",
    };
    for (size_t i = 0; i < sizeof volatile_numbers / sizeof *volatile_numbers; i++)
        if (magic == volatile_numbers[i])
            return GW_DISK_VOLATILE;
    for (size_t i = 0; i < sizeof network_numbers / sizeof *network_numbers; i++)
        if (magic == network_numbers[i])
            return GW_DISK_NETWORK;
    for (size_t i = 0; magic == FUSE && i < sizeof network_names / sizeof *network_names; i++)
        if (strcmp(name, network_names[i]) == 0)
            return GW_DISK_NETWORK;
    return GW_DISK_LOCAL;
}

/* Finds the name of the file system that is mounted from this device; "" if unknown. */
static void mount_name(dev_t device, char name[64])
{
    char line[2 * PATH_MAX], wanted[32], number[32];
    FILE *file = fopen("/proc/self/mountinfo", "re");
    *name = '\0';
    (void)snprintf(wanted, sizeof wanted, "%u:%u", major(device), minor(device));
    while (file && !*name && fgets(line, sizeof line, file)) {
        const char *rest = strstr(line, " - ");
        if (sscanf(line, "%*s %*s %31s", number) != 1 || strcmp(number, wanted) != 0 || !rest ||
            sscanf(rest, " - %63s", name) != 1)
            *name = '\0';
    }
    if (file)
        (void)fclose(file);
}

enum gw_disk_kind gw_disk_kind_of(const char *path)
{
    char part[PATH_MAX], name[64] = "";
    struct statfs system;
    struct stat info;
    if (strlen(path) >= sizeof part)
        return GW_DISK_LOCAL;
    strcpy(part, path);
    for (char *slash; statfs(part, &system) < 0;) {
        slash = strrchr(part, '/');
        if (!slash || strcmp(part, "/") == 0)
            return GW_DISK_LOCAL;
        slash[slash == part] = '\0';
    }
    const unsigned long magic = (unsigned long)system.f_type & 0xFFFFFFFFUL;
    if (magic == FUSE && stat(part, &info) == 0)
        mount_name(info.st_dev, name);
    return gw_disk_kind_decide(magic, name);
}
