/* Turns: a short command waits in the reaper process of another command. That reaper starts it as
 * soon as the other command is reaped, without a message to the worker and back.
 *
 * Invariants: a waiting command holds no slots. It takes over the slots of the command before it
 * when that one is reaped. A command that was not started is returned (`spawned` with GW_EAGAIN)
 * and is queued again, as if it had never been sent. */
#include "worker/core/processes/turn.h"

#include "graph/wire/enums.h"
#include "worker/core/model/attempt.h"

/* Only a command that takes less time than this counts as short */
#define SHORT_NS UINT64_C(2000000)
/* Limits of a line: the number of commands that wait, and the expected time of all its commands.
 * The supervisor hears of a long line only every 2 ms. */
enum { TURNS_MAX = 6 };
#define LINE_NS UINT64_C(6000000)

static bool is_short(const struct gw_attempt *run)
{
    return run->spec->cost_ns < SHORT_NS && !run->spec->message.time_limit_ns &&
           !run->spec->message.epilog.size && !(run->spec->message.streams & GW_STREAM_INPUT) &&
           !run->gang && !run->gpu_count && !run->pool;
}

/* Returns how many commands wait until a process that executes a short command has ended, and the
 * last of these commands. TURNS_MAX: no further command may wait for this process. */
static uint32_t line_of(const struct gw_node_core *core, struct gw_process *process,
                        const struct gw_attempt *run, struct gw_process **last)
{
    const struct gw_attempt *head = process->queue.first;
    uint32_t count = 0;
    if (process->runner || process->state > GW_PROCESS_BUSY || process->reaping || !head ||
        process->behind || head->state != GW_ATTEMPT_RUNNING || !is_short(head) ||
        process->slots != run->spec->slots || core->now_ns - process->head_since_ns > SHORT_NS)
        return TURNS_MAX;
    uint64_t line_ns = head->spec->cost_ns;
    while (process->before) {
        process = process->before;
        line_ns += process->queue.first->spec->cost_ns;
        count++;
    }
    *last = process;
    return line_ns > LINE_NS ? TURNS_MAX : count;
}

struct gw_process *gw_turn_behind(const struct gw_node_core *core, const struct gw_attempt *run)
{
    struct gw_process *best = NULL, *last = NULL;
    uint32_t least = TURNS_MAX;
    if (!is_short(run) || core->slots_used > core->options.slots)
        return NULL;
    for (size_t i = 0; i < core->processes.count; i++) {
        struct gw_process *process = core->processes.items[i];
        if (process->state == GW_PROCESS_IDLE && !process->parked && process->slots)
            return NULL; /* the idle process will make its slots free */
        uint32_t count = line_of(core, process, run, &last);
        if (count < least) {
            least = count;
            best = last;
        }
    }
    return best;
}

void gw_turn_leave(struct gw_process *process)
{
    if (process->behind)
        process->behind->before = process->before;
    if (process->before)
        process->before->behind = process->behind;
    process->behind = process->before = NULL;
}

void gw_turn_come(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_process *next = process->before;
    bool began = !process->behind;
    gw_turn_leave(process);
    if (!next || !began ||
        !next->queue.first) /* if all work was given up, the waiting command ends, too */
        return;
    next->slots = next->queue.first->spec->slots;
    next->head_since_ns = core->now_ns;
    core->slots_used += next->slots;
}

/* Puts a command that was not started back to its place in core->alone, which is in order of
 * arrival. */
void gw_turn_return(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *run = process->queue.first, *before = core->alone.last;
    gw_turn_leave(process);
    gw_attempt_pull(run);
    process->load_ns -= run->load_ns;
    run->process = NULL;
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_READY);
    while (before && before->serial > run->serial && before->spec->slots)
        before = before->prev;
    gw_attempt_push_behind(&core->alone, before, run);
    core->slots_used -= process->slots;
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_REAPED);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_GONE);
}
