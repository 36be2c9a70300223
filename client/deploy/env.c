/* A value that the user set wins over Gangway's, so what another launcher, or Gangway itself for
 * the task around us, said of this process must not look as if the user had set it: each rank of a
 * gang would take itself for the same one. */
#include "client/deploy/env.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Ends in '=': a name; else a prefix. */
static const char *const of_this_process[] = {
    "CUDA_VISIBLE_DEVICES=",
    "SLURM_",
    "RANK=",
    "WORLD_SIZE=",
    "LOCAL_RANK=",
    "LOCAL_WORLD_SIZE=",
    "GROUP_RANK=",
    "GANGWAY_RANK=",
    "GANGWAY_WORLD_SIZE=",
    "GANGWAY_LOCAL_RANK=",
    "GANGWAY_JOB=",
    "GANGWAY_IDENTITY=",
    "GANGWAY_LOCAL_WORLD_SIZE=",
    "GANGWAY_TASK=",
    "GANGWAY_ATTEMPT=",
    "GANGWAY_RESTART_COUNT=",
    "TORCHELASTIC_RESTART_COUNT=",
    "TORCHELASTIC_MAX_RESTARTS=",
    "GANGWAY_CHECKPOINT_DIR=",
    "GANGWAY_CONTAINER=",
    "GANGWAY_PHYSICAL_GPU_SHARED=",
    "GANGWAY_GPUS=",
    "GANGWAY_GPU_MEMORY_BYTES=",
    "GANGWAY_RUNNER_FD=",
    "NODE_RANK=",
    "OMPI_COMM_WORLD_",
    "HOROVOD_RANK=",
    "HOROVOD_SIZE=",
    "HOROVOD_LOCAL_RANK=",
    "HOROVOD_LOCAL_SIZE=",
    "HOROVOD_CROSS_RANK=",
    "HOROVOD_CROSS_SIZE=",
    "HOROVOD_HOSTNAME=",
    "HOROVOD_GLOO_RENDEZVOUS_",
    "GANGWAY_TOKEN=", /* who has it is its user: it would lie in every host's /proc, and in jobs */
    "GANGWAY_TOKEN_FILE=",
    NULL,
};
static const char *const of_this_task[] = {
    "GANGWAY_LOG_DIR=",
    "GANGWAY_CHECKPOINTS=",
    "MASTER_ADDR=",
    "MASTER_PORT=",
    "NCCL_SOCKET_IFNAME=",
    "GLOO_SOCKET_IFNAME=",
    "HOROVOD_GLOO_IFACE=",
    "HOROVOD_CONTROLLER=",
    "HOROVOD_CPU_OPERATIONS=",
    "GANGWAY_MPI=",
    NULL,
};

static bool has(const char *const *names, const char *entry)
{
    for (; *names; names++)
        if (entry[0] == **names && strncmp(entry, *names, strlen(*names)) == 0)
            return true;
    return false;
}

bool gw_env_goes_along(const char *entry)
{
    if (has(of_this_process, entry))
        return false;
    return !has(of_this_task, entry) || !(getenv("GANGWAY_JOB") || getenv("GANGWAY_RUNNER_FD"));
}
