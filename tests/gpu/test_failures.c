/* Faults that end a gang on a GPU: a kernel that traps, a rank that is killed, missing memory.
 * The other ranks end within END_MAX_US, and the error names the cause. Prints figures. */
#include "tests/gpu/trap.h"
#include "tests/unit/gpu/comm_world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { COUNT = 1 << 16, END_MAX_US = 1000000 };

/* Shared by the ranks and the test. */
struct shared {
    _Atomic uint64_t failed_us; /* when it happened */
    _Atomic bool is_ready;      /* rank 0 waits for nothing any more */
    bool has_part;              /* a second communicator has work too */
};

static struct shared *shared;

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Enqueues a reduction on the communicator's stream. */
static int reduce(struct gw_comm *comm, void **stream, struct gw_error *error)
{
    void *memory;
    int rc = gw_comm_stream(comm, stream, error);
    if (rc == 0)
        rc = gw_comm_alloc(comm, COUNT * sizeof(float), &memory, error);
    if (rc == 0)
        rc = gw_comm_all_reduce(
            comm,
            GW_COMM_ARGS(.recv = memory, .count = COUNT, .dtype = GW_DTYPE_F32, .stream = *stream),
            error);
    return rc;
}

static int end_check(struct world_rank *self, const char *what)
{
    const uint64_t took_us = now_us() - atomic_load(&shared->failed_us);
    if (self->rank == 0)
        printf("figure %s_ms %.1f\n", what, (double)took_us / 1e3);
    (void)fflush(stdout);
    RANK_CHECK(took_us < END_MAX_US);
    return 0;
}

/* Makes both ranks reduce once. Then rank 1 waits until rank 0 has seen the result. */
static int reduce_together(struct world_rank *self, void **stream)
{
    struct gw_error error;
    RANK_CHECK_RC(reduce(self->comm, stream, &error), 0);
    RANK_CHECK_RC(gw_comm_wait(self->comm, *stream, &error), 0);
    if (self->rank == 0)
        atomic_store(&shared->is_ready, true);
    while (!atomic_load(&shared->is_ready))
        (void)sched_yield();
    if (self->rank == 1)
        atomic_store(&shared->failed_us, now_us());
    return 0;
}

static int rank_traps(struct world_rank *self)
{
    struct gw_error error;
    void *stream;
    RANK_CHECK(reduce_together(self, &stream) == 0);
    if (self->rank == 1)
        test_trap(stream);
    else
        (void)reduce(self->comm, &stream, &error); /* it may be known already */
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, &error), GW_EDEVICE);
    RANK_CHECK(strstr(error.text, "rank 1: its GPU failed"));
    return self->rank == 1 ? 0 : end_check(self, "trap");
}

static void trapping_kernel_ends_all_ranks_and_is_the_cause(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 2, .function = rank_traps};
    assert_int_equal(world_run(&world), 0);
}

static int rank_is_killed(struct world_rank *self)
{
    struct gw_comm *part = NULL;
    struct gw_error error;
    void *stream, *other;
    const struct gw_comm_part split = {.colour = 1};
    if (shared->has_part)
        RANK_CHECK_RC(gw_comm_split(self->comm, &split, &part, &error), 0);
    RANK_CHECK(reduce_together(self, &stream) == 0);
    if (self->rank == 1)
        (void)kill(getpid(), SIGKILL);
    (void)reduce(self->comm, &stream, &error); /* it may be known already */
    if (part)
        (void)reduce(part, &other, &error);
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, &error), GW_EABORTED);
    RANK_CHECK(strstr(error.text, "rank 1"));
    if (part) {
        RANK_CHECK_RC(gw_comm_wait(part, other, &error), GW_EABORTED);
        gw_comm_close(part);
    }
    return end_check(self, part ? "killed_with_two_communicators" : "killed");
}

/* The test does what a worker does: it sees the end of the process, and aborts the gang. */
static void killed_rank_ends_the_collectives_of_the_other(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct world world = {.hooks = hooks, .ranks = 2, .function = rank_is_killed};
        siginfo_t info;
        shared->has_part = i > 0;
        shared->is_ready = false;
        world_start(&world);
        assert_int_equal(waitid(P_PID, (id_t)world.pid[1], &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(info.si_status, SIGKILL);
        assert_int_equal(hooks->abort(world.handle, GW_ECRASHED, 1), 0);
        assert_int_equal(world_join(&world), 1);
    }
}

static int rank_has_no_memory(struct world_rank *self)
{
    struct gw_error error;
    void *memory, *stream;
    atomic_store(&shared->failed_us, now_us());
    RANK_CHECK_RC(gw_comm_alloc(self->comm, (size_t)1 << 50, &memory, &error), GW_ENOMEM);
    RANK_CHECK(strstr(error.text, "rank 0 has no 1125899906842624 bytes of device memory"));
    RANK_CHECK(end_check(self, "out_of_memory") == 0);
    RANK_CHECK_RC(reduce(self->comm, &stream, &error), 0);
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, &error), 0);
    return 0;
}

static void communicator_works_after_memory_was_not_there(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 1, .function = rank_has_no_memory};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trapping_kernel_ends_all_ranks_and_is_the_cause),
        cmocka_unit_test(killed_rank_ends_the_collectives_of_the_other),
        cmocka_unit_test(communicator_works_after_memory_was_not_there),
    };
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return shared == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
