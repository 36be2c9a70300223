/* Explains why a task waits. */

#include "scheduler/core/lifecycle/actor.h"
#include "scheduler/core/lifecycle/delay.h"
#include "scheduler/core/membership/disconnected.h"
#include "scheduler/core/membership/hold.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/gang_size.h"
#include "scheduler/core/placement/reservation.h"
#include "scheduler/core/requests/chunk.h"
#include "scheduler/core/view/account_rows.h"
#include "scheduler/core/view/explain.h"
#include "scheduler/core/view/quote.h"

#include <string.h>

void gw_sched_explain_wait_ago(const struct gw_sched *sched, uint64_t at_ns, struct gw_text *text)
{
    char passed[GW_TEXT_DURATION_ROOM];
    gw_text_say(text, "%s ago", gw_text_duration(sched->now_ns - at_ns, passed));
}

enum { ATTEMPTS_SEEN_MAX = 65536, JOBS_SEEN_MAX = 20000 };

/* Inserts a job into the list of the three jobs with the most tasks at workers, largest first. */
static void insert_largest(const struct gw_job *largest[3], const struct gw_job *job)
{
    for (int i = 0; i < 3 && job; i++) {
        if (largest[i] == job)
            return;
        const bool larger = !largest[i] || job->placed > largest[i]->placed ||
                            (job->placed == largest[i]->placed && job->id < largest[i]->id);
        const struct gw_job *moved = larger ? largest[i] : job;
        largest[i] = larger ? job : largest[i];
        job = moved;
    }
}

/* Names up to three jobs that hold slots, the largest first. Walks the attempts of the workers,
 * because only a job with an attempt holds slots. */
static void say_who_holds(const struct gw_sched *sched, struct gw_text *text)
{
    const struct gw_job *largest[3] = {NULL}, *seen = NULL;
    uint32_t attempts = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        for (uint32_t slot = worker ? worker->first : GW_NO_INDEX;
             slot != GW_NO_INDEX && attempts < ATTEMPTS_SEEN_MAX;
             slot = sched->attempts.items[slot].next, attempts++) {
            const struct gw_job *job = sched->attempts.items[slot].job;
            if (job != seen && job->placed > 0)
                insert_largest(largest, job);
            seen = job;
        }
    }
    for (int i = 0; i < 3 && largest[i]; i++) {
        gw_text_say(text, "; job %llu (", (unsigned long long)largest[i]->id);
        gw_explain_quote(text, largest[i]->name);
        gw_text_say(text, ") has %u task%s at workers", largest[i]->placed,
                    largest[i]->placed == 1 ? "" : "s");
    }
}

static void explain_no_worker(const struct gw_sched *sched, struct gw_text *text)
{
    if (!sched->lost_worker_ns) {
        gw_text_say(text, "no worker has registered yet");
        return;
    }
    gw_text_say(text, "no worker is left: %s, ", sched->lost_worker);
    gw_sched_explain_wait_ago(sched, sched->lost_worker_ns, text);
}

/* Lists the free slots, memory and named resources of up to three workers that could run the task.
 * Says nothing if the task needs slots only. */
static void say_room(const struct gw_sched *sched, const struct gw_resource_class *shape,
                     struct gw_text *text)
{
    uint32_t said = 0;
    bool stock = shape->need && shape->need->resources.count > 0;
    if (!stock && !shape->memory_bytes)
        return;
    for (size_t i = 0; i < sched->workers.count && said < 3; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || !gw_sched_worker_could(worker, shape))
            continue;
        char where[GW_WORKER_NAME_MAX], free[GW_TEXT_BYTES_ROOM], all[GW_TEXT_BYTES_ROOM];
        gw_text_say(text, "%s %s has %u of %u slots", said++ ? "," : ":",
                    gw_sched_worker_where(sched, worker->id, where), worker->slots_free,
                    worker->slots);
        if (shape->memory_bytes)
            gw_text_say(text, ", %s of %s", gw_text_bytes(worker->memory_free, free),
                        gw_text_bytes(worker->memory_bytes, all));
        for (uint32_t k = 0; stock && k < worker->stock_count; k++)
            for (uint32_t r = 0; r < shape->need->resources.count; r++)
                if (strcmp(worker->stock[k].name, shape->need->resources.items[r].name) == 0)
                    gw_text_say(text, ", %u of %u %s", worker->stock[k].free,
                                worker->stock[k].amount, worker->stock[k].name);
    }
}

/* Explains a wait for memory: another free slot would not help. Returns false if memory is not the
 * reason. */
static bool explain_memory(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                           struct gw_text *text)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    uint64_t bytes = gw_sched_memory_expected(spec);
    const struct gw_worker *best = NULL;
    bool paused = true;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->leaves || worker->drained ||
            !gw_sched_worker_could(worker, spec->shape))
            continue;
        paused = paused && !gw_sched_memory_lets(worker);
        if (!best || gw_sched_memory_free(worker) > gw_sched_memory_free(best))
            best = worker;
    }
    bool parked =
        spec->queue && (spec->queue->parked || spec->shape->parked.count == GW_PARKED_MAX);
    if (!best || (!paused && !parked))
        return false;
    char where[GW_WORKER_NAME_MAX];
    gw_text_say(text, "it waits for memory: ");
    if (bytes)
        gw_text_say(text, "tasks like it took %.2f GiB; ", (double)bytes / (1 << 30));
    gw_text_say(text, "%.2f GiB are free before %s pauses, which uses %.2f of %.2f GiB",
                (double)gw_sched_memory_free(best) / (1 << 30),
                gw_sched_worker_where(sched, best->id, where),
                (double)best->memory.used_bytes / (1 << 30),
                (double)best->memory_bytes / (1 << 30));
    if (best->memory_trouble)
        gw_text_say(text, "; results cannot be spilled to disk there: %s", best->memory_trouble);
    return true;
}

/* Names up to three workers that are in quarantine for this resource class: those that failed to
 * set up task files if `files` is true, else those that made a gang fail. */
static void say_quarantine(const struct gw_sched *sched, const struct gw_resource_class *shape,
                           bool files, struct gw_text *text)
{
    const struct gw_resource_class of = {.ranks = files ? 0 : shape->ranks,
                                         .files = files && shape->files};
    const char *first = files
                            ? "; these workers could not set up files and take no tasks with files:"
                            : "; these workers made a gang fail and take no ranks:";
    char left[GW_TEXT_DURATION_ROOM];
    uint32_t said = 0;
    for (size_t i = 0; i < sched->workers.count && said < 3; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        uint64_t left_ns = worker && worker->state == GW_WORKER_READY
                               ? gw_sched_quarantine_left_ns(sched, worker, &of)
                               : 0;
        if (left_ns)
            gw_text_say(text, "%s %s, for %s more", said++ ? "," : first, worker->remote->name,
                        gw_text_duration(left_ns, left));
    }
}

void gw_sched_explain_wait_paused(const struct gw_sched *sched, const struct gw_job *job,
                                  struct gw_text *text)
{
    const struct gw_logged *fact =
        gw_sched_event_log_last(sched, job, GW_INDEX_ALL, GW_LOGGED_PAUSED);
    gw_text_say(text, "its job is paused");
    if (fact && fact->text) {
        gw_text_say(text, ", by ");
        gw_explain_quote(text, fact->text);
        gw_text_say(text, ", ");
    }
    if (fact)
        gw_sched_explain_wait_ago(sched, fact->at_ns, text);
    if (job->paused == GW_PAUSE_BY_ADMIN)
        gw_text_say(text, " (only an admin may resume it)");
    else
        gw_text_say(text, " (`gangway resume %llu` resumes it)", (unsigned long long)job->id);
}

void gw_sched_explain_wait_elastic(const struct gw_sched *sched, const struct gw_job *job,
                                   uint32_t row, struct gw_text *text)
{
    char why[512];
    gw_sched_gang_size_explain(sched, job, row, why, sizeof why);
    gw_text_say(text, "%s", why);
}

/* If no known worker or host has a preferred name, the name may be mistyped. A preference is never
 * an error, so the explanation mentions the name. */
void gw_sched_explain_wait_preferred(const struct gw_sched *sched,
                                     const struct gw_resource_class *shape, struct gw_text *text)
{
    char gone[320];
    if (shape->need && shape->need->prefer &&
        gw_sched_need_gone(sched, shape->need, gone, sizeof gone))
        gw_text_say(text, "; no connected worker or host is called %s, which it prefers", gone);
}

/* Says how many slots are free. Counts only the workers that the task's constraint allows, if it
 * has one. */
static void say_slots(const struct gw_sched *sched, const struct gw_resource_class *shape,
                      struct gw_text *text)
{
    uint32_t all = 0, free = 0;
    bool some = false;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state != GW_WORKER_READY)
            continue;
        if (!gw_sched_need_serves(worker, shape) ||
            (shape->need && !gw_sched_need_allows(shape->need, worker))) {
            some = true;
            continue;
        }
        all += worker->slots;
        free += worker->drained ? 0 : worker->slots_free;
    }
    gw_text_say(text, "; %u of %u slots %s free%s", free, all, free == 1 ? "is" : "are",
                some ? " at the workers that it may use" : "");
}

/* Names up to three drained workers that could run the task. */
static void say_drained(const struct gw_sched *sched, const struct gw_resource_class *shape,
                        struct gw_text *text)
{
    uint32_t said = 0;
    for (size_t i = 0; i < sched->workers.count && said < 3; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        char why[512];
        if (!worker || !worker->drained || !gw_sched_worker_could(worker, shape))
            continue;
        gw_sched_worker_drain_text(gw_sched_worker_drain_find(sched, worker->remote->name), why,
                                   sizeof why);
        gw_text_say(text, "%s %s, ",
                    said++ ? ";" : "; drained workers take no tasks:", worker->remote->name);
        gw_explain_quote(text, why);
    }
}

/* Returns true if the job has unplaced tasks that go before those of younger jobs with this
 * priority. */
static bool goes_first(const struct gw_job *job, int32_t priority)
{
    if (job->unfinished <= job->placed || gw_sched_job_rests(job) || job->actor || job->calls_of)
        return false;
    for (size_t i = 0; i < job->queues.count; i++)
        if (job->queues.items[i]->priority >= priority)
            return true;
    return false;
}

/* Names the older jobs whose tasks go first; with accounts, the place in line. Free slots go one by
 * one to older tasks that need no more than that, so a larger task may wait a long time and look
 * forgotten. */
static void say_older(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                      struct gw_text *text)
{
    if (job->payer) {
        gw_account_rows_explain(sched, job, row, text);
        return;
    }
    const int32_t priority = job->specs.items[job->tasks.spec[row]].message.priority;
    const struct gw_job *oldest = NULL;
    uint64_t others = 0;
    uint32_t seen = 0;
    for (const struct gw_job *older = sched->first_job;
         older && older != job && seen < JOBS_SEEN_MAX; older = older->next, seen++)
        if (goes_first(older, priority)) {
            others += oldest != NULL;
            oldest = oldest ? oldest : older;
        }
    if (!oldest || priority == INT32_MAX || job->specs.items[job->tasks.spec[row]].shape->ranks > 0)
        return; /* a gang has a reservation instead */
    gw_text_say(text, "; older jobs go first: job %llu", (unsigned long long)oldest->id);
    if (others > 0)
        gw_text_say(text, " and %s%llu other%s", seen == JOBS_SEEN_MAX ? "at least " : "",
                    (unsigned long long)others, others == 1 ? "" : "s");
    gw_text_say(text, " (a job that %s with --priority %d would go before them)",
                priority >= 0 && sched->options.address ? "an admin submits" : "is submitted",
                priority + 1);
}

static void say_reservation(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_text *text)
{
    char reservation[640];
    gw_sched_reservation_tell(sched, job, row, reservation, sizeof reservation);
    gw_text_say(text, "%s", reservation);
}

/* Says how many free slots a task needs, and if nothing else may run beside it. */
static void say_slots_needed(const struct gw_resource_class *shape, bool alone,
                             struct gw_text *text)
{
    if (shape->ranks > 0)
        gw_text_say(text, "a gang of %u needs %u free slots", shape->ranks,
                    shape->ranks * shape->slots);
    else if (gw_sched_queue_class_slotless(shape))
        gw_text_say(text, "it needs no slot, but a worker runs at most %d tasks without one",
                    GW_SLOTLESS_MAX);
    else
        gw_text_say(text, "it needs %u free slot%s", shape->slots, shape->slots == 1 ? "" : "s");
    if (alone && shape->slots)
        gw_text_say(text, " on a worker where nothing else runs (its worker was lost before)");
}

const char *gw_sched_explain_wait_ready(const struct gw_sched *sched, struct gw_job *job,
                                        uint32_t row, struct gw_text *text)
{
    const struct gw_resource_class *shape = job->specs.items[job->tasks.spec[row]].shape;
    uint32_t gpus = gw_sched_queue_class_gpus(shape);
    char size[GW_TEXT_BYTES_ROOM];
    struct gw_error error;
    if (job->calls_of) {
        char why[320];
        gw_sched_actor_explain(job, row, why, sizeof why);
        gw_text_say(text, "%s", why);
        return "actor";
    }
    if (job->paused) {
        gw_sched_explain_wait_paused(sched, job, text);
        return "paused";
    }
    if (job->awaits) {
        char why[512];
        const char *may = !job->opened_ns             ? "may still run this"
                          : gpus || shape->gpu_if_any ? "may still run something on GPUs"
                                                      : "may still have what it takes";
        gw_sched_hold_explain(sched, may, why, sizeof why);
        gw_text_say(text, "%s", why);
        return "scheduler_restarted";
    }
    if (sched->workers_ready == 0) {
        explain_no_worker(sched, text);
        return "no_worker";
    }
    if (gw_sched_chunk_infeasible(sched, shape, &error) < 0) {
        gw_text_say(text, "%s", error.text);
        return "infeasible";
    }
    gw_sched_preemption_tell_ready(sched, job, row, text);
    if (gw_account_rows_explain_quota(sched, job, row, text))
        return "quota";
    char need[320] = "";
    if (shape->need && !shape->need->prefer &&
        gw_sched_need_gone(sched, shape->need, need, sizeof need))
        gw_text_say(text, "%s, which it asks for, is disconnected and may reconnect; ", need);
    if (explain_memory(sched, job, row, text))
        return "memory";
    char back[320];
    gw_sched_disconnected_explain(sched, shape, back, sizeof back);
    say_slots_needed(shape, (job->tasks.flags[row] & GW_TASK_ALONE) != 0, text);
    need[0] = '\0';
    gw_sched_gpu_text_of(shape, need, sizeof need);
    gw_text_say(text, "%s%s", need, gpus && shape->ranks ? " a rank" : "");
    if (shape->memory_bytes)
        gw_text_say(text, ", %s of memory%s", gw_text_bytes(shape->memory_bytes, size),
                    shape->ranks ? " a rank" : "");
    need[0] = '\0';
    gw_sched_need_describe(shape->need, need, sizeof need);
    gw_text_say(text, "%s", need);
    if (shape->slots)
        say_slots(sched, shape, text);
    need[0] = '\0';
    gw_sched_gpu_tell_why(sched, shape, need, sizeof need);
    gw_text_say(text, "%s", need);
    gw_text_say(text, "%s", back);
    say_room(sched, shape, text);
    say_drained(sched, shape, text);
    say_quarantine(sched, shape, false, text);
    say_quarantine(sched, shape, true, text);
    gw_sched_parting_explain(sched, shape, text);
    gw_sched_explain_wait_preferred(sched, shape, text);
    say_who_holds(sched, text);
    say_older(sched, job, row, text);
    gw_sched_explain_wait_elastic(sched, job, row, text);
    say_reservation(sched, job, row, text);
    return "resources";
}

static void explain_delayed(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            struct gw_text *text)
{
    const struct gw_msg_spec *spec = &job->specs.items[job->tasks.spec[row]].message;
    char left[GW_TEXT_DURATION_ROOM];
    uint32_t tries = job->tasks.charges[row].tries;
    gw_text_say(text, "it waits %s before attempt %u",
                gw_text_duration(gw_sched_delay_left_ns(sched, job, row), left), tries + 1);
    if (spec->retries > 0) /* this number also contains restarts that did not count against the
                              retry budget */
        gw_text_say(text, " of %u", tries + 1 + spec->retries - job->tasks.charges[row].retries);
    if (job->tasks.charges[row].retries + job->tasks.charges[row].crashes == 0)
        gw_text_say(text, ": worker %u, which is short of memory, gave it back",
                    job->tasks.worker[row]);
    if (job->tasks.waiting[row])
        gw_text_say(text, "; ");
}

const char *gw_sched_explain_wait_waiting(const struct gw_sched *sched, struct gw_job *job,
                                          uint32_t row, struct gw_text *text)
{
    struct gw_tasks *tasks = &job->tasks;
    uint32_t waiting = tasks->waiting[row] - job->gated;
    struct gw_row original;
    if (gw_sched_pure_alias_of(sched, job, row, &original)) {
        gw_text_say(text, "it is pure, and shares the result of task %u of job %llu, which is %s",
                    original.index, (unsigned long long)original.job->id,
                    gw_sm_name(&gw_sched_task_sm, original.job->tasks.state[original.index]));
        return "shared_result";
    }
    if (tasks->flags[row] & GW_TASK_DELAYED)
        explain_delayed(sched, job, row, text);
    if (job->gated) {
        char jobs[512];
        gw_sched_gate_explain(sched, job, jobs, sizeof jobs);
        if (job->unwritten) {
            gw_text_say(text, "its job is not on disk yet");
        } else {
            gw_text_say(text, "its job waits for the end of ");
            gw_explain_quote(text, *jobs ? jobs : "other jobs");
        }
        gw_text_say(text, "%s", waiting ? "; " : "");
    }
    if ((job->gated || (tasks->flags[row] & GW_TASK_DELAYED)) && !waiting)
        return tasks->flags[row] & GW_TASK_DELAYED ? "retry_backoff"
               : job->unwritten                    ? "not_on_disk"
                                                   : "other_jobs";
    gw_text_say(text, "it waits for %u task%s that it depends on", waiting,
                waiting == 1 ? "" : "s");
    int said = 0;
    for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row) && said < 3; e++) {
        struct gw_row dep;
        char label[128];
        if (!gw_sched_dep(sched, job, e, &dep) || gw_sched_task_satisfied(dep.job, dep.index))
            continue;
        gw_sched_task_label(dep.job, dep.index, label, sizeof label);
        gw_text_say(text, "%s ", said ? "," : ":");
        gw_explain_quote(text, label);
        gw_text_say(text, " (task %u, %s)", dep.index,
                    gw_sm_name(&gw_sched_task_sm, dep.job->tasks.state[dep.index]));
        said++;
    }
    return "dependencies";
}
