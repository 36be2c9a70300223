/* Checks the write-ahead log of SQLite before SQLite opens it. SQLite takes the first damaged frame
 * for the end of the log and silently drops everything after it. */
#ifndef GW_SCHEDULER_STORE_WAL_H
#define GW_SCHEDULER_STORE_WAL_H

#include <gangway/error.h>
#include <stdint.h>

struct gw_wal_damage {
    uint64_t frame;   /* number of the first damaged frame, from 1; 0: the header */
    uint32_t commits; /* number of commits in that frame and after it */
};

/* gw_wal_check checks whether a log has more commits after its first bad frame than the one that
 * may be incomplete after a crash. Each commit is on disk before the next begins, so more of them
 * mean damage. Returns 0 if the log is intact, absent, or has only an incomplete end. Returns 1 if
 * it is damaged, as *damage describes, or GW_EIO or GW_ENOMEM. It changes nothing. */
int gw_wal_check(const char *path, struct gw_wal_damage *damage, struct gw_error *error);

#endif
