/* Runs: attempts of tasks, and ranks of gangs, from assign to their end.
 *
 * Always: a live run is in exactly one list, and in the table of attempts or in its gang's ranks;
 * an end is told once, and where a process of it lived, only when that is buried. */
#include "worker/core/run.h"

#include "graph/base/planted.h"
#include "worker/core/actor.h"
#include "worker/core/adrift.h"
#include "worker/core/core.h"
#include "worker/core/fetch.h"
#include "worker/core/folder.h"
#include "worker/core/gang.h"
#include "worker/core/heir.h"
#include "worker/core/job.h"
#include "worker/core/memory.h"
#include "worker/core/news.h"
#include "worker/core/pool.h"
#include "worker/core/process.h"
#include "worker/core/result.h"
#include "worker/core/store.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_PER_CHUNK = 256 };

/* -- Lists ---------------------------------------------------------------------------------------
 */

void gw_run_push_behind(struct gw_runs *list, struct gw_run *before, struct gw_run *run)
{
    assert(!run->list);
    run->list = list;
    run->prev = before;
    run->next = before ? before->next : list->first;
    *(run->prev ? &run->prev->next : &list->first) = run;
    *(run->next ? &run->next->prev : &list->last) = run;
    list->count++;
}

void gw_run_push(struct gw_runs *list, struct gw_run *run)
{
    gw_run_push_behind(list, list->last, run);
}

void gw_run_push_first(struct gw_runs *list, struct gw_run *run)
{
    gw_run_push_behind(list, NULL, run);
}

void gw_run_pull(struct gw_run *run)
{
    struct gw_runs *list = run->list;
    if (!list)
        return;
    if (run->prev)
        run->prev->next = run->next;
    else
        list->first = run->next;
    if (run->next)
        run->next->prev = run->prev;
    else
        list->last = run->prev;
    list->count--;
    run->list = NULL;
    run->prev = run->next = NULL;
}

/* -- Memory --------------------------------------------------------------------------------------
 */

static struct gw_run *new_run(struct gw_node_core *core)
{
    if (!core->run_spare) {
        struct gw_run *chunk = gw_core_alloc(RUNS_PER_CHUNK * sizeof *chunk);
        GW_MUST(gw_array_push(&core->run_chunks, (void *)chunk));
        for (size_t i = 0; i < RUNS_PER_CHUNK; i++) {
            chunk[i].next = core->run_spare;
            core->run_spare = &chunk[i];
        }
    }
    struct gw_run *run = core->run_spare;
    core->run_spare = run->next;
    memset(run, 0, offsetof(struct gw_run, small));
    run->serial = ++core->serial;
    return run;
}

void gw_run_free(struct gw_node_core *core, struct gw_run *run)
{
    gw_run_pull(run);
    gw_news_end(core, run);
    if (run->process)
        run->process->load_ns -= run->load_ns;
    if (run->holds_slots)
        core->slots_used -= run->spec->slots;
    if (run->pool)
        run->pool->run_count--;
    if (run->gang)
        gw_gang_leave(core, run);
    else
        gw_map_remove(&core->attempts, run->attempt);
    gw_folder_leave(core, run);
    gw_heir_part(core, run);
    gw_object_unpin(core, run);
    for (uint32_t i = 0; i < run->dep_count; i++)
        if (run->deps[i].object)
            gw_object_unuse(core, run->deps[i].object);
    gw_spec_unref(run->spec);
    free(run->end.text);
    free(run->tail);
    free(run->block);
    run->serial = 0;
    run->state = GW_RUN_ENDED;
    run->next = core->run_spare;
    core->run_spare = run;
}

char *gw_run_text(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    GW_MUST(vasprintf(&text, format, args));
    va_end(args);
    return text;
}

/* -- Assign --------------------------------------------------------------------------------------
 */

/* Where a row's parts begin in the columns behind the row columns. */
struct row {
    const struct gw_msg_assign *assign;
    uint32_t i, gpu, dep;
    const uint8_t *args, *values;
};

static void copy_row(struct gw_run *run, struct row *row)
{
    const struct gw_msg_assign *assign = row->assign;
    uint32_t i = row->i, values = 0;
    run->gpu_count = gw_col32_at(assign->gpu_count, i);
    run->dep_count = gw_col32_at(assign->dep_count, i);
    run->args_size = gw_col32_at(assign->args_size, i);
    for (uint32_t d = 0; d < run->dep_count; d++)
        values += gw_col32_at(assign->dep_value_size, row->dep + d);

    size_t deps_bytes = run->dep_count * sizeof *run->deps;
    size_t bytes = deps_bytes + run->gpu_count * sizeof *run->gpus + run->args_size + values;
    uint8_t *at = (uint8_t *)(void *)run->small;
    if (bytes > sizeof run->small) { /* malloc: calloc goes past the C library's cache */
        at = run->block = malloc(bytes);
        GW_MUST_PTR(at);
    }
    run->deps = (struct gw_run_dep *)(void *)at;
    at += deps_bytes;
    run->gpus = (uint32_t *)(void *)at;
    at += run->gpu_count * sizeof *run->gpus;
    for (uint32_t g = 0; g < run->gpu_count; g++)
        run->gpus[g] = gw_col32_at(assign->gpus, row->gpu++);
    if (run->args_size)
        memcpy(at, row->args, run->args_size);
    run->args = at;
    at += run->args_size;
    row->args += run->args_size;
    for (uint32_t d = 0; d < run->dep_count; d++, row->dep++) {
        struct gw_run_dep *dep = &run->deps[d];
        *dep = (struct gw_run_dep){
            .job = gw_col64_at(assign->dep_job, row->dep),
            .index = gw_col32_at(assign->dep_index, row->dep),
            .rank = gw_col32_at(assign->dep_rank, row->dep),
            .bytes = gw_col64_at(assign->dep_bytes, row->dep),
            .worker = gw_col32_at(assign->dep_worker, row->dep),
            .value_size = gw_col32_at(assign->dep_value_size, row->dep),
            .value = at,
        };
        if (dep->value_size)
            memcpy(at, row->values, dep->value_size);
        at += dep->value_size;
        row->values += dep->value_size;
    }
}

static void skip_row(struct row *row)
{
    const struct gw_msg_assign *assign = row->assign;
    uint32_t deps = gw_col32_at(assign->dep_count, row->i);
    row->gpu += gw_col32_at(assign->gpu_count, row->i);
    row->args += gw_col32_at(assign->args_size, row->i);
    for (uint32_t d = 0; d < deps; d++, row->dep++)
        row->values += gw_col32_at(assign->dep_value_size, row->dep);
}

static void gather_inputs(struct gw_node_core *core, struct gw_run *run)
{
    gw_folder_want(core, run);
    for (uint32_t d = 0; d < run->dep_count; d++) {
        struct gw_run_dep *dep = &run->deps[d];
        if (dep->worker == GW_DEP_HERE) {
            if (gw_heir_wait(core, run, d))
                continue;
            dep->worker = 0; /* it ended meanwhile: the scheduler has heard how */
            dep->bytes = 0;
        }
        if (dep->value_size || dep->rank == GW_DEP_AFTER || dep->rank == GW_DEP_ALL)
            continue; /* all ranks: the rows that follow are its data */
        struct gw_object *object = gw_object_find(core, dep->job, dep->index, dep->rank);
        if (object)
            (void)gw_object_use(core, object, run, d);
        else
            gw_fetch_for(core, run, d);
    }
    if (!run->missing)
        gw_run_ready(core, run);
}

/* The spec of a row: nearly always that of the row before. */
struct spec_seen {
    uint64_t job;
    uint32_t number;
    struct gw_node_spec *spec; /* NULL: there was none yet */
};

static struct gw_node_spec *spec_of_row(struct gw_node_core *core,
                                        const struct gw_msg_assign *assign, uint32_t i,
                                        struct spec_seen *seen)
{
    uint64_t job = gw_col64_at(assign->job, i);
    uint32_t number = gw_col32_at(assign->spec, i);
    if (!seen->spec || seen->job != job || seen->number != number)
        *seen = (struct spec_seen){job, number, gw_job_spec(core, job, number)};
    return seen->spec;
}

static bool row_is_well(struct gw_node_core *core, const struct gw_msg_assign *assign, uint32_t i,
                        struct spec_seen *seen)
{
    uint64_t value;
    const struct gw_node_spec *spec = spec_of_row(core, assign, i, seen);
    if (!spec || (spec->message.kind != GW_SPEC_FUNCTION && spec->message.kind != GW_SPEC_COMMAND))
        return false;
    if (gw_col32_at(assign->rank, i) == GW_RANK_NONE)
        return true;
    if (!gw_map_get(&core->gangs, gw_col64_at(assign->attempt, i), &value))
        return false;
    const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
    return gw_col32_at(assign->rank, i) - gang->message.first_rank < gang->message.local;
}

int gw_run_on_assign(struct gw_node_core *core, const struct gw_msg_assign *assign)
{
    struct spec_seen seen = {0};
    for (uint32_t i = 0; i < assign->attempt.count; i++)
        if (!row_is_well(core, assign, i, &seen))
            return GW_EPROTO;
    for (uint32_t i = 0; i < assign->gpus.count; i++)
        if (gw_col32_at(assign->gpus, i) >= core->options.gpu_count)
            return GW_EPROTO;
    struct row row = {
        .assign = assign, .args = assign->args.data, .values = assign->dep_values.data};
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        uint64_t attempt = gw_col64_at(assign->attempt, i), value;
        uint32_t rank = gw_col32_at(assign->rank, i);
        row.i = i;
        if (gw_run_find(core, attempt, rank)) { /* told twice */
            skip_row(&row);
            continue;
        }
        struct gw_run *run = new_run(core);
        run->attempt = attempt;
        run->rank = rank;
        run->job = gw_col64_at(assign->job, i);
        run->index = gw_col32_at(assign->index, i);
        run->try_number = gw_col32_at(assign->try_number, i);
        run->spec = spec_of_row(core, assign, i, &seen);
        run->spec->refs++;
        core->runs += !gw_node_actor_calls(run);
        copy_row(run, &row);
        if (rank == GW_RANK_NONE) {
            GW_MUST(gw_map_put(&core->attempts, attempt, (uintptr_t)run));
        } else {
            gw_map_get(&core->gangs, attempt, &value);
            run->gang = (struct gw_gang *)(uintptr_t)value;
            run->gang->arrived++;
            GW_MUST(gw_array_push(&run->gang->ranks, run));
        }
        gw_run_push(&core->waiting, run);
        if (!gw_node_actor_calls(run) || gw_node_actor_join(core, run))
            gather_inputs(core, run);
    }
    return 0;
}

void gw_run_find_pool(struct gw_node_core *core, struct gw_run *run)
{
    struct gw_node_spec *spec = run->spec;
    if (run->pool || spec->message.kind != GW_SPEC_FUNCTION)
        return;
    run->pool = spec->pool ? spec->pool : gw_pool_for(core, spec, run);
    run->pool->run_count++;
    if (!run->gpu_count)
        spec->pool = run->pool;
}

void gw_run_ready(struct gw_node_core *core, struct gw_run *run)
{
    gw_run_pull(run);
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_READY);
    if (gw_node_actor_calls(run)) {
        gw_node_actor_call(run);
        return;
    }
    gw_run_find_pool(core, run);
    bool alone = !run->pool || run->gang || gw_node_actor_makes(run);
    gw_run_push(alone ? &core->alone : &run->pool->ready, run);
}

/* -- Ends ----------------------------------------------------------------------------------------
 */

struct gw_run *gw_run_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank)
{
    uint64_t value;
    if (rank == GW_RANK_NONE)
        return gw_map_get(&core->attempts, attempt, &value) ? (struct gw_run *)(uintptr_t)value
                                                            : NULL;
    if (!gw_map_get(&core->gangs, attempt, &value))
        return NULL;
    const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
    for (size_t i = 0; i < gang->ranks.count; i++)
        if (gang->ranks.items[i]->rank == rank)
            return gang->ranks.items[i];
    return NULL;
}

void gw_run_place(const struct gw_run *run, struct gw_node_place *place)
{
    *place = (struct gw_node_place){
        .job = run->job,
        .attempt = run->attempt,
        .process = run->process ? run->process->id : 0,
        .index = run->index,
        .rank = run->rank,
        .kind = run->spec->message.kind,
    };
}

bool gw_run_executes(const struct gw_run *run)
{
    return (run->state == GW_RUN_RUNNING && !(run->process && run->process->behind)) ||
           (run->state == GW_RUN_SENT && run->process->queue.first == run);
}

/* Where its stderr lies. */
static void stderr_path(const struct gw_node_core *core, const struct gw_run *run,
                        char path[GW_NODE_PATH_MAX])
{
    struct gw_node_place place;
    gw_run_place(run, &place);
    if (run->actor) /* what calls print is their actor's */
        place = run->actor->place;
    if (run->end.capture) /* it never got as far as files of its own */
        gw_node_capture_path(core->options.log_dir, core->incarnation, run->end.capture, "err",
                             path);
    else
        gw_node_output_path(core->options.log_dir, &place, "err", path);
}

void gw_run_know_tail(struct gw_run *run, const char *tail)
{
    free(run->tail);
    run->tail = tail && *tail ? gw_core_strdup(tail) : NULL;
}

void gw_run_failed(struct gw_node_core *core, struct gw_run *run, const char *text)
{
    char path[GW_NODE_PATH_MAX];
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_ENDED);
    if (!core->registered) { /* the next scheduler is told of each by itself */
        run->end.text = gw_core_strdup(text);
        stderr_path(core, run, path);
        gw_adrift_ended(core, run, path);
    }
    gw_run_free(core, run);
}

struct gw_message gw_run_ended(struct gw_node_core *core, const struct gw_run_end *end,
                               const char *tail)
{
    struct gw_message message = {.type = GW_MESSAGE_ended};
    message.ended = (struct gw_msg_ended){
        .outcome = end->outcome,
        .code = end->code,
        .exit_code = end->exit_code,
        .signal = end->signal,
        .executing = end->executing,
        .text = gw_core_text(core, end->text),
        .stderr_tail = gw_core_text(core, tail),
        .run_ns = end->run_ns,
        .peer = end->peer,
    };
    return message;
}

void gw_run_tell(struct gw_node_core *core, struct gw_run *run)
{
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_ENDED);
    gw_news_end(core, run);
    char path[GW_NODE_PATH_MAX];
    stderr_path(core, run, path);
    struct gw_message message = gw_run_ended(core, &run->end, run->tail);
    message.ended.attempt = run->attempt;
    message.ended.rank = run->rank;
    const char *copy = gw_core_text(core, path);
    gw_adrift_ended(core, run, path);
    gw_result_tell(core, &message, (struct gw_bin){copy, (uint32_t)strlen(copy) + 1});
    gw_run_free(core, run);
}

void gw_run_end(struct gw_node_core *core, struct gw_run *run, struct gw_run_end end,
                uint64_t grace_ns)
{
    if (run->state == GW_RUN_ENDING) {
        free(end.text);
        gw_process_bury(core, run->process, grace_ns); /* it may end sooner now */
        return;
    }
    struct gw_process *process = run->process;
    if (process && process->state == GW_PROCESS_EXITED && !process->burying) {
        free(end.text); /* it ended by itself: that is what will be told */
        if (end.outcome == GW_OUTCOME_KILLED && !run->gang && !GW_PLANTED(792))
            run->killing = true; /* it may have ended in one behind: then this one comes back */
        gw_process_hurry(core, process, grace_ns);
        return;
    }
    bool lives =
        process && (run->state != GW_RUN_STARTING || process->state != GW_PROCESS_STARTING);
    end.executing = gw_run_executes(run);
    free(run->end.text);
    run->end = end;
    if (lives) {
        gw_sm_move(&gw_run_sm, &run->state, GW_RUN_ENDING);
        gw_process_bury(core, process, grace_ns);
        return;
    }
    if (process) /* the runner that it was to get starts on, for others */
        gw_process_unbind(core, process, run);
    gw_run_tell(core, run);
}

/* What was not started yet goes at once; what waits in a runner behind others, when it is first.
 * Actors and their calls have rules of their own. */
static void kill_run(struct gw_node_core *core, struct gw_run *run, const struct gw_msg_kill *kill)
{
    bool asked = kill->reason == GW_KILL_TAKE_BACK;
    if ((asked && (run->process || gw_memory_keeps(core, run))) ||
        gw_node_actor_kill(core, run, kill) || (GW_PLANTED(611) && !run->gang && run->process))
        return;
    if (run->state == GW_RUN_SENT && !gw_run_executes(run)) {
        run->killing = true;
        run->kill_grace_ns = kill->grace_ns;
        return;
    }
    struct gw_run_end end = {.outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED};
    end.text = gw_core_strdup(kill->reason == GW_KILL_GANG ? "another rank ended" : "killed");
    gw_run_end(core, run, end, kill->grace_ns);
}

static void kill_gang(struct gw_node_core *core, struct gw_gang *gang,
                      const struct gw_msg_kill *kill)
{
    if (kill->reason == GW_KILL_GANG)
        gw_gang_abort(core, gang);
    if (!gang->ranks.count)
        gw_gang_tidy(core, gang);
    else /* backwards: those that end at once leave the array, and the gang goes with the last */
        for (size_t i = gang->ranks.count; i-- > 0;)
            kill_run(core, gang->ranks.items[i], kill);
}

void gw_run_let_go(struct gw_node_core *core)
{
    GW_ARRAY(uint64_t) waiting = {0};
    size_t at = 0;
    uint64_t attempt, value;
    while (gw_map_next(&core->attempts, &at, &attempt, &value)) {
        const struct gw_run *run = (struct gw_run *)(uintptr_t)value;
        if (!run->process && !run->actor && !run->spec->message.actor &&
            (run->state == GW_RUN_WAITING || run->state == GW_RUN_READY))
            GW_MUST(gw_array_push(&waiting, attempt));
    }
    for (size_t i = 0; i < waiting.count; i++) {
        struct gw_run *run = gw_run_find(core, waiting.items[i], GW_RANK_NONE);
        struct gw_run_end end = {.outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED};
        end.text = gw_core_strdup("its scheduler is gone");
        gw_run_end(core, run, end, 0);
    }
    gw_array_deinit(&waiting);
}

void gw_run_on_kill(struct gw_node_core *core, const struct gw_msg_kill *kill)
{
    for (uint32_t i = 0; i < kill->attempt.count; i++) {
        uint64_t attempt = gw_col64_at(kill->attempt, i), value;
        if (gw_map_get(&core->gangs, attempt, &value)) {
            kill_gang(core, (struct gw_gang *)(uintptr_t)value, kill);
            continue;
        }
        struct gw_run *run = gw_run_find(core, attempt, GW_RANK_NONE);
        if (run)
            kill_run(core, run, kill);
    }
}
