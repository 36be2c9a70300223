/* A host's disk and memory: files that take time, a disk that fills up, files that are damaged, and
 * processes that use too much memory. */
#include "tests/sim/checks/admission.h"
#include "tests/sim/faults/crowd.h"
#include "tests/sim/world/turn.h"

#define LIMIT_BYTES UINT64_C(256000000)

/* If the disk is always full, the memory is small, so that it fills up. */
static uint64_t limit_of(const struct host *host)
{
    return host->full_until_ns == UINT64_MAX ? LIMIT_BYTES / 8 : LIMIT_BYTES;
}

/* Returns the memory that an ordinary task declares. Two such tasks do not fit beside each other.
 * It is 0 for tasks that are restricted to some workers, and for tasks that wait for others,
 * because they keep their memory. */
uint64_t sim_disk_declared(const struct sim *sim, const struct work *work)
{
    const struct sim_job *job = work->job;
    if (sim->crowd || work->id % 5 || work->ranks || work->makes_actor || work->calls ||
        work->children || work->depth || *work->on || job->pure || job->range || job->scattered)
        return 0;
    uint64_t smallest =
        sim->seed % 13 ? LIMIT_BYTES : LIMIT_BYTES / 8; /* memory of the first host */
    return smallest / 5 * 3;
}

void sim_disk_check_declared(struct sim *sim, const struct host *host)
{
    uint64_t declared = 0;
    uint32_t count = 0;
    if (sim->crowd)
        sim_crowd_begin(sim, host);
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (!process->executing || !process->rows.count)
            continue;
        uint64_t bytes = sim_disk_declared(sim, process->rows.items[0].work);
        declared += bytes;
        count += bytes > 0;
    }
    SIM_CHECK(sim, declared <= limit_of(host),
              "host %u has %llu bytes of memory, and %u tasks that need %llu run there",
              host->number, (unsigned long long)limit_of(host), count,
              (unsigned long long)declared);
    if (count)
        sim_fault(sim, FAULT_DECLARED);
}

void sim_disk_options(struct sim *sim, struct host *host, struct gw_node_options *options)
{
    static const uint32_t targets[] = {0, 20, 50, 300, 600};
    host->full_until_ns = (sim->seed + host->number * 3) % 13 == 0 ? UINT64_MAX : 0;
    options->memory_bytes = limit_of(host);
    options->target_permille = targets[sim_below(sim, 5)];
    options->spill_permille = sim_chance(sim, 70) ? 700 : 0;
    options->pause_permille = sim_chance(sim, 80) ? 800 : 0;
    options->terminate_permille = sim_chance(sim, 80) ? 950 : 0;
    options->descriptors_max = sim_chance(sim, 30) ? 3 : 0;
    options->spills_off = sim_chance(sim, 5);
    if (host->full_until_ns == UINT64_MAX)
        options->terminate_permille = 950;
    host->kill_bytes = limit_of(host) / 1000 * options->terminate_permille;
    host->spills_nothing = !options->target_permille && !options->spill_permille;
    host->disk_failed = options->spills_off || host->spills_nothing;
    host->descriptors_max = host->disk_failed || host->full_until_ns ? 0 : options->descriptors_max;
    if (sim->crowd)
        sim_crowd_options(host, options);
    sim_admission_start(host, limit_of(host) / 1000 * options->pause_permille);
}

/* -- Files ---------------------------------------------------------------------------------------
 */

struct work_on_disk {
    struct host *host;
    uint64_t incarnation, number, token, content;
    uint32_t type; /* type of the effect */
};

static void on_disk(struct sim *sim, void *arg);

/* The worker that requested this is gone. The data is dropped. */
static void disk_drop(struct sim *sim, void *arg)
{
    struct work_on_disk *work = arg;
    if (work->token)
        sim_token_drop(sim, work->token);
    free(work);
}

static bool is_full(struct sim *sim, struct host *host)
{
    if (host->full_until_ns == UINT64_MAX)
        return true;
    if (sim->healed)
        return false;
    if (sim_chance(sim, 5))
        host->full_until_ns = sim->now_ns + sim_below(sim, 3 * SECOND);
    return sim->now_ns < host->full_until_ns;
}

static void answer(struct sim *sim, struct host *host, struct gw_event *event, uint64_t content)
{
    uint64_t token = 0;
    if (event->code == 0) {
        token = sim_token(sim, content, 0);
        event->tokens = &token;
        event->token_count = 1;
        GW_MUST(gw_array_push(&host->tokens, token));
    }
    int rc = sim_host_step(sim, host, event);
    SIM_CHECK(sim, rc == 0, "a worker refuses what its disk says");
}

static void on_disk(struct sim *sim, void *arg)
{
    struct work_on_disk work = *(struct work_on_disk *)arg;
    struct host *host = work.host;
    struct gw_event event = {.number = work.number};
    uint64_t content = 0;
    if (!host->core || host->incarnation != work.incarnation) {
        disk_drop(sim, arg);
        return;
    }
    if (work.type == GW_EFFECT_SPILL) {
        event.type = GW_EVENT_SPILLED;
        content = sim_token_content(sim, work.token);
        SIM_CHECK(sim, content == work.content, "a result changes while it is written to disk");
        host->disk_failed = is_full(sim, host);
        if (host->disk_failed) {
            sim_fault(sim, FAULT_FULL_DISK);
            event.code = GW_EIO;
            event.text = "no space left on device";
        } else {
            sim_fault(sim, FAULT_SPILL);
            event.checksum = (uint32_t)content;
            GW_MUST(gw_map_put(&host->files, work.number, content));
        }
    } else {
        event.type = GW_EVENT_RESTORED;
        bool known = gw_map_get(&host->files, work.number, &content);
        SIM_CHECK(sim, known, "file %llu is opened, and is not there",
                  (unsigned long long)work.number);
        if (!sim->healed && sim_chance(sim, 10)) {
            sim_fault(sim, FAULT_TORN_FILE);
            event.code = GW_ECORRUPT;
            event.text = "it is not what was written";
        } else {
            sim_fault(sim, FAULT_READ_BACK);
        }
    }
    disk_drop(sim, arg);
    answer(sim, host, &event, content);
}

void sim_disk_execute(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    if (effect->type == GW_EFFECT_UNLINK) {
        bool known = gw_map_remove(&host->files, effect->number);
        SIM_CHECK(sim, known, "file %llu is removed, and is not there",
                  (unsigned long long)effect->number);
        return;
    }
    struct work_on_disk *work = malloc(sizeof *work);
    GW_MUST_PTR(work);
    *work = (struct work_on_disk){.host = host,
                                  .incarnation = host->incarnation,
                                  .number = effect->number,
                                  .type = effect->type};
    if (effect->type == GW_EFFECT_SPILL)
        work->content = sim_token_content(sim, work->token = sim_token_dup(sim, effect->tokens[0]));
    uint64_t in_ns = 100000 + sim_below(sim, sim_chance(sim, 20) ? 300 * MS : 5 * MS);
    sim_plan_own(sim, in_ns, on_disk, work, disk_drop);
}

/* Checks that the files on the disk are those that the worker knows: none is left over, none is
 * missing. */
void sim_disk_check(struct sim *sim, const struct host *host)
{
    struct gw_node_memory memory;
    gw_node_core_memory(host->core, &memory);
    SIM_CHECK(sim,
              host->files.count >= memory.files &&
                  host->files.count <= memory.files + memory.files_pending,
              "host %u has %zu files on its disk, and knows %zu (%zu more are awaited)",
              host->number, host->files.count, memory.files, memory.files_pending);
    SIM_CHECK(sim, memory.state == GW_MEMORY_OPEN || !memory.idle_bytes || host->descriptors_max,
              "host %u holds work back, and %llu bytes lie idle", host->number,
              (unsigned long long)memory.idle_bytes);
}

/* -- Memory --------------------------------------------------------------------------------------
 */

/* Checks what a worker reports about its memory and about the processes that it kills. */
void sim_disk_told(struct sim *sim, struct host *host, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_ended && message->ended.outcome == GW_OUTCOME_OOM &&
        strstr(message->ended.text, "of its limit of"))
        sim_fault(sim, FAULT_MEMORY_KILL);
    if (message->type == GW_MESSAGE_ended && message->ended.outcome == GW_OUTCOME_FULL) {
        /* The end of a killed process is reported when it is gone. By then the disk may have room
         * again. */
        SIM_CHECK(sim, host->disk_failed || host->spills_nothing || message->ended.executing,
                  "host %u refuses a task, and has a disk", host->number);
        sim_fault(sim, FAULT_REFUSED_RUN);
        sim->some_refused = true;
    }
    if (message->type != GW_MESSAGE_memory || message->memory.state == host->memory_state)
        return;
    host->memory_state = message->memory.state;
    sim_fault(sim, host->memory_state == GW_MEMORY_PAUSED ? FAULT_PAUSE
                   : host->memory_state == GW_MEMORY_ONE  ? FAULT_ONE
                                                          : FAULT_RESUME);
}

/* Returns true if the assign contains a function without inputs, which goes to a runner. */
static bool adds(struct sim *sim, const struct gw_msg_assign *assign)
{
    const uint8_t *args = assign->args.data;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        const struct work *work =
            sim_work_find(sim, sim_turn_work(args, gw_col32_at(assign->args_size, i)));
        args += gw_col32_at(assign->args_size, i);
        if (gw_col32_at(assign->rank, i) == GW_RANK_NONE && !gw_col32_at(assign->dep_count, i) &&
            work->kind == GW_SPEC_FUNCTION && !work->makes_actor && !work->calls)
            return true;
    }
    return false;
}

/* If results fill the memory and cannot be spilled, no task may start that only adds results,
 * unless results were released in this step. */
void sim_disk_stepped(struct sim *sim, struct host *host)
{
    struct gw_node_memory memory;
    gw_node_core_memory(host->core, &memory);
    bool full = host->disk_failed && host->kill_bytes && memory.used_bytes > host->kill_bytes &&
                memory.resident_bytes > host->kill_bytes / 2;
    for (size_t i = 0; full && host->was_full && i < host->effects.list.count; i++) {
        const struct gw_effect *effect = &host->effects.list.items[i];
        SIM_CHECK(sim,
                  effect->type != GW_EFFECT_SEND || effect->message.type != GW_MESSAGE_assign ||
                      !adds(sim, &effect->message.assign),
                  "host %u is full, and starts what adds to that", host->number);
    }
    host->was_full = full;
}

/* Returns true if the host has more descriptors than its limit for results and those of its gangs'
 * ports. */
bool sim_disk_crowded(const struct host *host)
{
    return host->core && host->descriptors_max &&
           host->tokens.count > host->descriptors_max + host->leases.count;
}

static uint64_t use_of(const struct gw_process_use *uses, uint32_t count, uint64_t process)
{
    for (uint32_t i = 0; i < count; i++)
        if (uses[i].process == process)
            return uses[i].bytes;
    return 0;
}

/* Returns true if a process uses more memory than its task declared. */
static bool is_beyond(const struct sim *sim, const struct process *process,
                      const struct gw_process_use *uses, uint32_t count)
{
    uint64_t declared = sim_disk_declared(sim, process->rows.items[0].work);
    return declared && use_of(uses, count, process->id) > declared;
}

/* Above the highest threshold, a process is killed: the largest among those that
 * run a task; ranks of gangs only if there are no others. */
static void check_killed(struct sim *sim, const struct host *host,
                         const struct gw_process_use *uses, uint32_t count)
{
    struct gw_node_memory memory;
    const struct process *most[2] = {NULL,
                                     NULL}; /* [0]: largest process; [1]: largest rank of a gang */
    bool dying = false;
    gw_node_core_memory(host->core, &memory);
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        dying = dying || process->kill_ns || !process->alive;
        if (!process->executing || process->kill_ns || !process->rows.count)
            continue;
        SIM_CHECK(sim, !is_beyond(sim, process, uses, count),
                  "host %u lets a task use more than it asked for", host->number);
        const struct process **best = &most[process->rows.items[0].rank != GW_RANK_NONE];
        if (!*best || use_of(uses, count, process->id) > use_of(uses, count, (*best)->id))
            *best = process;
    }
    for (int rank = 0; rank < 2; rank++)
        SIM_CHECK(sim,
                  !host->kill_bytes || dying || memory.used_bytes <= host->kill_bytes ||
                      !most[rank] || use_of(uses, count, most[rank]->id) < limit_of(host) / 20,
                  "host %u uses %llu bytes, and nobody is killed", host->number,
                  (unsigned long long)memory.used_bytes);
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (!process->executing || !process->rows.count || process->kill_ns != sim->now_ns ||
            is_beyond(sim, process, uses, count))
            continue;
        const struct process *other = most[process->rows.items[0].rank != GW_RANK_NONE];
        SIM_CHECK(sim, !other || use_of(uses, count, other->id) <= use_of(uses, count, process->id),
                  "host %u is short of memory, and does not kill the largest process",
                  host->number);
    }
}

struct measuring {
    struct host *host;
    uint64_t incarnation;
};

static void on_measure(struct sim *sim, void *arg)
{
    struct measuring *measuring = arg;
    struct host *host = measuring->host;
    if (!host->core || host->incarnation != measuring->incarnation) {
        free(arg);
        return;
    }
    struct gw_process_use uses[64];
    uint32_t count = 0;
    uint64_t part = !sim->healed && sim_chance(sim, 12) ? sim_below(sim, limit_of(host))
                                                        : limit_of(host) / 1000;
    bool kills = part > limit_of(host) / 20;
    for (size_t i = 0; i < host->processes.count && count < 64; i++) {
        struct process *process = host->processes.items[i];
        if (!process->alive)
            continue;
        uint64_t bytes =
            sim->crowd ? sim_crowd_uses(sim, process) : part / 2 + sim_below(sim, part);
        uses[count++] = (struct gw_process_use){.process = process->id, .bytes = bytes};
        if (kills && process->rows.count)
            process->rows.items[0].work->deaths++; /* perhaps */
    }
    uint64_t own = !sim->healed && sim_chance(sim, 5) ? LIMIT_BYTES : 1000;
    sim_admission_measured(host, own, uses, count);
    (void)sim_host_step(
        sim, host,
        &(struct gw_event){
            .type = GW_EVENT_USAGE, .number = own, .uses = uses, .use_count = count});
    if (host->core && host->incarnation == measuring->incarnation)
        check_killed(sim, host, uses, count);
    uint64_t most_ns = sim->crowd ? 20 * MS : sim->healed ? SECOND : 200 * MS;
    sim_plan_own(sim, 20 * MS + sim_below(sim, most_ns), on_measure, measuring, sim_drop);
}

void sim_disk_start(struct sim *sim, struct host *host)
{
    struct measuring *measuring = malloc(sizeof *measuring);
    GW_MUST_PTR(measuring);
    *measuring = (struct measuring){host, host->incarnation};
    host->memory_state = GW_MEMORY_OPEN;
    host->was_full = false;
    sim_plan_own(sim, sim_below(sim, 200 * MS), on_measure, measuring, sim_drop);
}
