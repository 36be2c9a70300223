/* Lines for the scheduler's log about jobs and workers. */
#include "scheduler/core/send/log.h"

#include "graph/base/clock.h"
#include "graph/base/text.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"

#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 512, NAME_BYTES = 100 };

/* Adds `line` to the log. Replaces control characters in it. */
static struct gw_effect *say(struct gw_sched *sched, char line[static LINE_BYTES])
{
    /* Names come from client programs and may contain control characters. */
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            *at = '?';
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_LOG);
    effect->bytes = gw_sched_send_bin(sched, (struct gw_bin){line, (uint32_t)strlen(line) + 1});
    return effect;
}

/* -- Jobs ---------------------------------------------------------------------------------- */

static uint32_t task_count(const struct gw_job *job)
{
    return job->range ? job->range->count : job->tasks.count;
}

/* Returns the number of ranks of the job's largest gang, or 0 if the job has no gang. */
static uint32_t rank_count(const struct gw_job *job)
{
    uint32_t ranks = 0;
    for (size_t i = 0; i < job->specs.count; i++)
        if (job->specs.items[i].message.ranks > ranks)
            ranks = job->specs.items[i].message.ranks;
    return ranks;
}

/* Returns true if the client's name contains its user, as in "gangway submit (alice)". Clients with
 * a token have such names. All other clients belong to the owner of the scheduler. */
static bool names_owner(const struct gw_job *job)
{
    const size_t length = strlen(job->user);
    return length > 0 && job->user[length - 1] == ')';
}

/* Writes the client's name with its user. `named` is true if the name already contains the user. */
static const char *user_of(const struct gw_sched *sched, const char *client, bool named,
                           char user[static NAME_BYTES])
{
    const char *owner = sched->options.owner;
    const bool told = !owner || named;
    (void)snprintf(user, NAME_BYTES, "%.*s%s%.30s%s", GW_LOG_USER_BYTES - 1, client,
                   told ? "" : " (", told ? "" : owner, told ? "" : ")");
    return user;
}

static void say_job(struct gw_sched *sched, const struct gw_job *job)
{
    char line[LINE_BYTES];
    struct gw_text text = {line, sizeof line, 0};
    const uint32_t tasks = task_count(job), ranks = rank_count(job);
    char user[NAME_BYTES];
    gw_text_say(&text, "job %llu (%.*s) by %s: %u task%s", (unsigned long long)job->id, NAME_BYTES,
                job->name ? job->name : "job", user_of(sched, job->user, names_owner(job), user),
                tasks, tasks == 1 ? "" : "s");
    if (ranks)
        gw_text_say(&text, ", %s%u rank%s", tasks > 1 ? "gangs of up to " : "", ranks,
                    ranks == 1 ? "" : "s");
    gw_text_say(&text, "%s", job->detached ? ", detached" : "");
    (void)say(sched, line);
}

void gw_sched_log_settle(struct gw_sched *sched, bool last)
{
    struct gw_log_jobs *log = &sched->log_jobs;
    if (log->jobs == 0 || (sched->now_ns - log->since_ns < GW_NS_PER_S && !last))
        return;
    char line[LINE_BYTES], user[NAME_BYTES];
    (void)snprintf(line, sizeof line, "%u more job%s with %llu task%s, up to job %llu by %s",
                   log->jobs, log->jobs == 1 ? "" : "s", (unsigned long long)log->tasks,
                   log->tasks == 1 ? "" : "s", (unsigned long long)log->latest,
                   user_of(sched, log->user, log->named, user));
    (void)say(sched, line);
    *log = (struct gw_log_jobs){0};
}

void gw_sched_log_submitted(struct gw_sched *sched, const struct gw_job *job)
{
    struct gw_log_jobs *log = &sched->log_jobs;
    gw_sched_log_settle(sched, false);
    if (log->said == 0 || sched->now_ns - log->since_ns >= GW_NS_PER_S)
        *log = (struct gw_log_jobs){.since_ns = sched->now_ns};
    if (log->said < GW_LOG_JOBS_MAX) {
        log->said++;
        say_job(sched, job);
        return;
    }
    log->jobs++;
    log->tasks += task_count(job);
    log->latest = job->id;
    const size_t length = strnlen(job->user, sizeof log->user - 1);
    /* Keep the name and format it later: formatting costs more than the rest of the submission. */
    memcpy(log->user, job->user, length);
    log->user[length] = '\0';
    log->named = names_owner(job);
}

/* -- Workers ------------------------------------------------------------------------------- */

void gw_sched_log_joined(struct gw_sched *sched, const struct gw_worker *worker)
{
    char line[LINE_BYTES], where[GW_WORKER_NAME_MAX], memory[GW_TEXT_BYTES_ROOM];
    const uint32_t gpus = gw_sched_gpu_twin_own(worker);
    struct gw_text text = {line, sizeof line, 0};
    gw_text_say(&text, "worker %s joined: %u slot%s",
                gw_sched_worker_where(sched, worker->id, where), worker->slots,
                worker->slots == 1 ? "" : "s");
    if (gpus)
        gw_text_say(&text, ", %u GPU%s", gpus, gpus == 1 ? "" : "s");
    gw_text_say(&text, ", %s", gw_text_bytes(worker->memory_bytes, memory));
    if (*worker->remote->address)
        gw_text_say(&text, ", from %s", worker->remote->address);
    (void)say(sched, line);
}

void gw_sched_log_left(struct gw_sched *sched, const struct gw_worker *worker, const char *why)
{
    char line[LINE_BYTES], where[GW_WORKER_NAME_MAX];
    (void)snprintf(line, sizeof line, "worker %s left: %.300s",
                   gw_sched_worker_where(sched, worker->id, where), why);
    (void)say(sched, line);
}

void gw_sched_log_clock(struct gw_sched *sched)
{
    char line[LINE_BYTES], text[LINE_BYTES - 100];
    gw_sched_worker_drain_clock(sched, text, sizeof text);
    if (*text)
        (void)snprintf(line, sizeof line,
                       "the clock of this host is wrong: %s. No worker is drained for this", text);
    else
        (void)snprintf(line, sizeof line,
                       "the clock of this host agrees with those of most workers");
    say(sched, line)->number = *text != '\0';
}
