/* Parts and groups of communicators, on any backend that fills in comm_backend_hooks: smaller
 * communicators of a larger one, several operations at once, and features of some backends. */
#include "gpu/base/comm_backend.h"
#include "tests/unit/gpu/comm_world.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef COMM_HOOKS /* as in test_comm.c */
#define COMM_HOOKS comm_host_hooks
#endif
extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { RANKS = 3, LONG = 70001 };

static void run(int ranks, world_function *function)
{
    struct world world = {
        .hooks = hooks, .ranks = ranks, .function = function, .timeout_ns = 60000000000};
    if (ranks <= hooks->ranks_max)
        assert_int_equal(world_run(&world), 0);
}

/* Lets ranks pass world_wait_gate once all have reported, so that no rank breaks the communicator
 * while another is still in an earlier operation. */
static void run_gated(int ranks, world_function *function)
{
    struct world world = {.hooks = hooks, .ranks = ranks, .function = function};
    world_start(&world);
    world_hear(&world, ranks);
    world_open_gate(&world);
    assert_int_equal(world_join(&world), 0);
}

/* The sum of a value over the ranks of a communicator; -1: the operation failed. */
static int64_t sum(struct gw_comm *comm, int64_t value, struct gw_error *error)
{
    const struct gw_comm_args args = {.recv = &value, .count = 1, .dtype = GW_DTYPE_I64};
    return gw_comm_all_reduce(comm, &args, error) == 0 ? value : -1;
}

/* -- Parts ---------------------------------------------------------------------------------------
 */

/* Even and odd ranks, numbered from the end: every operation stays within its part. */
static int rank_halves(struct world_rank *self)
{
    struct gw_comm *half;
    struct gw_error error;
    const int even = (self->ranks + 1) / 2, odd = self->ranks / 2;
    const int count = self->rank % 2 ? odd : even;
    const struct gw_comm_part split = {.colour = self->rank % 2, .key = -self->rank};
    RANK_CHECK_RC(gw_comm_split(self->comm, &split, &half, &error), 0);
    RANK_CHECK(gw_comm_size(half) == count);
    RANK_CHECK(gw_comm_rank(half) == count - 1 - self->rank / 2);
    RANK_CHECK(strcmp(gw_comm_backend(half), gw_comm_backend(self->comm)) == 0);

    int64_t mine = self->rank % 2 ? odd * odd : even * (even - 1);
    RANK_CHECK(sum(half, self->rank, &error) == mine);
    RANK_CHECK(sum(self->comm, 1, &error) == self->ranks); /* the parent works beside it */
    int32_t who[8] = {0};
    who[gw_comm_rank(half)] = self->rank;
    RANK_CHECK_RC(gw_comm_all_gather(
                      half, GW_COMM_ARGS(.recv = who, .count = 1, .dtype = GW_DTYPE_I32), &error),
                  0);
    for (int i = 0; i < count; i++)
        RANK_CHECK(who[i] == 2 * (count - 1 - i) + self->rank % 2);
    void *memory;
    RANK_CHECK_RC(gw_comm_alloc(half, 100000, &memory, &error), 0);
    RANK_CHECK_RC(
        gw_comm_broadcast(half, GW_COMM_ARGS(.recv = memory, .count = 100000, .dtype = GW_DTYPE_U8),
                          &error),
        0);
    gw_comm_close(half);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), 0);
    return 0;
}

/* Some ranks are in no part; a part of a part outlives both of its parents. */
static int rank_nested(struct world_rank *self)
{
    struct gw_comm *part, *inner = NULL;
    struct gw_error error;
    const bool out = self->rank == 0;
    const struct gw_comm_part split = {.colour = out ? -1 : 7};
    RANK_CHECK_RC(gw_comm_split(self->comm, &split, &part, &error), 0);
    RANK_CHECK(out == !part);
    if (!out) {
        RANK_CHECK_RC(
            gw_comm_split(part, &(const struct gw_comm_part){.colour = 1}, &inner, &error), 0);
        gw_comm_close(part);
        RANK_CHECK(sum(inner, 1, &error) == self->ranks - 1);
    }
    gw_comm_close(inner);
    /* Keys that alternate between hosts are impossible in a ring: all ranks get an error, and
     * nothing breaks. */
    const struct gw_comm_part mixed = {.key = self->rank % 2};
    int rc = gw_comm_split(self->comm, &mixed, &part, &error);
    if (hooks->has_hosts && self->ranks == 5) {
        RANK_CHECK_RC(rc, GW_ENOTSUP);
    } else {
        RANK_CHECK_RC(rc, 0);
        RANK_CHECK(gw_comm_rank(part) ==
                   self->rank / 2 + (self->rank % 2 ? (self->ranks + 1) / 2 : 0));
        gw_comm_close(part);
    }
    RANK_CHECK(sum(self->comm, 1, &error) == self->ranks);
    return 0;
}

static void split_communicators_work_beside_their_parent(void **state)
{
    static const int worlds[] = {1, 2, 3, 5, 8};
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0]; i++)
        run(worlds[i], rank_halves);
    for (size_t i = 1; i < sizeof worlds / sizeof worlds[0]; i++)
        run(worlds[i], rank_nested);
}

/* A rank that waits in a part is woken if the whole is aborted. */
static int rank_orphan(struct world_rank *self)
{
    struct gw_comm *part;
    struct gw_error error;
    const struct gw_comm_part split = {.colour = 0};
    RANK_CHECK_RC(gw_comm_split(self->comm, &split, &part, &error), 0);
    world_tell(self);
    if (self->rank == 2)
        world_wait_gate(self);
    RANK_CHECK_RC(gw_comm_barrier(part, &error), GW_EABORTED);
    RANK_CHECK(strstr(error.text, "rank 2: a task's process crashed"));
    RANK_CHECK_RC(gw_comm_barrier(part, &error), GW_EABORTED);
    gw_comm_close(part);
    return 0;
}

static void abort_of_the_parent_aborts_its_parts(void **state)
{
    struct world world = {.hooks = hooks, .ranks = RANKS, .function = rank_orphan};
    world_start(&world);
    world_hear(&world, RANKS);
    assert_int_equal(hooks->abort(world.handle, GW_ECRASHED, 2), 0);
    world_open_gate(&world);
    assert_int_equal(world_join(&world), 0);
}

/* A part that breaks leaves the whole communicator usable. */
static int rank_broken_part(struct world_rank *self)
{
    struct gw_comm *part;
    struct gw_error error;
    const struct gw_comm_part split = {.colour = 0};
    RANK_CHECK_RC(gw_comm_split(self->comm, &split, &part, &error), 0);
    if (self->rank == 0)
        gw_comm_abort(part, GW_ECANCELLED, 0);
    RANK_CHECK_RC(gw_comm_barrier(part, &error), GW_EABORTED);
    gw_comm_close(part);
    RANK_CHECK(sum(self->comm, 1, &error) == self->ranks);
    return 0;
}

static void abort_of_a_part_leaves_the_parent_usable(void **state)
{
    run(RANKS, rank_broken_part);
}

/* -- Several ranks of a process ------------------------------------------------------------------
 */

struct child {
    struct gw_comm *comm;
    int64_t sum;
    pthread_t thread;
};

static void *child_main(void *arg)
{
    struct child *child = arg;
    child->sum = sum(child->comm, gw_comm_rank(child->comm), NULL);
    return NULL;
}

/* Each thread of a process is a rank of its own. */
static int rank_multiplied(struct world_rank *self)
{
    enum { EACH = 3 };
    const int size = self->ranks * EACH;
    struct gw_comm *comms[EACH];
    struct child children[EACH];
    struct gw_error error;
    RANK_CHECK_RC(gw_comm_multiply(self->comm, EACH, comms, &error), 0);
    for (int i = 0; i < EACH; i++) {
        children[i].comm = comms[i];
        RANK_CHECK(gw_comm_size(comms[i]) == size);
        RANK_CHECK(gw_comm_rank(comms[i]) == self->rank * EACH + i);
        RANK_CHECK(strcmp(gw_comm_backend(comms[i]), "host") == 0);
        RANK_CHECK(pthread_create(&children[i].thread, NULL, child_main, &children[i]) == 0);
    }
    for (int i = 0; i < EACH; i++) {
        RANK_CHECK(pthread_join(children[i].thread, NULL) == 0);
        RANK_CHECK(children[i].sum == size * (size - 1) / 2);
        gw_comm_close(comms[i]);
    }
    RANK_CHECK(sum(self->comm, 1, &error) == self->ranks);
    return 0;
}

static int rank_limit(struct world_rank *self)
{
    struct gw_comm *comms[GW_COMM_HOST_RANKS_MAX];
    struct gw_error error;
    RANK_CHECK_RC(gw_comm_multiply(self->comm, GW_COMM_HOST_RANKS_MAX / 2 + 1, comms, &error),
                  GW_EINVAL);
    RANK_CHECK(strstr(error.text, "2 x 65 ranks (1 to 128)"));
    RANK_CHECK_RC(gw_comm_multiply(self->comm, GW_COMM_HOST_RANKS_MAX / 2, comms, &error), 0);
    for (int i = 0; i < GW_COMM_HOST_RANKS_MAX / 2; i++)
        gw_comm_close(comms[i]);
    RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_multiply(self->comm, 1, comms, &error), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), 0);
    return 0;
}

static void multiplied_communicator_has_a_rank_for_each_thread(void **state)
{
    for (int ranks = 1; ranks <= 5; ranks++)
        run(ranks, rank_multiplied);
    if (hooks->is_host)
        run(2, rank_limit);
}

/* A thread that waits is woken if the whole is aborted. */
static int rank_multiplied_orphan(struct world_rank *self)
{
    struct gw_comm *comms[2];
    struct gw_error error;
    RANK_CHECK_RC(gw_comm_multiply(self->comm, 2, comms, &error), 0);
    world_tell(self);
    RANK_CHECK_RC(gw_comm_barrier(comms[1], &error), GW_EABORTED); /* no rank calls it on [0] */
    RANK_CHECK(strstr(error.text, "rank 2: a task's process crashed"));
    gw_comm_close(comms[0]);
    gw_comm_close(comms[1]);
    return 0;
}

static void abort_of_the_parent_aborts_its_multiple(void **state)
{
    struct world world = {.hooks = hooks, .ranks = RANKS, .function = rank_multiplied_orphan};
    world_start(&world);
    world_hear(&world, RANKS);
    assert_int_equal(hooks->abort(world.handle, GW_ECRASHED, 2), 0);
    assert_int_equal(world_join(&world), 0);
}

/* -- Groups --------------------------------------------------------------------------------------
 */

/* All ranks send to all ranks, in an order that would deadlock without a group. */
static int rank_exchange(struct world_rank *self)
{
    const size_t counts[] = {1, 3000, LONG};
    const size_t bytes = LONG * sizeof(float) * (size_t)self->ranks;
    struct gw_error error;
    float *mirror = calloc(1, bytes);
    void *out, *in;
    RANK_CHECK(mirror);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, bytes, &out, &error), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, bytes, &in, &error), 0);
    for (size_t c = 0; c < 3; c++) {
        const size_t count = counts[c];
        for (size_t i = 0; i < count * (size_t)self->ranks; i++)
            mirror[i] = (float)(self->rank * 1000) + (float)(i / count);
        hooks->copy(out, mirror, count * (size_t)self->ranks * sizeof *mirror);
        RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
        for (int peer = self->ranks - 1; peer >= 0; peer--) {
            if (peer == self->rank)
                continue;
            struct gw_comm_args args = {.count = count, .dtype = GW_DTYPE_F32, .root = peer};
            args.send = (float *)out + (size_t)peer * count;
            RANK_CHECK_RC(gw_comm_send(self->comm, &args, &error), 0);
            args.recv = (float *)in + (size_t)peer * count;
            RANK_CHECK_RC(gw_comm_recv(self->comm, &args, &error), 0);
        }
        RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), 0);
        hooks->copy(mirror, in, count * (size_t)self->ranks * sizeof *mirror);
        for (size_t i = 0; i < count * (size_t)self->ranks; i++)
            RANK_CHECK((int)(i / count) == self->rank ||
                       mirror[i] == (float)(1000 * (int)(i / count) + self->rank));
    }
    free(mirror);
    return 0;
}

/* Sums of one type and of others, beside a broadcast. */
static int rank_together(struct world_rank *self)
{
    struct gw_error error;
    double values[12], *all;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof values, (void **)&all, &error), 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 12; i++)
            values[i] = self->rank + i;
        hooks->copy(all, values, sizeof values);
        RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
        for (size_t i = 0; i < 12; i += 3) {
            struct gw_comm_args args = {.recv = all + i, .count = 3, .dtype = GW_DTYPE_F64};
            if (i == 9) {
                args.root = self->ranks - 1;
                RANK_CHECK_RC(gw_comm_broadcast(self->comm, &args, &error), 0);
                continue;
            }
            args.reduce = i == 6 ? GW_REDUCE_MAX : GW_REDUCE_SUM;
            RANK_CHECK_RC(gw_comm_all_reduce(self->comm, &args, &error), 0);
        }
        RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), 0);
        hooks->copy(values, all, sizeof values);
        const int last = self->ranks - 1;
        for (int i = 0; i < 12; i++)
            RANK_CHECK(values[i] == (i < 6 ? self->ranks * i + self->ranks * last / 2 : last + i));
    }
    return 0;
}

static int rank_refused(struct world_rank *self)
{
    struct gw_error error;
    struct gw_comm *part;
    void *memory, *device;
    const struct gw_comm_args none = {.recv = &error, .count = 1}; /* without a type */
    RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 64, &device, &error), 0);
    RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_wait(self->comm, NULL, &error), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 1, &memory, &error), GW_EINVAL);
    RANK_CHECK_RC(
        gw_comm_split(self->comm, &(const struct gw_comm_part){.colour = 0}, &part, &error),
        GW_EINVAL);
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm, &none, &error), GW_EINVAL);
    RANK_CHECK_RC(
        gw_comm_all_reduce(
            self->comm, GW_COMM_ARGS(.recv = device, .count = 16, .dtype = GW_DTYPE_F32), &error),
        0);
    RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), 0); /* an empty group */
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), 0);
    return 0;
}

static void grouped_operations_complete_without_deadlock(void **state)
{
    for (int ranks = 1; ranks <= 5; ranks += 2) {
        run(ranks, rank_exchange);
        run(ranks, rank_together);
    }
    run(2, rank_exchange);
    run(2, rank_refused);
}

/* Two sums whose lengths differ between some ranks. */
static int rank_group_mismatch(struct world_rank *self)
{
    struct gw_error error;
    float *memory;
    const size_t first = self->rank == 1 ? 5 : 7;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 12 * sizeof(float), (void **)&memory, &error), 0);
    world_tell(self);
    world_wait_gate(self);
    RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_all_reduce(
                      self->comm,
                      GW_COMM_ARGS(.recv = memory, .count = first, .dtype = GW_DTYPE_F32), &error),
                  0);
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.recv = memory + first, .count = 12 - first,
                                                  .dtype = GW_DTYPE_F32),
                                     &error),
                  0);
    RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), GW_EMISMATCH);
    RANK_CHECK_RC(gw_comm_group_begin(self->comm, &error), 0);
    RANK_CHECK_RC(gw_comm_broadcast(self->comm,
                                    GW_COMM_ARGS(.recv = memory, .count = 1, .dtype = GW_DTYPE_F32),
                                    &error),
                  0);
    RANK_CHECK_RC(gw_comm_group_end(self->comm, &error), GW_EMISMATCH); /* permanently broken */
    return 0;
}

static void mismatch_in_a_group_is_refused(void **state)
{
    run_gated(RANKS, rank_group_mismatch);
}

/* -- What only some backends have ----------------------------------------------------------------
 */

static int rank_special(struct world_rank *self)
{
    struct gw_error error;
    struct ncclComm *handle = NULL;
    void *stream = NULL, *memory;
    static char bytes[4096];
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 4096, &memory, &error), 0);
    RANK_CHECK_RC(gw_comm_register(self->comm, NULL, 1, &error), GW_EINVAL);
    if (!hooks->on_device) {
        RANK_CHECK_RC(gw_comm_nccl(self->comm, &handle, &error), GW_ENOTSUP);
        RANK_CHECK(strstr(error.text, "host backend has no NCCL"));
        RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, &error), GW_ENOTSUP);
        RANK_CHECK_RC(gw_comm_follow(self->comm, bytes, bytes, &error), GW_ENOTSUP);
        RANK_CHECK_RC(gw_comm_register(self->comm, bytes, sizeof bytes, &error), GW_ENOTSUP);
        RANK_CHECK(strstr(error.text, "gw_comm_alloc"));
        gw_comm_unregister(self->comm, bytes);
        world_tell(self);
        return 0;
    }
    RANK_CHECK_RC(gw_comm_nccl(self->comm, &handle, &error), 0);
    RANK_CHECK(handle);
    RANK_CHECK_RC(gw_comm_register(self->comm, bytes, sizeof bytes, &error), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_register(self->comm, memory, 4096, &error),
                  GW_EINVAL); /* already registered */
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, &error), 0);
    RANK_CHECK_RC(gw_comm_follow(self->comm, stream, stream, &error), 0);
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.recv = memory, .count = 1024,
                                                  .dtype = GW_DTYPE_F32, .stream = stream),
                                     &error),
                  0);
    RANK_CHECK_RC(gw_comm_wait(self->comm, stream, &error), 0);
    world_tell(self);
    world_wait_gate(self);
    if (self->rank == 0)
        gw_comm_abort(self->comm, GW_ECANCELLED, 0);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_EABORTED);
    RANK_CHECK_RC(gw_comm_nccl(self->comm, &handle, &error), GW_EABORTED);
    return 0;
}

static void backend_specific_calls_work_or_return_enotsup(void **state)
{
    run_gated(2, rank_special);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(split_communicators_work_beside_their_parent),
        cmocka_unit_test(abort_of_the_parent_aborts_its_parts),
        cmocka_unit_test(abort_of_a_part_leaves_the_parent_usable),
        cmocka_unit_test(multiplied_communicator_has_a_rank_for_each_thread),
        cmocka_unit_test(abort_of_the_parent_aborts_its_multiple),
        cmocka_unit_test(grouped_operations_complete_without_deadlock),
        cmocka_unit_test(mismatch_in_a_group_is_refused),
        cmocka_unit_test(backend_specific_calls_work_or_return_enotsup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
