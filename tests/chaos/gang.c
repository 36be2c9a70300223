/* The program of a trial: a gang that counts in step, as a command or as a function, and saves its
 * state in its checkpoint folder.
 *
 *     chaos_gang rank STEPS STEP_MS TRAITS                runs as a rank of a command
 *     chaos_gang function STEPS STEP_MS TRAITS RANKS RETRIES HANG_MS GPUS
 *                                                          submits the function, and waits
 *
 * In step s each rank adds (rank + 1) * (s + 1) of all ranks to its sum, so that N ranks have
 * STEPS (STEPS + 1) / 2 * N (N + 1) / 2 in the end, however often they restarted; rank 0 prints
 * "sum N from STEP". TRAITS are letters: d ignores SIGTERM, o leaves a descendant in a session of
 * its own, s stays when the other ranks are gone (else it fails), c saves checkpoints, - none. Each
 * rank writes "PID PORT" to $CHAOS_DIR/rank-RANK-TRY when it begins. GPUS: none, 1 or a part of
 * one. */
#include <gangway/gangway.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { RANKS_MAX = 64, COME_MS_MAX = 10000 };

/* Represents work of a device, which reports its completion. */
static void work(int64_t ms)
{
    const struct itimerspec length = {.it_value = {ms / 1000, ms % 1000 * 1000000}};
    uint64_t ends;
    int device = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timerfd_settime(device, 0, &length, NULL) == 0)
        (void)!read(device, &ends, ms > 0 ? sizeof ends : 0);
    close(device);
}

static void say_here(uint32_t rank, uint32_t try, const char *port)
{
    char path[512], fresh[520];
    const char *dir = getenv("CHAOS_DIR");
    (void)snprintf(path, sizeof path, "%s/rank-%u-%u", dir ? dir : ".", rank, try);
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    if (!file)
        return; /* the trial is over */
    fprintf(file, "%d %s\n", (int)getpid(), port);
    (void)fclose(file);
    (void)rename(fresh, path);
}

static void take_traits(const char *traits)
{
    if (strchr(traits, 'd'))
        (void)signal(SIGTERM, SIG_IGN);
    if (strchr(traits, 'o') && fork() == 0) {
        (void)setsid();
        for (;;)
            (void)pause();
    }
}

/* -- As a command --------------------------------------------------------------------------------
 */

struct state {
    int64_t step, sum;
};

static uint32_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

/* The other ranks are gone: this rank fails, or waits for its end, as programs do. */
static _Noreturn void lose_others(const char *traits)
{
    fprintf(stderr, "rank %u: the others are gone\n", number("RANK"));
    while (strchr(traits, 's'))
        (void)pause();
    exit(3);
}

static void give(int fd, const struct state *state, const char *traits)
{
    if (send(fd, state, sizeof *state, MSG_NOSIGNAL) != sizeof *state)
        lose_others(traits);
}

static struct state take(int fd, const char *traits)
{
    struct state state;
    if (recv(fd, &state, sizeof state, MSG_WAITALL) != sizeof state)
        lose_others(traits);
    return state;
}

static struct sockaddr_in master(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET};
    to.sin_port = htons((uint16_t)number("MASTER_PORT"));
    (void)inet_pton(AF_INET, getenv("MASTER_ADDR"), &to.sin_addr);
    return to;
}

/* A byte in this fifo tells the ranks of an attempt that rank 0 listens. */
static int open_door(void)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/door-%u", getenv("CHAOS_DIR"),
                   number("GANGWAY_RESTART_COUNT"));
    (void)mkfifo(path, 0600); /* the first rank creates it */
    return open(path, O_RDWR | O_CLOEXEC);
}

/* Rank 0 waits for all other ranks at the port of the gang. */
static void gather(int *fds, uint32_t ranks)
{
    struct sockaddr_in at = master();
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) < 0 || listen(listener, RANKS_MAX) < 0) {
        fprintf(stderr, "rank 0: port %u: %s\n", number("MASTER_PORT"), strerror(errno));
        exit(4);
    }
    int door = open_door();
    (void)!write(door, "", 1);
    for (uint32_t i = 1; i < ranks; i++)
        fds[i] = accept(listener, NULL, NULL);
    close(door);
    close(listener);
}

static int reach(const char *traits)
{
    struct sockaddr_in to = master();
    struct pollfd door = {.fd = open_door(), .events = POLLIN};
    bool is_open = poll(&door, 1, COME_MS_MAX) == 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    close(door.fd);
    if (is_open && connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    lose_others(traits);
}

static void checkpoint_path(char *path, size_t bytes, const char *suffix)
{
    (void)snprintf(path, bytes, "%s/state%s", getenv("GANGWAY_CHECKPOINT_DIR"), suffix);
}

static void save(const struct state *state)
{
    char path[512], fresh[512];
    checkpoint_path(path, sizeof path, "");
    checkpoint_path(fresh, sizeof fresh, ".new");
    FILE *file = fopen(fresh, "w");
    if (!file || fwrite(state, sizeof *state, 1, file) != 1 || fclose(file) != 0 ||
        rename(fresh, path) < 0)
        exit(5);
}

static struct state load(void)
{
    struct state state = {0, 0};
    char path[512];
    checkpoint_path(path, sizeof path, "");
    FILE *file = fopen(path, "r");
    if (file && fread(&state, sizeof state, 1, file) != 1)
        exit(6);
    if (file)
        (void)fclose(file);
    return state;
}

/* Adds up the numbers of all ranks, and sends the sum to all. */
static int64_t add_up(int64_t mine, const int *fds, uint32_t ranks, const char *traits)
{
    struct state one = {0, mine};
    if (number("RANK") != 0) {
        give(fds[0], &one, traits);
        return take(fds[0], traits).sum;
    }
    for (uint32_t i = 1; i < ranks; i++)
        one.sum += take(fds[i], traits).sum;
    for (uint32_t i = 1; i < ranks; i++)
        give(fds[i], &one, traits);
    return one.sum;
}

static int be_rank(int64_t steps, int64_t ms, const char *traits)
{
    uint32_t rank = number("RANK"), ranks = number("WORLD_SIZE");
    int fds[RANKS_MAX] = {-1};
    struct state state = {0, 0};
    take_traits(traits);
    say_here(rank, number("GANGWAY_RESTART_COUNT"), getenv("MASTER_PORT"));
    if (ranks > 1 && rank == 0)
        gather(fds, ranks);
    else if (ranks > 1)
        fds[0] = reach(traits);
    if (rank == 0 && strchr(traits, 'c'))
        state = load();
    for (uint32_t i = 1; i < ranks && rank == 0; i++)
        give(fds[i], &state, traits);
    if (rank != 0)
        state = take(fds[0], traits);
    int64_t began = state.step;
    for (; state.step < steps; state.step++) {
        work(ms);
        state.sum += add_up((rank + 1) * (state.step + 1), fds, ranks, traits);
        struct state next = {state.step + 1, state.sum};
        if (rank == 0 && strchr(traits, 'c'))
            save(&next);
    }
    if (rank == 0)
        printf("sum %lld from %lld\n", (long long)state.sum, (long long)began);
    return 0;
}

/* -- As a function -------------------------------------------------------------------------------
 */

static int count(struct gw_task *task)
{
    const char *traits;
    int64_t steps, ms, step = 0, sum = 0;
    if (gw_task_arg_i64(task, 0, &steps) < 0 || gw_task_arg_i64(task, 1, &ms) < 0 ||
        gw_task_arg_str(task, 2, &traits) < 0)
        return GW_EINVAL;
    struct gw_comm *comm = gw_task_comm(task);
    uint32_t rank = gw_task_rank(task);
    bool saves = strchr(traits, 'c');
    take_traits(traits);
    say_here(rank, gw_task_try(task), "0");
    int rc = saves ? gw_checkpoint_load(task, &sum, sizeof sum, &step) : GW_CONTINUE;
    int64_t began = step;
    for (; rc == GW_CONTINUE && step < steps; step++) {
        int64_t mine = (rank + 1) * (step + 1);
        work(ms);
        rc =
            gw_comm_all_reduce(comm, GW_COMM_ARGS(.recv = &mine, .count = 1, .dtype = GW_DTYPE_I64),
                               gw_task_error(task));
        sum += mine;
        if (rc >= 0 && saves)
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

static int submit(char **words)
{
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error error;
    int64_t sum = 0, began = 0;
    double gpus = strtod(words[6], NULL);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, count,
                           GW_GANG(.name = getenv("CHAOS_NAME"), .ranks = (uint32_t)atoi(words[3]),
                                   .retries = (uint32_t)atoi(words[4]),
                                   .gang.hang_timeout_ns = (uint64_t)atoi(words[5]) * 1000000,
                                   .gpu.count = gpus >= 1 ? (int32_t)gpus : 0,
                                   .gpu.fraction = gpus < 1 ? gpus : 0),
                           gw_i64(atoi(words[0])), gw_i64(atoi(words[1])), gw_str(words[2]));
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit(client, graph, node, &future, &error) < 0 ||
        gw_future_get(future, 0, &value, &error) < 0)
        gw_error_exit(&error);
    if (gw_value_get_i64(gw_value_at(value, 0), &sum, &error) < 0 ||
        gw_value_get_i64(gw_value_at(value, 1), &began, &error) < 0)
        gw_error_exit(&error);
    printf("sum %lld from %lld\n", (long long)sum, (long long)began);
    gw_value_unref(value);
    gw_future_release(future);
    gw_graph_free(graph);
    gw_client_close(client);
    return 0;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    if (argc == 5 && strcmp(argv[1], "rank") == 0)
        return be_rank(atoi(argv[2]), atoi(argv[3]), argv[4]);
    if (argc == 9 && strcmp(argv[1], "function") == 0)
        return submit(argv + 2);
    fprintf(stderr, "chaos_gang: tests/chaos/run starts it\n");
    return 2;
}
