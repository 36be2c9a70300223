/* Orphaned: this worker lives on while its scheduler does not.
 *
 * That connecting is refused says that no scheduler is there, as well as an acknowledged heartbeat
 * says that one is: what runs may run on, for fence_ns from when that attempt to connect began, and
 * so on, but no longer than orphan_ns in all. A scheduler that starts after that waits for longer
 * than fence_ns before it gives away what may still run here. Silence is a partition, as ever.
 *
 * Ends that nobody was there to hear are kept, and told to the next scheduler behind the
 * registration, which lists them. It takes what it knows, and has the rest ended. An end that was
 * said may have been said to one that was dying: those of commands and of functions that must not
 * run again that ended well, and of ranks of all gangs, are kept until a heartbeat that was sent
 * COMMIT_NS later is acknowledged. By then it was read, and is on disk. A command that failed may
 * run again instead: its scheduler may have charged that end, which no other life must do once
 * more; of ranks it knows (decided.h). A large result may be let go meanwhile: then its end says
 * nothing any more.
 *
 * Always: what is kept ended since the last connection closed, or is of a command or a rank and not
 * surely heard; a scheduler of the same life hears nothing of it, since it counted all that was
 * here as lost. */
#include "worker/core/link/orphaned.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/objects/object.h"

#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = 16384, BYTES_MAX = 64 << 20 };
#define COMMIT_NS UINT64_C(1000000000) /* a scheduler commits what it read within that */

struct gw_untold {
    struct gw_node_place place;
    uint32_t world;
    bool finished;
    uint64_t said_ns;       /* when it was told; 0: to nobody yet */
    uint64_t bytes, run_ns; /* of the value; how long it ran */
    uint32_t value_size;
    void *value; /* owned, and what follows, too; NULL: it is an object, or there is none */
    struct gw_attempt_end end; /* where it did not finish */
    char *tail;                /* last lines of its stderr, where its runner said them; or NULL */
    char *path;                /* its stderr; NULL: none */
    size_t kept_bytes;         /* of it all, as gw_adrift.bytes counts it */
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

/* -- Ends that nobody heard ----------------------------------------------------------------------
 */

static void untold_free(struct gw_untold *untold)
{
    free(untold->value);
    free(untold->end.text);
    free(untold->tail);
    free(untold->path);
}

void gw_orphaned_forget(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->orphaned.untold.count; i++)
        untold_free(&core->orphaned.untold.items[i]);
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
        orphaned->bytes -= orphaned->untold.items[count].kept_bytes;
        untold_free(&orphaned->untold.items[count++]);
    }
    if (!count)
        return;
    orphaned->untold.count -= count;
    memmove(orphaned->untold.items, orphaned->untold.items + count,
            orphaned->untold.count * sizeof *orphaned->untold.items);
}

bool gw_orphaned_tells_again(const struct gw_attempt *run)
{
    const struct gw_msg_spec *spec = &run->spec->message;
    return spec->kind == GW_SPEC_COMMAND || run->gang || spec->worker_losses_max == UINT32_MAX;
}

/* Room for one more end of a run that another life of the scheduler could take; NULL: it runs
 * again, as does what was bound to the life before. */
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
    untold->kept_bytes = bytes;
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
        return; /* it may have been charged */
    if (run->gang && !run->end.executing)
        return; /* it was not told to go: the next scheduler would take it for one that ran */
    switch (run->end.outcome) {
    case GW_OUTCOME_FAILED:
    case GW_OUTCOME_CRASHED:
    case GW_OUTCOME_OOM:
    case GW_OUTCOME_TIMEOUT:
        break;
    default: /* it is nobody's fault, and runs again */
        return;
    }
    struct gw_untold *untold =
        add(core, run, strlen(stderr_path) + (run->tail ? strlen(run->tail) : 0));
    if (!untold)
        return;
    untold->end = run->end;
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
    gw_core_tell(core, &message, (struct gw_bin){0});
}

static void say_ended(struct gw_node_core *core, const struct gw_untold *untold)
{
    const char *path = gw_core_text(core, untold->path);
    struct gw_message message = gw_attempt_message(core, &untold->end, untold->tail);
    message.ended.attempt = untold->place.attempt;
    message.ended.rank = untold->place.rank;
    gw_core_tell(core, &message, (struct gw_bin){path, (uint32_t)strlen(path) + 1});
}

void gw_orphaned_say(struct gw_node_core *core)
{
    struct gw_orphaned *orphaned = &core->orphaned;
    size_t kept = 0;
    for (size_t i = 0; i < orphaned->untold.count; i++) {
        struct gw_untold *untold = &orphaned->untold.items[i];
        if (untold->finished)
            say_finished(core, untold);
        else
            say_ended(core, untold);
        untold->said_ns = core->now_ns;
        if (untold->finished || untold->place.rank != GW_RANK_NONE) {
            orphaned->untold.items[kept++] = *untold;
            continue;
        }
        orphaned->bytes -= untold->kept_bytes; /* from now on it may have been charged */
        untold_free(untold);
    }
    orphaned->untold.count = kept;
}

/* -- What there is -------------------------------------------------------------------------------
 */

/* Columns of a registration under way. */
struct listing {
    uint64_t *attempts, *jobs;
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

static void list_run(struct listing *list, const struct gw_attempt *run)
{
    uint32_t n = list->count++;
    list->attempts[n] = run->attempt;
    list->ranks[n] = run->rank;
    list->jobs[n] = run->job;
    list->indices[n] = run->index;
    list->claims[n] = claim_of(run);
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
    list->worlds[n] = untold->world;
    list->gpu_counts[n] = 0;
}

/* What finished and left an object that is not here any more: its scheduler had it released. */
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
    size_t kept = 0;
    for (size_t i = 0; i < orphaned->untold.count; i++) {
        struct gw_untold *untold = &orphaned->untold.items[i];
        if (!is_let_go(core, untold)) {
            orphaned->untold.items[kept++] = *untold;
            continue;
        }
        orphaned->bytes -= untold->kept_bytes;
        untold_free(untold);
    }
    orphaned->untold.count = kept;
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
        list_run(&list, (struct gw_attempt *)(uintptr_t)value);
    for (at = 0; gw_map_next(&core->gangs, &at, &key, &value);) {
        const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        for (size_t i = 0; i < gang->ranks.count; i++)
            list_run(&list, gang->ranks.items[i]);
    }
    for (size_t i = 0; i < core->orphaned.untold.count; i++)
        list_untold(&list, &core->orphaned.untold.items[i]);
    message->attempt = (struct gw_col64){list.attempts, list.count};
    message->attempt_rank = (struct gw_col32){list.ranks, list.count};
    message->attempt_job = (struct gw_col64){list.jobs, list.count};
    message->attempt_index = (struct gw_col32){list.indices, list.count};
    message->attempt_claim = (struct gw_col32){list.claims, list.count};
    message->attempt_world = (struct gw_col32){list.worlds, list.count};
    message->attempt_gpu_count = (struct gw_col32){list.gpu_counts, list.count};
    message->attempt_gpus = (struct gw_col32){list.gpus, list.gpu_count};
}
