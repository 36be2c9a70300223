/* A board: results of small tasks in memory that a worker's runners share, so that what follows in
 * another runner takes them without a message.
 *
 * A place is a number that is given once: it says where on the board something is to lie, and marks
 * it there. Where it says is one runner's to write, for one place after the other, and anybody's to
 * read: who finds the mark of another place has not got it. What is read is a hint to go on; the
 * worker believes a result only when it is told.
 *
 * What one process writes, others read without a lock. Three things make that well, on processors
 * that order less than x86, too:
 * - A value is whole. The writer takes the mark away before it touches the value (a release fence
 *   between), and sets the new one behind it (a release). A reader loads the mark (an acquire),
 *   copies, and loads it again behind an acquire fence: where it copied a byte of a later value, it
 *   sees that value's mark, or none, in the second load. No mark comes back, as no place is given
 *   twice: the same mark twice means that nobody wrote between. One process writes at a time: a
 *   runner's part of the board is another's only when it is buried.
 * - Who sleeps is woken. The writer sets the mark, then looks for a sleeper; the sleeper says so,
 *   then looks for the mark. All four are sequentially consistent, so one of them sees the other.
 *   Between the sleeper's look and its sleep a wake-up would be lost: so it sleeps on a counter
 *   that it read before both, which the writer moves behind the mark, and the kernel holds one
 *   against the other.
 * - A process that dies leaves a mark away, or a whole value. Nobody waits for a lock of it. */
#ifndef GW_WIRE_BOARD_H
#define GW_WIRE_BOARD_H

#include <stdbool.h>
#include <stdint.h>

enum {
    GW_BOARD_VALUE_MAX = 232,    /* bytes */
    GW_BOARD_RUNNERS_MAX = 64,   /* of a worker, with a part of their own, each of */
    GW_BOARD_RUNNER_SLOTS = 256, /* slots: so many places of a runner can be read at a time */
    GW_BOARD_SLOTS = GW_BOARD_RUNNERS_MAX * GW_BOARD_RUNNER_SLOTS,
};

struct gw_board;

/* gw_board_place gives the place that has a number of its own (from 1 on; of all that are given on
 * a board, whichever slot they are in) in a slot, the turn of a runner (0 to GW_BOARD_RUNNERS_MAX -
 * 1) modulo its slots. It is never 0. */
static inline uint64_t gw_board_place(uint64_t number, uint32_t runner, uint32_t turn)
{
    return number * GW_BOARD_SLOTS + runner * GW_BOARD_RUNNER_SLOTS + turn % GW_BOARD_RUNNER_SLOTS;
}

/* gw_board_new makes a board: a descriptor (the caller's) to be shared, of memory that is used as
 * places are. GW_EIO. */
int gw_board_new(int *fd);

/* gw_board_open maps one (fd: borrowed). GW_EPROTO where it is none, GW_ENOMEM. gw_board_close
 * accepts NULL. */
int gw_board_open(int fd, struct gw_board **board);
void gw_board_close(struct gw_board *board);

/* gw_board_put puts what was made at its place, and wakes who waits for it. NULL: it was not made,
 * or is too large, and nobody is to wait. Place 0, and no board (NULL), are ignored. */
void gw_board_put(struct gw_board *board, uint64_t place, const void *value, uint32_t size);

/* gw_board_take copies what was put there, and tells its size. GW_EAGAIN: it has not come (yet);
 * GW_ENOENT: it will not, or there is no board (NULL) or place. Never waits. */
int gw_board_take(const struct gw_board *board, uint64_t place,
                  uint8_t value[static GW_BOARD_VALUE_MAX], uint32_t *size);

/* gw_board_look looks for something again and again, giving the processor to others in between,
 * gw_board_sleep sleeps, both until a time of the monotonic clock. False: it did not come. */
bool gw_board_look(const struct gw_board *board, uint64_t place, uint64_t until_ns);
bool gw_board_sleep(struct gw_board *board, uint64_t place, uint64_t until_ns);

#endif
