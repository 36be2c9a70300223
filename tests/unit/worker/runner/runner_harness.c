/* See runner_harness.h. */
#include "tests/unit/worker/runner/runner_harness.h"

#include "tests/unit/unit.h"

#include "graph/base/dir.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/value_file.h"
#include "worker/runner/task_result.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 30000, ROWS_MAX = 512, DEPS_MAX = 64 };

static void become_runner(const struct side *side, const char *dir, int fd)
{
    char path[160];
    int out = open(side->out, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    int err = open(side->err, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd == 3)
        fcntl(3, F_SETFD, 0);
    else
        dup2(fd, 3);
    dup2(out, 1);
    dup2(err, 2);
    (void)close_range(4, ~0U, 0);
    snprintf(path, sizeof path, "%s/log", dir);
    setenv("GANGWAY_LOG_DIR", path, 1);
    snprintf(path, sizeof path, "%s/checkpoints", dir);
    setenv("GANGWAY_CHECKPOINTS", path, 1);
    setenv("GANGWAY_RUNNER_FD", "3", 1);
    execl("/proc/self/exe", "program", (char *)NULL);
    _exit(127);
}

void side_open(struct side *side, const char *dir)
{
    static unsigned serial;
    int fds[2];
    *side = (struct side){0};
    serial++;
    snprintf(side->out, sizeof side->out, "%s/runner.%u.out", dir, serial);
    snprintf(side->err, sizeof side->err, "%s/runner.%u.err", dir, serial);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    fflush(NULL);
    side->pid = fork();
    assert_true(side->pid >= 0);
    if (side->pid == 0)
        become_runner(side, dir, fds[1]);
    close(fds[1]);
    assert_int_equal(gw_channel_new(fds[0], &side->channel), 0);
    assert_int_equal(side_get(side, GW_MESSAGE_runner)->runner.protocol, GW_PROTOCOL);
}

int side_set_up(struct side *side, char dir[SIDE_DIR_BYTES])
{
    char path[SIDE_DIR_BYTES + 8];
    strcpy(dir, "/tmp/gangway-test-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(path, sizeof path, "%s/log", dir);
    if (mkdir(path, 0700) < 0)
        return -1;
    side_open(side, dir);
    return 0;
}

int side_tear_down(struct side *side, const char *dir)
{
    if (side->channel)
        side_close(side);
    return gw_dir_remove(dir, NULL);
}

struct gw_value *side_list(struct gw_value *a, struct gw_value *b)
{
    struct gw_value *list = gw_list();
    if (a)
        assert_int_equal(gw_list_push(list, a), 0);
    if (b)
        assert_int_equal(gw_list_push(list, b), 0);
    return list;
}

static void drop_fds(struct side *side)
{
    while (side->fd_at < side->fd_count)
        close(side->fds[side->fd_at++]);
}

int side_wait(struct side *side)
{
    int status;
    drop_fds(side);
    assert_int_equal(waitpid(side->pid, &status, 0), side->pid);
    gw_channel_free(side->channel);
    side->channel = NULL;
    return status;
}

void side_close(struct side *side)
{
    int status;
    drop_fds(side);
    gw_channel_free(side->channel);
    assert_int_equal(waitpid(side->pid, &status, 0), side->pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("a runner ended with status 0x%x", (unsigned)status);
}

static void get_one(struct side *side, uint32_t type)
{
    struct gw_error error = {0};
    struct pollfd fd = {.fd = gw_channel_fd(side->channel), .events = POLLIN};
    drop_fds(side);
    side->fd_at = side->fd_count = 0;
    int rc =
        gw_channel_get(side->channel, false, &side->message, side->fds, &side->fd_count, &error);
    if (rc == GW_EAGAIN && poll(&fd, 1, PATIENCE_MS) > 0)
        rc =
            gw_channel_get(side->channel, true, &side->message, side->fds, &side->fd_count, &error);
    if (rc < 0)
        fail_msg("no %s came: %s %s", gw_message_name(type), gw_error_name(rc), error.text);
    if (side->message.type == GW_MESSAGE_checkpointed)
        side->checkpointed = side->message.checkpointed;
}

/* On a loaded machine, a task may run long enough to be reported. */
static bool passes_long(struct side *side, uint32_t type)
{
    const struct gw_message nothing = {.type = GW_MESSAGE_task_taken};
    if (side->message.type != GW_MESSAGE_task_blocked || type == GW_MESSAGE_task_blocked ||
        side->message.task_blocked.blocked != GW_BLOCKED_LONG)
        return false;
    side_put(side, &nothing, -1);
    side_flush(side);
    return true;
}

static bool next_alike(struct side *side)
{
    const struct gw_msg_failures *alike = &side->alike.failures;
    if (side->alike_at >= alike->attempt.count)
        return false;
    side->message.type = GW_MESSAGE_ended;
    side->message.ended =
        (struct gw_msg_ended){.attempt = gw_col64_at(alike->attempt, side->alike_at),
                              .rank = GW_RANK_NONE,
                              .outcome = GW_OUTCOME_FAILED,
                              .code = alike->code,
                              .executing = 1,
                              .text = alike->text,
                              .stderr_tail = alike->stderr_tail,
                              .run_ns = gw_col64_at(alike->run_ns, side->alike_at)};
    side->alike_at++;
    return true;
}

const struct gw_message *side_get(struct side *side, uint32_t type)
{
    if (next_alike(side)) {
        assert_int_equal(type, GW_MESSAGE_ended);
        return &side->message;
    }
    do {
        get_one(side, type);
        if (side->message.type == GW_MESSAGE_used)
            side->cpu_ns = side->message.used.cpu_ns;
    } while (side->message.type == GW_MESSAGE_checkpointed ||
             side->message.type == GW_MESSAGE_used || passes_long(side, type));
    if (side->message.type == GW_MESSAGE_failures && type == GW_MESSAGE_ended) {
        side->alike = side->message;
        side->alike_at = 0;
        (void)next_alike(side);
    }
    if (side->message.type != type)
        fail_msg("%s came, not %s: %s", gw_message_name(side->message.type), gw_message_name(type),
                 side->message.type == GW_MESSAGE_ended ? side->message.ended.text : "");
    return &side->message;
}

int side_fd(struct side *side)
{
    assert_true(side->fd_at < side->fd_count);
    return side->fds[side->fd_at++];
}

struct gw_value *side_value(struct side *side, uint32_t i)
{
    const struct gw_msg_finished *finished = &side->message.finished;
    struct gw_value *value = NULL;
    struct gw_error error = {0};
    assert_int_equal(side->message.type, GW_MESSAGE_finished);
    assert_true(i < finished->attempt.count);
    size_t at = 0, bytes = gw_col64_at(finished->bytes, i);
    for (uint32_t k = 0; k < i; k++)
        at += gw_col32_at(finished->value_size, k);
    uint32_t size = gw_col32_at(finished->value_size, i);
    int rc;
    if (size > 0) {
        assert_int_equal(size, bytes);
        rc = gw_codec_decode((const char *)finished->values.data + at, size, NULL, &value, &error);
    } else {
        assert_true(bytes > GW_INLINE_BYTES_MAX);
        int fd = side_fd(side);
        rc = gw_value_file_decode(fd, bytes, &value, &error);
        close(fd);
    }
    if (rc < 0)
        fail_msg("value %u: %s", i, error.text);
    return value;
}

void side_put(struct side *side, const struct gw_message *message, int fd)
{
    const struct gw_channel_fds fds = {.fds = &fd, .count = fd >= 0};
    assert_int_equal(gw_channel_put(side->channel, message, fds), 0);
    if (fd >= 0)
        side_flush(side);
}

void side_flush(struct side *side)
{
    assert_int_equal(gw_channel_flush(side->channel), 0);
}

void side_spec(struct side *side, uint32_t number, const char *function, uint64_t output_bytes_max)
{
    const struct gw_message message = {.type = GW_MESSAGE_spec,
                                       .spec = {.key = SIDE_JOB,
                                                .number = number,
                                                .kind = GW_SPEC_FUNCTION,
                                                .function = function,
                                                .output_bytes_max = output_bytes_max}};
    side_put(side, &message, -1);
}

/* The columns of an assign message under construction. */
struct assign {
    uint64_t job[ROWS_MAX], attempt[ROWS_MAX];
    uint32_t index[ROWS_MAX], spec[ROWS_MAX], try_number[ROWS_MAX], rank[ROWS_MAX];
    uint32_t gpu_count[ROWS_MAX], args_size[ROWS_MAX], dep_count[ROWS_MAX];
    uint64_t dep_job[DEPS_MAX], dep_bytes[DEPS_MAX];
    uint32_t dep_index[DEPS_MAX], dep_rank[DEPS_MAX], dep_worker[DEPS_MAX];
    uint32_t dep_value_size[DEPS_MAX];
    struct gw_buffer args, values;
    uint32_t deps;
    int fds[DEPS_MAX];
    uint64_t memfiles[DEPS_MAX];
    uint8_t fd_count;
    bool lends;
};

static void add_dep(struct assign *assign, const struct side_dep *dep)
{
    uint32_t i = assign->deps++;
    assert_true(i < DEPS_MAX);
    assign->dep_job[i] = SIDE_JOB;
    assign->dep_index[i] = i;
    assign->dep_rank[i] = dep->rank;
    assign->dep_worker[i] = dep->worker;
    assign->dep_bytes[i] = dep->bytes;
    assign->dep_value_size[i] = 0;
    if (!dep->value)
        return;
    struct gw_buffer bytes = {0};
    assert_int_equal(gw_codec_encode(dep->value, NULL, &bytes), 0);
    assign->dep_bytes[i] = bytes.size;
    if (dep->by_fd) {
        int fd = dep->memfile ? dup(dep->fd) : memfd_create("dep", MFD_CLOEXEC);
        assert_int_equal(ftruncate(fd, bytes.size), 0);
        assert_int_equal(pwrite(fd, bytes.data, bytes.size, 0), bytes.size);
        assign->memfiles[assign->fd_count] = dep->memfile;
        assign->lends = assign->lends || dep->memfile;
        assign->fds[assign->fd_count++] = fd;
    } else {
        assign->dep_value_size[i] = (uint32_t)bytes.size;
        assert_int_equal(gw_buffer_append(&assign->values, bytes.data, bytes.size), 0);
    }
    gw_buffer_deinit(&bytes);
    gw_value_unref(dep->value);
}

static void add_row(struct assign *assign, uint32_t i, const struct side_row *row)
{
    size_t before = assign->args.size;
    /* the references in the arguments are already numbered 0, 1, 2 in their order */
    struct gw_codec_deps deps = {0};
    if (row->args)
        assert_int_equal(gw_codec_encode(row->args, &deps, &assign->args), 0);
    gw_codec_deps_deinit(&deps);
    gw_value_unref(row->args);
    assign->job[i] = SIDE_JOB;
    assign->attempt[i] = row->attempt ? row->attempt : 1000 + row->index;
    assign->index[i] = row->index;
    assign->spec[i] = row->spec;
    assign->try_number[i] = row->try_number;
    assign->rank[i] = row->rank ? row->rank - 1 : GW_RANK_NONE;
    assign->gpu_count[i] = 0;
    assign->args_size[i] = (uint32_t)(assign->args.size - before);
    assign->dep_count[i] = row->dep_count;
    for (uint32_t d = 0; d < row->dep_count; d++)
        add_dep(assign, &row->deps[d]);
}

void side_assign(struct side *side, const struct side_row *rows, uint32_t count)
{
    static struct assign assign;
    memset(&assign, 0, sizeof assign);
    assert_true(count <= ROWS_MAX);
    for (uint32_t i = 0; i < count; i++)
        add_row(&assign, i, &rows[i]);
    const struct gw_message message = {
        .type = GW_MESSAGE_assign,
        .assign = {.job = {assign.job, count},
                   .index = {assign.index, count},
                   .spec = {assign.spec, count},
                   .attempt = {assign.attempt, count},
                   .try_number = {assign.try_number, count},
                   .rank = {assign.rank, count},
                   .gpu_count = {assign.gpu_count, count},
                   .args_size = {assign.args_size, count},
                   .args = {assign.args.data, (uint32_t)assign.args.size},
                   .dep_count = {assign.dep_count, count},
                   .dep_job = {assign.dep_job, assign.deps},
                   .dep_index = {assign.dep_index, assign.deps},
                   .dep_rank = {assign.dep_rank, assign.deps},
                   .dep_bytes = {assign.dep_bytes, assign.deps},
                   .dep_worker = {assign.dep_worker, assign.deps},
                   .dep_value_size = {assign.dep_value_size, assign.deps},
                   .dep_values = {assign.values.data, (uint32_t)assign.values.size}}};
    const struct gw_message lent = {.type = GW_MESSAGE_memfile_lent,
                                    .memfile_lent = {{assign.memfiles, assign.fd_count}}};
    const struct gw_channel_fds fds = {.fds = assign.fds, .count = assign.fd_count, .take = true};
    if (assign.lends)
        side_put(side, &lent, -1);
    assert_int_equal(gw_channel_put(side->channel, &message, fds), 0);
    gw_buffer_deinit(&assign.args);
    gw_buffer_deinit(&assign.values);
}
