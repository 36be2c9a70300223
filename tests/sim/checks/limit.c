/* Limits. A task must end when it has reached its time limit or inactivity timeout, and not
 * earlier. No more tasks of a range may be unfinished than its limit. */
#include "tests/sim/checks/limit.h"

#define START_NS (100 * MS)  /* the worker's clock starts before a command's program */
#define MEASURE_NS (10 * MS) /* output is measured twice in this time */

struct limits {
    struct gw_map begun; /* attempt -> start of its first process */
    struct gw_map work;  /* attempt -> work id */
};

static struct limits *limits_of(struct sim *sim)
{
    if (!sim->limits)
        GW_MUST_PTR(sim->limits = calloc(1, sizeof *sim->limits));
    return sim->limits;
}

/* -- Time ----------------------------------------------------------------------------------------
 */

void sim_limit_begin(struct sim *sim, const struct process *process)
{
    struct limits *limits = limits_of(sim);
    const struct row *row = &process->rows.items[0];
    if (gw_map_get(&limits->begun, row->attempt, NULL))
        return;
    GW_MUST(gw_map_put(&limits->begun, row->attempt, sim->now_ns));
    GW_MUST(gw_map_put(&limits->work, row->attempt, row->work->id));
}

void sim_limit_exit(struct sim *sim, const struct process *process)
{
    const struct work *work = process->rows.count ? process->rows.items[0].work : NULL;
    if (!work || !process->executing || process->actor)
        return;
    uint64_t ran_ns = sim->now_ns - process->begun_ns;
    SIM_CHECK(sim,
              !work->time_limit_ns || ran_ns <= work->time_limit_ns + SIM_GRACE_NS + MEASURE_NS,
              "task %llu ran for %.3f s, and may for %.3f s", (unsigned long long)work->id,
              (double)ran_ns / 1e9, (double)work->time_limit_ns / 1e9);
    bool silent = work->hangs && work->inactivity_timeout_ns && !work->talks;
    SIM_CHECK(
        sim,
        !silent || ran_ns <= work->inactivity_timeout_ns / 4 * 5 + SIM_GRACE_NS + 2 * MEASURE_NS,
        "task %llu was silent for %.3f s, and may be for %.3f s", (unsigned long long)work->id,
        (double)ran_ns / 1e9, (double)work->inactivity_timeout_ns / 1e9);
}

void sim_limit_told(struct sim *sim, const struct gw_msg_ended *ended)
{
    uint64_t begun_ns, id;
    if (ended->outcome != GW_OUTCOME_TIMEOUT ||
        !gw_map_get(&limits_of(sim)->begun, ended->attempt, &begun_ns) ||
        !gw_map_get(&sim->limits->work, ended->attempt, &id))
        return;
    const struct work *work = sim_work_find(sim, id);
    uint64_t limit_ns =
        strstr(ended->text, "silent") ? work->inactivity_timeout_ns : work->time_limit_ns;
    SIM_CHECK(sim, limit_ns && sim->now_ns - begun_ns + START_NS >= limit_ns,
              "task %llu ends at its limit of %.3f s, after %.3f s: %s", (unsigned long long)id,
              (double)limit_ns / 1e9, (double)(sim->now_ns - begun_ns) / 1e9, ended->text);
}

uint64_t sim_process_output(struct sim *sim, const struct host *host, uint64_t id)
{
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (process->id == id && process->rows.count && process->rows.items[0].work->talks)
            return sim->now_ns;
    }
    return 0;
}

/* -- At a time -----------------------------------------------------------------------------------
 */

struct sim_job *sim_limit_job(const struct sim *sim, uint64_t id)
{
    for (size_t i = sim->jobs.count; i-- > 0;)
        if (sim->jobs.items[i]->promised == id || sim->jobs.items[i]->id == id)
            return sim->jobs.items[i];
    return NULL;
}

static int64_t placed_of(struct sim *sim, uint64_t job)
{
    struct gw_value *arguments = gw_dict(), *answer = NULL;
    int64_t placed = 0;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)job)));
    if (gw_sched_query(sim->sched, "job", arguments, &answer, NULL) == 0)
        (void)gw_value_get_i64(gw_value_find(answer, "placed"), &placed, NULL);
    gw_value_unref(arguments);
    gw_value_unref(answer);
    return placed;
}

void sim_limit_assigned(struct sim *sim, const struct gw_msg_assign *assign)
{
    for (uint32_t i = 0; i < assign->job.count; i++) {
        uint64_t id = gw_col64_at(assign->job, i);
        const struct sim_job *job = sim_limit_job(sim, id);
        if (!job || !job->limit || (i > 0 && gw_col64_at(assign->job, i - 1) == id))
            continue;
        int64_t placed = placed_of(sim, id);
        SIM_CHECK(sim, placed <= (int64_t)job->limit,
                  "%lld tasks of a range are under way, and %u may be", (long long)placed,
                  job->limit);
    }
}

void sim_limit_free(struct sim *sim)
{
    if (!sim->limits)
        return;
    gw_map_deinit(&sim->limits->begun);
    gw_map_deinit(&sim->limits->work);
    free(sim->limits);
    sim->limits = NULL;
}
