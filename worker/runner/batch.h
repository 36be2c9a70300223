/* Tasks that were assigned to this runner and not yet begun, in order. */
#ifndef GW_RUNNER_BATCH_H
#define GW_RUNNER_BATCH_H

#include "graph/wire/message.h"

#include <gangway/value.h>

#include <stdbool.h>

/* What rows behind one in a batch take of it. */
struct gw_batch_kept {
    struct gw_value *value; /* NULL: not made (yet) */
    uint32_t uses;          /* that are still to come */
};

/* One assign message, copied, and how far it was executed. */
struct gw_batch {
    struct gw_batch *next;
    struct gw_msg_assign assign; /* columns lie in memory */
    uint32_t row, dep;
    bool skipped; /* the rows that are left are not for this runner */
    size_t args_at, value_at;
    struct gw_batch_kept *kept; /* by row; NULL: no row waits for another */
    uint64_t *memfiles;         /* in memory, before all else: which files fds are of, 0: none */
    int *fds;                   /* in memory, before the columns */
    uint32_t fd_count, fd_at;
    _Alignas(uint64_t) uint8_t memory[];
};

/* gw_batch_new copies a message (borrowed) and takes its descriptors, of which the memory files in
 * `memfiles` (as many; 0: of none) were lent; NULL when out of memory (they are closed then).
 * gw_batch_free closes those not taken, and returns what was lent. */
struct gw_batch_fds {
    const int *fds;
    const uint64_t *memfiles; /* NULL: of none */
    uint32_t count;
};
struct gw_batch *gw_batch_new(const struct gw_msg_assign *assign, struct gw_batch_fds fds);
void gw_batch_free(struct gw_batch *batch);

/* One row: what to execute, and its dependencies. */
struct gw_batch_row {
    uint64_t job, attempt;
    uint32_t index, spec, try_number, rank;
    struct gw_bin args;
    uint32_t dep_count;
};

/* One row of dependencies: a value inline, or behind a descriptor (the caller's then), or neither:
 * an order without data (rank GW_DEP_AFTER), or all ranks' values (GW_DEP_ALL), which are the next
 * `bytes` rows. */
struct gw_batch_dep {
    struct gw_bin value;
    uint64_t bytes;
    uint32_t rank;
    int fd;                /* -1: none */
    uint64_t memfile;      /* that it is of, and was lent; 0: none */
    bool here;             /* an earlier row makes it: */
    struct gw_value *kept; /* owned by the caller; NULL: it did not end well */
};

/* gw_batch_row gives the next row and moves on, false at the end. gw_batch_dep gives the next row
 * of its dependencies: call it exactly dep_count times. GW_EPROTO: a descriptor is missing. */
bool gw_batch_row(struct gw_batch *batch, struct gw_batch_row *row);
int gw_batch_dep(struct gw_batch *batch, struct gw_batch_dep *dep);

/* gw_batch_skip drops the rows that are left; what was given out stays valid. */
void gw_batch_skip(struct gw_batch *batch);
/* gw_batch_wants tells whether later rows take what the row given last makes; gw_batch_keep keeps
 * its value (takes it) for them. */
bool gw_batch_wants(const struct gw_batch *batch);
void gw_batch_keep(struct gw_batch *batch, struct gw_value *value);

#endif
