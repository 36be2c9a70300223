/* Lets tasks run on while this worker is orphaned: it has lost its scheduler and no new one accepts
 * connections yet.
 *
 * A refused attempt to connect proves that no scheduler runs, as an acknowledged heartbeat proves
 * that one does. Tasks may therefore run on for fence_ns after each refused attempt began, but no
 * longer than orphan_ns in all. A scheduler that starts later waits for longer than fence_ns before
 * it assigns the tasks of this worker elsewhere. If connecting is neither refused nor accepted, the
 * cause may be a network partition, and the usual fence applies.
 *
 * Ends that happen meanwhile are stored. The registration at the next scheduler lists them, and the
 * worker reports them after the registration. The scheduler accepts the attempts that it knows and
 * has the others killed.
 *
 * The scheduler that received a report may die before it commits the report. Therefore some ends
 * are stored even after they were reported: successful ends of commands and of functions that must
 * not run again, and all ends of ranks. They are stored until the scheduler acknowledges a
 * heartbeat that was sent COMMIT_NS after the report, because the report is on disk by then. The
 * failed end of a command without ranks is not stored once it was reported: the scheduler may have
 * charged it, and it must not be charged twice. A new scheduler recognizes the ends of ranks
 * (decided.h). If a large result is released meanwhile, its stored end is dropped.
 *
 * Invariants: a stored end happened after the last connection closed, or belongs to an attempt
 * whose end may be reported again and is not confirmed. A scheduler of the same term gets no stored
 * ends, since it has counted all attempts here as lost. */
#include "worker/core/link/orphaned.h"

#include "worker/core/link/cpu_time.h"
#include "worker/core/link/metric_reports.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/object.h"

#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = 16384, BYTES_MAX = 64 << 20 };
#define COMMIT_NS UINT64_C(1000000000) /* a scheduler commits within this time what it has read */

struct gw_untold {
    struct gw_node_place place;
    uint32_t world;
    bool finished;
    uint64_t said_ns;       /* when it was reported; 0: not reported yet */
    uint64_t bytes, run_ns; /* size of the value; how long the attempt executed */
    uint64_t cpu_ns;
    uint32_t value_size;
    void *value; /* the value of the result; owned, as the following texts are; NULL: there is no
                    value, or the value is an object of this worker */
    struct gw_attempt_end end; /* used if finished is false */
    char *tail;                /* the last lines of the task's stderr, as its runner reported them,
                                  or NULL */
    char *path;                /* path of its stderr; NULL: none */
    size_t retained_bytes;     /* part of gw_orphaned.bytes that this entry takes */
};

/* -- Time ----------------------------------------------------------------------------------------
 */

void gw_orphaned_on_refused(struct gw_node_core *core, const struct gw_event *event)
{
    if (core->registered || !core->term)
        return;
    if (!core->orphaned.since_ns)
        core->orphaned.since_ns = core->now_ns;
    if (event->number > core->acked_ns && event->number <= core->now_ns)
        core->acked_ns = event->number;
}

uint64_t gw_orphaned_until_ns(const struct gw_node_core *core)
{
    return core->orphaned.since_ns ? core->orphaned.since_ns + core->options.orphan_ns : UINT64_MAX;
}

/* -- Stored ends ---------------------------------------------------------------------------------
 */

static void untold_free(struct gw_node_core *core, struct gw_untold *untold)
{
    if (untold->place.rank == 0 || untold->place.rank == GW_RANK_NONE)
        gw_metric_reports_drop(core, untold->place.attempt);
    free(untold->value);
    free(untold->end.text);
    free(untold->tail);
    free(untold->path);
}

void gw_orphaned_forget(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->orphaned.untold.count; i++)
        untold_free(core, &core->orphaned.untold.items[i]);
    gw_array_clear(&core->orphaned.untold);
    core->orphaned.bytes = 0;
}

void gw_orphaned_deinit(struct gw_node_core *core)
{
    gw_orphaned_forget(core);
    gw_array_deinit(&core->orphaned.untold);
}

void gw_orphaned_on_acknowledged(struct gw_node_core *core)
{
    struct gw_orphaned *orphaned = &core->orphaned;
    size_t count = 0;
    while (count < orphaned->untold.count && orphaned->untold.items[count].said_ns &&
           orphaned->untold.items[count].said_ns + COMMIT_NS <= core->acked_ns) {
        orphaned->bytes -= orphaned->untold.items[count].retained_bytes;
        untold_free(core, &orphaned->untold.items[count++]);
    }
    if (!count)
        return;
    orphaned->untold.count -= count;
    memmove(orphaned->untold.items, orphaned->untold.items + count,
            orphaned->untold.count * sizeof *orphaned->untold.items);
}

bool gw_orphaned_stores(const struct gw_node_core *core, const struct gw_attempt *run)
{
    const size_t count = core->orphaned.untold.count;
    const struct gw_untold *last = count ? &core->orphaned.untold.items[count - 1] : NULL;
    return last && last->place.attempt == run->attempt && last->place.rank == run->rank;
}

bool gw_orphaned_tells_again(const struct gw_attempt *run)
{
    const struct gw_msg_spec *spec = &run->spec->message;
    return spec->kind == GW_SPEC_COMMAND || run->gang || spec->worker_losses_max == UINT32_MAX;
}

/* Adds an entry for the end of an attempt that a scheduler of a later term could accept. Returns
 * NULL if the end is not stored. The task then runs again if the scheduler does not know of the
 * end. */
static struct gw_untold *add(struct gw_node_core *core, const struct gw_attempt *run, size_t bytes)
{
    struct gw_orphaned *orphaned = &core->orphaned;
    const bool said = core->registered;
    if ((said && !gw_orphaned_tells_again(run)) || !core->term || run->bound ||
        run->spec->message.actor || orphaned->untold.count == ENDS_MAX ||
        orphaned->bytes + bytes > BYTES_MAX)
        return NULL;
    GW_MUST(gw_array_push(&orphaned->untold, ((struct gw_untold){0})));
    struct gw_untold *untold = &orphaned->untold.items[orphaned->untold.count - 1];
    gw_attempt_place(run, &untold->place);
    untold->world = run->gang ? run->gang->message.world : 0;
    untold->said_ns = said ? core->now_ns : 0;
    untold->cpu_ns = run->cpu_ns;
    untold->retained_bytes = bytes;
    orphaned->bytes += bytes;
    return untold;
}

void gw_orphaned_finished(struct gw_node_core *core, const struct gw_attempt *run,
                          struct gw_bin value, const struct gw_orphaned_result *result)
{
    struct gw_untold *untold = add(core, run, value.size);
    if (!untold)
        return;
    untold->finished = true;
    untold->bytes = result->bytes;
    untold->run_ns = result->run_ns;
    untold->value_size = value.size;
    untold->value = gw_core_alloc(value.size);
    if (value.size)
        memcpy(untold->value, value.data, value.size);
}

void gw_orphaned_ended(struct gw_node_core *core, const struct gw_attempt *run,
                       const char *stderr_path)
{
    if (core->registered && run->rank == GW_RANK_NONE)
        return; /* the scheduler may have charged this end */
    /* The rank had not started to execute: a new scheduler would take the end for that of a rank
     * that ran */
    if (run->gang && !run->end.executing)
        return;
    switch (run->end.outcome) {
    case GW_OUTCOME_FAILED:
    case GW_OUTCOME_CRASHED:
    case GW_OUTCOME_OOM:
    case GW_OUTCOME_TIMEOUT:
        break;
    default: /* this outcome does not count against the retry budget of the task, and the task runs
                again */
        return;
    }
    struct gw_untold *untold =
        add(core, run, strlen(stderr_path) + (run->tail ? strlen(run->tail) : 0));
    if (!untold)
        return;
    untold->end = run->end;
    untold->run_ns = run->end.run_ns ? run->end.run_ns : gw_attempt_ran_ns(core, run);
    untold->end.text = gw_core_strdup(run->end.text);
    untold->tail = run->tail ? gw_core_strdup(run->tail) : NULL;
    untold->path = gw_core_strdup(stderr_path);
}

static void say_finished(struct gw_node_core *core, const struct gw_untold *untold)
{
    struct {
        uint64_t attempt, bytes, run_ns;
        uint32_t rank, value_size;
    } *row = gw_core_scratch(core, sizeof *row);
    void *value = gw_core_scratch(core, untold->value_size);
    if (untold->value_size)
        memcpy(value, untold->value, untold->value_size);
    row->attempt = untold->place.attempt;
    row->rank = untold->place.rank;
    row->bytes = untold->bytes;
    row->run_ns = untold->run_ns;
    row->value_size = untold->value_size;
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){
        .attempt = {&row->attempt, 1},
        .rank = {&row->rank, 1},
        .bytes = {&row->bytes, 1},
        .value_size = {&row->value_size, 1},
        .values = {value, untold->value_size},
        .run_ns = {&row->run_ns, 1},
    };
    gw_cpu_time_tell(core, row->attempt, row->rank, untold->cpu_ns);
    gw_core_tell(core, &message, (struct gw_bin){0});
}

static void say_ended(struct gw_node_core *core, const struct gw_untold *untold)
{
    const char *path = gw_core_text(core, untold->path);
    struct gw_message message = gw_attempt_message(core, &untold->end, untold->tail);
    message.ended.attempt = untold->place.attempt;
    message.ended.rank = untold->place.rank;
    gw_cpu_time_tell(core, untold->place.attempt, untold->place.rank, untold->cpu_ns);
    gw_core_tell(core, &message, (struct gw_bin){path, (uint32_t)strlen(path) + 1});
}

void gw_orphaned_say(struct gw_node_core *core)
{
    struct gw_orphaned *orphaned = &core->orphaned;
    size_t retained = 0;
    for (size_t i = 0; i < orphaned->untold.count; i++) {
        struct gw_untold *untold = &orphaned->untold.items[i];
        if (untold->finished)
            say_finished(core, untold);
        else
            say_ended(core, untold);
        untold->said_ns = core->now_ns;
        if (untold->finished || untold->place.rank != GW_RANK_NONE) {
            orphaned->untold.items[retained++] = *untold;
            continue;
        }
        orphaned->bytes -=
            untold->retained_bytes; /* the scheduler may charge this end from now on */
        untold_free(core, untold);
    }
    orphaned->untold.count = retained;
}

/* -- Registration --------------------------------------------------------------------------------
 */

/* Columns of a registration message while they are filled in. */
struct listing {
    uint64_t *attempts, *jobs, *ran_ns;
    uint32_t *ranks, *indices, *claims, *worlds, *gpu_counts, *gpus;
    uint32_t count, gpu_count;
};

static uint32_t claim_of(const struct gw_attempt *run)
{
    const struct gw_process *process = run->process;
    if (run->gang)
        return run->state != GW_ATTEMPT_RUNNING ? GW_CLAIM_WAITS
               : run->bound                     ? GW_CLAIM_UNFIT
                                                : GW_CLAIM_RUNS;
    if (!gw_attempt_executes(run))
        return GW_CLAIM_WAITS;
    return run->bound || run->spec->message.actor || process->lent ? GW_CLAIM_UNFIT : GW_CLAIM_RUNS;
}

static void list_run(const struct gw_node_core *core, struct listing *list,
                     const struct gw_attempt *run)
{
    uint32_t n = list->count++;
    list->attempts[n] = run->attempt;
    list->ranks[n] = run->rank;
    list->jobs[n] = run->job;
    list->indices[n] = run->index;
    list->claims[n] = claim_of(run);
    list->ran_ns[n] = gw_attempt_ran_ns(core, run);
    list->worlds[n] = run->gang ? run->gang->message.world : 0;
    list->gpu_counts[n] = run->gpu_count;
    for (uint32_t g = 0; g < run->gpu_count; g++)
        list->gpus[list->gpu_count++] = run->gpus[g];
}

static void list_untold(struct listing *list, const struct gw_untold *untold)
{
    uint32_t n = list->count++;
    list->attempts[n] = untold->place.attempt;
    list->ranks[n] = untold->place.rank;
    list->jobs[n] = untold->place.job;
    list->indices[n] = untold->place.index;
    list->claims[n] = GW_CLAIM_ENDED;
    list->ran_ns[n] = untold->run_ns;
    list->worlds[n] = untold->world;
    list->gpu_counts[n] = 0;
}

/* Returns true if the attempt finished with an object that has left this worker: the scheduler
 * released it. */
static bool is_let_go(struct gw_node_core *core, const struct gw_untold *untold)
{
    const struct gw_node_place *place = &untold->place;
    if (!untold->finished || untold->value_size > 0)
        return false;
    const struct gw_object *object = gw_object_find(core, place->job, place->index,
                                                    place->rank == GW_RANK_NONE ? 0 : place->rank);
    return !object || object->released || object->attempt != place->attempt;
}

static void drop_let_go(struct gw_node_core *core)
{
    struct gw_orphaned *orphaned = &core->orphaned;
    size_t retained = 0;
    for (size_t i = 0; i < orphaned->untold.count; i++) {
        struct gw_untold *untold = &orphaned->untold.items[i];
        if (!is_let_go(core, untold)) {
            orphaned->untold.items[retained++] = *untold;
            continue;
        }
        orphaned->bytes -= untold->retained_bytes;
        untold_free(core, untold);
    }
    orphaned->untold.count = retained;
}

static void make_room(struct gw_node_core *core, struct listing *list)
{
    size_t count = core->attempts.count + core->orphaned.untold.count, gpus = 0, at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->attempts, &at, &key, &value))
        gpus += ((struct gw_attempt *)(uintptr_t)value)->gpu_count;
    for (at = 0; gw_map_next(&core->gangs, &at, &key, &value);) {
        const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        count += gang->ranks.count;
        for (size_t i = 0; i < gang->ranks.count; i++)
            gpus += gang->ranks.items[i]->gpu_count;
    }
    list->attempts = gw_core_scratch(core, count * sizeof *list->attempts);
    list->jobs = gw_core_scratch(core, count * sizeof *list->jobs);
    list->ran_ns = gw_core_scratch(core, count * sizeof *list->ran_ns);
    uint32_t **columns[] = {&list->ranks, &list->indices, &list->claims, &list->worlds,
                            &list->gpu_counts};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        *columns[i] = gw_core_scratch(core, count * sizeof **columns[i]);
    list->gpus = gw_core_scratch(core, gpus * sizeof *list->gpus);
}

void gw_orphaned_list(struct gw_node_core *core, struct gw_msg_registration *message)
{
    struct listing list = {0};
    size_t at = 0;
    uint64_t key, value;
    drop_let_go(core);
    make_room(core, &list);
    while (gw_map_next(&core->attempts, &at, &key, &value))
        list_run(core, &list, (struct gw_attempt *)(uintptr_t)value);
    for (at = 0; gw_map_next(&core->gangs, &at, &key, &value);) {
        const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        for (size_t i = 0; i < gang->ranks.count; i++)
            list_run(core, &list, gang->ranks.items[i]);
    }
    for (size_t i = 0; i < core->orphaned.untold.count; i++)
        list_untold(&list, &core->orphaned.untold.items[i]);
    message->attempt = (struct gw_col64){list.attempts, list.count};
    message->attempt_rank = (struct gw_col32){list.ranks, list.count};
    message->attempt_job = (struct gw_col64){list.jobs, list.count};
    message->attempt_index = (struct gw_col32){list.indices, list.count};
    message->attempt_claim = (struct gw_col32){list.claims, list.count};
    message->attempt_world = (struct gw_col32){list.worlds, list.count};
    message->attempt_ran_ns = (struct gw_col64){list.ran_ns, list.count};
    message->attempt_gpu_count = (struct gw_col32){list.gpu_counts, list.count};
    message->attempt_gpus = (struct gw_col32){list.gpus, list.gpu_count};
}
