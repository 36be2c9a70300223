/* A gang that trains on each of 240 samples once, whatever happens to its hosts:
 *
 *     elastic FOLDER
 *
 * 4 ranks, or as few as 2, take 24 samples a step together; each adds the numbers of its own
 * samples, and all ranks add up their sums. It saves every step. In its first attempt it stays in
 * step 2, after each rank wrote a line to FOLDER/told; in its second it waits there until
 * FOLDER/gate is closed, and makes one more step. Prints the sum, how many ranks each attempt had,
 * and the result of rank 3. */
#include <gangway/gangway.h>

#include <gangway/sampler.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 240, A_STEP = 24, STAYS_IN = 2, ATTEMPTS_MAX = 8 };

/* The saved state: all that the next attempt needs, however many ranks it has. */
struct state {
    int64_t sum, taken;
    int64_t worlds[ATTEMPTS_MAX];
};

static void tell(const char *folder, uint32_t rank)
{
    char path[512], line[32];
    snprintf(path, sizeof path, "%s/told", folder);
    int length = snprintf(line, sizeof line, "rank %u\n", rank);
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

static void wait_at_gate(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/gate", folder);
    char byte;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, &byte, 1) != 0) /* until the other side closes it */
        abort();
    close(fd);
}

/* Adds the samples of this rank in a step of all ranks. */
static int64_t add_samples(struct gw_task *task, int64_t taken, int64_t *sum)
{
    struct gw_sampler *sampler;
    int64_t each = A_STEP / gw_task_world(task);
    if (gw_sampler_new(GW_SAMPLER_OPTIONS(.samples = SAMPLES, .rank = (int)gw_task_rank(task),
                                          .ranks = (int)gw_task_world(task)),
                       &sampler, gw_task_error(task)) < 0)
        return GW_ENOMEM;
    gw_sampler_skip(sampler, taken);
    for (int64_t i = 0; i < each; i++)
        *sum += gw_sampler_index(sampler, i);
    gw_sampler_free(sampler);
    return 0;
}

static int train(struct gw_task *task)
{
    const char *folder;
    struct state state = {0};
    int64_t step = 0;
    uint32_t attempt = gw_task_try(task);
    if (gw_task_arg_str(task, 0, &folder) < 0)
        return GW_EINVAL;
    int rc = gw_checkpoint_load(task, &state, sizeof state, &step);
    if (attempt < ATTEMPTS_MAX)
        state.worlds[attempt] = gw_task_world(task);
    for (; rc == GW_CONTINUE && state.taken < SAMPLES; step++) {
        int64_t mine = 0;
        if (attempt == 0 && step == STAYS_IN) {
            tell(folder, gw_task_rank(task));
            for (;;)
                pause();
        }
        if (attempt == 1 && step == STAYS_IN && gw_task_rank(task) == 0)
            wait_at_gate(folder);
        rc = (int)add_samples(task, state.taken, &mine);
        if (rc >= 0)
            rc = gw_comm_all_reduce(gw_task_comm(task),
                                    GW_COMM_ARGS(.recv = &mine, .count = 1, .dtype = GW_DTYPE_I64),
                                    gw_task_error(task));
        state.sum += mine;
        state.taken += A_STEP;
        if (rc >= 0)
            rc = gw_checkpoint_save(task, &state, sizeof state, step + 1);
        if (rc >= 0)
            rc = gw_task_step(task, step, "taken", (double)state.taken);
        while (attempt == 1 && rc == GW_CONTINUE) /* until it is told to return */
            rc = gw_task_step(task, step, NULL, 0);
    }
    return rc < 0 ? rc : gw_task_return(task, gw_bytes(&state, sizeof state));
}
GW_TASK(train);

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value, *last;
    struct gw_error error;
    const void *bytes;
    size_t size;
    struct state state;
    if (argc != 2)
        return 2;
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, train, GW_GANG(.ranks = 4, .gang.min_ranks = 2), gw_str(argv[1]));
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit(client, graph, node, &future, &error) < 0 ||
        gw_future_get(future, 0, &value, &error) < 0 ||
        gw_future_get(future, 3, &last, &error) < 0 ||
        gw_value_get_bytes(value, &bytes, &size, &error) < 0)
        gw_error_exit(&error);
    memcpy(&state, bytes, size < sizeof state ? size : sizeof state);
    printf("sum %lld, ranks", (long long)state.sum);
    for (int i = 0; i < ATTEMPTS_MAX && state.worlds[i]; i++)
        printf(" %lld", (long long)state.worlds[i]);
    printf("; rank 3: %s\n", gw_value_type_name(gw_value_type(last)));
    gw_value_unref(value);
    gw_value_unref(last);
    gw_future_release(future);
    gw_graph_free(graph);
    gw_client_close(client);
    return 0;
}
