/* CPU time of attempts, and memory peaks of commands. A runner executes one attempt after another
 * and reports several ends together, so shares are estimates; their sum is exact. */
#include "worker/core/link/cpu_time.h"

#include "worker/core/model/core.h"

static uint64_t take(struct gw_process *process)
{
    const uint64_t cpu_ns = process->cpu_ns - process->cpu_given_ns;
    process->cpu_given_ns = process->cpu_ns;
    return cpu_ns;
}

/* Sends rows, which are valid until the end of the step. */
static void tell(struct gw_node_core *core, const uint64_t *attempts, const uint32_t *ranks,
                 const uint64_t *cpu_ns, const uint64_t *bytes, uint32_t count)
{
    uint64_t *zeros = gw_core_scratch(core, count * sizeof *zeros);
    for (uint32_t i = 0; i < count; i++)
        zeros[i] = 0;
    gw_core_send(core, core->scheduler, GW_MESSAGE_measured)->message.measured =
        (struct gw_msg_measured){{attempts, count},
                                 {bytes ? bytes : zeros, count},
                                 {ranks, count},
                                 {cpu_ns, count},
                                 {zeros, count}};
}

void gw_cpu_time_divide(struct gw_node_core *core, struct gw_process *process,
                        struct gw_col64 attempts, struct gw_col64 run_ns)
{
    const uint64_t cpu_ns = take(process);
    const uint32_t count = run_ns.count;
    struct gw_attempt *run = process->queue.first;
    double all_ns = 0;
    for (uint32_t i = 0; cpu_ns && i < count; i++)
        all_ns += (double)gw_col64_at(run_ns, i);
    if (all_ns <= 0)
        return;
    uint32_t *ranks = gw_core_scratch(core, count * sizeof *ranks);
    uint64_t *shares_ns = gw_core_scratch(core, count * sizeof *shares_ns);
    for (uint32_t i = 0; i < count; i++) {
        shares_ns[i] = (uint64_t)((double)cpu_ns * ((double)gw_col64_at(run_ns, i) / all_ns));
        ranks[i] = run ? run->rank : GW_RANK_NONE;
        if (run)
            run->cpu_ns = shares_ns[i];
        run = run ? run->next : NULL;
    }
    if (core->registered)
        tell(core, gw_core_copy(core, attempts.data, (size_t)count * 8), ranks, shares_ns, NULL,
             count);
}

static void tell_one(struct gw_node_core *core, uint64_t attempt, uint32_t rank, uint64_t cpu_ns,
                     uint64_t bytes)
{
    struct {
        uint64_t attempt, cpu_ns, bytes;
        uint32_t rank;
    } * row;
    if ((!cpu_ns && !bytes) || !core->registered)
        return;
    row = gw_core_scratch(core, sizeof *row);
    row->attempt = attempt;
    row->cpu_ns = cpu_ns;
    row->bytes = bytes;
    row->rank = rank;
    tell(core, &row->attempt, &row->rank, &row->cpu_ns, &row->bytes, 1);
}

void gw_cpu_time_give(struct gw_node_core *core, struct gw_attempt *run)
{
    if (!run->process)
        return;
    run->cpu_ns = take(run->process);
    tell_one(core, run->attempt, run->rank, run->cpu_ns, run->process->peak_bytes);
}

void gw_cpu_time_tell(struct gw_node_core *core, uint64_t attempt, uint32_t rank, uint64_t cpu_ns)
{
    tell_one(core, attempt, rank, cpu_ns, 0);
}
