/* The order of the work of several users: fair share, quotas and borrowing. */
#include "scheduler/core/model/model.h"
#include "tests/unit/scheduler/membership/claims.h"

#include <math.h>
#include <stdlib.h>

#define SECOND (1000 * MS)
#define HOUR (3600 * SECOND)

enum { ADA = CLIENT + 1, BOB, CYD, RUNS_MAX = 64 };

/* Users and, for each task that was placed and has not ended, its attempt and its user. */
struct cluster {
    struct world *w;
    uint64_t attempt[RUNS_MAX], peer[RUNS_MAX];
    int worker[RUNS_MAX], count;
    uint64_t request;
};

static const char *user_of(uint64_t peer)
{
    return peer == ADA ? "ada" : peer == BOB ? "bob" : "cyd";
}

static void open_users(struct world *w)
{
    for (uint64_t peer = ADA; peer <= CYD; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)peer,
                                        .role = GW_ROLE_CLIENT,
                                        .user = user_of(peer),
                                        .text = "a program"});
}

static void take(struct cluster *c)
{
    const struct gw_message *assign;
    for (int n = 0; (assign = sent(c->w, WORKER, GW_MESSAGE_assign, n)); n++)
        for (uint32_t i = 0; i < assign->assign.attempt.count; i++) {
            const uint64_t id = attempt_in(assign, i);
            const uint32_t slot = gw_sched_attempt_find(c->w->sched, id);
            assert_true(c->count < RUNS_MAX);
            c->peer[c->count] = c->w->sched->attempts.items[slot].job->uid;
            c->attempt[c->count++] = id;
        }
}

/* Submits `rows` tasks that never queue at a worker. */
static void add(struct cluster *c, uint64_t peer, uint32_t rows, struct gw_msg_spec spec)
{
    c->w->speaker = peer;
    spec.key = ++c->request;
    spec.memory_bytes = spec.memory_bytes ? spec.memory_bytes : 1;
    send_spec(c->w, spec);
    submit(c->w, (struct chunk){spec.key, rows, GW_SUBMIT_LAST, false, 0});
    take(c);
}

/* Ends the first task that runs, after a time, and returns whose it was. */
static uint64_t end_after(struct cluster *c, uint64_t ns)
{
    assert_true(c->count > 0);
    const uint64_t attempt = c->attempt[0], peer = c->peer[0];
    c->count--;
    memmove(c->attempt, c->attempt + 1, (size_t)c->count * sizeof *c->attempt);
    memmove(c->peer, c->peer + 1, (size_t)c->count * sizeof *c->peer);
    pass(c->w, ns);
    take(c);
    finish_after(c->w, 0, attempt, ns);
    take(c);
    return peer;
}

static int running(const struct cluster *c, uint64_t peer)
{
    int count = 0;
    for (int i = 0; i < c->count; i++)
        count += c->peer[i] == peer;
    return count;
}

static const char *const ada[] = {"ada"}, *const bob[] = {"bob"}, *const cyd[] = {"cyd"};

/* vision: ada, 3 shares; speech: bob and cyd below it, 1 share. */
static struct gw_account_config tree[] = {
    {.name = "vision", .shares = 3, .users = ada, .user_count = 1},
    {.name = "speech", .shares = 1, .users = bob, .user_count = 1},
    {.name = "lab", .parent = "speech", .shares = 1, .users = cyd, .user_count = 1}};

static void set(struct world *w, const struct gw_cluster_policy *policy)
{
    struct gw_error error = {0};
    assert_int_equal(gw_sched_policy_set(w->sched, policy, &error), 0);
    pass(w, MS);
}

static struct cluster *new_cluster(uint32_t slots)
{
    struct cluster *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->w = new_world_with(
        (struct gw_sched_options){.state_dir = "/s", .worker_lost_ns = 1000 * 24 * HOUR});
    set(c->w, &(struct gw_cluster_policy){.accounts = tree, .account_count = 3});
    open_users(c->w);
    if (slots)
        add_worker(c->w, 0, slots, "a");
    return c;
}

static void free_cluster(struct cluster *c)
{
    free_world(c->w);
    free(c);
}

static void tasks_start_in_proportion_to_the_shares(void **state)
{
    int started[CYD + 1] = {0};
    struct cluster *c = new_cluster(1);
    for (uint64_t peer = ADA; peer <= CYD; peer++)
        add(c, peer, 8, (struct gw_msg_spec){0});
    for (int i = 0; i < 8; i++)
        started[end_after(c, SECOND)]++;
    assert_int_equal(started[ADA], 6);
    assert_int_equal(started[BOB], 1);
    assert_int_equal(started[CYD], 1);
    free_cluster(c);
    (void)state;
}

/* Room for many long tasks appears at once, and nobody has used anything. */
static void free_room_is_divided_by_the_shares_at_once(void **state)
{
    struct cluster *c = new_cluster(0);
    for (uint64_t peer = ADA; peer <= CYD; peer++)
        add(c, peer, 8, (struct gw_msg_spec){0});
    add_worker(c->w, 0, 8, "a");
    take(c);
    assert_int_equal(running(c, ADA), 6);
    assert_int_equal(running(c, BOB), 1);
    assert_int_equal(running(c, CYD), 1);
    free_cluster(c);
    (void)state;
}

/* One user has asked for much and long before; another's only task is next. */
static void a_new_user_comes_before_one_who_has_used_much(void **state)
{
    struct cluster *c = new_cluster(1);
    add(c, ADA, 8, (struct gw_msg_spec){0});
    assert_int_equal(end_after(c, SECOND), ADA);
    add(c, BOB, 1, (struct gw_msg_spec){0});
    assert_int_equal(end_after(c, SECOND), ADA); /* this one ran already */
    assert_int_equal(end_after(c, SECOND), BOB);
    assert_int_equal(end_after(c, SECOND), ADA);
    free_cluster(c);
    (void)state;
}

/* The reservation for a gang of whom comes first is not delayed by an earlier gang of another. */
static void an_older_gang_of_a_heavy_user_waits_behind(void **state)
{
    struct cluster *c = new_cluster(2);
    add(c, ADA, 2, (struct gw_msg_spec){0});
    pass(c->w, HOUR);
    add(c, ADA, 1, (struct gw_msg_spec){.ranks = 2});
    add(c, BOB, 1, (struct gw_msg_spec){.ranks = 2});
    assert_int_equal(end_after(c, SECOND), ADA);
    assert_int_equal(c->count, 1);
    assert_int_equal(end_after(c, SECOND), ADA);
    assert_int_equal(running(c, BOB), 2);
    free_cluster(c);
    (void)state;
}

/* A gang that waits for an hour does not rise above an older task of its user. */
static void an_older_task_comes_before_a_gang_of_the_same_user(void **state)
{
    struct cluster *c = new_cluster(2);
    add(c, ADA, 3, (struct gw_msg_spec){0});
    add(c, ADA, 1, (struct gw_msg_spec){.ranks = 2});
    pass(c->w, HOUR);
    assert_int_equal(end_after(c, SECOND), ADA);
    assert_int_equal(c->count, 2);
    free_cluster(c);
    (void)state;
}

static const struct gw_payer *payer_of(const struct world *w, const char *user)
{
    const struct gw_accounts *accounts = w->sched->accounts;
    for (size_t i = 0; i < accounts->payers.count; i++)
        if (strcmp(accounts->payers.items[i]->user, user) == 0)
            return accounts->payers.items[i];
    return NULL;
}

static void expect_usage(const struct cluster *c, const char *user, double usage)
{
    const double is = gw_account_usage(c->w->sched, payer_of(c->w, user));
    if (fabs(is - usage) > 0.005 * usage + 0.01)
        fail_msg("the usage of %s is %g, not %g", user, is, usage);
}

static void usage_halves_in_a_week(void **state)
{
    struct cluster *c = new_cluster(1);
    add(c, ADA, 1, (struct gw_msg_spec){0});
    pass(c->w, HOUR);
    expect_usage(c, "ada", 3600.0 / 16); /* while the task runs */
    (void)end_after(c, 0);
    pass(c->w, 7 * 24 * HOUR);
    expect_usage(c, "ada", 3600.0 / 32);
    pass(c->w, 14 * 24 * HOUR);
    expect_usage(c, "ada", 3600.0 / 128);
    free_cluster(c);
    (void)state;
}

static const struct gw_cluster_policy three = {.accounts = tree, .account_count = 3};

/* A run of the scheduler that continues the runs before it. */
static struct cluster *next_run(void)
{
    struct cluster *c = calloc(1, sizeof *c);
    assert_non_null(c);
    c->w = life_begin();
    set(c->w, &three);
    open_users(c->w);
    life_commit(c->w);
    add_worker(c->w, 0, 1, "a");
    life_commit(c->w);
    return c;
}

static void usage_survives_a_restart_and_compaction(void **state)
{
    struct gw_buffer less = {0};
    life_facts.size = 0;
    for (int run = 1; run <= 3; run++) {
        struct cluster *c = next_run();
        add(c, ADA, 1, (struct gw_msg_spec){0});
        expect_usage(c, "ada", 8.0 / 16 * (run - 1));
        (void)end_after(c, 8 * SECOND);
        (void)step(c->w, (struct gw_event){.type = GW_EVENT_STOP});
        life_commit(c->w);
        free_cluster(c);
        assert_int_equal(gw_sched_compact(&life_facts, &less), 0);
        const size_t before = life_facts.size;
        life_facts.size = 0;
        assert_int_equal(gw_buffer_append(&life_facts, less.data, less.size), 0);
        assert_true(run == 1 || life_facts.size < before);
        gw_buffer_deinit(&less);
    }
    gw_buffer_deinit(&life_facts);
    (void)state;
}

/* The job of the user is forgotten, but its usage counts for the account. */
static void usage_of_users_without_jobs_counts(void **state)
{
    life_facts.size = 0;
    struct cluster *c = next_run();
    add(c, ADA, 1, (struct gw_msg_spec){0});
    (void)end_after(c, 8 * SECOND);
    (void)step(c->w, (struct gw_event){.type = GW_EVENT_STOP});
    life_commit(c->w);
    free_cluster(c);
    c = next_run();
    assert_non_null(payer_of(c->w, "ada"));
    expect_usage(c, "ada", 8.0 / 16);
    set(c->w, NULL);
    set(c->w, &three);
    assert_non_null(payer_of(c->w, "ada"));
    expect_usage(c, "ada", 8.0 / 16);
    free_cluster(c);
    gw_buffer_deinit(&life_facts);
    (void)state;
}

/* The durable usage contains the first 4 seconds of a task. It runs 300 seconds, or has run only
 * for 50 when it ends. */
static void usage_contains_what_ran_during_a_restart(void **state)
{
    life_facts.size = 0;
    struct cluster *c = next_run();
    c->w->speaker = ADA;
    send_spec(c->w, (struct gw_msg_spec){.key = 1, .memory_bytes = 1});
    submit(c->w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    const uint64_t attempt = attempt_in(must(c->w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(c->w);
    const uint64_t job = must(c->w, ADA, GW_MESSAGE_accepted)->accepted.job;
    pass(c->w, 4 * SECOND);
    (void)step(c->w, (struct gw_event){.type = GW_EVENT_STOP});
    life_commit(c->w);
    free_cluster(c);
    run_start_ns = 300 * SECOND;
    const struct row row = {attempt, job, .rank = GW_RANK_NONE};
    for (int ended = 0; ended <= 1; ended++) {
        struct row claim = row;
        claim.claim = ended ? GW_CLAIM_ENDED : GW_CLAIM_RUNS;
        claim.ran_ns = (ended ? 50 : 300) * SECOND;
        c = calloc(1, sizeof *c);
        assert_non_null(c);
        c->w = life_begin();
        open_users(c->w);
        set(c->w, &three);
        connect_worker(c->w, WORKER, 7, &claim, 1);
        expect_usage(c, "ada", (ended ? 54.0 : 300.0) / 16);
        if (!ended)
            pass(c->w, 100 * SECOND);
        finish(c->w, 0, attempt, GW_RANK_NONE, 3);
        expect_usage(c, "ada", (ended ? 54.0 : 400.0) / 16);
        free_cluster(c);
    }
    run_start_ns = MS;
    gw_buffer_deinit(&life_facts);
    (void)state;
}

/* A policy that is replaced keeps the usage of accounts that stay. */
static void usage_survives_a_new_policy(void **state)
{
    struct cluster *c = new_cluster(2);
    add(c, ADA, 1, (struct gw_msg_spec){0});
    add(c, BOB, 1, (struct gw_msg_spec){0});
    pass(c->w, HOUR);
    struct gw_account_config accounts[] = {
        {.name = "vision", .shares = 1, .users = ada, .user_count = 1},
        {.name = "rest", .shares = 1}};
    set(c->w, &(struct gw_cluster_policy){
                  .accounts = accounts, .account_count = 2, .default_account = "rest"});
    expect_usage(c, "ada", 3600.0 / 16);
    pass(c->w, HOUR);
    expect_usage(c, "ada", 2 * 3600.0 / 16);
    assert_string_equal(payer_of(c->w, "bob")->account->holder.name, "rest");
    expect_usage(c, "bob", 3600.0 / 16);
    set(c->w, NULL);
    (void)end_after(c, SECOND);
    free_cluster(c);
    (void)state;
}

static void a_bad_policy_changes_nothing(void **state)
{
    struct cluster *c = new_cluster(1);
    struct gw_error error = {0};
    assert_int_equal(gw_sched_policy_set(c->w->sched, &(struct gw_cluster_policy){0}, &error),
                     GW_EINVAL);
    assert_int_equal(c->w->sched->accounts->policy.account_count, 3);
    free_cluster(c);
    (void)state;
}

/* A quota of 2 slots: the third task starts only if nobody else wants the slot, and with `strict`
 * not even then. */
static void quota(bool strict)
{
    struct cluster *c = new_cluster(4);
    struct gw_account_config accounts[] = {{.name = "vision",
                                            .shares = 1,
                                            .limits = {.slots = 2},
                                            .strict = strict,
                                            .users = ada,
                                            .user_count = 1},
                                           {.name = "rest", .shares = 1}};
    set(c->w, &(struct gw_cluster_policy){
                  .accounts = accounts, .account_count = 2, .default_account = "rest"});
    add(c, ADA, 8, (struct gw_msg_spec){0});
    assert_int_equal(running(c, ADA), strict ? 2 : 4);
    add(c, BOB, 8, (struct gw_msg_spec){0});
    for (int i = 0; i < 4; i++)
        (void)end_after(c, SECOND);
    assert_int_equal(running(c, ADA), 2);
    assert_int_equal(running(c, BOB), 2);
    free_cluster(c);
}

static void quotas_bind_only_who_may_not_borrow(void **state)
{
    quota(true);
    quota(false);
    (void)state;
}

/* A queued task has no slot, so a quota would not count it. */
static void work_of_an_account_with_a_quota_does_not_queue_at_workers(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        struct cluster *c = new_cluster(2);
        const struct gw_account_config account = {.name = "vision",
                                                  .shares = 1,
                                                  .limits = {.slots = limited ? 100 : 0},
                                                  .users = ada,
                                                  .user_count = 1};
        set(c->w, &(struct gw_cluster_policy){.accounts = &account, .account_count = 1});
        c->w->speaker = ADA;
        send_spec(c->w, (struct gw_msg_spec){.key = 1});
        submit(c->w, (struct chunk){1, 8, GW_SUBMIT_LAST, false, 0});
        take(c);
        for (int i = 0; i < 2; i++)
            (void)end_after(c, 1);
        if (limited)
            assert_int_equal(running(c, ADA), 2);
        else
            assert_true(running(c, ADA) > 2);
        free_cluster(c);
    }
}

/* The running task may wait for them: if they waited for the quota, both would wait forever. */
static void tasks_of_a_running_task_do_not_wait_for_a_quota(void **state)
{
    enum { INSIDE = 40 };
    struct cluster *c = new_cluster(2);
    const struct gw_account_config account = {.name = "vision",
                                              .shares = 1,
                                              .limits = {.slots = 1, .running_jobs = 1},
                                              .strict = true,
                                              .users = ada,
                                              .user_count = 1};
    set(c->w, &(struct gw_cluster_policy){.accounts = &account, .account_count = 1});
    add(c, ADA, 2, (struct gw_msg_spec){0});
    assert_int_equal(running(c, ADA), 1);
    (void)step(c->w, (struct gw_event){.type = GW_EVENT_OPEN,
                                       .peer = {INSIDE},
                                       .role = GW_ROLE_TASK,
                                       .number = c->attempt[0],
                                       .rank = GW_RANK_NONE,
                                       .text = "inside"});
    add(c, INSIDE, 1, (struct gw_msg_spec){0});
    assert_int_equal(running(c, ADA), 2);
    free_cluster(c);
    (void)state;
}

static void an_account_runs_so_many_jobs_at_once(void **state)
{
    struct cluster *c = new_cluster(4);
    struct gw_account_config accounts[] = {
        {.name = "all", .shares = 1, .limits = {.running_jobs = 1}},
        {.name = "vision", .parent = "all", .shares = 1, .users = ada, .user_count = 1}};
    set(c->w, &(struct gw_cluster_policy){
                  .accounts = accounts, .account_count = 2, .default_account = "all"});
    add(c, ADA, 2, (struct gw_msg_spec){0});
    add(c, BOB, 1, (struct gw_msg_spec){0});
    assert_int_equal(running(c, ADA), 2);
    assert_int_equal(running(c, BOB), 0);
    (void)end_after(c, SECOND);
    assert_int_equal(running(c, BOB), 0);
    (void)end_after(c, SECOND);
    assert_int_equal(running(c, BOB), 1);
    free_cluster(c);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_start_in_proportion_to_the_shares),
        cmocka_unit_test(free_room_is_divided_by_the_shares_at_once),
        cmocka_unit_test(a_new_user_comes_before_one_who_has_used_much),
        cmocka_unit_test(an_older_gang_of_a_heavy_user_waits_behind),
        cmocka_unit_test(an_older_task_comes_before_a_gang_of_the_same_user),
        cmocka_unit_test(usage_halves_in_a_week),
        cmocka_unit_test(usage_survives_a_restart_and_compaction),
        cmocka_unit_test(usage_of_users_without_jobs_counts),
        cmocka_unit_test(usage_contains_what_ran_during_a_restart),
        cmocka_unit_test(usage_survives_a_new_policy),
        cmocka_unit_test(a_bad_policy_changes_nothing),
        cmocka_unit_test(quotas_bind_only_who_may_not_borrow),
        cmocka_unit_test(work_of_an_account_with_a_quota_does_not_queue_at_workers),
        cmocka_unit_test(tasks_of_a_running_task_do_not_wait_for_a_quota),
        cmocka_unit_test(an_account_runs_so_many_jobs_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
