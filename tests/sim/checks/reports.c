/* Reports of metrics. Each function reports step 1, 2, 3 ... of one metric in some of its attempts.
 * A worker may run an attempt again whose runner died before it reported the result. Cuts, deaths
 * and duplicates lose, repeat and delay the messages. In the facts of detached jobs, over all terms
 * of the scheduler:
 *
 * - the numbers of reports and ends of jobs rise;
 *
 * - the reports of an attempt are those that the worker got, in this order: none is lost, or
 * stored twice;
 *
 * - if an attempt has ended its task well, all its reports precede that end.
 *
 * A restored scheduler has all committed reports. */
#include "tests/sim/checks/reports.h"

#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/jobs/metric.h"
#include "scheduler/core/model/state.h"

enum { HEADER_BYTES = 6, TAIL_BYTES = 64, STEPS_MAX_OF_ATTEMPT = 5 };

struct stored {
    size_t end; /* end of the facts that contain it */
    uint64_t seq;
    uint64_t job, attempt; /* attempt 0: the end of a job */
    uint64_t count, step;
};

struct told_report {
    uint64_t attempt, step;
};

struct sim_reports {
    GW_ARRAY(struct told_report) told; /* to workers */
    GW_ARRAY(struct stored) list;
};

static struct sim_reports *reports_of(struct sim *sim)
{
    if (!sim->reports)
        GW_MUST_PTR(sim->reports = calloc(1, sizeof *sim->reports));
    return sim->reports;
}

uint64_t sim_reports_wanted(const struct sim *sim, uint64_t attempt)
{
    const uint64_t hash = sim_hash(sim->seed, attempt);
    return hash % 2 ? 1 + hash / 2 % STEPS_MAX_OF_ATTEMPT : 0;
}

void sim_reports_told(struct sim *sim, uint64_t attempt, uint64_t step)
{
    GW_MUST(gw_array_push(&reports_of(sim)->told, ((struct told_report){attempt, step})));
}

/* The number of reports of an attempt that are among the facts. */
static uint64_t count_stored(const struct sim_reports *reports, uint64_t attempt)
{
    uint64_t count = 0;
    for (size_t i = 0; i < reports->list.count; i++)
        count += reports->list.items[i].attempt == attempt;
    return count;
}

/* Returns how many reports of an attempt the worker got. *step: the step of report `number`. */
static uint64_t count_told(const struct sim_reports *reports, uint64_t attempt, uint64_t number,
                           uint64_t *step)
{
    uint64_t count = 0;
    *step = 0;
    for (size_t i = 0; i < reports->told.count; i++)
        if (reports->told.items[i].attempt == attempt && ++count == number)
            *step = reports->told.items[i].step;
    return count;
}

static void store(struct sim *sim, struct stored stored)
{
    struct sim_reports *reports = reports_of(sim);
    const uint64_t before =
        reports->list.count ? reports->list.items[reports->list.count - 1].seq : 0;
    SIM_CHECK(sim, stored.seq > before, "an event of job %llu has number %llu, after %llu",
              (unsigned long long)stored.job, (unsigned long long)stored.seq,
              (unsigned long long)before);
    uint64_t step;
    (void)count_told(reports, stored.attempt, stored.count, &step);
    SIM_CHECK(sim,
              !stored.attempt || (stored.count == count_stored(reports, stored.attempt) + 1 &&
                                  stored.step == step),
              "report %llu of attempt %llx, step %llu, is stored as report %llu, step %llu",
              (unsigned long long)stored.count, (unsigned long long)stored.attempt,
              (unsigned long long)step,
              (unsigned long long)count_stored(reports, stored.attempt) + 1,
              (unsigned long long)stored.step);
    GW_MUST(gw_array_push(&reports->list, stored));
}

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t x;
    memcpy(&x, at, sizeof x);
    return x;
}

/* Fields: job, index, state, code, exit_code, attempt, ... */
static void check_end(struct sim *sim, const uint8_t *fields)
{
    const struct sim_reports *reports = reports_of(sim);
    const uint64_t attempt = u64_at(fields + 24);
    uint32_t state;
    uint64_t step;
    memcpy(&state, fields + 12, sizeof state);
    const uint64_t told = count_told(reports, attempt, 0, &step);
    /* Attempt 0: the task shares the result of another one. */
    SIM_CHECK(sim, state != GW_TASK_DONE || !attempt || count_stored(reports, attempt) == told,
              "attempt %llx ended well with %llu reports, of which %llu are stored",
              (unsigned long long)attempt, (unsigned long long)told,
              (unsigned long long)count_stored(reports, attempt));
}

void sim_reports_facts(struct sim *sim, const struct gw_bin *facts)
{
    const uint8_t *at = facts->data, *last = at + facts->size;
    while (at < last) {
        uint32_t bytes;
        uint16_t type;
        memcpy(&bytes, at, sizeof bytes);
        memcpy(&type, at + 4, sizeof type);
        const uint8_t *fields = at + HEADER_BYTES, *end = at + 4 + bytes;
        const size_t facts_end = sim->facts.size + facts->size;
        if (type == GW_FACT_metric_reported)
            store(sim, (struct stored){.end = facts_end,
                                       .seq = u64_at(end - TAIL_BYTES + 24),
                                       .job = u64_at(fields),
                                       .attempt = u64_at(end - TAIL_BYTES + 32),
                                       .count = u64_at(end - TAIL_BYTES + 40),
                                       .step = u64_at(end - TAIL_BYTES)});
        else if (type == GW_FACT_job_numbered)
            store(sim, (struct stored){
                           .end = facts_end, .seq = u64_at(fields + 8), .job = u64_at(fields)});
        else if (type == GW_FACT_task_ended)
            check_end(sim, fields);
        at = end;
    }
}

/* The points of all tasks of a job. */
static size_t points_of(const struct gw_job *job)
{
    uint64_t row, first;
    size_t count = 0;
    for (size_t at = 0; gw_map_next(&gw_job_rare(job)->metrics, &at, &row, &first);)
        for (const struct gw_metric *metric = gw_metric_first(job, (uint32_t)row); metric;
             metric = metric->next)
            count += metric->points.count;
    return count;
}

void sim_reports_restored(struct sim *sim)
{
    struct sim_reports *reports = reports_of(sim);
    while (reports->list.count &&
           reports->list.items[reports->list.count - 1].end > sim->facts.size)
        if (reports->list.items[--reports->list.count].attempt)
            sim_fault(sim, FAULT_REPORT_LOST); /* its worker sends it again */
    for (const struct gw_job *job = sim->sched->first_job; job; job = job->next) {
        size_t count = 0;
        for (size_t i = 0; i < reports->list.count; i++)
            count += reports->list.items[i].attempt && reports->list.items[i].job == job->id;
        SIM_CHECK(sim, points_of(job) == count,
                  "job %llu has %zu reports, and %zu of them are restored",
                  (unsigned long long)job->id, count, points_of(job));
    }
}

void sim_reports_free(struct sim *sim)
{
    if (!sim->reports)
        return;
    gw_array_deinit(&sim->reports->told);
    gw_array_deinit(&sim->reports->list);
    free(sim->reports);
    sim->reports = NULL;
}
