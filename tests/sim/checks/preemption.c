/* Preemptions, as the attempts show them.
 *
 * Work is preempted only if it has saved a checkpoint in its attempt or its queue says requeue, has
 * run for the minimum, and either is of lower priority or uses what its account has borrowed.
 * Afterwards the accounts of all preemptors together are within their quotas, so nothing can be
 * reclaimed from them in turn. A job is the preemptor of at most one preemption, and an attempt the
 * victim of at most one. The end of a victim counts against no budget. Nobody else takes the room,
 * other preemptors neither. When all victims have ended, the preemptor starts, unless something
 * else in this world has changed. */
#include "tests/sim/checks/preemption.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/placement/forecast.h"
#include "tests/sim/world/accounts.h"

#include <stdio.h>

struct victim {
    uint64_t job, attempt;
    uint32_t index;
    bool gang;
    struct gw_charges charges;
};

/* The state on which it depends whether free room stays free. */
struct surroundings {
    const struct gw_accounts *accounts;
    uint64_t workers_epoch, faults;
    size_t quarantines, partings;
    size_t nested, short_of_memory; /* tasks that may use all room; workers that take no tasks */
};

/* A preemption in progress; job 0: none. */
struct progress {
    uint64_t job, began_ns;
    uint32_t index;
    struct surroundings surroundings;
};

struct sim_preemptions {
    uint64_t life;
    struct progress items[GW_RESERVATIONS]; /* by the number of the preemption */
    GW_ARRAY(struct victim) victims;        /* whose attempts have not ended */
};

enum { BEGUN, STARTED, SPARED, ENDED, REQUEUED, RECLAIMED, TOGETHER, SHARED, COUNTS };
static uint64_t counts[COUNTS];

static struct sim_preemptions *preemptions_of(struct sim *sim)
{
    if (!sim->preemptions)
        GW_MUST_PTR(sim->preemptions = calloc(1, sizeof *sim->preemptions));
    return sim->preemptions;
}

/* -- Beginning --------------------------------------------------------------------------------- */

static const struct gw_attempt *attempt_of(const struct sim *sim, const struct gw_preempted *victim)
{
    const struct gw_gang_attempt *gang =
        victim->gang ? gw_sched_gang_find(sim->sched, victim->attempt) : NULL;
    const uint32_t slot = gang           ? gang->ranks[0].slot
                          : victim->gang ? GW_NO_INDEX
                                         : gw_sched_attempt_find(sim->sched, victim->attempt);
    return slot == GW_NO_INDEX ? NULL : &sim->sched->attempts.items[slot];
}

/* Returns the slots or GPUs (in thousandths) of a holder, of attempts that are not preempted. */
static uint64_t used(const struct sim *sim, const struct gw_account_holder *holder, bool gpus,
                     bool preempted)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sim->sched->attempts.count; i++) {
        const struct gw_attempt *attempt = &sim->sched->attempts.items[i];
        if (attempt->state == GW_ATTEMPT_FREE || !attempt->billed ||
            (attempt->preempted && !preempted) || !gw_account_holds(attempt->job, holder))
            continue;
        sum += !gpus                   ? attempt->lane->shape->slots
               : attempt->gpu_fraction ? attempt->gpu_fraction
                                       : attempt->gpus * 1000;
    }
    return sum;
}

static bool borrows(const struct sim *sim, const struct gw_attempt *attempt,
                    const struct gw_job *other)
{
    GW_EACH_ACCOUNT_HOLDER(attempt->job, holder)
    if (holder->limits && !gw_account_holds(other, holder) &&
        ((holder->limits->slots &&
          used(sim, holder, false, true) > (uint64_t)holder->limits->slots) ||
         (holder->limits->gpus &&
          used(sim, holder, true, true) > (uint64_t)holder->limits->gpus * 1000)))
        return true;
    return false;
}

/* Returns what the tasks of all preemptions will use of what a holder limits. */
static uint64_t claimed(const struct sim *sim, const struct gw_account_holder *holder, bool gpus)
{
    uint64_t sum = 0;
    GW_EACH_RESERVATION (number, sim->sched->preemptions.running & sim->sched->reserved) {
        const struct gw_preemption *preemption = &sim->sched->preemptions.items[number];
        const struct gw_job *job = gw_sched_job_find(sim->sched, preemption->job);
        if (!job || !gw_account_holds(job, holder))
            continue;
        const struct gw_resource_class *shape =
            job->specs.items[job->tasks.spec[preemption->index]].shape;
        const uint64_t ranks = shape->ranks ? shape->ranks : 1;
        sum += ranks * (!gpus                 ? shape->slots
                        : shape->gpu_fraction ? shape->gpu_fraction
                                              : gw_sched_queue_class_gpus(shape) * 1000);
    }
    return sum;
}

static void check_quotas(struct sim *sim, const struct gw_job *job)
{
    GW_EACH_ACCOUNT_HOLDER(job, holder)
    SIM_CHECK(sim,
              !holder->limits || ((!holder->limits->slots ||
                                   used(sim, holder, false, false) + claimed(sim, holder, false) <=
                                       (uint64_t)holder->limits->slots) &&
                                  (!holder->limits->gpus || !claimed(sim, holder, true) ||
                                   used(sim, holder, true, false) + claimed(sim, holder, true) <=
                                       (uint64_t)holder->limits->gpus * 1000)),
              "job %llu preempts work and borrows from account %s itself",
              (unsigned long long)job->id, holder->name);
}

static void check_victim(struct sim *sim, const struct gw_preempted *victim,
                         const struct gw_job *by, int32_t priority)
{
    const struct gw_attempt *attempt = attempt_of(sim, victim);
    const struct gw_job *job = attempt ? attempt->job : NULL;
    bool saved = false;
    uint64_t assigned_ns = 0;
    if (!job)
        return; /* it has ended in the step in which it was told */
    for (size_t i = 0; i < sim->gangs.count; i++)
        saved = saved || (sim->gangs.items[i]->attempt == victim->attempt &&
                          sim->gangs.items[i]->saved && victim->gang);
    (void)gw_map_get(&sim->assigned, victim->attempt, &assigned_ns);
    SIM_CHECK(sim,
              saved || (job->submit_queue && job->submit_queue->config->requeue) ||
                  gw_sched_checkpoint_of_command(job, victim->index),
              "attempt %llx is preempted and has saved nothing",
              (unsigned long long)victim->attempt);
    SIM_CHECK(sim, sim->now_ns - assigned_ns >= sim->sched->accounts->policy.preempt_after_ns,
              "attempt %llx is preempted after %llu ns", (unsigned long long)victim->attempt,
              (unsigned long long)(sim->now_ns - assigned_ns));
    const bool lower = job->specs.items[job->tasks.spec[victim->index]].message.priority < priority;
    SIM_CHECK(sim, lower || borrows(sim, attempt, by),
              "job %llu is preempted by job %llu, which has no right to that",
              (unsigned long long)job->id, (unsigned long long)by->id);
    counts[RECLAIMED] += !lower;
    counts[REQUEUED] += !saved;
}

/* An attempt may be spared and preempted again in one step, but is the victim of one preemption. */
static void check_alone(struct sim *sim, uint32_t number, const struct gw_preempted *victim)
{
    struct sim_preemptions *own = preemptions_of(sim);
    GW_EACH_RESERVATION (other, sim->sched->preemptions.running & ~(1U << number))
        for (size_t i = 0; i < sim->sched->preemptions.items[other].victims.count; i++)
            SIM_CHECK(sim,
                      sim->sched->preemptions.items[other].victims.items[i].attempt !=
                          victim->attempt,
                      "attempt %llx is preempted twice", (unsigned long long)victim->attempt);
    for (size_t i = own->victims.count; i-- > 0;)
        if (own->victims.items[i].attempt == victim->attempt)
            gw_array_remove_swap(&own->victims, i);
}

static struct surroundings surroundings_of(const struct sim *sim)
{
    struct surroundings now = {.accounts = sim->sched->accounts,
                               .workers_epoch = sim->sched->workers_epoch,
                               .quarantines = sim->sched->quarantines.count,
                               .partings = sim->sched->partings.count};
    for (size_t i = 0; i < sim->sched->attempts.count; i++)
        now.nested += sim->sched->attempts.items[i].state != GW_ATTEMPT_FREE &&
                      sim->sched->attempts.items[i].job->depth > 0;
    for (size_t i = 0; i < sim->sched->workers.count; i++)
        now.short_of_memory +=
            sim->sched->workers.items[i] && !gw_sched_memory_lets(sim->sched->workers.items[i]);
    for (int i = 0; i < FAULT_COUNT; i++)
        now.faults += i != FAULT_PAUSED && i != FAULT_RESUMED ? sim->faults[i] : 0;
    return now;
}

static void begin(struct sim *sim, uint32_t number)
{
    const struct gw_preemption *preemption = &sim->sched->preemptions.items[number];
    struct progress *own = &preemptions_of(sim)->items[number];
    const struct gw_job *by = gw_sched_job_find(sim->sched, preemption->job);
    SIM_CHECK(sim, by && preemption->victims.count, "nobody is preempted, or for nobody");
    check_quotas(sim, by);
    const int32_t priority = by->specs.items[by->tasks.spec[preemption->index]].message.priority;
    own->job = preemption->job;
    own->index = preemption->index;
    own->began_ns = sim->now_ns;
    own->surroundings = surroundings_of(sim);
    counts[BEGUN]++;
    for (uint32_t other = 1; other < GW_RESERVATIONS; other++)
        SIM_CHECK(sim, other == number || preemptions_of(sim)->items[other].job != preemption->job,
                  "job %llu preempts others twice", (unsigned long long)preemption->job);
    counts[TOGETHER] +=
        (sim->sched->preemptions.running & (sim->sched->preemptions.running - 1)) != 0;
    sim_log(sim, "job %llu/%u preempts %zu", (unsigned long long)own->job, own->index,
            preemption->victims.count);
    for (size_t i = 0; i < preemption->victims.count; i++) {
        const struct gw_preempted *victim = &preemption->victims.items[i];
        const struct gw_job *job = gw_sched_job_find(sim->sched, victim->job);
        check_victim(sim, victim, by, priority);
        check_alone(sim, number, victim);
        if (job && gw_sched_preemption_lives(sim->sched, victim))
            GW_MUST(
                gw_array_push(&preemptions_of(sim)->victims,
                              ((struct victim){victim->job, victim->attempt, victim->index,
                                               victim->gang, job->tasks.charges[victim->index]})));
    }
}

/* -- Ends -------------------------------------------------------------------------------------- */

static void check_charges(struct sim *sim, const struct victim *victim)
{
    const struct gw_job *job = gw_sched_job_find(sim->sched, victim->job);
    if (!job || job->compacted || !gw_sched_row_live(job, victim->index))
        return;
    const struct gw_logged *end =
        gw_sched_event_log_last(sim->sched, job, victim->index, GW_LOGGED_TRY_ENDED);
    if (!end || end->at_ns != sim->now_ns)
        return;
    SIM_CHECK(sim, end->detail != GW_OUTCOME_KILLED,
              "attempt %llx was preempted, and counts as killed",
              (unsigned long long)victim->attempt);
    if (end->detail != GW_OUTCOME_PREEMPTED)
        return; /* it ended by itself or was lost */
    struct gw_charges charges = job->tasks.charges[victim->index];
    charges.tries = victim->charges.tries;
    SIM_CHECK(sim, memcmp(&charges, &victim->charges, sizeof charges) == 0,
              "attempt %llx was preempted, and that is charged",
              (unsigned long long)victim->attempt);
    counts[ENDED]++;
}

static void check_victims(struct sim *sim)
{
    struct sim_preemptions *own = preemptions_of(sim);
    for (size_t i = own->victims.count; i-- > 0;) {
        const struct victim victim = own->victims.items[i];
        const struct gw_preempted asked = {.attempt = victim.attempt, .gang = victim.gang};
        const struct gw_attempt *attempt = attempt_of(sim, &asked);
        if (gw_sched_preemption_lives(sim->sched, &asked)) {
            if (!attempt || attempt->preempted)
                continue;
            counts[SPARED]++;
        } else {
            check_charges(sim, &victim);
        }
        gw_array_remove_swap(&own->victims, i);
    }
}

/* The preemption is over: the preemptor has started, or does not wait any more, or something that
 * it could not know has changed. */
static void over(struct sim *sim, struct progress *own)
{
    const struct gw_job *job = gw_sched_job_find(sim->sched, own->job);
    const struct surroundings now = surroundings_of(sim);
    const bool waits = job && !job->compacted && gw_sched_row_live(job, own->index) &&
                       job->tasks.state[own->index] == GW_TASK_READY && !gw_sched_job_rests(job);
    counts[STARTED] += job && !job->compacted && gw_sched_row_live(job, own->index) &&
                       job->tasks.state[own->index] == GW_TASK_PLACED;
    /* What earlier tasks of its kind took may be more memory than the victims give back. */
    const bool by_memory =
        waits && gw_sched_memory_expected(&job->specs.items[job->tasks.spec[own->index]]) > 0;
    SIM_CHECK(sim, !waits || by_memory || memcmp(&now, &own->surroundings, sizeof now) != 0,
              "job %llu has preempted others since %.6f s, and does not start",
              (unsigned long long)own->job, (double)own->began_ns / 1e9);
    if (waits)
        sim_log(sim, "job %llu preempted others in vain", (unsigned long long)own->job);
    own->job = 0;
}

/* Returns true if a task that a running task has submitted is at a worker: it may use the room. */
static bool has_nested(const struct sim *sim, const struct gw_worker *worker)
{
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sim->sched->attempts.items[slot].next)
        if (sim->sched->attempts.items[slot].job->depth > 0)
            return true;
    return false;
}

/* Nobody else takes the room that is reserved for a preemptor: when its own victims have ended, the
 * room suffices beside what the other preemptors need then. */
static void check_room(struct sim *sim, uint32_t number)
{
    const struct gw_reservation *reservation = &sim->sched->reservations[number];
    const struct gw_job *job = gw_sched_job_find(sim->sched, reservation->job);
    const struct surroundings now = surroundings_of(sim);
    const uint32_t others = sim->sched->reserved & GW_RESERVATIONS_HELD & ~(1U << number);
    if (!reservation->job || !job || !gw_sched_row_live(job, reservation->index) ||
        memcmp(&now, &preemptions_of(sim)->items[number].surroundings, sizeof now) != 0)
        return;
    const struct gw_resource_class *shape =
        job->specs.items[job->tasks.spec[reservation->index]].shape;
    uint8_t *ended = calloc(1, sim->sched->attempts.count + 1);
    GW_MUST_PTR(ended);
    for (size_t i = 0; i < sim->sched->attempts.count; i++)
        ended[i] = sim->sched->attempts.items[i].state != GW_ATTEMPT_FREE &&
                   sim->sched->attempts.items[i].preempted == number;
    for (size_t i = 0; i < reservation->reserved_ranks.count; i++) {
        const struct gw_reserved_rank *reserved = &reservation->reserved_ranks.items[i];
        counts[SHARED] += (reserved->worker->reserved & others) != 0;
        SIM_CHECK(sim,
                  !gw_sched_memory_lets(reserved->worker) || has_nested(sim, reserved->worker) ||
                      gw_sched_forecast_without(sim->sched, reserved->worker, shape, ended,
                                                others) >= reserved->ranks,
                  "others take the room for which job %llu preempts work",
                  (unsigned long long)job->id);
    }
    free(ended);
}

void sim_preemption_before(struct sim *sim)
{
    struct sim_preemptions *own = sim_with_accounts ? preemptions_of(sim) : NULL;
    if (!own || own->life == sim->life)
        return;
    own->life = sim->life;
    memset(own->items, 0, sizeof own->items);
    gw_array_clear(&own->victims);
}

void sim_preemption_stepped(struct sim *sim)
{
    if (!sim_with_accounts)
        return;
    struct sim_preemptions *own = preemptions_of(sim);
    check_victims(sim);
    for (uint32_t number = 1; number < GW_RESERVATIONS; number++) {
        const struct gw_preemption *preemption = &sim->sched->preemptions.items[number];
        struct progress *item = &own->items[number];
        if (item->job && (preemption->job != item->job || preemption->index != item->index))
            over(sim, item);
    }
    for (uint32_t number = 1; number < GW_RESERVATIONS; number++) {
        if (!own->items[number].job && sim->sched->preemptions.items[number].job)
            begin(sim, number);
        if (own->items[number].job)
            check_room(sim, number);
    }
}

void sim_preemption_free(struct sim *sim)
{
    if (sim->preemptions)
        gw_array_deinit(&sim->preemptions->victims);
    free(sim->preemptions);
}

int sim_preemption_print(void)
{
    static const char *const names[COUNTS] = {"preemptions",
                                              "preemptors that started",
                                              "victims that went on",
                                              "preempted attempts that ended",
                                              "victims without a checkpoint",
                                              "victims that had borrowed",
                                              "preemptions beside others",
                                              "steps in which preemptions share a worker"};
    int zeros = 0;
    for (int i = 0; i < COUNTS; i++) {
        printf("%-40s %llu\n", names[i], (unsigned long long)counts[i]);
        zeros += counts[i] == 0;
    }
    return zeros;
}
