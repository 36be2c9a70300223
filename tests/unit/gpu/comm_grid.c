/* comm_grid [--full] [--table] [--seconds S] [--ranks N]...: every operation of a communicator that
 * moves data x every type x every reduction x sizes from 1 to 2^24 elements x 1 to 8 ranks, against
 * a serial reference. Without --full, a sample of smaller sizes; --table prints a line for each,
 * with the time of rank 0. With --seconds, nothing starts after that time, small sizes come first,
 * and skipped cases are counted. For any backend that fills in comm_backend_hooks. Exits with 1 if
 * any result was wrong.
 *
 * Inputs repeat after PERIOD elements, so that a reference of one period is enough, and are small
 * whole numbers, so that all types hold every result exactly; only averages are compared with a
 * tolerance. Sizes are those of the larger buffer, with at least one element per rank. */
#include "tests/unit/gpu/comm_values.h"
#include "tests/unit/gpu/comm_world.h"

#include <math.h>
#include <string.h>
#include <time.h>

#ifndef COMM_HOOKS /* as in test_comm.c */
#define COMM_HOOKS comm_host_hooks
#endif
extern const struct comm_backend_hooks COMM_HOOKS;
static const struct comm_backend_hooks *const hooks = &COMM_HOOKS;

enum { PERIOD = 4099, RANKS_MAX = 8, SAMPLE = 5 };

enum operation { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, EXCHANGE, OPERATIONS };

static const char *const names[OPERATIONS] = {"all_reduce", "reduce_scatter", "all_gather",
                                              "broadcast", "send_recv"};
static const char *const reductions[] = {"sum", "product", "minimum", "maximum", "average"};
static const enum gw_dtype dtypes[] = {GW_DTYPE_F32,  GW_DTYPE_F64, GW_DTYPE_I32, GW_DTYPE_I64,
                                       GW_DTYPE_BF16, GW_DTYPE_F16, GW_DTYPE_U8};
static const size_t sizes_full[] = {1, 3, 1000, 65537, 1048575, (1 << 24) - 1};
static const size_t sizes_sampled[] = {1, 5, 4097, 100003};

struct grid {
    bool full, table;
    bool ranks[RANKS_MAX + 1];
    double end_us; /* no line starts after this time; 0: no limit */
};

/* One line of the table. */
struct line {
    enum operation operation;
    enum gw_dtype dtype;
    enum gw_reduce reduce;
    size_t size, count; /* elements: of the larger buffer, of the call */
};

struct bench {
    struct world_rank *self;
    const struct grid *grid;
    void *send, *recv; /* of the communicator */
    char *mirror;      /* read and written here */
    char period[PERIOD * 8 * RANKS_MAX];
    size_t lines, failed, left_out;
    bool late; /* for all remaining lines */
};

static double input(const struct line *line, int rank, size_t i)
{
    unsigned mixed = (unsigned)(i * 7 + (size_t)rank * 5 + i / 3);
    double value = line->reduce == GW_REDUCE_PROD ? (mixed % 2 ? 2 : -1) : (double)(mixed % 9) - 4;
    return line->dtype == GW_DTYPE_U8 ? fabs(value) : value;
}

static bool is_whole(enum gw_dtype dtype)
{
    return dtype == GW_DTYPE_I32 || dtype == GW_DTYPE_I64 || dtype == GW_DTYPE_U8;
}

static double reduced(const struct line *line, int ranks, size_t i)
{
    double result = input(line, 0, i);
    for (int rank = 1; rank < ranks; rank++) {
        const double value = input(line, rank, i);
        switch (line->reduce) {
        case GW_REDUCE_SUM:
        case GW_REDUCE_AVG:
            result += value;
            break;
        case GW_REDUCE_PROD:
            result *= value;
            break;
        case GW_REDUCE_MIN:
            result = fmin(result, value);
            break;
        case GW_REDUCE_MAX:
            result = fmax(result, value);
            break;
        }
    }
    if (line->reduce == GW_REDUCE_AVG)
        result = is_whole(line->dtype) ? trunc(result / ranks) : result / ranks;
    return line->dtype == GW_DTYPE_U8 ? fmod(result, 256) : result;
}

/* Writes `count` elements, from element `first` on, of a pattern whose period is in bench->period.
 */
static void repeat(const struct bench *bench, const struct line *line, void *to, size_t first,
                   size_t count)
{
    const size_t element = gw_dtype_size(line->dtype);
    for (size_t at = 0; at < count;) {
        const size_t from = (first + at) % PERIOD;
        const size_t part = count - at < PERIOD - from ? count - at : PERIOD - from;
        memcpy((char *)to + at * element, bench->period + from * element, part * element);
        at += part;
    }
}

static void period_of_rank(struct bench *bench, const struct line *line, int rank)
{
    for (size_t i = 0; i < PERIOD; i++)
        value_set(line->dtype, bench->period, i, input(line, rank, i));
}

static void period_of_all(struct bench *bench, const struct line *line)
{
    for (size_t i = 0; i < PERIOD; i++)
        value_set(line->dtype, bench->period, i, reduced(line, bench->self->ranks, i));
}

/* The tolerance of a result: an average is a sum of rounded parts. */
static double tolerance_of(const struct line *line)
{
    if (line->reduce != GW_REDUCE_AVG || is_whole(line->dtype))
        return 0;
    return line->dtype == GW_DTYPE_BF16  ? 0.1
           : line->dtype == GW_DTYPE_F16 ? 1e-2
           : line->dtype == GW_DTYPE_F32 ? 1e-5
                                         : 1e-13;
}

/* Whether `count` elements in the mirror, from `at` on, equal the period from `first` on. */
static bool is_right(const struct bench *bench, const struct line *line, size_t at, size_t first,
                     size_t count)
{
    const size_t element = gw_dtype_size(line->dtype);
    const char *found = bench->mirror + at * element;
    const double tolerance = tolerance_of(line);
    for (size_t k = 0; k < count;) {
        const size_t from = (first + k) % PERIOD;
        const size_t part = count - k < PERIOD - from ? count - k : PERIOD - from;
        bool same =
            memcmp(found + k * element, bench->period + from * element, part * element) == 0;
        if (!same && tolerance > 0) {
            same = true;
            for (size_t i = 0; i < part && same; i++)
                same = fabs(value_get(line->dtype, found, k + i) -
                            value_get(line->dtype, bench->period, from + i)) <= tolerance;
        }
        if (!same)
            return false;
        k += part;
    }
    return true;
}

static int call(const struct bench *bench, const struct line *line, struct gw_error *error)
{
    const int ranks = bench->self->ranks, rank = bench->self->rank;
    struct gw_comm *comm = bench->self->comm;
    struct gw_comm_args args = {.send = bench->send,
                                .recv = bench->recv,
                                .count = line->count,
                                .dtype = line->dtype,
                                .reduce = line->reduce};
    int rc;
    switch (line->operation) {
    case ALL_REDUCE:
        return gw_comm_all_reduce(comm, &args, error);
    case REDUCE_SCATTER:
        return gw_comm_reduce_scatter(comm, &args, error);
    case ALL_GATHER:
        return gw_comm_all_gather(comm, &args, error);
    case BROADCAST:
        args.root = ranks - 1;
        return gw_comm_broadcast(comm, &args, error);
    case EXCHANGE:
        rc = gw_comm_group_begin(comm, error);
        args.root = (rank + 1) % ranks;
        rc = rc < 0 ? rc : gw_comm_send(comm, &args, error);
        args.root = (rank + ranks - 1) % ranks;
        rc = rc < 0 ? rc : gw_comm_recv(comm, &args, error);
        return rc < 0 ? rc : gw_comm_group_end(comm, error);
    case OPERATIONS:
        break;
    }
    return GW_EINVAL;
}

/* Fills the send buffer of this rank, and marks its receive buffer. */
static void prepare(struct bench *bench, const struct line *line)
{
    const size_t element = gw_dtype_size(line->dtype);
    const size_t sent = line->operation == REDUCE_SCATTER ? line->size : line->count;
    const size_t got = line->operation == ALL_GATHER ? line->size : line->count;
    memset(bench->mirror, 0x55, got * element);
    hooks->copy(bench->recv, bench->mirror, got * element);
    period_of_rank(bench, line, bench->self->rank);
    repeat(bench, line, bench->mirror, 0, sent);
    hooks->copy(bench->send, bench->mirror, sent * element);
}

static bool check(struct bench *bench, const struct line *line)
{
    const int ranks = bench->self->ranks, rank = bench->self->rank;
    const size_t got = line->operation == ALL_GATHER ? line->size : line->count;
    hooks->copy(bench->mirror, bench->recv, got * gw_dtype_size(line->dtype));
    bool right = true;
    switch (line->operation) {
    case ALL_REDUCE:
        period_of_all(bench, line);
        return is_right(bench, line, 0, 0, line->count);
    case REDUCE_SCATTER:
        period_of_all(bench, line);
        return is_right(bench, line, 0, (size_t)rank * line->count, line->count);
    case ALL_GATHER:
        for (int from = 0; from < ranks && right; from++) {
            period_of_rank(bench, line, from);
            right = is_right(bench, line, (size_t)from * line->count, 0, line->count);
        }
        return right;
    case BROADCAST:
        period_of_rank(bench, line, ranks - 1);
        return is_right(bench, line, 0, 0, line->count);
    case EXCHANGE:
        period_of_rank(bench, line, (rank + ranks - 1) % ranks);
        return is_right(bench, line, 0, 0, line->count);
    case OPERATIONS:
        break;
    }
    return false;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static bool is_late(const struct grid *grid)
{
    return grid->end_us > 0 && now_us() >= grid->end_us;
}

/* Rank 0 prints the result of all ranks. */
static void tell(const struct bench *bench, const struct line *line, int32_t wrong, double us)
{
    const bool reduces = line->operation == ALL_REDUCE || line->operation == REDUCE_SCATTER;
    if (bench->self->rank != 0 || (!bench->grid->table && wrong == 0))
        return;
    printf("%-14s %-8s %-5s %9zu %5d  %-6s %10.1f us %9.1f MB/s\n", names[line->operation],
           reduces ? reductions[line->reduce] : "", gw_dtype_name(line->dtype), line->size,
           bench->self->ranks, wrong ? "FAILED" : "ok", us,
           (double)(line->size * gw_dtype_size(line->dtype)) / us);
}

static int line_run(struct bench *bench, const struct line *line)
{
    struct gw_error error;
    struct gw_comm *comm = bench->self->comm;
    if (bench->late) {
        bench->left_out++;
        return 0;
    }
    prepare(bench, line);
    int rc = gw_comm_barrier(comm, &error);
    const double start_us = now_us();
    rc = rc < 0 ? rc : call(bench, line, &error);
    const double us = now_us() - start_us;
    enum { WRONG, LATE, WORDS };
    int32_t said[WORDS] = {rc == 0 && !check(bench, line), is_late(bench->grid)};
    const struct gw_comm_args args = {.recv = said, .count = WORDS, .dtype = GW_DTYPE_I32};
    rc = rc < 0 ? rc : gw_comm_all_reduce(comm, &args, &error);
    if (rc < 0) {
        (void)fprintf(stderr, "rank %d of %d: %s: %s\n", bench->self->rank, bench->self->ranks,
                      names[line->operation], error.text);
        return __LINE__;
    }
    tell(bench, line, said[WRONG], us);
    bench->lines++;
    bench->failed += said[WRONG] != 0;
    bench->late = said[LATE] != 0; /* if one rank is late, all are */
    return 0;
}

/* Runs every reduction of an operation that reduces, else the first one. */
static int reductions_run(struct bench *bench, struct line line)
{
    const bool reduces = line.operation == ALL_REDUCE || line.operation == REDUCE_SCATTER;
    const size_t ranks = (size_t)bench->self->ranks;
    const bool parts = line.operation == REDUCE_SCATTER || line.operation == ALL_GATHER;
    int rc = 0;
    if (line.operation == EXCHANGE && ranks == 1)
        return 0;
    line.count = parts ? (line.size + ranks - 1) / ranks : line.size;
    line.size = parts ? line.count * ranks : line.size;
    for (int reduce = 0; reduce <= (reduces ? GW_REDUCE_AVG : GW_REDUCE_SUM) && rc == 0; reduce++) {
        line.reduce = (enum gw_reduce)reduce;
        rc = line_run(bench, &line);
    }
    return rc;
}

static int rank_grid(struct world_rank *self)
{
    const struct grid *grid = self->context;
    const size_t *sizes = grid->full ? sizes_full : sizes_sampled;
    const size_t count = grid->full ? sizeof sizes_full / sizeof sizes_full[0]
                                    : sizeof sizes_sampled / sizeof sizes_sampled[0];
    const size_t bytes = (sizes[count - 1] + RANKS_MAX) * sizeof(double);
    static struct bench bench; /* a process is one rank */
    bench = (struct bench){.self = self, .grid = grid, .mirror = malloc(bytes)};
    RANK_CHECK(bench.mirror);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, bytes, &bench.send, NULL), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, bytes, &bench.recv, NULL), 0);
    int rc = 0;
    unsigned number = (unsigned)self->ranks;
    for (size_t s = 0; s < count; s++)
        for (int operation = 0; operation < OPERATIONS; operation++)
            for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0] && rc == 0; d++) {
                if (!grid->full && number++ % SAMPLE != 0)
                    continue;
                rc = reductions_run(&bench, (struct line){.operation = (enum operation)operation,
                                                          .dtype = dtypes[d],
                                                          .size = sizes[s]});
            }
    if (self->rank == 0)
        printf("%s, %d ranks: %zu of %zu are right\n", hooks->name, self->ranks,
               bench.lines - bench.failed, bench.lines);
    if (self->rank == 0 && bench.left_out > 0)
        printf("%s, %d ranks: %zu more were left out: no time\n", hooks->name, self->ranks,
               bench.left_out);
    (void)fflush(stdout);
    free(bench.mirror);
    return rc ? rc : bench.failed > 0 ? __LINE__ : 0;
}

int main(int argc, char **argv)
{
    struct grid grid = {0};
    bool chosen = false, failed = false;
    setlinebuf(stdout); /* output before a kill is not lost */
    for (int i = 1; i < argc; i++) {
        const int number = i + 1 < argc ? atoi(argv[i + 1]) : 0;
        if (strcmp(argv[i], "--seconds") == 0)
            grid.end_us = now_us() + number * 1e6;
        grid.full = grid.full || strcmp(argv[i], "--full") == 0;
        grid.table = grid.table || strcmp(argv[i], "--table") == 0;
        if (strcmp(argv[i], "--ranks") == 0 && number >= 1 && number <= RANKS_MAX)
            chosen = grid.ranks[number] = true;
    }
    for (int ranks = 1; ranks <= RANKS_MAX && ranks <= hooks->ranks_max; ranks++) {
        struct world world = {.hooks = hooks,
                              .ranks = ranks,
                              .timeout_ns = 120000000000,
                              .function = rank_grid,
                              .context = &grid};
        if (!chosen || grid.ranks[ranks])
            failed = world_run(&world) != 0 || failed;
    }
    return failed;
}
