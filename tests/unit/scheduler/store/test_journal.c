/* The journal: one commit covers all appends of a turn; on disk it survives any end of the process,
 * complete or refused, and on a full disk ends can still be committed. */
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

static void appends_of_a_loop_turn_are_committed_together(void **state)
{
    struct world world;
    assert_int_equal(world_open(&world, NULL), 0);
    append(&world, 1, "one");
    append(&world, 2, "three");
    assert_int_equal(world.seen.calls, 0); /* never during the call */
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(world.seen.calls, 1);
    assert_int_equal(world.seen.last, 2);
    append(&world, 3, "x");
    world_close(&world);
    assert_int_equal(world.seen.calls, 1);
}

/* Lazy facts alone wait; one that is not lazy, a sync and a close commit them at once. */
static void lazy_facts_are_committed_together(void **state)
{
    enum { FACTS = 1000 };
    char dir[PATH_MAX];
    struct world world;
    (void)state;
    make_dir(dir);
    assert_int_equal(world_open(&world, dir), 0);
    append(&world, 1, "a");
    uv_run(&world.loop, UV_RUN_DEFAULT);
    const uint64_t before = gw_journal_commits(world.journal);
    for (uint64_t i = 2; i < FACTS; i++) {
        assert_int_equal(gw_journal_append(world.journal, i, (struct gw_bin){"l", 1}, true), 0);
        (void)uv_run(&world.loop, UV_RUN_NOWAIT);
    }
    uv_run(&world.loop, UV_RUN_DEFAULT); /* until the last is on disk */
    assert_int_equal(world.seen.last, FACTS - 1);
    assert_in_range(gw_journal_commits(world.journal) - before, 1, FACTS / 10);
    assert_int_equal(gw_journal_append(world.journal, FACTS, (struct gw_bin){"l", 1}, true), 0);
    assert_int_equal(gw_journal_sync(world.journal, &world.error), 0);
    world_close(&world);
    remove_dir(dir);
}

static void committed_facts_are_read_back_after_reopening(void **state)
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

static void rewritten_journal_holds_only_the_new_facts(void **state)
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

static void second_scheduler_cannot_open_the_journal(void **state)
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

/* Facts as they were when the process died between two commits: facts that were not checkpointed
 * are in the log beside the file. */
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

/* Opens and reads; accepted facts are a prefix of the written ones; whole: all of them. */
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
    char dir[PATH_MAX], db[PATH_MAX], wal[PATH_MAX], mark[PATH_MAX];
    uint8_t *db_bytes, *wal_bytes, *mark_bytes;
    size_t db_size, wal_size, mark_size;
};

static void copy_make(struct copy *copy)
{
    int status;
    make_dir(copy->dir);
    path_in(copy->dir, "facts.db", copy->db);
    path_in(copy->dir, "facts.db-wal", copy->wal);
    path_in(copy->dir, "facts.mark", copy->mark);
    pid_t pid = fork();
    if (pid == 0)
        commits_without_end(copy->dir);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    copy->db_size = read_file(copy->db, &copy->db_bytes);
    copy->wal_size = read_file(copy->wal, &copy->wal_bytes);
    copy->mark_size = read_file(copy->mark, &copy->mark_bytes);
}

/* Restores the files as they were when the process died. */
static void copy_restore(const struct copy *copy)
{
    write_file(copy->db, copy->db_bytes, copy->db_size);
    write_file(copy->wal, copy->wal_bytes, copy->wal_size);
    write_file(copy->mark, copy->mark_bytes, copy->mark_size);
}

static void copy_free(struct copy *copy)
{
    free(copy->db_bytes);
    free(copy->wal_bytes);
    free(copy->mark_bytes);
    remove_dir(copy->dir);
}

/* The log ends anywhere, and the mark did not reach the disk: all earlier commits are read, and
 * nothing else. */
static void torn_log_tail_is_rolled_back(void **state)
{
    struct copy copy;
    int accepted = 0, tries = 0;
    copy_make(&copy);
    assert_true(copy.wal_size > 4096);
    for (size_t cut = 0; cut <= copy.wal_size; cut += 1009, tries++) {
        copy_restore(&copy);
        write_file(copy.wal, copy.wal_bytes, cut);
        assert_int_equal(unlink(copy.mark), 0);
        accepted += accepts(copy.dir, false);
    }
    assert_int_equal(accepted, tries);
    copy_restore(&copy);
    assert_true(accepts(copy.dir, true));
    copy_free(&copy);
}

static uint32_t draw(uint32_t *seed, size_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)*seed * below) >> 32);
}

/* One of the three files; larger files are more likely. */
static const char *draw_file(const struct copy *copy, uint32_t *seed, const uint8_t **bytes,
                             size_t *size)
{
    const size_t at = draw(seed, copy->db_size + copy->wal_size + copy->mark_size);
    const bool db = at < copy->db_size, wal = !db && at < copy->db_size + copy->wal_size;
    *bytes = db ? copy->db_bytes : wal ? copy->wal_bytes : copy->mark_bytes;
    *size = db ? copy->db_size : wal ? copy->wal_size : copy->mark_size;
    return db ? copy->db : wal ? copy->wal : copy->mark;
}

/* A bit is flipped, or a file is truncated or removed: the damage is reported, or no
 * acknowledged commit is lost. A refused file is left unchanged. */
static void any_damage_is_refused_or_loses_no_commit(void **state)
{
    enum { FLIPS = 100, CUTS = 60 };
    struct copy copy;
    uint32_t seed = 7;
    int told = 0;
    copy_make(&copy);
    for (int i = 0; i < FLIPS + CUTS; i++) {
        const uint8_t *bytes;
        size_t size;
        copy_restore(&copy);
        const char *path = draw_file(&copy, &seed, &bytes, &size);
        const size_t at = draw(&seed, size);
        uint8_t *changed = malloc(size);
        assert_non_null(changed);
        memcpy(changed, bytes, size);
        changed[at] ^= (uint8_t)(1u << draw(&seed, 8));
        write_file(path, changed, i < FLIPS ? size : at);
        free(changed);
        told += !accepts(copy.dir, true);
    }
    assert_true(told > FLIPS / 2);
    const char *const paths[] = {copy.db, copy.wal, copy.mark};
    for (int i = 0; i < 3; i++) {
        copy_restore(&copy);
        assert_int_equal(unlink(paths[i]), 0);
        assert_int_equal(accepts(copy.dir, true), i == 2);
    }
    copy_free(&copy);
}

static void refuses(const char *dir, const char *words)
{
    struct world world;
    assert_int_equal(world_open(&world, dir), GW_ECORRUPT);
    if (!strstr(world.error.text, words))
        fail_msg("no \"%s\" in: %s", words, world.error.text);
    assert_non_null(strstr(world.error.text, "gangway up --accept-loss"));
    world_close(&world);
}

/* The log frames behind a damaged frame are noticed without a mark, too, and stay unchanged. */
static void damaged_frame_is_refused_and_left_unchanged(void **state)
{
    struct copy copy;
    uint8_t *left;
    copy_make(&copy);
    for (int header = 0; header < 2; header++) {
        copy_restore(&copy);
        copy.wal_bytes[header ? 20 : 32 + 24 + 50] ^= 4;
        write_file(copy.wal, copy.wal_bytes, copy.wal_size);
        assert_int_equal(unlink(copy.mark), 0);
        refuses(copy.dir, header ? "header" : "frame 1 of facts.db-wal");
        assert_int_equal(read_file(copy.wal, &left), copy.wal_size);
        assert_memory_equal(left, copy.wal_bytes, copy.wal_size);
        free(left);
        copy.wal_bytes[header ? 20 : 32 + 24 + 50] ^= 4;
    }
    copy_free(&copy);
}

static void missing_commits_are_counted_in_the_error(void **state)
{
    struct copy copy;
    copy_make(&copy);
    write_file(copy.wal, copy.wal_bytes, copy.wal_size - 100);
    refuses(copy.dir, "ends with commit 5, and 6 were acknowledged: 1 are missing");
    assert_int_equal(unlink(copy.wal), 0);
    refuses(copy.dir, "ends with commit 0, and 6 were acknowledged: 6 are missing");
    copy_free(&copy);
}

/* Workers know of more commits than the journal has; the journal records that, despite later
 * commits. */
static void commits_missed_by_workers_are_recorded_as_missing(void **state)
{
    char dir[PATH_MAX];
    struct world world;
    struct gw_error error;
    make_dir(dir);
    assert_int_equal(world_open(&world, dir), 0);
    for (uint64_t number = 1; number <= 3; number++) {
        assert_int_equal(gw_journal_commits(world.journal), number - 1);
        append(&world, number, "x");
        uv_run(&world.loop, UV_RUN_DEFAULT);
    }
    world_close(&world);
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(gw_journal_commits(world.journal), 3);
    append(&world, 1, "y");
    assert_int_equal(gw_journal_lack(world.journal, 5, "somebody knows", &error), GW_ECORRUPT);
    assert_non_null(strstr(error.text, "is damaged: somebody knows. Put back a copy"));
    world_close(&world);
    refuses(dir, "ends with commit 4, and 9 were acknowledged: 5 are missing");
    remove_dir(dir);
}

/* One byte of the database is changed: all facts are read nevertheless, or the file is refused. */
static void flipped_byte_loses_no_facts_or_is_refused(void **state)
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

/* An empty or missing database is not a new state if other files of an earlier scheduler exist. */
static void missing_database_beside_older_files_is_refused(void **state)
{
    struct copy copy;
    struct world world;
    copy_make(&copy);
    write_file(copy.db, copy.db_bytes, 0);
    assert_int_equal(world_open(&world, copy.dir), GW_ECORRUPT);
    assert_non_null(strstr(world.error.text, "empty, but an earlier scheduler left facts.db-wal"));
    assert_non_null(strstr(world.error.text, "gangway up --accept-loss"));
    world_close(&world);
    assert_true(there_is(copy.dir, "facts.db-wal")); /* nothing was changed */
    assert_int_equal(unlink(copy.wal), 0);
    assert_int_equal(world_open(&world, copy.dir), GW_ECORRUPT);
    assert_non_null(strstr(world.error.text, "empty, but an earlier scheduler left facts.mark"));
    world_close(&world);
    assert_int_equal(unlink(copy.db), 0);
    assert_int_equal(world_open(&world, copy.dir), GW_ECORRUPT);
    assert_non_null(strstr(world.error.text, "gone, but an earlier scheduler left facts.mark"));
    world_close(&world);
    assert_false(there_is(copy.dir, "facts.db"));
    copy_free(&copy);
}

/* A first scheduler that ended before its first write leaves the lock and an empty file. */
static void empty_database_with_a_lock_file_is_a_new_state(void **state)
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

static void foreign_or_inconsistent_state_is_refused(void **state)
{
    refused_after("PRAGMA user_version=7", GW_EVERSION, "has format version 7");
    refused_after("PRAGMA application_id=7", GW_ECORRUPT, "was not written by Gangway");
    refused_after("DELETE FROM facts WHERE number=6", GW_ECORRUPT, "row 6");
    refused_after("DELETE FROM facts WHERE number=2", GW_ECORRUPT, "row 2");
    refused_after("UPDATE facts SET bytes=zeroblob(600) WHERE number=3", GW_ECORRUPT, "row 3");
    refused_after("DROP TABLE facts", GW_ECORRUPT, "damaged");
    refused_after("DELETE FROM facts; DELETE FROM head", GW_ECORRUPT, "row 1");
}

/* -- The cluster ---------------------------------------------------------------------------------
 */

/* Opens, and returns the id of the cluster. */
static void cluster_of(const char *dir, char id[GW_CLUSTER_ID_BYTES])
{
    struct world world;
    assert_int_equal(world_open(&world, dir), 0);
    memcpy(id, gw_journal_cluster(world.journal), GW_CLUSTER_ID_BYTES);
    assert_int_equal(strlen(id), GW_CLUSTER_ID_BYTES - 1);
    world_close(&world);
}

static void cluster_id_stays_with_its_state(void **state)
{
    char dir[PATH_MAX], first[GW_CLUSTER_ID_BYTES], id[GW_CLUSTER_ID_BYTES];
    make_dir(dir);
    cluster_of(dir, first);
    cluster_of(dir, id);
    assert_string_equal(id, first);
    sql(dir, "UPDATE head SET cluster='0123456789abcdef0123456789abcdef'");
    refuses(dir, "the id of the cluster in it is not what was written");
    remove_dir(dir);
    make_dir(dir);
    cluster_of(dir, id);
    assert_string_not_equal(id, first);
    remove_dir(dir);
}

/* The previous version had the cluster id in a file; a doubtful id is refused, not replaced. */
static void state_of_the_previous_version_is_migrated(void **state)
{
    static const char before[] = "CREATE TABLE old(number INTEGER NOT NULL, hash BLOB NOT NULL);"
                                 "INSERT INTO old SELECT number, hash FROM head; DROP TABLE head;"
                                 "ALTER TABLE old RENAME TO head; PRAGMA user_version=1";
    static const char known[] = "00112233445566778899aabbccddeeff\n";
    static const char *const doubtful[] = {"", "00112233", "00112233445566778899aabbccddeexx\n"};
    struct copy copy;
    char path[PATH_MAX], id[GW_CLUSTER_ID_BYTES];
    copy_make(&copy);
    sql(copy.dir, before);
    assert_int_equal(unlink(copy.mark), 0);
    path_in(copy.dir, "cluster", path);
    refuses(copy.dir, "its file `cluster`");
    for (size_t i = 0; i < sizeof doubtful / sizeof *doubtful; i++) {
        write_file(path, (const uint8_t *)doubtful[i], strlen(doubtful[i]));
        refuses(copy.dir, "its file `cluster`");
    }
    write_file(path, (const uint8_t *)known, strlen(known));
    assert_true(accepts(copy.dir, true));
    assert_int_equal(unlink(path), 0); /* the file is not needed any more */
    cluster_of(copy.dir, id);
    assert_memory_equal(id, known, strlen(id));
    copy_free(&copy);
}

/* The old state stays under another name, and a new cluster begins. */
static void damaged_state_is_set_aside_for_a_new_cluster(void **state)
{
    struct copy copy;
    struct gw_error error;
    char aside[PATH_MAX], path[PATH_MAX], first[GW_CLUSTER_ID_BYTES], id[GW_CLUSTER_ID_BYTES];
    uint8_t *left;
    copy_make(&copy);
    cluster_of(copy.dir, first);
    copy_restore(&copy);
    assert_int_equal(unlink(copy.wal), 0);
    path_in(copy.dir, "programs", path);
    assert_int_equal(mkdir(path, 0700), 0);
    refuses(copy.dir, "are missing");
    assert_int_equal(gw_damaged_state_set_aside(copy.dir, NULL, aside, &error), 0);
    assert_memory_equal(aside, copy.dir, strlen(copy.dir));
    assert_true(there_is(aside, "programs"));
    assert_true(there_is(aside, "facts.mark"));
    path_in(aside, "facts.db", path);
    assert_int_equal(read_file(path, &left), copy.db_size);
    assert_memory_equal(left, copy.db_bytes, copy.db_size);
    free(left);
    cluster_of(copy.dir, id);
    assert_string_not_equal(id, first);
    copy_free(&copy);
}

static void idle_journal_folds_its_log_into_the_database(void **state)
{
    char dir[PATH_MAX], wal[PATH_MAX];
    struct world world;
    struct stat info = {0};
    make_dir(dir);
    path_in(dir, "facts.db-wal", wal);
    assert_int_equal(world_open(&world, dir), 0);
    append(&world, 1, "one");
    assert_int_equal(gw_journal_sync(world.journal, &world.error), 0);
    assert_int_equal(stat(wal, &info), 0);
    assert_true(info.st_size > 0);
    while (info.st_size > 0) { /* the time limit of the test ends it */
        uv_run(&world.loop, UV_RUN_NOWAIT);
        assert_int_equal(stat(wal, &info), 0);
        sched_yield();
    }
    append(&world, 2, "two");
    world_close(&world);
    assert_int_equal(world_open(&world, dir), 0);
    assert_int_equal(world.facts.size, 6);
    world_close(&world);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appends_of_a_loop_turn_are_committed_together),
        cmocka_unit_test(lazy_facts_are_committed_together),
        cmocka_unit_test(committed_facts_are_read_back_after_reopening),
        cmocka_unit_test(rewritten_journal_holds_only_the_new_facts),
        cmocka_unit_test(second_scheduler_cannot_open_the_journal),
        cmocka_unit_test(torn_log_tail_is_rolled_back),
        cmocka_unit_test(any_damage_is_refused_or_loses_no_commit),
        cmocka_unit_test(damaged_frame_is_refused_and_left_unchanged),
        cmocka_unit_test(missing_commits_are_counted_in_the_error),
        cmocka_unit_test(commits_missed_by_workers_are_recorded_as_missing),
        cmocka_unit_test(cluster_id_stays_with_its_state),
        cmocka_unit_test(state_of_the_previous_version_is_migrated),
        cmocka_unit_test(damaged_state_is_set_aside_for_a_new_cluster),
        cmocka_unit_test(idle_journal_folds_its_log_into_the_database),
        cmocka_unit_test(flipped_byte_loses_no_facts_or_is_refused),
        cmocka_unit_test(missing_database_beside_older_files_is_refused),
        cmocka_unit_test(empty_database_with_a_lock_file_is_a_new_state),
        cmocka_unit_test(foreign_or_inconsistent_state_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
