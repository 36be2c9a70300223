/* Opens the communicator of a rank. */
#include "worker/runner/join.h"

#include "graph/wire/endpoint.h"
#include "graph/wire/frame.h"
#include "graph/wire/tls.h"

#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Data about the ring from the info of rank 0's worker. */
struct door {
    char address[GW_ENDPOINT_TEXT_MAX];
    uint32_t port;
    uint8_t key[GW_TLS_SECRET_BYTES];
    bool has_key;
};

void gw_join_init(struct gw_join *join)
{
    *join = (struct gw_join){.segment = -1, .listener = -1, .unreached = -1};
}

/* Closes and frees everything, as if no gang_start message had come. */
static void clear(struct gw_join *join)
{
    if (join->segment >= 0)
        close(join->segment);
    if (join->listener >= 0)
        close(join->listener);
    if (join->info)
        explicit_bzero(join->info, join->info_size); /* the info contains a key */
    free(join->info);
    gw_join_init(join);
}

int gw_join_go(struct gw_join *join, const struct gw_msg_gang_start *go, const int *fds,
               uint8_t fd_count)
{
    clear(join);
    join->segment = fd_count > 0 ? fds[0] : -1;
    join->listener = fd_count > 1 ? fds[1] : -1;
    join->info = malloc(go->info.size + 1);
    if (!join->info)
        return GW_ENOMEM;
    if (go->info.size)
        memcpy(join->info, go->info.data, go->info.size);
    join->info_size = go->info.size;
    join->attempt = go->attempt;
    join->went = true;
    return 0;
}

static bool is_key(const msgpack_object *key, const char *name)
{
    return key->type == MSGPACK_OBJECT_STR && key->via.str.size == strlen(name) &&
           memcmp(key->via.str.ptr, name, key->via.str.size) == 0;
}

static void read_field(const msgpack_object_kv *field, struct door *door)
{
    const msgpack_object *value = &field->val;
    if (is_key(&field->key, "master_addr") && value->type == MSGPACK_OBJECT_STR &&
        value->via.str.size < sizeof door->address - 10) {
        memcpy(door->address, value->via.str.ptr, value->via.str.size);
        door->address[value->via.str.size] = '\0';
    } else if (is_key(&field->key, "ring_port") && value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
        door->port = (uint32_t)value->via.u64;
    } else if (is_key(&field->key, "ring_key") && value->type == MSGPACK_OBJECT_BIN &&
               value->via.bin.size == sizeof door->key) {
        memcpy(door->key, value->via.bin.ptr, sizeof door->key);
        door->has_key = true;
    }
}

static int read_info(const struct gw_join *join, struct door *door, struct gw_error *error)
{
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    if (join->info_size && gw_frame_check(join->info, join->info_size, NULL) == 0 &&
        msgpack_unpack_next(&unpacked, (const char *)join->info, join->info_size, NULL) ==
            MSGPACK_UNPACK_SUCCESS &&
        unpacked.data.type == MSGPACK_OBJECT_MAP)
        for (uint32_t i = 0; i < unpacked.data.via.map.size; i++)
            read_field(&unpacked.data.via.map.ptr[i], door);
    msgpack_unpacked_destroy(&unpacked);
    if (*door->address && door->port > 0 && door->port < 65536 && door->has_key)
        return 0;
    return gw_error_set(error, GW_EPROTO,
                        "the worker of rank 0 did not send the address at which the ranks meet: is "
                        "it another version of Gangway?");
}

static int open_hosts(struct gw_join *join, const struct gw_msg_gang *gang, uint32_t rank,
                      struct gw_comm **comm, struct gw_error *error)
{
    struct door door = {.port = 0};
    char endpoint[GW_ENDPOINT_TEXT_MAX];
    int rc = read_info(join, &door, error);
    if (rc < 0)
        return rc;
    const bool six = strchr(door.address, ':') && door.address[0] != '[';
    (void)snprintf(endpoint, sizeof endpoint, six ? "[%.100s]:%u" : "%.100s:%u", door.address,
                   door.port);
    const struct gw_comm_hosts_options options =
        GW_INIT(gw_comm_hosts_options, .fd = join->segment, .rank = (int)rank,
                .ranks = (int)gang->world, .first_rank = (int)gang->first_rank,
                .local_ranks = (int)gang->local, .attempt = gang->attempt, .endpoint = endpoint,
                .listener = join->listener, .key = door.key, .unreached = &join->unreached);
    rc = gw_comm_open_hosts(&options, comm, error);
    explicit_bzero(&door, sizeof door);
    return rc;
}

/* As CUDA does: up to the first invalid one ("-1", "NoDevFiles"). */
uint32_t gw_join_gpu_count(void)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    uint32_t count = 0;
    while (list && *list && *list != '-' && strncmp(list, "NoDevFiles", 10) != 0) {
        count++;
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    return count;
}

/* Returns true if this process has a whole GPU. NCCL refuses two ranks on one GPU. */
static bool has_own_gpu(void)
{
    return gw_join_gpu_count() > 0 && !getenv("GANGWAY_GPU_MEMORY_BYTES");
}

void gw_join_device(struct gw_comm **comm)
{
    const struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .host = *comm);
    struct gw_error why;
    if (has_own_gpu() && gw_comm_open_nccl(&options, comm, &why) < 0 && why.code != GW_ENOTSUP)
        (void)fprintf(stderr, "gangway: NCCL is not used: %s\n", why.text);
}

/* Opens NCCL. All ranks of a gang have the same number of GPUs, so either all call this function or
 * none. If NCCL is missing on one host, all ranks keep the host backend. */
static int open_nccl(struct gw_join *join, struct gw_comm **comm, struct gw_error *error)
{
    const struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .host = *comm);
    struct gw_error why;
    struct gw_comm *nccl;
    int rc = gw_comm_open_nccl(&options, &nccl, &why);
    if (rc == 0) {
        *comm = nccl;
        return 0;
    }
    if (rc != GW_ENOTSUP) {
        gw_comm_close(*comm);
        return gw_error_set(error, rc, "%s", why.text);
    }
    (void)snprintf(join->note, sizeof join->note,
                   "gangway: NCCL is not used for this gang's GPUs, so its communicator can use "
                   "host memory only: %s\n",
                   why.text);
    return 0;
}

int gw_join_open(struct gw_join *join, const struct gw_msg_gang *gang, uint32_t rank,
                 struct gw_comm **comm, struct gw_error *error)
{
    const struct gw_comm_host_options options = GW_INIT(
        gw_comm_host_options, .fd = join->segment, .rank = (int)rank, .ranks = (int)gang->world);
    struct gw_comm *opened;
    int rc = gang->groups > 1 ? open_hosts(join, gang, rank, &opened, error)
                              : gw_comm_open_host(&options, &opened, error);
    const int unreached = join->unreached;
    clear(join);
    join->unreached = unreached;
    if (rc == 0 && has_own_gpu() && gang->physical_gpu_shared)
        (void)snprintf(join->note, sizeof join->note,
                       "gangway: ranks of this gang share a GPU's MIG instances, which NCCL "
                       "refuses: its communicator reaches host memory only\n");
    else if (rc == 0 && has_own_gpu() && gw_join_gpu_count() == 1)
        rc = open_nccl(join, &opened, error);
    if (rank != 0)
        join->note[0] = '\0';
    if (rc == 0)
        *comm = opened;
    return rc;
}

void gw_join_say(struct gw_join *join)
{
    (void)fputs(join->note, stderr);
    join->note[0] = '\0';
}
