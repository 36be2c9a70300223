/* A journal on a full disk, or whose file was removed: what fails, and what still fits. */
#include "scheduler/store/journal.h"

#include "scheduler/store/damaged_state.h"
#include "scheduler/store/database.h"
#include "tests/unit/scheduler/store/journal_world.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void await(struct world *world, const int *count)
{
    while (*count == 0)
        uv_run(&world->loop, UV_RUN_ONCE);
}

static void write_failure_is_reported_once(void **state)
{
    char dir[PATH_MAX];
    struct world world;
    struct rlimit before, small;
    char *large = calloc(1, 100001);
    make_dir(dir);
    memset(large, 'x', 100000);
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){16384, before.rlim_max};
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    append(&world, 1, large);
    await(&world, &world.seen.failed);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_non_null(strstr(world.seen.text, "cannot be written"));
    append(&world, 2, "y");
    assert_int_equal(gw_journal_sync(world.journal, &world.error), GW_EIO);
    world_close(&world);
    assert_int_equal(world.seen.failed, 1);
    assert_int_equal(world.seen.calls, 0); /* nothing was committed, and nothing was reported */
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(world.facts.size, 0);
    world_close(&world);
    free(large);
    remove_dir(dir);
}

/* A small file system of its own; false if that is not permitted. */
static bool mount_small(const char *dir)
{
    if (unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return false;
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", dir, "tmpfs", 0, "size=16m,mode=0700") == 0;
}

static void fill(const char *dir, size_t leave)
{
    struct statvfs room;
    char path[PATH_MAX];
    path_in(dir, "ballast", path);
    assert_int_equal(statvfs(dir, &room), 0);
    size_t bytes = (size_t)room.f_bavail * room.f_frsize - leave;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(posix_fallocate(fd, 0, (off_t)bytes), 0);
    close(fd);
}

enum { SKIPPED = 77 };

static void lives_on_reserve(const char *dir)
{
    char state[PATH_MAX], ballast[PATH_MAX];
    struct world world;
    char *fact = malloc(200001);
    assert_non_null(fact);
    memset(fact, 'x', 200000);
    fact[200000] = '\0';
    if (!mount_small(dir))
        _exit(SKIPPED);
    path_in(dir, "state", state);
    path_in(dir, "ballast", ballast);
    assert_int_equal(world_open(&world, state), 0);
    append(&world, 1, "begin");
    await(&world, &world.seen.calls);
    assert_int_equal(world.seen.full, 0);
    fill(dir, 8192);
    world.seen.calls = 0;
    append(&world, 2, fact); /* fits only into the reserve */
    await(&world, &world.seen.full);
    assert_int_equal(world.seen.failed, 0);
    assert_int_equal(world.seen.last, 2);
    assert_non_null(strstr(world.seen.text, "no disk space"));
    append(&world, 3, fact); /* and so does the next */
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(world.seen.last, 3);
    assert_int_equal(unlink(ballast), 0);
    append(&world, 4, "end");
    await(&world, &world.seen.roomy);
    world_close(&world);
    assert_int_equal(world_open(&world, state), 0);
    assert_int_equal(world.facts.size, 5 + 400000 + 3);
    world_close(&world);
    free(fact);
    _exit(0);
}

static void in_small_disk(void (*what)(const char *dir))
{
    char dir[PATH_MAX];
    int status;
    make_dir(dir);
    pid_t pid = fork();
    if (pid == 0)
        what(dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    remove_dir(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip(); /* no file system can be mounted here */
    assert_int_equal(status, 0);
}

static void full_disk_still_commits_from_the_reserve(void **state)
{
    in_small_disk(lives_on_reserve);
}

/* A process that died on a disk that is full since; facts of `bytes` bytes. */
static void dies_on_full_disk(const char *dir, const char *state, size_t bytes)
{
    struct gw_database *database;
    struct gw_error error;
    struct gw_buffer none = {0};
    int status;
    char *facts = calloc(1, bytes);
    assert_non_null(facts);
    pid_t pid = fork();
    if (pid == 0) {
        assert_int_equal(gw_database_open(state, &database, &error), 0);
        assert_int_equal(gw_database_read(database, &none, &error), 0);
        assert_int_equal(gw_database_append(database, facts, bytes, &error), 0);
        fill(dir, 0);
        _exit(0);
    }
    free(facts);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void starts_on_full_disk(const char *dir)
{
    char state[PATH_MAX], ballast[PATH_MAX];
    struct world world;
    char *large = malloc(100001);
    assert_non_null(large);
    memset(large, 'x', 100000);
    large[100000] = '\0';
    if (!mount_small(dir))
        _exit(SKIPPED);
    path_in(dir, "state", state);
    path_in(dir, "ballast", ballast);
    dies_on_full_disk(dir, state, 3000);
    assert_int_equal(world_open(&world, state), 0);
    assert_int_equal(world.facts.size, 3000);
    append(&world, 1, large); /* as each scheduler begins, but more */
    assert_int_equal(gw_journal_sync(world.journal, &world.error), 0);
    assert_false(there_is(state, "reserve"));
    world_close(&world);
    assert_int_equal(unlink(ballast), 0);
    fill(dir, 0);
    assert_int_equal(world_open(&world, state), 0);
    assert_int_equal(world.facts.size, 103000);
    append(&world, 1, large);
    assert_int_equal(gw_journal_sync(world.journal, &world.error), GW_EIO);
    assert_non_null(strstr(world.error.text, "8.0 MiB must be free on that disk, and"));
    world_close(&world);
    free(large);
    _exit(0);
}

static void start_on_a_full_disk_uses_the_reserve(void **state)
{
    in_small_disk(starts_on_full_disk);
}

static void await_lost(struct world *world)
{
    while (!gw_journal_lost(world->journal)) {
        uv_run(&world->loop, UV_RUN_NOWAIT);
        sched_yield();
    }
}

/* Facts that no scheduler could read again are not reported as committed; the loss is noticed
 * even without new facts. */
static void removed_database_file_is_noticed(void **state)
{
    char dir[PATH_MAX], facts[PATH_MAX], moved[PATH_MAX];
    struct world world;
    (void)state;
    for (int appended = 0; appended < 2; appended++) {
        make_dir(dir);
        path_in(dir, "facts.db", facts);
        path_in(dir, "moved", moved);
        assert_int_equal(world_open(&world, dir), 0);
        append(&world, 1, "one");
        await(&world, &world.seen.calls);
        assert_false(gw_journal_lost(world.journal));
        assert_int_equal(rename(facts, moved), 0);
        if (appended)
            append(&world, 2, "two");
        await_lost(&world);
        if (!appended)
            append(&world, 2, "two");
        assert_true(gw_journal_sync(world.journal, &world.error) < 0);
        world_close(&world);
        assert_int_equal(world.seen.last, 1);
        assert_int_equal(world.seen.failed, 0);
        remove_dir(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_failure_is_reported_once),
        cmocka_unit_test(removed_database_file_is_noticed),
        cmocka_unit_test(full_disk_still_commits_from_the_reserve),
        cmocka_unit_test(start_on_a_full_disk_uses_the_reserve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
