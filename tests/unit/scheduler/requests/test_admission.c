/* Jobs that the policy of a cluster refuses at submission, and options that it fills in. */
#include "scheduler/core/model/model.h"
#include "tests/unit/scheduler/sched_world.h"

#define HOUR_NS ((int64_t)3600 * 1000000000)

enum { ADA = CLIENT + 1, ADMIN, ZOE };

static const char *const ada[] = {"ada"}, *const root[] = {"root"}, *const speech[] = {"speech"},
                         *const vision[] = {"vision"};

static const struct gw_account_config accounts[] = {
    {.name = "vision", .shares = 1, .users = ada, .user_count = 1, .limits = {.queued_jobs = 3}},
    {.name = "project", .parent = "vision", .shares = 1},
    {.name = "speech",
     .shares = 1,
     .users = root,
     .user_count = 1,
     .limits = {.slots = 2, .gpus = 1, .stored_bytes = 5, .time_limit_ns = 2 * HOUR_NS},
     .strict = true},
    {.name = "phone", .parent = "speech", .shares = 1}};

static const struct gw_queue_config queues[] = {
    {.name = "short",
     .limits = {.time_limit_ns = HOUR_NS},
     .default_time_limit_ns = HOUR_NS / 4,
     .priority = 7},
    {.name = "talk", .accounts = speech, .account_count = 1},
    {.name = "west", .workers = "a,b"},
    {.name = "sight", .accounts = vision, .account_count = 1}};

static void set(struct world *w, const char *default_queue)
{
    struct gw_error error = {0};
    const struct gw_cluster_policy policy = {.accounts = accounts,
                                             .account_count = 4,
                                             .queues = queues,
                                             .queue_count = 4,
                                             .default_queue = default_queue};
    assert_int_equal(gw_sched_policy_set(w->sched, &policy, &error), 0);
}

static struct world *new_cluster(void)
{
    struct world *w = new_world();
    const char *const users[] = {"ada", "root", "zoe"};
    set(w, NULL);
    for (uint64_t peer = ADA; peer <= ZOE; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)peer,
                                        .role = GW_ROLE_CLIENT,
                                        .admin = peer == ADMIN,
                                        .user = users[peer - ADA],
                                        .text = "a program"});
    add_worker(w, 0, 4, "a");
    return w;
}

static uint64_t requests;

static void submit_by(struct world *w, uint64_t peer, struct gw_msg_spec spec)
{
    w->speaker = peer;
    submit_task(w, ++requests, spec);
}

static void refused(struct world *w, uint64_t peer, int code, const char *words,
                    struct gw_msg_spec spec)
{
    submit_by(w, peer, spec);
    const struct gw_msg_rejected *rejected = &must(w, peer, GW_MESSAGE_rejected)->rejected;
    assert_int_equal(rejected->code, code);
    if (!strstr(rejected->text, words))
        fail_msg("\"%s\" does not contain \"%s\"", rejected->text, words);
}

/* Submits a task and returns its spec as the scheduler has it. */
static const struct gw_msg_spec *taken(struct world *w, uint64_t peer, struct gw_msg_spec spec)
{
    submit_by(w, peer, spec);
    const uint64_t id = must(w, peer, GW_MESSAGE_accepted)->accepted.job;
    return &gw_sched_job_find(w->sched, id)->specs.items[0].message;
}

static void accounts_are_those_of_the_user(void **state)
{
    struct world *w = new_cluster();
    assert_string_equal(taken(w, ADA, (struct gw_msg_spec){0})->account, "vision");
    assert_string_equal(taken(w, ADA, (struct gw_msg_spec){.account = "project"})->account,
                        "project");
    assert_string_equal(taken(w, ADMIN, (struct gw_msg_spec){.account = "project"})->account,
                        "project");
    refused(w, ADA, GW_EPERM, "may not use account speech",
            (struct gw_msg_spec){.account = "speech"});
    refused(w, ADA, GW_ENOENT, "no account spech", (struct gw_msg_spec){.account = "spech"});
    refused(w, ZOE, GW_EPERM, "user zoe is in no account", (struct gw_msg_spec){0});
    free_world(w);
    (void)state;
}

static void queues_and_accounts_limit_time_and_workers(void **state)
{
    struct world *w = new_cluster();
    add_worker(w, 1, 4, "b");
    const struct gw_msg_spec *spec = taken(w, ADA, (struct gw_msg_spec){.queue = "short"});
    assert_int_equal(spec->time_limit_ns, HOUR_NS / 4);
    assert_int_equal(spec->priority, 7);
    spec = taken(w, ADMIN, (struct gw_msg_spec){.queue = "short", .time_limit_ns = HOUR_NS});
    assert_int_equal(spec->time_limit_ns, HOUR_NS);
    refused(w, ADMIN, GW_EINVAL, "above the limit of queue short",
            (struct gw_msg_spec){.queue = "short", .time_limit_ns = HOUR_NS + 1});
    assert_int_equal(taken(w, ADMIN, (struct gw_msg_spec){0})->time_limit_ns, 2 * HOUR_NS);
    refused(w, ADMIN, GW_EINVAL, "above the limit of account speech",
            (struct gw_msg_spec){.time_limit_ns = 2 * HOUR_NS + 1});
    refused(w, ADA, GW_EPERM, "account vision may not use queue talk",
            (struct gw_msg_spec){.queue = "talk"});
    assert_string_equal(
        taken(w, ADA, (struct gw_msg_spec){.account = "project", .queue = "sight"})->queue,
        "sight");
    refused(w, ADA, GW_ENOENT, "no queue long", (struct gw_msg_spec){.queue = "long"});
    assert_string_equal(taken(w, ADMIN, (struct gw_msg_spec){.queue = "west"})->workers, "a,b");
    refused(w, ADMIN, GW_EINVAL, "and not on c",
            (struct gw_msg_spec){.queue = "west", .workers = "a,c"});
    set(w, "short");
    assert_int_equal(taken(w, ADMIN, (struct gw_msg_spec){0})->time_limit_ns, HOUR_NS / 4);
    free_world(w);
    (void)state;
}

static void an_account_at_its_limit_takes_no_more_jobs(void **state)
{
    struct world *w = new_cluster();
    (void)taken(w, ADA, (struct gw_msg_spec){.account = "project"});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    (void)taken(w, ADA, (struct gw_msg_spec){0});
    (void)taken(w, ADA, (struct gw_msg_spec){0});
    refused(w, ADA, GW_ELIMIT, "account vision has 3 jobs that have not ended",
            (struct gw_msg_spec){0});
    finish(w, 0, attempt, GW_RANK_NONE, 1);
    (void)taken(w, ADA, (struct gw_msg_spec){0});
    free_world(w);
    (void)state;
}

static void a_task_larger_than_a_quota_is_refused(void **state)
{
    struct world *w = new_cluster();
    (void)taken(w, ADMIN, (struct gw_msg_spec){.slots = 2});
    refused(w, ADMIN, GW_EINFEASIBLE, "needs 3 slots, and account speech may use at most 2",
            (struct gw_msg_spec){.slots = 3});
    refused(w, ADMIN, GW_EINFEASIBLE, "needs 2 GPUs, and account speech may use at most 1",
            (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    free_world(w);
    (void)state;
}

static void results_count_for_stored_bytes(void **state)
{
    struct world *w = new_cluster();
    (void)taken(w, ADMIN, (struct gw_msg_spec){.account = "phone"});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    finish(w, 0, attempt, GW_RANK_NONE, 4);
    (void)taken(w, ADMIN, (struct gw_msg_spec){0});
    attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    finish(w, 0, attempt, GW_RANK_NONE, 1);
    refused(w, ADMIN, GW_ELIMIT, "the results of account speech take 5 B", (struct gw_msg_spec){0});
    free_world(w);
    (void)state;
}

static void scatter(struct world *w, uint64_t peer, const char *value)
{
    const uint32_t bytes = (uint32_t)strlen(value);
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_scatter,
                            .scatter = {.request = ++requests, bytes, .value = {value, bytes}}});
}

static void scattered_values_count_for_stored_bytes(void **state)
{
    struct world *w = new_cluster();
    scatter(w, ADMIN, "value");
    (void)must(w, ADMIN, GW_MESSAGE_accepted);
    refused(w, ADMIN, GW_ELIMIT, "the results of account speech take 5 B", (struct gw_msg_spec){0});
    scatter(w, ADMIN, "v");
    assert_int_equal(must(w, ADMIN, GW_MESSAGE_rejected)->rejected.code, GW_ELIMIT);
    scatter(w, ZOE, "v");
    assert_int_equal(must(w, ZOE, GW_MESSAGE_rejected)->rejected.code, GW_EPERM);
    free_world(w);
    (void)state;
}

static void without_a_policy_nothing_can_be_named(void **state)
{
    struct world *w = new_world();
    add_worker(w, 0, 1, "a");
    refused(w, CLIENT, GW_EINVAL, "this cluster has no accounts",
            (struct gw_msg_spec){.account = "vision"});
    free_world(w);
    (void)state;
}

static void a_waiting_task_names_its_account_and_its_limit(void **state)
{
    struct world *w = new_cluster();
    for (int i = 0; i < 3; i++)
        (void)taken(w, ADMIN, (struct gw_msg_spec){.memory_bytes = 1});
    const int64_t job = (int64_t)must(w, ADMIN, GW_MESSAGE_accepted)->accepted.job;
    explained(w, job, "account speech is at its limit: 2 of 2 slots");
    explained(w, job, "it is number 1 in line");
    free_world(w);
    (void)state;
}

static void the_tree_is_listed_with_shares_and_users(void **state)
{
    struct world *w = new_cluster();
    struct gw_value *rows;
    struct gw_error error = {0};
    const char *text = "";
    (void)taken(w, ADA, (struct gw_msg_spec){.account = "project"});
    assert_int_equal(gw_sched_query(w->sched, "accounts", NULL, &rows, &error), 0);
    assert_int_equal(gw_value_count(rows), 5); /* four accounts and a user */
    (void)gw_value_get_str(gw_value_find(gw_value_at(rows, 2), "user"), &text, NULL);
    assert_string_equal(text, "ada");
    (void)gw_value_get_str(gw_value_find(gw_value_at(rows, 1), "tree"), &text, NULL);
    assert_string_equal(text, "  project");
    double share = 0;
    (void)gw_value_get_f64(gw_value_find(gw_value_at(rows, 3), "share"), &share, NULL);
    assert_true(share == 0.5);
    gw_value_unref(rows);
    assert_int_equal(gw_sched_query(w->sched, "queues", NULL, &rows, &error), 0);
    assert_int_equal(gw_value_count(rows), 4);
    gw_value_unref(rows);
    free_world(w);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accounts_are_those_of_the_user),
        cmocka_unit_test(queues_and_accounts_limit_time_and_workers),
        cmocka_unit_test(an_account_at_its_limit_takes_no_more_jobs),
        cmocka_unit_test(a_task_larger_than_a_quota_is_refused),
        cmocka_unit_test(results_count_for_stored_bytes),
        cmocka_unit_test(scattered_values_count_for_stored_bytes),
        cmocka_unit_test(without_a_policy_nothing_can_be_named),
        cmocka_unit_test(a_waiting_task_names_its_account_and_its_limit),
        cmocka_unit_test(the_tree_is_listed_with_shares_and_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
