/* Follows output files. An attempt's output is in its own files, or in a log segment of its job.
 * The output of an ordinary task that a pooled runner executes now is in the runner's capture
 * files, behind its mark. (The output of an actor's call becomes visible when the call has ended.)
 *
 * There is no notification when a file grows, so followed files are read ten times a second. When
 * an attempt ends, its files are read at once. */
#include "worker/net/parts/follow.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/files.h"
#include "graph/base/log.h"
#include "graph/wire/enums.h"
#include "graph/wire/output_times.h"
#include "worker/store/log_segments.h"
#include "worker/store/logfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LOOK_EVERY_MS = 100,
    FORGET_AFTER_MS = 10000,
    DATA_BYTES_MAX = 256 * 1024,
};

struct gw_follow {
    struct gw_follow_options options;
    uv_timer_t timer, idle; /* idle: runs if no request came for a long time */
    int closing;            /* number of timers that are not closed */
    struct gw_log_segments *segments;
    GW_ARRAY(struct gw_msg_log_read) waiting;
    uint8_t data[DATA_BYTES_MAX];
};

struct gw_follow *gw_follow_new(const struct gw_follow_options *options)
{
    struct gw_follow *follow = calloc(1, sizeof *follow);
    GW_MUST_PTR(follow);
    follow->options = *options;
    follow->segments = gw_log_segments_new();
    follow->timer.data = follow->idle.data = follow;
    (void)uv_timer_init(options->loop, &follow->timer);
    (void)uv_timer_init(options->loop, &follow->idle);
    return follow;
}

static void follow_on_closed(uv_handle_t *handle)
{
    struct gw_follow *follow = handle->data;
    if (--follow->closing)
        return;
    gw_log_segments_free(follow->segments);
    gw_array_deinit(&follow->waiting);
    free(follow);
}

void gw_follow_close(struct gw_follow *follow)
{
    follow->closing = 2;
    uv_close((uv_handle_t *)&follow->timer, follow_on_closed);
    uv_close((uv_handle_t *)&follow->idle, follow_on_closed);
}

/* A part of a file. */
struct part {
    char path[PATH_MAX];
    uint64_t begin, bytes; /* bytes UINT64_MAX: to the end of the file */
    bool command;          /* a command that has not ended */
    bool captured;         /* the file is a runner's capture, described by `mark` */
    char mark[GW_NODE_PATH_MAX];
};

/* Returns true if a runner still executes the attempt. *begin is the start of the attempt's output
 * in the capture file, 0 if there is no mark yet. */
static bool is_marked(const char *path, const struct gw_msg_log_read *request, uint64_t *begin)
{
    struct gw_log_segment_mark mark;
    *begin = 0;
    if (!gw_log_segments_mark(path, &mark))
        return true;
    *begin = mark.begin[request->stream == 2];
    return mark.attempt == request->attempt;
}

/* Finds the capture file of the runner that executes the attempt. Returns false if no runner does.
 */
static bool locate_captured(const struct gw_follow *follow, const struct gw_msg_log_read *request,
                            const struct gw_node_place *place, struct part *part)
{
    const struct gw_follow_options *options = &follow->options;
    struct gw_node_place first;
    struct stat status;
    if (place->kind != GW_SPEC_FUNCTION || place->rank != GW_RANK_NONE || !place->process ||
        !gw_node_core_executing(options->core, place->process, &first) ||
        first.attempt != place->attempt || first.keeps)
        return false;
    char dir[GW_NODE_PATH_MAX];
    const char *log_dir = gw_node_output_path_dir(options->log_dir, place->user, dir);
    gw_node_capture_path(log_dir, options->incarnation, place->process, GW_LOG_SEGMENT_MARK,
                         part->mark);
    gw_node_capture_path(log_dir, options->incarnation, place->process,
                         request->stream == 2 ? "err" : "out", part->path);
    if (!is_marked(part->mark, request, &part->begin))
        return false;
    if (gw_files_stat(part->path, &status) < 0 || (uint64_t)status.st_size < part->begin)
        part->begin = 0; /* the file was emptied */
    part->captured = true;
    return true;
}

/* Writes the folder of the output of a job. */
static void job_folder(const struct gw_follow *follow, const char *user, uint64_t job,
                       char folder[GW_NODE_PATH_MAX])
{
    char dir[GW_NODE_PATH_MAX];
    (void)snprintf(folder, GW_NODE_PATH_MAX, "%.*s/%" PRIu64, GW_NODE_PATH_MAX - 32,
                   gw_node_output_path_dir(follow->options.log_dir, user, dir), job);
}

/* Finds the output of an attempt. Returns true if the attempt is still alive. */
static bool locate(const struct gw_follow *follow, const struct gw_msg_log_read *request,
                   struct part *part)
{
    const struct gw_follow_options *options = &follow->options;
    const char *extension = request->stream == 2 ? "err" : "out";
    char folder[GW_NODE_PATH_MAX];
    struct gw_log_segments_part found;
    struct gw_node_place place;
    bool lives = gw_node_core_find(options->core, request->attempt, request->rank, &place);
    *part = (struct part){.bytes = UINT64_MAX};
    if (!lives)
        place = (struct gw_node_place){.job = request->job,
                                       .attempt = request->attempt,
                                       .index = request->index,
                                       .rank = request->rank,
                                       .user = request->user};
    else if (locate_captured(follow, request, &place, part))
        return true;
    part->begin = 0;
    part->command = lives && place.kind == GW_SPEC_COMMAND;
    gw_node_output_path(options->log_dir, &place, extension, part->path);
    if (place.rank != GW_RANK_NONE || gw_files_access(part->path, F_OK) == 0)
        return lives;
    job_folder(follow, place.user, place.job, folder);
    if (gw_log_segments_find(follow->segments, folder, request->attempt, request->stream, &found)) {
        memcpy(part->path, found.path, sizeof part->path);
        part->begin = found.begin;
        part->bytes = found.bytes;
    }
    return lives;
}

/* Reads the next bytes. If there is a hole at *offset, it is skipped, and *offset is set to its
 * end. */
static int read_next(struct gw_follow *follow, const struct part *part, uint64_t *offset,
                     uint32_t *bytes, uint64_t *total, struct gw_error *error)
{
    uint64_t at, end;
    gw_logfile_next(part->path, part->begin + *offset, &at, &end);
    if (part->bytes != UINT64_MAX && end > part->begin + part->bytes)
        end = part->begin + part->bytes;
    uint32_t most = at > end ? 0 : end - at < *bytes ? (uint32_t)(end - at) : *bytes;
    int rc = gw_logfile_read(part->path, at, follow->data, &most, total, error);
    if (rc < 0)
        return rc;
    *total = *total > part->begin ? *total - part->begin : 0;
    *total = *total > part->bytes ? part->bytes : *total;
    *offset = at - part->begin;
    *bytes = most;
    return 0;
}

/* Looks up when the output was written. New output of a live command, which has no entry yet, was
 * written at the latest when the file was. */
static void find_times(const struct gw_msg_log_read *request, const struct part *part,
                       struct gw_output_times_found *found)
{
    struct stat status;
    *found = (struct gw_output_times_found){.end = UINT64_MAX};
    if ((!request->times && !request->since_ns) || part->captured || part->bytes != UINT64_MAX)
        return;
    gw_output_times_find(part->path, request->offset, request->since_ns, found);
    if ((part->command || found->known) && found->at_ns == 0 &&
        gw_files_stat(part->path, &status) == 0)
        found->at_ns =
            (uint64_t)status.st_mtim.tv_sec * GW_NS_PER_S + (uint64_t)status.st_mtim.tv_nsec;
}

/* An answer while it is made. */
struct reply {
    uint64_t total, offset, left_out, time_ns;
    uint32_t bytes;
    int rc;
    struct gw_error error;
};

/* Reads what the answer has. */
static void read_reply(struct gw_follow *follow, const struct gw_msg_log_read *request,
                       const struct part *part, struct reply *reply)
{
    struct gw_output_times_found times;
    uint64_t begin;
    find_times(request, part, &times);
    const uint64_t from = times.since > request->offset ? times.since : request->offset;
    if (from > request->offset && request->times)
        find_times(&(struct gw_msg_log_read){.offset = from, .times = 1}, part, &times);
    reply->offset = from;
    reply->time_ns = times.at_ns;
    if (request->times && times.end - from < reply->bytes)
        reply->bytes = (uint32_t)(times.end - from);
    reply->rc =
        read_next(follow, part, &reply->offset, &reply->bytes, &reply->total, &reply->error);
    if (reply->rc == 0 && part->captured && !is_marked(part->mark, request, &begin)) {
        /* The attempt ended meanwhile, so these bytes may belong to another one */
        reply->offset = from;
        reply->bytes = 0;
    }
    reply->left_out = reply->rc == 0 ? reply->offset - from : 0;
    if (reply->left_out > 0 && request->times)
        reply->bytes = 0; /* the time is that of the missing bytes */
}

/* Sends an answer. Returns false if there is nothing to send yet and the attempt is still alive. */
static bool answer(struct gw_follow *follow, const struct gw_msg_log_read *request)
{
    struct part part;
    char note[GW_LOGFILE_FULL_BYTES] = "";
    struct reply reply = {.bytes = request->bytes_max && request->bytes_max < DATA_BYTES_MAX
                                       ? request->bytes_max
                                       : DATA_BYTES_MAX};
    const bool lives = locate(follow, request, &part);
    read_reply(follow, request, &part, &reply);
    if (reply.rc == 0 && reply.bytes == 0 && reply.left_out == 0 && lives && request->follow)
        return false;
    const bool end = reply.rc < 0 || (!lives && reply.offset + reply.bytes >= reply.total);
    if (reply.rc == 0 && (end || reply.bytes == 0)) /* the reader has read everything */
        (void)gw_logfile_full(part.path, note);
    struct gw_message message = {.type = GW_MESSAGE_log_data};
    message.log_data = (struct gw_msg_log_data){
        .request = request->request,
        .code = reply.rc,
        .text = reply.rc < 0 ? reply.error.text : note,
        .attempt = request->attempt,
        .offset = reply.offset,
        .end = end,
        .data = {follow->data, reply.rc < 0 ? 0 : reply.bytes},
        .left_out = reply.left_out,
        .time_ns = reply.time_ns,
    };
    follow->options.send(&message, follow->options.arg);
    return true;
}

static void follow_on_timer(uv_timer_t *timer)
{
    struct gw_follow *follow = timer->data;
    for (size_t i = follow->waiting.count; i-- > 0;)
        if (answer(follow, &follow->waiting.items[i]))
            gw_array_remove_swap(&follow->waiting, i);
    if (!follow->waiting.count)
        uv_timer_stop(timer);
}

/* Reports the reader's position to the process that waits for it. */
static void tell_held(const struct gw_follow *follow, const struct gw_msg_log_read *request)
{
    const struct gw_follow_options *options = &follow->options;
    struct gw_node_place place;
    if (request->holds &&
        gw_node_core_find(options->core, request->attempt, request->rank, &place) && place.process)
        options->on_held_read(place.process, request->stream, request->offset, options->arg);
}

/* Answers a reader that wants no more output. */
static void answer_nothing(const struct gw_follow *follow, const struct gw_msg_log_read *request)
{
    struct gw_message message = {.type = GW_MESSAGE_log_data};
    message.log_data = (struct gw_msg_log_data){.request = request->request,
                                                .text = "",
                                                .attempt = request->attempt,
                                                .offset = request->offset};
    follow->options.send(&message, follow->options.arg);
}

/* Frees the contents of log segments, which may be large. */
static void follow_on_idle(uv_timer_t *timer)
{
    struct gw_follow *follow = timer->data;
    if (!follow->waiting.count)
        gw_log_segments_forget(follow->segments);
    else
        (void)uv_timer_start(timer, follow_on_idle, FORGET_AFTER_MS, 0);
}

void gw_follow_read(struct gw_follow *follow, const struct gw_msg_log_read *message)
{
    struct gw_msg_log_read request = *message;
    if (!request.attempt) {
        char folder[GW_NODE_PATH_MAX];
        job_folder(follow, request.user, request.job, folder);
        request.attempt = gw_logfile_latest(folder, request.index);
        const uint64_t other = gw_log_segments_latest(follow->segments, folder, request.index);
        request.attempt = other > request.attempt ? other : request.attempt;
    }
    (void)uv_timer_start(&follow->idle, follow_on_idle, FORGET_AFTER_MS, 0);
    tell_held(follow, &request);
    if (request.holds && request.offset == UINT64_MAX) {
        answer_nothing(follow, &request);
        return;
    }
    if (answer(follow, &request))
        return;
    GW_MUST(gw_array_push(&follow->waiting, request));
    if (!uv_is_active((uv_handle_t *)&follow->timer))
        (void)uv_timer_start(&follow->timer, follow_on_timer, LOOK_EVERY_MS, LOOK_EVERY_MS);
}

void gw_follow_ended(struct gw_follow *follow)
{
    struct gw_node_place place;
    for (size_t i = follow->waiting.count; i-- > 0;) {
        const struct gw_msg_log_read *request = &follow->waiting.items[i];
        if (!gw_node_core_find(follow->options.core, request->attempt, request->rank, &place) &&
            answer(follow, request))
            gw_array_remove_swap(&follow->waiting, i);
    }
}

void gw_follow_forget(struct gw_follow *follow)
{
    gw_array_clear(&follow->waiting);
    uv_timer_stop(&follow->timer);
}
