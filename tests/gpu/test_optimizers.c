/* Optimizers in device memory: parameters in float beside the same steps in double on the host, and
 * the time of a step of TIMED parameters by the events of the device. Prints figures. */
#include "tests/unit/gpu/comm_world.h"

#include <cuda_runtime_api.h>
#include <gangway/optimizer.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

extern const struct comm_backend_hooks COMM_HOOKS;

#ifndef TIMED /* enough to leave the caches of a GPU; the fakes take fewer */
#define TIMED ((size_t)1 << 26)
#endif

enum { COUNT = 200000, STEPS = 10, REPEATS = 11, KINDS = 6 };

static const double error_max = 2e-6; /* of the largest parameter */

static const char *const names[KINDS] = {"sgd", "momentum", "adam", "adamw", "lars", "lamb"};

static struct gw_optimizer_options options_of(int kind, void *stream)
{
    struct gw_optimizer_options all[KINDS] = {gw_optimizer_sgd(0.1),   gw_optimizer_sgd(0.1),
                                              gw_optimizer_adam(0.01), gw_optimizer_adamw(0.01),
                                              gw_lars_options(0.1),    gw_lamb_options(0.01)};
    all[1].momentum = 0.9;
    all[kind].stream = stream;
    return all[kind];
}

/* Parameters and gradients in the memory of the device. */
struct tensors {
    float *w, *g;
    struct gw_optimizer *optimizer;
};

static int tensors_init(struct world_rank *self, int kind, size_t count, void *stream,
                        struct tensors *tensors)
{
    const struct gw_optimizer_options options = options_of(kind, stream);
    struct gw_error error = {.text = ""};
    void *w, *g;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, count * sizeof(float), &w, &error), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, count * sizeof(float), &g, &error), 0);
    tensors->w = w;
    tensors->g = g;
    const struct gw_optimizer_tensor tensor = {.data = w, .gradient = g, .count = count};
    RANK_CHECK_RC(gw_optimizer_new(&options, &tensor, 1, &tensors->optimizer, &error), 0);
    return 0;
}

static void tensors_deinit(struct world_rank *self, struct tensors *tensors)
{
    gw_optimizer_free(tensors->optimizer);
    gw_comm_dealloc(self->comm, tensors->w);
    gw_comm_dealloc(self->comm, tensors->g);
}

/* -- Beside double -------------------------------------------------------------------------------
 */

static float narrow[COUNT];
static double wide[COUNT], wide_g[COUNT];

static void gradients_make(int step)
{
    for (int i = 0; i < COUNT; i++) {
        narrow[i] = (float)(sin(i * 0.7 + step) / (1 + step % 3));
        wide_g[i] = (double)narrow[i];
    }
}

static int error_of(struct world_rank *self, int kind, void *stream, double *error)
{
    const struct gw_optimizer_options options = options_of(kind, NULL);
    const struct gw_optimizer_tensor tensor = {
        .data = wide, .gradient = wide_g, .count = COUNT, .dtype = GW_DTYPE_F64};
    struct gw_optimizer *reference;
    struct tensors tensors;
    double largest = 0;
    for (int i = 0; i < COUNT; i++) {
        narrow[i] = (float)(1 + sin(i));
        wide[i] = (double)narrow[i];
    }
    RANK_CHECK(tensors_init(self, kind, COUNT, stream, &tensors) == 0);
    COMM_HOOKS.copy(tensors.w, narrow, sizeof narrow);
    RANK_CHECK_RC(gw_optimizer_new(&options, &tensor, 1, &reference, NULL), 0);
    for (int step = 0; step < STEPS; step++) {
        gradients_make(step);
        COMM_HOOKS.copy(tensors.g, narrow, sizeof narrow);
        RANK_CHECK_RC(gw_optimizer_step(tensors.optimizer, NULL), 0);
        RANK_CHECK_RC(gw_optimizer_step(reference, NULL), 0);
        RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
    }
    COMM_HOOKS.copy(narrow, tensors.w, sizeof narrow);
    *error = 0;
    for (int i = 0; i < COUNT; i++) {
        *error = fmax(*error, fabs((double)narrow[i] - wide[i]));
        largest = fmax(largest, fabs(wide[i]));
    }
    *error /= largest;
    gw_optimizer_free(reference);
    tensors_deinit(self, &tensors);
    return 0;
}

static int rank_compares(struct world_rank *self)
{
    void *stream;
    double error;
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, NULL), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        RANK_CHECK(error_of(self, kind, stream, &error) == 0);
        printf("figure %s_error %.1e\n", names[kind], error);
        (void)fflush(stdout);
        RANK_CHECK(error > 0 && error < error_max); /* 0: nobody stepped */
    }
    return 0;
}

static void steps_in_float_stay_near_steps_in_double(void **state)
{
    struct world world = {.hooks = &COMM_HOOKS, .ranks = 1, .function = rank_compares};
    assert_int_equal(world_run(&world), 0);
}

/* -- Times ---------------------------------------------------------------------------------------
 */

static int compare_times(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static int time_of(struct world_rank *self, int kind, void *stream, float *median_ms)
{
    struct tensors tensors;
    cudaEvent_t start, end;
    float all_ms[REPEATS];
    RANK_CHECK(tensors_init(self, kind, TIMED, stream, &tensors) == 0);
    RANK_CHECK(cudaEventCreateWithFlags(&start, cudaEventDefault) == cudaSuccess);
    RANK_CHECK(cudaEventCreateWithFlags(&end, cudaEventDefault) == cudaSuccess);
    for (int i = -1; i < REPEATS; i++) {
        RANK_CHECK(cudaEventRecord(start, stream) == cudaSuccess);
        RANK_CHECK_RC(gw_optimizer_step(tensors.optimizer, NULL), 0);
        RANK_CHECK(cudaEventRecord(end, stream) == cudaSuccess);
        RANK_CHECK_RC(gw_comm_wait(self->comm, stream, NULL), 0);
        RANK_CHECK(cudaEventElapsedTime(&all_ms[i < 0 ? 0 : i], start, end) == cudaSuccess);
    }
    qsort(all_ms, REPEATS, sizeof all_ms[0], compare_times);
    *median_ms = all_ms[REPEATS / 2];
    RANK_CHECK(cudaEventDestroy(start) == cudaSuccess && cudaEventDestroy(end) == cudaSuccess);
    tensors_deinit(self, &tensors);
    return 0;
}

static int rank_times(struct world_rank *self)
{
    void *stream;
    float median_ms;
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, NULL), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        RANK_CHECK(time_of(self, kind, stream, &median_ms) == 0);
        printf("figure %s_us %.1f\n", names[kind], (double)median_ms * 1e3);
        (void)fflush(stdout);
    }
    return 0;
}

static void step_has_a_time(void **state)
{
    struct world world = {.hooks = &COMM_HOOKS, .ranks = 1, .function = rank_times};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_float_stay_near_steps_in_double),
        cmocka_unit_test(step_has_a_time),
    };
    printf("figure parameters %zu\n", TIMED);
    (void)fflush(stdout);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
