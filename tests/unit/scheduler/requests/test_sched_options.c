/* Options of tasks, one by one, in the scheduler's core: named resources, GPU memory, workers by
 * name, retry backoff, priorities. */
#include "tests/unit/scheduler/sched_world.h"

#define SECOND (1000 * MS)

struct offer {
    const char *name, *host, *resources;
    uint32_t slots;
    const char *gpus; /* a digit per GPU: its memory in half GiB */
};

static void offer_from(struct world *w, int number, const char *address, struct offer o)
{
    uint64_t peer = WORKER + (uint64_t)number;
    uint8_t gpus[64] = {0x90};
    uint32_t size = 1;
    for (const char *gpu = o.gpus; gpu && *gpu; gpu++) { /* ["u", "n", bytes] */
        const uint8_t one[] = {0x93, 0xa1, 'u', 0xa1, 'n', 0xce, (uint8_t)((*gpu - '0') << 5),
                               0,    0,    0};
        gpus[0]++;
        memcpy(gpus + size, one, sizeof one);
        size += sizeof one;
    }
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {peer},
                                    .role = GW_ROLE_WORKER,
                                    .text = o.name,
                                    .address = address});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 1,
                                             .slots = o.slots,
                                             .memory_bytes = 1000,
                                             .gpus = {gpus, size},
                                             .host = o.host ? o.host : o.name,
                                             .address = o.name,
                                             .resources = o.resources}});
}

static void offer(struct world *w, int number, struct offer o)
{
    offer_from(w, number, NULL, o);
}

static void refused(struct world *w, int32_t code, const char *text)
{
    const struct gw_msg_rejected *rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_int_equal(rejected->code, code);
    if (!strstr(rejected->text, text))
        fail_msg("%s", rejected->text);
}

/* -- Tests ---------------------------------------------------------------------------------------
 */

static void named_resources_are_taken_and_returned(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"a", NULL, NULL, 8, NULL});
    offer(w, 1, (struct offer){"b", NULL, "license=3", 4, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.resources = "license=2"});
    uint64_t first = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.resources = "license=2"});
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0)); /* one license is left */
    explained(w, 2, "2 of license; ");
    submit_task(w, 3, (struct gw_msg_spec){.resources = "license=1"}); /* the remaining license */
    must(w, WORKER + 1, GW_MESSAGE_assign);
    finish(w, 1, first, GW_RANK_NONE, 1);
    must(w, WORKER + 1, GW_MESSAGE_assign);
    submit_task(w, 4, (struct gw_msg_spec){.resources = "license=4"});
    refused(w, GW_EINFEASIBLE, "no worker offers 4 of `license`: the most is 3");
    submit_task(w, 5, (struct gw_msg_spec){.resources = "tape=1"});
    refused(w, GW_EINFEASIBLE, "no worker offers any of `tape`");
    submit_task(w, 6, (struct gw_msg_spec){.resources = "tape=x"});
    refused(w, GW_EINVAL, "resources: tape=x");
    free_world(w);
}

static void each_rank_takes_its_own_named_resources(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"a", NULL, "tape=1", 8, NULL});
    offer(w, 1, (struct offer){"b", NULL, "tape=2", 8, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .resources = "tape=1"});
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.local, 1);
    assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_gang)->gang.local, 2);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 4, .resources = "tape=1"});
    refused(w, GW_EINFEASIBLE, "room for 3 ranks");
    free_world(w);
}

static void task_gets_the_smallest_gpu_with_enough_memory(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"a", NULL, NULL, 8, "42"});
    submit_task(
        w, 1,
        (struct gw_msg_spec){.gpus = 1}); /* the small GPU: the other is for tasks that need it */
    assert_int_equal(gw_col32_at(must(w, WORKER, GW_MESSAGE_assign)->assign.gpus, 0), 1);
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .gpu_memory_bytes = UINT64_C(3) << 29});
    assert_int_equal(gw_col32_at(must(w, WORKER, GW_MESSAGE_assign)->assign.gpus, 0), 0);
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 1, .gpu_memory_bytes = UINT64_C(5) << 29});
    refused(w, GW_EINFEASIBLE, "no GPU has 2.5 GiB of memory: the largest has 2.0 GiB");
    submit_task(w, 4, (struct gw_msg_spec){.gpus = 2, .gpu_memory_bytes = UINT64_C(3) << 29});
    refused(w, GW_EINFEASIBLE, "2 GPUs with 1.5 GiB each");
    free_world(w);
}

static void task_waits_for_its_named_worker(void **state)
{
    struct world *w = new_world();
    (void)state;
    submit_task(
        w, 9,
        (struct gw_msg_spec){.workers = "nobody"}); /* no worker is connected yet: it may come */
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0));
    offer(w, 0, (struct offer){"w-1", "h", NULL, 8, NULL});
    offer(w, 1, (struct offer){"w-2", "h", NULL, 1, NULL});
    offer(w, 2, (struct offer){"w-3", "i", NULL, 1, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.workers = "w-2"});
    uint64_t first = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.workers = "w-2"});
    assert_null(
        sent(w, WORKER, GW_MESSAGE_assign, 0)); /* eight free slots elsewhere do not matter */
    finish(w, 1, first, GW_RANK_NONE, 1);
    must(w, WORKER + 1, GW_MESSAGE_assign);
    submit_task(w, 3, (struct gw_msg_spec){.workers = "i,w-2"}); /* by the name of its host */
    must(w, WORKER + 2, GW_MESSAGE_assign);
    submit_task(w, 4, (struct gw_msg_spec){.workers = "w-4"});
    refused(w, GW_ENOENT,
            "no worker or host is called w-4: give another name (connected: w-1 on h, w-2 on h, "
            "w-3 on i)");
    submit_task(w, 5, (struct gw_msg_spec){.workers = "w-2", .slots = 2});
    refused(w, GW_EINFEASIBLE, "on w-2");
    free_world(w);
}

static void task_waits_for_a_named_worker_that_was_lost(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"w-1", "h", NULL, 8, NULL});
    offer(w, 1, (struct offer){"w-2", "h", NULL, 1, NULL});
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 1}});
    submit_task(w, 1, (struct gw_msg_spec){.workers = "w-2"});
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0));
    explained(w, 1, "w-2, which it asks for, is disconnected and may reconnect");
    offer(w, 2, (struct offer){"w-2", "h", NULL, 1, NULL});
    must(w, WORKER + 2, GW_MESSAGE_assign);
    free_world(w);
}

/* Hostfiles use all of these forms. */
static void host_matches_by_name_domain_or_address(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer_from(w, 0, "10.0.0.2", (struct offer){"w-0", "gpu0.site.org", NULL, 8, NULL});
    offer_from(w, 1, "fe80::1", (struct offer){"w-1", "gpu1", NULL, 8, NULL});
    static const char *const names[] = {"gpu1", "GPU1", "gpu1.site.org", "[fe80::1]", "[FE80::1]"};
    for (uint64_t i = 0; i < sizeof names / sizeof *names; i++) {
        submit_task(w, 1 + i, (struct gw_msg_spec){.workers = names[i]});
        must(w, WORKER + 1, GW_MESSAGE_assign);
    }
    submit_task(w, 11, (struct gw_msg_spec){.ranks = 2, .workers = "[fe80::1]:1,Gpu0:1"});
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.local, 1);
    submit_task(w, 12, (struct gw_msg_spec){.workers = "gpu0.other.org"});
    refused(w, GW_ENOENT, "no worker or host is called gpu0.other.org");
    submit_task(w, 13,
                (struct gw_msg_spec){.workers = "W-0"}); /* worker names are case sensitive */
    refused(w, GW_ENOENT, "no worker or host is called W-0");
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
    static const char *const gone[] = {"gpu0", "GPU0.site.org", "10.0.0.2"};
    for (uint64_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        submit_task(w, 20 + i, (struct gw_msg_spec){.workers = gone[i]});
        assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0)); /* lost workers are waited for */
    }
    submit_task(w, 30, (struct gw_msg_spec){.workers = "gpu0.other.org"});
    refused(w, GW_ENOENT, "no worker or host is called gpu0.other.org");
    free_world(w);
}

static void preferred_worker_is_used_while_it_has_slots(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"w-1", NULL, NULL, 8, NULL});
    offer(w, 1, (struct offer){"w-2", NULL, NULL, 1, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.workers = "w-2,unheard-of", .workers_prefer = 1});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    explained(
        w, 1,
        "called unheard-of, which it prefers"); /* the task runs, and the explanation says so */
    submit_task(w, 2, (struct gw_msg_spec){.workers = "w-2,unheard-of", .workers_prefer = 1});
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

static void failed_task_waits_for_its_backoff(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"a", NULL, NULL, 1, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.retries = 3, .backoff_ns = 1600 * MS});
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    assert_true(gw_sched_deadline_ns(w->sched) <= w->now_ns + 1600 * MS);
    explained(w, 1, "it waits 1.6s before attempt 2 of 4");
    pass(w, 1599 * MS);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    pass(w, MS);
    const uint64_t last = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    fail_attempt(w, 0, last);
    explained(w, 1, "it waits 3.2s before attempt 3 of 4"); /* twice as long */
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {5, 1, 0, 0}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.code, GW_ECANCELLED);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.attempt, last); /* its output */
    pass(w, 10 * SECOND);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    free_world(w);
}

static void user_retry_renews_the_retry_budget(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"a", NULL, NULL, 1, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.retries = 1, .backoff_ns = 1600 * MS});
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    pass(w, 1600 * MS);
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    explained(w, 1, "failed");
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_retry, .retry = {5, 1, 0}});
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    explained(w, 1, "it waits 1.6s before attempt 4 of 4");
    free_world(w);
}

static void retry_backoff_is_at_most_five_minutes(void **state)
{
    struct world *w = new_world();
    (void)state;
    offer(w, 0, (struct offer){"a", NULL, NULL, 1, NULL});
    submit_task(w, 1, (struct gw_msg_spec){.retries = 9, .backoff_ns = 200 * SECOND});
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    explained(w, 1, "it waits 3m20s");
    for (int i = 0; i < 100; i++) { /* without heartbeats, its worker would be lost */
        say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat});
        pass(w, 2 * SECOND);
    }
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    explained(w, 1, "it waits 5m");
    free_world(w);
}

/* Short tasks queue at a worker for the length of its queue. A later, more urgent task waits for
 * the queued tasks and for no other. */
static void overtakes_all_but_the_window(uint32_t kind)
{
    enum { WINDOW = 4 }; /* 20 ms of tasks of 5 ms */
    struct world *w = new_world();
    uint64_t queued[64] = {0};
    size_t first = 0, count = 0, ended = 0, most = 0;
    offer(w, 0, (struct offer){"a", NULL, NULL, 1, NULL});
    for (uint64_t request = 1; request <= 4; request++) {
        if (request == 1)
            send_spec(w, (struct gw_msg_spec){.key = request, .kind = kind});
        else
            send_spec(w, (struct gw_msg_spec){.key = request, .kind = kind, .priority = -1});
        submit(w, (struct chunk){request, 8, GW_SUBMIT_LAST, false, 0});
        const struct gw_message *assign = sent(w, WORKER, GW_MESSAGE_assign, 0);
        for (uint32_t i = 0; assign && i < assign->assign.attempt.count; i++)
            queued[count++] = attempt_in(assign, i);
    }
    bool urgent = false;
    while (!urgent && ended < 20) {
        if (ended == 6) {
            submit_task(w, 9, (struct gw_msg_spec){.priority = 5}); /* across jobs */
            assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
        }
        assert_true(count - first >= 1 && count - first <= WINDOW);
        most = count - first > most ? count - first : most;
        finish_after(w, 0, queued[first++], 5 * MS);
        ended++;
        const struct gw_message *assign = sent(w, WORKER, GW_MESSAGE_assign, 0);
        for (uint32_t i = 0; assign && i < assign->assign.attempt.count; i++) {
            urgent = urgent || gw_col64_at(assign->assign.job, i) == 5;
            queued[count++] = attempt_in(assign, i);
            assert_true(ended <= 6 || urgent); /* no other task goes before it */
        }
    }
    assert_true(urgent && ended <= 6 + WINDOW);
    assert_int_equal(most, WINDOW - 1); /* a run takes a little longer than 5 ms */
    free_world(w);
}

static void urgent_task_overtakes_all_but_the_worker_queue(void **state)
{
    (void)state;
    overtakes_all_but_the_window(GW_SPEC_FUNCTION);
    overtakes_all_but_the_window(GW_SPEC_COMMAND);
}

static void urgent_task_of_a_job_runs_first(void **state)
{
    struct world *w = new_world();
    uint32_t specs[] = {0, 1}, zeros[2] = {0};
    (void)state;
    send_spec(w, (struct gw_msg_spec){.key = 1});
    send_spec(w, (struct gw_msg_spec){.key = 1, .number = 1, .priority = 1});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_submit,
                            .submit = {.request = 1,
                                       .flags = GW_SUBMIT_LAST,
                                       .name = "j",
                                       .spec = {specs, 2},
                                       .args_size = {zeros, 2},
                                       .dep_count = {zeros, 2},
                                       .targets = {specs, 2}}});
    offer(w, 0, (struct offer){"a", NULL, NULL, 1, NULL});
    assert_int_equal(gw_col32_at(must(w, WORKER, GW_MESSAGE_assign)->assign.index, 0), 1);
    free_world(w);
}

/* The chains of an older job take each free slot first; explain says so. */
static void explain_tells_that_older_work_runs_first(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.time_limit_ns = SECOND});
    send_spec(w, (struct gw_msg_spec){.key = 2});
    submit(w, (struct chunk){2, 8, GW_SUBMIT_LAST, true, 0});
    submit_task(w, 3, (struct gw_msg_spec){.slots = 2});
    explained(w, 3,
              "; older jobs go first: job 2 (a job that is submitted with --priority 1 would");
    send_spec(w, (struct gw_msg_spec){.key = 4});
    submit(w, (struct chunk){4, 8, GW_SUBMIT_LAST, true, 0});
    submit_task(w, 5, (struct gw_msg_spec){.slots = 2, .priority = -3});
    explained(w, 5, "; older jobs go first: job 2 and 2 others (");
    explained(w, 5, "--priority -2 would");
    submit_task(w, 6, (struct gw_msg_spec){.slots = 2, .priority = 7});
    assert_null(strstr(explain(w, 6, -1), "older work"));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_resources_are_taken_and_returned),
        cmocka_unit_test(each_rank_takes_its_own_named_resources),
        cmocka_unit_test(task_gets_the_smallest_gpu_with_enough_memory),
        cmocka_unit_test(task_waits_for_its_named_worker),
        cmocka_unit_test(task_waits_for_a_named_worker_that_was_lost),
        cmocka_unit_test(host_matches_by_name_domain_or_address),
        cmocka_unit_test(preferred_worker_is_used_while_it_has_slots),
        cmocka_unit_test(failed_task_waits_for_its_backoff),
        cmocka_unit_test(user_retry_renews_the_retry_budget),
        cmocka_unit_test(retry_backoff_is_at_most_five_minutes),
        cmocka_unit_test(urgent_task_overtakes_all_but_the_worker_queue),
        cmocka_unit_test(urgent_task_of_a_job_runs_first),
        cmocka_unit_test(explain_tells_that_older_work_runs_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
