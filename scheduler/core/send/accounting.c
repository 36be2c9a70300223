/* Effects for the accounting. */
#include "scheduler/core/send/accounting.h"

#include "graph/wire/codec.h"
#include "scheduler/core/model/account.h"
#include "scheduler/core/model/accounting_row.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"

#include <gangway/options.h>
#include <string.h>

static const char *state_of(const struct gw_job *job)
{
    return job->failed > 0 ? "failed" : job->cancelled_tasks > 0 ? "cancelled" : "done";
}

/* The request of the specs of the job. */
static void add_specs(const struct gw_job *job, struct gw_accounting_row *row)
{
    for (size_t i = 0; i < job->specs.count; i++) {
        const struct gw_spec *spec = &job->specs.items[i];
        const struct gw_msg_spec *asked = &spec->message;
        const uint64_t gpus =
            asked->gpu_fraction ? asked->gpu_fraction : asked->gpus * UINT64_C(1000);
        row->ranks = asked->ranks > row->ranks ? asked->ranks : row->ranks;
        const uint32_t slots = asked->slots == GW_NONE ? 0 : asked->slots;
        row->slots = slots > row->slots ? slots : row->slots;
        row->gpu_thousandths = gpus > row->gpu_thousandths ? gpus : row->gpu_thousandths;
        row->memory_bytes =
            asked->memory_bytes > row->memory_bytes ? asked->memory_bytes : row->memory_bytes;
    }
}

static bool has_row(const struct gw_job *job)
{
    return !job->calls_of && !gw_sched_job_is_value(job);
}

/* Adds an effect with the row of a job. */
static void add_row(struct gw_sched *sched, const struct gw_job *job,
                    const struct gw_job_usage *usage)
{
    char user[GW_USER_NAME_MAX];
    const bool ended = job->state == GW_JOB_ENDED;
    const struct gw_account *account = job->payer ? job->payer->account : NULL;
    /* At the start of a scheduler, no policy is set yet. The job knows the names of its own. */
    const struct gw_msg_spec *spec = job->specs.count ? &job->specs.items[0].message : NULL;
    const char *name = account && account->config ? account->config->name : "";
    const char *queue = job->submit_queue ? job->submit_queue->config->name : "";
    if (!sched->accounts && spec) {
        name = spec->account ? spec->account : "";
        queue = spec->queue ? spec->queue : "";
    }
    struct gw_accounting_row *row = gw_arena_alloc(&sched->step.effects->arena, sizeof *row);
    GW_MUST_PTR(row);
    *row = (struct gw_accounting_row){
        .job = job->id,
        .parent = job->parent,
        .user = gw_sched_send_text(sched, gw_user_name(sched, job->uid, user)),
        .account = gw_sched_send_text(sched, name),
        .queue = gw_sched_send_text(sched, queue),
        .name = gw_sched_send_text(sched, job->name ? job->name : ""),
        .state = ended ? state_of(job) : "running",
        .runs = !ended,
        .tasks = gw_sched_rows_in_all(job),
        .done = job->done,
        .failed = job->failed,
        .cancelled = job->cancelled_tasks,
        .submitted_ns = job->submitted_wall_ns,
        .started_ns = usage->started_wall_ns,
        .ended_ns = ended ? job->ended_wall_ns : sched->wall_ns,
        .slot_ns = usage->slot_ns,
        .gpu_ns = usage->gpu_ns,
        .memory_mib_ms = usage->memory_mib_ms,
        .cpu_ns = usage->cpu_ns,
        .peak_bytes = usage->peak_bytes,
    };
    if (job->tasks.count == 1 && gw_sched_row_live(job, 0))
        row->attempts = job->tasks.charges[0].tries;
    if (job->first_failure) {
        row->code = job->first_failure->code;
        row->exit_code = gw_sched_task_failure_exit_code(job->first_failure);
    }
    add_specs(job, row);
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_ACCOUNT);
    effect->number = job->id;
    effect->bytes = (struct gw_bin){row, sizeof *row};
}

void gw_sched_accounting_ended(struct gw_sched *sched, const struct gw_job *job)
{
    if (sched->options.accounting && has_row(job))
        add_row(sched, job, &job->usage);
}

/* Adds the rows of the jobs that have begun and not ended, with what their attempts have used so
 * far; of a user, or of all. */
static void add_running(struct gw_sched *sched, const struct gw_remote *remote)
{
    struct gw_map used = {0}; /* job id -> index of its usage */
    GW_ARRAY(struct gw_job_usage) usages = {0};
    uint64_t at;
    for (size_t i = 0; i < sched->attempts.count; i++) {
        const struct gw_attempt *attempt = &sched->attempts.items[i];
        if (attempt->state == GW_ATTEMPT_FREE || !has_row(attempt->job))
            continue;
        if (!gw_map_get(&used, attempt->job->id, &at)) {
            at = usages.count;
            GW_MUST(gw_array_push(&usages, attempt->job->usage));
            GW_MUST(gw_map_put(&used, attempt->job->id, at));
        }
        gw_job_usage_add(sched, attempt, &usages.items[at]);
    }
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        if (job->state == GW_JOB_RUNNING && job->usage.started_wall_ns && has_row(job) &&
            (remote->admin || remote->uid == job->uid))
            add_row(sched, job, gw_map_get(&used, job->id, &at) ? &usages.items[at] : &job->usage);
    gw_map_deinit(&used);
    gw_array_deinit(&usages);
}

void gw_sched_accounting_begin(struct gw_sched *sched)
{
    for (const struct gw_job *job = sched->first_job; job; job = job->next)
        if (job->state == GW_JOB_ENDED)
            gw_sched_accounting_ended(sched, job);
}

/* Adds to the arguments of a client what the accounting must know: which query it is, and the only
 * user whose rows the client may see. */
static int complete(struct gw_sched *sched, const struct gw_remote *remote,
                    const struct gw_msg_query *query, struct gw_buffer *bytes,
                    struct gw_error *error)
{
    char user[GW_USER_NAME_MAX];
    struct gw_value *arguments = NULL;
    int rc = query->arguments.size == 0
                 ? 0
                 : gw_codec_decode(query->arguments.data, query->arguments.size, NULL, &arguments,
                                   error);
    if (rc < 0)
        return rc;
    if (!arguments)
        GW_MUST_PTR(arguments = gw_dict());
    if (gw_value_type(arguments) != GW_DICT)
        rc = gw_error_set(error, GW_EPROTO, "the arguments of a query are no dict");
    if (rc == 0)
        rc = gw_dict_set(arguments, "jobs", gw_bool(strcmp(query->what, "ended_jobs") == 0));
    const char *own = gw_user_name(sched, remote->uid, user), *wanted = own;
    if (rc == 0 && gw_value_find(arguments, "user"))
        (void)gw_value_get_str(gw_value_find(arguments, "user"), &wanted, NULL);
    if (rc == 0 && !remote->admin && strcmp(wanted, own) != 0)
        rc = gw_error_set(error, GW_EPERM,
                          "only user %.80s or an admin may see what this user has used", wanted);
    if (rc == 0 && !remote->admin)
        rc = gw_dict_set(arguments, "user", gw_str(own));
    if (rc == 0)
        rc = gw_codec_encode(arguments, NULL, bytes);
    gw_value_unref(arguments);
    return rc;
}

bool gw_sched_accounting_ask(struct gw_sched *sched, struct gw_remote *remote,
                             const struct gw_msg_query *query)
{
    struct gw_buffer bytes = {0};
    struct gw_error error = {0};
    if (strcmp(query->what, "ended_jobs") != 0 && strcmp(query->what, "usage") != 0)
        return false;
    int rc = sched->options.accounting
                 ? complete(sched, remote, query, &bytes, &error)
                 : gw_error_set(&error, GW_ENOTSUP,
                                "this cluster keeps no accounts: it has no state folder, or was "
                                "started with --accounting none");
    if (rc < 0) {
        gw_sched_send_reply(sched, remote, query->request, &error);
    } else {
        if (strcmp(query->what, "usage") == 0)
            add_running(sched, remote);
        struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_ASK_ACCOUNTING);
        effect->peer = remote->peer;
        effect->number = query->request;
        effect->bytes = gw_sched_send_bin(sched, (struct gw_bin){bytes.data, (uint32_t)bytes.size});
    }
    gw_buffer_deinit(&bytes);
    return true;
}
