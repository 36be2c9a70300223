/* Policies that a scheduler refuses, with a text that names the entry. */
#include "scheduler/core/model/account_config.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>

static const char *const ada[] = {"ada"}, *const both[] = {"ada", "bob"};

/* A policy that is right: team > vision (ada), speech; queue "short" of vision. */
struct example {
    struct gw_account_config accounts[3];
    struct gw_queue_config queues[1];
    struct gw_cluster_policy policy;
};

static const char *const allowed[] = {"vision"};

static void example_init(struct example *e)
{
    *e = (struct example){
        .accounts =
            {{.name = "team", .shares = 1},
             {.name = "vision", .parent = "team", .shares = 3, .users = ada, .user_count = 1},
             {.name = "speech", .parent = "team", .shares = GW_ACCOUNT_SHARES_MAX}},
        .queues = {{.name = "short", .accounts = allowed, .account_count = 1}}};
    e->policy = (struct gw_cluster_policy){
        .accounts = e->accounts, .account_count = 3, .queues = e->queues, .queue_count = 1};
}

static void refused(const struct example *e, const char *words)
{
    struct gw_error error = {0};
    assert_int_equal(gw_account_config_check(&e->policy, &error), GW_EINVAL);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" does not contain \"%s\"", error.text, words);
}

static void a_right_policy_is_taken(void **state)
{
    struct example e;
    struct gw_error error = {0};
    example_init(&e);
    assert_int_equal(gw_account_config_check(&e.policy, &error), 0);
    (void)state;
}

static void bad_accounts_are_refused(void **state)
{
    struct example e;
    example_init(&e);
    e.accounts[0].parent = "vision";
    refused(&e, "account team is above itself");
    example_init(&e);
    e.accounts[0].parent = "team";
    refused(&e, "account team is above itself");
    example_init(&e);
    e.accounts[1].parent = "nobody";
    refused(&e, "account vision: its parent \"nobody\"");
    example_init(&e);
    e.accounts[2].shares = 0;
    refused(&e, "account speech: shares is 0");
    e.accounts[2].shares = GW_ACCOUNT_SHARES_MAX + 1;
    refused(&e, "account speech: shares is 1000001");
    example_init(&e);
    e.accounts[2].limits.gpus = -1;
    refused(&e, "account speech: gpus is -1");
    example_init(&e);
    e.accounts[2].limits.stored_bytes = -5;
    refused(&e, "account speech: stored_bytes is -5");
    example_init(&e);
    e.accounts[2].name = "team";
    refused(&e, "account team exists twice");
    e.accounts[2].name = "a b";
    refused(&e, "account \"a b\"");
    e.accounts[2].name = NULL;
    refused(&e, "account \"\"");
    example_init(&e);
    e.policy.account_count = 0;
    refused(&e, "no account");
    (void)state;
}

static void a_user_is_in_one_account(void **state)
{
    struct example e;
    struct gw_error error = {0};
    example_init(&e);
    e.accounts[2].users = both;
    e.accounts[2].user_count = 2;
    refused(&e, "user ada is in account vision and in account speech");
    example_init(&e);
    assert_int_equal(gw_account_config_check_user(&e.policy, "ada", &error), 0);
    assert_int_equal(gw_account_config_check_user(&e.policy, "bob", &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "user bob is in no account"));
    e.policy.default_account = "speech";
    assert_int_equal(gw_account_config_check_user(&e.policy, "bob", &error), 0);
    e.policy.default_account = "speach";
    refused(&e, "the default account \"speach\"");
    (void)state;
}

/* `depth` accounts above each other. */
static int check_chain(uint32_t depth, struct gw_error *error)
{
    static struct gw_account_config chain[GW_ACCOUNT_DEPTH_MAX + 1];
    static char names[GW_ACCOUNT_DEPTH_MAX + 1][16];
    for (uint32_t i = 0; i < depth; i++) {
        (void)snprintf(names[i], sizeof names[i], "a%u", i);
        chain[i] = (struct gw_account_config){
            .name = names[i], .parent = i ? names[i - 1] : "", .shares = 1};
    }
    return gw_account_config_check(
        &(struct gw_cluster_policy){.accounts = chain, .account_count = depth}, error);
}

static void the_tree_has_a_depth_limit(void **state)
{
    struct gw_error error = {0};
    assert_int_equal(check_chain(GW_ACCOUNT_DEPTH_MAX, &error), 0);
    assert_int_equal(check_chain(GW_ACCOUNT_DEPTH_MAX + 1, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "account a16 has 16 or more accounts above it"));
    (void)state;
}

static void bad_queues_and_weights_are_refused(void **state)
{
    static const char *const unknown[] = {"nobody"};
    struct example e;
    example_init(&e);
    e.queues[0].accounts = unknown;
    refused(&e, "queue short: its account \"nobody\"");
    example_init(&e);
    e.queues[0].limits.slots = -2;
    refused(&e, "queue short: slots is -2");
    example_init(&e);
    e.queues[0].limits.time_limit_ns = 10;
    e.queues[0].default_time_limit_ns = 11;
    refused(&e, "queue short: its default time limit");
    example_init(&e);
    e.queues[0].priority = GW_QUEUE_PRIORITY_MAX + 1;
    refused(&e, "queue short: priority is 1001");
    example_init(&e);
    e.policy.default_queue = "long";
    refused(&e, "the default queue \"long\"");
    example_init(&e);
    e.policy.gpu_weight = -1;
    refused(&e, "a weight of usage is -1");
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_policy_is_taken),
        cmocka_unit_test(bad_accounts_are_refused),
        cmocka_unit_test(a_user_is_in_one_account),
        cmocka_unit_test(the_tree_has_a_depth_limit),
        cmocka_unit_test(bad_queues_and_weights_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
