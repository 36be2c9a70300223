/* The step of the worker's core: it dispatches each event, then handles ends, then starts new work.
 *
 * Invariants: the worker acts on a message of the scheduler only if the message carries the term
 * and the peer of the last welcome, and a new sequence number (a heartbeat has none). Nothing runs
 * longer than fence_ns after the last acknowledged heartbeat was sent, or after the last refused
 * attempt to connect began (orphaned.c). */
#include "worker/core/node.h"
#include "worker/core/gangs/actor.h"
#include "worker/core/gangs/checkpoint_transfer.h"
#include "worker/core/gangs/gang.h"
#include "worker/core/gangs/hang.h"
#include "worker/core/link/assignment.h"
#include "worker/core/link/health.h"
#include "worker/core/link/metric_reports.h"
#include "worker/core/link/orphaned.h"
#include "worker/core/link/process_outcome.h"
#include "worker/core/link/progress_throttle.h"
#include "worker/core/link/registration.h"
#include "worker/core/link/report.h"
#include "worker/core/link/shutdown.h"
#include "worker/core/link/task_report.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/fetch.h"
#include "worker/core/objects/memory.h"
#include "worker/core/objects/object.h"
#include "worker/core/objects/replica.h"
#include "worker/core/objects/restore.h"
#include "worker/core/objects/result_memfd.h"
#include "worker/core/objects/spill.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/objects/workdir_retention.h"
#include "worker/core/processes/environment.h"
#include "worker/core/processes/gpu.h"
#include "worker/core/processes/inactivity_timeout.h"
#include "worker/core/processes/memory_limits.h"
#include "worker/core/processes/process.h"
#include "worker/core/processes/spawn.h"
#include "worker/core/processes/time_limits.h"
#include "worker/core/reap.h"
#include "worker/core/runners/nested.h"
#include "worker/core/runners/pump.h"
#include "worker/core/runners/runner_pool.h"

#include <assert.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

static void drop_tokens(struct gw_node_core *core, const struct gw_event *event)
{
    for (uint32_t i = 0; i < event->token_count; i++)
        gw_core_drop_token(core, event->tokens[i]);
}

struct gw_node_core *gw_node_core_new(const struct gw_node_options *options)
{
    assert(options->slots > 0);
    struct gw_node_core *core = gw_core_alloc(sizeof *core);
    core->options = *options;
    struct gw_node_gpu *gpus = gw_core_alloc(options->gpu_count * sizeof *gpus);
    for (uint32_t i = 0; i < options->gpu_count; i++) {
        gpus[i] = options->gpus[i];
        gpus[i].uuid = gw_core_strdup(options->gpus[i].uuid);
        gpus[i].name = gw_core_strdup(options->gpus[i].name);
        gpus[i].cpus = gw_core_strdup(options->gpus[i].cpus);
        gpus[i].physical_gpu = gw_core_strdup(options->gpus[i].physical_gpu);
    }
    core->options.gpus = gpus;
    gw_gpus_init(core);
    core->options.host = gw_core_strdup(options->host);
    core->options.machine = gw_core_strdup(options->machine);
    core->options.address = gw_core_strdup(options->address);
    core->options.interface = gw_core_strdup(options->interface);
    core->options.log_dir = gw_core_strdup(options->log_dir);
    core->options.checkpoint_dir = gw_core_strdup(options->checkpoint_dir);
    core->options.resources = gw_core_strdup(options->resources);
    if (!core->options.cores)
        core->options.cores = options->slots;
    if (!core->options.heartbeat_ns)
        core->options.heartbeat_ns = GW_HEARTBEAT_NS;
    if (!core->options.fence_ns)
        core->options.fence_ns = GW_FENCE_NS;
    if (!core->options.orphan_ns)
        core->options.orphan_ns = 600 * SECOND;
    if (!core->options.yielded_max)
        core->options.yielded_max = 512;
    if (!core->options.runner_idle_ns)
        core->options.runner_idle_ns = 60 * SECOND;
    core->starving_serial = UINT64_MAX;
    gw_memory_init(core);
    return core;
}

static void free_text(const char *text)
{
    free((void *)(uintptr_t)text);
}

static void free_tables(struct gw_node_core *core)
{
    size_t at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->gangs, &at, &key, &value))
        gw_gang_free(core, (struct gw_gang *)(uintptr_t)value);
    while (core->processes.count)
        gw_process_free(core, core->processes.items[0]);
    while (core->fetches.count)
        gw_fetch_free(core, core->fetches.items[0]);
    gw_object_free_all(core);
    for (at = 0; gw_map_next(&core->jobs, &at, &key, &value);)
        gw_job_free((struct gw_node_job *)(uintptr_t)value);
    for (size_t i = 0; i < core->pools.count; i++)
        gw_runner_pool_free(core->pools.items[i]);
    for (at = 0; gw_map_next(&core->links, &at, &key, &value);)
        free((void *)(uintptr_t)value);
    for (at = 0; gw_map_next(&core->neighbours, &at, &key, &value);) {
        struct gw_neighbour *neighbour = (struct gw_neighbour *)(uintptr_t)value;
        free(neighbour->address);
        free(neighbour);
    }
    gw_job_free_programs(core);
}

void gw_node_core_free(struct gw_node_core *core)
{
    if (!core)
        return;
    struct gw_effects effects = {0};
    core->effects =
        &effects; /* the effects are discarded, since the driver closes all descriptors itself */
    gw_shutdown_free_runs(core);
    free_tables(core);
    for (size_t i = 0; i < core->run_chunks.count; i++)
        free(core->run_chunks.items[i]);
    gw_array_deinit(&core->run_chunks);
    gw_array_deinit(&core->orphans);
    gw_array_deinit(&core->bound);
    gw_array_deinit(&core->ended_actors);
    gw_array_deinit(&core->pools);
    gw_array_deinit(&core->processes);
    gw_array_deinit(&core->fetches);
    gw_map_deinit(&core->jobs);
    gw_map_deinit(&core->attempts);
    gw_map_deinit(&core->gangs);
    gw_map_deinit(&core->actors);
    gw_map_deinit(&core->links);
    gw_map_deinit(&core->processes_by_id);
    gw_map_deinit(&core->neighbours);
    gw_map_deinit(&core->requests);
    gw_map_deinit(&core->folders);
    gw_progress_throttle_on_queued(core, 0);
    gw_map_deinit(&core->throttled);
    gw_metric_reports_deinit(core);
    gw_workdir_retention_deinit(core);
    gw_orphaned_deinit(core);
    free(core->leave.why);
    free(core->history.cluster);
    gw_array_deinit(&core->replaced);
    gw_array_deinit(&core->transfers);
    gw_result_memfd_deinit(core);
    gw_memory_deinit(core);
    gw_array_deinit(&effects.list);
    gw_arena_deinit(&effects.arena);
    gw_gpus_deinit(core);
    gw_health_deinit(core);
    for (uint32_t i = 0; i < core->options.gpu_count; i++) {
        free_text(core->options.gpus[i].uuid);
        free_text(core->options.gpus[i].name);
        free_text(core->options.gpus[i].cpus);
        free_text(core->options.gpus[i].physical_gpu);
    }
    free((void *)(uintptr_t)core->options.gpus);
    free_text(core->options.host);
    free_text(core->options.machine);
    free_text(core->options.address);
    free_text(core->options.interface);
    free_text(core->options.log_dir);
    free_text(core->options.checkpoint_dir);
    free_text(core->options.resources);
    free(core);
}

static void on_open(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_node_link *link = gw_core_alloc(sizeof *link);
    link->peer = event->peer;
    link->role = event->role;
    GW_MUST(gw_map_put(&core->links, event->peer.id, (uintptr_t)link));
    if (event->role == GW_ROLE_SCHEDULER) {
        core->scheduler = link;
        core->registered = false;
        gw_gang_on_scheduler(core);
    } else if (event->role == GW_ROLE_SUPERVISOR) {
        core->supervisor = link;
    } else if (event->role == GW_ROLE_RUNNER) {
        link->process = gw_process_find(core, event->number);
        if (link->process)
            link->process->link = link;
    } else if (event->number) {
        gw_fetch_on_open(core, link, (uint32_t)event->number);
    }
}

static void on_supervisor_close(struct gw_node_core *core)
{
    core->supervisor = NULL;
    if (core->exited)
        return;
    if (core->scheduler) {
        gw_core_send(core, core->scheduler, GW_MESSAGE_refuse)->message.refuse =
            (struct gw_msg_refuse){GW_ELOST, "the worker's supervisor is gone"};
        gw_core_effect(core, GW_EFFECT_CLOSE)->peer = core->scheduler->peer;
    }
    core->exited = true;
    gw_core_effect(core, GW_EFFECT_EXIT);
}

static void on_close(struct gw_node_core *core, const struct gw_event *event)
{
    uint64_t value;
    if (!event->peer.id) { /* a CONNECT effect failed */
        gw_fetch_fail_worker(core, (uint32_t)event->number);
        return;
    }
    if (!gw_map_get(&core->links, event->peer.id, &value))
        return;
    struct gw_node_link *link = (struct gw_node_link *)(uintptr_t)value;
    gw_map_remove(&core->links, event->peer.id);
    if (link == core->scheduler) {
        core->scheduler = NULL;
        core->registered = false;
        gw_progress_throttle_on_queued(core, 0);
        gw_fetch_cancel_replicas(core);
        gw_fetch_fail_worker(core, 0);
    } else if (link == core->supervisor) {
        on_supervisor_close(core);
    } else if (link->process) {
        link->process->link = NULL;
        gw_process_outcome_on_close(core, link->process);
    } else if (link->neighbour) {
        gw_fetch_on_close(core, link->neighbour);
    }
    free(link);
}

static void on_spec(struct gw_node_core *core, const struct gw_msg_spec *message)
{
    struct gw_node_spec *spec = gw_job_on_spec(core, message);
    if (spec)
        gw_environment_find_cluster(core, spec);
}

static int on_welcome(struct gw_node_core *core, const struct gw_message *message)
{
    gw_registration_prepare(core, message);
    gw_reap(core); /* ends of earlier attempts are not reported to this scheduler */
    gw_registration_on_welcome(core, message);
    return 0;
}

static int on_scheduler(struct gw_node_core *core, const struct gw_event *event)
{
    const struct gw_message *message = event->message;
    if (message->type == GW_MESSAGE_welcome)
        return on_welcome(core, message);
    if (!core->registered || message->term != core->term || message->peer != core->peer) {
        drop_tokens(core, event);
        return 0;
    }
    switch (message->type) {
    case GW_MESSAGE_object:
        gw_fetch_on_object(core, event);
        return 0;
    case GW_MESSAGE_gang_start:
        gw_gang_on_go(core, event);
        return 0;
    default:
        drop_tokens(core, event);
    }
    switch (message->type) {
    case GW_MESSAGE_heartbeat:
        gw_registration_on_heartbeat(core, &message->heartbeat);
        return 0;
    case GW_MESSAGE_spec:
        on_spec(core, &message->spec);
        return 0;
    case GW_MESSAGE_assign:
        return core->shutting_down ? 0 : gw_assignment_on_assign(core, &message->assign);
    case GW_MESSAGE_gpu_undrain:
        return gw_gpu_on_undrain(core, &message->gpu_undrain);
    case GW_MESSAGE_gang:
        if (!core->shutting_down)
            gw_gang_on_gang(core, &message->gang);
        return 0;
    case GW_MESSAGE_kill:
        gw_assignment_on_kill(core, &message->kill);
        return 0;
    case GW_MESSAGE_control:
        gw_gang_on_control(core, &message->control);
        return 0;
    case GW_MESSAGE_gang_look:
        gw_hang_on_look(core, &message->gang_look);
        return 0;
    case GW_MESSAGE_neighbour:
        gw_fetch_on_neighbour(core, &message->neighbour);
        return 0;
    case GW_MESSAGE_fetch:
        gw_object_on_fetch(core, core->scheduler, &message->fetch);
        return 0;
    case GW_MESSAGE_replica_request:
        gw_replica_on_request(core, &message->replica_request);
        return 0;
    case GW_MESSAGE_checkpoint_transfer:
    case GW_MESSAGE_transfer_go:
        gw_gang_on_checkpoint_message(core, message);
        return 0;
    case GW_MESSAGE_release:
        gw_fetch_on_release(core, &message->release);
        return 0;
    case GW_MESSAGE_forget:
        gw_object_on_forget(core, message->forget.job);
        return 0;
    case GW_MESSAGE_shutdown:
        gw_shutdown_allow(core);
        gw_shutdown_begin(core, message->shutdown.grace_ns_max);
        return 0;
    default:
        return GW_EPROTO;
    }
}

/* Returns true for messages of a runner that are useful even after its process was told to end: a
 * saved checkpoint, a report of a metric, and that its task runs long, so tasks behind it can move
 * elsewhere. */
static bool is_in_time(const struct gw_process *process, const struct gw_message *message)
{
    const struct gw_attempt *run = process->queue.first;
    return message->type == GW_MESSAGE_checkpointed ||
           (message->type == GW_MESSAGE_metric && run && run->attempt == message->metric.attempt) ||
           (message->type == GW_MESSAGE_task_blocked &&
            message->task_blocked.blocked == GW_BLOCKED_LONG);
}

static int on_runner(struct gw_node_core *core, struct gw_process *process,
                     const struct gw_event *event)
{
    const struct gw_message *message = event->message;
    if (!process || (process->reaping && !is_in_time(process, message))) { /* too late */
        drop_tokens(core, event);
        return 0;
    }
    if (message->type == GW_MESSAGE_finished)
        return gw_report_on_finished(core, process, event);
    drop_tokens(core, event);
    struct gw_attempt *run = process->queue.first;
    switch (message->type) {
    case GW_MESSAGE_runner:
        return gw_spawn_on_hello(core, process, &message->runner);
    case GW_MESSAGE_ended:
        return gw_report_on_ended(core, process, &message->ended);
    case GW_MESSAGE_failures:
        return gw_report_on_failures(core, process, &message->failures);
    case GW_MESSAGE_used:
        return gw_process_used(process, message->used.cpu_ns);
    case GW_MESSAGE_skipped: /* protocol 6 only: the failed input was already reported */
        return 0;
    case GW_MESSAGE_actor_ready:
        return gw_node_actor_on_ready(core, process, &message->actor_ready);
    case GW_MESSAGE_memfile_filled:
        return gw_result_memfd_on_filled(core, process, &message->memfile_filled);
    case GW_MESSAGE_memfile_returned:
        return gw_result_memfd_on_returned(core, process, &message->memfile_returned);
    case GW_MESSAGE_rank_ready:
        return gw_gang_on_ready(core, process, &message->rank_ready);
    case GW_MESSAGE_task_link:
        return gw_nested_on_link(core, process, &message->task_link);
    case GW_MESSAGE_task_blocked:
        return gw_nested_on_blocked(core, process, &message->task_blocked);
    case GW_MESSAGE_checkpointed:
        return gw_checkpoint_transfer_on_checkpointed(core, process, &message->checkpointed);
    case GW_MESSAGE_rank_paused:
        if (!run || !run->gang || run->attempt != message->rank_paused.attempt)
            return GW_EPROTO;
        run->bound = true; /* the result means "paused", which only this term knows */
        if (core->registered)
            gw_core_send(core, core->scheduler, GW_MESSAGE_rank_paused)->message.rank_paused =
                message->rank_paused;
        return 0;
    case GW_MESSAGE_metric:
        return gw_task_report_on_metric(core, process, message);
    case GW_MESSAGE_progress:
        return gw_task_report_on_progress(core, process, message);
    case GW_MESSAGE_printed:
        if (!run || run->attempt != message->printed.attempt || run->rank != message->printed.rank)
            return GW_EPROTO;
        gw_progress_throttle_printed(core, run, &message->printed);
        return 0;
    default:
        return GW_EPROTO;
    }
}

static int on_supervisor(struct gw_node_core *core, const struct gw_message *message)
{
    /* This worker may have been stopped (SIGSTOP) for longer than the scheduler waits for a silent
     * worker. The ends of its attempts then do not count against the retry budget. */
    gw_shutdown_fence(core);
    switch (message->type) {
    case GW_MESSAGE_spawned:
        gw_process_outcome_on_spawned(core, &message->spawned);
        return 0;
    case GW_MESSAGE_exited:
        gw_process_outcome_on_exited(core, &message->exited);
        return 0;
    case GW_MESSAGE_reaped:
        gw_process_outcome_on_reaped(core, &message->reaped);
        return 0;
    default:
        return GW_EPROTO;
    }
}

static int on_message(struct gw_node_core *core, const struct gw_event *event)
{
    const struct gw_message *message = event->message;
    uint64_t value;
    if (!gw_map_get(&core->links, event->peer.id, &value)) {
        drop_tokens(core, event);
        return 0;
    }
    struct gw_node_link *link = (struct gw_node_link *)(uintptr_t)value;
    if (message->sequence &&
        message->sequence <= link->received) { /* the message was received before */
        drop_tokens(core, event);
        return 0;
    }
    if (message->sequence)
        link->received = message->sequence;
    if (link == core->scheduler)
        return on_scheduler(core, event);
    if (link->role == GW_ROLE_RUNNER)
        return on_runner(core, link->process, event);
    if (message->type == GW_MESSAGE_object) {
        gw_fetch_on_object(core, event);
        return 0;
    }
    drop_tokens(core, event);
    if (link == core->supervisor)
        return on_supervisor(core, message);
    if (link->role == GW_ROLE_PEER && message->type == GW_MESSAGE_fetch) {
        gw_object_on_fetch(core, link, &message->fetch);
        return 0;
    }
    return GW_EPROTO;
}

static void on_tick(struct gw_node_core *core, const struct gw_event *event)
{
    if (event->type == GW_EVENT_REFUSED)
        gw_orphaned_on_refused(core, event);
    if (core->registered && core->now_ns >= core->heartbeat_due_ns)
        gw_registration_send_heartbeat(core);
    gw_shutdown_fence(core);
    gw_time_limits_tick(core);
    gw_hang_tick(core);
    gw_fetch_tick(core);
    gw_gpu_tick(core);
}

static void pump(struct gw_node_core *core)
{
    if (!gw_pump_begin(core))
        return;
    if (core->options.gpu_count)
        gw_gang_pump(core);
    gw_pump_runners(core);
}

static int on_event(struct gw_node_core *core, const struct gw_event *event)
{
    switch (event->type) {
    case GW_EVENT_START:
        core->incarnation = event->number;
        break;
    case GW_EVENT_OPEN:
        on_open(core, event);
        break;
    case GW_EVENT_CLOSE:
        on_close(core, event);
        break;
    case GW_EVENT_MESSAGE:
        return on_message(core, event);
    case GW_EVENT_PROGRAM:
        gw_program_on_event(core, event);
        break;
    case GW_EVENT_LEASED:
    case GW_EVENT_LOOKED:
    case GW_EVENT_CHECKPOINT_TRANSFERRED:
    case GW_EVENT_SAVED:
        gw_gang_on_event(core, event);
        break;
    case GW_EVENT_MEASURED:
        gw_inactivity_timeout_on_measured(core, event);
        break;
    case GW_EVENT_SURVEYED:
        gw_hang_on_surveyed(core, event);
        break;
    case GW_EVENT_FOLDER:
    case GW_EVENT_COUNTED:
        gw_workdir_on_event(core, event);
        break;
    case GW_EVENT_SHUTDOWN:
    case GW_EVENT_LEAVE:
        gw_shutdown_on_leave(core, event->text);
        break;
    case GW_EVENT_SPILLED:
        gw_spill_on_spilled(core, event);
        break;
    case GW_EVENT_RESTORED:
        gw_restore_on_restored(core, event);
        break;
    case GW_EVENT_QUEUED:
        gw_progress_throttle_on_queued(core, event->bytes);
        break;
    case GW_EVENT_REPORTED:
        gw_task_report_on_reported(core, event);
        break;
    case GW_EVENT_USAGE:
        gw_memory_limits_on_measured(core, event);
        gw_gang_on_usage(core, event);
        break;
    case GW_EVENT_GPUS:
        gw_gpu_on_samples(core, event);
        break;
    case GW_EVENT_HEALTH:
        gw_health_on_checked(core, event);
        break;
    }
    return 0;
}

/* Handles what was noted for later in this step, usually nothing. Returns true if anything ended.
 */
static bool settle(struct gw_node_core *core)
{
    if (core->bound.count)
        gw_gang_prepare_bound(core);
    gw_runner_pool_queue_supplied(core);
    return (core->ended.first || core->orphans.count || core->pools_left) && gw_reap(core);
}

int gw_node_core_step(struct gw_node_core *core, const struct gw_event *event,
                      struct gw_effects *effects)
{
    assert(event->now_ns >= core->now_ns);
    gw_array_clear(&effects->list);
    gw_arena_reset(&effects->arena);
    core->effects = effects;
    core->now_ns = event->now_ns;
    const int rc = on_event(core, event);
    settle(core);
    on_tick(core, event); /* every step checks all deadlines, whatever its event was */
    settle(core);
    gw_memory_limits_settle(core);
    gw_gpu_settle(core);
    do
        pump(core);
    while (settle(core)); /* ends free slots, so start more work */
    gw_health_settle(core);
    gw_shutdown_settle(core);
#ifdef GANGWAY_CHECK
    gw_node_core_check(core);
#endif
    core->effects = NULL;
    return rc;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void gw_node_core_limit(struct gw_node_core *core, const struct gw_node_options *options)
{
    gw_memory_limit(core, options);
    gw_health_limit(core, options->health_checks);
}

uint64_t gw_node_core_deadline_ns(const struct gw_node_core *core)
{
    uint64_t deadline =
        earlier(gw_time_limits_deadline_ns(core), gw_memory_limits_deadline_ns(core));
    deadline = earlier(deadline, gw_gpu_deadline_ns(core));
    deadline = earlier(deadline, gw_result_memfd_deadline_ns(core));
    deadline = earlier(deadline, gw_hang_deadline_ns(core));
    deadline = earlier(deadline, gw_shutdown_deadline_ns(core));
    if (core->registered)
        deadline = earlier(deadline, core->heartbeat_due_ns);
    deadline = earlier(deadline, gw_shutdown_fence_ns(core));
    if (core->fetches.count)
        deadline = earlier(deadline, core->fetches.items[0]->deadline_ns);
    return deadline;
}

/* -- Look-ups for the driver ---------------------------------------------------------------------
 */

bool gw_node_core_executing(const struct gw_node_core *core, uint64_t id,
                            struct gw_node_place *place)
{
    const struct gw_process *process = gw_process_find(core, id);
    if (process && process->actor) { /* calls of an actor print into the files of the actor */
        *place = process->actor->place;
        return true;
    }
    if (!process || !process->queue.first)
        return false;
    gw_attempt_place(process->queue.first, place);
    return true;
}

bool gw_node_core_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank,
                       struct gw_node_place *place)
{
    const struct gw_attempt *run = gw_attempt_find(core, attempt, rank);
    if (!run)
        return false;
    gw_attempt_place(run, place);
    return true;
}

const char *gw_node_core_retained_workdir(const struct gw_node_core *core, uint64_t job,
                                          uint32_t index, uint32_t rank)
{
    const struct gw_retained_workdir *workdir = gw_workdir_retention_find(core, job, index, rank);
    return workdir ? workdir->path : NULL;
}

bool gw_node_core_gpus_clearing(const struct gw_node_core *core)
{
    return gw_gpu_deadline_ns(core) != UINT64_MAX;
}

bool gw_node_core_holds(struct gw_node_core *core, uint64_t job, uint32_t index, uint32_t rank)
{
    const struct gw_object *object = gw_object_find(core, job, index, rank);
    return object && !object->released;
}

void gw_node_core_memory(const struct gw_node_core *core, struct gw_node_memory *memory)
{
    *memory = (struct gw_node_memory){
        .used_bytes = gw_memory_used(core),
        .resident_bytes = core->memory.resident_bytes,
        .spilled_bytes = core->memory.spilled_bytes,
        .idle_bytes = gw_result_memfd_idle_bytes(core),
        .files = core->memory.on_disk,
        .files_pending = core->memory.files.count,
        .state = core->memory.state,
    };
}

uint32_t gw_node_core_answer(const struct gw_node_core *core, uint64_t process, int64_t step)
{
    return gw_task_report_answer(gw_process_find(core, process), step);
}

bool gw_node_core_keeps_metric(const struct gw_node_core *core, uint64_t process, const char *name)
{
    return gw_task_report_accepts(core, gw_process_find(core, process), name);
}

void gw_node_core_watched(const struct gw_node_core *core, uint64_t id,
                          struct gw_node_watched *watched)
{
    const struct gw_process *process = gw_process_find(core, id);
    *watched = (struct gw_node_watched){0};
    if (process)
        *watched =
            (struct gw_node_watched){gw_memory_limits_of(process), gw_gang_bars_mpi(process)};
}

void gw_node_core_stamp(struct gw_node_core *core, struct gw_message *message)
{
    assert(core->scheduler);
    gw_core_stamp(core, core->scheduler, message);
}

struct gw_sm *gw_node_core_machine(size_t i)
{
    struct gw_sm *machines[] = {&gw_attempt_sm, &gw_process_sm, &gw_gang_sm,        &gw_fetch_sm,
                                &gw_object_sm,  &gw_gpu_sm,     &gw_result_memfd_sm};
    return i < sizeof machines / sizeof *machines ? machines[i] : NULL;
}
