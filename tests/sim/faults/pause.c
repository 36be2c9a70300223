/* An operator pauses detached jobs and resumes them later. Some jobs are paused while a gang
 * prepares, or when a new scheduler does not know yet what runs. From the answer to the pause until
 * the resume request, in every term: nothing of the job is placed, no gang of it starts, and
 * running gangs were told to pause. The operator's connection loses no messages, because the
 * meaning of the answers is checked. */
#include "tests/sim/faults/pause.h"

#include "tests/sim/faults/crash_time.h"

#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/jobs/job.h"

enum {
    PAUSES_PERCENT = 30,  /* percentage of seeds in which jobs are paused */
    CRASHES_PERCENT = 40, /* percentage of answers after which the scheduler dies */
    OPERATOR = 900000000, /* numbers of its connections; each makes one request */
};

struct pause {
    uint64_t job, peer, life;
    bool answered;
};

struct sim_pauses {
    uint64_t peer;
    GW_ARRAY(struct pause) list;
    struct gw_map told; /* attempt -> term in which it was told to pause, from 1 */
    struct gw_map seen; /* attempts that were preparing at the last check */
};

static struct pause *find(struct sim *sim, uint64_t job)
{
    for (size_t i = 0; i < sim->pauses->list.count; i++)
        if (sim->pauses->list.items[i].job == job)
            return &sim->pauses->list.items[i];
    return NULL;
}

static void ask(struct sim *sim, uint64_t peer, uint64_t job, uint32_t verb)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_gang_ask, .sequence = 1, .gang_ask = {1, job, verb}};
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                 .peer = {peer},
                                                 .role = GW_ROLE_CLIENT,
                                                 .uid = 1000,
                                                 .admin = true,
                                                 .text = "operator"});
    int rc = sim_sched_step(
        sim, &(struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = &message});
    SIM_CHECK(sim, rc == 0, "the scheduler refuses what an operator asks");
}

static void leave(struct sim *sim, uint64_t peer)
{
    (void)sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_CLOSE, .peer = {peer}});
}

/* The operator resumes the job as soon as there is a scheduler. */
static void on_resume(struct sim *sim, void *arg)
{
    const uint64_t job = *(const uint64_t *)arg;
    if (sim_crash_down(sim)) {
        uint64_t *again = malloc(sizeof *again);
        GW_MUST_PTR(again);
        *again = job;
        sim_plan_own(sim, 20 * MS, on_resume, again, sim_drop);
        free(arg);
        return;
    }
    free(arg);
    struct pause *pause = find(sim, job);
    if (pause->life == sim->life)
        leave(sim, pause->peer);
    *pause = sim->pauses->list.items[--sim->pauses->list.count];
    ask(sim, ++sim->pauses->peer, job, GW_ASK_RESUME);
    leave(sim, sim->pauses->peer);
}

static void pause_job(struct sim *sim, const struct gw_job *job, uint64_t chance)
{
    uint64_t *id = malloc(sizeof *id);
    GW_MUST_PTR(id);
    *id = job->id;
    const uint64_t peer = ++sim->pauses->peer;
    GW_MUST(gw_array_push(&sim->pauses->list, ((struct pause){job->id, peer, sim->life, false})));
    sim_plan_own(sim, 20 * MS + chance % SECOND, on_resume, id, sim_drop);
    ask(sim, peer, *id, (chance >> 32) % 3 ? GW_ASK_PAUSE : GW_ASK_PAUSE_NOW);
}

/* Returns true if a gang of the job prepares, or a worker may return with one. */
static bool is_of_use(struct sim *sim, const struct gw_job *job, bool anew)
{
    for (uint32_t row = 0; row < job->tasks.count; row++) {
        const struct gw_gang_attempt *gang = gw_sched_gang_of(sim->sched, job, row);
        if (anew && job->specs.items[job->tasks.spec[row]].message.ranks)
            return true;
        if (!gang || gang->state != GW_GANG_PREPARING)
            continue;
        if (gw_map_get(&sim->pauses->seen, gang->id, NULL))
            continue;
        GW_MUST(gw_map_put(&sim->pauses->seen, gang->id, 1));
        return true;
    }
    return false;
}

/* Resumes all jobs, because a resume may have been lost with a scheduler. No scheduler dies after
 * this. */
static void resume_all(struct sim *sim)
{
    for (struct gw_job *job = sim->sched->first_job, *next; job; job = next) {
        next = job->next;
        if (!job->detached || !job->paused || find(sim, job->id))
            continue;
        ask(sim, ++sim->pauses->peer, job->id, GW_ASK_RESUME);
        leave(sim, sim->pauses->peer);
    }
}

static void on_operator(struct sim *sim, void *arg)
{
    const uint64_t chance = sim_hash(sim->now_ns ^ sim->seed, 772);
    (void)arg;
    if (sim->healed && !sim_crash_down(sim)) {
        resume_all(sim);
        return;
    }
    sim_plan(sim, MS + chance % (2 * MS), on_operator, NULL);
    if (sim_crash_down(sim))
        return;
    const bool anew = sim->sched->hold.until_ns && (chance >> 8) % 16 == 0;
    for (struct gw_job *job = sim->sched->first_job; job; job = job->next) {
        if (!job->detached || job->unfinished == 0 || job->paused || job->actor || job->calls_of ||
            find(sim, job->id) || !is_of_use(sim, job, anew) || (chance >> 16) % 3 == 0)
            continue;
        sim_fault(sim, anew ? FAULT_PAUSED_ANEW : FAULT_PAUSED_EARLY);
        pause_job(sim, job, chance);
        return;
    }
}

/* Uses a hash, so that the random numbers of other seeds do not change. */
void sim_pause_plan(struct sim *sim)
{
    if (sim_hash(sim->seed, 770) % 100 >= PAUSES_PERCENT)
        return;
    GW_MUST_PTR(sim->pauses = calloc(1, sizeof *sim->pauses));
    sim->pauses->peer = OPERATOR;
    sim_plan(sim, 100 * MS, on_operator, NULL);
}

static bool is_paused(struct sim *sim, uint64_t job)
{
    const struct pause *pause = find(sim, job);
    return pause && pause->answered;
}

static void on_send(struct sim *sim, const struct gw_message *message, gw_peer peer)
{
    for (size_t i = 0; message->type == GW_MESSAGE_reply && i < sim->pauses->list.count; i++) {
        struct pause *pause = &sim->pauses->list.items[i];
        if (pause->peer != peer.id || message->reply.code < 0)
            continue;
        pause->answered = true;
        const uint64_t chance = sim_hash(sim->seed ^ pause->job, 771);
        if (sim_crash_planned(sim) && chance % 100 < CRASHES_PERCENT)
            sim_crash_soon(sim, (chance >> 8) % (20 * MS));
    }
    if (message->type == GW_MESSAGE_control && message->control.command == SIM_PAUSE)
        GW_MUST(gw_map_put(&sim->pauses->told, message->control.attempt, sim->life + 1));
    for (uint32_t i = 0; message->type == GW_MESSAGE_assign && i < message->assign.attempt.count;
         i++)
        SIM_CHECK(sim, !is_paused(sim, gw_col64_at(message->assign.job, i)),
                  "task %u of job %llu starts, and its user was told that it is paused",
                  gw_col32_at(message->assign.index, i),
                  (unsigned long long)gw_col64_at(message->assign.job, i));
}

void sim_pause_stepped(struct sim *sim)
{
    size_t at = 0;
    uint64_t id, value, life;
    if (!sim->pauses)
        return;
    for (size_t i = 0; i < sim->effects.list.count; i++) {
        const struct gw_effect *effect = &sim->effects.list.items[i];
        if (effect->type == GW_EFFECT_SEND)
            on_send(sim, &effect->message, effect->peer);
    }
    while (gw_map_next(&sim->sched->gangs, &at, &id, &value)) {
        const struct gw_gang_attempt *gang = (const struct gw_gang_attempt *)(uintptr_t)value;
        const struct gw_job *job = gang->job;
        if (gang->state != GW_GANG_RUNNING || gang->stopped || !is_paused(sim, job->id) ||
            job->tasks.state[gang->index] != GW_TASK_PLACED || gang->ranks[0].slot == GW_NO_INDEX)
            continue;
        const bool told = gw_map_get(&sim->pauses->told, id, &life) && life == sim->life + 1;
        SIM_CHECK(sim, told, "attempt %llx goes on, and its user was told that it is paused",
                  (unsigned long long)id);
        if (sim->life > 0)
            sim_fault(sim, FAULT_PAUSED_STILL);
    }
}

void sim_pause_free(struct sim *sim)
{
    if (!sim->pauses)
        return;
    gw_array_deinit(&sim->pauses->list);
    gw_map_deinit(&sim->pauses->told);
    gw_map_deinit(&sim->pauses->seen);
    free(sim->pauses);
    sim->pauses = NULL;
}
