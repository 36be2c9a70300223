/* Work of the driver when processes start and end: the socket of a runner, the folder of output
 * files, and the capture files that a runner leaves.
 *
 * Invariant: before the core reports the end of the attempt that a runner executed last, the
 * runner's captured output is moved to that attempt. The capture files are removed after the runner
 * is reaped and its connection is closed. */

#include "worker/net/tasks/runners.h"

#include "graph/base/files.h"
#include "graph/base/log.h"
#include "graph/wire/content.h"
#include "graph/wire/enums.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/tasks/held.h"
#include "worker/net/tasks/metric_reader.h"
#include "worker/net/tasks/report_socket.h"
#include "worker/net/tasks/task_socket.h"
#include "worker/net/tasks/tunnels.h"
#include "worker/net/tasks/users.h"
#include "worker/store/log_segments.h"
#include "worker/store/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <msgpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

void gw_runners_free(struct gw_host_runner *runner)
{
    if (runner->began_fd >= 0)
        close(runner->began_fd);
    free(runner->user);
    free(runner);
}

static struct gw_host_runner *runner_of(const struct gw_host *host, uint64_t process)
{
    uint64_t value;
    return gw_map_get(&host->runners, process, &value) ? (struct gw_host_runner *)(uintptr_t)value
                                                       : NULL;
}

static void spawn_failed(struct gw_host *host, uint64_t process, const char *why)
{
    struct gw_message message = {.type = GW_MESSAGE_spawned};
    message.spawned = (struct gw_msg_spawned){.process = process, .code = GW_ESTART, .text = why};
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_MESSAGE,
                                           .peer = {host->supervisor->id},
                                           .message = &message});
}

/* Starts a command with a pipe as standard input. The worker's end is for a tunnel. */
static void spawn_with_input(struct gw_host *host, const struct gw_message *message)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        gw_report_sockets_give_back(host, message->spawn.process);
        gw_metric_readers_end(host, message->spawn.process);
        spawn_failed(host, message->spawn.process, strerror(errno));
        return;
    }
    gw_tunnels_hold_input(host->tunnels, message->spawn.process, ends[1]);
    gw_host_send(gw_users_supervisor(host, message->spawn.process), message, &ends[0], 1);
    close(ends[0]);
}

/* Returns the start of the items of an encoded list, and their number. NULL: it is not a list. */
static const uint8_t *items_of(struct gw_bin list, uint32_t *count)
{
    const uint8_t *bytes = list.data;
    if (list.size >= 1 && (bytes[0] & 0xf0) == 0x90) {
        *count = bytes[0] & 0x0f;
        return bytes + 1;
    }
    if (list.size >= 3 && bytes[0] == 0xdc) {
        *count = (uint32_t)bytes[1] << 8 | bytes[2];
        return bytes + 3;
    }
    return NULL;
}

/* Writes an encoded list plus some lines. The caller frees it. */
static int add_lines(struct gw_bin list, const char *const *lines, uint32_t added,
                     struct gw_buffer *longer)
{
    uint32_t count;
    const uint8_t *end = (const uint8_t *)list.data + list.size, *items = items_of(list, &count);
    if (!items)
        return GW_EINVAL;
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, count + added);
    int rc = msgpack_sbuffer_write(&buffer, (const char *)items, (size_t)(end - items));
    for (uint32_t i = 0; rc == 0 && i < added; i++)
        rc = msgpack_pack_str_with_body(&packer, lines[i], strlen(lines[i]));
    if (rc == 0)
        rc = gw_buffer_append(longer, buffer.data, buffer.size);
    msgpack_sbuffer_destroy(&buffer);
    return rc < 0 ? GW_ENOMEM : 0;
}

/* Starts a command. GANGWAY_IDENTITY is added here, since the core must not know the secret in it,
 * and GANGWAY_REPORT, since the core knows no sockets. */
static void spawn_command(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_message message = effect->message;
    struct gw_buffer env = {0};
    char identity[PATH_MAX], report[GW_ENDPOINT_TEXT_MAX + 32];
    const char *lines[2];
    uint32_t count = 0;
    const char *path = gw_report_sockets_take(host, message.spawn.process);
    gw_metric_readers_begin(host, message.spawn.process, message.spawn.out, effect->metrics);
    if (effect->number && gw_task_socket_introduce(host, effect, identity) == 0)
        lines[count++] = identity;
    if (path) {
        (void)snprintf(report, sizeof report, "GANGWAY_REPORT=%s", path);
        lines[count++] = report;
    }
    if (count && add_lines(message.spawn.env, lines, count, &env) == 0)
        message.spawn.env = (struct gw_bin){env.data, (uint32_t)env.size};
    explicit_bzero(identity, sizeof identity);
    if (message.spawn.in)
        spawn_with_input(host, &message);
    else
        gw_host_send(gw_users_supervisor(host, message.spawn.process), &message, NULL, 0);
    gw_buffer_deinit(&env);
}

void gw_runners_spawn(struct gw_host *host, const struct gw_effect *effect)
{
    const struct gw_message *message = &effect->message;
    const struct gw_msg_spawn *spawn = &message->spawn;
    int pair[2];
    const char *why = gw_users_begin(host, spawn);
    if (why) {
        spawn_failed(host, spawn->process, why);
        return;
    }
    if (spawn->held)
        gw_held_begin(host, spawn->process);
    if (!spawn->runner) {
        spawn_command(host, effect);
        return;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        spawn_failed(host, spawn->process, strerror(errno));
        return;
    }
    (void)fcntl(pair[1], F_SETFL, 0); /* the runner uses blocking calls on its end */
    struct gw_host_link *link = gw_host_link_new(host, pair[0], GW_ROLE_RUNNER);
    if (!link) {
        close(pair[1]);
        spawn_failed(host, spawn->process, "too many open files");
        return;
    }
    struct gw_host_runner *runner = calloc(1, sizeof *runner);
    GW_MUST_PTR(runner);
    runner->began_fd = -1;
    GW_MUST(gw_map_put(&host->runners, spawn->process, (uintptr_t)runner));
    runner->user = strdup(gw_users_folder_of(host, spawn->process));
    GW_MUST_PTR(runner->user);
    link->process = spawn->process;
    link->told_core = true;
    gw_host_send(gw_users_supervisor(host, spawn->process), message, &pair[1], 1);
    close(pair[1]);
    gw_step_later(host, &(struct gw_event){.type = GW_EVENT_OPEN,
                                           .peer = {link->id},
                                           .number = spawn->process,
                                           .role = GW_ROLE_RUNNER});
}

static void capture_paths(const struct gw_host *host, uint64_t process, const char *extension,
                          char path[GW_NODE_PATH_MAX])
{
    const struct gw_host_runner *runner = runner_of(host, process);
    char dir[GW_NODE_PATH_MAX];
    gw_node_capture_path(gw_node_output_path_dir(host->log_dir, runner ? runner->user : NULL, dir),
                         host->incarnation, process, extension, path);
}

/* The output of a running task is in the runner's capture files or in its own files. A task that
 * waits for its reader cannot write more. */
uint64_t gw_runners_output_bytes(const struct gw_host *host, uint64_t process)
{
    static const char *const extensions[] = {"out", "err"};
    struct gw_node_place place;
    struct stat status;
    uint64_t bytes = 0;
    if (!gw_node_core_executing(host->core, process, &place))
        return 0;
    for (int i = 0; i < 2; i++) {
        char path[GW_NODE_PATH_MAX];
        gw_node_output_path(host->log_dir, &place, extensions[i], path);
        if (gw_files_stat(path, &status) == 0) {
            bytes += (uint64_t)status.st_size;
            if (gw_held_waits(host, process, (uint32_t)i + 1, (uint64_t)status.st_size))
                return UINT64_MAX;
        }
        capture_paths(host, process, extensions[i], path);
        if (gw_files_stat(path, &status) == 0)
            bytes += (uint64_t)status.st_size;
    }
    return bytes;
}

/* Moves the rest of a runner's captured output, which is in no log segment yet, to the attempt that
 * the runner executed. The runner's mark names this attempt, if there is one. */
static void move_capture(const struct gw_host *host, uint64_t process)
{
    static const char *const extensions[] = {"out", "err"};
    struct gw_node_place place;
    struct gw_log_segment_mark mark = {0};
    char path[GW_NODE_PATH_MAX];
    capture_paths(host, process, GW_LOG_SEGMENT_MARK, path);
    if (!(gw_log_segments_mark(path, &mark) && mark.attempt &&
          gw_node_core_find(host->core, mark.attempt, GW_RANK_NONE, &place)) &&
        !gw_node_core_executing(host->core, process, &place))
        return;
    for (int i = 0; i < 2; i++) {
        char from[GW_NODE_PATH_MAX], to[GW_NODE_PATH_MAX];
        struct gw_error error;
        capture_paths(host, process, extensions[i], from);
        gw_node_output_path(host->log_dir, &place, extensions[i], to);
        if (gw_logfile_move(from, mark.begin[i], to, &error) < 0)
            gw_log_warn("%s", error.text);
    }
}

static void mark(struct gw_host *host, uint64_t process, bool reaped, bool closed)
{
    struct gw_host_runner *runner = runner_of(host, process);
    if (!runner)
        return;
    runner->reaped |= reaped;
    runner->closed |= closed;
    if (runner->reaped && runner->closed)
        move_capture(host, process);
}

/* Keeps the memory file in which a runner with an actor notes the call that it begins. The file
 * survives a crash of the runner. */
void gw_host_on_actor_ready(struct gw_host *host, uint64_t process, const int *fds,
                            uint8_t fd_count)
{
    struct gw_host_runner *runner = runner_of(host, process);
    for (uint8_t i = 0; i < fd_count; i++)
        if (i == 0 && runner && runner->began_fd < 0 && gw_content_in_memory(fds[i]))
            runner->began_fd = fds[i];
        else
            close(fds[i]);
}

/* Returns the attempt that a runner of functions has noted in its memory file, or in its mark file
 * if it has no actor. 0: none. */
static uint64_t marked(const struct gw_host *host, uint64_t process)
{
    const struct gw_host_runner *runner = runner_of(host, process);
    struct gw_log_segment_mark mark = {0};
    char path[GW_NODE_PATH_MAX];
    uint64_t began;
    if (runner->began_fd >= 0)
        return pread(runner->began_fd, &began, sizeof began, 0) == sizeof began ? began : 0;
    capture_paths(host, process, GW_LOG_SEGMENT_MARK, path);
    return gw_log_segments_mark(path, &mark) ? mark.attempt : 0;
}

const struct gw_message *gw_host_on_supervisor_message(struct gw_host *host,
                                                       const struct gw_message *message,
                                                       struct gw_message *filled)
{
    if (message->type == GW_MESSAGE_exited && runner_of(host, message->exited.process)) {
        *filled = *message;
        filled->exited.executing = marked(host, message->exited.process);
        message = filled;
    }
    const pid_t pid = message->type == GW_MESSAGE_spawned && message->spawned.code >= 0
                          ? gw_users_pid(host, &message->spawned)
                          : 0;
    if (pid)
        gw_usage_add(host->usage, message->spawned.process, pid);
    else if (message->type == GW_MESSAGE_reaped)
        gw_usage_remove(host->usage, message->reaped.process);
    const uint64_t over = message->type == GW_MESSAGE_reaped ? message->reaped.process
                          : message->type == GW_MESSAGE_spawned && message->spawned.code < 0
                              ? message->spawned.process
                              : 0;
    if (over) {
        gw_held_end(host, over);
        gw_report_sockets_give_back(host, over);
        gw_metric_readers_end(host, over);
        mark(host, over, true, false);
    }
    return message;
}

void gw_host_on_runner_closed(struct gw_host *host, uint64_t process)
{
    mark(host, process, false, true);
}

/* Removes the capture files. It is called after the core has reported the end and the last lines of
 * the output were read. */
void gw_runners_tidy(struct gw_host *host, uint64_t process)
{
    char path[GW_NODE_PATH_MAX];
    struct gw_host_runner *runner = runner_of(host, process);
    if (!runner || !runner->reaped || !runner->closed)
        return;
    capture_paths(host, process, "out", path);
    (void)gw_files_unlink(path);
    capture_paths(host, process, "err", path);
    (void)gw_files_unlink(path);
    capture_paths(host, process, GW_LOG_SEGMENT_MARK, path);
    (void)gw_files_unlink(path);
    gw_map_remove(&host->runners, process);
    gw_runners_free(runner);
}
