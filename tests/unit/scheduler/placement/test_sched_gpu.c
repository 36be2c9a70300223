/* GPUs in the scheduler's core: which ones a rank gets, shares of them, those that are drained, and
 * what is said where there are not enough. */
#include "tests/unit/scheduler/sched_world.h"

#include "graph/wire/codec.h"

#define GIB (UINT64_C(1) << 30)

static void push(struct gw_value *list, struct gw_value *value)
{
    assert_int_equal(gw_list_push(list, value), 0);
}

/* A worker with a GPU of 16 GiB a letter; those of one letter are an island of NVLink. Capital
 * letters are MIG instances of 5 GiB, on the board of that letter; 'X' has one of 20 GiB. bridges,
 * nodes: the same of switches (NULL: each has its own) and of NUMA nodes (NULL: all are of one). */
static void add_gpus_at(struct world *w, int number, const char *name, const char *islands,
                        const char *bridges, const char *nodes)
{
    struct gw_value *list = gw_list();
    struct gw_buffer bytes = {0};
    for (size_t i = 0; islands[i]; i++) {
        struct gw_value *gpu = gw_list();
        char uuid[48];
        (void)snprintf(uuid, sizeof uuid, "%s%zu", name, i);
        push(gpu, gw_str(uuid));
        push(gpu, gw_str("Fake"));
        bool instance = islands[i] < 'a';
        int64_t gib = !instance ? 16 : islands[i] == 'X' ? 20 : 5;
        push(gpu, gw_i64(gib * (int64_t)GIB));
        push(gpu, gw_i64(instance ? 1000 + (int64_t)i : islands[i]));
        push(gpu, gw_i64(bridges ? bridges[i] : (int64_t)i));
        push(gpu, gw_i64(nodes ? nodes[i] : 0));
        push(gpu, gw_str(instance ? (const char[]){islands[i], '\0'} : ""));
        push(list, gpu);
    }
    assert_int_equal(gw_codec_encode(list, NULL, &bytes), 0);
    uint64_t peer = WORKER + (uint64_t)number;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = name});
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 1,
                                             .slots = 16,
                                             .memory_bytes = 1000,
                                             .gpus = {bytes.data, (uint32_t)bytes.size},
                                             .host = name,
                                             .address = name}});
    gw_buffer_deinit(&bytes);
    gw_value_unref(list);
}

static void add_gpus(struct world *w, int number, const char *name, const char *islands)
{
    add_gpus_at(w, number, name, islands, NULL, NULL);
}

/* The same, on a machine that others run on, too; each GPU has the name of its number. */
static void add_machine(struct world *w, int number, const char *name, uint32_t gpus,
                        const uint32_t *held)
{
    struct gw_value *list = gw_list();
    struct gw_buffer bytes = {0};
    const uint64_t attempt = 1, job = 1;
    const uint32_t zero = 0, none = GW_RANK_NONE, one = 1;
    for (uint32_t i = 0; i < gpus; i++) {
        struct gw_value *gpu = gw_list();
        push(gpu, gw_str((const char[]){(char)('0' + i), '\0'}));
        push(gpu, gw_str("Fake"));
        push(gpu, gw_i64(16 * (int64_t)GIB));
        push(list, gpu);
    }
    assert_int_equal(gw_codec_encode(list, NULL, &bytes), 0);
    uint64_t peer = WORKER + (uint64_t)number;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = name});
    struct gw_msg_registration registration = {.incarnation = 1 + (uint64_t)number,
                                               .slots = 16 + (uint32_t)number,
                                               .memory_bytes = 1000,
                                               .gpus = {bytes.data, (uint32_t)bytes.size},
                                               .host = name,
                                               .address = name,
                                               .machine = "one"};
    if (held) {
        registration.attempt = (struct gw_col64){(const void *)&attempt, 1};
        registration.attempt_job = (struct gw_col64){(const void *)&job, 1};
        registration.attempt_index = (struct gw_col32){(const void *)&zero, 1};
        registration.attempt_rank = (struct gw_col32){(const void *)&none, 1};
        registration.attempt_claim = (struct gw_col32){(const void *)&zero, 1};
        registration.attempt_world = (struct gw_col32){(const void *)&zero, 1};
        registration.attempt_gpu_count = (struct gw_col32){(const void *)&one, 1};
        registration.attempt_gpus = (struct gw_col32){(const void *)held, 1};
    }
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_registration, .registration = registration});
    gw_buffer_deinit(&bytes);
    gw_value_unref(list);
}

static void leaves(struct world *w, int number)
{
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)number}, .text = "gone"});
}

enum { LOST_S = GW_LOST_NS / GW_NS_PER_S };

/* Seconds pass, in which worker b is there. */
static void pass_seconds(struct world *w, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        w->now_ns += 1000 * MS - 1;
        say(w, WORKER + 1, (struct gw_message){.type = GW_MESSAGE_heartbeat});
    }
}

/* "0,1 2,3": the GPUs of each row of the assign that a worker was sent. */
static void assert_gpus(struct world *w, int worker, const char *wanted)
{
    const struct gw_msg_assign *assign =
        &must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign)->assign;
    char text[128] = "";
    uint32_t at = 0;
    for (uint32_t i = 0; i < assign->gpu_count.count; i++)
        for (uint32_t k = 0; k < gw_col32_at(assign->gpu_count, i); k++) {
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, "%s%u",
                           k   ? ","
                           : i ? " "
                               : "",
                           gw_col32_at(assign->gpus, at++));
        }
    assert_string_equal(text, wanted);
}

static void refused(struct world *w, int32_t code, const char *text)
{
    const struct gw_msg_rejected *rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_int_equal(rejected->code, code);
    if (!strstr(rejected->text, text))
        fail_msg("%s", rejected->text);
}

static void drain(struct world *w, int worker, uint32_t gpu, const char *why)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_gpu_drained, .gpu_drained = {gpu, why}});
}

static void end_badly(struct world *w, int worker, uint64_t attempt, uint32_t outcome,
                      const char *tail)
{
    attempt_ended(w, worker,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = outcome,
                                        .executing = 1,
                                        .exit_code = 1,
                                        .text = "exit code 1",
                                        .stderr_tail = tail});
}

/* -- Tests ---------------------------------------------------------------------------------------
 */

static void a_gang_is_packed_into_an_island(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaaabbbb");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1}); /* one island is left whole */
    assert_gpus(w, 0, "0");
    uint64_t one = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 2});
    assert_gpus(w, 0, "4,5 6,7");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 2}); /* of the one that was begun */
    assert_gpus(w, 0, "1,2");
    finish(w, 0, one, GW_RANK_NONE, 1);
    submit_task(w, 4, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "0 3");
    free_world(w);
}

static void a_worker_with_an_island_for_all_comes_first(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "abcd");
    add_gpus(w, 1, "b", "aabbbb");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 4, .gpus = 1});
    assert_gpus(w, 1, "2 3 4 5");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 4, .gpus = 1}); /* no island has four */
    assert_gpus(w, 0, "0 1 2 3");
    free_world(w);
}

static void the_smallest_island_that_suffices_is_taken(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaabb");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "3 4");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 3, .gpus = 1});
    assert_gpus(w, 0, "0 1 2");
    free_world(w);
}

/* One is taken of the first pair: what is left of that is no place for two. */
static void takes_the_whole_pair(const char *bridges, const char *nodes)
{
    struct world *w = new_world();
    add_gpus_at(w, 0, "a", "abcd", bridges, nodes);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "0");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "2 3");
    free_world(w);
}

static void without_links_a_switch_or_a_node_is_near(void **state)
{
    (void)state;
    takes_the_whole_pair("aabb", NULL);
    takes_the_whole_pair(NULL, "aabb");
    takes_the_whole_pair("aabb", "aabb");
}

static void shares_fill_a_gpu_before_the_next(void **state)
{
    struct world *w = new_world();
    uint64_t attempts[4];
    static const char *const gpus[] = {"0", "0", "1", "0"};
    static const uint32_t shares[] = {500, 300, 500, 200};
    (void)state;
    add_gpus(w, 0, "a", "aa");
    for (uint64_t i = 0; i < 4; i++) {
        submit_task(w, i + 1, (struct gw_msg_spec){.gpus = 1, .gpu_share = shares[i]});
        assert_gpus(w, 0, gpus[i]);
        attempts[i] = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    }
    submit_task(w, 5, (struct gw_msg_spec){.gpus = 1}); /* none is left whole */
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    submit_task(w, 6, (struct gw_msg_spec){.gpus = 1, .gpu_share = 600});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 0, attempts[2], GW_RANK_NONE, 1); /* its GPU is whole again */
    assert_gpus(w, 0, "1");
    finish(w, 0, attempts[0], GW_RANK_NONE, 1);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0)); /* half of it is free */
    finish(w, 0, attempts[1], GW_RANK_NONE, 1);
    assert_gpus(w, 0, "0");
    free_world(w);
}

static void a_share_has_memory_enough(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "a");
    submit_task(w, 1,
                (struct gw_msg_spec){.gpus = 1, .gpu_share = 250, .gpu_memory_bytes = 5 * GIB});
    refused(w, GW_EINFEASIBLE, "no GPU has 5.0 GiB of memory in such a share: the largest has 4.0");
    submit_task(w, 2,
                (struct gw_msg_spec){.gpus = 1, .gpu_share = 500, .gpu_memory_bytes = 5 * GIB});
    assert_gpus(w, 0, "0");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 2, .gpu_share = 500});
    refused(w, GW_EINVAL, "500 thousandths of 2 GPUs");
    free_world(w);
}

static void what_never_fits_is_refused_by_what_is_missing(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aa");
    add_gpus(w, 1, "b", "");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 3});
    refused(w, GW_EINFEASIBLE, "it wants 3 GPUs a rank; the largest worker has 2");
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .workers = "b"});
    refused(w, GW_EINFEASIBLE, "it wants 1 GPU; no worker has any");
    drain(w, 0, 1, "Xid 79");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 2});
    refused(w, GW_EINFEASIBLE, "the largest worker has 1 (1 more is drained: Xid 79)");
    free_world(w);
}

static void what_is_drained_is_not_counted(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaaa");
    for (uint32_t gpu = 0; gpu < 3; gpu++)
        drain(w, 0, gpu, "Xid 48");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    refused(w, GW_EINFEASIBLE,
            "1 GPU (3 more are drained) in all, room for 1 rank; its largest worker");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    refused(w, GW_EINFEASIBLE, "slots, 1 GPU (3 more drained), ");
    free_world(w);
}

static void assert_formatted(struct gw_value *value, const char *wanted)
{
    char text[4096];
    (void)gw_value_format(value, text, sizeof text);
    if (!strstr(text, wanted))
        fail_msg("%s is not in %s", wanted, text);
}

static void what_ranks_use_and_where_they_are_is_told(void **state)
{
    struct world *w = new_world();
    const uint64_t used[] = {3 * GIB, GIB, 0};
    const uint32_t processes[] = {1, 1, 0}, power[] = {250000, 50400, 0}, busy[] = {90, 30, 0},
                   clearing[] = {0, 0, 0};
    (void)state;
    add_gpus(w, 0, "a", "aab");
    add_gpus(w, 1, "b", "aa");
    struct gw_value *told = ask(w, "status", 1, -1);
    assert_formatted(told, "\"gpu_use\": []");
    gw_value_unref(told);
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .gpus = 1, .workers = "a:2,b:1"});
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .gpu_share = 500, .workers = "a"});
    const struct gw_message usage = {
        .type = GW_MESSAGE_gpu_usage,
        .gpu_usage = {{used, 3}, {processes, 3}, {power, 3}, {busy, 3}, {clearing, 3}}};
    say(w, WORKER, usage);
    drain(w, 0, 2, "Xid 48");
    told = ask(w, "status", 1, -1);
    assert_formatted(told, "\"gpus_used_bytes\": 4294967296, \"gpus_busy_percent\": 24");
    assert_formatted(told, "\"gpus_power\": \"300 W\"");
    assert_formatted(told, "{\"job\": 1, \"task\": 0, \"rank\": 0, \"worker\": \"a\", \"gpus\": "
                           "\"0\", \"memory_bytes\": 17179869184, \"used_bytes\": 3221225472, "
                           "\"busy_percent\": 90, \"power_w\": 250, \"power\": \"250 W\"}");
    assert_formatted(told, "\"rank\": 2, \"worker\": \"b\", \"gpus\": \"0\"");
    assert_formatted(told, "{\"job\": 2, \"task\": 0, \"worker\": \"a\", \"gpus\": "
                           "\"2 (0.5 of it)\"");
    gw_value_unref(told);
    told = ask(w, "tasks", 1, -1);
    assert_formatted(told, "\"worker\": 1, \"where\": \"a 0-1, b 2\", \"ranks\": 3, "
                           "\"world_size\": 3");
    gw_value_unref(told);
    told = ask(w, "workers", 1, -1);
    assert_formatted(told, "\"gpus_own\": \"2 of 3, 1 drained\"");
    assert_formatted(told, "\"gpus_own\": \"2\"");
    gw_value_unref(told);
    free_world(w);
}

static void nothing_is_placed_on_one_that_is_drained(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aa");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "0");
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    drain(w, 0, 0, "it fell off the bus");
    end_badly(w, 0, attempt, GW_OUTCOME_GPU, "");
    assert_gpus(w, 0, "1"); /* tried again at once, and uncharged */
    attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    drain(w, 0, 1, "it fell off the bus");
    end_badly(w, 0, attempt, GW_OUTCOME_GPU, "");
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 1, "no worker has any (2 more are drained: it fell off the bus)");
    drain(w, 0, 0, "");
    assert_gpus(w, 0, "0");
    free_world(w);
}

static int32_t ask_back(struct world *w, uint64_t peer, const char *uuid)
{
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_gpu_ask, .gpu_ask = {.request = 9, .uuid = uuid}});
    return must(w, peer, GW_MESSAGE_reply)->reply.code;
}

static void an_admin_gives_back_what_is_drained(void **state)
{
    struct world *w = new_world();
    const uint64_t admin = CLIENT + 1;
    (void)state;
    add_gpus(w, 0, "a", "ab");
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {admin},
                                    .role = GW_ROLE_CLIENT,
                                    .admin = true,
                                    .text = "ops"});
    /* from here on all is on disk at once, and answered so */
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000});
    assert_int_equal(ask_back(w, admin, "a1"), GW_EINVAL);
    assert_int_equal(ask_back(w, admin, "a7"), GW_ENOENT);
    drain(w, 0, 1, "Xid 48");
    assert_int_equal(ask_back(w, CLIENT, "a1"), GW_EPERM);
    assert_null(sent(w, WORKER, GW_MESSAGE_gpu_undrain, 0));
    assert_int_equal(ask_back(w, admin, "a1"), 0);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gpu_undrain)->gpu_undrain.gpu, 1);
    struct gw_value *told = ask(w, "gpus", 1, -1);
    assert_formatted(told, "\"state\": \"drained\""); /* its worker has the last word */
    gw_value_unref(told);
    drain(w, 0, 1, "");
    told = ask(w, "gpus", 1, -1);
    assert_formatted(told, "\"given_back\": \"given back by ops");
    assert_formatted(told, "it had been drained: Xid 48\", \"used_by\": [], \"by\": \"given back");
    gw_value_unref(told);
    drain(w, 0, 1, "Xid 79");
    told = ask(w, "gpus", 1, -1);
    assert_formatted(told, "\"drained\": \"Xid 79\", \"given_back\": \"\"");
    gw_value_unref(told);
    free_world(w);
}

static void running_out_of_memory_is_named(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "a");
    static const char *const said[] = {
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
        "ResourceExhaustedError: OOM when allocating tensor with shape[8192] by GPU_0_bfc",
        "NCCL error: unhandled cuda error. Cuda failure 2 'out of memory'",
    };
    const uint64_t count = sizeof said / sizeof *said;
    for (uint64_t i = 0; i < count; i++) {
        submit_task(w, 1 + i, (struct gw_msg_spec){.gpus = 1});
        end_badly(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_OUTCOME_FAILED,
                  said[i]);
        const char *text = must(w, CLIENT, GW_MESSAGE_failed)->failed.text;
        if (!strstr(text, "out of GPU memory (it has 16.0 GiB): exit code 1"))
            fail_msg("%s", text);
    }
    submit_task(w, 1 + count, (struct gw_msg_spec){.gpus = 0}); /* what has no GPU cannot */
    end_badly(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_OUTCOME_FAILED,
              "CUDA out of memory");
    assert_null(strstr(must(w, CLIENT, GW_MESSAGE_failed)->failed.text, "out of GPU memory"));
    free_world(w);
}

static void people_see_who_has_which(void **state)
{
    struct world *w = new_world();
    const uint64_t used[] = {5 * GIB, 0};
    const uint32_t processes[] = {1, 0}, power[] = {250000, 60000}, busy[] = {98, 0};
    const uint32_t clear[] = {0, 0};
    (void)state;
    add_gpus(w, 0, "a", "aa");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    say(w, WORKER,
        (struct gw_message){
            .type = GW_MESSAGE_gpu_usage,
            .gpu_usage = {{used, 2}, {processes, 2}, {power, 2}, {busy, 2}, {clear, 2}}});
    struct gw_value *workers = ask(w, "workers", 1, -1);
    const struct gw_value *gpus = gw_value_find(gw_value_at(workers, 0), "gpus"), *owner;
    const struct gw_value *gpu = gw_value_at(gpus, 0);
    const char *text;
    int64_t number;
    double watts;
    assert_int_equal(gw_value_get_i64(gw_value_find(gpu, "used_bytes"), &number, NULL), 0);
    assert_int_equal(number, 5 * (int64_t)GIB);
    assert_int_equal(gw_value_get_f64(gw_value_find(gpu, "power_w"), &watts, NULL), 0);
    assert_true(watts == 250);
    assert_int_equal(gw_value_get_str(gw_value_find(gpu, "state"), &text, NULL), 0);
    assert_string_equal(text, "used");
    owner = gw_value_at(gw_value_find(gpu, "used_by"), 0);
    assert_int_equal(gw_value_get_i64(gw_value_find(owner, "job"), &number, NULL), 0);
    assert_int_equal(number, 1);
    gpu = gw_value_at(gpus, 1);
    assert_int_equal(gw_value_count(gw_value_find(gpu, "used_by")), 0);
    gw_value_unref(workers);
    free_world(w);
}

static void who_waits_until_a_gpu_is_clear_is_told_so(void **state)
{
    struct world *w = new_world();
    const uint64_t used[] = {8 * GIB};
    const uint32_t zero[] = {0}, one[] = {1};
    (void)state;
    add_gpus(w, 0, "a", "a");
    const struct gw_message usage = {
        .type = GW_MESSAGE_gpu_usage,
        .gpu_usage = {{used, 1}, {one, 1}, {zero, 1}, {zero, 1}, {one, 1}}};
    say(w, WORKER, usage);
    struct gw_value *workers = ask(w, "workers", 1, -1);
    const struct gw_value *gpu = gw_value_at(gw_value_find(gw_value_at(workers, 0), "gpus"), 0);
    const char *text;
    assert_int_equal(gw_value_get_str(gw_value_find(gpu, "state"), &text, NULL), 0);
    assert_string_equal(text, "clearing");
    gw_value_unref(workers);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    explained(w, 1, "is back (8.0 GiB are in use");
    free_world(w);
}

/* -- MIG instances -------------------------------------------------------------------------------
 */

static void a_task_gets_an_instance_before_a_whole_one(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaX");
    add_gpus(w, 1, "b", "aaaAA");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "3");
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .workers = "a", .workers_prefer = 1});
    assert_gpus(w, 0, "2"); /* though it has more memory */
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 1, .gpu_memory_bytes = 6 * GIB, .workers = "b"});
    assert_gpus(w, 1, "0"); /* the instance is too small */
    submit_task(
        w, 4, (struct gw_msg_spec){.gpu_mode = GW_GPU_MODE_IF_ANY}); /* not where slots are free */
    assert_gpus(w, 1, "4");
    submit_task(w, 5, (struct gw_msg_spec){.gpus = 1}); /* and then whatever there is */
    assert_gpus(w, 0, "0");
    free_world(w);
}

static void a_gang_waits_for_whole_ones(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaAAA");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "0 1");
    uint64_t first = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 2, "3 of 5 GPUs (3 of them are MIG instances, and it waits for whole ones)");
    submit_task(w, 3,
                (struct gw_msg_spec){.gpus = 1}); /* of no use to it: nothing is kept of those */
    assert_gpus(w, 0, "2");
    for (uint32_t rank = 0; rank < 2; rank++)
        say(w, WORKER,
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {first, rank, {"", 0}, ""}});
    finish(w, 0, first, 0, 1);
    finish(w, 0, first, 1, 1);
    assert_gpus(w, 0, "0 1");
    free_world(w);
}

static void a_gang_that_whole_ones_never_suffice_gets_instances(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaAAABBC");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .gpus = 1});
    assert_gpus(w, 0, "2 5 7"); /* each on another board, and none whole */
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.board_shared, 0);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 3, .gpus = 1});
    assert_gpus(w, 0, "3 4 6"); /* as many as there are */
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.board_shared, 1);
    struct gw_value *story = ask(w, "story", 2, -1);
    char text[2048];
    (void)gw_value_format(story, text, sizeof text);
    if (!strstr(text, "some share a GPU's MIG instances, so that none can use NCCL"))
        fail_msg("%s", text);
    gw_value_unref(story);
    submit_task(w, 3, (struct gw_msg_spec){.ranks = 3, .gpus = 1, .min_ranks = 2});
    assert_gpus(w, 0, "0 1");
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.board_shared, 0);
    free_world(w);
}

static void what_a_gang_gets_follows_the_workers(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aAA");
    add_gpus(w, 1, "b", "a");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1, .workers = "b"});
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0)); /* it could have whole ones */
    drain(w, 0, 0, "Xid 79");
    assert_gpus(w, 0, "1 2");
    free_world(w);
}

static void ranks_on_different_boards_come_first(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "AA");
    add_gpus(w, 1, "b", "ABB");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 1, "0 1");
    free_world(w);
}

static void what_needs_whole_ones_is_refused(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aAAAA");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 2});
    refused(w, GW_EINFEASIBLE,
            "it wants 2 GPUs; the largest worker has 1 (4 MIG instances do not count: CUDA shows "
            "a process one, so that a rank with several GPUs needs whole ones)");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 2});
    refused(w, GW_EINFEASIBLE, "it wants 2 GPUs a rank; the largest worker has 1 (4 MIG");
    submit_task(w, 3, (struct gw_msg_spec){.ranks = 5, .gpus = 1});
    refused(w, GW_EINFEASIBLE,
            "the ranks of a gang get whole GPUs or MIG instances, never some of both: for 5 ranks "
            "there are 1 GPU and 4 instances");
    submit_task(w, 4, (struct gw_msg_spec){.ranks = 2, .gpus = 1, .gpu_memory_bytes = 6 * GIB});
    refused(w, GW_EINFEASIBLE, "does not fit this cluster");
    submit_task(w, 5, (struct gw_msg_spec){.ranks = 4, .gpus = 1}); /* instances alone suffice */
    assert_gpus(w, 0, "1 2 3 4");
    free_world(w);
}

static void shares_are_of_either(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aX");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .gpus = 1, .gpu_share = 500});
    assert_gpus(w, 0, "0 1 1");
    free_world(w);
}

/* -- One GPU, two workers ------------------------------------------------------------------------
 */

/* What the list of GPUs says of one. */
static void assert_by(struct world *w, size_t at, const char *wanted)
{
    struct gw_value *gpus = ask(w, "gpus", 1, -1);
    const char *text;
    assert_int_equal(gw_value_get_str(gw_value_find(gw_value_at(gpus, at), "by"), &text, NULL), 0);
    assert_string_equal(text, wanted);
    gw_value_unref(gpus);
}

static void a_gpu_of_two_workers_is_given_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 1, NULL);
    add_machine(w, 1, "b", 2, NULL);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1, .workers = "a"});
    assert_gpus(w, 0, "0");
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 2});
    refused(w, GW_EINFEASIBLE, "it wants 2 GPUs; the largest worker has 1");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "1");
    submit_task(w, 4, (struct gw_msg_spec){.gpus = 1});
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    struct gw_value *status = ask(w, "status", 1, -1);
    int64_t count;
    assert_int_equal(gw_value_get_i64(gw_value_find(status, "gpus"), &count, NULL), 0);
    assert_int_equal(count, 2);
    gw_value_unref(status);
    assert_by(w, 1, "it is given to tasks by a, which offered it first");
    free_world(w);
}

/* What the other ran may live until it has been silent for long. */
static void a_gpu_is_left_while_what_was_there_may_live(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 1, NULL);
    add_machine(w, 1, "b", 1, NULL);
    pass_seconds(w, 3);
    leaves(w, 0); /* it was heard 3 s ago */
    assert_by(w, 0, "a was lost, and may run something there for 17 s yet");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    pass_seconds(w, LOST_S - 4);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    pass_seconds(w, 1);
    assert_gpus(w, 1, "0");
    free_world(w);
}

/* It counts once while one that offers it is away: as that one's own, or as who got it then. */
static void a_gpu_of_who_is_away_counts_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 2, NULL);
    add_machine(w, 1, "b", 2, NULL);
    leaves(w, 1);
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 3, .gpus = 1});
    must(w, CLIENT, GW_MESSAGE_rejected);
    add_machine(w, 1, "b", 2, NULL);
    leaves(w, 0);
    send_spec(w, (struct gw_msg_spec){.key = 2, .ranks = 2, .gpus = 1});
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0)); /* they are a's, which may be back */
    pass_seconds(w, LOST_S + 1);
    send_spec(w, (struct gw_msg_spec){.key = 3, .ranks = 3, .gpus = 1});
    must(w, CLIENT, GW_MESSAGE_rejected);
    free_world(w);
}

/* Two of a host have its name; both are cut off, and the one that had none is back first. */
static void who_is_back_from_the_same_break_is_not_the_other(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 1, NULL);
    add_machine(w, 1, "a", 1, NULL);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "0");
    leaves(w, 0);
    leaves(w, 1);
    add_machine(w, 1, "a", 1, NULL);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    add_machine(w, 0, "a", 1, NULL);
    assert_gpus(w, 0, "0");
    free_world(w);
}

static void who_comes_back_gets_what_is_idle(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 2, NULL);
    add_machine(w, 1, "b", 2, NULL);
    leaves(w, 0);
    pass_seconds(w, LOST_S);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "0");
    add_machine(w, 0, "a", 2, NULL);
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "1");
    free_world(w);
}

static void who_comes_with_something_on_it_has_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 1, "b", 2, NULL);
    add_machine(w, 0, "a", 2, (const uint32_t[]){0});
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "1"); /* not the first: it is the other's */
    free_world(w);
}

/* A broken one is drained by all that offer it. */
static void a_gpu_that_two_workers_drained_is_counted_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 2, NULL);
    add_machine(w, 1, "b", 3, NULL);
    drain(w, 0, 0, "Xid 48");
    drain(w, 1, 0, "Xid 48");
    drain(w, 1, 2, "Xid 48");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    refused(w, GW_EINFEASIBLE,
            "1 GPU (2 more are drained) in all, room for 1 rank; its largest worker has "
            "17 slots, 0 GPUs (1 more drained), ");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_is_packed_into_an_island),
        cmocka_unit_test(a_worker_with_an_island_for_all_comes_first),
        cmocka_unit_test(the_smallest_island_that_suffices_is_taken),
        cmocka_unit_test(without_links_a_switch_or_a_node_is_near),
        cmocka_unit_test(shares_fill_a_gpu_before_the_next),
        cmocka_unit_test(a_share_has_memory_enough),
        cmocka_unit_test(what_never_fits_is_refused_by_what_is_missing),
        cmocka_unit_test(what_is_drained_is_not_counted),
        cmocka_unit_test(what_ranks_use_and_where_they_are_is_told),
        cmocka_unit_test(nothing_is_placed_on_one_that_is_drained),
        cmocka_unit_test(an_admin_gives_back_what_is_drained),
        cmocka_unit_test(running_out_of_memory_is_named),
        cmocka_unit_test(people_see_who_has_which),
        cmocka_unit_test(who_waits_until_a_gpu_is_clear_is_told_so),
        cmocka_unit_test(a_task_gets_an_instance_before_a_whole_one),
        cmocka_unit_test(a_gang_waits_for_whole_ones),
        cmocka_unit_test(a_gang_that_whole_ones_never_suffice_gets_instances),
        cmocka_unit_test(what_a_gang_gets_follows_the_workers),
        cmocka_unit_test(ranks_on_different_boards_come_first),
        cmocka_unit_test(what_needs_whole_ones_is_refused),
        cmocka_unit_test(shares_are_of_either),
        cmocka_unit_test(a_gpu_of_two_workers_is_given_once),
        cmocka_unit_test(a_gpu_is_left_while_what_was_there_may_live),
        cmocka_unit_test(a_gpu_of_who_is_away_counts_once),
        cmocka_unit_test(who_is_back_from_the_same_break_is_not_the_other),
        cmocka_unit_test(who_comes_back_gets_what_is_idle),
        cmocka_unit_test(who_comes_with_something_on_it_has_it),
        cmocka_unit_test(a_gpu_that_two_workers_drained_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
