/* Finds out what kind of file system a folder is on. */
#ifndef GW_BASE_DISK_KIND_H
#define GW_BASE_DISK_KIND_H

enum gw_disk_kind {
    GW_DISK_LOCAL,    /* a local disk, or an unknown file system */
    GW_DISK_VOLATILE, /* empty after a reboot */
    GW_DISK_NETWORK,  /* file locks and the order of writes are unreliable */
};

/* gw_disk_kind_of returns the kind of the file system that holds `path`. If path does not exist, it
 * uses the nearest parent folder that exists. */
enum gw_disk_kind gw_disk_kind_of(const char *path);

/* gw_disk_kind_decide returns the kind for a file system's magic number (statfs) and its name in
 * /proc/self/mountinfo ("": unknown). */
enum gw_disk_kind gw_disk_kind_decide(unsigned long magic, const char *name);

#endif
