/* GPUs of hosts: which process uses which, memory that is freed with delay, errors, and GPUs that
 * fail.
 *
 * Checks at the start of a process: its GPUs are used by it alone, or shared by all their
 * processes; no memory of an earlier task is left; the process is bound to the CPUs near its GPUs.
 */
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/drain.h"

#include <msgpack.h>
#include <stdio.h>

enum { LEFT_BYTES = 1 << 30, CONTEXT_BYTES = 300 << 20 };

/* Returns the first GPU that is a MIG instance. All instances are of one physical GPU. */
static uint32_t first_instance(const struct host *host)
{
    return SIM_GPUS - (uint32_t)((host->sim->seed + host->number) % 3);
}

void sim_gpu_name(const struct host *host, uint32_t number, char name[static SIM_GPU_NAME])
{
    bool twins = host->sim->seed % 2 || sim_crash_rests(host->sim);
    uint32_t machine = twins && host->number ? 1 : host->number;
    (void)snprintf(name, SIM_GPU_NAME, "GPU-%u-%u", machine, number);
}

/* -- Who is where --------------------------------------------------------------------------------
 */

/* Writes the value of a variable in a list of "NAME=value", or an empty text. */
static void value_of(const msgpack_object *list, const char *name, char *text, size_t bytes)
{
    size_t length = strlen(name);
    *text = '\0';
    for (uint32_t i = 0; i < list->via.array.size; i++) {
        const msgpack_object_str *item = &list->via.array.ptr[i].via.str;
        if (item->size > length && memcmp(item->ptr, name, length) == 0 && item->ptr[length] == '=')
            (void)snprintf(text, bytes, "%.*s", (int)(item->size - length - 1),
                           item->ptr + length + 1);
    }
}

static void check_alone(struct sim *sim, const struct process *process, uint32_t gpu)
{
    const struct host *host = process->host;
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *other = host->processes.items[i];
        SIM_CHECK(sim,
                  other == process || !(other->gpus & 1u << gpu) ||
                      (other->shares_gpu && process->shares_gpu),
                  "processes %llu and %llu are on GPU %u of host %u",
                  (unsigned long long)process->id, (unsigned long long)other->id, gpu,
                  host->number);
        if (other != process && other->gpus & 1u << gpu)
            sim_fault(sim, FAULT_GPU_SHARED);
    }
    SIM_CHECK(sim, sim->now_ns >= host->gpu[gpu].back_ns || host->gpu[gpu].given,
              "process %llu starts on GPU %u of host %u, where memory is not back yet",
              (unsigned long long)process->id, gpu, host->number);
}

/* GPU i of a host is near CPU i. */
static void check_cpus(struct sim *sim, const struct process *process,
                       const struct gw_msg_spawn *spawn)
{
    uint32_t near = 0;
    for (const char *at = spawn->cpus; *at; at++)
        near |= *at == ',' ? 0 : 1u << (*at - '0');
    SIM_CHECK(sim, near == process->gpus, "process %llu has GPUs %#x and is bound to CPUs \"%s\"",
              (unsigned long long)process->id, process->gpus, spawn->cpus);
}

void sim_gpu_spawned(struct sim *sim, struct process *process, const struct gw_msg_spawn *spawn)
{
    char visible[64], rank[16], part[32], name[SIM_GPU_NAME];
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    bool well = msgpack_unpack_next(&unpacked, spawn->env.data, spawn->env.size, NULL) ==
                    MSGPACK_UNPACK_SUCCESS &&
                unpacked.data.type == MSGPACK_OBJECT_ARRAY;
    SIM_CHECK(sim, well, "a process is started without an environment");
    value_of(&unpacked.data, "CUDA_VISIBLE_DEVICES", visible, sizeof visible);
    value_of(&unpacked.data, "LOCAL_RANK", rank, sizeof rank);
    value_of(&unpacked.data, "GANGWAY_GPU_MEMORY_BYTES", part, sizeof part);
    msgpack_unpacked_destroy(&unpacked);
    process->shares_gpu = *part != '\0';
    int at = 0;
    char *save;
    for (char *gpu = strtok_r(visible, ",", &save); gpu; gpu = strtok_r(NULL, ",", &save), at++)
        for (uint32_t i = 0; i < process->host->gpus; i++) {
            sim_gpu_name(process->host, i, name);
            /* A command's rank sees the GPUs of all ranks; its own is the one with its number. With
             * a fraction of a GPU, or an instance, it sees only its own. */
            bool instance = i >= first_instance(process->host);
            if (strcmp(gpu, name) != 0 ||
                (*rank && !process->shares_gpu && !instance && atoi(rank) != at))
                continue;
            SIM_CHECK(sim, !instance || process->gpus == 0,
                      "process %llu sees more GPUs than the MIG instance that CUDA shows it",
                      (unsigned long long)process->id);
            if (*rank && process->shares_gpu)
                sim_fault(sim, FAULT_GPU_RANKS);
            process->gpus |= 1u << i;
            if (instance)
                sim_fault(sim, *rank ? FAULT_GPU_INSTANCE_RANK : FAULT_GPU_INSTANCE);
            check_alone(sim, process, i);
            sim_drain_alone(sim, process, i);
            sim_fault(sim, FAULT_GPU);
        }
    check_cpus(sim, process, spawn);
}

void sim_gpu_gone(struct sim *sim, const struct process *process)
{
    for (uint32_t i = 0; i < process->host->gpus; i++) {
        struct sim_gpu *gpu = &process->host->gpu[i];
        bool last = true;
        for (size_t k = 0; k < process->host->processes.count; k++)
            last = last && (process->host->processes.items[k] == process ||
                            !(process->host->processes.items[k]->gpus & 1u << i));
        if (!(process->gpus & 1u << i) || !last || sim_chance(sim, 50))
            continue;
        bool stuck = !sim->healed && sim_chance(sim, 15);
        sim_fault(sim, stuck ? FAULT_GPU_STUCK : FAULT_GPU_LATE);
        gpu->back_ns = sim->now_ns + (stuck ? SECOND : 0) + sim_below(sim, 200 * MS);
    }
}

/* -- How they do ---------------------------------------------------------------------------------
 */

struct look {
    struct host *host;
    uint64_t incarnation, began_ns;
    uint32_t number; /* of one GPU */
    struct gw_gpu_sample samples[SIM_GPUS];
};

static void plan_look(struct sim *sim, struct host *host);

static void on_seen(struct sim *sim, void *arg)
{
    struct look look = *(struct look *)arg;
    free(arg);
    struct host *host = look.host;
    if (!host->core || host->incarnation != look.incarnation)
        return;
    struct gw_event event = {.type = GW_EVENT_GPUS,
                             .number = look.began_ns,
                             .gpus = look.samples,
                             .gpu_count = host->gpus};
    int rc = sim_host_step(sim, host, &event);
    SIM_CHECK(sim, rc == 0, "a worker refuses to hear of its GPUs");
    if (host->core && host->incarnation == look.incarnation)
        plan_look(sim, host);
}

/* The state is reported some time after it was read. */
static void on_look(struct sim *sim, void *arg)
{
    struct look *look = malloc(sizeof *look);
    GW_MUST_PTR(look);
    *look = *(struct look *)arg;
    free(arg);
    struct host *host = look->host;
    if (!host->core || host->incarnation != look->incarnation) {
        free(look);
        return;
    }
    look->began_ns = sim->now_ns;
    for (uint32_t i = 0; i < host->gpus; i++) {
        struct sim_gpu *gpu = &host->gpu[i];
        struct gw_gpu_sample *sample = &look->samples[i];
        *sample = (struct gw_gpu_sample){.lost = gpu->lost};
        for (size_t k = 0; k < host->processes.count; k++)
            sample->processes += host->processes.items[k]->gpus >> i & 1;
        sample->used_bytes = sample->processes * (uint64_t)CONTEXT_BYTES +
                             (sim->now_ns < gpu->back_ns ? LEFT_BYTES : 0);
        if (gpu->xid)
            sample->xids[sample->xid_count++] = gpu->xid;
        gpu->xid = 0;
    }
    sim_plan_own(sim, sim_below(sim, 5 * MS), on_seen, look, sim_drop);
}

static void plan_look(struct sim *sim, struct host *host)
{
    struct look *look = malloc(sizeof *look);
    GW_MUST_PTR(look);
    *look = (struct look){.host = host, .incarnation = host->incarnation};
    bool hurry = gw_node_core_gpus_clearing(host->core);
    sim_plan_own(sim, hurry ? sim_below(sim, 50 * MS) : 300 * MS + sim_below(sim, 700 * MS),
                 on_look, look, sim_drop);
}

void sim_gpu_list(const struct host *host, struct gw_node_gpu *gpus, char (*names)[SIM_GPU_NAME])
{
    static const char *const cpus[] = {"0", "1"};
    for (uint32_t i = 0; i < SIM_GPUS; i++) {
        sim_gpu_name(host, i, names[i]);
        gpus[i] = (struct gw_node_gpu){.uuid = names[i],
                                       .name = "sim",
                                       .cpus = cpus[i],
                                       .physical_gpu = i < first_instance(host) ? "" : "physical",
                                       .memory_bytes = 1000,
                                       .nvlink_domain = i};
    }
}

void sim_gpu_start(struct sim *sim, struct host *host)
{
    for (uint32_t i = 0; i < SIM_GPUS; i++)
        host->gpu[i] = (struct sim_gpu){0};
    if (host->gpus)
        plan_look(sim, host);
}

static bool is_held(const struct host *host, uint32_t gpu)
{
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->gpus >> gpu & 1)
            return true;
    return false;
}

/* The admin has repaired a GPU and undrains it. Workers that share the machine have the same GPU
 * under the same name. */
static void on_reconnected(struct sim *sim, void *arg)
{
    struct look look = *(struct look *)arg;
    free(arg);
    if (look.host->core && look.host->incarnation == look.incarnation)
        sim_drain_ask(sim, look.host, look.number, false);
}

static void plan_reconnect(struct sim *sim, struct host *host, uint32_t number)
{
    struct look *look = malloc(sizeof *look);
    GW_MUST_PTR(look);
    *look = (struct look){.host = host, .incarnation = host->incarnation, .number = number};
    sim_plan_own(sim, SECOND, on_reconnected, look, sim_drop);
}

/* The first GPU of host 0 never fails, and in some worlds no GPU that several hosts offer. So all
 * tasks can run somewhere. */
bool sim_gpu_may_break(const struct host *host, uint32_t number)
{
    return number || (host->number && !sim_crash_rests(host->sim));
}

void sim_gpu_faults(struct sim *sim)
{
    struct host *host = &sim->hosts[sim_below(sim, sim->host_count)];
    if (!host->core || !host->gpus)
        return;
    uint32_t number = (uint32_t)sim_below(sim, host->gpus);
    struct sim_gpu *gpu = &host->gpu[number];
    if (sim_chance(sim, 10)) {
        sim_fault(sim, FAULT_GPU_ERROR);
        gpu->xid = 31;
    } else if (sim_gpu_may_break(host, number) && sim_chance(sim, is_held(host, number) ? 30 : 4)) {
        sim_fault(sim, FAULT_GPU_BROKEN);
        gpu->lost = sim_chance(sim, 50);
        gpu->xid = gpu->lost ? 0 : 79;
        if (sim->seed % 8 == 5) /* in other seeds errors are not cleared */
            plan_reconnect(sim, host, number);
    }
}
