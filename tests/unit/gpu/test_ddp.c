/* Gradient buckets: how they are formed, when they are launched, that every rank ends with the mean
 * of all, and parameters that some or all ranks do not use. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/ddp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef DDP_HOSTS
#define HOOKS comm_ring_hooks
#else
#define HOOKS comm_host_hooks
#endif

enum { PARAMS = 5 };

/* Sizes in floats that make three buckets of f32 with the limits below, and one of f64. */
static float data_f32[4][300];
static double data_f64[10];

static void params_init(struct gw_ddp_param params[PARAMS])
{
    static const size_t rows[4] = {3, 20, 1, 10};
    static const char *const names[PARAMS] = {"embed", "lstm.w", "lstm.b", "scale", "dense"};
    for (int i = 0, k = 0; i < PARAMS; i++) {
        params[i] = (struct gw_ddp_param){.name = names[i], .dims = 2};
        if (i == 3) {
            params[i].data = data_f64;
            params[i].dtype = GW_DTYPE_F64;
            params[i].dims = 1;
            params[i].shape[0] = 10;
            continue;
        }
        params[i].data = data_f32[k];
        params[i].dtype = GW_DTYPE_F32;
        params[i].shape[0] = rows[k++];
        params[i].shape[1] = 10;
    }
}

static size_t count_of(const struct gw_ddp_param *param)
{
    return param->shape[0] * (param->dims == 2 ? param->shape[1] : 1);
}

/* Adds value to every element of gradient i. */
static void gradient_add(struct gw_ddp *ddp, const struct gw_ddp_param *params, size_t i,
                         double value)
{
    void *gradient = gw_ddp_gradient(ddp, i);
    for (size_t k = 0; k < count_of(&params[i]); k++) {
        if (params[i].dtype == GW_DTYPE_F32)
            ((float *)gradient)[k] += (float)value;
        else
            ((double *)gradient)[k] += value;
    }
}

static bool gradient_is(struct gw_ddp *ddp, const struct gw_ddp_param *params, size_t i,
                        double value)
{
    const void *gradient = gw_ddp_gradient(ddp, i);
    for (size_t k = 0; k < count_of(&params[i]); k++) {
        double found = params[i].dtype == GW_DTYPE_F32 ? (double)((const float *)gradient)[k]
                                                       : ((const double *)gradient)[k];
        if (fabs(found - value) > 1e-5)
            return false;
    }
    return true;
}

static struct gw_ddp_options options_of(struct world_rank *self, const struct gw_ddp_param *params)
{
    return (struct gw_ddp_options)GW_INIT(
        gw_ddp_options, .comm = self->comm, .params = params, .params_count = PARAMS,
        .first_bucket_bytes = 400, /* dense (400 bytes) alone; then lstm.b and lstm.w; then embed */
        .bucket_bytes = 600);
}

/* The mean over ranks of (rank + 1) * factor. */
static double mean(const struct world_rank *self, double factor)
{
    return factor * (self->ranks + 1) / 2;
}

static int rank_steps(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    params_init(params);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 300; k++)
            data_f32[i][k] = (float)(self->rank * 1000 + i * 300 + k);
    struct gw_ddp_options options = options_of(self, params);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), 0);
    for (int i = 0; i < 4; i++) /* rank 0's values on all ranks */
        for (size_t k = 0; k < count_of(&params[i < 3 ? i : 4]); k++)
            RANK_CHECK(data_f32[i][k] == (float)(i * 300 + (int)k));

    static const size_t buckets[PARAMS] = {3, 2, 2, 1, 0};
    RANK_CHECK(gw_ddp_buckets(ddp) == 4);
    for (size_t i = 0; i < PARAMS; i++) {
        RANK_CHECK(gw_ddp_bucket_of(ddp, i) == buckets[i]);
        RANK_CHECK((uintptr_t)gw_ddp_gradient(ddp, i) % 64 == 0);
        RANK_CHECK(gradient_is(ddp, params, i, 0));
    }

    /* Each rank marks gradients in another order; the launches are in order nevertheless. */
    for (int step = 1; step <= 3; step++) {
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, &error), 0);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, &error), GW_EINVAL);
        for (size_t n = 0; n < PARAMS; n++) {
            size_t i = (n + (size_t)self->rank * 2 + (size_t)step) % PARAMS;
            gradient_add(ddp, params, i, (self->rank + 1) * (double)(i + 1) * step);
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, &error), 0);
            if (n == 1) {
                RANK_CHECK_RC(gw_ddp_ready(ddp, i, &error), GW_EINVAL);
                RANK_CHECK(strstr(error.text, "twice") && strstr(error.text, params[i].name));
                RANK_CHECK_RC(gw_ddp_finish(ddp, &error), GW_EINVAL);
                RANK_CHECK(strstr(error.text, "was not marked ready"));
            }
        }
        RANK_CHECK_RC(gw_ddp_ready(ddp, PARAMS, &error), GW_EINVAL);
        RANK_CHECK_RC(gw_ddp_finish(ddp, &error), 0);
        RANK_CHECK_RC(gw_ddp_finish(ddp, &error), GW_EINVAL);
        RANK_CHECK_RC(gw_ddp_ready(ddp, 0, &error), GW_EINVAL);
        for (size_t i = 0; i < PARAMS; i++)
            RANK_CHECK(gradient_is(ddp, params, i, mean(self, (double)(i + 1) * step)));
    }
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_averages_gradients_on_one_to_four_ranks(void **state)
{
    for (int ranks = 1; ranks <= 4; ranks++) {
        struct world world = {.hooks = &HOOKS, .ranks = ranks, .function = rank_steps};
        assert_int_equal(world_run(&world), 0);
    }
}

/* A bucket is launched exactly when it and all buckets before it are complete. */
static int rank_launch(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    options.no_overlap = true; /* gw_ddp_ready reduces, also across hosts */
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    for (size_t i = 0; i < PARAMS; i++)
        gradient_add(ddp, params, i, self->rank + 1);

    static const size_t order[PARAMS] = {2, 3, 1, 4, 0};
    static const int launched[PARAMS] = {0, 0, 0, 3, 4}; /* number of launched buckets after each */
    for (size_t n = 0; n < PARAMS; n++) {
        RANK_CHECK_RC(gw_ddp_ready(ddp, order[n], NULL), 0);
        for (size_t i = 0; i < PARAMS; i++) {
            bool done = (int)gw_ddp_bucket_of(ddp, i) < launched[n];
            RANK_CHECK(gradient_is(ddp, params, i, done ? mean(self, 1) : self->rank + 1));
        }
        /* A gradient that a faster rank has already reduced must not be read before all ranks have
         * done so. */
        RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
    }
    RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_reduces_each_bucket_once_it_is_complete(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 3, .function = rank_launch};
    assert_int_equal(world_run(&world), 0);
}

static int rank_accumulate(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    for (int micro = 1; micro <= 3; micro++) {
        RANK_CHECK_RC(gw_ddp_begin(ddp, micro == 3, NULL), 0);
        for (size_t i = PARAMS; i-- > 0;) {
            gradient_add(ddp, params, i, (self->rank + 1) * micro);
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
            if (micro == 2)
                RANK_CHECK(gradient_is(ddp, params, i, (self->rank + 1) * 3)); /* local only */
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    }
    for (size_t i = 0; i < PARAMS; i++)
        RANK_CHECK(gradient_is(ddp, params, i, mean(self, 6)));
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_accumulates_gradients_before_the_reduction(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 3, .function = rank_accumulate};
    assert_int_equal(world_run(&world), 0);
}

/* Parameter 1 is used by rank 0 only, parameter 2 by no rank, and parameter 0 only in the first
 * micro-step. */
static int rank_unused(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    options.find_unused = true;
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    gradient_add(ddp, params, 2, 1000 + self->rank); /* differs between ranks and stays unchanged */
    for (int micro = 0; micro < 2; micro++) {
        RANK_CHECK_RC(gw_ddp_begin(ddp, micro == 1, NULL), 0);
        for (size_t i = PARAMS; i-- > 0;) {
            if ((i == 1 && self->rank > 0) || i == 2 || (i == 0 && micro == 1))
                continue;
            gradient_add(ddp, params, i, self->rank + 1);
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    }
    RANK_CHECK(gradient_is(ddp, params, 0, mean(self, 1)));
    RANK_CHECK(gradient_is(ddp, params, 1, 2.0 / self->ranks));
    RANK_CHECK(gradient_is(ddp, params, 2, 1000 + self->rank));
    RANK_CHECK(gradient_is(ddp, params, 3, mean(self, 2)));
    RANK_CHECK(gradient_is(ddp, params, 4, mean(self, 2)));
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_reduces_partly_used_and_skips_unused_parameters(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 3, .function = rank_unused};
    assert_int_equal(world_run(&world), 0);
}

/* The change that rank 2 makes, and the error on all ranks. */
struct change {
    void (*apply)(struct gw_ddp_param *params, struct gw_ddp_options *options);
    const char *text;
};

static void change_shape(struct gw_ddp_param *params, struct gw_ddp_options *options)
{
    params[1].shape[0] = 21;
    params[4].shape[0] = 11; /* a later difference does not count */
}

static void change_dtype(struct gw_ddp_param *params, struct gw_ddp_options *options)
{
    params[3].dtype = GW_DTYPE_F32;
}

static void change_name(struct gw_ddp_param *params, struct gw_ddp_options *options)
{
    params[0].name = "other";
}

static void change_fewer(struct gw_ddp_param *params, struct gw_ddp_options *options)
{
    options->params_count = 3;
}

static void change_buckets(struct gw_ddp_param *params, struct gw_ddp_options *options)
{
    options->bucket_bytes = 500;
}

static void change_broadcast(struct gw_ddp_param *params, struct gw_ddp_options *options)
{
    options->no_broadcast = true;
}

static int rank_disagree(struct world_rank *self)
{
    const struct change *change = self->context;
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    if (self->rank == 2)
        change->apply(params, &options);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), GW_EMISMATCH);
    if (strcmp(error.text, change->text) != 0)
        (void)fprintf(stderr, "%s\n", error.text);
    RANK_CHECK(strcmp(error.text, change->text) == 0);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0); /* the communicator still works */
    return 0;
}

static void ddp_error_names_what_differs_between_ranks(void **state)
{
    static const struct change changes[] = {
        {change_shape, "ranks disagree on parameter 1: rank 0 has \"lstm.w\" f32 [20, 10], "
                       "rank 2 has \"lstm.w\" f32 [21, 10]"},
        {change_dtype, "ranks disagree on parameter 3: rank 0 has \"scale\" f64 [10], "
                       "rank 2 has \"scale\" f32 [10]"},
        {change_name, "ranks disagree on parameter 0: rank 0 has \"embed\" f32 [3, 10], "
                      "rank 2 has \"other\" f32 [3, 10]"},
        {change_fewer, "ranks disagree on parameter 3: rank 0 has \"scale\" f64 [10], "
                       "rank 2 has no such parameter"},
        {change_buckets, "ranks disagree on the option bucket_bytes of gw_ddp_open: rank 0 has "
                         "600, rank 2 has 500"},
        {change_broadcast, "ranks disagree on the option no_broadcast of gw_ddp_open: rank 0 has "
                           "0, rank 2 has 1"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct change change = changes[i];
        struct world world = {
            .hooks = &HOOKS, .ranks = 4, .function = rank_disagree, .context = &change};
        assert_int_equal(world_run(&world), 0);
    }
}

static int rank_invalid(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    for (int way = 0; way < 5; way++) {
        params_init(params);
        struct gw_ddp_options options = options_of(self, params);
        if (way == 0)
            options.params_count = 0;
        else if (way == 1)
            params[2].dtype = GW_DTYPE_I32;
        else if (way == 2)
            params[2].shape[1] = 0;
        else if (way == 3)
            params[2].dims = GW_DDP_DIMS_MAX + 1;
        else
            params[2].data = NULL;
        RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), GW_EINVAL);
        RANK_CHECK(way == 0 || strstr(error.text, "lstm.b"));
    }
    gw_ddp_close(NULL);
    return 0;
}

static void ddp_refuses_invalid_calls(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 2, .function = rank_invalid};
    assert_int_equal(world_run(&world), 0);
}

/* The order of arrival on rank 0 decides, on all ranks. */
static int rank_rebuilds(struct world_rank *self)
{
    static const size_t orders[2][PARAMS] = {{2, 0, 4, 1, 3}, {4, 3, 2, 1, 0}};
    static const size_t buckets[PARAMS] = {0, 1, 0, 2, 0};
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    params_init(params);
    const struct gw_ddp_options options = options_of(self, params);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    for (int step = 0; step < 3; step++) {
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
        RANK_CHECK_RC(gw_ddp_rebuild(ddp, NULL), GW_EINVAL);
        for (size_t k = 0; k < PARAMS; k++) {
            const size_t i = orders[self->rank > 0][k];
            gradient_add(ddp, params, i, self->rank + 1.0 + (double)i);
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
        for (size_t i = 0; i < PARAMS; i++)
            RANK_CHECK(gradient_is(ddp, params, i, mean(self, 1) + (double)i));
        RANK_CHECK_RC(gw_ddp_rebuild(ddp, NULL), 0);
        RANK_CHECK(gw_ddp_buckets(ddp) == 3);
        for (size_t i = 0; i < PARAMS; i++)
            RANK_CHECK(gw_ddp_bucket_of(ddp, i) == buckets[i] && gradient_is(ddp, params, i, 0));
    }
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_rebuilds_its_buckets_in_the_order_of_arrival(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 3, .function = rank_rebuilds};
    assert_int_equal(world_run(&world), 0);
}

/* A mistake of one rank is the error of all ranks, and the communicator stays usable. */
static int rank_fails_alone(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    if (self->rank == 1)
        params[4].data = NULL;
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), GW_EINVAL);
    RANK_CHECK(strcmp(error.text, self->rank == 1
                                      ? "ddp: parameter 4 (\"dense\") has no data"
                                      : "rank 1: ddp: parameter 4 (\"dense\") has no data") == 0);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
    return 0;
}

static void ddp_open_that_fails_on_one_rank_fails_on_all(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 3, .function = rank_fails_alone};
    assert_int_equal(world_run(&world), 0);
}

#ifdef DDP_HOSTS
/* gw_ddp_ready returns while another host has not begun its pass. */
static int rank_overlaps(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    params_init(params);
    const struct gw_ddp_options options = options_of(self, params);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    if (self->rank == 1)
        world_wait_gate(self);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    for (size_t i = PARAMS; i-- > 0;) {
        gradient_add(ddp, params, i, self->rank + 1);
        RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
    }
    if (self->rank == 0)
        world_tell(self);
    RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
    for (size_t i = 0; i < PARAMS; i++)
        RANK_CHECK(gradient_is(ddp, params, i, mean(self, 1)));
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_reduces_across_hosts_beside_the_backward_pass(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 2, .function = rank_overlaps};
    world_start(&world);
    world_hear(&world, 1);
    world_open_gate(&world);
    assert_int_equal(world_join(&world), 0);
}

/* A rank leaves in the middle of a pass: the others do not wait for their deadline. */
static int rank_leaves(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    params_init(params);
    const struct gw_ddp_options options = options_of(self, params);
    const int rc = gw_ddp_open(&options, &ddp, NULL);
    if (self->rank != 1 && rc == GW_EABORTED)
        return 0; /* rank 1 was so fast that it has left already */
    RANK_CHECK_RC(rc, 0);
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
    for (size_t i = PARAMS; i-- > (self->rank == 1 ? 1 : 0);)
        (void)gw_ddp_ready(ddp, i, NULL);
    if (self->rank == 1) {
        RANK_CHECK_RC(gw_ddp_finish(ddp, &error), GW_EINVAL);
        RANK_CHECK(strstr(error.text, "\"embed\") was not marked ready"));
    } else {
        RANK_CHECK_RC(gw_ddp_finish(ddp, &error), GW_EABORTED);
        RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), GW_EABORTED);
    }
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_ends_when_a_rank_leaves_in_a_pass(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 3, .function = rank_leaves};
    assert_int_equal(world_run(&world), 0);
}
#endif

/* The default limits: the first bucket closes at 1 MiB, later ones at 25 MiB. */
static int rank_limits(struct world_rank *self)
{
    static float shared_by_all[1];
    struct gw_ddp_param params[40];
    struct gw_ddp *ddp;
    for (int i = 0; i < 40; i++)
        params[i] = (struct gw_ddp_param){.data = shared_by_all,
                                          .dtype = GW_DTYPE_BF16,
                                          .dims = 1,
                                          .shape = {1 << 19}}; /* 1 MiB each */
    const struct gw_ddp_options options =
        GW_INIT(gw_ddp_options, .comm = self->comm, .params = params, .params_count = 40,
                .no_broadcast = true);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    RANK_CHECK(gw_ddp_buckets(ddp) == 3);
    for (size_t i = 0; i < 40; i++)
        RANK_CHECK(gw_ddp_bucket_of(ddp, i) == (i == 39 ? 0 : i >= 14 ? 1 : 2));
    gw_ddp_close(ddp);
    return 0;
}

static void ddp_closes_buckets_at_their_size_limits(void **state)
{
    struct world world = {.hooks = &HOOKS, .ranks = 1, .function = rank_limits};
    assert_int_equal(world_run(&world), 0);
}

/* -- Compression, and gradients that are not finite ------------------------------------------- */

static double element(int rank, size_t i, size_t k)
{
    return (rank % 2 ? -1.3 : 1) * sin((double)(k + 10 * i)) * pow(10, (double)(k % 7) - 3);
}

static int rank_compresses(struct world_rank *self)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    float largest[300];
    bool is_rounded = false;
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    options.compress_bf16 = true;
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    for (int step = 0; step < 2; step++) {
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
        for (size_t i = PARAMS; i-- > 0;) {
            for (size_t k = 0; k < count_of(&params[i]); k++)
                if (i == 3)
                    ((double *)gw_ddp_gradient(ddp, i))[k] = element(self->rank, i, k);
                else
                    ((float *)gw_ddp_gradient(ddp, i))[k] = (float)element(self->rank, i, k);
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
        for (size_t i = 0; i < PARAMS; i++) {
            const void *gradient = gw_ddp_gradient(ddp, i);
            for (size_t k = 0; k < count_of(&params[i]); k++) {
                double exact = 0, absolute = 0;
                for (int rank = 0; rank < self->ranks; rank++) {
                    exact += element(rank, i, k) / self->ranks;
                    absolute += fabs(element(rank, i, k)) / self->ranks;
                }
                const double found =
                    i == 3 ? ((const double *)gradient)[k] : (double)((const float *)gradient)[k];
                RANK_CHECK(fabs(found - exact) <= absolute * (self->ranks + 1) / 256);
                is_rounded |= fabs(found - exact) > absolute / 2000;
            }
        }
        memcpy(largest, gw_ddp_gradient(ddp, 1), 200 * sizeof *largest);
        RANK_CHECK_RC(
            gw_comm_all_reduce(self->comm,
                               GW_COMM_ARGS(.recv = largest, .count = 200, .dtype = GW_DTYPE_F32,
                                            .reduce = GW_REDUCE_MAX),
                               NULL),
            0);
        RANK_CHECK(memcmp(largest, gw_ddp_gradient(ddp, 1), 200 * sizeof *largest) == 0);
    }
    RANK_CHECK(is_rounded);
    gw_ddp_close(ddp);
    return 0;
}

static void compressed_gradients_are_within_their_bound(void **state)
{
    for (int ranks = 1; ranks <= 4; ranks++) {
        struct world world = {.hooks = &HOOKS, .ranks = ranks, .function = rank_compresses};
        assert_int_equal(world_run(&world), 0);
    }
}

/* The last ranks have gradients that are not finite in a pass in the middle. */
static int rank_finds(struct world_rank *self)
{
    static const float odd[] = {INFINITY, -INFINITY, NAN};
    struct gw_ddp_param params[PARAMS];
    struct gw_ddp *ddp;
    struct gw_error error;
    char wanted[128];
    params_init(params);
    struct gw_ddp_options options = options_of(self, params);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    RANK_CHECK_RC(gw_ddp_check_finite(ddp, 0, &error), GW_EINVAL);
    gw_ddp_close(ddp);
    options.find_not_finite = true;
    options.compress_bf16 = self->ranks % 2;
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, NULL), 0);
    for (int step = 15; step < 20; step++) {
        const bool is_odd = step >= 16 && step < 19;
        gw_ddp_zero(ddp);
        RANK_CHECK_RC(gw_ddp_begin(ddp, true, NULL), 0);
        for (size_t i = PARAMS; i-- > 0;) {
            if (is_odd && self->rank >= self->ranks - 2 && i == 1)
                ((float *)gw_ddp_gradient(ddp, 1))[199] = odd[step - 16];
            RANK_CHECK_RC(gw_ddp_ready(ddp, i, NULL), 0);
        }
        RANK_CHECK_RC(gw_ddp_finish(ddp, NULL), 0);
        RANK_CHECK_RC(gw_ddp_check_finite(ddp, step, &error), is_odd ? GW_ENOTFINITE : 0);
        (void)snprintf(wanted, sizeof wanted,
                       "step %d: rank %d: the gradient of parameter 1 (\"lstm.w\") is infinite",
                       step, self->ranks > 2 ? self->ranks - 2 : 0);
        RANK_CHECK(!is_odd || strncmp(error.text, wanted, strlen(wanted)) == 0);
    }
    gw_ddp_close(ddp);
    return 0;
}

static void gradient_that_is_not_finite_is_named_with_its_rank(void **state)
{
    for (int ranks = 1; ranks <= 4; ranks++) {
        struct world world = {.hooks = &HOOKS, .ranks = ranks, .function = rank_finds};
        assert_int_equal(world_run(&world), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ddp_averages_gradients_on_one_to_four_ranks),
        cmocka_unit_test(ddp_reduces_each_bucket_once_it_is_complete),
        cmocka_unit_test(ddp_accumulates_gradients_before_the_reduction),
        cmocka_unit_test(ddp_reduces_partly_used_and_skips_unused_parameters),
        cmocka_unit_test(ddp_error_names_what_differs_between_ranks),
        cmocka_unit_test(ddp_refuses_invalid_calls),
        cmocka_unit_test(ddp_rebuilds_its_buckets_in_the_order_of_arrival),
        cmocka_unit_test(ddp_open_that_fails_on_one_rank_fails_on_all),
#ifdef DDP_HOSTS
        cmocka_unit_test(ddp_reduces_across_hosts_beside_the_backward_pass),
        cmocka_unit_test(ddp_ends_when_a_rank_leaves_in_a_pass),
#endif
        cmocka_unit_test(ddp_closes_buckets_at_their_size_limits),
        cmocka_unit_test(compressed_gradients_are_within_their_bound),
        cmocka_unit_test(gradient_that_is_not_finite_is_named_with_its_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
