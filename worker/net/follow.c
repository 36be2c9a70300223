/* Following output. An attempt's output lies in its own files; that of an ordinary task which a
 * pooled runner executes at the moment, in the runner's capture files, with the same offsets. (What
 * an actor's call prints comes when the call has ended.)
 *
 * Files change without a word to us, so those that are followed are looked at again ten times a
 * second, while anybody follows; those of what has ended at once. */
#include "worker/net/follow.h"

#include "graph/base/array.h"
#include "graph/base/log.h"
#include "graph/wire/enums.h"
#include "worker/store/logfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOOK_EVERY_MS = 100, DATA_BYTES_MAX = 256 * 1024, NOTE_BYTES_MAX = 96 };

struct gw_follow {
    struct gw_follow_options options;
    uv_timer_t timer;
    GW_ARRAY(struct gw_msg_log_read) waiting;
    uint8_t data[DATA_BYTES_MAX + NOTE_BYTES_MAX];
};

struct gw_follow *gw_follow_new(const struct gw_follow_options *options)
{
    struct gw_follow *follow = calloc(1, sizeof *follow);
    GW_MUST_PTR(follow);
    follow->options = *options;
    follow->timer.data = follow;
    (void)uv_timer_init(options->loop, &follow->timer);
    return follow;
}

static void follow_on_closed(uv_handle_t *handle)
{
    struct gw_follow *follow = handle->data;
    gw_array_deinit(&follow->waiting);
    free(follow);
}

void gw_follow_close(struct gw_follow *follow)
{
    uv_close((uv_handle_t *)&follow->timer, follow_on_closed);
}

/* The file to read; tells whether the attempt still lives. */
static bool locate(const struct gw_follow *follow, const struct gw_msg_log_read *request,
                   char path[GW_NODE_PATH_MAX])
{
    const struct gw_follow_options *options = &follow->options;
    const char *extension = request->stream == 2 ? "err" : "out";
    struct gw_node_place place, first;
    bool lives = gw_node_core_find(options->core, request->attempt, request->rank, &place);
    if (!lives)
        place = (struct gw_node_place){.job = request->job,
                                       .attempt = request->attempt,
                                       .index = request->index,
                                       .rank = request->rank};
    if (lives && place.kind == GW_SPEC_FUNCTION && place.rank == GW_RANK_NONE && place.process &&
        gw_node_core_executing(options->core, place.process, &first) &&
        first.attempt == place.attempt && !first.keeps)
        gw_node_capture_path(options->log_dir, options->incarnation, place.process, extension,
                             path);
    else
        gw_node_output_path(options->log_dir, &place, extension, path);
    return lives;
}

/* Reads what comes next; before what lies behind a hole, how much is not there. *offset: such that
 * what comes then lies behind it and *bytes. */
static int read_next(struct gw_follow *follow, const char *path, uint64_t *offset, uint32_t *bytes,
                     uint64_t *total, struct gw_error *error)
{
    uint64_t at, end;
    int length = 0;
    gw_logfile_next(path, *offset, &at, &end);
    if (at > *offset)
        length = snprintf((char *)follow->data, NOTE_BYTES_MAX,
                          "\n[%" PRIu64 " bytes of output are left out here]\n", at - *offset);
    uint32_t most = *bytes > (uint32_t)length ? *bytes - (uint32_t)length : 1;
    most = end - at < most ? (uint32_t)(end - at) : most;
    int rc = gw_logfile_read(path, at, follow->data + length, &most, total, error);
    if (rc < 0)
        return rc;
    *offset = at - (uint64_t)length;
    *bytes = most + (uint32_t)length;
    return 0;
}

/* Answers what there is to tell; false: nothing, and the attempt lives. */
static bool answer(struct gw_follow *follow, const struct gw_msg_log_read *request)
{
    char path[GW_NODE_PATH_MAX];
    struct gw_error error = {0};
    uint64_t total = 0, offset = request->offset;
    uint32_t bytes = request->bytes_max && request->bytes_max < DATA_BYTES_MAX ? request->bytes_max
                                                                               : DATA_BYTES_MAX;
    bool lives = locate(follow, request, path);
    int rc = read_next(follow, path, &offset, &bytes, &total, &error);
    if (rc == 0 && bytes == 0 && lives && request->follow)
        return false;
    struct gw_message message = {.type = GW_MESSAGE_log_data};
    message.log_data = (struct gw_msg_log_data){
        .request = request->request,
        .code = rc,
        .text = error.text,
        .attempt = request->attempt,
        .offset = offset,
        .end = rc < 0 || (!lives && offset + bytes >= total),
        .data = {follow->data, rc < 0 ? 0 : bytes},
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

void gw_follow_read(struct gw_follow *follow, const struct gw_msg_log_read *message)
{
    struct gw_msg_log_read request = *message;
    if (!request.attempt) {
        char folder[GW_NODE_PATH_MAX];
        (void)snprintf(folder, sizeof folder, "%s/%" PRIu64, follow->options.log_dir, request.job);
        request.attempt = gw_logfile_latest(folder, request.index);
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
