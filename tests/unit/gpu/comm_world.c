/* Ranks as processes or threads; see comm_world.h. */
#include "tests/unit/gpu/comm_world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int host_create(int ranks, int *handle)
{
    return gw_comm_segment_create(ranks, handle, NULL);
}

static int host_open(int handle, int rank, int ranks, uint64_t timeout_ns, struct gw_comm **comm)
{
    const struct gw_comm_host_options options = GW_INIT(
        gw_comm_host_options, .fd = handle, .rank = rank, .ranks = ranks, .timeout_ns = timeout_ns);
    return gw_comm_open_host(&options, comm, NULL);
}

static int host_abort(int handle, int cause, int rank)
{
    return gw_comm_segment_abort(handle, cause, rank, NULL);
}

static void host_destroy(int handle)
{
    close(handle);
}

static void host_copy(void *to, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(to, from, bytes);
}

const struct comm_backend_hooks comm_host_hooks = {
    .name = "host",
    .create = host_create,
    .open = host_open,
    .abort = host_abort,
    .destroy = host_destroy,
    .copy = host_copy,
    .ranks_max = WORLD_RANKS_MAX,
    .has_threads = true,
    .is_host = true,
};

static void must(bool fine, const char *what)
{
    if (!fine) {
        perror(what);
        abort();
    }
}

static int rank_main(struct world *world, int rank)
{
    struct world_rank self = {
        .world = world, .rank = rank, .ranks = world->ranks, .context = world->context};
    uint64_t timeout_ns = world->timeout_ns ? world->timeout_ns : 60000000000;
    must(world->hooks->open(world->handle, rank, world->ranks, timeout_ns, &self.comm) == 0,
         "open");
    int rc = world->function(&self);
    gw_comm_close(self.comm);
    return rc;
}

struct rank_thread {
    pthread_t thread;
    struct world *world;
    int rank, result;
};

static void *thread_main(void *context)
{
    struct rank_thread *self = context;
    self->result = rank_main(self->world, self->rank);
    return NULL;
}

void world_start(struct world *world)
{
    must(world->hooks->create(world->ranks, &world->handle) == 0, "create");
    must(pipe(world->told) == 0 && pipe(world->gate) == 0, "pipe");
    (void)fflush(NULL);
    for (int i = 0; i < world->ranks; i++) {
        world->pid[i] = fork();
        must(world->pid[i] >= 0, "fork");
        if (world->pid[i] == 0) {
            close(world->gate[1]);
            _exit(rank_main(world, i) == 0 ? 0 : 1);
        }
    }
}

int world_join(struct world *world)
{
    int failed = 0;
    for (int i = 0; i < world->ranks; i++) {
        int status;
        must(waitpid(world->pid[i], &status, 0) == world->pid[i], "waitpid");
        failed += status != 0;
    }
    close(world->told[0]);
    close(world->told[1]);
    close(world->gate[0]);
    if (world->gate[1] >= 0)
        close(world->gate[1]);
    world->hooks->destroy(world->handle);
    return failed;
}

static int threads_run(struct world *world)
{
    struct rank_thread threads[WORLD_RANKS_MAX];
    int failed = 0;
    must(world->hooks->create(world->ranks, &world->handle) == 0, "create");
    for (int i = 0; i < world->ranks; i++) {
        threads[i].world = world;
        threads[i].rank = i;
        must(pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]) == 0, "thread");
    }
    for (int i = 0; i < world->ranks; i++) {
        must(pthread_join(threads[i].thread, NULL) == 0, "join");
        failed += threads[i].result != 0;
    }
    world->hooks->destroy(world->handle);
    return failed;
}

int world_run(struct world *world)
{
    if (world->threads)
        return threads_run(world);
    world_start(world);
    return world_join(world);
}

void world_tell(const struct world_rank *self)
{
    must(write(self->world->told[1], "x", 1) == 1, "tell");
}

void world_hear(const struct world *world, int count)
{
    char byte;
    while (count-- > 0)
        must(read(world->told[0], &byte, 1) == 1, "hear");
}

void world_open_gate(struct world *world)
{
    close(world->gate[1]);
    world->gate[1] = -1;
}

void world_wait_gate(const struct world_rank *self)
{
    char byte;
    must(read(self->world->gate[0], &byte, 1) == 0, "gate"); /* the gate's end was closed */
}
