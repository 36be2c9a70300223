/* Selects the environment variables that a submitted task inherits. Gangway does not overwrite a
 * variable that the user has set. Therefore variables that describe this process must not be
 * inherited, whether another launcher or Gangway itself has set them. Otherwise each rank of a gang
 * would take itself for the same rank. */
#include "graph/model/inherited_env.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* An entry that ends in '=' is a name; any other entry is a prefix. */
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
    "GANGWAY_REPORT=",
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
    "GANGWAY_TOKEN=", /* a secret: it would be visible in /proc of every host and in the listings of
                         jobs */
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

bool gw_inherited_env_has(const char *entry)
{
    if (has(of_this_process, entry))
        return false;
    return !has(of_this_task, entry) || !(getenv("GANGWAY_JOB") || getenv("GANGWAY_RUNNER_FD"));
}
