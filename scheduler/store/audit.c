/* The thread takes all queued lines and appends them with one write call, so that a killed
 * scheduler leaves whole lines. The mutex protects the fields below it. Only the thread uses the
 * file. Bytes of `taken` before `written` are in the file. */
#include "scheduler/store/audit.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/base/text.h"
#include "graph/wire/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define MERGE_NS (200 * GW_NS_PER_MS) /* submissions within this time become one line */
#define RETRY_NS GW_NS_PER_S
enum { QUEUED_BYTES_MAX = 1 << 20, LINE_BYTES = 4096, TEXT_BYTES_MAX = 400, NAMELESS_MAX = 10 };

/* Successful submissions that become one line. */
struct merged {
    struct gw_audit_act act; /* `what` is static, and the other texts are below */
    char user[64], token[32], from[64];
    uint64_t since_ns, wall_ns; /* since_ns 0: there are none */
};

struct gw_audit {
    char path[PATH_MAX];
    _Atomic uint64_t bytes_max; /* the loop may change it */
    int fd;
    bool failing; /* the log has said so */
    struct gw_buffer taken;
    size_t written;
    uv_thread_t thread;

    uv_mutex_t mutex; /* protects the fields below */
    uv_cond_t changed;
    struct gw_buffer queued;
    struct merged merged;
    uint64_t lost;
    uint64_t second_ns, nameless, uncounted; /* acts of unknown peers in this second */
    bool closing;
};

/* -- Lines ---------------------------------------------------------------------------------------
 */

static void put_text(struct gw_text *line, const char *key, const char *text)
{
    if (!text || !*text)
        return;
    const size_t bytes = strnlen(text, TEXT_BYTES_MAX);
    const bool readable = !text[bytes] && gw_text_is_line(text, bytes);
    gw_text_say(line, ", \"%s\": \"", key);
    for (size_t i = 0; i < bytes; i++) {
        const unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            gw_text_say(line, "\\%c", c);
        else
            gw_text_say(line, "%c", c < 0x20 ? ' ' : readable || c < 0x7f ? c : '?');
    }
    gw_text_say(line, "\"");
}

static void put_number(struct gw_text *line, const char *key, uint64_t number)
{
    gw_text_say(line, ", \"%s\": %llu", key, (unsigned long long)number);
}

/* Begins a line with the time: wall_ns. */
static void begin(struct gw_text *line, uint64_t wall_ns, const char *what)
{
    const time_t seconds = (time_t)(wall_ns / GW_NS_PER_S);
    struct tm utc;
    char time[32] = "";
    if (gmtime_r(&seconds, &utc))
        (void)strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &utc);
    gw_text_say(line, "{\"time\": \"%s.%03uZ\", \"what\": \"%s\"", time,
                (unsigned)(wall_ns % GW_NS_PER_S / GW_NS_PER_MS), what);
}

/* Ends a line and queues it. The caller holds the mutex. */
static void end(struct gw_audit *audit, struct gw_text *line)
{
    gw_text_say(line, "}\n");
    if (audit->queued.size + line->used > QUEUED_BYTES_MAX || line->used >= line->size) {
        audit->lost++;
        return;
    }
    GW_MUST(gw_buffer_append(&audit->queued, line->to, line->used));
}

static void queue(struct gw_audit *audit, const struct gw_audit_act *act, uint64_t wall_ns)
{
    char bytes[LINE_BYTES];
    struct gw_text line = {bytes, sizeof bytes, 0};
    begin(&line, wall_ns, act->what);
    put_text(&line, "user", act->user);
    put_text(&line, "token", act->token);
    put_text(&line, "from", act->from);
    if (act->job)
        put_number(&line, "job", act->job);
    if (act->last_job)
        put_number(&line, "last_job", act->last_job);
    if (act->job && act->task != UINT32_MAX)
        put_number(&line, "task", act->task);
    put_text(&line, "object", act->object);
    put_text(&line, "outcome", act->code ? gw_error_name(act->code) : "ok");
    put_text(&line, "text", act->text);
    end(audit, &line);
}

/* Queues a line that only counts acts. */
static void queue_count(struct gw_audit *audit, const char *what, uint64_t *count)
{
    char bytes[128];
    struct gw_text line = {bytes, sizeof bytes, 0};
    if (!*count)
        return;
    begin(&line, gw_clock_wall_ns(), what);
    put_number(&line, "count", *count);
    *count = 0;
    end(audit, &line);
}

/* -- Merging -------------------------------------------------------------------------------------
 */

static void flush_merged(struct gw_audit *audit)
{
    struct merged *merged = &audit->merged;
    if (merged->since_ns)
        queue(audit, &merged->act, merged->wall_ns);
    merged->since_ns = 0;
}

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b ? b : "") == 0;
}

/* Adds a submission to those before it (true), or begins with this one. */
static bool merge(struct gw_audit *audit, const struct gw_audit_act *act)
{
    struct merged *merged = &audit->merged;
    const uint64_t now_ns = gw_clock_now_ns();
    const uint64_t last = merged->act.last_job ? merged->act.last_job : merged->act.job;
    if (merged->since_ns && now_ns - merged->since_ns < MERGE_NS && act->job == last + 1 &&
        is_same(merged->from, act->from) && is_same(merged->user, act->user) &&
        is_same(merged->token, act->token)) {
        merged->act.last_job = act->job;
        return true;
    }
    flush_merged(audit);
    *merged = (struct merged){.act = *act, .since_ns = now_ns, .wall_ns = gw_clock_wall_ns()};
    (void)snprintf(merged->user, sizeof merged->user, "%s", act->user ? act->user : "");
    (void)snprintf(merged->token, sizeof merged->token, "%s", act->token ? act->token : "");
    (void)snprintf(merged->from, sizeof merged->from, "%s", act->from ? act->from : "");
    merged->act.object = merged->act.text = NULL; /* a submission that was accepted has none */
    merged->act.user = merged->user;
    merged->act.token = merged->token;
    merged->act.from = merged->from;
    return false;
}

/* Returns true if an act of a peer without a name is one too many in this second. */
static bool is_flood(struct gw_audit *audit, const struct gw_audit_act *act)
{
    const uint64_t now_ns = gw_clock_now_ns();
    if (!act->code || (act->user && *act->user))
        return false;
    if (now_ns - audit->second_ns >= GW_NS_PER_S) {
        queue_count(audit, "refused", &audit->uncounted);
        audit->second_ns = now_ns;
        audit->nameless = 0;
    }
    if (audit->nameless++ < NAMELESS_MAX)
        return false;
    audit->uncounted++;
    return true;
}

void gw_audit_add(struct gw_audit *audit, const struct gw_audit_act *act)
{
    bool waits = false; /* the thread wakes up by itself for what was merged before */
    uv_mutex_lock(&audit->mutex);
    if (strcmp(act->what, "submit") == 0 && act->code == 0) {
        waits = merge(audit, act);
    } else if (!is_flood(audit, act)) {
        flush_merged(audit);
        queue(audit, act, gw_clock_wall_ns());
    }
    if (!waits)
        uv_cond_signal(&audit->changed);
    uv_mutex_unlock(&audit->mutex);
}

/* -- The file ------------------------------------------------------------------------------------
 */

static int open_file(const struct gw_audit *audit, struct gw_error *error)
{
    const int fd = open(audit->path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat stat;
    char last = '\n';
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "cannot open the audit log %s: %s", audit->path,
                            strerror(errno));
    /* The last line is cut if the machine lost power. */
    if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode) && stat.st_size > 0 &&
        pread(fd, &last, 1, stat.st_size - 1) == 1 && last != '\n' && write(fd, "\n", 1) < 0)
        gw_log_warn("%s: %s", audit->path, strerror(errno));
    return fd;
}

/* Begins a new file if another program renamed or removed the file, or if the file would become too
 * large. If that fails, the lines go to the old file. Returns false if the old file was removed. */
static bool rotate(struct gw_audit *audit, size_t bytes)
{
    struct stat now, there;
    struct gw_error error;
    char old[PATH_MAX + 8];
    if (fstat(audit->fd, &now) < 0 || audit->written)
        return true;
    bool moved =
        stat(audit->path, &there) < 0 || there.st_ino != now.st_ino || there.st_dev != now.st_dev;
    if (!moved && S_ISREG(now.st_mode) && now.st_size > 0 &&
        (uint64_t)now.st_size + bytes > audit->bytes_max) {
        (void)snprintf(old, sizeof old, "%s.1", audit->path);
        moved = rename(audit->path, old) == 0;
    }
    const int fd = moved ? open_file(audit, &error) : GW_EINVAL;
    if (fd < 0)
        return now.st_nlink > 0;
    close(audit->fd);
    audit->fd = fd;
    return true;
}

/* Logs the first failure: errno. Returns false. */
static bool failed(struct gw_audit *audit)
{
    if (!audit->failing)
        gw_log_error("cannot write the audit log %s: %s; the cluster goes on, and up to %d MiB of "
                     "lines are written later",
                     audit->path, strerror(errno), QUEUED_BYTES_MAX >> 20);
    audit->failing = true;
    return false;
}

/* Writes the taken lines. Returns false if some of them remain. */
static bool write_taken(struct gw_audit *audit)
{
    if (!rotate(audit, audit->taken.size))
        return failed(audit);
    while (audit->written < audit->taken.size) {
        const ssize_t wrote = write(audit->fd, audit->taken.data + audit->written,
                                    audit->taken.size - audit->written);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return failed(audit);
        audit->written += (size_t)wrote;
    }
    if (audit->failing)
        gw_log_info("the audit log %s is written again", audit->path);
    audit->failing = false;
    audit->taken.size = audit->written = 0;
    return true;
}

/* -- The thread ----------------------------------------------------------------------------------
 */

/* Waits for something to write. The caller holds the mutex. */
static void wait_for_work(struct gw_audit *audit)
{
    while (!audit->closing && !audit->queued.size && !audit->merged.since_ns && !audit->uncounted)
        uv_cond_wait(&audit->changed, &audit->mutex);
    while (!audit->closing && !audit->queued.size && audit->merged.since_ns) {
        const uint64_t now_ns = gw_clock_now_ns(), end_ns = audit->merged.since_ns + MERGE_NS;
        if (now_ns >= end_ns)
            flush_merged(audit);
        else
            (void)uv_cond_timedwait(&audit->changed, &audit->mutex, end_ns - now_ns);
    }
    if (!audit->closing && !audit->queued.size && audit->uncounted) {
        (void)uv_cond_timedwait(&audit->changed, &audit->mutex, GW_NS_PER_S);
        if (gw_clock_now_ns() - audit->second_ns >= GW_NS_PER_S)
            queue_count(audit, "refused", &audit->uncounted);
    }
}

static void run(void *arg)
{
    struct gw_audit *audit = arg;
    bool closing = false;
    while (!closing) {
        uv_mutex_lock(&audit->mutex);
        if (audit->taken.size && !audit->closing)
            (void)uv_cond_timedwait(&audit->changed, &audit->mutex, RETRY_NS);
        else
            wait_for_work(audit);
        closing = audit->closing;
        if (closing) {
            flush_merged(audit);
            queue_count(audit, "refused", &audit->uncounted);
        }
        if (!audit->taken.size) {
            const struct gw_buffer empty = audit->taken;
            audit->taken = audit->queued;
            audit->queued = empty;
            queue_count(audit, "lost", &audit->lost); /* after the lines that were not lost */
        }
        uv_mutex_unlock(&audit->mutex);
        const bool wrote = write_taken(audit);
        closing = closing && (!wrote || !audit->queued.size);
    }
}

/* -- Opening and closing -------------------------------------------------------------------------
 */

int gw_audit_open(const char *path, uint64_t bytes_max, struct gw_audit **audit,
                  struct gw_error *error)
{
    struct gw_audit *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    gw_audit_limit(opened, bytes_max);
    (void)snprintf(opened->path, sizeof opened->path, "%s", path);
    const int rc = opened->fd = open_file(opened, error);
    if (rc < 0) {
        free(opened);
        return rc;
    }
    GW_MUST(uv_mutex_init(&opened->mutex));
    GW_MUST(uv_cond_init(&opened->changed));
    GW_MUST(uv_thread_create(&opened->thread, run, opened));
    *audit = opened;
    return 0;
}

void gw_audit_limit(struct gw_audit *audit, uint64_t bytes_max)
{
    audit->bytes_max = bytes_max ? bytes_max : GW_AUDIT_BYTES_MAX;
}

void gw_audit_close(struct gw_audit *audit)
{
    if (!audit)
        return;
    uv_mutex_lock(&audit->mutex);
    audit->closing = true;
    uv_cond_signal(&audit->changed);
    uv_mutex_unlock(&audit->mutex);
    (void)uv_thread_join(&audit->thread);
    uv_cond_destroy(&audit->changed);
    uv_mutex_destroy(&audit->mutex);
    gw_buffer_deinit(&audit->queued);
    gw_buffer_deinit(&audit->taken);
    close(audit->fd);
    free(audit);
}
