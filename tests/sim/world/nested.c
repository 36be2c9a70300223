/* Tasks that submit tasks. They ask their worker for a connection, submit, and wait with yielded
 * slots or return immediately. They may die at any point. The tasks that they submit behave like
 * all others. */
#include "tests/sim/world/nested.h"

#include "tests/sim/faults/crash.h"
#include "tests/sim/faults/crash_time.h"
#include "tests/sim/faults/recant.h"
#include "tests/sim/world/submission.h"

static const struct row *row_of(const struct process *process)
{
    return &process->rows.items[0];
}

static void set_blocked(struct sim *sim, struct process *process, bool blocked)
{
    struct gw_message message = {.type = GW_MESSAGE_task_blocked};
    message.task_blocked = (struct gw_msg_task_blocked){
        .attempt = row_of(process)->attempt, .rank = row_of(process)->rank, .blocked = blocked};
    process->blocked = blocked;
    process->woke = !blocked;
    (void)sim_process_say(sim, process, &message);
}

/* -- Asking for a client -------------------------------------------------------------------------
 */

static void ask(struct sim *sim, struct process *process)
{
    struct gw_message message = {.type = GW_MESSAGE_task_link};
    message.task_link = (struct gw_msg_task_link){.attempt = row_of(process)->attempt,
                                                  .rank = row_of(process)->rank};
    (void)sim_process_say(sim, process, &message);
}

/* Creates the client of this execution. It is connected later, or never. */
bool sim_nested_begin(struct sim *sim, struct process *process, int32_t execution)
{
    struct work *work = row_of(process)->work;
    if (!work->children || (row_of(process)->rank != GW_RANK_NONE && row_of(process)->rank > 0))
        return false;
    struct client *client = calloc(1, sizeof *client);
    GW_MUST_PTR(client);
    GW_MUST(gw_array_push(&sim->insiders, client));
    client->sim = sim;
    client->number = 1000 + (uint32_t)sim->insiders.count;
    client->process = process;
    client->work = work;
    client->epoch = process->epoch;
    client->execution = execution;
    process->inside = client;
    sim_process_later(sim, process, sim_below(sim, MS), ask);
    return true;
}

/* -- Waiting -------------------------------------------------------------------------------------
 */

static bool waits_on(struct sim *sim, const struct process *process)
{
    struct client *client = process->inside;
    return client && client->alive && !sim_client_settled(sim, client);
}

static void go_on(struct sim *sim, struct process *process)
{
    struct client *client = process->inside;
    uint32_t slots = 0;
    if (process->blocked) {
        for (size_t i = 0; i < process->host->processes.count; i++) {
            const struct process *other = process->host->processes.items[i];
            if (other->executing && other->rows.count && !other->blocked)
                slots += other->rows.items[0].work->slots;
        }
        if (slots + row_of(process)->work->slots > process->host->slots)
            sim_fault(sim, FAULT_OVERDRAWN);
        uint64_t epoch = process->epoch;
        set_blocked(sim, process, false);
        if (process->epoch != epoch)
            return;
    }
    client->process = NULL; /* messages to it no longer matter */
    sim_process_go_on(sim, process, client->execution);
}

static void block(struct sim *sim, struct process *process)
{
    if (!waits_on(sim, process) || process->blocked)
        return;
    sim_fault(sim, FAULT_BLOCKED);
    uint32_t lent = 0;
    for (size_t i = 0; i < process->host->processes.count; i++)
        lent += process->host->processes.items[i]->blocked;
    if (sim->yielded_max && lent >= sim->yielded_max)
        sim_fault(sim, FAULT_TOO_MANY_WAIT);
    set_blocked(sim, process, true);
}

void sim_nested_taken(struct sim *sim, struct process *process, uint64_t attempt)
{
    if (!attempt)
        return;
    if (process->rows.count > 1)
        sim_fault(sim, FAULT_TAKEN);
    if (process->rows.count)
        process->rows.count = 1;
}

/* The task reports that it runs long. After that no row may wait behind it. */
static void say_long(struct sim *sim, struct process *process)
{
    const struct row row = *row_of(process);
    uint64_t epoch = process->epoch;
    struct gw_message message = {.type = GW_MESSAGE_task_blocked};
    message.task_blocked = (struct gw_msg_task_blocked){
        .attempt = row.attempt, .rank = row.rank, .blocked = GW_BLOCKED_LONG};
    struct host *host = process->host;
    uint64_t pid = process->pid;
    sim_actor_say(sim, process); /* first report the calls that have ended before */
    process = host->core ? sim_process_find(host, pid) : NULL;
    if (!process || process->epoch != epoch)
        return;
    sim_fault(sim, process->rows.count > 1 ? FAULT_LONG_BEFORE_OTHERS : FAULT_LONG);
    if (!sim_process_say(sim, process, &message))
        return;
    sim_recant_long(sim, process);
    SIM_CHECK(sim, process->epoch != epoch || process->rows.count == 1,
              "%zu tasks wait in a runner behind task %llu, which runs long",
              process->rows.count - 1, (unsigned long long)row.work->id);
}

void sim_nested_long(struct sim *sim, struct process *process, uint64_t run_ns)
{
    const struct row *row = row_of(process);
    if (run_ns > 50 * MS && process->runner && row->rank == GW_RANK_NONE) {
        sim_recant_begin(sim, process);
        sim_process_later(sim, process, 50 * MS, say_long);
    }
}

/* Notes that more ended jobs exist than the history holds: a future or a running job retains them.
 */
static void note_retained(struct sim *sim)
{
    struct gw_value *answer = NULL;
    int64_t ended = 0;
    if (sim_has_short_history(sim) &&
        gw_sched_query(sim->sched, "status", NULL, &answer, NULL) == 0)
        (void)gw_value_get_i64(gw_value_find(gw_value_find(answer, "jobs"), "ended"), &ended, NULL);
    if (ended > SIM_HISTORY_JOBS)
        sim_fault(sim, FAULT_RETAINED);
    gw_value_unref(answer);
}

/* The client was connected, received a message, or lost its connection. */
void sim_nested_told(struct sim *sim, struct client *client)
{
    struct process *process = client->process;
    if (!process || !process->alive || process->epoch != client->epoch)
        return;
    if (client->alive && client->welcomed && client->jobs.count == 0) {
        if (sim_chance(sim, 40))
            sim_sync_acquire(sim, client);
        if (sim_chance(sim, 40))
            sim_sync_signal(sim, client);
        struct sim_job *job = sim_job_make_inside(sim, client, client->work);
        sim_fault(sim, FAULT_INSIDE);
        note_retained(sim);
        while (job->sent < job->work.count)
            sim_submission_chunk(sim, job);
        if (client->work->leaves) {
            sim_fault(sim, FAULT_LEFT);
            go_on(sim, process);
            return;
        }
        sim_process_later(sim, process, sim_below(sim, 2 * MS), block);
    }
    if (!client->alive || (client->welcomed && !waits_on(sim, process)))
        go_on(sim, process);
}

/* -- The connection ------------------------------------------------------------------------------
 */

static void link_fails(struct sim *sim, struct process *process)
{
    sim_fault(sim, FAULT_NO_LINK);
    process->inside->process = NULL;
    sim_process_go_on(sim, process, process->inside->execution);
}

void sim_nested_link(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    struct process *process = NULL;
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->peer == effect->peer.id)
            process = host->processes.items[i];
    if (!process || !process->alive || !process->inside || !process->inside->process)
        return;
    if (sim_crash_down(sim) || (!sim->healed && sim_chance(sim, 5))) {
        sim_process_later(sim, process, MS, link_fails);
        return;
    }
    struct client *client = process->inside;
    struct end sched = {.side = SIDE_SCHED, .peer = ++sim->next_conn + 1000000};
    struct end own = {.side = SIDE_CLIENT, .client = client, .peer = 1};
    client->alive = true;
    client->conn = sim_connect(sim, sched, own);
    int rc = sim_sched_step(sim, &(struct gw_event){.type = GW_EVENT_OPEN,
                                                    .peer = {sched.peer},
                                                    .role = GW_ROLE_TASK,
                                                    .uid = 1000,
                                                    .number = effect->number,
                                                    .rank = effect->count,
                                                    .text = "task"});
    if (rc == 0)
        return;
    /* The scheduler has already assigned this worker's tasks to others. */
    SIM_CHECK(sim, rc == GW_ENOENT, "the scheduler refuses a task: %d", rc);
    sim_client_kill(sim, client);
    sim_process_later(sim, process, MS, link_fails);
}

/* -- The end -------------------------------------------------------------------------------------
 */

void sim_nested_end(struct sim *sim, struct process *process)
{
    struct client *client = process->inside;
    if (!client)
        return;
    process->inside = NULL;
    client->process = NULL;
    sim_client_kill(sim, client);
}

void sim_nested_free(struct sim *sim)
{
    for (size_t i = 0; i < sim->insiders.count; i++) {
        sim_client_free(sim, sim->insiders.items[i]);
        free(sim->insiders.items[i]);
    }
    gw_array_deinit(&sim->insiders);
}
