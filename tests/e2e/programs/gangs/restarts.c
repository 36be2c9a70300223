/* A gang that counts, saves every step, and is stopped during the run by the test:
 *
 *     restarts FOLDER RESTARTS [HANG_MS]
 *
 * Every rank adds its rank + 1 to a sum in each of 8 steps, and all ranks add up their sums. In
 * attempt 0, all ranks, or with HANG_MS only rank 1, stay in step 4, after they wrote "RANK PID" to
 * FOLDER/pids. In attempt 1, the checkpoint file is first truncated if FOLDER/tear exists. If
 * FOLDER/full exists, attempt 0 does not stay, but has no room for the checkpoint of step 4. If
 * there is a fifo FOLDER/gate, ranks stay until it is opened for writing. Prints the sum, and the
 * step at which the last attempt began. */
#include <gangway/gangway.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { STEPS = 8, STAYS_IN = 4 };

static void tell_pid(const char *folder, uint32_t rank)
{
    char path[512], line[64];
    snprintf(path, sizeof path, "%s/pids", folder);
    int length = snprintf(line, sizeof line, "%u %d\n", rank, (int)getpid());
    int fd = open(path, O_WRONLY);
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        abort();
    close(fd);
}

/* Waits at the gate, if there is one. */
static bool pass_gate(const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/gate", folder);
    int fd = open(path, O_RDONLY);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Truncates the newest checkpoint, as a failing disk would. */
static void tear(struct gw_task *task, const char *folder)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/tear", folder);
    const char *top = gw_task_checkpoint_dir(task);
    DIR *files = top && gw_task_rank(task) == 0 && access(path, F_OK) == 0 ? opendir(top) : NULL;
    for (struct dirent *entry; files && (entry = readdir(files));) {
        size_t length = strlen(entry->d_name), suffix = strlen(".checkpoint");
        snprintf(path, sizeof path, "%s/%s", top, entry->d_name);
        if (length > suffix && strcmp(entry->d_name + length - suffix, ".checkpoint") == 0 &&
            truncate(path, 40) < 0)
            abort();
    }
    if (files)
        closedir(files);
}

/* Limits the files of this process to this size; UINT64_MAX: no limit. */
static void limit_files(uint64_t bytes)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0)
        abort();
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
        abort();
}

/* No file of rank 0's process can grow any more, as on a full disk. */
static bool fill_up(struct gw_task *task, const char *folder)
{
    char path[512];
    snprintf(path, sizeof path, "%s/full", folder);
    if (access(path, F_OK) < 0)
        return false;
    if (gw_task_rank(task) == 0)
        limit_files(1);
    return true;
}

static int count(struct gw_task *task)
{
    const char *folder;
    struct gw_comm *comm = gw_task_comm(task);
    int64_t step = 0, sum = 0, began;
    bool waits;
    if (gw_task_arg_str(task, 0, &folder) < 0 || gw_task_arg_bool(task, 1, &waits) < 0)
        return GW_EINVAL;
    if (gw_task_try(task) == 1) {
        limit_files(UINT64_MAX); /* it may be the same process */
        tear(task, folder);
    }
    int rc = gw_checkpoint_load(task, &sum, sizeof sum, &step);
    for (began = step; rc == GW_CONTINUE && step < STEPS; step++) {
        int64_t mine = gw_task_rank(task) + 1;
        bool stays = gw_task_try(task) == 0 && step == STAYS_IN && !fill_up(task, folder);
        if (stays)
            tell_pid(folder, gw_task_rank(task));
        bool gate = stays && pass_gate(folder);
        while (!gate && stays && (!waits || gw_task_rank(task) == 1))
            pause();
        rc =
            gw_comm_all_reduce(comm, GW_COMM_ARGS(.recv = &mine, .count = 1, .dtype = GW_DTYPE_I64),
                               gw_task_error(task));
        sum += mine;
        if (rc >= 0)
            rc = gw_checkpoint_save(task, &sum, sizeof sum, step + 1);
        if (rc >= 0)
            rc = gw_task_step(task, step, "sum", (double)sum);
    }
    struct gw_value *result = gw_list();
    gw_list_push(result, gw_i64(sum));
    gw_list_push(result, gw_i64(began));
    return rc < 0 ? rc : gw_task_return(task, result);
}
GW_TASK(count);

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error error;
    int64_t sum, began;
    if (argc < 3)
        return 2;
    struct gw_graph *graph = gw_graph_new();
    uint64_t hang_timeout_ns = argc > 3 ? (uint64_t)atoi(argv[3]) * 1000000 : 0;
    gw_node node = gw_call(graph, count,
                           GW_GANG(.ranks = 2, .retries = (uint32_t)atoi(argv[2]),
                                   .gang.hang_timeout_ns = hang_timeout_ns),
                           gw_str(argv[1]), gw_bool(argc > 3));
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit(client, graph, node, &future, &error) < 0 ||
        gw_future_get(future, 0, &value, &error) < 0)
        gw_error_exit(&error);
    if (gw_value_get_i64(gw_value_at(value, 0), &sum, &error) < 0 ||
        gw_value_get_i64(gw_value_at(value, 1), &began, &error) < 0)
        gw_error_exit(&error);
    printf("sum %lld from step %lld\n", (long long)sum, (long long)began);
    gw_value_unref(value);
    gw_future_release(future);
    gw_graph_free(graph);
    gw_client_close(client);
    return 0;
}
