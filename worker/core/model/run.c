/* Runs: attempts of tasks, and ranks of gangs, from assign to their end.
 *
 * Always: a live run is in exactly one list, and in the table of attempts or in its gang's ranks;
 * an end is told once, and where a process of it lived, only when that is buried. */
#include "worker/core/model/run.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

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

struct gw_run *gw_run_new(struct gw_node_core *core)
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

char *gw_run_text(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    GW_MUST(vasprintf(&text, format, args));
    va_end(args);
    return text;
}

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

void gw_run_know_tail(struct gw_run *run, const char *tail)
{
    free(run->tail);
    run->tail = tail && *tail ? gw_core_strdup(tail) : NULL;
}

struct gw_message gw_run_message(struct gw_node_core *core, const struct gw_run_end *end,
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

/* -- Ends ----------------------------------------------------------------------------------------
 */

void gw_run_ended(struct gw_node_core *core, struct gw_run *run)
{
    gw_sm_move(&gw_run_sm, &run->state, GW_RUN_ENDED);
    gw_run_pull(run);
    if (run->process)
        run->process->load_ns -= run->load_ns;
    run->load_ns = 0;
    run->process = NULL;
    gw_run_push(&core->ended, run);
}

void gw_run_fail(struct gw_node_core *core, struct gw_run *run, struct gw_run_end end)
{
    assert(!run->process);
    free(run->end.text);
    run->end = end;
    gw_run_ended(core, run);
}

void gw_run_supplied(struct gw_node_core *core, struct gw_run *run)
{
    gw_run_pull(run);
    gw_run_push(&core->supplied, run);
}

void gw_run_bind(struct gw_node_core *core, struct gw_run *run)
{
    GW_MUST(gw_array_push(&core->bound, ((struct gw_run_ref){run, run->serial})));
}
