/* Ranges: submitting a range and taking its results.
 *
 * Results that have arrived wait in one queue, in the order of their arrival. When the program
 * takes a result, the client releases the result at the scheduler, which then starts more tasks.
 * The number of results is known from the start, unless the range ends early. In that case the
 * answer to the `wait` request contains the number of tasks that started. */
#include "client/submit/range.h"

#include "client/link/descriptor.h"
#include "client/results/future.h"
#include "client/submit/submission.h"
#include "graph/base/clock.h"
#include "graph/base/options_read.h"
#include "graph/wire/codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { INDEX_BYTES = 9, RANGE_TASKS_MAX = 1 << 30 };

struct item {
    uint32_t index;
    struct gw_value_slot slot;
};

struct gw_range_run {
    struct gw_client *client; /* referenced */
    uint64_t request, job;
    int64_t begin, step;
    uint32_t count;
    bool results, detached, registered, waiting;
    struct gw_rpc end; /* the `wait` request for the end of the job */

    /* The following fields are guarded by the client's lock. */
    pthread_cond_t changed;
    uint32_t sleepers;
    GW_ARRAY(struct item) items;
    size_t head;
    uint64_t came;     /* number of results that have arrived, including taken ones */
    uint64_t expected; /* number of results that will arrive in all */
    bool ended, no_memory;

    struct gw_range_inline *inlined; /* GANGWAY_INLINE=1; NULL: the range runs in the cluster */
};

/* With GANGWAY_INLINE=1 each task runs when gw_range_next asks for its result. */
struct gw_range_inline {
    const struct gw_function *function;
    struct gw_task_options options;
    size_t value_count;
    uint32_t next;
    bool stop;                 /* stop at the first failure */
    struct gw_error first;     /* the first failure; code 0: no task has failed */
    struct gw_value *values[]; /* arguments and inputs */
};

/* -- Arriving results ---------------------------------------------------------------------------
 */

static void wake(struct gw_range_run *run)
{
    gw_descriptor_signal(run->client);
    if (run->sleepers > 0)
        pthread_cond_broadcast(&run->changed);
}

static struct gw_range_run *find(struct gw_client *client, uint64_t request)
{
    uint64_t found;
    return gw_map_get(&client->ranges, request, &found) ? (struct gw_range_run *)(uintptr_t)found
                                                        : NULL;
}

static void push(struct gw_range_run *run, uint32_t index, struct gw_value_slot slot)
{
    run->came++;
    if (gw_array_push(&run->items, ((struct item){index, slot})) < 0) {
        gw_value_slot_clear(&slot, 0);
        run->no_memory = true;
    }
    wake(run);
}

void gw_range_done(struct gw_client *client, const struct gw_msg_done *done)
{
    const uint8_t *at = done->values.data;
    struct gw_range_run *run = NULL;
    for (uint32_t i = 0; i < done->request.count; i++) {
        uint64_t request = gw_col64_at(done->request, i);
        uint32_t size = gw_col32_at(done->value_size, i);
        if (!run || run->request != request)
            run = find(client, request);
        struct gw_value_slot slot = {.kind = GW_VALUE_SLOT_REMOTE};
        const struct gw_landing landing = {.encoded = at, .bytes = size};
        if (run && size > 0 && !gw_value_slot_set(&slot, &landing))
            run->no_memory = true;
        if (run)
            push(run, gw_col32_at(done->index, i), slot);
        at += size;
    }
}

void gw_range_failed(struct gw_client *client, const struct gw_msg_failed *failed)
{
    struct gw_range_run *run = find(client, failed->request);
    if (!run)
        return;
    struct gw_value_slot slot = {.kind = GW_VALUE_SLOT_ERROR};
    slot.failure = gw_value_slot_failure_new(failed->code < 0 ? failed->code : GW_ETASK,
                                             failed->exit_code, failed->attempt, failed->text);
    if (slot.failure)
        push(run, failed->index, slot);
    else
        run->no_memory = true;
}

/* Called with the answer to `wait`, or when the connection has ended. */
static void range_on_end(struct gw_rpc *call, void *arg)
{
    struct gw_range_run *run = arg;
    struct gw_value *body;
    int64_t made;
    run->ended = true;
    if (call->error.code == 0 &&
        gw_codec_decode(call->body, call->body_bytes, NULL, &body, NULL) == 0) {
        if (gw_value_get_i64(gw_value_at(body, 3), &made, NULL) == 0 && made >= 0)
            run->expected = (uint64_t)made;
        gw_value_unref(body);
    }
    wake(run);
}

/* -- Submitting ----------------------------------------------------------------------------------
 */

static int count_of(const struct gw_range *range, uint32_t *count, struct gw_error *error)
{
    int64_t step = range->step ? range->step : 1;
    bool up = step > 0;
    if (up ? range->begin >= range->end : range->begin <= range->end)
        return gw_error_set(error, GW_EINVAL,
                            "the range from %lld up to, but not including, %lld has no number: "
                            "give another begin, end or step",
                            (long long)range->begin, (long long)range->end);
    uint64_t span = up ? (uint64_t)range->end - (uint64_t)range->begin
                       : (uint64_t)range->begin - (uint64_t)range->end;
    uint64_t stride = up ? (uint64_t)step : -(uint64_t)step;
    uint64_t tasks = (span - 1) / stride + 1;
    if (tasks > RANGE_TASKS_MAX)
        return gw_error_set(error, GW_ELIMIT,
                            "a range has %llu tasks, and %d is the most: submit several ranges",
                            (unsigned long long)tasks, RANGE_TASKS_MAX);
    *count = (uint32_t)tasks;
    return 0;
}

/* Encodes the list of arguments: room for the number, then the arguments, then a reference for each
 * input. *index_at is the offset of the number. */
static int encode_args(const struct gw_range *range, struct gw_buffer *args, uint32_t *index_at,
                       struct gw_error *error)
{
    size_t count = 1 + range->argument_count + range->input_count;
    uint8_t head[3] = {0xdc, (uint8_t)(count >> 8), (uint8_t)count};
    uint8_t number[INDEX_BYTES] = {0xd3};
    if (count > UINT16_MAX)
        return gw_error_set(
            error, GW_ELIMIT,
            "a task of the range has %zu arguments, and %d is the most: put them into a list",
            count, UINT16_MAX);
    if (count < 16)
        head[0] = (uint8_t)(0x90 | count);
    *index_at = count < 16 ? 1 : 3;
    int rc = gw_buffer_append(args, head, *index_at);
    if (rc == 0)
        rc = gw_buffer_append(args, number, sizeof number);
    for (size_t i = 0; i < range->argument_count && rc == 0; i++)
        rc = gw_codec_encode(range->arguments[i], NULL, args);
    for (size_t i = 0; i < range->input_count && rc == 0; i++) {
        const uint8_t ref[6] = {0xd6, GW_CODEC_EXT_REF, (uint8_t)i, (uint8_t)(i >> 8)};
        rc = gw_buffer_append(args, ref, sizeof ref);
    }
    if (rc == GW_EINVAL)
        return gw_error_set(error, rc,
                            "an argument of a range is a reference to a result (gw_result): pass "
                            "results as `inputs`");
    if (rc < 0)
        return gw_error_set(error, rc, "the arguments of the range cannot be encoded: %s",
                            gw_error_text(rc));
    if (args->size > 64 << 10)
        return gw_error_set(error, GW_ELIMIT,
                            "the arguments of a range take %zu bytes, and 64 KiB is the most: "
                            "scatter large values (gw_scatter), and pass them as `inputs`",
                            args->size);
    return 0;
}

static int make_spec(const struct gw_range *range, struct gw_graph_spec *spec,
                     struct gw_error *error)
{
    if (!range->function == !range->command)
        return gw_error_set(error, GW_EINVAL, "a range needs either a function or a command");
    if (range->command && range->argument_count + range->input_count > 0)
        return gw_error_set(error, GW_EINVAL, "a range of commands has no arguments and no inputs");
    if (range->detached && !range->discard_results)
        return gw_error_set(
            error, GW_EINVAL,
            "a detached range needs discard_results, because no client takes its results");
    *spec = (struct gw_graph_spec){.kind = GW_SPEC_FUNCTION, .function = range->function};
    if (range->command) {
        struct gw_command command;
        int rc = GW_OPTIONS_READ(&command, range->command, gw_command, error);
        if (rc < 0)
            return rc;
        spec->kind = GW_SPEC_COMMAND;
        spec->argv = command.argv;
        spec->env = command.env;
        spec->cwd = command.cwd;
        spec->epilog = command.epilog;
        spec->env_templates = command.env ? command.env_templates : 0;
    }
    int rc = gw_spec_set_options(spec, range->options, error);
    if (rc < 0)
        return rc;
    spec->options.name = NULL;
    if (spec->options.pure)
        return gw_error_set(
            error, GW_EINVAL,
            "tasks of a range cannot be pure: leave `pure` out, or submit a graph of calls");
    if (spec->options.ranks > 0)
        return gw_error_set(error, GW_EINVAL,
                            "a range has ordinary tasks, not gangs: `ranks` must be 0");
    return 0;
}

static const char *name_of(const struct gw_range *range)
{
    if (range->options && range->options->name)
        return range->options->name;
    return range->function ? range->function->name : gw_submission_named(range->command->argv[0]);
}

static int send_range(struct gw_submission *submission, const struct gw_range *range,
                      const struct gw_range_run *run, struct gw_error *error)
{
    struct gw_buffer args = {0};
    uint64_t *jobs = calloc(range->input_count + 1, sizeof *jobs);
    uint32_t *rows = calloc(range->input_count + 1, sizeof *rows), index_at = 0;
    uint32_t *ranks = calloc(range->input_count + 1, sizeof *ranks);
    uint32_t inputs = (uint32_t)range->input_count;
    int rc = jobs && rows && ranks ? encode_args(range, &args, &index_at, error)
                                   : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < inputs && rc == 0; i++) {
        jobs[i] = gw_future_job(range->inputs[i]);
        rows[i] = gw_future_index(range->inputs[i]);
    }
    struct gw_message message = {
        .type = GW_MESSAGE_range,
        .range = {.request = submission->call.request,
                  .flags = submission->flags | (run->results ? GW_RANGE_RESULTS : 0) |
                           (range->stop_at_failure ? GW_RANGE_STOP : 0),
                  .name = submission->name,
                  .begin = run->begin,
                  .step = run->step,
                  .count = run->count,
                  .limit = range->limit,
                  .ahead = range->ahead,
                  .args = {args.data, (uint32_t)args.size},
                  .index_at = index_at,
                  .dep_job = {jobs, inputs},
                  .dep_index = {rows, inputs},
                  .dep_rank = {ranks, inputs}},
    };
    if (rc == 0)
        rc = gw_submission_send_last(submission, &message, error);
    gw_buffer_deinit(&args);
    free(jobs);
    free(rows);
    free(ranks);
    return rc;
}

static int submit(struct gw_range_run *run, const struct gw_range *range,
                  const struct gw_graph_spec *spec, struct gw_error *error)
{
    struct gw_submission submission;
    const struct gw_submission_options options = {
        .name = name_of(range),
        .detached = range->detached,
        .no_futures = true,
        .key = range->key,
        .account = range->account,
        .queue = range->queue,
        .after = {range->after, range->after_count, range->after_any},
    };
    int rc = gw_submission_open(&submission, run->client, &options, error);
    run->request = submission.call.request;
    if (rc == 0) {
        pthread_mutex_lock(&run->client->lock);
        rc = gw_map_put(&run->client->ranges, run->request, (uintptr_t)run);
        run->registered = rc == 0;
        pthread_mutex_unlock(&run->client->lock);
        if (rc < 0)
            gw_error_set(error, rc, "out of memory");
    }
    if (rc == 0)
        rc = gw_submission_spec(&submission, 0, spec, error);
    if (rc == 0)
        rc = gw_submission_after(&submission, error);
    if (rc == 0)
        rc = send_range(&submission, range, run, error);
    run->job = submission.call.number;
    gw_submission_close(&submission);
    return rc;
}

/* Sends the `wait` request for the end of the range. */
static int ask_end(struct gw_range_run *run, struct gw_error *error)
{
    gw_rpc_open(&run->end, run->client);
    run->end.on_answer = range_on_end;
    run->end.arg = run;
    run->waiting = true;
    struct gw_message message = {
        .type = GW_MESSAGE_wait,
        .wait = {.request = run->end.request, .job = run->job},
    };
    int rc = gw_rpc_send(&run->end, run->client, &message, -1);
    return rc < 0 ? gw_client_down_error(run->client, error) : 0;
}

static int run_inline(struct gw_range_run *run, const struct gw_range *range,
                      const struct gw_task_options *options, struct gw_error *error)
{
    size_t count = range->argument_count + range->input_count;
    struct gw_range_inline *inlined = calloc(1, sizeof *inlined + count * sizeof *inlined->values);
    if (!inlined)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    run->inlined = inlined;
    if (!range->function)
        return gw_error_set(error, GW_ENOTSUP,
                            "GANGWAY_INLINE=1 runs task functions only: unset it to run commands");
    inlined->function = range->function;
    inlined->options = *options;
    inlined->options.struct_size = sizeof inlined->options;
    inlined->stop = range->stop_at_failure;
    for (size_t i = 0; i < range->argument_count; i++)
        inlined->values[inlined->value_count++] = gw_value_ref(range->arguments[i]);
    for (size_t i = 0; i < range->input_count; i++) {
        int rc = gw_future_get(range->inputs[i], 0, &inlined->values[inlined->value_count], error);
        if (rc < 0)
            return rc;
        inlined->value_count++;
    }
    return 0;
}

static void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

int gw_map_range(struct gw_client *client, const struct gw_range *given, struct gw_range_run **out,
                 struct gw_error *error)
{
    struct gw_range read;
    const struct gw_range *range = &read;
    struct gw_graph_spec spec;
    uint32_t count = 0;
    int rc = GW_OPTIONS_READ(&read, given, gw_range, error);
    if (rc == 0)
        rc = count_of(range, &count, error);
    if (rc == 0)
        rc = make_spec(range, &spec, error);
    if (rc == 0)
        rc = gw_submission_prepare(client, &spec, 1, error);
    if (rc < 0)
        return rc;
    struct gw_range_run *run = calloc(1, sizeof *run);
    if (!run)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    *run = (struct gw_range_run){
        .client = client,
        .begin = range->begin,
        .step = range->step ? range->step : 1,
        .count = count,
        .expected = count,
        .results = !range->discard_results,
        .detached = range->detached,
    };
    cond_init(&run->changed);
    pthread_mutex_lock(&client->lock);
    client->refs++;
    pthread_mutex_unlock(&client->lock);
    rc = client->inlined ? run_inline(run, range, &spec.options, error)
                         : submit(run, range, &spec, error);
    if (client->inlined) {
        pthread_mutex_lock(&client->lock);
        gw_descriptor_signal(client); /* gw_range_next makes the results */
        pthread_mutex_unlock(&client->lock);
    }
    if (rc == 0 && !client->inlined)
        rc = ask_end(run, error);
    if (rc == 0)
        *out = run;
    else
        gw_range_close(run);
    return rc;
}

/* -- Taking results -----------------------------------------------------------------------------
 */

static struct timespec deadline_after(uint64_t timeout_ns)
{
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t at_ns = timeout_ns > UINT64_MAX / 4 - now_ns ? UINT64_MAX / 4 : now_ns + timeout_ns;
    return (struct timespec){(time_t)(at_ns / GW_NS_PER_S), (long)(at_ns % GW_NS_PER_S)};
}

/* Waits until a result or the end arrives. The client's lock is held. Returns false after the
 * deadline. */
static bool sleep_on(struct gw_range_run *run, const struct timespec *deadline)
{
    run->sleepers++;
    gw_reader_handoff_suspend(&run->client->turn);
    int rc = pthread_cond_timedwait(&run->changed, &run->client->lock, deadline);
    gw_reader_handoff_resume(&run->client->turn);
    run->sleepers--;
    return rc != ETIMEDOUT;
}

/* Takes the next item of the queue. The client's lock is held. The array is compacted when more
 * than half of it was taken. */
static int take(struct gw_range_run *run, const struct timespec *deadline, struct item *item)
{
    const struct gw_client *client = run->client;
    for (;;) {
        if (run->head < run->items.count)
            break;
        if (run->no_memory)
            return GW_ENOMEM;
        if (run->came >= run->expected)
            return GW_ENOENT;
        if (client->down.code || client->closed)
            return GW_ECLOSED;
        if (!sleep_on(run, deadline) && run->head == run->items.count)
            return GW_ETIMEDOUT;
    }
    *item = run->items.items[run->head++];
    if (run->head == run->items.count) {
        gw_array_clear(&run->items);
        run->head = 0;
    } else if (run->head >= 4096 && run->head * 2 > run->items.count) {
        size_t left = run->items.count - run->head;
        memmove(run->items.items, run->items.items + run->head, left * sizeof *run->items.items);
        run->items.count = left;
        run->head = 0;
    }
    return 0;
}

static int64_t number_of(const struct gw_range_run *run, uint32_t index)
{
    return (int64_t)((uint64_t)run->begin + (uint64_t)index * (uint64_t)run->step);
}

/* Makes a result from an item, and fetches a value that is still in the cluster. Releases the
 * result at the scheduler. */
static int open_item(struct gw_range_run *run, struct item *item, struct gw_range_result *result,
                     struct gw_error *error)
{
    const struct gw_value_slot *slot = &item->slot;
    *result = (struct gw_range_result){
        .number = number_of(run, item->index),
        .index = item->index,
    };
    int rc = 0;
    if (slot->kind == GW_VALUE_SLOT_ERROR) {
        gw_error_set(&result->error, slot->failure->code, "%s", slot->failure->text);
        result->exit_code = slot->failure->exit_code;
    } else if (slot->kind == GW_VALUE_SLOT_REMOTE)
        rc = gw_future_fetch(run->client, &(struct gw_future_place){run->job, item->index, 0},
                             GW_FOREVER, &result->value, error);
    else
        rc = gw_codec_decode(slot->kind == GW_VALUE_SLOT_SMALL ? slot->small : slot->heap,
                             slot->size, NULL, &result->value, error);
    gw_io_release(run->client->io, run->job, item->index);
    gw_value_slot_clear(&item->slot, 0);
    return rc;
}

static int next_inline(struct gw_range_run *run, struct gw_range_result *result,
                       struct gw_error *error)
{
    struct gw_range_inline *inlined = run->inlined;
    if (inlined->next == run->count)
        return gw_error_set(error, GW_ENOENT,
                            "all results of the range were taken: there are no more");
    uint32_t index = inlined->next++;
    *result = (struct gw_range_result){.number = number_of(run, index), .index = index};
    struct gw_value **values = calloc(inlined->value_count + 1, sizeof *values);
    if (!values)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    struct gw_future *future;
    values[0] = gw_i64(result->number);
    for (size_t i = 0; i < inlined->value_count; i++)
        values[i + 1] = gw_value_ref(inlined->values[i]);
    int rc = gw_submit_call(run->client, inlined->function, &inlined->options, values,
                            inlined->value_count + 1, &future, error);
    free(values);
    if (rc < 0)
        return rc;
    if (gw_future_get(future, 0, &result->value, &result->error) < 0) {
        result->value = NULL;
        if (inlined->first.code == 0)
            inlined->first = result->error;
        if (inlined->stop)
            inlined->next = run->count;
    }
    gw_future_release(future);
    return 0;
}

int gw_range_next(struct gw_range_run *run, uint64_t timeout_ns, struct gw_range_result *result,
                  struct gw_error *error)
{
    if (!run->results)
        return gw_error_set(error, GW_EINVAL, "the range discards its results: use gw_range_wait");
    if (run->inlined)
        return next_inline(run, result, error);
    struct gw_client *client = run->client;
    struct timespec deadline = deadline_after(timeout_ns);
    struct item item;
    pthread_mutex_lock(&client->lock);
    int rc = take(run, &deadline, &item);
    pthread_mutex_unlock(&client->lock);
    switch (rc) {
    case 0:
        return open_item(run, &item, result, error);
    case GW_ECLOSED:
        return gw_client_down_error(client, error);
    case GW_ENOENT:
        return gw_error_set(error, rc, "all results of the range were taken: there are no more");
    default:
        return gw_error_set(error, rc, "%s", gw_error_text(rc));
    }
}

/* Runs the tasks that are left, and returns the first failure, also of tasks whose results were
 * taken before. */
static int wait_inline(struct gw_range_run *run, struct gw_error *error)
{
    const struct gw_error *first = &run->inlined->first;
    struct gw_range_result result;
    int rc = 0;
    while (run->inlined->next < run->count && rc == 0) {
        rc = next_inline(run, &result, error);
        if (rc == 0)
            gw_value_unref(result.value);
    }
    return rc < 0 || first->code == 0 ? rc : gw_error_set(error, first->code, "%s", first->text);
}

int gw_range_wait(struct gw_range_run *run, uint64_t timeout_ns, struct gw_error *error)
{
    if (run->inlined)
        return wait_inline(run, error);
    struct gw_client *client = run->client;
    struct timespec deadline = deadline_after(timeout_ns);
    int exit_code, rc = 0;
    pthread_mutex_lock(&client->lock);
    while (!run->ended && rc == 0)
        if (!sleep_on(run, &deadline) && !run->ended)
            rc = GW_ETIMEDOUT;
    pthread_mutex_unlock(&client->lock);
    if (rc < 0)
        return gw_error_set(error, rc, "timed out");
    if (run->end.error.code == GW_ECLOSED)
        return gw_client_down_error(client, error);
    if (run->end.error.code < 0)
        return gw_error_set(error, run->end.error.code, "%s", run->end.error.text);
    return gw_rpc_read_end(&run->end, &exit_code, error);
}

/* -- Cancelling and closing ---------------------------------------------------------------------
 */

int gw_range_cancel(struct gw_range_run *run, bool hard, struct gw_error *error)
{
    if (run->inlined) {
        if (run->inlined->next < run->count && run->inlined->first.code == 0)
            gw_error_set(&run->inlined->first, GW_ECANCELLED, "cancelled");
        run->inlined->next = run->count;
        return 0;
    }
    return gw_job_cancel(run->client, run->job, hard, error);
}

uint64_t gw_range_job(const struct gw_range_run *run)
{
    return run->job;
}

uint32_t gw_range_count(const struct gw_range_run *run)
{
    return run->count;
}

static void inline_free(struct gw_range_inline *inlined)
{
    for (size_t i = 0; inlined && i < inlined->value_count; i++)
        gw_value_unref(inlined->values[i]);
    free(inlined);
}

void gw_range_close(struct gw_range_run *run)
{
    if (!run)
        return;
    struct gw_client *client = run->client;
    pthread_mutex_lock(&client->lock);
    if (run->registered)
        (void)gw_map_remove(&client->ranges, run->request);
    struct gw_io *io = client->closed || !run->job || run->detached ? NULL : client->io;
    if (io && (!run->ended || run->results))
        (void)gw_io_release(io, run->job, GW_INDEX_ALL);
    pthread_mutex_unlock(&client->lock);
    if (run->waiting)
        gw_rpc_close(&run->end, client);
    for (size_t i = run->head; i < run->items.count; i++)
        gw_value_slot_clear(&run->items.items[i].slot, 0);
    gw_array_deinit(&run->items);
    inline_free(run->inlined);
    if (!client->forked) /* a thread of the parent may wait there for ever */
        pthread_cond_destroy(&run->changed);
    free(run);
    gw_client_unref(client);
}
