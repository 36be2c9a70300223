/* Turns: a short command waits for its own in the warden of another, which starts it the moment
 * that one is buried, and not when we have heard of it.
 *
 * Always: who waits holds no slot, and inherits that of the one before it when that is buried. Who
 * was not begun comes back (`spawned` with EAGAIN) and waits here, as if it had never been sent. */
#include "worker/core/processes/turn.h"

#include "graph/wire/enums.h"
#include "worker/core/model/attempt.h"

#define SHORT_NS UINT64_C(2000000) /* what others may wait for, if it has just begun */
/* So many wait in a line, and for no longer than this, as far as one can tell: the guardian hears
 * of them every 2 ms where the line is long. */
enum { TURNS_MAX = 6 };
#define LINE_NS UINT64_C(6000000)

static bool is_short(const struct gw_attempt *run)
{
    return run->spec->cost_ns < SHORT_NS && !run->spec->message.time_limit_ns &&
           !run->spec->message.epilog.size && !(run->spec->message.streams & GW_STREAM_INPUT) &&
           !run->gang && !run->gpu_count && !run->pool;
}

/* How many wait behind a process that runs a short command; TURNS_MAX: nobody else may. */
static uint32_t line_of(const struct gw_node_core *core, struct gw_process *process,
                        const struct gw_attempt *run, struct gw_process **last)
{
    const struct gw_attempt *head = process->queue.first;
    uint32_t count = 0;
    if (process->runner || process->state > GW_PROCESS_BUSY || process->burying || !head ||
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
        if (process->state == GW_PROCESS_IDLE && !process->parked)
            return NULL; /* its slot is to be had */
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
    if (!next || !began || !next->queue.first) /* given up with all the others: it ends, too */
        return;
    next->slots = next->queue.first->spec->slots;
    next->head_since_ns = core->now_ns;
    core->slots_used += next->slots;
}

/* To where it was: what is alone waits in the order in which it came. */
void gw_turn_return(struct gw_node_core *core, struct gw_process *process)
{
    struct gw_attempt *run = process->queue.first, *before = core->alone.last;
    gw_turn_leave(process);
    gw_attempt_pull(run);
    process->load_ns -= run->load_ns;
    run->process = NULL;
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_READY);
    while (before && before->serial > run->serial)
        before = before->prev;
    gw_attempt_push_behind(&core->alone, before, run);
    core->slots_used -= process->slots;
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BURIED);
    gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_GONE);
}
