/* Worlds in which memory is short and nothing else goes wrong. All memory is used by tasks, and
 * this file counts what they use.
 *
 * Each seed has one of two kinds. PAIRS: each of many tasks makes a result that one other task
 * uses. That other task needs more slots, so later tasks overtake it. All results together are five
 * times the memory. Tasks without inputs must be held back while others wait. So the unused results
 * must stay below the threshold for spilling, except for tasks that already run. HEAVY: tasks that
 * use a tenth of the memory each. Once the scheduler knows this, only so many of them may run at a
 * time that memory stays below the threshold for pausing. */
#include "tests/sim/faults/crowd.h"

#include "tests/sim/faults/crash.h"
#include "tests/sim/world/submission.h"

#include <stdio.h>

enum kind { PAIRS, HEAVY, KINDS };
enum { TARGET_PERMILLE = 500, SPILL_PERMILLE = 700, PAUSE_PERMILLE = 800, TOLD_PART = 32 };
#define MEMORY_BYTES UINT64_C(256000000)
#define LEARNED_NS (100 * MS) /* longer than two messages take */
#define PATIENCE_NS (600 * SECOND)

struct crowd {
    enum kind kind;
    uint64_t result_bytes, use_bytes;
    uint64_t measured_ns, made_ns; /* first time that use_bytes was measured; first result */
    uint32_t taker_slots;
};

/* -- What is there -------------------------------------------------------------------------------
 */

void sim_crowd_options(struct host *host, struct gw_node_options *options)
{
    host->full_until_ns = host->kill_bytes = 0;
    host->descriptors_max = options->descriptors_max = 0;
    host->spills_nothing = host->disk_failed = options->spills_off = false;
    options->target_permille = TARGET_PERMILLE;
    options->spill_permille = SPILL_PERMILLE;
    options->pause_permille = PAUSE_PERMILLE;
    options->terminate_permille = 0;
    options->memory_bytes = MEMORY_BYTES;
}

static bool uses(const struct process *process)
{
    return process->alive && process->executing && process->rows.count &&
           process->rows.items[0].work->bytes > GW_INLINE_BYTES_MAX;
}

uint64_t sim_crowd_uses(struct sim *sim, const struct process *process)
{
    struct crowd *crowd = sim->crowd;
    if (!uses(process) || !crowd->use_bytes)
        return 1000;
    crowd->measured_ns = crowd->measured_ns ? crowd->measured_ns : sim->now_ns;
    return crowd->use_bytes;
}

/* -- What is checked -----------------------------------------------------------------------------
 */

/* Counts results that were made and whose users have not ended. */
static void check_pairs(struct sim *sim)
{
    const struct crowd *crowd = sim->crowd;
    uint64_t left = 0, most = 0;
    for (size_t i = 0; i + 1 < sim->work.count; i += 2)
        left += sim->work.items[i]->ended_well && !sim->work.items[i + 1]->ended_well;
    for (uint32_t i = 0; i < sim->host_count; i++) {
        const uint64_t under_way = sim->hosts[i].slots + 1u;
        most += MEMORY_BYTES / 1000 * TARGET_PERMILLE + MEMORY_BYTES / TOLD_PART +
                under_way * crowd->result_bytes;
    }
    SIM_CHECK(sim, left * crowd->result_bytes <= most,
              "%llu results lie there, of %llu bytes together, and nobody has taken them: more "
              "than %llu",
              (unsigned long long)left, (unsigned long long)(left * crowd->result_bytes),
              (unsigned long long)most);
    sim_fault(sim, FAULT_CROWD_PAIR);
}

/* Returns true if the scheduler knew the memory use of this kind of task when it placed this
 * attempt. */
static bool is_learned(struct sim *sim, uint64_t attempt)
{
    const struct crowd *crowd = sim->crowd;
    uint64_t since_ns = crowd->measured_ns > crowd->made_ns ? crowd->measured_ns : crowd->made_ns;
    uint64_t assigned_ns;
    return crowd->measured_ns && crowd->made_ns &&
           gw_map_get(&sim->assigned, attempt, &assigned_ns) && assigned_ns > since_ns + LEARNED_NS;
}

static void check_heavy(struct sim *sim, const struct host *host)
{
    struct crowd *crowd = sim->crowd;
    uint64_t used = 0;
    uint32_t count = 0;
    bool learned = true;
    for (size_t i = 0; i < host->tokens.count; i++) {
        uint64_t bytes = 0;
        (void)gw_map_get(&sim->sizes, host->tokens.items[i], &bytes);
        used += bytes;
    }
    if (used && !crowd->made_ns)
        crowd->made_ns = sim->now_ns;
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (!uses(process))
            continue;
        used += crowd->use_bytes;
        count++;
        learned = learned && is_learned(sim, process->rows.items[0].attempt);
    }
    if (!learned || count < 2)
        return;
    sim_fault(sim, FAULT_CROWD_HEAVY);
    SIM_CHECK(sim,
              used <= MEMORY_BYTES / 1000 * PAUSE_PERMILLE + MEMORY_BYTES / TOLD_PART +
                          crowd->result_bytes,
              "host %u uses %llu of %llu bytes as one more task starts, of %u", host->number,
              (unsigned long long)used, (unsigned long long)MEMORY_BYTES, count);
}

void sim_crowd_begin(struct sim *sim, const struct host *host)
{
    if (sim->crowd->kind == PAIRS)
        check_pairs(sim);
    else
        check_heavy(sim, host);
}

/* -- What is wanted ------------------------------------------------------------------------------
 */

static struct work *add(struct sim *sim, struct sim_job *job, uint64_t bytes, uint64_t run_ns)
{
    struct work *work = sim_work_new(sim, job);
    work->bytes = bytes;
    work->run_ns = run_ns;
    return work;
}

static void make_pairs(struct sim *sim, struct sim_job *job)
{
    struct crowd *crowd = sim->crowd;
    uint64_t pairs = 5 * sim->host_count * MEMORY_BYTES / crowd->result_bytes;
    for (uint64_t i = 0; i < pairs; i++) {
        struct work *maker = add(sim, job, crowd->result_bytes, 3 * MS);
        struct work *taker = add(sim, job, 8, 2 * MS);
        taker->deps[taker->dep_count++] = (struct dep){maker, 0};
        taker->slots = crowd->taker_slots;
        taker->target = taker->held = true;
    }
}

static void make_heavy(struct sim *sim, struct sim_job *job)
{
    const struct crowd *crowd = sim->crowd;
    for (uint32_t i = 0; i < 50 * sim->host_count; i++) {
        struct work *work = add(sim, job, crowd->result_bytes, 40 * MS);
        work->target = work->held = true;
    }
}

static void on_submit(struct sim *sim, void *arg)
{
    struct client *client = arg;
    struct crowd *crowd = sim->crowd;
    SIM_CHECK(sim, client->welcomed, "a client hears nothing");
    struct sim_job *job = sim_job_new(sim, client);
    crowd->result_bytes = MEMORY_BYTES / 20;
    if (crowd->kind == HEAVY) {
        crowd->use_bytes = MEMORY_BYTES / 10;
        crowd->result_bytes = MEMORY_BYTES / 40;
    }
    if (crowd->kind == PAIRS)
        make_pairs(sim, job);
    else
        make_heavy(sim, job);
    while (job->sent < job->work.count)
        sim_submission_chunk(sim, job);
}

/* -- A life --------------------------------------------------------------------------------------
 */

static void make(struct sim *sim)
{
    struct crowd *crowd = sim->crowd;
    crowd->kind = (enum kind)sim_below(sim, KINDS);
    sim->healed = true; /* no other faults, from the start */
    sim->host_count = 1 + sim_chance(sim, 30);
    for (uint32_t i = 0; i < sim->host_count; i++) {
        uint32_t slots = 2 + (uint32_t)sim_below(sim, 3);
        if (crowd->kind == HEAVY)
            slots = 12;
        sim->hosts[i].tapes = 1;
        sim_world_host(sim, i, slots);
        if (i == 0 || slots < crowd->taker_slots)
            crowd->taker_slots = slots;
    }
    sim->client_count = 1;
    sim->clients[0].sim = sim;
    sim_client_start(sim, &sim->clients[0]);
    sim->clients[0].quiet = true; /* the client makes only the requests of this file */
    sim_plan(sim, 2 * SECOND, on_submit, &sim->clients[0]);
}

void sim_crowd_run(uint64_t seed, bool log)
{
    struct crowd crowd = {.kind = PAIRS};
    struct sim *sim = calloc(1, sizeof *sim);
    GW_MUST_PTR(sim);
    sim->seed = seed;
    sim->log = log;
    sim->crowd = &crowd;
    sim_world_begin(sim);
    make(sim);
    struct client *client = &sim->clients[0];
    while ((!client->jobs.count || !sim_client_settled(sim, client)) && sim_next(sim))
        SIM_CHECK(sim, sim->now_ns < PATIENCE_NS, "not all of a crowd has run within 600 s");
    SIM_CHECK(sim, !client->jobs.items[0]->rejected, "what a crowd is to run is refused");
    sim_client_kill(sim, client);
    sim_world_free(sim);
}
