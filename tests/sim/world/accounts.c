/* Accounts of the two users of the world. Quotas are small, and may be exceeded while others leave
 * resources idle, so that all work still ends; use beyond a quota may be reclaimed by preemption.
 * The core checks counters, rates, quotas and the order of its queues in every step, and usage with
 * the durable facts. */
#include "tests/sim/world/accounts.h"

#define PERIOD_NS (300 * MS)
enum { POLICIES = 4 };

int sim_with_accounts;

static const char *const first[] = {"1000"}, *const second[] = {"1001"};

/* Policies one after another; the last stands for none. */
static const struct gw_account_config flat[] = {
    {.name = "vision", .shares = 3, .users = first, .user_count = 1},
    {.name = "speech", .shares = 1, .users = second, .user_count = 1}};
static const struct gw_account_config deep[] = {
    {.name = "vision", .parent = "lab", .shares = 1, .users = first, .user_count = 1},
    {.name = "lab", .shares = 1, .limits = {.slots = 3}},
    {.name = "guests", .parent = "lab", .shares = 2, .limits = {.slots = 1, .gpus = 1}}};
static const struct gw_account_config tight[] = {
    {.name = "vision", .shares = 1, .users = first, .user_count = 1, .limits = {.slots = 3}},
    {.name = "speech", .shares = 1, .users = second, .user_count = 1, .limits = {.slots = 3}}};

/* In the default queue, everything may be preempted. */
static const struct gw_queue_config queues[] = {{.name = "scavenge", .requeue = true}};

#define SCAVENGE .queues = queues, .queue_count = 1, .default_queue = "scavenge"

static const struct gw_cluster_policy policies[POLICIES - 1] = {
    {.accounts = flat,
     .account_count = 2,
     .usage_halves_ns = SECOND,
     .preempt_after_ns = 20 * MS,
     SCAVENGE},
    {.accounts = deep,
     .account_count = 3,
     .default_account = "guests",
     .memory_gib_weight = 1,
     .preempt_after_ns = 5 * MS,
     SCAVENGE},
    {.accounts = tight, .account_count = 2, .usage_halves_ns = 50 * MS, SCAVENGE},
};

void sim_accounts_set(const struct sim *sim, struct gw_sched *sched)
{
    const uint64_t number = sim_hash(sim->seed, sim->now_ns / PERIOD_NS) % POLICIES;
    struct gw_error error;
    if (sim_with_accounts)
        SIM_CHECK((struct sim *)(uintptr_t)sim,
                  gw_sched_policy_set(sched, number < POLICIES - 1 ? &policies[number] : NULL,
                                      &error) == 0,
                  "the policy is refused: %s", error.text);
}

static void replace(struct sim *sim, void *arg)
{
    if (sim->sched)
        sim_accounts_set(sim, sim->sched);
    if (!sim->healed)
        sim_plan(sim, PERIOD_NS, replace, arg);
}

void sim_accounts_begin(struct sim *sim)
{
    if (sim_with_accounts)
        sim_plan(sim, PERIOD_NS, replace, NULL);
}
