/* Adrift: this worker lives on while its scheduler does not.
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
 * more; of ranks it knows (judged.h). A large result may be let go meanwhile: then its end says
 * nothing any more.
 *
 * Always: what is kept ended since the last connection closed, or is of a command or a rank and not
 * surely heard; a scheduler of the same life hears nothing of it, since it counted all that was
 * here as lost. */
#include "worker/core/link/adrift.h"

#include "graph/base/planted.h"
#include "worker/core/model/core.h"
#include "worker/core/model/run.h"
#include "worker/core/objects/store.h"

#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = 16384, BYTES_MAX = 64 << 20 };
#define COMMIT_NS UINT64_C(1000000000) /* a scheduler commits what it read within that */

struct gw_unsaid {
    struct gw_node_place place;
    uint32_t world;
    bool finished;
    uint64_t said_ns;       /* when it was told; 0: to nobody yet */
    uint64_t bytes, run_ns; /* of the value; how long it ran */
    uint32_t value_size;
    void *value; /* owned, and what follows, too; NULL: it is an object, or there is none */
    struct gw_run_end end; /* where it did not finish */
    char *tail;            /* last lines of its stderr, where its runner said them; or NULL */
    char *path;            /* its stderr; NULL: none */
    size_t kept_bytes;     /* of it all, as gw_adrift.bytes counts it */
};

/* -- Time ----------------------------------------------------------------------------------------
 */

void gw_adrift_on_refused(struct gw_node_core *core, const struct gw_event *event)
{
    if (core->registered || !core->term)
        return;
    if (!core->adrift.since_ns)
        core->adrift.since_ns = core->now_ns;
    if (event->number > core->acked_ns && event->number <= core->now_ns)
        core->acked_ns = event->number;
}

uint64_t gw_adrift_until_ns(const struct gw_node_core *core)
{
    return core->adrift.since_ns && !GW_PLANTED(480)
               ? core->adrift.since_ns + core->options.orphan_ns
               : UINT64_MAX;
}

/* -- Ends that nobody heard ----------------------------------------------------------------------
 */

static void unsaid_free(struct gw_unsaid *unsaid)
{
    free(unsaid->value);
    free(unsaid->end.text);
    free(unsaid->tail);
    free(unsaid->path);
}

void gw_adrift_forget(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->adrift.unsaid.count; i++)
        unsaid_free(&core->adrift.unsaid.items[i]);
    gw_array_clear(&core->adrift.unsaid);
    core->adrift.bytes = 0;
}

void gw_adrift_deinit(struct gw_node_core *core)
{
    gw_adrift_forget(core);
    gw_array_deinit(&core->adrift.unsaid);
}

void gw_adrift_on_acknowledged(struct gw_node_core *core)
{
    struct gw_adrift *adrift = &core->adrift;
    size_t count = 0;
    while (count < adrift->unsaid.count && adrift->unsaid.items[count].said_ns &&
           adrift->unsaid.items[count].said_ns + COMMIT_NS <= core->acked_ns) {
        adrift->bytes -= adrift->unsaid.items[count].kept_bytes;
        unsaid_free(&adrift->unsaid.items[count++]);
    }
    if (!count)
        return;
    adrift->unsaid.count -= count;
    memmove(adrift->unsaid.items, adrift->unsaid.items + count,
            adrift->unsaid.count * sizeof *adrift->unsaid.items);
}

bool gw_adrift_tells_again(const struct gw_run *run)
{
    const struct gw_msg_spec *spec = &run->spec->message;
    return spec->kind == GW_SPEC_COMMAND || (run->gang && !GW_PLANTED(773)) ||
           spec->losses_max == UINT32_MAX;
}

/* Room for one more end of a run that another life of the scheduler could take; NULL: it runs
 * again, as does what was bound to the life before. */
static struct gw_unsaid *add(struct gw_node_core *core, const struct gw_run *run, size_t bytes)
{
    struct gw_adrift *adrift = &core->adrift;
    const bool said = core->registered;
    if ((said && !gw_adrift_tells_again(run)) || !core->term || run->bound ||
        run->spec->message.actor || adrift->unsaid.count == ENDS_MAX ||
        adrift->bytes + bytes > BYTES_MAX)
        return NULL;
    GW_MUST(gw_array_push(&adrift->unsaid, ((struct gw_unsaid){0})));
    struct gw_unsaid *unsaid = &adrift->unsaid.items[adrift->unsaid.count - 1];
    gw_run_place(run, &unsaid->place);
    unsaid->world = run->gang ? run->gang->message.world : 0;
    unsaid->said_ns = said ? core->now_ns : 0;
    unsaid->kept_bytes = bytes;
    adrift->bytes += bytes;
    return unsaid;
}

void gw_adrift_finished(struct gw_node_core *core, const struct gw_run *run, struct gw_bin value,
                        const struct gw_adrift_result *result)
{
    struct gw_unsaid *unsaid = add(core, run, value.size);
    if (!unsaid)
        return;
    unsaid->finished = true;
    unsaid->bytes = result->bytes;
    unsaid->run_ns = result->run_ns;
    unsaid->value_size = value.size;
    unsaid->value = gw_core_alloc(value.size);
    if (value.size)
        memcpy(unsaid->value, value.data, value.size);
}

void gw_adrift_ended(struct gw_node_core *core, const struct gw_run *run, const char *stderr_path)
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
    struct gw_unsaid *unsaid =
        add(core, run, strlen(stderr_path) + (run->tail ? strlen(run->tail) : 0));
    if (!unsaid)
        return;
    unsaid->end = run->end;
    unsaid->end.text = gw_core_strdup(run->end.text);
    unsaid->tail = run->tail ? gw_core_strdup(run->tail) : NULL;
    unsaid->path = gw_core_strdup(stderr_path);
}

static void say_finished(struct gw_node_core *core, const struct gw_unsaid *unsaid)
{
    struct {
        uint64_t attempt, bytes, run_ns;
        uint32_t rank, value_size;
    } *row = gw_core_scratch(core, sizeof *row);
    void *value = gw_core_scratch(core, unsaid->value_size);
    if (unsaid->value_size)
        memcpy(value, unsaid->value, unsaid->value_size);
    row->attempt = unsaid->place.attempt;
    row->rank = unsaid->place.rank;
    row->bytes = unsaid->bytes;
    row->run_ns = unsaid->run_ns;
    row->value_size = unsaid->value_size;
    struct gw_message message = {.type = GW_MESSAGE_finished};
    message.finished = (struct gw_msg_finished){
        .attempt = {&row->attempt, 1},
        .rank = {&row->rank, 1},
        .bytes = {&row->bytes, 1},
        .value_size = {&row->value_size, 1},
        .values = {value, unsaid->value_size},
        .run_ns = {&row->run_ns, 1},
    };
    gw_core_tell(core, &message, (struct gw_bin){0});
}

static void say_ended(struct gw_node_core *core, const struct gw_unsaid *unsaid)
{
    const char *path = gw_core_text(core, unsaid->path);
    struct gw_message message = gw_run_message(core, &unsaid->end, unsaid->tail);
    message.ended.attempt = unsaid->place.attempt;
    message.ended.rank = unsaid->place.rank;
    gw_core_tell(core, &message, (struct gw_bin){path, (uint32_t)strlen(path) + 1});
}

void gw_adrift_say(struct gw_node_core *core)
{
    struct gw_adrift *adrift = &core->adrift;
    size_t kept = 0;
    if (GW_PLANTED(471))
        return;
    for (size_t i = 0; i < adrift->unsaid.count; i++) {
        struct gw_unsaid *unsaid = &adrift->unsaid.items[i];
        if (unsaid->finished)
            say_finished(core, unsaid);
        else
            say_ended(core, unsaid);
        unsaid->said_ns = core->now_ns;
        if (unsaid->finished || unsaid->place.rank != GW_RANK_NONE) {
            adrift->unsaid.items[kept++] = *unsaid;
            continue;
        }
        adrift->bytes -= unsaid->kept_bytes; /* from now on it may have been charged */
        unsaid_free(unsaid);
    }
    adrift->unsaid.count = kept;
}

/* -- What there is -------------------------------------------------------------------------------
 */

/* Columns of a registration under way. */
struct listing {
    uint64_t *attempts, *jobs;
    uint32_t *ranks, *indices, *claims, *worlds, *gpu_counts, *gpus;
    uint32_t count, gpu_count;
};

static uint32_t claim_of(const struct gw_run *run)
{
    const struct gw_process *process = run->process;
    if (run->gang)
        return run->state != GW_RUN_RUNNING ? GW_CLAIM_WAITS
               : run->bound                 ? GW_CLAIM_UNFIT
                                            : GW_CLAIM_RUNS;
    if (!gw_run_executes(run))
        return GW_CLAIM_WAITS;
    return run->bound || run->spec->message.actor || process->lent ? GW_CLAIM_UNFIT : GW_CLAIM_RUNS;
}

static void list_run(struct listing *list, const struct gw_run *run)
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

static void list_unsaid(struct listing *list, const struct gw_unsaid *unsaid)
{
    uint32_t n = list->count++;
    list->attempts[n] = unsaid->place.attempt;
    list->ranks[n] = unsaid->place.rank;
    list->jobs[n] = unsaid->place.job;
    list->indices[n] = unsaid->place.index;
    list->claims[n] = GW_CLAIM_ENDED;
    list->worlds[n] = unsaid->world;
    list->gpu_counts[n] = 0;
}

/* What finished and left an object that is not here any more: its scheduler had it released. */
static bool is_let_go(struct gw_node_core *core, const struct gw_unsaid *unsaid)
{
    const struct gw_node_place *place = &unsaid->place;
    if (!unsaid->finished || unsaid->value_size > 0)
        return false;
    const struct gw_object *object = gw_object_find(core, place->job, place->index,
                                                    place->rank == GW_RANK_NONE ? 0 : place->rank);
    return !object || object->released || object->attempt != place->attempt;
}

static void drop_let_go(struct gw_node_core *core)
{
    struct gw_adrift *adrift = &core->adrift;
    size_t kept = 0;
    for (size_t i = 0; i < adrift->unsaid.count; i++) {
        struct gw_unsaid *unsaid = &adrift->unsaid.items[i];
        if (!is_let_go(core, unsaid)) {
            adrift->unsaid.items[kept++] = *unsaid;
            continue;
        }
        adrift->bytes -= unsaid->kept_bytes;
        unsaid_free(unsaid);
    }
    adrift->unsaid.count = kept;
}

static void make_room(struct gw_node_core *core, struct listing *list)
{
    size_t count = core->attempts.count + core->adrift.unsaid.count, gpus = 0, at = 0;
    uint64_t key, value;
    while (gw_map_next(&core->attempts, &at, &key, &value))
        gpus += ((struct gw_run *)(uintptr_t)value)->gpu_count;
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

void gw_adrift_list(struct gw_node_core *core, struct gw_msg_registration *message)
{
    struct listing list = {0};
    size_t at = 0;
    uint64_t key, value;
    drop_let_go(core);
    make_room(core, &list);
    while (gw_map_next(&core->attempts, &at, &key, &value))
        list_run(&list, (struct gw_run *)(uintptr_t)value);
    for (at = 0; gw_map_next(&core->gangs, &at, &key, &value);) {
        const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        for (size_t i = 0; i < gang->ranks.count; i++)
            list_run(&list, gang->ranks.items[i]);
    }
    for (size_t i = 0; i < core->adrift.unsaid.count; i++)
        list_unsaid(&list, &core->adrift.unsaid.items[i]);
    message->attempt = (struct gw_col64){list.attempts, list.count};
    message->attempt_rank = (struct gw_col32){list.ranks, list.count};
    message->attempt_job = (struct gw_col64){list.jobs, list.count};
    message->attempt_index = (struct gw_col32){list.indices, list.count};
    message->attempt_claim = (struct gw_col32){list.claims, list.count};
    message->attempt_world = (struct gw_col32){list.worlds, list.count};
    message->attempt_gpu_count = (struct gw_col32){list.gpu_counts, list.count};
    message->attempt_gpus = (struct gw_col32){list.gpus, list.gpu_count};
}
