/* The attempts that a registering worker claims to run. */
#include "tests/unit/scheduler/membership/claims.h"

const char *claims_are_of = "";

void connect_worker(struct world *w, uint64_t peer, uint64_t incarnation, const struct row *rows,
                    uint32_t count)
{
    uint64_t attempt[ROWS_MAX], job[ROWS_MAX], ran_ns[ROWS_MAX];
    uint32_t rank[ROWS_MAX], index[ROWS_MAX], claim[ROWS_MAX], world[ROWS_MAX], gpus[ROWS_MAX];
    static const uint32_t numbers[ROWS_MAX] = {3};
    uint32_t gpu_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        attempt[i] = rows[i].attempt;
        job[i] = rows[i].job;
        ran_ns[i] = rows[i].ran_ns;
        rank[i] = rows[i].rank;
        index[i] = rows[i].index;
        claim[i] = rows[i].claim;
        world[i] = rows[i].world;
        gpu_count += gpus[i] = rows[i].gpus;
    }
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = "w"});
    struct gw_message message = {.type = GW_MESSAGE_registration};
    message.registration = (struct gw_msg_registration){.incarnation = incarnation,
                                                        .slots = 2,
                                                        .memory_bytes = 1000,
                                                        .host = "h",
                                                        .address = "h",
                                                        .attempt = {attempt, count},
                                                        .attempt_rank = {rank, count},
                                                        .attempt_job = {job, count},
                                                        .attempt_index = {index, count},
                                                        .attempt_claim = {claim, count},
                                                        .attempt_world = {world, count},
                                                        .attempt_gpu_count = {gpus, count},
                                                        .attempt_gpus = {numbers, gpu_count},
                                                        .attempt_ran_ns = {ran_ns, count},
                                                        .cluster = claims_are_of};
    say(w, peer, message);
}

bool killed(const struct world *w, uint64_t attempt)
{
    const struct gw_message *kill;
    for (int n = 0; (kill = sent(w, WORKER, GW_MESSAGE_kill, n)); n++)
        for (uint32_t i = 0; i < kill->kill.attempt.count; i++)
            if (gw_col64_at(kill->kill.attempt, i) == attempt)
                return true;
    return false;
}
