/* Removes folders of forgotten jobs.
 *
 * Invariant: before a folder is removed, it is renamed, in one step, to a name that no job has. So
 * a new job of the same number never finds old files, and after a crash the next term removes the
 * renamed folders. */
#include "scheduler/net/tidy.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/must.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FOUND_MAX = 1 << 16 }; /* folders that are handled in one turn of the loop */

static const char *const folders[] = {"checkpoints", "logs"};

/* The folder of a job. */
struct found {
    uint64_t job, number; /* number: its new name */
    uint32_t folder;
};

struct gw_tidy {
    struct gw_tidy_options options;
    uv_loop_t *loop;
    uv_work_t work;
    char aside[PATH_MAX];
    uint64_t number; /* last number used for a new name */
    bool runs, more; /* the thread runs; it has more folders to handle */
    bool wanted;     /* the next run of the thread is to look for folders */
    bool looks;      /* used by the thread: it looks in this run */
    /* Owned by the thread while it runs: folders to rename, then those it saw. */
    GW_ARRAY(struct found) found;
    atomic_bool stops; /* tells the thread to stop */
    bool closed;
};

/* -- On the thread ---------------------------------------------------------------------------- */

static void set_found_aside(struct gw_tidy *tidy)
{
    char from[PATH_MAX + 64], to[PATH_MAX + 64];
    struct gw_error error;
    if (tidy->found.count && gw_dir_make(tidy->aside, &error) < 0)
        gw_log_warn("%s", error.text);
    for (size_t i = 0; i < tidy->found.count && !atomic_load(&tidy->stops); i++) {
        const struct found *found = &tidy->found.items[i];
        (void)snprintf(from, sizeof from, "%s/%s/%" PRIu64, tidy->options.dir,
                       folders[found->folder], found->job);
        (void)snprintf(to, sizeof to, "%s/%" PRIu64, tidy->aside, found->number);
        if (rename(from, to) < 0 && errno != ENOENT)
            gw_log_warn("%s stays: %s", from, strerror(errno));
    }
    gw_array_clear(&tidy->found);
}

static void remove_aside(const struct gw_tidy *tidy)
{
    char path[PATH_MAX + 264];
    struct gw_error error;
    struct dirent **names = NULL;
    const int count = scandir(tidy->aside, &names, NULL, NULL);
    for (int i = 0; i < count; i++) {
        const char *name = names[i]->d_name;
        if (!atomic_load(&tidy->stops) && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            (void)snprintf(path, sizeof path, "%s/%s", tidy->aside, name);
            if (unlink(path) < 0 && gw_dir_remove(path, &error) < 0)
                gw_log_warn("%s", error.text);
        }
        free(names[i]);
    }
    free(names);
}

/* Parses the name of a folder as a job id. Returns false if it is not one. */
static bool job_of(const char *name, uint64_t *job)
{
    char *end;
    *job = strtoull(name, &end, 10);
    return *name >= '0' && *name <= '9' && *end == '\0';
}

static void look(struct gw_tidy *tidy)
{
    char path[PATH_MAX + 16];
    for (uint32_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        struct found found = {.folder = i};
        (void)snprintf(path, sizeof path, "%s/%s", tidy->options.dir, folders[i]);
        DIR *dir = opendir(path);
        for (const struct dirent *entry;
             dir && tidy->found.count < FOUND_MAX && (entry = readdir(dir));)
            if (job_of(entry->d_name, &found.job))
                GW_MUST(gw_array_push(&tidy->found, found));
        if (dir)
            (void)closedir(dir);
    }
}

static void tidy_on_thread(uv_work_t *work)
{
    struct gw_tidy *tidy = work->data;
    set_found_aside(tidy);
    remove_aside(tidy);
    if (tidy->looks && !atomic_load(&tidy->stops))
        look(tidy);
}

/* -- On the loop ------------------------------------------------------------------------------ */

static void start(struct gw_tidy *tidy);

/* Keeps in the list only the folders of unknown jobs. A folder is created after its job, so a job
 * that is unknown now was forgotten. */
static void decide(struct gw_tidy *tidy)
{
    size_t count = 0;
    for (size_t i = 0; i < tidy->found.count; i++) {
        struct found found = tidy->found.items[i];
        if (tidy->options.knows(found.job, tidy->options.arg))
            continue;
        found.number = ++tidy->number;
        tidy->found.items[count++] = found;
    }
    tidy->found.count = count;
}

static void tidy_free(struct gw_tidy *tidy)
{
    (void)rmdir(tidy->aside);
    gw_array_deinit(&tidy->found);
    free(tidy);
}

static void tidy_on_done(uv_work_t *work, int status)
{
    struct gw_tidy *tidy = work->data;
    (void)status;
    tidy->runs = false;
    if (tidy->closed) {
        tidy_free(tidy);
        return;
    }
    decide(tidy);
    if (tidy->more || tidy->found.count)
        start(tidy);
}

static void start(struct gw_tidy *tidy)
{
    tidy->more = tidy->runs;
    if (tidy->runs)
        return;
    tidy->runs = true;
    tidy->looks = tidy->wanted;
    tidy->wanted = false;
    GW_MUST(uv_queue_work(tidy->loop, &tidy->work, tidy_on_thread, tidy_on_done));
}

void gw_tidy_look(struct gw_tidy *tidy)
{
    tidy->wanted = true;
    start(tidy);
}

/* -- Renaming --------------------------------------------------------------------------------- */

static bool is_to_go(const struct gw_tidy *tidy, const char *name)
{
    uint64_t job;
    if (*name == '.')
        return false;
    return !job_of(name, &job) || !tidy->options.knows(job, tidy->options.arg);
}

static int set_aside(struct gw_tidy *tidy, const char *folder, struct gw_error *error)
{
    char path[PATH_MAX], from[PATH_MAX + 264], to[PATH_MAX + 64];
    uint32_t count = 0;
    if (snprintf(path, sizeof path, "%s/%s", tidy->options.dir, folder) >= (int)sizeof path)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes",
                            tidy->options.dir, PATH_MAX - 1);
    DIR *dir = opendir(path);
    int rc = dir ? gw_dir_make(tidy->aside, error) : 0;
    for (const struct dirent *entry; dir && rc == 0 && (entry = readdir(dir));) {
        if (!is_to_go(tidy, entry->d_name))
            continue;
        (void)snprintf(from, sizeof from, "%s/%s", path, entry->d_name);
        (void)snprintf(to, sizeof to, "%s/%llu", tidy->aside, (unsigned long long)++tidy->number);
        if (rename(from, to) < 0 && errno != ENOENT)
            gw_log_warn("%s stays: %s", from, strerror(errno));
        count++;
    }
    if (dir)
        (void)closedir(dir);
    if (count)
        start(tidy);
    return rc;
}

int gw_tidy_begin(struct gw_tidy *tidy, struct gw_error *error)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders && rc == 0; i++)
        rc = set_aside(tidy, folders[i], error);
    return rc;
}

struct gw_tidy *gw_tidy_open(uv_loop_t *loop, const struct gw_tidy_options *options)
{
    struct gw_tidy *tidy = calloc(1, sizeof *tidy);
    GW_MUST_PTR(tidy);
    tidy->options = *options;
    tidy->loop = loop;
    tidy->work.data = tidy;
    tidy->number = gw_clock_wall_ns(); /* larger than every number of an earlier term */
    (void)snprintf(tidy->aside, sizeof tidy->aside, "%.*s/.old", PATH_MAX - 8, options->dir);
    if (access(tidy->aside, F_OK) == 0)
        start(tidy);
    return tidy;
}

void gw_tidy_close(struct gw_tidy *tidy)
{
    if (!tidy)
        return;
    atomic_store(&tidy->stops, true);
    tidy->closed = true;
    if (!tidy->runs)
        tidy_free(tidy);
}
