/* Workers in quarantine. If a worker was lost while a gang ran on it, or a rank there did not
 * become ready, it gets no ranks for one second. The time doubles with each further failure, until
 * a gang has ended successfully there. The quarantine stays if the worker reconnects. Likewise, a
 * worker that could not create the files of a task gets no tasks with files, if other workers might
 * be able to. The next scheduler does not know about a quarantine.
 *
 * This file finds the start and the end of a quarantine from the states of gangs, workers and
 * tasks, and computes its length. At every step, the scheduler must report the same for each
 * worker. */
#include "tests/sim/checks/quarantine.h"

#include "scheduler/core/lifecycle/task_end.h"
#include "scheduler/core/model/jobs/access.h"
#include "scheduler/core/model/jobs/attempt.h"
#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/quarantine.h"
#include "scheduler/core/model/workers/worker.h"
#include "scheduler/core/requests/remote.h"

enum { RANKS, FILES, KINDS };

struct rest {
    uint32_t failures; /* number of failures in a row */
    uint64_t until_ns;
};

/* A rank that could put its worker into quarantine: its state before the step. */
struct placed {
    uint32_t host, worker;
    bool live;
};

/* A gang: its state before the step. */
struct stake {
    uint64_t attempt, job;
    uint32_t row, count;
    uint8_t state;
    bool files;
    bool due; /* the time for its ranks to become ready is over */
    struct placed placed_ranks[RANKS_MAX];
};

struct sim_quarantine {
    struct rest rests[HOSTS_MAX][KINDS];
    GW_ARRAY(struct stake) stakes;
    uint32_t unsure[KINDS]; /* bit mask of hosts for which this step does not show what to expect */
    uint32_t files_host;    /* host where files of a task could not be created; GW_NO_INDEX: none */
    uint64_t files_job;     /* the job of that task */
    uint32_t files_row;
    uint8_t files_state;
    uint32_t laid; /* bit mask of hosts where a task with files ended successfully */
};

static struct sim_quarantine *quarantine_of(struct sim *sim)
{
    if (!sim->quarantine) {
        GW_MUST_PTR(sim->quarantine = calloc(1, sizeof *sim->quarantine));
        sim->quarantine->files_host = GW_NO_INDEX;
    }
    return sim->quarantine;
}

static uint32_t host_of(const struct sim *sim, const struct gw_worker *worker)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        if (strcmp(sim->hosts[i].worker_name, worker->remote->name) == 0)
            return i;
    return GW_NO_INDEX;
}

static bool is_there(const struct sim *sim, uint32_t id)
{
    const struct gw_worker *worker = gw_sched_worker_find(sim->sched, id);
    return worker && worker->state != GW_WORKER_LOST;
}

/* Returns the state of a task; GW_TASK_RETIRED if it is unknown. */
static uint8_t state_of(const struct sim *sim, uint64_t id, uint32_t row)
{
    const struct gw_job *job = gw_sched_job_find(sim->sched, id);
    return job && row < job->tasks.count ? job->tasks.state[row] : GW_TASK_RETIRED;
}

/* -- Before a step -------------------------------------------------------------------------------
 */

static bool has_files(const struct gw_job *job, uint32_t row)
{
    return job->specs.items[job->tasks.spec[row]].message.files.size > 0;
}

static void note_gang(struct sim *sim, const struct gw_gang_attempt *gang)
{
    struct stake stake = {.attempt = gang->id,
                          .job = gang->job->id,
                          .row = gang->index,
                          .count = gang->count,
                          .state = gang->state,
                          .files = has_files(gang->job, gang->index),
                          .due =
                              gang->state == GW_GANG_PREPARING && gang->deadline_ns <= sim->now_ns};
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_worker *worker = gw_sched_worker_find(sim->sched, gang->ranks[i].worker);
        stake.placed_ranks[i] =
            (struct placed){worker ? host_of(sim, worker) : GW_NO_INDEX, gang->ranks[i].worker,
                            gang->ranks[i].slot != GW_NO_INDEX};
    }
    GW_MUST(gw_array_push(&sim->quarantine->stakes, stake));
}

static void note_ended(struct sim *sim, const struct gw_worker *worker,
                       const struct gw_msg_ended *ended)
{
    struct sim_quarantine *quarantine = quarantine_of(sim);
    uint32_t slot = gw_sched_attempt_slot(sim->sched, worker, ended->attempt, ended->rank);
    if (slot == GW_NO_INDEX)
        slot = gw_sched_gang_slot(sim->sched, worker, ended->attempt, ended->rank);
    if (slot == GW_NO_INDEX || ended->outcome != GW_OUTCOME_FILES)
        return;
    quarantine->files_host = host_of(sim, worker);
    quarantine->files_job = sim->sched->attempts.items[slot].job->id;
    quarantine->files_row = sim->sched->attempts.items[slot].index;
    quarantine->files_state = ended->rank == GW_RANK_NONE
                                  ? state_of(sim, quarantine->files_job, quarantine->files_row)
                                  : GW_TASK_RETIRED;
}

static void note_finished(struct sim *sim, const struct gw_worker *worker,
                          const struct gw_msg_finished *finished)
{
    for (uint32_t i = 0; i < finished->attempt.count; i++) {
        uint32_t slot = gw_sched_attempt_slot(sim->sched, worker, gw_col64_at(finished->attempt, i),
                                              gw_col32_at(finished->rank, i));
        if (slot == GW_NO_INDEX)
            continue;
        const struct gw_attempt *attempt = &sim->sched->attempts.items[slot];
        if (has_files(attempt->job, attempt->index))
            sim->quarantine->laid |= 1u << host_of(sim, worker);
    }
}

void sim_quarantine_before(struct sim *sim, const struct gw_event *event)
{
    const struct gw_message *message = event->message;
    struct sim_quarantine *quarantine = sim->quarantine;
    uint64_t attempt, gang;
    if (quarantine) {
        gw_array_clear(&quarantine->stakes);
        memset(quarantine->unsure, 0, sizeof quarantine->unsure);
        quarantine->laid = 0;
        quarantine->files_host = GW_NO_INDEX;
    }
    for (size_t at = 0; gw_map_next(&sim->sched->gangs, &at, &attempt, &gang);) {
        (void)quarantine_of(sim);
        note_gang(sim, (const struct gw_gang_attempt *)(uintptr_t)gang);
    }
    if (event->type != GW_EVENT_MESSAGE ||
        (message->type != GW_MESSAGE_ended && message->type != GW_MESSAGE_finished))
        return;
    const struct gw_remote *remote = gw_sched_access_remote(sim->sched, event->peer);
    if (!remote || !remote->worker)
        return;
    if (message->type == GW_MESSAGE_ended)
        note_ended(sim, remote->worker, &message->ended);
    else if (quarantine)
        note_finished(sim, remote->worker, &message->finished);
}

/* -- After it ------------------------------------------------------------------------------------
 */

static void begin(struct sim *sim, uint32_t host, int kind)
{
    struct rest *rest = &sim->quarantine->rests[host][kind];
    uint64_t for_ns = SECOND << (rest->failures < 10 ? rest->failures : 10);
    sim_fault(sim, kind == FILES        ? FAULT_FILES_REST
                   : rest->failures > 0 ? FAULT_RESTS_LONGER
                                        : FAULT_RESTS);
    rest->failures++;
    rest->until_ns = sim->now_ns + (for_ns < 120 * SECOND ? for_ns : 120 * SECOND);
}

static void end(struct sim *sim, uint32_t host, int kind)
{
    struct rest *rest = &sim->quarantine->rests[host][kind];
    if (rest->failures)
        sim_fault(sim, FAULT_WARMED);
    *rest = (struct rest){0};
}

/* All ranks of the gang have ended. */
static void take_end(struct sim *sim, const struct stake *stake)
{
    const uint8_t state = state_of(sim, stake->job, stake->row);
    for (uint32_t i = 0; i < stake->count; i++) {
        const struct placed *placed = &stake->placed_ranks[i];
        if (placed->host == GW_NO_INDEX || !is_there(sim, placed->worker))
            continue;
        for (int kind = 0; kind <= (stake->files ? FILES : RANKS); kind++)
            if (state == GW_TASK_RETIRED)
                sim->quarantine->unsure[kind] |= 1u << placed->host;
            else if (state == GW_TASK_DONE || state == GW_TASK_RELEASED)
                end(sim, placed->host, kind);
    }
}

/* Returns a bit mask of hosts whose workers were lost in this step and had ranks of the gang. */
static uint32_t lost_under(const struct sim *sim, const struct stake *stake)
{
    uint32_t lost = 0;
    for (uint32_t i = 0; i < stake->count; i++) {
        const struct placed *placed = &stake->placed_ranks[i];
        if (placed->live && placed->host != GW_NO_INDEX && !is_there(sim, placed->worker))
            lost |= 1u << placed->host;
    }
    return lost;
}

/* Returns the host of the rank that did not become ready, or GW_NO_INDEX if the gang ends for
 * another reason. */
static uint32_t late_at(const struct sim *sim, const struct stake *stake)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sim->sched, stake->attempt);
    if (!gang || stake->state != GW_GANG_PREPARING || gang->state != GW_GANG_ENDING ||
        gang->cause_rank == GW_NO_INDEX || gang->cause.executing == false ||
        !strstr(gang->cause.text, "did not become ready"))
        return GW_NO_INDEX;
    return stake->placed_ranks[gang->cause_rank].host;
}

static void take_gang(struct sim *sim, const struct stake *stake, bool dismissed)
{
    const uint32_t lost = lost_under(sim, stake), late = late_at(sim, stake);
    const bool over = !gw_sched_gang_find(sim->sched, stake->attempt);
    if (stake->state == GW_GANG_ENDING || (lost & (lost - 1)) || (lost && stake->due))
        sim->quarantine->unsure[RANKS] |= lost; /* the loss may be the cause of the end; if several
                                                   workers were lost, one of them is */
    else if (lost && !dismissed)
        begin(sim, (uint32_t)__builtin_ctz(lost), RANKS);
    else if (late != GW_NO_INDEX)
        begin(sim, late, RANKS);
    if (over && !lost && stake->state != GW_GANG_ENDING)
        take_end(sim, stake);
}

/* A task whose files could not be created is tried elsewhere if other workers may succeed;
 * otherwise it fails. The end of a gang, or of a cancelled task, does not show which of the two
 * applies. */
static void take_files(struct sim *sim)
{
    struct sim_quarantine *quarantine = sim->quarantine;
    const uint8_t state = state_of(sim, quarantine->files_job, quarantine->files_row);
    struct rest *rest = &quarantine->rests[quarantine->files_host][FILES];
    if (quarantine->files_state != GW_TASK_PLACED || state == GW_TASK_RETIRED)
        quarantine->unsure[FILES] |= 1u << quarantine->files_host;
    else if (rest->until_ns <= sim->now_ns && state != GW_TASK_FAILED)
        begin(sim, quarantine->files_host, FILES);
}

bool sim_quarantine_ended(const struct sim *sim, uint64_t job, uint32_t row)
{
    for (size_t i = 0; sim->quarantine && i < sim->quarantine->stakes.count; i++) {
        const struct stake *stake = &sim->quarantine->stakes.items[i];
        if (stake->job == job && stake->row == row && stake->state == GW_GANG_ENDING)
            return true;
    }
    return false;
}

/* -- What the scheduler says ---------------------------------------------------------------------
 */

static uint64_t left_of(const struct sim *sim, const struct rest *rest)
{
    return rest->until_ns > sim->now_ns ? rest->until_ns - sim->now_ns : 0;
}

static void believe(struct sim *sim, uint32_t host, int kind)
{
    struct rest *rest = &sim->quarantine->rests[host][kind];
    *rest = (struct rest){0};
    for (size_t i = 0; i < sim->sched->quarantines.count; i++) {
        const struct gw_quarantine *said = &sim->sched->quarantines.items[i];
        if (said->files == (kind == FILES) && strcmp(said->name, sim->hosts[host].worker_name) == 0)
            *rest = (struct rest){said->failures, said->until_ns};
    }
}

static void check(struct sim *sim, const struct gw_worker *worker)
{
    static const struct gw_resource_class shapes[KINDS] = {
        [RANKS] = {.ranks = 1}, [FILES] = {.files = true}};
    const uint32_t host = host_of(sim, worker);
    for (int kind = 0; kind < KINDS; kind++) {
        const uint64_t due_ns = left_of(sim, &sim->quarantine->rests[host][kind]);
        const uint64_t left_ns = gw_sched_quarantine_left_ns(sim->sched, worker, &shapes[kind]);
        SIM_CHECK(sim, due_ns == left_ns, "host %u takes no %s for %.3f s, and ought to for %.3f s",
                  host, kind == RANKS ? "ranks" : "files", (double)left_ns / 1e9,
                  (double)due_ns / 1e9);
        SIM_CHECK(sim, !left_ns || gw_sched_deadline_ns(sim->sched) <= sim->now_ns + left_ns,
                  "nobody looks when the rest of host %u is over", host);
    }
}

void sim_quarantine_stepped(struct sim *sim, const struct gw_event *event)
{
    struct sim_quarantine *quarantine = sim->quarantine;
    const bool dismissed =
        (event->type == GW_EVENT_CLOSE && sim->revoking) ||
        (event->type == GW_EVENT_MESSAGE &&
         (event->message->type == GW_MESSAGE_refuse || event->message->type == GW_MESSAGE_leaving));
    if (!quarantine)
        return;
    for (size_t i = 0; i < quarantine->stakes.count; i++)
        take_gang(sim, &quarantine->stakes.items[i], dismissed);
    if (quarantine->files_host != GW_NO_INDEX)
        take_files(sim);
    for (uint32_t i = 0; i < sim->host_count; i++) {
        if (quarantine->laid >> i & 1)
            end(sim, i, FILES);
        for (int kind = 0; kind < KINDS; kind++)
            if (quarantine->unsure[kind] >> i & 1)
                believe(sim, i, kind);
    }
    for (size_t i = 0; i < sim->sched->workers.count; i++)
        if (sim->sched->workers.items[i] && sim->sched->workers.items[i]->state == GW_WORKER_READY)
            check(sim, sim->sched->workers.items[i]);
}

/* -- What it places ------------------------------------------------------------------------------
 */

/* Returns true if a rank could go to another worker although this one is in quarantine. */
static bool lets_pass(const struct sim *sim, const struct host *host)
{
    for (uint32_t i = 0; i < sim->host_count; i++)
        if (i != host->number && left_of(sim, &sim->quarantine->rests[i][RANKS]))
            return true;
    return false;
}

void sim_quarantine_assigned(struct sim *sim, const struct host *host,
                             const struct gw_msg_assign *assign)
{
    if (!sim->quarantine || !host)
        return;
    const struct rest *rests = sim->quarantine->rests[host->number];
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        const bool rank = gw_col32_at(assign->rank, i) != GW_RANK_NONE;
        const struct gw_job *job = gw_sched_job_find(sim->sched, gw_col64_at(assign->job, i));
        const uint32_t row = gw_col32_at(assign->index, i);
        const bool files = job && row < job->tasks.count && has_files(job, row);
        SIM_CHECK(sim, !rank || !left_of(sim, &rests[RANKS]),
                  "a rank of attempt %llx is placed at host %u, which rests for %.3f s",
                  (unsigned long long)gw_col64_at(assign->attempt, i), host->number,
                  (double)left_of(sim, &rests[RANKS]) / 1e9);
        SIM_CHECK(sim, !files || !left_of(sim, &rests[FILES]),
                  "attempt %llx has files, and is placed at host %u, which could not lay any",
                  (unsigned long long)gw_col64_at(assign->attempt, i), host->number);
        if (rank && lets_pass(sim, host))
            sim_fault(sim, FAULT_WENT_ELSEWHERE);
    }
}

/* -- Lives ---------------------------------------------------------------------------------------
 */

void sim_quarantine_crashed(struct sim *sim)
{
    for (uint32_t i = 0; sim->quarantine && i < sim->host_count; i++)
        if (left_of(sim, &sim->quarantine->rests[i][RANKS]))
            sim_fault(sim, FAULT_REST_LOST);
    sim_quarantine_free(sim);
}

void sim_quarantine_free(struct sim *sim)
{
    if (sim->quarantine)
        gw_array_deinit(&sim->quarantine->stakes);
    free(sim->quarantine);
    sim->quarantine = NULL;
}
