/* Time limits of processes: to send the first message, to stay idle, and to run. Also reports to
 * the scheduler that a task runs, once it has run for STARTED_AFTER_NS. */
#include "worker/core/processes/time_limits.h"

#include "graph/base/text.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/processes/inactivity_timeout.h"
#include "worker/core/processes/process.h"

#define STARTED_AFTER_NS UINT64_C(20000000)
#define IDLE_GRACE_NS UINT64_C(200000000)

static uint64_t time_limit_at(const struct gw_process *process)
{
    const struct gw_attempt *run = process->queue.first;
    if (!run || !process->head_since_ns || !run->spec->message.time_limit_ns || process->reaping ||
        process->state == GW_PROCESS_EXITED)
        return UINT64_MAX;
    uint64_t limit_ns = run->spec->message.time_limit_ns;
    return limit_ns < UINT64_MAX - process->head_since_ns ? process->head_since_ns + limit_ns
                                                          : UINT64_MAX; /* no limit */
}

static bool tells_started(const struct gw_process *process)
{
    return process->head_since_ns && !process->started_told && !process->reaping &&
           process->state == GW_PROCESS_BUSY;
}

static void too_late(struct gw_node_core *core, struct gw_process *process)
{
    if (process->actor && process->link) { /* the process of an actor was asked to release the
                                              actor's state, and did not do so in time */
        gw_process_reap(core, process, 0);
        return;
    }
    if (!process->link && process->runner) {
        process->trouble = gw_core_strdup("the runner closed its connection, but did not exit");
        process->cut_off = process->hello;
    } else {
        process->trouble =
            gw_core_strdup("the program did not become a runner within 20 s: is gw_init the first "
                           "statement of its main, or was it stopped (SIGSTOP)?");
    }
    gw_process_reap(core, process, 0);
}

static void tick(struct gw_node_core *core, struct gw_process *process)
{
    if (process->deadline_ns && core->now_ns >= process->deadline_ns) {
        too_late(core, process);
        return;
    }
    if (process->state == GW_PROCESS_IDLE &&
        core->now_ns - process->idle_since_ns >= core->options.runner_idle_ns) {
        gw_process_reap(core, process, IDLE_GRACE_NS);
        return;
    }
    struct gw_attempt *run = process->queue.first;
    if (core->now_ns >= time_limit_at(process)) {
        struct gw_attempt_end end = {.outcome = GW_OUTCOME_TIMEOUT, .code = GW_ETIMEDOUT};
        char limit[GW_TEXT_DURATION_ROOM];
        end.text = gw_attempt_text("ran for longer than its time limit of %s",
                                   gw_text_duration(run->spec->message.time_limit_ns, limit));
        gw_process_end_attempt(core, run, end, run->spec->message.grace_ns);
        return;
    }
    gw_inactivity_timeout_tick(core, process);
    if (run && tells_started(process) &&
        core->now_ns - process->head_since_ns >= STARTED_AFTER_NS) {
        process->started_told = true;
        if (!core->registered)
            return;
        uint64_t *attempt = gw_core_scratch(core, sizeof *attempt);
        uint32_t *rank = gw_core_scratch(core, sizeof *rank);
        *attempt = run->attempt;
        *rank = run->rank;
        gw_core_send(core, core->scheduler, GW_MESSAGE_started)->message.started =
            (struct gw_msg_started){{attempt, 1}, {rank, 1}};
    }
}

void gw_time_limits_tick(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->processes.count; i++)
        tick(core, core->processes.items[i]);
}

uint64_t gw_time_limits_deadline_ns(const struct gw_node_core *core)
{
    uint64_t deadline = UINT64_MAX;
    for (size_t i = 0; i < core->processes.count; i++) {
        const struct gw_process *process = core->processes.items[i];
        uint64_t at = time_limit_at(process);
        if (process->deadline_ns && process->deadline_ns < at)
            at = process->deadline_ns;
        if (process->state == GW_PROCESS_IDLE &&
            process->idle_since_ns + core->options.runner_idle_ns < at)
            at = process->idle_since_ns + core->options.runner_idle_ns;
        if (tells_started(process) && process->head_since_ns + STARTED_AFTER_NS < at)
            at = process->head_since_ns + STARTED_AFTER_NS;
        if (gw_inactivity_timeout_deadline_ns(process) < at)
            at = gw_inactivity_timeout_deadline_ns(process);
        if (at < deadline)
            deadline = at;
    }
    return deadline;
}
