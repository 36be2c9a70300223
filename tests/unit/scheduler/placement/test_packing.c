/* Where the ranks of a gang are placed: on few hosts, on many, with equal counts, or on one. */
#include "tests/unit/scheduler/sched_world.h"

enum { HOSTS = 4 };

/* A gang of this spec; returns how many ranks each worker got. */
static uint32_t place(struct world *w, struct gw_msg_spec spec, uint32_t ranks[static HOSTS])
{
    static uint64_t request;
    uint32_t all = 0;
    spec.key = ++request;
    send_spec(w, spec);
    submit(w, (struct chunk){spec.key, 1, GW_SUBMIT_LAST, false, 0});
    for (uint64_t i = 0; i < HOSTS; i++) {
        const struct gw_message *assign = sent(w, WORKER + i, GW_MESSAGE_assign, 0);
        ranks[i] = assign ? assign->assign.attempt.count : 0;
        all += ranks[i];
    }
    return all;
}

/* Workers with 2, 4, 4 and 6 slots. */
static struct world *cluster(void)
{
    static const char *const hosts[] = {"a", "b", "c", "d"};
    static const uint32_t slots[] = {2, 4, 4, 6};
    struct world *w = new_world();
    for (int i = 0; i < HOSTS; i++)
        add_worker(w, i, slots[i], hosts[i]);
    return w;
}

static void placed(struct gw_msg_spec spec, const uint32_t wanted[static HOSTS])
{
    struct world *w = cluster();
    uint32_t ranks[HOSTS];
    assert_int_equal(place(w, spec, ranks), spec.ranks);
    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(ranks[i], wanted[i]);
    free_world(w);
}

static void packed_gang_uses_the_fewest_workers(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 2},
           (uint32_t[]){2, 0, 0, 0}); /* the worker with the fewest spare slots */
    placed((struct gw_msg_spec){.ranks = 5}, (uint32_t[]){0, 0, 0, 5});
    placed((struct gw_msg_spec){.ranks = 8}, (uint32_t[]){0, 2, 0, 6});
    placed((struct gw_msg_spec){.ranks = 16}, (uint32_t[]){2, 4, 4, 6});
}

static void spread_gang_uses_many_workers_evenly(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 3, .spread = 1}, (uint32_t[]){0, 1, 1, 1});
    placed((struct gw_msg_spec){.ranks = 4, .spread = 1}, (uint32_t[]){1, 1, 1, 1});
    placed((struct gw_msg_spec){.ranks = 6, .spread = 1}, (uint32_t[]){1, 2, 1, 2});
    placed((struct gw_msg_spec){.ranks = 12, .spread = 1}, (uint32_t[]){2, 3, 3, 4});
    placed((struct gw_msg_spec){.ranks = 16, .spread = 1}, (uint32_t[]){2, 4, 4, 6});
}

static void ranks_per_node_places_equal_counts(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 4, .ranks_per_node = 1}, (uint32_t[]){1, 1, 1, 1});
    placed((struct gw_msg_spec){.ranks = 6, .ranks_per_node = 3}, (uint32_t[]){0, 3, 3, 0});
    placed((struct gw_msg_spec){.ranks = 5, .ranks_per_node = 5}, (uint32_t[]){0, 0, 0, 5});
}

/* Each place gets its ranks, numbered in the order of the places. */
static void named_places_number_the_ranks_in_their_order(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 5, .workers = "d:2,a:1,c:2"}, (uint32_t[]){1, 0, 2, 2});
    placed((struct gw_msg_spec){.ranks = 6, .workers = "d:6"}, (uint32_t[]){0, 0, 0, 6});
    struct world *w = cluster();
    uint32_t ranks[HOSTS];
    (void)place(w, (struct gw_msg_spec){.ranks = 5, .workers = "d:2,a:1,c:2"}, ranks);
    static const uint32_t first[] = {2, 0, 3, 0}, local[] = {1, 0, 2, 2}, group[] = {1, 0, 2, 0};
    for (int i = 0; i < HOSTS; i++) {
        if (i == 1)
            continue;
        const struct gw_msg_gang *gang = &must(w, WORKER + (uint64_t)i, GW_MESSAGE_gang)->gang;
        assert_int_equal(gang->first_rank, first[i]);
        assert_int_equal(gang->local, local[i]);
        assert_int_equal(gang->group_rank, group[i]);
        assert_int_equal(gang->groups, 3);
    }
    free_world(w);
}

/* Of two workers on a host, the worker with the fewest spare slots takes the place; a worker
 * that is named by another place never does. */
static void ranks_of_a_named_place_run_on_a_single_worker(void **state)
{
    struct world *w = new_world();
    uint32_t ranks[HOSTS];
    (void)state;
    add_worker(w, 0, 4, "h");
    add_worker(w, 1, 3, "h");
    add_worker(w, 2, 2, "h");
    add_worker(w, 3, 2, "k");
    assert_int_equal(place(w, (struct gw_msg_spec){.ranks = 4, .workers = "h:3,k:1"}, ranks), 4);
    assert_int_equal(ranks[1], 3);
    assert_int_equal(ranks[3], 1);
    assert_int_equal(place(w, (struct gw_msg_spec){.ranks = 5, .workers = "h:4,k:1"}, ranks), 5);
    assert_int_equal(ranks[0], 4);
    free_world(w);
}

/* If a place lacks room, the other places are reserved until all ranks fit. */
static void named_places_are_reserved_until_all_ranks_fit(void **state)
{
    struct world *w = new_world();
    uint32_t ranks[HOSTS];
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 2, "b");
    assert_int_equal(place(w, (struct gw_msg_spec){.workers = "a"}, ranks), 1);
    uint64_t first = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    assert_int_equal(place(w, (struct gw_msg_spec){.ranks = 3, .workers = "b:2,a:1"}, ranks), 0);
    assert_int_equal(place(w, (struct gw_msg_spec){0}, ranks), 0); /* b is reserved */
    finish(w, 0, first, GW_RANK_NONE, 1);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 1);
    assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_assign)->assign.attempt.count, 2);
    free_world(w);
}

static void refused(struct gw_msg_spec spec, const char *words)
{
    struct world *w = cluster();
    spec.key = 1;
    send_spec(w, spec);
    const char *text = must(w, CLIENT, GW_MESSAGE_rejected)->rejected.text;
    if (!strstr(text, words))
        fail_msg("\"%s\" is not in \"%s\"", words, text);
    free_world(w);
}

static void rank_layout_error_counts_one_worker_of_each_name(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 4, "h");
    add_worker(w, 1, 3, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 5, .workers = "h:5"});
    const char *text = must(w, CLIENT, GW_MESSAGE_rejected)->rejected.text;
    if (!strstr(text, "room for 4: worker ") ||
        !strstr(text, "; 2 workers have this name, but only one"))
        fail_msg("%s", text);
    free_world(w);
}

static void impossible_layouts_are_refused_with_the_reason(void **state)
{
    (void)state;
    refused((struct gw_msg_spec){.ranks = 7, .ranks_per_node = 7},
            "fits no worker of this cluster as a whole: the largest has 6 slots");
    refused((struct gw_msg_spec){.ranks = 16, .ranks_per_node = 4},
            "3 of its 4 workers have room for that many");
    refused((struct gw_msg_spec){.ranks = 17}, "room for 16 ranks");
    refused((struct gw_msg_spec){.ranks = 5, .ranks_per_node = 2},
            "must be a multiple of the second");
    refused(
        (struct gw_msg_spec){.ranks = 5, .workers = "d:2,a:3"},
        "3 of the gang's 5 ranks are to go to a (each rank 1 slot, 2 on d and 3 on a), which has "
        "room for 2: worker a there has 2 slots");
    refused((struct gw_msg_spec){.ranks = 4, .workers = "d:2,a:1"}, "places for 3 ranks");
    refused((struct gw_msg_spec){.workers = "d:2,a:1"}, "and the gang has 0");
    refused((struct gw_msg_spec){.ranks = 2, .workers = "d:2", .spread = 1}, "no ranks_per_node");
    refused((struct gw_msg_spec){.ranks = 2, .workers = "d:2", .min_ranks = 1}, "min_ranks");
    refused((struct gw_msg_spec){.ranks = 3, .workers = "d:2,a"}, "\"a\" does not say how many");
    refused((struct gw_msg_spec){.ranks = 3, .workers = "d:2,x:1"},
            "no worker or host is called x");
    refused((struct gw_msg_spec){.ranks = 4, .ranks_per_node = 2, .spread = 1}, "cannot be spread");
}

/* A node is reserved as a whole: slots that become free there stay reserved until all are free. */
static void whole_nodes_are_reserved_until_they_are_free(void **state)
{
    struct world *w = new_world();
    uint32_t ranks[HOSTS];
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(place(w, (struct gw_msg_spec){0}, ranks), 1);
    uint64_t first = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    assert_int_equal(place(w, (struct gw_msg_spec){0}, ranks), 1);
    uint64_t second = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    assert_int_equal(place(w, (struct gw_msg_spec){.ranks = 2, .ranks_per_node = 2}, ranks), 0);
    assert_int_equal(place(w, (struct gw_msg_spec){0}, ranks), 0);
    finish(w, 0, first, GW_RANK_NONE, 1);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    add_worker(w, 1, 2, "b"); /* a whole node, before the first is free */
    assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_assign)->assign.attempt.count, 2);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 1);
    finish(w, 0, second, GW_RANK_NONE, 1);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_gang_uses_the_fewest_workers),
        cmocka_unit_test(spread_gang_uses_many_workers_evenly),
        cmocka_unit_test(ranks_per_node_places_equal_counts),
        cmocka_unit_test(named_places_number_the_ranks_in_their_order),
        cmocka_unit_test(ranks_of_a_named_place_run_on_a_single_worker),
        cmocka_unit_test(named_places_are_reserved_until_all_ranks_fit),
        cmocka_unit_test(rank_layout_error_counts_one_worker_of_each_name),
        cmocka_unit_test(impossible_layouts_are_refused_with_the_reason),
        cmocka_unit_test(whole_nodes_are_reserved_until_they_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
