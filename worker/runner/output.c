/* Moves the output of tasks to files.
 *
 * The supervisor has opened streams 1 and 2 as capture files of this process, for appending and
 * reading. Many short tasks use them one after the other. After each task, its output is copied to
 * a log segment. The capture files are truncated only from time to time, since truncating costs
 * more than everything else. Large output, and the output of actors, goes to files of the attempt
 * with a limited size.
 *
 * Most tasks write nothing. One system call detects this for both streams. It is left out after a
 * task that ran for less time than closing a stream takes: the call took a sixth of the time of a
 * no-op task in the cluster. A rank of a gang runs long and is followed by readers, so it writes to
 * its own files from the start. */
#include "worker/runner/output.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/wire/enums.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_BYTES = 4096,
    COPY_BYTES = 64 * 1024,
    TOUCHES_TIMED = 16,
    EMPTY_AT_BYTES = 1 << 20 /* truncate the capture files above this size, between tasks */
};

static FILE *stream_of(int i)
{
    return i == 0 ? stdout : stderr;
}

/* Returns -1 if the system has no more inotify instances. */
static int open_notify(const struct gw_output *output)
{
    char path[32];
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    for (int i = 0; i < 2 && fd >= 0; i++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", STDOUT_FILENO + i);
        if (output->captured[i] && inotify_add_watch(fd, path, IN_MODIFY) < 0) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

/* Returns three quarters of the shortest time in which a descriptor can be closed whose file stays
 * open. No task can use a stream in less time. Writing one byte takes two to three times as long,
 * even to a file in memory that nobody watches. */
static uint64_t time_touch(void)
{
    uint64_t least_ns = UINT64_MAX;
    int fd = memfd_create("gangway-touch", MFD_CLOEXEC);
    for (int i = 0; i < TOUCHES_TIMED && fd >= 0; i++) {
        int again = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        uint64_t begin_ns = gw_clock_now_ns();
        if (again < 0 || close(again) < 0)
            least_ns = 0;
        uint64_t took_ns = gw_clock_now_ns() - begin_ns;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    if (fd < 0)
        return 0;
    close(fd);
    return least_ns / 4 * 3;
}

void gw_output_init(struct gw_output *output, const char *log_dir)
{
    memset(output, 0, sizeof *output);
    output->log_dir = log_dir;
    for (int i = 0; i < 2; i++)
        output->saved_fds[i] = output->retained_fds[i] = -1;
    output->streams[0] = stdout;
    output->streams[1] = stderr;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; i < 2; i++) {
        struct stat status;
        output->captured[i] =
            log_dir && fstat(STDOUT_FILENO + i, &status) == 0 && S_ISREG(status.st_mode);
        if (!output->captured[i])
            continue;
        output->retained_fds[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
        output->inodes[i] = status.st_ino;
        output->devices[i] = status.st_dev;
    }
    gw_log_segment_init(&output->segment, log_dir,
                        output->captured[0] ? STDOUT_FILENO : STDERR_FILENO);
    output->notify = output->captured[0] || output->captured[1] ? open_notify(output) : -1;
    output->touch_ns = output->notify >= 0 ? time_touch() : 0;
}

static int open_file(const struct gw_output *output, const struct gw_output_place *place, int i)
{
    char path[PATH_BYTES], rank[16] = "";
    if (place->rank != GW_RANK_NONE)
        snprintf(rank, sizeof rank, ".%" PRIu32, place->rank);
    int length = snprintf(path, sizeof path, "%s/%" PRIu64, output->log_dir, place->job);
    /* The folder mostly exists; open reports any other error */
    if (mkdir(path, 0700) < 0 && errno == ENOENT)
        (void)gw_dir_make(path, NULL);
    if (length < 0 || length >= (int)sizeof path)
        return -1;
    snprintf(path + length, sizeof path - (size_t)length, "/%" PRIu32 ".%" PRIu64 "%s.%s",
             place->index, place->attempt, rank, i == 0 ? "out" : "err");
    return open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Reopens a stream that was closed by fclose. The FILE is the C library's own, which is never
 * freed. A new FILE could be freed by the next task while this code uses it. */
static void reopen(const struct gw_output *output, int i)
{
    char path[32];
    FILE *stream = output->streams[i];
    int fd = STDOUT_FILENO + i;
    snprintf(path, sizeof path, "/proc/self/fd/%d", output->retained_fds[i]);
    close(fd); /* so that freopen gets the same number */
    if (freopen(path, "a", stream))
        setvbuf(stream, NULL, i == 0 ? _IOLBF : _IONBF, 0);
    dup2(output->retained_fds[i], fd); /* the kept descriptor can also be read */
}

/* Restores streams that a task has closed or replaced. Such a file must not get the output of later
 * tasks, and must not be truncated by the runner. */
static void reconnect(struct gw_output *output)
{
    for (int i = 0; i < 2; i++) {
        struct stat status;
        FILE *stream = stream_of(i);
        int fd = STDOUT_FILENO + i;
        if (output->retained_fds[i] < 0)
            continue;
        if (fstat(fd, &status) < 0 || status.st_ino != output->inodes[i] ||
            status.st_dev != output->devices[i])
            dup2(output->retained_fds[i], fd);
        if (ferror_unlocked(stream))
            clearerr(stream);
        if (fileno_unlocked(stream) == fd)
            continue;
        if (fileno_unlocked(output->streams[i]) != fd)
            reopen(output, i);
        *(i == 0 ? &stdout : &stderr) = output->streams[i];
    }
}

/* Truncates a file that exceeds the limit, and writes a note to it. */
static void trim(int fd, uint64_t bytes_max)
{
    char note[64];
    struct stat status;
    int length = snprintf(note, sizeof note, "\n[output cut at %" PRIu64 " bytes]\n", bytes_max);
    if (bytes_max == 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size <= bytes_max + (uint64_t)length)
        return;
    if (ftruncate(fd, (off_t)bytes_max) == 0 && write(fd, note, (size_t)length) < 0)
        return; /* the disk is full: the file is truncated at least */
}

/* Copies at most a little more than the limit. trim cuts the rest. */
static void copy(int from, uint64_t at, int to, uint64_t bytes, uint64_t bytes_max)
{
    char buffer[COPY_BYTES];
    uint64_t end =
        at + (bytes_max && bytes > bytes_max + COPY_BYTES ? bytes_max + COPY_BYTES : bytes);
    ssize_t got;
    while (at < end && (got = pread(from, buffer, sizeof buffer, (off_t)at)) > 0) {
        if (write(to, buffer, (size_t)got) != got)
            return;
        at += (uint64_t)got;
    }
}

/* Returns true if a stream may have been written to since the last call. Called after every task.
 * What the task's threads or children write later is attributed to a later task that runs for
 * longer. The call also restores the streams. */
static bool maybe_written(struct gw_output *output, uint64_t ran_ns)
{
    char events[4096] __attribute__((aligned(8)));
    int bytes = 1;
    bool short_one = output->asked && ran_ns < output->touch_ns;
    for (int i = 0; i < 2; i++)
        if (__fpending(stream_of(i)) > 0) {
            fflush(stream_of(i));
            short_one = false;
        }
    if (short_one && !ferror_unlocked(stdout) && !ferror_unlocked(stderr))
        return false;
    output->asked = true;
    reconnect(output);
    if (output->notify < 0 || ioctl(output->notify, FIONREAD, &bytes) < 0)
        return output->captured[0] || output->captured[1];
    while (bytes > 0 && read(output->notify, events, sizeof events) == sizeof events)
        ; /* later writes, including the truncation below, are seen at the next call */
    return bytes > 0;
}

/* Returns the amount of captured output of the task. If another process has truncated the file, all
 * of it counts. */
static uint64_t captured_bytes(struct gw_output *output, int i)
{
    off_t end = output->captured[i] ? lseek(STDOUT_FILENO + i, 0, SEEK_END) : 0;
    if (end < 0 || (uint64_t)end < output->begin[i])
        output->begin[i] = 0;
    return end > 0 ? (uint64_t)end - output->begin[i] : 0;
}

static void empty(struct gw_output *output, int i)
{
    /* The task has closed or replaced it, so it is not used any more */
    if (ftruncate(STDOUT_FILENO + i, 0) < 0)
        output->captured[i] = false;
    output->begin[i] = 0;
}

/* Appends the output to a log segment. Returns false if the task must get files of its own. */
static bool add_to_segment(struct gw_output *output, const struct gw_output_place *place,
                           const uint64_t bytes[2])
{
    const char *const said[2] = {output->said[0], output->said[1]};
    const struct gw_log_segment_record record = {.magic = GW_LOG_SEGMENT_MAGIC,
                                                 .index = place->index,
                                                 .attempt = place->attempt,
                                                 .bytes = {(uint32_t)bytes[0], (uint32_t)bytes[1]}};
    if (place->head)
        return false;
    for (int i = 0; i < 2; i++)
        if (bytes[i] > GW_LOG_SEGMENT_BYTES_MAX ||
            (place->bytes_max && bytes[i] > place->bytes_max) ||
            (bytes[i] && pread(STDOUT_FILENO + i, output->said[i], bytes[i],
                               (off_t)output->begin[i]) != (ssize_t)bytes[i]))
            return false;
    if (gw_log_segment_add(&output->segment, place->job, &record, said) < 0)
        return false;
    for (int i = 0; i < 2; i++) {
        output->begin[i] += bytes[i];
        if (output->begin[i] >= EMPTY_AT_BYTES)
            empty(output, i);
    }
    return true;
}

static void move_to_files(struct gw_output *output, const struct gw_output_place *place,
                          const uint64_t bytes[2])
{
    for (int i = 0; i < 2; i++) {
        if (bytes[i] == 0)
            continue;
        int fd = open_file(output, place, i);
        if (fd >= 0) {
            if (place->head && write(fd, place->head, strlen(place->head)) < 0)
                output->captured[i] = true; /* the output is dropped, as below */
            copy(STDOUT_FILENO + i, output->begin[i], fd, bytes[i], place->bytes_max);
            trim(fd, place->bytes_max);
            close(fd);
        }
        empty(output, i);
    }
}

void gw_output_begin(struct gw_output *output, uint64_t attempt)
{
    gw_log_segment_begin(&output->segment, attempt);
}

void gw_output_move(struct gw_output *output, const struct gw_output_place *place, uint64_t ran_ns,
                    struct gw_output_err *err)
{
    *err = (struct gw_output_err){0};
    if (!maybe_written(output, ran_ns))
        return;
    const uint64_t bytes[2] = {captured_bytes(output, 0), captured_bytes(output, 1)};
    if (bytes[0] + bytes[1] == 0)
        return;
    if (add_to_segment(output, place, bytes)) {
        err->text = output->said[1];
        err->bytes = bytes[1];
    } else {
        move_to_files(output, place, bytes);
        err->filed = bytes[1] > 0;
    }
    gw_log_segment_move(&output->segment, output->begin);
}

void gw_output_redirect(struct gw_output *output, const struct gw_output_place *place)
{
    output->bytes_max = place->bytes_max;
    for (int i = 0; i < 2 && output->log_dir; i++) {
        int fd = open_file(output, place, i);
        fflush(stream_of(i));
        int saved = fd < 0 ? -1 : fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
        if (saved >= 0) {
            output->saved_fds[i] = saved;
            dup2(fd, STDOUT_FILENO + i);
        }
        if (fd >= 0)
            close(fd);
    }
}

void gw_output_trim(struct gw_output *output)
{
    for (int i = 0; i < 2; i++)
        if (output->saved_fds[i] >= 0)
            trim(STDOUT_FILENO + i, output->bytes_max);
}

void gw_output_restore(struct gw_output *output)
{
    fflush(stdout);
    fflush(stderr);
    gw_output_trim(output);
    for (int i = 0; i < 2; i++) {
        if (output->saved_fds[i] < 0)
            continue;
        dup2(output->saved_fds[i], STDOUT_FILENO + i);
        close(output->saved_fds[i]);
        output->saved_fds[i] = -1;
    }
}
