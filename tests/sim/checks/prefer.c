/* A task that prefers some workers is placed on one of them if that worker is idle. After a failure
 * there, other workers are tried. */
#include "tests/sim/checks/prefer.h"

#include "tests/sim/checks/limit.h"

#include <stdio.h>

static int64_t number_in(const struct gw_value *dict, const char *name)
{
    int64_t number = -1;
    (void)gw_value_get_i64(gw_value_find(dict, name), &number, NULL);
    return number;
}

static bool is(const struct gw_value *dict, const char *name, const char *wanted)
{
    const char *text = "";
    return gw_value_get_str(gw_value_find(dict, name), &text, NULL) == 0 &&
           strcmp(text, wanted) == 0;
}

static bool names(const struct work *work, const struct host *host)
{
    return strstr(work->on, host->worker_name) || strstr(work->on, host->name);
}

/* Returns true if a worker is idle according to the scheduler, and could run this task. */
static bool is_idle(const struct gw_value *worker, const struct work *work)
{
    return is(worker, "state", "ready") && is(worker, "memory_state", "open") &&
           number_in(worker, "placed") == 0 && number_in(worker, "resident_bytes") == 0 &&
           number_in(worker, "slots_free") == number_in(worker, "slots") &&
           number_in(worker, "slots") >= (int64_t)work->slots;
}

/* Returns true for tasks that need only slots. */
static bool is_plain(const struct work *work)
{
    return work->prefers && *work->on && work->ranks == 0 && work->gpus == 0 &&
           work->licenses == 0 && work->tapes == 0 && !work->files && !work->makes_actor &&
           !work->calls && work->dep_count == 0;
}

static void check(struct sim *sim, const struct work *work, const struct host *to)
{
    struct gw_value *workers = NULL;
    if (gw_sched_query(sim->sched, "workers", NULL, &workers, NULL) < 0)
        return;
    for (size_t i = 0; i < gw_value_count(workers); i++) {
        const struct gw_value *worker = gw_value_at(workers, i);
        for (uint32_t k = 0; k < sim->host_count; k++) {
            const struct host *host = &sim->hosts[k];
            SIM_CHECK(sim,
                      !names(work, host) || !is(worker, "name", host->worker_name) ||
                          !is_idle(worker, work),
                      "task %llu goes to %s, and prefers %s, where nothing runs",
                      (unsigned long long)work->id, to->worker_name, host->worker_name);
        }
    }
    gw_value_unref(workers);
}

void sim_prefer_assigned(struct sim *sim, const struct host *to, const struct gw_msg_assign *assign)
{
    if (sim->committed)
        return; /* it was placed before, when other workers may have been absent */
    for (uint32_t i = 0; to && i < assign->job.count; i++) {
        const struct sim_job *job = sim_limit_job(sim, gw_col64_at(assign->job, i));
        for (size_t k = 0; job && k < job->work.count; k++) {
            const struct work *work = job->work.items[k];
            if (work->row != gw_col32_at(assign->index, i) || !is_plain(work))
                continue;
            if (names(work, to))
                sim_fault(sim, FAULT_PREFERRED);
            else if (gw_col32_at(assign->try_number, i) ==
                     0) /* otherwise the worker may be avoided */
                check(sim, work, to);
        }
    }
}
