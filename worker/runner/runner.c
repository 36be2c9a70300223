/* The main loop of a runner: it takes tasks from the worker, executes them in order, and reports
 * their ends.
 *
 * The runner has one blocking socket, which only this thread reads. Results are gathered (outbox.h)
 * and sent before any other message. A crash counts against the first task that was not reported. A
 * task that is tried again is reported by itself, so that the same innocent task is not charged
 * again and again. If the worker is gone, the process ends or the supervisor kills it. */
#include "worker/runner/runner.h"

#include "graph/base/clock.h"
#include "graph/base/tail.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "worker/runner/batch.h"
#include "worker/runner/folder.h"
#include "worker/runner/function.h"
#include "worker/runner/given.h"
#include "worker/runner/inputs.h"
#include "worker/runner/join.h"
#include "worker/runner/mapping.h"
#include "worker/runner/outbox.h"
#include "worker/runner/output.h"
#include "worker/runner/progress.h"
#include "worker/runner/show.h"
#include "worker/runner/spec.h"
#include "worker/runner/task.h"
#include "worker/runner/term.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIM_EVERY_NS (100 * GW_NS_PER_MS)
enum { HEAD_MAX = 320 };

struct runner {
    struct gw_outbox outbox;
    struct gw_specs specs;
    struct gw_show show;
    struct gw_batch *first, **last;
    GW_ARRAY(int) ahead;     /* descriptors that arrived before their assign message */
    GW_ARRAY(uint64_t) lent; /* the memory files of these descriptors; empty: none */
    struct gw_givens givens; /* for tasks that have not begun */
    struct gw_output output;
    struct gw_folders folders;

    /* The executing task */
    struct gw_task task;
    struct gw_task_hooks hooks;
    uint64_t attempt;
    uint32_t rank; /* as assigned: GW_RANK_NONE unless it is a gang */
    struct gw_progress progress;
    uint64_t trimmed_ns;

    struct gw_actor_instance actor;
    bool ending; /* nobody has a handle to the actor any more */

    /* The last messages about the gang */
    struct gw_msg_gang gang;
    struct gw_join join;
    uint64_t control_attempt;
    int control;

    /* The task's client */
    /* Receives the answer to a task_link message; NULL: none is awaited */
    struct gw_task_link *linking;
    struct gw_error link_error; /* error of that answer; code 0: success */
    /* Number of reports that a task waits or runs long which no task_taken has answered yet.
     * Negative: the outbox has reported a task that has not ended. */
    int blocked_unanswered;
};

static void out_of_memory(void) __attribute__((noreturn));
static void out_of_memory(void)
{
    fputs("gangway: out of memory in a runner\n", stderr);
    exit(EXIT_FAILURE);
}

/* Handles the result of sending. If the worker is gone, the process ends. */
static void must(int rc)
{
    if (rc == GW_ENOMEM || rc == GW_ELIMIT)
        out_of_memory();
    if (rc < 0)
        exit(EXIT_SUCCESS);
}

static void say(struct runner *runner, const struct gw_message *message)
{
    must(gw_outbox_say(&runner->outbox, message));
}

static void say_hello(struct runner *runner)
{
    struct gw_buffer names = {0};
    struct gw_value *list = gw_list();
    for (size_t i = 0; i < gw_function_count(); i++)
        if (gw_list_push(list, gw_str(gw_function_at(i)->name)) < 0)
            out_of_memory();
    if (gw_codec_encode(list, NULL, &names) < 0)
        out_of_memory();
    const struct gw_message message = {
        .type = GW_MESSAGE_runner,
        .runner = {.protocol = GW_PROTOCOL, .functions = {names.data, (uint32_t)names.size}}};
    say(runner, &message);
    gw_value_unref(list);
    gw_buffer_deinit(&names);
}

static struct gw_message ended(const struct runner *runner, uint32_t outcome, uint64_t run_ns)
{
    const struct gw_error *error = &runner->task.error;
    return (struct gw_message){.type = GW_MESSAGE_ended,
                               .ended = {.attempt = runner->attempt,
                                         .rank = runner->rank,
                                         .outcome = outcome,
                                         .code = error->code,
                                         .executing = outcome == GW_OUTCOME_FAILED,
                                         .text = error->text,
                                         .run_ns = run_ns}};
}

/* -- Receiving -----------------------------------------------------------------------------------
 */

static void on_inputs(struct runner *runner, const int *fds, uint8_t fd_count)
{
    for (uint8_t i = 0; i < fd_count; i++)
        if (gw_array_push(&runner->ahead, fds[i]) < 0)
            out_of_memory();
}

static void on_assign(struct runner *runner, const struct gw_msg_assign *assign, const int *fds,
                      uint8_t fd_count)
{
    on_inputs(runner, fds, fd_count);
    if (runner->lent.count && runner->lent.count != runner->ahead.count) {
        fprintf(stderr, "gangway: malformed message from the worker: descriptors are missing\n");
        exit(EXIT_FAILURE);
    }
    struct gw_batch *batch = gw_batch_new(
        assign, (struct gw_batch_fds){.fds = runner->ahead.items,
                                      .memfiles = runner->lent.count ? runner->lent.items : NULL,
                                      .count = (uint32_t)runner->ahead.count});
    gw_array_clear(&runner->ahead);
    gw_array_clear(&runner->lent);
    if (!batch)
        out_of_memory();
    *runner->last = batch;
    runner->last = &batch->next;
}

/* Handles the answer to a task_link message. Returns true if it took over the descriptor. */
static bool on_linked(struct runner *runner, const struct gw_msg_task_linked *linked, int fd)
{
    struct gw_task_link *link = runner->linking;
    if (!link || linked->attempt != runner->attempt)
        return false;
    runner->linking = NULL;
    runner->link_error.code = 0;
    int rc = gw_task_link_take(link, linked, fd, &runner->link_error);
    if (rc == GW_ENOMEM)
        out_of_memory();
    return rc == 0;
}

static void on_lent(struct runner *runner, const struct gw_msg_memfile_lent *lent)
{
    for (uint32_t i = 0; i < lent->memfile.count; i++)
        if (gw_array_push(&runner->lent, gw_col64_at(lent->memfile, i)) < 0)
            out_of_memory();
}

/* Takes over the descriptor. */
static void on_given(struct runner *runner, const struct gw_msg_memfile_given *given, int fd)
{
    must(gw_givens_add(&runner->givens, given->attempt,
                       (struct gw_task_result_given){given->memfile, given->bytes, fd}));
}

/* Tells the worker which memory files are not read any more. */
static void say_returned(struct runner *runner)
{
    enum { MAX = 64 };
    uint64_t memfiles[MAX];
    uint32_t count;
    while ((count = gw_mapping_take_returned(memfiles, MAX)) > 0) {
        const struct gw_message message = {.type = GW_MESSAGE_memfile_returned,
                                           .memfile_returned = {{memfiles, count}}};
        must(gw_outbox_note(&runner->outbox, &message, gw_clock_now_ns()));
    }
}

static void say_filled(struct runner *runner, bool cached)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_memfile_filled,
        .memfile_filled = {runner->attempt, runner->task.result.memfile, cached}};
    must(gw_outbox_note(&runner->outbox, &message, gw_clock_now_ns()));
}

/* Drops the tasks that have not begun, since the worker executes them elsewhere while the present
 * task waits or runs long. The present batch stays allocated, since the task may use its memory. */
static void on_taken(struct runner *runner, uint64_t attempt)
{
    struct gw_batch *batch = runner->first;
    runner->blocked_unanswered--;
    if (!batch || !attempt)
        return;
    gw_givens_clear(&runner->givens);
    gw_batch_skip(batch);
    for (struct gw_batch *next = batch->next, *after; next; next = after) {
        after = next->next;
        gw_batch_free(next);
    }
    batch->next = NULL;
    runner->last = &batch->next;
}

static void on_refuse(const struct gw_msg_refuse *refuse)
{
    fprintf(stderr, "gangway: the worker refused this runner: %s\n", refuse->text);
    exit(EXIT_FAILURE);
}

/* Handles a message of the worker. Messages of unknown types are ignored: a newer worker may send
 * them. */
static void on_message(struct runner *runner, const struct gw_message *message, const int *fds,
                       uint8_t fd_count)
{
    uint8_t taken = 0;
    switch (message->type) {
    case GW_MESSAGE_assign:
        on_assign(runner, &message->assign, fds, fd_count);
        taken = fd_count;
        break;
    case GW_MESSAGE_inputs:
        on_inputs(runner, fds, fd_count);
        taken = fd_count;
        break;
    case GW_MESSAGE_memfile_given:
        on_given(runner, &message->memfile_given, fd_count ? fds[0] : -1);
        taken = fd_count ? 1 : 0;
        break;
    case GW_MESSAGE_memfile_lent:
        on_lent(runner, &message->memfile_lent);
        break;
    case GW_MESSAGE_memfile_gone:
        gw_mapping_gone(message->memfile_gone.memfile);
        break;
    case GW_MESSAGE_task_folder:
        must(gw_folders_add(&runner->folders, &message->task_folder));
        break;
    case GW_MESSAGE_spec:
        if (gw_specs_add(&runner->specs, &message->spec) < 0)
            out_of_memory();
        break;
    case GW_MESSAGE_forget:
        gw_specs_forget(&runner->specs, message->forget.job);
        break;
    case GW_MESSAGE_gang:
        runner->gang = message->gang;
        break;
    case GW_MESSAGE_gang_start:
        must(gw_join_go(&runner->join, &message->gang_start, fds, fd_count));
        taken = fd_count < 2 ? fd_count : 2;
        break;
    case GW_MESSAGE_task_linked:
        taken = on_linked(runner, &message->task_linked, fd_count ? fds[0] : -1);
        break;
    case GW_MESSAGE_task_taken:
        on_taken(runner, message->task_taken.attempt);
        break;
    case GW_MESSAGE_actor_end:
        runner->ending = true;
        break;
    case GW_MESSAGE_control:
        runner->control_attempt = message->control.attempt;
        runner->control = (int)message->control.command;
        break;
    case GW_MESSAGE_refuse:
        on_refuse(&message->refuse);
        break;
    default:
        break;
    }
    while (taken < fd_count)
        close(fds[taken++]);
}

/* Handles one message. If wait is false, returns GW_EAGAIN if none has arrived. */
static int listen_once(struct runner *runner, bool wait)
{
    struct gw_message message;
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    int rc = gw_outbox_get(&runner->outbox, wait, &message, fds, &fd_count, &error);
    if (rc == GW_EPROTO) {
        fprintf(stderr, "gangway: malformed message from the worker: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    if (rc != GW_EAGAIN)
        must(rc);
    if (rc == 0)
        on_message(runner, &message, fds, fd_count);
    return rc;
}

/* Handles all messages that have arrived while a task runs. */
static void listen_ready(struct runner *runner)
{
    struct pollfd fd = {.fd = gw_channel_fd(runner->outbox.channel), .events = POLLIN};
    while (listen_once(runner, false) == 0)
        ;
    while (poll(&fd, 1, 0) > 0) {
        (void)listen_once(runner, true);
        while (listen_once(runner, false) == 0)
            ;
    }
}

static void runner_on_metric(void *arg, int64_t step, const char *name, double value)
{
    struct runner *runner = arg;
    uint64_t now_ns = gw_clock_now_ns();
    must(gw_progress_metric(&runner->progress, step, name, value, now_ns));
    if (now_ns - runner->trimmed_ns >= TRIM_EVERY_NS) {
        gw_output_trim(&runner->output);
        runner->trimmed_ns = now_ns;
    }
}

static void runner_on_progress(void *arg, double fraction, const char *text)
{
    struct runner *runner = arg;
    must(gw_progress_note(&runner->progress, fraction, text, gw_clock_now_ns()));
}

static void runner_on_alive(void *arg)
{
    struct runner *runner = arg;
    must(gw_progress_alive(&runner->progress));
}

/* Reported at once: even if this process dies now, the next attempt resumes from here. */
static void runner_on_saved(void *arg, int64_t step)
{
    struct runner *runner = arg;
    const struct gw_message message = {
        .type = GW_MESSAGE_checkpointed,
        .checkpointed = {.attempt = runner->attempt, .rank = runner->rank, .step = step}};
    say(runner, &message);
    must(gw_outbox_flush(&runner->outbox));
}

/* If SIGTERM arrived while the rank ran, it takes effect after the result was sent. */
static void yield_to_term(struct runner *runner)
{
    if (!gw_term_let_be())
        return;
    must(gw_outbox_flush(&runner->outbox));
    (void)raise(SIGTERM);
}

static int runner_on_control(void *arg)
{
    struct runner *runner = arg;
    listen_ready(runner);
    int answer = runner->control_attempt == runner->attempt ? runner->control : GW_CONTINUE;
    return gw_term_told() ? GW_STOP : answer;
}

/* -- The task's client ---------------------------------------------------------------------------
 */

static int runner_on_link(void *arg, struct gw_task_link *link, struct gw_error *error)
{
    struct runner *runner = arg;
    const struct gw_message message = {
        .type = GW_MESSAGE_task_link,
        .task_link = {.attempt = runner->attempt, .rank = runner->rank}};
    runner->linking = link;
    say(runner, &message);
    while (runner->linking)
        (void)listen_once(runner, true);
    return runner->link_error.code < 0
               ? gw_error_set(error, runner->link_error.code, "%s", runner->link_error.text)
               : 0;
}

static void runner_on_blocked(void *arg, bool blocked)
{
    struct runner *runner = arg;
    const struct gw_message message = {
        .type = GW_MESSAGE_task_blocked,
        .task_blocked = {.attempt = runner->attempt, .rank = runner->rank, .blocked = blocked}};
    runner->blocked_unanswered += blocked;
    say(runner, &message);
}

/* Waits until the worker has said which tasks it has taken back. Only then another may begin. */
static void await_taken(struct runner *runner)
{
    while (runner->blocked_unanswered > 0)
        (void)listen_once(runner, true);
}

/* -- Executing -----------------------------------------------------------------------------------
 */

/* Reports that a rank is ready, and waits until all ranks are. A failure after the start may be
 * caused by the network or by the death of another rank. It counts as a failure of a collective and
 * not of the start, so the user's number of retries applies. */
static int join_gang(struct runner *runner, struct gw_task *task, uint32_t *outcome)
{
    if (runner->gang.attempt != runner->attempt)
        return gw_error_set(&task->error, GW_EPROTO, "the worker sent a rank before its gang");
    task->rank = runner->rank;
    task->world = runner->gang.world;
    task->local_rank = runner->rank - runner->gang.first_rank;
    task->is_gpu_shared = runner->gang.physical_gpu_shared != 0;
    task->attempt = runner->attempt;
    task->checkpoint_from = runner->gang.checkpoint;
    task->checkpoint_lost = runner->gang.checkpoint_lost != 0;

    const struct gw_message ready = {
        .type = GW_MESSAGE_rank_ready,
        .rank_ready = {.attempt = runner->attempt, .rank = runner->rank}};
    say(runner, &ready);
    while (!runner->join.went || runner->join.attempt != runner->attempt)
        (void)listen_once(runner, true);
    *outcome = GW_OUTCOME_FAILED;
    int rc = gw_join_open(&runner->join, &runner->gang, runner->rank, &task->comm, &task->error);
    if (rc < 0 && runner->join.unreached >= 0)
        *outcome = GW_OUTCOME_UNREACHED;
    return rc;
}

/* The failure is reported first, so that it arrives before the failures of other ranks that it
 * causes. */
static void end_failed(struct runner *runner, const struct gw_message *message)
{
    const struct gw_task *task = &runner->task;
    say(runner, message);
    if (task->comm)
        gw_comm_abort(task->comm, task->error.code, (int)task->rank);
}

/* The value that a paused rank returns is not a result. */
static void say_paused(struct runner *runner)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_rank_paused,
        .rank_paused = {.attempt = runner->attempt, .rank = runner->rank}};
    say(runner, &message);
}

/* Stores a result for later rows of the batch, as a value decoded like one from the worker. */
static void cache_result(struct gw_batch *batch, const struct gw_task_result *result)
{
    struct gw_value *value;
    if (gw_task_result_decode(result, &value, NULL) < 0)
        out_of_memory();
    gw_batch_cache(batch, value);
}

/* Returns the place of a task's output. The output of an actor's call goes to the actor's files,
 * below a line that names the call. */
static struct gw_output_place place_of(const struct runner *runner, const struct gw_batch_row *row,
                                       const struct gw_spec *spec, char head[static HEAD_MAX])
{
    struct gw_output_place place = {.job = row->job,
                                    .attempt = row->attempt,
                                    .index = row->index,
                                    .rank = row->rank,
                                    .bytes_max = spec->output_bytes_max};
    if (!runner->actor.made)
        return place;
    place.job = runner->actor.job;
    place.attempt = runner->actor.attempt;
    place.index = runner->actor.index;
    place.bytes_max = runner->actor.output_bytes_max;
    (void)snprintf(head, HEAD_MAX, "[%s, task %" PRIu32 " of job %" PRIu64 ", try %" PRIu32 "]\n",
                   spec->name, row->index, row->job, row->try_number + 1);
    place.head = head;
    return place;
}

/* Stores the actor that a task has created. */
static void start_actor(struct runner *runner, const struct gw_batch_row *row,
                        const struct gw_spec *spec)
{
    struct gw_actor_instance *actor = &runner->actor;
    const struct gw_message ready = {.type = GW_MESSAGE_actor_ready,
                                     .actor_ready = {.attempt = row->attempt}};
    int fd;
    if (gw_actor_make_page(actor, &fd) < 0)
        out_of_memory();
    actor->made = true;
    actor->job = row->job;
    actor->attempt = row->attempt;
    actor->index = row->index;
    actor->output_bytes_max = spec->output_bytes_max;
    must(gw_outbox_say_with(&runner->outbox, &ready, fd));
    close(fd);
}

/* Reports a failed task. Tasks that fail in the same way share a message. If the task's stderr is
 * in a file, the worker adds its last lines. */
static void say_failed(struct runner *runner, const struct gw_batch_row *row,
                       const struct gw_report_row *report, const struct gw_output_err *err)
{
    char tail[GW_TAIL_BYTES] = "";
    struct gw_message message = ended(runner, GW_OUTCOME_FAILED, report->run_ns);
    if (err->bytes)
        gw_tail_text(err->text, err->bytes, tail);
    message.ended.stderr_tail = tail;
    bool gang = row->rank != GW_RANK_NONE;
    if (runner->task.makes_actor)
        gw_actor_let_go(&runner->actor);
    if (gang || row->try_number > 0)
        end_failed(runner, &message);
    else if (err->filed || runner->task.makes_actor || runner->actor.made)
        must(gw_outbox_note(&runner->outbox, &message, report->ended_ns));
    else
        must(gw_outbox_fail(&runner->outbox, report, &runner->task.error, tail));
    if (gang)
        yield_to_term(runner);
}

static void execute(struct runner *runner, const struct gw_batch_row *row,
                    const struct gw_spec *spec)
{
    struct gw_task *task = &runner->task;
    bool gang = row->rank != GW_RANK_NONE;
    char head[HEAD_MAX];
    const struct gw_output_place place = place_of(runner, row, spec, head);
    gw_progress_begin(&runner->progress, row->attempt, row->rank, spec->inactivity_timeout_ns);
    if (gang) {
        gw_output_redirect(&runner->output, &place);
        gw_join_say(&runner->join);
    }
    if (row->try_number > 0)
        must(gw_outbox_flush(&runner->outbox));
    gw_output_begin(&runner->output, gang || runner->actor.made ? 0 : row->attempt);
    if (spec->shown)
        gw_show_begin(&runner->show, &runner->output, gang, row->attempt, row->rank);
    uint64_t started_ns = gw_clock_now_ns();
    gw_outbox_begin(&runner->outbox, gang ? 0 : row->attempt, started_ns);

    if (gang)
        gw_term_heed();
    if (runner->actor.made)
        gw_actor_begin(&runner->actor, row->attempt);
    int rc = gw_task_run(task);

    uint64_t ended_ns = gw_clock_now_ns();
    runner->blocked_unanswered += gw_outbox_end(&runner->outbox);
    struct gw_output_err err = {0};
    if (spec->shown)
        gw_show_end(&runner->show);
    if (gang)
        gw_output_restore(&runner->output);
    else
        gw_output_move(&runner->output, &place, ended_ns - started_ns, &err);
    must(gw_progress_end(&runner->progress, ended_ns));
    gw_outbox_ran(&runner->outbox, ended_ns - started_ns);
    const struct gw_report_row report = {.attempt = row->attempt,
                                         .rank = row->rank,
                                         .run_ns = ended_ns - started_ns,
                                         .ended_ns = ended_ns};
    if (rc < 0) {
        say_failed(runner, row, &report, &err);
        return;
    }
    if (task->makes_actor) {
        start_actor(runner, row, spec);
        return;
    }
    if (gang && task->rank == 0 && task->answered == GW_PAUSE)
        say_paused(runner);
    const bool cached = gw_batch_wants(runner->first);
    if (cached)
        cache_result(runner->first, &task->result);
    if (task->result.memfile)
        say_filled(runner, cached);
    must(gw_outbox_add(&runner->outbox, &report, &task->result));
    if (row->try_number > 0)
        must(gw_outbox_flush(&runner->outbox));
    if (gang)
        yield_to_term(runner);
}

static void run_row(struct runner *runner, struct gw_batch *batch, const struct gw_batch_row *row)
{
    struct gw_task *task = &runner->task;
    runner->attempt = row->attempt;
    runner->rank = row->rank;
    task->job = row->job;
    task->index = row->index;
    task->try_number = row->try_number;
    task->hooks = &runner->hooks;

    const struct gw_spec *known = gw_specs_find(&runner->specs, row->job, row->spec);
    int back = -1;
    gw_givens_take(&runner->givens, row->attempt, &task->result);
    int entered = gw_folders_enter(&runner->folders, row->attempt, &back, &task->error);
    int rc = gw_inputs_take(batch, row, task);
    if (rc == GW_EAGAIN) { /* the worker knows that the input was not made */
        gw_folders_leave(back, false);
        gw_task_reset(task);
        say_returned(runner);
        return;
    }
    if (rc == 0)
        rc = entered;
    if (rc == 0 && (!known || !known->function))
        rc = gw_error_set(&task->error, GW_ENOENT, "this program has no task function %s",
                          known ? known->name : "of that number");
    struct gw_spec spec = {0};
    if (rc == 0)
        spec = *known; /* a copy, since messages are handled while a gang forms and in its steps */
    task->until_step = spec.until_step;
    task->makes_actor = rc == 0 && spec.actor == GW_ACTOR_NEW;
    if (rc == 0 && spec.actor) /* the worker sends such tasks only to the right runner */
        task->actor = &runner->actor;
    uint32_t outcome = GW_OUTCOME_CANNOT_START;
    if (rc == 0 && row->rank != GW_RANK_NONE)
        rc = join_gang(runner, task, &outcome);
    if (rc < 0) {
        struct gw_message message = ended(runner, outcome, 0);
        if (outcome == GW_OUTCOME_UNREACHED)
            message.ended.peer = (uint32_t)runner->join.unreached;
        end_failed(runner, &message);
    } else {
        task->function = spec.function;
        execute(runner, row, &spec);
    }
    gw_folders_leave(back, task->makes_actor && runner->actor.made);
    gw_task_reset(task);
    say_returned(runner);
    await_taken(runner);
}

static void run_batches(struct runner *runner)
{
    struct gw_batch_row row;
    while (runner->first) {
        struct gw_batch *batch = runner->first;
        while (gw_batch_row(batch, &row))
            run_row(runner, batch, &row);
        runner->first = batch->next;
        if (!runner->first)
            runner->last = &runner->first;
        gw_batch_free(batch);
    }
}

void gw_runner_main(int fd)
{
    static struct runner runner; /* freed with the process */
    gw_join_init(&runner.join);
    runner.last = &runner.first;
    runner.hooks = (struct gw_task_hooks){.metric = runner_on_metric,
                                          .saved = runner_on_saved,
                                          .progress = runner_on_progress,
                                          .alive = runner_on_alive,
                                          .control = runner_on_control,
                                          .link = runner_on_link,
                                          .blocked = runner_on_blocked,
                                          .arg = &runner};
    const char *log_dir = getenv("GANGWAY_LOG_DIR");
    gw_output_init(&runner.output, log_dir && *log_dir ? log_dir : NULL);
    gw_task_init(&runner.task);
    must(gw_outbox_init(&runner.outbox, fd));
    gw_show_init(&runner.show, &runner.outbox);
    runner.progress.outbox = &runner.outbox;
    say_hello(&runner);
    for (;;) {
        run_batches(&runner);
        if (runner.ending) {
            gw_actor_let_go(&runner.actor);
            must(gw_outbox_flush(&runner.outbox));
            exit(EXIT_SUCCESS);
        }
        if (listen_once(&runner, false) < 0) /* nothing has arrived: send the results and wait */
            (void)listen_once(&runner, true);
    }
}
