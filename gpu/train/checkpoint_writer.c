/* Saves in the background. A thread copies the sections and then writes the copy. The memory of a
 * copy is used again by the next save, because fresh memory costs the system as much time as the
 * copy. A thread lives from its save to the next call. Sections in memory of a GPU are copied on a
 * stream beside that of the program (base/side_copy.h). */
#include <gangway/checkpoint_writer.h>

#include "gpu/base/side_copy.h"
#include "gpu/cuda/module.h"
#include "gpu/train/checkpoint_image.h"
#include "graph/base/clock.h"
#include "graph/base/options_read.h"
#include "graph/base/text.h"
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
#include <time.h>
#include <unistd.h>

enum { WRITER_PATH_MAX = PATH_MAX - 64 }; /* there is room for a suffix */

static const char METRIC[] = "gangway.metric";

struct gw_checkpoint_writer {
    struct gw_checkpoint_writer_options options;
    char path[WRITER_PATH_MAX];
    double best;
    const struct gw_side_copy_device *device; /* NULL: there is no stream */
    struct gw_side_copy *side;
    /* Of the save that runs or is over; the thread uses them until it is joined. */
    pthread_t thread;
    bool has_thread;
    char *memory; /* of the copy; if there is a stream, it belongs to `side` */
    size_t memory_bytes;
    struct gw_side_copy_item *items; /* the sections in memory of a GPU */
    size_t items_count;
    const struct gw_checkpoint *from; /* the caller's, until copied */
    struct gw_checkpoint *copy;       /* its sections are in `memory` */
    uint64_t step;
    double metric;
    struct gw_error error; /* code 0: it is on disk */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool is_over;   /* the thread does not use the writer any more */
    bool is_left;   /* the program has closed the writer: the thread frees it */
    bool is_copied; /* of sections in memory of a GPU: the copies are on the stream of `side` */
    bool follows;   /* the stream of the program has yet to wait for them */
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

static int sections_copy(struct gw_checkpoint_writer *writer)
{
    char *at = writer->memory;
    int rc = 0;
    if (writer->items_count > 0)
        rc = writer->device->run(writer->side, writer->items, writer->items_count, &writer->error);
    for (size_t i = 0; i < gw_checkpoint_sections(writer->from); i++) {
        size_t bytes;
        const void *data = gw_checkpoint_section(writer->from, i, &bytes);
        if (bytes > 0 && !gw_checkpoint_section_is_on_device(writer->from, i))
            memcpy(at, data, bytes);
        at += bytes;
    }
    pthread_mutex_lock(&writer->mutex);
    writer->is_copied = true;
    writer->follows = rc == 0 && writer->items_count > 0;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    if (rc == 0 && writer->items_count > 0)
        rc = writer->device->wait(writer->side, &writer->error);
    return rc < 0 ? gw_error_prefix(&writer->error, "checkpoint %s", writer->path) : 0;
}

/* Writes the copy: first the file of the step, then the names that point to it. */
static void copy_write(struct gw_checkpoint_writer *writer)
{
    char file[PATH_MAX], suffix[32], best[PATH_MAX];
    (void)snprintf(suffix, sizeof suffix, "%llu", (unsigned long long)writer->step);
    name_of(writer, file, suffix);
    name_of(writer, best, "best");
    if (gw_checkpoint_file_write(writer->copy, file, &writer->error) < 0)
        return;
    if (link_as(writer, file, writer->path) < 0)
        return;
    if (is_best(writer)) {
        if (link_as(writer, file, best) < 0)
            return;
        writer->best = writer->metric;
    }
    old_remove(writer);
}

static void writer_free(struct gw_checkpoint_writer *writer)
{
    gw_checkpoint_free(writer->copy);
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->mutex);
    if (writer->side)
        writer->device->close(writer->side);
    else
        free(writer->memory);
    free(writer->items);
    free(writer);
}

static void *thread_main(void *arg)
{
    struct gw_checkpoint_writer *writer = arg;
    if (sections_copy(writer) == 0)
        copy_write(writer);
    pthread_mutex_lock(&writer->mutex);
    const bool is_left = writer->is_left;
    writer->is_over = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->mutex);
    if (is_left)
        writer_free(writer);
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
    if (options.timeout_ns == 0)
        self->options.timeout_ns = GW_CHECKPOINT_WRITER_TIMEOUT_DEFAULT_NS;
    rc = best_read(self, error);
    if (rc == 0 && options.stream)
        rc = gw_comm_nccl_side_copy(&self->device, error);
    if (rc == 0 && options.stream)
        rc = self->device->open(options.stream, &self->side, error);
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

/* Makes room for a copy of so many bytes. */
static int memory_reserve(struct gw_checkpoint_writer *self, size_t bytes, struct gw_error *error)
{
    void *memory = self->memory;
    if (bytes <= self->memory_bytes)
        return 0;
    if (!self->side)
        free(memory);
    self->memory = NULL;
    self->memory_bytes = 0;
    int rc = 0;
    if (self->side)
        rc = self->device->reserve(self->side, bytes, &memory, error);
    else if (!(memory = malloc(bytes)))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0)
        return gw_error_prefix(error, "checkpoint %s: a copy of %zu bytes", self->path, bytes);
    self->memory = memory;
    self->memory_bytes = bytes;
    return 0;
}

/* Notes a section in memory of a GPU, to be copied to `to`. */
static int item_add(struct gw_checkpoint_writer *self, const struct gw_checkpoint *checkpoint,
                    size_t i, void *to, struct gw_error *error)
{
    struct gw_side_copy_item *item = &self->items[self->items_count];
    item->to = to;
    item->from = gw_checkpoint_section(checkpoint, i, &item->bytes);
    const char *name = gw_checkpoint_section_name(checkpoint, i);
    if (!self->side)
        return gw_error_set(error, GW_EINVAL,
                            "checkpoint %s: section \"%s\" is in memory of a GPU: open the writer "
                            "with a stream",
                            self->path, name);
    if (!self->device->reaches(self->side, item->from, item->bytes))
        return gw_error_set(error, GW_EINVAL,
                            "checkpoint %s: section \"%s\": no memory of a GPU is at %p, or less "
                            "than %zu bytes",
                            self->path, name, item->from, item->bytes);
    self->items_count++;
    return 0;
}

/* Makes room for a copy of all sections, and a set of them. */
static int copy_prepare(struct gw_checkpoint_writer *self, const struct gw_checkpoint *checkpoint,
                        struct gw_error *error)
{
    const size_t count = gw_checkpoint_sections(checkpoint);
    size_t bytes, all = 0, on_device = 0;
    for (size_t i = 0; i < count; i++) {
        (void)gw_checkpoint_section(checkpoint, i, &bytes);
        all += bytes;
        on_device += gw_checkpoint_section_is_on_device(checkpoint, i);
    }
    int rc = on_device && self->side ? self->device->begin(self->side, error) : 0;
    if (rc < 0) /* before memory is allocated, which a capture does not allow */
        return gw_error_prefix(error, "checkpoint %s", self->path);
    rc = memory_reserve(self, all, error);
    if (rc < 0)
        return rc;
    free(self->items);
    self->items = on_device ? malloc(on_device * sizeof *self->items) : NULL;
    self->items_count = 0;
    self->copy = gw_checkpoint_new();
    if (!self->copy || (on_device && !self->items))
        return gw_error_set(error, GW_ENOMEM, "checkpoint %s: out of memory", self->path);
    char *at = self->memory;
    for (size_t i = 0; i < count; i++) {
        if (gw_checkpoint_section_is_on_device(checkpoint, i) &&
            (rc = item_add(self, checkpoint, i, at, error)) < 0)
            return rc;
        if ((rc = gw_checkpoint_section_move(self->copy, checkpoint, i, at)) < 0)
            break;
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
    writer->is_copied = writer->follows = writer->is_over = false;
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
    const bool follows = writer->follows;
    writer->follows = false;
    pthread_mutex_unlock(&writer->mutex);
    /* If the stream cannot follow, the device has failed: the thread finds the same failure. */
    if (follows && writer->device->follow(writer->side, NULL) < 0)
        (void)writer->device->wait(writer->side, NULL);
}

int gw_checkpoint_writer_save(struct gw_checkpoint_writer *writer,
                              const struct gw_checkpoint *checkpoint, uint64_t step, double metric,
                              struct gw_error *error)
{
    int rc = gw_checkpoint_writer_start(writer, checkpoint, step, metric, error);
    gw_checkpoint_writer_copied(writer);
    return rc;
}

/* Waits for the thread, with the mutex locked. Returns false if the time is over. */
static bool thread_await(struct gw_checkpoint_writer *writer)
{
    const uint64_t deadline_ns = gw_clock_deadline_ns(writer->options.timeout_ns);
    const struct timespec until = {(time_t)(deadline_ns / GW_NS_PER_S),
                                   (long)(deadline_ns % GW_NS_PER_S)};
    while (!writer->is_over)
        if (pthread_cond_clockwait(&writer->changed, &writer->mutex, CLOCK_MONOTONIC, &until) ==
            ETIMEDOUT)
            return writer->is_over;
    return true;
}

int gw_checkpoint_writer_wait(struct gw_checkpoint_writer *writer, struct gw_error *error)
{
    char time[GW_TEXT_DURATION_ROOM];
    pthread_mutex_lock(&writer->mutex);
    const bool in_time = !writer->has_thread || thread_await(writer);
    pthread_mutex_unlock(&writer->mutex);
    if (!in_time)
        return gw_error_set(error, GW_ETIMEDOUT,
                            "checkpoint %s: step %llu is not on disk after %s; the save goes on",
                            writer->path, (unsigned long long)writer->step,
                            gw_text_duration(writer->options.timeout_ns, time));
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
    pthread_mutex_lock(&writer->mutex);
    const bool is_left = writer->has_thread && !writer->is_over;
    writer->is_left = is_left;
    if (is_left)
        (void)pthread_detach(writer->thread);
    pthread_mutex_unlock(&writer->mutex);
    if (is_left) /* the thread frees it */
        return rc;
    if (writer->has_thread)
        (void)pthread_join(writer->thread, NULL);
    writer_free(writer);
    return rc;
}
