/* The write-ahead log of SQLite, looked at before SQLite opens it: SQLite takes the first frame
 * that is not whole for the end, and drops what is behind it without a word. */
#ifndef GW_SCHEDULER_STORE_WAL_H
#define GW_SCHEDULER_STORE_WAL_H

#include <gangway/error.h>
#include <stdint.h>

struct gw_wal_damage {
    uint64_t frame;   /* the first that is not whole, from 1; 0: the header */
    uint32_t commits; /* commits in that frame and behind it */
};

/* gw_wal_check tells whether a log (which need not be there) holds more commits behind its first
 * bad frame than the one that may have been under way: each commit is on disk before the next
 * begins. 0: at most a torn tail; 1: damaged, as *damage says; GW_EIO, GW_ENOMEM. Nothing is
 * changed. */
int gw_wal_check(const char *path, struct gw_wal_damage *damage, struct gw_error *error);

#endif
