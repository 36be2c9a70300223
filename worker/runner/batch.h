/* Batches: tasks that were assigned to this runner and have not begun, in order. */
#ifndef GW_RUNNER_BATCH_H
#define GW_RUNNER_BATCH_H

#include "graph/wire/message.h"

#include <gangway/value.h>

#include <stdbool.h>

/* The result of a row that later rows of the batch need. */
struct gw_batch_cached {
    struct gw_value *value; /* NULL: not made (yet) */
    uint32_t uses;          /* number of rows that still need it */
};

/* A copy of an assign message, and the position up to which it was executed. */
struct gw_batch {
    struct gw_batch *next;
    struct gw_msg_assign assign; /* the columns of the message are in `memory` */
    uint32_t row, dep;
    bool skipped; /* the remaining rows must not be executed by this runner */
    size_t args_at, value_at;
    struct gw_batch_cached *cached; /* one per row; NULL: no row needs the result of another one */
    uint64_t *memfiles; /* at the start of memory: the memory file of each fd; 0: none */
    int *fds;           /* in memory, before the columns */
    uint32_t fd_count, fd_at;
    _Alignas(uint64_t) uint8_t memory[];
};

/* gw_batch_new copies a message (borrowed) and takes over its descriptors. memfiles[i] is the
 * memory file that fds[i] belongs to and that was lent, 0: none. Returns NULL if out of memory. The
 * descriptors are closed then. gw_batch_free closes the descriptors that were not taken, and
 * returns the lent memory files. */
struct gw_batch_fds {
    const int *fds;
    const uint64_t *memfiles; /* NULL: no memory files */
    uint32_t count;
};
struct gw_batch *gw_batch_new(const struct gw_msg_assign *assign, struct gw_batch_fds fds);
void gw_batch_free(struct gw_batch *batch);

/* One row: what to execute, and the number of its dependencies. */
struct gw_batch_row {
    uint64_t job, attempt;
    uint32_t index, spec, try_number, rank;
    struct gw_bin args;
    uint32_t dep_count;
};

/* One row of dependencies. It has an inline value, or a descriptor (which the caller then owns), or
 * neither. Without a value, it is only an order (rank GW_DEP_AFTER), or it stands for the values of
 * all ranks (GW_DEP_ALL), which are the next `bytes` rows. */
struct gw_batch_dep {
    struct gw_bin value;
    uint64_t bytes;
    uint32_t rank;
    int fd;           /* -1: none */
    uint64_t memfile; /* the lent memory file of fd; 0: none */
    bool here;        /* an earlier row of the batch makes the value */
    /* The value, owned by the caller; NULL: the earlier row did not succeed */
    struct gw_value *cached;
};

/* gw_batch_row returns the next row, or false at the end. gw_batch_dep returns the next row of its
 * dependencies. It must be called exactly dep_count times per row. GW_EPROTO: a descriptor is
 * missing. */
bool gw_batch_row(struct gw_batch *batch, struct gw_batch_row *row);
int gw_batch_dep(struct gw_batch *batch, struct gw_batch_dep *dep);

/* gw_batch_skip drops the remaining rows. Data that was returned stays valid. */
void gw_batch_skip(struct gw_batch *batch);
/* gw_batch_wants returns true if later rows need the result of the row that was returned last.
 * gw_batch_cache stores this result (takes ownership). */
bool gw_batch_wants(const struct gw_batch *batch);
void gw_batch_cache(struct gw_batch *batch, struct gw_value *value);

#endif
