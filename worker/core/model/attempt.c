/* Attempts of tasks, and ranks of gangs, from assignment to their end.
 *
 * Invariants: a live attempt is in exactly one list. It is in the table of attempts, or in the
 * ranks of its gang. Its end is reported once. If a process executed the attempt, its end is
 * reported only after that process is reaped. */
#include "worker/core/model/attempt.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_PER_CHUNK = 256 };

/* -- Lists ---------------------------------------------------------------------------------------
 */

void gw_attempt_push_behind(struct gw_attempts *list, struct gw_attempt *before,
                            struct gw_attempt *run)
{
    assert(!run->list);
    run->list = list;
    run->prev = before;
    run->next = before ? before->next : list->first;
    *(run->prev ? &run->prev->next : &list->first) = run;
    *(run->next ? &run->next->prev : &list->last) = run;
    list->count++;
}

void gw_attempt_push(struct gw_attempts *list, struct gw_attempt *run)
{
    gw_attempt_push_behind(list, list->last, run);
}

void gw_attempt_push_first(struct gw_attempts *list, struct gw_attempt *run)
{
    gw_attempt_push_behind(list, NULL, run);
}

void gw_attempt_pull(struct gw_attempt *run)
{
    struct gw_attempts *list = run->list;
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

struct gw_attempt *gw_attempt_new(struct gw_node_core *core)
{
    if (!core->run_spare) {
        struct gw_attempt *chunk = gw_core_alloc(RUNS_PER_CHUNK * sizeof *chunk);
        GW_MUST(gw_array_push(&core->run_chunks, (void *)chunk));
        for (size_t i = 0; i < RUNS_PER_CHUNK; i++) {
            chunk[i].next = core->run_spare;
            core->run_spare = &chunk[i];
        }
    }
    struct gw_attempt *run = core->run_spare;
    core->run_spare = run->next;
    memset(run, 0, offsetof(struct gw_attempt, small));
    run->serial = ++core->serial;
    return run;
}

char *gw_attempt_text(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    GW_MUST(vasprintf(&text, format, args));
    va_end(args);
    return text;
}

struct gw_attempt *gw_attempt_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank)
{
    uint64_t value;
    if (rank == GW_RANK_NONE)
        return gw_map_get(&core->attempts, attempt, &value) ? (struct gw_attempt *)(uintptr_t)value
                                                            : NULL;
    if (!gw_map_get(&core->gangs, attempt, &value))
        return NULL;
    const struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
    for (size_t i = 0; i < gang->ranks.count; i++)
        if (gang->ranks.items[i]->rank == rank)
            return gang->ranks.items[i];
    return NULL;
}

void gw_attempt_place(const struct gw_attempt *run, struct gw_node_place *place)
{
    *place = (struct gw_node_place){
        .job = run->job,
        .attempt = run->attempt,
        .process = run->process ? run->process->id : 0,
        .index = run->index,
        .rank = run->rank,
        .kind = run->spec->message.kind,
        .user = run->spec->message.user,
    };
}

bool gw_attempt_executes(const struct gw_attempt *run)
{
    return (run->state == GW_ATTEMPT_RUNNING && !(run->process && run->process->behind)) ||
           (run->state == GW_ATTEMPT_SENT && run->process->queue.first == run);
}

uint64_t gw_attempt_ran_ns(const struct gw_node_core *core, const struct gw_attempt *run)
{
    const struct gw_process *process = run->process;
    if (!process || process->queue.first != run || !process->head_since_ns)
        return 0;
    return !process->runner && process->ran_ns ? process->ran_ns
                                               : core->now_ns - process->head_since_ns;
}

void gw_attempt_know_tail(struct gw_attempt *run, const char *tail)
{
    free(run->tail);
    run->tail = tail && *tail ? gw_core_strdup(tail) : NULL;
}

struct gw_message gw_attempt_message(struct gw_node_core *core, const struct gw_attempt_end *end,
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

struct gw_attempt_end gw_attempt_killed(const char *text)
{
    return (struct gw_attempt_end){
        .outcome = GW_OUTCOME_KILLED, .code = GW_ECANCELLED, .text = gw_core_strdup(text)};
}

void gw_attempt_ended(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_ENDED);
    gw_attempt_pull(run);
    if (run->process)
        run->process->load_ns -= run->load_ns;
    run->load_ns = 0;
    run->process = NULL;
    gw_attempt_push(&core->ended, run);
}

void gw_attempt_fail(struct gw_node_core *core, struct gw_attempt *run, struct gw_attempt_end end)
{
    assert(!run->process);
    free(run->end.text);
    run->end = end;
    gw_attempt_ended(core, run);
}

void gw_attempt_supplied(struct gw_node_core *core, struct gw_attempt *run)
{
    gw_attempt_pull(run);
    gw_attempt_push(&core->supplied, run);
}

void gw_attempt_bind(struct gw_node_core *core, struct gw_attempt *run)
{
    GW_MUST(gw_array_push(&core->bound, ((struct gw_attempt_ref){run, run->serial})));
}
