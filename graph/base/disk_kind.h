/* What kind of file system a folder is on. */
#ifndef GW_BASE_DISK_KIND_H
#define GW_BASE_DISK_KIND_H

enum gw_disk_kind {
    GW_DISK_LOCAL,    /* also where that cannot be told */
    GW_DISK_VOLATILE, /* empty after a reboot */
    GW_DISK_NETWORK,  /* its locks and its order of writes are not to be relied on */
};

/* gw_disk_kind_of is the kind of the file system that holds `path`, or the nearest folder above it
 * that is there. */
enum gw_disk_kind gw_disk_kind_of(const char *path);

/* gw_disk_kind_decide is that of a file system's number (statfs) and its name, as
 * /proc/self/mountinfo has it ("": unknown). */
enum gw_disk_kind gw_disk_kind_decide(unsigned long magic, const char *name);

#endif
