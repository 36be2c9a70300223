/* A whole worker: daemon, supervisor and runners as processes, against a simulated scheduler. */
#include "tests/unit/arithmetic_tasks.h"
#include "tests/unit/worker/net/worker_harness.h"

#include "graph/base/clock.h"

#include <gangway/task.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- The functions of this program ---------------------------------------------------------------
 */

static int talk(struct gw_task *task)
{
    printf("task %u says hello\n", gw_task_index(task));
    fprintf(stderr, "10%%\r100%%\nwarning: %s\n", getenv("GANGWAY_TEST"));
    return gw_task_fail(task, GW_EIO, "nothing to read");
}
GW_TASK(talk);

/* Continues when the fifo beside the output folder is opened. */
static int hold(struct gw_task *task)
{
    char fifo[256];
    printf("task %u holds\n", gw_task_index(task));
    snprintf(fifo, sizeof fifo, "%s/../held", getenv("GANGWAY_LOG_DIR"));
    FILE *file = fopen(fifo, "re");
    if (!file)
        return gw_task_fail(task, GW_EIO, "%s", fifo);
    fclose(file);
    printf("task %u goes on\n", gw_task_index(task));
    return 0;
}
GW_TASK(hold);

static int crash(struct gw_task *task)
{
    (void)task;
    fprintf(stderr, "about to go\n");
    raise(SIGKILL);
    return 0;
}
GW_TASK(crash);

/* Sends an answer that nobody asked for, with a memory file that it empties afterwards. */
static int cheat(struct gw_task *task)
{
    struct gw_channel *worker;
    const struct gw_message ready = {.type = GW_MESSAGE_actor_ready};
    char byte;
    int fd = memfd_create("cheat", MFD_CLOEXEC);
    (void)task;
    assert_int_equal(ftruncate(fd, 8), 0);
    assert_int_equal(gw_channel_new(dup(3), &worker), 0);
    assert_int_equal(gw_channel_put(worker, &ready, (struct gw_channel_fds){&fd, 1, false}), 0);
    assert_int_equal(gw_channel_flush(worker), 0);
    while (read(3, &byte, 1) > 0) /* the worker has closed the connection */
        ;
    assert_int_equal(ftruncate(fd, 0), 0);
    raise(SIGKILL);
    return 0;
}
GW_TASK(cheat);

static int large(struct gw_task *task)
{
    static char bytes[100000];
    memset(bytes, 'x', sizeof bytes);
    return gw_task_return(task, gw_bytes(bytes, sizeof bytes));
}
GW_TASK(large);

static int sum(struct gw_task *task)
{
    int64_t n = gw_task_rank(task) + 1;
    int rc = gw_comm_all_reduce(gw_task_comm(task),
                                GW_COMM_ARGS(.recv = &n, .count = 1, .dtype = GW_DTYPE_I64),
                                gw_task_error(task));
    printf("rank %u\n", gw_task_rank(task));
    return rc < 0 ? rc : gw_task_return(task, gw_i64(n));
}
GW_TASK(sum);

static int hang(struct gw_task *task)
{
    if (gw_task_rank(task) == 0)
        for (;;)
            pause();
    return gw_comm_barrier(gw_task_comm(task), gw_task_error(task));
}
GW_TASK(hang);

/* -- Tests ---------------------------------------------------------------------------------------
 */

static struct harness harness;

static int set_up(void **state)
{
    harness_open(&harness, false);
    return 0;
}

static int tear_down(void **state)
{
    harness_close(&harness);
    return 0;
}

static void thousands_of_functions_return_their_values(void **state)
{
    enum { TASKS = 3000 };
    harness_function(&harness, 0, "twice");
    harness_assign(&harness, 0, 1, TASKS);
    uint64_t total = 0, expected = 0;
    for (uint32_t done = 0; done < TASKS;) {
        const struct gw_msg_finished *finished =
            &harness_wait(&harness, GW_MESSAGE_finished)->finished;
        const uint8_t *value = finished->values.data;
        for (uint32_t i = 0; i < finished->attempt.count; i++, done++) {
            uint32_t size = gw_col32_at(finished->value_size, i);
            uint64_t n = *value < 0x80 ? *value : 0; /* MessagePack: up to 3 bytes here */
            for (uint32_t b = 1; b < size; b++)
                n = n << 8 | value[b];
            assert_int_equal(n, 2 * (gw_col64_at(finished->attempt, i) - 1));
            total += n;
            value += size;
        }
    }
    for (uint64_t i = 0; i < TASKS; i++)
        expected += 2 * i;
    assert_int_equal(total, expected);
}

static void failure_report_contains_the_last_stderr_lines(void **state)
{
    harness_function(&harness, 0, "talk");
    harness_assign(&harness, 0, 7, 1);
    const struct gw_msg_ended *ended = &harness_wait(&harness, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_FAILED);
    assert_int_equal(ended->code, GW_EIO);
    assert_non_null(strstr(ended->text, "nothing to read"));
    assert_string_equal(ended->stderr_tail, "100%\nwarning: yes");
    assert_string_equal(harness_read_log(&harness, 7, GW_RANK_NONE, 1), "task 7 says hello\n");
}

static void crash_report_contains_the_last_stderr_lines(void **state)
{
    harness_function(&harness, 0, "crash");
    harness_assign(&harness, 0, 3, 1);
    const struct gw_msg_ended *ended = &harness_wait(&harness, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CRASHED);
    assert_int_equal(ended->signal, SIGKILL);
    assert_int_equal(ended->executing, 1);
    assert_string_equal(ended->stderr_tail, "about to go");
    assert_string_equal(harness_read_log(&harness, 3, GW_RANK_NONE, 2), "about to go\n");
}

static void memory_file_that_a_runner_empties_does_not_end_the_worker(void **state)
{
    harness_function(&harness, 0, "cheat");
    harness_assign(&harness, 0, 3, 1);
    assert_int_equal(harness_wait(&harness, GW_MESSAGE_ended)->ended.outcome, GW_OUTCOME_CRASHED);
}

/* The output of many tasks lies in one file; each task's output is found, also that of a running
 * task and of a task that crashes later. */
static void output_of_each_task_is_found_in_a_shared_file(void **state)
{
    enum { MANY = 40 };
    char wanted[64], fifo[160];
    harness_function(&harness, 0, "talk");
    harness_function(&harness, 1, "hold");
    harness_function(&harness, 2, "crash");
    for (uint64_t attempt = 1; attempt <= MANY; attempt++) {
        harness_assign(&harness, 0, attempt, 1);
        assert_int_equal(harness_wait(&harness, GW_MESSAGE_ended)->ended.attempt, attempt);
    }
    for (uint64_t attempt = MANY; attempt > 0; attempt--) {
        snprintf(wanted, sizeof wanted, "task %u says hello\n", (unsigned)attempt);
        assert_string_equal(harness_read_log(&harness, attempt, GW_RANK_NONE, 1), wanted);
        assert_string_equal(harness_read_log(&harness, attempt, GW_RANK_NONE, 2),
                            "10%\r100%\nwarning: yes\n");
    }
    snprintf(fifo, sizeof fifo, "%s/held", harness.dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    harness_assign(&harness, 1, 50, 1);
    struct gw_message ask = {.type = GW_MESSAGE_log_read};
    ask.log_read = (struct gw_msg_log_read){
        .job = 1, .index = 50, .attempt = 50, .rank = GW_RANK_NONE, .stream = 1, .follow = 1};
    harness_send(&harness, ask, -1);
    const struct gw_msg_log_data *data = &harness_wait(&harness, GW_MESSAGE_log_data)->log_data;
    assert_int_equal(data->data.size, strlen("task 50 holds\n"));
    assert_memory_equal(data->data.data, "task 50 holds\n", data->data.size);
    assert_int_equal(data->end, 0);
    FILE *writer = fopen(fifo, "we");
    fclose(writer);
    (void)harness_wait(&harness, GW_MESSAGE_finished);
    assert_string_equal(harness_read_log(&harness, 50, GW_RANK_NONE, 1),
                        "task 50 holds\ntask 50 goes on\n");
    harness_assign(&harness, 2, 60, 1);
    const struct gw_msg_ended *ended = &harness_wait(&harness, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CRASHED);
    assert_string_equal(ended->stderr_tail, "about to go");
    assert_string_equal(harness_read_log(&harness, 60, GW_RANK_NONE, 2), "about to go\n");
    assert_string_equal(harness_read_log(&harness, 60, GW_RANK_NONE, 1), "");
}

static void large_result_is_fetched_by_descriptor(void **state)
{
    harness_function(&harness, 0, "large");
    harness_assign(&harness, 0, 4, 1);
    uint64_t bytes = gw_col64_at(harness_wait(&harness, GW_MESSAGE_finished)->finished.bytes, 0);
    assert_true(bytes > 100000);
    harness_send(&harness, (struct gw_message){.type = GW_MESSAGE_fetch, .fetch = {9, 1, 4, 0}},
                 -1);
    const struct gw_msg_object *object = &harness_wait(&harness, GW_MESSAGE_object)->object;
    assert_int_equal(object->request, 9);
    assert_int_equal(object->bytes, bytes);
    assert_true(harness.fd >= 0);
    const char *value = mmap(NULL, bytes, PROT_READ, MAP_SHARED, harness.fd, 0);
    assert_ptr_not_equal(value, MAP_FAILED);
    assert_int_equal(value[bytes - 1], 'x');
    munmap((void *)(uintptr_t)value, bytes);
}

static void missing_function_cannot_start(void **state)
{
    harness_function(&harness, 0, "nonesuch");
    harness_assign(&harness, 0, 1, 1);
    const struct gw_msg_ended *ended = &harness_wait(&harness, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CANNOT_START);
    assert_non_null(strstr(ended->text, "nonesuch"));
}

static void failed_command_reports_exit_code_and_output(void **state)
{
    harness_script(&harness, 0, "echo $GANGWAY_TEST; echo oops >&2; exit 3");
    harness_assign(&harness, 0, 5, 1);
    const struct gw_msg_ended *ended = &harness_wait(&harness, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_FAILED);
    assert_int_equal(ended->exit_code, 3);
    assert_string_equal(ended->stderr_tail, "oops");
    assert_string_equal(harness_read_log(&harness, 5, GW_RANK_NONE, 1), "yes\n");
}

/* Output that is written while a client follows arrives, and so does the end. */
static void following_a_command_delivers_new_output_and_the_end(void **state)
{
    char fifo[128], script[512];
    snprintf(fifo, sizeof fifo, "%s/fifo", harness.dir);
    snprintf(script, sizeof script, "mkfifo %s; echo first; cat %s; echo last", fifo, fifo);
    harness_script(&harness, 0, script);
    harness_assign(&harness, 0, 6, 1);
    struct gw_message ask = {.type = GW_MESSAGE_log_read};
    ask.log_read = (struct gw_msg_log_read){
        .job = 1, .index = 6, .attempt = 6, .rank = GW_RANK_NONE, .stream = 1, .follow = 1};
    harness_send(&harness, ask, -1);
    const struct gw_msg_log_data *data = &harness_wait(&harness, GW_MESSAGE_log_data)->log_data;
    assert_int_equal(data->data.size, 6);
    assert_memory_equal(data->data.data, "first\n", 6);
    assert_int_equal(data->end, 0);
    FILE *writer = fopen(fifo, "we");
    fputs("middle\n", writer);
    fclose(writer);
    assert_string_equal(harness_read_log(&harness, 6, GW_RANK_NONE, 1), "first\nmiddle\nlast\n");
}

static void read_log_of(uint64_t attempt, bool follow)
{
    struct gw_message ask = {.type = GW_MESSAGE_log_read};
    ask.log_read = (struct gw_msg_log_read){.request = follow,
                                            .job = 1,
                                            .index = (uint32_t)attempt,
                                            .attempt = attempt,
                                            .rank = GW_RANK_NONE,
                                            .stream = 1,
                                            .follow = follow};
    harness_send(&harness, ask, -1);
}

/* The end is reported when it happens and not at the next poll of the file, at least 100 ms
 * after the request. Of many short commands, at least one beats that, however busy this machine
 * is. */
static void log_follower_sees_the_end_immediately(void **state)
{
    char fifo[128], script[256];
    uint64_t best_ns = UINT64_MAX;
    snprintf(fifo, sizeof fifo, "%s/fifo", harness.dir);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    snprintf(script, sizeof script, "cat %s", fifo);
    harness_script(&harness, 0, script);
    for (uint64_t attempt = 1; attempt <= 20; attempt++) {
        harness_assign(&harness, 0, attempt, 1);
        FILE *writer = fopen(fifo, "we"); /* when cat reads it */
        assert_non_null(writer);
        uint64_t asked_ns = gw_clock_now_ns();
        read_log_of(attempt, true);
        read_log_of(attempt, false); /* answered at once: then the worker has both requests */
        assert_int_equal(harness_wait(&harness, GW_MESSAGE_log_data)->log_data.request, 0);
        fclose(writer);
        const struct gw_msg_log_data *data = &harness_wait(&harness, GW_MESSAGE_log_data)->log_data;
        assert_int_equal(data->request, 1);
        assert_int_equal(data->end, 1);
        uint64_t took_ns = gw_clock_now_ns() - asked_ns;
        best_ns = took_ns < best_ns ? took_ns : best_ns;
    }
    assert_in_range(best_ns, 0, 90 * GW_NS_PER_MS);
}

static void kill_reaches_descendants(void **state)
{
    harness_script(&harness, 0, "trap '' TERM; setsid sleep 1000 & sleep 1000");
    harness_assign(&harness, 0, 8, 1);
    (void)harness_wait(&harness, GW_MESSAGE_started);
    uint64_t attempt = 8;
    harness_send(&harness,
                 (struct gw_message){.type = GW_MESSAGE_kill,
                                     .kill = {{&attempt, 1}, 50000000, GW_KILL_CANCEL}},
                 -1);
    const struct gw_msg_ended *ended = &harness_wait(&harness, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_KILLED);
    assert_int_equal(ended->executing, 1);
}

/* Sends a gang of two, and starts it when both ranks are ready. */
static void start_gang(uint32_t spec, uint64_t attempt)
{
    harness_send(&harness,
                 (struct gw_message){.type = GW_MESSAGE_gang, .gang = {attempt, 2, 0, 2, 0, 1}},
                 -1);
    harness_rank(&harness, spec, attempt, 0);
    harness_rank(&harness, spec, attempt, 1);
    struct gw_message go = {.type = GW_MESSAGE_gang_start};
    go.gang_start.attempt = attempt;
    uint8_t info[256];
    int segment = -1;
    for (int i = 0; i < 2; i++) {
        const struct gw_msg_rank_ready *ready =
            &harness_wait(&harness, GW_MESSAGE_rank_ready)->rank_ready;
        if (ready->rank)
            continue;
        assert_true(ready->info.size && ready->info.size <= sizeof info);
        memcpy(info, ready->info.data, ready->info.size);
        go.gang_start.info = (struct gw_bin){info, ready->info.size};
        segment = dup(harness.fd);
    }
    assert_true(segment >= 0);
    harness_send(&harness, go, segment);
    close(segment);
}

static void function_gang_reduces_on_cold_and_warm_runners(void **state)
{
    harness_function(&harness, 0, "sum");
    for (uint64_t attempt = 20; attempt < 22; attempt++) { /* cold, then warm */
        start_gang(0, attempt);
        for (int i = 0; i < 2; i++) {
            const struct gw_msg_finished *finished =
                &harness_wait(&harness, GW_MESSAGE_finished)->finished;
            assert_int_equal(finished->attempt.count, 1);
            assert_memory_equal(finished->values.data, "\x03", 1);
        }
    }
    assert_string_equal(harness_read_log(&harness, 21, 1, 1), "rank 1\n");
}

/* One rank hangs and the other waits for it; both end when the gang is killed. */
static void killed_gang_wakes_waiting_ranks(void **state)
{
    harness_function(&harness, 0, "hang");
    start_gang(0, 30);
    (void)harness_wait(&harness, GW_MESSAGE_started);
    uint64_t attempt = 30;
    harness_send(&harness,
                 (struct gw_message){.type = GW_MESSAGE_kill,
                                     .kill = {{&attempt, 1}, 200000000, GW_KILL_GANG}},
                 -1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(harness_wait(&harness, GW_MESSAGE_ended)->ended.outcome,
                         GW_OUTCOME_KILLED);
}

static void command_gang_gets_rank_and_master_variables(void **state)
{
    harness_script(&harness, 0,
                   "echo $RANK/$WORLD_SIZE $MASTER_ADDR $GLOO_SOCKET_IFNAME; "
                   "test $MASTER_PORT -gt 0");
    start_gang(0, 40);
    for (int i = 0; i < 2; i++)
        (void)harness_wait(&harness, GW_MESSAGE_finished);
    assert_string_equal(harness_read_log(&harness, 40, 0, 1), "0/2 127.0.0.1 lo\n");
    assert_string_equal(harness_read_log(&harness, 40, 1, 1), "1/2 127.0.0.1 lo\n");
}

/* If the scheduler of a private cluster ends, the worker ends, too, and removes its folder. */
static void private_worker_ends_with_its_scheduler(void **state)
{
    struct harness own;
    harness_open(&own, true);
    harness_script(&own, 0, "sleep 1000");
    harness_assign(&own, 0, 1, 1);
    (void)harness_wait(&own, GW_MESSAGE_started);
    close(own.listen_fd);
    own.listen_fd = -1;
    gw_channel_free(own.channel);
    own.channel = NULL;
    harness_wait_gone(&own);
    assert_int_equal(access(own.dir, F_OK), -1);
    gw_buffer_deinit(&own.manifest);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    worker_harness_main(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(thousands_of_functions_return_their_values, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(failure_report_contains_the_last_stderr_lines, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(crash_report_contains_the_last_stderr_lines, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(memory_file_that_a_runner_empties_does_not_end_the_worker,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(output_of_each_task_is_found_in_a_shared_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(large_result_is_fetched_by_descriptor, set_up, tear_down),
        cmocka_unit_test_setup_teardown(missing_function_cannot_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_command_reports_exit_code_and_output, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(following_a_command_delivers_new_output_and_the_end, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(log_follower_sees_the_end_immediately, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kill_reaches_descendants, set_up, tear_down),
        cmocka_unit_test_setup_teardown(function_gang_reduces_on_cold_and_warm_runners, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(killed_gang_wakes_waiting_ranks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(command_gang_gets_rank_and_master_variables, set_up,
                                        tear_down),
        cmocka_unit_test(private_worker_ends_with_its_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
