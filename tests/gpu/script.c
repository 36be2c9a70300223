/* nccl_script [die]: a training script, as far as a gang is concerned. Each rank is a process that
 * finds the others by MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, gets the id of NCCL from rank
 * 0 and reduces. With `die`, the last rank kills itself after some reductions. Knows nothing of
 * Gangway. */
#include <arpa/inet.h>
#include <cuda_runtime_api.h>
#include <errno.h>
#include <nccl.h>
#include <netdb.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { COUNT = 1 << 16, STEPS = 10 };

static void must(int fine, const char *what)
{
    if (fine)
        return;
    (void)fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    must(value != NULL, name);
    return value;
}

/* -- The id of NCCL ------------------------------------------------------------------------------
 */

static struct addrinfo *address_of_rank_0(void)
{
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    must(getaddrinfo(variable("MASTER_ADDR"), variable("MASTER_PORT"), &hints, &found) == 0,
         "MASTER_ADDR");
    return found;
}

static void id_send(const ncclUniqueId *id, int others)
{
    struct addrinfo *address = address_of_rank_0();
    const int one = 1, door = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(door, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    must(bind(door, address->ai_addr, address->ai_addrlen) == 0 && listen(door, others) == 0,
         "MASTER_PORT");
    for (int i = 0; i < others; i++) {
        const int peer = accept(door, NULL, NULL);
        must(peer >= 0 && send(peer, id, sizeof *id, 0) == sizeof *id, "send");
        close(peer);
    }
    close(door);
    freeaddrinfo(address);
}

static void id_receive(ncclUniqueId *id)
{
    struct addrinfo *address = address_of_rank_0();
    int to_0 = -1;
    do { /* rank 0 may not listen yet */
        close(to_0);
        to_0 = socket(AF_INET, SOCK_STREAM, 0);
        (void)sched_yield();
    } while (connect(to_0, address->ai_addr, address->ai_addrlen) < 0 && errno == ECONNREFUSED);
    must(recv(to_0, id, sizeof *id, MSG_WAITALL) == sizeof *id, "recv");
    close(to_0);
    freeaddrinfo(address);
}

/* -- Training ------------------------------------------------------------------------------------
 */

static void train(ncclComm_t comm, int rank, int world, int dies)
{
    static float host[COUNT];
    cudaStream_t stream;
    void *memory;
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
    must(cudaMalloc(&memory, sizeof host) == cudaSuccess, "cudaMalloc");
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < COUNT; i++)
            host[i] = (float)(rank + step);
        must(cudaMemcpyAsync(memory, host, sizeof host, cudaMemcpyDefault, stream) == cudaSuccess,
             "copy");
        must(ncclAllReduce(memory, memory, COUNT, ncclFloat32, ncclSum, comm, stream) ==
                 ncclSuccess,
             "ncclAllReduce");
        must(cudaMemcpyAsync(host, memory, sizeof host, cudaMemcpyDefault, stream) == cudaSuccess,
             "copy");
        must(cudaStreamSynchronize(stream) == cudaSuccess, "synchronise");
        for (int i = 0; i < COUNT; i++)
            must(host[i] == (float)(world * (world - 1) / 2 + world * step), "a wrong sum");
        if (dies && rank == world - 1 && step == STEPS / 2)
            (void)kill(getpid(), SIGKILL);
    }
    must(cudaFree(memory) == cudaSuccess, "cudaFree");
    must(cudaStreamDestroy(stream) == cudaSuccess, "stream");
}

int main(int argc, char **argv)
{
    const int rank = atoi(variable("RANK")), world = atoi(variable("WORLD_SIZE"));
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    ncclComm_t comm;
    must(cudaSetDevice(0) == cudaSuccess, "no GPU");
    if (rank == 0) {
        must(ncclGetUniqueId(&id) == ncclSuccess, "ncclGetUniqueId");
        id_send(&id, world - 1);
    } else {
        id_receive(&id);
    }
    must(ncclCommInitRankConfig(&comm, world, id, rank, &config) == ncclSuccess, "NCCL");
    train(comm, rank, world, argc > 1 && strcmp(argv[1], "die") == 0);
    must(ncclCommFinalize(comm) == ncclSuccess, "ncclCommFinalize");
    must(ncclCommDestroy(comm) == ncclSuccess, "ncclCommDestroy");
    printf("rank %d of %d is done\n", rank, world);
    return 0;
}
