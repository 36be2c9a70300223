/* A scheduler ends if its history is shorter than a worker knows, and for no other reason. */
#include "tests/unit/scheduler/sched_world.h"

#include <stdlib.h>

enum { LIFE = 5, BEGAN_WITH = 20 };

/* A scheduler that began with this many commits. */
static struct world *begin(void)
{
    struct world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->speaker = CLIENT;
    w->now_ns = MS;
    w->sched = gw_sched_new(
        &(struct gw_sched_options){.state_dir = "/s", .keeps_workers = true, .cluster = "ours"});
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_START, .number = 3, .seed = LIFE, .bytes = BEGAN_WITH});
    return w;
}

/* A worker that runs attempt 1<<48 of job 4 connects. */
static void register_worker(struct world *w, const char *cluster, uint64_t life, uint64_t commits)
{
    static const uint64_t attempt[] = {UINT64_C(1) << 48}, job[] = {4};
    static const uint32_t rank[] = {GW_RANK_NONE}, zero[] = {0};
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {WORKER},
                                    .role = GW_ROLE_WORKER,
                                    .text = "worker-1"});
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 7,
                                             .slots = 1,
                                             .memory_bytes = 1000,
                                             .host = "h",
                                             .address = "h",
                                             .attempt = {attempt, 1},
                                             .attempt_rank = {rank, 1},
                                             .attempt_job = {job, 1},
                                             .attempt_index = {zero, 1},
                                             .attempt_claim = {zero, 1},
                                             .attempt_world = {zero, 1},
                                             .attempt_gpu_count = {zero, 1},
                                             .cluster = cluster,
                                             .life = life,
                                             .commits = commits}});
}

static const struct gw_effect *damage(const struct world *w)
{
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_DAMAGED)
            return &w->effects.list.items[i];
    return NULL;
}

static void worker_that_knows_later_commits_stops_the_scheduler(void **state)
{
    static const struct {
        const char *cluster;
        uint64_t life, commits, missing;
    } cases[] = {
        {"ours", LIFE - 1, BEGAN_WITH, 0},
        {"ours", LIFE - 1, BEGAN_WITH + 1, 1},
        {"ours", LIFE + 1, BEGAN_WITH + 9, 9}, /* a scheduler whose facts are gone, with its number
                                                */
        {"ours", LIFE, BEGAN_WITH + 9, 0},     /* it learned that from the present scheduler */
        {"theirs", LIFE - 1, BEGAN_WITH + 9, 0},
        {"", 0, 0, 0}, /* it was with no scheduler before */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = begin();
        (void)step(w, (struct gw_event){
                          .type = GW_EVENT_COMMITTED, .number = 1000, .bytes = BEGAN_WITH + 50});
        register_worker(w, cases[i].cluster, cases[i].life, cases[i].commits);
        const struct gw_effect *effect = damage(w);
        assert_int_equal(effect ? effect->number : 0, cases[i].missing);
        /* Its task is ended if the history has no job 4, but not if the history is damaged. */
        assert_int_equal(sent(w, WORKER, GW_MESSAGE_kill, 0) == NULL, effect != NULL);
        if (cases[i].missing == 9)
            assert_string_equal((const char *)effect->bytes.data,
                                "it ended with commit 20 when this scheduler started, but "
                                "worker-1 knows of commit 29: 9 commits are missing");
        free_world(w);
    }
}

static void heartbeats_contain_the_number_of_durable_commits(void **state)
{
    struct world *w = begin();
    (void)state;
    register_worker(w, "", 0, 0);
    for (uint64_t commits = BEGAN_WITH; commits < BEGAN_WITH + 3; commits++) {
        pass(w, GW_HEARTBEAT_NS);
        const struct gw_msg_heartbeat *told = &must(w, WORKER, GW_MESSAGE_heartbeat)->heartbeat;
        assert_int_equal(told->life, LIFE);
        assert_int_equal(told->commits, commits);
        (void)step(
            w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000, .bytes = commits + 1});
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_that_knows_later_commits_stops_the_scheduler),
        cmocka_unit_test(heartbeats_contain_the_number_of_durable_commits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
