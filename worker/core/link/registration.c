/* Registration: what this worker reports to a scheduler that sends a welcome, and the heartbeats
 * afterwards. */
#include "worker/core/link/registration.h"

#include "worker/core/gangs/gang.h"
#include "worker/core/gangs/hang.h"
#include "worker/core/link/assignment.h"
#include "worker/core/link/health.h"
#include "worker/core/link/metric_reports.h"
#include "worker/core/link/orphaned.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/fetch.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/object.h"
#include "worker/core/processes/gpu.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

static struct gw_bin pack_gpus(struct gw_node_core *core)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, core->options.gpu_count);
    for (uint32_t i = 0; i < core->options.gpu_count; i++) {
        const struct gw_node_gpu *gpu = &core->options.gpus[i];
        msgpack_pack_array(&packer, 8);
        msgpack_pack_str_with_body(&packer, gpu->uuid, strlen(gpu->uuid));
        msgpack_pack_str_with_body(&packer, gpu->name, strlen(gpu->name));
        msgpack_pack_uint64(&packer, gpu->memory_bytes);
        msgpack_pack_uint32(&packer, gpu->nvlink_domain);
        msgpack_pack_uint32(&packer, gpu->bridge);
        msgpack_pack_int32(&packer, gpu->numa_node);
        msgpack_pack_str_with_body(&packer, gpu->physical_gpu, strlen(gpu->physical_gpu));
        msgpack_pack_str_with_body(&packer, gpu->cpus, strlen(gpu->cpus));
    }
    return gw_core_packed(core, &buffer);
}

/* Stores the id of the cluster that this worker now belongs to. If the id changed, what the worker
 * knew about commits of the old cluster is dropped. */
static void store_cluster(struct gw_known_history *history, const char *cluster)
{
    cluster = cluster ? cluster : "";
    if (history->cluster && strcmp(history->cluster, cluster) == 0)
        return;
    free(history->cluster);
    *history = (struct gw_known_history){.cluster = gw_core_strdup(cluster)};
}

void gw_registration_prepare(struct gw_node_core *core, const struct gw_message *message)
{
    if (core->term == message->term) { /* the scheduler has not restarted since the worker lost its
                                          connection, so it has counted these attempts as lost */
        gw_orphaned_forget(core);
    } else {
        gw_fetch_leave_neighbours(core);
        gw_assignment_let_go(core);
    }
}

void gw_registration_on_welcome(struct gw_node_core *core, const struct gw_message *message)
{
    core->orphaned.since_ns = 0;
    core->term = message->term;
    core->peer = message->peer;
    core->worker = message->welcome.worker;
    core->registered = true;
    core->memory.told = false;
    gw_gpus_registered(core);
    gw_health_on_registered(core);
    core->acked_ns = core->now_ns;
    core->heartbeat_received = 0;
    memset(core->heartbeat_sent_ns, 0, sizeof core->heartbeat_sent_ns);
    core->heartbeat_due_ns = core->now_ns;

    struct gw_msg_registration registration = {
        .incarnation = core->incarnation,
        .slots = core->options.slots,
        .memory_bytes = core->options.memory_bytes,
        .gpus = pack_gpus(core),
        .host = core->options.host,
        .machine = core->options.machine,
        .address = core->options.address,
        .resources = core->options.resources,
        .all_users = core->options.all_users,
        .cluster = gw_core_text(core, core->history.cluster ? core->history.cluster : ""),
        .life = core->history.life,
        .commits = core->history.commits,
    };
    gw_object_list(core, &registration);
    gw_orphaned_list(core, &registration);
    gw_core_send(core, core->scheduler, GW_MESSAGE_registration)->message.registration =
        registration;
    store_cluster(&core->history, message->welcome.cluster);
    gw_metric_reports_on_registered(core);
    gw_orphaned_say(core);
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->gangs, &at, &key, &value)) {
        struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        gw_hang_on_scheduler(gang);
        for (size_t i = 0; i < gang->ranks.count; i++)
            if (gang->ranks.items[i]->state == GW_ATTEMPT_RANK_READY)
                gw_gang_stand(core, gang->ranks.items[i]);
    }
}

void gw_registration_send_heartbeat(struct gw_node_core *core)
{
    uint64_t number = ++core->heartbeat_number;
    core->heartbeat_sent_ns[number % HEARTBEATS_RETAINED] = core->now_ns;
    core->heartbeat_due_ns = core->now_ns + core->options.heartbeat_ns;
    gw_core_send(core, core->scheduler, GW_MESSAGE_heartbeat)->message.heartbeat =
        (struct gw_msg_heartbeat){.number = number,
                                  .echo = core->heartbeat_received,
                                  .memory_used_bytes = gw_memory_used(core)};
}

void gw_registration_on_heartbeat(struct gw_node_core *core,
                                  const struct gw_msg_heartbeat *heartbeat)
{
    if (heartbeat->number > core->heartbeat_received)
        core->heartbeat_received = heartbeat->number;
    if (heartbeat->commits >= core->history.commits) {
        core->history.life = heartbeat->life;
        core->history.commits = heartbeat->commits;
    }
    uint64_t echo = heartbeat->echo;
    if (echo > core->heartbeat_number || echo + HEARTBEATS_RETAINED <= core->heartbeat_number)
        return;
    uint64_t sent = core->heartbeat_sent_ns[echo % HEARTBEATS_RETAINED];
    if (sent > core->acked_ns) {
        core->acked_ns = sent;
        gw_orphaned_on_acknowledged(core);
    }
}
