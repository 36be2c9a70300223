/* The shared memory of a host communicator, and waiting in it.
 *
 * A segment is a memfd: a fixed part (header, one slot a rank, one channel and mailbox for each
 * ordered pair of ranks), and after it what gw_comm_alloc adds. Threads of one process that open
 * the same segment share one mapping of it.
 *
 * Waiting: a rank publishes by moving a counter that only it writes; another waits until the
 * counter has come as far as it wants. It spins for a moment (never where ranks outnumber
 * processors), then writes whom it waits for into its `parked` word and sleeps on that; who
 * publishes wakes only those that are parked on it. Breaking the segment wakes all. */
#ifndef GW_GPU_SEGMENT_H
#define GW_GPU_SEGMENT_H

#include "gpu/base/comm_backend.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    GW_SEGMENT_VERSION = 3,
    GW_SEGMENT_PAGE = 64 << 10,         /* a multiple of every page size of Linux machines in use */
    GW_SEGMENT_STAGE_BYTES = 256 << 10, /* of each of a rank's two stages */
    GW_SEGMENT_MAIL_BYTES = 16 << 10,   /* of each of a channel's two mailboxes */
    GW_SEGMENT_TEXT_MAX = 320,
};

#define GW_SEGMENT_NOWHERE UINT64_MAX

/* What a rank says about the operation it is in. Ranks must agree on the first part. */
struct gw_segment_call {
    uint32_t verb; /* enum gw_comm_verb */
    uint32_t dtype;
    uint32_t reduce;
    int32_t root;
    uint64_t count;
    uint64_t agreed;           /* alloc: a digest of earlier allocations */
    uint64_t send_at, recv_at; /* where in the file the buffers lie, or GW_SEGMENT_NOWHERE */
    int64_t status;            /* a result that the others need */
};

struct gw_segment_rank {
    alignas(64) _Atomic uint32_t step; /* collective steps that it has published */
    _Atomic uint32_t presence;
    struct gw_comm_pulse pulse;
    alignas(64) struct gw_segment_call call[2]; /* of step s at [s & 1] */
};

/* Messages from one rank to another. */
struct gw_segment_channel {
    alignas(64) _Atomic uint32_t sent; /* pieces, written by the sender */
    _Atomic uint32_t received;         /* pieces, written by the receiver */
    struct gw_segment_call call[2];    /* of piece p at [p & 1] */
};

struct gw_segment_header {
    char magic[8];
    uint32_t version;
    uint32_t ranks;
    uint64_t fixed_bytes;
    alignas(64) _Atomic uint32_t broken; /* 0; 1: being written; 2: written */
    int32_t code, cause, rank;           /* valid from broken 2 on, like the text */
    int32_t unreached;                   /* also: 1 + the rank that rank could not reach, or 0 */
    char text[GW_SEGMENT_TEXT_MAX];
    alignas(64) _Atomic uint32_t parked[GW_COMM_HOST_RANKS_MAX]; /* 0, or 1 + whom it waits for */
};

struct gw_segment; /* one a process and file */

/* gw_segment_create makes the file. */
int gw_segment_create(int ranks, int *fd, struct gw_error *error);

/* gw_segment_ref maps the file that fd is (borrowed, duplicated), or counts one more user of a
 * mapping that this process has. GW_ECORRUPT, GW_EVERSION, GW_ENOMEM, GW_EIO. Any thread. */
int gw_segment_ref(int fd, struct gw_segment **segment, struct gw_error *error);

/* gw_segment_unref undoes one gw_segment_ref. */
void gw_segment_unref(struct gw_segment *segment);

/* gw_segment_follow makes a break of parent one of segment too, as this process sees it, for as
 * long as the segment is; a later parent than the first is not looked at. Takes a reference. */
void gw_segment_follow(struct gw_segment *segment, struct gw_segment *parent);

int gw_segment_fd(const struct gw_segment *segment);
struct gw_segment_header *gw_segment_header(const struct gw_segment *segment);
struct gw_segment_rank *gw_segment_rank(const struct gw_segment *segment, int rank);
struct gw_segment_channel *gw_segment_channel(const struct gw_segment *segment, int from, int to);

/* gw_segment_stage returns rank's stage of GW_SEGMENT_STAGE_BYTES for step. */
void *gw_segment_stage(const struct gw_segment *segment, int rank, uint32_t step);

/* gw_segment_mail returns the mailbox of GW_SEGMENT_MAIL_BYTES for piece. */
void *gw_segment_mail(const struct gw_segment *segment, int from, int to, uint32_t piece);

/* gw_segment_map maps bytes of the file from offset on (both multiples of GW_SEGMENT_PAGE), shared
 * with other threads of this process that map the same; NULL: no memory. */
void *gw_segment_map(struct gw_segment *segment, uint64_t offset, size_t bytes);

/* gw_segment_unmap undoes one gw_segment_map. */
void gw_segment_unmap(struct gw_segment *segment, void *memory);

/* gw_segment_break breaks the communicator with a first cause, and wakes everybody; later causes
 * are dropped. code is what operations return. */
struct gw_segment_fault {
    int code, cause, rank;
    int unreached; /* 1 + the rank that rank could not reach; 0: that is not the cause */
    const char *text;
};
void gw_segment_break(const struct gw_segment *segment, const struct gw_segment_fault *fault);

/* gw_segment_abort breaks it with the texts of gw_comm_abort. */
void gw_segment_abort(struct gw_segment *segment, int cause, int rank);

/* gw_segment_broken returns 0, or the code of the cause, with its text in error. */
int gw_segment_broken(const struct gw_segment *segment, struct gw_error *error);

/* gw_segment_unreached returns the rank that one of the segment's ranks could not reach, if that is
 * the cause, or -1. */
int gw_segment_unreached(const struct gw_segment *segment);

/* One rank's wait. */
struct gw_segment_wait {
    const struct gw_segment *segment;
    int self, peer;
    _Atomic uint32_t *word; /* that peer moves */
    uint32_t target;        /* until it is here or further */
    uint64_t spin_ns;
    uint64_t deadline_ns; /* on CLOCK_MONOTONIC */
};

enum gw_segment_waited {
    GW_SEGMENT_REACHED,
    GW_SEGMENT_BROKEN,
    GW_SEGMENT_LEFT, /* peer closed before it came that far */
    GW_SEGMENT_LATE, /* the deadline passed */
};

/* gw_segment_wait waits, and says how it ended. */
enum gw_segment_waited gw_segment_wait(const struct gw_segment_wait *wait);

/* gw_segment_wake wakes `to` if it is parked on `self`; after a counter was moved. */
void gw_segment_wake(const struct gw_segment *segment, int self, int to);

/* gw_segment_now_ns reads CLOCK_MONOTONIC. */
uint64_t gw_segment_now_ns(void);

#endif
