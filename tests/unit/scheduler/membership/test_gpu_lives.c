/* What survives of the state of GPUs when workers or the scheduler restart: drained GPUs, and GPUs
 * that a process of a lost worker may use. */
#include "graph/wire/codec.h"
#include "tests/unit/scheduler/sched_life.h"

#include <gangway/value.h>

#include <stdio.h>
#include <stdlib.h>

#define SECOND (1000 * MS)

enum { ADMIN = CLIENT + 1 };

static struct world *begin(void)
{
    struct world *w = life_begin();
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {ADMIN},
                                    .role = GW_ROLE_CLIENT,
                                    .admin = true,
                                    .text = "ops"});
    return w;
}

static void push(struct gw_value *list, struct gw_value *value)
{
    assert_int_equal(gw_list_push(list, value), 0);
}

/* Worker `number`, of one machine, connects in this incarnation with two GPUs of this name. */
static void come_with(struct world *w, int number, uint64_t incarnation, const char *gpus)
{
    struct gw_value *list = gw_list();
    struct gw_buffer bytes = {0};
    char name[8], uuid[16];
    for (int i = 0; i < 2; i++) {
        struct gw_value *gpu = gw_list();
        (void)snprintf(uuid, sizeof uuid, "%s%d", gpus, i);
        push(gpu, gw_str(uuid));
        push(gpu, gw_str("Fake"));
        push(gpu, gw_i64(INT64_C(16) << 30));
        push(list, gpu);
    }
    assert_int_equal(gw_codec_encode(list, NULL, &bytes), 0);
    const uint64_t peer = WORKER + (uint64_t)number;
    (void)snprintf(name, sizeof name, "w%d", number);
    w->sequence[peer] = 0;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = name});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = incarnation,
                                             .slots = 8,
                                             .memory_bytes = 1000,
                                             .gpus = {bytes.data, (uint32_t)bytes.size},
                                             .machine = "m",
                                             .host = "m",
                                             .address = "m"}});
    gw_buffer_deinit(&bytes);
    gw_value_unref(list);
    life_commit(w);
}

static void come(struct world *w, int number, uint64_t incarnation)
{
    come_with(w, number, incarnation, "a");
}

static void disconnect_worker(struct world *w, int number)
{
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)number}});
    life_commit(w);
}

static void drain(struct world *w, int worker, uint32_t gpu, const char *why, bool lasts)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_gpu_drained, .gpu_drained = {gpu, why, lasts}});
    life_commit(w);
}

static int32_t ask_gpu(struct world *w, const char *uuid, bool out)
{
    say(w, ADMIN,
        (struct gw_message){.type = GW_MESSAGE_gpu_ask,
                            .gpu_ask = {.request = 9, .uuid = uuid, .drain = out}});
    int32_t code = must(w, ADMIN, GW_MESSAGE_reply)->reply.code;
    life_commit(w);
    return code;
}

/* The state of the first worker's GPU in the query "gpus": "free", "drained: why". */
static void assert_gpu(struct world *w, size_t number, const char *wanted)
{
    struct gw_value *answer;
    const char *state = "", *why = "";
    char text[400];
    assert_int_equal(gw_sched_query(w->sched, "gpus", NULL, &answer, NULL), 0);
    const struct gw_value *gpu = gw_value_at(answer, number);
    assert_int_equal(gw_value_get_str(gw_value_find(gpu, "state"), &state, NULL), 0);
    assert_int_equal(gw_value_get_str(gw_value_find(gpu, "drained"), &why, NULL), 0);
    (void)snprintf(text, sizeof text, "%s%s%s", state, *why ? ": " : "", why);
    assert_string_equal(text, wanted);
    gw_value_unref(answer);
}

static void over(void)
{
    gw_buffer_deinit(&life_facts);
    life_facts = (struct gw_buffer){0};
}

/* A broken GPU stays drained if its worker or the scheduler restarts; a GPU whose memory was not
 * freed is judged by its new worker. */
static void broken_gpu_stays_drained_across_restarts(void **state)
{
    struct world *w = begin();
    (void)state;
    come(w, 0, 1);
    drain(w, 0, 0, "Xid 79", true);
    drain(w, 0, 1, "5 GiB are still there", false);
    disconnect_worker(w, 0);
    come(w, 0, 2);
    assert_gpu(w, 0, "drained: Xid 79");
    assert_gpu(w, 1, "free");
    free_world(w);

    w = begin();
    come(w, 0, 3);
    assert_gpu(w, 0, "drained: Xid 79");
    assert_int_equal(ask_gpu(w, "a1", false), GW_EINVAL);
    assert_int_equal(ask_gpu(w, "a0", false), 0);
    assert_null(
        sent(w, WORKER, GW_MESSAGE_gpu_undrain, 0)); /* the worker does not know of the drain */
    assert_gpu(w, 0, "free");
    free_world(w);

    w = begin();
    come(w, 0, 3);
    assert_gpu(w, 0, "free");
    free_world(w);
    over();
}

/* No broken GPU is forgotten, however many there are. */
static void thousands_of_broken_gpus_stay_drained(void **state)
{
    enum { WORKERS = 2100 };
    struct world *w = begin();
    char name[8];
    (void)state;
    for (uint64_t i = 0; i < WORKERS; i++) {
        (void)snprintf(name, sizeof name, "%u-", (unsigned)i);
        come_with(w, 0, i + 1, name);
        drain(w, 0, 0, "Xid 79", true);
        drain(w, 0, 1, "Xid 48", true);
        disconnect_worker(w, 0);
    }
    for (int lives = 0; lives < 2; lives++) {
        come_with(w, 0, WORKERS + 1, "0-");
        assert_gpu(w, 0, "drained: Xid 79");
        assert_gpu(w, 1, "drained: Xid 48");
        free_world(w);
        w = begin();
    }
    free_world(w);
    over();
}

static void gpu_of_an_absent_worker_can_be_undrained(void **state)
{
    struct world *w = begin();
    (void)state;
    come(w, 0, 1);
    drain(w, 0, 0, "Xid 48", true);
    disconnect_worker(w, 0);
    assert_int_equal(ask_gpu(w, "a0", false), 0);
    assert_int_equal(ask_gpu(w, "a0", false), GW_ENOENT);
    come(w, 0, 2);
    assert_gpu(w, 0, "free");
    free_world(w);
    over();
}

/* An admin drains the GPU: its task continues, and no task follows. */
static void admin_drain_lets_the_task_finish_and_blocks_new_tasks(void **state)
{
    struct world *w = begin();
    (void)state;
    come(w, 0, 1);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 2});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    assert_int_equal(ask_gpu(w, "a7", true), GW_ENOENT);
    assert_int_equal(ask_gpu(w, "a1", true), 0);
    assert_gpu(w, 1, "drained: by ops (user 0)");
    finish(w, 0, attempt, GW_RANK_NONE, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    send_spec(w, (struct gw_msg_spec){.key = 2, .gpus = 1});
    submit(w, (struct chunk){2, 2, GW_SUBMIT_LAST, false, 0});
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.index.count, 1);
    free_world(w);
    w = begin();
    come(w, 0, 1);
    assert_gpu(w, 1, "drained: by ops (user 0)");
    assert_int_equal(ask_gpu(w, "a1", false), 0);
    assert_gpu(w, 1, "free");
    free_world(w);
    over();
}

/* After a restart of the scheduler, too, no task gets a GPU that a task of a lost worker may
 * still use. */
static void gpu_of_a_lost_worker_stays_reserved_after_a_restart(void **state)
{
    struct world *w = begin();
    (void)state;
    come(w, 0, 1);
    come(w, 1, 2);
    disconnect_worker(w, 0);
    free_world(w);

    w = begin();
    come(w, 1, 2); /* it offers the GPUs, too, and does not know who has them */
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 0});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1});
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    pass(w, GW_LOST_NS - SECOND);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    say(w, WORKER + 1, (struct gw_message){.type = GW_MESSAGE_heartbeat});
    pass(w, 2 * SECOND);
    must(w, WORKER + 1, GW_MESSAGE_assign);
    life_commit(w);
    free_world(w);

    w = begin(); /* the first worker is forgotten by now: the scheduler waits only for the other one
                  */
    come(w, 1, 2);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    free_world(w);
    over();
}

/* A lost worker is forgotten once none of its processes can be on its GPUs. */
static void gpus_of_a_lost_worker_are_freed_after_the_timeout(void **state)
{
    struct world *w = begin();
    (void)state;
    come(w, 0, 1);
    come(w, 1, 2);
    disconnect_worker(w, 0);
    assert_true(gw_sched_deadline_ns(w->sched) <= w->now_ns + GW_LOST_NS);
    say(w, WORKER + 1, (struct gw_message){.type = GW_MESSAGE_heartbeat});
    pass(w, GW_LOST_NS / 2 + SECOND);
    say(w, WORKER + 1, (struct gw_message){.type = GW_MESSAGE_heartbeat});
    pass(w, GW_LOST_NS / 2 + SECOND);
    life_commit(w);
    free_world(w);
    w = begin();
    come(w, 1, 2);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    free_world(w);
    over();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_gpu_stays_drained_across_restarts),
        cmocka_unit_test(thousands_of_broken_gpus_stay_drained),
        cmocka_unit_test(gpu_of_an_absent_worker_can_be_undrained),
        cmocka_unit_test(admin_drain_lets_the_task_finish_and_blocks_new_tasks),
        cmocka_unit_test(gpu_of_a_lost_worker_stays_reserved_after_a_restart),
        cmocka_unit_test(gpus_of_a_lost_worker_are_freed_after_the_timeout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
