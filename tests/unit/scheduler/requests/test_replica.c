/* Replicas of results at the scheduler: which workers are asked, and what the client learns. */
#include "tests/unit/scheduler/sched_world.h"

enum { LARGE = 100000 };

/* A job of one task, whose large result is at worker 0 of `workers`. */
static struct world *world_with_result(int workers)
{
    struct world *w = new_world();
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    for (int i = 1; i < workers; i++)
        add_worker(w, i, 1, "b");
    finish(w, 0, attempt, GW_RANK_NONE, LARGE);
    return w;
}

static void replicate_of(struct world *w, uint64_t job, uint32_t copies, const char *workers)
{
    say(w, CLIENT,
        (struct gw_message){
            .type = GW_MESSAGE_replicate,
            .replicate = {
                .request = 7, .job = job, .index = 0, .copies = copies, .workers = workers}});
}

static void replicate(struct world *w, uint32_t copies, const char *workers)
{
    replicate_of(w, 1, copies, workers);
}

static const struct gw_msg_replica_request *request_of(const struct world *w, int worker)
{
    const struct gw_message *wanted =
        sent(w, WORKER + (uint64_t)worker, GW_MESSAGE_replica_request, 0);
    return wanted ? &wanted->replica_request : NULL;
}

static void answer(struct world *w, int worker, uint64_t request, int code)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){
            .type = GW_MESSAGE_replica_reply,
            .replica_reply = {
                .request = request, .job = 1, .code = code, .text = code ? "why" : ""}});
}

static void told(const struct world *w, int code, uint32_t copies, const char *text)
{
    const struct gw_msg_replicated *replicated =
        &must(w, CLIENT, GW_MESSAGE_replicated)->replicated;
    assert_int_equal(replicated->request, 7);
    assert_int_equal(replicated->code, code);
    assert_int_equal(replicated->copies, copies);
    assert_non_null(strstr(replicated->text, text));
}

static void lose(struct world *w, int worker)
{
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)worker}, .text = "gone"});
}

/* A worker with the result serves two others at a time, and so does each new replica. */
static void replicas_spread_like_a_tree(void **state)
{
    enum { WORKERS = 7 };
    struct world *w = world_with_result(WORKERS);
    uint64_t asked[WORKERS] = {0};
    int under_way = 0, most = 0;
    (void)state;
    replicate(w, 0, "");
    for (int have = 1; have < WORKERS; have++) {
        for (int i = 1; i < WORKERS; i++)
            if (request_of(w, i)) {
                assert_int_equal(asked[i], 0);
                asked[i] = request_of(w, i)->request;
                assert_true(request_of(w, i)->worker > 0 && request_of(w, i)->bytes == LARGE);
                under_way++;
            }
        assert_in_range(under_way, 1, 2 * have);
        most = under_way > most ? under_way : most;
        assert_null(sent(w, CLIENT, GW_MESSAGE_replicated, 0));
        int next = 1;
        while (!asked[next] || asked[next] == UINT64_MAX)
            next++;
        answer(w, next, asked[next], 0);
        asked[next] = UINT64_MAX;
        under_way--;
    }
    assert_true(most > 2);
    told(w, 0, WORKERS, "");
    free_world(w);
}

static void failed_replica_is_requested_three_times(void **state)
{
    struct world *w = world_with_result(2);
    (void)state;
    replicate(w, 2, "");
    for (int i = 0; i < 3; i++) {
        assert_non_null(request_of(w, 1));
        uint64_t request = request_of(w, 1)->request;
        answer(w, 1, request + 100, GW_ELOST); /* a reply without a request */
        assert_null(request_of(w, 1));
        answer(w, 1, request, GW_ELOST);
    }
    told(w, GW_ELOST, 1, "1 of 2 workers have a copy: worker 2: why");
    free_world(w);
}

static void worker_short_of_memory_gets_no_replica(void **state)
{
    struct world *w = world_with_result(3);
    struct gw_message paused = {.type = GW_MESSAGE_memory};
    (void)state;
    paused.memory = (struct gw_msg_memory){.state = GW_MEMORY_PAUSED, .trouble = ""};
    replicate(w, 2, "");
    int first = request_of(w, 1) ? 1 : 2, second = 3 - first;
    answer(w, first, request_of(w, first)->request,
           GW_ELIMIT); /* the worker knew before the scheduler did */
    answer(w, second, request_of(w, second)->request, 0);
    told(w, 0, 2, "");
    say(w, WORKER + (uint64_t)first, paused);
    replicate(w, 3, "");
    told(w, GW_ELIMIT, 2, "has too little free memory");
    replicate(w, 4, "");
    told(w, GW_ELIMIT, 2, "2 of 4");
    free_world(w);
}

static void worker_names_restrict_the_replicas(void **state)
{
    struct world *w = world_with_result(3); /* hosts a, b and b */
    (void)state;
    replicate(w, 3, "b");
    assert_non_null(request_of(w, 1));
    assert_non_null(request_of(w, 2));
    uint64_t second = request_of(w, 2)->request;
    answer(w, 1, request_of(w, 1)->request, 0);
    answer(w, 2, second, 0);
    told(w, GW_EINFEASIBLE, 2, "2 of 3 workers have a copy: there are only 2 of these names");
    replicate(w, 1, "b");
    told(w, 0, 2, "");
    replicate(w, 0, "c");
    told(w, GW_ENOENT, 0, "no worker or host is called c");
    replicate(w, 0, "b,");
    told(w, GW_EINVAL, 0, "workers");
    free_world(w);
}

/* Only the replica is left: nothing is recomputed, and a task that takes the result goes there. */
static void replica_survives_the_loss_of_the_first_worker(void **state)
{
    struct world *w = world_with_result(3);
    uint64_t job = 1;
    uint32_t zero = 0, one = 1;
    (void)state;
    replicate(w, 2, "");
    int target = request_of(w, 1) ? 1 : 2;
    answer(w, target, request_of(w, target)->request, 0);
    told(w, 0, 2, "");
    lose(w, 0);
    for (int i = 1; i <= 2; i++)
        assert_null(sent(w, WORKER + (uint64_t)i, GW_MESSAGE_assign, 0));

    send_spec(w, (struct gw_msg_spec){.key = 2});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_submit,
                            .submit = {.request = 2,
                                       .flags = GW_SUBMIT_LAST,
                                       .name = "",
                                       .spec = {&zero, 1},
                                       .args_size = {&zero, 1},
                                       .args = {"", 0},
                                       .dep_count = {&one, 1},
                                       .dep_job = {&job, 1},
                                       .dep_index = {&zero, 1},
                                       .dep_rank = {&zero, 1},
                                       .names = {"", 0},
                                       .targets = {&zero, 1}}});
    const struct gw_msg_assign *assign =
        &must(w, WORKER + (uint64_t)target, GW_MESSAGE_assign)->assign;
    assert_int_equal(gw_col32_at(assign->dep_worker, 0), target + 1);
    free_world(w);
}

static void lost_replica_target_is_replaced_by_another_worker(void **state)
{
    struct world *w = world_with_result(3);
    (void)state;
    replicate(w, 2, "");
    int first = request_of(w, 1) ? 1 : 2, second = 3 - first;
    lose(w, first);
    assert_non_null(request_of(w, second));
    answer(w, second, request_of(w, second)->request, 0);
    told(w, 0, 2, "");
    free_world(w);
}

/* The only worker with the result is lost during the copy: the result is recomputed and then
 * replicated. */
static void result_lost_during_replication_is_recomputed(void **state)
{
    struct world *w = world_with_result(3);
    (void)state;
    replicate(w, 2, "");
    int first = request_of(w, 1) ? 1 : 2;
    uint64_t request = request_of(w, first)->request;
    lose(w, 0);
    int maker = sent(w, WORKER + 1, GW_MESSAGE_assign, 0) ? 1 : 2;
    uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)maker, GW_MESSAGE_assign), 0);
    answer(w, first, request, GW_ELOST);
    assert_null(sent(w, CLIENT, GW_MESSAGE_replicated, 0));
    finish(w, maker, attempt, GW_RANK_NONE, LARGE);
    int other = 3 - maker;
    assert_non_null(request_of(w, other));
    answer(w, other, request_of(w, other)->request, 0);
    told(w, 0, 2, "");
    free_world(w);
}

static void release_cancels_a_running_replication(void **state)
{
    struct world *w = world_with_result(2);
    uint64_t job = 1;
    uint32_t zero = 0;
    (void)state;
    replicate(w, 2, "");
    uint64_t request = request_of(w, 1)->request;
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_release,
                            .release = {{&job, 1}, {&zero, 1}, {&zero, 1}}});
    told(w, GW_ENOENT, 0, "was released");
    must(w, WORKER, GW_MESSAGE_release);
    must(w, WORKER + 1, GW_MESSAGE_release);
    answer(w, 1, request, 0); /* the replica had arrived before */
    free_world(w);
}

static void replication_waits_for_the_end_of_the_task(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    int maker = sent(w, WORKER, GW_MESSAGE_assign, 0) ? 0 : 1;
    uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)maker, GW_MESSAGE_assign), 0);
    replicate(w, 0, "");
    assert_null(sent(w, CLIENT, GW_MESSAGE_replicated, 0));
    finish(w, maker, attempt, GW_RANK_NONE, 8); /* small: the scheduler has it */
    const struct gw_msg_replica_request *wanted = request_of(w, 0);
    assert_non_null(wanted);
    assert_int_equal(wanted->worker, 0);
    uint64_t other = request_of(w, 1)->request;
    answer(w, 0, wanted->request, 0);
    answer(w, 1, other, 0);
    told(w, 0, 2, "");
    replicate(w, 0, "");
    told(w, 0, 2, "");
    free_world(w);
}

/* Two jobs share a result, and both ask for replicas: one replica counts for both. */
static void replica_counts_for_all_jobs_that_share_the_result(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    submit_task(w, 1, (struct gw_msg_spec){.pure = 1});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.pure = 1});
    add_worker(w, 1, 1, "b");
    finish(w, 0, attempt, GW_RANK_NONE, LARGE);
    replicate_of(w, 2, 2, "");
    uint64_t request = request_of(w, 1)->request;
    replicate_of(w, 1, 2, "");
    assert_null(sent(w, CLIENT, GW_MESSAGE_replicated, 0));
    answer(w, 1, request, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const struct gw_message *message = sent(w, CLIENT, GW_MESSAGE_replicated, i);
        assert_non_null(message);
        assert_int_equal(message->replicated.code, 0);
        assert_int_equal(message->replicated.copies, 2);
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replicas_spread_like_a_tree),
        cmocka_unit_test(failed_replica_is_requested_three_times),
        cmocka_unit_test(worker_short_of_memory_gets_no_replica),
        cmocka_unit_test(worker_names_restrict_the_replicas),
        cmocka_unit_test(replica_survives_the_loss_of_the_first_worker),
        cmocka_unit_test(lost_replica_target_is_replaced_by_another_worker),
        cmocka_unit_test(result_lost_during_replication_is_recomputed),
        cmocka_unit_test(release_cancels_a_running_replication),
        cmocka_unit_test(replication_waits_for_the_end_of_the_task),
        cmocka_unit_test(replica_counts_for_all_jobs_that_share_the_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
