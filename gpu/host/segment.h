/* The shared memory of a host communicator, and how ranks wait in it.
 *
 * A segment is an anonymous file (memfd). It has a fixed part (the header, one slot per rank, one
 * channel with mailboxes per ordered pair of ranks), followed by the memory of gw_comm_alloc.
 * Threads of one process that open the same segment share one mapping.
 *
 * Waiting: each rank has counters that only this rank writes. To publish something, a rank
 * increases its counter. Another rank waits until the counter has reached a target value. The
 * waiting rank spins for a short time (not at all if there are more ranks than processors). Then it
 * writes the number of the rank that it waits for into its `parked` word and sleeps on that word.
 * The publishing rank wakes only the ranks whose `parked` word names it. Breaking the segment wakes
 * all ranks. */
#ifndef GW_GPU_SEGMENT_H
#define GW_GPU_SEGMENT_H

#include "gpu/base/comm_backend.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    GW_SEGMENT_VERSION = 3,
    GW_SEGMENT_PAGE = 64 << 10,         /* a multiple of every page size that Linux machines use */
    GW_SEGMENT_STAGE_BYTES = 256 << 10, /* size of each of a rank's two stages */
    GW_SEGMENT_MAIL_BYTES = 16 << 10,   /* size of each of a channel's two mailboxes */
    GW_SEGMENT_TEXT_MAX = 320,
};

#define GW_SEGMENT_NOWHERE UINT64_MAX

/* What a rank publishes about its current operation. The fields up to `agreed` must be equal on all
 * ranks. */
struct gw_segment_call {
    uint32_t verb; /* enum gw_comm_verb */
    uint32_t dtype;
    uint32_t reduce;
    int32_t root;
    uint64_t count;
    uint64_t agreed;           /* alloc: a digest of earlier allocations */
    uint64_t send_at, recv_at; /* offsets of the buffers in the file, or GW_SEGMENT_NOWHERE */
    int64_t status;            /* a result of this rank that the other ranks read */
};

struct gw_segment_rank {
    alignas(64) _Atomic uint32_t step; /* number of collective steps that the rank has published */
    _Atomic uint32_t presence;
    struct gw_comm_pulse pulse;
    alignas(64) struct gw_segment_call call[2]; /* the call of step s is at [s & 1] */
};

/* Messages from one rank to another rank. */
struct gw_segment_channel {
    alignas(64) _Atomic uint32_t sent; /* number of pieces sent, written by the sender */
    _Atomic uint32_t received;         /* number of pieces received, written by the receiver */
    struct gw_segment_call call[2];    /* the call of piece p is at [p & 1] */
};

struct gw_segment_header {
    char magic[8];
    uint32_t version;
    uint32_t ranks;
    uint64_t fixed_bytes;
    alignas(64) _Atomic uint32_t broken; /* 0: intact; 1: cause is being written; 2: complete */
    int32_t code, cause, rank;           /* valid if broken is 2, like the text */
    int32_t unreached; /* 1 + the rank that `rank` could not reach, or 0; valid if broken is 2 */
    char text[GW_SEGMENT_TEXT_MAX];
    alignas(64) _Atomic uint32_t parked[GW_COMM_HOST_RANKS_MAX]; /* 0, or 1 + its peer */
};

struct gw_segment; /* one object per process and file */

/* gw_segment_create makes the file for `ranks` ranks and returns its descriptor. */
int gw_segment_create(int ranks, int *fd, struct gw_error *error);

/* gw_segment_ref maps the file of fd (borrowed, duplicated). If this process has mapped the file
 * already, it adds a reference to that mapping. Errors: GW_EINVAL, GW_ECORRUPT, GW_EVERSION,
 * GW_ENOMEM. Any thread may call it. */
int gw_segment_ref(int fd, struct gw_segment **segment, struct gw_error *error);

/* gw_segment_unref releases one reference. */
void gw_segment_unref(struct gw_segment *segment);

/* gw_segment_follow makes a segment break when its parent breaks, as long as this process has the
 * segment open. It takes a reference to the parent. A second call with another parent has no
 * effect. */
void gw_segment_follow(struct gw_segment *segment, struct gw_segment *parent);

int gw_segment_fd(const struct gw_segment *segment);
struct gw_segment_header *gw_segment_header(const struct gw_segment *segment);
struct gw_segment_rank *gw_segment_rank(const struct gw_segment *segment, int rank);
struct gw_segment_channel *gw_segment_channel(const struct gw_segment *segment, int from, int to);

/* gw_segment_stage returns the stage (GW_SEGMENT_STAGE_BYTES) of a rank for a step. */
void *gw_segment_stage(const struct gw_segment *segment, int rank, uint32_t step);

/* gw_segment_mail returns the mailbox (GW_SEGMENT_MAIL_BYTES) of a piece that rank `from` sends to
 * rank `to`. */
void *gw_segment_mail(const struct gw_segment *segment, int from, int to, uint32_t piece);

/* gw_segment_map maps a range of the file (offset and bytes are multiples of GW_SEGMENT_PAGE).
 * Threads of this process that map the same range share the mapping. Returns NULL if out of memory.
 */
void *gw_segment_map(struct gw_segment *segment, uint64_t offset, size_t bytes);

/* gw_segment_unmap releases one gw_segment_map. */
void gw_segment_unmap(struct gw_segment *segment, void *memory);

/* gw_segment_break breaks the communicator and wakes all ranks. Only the first cause is stored;
 * later ones are ignored. `code` is what operations return from then on. */
struct gw_segment_fault {
    int code, cause, rank;
    int unreached; /* if `rank` could not reach another rank, 1 + the number of that rank; 0: the
                      abort has another cause */
    const char *text;
};
void gw_segment_break(const struct gw_segment *segment, const struct gw_segment_fault *fault);

/* gw_segment_abort breaks the segment with the text of gw_comm_abort. */
void gw_segment_abort(struct gw_segment *segment, int cause, int rank);

/* gw_segment_broken returns 0, or the code of the cause with its text in error. */
int gw_segment_broken(const struct gw_segment *segment, struct gw_error *error);

/* gw_segment_unreached returns the rank that a rank of the segment could not reach, if this is the
 * cause. Otherwise it returns -1. */
int gw_segment_unreached(const struct gw_segment *segment);

/* One wait of rank `self` for rank `peer`. */
struct gw_segment_wait {
    const struct gw_segment *segment;
    int self, peer;
    _Atomic uint32_t *word; /* the counter, written by peer */
    uint32_t target;        /* value that the counter must reach */
    uint64_t spin_ns;
    uint64_t deadline_ns; /* deadline on CLOCK_MONOTONIC */
};

enum gw_segment_waited {
    GW_SEGMENT_REACHED,
    GW_SEGMENT_BROKEN,
    GW_SEGMENT_LEFT, /* peer closed the communicator before its counter reached the target */
    GW_SEGMENT_LATE, /* the deadline passed */
};

/* gw_segment_wait waits and returns how the wait ended. */
enum gw_segment_waited gw_segment_wait(const struct gw_segment_wait *wait);

/* gw_segment_wake wakes rank `to` if it sleeps until rank `self` publishes. Rank `self` calls it
 * after it has increased a counter. */
void gw_segment_wake(const struct gw_segment *segment, int self, int to);

/* gw_segment_now_ns returns the time of CLOCK_MONOTONIC. */
uint64_t gw_segment_now_ns(void);

#endif
