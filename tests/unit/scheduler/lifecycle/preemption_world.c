#include "tests/unit/scheduler/lifecycle/preemption_world.h"

static const char *const ada[] = {"ada"}, *const bob[] = {"bob"}, *const cyd[] = {"cyd"};

/* Each account may use 2 slots, and more while others leave them idle. The tasks of the queue
 * "scavenge" need no checkpoint. */
static const struct gw_account_config accounts[] = {
    {.name = "vision", .shares = 1, .limits = {.slots = 2}, .users = ada, .user_count = 1},
    {.name = "speech", .shares = 1, .limits = {.slots = 2}, .users = bob, .user_count = 1},
    {.name = "guests", .shares = 1, .users = cyd, .user_count = 1}};
static const struct gw_queue_config queues[] = {
    {.name = "normal"}, {.name = "scavenge", .priority = -10, .requeue = true}};

void set_policy(struct world *w, uint64_t preempt_after_ns)
{
    struct gw_error error = {0};
    const struct gw_cluster_policy policy = {.accounts = accounts,
                                             .account_count = 3,
                                             .queues = queues,
                                             .queue_count = 2,
                                             .default_queue = "normal",
                                             .preempt_after_ns = preempt_after_ns};
    assert_int_equal(gw_sched_policy_set(w->sched, &policy, &error), 0);
}

/* A cluster of `workers` workers with so many slots each. */
struct world *begin_shared(int workers, uint32_t slots)
{
    struct world *w = new_world_with(
        (struct gw_sched_options){.preempt_look_ns = MS, .worker_lost_ns = 1000000 * SECOND});
    set_policy(w, 0);
    for (uint64_t peer = ADA; peer <= CYD; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)peer,
                                        .role = GW_ROLE_CLIENT,
                                        .admin = peer == CYD,
                                        .user = peer == ADA   ? "ada"
                                                : peer == BOB ? "bob"
                                                              : "cyd",
                                        .text = "a program"});
    for (int i = 0; i < workers; i++)
        add_worker(w, i, slots, (const char *const[]){"a", "b", "c"}[i]);
    return w;
}

/* Submits a task or gang that never queues at a worker, as job `number`. */
void add_job(struct world *w, uint64_t peer, uint64_t number, struct gw_msg_spec spec)
{
    w->speaker = peer;
    spec.memory_bytes = 1;
    submit_task(w, number, spec);
}

void save(struct world *w, int worker, uint64_t attempt, int64_t step)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_checkpointed, .checkpointed = {attempt, 0, step}});
}

/* Starts the gang of one or two ranks that was just placed at a worker, and saves a checkpoint. */
uint64_t run_saved(struct world *w, int worker, uint32_t ranks)
{
    const uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign), 0);
    for (uint32_t rank = 0; rank < ranks; rank++)
        ready(w, worker, attempt, rank);
    must(w, WORKER + (uint64_t)worker, GW_MESSAGE_gang_start);
    save(w, worker, attempt, 1);
    return attempt;
}

void say_started(struct world *w, uint64_t attempt)
{
    uint32_t none = GW_RANK_NONE;
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_started, .started = {{&attempt, 1}, {&none, 1}}});
}

bool told(const struct world *w, int worker, uint32_t type)
{
    return sent(w, WORKER + (uint64_t)worker, type, 0) != NULL;
}

void expect_control(struct world *w, int worker, uint64_t attempt, uint32_t command)
{
    const struct gw_msg_control *control =
        &must(w, WORKER + (uint64_t)worker, GW_MESSAGE_control)->control;
    assert_true(control->attempt == attempt);
    assert_int_equal(control->command, command);
}

/* The ranks of a gang of functions return at their next step, because they were told to. */
void pause_at_a_step(struct world *w, int worker, uint64_t attempt, uint32_t ranks)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_rank_paused, .rank_paused = {attempt, 0}});
    for (uint32_t rank = 0; rank < ranks; rank++)
        finish(w, worker, attempt, rank, 1);
}

void ranks_killed(struct world *w, int worker, uint64_t attempt, uint32_t ranks)
{
    for (uint32_t rank = 0; rank < ranks; rank++)
        attempt_ended(
            w, worker,
            (struct gw_msg_ended){
                .attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED, .executing = 1});
}

void expect_no_charges(const struct world *w, uint64_t job)
{
    const struct gw_charges *charges = gw_sched_job_find(w->sched, job)->tasks.charges;
    assert_int_equal(charges->retries + charges->crashes + charges->losses + charges->uncounted +
                         charges->preemptions,
                     0);
}
