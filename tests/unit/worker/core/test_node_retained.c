/* Work folders of commands with files: retained, counted, removed. */
#include "tests/unit/worker/core/node_world.h"

#include "graph/wire/hash.h"

enum { LIMIT = 1000, LEFT_FREE = 1 << 20 };

static const uint8_t hash[GW_HASH_BYTES] = {1};

static struct world *retained_world(uint64_t bytes_max)
{
    struct world *w =
        new_world_limited(2, &(struct gw_node_options){.retained_bytes_max = bytes_max});
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .files = bin(hash, sizeof hash)});
    return w;
}

/* A command starts in its folder; returns the folder's number. */
static uint64_t starts(struct world *w, uint32_t index)
{
    char path[32];
    uint64_t process = w->processes + 1;
    must_assign(w, (struct task){.attempt = process, .index = index});
    (void)snprintf(path, sizeof path, "/d/work/%u", (unsigned)process);
    raise_event(w, (struct gw_event){.type = GW_EVENT_FOLDER, .number = w->folder, .text = path});
    assert_int_equal(w->processes, process);
    spawned(w, process, 0, "");
    return w->folder;
}

static void counted(struct world *w, uint64_t folder, uint64_t bytes, uint64_t free_bytes)
{
    raise_event(w, (struct gw_event){.type = GW_EVENT_COUNTED,
                                     .number = folder,
                                     .bytes = bytes,
                                     .free_bytes = free_bytes});
}

/* Task `index` runs and ends by itself; the size of its folder is counted. */
static uint64_t leaves(struct world *w, uint32_t index, uint64_t bytes)
{
    uint64_t folder = starts(w, index);
    dies(w, w->processes, 0, 0);
    assert_int_equal(w->counted, folder);
    counted(w, folder, bytes, LEFT_FREE);
    return folder;
}

static const char *retained(const struct world *w, uint32_t index)
{
    return gw_node_core_retained_workdir(w->core, 1, index, GW_RANK_NONE);
}

static void work_folder_of_an_ended_task_is_retained(void **state)
{
    struct world *w = retained_world(LIMIT);
    starts(w, 3);
    assert_null(retained(w, 3)); /* it runs */
    dies(w, 1, 0, 0);
    assert_string_equal(retained(w, 3), "/d/work/1");
    assert_null(retained(w, 4));
    assert_null(gw_node_core_retained_workdir(w->core, 2, 3, GW_RANK_NONE));
    assert_null(gw_node_core_retained_workdir(w->core, 1, 3, 0));
    starts(w, 4);
    dies(w, 2, 7, 0); /* it failed */
    assert_string_equal(retained(w, 4), "/d/work/2");
    starts(w, 5);
    dies(w, 3, 0, 11); /* it crashed */
    assert_string_equal(retained(w, 5), "/d/work/3");
    assert_int_equal(w->folders_gone, 0);
    free_world(w);
}

static void work_folder_of_a_killed_task_is_removed(void **state)
{
    struct world *w = retained_world(LIMIT);
    uint64_t folder = starts(w, 3);
    kill_attempt(w, 1, GW_KILL_CANCEL);
    dies(w, 1, 0, 15);
    assert_null(retained(w, 3));
    assert_int_equal(w->folder_gone, folder);
    assert_int_equal(w->counted, 0);
    free_world(w);
}

static void retention_limit_of_0_removes_every_work_folder(void **state)
{
    struct world *w = retained_world(0);
    starts(w, 3);
    dies(w, 1, 0, 0);
    assert_null(retained(w, 3));
    assert_int_equal(w->folders_gone, 1);
    free_world(w);
}

static void later_attempt_replaces_the_retained_folder(void **state)
{
    struct world *w = retained_world(LIMIT);
    uint64_t first = leaves(w, 3, LIMIT);
    uint64_t second = leaves(w, 3, 10);
    assert_int_equal(w->folder_gone, first);
    assert_string_equal(retained(w, 3), "/d/work/2");
    starts(w, 3); /* a killed task retains no folder, and no older folder is used instead */
    kill_attempt(w, 3, GW_KILL_CANCEL);
    assert_non_null(retained(w, 3));
    dies(w, 3, 0, 15);
    assert_null(retained(w, 3));
    assert_int_equal(w->folders_gone, 3);
    counted(w, second, 10, LEFT_FREE); /* too late: no effect */
    assert_int_equal(w->folders_gone, 3);
    free_world(w);
}

static void oldest_retained_folders_are_removed_at_the_byte_limit(void **state)
{
    struct world *w = retained_world(LIMIT);
    leaves(w, 0, 400);
    leaves(w, 1, 400);
    uint64_t large = leaves(w, 2, LIMIT + 1); /* too large by itself: the others stay */
    assert_int_equal(w->folder_gone, large);
    assert_int_equal(w->folders_gone, 1);
    assert_null(retained(w, 2));
    leaves(w, 3, 601);
    assert_null(retained(w, 0));
    assert_null(retained(w, 1));
    assert_non_null(retained(w, 3));
    leaves(w, 4, 399);
    assert_non_null(retained(w, 3));
    assert_non_null(retained(w, 4));
    free_world(w);
}

/* Retained folders never use more of a disk than they leave free. */
static void retained_folders_are_removed_if_the_disk_fills(void **state)
{
    struct world *w = retained_world(LIMIT);
    leaves(w, 0, 100);
    uint64_t folder = starts(w, 1);
    dies(w, 2, 0, 0);
    counted(w, folder, 100, 200);
    assert_non_null(retained(w, 0));
    folder = starts(w, 2);
    dies(w, 3, 0, 0);
    counted(w, folder, 100, 100);
    assert_null(retained(w, 0));
    assert_non_null(retained(w, 2));
    folder = starts(w, 3);
    dies(w, 4, 0, 0);
    counted(w, folder, 500, 10);
    assert_null(retained(w, 3));
    free_world(w);
}

static void oldest_retained_folder_is_removed_at_the_count_limit(void **state)
{
    struct world *w = retained_world(LIMIT);
    for (uint32_t i = 0; i < GW_RETAINED_WORKDIRS_MAX; i++)
        leaves(w, i, 1);
    assert_int_equal(w->folders_gone, 0);
    leaves(w, GW_RETAINED_WORKDIRS_MAX, 1);
    assert_int_equal(w->folders_gone, 1);
    assert_null(retained(w, 0));
    assert_non_null(retained(w, 1));
    assert_non_null(retained(w, GW_RETAINED_WORKDIRS_MAX));
    free_world(w);
}

static void retained_folders_are_removed_with_their_job(void **state)
{
    struct world *w = retained_world(LIMIT);
    leaves(w, 0, 10);
    leaves(w, 1, 10);
    deliver(w, SCHEDULER, (struct gw_message){.type = GW_MESSAGE_forget, .forget = {2}});
    assert_non_null(retained(w, 0));
    starts(w, 2);
    deliver(w, SCHEDULER, (struct gw_message){.type = GW_MESSAGE_forget, .forget = {1}});
    assert_null(retained(w, 0));
    assert_null(retained(w, 1));
    assert_int_equal(w->folders_gone, 2);
    dies(w, 3, 0, 0); /* too late to be requested */
    assert_null(retained(w, 2));
    assert_int_equal(w->folders_gone, 3);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_folder_of_an_ended_task_is_retained),
        cmocka_unit_test(work_folder_of_a_killed_task_is_removed),
        cmocka_unit_test(retention_limit_of_0_removes_every_work_folder),
        cmocka_unit_test(later_attempt_replaces_the_retained_folder),
        cmocka_unit_test(oldest_retained_folders_are_removed_at_the_byte_limit),
        cmocka_unit_test(retained_folders_are_removed_if_the_disk_fills),
        cmocka_unit_test(oldest_retained_folder_is_removed_at_the_count_limit),
        cmocka_unit_test(retained_folders_are_removed_with_their_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
