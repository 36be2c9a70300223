#include "tests/unit/scheduler/gang_world.h"

void ready(struct world *w, int worker, uint64_t attempt, uint32_t rank)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {attempt, rank, {"", 0}}});
}

uint64_t go(struct world *w, int worker)
{
    uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign), 0);
    ready(w, worker, attempt, 0);
    ready(w, worker, attempt, 1);
    must(w, WORKER + (uint64_t)worker, GW_MESSAGE_gang_start);
    return attempt;
}
