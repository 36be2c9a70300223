/* Stop requests. If a client was told that a gang will stop, this holds in every later term of the
 * scheduler: each scheduler that takes the attempt over tells its ranks to stop, and the task gets
 * no other attempt before the end of this one is decided. If all ranks have returned, their result
 * is not lost when the scheduler that received it dies. */
#include "tests/sim/faults/ask.h"

#include "tests/sim/faults/crash_time.h"

#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/jobs/gang.h"
#include "scheduler/core/model/jobs/job.h"

enum { HEADER_BYTES = 6 };
#define REPORTED_NS (1000 * MS) /* a worker repeats it if the scheduler dies sooner */

/* A rank that has returned. */
struct returned {
    uint64_t incarnation, at_ns; /* at_ns 0: it has not returned */
};

/* An attempt that a client has asked to stop. */
struct stop {
    uint64_t attempt, job;
    uint32_t row;
    uint64_t peer, request; /* the client that asked, in the term in which it asked */
    uint64_t asked_life, told_life;
    bool answered;
    size_t over_at; /* end of the facts that decide the attempt; SIZE_MAX: none */
    struct returned returned[RANKS_MAX];
};

struct sim_asks {
    bool went;           /* a gang started that a client will ask to stop */
    uint64_t crashed_ns; /* end of the last term */
    GW_ARRAY(struct stop) stops;
};

static struct sim_asks *asks_of(struct sim *sim)
{
    if (!sim->asks)
        GW_MUST_PTR(sim->asks = calloc(1, sizeof *sim->asks));
    return sim->asks;
}

static struct stop *find(struct sim *sim, uint64_t attempt)
{
    for (size_t i = 0; sim->asks && i < sim->asks->stops.count; i++)
        if (sim->asks->stops.items[i].attempt == attempt)
            return &sim->asks->stops.items[i];
    return NULL;
}

/* Returns true if the gang runs. Functions stop together when their rank 0 is told: if rank 0 has
 * ended, the others will end, too. */
static bool goes(const struct sim *sim, uint64_t attempt)
{
    const struct gw_gang_attempt *gang = gw_sched_gang_find(sim->sched, attempt);
    if (!gang || gang->state != GW_GANG_RUNNING)
        return false;
    const uint32_t spec = gang->job->tasks.spec[gang->index];
    return gang->job->specs.items[spec].message.kind == GW_SPEC_COMMAND ||
           gang->ranks[0].slot != GW_NO_INDEX;
}

static void on_stop(struct sim *sim, void *arg)
{
    struct sim_job *job = arg;
    struct client *client = job->client;
    if (!client->alive || !client->conn || client->quiet || !job->accepted)
        return;
    sim_fault(sim, FAULT_STOP);
    for (size_t i = 0; i < job->work.count; i++) {
        job->work.items[i]->stop = true;
        if (job->work.items[i]->twin_of)
            job->work.items[i]->twin_of->stop = true;
    }
    const uint64_t request = sim_client_call(client, GW_MESSAGE_reply);
    sim_client_send(sim, client,
                    &(struct gw_message){.type = GW_MESSAGE_gang_ask,
                                         .gang_ask = {request, job->id, GW_ASK_STOP}});
}

void sim_ask_on_went(struct sim *sim, const struct row *row)
{
    const struct work *work = row->work;
    if (sim_hash(sim->seed, 336) % 2 || !sim_crash_planned(sim) || row->rank != 0 ||
        work->kind != GW_SPEC_FUNCTION || !work->job->detached || asks_of(sim)->went)
        return;
    asks_of(sim)->went = true;
    sim_plan(sim, sim_hash(sim->seed, 337) % MS, on_stop, work->job);
}

/* A rank that has submitted tasks has a connection to the scheduler of this term only. */
void sim_ask_returned(struct sim *sim, const struct row *row, const struct host *host)
{
    struct stop *stop = row->rank == GW_RANK_NONE ? NULL : find(sim, row->attempt);
    if (!stop || row->work->children)
        return;
    stop->returned[row->rank] = (struct returned){host->incarnation, sim->now_ns};
    if (stop->answered)
        sim_crash_on_stopped(sim, true);
}

/* Returns true if a worker has registered with the scheduler of this term. */
static bool is_back(const struct sim *sim, uint64_t incarnation)
{
    for (size_t i = 0; i < sim->sched->workers.count; i++) {
        const struct gw_worker *worker = sim->sched->workers.items[i];
        if (worker && worker->incarnation == incarnation && worker->state != GW_WORKER_LOST &&
            worker->state != GW_WORKER_CONNECTED)
            return true;
    }
    return false;
}

/* Returns true if a rank has not returned, or the present scheduler may not know that it has. */
static bool may_be_lost(struct sim *sim, const struct stop *stop)
{
    const struct row like = {.attempt = stop->attempt};
    for (uint32_t i = 0; i < sim_gang_of(sim, &like)->world; i++) {
        const struct returned *returned = &stop->returned[i];
        if (!returned->at_ns || returned->at_ns + REPORTED_NS <= sim->asks->crashed_ns ||
            !is_back(sim, returned->incarnation))
            return true;
    }
    return false;
}

/* Fields: job, index, state, code, exit_code, attempt, text. */
static void on_ended(struct sim *sim, const struct stop *stop, const uint8_t *fields)
{
    static const char lost[] = "did not come back after the scheduler";
    uint32_t state, size;
    uint64_t attempt;
    memcpy(&state, fields + 12, sizeof state);
    memcpy(&attempt, fields + 24, sizeof attempt);
    memcpy(&size, fields + 32, sizeof size);
    if (state != GW_TASK_FAILED || attempt != stop->attempt ||
        !memmem(fields + 36, size, lost, sizeof lost - 1))
        return;
    SIM_CHECK(sim, may_be_lost(sim, stop),
              "all ranks of attempt %llx returned when they were told to stop, and it is lost",
              (unsigned long long)attempt);
}

/* A stop request applies to the gangs of the job that run now. */
static void on_asked(struct sim *sim, const struct gw_event *event)
{
    const struct gw_msg_gang_ask *ask = &event->message->gang_ask;
    const struct gw_job *job = gw_sched_job_find(sim->sched, ask->job);
    if (ask->verb != GW_ASK_STOP || !job || !job->detached)
        return;
    for (uint32_t row = 0; row < job->tasks.count; row++) {
        const struct gw_gang_attempt *gang = gw_sched_gang_of(sim->sched, job, row);
        if (!gang || !goes(sim, gang->id) || job->tasks.state[row] != GW_TASK_PLACED ||
            find(sim, gang->id))
            continue;
        GW_MUST(gw_array_push(&asks_of(sim)->stops, ((struct stop){.attempt = gang->id,
                                                                   .job = job->id,
                                                                   .row = row,
                                                                   .peer = event->peer.id,
                                                                   .request = ask->request,
                                                                   .asked_life = sim->life,
                                                                   .told_life = UINT64_MAX,
                                                                   .over_at = SIZE_MAX})));
        sim_crash_on_stop(sim);
    }
}

static void on_reply(struct sim *sim, const struct gw_effect *effect)
{
    for (size_t i = 0; i < sim->asks->stops.count; i++) {
        struct stop *stop = &sim->asks->stops.items[i];
        if (stop->peer != effect->peer.id || stop->request != effect->message.reply.request ||
            stop->asked_life != sim->life || effect->message.reply.code < 0)
            continue;
        stop->answered = true;
        sim_crash_on_stopped(sim, false);
    }
}

static void on_assign(struct sim *sim, const struct gw_msg_assign *assign)
{
    for (uint32_t k = 0; k < assign->attempt.count; k++)
        for (size_t i = 0; i < sim->asks->stops.count; i++) {
            const struct stop *stop = &sim->asks->stops.items[i];
            SIM_CHECK(sim,
                      !stop->answered || stop->over_at != SIZE_MAX ||
                          stop->job != gw_col64_at(assign->job, k) ||
                          stop->row != gw_col32_at(assign->index, k) ||
                          stop->attempt == gw_col64_at(assign->attempt, k),
                      "task %u of job %llu starts again, and was told to stop", stop->row,
                      (unsigned long long)stop->job);
        }
}

/* Facts that a task has ended or that an attempt is decided start with the job and the row. */
static void on_facts(struct sim *sim, const struct gw_bin *facts)
{
    const uint8_t *at = facts->data, *end = at + facts->size;
    while (at < end) {
        uint32_t size, row;
        uint16_t type;
        uint64_t job, attempt = 0;
        memcpy(&size, at, sizeof size);
        memcpy(&type, at + sizeof size, sizeof type);
        const bool decided = type == GW_FACT_attempt_decided;
        if (decided || type == GW_FACT_task_ended) {
            memcpy(&job, at + HEADER_BYTES, sizeof job);
            memcpy(&row, at + HEADER_BYTES + sizeof job, sizeof row);
            if (decided)
                memcpy(&attempt, at + HEADER_BYTES + sizeof job + sizeof row, sizeof attempt);
            for (size_t i = 0; i < sim->asks->stops.count; i++) {
                struct stop *stop = &sim->asks->stops.items[i];
                if (!decided && stop->job == job && stop->row == row)
                    on_ended(sim, stop, at + HEADER_BYTES);
                if (stop->job != job || stop->row != row || stop->over_at != SIZE_MAX ||
                    (decided && stop->attempt != attempt))
                    continue;
                stop->over_at = sim->facts.size + facts->size;
            }
        }
        at += sizeof size + size;
    }
}

void sim_ask_stepped(struct sim *sim, const struct gw_event *event)
{
    if (event->type == GW_EVENT_MESSAGE && event->message->type == GW_MESSAGE_gang_ask)
        on_asked(sim, event);
    if (!sim->asks)
        return;
    for (size_t i = 0; i < sim->effects.list.count; i++)
        if (sim->effects.list.items[i].type == GW_EFFECT_COMMIT)
            on_facts(sim, &sim->effects.list.items[i].bytes);
    for (size_t i = 0; i < sim->effects.list.count; i++) {
        const struct gw_effect *effect = &sim->effects.list.items[i];
        const struct gw_message *message = &effect->message;
        struct stop *stop;
        if (effect->type != GW_EFFECT_SEND)
            continue;
        if (message->type == GW_MESSAGE_reply)
            on_reply(sim, effect);
        else if (message->type == GW_MESSAGE_assign)
            on_assign(sim, &message->assign);
        else if (message->type == GW_MESSAGE_control && message->control.command == SIM_STOP &&
                 (stop = find(sim, message->control.attempt)))
            stop->told_life = sim->life;
    }
    for (size_t i = 0; i < sim->asks->stops.count; i++) {
        const struct stop *stop = &sim->asks->stops.items[i];
        if (!stop->answered || stop->over_at != SIZE_MAX || !goes(sim, stop->attempt))
            continue;
        SIM_CHECK(sim, stop->told_life == sim->life,
                  "attempt %llx goes on, its user was told that it stops, and it is not told",
                  (unsigned long long)stop->attempt);
        if (stop->asked_life != sim->life)
            sim_fault(sim, FAULT_STOP_AGAIN);
    }
}

void sim_ask_crashed(struct sim *sim)
{
    if (sim->asks)
        sim->asks->crashed_ns = sim->now_ns;
    for (size_t i = 0; sim->asks && i < sim->asks->stops.count; i++) {
        struct stop *stop = &sim->asks->stops.items[i];
        if (stop->over_at > sim->facts.size)
            stop->over_at = SIZE_MAX;
    }
}

void sim_ask_free(struct sim *sim)
{
    if (sim->asks)
        gw_array_deinit(&sim->asks->stops);
    free(sim->asks);
    sim->asks = NULL;
}
