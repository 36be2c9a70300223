/* The journal: one commit covers what was appended in a turn; on disk it is there again after any
 * end of the process, whole or refused, and a full disk lets ends through. */
#include "scheduler/store/journal.h"

#include "graph/base/dir.h"
#include "scheduler/store/database.h"

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

struct seen {
    uint64_t last;
    int calls, failed, full, roomy;
    char text[GW_ERROR_TEXT_MAX];
};

static void test_on_committed(uint64_t number, void *arg)
{
    struct seen *seen = arg;
    seen->last = number;
    seen->calls++;
}

static void test_on_room(const struct gw_error *why, void *arg)
{
    struct seen *seen = arg;
    if (why)
        (void)snprintf(seen->text, sizeof seen->text, "%s", why->text);
    *(why ? &seen->full : &seen->roomy) += 1;
}

static void test_on_failed(const struct gw_error *error, void *arg)
{
    struct seen *seen = arg;
    (void)snprintf(seen->text, sizeof seen->text, "%s", error->text);
    seen->failed++;
}

/* A loop with a journal on it, in a folder or (NULL) in memory. */
struct world {
    uv_loop_t loop;
    struct gw_journal *journal;
    struct seen seen;
    struct gw_buffer facts;
    struct gw_error error;
};

static int world_open(struct world *world, const char *dir)
{
    const struct gw_journal_callbacks callbacks = {test_on_committed, test_on_room, test_on_failed,
                                                   &world->seen};
    memset(world, 0, sizeof *world);
    assert_int_equal(uv_loop_init(&world->loop), 0);
    return gw_journal_open(&world->loop, dir, &callbacks, &world->facts, &world->journal,
                           &world->error);
}

static void world_close(struct world *world)
{
    if (world->journal)
        gw_journal_close(world->journal);
    uv_run(&world->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world->loop), 0);
    gw_buffer_deinit(&world->facts);
}

static void append(struct world *world, uint64_t number, const char *text)
{
    const struct gw_bin fact = {text, (uint32_t)strlen(text)};
    assert_int_equal(gw_journal_append(world->journal, number, fact), 0);
}

static char *make_dir(char dir[PATH_MAX])
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(dir, PATH_MAX, "%s/gw-journal-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static void remove_dir(const char *dir)
{
    struct gw_error error;
    assert_int_equal(gw_dir_remove(dir, &error), 0);
}

static void test_commits_a_turn_at_once(void **state)
{
    struct world world;
    assert_int_equal(world_open(&world, NULL), 0);
    append(&world, 1, "one");
    append(&world, 2, "three");
    assert_int_equal(world.seen.calls, 0); /* never inside the call */
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(world.seen.calls, 1);
    assert_int_equal(world.seen.last, 2);
    append(&world, 3, "x");
    world_close(&world);
    assert_int_equal(world.seen.calls, 1);
}

static void test_is_there_again(void **state)
{
    char dir[PATH_MAX];
    struct world world;
    make_dir(dir);
    for (int life = 0; life < 3; life++) {
        assert_int_equal(world_open(&world, dir), 0);
        assert_int_equal(world.facts.size, (size_t)life * 4);
        for (int i = 0; i < life * 4; i++)
            assert_int_equal(world.facts.data[i], "abcd"[i % 4]);
        append(&world, 1, "ab");
        uv_run(&world.loop, UV_RUN_DEFAULT);
        assert_int_equal(world.seen.last, 1);
        append(&world, 2, "c");
        assert_int_equal(gw_journal_sync(world.journal, &world.error), 0);
        append(&world, 3, "d"); /* committed by the close */
        world_close(&world);
    }
    remove_dir(dir);
}

static void test_rewrites(void **state)
{
    char dir[PATH_MAX];
    struct world world;
    struct gw_buffer less = {(uint8_t *)"new", 3, 3};
    make_dir(dir);
    assert_int_equal(world_open(&world, dir), 0);
    append(&world, 1, "old and long");
    world_close(&world);
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(gw_journal_rewrite(world.journal, &less, &world.error), 0);
    append(&world, 1, "er");
    world_close(&world);
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(world.facts.size, 5);
    assert_memory_equal(world.facts.data, "newer", 5);
    world_close(&world);
    remove_dir(dir);
}

static void test_is_one_schedulers(void **state)
{
    char dir[PATH_MAX];
    struct world world, other;
    make_dir(dir);
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(world_open(&other, dir), GW_EEXIST);
    assert_non_null(strstr(other.error.text, "another scheduler"));
    world_close(&other);
    world_close(&world);
    assert_int_equal(world_open(&world, dir), 0);
    world_close(&world);
    remove_dir(dir);
}

static void path_in(const char *dir, const char *name, char path[PATH_MAX])
{
    assert_true(snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX);
}

static size_t read_file(const char *path, uint8_t **bytes)
{
    FILE *file = fopen(path, "re");
    *bytes = NULL;
    if (!file)
        return 0;
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size_t size = (size_t)ftell(file);
    rewind(file);
    *bytes = malloc(size + 1);
    assert_non_null(*bytes);
    assert_int_equal(fread(*bytes, 1, size, file), size);
    (void)fclose(file);
    return size;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Facts as they were when the process was gone between two commits: what was not checkpointed lies
 * in the log beside the file. */
static void commits_without_end(const char *dir)
{
    struct gw_database *database;
    struct gw_error error;
    struct gw_buffer none = {0};
    char fact[600];
    assert_int_equal(gw_database_open(dir, &database, &error), 0);
    assert_int_equal(gw_database_read(database, &none, &error), 0);
    for (int i = 0; i < 6; i++) {
        memset(fact, 'a' + i, sizeof fact);
        assert_int_equal(gw_database_append(database, fact, sizeof fact, &error), 0);
    }
    _exit(0);
}

/* Opens and reads; what is accepted is a part of what was written, from its start; whole: all. */
static bool accepts(const char *dir, bool whole)
{
    struct world world;
    int rc = world_open(&world, dir);
    if (rc < 0) {
        assert_true(rc == GW_ECORRUPT || rc == GW_EVERSION || rc == GW_EIO);
        assert_true(strlen(world.error.text) > 20);
    } else {
        assert_int_equal(world.facts.size % 600, 0);
        assert_true(world.facts.size <= 3600 && (!whole || world.facts.size == 3600));
        for (size_t i = 0; i < world.facts.size; i++)
            assert_int_equal(world.facts.data[i], 'a' + i / 600);
    }
    world_close(&world);
    return rc == 0;
}

struct copy {
    char dir[PATH_MAX], db[PATH_MAX], wal[PATH_MAX];
    uint8_t *db_bytes, *wal_bytes;
    size_t db_size, wal_size;
};

static void copy_make(struct copy *copy)
{
    int status;
    make_dir(copy->dir);
    path_in(copy->dir, "facts.db", copy->db);
    path_in(copy->dir, "facts.db-wal", copy->wal);
    pid_t pid = fork();
    if (pid == 0)
        commits_without_end(copy->dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    copy->db_size = read_file(copy->db, &copy->db_bytes);
    copy->wal_size = read_file(copy->wal, &copy->wal_bytes);
}

static void copy_free(struct copy *copy)
{
    free(copy->db_bytes);
    free(copy->wal_bytes);
    remove_dir(copy->dir);
}

/* The log is cut anywhere: what was written before that is there, and nothing else. */
static void test_torn_tail_is_rolled_back(void **state)
{
    struct copy copy;
    int accepted = 0, tries = 0;
    copy_make(&copy);
    assert_true(copy.wal_size > 4096);
    for (size_t cut = 0; cut <= copy.wal_size; cut += 1009, tries++) {
        write_file(copy.db, copy.db_bytes, copy.db_size);
        write_file(copy.wal, copy.wal_bytes, cut);
        accepted += accepts(copy.dir, false);
    }
    assert_true(accepted > tries / 2);
    write_file(copy.db, copy.db_bytes, copy.db_size);
    write_file(copy.wal, copy.wal_bytes, copy.wal_size);
    assert_true(accepts(copy.dir, true));
    copy_free(&copy);
}

/* One byte of the file itself is another: all facts are there all the same, or it is refused. */
static void test_damage_is_refused(void **state)
{
    struct copy copy;
    int refused = 0;
    copy_make(&copy);
    assert_true(accepts(copy.dir, true)); /* moves the log into the file */
    free(copy.db_bytes);
    copy.db_size = read_file(copy.db, &copy.db_bytes);
    assert_true(copy.db_size >= 3600);
    for (size_t at = 0; at < copy.db_size; at += at < 120 ? 1 : 61) {
        copy.db_bytes[at] ^= 0x21;
        write_file(copy.db, copy.db_bytes, copy.db_size);
        (void)unlink(copy.wal);
        refused += !accepts(copy.dir, true);
        copy.db_bytes[at] ^= 0x21;
    }
    assert_true(refused > 20);
    for (size_t cut = 0; cut < copy.db_size; cut += 1021) {
        write_file(copy.db, copy.db_bytes, cut);
        (void)unlink(copy.wal);
        assert_false(accepts(copy.dir, true));
    }
    copy_free(&copy);
}

static bool there_is(const char *dir, const char *name)
{
    char path[PATH_MAX];
    path_in(dir, name, path);
    return access(path, F_OK) == 0;
}

/* A file of no bytes, or none, is no new state where something else of an earlier life lies. */
static void test_lost_facts_are_refused(void **state)
{
    struct copy copy;
    struct world world;
    copy_make(&copy);
    write_file(copy.db, copy.db_bytes, 0);
    assert_int_equal(world_open(&world, copy.dir), GW_ECORRUPT);
    assert_non_null(strstr(world.error.text, "empty, but an earlier life left facts.db-wal"));
    assert_non_null(strstr(world.error.text, "move it away"));
    world_close(&world);
    assert_true(there_is(copy.dir, "facts.db-wal")); /* nothing was changed */
    assert_int_equal(unlink(copy.wal), 0);
    assert_int_equal(world_open(&world, copy.dir), GW_ECORRUPT);
    assert_non_null(strstr(world.error.text, "empty, but an earlier life left reserve"));
    world_close(&world);
    assert_int_equal(unlink(copy.db), 0);
    assert_int_equal(world_open(&world, copy.dir), GW_ECORRUPT);
    assert_non_null(strstr(world.error.text, "gone, but an earlier life left reserve"));
    world_close(&world);
    assert_false(there_is(copy.dir, "facts.db"));
    copy_free(&copy);
}

/* A first life that ended before it had written anything leaves the lock and an empty file. */
static void test_empty_beginning_is_new(void **state)
{
    char dir[PATH_MAX], path[PATH_MAX];
    struct world world;
    make_dir(dir);
    path_in(dir, "lock", path);
    write_file(path, (const uint8_t *)"1\n", 2);
    path_in(dir, "facts.db", path);
    write_file(path, (const uint8_t *)"", 0);
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(world.facts.size, 0);
    world_close(&world);
    remove_dir(dir);
}

static void sql(const char *dir, const char *text)
{
    char path[PATH_MAX];
    sqlite3 *sqlite;
    path_in(dir, "facts.db", path);
    assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
}

static void refused_after(const char *text, int code, const char *words)
{
    struct copy copy;
    struct world world;
    copy_make(&copy);
    sql(copy.dir, text);
    assert_int_equal(world_open(&world, copy.dir), code);
    assert_non_null(strstr(world.error.text, words));
    world_close(&world);
    copy_free(&copy);
}

static void test_foreign_state_is_refused(void **state)
{
    refused_after("PRAGMA user_version=7", GW_EVERSION, "has version 7");
    refused_after("PRAGMA application_id=7", GW_ECORRUPT, "no file of Gangway's");
    refused_after("DELETE FROM facts WHERE number=6", GW_ECORRUPT, "row 6");
    refused_after("DELETE FROM facts WHERE number=2", GW_ECORRUPT, "row 2");
    refused_after("UPDATE facts SET bytes=zeroblob(600) WHERE number=3", GW_ECORRUPT, "row 3");
    refused_after("DROP TABLE facts", GW_ECORRUPT, "damaged");
    refused_after("DELETE FROM facts; DELETE FROM head", GW_ECORRUPT, "row 1");
}

/* -- No room -------------------------------------------------------------------------------------
 */

static void await(struct world *world, const int *count)
{
    while (*count == 0)
        uv_run(&world->loop, UV_RUN_ONCE);
}

static void test_failure_is_told_once(void **state)
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
    assert_int_equal(world.seen.calls, 0); /* nothing was committed, nothing told */
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(world.facts.size, 0);
    world_close(&world);
    free(large);
    remove_dir(dir);
}

/* A small file system of our own; false where that is not permitted. */
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
    append(&world, 2, fact); /* fits into what was kept in reserve alone */
    await(&world, &world.seen.full);
    assert_int_equal(world.seen.failed, 0);
    assert_int_equal(world.seen.last, 2);
    assert_non_null(strstr(world.seen.text, "no room"));
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

static void test_full_disk_lets_ends_through(void **state)
{
    char dir[PATH_MAX];
    int status;
    make_dir(dir);
    pid_t pid = fork();
    if (pid == 0)
        lives_on_reserve(dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    remove_dir(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
        skip(); /* no file system can be mounted here */
    assert_int_equal(status, 0);
}

static void await_lost(struct world *world)
{
    while (!gw_journal_lost(world->journal)) {
        uv_run(&world->loop, UV_RUN_NOWAIT);
        sched_yield();
    }
}

/* What nobody would read again is not told as committed, and that it is so is seen without facts,
 * too. */
static void test_file_that_goes_is_seen(void **state)
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
        cmocka_unit_test(test_commits_a_turn_at_once),
        cmocka_unit_test(test_is_there_again),
        cmocka_unit_test(test_rewrites),
        cmocka_unit_test(test_is_one_schedulers),
        cmocka_unit_test(test_torn_tail_is_rolled_back),
        cmocka_unit_test(test_damage_is_refused),
        cmocka_unit_test(test_lost_facts_are_refused),
        cmocka_unit_test(test_empty_beginning_is_new),
        cmocka_unit_test(test_foreign_state_is_refused),
        cmocka_unit_test(test_failure_is_told_once),
        cmocka_unit_test(test_file_that_goes_is_seen),
        cmocka_unit_test(test_full_disk_lets_ends_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
