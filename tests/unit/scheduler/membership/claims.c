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

struct row one_runs(void)
{
    life_facts.size = 0;
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, NULL, 0);
    life_commit(w);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    struct row row = {.rank = GW_RANK_NONE, .claim = GW_CLAIM_RUNS};
    row.attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(w);
    row.job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    free_world(w);
    return row;
}

size_t unwritten;

void gang_runs(struct row rows[2], struct gw_msg_spec spec)
{
    life_facts.size = 0;
    struct world *w = life_begin();
    for (uint32_t i = 0; i < 2; i++) {
        connect_worker(w, WORKER + i, 7 + i, NULL, 0);
        life_commit(w);
    }
    spec.key = 1;
    spec.ranks = 2;
    spec.slots = 2;
    send_spec(w, spec);
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(w);
    const uint64_t job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    unwritten = life_facts.size;
    for (uint32_t i = 0; i < 2; i++) {
        say(w, WORKER + i,
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {attempt, i, {"", 0}, ""}});
        rows[i] = (struct row){attempt, job, .rank = i, .claim = GW_CLAIM_RUNS, .world = 2};
    }
    must(w, WORKER, GW_MESSAGE_gang_start);
    life_commit(w);
    unwritten = life_facts.size - unwritten;
    free_world(w);
}

void tell_crash(struct world *w, uint64_t peer, const struct row *row)
{
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_ended,
                            .ended = {.attempt = row->attempt,
                                      .rank = row->rank,
                                      .outcome = GW_OUTCOME_CRASHED,
                                      .signal = 9,
                                      .executing = 1,
                                      .text = "killed",
                                      .stderr_tail = ""}});
}
