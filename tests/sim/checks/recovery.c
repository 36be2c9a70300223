/* Results that workers still have after the scheduler has died. The next scheduler takes them over
 * from workers that reconnect in time. It does not run a task again while all its results may still
 * be reported, or exist. A worker's results that belong to no job are released. */
#include "tests/sim/checks/recovery.h"

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/workers/worker.h"
#include "tests/sim/faults/revocation.h"

#include <stdio.h>

#define HOLD_NS GW_LOST_NS

/* A rank's result of a successful task, at a host, at the time when the scheduler died. */
struct left {
    uint64_t job, attempt;
    uint32_t index, rank;
    uint32_t ranks; /* ranks of the task whose results are only at workers */
    bool held;      /* its client holds its future */
    struct host *host;
    uint64_t incarnation;
    uint64_t conn; /* connection on which its host reconnected; 0: it has not */
    bool due;      /* the result is in the registration that is being processed */
};

/* A result that a host reports and that was not known there when the scheduler died. */
struct unknown {
    uint64_t job;
    uint32_t index, rank;
};

struct sim_recovery {
    uint64_t begun_ns;
    GW_ARRAY(struct left) left;
    GW_ARRAY(struct unknown)
    unknown; /* unknown results in the registration that is being processed */
};

static struct sim_recovery *recovery_of(struct sim *sim)
{
    if (!sim->recovery)
        GW_MUST_PTR(sim->recovery = calloc(1, sizeof *sim->recovery));
    return sim->recovery;
}

static void forget(struct sim_recovery *recovery, size_t at)
{
    recovery->left.items[at] = recovery->left.items[--recovery->left.count];
}

/* -- What the scheduler says ---------------------------------------------------------------------
 */

static struct gw_value *ask(struct sim *sim, const char *what, uint64_t job, uint32_t index)
{
    struct gw_value *arguments = gw_dict(), *answer = NULL;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)job)));
    GW_MUST(gw_dict_set(arguments, "index", gw_i64(index)));
    if (gw_sched_query(sim->sched, what, arguments, &answer, NULL) < 0)
        answer = NULL;
    gw_value_unref(arguments);
    return answer;
}

static int64_t number_in(const struct gw_value *dict, const char *name)
{
    int64_t number = 0;
    (void)gw_value_get_i64(gw_value_find(dict, name), &number, NULL);
    return number;
}

/* Returns the attempt of a task if the task is in this state; otherwise 0. */
static uint64_t attempt_of(struct sim *sim, uint64_t job, uint32_t index, const char *wanted)
{
    struct gw_value *tasks = ask(sim, "tasks", job, index);
    const struct gw_value *task = tasks ? gw_value_at(tasks, 0) : NULL;
    const char *state = "";
    uint64_t attempt = 0;
    if (task && gw_value_get_str(gw_value_find(task, "state"), &state, NULL) == 0 &&
        strcmp(state, wanted) == 0)
        attempt = (uint64_t)number_in(task, "attempt");
    gw_value_unref(tasks);
    return attempt;
}

static uint64_t done_by(struct sim *sim, uint64_t job, uint32_t index)
{
    return attempt_of(sim, job, index, "done");
}

static bool is_placed(struct sim *sim, uint64_t job, uint32_t index)
{
    return attempt_of(sim, job, index, "placed") != 0;
}

/* Returns true if, according to the scheduler, a worker has a rank's result (worker 0: any worker).
 */
static bool has(struct sim *sim, uint64_t job, uint32_t index, uint32_t rank, uint32_t worker)
{
    struct gw_value *list = ask(sim, "who_has", job, index);
    bool found = false;
    for (size_t i = 0; list && i < gw_value_count(list); i++) {
        const struct gw_value *holder = gw_value_at(list, i);
        int64_t who = number_in(holder, "worker");
        found = found || (number_in(holder, "rank") == rank && who > 0 &&
                          (!worker || who == (int64_t)worker));
    }
    gw_value_unref(list);
    return found;
}

static bool awaits(struct sim *sim, uint64_t job, uint32_t index)
{
    struct gw_value *text = ask(sim, "explain", job, index);
    const char *words = "";
    bool found = text && gw_value_get_str(text, &words, NULL) == 0 &&
                 strstr(words, "may still have its result");
    gw_value_unref(text);
    return found;
}

/* -- Dying, and beginning again ------------------------------------------------------------------
 */

static struct host *host_of(struct sim *sim, int64_t worker)
{
    for (uint32_t i = 0; i < sim->host_count; i++) {
        struct host *host = &sim->hosts[i];
        const struct conn *conn = host->scheduler;
        if (conn && conn->ends[0].open && !conn->cut && conn->id == host->welcomed &&
            host->worker == worker && host->core)
            return host;
    }
    return NULL;
}

/* Records the results of a task that workers have. */
static void leave_task(struct sim *sim, const struct work *work)
{
    struct sim_recovery *recovery = recovery_of(sim);
    uint64_t job = work->job->promised, attempt = done_by(sim, job, work->row), ranks = 0;
    struct gw_value *list = attempt ? ask(sim, "who_has", job, work->row) : NULL;
    size_t first = recovery->left.count;
    for (size_t i = 0; list && i < gw_value_count(list); i++) {
        const struct gw_value *holder = gw_value_at(list, i);
        struct host *host = host_of(sim, number_in(holder, "worker"));
        uint32_t rank = (uint32_t)number_in(holder, "rank");
        if (number_in(holder, "worker") > 0)
            ranks |= UINT64_C(1) << rank;
        if (host)
            GW_MUST(gw_array_push(&recovery->left,
                                  ((struct left){.job = job,
                                                 .attempt = attempt,
                                                 .index = work->row,
                                                 .rank = rank,
                                                 .held = work->held && work->job->client->alive,
                                                 .host = host,
                                                 .incarnation = host->incarnation})));
    }
    for (size_t i = first; i < recovery->left.count; i++)
        recovery->left.items[i].ranks = (uint32_t)__builtin_popcountll(ranks);
    gw_value_unref(list);
}

/* Returns true for tasks whose results may be at a worker: small results are sent to the scheduler.
 */
static bool is_large(const struct work *work)
{
    return work->job->detached && work->job->promised && work->ended_well &&
           work->bytes > GW_INLINE_BYTES_MAX;
}

bool sim_recovery_lies(struct sim *sim)
{
    for (size_t i = 0; i < sim->work.count; i++)
        if (is_large(sim->work.items[i]) && sim->work.items[i]->held &&
            done_by(sim, sim->work.items[i]->job->promised, sim->work.items[i]->row) &&
            has(sim, sim->work.items[i]->job->promised, sim->work.items[i]->row, 0, 0))
            return true;
    return false;
}

void sim_recovery_on_crash(struct sim *sim)
{
    struct sim_recovery *recovery = recovery_of(sim);
    for (size_t i = recovery->left.count;
         i-- > 0;) /* hosts that have not reconnected may do so later */
        if (recovery->left.items[i].conn)
            forget(recovery, i);
    for (size_t i = 0; i < sim->work.count; i++)
        if (is_large(sim->work.items[i]))
            leave_task(sim, sim->work.items[i]);
}

void sim_recovery_on_restored(struct sim *sim)
{
    struct sim_recovery *recovery = recovery_of(sim);
    for (size_t i = recovery->left.count; i-- > 0;)
        if (done_by(sim, recovery->left.items[i].job, recovery->left.items[i].index) !=
            recovery->left.items[i].attempt)
            forget(recovery, i);
}

/* The scheduler starts. Results that no task needs are released now, and may be needed later. */
void sim_recovery_on_begun(struct sim *sim)
{
    struct sim_recovery *recovery = recovery_of(sim);
    recovery->begun_ns = sim->now_ns;
    for (size_t i = recovery->left.count; i-- > 0;)
        if (recovery->left.items[i].held ||
            awaits(sim, recovery->left.items[i].job, recovery->left.items[i].index))
            sim_fault(sim, FAULT_LEFT_THERE);
        else
            forget(recovery, i);
}

/* -- Coming back ---------------------------------------------------------------------------------
 */

static struct left *find(struct sim_recovery *recovery, const struct host *host,
                         const struct gw_msg_registration *registration, uint32_t i)
{
    for (size_t k = 0; k < recovery->left.count; k++) {
        struct left *left = &recovery->left.items[k];
        if (left->host == host && left->incarnation == host->incarnation && !left->conn &&
            left->job == gw_col64_at(registration->object_job, i) &&
            left->index == gw_col32_at(registration->object_index, i) &&
            left->rank == gw_col32_at(registration->object_rank, i))
            return left;
    }
    return NULL;
}

/* Returns true if the registration also claims an attempt of this task that has ended. Its end is
 * reported next, and then its result is released if the scheduler does not need it. */
static bool claims_end(const struct gw_msg_registration *registration, uint64_t job, uint32_t index)
{
    for (uint32_t i = 0; i < registration->attempt.count; i++)
        if (gw_col64_at(registration->attempt_job, i) == job &&
            gw_col32_at(registration->attempt_index, i) == index &&
            gw_col32_at(registration->attempt_claim, i) == GW_CLAIM_ENDED)
            return true;
    return false;
}

void sim_recovery_says(struct sim *sim, const struct host *host,
                       const struct gw_msg_registration *registration)
{
    struct sim_recovery *recovery = sim->recovery;
    if (!recovery)
        return;
    bool held = sim->now_ns < recovery->begun_ns + HOLD_NS;
    gw_array_clear(&recovery->unknown);
    for (uint32_t i = 0; i < registration->object_job.count; i++) {
        struct left *left = find(recovery, host, registration, i);
        const uint64_t job = gw_col64_at(registration->object_job, i);
        const uint32_t index = gw_col32_at(registration->object_index, i);
        if (left &&
            held) /* the task that needed it may have ended meanwhile, and no client holds it */
            left->due = left->held || awaits(sim, left->job, left->index);
        else if (!left && !claims_end(registration, job, index))
            GW_MUST(gw_array_push(
                &recovery->unknown,
                ((struct unknown){job, index, gw_col32_at(registration->object_rank, i)})));
    }
}

void sim_recovery_released(struct sim *sim, const struct gw_msg_release *release)
{
    struct sim_recovery *recovery = sim->recovery;
    for (size_t i = recovery ? recovery->unknown.count : 0; i-- > 0;)
        for (uint32_t k = 0; k < release->job.count; k++) {
            const struct unknown *unknown = &recovery->unknown.items[i];
            if (unknown->job != gw_col64_at(release->job, k) ||
                unknown->index != gw_col32_at(release->index, k) ||
                unknown->rank != gw_col32_at(release->rank, k))
                continue;
            sim_fault(sim, FAULT_LET_GO);
            gw_array_remove_swap(&recovery->unknown, i);
            break;
        }
}

/* Returns true if the scheduler keeps a worker's claim of the task until the tasks before it are
 * done. A successor may have ended at its worker while there was no scheduler. */
static bool has_late_claim(struct sim *sim, const struct host *host, const struct unknown *unknown)
{
    const struct gw_worker *worker = gw_sched_worker_find(sim->sched, host->worker);
    for (size_t i = 0; worker && i < worker->late.count; i++)
        if (worker->late.items[i].job == unknown->job &&
            worker->late.items[i].index == unknown->index &&
            (worker->late.items[i].rank == unknown->rank ||
             worker->late.items[i].rank == GW_RANK_NONE))
            return true;
    return false;
}

/* Checks that the scheduler has told a worker to release each result that no task needs. The end of
 * a task that the scheduler counts as placed, or whose claim it keeps, is reported after the
 * registration. */
static void check_unknown(struct sim *sim, const struct host *host)
{
    struct sim_recovery *recovery = sim->recovery;
    for (size_t i = 0; i < recovery->unknown.count; i++) {
        const struct unknown *unknown = &recovery->unknown.items[i];
        SIM_CHECK(sim,
                  is_placed(sim, unknown->job, unknown->index) ||
                      has_late_claim(sim, host, unknown) ||
                      has(sim, unknown->job, unknown->index, unknown->rank, host->worker),
                  "host %u keeps result %u of task %u of job %llu, which nobody knows",
                  host->number, unknown->rank, unknown->index, (unsigned long long)unknown->job);
    }
    gw_array_clear(&recovery->unknown);
}

/* Returns true if no client holds the result, and the task that needed it has ended in this step
 * (for example, its worker reported the end when it reconnected). The result was then released
 * immediately. A result that was given up is still awaited, or is made again. */
static bool is_needed_no_more(struct sim *sim, const struct left *left)
{
    return !left->held && done_by(sim, left->job, left->index) == left->attempt &&
           !awaits(sim, left->job, left->index);
}

void sim_recovery_said(struct sim *sim, const struct host *host)
{
    struct sim_recovery *recovery = sim->recovery;
    if (recovery)
        check_unknown(sim, host);
    for (size_t i = recovery ? recovery->left.count : 0; i-- > 0;) {
        struct left *left = &recovery->left.items[i];
        if (left->host != host || left->conn)
            continue;
        if (!left->due) {
            forget(recovery, i); /* the host does not have it any more, or reconnected too late */
            continue;
        }
        if (!has(sim, left->job, left->index, left->rank, host->worker) &&
            is_needed_no_more(sim, left)) {
            forget(recovery, i);
            continue;
        }
        SIM_CHECK(sim, has(sim, left->job, left->index, left->rank, host->worker),
                  "host %u came back with result %u of task %u of job %llu, and is not believed",
                  host->number, left->rank, left->index, (unsigned long long)left->job);
        sim_fault(sim, FAULT_REGAINED);
        left->conn = host->scheduler->id;
        left->due = false;
    }
}

void sim_recovery_closed(struct sim *sim, const struct conn *conn)
{
    for (size_t i = sim->recovery ? sim->recovery->left.count : 0; i-- > 0;)
        if (sim->recovery->left.items[i].conn == conn->id)
            forget(sim->recovery, i);
}

/* A worker may report that a result is not where it should be. */
void sim_recovery_hears(struct sim *sim, const struct host *host, const struct gw_message *message)
{
    struct sim_recovery *recovery = sim->recovery;
    bool gone = message->type == GW_MESSAGE_object && message->object.code < 0;
    if (!recovery || (!gone && message->type != GW_MESSAGE_object_lost))
        return;
    for (size_t i = recovery->left.count; i-- > 0;) {
        const struct left *left = &recovery->left.items[i];
        if (gone ? left->host == host
                 : left->job == message->object_lost.job &&
                       left->index == message->object_lost.index)
            forget(recovery, i);
    }
}

/* -- Running again -------------------------------------------------------------------------------
 */

/* Returns true if the scheduler has just closed the connection. */
static bool is_closing(const struct sim *sim, const struct conn *conn)
{
    for (size_t i = 0; i < sim->effects.list.count; i++)
        if (sim->effects.list.items[i].type == GW_EFFECT_CLOSE &&
            sim->effects.list.items[i].peer.id == conn->ends[0].peer)
            return true;
    return false;
}

static bool is_there(struct sim *sim, const struct left *left)
{
    const struct host *host = left->host;
    const struct conn *conn = host->scheduler;
    if (!host->core || host->incarnation != left->incarnation ||
        sim_revocation_of(sim, host->incarnation) ||
        !gw_node_core_holds(host->core, left->job, left->index, left->rank))
        return false;
    return left->conn ? conn && conn->id == left->conn && !conn->cut && conn->ends[0].open &&
                            !is_closing(sim, conn)
                      : sim->now_ns < sim->recovery->begun_ns + HOLD_NS;
}

static void check_again(struct sim *sim, uint64_t job, uint32_t index)
{
    struct sim_recovery *recovery = sim->recovery;
    uint64_t there = 0;
    uint32_t ranks = 0;
    for (size_t i = recovery->left.count; i-- > 0;) {
        const struct left *left = &recovery->left.items[i];
        if (left->job != job || left->index != index)
            continue;
        ranks = left->ranks;
        if (is_there(sim, left))
            there |= UINT64_C(1) << left->rank;
        forget(recovery, i);
    }
    SIM_CHECK(sim, !ranks || (uint32_t)__builtin_popcountll(there) < ranks,
              "task %u of job %llu is to run again, and workers have its results", index,
              (unsigned long long)job);
}

void sim_recovery_assigned(struct sim *sim, const struct gw_msg_assign *assign)
{
    for (uint32_t i = 0; sim->recovery && i < assign->job.count; i++)
        check_again(sim, gw_col64_at(assign->job, i), gw_col32_at(assign->index, i));
}

void sim_recovery_free(struct sim *sim)
{
    if (sim->recovery) {
        gw_array_deinit(&sim->recovery->left);
        gw_array_deinit(&sim->recovery->unknown);
    }
    free(sim->recovery);
    sim->recovery = NULL;
}
