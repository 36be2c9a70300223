/* Every operation of a communicator with a missing rank: aborted from outside, and past its
 * deadline. No rank hangs, all ranks get the same code, and later operations fail. For any backend
 * that fills in comm_backend_hooks. */
#include "tests/unit/gpu/comm_world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#ifndef COMM_HOOKS /* as in test_comm.c */
#define COMM_HOOKS comm_host_hooks
#endif
extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { RANKS = 3, MISSING = 2, COUNT = 20000, DEADLINE_NS = 50000000 };

enum operation {
    ALL_REDUCE,
    BROADCAST,
    ALL_GATHER,
    REDUCE_SCATTER,
    SEND,
    RECV,
    BARRIER,
    ALLOC,
    SPLIT,
    GROUP,
    OPERATIONS,
};

struct trial {
    enum operation operation;
    int wanted; /* GW_EABORTED or GW_ETIMEDOUT */
};

static int group(struct gw_comm *comm, float *data, struct gw_error *error)
{
    const int peer = (gw_comm_rank(comm) + 1) % 2;
    struct gw_comm_args args = {.recv = data, .count = COUNT, .dtype = GW_DTYPE_F32, .root = peer};
    int rc = gw_comm_group_begin(comm, error);
    if (rc == 0 && gw_comm_rank(comm) != MISSING)
        rc = gw_comm_recv(comm, &args, error);
    args.send = data + COUNT;
    if (rc == 0 && gw_comm_rank(comm) != MISSING)
        rc = gw_comm_send(comm, &args, error);
    args = (struct gw_comm_args){.recv = data + 2 * COUNT, .count = 5, .dtype = GW_DTYPE_F32};
    if (rc == 0)
        rc = gw_comm_all_reduce(comm, &args, error);
    return rc < 0 ? rc : gw_comm_group_end(comm, error);
}

/* One operation that needs rank MISSING. */
static int call(struct gw_comm *comm, enum operation operation, float *data, struct gw_error *error)
{
    const bool missing = gw_comm_rank(comm) == MISSING;
    struct gw_comm_args args = {
        .send = data, .recv = data + RANKS * COUNT, .count = COUNT, .dtype = GW_DTYPE_F32};
    const struct gw_comm_part split = {.colour = 0};
    struct gw_comm *child;
    void *memory;
    switch (operation) {
    case ALL_REDUCE:
        return gw_comm_all_reduce(comm, &args, error);
    case BROADCAST:
        args.root = MISSING;
        return gw_comm_broadcast(comm, &args, error);
    case ALL_GATHER:
        return gw_comm_all_gather(comm, &args, error);
    case REDUCE_SCATTER:
        return gw_comm_reduce_scatter(comm, &args, error);
    case SEND:
        args.root = missing ? 0 : MISSING;
        return gw_comm_send(comm, &args, error);
    case RECV:
        args.root = missing ? 0 : MISSING;
        return gw_comm_recv(comm, &args, error);
    case BARRIER:
        return gw_comm_barrier(comm, error);
    case ALLOC:
        return gw_comm_alloc(comm, 1 << 20, &memory, error);
    case SPLIT:
        return gw_comm_split(comm, &split, &child, error);
    case GROUP:
        return group(comm, data, error);
    case OPERATIONS:
        break;
    }
    return GW_EINVAL;
}

/* A rank that arrives late from another host finds data that the others had sent, of this operation
 * or of the previous one, until the cause reaches it. */
static bool is_end(const struct trial *trial, bool late, int rc)
{
    return rc == trial->wanted || (late && (rc == 0 || rc == GW_EMISMATCH));
}

static int rank_trial(struct world_rank *self)
{
    const struct trial *trial = self->context;
    struct gw_error error;
    void *memory;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof(float) * 2 * RANKS * COUNT, &memory, &error), 0);
    /* No rank is still in the alloc; a rank may be here after the others' deadline has passed. */
    const int met = gw_comm_barrier(self->comm, &error);
    RANK_CHECK(met == 0 || (met == trial->wanted && self->rank == MISSING));
    if (trial->wanted == GW_ETIMEDOUT)
        gw_comm_set_timeout(self->comm, DEADLINE_NS);
    world_tell(self);
    if (self->rank == MISSING)
        world_wait_gate(self);
    /* The cause takes a moment to reach another host: an operation that needs no rank there may
     * still succeed. */
    const bool late = self->rank == MISSING && hooks->has_hosts;
    const bool alone = late && (trial->operation == SEND || trial->operation == BROADCAST);
    for (int twice = 0; twice < 2 && !alone; twice++) {
        const int rc = call(self->comm, trial->operation, memory, &error);
        RANK_CHECK(is_end(trial, late, rc));
        RANK_CHECK(rc == 0 || (error.code == rc && error.text[0]));
        if (twice == 0)
            world_tell(self);
    }
    RANK_CHECK(is_end(trial, late, gw_comm_barrier(self->comm, &error)));
    return 0;
}

/* Returns once the ranks that are not missing are visibly inside their operation. */
static void wait_inside(const struct world *world)
{
    struct gw_comm_progress progress;
    for (int rank = 0; !hooks->has_hosts && rank < MISSING; rank++)
        do {
            (void)sched_yield();
            assert_int_equal(gw_comm_segment_progress(world->handle, rank, &progress, NULL), 0);
        } while (!progress.operation);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void run_trial(struct trial trial)
{
    struct world world = {
        .hooks = hooks, .ranks = RANKS, .function = rank_trial, .context = &trial};
    world_start(&world);
    world_hear(&world, RANKS);
    const uint64_t start_ns = now_ns();
    if (trial.wanted == GW_EABORTED) {
        wait_inside(&world);
        assert_int_equal(hooks->abort(world.handle, GW_ECRASHED, MISSING), 0);
    }
    world_hear(
        &world,
        RANKS - 1); /* the other ranks have left the operation, and the missing rank did nothing */
    world_open_gate(&world);
    assert_int_equal(world_join(&world), 0);
    assert_true(now_ns() - start_ns < 30000000000); /* of a deadline of 60 s, or of 0.05 */
}

static void abort_ends_every_kind_of_operation(void **state)
{
    for (int operation = 0; operation < OPERATIONS; operation++)
        run_trial((struct trial){(enum operation)operation, GW_EABORTED});
}

static void deadline_ends_every_kind_of_operation(void **state)
{
    for (int operation = 0; operation < OPERATIONS; operation++)
        run_trial((struct trial){(enum operation)operation, GW_ETIMEDOUT});
}

/* -- Ranks that do not agree ---------------------------------------------------------------------
 */

/* Rank 1 differs in one argument. */
struct difference {
    struct gw_comm_args usual, other;
    bool broadcast[2];
    const char *texts[2];
};

/* Across hosts, each rank compares with the previous one: any two that differ may be named. */
static bool says(const char *text, const char *wanted)
{
    const char *call = strstr(wanted, "called ");
    return strstr(text, hooks->has_hosts && call ? call : wanted) != NULL;
}

static int rank_mismatch(struct world_rank *self)
{
    static float x[40000];
    const struct difference *difference = self->context;
    const bool odd = self->rank == 1;
    struct gw_comm_args args = odd ? difference->other : difference->usual;
    struct gw_error error;
    world_tell(self); /* no rank breaks the communicator while another still joins */
    world_wait_gate(self);
    args.recv = x;
    int rc = difference->broadcast[odd] ? gw_comm_broadcast(self->comm, &args, &error)
                                        : gw_comm_all_reduce(self->comm, &args, &error);
    RANK_CHECK_RC(rc, GW_EMISMATCH);
    RANK_CHECK(says(error.text, difference->texts[0]) && says(error.text, difference->texts[1]));
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), GW_EMISMATCH);
    return 0;
}

static void mismatch_error_names_both_calls(void **state)
{
    const struct gw_comm_args usual = {.count = 100, .dtype = GW_DTYPE_F32};
    const struct difference differences[] = {
        {usual,
         {.count = 101, .dtype = GW_DTYPE_F32},
         {false, false},
         {"rank 0 called all_reduce of 100 f32 (sum)",
          "rank 1 called all_reduce of 101 f32 (sum)"}},
        {usual,
         {.count = 30000, .dtype = GW_DTYPE_F32},
         {false, false},
         {"of 100 f32", "of 30000 f32"}},
        {usual, {.count = 100, .dtype = GW_DTYPE_I32}, {false, false}, {"100 f32", "100 i32"}},
        {usual,
         {.count = 100, .dtype = GW_DTYPE_F32, .reduce = GW_REDUCE_MAX},
         {false, false},
         {"(sum)", "(maximum)"}},
        {usual, usual, {false, true}, {"rank 0 called all_reduce", "rank 1 called broadcast"}},
        {usual,
         {.count = 100, .dtype = GW_DTYPE_F32, .root = 1},
         {true, true},
         {"from rank 0", "from rank 1"}},
    };
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        struct difference difference = differences[i];
        struct world world = {
            .hooks = hooks, .ranks = 3, .function = rank_mismatch, .context = &difference};
        world_start(&world);
        world_hear(&world, 3);
        world_open_gate(&world);
        assert_int_equal(world_join(&world), 0);
    }
}

static int rank_pair_mismatch(struct world_rank *self)
{
    float x[4] = {0};
    struct gw_error error;
    if (self->rank == 0) {
        int rc = gw_comm_send(self->comm,
                              GW_COMM_ARGS(.send = x, .count = 4, .dtype = GW_DTYPE_F32, .root = 1),
                              NULL); /* may return at once, or wait for the receiver */
        RANK_CHECK(rc == GW_EMISMATCH || rc == 0);
        RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_EMISMATCH);
    } else {
        RANK_CHECK_RC(
            gw_comm_recv(self->comm,
                         GW_COMM_ARGS(.recv = x, .count = 3, .dtype = GW_DTYPE_F32, .root = 0),
                         &error),
            GW_EMISMATCH);
    }
    RANK_CHECK(strstr(error.text, "send of 4 f32") && strstr(error.text, "recv of 3 f32"));
    return 0;
}

static void send_and_receive_of_different_sizes_are_refused(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 2, .function = rank_pair_mismatch};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(abort_ends_every_kind_of_operation),
        cmocka_unit_test(deadline_ends_every_kind_of_operation),
        cmocka_unit_test(mismatch_error_names_both_calls),
        cmocka_unit_test(send_and_receive_of_different_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
