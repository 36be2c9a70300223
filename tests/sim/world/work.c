/* Work: random graphs of tasks, the behaviour of each task, and the expected results. */
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/late.h"

#include "tests/sim/planted.h"

#include <stdio.h>

struct work *sim_work_find(struct sim *sim, uint64_t id)
{
    SIM_CHECK(sim, id >= 1 && id <= sim->work.count, "arguments of nobody's task");
    return sim->work.items[id - 1];
}

/* -- Values --------------------------------------------------------------------------------------
 */

/* Returns a hash of everything that a task uses, in the order of its dependencies. */
uint64_t sim_work_inputs(const struct work *work)
{
    uint64_t hash = work->inputs;
    for (uint32_t i = 0; !work->inputs && i < work->dep_count; i++) {
        const struct dep *dep = &work->deps[i];
        uint32_t ranks = dep->on->ranks ? dep->on->ranks : 1;
        if (dep->rank == GW_DEP_AFTER)
            continue;
        if (dep->rank != GW_DEP_ALL) {
            hash = sim_hash(hash, sim_work_value(dep->on, dep->rank));
            continue;
        }
        for (uint32_t rank = 0; rank < ranks; rank++)
            hash = sim_hash(hash, sim_work_value(dep->on, rank));
    }
    return hash;
}

/* The expected value: a function of the task, the rank and the inputs. It is the same for every
 * attempt. */
uint64_t sim_work_value(const struct work *work, uint32_t rank)
{
    if (work->kind == GW_SPEC_COMMAND)
        return 0;
    if (work->twin_of)
        return sim_work_value(work->twin_of, rank);
    return sim_hash(sim_hash(work->id, rank), sim_work_inputs(work)) | 1;
}

/* The task, and tasks that only it needs, may be cancelled now. */
void sim_work_unwanted(struct work *work)
{
    work->cancelled = true;
    for (uint32_t i = 0; i < work->dep_count; i++)
        if (!work->deps[i].on->held)
            work->deps[i].on->cancelled = true;
}

/* -- What may become of it -----------------------------------------------------------------------
 */

/* Returns true if its own client cancelled it. Another client that shares a pure task's result only
 * cancels its own share. */
static bool is_cancelled(const struct work *work)
{
    return work->cancelled || work->job->cancelled || !work->job->client->alive;
}

static bool may_fail(struct sim *sim, const struct work *work, int32_t code);

/* Returns true if an input may fail with this code. Each task is visited once per code, because a
 * graph has many paths. */
static bool input_may_fail(struct sim *sim, const struct work *input, int32_t code)
{
    struct work *work = sim_work_find(sim, input->id);
    uint64_t bit = UINT64_C(1) << (-code & 63);
    if (work->asked != sim->asked)
        work->asked_codes = 0;
    if (work->asked_codes & bit)
        return false;
    work->asked = sim->asked;
    work->asked_codes |= bit;
    return may_fail(sim, work, code);
}

/* The rest of a range is cancelled at its first failure if the client wanted this, or if a job
 * before it or an input failed. */
static bool range_may_stop(struct sim *sim, const struct sim_job *job)
{
    static const int32_t codes[] = {GW_EDEPENDENCY, GW_ETASK,  GW_ECRASHED,
                                    GW_ELOST,       GW_ESTART, GW_ELIMIT};
    for (size_t i = 0; i < job->work.count; i++)
        for (size_t k = 0; k < (job->stop ? sizeof codes / sizeof *codes : 1); k++)
            if (input_may_fail(sim, job->work.items[i], codes[k]))
                return true;
    return false;
}

/* Returns true if a task may fail with this code because of its behaviour or of faults. If another
 * task's failure is the cause, the code is GW_EDEPENDENCY; if another task was cancelled,
 * GW_ECANCELLED. */
static bool may_fail(struct sim *sim, const struct work *work, int32_t code)
{
    const struct sim_job *job = work->job;
    const struct work *as_submitted = work;
    bool cancelled = is_cancelled(work);
    if (work->twin_of)
        work = work->twin_of; /* the task that runs for all tasks with these arguments */
    cancelled = cancelled || (code == GW_ECANCELLED && job->range && range_may_stop(sim, job));
    /* The attempt of the task that submitted it may have ended. */
    cancelled = cancelled || job->client->work;
    /* The task has its own process: a crash is an error of the task and uses up a retry. */
    bool alone = work->ranks > 0 || work->kind == GW_SPEC_COMMAND || work->makes_actor;
    if (work->calls && sim_actor_may_fail(sim, work, code))
        return true;
    uint64_t crashes = (uint64_t)work->crashes + work->deaths, ends = crashes + work->fails;
    bool own = false;
    switch (code) {
    case GW_ETASK: /* the code also of a task that waits although too many tasks wait already */
        own = work->fails > work->retries || (work->children && sim->yielded_max) ||
              (alone && work->fails && ends > work->retries) ||
              (work->ranks && sim->some_did_not_start) || (work->stop && work->fails) ||
              work->strangers > 3 || (work->stop && work->strangers);
        break;
    case GW_ECRASHED: /* a gang that was not ready in time is reported as crashed, too */
        own = (alone ? ends > work->retries : crashes >= 3) || work->ranks > 0;
        break;
    case GW_ETIMEDOUT:
        own = work->time_limit_ns > 0 || (work->inactivity_timeout_ns > 0 && !work->talks);
        break;
    case GW_ESTART:
        own = sim->some_did_not_start;
        break;
    case GW_ELIMIT:
        own = sim->some_refused;
        break;
    case GW_ECANCELLED:
        own = cancelled; /* a restart that exceeds its budget is refused */
        break;
    case GW_ELOST:
        own = (work->worker_losses_max != GW_UNLIMITED &&
               (sim->worker_losses >= 10 || work->worker_losses_max)) ||
              work->stop;                              /* one cut may lose several workers */
        for (uint32_t i = 0; i < work->dep_count; i++) /* released, and needed again */
            own = own || (work->deps[i].on->job->scattered && !work->deps[i].on->held);
        break;
    case GW_EDEPENDENCY:
        own = job->after && !job->after_any;
        break;
    default:
        return false;
    }
    if (own)
        return true;
    if (code != GW_EDEPENDENCY && code != GW_ECANCELLED)
        return false;
    static const int32_t causes[] = {GW_ETASK,       GW_ECRASHED,   GW_ETIMEDOUT,
                                     GW_ESTART,      GW_ECANCELLED, GW_ELOST,
                                     GW_EDEPENDENCY, GW_EACTOR,     GW_ELIMIT};
    for (uint32_t i = 0; i < work->dep_count; i++)
        for (size_t k = 0; k < sizeof causes / sizeof *causes; k++)
            if ((code == GW_EDEPENDENCY || causes[k] == GW_ECANCELLED) &&
                (input_may_fail(sim, work->deps[i].on, causes[k]) ||
                 (as_submitted != work &&
                  input_may_fail(sim, as_submitted->deps[i].on, causes[k]))))
                return true;
    return false;
}

bool sim_work_may_fail(struct sim *sim, const struct work *work, int32_t code)
{
    sim->asked++;
    return may_fail(sim, work, code);
}

/* -- Making --------------------------------------------------------------------------------------
 */

struct work *sim_work_new(struct sim *sim, struct sim_job *job)
{
    struct work *work = calloc(1, sizeof *work);
    GW_MUST_PTR(work);
    GW_MUST(gw_array_push(&sim->work, work));
    work->id = sim->work.count;
    work->job = job;
    work->row = (uint32_t)job->work.count;
    work->kind = GW_SPEC_FUNCTION;
    work->slots = 1;
    work->bytes = 8;
    GW_MUST(gw_array_push(&job->work, work));
    return work;
}

static void misbehave(struct sim *sim, struct work *work)
{
    work->retries = (uint32_t)sim_below(sim, 3);
    if (sim_chance(sim, 10))
        work->fails = 1 + (uint32_t)sim_below(sim, 2);
    if (sim_chance(sim, 8))
        work->crashes = sim_chance(sim, 15) ? 1u << 30 : 1 + (uint32_t)sim_below(sim, 3);
    work->oom = sim_chance(sim, 30);
    work->hangs = sim_chance(sim, work->ranks ? 8 : 3);
    if (work->hangs)
        work->time_limit_ns = 200 * MS + sim_below(sim, 2 * SECOND);
    if (work->hangs && !work->job->detached && sim_chance(sim, 20))
        work->time_limit_ns = 0; /* a client must cancel it */
    if (sim_chance(sim, work->hangs ? 40 : 8))
        work->inactivity_timeout_ns = 100 * MS + sim_below(sim, SECOND);
    work->talks = sim_chance(sim, 30);
    work->deaf = sim_chance(sim, work->hangs ? 50 : 40);
    work->orphans = sim_chance(sim, 20);
}

static void shape(struct sim *sim, struct work *work)
{
    const bool twins = SIM_PLANTED_IN_TWINS || sim_crash_rests(sim);
    if (sim_chance(sim, 20) && !work->job->pure)
        work->kind = GW_SPEC_COMMAND;
    if (sim_chance(sim, SIM_PLANTED_IN_GANGS ? 70 : 15))
        work->ranks = 2 + (uint32_t)sim_below(sim, 3);
    if (!work->ranks && sim_chance(sim, 10))
        work->slots = 2;
    if (sim_chance(sim, 12))
        work->gpus = WORK_GPU_IF_ANY;
    if (!work->ranks && sim->hosts[0].gpus && sim_chance(sim, twins ? 70 : 12))
        work->gpus = sim_chance(sim, twins ? 90 : 40) ? WORK_GPU : WORK_GPU_FRACTION;
    if (work->ranks && sim->hosts[0].gpus && sim_chance(sim, GW_PLANTED(310) ? 80 : 25))
        work->gpus = WORK_GPU_FRACTION;
    if (!work->ranks && !work->gpus && sim->seed % 16 == 15 && work->id % 3 == 0) {
        work->slots = 0;
        work->worker_losses_max = GW_UNLIMITED;
    }
    work->collectives = (uint32_t)sim_below(sim, 4) + (work->id % 2 ? 6 : 0);
    if (work->ranks && sim_chance(sim, 55))
        work->hang_timeout_ns = 5 * SECOND;
    if (work->hang_timeout_ns &&
        work->time_limit_ns) /* so that the time limit does not end a hanging task first */
        work->time_limit_ns = 30 * SECOND;
    if (work->ranks && sim_chance(sim, 65))
        work->worker_losses_max = work->preemptions_max = 1;
    work->files = sim_chance(sim, GW_PLANTED(360) ? 70 : 12);
    work->run_ns = sim_chance(sim, 50) ? 200000 : sim_below(sim, 60 * MS);
    if (work->ranks && work->worker_losses_max &&
        sim_chance(sim, 50)) /* so that it is sometimes lost */
        work->run_ns = 100 * MS + sim_below(sim, 400 * MS);
    if (sim_chance(sim, 35) && work->kind == GW_SPEC_FUNCTION)
        work->bytes = 8 + sim_below(sim, sim_chance(sim, 70) ? 100000000 : 4000);
    if (sim->seed % 4 == 1 && (work->id % 2 || work->bytes > GW_MEMFILE_BYTES_MIN))
        work->bytes = GW_MEMFILE_BYTES_MIN; /* many results of the same size: see memfile.c */
    if (work->kind == GW_SPEC_COMMAND)
        work->bytes = 1;
}

/* Adds restrictions: named resources, workers by name, backoff. Host 0 has all resources that they
 * need. */
static void restrict_to(struct sim *sim, struct work *work)
{
    if (work->ranks && sim_chance(sim, 20))
        work->tapes = 1;
    if (!work->ranks && sim_chance(sim, 15))
        work->licenses = 1 + (uint32_t)sim_below(sim, 2);
    if (!work->ranks && sim_chance(sim, 15)) {
        const struct host *host = &sim->hosts[sim_below(sim, sim->host_count)];
        work->prefers = sim_chance(sim, 40);
        if (!work->prefers && (host->slots < work->slots || host->licenses < work->licenses ||
                               work->gpus > WORK_GPU_IF_ANY))
            host = &sim->hosts[0];
        if (sim_chance(sim, 30))
            (void)snprintf(work->on, sizeof work->on, "%s", host->name);
        else if (sim_chance(sim, 30))
            (void)snprintf(work->on, sizeof work->on, "%s,worker-0", host->worker_name);
        else
            (void)snprintf(work->on, sizeof work->on, "%s", host->worker_name);
        if (strcmp(work->on, "worker-0,worker-0") == 0)
            work->on[8] = '\0';
    }
    if (work->gpus > WORK_GPU_IF_ANY && !work->ranks && work->slots == 1 && sim_crash_rests(sim)) {
        work->licenses = 0;
        work->prefers = false;
        (void)snprintf(work->on, sizeof work->on, "worker-1,worker-2,worker-3");
    }
    if (work->retries && !work->job->pure &&
        sim_chance(sim, 40)) /* tasks that share a result are not retried */
        work->backoff_ns = MS + sim_below(sim, 2 * SECOND);
}

/* Makes some tasks submit tasks themselves. */
static void nest(struct sim *sim, struct work *work)
{
    if (work->kind != GW_SPEC_FUNCTION || work->hangs || work->depth > 2 || work->job->pure ||
        !sim_chance(sim, 12))
        return;
    work->children = 1 + (uint32_t)sim_below(sim, 3);
    work->leaves = sim_chance(sim, 15);
}

bool sim_work_usable(const struct work *on, const struct sim_job *job)
{
    bool holds = (on->job->client == job->client && on->held) || sim_share_holds(job->client, on);
    return holds && on->job != job && on->job->accepted && !on->job->range &&
           (!job->detached || on->job->detached) && !on->infeasible;
}

void sim_work_depend(struct sim *sim, struct work *work)
{
    struct sim_job *job = work->job;
    uint32_t count = (uint32_t)sim_below(sim, 4);
    for (uint32_t i = 0; i < count; i++) {
        struct work *on = NULL;
        if (work->row > 0 && sim_chance(sim, 75))
            on = job->work.items[sim_below(sim, work->row)];
        else if (sim->work.count > 1 && !job->pure)
            on = sim->work.items[sim_below(sim, sim->work.count - 1)];
        if (!on || on == work || (on->job != job && !sim_work_usable(on, job)))
            continue;
        struct dep dep = {on, 0};
        if (sim_chance(sim, 15))
            dep.rank = GW_DEP_AFTER;
        else if (on->ranks && sim_chance(sim, 60))
            dep.rank = sim_chance(sim, 50) ? GW_DEP_ALL : (uint32_t)sim_below(sim, on->ranks);
        if (on->min_ranks && dep.rank != GW_DEP_AFTER) /* a rank that every attempt has */
            dep.rank = dep.rank == GW_DEP_ALL ? 0 : dep.rank % on->min_ranks;
        work->deps[work->dep_count++] = dep;
    }
}

/* Makes some jobs start after the end of an earlier job. */
static void come_after(struct sim *sim, struct sim_job *job)
{
    struct client *client = job->client;
    struct sim_job *before = client->jobs.items[sim_below(sim, client->jobs.count)];
    const struct work *first = before->work.count ? before->work.items[0] : NULL;
    if (before->scattered || (first && (first->makes_actor || first->calls)))
        return;
    if (!sim_chance(sim, 15) || before == job || !before->accepted || before->infeasible ||
        before->pure || job->pure || (job->detached && !before->detached))
        return;
    for (size_t i = 0; i < before->work.count; i++)
        if (before->work.items[i]->told == TOLD_FAILED || before->cancelled)
            return; /* a job after a failed job would be refused */
    sim_fault(sim, FAULT_GATE);
    job->after = before;
    job->after_any = sim_chance(sim, 50);
}

void sim_job_check_turn(struct sim *sim, const struct sim_job *job)
{
    if (!job->after || job->after_any || job->again)
        return; /* if its dependency failed and is retried, the job still runs */
    for (size_t i = 0; i < job->after->work.count; i++)
        SIM_CHECK(sim, job->after->work.items[i]->ended_well > 0,
                  "job %llu starts before job %llu has ended well", (unsigned long long)job->id,
                  (unsigned long long)job->after->id);
}

/* Short tasks that depend on tasks shortly before them: chains, trees, merges. All are equal, or
 * every second one takes two slots. Some submit tasks that need these slots. */
static void weave(struct sim *sim, struct work *work, uint32_t reach)
{
    struct sim_job *job = work->job;
    bool commands = job->request % 3 == 2; /* all tasks of the job are commands, with fewer edges */
    work->run_ns = 50000;
    work->retries = 1;
    for (uint32_t i = commands && work->row % 4; work->row > 0 && i < 1 + sim_below(sim, 2); i++) {
        uint32_t back = 1 + (uint32_t)sim_below(sim, work->row < reach ? work->row : reach);
        work->deps[work->dep_count++] = (struct dep){job->work.items[work->row - back], 0};
    }
    if (sim_chance(sim, 3))
        work->dep_count = 0;
    if (work->dep_count > 0 && sim_chance(sim, 3))
        work->deps[0].rank = GW_DEP_AFTER;
    if (sim_chance(sim, 3))
        work->fails = 1 + (uint32_t)sim_below(sim, 2);
    if (sim_chance(sim, 3))
        work->crashes = 1 + (uint32_t)sim_below(sim, 3);
    if (sim_chance(sim, 10))
        work->bytes = 8 + sim_below(sim, 100000);
    work->kind = commands ? GW_SPEC_COMMAND : work->kind;
    work->bytes = commands ? 1 : work->bytes;
    work->deaf = sim_chance(sim, 10);
    if (job->request % 3 == 1) {
        work->slots = 1 + work->row % 2;
        nest(sim, work);
    }
}

struct sim_job *sim_job_new(struct sim *sim, struct client *client)
{
    struct sim_job *job = calloc(1, sizeof *job);
    GW_MUST_PTR(job);
    job->client = client;
    job->request = ++client->next_request;
    GW_MUST(gw_array_push(&client->jobs, job));
    GW_MUST(gw_array_push(&sim->jobs, job));
    return job;
}

/* Makes the same pure graph again: equal arguments, equal edges. */
static struct sim_job *job_again(struct sim *sim, struct client *client,
                                 const struct sim_job *earlier)
{
    struct sim_job *job = sim_job_new(sim, client);
    job->pure = true;
    job->detached = earlier->detached;
    job->infeasible = earlier->infeasible;
    for (size_t i = 0; i < earlier->work.count; i++) {
        struct work *work = sim_work_new(sim, job), *first = earlier->work.items[i];
        uint64_t id = work->id;
        first = first->twin_of ? first->twin_of : first;
        *work = *first;
        work->id = id;
        work->job = job;
        work->twin_of = first;
        for (uint32_t k = 0; k < work->dep_count; k++)
            work->deps[k].on = job->work.items[first->deps[k].on->row];
        work->target = work->held = sim_chance(sim, 60) || i + 1 == earlier->work.count;
        work->cancelled = work->retried = false;
        work->started = work->ended_well = work->gangs = work->deaths = work->ranks_told =
            work->resumed = 0;
        work->told = TOLD_NOTHING;
    }
    return job;
}

void sim_work_count_shared(struct sim *sim, const struct sim_job *job)
{
    struct gw_value *arguments = gw_dict(), *answer = NULL;
    int64_t shared = 0;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)job->id)));
    if (gw_sched_query(sim->sched, "job", arguments, &answer, NULL) == 0)
        (void)gw_value_get_i64(gw_value_find(answer, "shared"), &shared, NULL);
    for (; shared > 0; shared--)
        sim_fault(sim, FAULT_PURE);
    gw_value_unref(arguments);
    gw_value_unref(answer);
}

struct sim_job *sim_job_make(struct sim *sim, struct client *client)
{
    if (sim_late_wants(sim))
        return sim_late_job(sim, client);
    if (sim->jobs.count && sim_chance(sim, 25)) {
        const struct sim_job *earlier = sim->jobs.items[sim_below(sim, sim->jobs.count)];
        if (earlier->pure)
            return job_again(sim, client, earlier);
    }
    struct sim_job *job = sim_job_new(sim, client);
    job->detached = sim_chance(sim, sim_crash_planned(sim) ? 60 : 25);
    job->pure = sim_chance(sim, 35);
    come_after(sim, job);
    job->stream = !job->detached && !job->pure && sim_chance(sim, 20);
    bool bag = sim_chance(sim, 25), web = !bag && sim_chance(sim, 20);
    uint32_t rows = 1 + (uint32_t)sim_below(sim, bag ? 150 : web ? 40 : 12);
    uint32_t reach = 1 + (uint32_t)sim_below(sim, 6);
    for (uint32_t i = 0; i < rows; i++) {
        struct work *work = sim_work_new(sim, job);
        if (bag) {
            work->run_ns = 50000;
            if (sim_chance(sim, 20))
                nest(sim, work);
        } else if (web) {
            weave(sim, work, reach);
        } else {
            shape(sim, work);
            sim_work_depend(sim, work);
            misbehave(sim, work);
            restrict_to(sim, work);
            nest(sim, work);
            sim_elastic_shape(sim, work);
        }
        work->target = sim_chance(sim, 60) || i + 1 == rows;
        work->held = work->target;
    }
    if (!job->detached && sim_chance(sim, 4)) {
        struct work *large = job->work.items[rows - 1];
        large->infeasible = job->infeasible = true;
        if (large->ranks)
            large->ranks = RANKS_MAX * 100, large->min_ranks = 0;
        else
            large->slots = 1000;
    }
    return job;
}

/* Makes the job that a task submits: small, and always with an end. */
struct sim_job *sim_job_make_inside(struct sim *sim, struct client *client,
                                    const struct work *parent)
{
    struct sim_job *job = sim_job_new(sim, client);
    job->detached = parent->job->detached && sim->seed % 16 == 15;
    for (uint32_t i = 0; i < parent->children; i++) {
        struct work *work = sim_work_new(sim, job);
        work->depth = parent->depth + 1;
        work->run_ns = sim_below(sim, 10 * MS);
        work->retries = 1;
        work->fails = sim_chance(sim, 8);
        work->crashes = sim_chance(sim, 4);
        work->target = work->held = true;
        nest(sim, work);
    }
    return job;
}

/* Adds inputs that all tasks of a range use. */
static void share_inputs(struct sim *sim, struct sim_job *job)
{
    uint32_t count = (uint32_t)sim_below(sim, 3);
    struct work *first = job->work.items[0];
    for (uint32_t i = 0; i < count; i++) {
        struct work *on = sim->work.items[sim_below(sim, sim->work.count - job->work.count + 1)];
        if (on->job == job || on->job->range || !sim_work_usable(on, job))
            continue;
        first->deps[first->dep_count++] = (struct dep){on, sim_chance(sim, 20) ? GW_DEP_AFTER : 0};
    }
    for (size_t i = 1; i < job->work.count; i++) {
        memcpy(job->work.items[i]->deps, first->deps, sizeof first->deps);
        job->work.items[i]->dep_count = first->dep_count;
    }
}

struct sim_job *sim_job_make_range(struct sim *sim, struct client *client)
{
    struct sim_job *job = sim_job_new(sim, client);
    job->range = true;
    job->detached = sim_chance(sim, 25);
    job->stop = sim_chance(sim, 30);
    job->ahead = 1 + (uint32_t)sim_below(sim, 12);
    job->limit = sim_chance(sim, 30) ? 1 + (uint32_t)sim_below(sim, 6) : 0;
    come_after(sim, job);
    uint32_t rows = 1 + (uint32_t)sim_below(sim, 60);
    bool results = !job->detached && sim_chance(sim, 75);
    for (uint32_t i = 0; i < rows; i++) {
        struct work *work = sim_work_new(sim, job);
        work->run_ns = 50000;
        work->bytes = sim_chance(sim, 10) ? 50000 : 8;
        work->retries = 1;
        work->fails = sim_chance(sim, 3) ? 1 + (uint32_t)sim_below(sim, 2) : 0;
        work->crashes = sim_chance(sim, 2) ? 1 + (uint32_t)sim_below(sim, 3) : 0;
        work->target = work->held = results;
    }
    share_inputs(sim, job);
    return job;
}

void sim_work_free(struct sim *sim)
{
    for (size_t i = 0; i < sim->work.count; i++)
        free(sim->work.items[i]);
    gw_array_deinit(&sim->work);
    for (size_t i = 0; i < sim->jobs.count; i++) {
        gw_array_deinit(&sim->jobs.items[i]->work);
        free(sim->jobs.items[i]);
    }
    gw_array_deinit(&sim->jobs);
}
