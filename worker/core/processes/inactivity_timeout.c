/* The inactivity timeout: a task that shows no sign of life for too long is ended.
 *
 * Steps and progress arrive as messages. Output is measured: once when the task begins, then four
 * times per timeout. A silent task is therefore ended between one and one and a quarter timeouts
 * after its last sign of life. If the task's output has reached its maximum size, or the task waits
 * for the reader of its output, silence proves nothing, so the task is not ended. */
#include "worker/core/processes/inactivity_timeout.h"

#include "graph/base/text.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/processes/process.h"

enum { MEASURES = 4 }; /* measurements per timeout */
#define MEASURE_NS_MIN UINT64_C(10000000)

/* Returns the inactivity timeout of the task that a process executes. 0: the task has none, or the
 * process executes no task. */
static uint64_t limit_of(const struct gw_process *process)
{
    const struct gw_attempt *run = process->queue.first;
    if (!run || !process->head_since_ns || process->reaping ||
        process->state == GW_PROCESS_EXITED || run->state == GW_ATTEMPT_ENDING)
        return 0;
    return run->spec->message.inactivity_timeout_ns;
}

static uint64_t every_ns(uint64_t limit_ns)
{
    uint64_t every = limit_ns / MEASURES;
    return every < MEASURE_NS_MIN ? MEASURE_NS_MIN : every;
}

uint64_t gw_inactivity_timeout_deadline_ns(const struct gw_process *process)
{
    if (!limit_of(process))
        return UINT64_MAX;
    if (process->silence.of_ns != process->head_since_ns)
        return process->head_since_ns;
    return process->silence.measure_ns;
}

void gw_inactivity_timeout_tick(struct gw_node_core *core, struct gw_process *process)
{
    if (core->now_ns < gw_inactivity_timeout_deadline_ns(process))
        return;
    struct gw_inactivity *silence = &process->silence;
    if (silence->of_ns != process->head_since_ns)
        *silence = (struct gw_inactivity){
            .of_ns = process->head_since_ns,
            .alive_ns = process->head_since_ns,
            .output_bytes = UINT64_MAX,
        };
    silence->measure_ns = core->now_ns + every_ns(limit_of(process));
    gw_core_effect(core, GW_EFFECT_MEASURE)->number = process->id;
}

void gw_inactivity_timeout_end(const struct gw_node_core *core, struct gw_process *process)
{
    if (process->silence.of_ns == process->head_since_ns)
        process->silence.alive_ns = core->now_ns;
}

void gw_inactivity_timeout_on_measured(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_process *process = gw_process_find(core, event->number);
    uint64_t limit_ns = process ? limit_of(process) : 0;
    if (!limit_ns || process->silence.of_ns != process->head_since_ns)
        return; /* the task has ended, or another one has begun, since the request */
    struct gw_inactivity *silence = &process->silence;
    struct gw_attempt *run = process->queue.first;
    uint64_t before = silence->output_bytes;
    silence->output_bytes = event->bytes;
    bool full = event->bytes >= run->spec->message.output_bytes_max;
    bool waits = event->bytes == UINT64_MAX; /* the task waits for the reader of its output */
    if ((before != UINT64_MAX && before != event->bytes) || waits ||
        (full && run->spec->message.output_bytes_max) ||
        process->lent) /* the task waits for other tasks */
        silence->alive_ns = core->now_ns;
    if (core->now_ns - silence->alive_ns < limit_ns)
        return;
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_TIMEOUT, .code = GW_ETIMEDOUT};
    char limit[GW_TEXT_DURATION_ROOM];
    end.text = gw_attempt_text("was silent for longer than its inactivity timeout of %s: no step, "
                               "no progress, no output",
                               gw_text_duration(limit_ns, limit));
    gw_process_end_attempt(core, run, end, run->spec->message.grace_ns);
}
