/* Decides what account and what queue a job is submitted to, and applies the limits of both. */
#include "scheduler/core/requests/admission.h"

#include "scheduler/core/model/model.h"

#include <gangway/options.h>

#include <limits.h>
#include <string.h>

/* The account and the queue of a job that is being submitted. */
struct admission {
    struct gw_account *account;
    struct gw_submit_queue *queue; /* NULL: none */
};

static bool is_set(const char *text)
{
    return text && *text;
}

static int find_account(const struct gw_sched *sched, const struct gw_session *session,
                        const char *wanted, struct gw_account **account, struct gw_error *error)
{
    const struct gw_accounts *accounts = sched->accounts;
    char text[GW_USER_NAME_MAX];
    const char *user = gw_account_user(sched, session->remote->uid, text);
    struct gw_account *own = gw_account_of_user(accounts, user);
    if (session->attempt != GW_NO_INDEX && sched->attempts.items[session->attempt].job->payer)
        own = sched->attempts.items[session->attempt].job->payer->account;
    *account = is_set(wanted) ? gw_account_find(accounts, wanted) : own;
    if (is_set(wanted) && !*account)
        return gw_error_set(error, GW_ENOENT,
                            "there is no account %.80s: `gangway account list` lists the accounts",
                            wanted);
    if (!*account)
        return gw_error_set(error, GW_EPERM,
                            "user %s is in no account: an admin can add the user to an account",
                            user);
    if (!session->remote->admin && !(own && gw_account_is_below(*account, own)))
        return gw_error_set(
            error, GW_EPERM,
            "user %s may not use account %s: leave out the account, or ask an admin "
            "to add the user to it",
            user, wanted);
    return 0;
}

static bool may_use(const struct gw_accounts *accounts, const struct gw_queue_config *queue,
                    const struct gw_account *account)
{
    for (uint32_t i = 0; i < queue->account_count; i++)
        if (gw_account_is_below(account, gw_account_find(accounts, queue->accounts[i])))
            return true;
    return queue->account_count == 0;
}

static int find_queue(const struct gw_sched *sched, const char *wanted, struct admission *admission,
                      struct gw_error *error)
{
    const struct gw_accounts *accounts = sched->accounts;
    const char *name = is_set(wanted) ? wanted : accounts->policy.default_queue;
    if (!is_set(name))
        return 0;
    admission->queue = gw_account_queue(accounts, name);
    if (!admission->queue)
        return gw_error_set(error, GW_ENOENT,
                            "there is no queue %.80s: `gangway queue list` lists the queues", name);
    if (!may_use(accounts, admission->queue->config, admission->account))
        return gw_error_set(error, GW_EPERM,
                            "account %s may not use queue %s: `gangway queue list` says who may",
                            admission->account->holder.name, name);
    return 0;
}

/* The holders that limit the job: its queue, its account and the accounts above that. */
static const struct gw_account_holder *first_holder(const struct admission *admission)
{
    return admission->queue ? &admission->queue->holder : &admission->account->holder;
}

static const struct gw_account_holder *next_holder(const struct admission *admission,
                                                   const struct gw_account_holder *holder)
{
    if (admission->queue && holder == &admission->queue->holder)
        return &admission->account->holder;
    return holder->above;
}

static const char *kind_of(const struct admission *admission,
                           const struct gw_account_holder *holder)
{
    return admission->queue && holder == &admission->queue->holder ? "queue" : "account";
}

static int check_time(const struct admission *admission, struct gw_msg_spec *spec,
                      struct gw_error *error)
{
    const bool given = spec->time_limit_ns > 0;
    if (!given && admission->queue)
        spec->time_limit_ns = (uint64_t)admission->queue->config->default_time_limit_ns;
    for (const struct gw_account_holder *of = first_holder(admission); of;
         of = next_holder(admission, of)) {
        const uint64_t most_ns = of->limits ? (uint64_t)of->limits->time_limit_ns : 0;
        char asked[GW_TEXT_DURATION_ROOM], most[GW_TEXT_DURATION_ROOM];
        if (!most_ns || (spec->time_limit_ns && spec->time_limit_ns <= most_ns))
            continue;
        if (given)
            return gw_error_set(error, GW_EINVAL,
                                "the time limit %s is above the limit of %s %s, %s: ask for less "
                                "time (--time-limit)",
                                gw_text_duration(spec->time_limit_ns, asked),
                                kind_of(admission, of), of->name, gw_text_duration(most_ns, most));
        spec->time_limit_ns = most_ns;
    }
    return 0;
}

/* A task that alone needs more than a quota that cannot be exceeded would wait forever. */
static int check_size(const struct admission *admission, const struct gw_msg_spec *spec,
                      struct gw_error *error)
{
    const uint64_t ranks = spec->ranks ? spec->ranks : 1;
    const uint64_t slots = ranks * (spec->slots == GW_NONE ? 0 : spec->slots ? spec->slots : 1);
    const uint64_t thousandths =
        ranks * (spec->gpu_fraction
                     ? spec->gpu_fraction
                     : (spec->gpu_mode == GW_GPU_MODE_IF_ANY ? 0 : spec->gpus) * UINT64_C(1000));
    for (const struct gw_account_holder *of = first_holder(admission); of;
         of = next_holder(admission, of)) {
        if (!of->limits || !of->strict)
            continue;
        const uint64_t slots_max = (uint64_t)of->limits->slots,
                       gpus_max = (uint64_t)of->limits->gpus;
        if (slots_max && slots > slots_max)
            return gw_error_set(
                error, GW_EINFEASIBLE,
                "it needs %llu slots, and %s %s may use at most %llu at a time: use "
                "fewer slots or another %s",
                (unsigned long long)slots, kind_of(admission, of), of->name,
                (unsigned long long)slots_max, kind_of(admission, of));
        if (gpus_max && thousandths > gpus_max * 1000)
            return gw_error_set(error, GW_EINFEASIBLE,
                                "it needs %llu GPUs, and %s %s may use at most %llu at a time: use "
                                "fewer GPUs or another %s",
                                (unsigned long long)(thousandths + 999) / 1000,
                                kind_of(admission, of), of->name, (unsigned long long)gpus_max,
                                kind_of(admission, of));
    }
    return 0;
}

static uint64_t stored_bytes(const struct gw_sched *sched, const struct gw_account_holder *holder)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < sched->objects.count; i++) {
        const struct gw_job *job = sched->objects.items[i].job;
        if (job && gw_account_holds(job, holder))
            bytes += sched->objects.items[i].bytes;
    }
    return bytes;
}

static int check_stored(const struct gw_sched *sched, const struct admission *admission,
                        struct gw_error *error)
{
    for (const struct gw_account_holder *of = first_holder(admission); of;
         of = next_holder(admission, of)) {
        const uint64_t bytes_max = of->limits ? (uint64_t)of->limits->stored_bytes : 0;
        const uint64_t bytes = bytes_max ? stored_bytes(sched, of) : 0;
        char has[GW_TEXT_BYTES_ROOM], most[GW_TEXT_BYTES_ROOM];
        if (bytes_max && bytes >= bytes_max)
            return gw_error_set(error, GW_ELIMIT,
                                "the results of %s %s take %s, and its limit is %s: release "
                                "results (`gangway rm JOB`, `gangway data rm NAME`)",
                                kind_of(admission, of), of->name, gw_text_bytes(bytes, has),
                                gw_text_bytes(bytes_max, most));
    }
    return 0;
}

static int check_jobs(const struct admission *admission, struct gw_error *error)
{
    for (const struct gw_account_holder *of = first_holder(admission); of;
         of = next_holder(admission, of)) {
        const uint64_t jobs_max = of->limits ? (uint64_t)of->limits->queued_jobs : 0;
        if (jobs_max && of->use.queued_jobs >= jobs_max)
            return gw_error_set(error, GW_ELIMIT,
                                "%s %s has %u jobs that have not ended, and its limit is %llu: "
                                "submit again when one has ended",
                                kind_of(admission, of), of->name, of->use.queued_jobs,
                                (unsigned long long)jobs_max);
    }
    return 0;
}

/* Returns true if a name of a list "a,b:2" is in another list "a,b". */
static bool is_among(const char *name, size_t bytes, const char *list)
{
    for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",:") == bytes && memcmp(at, name, bytes) == 0)
            return true;
    return false;
}

/* A queue with workers restricts its tasks to these. */
static int restrict_workers(const struct gw_submit_queue *queue, struct gw_msg_spec *spec,
                            struct gw_error *error)
{
    if (!queue || !is_set(queue->config->workers))
        return 0;
    if (!is_set(spec->workers)) {
        spec->workers = queue->config->workers;
        return 0;
    }
    if (spec->workers_prefer)
        return gw_error_set(error, GW_EINVAL,
                            "queue %s runs its tasks on %.200s: name some of these (--on) instead "
                            "of preferring workers",
                            queue->holder.name, queue->config->workers);
    for (const char *at = spec->workers; *at; at += strcspn(at, ","), at += *at == ',')
        if (!is_among(at, strcspn(at, ",:"), queue->config->workers))
            return gw_error_set(error, GW_EINVAL,
                                "queue %s runs its tasks on %.200s, and not on %.*s: use another "
                                "queue or other workers",
                                queue->holder.name, queue->config->workers, (int)strcspn(at, ",:"),
                                at);
    return 0;
}

/* The rules for every spec of a job. */
static int admit_spec(const struct admission *admission, struct gw_msg_spec *spec,
                      struct gw_error *error)
{
    int rc = check_time(admission, spec, error);
    if (rc == 0)
        rc = check_size(admission, spec, error);
    if (rc == 0)
        rc = restrict_workers(admission->queue, spec, error);
    if (rc == 0 && admission->queue) {
        const int64_t priority = (int64_t)spec->priority + admission->queue->config->priority;
        spec->priority = (int32_t)(priority > INT32_MAX   ? INT32_MAX
                                   : priority < INT32_MIN ? INT32_MIN
                                                          : priority);
    }
    return rc;
}

int gw_sched_admission_check(const struct gw_sched *sched, const struct gw_session *session,
                             const struct gw_job *job, struct gw_msg_spec *spec,
                             struct gw_error *error)
{
    struct admission admission = {0};
    if (!sched->accounts && (is_set(spec->account) || is_set(spec->queue)))
        return gw_error_set(error, GW_EINVAL,
                            "this cluster has no accounts and queues: leave out the account and "
                            "the queue");
    if (!sched->accounts || spec->kind == GW_SPEC_VALUE ||
        (spec->actor && spec->actor != GW_ACTOR_NEW))
        return 0;
    if (spec->number > 0) {
        spec->account = spec->queue = "";
        if (!job->payer)
            return 0;
        admission = (struct admission){job->payer->account, job->submit_queue};
        return admit_spec(&admission, spec, error);
    }
    int rc = find_account(sched, session, spec->account, &admission.account, error);
    if (rc == 0)
        rc = find_queue(sched, spec->queue, &admission, error);
    if (rc == 0)
        rc = check_jobs(&admission, error);
    if (rc == 0)
        rc = check_stored(sched, &admission, error);
    if (rc == 0)
        rc = admit_spec(&admission, spec, error);
    if (rc == 0) {
        spec->account = admission.account->holder.name;
        spec->queue = admission.queue ? admission.queue->holder.name : "";
    }
    return rc;
}

int gw_sched_admission_check_value(const struct gw_sched *sched, const struct gw_session *session,
                                   struct gw_error *error)
{
    struct admission admission = {0};
    if (!sched->accounts)
        return 0;
    const int rc = find_account(sched, session, "", &admission.account, error);
    return rc == 0 ? check_stored(sched, &admission, error) : rc;
}
