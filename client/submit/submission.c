/* Submissions: the messages that submit one job to the scheduler. If the connection breaks, the
 * submitting thread sends all messages in the submission's resubmit log again over the next
 * connection. */
#include "client/submit/submission.h"

#include "client/link/session.h"
#include "client/services/printer.h"
#include "client/submit/file_upload.h"
#include "client/submit/large_args.h"
#include "client/submit/reconnect.h"
#include "graph/base/clock.h"
#include "graph/model/inherited_env.h"
#include "graph/model/options.h"
#include "graph/wire/codec.h"
#include "graph/wire/frame.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

enum {
    FRAME_MARGIN_BYTES = 4096, /* room in a submit message for the fields beside its rows */
    OUTPUT_BYTES_DEFAULT = 64 << 20,
};

const char *gw_submission_named(const char *word)
{
    return gw_options_check_name(word, "job", NULL) == 0 ? word : "command";
}

int gw_submission_open(struct gw_submission *submission, struct gw_client *client,
                       const struct gw_submission_options *options, struct gw_error *error)
{
    *submission = (struct gw_submission){.client = client,
                                         .name = options->name,
                                         .key = options->key,
                                         .account = options->account,
                                         .queue = options->queue,
                                         .flags = options->detached ? GW_SUBMIT_DETACHED : 0,
                                         .after = options->after};
    gw_rpc_open(&submission->call, client);
    if (gw_options_check_name(options->name, "job", error) < 0)
        return GW_EINVAL;
    if (options->key && !options->detached)
        return gw_error_set(error, GW_EINVAL,
                            "only a detached job can have a key, because other jobs end with their "
                            "client: set `detached` or leave the key out");
    /* Register the call now: the scheduler may refuse the job before the last chunk has left. */
    pthread_mutex_lock(&client->lock);
    int rc = gw_map_put(&client->calls, submission->call.request, (uintptr_t)&submission->call);
    pthread_mutex_unlock(&client->lock);
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    submission->life = client->life;
    if (options->no_futures)
        return 0;
    submission->group = gw_future_group_new(client, submission->call.request, options->target_rows,
                                            options->target_count);
    if (!submission->group)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    submission->group->detached = options->detached;
    if (!options->detached) {
        submission->record = gw_resubmit_log_new(client, submission->call.request);
        pthread_mutex_lock(&client->lock);
        submission->group->record = submission->record;
        if (submission->record)
            submission->record->group = submission->group;
        pthread_mutex_unlock(&client->lock);
    }
    return 0;
}

/* -- Sending and resending messages ------------------------------------------------------------ */

static bool is_recorded(const struct gw_submission *submission)
{
    return submission->record && !submission->record->cut;
}

/* The connection has ended: waits for the next connection, and sends the whole submission over it.
 */
static int again(struct gw_submission *submission, struct gw_error *error)
{
    struct gw_client *client = submission->client;
    struct gw_rpc *call = &submission->call;
    int rc;
    do {
        if (submission->record->said++ == GW_RESUBMIT_LOG_SAID_MAX)
            return gw_error_set(error, GW_ECLOSED,
                                "the job was submitted %d times, which is the most, and each time "
                                "the connection to the scheduler was lost",
                                GW_RESUBMIT_LOG_SAID_MAX);
        rc = gw_client_await(client, &submission->life, error);
        if (rc < 0)
            return rc;
        rc = gw_reconnect_revive(submission->record, error);
        if (rc < 0 && rc != GW_ECLOSED)
            return rc;
        if (rc == 0) {
            gw_waiter_init(&call->waiter, NULL);
            call->error.code = 0;
            rc = gw_rpc_expect(call, client);
        }
        if (rc == 0)
            rc = gw_resubmit_log_say(submission->record, submission->life);
    } while (rc == GW_ECLOSED);
    return rc < 0 ? gw_error_set(error, rc, "submit: %s", gw_error_text(rc)) : 0;
}

/* Sends a message and adds it to the resubmit log. The log refers to inputs by stable names, which
 * are replaced here by the present job numbers. `more`: another message follows at once. */
static int say(struct gw_submission *submission, const struct gw_message *message, bool more,
               struct gw_error *error)
{
    struct gw_client *client = submission->client;
    struct gw_message renamed = *message;
    uint64_t *room = NULL;
    int rc = 0;
    if (submission->record)
        gw_resubmit_log_add(submission->record, message, -1);
    if (submission->record && message->type == GW_MESSAGE_submit)
        rc = gw_reconnect_revive(submission->record, error);
    if (rc == 0 && message->type == GW_MESSAGE_submit)
        rc = gw_resubmit_log_rename(&renamed, &room);
    if (rc == GW_ENOENT)
        rc = gw_error_set(error, rc,
                          "an input is a result that is not stored any more: its future was "
                          "released, or its scheduler has ended");
    else if (rc == 0)
        rc = gw_io_put_in(client->io, (struct gw_io_manner){.life = submission->life, .more = more},
                          &renamed, -1);
    free(room);
    if (rc == GW_ECLOSED && is_recorded(submission))
        return again(submission, error);
    return rc == GW_ECLOSED ? gw_client_down_error(client, error) : rc;
}

/* -- Preparing -----------------------------------------------------------------------------------
 */

/* Checks that this program has the function. Workers run functions by starting a copy of this
 * program. */
static int check_function(const struct gw_function *function, struct gw_error *error)
{
    if (gw_function_find(function->name))
        return 0;
    return gw_error_set(error, GW_ENOENT,
                        "this program has no task \"%s\": GW_TASK(%s) must be in it, at file scope",
                        function->name, function->name);
}

int gw_submission_prepare(struct gw_client *client, const struct gw_graph_spec *specs,
                          uint32_t count, struct gw_error *error)
{
    uint64_t slots = 0;
    bool program = false;
    int rc = 0;
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        const struct gw_task_options *options = &specs[i].options;
        uint64_t wanted = (uint64_t)(options->ranks ? options->ranks : 1) *
                          (options->slots && options->slots != GW_NONE ? options->slots : 1);
        if (wanted > slots)
            slots = wanted > UINT32_MAX ? UINT32_MAX : wanted;
        if (specs[i].kind != GW_SPEC_FUNCTION)
            continue;
        program = true;
        rc = check_function(specs[i].function, error);
    }
    if (rc == 0 && !client->inlined)
        rc = gw_session_start(client, (uint32_t)slots, error);
    while (rc == 0 && program && !client->inlined) {
        rc = gw_session_ship(client, error);
        if (rc != GW_ECLOSED || !client->home)
            break;
        rc = gw_client_await(client, NULL, error);
    }
    return rc;
}

/* -- Specs ---------------------------------------------------------------------------------------
 */

/* Returns true if the client's tasks inherit a variable of this process. An address in the
 * environment is not that of a private cluster; workers tell its tasks the right one. */
static bool is_inherited(const struct gw_client *client, const char *entry)
{
    const bool other = client->cluster && strncmp(entry, "GANGWAY_ADDRESS=", 16) == 0;
    return !other && gw_inherited_env_has(entry);
}

/* Encodes a NULL-terminated list of strings. If `own` is not NULL, `strings` is the environment of
 * this process, and only the variables that tasks of this client inherit are encoded. */
static int encode_strings(const char *const *strings, const struct gw_client *own,
                          struct gw_buffer *buffer)
{
    size_t all = 0, count = 0;
    while (strings && strings[all])
        all++;
    const char **retained = malloc((all + 1) * sizeof *retained);
    if (!retained)
        return GW_ENOMEM;
    for (size_t i = 0; i < all; i++)
        if (!own || is_inherited(own, strings[i]))
            retained[count++] = strings[i];
    int rc = gw_codec_encode_texts(retained, count, buffer);
    free(retained);
    return rc;
}

/* Makes the task's working folder absolute. A relative folder is relative to the client's working
 * folder, not the worker's. */
static int working_folder(const char *wanted, char path[PATH_MAX], struct gw_error *error)
{
    wanted = wanted ? wanted : "";
    size_t length = 0;
    if (wanted[0] != '/') {
        if (!getcwd(path, PATH_MAX))
            return gw_error_set(error, errno == ENOENT ? GW_ENOENT : GW_EIO,
                                "the working directory: %s", strerror(errno));
        length = strlen(path);
        if (wanted[0])
            path[length++] = '/';
    }
    if (strlen(wanted) >= PATH_MAX - length)
        return gw_error_set(
            error, GW_EINVAL,
            "the working directory %.64s... has a path of more than %d bytes: use a shorter one",
            wanted, PATH_MAX - 1);
    strcpy(path + length, wanted);
    return 0;
}

static int ship(struct gw_client *client, const struct gw_graph_spec *spec,
                uint8_t hash[GW_HASH_BYTES], struct gw_error *error)
{
    if (spec->cwd)
        return gw_error_set(error, GW_EINVAL,
                            "a task with files runs in its own folder, not in %s: leave out the "
                            "files or the folder",
                            spec->cwd);
    return gw_file_upload_send(client, spec->options.files, hash, error);
}

#define HANG_TIMEOUT_NS (600 * GW_NS_PER_S)
#define FULL_SIZE_TIMEOUT_NS (30 * GW_NS_PER_S)

static const char *text(const char *given)
{
    return given ? given : "";
}

/* Returns the job inside of whose command this process runs, or 0. */
static uint64_t inside_of(void)
{
    const char *job = getenv("GANGWAY_JOB");
    return job ? strtoull(job, NULL, 10) : 0;
}

/* Sets the fields of a spec that are copied from the options or have a simple default. */
static void set_options(struct gw_msg_spec *spec, const struct gw_task_options *options)
{
    spec->resources = text(options->resources);
    spec->workers = text(options->workers);
    spec->annotations = text(options->annotations);
    spec->metrics = text(options->metrics);
    spec->until_step = options->until_step;
    spec->priority = options->priority;
    spec->pure = options->pure;
    spec->retries = options->retries;
    spec->backoff_ns = options->backoff_ns;
    spec->worker_losses_max = options->worker_losses_max;
    spec->preemptions_max = options->preemptions_max;
    spec->ranks_per_node = options->gang.ranks_per_node;
    spec->spread = options->gang.spread;
    spec->signal = options->signal;
    spec->unbound = options->gpu.unbound;
    spec->parent = inside_of();
    spec->min_ranks = options->gang.min_ranks;
    if (options->gang.min_ranks)
        spec->full_size_timeout_ns = options->gang.full_size_timeout_ns
                                         ? options->gang.full_size_timeout_ns
                                         : FULL_SIZE_TIMEOUT_NS;
    if (options->ranks && options->gang.hang_timeout_ns != UINT64_MAX)
        spec->hang_timeout_ns =
            options->gang.hang_timeout_ns ? options->gang.hang_timeout_ns : HANG_TIMEOUT_NS;
}

/* Sets what the first spec says about the whole job. */
static void set_job(struct gw_msg_spec *spec, const struct gw_submission *submission)
{
    const bool first = spec->number == 0;
    spec->job_key = first ? text(submission->key) : "";
    spec->account = first ? text(submission->account) : "";
    spec->queue = first ? text(submission->queue) : "";
}

/* Returns the streams that the client serves: printed output, held output, or standard input. A
 * detached job has none, because its client may end before the job. */
static uint32_t streams_of(const struct gw_submission *submission, const struct gw_graph_spec *spec)
{
    if (submission->flags & GW_SUBMIT_DETACHED)
        return 0;
    if (spec->kind == GW_SPEC_FUNCTION)
        return gw_printer_wanted(submission->client) ? GW_STREAM_SHOWN : 0;
    return (spec->held_output ? GW_STREAM_HELD : 0) | (spec->input ? GW_STREAM_INPUT : 0);
}

static int say_spec(struct gw_submission *submission, const struct gw_message *message,
                    struct gw_error *error)
{
    int rc = say(submission, message, true, error); /* the rows of this spec follow at once */
    if (rc == GW_ELIMIT)
        gw_error_set(error, rc,
                     "the arguments and environment of the command exceed 1 MiB in total: put the "
                     "data into a file (--ship)");
    else if (rc == GW_ENOMEM)
        gw_error_set(error, rc, "out of memory");
    return rc;
}

static uint32_t gpus_of(const struct gw_task_options *options)
{
    bool one = options->gpu.count < 0 || options->gpu.fraction > 0;
    return one ? 1 : (uint32_t)options->gpu.count;
}

int gw_submission_spec(struct gw_submission *submission, uint32_t number,
                       const struct gw_graph_spec *spec, struct gw_error *error)
{
    const struct gw_task_options *options = &spec->options;
    const struct gw_program *program = submission->client->program;
    bool function = spec->kind == GW_SPEC_FUNCTION, any_gpu = options->gpu.count < 0;
    const char *const *env = spec->env ? spec->env : (const char *const *)environ;
    const struct gw_buffer *own =
        &submission->client->env; /* if this client runs inside a task: that task's environment */
    struct gw_buffer argv_bytes = {0}, env_bytes = {0}, epilog_bytes = {0};
    char cwd[PATH_MAX];
    uint8_t files[GW_HASH_BYTES];
    bool ships = options->files && options->files[0];

    int rc = working_folder(spec->cwd, cwd, error);
    if (rc == 0 && ships)
        rc = ship(submission->client, spec, files, error);
    if (rc < 0)
        return rc;
    rc = encode_strings(spec->argv, NULL, &argv_bytes);
    if (rc == 0 && spec->epilog)
        rc = encode_strings(spec->epilog, NULL, &epilog_bytes);
    if (rc == 0)
        rc = spec->env || own->size == 0
                 ? encode_strings(env, spec->env ? NULL : submission->client, &env_bytes)
                 : gw_buffer_append(&env_bytes, own->data, own->size);
    if (rc == 0) {
        struct gw_message message = {
            .type = GW_MESSAGE_spec,
            .spec = {.key = submission->call.request,
                     .number = number,
                     .kind = spec->kind,
                     .function = function ? spec->function->name : "",
                     .argv = {argv_bytes.data, (uint32_t)argv_bytes.size},
                     .env = {env_bytes.data, (uint32_t)env_bytes.size},
                     .cwd = cwd,
                     .ranks = options->ranks,
                     .slots = options->slots ? options->slots : 1,
                     .gpus = gpus_of(options),
                     .gpu_mode = any_gpu ? GW_GPU_MODE_IF_ANY : GW_GPU_MODE_EXACT,
                     .memory_bytes = options->memory_bytes,
                     .time_limit_ns = options->time_limit_ns,
                     .grace_ns = options->grace_ns ? options->grace_ns : 10 * GW_NS_PER_S,
                     .fail_grace_ns = options->gang.fail_grace_ns ? options->gang.fail_grace_ns
                                                                  : 200 * GW_NS_PER_MS,
                     .output_bytes_max = options->output_bytes_max ? options->output_bytes_max
                                                                   : OUTPUT_BYTES_DEFAULT,
                     .gpu_memory_bytes = options->gpu.memory_bytes,
                     .inactivity_timeout_ns = options->inactivity_timeout_ns,
                     .workers_prefer = options->workers_prefer,
                     .actor = spec->actor,
                     .actor_name = text(spec->actor_name),
                     .gpu_fraction = (uint32_t)(options->gpu.fraction * 1000 + 0.5),
                     .gpu_isolate = options->gpu.isolate,
                     .env_templates = spec->env_templates,
                     .streams = streams_of(submission, spec),
                     .epilog = {epilog_bytes.data, (uint32_t)epilog_bytes.size}},
        };
        set_options(&message.spec, options);
        set_job(&message.spec, submission);
        if (ships)
            message.spec.files = (struct gw_bin){files, GW_HASH_BYTES};
        if (function)
            message.spec.program = (struct gw_bin){program->hash, GW_HASH_BYTES};
        rc = say_spec(submission, &message, error);
    } else {
        gw_error_set(error, rc, "%s", gw_error_text(rc));
    }
    gw_buffer_deinit(&argv_bytes);
    gw_buffer_deinit(&env_bytes);
    gw_buffer_deinit(&epilog_bytes);
    return rc;
}

int gw_submission_after(struct gw_submission *submission, struct gw_error *error)
{
    const struct gw_submission_after *after = &submission->after;
    if (after->count == 0)
        return 0;
    uint32_t *any = malloc(after->count * sizeof *any);
    if (!any)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < after->count; i++)
        any[i] = after->any;
    struct gw_message message = {
        .type = GW_MESSAGE_after,
        .after = {.request = submission->call.request,
                  .flags = submission->flags,
                  .job = {after->jobs, (uint32_t)after->count},
                  .any = {any, (uint32_t)after->count}},
    };
    int rc = say(submission, &message, false, error);
    free(any);
    return rc;
}

/* -- Rows ----------------------------------------------------------------------------------------
 */

int gw_submission_refused(struct gw_submission *submission, struct gw_error *error)
{
    pthread_mutex_lock(&submission->client->lock);
    struct gw_error found = submission->call.error;
    pthread_mutex_unlock(&submission->client->lock);
    if (found.code == GW_ECLOSED)
        return is_recorded(submission) ? again(submission, error)
                                       : gw_client_down_error(submission->client, error);
    return found.code < 0 ? gw_error_set(error, found.code, "%s", found.text) : 0;
}

/* Sends the rows that have gathered in the chunk. `flags` is 0, GW_SUBMIT_PART, or GW_SUBMIT_LAST
 * with or without GW_SUBMIT_QUIET. */
static int flush(struct gw_submission *submission, uint32_t flags, struct gw_error *error)
{
    struct gw_message message = {
        .type = GW_MESSAGE_submit,
        .submit = {.request = submission->call.request,
                   .flags = submission->flags | flags,
                   .name = submission->name},
    };
    gw_chunk_columns(&submission->chunk, &message.submit);
    (void)gw_io_room(
        submission->client->io); /* ignore the result: say() below finds a broken connection */
    int rc = flags & GW_SUBMIT_LAST ? gw_rpc_expect(&submission->call, submission->client) : 0;
    if (rc == 0 || rc == GW_ECLOSED)
        rc = say(submission, &message, false, error);
    submission->sent = true;
    gw_chunk_clear(&submission->chunk);
    if (rc == GW_ENOMEM || rc == GW_ELIMIT)
        return gw_error_set(error, rc, "submit: %s", gw_error_text(rc));
    return rc;
}

static int add(struct gw_submission *submission, const struct gw_chunk_row *row,
               struct gw_error *error)
{
    size_t bytes = gw_chunk_row_bytes(row);
    if (bytes > GW_FRAME_BULK_BYTES_MAX - FRAME_MARGIN_BYTES)
        return gw_error_set(
            error, GW_ELIMIT,
            "task %u%s%s has %u inputs and %zu bytes of arguments that are sent with it, which do "
            "not fit into a message (16 MiB): pass large values by gw_scatter",
            row->row, row->name ? " " : "", row->name ? row->name : "", row->dep_count,
            row->args_bytes);
    if (submission->chunk.spec.count > 0 &&
        gw_chunk_bytes(&submission->chunk) + bytes > GW_CHUNK_BYTES) {
        int rc = gw_submission_refused(submission, error);
        if (rc == 0)
            rc = flush(submission, 0, error);
        if (rc < 0)
            return rc;
    }
    int rc = gw_chunk_add(&submission->chunk, row);
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

int gw_submission_row(struct gw_submission *submission, const struct gw_chunk_row *row,
                      struct gw_error *error)
{
    if (row->args_bytes <= GW_LARGE_ARGS_BYTES ||
        row->whole) /* commands get their arguments directly, so a reference to a scattered value
                       would not be resolved */
        return add(submission, row, error);

    struct gw_large_args spill;
    int rc = gw_large_args_init(&spill, submission->client, row, error);
    for (size_t i = 0; i < spill.jobs.count && rc == 0; i++)
        if ((rc = gw_array_push(&submission->scattered, spill.jobs.items[i])) < 0)
            gw_error_set(error, rc, "out of memory");
    if (rc == 0)
        rc = add(submission, &spill.row, error);
    gw_large_args_deinit(&spill);
    return rc;
}

/* -- Finishing ----------------------------------------------------------------------------------
 */

int gw_submission_flush(struct gw_submission *submission, struct gw_error *error)
{
    return flush(submission, 0, error);
}

int gw_submission_part(struct gw_submission *submission, struct gw_error *error)
{
    return flush(submission, GW_SUBMIT_PART, error);
}

int gw_submission_send_last(struct gw_submission *submission, struct gw_message *message,
                            struct gw_error *error)
{
    int rc = gw_rpc_send(&submission->call, submission->client, message, -1);
    if (rc == GW_ECLOSED)
        return gw_client_down_error(submission->client, error);
    if (rc < 0)
        return gw_error_set(error, rc, "submit: %s", gw_error_text(rc));
    return gw_rpc_wait(&submission->call, submission->client, UINT64_MAX, error);
}

/* Stores the job's number. Returns false if the scheduler that gave the number has disappeared
 * again, so that the number is useless. */
static bool note_job(struct gw_submission *submission)
{
    struct gw_client *client = submission->client;
    pthread_mutex_lock(&client->lock);
    bool there = !is_recorded(submission) || (!client->lost && client->life == submission->life);
    if (there && submission->record)
        gw_resubmit_log_accept(submission->record, submission->call.number);
    if (there && submission->group)
        submission->group->job = submission->call.number;
    pthread_mutex_unlock(&client->lock);
    return there;
}

/* Whether the scheduler's answer to this plain call need not be awaited. The reasons to refuse a
 * plain call depend on the client and the cluster, not on the call. So after one plain call was
 * accepted on a connection, the next ones are expected to be accepted too. `accepted` is true if
 * this submission was accepted. */
static bool is_answer_known(struct gw_submission *submission, bool accepted)
{
    struct gw_client *client = submission->client;
    pthread_mutex_lock(&client->lock);
    if (accepted && submission->plain)
        client->plain_life = client->life + 1;
    bool known = submission->plain && client->plain_life == client->life + 1;
    pthread_mutex_unlock(&client->lock);
    return known;
}

/* The cluster already knows a job with this key. The scheduler sends no results of that job to this
 * client, so the futures fail. */
static void fail_known(struct gw_submission *submission)
{
    struct gw_error why;
    (void)gw_error_set(&why, GW_EEXIST,
                       "job %llu was submitted before with this key: gw_job_wait waits for it",
                       (unsigned long long)submission->call.number);
    pthread_mutex_lock(&submission->client->lock);
    if (submission->group)
        gw_future_group_fail_pending(submission->group, &why);
    pthread_mutex_unlock(&submission->client->lock);
}

/* Sends the last chunk without waiting for the answer. *left is true if the chunk left over the
 * connection with which the submission began. If it is false, the caller waits for the answer. */
static int leave(struct gw_submission *submission, bool *left, struct gw_error *error)
{
    struct gw_client *client = submission->client;
    const uint32_t life = submission->life;
    pthread_mutex_lock(&client->lock);
    gw_future_group_expect(submission->group, true);
    pthread_mutex_unlock(&client->lock);
    int rc = flush(submission, GW_SUBMIT_LAST | GW_SUBMIT_QUIET, error);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&client->lock);
    *left = submission->life == life && client->life == life && !client->down.code;
    if (*left && submission->record)
        submission->record->left =
            true; /* from now on the reconnect thread submits this job again */
    pthread_mutex_unlock(&client->lock);
    return 0;
}

static int wait_for_answer(struct gw_submission *submission, struct gw_error *error)
{
    int rc = 0;
    while (rc == 0) {
        rc = gw_rpc_wait(&submission->call, submission->client, UINT64_MAX, error);
        if (rc == 0 ? note_job(submission) : rc != GW_ECLOSED || !is_recorded(submission))
            break;
        rc = again(submission, error);
    }
    if (rc == 0)
        (void)is_answer_known(submission, true);
    if (rc == 0 && submission->call.known)
        fail_known(submission);
    return rc;
}

int gw_submission_send(struct gw_submission *submission, struct gw_error *error)
{
    int rc = is_answer_known(submission, false) ? leave(submission, &submission->left, error)
                                                : flush(submission, GW_SUBMIT_LAST, error);
    if (rc < 0)
        submission->sent = false; /* the scheduler has forgotten the job */
    return rc;
}

int gw_submission_wait(struct gw_submission *submission, struct gw_error *error)
{
    int rc = submission->left ? 0 : wait_for_answer(submission, error);
    submission->sent = false; /* the job was accepted, or the scheduler has forgotten it */
    if (rc < 0)
        return rc;
    struct gw_future_group *group = submission->group;
    if (!group)
        return 0;
    pthread_mutex_lock(&submission->client->lock);
    group->scattered = submission->scattered.items;
    group->scattered_count = (uint32_t)submission->scattered.count;
    pthread_mutex_unlock(&submission->client->lock);
    submission->scattered.items = NULL;
    submission->scattered.count = submission->scattered.capacity = 0;
    submission->group = NULL;
    return 0;
}

int gw_submission_finish(struct gw_submission *submission, struct gw_error *error)
{
    int rc = gw_submission_send(submission, error);
    return rc < 0 ? rc : gw_submission_wait(submission, error);
}

/* Ends a job of which some chunks have left. The scheduler cancels only whole jobs, so the last
 * chunk is sent first, and the job is cancelled after its answer. */
static void take_back(struct gw_submission *submission)
{
    gw_chunk_clear(&submission->chunk);
    submission->record = NULL;
    if (flush(submission, GW_SUBMIT_LAST, NULL) < 0 ||
        gw_rpc_wait(&submission->call, submission->client, UINT64_MAX, NULL) < 0)
        return;
    gw_io_put(submission->client->io,
              &(struct gw_message){
                  .type = GW_MESSAGE_cancel,
                  .cancel = {.job = submission->call.number, .index = GW_INDEX_ALL, .hard = 1}},
              -1);
}

void gw_submission_close(struct gw_submission *submission)
{
    if (submission->sent)
        take_back(submission);
    /* Releases the scattered arguments that no group has taken over. A stream's tasks keep
     * references of their own to their arguments. */
    pthread_mutex_lock(&submission->client->lock);
    for (size_t i = 0; i < submission->scattered.count; i++)
        gw_resubmit_log_let_go(submission->client, submission->scattered.items[i]);
    pthread_mutex_unlock(&submission->client->lock);
    if (submission->group)
        gw_future_group_drop(submission->group);
    gw_array_deinit(&submission->scattered);
    gw_chunk_deinit(&submission->chunk);
    gw_rpc_close(&submission->call, submission->client);
}
