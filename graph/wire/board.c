/* Boards: slots in shared memory, each with the mark of the place that was last in it.
 *
 * Always: the mark is set behind the value, and who reads looks at it before and after. The writer
 * takes it away first, so that no half of a value is ever taken for a whole. See board.h. */
#include "graph/wire/board.h"

#include "graph/base/clock.h"

#include <gangway/error.h>

#include <assert.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOT_MADE UINT32_MAX

struct slot {
    _Atomic uint64_t mark;    /* the place that this was put at; 0: nothing lies here */
    _Atomic uint32_t turns;   /* grows with each that comes: who sleeps, sleeps on it */
    _Atomic uint32_t sleeper; /* somebody does */
    _Atomic uint32_t size;
    uint32_t unused;
    uint8_t value[GW_BOARD_VALUE_MAX];
};

struct gw_board {
    struct slot slots[GW_BOARD_SLOTS];
};

static_assert(sizeof(struct slot) == 256, "whole cache lines");

int gw_board_new(int *fd)
{
    int made = memfd_create("gangway-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0)
        return GW_EIO;
    if (ftruncate(made, sizeof(struct gw_board)) < 0 ||
        fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        close(made);
        return GW_EIO;
    }
    *fd = made;
    return 0;
}

int gw_board_open(int fd, struct gw_board **board)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || status.st_size != (off_t)sizeof(struct gw_board))
        return GW_EPROTO;
    void *memory = mmap(NULL, sizeof(struct gw_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return GW_ENOMEM;
    *board = memory;
    return 0;
}

void gw_board_close(struct gw_board *board)
{
    if (board)
        munmap(board, sizeof *board);
}

/* NULL: there is none. */
static struct slot *slot_of(const struct gw_board *board, uint64_t place)
{
    if (!board || place < GW_BOARD_SLOTS)
        return NULL;
    return (struct slot *)(uintptr_t)&board->slots[place % GW_BOARD_SLOTS];
}

void gw_board_put(struct gw_board *board, uint64_t place, const void *value, uint32_t size)
{
    struct slot *slot = slot_of(board, place);
    if (!slot)
        return;
    if (!value || size > sizeof slot->value)
        size = NOT_MADE;
    atomic_store_explicit(&slot->mark, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release); /* the mark goes before the value does */
    atomic_store_explicit(&slot->size, size, memory_order_relaxed);
    if (size != NOT_MADE)
        memcpy(slot->value, value, size);
    atomic_store(&slot->mark, place);
    atomic_fetch_add(&slot->turns, 1);
    if (atomic_load(&slot->sleeper) && atomic_exchange(&slot->sleeper, 0))
        (void)syscall(SYS_futex, &slot->turns, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

int gw_board_take(const struct gw_board *board, uint64_t place,
                  uint8_t value[static GW_BOARD_VALUE_MAX], uint32_t *size)
{
    struct slot *slot = slot_of(board, place);
    if (!slot)
        return GW_ENOENT;
    if (atomic_load_explicit(&slot->mark, memory_order_acquire) != place)
        return GW_EAGAIN;
    uint32_t bytes = atomic_load_explicit(&slot->size, memory_order_relaxed);
    if (bytes <= sizeof slot->value)
        memcpy(value, slot->value, bytes);
    atomic_thread_fence(memory_order_acquire);
    if (atomic_load_explicit(&slot->mark, memory_order_relaxed) != place ||
        bytes > sizeof slot->value)
        return GW_ENOENT;
    *size = bytes;
    return 0;
}

bool gw_board_look(const struct gw_board *board, uint64_t place, uint64_t until_ns)
{
    struct slot *slot = slot_of(board, place);
    while (slot && atomic_load_explicit(&slot->mark, memory_order_acquire) != place) {
        if (gw_clock_now_ns() >= until_ns)
            return false;
        (void)sched_yield();
    }
    return slot;
}

bool gw_board_sleep(struct gw_board *board, uint64_t place, uint64_t until_ns)
{
    struct slot *slot = slot_of(board, place);
    const struct timespec until = {(time_t)(until_ns / GW_NS_PER_S),
                                   (long)(until_ns % GW_NS_PER_S)};
    while (slot) {
        uint32_t turns = atomic_load(&slot->turns);
        atomic_store(&slot->sleeper, 1); /* before the mark is looked at: see board.h */
        if (atomic_load(&slot->mark) == place)
            return true;
        if (gw_clock_now_ns() >= until_ns)
            return false;
        (void)syscall(SYS_futex, &slot->turns, FUTEX_WAIT_BITSET, turns, &until, NULL,
                      FUTEX_BITSET_MATCH_ANY);
    }
    return false;
}
