/* Sends the output of the executing task to its client. A thread reads the output ten times a
 * second and sends complete lines. If a task prints more than fits into one message per round, the
 * rest is left out.
 *
 * Invariant: no output of an attempt is sent after its end may have been reported: the executing
 * thread locks the mutex, sends the rest and ends the attempt. */
#include "worker/runner/show.h"

#include "graph/base/clock.h"
#include "graph/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_IDLE_MAX = 20, PART_BYTES_MIN = 8 << 10 };
#define LOOK_NS (100 * GW_NS_PER_MS)

void gw_show_init(struct gw_show *show, struct gw_outbox *outbox)
{
    pthread_condattr_t attr;
    show->outbox = outbox;
    pthread_mutex_init(&show->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&show->wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* Returns how much of a piece is complete lines. A carriage return ends a line, too, as progress
 * bars need. A large piece counts as a whole. */
static size_t whole_lines(const uint8_t *data, size_t bytes)
{
    size_t end = bytes;
    while (end > 0 && data[end - 1] != '\n' && data[end - 1] != '\r')
        end--;
    return end > 0 || bytes < PART_BYTES_MIN ? end : bytes;
}

/* Sends the new output of a stream. */
static void tell(struct gw_show *show, int i, bool all)
{
    struct stat status;
    uint64_t left_out = 0;
    if (show->fds[i] < 0 || fstat(show->fds[i], &status) < 0)
        return;
    const uint64_t size = (uint64_t)status.st_size;
    /* The file was truncated to its limit, and everything before was sent */
    if (size < show->offsets[i])
        show->offsets[i] = size;
    if (size - show->offsets[i] > sizeof show->data) {
        left_out = size - show->offsets[i] - sizeof show->data;
        show->offsets[i] += left_out;
    }
    ssize_t got = size > show->offsets[i]
                      ? pread(show->fds[i], show->data, (size_t)(size - show->offsets[i]),
                              (off_t)show->offsets[i])
                      : 0;
    size_t bytes = got > 0 ? (size_t)got : 0;
    if (!all)
        bytes = whole_lines(show->data, bytes);
    if (bytes == 0 && left_out == 0)
        return;
    const struct gw_message message = {.type = GW_MESSAGE_printed,
                                       .printed = {.attempt = show->attempt,
                                                   .rank = show->rank,
                                                   .stream = (uint32_t)i + 1,
                                                   .left_out = left_out,
                                                   .data = {show->data, (uint32_t)bytes}}};
    /* The executing thread will see an error of the socket, too */
    (void)gw_outbox_say(show->outbox, &message);
    show->offsets[i] += bytes;
}

static void *show_main(void *arg)
{
    struct gw_show *show = arg;
    struct timespec until;
    int idle = 0;
    pthread_mutex_lock(&show->mutex);
    for (;;) {
        uint64_t until_ns = gw_clock_now_ns() + LOOK_NS;
        until.tv_sec = (time_t)(until_ns / GW_NS_PER_S);
        until.tv_nsec = (long)(until_ns % GW_NS_PER_S);
        (void)pthread_cond_timedwait(&show->wake, &show->mutex, &until);
        idle = show->attempt ? 0 : idle + 1;
        for (int i = 0; i < 2 && show->attempt; i++)
            tell(show, i, false);
        show->asleep = idle > LOOKS_IDLE_MAX;
        while (show->asleep)
            (void)pthread_cond_wait(&show->wake, &show->mutex);
    }
    return NULL;
}

/* Starts the thread. If this fails, all output is sent at the end of the task. */
static void start(struct gw_show *show)
{
    pthread_t thread;
    show->started = true;
    if (gw_thread_start(&thread, show_main, show) == 0)
        pthread_detach(thread);
}

void gw_show_begin(struct gw_show *show, const struct gw_output *output, bool redirected,
                   uint64_t attempt, uint32_t rank)
{
    pthread_mutex_lock(&show->mutex);
    for (int i = 0; i < 2; i++) {
        show->own[i] = redirected;
        show->offsets[i] = redirected ? 0 : output->begin[i];
        show->fds[i] = !output->captured[i] ? -1
                       : redirected         ? fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3)
                                            : output->retained_fds[i];
    }
    show->attempt = attempt;
    show->rank = rank;
    if (!show->started)
        start(show);
    if (show->asleep) {
        show->asleep = false;
        pthread_cond_signal(&show->wake);
    }
    pthread_mutex_unlock(&show->mutex);
}

void gw_show_end(struct gw_show *show)
{
    if (__fpending(stdout) > 0)
        fflush(stdout);
    if (__fpending(stderr) > 0)
        fflush(stderr);
    pthread_mutex_lock(&show->mutex);
    for (int i = 0; i < 2; i++) {
        tell(show, i, true);
        if (show->own[i] && show->fds[i] >= 0)
            close(show->fds[i]);
        show->fds[i] = -1;
    }
    show->attempt = 0;
    pthread_mutex_unlock(&show->mutex);
}
