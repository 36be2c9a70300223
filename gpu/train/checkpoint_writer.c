/* Saves in the background. A thread copies the sections and then writes the copy. The memory of a
 * copy is used again by the next save, because fresh memory costs the system as much time as the
 * copy. A thread lives from its save to the next call. */
#include <gangway/checkpoint_writer.h>

#include "gpu/train/checkpoint_image.h"
#include "graph/base/options_read.h"
#include "graph/base/thread.h"
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITER_PATH_MAX = PATH_MAX - 64 }; /* there is room for a suffix */

static const char METRIC[] = "gangway.metric";

struct gw_checkpoint_writer {
    struct gw_checkpoint_writer_options options;
    char path[WRITER_PATH_MAX];
    double best;
    /* Of the save that runs or is over; the thread uses them until it is joined. */
    pthread_t thread;
    bool has_thread;
    char *memory; /* of the copy */
    size_t memory_bytes;
    const struct gw_checkpoint *from; /* the caller's, until copied */
    struct gw_checkpoint *copy;       /* its sections are in `memory` */
    uint64_t step;
    double metric;
    struct gw_error error; /* code 0: it is on disk */

    pthread_mutex_t mutex; /* guards is_copied */
    pthread_cond_t changed;
    bool is_copied;
};

/* A checkpoint of an earlier or of this save. */
struct save {
    const char *path;
    struct timespec at;
    unsigned long long step;
};

static void name_of(const struct gw_checkpoint_writer *writer, char name[PATH_MAX],
                    const char *suffix)
{
    (void)snprintf(name, PATH_MAX, "%s.%s", writer->path, suffix);
}

/* Gives the file a second name, in one step. */
static int link_as(struct gw_checkpoint_writer *writer, const char *file, const char *name)
{
    char temporary[PATH_MAX];
    name_of(writer, temporary, "link");
    (void)unlink(temporary);
    if (link(file, temporary) < 0 || rename(temporary, name) < 0)
        return gw_error_set(&writer->error, GW_EIO, "checkpoint %s: %s", name, strerror(errno));
    return 0;
}

/* The newest save first. Steps decide only if a file system has coarse times: training that went
 * back to an earlier step saves lower ones later. */
static int by_age(const void *a, const void *b)
{
    const struct save *x = a, *y = b;
    if (x->at.tv_sec != y->at.tv_sec)
        return x->at.tv_sec < y->at.tv_sec ? 1 : -1;
    if (x->at.tv_nsec != y->at.tv_nsec)
        return x->at.tv_nsec < y->at.tv_nsec ? 1 : -1;
    return (x->step < y->step) - (x->step > y->step);
}

/* Returns true if the path is that of a checkpoint of a step. */
static bool save_init(struct save *save, const char *path)
{
    const char *suffix = strrchr(path, '.') + 1;
    struct stat status;
    if (suffix[strspn(suffix, "0123456789")] != '\0' || stat(path, &status) < 0)
        return false;
    *save = (struct save){path, status.st_mtim, strtoull(suffix, NULL, 10)};
    return true;
}

/* Removes all but the last checkpoints. A file that cannot be removed is no reason to fail. */
static void old_remove(const struct gw_checkpoint_writer *writer)
{
    char pattern[2 * PATH_MAX];
    glob_t found;
    size_t count = 0, length = 0;
    for (const char *at = writer->path; *at; at++) {
        if (strchr("*?[\\", *at))
            pattern[length++] = '\\';
        pattern[length++] = *at;
    }
    (void)snprintf(pattern + length, sizeof pattern - length, ".[0-9]*");
    if (writer->options.last == GW_UNLIMITED || glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
        return;
    struct save *saves = malloc(found.gl_pathc * sizeof *saves);
    for (size_t i = 0; saves && i < found.gl_pathc; i++)
        count += save_init(&saves[count], found.gl_pathv[i]);
    if (count > writer->options.last) {
        qsort(saves, count, sizeof *saves, by_age);
        for (size_t i = writer->options.last; i < count; i++)
            if (saves[i].step != writer->step) /* never the one that was just written */
                (void)unlink(saves[i].path);
    }
    free(saves);
    globfree(&found);
}

static bool is_best(const struct gw_checkpoint_writer *writer)
{
    return writer->options.is_max ? writer->metric > writer->best : writer->metric < writer->best;
}

static void sections_copy(struct gw_checkpoint_writer *writer)
{
    char *at = writer->memory;
    for (size_t i = 0; i < gw_checkpoint_sections(writer->from); i++) {
        size_t bytes;
        const void *data = gw_checkpoint_section(writer->from, i, &bytes);
        if (bytes > 0)
            memcpy(at, data, bytes);
        at += bytes;
    }
    pthread_mutex_lock(&writer->mutex);
    writer->is_copied = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
}

/* Writes the copy: first the file of the step, then the names that point to it. */
static void *thread_main(void *arg)
{
    struct gw_checkpoint_writer *writer = arg;
    char file[PATH_MAX], suffix[32], best[PATH_MAX];
    sections_copy(writer);
    (void)snprintf(suffix, sizeof suffix, "%llu", (unsigned long long)writer->step);
    name_of(writer, file, suffix);
    name_of(writer, best, "best");
    if (gw_checkpoint_file_write(writer->copy, file, &writer->error) < 0)
        return NULL;
    if (link_as(writer, file, writer->path) < 0)
        return NULL;
    if (is_best(writer)) {
        if (link_as(writer, file, best) < 0)
            return NULL;
        writer->best = writer->metric;
    }
    old_remove(writer);
    return NULL;
}

/* Reads the metric of the best checkpoint of an earlier run. */
static int best_read(struct gw_checkpoint_writer *writer, struct gw_error *error)
{
    char path[PATH_MAX];
    struct gw_checkpoint *best;
    struct gw_error reason;
    name_of(writer, path, "best");
    writer->best = writer->options.is_max ? -INFINITY : INFINITY;
    int rc = gw_checkpoint_file_read(path, &best, &reason);
    if (rc == GW_ENOENT)
        return 0;
    if (rc < 0)
        return gw_error_set(error, rc, "%s", reason.text);
    (void)gw_checkpoint_copy(best, METRIC, &writer->best, sizeof writer->best, NULL);
    gw_checkpoint_free(best);
    return 0;
}

int gw_checkpoint_writer_open(const struct gw_checkpoint_writer_options *given,
                              struct gw_checkpoint_writer **writer, struct gw_error *error)
{
    struct gw_checkpoint_writer_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_checkpoint_writer_options, error);
    if (rc < 0)
        return rc;
    if (!options.path || !options.path[0] || strlen(options.path) >= WRITER_PATH_MAX)
        return gw_error_set(error, GW_EINVAL, "checkpoint writer: the path must have 1 to %d bytes",
                            PATH_MAX - 64);
    struct gw_checkpoint_writer *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "checkpoint writer: out of memory");
    (void)snprintf(self->path, sizeof self->path, "%s", options.path);
    self->options = options;
    self->options.path = self->path;
    if (options.last == 0)
        self->options.last = 2;
    rc = best_read(self, error);
    if (rc < 0) {
        free(self);
        return rc;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->is_copied = true;
    *writer = self;
    return 0;
}

/* Makes room for a copy of all sections, and a set of them. */
static int copy_prepare(struct gw_checkpoint_writer *self, const struct gw_checkpoint *checkpoint,
                        struct gw_error *error)
{
    const size_t count = gw_checkpoint_sections(checkpoint);
    size_t bytes, all = 0;
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        (void)gw_checkpoint_section(checkpoint, i, &bytes);
        all += bytes;
    }
    if (all > self->memory_bytes) {
        free(self->memory);
        self->memory = malloc(all);
        self->memory_bytes = self->memory ? all : 0;
    }
    self->copy = gw_checkpoint_new();
    if (!self->copy || (all > 0 && !self->memory))
        return gw_error_set(error, GW_ENOMEM,
                            "checkpoint %s: out of memory for a copy of %zu bytes", self->path,
                            all);
    char *at = self->memory;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = gw_checkpoint_section_move(self->copy, checkpoint, i, at);
        (void)gw_checkpoint_section(checkpoint, i, &bytes);
        at += bytes;
    }
    if (rc == 0)
        rc = gw_checkpoint_set_bytes(self->copy, METRIC, &self->metric, sizeof self->metric);
    return rc < 0 ? gw_error_set(error, rc, "checkpoint %s: cannot copy a section: %s", self->path,
                                 gw_error_text(rc))
                  : 0;
}

int gw_checkpoint_writer_start(struct gw_checkpoint_writer *writer,
                               const struct gw_checkpoint *checkpoint, uint64_t step, double metric,
                               struct gw_error *error)
{
    int rc = gw_checkpoint_writer_wait(writer, error);
    if (rc < 0)
        return rc;
    writer->step = step;
    writer->metric = metric;
    writer->from = checkpoint;
    writer->is_copied = false;
    rc = copy_prepare(writer, checkpoint, error);
    if (rc == 0 && gw_thread_start(&writer->thread, thread_main, writer) != 0)
        rc = gw_error_set(error, GW_ENOMEM, "checkpoint %s: cannot start a thread", writer->path);
    writer->has_thread = rc == 0;
    if (rc < 0) {
        gw_checkpoint_free(writer->copy);
        writer->copy = NULL;
        writer->is_copied = true;
    }
    return rc;
}

void gw_checkpoint_writer_copied(struct gw_checkpoint_writer *writer)
{
    pthread_mutex_lock(&writer->mutex);
    while (!writer->is_copied)
        pthread_cond_wait(&writer->changed, &writer->mutex);
    pthread_mutex_unlock(&writer->mutex);
}

int gw_checkpoint_writer_save(struct gw_checkpoint_writer *writer,
                              const struct gw_checkpoint *checkpoint, uint64_t step, double metric,
                              struct gw_error *error)
{
    int rc = gw_checkpoint_writer_start(writer, checkpoint, step, metric, error);
    gw_checkpoint_writer_copied(writer);
    return rc;
}

int gw_checkpoint_writer_wait(struct gw_checkpoint_writer *writer, struct gw_error *error)
{
    if (writer->has_thread)
        (void)pthread_join(writer->thread, NULL);
    writer->has_thread = false;
    gw_checkpoint_free(writer->copy);
    writer->copy = NULL;
    const int rc = writer->error.code;
    if (rc < 0)
        (void)gw_error_set(error, rc, "%s", writer->error.text);
    writer->error.code = 0;
    return rc;
}

int gw_checkpoint_writer_close(struct gw_checkpoint_writer *writer, struct gw_error *error)
{
    if (!writer)
        return 0;
    int rc = gw_checkpoint_writer_wait(writer, error);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    free(writer->memory);
    free(writer);
    return rc;
}
