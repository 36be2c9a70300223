/* Where the ranks of a gang go: few hosts, many, so many at each, or one. */
#include "tests/unit/sched_world.h"

enum { HOSTS = 4 };

/* A gang of this spec; gives how many ranks each worker got. */
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

static void few_workers_are_taken(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 2}, (uint32_t[]){2, 0, 0, 0}); /* least to spare */
    placed((struct gw_msg_spec){.ranks = 5}, (uint32_t[]){0, 0, 0, 5});
    placed((struct gw_msg_spec){.ranks = 8}, (uint32_t[]){0, 2, 0, 6});
    placed((struct gw_msg_spec){.ranks = 16}, (uint32_t[]){2, 4, 4, 6});
}

static void many_workers_are_taken_evenly(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 3, .spread = 1}, (uint32_t[]){0, 1, 1, 1});
    placed((struct gw_msg_spec){.ranks = 4, .spread = 1}, (uint32_t[]){1, 1, 1, 1});
    placed((struct gw_msg_spec){.ranks = 6, .spread = 1}, (uint32_t[]){1, 2, 1, 2});
    placed((struct gw_msg_spec){.ranks = 12, .spread = 1}, (uint32_t[]){2, 3, 3, 4});
    placed((struct gw_msg_spec){.ranks = 16, .spread = 1}, (uint32_t[]){2, 4, 4, 6});
}

static void nodes_have_so_many_each(void **state)
{
    (void)state;
    placed((struct gw_msg_spec){.ranks = 4, .ranks_per_node = 1}, (uint32_t[]){1, 1, 1, 1});
    placed((struct gw_msg_spec){.ranks = 6, .ranks_per_node = 3}, (uint32_t[]){0, 3, 3, 0});
    placed((struct gw_msg_spec){.ranks = 5, .ranks_per_node = 5}, (uint32_t[]){0, 0, 0, 5});
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

static void what_never_fits_is_refused(void **state)
{
    (void)state;
    refused((struct gw_msg_spec){.ranks = 7, .ranks_per_node = 7},
            "fits no worker of this cluster as a whole: the largest has 6 slots");
    refused((struct gw_msg_spec){.ranks = 16, .ranks_per_node = 4},
            "3 of its 4 workers have room for that many");
    refused((struct gw_msg_spec){.ranks = 17}, "room for 16 ranks");
    refused((struct gw_msg_spec){.ranks = 5, .ranks_per_node = 2}, "whole nodes");
    refused((struct gw_msg_spec){.ranks = 4, .ranks_per_node = 2, .spread = 1}, "not spread");
}

/* A node is reserved as a whole: what comes free there is kept until all of it is. */
static void nodes_wait_for_whole_nodes(void **state)
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
    add_worker(w, 1, 2, "b"); /* a whole one, before that has come free */
    assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_assign)->assign.attempt.count, 2);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 1);
    finish(w, 0, second, GW_RANK_NONE, 1);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_workers_are_taken),
        cmocka_unit_test(many_workers_are_taken_evenly),
        cmocka_unit_test(nodes_have_so_many_each),
        cmocka_unit_test(what_never_fits_is_refused),
        cmocka_unit_test(nodes_wait_for_whole_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
