/* Group commit: while the thread commits one group of facts, the loop collects the next group. The
 * mutex protects the data that both threads use. While the thread runs, only it uses the database.
 *
 * A pending commit keeps the loop running. Nothing else of the journal does. */
#include "scheduler/store/journal.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "scheduler/store/database.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_NS GW_NS_PER_S       /* time between checks for free space on a full disk */
#define LOOK_NS (2 * GW_NS_PER_S) /* time between checks of the file while nothing is written */

struct paths {
    GW_ARRAY(char *) list;
};

struct gw_journal {
    uv_async_t wake;
    struct gw_journal_callbacks callbacks;
    uint64_t last, shown; /* fact numbers: last appended; last reported as committed */
    /* Commits: reported together with `shown`; known to be missing. */
    uint64_t commits_shown, lacking;
    bool was_full, failure_shown, on_disk;
    char cluster[GW_CLUSTER_ID_BYTES];
    struct gw_database *database;
    uv_thread_t thread;

    uv_mutex_t mutex; /* protects the fields below */
    uv_cond_t changed;
    struct gw_buffer pending;
    uint64_t due_ns; /* when `pending` is committed at the latest; 0: now */
    struct paths to_sync;
    uint64_t pending_number, committed, commits;
    bool closing, full, lost;
    struct gw_error room, failure; /* code 0: no error */
};

/* -- The thread ------------------------------------------------------------------------------- */

/* Syncs a file and its folder to disk. A missing file is skipped. */
static int sync_file(const char *path, struct gw_error *error)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    const char *const both[] = {path, folder};
    int rc = 0;
    for (int i = 0; i < 2 && rc == 0; i++) {
        int fd = open(both[i], O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            return 0;
        if (fd < 0 || fsync(fd) < 0)
            rc = gw_error_set(error, GW_EIO, "%s: %s", both[i], strerror(errno));
        if (fd >= 0)
            close(fd);
    }
    return rc;
}

static int sync_files(struct paths *paths, struct gw_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < paths->list.count; i++) {
        if (rc == 0)
            rc = sync_file(paths->list.items[i], error);
        free(paths->list.items[i]);
    }
    gw_array_deinit(&paths->list);
    return rc;
}

/* Returns true if the database file was removed. Facts that are written to a removed file are lost,
 * so they must not be reported as committed. */
static bool is_lost(struct gw_journal *journal, struct gw_error *error)
{
    if (!gw_database_lost(journal->database))
        return false;
    (void)gw_error_set(error, GW_EIO, "the file of the cluster's state, facts.db, was removed");
    return true;
}

/* Commits the pending facts. The caller holds the mutex. It is released during the commit. */
static void commit(struct gw_journal *journal)
{
    struct gw_buffer group = journal->pending;
    struct paths paths = journal->to_sync;
    uint64_t number = journal->pending_number;
    struct gw_error error = {0};
    journal->pending = (struct gw_buffer){0};
    journal->to_sync = (struct paths){0};
    uv_mutex_unlock(&journal->mutex);

    int rc = sync_files(&paths, &error);
    if (rc == 0)
        rc = gw_database_append(journal->database, group.data, group.size, &error);
    gw_buffer_deinit(&group);
    struct gw_error room = {0};
    const uint64_t commits = gw_database_commits(journal->database);
    bool lost = rc == 0 && is_lost(journal, &error);
    bool full = rc == 0 && !lost && gw_database_full(journal->database, &room);

    uv_mutex_lock(&journal->mutex);
    if (rc == 0 && !lost) {
        journal->committed = number;
        journal->commits = commits;
    } else {
        journal->failure = error;
    }
    journal->lost = lost;
    journal->full = full;
    journal->room = room;
    uv_cond_broadcast(&journal->changed);
    (void)uv_async_send(&journal->wake);
}

/* Idle work: moves the log into the main file, and checks whether the file still exists and whether
 * a full disk has free space again. */
static void look(struct gw_journal *journal)
{
    struct gw_error room = {0}, error = {0};
    const bool was_full = journal->full;
    uv_mutex_unlock(&journal->mutex);
    const bool lost = is_lost(journal, &error);
    if (!lost)
        gw_database_fold(journal->database);
    const bool full = was_full && !lost && gw_database_full(journal->database, &room);
    uv_mutex_lock(&journal->mutex);
    journal->lost = lost;
    journal->failure = error;
    journal->full = full;
    if (was_full && !full)
        (void)uv_async_send(&journal->wake);
}

static void run_thread(void *arg)
{
    struct gw_journal *journal = arg;
    uv_mutex_lock(&journal->mutex);
    while (journal->failure.code == 0) {
        const uint64_t now_ns = gw_clock_now_ns();
        if (journal->pending.size > 0 && (journal->closing || journal->due_ns <= now_ns))
            commit(journal);
        else if (journal->pending.size > 0)
            (void)uv_cond_timedwait(&journal->changed, &journal->mutex, journal->due_ns - now_ns);
        else if (journal->closing)
            break;
        else if (uv_cond_timedwait(&journal->changed, &journal->mutex,
                                   journal->full ? ROOM_NS : LOOK_NS) == UV_ETIMEDOUT)
            look(journal);
    }
    uv_mutex_unlock(&journal->mutex);
}

/* -- The loop --------------------------------------------------------------------------------- */

static void tell_room(struct gw_journal *journal, bool full, const struct gw_error *room)
{
    if (full == journal->was_full)
        return;
    journal->was_full = full;
    journal->callbacks.on_room(full ? room : NULL, journal->callbacks.arg);
}

static void journal_on_wake(uv_async_t *async)
{
    struct gw_journal *journal = async->data;
    uv_mutex_lock(&journal->mutex);
    uint64_t committed = journal->on_disk ? journal->committed : journal->last;
    const uint64_t commits = journal->commits;
    bool full = journal->full;
    struct gw_error room = journal->room, failure = journal->failure;
    const bool lost = journal->lost;
    uv_mutex_unlock(&journal->mutex);

    if (committed == journal->last || failure.code < 0)
        uv_unref((uv_handle_t *)async);
    if (committed > journal->shown) {
        journal->shown = committed;
        journal->commits_shown = commits;
        journal->callbacks.on_committed(committed, journal->callbacks.arg);
    }
    tell_room(journal, full, &room);
    if (failure.code < 0 && !lost && !journal->failure_shown) {
        journal->failure_shown = true;
        journal->callbacks.on_failed(&failure, journal->callbacks.arg);
    }
}

int gw_journal_open(uv_loop_t *loop, const char *dir, const struct gw_journal_callbacks *callbacks,
                    struct gw_buffer *facts, struct gw_journal **journal, struct gw_error *error)
{
    struct gw_journal *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->callbacks = *callbacks;
    opened->on_disk = dir != NULL;
    int rc = dir ? gw_database_open(dir, &opened->database, error) : 0;
    if (rc == 0 && dir)
        rc = gw_database_read(opened->database, facts, error);
    if (rc == 0 && dir) {
        memcpy(opened->cluster, gw_database_cluster(opened->database), sizeof opened->cluster);
        opened->commits = opened->commits_shown = gw_database_commits(opened->database);
    } else if (rc == 0) {
        rc = gw_cluster_id_make(opened->cluster, error);
    }
    if (rc < 0) {
        if (opened->database)
            gw_database_close(opened->database);
        free(opened);
        return rc;
    }
    rc = uv_async_init(loop, &opened->wake, journal_on_wake);
    assert(rc == 0);
    opened->wake.data = opened;
    uv_unref((uv_handle_t *)&opened->wake);
    GW_MUST(uv_mutex_init(&opened->mutex));
    GW_MUST(uv_cond_init(&opened->changed));
    *journal = opened;
    return 0;
}

const char *gw_journal_cluster(const struct gw_journal *journal)
{
    return journal->cluster;
}

uint64_t gw_journal_commits(const struct gw_journal *journal)
{
    return journal->commits_shown;
}

int gw_journal_lack(struct gw_journal *journal, uint64_t missing, const char *known,
                    struct gw_error *error)
{
    assert(journal->on_disk);
    journal->lacking = missing;
    return gw_database_explain(journal->database, known, error);
}

int gw_journal_rewrite(struct gw_journal *journal, const struct gw_buffer *facts,
                       struct gw_error *error)
{
    assert(journal->last == 0);
    return journal->on_disk
               ? gw_database_rewrite(journal->database, facts->data, facts->size, error)
               : 0;
}

/* Starts the thread at the first fact. Before that, the loop uses the database. */
static void start(struct gw_journal *journal)
{
    if (journal->on_disk && journal->last == 0)
        GW_MUST(uv_thread_create(&journal->thread, run_thread, journal));
}

int gw_journal_append(struct gw_journal *journal, uint64_t number, struct gw_bin fact, bool lazy)
{
    assert(number > journal->last);
    start(journal);
    int rc = 0;
    if (journal->on_disk) {
        uv_mutex_lock(&journal->mutex);
        const bool wakes = !lazy || journal->pending.size == 0;
        if (!lazy)
            journal->due_ns = 0;
        else if (journal->pending.size == 0)
            journal->due_ns = gw_clock_now_ns() + GW_JOURNAL_LAZY_MS * GW_NS_PER_MS;
        rc = gw_buffer_append(&journal->pending, fact.data, fact.size);
        if (rc == 0)
            journal->pending_number = number;
        if (wakes)
            uv_cond_broadcast(&journal->changed);
        uv_mutex_unlock(&journal->mutex);
    } else {
        (void)uv_async_send(&journal->wake);
    }
    journal->last = number;
    uv_ref((uv_handle_t *)&journal->wake);
    return rc;
}

void gw_journal_add_file(const char *path, void *arg)
{
    struct gw_journal *journal = arg;
    if (!journal->on_disk)
        return;
    char *copy = strdup(path);
    GW_MUST_PTR(copy);
    uv_mutex_lock(&journal->mutex);
    GW_MUST(gw_array_push(&journal->to_sync.list, copy));
    uv_mutex_unlock(&journal->mutex);
}

int gw_journal_sync(struct gw_journal *journal, struct gw_error *error)
{
    if (!journal->on_disk || journal->last == 0)
        return 0;
    uv_mutex_lock(&journal->mutex);
    journal->due_ns = 0;
    uv_cond_broadcast(&journal->changed);
    while (journal->committed < journal->last && journal->failure.code == 0)
        uv_cond_wait(&journal->changed, &journal->mutex);
    struct gw_error failure = journal->failure;
    uv_mutex_unlock(&journal->mutex);
    if (failure.code < 0)
        *error = failure;
    return failure.code;
}

static void journal_on_close(uv_handle_t *handle)
{
    struct gw_journal *journal = handle->data;
    struct gw_error ignored;
    (void)sync_files(&journal->to_sync, &ignored);
    if (journal->lacking)
        gw_database_lack(journal->database, journal->lacking);
    if (journal->database)
        gw_database_close(journal->database);
    gw_buffer_deinit(&journal->pending);
    uv_mutex_destroy(&journal->mutex);
    uv_cond_destroy(&journal->changed);
    free(journal);
}

bool gw_journal_lost(struct gw_journal *journal)
{
    uv_mutex_lock(&journal->mutex);
    const bool lost = journal->lost;
    uv_mutex_unlock(&journal->mutex);
    return lost;
}

void gw_journal_close(struct gw_journal *journal)
{
    if (journal->on_disk && journal->last > 0) {
        uv_mutex_lock(&journal->mutex);
        journal->closing = true;
        uv_cond_broadcast(&journal->changed);
        uv_mutex_unlock(&journal->mutex);
        (void)uv_thread_join(&journal->thread);
    }
    uv_close((uv_handle_t *)&journal->wake, journal_on_close);
}
