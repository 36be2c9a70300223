/* The conformance suite of communicators: the promises of comm.h, for any backend that fills in
 * comm_backend_hooks. Ranks are processes; one run of the whole table uses threads, which
 * ThreadSanitizer can check. Inputs are small whole numbers, so that all types hold every result
 * exactly, and every result is compared with one computed here in double. */
#include "tests/unit/gpu/comm_values.h"
#include "tests/unit/gpu/comm_world.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#ifndef COMM_HOOKS /* tests/gpu builds this file for another backend */
#define COMM_HOOKS comm_host_hooks
#endif
extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

#ifdef __SANITIZE_THREAD__
enum { IS_WATCHED = 1 };
#else
enum { IS_WATCHED = 0 };
#endif

static const enum gw_dtype dtypes[] = {GW_DTYPE_F32,  GW_DTYPE_F64, GW_DTYPE_I32, GW_DTYPE_I64,
                                       GW_DTYPE_BF16, GW_DTYPE_F16, GW_DTYPE_U8};
static const size_t counts[] = {0, 1, 5, 2049, 70001};
static const int worlds[] = {1, 2, 3, 4, 7};

enum { COUNT_MAX = 70001 };

/* Where the buffers of an operation are. */
enum placement {
    IN_PLACE_SHARED,
    IN_PLACE_PRIVATE,
    APART_SHARED,
    APART_PRIVATE,
    MIXED, /* even ranks shared, odd ones private */
    PLACEMENTS,
};

/* Element i of the rank's input: -4 to 4, or 1 and 2 (with signs) for products; bytes are not
 * negative. */
static double input(enum gw_dtype dtype, enum gw_reduce reduce, int rank, size_t i)
{
    unsigned mixed = (unsigned)(i * 7 + (size_t)rank * 5 + i / 3);
    double value = reduce == GW_REDUCE_PROD ? (mixed % 2 ? 2 : -1) : (double)(mixed % 9) - 4;
    return dtype == GW_DTYPE_U8 ? fabs(value) : value;
}

static double expected(enum gw_dtype dtype, enum gw_reduce reduce, int ranks, size_t i)
{
    double result = input(dtype, reduce, 0, i);
    for (int rank = 1; rank < ranks; rank++) {
        double value = input(dtype, reduce, rank, i);
        if (reduce == GW_REDUCE_SUM || reduce == GW_REDUCE_AVG)
            result += value;
        else if (reduce == GW_REDUCE_PROD)
            result *= value;
        else if (reduce == GW_REDUCE_MIN)
            result = value < result ? value : result;
        else
            result = value > result ? value : result;
    }
    bool whole = dtype == GW_DTYPE_I32 || dtype == GW_DTYPE_I64 || dtype == GW_DTYPE_U8;
    if (reduce == GW_REDUCE_AVG)
        result = whole ? trunc(result / ranks) : result / ranks;
    return result;
}

/* Only an average may be inexact: its divisor may be 3. */
static bool is_equal(enum gw_dtype dtype, enum gw_reduce reduce, double value, double wanted)
{
    double tolerance = 0;
    if (reduce == GW_REDUCE_AVG)
        tolerance = dtype == GW_DTYPE_BF16  ? 1e-2
                    : dtype == GW_DTYPE_F16 ? 2e-3
                    : dtype == GW_DTYPE_F32 ? 1e-6
                    : dtype == GW_DTYPE_F64 ? 1e-14
                                            : 0;
    return fabs(value - wanted) <= tolerance * 4;
}

/* Two buffers of each kind, large enough for the parts of all ranks. */
struct buffers {
    void *shared[2];
    void *private[2];
    void *mirror; /* for inputs and for reading results */
};

static int buffers_init(struct world_rank *self, struct buffers *buffers)
{
    size_t bytes = (size_t)COUNT_MAX * sizeof(double) * (size_t)self->ranks;
    for (int i = 0; i < 2; i++) {
        RANK_CHECK_RC(gw_comm_alloc(self->comm, bytes, &buffers->shared[i], NULL), 0);
        buffers->private[i] = malloc(bytes);
        RANK_CHECK(buffers->private[i]);
    }
    buffers->mirror = malloc(bytes);
    RANK_CHECK(buffers->mirror);
    return 0;
}

static void buffers_deinit(struct world_rank *self, struct buffers *buffers)
{
    for (int i = 0; i < 2; i++) {
        gw_comm_dealloc(self->comm, buffers->shared[i]);
        free(buffers->private[i]);
    }
    free(buffers->mirror);
}

static void *buffer_of(const struct world_rank *self, const struct buffers *buffers,
                       enum placement placement, int i)
{
    bool shared = placement == IN_PLACE_SHARED || placement == APART_SHARED ||
                  (placement == MIXED && self->rank % 2 == 0);
    return shared ? buffers->shared[i] : buffers->private[i];
}

static bool is_in_place(enum placement placement)
{
    return placement == IN_PLACE_SHARED || placement == IN_PLACE_PRIVATE;
}

/* One line of the table. */
struct line {
    enum gw_dtype dtype;
    enum gw_reduce reduce;
    size_t count;
    enum placement placement;
};

/* Fills a buffer with `count` elements of the rank's input. */
static void fill(const struct buffers *buffers, void *to, const struct line *line, int rank,
                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        value_set(line->dtype, buffers->mirror, i, input(line->dtype, line->reduce, rank, i));
    hooks->copy(to, buffers->mirror, count * gw_dtype_size(line->dtype));
}

/* The first `count` elements of a buffer, readable until the next fill or look. */
static const void *look(const struct buffers *buffers, const void *from, const struct line *line,
                        size_t count)
{
    hooks->copy(buffers->mirror, from, count * gw_dtype_size(line->dtype));
    return buffers->mirror;
}

static int line_all_reduce(struct world_rank *self, const struct buffers *buffers,
                           const struct line *line)
{
    void *send = buffer_of(self, buffers, line->placement, 0);
    void *recv = is_in_place(line->placement) ? send : buffer_of(self, buffers, line->placement, 1);
    fill(buffers, send, line, self->rank, line->count);
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.send = recv == send ? NULL : send, .recv = recv,
                                                  .count = line->count, .dtype = line->dtype,
                                                  .reduce = line->reduce),
                                     NULL),
                  0);
    const void *result = look(buffers, recv, line, line->count);
    for (size_t i = 0; i < line->count; i++)
        RANK_CHECK(is_equal(line->dtype, line->reduce, value_get(line->dtype, result, i),
                            expected(line->dtype, line->reduce, self->ranks, i)));
    const void *sent = look(buffers, send, line, line->count);
    for (size_t i = 0; i < line->count && recv != send; i++) /* inputs stay unchanged */
        RANK_CHECK(value_get(line->dtype, sent, i) ==
                   input(line->dtype, line->reduce, self->rank, i));
    return 0;
}

static int line_reduce_scatter(struct world_rank *self, const struct buffers *buffers,
                               const struct line *line)
{
    const size_t total = line->count * (size_t)self->ranks;
    const size_t first = line->count * (size_t)self->rank;
    char *send = buffer_of(self, buffers, line->placement, 0);
    char *recv = is_in_place(line->placement) ? send + first * gw_dtype_size(line->dtype)
                                              : buffer_of(self, buffers, line->placement, 1);
    fill(buffers, send, line, self->rank, total);
    RANK_CHECK_RC(
        gw_comm_reduce_scatter(
            self->comm,
            GW_COMM_ARGS(.send = send, .recv = is_in_place(line->placement) ? NULL : recv,
                         .count = line->count, .dtype = line->dtype, .reduce = line->reduce),
            NULL),
        0);
    const void *result = look(buffers, recv, line, line->count);
    for (size_t i = 0; i < line->count; i++)
        RANK_CHECK(is_equal(line->dtype, line->reduce, value_get(line->dtype, result, i),
                            expected(line->dtype, line->reduce, self->ranks, first + i)));
    return 0;
}

static int line_all_gather(struct world_rank *self, const struct buffers *buffers,
                           const struct line *line)
{
    const size_t first = line->count * (size_t)self->rank;
    char *recv = buffer_of(self, buffers, line->placement, 1);
    char *send = is_in_place(line->placement) ? recv + first * gw_dtype_size(line->dtype)
                                              : buffer_of(self, buffers, line->placement, 0);
    fill(buffers, send, line, self->rank, line->count);
    RANK_CHECK_RC(
        gw_comm_all_gather(self->comm,
                           GW_COMM_ARGS(.send = is_in_place(line->placement) ? NULL : send,
                                        .recv = recv, .count = line->count, .dtype = line->dtype),
                           NULL),
        0);
    const void *result = look(buffers, recv, line, line->count * (size_t)self->ranks);
    for (int rank = 0; rank < self->ranks; rank++)
        for (size_t i = 0; i < line->count; i++)
            RANK_CHECK(value_get(line->dtype, result, (size_t)rank * line->count + i) ==
                       input(line->dtype, GW_REDUCE_SUM, rank, i));
    return 0;
}

static int line_broadcast(struct world_rank *self, const struct buffers *buffers,
                          const struct line *line, int root)
{
    char *send = buffer_of(self, buffers, line->placement, 0);
    char *recv = is_in_place(line->placement) ? send : buffer_of(self, buffers, line->placement, 1);
    fill(buffers, recv, line, root + 1, line->count);
    if (self->rank == root)
        fill(buffers, send, line, root, line->count);
    RANK_CHECK_RC(
        gw_comm_broadcast(self->comm,
                          GW_COMM_ARGS(.send = self->rank == root ? send : NULL, .recv = recv,
                                       .count = line->count, .dtype = line->dtype, .root = root),
                          NULL),
        0);
    const void *result = look(buffers, recv, line, line->count);
    for (size_t i = 0; i < line->count; i++)
        RANK_CHECK(value_get(line->dtype, result, i) == input(line->dtype, GW_REDUCE_SUM, root, i));
    return 0;
}

/* Around the ring: even ranks send first, and an odd last rank receives first. */
static int line_send_recv(struct world_rank *self, const struct buffers *buffers,
                          const struct line *line)
{
    if (self->ranks == 1)
        return 0;
    const int next = (self->rank + 1) % self->ranks;
    const int before = (self->rank + self->ranks - 1) % self->ranks;
    char *send = buffer_of(self, buffers, line->placement, 0);
    char *recv = buffer_of(self, buffers, line->placement, 1);
    const struct gw_comm_args out = {
        .send = send, .count = line->count, .dtype = line->dtype, .root = next};
    const struct gw_comm_args in = {
        .recv = recv, .count = line->count, .dtype = line->dtype, .root = before};
    fill(buffers, send, line, self->rank, line->count);
    for (int twice = 0; twice < 2; twice++) {
        const bool first = self->rank % 2 == 0;
        if (first)
            RANK_CHECK_RC(gw_comm_send(self->comm, &out, NULL), 0);
        RANK_CHECK_RC(gw_comm_recv(self->comm, &in, NULL), 0);
        if (!first)
            RANK_CHECK_RC(gw_comm_send(self->comm, &out, NULL), 0);
        const void *result = look(buffers, recv, line, line->count);
        for (size_t i = 0; i < line->count; i++)
            RANK_CHECK(value_get(line->dtype, result, i) ==
                       input(line->dtype, GW_REDUCE_SUM, before, i));
    }
    return 0;
}

static int line_run(struct world_rank *self, const struct buffers *buffers, struct line line)
{
    int rc = line_all_gather(self, buffers, &line);
    rc = rc ? rc : line_broadcast(self, buffers, &line, 0);
    rc = rc ? rc : line_broadcast(self, buffers, &line, self->ranks - 1);
    rc = rc ? rc : line_send_recv(self, buffers, &line);
    for (int reduce = 0; reduce <= GW_REDUCE_AVG; reduce++) {
        line.reduce = (enum gw_reduce)reduce;
        rc = rc ? rc : line_all_reduce(self, buffers, &line);
        rc = rc ? rc : line_reduce_scatter(self, buffers, &line);
    }
    if (rc)
        (void)fprintf(stderr, "... %zu %s, placement %d, reduction %d\n", line.count,
                      gw_dtype_name(line.dtype), (int)line.placement, (int)line.reduce);
    return rc;
}

static int rank_table(struct world_rank *self)
{
    struct buffers buffers;
    int rc = buffers_init(self, &buffers);
    if (rc)
        return rc;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int placement = 0; placement < PLACEMENTS; placement++) {
                /* Beyond the first placement, the largest size is tested once per type. The data
                 * paths between threads are the same for all types. */
                const bool other = placement != (int)d % PLACEMENTS;
                if (other && ((self->ranks > 2 || d > 0) && counts[c] > 5000))
                    continue;
                if (other && d > 0 && IS_WATCHED)
                    continue;
                rc = rc ? rc
                        : line_run(self, &buffers,
                                   (struct line){.dtype = dtypes[d],
                                                 .count = counts[c],
                                                 .placement = (enum placement)placement});
            }
    buffers_deinit(self, &buffers);
    return rc;
}

static void run_table(int ranks, bool threads)
{
    struct world world = {
        .hooks = hooks, .ranks = ranks, .threads = threads, .function = rank_table};
    assert_int_equal(world_run(&world), 0);
}

/* The ranks are processes. ThreadSanitizer cannot see memory that processes share; the next test
 * uses threads. */
static void collectives_return_exact_results_for_all_types(void **state)
{
    if (IS_WATCHED)
        skip();
    for (size_t i = 0; i < sizeof worlds / sizeof worlds[0] && worlds[i] <= hooks->ranks_max; i++)
        run_table(worlds[i], false);
}

static void collectives_are_exact_if_ranks_are_threads(void **state)
{
    for (int ranks = 2; hooks->has_threads && ranks <= 4; ranks += 2)
        run_table(ranks, true);
}

/* Fractions that round: the order of the sum must be 0, 1, 2 ..., whatever path the data takes. */
static int rank_order(struct world_rank *self)
{
    enum { COUNT = 30011 };
    float *own = malloc(COUNT * sizeof *own), *wanted = malloc(COUNT * sizeof *wanted);
    void *shared;
    RANK_CHECK(own && wanted);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, COUNT * sizeof *own, &shared, NULL), 0);
    for (size_t i = 0; i < COUNT; i++) {
        wanted[i] = 0;
        for (int rank = 0; rank < self->ranks; rank++) {
            float value = sinf((float)i * 0.37f + (float)rank) * powf(3, (float)(rank % 5));
            wanted[i] = rank == 0 ? value : wanted[i] + value;
            if (rank == self->rank)
                own[i] = value;
        }
    }
    memcpy(shared, own, COUNT * sizeof *own);
    float *const both[2] = {own, shared};
    for (int i = 0; i < 2; i++) {
        RANK_CHECK_RC(
            gw_comm_all_reduce(self->comm,
                               GW_COMM_ARGS(.recv = both[i], .count = COUNT, .dtype = GW_DTYPE_F32),
                               NULL),
            0);
        RANK_CHECK(memcmp(both[i], wanted, COUNT * sizeof *own) == 0);
    }
    free(own);
    free(wanted);
    return 0;
}

static void reduction_adds_ranks_in_a_fixed_order(void **state)
{
    for (int ranks = 2; hooks->is_host && ranks <= 5; ranks++) {
        struct world world = {.hooks = hooks, .ranks = ranks, .function = rank_order};
        assert_int_equal(world_run(&world), 0);
    }
}

/* 16-bit sums are computed in float: 256 + 1 + 1 in bfloat16 arithmetic would be 256. */
static int rank_half(struct world_rank *self)
{
    uint16_t value = gw_bf16_from_f32(self->rank == 0 ? 256 : 1);
    RANK_CHECK_RC(
        gw_comm_all_reduce(self->comm,
                           GW_COMM_ARGS(.recv = &value, .count = 1, .dtype = GW_DTYPE_BF16), NULL),
        0);
    RANK_CHECK(!hooks->is_host || gw_bf16_to_f32(value) == 258);
    int32_t most = INT32_MAX;
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.recv = &most, .count = 1, .dtype = GW_DTYPE_I32),
                                     NULL),
                  0);
    RANK_CHECK(most == INT32_MAX - 2); /* 3 * (2^31 - 1), wrapped */
    float nan = self->rank == 1 ? NAN : 1;
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.recv = &nan, .count = 1, .dtype = GW_DTYPE_F32),
                                     NULL),
                  0);
    RANK_CHECK(isnan(nan));
    return 0;
}

static void reductions_sum_bf16_in_float_and_wrap_integers(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 3, .function = rank_half};
    assert_int_equal(world_run(&world), 0);
}

static int rank_invalid(struct world_rank *self)
{
    float x[8] = {0};
    struct gw_error error;
    const struct gw_comm_args bad[] = {
        {.recv = x, .count = 1},
        {.recv = x, .count = 1, .dtype = (enum gw_dtype)99},
        {.recv = x, .count = 1, .dtype = GW_DTYPE_F32, .reduce = (enum gw_reduce)17},
        {.count = 1, .dtype = GW_DTYPE_F32},
        {.recv = x, .count = SIZE_MAX / 2, .dtype = GW_DTYPE_F32},
        {.recv = x, .count = 1, .dtype = GW_DTYPE_F32, .stream = x},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        RANK_CHECK_RC(gw_comm_all_reduce(self->comm, &bad[i], &error), GW_EINVAL);
        RANK_CHECK(error.code == GW_EINVAL && error.text[0]);
    }
    RANK_CHECK_RC(gw_comm_broadcast(self->comm,
                                    GW_COMM_ARGS(.recv = x, .count = 1, .dtype = GW_DTYPE_F32,
                                                 .root = self->ranks),
                                    NULL),
                  GW_EINVAL);
    RANK_CHECK_RC(
        gw_comm_send(self->comm,
                     GW_COMM_ARGS(.send = x, .count = 1, .dtype = GW_DTYPE_F32, .root = self->rank),
                     NULL),
        GW_EINVAL);
    void *memory;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 0, &memory, NULL), GW_EINVAL);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0); /* the communicator still works */
    RANK_CHECK_RC(gw_comm_wait(self->comm, NULL, NULL), 0);
    RANK_CHECK(gw_comm_size(self->comm) == self->ranks && gw_comm_rank(self->comm) == self->rank);
    return 0;
}

static void collectives_refuse_invalid_arguments(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 2, .function = rank_invalid};
    assert_int_equal(world_run(&world), 0);
}

/* Whether all bytes of memory of gw_comm_alloc are `value`. */
static bool is_filled(const void *memory, char *mirror, size_t bytes, int value)
{
    hooks->copy(mirror, memory, bytes);
    for (size_t k = 0; k < bytes; k++)
        if (mirror[k] != value)
            return false;
    return true;
}

static int rank_memory(struct world_rank *self)
{
    static char mirrors[WORLD_RANKS_MAX][1200000];
    char *mirror = mirrors[self->rank];
    struct gw_error error;
    void *memory[3];
    for (int round = 0; round < 4; round++) {
        const size_t bytes[3] = {100000, 1, (size_t)300000 * (size_t)(round + 1)};
        for (int i = 0; i < 3; i++) {
            RANK_CHECK_RC(gw_comm_alloc(self->comm, bytes[i], &memory[i], NULL), 0);
            RANK_CHECK((uintptr_t)memory[i] % 4096 == 0);
            RANK_CHECK(is_filled(memory[i], mirror, bytes[i], 0));
        }
        memset(mirror, 1 + self->rank, bytes[2]);
        for (int i = 0; i < 3; i++)
            hooks->copy(memory[i], mirror, bytes[i]);
        RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
        for (int i = 0; i < 3; i++) /* every rank has its own memory */
            RANK_CHECK(is_filled(memory[i], mirror, bytes[i], 1 + self->rank));
        RANK_CHECK_RC(gw_comm_alloc(self->comm, (size_t)1 << 61, memory, &error), GW_ENOMEM);
        RANK_CHECK(strstr(error.text, hooks->on_device ? "device memory" : "shared memory"));
        gw_comm_dealloc(self->comm, memory[1]);
        gw_comm_dealloc(self->comm, memory[0]);
        gw_comm_dealloc(self->comm, memory[2]);
        gw_comm_dealloc(self->comm, NULL);
    }
    /* One rank frees and the others do not: the next allocation detects that. */
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 5, &memory[0], NULL), 0);
    if (self->rank == 0)
        gw_comm_dealloc(self->comm, memory[0]);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 5, &memory[1], NULL), GW_EMISMATCH);
    return 0;
}

static void shared_allocations_are_zeroed_and_aligned(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 3, .function = rank_memory};
    assert_int_equal(world_run(&world), 0);
    world.threads = hooks->has_threads;
    assert_int_equal(world_run(&world), 0);
}

/* Ranks that wait and ranks that arrive late both reach the deadline, and the error names the
 * missing rank. The deadline is a second, because a busy processor may delay a rank for a tenth of
 * it. */
static int rank_deadline(struct world_rank *self)
{
    struct gw_error error;
    if (self->rank == 1)
        world_wait_gate(self);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_ETIMEDOUT);
    RANK_CHECK(strstr(error.text, "waited 1s for rank 1"));
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_ETIMEDOUT); /* permanently broken */
    world_tell(self);
    return 0;
}

static void deadline_error_names_the_missing_rank(void **state)
{
    struct world world = {
        .hooks = hooks, .ranks = 3, .timeout_ns = 1000000000, .function = rank_deadline};
    world_start(&world);
    world_hear(&world, 2);
    world_open_gate(&world);
    assert_int_equal(world_join(&world), 0);
}

static int rank_aborted(struct world_rank *self)
{
    struct gw_error error;
    const int way = *(const int *)self->context;
    world_tell(self);
    if (self->rank == 2)
        world_wait_gate(self);
    float x = 0;
    struct gw_comm_args args = {.send = &x, .recv = &x, .count = 1, .dtype = GW_DTYPE_F32};
    int rc = way == 0   ? gw_comm_barrier(self->comm, &error)
             : way == 1 ? gw_comm_all_reduce(self->comm, &args, &error)
                        : (args.root = 2, gw_comm_recv(self->comm, &args, &error));
    if (self->rank != 2 || way != 2)
        RANK_CHECK_RC(rc, GW_EABORTED);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_EABORTED);
    RANK_CHECK(strstr(error.text, "rank 2: a task's process crashed"));
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm, &args, &error), GW_EABORTED);
    return 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void external_abort_ends_all_ranks_at_once(void **state)
{
    for (int way = 0; way < 3; way++) {
        struct world world = {
            .hooks = hooks, .ranks = 3, .function = rank_aborted, .context = &way};
        world_start(&world);
        world_hear(&world, 3);
        uint64_t start_ns = now_ns();
        assert_int_equal(hooks->abort(world.handle, GW_ECRASHED, 2), 0);
        assert_int_equal(hooks->abort(world.handle, GW_ECANCELLED, 0), 0); /* too late to count */
        world_open_gate(&world);
        assert_int_equal(world_join(&world), 0);
        assert_true(now_ns() - start_ns < 5000000000); /* of a deadline of 60 s */
    }
}

struct killing {
    int wanted;
    bool is_told; /* the others learn of the death from an observer */
};

/* Rank 2 is killed during a series of operations. */
static int rank_stream(struct world_rank *self)
{
    static float memory[50000];
    const struct killing *killing = self->context;
    struct gw_error error;
    void *x = memory;
    int rc = hooks->on_device ? gw_comm_alloc(self->comm, sizeof memory, &x, &error) : 0;
    for (int i = 0; rc == 0; i++) {
        rc = gw_comm_all_reduce(
            self->comm, GW_COMM_ARGS(.recv = x, .count = 50000, .dtype = GW_DTYPE_F32), &error);
        if (i == 3)
            world_tell(self);
    }
    /* At its deadline, a device cannot tell which rank it waits for; NCCL may notice earlier that a
     * connection is gone, and cannot tell which rank's either. */
    const bool unsaid = hooks->on_device && !killing->is_told && !hooks->has_hosts;
    if (unsaid && rc == GW_EABORTED) {
        RANK_CHECK(strstr(error.text, "NCCL: "));
        return 0;
    }
    RANK_CHECK_RC(rc, killing->wanted);
    RANK_CHECK(unsaid || strstr(error.text, "rank 2"));
    return 0;
}

static void run_killed(int wanted, uint64_t timeout_ns, bool is_told)
{
    struct killing killing = {wanted, is_told};
    struct world world = {.hooks = hooks,
                          .ranks = 3,
                          .timeout_ns = timeout_ns,
                          .function = rank_stream,
                          .context = &killing};
    world_start(&world);
    world_hear(&world, 3);
    assert_int_equal(kill(world.pid[2], SIGKILL), 0);
    if (is_told)
        assert_int_equal(hooks->abort(world.handle, GW_ECRASHED, 2), 0);
    assert_int_equal(world_join(&world), 1); /* the killed rank */
}

static void killed_rank_aborts_the_collective(void **state)
{
    run_killed(GW_EABORTED, 0, true);
    if (hooks->has_hosts)
        run_killed(GW_EABORTED, 0, false); /* the closed connection reports the death */
    else
        run_killed(GW_ETIMEDOUT, 2000000000,
                   false); /* nothing reports the death except the deadline */
}

static int rank_closed(struct world_rank *self)
{
    struct gw_error error;
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
    if (self->rank == 1)
        return 0; /* closes the communicator */
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_EABORTED);
    RANK_CHECK(strstr(error.text, "closed communicator of rank 1"));
    return 0;
}

static void closed_rank_aborts_the_next_barrier(void **state)
{
    struct world world = {.hooks = hooks, .ranks = 3, .function = rank_closed};
    assert_int_equal(world_run(&world), 0);
    world.threads = hooks->has_threads;
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collectives_return_exact_results_for_all_types),
        cmocka_unit_test(collectives_are_exact_if_ranks_are_threads),
        cmocka_unit_test(reduction_adds_ranks_in_a_fixed_order),
        cmocka_unit_test(reductions_sum_bf16_in_float_and_wrap_integers),
        cmocka_unit_test(collectives_refuse_invalid_arguments),
        cmocka_unit_test(shared_allocations_are_zeroed_and_aligned),
        cmocka_unit_test(deadline_error_names_the_missing_rank),
        cmocka_unit_test(external_abort_ends_all_ranks_at_once),
        cmocka_unit_test(killed_rank_aborts_the_collective),
        cmocka_unit_test(closed_rank_aborts_the_next_barrier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
