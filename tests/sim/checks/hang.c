/* The progress of simulated ranks, for a worker that looks for ranks that hang, and the ranks that
 * it may name. */
#include "tests/sim/sim.h"

#include <stdio.h>

struct survey {
    struct host *host;
    uint64_t incarnation, attempt;
    struct gw_stand *stands;
    uint32_t count, closely;
};

static struct process *process_of(const struct host *host, uint64_t id)
{
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->id == id)
            return host->processes.items[i];
    return NULL;
}

static void survey_free(struct survey *survey)
{
    free(survey->stands);
    free(survey);
}

static void survey_drop(struct sim *sim, void *arg)
{
    (void)sim;
    survey_free(arg);
}

static void on_survey(struct sim *sim, void *arg)
{
    struct survey *survey = arg;
    struct host *host = survey->host;
    if (host->core && host->incarnation == survey->incarnation) {
        for (uint32_t i = 0; i < survey->count; i++) {
            struct gw_stand *stand = &survey->stands[i];
            const struct process *process = process_of(host, stand->process);
            bool in = process && process->rank_state == RANK_COLLECTIVE;
            stand->begun = process && process->runner ? process->collective + in : 0;
            stand->operation = in && process->runner ? "all_reduce" : NULL;
            stand->stopped = process && process->stopped;
            (void)snprintf(stand->stack, sizeof stand->stack, "%s",
                           survey->closely ? "seen closely" : "");
        }
        int rc = sim_host_step(sim, host,
                               &(struct gw_event){.type = GW_EVENT_SURVEYED,
                                                  .number = survey->attempt,
                                                  .code = (int32_t)survey->closely,
                                                  .stands = survey->stands,
                                                  .stand_count = survey->count});
        SIM_CHECK(sim, rc == 0, "a worker refuses a survey");
    }
    survey_free(survey);
}

void sim_hang_survey(struct sim *sim, struct host *host, const struct gw_effect *effect)
{
    struct survey *survey = calloc(1, sizeof *survey);
    GW_MUST_PTR(survey);
    *survey = (struct survey){.host = host,
                              .incarnation = host->incarnation,
                              .attempt = effect->number,
                              .count = effect->stand_count,
                              .closely = effect->count};
    survey->stands = calloc(effect->stand_count + 1, sizeof *survey->stands);
    GW_MUST_PTR(survey->stands);
    if (effect->stand_count)
        memcpy(survey->stands, effect->stands, effect->stand_count * sizeof *survey->stands);
    sim_plan_own(sim, 50000 + sim_below(sim, MS), on_survey, survey, survey_drop);
}

/* A stopped process does nothing, and only SIGKILL ends it. */
bool sim_hang_stops(struct sim *sim, struct process *process)
{
    const struct row *row = &process->rows.items[0];
    if (!row->work->hang_timeout_ns || !sim_chance(sim, 8))
        return false;
    process->stopped = true;
    row->work->blamed |= 1u << row->rank;
    process->epoch++;
    gw_sm_move(&sim_rank_sm, &process->rank_state, RANK_HUNG);
    sim_fault(sim, FAULT_STOPPED);
    return true;
}

/* Checks that the text of a failure names a rank only if that rank hung, or joined late, at some
 * time. */
void sim_hang_told(struct sim *sim, const struct work *work, const char *text)
{
    unsigned rank = 0;
    const char *at = strstr(text, " hang");
    if (!at || work->children) /* a rank that waits for its own tasks looks like one that hangs */
        return;
    while (at > text && strncmp(at, ": rank ", 7) != 0)
        at--;
    SIM_CHECK(sim, sscanf(at, ": rank %u", &rank) == 1, "nobody is named in: %s", text);
    SIM_CHECK(sim, work->blamed & 1u << rank, "rank %u is blamed, and did not hang: %s", rank,
              text);
    sim_fault(sim, FAULT_HANG_TOLD);
}
