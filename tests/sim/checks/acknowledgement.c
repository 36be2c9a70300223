/* Acknowledgements. If a client is told that a task was cancelled or will run again, this must be
 * in the committed facts, so that a scheduler that starts from them knows it. range.c checks this
 * for ranges. */
#include "tests/sim/checks/acknowledgement.h"

#include "tests/sim/faults/crash.h"

#include <gangway/value.h>

void sim_acknowledgement_asked(struct client *client, uint64_t request, const struct sim_job *job,
                               uint32_t row)
{
    uint64_t at = 0;
    while (client->jobs.count > at && client->jobs.items[at] != job)
        at++;
    if (at < client->jobs.count) /* else another client's job: an admin may cancel it */
        GW_MUST(gw_map_put(&client->cancelling, request, at << 32 | row));
}

static struct gw_value *tasks_in(const struct gw_sched *sched, uint64_t job)
{
    struct gw_value *arguments = gw_dict(), *tasks = NULL;
    GW_MUST(gw_dict_set(arguments, "job", gw_i64((int64_t)job)));
    (void)gw_sched_query(sched, "tasks", arguments, &tasks, NULL);
    gw_value_unref(arguments);
    return tasks;
}

static bool is(const struct gw_value *tasks, uint32_t row, const char *wanted)
{
    const char *state = "";
    (void)gw_value_get_str(gw_value_find(gw_value_at(tasks, row), "state"), &state, NULL);
    return strcmp(state, wanted) == 0;
}

static bool ended_badly(const struct gw_value *tasks, uint32_t row)
{
    return is(tasks, row, "failed") || is(tasks, row, "cancelled");
}

/* Compares the state of one row (or of all rows) of a job in the running scheduler with the state
 * in a scheduler restored from the committed facts. */
static void check(struct sim *sim, const struct sim_job *job, uint32_t row, bool retried)
{
    struct gw_sched *sched = sim_sched_new(sim);
    sim_sched_restore(sim, sched, sim->facts_committed);
    if (!retried) /* a cancelled attempt ends when the restored scheduler starts */
        sim_sched_begin(sim, sched);
    struct gw_value *now = tasks_in(sim->sched, job->id), *then = tasks_in(sched, job->id);
    size_t count = now ? gw_value_count(now) : 0;
    SIM_CHECK(sim, count == 0 || (then && gw_value_count(then) == count),
              "a call about job %llu is answered, and the job is not committed",
              (unsigned long long)job->id);
    for (uint32_t i = row == GW_INDEX_ALL ? 0 : row; i < count && (i == row || row == GW_INDEX_ALL);
         i++) {
        bool lost = retried
                        ? ended_badly(then, i) && !ended_badly(now, i)
                        : is(now, i, "cancelled") && !ended_badly(then, i) && !is(then, i, "done");
        SIM_CHECK(sim, !lost,
                  "a client is told that task %u of job %llu %s, and that is not committed", i,
                  (unsigned long long)job->id, retried ? "will run again" : "is cancelled");
    }
    gw_value_unref(now);
    gw_value_unref(then);
    gw_sched_free(sched);
}

void sim_acknowledgement_told(struct sim *sim, const struct client *client,
                              const struct gw_msg_reply *reply)
{
    uint64_t id, at;
    const struct sim_job *job = NULL;
    uint32_t row = 0;
    bool retried = gw_map_get(&client->retrying, reply->request, &id);
    if (retried) {
        const struct work *work = sim_work_find(sim, id);
        job = work->job;
        row = work->row;
    } else if (gw_map_get(&client->cancelling, reply->request, &at)) {
        job = client->jobs.items[at >> 32];
        row = (uint32_t)at;
    }
    if (job && job->detached && !job->range && reply->code == 0)
        check(sim, job, row, retried);
}

void sim_acknowledgements_free(struct client *client)
{
    gw_map_deinit(&client->cancelling);
}
